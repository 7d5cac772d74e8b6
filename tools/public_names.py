"""List the public names of the package, so that a change of one is seen in review.

python -m tools.public_names           # say whether the committed list is up to date
python -m tools.public_names --write   # write tests/package/public_names.txt

The list has what users name: functions and classes of `skedasis` and `skedasis.datasets`, classes that the reference
documents, with their methods and attributes; classes of `skedasis.results` that these return, with their attributes;
the types of arguments; the commands of the shell with their options; and numbers of formats. Of classes that the
reference shows without members, such as methods, it has the parameters.

Annotations are those of the source, not the objects that they stand for. So the list depends neither on the version of
Python nor on which optional libraries are installed. Overloads, which `tests/typing` reads, are left out.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import difflib
import functools
import importlib
import inspect
import re
import tomllib
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import skedasis as sd
from skedasis.plots.keywords import FigureKeywords

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "skedasis"
REFERENCE = ROOT / "docs" / "reference"
FILE = ROOT / "tests" / "package" / "public_names.txt"
WIDTH = 120
"""A signature that is longer has a line for each parameter."""

SPECIAL = ("__call__", "__contains__", "__getitem__", "__iter__", "__len__")
"""Special methods that users call by an operator."""

DEVELOPMENT = {"all", "bench", "dev", "docs", "lint", "test"}
"""Extras that are not for users, and the one of all others."""

HEAD = """\
The public names of skedasis. `python -m tools.public_names --write` writes this file.
A line that changes or disappears can break a call: name it in CHANGELOG.md (docs/reference/stability.md).
"""


# --- what names mean in the source ----------------------------------------------------------------


class Place(NamedTuple):
    """Where a name is defined: a module of the package, and the statement there."""

    module: str
    name: str
    statement: ast.stmt


class Definitions(NamedTuple):
    """The top level of a module: its own names, and those that it imports from the package."""

    own: dict[str, ast.stmt]
    imported: dict[str, tuple[str, str]]


@functools.cache
def definitions(module: str) -> Definitions:
    """Return what a module of the package defines and imports, also for type checkers alone."""
    path = PACKAGE.parent / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = Definitions({}, {})
    for line in _statements(ast.parse(file.read_text(encoding="utf-8")).body):
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("skedasis"):
            found.imported.update(
                {a.asname or a.name: (str(line.module), a.name) for a in line.names}
            )
        elif isinstance(line, (ast.ClassDef, ast.FunctionDef)):
            found.own[line.name] = line
        elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            found.own[line.targets[0].id] = line
        elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            found.own[line.target.id] = line
    return found


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for line in body:
        yield line
        if isinstance(line, ast.If):  # `if TYPE_CHECKING:`
            yield from _statements([*line.body, *line.orelse])


def resolve(module: str, name: str) -> Place | None:
    """Return the place where a name that a module uses is defined; None if that is not in the package."""
    if not module.startswith("skedasis"):
        return None
    found = definitions(module)
    if name in found.own:
        return Place(module, name, found.own[name])
    if name in found.imported:
        return resolve(*found.imported[name])
    return None


def names_in(annotation: str) -> Iterator[str]:
    """Yield the names in an annotation, also those in texts within it, but not the options of a `Literal`.

    Examples
    --------
    >>> list(names_in("Mapping[str, 'Effect'] | Literal['auto']"))
    ['Mapping', 'str', 'Effect']
    """
    waiting: list[ast.AST] = [ast.parse(annotation.strip(), mode="eval").body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
            continue
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from names_in(node.value)
        waiting += ast.iter_child_nodes(node)


# --- functions ------------------------------------------------------------------------------------


class Annotation(NamedTuple):
    """An annotation, and the module whose names it uses."""

    module: str
    text: str
    returned: bool = False


def text_of(annotation: object) -> str:
    """Return an annotation as its source has it: the modules of the package do not evaluate them."""
    if isinstance(annotation, typing.ForwardRef):  # the entries of a TypedDict
        return annotation.__forward_arg__
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__name__", None) or str(annotation)


def parameters(function: Callable[..., object]) -> list[str]:
    """Return the parameters of a function as its source would have them, without `self`.

    The options of every figure, which a class of the list has, are named together.

    Examples
    --------
    >>> parameters(sd.Ledger.plot)
    ['ax: Axes | None = None', '*', 'confidence_level: float = ...', '**options of every figure']
    """
    shown: list[str] = []
    last = None
    found = inspect.signature(function).parameters
    common = set(FigureKeywords.__annotations__)
    draws = common <= {name for name, p in found.items() if value_text(p.default) == "..."}
    for p in found.values():
        if p.name in ("self", "cls") or (draws and p.name in common):
            continue
        if last is p.POSITIONAL_ONLY is not p.kind:
            shown.append("/")
        if p.kind is p.KEYWORD_ONLY and last not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            shown.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        shown.append(_assigned(f"{star}{p.name}", p.annotation, p.default, p.empty))
        last = p.kind
    if draws:
        shown.append("**options of every figure")
    return [*shown, "/"] if last is inspect.Parameter.POSITIONAL_ONLY else shown


def _assigned(name: str, annotation: object, default: object, nothing: object) -> str:
    text = name if annotation is inspect.Parameter.empty else f"{name}: {text_of(annotation)}"
    return text if default is nothing else f"{text} = {value_text(default)}"


def value_text(value: object) -> str:
    """Return a default value as text without addresses.

    Examples
    --------
    >>> value_text(0.5), value_text(...), value_text(parameters)
    ('0.5', '...', 'parameters')
    """
    text = "..." if value is ... else repr(value)
    if text == "<factory>":  # of a dataclass
        return "<made anew>"
    return getattr(value, "__qualname__", type(value).__name__) if " at 0x" in text else text


def signature(name: str, function: Callable[..., object]) -> list[str]:
    """Return the lines of a function: one, or one for each parameter where that is too long."""
    found = parameters(function)
    returned = inspect.signature(function).return_annotation
    arrow = "" if returned is inspect.Signature.empty else f" -> {text_of(returned)}"
    line = f"{name}({', '.join(found)}){arrow}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{name}(", *(f"    {p}," for p in found), f"){arrow}"]


def annotations_of(function: Callable[..., object]) -> Iterator[Annotation]:
    """Yield the annotations of a function's parameters and of what it returns."""
    module = inspect.unwrap(function).__module__
    for p in inspect.signature(function).parameters.values():
        if p.annotation is not p.empty:
            yield Annotation(module, text_of(p.annotation))
    returned = inspect.signature(function).return_annotation
    if returned is not inspect.Signature.empty:
        yield Annotation(module, text_of(returned), returned=True)


