"""Distributions over numbers: normal, mixtures; quantiles by root finding, entropy by quadrature.

It is integrated by Gauss and Kronrod's rules of 7 and 15 points on intervals that are halved until each is short beside
the components that live in it, and until both rules agree. What lies between components that are far apart is left out;
so neither distance nor components of very different widths cost much, and none can be overlooked. Every row has its own
intervals: nothing depends on which rows stand beside it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.distributions.base import Part, Predicted, whole
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.models.calling import as_numbers, unit_round_off

# ------------------------------------------------------------------------------------------
# Distributions over numbers: what they have in common, and the normal one.


HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


_LOOKED_AT = 64


NOISE = (
    "Include the noise of the observations: a WhiteKernel in the kernel of a Gaussian process, "
    "noise= in sd.ensemble"
)
"""What helps where a model is certain of a number."""


class Numbers(Predicted):
    """The distributions of a number for n rows."""

    what: str
    """The model, for messages."""

    discrete = False
    """Whether probability sits on whole numbers, so that there is no density."""

    def log_likelihood(self, y: Any) -> Floats:
        """Return the log density (of discrete distributions the log probability) at the rows' labels.

        Raises
        ------
        ModelOutputError
            Where a label cannot occur at all: its loss would be infinite.
        """
        found = self.log_density(as_label_numbers(y))
        impossible = int(np.count_nonzero(found == -np.inf))
        if impossible:
            raise ModelOutputError(
                explained(
                    self.what,
                    f"a likelihood of 0 for the labels of {impossible:,} of {len(self):,} rows",
                    "labels within the support of the predictive distributions",
                    "Use a distribution that can take all labels",
                )
            )
        return found

    @abstractmethod
    def log_density(self, y: Floats) -> Floats:
        """Return the log density, or log probability, at each row's own y, (n,) -> (n,); -inf outside the support."""

    @abstractmethod
    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y, for each row's own y, both exact where small."""

    @abstractmethod
    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles, exact also where q is too small for 1 - q to tell."""

    def at_score(self, z: float) -> Floats:
        """Return the quantiles at the probability with which a standard normal variable is at most z."""
        from scipy.special import ndtr

        return self.quantile(float(ndtr(z))) if z <= 0 else self.upper(float(ndtr(-z)))


class Normal(Numbers):
    """Normal distributions.

    Parameters
    ----------
    location, scale : ndarray of float, shape (n,)
        Means and standard deviations, checked; a standard deviation may be 0.
    given : numpy dtype
        The type that the model answered in.
    what, fix : str
        For messages: the model, and what helps where it is certain.
    """

    def __init__(
        self, location: Floats, scale: Floats, given: Any, what: str, fix: str = NOISE
    ) -> None:
        self.location, self.scale, self.given = location, scale, given
        self.what, self.fix = what, fix

    @property
    def dtype(self) -> Any:
        """Return the type that the model computed in."""
        return number_type(self.given, self.location)

    def __len__(self) -> int:
        return len(self.location)

    def entropy(self, part: Part = "total") -> Floats:
        """Return log(2 pi e scale²) / 2."""
        whole(part)
        return np.log(self._spread) + (HALF_LOG_2PI + 0.5)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density at y, exact however far out."""
        z = (y - self.location) / self._spread
        return -0.5 * z * z - np.log(self.scale) - HALF_LOG_2PI

    @property
    def _spread(self) -> Floats:
        """Return the standard deviations; a density needs that none is 0."""
        need_spread(self.scale, self.what, self.fix)
        return self.scale

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        from scipy.special import ndtr

        z = (y - self.location) / self._spread
        return ndtr(z), ndtr(-z)

    def mean(self) -> Floats:
        """Return the means."""
        return self.location.copy()

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances."""
        whole(part)
        return self.scale**2

    def quantile(self, p: float) -> Floats:
        """Return mean + scale · the standard normal's quantile."""
        from scipy.special import ndtri

        return self.location + self.scale * float(ndtri(p))

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles."""
        from scipy.special import ndtri

        return self.location - self.scale * float(ndtri(q))

    def at_score(self, z: float) -> Floats:
        """Return mean + scale · z."""
        return self.location + self.scale * z


def need_spread(scale: Floats, what: str, fix: str) -> None:
    """Refuse standard deviations, (…, n), of which some are 0."""
    if scale.min(initial=np.inf) > 0:
        return
    certain = (scale == 0).reshape(-1, scale.shape[-1]).any(axis=0)
    raise ModelOutputError(
        explained(
            what,
            f"a standard deviation of 0 for {int(certain.sum()):,} of {len(certain):,} rows",
            "positive ones: without spread there is no density",
            fix,
        )
    )


def number_type(given: Any, values: Floats) -> Any:
    """Return the type that a model computed in, from the type and some of the numbers of its answer.

    That type, if it is coarser than float64; float32, if all of the numbers are such; else float64.
    """
    if given.kind == "f" and given.itemsize < 8:
        return given
    single = unit_round_off(given, values.reshape(-1)[:_LOOKED_AT]) > np.finfo(float).eps
    return np.dtype(np.float32) if single else np.dtype(float)


def as_label_numbers(y: Any) -> Floats:
    """Return labels as numbers; the places of classes are none."""
    y = np.asarray(y)
    if y.dtype.kind != "f":
        raise UnsupportedError(
            explained(
                "y",
                "classes",
                "numbers: the model answers with distributions of a number",
                "Pass y as numbers",
            )
        )
    return y


def as_normal(mean: Any, std: Any, n: int, what: str, fix: str = NOISE) -> Normal:
    """Return means and standard deviations, (n,) each, as distributions.

    Raises
    ------
    ModelOutputError
        For other shapes, NaN, and negative standard deviations.
    """
    given = np.result_type(np.asarray(mean).dtype, np.asarray(std).dtype)
    location, scale = of_rows(mean, n, what, "mean"), of_rows(std, n, what, "standard deviation")
    negative = int(np.count_nonzero(scale < 0))
    if negative:
        raise ModelOutputError(
            explained(
                what,
                f"a negative standard deviation for {negative:,} of {n:,} rows",
                "standard deviations, not negative",
                "Return standard deviations, none of them below 0",
            )
        )
    return Normal(location, scale, given, what, fix)


def of_rows(raw: Any, n: int, what: str, which: str) -> Floats:
    """Return one finite number for each row, as a copy of its own, (n,)."""
    answer = np.array(as_numbers(raw, what))
    if answer.shape == (n, 1):
        answer = answer[:, 0]
    if answer.shape != (n,):
        raise ModelOutputError(
            explained(
                what,
                f"a {which} of shape {answer.shape}",
                f"({n},)",
                "Return one for each row of X; explain several outputs one by one",
            )
        )
    strange = int(np.count_nonzero(~np.isfinite(answer)))
    if strange:
        raise ModelOutputError(
            explained(
                what,
                f"a {which} that is NaN or infinite for {strange:,} of {n:,} rows",
                "finite numbers",
                "If X has missing values that the model cannot take, impute them or drop those rows",
            )
        )
    return answer


def check_level(p: Any) -> float:
    """Return the probability of a quantile, checked.

    Raises
    ------
    DataError
        For what does not lie between 0 and 1.
    """
    try:
        level = float(p)
    except (TypeError, ValueError):
        level = np.nan
    if isinstance(p, (bool, str)) or not 0 < level < 1:
        raise DataError(
            explained(
                "predictive_quantile(p)",
                repr(p),
                "a number between 0 and 1",
                "Pass 0.9, for example",
            )
        )
    return level


# ------------------------------------------------------------------------------------------
# Entropies of distributions that are known by their quantiles and densities only.


_REACH, _N_NODES = 8.5, 10


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
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
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


# ------------------------------------------------------------------------------------------
# Quantiles of mixtures: where a mixture's distribution function crosses a level, many rows at once.


_STEPS = 400


_ULP = 4 * float(np.finfo(float).eps)


Function = Callable[[Floats, Ints], Floats]
"""Of points, one for each of some rows, and the places of these rows: (m,), (m,) -> (m,)."""


def crossing(
    low: Floats, high: Floats, unit: Floats, excess: Function, density: Function
) -> Floats:
    """Return where functions that rise cross zero, each between its own two points.

    Newton's steps while they lead, halving where they do not.

    Parameters
    ----------
    low, high : ndarray of float, shape (n,)
        Points with zero between them.
    unit : ndarray of float, shape (n,)
        A length that is small on each row's scale: near 0 a root is exact to few units in the last place of this.
    excess : Function
        The function.
    density : Function
        Its derivative.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> root = crossing(0 * one, 2 * one, one, lambda x, _: x**2 - 2, lambda x, _: 2 * x)
    >>> float(root[0]) - 2**0.5
    0.0
    """
    low, high = low.copy(), high.copy()
    root = low + (high - low) / 2
    before = high - low
    rows = np.flatnonzero(high > low)
    for _ in range(_STEPS):
        if len(rows) == 0:
            break
        x = root[rows]
        over = excess(x, rows)
        below = over < 0
        low[rows], high[rows] = np.where(below, x, low[rows]), np.where(below, high[rows], x)
        new = _next(x, over, density(x, rows), low[rows], high[rows], before[rows])
        step = np.abs(new - x)
        root[rows], before[rows] = new, step
        enough = _ULP * np.maximum(np.abs(new), unit[rows])
        done = (over == 0) | (step <= enough) | (high[rows] - low[rows] <= enough)
        root[rows] = np.where(over == 0, x, root[rows])
        rows = rows[~done]
    return root


def _next(
    x: Floats, over: Floats, slope: Floats, low: Floats, high: Floats, before: Floats
) -> Floats:
    """Return the next points: Newton's where they stay inside and at least halve the step, else the middle."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = x - over / slope
    leads = (newton > low) & (newton < high) & (np.abs(newton - x) <= before / 2)
    return np.where(leads, newton, low + (high - low) / 2)


