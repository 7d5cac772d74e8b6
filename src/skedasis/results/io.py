"""Saving and loading of results: NumPy arrays and a JSON header, without pickle, so that loading runs no code."""

from __future__ import annotations

import errno
import json
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from skedasis._arguments import as_bytes, counted_bytes, shown
from skedasis._calls import checked_call
from skedasis._files import binary_file, check_writable
from skedasis._types import DType, JsonValue, Values
from skedasis.errors import DataError, FileError, format_error
from skedasis.registry import load_plugins
from skedasis.results.described import subclasses
from skedasis.results.display import SavedResult
from skedasis.results.effect import BEFORE_SPREAD
from skedasis.results.provenance import model_names, with_total
from skedasis.results.saved_fields import FieldError, Kinds, check_fields, saved_kinds

# --- values to JSON -------------------------------------------------------------------------------


MARK = "$"
"""The key that marks a JSON object as an encoded value of another type."""


Arrays = dict[str, Values]


class Packer:
    """Converts a value to JSON and collects its arrays."""

    def __init__(self, kinds: Kinds) -> None:
        self.arrays: Arrays = {}
        self._kinds = kinds
        self._names: dict[int, str] = {}

    def packed(self, value: object, name: str) -> JsonValue:
        """Return a value as JSON."""
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, (bool, int, float, str)):
            return _scalar(value)
        known = self._kinds.get(type(value).__name__) is type(value)
        if known and is_dataclass(value) and not isinstance(value, type):
            parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
            of = {k: self.packed(v, f"{name}.{k}") for k, v in parts.items()}
            return _marked(type(value).__name__, of)
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, (list, tuple)):
            of = self._items(value, name)
            return of if isinstance(value, list) else _marked("tuple", of)
        if isinstance(value, SavedResult) or is_dataclass(value):
            raise _class_error(type(value), self._kinds)
        return self._mapping(value, name) if isinstance(value, Mapping) else _other(value)

    def _items(self, values: Iterable[object], name: str) -> list[JsonValue]:
        return [self.packed(v, f"{name}.{i}") for i, v in enumerate(values)]

    def _mapping(self, value: Mapping[object, object], name: str) -> JsonValue:
        of = self._items(value.values(), name)
        # Also of a type that is derived from str.
        texts = [str.__str__(k) for k in value if isinstance(k, str)]
        if len(texts) == len(value) and MARK not in value:
            return dict(zip(texts, of, strict=True))
        keys = self._items(value, f"{name}.keys")
        return _marked("mapping", [list(item) for item in zip(keys, of, strict=True)])

    def _array(self, value: Values, name: str) -> JsonValue:
        if value.dtype.kind == "O":
            of = self._items(value.ravel().tolist(), name)
            return {**_marked("objects", of), "shape": list(value.shape)}
        first = self._names.setdefault(id(value), name)
        self.arrays.setdefault(first, value)  # the reference keeps the id unique
        return _marked("array", first)


def _class_error(kind: type, kinds: Kinds) -> DataError:
    """Return the error for an object of which `load` would not find the class."""
    got = f"an object of class {kind.__name__} of {kind.__module__}"
    if kind.__name__ in kinds:
        got = f"{got}, whose name a class of {kinds[kind.__name__].__module__} has, too"
        fix = "Rename the class; if it was defined again, compute the result with the new class"
    else:
        got = f"{got}, which no field of a result names in its type, or whose own types are unknown"
        fix = "Name it in the type of the field; import what types name at run time, too"
    return DataError("save", got, "an object whose class load finds by its name", fix)


def _marked(kind: str, of: JsonValue) -> dict[str, JsonValue]:
    return {MARK: kind, "of": of}


def _other(value: object) -> JsonValue:
    """Encode a date or a datetime, and any other object as text."""
    if isinstance(value, datetime):
        return _marked("datetime", datetime.isoformat(value))
    if isinstance(value, date):
        return _marked("date", date.isoformat(value))
    if isinstance(value, timedelta):
        return _marked("timedelta", [value.days, value.seconds, value.microseconds])
    return {**_marked("text", str(value)), "type": type(value).__name__}


