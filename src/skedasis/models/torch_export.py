"""Reader of `torch.export` archives that loads no pickle.

torch does not protect against malicious files: `torch.export.load` unpickles parts of the archive, creates symbols by
`eval`, and writes the names of the graph into Python code that it runs. Therefore the archive is checked first, and
copied to a new archive that holds only what a plain program needs: raw numbers, torch's own operations, valid names,
and arithmetic expressions of sizes. Anything else raises an error, unless the user trusts the whole file.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import math
import re
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from skedasis.errors import DataError
from skedasis.models.file_checks import Malformed, broken, library, read_archive

_NAME = re.compile(r"[A-Za-z0-9_.+\-]*\Z")
"""Texts that cannot become code."""


_TARGET = re.compile(
    r"torch\.ops\.(aten|prims)\.(?!__|from_file)\w+\.(?!__)\w+\Z"
    r"|torch\.sym_\w+\Z"
    r"|math\.(?!__)\w+\Z"
    r"|_operator\.(getitem|add|sub|mul|truediv|floordiv|mod|pow|neg|eq|ne|lt|le|gt|ge|and_|or_|not_)\Z"
)
"""Operations that a program may call."""


_SPECS = {"builtins.tuple", "builtins.list", "builtins.dict"}
"""Containers that inputs and outputs may have."""


_SIZES: tuple[type[ast.AST], ...] = (
    ast.Expression,
    ast.Call,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.keyword,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
)
"""Syntax of a size: numbers, symbols, calls of named functions, operators; no attributes and no subscripts."""


_MOST_NUMBERS = 2**28
"""Numbers in a tensor whose size a program states."""
_WHOLE = 2**63 - 1
"""The end of a slice that goes to the last row or column."""

_FUNCTIONS = {
    "Symbol",
    "Integer",
    "Float",
    "Rational",
    "Max",
    "Min",
    "Mod",
    "PythonMod",
    "FloorDiv",
    "CleanDiv",
    "CeilDiv",
    "Eq",
    "Ne",
    "Lt",
    "Le",
    "Gt",
    "Ge",
    "Add",
    "Mul",
    "Pow",
    "PowByNatural",
    "FloatPow",
    "FloatTrueDiv",
    "IntTrueDiv",
    "ToFloat",
    "TruncToInt",
    "TruncToFloat",
    "FloorToInt",
    "CeilToInt",
    "RoundToInt",
    "And",
    "Or",
    "Not",
    "Where",
    "ModularIndexing",
    "true",
    "false",
    "True",
    "False",
}
"""Functions and constants that a size may name."""


_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | float | bool | None"
"""A value that `json` has read."""


class _Rejected(Exception):  # noqa: N818 - internal: `program` turns it into a DataError with the file's name
    """The archive has something that a plain program does not need; the message names it."""


def program(file: Path, *, pickle: bool = False) -> object:
    """Return the module of an exported program.

    Parameters
    ----------
    file : Path
    pickle : bool
        Whether the file is trusted: then torch reads it unchecked, and runs any code in it.

    Raises
    ------
    DataError
        If the file is truncated or of another kind, or if the program has more in it than torch's operations and
        numbers.
    """
    torch = library("torch", file, "torch")
    library("torch.export", file, "torch")
    if not zipfile.is_zipfile(file):
        raise broken(file, "torch.export")
    try:
        source = str(file) if pickle else io.BytesIO(_checked_archive(file))
    except _Rejected as error:
        raise DataError(
            f"model {str(file)!r}",
            f"a program with {error}",
            "only torch's own operations and weights as plain numbers",
            "Export the module again, or, if you know who wrote the file, pass --trust-pickle: torch then runs any "
            "code in it",
        ) from error
    except (Malformed, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise broken(file, "torch.export", error) from error
    try:
        with _silence():
            return torch.export.load(source).module()
    except Exception as error:
        # A malformed archive raises any error: AssertionError, KeyError, ...
        raise broken(file, "torch.export", error) from error


@contextlib.contextmanager
def _silence() -> Generator[None]:
    """Keep torch from logging its own traceback in addition to the error."""
    import logging  # NumPy and this package do without

    log = logging.getLogger("torch.export")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


def _checked_archive(file: Path) -> bytes:
    """Return a new archive of the checked records only: torch's reader may find others in the file."""
    parts = read_archive(file)
    if "serialized_exported_program.json" in parts:
        raise _Rejected("the archive format of torch before version 2.8")
    records = {name.partition("/")[2]: raw for name, raw in parts.items()}
    if "archive_format" not in records:
        raise ValueError("the archive holds no program")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as new:
        for name, raw in records.items():
            checked = _check_record(name, raw)
            if checked is not None:
                new.writestr(f"model/{name}", checked)
    return archive.getvalue()


