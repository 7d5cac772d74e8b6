"""Parts that figures of effects share: axes, notes, intervals, rugs, densities and violins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.plots import spec
from skedasis.plots.scales import LEAST, Axis, extent, shortened
from skedasis.plots.spec import (
    ACROSS,
    BELOW,
    BESIDE,
    OWN_TICKS,
    Apart,
    Band,
    Dashes,
    Hatch,
    Panel,
    Rug,
    Steps,
    View,
    Violin,
    Word,
)
from skedasis.results.build.linear_form import drawn
from skedasis.results.effect import TRUSTED_ROWS, BinStats, Effect, Rows
from skedasis.stats.resampling import t_interval

# ------------------------------------------------------------------------------------------
# Many rows in little ink: violins and rugs. The cost is linear in the rows, but for the rug's sorting.


LEVELS = 96
"""Steps of a violin."""


TICKS = 400
"""Ticks of a rug: more of them would be a black bar."""


SEEN = 0.01
"""Share of local effects that may lie beyond the panel at either end, where they would flatten all others."""


def violin_shapes(
    y: Floats, cell: Ints, weight: Floats, left: Floats, right: Floats, enough: Bools
) -> tuple[Violin, ...]:
    """Return the density of local effects in each bin.

    Parameters
    ----------
    y, weight : ndarray of float, shape (n,)
        Local effects and positive weights.
    cell : ndarray of int, shape (n,)
        Each row's bin.
    left, right : ndarray of float, shape (K,)
    enough : ndarray of bool, shape (K,)
        Which bins have rows enough for a density.

    Returns
    -------
    tuple of Violin
        None for bins in which all local effects are equal: that is a point, no density.

    Notes
    -----
    A histogram of `LEVELS` steps between the bin's extremes, smoothed by a Gaussian that is reflected at both ends, so
    that no mass is lost and none is shown where no local effect lies. The bandwidth is the normal reference rule's, but
    with the spread within the halves below and above the mean: the whole spread of two groups of rows, which are what
    one looks for here, is the distance between them, and would blur them.
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
    # The narrowest share of the whole axis: a single bin's violin is no blot over all of the panel.
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
    """Return smoothing matrices whose columns sum to one, one a violin, in units of its steps."""
    at = np.arange(LEVELS)
    spread2 = np.zeros(len(mass))
    upper = at > (mass @ at)[:, None]
    for half in (upper, ~upper):
        part = mass * half
        weight = part.sum(axis=1)
        mean = part @ at / np.where(weight > 0, weight, 1.0)
        spread2 += np.sum(part * (at - mean[:, None]) ** 2, axis=1)
    # Half a normal distribution has this share of the whole one's standard deviation.
    spread = np.sqrt(spread2) / np.sqrt(1 - 2 / np.pi)
    width = np.maximum(0.9 * spread * size**-0.2, 0.7)[:, None, None]
    to, of = at[:, None], at[None, :]
    distances = (to - of, to + of + 1, 2 * LEVELS - 1 - to - of)
    kernel = sum(np.exp(-0.5 * (d / width) ** 2) for d in distances)
    return np.asarray(kernel / np.sum(kernel, axis=1, keepdims=True))


def dashes(y: Floats, cell: Ints, left: Floats, right: Floats, enough: Bools) -> Dashes | None:
    """Return the single local effects of bins that have too few rows for a density."""
    few = np.flatnonzero(~enough[cell])
    if len(few) == 0:
        return None
    k = cell[few]
    reach = np.minimum(0.25 * (right - left), 0.02 * (right[-1] - left[0]))[k]
    return Dashes(k, (left[k] + right[k]) / 2, reach, y[few])


