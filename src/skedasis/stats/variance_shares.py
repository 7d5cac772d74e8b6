"""How much of a quantity's variance functions of its features explain: main effects, regions, pairs (pure arrays).

`choose_stages` fits nested functions of the features on the fitting rows: the best additive function, then the same
with a function per region of a feature, then with functions of two features. `explained_share` says what each of them
explains at rows that did not take part.

**Functions.** A numeric feature has a piecewise linear function on quantile knots, split into a straight line and
deviations from it; a feature with few values has a knot at each, a categorical one a number per level. Regions have
the same functions once more, one per region. Two features have the products of their functions on coarser knots
(tensor product; Wood 2006), without those that are main effects.

**Fit.** Least squares with a quadratic penalty for each group of coefficients, whose weights maximize the restricted
likelihood by fixed-point steps (MacKay 1992; Wood & Fasiolo 2017), extrapolated (Aitken). So a function is as rough as
the rows support, and vanishes where they support none: with fixed knots and no penalty, each coefficient would cost 1/n
of the unexplained variance, which is several percent for ten features and 5,000 rows.

**Cost.** No model rows. The normal equations are sums over chunks of rows: time is linear in the rows and quadratic in
the functions, memory does not depend on the rows times the functions. Knots are chosen such that there are at most
about `MOST_FUNCTIONS` functions; with more than 300 features only lines remain.

**Choice.** What is added is chosen on the fitting rows, by cross-validation within them: squared errors must fall by
more than two standard errors of the fall, and by `LEAST_GAIN` of the variance. What does not gain half of this while
the other penalties are held is not fitted with them. Candidates are ranked anew, by the cross-validated residuals,
after each choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.moments import power_of_two

StageKind: TypeAlias = Literal["main", "regions", "pairs"]

FOLDS = 5
"""Number of parts of the fitting rows for cross-validation."""

MOST_FUNCTIONS = 900
"""About the largest number of functions of an additive fit: one solution then takes about a tenth of a second."""

MOST_KNOTS, PAIR_KNOTS = 32, 14
"""Most knots of a numeric feature alone, and of each of two features together."""

MOST_LEVELS, PAIR_LEVELS = 100, 12
"""Most levels with a number of their own; the rarer ones share one."""

CODES = 6
"""Parts of each feature by which pairs are ranked."""

LEAST_GAIN = 1e-3
"""Smallest fraction of the variance by which a further part must reduce the cross-validated squared error."""

LEAST_ERRORS = 2.0
"""Number of standard errors by which a further part must reduce the cross-validated squared error."""

MOST_PAIRED = 256
"""Largest number of features whose pairs are ranked: those whose parts alone explain most of the target."""

FAILURES = 3
"""Number of best-ranked pairs that may fail in succession before the search for pairs ends."""

_CHUNK = 2_048
_BLOCK = 128
_STEPS = 60
_LARGEST_RATIO, _FARTHEST = 0.8, 2.0
"""Largest ratio of steps of the logarithm of a penalty that is extrapolated, and the furthest extrapolation."""
_SAME_PARAMETERS = 0.3
"""Change of the effective parameters of a group below which the fit counts as the same."""
_LEAST_PENALTY, _LARGEST_PENALTY = 1e-8, 1e8
"""Bounds of penalties, relative to the number of rows; functions have a variance of about one."""


# --- functions of one feature ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VarianceColumn:
    """A feature at all rows, (n,): numbers or, if `levels`, codes without an order (0, 1, …). NaN is missing.

    Infinite values count as the largest or smallest knot.
    """

    values: Floats
    levels: bool = False


@dataclass(frozen=True, eq=False)
class MarginTable:
    """f functions of one feature: their values at nodes, (nodes, f), between which they are straight.

    The last node is that of missing values. All functions have the mean 0 over the fitting rows. `node`, (n,), is the
    one on the left of each row, and `fraction`, (n,), the position between it and the next one, from 0 to 1. The first
    `n_lines` functions are a straight line, and an indicator of missing values. The others are deviations from it.
    """

    table: Floats
    node: Ints
    fraction: Floats
    n_lines: int

    def at(self, rows: Ints) -> Floats:
        """Return the functions at rows, shape (m, f)."""
        (node, after), (v, u) = self.between(rows)
        return self.table[node] * v[:, None] + self.table[after] * u[:, None]

    def between(self, rows: Ints) -> tuple[Ints, Floats]:
        """Return the nodes on both sides of rows, and their weights, shape (2, m) each."""
        node, u = self.node[rows], self.fraction[rows]
        return np.array([node, np.minimum(node + 1, len(self.table) - 1)]), np.array([1 - u, u])

    @property
    def kinds(self) -> Ints:
        """Return 0 for lines, 1 for deviations, shape (f,)."""
        return (np.arange(self.table.shape[1]) >= self.n_lines).astype(np.int64)


def make_margin(
    column: VarianceColumn, fitting: Ints, weights: Floats, knots: int, levels: int
) -> MarginTable:
    """Return the functions of a feature; knots and means come from the `fitting` rows, (m,), and their weights, (m,).

    `knots` and `levels` are the largest number of knots, and of levels with a number of their own.
    """
    x = column.values
    missing = np.isnan(x)
    if column.levels:
        node, nodes = _level_nodes(x, missing, fitting, weights, levels)
        fraction, lines, rough = np.zeros(len(x)), np.zeros((nodes, 0)), np.eye(nodes)
    else:
        node, fraction, z = _knot_nodes(x, missing, fitting, weights, knots)
        nodes, (lines, rough) = len(z), _line_and_deviations(z)
    # The node of missing values is the last one.
    node = np.where(missing, nodes, node)
    fraction = np.where(missing, 0.0, fraction)
    n_missing = int(missing[fitting].any())
    indicator = np.zeros((nodes + 1, n_missing))
    indicator[nodes] = 1.0
    parts = [np.vstack([lines, np.zeros((1, lines.shape[1]))]), indicator]
    parts.append(np.vstack([rough, np.zeros((1, rough.shape[1]))]))
    weight = _node_weights(node[fitting], fraction[fitting], weights, nodes + 1)
    table = _centred(np.hstack(parts), weight, nodes, n_missing > 0)
    found = MarginTable(table, node, fraction, lines.shape[1] + n_missing)
    return _scaled(found, fitting, weights)


def _level_nodes(
    x: Floats, missing: Bools, fitting: Ints, weights: Floats, most: int
) -> tuple[Ints, int]:
    """Return the node of each row, and their number: the heaviest levels, then one for all others."""
    codes = np.where(missing, 0, np.nan_to_num(x)).astype(np.int64)
    seen = ~missing[fitting]
    weight = np.bincount(codes[fitting[seen]], weights[seen], int(codes.max(initial=0)) + 1)
    order = np.lexsort((np.arange(len(weight)), -weight))
    kept = order[: min(most, int((weight > 0).sum()))]
    node = np.full(len(weight), len(kept))
    node[kept] = np.arange(len(kept))
    return node[codes], len(kept) + 1


def _knot_nodes(
    x: Floats, missing: Bools, fitting: Ints, weights: Floats, knots: int
) -> tuple[Ints, Floats, Floats]:
    """Return the knot on the left of each row, the row's position after it, and the knots on a scale near 1."""
    usable = np.isfinite(x[fitting])
    v, w = x[fitting[usable]], weights[usable]
    if len(v) == 0:
        return np.zeros(len(x), np.int64), np.zeros(len(x)), np.zeros(1)
    # Differences of the largest numbers would overflow.
    _, exponent = np.frexp(np.abs(v).max())
    v, x = np.ldexp(v, -exponent), np.ldexp(x, -exponent)
    z = np.unique(v)
    if len(z) > knots:
        z = np.unique(weighted_quantiles(v, w, np.linspace(0, 1, knots)))
    if len(z) == 1:
        return np.zeros(len(x), np.int64), np.zeros(len(x)), z
    x = np.clip(np.where(missing, z[0], x), z[0], z[-1])
    node = np.clip(np.searchsorted(z, x, side="right") - 1, 0, len(z) - 2)
    return node, (x - z[node]) / (z[node + 1] - z[node]), z