def _scalar(value: bool | float | str | None) -> JsonValue:
    """Return text and numbers as Python's own types, also if they are of a derived type."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    return float(value) if math.isfinite(value) else _marked("float", repr(float(value)))


# --- JSON to values -------------------------------------------------------------------------------


def unpack(node: Any, array: Callable[[str], Values], kinds: Kinds) -> Any:
    """Return the value of a JSON node."""
    if isinstance(node, list):
        return [unpack(v, array, kinds) for v in node]
    if not isinstance(node, dict):
        return node
    if MARK not in node:
        return {k: unpack(v, array, kinds) for k, v in node.items()}
    kind = node[MARK]
    if kind in _LEAVES:
        return _LEAVES[kind](node["of"])
    if kind == "array":
        return array(node["of"])
    parts = unpack(node["of"], array, kinds)
    return _objects(parts, node["shape"]) if kind == "objects" else _made(kind, parts, kinds)


_LEAVES: dict[str, Callable[[Any], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "float": float,
    "text": str,
    "timedelta": lambda parts: timedelta(*parts),
}


def _made(kind: str, parts: Any, kinds: Kinds) -> Any:
    if kind == "tuple":
        return tuple(parts)
    if kind == "mapping":
        return dict(parts)
    if kind not in kinds and kind.isidentifier():
        load_plugins()
        kinds = saved_kinds()
        if kind not in kinds:
            raise _UnknownClassError(kind)
    made = kinds[kind]
    check_fields(made, parts)
    return made(**parts)


def _objects(values: Sequence[object], shape: Sequence[int]) -> Values:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # NumPy would turn tuples into an axis
        out[i] = value
    return out.reshape(shape)


# --- files ----------------------------------------------------------------------------------------


FORMAT, OLDEST = 8, 6
"""The format of files that `save` writes, which changes when the fields of results do; the oldest that `load` reads."""


_HEADER = "header"


_ACCUMULATED = {"AccumulatedEffect", "ValueStepsEffect", "LevelStepsEffect"}


_OLD_FIELDS = {
    **dict.fromkeys(_ACCUMULATED, "heterogeneity"),
    **dict.fromkeys(("PartialDependence", "MPlotEffect", "LevelMeansEffect"), "heterogeneity"),
    "MultiModelEffect": "within",
}
"""Fields of format 6 that have another meaning, or are no longer fields, by class."""


_NEW_NAMES = {
    "Ledger": "VarianceShares",
    "LedgerPart": "VariancePart",
    "modulates_01": "depends_01",
    "modulates_10": "depends_10",
}
"""Classes and fields of format 6 that have another name."""


_OLD_MEMBERS = {
    "Effects": "effects",
    "MultiModelEffects": "effects",
    "Surfaces": "surfaces",
    "Changes": "changes",
    "MultiOutput": "outputs",
    "RegionsByFeature": "regions",
    "MultiModelRegionsByFeature": "regions",
    "MultiModelRegions": "models",
}
"""The field of the members of a container in formats 6 and 7, by class."""


_READ_ERRORS = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, EOFError),
    *(SyntaxError, RuntimeError, OverflowError, struct.error, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error),
)
"""Errors that NumPy, zip, JSON and this module may raise on corrupt files."""


def save(result: object, path: str | Path) -> None:
    """Save a result, or a mapping of results, to one npz file."""
    if not _is_result(result):
        raise DataError(
            "save",
            f"an object of type {type(result).__name__}",
            "a result, such as an Effect, Effects, Surfaces or a MultiOutput, or a dictionary of results",
            "Pass a result of sd.explain, sd.regions, sd.interactions, sd.variance_shares or sd.diagnose",
        )
    _check_suffix(path)
    packer = Packer(saved_kinds())
    header = {"skedasis": FORMAT, "result": packer.packed(result, "result")}
    arrays: Arrays = {
        _HEADER: np.array(json.dumps(header, allow_nan=False)),
        **packer.arrays,
    }
    with binary_file(path, "save(path)") as file:
        _write_archive(file, arrays)


def _write_archive(file: BinaryIO, arrays: Arrays) -> None:
    """Write an npz file, as `numpy.savez_compressed` does."""
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
    try:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.close()
    except BaseException:
        archive.fp = None  # nothing is left to complete, now or when it is deleted
        raise


_TABLES = {
    ".csv": "to_csv",
    ".xlsx": "to_excel",
    ".parquet": "to_parquet",
    ".tex": "to_latex",
    ".md": "to_markdown",
}
"""Ending of files of tables → method of pandas that writes them."""


def _check_suffix(path: str | Path) -> None:
    """Raise for what is no path, and for a path whose ending promises another format."""
    if not isinstance(path, (str, os.PathLike)):
        raise DataError("save(path)", shown(path), "the path of a file", "Use 'result.npz'")
    check_writable(path, "save(path)", "result.npz")
    name, suffix = str(path), Path(path).suffix.lower()
    fix = f"Save it as {str(Path(path).with_suffix('.npz'))!r}"
    if suffix in _TABLES:
        fix += f", or write its table: result.to_frame('pandas').{_TABLES[suffix]}({name!r})"
    elif suffix in {".png", ".pdf", ".svg"}:
        fix += f", or its figure: result.plot().savefig({name!r})"
    elif suffix in {".html", ".htm"}:
        fix += f", or its page: result.explore({name!r})"
    elif suffix not in {".json", ".pkl", ".pickle", ".joblib", ".txt"}:
        return
    raise DataError("save(path)", repr(name), "a name with the ending .npz", fix)


@checked_call
def load(path: str | Path, *, memory: int | str | None = "1GB") -> Any:
    """Load a result from a file that `save` wrote.

    Parameters
    ----------
    path : str or Path
    memory : int, str or None
        Most memory that the arrays may take, in bytes or as a text such as "4GB"; None for any size. A small file can
        contain arrays of many gigabytes, because equal numbers are compressed to nearly nothing.

    Returns
    -------
    Effect, Effects, Surface, Surfaces, Regions, Importance, MultiOutput, …, or dict
        A new object with bitwise identical numbers. Results have no `==`: compare their arrays.

    Raises
    ------
    DataError
        If the file contains no result, has a format that this version does not read, contains fields that no result
        has, such as arrays whose shapes contradict each other, or needs more memory than `memory`.
    FileNotFoundError, IsADirectoryError, PermissionError
        If there is no such file.

    Notes
    -----
    Nothing in the file is run, nothing is allocated before the sizes of all arrays are known, and no array is inflated
    beyond the size that it declares. A file from somebody
    else can still contain a result that was never computed: its numbers are checked for consistency, not for truth.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> e = sd.explain(lambda X: X[:, 0], X, 0, method="ale")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x0.npz"
    >>> e.save(path)
    >>> bool((sd.load(path).value == e.value).all())
    True
    """
    most = None if memory is None else as_bytes(memory, "load(memory)")
    try:
        version, result = _read(path, most)
    except (FileNotFoundError, PermissionError):
        raise
    except IsADirectoryError as error:
        raise _folder_error(Path(path)) from error
    except _TooLargeError as error:
        raise DataError(
            "load",
            f"{path}, whose arrays take {counted_bytes(error.size)}",
            f"at most {counted_bytes(most or 0)}, the limit memory={memory!r}",
            "Pass a larger memory= or None, if you trust the file",
        ) from error
    except _UnknownClassError as error:
        unknown = str(error) in {kind.__name__ for kind in subclasses(SavedResult)}
        why = (
            "the types of whose fields are unknown" if unknown else "whose package is not imported"
        )
        raise DataError(
            "load",
            f"{path} with an object of class {error}, {why}",
            "a result of skedasis, or of a package that is imported",
            f"Import the package that has {error}, and at run time what the types of its fields name",
        ) from error
    except MemoryError as error:
        raise _load_error(path, "whose arrays do not fit into memory") from error
    except FieldError as error:
        raise _load_error(path, f"which is no saved result: {error}") from error
    except _READ_ERRORS as error:
        raise _load_error(path) from error
    if not OLDEST <= version <= FORMAT:
        fix = "Update skedasis" if version > FORMAT else "Explain again, and save the result again"
        raise DataError("load", f"format {version}", f"format {OLDEST} to {FORMAT}", fix)
    if not _is_result(result):
        raise _load_error(path)
    return result


def _read(path: str | Path, most: int | None) -> tuple[int, object]:
    """Return the format of a file, and its result; None for the result of another format than this version's."""
    with Path(path).open("rb") as stream, zipfile.ZipFile(stream) as file:
        archive = Archive(file, os.fstat(stream.fileno()).st_size, most)
        header = json.loads(str(archive.read(_HEADER)))
        version = header["skedasis"]
        if type(version) is not int:
            raise FieldError(f"its format is {shown(version)}")
        if not OLDEST <= version <= FORMAT:
            return version, None
        archive.check()
        node = header["result"] if version == FORMAT else _updated(header["result"], archive.read)
        result = unpack(_with_totals(node), archive.read, saved_kinds())
        archive.check_all_were_read()
        return version, result


