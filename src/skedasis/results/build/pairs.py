"""Accumulated surfaces of two features (ALE, DALE): second-order effects from double differences (ale_vs_pdp 6.2.1.2).

Numeric and categorical features use the same algebra. A side has nodes (edges or levels) with cells between them, and
homes, the bins or levels that rows belong to. `PairAxis.node_to_home_matrix` and `PairAxis.home_to_cell_matrix` are the
two matrices in which the kinds of features differ. The surface is linear in the double differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.binning import Binning, Uniform, as_binning
from skedasis.data.column_stats import Column
from skedasis.errors import UnsupportedError
from skedasis.results.axis import BinPairAxis, LevelPairAxis, NumericPairAxis, PairAxis
from skedasis.results.effect import About, Spec
from skedasis.results.provenance import as_provenance, rows_outside
from skedasis.results.surface import AccumulatedSurface, CellStats, PairRows, Surface
from skedasis.stats.ale_math import accumulation_matrix
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

CELL, HOME, MAIN0, MAIN1, JOINT = "cell", "home", "main0", "main1", "joint"
"""Keys of moments.

- `CELL`, shape (K0, K1): of the double differences in each cell.
- `HOME`, shape (h0, h1): of the rows in each pair of homes.
- `MAIN0`, `MAIN1`: of the differences along each feature, in the cells of that feature.
- `JOINT`, shape (q (q + 1) / 2, h0, h1), if rows belong to several cells: of each of a row's double differences, and of
  the sum of each two of them, which gives their covariance.
