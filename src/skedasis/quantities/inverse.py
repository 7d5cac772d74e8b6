"""`InverseFunction`: what `prediction(inverse=...)` applies to predictions, with its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np

from skedasis._arguments import listed, shown
from skedasis._types import Floats
from skedasis.errors import DataError, ModelOutputError, nearest
from skedasis.models.calling import as_numbers
from skedasis.models.introspection import title

ArrayFunction: TypeAlias = Callable[[Floats], object]
"""A vectorised function of numbers: (n,) to (n,), which is checked."""

InverseName: TypeAlias = (
    Literal[
        "exp",
        "exp2",
        "exp10",
        "expm1",
        "log",
        "log1p",
        "square",
        "cube",
        "sqrt",
        "cbrt",
        "reciprocal",
    ]
    | Literal["sinh", "tanh", "expit", "ndtr", "identity"]
)
"""Functions that are known by name, with their derivatives: the inverses of usual transformations of labels."""

InverseLike: TypeAlias = InverseName | ArrayFunction | tuple[ArrayFunction, ArrayFunction]
"""The argument `inverse`: a name, a vectorised function, or a function and its derivative."""


# --- known functions --------------------------------------------------------------------------------


class Known(NamedTuple):
    """A function and its derivatives, of an array."""

    function: Callable[[Floats], Floats]
    first: Callable[[Floats], Floats]
    second: Callable[[Floats], Floats]


_LN2, _LN10 = float(np.log(2.0)), float(np.log(10.0))


def _exp10(v: Floats) -> Floats:
    return np.power(10.0, v)


def _expit(v: Floats) -> Floats:
    from scipy.special import expit  # imported where it is needed

    return np.asarray(expit(v))


def _expit_slope(v: Floats) -> Floats:
    return _expit(v) * _expit(-v)  # 1 - expit(v) loses its digits where it is near 0


def _ndtr(v: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(v))


def _density(v: Floats) -> Floats:
    return np.exp(-0.5 * v * v) / np.sqrt(2.0 * np.pi)


def _tanh_slope(v: Floats) -> Floats:
    return np.cosh(v) ** -2.0


KNOWN: dict[str, Known] = {
    "exp": Known(np.exp, np.exp, np.exp),
    "exp2": Known(np.exp2, lambda v: _LN2 * np.exp2(v), lambda v: _LN2**2 * np.exp2(v)),
    "exp10": Known(_exp10, lambda v: _LN10 * _exp10(v), lambda v: _LN10**2 * _exp10(v)),
    "expm1": Known(np.expm1, np.exp, np.exp),
    "log": Known(np.log, np.reciprocal, lambda v: -1.0 / (v * v)),
    "log1p": Known(np.log1p, lambda v: 1.0 / (1.0 + v), lambda v: -((1.0 + v) ** -2.0)),
    "square": Known(np.square, lambda v: 2.0 * v, lambda v: np.full_like(v, 2.0)),
    "cube": Known(lambda v: v**3, lambda v: 3.0 * v * v, lambda v: 6.0 * v),
    "sqrt": Known(np.sqrt, lambda v: 0.5 / np.sqrt(v), lambda v: -0.25 / (v * np.sqrt(v))),
    "cbrt": Known(
        np.cbrt, lambda v: 1.0 / (3.0 * np.cbrt(v) ** 2), lambda v: -2.0 / (9.0 * np.cbrt(v) ** 5)
    ),
    "reciprocal": Known(np.reciprocal, lambda v: -1.0 / (v * v), lambda v: 2.0 / v**3),
    "sinh": Known(np.sinh, np.cosh, np.sinh),
    "tanh": Known(np.tanh, _tanh_slope, lambda v: -2.0 * np.tanh(v) * _tanh_slope(v)),
    "expit": Known(_expit, _expit_slope, lambda v: -_expit_slope(v) * np.tanh(0.5 * v)),
    "ndtr": Known(_ndtr, _density, lambda v: -v * _density(v)),
    "identity": Known(np.positive, np.ones_like, np.zeros_like),
}
"""By name; a ufunc of NumPy or SciPy with one of these names is the same function."""

_OTHER_SCALES = {
    "log": "exp",
    "log2": "exp2",
    "log10": "exp10",
    "log1p": "expm1",
    "sqrt": "square",
    "cbrt": "cube",
    "arcsinh": "sinh",
    "arctanh": "tanh",
    "logit": "expit",
    "ndtri": "ndtr",
}
"""Functions that show a response on another scale, and what undoes them. Others undo a transformation of the labels."""

_UFUNCS = {"positive": "identity"}
"""Ufuncs with other names."""

_STEPS = ("ceil", "floor", "rint", "sign", "trunc")
"""Ufuncs that are piecewise constant."""


# --- the function -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class InverseFunction:
    """A vectorised function of predictions, and its derivatives."""

    name: str
    function: ArrayFunction | None = None
    derivative: ArrayFunction | None = None

    @property
    def stepped(self) -> bool:
        """Return whether the function is known to be piecewise constant, so that its slopes mean nothing."""
        return isinstance(self.function, np.ufunc) and self.name in _STEPS

    @property
    def known(self) -> bool:
        """Return whether the name is that of the function, because it is known by it or a ufunc."""
        return self.function is None or isinstance(self.function, np.ufunc)

    @property
    def undone_by(self) -> str | None:
        """Return the name of the function that leads back to the scale of the labels; None if the values are on it."""
        return _OTHER_SCALES.get(self.name) if self.known else None

    @property
    def described(self) -> str:
        """Return where the derivative comes from, for the provenance."""
        if self.function is None or self.derivative is not None:
            return f"by the chain rule through {self.name}"
        return f"by the chain rule through {self.name}, whose derivative is numerical"

    def __call__(self, v: Floats) -> Floats:
        """Return g(v), (n,), without a check that it is finite."""
        if self.function is None:
            with np.errstate(all="ignore"):  # the caller raises a clearer error
                return KNOWN[self.name].function(v)
        return self._called(self.function, v, f"inverse {self.name}")

    def slope(self, v: Floats) -> Floats:
        """Return g'(v), (n,)."""
        if self.function is None:
            with np.errstate(all="ignore"):
                return KNOWN[self.name].first(v)
        if self.derivative is not None:
            return self._called(self.derivative, v, f"the derivative of inverse {self.name}")
        return differentiate(self, v)

    def curvature(self, v: Floats) -> Floats:
        """Return g''(v), (n,)."""
        if self.function is None:
            with np.errstate(all="ignore"):
                return KNOWN[self.name].second(v)
        if self.derivative is not None:
            return differentiate(self.slope, v)
        return differentiate(self, v, order=2)

    def _called(self, function: ArrayFunction, v: Floats, what: str) -> Floats:
        n = len(v)
        try:
            with np.errstate(all="ignore"):
                returned = function(v.copy())
        except Exception as error:
            error.add_note(
                f"raised in {what}, which skedasis called with an array of {n} predictions"
            )
            raise
        values = as_numbers(returned, what)
        if values.shape != (n,):
            got = "nothing" if returned is None else f"output of shape {values.shape}"
            raise ModelOutputError(
                what, got, f"({n},)", "Return one number for each prediction, in their order"
            )
        return values


