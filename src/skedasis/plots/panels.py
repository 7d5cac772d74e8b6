"""From an effect to what is to be seen of it: pure functions, arrays in and arrays out. Tests read these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from skedasis.cells import Cells
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.plots import density
from skedasis.plots.marks import Band, Bars, Bundle, Hatch, Line, Panel, Picture, Steps, Word
from skedasis.plots.scale import Axis, extent, shortened
from skedasis.results.accumulated import AXIS, LOCAL
from skedasis.results.effect import TRUSTED_ROWS, BinStats, Curves, Effect
from skedasis.typing import Floats, Ints

Ice = Literal["centered", "raw"] | None

BELOW, BESIDE = 120, 60
"""Characters of a name that fit below and beside a panel, on two lines."""
ACROSS = 92
"""Characters of a count that fit across a panel of the usual width."""
OWN_TICKS = 7
"""Up to so many points of a grid are its ticks."""


@dataclass(frozen=True)
class View:
    """What of an effect is to be seen.

    Parameters
    ----------
    ice : {"centered", "raw", None}
        Individual curves of PDP and ICE: minus their own anchor (the left end for ``center="start"``, else their mean
        over the grid), in which case the average is centred, too; as they are; or none.
    own : bool
        Whether each row's own value is marked on its curve.
    curves : int
        At most so many curves.
    level : float
        Of the intervals of the average.
    across : int
        Characters of a count that fit across the panel: where they would touch there are bars instead.
    """

    ice: Ice = "centered"
    own: bool = False
    curves: int = 200
    level: float = 0.95
    across: int = ACROSS

    def __post_init__(self) -> None:
        if self.ice not in ("centered", "raw", None):
            raise DataError(
                explained("plot(ice)", repr(self.ice), "'centered', 'raw' or None", "Name one")
            )


def picture(effect: Effect, view: View | None = None) -> Picture:
    """Say what is to be seen of an effect.

    Parameters
    ----------
    effect : Effect
    view : View, optional

    Returns
    -------
    Picture

    Raises
    ------
    DataError
        For a `level` outside (0, 1).
    UnsupportedError
        For raw curves of an effect that was centred.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> shown = picture(sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=3)))
    >>> [w.text for w in shown.slopes.words]
    ['n=67', 'n=67', 'n=66']
    >>> shown.main.y.label
    'effect on prediction'
    """
    view = View() if view is None else view
    if effect.bins is None:
        return Picture(_dependence(effect, view))
    main = _accumulated(effect, effect.bins, view)
    if len(effect.bins) == 0:
        return Picture(main)
    panel = slopes(effect, across=view.across)
    counts = None if panel.words else _counts(effect.bins, panel.x)
    return Picture(main, panel, counts)


def on_shared_scales(panels: Sequence[Panel]) -> list[Panel]:
    """Give panels the vertical range that all of them need."""
    axes = [p.y for p in panels]
    return [replace(p, y=p.y.spanning(axes)) for p in panels]


def slopes(effect: Effect, *, per_sd: bool = False, across: int = ACROSS) -> Panel:
    """Say what is to be seen of an accumulated effect's bins.

    Parameters
    ----------
    effect : Effect
        With at least one bin.
    per_sd : bool
        Whether slopes are given per standard deviation of the feature: then those of different features compare.
    across : int
        As in `View`.

    Returns
    -------
    Panel

    Notes
    -----
    A violin shows the local effects that the bin's std is the spread of. Where these are differences across fine cells,
    each is shown about its cell's mean, moved to the bin's: how the slope changes from cell to cell is the curve's own
    shape, not heterogeneity (DESIGN 4.5).
    """
    bins, about = effect.bins, effect.about
    if bins is None or len(bins) == 0:
        raise UnsupportedError(
            explained("slopes", "an effect without bins", "one with bins", "Use ALE or RHALE")
        )
    factor = about.spread if per_sd else 1.0
    mean, std = factor * bins.effect, factor * bins.std
    y, cell, weight = _local(effect, bins)
    y = factor * y
    lower, upper = mean - std, mean + std
    # A spread over two rows may be anything: it may not set the scale.
    needed = extent([mean, lower[bins.trusted], upper[bins.trusted]])
    low, high = density.visible(y, *needed)
    # With "no effect" in sight, what is mere rounding looks like it.
    low, high = float(np.fmin(low, 0.0)), float(np.fmax(high, 0.0))
    seen = (y >= low) & (y <= high)
    enough = np.bincount(cell[seen], minlength=len(bins)) >= TRUSTED_ROWS
    shown = (y[seen], cell[seen])
    x = _horizontal(effect)
    beyond = len(y) - int(seen.sum())
    per = about.feature.unit or shortened(about.feature.name, 24)
    unit = f"{about.unit or shortened(about.quantity, 24)} per {per}"
    y_axis = ("slope per sd", about.unit) if per_sd else ("slope", unit)
    return Panel(
        x,
        Axis(*y_axis, low, high, 0.06),
        zero=True,
        notes=(f"{beyond:,} of {len(y):,} local effects beyond the panel",) if beyond else (),
        steps=Steps(bins.left, bins.right, mean, lower, upper, "mean slope", "± std of slopes"),
        violins=density.violins(*shown, weight[seen], bins.left, bins.right, enough),
        dashes=density.dashes(*shown, bins.left, bins.right, enough),
        hatches=tuple(_hatches(bins)),
        words=_words(bins, x, across),
    )


def _accumulated(effect: Effect, bins: BinStats, view: View) -> Panel:
    x, value, spread = effect.x, effect.value, effect.heterogeneity
    bands = (
        Band(x, value - spread, value + spread, "heterogeneity", "± heterogeneity (STD)"),
        _interval(effect, view.level),
    )
    k = len(bins)
    n = int(bins.count.sum()) if k else effect.provenance.get("rows", 0) - effect.missing
    notes = [f"{n:,} row{'s' if n != 1 else ''}"]
    notes.append(f"{k} bin{'s' if k != 1 else ''}" if k else "the feature takes one value")
    outside = effect.provenance.get("rows_outside", 0)
    if outside:
        notes.append(f"{outside:,} rows outside the bins")
    if effect.spec.local == "secants":
        notes.append("slopes are secants")
    return Panel(
        _horizontal(effect),
        _vertical(effect, bands, (value,), "effect on "),
        zero=True,
        title=effect.spec.method,
        notes=(*notes, *_missing(effect)),
        lines=(Line(x, value, "average effect", vertices=True),),
        bands=bands,
        hatches=tuple(_hatches(bins)),
        rug=_rug(effect),
    )


def _dependence(effect: Effect, view: View) -> Panel:
    if view.ice == "raw" and effect.spec.center is not None:
        raise UnsupportedError(
            explained(
                "plot(ice='raw')",
                f"a {effect.spec.method} centred by its {effect.spec.center}",
                "curves that were not centred",
                "Explain with center=None, or use ice='centered'",
            )
        )
    centring = view.ice == "centered" and effect.spec.center is None
    level = float(effect.value.mean()) if len(effect.value) else 0.0
    shown = _centred(effect) if centring else effect
    x, value, spread = shown.x, shown.value, shown.heterogeneity
    bands = (
        Band(x, value - spread, value + spread, "heterogeneity", "± std of centred curves"),
        _interval(shown, view.level),
    )
    bundle = _bundle(shown.x, shown.curves, view) if view.ice else None
    moves = centring or effect.spec.center is not None
    notes = [f"{round(float(effect.moments[AXIS].count.sum())) + effect.missing:,} rows"]
    if bundle is not None:
        notes.append(f"{len(bundle.y):,} curves")
    if centring:
        notes.append(f"0 is {level:.4g}, the mean over the grid".replace("-", "\N{MINUS SIGN}"))
    individual = () if bundle is None else (bundle.y,)
    return Panel(
        _horizontal(effect),
        _vertical(effect, bands, (value, *individual), "effect on " if moves else ""),
        zero=moves,
        title=effect.spec.method,
        notes=(*notes, *_beyond(effect), *_missing(effect)),
        lines=(Line(x, value, "average", vertices=len(x) <= 13),),
        bands=bands,
        bundle=bundle,
        rug=_rug(effect),
    )


def _centred(effect: Effect) -> Effect:
    """Return an effect, and its curves, minus their means over the grid.

    The error of the centred average follows from the scatter of the centred curves, which is `heterogeneity`.
    """
    if effect.spec.weight_kind == "frequency":
        size = effect.freedom + 1
    else:
        size = effect.moments[AXIS].pool(np.array([0])).effective("sampling")
    curves = effect.curves
    if curves is not None:
        curves = replace(curves, value=curves.value - curves.value.mean(axis=1, keepdims=True))
    return replace(
        effect,
        value=effect.value - effect.value.mean(),
        std_error=effect.heterogeneity / np.sqrt(np.maximum(size, 1.0)),
        curves=curves,
    )


def _bundle(x: Floats, curves: Curves | None, view: View) -> Bundle | None:
    if curves is None or len(curves) == 0 or view.curves < 1:
        return None
    rows = np.arange(len(curves)) if curves.weight is None else np.flatnonzero(curves.weight > 0)
    if len(rows) > view.curves:
        # Rows may be sorted: neither the first ones nor every k-th would stand for all.
        rows = np.sort(np.random.default_rng(0).choice(rows, view.curves, replace=False))
    y, own = curves.value[rows], curves.x[rows]
    there = np.flatnonzero((own >= x[0]) & (own <= x[-1])) if view.own else np.zeros(0, dtype=int)
    own_y = np.array([np.interp(own[i], x, y[i]) for i in there])
    return Bundle(x, y, "individual rows (ICE)", own[there], own_y)


def _interval(effect: Effect, level: float) -> Band:
    lower, upper = effect.interval(level)
    return Band(effect.x, lower, upper, "error", f"{100 * level:g} % interval of the average")


def _horizontal(effect: Effect) -> Axis:
    """Return the feature's axis; a few points of a grid are themselves its ticks."""
    x, feature = effect.x, effect.about.feature
    low, high = extent([x])
    few = len(x) == 1 or (effect.bins is None and len(x) <= OWN_TICKS)
    if few and len(x) > 1:
        few = float(np.diff(x).min()) > (high - low) / 9
    ticks = tuple(float(v) for v in x) if few else ()
    return Axis(shortened(feature.name, BELOW), feature.unit, low, high, 0.03, ticks)


