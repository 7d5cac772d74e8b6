"""From the moments of local effects to an accumulated effect of a numeric feature; selection of its bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.binning import EXACT, Binning, Optimal, Spread
from skedasis.results.build.linear_form import AXIS, LOCAL, Linear, bulge, linear
from skedasis.results.build.step_functions import accumulate_values
from skedasis.results.effect import About, BinStats, Effect, Rows, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells, distinct
from skedasis.stats.moments import Moments

# ------------------------------------------------------------------------------------------
# Bins by a scheme: which edges stay, where slopes change, and edges moved to the very row where rows are at hand.


@dataclass(frozen=True, eq=False)
class Chosen:
    """Bins as unions of cells.

    Parameters
    ----------
    cells : Cells
    moments : mapping of str to Moments
        Of these cells.
    kept : ndarray of int, shape (K + 1,)
        The edges that stay.
    trend : ndarray of bool, shape (K,), optional
        Bins within which slopes change linearly.
    """

    cells: Cells
    moments: Mapping[str, Moments]
    kept: Ints
    trend: Bools | None = None


def spread_of(spec: Spec, largest: float, feature: str = "") -> Spread:
    """Return how scatter is measured for an effect.

    Parameters
    ----------
    spec : Spec
    largest : float
        The largest absolute local effect.
    feature : str
        Named when there is something to warn of.
    """
    noise = EXACT if spec.local in ("slopes", "values") else Spread.noise
    return Spread(spec.ddof, spec.weight_kind, largest, noise, feature)


def chosen_bins(
    scheme: Binning,
    cells: Cells,
    moments: Mapping[str, Moments],
    spec: Spec,
    spread: Spread,
    rows: Rows | None = None,
    planned: Ints | None = None,
    *,
    whole: bool = False,
) -> Chosen:
    """Return the bins that a scheme chooses.

    Parameters
    ----------
    scheme : Binning
    cells : Cells
    moments : mapping of str to Moments
        ``"local"`` and ``"axis"``.
    spec : Spec
    spread : Spread
    rows : Rows, optional
        Where all of them are at hand, edges may move off the cells'.
    planned : ndarray of int, optional
        The cells' edges that the scheme may keep; by default all.
    whole : bool
        Whether local effects are steps between whole numbers, so that bins start and end at these.

    Notes
    -----
    Where an edge moves the cells get one more edge there, and are gathered anew from the rows.
    """
    if len(cells) == 0:
        return Chosen(cells, moments, np.array([0]))
    every = np.arange(len(cells.edges))
    places = every if planned is None else planned
    # Moments by value are not pooled by cell.
    coarse = {k: moments[k] for k in (LOCAL, AXIS)}
    if planned is not None:
        coarse = {k: m.pool(places[:-1]) for k, m in coarse.items()}
    if spec.local in ("slopes", "differences", "integer_steps", "edges"):
        spread = replace(spread, axis=coarse[AXIS])
    found = scheme.segments(cells.keep(places), coarse[LOCAL], spread)
    kept = places[found.kept]
    if isinstance(scheme, Optimal) and spec.pointwise and rows is not None and rows.exact:
        sharp = scheme.sharpened(cells, kept, (rows.x, rows.local, rows.weight), spread)
        if sharp is not None:
            ends = np.ceil(sharp.edges) if whole else sharp.edges
            # The largest whole number takes the difference from the one before: a bin of its own would have no width.
            wide = np.diff(ends) > 0
            ends, trend = ends[np.append(True, wide)], sharp.trend[wide]
            edges = distinct(np.concatenate([cells.edges, ends]))
            finer = Cells(edges, cells.closed)
            return Chosen(finer, _gathered(finer, rows), np.searchsorted(edges, ends), trend)
    return Chosen(cells, moments, kept, found.trend)


def _gathered(cells: Cells, rows: Rows) -> dict[str, Moments]:
    """Return the moments of cells from all rows."""
    if rows.local is None:
        raise TypeError("rows of an accumulated effect have local effects")
    cell = cells.locate(rows.x)
    inside = cell >= 0
    x, effect, w = rows.x, rows.local, rows.weight
    if not inside.all():
        cell, x, effect = cell[inside], x[inside], effect[inside]
        w = None if w is None else w[inside]
    local = Moments.of(effect, cell, len(cells), w)
    return {LOCAL: local, AXIS: Moments.of(x, cell, len(cells), w, like=local)}


# ------------------------------------------------------------------------------------------
# Accumulated effects: from the moments of local effects to ALE, DALE, UALE and RHALE.


def accumulate(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
    trend: Bools | None = None,
    values: Floats | None = None,
) -> Effect:
    """Read an accumulated effect off the moments of local effects.

    Parameters
    ----------
    cells : Cells
        The fine cells.
    moments : mapping of str to Moments
        Per cell: ``"local"`` of the local effects, ``"axis"`` of the feature's values. With `values` also, per value,
        ``"down"``, ``"up"`` and ``"both"`` (see `skedasis.results.build.steps`).
    kept : ndarray of int, shape (K + 1,)
        The edges that stay: bins are unions of cells.
    spec, about, rows
        Carried into the result.
    trend : ndarray of bool, shape (K,), optional
        Bins within which slopes change linearly, where they belong to points.
    values : ndarray of float, shape (L,), optional
        The feature's observed values, where the curve is made of steps between them.

    Returns
    -------
    Effect
    """
    if len(cells) == 0:
        return _constant(cells, moments, spec, about, rows)
    if values is not None:
        return accumulate_values(values, cells, moments, kept, spec, about, rows, trend)
    form = linear(cells, moments, kept, spec, trend)
    bins, pieces = form.bins, form.pieces
    edges, slope = cells.edges[kept], np.where(pieces.known, pieces.slope, 0.0)
    error, freedom = _errors(form, spec)
    stats = _statistics(edges, form, spec)
    spread = ale_math.heterogeneity(stats.widths, stats.std, spec.accumulate)
    seen = _reached(bins.count)
    return Effect(
        points=edges,
        value=np.where(seen, form.matrix @ slope, np.nan),
        heterogeneity=np.where(seen, spread, np.nan),
        std_error=np.where(seen, error, np.nan),
        freedom=freedom,
        importance=_importance(cells, moments[AXIS], kept, form, stats, pointwise=spec.pointwise),
        about=about,
        spec=spec,
        bins=stats,
        rows=rows,
        cells=cells,
        moments=moments,
    )


def _errors(form: Linear, spec: Spec) -> tuple[Floats, Floats]:
    """Return standard errors at the edges (docs/explanation/errors.md) and their degrees of freedom."""
    pieces, between = form.pieces, form.between
    error, freedom = ale_math.std_error(
        form.matrix, pieces.error2, pieces.degrees, pieces.starts, spec.accumulate_se
    )
    if spec.center != "mean":
        return error, freedom
    # The centre is itself a mean over rows, whose places within the bins are random.
    variance = error**2 + between
    with np.errstate(divide="ignore", invalid="ignore"):
        within = error**2 / variance
        together = 1.0 / (within**2 / freedom + (1.0 - within) ** 2 / max(form.size - 1.0, 1.0))
    return np.sqrt(variance), np.where(variance > 0, together, np.inf)


def _statistics(edges: Floats, form: Linear, spec: Spec) -> BinStats:
    """Return the bins' own figures; of unions of cells the mean effect is the rise over the width."""
    pieces, bins = form.pieces, form.bins
    variance = pieces.variance[pieces.starts]
    effect, error2 = pieces.effects()
    if not spec.pointwise:
        effect = np.where(np.isnan(effect), np.nan, np.diff(form.start) / np.diff(edges))
    error = np.where(np.isnan(variance), np.nan, np.sqrt(error2))
    return BinStats.of(
        edges, bins, effect=effect, std=np.sqrt(variance), std_error=error, trend=pieces.trend
    )


