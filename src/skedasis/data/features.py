"""`Feature`: name and kind of a column, inferred or declared by a schema, and the supported range of numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypedDict, cast, get_args

import numpy as np

from skedasis._arguments import is_int, shown
from skedasis._escaping import one_line
from skedasis._types import Level
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError, nearest

# ----------------------------------------------------------------------------- names and kinds
Kind = Literal["continuous", "ordinal", "nominal"]


@dataclass(frozen=True)
class Feature:
    """A column of the data, or a group of columns that is treated as one feature.

    Parameters
    ----------
    name : str
        The column's label, as text.
    kind : {"continuous", "ordinal", "nominal"}
        Numbers, dates, times and durations are continuous unless declared otherwise; text and booleans are nominal.
        With labels of levels, continuous becomes nominal.
    unit : str, optional
        Shown on axes.
    levels : tuple, optional
        The values of an ordinal or nominal feature, in order: any hashable objects, or their labels.
    position : int
        The column's position in X, from 0.
    key : hashable
        The label in X (pandas allows any hashable object).
    dtype : str
        The column's type as its library names it; ``"group"`` for a group.
    members : tuple of int
        Positions of the columns of a group; empty for a single column.
    time : TimeAxis, optional
        The conversion to days on an axis, for a column of dates, times or durations. It is inferred from the column.
    label : str, optional
        The text for people, in figures, reports and messages about results. By default the name, which remains what
        results are indexed by.
    labels : mapping of level to str, optional
        Texts for people of an ordinal or nominal feature's levels, in figures, tables, rules and messages; kept as
        pairs. A level without one is shown as its value. Levels are found by their values and by their labels.

    Examples
    --------
    >>> Feature("bmi", unit="kg/m²").axis
    'bmi [kg/m²]'
    >>> Feature("bmi", unit="kg/m²", label="Body mass index").axis
    'Body mass index [kg/m²]'
    """

    name: str
    kind: Kind = "continuous"
    unit: str | None = None
    levels: tuple[Level, ...] | None = None
    position: int = 0
    key: Hashable = None
    dtype: str = "float64"
    members: tuple[int, ...] = ()
    time: TimeAxis | None = field(default=None, repr=False)
    label: str | None = field(default=None, kw_only=True)
    labels: Mapping[Level, str] | tuple[tuple[Level, str], ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        # Checked here, where the mistake is, and not first when the schema is applied.
        kind = _kind(self.kind, f"{self._argument}, kind)")
        object.__setattr__(
            self, "kind", "nominal" if self.labels and kind == "continuous" else kind
        )
        if self.unit is not None and not isinstance(self.unit, str):
            fix = "Write it in quotation marks, or leave it out"
            raise DataError(f"{self._argument}, unit)", shown(self.unit), "text", fix)
        if self.label is not None:
            _text(self.label, f"{self._argument}, label)")
        if self.labels:
            object.__setattr__(
                self, "labels", _level_labels(self.labels, f"{self._argument}, labels)")
            )
        given: object = self.levels
        if given is not None:
            levels = _levels(given, f"{self._argument}, levels)")
            known = dict(self.labels)
            level_of = {label: level for level, label in known.items() if label not in known}
            levels = tuple(level_of.get(v, v) if isinstance(v, str) else v for v in levels)
            object.__setattr__(self, "levels", levels)

    @property
    def _argument(self) -> str:
        """The start of a message about an argument: it is written where one is wrong, and not for every column."""
        return f"Feature({shown(self.name)}"

    @property
    def title(self) -> str:
        """Return the text for people: the label if there is one, else the name."""
        return self.label or self.name

    @property
    def title_by_name(self) -> dict[str, str]:
        """Return the label by the name; empty without a label."""
        return {self.name: self.label} if self.label else {}

    @property
    def columns(self) -> tuple[int, ...]:
        """Return the positions of all columns of the feature."""
        return self.members or (self.position,)

    @property
    def categorical(self) -> bool:
        """Return whether the feature has levels, that is, whether its kind is not continuous."""
        return self.kind != "continuous"

    @property
    def numeric(self) -> bool:
        """Return whether the feature's values have distances, so that it has slopes and bins."""
        # Labels of numbers in a JSON file have text as keys, and so have levels that these labels name.
        keys = self.labels and self.dtype.lower().startswith(("int", "uint", "float"))
        text = not keys and any(isinstance(v, str) for v in self.levels or ())
        return self.kind != "nominal" and not text

    @property
    def slope_denominator(self) -> str:
        """Return the denominator of slopes: "day" for times, else the unit, else the title."""
        return "day" if self.time is not None else self.unit or self.title

    @property
    def axis(self) -> str:
        """Return the axis label: the title, with the unit if there is one."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title


class SchemaEntry(TypedDict, total=False):
    """What a schema declares for a column as a dictionary."""

    kind: Kind | Literal["categorical"]
    unit: str | None
    label: str | None
    levels: Sequence[Level] | None
    labels: Mapping[Level, str]
    name: str


Declared: TypeAlias = Kind | Literal["categorical"] | Feature | SchemaEntry
"""What a schema declares for a column: its kind, a `Feature`, or a dictionary of some of a Feature's fields."""
# `Mapping` is invariant in its keys: a user's `dict[str, Kind]` is no `Mapping[Hashable, Kind]`.
Schema: TypeAlias = (
    Mapping[str, Declared]
    | Mapping[int, Declared]
    | Mapping[str | int, Declared]
    | Mapping[Hashable, Declared]
    | Sequence[Feature]
)
"""The argument `schema`: columns by key, name or position, and what is declared for them."""
Groups: TypeAlias = Mapping[str, Iterable[Hashable]]
"""The argument `groups`: the name of each group, and its columns by label, name or position."""