# --- classes --------------------------------------------------------------------------------------


class Member(NamedTuple):
    """A field, an attribute, a property or a method: its lines, and the annotations in them."""

    lines: list[str]
    annotations: list[Annotation]


def bases(kind: type, listed: Iterable[type]) -> list[str]:
    """Return the bases by which users know a class: those in the list, of Python, and abstract ones.

    Examples
    --------
    >>> bases(sd.DataError, []), bases(sd.Effects, [])
    (['ValueError'], ['Mapping'])
    """
    known = set(listed)
    found: list[type] = []
    for base in kind.__mro__[1:]:
        python = base.__module__ in ("builtins", "collections.abc") and base is not object
        if (base in known or python) and not any(issubclass(other, base) for other in found):
            found.append(base)
    return [base.__name__ for base in found]


def fields(kind: type, listed: Iterable[type]) -> Iterator[Member]:
    """Yield the fields of a dataclass, a named tuple or a typed dictionary, in the order of its constructor."""
    inherited = [base for base in listed if base in kind.__mro__[1:]]
    known = {m.lines[0] for base in inherited for m in fields(base, ())}
    for name, annotation, default, keyword in _fields(kind):
        line = _assigned(name, annotation, default, inspect.Parameter.empty)
        line = f"{line}  (by name)" if keyword else line
        owner = next((b for b in kind.__mro__ if name in inspect.get_annotations(b)), kind)
        if line not in known:
            yield Member([line], [Annotation(owner.__module__, text_of(annotation), returned=True)])


