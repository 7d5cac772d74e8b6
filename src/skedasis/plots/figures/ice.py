"""From PDP and ICE to a figure specification: averages, individual curves, their colours, elevated regions.

`dependence` builds the main panel of a PDP, ICE or d-ICE: the average over a grid, its confidence interval, a band of
one standard deviation between curves, and the individual curves. Options of `EffectPlotOptions` add to it:

- `color`: a colour encoding of the curves (`tint`), numbers on a scale or at most 8 groups;
- `histogram`: a second panel with the feature's histogram in each group (`grouped`);
- `elevated_regions`: strips at the lower end of the panel that mark elevated regions (`with_elevated_regions`).

Curves are drawn centred by default: each minus its mean over the grid, whose weights are those of `share_of`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from skedasis._types import Bools, Floats, Ints, Values
from skedasis.data.factorize import is_absent
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures.effect_parts import (
    aside,
    effect_rug,
    horizontal,
    interval,
    length_of,
    missing,
    vertical,
)
from skedasis.plots.scales import Axis, clean, counted, extent, shorten, zero_rounding
from skedasis.plots.spec import (
    SEED,
    STRIP_SPACE,
    Band,
    ColorEncoding,
    EffectPlotOptions,
    IceCurves,
    Line,
    Outline,
    Panel,
    Rising,
    Strip,
)
from skedasis.results.axis import LevelAxis, TimedAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.checks.elevated_regions import ElevatedRegion, elevated_regions
from skedasis.results.effect import Curves, Effect
from skedasis.stats.grid import EXACT_STEP_GRID, width_weights

# --- colour encoding of curves -------------------------------------------------------------------

FEW = 8
"""Most groups; more could not be distinguished by line style and colour."""


def tint(color: ArrayLike, name: str | None, row: Ints, rows: int | None) -> ColorEncoding:
    """Return the colour encoding of curves.

    Parameters
    ----------
    color : array_like, shape (n,)
        One value for each row of X: numbers, text, booleans; None and NaN are missing.
    name : str, optional
        Name of the variable; by default the name of the series.
    row : ndarray of int, shape (r,)
        Row index in X of each curve.
    rows : int, optional
        Number of rows of X, if known.

    Returns
    -------
    ColorEncoding
        Text, booleans, and integers with at most 8 distinct values become groups. Of more than 8 texts the 7 most
        frequent ones become groups, and all others one more. Other numbers become a colour scale.

    Raises
    ------
    DataError
        If there is not one value per row of X, or if values are neither numbers, text nor booleans.

    Examples
    --------
    >>> import numpy as np
    >>> tint(["a", "b", "a"], "arm", np.array([0, 2, 1]), 3)
    ColorEncoding(name='arm', value=array([0., 0., 1.]), groups=('a', 'b'))
    """
    # A series may come from any library.
    values = np.asarray(color)
    needed = int(row.max(initial=-1)) + 1 if rows is None else rows
    right = values.ndim == 1 and (len(values) == needed or (rows is None and len(values) > needed))
    if not right:
        got = f"shape {values.shape}" if values.ndim != 1 else f"{len(values):,} values"
        got = f"the string {color!r}" if isinstance(color, str) else got
        expected = f"one value for each of the {needed:,} rows of X"
        fix = "Pass a column of X, or another array with one value per row"
        raise DataError("plot(color)", got, expected, fix)
    said = name if name is not None else getattr(color, "name", None)
    called = "color" if said is None else str(said)
    missing = gaps(values)
    numbers = as_numbers(values, missing)
    if numbers is not None and not _is_few(numbers[~missing]):
        return ColorEncoding(called, numbers[row])
    place, groups = _grouped(values, missing, numbers)
    return ColorEncoding(called, place[row], groups)


def group_name(tint: ColorEncoding, place: int) -> str:
    """Return the legend entry of a group; of rows with a missing value for -1."""
    called = shorten(tint.name, 24)
    return f"{called} missing" if place < 0 else f"{called} = {clean(tint.groups[place])}"


def ends(tint: ColorEncoding) -> tuple[float, float]:
    """Return the ends of the colour scale: the 2 % and 98 % quantiles, so that outliers do not compress it."""
    low, high = extent([tint.value])
    known = tint.value[np.isfinite(tint.value)]
    if len(known):
        low, high = (float(v) for v in np.quantile(known, [0.02, 0.98]))
    return Axis("", None, low, high, 0.0).limits


def gaps(values: Values) -> Bools:
    """Return which values are missing: None, NaN and similar markers."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([is_absent(v) for v in values.tolist()], dtype=bool)


