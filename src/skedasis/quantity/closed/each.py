"""Steps that change each column by itself: scalers, powers, quantiles, functions, imputers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.factorize import absent
from skedasis.quantity.closed.chain import Step
from skedasis.quantity.closed.rows import numbers

_NEAR = 1e-7
"""scikit-learn's `BOUNDS_THRESHOLD`: so near its ends a quantile transformer with normal output stands still."""


@dataclass(frozen=True, eq=False)
class Scale(Step):
    """``Z * scale + shift``: for all rows the same."""

    model: Any
    scale: Any

    flat = True

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Multiply by the scale."""
        return G * self.scale


@dataclass(frozen=True, eq=False)
class Each(Step):
    """A smooth function of each column, or one with kinks.

    Parameters
    ----------
    model : object
    slope : callable
        ``Z (n, d) -> (n, d)``.
    jumps : ndarray of bool, shape (d,), optional
        The columns in which it jumps.
    """

    model: Any
    slope: Callable[[Floats], Floats]
    jumps: Bools | None = None

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Multiply by each value's slope."""
        # An infinite slope is for those to refuse who know the quantity's name.
        with np.errstate(all="ignore"):
            return G * self.slope(numbers(Z))

    def taint(self, bad: Bools | None) -> Bools | None:
        """Add the columns in which it jumps."""
        if bad is None or self.jumps is None:
            return self.jumps if bad is None else bad
        return bad | self.jumps


@dataclass(frozen=True, eq=False)
class Impute(Step):
    """A constant in place of what is missing: the slope is 1 where a value is there, and 0 where not.

    Parameters
    ----------
    model : SimpleImputer
    kept : ndarray of int
        The columns that have an output; indicators of what is missing follow them, and have no slopes.
    text : bool
        Whether the columns are no numbers: then there is nothing to derive.
    """

    model: Any
    kept: Ints
    text: bool

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Give gradients back to the columns that were kept."""
        back = np.zeros((len(G), self.model.n_features_in_))
        if self.text:
            return back
        back[:, self.kept] = G[:, : len(self.kept)]
        z, code = numbers(Z), self.model.missing_values
        missing = np.isnan(z) if absent(code) else z == code
        return np.where(missing, 0.0, back) if missing.any() else back

    @property
    def outputs(self) -> int:
        """Return the number of columns that were kept, and of indicators."""
        indicators = self.model.indicator_.features_ if self.model.add_indicator else ()
        return len(self.kept) + len(indicators)

    def taint(self, bad: Bools | None) -> Bools | None:
        """Give jumps back to the columns that were kept."""
        if bad is None:
            return None
        back = np.zeros(self.model.n_features_in_, dtype=bool)
        back[self.kept] = bad[: len(self.kept)]
        return back


# --------------------------------------------------------------------------------------- builders


def scaler(step: Any) -> Step:
    """Return a standard, largest-absolute, robust or (unclipped or clipped) min-max scaler."""
    scale = getattr(step, "scale_", None)
    if type(step).__name__ == "MinMaxScaler":
        return _clipped(step) if getattr(step, "clip", False) else Scale(step, step.scale_)
    return Scale(step, 1.0 if scale is None else 1.0 / np.asarray(scale, dtype=float))


def _clipped(step: Any) -> Step:
    """Return a scaler that ends at the values of fit: there its slope is that of the inside, where the rows are."""
    low, high = step.feature_range

    def slope(Z: Floats) -> Floats:
        inside = (step.data_min_ <= Z) & (step.data_max_ >= Z)
        scaled = Z * step.scale_ + step.min_  # a constant column's range is wider than its values
        return (inside | ((low < scaled) & (scaled < high))) * step.scale_

    return Each(step, slope)


def power(step: Any) -> Step:
    """Return a power transformer: the derivative is x^(lambda - 1), of Yeo and Johnson's (1 + |x|)^(±(lambda - 1))."""
    p = np.asarray(step.lambdas_, dtype=float) - 1.0
    scaler = step._scaler if step.standardize else None  # noqa: SLF001 - nowhere else
    factor = 1.0 if scaler is None else 1.0 / scaler.scale_

    def slope(Z: Floats) -> Floats:
        if step.method == "box-cox":
            return Z**p * factor
        return (1.0 + np.abs(Z)) ** np.where(Z >= 0, p, -p) * factor

    return Each(step, slope)


def quantiles(step: Any) -> Step:
    """Return a quantile transformer: piecewise linear between its quantiles, or the normal quantile of that.

    At a quantile (all rows of fit may be some) its slope is the mean of both sides, at the outermost that of the
    inside. Where quantiles coincide it jumps.
    """
    knots, levels = np.asarray(step.quantiles_, float).T, np.asarray(step.references_, float)
    derive = _normal_slope if step.output_distribution == "normal" else _linear_slope

    def slope(Z: Floats) -> Floats:
        return np.stack([derive(z, k, levels) for z, k in zip(Z.T, knots, strict=True)], axis=1)

    jumps = np.asarray((np.diff(knots, axis=1) <= 0).any(axis=1))
    return Each(step, slope, jumps if jumps.any() else None)


