"""Figures of importances and diagnoses by matplotlib.

`draw_importance` is behind `Importance.plot`: horizontal bars with intervals and single repeats, or histograms before
and after permutation. `draw_diagnosis` is behind `Diagnosis.plot`: features between Likelihood-PFI and Entropy-PFI, and
bars of the R² with which other features predict each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text

from skedasis._arguments import check_option
from skedasis._renamed import refuse_old_keywords
from skedasis._types import Floats
from skedasis.errors import DataError
from skedasis.plots.figures.diagnosis import (
    ImportanceMap,
    RedundancyBars,
    RegionText,
    predictable,
    where,
)
from skedasis.plots.figures.importance import (
    EACH_REPEAT,
    MEAN_OF_REPEATS,
    BarPanel,
    PermutationHistograms,
    bars,
    kept,
    repeated,
    shifts,
)
from skedasis.plots.keywords import ImportanceFigure
from skedasis.plots.mpl.effect import blank_figure, finished, legend_below
from skedasis.plots.mpl.marks import (
    Legend,
    axis_of,
    clear_frame,
    headed,
    label_below,
    label_beside,
    write,
)
from skedasis.plots.mpl.styles import AreaStyle, LineStyle, MarkStyle
from skedasis.plots.scales import MARK, Axis, counted, place_labels, touches
from skedasis.plots.theme import AVERAGE, ERROR, FAINT, GRID, INK, SMALL
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.importance import Importance

# --- importances ---------------------------------------------------------------------------------


THICK = 0.62
"""Height of a bar, as a fraction of its line."""


BEFORE, BEFORE_EDGE = "#d4d4d4", "#6b6b6b"


@refuse_old_keywords
def draw_importance(
    importance: Importance,
    *,
    kind: ImportanceFigure = "bars",
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
    ax: Axes | None = None,
    size: tuple[float, float] | None = None,
    legend: bool = True,
) -> Figure:
    """Draw the importances of features.

    Parameters
    ----------
    importance : Importance
    kind : {"bars", "local"}
        "bars": a bar per feature, most important first, with its analytic interval and the single repeats. "local": for
        each feature histograms of the quantity over the kept rows before and after permutation (entropy_importance,
        Fig. 2).
    features : sequence of str, optional
        Features to show. By default all; for "local" the six most important ones.
    top : int, optional
        Largest number of features; the most important ones are shown, and the notes state how many are omitted.
    confidence_level : float
        Confidence level of the intervals.
    ax : matplotlib Axes, optional
        Axes to draw on; for "local" only with one feature. By default a figure is created.
    size : (float, float), optional
        Width and height of the figure in inches.
    legend : bool
        Whether to draw a legend.

    Returns
    -------
    matplotlib Figure
        Notebooks display it; ``savefig`` writes it to a file.

    Raises
    ------
    DataError
        For an unknown `kind`, unknown features, a `top` below 1, a `confidence_level` outside (0, 1), or `ax` for the
        rows of several features.
    UnsupportedError
        For "local" if no rows were kept.

    Notes
    -----
    Negative importances are drawn as negative bars. Intervals that would flatten all bars extend beyond the panel.
    Costs no model rows.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[0.1, 0.2, 0.3], [0.0, -0.01, 0.01]])
    >>> pf = Importance(("age", "noise"), values, np.full(2, 0.05), np.full(2, 9.0), 0.5, 500)
    >>> figure = draw_importance(pf)
    >>> [t.get_text() for t in figure.axes[0].get_yticklabels()]
    ['age', 'noise']
    """
    check_option("plot(kind)", kind, ("bars", "local"))
    if kind == "local":
        return _local(importance, features, top, ax, size, legend=legend)
    panel = bars(importance, features=features, top=top, confidence_level=confidence_level)
    own = ax is None
    if ax is None:
        ax = blank_figure(size or (6.8, 1.35 + line_height(len(panel)) * len(panel))).subplots()
        bare(ax)
    entries = draw_bars(ax, panel)
    label_below(ax, panel.x)
    headed(ax, panel.title, panel.notes, 90 if size is None else round(90 * size[0] / 6.8))
    return finished(ax, entries, own=own, legend=legend)


def line_height(n: int) -> float:
    """Return the height of each of n lines in inches."""
    return 0.3 if n <= 40 else 0.2


def bare(ax: Axes) -> None:
    """Reduce the frame of the axes to what horizontal bars need."""
    clear_frame(ax)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color=GRID, lw=0.6)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def lines_of(ax: Axes, names: Sequence[str], least: int = 1) -> np.ndarray:
    """Give the axes one line per name, the first on top, and return their positions; at least `least` lines fit."""
    n = len(names)
    at = np.arange(n, dtype=float)
    low, high = -0.5, max(n, least) - 0.5
    axis_of(ax, "y", Axis("", None, low, high, 0.0, tuple(at.tolist()), tuple(names)), n)
    ax.invert_yaxis()
    return at


def draw_bars(ax: Axes, panel: BarPanel) -> Legend:
    """Draw bars, whiskers and repeats, and return the legend."""
    axis_of(ax, "x", panel.x, 7)
    y = lines_of(ax, panel.names)
    look: AreaStyle = {"fc": ERROR, "ec": AVERAGE, "lw": 0.8}
    ax.barh(y, panel.value, THICK, zorder=2, **look)
    ax.axvline(0, color=INK, lw=0.9, zorder=2.5)
    entries: Legend = {MEAN_OF_REPEATS if panel.repeats.size else "mean": Patch(**look)}
    if panel.repeats.size:
        x = panel.repeats.ravel()
        dots: MarkStyle = {"marker": "o", "mfc": "white", "mec": INK, "ls": "none"}
        # Below the whisker, with a small vertical offset so that equal ones do not coincide.
        r = panel.repeats.shape[1]
        shift = THICK * (0.27 + 0.08 * (np.arange(r) % 3 - 1))
        small = 2.6 if r <= 30 else 1.8
        ax.plot(x, np.add.outer(y, shift).ravel(), ms=small, mew=0.6, zorder=3, **dots)
        entries[EACH_REPEAT] = Line2D([], [], ms=3.2, mew=0.7, **dots)
    known = np.isfinite(panel.lower)
    if known.any():
        lower, upper, at = panel.lower[known], panel.upper[known], y[known]
        ax.hlines(at, lower, upper, color=INK, lw=1.3, zorder=3.5)
        for end in (lower, upper):
            ax.plot(end, at, "|", color=INK, ms=5, mew=1.3, zorder=3.5)
        entries[panel.interval] = Line2D([], [], color=INK, lw=1.3, marker="|", ms=5)
    return entries


def _local(
    importance: Importance,
    features: Sequence[str] | None,
    top: int | None,
    ax: Axes | None,
    size: tuple[float, float] | None,
    *,
    legend: bool,
) -> Figure:
    """Draw histograms of the kept rows before and after permutation, one panel per feature."""
    found, local = shifts(importance, features=features, top=top), importance.local
    if local is None:
        raise TypeError("the importance has no kept rows")
    said = f"before permutation: {kept(local)}", f"after permutation: {repeated(importance)}"
    if ax is not None:
        first, *more = found
        if more:
            got, fix = f"{len(found)} features", f"Use features=[{first.name!r}]"
            raise DataError("plot(ax) with kind='local'", got, "one feature", fix)
        entries = _histograms(ax, first, said)
        label_below(ax, first.x)
        label_beside(ax, first.y)
        headed(ax, first.name, first.notes, 60)
        return finished(ax, entries, own=False, legend=legend)
    figure = _side_by_side(found, said, size, legend=legend)
    if len(found) < len(importance):
        # Above all panels, because it concerns all of them.
        above = figure.suptitle("", x=0.01, ha="left")
        words = f"{len(found):,} of {counted(len(importance), 'feature')}"
        write(above, words, SMALL, FAINT)
    return figure


def _side_by_side(
    found: Sequence[PermutationHistograms],
    said: tuple[str, str],
    size: tuple[float, float] | None,
    *,
    legend: bool,
) -> Figure:
    """Draw the histograms of several features side by side, on shared axes."""
    columns = min(3, len(found)) if len(found) != 4 else 2
    rows = -(-len(found) // columns)
    figure = blank_figure(size or (max(4.2, 2.75 * columns + 0.5), 2.1 * rows + 1.1))
    grid = figure.add_gridspec(rows, columns)
    entries: Legend = {}
    for i, shift in enumerate(found):
        at = figure.add_subplot(grid[divmod(i, columns)])
        clear_frame(at)
        entries |= _histograms(at, shift, said)
        last = i + columns >= len(found)
        at.tick_params(labelbottom=last, labelleft=i % columns == 0)
        if last:
            label_below(at, shift.x, SMALL)
        if i % columns == 0:
            label_beside(at, shift.y, SMALL)
        headed(at, shift.name, shift.notes, 44)
    if legend:
        legend_below(figure, entries)
    return figure


def _histograms(ax: Axes, shift: PermutationHistograms, said: tuple[str, str]) -> Legend:
    """Draw both histograms of one feature with their means as lines, and return the legend."""
    axis_of(ax, "x", shift.x, 4)
    axis_of(ax, "y", shift.y, 4)
    ax.stairs(shift.before, shift.edges, fill=True, fc=BEFORE, ec=BEFORE_EDGE, lw=0.7, zorder=2)
    ax.stairs(shift.after, shift.edges, fill=False, ec=AVERAGE, lw=1.6, zorder=3)
    first: LineStyle = {"color": BEFORE_EDGE, "ls": (0, (3, 1.5)), "lw": 1.4}
    then: LineStyle = {"color": AVERAGE, "ls": "-", "lw": 1.4}
    looks = ((first, "white", BEFORE_EDGE), (then, AVERAGE, AVERAGE))
    top = ax.get_xaxis_transform()
    for mean, (look, ground, edge) in zip(shift.means, looks, strict=True):
        ax.axvline(mean, zorder=3.5, **look)
        ax.plot(
            [mean], [1.0], "v", mfc=ground, mec=edge, ms=5, transform=top, clip_on=False, zorder=4
        )
    return {
        said[0]: Patch(fc=BEFORE, ec=BEFORE_EDGE, lw=0.7),
        said[1]: Patch(fc="none", ec=AVERAGE, lw=1.6),
        "mean before permutation": Line2D(
            [], [], marker="v", mfc="white", mec=BEFORE_EDGE, ms=5, **first
        ),
        "mean after permutation": Line2D([], [], marker="v", mfc=AVERAGE, ms=5, **then),
    }


# --- diagnoses -----------------------------------------------------------------------------------

LOOKS: dict[str, tuple[str, str]] = {
    "independent": ("o", AVERAGE),
    "shared": ("s", "#c8500a"),
    "informative": ("D", "#1b8a6b"),
    "uninformative": ("^", "#8a6d00"),
    "undecided": ("D", "white"),
    "no effect": ("o", "white"),
    "little effect": ("^", "white"),
    "unused": ("s", "white"),
    "misleading": ("v", "#b3478f"),
}
"""Mark and fill of each kind of verdict; the combinations differ in greyscale, too, because white is distinct."""


UNKNOWN = ("X", FAINT)


NEAR = 12.0
"""Distance from zero, in typographical points, within which features count as being at zero."""


MOVES = 8
"""Number of positions tried for a text in a corner, each half its height further away."""


LINE, LEAST = 0.22, 8
"""Height of a line of R² bars in inches, and the smallest number of lines, which limits the thickness of bars."""


@refuse_old_keywords
def draw_diagnosis(
    diagnosis: Diagnosis,
    *,
    confidence_level: float | None = None,
    ax: Axes | None = None,
    size: tuple[float, float] | None = None,
    legend: bool = True,
) -> Figure:
    """Draw features between Likelihood-PFI and Entropy-PFI, and how well other features predict each of them.

    Parameters
    ----------
    diagnosis : Diagnosis
    confidence_level : float, optional
        Confidence level of the intervals; by default that of the verdicts.
    ax : matplotlib Axes, optional
        Axes for the scatter plot of the two importances alone. By default a figure with both panels is created.
    size : (float, float), optional
        Width and height of the figure in inches.
    legend : bool
        Whether to draw a legend.

    Returns
    -------
    matplotlib Figure
        Notebooks display it; ``savefig`` writes it to a file.

    Raises
    ------
    DataError
        For a `confidence_level` outside (0, 1).

    Notes
    -----
    How to read it (entropy_importance, sec. 3.5): the importance of features on the right near the horizontal axis can
    be read at face value; features further up share their information with other features. Names without free space
    are omitted, and the panel states their number. Costs no model rows.
    """
    shown = where(diagnosis, confidence_level)
    beside = predictable(diagnosis)
    if ax is not None:
        entries = _scatter(ax, shown)
        headed(ax, shown.title, shown.notes[:4], 60)
        figure = finished(ax, entries, own=False, legend=legend)
        _named(ax, shown)
        return figure
    high = 0.9 + (0.0 if beside is None else LINE * len(beside.names))
    width = 6.8 if beside is None else 10.2
    figure = blank_figure(size or (width, max(5.2, high)))
    wide = [1.0] if beside is None else [1.75, 1.0]
    axes = figure.subplots(1, len(wide), squeeze=False, width_ratios=wide)[0]
    clear_frame(axes[0])
    axes[0].grid(visible=True, axis="x", color=GRID, lw=0.6)
    entries = _scatter(axes[0], shown)
    headed(axes[0], shown.title, shown.notes, 100)
    if beside is not None:
        bare(axes[1])
        entries |= _bars(axes[1], beside)
    if legend:
        legend_below(figure, entries)
    # Names are placed last, because the layout must be final.
    figure.draw_without_rendering()
    _named(axes[0], shown)
    return figure


def _scatter(ax: Axes, shown: ImportanceMap) -> Legend:
    """Draw the features as marks with crosses, and the texts on parts of the panel; return the legend."""
    axis_of(ax, "x", shown.x, 6)
    axis_of(ax, "y", shown.y, 6)
    label_below(ax, shown.x)
    label_beside(ax, shown.y)
    for line in (ax.axhline, ax.axvline):
        line(0, color=FAINT, lw=0.9, zorder=1.4)
    (x, y), (left, below), (right, above) = shown.at.T, shown.lower.T, shown.upper.T
    ax.hlines(y, left, right, color=FAINT, lw=0.7, zorder=2)
    ax.vlines(x, below, above, color=FAINT, lw=0.7, zorder=2)
    for place in shown.words:
        _word(ax, place)
    entries: Legend = {}
    for kind in dict.fromkeys([*LOOKS, *shown.kinds]):
        mine = np.array([k == kind for k in shown.kinds])
        if not mine.any():
            continue
        mark, ground = LOOKS.get(kind, UNKNOWN)
        look: MarkStyle = {"marker": mark, "mfc": ground, "mec": INK, "ls": "none"}
        ax.plot(x[mine], y[mine], ms=6.5, mew=0.8, zorder=3, **look)
        entries[f"{kind} ({int(mine.sum())})"] = Line2D([], [], ms=6, mew=0.8, **look)
    return entries


def _word(ax: Axes, place: RegionText) -> None:
    """Write the text on a part of the panel."""
    right, up = place.toward
    ends = (float(right > 0), float(up > 0))
    # At an end of an axis the text is inside it; at a point it is beside it.
    x, y = (end if v is None else v for v, end in zip((place.x, place.y), ends, strict=True))
    inward = [-1 if v is None else 1 for v in (place.x, place.y)]
    shift = (4 * right * inward[0], 4 * up * inward[1])
    coords = (
        "axes fraction" if place.x is None else "data",
        "axes fraction" if place.y is None else "data",
    )
    at = ax.annotate("", (x, y), xycoords=coords, xytext=shift, textcoords="offset points")
    ha = "right" if shift[0] < 0 else "left"
    va = "top" if shift[1] < 0 else "bottom"
    write(at, place.text, SMALL - 0.5, FAINT, ha=ha, va=va, style="italic", zorder=1.5)
    at.set_gid("part")
    at.set_in_layout(False)


def _named(ax: Axes, shown: ImportanceMap) -> None:
    """Write the names of features beside their marks, as far as there is free space."""
    scale = 72 / ax.figure.dpi
    box = ax.get_window_extent()
    corner = np.array([box.x0, box.y0])
    room = (box.width * scale, box.height * scale)

    def points(at: Floats) -> Floats:
        return (ax.transData.transform(at) - corner) * scale

    at, low, high = points(shown.at), points(shown.lower), points(shown.upper)
    taken = _parts(ax, corner, scale, room, at)
    names = [_name(ax, n, p) for n, p in zip(shown.names, shown.at, strict=True)]
    sizes = np.array([_size(t, scale) for t in names])
    lines = np.concatenate(
        [
            np.column_stack([low[:, 0], at[:, 1], high[:, 0], at[:, 1]]),
            np.column_stack([at[:, 0], low[:, 1], at[:, 0], high[:, 1]]),
            _cross(points(np.zeros(2)), room),
        ]
    )
    found = place_labels(at, sizes, room, taken, lines)
    for text, tag, point in zip(names, found, at, strict=True):
        if tag is None:
            text.remove()
            continue
        text.set_position((tag.x - point[0], tag.y - point[1]))
        if not tag.led and text.arrow_patch is not None:
            text.arrow_patch.set_visible(False)
    left_out = sum(tag is None for tag in found)
    if left_out:
        far = np.abs(at - points(np.zeros(2))).max(axis=1)
        there = sum(tag is None and f < NEAR for tag, f in zip(found, far, strict=True))
        words = f"no room for {counted(left_out, 'name')}"
        words += f", {there} of them at zero" if there else ""
        foot = ax.annotate(
            "", (0.5, 0), xycoords="axes fraction", xytext=(0, 3), textcoords="offset points"
        )
        write(foot, words, SMALL - 0.5, FAINT, ha="center", va="bottom")


def _parts(ax: Axes, corner: Floats, scale: float, room: tuple[float, float], at: Floats) -> Floats:
    """Move the texts on parts of the panel away from marks, remove those without space, and return their boxes."""
    kept: list[Floats] = []
    marks = [np.concatenate([p - MARK, p + MARK]) for p in at]
    for text in [t for t in ax.texts if t.get_gid() == "part"]:
        first = _box(text, corner, scale)
        step = (first[3] - first[1]) / 2 * (1 if text.get_verticalalignment() == "bottom" else -1)
        for up in step * np.arange(MOVES):
            box = first + np.array([0.0, up, 0.0, up])
            inside = min(box) >= 0 and box[2] <= room[0] and box[3] <= room[1]
            around = box + np.array([-1.0, -1.0, 1.0, 1.0])  # letters are aligned to whole pixels
            if inside and not touches(around, [*kept, *marks]):
                kept.append(box)
                x, y = text.get_position()
                text.set_position((x, y + up))
                break
        else:
            text.remove()
    return np.array(kept).reshape(-1, 4)


def _cross(zero: Floats, room: tuple[float, float]) -> Floats:
    """Return the boxes of the two lines at zero."""
    x, y = zero
    return np.array([[x, 0.0, x, room[1]], [0.0, y, room[0], y]])


def _name(ax: Axes, name: str, at: Floats) -> Annotation:
    line = {"arrowstyle": "-", "color": FAINT, "lw": 0.6, "shrinkA": 0, "shrinkB": 4}
    text = ax.annotate("", tuple(at), xytext=(0, 0), textcoords="offset points", arrowprops=line)
    write(text, name, SMALL, INK, ha="left", va="bottom", zorder=3.5)
    text.set_path_effects([withStroke(linewidth=2.2, foreground="white")])
    text.set_in_layout(False)
    return text


def _size(text: Annotation, scale: float) -> tuple[float, float]:
    box = Text.get_window_extent(text)  # without the connecting line
    return box.width * scale + 1, box.height * scale


def _box(text: Text, corner: Floats, scale: float) -> Floats:
    box = text.get_window_extent()
    return (np.array([box.x0, box.y0, box.x1, box.y1]) - np.tile(corner, 2)) * scale


def _bars(ax: Axes, shown: RedundancyBars) -> Legend:
    """Draw two bars of R² per feature, one of them hatched; return the legend."""
    axis_of(ax, "x", shown.x, 5)
    y = lines_of(ax, shown.names, LEAST)
    first: AreaStyle = {"fc": ERROR, "ec": AVERAGE, "lw": 0.7}
    then: AreaStyle = {"fc": "white", "ec": AVERAGE, "lw": 0.7, "hatch": "//////"}
    ax.axvline(0, color=INK, lw=0.8, zorder=2.5)
    for values, shift, look in (
        (shown.others, -0.19, first),
        (shown.with_target, 0.19, then),
    ):
        there = np.isfinite(values)
        ax.barh(y[there] + shift, values[there], 0.36, zorder=2, **look)
    for nothing in y[np.isnan(shown.others) & np.isnan(shown.with_target)]:
        at = ax.text(0.01, nothing, "")
        write(at, "unknown", SMALL - 1, FAINT, ha="left", va="center")
    if shown.left_out:
        headed(ax, "", (f"{shown.left_out:,} more not shown",), 40)
    label_below(ax, shown.x)
    return {
        "R² from the other features": Patch(**first),
        "R² from the other features and the label": Patch(**then),
    }
