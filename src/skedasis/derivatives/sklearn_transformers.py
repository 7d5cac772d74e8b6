"""Derivatives of scikit-learn's transformers: those that act on single columns, and those that mix columns.

Each class is a `Step` of `skedasis.derivatives.chain_rule`. The functions below the classes build a step from a fitted
transformer; they return None if the transformer's parameters have no known closed form. The table `_STEPS` in
`skedasis.derivatives.sklearn_models` lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.factorize import is_absent
from skedasis.derivatives.chain_rule import Rows, Step, Transformer, TransformerStep, numbers
from skedasis.derivatives.kernel_functions import Kernel, by_name

# --- steps of single columns: scalers, powers, quantiles, functions, imputers ---------------------

_BOUNDS_THRESHOLD = 1e-7
"""scikit-learn's constant: this close to its ends, a quantile transformer with normal output is constant."""


class MissingIndicator(Protocol):
    """scikit-learn's indicator of missing values: `features_` are the columns that have one."""

    features_: Ints


class Imputer(Transformer, Protocol):
    """What is read of a fitted `SimpleImputer`."""

    missing_values: object
    add_indicator: bool
    indicator_: MissingIndicator


@dataclass(frozen=True, eq=False)
class Scale(TransformerStep):
    """``Z * scale + shift``, with the same slopes for all rows."""

    scale: Floats | float

    flat = True

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient times the scale."""
        return G * self.scale


@dataclass(frozen=True, eq=False)
class Elementwise(TransformerStep):
    """A continuous function of each column, which may have kinks.

    Parameters
    ----------
    model : object
    slope : callable
        The derivative, ``Z (n, d) -> (n, d)``.
    jumps : ndarray of bool, shape (d,), optional
        The columns in which the function jumps.
    """

    slope: Callable[[Floats], Floats]
    jumps: Bools | None = None

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient times the slope at each value."""
        with np.errstate(
            all="ignore"
        ):  # the evaluator reports infinite slopes, with the quantity's name
            return G * self.slope(numbers(Z))

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Add the columns in which the function jumps."""
        if jump_outputs is None or self.jumps is None:
            return self.jumps if jump_outputs is None else jump_outputs
        return jump_outputs | self.jumps


@dataclass(frozen=True, eq=False)
class Impute(TransformerStep):
    """A constant replaces missing values: the slope is 1 at a value, and 0 at a missing value.

    Parameters
    ----------
    model : SimpleImputer
    kept : ndarray of int
        The columns that have an output. Indicators of missing values follow them, and have no slopes.
    text : bool
        Whether the columns are text, which has no slopes.
    """

    model: Imputer
    kept: Ints
    text: bool

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient by the kept columns; 0 by the others and at missing values."""
        gradient = np.zeros((len(G), self.inputs))
        if self.text:
            return gradient
        gradient[:, self.kept] = G[:, : len(self.kept)]
        z, marker = numbers(Z), self.model.missing_values
        missing = np.isnan(z) if is_absent(marker) else z == marker
        return np.where(missing, 0.0, gradient) if missing.any() else gradient

    @property
    def outputs(self) -> int:
        """Return the number of kept columns and indicators."""
        indicators = self.model.indicator_.features_ if self.model.add_indicator else ()
        return len(self.kept) + len(indicators)

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return which of the kept columns act through a jump."""
        if jump_outputs is None:
            return None
        inputs = np.zeros(self.inputs, dtype=bool)
        inputs[self.kept] = jump_outputs[: len(self.kept)]
        return inputs


def scaler(step: Any) -> Step:
    """Return the step of a standard, max-abs, robust or min-max scaler, clipped or not."""
    if type(step).__name__ == "MinMaxScaler" and getattr(step, "clip", False):
        return _clipped(step)
    return Scale(step, _scale_of(step))


def _scale_of(scaler: Any) -> Floats | float:
    """Return the factor of a scaler's columns. Only a min-max scaler multiplies by its `scale_`; others divide."""
    scale = getattr(scaler, "scale_", None)
    if type(scaler).__name__ == "MinMaxScaler":
        return scaler.scale_
    return 1.0 if scale is None else 1.0 / np.asarray(scale, dtype=float)