def as_numbers(values: Values, missing: Bools) -> Floats | None:
    """Return numbers as floats, infinite ones as NaN; None if the values are not numbers."""
    if values.dtype.kind == "f":
        return np.where(np.isinf(values), np.nan, values).astype(float)
    there = values[~missing].tolist()
    if not all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in there):
        return None
    out = np.full(len(values), np.nan)
    out[~missing] = [float(v) for v in there]
    return out


def _is_few(numbers: Floats) -> bool:
    if len(numbers) == 0 or not np.isfinite(numbers).all() or (numbers % 1 != 0).any():
        return False
    return len(np.unique(numbers)) <= FEW


def _grouped(
    values: Values, missing: Bools, numbers: Floats | None
) -> tuple[Floats, tuple[str, ...]]:
    """Return the group index of each value, NaN for missing values, and the names of the groups."""
    place = np.full(len(values), np.nan)
    if numbers is not None:
        known, at = np.unique(numbers[~missing], return_inverse=True)
        place[~missing] = at
        return place, tuple(f"{v:.0f}" for v in known)
    there = values[~missing].tolist()
    odd = next((v for v in there if not isinstance(v, (str, bool, int, float, np.generic))), None)
    if odd is not None or values.dtype.kind in "mMc":
        got = "dates or times" if values.dtype.kind in "mM" else type(odd).__name__
        fix = "Convert the values to numbers or text"
        raise DataError("plot(color)", got, "numbers, text or booleans", fix)
    texts = np.array([str(v) for v in there], dtype=object)
    names, at, count = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
    if len(names) > FEW:
        kept = np.sort(np.argsort(-count, kind="stable")[: FEW - 1])
        where = np.full(len(names), FEW - 1)
        where[kept] = np.arange(FEW - 1)
        place[~missing] = where[at]
        others = f"{len(names) - FEW + 1} others"
        return place, (*_short(names[kept].tolist()), others)
    place[~missing] = at
    return place, _short(names.tolist())


