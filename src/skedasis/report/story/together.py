"""Which pairs of features interact most strongly: candidates, their second-order effects, and the strongest of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE
from skedasis.plots.scales import NOISE, count
from skedasis.report.numbers import listed
from skedasis.report.story.asked import Asked, Label
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface

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
