"""The errors of permutations, and of means of influences. Pure arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skedasis.moments import WeightKind
from skedasis.typing import Floats


@dataclass(frozen=True)
class PairVariance:
    """What varies in the rise that a receiver sees with a lender's value: u(receiver) + v(lender) + rest(both).

    Parameters
    ----------
    row : float
        Variance of u + v of one and the same row: the error of its mean is that of the rows (Hájek's projection).
    rest : float
        Variance of the rest: the error of its mean is that of the draws.
    freedom : float
        Degrees of freedom of `row`.
    """

    row: float
    rest: float
    freedom: float


def pair_variance(sums: Floats, steps: Floats, rows: float) -> PairVariance:
    """Split the variance of pairs that were dealt on a circle of blocks.

    Parameters
    ----------
    sums : ndarray of float, shape (r, blocks)
        Rises summed over the receivers in each block, in each repeat.
    steps : ndarray of float, shape (r,)
        How many blocks ahead the lenders stand. Repeats without a step, and repeats of the same one, say nothing.
    rows : float
        How many rows there are in all the blocks; of weighted rows the sum of their squared weights.

    Notes
    -----
    A block's sum is U(block) + V(block + step) + noise. In the Fourier transform over the blocks the shift is a factor,
    so each frequency has two unknowns, u and v, and as many equations as there are repeats: least squares gives both,
    and what is left over gives the noise. What is the same in u and in -v (a quantity that is additive in the feature)
    cancels exactly, which the variance of single rises would drown in. Frequencies count by how well they tell u
    from v.
    """
    moved = steps % sums.shape[1] != 0
    sums, steps = sums[moved], steps[moved]
    repeats, blocks = sums.shape
    nothing = PairVariance(np.nan, np.nan, np.nan)
    if repeats < 3 or blocks < 3:
        return nothing
    k = np.arange(1, blocks // 2 + 1)
    turn = np.exp(2j * np.pi * np.outer(steps, k) / blocks)
    seen = np.fft.fft(sums, axis=1)[:, k]
    total, back, both = turn.sum(0), (turn.conj() * seen).sum(0), seen.sum(0)
    regular = repeats**2 - np.abs(total) ** 2
    told = regular > 1e-6 * repeats**2
    if not told.any():
        return nothing
    turn, seen, total = turn[:, told], seen[:, told], total[told]
    back, both, regular = back[told], both[told], regular[told]
    u = (repeats * both - total * back) / regular
    v = (repeats * back - total.conj() * both) / regular
    # Real and imaginary part, but of the highest frequency, which is real.
    size = np.where(2 * k[told] == blocks, 1.0, 2.0)
    left = (np.abs(seen - u - turn * v) ** 2).sum(0)
    rest = float(size @ left / (size.sum() * (repeats - 2) * rows))
    noise = (2 * repeats - 2 * total.real) / regular
    worth = size / (1 + noise) ** 2
    row = float(worth @ (np.abs(u + v) ** 2 / rows - rest * noise) / worth.sum())
    return PairVariance(row, rest, float(worth.sum() ** 2 / (worth**2 / size).sum()))


def permutation_error(
    parts: Sequence[tuple[Floats, Floats, float]], norm: tuple[float, float]
) -> tuple[float, float]:
    """Return the standard error of a permutation importance, and its degrees of freedom.

    Parameters
    ----------
    parts : sequence of (sums, steps, rows)
        Of each circle, as `pair_variance` takes them.
    norm : (float, float)
        What the variance of the rows' part, and that of the draws', is divided by.
    """
    found = [(pair_variance(*part), len(part[1])) for part in parts]
    known = [(v, r) for v, r in found if not np.isnan(v.row)]
    repeats = sum(r for _, r in found)
    if not known:
        return np.nan, np.nan
    share = np.array([r for _, r in known]) / sum(r for _, r in known)
    row = share @ np.array([v.row for v, _ in known])
    rest = share @ np.array([v.rest for v, _ in known])
    # An estimate of a variance that is zero may fall below it.
    variance = max(float(row), 0.0) / norm[0] + float(rest) / (norm[1] * repeats)
    return float(np.sqrt(variance)), known[0][0].freedom


def parts_error(parts: Floats, weight: float) -> tuple[float, float]:
    """Return the standard error of a sum over parts that are independent, divided by `weight`."""
    g = len(parts)
    spread = ((parts - parts.mean()) ** 2).sum() * g / max(g - 1, 1)
    return float(np.sqrt(spread) / weight), float(g - 1)


def influence_error(
    influence: Floats, weights: Floats | None, kind: WeightKind
) -> tuple[float, float]:
    """Return the standard error of a weighted mean of influences, and its degrees of freedom."""
    n = len(influence)
    w = np.ones(n) if weights is None else weights
    total = float(w.sum())
    size = total if kind == "frequency" else total**2 / float(w @ w)
    if size <= 1:
        return np.nan, np.nan
    moved = influence - w @ influence / total
    squares = w @ moved**2 if kind == "frequency" else (w**2) @ moved**2
    return float(np.sqrt(squares * size / (size - 1)) / total), size - 1.0