def _updated(node: JsonValue, array: Callable[[str], Values]) -> JsonValue:
    """Return the JSON of a result of format 6 or 7 as that of the present format."""
    if isinstance(node, list):
        return [_updated(part, array) for part in node]
    if not isinstance(node, dict):
        return node
    node = {key: _updated(part, array) for key, part in node.items()}
    kind, parts = node.get(MARK), node.get("of")
    if isinstance(kind, str) and isinstance(parts, dict):
        node[MARK] = _NEW_NAMES.get(kind, kind)
        names = {**_NEW_NAMES, _OLD_MEMBERS.get(kind): "members"}
        node["of"] = parts = {names.get(name, name): part for name, part in parts.items()}
        if kind == "MultiModelRegions":
            parts["members"] = _by_model(parts)
    old = _OLD_FIELDS.get(kind, "") if isinstance(kind, str) else ""
    if isinstance(parts, dict) and old in parts:
        if kind in _ACCUMULATED:
            parts["accumulated_std"] = parts.pop(old)
        else:
            # So that all arrays of the file have been read.
            unpack(parts.pop(old), array, saved_kinds())
        record = parts.get("provenance")
        if isinstance(record, dict):
            parts["provenance"] = {**record, "spread": BEFORE_SPREAD}
    return node


def _with_totals(node: JsonValue) -> JsonValue:
    """Return the JSON of a result in whose provenances the model rows are those of all parts of the work."""
    if isinstance(node, list):
        return [_with_totals(part) for part in node]
    if not isinstance(node, dict):
        return node
    return with_total({key: _with_totals(part) for key, part in node.items()})