def whole_crossing(low: Floats, high: Floats, excess: Callable[[Floats], Floats]) -> Floats:
    """Return the smallest whole numbers, from `low` to `high`, at which functions that rise are not negative."""
    low, high = np.floor(low), np.floor(high)
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        below = excess(middle) < 0
        low, high = np.where(below & (low < high), middle + 1, low), np.where(below, high, middle)
    return high


def excess_of(small: Floats, right: Bools, weights: Floats, level: float, upper: bool) -> Floats:
    """Return a mixture's probability of at most x, less a level, without losing what is small.

    Parameters
    ----------
    small : ndarray of float, shape (S, m)
        The smaller of the two probabilities that a component gives to either side of x.
    right : ndarray of bool, shape (S, m)
        Whether that is the one above x.
    weights : ndarray of float, shape (S,)
    level : float
        The level; with `upper` what it lacks of 1.
    """
    w = weights[:, None]
    beside = np.where(right != upper, w, 0.0).sum(axis=0)
    base = level - beside if upper else beside - level
    # Components that are far apart leave a flat stretch: only what their tails differ by says where it is crossed.
    return base + (np.where(right, -w, w) * small).sum(axis=0)


# ------------------------------------------------------------------------------------------
# The entropy of mixtures of normal distributions, which has no closed form.


