"""Strongest interactions of a report, and the variance that the effects explain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE
from skedasis.plots.scales import NOISE, count, number
from skedasis.report.format import listed, percent
from skedasis.report.passes import Asked, Label
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface

# ------------------------------------------------------------------------------------------
# Which pairs of features interact most strongly: candidates, their second-order effects, and the strongest of them.


CANDIDATES = 5
"""Features whose pairs are looked at."""


MODEL_ROWS = 2_000_000
"""Model rows that candidates may cost together, 4 N each; one pair is looked at in any case."""


LEVELS = 50
"""Of a categorical feature: more of them make a surface that nobody can read."""


METHOD = ALE()


@dataclass(frozen=True)
class Strength:
    """One candidate.

    Parameters
    ----------
    features : (str, str)
    strength : float
        `Surface.interaction_strength`: the standard deviation of the second-order effect over the rows, in units of the
        quantity. Cells without rows do not count.
    shown : bool
        Whether its surface is among those that are drawn.
    """

    features: tuple[str, str]
    strength: float
    shown: bool


@dataclass(frozen=True, eq=False)
class Together:
    """The pairs of one output.

    Parameters
    ----------
    surfaces : tuple of Surface
        The strongest, by second-order ALE.
    strengths : tuple of Strength
        Of all candidates, strongest first.
    note : str
        How the candidates were chosen; or why there are none.
    """

    surfaces: tuple[Surface, ...] = ()
    strengths: tuple[Strength, ...] = ()
    note: str = ""


def strongest(
    asked: Asked, effects: Mapping[Label, Effects], shown: int, rows: int, *, free: bool
) -> dict[Label, Together]:
    """Return the strongest pairs of each output.

    Parameters
    ----------
    asked : Asked
    effects : dict of label to Effects
        RHALE of single features.
    shown : int
        Surfaces that are kept of each output; 0 looks at none.
    rows : int
    free : bool
        Whether trees are walked, so that candidates cost no model row.

    Notes
    -----
    Candidates are all pairs of the `CANDIDATES` features of the largest heterogeneity scores: of fewer features where
    4 N model rows a pair would be more than `MODEL_ROWS`. A feature of score zero interacts with none. Without scores
    the most important features are taken.
    """
    if shown < 1:
        return dict.fromkeys(effects, Together(note="Pairs were not asked for."))
    single = next(iter(effects.values()))
    order = candidates(list(effects.values()))
    most = CANDIDATES if free else _affordable(rows)
    chosen = [name for name in single if name in order[:most]]
    if len(chosen) < 2:
        why = "Fewer than two features have a heterogeneity score above zero: no two features interact."
        return dict.fromkeys(effects, Together(note=why))
    pairs = [p for p in itertools.combinations(chosen, 2) if _apart(single, p)]
    drawn = [p for p in pairs if not _unordered(single, p)]
    try:
        found = asked.surfaces(METHOD, drawn) if drawn else {}
    except (DataError, UnsupportedError) as error:
        return dict.fromkeys(effects, Together(note=str(error).splitlines()[0]))
    by = "heterogeneity score" if _scored(single) else "importance"
    note = _note(chosen, by, len(order), (most, rows, len(pairs) - len(drawn)))
    return {label: _ranked(found.get(label, {}), shown, note) for label in effects}


def candidates(effects: Sequence[Effects]) -> list[str]:
    """Return the features that may interact, those of the largest heterogeneity scores first.

    Without scores these are all that have an importance. Outputs may differ in their units: of several each score is
    taken as a share of the output's largest, and the largest share counts.
    """
    share: dict[str, float] = {}
    for of in effects:
        scored = _scored(of)
        size = {
            n: e.heterogeneity_score if scored else e.importance
            for n, e in of.items()
            if _drawable(e)
        }
        top = max(size.values(), default=0.0)
        least = NOISE * max([top, *(of[n].importance for n in size)])
        for name, value in size.items():
            if value > least:
                share[name] = max(share.get(name, 0.0), value / top)
    return sorted(share, key=lambda name: -share[name])


def _scored(effects: Effects) -> bool:
    return all(e.swap_score is not None for e in effects.values())


def _drawable(effect: Effect) -> bool:
    return len(effect.points) > 1 and (effect.levels is None or len(effect.levels) <= LEVELS)


def _affordable(rows: int) -> int:
    """Return how many features' pairs cost no more than `MODEL_ROWS`."""
    fits = [k for k in range(2, CANDIDATES + 1) if k * (k - 1) // 2 * 4 * rows <= MODEL_ROWS]
    return max(fits, default=2)


def _apart(effects: Effects, pair: tuple[str, str]) -> bool:
    """Return whether two features have no column in common, as a group and its member have."""
    first, second = (set(effects[name].about.feature.columns) for name in pair)
    return first.isdisjoint(second)


def _unordered(effects: Effects, pair: tuple[str, str]) -> bool:
    """Return whether both are nominal: without orders there is no surface, which must not cost the others theirs."""
    return all(effects[name].about.feature.kind == "nominal" for name in pair)


def _ranked(found: Mapping[tuple[str, str], Surface], shown: int, note: str) -> Together:
    strengths = {pair: s.interaction_strength() for pair, s in found.items()}
    # Without kept rows an interaction strength is not known; such pairs keep their order.
    order = sorted(found, key=lambda p: -strengths[p] if math.isfinite(strengths[p]) else 0.0)
    scale = max((abs(v) for v in strengths.values() if math.isfinite(v)), default=0.0)
    largest = max(
        (float(abs(s.main[k]).max()) for s in found.values() if s.main for k in (0, 1)), default=0.0
    )
    least = NOISE * max(scale, largest)
    kept = [p for p in order if not strengths[p] <= least][:shown]
    lines = tuple(Strength(p, strengths[p], p in kept) for p in order)
    return Together(tuple(found[p] for p in kept), lines, note)


def _note(chosen: Sequence[str], by: str, among: int, limits: tuple[int, int, int]) -> str:
    """Say which pairs were computed, and why no others.

    Parameters
    ----------
    chosen : sequence of str
        The features whose pairs they are.
    by : str
        The figure by which they were chosen.
    among : int
        Number of features from which they were chosen.
    limits : tuple of int
        Largest number of features, number of rows of X, and number of pairs of nominal features left out.
    """
    most, rows, unordered = limits
    pairs = len(chosen) * (len(chosen) - 1) // 2 - unordered
    said = f"{count(pairs, 'pair')} computed, of {listed(chosen)}"
    if unordered:
        said = f"{count(unordered, 'pair')} of nominal features left out because these have no order; {said}"
    if among <= len(chosen):
        return f"{said}: all features whose {by} is above zero."
    said += f": the features with the largest {by}, of {among}"
    if most < CANDIDATES:
        said += f" (no more, because each pair costs {4 * rows:,} model rows)"
    return f"{said}."


# ------------------------------------------------------------------------------------------
# How much of what moves a quantity the drawn effects add up to: a ledger of its variance over the rows.


_LITTLE = 0.005
"""Of the variance: a smaller rest is not spoken of."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Of the variance of the quantity over the rows: what effects of features explain, added up, and what pairs add.

    Parameters
    ----------
    variance : float
        Of the quantity at the rows, in its unit squared.
    additive : float
        ``1 - Var(q - sum of the features' effects) / Var(q)``. Negative where the effects together miss the quantity by
        more than its own mean does.
    with_pairs : float or None
        The same with the second-order effects of the pairs shown; None where none is.
    alone : dict of str to float
        Each feature's ``Var(effect) / Var(q)``, largest first. They add up to `additive` only where features are
        independent and nothing interacts.
    pairs : dict of (str, str) to float
        Each pair's share alone, likewise.
    said : tuple of str
        What it means.
    rest : bool
        Whether the last sentence says what the rest is.
    """

    variance: float
    additive: float
    with_pairs: float | None
    alone: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]
    said: tuple[str, ...]
    rest: bool = False

    @property
    def shares(self) -> dict[str, float]:
        """Return the parts of a bar that is 1 long: of features, of pairs, and the rest; parts may be negative."""
        parts = {"features one by one": self.additive}
        if self.with_pairs is not None:
            parts["pairs shown"] = self.with_pairs - self.additive
        return {**parts, "not explained by these": 1.0 - sum(parts.values())}


