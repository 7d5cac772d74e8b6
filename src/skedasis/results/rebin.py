"""Other bins for an accumulated effect, from what its result keeps: the model is not called.

Slopes belong to points of the axis, so with the rows at hand any bins will do. Differences belong to the cells they
were taken across, and so do moments when the rows are gone: bins are then unions of these cells.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skedasis.binning import (
    EXACT,
    AutoUniform,
    Binning,
    Edges,
    Greedy,
    Optimal,
    Spread,
    Uniform,
    as_binning,
    fitting,
)
from skedasis.cells import Cells
from skedasis.data.summary import Column
from skedasis.errors import UnsupportedError, explained
from skedasis.moments import Moments
from skedasis.results.accumulated import AXIS, LOCAL, accumulate
from skedasis.results.effect import Effect, Rows
from skedasis.results.spec import Spec
from skedasis.typing import Bools, Floats, Ints


def rebinned(effect: Effect, bins: Binning | int) -> Effect:
    """Return an accumulated effect on other bins; see `Effect.rebin`."""
    scheme = as_binning(bins, Uniform)
    spec = replace(effect.spec, parameters={**effect.spec.parameters, "bins": scheme.describe()})
    cells, rows = effect.cells, effect.rows
    if cells is None or len(cells) == 0:
        return effect
    complete = rows is not None and rows.exact
    if spec.pointwise and complete and rows is not None and rows.effect is not None:
        result = _from_rows(effect, bins, scheme, spec, rows, rows.effect)
    else:
        column = (
            _column(effect, rows) if complete and rows is not None else _stand_in(effect, cells)
        )
        result = _from_cells(effect, cells, scheme, spec, column)
    said = {**effect.provenance, **result.provenance, "rebinned": scheme.describe()}
    return result.with_provenance(said)


def _column(effect: Effect, rows: Rows) -> Column:
    return Column(effect.about.feature, rows.x, rows.weight, effect.about.dtype)


def _from_rows(
    effect: Effect, bins: Binning | int, scheme: Binning, spec: Spec, rows: Rows, slopes: Floats
) -> Effect:
    cells = fitting(bins, scheme, _column(effect, rows), spec.local)
    cell = cells.locate(rows.x)
    inside = cell >= 0
    w = None if rows.weight is None else rows.weight[inside]
    local = Moments.of(slopes[inside], cell[inside], len(cells), w)
    axis = Moments.of(rows.x[inside], cell[inside], len(cells), w, like=local)
    largest = float(np.abs(slopes[inside]).max(initial=0.0))
    kept = _chosen(scheme, cells, local, spec, largest)
    spec = replace(spec, closed=cells.closed)
    result = accumulate(cells, {LOCAL: local, AXIS: axis}, kept, spec, effect.about, effect.rows)
    return result.with_provenance({"rows_outside": len(rows) - int(inside.sum())})


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
    moments = {name: m.take(part) for name, m in effect.moments.items()}
    fine = moments[LOCAL].pool(places[:-1])
    kept = places[_chosen(scheme, cells.keep(places), fine, spec, _largest(fine))]
    result = accumulate(cells, moments, kept, spec, effect.about, effect.rows)
    if not moved.any():
        return result
    note = {"exact": False, "approximated": "edges moved to those of the nearest fine cells"}
    return result.with_provenance(note)


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


def _chosen(scheme: Binning, cells: Cells, moments: Moments, spec: Spec, largest: float) -> Ints:
    if len(cells) == 0:
        return np.array([0])
    noise = EXACT if spec.local == "slopes" else Spread.noise
    return scheme.choose(cells, moments, Spread(spec.ddof, spec.weight_kind, largest, noise))
