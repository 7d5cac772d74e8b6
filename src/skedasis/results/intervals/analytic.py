"""Intervals of effects: choice of the estimator, analytic intervals, and covariance for simultaneous bands.

**The estimand** is E[d | bin], accumulated over the given bins. Neither the error due to binning nor the error of the
model is included. For a PDP it is the mean curve; for a permutation importance see `Importance.interval`.

**Analytic, pointwise**: Student's t with the standard errors and Satterthwaite's degrees of freedom; for
``of="bins"`` those of each bin.

**Analytic, simultaneous**: value -+ c * standard error (sup-t). c is the quantile of the largest studentised error over
all points, from 20,000 draws with a fixed seed: normal errors with the analytic covariance, divided by standard errors
with the chi-squared variation of the bins' variances. The covariance (`blocks_of`) contains what points share: the bins
to their left, the positions of the rows in the mean that centres the curve, and levels that belong to two steps. For
PDP and ICE it is the covariance of the kept curves (also if these are a sample); c is then at most Bonferroni's, which
is used if fewer than 30 curves are kept. With ``accumulate_se="sum"`` c is the same, and the band is conservative.

**Bootstrap**: rows are drawn with replacement, which gives row weights (`Effect.resampled`); the bins are fixed. If not
all rows are kept, or with ``source="moments"``, the moments of the bins are drawn instead (`FromMoments`). For PDP and
ICE, draws are then normal with the correlation of the kept curves. Intervals are percentiles. Bands are q times the
standard deviation of the draws, where q is the quantile of their largest deviation. Both are expanded for few rows
(Hesterberg 2015), because drawing n of n rows understates the variance by (n - 1) / n, and because percentiles ignore
the t distribution. `importance` gets plain percentiles. It cannot be negative, and noise increases it, so that its
interval does not test whether it is zero. (In the simulations below it covers 95 % with 330 rows, 94 % with 2,000.)

**The heterogeneity score** has an interval from its own pairs of rows, on a log scale: see
`skedasis.stats.heterogeneity_score`.

**Unknown variances are NaN, not zero**: a bin or level with one row has NaN for ``of="bins"`` and in the bootstrap of
an M-plot. In an accumulated effect, the analytic interval uses the variance of neighbouring bins for such a bin. A
bootstrap of rows cannot, and is too narrow.

**Coverage** of nominal 95 % over 1,000 simulated data sets of 330 rows in 8 bins, 33 rows in the smallest, skewed and
heteroscedastic (`tests/reference/test_interval_coverage.py`): 94 to 96 % pointwise and 93 to 97 % simultaneous for ALE,
DALE, RHALE and UALE at fixed edges, categories, PDP, M-plots and bins, centred or not, with weights of either kind.
For four permutation importances it is 94 %, and 95 % simultaneously. If only the standard error of each bin is drawn
around the curve (1,000 rows in 20 bins), it is 61 to 72 %; with PyALE's intervals it is 60 to 73 %. If RHALE chose its
bins on the same rows by Eq. 13, it is 94 % pointwise and 92 % simultaneous by formula, 93 and 91 % by a bootstrap with
fixed bins, and 95 and 96 % with ``bins="chosen"``, which chooses the bins again in each replicate.

References
----------
Hesterberg, T. C. (2015). What teachers should know about the bootstrap. The American Statistician 69, 371-386.
Montiel Olea, J. L. & Plagborg-Moeller, M. (2019). Simultaneous confidence bands. J. Applied Econometrics 34, 1-17.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_option, check_threads
from skedasis._types import Bools, Floats
from skedasis.errors import UnsupportedError
from skedasis.registry import listed_methods
from skedasis.results.build.linear_form import LOCAL, LinearForm, linear_form, variance_of_means
from skedasis.results.build.step_functions import step_forms
from skedasis.results.build.steps import Steps, StepScatter, coefficients
from skedasis.results.display import no_score_error
from skedasis.results.effect import (
    AccumulatedEffect,
    AnyMPlot,
    BinnedEffect,
    Effect,
    LevelStepsEffect,
    MPlotEffect,
    PartialDependence,
    Spec,
    ValueStepsEffect,
)
from skedasis.results.intervals.bootstrap import (
    FromCurves,
    SourceName,
    bootstrap_with_rebinning,
    check_has_errors,
    correlation_factor,
    replicate_source,
    resampler,
)
from skedasis.results.intervals.moments import interpolation_matrix
from skedasis.results.intervals.statistics import (
    StatisticName,
    bin_codes,
    cells_and_edges,
    linear_slope_bins,
    moments_of_bins,
    moments_of_means,
)
from skedasis.stats import ale_math
from skedasis.stats.random import RandomState, as_seed
from skedasis.stats.resampling import (
    ErrorBlocks,
    bonferroni,
    bootstrap,
    check_counts,
    check_interval,
    percentiles,
    sup_band,
    sup_t,
)
from skedasis.stats.student import quantile_t, t_band, t_interval

# ------------------------------------------------------------------------------------------
# Covariance between the errors of an effect's points, for simultaneous bands.


MOST_POINTS = 2000
"""Largest number of grid points, or pieces of a curve, for which the covariance is computed; also of two features."""


def blocks_of(effect: Effect, of: StatisticName) -> ErrorBlocks | None:
    """Return the independent parts of the errors of an effect's values or bins.

    Notes
    -----
    Bins share no rows, so an accumulated effect is a sum of independent parts. The error of the mean that centres the
    curve, whose rows have random positions, is the same at all points: one more part. For categorical features, a part
    is the rows of one level: its two steps, their covariance, and its weight in the mean. The curves of a PDP form a
    single part.
    """
    if isinstance(effect, PartialDependence):
        return _of_curves(effect)
    if isinstance(effect, AnyMPlot):
        return _marginal(effect, of)
    if isinstance(effect, LevelStepsEffect):
        return _categorical(effect, of)
    if isinstance(effect, ValueStepsEffect) and (of == "value" or effect.spec.on_cells):
        return _between_values(effect, of)
    if isinstance(effect, AccumulatedEffect):
        return _of_slopes(effect, of)
    raise TypeError(f"no covariance of {type(effect).__name__}")


def _of_slopes(effect: AccumulatedEffect, of: StatisticName) -> ErrorBlocks | None:
    """Return the errors of an effect that is accumulated from slopes of bins or cells, or of its bins."""
    cells, kept = cells_and_edges(effect)
    if len(cells) == 0:
        return None
    if effect.spec.on_cells and of == "value":
        kept = np.arange(len(cells.edges))
    form = linear_form(cells, effect.moments, kept, effect.spec, linear_slope_bins(effect))
    if len(form.pieces) > MOST_POINTS:
        return None
    return _of_bins(form) if of == "bins" else _accumulated(effect, form)


def bin_df(effect: BinnedEffect | LevelStepsEffect) -> Floats:
    """Return the degrees of freedom of the bins' standard errors, shape (K,)."""
    kind = effect.spec.weight_kind
    if isinstance(effect, MPlotEffect):
        bins = moments_of_bins(effect)[LOCAL]
        return bins.effective_size(kind) - 1.0
    if isinstance(effect, LevelStepsEffect):
        return satterthwaite(_categorical(effect, "bins"))
    if isinstance(effect, ValueStepsEffect) and effect.spec.on_cells:
        return satterthwaite(_between_values(effect, "bins"))
    if not isinstance(effect, AccumulatedEffect):
        raise TypeError(f"no bins of {type(effect).__name__}")
    cells, kept = cells_and_edges(effect)
    if len(cells) == 0:
        return np.zeros(0)
    form = linear_form(cells, effect.moments, kept, effect.spec, linear_slope_bins(effect))
    return form.pieces.degrees[form.pieces.starts]


