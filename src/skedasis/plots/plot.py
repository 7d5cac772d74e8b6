"""What `plot()` of every result does: the figure, the options that all figures have, and where it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, cast

import numpy as np
from matplotlib.colors import is_color_like, to_rgb
from matplotlib.dates import num2date

from skedasis._arguments import check_flag, check_option, is_number, shown
from skedasis._calls import unknown_keyword
from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError, nearest
from skedasis.plots import draw_matplotlib, keywords
from skedasis.plots.figures.change import change_figure
from skedasis.plots.figures.compare import Comparable, compare_figure
from skedasis.plots.figures.containers import (
    changes_figure,
    outputs_figure,
    recurrences_figure,
    surfaces_figure,
)
from skedasis.plots.figures.diagnosis import diagnosis_figure
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.importance import importance_figure, permutation_figure
from skedasis.plots.figures.interactions import heatmap_figure, network_figure
from skedasis.plots.figures.models import models_figure, models_importance_figure
from skedasis.plots.figures.multiples import effects_figure, models_effects_figure
from skedasis.plots.figures.options import EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.figures.overview import importance_points, overview_figure
from skedasis.plots.figures.regions import (
    recurrence_figure,
    regions_figure,
    regions_overview_figure,
)
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.figures.variance_shares import variance_shares_figure
from skedasis.plots.marks import (
    Area,
    FigureSpec,
    Line,
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Title,
)
from skedasis.plots.scales import PlotAxis, counted
from skedasis.results.change import Change, Changes
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.interactions import Interactions
from skedasis.results.multi_model import MultiModelEffect, MultiModelEffects, MultiModelImportance
from skedasis.results.multi_output import MultiOutput, OutputResult
from skedasis.results.regions import (
    MultiModelRegions,
    MultiModelRegionsByFeature,
    Regions,
    RegionsByFeature,
)
from skedasis.results.signatures import shows_keywords
from skedasis.results.surface import Surface
from skedasis.results.surfaces import AnySurface, Surfaces
from skedasis.results.variance_shares import VarianceShares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.typing import ColorType

    from skedasis.plots.draw_matplotlib import StyleSheet

# --- options of every figure ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FigureOptions:
    """Options that every figure has.

    Parameters
    ----------
    title : str, optional
        Title instead of the default one; "" for none.
    xlabel, ylabel : str, optional
        Axis labels of the main panels. A common offset or power of ten of the ticks is still added to them.
    color : color, optional
        Colour of the average and of its interval, or of bars; any colour of matplotlib.
    xscale : {"linear", "log"}, optional
        Scale of the horizontal axis; by default that of axes that are passed, and linear.
    xlim, ylim : (float, float), optional
        Ends of the horizontal axis, and of the vertical axis of the main panels.
    size : (float, float), optional
        Width and height of the figure in inches. What there is no room for is left out: numbers of rows, lower panels,
        notes, and in very small figures the legend.
    legend : bool
        Whether to draw a legend.
    style : str, dict or list, optional
        Style sheets of matplotlib for this figure, such as "dark_background". Axes that are passed keep their style.
    """

    title: str | None = None
    xlabel: str | None = None
    ylabel: str | None = None
    color: ColorType | None = None
    xscale: Literal["linear", "log"] | None = None
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    size: tuple[float, float] | None = None
    legend: bool = True
    style: StyleSheet | None = None

    @classmethod
    def of(
        cls, method: str, given: Mapping[str, object], known: type, ax: object = None
    ) -> tuple[FigureOptions, dict[str, object]]:
        """Separate and check the options of every figure from those of one kind of figure.

        Parameters
        ----------
        method : str
            What the user called, such as "Effect.plot".
        given : mapping
            All options.
        known : type
            TypedDict of the valid ones.
        ax : object
            Axes that the user passes, if any.

        Raises
        ------
        UnsupportedError
            For an unknown option.
        DataError
            For an invalid value.
        """
        valid = list(known.__annotations__)
        for name, value in given.items():
            if name not in valid:
                known_names = [*valid, "ax"] if "axes" not in valid else valid
                raise unknown_keyword(method, name, sorted(known_names))
            if name in _FLAGS and value is not None:
                check_flag(f"{method}({name})", value)
            if name == "color_name" and not (value is None or isinstance(value, str)):
                raise DataError(
                    f"{method}(color_name)",
                    shown(value),
                    "a text",
                    f"Write color_name={str(value)!r}",
                )
        shared = {f.name: given[f.name] for f in fields(cls) if f.name in given}
        own = {name: value for name, value in given.items() if name not in shared}
        if "color" in shared and not _is_color(shared["color"]):
            values = "color_name" in valid
            if not values or isinstance(shared["color"], str):
                expected = f"a colour of matplotlib{', or one value per row' if values else ''}"
                raise DataError(
                    f"{method}(color)", shown(shared["color"]), expected, "Use 'tab:red'"
                )
            own["color"] = shared.pop("color")
        options = cls(**shared)  # pyright: ignore[reportArgumentType]
        options._check(method, ax)
        return options, own

    def _check(self, method: str, ax: object) -> None:
        if isinstance(ax, (str, Path, int, float)):
            fix = f"Pass ax=axes, or leave it out; save the figure: {_call(method)}().savefig('figure.png')"
            raise DataError(f"{method}(ax)", shown(ax), "axes of matplotlib", fix)
        for name, text in (("title", self.title), ("xlabel", self.xlabel), ("ylabel", self.ylabel)):
            if text is not None and not isinstance(text, str):
                fix = f"Write {name}={str(text)!r}"
                raise DataError(f"{method}({name})", shown(text), "a text", fix)
        scale = "linear" if self.xscale is None else self.xscale
        check_option(f"{method}(xscale)", scale, ("linear", "log"))
        check_flag(f"{method}(legend)", self.legend)
        _check_style(f"{method}(style)", self.style)
        for name, pair in (("size", self.size), ("xlim", self.xlim), ("ylim", self.ylim)):
            if pair is None:
                continue
            both = (
                isinstance(pair, (tuple, list))
                and len(pair) == 2
                and all(is_number(v) for v in pair)
            )
            if not both or not all(np.isfinite(pair)):
                raise DataError(
                    f"{method}({name})", shown(pair), "two numbers", f"Use {name}={_EXAMPLES[name]}"
                )
            if name == "size" and min(pair) < 1:
                raise DataError(
                    f"{method}(size)", shown(pair), "at least 1 inch", "Use size=(3.3, 2.5)"
                )
            if name != "size" and not pair[0] < pair[1]:
                raise DataError(
                    f"{method}({name})", shown(pair), "the smaller number first", "Exchange them"
                )
        if ax is not None and (self.size is not None or self.style is not None):
            name = "size" if self.size is not None else "style"
            fix = f"Give {name} where the axes are created, or omit ax"
            raise DataError(f"{method}({name})", f"{name} together with axes", "one of them", fix)

    def colors(self) -> dict[str, ColorType]:
        """Return the colours of the theme that `color` replaces."""
        if self.color is None:
            return {}
        red, green, blue = (0.55 * c + 0.45 for c in to_rgb(self.color))
        return {
            "average": self.color,
            "interval-edge": self.color,
            "interval": (red, green, blue),
        }


_FLAGS = {
    *("density", "elevated_regions", "group_averages", "histogram", "lower", "own"),
    *("points", "scores", "simultaneous", "step"),
}
"""Options that are True or False in every figure that has them."""

_EXAMPLES = {"size": "(6.8, 4)", "xlim": "(0, 10)", "ylim": "(-1, 1)"}


def _call(method: str) -> str:
    """Return how a user writes a call: "Effect.plot" → "result.plot", "compare" → "sd.compare"."""
    owner, _, name = method.rpartition(".")
    return f"result.{name}" if owner else f"sd.{name}"


def _check_style(what: str, style: StyleSheet | None) -> None:
    """Raise for style sheets that matplotlib does not have; a path or a URL is left to matplotlib."""
    from matplotlib import style as style_sheets

    known = ["default", *style_sheets.available]
    for one in style if isinstance(style, (list, tuple)) else [style]:
        if one is None or isinstance(one, (Mapping, Path)):
            continue
        plain = isinstance(one, str) and not set(one) & set("/\\.:")
        if isinstance(one, str) and (one in known or not plain):
            continue
        near = nearest(one, known) or "dark_background"
        fix = f"Use {near!r}; matplotlib.style.available lists all"
        raise DataError(what, shown(one), "a style sheet of matplotlib", fix)


def _is_color(value: object) -> bool:
    """Return whether a value is one colour, and not one value per row."""
    return value is None or (isinstance(value, (str, tuple)) and is_color_like(value))


def customized(
    spec: FigureSpec,
    options: FigureOptions,
    method: str,
    log: Collection[str] = (),
    *,
    several: bool = False,
) -> FigureSpec:
    """Return a figure with the options of every figure applied."""
    alone = not several and not _has_several(spec)
    # The R² beside the scatter plot of a diagnosis are on another axis.
    stacks = tuple(
        tuple(_customized(p, options, method, log, alone=alone) for p in stack)
        if spec.small or stack[0].x.name == spec.main.x.name
        else stack
        for stack in spec.stacks
    )
    if options.title is None:
        return replace(spec, stacks=stacks)
    if spec.heading or len(stacks) != 1:
        return replace(
            spec, stacks=stacks, heading=Title(options.title), title=options.title or spec.title
        )
    first = replace(stacks[0][0], title=Title(options.title))
    return replace(spec, stacks=((first, *stacks[0][1:]),), title=options.title or spec.title)


def _has_several(spec: FigureSpec) -> bool:
    """Return whether the panels of a figure have different horizontal axes."""
    return len({stack[0].x.name for stack in spec.stacks}) > 1


def _customized(
    panel: Panel, options: FigureOptions, method: str, log: Collection[str], *, alone: bool
) -> Panel:
    if panel.kind == "scale":
        return panel
    x, y, main = panel.x, panel.y, panel.kind == "main"
    if options.xlabel is not None:
        x = replace(x, name=options.xlabel, unit=None)
    if options.xlim is not None:
        x = replace(x, least=options.xlim[0], most=options.xlim[1], margin=0.0)
    if options.ylabel is not None and main:
        y = replace(y, name=options.ylabel, unit=None)
    if options.ylim is not None and main:
        y = replace(y, least=options.ylim[0], most=options.ylim[1], margin=0.0)
    if options.xscale == "log" or "x" in log:
        fix = "Use ax.set_xscale('linear')" if "x" in log else "Omit xscale"
        _check_log(panel, x, f"{method}({'ax' if 'x' in log else 'xscale'})", fix, alone=alone)
        x = replace(x, log=True, ticks=())
    if "y" in log and main:
        _check_log(panel, y, f"{method}(ax)", "Use ax.set_yscale('linear')", alone=True)
        y = replace(y, log=True, ticks=())
    moved = _beside_moved(panel, x)
    marks = tuple(_densified(m, x) for m in moved.marks) if x.log else moved.marks
    return replace(moved, x=x, y=y, marks=marks)


def _beside_moved(panel: Panel, x: PlotAxis) -> Panel:
    """Return a panel whose marks and tooltips beside the axis are beside another one."""
    pairs = [
        (before, after)
        for a, b in zip(panel.x.asides, x.asides, strict=True)
        for before, after in zip(a[:3], b[:3], strict=True)
    ]

    def moved(at: Floats) -> Floats:
        for before, after in pairs:
            at = np.where(at == before, after, at)
        return at

    def beside(mark: Mark) -> Mark:
        if isinstance(mark, Points):
            return replace(mark, x=moved(mark.x))
        if isinstance(mark, Segments):
            return replace(mark, x0=moved(mark.x0), x1=moved(mark.x1))
        if isinstance(mark, Rectangles):
            return replace(mark, left=moved(mark.left), right=moved(mark.right))
        return mark

    ends = dict(pairs)
    tips = tuple(
        replace(tip, left=ends[tip.left], right=ends[tip.right]) if tip.left in ends else tip
        for tip in panel.tooltips
    )
    return replace(panel, marks=tuple(map(beside, panel.marks)), tooltips=tips)


def _check_log(panel: Panel, axis: PlotAxis, what: str, fix: str, *, alone: bool) -> None:
    """Raise if the axis of a panel, which is that of all panels if `alone`, cannot be logarithmic."""
    fix += "" if alone else ", or plot each effect alone"
    if axis.labels or axis.time is not None:
        got = "names of levels" if axis.labels else "dates or times"
        raise UnsupportedError(what, f"{axis.name!r} with {got}", "numbers", fix)
    if not axis.least > 0:
        if alone and axis.most > 0 and axis is not panel.y:
            # Where the curve begins: at its first positive point, within three to six powers of ten.
            found = [x for mark in panel.marks if isinstance(mark, Line) for x in mark.x if x > 0]
            low = float(np.clip(min(found, default=axis.most), 1e-6 * axis.most, 1e-3 * axis.most))
            limits = f"({low:.1g}, {axis.most:.4g})"
            limits = f"ax.set_xlim{limits}" if what.endswith("(ax)") else f"xlim={limits}"
            fix += f", or begin the axis above zero: {limits}"
        raise DataError(
            what,
            f"values of {axis.name!r} from {axis.least:.4g}",
            "positive values",
            fix,
        )


def _densified(mark: Mark, axis: PlotAxis) -> Mark:
    """Return a curve with further points: a straight line between two points is curved on a logarithmic axis."""
    if not isinstance(mark, (Line, Area)) or len(mark.x) < 2 or not np.all(np.diff(mark.x) > 0):
        return mark
    x = np.union1d(mark.x, np.geomspace(*axis.range, 200))
    x = x[(x >= mark.x[0]) & (x <= mark.x[-1])]

    def along(y: Floats) -> Floats:
        return np.interp(x, mark.x, y)

    if isinstance(mark, Line):
        return replace(mark, x=x, y=along(mark.y))
    return replace(mark, x=x, lower=along(mark.lower), upper=along(mark.upper))


def drawn(spec: FigureSpec, options: FigureOptions, method: str, ax: Axes | None = None) -> Figure:
    """Draw a figure with the options of every figure, on the given axes or in a new figure."""
    if ax is not None:
        return _on_axes(ax, spec, options, method)()
    spec = customized(spec, options, method)
    return draw_matplotlib.draw(
        spec, options.size, legend=options.legend, style=options.style, colors=options.colors()
    )


def _on_axes(
    ax: Axes, spec: FigureSpec, options: FigureOptions, method: str, *, several: bool = False
) -> Callable[[], Figure]:
    """Return what draws a figure's first panel within a user's limits, or around what is drawn on the axes."""
    if ax.name not in ("rectilinear", "polar"):
        fix = "Pass ax=plt.figure().subplots()"
        raise UnsupportedError(f"{method}(ax)", f"{ax.name!r} axes", "rectangular ones", fix)
    given = {
        "title": options.title,
        "xlabel": options.xlabel,
        "ylabel": options.ylabel,
        "xlim": options.xlim,
        "ylim": options.ylim,
    }
    asked = {name for name, value in given.items() if value is not None}
    main, kept = spec.main, draw_matplotlib.settings_of_user(ax)
    there = draw_matplotlib.limits_of_drawings(ax)
    views: dict[XAxis | YAxis, Floats] = {}
    for name, axis, it in (("xlim", main.x, ax.xaxis), ("ylim", main.y, ax.yaxis)):
        # After a figure the axis counts in days of `axis.time`.
        converted = isinstance(it.get_major_locator(), draw_matplotlib.TickLocator)
        if name not in there or axis.time is None or not it.have_units() or converted:
            continue
        del there[name]
        if name in kept:  # a user's dates, as matplotlib counts them
            dates = [date.replace(tzinfo=None) for date in num2date(it.get_view_interval())]
            views[it] = axis.time.days(dates)
            there[name] = float(views[it].min()), float(views[it].max())
    log = {name for name, it in (("x", ax.xaxis), ("y", ax.yaxis)) if it.get_scale() == "log"}
    log -= {"x"} if options.xscale is not None else set()
    limits = {name: ends for name, ends in there.items() if name in kept and name not in asked}
    spec = customized(spec, replace(options, **limits), method, log, several=several)
    wider = {
        name: (min(there[name][0], axis.range[0]), max(there[name][1], axis.range[1]))
        for name, axis in (("xlim", spec.main.x), ("ylim", spec.main.y))
        if name in there.keys() - kept.keys() - asked
        and (there[name][0] < axis.limits[0] or there[name][1] > axis.limits[1])
    }
    spec = customized(spec, replace(FigureOptions(), **wider), method)

    def draw() -> Figure:
        for it, view in views.items():
            it.set_view_interval(*view, ignore=True)
        return draw_matplotlib.draw_on(
            ax, spec, legend=options.legend, colors=options.colors(), asked=asked
        )

    return draw


# --- results -------------------------------------------------------------------------------------


def plot_effect(
    effect: Effect, ax: Axes | None = None, **given: Unpack[keywords.EffectKeywords]
) -> Figure:
    """Plot an effect; see `Effect.plot`."""
    options, own = FigureOptions.of("Effect.plot", given, keywords.EffectKeywords, ax)
    view = EffectPlotOptions(**{"elevated_regions": None, **own})  # pyright: ignore[reportArgumentType]
    return drawn(effect_figure(effect, view), options, "Effect.plot", ax)


def plot_effects(effects: Effects, **given: Unpack[keywords.EffectsKeywords]) -> Figure:
    """Plot many effects; see `Effects.plot`."""
    method = "Effects.plot"
    kind, ax, axes = given.pop("kind", "effects"), given.pop("ax", None), given.pop("axes", None)
    check_option(f"{method}(kind)", kind, ("effects", "overview"))
    options, own = FigureOptions.of(
        method, given, keywords.EffectsKeywords, axes if ax is None else ax
    )
    if kind == "overview":
        refused = sorted(own.keys() - {"confidence_level"})
        if refused or axes is not None:
            got = f"{(refused or ['axes'])[0]} with kind='overview'"
            raise DataError(
                f"{method}({(refused or ['axes'])[0]})", got, "an option of the overview", "Omit it"
            )
        level = cast("float", own.get("confidence_level", 0.95))
        first = next(iter(effects.values()), None)
        unit = None if first is None else first.about.unit
        spec = overview_figure(importance_points(effects, level), unit=unit, confidence_level=level)
        return drawn(spec, options, method, ax)
    if ax is not None:
        raise DataError(
            f"{method}(ax)",
            "one axes for many effects",
            "axes=",
            "Pass a list of axes, one per effect",
        )
    names = ("ice", "curves", "confidence_level", "band")
    shows = {name: own.pop(name) for name in names if name in own}
    view = EffectPlotOptions(**{"curves": 60, **shows})  # pyright: ignore[reportArgumentType]
    own_view = cast("keywords.MultiplesKeywords", own)
    spec = effects_figure(effects, options=view, **own_view)
    return _on_several(spec, options, method, axes)


def _on_several(
    spec: FigureSpec, options: FigureOptions, method: str, axes: Sequence[Axes] | None
) -> Figure:
    """Draw a figure of many stacks, in a new figure or with the main panel of each stack on one of the axes."""
    if axes is None:
        return drawn(spec, options, method)
    each = list(np.asarray(axes, dtype=object).ravel())
    if len(each) != len(spec.stacks):
        fix = f"Pass {len(spec.stacks)} axes, or draw fewer effects by top={len(each)}"
        raise DataError(
            f"{method}(axes)",
            f"{len(each)} axes",
            f"one for each of {len(spec.stacks)} effects",
            fix,
        )
    several = _has_several(spec)
    # All are checked before one is drawn, and again then: what is drawn sets the limits of shared axes.
    for drawing in (False, True):
        for i, (ax, stack) in enumerate(zip(each, spec.stacks, strict=True)):
            # One legend is enough: all panels have the same marks.
            own = replace(options, legend=options.legend and i == 0)
            draw = _on_axes(ax, replace(spec, stacks=(stack,)), own, method, several=several)
            if drawing:
                draw()
    return each[0].figure.canvas.figure


def plot_surface(
    surface: Surface, ax: Axes | None = None, **given: Unpack[keywords.SurfaceKeywords]
) -> Figure:
    """Plot a surface; see `Surface.plot`."""
    options, own = FigureOptions.of("Surface.plot", given, keywords.SurfaceKeywords, ax)
    view = SurfacePlotOptions(**cast("keywords.SurfaceViewKeywords", own))
    return drawn(surface_figure(surface, view), options, "Surface.plot", ax)


def plot_surfaces(
    found: Surfaces[AnySurface], **given: Unpack[keywords.SurfacesKeywords]
) -> Figure:
    """Plot the surfaces of several pairs; see `Surfaces.plot`."""
    method = "Surfaces.plot"
    options, own = FigureOptions.of(method, given, keywords.SurfacesKeywords)
    arranged = {name: own.pop(name) for name in ("top", "page", "columns") if name in own}
    view = SurfacePlotOptions(**cast("keywords.SurfaceViewKeywords", {"density": False, **own}))
    where = cast("keywords.SideBySideKeywords", arranged)
    return drawn(surfaces_figure(found, options=view, **where), options, method)


def plot_outputs(
    found: MultiOutput[OutputResult], **given: Unpack[keywords.OutputsKeywords]
) -> Figure:
    """Plot the results of several outputs; see `MultiOutput.plot`."""
    method, ax = "MultiOutput.plot", given.pop("ax", None)
    options, own = FigureOptions.of(method, given, keywords.OutputsKeywords, ax)
    spec = outputs_figure(found, **cast("keywords.OutputsViewKeywords", own))
    if ax is not None and len(spec.stacks) > 1:
        got, fix = counted(len(spec.stacks), "panel"), "Omit ax, or plot one output or feature"
        raise DataError(f"{method}(ax)", got, "one panel", fix)
    return drawn(spec, options, method, ax)


def plot_all_multi_model_regions(
    found: MultiModelRegionsByFeature,
    **given: Unpack[keywords.MultiModelRegionsByFeatureKeywords],
) -> Figure:
    """Plot the first splits of several features for several models; see `MultiModelRegionsByFeature.plot`."""
    method = "MultiModelRegionsByFeature.plot"
    options, own = FigureOptions.of(method, given, keywords.MultiModelRegionsByFeatureKeywords)
    view = cast("keywords.SideBySideKeywords", own)
    return drawn(recurrences_figure(found, **view), options, method)


def plot_importance(
    importance: Importance, ax: Axes | None = None, **given: Unpack[keywords.ImportanceKeywords]
) -> Figure:
    """Plot importances; see `Importance.plot`."""
    method = "Importance.plot"
    options, own = FigureOptions.of(method, given, keywords.ImportanceKeywords, ax)
    kind = own.pop("kind", "bars")
    check_option(f"{method}(kind)", kind, ("bars", "local"))
    view = cast("keywords.BarKeywords", own)
    if kind == "bars":
        return drawn(importance_figure(importance, **view), options, method, ax)
    if "confidence_level" in view:
        got, fix = "confidence_level with kind='local'", "Omit it: histograms have no interval"
        raise DataError(f"{method}(confidence_level)", got, "an option of histograms", fix)
    spec = permutation_figure(importance, features=view.get("features"), top=view.get("top"))
    if ax is not None and len(spec.stacks) > 1:
        fix = f"Use features=[{spec.main.title.text!r}], or omit ax"
        raise DataError(
            f"{method}(ax) with kind='local'", f"{len(spec.stacks)} features", "one feature", fix
        )
    return drawn(spec, options, method, ax)


def plot_diagnosis(
    diagnosis: Diagnosis, ax: Axes | None = None, **given: Unpack[keywords.DiagnosisKeywords]
) -> Figure:
    """Plot a diagnosis; see `Diagnosis.plot`."""
    options, own = FigureOptions.of("Diagnosis.plot", given, keywords.DiagnosisKeywords, ax)
    level = cast("float | None", own.get("confidence_level"))
    return drawn(diagnosis_figure(diagnosis, level), options, "Diagnosis.plot", ax)


def plot_variance_shares(
    found: VarianceShares, ax: Axes | None = None, **given: Unpack[keywords.VarianceSharesKeywords]
) -> Figure:
    """Plot variance shares; see `VarianceShares.plot`."""
    options, own = FigureOptions.of(
        "VarianceShares.plot", given, keywords.VarianceSharesKeywords, ax
    )
    view = cast("keywords.VarianceSharesViewKeywords", own)
    return drawn(variance_shares_figure(found, **view), options, "VarianceShares.plot", ax)


def plot_change(
    found: Change, ax: Axes | None = None, **given: Unpack[keywords.ChangeKeywords]
) -> Figure:
    """Plot a change; see `Change.plot`."""
    options, own = FigureOptions.of("Change.plot", given, keywords.ChangeKeywords, ax)
    view = cast("keywords.ChangeViewKeywords", own)
    return drawn(change_figure(found, **view), options, "Change.plot", ax)


def plot_changes(
    found: Changes, ax: Axes | None = None, **given: Unpack[keywords.ChangesKeywords]
) -> Figure:
    """Plot several changes; see `Changes.plot`."""
    options, own = FigureOptions.of("Changes.plot", given, keywords.ChangesKeywords, ax)
    spec = changes_figure(found, **cast("keywords.ChangesViewKeywords", own))
    if ax is not None and len(spec.stacks) > 1:
        got, fix = counted(len(spec.stacks), "panel"), "Omit ax, or plot one of the changes"
        raise DataError("Changes.plot(ax)", got, "one panel", fix)
    return drawn(spec, options, "Changes.plot", ax)


def plot_interactions(
    found: Interactions, ax: Axes | None = None, **given: Unpack[keywords.InteractionsKeywords]
) -> Figure:
    """Plot interactions; see `Interactions.plot`."""
    method = "Interactions.plot"
    options, own = FigureOptions.of(method, given, keywords.InteractionsKeywords, ax)
    kind = own.pop("kind", "heatmap")
    check_option(f"{method}(kind)", kind, ("heatmap", "network"))
    view = cast("keywords.InteractionsViewKeywords", own)
    figure = heatmap_figure if kind == "heatmap" else network_figure
    return drawn(figure(found, **view), options, method, ax)


def plot_models(
    found: MultiModelEffect, ax: Axes | None = None, **given: Unpack[keywords.ModelsKeywords]
) -> Figure:
    """Plot one feature's effect for several models; see `MultiModelEffect.plot`."""
    method = "MultiModelEffect.plot"
    options, own = FigureOptions.of(method, given, keywords.ModelsKeywords, ax)
    return drawn(
        models_figure(found, **cast("keywords.ModelsViewKeywords", own)), options, method, ax
    )


