"""Keywords of `plot()` of each kind of result, for type checkers and completion."""

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

BandKind: TypeAlias = Literal["spread", "accumulated"] | None
"""The band around an average: the spread between rows, the accumulated standard deviation, or none."""

RankedBy: TypeAlias = Literal["importance", "heterogeneity_score"]
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
    """Title instead of the default one; "" for none."""
    xlabel: str | None
    """Axis labels of the main panels."""
    ylabel: str | None
    """Axis labels of the main panels."""
    xscale: Literal["linear", "log"] | None
    """Scale of the horizontal axis."""
    xlim: tuple[float, float] | None
    """Ends of the horizontal axis, and of the vertical axis of the main panels."""
    ylim: tuple[float, float] | None
    """Ends of the horizontal axis, and of the vertical axis of the main panels."""
    size: tuple[float, float] | None
    """Width and height of the figure in inches."""
    legend: bool
    """Whether to draw a legend."""
    style: StyleSheet | None
    """Style sheets of matplotlib for this figure, such as "dark_background"."""


class ColoredKeywords(FigureKeywords, total=False):
    """Keywords of figures whose only colour option is the colour of the main mark."""

    color: ColorType | None
    """Colour of the average and of its interval, or of bars; any colour of matplotlib."""


class EffectViewKeywords(TypedDict, total=False):
    """What a figure of an effect shows; see `Effect.plot`."""

    ice: Ice
    """Individual curves: centred, as computed, or none."""
    own: bool
    """Whether the observed value of each row is marked on its curve."""
    curves: int | None
    """Largest number of curves, by default 200 of those that the result keeps."""
    confidence_level: float
    """Confidence level of the intervals of the average, by default 0.95."""
    color: ArrayLike | ColorType | None
    """A colour: that of the average and its interval."""
    color_name: str | None
    """Name of these values, such as "temperature [°C]"; by default the name of the series."""
    group_averages: bool
    """Whether the average curve of each group of `color` is drawn over the curves."""
    elevated_regions: bool | None
    """Whether elevated regions of the curves are marked at the lower end of the panel."""
    histogram: bool
    """Whether a second panel shows the histogram of the feature in each group of `color`."""
    values: ArrayLike | None
    """The feature's value in each row of X, for these histograms."""
    simultaneous: bool
    """Whether the intervals form a simultaneous band instead of being pointwise."""
    band: BandKind
    """The band around the average: the spread between rows, the accumulated standard deviation (Eq. 16), or none."""


class EffectKeywords(EffectViewKeywords, FigureKeywords, total=False):
    """Keywords of `Effect.plot`."""


class MultiplesKeywords(TypedDict, total=False):
    """Which effects a figure of many effects shows, and how they are arranged; see `Effects.plot`."""

    by: RankedBy
    """Order of the features, largest first."""
    top: int | None
    """Largest number of features, by default 30; None for all, 30 on each page."""
    page: int
    """Which page, from 1."""
    columns: int | None
    """Number of columns of the grid."""
    lower: bool
    """Whether to draw the slopes per bin, too."""


class EffectsViewKeywords(MultiplesKeywords, total=False):
    """What a figure of many effects shows; see `Effects.plot`."""

    ice: Ice
    """Individual curves: centred, as computed, or none."""
    curves: int | None
    """Largest number of curves, by default 60."""
    confidence_level: float
    """Confidence level of the intervals of the averages, by default 0.95."""
    band: BandKind
    """The band around each average, as in `Effect.plot`."""


class EffectsKeywords(EffectsViewKeywords, ColoredKeywords, total=False):
    """Keywords of `Effects.plot`."""

    kind: EffectsKind
    """An effect per feature; or one point per feature: its importance against its heterogeneity score."""
    ax: Axes | None
    """Axes for the overview."""
    axes: Sequence[Axes] | None
    """Axes for the main panels, one for each effect that is drawn."""


