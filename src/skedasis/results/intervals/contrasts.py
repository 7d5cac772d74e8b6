"""Contrasts: the change of an effect between two values of the feature, with the exact covariance of the two points.

**The estimand** is that of `Effect.interval`: E[d | bin], accumulated over the given bins from a to b; for a PDP the
difference of the mean curve. The centre of the curve cancels, and with it the error of the centre.

**Value**: effect(b) - effect(a), by the evaluation of the effect itself.

**Analytic error.** Between a and b an accumulated effect is a sum of mean slopes times the lengths on which they apply:
signed overlaps of [a, b] with the bins or cells, plus coefficients of the trend where a bin has one (a parabola).
So only rows between a and b matter, and the variance is the sum over independent bins (`_of_slopes`). For steps
between values and levels it is the sum over the rows at each value, each of which contributes to two steps
(`_of_value_steps`, `_of_levels`). In an M-plot the two bins are independent (`_of_means`). For PDP and ICE each row's
curve gives its own change, and the error is that of their mean (`_of_curves`). Student's t with Satterthwaite's degrees
of freedom.

**Bootstrap**: the sources of `Effect.interval`, with the change computed within each replicate, so that the covariance
of the two points is that of the replicates. Percentiles, expanded for few rows.

Coverage is measured in `tests/reference/test_contrast_coverage.py`; docs/guides/uncertainty.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TypeAlias, TypeVar

import numpy as np

from skedasis._arguments import shown
from skedasis._escaping import one_line
from skedasis._numbers import counted
from skedasis._types import Floats, Ints
from skedasis.data.categories import unknown_level
from skedasis.errors import DataError, UnsupportedError
from skedasis.results.axis import LevelAxis, TimedAxis
from skedasis.results.build.linear_form import AXIS, LOCAL, linear_form, variance_of_means
from skedasis.results.build.steps import Steps, step_errors
from skedasis.results.containers import FeatureMapping, FeatureResult
from skedasis.results.contrast import Contrast, ContrastMethod, Contrasts, Point
from skedasis.results.display import RankLine
from skedasis.results.effect import (
    TRUSTED_ROWS,
    AccumulatedEffect,
    AnyMPlot,
    BinStats,
    Curves,
    Effect,
    LevelStepsEffect,
    OnAxis,
    PartialDependence,
    Spec,
    ValueStepsEffect,
)
from skedasis.results.effects import Effects
from skedasis.results.intervals.analytic import ContrastOptions
from skedasis.results.intervals.bootstrap import (
    FromMoments,
    FromRows,
    SourceName,
    check_has_errors,
    replicate_source,
)
from skedasis.results.intervals.statistics import (
    AccumulatedStatistic,
    MomentStatistic,
    ValueStepStatistic,
    cells_and_edges,
    linear_slope_bins,
    moments_of_means,
)
from skedasis.results.keywords import IntervalTarget
from skedasis.results.multi_model import MultiModelEffect
from skedasis.stats import ale_math
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import (
    BootstrapDraws,
    DrawnWeights,
    Reweighted,
    bootstrap,
    percentiles,
)
from skedasis.stats.student import interval_of

MemberT = TypeVar("MemberT", bound=FeatureResult)
LineT = TypeVar("LineT", bound=RankLine)

ValuesByFeature: TypeAlias = dict[str, tuple[object, object]]
"""Two values of each of several features."""

# --- options, and the two values ------------------------------------------------------------------


def coordinate_of(effect: Effect | MultiModelEffect, value: object, argument: str) -> float:
    """Return one value of the feature as a coordinate of the effect's axis; `argument` is for messages."""
    axis, what = effect.axis, f"{argument} of {effect.feature!r}"
    if isinstance(axis, LevelAxis):
        return float(_code(axis, value, what))
    if _is_several(value):
        fix = "Pass one value; call the method once for each"
        raise DataError(what, shown(value), "one value of the feature", fix)
    example = axis.x[0] if len(axis) else 0.0
    try:
        at = float(np.asarray(axis.coordinates_of(value, what), dtype=float).ravel()[0])
    except DataError:
        raise
    except (TypeError, ValueError, IndexError) as error:
        fix = f"Pass a value such as {example}"
        raise DataError(what, shown(value), "a value of the feature", fix) from error
    if np.isnan(at):
        fix = f"Pass a value such as {example}"
        if isinstance(effect, Effect) and effect.missing_point is not None:
            fix += "; the effect of a missing value, and its error, are in missing_point"
        raise DataError(what, shown(value), "a value of the feature that is not missing", fix)
    return at


