"""What results write, described once: documents, their schema and columns follow from the fields of their classes.

A class names the attributes that it writes in `exported`; by default these are the fields of the dataclass. The type of
an attribute gives the type in JSON, and the text below the field, or the docstring of the property, the text of the
schema. The docstring of the class lists the fields with the same texts.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
import types
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from functools import cache
from operator import attrgetter
from pathlib import PurePath
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
    runtime_checkable,
)

import numpy as np

from skedasis._calls import HasKind
from skedasis._escaping import one_line

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

JsonSchema: TypeAlias = Mapping[str, object]
"""A JSON Schema, or a part of one."""
Keys: TypeAlias = Mapping[str, JsonSchema]
"""The schema of each key of an object."""
Content: TypeAlias = dict[str, object]
"""What a result says, by key: values of any type, which `export.document` converts."""
Columns: TypeAlias = dict[str, list[object]]
"""A table as columns."""
Hint: TypeAlias = Any
"""A type as `typing.get_type_hints` returns it: a class, a union, a literal, a type variable."""


@runtime_checkable
class Exporting(Protocol):
    """A class that names what it writes."""

    exported: ClassVar[tuple[str, ...]]
    """The attributes, or "name.name" for one of theirs; "name as key" for another key than `key_of` gives."""


# --- docstrings -----------------------------------------------------------------------------------


class Documented:
    """Base of dataclasses whose docstring lists their fields, each with the text below it."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Complete the docstring when it is asked for: this needs the source of the module."""
        super().__init_subclass__()
        text = vars(cls).get("__doc__")
        if isinstance(text, str):
            type.__setattr__(cls, "__doc__", _Docstring(text))


class _Docstring:
    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, _: object, owner: type[DataclassInstance]) -> str:
        # `dataclass` asks for it, too, at a time when its class is not yet a name of the module.
        done = vars(sys.modules[owner.__module__]).get(owner.__name__) is owner
        return _with_fields(owner, self.text) if done and is_dataclass(owner) else self.text


def _with_fields(kind: type[DataclassInstance], text: str) -> str:
    """Return the docstring of a class with a section of its fields; those of its bases if they have a text."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        texts |= texts_below(base.__module__).get(base.__name__, {})
    own = inspect.get_annotations(kind)
    known = {f.name: f for f in fields(kind) if f.init and (f.name in own or f.name in texts)}
    names = [name for name in known if not name.startswith("_")]
    entries: list[str] = []
    before: list[str] = []  # names of one type with the next one's text
    for name, follower in itertools.pairwise([*names, ""]):
        before.append(name)
        text_of = texts.get(name, "")
        if not text_of and texts.get(follower) and known[follower].type == known[name].type:
            continue
        entries.append(
            f"{', '.join(before)} : {_type_text(known[name].type)}\n    {text_of}".rstrip()
        )
        before.clear()
    text = inspect.cleandoc(text)
    if not entries:
        return text
    head, *others = re.split(r"\n\n(?=\w+\n---)", text, maxsplit=1)
    section = "\n".join(["Attributes", "----------", *entries])
    return "\n\n".join([head, section, *others])


def _type_text(annotation: object) -> str:
    text = str(annotation).replace(" | ", " or ")
    return re.sub(r"\b(Float|Int|Bool)s\b", lambda m: f"ndarray of {m[1].lower()}", text)


@cache
def texts_below(module: str, *others: str) -> dict[str, dict[str, str]]:
    """Return the text below each field of each class of a module, which Python itself does not keep.

    Classes have those of their bases, too, if these are of the module or of others.
    """
    found = {name: texts for other in others for name, texts in texts_below(other).items()}
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):  # a package without its sources, or a session
        return found
    for named in ast.parse(source).body:
        if isinstance(named, ast.ClassDef):
            bases = [found[b.id] for b in named.bases if isinstance(b, ast.Name) and b.id in found]
            own = {
                key.target.id: str(text.value.value)
                for key, text in itertools.pairwise(named.body)
                if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
                if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            }
            found[named.name] = {k: v for texts in (*bases, own) for k, v in texts.items()}
    return found


# --- classes --------------------------------------------------------------------------------------


ClassT = TypeVar("ClassT")


def subclasses(kind: type[ClassT]) -> Iterator[type[ClassT]]:
    """Yield the classes that derive from a class, directly or not; those of other packages, too."""
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


def is_base(kind: type) -> bool:
    """Return whether a class is abstract, or generic with classes that derive from it, so that no result is of it."""
    generic = bool(vars(kind).get("__parameters__"))
    return inspect.isabstract(kind) or (generic and bool(kind.__subclasses__()))


def is_ours(kind: type) -> bool:
    """Return whether a class is of this package: of the classes of one name ours counts."""
    return kind.__module__.partition(".")[0] == "skedasis"


# --- attributes -----------------------------------------------------------------------------------


def key_of(name: str) -> str:
    """Return the key of an attribute in JSON."""
    if name.endswith("std_error"):
        return name.removesuffix("std_error") + "error"
    return {"count": "rows", "n": "rows"}.get(name, name)


@cache
def exported(kind: type[DataclassInstance], names: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the attributes that a class writes, or those of them that are given, each with its key."""
    named = kind.exported if isinstance(kind, Exporting) else ()
    names = names or named or tuple(f.name for f in fields(kind) if f.init)
    parts = [name.partition(" as ") for name in names]
    return {name: key or key_of(name) for name, _, key in parts}


