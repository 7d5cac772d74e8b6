"""A curve in words: where it rises and falls, its peaks and dips, or its highest and lowest level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skedasis._escaping import one_line
from skedasis._numbers import ROUNDING_NOISE, number
from skedasis._types import Bools, Floats, Ints
from skedasis.data.times import TimeAxis
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import curve_polygon
from skedasis.results.effect import Effect
from skedasis.results.main_stretch import beyond_text, main_part
from skedasis.results.sentences import CURVE, TURNS, tell
from skedasis.stats.student import quantile_t

PROMINENCE = 0.15
"""A peak or dip differs from its surroundings by at least this fraction of the range of the curve."""


ERRORS = 2.0
"""A difference of two points of a curve is stated if it is larger than this many of its standard errors."""


PLATEAU, FINE = 0.005, 30
"""On a curve of at most 30 points, a peak extends to adjacent points that differ by less than 0.5 % of the range."""


MOST_TURNS = 6
"""Curves with more peaks and dips are described by their number, the highest and the lowest point."""


MOSTLY, PART = 0.9, 0.5
"""Where 90 % of a rise are within less than half of the axis, the text says where."""


WORTH_A_POSITION = 0.05
"""A curve with one turn ends, in words, at its farthest points if the ends differ from these by 5 % of its range."""


def curve_words(effect: Effect, quantity: str = "") -> str:
    """Return the shape of a curve on its main stretch in words, with the name of its values, and what lies beyond."""
    case, facts = shape_of(effect)
    said = tell(CURVE[case], quantity=quantity, **facts)
    said = f"slope: {said}" if effect.spec.derivative else said
    # The gaps of a region are those of all rows, which are said once for all regions.
    beyond = "" if effect.rule else beyond_text(effect)
    return f"{said}; {beyond}" if beyond else said


def shape_of(effect: Effect) -> tuple[str, dict[str, object]]:
    """Return the shape of a curve, a row of the table `CURVE`, and its facts."""
    if not isinstance(effect.axis, LevelAxis):
        return Curve.of(effect).shape()
    known = np.flatnonzero(np.isfinite(effect.value))
    value, error = effect.value[known], standard_errors(effect)[known]
    if len(known) < 2:
        return "none", {}
    still = _still(value, error)
    if still:
        return still, {"size": size_text(value)}
    ends = extremes(value, error)
    low, high = (
        f"{one_line(effect.axis.levels.labels[known[k]])} ({value_text(value, k)})" for k in ends
    )
    return "levels", {"top": high, "bottom": low}


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve of a numeric feature as numbers, at the points where it is known."""

    x: Floats
    value: Floats
    error: Floats
    time: TimeAxis | None = None
    unit: str | None = None

    @classmethod
    def of(cls, effect: Effect) -> Curve:
        """Return the curve of an effect of a numeric feature on its main stretch, with its parabolas as polygons."""
        effect = main_part(effect).effect
        at = effect.axis.coordinates
        x, value = curve_polygon(effect.bins, at, effect.value)
        known, own = np.isfinite(value), np.isfinite(effect.value)
        x, value = x[known], value[known]
        error = np.interp(x, at[own], standard_errors(effect)[own]) if own.any() else value
        unit = effect.about.feature.unit if effect.time is None else None
        return cls(x, value, error, effect.time, unit)

    @property
    def low(self) -> int:
        """Return the index of the lowest point, of those that are reliable."""
        return extremes(self.value, self.error)[0]

    @property
    def high(self) -> int:
        """Return the index of the highest point, of those that are reliable."""
        return extremes(self.value, self.error)[1]

    @cached_property
    def still(self) -> str:
        """Return "flat" or "unclear" if the curve has no difference beyond its errors; otherwise an empty text."""
        return _still(self.value, self.error)

    @property
    def reliable(self) -> Curve:
        """Return the curve without unreliable points; a flat curve as it is."""
        kept = reliable(self.value, self.error)
        if kept.all() or self.still:
            return self
        return replace(self, x=self.x[kept], value=self.value[kept], error=self.error[kept])

    @cached_property
    def turns(self) -> list[int]:
        """Return the indices of the peaks and dips; see `turning_points`."""
        return turning_points(self.value, self.error)

    @property
    def steep_part(self) -> tuple[int, int] | None:
        """Return the ends of the shortest part with 90 % of a change without turns, if it is short; else None."""
        x, value = self.x, self.value
        done = (value - value[0]) / (value[-1] - value[0])
        best, width = None, PART * float(x[-1] - x[0])
        for i in range(len(x) - 1):
            after = np.flatnonzero(done[i + 1 :] >= done[i] + MOSTLY - 1e-12)
            if len(after) == 0:
                continue
            j = i + 1 + int(after[0])
            if x[j] - x[i] < width:
                best, width = (i, j), float(x[j] - x[i])
        return best

    def texts(self, k: Sequence[int]) -> list[str]:
        """Return the positions of points as text, without the unit, rounded to less than 1 % of the axis."""
        span, wanted = float(self.x[-1] - self.x[0]), self.x[list(k)]
        if self.time is not None:
            return self.time.texts(wanted, span / 100)
        decimals = 2 - math.floor(math.log10(span)) if span > 0 else 12
        # Ends of the axis are observed values; other positions are as precise as readers can use them.
        rounded = [round(v, decimals) + 0.0 for v in wanted.tolist()]
        return [f"{v:.12g}".replace("-", "−") for v in rounded]

    def place(self, k: int) -> str:
        """Return the position of a peak or dip as text, without the unit: "17", or "6 to 12" for a plateau."""
        # Between few points a top is as wide as a bin, and its higher end is chance; on a fine grid it is a point.
        value = self.value
        tolerance = PLATEAU if len(value) <= FINE else ROUNDING_NOISE
        near = np.abs(value - value[k]) <= tolerance * float(np.ptp(value))
        i = j = k
        while i > 0 and near[i - 1]:
            i -= 1
        while j < len(value) - 1 and near[j + 1]:
            j += 1
        a, b = self.texts([i, j])
        return a if a == b else f"{a} to {b}"

    def at(self, k: int) -> str:
        """Return the position of a point as text, with the unit; that of a peak or dip as its `place`."""
        return self.with_unit(self.place(k) if k in self.turns else self.texts([k])[0])

    def with_unit(self, text: str) -> str:
        """Return a position with the unit of the feature."""
        return f"{text} {one_line(self.unit)}" if self.unit else text

    def shape(self) -> tuple[str, dict[str, object]]:
        """Return the shape, a row of the table `CURVE`, and its facts."""
        if len(self.x) < 2:
            return "none", {}
        if self.still:
            return self.still, {"size": size_text(self.value)}
        curve = self.reliable
        if not curve.turns:
            change = float(curve.value[-1] - curve.value[0])
            size = size_text(curve.value[[0, -1]])
            return "line", {"change": change, "size": size, **curve.ends(), **curve.steep()}
        return curve.one_turn(*curve.turns) if len(curve.turns) == 1 else curve.several_turns()

    def ends(self) -> dict[str, object]:
        """Return the positions of the ends as facts."""
        start, end = self.texts([0, len(self.x) - 1])
        return {"start": start, "end": self.with_unit(end)}

    def steep(self) -> dict[str, object]:
        """Return where a curve without turns changes most, as facts; none if that is most of the axis."""
        part = self.steep_part
        if part is None:
            return {}
        low, high = self.texts(part)
        return (
            {"low": low, "high": self.with_unit(high)}
            if low != high
            else {"at": self.with_unit(low)}
        )

    def one_turn(self, turn: int) -> tuple[str, dict[str, object]]:
        """Describe a curve with a single peak or dip, by the farthest points on both sides of it."""
        value = self.value
        peak = bool(value[turn] > value[0])
        height = value if peak else -value
        before, after = int(height[:turn].argmin()), turn + 1 + int(height[turn + 1 :].argmin())
        # The curve may come back: after a dip, rise by 20 % and fall by 14 % of its range. Little needs no position.
        least = WORTH_A_POSITION * float(np.ptp(value))
        before = before if height[0] - height[before] > least else 0
        after = after if height[-1] - height[after] > least else len(value) - 1
        start, end = self.texts([before, after])
        down, up = (size_text(value[[turn, k]]) for k in (before, after))
        return "one turn", {
            "peak": peak,
            "at": self.at(turn),
            "before": down,
            "after": up,
            "start": self.with_unit(start),
            "end": self.with_unit(end),
        }

    def several_turns(self) -> tuple[str, dict[str, object]]:
        """Describe a curve by its peaks and dips with the values there; of many, the highest and the lowest."""
        value, turns = self.value, self.turns
        first = 0 if value[turns[0]] > value[0] else 1
        peaks, dips = turns[first::2], turns[1 - first :: 2]

        def there(k: int) -> str:
            return f"{self.at(k)} ({value_text(value, k)})"

        if len(turns) > MOST_TURNS:
            ends = {"top": there(self.high), "bottom": there(self.low)}
            return "many turns", {"peaks": len(peaks), "dips": len(dips), **ends}
        said = [
            tell(
                TURNS,
                n=_NUMBERS[len(k)],
                peak=k is peaks,
                many=len(k) > 1,
                places=[there(j) for j in k],
            )
            for k in sorted([peaks, dips])
        ]
        return "several turns", {"turns": "; ".join(said), "size": size_text(value)}


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def turning_points(value: Floats, error: Floats) -> list[int]:
    """Return the indices of the peaks and dips of a curve, from left to right; they alternate."""
    kept = np.flatnonzero(reliable(value, error))
    if len(kept) < len(value):
        return kept[turning_points(value[kept], error[kept])].tolist() if len(kept) else []
    least = PROMINENCE * float(np.ptp(value))
    found: list[int] = []
    low = high = way = 0

    def exceeds(a: int, b: int) -> bool:
        """Return whether the curve at a is higher than at b by more than noise."""
        return value[a] - value[b] > max(least, ERRORS * math.hypot(error[a], error[b]))

    for i in range(1, len(value)):
        high = i if value[i] > value[high] else high
        low = i if value[i] < value[low] else low
        if way >= 0 and exceeds(high, i):
            # The first extremum is a turn only if the curve has changed as much before it.
            if way > 0 or exceeds(high, 0):
                found.append(high)
            way, low = -1, i
        elif way <= 0 and exceeds(i, low):
            if way < 0 or exceeds(0, low):
                found.append(low)
            way, high = 1, i
    return found