def _is_several(value: object) -> bool:
    """Return whether a value of a numeric feature is a collection instead of one value."""
    if (
        isinstance(value, (str, bytes, date, timedelta))
        or np.asarray(value, dtype=object).ndim == 0
    ):
        return isinstance(value, (dict, set, frozenset))
    return True


def _code(axis: LevelAxis, value: object, what: str) -> int:
    """Return the code of a level, which may be a tuple of values."""
    one = np.empty(1, dtype=object)
    one[0] = value
    code = int(axis.levels.find(one, what)[0])
    if code < 0:
        raise unknown_level(
            what, value, axis.levels.values, axis.levels.labels, "Pass one of these"
        )
    return code


def check_on_curve(effect: Effect, at: float, value: object, argument: str) -> None:
    """Raise if the effect has no value at a coordinate."""
    if not np.isnan(effect.at(np.array([at]))[0]):
        return
    what = f"{argument} of {effect.feature!r}"
    axis = effect.axis
    if isinstance(axis, LevelAxis):
        raise DataError(
            what, f"{shown(value)}, a level without rows", "a level with rows", "Pass one"
        )
    known = np.flatnonzero(~np.isnan(effect.value))
    if len(known) == 0:
        fix = "Explain with more rows"
        raise DataError(what, "an effect without values", "an effect that has values", fix)
    low, high = (text_of(effect, float(axis.coordinates[k])) for k in known[[0, -1]])
    fix = "Pass values within this range"
    if isinstance(effect, PartialDependence):
        fix += ", or explain with a grid that contains the values, such as PDP(grid=[...])"
    raise DataError(
        what, text_of(effect, at), f"a value from {low} to {high}, where the curve is", fix
    )


def text_of(effect: Effect | MultiModelEffect, at: float) -> str:
    """Return a coordinate in words: a number, a time, or the label of a level."""
    axis = effect.axis
    if isinstance(axis, LevelAxis):
        label = axis.levels.labels[int(at)]
        return one_line(label) or repr(label)
    if isinstance(axis, TimedAxis):
        return axis.time.text(at, axis.time.resolution)
    return f"{at + 0.0:.12g}".replace("-", "−")


def point_of(effect: OnAxis, at: float) -> Point:
    """Return a coordinate as a value of the feature, of Python's own types."""
    axis = effect.axis
    if isinstance(axis, LevelAxis):
        return axis.levels.values[int(at)]
    if isinstance(axis, TimedAxis):
        time = axis.time.times(np.array([at]))
        # Python's types have no nanoseconds.
        unit = np.datetime_data(time.dtype)[0]
        return (time.astype(f"{time.dtype.kind}8[us]") if unit == "ns" else time)[0].item()
    return at


# --- several contrasts, which share the draws of a bootstrap --------------------------------------


@dataclass(frozen=True)
class ValuePair:
    """Two values of the feature of an effect, as coordinates of its axis."""

    effect: Effect
    a: float
    b: float

    @classmethod
    def of(cls, effect: Effect, a: object, b: object) -> ValuePair:
        """Return the change between two values."""
        ends = coordinate_of(effect, a, "contrast(a)"), coordinate_of(effect, b, "contrast(b)")
        for at, value, name in zip(ends, (a, b), ("a", "b"), strict=True):
            check_on_curve(effect, at, value, f"contrast({name})")
        return cls(effect, *ends)

    @property
    def value(self) -> float:
        """Return the difference of the effect at the two values."""
        if self.a == self.b:
            return 0.0
        at_a, at_b = self.effect.at(np.array([self.a, self.b]))
        return float(at_b - at_a)


def contrast(effect: Effect, a: object, b: object, options: ContrastOptions) -> Contrast:
    """Return the change of an effect from a to b; see `Effect.contrast`."""
    return contrasts_of_pairs({"": ValuePair.of(effect, a, b)}, options)[""]


