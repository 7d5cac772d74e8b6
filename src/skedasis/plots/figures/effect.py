"""From an `Effect` of a numeric feature to a figure specification.

`effect_spec` is the entry point for all effects: it passes categorical features to `figures.categorical`, PDP and ICE
to
`figures.ice`, and specifies accumulated effects (ALE, RHALE, DALE) and M-plots here. Those have two panels:

- the main panel: the curve, its confidence interval, and a band of one standard deviation (`Effect.heterogeneity`);
- the slope panel (`slopes`): per bin the mean slope, its standard deviation between rows as whiskers, and a violin of
  the local effects; for an M-plot the quantity itself instead of slopes.

A third panel has the number of rows per bin where these numbers do not fit above the slope panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.errors import UnsupportedError
from skedasis.plots.figures import categorical, effect_parts
from skedasis.plots.figures.ice import dependence, grouped
from skedasis.plots.scales import Axis, counted, shorten
from skedasis.plots.spec import ACROSS, Band, Bars, EffectPlotOptions, FigureSpec, Line, Panel
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import LOCAL, curve_polygon
from skedasis.results.checks.elevated_regions import elevated_regions
from skedasis.results.effect import BinnedEffect, BinStats, Effect, MPlotEffect
from skedasis.stats.grid import Cells


def effect_spec(effect: Effect, view: EffectPlotOptions | None = None) -> FigureSpec:
    """Return the figure specification of an effect.

    Parameters
    ----------
    effect : Effect
    view : EffectPlotOptions, optional

    Returns
    -------
    FigureSpec

    Raises
    ------
    DataError
        If `confidence_level` is not in (0, 1), or if colours or values do not have one entry per row.
    UnsupportedError
        For raw curves of a centred effect, for colours without curves, for elevated regions without curves over a
        numeric feature, and for histograms by group if the colours are not groups.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> shown = effect_spec(sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=3)))
    >>> [w.text for w in shown.slopes.words]
    ['n=67', 'n=67', 'n=66']
    >>> shown.main.y.label
    'effect on prediction'
    """
    view = EffectPlotOptions() if view is None else view
    if view.color is not None and effect.curves is None:
        raise UnsupportedError(
            "plot(color)",
            f"{effect.spec.method} without individual curves",
            "a PDP or ICE that keeps curves",
            "Use sd.ICE(), or omit color",
        )
    axis = effect.axis
    curve = not isinstance(effect, BinnedEffect) and not isinstance(axis, LevelAxis)
    if view.elevated_regions and not curve:
        elevated_regions(effect)  # raises an error that names what is needed
    if isinstance(axis, LevelAxis):
        return categorical.picture(effect, axis.levels, view)
    if not isinstance(effect, BinnedEffect):
        main = dependence(effect, view)
        return FigureSpec(main, groups=grouped(effect, view, main.x) if view.histogram else None)
    main = (
        _marginal(effect, view) if isinstance(effect, MPlotEffect) else _accumulated(effect, view)
    )
    if not has_bins(effect):
        return FigureSpec(main)
    panel = slopes(effect, across=view.across)
    counts = None if panel.words else _counts(effect.bins, panel.x)
    return FigureSpec(main, panel, counts)


def has_bins(effect: Effect) -> TypeGuard[BinnedEffect]:
    """Return whether the effect has bins of positive width; those of a constant feature have none."""
    if not isinstance(effect, BinnedEffect) or len(effect.bins) == 0:
        return False
    return bool(effect.bins.high[-1] > effect.bins.low[0])


def share_vertical_axis(panels: Sequence[Panel]) -> list[Panel]:
    """Give all panels the same vertical range."""
    axes = [p.y for p in panels]
    return [replace(p, y=p.y.spanning(axes)) for p in panels]


def slopes(effect: Effect, *, per_sd: bool = False, across: int = ACROSS) -> Panel:
    """Return the slope panel: statistics and local effects per bin.

    Parameters
    ----------
    effect : Effect
        Of a numeric feature, with at least one bin.
    per_sd : bool
        Whether slopes are multiplied by the standard deviation of the feature, which makes those of different features
        comparable.
    across : int
        As in `EffectPlotOptions`.

    Returns
    -------
    Panel

    Notes
    -----
    A violin shows the local effects whose standard deviation the whiskers are: slopes, or for an M-plot the quantity
    itself. Slopes that are finite differences across fine cells are shown relative to the mean of their cell, shifted
    to the mean of the bin: the change of the slope between cells is the shape of the curve, not heterogeneity
    (docs/explanation/heterogeneity.md).
    """
    if not has_bins(effect):
        raise UnsupportedError(
            "slopes",
            f"{effect.spec.method} without bins",
            "an effect with bins",
            "Use sd.ALE() or sd.RHALE()",
        )
    bins, about, means = effect.bins, effect.about, isinstance(effect, MPlotEffect)
    factor = about.feature_std if per_sd and not means else 1.0
    y, cell, weight = _local(effect)
    s = effect_parts.Spread(
        bins.low,
        bins.high,
        factor * bins.effect,
        factor * bins.std,
        bins.trusted,
        factor * y,
        cell,
        weight,
        factor * bins.slope_change * bins.widths if np.any(bins.slope_change) else None,
    )
    x = effect_parts.horizontal(effect)
    if means:
        named = (shorten(about.quantity, 40), about.unit)
        panel = effect_parts.spread_panel(x, named, s, effect_parts.MEANS_OF["bin"], zero=False)
    else:
        per = shorten(about.feature.slope_denominator, 24)
        unit = f"{about.unit or shorten(about.quantity, 24)} per {per}"
        named = ("slope per SD", about.unit) if per_sd else ("slope", unit)
        texts = ("mean slope", "± standard deviation of local effects", "local effects")
        panel = effect_parts.spread_panel(x, named, s, texts, zero=True)
    words = effect_parts.effect_words(bins.count, (bins.low + bins.high) / 2, x, across)
    return replace(panel, hatches=tuple(effect_parts.hatches(bins)), words=words)


def _accumulated(effect: BinnedEffect, view: EffectPlotOptions) -> Panel:
    notes = _notes(effect)
    if effect_parts.stepped(effect):
        notes = (*notes, "slopes are differences across bins")
    return _curve(
        effect,
        view,
        "± heterogeneity (standard deviation)",
        "average effect",
        notes,
        ("effect on ", ""),
    )


def _marginal(effect: MPlotEffect, view: EffectPlotOptions) -> Panel:
    """Return the main panel of an M-plot: means of the quantity over the rows in each bin."""
    after = " minus its mean" if effect.spec.center == "mean" else ""
    label = f"mean {shorten(effect.about.quantity, 24)} in the bin"
    notes = _notes(effect)
    return _curve(effect, view, "± standard deviation within the bin", label, notes, ("", after))


def _notes(effect: BinnedEffect) -> tuple[str, ...]:
    bins = effect.bins
    k = len(bins) if has_bins(effect) else 0
    n = int(bins.count.sum()) if k else effect.provenance.get("rows", 0) - effect.missing
    notes = [counted(n, "row")]
    notes.append(counted(k, "bin") if k else "the feature is constant")
    outside = effect.provenance.get("rows_outside", 0)
    if outside:
        notes.append(f"{outside:,} rows outside the bins")
    return tuple(notes)


def _curve(
    effect: BinnedEffect,
    view: EffectPlotOptions,
    spread: str,
    label: str,
    notes: tuple[str, ...],
    around: tuple[str, str],
) -> Panel:
    """Return the main panel: a curve with its bands."""
    bins = effect.bins
    x, value = curve_polygon(bins, effect.points, effect.value)
    std = np.interp(x, effect.points, effect.heterogeneity)
    bands = (
        Band(x, value - std, value + std, "heterogeneity", spread),
        effect_parts.interval(effect, view),
    )
    # On a grid finer than the bins only bin edges are marked; the points of an M-plot are means, and all are marked.
    finer = not isinstance(effect, MPlotEffect) and len(x) > len(bins) + 1
    marked = np.flatnonzero(np.isin(x, bins.edges)) if finer else None
    point = effect_parts.aside(effect, view.confidence_level)
    return Panel(
        effect_parts.horizontal(effect),
        effect_parts.vertical(effect, bands, (value,), around, point),
        zero=any(around),
        title=effect.spec.method,
        notes=(*notes, *effect_parts.missing(effect)),
        lines=(Line(x, value, label, vertices=True, marked=marked),),
        bands=bands,
        hatches=tuple(effect_parts.hatches(bins)) if has_bins(effect) else (),
        rug=effect_parts.effect_rug(effect),
        missing_marker=point,
    )


def _local(effect: BinnedEffect) -> tuple[Floats, Ints, Floats]:
    """Return the kept rows' local effects, their bins and their weights."""
    rows, local = effect.rows, effect_parts.local_effects(effect.rows)
    bins, cells = effect.bins, effect.cells
    if rows is None or local is None:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0)
    cell = Cells(bins.edges, cells.closed).locate(rows.x)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    there = (cell >= 0) & (weight > 0) & np.isfinite(local)
    y, cell = local[there], cell[there]
    if effect.spec.pointwise:
        # Relative to the line within the bin, as the standard deviation of the bin is (linear trend of the slope).
        y = y - bins.slope_change[cell] * (rows.x[there] - ((bins.low + bins.high) / 2)[cell])
    elif not effect.spec.on_cells:  # otherwise these are differences across whole bins
        own = effect.moments[LOCAL].mean[cells.locate(rows.x[there])]
        y = y - own + bins.effect[cell]
    return y, cell, weight[there]


def _counts(bins: BinStats, x: Axis) -> Panel:
    height = bins.count.astype(float)
    y = Axis("rows", None, 0.0, float(height.max(initial=0.0)), 0.0)
    return Panel(x, y, bars=Bars(bins.low, bins.high, height))
