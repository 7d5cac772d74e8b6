"""`Feature`: name and kind of a column, inferred or declared, and the range of numbers that is supported."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np

from skedasis.data.times import TimeAxis
from skedasis.errors import DataError, explained

# ------------------------------------------------------------------------------------------
# Features: what a column is called, and what kind of values it holds.


Kind = Literal["continuous", "ordinal", "nominal"]


@dataclass(frozen=True)
class Feature:
    """One column of the data, or several that move together.

    Parameters
    ----------
    name : str
        Its label, as text.
    kind : {"continuous", "ordinal", "nominal"}
        Numbers, dates, times and durations are continuous unless declared otherwise; text and booleans are nominal.
    unit : str, optional
        Shown on axes.
    levels : tuple, optional
        The values of an ordinal or nominal feature, in order: any hashable objects.
    position : int
        The column's place in X.
    label : hashable
        The label as X has it (pandas allows any hashable).
    dtype : str
        The column's type, as its library names it; ``"group"`` for several columns.
    members : tuple of int
        Places of the columns of a group; empty for a single column.
    time : TimeAxis, optional
        Of a column of dates, times or durations: how they are days on an axis. It follows from the column.

    Examples
    --------
    >>> Feature("bmi", unit="kg/m²").axis
    'bmi [kg/m²]'
    """

    name: str
    kind: Kind = "continuous"
    unit: str | None = None
    levels: tuple[Any, ...] | None = None
    position: int = 0
    label: Hashable = None
    dtype: str = "float64"
    members: tuple[int, ...] = ()
    time: TimeAxis | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[int, ...]:
        """Return the places of all columns that the feature consists of."""
        return self.members or (self.position,)

    @property
    def categorical(self) -> bool:
        """Return whether the feature has levels: whether it is declared, or inferred, to be anything but continuous."""
        return self.kind != "continuous"

    @property
    def numeric(self) -> bool:
        """Return whether the feature's values have distances: whether it has slopes and bins."""
        return self.kind != "nominal" and not any(isinstance(v, str) for v in self.levels or ())

    @property
    def per(self) -> str:
        """Return what slopes are per: the unit, of times a day, else the name."""
        return "day" if self.time is not None else self.unit or self.name

    @property
    def axis(self) -> str:
        """Return the text for an axis: the name, and the unit where it is known."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def declare(features: Sequence[Feature], schema: Any) -> tuple[Feature, ...]:
    """Overrule what was inferred of the columns by what the user declares.

    Parameters
    ----------
    features : sequence of Feature
        As inferred from the columns' types.
    schema : None, mapping or sequence of Feature
        ``{"age": "ordinal"}`` or ``{0: Feature("age", unit="years")}``, which names a column of an array, or `Feature`
        objects named as columns.

    Raises
    ------
    DataError
        For a name that is no column, a kind that does not exist, or a schema of another type.
    """
    if schema is None:
        return tuple(features)
    if isinstance(schema, Mapping):
        entries = list(schema.items())
    elif isinstance(schema, Sequence) and all(isinstance(f, Feature) for f in schema):
        entries = [(f.name, f) for f in schema]
    else:
        raise DataError(
            explained(
                "schema",
                f"{type(schema).__name__}",
                "a mapping or a list of Feature",
                'Write schema={"age": "ordinal"} or schema=[sd.Feature("age", unit="years")]',
            )
        )
    declared = list(features)
    for name, entry in entries:
        place = find(declared, name)
        declared[place] = _overrule(declared[place], entry)
    check_names([f.name for f in declared])
    return tuple(declared)


def _overrule(inferred: Feature, entry: Any) -> Feature:
    if isinstance(entry, Feature) and entry.kind in get_args(Kind):
        return replace(
            inferred, name=entry.name, kind=entry.kind, unit=entry.unit, levels=entry.levels
        )
    if entry in get_args(Kind):
        return replace(inferred, kind=entry)
    raise DataError(
        explained(
            f"schema[{inferred.name!r}]",
            repr(entry.kind if isinstance(entry, Feature) else entry),
            " | ".join(get_args(Kind)),
            "Name one of these kinds, or give a sd.Feature",
        )
    )


def find(features: Sequence[Feature], wanted: Hashable) -> int:
    """Return the place of the feature that is called `wanted`, or stands there.

    A label wins over a name, and a name over a position, so that a data frame whose columns are called 0, 1, …, or
    "0", "1", …, is never misread.

    Raises
    ------
    DataError
        Where there is none: the message suggests the nearest name.
    """
    if isinstance(wanted, np.generic):
        wanted = wanted.item()
    for attribute in ("label", "name"):
        for place, feature in enumerate(features):
            if getattr(feature, attribute) == wanted and not isinstance(wanted, bool):
                return place
    if isinstance(wanted, Integral) and not isinstance(wanted, bool):
        place = int(wanted)
        if -len(features) <= place < len(features):
            return place % len(features)
        raise DataError(
            explained(
                "feature",
                str(wanted),
                f"a column of 0..{len(features) - 1}",
                f"X has {len(features)} columns; count them from 0",
            )
        )
    names = [f.name for f in features]
    near = difflib.get_close_matches(str(wanted), names, n=1, cutoff=0.4)
    fix = f"Did you mean {near[0]!r}?" if near else "Use a name from X's columns"
    listed = ", ".join(repr(n) for n in names[:12]) + (", …" if len(names) > 12 else "")
    raise DataError(explained("feature", repr(wanted), f"one of {listed}", fix))


def check_names(names: Sequence[str]) -> None:
    """Refuse names that stand twice: the first would win without a word."""
    seen: set[str] = set()
    twice = sorted({n for n in names if n in seen or seen.add(n)})
    if twice:
        raise DataError(
            explained(
                "X",
                f"the column name {twice[0]!r} more than once",
                "names that differ (as text)",
                "Rename the columns, for example X.columns = [...]",
            )
        )


# ------------------------------------------------------------------------------------------
# Ranges of numbers in which effects can be computed with float64, without collisions of values or overflow.


LARGEST_INTEGER = 2**53
"""float64 holds all integers up to this size exactly."""


LEAST_SPREAD, LARGEST = 1e-140, 1e140
"""Outside these limits squares of values or of slopes may leave float64's range (1e-308 to 1e308)."""


