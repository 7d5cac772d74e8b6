"""Where two effects of one feature disagree, in units of their standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, explained
from skedasis.results.build.linear_form import drawn
from skedasis.results.checks.check import number
from skedasis.results.checks.extrapolation import FAR_NOTE
from skedasis.results.effect import TRUSTED_ROWS, Effect
from skedasis.results.time_axis import on_axis_of

SIZE = 0.1
"""Differences count from this share of the larger one of both effects' ranges on."""


NARROW = 0.1
"""Share of the rows up to which a stretch between two points of a curve is one that nothing is known within."""


Found = tuple[Any, str, dict[str, Any]]


def disagreement(
    effect: Effect,
    other: Effect,
    level: float = 0.95,
    far: tuple[float | None, float | None] = (None, None),
) -> Found | None:
    """Return where two effects of a feature differ by more than their errors, or None.

    Parameters
    ----------
    effect, other : Effect
        Of the same feature and quantity.
    level : float
    far : tuple of two float or None
        Each one's share of extrapolations, where it is known.

    Returns
    -------
    where : (left, right) or str
        The stretch around the largest difference; a level.
    text : str
    numbers : dict
        The largest difference, in units of the quantity, of its error, and of the range.

    Raises
    ------
    DataError
        For effects of different features, quantities or kinds.

    Notes
    -----
    Both are taken at all points of either within their common range, and centred alike: less their mean over the data
    there. They rest on the same rows, so their errors may add up: the error of the difference is the sum of both, at
    the most, and the largest difference has to be beyond it at the level shared by all points (Bonferroni). It also has
    to be 10 % of the larger range, lest small differences that are sure be shouted. A jump between two points of a grid
    is known to lie there, and no more: within a stretch of at most a tenth of the rows between two points of either
    curve, values count as different where the two curves have none in common.
    """
    check(effect, other)
    other = on_axis_of(other, effect)
    x, values, errors, freedom, share = _common(effect, other)
    if len(x) < 2:
        return None
    centred = values - (values @ share)[:, None]
    difference = _apart(effect, other, x, centred)
    size = float(np.ptp(centred, axis=1).max())
    error = errors.sum(axis=0)
    sure = np.abs(difference) > _quantile(freedom, 1 - (1 - level) / (2 * len(x))) * error
    told = sure & (np.abs(difference) >= SIZE * size)
    if not told.any() or size == 0:
        return None
    worst = int(np.argmax(np.where(told, np.abs(difference), 0.0)))
    first, last = worst, worst
    while first > 0 and told[first - 1]:
        first -= 1
    while last < len(x) - 1 and told[last + 1]:
        last += 1
    gap = float(abs(difference[worst]))
    numbers = {
        "difference": gap,
        "errors": gap / float(error[worst]) if error[worst] > 0 else np.inf,
        "of_range": gap / size,
        "at": x[worst],
        "extrapolation": far,
    }
    where = str(x[worst]) if effect.levels is not None else (float(x[first]), float(x[last]))
    return where, _text(effect, other, where, numbers, far), numbers


def check(effect: Effect, other: Any) -> None:
    """Refuse what cannot be compared."""
    fix = "Pass the other method's effect of the same feature"
    if not isinstance(other, Effect):
        got = f"a {type(other).__name__}"
        raise DataError(explained("trust(beside)", got, "an effect of the same feature", fix))
    mine, theirs = effect.about, other.about
    got = ""
    if mine.feature.name != theirs.feature.name:
        got = f"an effect of {theirs.feature.name!r} beside one of {mine.feature.name!r}"
    elif mine.quantity != theirs.quantity:
        got = f"an effect on {theirs.quantity!r} beside one on {mine.quantity!r}"
    elif (effect.levels is None) != (
        other.levels is None
    ) or effect.spec.derivative != other.spec.derivative:
        got = "an effect of another kind (levels beside numbers, or slopes beside values)"
    if got:
        raise DataError(explained("trust(beside)", got, "the same feature and quantity", fix))


def _common(effect: Effect, other: Effect) -> tuple[Any, Floats, Floats, Floats, Floats]:
    """Return common points, values (2, m), errors (2, m), degrees of freedom (2, m), and what points count."""
    both = (effect, other)
    if effect.levels is not None and other.levels is not None:
        known = dict(zip(other.levels.labels, range(len(other.levels)), strict=True))
        shared = [(i, known[v]) for i, v in enumerate(effect.levels.labels) if v in known]
        places = np.array(shared, dtype=np.int64).reshape(-1, 2).T
        parts = [
            np.array([getattr(e, name)[p] for e, p in zip(both, places, strict=True)])
            for name in ("value", "std_error", "freedom")
        ]
        labels = np.array(effect.levels.labels, dtype=object)[places[0]]
        weight = effect.levels.weight[places[0]]
        return labels, parts[0], parts[1], parts[2], weight / max(float(weight.sum()), 1e-300)
    left, right = max(float(e.points[0]) for e in both), min(float(e.points[-1]) for e in both)
    x = np.unique(np.concatenate([drawn(e.bins, e.points, e.value)[0] for e in both]))
    x = x[(x >= left) & (x <= right)]
    values = np.array([e.at(x) for e in both])
    errors, freedom = (
        np.array([np.interp(x, e.points, np.asarray(getattr(e, name), dtype=float)) for e in both])
        for name in ("std_error", "freedom")
    )
    there = ~np.isnan(values).any(axis=0)
    x, values, errors, freedom = x[there], values[:, there], errors[:, there], freedom[:, there]
    return x, values, np.nan_to_num(errors), freedom, _share(effect, x)


