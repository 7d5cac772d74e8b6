# A quantity with several outputs is a `Quantity`: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from typing import Unpack, overload

from skedasis._types import TableLike
from skedasis.engine.argument_types import ByRegions, MoveLike, Scenarios
from skedasis.engine.options import WhatIfKeywords
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.change import Change, Changes
from skedasis.results.multi_output import MultiOutput

@overload
def what_if(
    model: MultiOutputQuantity,
    X: TableLike,
    moves: Scenarios,
    *,
    by: ByRegions | None = None,
    **keywords: Unpack[WhatIfKeywords],
) -> MultiOutput[Changes]: ...
@overload
def what_if(
    model: MultiOutputQuantity,
    X: TableLike,
    moves: MoveLike | None = None,
    *,
    to: MoveLike | None = None,
    by: ByRegions | None = None,
    **keywords: Unpack[WhatIfKeywords],
) -> MultiOutput[Change]: ...
@overload
def what_if(
    model: ModelLike,
    X: TableLike,
    moves: Scenarios,
    *,
    by: ByRegions | None = None,
    **keywords: Unpack[WhatIfKeywords],
) -> Changes: ...
@overload
def what_if(
    model: ModelLike,
    X: TableLike,
    moves: MoveLike | None = None,
    *,
    to: MoveLike | None = None,
    by: ByRegions | None = None,
    **keywords: Unpack[WhatIfKeywords],
) -> Change: ...
