"""Figures of effects as SVG: one, many side by side, several overlaid, several models.

`effect` draws all panels of one effect, `small` and `effects` draw small multiples (separate drawings for pages that
arrange them, or a single one), `compare` overlays effects of one feature, and `models`, `small_models` and
`importances` show several models. The specifications are those of the matplotlib figures; this module adds layout,
tooltips and alternative text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.errors import DataError
from skedasis.plots import descriptions
from skedasis.plots.descriptions import effect_alt_text, overlay_alt_text
from skedasis.plots.figures.categorical import Places
from skedasis.plots.figures.compare import (
    EACH,
    MEAN,
    ModelsSpec,
    Overlay,
    OverlayCurve,
    Zero,
    as_effects_and_labels,
    columns_for,
    comparable,
    importance_panel,
    models_as_repeats,
    models_panel,
    ordered_effects,
    overlay,
)
from skedasis.plots.figures.effect import effect_spec, share_vertical_axis
from skedasis.plots.figures.importance import display_order
from skedasis.plots.scales import clean, number, number_or_zero, position_texts, shorten, width_of
from skedasis.plots.spec import (
    MOST_LEVELS,
    EffectPlotOptions,
    FigureSpec,
    IceCurves,
    Panel,
    most_levels,
)
from skedasis.plots.svg import marks
from skedasis.plots.svg.elements import Drawing, joined, sheet, tag
from skedasis.plots.svg.frame import (
    WIDE,
    Frame,
    Keys,
    above,
    below,
    beside,
    legend,
    line_key,
    overhang,
)
from skedasis.plots.svg.importance import chart
from skedasis.plots.svg.marks import Defs
from skedasis.plots.svg.panels import EDGE, RIGHT, Stack, head_of, headed, hits, stacked
from skedasis.plots.theme import OFTEN
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import Effect
from skedasis.results.multi_model import (
    IntervalTarget,
    ModelsRank,
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    mean_of,
)

# --- small multiples -----------------------------------------------------------------------------

TILE_WIDTH, TILE_LETTERS, LEGEND = 236.0, 22, 356.0
"""Width of one figure in pixels, characters that fit across its panels, and width of the legend in pixels."""


TILE_HEIGHTS = {"main": 120.0, "slopes": 84.0}


def small(
    effects: Mapping[str, Effect],
    *,
    ident: str,
    by: Literal["importance", "heterogeneity_score"] = "importance",
    top: int | None = None,
    lower: bool = True,
    view: EffectPlotOptions | None = None,
) -> tuple[list[Drawing], Drawing]:
    """Draw many effects on shared scales as separate drawings, which a page arranges side by side.

    Parameters
    ----------
    effects : Effects
    ident : str
        Prefix of the identifiers of the figures; each ends with its index.
    by : {"importance", "heterogeneity_score"}
        Order of the features, largest first.
    top : int, optional
        Largest number of features.
    lower : bool
        Whether to draw the slopes per bin, too, per standard deviation of the feature.
    view : EffectPlotOptions, optional

    Returns
    -------
    drawings : list of Drawing
    legend : Drawing
        Common legend.

    Raises
    ------
    DataError
        For no effect, and for an unknown `by`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> found = sd.explain(lambda X: X[:, 0] + 3 * X[:, 2], X, method=sd.ALE(bins=5))
    >>> [drawing.title for drawing in small(found, ident="s", top=2)[0]]
    ['ALE of x2', 'ALE of x0']
    """
    chosen, shown, view = _chosen(effects, by, top, lower=lower, view=view)
    heads = _heads(shown)
    out: list[Drawing] = []
    keys: Keys = {}
    for i, (found, pic) in enumerate(zip(chosen, shown, strict=True)):
        name = f"{ident}-{i}"
        stack = _small(found, pic, view, Defs(name), (0.0, 2.0), heads)
        keys |= stack.keys
        said = f"{found.spec.method} of {shorten(found.feature, 60)}"
        parts = [stack.defs.written(), *stack.parts]
        words = effect_alt_text(found, pic.main)
        out.append(sheet(parts, (TILE_WIDTH, stack.start + 4), ident=name, title=said, alt=words))
    keys = _merge_equal_keys(keys)
    drawn, high = legend(keys, EDGE, 2, LEGEND - 2 * EDGE)
    words = f"Legend: {'; '.join(keys)}"
    below = sheet([drawn], (LEGEND, high + 4), ident=f"{ident}-legend", title="Legend", alt=words)
    return out, below


def _merge_equal_keys(keys: Keys) -> Keys:
    """Merge legend entries with equal keys, such as of slopes and level differences, if the merged label fits."""
    names: dict[str, str] = {}
    out: Keys = {}
    for said, drawn in keys.items():
        before = names.get(str(drawn), "")
        both = f"{before} or {said}"
        if before and width_of(both) <= LEGEND - WIDE - 6 * EDGE:
            out = {both if k == before else k: v for k, v in out.items()}
        else:
            both = said
            out[said] = drawn
        names[str(drawn)] = both
    return out


def _chosen(
    effects: Mapping[str, Effect],
    by: Literal["importance", "heterogeneity_score"],
    top: int | None,
    *,
    lower: bool,
    view: EffectPlotOptions | None,
) -> tuple[list[Effect], list[FigureSpec], EffectPlotOptions]:
    """Return the effects to draw, their specifications on shared scales, and the options."""
    chosen = ordered_effects(effects, by, top)
    view = replace(EffectPlotOptions(curves=60) if view is None else view, across=TILE_LETTERS)
    return chosen, comparable(chosen, view, lower), view


def _heads(shown: Sequence[FigureSpec]) -> tuple[float, float]:
    """Return the space above the frames that main panels and lower panels need, so that they are aligned."""
    room = TILE_WIDTH - RIGHT - EDGE
    main = [head_of(p.main, room, title=p.main.title, notes=p.main.notes) for p in shown]
    there = [p.slopes for p in shown if p.slopes is not None]
    lower = [head_of(p, room, title="", notes=p.notes) for p in there]
    return max(main), max(lower, default=0.0)


def _small(
    found: Effect,
    shown: FigureSpec,
    view: EffectPlotOptions,
    defs: Defs,
    origin: tuple[float, float],
    heads: tuple[float, float],
) -> Stack:
    """Draw one of many effects, with its upper left corner at `origin`."""
    named = (("main", shown.main), ("slopes", shown.slopes))
    there = [(panel, TILE_HEIGHTS[k]) for k, panel in named if panel is not None]
    stack = stacked(defs, there, TILE_WIDTH, origin, small=True)
    for i, (panel, height) in enumerate(there):
        last = i == len(there) - 1
        stack.add(panel, height, last=last, titled=i == 0, above=heads[i])
    stack.parts.append(hits(found, replace(shown, groups=None), view, stack.frames))
    return stack


def effects(
    effects: Mapping[str, Effect],
    *,
    ident: str,
    by: Literal["importance", "heterogeneity_score"] = "importance",
    top: int | None = None,
    columns: int | None = None,
    lower: bool = True,
    view: EffectPlotOptions | None = None,
    title: str = "",
    alt: str = "",
) -> Drawing:
    """Draw many effects on shared scales side by side, in one drawing.

    Parameters
    ----------
    effects, ident, by, top, lower, view
        As in `small`.
    columns : int, optional
        Number of columns of the grid.
    title, alt : str

    Returns
    -------
    Drawing

    Raises
    ------
    DataError
        As `small`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> found = sd.explain(lambda X: X[:, 0] + 3 * X[:, 2], X, method=sd.ALE(bins=5))
    >>> effects(found, ident="all", columns=3).width
    708.0
    """
    chosen, shown, view = _chosen(effects, by, top, lower=lower, view=view)
    columns = min(columns or columns_for(len(chosen)), len(chosen))
    defs, parts, keys = Defs(ident), list[Markup](), Keys()
    foot = 2.0
    for first in range(0, len(chosen), columns):
        line, heads = foot, _heads(shown[first : first + columns])
        for column, i in enumerate(range(first, min(first + columns, len(chosen)))):
            stack = _small(chosen[i], shown[i], view, defs, (TILE_WIDTH * column, line), heads)
            parts += stack.parts
            keys |= stack.keys
            foot = max(foot, stack.start + 14)
    width = TILE_WIDTH * columns
    drawn, high = legend(_merge_equal_keys(keys), EDGE, foot, width - 2 * EDGE)
    names = ", ".join(shorten(found.feature, 40) for found in chosen)
    words = (
        alt
        or f"{len(chosen)} effects on shared scales, ordered by {by.replace('_', ' ')}: {names}."
    )
    parts = [defs.written(), *parts, drawn]
    said = title or f"Effects, by {by.replace('_', ' ')}"
    return sheet(parts, (width, foot + high + 4), ident=ident, title=said, alt=words)


# --- overlaid effects ----------------------------------------------------------------------------

OVERLAY_WIDTH, OVERLAY_HEIGHT = 480.0, 240.0


OVERLAY_LETTERS = 56
"""Characters that fit across the panel."""


_EDGE, _RIGHT = 2.0, 14.0


def compare(
    effects: Mapping[str, Effect] | Sequence[Effect],
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    center: Zero = "mean",
    confidence_level: float = 0.95,
) -> Drawing:
    """Draw several effects of the same feature on the same axes.

    Parameters
    ----------
    effects : mapping or sequence of Effect
        At most 8, such as a PDP, an ALE and an M-plot.
    ident : str
        Unique on the page.
    title, alt : str
    center : {"mean", None}
        "mean" subtracts from each effect its mean over the data; None leaves the effects unchanged.
    confidence_level : float
        Confidence level of the intervals, which are drawn for at most 3 effects.

    Returns
    -------
    Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `skedasis.plots.mpl.effect.compare`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> methods = [sd.PDP(), sd.ALE(), sd.MPlot()]
    >>> found = [sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=m) for m in methods]
    >>> compare(found, ident="c0").title
    'PDP, ALE and MPlot of x0'
    """
    given, named = as_effects_and_labels([effects])
    shown = overlay(given, named, center, confidence_level, OVERLAY_LETTERS)
    first: Effect = given[0]
    room = OVERLAY_WIDTH - 2 * _EDGE
    methods = _listed([s.label for s in shown.strands])
    head, start = headed(methods, shown.notes, OVERLAY_WIDTH, left=_EDGE)
    left = _EDGE + beside(shown.y, OVERLAY_HEIGHT)
    left = math.ceil(max(left, _EDGE + overhang(shown.x, OVERLAY_WIDTH - left - _RIGHT)))
    width = OVERLAY_WIDTH - left - _RIGHT
    top = math.ceil(start - 6 + above(shown.y, room))
    frame = Frame(shown.x, shown.y, left, top, width, OVERLAY_HEIGHT, _EDGE)
    drawn, keys = _inside(frame, shown, f"{ident}-clip")
    panel = frame.panel(frame.ground(zero=shown.zero), drawn, frame.axes())
    hits = descriptions.tooltip_rectangles(
        descriptions.of_overlay(shown, first.feature, _names(first)), frame, frame.top, frame.bottom
    )
    foot = frame.bottom + below(shown.x, width) + 6
    below_all, high = legend(keys, _EDGE, foot, room)
    parts = [tag("defs", frame.clip(f"{ident}-clip")), head, panel, hits, below_all]
    said = title or f"{methods} of {shorten(first.feature, 60)}"
    words = alt or overlay_alt_text(shown, first.feature)
    return sheet(parts, (OVERLAY_WIDTH, foot + high + 4), ident=ident, title=said, alt=words)


def _listed(names: Sequence[str]) -> str:
    """Return names as an enumeration: "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _names(effect: Effect) -> list[str] | None:
    """Return the names of the shown levels; None for a numeric feature."""
    if not isinstance(effect.axis, LevelAxis):
        return None
    levels = effect.axis.levels
    shown = Places.of(effect.about.feature, levels, most_levels(OVERLAY_LETTERS)).shown
    return [levels.labels[k] for k in shown.tolist()]


