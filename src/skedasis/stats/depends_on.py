"""What a feature's heterogeneity depends on: the share of its score that one other feature explains.

The score is the mean square of c, the part of a quantity's changes by swaps that does not occur for an additive
quantity (`skedasis.stats.heterogeneity_score`). If the effect of x depends on u alone, by an interaction h(x, u), then

    c = [ h(x', u) - h(x, u) - h(x', u') + h(x, u') ] / 2

for rows with (x, u) and (x', u') that swap their x. With h a sum of products of functions of x and of functions of u,
c is linear in the products of their differences. The coefficients are fitted on one half of the pairs, and the share of
the mean square of c that they explain is measured on the other half, both ways. No model row is needed.

This module works on arrays only: `skedasis.engine.depends_on` reads the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.heterogeneity_score import sorted_rows

MOST_OTHERS, SCREENED_PAIRS = 32, 1_000
"""Of more other features, those that seem to explain most of so many pairs are compared."""

MOST_COMPARED = 256
"""Others that are compared with each feature; with fewer features, as many more as make the same number of pairs."""

LEAST_SHARE, LEAST_ERRORS = 0.10, 2.0
"""The least share that is reported, and in how many of its standard errors."""

FITTED, SCREENED_SHARE = 2, LEAST_SHARE / 2
"""Of the features that are compared, the first ones are fitted: those that seem to explain this share, and half of what
the first one does."""

MOST_KNOTS, FEW_KNOTS = 10, 4
"""Knots of the functions of x and of u, and of u where there are too many others."""

LEAST_PAIRS = 10.0
"""With fewer effective pairs nothing can be told."""

_PAIRS_OF_COEFFICIENT = 20
"""Pairs of one half for each product of two functions: with fewer, there are fewer knots."""

_VALUES_OF_KNOT = 3
"""Up to so many values for each knot, each has a function of its own."""

_STEPS, _TOLERANCE = 20, 1e-5
"""Steps of the conjugate gradients, and the decrease of the residual at which they end."""

_AT_ONCE = 32
"""Columns with equally many functions whose differences are computed at once."""

_NULL = 1e-9
"""Directions with less than this fraction of the largest variance are left out."""


@dataclass(frozen=True)
class DependsOn:
    """The feature that explains most of another feature's heterogeneity."""

    name: str
    share: float
    error: float
    title: str = ""


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of rows that swapped their values of a feature: rows, value c (`change`), weight; (m,) each."""

    first: Ints
    second: Ints
    change: Floats
    weight: Floats
    half: Bools

    def __len__(self) -> int:
        return len(self.first)

    def take(self, some: Ints | slice) -> Pairs:
        return Pairs(
            self.first[some],
            self.second[some],
            self.change[some],
            self.weight[some],
            self.half[some],
        )

    def differences(self, functions: Floats) -> Floats:
        """Return the difference of functions of the rows between the two rows of each pair."""
        # One new array, in half the time of three.
        found = functions.take(self._rows, axis=0)
        found[: len(self)] -= found[len(self) :]
        return found[: len(self)]

    @cached_property
    def _rows(self) -> Ints:
        return np.concatenate([self.first, self.second])


def least_errors(columns: int) -> float:
    """Return how many standard errors above 0 the largest share of several columns is: two for one column."""
    from scipy.special import ndtri

    return max(LEAST_ERRORS, -float(ndtri(0.025 / max(columns, 1))))


def knots_for(pairs: int) -> int:
    """Return the number of knots of both sets of functions for so many pairs."""
    return int(np.clip(np.sqrt(pairs / 2 / _PAIRS_OF_COEFFICIENT), 2, MOST_KNOTS))


def hat_functions(x: Floats, knots: int, order: Ints | None = None) -> Floats:
    """Return functions of a numeric column, (n, K): linear between knots, or of single values if there are few.

    Knots, two or more, are at quantiles, the ends of the axis included. NaN is missing, which has a function of its
    own. `order` are the rows with a value, sorted by it, if they are known.
    """
    order = sorted_rows(x) if order is None else order
    if not len(order):
        return np.zeros((len(x), 0))
    ascending = x.take(order)
    # Of the size of one, so that differences of huge numbers are finite; infinities are beyond all numbers.
    finite = ascending[np.isfinite(ascending)]
    scale = float(np.abs(finite[[0, -1]]).max()) if len(finite) else 0.0
    scaled = ascending / (scale or 1.0)
    if len(finite) < len(ascending):
        scaled = np.where(np.isinf(ascending), np.copysign(2.0, ascending), scaled)
    values = scaled[np.append(True, scaled[1:] > scaled[:-1])]
    if len(values) > _VALUES_OF_KNOT * knots:
        values = np.unique(scaled[np.linspace(0, len(scaled) - 1, knots).astype(int)])
    count = len(values)
    functions = np.zeros((len(x), count + 1))
    if len(order) < len(x):
        functions[np.isnan(x), -1] = 1.0
    starts = np.searchsorted(scaled, values)
    place = np.repeat(np.arange(count), np.diff(np.append(starts, len(scaled))))
    widths = np.append(np.diff(values), 1.0)
    fraction = (scaled - values.take(place)) / widths.take(place)
    flat, at = functions.reshape(-1), order * (count + 1) + place
    flat[at] = 1.0 - fraction
    flat[at + (place + 1 < count)] += fraction
    return functions


def shares_explained(pairs: Pairs, own: Floats, others: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the share of the mean square of c that each other column explains, and its standard error.

    `own` are the functions of the feature, (n, K), `others` those of the other columns, (n, L) each. Shares are NaN if
    c is zero, or a half has no pairs.
    """
    share, error = np.full((2, len(others)), np.nan)
    scale = float(np.abs(pairs.change).max(initial=0.0))
    total = float(pairs.weight @ (pairs.change / (scale or 1.0)) ** 2)
    if total == 0 or pairs.half.all() or not pairs.half.any():
        return share, error
    halves = [pairs.take(np.flatnonzero(half)) for half in (pairs.half, ~pairs.half)]
    u = [part.differences(own) for part in halves]
    sides = [_Side.of(u[i], halves[i].weight, u[1 - i]) for i in (0, 1)]
    total = sum(float(part.weight @ (part.change / scale) ** 2) for part in halves)
    for k, functions in enumerate(others):
        differences = [part.differences(functions) for part in halves]
        residuals = [
            halves[1 - i].change / scale
            - _predicted(sides[i], halves[i], scale, differences[i], differences[1 - i])
            for i in (0, 1)
        ]
        left = sum(
            float(part.weight @ r**2) for part, r in zip(halves, residuals[::-1], strict=True)
        )
        left /= total
        share[k] = 1.0 - left
        squares = 0.0
        for part, r in zip(halves, residuals[::-1], strict=True):
            influence = part.weight * (r**2 - left * (part.change / scale) ** 2) / total
            squares += float(influence @ influence)
        error[k] = np.sqrt(squares)
    return share, error


