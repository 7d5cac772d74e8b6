"""From `Interactions` to a figure: a heat map of the pairs, or a network of the features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skedasis._arguments import check_int_or_none, shown
from skedasis._numbers import counted, number, percent
from skedasis._types import Floats
from skedasis.errors import UnsupportedError
from skedasis.plots.figures.surface import colour_scale, value_text
from skedasis.plots.marks import (
    FigureSpec,
    Heat,
    LabelSide,
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Text,
    Title,
    Tooltip,
)
from skedasis.plots.scales import PlotAxis, clean, distinct_names, shorten
from skedasis.results.interactions import (
    MEASURES,
    FeatureInteraction,
    Interactions,
    PairInteraction,
    bounded,
    screened_text,
)
from skedasis.results.keywords import Measure

TOP = 40
"""Most features in a figure, unless the user asks for another number; more names do not fit."""

_WRITTEN = 12
"""Most features of a heat map with a number in each cell."""

_ROW = 13.0
"""Height of a line of a heat map in points, and limits of its height."""
_HEAT_LIMITS = (110.0, 400.0)

_NETWORK_HEIGHT, _NAME_HEIGHT = 200.0, 12.0
"""Height of a network in points; and least height for each name on one side of it."""

_AROUND = 1.25
"""Half of the height of a network in units of its circle: discs at the ends have room in low figures, too."""

_CLASSES = 5
"""Number of widths of lines, and of sizes of discs."""

_WEAK = 0.05
"""Lines below this fraction of the strongest interaction are left out."""

_POLYGON = 10
"""Most features that are vertices of a regular polygon; more have the same vertical distance from each other."""

_LETTERS = 20
"""Most letters of a name."""

_TITLES: dict[Measure, str] = {
    "h2_unnormalized": "size of the interaction",
    "h2": "H²",
    "ale_strength": "ALE interaction strength",
    "depends": "how much one feature changes the other's effect",
}


def heatmap_figure(
    found: Interactions, *, measure: Measure | None = None, top: int | None = TOP
) -> FigureSpec:
    """Return the heat map of the pairs."""
    found = replace(found, pairs=tuple(bounded(p) for p in found.pairs))
    measure = _measure(found, measure)
    names, left_out = _features(found, measure, top)
    labels = distinct_names([clean(n) for n in _titles(found, names)], _LETTERS)
    n = len(names)
    value, in_pairs = np.full((n - 1, n - 1), np.nan), np.zeros((n - 1, n - 1), bool)
    tips: list[Tooltip] = []
    for pair in found.pairs:
        if pair.feature_0 in names and pair.feature_1 in names:
            i, j = sorted((names.index(pair.feature_0), names.index(pair.feature_1)))
            # The first line is at the top; rows of a heat map are from bottom to top.
            row = n - 1 - j
            value[row, i], in_pairs[row, i] = pair.strength(measure), True
            tips.append(Tooltip(i - 0.5, i + 0.5, _tip(found, pair), row - 0.5, row + 0.5))
    known = value[np.isfinite(value)]
    most = float(known.max(initial=0.0))
    unit = found.unit if measure in ("h2_unnormalized", "ale_strength") else None
    scale = PlotAxis(_TITLES[measure], unit, 0.0, most if most > 0 else 1.0, 0.0)
    edges = np.arange(n, dtype=np.float64) - 0.5
    at = tuple(float(k) for k in range(n - 1))
    across = PlotAxis("", None, -0.5, n - 1.5, 0.0, at, tuple(labels[:-1]))
    up = PlotAxis("", None, -0.5, n - 1.5, 0.0, at, tuple(labels[1:][::-1]))
    marks: list[Mark] = [Heat(edges, edges, np.maximum(value, 0.0), scale.limits, diverging=False)]
    if found.screened and measure in ("h2", "h2_unnormalized"):
        # White would be read as 0.
        row, i = (k.astype(float) for k in np.nonzero(np.isnan(value) & in_pairs))
        marks.append(Rectangles(i - 0.5, i + 0.5, row - 0.5, row + 0.5, "rowless", "not computed"))
    texts: list[Text] = []
    if n <= _WRITTEN:
        for row, i in np.argwhere(np.isfinite(value)).tolist():
            v = float(value[row, i])
            written = value_text(v, scale) if v > 1e-12 * most else "0"
            room = (i - 0.5, i + 0.5, row - 0.5, row + 0.5)
            texts.append(Text(float(i), float(row), (written,), "value", room=room))
    notes = _notes(found, measure, left_out)
    main = Panel(
        across,
        up,
        tuple(marks),
        float(np.clip(_ROW * 1.5 * (n - 1), *_HEAT_LIMITS)),
        title=_title(found, measure),
        notes=notes,
        texts=tuple(texts),
        grid="",
        tooltips=tuple(tips),
    )
    bar = colour_scale(scale, (), diverging=False)
    alt = f"Heat map of {_TITLES[measure]} of {counted(len(known), 'pair')}. {_strongest(found, measure)}"
    return FigureSpec(((main, bar),), str(main.title), alt)


def network_figure(
    found: Interactions, *, measure: Measure | None = None, top: int | None = TOP
) -> FigureSpec:
    """Return the network of the features; parameters and errors are those of `heatmap_figure`."""
    found = replace(found, pairs=tuple(bounded(p) for p in found.pairs))
    measure = _measure(found, measure)
    names, left_out = _features(found, measure, top)
    # Neighbours on the circle are neighbours in X: the order of strength would draw all lines in one corner.
    names = [name for name in found.features if name in names]
    place = _places(len(names))
    position = {name: place[i] for i, name in enumerate(names)}
    lines = [p for p in found.pairs if p.feature_0 in position and p.feature_1 in position]
    size = np.array([p.strength(measure) for p in lines])
    size = np.where(np.isfinite(size), np.maximum(size, 0.0), 0.0)
    most = float(size.max(initial=0.0))
    drawn = size > _WEAK * most
    marks: list[Mark] = [*_edges(lines, size, drawn, position, _unit(found, measure))]
    overall = {o.feature: o for o in found.by_feature}
    marks += _discs(names, place, overall)
    notes = [*_notes(found, measure, left_out), "wider line: stronger interaction"]
    if (~drawn & (size > 1e-12 * most)).any():
        notes.append("weaker ones not drawn")
    if any(np.isfinite(o.importance) for o in overall.values()):
        notes.append("larger disc: more important")
    # Room for names beside the circle; a panel is wider than high.
    letters = max(len(name) for name in _titles(found, names))
    wide = 1.15 + 0.055 * min(letters, _LETTERS)
    tips = [
        Tooltip(x, x, _feature_tip(found, overall[name]), y, y)
        for name, (x, y) in zip(names, place.tolist(), strict=True)
    ]
    main = Panel(
        PlotAxis("", None, -wide, wide, 0.0, hidden=True),
        PlotAxis("", None, -_AROUND, _AROUND, 0.0, hidden=True),
        tuple(marks),
        max(_NETWORK_HEIGHT, _NAME_HEIGHT * math.ceil(len(names) / 2)),
        title=_title(found, measure),
        notes=tuple(notes),
        texts=tuple(_names(_titles(found, names), place)),
        grid="",
        frame=False,
        tooltips=tuple(tips),
    )
    alt = (
        f"Network of {counted(len(names), 'feature')} with {counted(int(drawn.sum()), 'line')}: "
        f"{_TITLES[measure]}. {_strongest(found, measure)}"
    )
    return FigureSpec(((main,),), str(main.title), alt)


# --- what is shown --------------------------------------------------------------------------------


def _title(found: Interactions, measure: Measure) -> Title:
    what = f"interactions for {shorten(clean(found.quantity), 40)}"
    return Title(counted(len(found.features), "feature"), what, _TITLES[measure])


def _titles(found: Interactions, names: Sequence[str]) -> list[str]:
    """Return the features' texts for people: their labels, or their names."""
    return [found.labels.get(name, name) for name in names]