def standard_errors(effect: Effect) -> Floats:
    """Return the standard errors of the points, 0 where they are unknown; larger where few rows make them uncertain.

    `ERRORS` of them are at least half of the 95 % interval that figures draw.
    """
    if effect.spec.mean_alone:
        return np.zeros(len(effect.value))
    wider = np.nan_to_num(quantile_t(effect.df, 0.95), nan=0.0, posinf=0.0) / ERRORS
    errors = effect.std_error * np.maximum(wider, 1.0)
    return np.nan_to_num(errors, nan=0.0, posinf=0.0, neginf=0.0)


def reliable(value: Floats, error: Floats) -> Bools:
    """Return which points can differ from another one by more than two standard errors."""
    kept = np.ones(len(value), dtype=bool)
    while kept.any():
        worse = kept & (error > 0) & (ERRORS * error >= np.ptp(value[kept]))
        if not worse.any():
            break
        kept &= ~worse
    return kept


def extremes(value: Floats, error: Floats) -> tuple[int, int]:
    """Return the indices of the lowest and of the highest point that differ by more than two standard errors."""
    kept = np.flatnonzero(reliable(value, error))
    first = kept if len(kept) else np.arange(len(value))
    kept = first
    while len(kept) > 1:
        low, high = _ends(value, kept)
        if value[high] - value[low] > ERRORS * math.hypot(error[low], error[high]):
            return low, high
        kept = kept[kept != (low if error[low] > error[high] else high)]
    return _ends(value, first)


