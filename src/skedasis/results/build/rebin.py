"""Other bins for an effect, from the statistics and rows that it keeps.

Slopes, and the values of an M-plot, belong to points of the axis, so with the rows at hand any bins will do.
Differences belong to the cells they were taken across, and so do moments when the rows are gone: bins are then unions
of these cells. Steps between levels can be grouped into runs, where the feature has an order of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.binning import (
    AutoUniform,
    Binning,
    Edges,
    Greedy,
    Optimal,
    Quantile,
    Uniform,
    as_binning,
    fitting,
)
from skedasis.data.column_stats import Column
from skedasis.errors import UnsupportedError, explained
from skedasis.results.build.accumulated import Chosen, accumulate, chosen_bins, spread_of
from skedasis.results.build.categorical import accumulate_levels, grouped
from skedasis.results.build.linear_form import AXIS, LOCAL, RISE
from skedasis.results.build.pdp import marginal
from skedasis.results.build.step_functions import chosen_for_reading, read_in_bins
from skedasis.results.build.steps import BOTH, DOWN, UP, Steps, step_moments
from skedasis.results.effect import Effect, LevelStats, Rows, Spec
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments


def rebinned(effect: Effect, bins: Binning | int) -> Effect:
    """Return an effect on other bins; see `Effect.rebin`.

    Parameters
    ----------
    effect : Effect
    bins : Binning or int
        An integer means `Uniform` bins, in an M-plot `Quantile` ones. An ordinal feature takes `Optimal` or `Greedy`,
        which group its steps.

    Raises
    ------
    UnsupportedError
        For results without bins, steps of a nominal feature, and cells that would have to be cut.
    """
    if effect.levels is not None:
        found = _regrouped(effect, effect.levels, bins)
    elif effect.cells is None or effect.bins is None:
        raise _without_bins(effect)
    elif len(effect.cells) == 0:
        return effect
    else:
        found = _recut(effect, effect.cells, bins)
    return replace(found, swap_score=effect.swap_score)  # it rests on no bins


def _without_bins(effect: Effect) -> UnsupportedError:
    fix = "Choose another grid and explain again"
    return UnsupportedError(
        explained(
            f"rebin of a {effect.spec.method}",
            "a result without bins",
            "ALE, DALE, UALE, RHALE or MPlot",
            "Use the levels as they are" if effect.levels is not None else fix,
        )
    )


def _recut(effect: Effect, cells: Cells, bins: Binning | int) -> Effect:
    """Return the effect of a numeric feature on other bins."""
    values = effect.spec.local == "values"
    scheme = as_binning(bins, Quantile if values else Uniform)
    if values and isinstance(scheme, Edges) and scheme.closed is None:
        scheme = bins = replace(scheme, closed="right")  # as `MPlot` and `ALE` read them
    spec, rows = _with_bins(effect.spec, scheme), effect.rows
    complete = rows is not None and rows.exact
    if spec.on_cells:
        result = _reread(effect, cells, scheme, spec)
    elif spec.pointwise and complete and rows is not None and rows.local is not None:
        result = _from_rows(effect, bins, scheme, spec, rows, rows.local)
    else:
        column = (
            _column(effect, rows) if complete and rows is not None else _stand_in(effect, cells)
        )
        result = _from_cells(effect, cells, scheme, spec, column)
    said = {**effect.provenance, **result.provenance, "rebinned": scheme.describe()}
    return _with_missing(effect, result).with_provenance(said)


def _with_bins(spec: Spec, scheme: Binning) -> Spec:
    return replace(spec, parameters={**spec.parameters, "bins": scheme.describe()})


def _regrouped(effect: Effect, levels: LevelStats, bins: Binning | int) -> Effect:
    """Return the effect of an ordinal feature, its steps grouped into other runs."""
    if effect.bins is None:
        raise _without_bins(effect)
    what = f"rebin of the {effect.spec.method} of {effect.feature!r}"
    if effect.about.feature.kind != "ordinal":
        raise UnsupportedError(
            explained(
                what,
                "levels without an order of their own",
                "a numeric or an ordinal feature",
                "Every step is a bin already; if the levels have an order, declare them: "
                f'sd.Feature({effect.feature!r}, "ordinal", levels=[...])',
            )
        )
    scheme = as_binning(bins, Uniform)
    if not isinstance(scheme, (Optimal, Greedy)):
        raise UnsupportedError(
            explained(
                what,
                f"{type(scheme).__name__}, whose bins lie on an axis",
                "Optimal or Greedy, which group levels",
                "Write for example e.rebin(sd.Optimal(alpha=0.5))",
            )
        )
    spec, pooled, rows = (
        _with_bins(effect.spec, scheme),
        Steps.of(effect.moments).pooled,
        effect.rows,
    )
    runs = np.arange(len(levels))
    if len(levels) > 1:
        runs = grouped(scheme, pooled, spec, _largest_step(rows, pooled), effect.about)
    result = accumulate_levels(levels, effect.moments, runs, spec, effect.about, rows)
    said = {**effect.provenance, "rebinned": scheme.describe()}
    return _with_missing(effect, result).with_provenance(said)


def _largest_step(rows: Rows | None, pooled: Moments) -> float:
    """Return the largest step of a row, from the rows if all are there."""
    if rows is None or rows.effect is None or not rows.exact:
        return _largest(pooled)
    return float(np.nanmax(np.abs(rows.effect), initial=0.0))


def _column(effect: Effect, rows: Rows) -> Column:
    return Column(effect.about.feature, rows.x, rows.weight, effect.about.dtype)


def _from_rows(
    effect: Effect, bins: Binning | int, scheme: Binning, spec: Spec, rows: Rows, local: Floats
) -> Effect:
    cells = fitting(bins, scheme, _column(effect, rows), spec.local)
    cell = cells.locate(rows.x)
    inside = cell >= 0
    w = None if rows.weight is None else rows.weight[inside]
    gathered = Moments.of(local[inside], cell[inside], len(cells), w)
    axis = Moments.of(rows.x[inside], cell[inside], len(cells), w, like=gathered)
    largest = float(np.abs(local[inside]).max(initial=0.0))
    spec = replace(spec, closed=cells.closed)
    moments = {LOCAL: gathered, AXIS: axis, **_by_value(effect, rows, inside)}
    whole = spec.local == "integer_steps"
    spread = spread_of(spec, largest)
    found = chosen_bins(scheme, cells, moments, spec, spread, rows, whole=whole)
    result = _read(effect, found, spec)
    # Rows beyond the first edges were not kept: they stay outside.
    outside = effect.provenance.get("rows_outside", 0) + len(rows) - int(inside.sum())
    return result.with_provenance({"rows_outside": outside})


def _by_value(effect: Effect, rows: Rows, inside: Bools) -> dict[str, Moments]:
    """Return the moments of the steps between values, of the rows that the bins hold."""
    if effect.values is None or rows.effect is None or inside.all():
        return {k: m for k, m in effect.moments.items() if k in (UP, DOWN, BOTH)}
    place, size = np.searchsorted(effect.values, rows.x[inside]), len(effect.values)
    down, up = np.nan_to_num(rows.effect[inside]).T
    w = None if rows.weight is None else rows.weight[inside]
    return step_moments(down, up, place, size, w)


def _read(effect: Effect, found: Chosen, spec: Spec) -> Effect:
    """Return the effect that the moments of cells give: means of the values, or slopes accumulated."""
    about, rows = effect.about, effect.rows
    if spec.local == "values":
        return marginal(found.cells, found.moments, found.kept, spec, about, rows)
    moments = {**effect.moments, **found.moments}
    return accumulate(
        found.cells, moments, found.kept, spec, about, rows, found.trend, effect.values
    )


def _with_missing(before: Effect, after: Effect) -> Effect:
    """Carry the point of missing values over; on the scale of a curve that is not centred it moves with the curve."""
    point, spec = before.missing_point, after.spec
    if point is None:
        return after
    if spec.local == "values":
        old, new = (_mean(m.mean, m) for m in (before.moments[LOCAL], after.moments[LOCAL]))
        effect = point.effect + old - new  # rows beyond the new edges are no longer compared with
        value = effect if spec.center == "mean" else point.effect + old
        return replace(after, missing_point=replace(point, effect=effect, value=value))
    if spec.center == "mean" or after.levels is not None:
        return replace(after, missing_point=point)
    axis = after.moments[AXIS]
    level = _mean(after.at(np.clip(axis.mean, after.points[0], after.points[-1])), axis)
    return replace(after, missing_point=replace(point, value=point.effect + level))


def _mean(values: Floats, moments: Moments) -> float:
    """Return the mean over all cells that have rows; NaN if none has."""
    there = moments.weight > 0
    return (
        float(np.average(values[there], weights=moments.weight[there])) if there.any() else np.nan
    )


def _from_cells(
    effect: Effect, cells: Cells, scheme: Binning, spec: Spec, column: Column
) -> Effect:
    """Choose among the existing edges: exact where the scheme's are among them."""
    differences = not spec.pointwise
    if differences and isinstance(scheme, (Optimal, Greedy)):
        places, moved = np.arange(len(cells.edges)), np.zeros(1, dtype=bool)
    else:
        wanted = scheme.candidates(column).edges
        if not isinstance(scheme, Edges):
            # All other schemes reach from the smallest to the largest value, whatever stands in for the column.
            wanted = np.concatenate([cells.edges[:1], wanted[1:-1], cells.edges[-1:]])
        places, moved = _nearest(cells, wanted)
    if differences and moved.any() and not isinstance(scheme, AutoUniform):
        raise UnsupportedError(
            explained(
                f"rebin of a {spec.method}",
                f"{int(moved.sum())} edges that cut its cells",
                "unions of its cells: each local effect is a difference across one of them",
                "Explain again with these bins, or give a part of e.cells.edges as sd.Edges",
            )
        )
    part = slice(places[0], places[-1])
    cells, places = Cells(cells.edges[places[0] : places[-1] + 1], cells.closed), places - places[0]
    moments = {name: effect.moments[name].take(part) for name in (LOCAL, AXIS)}
    fine = moments[LOCAL].pool(places[:-1])
    spread = spread_of(spec, _largest(fine))
    result = _read(effect, chosen_bins(scheme, cells, moments, spec, spread, None, places), spec)
    if not moved.any():
        return result
    note = {"exact": False, "approximated": "edges moved to those of the nearest fine cells"}
    return result.with_provenance(note)


