"""Weighted bootstrap: replicates of effects for many vectors of row weights at once, from kept rows or from moments.

A replicate is a vector of counts: how often each row was drawn. An effect is a function of these counts
(`ReweightedSource`). It follows from the moments of its cells, which are sums over the rows and therefore linear in the
counts (`intervals.moments`), by a statistic (`intervals.statistics`): `FromRows`. If not all rows are kept, the moments
are drawn instead: `FromMoments`. PDP and ICE are weighted means of curves: `MeanOfCurves`, `FromCurves`.

`replicate_source` chooses among these for an effect, `resampler` returns the effect as a function of counts,
`skedasis.stats.resampling.bootstrap` draws the replicates, and `bootstrap_with_rebinning` repeats the selection of bins
in each replicate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.binning import AutoUniform, Binning, Greedy, Optimal
from skedasis.errors import BinningWarning, UnsupportedError, diverted
from skedasis.results.axis import LevelAxis
from skedasis.results.build.accumulated import accumulated_effect, select_bins, variance_options
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.build.rebin import fine_cells
from skedasis.results.effect import (
    AnyMPlot,
    BinnedEffect,
    Curves,
    Effect,
    MPlotEffect,
    PartialDependence,
    Rows,
    ValueStepsEffect,
)
from skedasis.results.intervals.moments import CellRows, MomentDraws, counts_by_cell
from skedasis.results.intervals.statistics import (
    MomentStatistic,
    StatisticName,
    curve_std,
    statistic_of,
    std_over,
)
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import (
    BootstrapDraws,
    DrawnWeights,
    Repeated,
    Reweighted,
    bootstrap_rng,
    draw_in_parts,
    replicate,
)


def check_has_errors(effect: Effect, of: str, otherwise: str = "") -> None:
    """Raise if an effect has a mean only; `otherwise` is appended to what to do."""
    if effect.spec.mean_alone:
        raise UnsupportedError(
            f"{of} of a {effect.spec.method} with heterogeneity=False",
            "only the mean curve",
            "the standard deviation between rows",
            f"Explain again without heterogeneity=False{otherwise}",
        )


# ------------------------------------------------------------------------------------------
# Effects as functions of the counts of their rows.


SourceName = Literal["rows", "moments"]


class ReweightedSource(ABC):
    """An effect that can be computed for any counts of its rows."""

    draws: BootstrapDraws

    @abstractmethod
    def repeated(self, of: StatisticName) -> Repeated:
        """Return the function from counts (n, R) to the statistic (m, R)."""

    def replicated(self, of: StatisticName) -> Reweighted:
        """Return the statistic as a function of counts."""
        return Reweighted(self.draws, self.repeated(of))

    @property
    def weight(self) -> Floats:
        """The weights of the rows in the effect itself, (n,)."""
        w = self.draws.weight
        return np.ones(self.draws.rows) if w is None else w

    @property
    def own_counts(self) -> Floats:
        """The counts of the rows in the effect itself, (n,): frequency weights, or 1 each."""
        return self.weight if self.draws.sampling_weight is None else np.ones(self.draws.rows)

    def value(self, counts: Floats) -> Floats:
        """Return the effect, (m,), for counts of the rows, (n,)."""
        return self.repeated("value")(np.asarray(counts, dtype=float)[:, None])[:, 0]


@dataclass(frozen=True, eq=False)
class FromRows(ReweightedSource):
    """An effect whose replicates are computed from its kept rows."""

    statistic: MomentStatistic
    columns: CellRows
    draws: BootstrapDraws

    @classmethod
    def of(cls, effect: Effect, rows: Rows, local: Floats) -> FromRows:
        """Return the source of an effect with all its rows, and their local effects."""
        statistic, draws = statistic_of(effect), _draws(effect, rows)
        values = statistic.row_values(rows.x, local)
        columns = CellRows(statistic.place(rows.x), statistic.size, values, draws)
        return cls(statistic, columns, draws)

    def repeated(self, of: StatisticName) -> Repeated:
        """Return the function from counts (n, R) to the statistic (m, R)."""
        names, squares = self.statistic.needed(of)
        summed = self.columns.summed(names, squares=squares)
        return lambda counts: self.statistic.evaluate(summed(counts), of)


@dataclass(frozen=True, eq=False)
class ConstantEffect(ReweightedSource):
    """The effect of a feature with one value, which does not depend on the rows."""

    constant: Floats
    draws: BootstrapDraws

    def repeated(self, of: StatisticName) -> Repeated:
        """Return the function from counts (n, R) to the statistic (m, R)."""
        value = self.constant if of == "value" else np.zeros(0 if of == "bins" else 1)
        return lambda counts: np.repeat(value[:, None], counts.shape[1], axis=1)


@dataclass(frozen=True, eq=False)
class MeanOfCurves(ReweightedSource):
    """The weighted mean of ICE curves, for numeric and categorical features; curves may be centred, or slopes."""

    effect: Effect
    curves: Curves
    draws: BootstrapDraws

    def repeated(self, of: StatisticName) -> Repeated:
        """Return the function from counts (n, R) to the statistic (m, R)."""
        row_weight, base, shown = self.draws.sampling_weight, self.weight, self.curves.value
        middle = (base / base.sum()) @ shown

        def value(counts: Floats) -> Floats:
            counts = counts if row_weight is None else row_weight[:, None] * counts
            fraction = counts / counts.sum(axis=0)
            # Differences of weights sum to zero, so a common offset of all curves does not cost precision.
            mean = middle[:, None] + shown.T @ (fraction - (base / base.sum())[:, None])
            return self._importance(mean, counts) if of == "importance" else mean

        return value

    def _importance(self, mean: Floats, counts: Floats) -> Floats:
        e, x = self.effect, self.curves.x
        known = ~np.isnan(x)
        if isinstance(e.axis, LevelAxis):
            axis = counts_by_cell(x[known].astype(np.int64), len(e.axis), counts[known])
            fraction = axis / axis.sum(axis=0)
            return std_over(fraction, mean)[None]
        grid = e.axis.coordinates
        # Beyond the grid the curve is constant: two more pieces with slope zero.
        place = np.searchsorted(grid, x[known], side="right")
        columns = CellRows(
            place, len(grid) + 1, {AXIS: x[known]}, BootstrapDraws(None, "frequency", len(x))
        )
        axis = columns.summed((AXIS,), squares=True)(counts[known])[AXIS]
        curve = np.concatenate([mean[:1], mean, mean[-1:]])
        left = np.concatenate([grid[:1] - 1, grid])
        return curve_std(np.diff(np.append(left, grid[-1] + 1)), left, curve, axis)[None]


# ------------------------------------------------------------------------------------------
# Random draws, for results that keep only some of the rows or curves.


_MOST_NUMBERS = 1_000_000
"""Largest number of cells times replicates that are drawn at once."""


class DrawnSource(ABC):
    """An effect whose replicates are drawn at random."""

    @abstractmethod
    def replicates(self, of: StatisticName, replicates: int, seed: int) -> Floats:
        """Return replicates of the statistic, (R, m)."""

    def replicated(self, of: StatisticName) -> DrawnWeights:
        """Return the statistic as random draws."""
        return lambda replicates, seed: self.replicates(of, replicates, seed)


@dataclass(frozen=True, eq=False)
class FromMoments(DrawnSource):
    """An effect whose replicates are drawn from the moments of its cells; see `MomentDraws`.

    Notes
    -----
    The steps down and up of a level are drawn jointly, with their covariance. Moments of the feature are independent of
    those of the local effects, except in bins whose slope changes linearly: there the local effects follow the drawn
    positions along the line.
    """

    statistic: MomentStatistic
    moments: Mapping[str, Moments]
    kind: WeightKind

    def replicates(self, of: StatisticName, replicates: int, seed: int) -> Floats:
        """Return replicates of the statistic, (R, m)."""
        names, squares = self.statistic.needed(of)

        def evaluate(moments: Mapping[str, Moments]) -> Floats:
            return self.statistic.evaluate(moments, of)

        return self.evaluated(evaluate, names, replicates, seed, squares=squares)

    def evaluated(
        self,
        evaluate: Callable[[Mapping[str, Moments]], Floats],
        names: tuple[str, ...],
        replicates: int,
        seed: int,
        *,
        squares: bool,
    ) -> Floats:
        """Return replicates, (R, m), of a function from drawn moments with these names to (m, R)."""
        rng = bootstrap_rng(seed)
        step = max(1, _MOST_NUMBERS // max(len(self.moments[names[0]].weight), 1))

        def draw(size: int) -> Floats:
            return evaluate(self.drawn(rng, size, names, squares=squares)).T

        return draw_in_parts(replicates, step, draw)

    def drawn(
        self, rng: np.random.Generator, replicates: int, names: tuple[str, ...], *, squares: bool
    ) -> dict[str, Moments]:
        """Return drawn moments, (P, R)."""
        own = self.moments
        draws = MomentDraws.of(own[names[0]], rng, replicates, self.kind, squares=squares)
        return self.statistic.drawn(own, draws, names)


@dataclass(frozen=True, eq=False)
class FromCurves(DrawnSource):
    """A partial dependence with a sample of its curves.

    Notes
    -----
    Replicates are normal around the effect, with its standard errors, and with the sample curves' correlation between
    points.
    """

    effect: Effect
    curves: Curves

    least: ClassVar[int] = 30
    """Smallest number of curves for a correlation between points."""

    def replicates(self, of: StatisticName, replicates: int, seed: int) -> Floats:
        """Return replicates of the statistic, (R, m)."""
        if of != "value":
            raise UnsupportedError(
                f"bootstrap of the {of} of {self.effect.spec.method}",
                "a result that keeps a part of the curves",
                "all curves",
                "Explain with a larger keep_rows=, for PDP with ice='all'",
            )
        e, rng = self.effect, bootstrap_rng(seed)
        factor = correlation_factor(self.curves)
        z = rng.standard_normal((replicates, factor.shape[1])) @ factor.T
        shrunk = np.sqrt(e.df / (e.df + 1.0))  # a bootstrap's variance divides by n
        return e.value + z * shrunk * e.std_error


def correlation_factor(curves: Curves) -> Floats:
    """Return F (m, r) such that F F' is the correlation between the points of curves; zeros for constant points."""
    w = np.ones(len(curves)) if curves.weight is None else curves.weight
    deviation = curves.value - (w / w.sum()) @ curves.value
    scale = np.abs(deviation).max(axis=0, initial=0.0)
    deviation = deviation / np.where(scale > 0, scale, 1.0) * np.sqrt(w)[:, None]
    factor = deviation.T
    if len(deviation) > deviation.shape[1]:
        roots, vectors = np.linalg.eigh(deviation.T @ deviation)
        factor = vectors * np.sqrt(np.maximum(roots, 0.0))
    norm = np.sqrt((factor**2).sum(axis=1))
    return factor / np.where(norm > 0, norm, 1.0)[:, None]


