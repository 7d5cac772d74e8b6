"""Type aliases that several packages share."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Center: TypeAlias = Literal["mean", "start"] | None
Side: TypeAlias = Literal["left", "right"]
Json: TypeAlias = dict[str, Any]
"""A dictionary that `json` can write. File headers and provenances store such dictionaries."""
