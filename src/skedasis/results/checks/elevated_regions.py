"""Regions where the mean ICE curve is elevated, and whether curves of rows observed there are, too.

An average over curves mixes two things (entropy_importance, sec. 4.1). Where uncertainty belongs to the feature's
values themselves, curves stand high for rows that lie there, too (aleatoric uncertainty). Where it is the model's
surprise at rows that were put there, only curves of rows whose own value lies elsewhere do (epistemic uncertainty:
extrapolation). A rise is a stretch above the curves' own mean, not one on which they climb.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.errors import UnsupportedError, explained
from skedasis.results.display import given_level
from skedasis.results.effect import TRUSTED_ROWS, Curves, Effect
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import t_interval

Verdict = Literal["all", "elsewhere", "unclear"]


SHARE = 0.5
"""Curves of rows that lie there stand high, too, if they do so by more than this share of the others'."""


LOW = 0.1
"""The share of its points that a curve's low level lies above: its minimum would be lower the more a curve is noise."""


_ROUNDING = 1e-13


@dataclass(frozen=True)
class Rise:
    """A stretch of a feature's axis on which the average of its curves stands high: above the curves' own mean.

    It is no stretch on which the curves climb: one that climbs from end to end stands high on its right half.

    Parameters
    ----------
    left, right : float
        Its ends, in units of the feature: half-way to the neighbouring points of the grid, or the grid's own ends.
    near : float
        How high the curves of the rows stand whose own value lies here, each at the row's own value, above its low
        level (the lowest tenth of its points). In units of the quantity; NaN for no row.
    near_error : float
        Its standard error; NaN for a single row.
    near_rows : int
    elsewhere : float
        How high the curves of the other rows stand at the same values, each above its low level.
    elsewhere_error : float
    elsewhere_rows : int
    verdict : {"all", "elsewhere", "unclear"}
        "all": high on average for rows that lie here, too. "elsewhere": high for rows from elsewhere only. "unclear":
        fewer than ten rows lie here, or the numbers do not decide.
    """

    left: float
    right: float
    near: float
    near_error: float
    near_rows: int
    elsewhere: float
    elsewhere_error: float
    elsewhere_rows: int
    verdict: Verdict

    @property
    def text(self) -> str:
        """Return the verdict in words.

        Examples
        --------
        >>> Rise(0.0, 1.0, 0.1, 0.02, 80, 0.9, 0.05, 120, "elsewhere").text
        'rows from elsewhere only: extrapolation'
        """
        if self.verdict == "elsewhere":
            return "rows from elsewhere only: extrapolation"
        if self.verdict == "unclear":
            rows = f"{self.near_rows:,} row{'s lie' if self.near_rows != 1 else ' lies'} here"
            return f"unclear: {rows}" if self.near_rows < TRUSTED_ROWS else "unclear"
        # What is high for rows that lie there, and hardly for others, is not high for all.
        alone = self.elsewhere_rows > 0 and self.elsewhere < SHARE * self.near
        return "rows that lie here above all" if alone else "rows that lie here, too"


def rises(effect: Effect, level: float = 0.95) -> tuple[Rise, ...]:
    """Return where the curves of a PDP or ICE stand high, and whose.

    Parameters
    ----------
    effect : Effect
        Of a numeric feature, with individual curves.
    level : float
        Confidence of what is called a rise, over the whole grid, and of each verdict.

    Returns
    -------
    tuple of Rise
        From left to right; empty where no stretch stands out.

    Raises
    ------
    UnsupportedError
        For an effect without curves, of a categorical feature, or of slopes.
    DataError
        For a level outside (0, 1).

    Notes
    -----
    Each curve is taken minus its own unweighted mean over the grid. A rise is a stretch on which the mean of these is
    above zero, from the first to the last point at which it is so beyond its error (Student's t, the level shared by
    all points of the grid: Bonferroni). So it says where curves stand high, not where they climb.

    Whose rise it is, is measured from each curve's own low level: its mean would hide that rows' curves are high here
    from those whose curves are high elsewhere, too. Rows that lie there are looked at where they lie: each curve at the
    row's own value, where the model really stands. The other rows' curves are averaged over those same values, so that
    a curve that is alike for all rows gives the same number twice, wherever in the stretch the rows lie. The verdict is
    "all" if the first number is greater than half the second beyond its error, "elsewhere" if it is less. Rows beyond
    the grid's end next to a stretch count as neither, nor do rows without a value.

    Of an uncertainty, "all" speaks for noise that the model has learned of these values (aleatoric), "elsewhere" for
    rows that no data are like (epistemic). That reads the model's curves and proves nothing: a model may be wrong about
    both. Ask it of rows that the model was not trained on, for at its own rows an overfitted one is surer than beside
    them. Curves are those that were kept; between points of the grid they are taken as linear. No model row.

    References
    ----------
    entropy_importance, sec. 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> e = sd.explain(lambda X: (X[:, 0] > 0.5) + X[:, 1], X, 0, method=sd.ICE(grid=11))
    >>> [(round(r.left, 1), round(r.right, 1), r.verdict) for r in rises(e)]
    [(0.5, 0.9, 'all')]
    """
    level = given_level("rises(level)", level)
    grid, curves = np.asarray(effect.points), _curves(effect)
    y, kind = curves.value, effect.spec.weight_kind
    if len(y) == 0:
        return ()
    size = float(np.abs(y).max(initial=0.0))
    centred = y - y.mean(axis=1, keepdims=True)
    found = _runs(Moments.of_curves(centred.T, curves.weight), kind, level, _ROUNDING * size)
    curves = replace(curves, value=y - np.quantile(y, LOW, axis=1, method="lower")[:, None])
    return tuple(_rise(grid, curves, run, kind, level) for run in found)