def _measure(found: Interactions, measure: Measure | None) -> Measure:
    """Return what is shown."""
    if measure is None:
        return found.measure
    if not any(np.isfinite(p.strength(measure)) for p in found.pairs):
        known = [m for m in MEASURES if any(np.isfinite(p.strength(m)) for p in found.pairs)]
        raise UnsupportedError(
            "plot(measure)",
            f"{shown(measure)}, which was not computed",
            " or ".join(map(repr, known)) or "a measure that was computed",
            "Compute it: sd.interactions(..., h2=True, ale=True)",
        )
    return measure


def _features(found: Interactions, measure: Measure, top: object) -> tuple[list[str], int]:
    """Return the names of the features with the strongest interactions, strongest first, and how many are left out."""
    most = check_int_or_none("plot(top)", top, 2, "Use 20, or None for all features")
    strength = dict.fromkeys(found.features, 0.0)
    in_pairs: set[str] = set()
    for pair in found.pairs:
        value = pair.strength(measure)
        for name in (pair.feature_0, pair.feature_1):
            in_pairs.add(name)
            if np.isfinite(value):
                strength[name] += value**2
    if measure in ("h2", "h2_unnormalized"):
        overall = {o.feature: o.h2_unnormalized for o in found.by_feature}
        strength = {n: overall[n] if np.isfinite(overall[n]) else 0.0 for n in strength}
    order = sorted((n for n in found.features if n in in_pairs), key=lambda n: -strength[n])
    return order[:most], len(order) - len(order[:most])


def _notes(found: Interactions, measure: Measure, left_out: int) -> tuple[str, ...]:
    notes: list[str] = []
    if measure in ("h2", "h2_unnormalized"):
        notes += [found.h2_rows_text] if found.h2_rows_text else []
        notes += [screened_text(found)] if found.screened else []
    if not np.isnan(found.h2):
        notes.append(f"interactions make up {percent(found.h2)} of the variance")
    if left_out:
        notes.append(f"{counted(left_out, 'feature')} with weaker interactions not shown")
    return tuple(notes)


