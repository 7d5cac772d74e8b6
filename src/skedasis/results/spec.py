"""How a result was made, as plain values that can be written as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Literal

from skedasis._types import Center, Json, Side
from skedasis.data.features import Feature
from skedasis.models.adapters import ON_CELLS, LocalEffects
from skedasis.stats.ale_math import Accumulate
from skedasis.stats.moments import WeightKind


@dataclass(frozen=True)
class Spec:
    """What a result needs to know of its method to be re-binned, centred and drawn.

    Parameters
    ----------
    method : str
        "ALE", "RHALE", "PDP", …
    center : {"mean", "start", "anchor", None}
    local : str
        Where the rows' local effects came from. "slopes", central "differences" and the "values" of an M-plot belong to
        points and may be put into any bins. Differences across cells belong to these: those of an ALE ("edges"), those
        of step functions that are read in bins ("steps"), and steps between few values ("value_steps"), between whole
        numbers ("integer_steps"; any bins are sums of them) and between "levels". "none" are curves.
    accumulate, ddof, accumulate_se
        As in `RHALE`.
    closed : {"left", "right"}
        The side that belongs to a bin.
    weight_kind : {"frequency", "sampling"}
    parameters : dict
        The method's settings, as given.
    derivative : bool
        Whether the values are slopes of the quantity by the feature.
    """

    method: str
    center: Center | Literal["anchor"] = "mean"
    local: LocalEffects = "slopes"
    accumulate: Accumulate = "variance"
    ddof: int = 1
    accumulate_se: Literal["quadrature", "sum"] = "quadrature"
    closed: Side = "left"
    weight_kind: WeightKind = "frequency"
    parameters: Json = field(default_factory=dict)
    derivative: bool = False

    @property
    def pointwise(self) -> bool:
        """Return whether local effects belong to points of the axis, not to cells."""
        return self.local in ("slopes", "differences", "integer_steps", "values")

    @property
    def on_cells(self) -> bool:
        """Return whether the curve is given at the edges of all cells, whatever bins summarise it."""
        return self.local in ON_CELLS

    @property
    def mean_alone(self) -> bool:
        """Return whether the spread of the rows' curves was not asked for."""
        return self.parameters.get("heterogeneity") is False

    def to_json(self) -> Json:
        """Return a dictionary that `json` can write."""
        return asdict(self)


@dataclass(frozen=True)
class About:
    """What a result is about: the feature, the quantity, and the library that X came from.

    Parameters
    ----------
    feature : Feature
    quantity : str
        The quantity's name, for axes.
    unit : str, optional
        The quantity's unit.
    library : str, optional
        The data frame library of X, for tables of the same kind.
    spread : float
        The weighted standard deviation of the feature (ddof 0).
    missing : int
        Rows without a value of the feature.
    dtype : str
        NumPy's name of the type that the feature's edges were rounded to.
    """

    feature: Feature
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    spread: float = 0.0
    missing: int = 0
    dtype: str = "float64"

    @property
    def axis(self) -> str:
        """Return the text for the quantity's axis."""
        return f"{self.quantity} [{self.unit}]" if self.unit else self.quantity
