"""Intervals of effects: choice of the estimator, analytic intervals, and covariance for simultaneous bands.

**The estimand** is E[d | bin], accumulated at the edges as they are: what binning changes, and the model's own error,
are not in it. Of a PDP it is the mean curve; of a permutation importance see `Importance.interval`.

**Analytic, pointwise**: Student's t with the standard errors and Satterthwaite's degrees of freedom; for
``of="bins"`` those of each bin.

**Analytic, simultaneous**: value -+ c * standard error (sup-t). c is the quantile of the largest studentised error over
all points, of 20,000 draws with one fixed seed: normal errors with the covariance that the formula gives, over
estimates that vary by the chi squares of the bins' variances. That covariance (`covariance`) holds what points
share: bins to their left, the rows' places behind the centre, levels that two steps share. Of PDP and ICE it is that
of the kept curves, a seeded sample of them too, but never more than Bonferroni's c, which is taken where fewer than 30
curves are kept. With ``accumulate_se="sum"`` c is the same and the band conservative.

**Bootstrap**: rows are drawn with replacement and counted (`Effect.resampled`), the bins as they are. Where not all
rows are kept, or on ``source="moments"``, the moments of the bins are drawn (`redrawn`). Of PDP and ICE draws
are normal then, with the correlation of the kept curves. Intervals are percentiles, bands q times the draws' standard
deviation, q the quantile of their largest deviation; both expanded for few rows (Hesterberg 2015), since drawing n rows
of n understates the variance by (n - 1) / n and has no t. `importance` is given plain percentiles. It cannot
fall below zero, and noise alone lifts it: an interval says how sure the figure is, not that it is above zero. (In the
simulations below it covers 95 % with 330 rows, 94 % with 2,000.)

**The heterogeneity score** has the interval of its own pairs, on a log scale: see `skedasis.stats.heterogeneity_score`.

**No variance is said, not zero**: a bin, or a level, of one row has NaN for ``of="bins"`` and in a bootstrap of an
M-plot. In an accumulated effect such a bin borrows its neighbours' variance; a bootstrap of rows cannot, and is
too narrow.

**Coverage** of nominal 95 % over 1,000 simulated data sets of 330 rows in 8 bins, 33 rows in the smallest, skewed and
heteroscedastic (`tests/reference/test_interval_coverage.py`): 94 to 96 % pointwise and 93 to 97 % simultaneous for ALE,
DALE, RHALE and UALE at fixed edges, categories, PDP, M-plots and bins, centred or not, with weights of either kind.
Of four permutation importances it is 94 %, and 95 % together. With a bin's own error drawn around the curve (1,000 rows
in 20 bins) it is 61 to 72 %, by PyALE's intervals 60 to 73 %.
Where RHALE chose its bins on the same rows by Eq. 13: 94 % pointwise and 92 % simultaneous by formula, 93 and 91 % by a
bootstrap at these bins, 95 and 96 % with ``bins="chosen"``, which chooses them anew in each replicate.

References
----------
Hesterberg, T. C. (2015). What teachers should know about the bootstrap. The American Statistician 69, 371-386.
Montiel Olea, J. L. & Plagborg-Moeller, M. (2019). Simultaneous confidence bands. J. Applied Econometrics 34, 1-17.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.build.linear_form import LOCAL, Linear, bulge, linear
from skedasis.results.build.step_functions import rise_forms
from skedasis.results.build.steps import Scatter, Steps, coefficients
from skedasis.results.display import given_level, no_score
from skedasis.results.effect import Effect
from skedasis.results.intervals.bootstrap import (
    Averaged,
    Fixed,
    FromCurves,
    FromMoments,
    FromRows,
    Of,
    binned,
    correlated,
    interpolated,
    located,
    rechosen,
    resampler,
    runs,
    source_of,
    trended,
)
from skedasis.stats import ale_math
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import (
    Blocks,
    bonferroni,
    percentiles,
    quantile_t,
    replicate,
    sup_band,
    sup_t,
    t_band,
    t_interval,
)

# ------------------------------------------------------------------------------------------
# How the errors of an effect's points go together: what simultaneous bands need.


MOST = 2000
"""Points of a grid, or pieces of a curve, beyond which their joint errors would cost too much."""


def blocks_of(effect: Effect, of: str) -> Blocks | None:
    """Return where the errors of an effect's values, or of its bins, come from.

    Parameters
    ----------
    effect : Effect
    of : {"value", "bins"}

    Returns
    -------
    Blocks or None
        None where it is not known how points go together: fewer than 30 curves are kept, or there are more than 2,000
        points.

    Notes
    -----
    Bins share no row, so an accumulated effect is a sum of independent parts. What the centre adds, that it is a mean
    over rows whose places are random, is the same at all points, and one more part. Of categories a part is the rows of
    a level: its two steps, their covariance, and its place in the centre. The curves of a PDP have one covariance.
    """
    if effect.spec.local in ("none", "values"):
        return _of_curves(effect) if effect.spec.local == "none" else _marginal(effect, of)
    if effect.levels is not None:
        return _stepped(effect, of)
    if effect.values is not None:
        return _halved(effect, effect.values, of)
    cells, kept = located(effect)
    if len(cells) == 0:
        return None
    if effect.spec.on_cells and of == "value":
        kept = np.arange(len(cells.edges))
    form = linear(cells, effect.moments, kept, effect.spec, trended(effect))
    if len(form.pieces) > MOST:
        return None
    return _of_bins(form) if of == "bins" else _accumulated(effect, form)


def bin_freedom(effect: Effect) -> Floats:
    """Return the degrees of freedom of the bins' standard errors, shape (K,)."""
    kind = effect.spec.weight_kind
    if effect.spec.local == "values":
        bins = binned(effect)[LOCAL]
        return bins.effective(kind) - 1.0
    if effect.levels is not None:
        return satterthwaite(_stepped(effect, "bins"))
    if effect.values is not None:
        return satterthwaite(_halved(effect, effect.values, "bins"))
    cells, kept = located(effect)
    if len(cells) == 0:
        return np.zeros(0)
    form = linear(cells, effect.moments, kept, effect.spec, trended(effect))
    return form.pieces.degrees[form.pieces.starts]