def content_of(value: DataclassInstance, *names: str) -> Content:
    """Return what an object says, by key; the two features of a pair are a list."""
    content: Content = {}
    for name, key in exported(type(value), names).items():
        found = attrgetter(name)(value)
        found = found() if inspect.ismethod(found) else found
        # A ranking is a document of its own, unless it is a part of another one.
        content[key] = tuple(found) if isinstance(found, tuple) else found
    return _with_pair(content, lambda first, second: [first, second])


PartT = TypeVar("PartT")


def _with_pair(
    content: dict[str, PartT], pair: Callable[[PartT, PartT], PartT]
) -> dict[str, PartT]:
    """Return content whose entries of two features are one."""
    names = [name for name in content if re.fullmatch("feature_?[01]", name)]
    if len(names) < 2:
        return content
    first, second = (content.pop(name) for name in names)
    return {"features": pair(first, second), **content}


def columns_of(
    kind: type[DataclassInstance],
    lines: Iterable[object],
    *names: str,
    without: Collection[str] = (),
) -> Columns:
    """Return attributes of lines of one class as columns, by default their fields; several texts in a cell as one."""
    rows = list(lines)
    columns: Columns = {}
    for entry in names or [f.name for f in fields(kind) if f.name not in without]:
        name, _, column = entry.partition(" as ")
        columns[column or name] = [_cell(attrgetter(name)(row)) for row in rows]
    return columns