def _vertical(effect: Effect, bands: Sequence[Band], curves: Sequence[Floats], what: str) -> Axis:
    spread, error = bands
    low, high = extent([spread.lower, spread.upper, *curves])
    span = high - low
    if span > 0:
        # The interval of a bin of two rows may be twelve times its error: it may not set the scale alone.
        lower, upper = extent([error.lower, error.upper])
        low, high = (
            np.fmin(low, max(lower, low - span / 2)),
            np.fmax(high, min(upper, high + span / 2)),
        )
    else:
        low, high = extent([error.lower, error.upper, *curves])
    name = f"{what}{shortened(effect.about.quantity, BESIDE - len(what))}"
    return Axis(name, effect.about.unit, float(low), float(high), 0.06)


def _missing(effect: Effect) -> tuple[str, ...]:
    n = effect.missing
    return (f"{n:,} row{'s' if n != 1 else ''} missing",) if n else ()


def _beyond(effect: Effect) -> tuple[str, ...]:
    """Say how many rows lie beyond the grid: by default a tenth does."""
    if effect.rows is None or len(effect.rows) == 0:
        return ()
    x, weight = effect.rows.x, effect.rows.weight
    outside = (x < effect.x[0]) | (x > effect.x[-1])
    share = np.average(outside, weights=weight)
    about = "" if effect.rows.exact else "about "
    return (f"{about}{100 * share:.2g} % of rows beyond the grid",) if share > 0 else ()