def visible(y: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the range in which to show local effects, at least from `low` to `high`.

    All of them, unless a few stand so far out that nothing else could be read.
    """
    if len(y) == 0:
        return low, high
    least, lower, upper, most = np.quantile(y, [0.0, SEEN, 1 - SEEN, 1.0])
    low, high = float(np.fmin(low, lower)), float(np.fmax(high, upper))
    if max(high, most) - min(low, least) <= 1.6 * (high - low):
        low, high = min(low, float(least)), max(high, float(most))
    return low, high


def rug(x: Floats, weight: Floats | None, *, exact: bool, ticks: int = TICKS) -> Rug:
    """Return ticks that show where the rows lie.

    Parameters
    ----------
    x : ndarray of float, shape (n,)
    weight : ndarray of float, shape (n,), optional
    exact : bool
        Whether these are all rows.
    ticks : int
        If there are more rows than this, the ticks are quantiles: equal weight lies between any two of them.

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


# ------------------------------------------------------------------------------------------
# What panels of all kinds share: axes, notes, intervals, and the spread of local effects.


APART = "missing"


MEANS_OF = {
    what: (f"mean of the {what}", "± std within it", "values of rows") for what in ("bin", "level")
}
"""What M-plots show in their lower panel: the means, whiskers and violins."""


def interval(effect: Effect, view: View) -> Band:
    """Return the band of the average's own error."""
    lower, upper = effect.interval(view.level, simultaneous=view.simultaneous)
    what = "band of the whole average" if view.simultaneous else "interval of the average"
    text = f"{100 * view.level:g} % {what}"
    x, below = drawn(effect.bins, effect.points, lower)
    return Band(x, below, drawn(effect.bins, effect.points, upper)[1], "error", text)


def horizontal(effect: Effect) -> Axis:
    """Return a numeric feature's axis; a few points of a grid, or values of the feature, are themselves its ticks."""
    x, feature, bins = effect.points, effect.about.feature, effect.bins
    # The points of an M-plot lie within its bins, whose edges are the data's.
    low, high = extent([x] if bins is None else [x, bins.low, bins.high])
    own = bins is None or len(bins) == 0 or effect.spec.local == "value_steps"
    few = len(x) == 1 or (own and len(x) <= OWN_TICKS)
    if few and len(x) > 1:
        few = float(np.diff(x).min()) > (high - low) / 9
    ticks = tuple(float(v) for v in x) if few and own else ()
    apart = "" if effect.missing_point is None else APART
    name = shortened(feature.name, BELOW)
    return Axis(name, feature.unit, low, high, 0.03, ticks, apart=apart, time=effect.time)


def vertical(
    effect: Effect,
    bands: Sequence[Band],
    curves: Sequence[Floats],
    around: tuple[str, str] = ("", ""),
    aside: Apart | None = None,
) -> Axis:
    """Return the axis of what is explained.

    Parameters
    ----------
    effect : Effect
    bands : sequence of two Band
        How the rows differ, and how sure the average is; none where only the mean is known.
    curves : sequence of ndarray
        What else must be seen.
    around : tuple of two str
        What stands before and after the quantity's name.
    aside : Apart, optional
        It must be seen, too.
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
        # The interval of a bin of two rows may be twelve times its error: it may not set the scale alone.
        lower, upper = extent(reached)
        low, high = (
            np.fmin(low, max(lower, low - span / 2)),
            np.fmax(high, min(upper, high + span / 2)),
        )
    else:
        low, high = extent([*reached, *curves])
    before, after = around
    quantity = shortened(effect.about.quantity, max(12, BESIDE - len(before) - len(after)))
    return Axis(f"{before}{quantity}{after}", effect.about.unit, float(low), float(high), 0.06)


def aside(effect: Effect, level: float) -> Apart | None:
    """Return the point of missing values; its degrees of freedom follow from its error and its spread."""
    point = effect.missing_point
    if point is None:
        return None
    size = (point.std / point.std_error) ** 2 if point.std_error > 0 else float(point.count)
    lower, upper = t_interval(
        np.array([point.value]), np.array([point.std_error]), np.array([size - 1]), level
    )
    return Apart(
        point.value, float(lower[0]), float(upper[0]), f"value missing (n={point.count:,})"
    )


def counted(n: int, what: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {what}{'s' if n != 1 else ''}"


def length_of(effect: Effect) -> int | None:
    """Return how many rows X has; None where that is not known, for rows of weight zero are not counted."""
    weighted = effect.curves is not None and effect.curves.weight is not None
    return None if weighted else effect.provenance.get("rows")


def missing(effect: Effect) -> tuple[str, ...]:
    """Say how many rows have no value; of a nominal feature these are a level like others."""
    if effect.levels is not None and effect.about.feature.kind == "nominal":
        return ()
    return (f"{counted(effect.missing, 'row')} missing",) if effect.missing else ()


def stepped(effect: Effect) -> bool:
    """Return whether local effects are rises across bins, because the model is a step function."""
    return effect.spec.local == "steps"


def local_effects(rows: Rows | None) -> Floats | None:
    """Return the local effects of the kept rows of a numeric feature, (n,); None where they are not known.

    None for levels, too: their rows keep two steps each, down and up.
    """
    local = None if rows is None else rows.local
    return local if local is not None and local.ndim == 1 else None


def effect_rug(effect: Effect) -> spec.Rug | None:
    """Return where the rows lie."""
    rows = effect.rows
    if rows is None or len(rows) == 0:
        return None
    return rug(rows.x, rows.weight, exact=rows.exact)


@dataclass(frozen=True, eq=False)
class Spread:
    """Bins, or steps, and the rows' local effects in them.

    Parameters
    ----------
    left, right, mean, std : ndarray of float, shape (K,)
    trusted : ndarray of bool, shape (K,)
    y, weight : ndarray of float, shape (n,)
        Local effects.
    cell : ndarray of int, shape (n,)
        Which of the K they belong to.
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
    """Return the panel of local effects: their means, whiskers of their spread, and violins.

    Parameters
    ----------
    x : Axis
    y : tuple
        Name and unit of the vertical axis.
    s : Spread
    texts : tuple of three str
        What the means, the whiskers and the violins are.
    zero : bool
        Whether zero means "no effect", and is to be seen: what is mere rounding looks like it then.
    """
    lower, upper = s.mean - s.std, s.mean + s.std
    # A spread over two rows may be anything: it may not set the scale, and nor may a line through them.
    tilt = np.zeros(len(s.mean)) if s.rise is None else np.abs(s.rise) / 2
    sure = [end[s.trusted] for end in (lower, upper, s.mean - tilt, s.mean + tilt)]
    low, high = visible(s.y, *extent([s.mean, *sure]))
    if zero:
        low, high = float(np.fmin(low, 0.0)), float(np.fmax(high, 0.0))
    # What differs by rounding alone is not beyond.
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
        notes=(f"{beyond:,} of {len(s.y):,} {texts[2]} beyond the panel",) if beyond else (),
        steps=Steps(s.left, s.right, s.mean, lower, upper, *texts, s.rise),
        violins=violins,
        dashes=dashes(*at, s.left, s.right, enough),
    )


