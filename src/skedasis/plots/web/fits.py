"""Figures of several models: each one's curve thin, their mean bold, and how sure that mean is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.errors import DataError, explained
from skedasis.plots.bars import ordered
from skedasis.plots.fits import EACH, MEAN, Drawn, importance_panel, models_panel, stand_in
from skedasis.plots.levels import Places
from skedasis.plots.marks import Bundle, Panel
from skedasis.plots.numbers import beside, number, places
from skedasis.plots.panels import on_shared_scales
from skedasis.plots.scale import clean, shortened
from skedasis.plots.view import MOST_LEVELS
from skedasis.plots.web import marks, strands, tips
from skedasis.plots.web.areas import Defs
from skedasis.plots.web.bars import chart
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.frame import Frame
from skedasis.plots.web.legend import Keys, legend
from skedasis.plots.web.stack import EDGE, stacked
from skedasis.plots.web.svg import tag
from skedasis.results.multi_model import (
    EffectOfModels,
    EffectsOfModels,
    ImportanceOfModels,
    ModelsRank,
    Of,
    mean_of,
)

WIDTH, HEIGHT = 480.0, 240.0
SMALL_WIDTH, SMALL_HEIGHT = 236.0, 130.0
LONG = 60
"""Letters of a name."""


def models(
    found: EffectOfModels, *, ident: str, level: float = 0.95, of: Of | None = None
) -> Drawing:
    """Draw one feature's effect, of several models.

    Parameters
    ----------
    found : EffectOfModels
    ident : str
        Unique on the page.
    level, of
        Of the interval: see `EffectOfModels.interval`.

    Returns
    -------
    Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `EffectOfModels.interval`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> each = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0)]
    >>> models(sd.explain(each, X, 0, method=sd.ALE(bins=4)), ident="m").title
    'x0, 2 models'
    """
    shown = models_panel(found, level, of)
    return _sheet(found, shown, shown.panel, ident, (WIDTH, HEIGHT))[0]


def small_models(
    found: EffectsOfModels,
    *,
    ident: str,
    by: Literal["importance", "heterogeneity_score"] = "importance",
    top: int | None = None,
    level: float = 0.95,
    of: Of | None = None,
) -> tuple[list[Drawing], Drawing]:
    """Draw several features' effects on shared scales, each on its own sheet, and their legend.

    Parameters
    ----------
    found : EffectsOfModels
    ident : str
        Each figure's own begins with it, and ends with its place.
    by : {"importance", "heterogeneity_score"}
    top : int, optional
        Only so many.
    level, of
        As in `models`.

    Returns
    -------
    drawings : list of Drawing
    legend : Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `models` does; for nothing to draw.
    """
    ranks = found.ranking(by)[:top]
    if not ranks:
        raise DataError(explained("explore", "no effect", "at least one", "Explain some features"))
    each = [models_panel(found[r.feature], level, of) for r in ranks]
    panels = on_shared_scales([own.panel for own in each])
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
    drawn, high = legend(keys, EDGE, 2, WIDTH - 2 * EDGE)
    words = f"What the marks mean: {'; '.join(keys)}"
    below = sheet([drawn], (WIDTH, high + 4), ident=f"{ident}-legend", title="Legend", alt=words)
    return out, below


def importances(
    found: ImportanceOfModels,
    *,
    ident: str,
    features: Sequence[str] | None = None,
    top: int | None = None,
    level: float = 0.95,
    of: Of | None = None,
) -> Drawing:
    """Draw importances of several models: their means as bars, each model as a dot, most important first.

    Parameters
    ----------
    found : ImportanceOfModels
    ident : str
        Unique on the page.
    features, top
        Only these; only so many.
    level, of
        As in `models`.

    Returns
    -------
    Drawing
    """
    panel = importance_panel(found, features=features, top=top, level=level, of=of)
    chosen = ordered(stand_in(found), features, top)
    full = [clean(found.features[i]) for i in chosen]
    return chart(panel, full, ident=ident, dots=EACH, mean=MEAN)


def _headed(panel: Panel, rank: ModelsRank, place: int, models: int) -> Panel:
    """Return a panel headed by its feature, and how sure its rank is."""
    first = f"first in {rank.first} of {models}"
    spread = beside(rank.between, rank.importance)
    note = f"importance {number(rank.importance)} ± {spread}, {first}"
    rug = None if panel.rug is None else replace(panel.rug, label="rows, or their quantiles")
    title = f"{place + 1}. {shortened(rank.feature, 24)}"
    y = replace(panel.y, name=shortened(panel.y.name, 36))
    return replace(panel, title=title, notes=(note,), rug=rug, y=y)


def _sheet(
    found: EffectOfModels,
    shown: Drawn,
    panel: Panel,
    ident: str,
    size: tuple[float, float],
    *,
    small: bool = False,
) -> tuple[Drawing, Keys]:
    """Draw one panel with the models' own curves; a small one has its legend elsewhere."""
    stack = stacked(Defs(ident), [(panel, size[1])], size[0], small=small)
    stack.add(panel, size[1], last=True, titled=True)
    frame = stack.frames[0]
    # Over the band, which would hide them, and below the mean.
    curves, keys = _each(frame, shown)
    mean, _ = marks.line(frame, panel.lines[0], "average", small=small)
    over = frame.panel(tag("g", curves, mean, clip_path=stack.defs.clip(frame)))
    stack.keys |= keys
    touched = tips.placed(_tips(found, shown, panel), frame, frame.top, frame.bottom)
    # The script calls a curve by this word and its number.
    each = tag("g", *stack.parts, over, touched, data_each="model")
    parts = [stack.defs.written(), each]
    high = 0.0
    if not small:
        drawn, high = legend(stack.keys, EDGE, stack.start + 6, size[0] - 2 * EDGE)
        parts.append(drawn)
    title = f"{shortened(found.feature, LONG)}, {len(found)} models"
    words = _said(found, panel)
    whole = (size[0], stack.start + 6 + high + 4)
    return sheet(parts, whole, ident=ident, title=title, alt=words), stack.keys


