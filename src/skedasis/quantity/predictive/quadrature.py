"""Entropies of distributions that are known by their quantiles and densities only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from skedasis._types import Floats
from skedasis.errors import UnsupportedError, explained
from skedasis.quantity.predictive.numbers import Numbers

_REACH, _NODES = 8.5, 10
_PANELS = (3, 6, 12, 24, 48, 96)
_CUTS = 1500
"""Cuts that a row has at most, but for the two first rounds."""
_ENOUGH = 1e-9
_POINTS = 100_000
_TAIL = 1e-15

Members = Sequence[tuple[Numbers, float]]
"""Components of a mixture, and their weights, of sum 1."""


def quantile_entropy(
    members: Members, log_density: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Return the differential entropies of mixtures, and how far off they may be.

    The integral of -f log f is cut at quantiles of every component, those at evenly spaced scores of a standard normal
    variable from -8.5 to 8.5: so there are cuts wherever any component has its mass, however narrow it is, and ends and
    far tails are approached by ever shorter or longer steps. Between two cuts Gauss and Legendre's rule of 10 points is
    applied. There are 7 to 193 cuts a component, until twice as many change a row's result, and leave its probability
    off 1, by no more than 1e-9.

    Parameters
    ----------
    members : sequence of (Numbers, float)
        Continuous components.
    log_density : callable
        Of the mixture: (n,) -> (n,).

    Returns
    -------
    value, error : ndarray of float, shape (n,)
        In nats; the error is what the last doubling has changed, or how far the probability is from 1, if that is more.

    Notes
    -----
    70 to 1,930 densities of the whole mixture a component, fewer with many components, which cut for each other. All
    rows are computed as long as one needs it, but a row's result stays when it has converged: so it does not depend on
    the others.
    """
    n = len(members[0][0])
    value, error = np.zeros(n), np.full(n, np.inf)
    for panels in _PANELS:
        if panels > _PANELS[1] and len(members) * (2 * panels + 1) > _CUTS:
            break
        better, mass = _by_panels(members, log_density, panels)
        open_ = ~(error <= _ENOUGH)
        # A component that is missed time and again changes nothing, but its probability is missing.
        changed = np.abs(better - value) if panels > _PANELS[0] else np.inf
        error = np.where(open_, np.maximum(changed, np.abs(mass - 1.0)), error)
        value = np.where(open_, better, value)
        if (error <= _ENOUGH).all():
            break
    return value, error


def _by_panels(
    members: Members, log_density: Callable[[Floats], Floats], panels: int
) -> tuple[Floats, Floats]:
    """Return the entropies and the probabilities by so many cuts on either side of each component's median."""
    cuts = np.sort(np.concatenate([_cuts(m, panels) for m, _ in members]), axis=0)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    total, mass = np.zeros((2, cuts.shape[1]))
    for left, right in pairwise(cuts):
        half = 0.5 * (right - left)
        if not half.any():
            continue
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            logs = log_density(left + half * (1.0 + node))
            # Where there is no density there is no entropy; and an infinite one is at a cut that is one point.
            some = (half > 0) & np.isfinite(logs)
            p = np.where(some, np.exp(np.where(some, logs, 0.0)) * (weight * half), 0.0)
            mass += p
            total -= p * np.where(some, logs, 0.0)
    return total, mass


def _cuts(member: Numbers, panels: int) -> Floats:
    """Return a component's quantiles at evenly spaced scores, (2 panels + 1, n)."""
    scores = np.linspace(-_REACH, _REACH, 2 * panels + 1)
    found = np.array([member.at_score(z) for z in scores.tolist()])
    # Far out a quantile may be infinite: then the one before is the last.
    for k in range(panels + 1, len(found)):
        found[k] = np.where(np.isfinite(found[k]), found[k], found[k - 1])
    for k in range(panels - 1, -1, -1):
        found[k] = np.where(np.isfinite(found[k]), found[k], found[k + 1])
    return found


def counted_entropy(
    members: Members, log_density: Callable[[Floats], Floats], what: str
) -> tuple[Floats, Floats]:
    """Return the entropies of mixtures over whole numbers, and how far off they may be, (n,) each.

    Parameters
    ----------
    members : sequence of (Numbers, float)
        Discrete components.
    log_density : callable
        The log probability of whole numbers under the mixture: (n,) -> (n,).
    what : str
        For messages.

    Raises
    ------
    UnsupportedError
        Where they spread over more than 100,000 numbers.
    """
    low = np.min([m.quantile(_TAIL) for m, _ in members], axis=0)
    high = np.max([m.upper(_TAIL) for m, _ in members], axis=0)
    width = (high - low).max(initial=0.0)
    if not width <= _POINTS:
        raise UnsupportedError(
            explained(
                f"entropy({what})",
                f"distributions over {width:,.0f} whole numbers",
                f"at most {_POINTS:,}",
                "Use continuous distributions for numbers of this size",
            )
        )
    total, mass = np.zeros((2, len(low)))
    for k in range(int(width) + 1):
        y = low + k
        logs = log_density(y)
        inside = (y <= high) & (logs > -np.inf)
        p = np.where(inside, np.exp(logs), 0.0)
        mass += p
        total -= p * np.where(inside, logs, 0.0)
    if (np.abs(mass - 1.0) > 1e-9).any():
        raise UnsupportedError(
            explained(
                f"entropy({what})",
                "discrete distributions of values that are no whole numbers",
                "of whole numbers, or continuous ones",
                "Use sd.predictive_variance, or a model with continuous distributions",
            )
        )
    return np.maximum(total, 0.0), np.full(len(low), 1e-12)