class SurfaceViewKeywords(TypedDict, total=False):
    """What a figure of a surface shows; see `Surface.plot`."""

    points: bool
    """Whether rows are drawn as dots: all, or a sample of 1,000."""
    density: bool
    """Whether to draw marginal histograms of the rows above and beside the map."""
    empty: Empty
    """Cells of an ALE or DALE without rows: hatched on grey, filled with the colour of their value, or blank."""
    step: bool
    """Draw the step function of the papers (see `Surface.__call__`) instead of the bilinear interpolation."""
    levels: int | Sequence[float] | None
    """Approximate number of contours, or their values; by default 7."""
    confidence_level: float | None
    """Confidence level such as 0.95."""


class SurfaceKeywords(SurfaceViewKeywords, FigureKeywords, total=False):
    """Keywords of `Surface.plot`."""


class SideBySideKeywords(TypedDict, total=False):
    """Which of many figures are drawn, and how they are arranged; see `Surfaces.plot`."""

    top: int | None
    """Largest number of pairs, by default 30; None for all, 30 on each page."""
    page: int
    """Which page, from 1."""
    columns: int | None
    """Number of columns of the grid."""


class SurfacesKeywords(SurfaceViewKeywords, SideBySideKeywords, FigureKeywords, total=False):
    """Keywords of `Surfaces.plot`."""


class OutputsViewKeywords(SideBySideKeywords, total=False):
    """What a figure of several outputs shows; see `MultiOutput.plot`."""

    center: Literal["mean"] | None
    """Of overlaid effects: "mean" subtracts from each its mean over the data; None leaves them unchanged."""
    confidence_level: float
    """Confidence level of the intervals, which overlays have for at most 3 outputs."""


class OutputsKeywords(OutputsViewKeywords, FigureKeywords, total=False):
    """Keywords of `MultiOutput.plot`."""

    ax: Axes | None
    """Axes to draw on, for a figure of one panel."""


class MultiModelRegionsByFeatureKeywords(SideBySideKeywords, FigureKeywords, total=False):
    """Keywords of `MultiModelRegionsByFeature.plot`."""


class BarKeywords(TypedDict, total=False):
    """What a bar chart of importances shows; see `Importance.plot`."""

    features: Sequence[str] | None
    """Show only these features."""
    top: int | None
    """Show only this many features, the most important ones."""
    confidence_level: float
    """Confidence level of the intervals."""


class ImportanceViewKeywords(BarKeywords, total=False):
    """What a figure of importances shows; see `Importance.plot`."""

    kind: ImportanceFigure
    """Bars; or histograms of single rows before and after permutation."""


class ImportanceKeywords(ImportanceViewKeywords, ColoredKeywords, total=False):
    """Keywords of `Importance.plot`."""


class DiagnosisKeywords(FigureKeywords, total=False):
    """Keywords of `Diagnosis.plot`."""

    confidence_level: float | None
    """Confidence level of the intervals; by default that of the verdicts."""


class VarianceSharesViewKeywords(TypedDict, total=False):
    """What a figure of variance shares shows; see `VarianceShares.plot`."""

    confidence_level: float
    """Confidence level of the intervals."""


class VarianceSharesKeywords(VarianceSharesViewKeywords, FigureKeywords, total=False):
    """Keywords of `VarianceShares.plot`."""


class ChangeViewKeywords(TypedDict, total=False):
    """What a figure of a change shows; see `Change.plot`."""

    kind: ChangeFigure | None
    """One dot per region, below the dot of all rows; or a histogram of the changes of single rows, with their mean."""
    confidence_level: float
    """Confidence level of the intervals."""


class ChangeKeywords(ChangeViewKeywords, FigureKeywords, total=False):
    """Keywords of `Change.plot`."""


class ChangesViewKeywords(ChangeViewKeywords, total=False):
    """What a figure of several changes shows; see `Changes.plot`."""

    top: int | None
    """Largest number of moves, by default 30, those with the largest mean changes; None for all."""
    columns: int | None
    """Number of columns of the grid of histograms."""