def satterthwaite(blocks: ErrorBlocks) -> Floats:
    """Return Satterthwaite's degrees of freedom of the points' errors."""
    parts = np.zeros((len(blocks.factor), len(blocks.df)))
    np.add.at(parts.T, blocks.block, (blocks.factor**2).T)
    total = parts.sum(axis=1)
    fraction = parts / np.where(total > 0, total, 1.0)[:, None]
    weight = (fraction**2 / np.maximum(blocks.df, 1.0)).sum(axis=1)
    return np.where(total > 0, 1.0 / np.where(weight > 0, weight, 1.0), np.inf)


def _accumulated(effect: Effect, form: LinearForm) -> ErrorBlocks:
    pieces = form.pieces
    # NaN errors count only where the slope has a nonzero coefficient.
    factor = np.where(form.matrix != 0, form.matrix * np.sqrt(pieces.error2), 0.0)
    block, df = pieces.bin, pieces.degrees[pieces.starts]
    if effect.spec.center == "mean":
        factor = np.hstack([factor, np.full((len(factor), 1), np.sqrt(form.between))])
        block = np.append(block, len(df))
        df = np.append(df, form.size - 1.0)
    factor[np.isnan(effect.std_error)] = 0.0
    return ErrorBlocks(factor, block, df)


def _of_bins(form: LinearForm) -> ErrorBlocks:
    """Return the errors of bins, which are independent because bins share no rows."""
    pieces, count = form.pieces, len(form.pieces.starts)
    size = np.where(np.isnan(pieces.variance), 0.0, pieces.part * np.sqrt(pieces.error2))
    factor = np.where(pieces.bin == np.arange(count)[:, None], size, 0.0)
    return ErrorBlocks(factor, pieces.bin, pieces.degrees[pieces.starts])