def weighted_quantiles(x: Floats, weights: Floats, at: Floats) -> Floats:
    """Return the smallest values with at least these fractions of the weight at or below them."""
    order = np.argsort(x, kind="stable")
    total = np.cumsum(weights[order])
    # A fraction such as 0.1 is not exact: a little less than the sum up to a row counts as this sum.
    index = np.searchsorted(total, at * total[-1] * (1 - 1e-12))
    return np.asarray(x[order][np.minimum(index, len(x) - 1)], dtype=float)


def _line_and_deviations(z: Floats) -> tuple[Floats, Floats]:
    """Return a straight line at the knots, and deviations from it with the identity as penalty.

    The penalty of a function is the sum of squared distances of its values at the knots from the straight line between
    the neighbouring knots. It does not depend on the unit of the feature, and not on the distances of knots, which in
    skewed data differ by orders of magnitude.
    """
    m = len(z)
    if m == 1:
        return np.zeros((1, 0)), np.zeros((1, 0))
    line = ((z - z[0]) / (z[-1] - z[0]))[:, None]
    if m == 2:
        return line, np.zeros((2, 0))
    left, right = z[1:-1] - z[:-2], z[2:] - z[1:-1]
    distance = np.zeros((m - 2, m))
    i = np.arange(m - 2)
    distance[i, i] = -right / (left + right)
    distance[i, i + 1] = 1.0
    distance[i, i + 2] = -left / (left + right)
    _, size, directions = np.linalg.svd(distance, full_matrices=False)
    return line, directions.T / size


def _node_weights(node: Ints, fraction: Floats, weights: Floats, nodes: int) -> Floats:
    """Return the weight of each node, (nodes,): rows between two nodes belong to both."""
    found = np.zeros(nodes)
    np.add.at(found, node, weights * (1 - fraction))
    np.add.at(found, np.minimum(node + 1, nodes - 1), weights * fraction)
    return found