def _strongest(found: Interactions, measure: Measure) -> str:
    """Return the strongest pairs as a sentence, for the alternative text."""
    lines = [p for p in found.pairs if np.isfinite(p.strength(measure))]
    lines = sorted(lines, key=lambda p: -p.strength(measure))[:5]
    said = [
        f"{' and '.join(shorten(clean(n), 40) for n in _titles(found, (p.feature_0, p.feature_1)))} "
        f"{number(p.strength(measure))}"
        for p in lines
    ]
    return f"Strongest: {'; '.join(said)}." if said else "No pair has a value."


def _tip(found: Interactions, pair: PairInteraction) -> str:
    """Return the facts on a pair, one per line."""
    a, b = (shorten(clean(n), 60) for n in _titles(found, (pair.feature_0, pair.feature_1)))
    facts = {
        "size of the interaction": pair.h2_unnormalized,
        "H²": pair.h2,
        "ALE strength": pair.ale_strength,
        f"{a} depends on {b}:": pair.depends_01,
        f"{b} depends on {a}:": pair.depends_10,
    }
    return "\n".join(
        [f"{a} and {b}", *(f"{k} {number(v)}" for k, v in facts.items() if np.isfinite(v))]
    )


def _feature_tip(found: Interactions, of: FeatureInteraction) -> str:
    facts = {
        "H² with all others": of.h2,
        "size of its interactions": of.h2_unnormalized,
        "importance": of.importance,
        "spread between rows (SD)": of.heterogeneity_score,
    }
    known = [f"{k} {number(v)}" for k, v in facts.items() if np.isfinite(v)]
    return "\n".join([shorten(clean(*_titles(found, [of.feature])), 60), *known])


def _unit(found: Interactions, measure: Measure) -> str:
    return f" {found.unit}" if found.unit and measure in ("h2_unnormalized", "ale_strength") else ""


# --- the network ----------------------------------------------------------------------------------


def _places(n: int) -> Floats:
    """Return positions on the unit circle, clockwise from the top, shape (n, 2)."""
    if n <= _POLYGON:
        angle = 2 * np.pi * (np.arange(n) + 0.5 * (n % 2 == 0)) / n
        return np.column_stack([np.sin(angle), np.cos(angle)])
    right = math.ceil(n / 2)
    halves: list[Floats] = []
    for count, side in ((right, 1.0), (n - right, -1.0)):
        y = 1.0 - (2.0 * np.arange(count) + 1.0) / count
        halves.append(np.column_stack([side * np.sqrt(1.0 - y**2), y]))
    return np.concatenate([halves[0], halves[1][::-1]])


def _edges(
    lines: Sequence[PairInteraction],
    size: Floats,
    drawn: np.ndarray[tuple[int], np.dtype[np.bool_]],
    position: dict[str, Floats],
    unit: str,
) -> list[Segments]:
    """Return the lines by width, thin ones first, so that strong ones are in front."""
    most = float(size.max(initial=0.0))
    marks: list[Segments] = []
    for k in range(_CLASSES):
        low, high = most * k / _CLASSES, most * (k + 1) / _CLASSES
        inside = drawn & (size > low) & ((size <= high) | (k == _CLASSES - 1))
        if not inside.any():
            continue
        ends = np.array(
            [
                [*position[p.feature_0], *position[p.feature_1]]
                for p, of in zip(lines, inside, strict=True)
                if of
            ]
        )
        x0, y0, x1, y1 = ends.T
        least = max(low, _WEAK * most)
        label = f"{number(least, 2)} to {number(high, 2)}{unit}"
        marks.append(Segments(x0, y0, x1, y1, f"edge{k}", label))
    return marks


def _discs(
    names: Sequence[str], place: Floats, overall: dict[str, FeatureInteraction]
) -> list[Points]:
    """Return the features as discs, by size."""
    importance = np.array([overall[name].importance for name in names])
    importance = np.where(np.isfinite(importance), importance, 0.0)
    most = float(importance.max(initial=0.0))
    share = importance / most if most > 0 else np.zeros(len(names))
    size = np.minimum((share * _CLASSES).astype(int), _CLASSES - 1)
    return [
        Points(place[size == k, 0], place[size == k, 1], f"node{k}")
        for k in range(_CLASSES)
        if (size == k).any()
    ]


def _names(names: Sequence[str], place: Floats) -> list[Text]:
    """Return the names outside the circle."""
    full = distinct_names([clean(n) for n in names], _LETTERS)
    short = distinct_names([clean(n) for n in names], 10)
    texts: list[Text] = []
    for name, less, (x, y) in zip(full, short, place.tolist(), strict=True):
        # Beside its disc a name needs no line of its own.
        across: LabelSide = 1 if x > -0.05 else -1
        texts.append(Text(x + 0.1 * across, y, (name, less), "name", across=across))
    return texts
