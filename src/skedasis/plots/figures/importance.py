"""From an `Importance` to a figure: bars, or histograms before and after permutation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from skedasis._arguments import check_int_or_none, check_probability
from skedasis._numbers import counted, number, percent
from skedasis._types import Floats, Ints
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.bars import (
    RankedLine,
    bin_edges,
    bin_tooltips,
    columns,
    first_of,
    in_unit,
    mean_marks,
    ranked_panel,
    value_lines,
)
from skedasis.plots.figures.effect_parts import off_scale, readable_range
from skedasis.plots.figures.titles import LONG, importance_title
from skedasis.plots.marks import FigureSpec, Line, Panel, Title
from skedasis.plots.scales import PlotAxis, clean, extent, position_texts, shorten
from skedasis.results.importance import Importance, LocalImportance
from skedasis.stats.student import t_interval

SHOWN = 6
"""Number of features with histograms before and after permutation, by default."""

MARKS = 100
"""Most dots per bar; of more repeats quantiles are drawn."""

MEAN_OF_REPEATS, EACH_REPEAT = "mean over repeats", "individual repeats"
"""Legend entries of the bars and of the dots on them."""

# --- bars ----------------------------------------------------------------------------------------


def importance_figure(
    importance: Importance,
    *,
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
) -> FigureSpec:
    """Return a bar chart of importances, most important first."""
    confidence_level = check_probability("plot(confidence_level)", confidence_level)
    chosen = display_order(importance, features, top)
    value = importance.mean[chosen]
    ends = t_interval(value, importance.std_error[chosen], importance.df[chosen], confidence_level)
    notes = [counted(importance.rows, "row"), repeated(importance)]
    if np.isnan(ends[0]).all():
        notes.append("no interval: too few repeats or rows")
    each = _marks(importance, importance.values[chosen])
    interval = f"{100 * confidence_level:g} % interval"
    return bar_figure(
        importance, chosen, value, ends, each, interval, importance_title(importance), notes
    )


def bar_figure(
    importance: Importance,
    chosen: Ints,
    value: Floats,
    ends: tuple[Floats, Floats],
    each: Floats,
    interval: str,
    title: Title,
    notes: Sequence[str],
    *,
    mean: str = MEAN_OF_REPEATS,
    dots: str = EACH_REPEAT,
) -> FigureSpec:
    """Return bars of importances with whiskers and dots, in the given order."""
    x = axis_of_values(importance, value, ends, each)
    lines: list[RankedLine] = []
    for i, v, low, high, repeats in zip(chosen, value.tolist(), *ends, each, strict=True):
        name = clean(importance.feature_titles[i])
        tip = [shorten(name, LONG), *value_lines("importance", v, x.unit, interval, (low, high))]
        if repeats.size:
            tip.append(f"{dots} {number(float(repeats.min()))} to {number(float(repeats.max()))}")
        line = RankedLine(
            name, v, tip, (low, high), "bar", mean if each.size else "mean", dots=repeats
        )
        lines.append(line)
    hidden, total = len(importance) - len(chosen), counted(len(importance), "feature")
    left_out = (f"{hidden:,} of {total} not shown",) if hidden else ()
    notes = (*notes, *off_scale(x, [ends]), *left_out)
    panel = ranked_panel(lines, x, title=title, notes=notes, interval=interval, dots=dots)
    said = [f"{shorten(line.name, LONG)} {number(line.value)}{in_unit(x.unit)}" for line in lines]
    alt = f"Bar chart, most important first: {first_of(said)}. {'; '.join(notes)}."
    return FigureSpec(((panel,),), str(title), alt)


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


def repeated(importance: Importance) -> str:
    """Return a note on the number of repeats, or "all pairs of rows" for an exact importance."""
    if importance.is_exact:
        return "all pairs of rows"
    return counted(importance.values.shape[1], "repeat")


def axis_of_values(
    importance: Importance, value: Floats, ends: tuple[Floats, Floats], more: Floats
) -> PlotAxis:
    """Return the axis of importances: it contains zero and all values, and intervals as far as bars stay readable."""
    low, high = readable_range(extent(ends), *extent([value, more, np.zeros(1)]), 1.0)
    unit = None if importance.metric is not None else importance.unit
    name = importance.axis if unit is None else importance.axis.removesuffix(f" [{unit}]")
    return PlotAxis(name, unit, low, high, 0.04)


def _marks(importance: Importance, values: Floats) -> Floats:
    """Return the values that are drawn as dots: single repeats, or quantiles of many."""
    r = values.shape[1]
    if importance.is_exact or r < 2:
        return values[:, :0]
    if r <= MARKS:
        return values
    return np.quantile(values, np.linspace(0, 1, MARKS), axis=1).T.astype(np.float64)


# --- histograms before and after permutation -----------------------------------------------------


def permutation_figure(
    importance: Importance, *, features: Sequence[str] | None = None, top: int | None = None
) -> FigureSpec:
    """Return histograms of the quantity before and after permutation, one panel per feature, on shared axes."""
    local = importance.local
    if local is None or len(local) == 0:
        fix = "Use sd.PFI(local=1000)"
        if importance.metric is not None:
            fix = "A metric is computed over all rows at once; explain a loss instead"
        raise UnsupportedError(
            "plot(kind='local')", "an importance without kept rows", "kept rows", fix
        )
    chosen = display_order(importance, features, SHOWN if top is None and features is None else top)
    after = [local.after[local.features.index(importance.features[i])] for i in chosen]
    names = [clean(importance.feature_titles[i]) for i in chosen]
    edges = _edges(local.before, after)
    x = PlotAxis(importance.quantity, importance.unit, float(edges[0]), float(edges[-1]), 0.0)
    weight = np.ones(len(local)) if local.weight is None else local.weight
    share = 100 * weight / weight.sum()
    before = np.histogram(local.before, edges, weights=share)[0]
    moved = [_moved(a, edges, share) for a in after]
    own = float(share @ local.before) / 100
    highest = max(float(before.max()), *(float(m.max()) for m in moved))
    said = "% of rows" if local.weight is None else "% of rows by weight"
    y = PlotAxis(said, None, 0.0, 1.08 * highest, 0.0)
    labels = (f"before permutation ({_kept(local)})", f"after permutation ({repeated(importance)})")
    panels = [
        _histograms(
            name, (x, y), edges, (before, m), (own, float(share @ a.mean(axis=1)) / 100), labels
        )
        for name, m, a in zip(names, moved, after, strict=True)
    ]
    n = len(panels)
    notes = (f"{n:,} of {counted(len(importance), 'feature')}",) if n < len(importance) else ()
    means = "; ".join(
        f"{shorten(m, LONG)}: {p.notes[0]}" for m, p in zip(names, panels, strict=True)
    )
    first = f"Histograms of rows before and after permutation, for {counted(n, 'feature')}."
    what = f"{shorten(importance.quantity, LONG)} before and after permutation"
    title = importance_title(importance, what)
    if n == 1:
        panels = [replace(panels[0], title=replace(title, subject=shorten(names[0], LONG)))]
    return FigureSpec(
        tuple((p,) for p in panels),
        str(title),
        f"{first} {means}.",
        columns=2 if n == 4 else min(3, n),
        column_width=150.0,
        shared=True,
        small=n > 1,
        heading=title if n > 1 else Title(),
        notes=notes,
        noun="feature",
    )


def _kept(local: LocalImportance) -> str:
    """Return which rows are shown."""
    rows = counted(len(local), "row")
    return rows if local.exact else f"a sample of {rows}"


def _edges(own: Floats, after: Sequence[Floats]) -> Floats:
    """Return the edges of all histograms, which a few outliers do not stretch."""
    everything = np.concatenate([own, *(a.ravel() for a in after)])
    means = np.array([m.mean() for m in (own, *(a.mean(axis=1) for a in after))])
    return bin_edges(*effect_parts.visible(everything, *extent([means])), len(own))


def _moved(after: Floats, edges: Floats, share: Floats) -> Floats:
    """Return the percentage of rows between two edges after permutation, shape (b,)."""
    # All repeats together have the same weight as the rows before permutation.
    weights = np.repeat(share / after.shape[1], after.shape[1]).reshape(after.shape)
    return np.histogram(after, edges, weights=weights)[0]


def _histograms(
    name: str,
    axes: tuple[PlotAxis, PlotAxis],
    edges: Floats,
    heights: tuple[Floats, Floats],
    means: tuple[float, float],
    labels: tuple[str, str],
) -> Panel:
    """Return the histograms before (bars) and after permutation (outline), with both means."""
    before, after = heights
    outline = np.concatenate([[0.0], np.repeat(after, 2), [0.0]])
    marks = (
        columns(edges, before, "before", labels[0]),
        Line(np.repeat(edges, 2), outline, "after", labels[1]),
        *mean_marks(means[0], "before", "mean before permutation"),
        *mean_marks(means[1], "after", "mean after permutation"),
    )
    rise = f"mean {number(means[0])} → {number(means[1])}"
    beyond = 200 - float(before.sum() + after.sum())
    notes = (
        (rise, f"{percent(beyond / 200)} of rows are off the scale") if beyond > 0.02 else (rise,)
    )
    texts = position_texts(edges)
    unit = f" {shorten(axes[0].unit, 30)}" if axes[0].unit else ""
    tips = [
        f"{low} – {high}{unit}\nbefore permutation {percent(own / 100)}\n"
        f"{shorten(name, LONG)} permuted {percent(permuted / 100)}"
        for (low, high), own, permuted in zip(
            pairwise(texts), before.tolist(), after.tolist(), strict=True
        )
    ]
    tooltips = bin_tooltips(edges, tips)
    return Panel(*axes, marks, 150.0, Title(name), notes, tooltips=tooltips)