# ------------------------------------------------------------------------------------------
# Choice of the source: kept rows, or moments.


ReplicateSource: TypeAlias = ReweightedSource | DrawnSource
"""What the replicates of an effect are computed from."""


def replicate_source(effect: Effect, wanted: SourceName | None = None) -> ReplicateSource:
    """Return the source of an effect's bootstrap replicates."""
    if isinstance(effect, PartialDependence):
        return _curve_source(effect, wanted)
    if _is_fixed(effect):
        rows = 1 if effect.rows is None else max(len(effect.rows), 1)
        return ConstantEffect(effect.value, BootstrapDraws(None, "frequency", rows))
    kept = effect.rows
    if kept is not None and kept.exact and wanted != "moments" and kept.effect is not None:
        return FromRows.of(effect, kept, kept.effect)
    if wanted == "rows":
        raise _not_kept(effect, "remove source=")
    statistic = statistic_of(effect)
    return FromMoments(statistic, statistic.own_moments(), effect.spec.weight_kind)


def resampler(effect: Effect) -> ReweightedSource:
    """Return an effect as a function of the counts of its rows, with fixed bins, grid or levels.

    Notes
    -----
    Needs no model rows. A draw may have no rows in some bin or level. Values that are then unknown are NaN in that
    draw, and the interval is computed from the other draws:

    - in an M-plot, the value of that bin or level;
    - in an accumulated effect, values outside the first and last bins with rows; for levels, outside the first and last
      steps with rows (a step has rows unless both of its levels have none). Bins without rows in between are bridged
      like bins that are empty in the data. An effect that starts at zero on the left is unknown in a draw without rows
      in its first bin or step.

    With few rows, bootstrap intervals are too narrow, and a bin with a single row has no variance in it. See
    `BinStats.trusted` and `LevelStats.count`.
    """
    found = replicate_source(effect, "rows" if isinstance(effect, PartialDependence) else None)
    if not isinstance(found, ReweightedSource):
        raise _not_kept(effect, "use interval(method='bootstrap'), which can draw from moments")
    return found