def apply_schema(features: Sequence[Feature], schema: Schema | None) -> tuple[Feature, ...]:
    """Return the features with the user's schema applied."""
    if schema is None:
        return tuple(features)
    entries: list[tuple[Hashable, Declared]]
    if isinstance(schema, Mapping):
        entries = list(schema.items())
    elif isinstance(schema, Sequence) and all(isinstance(f, Feature) for f in schema):
        entries = [(f.name, f) for f in schema]
    else:
        names = [v for v in (schema if isinstance(schema, Sequence) else ()) if isinstance(v, str)]
        name = next((f.name for f in features if f.name in names), features[0].name)
        fix = f'Write schema={{{name!r}: "nominal"}} or schema={{{name!r}: {{"unit": "years"}}}}'
        if hasattr(schema, "to_dict"):  # the types of a data frame
            fix += "; types need no schema: kinds are read from the columns' types"
        got = f"a {type(schema).__name__}"
        raise DataError("schema", got, "a mapping of columns to what is declared for them", fix)
    declared = list(features)
    for name, entry in entries:
        position = find_feature(declared, name, "schema")
        declared[position] = _apply(declared[position], entry)
    check_names([f.name for f in declared])
    return _distinct_labels(declared)


def _distinct_labels(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return the features with the name after each label that is also the title of another feature."""
    # Compared as figures show them: on one line.
    titles = [one_line(f.title) for f in features]
    times = Counter(titles)
    return tuple(
        replace(f, label=f"{f.label} ({f.name})") if f.label and times[title] > 1 else f
        for f, title in zip(features, titles, strict=True)
    )


def _apply(inferred: Feature, entry: Declared) -> Feature:
    if isinstance(entry, Mapping):
        return _apply_fields(inferred, entry)
    if isinstance(entry, Feature):
        if entry.kind == "continuous" and entry.levels:
            what = f"schema[{inferred.name!r}]: Feature({entry.name!r}, levels)"
            raise _levels_error(what, 'kind="ordinal"', 'kind="nominal"')
        return replace(
            inferred,
            name=entry.name,
            kind=entry.kind,
            unit=entry.unit,
            levels=entry.levels,
            label=entry.label,
            labels=entry.labels,
        )
    return replace(inferred, kind=_kind(entry, f"schema[{inferred.name!r}]"))


def _levels_error(what: str, ordinal: str, nominal: str) -> DataError:
    """Return the error for levels without a kind that has levels; `ordinal` and `nominal` are what to add."""
    return DataError(
        what,
        "levels of a feature of kind 'continuous'",
        "levels of an ordinal or nominal feature",
        f"Add {ordinal} if the levels are in order, else {nominal}",
    )


def _kind(got: object, what: str) -> Kind:
    """Return the kind that is declared: data frames call nominal features categorical."""
    if isinstance(got, str) and got in (*get_args(Kind), "categorical"):
        return "nominal" if got == "categorical" else cast("Kind", got)
    fix = 'Use one of these kinds, or a dictionary such as {"unit": "years"}'
    near = nearest(got, get_args(Kind), 0.75) if isinstance(got, str) else None
    if near is not None:
        fix = f"Did you mean {near!r}?"
    raise DataError(what, shown(got), " | ".join(get_args(Kind)), fix)


def _apply_fields(inferred: Feature, entry: SchemaEntry) -> Feature:
    """Return the feature with the fields that a dictionary contains replaced."""
    what = f"schema[{inferred.name!r}]"
    allowed = tuple(SchemaEntry.__annotations__)
    for key in entry:
        if key not in allowed:
            near = nearest(key, allowed)
            fix = 'Remove it, or write labels of levels as {"labels": {0: "no", 1: "yes"}}'
            if near is not None:
                fix = f"Did you mean {near!r}?"
            expected = f"some of {', '.join(map(repr, allowed))}"
            raise DataError(what, f"the key {shown(key)}", expected, fix)
    labels = _level_labels(entry.get("labels") or inferred.labels, f"{what}['labels']")
    named = "nominal" if labels and inferred.kind == "continuous" else inferred.kind
    kind = _kind(entry.get("kind", named), f"{what}['kind']")
    given: object = entry.get("levels", inferred.levels)
    levels = None if given is None else _levels(given, f"{what}['levels']")
    if kind == "continuous" and (levels is not None or labels):
        name = "labels" if levels is None else "levels"
        raise _levels_error(f"{what}[{name!r}]", '"kind": "ordinal"', '"kind": "nominal"')
    name = entry.get("name", inferred.name)
    return replace(
        inferred,
        name=_text(name, f"{what}['name']") or inferred.name,
        kind=kind,
        unit=_text(entry.get("unit", inferred.unit), f"{what}['unit']"),
        levels=levels,
        label=_text(entry.get("label", inferred.label), f"{what}['label']"),
        labels=labels,
    )


def _levels(levels: object, what: str) -> tuple[Level, ...]:
    """Return levels as a tuple; raise if they are no list of values."""
    if isinstance(levels, (str, bytes)) or not isinstance(levels, Iterable):
        raise DataError(what, shown(levels), "a list of values", "Write for example [1, 2, 3]")
    return tuple(cast("Iterable[Level]", levels))


def _level_labels(labels: object, what: str) -> tuple[tuple[Level, str], ...]:
    """Return labels of levels as pairs; raise if they are no mapping to different texts."""
    pairs = list(labels.items()) if isinstance(labels, Mapping) else labels
    if not isinstance(pairs, (list, tuple)) or any(not isinstance(p, tuple) for p in pairs):
        fix = 'Write for example {0: "no", 1: "yes"}'
        raise DataError(what, shown(labels), "a mapping of levels to text", fix)
    texts = [_text(text, what) or "" for _, text in pairs]
    twice = [text for text, count in Counter(texts).items() if count > 1]
    if twice:
        raise DataError(what, f"{twice[0]!r} twice", "a text for each level", "Use other texts")
    return tuple((level, one_line(text)) for (level, _), text in zip(pairs, texts, strict=True))


def _text(text: object, what: str) -> str | None:
    """Return a text or None; raise if it is something else, or shows nothing."""
    if text is None:
        return None
    if not isinstance(text, str):
        fix = "Write it in quotation marks, or leave it out"
        if isinstance(text, Mapping):
            fix = f'Write labels of levels as {{"labels": {dict(text)!r}}}'
        raise DataError(what, shown(text), "text", fix)
    if not any(c.isprintable() and not c.isspace() for c in text):
        raise DataError(
            what, shown(text), "text with at least one visible character", "Leave it out"
        )
    return text


def label_position(labels: Sequence[Hashable], wanted: object) -> int | None:
    """Return the position of a label, None without one. 1 and True are equal, but different labels."""
    if wanted not in labels:
        return None
    position = labels.index(wanted)
    both = isinstance(labels[position], (bool, np.bool_)), isinstance(wanted, (bool, np.bool_))
    return position if both[0] == both[1] else None


def find_feature(features: Sequence[Feature], wanted: Hashable, what: str = "feature") -> int:
    """Return the position of a feature, given its label, its name or its position."""
    if isinstance(wanted, np.generic):
        wanted = wanted.item()
    for known in ([f.key for f in features], [f.name for f in features]):
        position = label_position(known, wanted)
        if position is not None:
            return position
    if is_int(wanted):
        position = int(wanted)
        if -len(features) <= position < len(features):
            return position % len(features)
        raise DataError(
            what,
            str(wanted),
            f"a position in 0..{len(features) - 1}",
            f"X has {len(features)} columns, and positions start at 0: the last is {len(features) - 1}",
        )
    texts = [f.name for f in features]
    fix = _which_feature(wanted, texts)
    raise DataError(what, shown(wanted), f"one of {first_names(texts)}", fix)


def first_names(names: Sequence[object]) -> str:
    """Return the first of some names, for messages."""
    return ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")


def _which_feature(wanted: object, names: Sequence[str]) -> str:
    """Return what to write instead of a feature that does not exist."""
    plain = {name.strip().casefold(): name for name in reversed(names)}
    text = str(wanted).strip().casefold()
    parts = [part.strip() for part in re.split(r"[,;:*&+]|\s+", text) if part.strip()]
    near = nearest(text, plain)
    fix = "Use a name from X's columns"
    if isinstance(wanted, str) and text in {"", "all", "*", ":", "none"}:
        fix = "Use features=None, or leave it out, for all features"
    elif isinstance(wanted, str) and len(parts) > 1 and all(part in plain for part in parts):
        meant = [plain[part] for part in parts]
        fix = f"Pass a list: {meant!r}"
        if len(meant) == 2 and any(sign in text for sign in ":*&+"):  # an interaction in a formula
            fix = f"Write a pair as a tuple: {tuple(meant)!r}"
    elif isinstance(wanted, str) and _matches_some(_as_regex(wanted), names):
        fix = f"Write a pattern as re.compile({_as_regex(wanted)!r})"
    elif isinstance(wanted, list) and len(wanted) == 2:
        fix = f"Write a pair as a tuple: {tuple(wanted)!r}"
    elif isinstance(wanted, float) and wanted.is_integer():
        fix = f"Write a position as an integer: {int(wanted)}"
    elif near is not None:
        fix = f"Did you mean {plain[near]!r}?"
    elif all(name == f"x{j}" for j, name in enumerate(names)):
        fix = "X is an array: use the position of the column, such as 0"
    return fix


def _matches_some(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a text with signs of regular expressions is one that matches a name."""
    try:
        return bool(set(pattern) & set("*?^$[|")) and any(re.search(pattern, n) for n in names)
    except re.error:
        return False


def _as_regex(pattern: str) -> str:
    """Return a pattern of file names, such as ``temp*``, as a regular expression; others as they are."""
    if not set(pattern) & set("*?") or set(pattern) & set("^$|(\\+."):
        return pattern
    return "^" + pattern.replace("*", ".*").replace("?", ".") + "$"


def check_names(names: Sequence[str]) -> None:
    """Raise if a column name occurs more than once."""
    seen: set[str] = set()
    duplicates = sorted({n for n in names if n in seen or seen.add(n)})
    if duplicates:
        raise DataError(
            "X",
            f"the column name {duplicates[0]!r} more than once",
            "column names that are unique as text",
            "Rename the columns, for example X.columns = [...]",
        )


# ------------------------------------------------------------------ values that cannot be explained
class NoValues(DataError):  # noqa: N818 - named like `TooManyLevels`
    """All values of a feature are missing."""


def no_values(feature: Feature) -> NoValues:
    """Return the error for a feature whose values are all missing."""
    return NoValues(
        f"feature {feature.name!r}",
        "only missing values",
        "at least one value that is not missing",
        "Leave the feature out, or check how the column was read",
    )


def infinite_values(feature: Feature, count: int) -> DataError:
    """Return the error for a feature with `count` infinite values."""
    return DataError(
        f"feature {feature.name!r}",
        f"{count:,} infinite values",
        "finite numbers (NaN where a value is missing)",
        "Replace them, for example X.replace([np.inf, -np.inf], np.nan)",
    )


# ------------------------------------------------------------------- supported range of numbers
LARGEST_INTEGER = 2**53
"""float64 represents all integers up to this size exactly."""

_SMALLEST_RANGE, LARGEST = 1e-70, 1e70
"""Limits of the values of a feature. Outside them fourth powers of distances, in the errors of curves, may leave the
range of float64 (1e-308 to 1e308)."""

_SMALLEST_SLOPE, _LARGEST_SLOPE = 1e-140, 1e140
"""Limits of first and second derivatives. Outside them their squares may leave the range of float64."""


class OutOfRange(DataError):  # noqa: N818 - named like `TooManyLevels`
    """A feature has values for which effects cannot be computed in float64."""


def check_integers(feature: Feature, ends: tuple[int, int] | None) -> None:
    """Raise if float64 would round the integers of a column."""
    if ends is None or max(abs(end) for end in ends) <= LARGEST_INTEGER:
        return
    worst, (low, high) = max(ends, key=abs), ends
    fix = f"Subtract an offset, such as the smallest value {low:,}"
    if high - low > LARGEST_INTEGER:
        fix = "Rescale it to floats, for example divide it by its largest value"
    raise OutOfRange(
        f"feature {feature.name!r}",
        f"the integer {worst:,}",
        "integers up to 2**53 in size, which float64 represents exactly",
        fix,
    )


def check_range(feature: Feature, low: float, high: float) -> None:
    """Raise if the values of a feature are too large, or differ too little, for float64."""
    what, largest = f"feature {feature.name!r}", max(abs(low), abs(high))
    if largest > LARGEST:
        raise OutOfRange(
            what,
            f"values up to {largest:.3g} in size",
            f"at most {LARGEST:g}",
            "Rescale it, for example divide it by its largest value",
        )
    extent = float(np.float64(high) - np.float64(low))
    if 0 < extent < _SMALLEST_RANGE:
        raise OutOfRange(
            what,
            f"values that differ by at most {extent:.3g}",
            f"a range (max - min) of at least {_SMALLEST_RANGE:g}, or 0",
            "Rescale it, for example divide it by its largest value",
        )


def check_slopes(feature: Feature, low: float, high: float, size: float) -> None:
    """Raise if squares of first or second derivatives of a quantity by a feature would leave float64."""
    extent = high - low
    if extent <= 0:
        return
    slope = size / extent
    for derivative, unit in ((slope, "its range"), (slope / extent, "the square of its range")):
        if not _SMALLEST_SLOPE <= derivative <= _LARGEST_SLOPE:
            raise DataError(
                f"feature {feature.name!r}",
                f"a range of {extent:.3g}, for a quantity of up to {size:.3g} in size",
                f"a quantity divided by {unit} between {_SMALLEST_SLOPE:g} and {_LARGEST_SLOPE:g}",
                "Rescale both, for example divide each by its largest value",
            )