def _reread(effect: Effect, cells: Cells, scheme: Binning, spec: Spec) -> Effect:
    """Return other bins, unions of the cells, for a curve that is given at the edges of all cells."""
    if scheme.by_risk:
        kept = chosen_for_reading(_centred(effect, cells), effect.swap_score)
    elif isinstance(scheme, (Optimal, Greedy)):
        fine = effect.moments[LOCAL]
        kept = scheme.choose(cells, fine, spread_of(spec, _largest(fine)))
    else:
        wanted = scheme.candidates(_stand_in(effect, cells)).edges
        kept, moved = _nearest(cells, wanted)
        if moved.any() or kept[0] != 0 or kept[-1] != len(cells):
            raise UnsupportedError(
                explained(
                    f"rebin of a {spec.method}",
                    "edges that are not a subset of e.cells.edges, or miss its first or last one",
                    "unions of its cells, because each local effect is a difference across one of them",
                    "Explain again with these bins, or pass such a subset as sd.Edges",
                )
            )
    stats, rises = effect.bins, None
    same = stats is not None and np.array_equal(cells.edges[kept], stats.edges)
    if same:
        rises = effect.moments.get(RISE, effect.moments[LOCAL])
    elif len(kept) == len(cells.edges):
        rises = effect.moments[LOCAL]
    plain = {k: m for k, m in effect.moments.items() if k != RISE}
    result = read_in_bins(replace(effect, spec=spec, moments=plain), kept, rises)
    if rises is not None:
        return result
    bins = ", ".join(f"{z:.6g}" for z in cells.edges[kept])
    note = (
        "The rows' rises across these bins are not known, so that std and heterogeneity are NaN. To compute them, "
        f"explain again with bins=sd.Edges([{bins}])."
    )
    return replace(result, rows=_without_rises(result.rows)).with_provenance(
        {"rebinned_note": note}
    )