def contrasts_of_effects(
    effects: Effects, pairs: ValuesByFeature, options: ContrastOptions
) -> Contrasts:
    """Return the change of the effect of each feature between its two values.

    See `Effects.contrast`. Effects of the same rows share the draws of a bootstrap.
    """
    found = {name: ValuePair.of(effects[name], a, b) for name, (a, b) in pairs.items()}
    return Contrasts(tuple(contrasts_of_pairs(found, options).values()))


def contrasts(
    found: FeatureMapping[MemberT, LineT],
    pairs: ValuesByFeature,
    of: Callable[[MemberT, object, object], Iterable[Contrast]],
) -> Contrasts:
    """Return the contrasts of several features, those of each from its member and its two values."""
    return Contrasts(tuple(c for name, (a, b) in pairs.items() for c in of(found[name], a, b)))


def pairs_of(changes: object, found: FeatureMapping[MemberT, LineT]) -> ValuesByFeature:
    """Return the two values of each feature, checked."""
    what, example = "contrast(changes)", next(iter(found), "age")
    if not isinstance(changes, Mapping):
        name = changes if isinstance(changes, str) and changes in found else example
        fix = f"Write contrast({{{name!r}: (a, b)}}), or result[{name!r}].contrast(a, b)"
        raise DataError(what, shown(changes), "a mapping of features to two values", fix)
    fix = f"Pass two values for each feature, such as {{{example!r}: (30, 50)}}"
    if not changes:
        raise DataError(what, shown(changes), "a mapping from features to two values", fix)
    pairs: ValuesByFeature = {}
    for feature, pair in changes.items():
        name = found[feature].about.feature.name
        several = isinstance(pair, (tuple, list, np.ndarray)) and len(pair) == 2
        if not several:
            raise DataError(f"{what} of {name!r}", shown(pair), "two values, (a, b)", fix)
        if name in pairs:
            raise DataError(what, f"{name!r} twice", "each feature once", "Remove one of them")
        pairs[name] = (pair[0], pair[1])
    return pairs


def contrasts_with_reference(
    effect: Effect, reference: object, given: bool, options: ContrastOptions
) -> Contrasts:
    """Return the change from a reference level to each other level; see `Effect.contrasts`."""
    axis = effect.axis
    if not isinstance(axis, LevelAxis):
        raise UnsupportedError(
            f"contrasts of {effect.feature!r}",
            "a numeric feature",
            "a categorical feature, whose levels are compared with one of them",
            "Use contrast(a, b) for two values",
        )
    known = ~np.isnan(effect.value)
    if given:
        first = _code(axis, reference, f"contrasts(reference) of {effect.feature!r}")
        check_on_curve(effect, float(first), reference, "contrasts(reference)")
    else:
        first = int(np.argmax(np.where(known, axis.levels.weight, -1.0)))
    others = [k for k in np.flatnonzero(known).tolist() if k != first]
    changes = {str(k): ValuePair(effect, float(first), float(k)) for k in others}
    return Contrasts(tuple(contrasts_of_pairs(changes, options).values()))


def contrasts_of_regions(
    effects: Sequence[Effect], a: object, b: object, options: ContrastOptions
) -> Contrasts:
    """Return the change in each region; see `Regions.contrast`."""
    changes: dict[str, ValuePair] = {}
    outside: dict[str, DataError] = {}
    for k, effect in enumerate(effects):
        try:
            changes[str(k)] = ValuePair.of(effect, a, b)
        except DataError as error:
            outside[str(k)] = error
    if not changes and outside:
        raise outside["0"]
    found = contrasts_of_pairs(changes, options)
    return Contrasts(
        tuple(
            found[str(k)] if str(k) in found else _unknown(effect, (a, b), outside[str(k)], options)
            for k, effect in enumerate(effects)
        )
    )


def _unknown(
    effect: Effect, values: tuple[object, object], error: DataError, options: ContrastOptions
) -> Contrast:
    """Return the contrast of a region whose curve does not contain the two values."""
    ends: list[tuple[Point, str]] = []
    for value, name in zip(values, ("a", "b"), strict=True):
        try:
            ends += _ends(effect, coordinate_of(effect, value, f"contrast({name})"))
        except DataError:  # a level that does not occur in the region
            ends.append((str(value), one_line(str(value))))
    nan = math.nan
    numbers = (nan, nan, nan, nan, nan)
    return _result(
        effect, ends, numbers, options.confidence_level, options.method, 0, (_reason(error),)
    )