def _apart(effect: Effect, other: Effect, x: Any, values: Floats) -> Floats:
    """Return by how much two curves differ at each point, where no jump between two of their points explains it."""
    difference = values[0] - values[1]
    if effect.levels is not None:
        return difference
    before = _before(effect, x)
    first, last = np.arange(len(x)), np.arange(len(x))
    for curve in (effect, other):
        place = np.clip(
            np.searchsorted(curve.points, x, side="right") - 1, 0, len(curve.points) - 2
        )
        left = np.searchsorted(x, curve.points[place])
        right = np.minimum(np.searchsorted(x, curve.points[place + 1]), len(x) - 1)
        narrow = before[right] - before[left] <= NARROW
        first = np.where(narrow, np.minimum(first, left), first)
        last = np.where(narrow, np.maximum(last, right), last)
    windows = list(zip(first.tolist(), last.tolist(), strict=True))
    low = np.array([[v[a : b + 1].min() for a, b in windows] for v in values])
    high = np.array([[v[a : b + 1].max() for a, b in windows] for v in values])
    gap = np.maximum(np.maximum(low[0] - high[1], low[1] - high[0]), 0.0)
    return np.copysign(gap, difference)


def _before(effect: Effect, x: Floats) -> Floats:
    """Return the share of rows before each point; of the axis, where no rows are kept."""
    kept = effect.rows if effect.rows is not None else effect.curves
    if kept is None or len(kept) == 0:
        return (x - x[0]) / (x[-1] - x[0])
    order = np.argsort(kept.x)
    weight = np.ones(len(kept)) if kept.weight is None else kept.weight[order]
    total = np.concatenate([[0.0], np.cumsum(weight)])
    return total[np.searchsorted(kept.x[order], x)] / max(float(total[-1]), 1e-300)


def _share(effect: Effect, x: Floats) -> Floats:
    """Return how much each point stands for: the rows around it, or the axis where no rows are kept."""
    if len(x) == 0:
        return x
    middle = (x[1:] + x[:-1]) / 2
    kept = effect.rows if effect.rows is not None else effect.curves
    if kept is not None and len(kept):
        inside = (kept.x >= x[0]) & (kept.x <= x[-1])
        w = None if kept.weight is None else kept.weight[inside]
        near = np.bincount(np.searchsorted(middle, kept.x[inside]), w, len(x))
        if near.sum() > 0:
            return near / near.sum()
    ends = np.concatenate([x[:1], middle, x[-1:]])
    return np.diff(ends) / (x[-1] - x[0]) if x[-1] > x[0] else np.ones(1)


def _quantile(freedom: Floats, level: float) -> Floats:
    """Return Student's quantile with the fewer degrees of freedom of both."""
    from scipy.special import stdtrit

    fewer = np.nan_to_num(freedom, nan=1e9, posinf=1e9).min(axis=0)
    return np.asarray(stdtrit(np.clip(fewer, 1.0, 1e9), level))


def _swept(effect: Effect) -> bool:
    return effect.spec.local == "none"


def _few(effect: Effect, where: Any) -> bool:
    """Return whether an accumulated effect rests on few rows there."""
    if effect.levels is not None:
        there = np.array([v == where for v in effect.levels.labels])
        return bool((effect.levels.count[there] < TRUSTED_ROWS).any())
    if effect.bins is None or len(effect.bins) == 0:
        return False
    there = (effect.bins.low <= where[1]) & (effect.bins.high >= where[0])
    return bool((there & ~effect.bins.trusted).any())


def _text(
    effect: Effect,
    other: Effect,
    where: Any,
    numbers: dict[str, Any],
    far: tuple[float | None, float | None],
) -> str:
    """Say by how much two effects differ, and which of them to trust."""
    names = effect.spec.method, other.spec.method
    place = f"at {where!r}"
    if not isinstance(where, str):
        ends = [number(end, effect.time) for end in where]
        place = f"at {ends[0]}" if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"
    times = numbers["errors"]
    sure = "whose errors are zero" if np.isinf(times) else f"{times:.1f} times their joint error"
    said = (
        f"{names[0]} and {names[1]} of {effect.feature!r} disagree {place}: by "
        f"{numbers['difference']:.3g}, {sure} and {numbers['of_range']:.0%} of the range."
    )
    if _swept(effect) == _swept(other):
        return f"{said} Their bins or grids differ too much: compare both on the same ones."
    swept = 0 if _swept(effect) else 1
    pdp, ale, share = names[swept], names[1 - swept], far[swept]
    accumulated = (effect, other)[1 - swept]
    if accumulated.spec.local == "values":
        return f"{said} {ale} holds the effects of the features that go with it: trust {pdp}."
    return f"{said} {_advice(pdp, ale, share, few=_few(accumulated, where))}"


def _advice(pdp: str, ale: str, share: float | None, *, few: bool) -> str:
    """Say which of a PDP and an accumulated effect to trust, and why."""
    if share is None:
        return (
            f"Where features go together {pdp} asks the model where no data are, and {ale} is nearer to "
            "the data: trust(X=X) measures that."
        )
    if share >= FAR_NOTE:
        return (
            f"Trust {ale}: {share:.0%} of the rows that {pdp} asks for are like no data, and there the "
            "model guesses."
        )
    if few:
        return (
            f"Trust {pdp}: there {ale} rests on bins of fewer than {TRUSTED_ROWS} rows, and only "
            f"{share:.0%} of the rows that {pdp} asks for are far from the data."
        )
    return (
        f"Few rows of {pdp} ({share:.0%}) are far from the data, so both should say the same: look at {ale} "
        "with more bins; its errors add up along the axis."
    )
