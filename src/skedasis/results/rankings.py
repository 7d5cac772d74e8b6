"""Rankings of any result, for containers that have results of several classes as members."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skedasis.errors import DataError
from skedasis.results.change import Change
from skedasis.results.containers import ResultMapping
from skedasis.results.display import RankLine
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.interactions import Interactions
from skedasis.results.multi_model import (
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    MultiModelSurface,
)
from skedasis.results.regions import Regions, RegionsByFeature
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces
from skedasis.results.variance_shares import VarianceShares

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def ranked_lines(
    result: object, by: str | None = None
) -> Sequence[tuple[float, DataclassInstance]]:
    """Return the lines of a result's ranking, each with a key that sorts them; of one feature or pair the one line."""
    of = _as_container(result)
    if isinstance(of, ResultMapping):
        return [(line.sort_key(by), line) for line in of.ranking(by)]
    if by is not None:
        got, name = repr(by), type(result).__name__
        raise DataError("ranking(by)", got, f"None for {name}, which has one order", "Omit it")
    if isinstance(of, Interactions):
        sizes = [(line.strength(of.measure), line) for line in of.ranking()]
        return [(-size if math.isfinite(size) else math.inf, line) for size, line in sizes]
    lines: Sequence[RankLine]
    if isinstance(of, VarianceShares):
        lines = of.parts
    elif isinstance(of, (Change, Importance, MultiModelImportance)):
        lines = of.ranking()
    else:
        raise TypeError(f"there is no ranking of a {type(result).__name__}")
    return [(line.sort_key(), line) for line in lines]


def _as_container(result: object) -> object:
    """Return a container with a result of one feature or pair as its only member."""
    if isinstance(result, Effect):
        return Effects({result.feature: result})
    if isinstance(result, MultiModelEffect):
        return MultiModelEffects({result.feature: result})
    if isinstance(result, (Surface, MultiModelSurface)):
        return Surfaces({result.features: result})
    return RegionsByFeature({result.feature: result}) if isinstance(result, Regions) else result
