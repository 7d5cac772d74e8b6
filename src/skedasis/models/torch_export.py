"""Reader of `torch.export` archives that loads no pickle.

torch promises nothing about a hostile file: it unpickles what stands in it, makes its symbols by `eval`, and writes the
names of the graph into Python code that it runs. So the archive is looked at first, and only what a plain program needs
is handed on, in a new archive: raw numbers, torch's own operations, names that are names, sums and products of sizes.
Anything else is refused, unless the whole file is trusted.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import logging
import re
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from skedasis.errors import DataError, explained
from skedasis.models.file_checks import broken, library

_NAME = re.compile(r"[A-Za-z0-9_.+\-]*\Z")


_TARGET = re.compile(
    r"torch\.ops\.(aten|prims)\.(?!__|from_file)\w+\.(?!__)\w+\Z"
    r"|torch\.sym_\w+\Z"
    r"|math\.(?!__)\w+\Z"
    r"|_operator\.(getitem|add|sub|mul|truediv|floordiv|mod|pow|neg|eq|ne|lt|le|gt|ge|and_|or_|not_)\Z"
)


_SPECS = {"builtins.tuple", "builtins.list", "builtins.dict"}


_SIZES: tuple[type[ast.AST], ...] = (
    *(
        ast.Expression,
        ast.Call,
        ast.Name,
        ast.Load,
        ast.Constant,
        ast.keyword,
        ast.BinOp,
        ast.UnaryOp,
        ast.Compare,
    ),
    *(ast.operator, ast.unaryop, ast.cmpop),
)
"""What a size is made of: numbers, symbols, calls of named functions, operators. No attributes, no subscripts."""


_FUNCTIONS = {
    *(
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
    ),
    *(
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
    ),
    *(
        "IntTrueDiv",
        "ToFloat",
        "TruncToInt",
        "TruncToFloat",
        "FloorToInt",
        "CeilToInt",
        "RoundToInt",
        "And",
        "Or",
    ),
    *("Not", "Where", "ModularIndexing", "true", "false", "True", "False"),
}


class _Doubt(Exception):  # noqa: N818 - no error of anyone's: it carries the reason to where the file's name is known
    """Something in the archive that a plain program does not need."""


def program(file: Path, *, pickle: bool = False) -> Any:
    """Return the module of an exported program.

    Parameters
    ----------
    file : Path
    pickle : bool
        Whether the file is trusted: then torch reads it as it is, and runs what is in it.

    Raises
    ------
    DataError
        For files that are none or cut off, and for programs with more in them than torch's operations and numbers.
    """
    torch = library("torch", file, "torch")
    library("torch.export", file, "torch")
    if not zipfile.is_zipfile(file):
        raise broken(file, "torch.export")
    try:
        source = str(file) if pickle else io.BytesIO(_sifted(file))
    except _Doubt as doubt:
        raise DataError(
            explained(
                f"model {str(file)!r}",
                f"a program with {doubt}",
                "torch's own operations, and weights as plain numbers",
                "Export it again, or pass --trust-pickle if you know who wrote the file: it then runs what is in it",
            )
        ) from doubt
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, RecursionError) as error:
        raise broken(file, "torch.export", error) from error
    try:
        with _silence():
            return torch.export.load(source).module()
    except Exception as error:
        # A wrong archive fails as it likes, an assertion or a missing key.
        raise broken(file, "torch.export", error) from error


@contextlib.contextmanager
def _silence() -> Generator[None]:
    """Keep torch from printing a traceback of its own beside the error."""
    log = logging.getLogger("torch.export")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


def _sifted(file: Path) -> bytes:
    """Return an archive with only what was looked at: what torch's own reader finds in the file is not asked."""
    with zipfile.ZipFile(file) as old:
        damaged = old.testzip()
        if damaged is not None:
            raise ValueError(f"{damaged} is damaged")
        records = {name.partition("/")[2]: old.read(name) for name in old.namelist()}
        if "serialized_exported_program.json" in old.namelist():
            raise _Doubt("the form that torch had before version 2.8")
    if "archive_format" not in records:
        raise ValueError("no program in it")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:
        for name, raw in records.items():
            kept = _record(name, raw)
            if kept is not None:
                new.writestr(f"model/{name}", kept)
    return made.getvalue()


