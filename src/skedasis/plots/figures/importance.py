"""From an `Importance` to a figure specification: bars, histograms before and after permutation.

`bars` has a bar per feature (mean over the repeats), its confidence interval as a whisker, and a dot per repeat.
`shifts` has, for each feature, histograms of the quantity over the kept rows before and after permuting the feature, on
shared axes (entropy_importance, Fig. 2, right). Texts and layouts are drawn by `plots.mpl.importance` and
`plots.svg.importance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skedasis._arguments import check_int_or_none, check_probability
from skedasis._types import Floats, Ints
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures import effect_parts
from skedasis.plots.scales import Axis, clean, counted, distinct_names, extent, shorten
from skedasis.plots.spec import BELOW
from skedasis.results.importance import Importance, LocalImportance
from skedasis.stats.resampling import t_interval

LETTERS = 32
"""Most characters of a name beside its bar."""


HEADED = 24
"""Most characters of a name above its panel."""


TITLE = 50
"""Most characters of the name of the metric or quantity."""


SHOWN = 6
"""Number of features with histograms before and after permutation, by default."""


MARKS = 100
"""Most dots per bar; of more repeats quantiles are drawn."""


BARS = (8, 40)
"""Fewest and most bins of a histogram."""


MEAN_OF_REPEATS, EACH_REPEAT = "mean over repeats", "individual repeats"
"""Legend entries of the bars and of the dots on them."""


_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, eq=False)
class BarPanel:
    """Specification of a horizontal bar chart of importances.

    Parameters
    ----------
    names : tuple of str
        Shortened names, most important first.
    value : ndarray of float, shape (f,)
    lower, upper : ndarray of float, shape (f,)
        Analytic confidence intervals; NaN without an interval.
    repeats : ndarray of float, shape (f, r)
        Importances of single repeats, or quantiles of many; no columns for an exact importance or a single repeat.
    x : Axis
    interval : str
        Legend entry of the whiskers.
    title : str
    notes : tuple of str
    """

    names: tuple[str, ...]
    value: Floats
    lower: Floats
    upper: Floats
    repeats: Floats
    x: Axis
    interval: str
    title: str
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class PermutationHistograms:
    """Histograms of the quantity before and after permuting one feature (entropy_importance, Fig. 2, right).

    Parameters
    ----------
    name : str
    x, y : Axis
        Shared by all features.
    edges : ndarray of float, shape (b + 1,)
    before, after : ndarray of float, shape (b,)
        Percentage of the rows, or of their weight, between two edges before and after permutation.
    means : (float, float)
        Mean of the quantity before and after permutation.
    notes : tuple of str
    """

    name: str
    x: Axis
    y: Axis
    edges: Floats
    before: Floats
    after: Floats
    means: tuple[float, float]
    notes: tuple[str, ...]


def bars(
    importance: Importance,
    *,
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
) -> BarPanel:
    """Return the specification of a bar chart of importances.

    Parameters
    ----------
    importance : Importance
    features : sequence of str, optional
        Features to show; by default all.
    top : int, optional
        Largest number of features; the most important ones are shown.
    confidence_level : float
        Confidence level of the intervals.

    Returns
    -------
    BarPanel

    Raises
    ------
    DataError
        For unknown features or none, if `top` is not a positive integer, or if `confidence_level` is not in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> values, error = np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([0.1, 0.2])
    >>> two = Importance(("a", "b"), values, error, np.full(2, 9.0), 0.5, 90)
    >>> panel = bars(two, top=1)
    >>> panel.names, panel.value.tolist(), panel.notes
    (('b',), [6.0], ('90 rows', '2 repeats', '1 of 2 features not shown'))
    """
    confidence_level = check_probability("plot(confidence_level)", confidence_level)
    chosen = display_order(importance, features, top)
    value = importance.mean[chosen]
    lower, upper = t_interval(
        value, importance.std_error[chosen], importance.df[chosen], confidence_level
    )
    repeats = _marks(importance, importance.values[chosen])
    notes = [counted(importance.rows, "row"), repeated(importance)]
    if np.isnan(lower).all():
        notes.append("no interval: too few repeats or rows")
    interval = f"{100 * confidence_level:g} % interval"
    return bar_panel(
        importance, chosen, value, (lower, upper), repeats, interval, titled(importance), notes
    )


def bar_panel(
    importance: Importance,
    chosen: Ints,
    value: Floats,
    ends: tuple[Floats, Floats],
    each: Floats,
    interval: str,
    title: str,
    notes: Sequence[str],
) -> BarPanel:
    """Return the panel of the chosen features, with notes on values that are cut off and on features not shown."""
    x = axis_of_values(importance, value, ends, each)
    hidden, total = len(importance) - len(chosen), counted(len(importance), "feature")
    left_out = (f"{hidden:,} of {total} not shown",) if hidden else ()
    names = distinct_names([clean(importance.features[i]) for i in chosen], LETTERS)
    notes = (*notes, *cut(x, *ends), *left_out)
    return BarPanel(names, value, *ends, each, x, interval, title, notes)


def shifts(
    importance: Importance, *, features: Sequence[str] | None = None, top: int | None = None
) -> tuple[PermutationHistograms, ...]:
    """Return the histograms of the quantity before and after permutation, one per feature.

    Parameters
    ----------
    importance : Importance
        With kept rows, such as of ``sd.PFI(local=1000)``.
    features, top
        As in `bars`; by default the six most important features.

    Returns
    -------
    tuple of PermutationHistograms
        On shared axes.

    Raises
    ------
    UnsupportedError
        If no rows were kept.
    DataError
        As `bars` does.
    """
    local = importance.local
    if local is None or len(local) == 0:
        fix = "Use sd.PFI(local=1000)"
        if importance.metric is not None:
            fix = "A metric is computed over all rows at once; explain a loss instead"
        raise UnsupportedError(
            "plot(kind='local')", "an importance without kept rows", "kept rows", fix
        )
    top = SHOWN if top is None and features is None else top
    chosen = display_order(importance, features, top)
    after = [local.after[local.features.index(importance.features[i])] for i in chosen]
    weight = np.ones(len(local)) if local.weight is None else local.weight
    edges, low, high = _edges(local.before, after)
    x = Axis(shorten(importance.quantity, BELOW), importance.unit, low, high, 0.0)
    names = distinct_names([clean(importance.features[i]) for i in chosen], HEADED)
    found = [
        _shift(name, x, edges, local.before, moved, weight)
        for name, moved in zip(names, after, strict=True)
    ]
    highest = max(float(max(s.before.max(), s.after.max())) for s in found)
    said = "% of rows" if local.weight is None else "% of rows by weight"
    y = Axis(said, None, 0.0, 1.08 * highest, 0.0)
    return tuple(
        PermutationHistograms(s.name, s.x, y, s.edges, s.before, s.after, s.means, s.notes)
        for s in found
    )


def display_order(importance: Importance, features: Sequence[str] | None, top: int | None) -> Ints:
    """Return the indices of the features to show, most important first."""
    top = check_int_or_none("plot(top)", top, 1, "Use 20, or None")
    asked = [features] if isinstance(features, str) else features
    known = importance.features
    if asked is not None and any(f not in known for f in asked):
        odd = next(f for f in asked if f not in known)
        shown = ", ".join(repr(shorten(f, 40)) for f in known[:8])
        expected = f"some of {shown}{', …' if len(known) > 8 else ''}"
        raise DataError("plot(features)", repr(odd), expected, "Use names of features")
    places = range(len(known)) if asked is None else [known.index(f) for f in dict.fromkeys(asked)]
    places = np.array(sorted(places), dtype=np.int64)
    if len(places) == 0:
        raise DataError("plot(features)", "no features", "at least one", "Name some features")
    return places[np.argsort(-importance.mean[places], kind="stable")][:top]


def titled(importance: Importance) -> str:
    """Return the title: the method and the metric or quantity."""
    what = shorten(importance.metric or importance.quantity, TITLE)
    return f"{importance.method} of {what}" if what else importance.method


def repeated(importance: Importance) -> str:
    """Return a note on the number of repeats, or "all pairs of rows" for an exact importance."""
    if importance.is_exact:
        return "all pairs of rows"
    return counted(importance.values.shape[1], "repeat")


def kept(local: LocalImportance) -> str:
    """Return a note on which rows are shown."""
    rows = counted(len(local), "row")
    return rows if local.exact else f"a sample of {rows}"


def axis_of_values(
    importance: Importance, value: Floats, ends: tuple[Floats, Floats], more: Floats
) -> Axis:
    """Return the axis of importances: it contains zero and all values, and intervals as far as bars stay readable.

    Parameters
    ----------
    importance : Importance
    value : ndarray of float, shape (f,)
    ends : tuple of two ndarray, shape (f,)
        Confidence intervals; with three repeats they may be many times as wide as all importances.
    more : ndarray of float
        Further values that must be visible.
    """
    low, high = extent([value, more, np.zeros(1)])
    least, most = extent(ends)
    span = high - low if high > low else np.inf
    low, high = np.fmin(low, max(least, low - span)), np.fmax(high, min(most, high + span))
    unit = None if importance.metric is not None else importance.unit
    name = importance.axis if unit is None else importance.axis.removesuffix(f" [{unit}]")
    return Axis(shorten(name, BELOW), unit, float(low), float(high), 0.04)


def cut(axis: Axis, lower: Floats, upper: Floats) -> list[str]:
    """Return a note if intervals extend beyond the axis."""
    low, high = axis.limits
    return ["intervals extend beyond the panel"] if np.any((lower < low) | (upper > high)) else []


def _marks(importance: Importance, values: Floats) -> Floats:
    r = values.shape[1]
    if importance.is_exact or r < 2:
        return values[:, :0]
    if r <= MARKS:
        return values
    return np.quantile(values, np.linspace(0, 1, MARKS), axis=1).T.astype(np.float64)


def _edges(own: Floats, after: Sequence[Floats]) -> tuple[Floats, float, float]:
    """Return the edges of all histograms and the ends of the axis, which a few outliers do not stretch."""
    everything = np.concatenate([own, *(a.ravel() for a in after)])
    middles = [own, *(a.mean(axis=1) for a in after)]
    means = np.array([m.mean() for m in middles])
    low, high = effect_parts.visible(everything, *extent([means]))
    low, high = Axis("", None, low, high, 0.02).range
    least, most = BARS
    b = int(np.clip(np.ceil(2 * len(own) ** (1 / 3)), least, most))
    return np.linspace(low, high, b + 1, dtype=np.float64), float(low), float(high)


def _shift(
    name: str, x: Axis, edges: Floats, own: Floats, after: Floats, weight: Floats
) -> PermutationHistograms:
    share = 100 * weight / weight.sum()
    repeats = after.shape[1]
    before = np.histogram(own, edges, weights=share)[0]
    # All repeats together have the same weight as the rows before permutation.
    moved = np.histogram(
        after, edges, weights=np.repeat(share / repeats, repeats).reshape(-1, repeats)
    )[0]
    means = float(share @ own) / 100, float(share @ after.mean(axis=1)) / 100
    rise = f"mean {means[0]:.3g} → {means[1]:.3g}".replace("-", _MINUS)
    beyond = 200 - float(before.sum() + moved.sum())
    notes = (f"{beyond / 2:.1g} % outside the panel",) if beyond > 0.02 else ()
    y = Axis("", None, 0.0, 1.0)
    return PermutationHistograms(name, x, y, edges, before, moved, means, (rise, *notes))