def _result(
    of: Effect | MultiModelEffect,
    ends: Sequence[tuple[Point, str]],
    numbers: tuple[float, float, float, float, float],
    confidence_level: float,
    method: ContrastMethod,
    rows: int,
    notes: tuple[str, ...],
    *,
    exact: bool = True,
) -> Contrast:
    """Return a contrast of two values, each with its text; `numbers` are value, error, df and the interval."""
    about, ((a, a_text), (b, b_text)) = of.about, ends
    value, std_error, df, lower, upper = numbers
    return Contrast(
        feature=of.feature,
        quantity=about.quantity,
        a=a,
        b=b,
        a_text=a_text,
        b_text=b_text,
        value=value,
        std_error=std_error,
        df=df,
        lower=lower,
        upper=upper,
        confidence_level=float(confidence_level),
        method=method,
        rows=rows,
        exact=exact,
        unit=about.unit,
        feature_unit=about.feature.unit,
        rule=of.rule if isinstance(of, Effect) else "",
        notes=notes,
        library=about.library,
        title=about.feature.label or "",
    )


def _ends(effect: Effect | MultiModelEffect, *coordinates: float) -> list[tuple[Point, str]]:
    return [(point_of(effect, at), text_of(effect, at)) for at in coordinates]


def _reason(error: DataError) -> str:
    """Return why a value is not on the curve of a region: what was got and expected."""
    text = str(error)
    start = text.find(": got ")
    return text[start + 2 :].split(". ", maxsplit=1)[0] if start >= 0 else text


def contrasts_of_pairs(
    changes: Mapping[str, ValuePair], options: ContrastOptions
) -> dict[str, Contrast]:
    """Return the change between each pair of values; in a bootstrap pairs of the same rows share the draws."""
    for change in changes.values():
        check_has_errors(change.effect, "contrast", "; effect(b) - effect(a) is the change alone")
    errors = {name: _error(change) for name, change in changes.items()}
    draws: dict[str, Floats] = {}
    exact = {name: error.exact for name, error in errors.items()}
    if options.method == "bootstrap":
        moving = {name: c for name, c in changes.items() if c.a != c.b}
        sources = {name: _source(change, options.source) for name, change in moving.items()}
        exact |= {name: isinstance(source, Reweighted) for name, source in sources.items()}
        draws = bootstrap(sources, int(options.replicates), options.seed, int(options.n_jobs))
    return {
        name: _made(change, errors[name], draws.get(name), options, exact=exact[name])
        for name, change in changes.items()
    }


def _made(
    change: ValuePair,
    error: ChangeError,
    draws: Floats | None,
    options: ContrastOptions,
    *,
    exact: bool,
) -> Contrast:
    effect, value = change.effect, change.value
    level = float(options.confidence_level)
    std_error, df, notes = error.std_error, error.df, list(error.notes)
    if draws is None:
        lower, upper = interval_of(value, std_error, df, level)
    elif np.isnan(std_error) or error.unknown:
        std_error = lower = upper = float("nan")
        notes.append("a bin or level with a single row has no variance that could be resampled")
    else:
        lower, upper = (float(end[0]) for end in percentiles(draws, level, np.array([df])))
        known = draws[~np.isnan(draws)]
        # Resampling n of n rows understates the variance by (n - 1) / n.
        expanded = np.sqrt((df + 1) / df) if np.isfinite(df) else 1.0
        std_error = float(known.std(ddof=1) * expanded) if len(known) > 1 else float("nan")
    if change.a == change.b:
        lower = upper = 0.0
        std_error = 0.0
    return _result(
        effect,
        _ends(effect, change.a, change.b),
        (value, std_error, df, lower, upper),
        level,
        options.method,
        error.rows,
        tuple(notes),
        exact=exact,
    )


# --- analytic errors ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChangeError:
    """The error of a change."""

    std_error: float
    df: float
    rows: int
    exact: bool = True
    notes: tuple[str, ...] = ()
    unknown: bool = False