def _clipped(step: Any) -> Step:
    """Return a min-max scaler that clips at the range of the training data, at whose ends it has the inner slope."""
    low, high = step.feature_range

    def slope(Z: Floats) -> Floats:
        inside = (step.data_min_ <= Z) & (step.data_max_ >= Z)
        scaled = (
            Z * step.scale_ + step.min_
        )  # the range of a constant column is wider than its values
        return (inside | ((low < scaled) & (scaled < high))) * step.scale_

    return Elementwise(step, slope)


def power(step: Any) -> Step:
    """Return a power transformer.

    The derivative is x^(lambda - 1) for Box-Cox, and (1 + |x|)^(±(lambda - 1)) for Yeo-Johnson, with the sign of x.
    """
    p = np.asarray(step.lambdas_, dtype=float) - 1.0
    scaler = step._scaler if step.standardize else None  # noqa: SLF001 - not public
    factor = 1.0 if scaler is None else 1.0 / scaler.scale_

    def slope(Z: Floats) -> Floats:
        if step.method == "box-cox":
            return Z**p * factor
        return (1.0 + np.abs(Z)) ** np.where(Z >= 0, p, -p) * factor

    return Elementwise(step, slope)


def quantiles(step: Any) -> Step:
    """Return a quantile transformer: piecewise linear between its quantiles, or the normal quantile of that.

    At a quantile (every training row may be one) the slope is the mean of both sides, and at the outermost quantiles
    the inner one. Where quantiles coincide, the transformer jumps.
    """
    knots, ranks = np.asarray(step.quantiles_, float).T, np.asarray(step.references_, float)
    column_slope = _normal_slope if step.output_distribution == "normal" else _linear_slope

    def slope(Z: Floats) -> Floats:
        return np.stack(
            [column_slope(z, k, ranks) for z, k in zip(Z.T, knots, strict=True)], axis=1
        )

    jumps = np.asarray((np.diff(knots, axis=1) <= 0).any(axis=1))
    return Elementwise(step, slope, jumps if jumps.any() else None)


def _linear_slope(z: Floats, knots: Floats, ranks: Floats) -> Floats:
    """Return the slope of a piecewise linear function: at a knot the mean of both sides, outside the knots 0."""
    slopes = np.diff(ranks) / np.diff(knots)
    last = len(slopes) - 1
    # Quantiles are rounded: they may differ by a last digit from the rows that they come from.
    above, below = z + 4 * np.spacing(np.abs(z)), z - 4 * np.spacing(np.abs(z))
    right = np.clip(np.searchsorted(knots, above, side="right") - 1, 0, last)
    left = np.clip(np.searchsorted(knots, below, side="left") - 1, 0, last)
    inside = (above >= knots[0]) & (below <= knots[-1])
    return np.where(inside, 0.5 * (slopes[left] + slopes[right]), 0.0)


def _normal_slope(z: Floats, knots: Floats, ranks: Floats) -> Floats:
    """Return the slope of the normal quantile of the piecewise linear function; 0 where scikit-learn clips it."""
    from scipy.special import ndtri

    rank = np.interp(z, knots, ranks)
    inside = (rank > _BOUNDS_THRESHOLD) & (rank < 1.0 - _BOUNDS_THRESHOLD)
    inside &= (z - _BOUNDS_THRESHOLD >= knots[0]) & (z + _BOUNDS_THRESHOLD <= knots[-1])
    outer = np.sqrt(2.0 * np.pi) * np.exp(0.5 * ndtri(np.where(inside, rank, 0.5)) ** 2)
    return np.where(inside, outer * _linear_slope(z, knots, ranks), 0.0)


def imputer(step: Any) -> Step | None:
    """Return a simple imputer; None if it fills both numeric and text columns."""
    fill_values = np.asarray(step.statistics_)
    is_text = [isinstance(value, str) for value in fill_values.tolist()]
    if any(is_text):
        return Impute(step, np.arange(len(is_text)), text=True) if all(is_text) else None
    empty = np.isnan(fill_values.astype(float)) & (not step.keep_empty_features)
    return Impute(step, np.flatnonzero(~empty), text=False)


