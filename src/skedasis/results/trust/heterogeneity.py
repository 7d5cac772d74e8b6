"""Is there heterogeneity, beyond noise and beyond what the mean slope does inside bins? (RHALE Eq. 6, Theorem 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.effect import Effect
from skedasis.results.levels import Steps
from skedasis.results.parts import Curves
from skedasis.results.pieces import LOCAL
from skedasis.results.trust.split import ROUNDING, LocalRows, local_rows, split
from skedasis.results.words import given_level
from skedasis.typing import Floats, Ints

LEAST_ROWS = 12
"""With fewer local variances a test says nothing."""


@dataclass(frozen=True)
class HeterogeneityTest:
    """How much rows differ at the same value of a feature, and whether that is more than nothing.

    Parameters
    ----------
    std : float
        Root mean square over the rows of sigma(x), the standard deviation of local effects at given x; of a PDP or ICE
        of the curves around their mean. In units of `Effect.bins.std`, for PDP and ICE of the quantity.
    std_error : float
        Its standard error.
    lower : float
        One-sided lower confidence bound of it, at the test's level.
    p_value : float
        Of the hypothesis that it is not above `noise`.
    total : float
        Root mean square of the reported standard deviations: of all scatter in the bins.
    residual : float
        What of this is due to the mean slope's change inside the bins: the root of E².
    noise : float
        The threshold: what differences may be rounded by, unless another one was given.
    rows : int
        Rows that the test rests on.
    level : float
    """

    std: float
    std_error: float
    lower: float
    p_value: float
    total: float
    residual: float
    noise: float
    rows: int
    level: float = 0.95

    @property
    def verdict(self) -> str:
        """Return "heterogeneous", "none" or "unclear"."""
        if np.isnan(self.p_value):
            return "unclear"
        if self.p_value <= 1 - self.level:
            return "heterogeneous"
        return "none" if self.total <= self.noise else "unclear"

    @property
    def text(self) -> str:
        """Return the verdict as a sentence.

        Examples
        --------
        >>> HeterogeneityTest(2.0, 0.1, 1.84, 1e-9, 2.1, 0.6, 1e-6, 400).text
        'Rows differ at the same value: standard deviation 2 (at least 1.84, p < 0.001); reported is 2.1.'
        """
        if self.verdict == "none":
            return "Rows do not differ: their local effects are the same but for rounding."
        if self.verdict == "heterogeneous":
            p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
            return (
                f"Rows differ at the same value: standard deviation {self.std:.3g} "
                f"(at least {self.lower:.3g}, {p}); reported is {self.total:.3g}."
            )
        if np.isnan(self.p_value):
            return f"Whether rows differ is not known: {self.rows:,} rows are too few."
        return (
            f"That rows differ at the same value is not shown (p = {self.p_value:.2g}): the reported "
            f"{self.total:.3g} may be the slope's change inside bins ({self.residual:.3g}) and noise."
        )

    def __repr__(self) -> str:
        return f"<HeterogeneityTest: {self.text}>"


@dataclass(frozen=True, eq=False)
class _Squares:
    """Unbiased local variances: their mean is sigma², the mean of what each row adds.

    Parameters
    ----------
    value, weight : ndarray of float, shape (n,)
        Of each row, in the order of x.
    lone : ndarray of bool, shape (n,)
        Whether the value rests on the two neighbours, and so goes with theirs.
    """

    value: Floats
    weight: Floats
    lone: np.ndarray

    def mean(self) -> tuple[float, float, float]:
        """Return the mean, its standard error, and the error's degrees of freedom; NaN of no rows."""
        if len(self.value) == 0:
            return np.nan, np.nan, np.nan
        total = self.weight.sum()
        mean = float(self.weight @ self.value / total)
        moved = self.weight * (self.value - mean)
        square = float(moved @ moved)
        if square == 0:
            return mean, 0.0, np.inf
        both = sum(
            float((moved[lag:] * moved[:-lag])[self.lone[lag:] & self.lone[:-lag]].sum())
            for lag in (1, 2)
        )
        variance = max(square + 2 * both, square / 2)
        # One jump, or one strange row, may make up the whole error: then it has one degree of freedom.
        freedom = max(square**2 / float(((moved**2) ** 2).sum()) - 1, 1.0)
        return mean, float(np.sqrt(variance) / total), freedom


