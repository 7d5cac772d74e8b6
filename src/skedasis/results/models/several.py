"""The effects of features, of several fitted models; and which of the results of several models is whose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Json
from skedasis.data.times import TimeAxis
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects, check_order
from skedasis.results.importance import Importance
from skedasis.results.models.of_models import OfModels, columns_of, known_table, mean_of
from skedasis.results.models.several_more import ImportanceOfModels, SurfaceOfModels
from skedasis.results.models.shown import ShownEffectOfModels, ShownEffectsOfModels
from skedasis.results.parts import LevelStats, locked
from skedasis.results.shown import Ranking
from skedasis.results.spec import About, Spec
from skedasis.results.surfaces.surface import Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class EffectOfModels(ShownEffectOfModels, OfModels):
    """The effect of one feature, of several fitted models.

    Attributes
    ----------
    x : ndarray, shape (k,)
        As in `Effect`: the same for all models. Of an M-plot the mean over the models' points in each bin.
    points : ndarray, shape (k,)
        The same as floats, as in `Effect`.
    values : ndarray of float, shape (m, k)
        Each model's effect.
    within : ndarray of float, shape (m, k)
        Each model's heterogeneity.
    models : tuple of m Effect
        Each model explained by itself, on its own rows and the common bins.

    Notes
    -----
    `between` is how models differ, `heterogeneity` how rows differ within a model; neither is in the other.

    `interval` says what it covers; what was measured of that stands there.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0, 3.0)]
    >>> em = sd.explain(models, X, 0, method=sd.ALE(bins=2, center="start"))
    >>> em
    <EffectOfModels: 3 models, 'x0' on prediction: ALE, 3 points, importance 0.5823>
    >>> rise = em.x[-1] - em.x[0]
    >>> [round(float(v), 9) for v in (em.value[-1] / rise, em.between[-1] / rise)]
    [2.0, 1.0]
    """

    points: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    within: Floats = field(default_factory=lambda: np.zeros(0))
    models: tuple[Effect, ...] = ()

    def __post_init__(self) -> None:
        locked(self.points, self.values, self.within)

    @property
    def time(self) -> TimeAxis | None:
        """Return how days are the times of the feature; None of numbers, and of levels."""
        return self.models[0].time

    @property
    def x(self) -> NDArray[Any]:
        """Return where `value` stands, as the feature has it."""
        return self.points if self.time is None else self.time.times(self.points)

    @property
    def heterogeneity(self) -> Floats:
        """Return how rows differ within a model: the mean over the models."""
        return mean_of(self.within)

    @property
    def importance(self) -> float:
        """Return the mean over the models of each effect's standard deviation over the data."""
        return float(mean_of(np.array([e.importance for e in self.models])))

    @property
    def heterogeneity_score(self) -> float:
        """Return the mean over the models of the heterogeneity score, in units of the quantity."""
        return float(mean_of(np.array([e.heterogeneity_score for e in self.models])))

    @property
    def heterogeneity_score_error(self) -> float:
        """Return the standard error of that mean due to the sample of rows, in units of the quantity.

        It is the root mean square of the models' errors: right for fully correlated errors, which those of models
        explained on the same rows nearly are. For models explained on different rows it is too large, at most by the
        square root of the number of models.
        """
        errors = np.array([e.heterogeneity_score_error for e in self.models])
        return float(np.sqrt(mean_of(errors**2)))

    @property
    def about(self) -> About:
        """Return what the effect is about."""
        return self.models[0].about

    @property
    def spec(self) -> Spec:
        """Return how the first model's effect was made."""
        return self.models[0].spec

    @property
    def levels(self) -> LevelStats | None:
        """Return the levels of a categorical feature."""
        return self.models[0].levels

    @property
    def feature(self) -> str:
        """Return the feature's name."""
        return self.about.feature.name

    def __repr__(self) -> str:
        parts = "points" if self.levels is None else "levels"
        return (
            f"<EffectOfModels: {len(self)} models, {self.feature!r} on {self.about.quantity}: "
            f"{self.spec.method}, {len(self.points)} {parts}, importance {self.importance:.4g}>"
        )

    def __call__(self, x_new: Any) -> Floats:
        """Evaluate the mean effect: the mean over those models whose rows reach there, NaN where none does."""
        return mean_of(np.stack([np.asarray(e(x_new), dtype=float) for e in self.models]))

    def to_frame(
        self, backend: str | None = None, *, of: Literal["effect", "models"] = "effect"
    ) -> Any:
        """Return the numbers as a data frame.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        of : {"effect", "models"}
            A line for each point; or for each model and point.
        """
        from skedasis.results.tables import frame

        return frame(self.table(of), backend or self.about.library)

    def table(self, of: str = "effect") -> dict[str, Any]:
        """Return the columns of `to_frame`."""
        from skedasis.results.tables import placed, tiled

        known_table(of, "effect")
        k, m = len(self.points), len(self)
        names: dict[str, Any] = {"x": placed(self.points, self.time)}
        if self.levels is not None:
            names = {"level": np.array(self.levels.labels, dtype=object)}
        if of == "models":
            error = np.stack([on_bins(e, e.std_error) for e in self.models])
            return {
                "feature": np.array([self.feature] * (m * k), dtype=object),
                "model": np.repeat(np.arange(m), k),
                **{name: tiled(at, m) for name, at in names.items()},
                "value": self.values.ravel(),
                "heterogeneity": self.within.ravel(),
                "std_error": error.ravel(),
            }
        numbers = columns_of(self)
        numbers["heterogeneity"] = self.heterogeneity
        return {"feature": np.array([self.feature] * k, dtype=object), **names, **numbers}

    def plot(self, ax: Any = None, **options: Any) -> Figure:
        """Draw each model's curve thin, their mean bold, and its interval as a band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Draw there; by default a figure is made.
        **options
            Of `skedasis.plots.several.draw_models`.
        """
        from skedasis.plots.several import (
            draw_models,
        )  # the one import upwards, as in `Effect.plot`

        return draw_models(self, ax=ax, **options)