def satterthwaite(blocks: Blocks) -> Floats:
    """Return the degrees of freedom of the points' errors."""
    parts = np.zeros((len(blocks.factor), len(blocks.freedom)))
    np.add.at(parts.T, blocks.block, (blocks.factor**2).T)
    total = parts.sum(axis=1)
    share = parts / np.where(total > 0, total, 1.0)[:, None]
    weight = (share**2 / np.maximum(blocks.freedom, 1.0)).sum(axis=1)
    return np.where(total > 0, 1.0 / np.where(weight > 0, weight, 1.0), np.inf)


def _accumulated(effect: Effect, form: Linear) -> Blocks:
    pieces = form.pieces
    # NaN errors matter only where their slope takes part.
    factor = np.where(form.matrix != 0, form.matrix * np.sqrt(pieces.error2), 0.0)
    block, freedom = pieces.bin, pieces.degrees[pieces.starts]
    if effect.spec.center == "mean":
        factor = np.hstack([factor, np.full((len(factor), 1), np.sqrt(form.between))])
        block = np.append(block, len(freedom))
        freedom = np.append(freedom, form.size - 1.0)
    factor[np.isnan(effect.std_error)] = 0.0
    return Blocks(factor, block, freedom)


def _of_bins(form: Linear) -> Blocks:
    """Return independent errors: no two bins share a row."""
    pieces, count = form.pieces, len(form.pieces.starts)
    block, size = pieces.bin, form.pieces.part * np.sqrt(pieces.error2)
    size = np.where(np.isnan(pieces.variance), 0.0, size)
    factor = np.where(block == np.arange(count)[:, None], size, 0.0)
    return Blocks(factor, block, pieces.degrees[pieces.starts])