REACH = 8.5
"""Standard deviations to which a component reaches: beyond lie 2e-17 of it."""


_LENGTH, _AWAY = 3.0, 4.0
"""An interval may be three standard deviations long, or as long as 3/4 of its distance from the mean."""


_AGREE = 1e-9
"""The rules of 7 and 15 points agree to this in nats; that of 15 is then exact to about 1e-11."""


_HALVINGS = 80


_BLOCK = 250_000
"""Densities that are computed at a time."""


# QUADPACK's qk15 (Piessens et al., 1983): nodes from the outside in, weights of Kronrod, weights of Gauss.
_OUTER = np.array(
    [
        [0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0],
        [
            0.949107912342758524526189684047851,
            0.063092092629978553290700663189204,
            0.129484966168869693270611432679082,
        ],
        [0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0],
        [
            0.741531185599394439863864773280788,
            0.140653259715525918745189590510238,
            0.279705391489276667901467771423780,
        ],
        [0.586087235467691130294144691258155, 0.169004726639267902826583426598550, 0.0],
        [
            0.405845151377397166906606412076961,
            0.190350578064785409913256402421014,
            0.381830050505118944950369775488975,
        ],
        [0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0],
    ]
)


_NODES = np.concatenate([-_OUTER[:, 0], [0.0], _OUTER[::-1, 0]])