"""


def accumulated_surface(
    sides: tuple[PairAxis, PairAxis],
    moments: Mapping[str, Moments],
    spec: Spec,
    abouts: tuple[About, About],
    rows: PairRows | None,
    *,
    fill: bool = True,
) -> AccumulatedSurface:
    """Build the second-order effect of two features from the moments of their cells."""
    cell = moments[CELL]
    empty = cell.weight == 0
    delta = np.where(empty, 0.0, cell.mean)
    if fill and empty.any() and not empty.all():
        delta = fill_empty_cells(delta, empty, sides[0].centres(), sides[1].centres())
    value = second_order(delta, moments[HOME].weight, sides)
    std = np.sqrt(cell.variance(spec.ddof, spec.weight_kind))
    return AccumulatedSurface(
        points=(sides[0].nodes, sides[1].nodes),
        value=value,
        heterogeneity=_rms_of_adjacent_cells(std, cell.weight, value.shape),
        sides=sides,
        abouts=abouts,
        spec=spec,
        cells=CellStats(
            cell.count.astype(int),
            cell.weight,
            np.where(empty, np.nan, cell.mean),
            std,
            empty,
            std_error=cell.mean_error(1, spec.weight_kind),
        ),
        main=_main_effects(moments, sides),
        rows=rows,
        moments=moments,
        provenance=as_provenance({"empty_cells": "nearest" if fill else "left empty"}),
    )


def fill_empty_cells(delta: Floats, empty: Bools, centres0: Floats, centres1: Floats) -> Floats:
    """Return the cells' values, (K0, K1), with empty cells filled from the nearest non-empty cell; ties take the mean.

    The centres, (K0,) and (K1,), are fractions of the ranges.
    """
    known = np.where(empty, 0.0, delta).ravel()
    return (filling_matrix(empty, centres0, centres1) @ known).reshape(delta.shape)


def filling_matrix(empty: Bools, centres0: Floats, centres1: Floats) -> Any:
    """Return the sparse matrix (K0 K1, K0 K1) that fills empty cells from their nearest non-empty cells."""
    from scipy.sparse import csr_array, eye_array
    from scipy.spatial import KDTree

    if not empty.any():
        return eye_array(empty.size, format="csr")
    known, missing = np.argwhere(~empty), np.argwhere(empty)
    tree = KDTree(np.stack([centres0[known[:, 0]], centres1[known[:, 1]]], axis=1))
    centres = np.stack([centres0[missing[:, 0]], centres1[missing[:, 1]]], axis=1)
    distance, _ = tree.query(centres)
    # With the tolerance, rounding does not decide between equidistant cells.
    nearest = tree.query_ball_point(centres, np.asarray(distance) * (1 + 1e-9))
    donors, recipients = np.flatnonzero(~empty), np.flatnonzero(empty)
    size = np.array([len(n) for n in nearest], dtype=np.int64)
    chosen = np.concatenate([np.sort(n) for n in nearest]).astype(np.int64)
    row = np.concatenate([donors, np.repeat(recipients, size)])
    column = np.concatenate([donors, donors[chosen]])
    factor = np.concatenate([np.ones(len(donors)), np.repeat(1.0 / size, size)])
    return csr_array((factor, (row, column)), shape=(empty.size, empty.size))


def homes_with_rows(shown: Surface) -> Bools | None:
    """Return whether each pair of homes contains a row, (h0, h1); None if it is unknown."""
    if HOME in shown.moments:
        return shown.moments[HOME].count > 0
    # The mean over several models has no moments. For numeric features homes and cells are the same.
    if any(isinstance(s, LevelPairAxis) or s.n_nodes == 1 for s in shown.sides):
        return None
    return shown.support


def corners_with_rows(shown: Surface) -> Bools | None:
    """Return whether each node is a corner of a home that contains a row, (m0, m1); None if it is unknown.

    The values at the other nodes come from filled cells only.
    """
    has_rows = homes_with_rows(shown)
    if has_rows is None:
        return None
    first, second = ((s.node_to_home_matrix() > 0).astype(float) for s in shown.sides)
    return first.T @ has_rows.astype(float) @ second > 0


def cells_of_homes(sides: tuple[PairAxis, PairAxis]) -> Ints:
    """Return the indices of the cells to which the rows of each pair of homes belong, (q, h0 h1); -1 for no cell."""
    k, m = sides[0].n_nodes - 1, sides[1].n_nodes - 1
    h0, h1 = np.arange(sides[0].n_homes)[:, None], np.arange(sides[1].n_homes)
    cells: list[Ints] = []
    for c0 in sides[0].cell_offsets:
        for c1 in sides[1].cell_offsets:
            i, j = h0 + c0, h1 + c1
            valid = (i >= 0) & (i < k) & (j >= 0) & (j < m)
            cells.append(np.where(valid, i * m + j, -1).ravel())
    return np.array(cells, dtype=np.int64).reshape(len(cells), sides[0].n_homes * sides[1].n_homes)


def second_order(delta: Floats, weight: Floats, sides: tuple[PairAxis, PairAxis]) -> Floats:
    """Accumulate double differences over both axes (Eq. 6.4), and subtract the main effects (6.6) and the mean (6.7).

    From the cells' mean double differences, (..., K0, K1), and the weights of the rows in each pair of homes, (h0, h1)
    or (..., h0, h1), to one surface, (m0, m1), for each entry of the leading axes.
    """
    total = np.zeros((*delta.shape[:-2], sides[0].n_nodes, sides[1].n_nodes))
    total[..., 1:, 1:] = np.cumsum(np.cumsum(delta, axis=-2), axis=-1)
    first = _main_effect_of(total, weight, *sides)
    second = _main_effect_of(total.swapaxes(-1, -2), weight.swapaxes(-1, -2), sides[1], sides[0])
    total = total - first[..., :, None] - second[..., None, :]
    at_homes = sides[0].node_to_home_matrix() @ total @ sides[1].node_to_home_matrix().T
    mean = (weight * at_homes).sum(axis=(-2, -1)) / weight.sum(axis=(-2, -1))
    return total - mean[..., None, None]


def home_weights_in_cells(weight: Floats, own: PairAxis) -> Floats:
    """Return the weights of the other feature's homes in each cell of one feature: (..., K, h) from (..., h0, h1)."""
    weight_in_cell = own.home_to_cell_matrix() @ weight
    # A cell without rows uses the weights of all rows.
    return np.where(
        weight_in_cell.sum(axis=-1, keepdims=True) > 0,
        weight_in_cell,
        weight.sum(axis=-2)[..., None, :],
    )


def _main_effect_of(total: Floats, weight: Floats, own: PairAxis, other: PairAxis) -> Floats:
    """Return the main effect along the first axis of accumulated surfaces (ale_vs_pdp Eq. 6.6), at its nodes."""
    difference = np.diff(total, axis=-2) @ other.node_to_home_matrix().T
    weights = home_weights_in_cells(weight, own)
    step = (weights * difference).sum(axis=-1) / weights.sum(axis=-1)
    main = np.zeros((*step.shape[:-1], own.n_nodes))
    main[..., 1:] = np.cumsum(step, axis=-1)
    return main


def _main_effects(
    moments: Mapping[str, Moments], sides: tuple[PairAxis, PairAxis]
) -> tuple[Floats, Floats] | None:
    """Return the main effects of the two features at the nodes, centred as one-dimensional effects; None if unknown."""
    if MAIN0 not in moments:
        return None
    curves: list[Floats] = []
    for axis, (side, name) in enumerate(zip(sides, (MAIN0, MAIN1), strict=True)):
        if len(moments[name].weight) == 0:
            curves.append(np.zeros(1))
            continue
        widths, known = np.diff(side.node_coordinates), moments[name].weight > 0
        slope = np.where(known, moments[name].mean, 0.0) / widths
        curve = accumulation_matrix(widths, known, np.arange(side.n_nodes)) @ slope
        weight = moments[HOME].weight.sum(axis=1 - axis)
        curves.append(curve - weight @ (side.node_to_home_matrix() @ curve) / weight.sum())
    return curves[0], curves[1]


