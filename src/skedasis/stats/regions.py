"""Regions: a tree of splits on other features that explains the heterogeneity of a feature's local effects.

The local effects of a feature of interest scatter around their mean in each cell. If another feature, the conditioning
feature, explains part of the scatter, the effect differs between the rows with small and with large values of it. The
search goes through tables of sums of residuals by cell and by code of the conditioning feature, so that no cut needs
another pass over the rows.

In a node, the residual of a local effect d in cell k is ``e = d - mean_k - slope_k (x - mean x_k)``. The line is fitted
in finer cells, because a conditioning feature that is correlated with the feature of interest would otherwise explain
the curvature of the effect. The gain of a division into groups q of weights n_qk with means m_qk of the residuals is

- ``within``: c · sum of n_qk m_qk² over groups and cells, the sum of squares between the groups within the cells;
- ``curves``: sum of N_q · |F_q|², the squared distances of the groups' curves F_q = M m_q from their mean, centred over
  the data.

A split must hold on rows that did not choose it. Rows are in two halves. A split is searched on half A. On half B

    T = sum of t_i,   t_i = w_i · sum over the row's cells of e_ik · b_qk,

with coefficients b from half A, estimates the gain without selection bias. T / sqrt(sum of t_i²) is compared with
Student's distribution (degrees of freedom by Satterthwaite), one-sided. This also holds where only the variance of the
local effects depends on another feature, where a permutation test of the largest gain fails.

This module works on arrays; `skedasis.engine.regions` makes them, and reports rules in words.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.conditioning import CodedColumn, Cut, quantile_codes
from skedasis.stats.moments import power_of_two, summed

SplitCriterion: TypeAlias = Literal["within", "curves"]
SingleFloats: TypeAlias = NDArray[np.float32]

N_CELLS = 32
"""Largest number of cells of slopes."""

_CELL_ROWS, _MOST_FINE = 60, 1024
"""Rows of a cell, and of a finer cell in which a line is fitted; largest number of these."""

_LINE_ROWS = 8
"""Least number of rows to which a line is fitted."""

_NEAR = 0.7
"""Conditioning features whose best cut between codes gains this fraction of the largest gain are searched exactly."""

_COARSE = 6
"""Groups of a feature when two features are divided at once."""

_FEW_LEVELS = 8
"""Largest number of levels that looking ahead divides, each from the others."""

_AHEAD_ROWS, _AHEAD_WORK = 20_000, 10_000_000
"""Largest number of rows from which looking ahead chooses, and of rows times pairs of features."""

_BEST = 32
"""Features whose best cut is searched exactly, and features whose pairs are all tried when looking ahead."""

_BEST_PAIRS = 64
"""Pairs of more features that are tried: those whose means differ most."""

_SCREENED, _SCREEN_GROUPS, _SCREEN_WORK = 256, 4, 2_000_000_000
"""Largest number of features whose pairs are ranked, groups of each, and multiplications that ranking may take."""

_CELL_GROUPS, _GROUP_ROWS, _SHAPES = 8, 100, 2
"""Most groups of cells whose sums rank pairs, rows of each, and principal components of curves that do."""

_BLOCK = 1 << 16
"""Numbers of the tables of several features that are made together."""

_CHUNK = 2_000_000
"""Numbers held at a time by the exact search."""

_TIED = 1 - 1e-12
"""Gains whose ratio is not below this are equal but for rounding; the first of them is taken."""

NEGLIGIBLE = 1e-12
"""Residuals below this fraction of the mean square of the local effects are rounding errors."""


# --- local effects --------------------------------------------------------------------------------


class LocalEffects(ABC):
    """The local effects of one feature: in cells (`CellEffects`) or as curves (`CurveEffects`).

    Rows are numbered as in the data set. Rows without local effects (missing values) take no part.
    """

    n_cells: int

    @abstractmethod
    def node(self, rows: Ints, weights: Floats | None) -> Node:
        """Return the residuals of some rows, indices (r,) with their weights (r,), in a node."""

    @property
    @abstractmethod
    def mean_square(self) -> float:
        """Return the mean square of the local effects, in the unit of the loss."""


@dataclass(frozen=True, eq=False)
class CellEffects(LocalEffects):
    """Local effects that belong to cells: slopes, differences across cells, or steps between values.

    `value`, (n,) or (n, 2), are those of the rows, NaN where a row has none, and `cell` their cells. For the criterion
    "within" `scale` is squared units of the quantity per squared local effect, the variance of the feature. For
    "curves", `path`, (P, n_cells), makes the curve at P points of the cells' means, and `point`, (n,), is the one that
    each row is nearest to, -1 for rows without local effects. If lines are removed within the cells, they are fitted
    to `x`, (n,), the feature, in the `fine` cells, (n,), of which `per_cell`, a power of two, make a cell.
    """

    value: Floats
    cell: Ints
    n_cells: int
    scale: float = 1.0
    path: Floats | None = None
    point: Ints | None = None
    x: Floats | None = None
    fine: Ints | None = None
    per_cell: int = 1

    @property
    def mean_square(self) -> float:
        return self.scale * float(np.nanmean(self.value**2)) if self.value.size else 0.0

    def node(self, rows: Ints, weights: Floats | None) -> Node:
        value, cell = self.value[rows], self.cell[rows]
        exists = ~np.isnan(value)
        place: Ints | None = None
        if value.ndim == 2 or not exists.all():
            place = np.nonzero(exists)[0]
            value, cell = value[exists], cell[exists]
        w = weights if weights is None or place is None else weights[place]
        if self.fine is None or self.x is None:
            residual, parameters = _without_means(value, cell, self.n_cells, w)
        else:
            picked = rows if place is None else rows[place]
            residual, parameters = self._without_lines(value, self.x[picked], self.fine[picked], w)
        n = summed(cell, w, self.n_cells)
        entries = float(n.sum())
        total = float(len(rows)) if weights is None else float(weights.sum())
        points = None
        if self.path is not None and self.point is not None:
            at = self.point[rows]
            some = at >= 0
            points = summed(at[some], None if weights is None else weights[some], len(self.path))
        return CellNode(
            len(rows),
            total,
            weights,
            n,
            self.scale * total / max(entries, 1e-300),
            None if points is None or self.path is None else _distance_form(self.path, points),
            self.path,
            parameters,
            residual=residual,
            cell=cell,
            place=place,
            entry_weight=w,
        )

    def _without_lines(
        self, value: Floats, x: Floats, fine: Ints, w: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return the local effects minus a line in x within each fine cell, and the parameters lost by each."""
        size, per_cell = self.n_cells * self.per_cell, self.per_cell
        shift = 0
        while per_cell > 1 and len(x) < size * _CELL_ROWS / 2:
            shift, size, per_cell = shift + 1, size // 2, per_cell // 2
        fine = fine >> shift
        residual, _ = _without_means(value, fine, size, w)
        x, _ = _without_means(x, fine, size, w)
        weighted = x if w is None else w * x
        sxx = summed(fine, weighted * x, size)
        sxy = summed(fine, weighted * residual, size)
        count = np.bincount(fine, minlength=size)
        fitted = (sxx > 0) & (count >= _LINE_ROWS)
        slope = np.where(fitted, sxy / np.where(sxx > 0, sxx, 1.0), 0.0)
        total = summed(fine, w, size)
        per_row = (1.0 + fitted) / np.maximum(total, 1e-300)
        return residual - slope[fine] * x, per_row[fine]