def _check_record(name: str, raw: bytes) -> bytes | None:
    """Return the checked content of a record of the archive; None if no program needs it."""
    if name in ("archive_format", "archive_version", "byteorder", "version", ".data/version"):
        return raw
    if name.startswith("models/"):
        return _check_program(raw)
    if name.startswith("data/sample_inputs/"):
        return b""  # a pickle; torch requires the record, but accepts an empty one
    if name.startswith(("data/aotinductor/", "data/executorch/")):
        raise _Rejected("compiled code")
    if re.match(r"data/(weights|constants)/[^/]*_config\.json\Z", name):
        return _check_weights(raw)
    if re.match(r"data/(weights/weight|constants/tensor)_\d+\Z", name):
        return raw
    if name.startswith(("data/weights/", "data/constants/")):
        raise _Rejected(f"a pickle, {name}")
    return None


def _check_weights(raw: bytes) -> bytes:
    """Return the list of weights; raise if one of them is not plain numbers."""
    document = json.loads(raw)
    for entry in document["config"].values():
        if entry.get("use_pickle") or not re.match(r"(weight|tensor)_\d+\Z", entry["path_name"]):
            raise _Rejected("a pickle among its weights")
    _check_texts(document)
    return json.dumps(document).encode()


def _check_program(raw: bytes) -> bytes:
    """Return the program without the parts that torch would run as code; raise if another text could become code."""
    document = json.loads(raw)
    document["guards_code"] = []
    for graph in _graphs(document):
        for node in graph["nodes"]:
            node["metadata"] = {}  # source locations, and names that torch would look up
            if not _TARGET.match(node["target"]):
                raise _Rejected(f"the operation {node['target'][:80]!r}")
            _check_numbers(node["inputs"])
    _check_texts(document)
    return json.dumps(document).encode()


def _check_numbers(inputs: _Json) -> None:
    """Raise if arguments of an operation are the sizes of a tensor that does not fit into memory."""
    waiting = [inputs]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            whole = [abs(n) for n in part if isinstance(n, int) and n]
            if math.prod(whole) > _MOST_NUMBERS:
                raise _Rejected(f"a tensor of size {str(part)[:80]}")
            waiting.extend(one for one in part if isinstance(one, dict | list))
        elif isinstance(part, dict):
            number = part.get("as_int")
            if isinstance(number, int) and _MOST_NUMBERS < abs(number) < _WHOLE:
                raise _Rejected(f"a tensor of size {number}")
            waiting.extend(part.values())


def _graphs(document: _Json) -> Iterator[dict[str, Any]]:
    """Yield all graphs in a program: branches and loops hold further graphs."""
    waiting = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("nodes"), list):
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _check_texts(value: _Json, key: str = "") -> None:
    """Raise if a text in a JSON value is neither a name nor a size: torch writes texts into code."""
    if isinstance(value, dict):
        for name, part in value.items():
            _check_texts(name)
            _check_texts(part, name)
    elif isinstance(value, list):
        for part in value:
            _check_texts(part, key)
    elif isinstance(value, str):
        if key == "expr_str":
            _check_size(value)
        elif key in ("in_spec", "out_spec"):
            _check_spec(json.loads(value))
        elif not _NAME.match(value):
            raise _Rejected(f"the name {value[:80]!r}")


def _check_size(text: str) -> None:
    """Raise if a text is not an arithmetic expression of sizes: torch evaluates it."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError) as error:
        raise _Rejected(f"the size {text[:80]!r}") from error
    for part in ast.walk(tree):
        call_allowed = not isinstance(part, ast.Call) or (
            isinstance(part.func, ast.Name) and part.func.id in _FUNCTIONS
        )
        constant_allowed = (
            not isinstance(part, ast.Constant)
            or not isinstance(part.value, str)
            or part.value.isidentifier()
        )
        name_allowed = (
            not isinstance(part, ast.Name)
            or part.id in _FUNCTIONS
            or re.match(r"[a-z]+\d+\Z", part.id)
        )
        if not (isinstance(part, _SIZES) and call_allowed and constant_allowed and name_allowed):
            raise _Rejected(f"the size {text[:80]!r}")


def _check_spec(spec: _Json) -> None:
    """Raise if inputs or outputs are not tensors in tuples, lists and dictionaries with valid names."""
    if isinstance(spec, list):
        for part in spec:
            _check_spec(part)
    elif isinstance(spec, dict):
        if spec.get("type") not in (None, *_SPECS):
            raise _Rejected(f"inputs of type {spec['type']!r}")
        context: Any = spec.get("context")  # if it is no text, reading it raises TypeError
        _check_texts([] if context is None else json.loads(context))
        _check_spec(spec.get("children_spec", []))