def _short(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(shorten(n, 24) for n in names)


# --- histograms of groups ------------------------------------------------------------------------

MOST_BARS, LEAST_BARS = 40, 8

OVER_ONE_ANOTHER = 3
"""Most groups whose histograms are overlaid; those of more groups are stacked."""

WIDE = 0.4
"""Half width of the bar of a level."""


def grouped(
    effect: Effect, view: EffectPlotOptions, x: Axis, places: Floats | None = None
) -> Panel:
    """Return the panel with the histogram of a feature in each group.

    Parameters
    ----------
    effect : Effect
        With individual curves.
    view : EffectPlotOptions
        `view.color` defines the groups of the rows.
    x : Axis
        Horizontal axis of the main panel.
    places : ndarray of float, shape (L,), optional
        Position of each level of a categorical feature, NaN for levels that are not shown.

    Raises
    ------
    UnsupportedError
        If colours are numbers on a scale.
    DataError
        If there is not one number per row of X in `view.values`.

    Notes
    -----
    Kept rows count by their weight; rows of `view.values` count as one each.
    """
    at, groups, weight, notes = _rows(effect, view)
    if not groups.groups:
        fix = "Pass classes, text or booleans, such as color=y"
        raise UnsupportedError("plot(histogram)", "colours on a numeric scale", "groups", fix)
    if places is not None:
        known = np.isfinite(at) & (at >= 0)
        there = np.full(len(at), np.nan)
        there[known] = places[at[known].astype(np.int64)]
        at = there
    edges = _edges(at, x, levels=places is not None)
    shown = (at >= edges[0]) & (at <= edges[-1])
    beyond = int((np.isfinite(at) & ~shown).sum())
    outlines = _outlines(at, groups, weight, edges)
    if len(outlines) > OVER_ONE_ANOTHER:
        outlines, notes = _stacked(outlines), (*notes, "stacked")
    tops = [o.height if o.base is None else o.base + o.height for o in outlines]
    highest = max((float(top.max(initial=0.0)) for top in tops), default=0.0)
    said = "rows" if weight is None else "sum of row weights"
    y = Axis(said, None, 0.0, 1.05 * highest or 1.0, 0.0)
    notes += (f"{counted(beyond, 'row')} outside the panel",) if beyond else ()
    return Panel(x, y, notes=notes, outlines=tuple(outlines))


def _rows(
    effect: Effect, view: EffectPlotOptions
) -> tuple[Floats, ColorEncoding, Floats | None, tuple[str, ...]]:
    """Return feature values, groups and weights of the rows, and a note on which rows they are."""
    curves = effect.curves
    if curves is None or view.color is None:
        raise TypeError("the effect has no individual curves, or no colour is given")
    if view.values is None:
        colour = tint(view.color, view.color_name, curves.row, length_of(effect))
        some = "all" if curves.exact else "a sample of"
        return curves.x, colour, curves.weight, (f"{some} {counted(len(curves), 'row')}",)
    at = _values(effect, view.values)
    colour = tint(view.color, view.color_name, np.arange(len(at)), len(at))
    return at, colour, None, (f"all {counted(len(at), 'row')}",)


def _values(effect: Effect, given: ArrayLike) -> Floats:
    """Return the feature values given for all rows; for a categorical feature the codes of the levels."""
    values = np.asarray(given)
    n = length_of(effect)
    if values.ndim != 1 or (n is not None and len(values) != n):
        got = f"shape {values.shape}" if values.ndim != 1 else f"{len(values):,} values"
        rows = "each row" if n is None else f"each of the {n:,} rows"
        fix = f"Pass the column {shorten(effect.feature, 40)!r} of X"
        raise DataError("plot(values)", got, f"one value for {rows} of X", fix)
    if isinstance(effect.axis, LevelAxis):
        return effect.axis.levels.codes(values).astype(float)
    if isinstance(effect.axis, TimedAxis):
        return effect.axis.time.days(given, "plot(values)")
    numbers = as_numbers(values, gaps(values))
    if numbers is None:
        fix = f"Pass the column {shorten(effect.feature, 40)!r} of X"
        raise DataError("plot(values)", "values that are not numeric", "numbers", fix)
    return numbers


def _edges(at: Floats, x: Axis, *, levels: bool) -> Floats:
    """Return the edges of bars: around levels or single values, otherwise of equal width across the axis."""
    low, high = (float(v) for v in x.range)
    if levels:
        middles = np.arange(round(high - low)) + low + 0.5
        return np.add.outer(middles, np.array([-WIDE, WIDE])).ravel()
    ticks = np.asarray(x.ticks, dtype=float)
    if len(ticks) > 1:
        return np.concatenate([[low], (ticks[:-1] + ticks[1:]) / 2, [high]])
    there = at[(at >= low) & (at <= high)]
    bars = int(np.clip(np.ceil(2 * len(there) ** (1 / 3)), LEAST_BARS, MOST_BARS))
    width = (high - low) / bars
    if len(there) and not (there % 1).any() and 0.5 < width < 2**50:
        return _whole(there.min(), there.max(), width)
    return np.linspace(low, high, bars + 1)


def _whole(low: float, high: float, width: float) -> Floats:
    """Return edges between integers, such that each bar contains equally many integers."""
    first, last = low - 0.5, high + 0.5
    some = np.arange(max(1, int(0.7 * width)), int(1.4 * width) + 2)
    spare = -(last - first) % some
    # Fewest superfluous integers first, then the width nearest to the requested one.
    best = int(some[np.lexsort([np.abs(some - width), spare])[0]])
    count = int(np.ceil((last - first) / best))
    return first - (spare[some == best][0] // 2) + best * np.arange(count + 1)


def _outlines(
    at: Floats, tint: ColorEncoding, weight: Floats | None, edges: Floats
) -> list[Outline]:
    """Return one histogram per group that has rows; rows with a missing value come last."""
    out: list[Outline] = []
    for place in (*range(len(tint.groups)), -1):
        mine: Bools = np.isnan(tint.value) if place < 0 else tint.value == place
        if not mine.any():
            continue
        there = mine & np.isfinite(at)
        weights = None if weight is None else weight[there]
        height = np.histogram(at[there], edges, weights=weights)[0].astype(float)
        label = f"{group_name(tint, place)} ({counted(int(there.sum()), 'row')})"
        out.append(Outline(edges, height, None, place, label))
    return out


def _stacked(outlines: Sequence[Outline]) -> list[Outline]:
    """Return the histograms stacked on each other."""
    out: list[Outline] = []
    base = np.zeros(len(outlines[0].height))
    for outline in outlines:
        out.append(replace(outline, base=base))
        base = base + outline.height
    return out


# --- elevated regions ----------------------------------------------------------------------------

UNCERTAIN = ("entropy", "variance", "uncertainty")


LABELS: dict[Rising, str] = {  # legend entries
    "all": "elevated: all rows",
    "elsewhere": "elevated: only rows outside the region (extrapolation)",
    "unclear": "elevated: inconclusive",
}


_SHORTER: dict[Rising, tuple[str, ...]] = {  # texts above narrow strips, the longest first
    "all": ("all rows",),
    "elsewhere": ("only rows outside the region", "only rows outside", "extrapolation"),
    "unclear": ("inconclusive",),
}


def is_uncertainty(effect: Effect) -> bool:
    """Return whether the name of the quantity indicates an uncertainty: an entropy or a variance."""
    made = str(effect.provenance.get("quantity", "")).partition("(")[0]
    said = f"{effect.about.quantity} {made}".lower()
    return any(word in said for word in UNCERTAIN)


def with_elevated_regions(panel: Panel, effect: Effect, view: EffectPlotOptions) -> Panel:
    """Return the panel with strips that mark elevated regions, if requested, and with space for them."""
    wanted = view.elevated_regions
    if wanted is None:
        numeric = not isinstance(effect.axis, LevelAxis) and not effect.spec.derivative
        wanted = effect.curves is not None and numeric and is_uncertainty(effect)
    found = elevated_regions(effect, view.confidence_level) if wanted else ()
    if not found:
        return panel
    low, high = panel.y.range
    foot = low - STRIP_SPACE / (1 - STRIP_SPACE) * (high - low)
    y = replace(panel.y, least=foot, most=high, margin=0.0)
    return replace(panel, y=y, strips=strips(found, panel.x, view.across))


def strips(found: Sequence[ElevatedRegion], x: Axis, across: int) -> tuple[Strip, ...]:
    """Return the strips of elevated regions from left to right, with texts where they fit.

    Parameters
    ----------
    found : sequence of ElevatedRegion
    x : Axis
    across : int
        Characters that fit across the panel.
    """
    low, high = x.limits
    # A text may extend half-way to the next strip.
    gaps = [(a.right + b.left) / 2 for a, b in itertools.pairwise(found)]
    out: list[Strip] = []
    for rise, start, end in zip(found, [low, *gaps], [*gaps, high], strict=True):
        room = across * (end - start) / (high - low)
        fitting = [t for t in (rise.text, *_SHORTER[rise.verdict]) if len(t) + 2 <= room]
        text = fitting[0] if fitting else ""
        reach = (len(text) + 1) / 2 / across * (high - low)
        middle = min(max((rise.left + rise.right) / 2, start + reach), end - reach)
        label = LABELS[rise.verdict]
        out.append(Strip(rise.left, rise.right, rise.verdict, text, middle, label))
    return tuple(out)


# --- partial dependence --------------------------------------------------------------------------

MINUS = "\N{MINUS SIGN}"


VERTICES = 13
"""A grid of at most this many points has marks."""


def dependence(effect: Effect, view: EffectPlotOptions) -> Panel:
    """Return the panel of a PDP, ICE or d-ICE of a numeric feature."""
    shown, centring = centred_as_requested(effect, view)
    x, value, spread = shown.points, shown.value, shown.heterogeneity
    derivative = effect.spec.derivative
    said = "the slopes" if derivative else "centred curves"
    bands: tuple[Band, ...] = ()
    if not effect.spec.mean_alone:
        around = Band(
            x, value - spread, value + spread, "heterogeneity", f"± standard deviation of {said}"
        )
        bands = (around, interval(shown, view))
    bundle = individual_curves(shown.points, shown.curves, view, shown) if view.ice else None
    moves = centring or effect.spec.center is not None
    notes = [counted(round(float(effect.moments[AXIS].count.sum())) + effect.missing, "row")]
    if bundle is not None:
        notes.append(counted(len(bundle.y), "curve"))
    individual = () if bundle is None else (bundle.y,)
    point = aside(shown, view.confidence_level)
    words = ("effect on " if moves else "", "")
    if derivative:
        words = ("slope of ", per_words(effect.about.feature))
    y = vertical(effect, bands, (value, *individual), words, point)
    if derivative:
        y = replace(y, unit=slope_unit(effect))
    panel = Panel(
        horizontal(effect),
        y,
        zero=moves or derivative,
        title=effect.spec.method,
        notes=(*notes, *anchored(effect, centring, "grid"), *_beyond(effect), *missing(effect)),
        lines=(Line(x, value, "average", vertices=len(x) <= VERTICES),),
        bands=bands,
        bundle=bundle,
        rug=effect_rug(effect),
        missing_marker=point,
    )
    return with_elevated_regions(panel, effect, view)


def per_words(feature: Feature) -> str:
    """Return the text after the name of a slope: " per age", or " per day" for dates and times."""
    return f" per {'day' if feature.time is not None else shorten(feature.name, 24)}"


def slope_unit(effect: Effect) -> str | None:
    """Return the unit of a slope, such as "EUR per m²", or its known part."""
    feature = effect.about.feature
    top, bottom = effect.about.unit, feature.unit
    if feature.time is not None:  # the name of the axis contains "per day"
        return f"{top} per day" if top else None
    return f"{top or ''} per {bottom}".strip() if bottom else top


def centred_as_requested(effect: Effect, view: EffectPlotOptions) -> tuple[Effect, bool]:
    """Return the effect centred as requested by `view.ice`, and whether it was centred here.

    Raises
    ------
    UnsupportedError
        For raw curves of a centred effect.
    """
    if view.ice == "raw" and effect.spec.center is not None:
        raise UnsupportedError(
            "plot(ice='raw')",
            f"{effect.spec.method} with center={effect.spec.center!r}",
            "an effect that is not centred",
            "Explain with center=None, or plot with ice='centered'",
        )
    # Derivatives are not centred: their mean is the average slope.
    centring = view.ice == "centered" and effect.spec.center is None and not effect.spec.derivative
    return (centred(effect) if centring else effect), centring


def centred(effect: Effect) -> Effect:
    """Return an effect and its curves minus their means over the grid.

    The standard error of the centred average is the standard deviation of the centred curves (`heterogeneity`) divided
    by the root of the number of rows.
    """
    size = effect.df + 1
    curves, point = effect.curves, effect.missing_point
    share = share_of(effect)
    with np.errstate(invalid="ignore"):  # curves with infinite values have no mean
        level = share @ effect.value
        value = effect.value - level
    # A constant minus its mean is rounding error, which would otherwise fill the panel.
    known = [effect.value] if curves is None else [effect.value, curves.value]
    largest = float(np.abs(np.nan_to_num(extent(known))).max())
    if curves is not None:
        moved = curves.value - (curves.value @ share)[:, None]
        curves = replace(curves, value=zero_rounding(moved, largest))
    spread = zero_rounding(effect.heterogeneity, largest)
    if point is not None:
        point = replace(point, value=float(point.value - level))
    return replace(
        effect,
        value=zero_rounding(value, largest),
        heterogeneity=spread,
        std_error=spread / np.sqrt(np.maximum(size, 1.0)),
        curves=curves,
        missing_point=point,
    )


def share_of(effect: Effect) -> Floats:
    """Return the weight of each point in the mean over the grid."""
    if effect.provenance.get("grid") == EXACT_STEP_GRID:
        return width_weights(effect.points)
    return np.full(len(effect.points), 1 / max(len(effect.points), 1))


def anchored(effect: Effect, centring: bool, over: str) -> tuple[str, ...]:
    """Return a note on the value that zero stands for, if the effect is centred or anchored."""
    if centring:
        level = float(share_of(effect) @ effect.value)
        return (f"0 is {level:.4g}, the mean over the {over}".replace("-", MINUS),)
    if effect.spec.center != "anchor":
        return ()
    anchor, feature = effect.spec.parameters.get("anchor"), effect.about.feature
    if isinstance(anchor, Mapping):
        keys = (feature.name, str(feature.label), str(feature.position))
        anchor = next((anchor[k] for k in keys if k in anchor), None)
    if isinstance(anchor, (int, float)) and not isinstance(anchor, bool):
        anchor = f"{anchor:.6g}".replace("-", MINUS)
    return (f"0 at {shorten(feature.name, 24)} = {shorten(str(anchor), 24)}",)


def individual_curves(
    x: Floats, curves: Curves | None, view: EffectPlotOptions, effect: Effect, shift: float = 0.0
) -> IceCurves | None:
    """Return the individual curves, at most `view.curves` of them.

    Parameters
    ----------
    x : ndarray of float, shape (m,)
    curves : Curves, optional
    view : EffectPlotOptions
    effect : Effect
    shift : float
        For nominal levels: largest horizontal offset of a row's dash from the position of the level.
    """
    if curves is None or len(curves) == 0 or view.curves < 1:
        return None
    rows = np.arange(len(curves)) if curves.weight is None else np.flatnonzero(curves.weight > 0)
    if len(rows) > view.curves:
        # Rows may be sorted, so the first ones or every k-th one would not be representative.
        rows = np.sort(np.random.default_rng(SEED).choice(rows, view.curves, replace=False))
    y, own = curves.value[rows], curves.x[rows]
    there = np.flatnonzero((own >= x[0]) & (own <= x[-1])) if view.own else np.zeros(0, dtype=int)
    own_y = np.array([np.interp(own[i], x, y[i]) for i in there])
    beside = None if shift == 0 else shift * np.linspace(-1, 1, len(rows) + 2)[1:-1]
    if beside is not None:
        # Neighbouring rows may be similar: without shuffling, the order of rows would form a pattern.
        beside = np.random.default_rng(SEED).permutation(beside)
    own_x = own[there] if beside is None else own[there] + beside[there]
    colours = None
    if view.color is not None:
        colours = tint(view.color, view.color_name, curves.row[rows], length_of(effect))
    label = "ICE curves"
    return IceCurves(x, y, label, own_x, own_y, there, colours, beside, curves.row[rows])


def _beyond(effect: Effect) -> tuple[str, ...]:
    """Return a note on the percentage of rows outside the grid; by default about a tenth."""
    if effect.rows is None or len(effect.rows) == 0:
        return ()
    x, weight = effect.rows.x, effect.rows.weight
    outside = (x < effect.points[0]) | (x > effect.points[-1])
    share = np.average(outside, weights=weight)
    about = "" if effect.rows.exact else "about "
    return (f"{about}{100 * share:.2g} % of rows outside the grid",) if share > 0 else ()
