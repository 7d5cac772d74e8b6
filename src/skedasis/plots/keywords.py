"""Keywords of `plot()` and `explore()` of each kind of result, for type checkers and completion.

The functions behind `plot()` in `plots.mpl` describe them; a test holds each dictionary to its function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from skedasis.results.multi_model import IntervalTarget

Ice: TypeAlias = Literal["centered", "raw"] | None
"""Individual curves: centred, as computed, or none."""

By: TypeAlias = Literal["importance", "heterogeneity_score"]
"""Order of features."""

Empty: TypeAlias = Literal["hatched", "filled", "blank"]
"""How cells without rows are drawn."""

ImportanceFigure: TypeAlias = Literal["bars", "local"]
"""A bar per feature, or histograms of the kept rows before and after permutation."""


class _FigureKeywords(TypedDict, total=False):
    legend: bool
    size: tuple[float, float] | None


class EffectViewKeywords(TypedDict, total=False):
    """What a figure of an effect shows; see `skedasis.plots.mpl.effect.draw`."""

    ice: Ice
    own: bool
    curves: int
    confidence_level: float
    color: ArrayLike | None
    color_name: str | None
    elevated_regions: bool | None
    histogram: bool
    values: ArrayLike | None
    simultaneous: bool


class EffectKeywords(EffectViewKeywords, _FigureKeywords, total=False):
    """Keywords of `Effect.plot`."""


class EffectsViewKeywords(TypedDict, total=False):
    """What a figure of many effects shows; see `skedasis.plots.mpl.effect.draw_all`."""

    by: By
    top: int | None
    columns: int | None
    lower: bool
    ice: Ice
    curves: int
    confidence_level: float


class EffectsKeywords(EffectsViewKeywords, _FigureKeywords, total=False):
    """Keywords of `Effects.plot`."""


class SurfaceKeywords(_FigureKeywords, total=False):
    """Keywords of `Surface.plot`; see `skedasis.plots.mpl.surface.draw_surface`."""

    points: bool
    density: bool
    empty: Empty
    step: bool
    levels: int | Sequence[float] | None
    confidence_level: float | None


class ImportanceViewKeywords(TypedDict, total=False):
    """What a figure of importances shows; see `skedasis.plots.mpl.importance.draw_importance`."""

    kind: ImportanceFigure
    features: Sequence[str] | None
    top: int | None
    confidence_level: float


class ImportanceKeywords(ImportanceViewKeywords, _FigureKeywords, total=False):
    """Keywords of `Importance.plot`."""

    ax: Axes | None


class DiagnosisKeywords(_FigureKeywords, total=False):
    """Keywords of `Diagnosis.plot`; see `skedasis.plots.mpl.importance.draw_diagnosis`."""

    confidence_level: float | None
    ax: Axes | None


class ModelsViewKeywords(TypedDict, total=False):
    """Intervals in figures of several models; see `skedasis.plots.mpl.multi_model.draw_models`."""

    confidence_level: float
    of: IntervalTarget | None


class ModelsKeywords(ModelsViewKeywords, _FigureKeywords, total=False):
    """Keywords of `MultiModelEffect.plot`."""


class AllModelsViewKeywords(ModelsViewKeywords, total=False):
    """What a figure of many features' effects for several models shows."""

    by: By
    top: int | None
    columns: int | None


class AllModelsKeywords(AllModelsViewKeywords, _FigureKeywords, total=False):
    """Keywords of `MultiModelEffects.plot`; see `skedasis.plots.mpl.multi_model.draw_all_models`."""


class ModelImportanceViewKeywords(ModelsViewKeywords, total=False):
    """What a figure of importances for several models shows."""

    features: Sequence[str] | None
    top: int | None


class ModelImportanceKeywords(ModelImportanceViewKeywords, _FigureKeywords, total=False):
    """Keywords of `MultiModelImportance.plot`; see `skedasis.plots.mpl.multi_model.draw_importances`."""