def _rms_of_adjacent_cells(std: Floats, weight: Floats, shape: tuple[int, ...]) -> Floats:
    """Return at each node the weighted root mean square of the standard deviations of the adjacent cells."""
    known = ~np.isnan(std)
    total, square = np.zeros(shape), np.zeros(shape)
    w = np.where(known, weight, 0.0)
    for i in (slice(0, -1), slice(1, None)):
        for j in (slice(0, -1), slice(1, None)):
            total[i, j] += w
            square[i, j] += w * np.where(known, std, 0.0) ** 2
    return np.where(
        total > 0, np.sqrt(square / np.where(total > 0, total, 1.0)), np.nan if std.size else 0.0
    )


def gather_moments(
    sides: tuple[PairAxis, PairAxis], rows: PairRows, widths: tuple[Floats, Floats]
) -> dict[str, Moments] | None:
    """Gather the moments of mixed derivatives (and of slopes) by cell; None if the rows have no mixed derivatives."""
    if rows.effect is None:
        return None
    k, m = (max(s.n_nodes - 1, 0) for s in sides)
    h0, h1 = sides[0].home_of(rows.x0), sides[1].home_of(rows.x1)
    inside = (h0 >= 0) & (h1 >= 0)
    h0, h1 = h0[inside], h1[inside]
    w = None if rows.weight is None else rows.weight[inside]
    home = Moments.of(
        np.zeros(len(h0)), h0 * sides[1].n_homes + h1, sides[0].n_homes * sides[1].n_homes, w
    )
    gathered = {HOME: home.reshape(sides[0].n_homes, sides[1].n_homes)}
    if k and m:
        area = widths[0].take(h0) * widths[1].take(h1)
        gathered[CELL] = Moments.of(rows.effect[inside] * area, h0 * m + h1, k * m, w).reshape(k, m)
    else:
        gathered[CELL] = Moments.zeros((k, m))
    if rows.slope0 is not None and rows.slope1 is not None:
        for name, slope, h, width, size in (
            (MAIN0, rows.slope0, h0, widths[0], k),
            (MAIN1, rows.slope1, h1, widths[1], m),
        ):
            gathered[name] = Moments.zeros(0)
            if size:
                gathered[name] = Moments.of(slope[inside] * width.take(h), h, size, w)
    return gathered


def rebin_surface(
    shown: Surface, bins: Binning | int | tuple[Binning | int, Binning | int]
) -> Surface:
    """Return a surface of mixed derivatives on other bins; see `Surface.rebin`."""
    rows = shown.rows
    if rows is None or rows.effect is None or not rows.exact or not shown.spec.pointwise:
        got, fix = "a surface without bins", "Explain again with another grid, or use sd.DALE()"
        if isinstance(shown, AccumulatedSurface):
            got = "double differences across its cells"
            fix = "Explain again with these bins, or use sd.DALE() with a larger keep_rows="
        if rows is not None and not rows.exact and shown.spec.pointwise:
            got = "a sample of the rows"
        raise UnsupportedError(
            f"rebin of the {shown.spec.method} surface",
            got,
            "mixed derivatives of all rows, as from DALE",
            fix,
        )
    pair = bins if isinstance(bins, tuple) else (bins, bins)
    schemes = [as_binning(b, Uniform) for b in pair]
    first, second = (
        BinPairAxis(
            _cells(s, a, x, rows.weight),
            two_values=old.two_values if isinstance(old, NumericPairAxis) else None,
        )
        for s, a, x, old in zip(schemes, shown.abouts, (rows.x0, rows.x1), shown.sides, strict=True)
    )
    sides = (first, second)
    moments = gather_moments(sides, rows, (np.diff(sides[0].nodes), np.diff(sides[1].nodes)))
    fill = shown.provenance.get("empty_cells") == "nearest"
    spec = replace(
        shown.spec,
        parameters={**shown.spec.parameters, "bins": [s.describe() for s in schemes]},
    )
    again = accumulated_surface(sides, moments or {}, spec, shown.abouts, rows, fill=fill)
    record = {**shown.provenance, **again.provenance, "rebinned": [s.describe() for s in schemes]}
    old, new = shown.moments[HOME], again.moments[HOME]
    record |= rows_outside(shown.provenance, old, new)
    record |= {"rows_in_cells": int(new.count.sum())}
    record.pop("main_effects", None)
    return again.with_provenance(record)


def _cells(scheme: Binning, about: About, x: Floats, weight: Floats | None) -> Cells:
    return scheme.candidates(Column(about.feature, x, weight, about.dtype))