def _categorical(effect: LevelStepsEffect, of: StatisticName) -> ErrorBlocks:
    """Return the errors of a categorical effect, one part per level (docs/explanation/levels-and-pairs.md)."""
    spec, steps = effect.spec, Steps.of(effect.moments)
    size = len(effect.axis)
    known = steps.known
    start = ale_math.accumulation_matrix(np.ones(len(known)), known, np.arange(size))
    if of == "bins":
        places = bin_codes(effect)
        form = (start[places[1:]] - start[places[:-1]]) / np.diff(places)[:, None]
        return _by_level(form, np.zeros((len(form), size)), steps, spec)
    form, own = start, np.zeros((size, size))
    if spec.center == "mean":
        weight = steps.up.weight
        total = max(float(weight.sum()), np.finfo(float).tiny)
        value = start @ np.where(known, steps.pooled.mean, 0.0)
        form = start - weight @ start / total
        own = np.broadcast_to(-(value - weight @ value / total) / total, own.shape)
    return _by_level(form, own, steps, spec)


def _between_values(effect: ValueStepsEffect, of: StatisticName) -> ErrorBlocks:
    """Return the errors of a curve of steps between values, or of its bins' slopes, one part per value."""
    spec, values, stats, edges = effect.spec, effect.values, effect.bins, effect.points
    steps = Steps.of(effect.moments, values)
    if of == "bins":
        form = np.diff(step_forms(values, stats.edges, steps.known), axis=0) / stats.widths[:, None]
        return _by_level(form, np.zeros((len(form), len(values))), steps, spec)
    form = step_forms(values, edges, steps.known)
    own = np.zeros((len(form), len(values)))
    if spec.center == "mean":
        start, total = form @ steps.mean, steps.up.total_size()
        at, share = np.interp(values, edges, start) + stats.quadratic_term(values), steps.up.share
        own = np.broadcast_to(-(at - share @ at) / total, own.shape)
        form = form - share @ interpolation_matrix(edges, values) @ form
    return _by_level(np.where(np.isnan(effect.std_error)[:, None], 0.0, form), own, steps, spec)