def _centred(table: Floats, weight: Floats, nodes: int, indicated: bool) -> Floats:
    """Return functions with mean 0. At nodes without fitting rows they are 0: nothing is known there."""
    present = weight[:nodes].sum()
    missing_indicator = table[nodes] != 0
    if present > 0:
        # Where the feature is missing its functions have their mean; the indicator alone describes these rows.
        mean = weight[:nodes] @ table[:nodes] / present
        table[nodes] = np.where(missing_indicator, table[nodes], mean)
    total = weight.sum()
    table = table - weight @ table / total if total > 0 else table
    table[weight == 0] = 0.0
    if not indicated:
        table[nodes] = 0.0
    return table


def _scaled(margin: MarginTable, fitting: Ints, weights: Floats) -> MarginTable:
    """Return functions without constant ones; lines of variance 1, deviations of mean variance 1."""
    f = margin.at(fitting)
    variance = weights @ (f * f) / weights.sum()
    kinds = margin.kinds
    keep = variance > 1e-20 * max(float(variance.max(initial=0.0)), 1e-300)
    scale = np.sqrt(np.where(keep, variance, 1.0))
    rough = keep & (kinds == 1)
    if rough.any():
        scale[kinds == 1] = np.sqrt(variance[rough].mean())
    table = (margin.table / scale)[:, keep]
    return MarginTable(table, margin.node, margin.fraction, int((kinds[keep] == 0).sum()))


# --- terms: functions of one feature, of its regions, of two features ------------------------------


@dataclass(frozen=True, eq=False)
class RegionLabels:
    """The region of each row, (n,), by its number from 0; there are `size` regions."""

    labels: Ints
    size: int


