"""Regions built by hand from given conditions, for tests of results, figures and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.data.features import Feature
from skedasis.results.regions import (
    ALL_ROWS,
    Condition,
    RegionNode,
    Regions,
    RegionScores,
    Split,
    condition_text,
    merged,
    rule_text,
)

Model = Callable[[Any], np.ndarray]


def sides(feature: Feature, threshold: float, **text: Any) -> tuple[Condition, Condition]:
    """Return the two conditions of a threshold."""
    return tuple(
        Condition(feature, **ends, text=condition_text(feature, **ends, **text))
        for ends in ({"high": threshold}, {"low": threshold})
    )  # pyright: ignore[reportReturnType]


def level_sides(feature: Feature, levels: Sequence[Any]) -> tuple[Condition, Condition]:
    """Return the two conditions of a split of levels."""
    return tuple(
        Condition(
            feature,
            levels=tuple(levels),
            excluded=excluded,
            text=condition_text(feature, levels=tuple(levels), excluded=excluded),
        )
        for excluded in (False, True)
    )  # pyright: ignore[reportReturnType]


def made_regions(
    q: Any,
    X: Any,
    feature: str | int,
    splits: Sequence[Sequence[Condition]],
    *,
    method: Any = None,
    scores: bool = True,
    kind: Literal["within", "given"] = "within",
    **options: Any,
) -> Regions:
    """Return the regions of a tree in which all nodes of a depth have the same split."""
    method = sd.ALE(bins=12) if method is None else method
    dataset = as_dataset(X)

    def part(conditions: Sequence[Condition]) -> np.ndarray:
        rows = np.ones(len(dataset), dtype=bool)
        for condition in conditions:
            rows &= condition.holds(dataset)
        return rows

    def explained(rows: np.ndarray, rule: str) -> sd.Effect:
        chosen = X[rows] if isinstance(X, np.ndarray) else X.loc[rows]
        if not isinstance(chosen, np.ndarray):
            chosen = chosen.reset_index(drop=True)
        effect = sd.explain(q, chosen, feature, method=method, **options)
        named = {**effect.provenance, **({"rule": rule} if rule else {})}
        return replace(effect, provenance=named)

    nodes: list[RegionNode] = []
    effects: list[sd.Effect] = []

    def grow(conditions: tuple[Condition, ...], added: str, parent: int, depth: int) -> int:
        rows, place = part(conditions), len(nodes)
        rule = rule_text(conditions)
        n = int(rows.sum())
        common = (added, rule, conditions, parent)
        if depth == len(splits):
            effects.append(explained(rows, rule if conditions else ""))
            note = "no heterogeneity" if depth == 0 else "max_depth"
            size = (depth, n, float(n), None, len(effects) - 1, 0.1, note)
            nodes.append(RegionNode(*common, (), *size))
            return place
        split = None
        if kind == "within":
            found = tuple(splits[depth])
            split = Split(
                found[0].feature.name, found, 1e-5, 0.6, 0.02, 0.65, 0.97, False, n // 2, level=0.04
            )
        nodes.append(RegionNode(*common, (), depth, n, float(n), split, -1, 1.0))
        children = tuple(
            grow(merged((*conditions, c)), c.text, place, depth + 1) for c in splits[depth]
        )
        nodes[place] = replace(nodes[place], children=children)
        return place

    grow((), "", -1, 0)
    whole = explained(np.ones(len(dataset), dtype=bool), "")
    return Regions(
        tuple(effects),
        whole,
        tuple(nodes),
        _scores(whole, effects) if scores else RegionScores.unknown(len(effects)),
        kind,
        0.8,
        0.02,
        0.82,
        {"constant": "constant"},
        "" if kind == "within" else splits[0][0].feature.name,
        {**whole.provenance, "max_depth": 2, "alpha": 0.05, "min_gain": 0.01},
    )


def unstable(regions: Regions, number: int, another: str = "season in {winter}") -> Regions:
    """Return regions in which half the rows choose another split of a node."""
    nodes = list(regions.nodes)
    split = nodes[number].split
    assert split is not None
    nodes[number] = replace(nodes[number], split=replace(split, stability=0.29, another=another))
    return replace(regions, nodes=tuple(nodes))


def _scores(whole: sd.Effect, effects: Sequence[sd.Effect]) -> RegionScores:
    each = np.array([e.heterogeneity_score for e in effects])
    error = np.array([e.heterogeneity_score_error for e in effects])
    weight = np.array([e.provenance["weight"] for e in effects])
    within = float(np.sqrt(np.average(each**2, weights=weight)))
    explained = 1 - within**2 / max(whole.heterogeneity_score**2, 1e-300)
    return RegionScores(
        whole.heterogeneity_score,
        whole.heterogeneity_score_error,
        each,
        error,
        within,
        float(error.mean()),
        explained,
        0.02,
        1000,
    )


def bikes(n: int = 4000, seed: int = 3) -> pd.DataFrame:
    """Return data like those of bicycle rentals."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "hr": rng.integers(0, 24, n),
            "workingday": rng.integers(0, 2, n),
            "temp": np.round(rng.uniform(0, 1, n), 2),
            "season": rng.choice(["spring", "summer", "fall", "winter"], n),
            "date": pd.Timestamp("2012-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
        }
    )


def rentals(X: Any) -> np.ndarray:
    """Return rentals: two peaks on working days, one on free days, higher where it is warm."""
    hr = X["hr"].to_numpy(dtype=float)

    def bump(at: float, width: float) -> np.ndarray:
        return np.exp(-((hr - at) ** 2) / (2 * width**2))

    work = 250 * bump(8, 1.3) + 300 * bump(17.5, 1.6)
    free = 220 * bump(13, 3.5)
    day = np.where(X["workingday"].to_numpy() == 1, work, free)
    season = X["season"].map({"spring": 0.0, "summer": 20.0, "fall": 10.0, "winter": -20.0})
    return day * (0.4 + X["temp"].to_numpy()) + season.to_numpy()


HR = Feature("hr", unit="h", position=0, key="hr", dtype="int64")
WORKINGDAY = Feature("workingday", position=1, key="workingday", dtype="int64")
TEMP = Feature("temp", position=2, key="temp")
SEASON = Feature("season", "nominal", position=3, key="season", dtype="String")

BY_DAY = (
    Condition(WORKINGDAY, high=0.5, text="workingday = 0"),
    Condition(WORKINGDAY, low=0.5, text="workingday = 1"),
)
"""The conditions of a split on a column of zeros and ones."""

WHOLE_RULE = ALL_ROWS


def eight_regions(X: pd.DataFrame) -> Regions:
    """Return regions by working days, temperature and winter."""
    splits = [BY_DAY, sides(TEMP, 0.5), level_sides(SEASON, ["winter"])]
    return made_regions(rentals, X, "hr", splits)