def plot_all_models(
    found: MultiModelEffects, **given: Unpack[keywords.AllModelsKeywords]
) -> Figure:
    """Plot many features' effects for several models; see `MultiModelEffects.plot`."""
    method, axes = "MultiModelEffects.plot", given.pop("axes", None)
    options, own = FigureOptions.of(method, given, keywords.AllModelsKeywords, axes)
    spec = models_effects_figure(found, **cast("keywords.AllModelsViewKeywords", own))
    return _on_several(spec, options, method, axes)


def plot_models_importance(
    found: MultiModelImportance,
    ax: Axes | None = None,
    **given: Unpack[keywords.ModelImportanceKeywords],
) -> Figure:
    """Plot importances for several models; see `MultiModelImportance.plot`."""
    method = "MultiModelImportance.plot"
    options, own = FigureOptions.of(method, given, keywords.ModelImportanceKeywords, ax)
    view = cast("keywords.ModelImportanceViewKeywords", own)
    return drawn(models_importance_figure(found, **view), options, method, ax)


def plot_regions(
    regions: Regions, ax: Axes | None = None, **given: Unpack[keywords.RegionsKeywords]
) -> Figure:
    """Plot the regions of one feature; see `Regions.plot`."""
    method = "Regions.plot"
    options, own = FigureOptions.of(method, given, keywords.RegionsKeywords, ax)
    view = RegionsPlotOptions(**cast("keywords.RegionsViewKeywords", own))
    if ax is not None and view.kind == "panels" and len(regions) > 1:
        got = f"{counted(len(regions), 'panel')}"
        fix = "Use kind='together', or omit ax"
        raise DataError(f"{method}(ax)", got, "one panel", fix)
    # Only the main panel is drawn on axes that a user passes.
    view = view if ax is None else replace(view, scores=False)
    return drawn(regions_figure(regions, view), options, method, ax)


