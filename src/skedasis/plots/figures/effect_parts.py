"""Parts that figures of effects share: axes, notes, intervals, rugs, densities and violins.

Violins and rugs represent many rows by few marks. Their cost is linear in the number of rows, except for sorting the
rug.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.plots import spec
from skedasis.plots.scales import LEAST, Axis, counted, extent, shorten
from skedasis.plots.spec import (
    ACROSS,
    BELOW,
    BESIDE,
    OWN_TICKS,
    Annotation,
    Band,
    Dashes,
    EffectPlotOptions,
    Hatch,
    MissingMarker,
    Panel,
    Rug,
    Steps,
    Violin,
)
from skedasis.results.build.linear_form import curve_polygon
from skedasis.results.effect import TRUSTED_ROWS, BinnedEffect, BinStats, Effect, Rows
from skedasis.stats.resampling import t_interval

# --- violins and rugs ----------------------------------------------------------------------------

LEVELS = 96
"""Number of histogram bins of a violin."""

TICKS = 400
"""Most ticks of a rug; more of them would merge into a black bar."""

SEEN = 0.01
"""Fraction of local effects at each end that may lie outside the panel, where they would flatten all others."""


def violin_shapes(
    y: Floats, cell: Ints, weight: Floats, left: Floats, right: Floats, enough: Bools
) -> tuple[Violin, ...]:
    """Return the density of local effects in each bin.

    Parameters
    ----------
    y, weight : ndarray of float, shape (n,)
        Local effects and positive weights.
    cell : ndarray of int, shape (n,)
        Index of each row's bin.
    left, right : ndarray of float, shape (K,)
    enough : ndarray of bool, shape (K,)
        Which bins have enough rows for a density.

    Returns
    -------
    tuple of Violin
        No violin for bins in which all local effects are equal.

    Notes
    -----
    A histogram of `LEVELS` steps between the extremes of the bin, smoothed by a Gaussian kernel that is reflected at
    both ends, so that no mass is lost and none appears outside the range of the local effects. The bandwidth follows
    the normal reference rule, with the standard deviation within the halves below and above the mean: the total
    standard deviation of two groups of rows would be dominated by the distance between them, and would blur them.
    """
    k = len(left)
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(low, cell, y)
    np.maximum.at(high, cell, y)
    span = np.where(enough, high - low, 0.0)
    drawn = span > np.maximum(1e-9 * np.maximum(np.abs(low), np.abs(high)), LEAST)
    row = drawn[cell]
    y, cell, weight = y[row], cell[row], weight[row]
    level = np.minimum((LEVELS * ((y - low[cell]) / span[cell])).astype(int), LEVELS - 1)
    mass = np.bincount(cell * LEVELS + level, weight, k * LEVELS).reshape(k, LEVELS)[drawn]
    mass = mass / mass.sum(axis=1, keepdims=True)
    size = np.bincount(cell, minlength=k)[drawn]
    smooth = np.einsum("kij,kj->ki", _kernels(mass, size), mass)
    # Also limited by a fraction of the whole axis, so that the violin of a single bin does not fill the panel.
    reach = np.minimum(0.42 * (right - left), 0.07 * (right[-1] - left[0]))
    found: list[Violin] = []
    for share, k_ in zip(smooth, np.flatnonzero(drawn), strict=True):
        step = span[k_] / LEVELS
        middles = low[k_] + step * (np.arange(LEVELS) + 0.5)
        at = np.concatenate([low[k_ : k_ + 1], middles, high[k_ : k_ + 1]])
        density = np.concatenate([share[:1], share, share[-1:]]) / step
        found.append(
            Violin(int(k_), float((left[k_] + right[k_]) / 2), float(reach[k_]), at, density)
        )
    return tuple(found)


def _kernels(mass: Floats, size: Ints) -> Floats:
    """Return one smoothing matrix per violin, with columns that sum to one; the bandwidth is in histogram steps."""
    at = np.arange(LEVELS)
    spread2 = np.zeros(len(mass))
    upper = at > (mass @ at)[:, None]
    for half in (upper, ~upper):
        part = mass * half
        weight = part.sum(axis=1)
        mean = part @ at / np.where(weight > 0, weight, 1.0)
        spread2 += np.sum(part * (at - mean[:, None]) ** 2, axis=1)
    # The standard deviation of a half-normal distribution is sqrt(1 - 2/π) of the full one.
    spread = np.sqrt(spread2) / np.sqrt(1 - 2 / np.pi)
    width = np.maximum(0.9 * spread * size**-0.2, 0.7)[:, None, None]
    to, of = at[:, None], at[None, :]
    distances = (to - of, to + of + 1, 2 * LEVELS - 1 - to - of)
    kernel = sum(np.exp(-0.5 * (d / width) ** 2) for d in distances)
    return np.asarray(kernel / np.sum(kernel, axis=1, keepdims=True))


def dashes(y: Floats, cell: Ints, left: Floats, right: Floats, enough: Bools) -> Dashes | None:
    """Return single local effects of the bins with too few rows for a density."""
    few = np.flatnonzero(~enough[cell])
    if len(few) == 0:
        return None
    k = cell[few]
    reach = np.minimum(0.25 * (right - left), 0.02 * (right[-1] - left[0]))[k]
    return Dashes(k, (left[k] + right[k]) / 2, reach, y[few])


def visible(y: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the vertical range of the local effects, which contains at least `low` to `high`.

    It contains all local effects, unless a few outliers would make the others unreadable.
    """
    if len(y) == 0:
        return low, high
    least, lower, upper, most = np.quantile(y, [0.0, SEEN, 1 - SEEN, 1.0])
    low, high = float(np.fmin(low, lower)), float(np.fmax(high, upper))
    if max(high, most) - min(low, least) <= 1.6 * (high - low):
        low, high = min(low, float(least)), max(high, float(most))
    return low, high