def _error(change: ValuePair) -> ChangeError:
    """Return the error of a change, by the kind of the effect."""
    effect = change.effect
    if change.a == change.b:
        return ChangeError(0.0, np.inf, 0)
    if isinstance(effect, PartialDependence):
        return _of_curves(effect, change)
    if isinstance(effect, AnyMPlot):
        return _of_means(effect, change)
    if isinstance(effect, LevelStepsEffect):
        return _of_levels(effect, change)
    if isinstance(effect, ValueStepsEffect):
        return _of_value_steps(effect, change)
    if isinstance(effect, AccumulatedEffect):
        return _of_slopes(effect, change)
    raise TypeError(f"no contrast of {type(effect).__name__}")


def _overlap(edges: Floats, change: ValuePair) -> Floats:
    """Return the signed lengths on which [a, b] overlaps each interval between edges, (P,); exactly 0 elsewhere."""
    left, right = edges[:-1], edges[1:]
    low, high = min(change.a, change.b), max(change.a, change.b)
    length = np.maximum(np.minimum(right, high) - np.maximum(left, low), 0.0)
    return length if change.b > change.a else -length


def _bend(bins: BinStats, change: ValuePair) -> Floats:
    """Return the coefficients of the trends of the bins in the deviation from the chords, (K,)."""
    out = np.zeros(len(bins))
    for at, sign in ((change.b, 1.0), (change.a, -1.0)):
        k = int(np.clip(np.searchsorted(bins.low, at, side="right") - 1, 0, len(bins) - 1))
        out[k] += sign * (at - bins.low[k]) * (at - bins.high[k]) / 2
    return np.where(bins.slope_change != 0, out, 0.0)


def _of_slopes(effect: AccumulatedEffect, change: ValuePair) -> ChangeError:
    """Return the error of a change that is accumulated from slopes of bins or cells."""
    spec, (cells, kept) = effect.spec, cells_and_edges(effect)
    if spec.on_cells:
        kept = np.arange(len(cells.edges))
    trend = linear_slope_bins(effect)
    form = linear_form(cells, effect.moments, kept, replace(spec, center="start"), trend)
    pieces, edges = form.pieces, cells.edges[kept]
    local = effect.moments[LOCAL]
    if spec.pointwise:
        counts, length = form.bins.count, _overlap(edges, change)
        with_rows = form.bins.weight > 0
        coefficient = ale_math.bridged(length, with_rows)
        used = coefficient != 0
        if trend is not None:
            # Piece 2 k is the mean slope of bin k, piece 2 k + 1 the change of the slope.
            slope_part = coefficient * pieces.part[1::2] + _bend(effect.bins, change)
            used |= slope_part != 0
            coefficient = np.stack([coefficient, slope_part], axis=1).ravel()
    else:
        counts, with_rows = local.count, local.weight > 0
        length = _overlap(cells.edges, change)
        if trend is not None:
            # Between the edges of its bins the curve is interpolated, whatever the cells.
            share = _overlap(edges, change) / np.diff(edges)
            length = cells.widths * np.repeat(share, np.diff(kept))
        coefficient = ale_math.bridged(length, with_rows)
        if trend is not None:
            bend = np.repeat(_bend(effect.bins, change), np.diff(kept))
            coefficient = coefficient + bend * _trend_of_cells(effect.moments[AXIS], kept)
        used = coefficient != 0
    error, df = ale_math.std_error(
        coefficient[None], pieces.error2, pieces.degrees, pieces.starts, spec.accumulate_se
    )
    rows, gaps = int(counts[used].sum()), int(np.count_nonzero(~with_rows & (length != 0)))
    return ChangeError(float(error[0]), float(df[0]), rows, notes=_notes(rows, gaps, "bin"))


def _trend_of_cells(axis: Moments, kept: Ints) -> Floats:
    """Return the coefficients of the cells' mean slopes in the trend of their bin, (P,): least squares."""
    bin_of_cell = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    middle = axis.pool(kept[:-1]).mean[bin_of_cell]
    dx = np.where(axis.weight > 0, axis.mean - middle, 0.0)
    squares = np.add.reduceat(axis.weight * dx**2, kept[:-1])[bin_of_cell]
    return np.where(squares > 0, axis.weight * dx / np.where(squares > 0, squares, 1.0), 0.0)