def _rug(effect: Effect) -> density.Rug | None:
    rows = effect.rows
    if rows is None or len(rows) == 0:
        return None
    return density.rug(rows.x, rows.weight, exact=rows.exact)


def _local(effect: Effect, bins: BinStats) -> tuple[Floats, Ints, Floats]:
    """Return the kept rows' local effects, their bins and their weights."""
    rows, cells = effect.rows, effect.cells
    if rows is None or rows.effect is None or cells is None or rows.effect.ndim != 1:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0)
    cell = Cells(np.append(bins.left, bins.right[-1]), cells.closed).locate(rows.x)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    there = (cell >= 0) & (weight > 0) & np.isfinite(rows.effect)
    y, cell = rows.effect[there], cell[there]
    if not effect.spec.pointwise:
        own = effect.moments[LOCAL].mean[cells.locate(rows.x[there])]
        y = y - own + bins.effect[cell]
    return y, cell, weight[there]


def _hatches(bins: BinStats) -> Iterator[Hatch]:
    """Mark stretches of the axis without rows, and with too few."""
    doubt = np.where(bins.empty, 2, np.where(bins.trusted, 0, 1))
    ends = np.flatnonzero(np.diff(doubt, append=-1)) + 1
    for first, end in zip(np.concatenate([[0], ends]), ends, strict=False):
        left, right = float(bins.left[first]), float(bins.right[end - 1])
        if doubt[first] == 1:
            yield Hatch(left, right, "few")
        elif doubt[first] == 2:
            room = ACROSS * (right - left) / (bins.right[-1] - bins.left[0])
            yield Hatch(left, right, "empty", "no data" if room > 2 else "", upright=room < 9)


def _words(bins: BinStats, x: Axis, across: int) -> tuple[Word, ...]:
    """Return a count above each bin, or none where they would touch."""
    texts = [f"n={n:,}" for n in bins.count]
    low, high = x.limits
    middle = (bins.left + bins.right) / 2
    at = (middle - low) / (high - low) * across
    # They may reach over their bins' edges: it is one another that they must not touch.
    half = np.array([len(t) + 1 for t in texts]) / 2
    if np.any(np.diff(at) < half[1:] + half[:-1]):
        return ()
    return tuple(Word(float(m), t) for m, t in zip(middle, texts, strict=True))


def _counts(bins: BinStats, x: Axis) -> Panel:
    height = bins.count.astype(float)
    y = Axis("rows", None, 0.0, float(height.max(initial=0.0)), 0.0)
    return Panel(x, y, bars=Bars(bins.left, bins.right, height))