def _stepped(effect: Effect, of: str) -> Blocks:
    """Return the errors of forms of mean steps, by level (docs/explanation/levels-and-pairs.md)."""
    spec, steps, places = effect.spec, Steps.of(effect.moments), runs(effect)
    size = len(effect.points)
    known = steps.pooled.weight > 0
    start = ale_math.accumulation(np.ones(len(known)), known, np.arange(size))
    own = np.zeros((size, size))
    form = start
    if of == "bins":
        length = np.diff(places)[:, None]
        form = (start[places[1:]] - start[places[:-1]]) / length
        own = np.zeros((len(form), size))
    elif spec.center == "mean":
        weight = steps.up.weight
        total = max(float(weight.sum()), np.finfo(float).tiny)
        value = start @ np.where(known, steps.pooled.mean, 0.0)
        form = start - weight @ start / total
        own = np.broadcast_to(-(value - weight @ value / total) / total, own.shape)
    down, up = coefficients(form, steps, spec)
    factor = _by_level(np.stack([down, up, own], axis=2), steps, spec.weight_kind)
    freedom = np.maximum(steps.up.effective(spec.weight_kind) - 1.0, 1.0)
    return Blocks(factor, np.repeat(np.arange(size), 3), freedom)


def _halved(effect: Effect, values: Floats, of: str) -> Blocks:
    """Return the errors of a curve of steps between values, or of its bins' slopes: by value."""
    spec, steps, stats = effect.spec, Steps.of(effect.moments, values), effect.bins
    edges = np.asarray(effect.points, dtype=float)
    if of == "bins" and stats is not None:
        form = np.diff(rise_forms(values, stats.edges, steps.known), axis=0) / stats.widths[:, None]
        own = np.zeros((len(form), len(values)))
    else:
        form = rise_forms(values, edges, steps.known)
        own = np.zeros((len(form), len(values)))
        if spec.center == "mean":
            start, total = (
                form @ steps.mean,
                max(float(steps.up.weight.sum()), np.finfo(float).tiny),
            )
            at = np.interp(values, edges, start) + (0.0 if stats is None else bulge(stats, values))
            share = steps.up.weight / total
            own = np.broadcast_to(-(at - share @ at) / total, own.shape)
            form = form - share @ interpolated(edges, values) @ form
        form = np.where(np.isnan(effect.std_error)[:, None], 0.0, form)
    down, up = coefficients(form, steps, spec)
    factor = _by_level(np.stack([down, up, own], axis=2), steps, spec.weight_kind)
    freedom = np.maximum(steps.up.effective(spec.weight_kind) - 1.0, 1.0)
    return Blocks(factor, np.repeat(np.arange(len(values)), 3), freedom)