def _linear_slope(z: Floats, knots: Floats, levels: Floats) -> Floats:
    """Return the slope of a piecewise linear function: at a knot the mean of both sides."""
    steep = np.diff(levels) / np.diff(knots)
    last = len(steep) - 1
    # Quantiles are rounded: the rows that they come from may lie a last digit beside them.
    above, below = z + 4 * np.spacing(np.abs(z)), z - 4 * np.spacing(np.abs(z))
    right = np.clip(np.searchsorted(knots, above, side="right") - 1, 0, last)
    left = np.clip(np.searchsorted(knots, below, side="left") - 1, 0, last)
    inside = (above >= knots[0]) & (below <= knots[-1])
    return np.where(inside, 0.5 * (steep[left] + steep[right]), 0.0)


def _normal_slope(z: Floats, knots: Floats, levels: Floats) -> Floats:
    """Return the slope of the normal quantile of it: 0 where that is cut off, for it would be infinite."""
    from scipy.special import ndtri

    value = np.interp(z, knots, levels)
    inside = (value > _NEAR) & (value < 1.0 - _NEAR)
    inside &= (z - _NEAR >= knots[0]) & (z + _NEAR <= knots[-1])
    steep = np.sqrt(2.0 * np.pi) * np.exp(0.5 * ndtri(np.where(inside, value, 0.5)) ** 2)
    return np.where(inside, steep * _linear_slope(z, knots, levels), 0.0)


def imputer(step: Any) -> Step | None:
    """Return a simple imputer; None for one of numbers and texts at once."""
    filled = np.asarray(step.statistics_)
    texts = [isinstance(value, str) for value in filled.tolist()]
    if any(texts):
        return Impute(step, np.arange(len(texts)), text=True) if all(texts) else None
    empty = np.isnan(filled.astype(float)) & (not step.keep_empty_features)
    return Impute(step, np.flatnonzero(~empty), text=False)


def function(step: Any) -> Step | None:
    """Return a transformer by a function whose derivative is known; None for any other."""
    if step.func is None:
        return Scale(step, 1.0)
    slope = slope_of(step.func, step.kw_args)
    return None if slope is None else Each(step, slope)


def slope_of(function: Any, options: Any = None) -> Callable[[Floats], Floats] | None:
    """Return the derivative of a function of NumPy's, or of SciPy's logit and its inverse; None for others."""
    special: Any = sys.modules.get("scipy.special")  # loaded, if the function is one of its own
    if options:
        return None
    if special is not None and function is special.expit:
        return lambda x: function(x) * function(-x)
    if special is not None and function is special.logit:
        return lambda x: 1.0 / (x * (1.0 - x))
    return _SLOPES.get(function) if isinstance(function, np.ufunc) else None


_SLOPES: dict[Any, Callable[[Floats], Floats]] = {
    np.arcsinh: lambda x: 1.0 / np.sqrt(1.0 + x * x),
    np.arctan: lambda x: 1.0 / (1.0 + x * x),
    np.cbrt: lambda x: 1.0 / (3.0 * np.cbrt(x) ** 2),
    np.cos: lambda x: -np.sin(x),
    np.cosh: np.sinh,
    np.exp: np.exp,
    np.exp2: lambda x: np.exp2(x) * np.log(2.0),
    np.expm1: np.exp,
    np.log: lambda x: 1.0 / x,
    np.log10: lambda x: 1.0 / (x * np.log(10.0)),
    np.log1p: lambda x: 1.0 / (1.0 + x),
    np.log2: lambda x: 1.0 / (x * np.log(2.0)),
    np.negative: lambda x: -np.ones_like(x),
    np.sin: np.cos,
    np.sinh: np.cosh,
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.square: lambda x: 2.0 * x,
    np.tanh: lambda x: 1.0 - np.tanh(x) ** 2,
}


def inverse_slope(step: Any) -> Callable[[Floats], Floats] | None:
    """Return the derivative of a target transformer's inverse, ``z (n, o) -> (n, o)``; None where it is not known."""
    kind = type(step).__name__
    if kind == "FunctionTransformer":
        if step.inverse_func is None:
            return np.ones_like
        return slope_of(step.inverse_func, step.inv_kw_args)
    if kind in ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"):
        scale = scaler(step).pull(None, np.ones((1, 1))) if kind != "MinMaxScaler" else step.scale_
        return lambda z: np.ones_like(z) / scale
    if kind != "PowerTransformer":
        return None
    forward = power(step)
    return lambda z: 1.0 / forward.pull(step.inverse_transform(z), np.ones((1, z.shape[1])))