@dataclass(frozen=True, eq=False)
class CurveEffects(LocalEffects):
    """Curves of rows (ICE), (r, G), centred with the weights of the points, (G,), which sum to 1.

    `place`, (n,), is the index of each row's curve, -1 for rows without one; None if all rows have one.
    """

    curve: Floats
    point_weights: Floats
    place: Ints | None = None

    @property
    def n_cells(self) -> int:  # type: ignore[override]
        """Return the number of points."""
        return len(self.point_weights)

    @property
    def mean_square(self) -> float:
        """Return the mean over rows of the mean square of their curves."""
        return float((self.curve**2 @ self.point_weights).mean()) if len(self.curve) else 0.0

    def node(self, rows: Ints, weights: Floats | None) -> Node:
        at = rows if self.place is None else self.place[rows]
        place: Ints | None = None
        if (at < 0).any():
            place = np.flatnonzero(at >= 0)
            at = at[place]
        w = weights if weights is None or place is None else weights[place]
        curve = self.curve[at]
        total = float(len(at)) if w is None else float(w.sum())
        mean = (curve.sum(axis=0) if w is None else w @ curve) / max(total, 1e-300)
        residual = curve - mean
        return CurveNode(
            len(rows),
            total,
            weights,
            np.array([total]),
            1.0,
            np.diag(self.point_weights),
            None,
            np.full(len(at), 1.0 / max(total, 1e-300)),
            residual=residual,
            place=place,
            entry_weight=w,
        )


def _without_means(value: Floats, cell: Ints, size: int, w: Floats | None) -> tuple[Floats, Floats]:
    """Return values minus the mean of their cell, and for each the parameters that the mean costs."""
    n = summed(cell, w, size)
    safe = np.maximum(n, 1e-300)
    out = value - (summed(cell, value if w is None else w * value, size) / safe)[cell]
    # Again, because the mean of large values is rounded.
    out -= (summed(cell, out if w is None else w * out, size) / safe)[cell]
    return out, (1.0 / safe)[cell]


def _distance_form(path: Floats, points: Floats) -> Floats:
    """Return Q with ``d' Q d`` = variance over the points of the curve ``path @ d``."""
    p = points / max(float(points.sum()), 1e-300)
    centred = path - p @ path
    return centred.T @ (p[:, None] * centred)