def rug(x: Floats, weight: Floats | None, *, exact: bool, ticks: int = TICKS) -> Rug:
    """Return a rug of the rows.

    Parameters
    ----------
    x : ndarray of float, shape (n,)
    weight : ndarray of float, shape (n,), optional
    exact : bool
        Whether `x` contains all rows and not a sample.
    ticks : int
        With more rows than this the ticks are equidistant quantiles, with equal weight between neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> rug(np.arange(1001.0), None, exact=True, ticks=5)
    Rug(x=array([   0.,  250.,  500.,  750., 1000.]), label='quantiles of 1,001 rows')
    """
    there = np.isfinite(x) if weight is None else np.isfinite(x) & (weight > 0)
    x = x[there]
    n = len(x)
    if n <= ticks:
        return Rug(np.sort(x), "rows" if exact else f"a sample of {n:,} rows")
    order = np.argsort(x, kind="stable")
    x = x[order]
    share = np.arange(1, n + 1) / n
    if weight is not None:
        share = np.cumsum(weight[there][order])
        share /= share[-1]
    places = np.searchsorted(share, np.linspace(0.0, 1.0, ticks) - 1e-12)
    return Rug(
        x[np.minimum(places, n - 1)], f"quantiles of {n:,} {'' if exact else 'sampled '}rows"
    )


# --- axes, notes, intervals ----------------------------------------------------------------------

MISSING = "missing"
"""Tick label at the position of missing values."""


MEANS_OF = {
    what: (f"{what} mean", f"± standard deviation within the {what}", "values of single rows")
    for what in ("bin", "level")
}
"""Legend entries of the lower panel of an M-plot: means, whiskers and violins."""


def interval(effect: Effect, view: EffectPlotOptions) -> Band:
    """Return the confidence interval of the average as a band."""
    lower, upper = effect.interval(view.confidence_level, simultaneous=view.simultaneous)
    what = "simultaneous band of the average" if view.simultaneous else "interval of the average"
    text = f"{100 * view.confidence_level:g} % {what}"
    x, below = curve_polygon(effect.bins, effect.points, lower)
    return Band(x, below, curve_polygon(effect.bins, effect.points, upper)[1], "error", text)


