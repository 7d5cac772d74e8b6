"""Derivatives of scikit-learn's transformers: those that act on single columns, and those that mix columns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.factorize import absent
from skedasis.derivatives.chain_rule import Step, numbers
from skedasis.derivatives.kernel_functions import Kernel, by_name

# ------------------------------------------------------------------------------------------
# Steps that change each column by itself: scalers, powers, quantiles, functions, imputers.


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


# ------------------------------------------------------------------------------------------
# Steps that mix columns: projections, choices of columns, polynomials, splines, kernels, norms.


class Mixing(Step):
    """A step whose outputs depend on all inputs: a jump behind it is one by all of them."""

    def taint(self, bad: Bools | None) -> Bools | None:
        """Spread what jumps over all inputs."""
        if bad is None:
            return None
        return np.full(int(self.model.n_features_in_), bool(bad.any()))


@dataclass(frozen=True, eq=False)
class Matrix(Mixing):
    """``Z @ matrix.T``, and a constant: a projection such as PCA.

    Parameters
    ----------
    model : object
    matrix : ndarray of float, shape (m, d)
    """

    model: Any
    matrix: Floats

    flat = True

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Multiply by the matrix."""
        return G @ self.matrix

    @property
    def outputs(self) -> int:
        """Return the number of the matrix's rows."""
        return len(self.matrix)


@dataclass(frozen=True, eq=False)
class Choice(Step):
    """Some of the columns."""

    model: Any
    places: Ints

    flat = True

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Give gradients back to the columns that were chosen."""
        back = np.zeros((len(G), int(self.model.n_features_in_)))
        back[:, self.places] = G
        return back

    def taint(self, bad: Bools | None) -> Bools | None:
        """Give jumps back to the columns that were chosen."""
        if bad is None:
            return None
        back = np.zeros(int(self.model.n_features_in_), dtype=bool)
        back[self.places] = bad
        return back

    @property
    def outputs(self) -> int:
        """Return the number of columns that were chosen."""
        return len(self.places)


@dataclass(frozen=True, eq=False)
class Polynomials(Step):
    """Products of powers of the columns."""

    model: Any

    @cached_property
    def _powers(self) -> Ints:
        return np.asarray(self.model.powers_)

    @cached_property
    def _lowered(self) -> tuple[Ints, list[tuple[Ints, Ints]]]:
        """Return the products that appear in derivatives; and by each column which outputs have it, and which product.

        d(x^p r)/dx = p x^(p - 1) r: the output's product with one exponent lowered.
        """
        powers = self._powers
        having = [np.flatnonzero(column) for column in powers.T]
        lower = [powers[k] - (np.arange(len(powers.T)) == j) for j, k in enumerate(having)]
        exponents, places = np.unique(np.concatenate(lower), axis=0, return_inverse=True)
        ends = np.cumsum([len(k) for k in having])[:-1]
        return exponents, list(zip(having, np.split(places.ravel(), ends), strict=True))

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Multiply by the products with a lowered exponent, column by column."""
        z = np.ascontiguousarray(numbers(Z).T)
        exponents, having = self._lowered
        if len(exponents) == 0:  # of degree 0
            return np.zeros((1, len(z)))
        known: dict[tuple[int, ...], Any] = {(0,) * len(z): np.ones(z.shape[1])}
        products = np.array([_product(tuple(e), z, known) for e in exponents.tolist()]).T
        if len(G) == 1:  # the same weights for all rows: one matrix
            weights = np.zeros((len(exponents), len(z)))
            for j, (outputs, places) in enumerate(having):
                weights[places, j] = G[0, outputs] * self._powers[outputs, j]
            return products @ weights
        back = np.empty((z.shape[1], len(z)))
        for j, (outputs, places) in enumerate(having):
            weighted = G[:, outputs] * self._powers[outputs, j]
            back[:, j] = (weighted * products[:, places]).sum(axis=1)
        return back

    def taint(self, bad: Bools | None) -> Bools | None:
        """Give jumps back to the columns that a product has."""
        return None if bad is None else np.asarray((self._powers[bad] > 0).any(axis=0))

    @property
    def outputs(self) -> int:
        """Return the number of products."""
        return int(self.model.n_output_features_)

    @property
    def width(self) -> int:
        """Return the products, and as many lower ones."""
        return 3 * int(self.model.n_output_features_) + 2 * int(self.model.n_features_in_)


def _product(exponents: tuple[int, ...], z: Floats, known: dict[tuple[int, ...], Any]) -> Any:
    """Return a product of powers, from the one with an exponent less: each is multiplied once."""
    if exponents not in known:
        j = next(k for k, p in enumerate(exponents) if p)
        lower = (*exponents[:j], exponents[j] - 1, *exponents[j + 1 :])
        known[exponents] = _product(lower, z, known) * z[j]
    return known[exponents]


