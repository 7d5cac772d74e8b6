"""Bins by a scheme: which edges stay, where slopes change, and edges moved to the very row where rows are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Bools, Ints
from skedasis.binning import EXACT, Binning, Optimal, Spread
from skedasis.results.parts import Rows
from skedasis.results.pieces import AXIS, LOCAL
from skedasis.results.spec import Spec
from skedasis.stats.grid import Cells, distinct
from skedasis.stats.moments import Moments


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