def _of_value_steps(effect: ValueStepsEffect, change: ValuePair) -> ChangeError:
    """Return the error of a change that is accumulated from steps between values."""
    values, bins = effect.values, effect.bins
    steps = Steps.of(effect.moments, values)
    # The curve is given at the edges, and straight between them.
    corners = effect.points
    share = _overlap(corners, change) / np.diff(corners)
    length = np.zeros(len(values) - 1)
    for k in np.flatnonzero(share):
        between = np.minimum(values[1:], corners[k + 1]) - np.maximum(values[:-1], corners[k])
        length += share[k] * np.maximum(between, 0.0)
    bend = _bend(bins, change)
    at_values = _trend_of_values(effect, bend) if bend.any() else None
    return _of_steps(steps, effect.spec, length, np.diff(values), at_values)


def _of_levels(effect: LevelStepsEffect, change: ValuePair) -> ChangeError:
    """Return the error of a change between levels, accumulated from the steps between them."""
    length = _overlap(np.arange(float(len(effect.axis))), change)
    return _of_steps(Steps.of(effect.moments), effect.spec, length, np.ones(len(length)))


def _of_steps(
    steps: Steps,
    spec: Spec,
    length: Floats,
    widths: Floats,
    at_values: tuple[Floats, Floats] | None = None,
) -> ChangeError:
    """Return the error of a change that covers some length of each step, and of coefficients at values."""
    forms = (ale_math.bridged(length, steps.known) / widths)[None]
    own = np.zeros((1, len(widths) + 1))
    error, df = step_errors(forms, own, steps, spec, at_values)
    if at_values is not None and spec.accumulate_se == "sum":
        apart, df = step_errors(forms, own, steps, spec)
        error = apart + step_errors(0 * forms, own, steps, spec, at_values)[0]
    moved = np.append(forms[0] != 0, False)
    used = moved | np.roll(moved, 1)
    if at_values is not None:
        used |= (at_values[0][0] != 0) | (at_values[1][0] != 0)
    rows = int(steps.up.count[used].sum())
    gaps = int(np.count_nonzero(~steps.known & (length != 0)))
    return ChangeError(float(error[0]), float(df[0]), rows, notes=_notes(rows, gaps, "step"))


