"""Keywords of `plot()` of each kind of result, for type checkers and completion.

`FigureKeywords` are the options of every figure, which `plots.plot.FigureOptions` describes; the other dictionaries add
what a figure of one kind shows. A test holds the dictionaries to the parameters of the figure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType
    from numpy.typing import ArrayLike

    from skedasis.plots.draw_matplotlib import StyleSheet
    from skedasis.results.interactions import Measure
    from skedasis.results.multi_model import IntervalTarget

Ice: TypeAlias = Literal["centered", "raw"] | None
"""Individual curves: centred, as computed, or none."""

By: TypeAlias = Literal["importance", "heterogeneity_score"]
"""Order of features."""

Empty: TypeAlias = Literal["hatched", "filled", "blank"]
"""How cells without rows are drawn."""

ImportanceFigure: TypeAlias = Literal["bars", "local"]
"""A bar per feature, or histograms of the kept rows before and after permutation."""

EffectsKind: TypeAlias = Literal["effects", "overview"]
"""An effect per feature, or one point per feature: importance against heterogeneity score."""


RegionsKind: TypeAlias = Literal["panels", "together"]
"""One panel per region, or all curves in one panel."""

RegionsBy: TypeAlias = Literal["heterogeneity_score", "explained", "importance"]
"""Order of features by their regions."""

InteractionsFigure: TypeAlias = Literal["heatmap", "network"]
"""A heat map of pairs, or features on a circle with lines between them."""


ChangeFigure: TypeAlias = Literal["regions", "rows"]
"""The mean change of each region, or a histogram of the changes of rows."""


class FigureKeywords(TypedDict, total=False):
    """Keywords of every figure; see `skedasis.plots.plot.FigureOptions`."""

    title: str | None
    xlabel: str | None
    ylabel: str | None
    xscale: Literal["linear", "log"]
    xlim: tuple[float, float] | None
    ylim: tuple[float, float] | None
    size: tuple[float, float] | None
    legend: bool
    style: StyleSheet | None


class ColoredKeywords(FigureKeywords, total=False):
    """Keywords of figures whose only colour option is the colour of the main mark."""

    color: ColorType | None


class EffectViewKeywords(TypedDict, total=False):
    """What a figure of an effect shows; see `Effect.plot`."""

    ice: Ice
    own: bool
    curves: int
    confidence_level: float
    color: ArrayLike | ColorType | None
    color_name: str | None
    group_averages: bool
    elevated_regions: bool | None
    histogram: bool
    values: ArrayLike | None
    simultaneous: bool


class EffectKeywords(EffectViewKeywords, FigureKeywords, total=False):
    """Keywords of `Effect.plot`."""


class MultiplesKeywords(TypedDict, total=False):
    """Which effects a figure of many effects shows, and how they are arranged; see `Effects.plot`."""

    by: By
    top: int | None
    page: int
    columns: int | None
    lower: bool


class EffectsViewKeywords(MultiplesKeywords, total=False):
    """What a figure of many effects shows; see `Effects.plot`."""

    ice: Ice
    curves: int
    confidence_level: float


class EffectsKeywords(EffectsViewKeywords, ColoredKeywords, total=False):
    """Keywords of `Effects.plot`."""

    kind: EffectsKind
    ax: Axes | None
    axes: Sequence[Axes] | None


class SurfaceViewKeywords(TypedDict, total=False):
    """What a figure of a surface shows; see `Surface.plot`."""

    points: bool
    density: bool
    empty: Empty
    step: bool
    levels: int | Sequence[float] | None
    confidence_level: float | None


class SurfaceKeywords(SurfaceViewKeywords, FigureKeywords, total=False):
    """Keywords of `Surface.plot`."""


class SideBySideKeywords(TypedDict, total=False):
    """Which of many figures are drawn, and how they are arranged; see `Surfaces.plot`."""

    top: int | None
    page: int
    columns: int | None


class SurfacesKeywords(SurfaceViewKeywords, SideBySideKeywords, FigureKeywords, total=False):
    """Keywords of `Surfaces.plot`."""


class OutputsViewKeywords(SideBySideKeywords, total=False):
    """What a figure of several outputs shows; see `MultiOutput.plot`."""

    center: Literal["mean"] | None
    confidence_level: float


class OutputsKeywords(OutputsViewKeywords, FigureKeywords, total=False):
    """Keywords of `MultiOutput.plot`."""

    ax: Axes | None


class MultiModelRegionsByFeatureKeywords(SideBySideKeywords, FigureKeywords, total=False):
    """Keywords of `MultiModelRegionsByFeature.plot`."""


class BarKeywords(TypedDict, total=False):
    """What a bar chart of importances shows; see `Importance.plot`."""

    features: Sequence[str] | None
    top: int | None
    confidence_level: float


class ImportanceViewKeywords(BarKeywords, total=False):
    """What a figure of importances shows; see `Importance.plot`."""

    kind: ImportanceFigure


class ImportanceKeywords(ImportanceViewKeywords, ColoredKeywords, total=False):
    """Keywords of `Importance.plot`."""


class DiagnosisKeywords(FigureKeywords, total=False):
    """Keywords of `Diagnosis.plot`."""

    confidence_level: float | None


class LedgerViewKeywords(TypedDict, total=False):
    """What a figure of a ledger shows; see `Ledger.plot`."""

    confidence_level: float


class LedgerKeywords(LedgerViewKeywords, FigureKeywords, total=False):
    """Keywords of `Ledger.plot`."""


class ChangeViewKeywords(TypedDict, total=False):
    """What a figure of a change shows; see `Change.plot`."""

    kind: ChangeFigure | None
    confidence_level: float


class ChangeKeywords(ChangeViewKeywords, FigureKeywords, total=False):
    """Keywords of `Change.plot`."""


class CompareViewKeywords(TypedDict, total=False):
    """What a comparison shows; see `skedasis.compare`."""

    labels: Sequence[str] | None
    center: Literal["mean"] | None
    confidence_level: float


class CompareKeywords(CompareViewKeywords, FigureKeywords, total=False):
    """Keywords of `skedasis.compare`."""


class ModelsViewKeywords(TypedDict, total=False):
    """Intervals in figures of several models; see `MultiModelEffect.plot`."""

    confidence_level: float
    of: IntervalTarget | None


class ModelsKeywords(ModelsViewKeywords, ColoredKeywords, total=False):
    """Keywords of `MultiModelEffect.plot`."""


class AllModelsViewKeywords(ModelsViewKeywords, total=False):
    """What a figure of many features' effects for several models shows; see `MultiModelEffects.plot`."""

    by: By
    top: int | None
    page: int
    columns: int | None