def _not_kept(effect: Effect, otherwise: str) -> UnsupportedError:
    return UnsupportedError(
        f"bootstrap of {effect.spec.method}",
        "a result that keeps a part of the rows",
        "all rows",
        f"Explain with a larger keep_rows=, for PDP with ice='all'; or {otherwise}",
    )


def _is_fixed(effect: Effect) -> bool:
    """Return whether the effect is zero for any rows: for a constant feature, or a single level."""
    if isinstance(effect, AnyMPlot):
        return False
    return len(effect.axis) < 2 or (isinstance(effect, BinnedEffect) and len(effect.cells) == 0)


def _draws(effect: Effect, kept: Rows | Curves) -> BootstrapDraws:
    return BootstrapDraws(kept.weight, effect.spec.weight_kind, len(kept))


def _curve_source(
    effect: PartialDependence, wanted: SourceName | None
) -> MeanOfCurves | FromCurves:
    curves = effect.curves
    if curves is not None and curves.exact and wanted != "moments":
        return MeanOfCurves(effect, curves, _draws(effect, curves))
    if wanted == "rows" or curves is None or len(curves) < FromCurves.least:
        raise _not_kept(effect, "use method='analytic'")
    return FromCurves(effect, curves)


# ------------------------------------------------------------------------------------------
# Bootstrap that repeats the selection of bins in each replicate.


