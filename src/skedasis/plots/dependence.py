"""What is to be seen of partial dependence: averages over a grid, and the individual curves under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from skedasis._types import Floats
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError, explained
from skedasis.plots.common import (
    aside,
    counted,
    horizontal,
    interval,
    length_of,
    missing,
    rug,
    vertical,
)
from skedasis.plots.marks import Band, Bundle, Line, Panel
from skedasis.plots.scale import extent, settled, shortened
from skedasis.plots.strips import risen
from skedasis.plots.tint import tint
from skedasis.plots.view import SEED, View
from skedasis.results.build.linear_form import AXIS
from skedasis.results.effect import Curves, Effect
from skedasis.stats.grid import EVERY_JUMP, widths_share

MINUS = "\N{MINUS SIGN}"
VERTICES = 13
"""Up to so many points of a grid are marked."""


def dependence(effect: Effect, view: View) -> Panel:
    """Return the panel of a PDP, ICE or d-ICE of a numeric feature."""
    shown, centring = as_asked(effect, view)
    x, value, spread = shown.points, shown.value, shown.heterogeneity
    derivative = effect.spec.derivative
    said = "slopes of curves" if derivative else "centred curves"
    bands: tuple[Band, ...] = ()
    if not effect.spec.mean_alone:
        around = Band(x, value - spread, value + spread, "heterogeneity", f"± std of {said}")
        bands = (around, interval(shown, view))
    bundle = bundled(shown.points, shown.curves, view, shown) if view.ice else None
    moves = centring or effect.spec.center is not None
    notes = [counted(round(float(effect.moments[AXIS].count.sum())) + effect.missing, "row")]
    if bundle is not None:
        notes.append(counted(len(bundle.y), "curve"))
    individual = () if bundle is None else (bundle.y,)
    point = aside(shown, view.level)
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
        rug=rug(effect),
        apart=point,
    )
    return risen(panel, effect, view)


def per_words(feature: Feature) -> str:
    """Return what stands after the name of a slope: " per age", of dates and times " per day"."""
    return f" per {'day' if feature.time is not None else shortened(feature.name, 24)}"


def slope_unit(effect: Effect) -> str | None:
    """Return the unit of a slope: "EUR per m²", or what is known of it."""
    feature = effect.about.feature
    top, bottom = effect.about.unit, feature.unit
    if feature.time is not None:  # the axis' name says "per day"
        return f"{top} per day" if top else None
    return f"{top or ''} per {bottom}".strip() if bottom else top


def as_asked(effect: Effect, view: View) -> tuple[Effect, bool]:
    """Return a PDP with or without centring, and whether it was done here.

    Raises
    ------
    UnsupportedError
        For raw curves of an effect that was centred.
    """
    if view.ice == "raw" and effect.spec.center is not None:
        raise UnsupportedError(
            explained(
                "plot(ice='raw')",
                f"a {effect.spec.method} centred by its {effect.spec.center}",
                "curves that were not centred",
                "Explain with center=None, or use ice='centered'",
            )
        )
    # Slopes have no level that could be taken off: their mean is the trend.
    centring = view.ice == "centered" and effect.spec.center is None and not effect.spec.derivative
    return (centred(effect) if centring else effect), centring


def centred(effect: Effect) -> Effect:
    """Return an effect, and its curves, minus their means over the grid.

    The error of the centred average follows from the scatter of the centred curves, which is `heterogeneity`.
    """
    size = effect.freedom + 1
    curves, point = effect.curves, effect.missing_point
    share = share_of(effect)
    with np.errstate(invalid="ignore"):  # what is infinite has no mean
        level = share @ effect.value
        value = effect.value - level
    # A constant minus its mean is rounding error, which would fill the panel.
    known = [effect.value] if curves is None else [effect.value, curves.value]
    largest = float(np.abs(np.nan_to_num(extent(known))).max())
    if curves is not None:
        moved = curves.value - (curves.value @ share)[:, None]
        curves = replace(curves, value=settled(moved, largest))
    spread = settled(effect.heterogeneity, largest)
    if point is not None:
        point = replace(point, value=float(point.value - level))
    return replace(
        effect,
        value=settled(value, largest),
        heterogeneity=spread,
        std_error=spread / np.sqrt(np.maximum(size, 1.0)),
        curves=curves,
        missing_point=point,
    )


def share_of(effect: Effect) -> Floats:
    """Return what each point counts in the mean over the grid."""
    if effect.provenance.get("grid") == EVERY_JUMP:
        return widths_share(effect.points)
    return np.full(len(effect.points), 1 / max(len(effect.points), 1))


def anchored(effect: Effect, centring: bool, over: str) -> tuple[str, ...]:
    """Say what zero is, where somebody may ask."""
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
    return (f"0 at {shortened(feature.name, 24)} = {shortened(str(anchor), 24)}",)


def bundled(
    x: Floats, curves: Curves | None, view: View, effect: Effect, shift: float = 0.0
) -> Bundle | None:
    """Return the individual curves, as many as are wanted.

    Parameters
    ----------
    x : ndarray of float, shape (m,)
    curves : Curves, optional
    view : View
    effect : Effect
    shift : float
        Levels without an order: rows stand so far to either side of their levels, instead of being lines.
    """
    if curves is None or len(curves) == 0 or view.curves < 1:
        return None
    rows = np.arange(len(curves)) if curves.weight is None else np.flatnonzero(curves.weight > 0)
    if len(rows) > view.curves:
        # Rows may be sorted: neither the first ones nor every k-th would stand for all.
        rows = np.sort(np.random.default_rng(SEED).choice(rows, view.curves, replace=False))
    y, own = curves.value[rows], curves.x[rows]
    there = np.flatnonzero((own >= x[0]) & (own <= x[-1])) if view.own else np.zeros(0, dtype=int)
    own_y = np.array([np.interp(own[i], x, y[i]) for i in there])
    beside = None if shift == 0 else shift * np.linspace(-1, 1, len(rows) + 2)[1:-1]
    if beside is not None:
        # Neighbouring rows may be alike: shuffled, they do not form a picture of their order.
        beside = np.random.default_rng(SEED).permutation(beside)
    own_x = own[there] if beside is None else own[there] + beside[there]
    colours = None
    if view.color is not None:
        colours = tint(view.color, view.color_name, curves.row[rows], length_of(effect))
    label = "individual rows (ICE)"
    return Bundle(x, y, label, own_x, own_y, there, colours, beside, curves.row[rows])


def _beyond(effect: Effect) -> tuple[str, ...]:
    """Say how many rows lie beyond the grid: by default a tenth does."""
    if effect.rows is None or len(effect.rows) == 0:
        return ()
    x, weight = effect.rows.x, effect.rows.weight
    outside = (x < effect.points[0]) | (x > effect.points[-1])
    share = np.average(outside, weights=weight)
    about = "" if effect.rows.exact else "about "
    return (f"{about}{100 * share:.2g} % of rows beyond the grid",) if share > 0 else ()