def _by_level(form: Floats, own: Floats, steps: Steps, spec: Spec) -> ErrorBlocks:
    """Return the errors of forms of the mean steps, (m, L - 1), and of the rows' presence, (m, L): a part per level."""
    kind, up = spec.weight_kind, steps.up
    seen = StepScatter.of(steps, kind)
    moment = np.empty((len(up.weight), 3, 3))
    moment[:, 0, 0], moment[:, 1, 1], moment[:, 2, 2] = seen.down, seen.up, up.weight
    moment[:, 0, 1] = moment[:, 1, 0] = seen.both
    moment[:, 0, 2] = moment[:, 2, 0] = up.weight * seen.off_down
    moment[:, 1, 2] = moment[:, 2, 1] = up.weight * seen.off_up
    if kind == "sampling":
        moment *= (up.weight2 / np.where(up.weight > 0, up.weight, 1.0))[:, None, None]
    # Scaled to unit variances, because steps may be of any size.
    unit = np.sqrt(np.maximum(np.diagonal(moment, axis1=1, axis2=2), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    roots, vectors = np.linalg.eigh(moment / unit[:, :, None] / unit[:, None, :])
    root = unit[:, :, None] * vectors * np.sqrt(np.maximum(roots, 0.0))[:, None, :]
    each = np.stack([*coefficients(form, steps, spec), own], axis=2)
    factor = np.einsum("mli,lij->mlj", each, root).reshape(len(form), 3 * len(moment))
    df = np.maximum(up.effective_size(kind) - 1.0, 1.0)
    return ErrorBlocks(factor, np.repeat(np.arange(len(moment)), 3), df)


def _marginal(effect: AnyMPlot, of: StatisticName) -> ErrorBlocks:
    """Return the errors of an M-plot's means, which are independent except for the mean that centres them."""
    spec, kind = effect.spec, effect.spec.weight_kind
    moments = moments_of_bins(effect) if of == "bins" else moments_of_means(effect)
    bins, variance = moments[LOCAL], variance_of_means(moments, spec)
    count, size = len(bins.weight), np.where(bins.weight > 0, bins.effective_size(kind), 1.0)
    if of != "bins":
        variance = ale_math.fill_from_neighbors(variance)
    error = np.nan_to_num(np.sqrt(variance / size))
    block, df = np.arange(count), bins.effective_size(kind) - 1.0
    if of == "bins" or spec.center != "mean":
        return ErrorBlocks(np.eye(count) * error, block, df)
    share, n = bins.share, bins.total_size(kind)
    between = float(share @ (bins.mean - share @ bins.mean) ** 2 / n)
    factor = np.hstack([(np.eye(count) - share) * error, np.full((count, 1), np.sqrt(between))])
    return ErrorBlocks(factor, np.append(block, count), np.append(df, n - 1.0))


def _of_curves(effect: PartialDependence) -> ErrorBlocks | None:
    kept = effect.curves
    if kept is None or len(kept) < FromCurves.least or len(effect.axis) > MOST_POINTS:
        return None
    factor = correlation_factor(kept) * np.nan_to_num(effect.std_error)[:, None]
    least = np.nanmin(effect.df, initial=np.inf)
    return ErrorBlocks(factor, np.zeros(factor.shape[1], dtype=np.int64), np.array([least]))


# ------------------------------------------------------------------------------------------
# Options of `interval`, and choice of the estimator.


IntervalEnds = tuple[Floats, Floats]


@dataclass(frozen=True)
class ContrastOptions:
    """The options of `Effect.contrast`, checked."""

    function: ClassVar[str] = "contrast"

    confidence_level: float = 0.95
    method: Literal["analytic", "bootstrap"] = "analytic"
    replicates: int = 1000
    random_state: RandomState = 0
    n_jobs: int = 1
    source: SourceName | None = None
    simultaneous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        seed = check_interval(
            self.confidence_level,
            self.method,
            self.simultaneous,
            self.replicates,
            self.random_state,
            self.function,
        )
        object.__setattr__(self, "random_state", seed)
        jobs = check_threads(f"{self.function}(n_jobs)", self.n_jobs)
        object.__setattr__(self, "n_jobs", jobs)
        fix = "Use None to choose automatically"
        check_option(f"{self.function}(source)", self.source, ("rows", "moments", None), fix)

    @property
    def seed(self) -> int:
        """Return the integer that keys the random draws."""
        return as_seed(f"{self.function}(random_state)", self.random_state)


@dataclass(frozen=True)
class IntervalOptions(ContrastOptions):
    """The options of `Effect.interval`, checked."""

    function = "interval"

    of: StatisticName | Literal["heterogeneity_score"] = field(default="value", kw_only=True)
    bins: Literal["fixed", "chosen"] = field(default="fixed", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        statistics = ("value", "bins", "importance", "heterogeneity_score")
        check_option("interval(of)", self.of, statistics)
        check_option("interval(bins)", self.bins, ("fixed", "chosen"))

    @property
    def statistic(self) -> StatisticName:
        """The statistic of the effect. Raises for the heterogeneity score, which has its own interval."""
        if self.of == "heterogeneity_score":
            raise TypeError("the heterogeneity score has its own interval")
        return self.of


def interval(effect: Effect, options: IntervalOptions) -> IntervalEnds:
    """Return the lower and upper ends of an effect's intervals; see `Effect.interval`."""
    if options.of == "heterogeneity_score":
        return _score_interval(effect, options)
    _check_options(effect, options)
    if options.method == "analytic":
        return _analytic(effect, options)
    if options.bins == "chosen":
        return _from_draws(
            effect, options, bootstrap_with_rebinning(effect, options.replicates, options.seed)
        )
    return _bootstrap({"": effect}, options)[""]


def intervals(effects: Mapping[str, Effect], options: IntervalOptions) -> dict[str, IntervalEnds]:
    """Return the intervals of several effects by feature. Effects of the same rows share the bootstrap draws."""
    own = options.of == "heterogeneity_score"
    if options.method == "analytic" or options.bins == "chosen" or own:
        return {name: interval(e, options) for name, e in effects.items()}
    for e in effects.values():
        _check_options(e, options)
    return _bootstrap(effects, options)


def _check_options(effect: Effect, options: IntervalOptions) -> None:
    check_has_errors(effect, "interval")
    what = f"interval(of={options.of!r}) of {effect.spec.method}"
    if options.of == "importance" and options.method == "analytic":
        fix = "Use method='bootstrap'"
        raise UnsupportedError(what, "method='analytic'", "method='bootstrap'", fix)
    _check_statistic(effect, options.statistic, what)
    if options.bins == "chosen" and (options.method == "analytic" or options.of != "value"):
        raise UnsupportedError(
            "interval(bins='chosen')",
            f"method={options.method!r}, of={options.of!r}",
            "method='bootstrap', of='value'",
            "Use these, or bins='fixed'",
        )


def _score_interval(effect: Effect, options: IntervalOptions) -> IntervalEnds:
    """Return the interval of the heterogeneity score."""
    check_has_errors(effect, "interval")
    what = f"interval(of='heterogeneity_score') of {effect.spec.method}"
    if options.method == "bootstrap":
        raise UnsupportedError(
            what,
            "method='bootstrap', which would separate the pairs of rows that the score is computed from",
            "method='analytic'",
            "Remove method",
        )
    if effect.swap_score is None:
        raise no_score_error(what, effect.spec.method)
    lower, upper = effect.swap_score.interval(options.confidence_level)
    return np.asarray(lower), np.asarray(upper)


def _check_statistic(effect: Effect, of: StatisticName, what: str) -> None:
    """Raise if the effect does not have the statistic."""
    if of == "bins" and not isinstance(effect, (BinnedEffect, LevelStepsEffect)):
        expected = listed_methods(lambda m: m.bins)
        raise UnsupportedError(what, "no bins", expected, "Use of='value'")


# ------------------------------------------------------------------------------------------
# Analytic intervals.


def _analytic(effect: Effect, options: IntervalOptions) -> IntervalEnds:
    value, error, df = _estimates(effect, options.statistic)
    if not options.simultaneous:
        return t_interval(value, error, df, options.confidence_level)
    return t_band(value, error, critical_value(effect, options.statistic, options.confidence_level))


def _estimates(effect: Effect, of: StatisticName) -> tuple[Floats, Floats, Floats]:
    """Return estimates, standard errors, and degrees of freedom."""
    if of != "bins" or not isinstance(effect, (BinnedEffect, LevelStepsEffect)):
        return effect.value, effect.std_error, effect.df
    return effect.bins.effect, effect.bins.std_error, bin_df(effect)


def critical_value(effect: Effect, of: StatisticName, confidence_level: float) -> Floats | float:
    """Return the factor of the standard errors for a simultaneous band.

    Notes
    -----
    The quantile of the largest studentised error (sup-t). For PDP and ICE, whose covariance is estimated from the kept
    curves, it is at most Bonferroni's, and equal to that with too few curves.
    """
    _, error, df = _estimates(effect, of)
    at_most = bonferroni(error, df, confidence_level)
    blocks = blocks_of(effect, of)
    if blocks is None:
        return at_most
    # Student's quantile is a lower bound (for perfectly correlated points), which simulation noise must not undercut.
    critical = np.maximum(sup_t(blocks, confidence_level), quantile_t(df, confidence_level))
    return np.minimum(critical, at_most) if isinstance(effect, PartialDependence) else critical


# ------------------------------------------------------------------------------------------
# Bootstrap intervals.


def _bootstrap(effects: Mapping[str, Effect], options: IntervalOptions) -> dict[str, IntervalEnds]:
    """Return bootstrap intervals. Effects of the same rows share the draws."""
    sources = {
        name: replicate_source(e, options.source).replicated(options.statistic)
        for name, e in effects.items()
    }
    found = bootstrap(sources, int(options.replicates), options.seed, int(options.n_jobs))
    return {name: _from_draws(e, options, found[name]) for name, e in effects.items()}


def _from_draws(effect: Effect, options: IntervalOptions, draws: Floats) -> IntervalEnds:
    """Return the ends of intervals from replicates (R, m)."""
    if options.statistic == "importance":
        lower, upper = percentiles(draws[:, 0], options.confidence_level)
        return lower, upper
    value, known, df = _known(effect, options.statistic)
    if options.simultaneous:
        ends = sup_band(value, np.where(known, draws, np.nan), options.confidence_level, df)
    else:
        ends = percentiles(draws, options.confidence_level, df)
    return np.where(known, ends[0], np.nan), np.where(known, ends[1], np.nan)


def _known(effect: Effect, of: StatisticName) -> tuple[Floats, Bools, Floats]:
    """Return estimates, where their variance is known (elsewhere intervals are NaN), and degrees of freedom."""
    value, error, df = _estimates(effect, of)
    known = ~np.isnan(error)
    if of == "value" and isinstance(effect, AnyMPlot):
        # A bin or level with one row has no variance.
        variance = effect.moments[LOCAL].variance(effect.spec.ddof, effect.spec.weight_kind)
        if isinstance(effect, MPlotEffect):
            variance = effect.bins.std[~effect.bins.empty]
        known = known & ~np.isnan(variance)
    return value, known, df


def reweighted_effect(effect: Effect, counts: ArrayLike, of: StatisticName = "value") -> Floats:
    """Return an effect for other row weights: one replicate of a bootstrap for each vector of weights.

    Parameters
    ----------
    effect : Effect
    counts : array_like of numbers, shape (R, n) or (n,)
        Weights of the n kept rows, in the order of ``effect.rows`` (PDP, ICE: ``effect.curves``). They replace
        frequency weights, and multiply sampling weights.
    of : {"value", "bins", "importance"}

    Returns
    -------
    ndarray of float, shape (R, m)
        (m,) for counts of shape (n,). NaN where these rows do not determine the effect: see
        `skedasis.results.intervals.bootstrap.resampler`.

    Notes
    -----
    Up to rounding, the result is that of the method for rows repeated so often, with the same edges (and the same step
    sizes of finite differences). Needs no model rows.
    """
    check_option("resampled(of)", of, ("value", "bins", "importance"))
    _check_statistic(effect, of, f"resampled(of={of!r}) of {effect.spec.method}")
    source = resampler(effect)
    table = check_counts(counts, source.draws.rows)
    repeated, step = source.repeated(of), source.draws.block
    parts = [
        repeated(np.ascontiguousarray(table[k : k + step].T)).T for k in range(0, len(table), step)
    ]
    out = np.concatenate(parts) if parts else source.value(source.weight)[None][:0]
    return out[0] if np.ndim(counts) == 1 else out
