"""Effects with what was observed, made from rows by plain NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from skedasis.results.effect import Effect
from skedasis.results.observed import Observed


def observed_of(
    at: ArrayLike,
    y: ArrayLike,
    prediction: ArrayLike,
    edges: ArrayLike | None = None,
    split: ArrayLike | None = None,
    split_name: str = "",
    unit: str | None = None,
    *,
    of_effect: bool = True,
) -> Observed:
    """Return the means of rows between edges, or at each value, and of rows with a missing value."""
    at, y, prediction = (np.asarray(v, dtype=float) for v in (at, y, prediction))
    sets = np.zeros(len(at), dtype=int) if split is None else np.asarray(split)
    values, known = np.unique(sets).tolist(), np.isfinite(at)
    if edges is None:
        low = high = points = np.unique(at[known])
        cell = np.searchsorted(points, at)
    else:
        edges = np.asarray(edges, dtype=float)
        cell = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2)
        low, high = edges[:-1], edges[1:]
        points = np.array([at[known & (cell == k)].mean() for k in range(len(low))])
    names = [str(v) for v in values] if split is not None else [""]

    def made(
        rows: Sequence[Sequence[np.ndarray]], points: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> Observed:
        found: dict[str, np.ndarray] = {"count": np.array([[len(r) for r in s] for s in rows])}
        for name, of in (("label", y), ("prediction", prediction), ("residual", y - prediction)):
            found[name] = np.array([[of[r].mean() if len(r) else np.nan for r in s] for s in rows])
            found[f"{name}_error"] = np.array(
                [
                    [of[r].std(ddof=1) / np.sqrt(len(r)) if len(r) > 1 else np.nan for r in s]
                    for s in rows
                ]
            )
        found["weight"] = found["count"].astype(float)
        found["df"] = np.maximum(found["weight"] - 1, 0)
        return Observed(
            points,
            low,
            high,
            tuple(names),
            "prediction",
            unit,
            **found,
            of_effect=of_effect,
            split_name=split_name,
            missing=missing if points is not nothing else None,
        )

    nothing, missing = np.array([np.nan]), None
    if not known.all():
        gone = [[np.flatnonzero(~known & (sets == v))] for v in values]
        missing = made(gone, nothing, nothing, nothing)
    rows = [
        [np.flatnonzero(known & (sets == v) & (cell == k)) for k in range(len(points))]
        for v in values
    ]
    return made(rows, points, low, high)


def with_observed(effect: Effect, observed: Observed) -> Effect:
    """Return an effect with what was observed."""
    return replace(effect, observed=observed)
