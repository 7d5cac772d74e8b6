"""What quantities of one model have in common: how it is called, and where its slopes come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from skedasis.data.dataset import Source, as_arrays, as_frames
from skedasis.data.features import Feature
from skedasis.quantity.adapted import Adapted
from skedasis.quantity.base import Quantity, Traits
from skedasis.quantity.closed import chain
from skedasis.quantity.differentiable import Differentiable
from skedasis.quantity.fitted import check_fitted_on, fitted_names, title, wants_arrays
from skedasis.quantity.piecewise import is_piecewise_constant

_DIFFERENCES = Traits("differences", "central differences")


@dataclass(frozen=True, eq=False)
class FromModel(Quantity):
    """What quantities of one model have in common: a model, a name, a unit, and rows of the kind it was fitted on."""

    model: Any
    name: str = "prediction"
    unit: str | None = None

    @property
    def called(self) -> Any:
        """Return the model."""
        return self.model

    def calling(self, model: Any) -> Quantity | None:
        """Return the same of another model."""
        return replace(self, model=model)

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return f"{self.name}({title(self.model)})"

    def prepare(self, source: Source) -> Source:
        """Return the rows in the container that the model was fitted on, with their labels where they are needed."""
        if isinstance(self.model, Adapted):
            return self.with_labels(self.model.prepare(source, self.describe()))
        check_fitted_on(self.model, source, self.describe())
        names = fitted_names(self.model)
        if wants_arrays(self.model):
            source = as_arrays(source)
        elif names is not None:
            # Names that NumPy holds are no text to all libraries.
            source = as_frames(source, [str(n) if isinstance(n, str) else n for n in names])
        return self.with_labels(source)

    def _closed_form(self) -> chain.Derivative | None:
        return None

    @property
    def place(self) -> int | None:
        """Return which of the model's outputs is explained; None where there is only one."""
        return None

    @property
    def together(self) -> bool:
        """Return whether all of the model's outputs are explained."""
        return False

    @property
    def stepped(self) -> bool:
        """Return whether the quantity is constant between jumps, as its model is."""
        return is_piecewise_constant(self.model)

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Return the model's own derivatives, or those in closed form."""
        if isinstance(self.model, Differentiable):
            return self.model.slopes(X, self.place, together=self.together)
        form = self._closed_form()
        if form is None:
            return super().slopes(X, y)
        return form(X)

    def traits(self, feature: Feature) -> Traits:
        """Prefer the model's own derivatives or a closed form, and steps where there is nothing to derive."""
        if isinstance(self.model, Adapted):
            return self.model.traits(feature, self.place)
        form = self._closed_form()
        if form is not None and form.knows(feature):
            return Traits("slopes", f"closed form of {form.what}")
        if self.stepped:
            forest = getattr(self.model, "forest", None)
            jumps = None if forest is None else forest.jumps(feature.position)
            return Traits(
                "steps",
                f"differences across bins: {title(self.model)} is piecewise constant",
                jumps=jumps,
            )
        return _DIFFERENCES

    @property
    def has_mixed(self) -> bool:
        """Return whether the model has mixed derivatives of its own."""
        return isinstance(self.model, Differentiable) and self.model.has_mixed(self.place)

    def mixed(self, X: Any, j: int, k: int) -> Any:
        """Return the model's mixed derivatives."""
        if not isinstance(self.model, Differentiable):
            return super().mixed(X, j, k)
        return self.model.mixed(X, j, k, self.place)