class OutOfRange(DataError):  # noqa: N818 - named like `TooManyLevels`
    """A feature has values outside the range in which effects can be computed with float64."""


def check_integers(feature: Feature, ends: tuple[int, int] | None) -> None:
    """Raise if float64 would round the integers of a column.

    Parameters
    ----------
    feature : Feature
    ends : tuple of int, optional
        The smallest and the largest value, before they became floats; None for columns of anything else.

    Raises
    ------
    OutOfRange
    """
    if ends is None or max(abs(end) for end in ends) <= LARGEST_INTEGER:
        return
    worst, (low, high) = max(ends, key=abs), ends
    fix = f"Subtract an offset, such as the smallest value {low:,}"
    if high - low > LARGEST_INTEGER:
        fix = "Rescale it to floats, for example divide it by its largest value"
    raise OutOfRange(
        explained(
            f"feature {feature.name!r}",
            f"the integer {worst:,}",
            "integers up to 2**53 in size, which float64 holds exactly",
            fix,
        )
    )


def check_range(feature: Feature, low: float, high: float) -> None:
    """Raise if numbers are too large for float64, or too close together.

    Parameters
    ----------
    feature : Feature
    low, high : float
        Smallest and largest value, finite.

    Raises
    ------
    OutOfRange
    """
    what, largest = f"feature {feature.name!r}", max(abs(low), abs(high))
    if largest > LARGEST:
        raise OutOfRange(
            explained(
                what,
                f"values up to {largest:.3g} in size",
                f"at most {LARGEST:g}",
                "Rescale it, for example divide it by its largest value",
            )
        )
    spread = float(np.float64(high) - np.float64(low))
    if 0 < spread < LEAST_SPREAD:
        raise OutOfRange(
            explained(
                what,
                f"values that differ by {spread:.3g} at most",
                f"a spread (max - min) of at least {LEAST_SPREAD:g}, or 0",
                "Rescale it, for example divide it by its largest value",
            )
        )