def ledger(
    values: Floats,
    source: Source,
    effects: Mapping[str, Effect],
    surfaces: Sequence[Surface],
) -> tuple[Ledger | None, str]:
    """Return the ledger, or None and the reason.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        The quantity at the rows.
    source : Source
        These rows.
    effects : mapping of str to Effect
        RHALE; of nominal features ALE.
    surfaces : sequence of Surface
        Second-order effects.

    Notes
    -----
    No model row. A missing number counts by the point of missing values, as its mean where there is none.
    """
    weight = np.ones(len(values)) if source.weights is None else source.weights
    total = _variance(values, weight)
    if len(values) < 2 or not total > (NOISE * float(np.abs(values).max())) ** 2:
        return None, "It is the same for all rows: there is nothing to explain."
    parts = {n: at_rows(e, source) for n, e in effects.items()}
    summed = np.sum(list(parts.values()), axis=0)
    additive = 1 - _variance(values - summed, weight) / total
    alone = {n: _variance(v, weight) / total for n, v in parts.items()}
    joint = {s.features: surface_at_rows(s, source) for s in surfaces}
    with_pairs = None
    if joint:
        summed = summed + np.sum(list(joint.values()), axis=0)
        with_pairs = 1 - _variance(values - summed, weight) / total
    pairs = {k: _variance(v, weight) / total for k, v in joint.items()}
    found = Ledger(
        total,
        additive,
        with_pairs,
        dict(sorted(alone.items(), key=lambda item: -item[1])),
        pairs,
        tuple(_said(additive, with_pairs, len(parts), len(pairs))),
        _rest(additive, with_pairs) > _LITTLE,
    )
    return found, ""