def _cell(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


# --- texts ----------------------------------------------------------------------------------------


USUAL_TEXTS: Mapping[str, str] = {
    "confidence_level": "Confidence level of the intervals.",
    "count": "Number of rows.",
    "feature": "Name of the feature.",
    "feature_0": "Names of the two features.",
    "feature0": "Names of the two features.",
    "feature_unit": "Unit of the feature.",
    "features": "Names of the features, in X's order.",
    "lower": "Lower end of its interval.",
    "method": 'The method, such as "RHALE".',
    "n": "Number of rows.",
    "quantity": "Name of the quantity that is explained.",
    "rows": "Number of rows.",
    "std_error": "Its standard error.",
    "unit": "Its unit.",
    "upper": "Upper end.",
}
"""Texts of attributes whose class says nothing else."""

PROVENANCE: JsonSchema = {
    "type": "object",
    "description": "How the result was computed: the entries of `Provenance`. Within another result: those that differ "
    "from the entries of the whole.",
}


@cache
def texts_of(kind: type) -> dict[str, str]:
    """Return what a class says of its attributes: in its docstring, and in those of its properties."""
    found = dict(USUAL_TEXTS)
    for base in reversed(kind.__mro__):
        found |= {name: text for name, text in _entries(base.__doc__ or "") if text}
        for name, member in vars(base).items():
            if isinstance(member, (property, types.FunctionType)) and member.__doc__:
                first = inspect.cleandoc(member.__doc__).split("\n\n")[0]
                found[name] = _sentence(first.removeprefix("Return "))
    return found


def _entries(docstring: str) -> Iterator[tuple[str, str]]:
    """Yield the names of a docstring's sections "Parameters" and "Attributes", each with its text."""
    for entry in re.finditer(r"(?m)^(\w+) : .*\n((?: +\S.*\n?)+)", inspect.cleandoc(docstring)):
        yield entry[1], _sentence(entry[2])


def _sentence(text: str) -> str:
    """Return a text on one line that begins with a capital; what is NaN or None in Python is null in JSON."""
    line = re.sub(
        r",? ?shape \([^()]*\)", "", one_line(text).replace("``", "`"), count=1, flags=re.IGNORECASE
    )
    line = re.sub(r"(?<=\. )(NaN|None)\b", "Null", line)
    line = re.sub(r"\b(NaN|None)\b", "null", line)
    return line[:1].upper() + line[1:]


def summary_of(kind: type) -> str:
    """Return the first sentence of a class's docstring."""
    first = (kind.__doc__ or "").strip().partition("\n")[0]
    return _sentence(f"{first.partition('. ')[0].removesuffix('.')}.")


# --- schemas --------------------------------------------------------------------------------------


def described(schema: JsonSchema, text: str) -> JsonSchema:
    """Return a schema with its description."""
    return {**schema, "description": text}


def listed(items: JsonSchema, text: str = "") -> JsonSchema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **({"description": text} if text else {})}


def object_of(text: str, keys: Keys, optional: Keys | None = None) -> JsonSchema:
    """Return the schema of an object with these keys, of which only the optional ones may be absent."""
    properties = {**keys, **(optional or {})}
    return {
        "type": "object",
        "description": text,
        "properties": properties,
        "required": list(keys),
    }


def or_null(schema: JsonSchema) -> JsonSchema:
    """Return the schema of what may also be null."""
    if "type" not in schema:
        if "enum" in schema:
            return {**schema, "enum": [*_listed(schema["enum"]), None]}
        return {"anyOf": [{"type": "null"}, schema]}
    names = _listed(schema["type"])
    return {**schema, "type": names if "null" in names else [*names, "null"]}


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def keys_of(kind: type[DataclassInstance], *names: str) -> dict[str, JsonSchema]:
    """Return the schema of each key that a class writes, or of those of the given attributes."""
    found = {
        key: PROVENANCE
        if key == "provenance"
        else described(schema_of(_hint(kind, name)), _text(kind, name, key))
        for name, key in exported(kind, names).items()
    }
    return _with_pair(found, lambda first, _: {**listed(TEXT), **first, "type": "array"})


def _text(kind: type[DataclassInstance], name: str, key: str) -> str:
    """Return the text of an attribute."""
    name, _, inner = name.partition(".")
    if inner:
        return _text(_hint(kind, name), inner, key)
    return texts_of(kind).get(name) or USUAL_TEXTS.get(key, "")


def _hint(kind: type[DataclassInstance], name: str) -> Hint:
    """Return the type of an attribute: of a field, or of what a property or a method returns; Any if it is unknown."""
    name, _, inner = name.partition(".")
    if inner:
        return _hint(_hint(kind, name), inner)
    try:
        for base in kind.__mro__:
            member = vars(base).get(name)
            getter = member.fget if isinstance(member, property) else member
            if isinstance(getter, types.FunctionType):
                return _substituted(get_type_hints(getter)["return"], _variables(kind))
        return hints_of(kind)[name]
    except Exception:  # noqa: BLE001 - whatever the annotations of another package raise
        return Any


@cache
def hints_of(kind: type[DataclassInstance]) -> dict[str, Hint]:
    """Return the types of the fields of a class that its constructor takes."""
    hints = get_type_hints(kind, localns={"JsonValue": object, "Sequence": Sequence})
    known = _variables(kind)
    return {f.name: _substituted(hints[f.name], known) for f in fields(kind) if f.init}