@dataclass(frozen=True, eq=False)
class Splines(Step):
    """B-splines of each column, of degree 1 and more."""

    model: Any

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Multiply by the splines' derivatives, column by column."""
        z, size = numbers(Z), self._size
        back = np.empty(z.shape)
        for j, spline in enumerate(self.model.bsplines_):
            slopes = _spline_slopes(spline, z[:, j], self.model.extrapolation)[:, :size]
            back[:, j] = (G[:, j * size : (j + 1) * size] * slopes).sum(axis=1)
        return back

    @property
    def _size(self) -> int:
        return int(self.model.n_features_out_) // len(self.model.bsplines_)

    def taint(self, bad: Bools | None) -> Bools | None:
        """Give jumps back to the column that a spline is of, and add the columns with too many knots in one place."""
        # A spline of degree k is continuous where at most k knots coincide.
        jumps = np.array([(s.t[s.k :] <= s.t[: -s.k]).any() for s in self.model.bsplines_])
        if bad is not None:
            jumps |= bad.reshape(-1, self._size).any(axis=1)
        return jumps if jumps.any() else None

    @property
    def outputs(self) -> int:
        """Return the number of splines of all columns."""
        return int(self.model.n_features_out_)

    @property
    def width(self) -> int:
        """Return the splines of all columns, as they come in and go out, and of one column."""
        return 4 * int(self.model.n_features_out_)


def _spline_slopes(spline: Any, x: Floats, beyond: str) -> Floats:
    """Return the derivatives of a column's splines, (n, m), as they continue beyond the knots."""
    low, high = spline.t[spline.k], spline.t[-spline.k - 1]
    if beyond == "periodic" and high > low:
        x = low + (x - low) % (high - low)
    elif beyond in ("constant", "linear"):
        inside = np.clip(x, low, high)
        found = np.nan_to_num(spline(inside, nu=1))
        return np.where((inside == x)[:, None], found, 0.0) if beyond == "constant" else found
    return np.nan_to_num(spline(x, nu=1))  # splines of a missing value are 0 throughout


@dataclass(frozen=True, eq=False)
class Features(Mixing):
    """A kernel at some rows of fit, times a matrix: Nyström's features.

    Parameters
    ----------
    model : object
    kernel : Kernel
    matrix : ndarray of float, shape (k, m)
    """

    model: Any
    kernel: Kernel
    matrix: Floats

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Turn gradients by features into weights of the kernels."""
        z = numbers(Z)
        pull = self.kernel.at(z).pull
        return np.zeros(z.shape) if pull is None else pull(G @ self.matrix)

    @property
    def outputs(self) -> int:
        """Return the number of features."""
        return len(self.matrix)

    @property
    def width(self) -> int:
        """Return some arrays of the kernel's size."""
        return 6 * len(self.matrix) + 4 * int(self.model.n_features_in_)


@dataclass(frozen=True, eq=False)
class Waves(Mixing):
    """Cosines of random projections, which stand for a Gaussian kernel."""

    model: Any

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Derive the cosines, and project back."""
        weights = np.asarray(self.model.random_weights_, dtype=float)
        angles = numbers(Z) @ weights + self.model.random_offset_
        size = np.sqrt(2.0 / weights.shape[1])
        return (G * (-size * np.sin(angles))) @ weights.T

    @property
    def outputs(self) -> int:
        """Return the number of features."""
        return int(self.model.random_weights_.shape[1])

    @property
    def width(self) -> int:
        """Return some arrays of the features' size."""
        return 4 * int(self.model.random_weights_.shape[1]) + 4 * int(self.model.n_features_in_)


@dataclass(frozen=True, eq=False)
class Norm(Mixing):
    """Rows divided by their size s: the gradient is ``(g - s' (g y)) / s``, y being the divided row."""

    model: Any

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Divide, and take away what changes the row's size only."""
        z, kind = numbers(Z), self.model.norm
        if kind == "l1":
            size, slope = np.abs(z).sum(axis=1), np.sign(z)
        elif kind == "l2":
            size = np.sqrt((z * z).sum(axis=1))
            slope = z / np.where(size > 0, size, 1.0)[:, None]
        else:
            first = np.arange(z.shape[1]) == np.abs(z).argmax(axis=1)[:, None]
            size, slope = np.abs(z).max(axis=1), np.sign(z) * first
        size = np.where(size > 0, size, 1.0)[:, None]
        along = (G * z).sum(axis=1, keepdims=True) / size
        return (G - slope * along) / size


# --------------------------------------------------------------------------------------- builders
def projection(step: Any) -> Step | None:
    """Return PCA or one of its like; None where its matrix is not held as an array."""
    matrix = step.components_
    if not isinstance(matrix, np.ndarray):
        return None
    whole = np.asarray(matrix, dtype=float)
    if not (getattr(step, "whiten", False) and type(step).__name__ in ("IncrementalPCA", "PCA")):
        return Matrix(step, whole)
    scale = np.sqrt(step.explained_variance_)
    return Matrix(step, whole / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None])


def choice(step: Any) -> Step:
    """Return a selection of columns."""
    return Choice(step, np.flatnonzero(step.get_support()))


def splines(step: Any) -> Step | None:
    """Return splines; None for those of degree 0, which are steps.

    Splines of degree 1 that are continued linearly are known for one column only: from the second on scikit-learn (1.9)
    continues them from the last knot but one, so that they differ from what they are said to be.
    """
    astray = step.degree == 1 and step.extrapolation == "linear" and len(step.bsplines_) > 1
    return Splines(step) if step.degree > 0 and not astray else None


def nystroem(step: Any) -> Step | None:
    """Return Nyström's features of a kernel that is known; None for other kernels."""
    options = dict(step.kernel_params or {})
    given = [
        options[name] if getattr(step, name) is None and name in options else getattr(step, name)
        for name in ("gamma", "degree", "coef0")
    ]
    kernel = by_name(step.kernel, step.components_, *given)
    return (
        None
        if kernel is None
        else Features(step, kernel, np.asarray(step.normalization_, dtype=float))
    )