@dataclass(frozen=True, eq=False)
class _Side:
    """Differences of the functions of a feature, uncorrelated in the half of the pairs that is fitted, (K, m) each."""

    fitted: Floats
    other: Floats

    @classmethod
    def of(cls, u: Floats, w: Floats, other: Floats) -> _Side:
        whitening = _whitening(u, w)
        return cls(whitening.T @ u.T, whitening.T @ other.T)


def _predicted(side: _Side, pairs: Pairs, scale: float, v: Floats, other_v: Floats) -> Floats:
    """Return what the products of two sets of differences, fitted on some pairs, predict of c on the others."""
    w = pairs.weight / pairs.weight.mean()
    to_v = _whitening(v, w)
    if not (len(side.fitted) and to_v.size):
        return np.zeros(len(other_v))
    root = np.sqrt(w)
    a, b = side.fitted, to_v.T @ v.T * root
    # A penalty as if there were one more pair for each coefficient.
    penalty = float(len(a) * len(b))

    def normal(coefficients: Floats) -> Floats:
        predicted = np.einsum("kp,kp->p", coefficients.T @ a, b)
        return a @ (b * predicted).T + penalty * coefficients

    residual = a @ (b * (root * pairs.change / scale)).T
    found, direction = np.zeros_like(residual), residual
    square = start = float(np.vdot(residual, residual))
    for _ in range(_STEPS):
        if square <= _TOLERANCE * start:
            break
        ahead = normal(direction)
        step = square / float(np.vdot(direction, ahead))
        found, residual = found + step * direction, residual - step * ahead
        before, square = square, float(np.vdot(residual, residual))
        direction = residual + square / before * direction
    return np.einsum("kp,kp->p", found.T @ side.other, to_v.T @ other_v.T)


def _whitening(differences: Floats, w: Floats) -> Floats:
    """Return the matrix that makes differences uncorrelated with mean square 1, in the directions that vary."""
    vectors, scale = _directions(differences, w)
    return vectors[:, scale > 0] * scale[scale > 0]


def _directions(differences: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return uncorrelated directions of differences (…, m, L), and 1 / their standard deviations, 0 without any."""
    moment = np.swapaxes(differences * w[:, None], -1, -2) @ differences / w.sum()
    variance, vectors = np.linalg.eigh(moment)
    least = _NULL * np.maximum(variance.max(axis=-1, initial=0.0), np.finfo(float).tiny)
    some = variance > least[..., None]
    return vectors, np.where(some, 1 / np.sqrt(np.where(some, variance, 1.0)), 0.0)


def screened_shares(pairs: Pairs, own: Floats, others: Sequence[Floats]) -> Floats:
    """Return the share of the mean square of c that each other column seems to explain.

    Differences of columns are taken for independent. From the squares of their products' sums with c, those are
    subtracted that they have if they explain nothing.
    """
    u, w = pairs.differences(own), pairs.weight
    explained = np.zeros(len(others))
    scaled = pairs.change / (np.abs(pairs.change).max(initial=0.0) or 1.0)
    c = w * scaled
    a = (u @ _whitening(u, w)) * c[:, None]
    by_size = sorted(range(len(others)), key=lambda k: others[k].shape[1])
    for _, group in groupby(by_size, lambda k: others[k].shape[1]):
        same = list(group)
        for some in (same[i : i + _AT_ONCE] for i in range(0, len(same), _AT_ONCE)):
            v = np.array([pairs.differences(others[k]) for k in some])
            vectors, scale = _directions(v, w)
            products = (a.T @ v @ vectors) * scale[:, None, :]
            count = a.shape[1] * (scale > 0).sum(axis=1)
            explained[some] = (products**2).sum(axis=(1, 2)) - count * float(c @ c)
    return explained / (float(w.sum()) * float(c @ scaled) or 1.0)