def _curves(effect: Effect) -> Curves:
    """Return the curves of rows that count."""
    if effect.levels is not None or effect.curves is None or effect.spec.derivative:
        got = f"a {effect.spec.method} without individual curves"
        if effect.levels is not None:
            got = "a categorical feature"
        elif effect.spec.derivative:
            got = "curves of slopes"
        fix = "Use sd.ICE() or sd.PDP() of a numeric feature"
        raise UnsupportedError(explained("rises", got, "curves over numbers", fix))
    curves = effect.curves
    if curves.weight is None:
        return curves
    there = curves.weight > 0
    return Curves(
        curves.value[there],
        curves.x[there],
        curves.row[there],
        curves.weight[there],
        curves.exact,
    )


def _runs(mean: Moments, kind: WeightKind, level: float, noise: float) -> list[tuple[int, int]]:
    """Return the first and the last point of each rise."""
    size = mean.effective(kind)
    error = np.sqrt(mean.variance(1, kind) / size)
    shared = 1 - (1 - level) / len(error)
    lower, _ = t_interval(mean.mean, error, size - 1, shared)
    sure = np.flatnonzero(lower > noise)  # NaN, of a single curve, is not
    stretch = np.cumsum(mean.mean <= noise)
    groups = [sure[stretch[sure] == k] for k in np.unique(stretch[sure])]
    return [(int(g[0]), int(g[-1])) for g in groups]


@dataclass(frozen=True, eq=False)
class _Lying:
    """Where rows lie between the points of a grid.

    Parameters
    ----------
    left : ndarray of int, shape (n,)
        The point before each row.
    share : ndarray of float, shape (n,)
        How far the row is on its way to the next point.
    """

    left: Ints
    share: Floats

    @classmethod
    def of(cls, x: Floats, grid: Floats) -> _Lying:
        left = np.clip(np.searchsorted(grid, x, "right") - 1, 0, len(grid) - 2)
        return cls(left, (x - grid[left]) / (grid[left + 1] - grid[left]))

    def own(self, curves: Floats) -> Floats:
        """Return each row's curve, (n, m), at the row's own value."""
        row = np.arange(len(self.left))
        low, high = curves[row, self.left], curves[row, self.left + 1]
        return low + self.share * (high - low)

    def of_one(self, curve: Floats) -> Floats:
        """Return one curve, (m,), at the values of all rows."""
        return curve[self.left] + self.share * (curve[self.left + 1] - curve[self.left])

    def weights(self, m: int, weight: Floats) -> Floats:
        """Return what the points of a grid count for if a curve is averaged over the rows' values, (m,)."""
        there = np.bincount(self.left, weight * (1 - self.share), m)
        there += np.bincount(self.left + 1, weight * self.share, m)
        return there / weight.sum()


def _rise(
    grid: Floats, curves: Curves, run: tuple[int, int], kind: WeightKind, level: float
) -> Rise:
    """Return one rise, looked at through both kinds of rows."""
    first, last, m = *run, len(grid)
    left = float(grid[first] if first == 0 else (grid[first - 1] + grid[first]) / 2)
    right = float(grid[last] if last == m - 1 else (grid[last] + grid[last + 1]) / 2)
    x, y = curves.x, curves.value
    w = np.ones(len(y)) if curves.weight is None else curves.weight
    near = (x >= left) & (x <= right)
    # What lies beyond the grid may be as high: it is not elsewhere.
    beyond = ((x < left) & (first == 0)) | ((x > right) & (last == m - 1))
    other = np.isfinite(x) & ~near & ~beyond
    lying = _Lying.of(x[near], grid)
    if near.any():
        points = lying.weights(m, w[near])
    else:
        points = np.where((np.arange(m) >= first) & (np.arange(m) <= last), 1.0, 0.0)
        points /= points.sum()
    own = _Mean.of(lying.own(y[near]), w[near], kind)
    away = _Mean.of(y[other] @ points, w[other], kind)
    beside = lying.of_one(np.average(y[other], axis=0, weights=w[other])) if other.any() else 0.0
    # Row by row, so that where in the stretch the rows lie adds no error to the comparison.
    more = _Mean.of(lying.own(y[near]) - SHARE * beside, w[near], kind)
    return Rise(
        left,
        right,
        own.value,
        own.error,
        int(near.sum()),
        away.value,
        away.error,
        int(other.sum()),
        _verdict(more, own, away, level),
    )


class _Mean(NamedTuple):
    """A mean over rows; its error and the rows that the error divides by."""

    value: float
    error: float
    size: float

    @classmethod
    def of(cls, values: Floats, weight: Floats, kind: WeightKind) -> _Mean:
        if len(values) == 0:
            return cls(np.nan, np.nan, 0.0)
        got = Moments.of(values, np.zeros(len(values), dtype=np.int64), 1, weight)
        size = float(got.effective(kind)[0])
        error = float(np.sqrt(got.variance(1, kind)[0] / size))
        return cls(float(got.mean[0]), error, size)


def _verdict(more: _Mean, own: _Mean, away: _Mean, level: float) -> Verdict:
    """Decide by how much higher the rows that lie there stand than half as high as the others."""
    if own.size < TRUSTED_ROWS:
        return "unclear"
    alone = away.size < TRUSTED_ROWS  # nobody to compare with: is it high at all?
    found = own if alone else more
    error = found.error if alone else float(np.hypot(found.error, SHARE * away.error))
    freedom = (own.size if alone else min(own.size, away.size)) - 1
    ends = t_interval(np.array([found.value]), np.array([error]), np.array([freedom]), level)
    lower, upper = (float(e[0]) for e in ends)
    if lower > 0:
        return "all"
    return "elsewhere" if upper < 0 and not alone else "unclear"
