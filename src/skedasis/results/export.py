r"""Results as plain data: `to_dict` and `to_json` of every result, and the rules of what they write."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, is_dataclass
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from skedasis import __version__
from skedasis._arguments import check_flag, check_int_or_none, check_probability
from skedasis._calls import checked_call
from skedasis._escaping import Printed
from skedasis._files import check_writable, write_text
from skedasis._types import Floats, JsonValue, Values
from skedasis.data.categories import labels_of
from skedasis.data.time_columns import PER_DAY, Times, is_points, is_times
from skedasis.data.times import TimePoints
from skedasis.results import operations
from skedasis.results.described import Content, Documented, Keys, content_of, keys_of
from skedasis.results.signatures import document_table

SCHEMA = 2
"""Version of the schema: it changes if a key is renamed or removed, or gets another meaning; not if one is added."""


Object: TypeAlias = dict[str, JsonValue]
"""An object of JSON."""
TableColumn: TypeAlias = Values | Sequence[object] | TimePoints
TableColumns: TypeAlias = dict[str, TableColumn]
"""A table as columns, which `to_frame` converts."""


# --- text, numbers and files ----------------------------------------------------------------------


_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_text(text: str) -> str:
    r"""Return text without lone surrogates, which are no characters."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def unique_texts(names: Iterable[str]) -> dict[str, str]:
    r"""Return names as distinct plain texts: names that differ only in what is no character get a number."""
    names = list(names)
    taken = {n for n in names if n == plain_text(n)}
    found: dict[str, str] = {}
    for name in names:
        text, k = plain_text(name), 1
        own = text
        while own != name and own in taken:
            k += 1
            own = f"{text} ({k})"
        taken.add(own)
        found[name] = own
    return found


def plain_numbers(values: Floats) -> list[JsonValue]:
    """Return an array of floats as nested lists; None for numbers that are not finite."""
    if values.ndim > 1:
        return [plain_numbers(part) for part in values]
    finite = np.isfinite(values)
    # + 0.0: no negative zero.
    numbers = (values.astype(float) + 0.0).tolist()
    return [v if ok else None for v, ok in zip(numbers, finite.tolist(), strict=True)]


def iso_times(points: TimePoints) -> list[str | None]:
    """Return times as ISO 8601 text: points in time with the offset of their time zone, durations as "P2DT6H"."""
    axis = points.axis
    if axis.kind != "duration":
        return points.tolist()
    missing = ~np.isfinite(points.days)
    ticks = axis.ticks(np.where(missing, 0.0, points.days))
    return [
        None if absent else _iso_duration(int(tick), PER_DAY[axis.unit])
        for tick, absent in zip(ticks, missing.tolist(), strict=True)
    ]


