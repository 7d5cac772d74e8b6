"""Distributions over numbers: normal, mixtures; quantiles by root finding, entropy by quadrature.

`NumericDistribution` is the base class of continuous and discrete distributions of a number. `Normal` has closed forms.
`NormalMixture` and `NumericMixture` (mixtures of any distributions) have none for quantiles and entropies:

- A *quantile* is the root of the mixture's distribution function minus a probability (`find_roots`), found by Newton's
  method with bisection as fallback. Probabilities are computed from the smaller tail, so that small ones keep their
  digits (`excess_probability`).
- The *entropy of a mixture of normal distributions* (`mixture_entropy`) is integrated by the Gauss-Kronrod rules of 7
  and 15 points, on intervals that are halved until each is short compared with the components that reach it, and both
  rules agree. Gaps between distant components are left out. So neither distances nor very different widths cost much,
  and no component is missed. Every row has intervals of its own: a result does not depend on other rows.
- The *entropy of other mixtures* is integrated between quantiles of the components (`quantile_entropy`), or summed over
  the integers if they are discrete (`integer_entropy`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from skedasis._types import Bools, DType, Floats, Ints, RawResponse, Values
from skedasis.distributions.base import Predicted, UncertaintyPart, require_total
from skedasis.errors import ModelOutputError, UnsupportedError
from skedasis.models.calling import as_numbers, unit_round_off

# --- distributions of a number, and the normal distribution ---------------------------------------

HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))

_N_INSPECTED = 64
"""Numbers of a response that are inspected for single precision."""

NOISE = (
    "Include the noise of the observations: a WhiteKernel in the kernel of a Gaussian process, "
    "or noise= in sd.ensemble"
)
"""Advice for models that predict a standard deviation of 0."""


class NumericDistribution(Predicted):
    """The distributions of a number for n rows."""

    what: str
    """The model, for messages."""

    discrete = False
    """Whether the distributions are over integers and have probabilities instead of densities."""

    def log_likelihood(self, y: Values) -> Floats:
        """Return the log density, or for discrete distributions the log probability, at the rows' labels."""
        logs = self.log_density(as_label_numbers(y))
        impossible = int(np.count_nonzero(logs == -np.inf))
        if impossible:
            raise ModelOutputError(
                self.what,
                f"a likelihood of 0 for the labels of {impossible:,} of {len(self):,} rows",
                "labels inside the support of the predictive distributions",
                "Use a model whose distributions include all labels",
            )
        return logs

    @abstractmethod
    def log_density(self, y: Floats) -> Floats:
        """Return the log density, or log probability, at one y per row, (n,) -> (n,); -inf outside the support."""

    @abstractmethod
    def tail_probabilities(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y, for one y per row; small ones keep their digits."""

    @abstractmethod
    def upper_quantile(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles, also for q so small that 1 - q is 1 in floating point."""

    def components(self) -> Components:
        """Return the components of a mixture and their weights; the distribution itself if it is no mixture."""
        return [(self, 1.0)]

    def entropy_and_error(self) -> tuple[Floats, Floats]:
        """Return the entropies by quadrature, and the errors that it estimates, in nats."""
        if self.discrete:
            return integer_entropy(self.components(), self.log_density, self.what)
        return quantile_entropy(self.components(), self.log_density)

    def quantile_at_score(self, z: float) -> Floats:
        """Return the p-quantiles for the probability p with which a standard normal variable is at most z."""
        from scipy.special import ndtr

        return self.quantile(float(ndtr(z))) if z <= 0 else self.upper_quantile(float(ndtr(-z)))


class _Normals(NumericDistribution):
    """Base of normal distributions and mixtures of them.

    `location` and `scale`, (n,) or (S, n), are valid means and standard deviations; a standard deviation of 0 has no
    density. `raw_dtype` is that of the model's response. For messages `what` is the model, and `fix` the advice for
    standard deviations of 0.
    """

    def __init__(
        self, location: Floats, scale: Floats, raw_dtype: DType, what: str, fix: str = NOISE
    ) -> None:
        self.location, self.scale, self.raw_dtype = location, scale, raw_dtype
        self.what, self.fix = what, fix

    @property
    def dtype(self) -> DType:
        return computed_dtype(self.raw_dtype, self.location)

    def __len__(self) -> int:
        return self.location.shape[-1]

    @property
    def _positive_scale(self) -> Floats:
        """Return the standard deviations; raise if one is 0, because then there is no density."""
        check_positive_scale(self.scale, self.what, self.fix)
        return self.scale


class Normal(_Normals):
    """Normal distributions: location and scale have shape (n,)."""

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        """Return log(2 pi e scale²) / 2."""
        require_total(part)
        return np.log(self._positive_scale) + (HALF_LOG_2PI + 0.5)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density at y, accurate also in the far tails."""
        z = (y - self.location) / self._positive_scale
        return -0.5 * z * z - np.log(self.scale) - HALF_LOG_2PI

    def tail_probabilities(self, y: Floats) -> tuple[Floats, Floats]:
        from scipy.special import ndtr

        z = (y - self.location) / self._positive_scale
        return ndtr(z), ndtr(-z)

    def mean(self) -> Floats:
        return self.location.copy()

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        require_total(part)
        return self.scale**2

    def quantile(self, p: float) -> Floats:
        """Return mean + scale · the quantile of the standard normal distribution."""
        from scipy.special import ndtri

        return self.location + self.scale * float(ndtri(p))

    def upper_quantile(self, q: float) -> Floats:
        from scipy.special import ndtri

        return self.location - self.scale * float(ndtri(q))

    def quantile_at_score(self, z: float) -> Floats:
        """Return mean + scale · z."""
        return self.location + self.scale * z


def check_positive_scale(scale: Floats, what: str, fix: str) -> None:
    """Raise if a standard deviation, in (…, n), is 0."""
    if scale.min(initial=np.inf) > 0:
        return
    certain = (scale == 0).reshape(-1, scale.shape[-1]).any(axis=0)
    raise ModelOutputError(
        what,
        f"a standard deviation of 0 for {int(certain.sum()):,} of {len(certain):,} rows",
        "positive standard deviations, because otherwise there is no density",
        fix,
    )


def computed_dtype(raw_dtype: DType, values: Floats) -> DType:
    """Return the dtype that a model computed in, inferred from the dtype and some numbers of its response.

    It is the dtype of the response if this is shorter than float64; float32 if all inspected numbers are representable
    in it; otherwise float64.
    """
    if raw_dtype.kind == "f" and raw_dtype.itemsize < 8:
        return raw_dtype
    single = unit_round_off(raw_dtype, values.reshape(-1)[:_N_INSPECTED]) > np.finfo(float).eps
    return np.dtype(np.float32) if single else np.dtype(float)


def as_label_numbers(y: Values) -> Floats:
    """Return labels as numbers; raise for class codes."""
    if y.dtype.kind != "f":
        raise UnsupportedError(
            "y",
            "classes",
            "numbers, because the model returns distributions of a number",
            "Pass y as numbers",
        )
    return y.astype(float, copy=False)


def as_normal(mean: RawResponse, std: RawResponse, n: int, what: str, fix: str = NOISE) -> Normal:
    """Return normal distributions from means and standard deviations, (n,) each."""
    raw_dtype = np.result_type(np.asarray(mean).dtype, np.asarray(std).dtype)
    location, scale = (
        one_per_row(mean, n, what, "mean"),
        one_per_row(std, n, what, "standard deviation"),
    )
    negative = int(np.count_nonzero(scale < 0))
    if negative:
        raise ModelOutputError(
            what,
            f"a negative standard deviation for {negative:,} of {n:,} rows",
            "standard deviations of 0 or more",
            "Return standard deviations, none of them below 0",
        )
    return Normal(location, scale, raw_dtype, what, fix)


def one_per_row(raw: RawResponse, n: int, what: str, which: str) -> Floats:
    """Return a checked copy of one finite number for each row, (n,)."""
    response = np.array(as_numbers(raw, what))
    if response.shape == (n, 1):
        response = response[:, 0]
    if response.shape != (n,):
        raise ModelOutputError(
            what,
            f"a {which} of shape {response.shape}",
            f"shape ({n},)",
            "Return one number for each row of X; explain several outputs one by one",
        )
    invalid = int(np.count_nonzero(~np.isfinite(response)))
    if invalid:
        raise ModelOutputError(
            what,
            f"a {which} that is NaN or infinite for {invalid:,} of {n:,} rows",
            "finite numbers",
            "If X has missing values that the model cannot handle, impute them or drop those rows",
        )
    return response


# --- entropy from quantiles and densities, or from probabilities of integers ----------------------

_REACH = 8.5
"""Standard deviations up to which a component is integrated: beyond lies 2e-17 of its probability."""

_N_NODES = 10
"""Nodes of the Gauss-Legendre rule between two cuts."""

_PANELS = (3, 6, 12, 24, 48, 96)
"""Cuts on either side of each component's median, in successive rounds."""

_MAX_CUTS = 1500
"""Largest number of cuts per row, from the third round on."""

_TOLERANCE = 1e-9
"""Largest error of the entropy, in nats, and of the total probability."""

_MAX_INTEGERS = 100_000
"""Largest number of integers that probabilities are summed over."""

_TAIL = 1e-15
"""Probability of each tail that is left out of a sum over integers."""

Components: TypeAlias = Sequence[tuple[NumericDistribution, float]]
"""Components of a mixture and their weights, whose sum is 1."""


def quantile_entropy(
    members: Components, log_density: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Return the differential entropies of mixtures, and estimates of their errors, (n,) each, in nats.

    The integral of -f log f is cut at quantiles of every component: those at evenly spaced scores of a standard normal
    variable from -8.5 to 8.5. So there are cuts wherever a component has its mass, however narrow it is, and the cuts
    adapt to the ends and tails of the support. Between two cuts, the Gauss-Legendre rule of 10 points is applied. The
    number of cuts per component grows from 7 to 193, until doubling it changes a row's result by no more than 1e-9,
    and the row's total probability differs from 1 by no more than 1e-9. The error is the last change, or the
    difference of the total probability from 1, if that is larger.

    The members are continuous, and `log_density` is that of the mixture, (n,) -> (n,). The cost is 70 to 1,930
    densities of the whole mixture per component, and fewer with many components, because they share cuts. All rows are
    computed as long as one row has not converged, but a row's result is final once it has converged: it does not
    depend on other rows.
    """
    n = len(members[0][0])
    value, error = np.zeros(n), np.full(n, np.inf)
    for panels in _PANELS:
        if panels > _PANELS[1] and len(members) * (2 * panels + 1) > _MAX_CUTS:
            break
        refined, mass = _integrate_panels(members, log_density, panels)
        unfinished = ~(error <= _TOLERANCE)
        # A component that every round misses changes nothing, but its probability is missing in the total.
        change = np.abs(refined - value) if panels > _PANELS[0] else np.inf
        error = np.where(unfinished, np.maximum(change, np.abs(mass - 1.0)), error)
        value = np.where(unfinished, refined, value)
        if (error <= _TOLERANCE).all():
            break
    return value, error


def _integrate_panels(
    members: Components, log_density: Callable[[Floats], Floats], panels: int
) -> tuple[Floats, Floats]:
    """Return entropies and total probabilities with `panels` cuts on either side of each component's median."""
    cuts = np.sort(np.concatenate([_cuts(m, panels) for m, _ in members]), axis=0)
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
    total, mass = np.zeros((2, cuts.shape[1]))
    for left, right in pairwise(cuts):
        half = 0.5 * (right - left)
        if not half.any():
            continue
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            logs = log_density(left + half * (1.0 + node))
            # A density of 0 adds nothing, and a density is infinite at single points only, which are cuts.
            finite = (half > 0) & np.isfinite(logs)
            p = np.where(finite, np.exp(np.where(finite, logs, 0.0)) * (weight * half), 0.0)
            mass += p
            total -= p * np.where(finite, logs, 0.0)
    return total, mass


def _cuts(member: NumericDistribution, panels: int) -> Floats:
    """Return a component's quantiles at evenly spaced scores, (2 panels + 1, n)."""
    scores = np.linspace(-_REACH, _REACH, 2 * panels + 1)
    cuts = np.array([member.quantile_at_score(z) for z in scores.tolist()])
    # Extreme quantiles may be infinite: they are replaced by the last finite one.
    for k in range(panels + 1, len(cuts)):
        cuts[k] = np.where(np.isfinite(cuts[k]), cuts[k], cuts[k - 1])
    for k in range(panels - 1, -1, -1):
        cuts[k] = np.where(np.isfinite(cuts[k]), cuts[k], cuts[k + 1])
    return cuts


def integer_entropy(
    members: Components, log_density: Callable[[Floats], Floats], what: str
) -> tuple[Floats, Floats]:
    """Return the entropies of mixtures over integers, and bounds of their errors, (n,) each.

    The members are discrete, and `log_density` is the log probability of integers under the mixture, (n,) -> (n,).
    `what` is the model, for messages.
    """
    low = np.min([m.quantile(_TAIL) for m, _ in members], axis=0)
    high = np.max([m.upper_quantile(_TAIL) for m, _ in members], axis=0)
    width = (high - low).max(initial=0.0)
    if not width <= _MAX_INTEGERS:
        raise UnsupportedError(
            f"entropy({what})",
            f"distributions over {width:,.0f} integers",
            f"at most {_MAX_INTEGERS:,} integers",
            "Use continuous distributions for numbers of this size",
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
            f"entropy({what})",
            "discrete distributions over values that are not integers",
            "distributions over integers, or continuous ones",
            "Use sd.predictive_variance, or a model with continuous distributions",
        )
    return np.maximum(total, 0.0), np.full(len(low), 1e-12)


# --- quantiles of mixtures: roots of many rows at once --------------------------------------------

_MAX_STEPS = 400

_ULP = 4 * float(np.finfo(float).eps)
"""Relative tolerance of a root."""

PointFunction: TypeAlias = Callable[[Floats, Ints], Floats]
"""A function of points, one for each of some rows, and the indices of these rows: (m,), (m,) -> (m,)."""


def find_roots(
    low: Floats, high: Floats, unit: Floats, excess: PointFunction, density: PointFunction
) -> Floats:
    """Return the roots of increasing functions, one function per row, each bracketed by `low` and `high`, (n,).

    Newton's method is used where its steps stay in the bracket and shrink, bisection elsewhere. `excess` is the
    function, and `density` its derivative. `unit`, (n,), is a length that is small on the scale of the row: a root
    near 0 is exact to a few units in the last place of it.
    """
    low, high = low.copy(), high.copy()
    root = low + (high - low) / 2
    before = high - low
    rows = np.flatnonzero(high > low)
    for _ in range(_MAX_STEPS):
        if len(rows) == 0:
            break
        x = root[rows]
        over = excess(x, rows)
        below = over < 0
        low[rows], high[rows] = np.where(below, x, low[rows]), np.where(below, high[rows], x)
        new = _next_point(x, over, density(x, rows), low[rows], high[rows], before[rows])
        step = np.abs(new - x)
        root[rows], before[rows] = new, step
        tolerance = _ULP * np.maximum(np.abs(new), unit[rows])
        done = (over == 0) | (step <= tolerance) | (high[rows] - low[rows] <= tolerance)
        root[rows] = np.where(over == 0, x, root[rows])
        rows = rows[~done]
    return root


def _next_point(
    x: Floats, over: Floats, slope: Floats, low: Floats, high: Floats, before: Floats
) -> Floats:
    """Return Newton's points where they stay in the bracket and at least halve the step, else the middle."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = x - over / slope
    valid = (newton > low) & (newton < high) & (np.abs(newton - x) <= before / 2)
    return np.where(valid, newton, low + (high - low) / 2)


def find_integer_roots(low: Floats, high: Floats, excess: Callable[[Floats], Floats]) -> Floats:
    """Return the smallest integers from `low` to `high` at which increasing functions are not negative."""
    low, high = np.floor(low), np.floor(high)
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        below = excess(middle) < 0
        low, high = np.where(below & (low < high), middle + 1, low), np.where(below, high, middle)
    return high


def excess_probability(
    small: Floats, right: Bools, weights: Floats, level: float, upper: bool
) -> Floats:
    """Return a mixture's probability of at most x minus a level; small probabilities keep their digits.

    `small`, (S, m), is the smaller one of a component's probabilities below and above x, and `right`, (S, m), whether
    it is that above. `level` is 1 minus the level if `upper` is true.
    """
    w = weights[:, None]
    rest = np.where(right != upper, w, 0.0).sum(axis=0)
    base = level - rest if upper else rest - level
    # Between distant components the function is nearly flat: only the small tails determine where it is zero.
    return base + (np.where(right, -w, w) * small).sum(axis=0)


# --- entropy of mixtures of normal distributions --------------------------------------------------

_LENGTH, _AWAY = 3.0, 4.0
"""An interval may be three standard deviations long, or as long as 3/4 of its distance from the mean."""

_AGREE = 1e-9
"""Largest difference between the rules of 7 and 15 points, in nats; the latter is then exact to about 1e-11."""

_HALVINGS = 80

_BLOCK = 250_000
"""Number of densities that are computed at a time."""

# QUADPACK's qk15 (Piessens et al., 1983): nodes from the outermost to the innermost, Kronrod weights, Gauss weights.
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
    """Intervals, each of one row: from `start` to `end`, both relative to `origin`.

    A difference from an origin nearby keeps its digits, also if the row's numbers are large.
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
    """Return the differential entropies of mixtures of normal distributions, (n,), in nats, exact to about 1e-11.

    `location` and `scale`, (S, n), are means and positive standard deviations of the S components, and `weights`,
    (S,), positive with sum 1. The cost is about 200 densities per row and component if components are similar, and
    some thousands if their widths differ by a factor of 1,000. Ten similar components take 20 microseconds per row.
    """
    n = location.shape[1]
    size = max(_BLOCK // len(weights), 1)
    out = np.empty(n)
    for first in range(0, n, size):
        part = slice(first, first + size)
        mu = np.ascontiguousarray(location[:, part].T)
        sigma = np.ascontiguousarray(scale[:, part].T)
        # In units of the narrowest component, so that the result does not depend on the scale of the labels.
        unit = sigma.min(axis=1)
        origin = mu[:, :1]
        out[part] = np.log(unit) + _entropies(
            (mu - origin) / unit[:, None], sigma / unit[:, None], weights
        )
    return out


def _entropies(mu: Floats, sigma: Floats, weights: Floats) -> Floats:
    """Return the entropies of some rows, (n, S) -> (n,)."""
    equal = (mu == mu[:, :1]).all(axis=1) & (sigma == sigma[:, :1]).all(axis=1)
    out = np.where(equal, np.log(sigma[:, 0]) + (HALF_LOG_2PI + 0.5), 0.0)
    todo = _supports(mu, sigma, np.flatnonzero(~equal))
    size = max(_BLOCK // (len(_NODES) * mu.shape[1]), 1)
    peak = weights * np.exp(-HALF_LOG_2PI) / sigma
    for halving in range(_HALVINGS):
        todo, short = _within_reach(todo, mu, sigma)
        unfinished = [todo.some(~short)]
        for part in todo.some(short).blocks(size):
            fine, coarse = _integrals(part, mu, sigma, peak)
            done = (np.abs(fine - coarse) <= _AGREE) | (halving == _HALVINGS - 1)
            np.add.at(out, part.row[done], fine[done])
            unfinished.append(part.some(~done))
        todo = _joined(unfinished).halves()
        if len(todo) == 0:
            break
    return out


def _supports(mu: Floats, sigma: Floats, rows: Ints) -> _Intervals:
    """Return for each row the union of the components' supports, as disjoint intervals."""
    low, high = mu[rows] - _REACH * sigma[rows], mu[rows] + _REACH * sigma[rows]
    order = np.argsort(low, axis=1)
    low = np.take_along_axis(low, order, axis=1)
    high = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    gap = low[:, 1:] > high[:, :-1]
    edge = np.ones((len(rows), 1), dtype=bool)
    first, last = np.hstack([edge, gap]), np.hstack([gap, edge])
    start = low[first]
    return _Intervals(rows[np.nonzero(first)[0]], start, np.zeros(len(start)), high[last] - start)


def _within_reach(todo: _Intervals, mu: Floats, sigma: Floats) -> tuple[_Intervals, Bools]:
    """Return the intervals inside any component's support, and which of them are short enough for the rules."""
    size = max(_BLOCK // mu.shape[1], 1)
    scale = np.empty(len(todo))
    for first, part in zip(range(0, len(todo), size), todo.blocks(size), strict=False):
        centre = mu[part.row] - part.origin[:, None]
        width = sigma[part.row]
        away = np.maximum(part.start[:, None] - centre, centre - part.end[:, None])
        allowed = np.where(away < _REACH * width, np.maximum(width, away * (1.0 / _AWAY)), np.inf)
        scale[first : first + size] = allowed.min(axis=1)
    reached = np.isfinite(scale)
    todo = todo.some(reached)
    return todo, todo.end - todo.start <= _LENGTH * scale[reached]


def _integrals(part: _Intervals, mu: Floats, sigma: Floats, peak: Floats) -> tuple[Floats, Floats]:
    """Return the integrals of -f log f over intervals, by the rules of 15 and of 7 points."""
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
        np.concatenate([p.row for p in parts]),
        np.concatenate([p.origin for p in parts]),
        np.concatenate([p.start for p in parts]),
        np.concatenate([p.end for p in parts]),
    )


# --- mixtures -------------------------------------------------------------------------------------


class NormalMixture(_Normals):
    """Mixtures of S normal distributions, for n rows.

    Parameters are those of `_Normals`, (S, n), and `weights`, (S,), positive with sum 1.
    """

    def __init__(
        self,
        location: Floats,
        scale: Floats,
        weights: Floats,
        raw_dtype: DType,
        what: str,
        fix: str = NOISE,
    ) -> None:
        super().__init__(location, scale, raw_dtype, what, fix)
        self.weights = weights

    def components(self) -> Components:
        parts = zip(self.location, self.scale, self.weights.tolist(), strict=True)
        return [(Normal(m, s, self.raw_dtype, self.what, self.fix), w) for m, s, w in parts]

    @cached_property
    def _total(self) -> Floats:
        return mixture_entropy(self.location, self._positive_scale, self.weights)

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        """Return the entropies of the mixtures, the means of the components' entropies, or the differences."""
        if part == "total":
            return self._total.copy()
        within = self.weights @ np.log(self._positive_scale) + (HALF_LOG_2PI + 0.5)
        # Not negative by Jensen's inequality, except for rounding.
        return within if part == "aleatoric" else np.maximum(self._total - within, 0.0)

    def entropy_error(self) -> Floats:
        """Return bounds of the errors of the total entropies, in nats."""
        return np.full(len(self), 1e-10)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density at y, accurate also in the far tails."""
        logs = (y - self.location) / self._positive_scale
        logs *= logs
        logs *= -0.5
        logs -= np.log(self.scale)
        logs += np.log(self.weights)[:, None]
        top = logs.max(axis=0)
        logs -= top
        return top + np.log(np.exp(logs, out=logs).sum(axis=0)) - HALF_LOG_2PI

    def tail_probabilities(self, y: Floats) -> tuple[Floats, Floats]:
        from scipy.special import ndtr

        z = (y - self.location) / self._positive_scale
        return self.weights @ ndtr(z), self.weights @ ndtr(-z)

    def mean(self) -> Floats:
        return self.weights @ self.location

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        """Return the variances, by the law of total variance."""
        within = self.weights @ self.scale**2
        between = self.weights @ (self.location - self.mean()) ** 2
        return {"total": within + between, "aleatoric": within, "epistemic": between}[part]

    def quantile(self, p: float) -> Floats:
        """Return the quantiles, exact to rounding."""
        return self._quantile(p, upper=False)

    def upper_quantile(self, q: float) -> Floats:
        return self._quantile(q, upper=True)

    def _quantile(self, level: float, upper: bool) -> Floats:
        from scipy.special import ndtr, ndtri

        scale, w = self._positive_scale, self.weights
        z = float(ndtri(level)) * (-1.0 if upper else 1.0)
        each = self.location + scale * z

        def score(x: Floats, rows: Ints) -> Floats:
            return (x - self.location[:, rows]) / scale[:, rows]

        def excess(x: Floats, rows: Ints) -> Floats:
            at = score(x, rows)
            right: Bools = at > 0
            return excess_probability(ndtr(-np.abs(at)), right, w, level, upper)

        def density(x: Floats, rows: Ints) -> Floats:
            at = score(x, rows)
            return w @ (np.exp(-0.5 * at * at - HALF_LOG_2PI) / scale[:, rows])

        return find_roots(each.min(axis=0), each.max(axis=0), scale.min(axis=0), excess, density)


class NumericMixture(NumericDistribution):
    """A mixture of distributions of numbers, all continuous or all discrete."""

    def __init__(self, members: Components, what: str) -> None:
        self.members, self.what = members, what
        self.parts = [m for m, _ in members]
        self.weights = np.array([w for _, w in members])
        self.discrete = self.parts[0].discrete

    def components(self) -> Components:
        return self.members

    @property
    def dtype(self) -> DType:
        """Return the shortest dtype that a component was computed in."""
        return min((m.dtype for m in self.parts), key=lambda t: t.itemsize)

    def __len__(self) -> int:
        return len(self.parts[0])

    @cached_property
    def _total(self) -> tuple[Floats, Floats]:
        return self.entropy_and_error()

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        """Return the entropies of the mixtures, the means of the components' entropies, or the differences."""
        if part == "total":
            return self._total[0].copy()
        within = self._mean([m.entropy() for m in self.parts])
        return within if part == "aleatoric" else np.maximum(self._total[0] - within, 0.0)

    def entropy_error(self) -> Floats:
        """Return the errors of the total entropies, in nats, as estimated by the last refinement of the quadrature."""
        return self._total[1].copy()

    def _mean(self, values: list[Floats]) -> Floats:
        return self.weights @ np.array(values)

    def log_density(self, y: Floats) -> Floats:
        logs = np.array([m.log_density(y) for m in self.parts])
        logs += np.log(self.weights)[:, None]
        top = logs.max(axis=0)
        # If no component has a density, or one has an infinite density, the sum is -inf or inf.
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return safe + np.log(np.exp(logs - safe).sum(axis=0))

    def tail_probabilities(self, y: Floats) -> tuple[Floats, Floats]:
        each = [m.tail_probabilities(y) for m in self.parts]
        return self._mean([t[0] for t in each]), self._mean([t[1] for t in each])

    def mean(self) -> Floats:
        return self._mean([m.mean() for m in self.parts])

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        """Return the variances, by the law of total variance."""
        within = self._mean([m.variance() for m in self.parts])
        middle = self.mean()
        between = self._mean([(m.mean() - middle) ** 2 for m in self.parts])
        return {"total": within + between, "aleatoric": within, "epistemic": between}[part]

    def quantile(self, p: float) -> Floats:
        return self._quantile(p, [m.quantile(p) for m in self.parts], upper=False)

    def upper_quantile(self, q: float) -> Floats:
        return self._quantile(q, [m.upper_quantile(q) for m in self.parts], upper=True)

    def _quantile(self, level: float, each: list[Floats], upper: bool) -> Floats:
        low, high = np.min(each, axis=0), np.max(each, axis=0)

        def over(y: Floats) -> Floats:
            below, above = np.moveaxis(
                np.array([m.tail_probabilities(y) for m in self.parts]), 1, 0
            )
            return excess_probability(
                np.minimum(below, above), below > 0.5, self.weights, level, upper
            )

        if self.discrete:
            return find_integer_roots(low, high, over)
        full = low.copy()

        def at(x: Floats, rows: Ints) -> Floats:
            full[rows] = x
            return full

        unit = np.full(len(low), np.finfo(float).tiny)
        return find_roots(
            low,
            high,
            np.maximum(unit, np.finfo(float).eps * (high - low)),
            lambda x, rows: over(at(x, rows))[rows],
            lambda x, rows: np.exp(self.log_density(at(x, rows))[rows]),
        )


def mixture_of(members: list[tuple[NumericDistribution, float]], what: str) -> NumericDistribution:
    """Return the mixture of distributions of numbers."""
    flat = [
        (component, weight * fraction)
        for member, weight in members
        for component, fraction in member.components()
    ]
    normal = [m for m, _ in flat if isinstance(m, Normal)]
    if len(normal) == len(flat):
        raw_dtype = min((m.raw_dtype for m in normal), key=lambda t: t.itemsize)
        location, scale = (
            np.array([m.location for m in normal]),
            np.array([m.scale for m in normal]),
        )
        weights = np.array([w for _, w in flat])
        return NormalMixture(location, scale, weights, raw_dtype, what, normal[0].fix)
    if len({m.discrete for m, _ in flat}) > 1:
        raise ModelOutputError(
            what,
            "members with continuous and members with discrete distributions",
            "members of one kind",
            "Combine only models of the same kind",
        )
    return NumericMixture(flat, what)
