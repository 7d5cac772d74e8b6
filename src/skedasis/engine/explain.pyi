# A quantity with several outputs is a `Quantity`, and a `PFI` is a method: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from typing import Any, Literal, Required, Unpack, overload

from skedasis._types import TableLike
from skedasis.engine.argument_types import (
    EffectMethod,
    FeatureLike,
    FeatureList,
    Features,
    GivenRegions,
    ImportanceMethod,
    Models,
    ModelT,
    MultiOutputModels,
    PairLike,
    PairList,
)
from skedasis.engine.cross_validation import CrossValidation
from skedasis.engine.options import ExplainKeywords, RefitKeywords
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.multi_model import (
    AnyMultiModel,
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    MultiModelSurface,
)
from skedasis.results.multi_output import Comparison, MultiOutput
from skedasis.results.regions import Regions, RegionsByFeature
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces

class EffectKeywords(ExplainKeywords, total=False):
    method: EffectMethod

class ImportanceKeywords(ExplainKeywords):
    method: Required[ImportanceMethod]

class ByKeywords(EffectKeywords):
    by: Required[GivenRegions]

class RefitEffectKeywords(RefitKeywords, total=False):
    method: EffectMethod
    refits: Required[Literal[True]]

class RefitImportanceKeywords(RefitKeywords):
    method: Required[ImportanceMethod]
    refits: Required[Literal[True]]

@overload
def explain(
    model: MultiOutputQuantity, X: TableLike, features: FeatureLike, **keywords: Unpack[ByKeywords]
) -> MultiOutput[Regions]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[ByKeywords],
) -> MultiOutput[RegionsByFeature]: ...
@overload
def explain(
    model: ModelLike, X: TableLike, features: FeatureLike, **keywords: Unpack[ByKeywords]
) -> Regions: ...
@overload
def explain(
    model: ModelLike, X: TableLike, features: FeatureList = None, **keywords: Unpack[ByKeywords]
) -> RegionsByFeature: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: Features = None,
    **keywords: Unpack[RefitImportanceKeywords],
) -> MultiOutput[MultiModelImportance]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: FeatureLike,
    **keywords: Unpack[RefitEffectKeywords],
) -> MultiOutput[MultiModelEffect]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: PairLike,
    **keywords: Unpack[RefitEffectKeywords],
) -> MultiOutput[MultiModelSurface]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: PairList,
    **keywords: Unpack[RefitEffectKeywords],
) -> MultiOutput[Surfaces[MultiModelSurface]]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[RefitEffectKeywords],
) -> MultiOutput[MultiModelEffects]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: Features = None,
    **keywords: Unpack[RefitImportanceKeywords],
) -> MultiModelImportance: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike,
    **keywords: Unpack[RefitEffectKeywords],
) -> MultiModelEffect: ...
@overload
def explain(
    model: Models[ModelT], X: TableLike, features: PairLike, **keywords: Unpack[RefitEffectKeywords]
) -> MultiModelSurface: ...
@overload
def explain(
    model: Models[ModelT], X: TableLike, features: PairList, **keywords: Unpack[RefitEffectKeywords]
) -> Surfaces[MultiModelSurface]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[RefitEffectKeywords],
) -> MultiModelEffects: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod | EffectMethod = None,
    refits: bool = False,
    cv: CrossValidation,
    correction: float | None = None,
    **keywords: Unpack[ExplainKeywords],
) -> AnyMultiModel | MultiOutput[Any]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod | EffectMethod = None,
    by: GivenRegions | None = None,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[MultiOutput[Any]]: ...
@overload
def explain(
    model: Models[ModelT], X: TableLike, features: FeatureLike, **keywords: Unpack[ByKeywords]
) -> Comparison[Regions]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[ByKeywords],
) -> Comparison[RegionsByFeature]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: Features = None,
    **keywords: Unpack[ImportanceKeywords],
) -> Comparison[Importance]: ...
@overload
def explain(
    model: Models[ModelT], X: TableLike, features: FeatureLike, **keywords: Unpack[EffectKeywords]
) -> Comparison[Effect]: ...
@overload
def explain(
    model: Models[ModelT], X: TableLike, features: PairLike, **keywords: Unpack[EffectKeywords]
) -> Comparison[Surface]: ...
@overload
def explain(
    model: Models[ModelT], X: TableLike, features: PairList, **keywords: Unpack[EffectKeywords]
) -> Comparison[Surfaces[Surface]]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[EffectKeywords],
) -> Comparison[Effects]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: Features = None,
    **keywords: Unpack[ImportanceKeywords],
) -> MultiOutput[Importance]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    **keywords: Unpack[EffectKeywords],
) -> MultiOutput[Effect]: ...
@overload
def explain(
    model: MultiOutputQuantity, X: TableLike, features: PairLike, **keywords: Unpack[EffectKeywords]
) -> MultiOutput[Surface]: ...
@overload
def explain(
    model: MultiOutputQuantity, X: TableLike, features: PairList, **keywords: Unpack[EffectKeywords]
) -> MultiOutput[Surfaces[Surface]]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[EffectKeywords],
) -> MultiOutput[Effects]: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: Features = None,
    **keywords: Unpack[ImportanceKeywords],
) -> Importance: ...
@overload
def explain(
    model: ModelLike, X: TableLike, features: FeatureLike, **keywords: Unpack[EffectKeywords]
) -> Effect: ...
@overload
def explain(
    model: ModelLike, X: TableLike, features: PairLike, **keywords: Unpack[EffectKeywords]
) -> Surface: ...
@overload
def explain(
    model: ModelLike, X: TableLike, features: PairList, **keywords: Unpack[EffectKeywords]
) -> Surfaces[Surface]: ...
@overload
def explain(
    model: ModelLike, X: TableLike, features: FeatureList = None, **keywords: Unpack[EffectKeywords]
) -> Effects: ...