def hatches(bins: BinStats) -> Iterator[Hatch]:
    """Mark stretches of the axis without rows, and with too few."""
    doubt = np.where(bins.empty, 2, np.where(bins.trusted, 0, 1))
    ends = np.flatnonzero(np.diff(doubt, append=-1)) + 1
    for first, end in zip(np.concatenate([[0], ends]), ends, strict=False):
        left, right = float(bins.low[first]), float(bins.high[end - 1])
        if doubt[first] == 1:
            yield Hatch(left, right, "few")
        elif doubt[first] == 2:
            room = ACROSS * (right - left) / (bins.high[-1] - bins.low[0])
            yield Hatch(left, right, "empty", "no data" if room > 2 else "", upright=room < 9)


def effect_words(count: Ints, middle: Floats, x: Axis, across: int) -> tuple[Word, ...]:
    """Return a count above each bin or level, or none where they would touch."""
    texts = [f"n={n:,}" for n in count]
    low, high = x.limits
    at = (middle - low) / (high - low) * across
    # They may reach over their bins' edges: it is one another that they must not touch.
    half = np.array([len(t) + 1 for t in texts]) / 2
    if np.any(np.diff(at) < half[1:] + half[:-1]):
        return ()
    return tuple(Word(float(m), t) for m, t in zip(middle, texts, strict=True))