def _fields(kind: type) -> Iterator[tuple[str, object, object, bool]]:
    empty = inspect.Parameter.empty
    if dataclasses.is_dataclass(kind):
        made = inspect.signature(kind).parameters
        for f in dataclasses.fields(kind):
            if f.init and not f.name.startswith("_"):
                yield f.name, f.type, made[f.name].default, f.kw_only is True
    elif issubclass(kind, (tuple, dict)):
        defaults = getattr(kind, "_field_defaults", {})
        for name in getattr(kind, "_fields", inspect.get_annotations(kind)):
            yield name, inspect.get_annotations(kind)[name], defaults.get(name, empty), False


def members(kind: type, listed: Iterable[type], *, data: bool = False) -> Iterator[Member]:
    """Yield attributes and methods of a class, but for those of a base that the list has; with `data` no methods."""
    own = {name for name, *_ in _fields(kind)} if kind.__module__.startswith("skedasis") else set()
    others = [base for base in listed if base in kind.__mro__[1:]]
    for name in sorted(dir(kind)):
        if name in own or (name.startswith("_") and name not in SPECIAL):
            continue
        owner = next(base for base in kind.__mro__ if name in vars(base))
        value = vars(owner)[name]
        inherited = any(inspect.getattr_static(base, name, others) is value for base in others)
        method = callable(value) or isinstance(value, (classmethod, staticmethod))
        if owner.__module__.startswith("skedasis") and not inherited and not (data and method):
            yield from _member(name, value, owner)


def _member(name: str, value: object, owner: type) -> Iterator[Member]:
    if isinstance(value, (property, functools.cached_property)):
        function: Any = value.fget if isinstance(value, property) else value.func
        notes = [n for n in annotations_of(function) if n.returned]
        yield Member([f"{name}: {notes[0].text if notes else 'object'}  (read only)"], notes)
    elif isinstance(value, (classmethod, staticmethod)):
        lines = signature(name, value.__func__)
        yield Member(lines, list(annotations_of(value.__func__)))
    elif callable(value):
        yield Member(signature(name, value), list(annotations_of(value)))
    elif name in inspect.get_annotations(owner):
        text = text_of(inspect.get_annotations(owner)[name])
        yield Member([f"{name}: {text}"], [Annotation(owner.__module__, text, returned=True)])
    elif not inspect.ismemberdescriptor(value):
        yield Member([f"{name} = {value_text(value)}"], [])


# --- what is public -------------------------------------------------------------------------------


def documented() -> dict[str, bool]:
    """Return the names on the pages of the reference, and whether members of them are shown, too."""
    found: dict[str, bool] = {}
    for page in sorted(REFERENCE.glob("*.md")):
        for name, options in re.findall(
            r"^::: (\S+)\n(?: +(options: .*))?", page.read_text("utf-8"), re.MULTILINE
        ):
            found[name] = "members: false" not in options
    return found


def named(name: str) -> object:
    """Return the object of a dotted name.

    Examples
    --------
    >>> named("skedasis.results.axis.NumericAxis").__name__
    'NumericAxis'
    """
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[n:], found)
    raise ValueError(name)


def public_objects() -> dict[str, object]:
    """Return what users name, by the names that they write; then kinds of these results, and what is documented."""
    found: dict[str, object] = {}
    for name in sorted(set(sd.__all__) - {"__version__"}):
        value = getattr(sd, name)
        if isinstance(value, ModuleType) and callable(value):
            # `sd.report`, once its package is imported, is that package, which can be called.
            value = getattr(importlib.import_module(f"skedasis.{name}.{name}"), name)
        if isinstance(value, ModuleType):
            found |= {f"sd.{name}.{n}": getattr(value, n) for n in sorted(value.__all__)}
        else:
            found[f"sd.{name}"] = value
    for kind in [value for value in found.values() if isinstance(value, type)]:
        found |= {f"{k.__module__}.{k.__qualname__}": k for k in kinds_of(kind)}
    for name in sorted(documented()):
        value = named(name)
        if not isinstance(value, ModuleType) and all(value is not v for v in found.values()):
            found[name] = value
    return found