class AllModelsKeywords(AllModelsViewKeywords, ColoredKeywords, total=False):
    """Keywords of `MultiModelEffects.plot`."""

    axes: Sequence[Axes] | None


class ModelImportanceViewKeywords(ModelsViewKeywords, total=False):
    """What a figure of importances for several models shows; see `MultiModelImportance.plot`."""

    features: Sequence[str] | None
    top: int | None


class ModelImportanceKeywords(ModelImportanceViewKeywords, ColoredKeywords, total=False):
    """Keywords of `MultiModelImportance.plot`."""


class RegionsViewKeywords(TypedDict, total=False):
    """What a figure of regions shows; see `Regions.plot`."""

    kind: RegionsKind
    confidence_level: float
    scores: bool
    columns: int | None


class RegionsKeywords(RegionsViewKeywords, FigureKeywords, total=False):
    """Keywords of `Regions.plot`."""


class RegionsByFeatureViewKeywords(TypedDict, total=False):
    """What a figure of the regions of several features shows; see `RegionsByFeature.plot`."""

    by: RegionsBy
    top: int | None


class RegionsByFeatureKeywords(RegionsByFeatureViewKeywords, FigureKeywords, total=False):
    """Keywords of `RegionsByFeature.plot`."""

    kind: Literal["overview"]


class MultiModelRegionsKeywords(FigureKeywords, total=False):
    """Keywords of `MultiModelRegions.plot`."""


class InteractionsViewKeywords(TypedDict, total=False):
    """What a figure of interactions shows; see `Interactions.plot`."""

    measure: Measure | None
    top: int | None


class InteractionsKeywords(InteractionsViewKeywords, FigureKeywords, total=False):
    """Keywords of `Interactions.plot`."""

    kind: InteractionsFigure