def heterogeneity_test(
    effect: Effect, level: float = 0.95, above: float | None = None
) -> HeterogeneityTest:
    """Test whether rows differ at the same value of the feature by more than `above`.

    Parameters
    ----------
    effect : Effect
    level : float
        Confidence of the verdict and of the lower bound.
    above : float, optional
        Threshold for the standard deviation, in the units of local effects; by default 1e-6 of the largest, which is
        what differences and single precision may be rounded by.

    Returns
    -------
    HeterogeneityTest

    Raises
    ------
    DataError
        For a level outside (0, 1) or a threshold that is negative or no number.
    UnsupportedError
        Where neither local effects, curves nor moments are kept.

    Notes
    -----
    The reported standard deviation of a bin holds the mean slope's change inside it, too (Theorem 1). Here each row's
    local effect is compared with those of the two rows beside it: ``(d_i - d_{i-1}) (d_i - d_{i+1})`` has the mean
    sigma²(x_i) whatever the rows' noise is like, plus what the mean slope does between the three rows. That is negative
    wherever it goes one way, zero at a jump, and positive at turning points only, so that on the whole it can hide
    heterogeneity of its own size, and hardly feign any. Rows at the same x (of ALE and secants in the same cell, of
    levels at the same step) give their variance instead. The mean over the rows is tested by Student's t, with the
    covariance of neighbours; a row counts as one row whatever its weight. No model row.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> q = sd.prediction(lambda X: X[:, 0] ** 2, slope=lambda X: np.c_[2 * X[:, 0], 0 * X[:, 0]])
    >>> e = sd.explain(
    ...     q, X, 0, method=sd.DALE(bins=2)
    ... )  # all of its spread is the bend of a parabola
    >>> heterogeneity_test(e).verdict, round(heterogeneity_test(e).residual, 1)
    ('unclear', 0.6)
    """
    level = given_level("heterogeneity_test(level)", level)
    number = isinstance(above, (int, float, np.number)) and not isinstance(above, bool)
    if above is not None and not (number and 0 <= above < np.inf):
        what = "heterogeneity_test(above)"
        raise DataError(explained(what, repr(above), "a number from 0", "Leave it out"))
    squares, largest, total, residual = _gathered(effect)
    noise = ROUNDING * largest if above is None else float(above)
    return _tested(squares, largest, (total, residual, noise), level)


def _tested(
    squares: _Squares, largest: float, known: tuple[float, float, float], level: float
) -> HeterogeneityTest:
    """Return the test of a mean of local variances, given in units of the squared largest effect."""
    from scipy.special import stdtr, stdtrit

    total, residual, noise = known
    n, nan = len(squares.value), float("nan")
    if n < LEAST_ROWS:
        return HeterogeneityTest(nan, nan, nan, nan, total, residual, noise, n, level)
    if largest == 0:
        return HeterogeneityTest(0.0, 0.0, 0.0, 1.0, total, residual, noise, n, level)
    mean, error, freedom = squares.mean()
    over = mean - (noise / largest) ** 2
    freedom = min(freedom, 1e9)
    p = float(stdtr(freedom, -over / error)) if error > 0 else float(over <= 0)
    lower = mean - float(stdtrit(freedom, level)) * error
    std, lower = (float(np.sqrt(max(v, 0.0))) for v in (mean, lower))
    spread = error / (2 * max(std, np.sqrt(error))) if error > 0 else 0.0
    return HeterogeneityTest(
        std * largest, spread * largest, lower * largest, p, total, residual, noise, n, level
    )


def _gathered(effect: Effect) -> tuple[_Squares, float, float, float]:
    """Return local variances, what they are in units of, the reported spread, and its part that is none at given x."""
    if effect.spec.local == "none":
        if effect.curves is None or len(effect.curves) == 0:
            what = f"heterogeneity_test of a {effect.spec.method}"
            fix = "Explain with ice='all', or use sd.ICE()"
            raise UnsupportedError(explained(what, "no individual curves", "rows' curves", fix))
        squares, largest = _of_curves(effect, effect.curves)
        total = float(np.sqrt(squares.mean()[0])) * largest
        return squares, largest, total, 0.0
    if effect.bins is None:  # an M-plot of levels
        rows = effect.rows
        if rows is None or rows.effect is None:
            return _of_cells(effect)
        w = np.ones(len(rows)) if rows.weight is None else rows.weight
        return _of_rows(LocalRows(rows.x, rows.effect, w, rows.x.astype(np.int64)), rows.x)
    local = local_rows(effect)
    if local is None:
        return _of_cells(effect)
    key = local.x
    if effect.levels is not None:
        key = local.bin.astype(float)
    elif not effect.spec.pointwise and effect.cells is not None:
        key = effect.cells.locate(local.x).astype(float)
    inside = local.bin >= 0
    local = LocalRows(
        local.x[inside], local.effect[inside], local.weight[inside], local.bin[inside]
    )
    squares, largest, _, _ = _of_rows(local, key[inside])
    return squares, largest, *_reported(effect)