def _ends(value: Floats, some: Ints) -> tuple[int, int]:
    """Return the indices of the lowest and of the highest of some points."""
    return int(some[value[some].argmin()]), int(some[value[some].argmax()])


def _still(value: Floats, error: Floats) -> str:
    """Return "flat" for a curve without differences, "unclear" if none is beyond its errors; else an empty text."""
    if float(np.ptp(value)) <= ROUNDING_NOISE * float(np.abs(value).max()):
        return "flat"
    # Where the interval contains zero everywhere, a figure shows no effect, and so do the words.
    about_zero = bool((np.abs(value) <= ERRORS * error).all())
    return "unclear" if about_zero or not _differ(value, error) else ""


def _differ(value: Floats, error: Floats) -> bool:
    """Return whether any two points differ by more than two standard errors."""
    order = np.argsort(error, kind="stable")
    value, error = value[order], error[order]
    # If any pair differs, so do two points that are each the highest, or the lowest, of those with no larger error.
    high = np.flatnonzero(value >= np.maximum.accumulate(value))
    low = np.flatnonzero(value <= np.minimum.accumulate(value))
    high, low = (k[np.append(True, np.diff(value[k]) != 0)] for k in (high, low))
    errors = ERRORS * np.hypot(error[high][:, None], error[low])
    return bool((value[high][:, None] - value[low] > errors).any())


def size_text(value: Floats) -> str:
    """Return the range of some values as text."""
    return number(float(np.ptp(value)), zeros=False)


def value_text(value: Floats, k: int) -> str:
    """Return a value of a curve as text, rounded to less than 1 % of its range."""
    digits = 2 - math.floor(math.log10(float(np.ptp(value))))
    return number(round(float(value[k]), digits) + 0.0, zeros=False)