def horizontal(effect: Effect) -> Axis:
    """Return the axis of a numeric feature; if it has few grid points or values, these are the ticks."""
    x, feature = effect.points, effect.about.feature
    if isinstance(effect, BinnedEffect):
        # The points of an M-plot are inside its bins, whose outer edges are the range of the data.
        low, high = extent([x, effect.bins.low, effect.bins.high])
        own = len(effect.bins) == 0 or effect.spec.local_effects == "value_steps"
    else:
        (low, high), own = extent([x]), True
    few = len(x) == 1 or (own and len(x) <= OWN_TICKS)
    if few and len(x) > 1:
        few = float(np.diff(x).min()) > (high - low) / 9
    ticks = tuple(float(v) for v in x) if few and own else ()
    missing_label = "" if effect.missing_point is None else MISSING
    name = shorten(feature.name, BELOW)
    return Axis(
        name, feature.unit, low, high, 0.03, ticks, missing_label=missing_label, time=effect.time
    )


def vertical(
    effect: Effect,
    bands: Sequence[Band],
    curves: Sequence[Floats],
    around: tuple[str, str] = ("", ""),
    aside: MissingMarker | None = None,
) -> Axis:
    """Return the vertical axis, on the scale of the quantity.

    Parameters
    ----------
    effect : Effect
    bands : sequence of two Band
        Heterogeneity and confidence interval; none if only the mean is known.
    curves : sequence of ndarray
        Curves that must be visible.
    around : tuple of two str
        Text before and after the name of the quantity.
    aside : MissingMarker, optional
        Point of missing values, which must be visible, too.
    """
    spread = [b for band in bands[:1] for b in (band.lower, band.upper)]
    error = [b for band in bands[1:] for b in (band.lower, band.upper)] or list(curves)
    low, high = extent([*spread, *curves])
    if aside is not None:
        low, high = extent([np.array([low, high, aside.y])])
    reached = list(error)
    if aside is not None:
        reached.append(np.array([aside.lower, aside.upper]))
    span = high - low
    if span > 0:
        # With two rows the interval may be twelve times the standard error: it does not determine the scale alone.
        lower, upper = extent(reached)
        low, high = (
            np.fmin(low, max(lower, low - span / 2)),
            np.fmax(high, min(upper, high + span / 2)),
        )
    else:
        low, high = extent([*reached, *curves])
    before, after = around
    quantity = shorten(effect.about.quantity, max(12, BESIDE - len(before) - len(after)))
    return Axis(f"{before}{quantity}{after}", effect.about.unit, float(low), float(high), 0.06)


def aside(effect: Effect, confidence_level: float) -> MissingMarker | None:
    """Return the point of missing values; its degrees of freedom follow from standard error and standard deviation."""
    point = effect.missing_point
    if point is None:
        return None
    size = (point.std / point.std_error) ** 2 if point.std_error > 0 else float(point.count)
    lower, upper = t_interval(
        np.array([point.value]), np.array([point.std_error]), np.array([size - 1]), confidence_level
    )
    return MissingMarker(
        point.value, float(lower[0]), float(upper[0]), f"missing values (n={point.count:,})"
    )


def length_of(effect: Effect) -> int | None:
    """Return the number of rows of X; None with weights, because rows of weight zero are not counted."""
    weighted = effect.curves is not None and effect.curves.weight is not None
    return None if weighted else effect.provenance.get("rows")


def missing(effect: Effect) -> tuple[str, ...]:
    """Return a note on rows with a missing value; for a nominal feature these are a level of their own."""
    if effect.about.feature.kind == "nominal":
        return ()
    return (f"{counted(effect.missing, 'row')} with a missing value",) if effect.missing else ()


def stepped(effect: Effect) -> bool:
    """Return whether local effects are finite differences across bins, because the model is a step function."""
    return effect.spec.local_effects == "steps"


def local_effects(rows: Rows | None) -> Floats | None:
    """Return the local effects of the kept rows of a numeric feature, (n,); None if they are unknown.

    Also None for categorical features, whose rows have two differences each, to the previous and to the next level.
    """
    local = None if rows is None else rows.local
    return local if local is not None and local.ndim == 1 else None


def effect_rug(effect: Effect) -> spec.Rug | None:
    """Return the rug of the kept rows."""
    rows = effect.rows
    if rows is None or len(rows) == 0:
        return None
    return rug(rows.x, rows.weight, exact=rows.exact)