@dataclass(frozen=True, eq=False)
class Term:
    """Functions that enter the fit together: those of one feature, or the products of those of two.

    `lines` is the penalty group of straight lines of one; that of its other functions is named after the term itself.
    """

    margins: tuple[MarginTable, ...]
    name: str
    lines: str = ""

    @classmethod
    def of_regions(cls, margin: MarginTable, region: RegionLabels, name: str) -> Term:
        """Return the functions of a feature, and a constant, once for each region: products with its indicator."""
        of_region = MarginTable(
            np.eye(region.size), region.labels, np.zeros(len(region.labels)), region.size
        )
        table = np.hstack([np.ones((len(margin.table), 1)), margin.table])
        each = MarginTable(table, margin.node, margin.fraction, margin.n_lines + 1)
        return cls((of_region, each), name)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Return the name of the penalty group of each function."""
        first = self.margins[0].kinds
        if len(self.margins) == 2:
            kinds = first[:, None] + self.margins[1].kinds[None, :]
            return tuple(f"{self.name}: {k}" for k in kinds.ravel())
        return tuple(self.lines if k == 0 else self.name for k in first)

    def at(self, rows: Ints) -> Floats:
        """Return the functions at rows, shape (m, f)."""
        first = self.margins[0].at(rows)
        if len(self.margins) == 2:
            second = self.margins[1].at(rows)
            return (first[:, :, None] * second[:, None, :]).reshape(len(rows), -1)
        return first

    def sum_at(self, rows: Ints, beta: Floats) -> Floats:
        """Return ``at(rows) @ beta``, shape (m,), from the values of the sum at the nodes, which are few."""
        node, weight = self.margins[0].between(rows)
        for margin in self.margins[1:]:
            other, its_weight = margin.between(rows)
            node = (node[:, None] * len(margin.table) + other).reshape(4, -1)
            weight = (weight[:, None] * its_weight).reshape(4, -1)
        first, *second = (margin.table for margin in self.margins)
        of_nodes = first @ beta.reshape(first.shape[1], *(table.shape[1] for table in second))
        for table in second:
            of_nodes = of_nodes @ table.T
        return (of_nodes.ravel()[node] * weight).sum(axis=0)


# --- penalized least squares ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Equations:
    """Normal equations of each fold of the fitting rows. Those of several folds, or chunks, are their sums.

    `blocks`, (folds, p, m) each, are sums of products of the m functions that were added at a time with all p up to
    them, `moment`, (folds, p), of function times target, `square` and `weight`, (folds,), of squared targets and of
    weights. `groups` are the penalty group of each function; "" is not penalized.
    """

    blocks: tuple[Floats, ...]
    moment: Floats
    square: Floats
    weight: Floats
    groups: tuple[str, ...]

    @cached_property
    def gram(self) -> Floats:
        """Return the sums of products of all functions over all rows, shape (p, p)."""
        return _joined([block.sum(axis=0) for block in self.blocks])

    @property
    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest penalty."""
        n = float(self.weight.sum())
        return _LEAST_PENALTY * n, _LARGEST_PENALTY * n

    def penalties(self, of_groups: Mapping[str, float]) -> Floats:
        """Return the penalty of each function."""
        return np.array([of_groups.get(g, 0.0) for g in self.groups])

    def systems(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the equations of all folds, then those without each of them."""
        for *blocks, moment in zip(*map(_without, (*self.blocks, self.moment)), strict=True):
            yield _joined(blocks), moment

    def added(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the same of the functions that were added last: their columns, and the moments of all functions."""
        return zip(_without(self.blocks[-1]), _without(self.moment), strict=True)


def _without(folds: Floats) -> Iterator[Floats]:
    """Yield the sum of all folds, then those without each of them."""
    total = folds.sum(axis=0)
    yield total
    yield from (total - one for one in folds)


def _joined(blocks: Sequence[Floats]) -> Floats:
    """Return the symmetric matrix of which blocks of columns, down to the diagonal, are given."""
    p, start = len(blocks[-1]), 0
    found = np.empty((p, p))
    for block in blocks:
        end = len(block)
        found[:end, start:end] = block
        found[start:end, :start] = block[:start].T
        start = end
    return found


@dataclass(frozen=True, eq=False)
class _Data:
    """The fitting rows: their indices, targets (centred), weights and folds, each of shape (m,)."""

    rows: Ints
    target: Floats
    weights: Floats
    folds: Ints

    @cached_property
    def chunks(self) -> list[tuple[int, Ints]]:
        """Return fold by fold the positions of some fitting rows each."""
        found: list[tuple[int, Ints]] = []
        for fold in range(FOLDS):
            mine = np.flatnonzero(self.folds == fold)
            found += [(fold, mine[i : i + _CHUNK]) for i in range(0, len(mine), _CHUNK)]
        return found


def _product(a: Floats, b: Floats) -> Floats:
    """Return ``a.T @ b`` by SciPy, whose linear algebra has threads of its own.

    The factorizations are SciPy's. If NumPy's threads alternated with these, each would wait for the other's to become
    idle, which takes longer than the arithmetic.
    """
    from scipy.linalg import get_blas_funcs

    vector, matrix = get_blas_funcs(("gemv", "gemm"), (a, b))
    if b.ndim == 1:
        return np.asarray(vector(1.0, a.T, b))
    # Transposed arrays are those that Fortran expects: nothing is copied.
    return np.asarray(matrix(1.0, b.T, a.T, trans_b=1)).T


def _design(terms: Sequence[Term], rows: Ints) -> Floats:
    """Return the constant and the functions of all terms at rows, (m, p)."""
    return np.hstack([np.ones((len(rows), 1)), *(t.at(rows) for t in terms)])


def make_equations(terms: Sequence[Term], data: _Data, known: Equations | None = None) -> Equations:
    """Return the normal equations; those of all but the last term may be known."""
    groups = ("", *(g for t in terms for g in t.groups))
    p, old = len(groups), 0 if known is None else len(known.groups)
    block, moment = np.zeros((FOLDS, p, p - old)), np.zeros((FOLDS, p - old))
    square, weight = np.zeros(FOLDS), np.zeros(FOLDS)
    for fold, some in data.chunks:
        design = _design(terms, data.rows[some])
        w, y = data.weights[some], data.target[some]
        new = design[:, old:] * w[:, None]
        block[fold] += _product(design, new)
        moment[fold] += _product(new, y)
        square[fold] += w @ (y * y)
        weight[fold] += w.sum()
    if known is None:
        return Equations((block,), moment, square, weight, groups)
    moment = np.hstack([known.moment, moment])
    return Equations((*known.blocks, block), moment, square, weight, groups)


def _sum_at(terms: Sequence[Term], rows: Ints, beta: Floats) -> Floats:
    """Return ``_design(terms, rows) @ beta``, shape (m,)."""
    found, start = np.full(len(rows), beta[0]), 1
    for term in terms:
        end = start + len(term.groups)
        found += term.sum_at(rows, beta[start:end])
        start = end
    return found


def _factored(gram: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Return the Cholesky factor of the penalized matrix with a diagonal of ones, and its scale."""
    from scipy.linalg import get_lapack_funcs

    diagonal = np.diag(gram)
    least = _LEAST_PENALTY * max(float(diagonal.max(initial=0.0)), 1e-300)
    added = np.maximum(penalty, 0.0) + np.where(diagonal > 0, 0.0, least)
    scale = 1 / np.sqrt(diagonal + added)
    scaled = gram * scale[:, None]
    scaled *= scale
    np.fill_diagonal(scaled, 1 + 1e-12)
    (factorize,) = get_lapack_funcs(("potrf",), (scaled,))
    # The transposed array is the one that Fortran expects: nothing is copied.
    factor, failed = factorize(scaled.T, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(
            "The normal equations of the variance shares are not positive definite."
        )
    return np.asarray(factor), scale


def _inverse(factor: Floats) -> Floats:
    """Return the inverse of a lower triangular matrix, in the order of Fortran.

    LAPACK's routine takes 1.5 times as long as products of blocks for the matrices of variance shares.
    """
    from scipy.linalg import get_blas_funcs, get_lapack_funcs

    n = len(factor)
    if n <= _BLOCK:
        (invert,) = get_lapack_funcs(("trtri",), (factor,))
        return np.asarray(invert(factor, lower=1)[0])
    half = n // 2
    (multiply,) = get_blas_funcs(("trmm",), (factor,))
    found = np.zeros((n, n), order="F")
    first, last = _inverse(factor[:half, :half]), _inverse(factor[half:, half:])
    below = multiply(-1.0, last, factor[half:, :half], lower=1)
    found[:half, :half], found[half:, half:] = first, last
    found[half:, :half] = multiply(1.0, first, below, side=1, lower=1, overwrite_b=1)
    return found


@dataclass(frozen=True, eq=False)
class _Solution:
    """Penalized normal equations, factorized. Functions with the largest penalty, which vanish, are left out.

    `kept` and `left` are the functions in the equations, and those that vanish. `beside`, (p, left), are the products
    of all p functions with those; `factor` and `scale` are as in `_factored`.
    """

    penalty: Floats
    kept: Ints
    left: Ints
    beside: Floats
    factor: Floats
    scale: Floats

    @classmethod
    def of(cls, gram: Floats, penalty: Floats, largest: float) -> _Solution:
        vanishes = penalty >= largest
        vanishes[0] = False  # there is no factor of no equations
        kept, left = np.flatnonzero(~vanishes), np.flatnonzero(vanishes)
        some = gram[np.ix_(kept, kept)] if len(left) else gram
        return cls(penalty, kept, left, gram[:, left], *_factored(some, penalty[kept]))

    def solve(self, right: Floats) -> Floats:
        """Return the coefficients, shape (p,), for the right side of the equations."""
        from scipy.linalg import get_lapack_funcs

        (solve,) = get_lapack_funcs(("potrs",), (self.factor,))
        found, scale = np.zeros(len(right)), self.scale
        found[self.kept] = scale * solve(self.factor, scale * right[self.kept], lower=1)[0]
        return found

    def halved(self, right: Floats) -> Floats:
        """Return the matrix V with ``V' V = right' inverse right``, for right sides of shape (p, m)."""
        from scipy.linalg import get_blas_funcs

        (solve,) = get_blas_funcs(("trsm",), (self.factor,))
        scaled = (right[self.kept].T * self.scale).T
        return np.asarray(solve(1.0, self.factor, scaled, lower=1))

    @cached_property
    def used(self) -> Floats:
        """Return the effective parameters of each function, shape (p,)."""
        found, inverse = np.zeros(len(self.penalty)), _inverse(self.factor)
        variance = np.einsum("ij,ij->j", inverse, inverse) * self.scale**2
        found[self.kept] = 1 - self.penalty[self.kept] * variance
        if len(self.left):  # to the first order in the inverse of their penalty
            alone = self.beside[self.left, np.arange(len(self.left))]
            half = self.halved(self.beside)
            found[self.left] = (alone - (half * half).sum(axis=0)) / self.penalty[self.left]
        return np.clip(found, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Added:
    """Normal equations of m added functions alone (the Schur complement), where the others keep their penalties.

    `cross`, (p, m), and `right`, (p,), are the p others' products with the added functions, and their moments; `gram`,
    (m, m), and `moment`, (m,), are the equations.
    """

    others: _Solution
    cross: Floats
    right: Floats
    gram: Floats
    moment: Floats

    @classmethod
    def of(cls, others: _Solution, gram: Floats, moment: Floats) -> _Added:
        """Return the equations, given the last columns of those of all functions, which are those of the added ones."""
        old = len(others.penalty)
        cross, right, half = gram[:old], moment[:old], others.halved(gram[:old])
        reduced = gram[old:] - _product(half, half)
        left = moment[old:] - _product(cross, others.solve(right))
        return cls(others, cross, right, reduced, left)

    def solve(self, penalty: Floats, largest: float) -> tuple[Floats, Floats]:
        """Return the coefficients of all functions, and the effective parameters of the added ones, else 0."""
        found = _Solution.of(self.gram, penalty[len(self.right) :], largest)
        new = found.solve(self.moment)
        old = self.others.solve(self.right - self.cross @ new)
        return np.concatenate([old, new]), np.concatenate([np.zeros(len(old)), found.used])


def fit_penalties(
    equations: Equations, start: Mapping[str, float], added: _Added | None = None
) -> dict[str, float]:
    """Return the penalty of each group that maximizes the restricted likelihood, near those at the start.

    With `added`, groups that have a penalty at the start keep it: an iteration then needs a matrix as large as the
    others alone, and from there the iterations with all groups are few.

    The fixed point is ``penalty = residual variance * effective parameters / sum of squared coefficients`` of each
    group (MacKay 1992). A group that explains nothing gets the largest penalty.
    """
    gram, moment = equations.gram, equations.moment.sum(axis=0)
    square, n = float(equations.square.sum()), float(equations.weight.sum())
    names = sorted({*equations.groups} - {"", *(() if added is None else start)})
    mine = [np.flatnonzero([g == name for g in equations.groups]) for name in names]
    low, high = equations.ends
    penalties = {**dict.fromkeys(names, 0.01 * n), **start}
    fixed = 0.0 if added is None else float(added.others.used.sum())
    before, moved = np.full(len(names), np.inf), np.zeros(len(names))
    for step in range(_STEPS):
        each = equations.penalties(penalties)
        if added is None:
            solution = _Solution.of(gram, each, high)
            beta, used = solution.solve(moment), solution.used
        else:
            beta, used = added.solve(each, high)
        score = moment - _product(gram, beta)
        residual = float(square - beta @ moment - beta @ score)
        free = max(n - fixed - float(used.sum()), 0.05 * n, 1.0)
        noise = max(residual, 1e-14 * square) / free
        # The coefficients of functions that vanish are in inverse proportion to their penalty.
        beta = np.divide(score, each, out=beta, where=each >= high)
        parameters = np.array([used[k].sum() for k in mine])
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            found = noise * parameters / np.array([beta[k] @ beta[k] for k in mine])
        found = np.clip(np.where(np.isfinite(found), found, high), low, high)
        move = np.log(found / np.array([penalties[name] for name in names]))
        if step % 2:  # what a geometric series adds (Aitken), as the fixed point may be far
            ratio = np.divide(move, moved, out=np.zeros(len(move)), where=moved * move > 0)
            ratio = np.minimum(ratio, _LARGEST_RATIO)
            more = np.clip(move * ratio / (1 - ratio), -_FARTHEST, _FARTHEST)
            found = np.clip(found * np.exp(more), low, high)
        moved = move
        penalties |= zip(names, found.tolist(), strict=True)
        # Penalties may creep towards their bounds without changing the fit any more.
        if np.abs(parameters - before).max(initial=0.0) < _SAME_PARAMETERS:
            break
        before = parameters
    return penalties


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted function.

    `solutions` are that of all fitting rows, then those without each fold. `beta`, (p,), are the coefficients from all
    of them, and `cross_validated`, (m,), at each fitting row the function that is fitted without the row's fold.
    """

    terms: tuple[Term, ...]
    equations: Equations
    penalties: dict[str, float]
    solutions: list[_Solution]
    beta: Floats
    cross_validated: Floats

    def at(self, rows: Ints) -> Floats:
        """Return the function at rows, shape (m,), without the mean of the target."""
        return _sum_at(self.terms, rows, self.beta)


def fit(
    terms: Sequence[Term], equations: Equations, data: _Data, start: Mapping[str, float]
) -> Fit:
    """Return the penalized least squares fit of all terms, with penalties near those at the start."""
    penalties = fit_penalties(equations, start)
    each = equations.penalties(penalties)
    solutions: list[_Solution] = []
    found: list[Floats] = []
    for gram, moment in equations.systems():
        solutions.append(_Solution.of(gram, each, equations.ends[1]))
        found.append(solutions[-1].solve(moment))
    predicted = _predicted(terms, data, found[1:])
    return Fit(tuple(terms), equations, penalties, solutions, found[0], predicted)


def _predicted(terms: Sequence[Term], data: _Data, without: Sequence[Floats]) -> Floats:
    """Return the function at each fitting row, with the coefficients without the row's fold."""
    predicted = np.zeros(len(data.rows))
    for fold, some in data.chunks:
        predicted[some] = _sum_at(terms, data.rows[some], without[fold])
    return predicted


def improves(
    before: Floats,
    after: Floats,
    data: _Data,
    errors: float = LEAST_ERRORS,
    least: float = LEAST_GAIN,
) -> bool:
    """Return whether cross-validated predictions became better by more than chance.

    Their squared errors must fall by more than `errors` standard errors of the fall. What a further part adds at
    the held-out rows is not above 0 on average for a part that does nothing, because these rows take no part in the
    choice; but it is below 0, as each part costs variance. With two standard errors such parts are rare, also among the
    best of many pairs, and a part that fails is worth less than its error.
    """
    y, w = data.target, data.weights
    gain = (y - before) ** 2 - (y - after) ** 2
    total = w.sum()
    mean = float(w @ gain / total)
    error = float(np.sqrt(w @ (gain - mean) ** 2 / total / max(total - 1, 1.0)))
    return mean > errors * error and mean > least * float(w @ (y * y) / total)


# --- ranking of what may be added -----------------------------------------------------------------


def rank_codes(column: VarianceColumn, fitting: Ints, weights: Floats) -> Ints:
    """Return the part of each fitting row, (m,): intervals with about equal weight, or the heaviest levels.

    Missing values are the last part, number `CODES`.
    """
    x = column.values[fitting]
    missing = np.isnan(x)
    codes = np.full(len(x), CODES)
    if missing.all():
        return codes
    if column.levels:
        node, _ = _level_nodes(column.values, np.isnan(column.values), fitting, weights, CODES - 1)
        codes[~missing] = node[fitting][~missing]
        return codes
    cuts = weighted_quantiles(x[~missing], weights[~missing], np.arange(1, CODES) / CODES)
    # Values equal to a cut are below it. So two values, of which one has most of the weight, remain two parts.
    distinct = np.unique(x[~missing])
    cuts = distinct[:-1] if len(distinct) <= CODES else np.unique(cuts)
    codes[~missing] = np.searchsorted(cuts, x[~missing])
    return codes


def pair_gains(codes: Sequence[Ints], residual: Floats, weights: Floats) -> Floats:
    """Return for each pair of features how much of the residual's variance their joint parts explain, (d, d).

    Sums of residuals, (m,), in all joint parts of all pairs are one matrix product. From the sum of squared means is
    subtracted what it is on average without any interaction, and what the parts of each feature alone explain (after
    the FAST ranking of Lou et al. 2013).
    """
    d, parts = len(codes), CODES + 1
    columns = d * parts
    count, total = np.zeros((columns, columns)), np.zeros((columns, columns))
    offsets = np.arange(d) * parts
    joint = np.stack(codes, axis=1) + offsets if d else np.zeros((len(residual), 0), np.int64)
    for i in range(0, len(residual), _CHUNK):
        some = joint[i : i + _CHUNK]
        indicator = np.zeros((len(some), columns))
        np.put_along_axis(indicator, some, 1.0, axis=1)
        w = weights[i : i + _CHUNK, None]
        weighted = indicator * w
        count += _product(weighted, indicator)
        total += _product(weighted * residual[i : i + _CHUNK, None], indicator)
    noise = float(weights @ residual**2 / weights.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(count > 0, total**2 / count - noise, 0.0)
    gains = explained.reshape(d, parts, d, parts).sum(axis=(1, 3))
    alone = np.maximum(np.diag(gains), 0.0)
    return (gains - alone[:, None] - alone[None, :]) / weights.sum()


def region_gain(codes: Ints, labels: Ints, residual: Floats, weights: Floats) -> float:
    """Return how much of the residual's variance the parts of a feature explain in its regions."""
    noise = float(weights @ residual**2 / weights.sum())
    joint = codes + (CODES + 1) * labels
    count, total = np.bincount(joint, weights), np.bincount(joint, weights * residual)
    some = count > 0
    return float((total[some] ** 2 / count[some] - noise).sum() / weights.sum())


# --- stages ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stage:
    """A function of the features, `values`, (n,) at all rows, that has something in addition to the stage before.

    `features` are the one with regions, or the two of a pair; empty for the additive function.
    """

    kind: StageKind
    features: tuple[int, ...]
    values: Floats = field(repr=False)


def choose_stages(
    columns: Sequence[VarianceColumn],
    fitting: Ints,
    target: Floats,
    folds: Ints,
    *,
    weights: Floats | None = None,
    regions: Mapping[int, RegionLabels] | None = None,
    pairs: int = 5,
) -> tuple[Stage, ...]:
    """Return the best additive function, and what regions and pairs add to it, each stage with those before.

    `columns` are the features at all n rows, `fitting`, (m,), the fitting rows, with the quantity `target`, (m,),
    `folds`, (m,), from 0 to `FOLDS` - 1, and `weights`, frequencies. The quantity at other rows cannot be used,
    because it is not passed. `regions` are by feature; `pairs` is the largest number of pairs.
    """
    w = np.ones(len(fitting)) if weights is None else weights
    mean = float(w @ target / w.sum())
    size = float(np.abs(target - mean).max(initial=0.0)) or 1.0
    search = _StageSearch(columns, _Data(fitting, (target - mean) / size, w, folds))
    rows = np.arange(len(columns[0].values))

    def stage(kind: StageKind, features: tuple[int, ...], new: Fit) -> Stage:
        return Stage(kind, features, mean + size * new.at(rows))

    stages = [stage("main", (), search.state)]
    stages += [stage("regions", (j,), new) for j, new in search.add_regions(regions or {})]
    stages += [stage("pairs", pair, new) for pair, new in search.add_pairs(pairs)]
    return tuple(stages)


class _StageSearch:
    """The function fitted so far, and what may be added to it."""

    def __init__(self, columns: Sequence[VarianceColumn], data: _Data) -> None:
        self._columns, self._data = columns, data
        knots = int(np.clip(MOST_FUNCTIONS // len(columns) + 1, 2, MOST_KNOTS))
        self._margins = [
            make_margin(c, data.rows, data.weights, knots, MOST_LEVELS) for c in columns
        ]
        terms = [Term((m,), f"{j}", lines="lines") for j, m in enumerate(self._margins)]
        self.state = fit(terms, make_equations(terms, data), data, {})
        self._codes = [rank_codes(c, data.rows, data.weights) for c in columns]
        self._coarse: dict[int, MarginTable] = {}

    @property
    def _residual(self) -> Floats:
        return self._data.target - self.state.cross_validated

    def _try(self, term: Term) -> bool:
        """Add a term if it improves the cross-validated predictions: first with the others' penalties held."""
        old, data = self.state, self._data
        terms = [*old.terms, term]
        equations = make_equations(terms, data, old.equations)
        systems = zip(old.solutions, equations.added(), strict=True)
        whole, *without = (_Added.of(others, *system) for others, system in systems)
        start = fit_penalties(equations, old.penalties, whole)
        each, largest = equations.penalties(start), equations.ends[1]
        held = _predicted(terms, data, [added.solve(each, largest)[0] for added in without])
        if not improves(old.cross_validated, held, data, -np.inf, LEAST_GAIN / 2):
            return False
        new = fit(terms, equations, data, start)
        if not improves(old.cross_validated, new.cross_validated, data):
            return False
        self.state = new
        return True

    def add_regions(self, regions: Mapping[int, RegionLabels]) -> Iterator[tuple[int, Fit]]:
        """Yield the features whose regions are added, each with the new fit."""
        data, left = self._data, dict(regions)
        while left:
            residual = self._residual
            gains = {
                j: region_gain(self._codes[j], r.labels[data.rows], residual, data.weights)
                for j, r in left.items()
            }
            j = max(gains, key=lambda k: (gains[k], -k))
            if gains[j] <= 0:
                return
            region = left.pop(j)
            if self._try(Term.of_regions(self._margins[j], region, f"regions {j}")):
                yield j, self.state

    def add_pairs(self, most: int) -> Iterator[tuple[tuple[int, int], Fit]]:
        """Yield the pairs that are added, each with the new fit."""
        paired = self._paired()
        tried: set[tuple[int, int]] = set()
        waiting: list[tuple[int, int]] | None = None
        failures = found = 0
        while found < most and failures < FAILURES:
            if waiting is None:
                codes = [self._codes[j] for j in paired]
                gains = pair_gains(codes, self._residual, self._data.weights)
                waiting = _ranked(gains, paired, tried)
            if not waiting:
                return
            pair = waiting.pop(0)
            tried.add(pair)
            if self._try(
                Term((self._coarse_margin(pair[0]), self._coarse_margin(pair[1])), f"pair {pair}")
            ):
                waiting, failures, found = None, 0, found + 1
                yield pair, self.state
            else:
                failures += 1

    def _paired(self) -> Ints:
        """Return the features of which pairs may be added, as a number that does not grow with the features."""
        data, one = self._data, np.zeros(len(self._data.rows), dtype=np.int64)
        if len(self._codes) <= MOST_PAIRED:
            return np.arange(len(self._codes))
        alone = np.array([region_gain(c, one, data.target, data.weights) for c in self._codes])
        return np.sort(np.argsort(-alone, kind="stable")[:MOST_PAIRED])

    def _coarse_margin(self, j: int) -> MarginTable:
        """Return the functions of a feature for pairs."""
        if j not in self._coarse:
            data = self._data
            self._coarse[j] = make_margin(
                self._columns[j], data.rows, data.weights, PAIR_KNOTS, PAIR_LEVELS
            )
        return self._coarse[j]


def _ranked(gains: Floats, features: Ints, tried: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of features that may explain something and were not tried, the best ones first."""
    first, second = np.triu_indices(len(gains), 1)
    order = np.argsort(-gains[first, second], kind="stable")[: FAILURES + len(tried)]
    some = [k for k in order if gains[first[k], second[k]] > 0]
    best = [(int(features[first[k]]), int(features[second[k]])) for k in some]
    return [pair for pair in best if pair not in tried]


# --- what is explained at held-out rows -----------------------------------------------------------


@dataclass(frozen=True)
class Share:
    """A fraction of a variance with its standard error."""

    value: float
    std_error: float


def explained_share(
    values: Floats,
    before: Floats | None,
    after: Floats | None,
    weights: Floats | None = None,
    *,
    sampling: bool = False,
) -> Share:
    """Return the fraction of the variance of values that one function explains more than another.

    `values`, (m,), are at held-out rows, as are the functions. None for `before` is the mean of the values, for
    `after` the values themselves. `sampling`: weights are sampling weights rather than frequencies.
    """
    w = np.ones(len(values)) if weights is None else weights
    total = float(w.sum())
    centred = values - float(w @ values / total)
    # The error needs fourth powers, which leave float64; a share has no unit.
    unit = power_of_two(centred)
    deviation = (centred / unit) ** 2
    first = deviation if before is None else ((values - before) / unit) ** 2
    second = np.zeros(len(values)) if after is None else ((values - after) / unit) ** 2
    whole = float(w @ deviation)
    share = float((w @ first - w @ second) / whole)
    influence = first - second - share * deviation
    if sampling:
        n = total**2 / float(w @ w)
        variance = float((w * w) @ influence**2) * n / max(n - 1, 1e-9)
    else:
        variance = float(w @ influence**2) * total / max(total - 1, 1e-9)
    return Share(share, float(np.sqrt(variance)) / whole)