_CHOOSING: dict[str, type[AutoUniform | Greedy | Optimal]] = {
    kind.__name__: kind for kind in (AutoUniform, Greedy, Optimal)
}
"""The schemes that choose bins by the local effects, by their names in `Spec.parameters`."""


def binned_by(effect: Effect) -> tuple[BinnedEffect, Binning]:
    """Return the effect, and the binning scheme that chose its bins."""
    described = effect.spec.parameters.get("bins")
    if effect.spec.on_cells or isinstance(effect, ValueStepsEffect):
        raise UnsupportedError(
            f"interval(bins='chosen') of {effect.spec.method}",
            "a curve of differences, which does not depend on the bins",
            "an effect computed from slopes",
            "Use bins='fixed'",
        )
    if isinstance(described, dict) and isinstance(effect, BinnedEffect) and len(effect.cells):
        kind = _CHOOSING.get(str(described.get("scheme")))
        settings = {k: v for k, v in described.items() if k != "scheme"}
        if kind is not None:
            return effect, kind(**settings)
    levels = isinstance(effect.axis, LevelAxis)
    got = "levels" if levels else "bins that are not chosen by local effects"
    raise UnsupportedError(
        f"interval(bins='chosen') of {effect.spec.method}",
        got,
        "a numeric feature and bins by Optimal, Greedy or AutoUniform",
        "Use bins='fixed'",
    )


def bootstrap_with_rebinning(effect: Effect, replicates: int, seed: int) -> Floats:
    """Return replicates of the effect at its points, (R, m), with bins chosen separately in each replicate.

    Notes
    -----
    Candidate edges are fixed. Edges that the penalized likelihood moved to a row are not moved again. Between the edges
    of a replicate, its curve is interpolated as for any effect with these bins. Cost: one selection of bins per
    replicate.
    """
    effect, scheme = binned_by(effect)
    cells, places = fine_cells(effect, effect.cells, scheme)
    parts = slice(int(places[0]), int(places[-1]))
    own = {k: m.take(parts) for k, m in effect.moments.items()}
    cells, places = Cells(cells.edges[places[0] : places[-1] + 1], cells.closed), places - places[0]
    rows, largest = effect.rows, 0.0
    if rows is not None and rows.local is not None:
        largest = float(np.abs(rows.local).max(initial=0.0))
    read = _RebinnedEffect(effect, scheme, cells, places, largest)
    names = (LOCAL, AXIS)
    with diverted({BinningWarning: lambda _: None}):
        if rows is not None and rows.exact and rows.effect is not None:
            draws = _draws(effect, rows)
            values = {LOCAL: rows.effect, AXIS: rows.x}
            columns = CellRows(cells.locate(rows.x), len(cells), values, draws)
            summed = columns.summed(names, squares=True)
            return replicate(draws, [lambda counts: read(summed(counts))], replicates, seed)[0]
        rng, kind = bootstrap_rng(seed), effect.spec.weight_kind

        def draw(size: int) -> Floats:
            draws = MomentDraws.of(own[LOCAL], rng, size, kind, squares=True)
            return read({name: draws.cells(own[name]) for name in names}).T

        return draw_in_parts(replicates, 100, draw)


@dataclass(frozen=True, eq=False)
class _RebinnedEffect:
    """Function from moments of fine cells, (P, R), to the effect at its points, (m, R), with newly chosen bins."""

    effect: BinnedEffect
    scheme: Binning
    cells: Cells
    places: Ints
    largest: float

    def __call__(self, moments: dict[str, Moments]) -> Floats:
        count = moments[LOCAL].weight.shape[1]
        columns = [self._one({k: _column(m, r) for k, m in moments.items()}) for r in range(count)]
        return np.stack(columns, axis=1)

    def _one(self, moments: dict[str, Moments]) -> Floats:
        e, options = self.effect, variance_options(self.effect.spec, self.largest)
        found = select_bins(self.scheme, self.cells, moments, e.spec, options, planned=self.places)
        if isinstance(e, MPlotEffect):
            bins = moments[LOCAL].pool(found.kept[:-1])
            return self._means(bins, self.cells.merge(found.kept))
        curve = accumulated_effect(
            self.cells, moments, found.kept, e.spec, e.about, None, found.trend
        )
        return curve.at(e.points)

    def _means(self, bins: Moments, cells: Cells) -> Floats:
        """Return the mean of the bin of each of the effect's points."""
        value = np.where(bins.weight > 0, bins.mean, np.nan)
        if self.effect.spec.center == "mean":
            value = value - np.average(bins.mean, weights=bins.weight)
        place = cells.locate(self.effect.points)
        return np.where(place >= 0, value[place], np.nan)


def _column(moments: Moments, r: int) -> Moments:
    return Moments(**{k: a[:, r] for k, a in moments.arrays().items()})