@dataclass(frozen=True, eq=False)
class Spread:
    """Statistics of bins (or of differences between adjacent levels), and the local effects in them.

    Parameters
    ----------
    left, right, mean, std : ndarray of float, shape (K,)
    trusted : ndarray of bool, shape (K,)
        Bins with enough rows.
    y, weight : ndarray of float, shape (n,)
        Local effects and their weights.
    cell : ndarray of int, shape (n,)
        Index of the bin of each local effect.
    rise : ndarray of float, shape (K,), optional
        Change of the mean from the left to the right end of the bin.
    """

    left: Floats
    right: Floats
    mean: Floats
    std: Floats
    trusted: Bools
    y: Floats
    cell: Ints
    weight: Floats
    rise: Floats | None = None


def spread_panel(
    x: Axis, y: tuple[str, str | None], s: Spread, texts: tuple[str, str, str], *, zero: bool
) -> Panel:
    """Return the panel of local effects: means, standard deviations as whiskers, and violins.

    Parameters
    ----------
    x : Axis
    y : tuple
        Name and unit of the vertical axis.
    s : Spread
    texts : tuple of three str
        Legend entries of the means, the whiskers and the violins.
    zero : bool
        Whether zero means "no effect" and must be visible; rounding errors are then small on the scale.
    """
    lower, upper = s.mean - s.std, s.mean + s.std
    # Standard deviation and slope of two rows are arbitrary: they do not determine the scale.
    tilt = np.zeros(len(s.mean)) if s.rise is None else np.abs(s.rise) / 2
    sure = [end[s.trusted] for end in (lower, upper, s.mean - tilt, s.mean + tilt)]
    low, high = visible(s.y, *extent([s.mean, *sure]))
    if zero:
        low, high = float(np.fmin(low, 0.0)), float(np.fmax(high, 0.0))
    # Values that exceed the range by rounding alone count as inside.
    slack = 1e-9 * max(abs(low), abs(high))
    seen = (s.y >= low - slack) & (s.y <= high + slack)
    enough = np.bincount(s.cell[seen], minlength=len(s.left)) >= TRUSTED_ROWS
    at = (s.y[seen], s.cell[seen])
    beyond = len(s.y) - int(seen.sum())
    violins = violin_shapes(*at, s.weight[seen], s.left, s.right, enough)
    return Panel(
        x,
        Axis(*y, low, high, 0.06),
        zero=zero,
        notes=(f"{beyond:,} of {len(s.y):,} {texts[2]} outside the panel",) if beyond else (),
        steps=Steps(s.left, s.right, s.mean, lower, upper, *texts, s.rise),
        violins=violins,
        dashes=dashes(*at, s.left, s.right, enough),
    )


def hatches(bins: BinStats) -> Iterator[Hatch]:
    """Yield the intervals of the axis without rows or with too few rows."""
    doubt = np.where(bins.empty, 2, np.where(bins.trusted, 0, 1))
    ends = np.flatnonzero(np.diff(doubt, append=-1)) + 1
    for first, end in zip(np.concatenate([[0], ends]), ends, strict=False):
        left, right = float(bins.low[first]), float(bins.high[end - 1])
        if doubt[first] == 1:
            yield Hatch(left, right, "few")
        elif doubt[first] == 2:
            room = ACROSS * (right - left) / (bins.high[-1] - bins.low[0])
            yield Hatch(left, right, "empty", "no data" if room > 2 else "", upright=room < 9)


def effect_words(count: Ints, middle: Floats, x: Axis, across: int) -> tuple[Annotation, ...]:
    """Return the number of rows above each bin or level, or nothing if these texts would touch."""
    texts = [f"n={n:,}" for n in count]
    low, high = x.limits
    at = (middle - low) / (high - low) * across
    # A text may be wider than its bin, as long as it does not touch its neighbours.
    half = np.array([len(t) + 1 for t in texts]) / 2
    if np.any(np.diff(at) < half[1:] + half[:-1]):
        return ()
    return tuple(Annotation(float(m), t) for m, t in zip(middle, texts, strict=True))