def _importance(
    cells: Cells, axis: Moments, kept: Ints, form: Linear, stats: BinStats, *, pointwise: bool
) -> float:
    """Return the standard deviation of the curve over the data; a bent one is cut at the cells' edges."""
    start, pieces = form.start, form.pieces
    if np.any(stats.trend):
        edges = cells.edges[kept[0] : kept[-1] + 1]
        if not pointwise:
            every = np.arange(len(cells.edges))
            rises = ale_math.accumulation(cells.widths, pieces.known, every)
            start = rises @ np.where(pieces.known, pieces.slope, 0.0)
        else:
            start = np.interp(edges, cells.edges[kept], start) + bulge(stats, edges)
        kept = np.arange(kept[0], kept[-1] + 1)
    over = axis.pool(kept[:-1])
    return ale_math.importance(cells.edges[kept], start, over.weight, over.mean, over.m2)


def _reached(count: Floats) -> Bools:
    """Return which edges touch the data: beyond the first and last bins with rows there is no curve."""
    there = np.flatnonzero(count > 0)
    edge = np.arange(len(count) + 1)
    return (edge >= there[0]) & (edge <= there[-1] + 1) if len(there) else edge < 0


def _constant(
    cells: Cells, moments: Mapping[str, Moments], spec: Spec, about: About, rows: Rows | None
) -> Effect:
    """Return the effect of a feature that takes one value: none, at one point."""
    zero = np.zeros(len(cells.edges))
    return Effect(
        cells.edges,
        zero,
        zero,
        zero,
        np.full(len(zero), np.inf),
        0.0,
        about,
        spec,
        bins=BinStats.none(),
        rows=rows,
        cells=cells,
        moments=moments,
    )