def as_inverse(inverse: object, what: str = "prediction(inverse)") -> InverseFunction:
    """Return the argument `inverse` as a function with derivatives."""
    if isinstance(inverse, InverseFunction):
        return inverse
    if isinstance(inverse, str):
        return InverseFunction(_known_name(inverse, what))
    if isinstance(inverse, np.ufunc):
        known = _UFUNCS.get(inverse.__name__, inverse.__name__)
        return InverseFunction(known) if known in KNOWN else InverseFunction(known, inverse)
    if callable(inverse) and not isinstance(inverse, type):
        return InverseFunction(_name_of(inverse), inverse)
    pair: tuple[object, ...] = (
        tuple(cast("list[object]", inverse)) if isinstance(inverse, (tuple, list)) else ()
    )
    if len(pair) == 2 and callable(pair[0]) and callable(pair[1]):
        return InverseFunction(_name_of(pair[0]), pair[0], pair[1])
    raise DataError(
        what,
        shown(inverse),
        "a name, a vectorised function, or a tuple of a function and its derivative",
        'Write for example inverse="exp" or inverse=np.exp',
    )


def _known_name(name: str, what: str) -> str:
    if name in KNOWN:
        return name
    guess = nearest(name, KNOWN, 0.75)
    raise DataError(
        what,
        shown(name),
        listed(tuple(KNOWN)),
        f"Did you mean {guess!r}?" if guess else "Pass a function, for example np.exp",
    )


def _name_of(function: object) -> str:
    name = title(function)
    return "inverse" if name == "function" else name


# --- numerical derivatives --------------------------------------------------------------------------


_LEVELS, _COLUMNS = 48, 5
"""Number of step sizes, each half the one before, and of columns of the extrapolation table."""

_EPS = float(np.finfo(float).eps)

_PART = 4096
"""Number of values at a time: their tables fit in the processor's cache."""

_FIRST_STEP = 0.25
"""The largest step, as a fraction of max(|v|, 1)."""


def differentiate(g: Callable[[Floats], Floats], v: Floats, order: Literal[1, 2] = 1) -> Floats:
    """Return the first or second derivative of a function of one number at each value, (n,)."""
    parts = [_extrapolated(g, v[i : i + _PART], order) for i in range(0, len(v), _PART)]
    return np.concatenate(parts) if parts else np.empty(0)


def _extrapolated(g: Callable[[Floats], Floats], v: Floats, order: int) -> Floats:
    step = _FIRST_STEP * np.maximum(np.abs(v), 1.0)
    middle = g(v) if order == 2 else v
    best, error = np.full(len(v), np.nan), np.full(len(v), np.inf)
    done, rounding_before = np.zeros(len(v), dtype=bool), np.full(len(v), np.inf)
    before: list[Floats] = []
    with np.errstate(all="ignore"):
        for _ in range(_LEVELS):
            up, down = v + step, v - step
            above, below = g(up), g(down)
            h = 0.5 * (up - down)  # the step as realised in floating point
            if order == 1:
                quotient, divisor = (above - below) / (2.0 * h), 2.0 * h
            else:
                quotient, divisor = (above - 2.0 * middle + below) / (h * h), h * h
            # Without it, steps so small that the function does not change would seem exact.
            rounding = _EPS * (np.abs(above) + np.abs(below)) / divisor
            row = [quotient]
            for k in range(min(len(before), _COLUMNS)):
                factor = 4.0 ** (k + 1)
                row.append((factor * row[k] - before[k]) / (factor - 1.0))
                estimate = np.maximum(np.abs(row[k + 1] - row[k]), np.abs(row[k + 1] - before[k]))
                estimate = estimate + rounding
                better = (estimate < error) & ~done  # False for NaN
                best, error = np.where(better, row[k + 1], best), np.where(better, estimate, error)
            # Where smaller steps round more, none of them can be better than this error.
            done |= (rounding >= error) & (rounding > rounding_before)
            rounding_before = rounding
            if done.all():
                break
            before, step = row, 0.5 * step
    return best