def _by_model(parts: dict[str, JsonValue]) -> JsonValue:
    """Return the regions of several models, a tuple in formats 6 and 7, as a mapping from the models."""
    record, node = parts.get("provenance"), parts.get("members")
    members = node.get("of") if isinstance(node, dict) else None
    if not isinstance(record, dict) or not isinstance(members, list):
        return node
    keys: list[JsonValue] = [*model_names(record, len(members))]
    return _marked("mapping", [[key, one] for key, one in zip(keys, members, strict=True)])


def _folder_error(folder: Path) -> FileError:
    files = sorted(f.name for f in folder.glob("*.npz"))
    fix = f"Pass a file in it, such as {str(folder / (files[0] if files else 'result.npz'))!r}"
    message = format_error("load", f"the folder {str(folder)!r}", "a file that save wrote", fix)
    return FileError(message, errno.EISDIR, str(folder))


def _load_error(path: object, why: str = "which is no saved result") -> DataError:
    fix = "Save the result again"
    if not isinstance(path, (str, os.PathLike)):
        fix = "Pass the path of the file: sd.load('result.npz')"
    elif Path(path).suffix.lower() != ".npz":
        fix = "Pass the file that result.save('result.npz') wrote"
    return DataError("load", f"{path}, {why}", "a file that save wrote", fix)


class _UnknownClassError(Exception):
    """A file has an object of a class that no imported package has, or whose types are unknown."""