def function(step: Any) -> Step | None:
    """Return a function transformer; None if the derivative of its function is not known."""
    if step.func is None:
        return Scale(step, 1.0)
    slope = _slope_of(step.func, step.kw_args)
    return None if slope is None else Elementwise(step, slope)


def _slope_of(
    function: Callable[[Floats], Floats], options: object
) -> Callable[[Floats], Floats] | None:
    """Return the derivative of a NumPy function, or of SciPy's logit or expit; None for other functions."""
    special: Any = sys.modules.get("scipy.special")  # it is loaded if the function comes from it
    if options:
        return None
    if special is not None and function is special.expit:
        return lambda x: function(x) * function(-x)
    if special is not None and function is special.logit:
        return lambda x: 1.0 / (x * (1.0 - x))
    return _SLOPES.get(function) if isinstance(function, np.ufunc) else None


_SLOPES: dict[np.ufunc, Callable[[Floats], Floats]] = {
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
    """Return the derivative of a target transformer's inverse, ``z (n, o) -> (n, o)``; None if it is not known."""
    kind = type(step).__name__
    if kind == "FunctionTransformer":
        if step.inverse_func is None:
            return np.ones_like
        return _slope_of(step.inverse_func, step.inv_kw_args)
    if kind in ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"):
        scale = _scale_of(step)
        return lambda z: np.ones_like(z) / scale
    if kind != "PowerTransformer":
        return None
    forward = power(step)
    return lambda z: 1.0 / forward.backward(step.inverse_transform(z), np.ones((1, z.shape[1])))


# --- steps that mix columns: projections, selections, polynomials, splines, kernels, norms --------


class ColumnMixing(TransformerStep):
    """A step whose outputs depend on all inputs."""

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return all inputs if an output acts through a jump."""
        if jump_outputs is None:
            return None
        return np.full(self.inputs, bool(jump_outputs.any()))


@dataclass(frozen=True, eq=False)
class Matrix(ColumnMixing):
    """``Z @ matrix.T``, and a constant: a projection such as PCA.

    Parameters
    ----------
    model : object
    matrix : ndarray of float, shape (m, d)
    """

    matrix: Floats

    flat = True

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient times the matrix."""
        return G @ self.matrix

    @property
    def outputs(self) -> int:
        """Return the number of rows of the matrix."""
        return len(self.matrix)


@dataclass(frozen=True, eq=False)
class ColumnSelection(TransformerStep):
    """A selection of columns, by their positions."""

    positions: Ints

    flat = True

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient by the selected columns; 0 by the others."""
        gradient = np.zeros((len(G), self.inputs))
        gradient[:, self.positions] = G
        return gradient

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return which of the selected columns act through a jump."""
        if jump_outputs is None:
            return None
        inputs = np.zeros(self.inputs, dtype=bool)
        inputs[self.positions] = jump_outputs
        return inputs

    @property
    def outputs(self) -> int:
        """Return the number of selected columns."""
        return len(self.positions)


class PolynomialTransformer(Transformer, Protocol):
    """What is read of fitted `PolynomialFeatures`: the exponents of each product, (products, d)."""

    powers_: Ints
    n_output_features_: int


@dataclass(frozen=True, eq=False)
class Polynomials(TransformerStep):
    """Products of powers of the columns."""

    model: PolynomialTransformer

    @cached_property
    def _powers(self) -> Ints:
        return np.asarray(self.model.powers_)

    @cached_property
    def _derivative_terms(self) -> tuple[Ints, list[tuple[Ints, Ints]]]:
        """Return the products that appear in derivatives, and for each column its outputs and their derivatives.

        d(x^p r)/dx = p x^(p - 1) r: the derivative of an output is its product with one exponent lowered.

        Returns
        -------
        exponents : ndarray of int, shape (k, d)
            The exponents of the distinct products.
        terms : list of (outputs, products)
            For each column, the outputs that depend on it, and the row in `exponents` of each one's derivative.
        """
        powers = self._powers
        dependent = [np.flatnonzero(column) for column in powers.T]
        lowered = [powers[k] - (np.arange(len(powers.T)) == j) for j, k in enumerate(dependent)]
        exponents, rows = np.unique(np.concatenate(lowered), axis=0, return_inverse=True)
        ends = np.cumsum([len(k) for k in dependent])[:-1]
        return exponents, list(zip(dependent, np.split(rows.ravel(), ends), strict=True))

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient, column by column, from the products with one exponent lowered."""
        z = np.ascontiguousarray(numbers(Z).T)
        exponents, terms = self._derivative_terms
        if len(exponents) == 0:  # degree 0
            return np.zeros((1, len(z)))
        known: dict[tuple[int, ...], Floats] = {(0,) * len(z): np.ones(z.shape[1])}
        products = np.array([_product(tuple(e), z, known) for e in exponents.tolist()]).T
        if len(G) == 1:  # the same weights for all rows: a matrix product
            weights = np.zeros((len(exponents), len(z)))
            for j, (outputs, rows) in enumerate(terms):
                weights[rows, j] = G[0, outputs] * self._powers[outputs, j]
            return products @ weights
        gradient = np.empty((z.shape[1], len(z)))
        for j, (outputs, rows) in enumerate(terms):
            weighted = G[:, outputs] * self._powers[outputs, j]
            gradient[:, j] = (weighted * products[:, rows]).sum(axis=1)
        return gradient

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return the columns of the products that act through a jump."""
        return (
            None
            if jump_outputs is None
            else np.asarray((self._powers[jump_outputs] > 0).any(axis=0))
        )

    @property
    def outputs(self) -> int:
        """Return the number of products."""
        return int(self.model.n_output_features_)

    @property
    def row_memory(self) -> int:
        """Return the products, those with a lowered exponent, and the columns."""
        return 3 * int(self.model.n_output_features_) + 2 * self.inputs


def _product(exponents: tuple[int, ...], z: Floats, known: dict[tuple[int, ...], Floats]) -> Floats:
    """Return a product of powers by one multiplication of a known product; store it in `known`."""
    if exponents not in known:
        j = next(k for k, p in enumerate(exponents) if p)
        lower = (*exponents[:j], exponents[j] - 1, *exponents[j + 1 :])
        known[exponents] = _product(lower, z, known) * z[j]
    return known[exponents]


class Spline(Protocol):
    """SciPy's `BSpline`: knots and degree, and the derivatives of order `nu` at numbers."""

    t: Floats
    k: int

    def __call__(self, x: Floats, nu: int) -> Floats:
        """Return the derivatives of all splines, (n, m)."""
        ...


class SplineTransformer(Transformer, Protocol):
    """What is read of a fitted `SplineTransformer`."""

    bsplines_: Sequence[Spline]
    extrapolation: str
    n_features_out_: int


@dataclass(frozen=True, eq=False)
class Splines(TransformerStep):
    """B-splines of each column, of degree 1 or more."""

    model: SplineTransformer

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient, column by column, from the derivatives of the splines."""
        z, size = numbers(Z), self._per_column
        gradient = np.empty(z.shape)
        for j, spline in enumerate(self.model.bsplines_):
            slopes = _spline_slopes(spline, z[:, j], self.model.extrapolation)[:, :size]
            gradient[:, j] = (G[:, j * size : (j + 1) * size] * slopes).sum(axis=1)
        return gradient

    @property
    def _per_column(self) -> int:
        return int(self.model.n_features_out_) // len(self.model.bsplines_)

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return the columns whose splines act through a jump, or jump themselves because knots coincide."""
        # A spline of degree k is continuous where at most k knots coincide.
        jumps = np.array([(s.t[s.k :] <= s.t[: -s.k]).any() for s in self.model.bsplines_])
        if jump_outputs is not None:
            jumps |= jump_outputs.reshape(-1, self._per_column).any(axis=1)
        return jumps if jumps.any() else None

    @property
    def outputs(self) -> int:
        """Return the number of splines of all columns."""
        return int(self.model.n_features_out_)

    @property
    def row_memory(self) -> int:
        """Return four times the number of splines."""
        return 4 * int(self.model.n_features_out_)


def _spline_slopes(spline: Spline, x: Floats, extrapolation: str) -> Floats:
    """Return the derivatives of a column's splines, (n, m), extrapolated beyond the knots."""
    low, high = spline.t[spline.k], spline.t[-spline.k - 1]
    if extrapolation == "periodic" and high > low:
        x = low + (x - low) % (high - low)
    elif extrapolation in ("constant", "linear"):
        inside = np.clip(x, low, high)
        slopes = np.nan_to_num(spline(inside, nu=1))
        if extrapolation == "linear":
            return slopes
        return np.where((inside == x)[:, None], slopes, 0.0)
    return np.nan_to_num(spline(x, nu=1))  # all splines of a missing value are 0


@dataclass(frozen=True, eq=False)
class NystroemFeatures(ColumnMixing):
    """A kernel at some training rows, times a matrix: Nyström features.

    Parameters
    ----------
    model : object
    kernel : Kernel
    matrix : ndarray of float, shape (k, m)
    """

    kernel: Kernel
    matrix: Floats

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient of the kernels, weighted by the gradient by the features."""
        z = numbers(Z)
        gradient = self.kernel.on_rows(z).gradient
        return np.zeros(z.shape) if gradient is None else gradient(G @ self.matrix)

    @property
    def outputs(self) -> int:
        """Return the number of features."""
        return len(self.matrix)

    @property
    def row_memory(self) -> int:
        """Return several times the number of features and columns."""
        return 6 * len(self.matrix) + 4 * self.inputs


class FourierTransformer(Transformer, Protocol):
    """What is read of a fitted `RBFSampler`."""

    random_weights_: Floats
    random_offset_: Floats


@dataclass(frozen=True, eq=False)
class RandomFourierFeatures(ColumnMixing):
    """Random Fourier features: cosines of random projections, which approximate a Gaussian kernel."""

    model: FourierTransformer

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient of the cosines, projected back to the columns."""
        weights = np.asarray(self.model.random_weights_, dtype=float)
        angles = numbers(Z) @ weights + self.model.random_offset_
        size = np.sqrt(2.0 / weights.shape[1])
        return (G * (-size * np.sin(angles))) @ weights.T

    @property
    def outputs(self) -> int:
        """Return the number of features."""
        return int(self.model.random_weights_.shape[1])

    @property
    def row_memory(self) -> int:
        """Return several times the number of features and columns."""
        return 4 * int(self.model.random_weights_.shape[1]) + 4 * self.inputs


class Normalizer(Transformer, Protocol):
    """What is read of a `Normalizer`."""

    norm: str


@dataclass(frozen=True, eq=False)
class Norm(ColumnMixing):
    """Rows divided by their norm s: the gradient is ``(g - s' (g y)) / s``, where y is the normalised row."""

    model: Normalizer

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient without its part along the row, which changes the norm only, divided by the norm."""
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


def projection(step: Any) -> Step | None:
    """Return a projection such as PCA; None if its matrix is not a dense array."""
    components = step.components_
    if not isinstance(components, np.ndarray):
        return None
    matrix = np.asarray(components, dtype=float)
    if not (getattr(step, "whiten", False) and type(step).__name__ in ("IncrementalPCA", "PCA")):
        return Matrix(step, matrix)
    scale = np.sqrt(step.explained_variance_)
    return Matrix(step, matrix / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None])


def selection(step: Any) -> Step:
    """Return a selection of columns."""
    return ColumnSelection(step, np.flatnonzero(step.get_support()))


def splines(step: Any) -> Step | None:
    """Return splines; None for degree 0, which is piecewise constant, and where scikit-learn deviates from its docs.

    Splines of degree 1 with linear extrapolation are supported for a single column only: from the second column on,
    scikit-learn (1.9) extrapolates from the last knot but one, so that they are not what its documentation states.
    """
    deviates = step.degree == 1 and step.extrapolation == "linear" and len(step.bsplines_) > 1
    return Splines(step) if step.degree > 0 and not deviates else None


def nystroem(step: Any) -> Step | None:
    """Return Nyström features; None if the kernel's derivative is not known."""
    options = dict(step.kernel_params or {})
    parameters = [
        options[name] if getattr(step, name) is None and name in options else getattr(step, name)
        for name in ("gamma", "degree", "coef0")
    ]
    kernel = by_name(step.kernel, step.components_, *parameters)
    if kernel is None:
        return None
    return NystroemFeatures(step, kernel, np.asarray(step.normalization_, dtype=float))
