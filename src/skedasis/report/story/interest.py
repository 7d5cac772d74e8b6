"""Where to look: each feature's importance and heterogeneity, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from skedasis.errors import UnsupportedError
from skedasis.plots.web.places import Place
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
    No model row. Features of one value have no interval, nor have those whose rows do not tell.
    """
    across = _ends(effects, "importance", seed)
    up = _ends(effects, "score", seed)
    return tuple(
        Place(
            rank.feature,
            effects[rank.feature].about.feature.kind,
            rank.importance,
            rank.heterogeneity,
            across[rank.feature],
            up[rank.feature],
            effects[rank.feature].spec.local != "steps",
        )
        for rank in effects.ranking()
    )


def _ends(effects: Effects, of: Literal["importance", "score"], seed: int) -> Ends:
    """Return the ends of all features' intervals; None where there is none."""
    ends: dict[str, tuple[float, float] | None] = dict.fromkeys(effects)
    for large in (False, True):
        some = {
            n: e for n, e in effects.items() if len(e.points) > 1 and (_rows(e) > ROWS) == large
        }
        for name, (low, high) in _bootstrap(some, of, seed, "moments" if large else None).items():
            if np.isfinite([low, high]).all():
                ends[name] = float(low), float(high)
    return ends


def _rows(effect: Any) -> int:
    return 0 if effect.rows is None else len(effect.rows)


def _bootstrap(some: dict[str, Any], of: Any, seed: int, source: Any) -> dict[str, Any]:
    """Return intervals, of all features at once if none refuses."""
    options: dict[str, Any] = {"of": of, "replicates": REPLICATES, "seed": seed, "source": source}
    try:
        return Effects(some).interval(LEVEL, "bootstrap", **options) if some else {}
    except UnsupportedError:
        if len(some) == 1:
            return {}
    found: dict[str, Any] = {}
    for name, effect in some.items():
        found |= _bootstrap({name: effect}, of, seed, source)
    return found