class _TooLargeError(Exception):
    """The arrays of a file take more memory than allowed."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


_ENDING = ".npy"


_HIGHEST_RATIO = 1040
"""Bytes that one byte of a deflated stream can become: 1032, and some room for short streams."""


_PIECE = 2**20
"""Bytes that are inflated at a time."""


_COST_OF_TEXT = 10
"""Bytes of memory for each byte of the header: the array holds four bytes a letter, and its lists are built twice."""


def _size_error(name: str) -> FieldError:
    return FieldError(f"its array {shown(name)} has another size than it declares")


class _ArrayHeader(NamedTuple):
    """What an array of a file declares: `start` is the place of its content, `cost` the bytes of memory it takes."""

    shape: tuple[int, ...]
    column_major: bool
    dtype: DType
    start: int
    cost: int


class Archive:
    """The arrays of a file, each of which is read once, so that shared arrays are shared again."""

    def __init__(self, file: zipfile.ZipFile, size: int, most: int | None) -> None:
        self._file = file
        self._members = {info.filename.removesuffix(_ENDING): info for info in file.infolist()}
        self._most = most
        self._arrays: Arrays = {}
        self._headers: dict[str, _ArrayHeader] = {}
        infos = file.infolist()
        if len(self._members) < len(infos):
            raise FieldError("it has a member twice")
        if sum(info.compress_size for info in infos) > size:
            raise FieldError("its members overlap")
        for info in infos:
            if not info.filename.endswith(_ENDING):
                raise FieldError(f"its member {shown(info.filename)} is no array")
            if info.flag_bits & 1:
                raise FieldError("its members are encrypted")
            # Others inflate without a limit, as far as zipfile is concerned.
            if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise FieldError("its members are compressed by another method")

    def check(self) -> None:
        """Compare the sizes that all arrays declare with the file and with the limit, before one is read."""
        total = sum(self._header(name).cost for name in self._members)
        if self._most is not None and total > self._most:
            raise _TooLargeError(total)

    def read(self, name: str) -> Values:
        """Return an array."""
        if name not in self._arrays:
            header = self._header(name)
            if self._most is not None and header.cost > self._most:
                raise _TooLargeError(header.cost)
            order: Literal["F", "C"] = "F" if header.column_major else "C"
            content = self._content(name, header)
            self._arrays[name] = np.ndarray(header.shape, header.dtype, content, order=order)
        return self._arrays[name]

    def _content(self, name: str, header: _ArrayHeader) -> Values:
        """Return the bytes of an array, inflated in pieces and never beyond the declared size."""
        info = copy(self._members[name])
        content = np.empty(info.file_size - header.start, np.uint8)
        # zipfile would cut a stream that is longer than declared, after it has inflated all of it.
        info.file_size += 1
        at = 0
        with self._file.open(info) as stream:
            stream.read(header.start)
            while piece := stream.read(_PIECE):
                if at + len(piece) > len(content):
                    raise _size_error(name)
                content[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
                at += len(piece)
        if at < len(content):
            raise _size_error(name)
        content.flags.writeable = False
        return content

    def check_all_were_read(self) -> None:
        """Raise if there are arrays that no field of the result is."""
        others = self._members.keys() - self._arrays.keys()
        if others:
            raise FieldError(f"its member {shown(min(others))} belongs to no field")

    def _header(self, name: str) -> _ArrayHeader:
        """Return the header of an array, which declares as many bytes as the archive has of it."""
        if name not in self._headers:
            self._headers[name] = self._checked_header(name)
        return self._headers[name]

    def _checked_header(self, name: str) -> _ArrayHeader:
        info = self._members[name]
        with self._file.open(info) as stream:
            # Later versions allow headers of 4 GB, and arrays of results do not need them.
            if np.lib.format.read_magic(stream) != (1, 0):
                raise FieldError(f"its array {shown(name)} has another version of the npy format")
            shape, column_major, dtype = np.lib.format.read_array_header_1_0(stream)
            start = stream.tell()
        if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0:
            raise FieldError(f"its array {shown(name)} is of {dtype}")
        size = dtype.itemsize * math.prod(shape)
        cost = size * (_COST_OF_TEXT if name == _HEADER else 1)
        stored = _HIGHEST_RATIO * (info.compress_size + 1)
        if start + size != info.file_size or info.file_size > stored:
            raise _size_error(name)
        return _ArrayHeader(shape, column_major, dtype, start, cost)


def _is_result(value: object) -> bool:
    """Return whether this is a result, or a mapping of results."""
    if isinstance(value, SavedResult):
        return True
    return isinstance(value, Mapping) and len(value) > 0 and all(map(_is_result, value.values()))