class ChangesKeywords(ChangesViewKeywords, FigureKeywords, total=False):
    """Keywords of `Changes.plot`."""


class CompareViewKeywords(TypedDict, total=False):
    """What a comparison shows; see `skedasis.compare`."""

    labels: Sequence[str] | None
    """Legend entries."""
    center: Literal["mean"] | None
    """The zero of each effect."""
    confidence_level: float
    """Confidence level of the intervals, which are drawn for at most 3 effects."""


class CompareKeywords(CompareViewKeywords, FigureKeywords, total=False):
    """Keywords of `skedasis.compare`."""


class ModelsViewKeywords(TypedDict, total=False):
    """Intervals in figures of several models; see `MultiModelEffect.plot`."""

    confidence_level: float
    """Confidence level of the intervals."""
    of: IntervalTarget | None
    """What an interval is for: the learner's mean effect, or the mean over refits."""


class ModelsKeywords(ModelsViewKeywords, ColoredKeywords, total=False):
    """Keywords of `MultiModelEffect.plot`."""


class AllModelsViewKeywords(ModelsViewKeywords, total=False):
    """What a figure of many features' effects for several models shows; see `MultiModelEffects.plot`."""

    by: RankedBy
    """Order of the features, largest first."""
    top: int | None
    """Largest number of features, by default 30; None for all, 30 on each page."""
    page: int
    """Which page, from 1."""
    columns: int | None
    """Number of columns of the grid."""


class AllModelsKeywords(AllModelsViewKeywords, ColoredKeywords, total=False):
    """Keywords of `MultiModelEffects.plot`."""

    axes: Sequence[Axes] | None
    """Axes for the main panels, one for each effect that is drawn."""


class ModelImportanceViewKeywords(ModelsViewKeywords, total=False):
    """What a figure of importances for several models shows; see `MultiModelImportance.plot`."""

    features: Sequence[str] | None
    """Show only these features."""
    top: int | None
    """Show only this many features, the most important ones."""


class ModelImportanceKeywords(ModelImportanceViewKeywords, ColoredKeywords, total=False):
    """Keywords of `MultiModelImportance.plot`."""


class RegionsViewKeywords(TypedDict, total=False):
    """What a figure of regions shows; see `Regions.plot`."""

    kind: RegionsKind
    """One panel per region, with the effect in all rows as a thin line in each."""
    confidence_level: float
    """Confidence level of the intervals of the effects."""
    scores: bool
    """Whether to draw the heterogeneity scores of the whole, of each region and within the regions."""
    columns: int | None
    """Largest number of panels side by side."""


class RegionsKeywords(RegionsViewKeywords, FigureKeywords, total=False):
    """Keywords of `Regions.plot`."""


class RegionsByFeatureViewKeywords(TypedDict, total=False):
    """What a figure of the regions of several features shows; see `RegionsByFeature.plot`."""

    by: RegionsBy
    """Order of the features."""
    top: int | None
    """Largest number of features, by default 30."""


class RegionsByFeatureKeywords(RegionsByFeatureViewKeywords, FigureKeywords, total=False):
    """Keywords of `RegionsByFeature.plot`."""

    kind: Literal["overview"]
    """Bars, the largest heterogeneity first."""


class MultiModelRegionsKeywords(FigureKeywords, total=False):
    """Keywords of `MultiModelRegions.plot`."""


class InteractionsViewKeywords(TypedDict, total=False):
    """What a figure of interactions shows; see `Interactions.plot`."""

    measure: Measure | None
    """What is shown: by default what the pairs are ordered by."""
    top: int | None
    """Most features that are drawn, those with the strongest interactions; by default 40."""


class InteractionsKeywords(InteractionsViewKeywords, FigureKeywords, total=False):
    """Keywords of `Interactions.plot`."""

    kind: InteractionsFigure
    """A heat map of all pairs, with the features in the order of their overall strength."""
