"""Cases with a known truth: mean and standard deviation of the rows' slopes as functions of the feature.

Each draws places x and local effects d = mean(x) + scatter(x) e with E e = 0 and Var e = 1, so that a method's bins can
be compared with the true mean and standard deviation. The first two are the papers' (RHALE and UALE, sec. 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]
Draw = Callable[[int, np.random.Generator], Floats]


def uniform(n: int, rng: np.random.Generator) -> Floats:
    """Draw from U(0, 1)."""
    return rng.uniform(size=n)


def lognormal(n: int, rng: np.random.Generator) -> Floats:
    """Draw exp(normal): a tenth of the rows lies on nine tenths of the axis."""
    return np.exp(rng.normal(size=n))


def thirty(n: int, rng: np.random.Generator) -> Floats:
    """Draw from 0, 1, .., 29."""
    return rng.integers(0, 30, size=n).astype(float)


def normal(n: int, rng: np.random.Generator) -> Floats:
    """Draw noise with light tails."""
    return rng.normal(size=n)


def student(n: int, rng: np.random.Generator) -> Floats:
    """Draw from Student's t with 3 degrees of freedom, of variance 1: its fourth moment is infinite."""
    return rng.standard_t(3, size=n) / np.sqrt(3.0)


def constant(value: float) -> Curve:
    """Return a function that does not depend on x."""
    return lambda x: np.full(np.shape(x), value)


@dataclass(frozen=True)
class Steps:
    """A step function, and a line on top of it.

    Parameters
    ----------
    at : sequence of float
        Where it jumps.
    level : sequence of float
        Between the jumps; one more than there are jumps.
    slope : float
        What is added per unit of x.
    """

    at: Sequence[float]
    level: Sequence[float]
    slope: float = 0.0

    def __call__(self, x: Floats) -> Floats:
        """Return the value at x; at a jump that of its right side."""
        place = np.searchsorted(np.asarray(self.at), x, side="right")
        return np.asarray(self.level, dtype=float)[place] + self.slope * x


@dataclass(frozen=True, eq=False)
class Case:
    """One truth.

    Parameters
    ----------
    name : str
    mean, scatter : callable
        Of the local effects at x: mean, and standard deviation.
    breaks : sequence of float
        Where one of them jumps.
    draw : callable
        Draws the feature.
    noise : callable
        Draws e.
    values : ndarray, optional
        All values that the feature may have, if these are few: errors are then averaged over them, not over the axis.
    """

    name: str
    mean: Curve
    scatter: Curve
    breaks: Sequence[float] = ()
    draw: Draw = uniform
    noise: Draw = normal
    values: Floats | None = None

    def sample(self, n: int, seed: int) -> tuple[Floats, Floats]:
        """Return n places in order, and the local effects there."""
        rng = np.random.default_rng([seed, n])
        x = np.sort(self.draw(n, rng))
        return x, self.mean(x) + self.scatter(x) * self.noise(n, rng)


def stepped(name: str, mean: Steps, scatter: Curve, **more: object) -> Case:
    """Return a case whose mean jumps."""
    return Case(name, mean, scatter, breaks=tuple(mean.at), **more)  # type: ignore[arg-type]


_ROOT = float(np.sqrt(0.5))
# x2 ~ N(x1, 0.5), and the slope of a(x1) x1 + x1 x2 is a + x2: its mean is a + x1.
_PAPER = Steps([0.2, 0.4, 0.45, 0.5], [2, -2, 5, -10, 0.5], slope=1.0)
_MANY = Steps(
    [0.05, 0.1, 0.18, 0.22, 0.3, 0.4, 0.43, 0.55, 0.6, 0.75, 0.8, 0.92],
    [0, 3, -2, 1, 5, 4, -3, 0, 2, -1, 3, 1, -2],
)
CASES: tuple[Case, ...] = (
    stepped("piecewise (papers)", _PAPER, constant(_ROOT)),
    # 4 x1² + x2² + x1 x2: the slope is 8 x1 + x2.
    Case("non-linear (papers)", lambda x: 9.0 * x, constant(_ROOT)),
    Case("constant", constant(1.0), constant(1.0)),
    Case("constant, heavy-tailed d", constant(1.0), constant(1.0), noise=student),
    stepped("one jump", Steps([0.37], [0, 1]), constant(1.0)),
    stepped("many jumps", _MANY, constant(0.7)),
    Case("smooth (sine)", lambda x: 6.0 * np.sin(2.0 * np.pi * x), constant(1.0)),
    Case(
        "spike, std by region",
        Steps([0.6, 0.65], [1, 7, 1]),
        Steps([0.5, 0.7], [0.1, 0.5, 2.0]),
        breaks=(0.5, 0.6, 0.65, 0.7),
    ),
    Case("mean and std smooth", lambda x: 3.0 * x**2, lambda x: 0.1 + 1.5 * x),
    Case(
        "heavy-tailed x",
        Steps([1.0, 3.0], [0, 2, 1]),
        Steps([1.0], [0.5, 1.0]),
        breaks=(1.0, 3.0),
        draw=lognormal,
    ),
    stepped("heavy-tailed d", Steps([0.3, 0.7], [0, 2, -1]), constant(1.0), noise=student),
    stepped(
        "ties (integers)",
        Steps([11.5, 19.5], [0, 1, 3]),
        constant(0.8),
        draw=thirty,
        values=np.arange(30.0),
    ),
    Case("smooth, no noise", lambda x: 6.0 * x**2, constant(0.0)),
)
CASE = {case.name: case for case in CASES}
