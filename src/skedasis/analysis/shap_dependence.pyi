# A quantity with several outputs is a `Quantity`: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from typing import Unpack, overload

from numpy.typing import ArrayLike

from skedasis._types import TableLike
from skedasis.engine.argument_types import FeatureLike, FeatureList
from skedasis.engine.options import LimitedKeywords
from skedasis.methods.base import Scheme
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.multi_output import MultiOutput

class ShapKeywords(LimitedKeywords, total=False):
    """The keywords of `shap_dependence`."""

    y: ArrayLike | None
    """Labels, for quantities that need them."""
    shap_values: object
    """SHAP values of the rows and columns of X."""
    bins: Scheme
    """As in `MPlot`."""
    background: int | None
    """Number of rows over which the quantity is averaged where columns are absent from a coalition."""
    max_rows: int | None
    """Largest number of rows whose SHAP values are computed."""

@overload
def shap_dependence(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    **keywords: Unpack[ShapKeywords],
) -> MultiOutput[Effect]: ...
@overload
def shap_dependence(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[ShapKeywords],
) -> MultiOutput[Effects]: ...
@overload
def shap_dependence(
    model: ModelLike, X: TableLike, features: FeatureLike, **keywords: Unpack[ShapKeywords]
) -> Effect: ...
@overload
def shap_dependence(
    model: ModelLike, X: TableLike, features: FeatureList = None, **keywords: Unpack[ShapKeywords]
) -> Effects: ...