def _by_level(form: Floats, steps: Steps, kind: WeightKind) -> Floats:
    """Return (m, 3 L): forms (m, L, 3) of a row's steps and of its being there, times the root of their moments."""
    seen, up = Scatter.of(steps, kind), steps.up
    moment = np.empty((len(up.weight), 3, 3))
    moment[:, 0, 0], moment[:, 1, 1], moment[:, 2, 2] = seen.down, seen.up, up.weight
    moment[:, 0, 1] = moment[:, 1, 0] = seen.both
    moment[:, 0, 2] = moment[:, 2, 0] = up.weight * seen.off_down
    moment[:, 1, 2] = moment[:, 2, 1] = up.weight * seen.off_up
    if kind == "sampling":
        moment *= (up.weight2 / np.where(up.weight > 0, up.weight, 1.0))[:, None, None]
    # In units of each part's own size: what a step measures may be far from 1.
    unit = np.sqrt(np.maximum(np.diagonal(moment, axis1=1, axis2=2), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    roots, vectors = np.linalg.eigh(moment / unit[:, :, None] / unit[:, None, :])
    root = unit[:, :, None] * vectors * np.sqrt(np.maximum(roots, 0.0))[:, None, :]
    return np.einsum("mli,lij->mlj", form, root).reshape(len(form), 3 * len(moment))


def _marginal(effect: Effect, of: str) -> Blocks:
    """Return the errors of an M-plot's means: independent, but for the centre."""
    spec, kind = effect.spec, effect.spec.weight_kind
    bins = binned(effect)[LOCAL]
    variance = bins.variance(spec.ddof, kind)
    if of == "bins":
        error = np.sqrt(variance / np.where(bins.weight > 0, bins.effective(kind), 1.0))
        return Blocks(
            np.diag(np.nan_to_num(error)), np.arange(len(error)), bins.effective(kind) - 1.0
        )
    if effect.levels is None:
        bins = bins.take(np.flatnonzero(bins.weight > 0))
        variance = bins.variance(spec.ddof, kind)
    return _means(effect, bins, variance)


def _means(effect: Effect, bins: Moments, variance: Floats) -> Blocks:
    kind, count = effect.spec.weight_kind, len(variance)
    size = np.where(bins.weight > 0, bins.effective(kind), 1.0)
    error = np.nan_to_num(np.sqrt(ale_math.borrowed(variance) / size))
    share = bins.weight / max(float(bins.weight.sum()), np.finfo(float).tiny)
    form, block, freedom = np.eye(count), np.arange(count), bins.effective(kind) - 1.0
    if effect.spec.center != "mean":
        return Blocks(form * error, block, freedom)
    total = float(bins.weight.sum())
    n = total if kind == "frequency" else total**2 / float(bins.weight2.sum())
    between = float(share @ (bins.mean - share @ bins.mean) ** 2 / n)
    factor = np.hstack([(form - share) * error, np.full((count, 1), np.sqrt(between))])
    return Blocks(factor, np.append(block, count), np.append(freedom, n - 1.0))


def _of_curves(effect: Effect) -> Blocks | None:
    kept = effect.curves
    if kept is None or len(kept) < FromCurves.least or len(effect.points) > MOST:
        return None
    factor = correlated(kept) * np.nan_to_num(effect.std_error)[:, None]
    least = np.nanmin(effect.freedom, initial=np.inf)
    return Blocks(factor, np.zeros(factor.shape[1], dtype=np.int64), np.array([least]))


# ------------------------------------------------------------------------------------------
# Intervals of effects: what is asked, checked; and which of the ways to an answer is taken.


Ends = tuple[Floats, Floats]


@dataclass(frozen=True)
class Asked:
    """What is asked of `interval`; see there."""

    level: float = 0.95
    method: str = "analytic"
    of: Of | Literal["heterogeneity_score"] = "value"
    simultaneous: bool = False
    bins: str = "fixed"
    replicates: int = 1000
    seed: int = 0
    threads: int = 1
    source: Any = None

    def __post_init__(self) -> None:
        given_level("interval(level)", self.level)
        _one_of("method", self.method, ("analytic", "bootstrap"))
        _one_of("of", self.of, ("value", "bins", "importance", "heterogeneity_score"))
        _one_of("bins", self.bins, ("fixed", "chosen"))
        _whole("replicates", self.replicates, 2, "Use 1000")
        _whole("seed", self.seed, 0, "Use 0")
        _whole("threads", self.threads, 1, "Use 1")
        if not isinstance(self.simultaneous, (bool, np.bool_)):
            raise DataError(
                explained("interval(simultaneous)", repr(self.simultaneous), "a bool", "Use True")
            )

    @property
    def drawn(self) -> Of:
        """Return the figure that replicates are computed of; the heterogeneity score has none."""
        if self.of == "heterogeneity_score":
            raise TypeError("a heterogeneity score has no replicates")
        return self.of


def _one_of(name: str, got: Any, known: tuple[str, ...]) -> None:
    if not isinstance(got, str) or got not in known:
        listed = " or ".join(repr(k) for k in known)
        raise DataError(explained(f"interval({name})", repr(got), listed, "Name one"))


def _whole(name: str, got: Any, least: int, fix: str) -> None:
    if isinstance(got, (bool, np.bool_)) or not isinstance(got, Integral) or got < least:
        raise DataError(explained(f"interval({name})", repr(got), f"{least} or more", fix))


def interval(effect: Effect, asked: Asked) -> Ends:
    """Return the ends of an effect's intervals; see `Effect.interval`."""
    _refuse(effect, asked)
    if asked.of == "heterogeneity_score":
        return _of_score(effect, asked.level)
    if asked.method == "analytic":
        return _analytic(effect, asked)
    if asked.bins == "chosen":
        return _from_draws(effect, asked, rechosen(effect, asked.replicates, asked.seed))
    return _bootstrap({"": effect}, asked)[""]


def intervals(effects: Mapping[str, Effect], asked: Asked) -> dict[str, Ends]:
    """Return the intervals of several effects by feature; features with as many rows share the draws of these."""
    own = asked.of == "heterogeneity_score"
    if asked.method == "analytic" or asked.bins == "chosen" or own:
        return {name: interval(e, asked) for name, e in effects.items()}
    for e in effects.values():
        _refuse(e, asked)
    return _bootstrap(effects, asked)


def _refuse(effect: Effect, asked: Asked) -> None:
    spec = effect.spec
    if spec.mean_alone:
        raise UnsupportedError(
            explained(
                f"interval of a {spec.method} with heterogeneity=False",
                "the mean alone",
                "the spread of the rows' curves",
                "Explain again without heterogeneity=False",
            )
        )
    what = f"interval(of={asked.of!r}) of {spec.method}"
    if asked.of == "heterogeneity_score":
        _refuse_score(effect, asked, what)
        return
    if asked.of == "importance" and asked.method == "analytic":
        raise UnsupportedError(
            explained(what, "method='analytic'", "method='bootstrap'", "Ask for method='bootstrap'")
        )
    _there(effect, asked.of, what)
    if asked.bins == "chosen" and (asked.method == "analytic" or asked.of != "value"):
        raise UnsupportedError(
            explained(
                "interval(bins='chosen')",
                f"method={asked.method!r}, of={asked.of!r}",
                "method='bootstrap', of='value'",
                "Ask for these, or for bins='fixed'",
            )
        )


def _refuse_score(effect: Effect, asked: Asked, what: str) -> None:
    """Raise if there is no heterogeneity score, or if its interval is to come from a bootstrap."""
    if asked.method == "bootstrap":
        raise UnsupportedError(
            explained(
                what,
                "method='bootstrap', whose resampled rows would separate the pairs that the score is computed from",
                "method='analytic'",
                "Leave method out",
            )
        )
    if effect.swap_score is None:
        raise no_score(what, effect.spec.method)


def _of_score(effect: Effect, level: float) -> Ends:
    """Return the interval of the heterogeneity score."""
    ends = (np.nan, np.nan) if effect.swap_score is None else effect.swap_score.interval(level)
    return np.asarray(ends[0]), np.asarray(ends[1])


def _there(effect: Effect, of: str, what: str) -> None:
    """Refuse a figure that an effect does not have."""
    if of == "bins" and effect.bins is None:
        raise UnsupportedError(
            explained(what, "no bins", "ALE, DALE, UALE, RHALE or MPlot", "Use of='value'")
        )


# --------------------------------------------------------------------------------------- analytic
def _analytic(effect: Effect, asked: Asked) -> Ends:
    value, error, freedom = _estimates(effect, asked.of)
    if not asked.simultaneous:
        return t_interval(value, error, freedom, asked.level)
    return t_band(value, error, critical_value(effect, asked.of, asked.level))


def _estimates(effect: Effect, of: str) -> tuple[Floats, Floats, Floats]:
    """Return what intervals are of, standard errors, and degrees of freedom."""
    if of != "bins" or effect.bins is None:
        return effect.value, effect.std_error, effect.freedom
    return effect.bins.effect, effect.bins.std_error, bin_freedom(effect)


def critical_value(effect: Effect, of: str, level: float) -> Floats | float:
    """Return what standard errors are multiplied by for a band that covers all points at once.

    Notes
    -----
    The quantile of the largest studentised error (sup-t), never more than Bonferroni's where the points' errors go
    together in a way that only the kept curves tell (PDP, ICE), and Bonferroni's where these are too few.
    """
    _, error, freedom = _estimates(effect, of)
    at_most = bonferroni(error, freedom, level)
    blocks = blocks_of(effect, of)
    if blocks is None:
        return at_most
    # Where all points move as one it is Student's own value, which simulation must not fall below.
    critical = np.maximum(sup_t(blocks, level), quantile_t(freedom, level))
    return np.minimum(critical, at_most) if effect.spec.local == "none" else critical


# -------------------------------------------------------------------------------------- bootstrap
def _bootstrap(effects: Mapping[str, Effect], asked: Asked) -> dict[str, Ends]:
    """Return intervals from replicates, drawn once for all effects of the same rows."""
    sources = {name: source_of(e, asked.source) for name, e in effects.items()}
    found: dict[str, Floats] = {}
    for name, source in sources.items():
        if isinstance(source, (FromMoments, FromCurves)):
            found[name] = source.replicates(asked.drawn, asked.replicates, asked.seed)
    rows = {k: s for k, s in sources.items() if isinstance(s, (FromRows, Averaged, Fixed))}
    for names in _alike(rows):
        repeated = [rows[name].repeated(asked.drawn) for name in names]
        draws = rows[names[0]].draws
        drawn = replicate(draws, repeated, int(asked.replicates), int(asked.seed), asked.threads)
        found |= dict(zip(names, drawn, strict=True))
    return {name: _from_draws(e, asked, found[name]) for name, e in effects.items()}


def _alike(rows: Mapping[str, FromRows | Averaged | Fixed]) -> list[list[str]]:
    """Group results whose rows are drawn alike."""
    groups: list[list[str]] = []
    for name, source in rows.items():
        for group in groups:
            if rows[group[0]].draws.alike(source.draws):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _from_draws(effect: Effect, asked: Asked, draws: Floats) -> Ends:
    """Return the ends that replicates give, (R, m)."""
    if asked.of == "importance":
        lower, upper = percentiles(draws[:, 0], asked.level)
        return lower, upper
    value, known, freedom = _known(effect, asked.of)
    if asked.simultaneous:
        ends = sup_band(value, np.where(known, draws, np.nan), asked.level, freedom)
    else:
        ends = percentiles(draws, asked.level, freedom)
    return np.where(known, ends[0], np.nan), np.where(known, ends[1], np.nan)


def _known(effect: Effect, of: str) -> tuple[Floats, Bools, Floats]:
    """Return what intervals are of, where there is a variance (a width of zero would be a claim), and its freedom."""
    value, error, freedom = _estimates(effect, of)
    known = ~np.isnan(error)
    if of == "value" and effect.spec.local == "values":
        alone = np.isnan(effect.heterogeneity)  # a bin, or a level, of one row
        known = known & ~alone
    return value, known, freedom


def resampled(effect: Effect, counts: Any, of: Of = "value") -> Floats:
    """Return an effect with its rows counted otherwise: what a bootstrap repeats.

    Parameters
    ----------
    effect : Effect
    counts : array_like of numbers, shape (R, n) or (n,)
        How often each of the n kept rows is there, in the order of ``effect.rows`` (PDP, ICE: ``effect.curves``). These
        take the place of frequency weights; sampling weights they multiply.
    of : {"value", "bins", "importance"}

    Returns
    -------
    ndarray of float, shape (R, m)
        (m,) for counts of shape (n,). NaN where such rows tell nothing: see `results.intervals.replicate.resampler`.

    Raises
    ------
    DataError
        For counts of another shape, that are negative or not finite, or all zero in a replicate.
    UnsupportedError
        Where not all rows are kept, and for figures that the effect does not have.

    Notes
    -----
    What the method gives for rows that are repeated so often, at the same edges (to rounding; differences that a model
    without slopes was asked for keep their steps). No model row.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=4))
    >>> counts = np.random.default_rng(1).multinomial(100, np.full(100, 0.01), size=3)
    >>> e.resampled(counts).shape
    (3, 5)
    """
    _one_of("of", of, ("value", "bins", "importance"))
    _there(effect, of, f"resampled(of={of!r}) of a {effect.spec.method}")
    source = resampler(effect)
    table = _counts(counts, source.draws.rows)
    repeated, step = source.repeated(of), source.draws.block
    parts = [
        repeated(np.ascontiguousarray(table[k : k + step].T)).T for k in range(0, len(table), step)
    ]
    out = np.concatenate(parts) if parts else source.value(source.weight)[None][:0]
    return out[0] if np.ndim(counts) == 1 else out


def _counts(counts: Any, rows: int) -> Floats:
    """Return counts as a table, (R, rows), or refuse them."""
    given = np.asarray(counts)
    number = given.dtype.kind in "iufb"
    if not number or given.ndim not in (1, 2) or given.shape[-1] != rows:
        got = f"shape {given.shape}" if number else repr(counts)[:60]
        fix = "Give one count for each kept row, in the order of e.rows or e.curves"
        expected = f"numbers of shape (R, {rows}) or ({rows},)"
        raise DataError(explained("resampled(counts)", got, expected, fix))
    table = np.atleast_2d(given).astype(float)
    if not np.isfinite(table).all() or (table < 0).any() or not table.any(axis=1).all():
        raise DataError(
            explained(
                "resampled(counts)",
                "counts that are negative, not finite, or all zero",
                "numbers of at least 0, some of them more",
                "Draw them with replacement, for example rng.multinomial(n, np.full(n, 1 / n))",
            )
        )
    return table