def _reported(effect: Effect) -> tuple[float, float]:
    """Return the root mean squares over the rows of the bins' s* and E."""
    parts = split(effect)
    has = ~np.isnan(parts.within)
    if not has.any() or effect.bins is None:
        return float("nan"), float("nan")
    w = effect.bins.weight[has]
    size = float(np.sqrt(parts.total[has].max()))
    if size == 0:
        return 0.0, 0.0
    total, residual = (
        size * float(np.sqrt(np.average(v[has] / size**2, weights=w)))
        for v in (parts.total, parts.residual)
    )
    return total, residual


def _of_rows(rows: LocalRows, key: Floats) -> tuple[_Squares, float, float, float]:
    """Return each row's local variance: of the rows with the same key, or of a lone row with its two neighbours."""
    largest = float(np.abs(rows.effect).max(initial=0.0))
    d = rows.effect / (largest or 1.0)
    order = np.lexsort((rows.weight, d, key))
    d, key, w = d[order], key[order], rows.weight[order]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(d) else np.zeros(0, int)
    size = np.diff(np.append(starts, len(d)))
    group = np.repeat(np.arange(len(starts)), size)
    weight = np.add.reduceat(w, starts) if len(d) else np.zeros(0)
    mean = (
        np.add.reduceat(w * (d - d[starts][group]), starts) / weight + d[starts]
        if len(d)
        else weight
    )
    second = np.add.reduceat(w**2, starts) if len(d) else weight
    lone = (size == 1)[group]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (d - mean[group]) ** 2 * (weight**2 / (weight**2 - second))[group]
    inner = np.flatnonzero((size == 1)[1:-1]) + 1
    at = starts[inner]
    value[at] = (d[at] - mean[inner - 1]) * (d[at] - mean[inner + 1])
    known = ~lone | ((group > 0) & (group < len(starts) - 1))
    squares = _Squares(value[known], w[known], lone[known])
    total = _pooled(rows)
    return squares, largest, total, 0.0


def _pooled(rows: LocalRows) -> float:
    """Return the standard deviation of rows around the means of their bins."""
    bins = np.maximum(rows.bin, 0).astype(np.int64)
    k = int(bins.max(initial=0)) + 1
    weight = np.bincount(bins, rows.weight, k)
    mean = np.bincount(bins, rows.weight * rows.effect, k) / np.where(weight > 0, weight, 1)
    square = rows.weight @ (rows.effect - mean[bins]) ** 2
    return float(np.sqrt(square / max(float(rows.weight.sum()), np.finfo(float).tiny)))


def _of_curves(effect: Effect, curves: Curves) -> tuple[_Squares, float]:
    """Return each row's mean squared distance of its curve, less its own level, from the mean curve."""
    y = curves.value
    w = np.ones(len(y)) if curves.weight is None else curves.weight
    y, w = y[w > 0], w[w > 0]
    if effect.spec.center is None and not effect.spec.derivative:
        y = y - y.mean(axis=1, keepdims=True)
    largest = float(np.abs(y).max(initial=0.0))
    y = y / (largest or 1.0)
    away = ((y - w @ y / w.sum()) ** 2).mean(axis=1)
    enlarged = 1 - w @ w / w.sum() ** 2
    value = away / enlarged if enlarged > 0 else np.zeros(0)
    return _Squares(value, w[: len(value)], np.zeros(len(value), dtype=bool)), largest


def _of_cells(effect: Effect) -> tuple[_Squares, float, float, float]:
    """Return the variances of fine cells, where the rows are gone."""
    kind, moments = effect.spec.weight_kind, effect.moments
    if effect.levels is not None and effect.spec.local == "levels":
        fine = Steps.of(moments).pooled
    elif LOCAL in moments:
        fine = moments[LOCAL]
    else:
        what = f"heterogeneity_test of a {effect.spec.method}"
        raise UnsupportedError(explained(what, "nothing kept", "rows", "Explain with keep='1GB'"))
    variance, freedom = fine.variance(1, kind), fine.degrees(1, kind)
    has: Ints = np.flatnonzero(~np.isnan(variance) & (freedom > 0))
    largest = float(np.sqrt(fine.mean**2 + np.nan_to_num(variance)).max(initial=0.0))
    value = variance[has] / (largest**2 or 1.0)
    total = float(np.sqrt(np.average(value, weights=freedom[has]))) * largest if len(has) else 0.0
    squares = _Squares(value, freedom[has], np.zeros(len(has), dtype=bool))
    if effect.bins is None or effect.levels is not None:
        return squares, largest, total, 0.0
    return squares, largest, *_reported(effect)