def _centred(effect: Effect, cells: Cells) -> Effect:
    """Return the curve on all cells, centred by its mean, from which `explain` chose the bins."""
    spec, every = replace(effect.spec, center="mean"), np.arange(len(cells.edges))
    return accumulate(cells, effect.moments, every, spec, effect.about, None, values=effect.values)


def _without_rises(rows: Rows | None) -> Rows | None:
    return None if rows is None else replace(rows, across=None)


def _nearest(cells: Cells, wanted: Floats) -> tuple[Ints, Bools]:
    """Return the places of the nearest edges, and which of those wanted are not there."""
    edges = cells.edges
    right = np.clip(np.searchsorted(edges, wanted), 1, len(edges) - 1)
    left_is_nearer = wanted - edges[right - 1] <= edges[right] - wanted
    places = np.where(left_is_nearer, right - 1, right)
    # Rounding may differ where the same edge was computed in two ways; nothing lies between.
    moved = np.abs(edges[places] - wanted) > 1e-12 * np.maximum(
        np.abs(wanted), edges[-1] - edges[0]
    )
    places = np.unique(places)
    return (places, moved) if len(places) > 1 else (np.array([0, len(cells)]), moved)


def _stand_in(effect: Effect, cells: Cells) -> Column:
    """Return a column of the cells' means, with their ends: all that is left of the rows."""
    axis = effect.moments[AXIS]
    there = axis.weight > 0
    x = np.concatenate([cells.edges[:1], axis.mean[there], cells.edges[-1:]])
    tiny = np.finfo(float).tiny
    weight = np.concatenate([[tiny], axis.weight[there], [tiny]])
    return Column(effect.about.feature, x, weight, effect.about.dtype)


def _largest(fine: Moments) -> float:
    """Return a size of the local effects that sets what counts as a tie, when the effects themselves are gone."""
    sized = np.maximum(fine.weight, np.finfo(float).tiny)
    return float(np.sqrt((fine.mean**2 + fine.m2 / sized).max(initial=0.0)))


def fine_cells(effect: Effect, cells: Cells, scheme: Binning) -> tuple[Cells, Ints]:
    """Return an effect's cells, and which of their edges a scheme chooses among."""
    if not effect.spec.pointwise and isinstance(scheme, (Optimal, Greedy)):
        return cells, np.arange(len(cells.edges))
    rows = effect.rows
    whole = rows is not None and rows.exact
    column = _column(effect, rows) if whole and rows is not None else _stand_in(effect, cells)
    return cells, _nearest(cells, scheme.candidates(column).edges)[0]
