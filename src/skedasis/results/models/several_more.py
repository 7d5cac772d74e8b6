"""The effects of pairs, and the importances of features, of several fitted models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats
from skedasis.errors import DataError, explained
from skedasis.results.importance import Importance
from skedasis.results.models.of_models import OfModels, columns_of, known_table, mean_of
from skedasis.results.models.shown import ShownImportanceOfModels, ShownSurfaceOfModels
from skedasis.results.parts import locked
from skedasis.results.shown import Ranking
from skedasis.results.spec import About
from skedasis.results.surfaces.surface import Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class SurfaceOfModels(ShownSurfaceOfModels, OfModels):
    """The effect of two features, of several fitted models.

    Attributes
    ----------
    values : ndarray of float, shape (m, k0, k1)
    models : tuple of m Surface

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] * X[:, 1] for k in (1.0, 3.0)]
    >>> sm = sd.explain(models, X, (0, 1), method=sd.ALE(bins=3))
    >>> sm.value.shape, bool(np.allclose(sm.value, 2 * sm.models[0].value))
    ((4, 4), True)
    """

    models: tuple[Surface, ...] = ()

    def __post_init__(self) -> None:
        locked(self.values)

    @property
    def x(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the points of both axes."""
        return self.models[0].x

    @property
    def points(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the same as floats: of times days."""
        return self.models[0].points

    @property
    def heterogeneity(self) -> Floats:
        """Return how rows differ within a model: the mean over the models."""
        return mean_of(np.stack([s.heterogeneity for s in self.models]))

    @property
    def features(self) -> tuple[str, str]:
        """Return the features' names."""
        return self.models[0].features

    @property
    def about(self) -> About:
        """Return what the surface is about."""
        return self.models[0].about

    def interaction_strength(self) -> float:
        """Return the mean over the models of each surface's interaction strength, in units of the quantity."""
        return float(mean_of(np.array([s.interaction_strength() for s in self.models])))

    def __repr__(self) -> str:
        a, b = self.features
        first = self.models[0]
        return (
            f"<SurfaceOfModels: {len(self)} models, {a!r} and {b!r} on {self.about.quantity}: "
            f"{first.spec.method}, {first.value.shape[0]} x {first.value.shape[1]} points, "
            f"interaction strength {self.interaction_strength():.4g}>"
        )

    def __call__(self, x0: Any, x1: Any) -> Floats:
        """Evaluate the mean surface, bilinearly."""
        return mean_of(np.stack([np.asarray(s(x0, x1), dtype=float) for s in self.models]))

    def mean(self) -> Surface:
        """Return the mean over the models as a `Surface` without rows: it can be drawn, tabulated and saved."""
        first = self.models[0]
        said = {**first.provenance, "models": len(self), "mean_of": self.provenance}
        named = f"{first.about.quantity}, mean of {len(self)} models"
        return replace(
            first,
            abouts=tuple(replace(about, quantity=named) for about in first.abouts),
            value=self.value.copy(),
            heterogeneity=self.heterogeneity,
            main=None,
            rows=None,
            moments={},
            provenance=said,
        )

    def to_frame(
        self, backend: str | None = None, *, of: Literal["effect", "models"] = "effect"
    ) -> Any:
        """Return the numbers as a data frame: a line for each point, or for each model and point."""
        from skedasis.results.tables import frame

        return frame(self.table(of), backend or self.about.library)

    def table(self, of: str = "effect") -> dict[str, Any]:
        """Return the columns of `to_frame`."""
        known_table(of, "effect")
        from skedasis.results.tables import placed, product, tiled

        first = self.models[0]
        a, b = (placed(x, t) for x, t in zip(self.points, first.times, strict=True))
        size = self.values[0].size
        at = dict(zip(("x0", "x1"), product(a, b), strict=True))
        if of == "models":
            m = len(self)
            return {
                "model": np.repeat(np.arange(m), size),
                **{k: tiled(v, m) for k, v in at.items()},
                "value": self.values.ravel(),
            }
        return {**at, **{k: v.ravel() for k, v in columns_of(self).items()}}

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the mean over the models as a heat map; options are those of `Surface.plot`."""
        return self.mean().plot(ax=ax, **options)


@dataclass(frozen=True)
class ModelsImportanceRank:
    """One line of a ranking.

    Parameters
    ----------
    feature : str
    mean, between, std_error : float
        Over the models, in units of the quantity.
    lower, upper : float
        The 95 % interval.
    first : int
        How many of the models have this feature first.
    """

    feature: str
    mean: float
    between: float
    std_error: float
    lower: float
    upper: float
    first: int


@dataclass(frozen=True, eq=False)
class ImportanceOfModels(ShownImportanceOfModels, OfModels):
    """Permutation importance of features, of several fitted models (learner-PFI).

    Attributes
    ----------
    values : ndarray of float, shape (m, features)
        Each model's importances, means over its repeats.
    models : tuple of m Importance

    Notes
    -----
    All models draw with the same seed: on the same rows they are compared under the same permutations, and what these
    add to all of them alike is in the single importances' intervals only.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> models = [lambda X, k=k: k * X[:, 0] + X[:, 1] for k in (0.9, 1.0, 1.1)]
    >>> losses = [sd.loss(m, "squared_error") for m in models]
    >>> pf = sd.explain(losses, X, y=y, method=sd.PFI(repeats=3))
    >>> pf.features, pf.values.shape
    (('x0', 'x1'), (3, 2))
    """

    models: tuple[Importance, ...] = ()

    def __post_init__(self) -> None:
        locked(self.values)

    @property
    def features(self) -> tuple[str, ...]:
        """Return the features' names, in X's order."""
        return self.models[0].features

    @property
    def mean(self) -> Floats:
        """Return the means over the models, shape (features,): another name of `value`."""
        return self.value

    @property
    def baseline(self) -> float:
        """Return the mean over the models of the quantity's mean at the rows."""
        return float(mean_of(np.array([pf.baseline for pf in self.models])))

    def __repr__(self) -> str:
        mean, first = max(zip(self.mean, self.features, strict=True), default=(0.0, ""))
        name = self.models[0].quantity
        return (
            f"<ImportanceOfModels: {len(self)} models, {len(self.features)} features for {name}: "
            f"{self.models[0].method}, first {first!r} ({mean:.4g})>"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __contains__(self, feature: object) -> bool:
        return feature in self.features

    def __getitem__(self, feature: str) -> ModelsImportanceRank:
        """Return one feature's line."""
        if feature not in self.features:
            known = f"one of {list(self.features)}"
            raise DataError(explained("feature", repr(feature), known, "Use a feature's name"))
        return self._lines()[self.features.index(feature)]

    def ranking(self) -> Ranking[ModelsImportanceRank]:
        """Return the features, most important first."""
        return Ranking(sorted(self._lines(), key=lambda r: -r.mean))

    def _lines(self) -> list[ModelsImportanceRank]:
        first = np.bincount(self.values.argmax(axis=1), minlength=len(self.features))
        columns = (self.mean, self.between, self.std_error, *self.interval())
        return [
            ModelsImportanceRank(name, *map(float, numbers), first=int(n))
            for name, n, *numbers in zip(self.features, first, *columns, strict=True)
        ]

    def to_frame(
        self, backend: str | None = None, *, of: Literal["importance", "models"] = "importance"
    ) -> Any:
        """Return the importances as a data frame: a line for each feature, or for each model and feature."""
        from skedasis.results.tables import frame

        return frame(self.table(of), backend or self.models[0].library)

    def table(self, of: str = "importance") -> dict[str, Any]:
        """Return the columns of `to_frame`."""
        known_table(of, "importance")
        names = np.array(self.features, dtype=object)
        if of == "models":
            m, k = self.values.shape
            return {
                "model": np.repeat(np.arange(m), k),
                "feature": np.tile(names, m),
                "value": self.values.ravel(),
            }
        return {"feature": names, **columns_of(self)}

    def plot(self, ax: Any = None, **options: Any) -> Figure:
        """Draw the means with their intervals, and each model's importance as a mark, most important first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        **options
            Of `skedasis.plots.several.draw_importances`.
        """
        from skedasis.plots.several import draw_importances  # the one import upwards

        return draw_importances(self, ax=ax, **options)