def _inside(frame: Frame, shown: Overlay, clip: str) -> tuple[Markup, Keys]:
    """Draw the effects, intervals below lines and marks, and return the legend."""
    low: list[Markup] = []
    high: list[Markup] = []
    keys: Keys = {}
    for place, strand in enumerate(shown.strands):
        under, over, key = _curve_of(frame, strand, place, bands=shown.bands)
        low.append(under)
        high.append(over)
        keys[strand.label] = key
    if shown.rug is not None:
        drawn, more = marks.rug(frame, shown.rug)
        high.append(drawn)
        keys |= more
    return tag("g", *low, *high, clip_path=f"url(#{clip})"), keys


def _curve_of(
    frame: Frame, strand: OverlayCurve, place: int, *, bands: bool
) -> tuple[Markup, Markup, Markup]:
    """Return the interval of one effect, its line with marks, and its legend key."""
    x, y = frame.x(strand.x), frame.y(strand.y)
    lower, upper = frame.y(strand.lower), frame.y(strand.upper)
    lined = strand.joined is not None and len(x) > 1
    area = strand.joined == "line" and len(x) > 1
    hue, thin = f"m{place}", " thin" if strand.joined == "thin" else ""
    under = Markup("")
    if bands and area:
        under = tag("path", class_=f"sure {hue}", d=marks.between(x, lower, upper))
    elif bands:
        under = marks.bars_of(x, lower, upper, f"reach {hue}")
    every = max(1, -(-len(x) // OFTEN)) if area else 1
    marked = np.arange((place * every) // 3 % every, len(x), every)
    over = [marks.points(x[marked], y[marked], place, 2.8, hue)]
    key = [marks.points(np.array([13.0]), np.zeros(1), place, 2.8, hue)]
    if lined:
        over.insert(0, tag("path", class_=f"line {hue}{thin}", d=marks.trace(x, y)))
        key.insert(0, line_key(f"line {hue}{thin}"))
    return under, joined(over), joined(key)


# --- several models ------------------------------------------------------------------------------

MODELS_WIDTH, MODELS_HEIGHT = 480.0, 240.0


SMALL_WIDTH, SMALL_HEIGHT = 236.0, 130.0


LONG = 60
"""Most characters of a name."""


def models(
    found: MultiModelEffect,
    *,
    ident: str,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
) -> Drawing:
    """Draw one feature's effect for several models.

    Parameters
    ----------
    found : MultiModelEffect
    ident : str
        Unique on the page.
    confidence_level, of
        As in `MultiModelEffect.interval`.

    Returns
    -------
    Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `MultiModelEffect.interval`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> each = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0)]
    >>> models(sd.explain(each, X, 0, method=sd.ALE(bins=4)), ident="m").title
    'x0, 2 models'
    """
    shown = models_panel(found, confidence_level, of)
    return _sheet(found, shown, shown.panel, ident, (MODELS_WIDTH, MODELS_HEIGHT))[0]


def small_models(
    found: MultiModelEffects,
    *,
    ident: str,
    by: Literal["importance", "heterogeneity_score"] = "importance",
    top: int | None = None,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
) -> tuple[list[Drawing], Drawing]:
    """Draw effects of several features on shared scales as separate drawings, with a common legend.

    Parameters
    ----------
    found : MultiModelEffects
    ident : str
        Prefix of the identifiers of the figures; each ends with its index.
    by : {"importance", "heterogeneity_score"}
    top : int, optional
        Largest number of features.
    confidence_level, of
        As in `models`.

    Returns
    -------
    drawings : list of Drawing
    legend : Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `models`; DataError also for no effect.
    """
    ranks = found.ranking(by)[:top]
    if not ranks:
        raise DataError(
            "explore", "no effect", "at least one effect", "Explain one or more features"
        )
    each = [models_panel(found[r.feature], confidence_level, of) for r in ranks]
    panels = share_vertical_axis([own.panel for own in each])
    out: list[Drawing] = []
    keys: Keys = {}
    for i, (rank, shown, panel) in enumerate(zip(ranks, each, panels, strict=True)):
        one = found[rank.feature]
        headed = _headed(panel, rank, i, len(one))
        single, more = _sheet(
            one, shown, headed, f"{ident}-{i}", (SMALL_WIDTH, SMALL_HEIGHT), small=True
        )
        out.append(single)
        keys |= more
    drawn, high = legend(keys, EDGE, 2, MODELS_WIDTH - 2 * EDGE)
    words = f"Legend: {'; '.join(keys)}"
    below = sheet(
        [drawn], (MODELS_WIDTH, high + 4), ident=f"{ident}-legend", title="Legend", alt=words
    )
    return out, below


def importances(
    found: MultiModelImportance,
    *,
    ident: str,
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
) -> Drawing:
    """Draw importances for several models: means as bars, models as dots, most important first.

    Parameters
    ----------
    found : MultiModelImportance
    ident : str
        Unique on the page.
    features, top
        As in `skedasis.plots.figures.importance.bars`.
    confidence_level, of
        As in `models`.

    Returns
    -------
    Drawing
    """
    panel = importance_panel(
        found, features=features, top=top, confidence_level=confidence_level, of=of
    )
    chosen = display_order(models_as_repeats(found), features, top)
    full = [clean(found.features[i]) for i in chosen]
    return chart(panel, full, ident=ident, dots=EACH, mean=MEAN)


def _headed(panel: Panel, rank: ModelsRank, place: int, models: int) -> Panel:
    """Return the panel with its feature as title, and its importance and rank as notes."""
    first = f"rank 1 in {rank.first} of {models} models"
    spread = number_or_zero(rank.between, rank.importance)
    notes = (f"importance {number(rank.importance)} ± {spread}", first)
    rug = None if panel.rug is None else replace(panel.rug, label="rows, or quantiles")
    title = f"{place + 1}. {shorten(rank.feature, 24)}"
    y = replace(panel.y, name=shorten(panel.y.name, 36))
    return replace(panel, title=title, notes=notes, rug=rug, y=y)


def _sheet(
    found: MultiModelEffect,
    shown: ModelsSpec,
    panel: Panel,
    ident: str,
    size: tuple[float, float],
    *,
    small: bool = False,
) -> tuple[Drawing, Keys]:
    """Draw one panel with the curves of the models; return the drawing and the legend, which a small one lacks."""
    stack = stacked(Defs(ident), [(panel, size[1])], size[0], small=small)
    stack.add(panel, size[1], last=True, titled=True)
    frame = stack.frames[0]
    # Above the band, which would hide them, and below the mean.
    curves, keys = _model_curves(frame, shown)
    mean, _ = marks.line(frame, panel.lines[0], "average", small=small)
    over = frame.panel(tag("g", curves, mean, clip_path=stack.defs.clip(frame)))
    stack.keys |= keys
    touched = descriptions.tooltip_rectangles(
        _tooltips(found, shown, panel), frame, frame.top, frame.bottom
    )
    # The script's tooltip names a curve by this word and its number.
    each = tag("g", *stack.parts, over, touched, data_each="model")
    parts = [stack.defs.written(), each]
    high = 0.0
    if not small:
        drawn, high = legend(stack.keys, EDGE, stack.start + 6, size[0] - 2 * EDGE)
        parts.append(drawn)
    title = f"{shorten(found.feature, LONG)}, {len(found)} models"
    words = _alt_text(found, panel)
    whole = (size[0], stack.start + 6 + high + 4)
    return sheet(parts, whole, ident=ident, title=title, alt=words), stack.keys


def _model_curves(frame: Frame, shown: ModelsSpec) -> tuple[Markup, Keys]:
    """Return the curves of the models, and their legend entry."""
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    numbers = np.arange(1, len(shown.each) + 1)
    curves = IceCurves(
        shown.x, shown.each, EACH, nothing, nothing, none, shift=shown.shift, row=numbers
    )
    drawn, _, keys = marks.bundle(frame, curves)
    return drawn, keys


def _tooltips(
    found: MultiModelEffect, shown: ModelsSpec, panel: Panel
) -> list[descriptions.Tooltip]:
    """Return a tooltip per point or level: mean of the models, standard deviation between them, and interval."""
    line, band = panel.lines[0], panel.bands[0]
    top = float(np.nanmax(np.abs(line.y), initial=0.0))
    spread = _between(shown.each)
    unit = f" {shorten(panel.y.unit, 30)}" if panel.y.unit else ""
    names, edges = _side_intervals(found, panel, line.x)
    out: list[descriptions.Tooltip] = []
    for i in descriptions.some(len(line.x)):
        lines = [names[i], f"{MEAN} {number_or_zero(float(line.y[i]), top)}{unit}"]
        if np.isfinite(spread[i]):
            lines.append(
                f"standard deviation between models {number_or_zero(float(spread[i]), top)}"
            )
        if np.isfinite(band.upper[i] - band.lower[i]):
            ends = [number_or_zero(float(end[i]), top) for end in (band.lower, band.upper)]
            lines.append(f"{band.label}: {ends[0]} to {ends[1]}")
        out.append(descriptions.Tooltip(edges[i], edges[i + 1], "\n".join(lines)))
    return out


def _between(each: Floats) -> Floats:
    """Return the standard deviation between models (ddof 1); NaN where fewer than two have a value."""
    n = np.count_nonzero(~np.isnan(each), axis=0)
    squares = np.nansum((each - mean_of(each)) ** 2, axis=0)
    return np.sqrt(np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan))


def _side_intervals(
    found: MultiModelEffect, panel: Panel, x: Floats
) -> tuple[list[str], list[float]]:
    """Return the names of points or levels, and the edges of their tooltips on the axis."""
    axis = found.models[0].axis
    if isinstance(axis, LevelAxis):
        kept = Places.of(found.about.feature, axis.levels, MOST_LEVELS).shown.tolist()
        names = [shorten(clean(axis.levels.labels[k]), LONG) for k in kept]
        return names, [i - 0.5 for i in range(len(names) + 1)]
    unit = found.about.feature.unit
    after = f" {shorten(unit, 30)}" if unit else ""
    low, high = panel.x.range
    names = [f"{shorten(found.feature, LONG)} = {t}{after}" for t in position_texts(x, found.time)]
    return names, [low, *((x[:-1] + x[1:]) / 2).tolist(), high]


def _alt_text(found: MultiModelEffect, panel: Panel) -> str:
    """Return the alternative text."""
    y = panel.lines[0].y[np.isfinite(panel.lines[0].y)]
    top = float(np.abs(y).max(initial=0.0))
    ends = ""
    if len(y):
        low, high = number_or_zero(float(y.min()), top), number_or_zero(float(y.max()), top)
        ends = f" The mean of the models ranges from {low} to {high}."
    return f"{panel.title} of {shorten(found.feature, LONG)} for {len(found)} models.{ends} {'; '.join(panel.notes)}."


# --- one effect ----------------------------------------------------------------------------------

WIDTH = 480.0
"""Width of a figure in pixels; letters are still readable on a phone, at two thirds of this width."""

ACROSS = 56
"""Characters that fit across a panel."""

POINTS, LEAST = 60_000, 20
"""Most points of all individual curves together, and the number of curves that is always allowed."""


HEIGHTS = {"main": 220.0, "slopes": 160.0, "counts": 44.0, "groups": 90.0}


def effect(
    effect: Effect,
    view: EffectPlotOptions | None = None,
    *,
    ident: str,
    title: str = "",
    alt: str = "",
) -> Drawing:
    """Draw an effect with all its panels.

    Parameters
    ----------
    effect : Effect
    view : EffectPlotOptions, optional
        Options; `across` is determined by the figure.
    ident : str
        Letters, digits and hyphens, unique on the page: prefix of the identifiers of patterns and clip paths.
    title, alt : str
        Title and alternative text; by default generated from the effect.

    Returns
    -------
    Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `skedasis.plots.figures.effect.effect_spec`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> drawing = effect(sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0), ident="f0")
    >>> drawing.title, drawing.width
    ('RHALE of x0', 480.0)
    """
    view = EffectPlotOptions() if view is None else view
    most = max(LEAST, POINTS // max(len(effect.points), 1))
    view = replace(view, across=ACROSS, curves=min(view.curves, most))
    shown = effect_spec(effect, view)
    named = (
        ("main", shown.main),
        ("slopes", shown.slopes),
        ("counts", shown.counts),
        ("groups", shown.groups),
    )
    there = [(panel, HEIGHTS[k]) for k, panel in named if panel is not None]
    stack = stacked(Defs(ident), there, WIDTH)
    for i, (panel, height) in enumerate(there):
        last = i == len(there) - 1
        stack.add(panel, height, last=last, titled=i == 0)
    stack.parts.append(hits(effect, shown, view, stack.frames))
    said = title or f"{shown.main.title} of {shorten(effect.feature, 60)}"
    drawn, high = legend(stack.keys, EDGE, stack.start + 6, WIDTH - 2 * EDGE)
    parts = [stack.defs.written(), *stack.parts, drawn]
    size = (WIDTH, stack.start + 6 + high + 4)
    words = alt or effect_alt_text(effect, shown.main)
    return sheet(parts, size, ident=ident, title=said, alt=words)
