"""From results of several models to what is to be seen of them: each one's curve, their mean, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.plots import common, density
from skedasis.plots.bars import LETTERS, BarPanel, axis_of_values, cut, ordered
from skedasis.plots.dependence import per_words, slope_unit
from skedasis.plots.levels import ERROR, ROWS, Places
from skedasis.plots.marks import Band, Line, Panel, Rug
from skedasis.plots.scale import Axis, clean, extent, shortened, told_apart
from skedasis.plots.view import ACROSS, BESIDE, MOST_LEVELS
from skedasis.results.build.linear_form import drawn
from skedasis.results.importance import Importance
from skedasis.results.multi_model import EffectOfModels, ImportanceOfModels, Of, OfModels

MEAN, EACH = "mean of the models", "single models"
VERTICES = 13
"""Up to so many points are marked."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What is to be seen of one feature's effect, of several models.

    Parameters
    ----------
    panel : Panel
        Mean and interval.
    x : ndarray of float, shape (k,)
    each : ndarray of float, shape (m, k)
        The models' own curves.
    shift : ndarray of float, shape (m,), optional
        Levels without an order have no curve between them: each model is a dash at each level, so far beside it.
    """

    panel: Panel
    x: Floats
    each: Floats
    shift: Floats | None = None


def models_panel(found: EffectOfModels, level: float = 0.95, of: Of | None = None) -> Drawn:
    """Say what is to be seen of one feature's effect, of several models.

    Parameters
    ----------
    found : EffectOfModels
    level, of
        Of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0)]
    >>> shown = models_panel(sd.explain(models, X, 0, method=sd.ALE(bins=4)))
    >>> shown.each.shape, shown.panel.notes
    ((2, 5), ('2 models', '100 rows each'))
    """
    ends, first = found.interval(level, of), found.models[0]
    label = interval_label(found, level, of)
    notes = [common.counted(len(found), "model"), _rows(found), *_reach(found)]
    y, zero = _vertical(found, ends)
    if found.levels is not None:
        places = Places.of(found.about.feature, found.levels, MOST_LEVELS)
        at, x = places.x, places.axis(found.about.feature, ACROSS, MOST_LEVELS)
        lower, upper, value = (v[places.shown] for v in (*ends, found.value))
        band = Band(at, lower, upper, "error", label, reach=ERROR)
        line = Line(at, value, MEAN, vertices=True, joined="thin" if places.ordered else None)
        shift = None
        if not places.ordered:
            shift = ROWS * np.linspace(-1, 1, len(found) + 2)[1:-1]
        each = found.values[:, places.shown]
        panel = Panel(x, y, zero, first.spec.method, (*notes, *places.notes()[1:]))
        return Drawn(replace(panel, lines=(line,), bands=(band,)), at, each, shift)
    x = common.horizontal(replace(first, missing_point=None))
    x = replace(
        x,
        least=min(x.least, _end(found.points, np.min)),
        most=max(x.most, _end(found.points, np.max)),
    )
    bent = _bent(found)
    ends = bent.interval(level, of)
    y, zero = _vertical(bent, ends)
    marked = (
        np.searchsorted(bent.points, found.points) if len(bent.points) > len(found.points) else None
    )
    band = Band(bent.points, *ends, "error", label)
    few = len(found.points) <= VERTICES
    line = Line(bent.points, bent.value, MEAN, vertices=few, marked=marked if few else None)
    panel = Panel(x, y, zero, first.spec.method, tuple(notes))
    panel = replace(panel, lines=(line,), bands=(band,), rug=_rug(found))
    return Drawn(panel, bent.points, bent.values)


def _bent(found: EffectOfModels) -> EffectOfModels:
    """Return the effect at more points where slopes change within bins: between edges its curves are parabolas."""
    each = [drawn(e.bins, e.points, e.value) for e in found.models]
    x = np.unique(np.concatenate([at for at, _ in each]))
    if len(x) == len(found.points) or found.spec.local == "values":
        return found
    return replace(found, points=x, values=np.stack([e.at(x) for e in found.models]))


def interval_label(found: OfModels, level: float, of: Of | None) -> str:
    """Return what the band is, for the legend."""
    if of == "models" or (of is None and found.correction is None):
        return f"{100 * level:g} % interval of the mean over refits on these rows"
    if of == "bound":
        return f"{100 * level:g} % interval of the learner, an upper bound"
    return f"{100 * level:g} % interval of the learner, c = {found.correction:.2g}"


def _end(x: Floats, which: Any) -> float:
    known = x[np.isfinite(x)]
    return float(which(known)) if len(known) else np.nan


def _rows(found: OfModels) -> str:
    rows = found.provenance.get("rows", [])
    if len(set(rows)) == 1:
        return f"{common.counted(rows[0], 'row')} each"
    return f"{min(rows):,} to {max(rows):,} rows each" if rows else "rows not known"


def _reach(found: EffectOfModels) -> tuple[str, ...]:
    """Say that not all of the models reach everywhere."""
    least = int(found.reached.min(initial=len(found)))
    return (f"at the ends of {least} of them only",) if least < len(found) else ()


def _rug(found: EffectOfModels) -> Rug | None:
    """Return where the rows lie: those of all models, where each has its own."""
    rows = [e.rows for e in found.models if e.rows is not None and len(e.rows)]
    if not rows:
        return None
    if found.provenance.get("cv", "").startswith("all rows"):
        rows = rows[:1]
    own = len(rows) > 1
    weights = [np.ones(len(r)) if r.weight is None else r.weight for r in rows]
    exact = all(r.exact for r in rows)
    rug = density.rug(np.concatenate([r.x for r in rows]), np.concatenate(weights), exact=exact)
    return replace(rug, label="rows of the models, or their quantiles") if own and rug else rug


def _vertical(found: EffectOfModels, ends: tuple[Floats, Floats]) -> tuple[Axis, bool]:
    """Return the axis of what is explained, and whether zero means "no effect" on it.

    The models set the scale, and as much of the interval as leaves them readable: that of two models has one degree of
    freedom, and may be 13 times as wide as they are apart.
    """
    low, high = extent([found.values])
    least, most = extent(ends)
    span = high - low if high > low else np.inf
    low, high = np.fmin(low, max(least, low - span)), np.fmax(high, min(most, high + span))
    spec, about = found.spec, found.about
    moves = spec.center is not None or spec.derivative
    before = "slope of " if spec.derivative else "effect on " if moves else ""
    after = per_words(about.feature) if spec.derivative else ""
    name = shortened(about.quantity, max(12, BESIDE - len(before) - len(after)))
    unit = slope_unit(found.models[0]) if spec.derivative else about.unit
    return Axis(f"{before}{name}{after}", unit, float(low), float(high), 0.06), moves


def importance_panel(
    found: ImportanceOfModels,
    *,
    features: Sequence[str] | None = None,
    top: int | None = None,
    level: float = 0.95,
    of: Of | None = None,
) -> BarPanel:
    """Say what is to be seen of importances, of several models; the models stand where repeats do for one."""
    stand = stand_in(found)
    chosen = ordered(stand, features, top)
    lower, upper = (end[chosen] for end in found.interval(level, of))
    value, each = found.mean[chosen], found.values.T[chosen]
    x = axis_of_values(stand, value, (lower, upper), each)
    notes = [common.counted(len(found), "model"), _rows(found), *cut(x, lower, upper)]
    hidden = len(found.features) - len(chosen)
    if hidden:
        total = common.counted(len(found.features), "feature")
        notes.append(f"{hidden:,} of {total} not shown")
    return BarPanel(
        told_apart([clean(found.features[i]) for i in chosen], LETTERS),
        value,
        lower,
        upper,
        each,
        x,
        interval_label(found, level, of),
        f"{stand.method} of {common.counted(len(found), 'model')}",
        tuple(notes),
    )


def stand_in(found: ImportanceOfModels) -> Importance:
    """Return one importance whose "repeats" are the models: what is chosen, and in which order, goes by their mean."""
    return replace(
        found.models[0],
        values=found.values.T.copy(),
        std_error=found.std_error.copy(),
        freedom=found.freedom.copy(),
        local=None,
    )