def has_types(kind: type[DataclassInstance]) -> bool:
    """Return whether the types of the fields of a class are known, all at run time."""
    try:
        hints_of(kind)
    except Exception:  # noqa: BLE001 - whatever the annotations of another package raise
        return False
    return True


def _variables(kind: type) -> dict[Hint, Hint]:
    """Return what the type variables of the generic bases of a class stand for."""
    found: dict[Hint, Hint] = {}
    for of in (of for base in kind.__mro__ for of in vars(base).get("__orig_bases__", ())):
        base = get_origin(of)
        if isinstance(base, type) and issubclass(base, Generic) and base is not Generic:
            variables: tuple[Any, ...] = vars(base)["__parameters__"]
            given = zip(variables, get_args(of), strict=True)
            found |= {variable: _substituted(hint, found) for variable, hint in given}
    return found


def _substituted(hint: Hint, known: Mapping[Hint, Hint]) -> Hint:
    """Return a type with what its variables stand for."""
    if isinstance(hint, TypeVar):
        return known.get(hint, hint)
    free = () if get_origin(hint) is None else hint.__parameters__
    return hint[tuple(known.get(v, v) for v in free)] if free else hint


TEXT: JsonSchema = {"type": "string"}
NUMBER: JsonSchema = {"type": ["number", "null"]}
"""A number that may be unknown."""
INTEGER: JsonSchema = {"type": "integer"}
FLAG: JsonSchema = {"type": "boolean"}
LABEL: JsonSchema = {"type": ["string", "number", "boolean", "null"]}
"""A level, or the label of an output."""

_PLAIN: Mapping[Hint, JsonSchema] = {
    str: TEXT,
    float: NUMBER,
    np.floating: NUMBER,
    int: INTEGER,
    np.integer: INTEGER,
    bool: FLAG,
    np.bool_: FLAG,
    bytes: TEXT,
    date: TEXT,
    time: TEXT,
    timedelta: TEXT,
    PurePath: TEXT,
    Hashable: LABEL,
}
"""Class → the schema of its values, and of those of the classes that derive from it."""


def schema_of(hint: Hint) -> JsonSchema:
    """Return the schema of values of a type; an empty one, which anything fits, for a type that it does not know."""
    arguments = get_args(hint)
    kind = get_origin(hint) or hint
    if kind in (Union, types.UnionType):
        found = _any_of([schema_of(a) for a in arguments if a is not type(None)])
        return or_null(found) if type(None) in arguments else found
    if kind is Literal:
        return {"enum": list(arguments)}
    if is_typeddict(kind):
        return {"type": "object"}
    return _of_class(kind, arguments) if isinstance(kind, type) else {}


def _of_class(kind: type, arguments: tuple[Hint, ...]) -> JsonSchema:
    """Return the schema of objects of a class; the arguments are those of a generic one."""
    if not arguments and isinstance(kind, HasKind):
        return {"$ref": f"#/$defs/{kind.json_kind()}"}
    plain = [_PLAIN[base] for base in kind.__mro__ if base in _PLAIN]
    if plain:
        return plain[0]
    if kind is np.ndarray:
        return _array_of(*(one for a in arguments[1:] for one in get_args(a)))
    if issubclass(kind, Mapping):
        values = schema_of(arguments[1]) if len(arguments) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if issubclass(kind, (Sequence, AbstractSet)):
        two = {"minItems": 2, "maxItems": 2} if arguments == (float, float) else {}
        return {**_array_of(*(a for a in arguments if a is not ...)), **two}
    return object_of(summary_of(kind), keys_of(kind)) if is_dataclass(kind) else {}


def _array_of(*items: Hint) -> JsonSchema:
    """Return the schema of a list of values of some types."""
    values = _any_of([schema_of(one) for one in items]) if items else {}
    return listed(values) if values else {"type": "array"}


def _any_of(some: Sequence[JsonSchema]) -> JsonSchema:
    """Return the schema of a union; an empty one if anything fits one of its types."""
    if all(one == some[0] for one in some):
        return some[0]
    if not all(some):
        return {}
    if not all("type" in one for one in some):
        return {"anyOf": some}
    names = [name for one in some for name in _listed(one["type"])]
    return {"type": list(dict.fromkeys(names))}
