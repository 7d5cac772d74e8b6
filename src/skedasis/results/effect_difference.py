"""`EffectDifference`: the effect of a feature in one table minus that in another one, with errors and a test.

**Two tables.** Effects of different rows have independent errors: squared standard errors add up, and the errors of
both are drawn for the simultaneous band (`intervals/analytic.py`) and the test. Effects of two models on the *same*
rows are compared by the difference of the quantities, ``sd.explain(sd.prediction(new) - sd.prediction(old), X)``, whose
intervals are those of paired rows, and much narrower.

**Where.** Both curves are taken at the points of either in the range that both have; levels are matched by their
values. Slopes whose rows are kept are first averaged in the same bins. Otherwise a curve is straight between its own
points, and so is its error; how far that may be from what more points would show follows from the curvature at the two
nearest points. This `detail` is allowed for in intervals and test, so that different bins or grids do not count as a
difference. It is 0 for the same bins and grids. M-plots have means of bins, not curves: those of the same bins are
compared, averaged anew if all rows are kept.

**Centre.** Curves that are centred, or accumulated from one end, have an arbitrary height. Both are centred over the
common range by the same weights (the distributions of the feature in both tables, half each), so that the difference is
one of shape. Partial dependences and M-plots that are not centred have heights, which are subtracted.

**Test.** No difference anywhere: the largest (|difference| - detail) / standard error over the points, compared with
the distribution of the largest error, from 20,000 draws of both errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from skedasis._arguments import check_flag, check_probability
from skedasis._escaping import one_line
from skedasis._numbers import counted, number, p_value, sentence, with_minus
from skedasis._types import Floats, Ints, Level
from skedasis.binning import Edges
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError, UnsupportedError
from skedasis.results import operations
from skedasis.results.axis import Axis, LevelAxis, NumericAxis
from skedasis.results.described import Columns, Documented, columns_of
from skedasis.results.display import SavedResult, distinct_texts
from skedasis.results.effect import (
    TRUSTED_ROWS,
    AnyMPlot,
    BinnedEffect,
    Effect,
    MPlotEffect,
    OnAxis,
    PartialDependence,
)
from skedasis.results.factors import weight_on_axis
from skedasis.results.intervals.analytic import blocks_of, satterthwaite
from skedasis.results.intervals.bootstrap import check_has_errors
from skedasis.results.intervals.contrasts import point_of
from skedasis.results.intervals.moments import interpolation_matrix
from skedasis.results.sentences import DIFFERENCE, tell
from skedasis.results.signatures import takes_figure_options
from skedasis.results.time_axis import align_time_axis
from skedasis.stats.curve_sums import Places
from skedasis.stats.resampling import ErrorBlocks, largest_errors
from skedasis.stats.student import t_band, t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import DifferenceKeywords, DifferenceViewKeywords

# --- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DifferenceAt(Documented):
    """The difference of two effects at one value of the feature."""

    value: Level | float | date | timedelta
    """The value of the feature: a number, a datetime in UTC, a duration, or a level."""
    text: str
    """The value in words."""
    difference: float
    """First effect minus second effect, in units of the quantity."""
    std_error: float
    """Its standard error: the root of the sum of both squares."""
    df: float
    """Its degrees of freedom (Satterthwaite)."""
    first: float
    """The first effect as it is compared: centred over the common range, or at its height."""
    second: float
    """The second effect, likewise."""
    lower: float
    """Lower limit of the 95 % interval of the difference at this value."""
    upper: float
    """Its upper limit."""

    @property
    def _value(self) -> float | date | timedelta | str:
        """Return the value: a number, or a time or the label of a level as text."""
        return self.value if isinstance(self.value, (float, date, timedelta)) else self.text


@dataclass(frozen=True)
class DifferenceRange(Documented):
    """Neighbouring values of the feature at which the simultaneous band of a difference excludes 0."""

    low: str
    """First value in words."""
    high: str
    """Last value in words."""
    most: float
    """The difference that is farthest from 0 in it."""
    at: str
    """Where that is."""


@dataclass(frozen=True, eq=False, repr=False)
class EffectDifference(SavedResult, OnAxis):
    """The difference of the effects of one feature in two tables: ``effect - other``.

    Notes
    -----
    The two tables have different rows, which are independent samples. To compare two models on the same rows, explain
    the difference of the quantities, ``sd.prediction(new) - sd.prediction(old)``: its intervals are paired. No method
    of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> last_year, this_year = rng.uniform(-1, 1, size=(2, 800, 2))
    >>> this_year[:, 1] += 0.5
    >>> q, ale = (lambda X: X[:, 0] * X[:, 1]), sd.ALE(bins=sd.Edges(np.linspace(-1, 1, 9)))
    >>> new, old = (sd.explain(q, X, "x0", method=ale) for X in (this_year, last_year))
    >>> d = new - old
    >>> d.value[[0, -1]].round(1).tolist(), d.p_value < 0.001
    ([-0.5, 0.5], True)
    """

    exported = (
        *("feature", "feature_unit", "quantity", "unit", "method", "centered", "rows"),
        *("statistic", "p_value", "lines as points", "ranges", "notes"),
    )
    feature: str
    """Name of the feature."""
    quantity: str
    """Name of the quantity; of both, if their names differ."""
    method: str
    """Method of both effects."""
    axis: Axis
    """The points, as an object that knows the kind of the feature."""
    value: Floats
    """First effect minus second effect at `x`, in units of the quantity, shape (m,)."""
    std_error: Floats
    """Standard error of `value`, shape (m,)."""
    df: Floats
    """Degrees of freedom of `std_error` (Satterthwaite), shape (m,)."""
    first: Floats
    """The first effect at `x`, as it is compared, shape (m,)."""
    second: Floats
    """The second effect, shape (m,)."""
    centered: bool
    """Whether both are centred over the common range, so that the difference is one of shape."""
    rows: tuple[int, int]
    """Numbers of rows of the two tables."""
    errors: ErrorBlocks
    """The joint distribution of the errors of `value`, in independent parts of the rows: ``errors.factor @ z`` with
    standard normal z."""
    weight: Floats
    """The weights by which both are centred, or would be: the distributions of the feature in both tables, half each,
    at the points, shape (m,)."""
    detail: Floats
    """What may be due to the different bins or grids of the curves, in units of the quantity, shape (m,); 0 at points
    that both have. Intervals are wider by it on both sides."""
    unit: str | None = None
    feature_unit: str | None = None
    title: str = ""
    """The text of the feature for people."""
    notes: tuple[str, ...] = ()
    """What limits the comparison."""
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""

    @cached_property
    def _largest(self) -> Floats:
        """Return the largest studentised errors over the points in draws under no difference, ascending."""
        largest = np.sort(largest_errors(self.errors))
        largest.flags.writeable = False
        return largest

    @property
    def statistic(self) -> float:
        """Return the largest (|difference| - detail) / standard error; infinite for a difference without an error."""
        known = ~np.isnan(self.value)
        value = np.maximum(np.abs(self.value[known]) - self.detail[known], 0.0)
        error = self.std_error[known]
        exact = np.where(value > 0, np.inf, 0.0)
        ratio = np.divide(value, error, out=exact, where=error > 0)
        return float(ratio.max(initial=0.0))

    @property
    def p_value(self) -> float:
        """Return the p-value of the hypothesis that the two curves differ nowhere.

        The share of draws of both errors whose largest studentised error is at least `statistic`; at least 1 in 20,001.
        It is 0 for a difference without an error, and 1 if there is neither.
        """
        draws = self._largest
        if not math.isfinite(self.statistic):
            return 0.0
        return float((1 + len(draws) - np.searchsorted(draws, self.statistic)) / (len(draws) + 1))

    def interval(
        self, confidence_level: float = 0.95, *, simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of confidence intervals of `value`.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.
        simultaneous : bool
            Return a band that covers the difference at all points with this probability.

        Returns
        -------
        lower, upper : ndarray of float, shape (m,)

        Raises
        ------
        DataError
            For a `confidence_level` outside (0, 1).

        Notes
        -----
        Student's t with the sum of both variances; the band is that of `Effect.interval`, from independent errors of
        both effects. Both are wider by `detail`, where bins or grids differ. No model row.
        """
        level = check_probability("interval(confidence_level)", confidence_level, "Use 0.95")
        check_flag("interval(simultaneous)", simultaneous)
        lower, upper = t_interval(self.value, self.std_error, self.df, level)
        if simultaneous:
            # Of points with few degrees of freedom, the intervals may be wider than the band of all points.
            critical = np.quantile(self._largest, level) if len(self._largest) else math.nan
            band = t_band(self.value, self.std_error, critical)
            lower, upper = np.minimum(lower, band[0]), np.maximum(upper, band[1])
        return lower - self.detail, upper + self.detail

    @property
    def lines(self) -> tuple[DifferenceAt, ...]:
        """Return the difference at each point."""
        lower, upper = self.interval()
        columns = (self.value, self.std_error, self.df, self.first, self.second, lower, upper)
        return tuple(
            DifferenceAt(value, text, *numbers)
            for value, text, *numbers in zip(
                self._values(), self.texts, *(c.tolist() for c in columns), strict=True
            )
        )

    @property
    def ranges(self) -> tuple[DifferenceRange, ...]:
        """Return where the simultaneous 95 % band excludes 0: neighbouring points, those that differ most first.

        Neighbouring points of different sign are different ranges; each level is one of its own.
        """
        lower, upper = self.interval(simultaneous=True)
        sign = np.where(lower > 0, 1, np.where(upper < 0, -1, 0))
        if isinstance(self.axis, LevelAxis):
            runs = [(k, k + 1) for k in range(len(sign))]
        else:
            cuts = [0, *(np.flatnonzero(np.diff(sign)) + 1).tolist(), len(sign)]
            runs = [*pairwise(cuts)]
        found = [self._range(a, b) for a, b in runs if sign[a]]
        return tuple(sorted(found, key=lambda r: -abs(r.most)))

    def _range(self, start: int, stop: int) -> DifferenceRange:
        k = start + int(np.argmax(np.abs(self.value[start:stop])))
        texts = self.texts
        return DifferenceRange(texts[start], texts[stop - 1], float(self.value[k]), texts[k])

    @property
    def texts(self) -> list[str]:
        """Return the points in words."""
        if isinstance(self.axis, LevelAxis):
            return [one_line(label) or repr(label) for label in self.axis.levels.labels]
        return _texts(self.axis.coordinates, self.time)

    def _values(self) -> list[Level | float | date | timedelta]:
        """Return the points as values of Python's own types."""
        if isinstance(self.axis, LevelAxis):
            return [*self.axis.levels.values]
        return [point_of(self, at) for at in self.axis.coordinates.tolist()]

    def table(self) -> Columns:
        """Return the columns of `to_frame`: one row per point."""
        value = "text as level" if isinstance(self.axis, LevelAxis) else "value"
        names = ("difference", "std_error", "df", "lower", "upper", "first", "second")
        lines = self.lines
        band = self.interval(simultaneous=True)
        return {
            "feature": [self.feature] * len(lines),
            **columns_of(DifferenceAt, lines, value, *names),
            "band_lower": band[0].tolist(),
            "band_upper": band[1].tolist(),
        }

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[DifferenceKeywords]) -> Figure:
        """Plot the difference with its band around a line at 0, and below it the two curves.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> a, b = np.random.default_rng(0).uniform(size=(2, 300, 2))
        >>> ale = sd.ALE(bins=sd.Edges([0.0, 0.5, 1.0]))
        >>> one, two = (sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=ale) for X in (a, b))
        >>> len((one - two).plot(size=(5, 4)).axes)
        2
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[DifferenceViewKeywords],
    ) -> Explorable:
        """Return the difference as an interactive page with tooltips."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        what = f"{self.feature!r} on {self.quantity}"
        points = counted(len(self.value), self.axis.noun)
        return f"<EffectDifference of {what}: {self.method}, {points}, {p_value(self.p_value)}>"

    def __str__(self) -> str:
        head = tell(
            DIFFERENCE["head"],
            feature=self.title or self.feature,
            quantity=self.quantity,
            method=self.method,
            first=self.rows[0],
            second=self.rows[1],
        )
        return "\n".join([head, *self.remarks])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what is compared, the test, where the curves differ most, and the notes, as sentences."""
        ranges = self.ranges
        p = self.p_value
        said = [
            tell(DIFFERENCE["shape" if self.centered else "height"]),
            tell(DIFFERENCE["differ" if ranges else "same"], p=p),
            *(self._said(r) for r in ranges[:MOST_RANGES]),
        ]
        if len(ranges) > MOST_RANGES:
            said.append(tell(DIFFERENCE["more"], n=len(ranges) - MOST_RANGES))
        return (*said, *map(sentence, self.notes))

    def _said(self, one: DifferenceRange) -> str:
        unit = one_line(self.unit) if self.unit else ""
        several = one.low != one.high
        where = "range" if several else ("level" if self.levels is not None else "point")
        facts = {"low": one.low, "high": one.high, "at": one.at, "most": one.most, "unit": unit}
        return tell(DIFFERENCE[where], size=number(abs(one.most)), **facts)


def _texts(points: Floats, time: TimeAxis | None) -> list[str]:
    """Return points of a numeric axis in words."""
    return [*map(with_minus, distinct_texts(points))] if time is None else time.texts(points)


MOST_RANGES = 3
"""Most ranges that a text names."""


# --- computation ----------------------------------------------------------------------------------


def effect_difference(first: Effect, second: Effect) -> EffectDifference:
    """Return the difference of two effects of a feature, of independent rows; see `Effect.__sub__`."""
    _check_comparable(first, second)
    about, other = first.about, second.about
    quantities = dict.fromkeys((about.quantity, other.quantity))
    axis, curves, notes = _on_common_points(first, second)
    centered = not all(map(_has_height, (first, second)))
    size = len(axis)
    # Where the common range is so short that no mean of a cell is in it, its points count alike.
    shares = [
        c.weight / total if (total := c.weight.sum()) else np.full(size, 1 / size) for c in curves
    ]
    weight = np.mean(shares, axis=0)
    if centered:
        curves = curves[0].centred(weight), curves[1].centred(weight)
    one, two = curves
    blocks = ErrorBlocks(
        np.hstack([one.errors.factor, -two.errors.factor]),
        np.concatenate([one.errors.block, two.errors.block + len(one.errors.df)]),
        np.concatenate([one.errors.df, two.errors.df]),
    )
    if _have_same_values(first, second):
        notes = (*notes, DIFFERENCE["same rows"])
    value, error = one.value - two.value, np.sqrt((blocks.factor**2).sum(axis=1))
    # Errors and differences that are tiny beside the curves are rounding, as of a model that is linear in the feature.
    rounding = ROUNDING * max(float(np.nanmax(np.abs(c.value), initial=0.0)) for c in curves)
    value = np.where(np.abs(value) > rounding, value, np.where(np.isnan(value), np.nan, 0.0))
    error = np.where(error > rounding, error, 0.0)
    blocks = replace(blocks, factor=np.where(error[:, None] > 0, blocks.factor, 0.0))
    return EffectDifference(
        feature=first.feature,
        quantity=" and ".join(quantities),
        method=first.spec.method,
        axis=axis,
        value=value,
        std_error=np.where(np.isnan(value), np.nan, error),
        df=satterthwaite(blocks),
        first=one.value,
        second=two.value,
        centered=centered,
        rows=(_rows(first), _rows(second)),
        errors=blocks,
        weight=weight,
        detail=one.detail + two.detail,
        unit=about.unit or other.unit,
        feature_unit=about.feature.unit,
        title=about.feature.label or "",
        notes=notes,
        library=about.library,
    )


ROUNDING = 1e-12
"""Differences and errors that are smaller than this fraction of the curves are rounding."""


@dataclass(frozen=True)
class _OnPoints:
    """An effect at common points, with its errors, and the weight of the rows at each."""

    value: Floats
    errors: ErrorBlocks
    weight: Floats
    detail: Floats

    def centred(self, weight: Floats) -> _OnPoints:
        """Return the curve minus its weighted mean, whose error is that of the same differences."""
        factor = self.errors.factor - weight @ self.errors.factor
        return replace(
            self,
            value=self.value - weight @ self.value,
            errors=replace(self.errors, factor=factor),
            detail=self.detail + weight @ self.detail,
        )


def _check_comparable(first: Effect, second: Effect) -> None:
    """Raise unless two effects are of the same feature, kind, method, unit and scale."""
    what, fix = "difference of effects", "Explain the same feature of both tables"
    one, two = first.about, second.about
    for name, a, b in (
        ("features", one.feature.name, two.feature.name),
        ("methods", first.spec.method, second.spec.method),
        ("units of the quantities", one.unit, two.unit),
        ("scales of the quantities", one.scale, two.scale),
        ("units of the features", one.feature.unit, two.feature.unit),
    ):
        if a != b and None not in (a, b):
            raise DataError(what, f"the {name} {a!r} and {b!r}", f"the same {name}", fix)
    kinds = [_kind(effect) for effect in (first, second)]
    if kinds[0] != kinds[1] or first.spec.derivative != second.spec.derivative:
        got = f"{kinds[0]} and {kinds[1]}" if kinds[0] != kinds[1] else "an effect and its slopes"
        fix = "Say of which kind the feature is: schema={name: kind}"
        raise DataError(what, got, "a feature of one kind in both tables", fix)
    for effect in (first, second):
        check_has_errors(effect, "difference")


def _kind(effect: Effect) -> str:
    """Return the kind of a feature in words."""
    if isinstance(effect.axis, LevelAxis):
        return "a categorical feature"
    return "a numeric feature" if effect.time is None else "a feature of times"


def _has_height(effect: Effect) -> bool:
    """Return whether the height of a curve means something: it is a mean of the quantity."""
    return isinstance(effect, (PartialDependence, AnyMPlot)) and effect.spec.center is None


def _on_common_points(
    first: Effect, second: Effect
) -> tuple[Axis, tuple[_OnPoints, _OnPoints], tuple[str, ...]]:
    """Return the axis that two effects share, both at its points, and notes on what they do not share."""
    if isinstance(first.axis, LevelAxis) and isinstance(second.axis, LevelAxis):
        return _on_common_levels(first, first.axis, second, second.axis)
    second = align_time_axis(second, first)
    own = [_own_points(e) for e in (first, second)]
    ends = [at[[0, -1]] for at in own]
    low, high = max(e[0] for e in ends), min(e[1] for e in ends)
    if not low < high:
        texts = [" to ".join(_texts(e, first.time)) for e in ends]
        got = f"{first.feature!r} from {' and from '.join(texts)}"
        raise DataError(
            "difference of effects", got, "ranges that overlap", "Compare tables with common values"
        )
    points = np.union1d(*own)
    points = np.union1d(points[(points >= low) & (points <= high)], [low, high])
    if not np.array_equal(own[0], own[1]):
        first, second, points = _averaged_alike(first, second, points)
    notes: list[str] = []
    if [low, high] != [min(e[0] for e in ends), max(e[1] for e in ends)]:
        left, right = _texts(np.array([low, high]), first.time)
        notes.append(tell(DIFFERENCE["common"], low=left, high=right))
    if isinstance(first, MPlotEffect) and isinstance(second, MPlotEffect):
        points, curves = _in_common_bins(first, second)
    else:
        curves = _at_points(first, points), _at_points(second, points)
    if any(c.detail.any() for c in curves):
        notes.append(DIFFERENCE["bins"])
    return NumericAxis.of(first.about.feature, points), curves, tuple(notes)


def _own_points(effect: Effect) -> Floats:
    """Return the points of a curve; of the means of an M-plot, the edges of the bins."""
    return effect.bins.edges if isinstance(effect, MPlotEffect) else effect.axis.coordinates


def _in_common_bins(
    first: MPlotEffect, second: MPlotEffect
) -> tuple[Floats, tuple[_OnPoints, _OnPoints]]:
    """Return the means of both M-plots in the bins that both have, and the middle of the mean rows of both."""
    both = first, second
    # The ends of each bin that has rows, and so a point.
    ends = [np.column_stack([e.bins.low, e.bins.high])[~e.bins.empty] for e in both]
    which = np.nonzero((ends[0][:, None] == ends[1]).all(axis=2))
    if not len(which[0]):
        raise UnsupportedError(
            f"difference of the M-plots of {first.feature!r}",
            "different bins, and not all rows are kept",
            "the same bins",
            "Explain both with the same bins=sd.Edges([...])",
        )
    points = np.mean([e.axis.coordinates[k] for e, k in zip(both, which, strict=True)], axis=0)
    one, two = (
        _picked(e, k, e.bins.weight[~e.bins.empty][k]) for e, k in zip(both, which, strict=True)
    )
    return points, (one, two)


def _picked(effect: Effect, some: Ints, weight: Floats) -> _OnPoints:
    """Return an effect at some of its points."""
    errors = _errors(effect)
    factor = errors.factor[some]
    return _OnPoints(
        effect.value[some], replace(errors, factor=factor), weight, np.zeros(len(some))
    )


def _averaged_alike(first: Effect, second: Effect, points: Floats) -> tuple[Effect, Effect, Floats]:
    """Return two effects with the same bins between points, if local effects are slopes or means whose rows are kept.

    Bins have at least 10 rows of both.
    """
    both = first, second
    kept = [
        np.sort(e.rows.x)
        for e in both
        if isinstance(e, BinnedEffect) and e.spec.pointwise and _has_local_effects(e)
        if e.rows is not None
    ]
    if len(kept) < 2:
        return first, second, points
    # Bins of M-plots contain their right ends, and the first one both.
    means = isinstance(first, MPlotEffect)
    below = np.stack([np.searchsorted(x, points, "right" if means else "left") for x in kept])
    below[:, 0] = [np.searchsorted(x, points[0]) for x in kept]
    edges = [0]
    for k in range(1, len(points)):
        if (below[:, k] - below[:, edges[-1]] >= TRUSTED_ROWS).all():
            edges.append(k)
    some = points[[*edges[: max(len(edges) - 1, 1)], len(points) - 1]]
    # Curves are accumulated over all rows; means of bins are not.
    ends = [some if means else e.axis.coordinates[[0, -1]] for e in both]
    one, two = (
        e.rebin(Edges(e.axis.in_own_type(np.union1d(some, end))))
        for e, end in zip(both, ends, strict=True)
    )
    return one, two, some


def _has_local_effects(effect: Effect) -> bool:
    return effect.rows is not None and effect.rows.exact and effect.rows.local is not None


def _at_points(effect: Effect, points: Floats) -> _OnPoints:
    """Return a numeric effect at points of its axis."""
    own, errors = effect.axis.coordinates, _errors(effect)
    # Edges that are times are rounded to their unit.
    points = np.clip(points, own[0], own[-1])
    at, weight = weight_on_axis(effect)
    inside = (at >= points[0]) & (at <= points[-1])
    if len(own) == 1:
        factor = np.repeat(errors.factor, len(points), axis=0)
    else:
        factor = interpolation_matrix(own, points) @ errors.factor
    weight = Places.of(at[inside], points).weights(weight[inside])
    return _OnPoints(
        effect.at(points), replace(errors, factor=factor), weight, _detail(effect, points)
    )


def _detail(effect: Effect, points: Floats) -> Floats:
    """Return how far a curve may be from its own interpolation at points; 0 at its own points."""
    own, value = effect.axis.coordinates, effect.value
    between = ~np.isin(points, own)
    if not between.any() or len(own) < 3:
        return np.zeros(len(points))
    width = np.diff(own)
    slope = np.diff(value) / width
    # The curvature at each inner point, and how far the point is from the line between its neighbours, as for a step.
    curved = np.abs(np.diff(slope)) / (width[:-1] + width[1:])
    bend = curved * width[:-1] * width[1:]
    k = np.clip(np.searchsorted(own, points, side="right") - 1, 0, len(own) - 2)
    # Those of both neighbours; of the ends, there is one.
    near = np.clip(np.stack([k - 1, k]), 0, len(curved) - 1)
    parabola = curved[near].max(axis=0) * (points - own[k]) * (own[k + 1] - points)
    return np.where(between, np.nan_to_num(np.maximum(2.0 * parabola, bend[near].max(axis=0))), 0.0)


def _on_common_levels(
    first: Effect, axis: LevelAxis, second: Effect, other: LevelAxis
) -> tuple[Axis, tuple[_OnPoints, _OnPoints], tuple[str, ...]]:
    """Return the levels that both effects have rows of, in the order of the first one."""
    code = other.levels.codes(list(axis.levels.values))
    known = ~np.isnan(first.value) & (code >= 0)
    known[known] = ~np.isnan(second.value[code[known]])
    mine = np.flatnonzero(known)
    if not len(mine):
        got = f"no level of {first.feature!r} that both have"
        fix = "Compare tables with common levels"
        raise DataError("difference of effects", got, "levels with rows in both tables", fix)
    theirs = code[mine]
    names = axis.levels.labels
    left_out = [names[k] for k in range(len(names)) if not known[k]]
    left_out += [label for k, label in enumerate(other.levels.labels) if k not in theirs]
    levels = replace(
        axis.levels,
        values=tuple(axis.levels.values[k] for k in mine),
        labels=tuple(names[k] for k in mine),
        count=axis.levels.count[mine] + other.levels.count[theirs],
        weight=axis.levels.weight[mine] + other.levels.weight[theirs],
    )
    one = _picked(first, mine, axis.levels.weight[mine])
    two = _picked(second, theirs, other.levels.weight[theirs])
    notes = [tell(DIFFERENCE["levels"], levels=[*dict.fromkeys(left_out)])] if left_out else []
    return LevelAxis(levels), (one, two), tuple(notes)


def _errors(effect: Effect) -> ErrorBlocks:
    """Return the joint errors of the points of an effect; raise `UnsupportedError` if they are not known."""
    errors, unknown = blocks_of(effect, "value"), np.isnan(effect.std_error)
    if errors is None or unknown[~np.isnan(effect.value)].any():
        raise UnsupportedError(
            f"difference of the {effect.spec.method} of {effect.feature!r}",
            f"{counted(len(effect.value), 'point')}, fewer than 30 kept curves, or one row in each bin",
            "at most 2,000 points, the curves of 30 rows for a PDP, and several rows in a bin",
            "Use fewer bins or points, or ice=200",
        )
    return errors


def _rows(effect: Effect) -> int:
    return int(effect.provenance.get("rows", 0))


def _have_same_values(first: Effect, second: Effect) -> bool:
    """Return whether the feature has the same values in all rows of two effects, as it has if the rows are the same."""
    kept = [e.rows.x for e in (first, second) if e.rows is not None and e.rows.exact]
    same = len(kept) == 2 and first.time == second.time  # times are counted from the first one
    return same and np.array_equal(kept[0], kept[1], equal_nan=True)
