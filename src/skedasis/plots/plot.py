"""What `plot()` of every result does: the options that all figures have, and where a figure is drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np
from matplotlib.colors import is_color_like, to_rgb
from matplotlib.dates import num2date

from skedasis._arguments import check_flag, is_number, shown
from skedasis._numbers import counted
from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError, nearest
from skedasis.plots import draw_matplotlib
from skedasis.plots.figures.compare import Comparable, compare_figure
from skedasis.plots.kinds import drawn_kind
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
from skedasis.plots.scales import PlotAxis
from skedasis.results.keywords import ColoredKeywords
from skedasis.results.signatures import document_options, takes_figure_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.typing import ColorType

    from skedasis.plots.draw_matplotlib import StyleSheet
    from skedasis.results.keywords import AxisScale, CompareKeywords, CompareViewKeywords

# --- options of every figure ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FigureOptions:
    """Options that every figure has; `color` only where it is an option of `plot`."""

    title: str | None = None
    xlabel: str | None = None
    ylabel: str | None = None
    color: ColorType | None = None
    xscale: AxisScale | None = None
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    size: tuple[float, float] | None = None
    legend: bool = True
    style: StyleSheet | None = None

    @classmethod
    def of(
        cls, given: Mapping[str, object], ax: object = None, *, colors_rows: bool = False
    ) -> tuple[FigureOptions, dict[str, object]]:
        """Separate and check the options of every figure from those of one kind of figure.

        Parameters
        ----------
        given : mapping
            All options.
        ax : object
            Axes that the user passes, if any.
        colors_rows : bool
            Whether `color` may also be one value per row, which is an option of the kind of figure.

        Raises
        ------
        DataError
            For an invalid value.
        """
        shared = {f.name: given[f.name] for f in fields(cls) if f.name in given}
        own = {name: value for name, value in given.items() if name not in shared}
        color = shared.get("color")
        if not (color is None or (isinstance(color, (str, tuple)) and is_color_like(color))):
            if not colors_rows or isinstance(color, str):
                expected = (
                    f"a colour of matplotlib{', or one value per row' if colors_rows else ''}"
                )
                raise DataError("plot(color)", shown(color), expected, "Use 'tab:red'")
            own["color"] = shared.pop("color")
        options = cls(**shared)  # pyright: ignore[reportArgumentType]
        options._check(ax)
        return options, own

    def _check(self, ax: object) -> None:
        if isinstance(ax, (str, Path, int, float)):
            fix = "Pass ax=axes, or leave it out; save the figure that is returned: figure.savefig('figure.png')"
            raise DataError("plot(ax)", shown(ax), "axes of matplotlib", fix)
        check_flag("plot(legend)", self.legend)
        _check_style(self.style)
        for name, pair in (("size", self.size), ("xlim", self.xlim), ("ylim", self.ylim)):
            if pair is None:
                continue
            what = f"plot({name})"
            both = (
                isinstance(pair, (tuple, list))
                and len(pair) == 2
                and all(is_number(v) for v in pair)
            )
            if not both or not all(np.isfinite(pair)):
                raise DataError(what, shown(pair), "two numbers", f"Use {name}={_EXAMPLES[name]}")
            if name == "size" and min(pair) < 1:
                raise DataError(what, shown(pair), "at least 1 inch", "Use size=(3.3, 2.5)")
            if name != "size" and not pair[0] < pair[1]:
                raise DataError(what, shown(pair), "the smaller number first", "Exchange them")
        if ax is not None and (self.size is not None or self.style is not None):
            name = "size" if self.size is not None else "style"
            fix = f"Give {name} where the axes are created, or omit ax"
            raise DataError(f"plot({name})", f"{name} together with axes", "one of them", fix)

    def colors(self) -> dict[str, ColorType]:
        """Return the colours of the theme that `color` replaces."""
        if self.color is None:
            return {}
        red, green, blue = (0.55 * c + 0.45 for c in to_rgb(self.color))
        return {"average": self.color, "interval-edge": self.color, "interval": (red, green, blue)}


document_options(FigureOptions, ColoredKeywords)

_EXAMPLES = {"size": "(6.8, 4)", "xlim": "(0, 10)", "ylim": "(-1, 1)"}


def _check_style(style: StyleSheet | None) -> None:
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
        raise DataError("plot(style)", shown(one), "a style sheet of matplotlib", fix)


def customized(
    spec: FigureSpec, options: FigureOptions, log: Collection[str] = (), *, several: bool = False
) -> FigureSpec:
    """Return a figure with the options of every figure applied."""
    alone = not several and not _has_several(spec)
    # The R² beside the scatter plot of a diagnosis are on another axis.
    stacks = tuple(
        tuple(_customized(p, options, log, alone=alone) for p in stack)
        if spec.small or stack[0].x.name == spec.main.x.name
        else stack
        for stack in spec.stacks
    )
    compact = None if spec.compact is None else customized(spec.compact, options, log)
    spec = replace(spec, compact=compact)
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
    panel: Panel, options: FigureOptions, log: Collection[str], *, alone: bool
) -> Panel:
    if panel.kind == "scale" or panel.x.hidden:
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
        _check_log(panel, x, f"plot({'ax' if 'x' in log else 'xscale'})", fix, alone=alone)
        x = replace(x, log=True, ticks=())
    if "y" in log and main:
        _check_log(panel, y, "plot(ax)", "Use ax.set_yscale('linear')", alone=True)
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
            what, f"values of {axis.name!r} from {axis.least:.4g}", "positive values", fix
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


def drawn(spec: FigureSpec, options: FigureOptions, ax: Axes | None = None) -> Figure:
    """Draw a figure with the options of every figure, in a new figure or its first panel on the given axes."""
    if ax is not None:
        return _on_axes(ax, spec, options)()
    spec = customized(spec, options)
    return draw_matplotlib.draw(
        spec, options.size, legend=options.legend, style=options.style, colors=options.colors()
    )


def plot(
    result: object, ax: Axes | None = None, axes: Sequence[Axes] | None = None, **options: object
) -> Figure:
    """Draw a result by matplotlib; see the method `plot` of its class."""
    kind = drawn_kind(result)
    given = axes if ax is None else ax
    every, own = FigureOptions.of(options, given, colors_rows=kind.colors_rows)
    spec = kind.figure(result, **own, **({} if ax is None else kind.on_axes))
    if axes is not None:
        return drawn_on_each(spec, every, axes)
    if ax is not None and kind.one_panel:
        check_one_panel(spec, kind.one_panel)
    return drawn(spec, every, ax)


def check_one_panel(spec: FigureSpec, fix: str) -> None:
    """Raise for a figure of several panels, or of a grid, of which only one would be on the axes of a user."""
    if len(spec.stacks) > 1 or spec.small:
        got = f"axes for one of {counted(len(spec.stacks), 'panel')}"
        raise DataError("plot(ax)", got, "a figure of one panel", fix)


def _on_axes(
    ax: Axes, spec: FigureSpec, options: FigureOptions, *, several: bool = False
) -> Callable[[], Figure]:
    """Return what draws a figure's first panel within a user's limits, or around what is drawn on the axes."""
    if ax.name not in ("rectilinear", "polar"):
        fix = "Pass ax=plt.figure().subplots()"
        raise UnsupportedError("plot(ax)", f"{ax.name!r} axes", "rectangular ones", fix)
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
    spec = customized(spec, replace(options, **limits), log, several=several)
    wider = {
        name: (min(there[name][0], axis.range[0]), max(there[name][1], axis.range[1]))
        for name, axis in (("xlim", spec.main.x), ("ylim", spec.main.y))
        if name in there.keys() - kept.keys() - asked
        and (there[name][0] < axis.limits[0] or there[name][1] > axis.limits[1])
    }
    spec = customized(spec, replace(FigureOptions(), **wider))

    def draw() -> Figure:
        for it, view in views.items():
            it.set_view_interval(*view, ignore=True)
        return draw_matplotlib.draw_on(
            ax, spec, legend=options.legend, colors=options.colors(), asked=asked
        )

    return draw


def drawn_on_each(spec: FigureSpec, options: FigureOptions, axes: Sequence[Axes]) -> Figure:
    """Draw the main panel of each stack of a figure on one of the axes."""
    if not spec.small:
        fix = "Pass one of them: ax=axes[0]"
        raise DataError("plot(axes)", "axes for a figure of one panel", "ax", fix)
    each = list(np.asarray(axes, dtype=object).ravel())
    if len(each) != len(spec.stacks):
        expected = f"one for each of {len(spec.stacks)} effects"
        fix = f"Pass {len(spec.stacks)} axes, or draw fewer effects by top={len(each)}"
        raise DataError("plot(axes)", f"{len(each)} axes", expected, fix)
    several = _has_several(spec)
    # All are checked before one is drawn, and again then: what is drawn sets the limits of shared axes.
    for drawing in (False, True):
        for i, (ax, stack) in enumerate(zip(each, spec.stacks, strict=True)):
            # One legend is enough: all panels have the same marks.
            own = replace(options, legend=options.legend and i == 0)
            draw = _on_axes(ax, replace(spec, stacks=(stack,)), own, several=several)
            if drawing:
                draw()
    return each[0].figure.canvas.figure


@takes_figure_options
def compare(
    *results: Comparable | Sequence[Comparable] | Mapping[str, Comparable],
    ax: Axes | None = None,
    **options: Unpack[CompareKeywords],
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

    Raises
    ------
    UnsupportedError
        For other results, for derivatives with values, for categorical with numeric features, and for different units.

    Notes
    -----
    Each effect has its own line style, mark and colour, so that colour is not needed to distinguish them. Intervals are
    those of the single effects, shifted with them. Levels of a categorical feature are in the order of the first
    effect, with the effects side by side at each level.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> methods = [sd.PDP(), sd.ALE(), sd.RHALE()]
    >>> found = [sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=m) for m in methods]
    >>> figure = compare(found)
    >>> [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    ['PDP', 'ALE', 'RHALE', '95 % interval', 'where the data are']
    """
    figure_options, own = FigureOptions.of(options, ax)
    spec = compare_figure(*results, **cast("CompareViewKeywords", own))
    if ax is not None:
        check_one_panel(spec, "Omit ax, or compare one feature")
    return drawn(spec, figure_options, ax)
