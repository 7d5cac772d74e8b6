"""Entropies of distributions that are known by their quantiles and densities only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from skedasis.errors import UnsupportedError, explained
from skedasis.quantity.predictive.numbers import HALF_LOG_2PI, Numbers
from skedasis.typing import Floats

_REACH, _NODES = 8.5, 10
_PANELS = (3, 6, 12, 24, 48)
_FAR = 7.5
_ENOUGH = 1e-9
_POINTS = 100_000
_TAIL = 1e-15

Members = Sequence[tuple[Numbers, float]]
"""Components of a mixture, and their weights, of sum 1."""


def quantile_entropy(
    members: Members, log_density: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Return the differential entropies of mixtures, and how far off they may be.

    A component's part is the mean of -log f over its quantiles. These are taken at the probabilities of scores z of a
    standard normal variable, weighted by its density: then a component that ends abruptly, or reaches far, is as smooth
    as any other. Below and above the median Gauss and Legendre's rule of 10 points is applied on 3 to 48 panels, until
    twice as many change a row's result by no more than 1e-9.

    Parameters
    ----------
    members : sequence of (Numbers, float)
        Continuous components.
    log_density : callable
        Of the mixture: (n,) -> (n,).

    Returns
    -------
    value, error : ndarray of float, shape (n,)
        In nats; the error is what the last doubling has changed.

    Notes
    -----
    180 to 1,860 quantiles a component, and the density of the whole mixture at each. All rows are computed as long as
    one needs it, but a row's result stays when it has converged: so it does not depend on the others.
    """
    n = len(members[0][0])
    value, error = _by_panels(members, log_density, _PANELS[0], n), np.full(n, np.inf)
    for panels in _PANELS[1:]:
        better = _by_panels(members, log_density, panels, n)
        open_ = ~(error <= _ENOUGH)
        error = np.where(open_, np.abs(better - value), error)
        value = np.where(open_, better, value)
        if (error <= _ENOUGH).all():
            break
    return value, error


def _by_panels(
    members: Members, log_density: Callable[[Floats], Floats], panels: int, n: int
) -> Floats:
    """Return the entropies by so many panels on either side of the median."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = _REACH / (2 * panels)
    starts = np.arange(-panels, panels) * 2 * half
    scores = (starts[:, None] + half * (nodes + 1.0)).ravel()
    shares = np.tile(half * weights, 2 * panels) * np.exp(-0.5 * scores**2 - HALF_LOG_2PI)
    # The tails beyond are nothing; but constants are to stay what they are.
    shares /= shares.sum()
    total = np.zeros(n)
    for member, weight in members:
        for z, share in zip(scores.tolist(), shares.tolist(), strict=True):
            logs = log_density(member.at_score(z))
            # So far out a quantile may be infinite, and its share is nothing.
            logs = np.where(np.isfinite(logs), logs, 0.0) if abs(z) > _FAR else logs
            total -= weight * share * logs
    return total


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
