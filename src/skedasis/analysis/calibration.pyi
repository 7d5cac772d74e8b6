# A quantity with several outputs is a `Quantity`: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from collections.abc import Mapping
from typing import Unpack, overload

from numpy.typing import ArrayLike

from skedasis._types import Bools, Floats, JsonValue, TableLike
from skedasis.binning import Binning
from skedasis.engine.argument_types import Models, ModelT, MultiOutputModels
from skedasis.engine.options import ExplainOptions, RowValuesKeywords
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.calibration import Calibration, CalibrationMethod
from skedasis.results.multi_output import Comparison, MultiOutput

class CalibrationKeywords(RowValuesKeywords, total=False):
    method: CalibrationMethod
    bins: int | Binning | None
    confidence_level: float

@overload
def calibration(
    model: MultiOutputQuantity,
    X: TableLike,
    y: ArrayLike | None = None,
    **keywords: Unpack[CalibrationKeywords],
) -> MultiOutput[Calibration]: ...
@overload
def calibration(
    model: MultiOutputModels,
    X: TableLike,
    y: ArrayLike | None = None,
    **keywords: Unpack[CalibrationKeywords],
) -> Comparison[MultiOutput[Calibration]]: ...
@overload
def calibration(
    model: Models[ModelT],
    X: TableLike,
    y: ArrayLike | None = None,
    **keywords: Unpack[CalibrationKeywords],
) -> Comparison[Calibration]: ...
@overload
def calibration(
    model: ModelLike,
    X: TableLike,
    y: ArrayLike | None = None,
    **keywords: Unpack[CalibrationKeywords],
) -> Calibration: ...
def calibration_of_values(
    output: Quantity,
    prediction: Floats,
    label: Floats,
    weights: Floats | None,
    half: Bools,
    options: ExplainOptions,
    record: Mapping[str, JsonValue],
    *,
    method: CalibrationMethod = "isotonic",
    bins: Binning | None = None,
    level: float = 0.95,
    library: str | None = None,
) -> Calibration: ...
