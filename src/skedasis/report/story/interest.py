"""Each feature's importance and heterogeneity score, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skedasis.errors import UnsupportedError
from skedasis.plots.svg.overview import Place
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects

LEVEL, REPLICATES = 0.95, 200
"""Of the bootstrap intervals: whiskers of a picture need no third digit."""
ROWS = 20_000
"""With more rows their moments are drawn instead of them: as exact there, and a hundred times as fast."""
Ends = Mapping[str, tuple[float, float] | None]


def places(effects: Effects, seed: int) -> tuple[Place, ...]:
    """Return the places of all features, the most important first.

    Parameters
    ----------
    effects : Effects
    seed : int
        Of the bootstrap.

    Notes
    -----
    No model row. Importances have bootstrap intervals, scores those of their pairs of rows. Features of one value have
    no interval of the importance, nor have those whose kept rows do not give one.
    """
    across = _ends(effects, seed)
    return tuple(
        Place(
            rank.feature,
            effects[rank.feature].about.feature.kind,
            rank.importance,
            rank.heterogeneity_score,
            across[rank.feature],
            _score_ends(effects[rank.feature]),
        )
        for rank in effects.ranking()
    )


def _score_ends(effect: Effect) -> tuple[float, float] | None:
    """Return the ends of the interval of a heterogeneity score; None where there is none."""
    if effect.swap_score is None:
        return None
    low, high = (float(end) for end in effect.interval(LEVEL, of="heterogeneity_score"))
    return (low, high) if np.isfinite([low, high]).all() else None


def _ends(effects: Effects, seed: int) -> Ends:
    """Return the ends of the intervals of all features' importances; None where there is none."""
    ends: dict[str, tuple[float, float] | None] = dict.fromkeys(effects)
    for large in (False, True):
        some = {
            n: e for n, e in effects.items() if len(e.points) > 1 and (_rows(e) > ROWS) == large
        }
        for name, (low, high) in _bootstrap(some, seed, "moments" if large else None).items():
            if np.isfinite([low, high]).all():
                ends[name] = float(low), float(high)
    return ends


def _rows(effect: Any) -> int:
    return 0 if effect.rows is None else len(effect.rows)


def _bootstrap(some: dict[str, Any], seed: int, source: Any) -> dict[str, Any]:
    """Return intervals, of all features at once if none refuses."""
    options: dict[str, Any] = {
        "of": "importance",
        "replicates": REPLICATES,
        "seed": seed,
        "source": source,
    }
    try:
        return Effects(some).interval(LEVEL, "bootstrap", **options) if some else {}
    except UnsupportedError:
        if len(some) == 1:
            return {}
    found: dict[str, Any] = {}
    for name, effect in some.items():
        found |= _bootstrap({name: effect}, seed, source)
    return found
