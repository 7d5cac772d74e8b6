"""Rankings of any result, for containers that have results of several classes as members."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, cast, runtime_checkable

from skedasis.errors import DataError
from skedasis.results.change import Change, ChangeRank, NamedChangeRank
from skedasis.results.display import Ranking
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance, ImportanceRank
from skedasis.results.interactions import Interactions, PairInteraction
from skedasis.results.multi_model import (
    ModelsImportanceRank,
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    MultiModelSurface,
)
from skedasis.results.regions import MultiModelRegions, Recurrence, Regions, RegionsByFeature
from skedasis.results.surface import Surface
from skedasis.results.surfaces import SurfaceRank, Surfaces
from skedasis.results.variance_shares import VariancePart, VarianceShares

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def ranked_lines(result: object, by: str | None = None) -> Sequence[DataclassInstance]:
    """Return the lines of a result's ranking; of a result of one feature or pair the one line of it."""
    of = _as_container(result)
    if isinstance(of, (Effects, MultiModelEffects)):
        return of.ranking() if by is None else of.ranking(cast("_Order", by))
    if isinstance(of, RegionsByFeature):
        return of.ranking() if by is None else of.ranking(cast("_RegionsOrder", by))
    if by is not None:
        got, name = repr(by), type(result).__name__
        raise DataError("ranking(by)", got, f"None for {name}, which has one order", "Omit it")
    if isinstance(of, VarianceShares):
        return of.parts
    if isinstance(of, Change):
        return of.ranking()
    if isinstance(of, MultiModelRegions):
        return of.recurrence
    if isinstance(of, (Importance, MultiModelImportance, Interactions, _Ranked)):
        return of.ranking()
    raise TypeError(f"there is no ranking of a {type(result).__name__}")


_Order = Literal["importance", "heterogeneity_score"]
_RegionsOrder = Literal["heterogeneity_score", "explained", "importance"]
"""Checked by `ranking` itself."""


@runtime_checkable
class _Ranked(Protocol):
    """Any other container."""

    def ranking(self) -> Ranking[DataclassInstance]: ...


def _as_container(result: object) -> object:
    """Return a container with a result of one feature or pair as its only member."""
    if isinstance(result, Effect):
        return Effects({result.feature: result})
    if isinstance(result, MultiModelEffect):
        return MultiModelEffects({result.about.feature.name: result})
    if isinstance(result, (Surface, MultiModelSurface)):
        return Surfaces({result.features: result})
    return RegionsByFeature({result.feature: result}) if isinstance(result, Regions) else result


def sort_key(line: DataclassInstance, result: object, by: str | None = None) -> float:
    """Return the number by which a line of a ranking is sorted, the smallest first; the unknown are last."""
    if by is not None:
        size = float(vars(line)[by])
    elif isinstance(line, (ImportanceRank, ModelsImportanceRank)):
        size = line.mean
    elif isinstance(line, SurfaceRank):
        size = line.interaction_strength
    elif isinstance(line, (ChangeRank, NamedChangeRank)):
        size = abs(line.value)
    elif isinstance(line, VariancePart):
        size = line.share
    elif isinstance(line, Recurrence):
        size = float(line.models)
    elif isinstance(line, PairInteraction) and isinstance(result, Interactions):
        size = line.strength(result.measure)
    else:
        regions = isinstance(result, (Regions, RegionsByFeature))
        size = float(vars(line)["heterogeneity_score" if regions else "importance"])
    return -size if math.isfinite(size) else math.inf