_RULES = np.stack(
    [
        np.concatenate([_OUTER[:, k], [middle], _OUTER[::-1, k]])
        for k, middle in (
            (1, 0.209482141084727828012999174891714),
            (2, 0.417959183673469387755102040816327),
        )
    ]
)


@dataclass
class _Intervals:
    """Pieces of the line, each of one row: from `start` to `end`, both counted from `origin`.

    A difference to a near origin keeps its digits where the rows' own numbers are large.
    """

    row: Ints
    origin: Floats
    start: Floats
    end: Floats

    def __len__(self) -> int:
        return len(self.row)

    def some(self, which: Ints | Bools | slice) -> _Intervals:
        return _Intervals(self.row[which], self.origin[which], self.start[which], self.end[which])

    def halves(self) -> _Intervals:
        middle = (self.start + self.end) / 2
        return _Intervals(
            np.tile(self.row, 2),
            np.tile(self.origin, 2),
            np.concatenate([self.start, middle]),
            np.concatenate([middle, self.end]),
        )

    def blocks(self, size: int) -> Iterator[_Intervals]:
        for first in range(0, len(self), size):
            yield self.some(slice(first, first + size))


def mixture_entropy(location: Floats, scale: Floats, weights: Floats) -> Floats:
    """Return the differential entropies of mixtures of normal distributions.

    Parameters
    ----------
    location, scale : ndarray of float, shape (S, n)
        Means and standard deviations of the S components, for each of n rows; no standard deviation is 0.
    weights : ndarray of float, shape (S,)
        Positive, of sum 1.

    Returns
    -------
    ndarray of float, shape (n,)
        In nats, exact to about 1e-11.

    Notes
    -----
    About 200 densities a row and component where components are alike; some thousands where their widths differ a
    thousandfold. Time, of 10 components alike: 20 microseconds a row.

    Examples
    --------
    >>> import numpy as np
    >>> one, far = np.zeros((2, 1)), np.array([[0.0], [100.0]])
    >>> half = np.array([0.5, 0.5])
    >>> alike = mixture_entropy(one, one + 1, half)
    >>> apart = mixture_entropy(far, one + 1, half)
    >>> round(float(alike[0]), 12), round(float(apart[0] - alike[0]), 12)
    (1.418938533205, 0.69314718056)
    """
    n = location.shape[1]
    size = max(_BLOCK // len(weights), 1)
    out = np.empty(n)
    for first in range(0, n, size):
        part = slice(first, first + size)
        mu = np.ascontiguousarray(location[:, part].T)
        sigma = np.ascontiguousarray(scale[:, part].T)
        # In units of the narrowest component, so that no scale of the labels is special.
        unit = sigma.min(axis=1)
        origin = mu[:, :1]
        out[part] = np.log(unit) + _entropies(
            (mu - origin) / unit[:, None], sigma / unit[:, None], weights
        )
    return out


def _entropies(mu: Floats, sigma: Floats, weights: Floats) -> Floats:
    """Return the entropies of some rows, (n, S) -> (n,)."""
    alike = (mu == mu[:, :1]).all(axis=1) & (sigma == sigma[:, :1]).all(axis=1)
    out = np.where(alike, np.log(sigma[:, 0]) + (HALF_LOG_2PI + 0.5), 0.0)
    todo = _supports(mu, sigma, np.flatnonzero(~alike))
    size = max(_BLOCK // (len(_NODES) * mu.shape[1]), 1)
    peak = weights * np.exp(-HALF_LOG_2PI) / sigma
    for halving in range(_HALVINGS):
        todo, short = _measured(todo, mu, sigma)
        again = [todo.some(~short)]
        for part in todo.some(short).blocks(size):
            fine, coarse = _integrals(part, mu, sigma, peak)
            good = (np.abs(fine - coarse) <= _AGREE) | (halving == _HALVINGS - 1)
            np.add.at(out, part.row[good], fine[good])
            again.append(part.some(~good))
        todo = _joined(again).halves()
        if len(todo) == 0:
            break
    return out


def _supports(mu: Floats, sigma: Floats, rows: Ints) -> _Intervals:
    """Return, for each row, the stretches of the line that components reach."""
    low, high = mu[rows] - REACH * sigma[rows], mu[rows] + REACH * sigma[rows]
    order = np.argsort(low, axis=1)
    low = np.take_along_axis(low, order, axis=1)
    high = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    gap = low[:, 1:] > high[:, :-1]
    edge = np.ones((len(rows), 1), dtype=bool)
    first, last = np.hstack([edge, gap]), np.hstack([gap, edge])
    start = low[first]
    return _Intervals(rows[np.nonzero(first)[0]], start, np.zeros(len(start)), high[last] - start)


def _measured(todo: _Intervals, mu: Floats, sigma: Floats) -> tuple[_Intervals, Bools]:
    """Return the intervals that any component reaches, and which of them are short enough beside all of these."""
    size = max(_BLOCK // mu.shape[1], 1)
    longest = np.empty(len(todo))
    for first, part in zip(range(0, len(todo), size), todo.blocks(size), strict=False):
        centre = mu[part.row] - part.origin[:, None]
        width = sigma[part.row]
        away = np.maximum(part.start[:, None] - centre, centre - part.end[:, None])
        allowed = np.where(away < REACH * width, np.maximum(width, away * (1.0 / _AWAY)), np.inf)
        longest[first : first + size] = allowed.min(axis=1)
    reached = np.isfinite(longest)
    todo = todo.some(reached)
    return todo, todo.end - todo.start <= _LENGTH * longest[reached]


def _integrals(part: _Intervals, mu: Floats, sigma: Floats, peak: Floats) -> tuple[Floats, Floats]:
    """Return the integrals of -f log f over intervals, by 15 and by 7 points."""
    from scipy.special import xlogy

    half = (part.end - part.start) / 2
    x = ((part.start + part.end) / 2)[:, None] + half[:, None] * _NODES
    z = x[:, :, None] - (mu[part.row] - part.origin[:, None])[:, None, :]
    z /= sigma[part.row][:, None, :]
    np.multiply(z, z, out=z)
    z *= -0.5
    np.exp(z, out=z)
    f = np.matmul(z, peak[part.row][:, :, None])[:, :, 0]
    sums = np.einsum("ij,rj->ri", -xlogy(f, f), _RULES) * half
    return sums[0], sums[1]


def _joined(parts: list[_Intervals]) -> _Intervals:
    return _Intervals(
        *(
            np.concatenate([getattr(p, name) for p in parts])
            for name in ("row", "origin", "start", "end")
        )
    )


# ------------------------------------------------------------------------------------------
# Mixtures of normal distributions.


class NormalMixture(Numbers):
    """Mixtures of S normal distributions, for n rows.

    Parameters
    ----------
    location, scale : ndarray of float, shape (S, n)
        Means and standard deviations, checked; standard deviations of 0 have no density.
    weights : ndarray of float, shape (S,)
        Positive, of sum 1.
    given : numpy dtype
    what, fix : str
        For messages.
    """

    def __init__(
        self,
        location: Floats,
        scale: Floats,
        weights: Floats,
        given: Any,
        what: str,
        fix: str = NOISE,
    ) -> None:
        self.location, self.scale, self.weights = location, scale, weights
        self.given, self.what, self.fix = given, what, fix

    @property
    def dtype(self) -> Any:
        """Return the type that the model computed in."""
        return number_type(self.given, self.location)

    def __len__(self) -> int:
        return self.location.shape[1]

    @property
    def members(self) -> list[tuple[Numbers, float]]:
        """Return the components and their weights."""
        parts = zip(self.location, self.scale, self.weights.tolist(), strict=True)
        return [(Normal(m, s, self.given, self.what, self.fix), w) for m, s, w in parts]

    @property
    def _spread(self) -> Floats:
        need_spread(self.scale, self.what, self.fix)
        return self.scale

    @cached_property
    def _total(self) -> Floats:
        return mixture_entropy(self.location, self._spread, self.weights)

    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies of the mixtures, the means of their components', or the differences."""
        if part == "total":
            return self._total.copy()
        within = self.weights @ np.log(self._spread) + (HALF_LOG_2PI + 0.5)
        # Jensen: never negative, but by rounding.
        return within if part == "aleatoric" else np.maximum(self._total - within, 0.0)

    def entropy_error(self) -> Floats:
        """Return how far off the total entropies may be, in nats."""
        return np.full(len(self), 1e-10)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density at y, exact however far out."""
        logs = (y - self.location) / self._spread
        logs *= logs
        logs *= -0.5
        logs -= np.log(self.scale)
        logs += np.log(self.weights)[:, None]
        top = logs.max(axis=0)
        logs -= top
        return top + np.log(np.exp(logs, out=logs).sum(axis=0)) - HALF_LOG_2PI

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        from scipy.special import ndtr

        z = (y - self.location) / self._spread
        return self.weights @ ndtr(z), self.weights @ ndtr(-z)

    def mean(self) -> Floats:
        """Return the means."""
        return self.weights @ self.location

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances, by the law of total variance."""
        within = self.weights @ self.scale**2
        between = self.weights @ (self.location - self.mean()) ** 2
        return {"total": within + between, "aleatoric": within, "epistemic": between}[part]

    def quantile(self, p: float) -> Floats:
        """Return the quantiles, exact to rounding."""
        return self._quantile(p, upper=False)

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles."""
        return self._quantile(q, upper=True)

    def _quantile(self, level: float, upper: bool) -> Floats:
        from scipy.special import ndtr, ndtri

        scale, w = self._spread, self.weights
        z = float(ndtri(level)) * (-1.0 if upper else 1.0)
        each = self.location + scale * z

        def score(x: Floats, rows: Ints) -> Floats:
            return (x - self.location[:, rows]) / scale[:, rows]

        def excess(x: Floats, rows: Ints) -> Floats:
            at = score(x, rows)
            right: Bools = at > 0
            return excess_of(ndtr(-np.abs(at)), right, w, level, upper)

        def density(x: Floats, rows: Ints) -> Floats:
            at = score(x, rows)
            return w @ (np.exp(-0.5 * at * at - HALF_LOG_2PI) / scale[:, rows])

        return crossing(each.min(axis=0), each.max(axis=0), scale.min(axis=0), excess, density)


# ------------------------------------------------------------------------------------------
# Mixtures of any distributions of numbers.


class Mixed(Numbers):
    """A mixture of distributions of numbers, all continuous or all discrete.

    Parameters
    ----------
    members : sequence of (Numbers, float)
        Components, none of them a mixture itself, and their weights, of sum 1.
    what : str
        For messages.
    """

    def __init__(self, members: Members, what: str) -> None:
        self.members, self.what = members, what
        self.parts = [m for m, _ in members]
        self.weights = np.array([w for _, w in members])
        self.discrete = self.parts[0].discrete

    @property
    def dtype(self) -> Any:
        """Return the coarsest of the types that the components were computed in."""
        return min((m.dtype for m in self.parts), key=lambda t: t.itemsize)

    def __len__(self) -> int:
        return len(self.parts[0])

    @cached_property
    def _total(self) -> tuple[Floats, Floats]:
        if self.discrete:
            return counted_entropy(self.members, self.log_density, self.what)
        return quantile_entropy(self.members, self.log_density)

    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies of the mixtures, the means of their components', or the differences."""
        if part == "total":
            return self._total[0].copy()
        within = self._mean([m.entropy() for m in self.parts])
        return within if part == "aleatoric" else np.maximum(self._total[0] - within, 0.0)

    def entropy_error(self) -> Floats:
        """Return how far off the total entropies may be, in nats, as the quadrature's last refinement tells."""
        return self._total[1].copy()

    def _mean(self, values: list[Floats]) -> Floats:
        return self.weights @ np.array(values)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density, or log probability, at y."""
        logs = np.array([m.log_density(y) for m in self.parts])
        logs += np.log(self.weights)[:, None]
        top = logs.max(axis=0)
        # Where no component has any density, or one an infinite one, the sum is that.
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return safe + np.log(np.exp(logs - safe).sum(axis=0))

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        each = [m.tails(y) for m in self.parts]
        return self._mean([t[0] for t in each]), self._mean([t[1] for t in each])

    def mean(self) -> Floats:
        """Return the means."""
        return self._mean([m.mean() for m in self.parts])

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances, by the law of total variance."""
        within = self._mean([m.variance() for m in self.parts])
        middle = self.mean()
        between = self._mean([(m.mean() - middle) ** 2 for m in self.parts])
        return {"total": within + between, "aleatoric": within, "epistemic": between}[part]

    def quantile(self, p: float) -> Floats:
        """Return the quantiles."""
        return self._quantile(p, [m.quantile(p) for m in self.parts], upper=False)

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles."""
        return self._quantile(q, [m.upper(q) for m in self.parts], upper=True)

    def _quantile(self, level: float, each: list[Floats], upper: bool) -> Floats:
        low, high = np.min(each, axis=0), np.max(each, axis=0)

        def over(y: Floats) -> Floats:
            below, above = np.moveaxis(np.array([m.tails(y) for m in self.parts]), 1, 0)
            return excess_of(np.minimum(below, above), below > 0.5, self.weights, level, upper)

        if self.discrete:
            return whole_crossing(low, high, over)
        full = low.copy()

        def at(x: Floats, rows: Ints) -> Floats:
            full[rows] = x
            return full

        unit = np.full(len(low), np.finfo(float).tiny)
        return crossing(
            low,
            high,
            np.maximum(unit, np.finfo(float).eps * (high - low)),
            lambda x, rows: over(at(x, rows))[rows],
            lambda x, rows: np.exp(self.log_density(at(x, rows))[rows]),
        )


def mixture_of(members: list[tuple[Numbers, float]], what: str) -> Numbers:
    """Return the mixture of distributions of numbers.

    Parameters
    ----------
    members : list of (Numbers, float)
        Positive weights of sum 1. A member that is a mixture itself stands for its components.
    what : str
        For messages.

    Raises
    ------
    ModelOutputError
        Where continuous and discrete distributions stand side by side.
    """
    flat = [
        (leaf, weight * share)
        for member, weight in members
        for leaf, share in getattr(member, "members", [(member, 1.0)])
    ]
    normal = [m for m, _ in flat if isinstance(m, Normal)]
    if len(normal) == len(flat):
        given = min((m.given for m in normal), key=lambda t: t.itemsize)
        location, scale = (np.array([getattr(m, k) for m in normal]) for k in ("location", "scale"))
        weights = np.array([w for _, w in flat])
        return NormalMixture(location, scale, weights, given, what, normal[0].fix)
    if len({m.discrete for m, _ in flat}) > 1:
        raise ModelOutputError(
            explained(
                what,
                "members with continuous and members with discrete distributions",
                "one kind",
                "Mix only models of the same kind",
            )
        )
    return Mixed(flat, what)