def _record(name: str, raw: bytes) -> bytes | None:
    """Return what is handed on of one part of the archive; None for what nothing needs."""
    if name in ("archive_format", "archive_version", "byteorder", "version", ".data/version"):
        return raw
    if name.startswith("models/"):
        return _model(raw)
    if name.startswith("data/sample_inputs/"):
        return b""  # a pickle; torch asks for the part, and is content with an empty one
    if name.startswith(("data/aotinductor/", "data/executorch/")):
        raise _Doubt("compiled code")
    if re.match(r"data/(weights|constants)/[^/]*_config\.json\Z", name):
        return _config(raw)
    if re.match(r"data/(weights/weight|constants/tensor)_\d+\Z", name):
        return raw
    if name.startswith(("data/weights/", "data/constants/")):
        raise _Doubt(f"a pickle, {name}")
    return None


def _config(raw: bytes) -> bytes:
    """Return the list of weights; each must be plain numbers."""
    said = json.loads(raw)
    for entry in said["config"].values():
        if entry.get("use_pickle") or not re.match(r"(weight|tensor)_\d+\Z", entry["path_name"]):
            raise _Doubt("a pickle among its weights")
    _check_names(said)
    return json.dumps(said).encode()


def _model(raw: bytes) -> bytes:
    """Return the program without what torch would turn into code, after a look at every text in it."""
    said = json.loads(raw)
    said["guards_code"] = []
    for graph in _graphs(said):
        for node in graph["nodes"]:
            node["metadata"] = {}  # where it was written, and names that torch would look up
            if not _TARGET.match(node["target"]):
                raise _Doubt(f"the operation {node['target'][:80]!r}")
    _check_names(said)
    return json.dumps(said).encode()


def _graphs(said: Any) -> Iterator[Any]:
    """Give all graphs in a program: branches and loops hold others."""
    waiting = [said]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("nodes"), list):
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _check_names(said: Any, key: str = "") -> None:
    """Refuse texts that are neither names nor sizes: torch writes them into code."""
    if isinstance(said, dict):
        for name, part in said.items():
            _check_names(name)
            _check_names(part, name)
    elif isinstance(said, list):
        for part in said:
            _check_names(part, key)
    elif isinstance(said, str):
        if key == "expr_str":
            _check_size(said)
        elif key in ("in_spec", "out_spec"):
            _check_spec(json.loads(said))
        elif not _NAME.match(said):
            raise _Doubt(f"the name {said[:80]!r}")


def _check_size(text: str) -> None:
    """Refuse what is no size: torch has it evaluated."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError) as error:
        raise _Doubt(f"the size {text[:80]!r}") from error
    for part in ast.walk(tree):
        called = not isinstance(part, ast.Call) or (
            isinstance(part.func, ast.Name) and part.func.id in _FUNCTIONS
        )
        plain = (
            not isinstance(part, ast.Constant)
            or not isinstance(part.value, str)
            or part.value.isidentifier()
        )
        named = (
            not isinstance(part, ast.Name)
            or part.id in _FUNCTIONS
            or re.match(r"[a-z]+\d+\Z", part.id)
        )
        if not (isinstance(part, _SIZES) and called and plain and named):
            raise _Doubt(f"the size {text[:80]!r}")


def _check_spec(spec: Any) -> None:
    """Refuse inputs and outputs other than tensors in tuples, lists and dictionaries by name."""
    if isinstance(spec, list):
        for part in spec:
            _check_spec(part)
    elif isinstance(spec, dict):
        if spec.get("type") not in (None, *_SPECS):
            raise _Doubt(f"inputs of type {spec['type']!r}")
        context = spec.get("context")
        _check_names([] if context is None else json.loads(context))
        _check_spec(spec.get("children_spec", []))