def _rest(additive: float, with_pairs: float | None) -> float:
    return 1 - (additive if with_pairs is None else with_pairs)


def _variance(x: Floats, weight: Floats) -> float:
    share = weight / weight.sum()
    return float(share @ (x - share @ x) ** 2)


def _said(additive: float, with_pairs: float | None, features: int, pairs: int) -> list[str]:
    one = features == 1
    these = "The effect of 1 feature" if one else f"The effects of {features:,} features, added up,"
    of = f"{percent_of(additive)} of the variance of the prediction"
    text = f"{these} explain{'s' if one else ''} {of}."
    if additive < 0:
        text = f"{these} fit{'s' if one else ''} the prediction worse than its mean does ({of}): features depend "
        text += "on one another, or interact, so strongly that one curve each tells little."
    said = [text]
    if with_pairs is not None:
        them = f"the {pairs} pairs shown" if pairs > 1 else "the pair shown"
        said.append(f"With {them} it is {percent_of(with_pairs)}.")
        if with_pairs < additive - NOISE:
            said.append(
                "That is less: where features depend on one another, effects of pairs do not simply add up."
            )
    rest = _rest(additive, with_pairs)
    if rest > _LITTLE:
        other = (
            "what features do together beyond the pairs shown"
            if pairs
            else "what features do together"
        )
        said.append(
            f"The rest, {percent_of(rest)}, is {other}, what features left out do, and what bins smooth away."
        )
    return said


def percent_of(share: float) -> str:
    r"""Return a share in percent, also where it is negative or beyond all bounds.

    Examples
    --------
    >>> percent_of(-0.25), percent_of(0.987), percent_of(-41.0)
    ('−25\u202f%', '99\u202f%', '−41.0 times')
    """
    if share < -10:
        return f"{number(share)} times"
    return f"−{percent(-share)}" if share < 0 else percent(share)


# ---------------------------------------------------------------------------------- at the rows
def at_rows(effect: Effect, source: Source) -> Floats:
    """Return an effect at each row, shape (n,); 0, its mean, where it says nothing of a row."""
    feature = effect.about.feature
    if effect.levels is not None:
        place = _places(effect.levels.labels, feature, source)
        value = np.where(place >= 0, effect.value[place], np.nan)
        observed = place >= 0
    else:
        x = _numbers(feature, source)
        value, observed = effect.at(x), np.isfinite(x)
    point = effect.missing_point
    missing = 0.0 if point is None or not np.isfinite(point.value) else point.value
    return np.where(observed, np.nan_to_num(value), missing)


def surface_at_rows(surface: Surface, source: Source) -> Floats:
    """Return a surface at each row, shape (n,); 0 where it says nothing of a row."""
    x: list[Any] = []
    for side, about in zip(surface.sides, surface.abouts, strict=True):
        if side.levels is None:
            x.append(_numbers(about.feature, source))
            continue
        labels = side.levels.labels
        # What stands for rows of no level is no level itself; None would be that of missing values.
        names = np.array([*labels, object()], dtype=object)
        x.append(names[_places(labels, about.feature, source)])
    return np.nan_to_num(surface.at(*x))


def _numbers(feature: Feature, source: Source) -> Floats:
    x, own = (
        source.table.column(feature.position, source.row_id),
        source.features[feature.position].time,
    )
    # Other rows may begin on another day.
    return x if feature.time is None or own is None else own.onto(feature.time, x)


def _places(labels: Sequence[str], feature: Feature, source: Source) -> Any:
    """Return each row's place in an effect's levels, -1 where there is none."""
    column = source.levels(feature, top=len(source))
    known = {label: k for k, label in enumerate(labels)}
    place = np.array([known.get(label, -1) for label in column.levels.labels] + [-1])
    return place[column.codes]
