"""Options of `plot` and `explore` of each kind of result: names, types and texts, each in one place.

Type checkers and editors read the dictionaries. The text below a key is what editors show; `results/signatures.py`
writes it into the docstrings of the methods. This module imports nothing but types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType
    from numpy.typing import ArrayLike

    from skedasis.plots.draw_matplotlib import StyleSheet

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

OverviewKind: TypeAlias = Literal["overview"]
"""Bars, one per feature."""

InteractionsFigure: TypeAlias = Literal["heatmap", "network"]
"""A heat map of pairs, or features on a circle with lines between them."""

Measure: TypeAlias = Literal["h2_unnormalized", "h2", "ale_strength", "depends"]
"""How the strength of an interaction is measured."""

ChangeFigure: TypeAlias = Literal["regions", "rows"]
"""The mean change of each region, or a histogram of the changes of rows."""

IntervalTarget: TypeAlias = Literal["learner", "bound", "models"]
"""The estimand and the variance of an interval over models."""

AxisScale: TypeAlias = Literal["linear", "log"]
"""Scale of an axis."""

Zero: TypeAlias = Literal["mean"] | None
"""The zero of overlaid effects."""

CurveScale: TypeAlias = Literal["difference", "prediction"]
"""How high curves are drawn: around zero, or around the mean prediction."""


# --- options of every figure ---------------------------------------------------------------------


class FigureKeywords(TypedDict, total=False):
    """Options of every figure."""

    title: str | None
    """Title instead of the default one; "" for none."""
    xlabel: str | None
    """Label of the horizontal axis of the main panels. A common offset or power of ten of the ticks is still added."""
    ylabel: str | None
    """Label of the vertical axis of the main panels. A common offset or power of ten of the ticks is still added."""
    xscale: AxisScale | None
    """Scale of the horizontal axis; by default that of axes that are passed, and linear."""
    xlim: tuple[float, float] | None
    """Ends of the horizontal axis."""
    ylim: tuple[float, float] | None
    """Ends of the vertical axis of the main panels."""
    size: tuple[float, float] | None
    """Width and height of the figure in inches. What there is no room for is left out: numbers of rows, lower panels,
    notes, and in very small figures the legend."""
    legend: bool
    """Whether to draw a legend."""
    style: StyleSheet | None
    """Style sheets of matplotlib for this figure, such as "dark_background". Axes that are passed keep their style."""


class ColoredKeywords(FigureKeywords, total=False):
    """Options of figures whose only colour option is the colour of the main mark."""

    color: ColorType | None
    """Colour of the averages and their intervals, or of bars; any colour of matplotlib."""


# --- parameters of the methods -------------------------------------------------------------------


class MethodKeywords(TypedDict, total=False):
    """Parameters of `plot` (axes), `explore` (path and title) and `to_frame` (library)."""

    ax: Axes | None
    """Axes for the main panel alone. Their style stays as it is, and so do a title, labels, limits and ticks that are
    set on them, unless an option names them. By default a figure with all panels is created."""
    path: str | Path | None
    """A file to which the page is also written."""
    title: str | None
    """Title of the page; by default that of the figure."""
    backend: str | None
    """Library of the table: "pandas", "polars" or "pyarrow"; by default that of X, or the first installed one if X is
    an array."""


# --- options that several figures share -----------------------------------------------------------


class LevelKeywords(TypedDict, total=False):
    """The option of figures with intervals."""

    confidence_level: float
    """Confidence level of the intervals, by default 0.95."""


class LevelFigureKeywords(LevelKeywords, FigureKeywords, total=False):
    """Options of `plot` of results whose figure has intervals and no further options."""


class ScaleKeywords(TypedDict, total=False):
    """The option of figures of curves that can be at the height of predictions."""

    scale: CurveScale
    """How high curves are drawn. "difference", the default where no mean labels are drawn: around zero, as computed.
    "prediction": at the height of predictions, such that a curve averages to the mean prediction
    (`About.quantity_mean`), which is a line with its value; PDP and ICE with ``center=None`` average to their own mean.
    Slopes, steps and scores do not change."""


class RankedKeywords(TypedDict, total=False):
    """Which of many features a figure shows, and how they are arranged."""

    by: RankedBy
    """Order of the features, largest first."""
    top: int | None
    """Largest number of features, by default 20; None for all. A page shows all by default."""
    columns: int | None
    """Number of columns of the grid; by default as many as fit."""


class SideBySideKeywords(TypedDict, total=False):
    """Which of many figures are drawn, and how they are arranged."""

    top: int | None
    """Largest number of features, of pairs, or of outputs that are side by side, by default 20; None for all."""
    columns: int | None
    """Number of columns of the grid."""


class PagedKeywords(TypedDict, total=False):
    """The option of figures of `plot` of which one shows at most 20 panels."""

    page: int
    """Which page of 20, from 1, if `top` is None or above 20."""


class PanelAxesKeywords(TypedDict, total=False):
    """The option of figures of which each panel can be drawn on axes of the user."""

    axes: Sequence[Axes] | None
    """Axes for the main panels, one for each effect that is drawn."""


# --- effects --------------------------------------------------------------------------------------


class ObservedKeywords(TypedDict, total=False):
    """The option of figures that show what was observed."""

    observed: bool
    """Whether mean labels and mean predictions are drawn, with the rows in each cell, of an effect that has them
    (``sd.explain(..., y=y, observed=True)``), by default True. Curves are then at the height of predictions (`scale`),
    and share an axis with them. With ``scale="difference"``, and where the effect is not on the scale of the labels
    (logits, logarithms, slopes), they have a panel of their own."""


class CurvesKeywords(ScaleKeywords, ObservedKeywords, total=False):
    """What a figure shows of each effect."""

    ice: Ice
    """Individual curves: centred, as computed, or none. They are those that PDP and ICE keep, or those of
    ``sd.explain(..., curves=30)``. "centered" subtracts the anchor of each curve of a PDP or ICE (its left end for
    ``center="start"``, else its mean over the data) and centres the average likewise; curves of other methods are
    centred as the effect is. "raw" draws the curves unchanged; None draws no curves."""
    curves: int | None
    """Largest number of curves: by default 200 of those that the result keeps, and 60 for each of many effects."""
    band: BandKind
    """The band around the average: the spread between rows, the accumulated standard deviation (Eq. 16), or none. By
    default the spread, which is the standard deviation of the effect at x (`Effect.spread`). "accumulated": the
    standard deviations of the local effects, accumulated from the left end, as in the figures of the papers
    (`Effect.accumulated_std`; RHALE Eq. 16, UALE Eq. 9). None: no band."""


class EffectViewKeywords(CurvesKeywords, LevelKeywords, total=False):
    """What a figure of an effect shows."""

    own: bool
    """Whether the observed value of each row is marked on its curve."""
    color: ArrayLike | ColorType | None
    """A colour: that of the average and its interval. An array of shape (n,) with one value for each row of X: its
    curve is coloured by it. Numbers get a colour scale; text, booleans and integers with at most 8 distinct values get
    a colour and a line style each."""
    color_name: str | None
    """Name of these values, such as "temperature [°C]"; by default the name of the series."""
    group_averages: bool
    """Whether the average curve of each group of `color` is drawn over the curves, by default True: the weighted mean
    of all kept curves of its rows. Numbers on a scale are cut into thirds."""
    elevated_regions: bool | None
    """Whether elevated regions of the curves are marked at the lower end of the panel, with the verdict whether rows
    observed there support them (`Effect.elevated_regions`). By default only if the quantity is an entropy, a variance
    or another uncertainty."""
    histogram: bool
    """Whether a second panel shows the histogram of the feature in each group of `color`, such as classes:
    ``plot(color=y, histogram=True)``."""
    values: ArrayLike | None
    """The feature's value in each row of X, of shape (n,), for these histograms. By default those of the rows whose
    curves are kept; the notes state their number."""
    simultaneous: bool
    """Whether the intervals form a simultaneous band instead of being pointwise."""


class EffectKeywords(EffectViewKeywords, FigureKeywords, total=False):
    """Options of `Effect.plot`."""


class MultiplesKeywords(RankedKeywords, total=False):
    """Which effects a figure of many effects shows, and how they are arranged."""

    lower: bool
    """Whether to draw the slopes per bin, too: each panel has a scale of its own, because slopes per unit of different
    features are not comparable."""


class EffectsViewKeywords(MultiplesKeywords, CurvesKeywords, LevelKeywords, total=False):
    """What a figure of many effects shows."""


class EffectsKeywords(
    EffectsViewKeywords, PagedKeywords, PanelAxesKeywords, ColoredKeywords, total=False
):
    """Options of `Effects.plot`."""

    kind: EffectsKind
    """An effect per feature; or one point per feature: its importance against its heterogeneity score."""
    ax: Axes | None
    """Axes for the overview."""


# --- surfaces -------------------------------------------------------------------------------------


class SurfaceViewKeywords(TypedDict, total=False):
    """What a figure of a surface shows."""

    points: bool
    """Whether rows are drawn as dots: all, or a sample of 1,000. Those of a categorical feature or of one with two
    values are spread randomly over their band."""
    density: bool
    """Whether to draw marginal histograms of the rows above and beside the map; by default of one surface only."""
    empty: Empty
    """Cells of an ALE or DALE without rows: hatched on grey, filled with the colour of their value, or blank. Their
    values do not affect the colour scale."""
    step: bool
    """Draw the step function of the papers (see `Surface.__call__`) instead of the bilinear interpolation."""
    levels: int | Sequence[float] | None
    """Approximate number of contours, or their values; by default 7."""
    confidence_level: float | None
    """Confidence level such as 0.95: a dotted pattern marks where the pointwise interval of an interaction effect
    (`Surface.interval`), interpolated like the values, contains zero. By default none."""


class SurfaceKeywords(SurfaceViewKeywords, FigureKeywords, total=False):
    """Options of `Surface.plot`."""


class SurfacesViewKeywords(SideBySideKeywords, SurfaceViewKeywords, total=False):
    """What a figure of several surfaces shows."""


class SurfacesKeywords(SurfacesViewKeywords, PagedKeywords, FigureKeywords, total=False):
    """Options of `Surfaces.plot`."""


# --- several outputs, and several effects in one panel ---------------------------------------------


class OverlayKeywords(ScaleKeywords, total=False):
    """Options of overlaid effects."""

    center: Zero
    """The zero of each overlaid effect. "mean" subtracts its mean over the data, so that all have the same zero; None
    leaves the effects unchanged. Derivatives are never centred."""
    confidence_level: float
    """Confidence level of the intervals, by default 0.95; overlays have them for at most 3 effects."""
    observed: bool
    """Whether mean labels are drawn of effects that have them, as after ``sd.explain(..., y=y, observed=True)``; by
    default True. Where all have the same, as models of the same rows do, they are drawn once, over curves at the height
    of predictions. Where they differ, as those of classes do, effects of one feature have a figure each."""


class OutputsViewKeywords(SideBySideKeywords, OverlayKeywords, total=False):
    """What a figure of several outputs shows."""


class OutputsKeywords(OutputsViewKeywords, PagedKeywords, FigureKeywords, total=False):
    """Options of `MultiOutput.plot`."""

    ax: Axes | None
    """Axes to draw on, for a figure of one panel. By default a figure is created."""


class CompareViewKeywords(OverlayKeywords, total=False):
    """What a comparison shows."""

    labels: Sequence[str] | None
    """Legend entries. By default the names of the methods, with the quantity if it differs from that of the first."""


class CompareKeywords(CompareViewKeywords, FigureKeywords, total=False):
    """Options of `skedasis.compare`."""


# --- importances and what explains a model ---------------------------------------------------------


class BarKeywords(LevelKeywords, total=False):
    """What a bar chart of importances shows."""

    features: Sequence[str] | None
    """Show only these features. By default all; of histograms of rows the six most important ones."""
    top: int | None
    """Show only this many features, the most important ones."""


class ImportanceViewKeywords(BarKeywords, total=False):
    """What a figure of importances shows."""

    kind: ImportanceFigure
    """Bars; or histograms of single rows before and after permutation (entropy_importance, Fig. 2)."""


class ImportanceKeywords(ImportanceViewKeywords, ColoredKeywords, total=False):
    """Options of `Importance.plot`."""


class DiagnosisViewKeywords(TypedDict, total=False):
    """What a figure of a diagnosis shows."""

    confidence_level: float | None
    """Confidence level of the intervals; by default that of the verdicts."""


class DiagnosisKeywords(DiagnosisViewKeywords, FigureKeywords, total=False):
    """Options of `Diagnosis.plot`."""


class FactorsViewKeywords(TypedDict, total=False):
    """What a figure of factors shows."""

    observed: bool
    """Whether observed factors are drawn beside the factors, if there are some; by default True."""


class FactorsKeywords(FactorsViewKeywords, FigureKeywords, total=False):
    """Options of `Factors.plot`."""


class RatingTableViewKeywords(SideBySideKeywords, FactorsViewKeywords, total=False):
    """What a figure of a rating table shows."""


class RatingTableKeywords(RatingTableViewKeywords, PagedKeywords, FigureKeywords, total=False):
    """Options of `RatingTable.plot`."""


class DifferenceViewKeywords(LevelKeywords, total=False):
    """What a figure of a difference of effects shows."""

    simultaneous: bool
    """Whether the band covers all points with this probability; otherwise, each point. By default True."""


class DifferenceKeywords(DifferenceViewKeywords, FigureKeywords, total=False):
    """Options of `EffectDifference.plot`."""


class StrongestKeywords(TypedDict, total=False):
    """Which interactions a figure shows."""

    measure: Measure | None
    """What is shown: by default what the pairs are ordered by."""
    top: int | None
    """Most features that are drawn, those with the strongest interactions; by default 40."""


class InteractionsViewKeywords(StrongestKeywords, total=False):
    """What a figure of interactions shows."""

    kind: InteractionsFigure
    """A heat map of all pairs, with the features in the order of their overall strength; or features on a circle, with
    an area that shows their importance, and lines whose width and darkness show the interaction."""


class InteractionsKeywords(InteractionsViewKeywords, FigureKeywords, total=False):
    """Options of `Interactions.plot`."""


# --- drift ----------------------------------------------------------------------------------------


class DriftViewKeywords(LevelKeywords, total=False):
    """What a figure of a drift shows."""

    top: int | None
    """Largest number of features, by default 8, those that carry most; None for all."""


class DriftKeywords(DriftViewKeywords, FigureKeywords, total=False):
    """Options of `Drift.plot`."""


# --- changes --------------------------------------------------------------------------------------


class ChangeViewKeywords(LevelKeywords, total=False):
    """What a figure of a change shows."""

    kind: ChangeFigure | None
    """One dot per region, below the dot of all rows; or a histogram of the changes of single rows, with their mean. By
    default regions where there are some, else rows."""


class ChangeKeywords(ChangeViewKeywords, FigureKeywords, total=False):
    """Options of `Change.plot`."""


class ChangesViewKeywords(LevelKeywords, total=False):
    """What a figure of several changes shows."""

    kind: ChangeFigure | None
    """One dot per move, in their order, with one per region below it, if there are regions; or a histogram of the
    changes of single rows for each move, side by side. By default dots."""
    top: int | None
    """Largest number of moves, by default 20, those with the largest mean changes; None for all."""
    columns: int | None
    """Number of columns of the grid of histograms."""


class ChangesKeywords(ChangesViewKeywords, FigureKeywords, total=False):
    """Options of `Changes.plot`."""


# --- several models -------------------------------------------------------------------------------


class OverModelsKeywords(LevelKeywords, total=False):
    """Intervals in figures of several models."""

    of: IntervalTarget | None
    """What an interval is for: the learner's mean effect, or the mean over refits; as in
    `MultiModelEffect.interval`."""


class ModelsViewKeywords(OverModelsKeywords, ScaleKeywords, total=False):
    """What a figure of an effect for several models shows."""


class ModelsKeywords(ModelsViewKeywords, ColoredKeywords, total=False):
    """Options of `MultiModelEffect.plot`."""


class AllModelsViewKeywords(RankedKeywords, ModelsViewKeywords, total=False):
    """What a figure of many features' effects for several models shows."""