def kinds_of(kind: type) -> Iterator[type]:
    """Yield the classes of results that are derived from a class."""
    for derived in filter(is_result, kind.__subclasses__()):
        yield derived
        yield from kinds_of(derived)


def is_result(kind: type) -> bool:
    """Return whether objects of a class are results or parts of them."""
    return kind.__module__.startswith("skedasis.results.") and not kind.__name__.startswith("_")


class Extent(NamedTuple):
    """The classes of which the list has all members, and those of which it has none but the parameters."""

    full: set[type]
    bare: set[type]

    def members(self, kind: type, listed: Iterable[type]) -> Iterator[Member]:
        """Yield the fields and the members of a class that the list has."""
        yield from fields(kind, listed)
        if kind not in self.bare:
            yield from members(kind, listed, data=kind not in self.full)


class Reached(NamedTuple):
    """The classes of objects, of their members and of what these return, and the aliases in annotations."""

    classes: list[type]
    aliases: dict[str, str]


def reached(objects: Iterable[object], extent: Extent) -> Reached:
    """Return what can be reached from public objects."""
    waiting = list(objects)
    found = Reached([], {})
    while waiting:
        value = waiting.pop(0)
        if not isinstance(value, type):
            notes = list(annotations_of(value)) if callable(value) else []
        elif value in found.classes:
            continue
        else:
            found.classes.append(value)
            notes = [note for m in extent.members(value, ()) for note in m.annotations]
        for note in notes:
            waiting += filter(is_result, _classes_in(note, found.aliases))
    return found


def _classes_in(note: Annotation, aliases: dict[str, str]) -> Iterator[type]:
    """Yield the classes that are returned where an annotation says so, and add the aliases in it."""
    for name in names_in(note.text):
        place = resolve(note.module, name)
        if place is None or name.startswith("_"):
            continue
        if isinstance(place.statement, ast.ClassDef):
            if note.returned:
                yield getattr(importlib.import_module(place.module), place.name)
            continue
        key, meaning = f"{place.module}.{place.name}", alias_text(place.statement)
        if meaning is not None and key not in aliases:
            aliases[key] = meaning
            yield from _classes_in(Annotation(place.module, meaning, note.returned), aliases)


