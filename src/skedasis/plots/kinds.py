"""How each kind of result is drawn: one row per kind, from which `plot`, `explore` and notebook output follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Generic, Never, TypeVar, Unpack, cast

from markupsafe import Markup

from skedasis._numbers import counted, number, sentence
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots import html
from skedasis.plots.draw_svg import draw, draw_tiles
from skedasis.plots.elements import joined, tag
from skedasis.plots.figures.calibration import calibration_figure
from skedasis.plots.figures.change import change_figure
from skedasis.plots.figures.containers import (
    changes_figure,
    outputs_figure,
    recurrences_figure,
    surfaces_figure,
)
from skedasis.plots.figures.diagnosis import diagnosis_figure
from skedasis.plots.figures.drift import drift_figure
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.effect_difference import effect_difference_figure
from skedasis.plots.figures.effect_texts import lead
from skedasis.plots.figures.factors import factors_figure, rating_table_figure
from skedasis.plots.figures.importance import importance_figure, permutation_figure
from skedasis.plots.figures.interactions import heatmap_figure, network_figure
from skedasis.plots.figures.models import models_figure, models_importance_figure
from skedasis.plots.figures.multiples import effects_figure, models_effects_figure
from skedasis.plots.figures.options import EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.figures.overview import importance_points, overview_figure
from skedasis.plots.figures.regions import (
    recurrence_figure,
    regions_figure,
    regions_overview_figure,
)
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.figures.variance_shares import variance_shares_figure
from skedasis.plots.figures.weak_spots import weak_spots_figure
from skedasis.plots.marks import CurveSet, FigureSpec, Title
from skedasis.results import keywords
from skedasis.results.calibration import Calibration, calibration_text
from skedasis.results.change import Change, Changes
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.drift import Drift
from skedasis.results.effect import Effect
from skedasis.results.effect_difference import EffectDifference
from skedasis.results.effects import Effects
from skedasis.results.factors import Factors, RatingTable
from skedasis.results.importance import Importance
from skedasis.results.interactions import Interactions
from skedasis.results.multi_model import MultiModelEffect, MultiModelEffects, MultiModelImportance
from skedasis.results.multi_output import Comparison, OutputResult, ResultsByLabel
from skedasis.results.regions import (
    MultiModelRegions,
    MultiModelRegionsByFeature,
    Regions,
    RegionsByFeature,
    heading_text,
    regions_text,
)
from skedasis.results.surface import Surface
from skedasis.results.surfaces import AnySurface, Surfaces
from skedasis.results.variance_shares import VarianceShares
from skedasis.results.weak_spots import WeakSpots, weak_spots_texts

if TYPE_CHECKING:

    class _EffectsOptions(keywords.EffectsViewKeywords, keywords.PagedKeywords, total=False):
        """Options of the figure of `Effects`, also on pages."""

        most_levels: int

    class _OutputsOptions(keywords.OutputsViewKeywords, keywords.PagedKeywords, total=False):
        """Options of the figure of `MultiOutput`, also on pages."""


MOST = 12
"""Most small figures in a notebook; `explore()` shows all of them."""

MOST_BARS = 30
"""Most bars in a notebook."""

PARTS = 30
"""Most results of which a page has a part of its own."""

POINTS, LEAST = 60_000, 20
"""Most points of all individual curves on a page together, and the number of curves that is always allowed."""

LEVELS, SMALL_LEVELS = 24, 10
"""Most levels of a categorical feature in a figure on a page, and in one of many small figures."""


# --- what a row says ------------------------------------------------------------------------------


ResultT_contra = TypeVar("ResultT_contra", contravariant=True)


@dataclass(frozen=True, kw_only=True)
class DrawnKind(Generic[ResultT_contra]):
    """How the results of a class are drawn.

    Parameters
    ----------
    figure : callable
        Returns the figure of a result; takes the options of `plot` and `explore` that are its own.
    lead : callable, optional
        Returns the line below the title of a page, with numbers that the title does not have; not of small figures that
        can be sorted, which have their own.
    on_page, in_notebook, on_axes : mapping
        Options of the figure on a page, where the user gives none; of the static one; and on axes of a user.
    colors_rows : bool
        Whether `color` may be one value per row.
    note : callable, optional
        Returns the line below the figure in a notebook.
    ranking : callable, optional
        Returns the order in which a page shows small figures that can be filtered and sorted.
    tiles : bool
        Whether a notebook arranges the panels of a figure by its width, as pages do.
    table : str
        Summary of the folded table of numbers.
    below, parts : callable, optional
        Return what follows the figure, and the end of a page.
    one_panel : str
        How to get a figure of one panel for `ax`; "" if only the main panel of a figure is drawn there.
    empty : str
        What a notebook shows of a container without results.
    as_output : mapping, optional
        Options of the figure beside those of other outputs: `top` and `confidence_level` are replaced by those of the
        figure of all outputs. None if there is no such figure.
    """

    figure: Callable[Concatenate[ResultT_contra, ...], FigureSpec]
    lead: Callable[[ResultT_contra], str] = lambda _: ""
    on_page: Mapping[str, object] = field(default_factory=dict)
    in_notebook: Mapping[str, object] = field(default_factory=dict)
    on_axes: Mapping[str, object] = field(default_factory=dict)
    colors_rows: bool = False
    note: Callable[[ResultT_contra], str] | None = None
    ranking: Callable[[ResultT_contra, keywords.RankedBy], Sequence[html.Ranked]] | None = None
    tiles: bool = False
    table: str = "Numbers"
    below: Callable[[ResultT_contra], Markup] | None = None
    parts: Callable[[ResultT_contra], Sequence[Markup]] | None = None
    one_panel: str = ""
    empty: str = "No features."
    as_output: Mapping[str, object] | None = None


# --- figures whose options choose between several ------------------------------------------------


def page_effect(effect: Effect, view: EffectPlotOptions | None = None) -> FigureSpec:
    """Return the figure of an effect for a page, with as many individual curves as keep the page small."""
    view = EffectPlotOptions() if view is None else view
    most = max(LEAST, POINTS // max(len(effect.points), 1))
    if effect.curves is not None:
        view = replace(view, curves=min(view.most_curves, most))
    return effect_figure(effect, replace(view, most_levels=LEVELS))


def _effect(
    effect: Effect, *, page: bool = False, **options: Unpack[keywords.EffectViewKeywords]
) -> FigureSpec:
    options.setdefault("elevated_regions", None)
    view = EffectPlotOptions(**options)
    return page_effect(effect, view) if page else effect_figure(effect, view)


def _effects(
    effects: Effects, *, kind: keywords.EffectsKind = "effects", **options: Unpack[_EffectsOptions]
) -> FigureSpec:
    if kind == "overview":
        for name in sorted(options.keys() - {"confidence_level"}):
            got = f"{name} with kind='overview'"
            raise DataError(f"plot({name})", got, "an option of the overview", "Omit it")
        level = options.get("confidence_level", 0.95)
        first = next(iter(effects.values()), None)
        unit = None if first is None else first.about.unit
        return overview_figure(importance_points(effects, level), unit=unit, confidence_level=level)
    chosen, shown = _separated(options, "by", "top", "columns", "lower", "page")
    view = EffectPlotOptions(**{"curves": 60, **shown})  # pyright: ignore[reportArgumentType]
    return effects_figure(effects, options=view, **cast("keywords.MultiplesKeywords", chosen))


def _surface(surface: Surface, **options: Unpack[keywords.SurfaceViewKeywords]) -> FigureSpec:
    return surface_figure(surface, SurfacePlotOptions(**options))


def _surfaces(
    found: Surfaces[AnySurface], **options: Unpack[keywords.SurfacesViewKeywords]
) -> FigureSpec:
    chosen, shown = _separated(options, "top", "columns", "page")
    view = SurfacePlotOptions(**cast("keywords.SurfaceViewKeywords", {"density": False, **shown}))
    return surfaces_figure(found, options=view, **cast("keywords.SideBySideKeywords", chosen))


def _separated(
    options: Mapping[str, object], *names: str
) -> tuple[dict[str, object], dict[str, object]]:
    """Return the options of these names, and the others."""
    chosen = {name: value for name, value in options.items() if name in names}
    return chosen, {name: value for name, value in options.items() if name not in names}


def _importance(
    found: Importance,
    *,
    kind: keywords.ImportanceFigure = "bars",
    **options: Unpack[keywords.BarKeywords],
) -> FigureSpec:
    if kind == "bars":
        return importance_figure(found, **options)
    if "confidence_level" in options:
        got, fix = "confidence_level with kind='local'", "Omit it: histograms have no interval"
        raise DataError("plot(confidence_level)", got, "an option of histograms", fix)
    return permutation_figure(found, features=options.get("features"), top=options.get("top"))


def _interactions(
    found: Interactions,
    *,
    kind: keywords.InteractionsFigure = "heatmap",
    **options: Unpack[keywords.StrongestKeywords],
) -> FigureSpec:
    return (heatmap_figure if kind == "heatmap" else network_figure)(found, **options)


def _regions(regions: Regions, **options: Unpack[keywords.RegionsViewKeywords]) -> FigureSpec:
    return regions_figure(regions, RegionsPlotOptions(**options))


def _regions_by_feature(
    found: RegionsByFeature,
    *,
    kind: keywords.OverviewKind = "overview",
    **options: Unpack[keywords.SplitKeywords],
) -> FigureSpec:
    del kind  # there is one
    return regions_overview_figure(found, **options)


def figure_of_outputs(
    found: ResultsByLabel[OutputResult], **options: Unpack[_OutputsOptions]
) -> FigureSpec:
    """Return the figure of the results of several outputs, or of several models."""
    return outputs_figure(found, _of_output, **options)


def _of_output(member: OutputResult, shared: Mapping[str, object]) -> FigureSpec:
    kind = _kind_of(member)
    if kind is None or kind.as_output is None:
        got = f"members of class {type(member).__name__}"
        raise UnsupportedError("plot", got, "results of explain", "Plot each member")
    own = {name: shared.get(name, value) for name, value in kind.as_output.items()}
    return kind.figure(member, **own)


# --- what is below figures ------------------------------------------------------------------------


def _text_of(regions: Regions) -> Markup:
    """Return the tree of rules and the curves in words; long lines are broken."""
    return tag("pre", regions_text(regions).partition("\n\n")[2], class_="skd-text")


def _parts_of_features(found: RegionsByFeature) -> list[Markup]:
    split = [found[r.feature] for r in found.ranking() if r.regions > 1]
    parts: list[Markup] = []
    for i, regions in enumerate(split[:PARTS]):
        figures, _ = _figures(regions_figure(regions), f"regions{i}")
        inside = [*figures, _text_of(regions)]
        parts.append(html.folded(heading_text(regions), *inside, *html.numbers_of(regions)))
    return parts


def _parts_of_models(found: MultiModelRegions) -> list[Markup]:
    return [
        html.folded(f"Model {i}: {heading_text(r)}", _text_of(r), *html.numbers_of(r))
        for i, r in enumerate(found.models)
    ]


def _parts_of_recurrences(found: MultiModelRegionsByFeature) -> list[Markup]:
    ranks = found.ranking()[:PARTS]
    return [
        html.folded(f"Groups of rows for {r.feature}", *html.numbers_of(found[r.feature]))
        for r in ranks
    ]


def _lead_of_members(found: ResultsByLabel[OutputResult]) -> str:
    alone = isinstance(found, Comparison)
    how = "each explained as if it were alone" if alone else "from the same model rows"
    return f"Results of {counted(len(found), found.noun)}, {how}."


def _parts_of_members(found: ResultsByLabel[OutputResult]) -> list[Markup]:
    return [
        html.folded(f"{found.noun.capitalize()} {label}", *html.numbers_of(member))
        for label, member in [*found.items()][:PARTS]
    ]


# --- texts ----------------------------------------------------------------------------------------


def _with_hint(of: Callable[[ResultT_contra], str], found: ResultT_contra) -> str:
    return f"{of(found)} explore() shows values on hover."


def _drawn_effects(found: Effects | MultiModelEffects) -> str:
    left = f", the {MOST} most important are drawn" if len(found) > MOST else ""
    return f"Effects of {counted(len(found), 'feature')}{left}. explore() filters and sorts them."


def _drawn_pairs(found: Surfaces[AnySurface]) -> str:
    left = f", the {MOST} strongest are drawn" if len(found) > MOST else ""
    return f"Surfaces of {counted(len(found), 'pair')}{left}. explore() shows values on hover."


def _lead_of_models(found: MultiModelEffect) -> str:
    unit = f" {found.about.unit}" if found.about.unit else ""
    models = counted(len(found), "model")
    return f"Importance {number(found.importance)}{unit}, the mean over {models}."


# --- the kinds ------------------------------------------------------------------------------------

_ALL: Mapping[str, object] = {"page": None}
_FIRST: Mapping[str, object] = {"top": MOST, "page": None}
_BARS: Mapping[str, object] = {"top": MOST_BARS}
_LEVEL: Mapping[str, object] = {"confidence_level": 0.95}
_SMALL: Mapping[str, object] = {"page": None, "most_levels": SMALL_LEVELS}

KINDS: Mapping[type, DrawnKind[Never]] = {
    Effect: DrawnKind[Effect](
        figure=_effect,
        lead=lead,
        on_page={"page": True},
        in_notebook={"page": True, "elevated_regions": False},
        as_output={"scale": None, **_LEVEL},
        colors_rows=True,
        note=partial(_with_hint, lead),
    ),
    Effects: DrawnKind[Effects](
        figure=_effects,
        on_page={"top": None, **_SMALL},
        in_notebook={"top": MOST, **_SMALL},
        note=_drawn_effects,
        ranking=Effects.ranking,
        tiles=True,
        table="Ranking",
        one_panel="Pass a list of axes, one per effect: axes=",
        empty="No effects.",
    ),
    Surface: DrawnKind[Surface](figure=_surface, lead=lead, note=partial(_with_hint, lead)),
    Surfaces: DrawnKind[Surfaces[AnySurface]](
        figure=_surfaces,
        on_page=_ALL,
        in_notebook=_FIRST,
        note=_drawn_pairs,
        tiles=True,
        table="Ranking",
        empty="No surfaces.",
    ),
    Importance: DrawnKind[Importance](
        figure=_importance,
        as_output={"top": None, **_LEVEL},
        lead=lambda found: sentence(found.axis),
        in_notebook=_BARS,
        one_panel="Use features= with one name, or omit ax",
    ),
    Diagnosis: DrawnKind[Diagnosis](figure=diagnosis_figure, table="Verdicts and numbers"),
    VarianceShares: DrawnKind[VarianceShares](figure=variance_shares_figure, as_output=_LEVEL),
    Drift: DrawnKind[Drift](
        figure=drift_figure,
        as_output={"top": None, **_LEVEL},
        lead=lambda found: " ".join(found.verdict),
        one_panel="Omit ax: the figure has a panel for each part",
    ),
    Calibration: DrawnKind[Calibration](
        figure=calibration_figure, as_output=_LEVEL, lead=calibration_text
    ),
    WeakSpots: DrawnKind[WeakSpots](
        figure=weak_spots_figure,
        as_output=_LEVEL,
        lead=lambda found: " ".join(map(sentence, weak_spots_texts(found))),
        table="All groups of rows",
    ),
    Interactions: DrawnKind[Interactions](figure=_interactions, as_output={}),
    Change: DrawnKind[Change](figure=change_figure, as_output=_LEVEL),
    Changes: DrawnKind[Changes](
        figure=changes_figure,
        as_output=_LEVEL,
        one_panel="Omit ax, or plot one of the changes",
        empty="No changes.",
    ),
    EffectDifference: DrawnKind[EffectDifference](
        figure=effect_difference_figure,
        lead=lambda found: " ".join(found.remarks),
        table="Difference",
    ),
    Factors: DrawnKind[Factors](
        figure=factors_figure,
        lead=lambda found: " ".join(found.remarks),
        table="Factors",
        as_output={},
    ),
    RatingTable: DrawnKind[RatingTable](
        figure=rating_table_figure,
        lead=lambda found: " ".join(found.remarks),
        on_page=_ALL,
        in_notebook=_FIRST,
        tiles=True,
        table="Factors",
        as_output={},
    ),
    Regions: DrawnKind[Regions](
        figure=_regions,
        as_output={"kind": "together", "scores": False, "scale": "difference", **_LEVEL},
        lead=lambda found: f"{heading_text(found)}.",
        on_axes={"scores": False},
        below=_text_of,
        one_panel="Use kind='together', or omit ax",
    ),
    RegionsByFeature: DrawnKind[RegionsByFeature](
        figure=_regions_by_feature,
        as_output={"top": None},
        table="Ranking",
        parts=_parts_of_features,
    ),
    MultiModelEffect: DrawnKind[MultiModelEffect](
        figure=models_figure,
        as_output={"scale": "difference", **_LEVEL},
        lead=_lead_of_models,
        note=lambda _: "explore() shows values on hover.",
    ),
    MultiModelEffects: DrawnKind[MultiModelEffects](
        figure=models_effects_figure,
        as_output={"top": None, "page": None, "scale": "difference", **_LEVEL},
        on_page={"top": None, "page": None},
        in_notebook=_FIRST,
        note=_drawn_effects,
        ranking=MultiModelEffects.ranking,
        tiles=True,
        table="Ranking",
        empty="No effects.",
    ),
    MultiModelImportance: DrawnKind[MultiModelImportance](
        figure=models_importance_figure,
        as_output={"top": None, **_LEVEL},
        lead=lambda found: sentence(f"{found.models[0].axis}, for {counted(len(found), 'model')}"),
        in_notebook=_BARS,
    ),
    MultiModelRegions: DrawnKind[MultiModelRegions](
        figure=recurrence_figure, as_output={}, table="First splits", parts=_parts_of_models
    ),
    MultiModelRegionsByFeature: DrawnKind[MultiModelRegionsByFeature](
        figure=recurrences_figure,
        on_page=_ALL,
        in_notebook=_FIRST,
        tiles=True,
        table="Ranking",
        parts=_parts_of_recurrences,
    ),
    ResultsByLabel: DrawnKind[ResultsByLabel[OutputResult]](
        figure=figure_of_outputs,
        lead=_lead_of_members,
        on_page=_ALL,
        in_notebook=_FIRST,
        note=lambda found: f"{repr(found)[1:-1]}.",
        tiles=True,
        table="Ranking",
        parts=_parts_of_members,
        one_panel="Omit ax, or plot one member or feature",
        empty="No outputs.",
    ),
}
"""Class → how its results are drawn."""


def _kind_of(result: ResultT_contra) -> DrawnKind[ResultT_contra] | None:
    """Return how a result is drawn; None for results that are shown as tables."""
    found = next((KINDS[kind] for kind in type(result).__mro__ if kind in KINDS), None)
    return cast("DrawnKind[ResultT_contra] | None", found)


# --- what follows from them -----------------------------------------------------------------------


def drawn_kind(result: ResultT_contra) -> DrawnKind[ResultT_contra]:
    """Return how a result is drawn."""
    kind = _kind_of(result)
    if kind is None:
        raise TypeError(f"no figure is known of a {type(result).__name__}")
    return kind


def explore(
    result: object, path: str | Path | None, title: str | None, **options: object
) -> html.Explorable:
    """Return a result as a page, and write it to a file if there is one; see the method `explore` of its class."""
    kind = drawn_kind(result)
    spec = kind.figure(result, **{**kind.on_page, **options})
    named = title or spec.title
    if kind.ranking is None:
        page = _page(kind, result, spec, named)
    else:
        by = cast("keywords.RankedBy", options.get("by", "importance"))
        columns = cast("int | None", options.get("columns"))
        features = list(cast("Mapping[str, object]", result))
        tiles = draw_tiles(spec, ident="small")
        gallery = html.Gallery(*tiles, kind.ranking(result, by), features, by, columns)
        page = html.of_many(named, gallery, html.numbers_of(result))
    if path is not None:
        page.save(path)
    return page


PANEL, ABREAST = 304.0, 3
"""Width in pixels of a panel beside others, and how many are beside one another in a notebook."""


def _figures(spec: FigureSpec, ident: str) -> tuple[list[Markup], float]:
    """Return a figure as elements, several panels arranged by the width of the page, and about how high it is."""
    if len(spec.stacks) == 1:
        one = draw(spec, ident=ident)
        return [tag("figure", one.svg, class_="skd-figure")], one.height
    drawn, legend = draw_tiles(spec, ident=ident, width=PANEL)
    items = [
        tag("li", tag("figure", one.svg, class_="skd-figure"), class_="skd-item") for one in drawn
    ]
    parts = [
        tag("ul", *items, class_="skd-gallery"),
        tag("figure", legend.svg, class_="skd-figure"),
    ]
    return parts, max(one.height for one in drawn) * -(-len(drawn) // ABREAST)


def _page(
    kind: DrawnKind[ResultT_contra], result: ResultT_contra, spec: FigureSpec, title: str
) -> html.Explorable:
    """Return the page of one figure."""
    if len(spec.stacks) == 1 and title == spec.title:  # which the heading of the page states
        (main, *below), *_ = spec.stacks
        spec = replace(spec, stacks=((replace(main, title=Title()), *below),))
    figures, height = _figures(spec, "figure")
    lead = kind.lead(result)
    said = [] if len(spec.stacks) == 1 else [n for n in spec.notes if n not in lead]
    figures += [html.note(" ".join(map(sentence, said)))] if said else []
    curves = any(isinstance(mark, CurveSet) for panel in spec.panels for mark in panel.marks)
    tables = html.numbers_of(result)
    parts = [] if kind.parts is None else kind.parts(result)
    body = [
        html.head(title, lead),
        *figures,
        tag("p", f"{html.HINT} {html.CURVES}" if curves else html.HINT, class_="skd-hint"),
        *([] if kind.below is None else [kind.below(result)]),
        *([html.folded(kind.table, *tables)] if tables else []),
        *parts,
    ]
    more = 110 * bool(parts) + 230 * (kind.below is not None)
    return html.explorable(title, joined(body), 1.2 * height + 190 + more)


def notebook_html(result: object) -> str:
    """Return a result as self-contained HTML for a notebook."""
    return html.static(*_static_parts(result))


def _static_parts(result: object) -> list[Markup]:
    """Return the elements that display a result, from top to bottom."""
    kind = _kind_of(result)
    if kind is None:
        return html.numbers_of(result) or [tag("pre", str(result), class_="skd-text")]
    if isinstance(result, Sized) and not len(result):
        return [html.note(kind.empty)]
    spec = kind.figure(result, **kind.in_notebook)
    tiled = kind.tiles and (len(spec.stacks) > 1 or spec.small)
    parts = html.still_many(spec) if tiled else [html.still(spec)]
    if kind.below is not None:
        parts.append(kind.below(result))
    if kind.note is not None:
        parts.append(html.note(kind.note(result)))
    if kind.note is None or kind.tiles:
        parts.append(html.folded(kind.table, *html.numbers_of(result)))
    return parts