class AllModelsKeywords(
    AllModelsViewKeywords, PagedKeywords, PanelAxesKeywords, ColoredKeywords, total=False
):
    """Options of `MultiModelEffects.plot`."""


class ModelImportanceViewKeywords(BarKeywords, OverModelsKeywords, total=False):
    """What a figure of importances for several models shows."""


class ModelImportanceKeywords(ModelImportanceViewKeywords, ColoredKeywords, total=False):
    """Options of `MultiModelImportance.plot`."""


# --- regions --------------------------------------------------------------------------------------


class RegionsViewKeywords(LevelKeywords, ScaleKeywords, total=False):
    """What a figure of regions shows."""

    observed: bool
    """Whether the panel of each region shows the mean labels and the mean predictions of its rows, where these were
    kept (``sd.explain(..., y=y, observed=True)``) and ``scale="prediction"``; by default True."""
    kind: RegionsKind
    """One panel per region, with the effect in all rows as a thin line in each; or all curves in one panel, for at most
    8 regions."""
    scores: bool
    """Whether to draw the heterogeneity scores of the whole, of each region and within the regions."""
    columns: int | None
    """Largest number of panels side by side."""


class RegionsKeywords(RegionsViewKeywords, FigureKeywords, total=False):
    """Options of `Regions.plot`."""


class SplitKeywords(TypedDict, total=False):
    """Which features a figure of regions shows."""

    by: RegionsBy
    """Order of the features."""
    top: int | None
    """Largest number of features, by default 20; None for all."""


class RegionsByFeatureViewKeywords(SplitKeywords, total=False):
    """What a figure of the regions of several features shows."""

    kind: OverviewKind
    """Bars, the largest heterogeneity first."""


class RegionsByFeatureKeywords(RegionsByFeatureViewKeywords, FigureKeywords, total=False):
    """Options of `RegionsByFeature.plot`."""


class MultiModelRegionsViewKeywords(TypedDict, total=False):
    """What a figure of the first splits of several models shows: always the same."""


class MultiModelRegionsByFeatureKeywords(
    SideBySideKeywords, PagedKeywords, FigureKeywords, total=False
):
    """Options of `MultiModelRegionsByFeature.plot`."""