# --- nodes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Node(ABC):
    """Residuals of the rows of a node, or of one half of them.

    `n`, (K,), is the weight in each cell, a single entry if all rows are in all cells. `scale` is squared units of the
    quantity per squared residual. `form`, (K, K), is the quadratic form of the criterion "curves", with `path`, (P,
    K). `parameters` are, for each residual, those that were fitted per unit of weight.
    """

    rows: int
    weight: float
    weights: Floats | None
    n: Floats
    scale: float
    form: Floats | None
    path: Floats | None
    parameters: Floats
    residual: Floats = field(kw_only=True)
    place: Ints | None = field(kw_only=True)
    entry_weight: Floats | None = field(kw_only=True)

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """Return the number K of cells, or of points of curves."""

    @property
    @abstractmethod
    def squares(self) -> float:
        """Return the weighted sum of squared residuals, in squared units of the quantity."""

    @abstractmethod
    def tables(self, codes: np.ndarray, size: int) -> tuple[Floats, Floats]:
        """Return the weights and the sums of residuals by cell and code: (K or 1, size) and (K, size).

        `codes` are one of each row, (rows,), or several that differ, (m, rows).
        """

    @abstractmethod
    def cumulated(self, order: Ints, ends: Ints) -> tuple[Floats, Floats]:
        """Return weights and sums by cell over the first ``ends[j]`` rows of `order`: (K or 1, J) and (K, J)."""

    @abstractmethod
    def products(self, group: Ints, coefficients: Floats) -> Floats:
        """Return the products of the residuals with the coefficients, (groups, K), of their group: one per entry."""

    @abstractmethod
    def summaries(self) -> Floats:
        """Return a few weighted sums of each row's residuals, (rows, S), whose means differ where gains are large."""

    def contributions(self, group: Ints, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return each row's t, and its t corrected for the fitted parameters, (rows,) each.

        `group`, (rows,), numbers the rows of `coefficients`, (groups, K).
        """
        t, w = self.products(group, coefficients), self.entry_weight
        if w is not None:
            t = t * w
        free = 1.0 - self.parameters * (1.0 if w is None else w)
        corrected = t / np.sqrt(np.maximum(free, 0.1))
        if self.place is None:
            return t, corrected
        return summed(self.place, t, self.rows), summed(self.place, corrected, self.rows)

    def of_entries(self, values: np.ndarray) -> np.ndarray:
        """Return for each residual the value of its row; rows are the last axis."""
        return values if self.place is None else values[..., self.place]

    def gains(
        self,
        left: tuple[Floats, Floats],
        whole: tuple[Floats, Floats],
        weights: Floats,
        total: float,
    ) -> Floats:
        """Return the gain of each of M cuts of one feature, (M,), or of m features, (M, m).

        `left` are weights and sums of the left sides, (K or 1, M) and (K, M), with m at the end for several; `whole`
        those of both sides, without M. `weights`, (M,) or (M, m), are those of the rows of the left sides, `total`
        that of all.
        """
        n_left, s_left = left
        n, s = whole[0][:, None], whole[1][:, None]
        n_right = n - n_left
        both = (n_left > 0.5) & (n_right > 0.5)
        difference = np.where(
            both, s_left / np.maximum(n_left, 0.5) - (s - s_left) / np.maximum(n_right, 0.5), 0.0
        )
        if self.form is None:
            size = np.where(both, n_left * n_right / np.maximum(n, 1e-300), 0.0)
            return self.scale * (size * difference**2).sum(axis=0)
        pull = np.tensordot(self.form, difference, 1)
        distance = np.maximum((difference * pull).sum(axis=0), 0.0)
        return weights * (total - weights) / max(total, 1e-300) * distance

    def group_means(self, group: Ints, groups: int) -> tuple[Floats, Floats]:
        """Return weights and mean residuals by group and cell, (groups, K); 0 where the weight is at most 1.5."""
        n, s = self.tables(group, groups)
        n = np.broadcast_to(n, s.shape).T
        return n, np.where(n > 1.5, s.T / np.maximum(n, 1e-300), 0.0)

    def group_gain(self, n: Floats, mean: Floats, size: Floats) -> float:
        """Return the gain of a division into groups with weights `n` and means, (groups, K), and sizes."""
        return float((self._influence(n, mean, size) * n * mean).sum())

    def _influence(self, n: Floats, mean: Floats, size: Floats) -> Floats:
        """Return coefficients b, (groups, K), such that the gain is the sum of n · b · mean."""
        if self.form is None:
            centre = (n * mean).sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
            return self.scale * (mean - centre)
        centre = size @ mean / max(float(size.sum()), 1e-300)
        pull = size[:, None] * ((mean - centre) @ self.form)
        # Where a group has no rows, the quotient would overflow for large quantities.
        return np.divide(pull, n, out=np.zeros(pull.shape), where=n > 0.5)

    def check(self, group: Ints, groups: int, chosen: Floats) -> tuple[Floats, Floats]:
        """Return each row's contribution to the gain, with the means `chosen` of other rows, (groups, K).

        The coefficients are centred over the groups within each cell, which does not change the sum.
        """
        n, _ = self.group_means(group, groups)
        size = summed(group, self.weights, groups)
        usable = np.where(n > 1.5, chosen, 0.0)
        b = self._influence(n, usable, size)
        total = np.maximum(n.sum(axis=0), 1e-300)
        b = np.where(n > 1.5, b - (n * b).sum(axis=0) / total, 0.0)
        return self.contributions(group, b)

    @property
    def kept_share(self) -> float:
        """Return the share of the residuals' variance that the fitted parameters leave."""
        if len(self.parameters) == 0:
            return 1.0
        lost = float(np.average(self.parameters, weights=self.entry_weight))
        return max(1.0 - lost, 0.5)


@dataclass(frozen=True, eq=False)
class CellNode(Node):
    """Residuals in cells, one or two for each row."""

    cell: Ints = field(kw_only=True)

    @property
    def n_cells(self) -> int:
        return len(self.n)

    @property
    def squares(self) -> float:
        e, w = self.residual, self.entry_weight
        return self.scale * float(e @ e if w is None else w @ e**2)

    def tables(self, codes: np.ndarray, size: int) -> tuple[Floats, Floats]:
        k, w = len(self.n), self.entry_weight
        flat = self.cell * np.int64(size) + self.of_entries(codes)
        n = summed(flat, w, k * size)
        s = summed(flat, self.residual if w is None else w * self.residual, k * size)
        return n.reshape(k, size), s.reshape(k, size)

    def cumulated(self, order: Ints, ends: Ints) -> tuple[Floats, Floats]:
        """Return the cumulated tables at some rows, without holding all of them at once."""
        k, w = len(self.n), self.entry_weight
        rank = np.full(self.rows, -1, dtype=np.int64)
        rank[order] = np.arange(len(order))
        entry_rank = self.of_entries(rank)
        near = np.flatnonzero(entry_rank >= 0)
        # The group of a row is the first of the ends that it is counted in.
        slot = np.searchsorted(ends, entry_rank[near], side="right")
        inside = slot < len(ends)
        near, slot = near[inside], slot[inside]
        flat = self.cell[near] * np.int64(len(ends)) + slot
        weight = None if w is None else w[near]
        e = self.residual[near]
        n = summed(flat, weight, k * len(ends))
        s = summed(flat, e if weight is None else weight * e, k * len(ends))
        return n.reshape(k, -1).cumsum(axis=1), s.reshape(k, -1).cumsum(axis=1)

    def products(self, group: Ints, coefficients: Floats) -> Floats:
        return self.residual * coefficients[self.of_entries(group), self.cell]

    def summaries(self) -> Floats:
        """Return the sums over the cells of each of some groups of neighbouring cells with about equal weight."""
        by_cell = np.ones(len(self.n))
        if self.form is not None:  # what a mean in the cell does to the curve
            by_cell = np.sqrt(np.diag(self.form)) / np.maximum(self.n, 1.0)
        value = self.residual * by_cell[self.cell]
        value = value if self.entry_weight is None else value * self.entry_weight
        groups = min(max(self.rows // _GROUP_ROWS, 1), _CELL_GROUPS)
        before = np.cumsum(self.n) - self.n / 2
        group = (before * (groups / max(float(self.n.sum()), 1e-300))).astype(np.int64)
        row = np.arange(self.rows) if self.place is None else self.place
        return summed(row * groups + group[self.cell], value, self.rows * groups).reshape(
            -1, groups
        )


@dataclass(frozen=True, eq=False)
class CurveNode(Node):
    """Curves, one for each row."""

    @property
    def n_cells(self) -> int:
        return self.residual.shape[1]

    @property
    def squares(self) -> float:
        """Return the weighted sum over rows of the mean squares of their residual curves."""
        if self.form is None:
            raise TypeError("curves have a quadratic form")
        squares = self.residual**2 @ np.diag(self.form)
        return float(squares.sum() if self.entry_weight is None else self.entry_weight @ squares)

    def tables(self, codes: np.ndarray, size: int) -> tuple[Floats, Floats]:
        """Return the tables by a product with a sparse matrix of indicators."""
        from scipy.sparse import csr_matrix

        codes = self.of_entries(codes)
        rows = codes.shape[-1]
        w = np.ones(rows) if self.entry_weight is None else self.entry_weight
        w, row = (np.broadcast_to(v, codes.shape).ravel() for v in (w, np.arange(rows)))
        indicator = csr_matrix((w, (codes.ravel().astype(np.int64), row)), shape=(size, rows))
        n = summed(codes, self.entry_weight, size)
        return n[None, :], np.asarray(indicator @ self.residual).T

    def cumulated(self, order: Ints, ends: Ints) -> tuple[Floats, Floats]:
        slot = np.full(self.rows, len(ends), dtype=np.int64)
        slot[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
        n, s = self.tables(slot, len(ends) + 1)
        return n[:, :-1].cumsum(axis=1), s[:, :-1].cumsum(axis=1)

    def products(self, group: Ints, coefficients: Floats) -> Floats:
        return (self.residual * coefficients[self.of_entries(group)]).sum(axis=1)

    def summaries(self) -> Floats:
        """Return the scores of the curves on their first principal components."""
        if self.form is None:
            raise TypeError("curves have a quadratic form")
        curve = self.residual * np.sqrt(np.diag(self.form))
        weighted = curve if self.entry_weight is None else curve * self.entry_weight[:, None]
        components = np.linalg.eigh(curve.T @ weighted)[1][:, -_SHAPES:]
        scores = np.zeros((self.rows, components.shape[1]))
        scores[slice(None) if self.place is None else self.place] = weighted @ components
        return scores


def slope_effects(
    x: Floats,
    slopes: Floats,
    scale: float,
    weights: Floats | None = None,
    *,
    criterion: SplitCriterion = "within",
) -> CellEffects:
    """Return slopes, (n,), in quantile cells of the feature, with finer cells in which lines are removed.

    Rows without a value have NaN in `x`, (n,), and slopes. `scale` is the variance of the feature; weights are
    frequencies. There is a cell for 60 rows, but at least 4 and at most 32.
    """
    rows = int(np.count_nonzero(~np.isnan(x)))
    size = min(N_CELLS, max(4, rows // _CELL_ROWS))
    per_cell = 1
    while size * per_cell * 2 <= min(_MOST_FINE, rows // _CELL_ROWS):
        per_cell *= 2
    fine, upper, missing = quantile_codes(x, size * per_cell, weights, nested=True)
    cell = (fine // per_cell).astype(np.int64)
    value = np.where(np.isnan(x), np.nan, slopes) if missing else slopes
    path, point = None, None
    if criterion == "curves":
        edges = np.concatenate([[np.nanmin(x)], upper[per_cell - 1 :: per_cell]])
        path, point = cell_path(np.diff(edges)), np.where(np.isnan(value), -1, cell)
    return CellEffects(value, cell, size, scale, path, point, x, fine.astype(np.int64), per_cell)


def cell_path(widths: Floats) -> Floats:
    """Return the matrix from mean slopes in cells to the curve in the middle of the cells, (K, K)."""
    k = len(widths)
    return (np.tri(k, k, -1) + 0.5 * np.eye(k)) * widths


# --- search ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RegionPart:
    """Rows among which a cut is searched, and the residuals of each feature of interest."""

    rows: Ints
    nodes: Sequence[Node]
    weights: Floats | None

    @property
    def weight(self) -> float:
        return float(len(self.rows)) if self.weights is None else float(self.weights.sum())


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The best cut of one feature: its gain, the order of its codes, how many go left, and where missing values go."""

    gain: float
    column: int
    order: Ints
    count: int
    missing_left: bool


@dataclass(frozen=True, eq=False)
class FoundSplit:
    """A division of a node, chosen by half of its rows and tested on the others; it holds if ``p_value <= level``."""

    cuts: tuple[Cut, ...]
    p_value: float
    level: float
    gain: float
    gain_error: float
    gain_in_sample: float
    stability: float
    rows: int
    other: Cut | None = None


@dataclass(eq=False)
class FoundNode:
    """A node of the tree."""

    rows: Ints
    depth: int
    weight: float
    loss: float = 0.0
    split: FoundSplit | None = None
    children: list[FoundNode] = field(default_factory=list)
    note: str = ""
    rejected: FoundSplit | None = None
    """For a leaf, the single cut that half of its rows chose, with the p-value of its one test on the others."""

    def leaves(self) -> list[FoundNode]:
        """Return the leaves, left to right."""
        return [leaf for child in self.children for leaf in child.leaves()] or [self]

    def below(self) -> list[FoundNode]:
        """Return all nodes below this one."""
        return [node for child in self.children for node in (child, *child.below())]


TOO_FEW, NO_LOSS, DEEP, NOT_HELD, TOO_SMALL, NO_CUT = (
    "fewer than twice the least rows of a region",
    "no heterogeneity",
    "largest depth",
    "no rule was confirmed on the other half of the rows",
    "no rule explains enough",
    "no other feature to divide by",
)
"""Why a leaf was not divided."""


@dataclass(frozen=True, eq=False)
class RegionSearch:
    """The search for regions by splits of `columns`, the conditioning features.

    `effects` are those of the feature of interest; of several for one partition of all of them. The rows of `half`,
    (n,), choose the splits; the others check them. `weights`, (n,), have a mean of about 1, and an integer one equals
    repeating the row if `frequency`. `allowed` are the indices of columns that may be split on; None: all. `alpha` is
    the level of the tests at the root; half of it for each further level. A split explains at least the share
    `min_gain` of `loss`, which is per unit of weight, in squared units of the quantity; None: that of the root.
    `min_rows` is the least weight of a region. With `intervals`, looking ahead also tries two cuts of one feature: a
    group in the middle of its range. Nodes with a loss per unit of weight below `negligible` are not
    divided.
    """

    effects: Sequence[LocalEffects]
    columns: Sequence[CodedColumn]
    half: Bools
    weights: Floats | None = None
    frequency: bool = True
    allowed: Sequence[int] | None = None
    max_depth: int = 2
    alpha: float = 0.05
    min_gain: float = 0.01
    look_ahead: bool = True
    intervals: bool = False
    min_rows: float = 20.0
    loss: float | None = None
    negligible: float = 0.0

    def run(self, rows: Ints | None = None) -> FoundNode:
        rows = np.arange(len(self.half)) if rows is None else rows
        return self._grow(rows, 0, self.alpha, self.weight(rows), None)

    @cached_property
    def floor(self) -> float:
        """Return the loss per unit of weight up to which nodes are not divided."""
        rounding = NEGLIGIBLE * sum(e.mean_square for e in self.effects)
        return max(self.negligible, rounding)

    def weight(self, rows: Ints) -> float:
        return float(len(rows)) if self.weights is None else float(self.weights[rows].sum())

    def part(self, rows: Ints) -> RegionPart:
        """Return the residuals of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return RegionPart(rows, [e.node(rows, weights) for e in self.effects], weights)

    @property
    def candidates(self) -> list[int]:
        """Return the indices of the columns that can be split on."""
        allowed = range(len(self.columns)) if self.allowed is None else self.allowed
        return [j for j in allowed if self.columns[j].width > 1]

    def _grow(
        self, rows: Ints, depth: int, alpha: float, root_weight: float, root_loss: float | None
    ) -> FoundNode:
        node = FoundNode(rows, depth, self.weight(rows))
        in_half = self.half[rows]
        a, b = self.part(rows[in_half]), self.part(rows[~in_half])
        squares = sum(p.squares for p in (*a.nodes, *b.nodes))
        node.loss = squares / max(node.weight, 1e-300)
        if root_loss is None:
            root_loss = node.loss if self.loss is None else self.loss
        node.note = self._why_leaf(node, root_loss)
        if node.note:
            return node
        relative = root_loss * root_weight / max(node.weight, 1e-300)
        node.note = NOT_HELD
        ranked = self._candidates([a], self.candidates)
        cut = self._finest(ranked, [a])
        if cut is not None:
            split = self._checked((cut,), a, b, 0.8 * alpha)
            held = split is not None and split.p_value <= split.level
            if split is not None and held and split.gain >= self.min_gain * relative:
                node.split, node.note = self._with_stability(split, a, b), ""
                left = cut.holds(self.columns[cut.column], rows)
                for side in (left, ~left):
                    child = self._grow(rows[side], depth + 1, alpha / 2, root_weight, root_loss)
                    node.children.append(child)
                return node
            node.note, node.rejected = TOO_SMALL if held else NOT_HELD, split
        if self.look_ahead and depth + 2 <= self.max_depth:
            gains = {c.column: c.gain for c in ranked}
            self._divide_twice(node, a, b, gains, alpha, relative, root_weight, root_loss)
        return node

    def _why_leaf(self, node: FoundNode, root_loss: float) -> str:
        """Return why a node cannot be divided, an empty text if it can."""
        if node.depth >= self.max_depth:
            return DEEP
        if node.weight < 2 * self.min_rows:
            return TOO_FEW
        if not node.loss > self.floor or not root_loss > self.floor:
            return NO_LOSS
        return "" if self.candidates else NO_CUT

    # -- one cut
    def best_cut(self, parts: Sequence[RegionPart], only: int | None = None) -> Cut | None:
        """Return the cut with the largest gain, summed over parts and features of interest, or None."""
        columns = self.candidates if only is None else [only]
        return self._finest(self._candidates(parts, columns), parts)

    def _finest(self, found: Sequence[_Candidate], parts: Sequence[RegionPart]) -> Cut | None:
        """Return the exact best cut near the best cuts between codes of some columns."""
        if not found:
            return None
        gains = np.array([c.gain for c in found])
        near = np.argsort(-gains, kind="stable")[:_BEST]
        result: tuple[float, Cut] | None = None
        for k in np.sort(near[gains[near] >= _NEAR * gains.max()]).tolist():
            gain, cut = self._refined(found[k], parts)
            if result is None or gain * _TIED > result[0]:
                result = gain, cut
        return None if result is None else result[1]

    def _candidates(self, parts: Sequence[RegionPart], columns: Sequence[int]) -> list[_Candidate]:
        """Return the best cut between codes of each column that has one."""
        cells = max(node.n_cells for part in parts for node in part.nodes)
        rows = max(len(part.rows) for part in parts)
        # Columns with as many codes are searched together, some at a time.
        like: dict[tuple[int, int, bool], list[int]] = {}
        for j in columns:
            column = self.columns[j]
            alone = -1 if column.ordered else j
            like.setdefault((column.size, alone, column.missing), []).append(j)
        found: dict[int, _Candidate] = {}
        for (size, _, missing), some in like.items():
            step = max(1, _BLOCK // max(rows, cells * (size + missing)))
            for i in range(0, len(some), step):
                found |= {c.column: c for c in self._best_of(some[i : i + step], parts)}
        return [found[j] for j in columns if j in found]

    def _best_of(self, columns: Sequence[int], parts: Sequence[RegionPart]) -> list[_Candidate]:
        """Return the best cut between codes of each of some columns that have as many codes; a nominal one is alone."""
        column, m = self.columns[columns[0]], len(columns)
        width, size = column.width, column.size
        place = np.arange(m)[:, None]
        tables: list[tuple[RegionPart, Floats, list[tuple[Floats, Floats]]]] = []
        for part in parts:
            codes = np.stack([self.columns[j].codes[part.rows] for j in columns])
            codes = codes * np.int64(m) + place
            weight = summed(codes, part.weights, m * width).reshape(width, m)
            by_node: list[tuple[Floats, Floats]] = []
            for node in part.nodes:
                n, s = node.tables(codes, m * width)
                by_node.append((n.reshape(-1, width, m), s.reshape(-1, width, m)))
            tables.append((part, weight, by_node))
        order = np.arange(width) if column.ordered else _by_component(tables, width)
        n_ordered = size if column.ordered else width
        order = order[:n_ordered]
        best = np.zeros(m), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
        ways = (False, True) if column.ordered and column.missing else (False,)
        for missing_left in ways:
            # With missing values on the right, all codes may go left, too.
            missing_right = column.ordered and column.missing and not missing_left
            stop = n_ordered if missing_right else n_ordered - 1
            if stop < 1:
                continue
            # Which codes go left of each cut: a product is faster than sums along an axis that is not the last.
            goes_left = np.full((stop, width), float(missing_left))
            goes_left[:, order] = np.tri(stop, n_ordered)
            gain, possible = np.zeros((stop, m)), np.ones((stop, m), dtype=bool)
            for part, weight, by_node in tables:
                left = goes_left @ weight
                least = self.min_rows / 2 * (0.999 if len(parts) == 1 else 0.5)
                possible &= (left >= least) & (weight.sum(axis=0) - left >= least)
                for node, (n, s) in zip(part.nodes, by_node, strict=True):
                    whole = n.sum(axis=1), s.sum(axis=1)
                    gain += node.gains((goes_left @ n, goes_left @ s), whole, left, part.weight)
            gain = np.where(possible, gain, 0.0)
            largest = gain.max(axis=0)
            k = np.argmax(gain >= _TIED * largest, axis=0)
            better = largest * _TIED > best[0]
            for kept, new in zip(best, (largest, k + 1, missing_left), strict=True):
                np.copyto(kept, new, where=better)
        return [
            _Candidate(g, j, order, count, side)
            for j, g, count, side in zip(columns, *(v.tolist() for v in best), strict=True)
            if g > 0
        ]

    def _refined(self, candidate: _Candidate, parts: Sequence[RegionPart]) -> tuple[float, Cut]:
        """Return the exact best cut near the best cut between codes, and its gain."""
        column = self.columns[candidate.column]
        left = np.zeros(column.width, dtype=bool)
        left[candidate.order[: candidate.count]] = True
        if column.missing and column.ordered:
            left[column.size] = candidate.missing_left
        if column.values is None or column.upper is None:
            return candidate.gain, Cut(candidate.column, math.nan, left)
        last = candidate.count - 1
        if candidate.count == column.size:  # values on the left, missing ones on the right
            return candidate.gain, Cut(candidate.column, math.inf, left)
        values = self._near_values(column, last, parts)
        if len(values) > 1:
            gain = self._gains_at(values[:-1], column, last, left, parts)
            best = int(np.argmax(gain))
            if gain[best] >= candidate.gain * (1 - 1e-9):
                threshold = column.between(float(values[best]), float(values[best + 1]))
                return float(gain[best]), Cut(candidate.column, threshold, left)
        low, high = float(column.upper[last]), self._next_value(column, last, parts)
        return candidate.gain, Cut(candidate.column, column.between(low, high), left)

    def _gains_at(
        self,
        values: Floats,
        column: CodedColumn,
        last: int,
        left: Bools,
        parts: Sequence[RegionPart],
    ) -> Floats:
        """Return the gains of cuts at values of two neighbouring codes; 0 where a side has too few rows.

        `last` is the first of the codes. Rows up to a value of `values`, (m,), ascending, go left, and missing values
        as `left`, (width,), says.
        """
        numbers = np.zeros(0) if column.values is None else column.values
        gain, possible = np.zeros(len(values)), np.ones(len(values), dtype=bool)
        for part in parts:
            codes, x = column.codes[part.rows], numbers[part.rows]
            near = np.flatnonzero((codes == last) | (codes == last + 1))
            order = near[np.argsort(x[near], kind="stable")]
            ends = np.searchsorted(x[order], values, side="right")
            low = codes < last
            if column.missing and left[column.size]:
                low |= codes == column.size
            below = np.flatnonzero(low)
            w = part.weights
            start = float(len(below)) if w is None else float(w[below].sum())
            sums = np.arange(1, len(order) + 1, dtype=float) if w is None else np.cumsum(w[order])
            size = start + np.concatenate([[0.0], sums])[ends]
            least = self.min_rows / 2 * (0.999 if len(parts) == 1 else 0.5)
            possible &= (size >= least) & (part.weight - size >= least)
            side = np.zeros(len(part.rows), dtype=np.int64)
            side[below] = 1
            for node in part.nodes:
                n, s = node.tables(side, 2)
                whole = n.sum(axis=1), s.sum(axis=1)
                step = max(1, _CHUNK // max(s.shape[0], 1))
                base_n, base_s, done = n[:, 1:], s[:, 1:], 0
                for first in range(0, len(ends), step):
                    some = ends[first : first + step]
                    more_n, more_s = node.cumulated(order[done : some[-1]], some - done)
                    cumulated = base_n + more_n, base_s + more_s
                    gain[first : first + step] += node.gains(
                        cumulated, whole, size[first : first + step], part.weight
                    )
                    base_n, base_s, done = cumulated[0][:, -1:], cumulated[1][:, -1:], int(some[-1])
        return np.where(possible, gain, 0.0)

    def _near_values(self, column: CodedColumn, code: int, parts: Sequence[RegionPart]) -> Floats:
        """Return the distinct values of two neighbouring codes among the rows, ascending."""
        if column.values is None:
            return np.zeros(0)
        found: list[Floats] = []
        for part in parts:
            codes = column.codes[part.rows]
            found.append(column.values[part.rows[(codes == code) | (codes == code + 1)]])
        return np.unique(np.concatenate(found))

    def _next_value(self, column: CodedColumn, code: int, parts: Sequence[RegionPart]) -> float:
        """Return the smallest value of the rows above a code."""
        if column.values is None or column.upper is None:
            return math.nan
        lowest = math.inf
        for part in parts:
            codes = column.codes[part.rows]
            above = part.rows[(codes > code) & (codes < column.size)]
            if len(above):
                lowest = min(lowest, float(column.values[above].min()))
        if math.isfinite(lowest):
            return lowest
        return float(column.upper[min(code + 1, column.size - 1)])

    # -- the check
    def groups(self, cuts: Sequence[Cut], rows: Ints) -> Ints:
        """Return the group of each row: the binary number of its sides; of an interval 1 inside, 0 elsewhere."""
        group = np.zeros(len(rows), dtype=np.int64)
        for cut in cuts:
            group = 2 * group + ~cut.holds(self.columns[cut.column], rows)
        return (group == 2).astype(np.int64) if _is_interval(cuts) else group

    def _checked(
        self, cuts: tuple[Cut, ...], a: RegionPart, b: RegionPart, level: float
    ) -> FoundSplit | None:
        """Return the split with its gain on the rows that did not choose it."""
        groups = 2 if _is_interval(cuts) else 2 ** len(cuts)
        in_a, in_b = self.groups(cuts, a.rows), self.groups(cuts, b.rows)
        if np.bincount(in_b, minlength=groups).min() < 5:
            return None
        t, p_value = self.test(a, b, in_a, in_b, groups)
        in_sample = 0.0
        for part, group in ((a, in_a), (b, in_b)):
            size = summed(group, part.weights, groups)
            for node in part.nodes:
                n, mean = node.group_means(group, groups)
                in_sample += node.group_gain(n, mean, size)
        weight = b.weight
        unit = power_of_two(t)
        error = unit * math.sqrt(float(self.squares(t / unit, b.weights).sum())) / weight
        return FoundSplit(
            cuts,
            p_value,
            level,
            float(t.sum()) / weight,
            error,
            in_sample / (a.weight + b.weight),
            math.nan,
            len(b.rows),
        )

    def test(
        self, a: RegionPart, b: RegionPart, in_a: Ints, in_b: Ints, groups: int
    ) -> tuple[Floats, float]:
        """Return the contributions of the rows of B to the gain, with means from A, and the one-sided p-value."""
        total, corrected = np.zeros(len(b.rows)), np.zeros(len(b.rows))
        for of_a, of_b in zip(a.nodes, b.nodes, strict=True):
            _, mean = of_a.group_means(in_a, groups)
            t, free = of_b.check(in_b, groups, mean / of_a.kept_share)
            total += t
            corrected += free
        # The p-value has no unit. Contributions are squares of the quantity already.
        unit = power_of_two(corrected)
        squares = self.squares(corrected / unit, b.weights)
        copies = b.weights if self.frequency and b.weights is not None else 1.0
        return total, _p_value(float(total.sum()) / unit, squares, copies)

    def squares(self, t: Floats, weights: Floats | None) -> Floats:
        """Return the squared contributions; those of a repeated row add up."""
        return t**2 if weights is None or not self.frequency else t**2 / weights

    def _with_stability(self, split: FoundSplit, a: RegionPart, b: RegionPart) -> FoundSplit:
        """Return the split with its agreement with the best cut on the other half of the rows."""
        other = self.best_cut([b])
        if other is None:
            return replace(split, stability=0.0)
        rows = np.concatenate([a.rows, b.rows])
        first = split.cuts[0].holds(self.columns[split.cuts[0].column], rows)
        second = other.holds(self.columns[other.column], rows)
        return replace(split, stability=abs(kappa(first, second)), other=other)

    # -- two cuts at once
    def _divide_twice(
        self,
        node: FoundNode,
        a: RegionPart,
        b: RegionPart,
        gains: Mapping[int, float],
        alpha: float,
        relative: float,
        root_weight: float,
        root_loss: float,
    ) -> None:
        """Divide a node by two cuts at once, if that holds: interactions that no single cut shows."""
        tried = [self._best_two(a, gains)] if len(self.candidates) > 1 else []
        tried += [self._best_interval(a)] if self.intervals else []
        found = [self._checked(cuts, a, b, 0.2 * alpha / len(tried)) for cuts in tried if cuts]
        splits = [split for split in found if split is not None]
        split = min(splits, key=lambda split: split.p_value, default=None)
        if split is None or split.p_value > split.level:
            return
        cuts, node.rejected = split.cuts, None
        if split.gain < self.min_gain * relative:
            node.note = TOO_SMALL
            return
        node.split, node.note = split, ""
        first = cuts[0].holds(self.columns[cuts[0].column], node.rows)
        for side in (first, ~first):
            rows = node.rows[side]
            child = FoundNode(rows, node.depth + 1, self.weight(rows))
            halves = self.half[rows]
            nodes = [n for h in (halves, ~halves) for n in self.part(rows[h]).nodes]
            child.loss = sum(n.squares for n in nodes) / max(child.weight, 1e-300)
            second = cuts[1].holds(self.columns[cuts[1].column], rows)
            if second.all():  # the part of the range below an interval
                child = self._grow(rows, node.depth + 2, alpha / 4, root_weight, root_loss)
                node.children.append(replace(child, depth=node.depth + 1))
                continue
            child.split = replace(split, cuts=(cuts[1],))
            for inner in (second, ~second):
                child.children.append(
                    self._grow(rows[inner], node.depth + 2, alpha / 4, root_weight, root_loss)
                )
            node.children.append(child)

    def _best_interval(self, a: RegionPart) -> tuple[Cut, Cut] | None:
        """Return the two cuts of one feature whose middle differs most from the rest, at ends of its codes."""
        found: tuple[float, int, int, int] | None = None
        least = 0.999 * self.min_rows / 2
        for j in self.candidates:
            column = self.columns[j]
            if not column.ordered or column.size < 3:
                continue
            codes, size = column.codes[a.rows].astype(np.int64), column.size
            # The first code inside, and the first one above.
            low, high = (1 + k.astype(np.int64) for k in np.triu_indices(size - 1, 1))

            def inside(table: Floats, low: Ints = low, high: Ints = high) -> Floats:
                """Return the sums over the codes of each interval."""
                sums = np.cumsum(table, axis=-1)
                return sums[..., high - 1] - sums[..., low - 1]

            weight = inside(summed(codes, a.weights, column.width))
            gain = np.zeros(len(weight))
            for node in a.nodes:
                n, s = node.tables(codes, column.width)
                whole = n.sum(axis=1), s.sum(axis=1)
                gain += node.gains((inside(n), inside(s)), whole, weight, a.weight)
            gain = np.where((weight >= least) & (a.weight - weight >= least), gain, 0.0)
            best = int(np.argmax(gain >= _TIED * gain.max()))
            if gain[best] > 0 and (found is None or gain[best] * _TIED > found[0]):
                found = float(gain[best]), j, int(low[best]), int(high[best])
        if found is None:
            return None
        _, j, first, last = found
        codes = np.arange(self.columns[j].width)
        return self._cut_of(j, codes, codes < first, a), self._cut_of(j, codes, codes < last, a)

    def _best_two(self, a: RegionPart, gains: Mapping[int, float]) -> tuple[Cut, Cut] | None:
        """Return the pair of cuts on two features with the largest gain, given the gains of the best single cuts."""
        coarse = {j: c for j in self.candidates if (c := _coarse(self.columns[j], _COARSE))}
        pairs = self._pairs(a, list(coarse), gains)
        if not pairs:
            return None
        found = self._best_of_pairs(a, pairs, coarse)
        best = max(found, key=lambda pair: found[pair][0])
        tied = _TIED * found[best][0]
        i, j = best = next(pair for pair in pairs if found[pair][0] >= tied)
        gain, left_i, left_j = found[best]
        if not gain > 0:
            return None
        cuts = [self._cut_of(i, coarse[i][0], left_i, a), self._cut_of(j, coarse[j][0], left_j, a)]
        # Each cut is chosen again, exactly, given the other.
        for turn in (0, 1, 0, 1):
            other = cuts[1 - turn]
            holds = other.holds(self.columns[other.column], a.rows)
            parts = [self.part(a.rows[side]) for side in (holds, ~holds) if side.any()]
            again = self.best_cut(parts, only=cuts[turn].column)
            if again is not None:
                cuts[turn] = again
        return cuts[0], cuts[1]

    def _best_of_pairs(
        self,
        a: RegionPart,
        pairs: Sequence[tuple[int, int]],
        coarse: Mapping[int, tuple[Ints, Bools]],
    ) -> dict[tuple[int, int], tuple[float, Bools, Bools]]:
        """Return the best two cuts between coarse groups of each pair of columns: their gain, and the left groups."""
        part = self._some(a, max(2000, min(_AHEAD_ROWS, _AHEAD_WORK // len(pairs))))
        least = self.min_rows / 2 * part.weight / max(a.weight, 1e-300)
        used = set(itertools.chain.from_iterable(pairs))
        codes = {j: coarse[j][0][self.columns[j].codes[part.rows]] for j in used}
        cells = max(node.n_cells for node in part.nodes)
        like: dict[tuple[tuple[int, ...], ...], list[tuple[int, int]]] = {}
        for i, j in pairs:
            like.setdefault((coarse[i][1].shape, coarse[j][1].shape), []).append((i, j))
        found: dict[tuple[int, int], tuple[float, Bools, Bools]] = {}
        for some in like.values():
            sides = coarse[some[0][0]][1], coarse[some[0][1]][1]
            size = sides[0].shape[1] * sides[1].shape[1]
            step = max(1, _BLOCK // max(len(part.rows), 4 * cells * size))
            for start in range(0, len(some), step):
                block = some[start : start + step]
                gains = self._gains_of_pairs(part, block, codes, sides, least)
                for pair, gain in zip(block, gains, strict=True):
                    first = int(np.argmax(gain >= _TIED * gain.max()))
                    k, m = np.unravel_index(first, gain.shape)
                    found[pair] = float(gain[k, m]), sides[0][k], sides[1][m]
        return found

    def _some(self, a: RegionPart, most: int) -> RegionPart:
        """Return at most so many rows of a part."""
        if len(a.rows) <= most:
            return a
        # The rows are in the order of the data; taking them at even steps keeps all parts of it.
        return self.part(a.rows[np.linspace(0, len(a.rows) - 1, most).astype(np.int64)])

    @staticmethod
    def _gains_of_pairs(
        part: RegionPart,
        pairs: Sequence[tuple[int, int]],
        codes: Mapping[int, Ints],
        sides: tuple[Bools, Bools],
        least: float,
    ) -> Floats:
        """Return the gain of each pair of cuts, (A, B), of each of some pairs of columns with as many groups."""
        m, shape = len(pairs), (sides[0].shape[1], sides[1].shape[1])
        first, second = (np.stack([codes[pair[k]] for pair in pairs]) for k in (0, 1))
        size = shape[0] * shape[1]
        joint = first * np.int64(shape[1]) + second + size * np.arange(m)[:, None]
        weight = summed(joint, part.weights, m * size).reshape(1, m, *shape)
        sizes = _four(weight, *sides)[:, 0]
        gain = np.zeros(sizes.shape[1:])
        for node in part.nodes:
            n, s = (_four(t.reshape(-1, m, *shape), *sides) for t in node.tables(joint, m * size))
            gain += _gain_of_four(node, n, s, sizes)
        return np.where(sizes.min(axis=0) >= least, gain, 0.0)

    def _pairs(
        self, a: RegionPart, columns: Sequence[int], gains: Mapping[int, float]
    ) -> list[tuple[int, int]]:
        """Return the pairs of columns that are divided at once, as a number that does not grow with the columns.

        Nothing is tested with these rows, so that the choice does not make the test optimistic.
        """
        if len(columns) <= _BEST:
            return list(itertools.combinations(columns, 2))
        by_gain = sorted(columns, key=lambda j: -gains.get(j, 0.0))
        ranked = sorted(by_gain[:_SCREENED])
        first, second = np.triu_indices(len(ranked), 1)
        strength = self._strengths(a, ranked)[first, second]
        best = np.argpartition(-strength, _BEST_PAIRS)[:_BEST_PAIRS]
        return sorted((ranked[first[k]], ranked[second[k]]) for k in best.tolist())

    def _strengths(self, a: RegionPart, columns: Sequence[int]) -> Floats:
        """Return how much the means of the joint groups of each pair of columns differ, (D, D).

        For a sum e of a row's residuals and the centred indicators z of the groups of all columns, the sums of e z z'
        over the rows are one product of matrices. If the means are the same, their squares have the expectation
        Σ (e z)² Σ (e z')² / Σ e²; the excess of a pair, with that of each of its columns alone, is in standard
        deviations. The larger one of two counts: that of all cells together, and that of groups of cells, along which
        the sign of an effect may change.
        """
        coded = (_coarse(self.columns[j], _SCREEN_GROUPS) for j in columns)
        groups = [c[0] for c in coded if c is not None]
        count = np.array([int(group.max()) + 1 for group in groups])
        start, width = np.cumsum(count) - count, int(count.sum())
        part = self._some(a, max(500, _SCREEN_WORK // width**2))
        indicator = np.zeros((len(part.rows), width), dtype=np.float32)
        row = np.arange(len(part.rows))
        for j, first, group in zip(columns, start.tolist(), groups, strict=True):
            indicator[row, first + group[self.columns[j].codes[part.rows]]] = 1.0
        indicator -= indicator.mean(axis=0)

        # The first group of each column, the second one, and so on; the last column, of zeros, where there is none.
        number = np.arange(int(count.max()))[:, None]
        nth = np.where(number < count, start + number, width + 1)

        zero = np.zeros((), dtype=np.float32)

        def by_pair(product: SingleFloats) -> SingleFloats:
            """Return the sum of squares over the groups of each pair of columns, with those of each column alone."""
            rows: SingleFloats = sum((product[own] ** 2 for own in nth), start=zero)
            alone = rows[:, width]
            return sum((rows[:, own] for own in nth), start=zero) + alone[:, None] + alone

        together, apart = (np.zeros((len(columns),) * 2, dtype=np.float32) for _ in range(2))
        shares = 0.0
        for node in part.nodes:
            sums = node.summaries()
            largest = float(np.abs(sums).max(initial=0.0))
            if not largest > 0:
                continue
            sums = (sums / largest).astype(np.float32)
            squares = (sums**2).sum(axis=0)
            unit = float(squares.sum())
            variance = (sums**2).sum(axis=1) @ indicator**2
            scale = np.where(variance > 0, 1 / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
            z = indicator * (scale * unit**0.25).astype(np.float32)
            # With a column of ones, whose products are those of each indicator alone.
            more = np.full((len(z), 2), [unit**-0.25, 0.0], dtype=np.float32)
            z = np.hstack([z, more])
            kept = [np.flatnonzero(e) for e in sums.T]
            products = [(z[k] * e[k, None]).T @ z[k] for k, e in zip(kept, sums.T, strict=True)]
            each = [by_pair(product) for product in products]
            apart += np.add.reduce(each)
            together += each[0] if len(each) == 1 else by_pair(np.add.reduce(products))
            shares += float((squares**2).sum()) / unit**2
        expected = len(part.nodes) * ((1.0 + count[:, None]) * (1.0 + count) - 1.0)
        spread = np.sqrt(expected)
        return np.maximum(
            (together - expected) / spread,
            (apart - expected) / (spread * math.sqrt(max(shares / len(part.nodes), 1e-300))),
        )

    def _cut_of(self, j: int, group: Ints, left: Bools, a: RegionPart) -> Cut:
        """Return the cut between coarse groups."""
        column = self.columns[j]
        codes = left[group]
        if column.values is None or column.upper is None:
            return Cut(j, math.nan, codes)
        last = int(np.flatnonzero(codes[: column.size])[-1])
        low = float(column.upper[last])
        return Cut(j, column.between(low, self._next_value(column, last, [a])), codes)


def _is_interval(cuts: Sequence[Cut]) -> bool:
    """Return whether two cuts of one feature divide it into three."""
    return len(cuts) == 2 and cuts[0].column == cuts[1].column


def _by_component(
    tables: Sequence[tuple[RegionPart, Floats, list[tuple[Floats, Floats]]]], width: int
) -> Ints:
    """Return the order of levels by the first principal component of their mean residuals, shrunken to zero."""
    rows: list[Floats] = []
    weight = np.zeros(width)
    for part, of_rows, by_node in tables:
        weight += of_rows[:, 0]
        for node, (n, s) in zip(part.nodes, by_node, strict=True):
            mean = (s / (n + 1.0))[:, :, 0].T
            if node.path is not None:
                mean = mean @ node.path.T
            elif node.form is not None:
                mean = mean * np.sqrt(np.diag(node.form))
            else:
                mean = mean * math.sqrt(node.scale)
            rows.append(mean)
    means = np.hstack(rows)
    centred = means - weight @ means / max(float(weight.sum()), 1e-300)
    _, _, components = np.linalg.svd(centred * np.sqrt(weight)[:, None], full_matrices=False)
    scores = centred @ components[0]
    # The sign of a component is arbitrary: the level with the largest deviation is on the right.
    if scores[int(np.argmax(np.abs(scores)))] < 0:
        scores = -scores
    return np.argsort(scores, kind="stable")


def _coarse(column: CodedColumn, most: int) -> tuple[Ints, Bools] | None:
    """Return the coarse group of each code of a column, and the cuts between groups, (cuts, groups)."""
    if column.ordered:
        return _ordered_groups(column.size, column.width, most)
    if column.width > _FEW_LEVELS:
        return None
    cuts = np.eye(column.width, dtype=bool)
    return np.arange(column.width), cuts[:1] if column.width == 2 else cuts


@cache
def _ordered_groups(size: int, width: int, most: int) -> tuple[Ints, Bools] | None:
    """Return the group of each code with an order, missing values in the last one, and the cuts between groups."""
    group = np.minimum(np.arange(width) * most // max(size, 1), most - 1)
    group = np.unique(group, return_inverse=True)[1]
    groups = int(group.max()) + 1
    return (group, np.tri(groups - 1, groups, dtype=bool)) if groups > 1 else None


def _four(table: Floats, first: Bools, second: Bools) -> Floats:
    """Return sums over the four quadrants of each pair of cuts: (4, …, cuts, cuts) of tables (…, groups, groups)."""
    one, two = first.astype(float), second.astype(float)
    # One product of matrices instead of one for each table.
    both = np.moveaxis(np.tensordot(one, table @ two.T, (1, -2)), 0, -2)
    left = (table.sum(axis=-1) @ one.T)[..., None]
    low = (table.sum(axis=-2) @ two.T)[..., None, :]
    total = table.sum(axis=(-2, -1))[..., None, None]
    return np.stack([both, left - both, low - both, total - left - low + both])


def _gain_of_four(node: Node, n: Floats, s: Floats, sizes: Floats) -> Floats:
    """Return the gain of each pair of cuts, (…, A, B).

    Weights `n` and sums `s` are (4, K or 1, …, A, B) and (4, K, …, A, B), `sizes` (4, …, A, B).
    """
    mean = np.where(n > 0.5, s / np.maximum(n, 0.5), 0.0)
    if node.form is None:
        return node.scale * (n * mean**2).sum(axis=(0, 1))
    total = np.maximum(sizes.sum(axis=0), 1e-300)
    mean = mean - (sizes[:, None] * mean).sum(axis=0) / total
    pull = np.einsum("kl,ql...->qk...", node.form, mean, optimize=True)
    return (sizes * (mean * pull).sum(axis=1)).sum(axis=0)


def _p_value(total: float, squares: Floats, copies: Floats | float) -> float:
    """Return the one-sided p-value of a sum, by Student's distribution with Satterthwaite's degrees of freedom.

    Each term is the sum of as many equal ones as it has `copies`.
    """
    from scipy.special import stdtr

    largest = float(squares.max(initial=0.0))
    if not largest > 0:
        return 1.0
    scaled = squares / largest  # fourth powers of small numbers are zero
    variance = float(scaled.sum())
    df = max(variance**2 / float(scaled @ (scaled / copies)), 2.0)
    return float(stdtr(df, -total / math.sqrt(variance * largest)))


def kappa(first: Bools, second: Bools, weights: Floats | None = None) -> float:
    """Return Cohen's kappa of two divisions of rows with some weights."""
    a, b, observed = (
        float(np.average(side, weights=weights)) for side in (first, second, first == second)
    )
    expected = a * b + (1 - a) * (1 - b)
    return (observed - expected) / (1 - expected) if expected < 1 else 0.0