def _iso_duration(ticks: int, per_day: int) -> str:
    """Return a number of ticks as an ISO 8601 duration, exactly."""
    days, rest = divmod(abs(ticks), per_day)
    text = f"P{days}D" if days else "P"
    if rest or not days:
        # Ticks of a day are never coarser than nanoseconds.
        nanoseconds = rest * (86_400_000_000_000 // per_day)
        seconds, nanoseconds = divmod(nanoseconds, 1_000_000_000)
        hours, seconds = divmod(seconds, 3600)
        minutes, seconds = divmod(seconds, 60)
        parts = [(hours, "H"), (minutes, "M")]
        text += "T" + "".join(f"{number}{unit}" for number, unit in parts if number)
        if seconds or nanoseconds or text.endswith("T"):
            fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
            text += f"{seconds}{fraction}S"
    return f"-{text}" if ticks < 0 else text


def _iso_array(times: Times) -> Values:
    """Return an array of datetime64 or timedelta64 as ISO 8601 text; None for NaT."""
    flat = times.ravel()
    texts = np.empty(len(flat), dtype=object)
    if is_points(flat):
        texts[:] = np.datetime_as_string(flat)
    else:
        unit, step = np.datetime_data(flat.dtype)
        per_day = PER_DAY.get(unit, 0)
        ticks = flat.astype(np.int64).tolist()
        texts[:] = [_iso_duration(t * step, per_day) if per_day else str(t) for t in ticks]
    texts[np.isnat(flat)] = None
    return texts.reshape(times.shape)


def to_json(data: Mapping[str, JsonValue], indent: int | None = None) -> str:
    """Return plain data as strict JSON."""
    separators = (",", ":") if indent is None else None
    return json.dumps(
        data, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
    )


# --- results --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExportOptions:
    """What `to_dict` writes."""

    rows: bool = False
    confidence_level: float = 0.95


@runtime_checkable
class _HasLibrary(Protocol):
    """A result, or its description, that states the data frame library of X."""

    @property
    def library(self) -> str | None: ...


@runtime_checkable
class _HasAbout(Protocol):
    @property
    def about(self) -> object: ...


@runtime_checkable
class Tabulated(Protocol):
    """A result with a table of its own."""

    def table(self) -> Mapping[str, TableColumn]:
        """Return the columns of `to_frame`."""
        ...


class Exportable(Printed, Documented):
    """A result that can be written as plain data and as JSON, and converted to a data frame.

    A dataclass writes its fields, or the attributes that it names in `exported`; `skedasis.results.described` has the
    rules. A class whose document is computed has methods `_document` and `_keys`, and one with other columns than its
    numbers and texts a method `table`.
    """

    __slots__ = ()

    exported: ClassVar[tuple[str, ...]] = ()
    """The attributes that `to_dict` writes, in order (`described.Exporting`); by default the fields."""

    @classmethod
    def json_kind(cls) -> str:
        """Return the name of this kind of result in JSON."""
        return cls.__name__

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "to_frame" in vars(cls):
            document_table(cls.to_frame)
            cls.to_frame = checked_call(cls.to_frame)

    @checked_call
    def to_dict(self, *, rows: bool = False, confidence_level: float = 0.95) -> Object:
        """Return what the result says as plain data: dictionaries, lists, text, numbers, True, False and None.

        Parameters
        ----------
        rows : bool
            Whether values of single rows that the result keeps, ICE curves included, are written. By default nothing
            is of a single row.
        confidence_level : float
            Confidence level of the intervals, between 0 and 1. Results that have their own level, such as a diagnosis,
            keep it.

        Returns
        -------
        dict
            With the keys "kind", "schema" (2), "version" and those of this kind of result, which the reference page
            "JSON" and `skedasis.results.schema.json_schema` describe. Numbers that are not finite are None, times ISO
            8601 text, levels their labels.

        Raises
        ------
        DataError
            For a `confidence_level` outside (0, 1), and `rows` that is not True or False.

        Notes
        -----
        Moments are not written: `save` keeps everything. The same result gives the same data. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.linspace(0, 1, 101)[:, None]
        >>> found = sd.explain(lambda X: 4 * X[:, 0], X, 0, method=sd.ALE(bins=2)).to_dict()
        >>> found["kind"], found["feature"], found["curve"]["x"], found["curve"]["value"]
        ('Effect', 'x0', [0.0, 0.5, 1.0], [-2.0, 0.0, 2.0])
        """
        return document(self, _checked_options("to_dict", rows, confidence_level))

    @checked_call
    def to_json(
        self,
        path: str | Path | None = None,
        indent: int | None = None,
        *,
        rows: bool = False,
        confidence_level: float = 0.95,
    ) -> str:
        """Return `to_dict` as strict JSON, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            An existing file is replaced; missing folders are created. The encoding is UTF-8.
        indent : int, optional
            Number of spaces of each level; by default everything is on one line.
        rows, confidence_level
            As in `to_dict`.

        Raises
        ------
        DataError
            As `to_dict`, and if the path is a folder or cannot be written.

        Notes
        -----
        Numbers have as many digits as are needed to read the same number again. No model row.
        """
        options = _checked_options("to_json", rows, confidence_level)
        check_int_or_none("to_json(indent)", indent, 0, "Use indent=2")
        file = None if path is None else check_writable(path, "to_json(path)", "result.json")
        text = to_json(document(self, options), indent)
        if file is not None:
            write_text(file, text, "to_json(path)")
        return text

    @checked_call
    def to_frame(self, backend: str | None = None) -> Any:
        """Return the numbers as a tidy data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of these that is installed.

        Raises
        ------
        UnsupportedError
            If no data frame library is installed.
        """
        table = self.table() if isinstance(self, Tabulated) else self._columns()
        return operations.to_data_frame({**table}, backend or self._library())

    def _library(self) -> str | None:
        """Return the data frame library of the rows that the result is of."""
        of = self.about if isinstance(self, _HasAbout) else self
        return of.library if isinstance(of, _HasLibrary) else None

    def _document(self, options: ExportOptions) -> Content:
        """Return the content for `to_dict`."""
        return content_of(self) if is_dataclass(self) else {}

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        """Return the schema of each key of `_document`, and of those that only some documents have."""
        return keys_of(cls) if is_dataclass(cls) else {}, {}

    def _columns(self) -> Content:
        """Return the columns of `to_frame`: by default one row with what is a number or a text."""
        content = content_of(self) if is_dataclass(self) else {}
        return {
            key: [value]
            for key, value in content.items()
            if value is None or isinstance(value, (str, bool, int, float))
        }


def _checked_options(name: str, rows: bool, confidence_level: float) -> ExportOptions:
    """Return the options of `to_dict`; raise `DataError` for invalid ones."""
    return ExportOptions(
        check_flag(f"{name}(rows)", rows),
        check_probability(f"{name}(confidence_level)", confidence_level),
    )


def document(result: Exportable, options: ExportOptions) -> Object:
    """Return a result as plain data, with the version of the schema."""
    writer = PlainWriter(options)
    content = writer.result(result)
    kind = content.pop("kind")
    whole = {"kind": kind, "schema": SCHEMA, "version": __version__, **content}
    return writer.with_plain_texts(whole)


# --- from values of any type to JSON --------------------------------------------------------------


class PlainWriter:
    """Converts the content of a document, and remembers its texts."""

    def __init__(self, options: ExportOptions) -> None:
        self.options = options
        self.texts: dict[str, None] = {}
        self.provenance: Mapping[str, object] = {}

    def result(self, result: Exportable) -> Object:
        """Return a result, with what its provenance says beyond that of the result that contains it."""
        content = dict(result._document(self.options))  # noqa: SLF001 - declared in this module
        content = {"kind": result.json_kind(), **content}
        outer, own = self.provenance, content.get("provenance")
        if isinstance(own, Mapping):
            content["provenance"] = {
                k: v for k, v in own.items() if k not in outer or not _equal(v, outer[k])
            }
            self.provenance = {**outer, **own}
        try:
            return {key: self.plain(value) for key, value in content.items()}
        finally:
            self.provenance = outer

    def plain(self, value: object) -> JsonValue:
        """Return a value of any type as a JSON value."""
        if isinstance(value, np.generic):
            # Not `item()` of times: it loses nanoseconds.
            value = np.array(value) if value.dtype.kind in "mM" else value.item()
        if value is None or isinstance(value, (str, int, float)):
            return self._scalar(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Exportable):
            return self.result(value)
        if isinstance(value, Mapping):
            return self.plain_object(value)
        if is_dataclass(value) and not isinstance(value, (type, TimePoints)):
            return self.plain_object(content_of(value))
        return self._other(value)

    def _scalar(self, value: str | int | float | None) -> JsonValue:
        """Return text and numbers as Python's own types, also if they are of a derived type."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int(value)
        return float(value) + 0.0 if math.isfinite(value) else None

    def plain_object(self, value: Mapping[str, object] | Mapping[Hashable, object]) -> Object:
        """Return a mapping as an object of JSON."""
        # Keys of several types stay distinct: 1 and "1".
        texts = [k for k in value if isinstance(k, str)]
        keys = texts if len(texts) == len(value) else labels_of([*value])
        return {self._text(k): self.plain(v) for k, v in zip(keys, value.values(), strict=True)}

    def _other(self, value: object) -> JsonValue:
        """Return a sequence or a set as a list, times as ISO 8601 text, and any other object as its text."""
        if isinstance(value, TimePoints):
            return iso_times(value)
        if isinstance(value, AbstractSet):
            return [self.plain(v) for v in sorted(value, key=str)]
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return [self.plain(v) for v in value]
        if isinstance(value, timedelta):
            return self._array(np.array(value, dtype="m8"))
        if isinstance(value, (date, time)):
            # pandas.NaT, which differs from itself, is a date.
            return self._text(value.isoformat()) if value == value else None  # noqa: PLR0124
        return self._text(str(value))

    def _array(self, value: Values) -> JsonValue:
        if value.dtype.kind == "f":
            numbers = np.asarray(value, dtype=float)
            return plain_numbers(numbers) if value.ndim else self.plain(float(numbers))
        if is_times(value):
            return self.plain(_iso_array(value).tolist())
        return self.plain(value.tolist())

    def _text(self, text: str) -> str:
        text = str.__str__(text)
        self.texts[text] = None
        return text

    def with_plain_texts(self, value: Object) -> Object:
        """Return the document with the lone surrogates of its texts replaced."""
        if not any(map(_SURROGATE.search, self.texts)):
            return value
        names = unique_texts(self.texts)

        def replaced(part: JsonValue) -> JsonValue:
            if isinstance(part, str):
                return names.get(part, part)
            if isinstance(part, Mapping):
                return {names.get(k, k): replaced(v) for k, v in part.items()}
            return [replaced(v) for v in part] if isinstance(part, Sequence) else part

        return {key: replaced(part) for key, part in value.items()}


def _equal(a: object, b: object) -> bool:
    """Return whether two entries of provenances are equal; NaN equals NaN."""
    return a is b or repr(a) == repr(b)
