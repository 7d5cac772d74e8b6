"""Where a model is clearly wrong along a feature, in words: cells whose mean residual is not 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from skedasis._escaping import one_line
from skedasis._numbers import number, sentence
from skedasis._types import Bools, Floats
from skedasis.results.axis import LevelAxis
from skedasis.results.curve_words import Curve
from skedasis.results.effect import TRUSTED_ROWS, Effect
from skedasis.results.observed import Observed
from skedasis.results.sentences import OFF, tell
from skedasis.stats.holm import largest_rejected
from skedasis.stats.student import two_sided_p

ALPHA = 0.05
"""Probability that any cell of any feature is said of a model that is right everywhere."""

WORTH_SAYING = 0.1
"""Smallest mean residual that is said, as a fraction of the standard deviation of the mean predictions over the cells
of the feature along which they vary most."""

CLEAR = 2.0
"""Standard errors by which the mean residual of all rows is other than 0 where it is said."""

PART = 0.25
"""Smallest mean residual of all rows that is said after that of a cell, as a fraction of it."""

MOST = 2
"""Most intervals or levels in a sentence."""


@dataclass(frozen=True)
class OffCells:
    """Adjacent cells of one value of a split whose mean residuals are clearly above 0, or below."""

    at: str
    split: str
    residual: float
    half: float
    rows: int


def deviations(effects: Mapping[str, Effect]) -> dict[str, tuple[OffCells, ...]]:
    """Return where a model is clearly wrong, by feature, the largest mean residuals first.

    Each mean residual is tested against 0 and, because what holds for all rows is not said of a feature, against the
    mean residual of all rows: by Student's t, all cells of all features together by Holm's method. Its
    standard error is at least the one with the variance within all cells, which a cell of few events underestimates.
    Cells with fewer than 10 rows are not tested. Features without a clear cell are left out. No model row.
    """
    seen = {name: e.observed for name, e in effects.items() if e.observed is not None}
    if not seen:
        return {}
    p = {name: p_values(observed) for name, observed in seen.items()}
    below = largest_rejected(np.concatenate([one.ravel() for one in p.values()]), ALPHA)
    least = WORTH_SAYING * max(map(_variation, seen.values()))
    found: dict[str, tuple[OffCells, ...]] = {}
    for name, observed in seen.items():
        clear = (p[name] <= below) & (_excess(observed) >= least)
        runs = sorted(_runs(effects[name], observed, clear), key=lambda d: -abs(d.residual))
        if runs:
            found[name] = tuple(runs)
    return found


def p_values(observed: Observed) -> Floats:
    """Return the p-value of how far each cell is off more than all rows, (S, K); NaN in cells with few rows."""
    error = np.fmax(observed.residual_error, _pooled_error(observed))
    with np.errstate(invalid="ignore", divide="ignore"):
        t = _excess(observed) / error
    known = (observed.count >= TRUSTED_ROWS) & np.isfinite(t)
    return np.where(known, two_sided_p(t, observed.df), np.nan)


def _excess(observed: Observed) -> Floats:
    """Return how far each mean residual is from 0 and, in the same direction, from that of all rows, (S, K)."""
    residual = observed.residual
    around = residual - _mean(observed, residual)
    same = np.sign(residual) == np.sign(around)
    return np.where(same, np.fmin(np.abs(residual), np.abs(around)), 0.0)


def _pooled_error(observed: Observed) -> Floats:
    """Return the standard error that each mean residual has if residuals vary within all cells alike."""
    rows = observed.count
    variance = observed.residual_error**2 * rows
    known = np.isfinite(variance)
    total = rows[known].sum()
    pooled = float(variance[known] @ rows[known]) / total if total else np.nan
    with np.errstate(divide="ignore"):
        return np.sqrt(pooled / rows)


def _variation(observed: Observed) -> float:
    """Return the standard deviation of the mean predictions over the cells."""
    around = observed.prediction - _mean(observed, observed.prediction)
    return float(np.sqrt(_mean(observed, around**2)))


def _mean(observed: Observed, value: Floats) -> float:
    """Return the mean over all rows of a value that is given in the cells."""
    known = observed.weight > 0
    total = float(observed.weight[known].sum())
    return float(observed.weight[known] @ value[known]) / total if total else 0.0


def _runs(effect: Effect, observed: Observed, clear: Bools) -> Iterator[OffCells]:
    """Yield clear cells, of a feature with an order joined with adjacent ones of the same sign."""
    ordered = effect.about.feature.kind != "nominal"
    lower, upper = observed.interval(of="residual")
    half, called = (upper - lower) / 2, one_line(observed.split_name)
    for s, value in enumerate(observed.split_values):
        split = f"{called} = {one_line(value)}" if called else one_line(value)
        sign = np.where(clear[s], np.sign(observed.residual[s]), 0.0)
        for first in np.flatnonzero(sign).tolist():
            if ordered and first and sign[first - 1] == sign[first]:
                continue
            last = first
            while ordered and last + 1 < len(sign) and sign[last + 1] == sign[first]:
                last += 1
            some = slice(first, last + 1)
            weight = observed.weight[s, some]
            yield OffCells(
                _place(effect, observed, first, last),
                split,
                float(np.average(observed.residual[s, some], weights=weight)),
                float(np.sqrt(np.sum((weight * half[s, some]) ** 2)) / weight.sum()),
                int(observed.count[s, some].sum()),
            )


def _place(effect: Effect, observed: Observed, first: int, last: int) -> str:
    """Return cells as text: "Rome", "17", or "17 to 18 °C"."""
    if isinstance(effect.axis, LevelAxis):
        names = [effect.axis.levels.labels[int(observed.points[k])] for k in (first, last)]
        low, high = map(one_line, names)
        return low if low == high else f"{low} to {high}"
    ends = np.unique(np.concatenate([observed.low, observed.high]))
    unit = effect.about.feature.unit if effect.time is None else None
    axis = Curve(ends, np.zeros(len(ends)), np.zeros(len(ends)), effect.time, unit)
    low, high = axis.texts(
        np.searchsorted(ends, [observed.low[first], observed.high[last]]).tolist()
    )
    return axis.with_unit(low if low == high else f"{low} to {high}")


def deviation_text(effect: Effect, found: tuple[OffCells, ...], name: str | None = None) -> str:
    """Return a sentence on where the model is clearly wrong; empty if it is nowhere."""
    if not found:
        return ""
    name = one_line(effect.feature_title) if name is None else name
    observed = effect.observed
    unit, whole = "", ""
    if observed is not None:
        unit, whole = _unit(observed), _overall(observed, "overall", PART * abs(found[0].residual))
    said = "".join(
        tell(
            OFF["other" if k else "first"],
            name=name,
            at=one.at,
            split=one.split,
            size=number(abs(one.residual)),
            unit=unit,
            change=one.residual,
            half=number(one.half, 2),
        )
        for k, one in enumerate(found[:MOST])
    )
    more = len(found) - MOST
    return sentence(said + (tell(OFF["more"], more=more) if more > 0 else "") + whole)


def nowhere_text(observed: Observed) -> str:
    """Return a sentence for a feature along which the model is nowhere clearly wrong by more than over all rows."""
    whole = _overall(observed, "only overall", WORTH_SAYING * _variation(observed))
    return sentence((whole or OFF["nowhere"]) + OFF["source"])


def _overall(observed: Observed, key: str, least: float) -> str:
    """Say the mean residual of all rows; empty if it is smaller than `least`, or not clearly other than 0."""
    mean, known = _mean(observed, observed.residual), observed.weight > 0
    errors = (observed.weight * np.fmax(observed.residual_error, _pooled_error(observed)))[known]
    error = float(np.sqrt(np.nansum(errors**2))) / float(observed.weight[known].sum())
    if not abs(mean) > max(CLEAR * error, least):
        return ""
    return tell(OFF[key], size=number(abs(mean)), unit=_unit(observed), change=mean)


def _unit(observed: Observed) -> str:
    return "" if not observed.unit else one_line(observed.unit)