def alias_text(statement: ast.stmt) -> str | None:
    """Return what an alias of a type stands for; None for a variable of types, and for what is no alias."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    if value is None or isinstance(value, ast.Call):
        return None
    text = value.value if isinstance(value, ast.Constant) else ast.unparse(value)
    return text if isinstance(text, str) else None


# --- the list -------------------------------------------------------------------------------------


def class_lines(name: str, kind: type, listed: list[type], extent: Extent) -> Iterator[str]:
    """Yield the lines of a class."""
    known = bases(kind, listed)
    yield f"class {name}({', '.join(known)})" if known else f"class {name}"
    yield from (f"    {line}" for m in extent.members(kind, listed) for line in m.lines)


def alias_lines(name: str, meaning: str) -> list[str]:
    """Return the lines of an alias: one, or one for each alternative where that is too long.

    Examples
    --------
    >>> alias_lines("Side", "Literal['left', 'right']")
    ["Side = Literal['left', 'right']"]
    """
    line = f"{name} = {meaning}"
    if len(line) <= WIDTH:
        return [line]
    parts = _alternatives(ast.parse(meaning, mode="eval").body)
    return [f"{name} =", *(f"    | {ast.unparse(part)}" for part in parts)]


def _alternatives(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [*_alternatives(node.left), *_alternatives(node.right)]
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
        return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [node]


def shell_lines() -> Iterator[str]:
    """Yield the commands of the shell with their arguments and options."""
    from skedasis.cli.app import app

    callbacks = {"": app.registered_callback.callback if app.registered_callback else None}
    callbacks |= {str(c.name): c.callback for c in app.registered_commands}
    for name, callback in sorted(callbacks.items()):
        yield f"skedasis {name}".rstrip()
        found = inspect.signature(callback).parameters.values() if callback else ()
        hints = typing.get_type_hints(callback, include_extras=True) if callback else {}
        lines = [f"    {option_text(p, hints[p.name])}" for p in found]
        # The order of arguments matters, that of options does not.
        yield from (line for line in lines if line.startswith("    ["))
        yield from sorted(line for line in lines if not line.startswith("    ["))


def option_text(parameter: inspect.Parameter, hint: Any) -> str:
    """Return an argument or an option of a command: its names, what its value is called, and its default."""
    kind, info = typing.get_args(hint)[:2]
    if type(info).__name__ == "ArgumentInfo":
        several = "..." if "list[" in str(kind) else ""
        return f"[{info.metavar}]{several}"
    # typer takes the first name for a default until it reads the annotation.
    written = [name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str)]
    if not written:
        long = "--" + parameter.name.strip("_").replace("_", "-")
        written = [f"{long}/--no-{long[2:]}" if kind is bool else long]
    value = "" if kind is bool else f" {info.metavar or kind.__name__}"
    several = " (may be repeated)" if "list[" in str(kind) else ""
    nothing = parameter.default is None or parameter.default is False
    default = "" if nothing else f" = {parameter.default}"
    return f"{', '.join(written)}{value}{default}{several}"


def number_lines() -> Iterator[str]:
    """Yield the versions of formats, the exit codes, the variables of the environment and the extras."""
    from skedasis.cli import runtime
    from skedasis.report import data
    from skedasis.results import export, io

    yield f"format of saved results: {io.FORMAT}"
    yield f"schema of the JSON of results: {export.SCHEMA}"
    yield f"schema of the JSON of reports: {data.SCHEMA}"
    codes = (runtime.FAILED, runtime.REFUSED, runtime.INTERRUPTED, runtime.CLOSED)
    yield f"exit codes of the shell: 0, {', '.join(map(str, codes))}"
    source = "\n".join(p.read_text(encoding="utf-8") for p in sorted(PACKAGE.rglob("*.py")))
    yield f"environment variables: {', '.join(sorted(set(re.findall('SKEDASIS_[A-Z]+', source))))}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield f"extras: {', '.join(sorted(set(project['optional-dependencies']) - DEVELOPMENT))}"
    yield f"Python: {project['requires-python']}"


def text() -> str:
    """Return the whole list."""
    objects = public_objects()
    names = {value: name for name, value in objects.items() if isinstance(value, type)}
    bare = {named(name) for name, members_too in documented().items() if not members_too}
    extent = Extent(set(names), {kind for kind in bare if isinstance(kind, type)})
    found = reached(objects.values(), extent)
    for kind in found.classes:
        names.setdefault(kind, f"{kind.__module__}.{kind.__qualname__}")
    in_order = sorted(
        found.classes, key=lambda kind: (not names[kind].startswith("sd."), names[kind])
    )
    parts: list[Iterable[str]] = [HEAD.splitlines(), ["# Functions and values"]]
    parts += [
        signature(name, value) if callable(value) else [name, *(f"    {key}" for key in value)]
        for name, value in objects.items()
        if not isinstance(value, type)
    ]
    parts += [["# Classes"]]
    full = [kind for kind in in_order if kind in extent.full]
    parts += [class_lines(names[kind], kind, full, extent) for kind in in_order]
    parts += [["# Types in annotations"]]
    parts += [[line for alias in sorted(found.aliases.items()) for line in alias_lines(*alias)]]
    parts += [["# Commands"], shell_lines(), ["# Formats and numbers"], number_lines()]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def difference(committed: str, found: str) -> str:
    """Return the lines that differ, each below the name that it belongs to; empty if none does."""
    lines = difflib.unified_diff(
        committed.splitlines(), found.splitlines(), "committed", "found", n=2, lineterm=""
    )
    return "\n".join(lines)


def main() -> int:
    """Write the list, or say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    found = text()
    changes = difference(FILE.read_text("utf-8") if FILE.exists() else "", found)
    if write and changes:
        FILE.write_text(found, "utf-8")
        print(f"{FILE.name}: written")
    else:
        print(changes or f"{FILE.name}: up to date")
    return 1 if changes and not write else 0


if __name__ == "__main__":
    raise SystemExit(main())