def _trend_of_values(effect: ValueStepsEffect, bend: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of the mean steps down and up at each value in ``bend @ trends``, (1, L) each.

    The local effect of a row is the mean of its steps, each divided by its width; the trend of a bin is a least-squares
    line through the means of its cells.
    """
    values, (cells, kept) = effect.values, cells_and_edges(effect)
    cell = cells.locate(values)
    inside = (cell >= kept[0]) & (cell < kept[-1])
    # The coefficient of a row's local effect in the trend of its bin.
    axis = effect.moments[AXIS].take(slice(int(kept[0]), int(kept[-1])))
    per_cell = _trend_of_cells(axis, kept - kept[0]) / np.where(axis.weight > 0, axis.weight, 1.0)
    by_cell = np.repeat(bend, np.diff(kept)) * per_cell
    weight = Steps.of(effect.moments, values).up.weight
    per_row = np.where(inside, by_cell[np.where(inside, cell - kept[0], 0)], 0.0)
    each = 1 / np.diff(values)
    before, after = np.append(0.0, each), np.append(each, 0.0)
    scale = weight * per_row / ((before > 0).astype(float) + (after > 0))
    return (scale * before)[None], (scale * after)[None]


def _of_means(effect: AnyMPlot, change: ValuePair) -> ChangeError:
    """Return the error of a change of an M-plot, whose bins and levels share no rows."""
    moments, spec = moments_of_means(effect), effect.spec
    bins, variance = moments[LOCAL], variance_of_means(moments, spec)
    coefficient = point_coefficients(effect, change)
    size = np.where(bins.weight > 0, bins.effective_size(spec.weight_kind), 1.0)
    error, df = ale_math.std_error(
        coefficient[None],
        ale_math.fill_from_neighbors(variance) / size,
        bins.effective_size(spec.weight_kind) - 1.0,
        np.arange(len(size)),
        "quadrature",
    )
    used = coefficient != 0
    rows = int(bins.count[used].sum())
    alone = bool(np.isnan(variance[used]).any())
    return ChangeError(
        float(error[0]), float(df[0]), rows, notes=_notes(rows, 0, "bin"), unknown=alone
    )


def point_coefficients(effect: Effect, change: ValuePair) -> Floats:
    """Return the coefficients of the effect's values at its points in the change, (m,), by linear interpolation."""
    axis, out = effect.axis, np.zeros(len(effect.axis))
    for at, sign in ((change.b, 1.0), (change.a, -1.0)):
        if isinstance(axis, LevelAxis):
            out[int(at)] += sign
            continue
        points = axis.coordinates
        k = int(np.clip(np.searchsorted(points, at, side="right") - 1, 0, max(len(points) - 2, 0)))
        part = (at - points[k]) / (points[k + 1] - points[k]) if len(points) > 1 else 0.0
        out[k] += sign * (1 - part)
        if part:
            out[k + 1] += sign * part
    return out


def _of_curves(effect: PartialDependence, change: ValuePair) -> ChangeError:
    """Return the error of the mean of the rows' changes along their ICE curves."""
    curves = effect.curves
    if curves is None or len(curves) < 2:
        raise _no_curves(effect)
    kind, notes = effect.spec.weight_kind, ()
    changes = Moments.of(
        curve_changes(curves, effect, change),
        np.zeros(len(curves), dtype=np.int64),
        1,
        curves.weight,
    )
    size = float(changes.effective_size(kind)[0])
    variance, df = float(changes.variance(1, kind)[0]), size - 1.0
    rows = len(curves)
    if not curves.exact:
        # The variance is that of the sample, and the mean that of all rows.
        size = float(np.nanmax(effect.df, initial=size - 1.0)) + 1.0
        rows = int(effect.provenance.get("rows", round(size)))
        kept = counted(len(curves), "ICE curve")
        notes = (f"the standard error is computed from a sample of {kept}; ice='all' keeps all",)
    return ChangeError(
        float(np.sqrt(variance / size)),
        df,
        rows,
        exact=curves.exact,
        notes=(*notes, *_notes(rows, 0, "point")),
    )


def curve_changes(curves: Curves, effect: Effect, change: ValuePair) -> Floats:
    """Return the change along each ICE curve, (r,)."""
    coefficient = point_coefficients(effect, change)
    used = np.flatnonzero(coefficient)
    return curves.value[:, used] @ coefficient[used]


def _no_curves(effect: PartialDependence) -> UnsupportedError:
    kept = 0 if effect.curves is None else len(effect.curves)
    return UnsupportedError(
        f"contrast of {effect.spec.method}",
        f"a result that keeps {counted(kept, 'ICE curve')}",
        "the ICE curves of at least two rows, from which the covariance of the two points is computed",
        "Explain with ice=200 or ice='all', and a keep_rows= that is large enough",
    )


def _notes(rows: int, gaps: int, noun: str) -> tuple[str, ...]:
    notes: list[str] = []
    if gaps:
        have = "has no rows: its slope is" if gaps == 1 else "have no rows: their slopes are"
        notes.append(f"{counted(gaps, noun)} between the two values {have} that of the neighbours")
    if rows < TRUSTED_ROWS:
        notes.append(f"estimated from {counted(rows, 'row')} only")
    return tuple(notes)


# --- bootstrap ------------------------------------------------------------------------------------


def _source(change: ValuePair, wanted: SourceName | None) -> Reweighted | DrawnWeights:
    """Return the change as a function of the counts of rows, or as random draws."""
    effect = change.effect
    if isinstance(effect, PartialDependence):
        return _source_of_curves(effect, change, wanted)
    # The centre cancels. Centred by the mean, replicates are known also if they have no rows in the first bin.
    centred = replace(effect, spec=replace(effect.spec, center="mean"))
    source = replicate_source(centred, wanted)
    if not isinstance(source, FromRows | FromMoments):
        raise TypeError(f"no contrast of {type(source).__name__}")
    statistic = source.statistic
    bends = isinstance(statistic, AccumulatedStatistic) and statistic.bends
    names = (LOCAL, AXIS) if bends else statistic.value_moments

    def evaluate(moments: Mapping[str, Moments]) -> Floats:
        return _change(statistic, moments, change)

    if isinstance(source, FromRows):
        summed = source.columns.summed(names, squares=False)
        return Reweighted(source.draws, lambda counts: evaluate(summed(counts)))
    return lambda number, seed: source.evaluated(evaluate, names, number, seed, squares=False)


def _change(
    statistic: MomentStatistic, moments: Mapping[str, Moments], change: ValuePair
) -> Floats:
    """Return the change in each replicate, (1, R); NaN where a replicate does not determine it."""
    effect = change.effect
    value = statistic.evaluate(moments, "value")
    coefficient = point_coefficients(effect, change)
    used = np.flatnonzero(coefficient)
    # Relative to the first of the points, so that a common offset does not cost precision.
    found = coefficient[used] @ (value[used] - value[used[:1]])
    if isinstance(effect, AccumulatedEffect) and np.any(effect.bins.slope_change):
        bend = _bend(effect.bins, change)
        if bend.any() and isinstance(statistic, ValueStepStatistic):
            found = found + bend @ statistic.of_cells.trend(statistic.in_cells(moments))
        elif bend.any() and isinstance(statistic, AccumulatedStatistic):
            found = found + bend @ statistic.trend(moments)
    return found[None]


def _source_of_curves(
    effect: PartialDependence, change: ValuePair, wanted: SourceName | None
) -> Reweighted | DrawnWeights:
    """Return the mean change along the curves for counts of rows; of a sample, its draws scaled to all rows."""
    curves, kind = effect.curves, effect.spec.weight_kind
    if curves is None or len(curves) < 2:
        raise _no_curves(effect)
    changes = curve_changes(curves, effect, change)
    draws = BootstrapDraws(curves.weight, kind, len(curves))
    kept = draws.sampling_weight

    def mean(counts: Floats) -> Floats:
        counts = counts if kept is None else kept[:, None] * counts
        return (changes @ (counts / counts.sum(axis=0)))[None]

    if curves.exact and wanted != "moments":
        return Reweighted(draws, mean)
    if wanted == "rows":
        raise UnsupportedError(
            f"contrast(source='rows') of {effect.spec.method}",
            "a result that keeps a part of the curves",
            "all curves",
            "Explain with ice='all', or remove source=",
        )
    own = Moments.of(changes, np.zeros(len(changes), dtype=np.int64), 1, curves.weight)
    size = float(own.effective_size(kind)[0])
    whole = max(float(np.nanmax(effect.df, initial=size - 1.0)) + 1.0, size)
    center, value = float(own.mean[0]), change.value

    def replicates(number: int, seed: int) -> Floats:
        found = bootstrap({"": Reweighted(draws, mean)}, number, seed)[""]
        return value + (found - center) * np.sqrt(size / whole)

    return replicates


# --- several models -------------------------------------------------------------------------------


def contrast_of_models(
    effect: MultiModelEffect,
    a: object,
    b: object,
    confidence_level: float,
    of: IntervalTarget | None,
) -> Contrast:
    """Return the mean change over several models; see `MultiModelEffect.contrast`."""
    found = [
        ValuePair(m, coordinate_of(m, a, "contrast(a)"), coordinate_of(m, b, "contrast(b)"))
        for m in effect.models
    ]
    known = [c for c in found if np.isfinite(c.value)]
    if not known:
        for name, at, value in (("a", found[0].a, a), ("b", found[0].b, b)):
            check_on_curve(effect.models[0], at, value, f"contrast({name})")
    mean = effect.mean_interval(
        np.array([c.value for c in found]), confidence_level, of, "contrast"
    )
    first = known[0]
    notes: tuple[str, ...] = ()
    if len(known) < len(found):
        notes = (f"{counted(len(known), 'model')} of {len(found)} have both values",)
    return _result(
        effect,
        _ends(first.effect, first.a, first.b),
        (mean.value, mean.std_error, mean.df, mean.lower, mean.upper),
        confidence_level,
        mean.of,
        min(_rows_of(c) for c in known),
        notes,
    )


def _rows_of(change: ValuePair) -> int:
    """Return the number of rows of one model's change."""
    effect = change.effect
    if isinstance(effect, PartialDependence):
        return int(effect.provenance.get("rows", 0))
    return _error(change).rows