def _each(frame: Frame, shown: Drawn) -> tuple[Markup, Keys]:
    """Return the models' own curves."""
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    numbers = np.arange(1, len(shown.each) + 1)
    curves = Bundle(
        shown.x, shown.each, EACH, nothing, nothing, none, shift=shown.shift, row=numbers
    )
    drawn, _, keys = strands.bundle(frame, curves)
    return drawn, keys


def _tips(found: EffectOfModels, shown: Drawn, panel: Panel) -> list[tips.Hit]:
    """Say of each point, or level, what the models say on average, how they differ, and how sure the mean is."""
    line, band = panel.lines[0], panel.bands[0]
    top = float(np.nanmax(np.abs(line.y), initial=0.0))
    spread = _between(shown.each)
    unit = f" {shortened(panel.y.unit, 30)}" if panel.y.unit else ""
    names, edges = _stretches(found, panel, line.x)
    out: list[tips.Hit] = []
    for i in tips.some(len(line.x)):
        lines = [names[i], f"{MEAN} {beside(float(line.y[i]), top)}{unit}"]
        if np.isfinite(spread[i]):
            lines.append(f"std between models {beside(float(spread[i]), top)}")
        if np.isfinite(band.upper[i] - band.lower[i]):
            ends = [beside(float(end[i]), top) for end in (band.lower, band.upper)]
            lines.append(f"{band.label}: {ends[0]} to {ends[1]}")
        out.append(tips.Hit(edges[i], edges[i + 1], "\n".join(lines)))
    return out


def _between(each: Floats) -> Floats:
    """Return the standard deviation between models (ddof 1); NaN where fewer than two have a value."""
    n = np.count_nonzero(~np.isnan(each), axis=0)
    squares = np.nansum((each - mean_of(each)) ** 2, axis=0)
    return np.sqrt(np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan))


def _stretches(found: EffectOfModels, panel: Panel, x: Floats) -> tuple[list[str], list[float]]:
    """Return what points are called, and between which places each is pointed at."""
    if found.levels is not None:
        kept = Places.of(found.about.feature, found.levels, MOST_LEVELS).shown.tolist()
        names = [shortened(clean(found.levels.labels[k]), LONG) for k in kept]
        return names, [i - 0.5 for i in range(len(names) + 1)]
    unit = found.about.feature.unit
    after = f" {shortened(unit, 30)}" if unit else ""
    low, high = panel.x.range
    names = [f"{shortened(found.feature, LONG)} = {t}{after}" for t in places(x, found.time)]
    return names, [low, *((x[:-1] + x[1:]) / 2).tolist(), high]


def _said(found: EffectOfModels, panel: Panel) -> str:
    """Say what is to be seen."""
    y = panel.lines[0].y[np.isfinite(panel.lines[0].y)]
    top = float(np.abs(y).max(initial=0.0))
    ends = ""
    if len(y):
        ends = f" Their mean lies between {beside(float(y.min()), top)} and {beside(float(y.max()), top)}."
    return f"{panel.title} of {shortened(found.feature, LONG)}, of {len(found)} models.{ends} {', '.join(panel.notes)}."