def plot_regions_by_feature(
    found: RegionsByFeature,
    ax: Axes | None = None,
    **given: Unpack[keywords.RegionsByFeatureKeywords],
) -> Figure:
    """Plot what regions explain of each feature's heterogeneity; see `RegionsByFeature.plot`."""
    method = "RegionsByFeature.plot"
    options, own = FigureOptions.of(method, given, keywords.RegionsByFeatureKeywords, ax)
    check_option(f"{method}(kind)", own.pop("kind", "overview"), ("overview",))
    view = cast("keywords.RegionsByFeatureViewKeywords", own)
    return drawn(regions_overview_figure(found, **view), options, method, ax)


def plot_multi_model_regions(
    found: MultiModelRegions,
    ax: Axes | None = None,
    **given: Unpack[keywords.MultiModelRegionsKeywords],
) -> Figure:
    """Plot how many models have their first split on which feature; see `MultiModelRegions.plot`."""
    method = "MultiModelRegions.plot"
    options, _ = FigureOptions.of(method, given, keywords.MultiModelRegionsKeywords, ax)
    return drawn(recurrence_figure(found), options, method, ax)


@shows_keywords
def compare(
    *results: Comparable | Sequence[Comparable] | Mapping[str, Comparable],
    ax: Axes | None = None,
    **given: Unpack[keywords.CompareKeywords],
) -> Figure:
    """Draw several results of the same kind in one figure.

    Parameters
    ----------
    *results : Effect, Effects, Surface, Regions, or a result of several models
        Effects of one feature, such as a PDP, an ALE and an M-plot: overlaid curves, at most 8. Several `Effects`: an
        overlay for each feature that all of them have, on shared scales. `Regions`: the effects in the regions and in
        all rows, labelled with the rules. A result of several models: its models, or of
        more than 8 the mean. Surfaces of the same two features: side by side on one colour scale. Instead of single
        arguments also a list of them, or a mapping from labels to results.
    labels : sequence of str
        Legend entries. By default the names of the methods, with the quantity if it differs from that of the first.
    center : {"mean", None}
        The zero of each effect. "mean" subtracts its mean over the data, so that all have the same zero; None leaves
        the effects unchanged. Derivatives are never centred.
    ax : matplotlib Axes, optional
        Axes to draw on, for effects of one feature. By default a figure is created.
    confidence_level : float
        Confidence level of the intervals, which are drawn for at most 3 effects.
    title, xlabel, ylabel, xscale, xlim, ylim, size, legend, style
        Options of every figure: `skedasis.plots.plot.FigureOptions`.

    Returns
    -------
    matplotlib Figure
        Notebooks display it; ``savefig`` writes it to a file.

    Raises
    ------
    DataError
        For no effect or more than 8, for effects of different features, if the number of labels differs from the number
        of effects, for an unknown `center`, or a `confidence_level` outside (0, 1).
    UnsupportedError
        For other results, for derivatives with values, for categorical with numeric features, and for different units.
    TypeError
        For an unknown option.

    Notes
    -----
    Each effect has its own line style, mark and colour, so that colour is not needed to distinguish them. Intervals are
    those of the single effects, shifted with them. Levels of a categorical feature are in the order of the first
    effect, with the effects side by side at each level. Costs no model rows.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> methods = [sd.PDP(), sd.ALE(), sd.RHALE()]
    >>> found = [sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=m) for m in methods]
    >>> figure = compare(found)
    >>> [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    ['PDP', 'ALE', 'RHALE', 'rows']
    """
    options, own = FigureOptions.of("compare", given, keywords.CompareKeywords, ax)
    spec = compare_figure(*results, **cast("keywords.CompareViewKeywords", own))
    if ax is not None and len(spec.stacks) > 1:
        raise DataError(
            "compare(ax)",
            f"{len(spec.stacks)} panels",
            "one panel",
            "Omit ax, or compare one feature",
        )
    return drawn(spec, options, "compare", ax)