@dataclass(frozen=True)
class ModelsRank:
    """One line of a ranking.

    Parameters
    ----------
    feature : str
    importance, between : float
        The mean over the models, and the standard deviation between them (ddof 1), in units of the quantity.
    heterogeneity_score : float
        The mean over the models.
    first : int
        How many of the models have this feature first.
    """

    feature: str
    importance: float
    between: float
    heterogeneity_score: float
    first: int


@dataclass(frozen=True, eq=False)
class EffectsOfModels(ShownEffectsOfModels, Mapping[str, EffectOfModels]):
    """Effects by feature, in X's order, of several fitted models.

    Parameters
    ----------
    effects : dict of str to EffectOfModels
    provenance : dict

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] + X[:, 1] for k in (2.0, 3.0)]
    >>> es = sd.explain(models, X, method="ale")
    >>> [(r.feature, r.first) for r in es.ranking()]
    [('x0', 2), ('x1', 0)]
    """

    effects: dict[str, EffectOfModels]
    provenance: Json = field(default_factory=dict)

    def __getitem__(self, feature: Any) -> EffectOfModels:
        """Return the effect of a feature, by name, label or position in X."""
        first = Effects({name: e.models[0] for name, e in self.effects.items()})
        return self.effects[first[feature].feature]

    def __contains__(self, feature: object) -> bool:
        return feature in self.effects

    def __iter__(self) -> Iterator[str]:
        return iter(self.effects)

    def __len__(self) -> int:
        return len(self.effects)

    def __repr__(self) -> str:
        names = ", ".join(list(self)[:6]) + (", …" if len(self) > 6 else "")
        models = len(next(iter(self.effects.values())))
        return f"<EffectsOfModels: {models} models, {len(self)} features: {names}>"

    def ranking(
        self, by: Literal["importance", "heterogeneity_score"] = "importance"
    ) -> Ranking[ModelsRank]:
        """Return the features, most important first.

        Raises
        ------
        DataError
            For another order.
        """
        check_order(by)
        each = np.array([[m.importance for m in e.models] for e in self.effects.values()])
        first = np.bincount(each.argmax(axis=0), minlength=len(each))
        lines = [
            ModelsRank(name, e.importance, float(own.std(ddof=1)), e.heterogeneity_score, int(n))
            for (name, e), own, n in zip(self.effects.items(), each, first, strict=True)
        ]
        return Ranking(sorted(lines, key=lambda r: -getattr(r, by)))

    def to_frame(
        self,
        backend: str | None = None,
        *,
        of: Literal["effect", "models", "ranking"] = "effect",
    ) -> Any:
        """Return all effects as one tidy data frame.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        of : {"effect", "models", "ranking"}
            A line for each feature and point, and model; or for each feature. Where some of the features are
            categorical there are two columns for places: ``"x"``, NaN for levels, and ``"level"``, None for numbers.
        """
        from skedasis.results.tables import frame, in_columns_of_their_own, stacked

        effects = list(self.effects.values())
        if of == "ranking":
            names = ("feature", "importance", "between", "heterogeneity_score", "first")
            table = {n: [getattr(r, n) for r in self.ranking()] for n in names}
        else:
            table = stacked(in_columns_of_their_own([e.table(of) for e in effects]))
        return frame(table, backend or effects[0].about.library)

    def plot(self, **options: Any) -> Figure:
        """Draw all effects, most important first; options are those of `skedasis.plots.several.draw_all_models`."""
        from skedasis.plots.several import draw_all_models  # the one import upwards

        return draw_all_models(self, **options)

    def save(self, path: str | Path) -> None:
        """Write all effects into one file that `skedasis.load` reads."""
        from skedasis.results.io import save

        save(self, path)


def put_together(
    found: tuple[Any, ...], correction: float | None, overlap: float | None, record: Json
) -> Any:
    """Return what several models say of one thing.

    Parameters
    ----------
    found : tuple of Effect, of Surface or of Importance
        On the same points, one of each model.
    correction : float or None
        Rows held out over rows fitted on.
    overlap : float or None
        Share of training rows that two models have in common.
    record : dict
        The provenance.
    """
    known = (correction, overlap, record)
    if isinstance(found[0], Importance):
        return ImportanceOfModels(np.stack([pf.mean for pf in found]), *known, found)
    if isinstance(found[0], Surface):
        return SurfaceOfModels(np.stack([s.value for s in found]), *known, found)
    values, within = (
        np.stack([on_bins(e, getattr(e, name)) for e in found])
        for name in ("value", "heterogeneity")
    )
    if not _in_bins(found[0]):
        return EffectOfModels(values, *known, found[0].points.copy(), within, found)
    x = mean_of(np.stack([on_bins(e, e.points) for e in found]))
    there = ~np.isnan(x)
    return EffectOfModels(values[:, there], *known, x[there], within[:, there], found)


def _in_bins(effect: Effect) -> bool:
    """Return whether the points are those of bins that hold rows: of an M-plot."""
    return effect.spec.local == "values" and effect.levels is None


def on_bins(effect: Effect, numbers: Any) -> Any:
    """Return numbers at an effect's points; of an M-plot at all bins, NaN at those without rows."""
    if effect.bins is None or not _in_bins(effect):
        return numbers
    every = np.full(len(effect.bins), np.nan)
    every[~effect.bins.empty] = numbers
    return every
