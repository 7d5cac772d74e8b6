"""The page of a report: the values of its sections, and the HTML file made from them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from skedasis import __version__
from skedasis._numbers import counted, number, number_or_zero, percent, unbroken
from skedasis.plots.elements import plain
from skedasis.plots.figures.overview import regions_point
from skedasis.plots.html import csp
from skedasis.plots.html import script as figures_script
from skedasis.plots.html import style as figures_style
from skedasis.report import figures as report_figures
from skedasis.report import text as report_text
from skedasis.report.code import program
from skedasis.report.content import ModelSection, ReportContent
from skedasis.report.contexts import (
    Caution,
    Cell,
    Comparison,
    ComparisonLine,
    Count,
    Entry,
    ModelContext,
    PageContext,
    PageHead,
    PairsOfModel,
    RankingContext,
    RankingLine,
    Section,
    SurfaceContext,
    UncertaintyOfModel,
)
from skedasis.report.data import embedded_json
from skedasis.report.features import (
    FIRST,
    PRINTED,
    PageDetail,
    anchors_of,
    feature_context,
    fitted_features,
    page_budget,
    size_remarks,
)
from skedasis.report.figures import PageFigure
from skedasis.report.findings import NAME_LENGTH
from skedasis.report.first_screen import first_screen, models_first_screen
from skedasis.report.format import (
    NumberTable,
    feature_named,
    feature_title,
    listed,
    listed_features,
    named,
    settings,
)
from skedasis.report.format import ends as ends_of
from skedasis.report.interactions import PairStrength
from skedasis.report.tables import cohort_tables, row_sentence, rows_table
from skedasis.report.uncertainty import UncertaintySection
from skedasis.report.views import Shown, Together, Views
from skedasis.results.axis import LevelAxis
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect_words import depends_on_cell, share_text
from skedasis.results.surface import Surface


# ------------------------------------------------------------------------------ methods and cost
def provenance_rows(section: ModelSection) -> list[tuple[str, ...]]:
    """Return a row per pass: method, settings, model rows, calls, check, score and slope rows, seconds."""
    counts = ("model_rows", "model_calls", "check_rows", "score_rows", "slope_rows")
    return [
        (
            _method(section, p),
            settings(p.get("settings", {})),
            *(f"{p.get(name, 0):,}" for name in counts),
            f"{p.get('seconds', 0.0):.2f}",
        )
        for p in (one.provenance for one in section.passes)
    ]


def _method(section: ModelSection, made: Mapping[str, object]) -> str:
    """Return the method of a pass, with its quantity if this is not the one explained."""
    of = str(made.get("quantity", ""))
    other = (
        of not in ("", section.rhale.provenance.get("quantity", ""))
        and made["method"] != "diagnose"
    )
    return f"{made['method']} of {of}" if other else str(made["method"])


def local_effect_sources(section: ModelSection) -> list[str]:
    """Return the distinct sources of the local effects (derivatives, differences, trees)."""
    sources = [str(e.provenance.get("local_effects", "")) for e in section.rhale.values()]
    return [s for s in dict.fromkeys(sources) if s]


def tree_note(section: ModelSection) -> str:
    """Return whether effects were computed from the tree structure, or why not; empty for other models."""
    note = next((str(e.provenance["trees"]) for e in section.passes if "trees" in e.provenance), "")
    return f" Trees: {note}." if note else ""


def versions(content: ReportContent) -> str:
    """Return the versions of the libraries that computed the numbers."""
    known = content.sections[0].rhale.provenance.get("versions", {})
    return ", ".join(f"{name} {version}" for name, version in known.items())


@dataclass(frozen=True)
class Cost:
    """The cost of a report, summed over all models."""

    model_rows: int
    slope_rows: int
    seconds: float
    exact: bool


def cost_table(content: ReportContent) -> Cost:
    """Return the cost of a report; a pass over several outputs of a model counts once."""
    made = [p.provenance for section in content.sections for p in section.passes]
    rows, slopes = (sum(int(p.get(name, 0)) for p in made) for name in ("model_rows", "slope_rows"))
    seconds = sum(float(p.get("seconds", 0.0)) for p in made)
    exact = all(p.get("exact", True) for p in made)
    return Cost(rows, slopes, seconds, exact)


# ----------------------------------------------------------------------------------------- orders
def sort_positions(content: ReportContent) -> dict[str, Mapping[str, int]]:
    """Return each feature's position in the orders that the reader can choose."""
    orders = {
        "importance": list(content.features),
        "heterogeneity_score": _by_score(content),
        "column": list(content.sections[0].rhale),
    }
    places = {name: {f: k for k, f in enumerate(order)} for name, order in orders.items()}
    return {f: {name: place[f] for name, place in places.items()} for f in content.features}


def _by_score(content: ReportContent) -> list[str]:
    """Return the features by their largest fraction of a model's heterogeneity scores: units may differ by model."""
    shares = dict.fromkeys(content.features, 0.0)
    for section in content.sections:
        scores = {f: np.nan_to_num(section.rhale[f].heterogeneity_score) for f in content.features}
        total = sum(scores.values()) or 1.0
        shares = {f: max(share, scores[f] / total) for f, share in shares.items()}
    return sorted(content.features, key=lambda f: -shares[f])


# ------------------------------------------------------------------ interactions and uncertainty
def interactions_section(content: ReportContent) -> Section[PairsOfModel] | None:
    """Return the section about interactions; None if no pair was computed."""
    views = Views.of(content.sections)
    models = [
        _model_interactions(section, views.everywhere(k), f"pairs-{k + 1}")
        for k, section in enumerate(content.sections)
        if section.interactions.strengths
    ]
    if not models:
        return None
    lead = (
        "Second-order ALE: the part of the joint effect of two features that is not the sum of their main effects. If "
        "it is zero everywhere, the features do not interact. The interaction strength of a pair is the standard "
        "deviation of this effect over the rows; cells without rows do not count."
    )
    return {"lead": lead, "models": models}


def _model_interactions(section: ModelSection, shown: Shown, ident: str) -> PairsOfModel:
    interactions = section.interactions
    return {
        "shown": shown,
        "name": section.name,
        "sentences": [interactions.note] if interactions.note else [],
        "surfaces": [
            _surface(section, surface, f"{ident}-{k}") for k, surface in enumerate(section.pairs, 1)
        ],
        "tables": [_strengths(section)],
    }


def _surface(section: ModelSection, surface: Surface, ident: str) -> SurfaceContext:
    a, b = surface.features
    return {
        "names": (feature_title(a), feature_title(b)),
        "name": f"{feature_named(a)} × {feature_named(b)}",
        "figure": report_figures.surface_figure(surface, ident),
        "code": program(section.code, [("pair", a, b)]),
    }


LISTED = 20
"""Largest number of pairs in the table."""


def _strengths(section: ModelSection) -> NumberTable:
    """Return the pairs that interact, with each measure that is known for one of them."""
    pairs = section.interactions.strengths[:LISTED]
    heads = [("First feature", True), ("Second feature", True), ("Interaction strength", False)]
    columns = [
        [feature_title(p.features[0]) for p in pairs],
        [feature_title(p.features[1]) for p in pairs],
        [_known(p.strength, number(p.strength)) for p in pairs],
    ]
    if any(math.isfinite(p.h2_unnormalized) for p in pairs):
        heads.append(("Joint partial dependence", False))
        columns.append([_known(p.h2_unnormalized, number(p.h2_unnormalized)) for p in pairs])
    if any(math.isfinite(p.share) for p in pairs):
        heads.append(("Share of the heterogeneity", True))
        columns.append([_known(p.share, _dependence(p)) for p in pairs])
    heads.append(("Shown", True))
    columns.append(["yes" if p.shown else "" for p in pairs])
    first = "" if len(pairs) == len(section.interactions.strengths) else f"The {LISTED} strongest. "
    caption = f"{first}Interaction of pairs, in units of {section.axis}"
    return NumberTable(caption, tuple(heads), list(zip(*columns, strict=True)))


def _dependence(pair: PairStrength) -> str:
    """Return which feature of a pair depends on which, and how much."""
    a, b = pair.features if pair.depending == pair.features[0] else pair.features[::-1]
    return f"{feature_title(a)} depends on {feature_title(b)}: {share_text(pair.share)}"


def _known(value: float, text: str) -> str:
    return text if math.isfinite(value) else ""


def uncertainty_section(content: ReportContent) -> Section[UncertaintyOfModel] | None:
    """Return the section about predictive uncertainty; None if no model has a predictive distribution."""
    views = Views.of(content.sections)
    # It is about a model, whatever output is chosen: the section of the first output has it.
    models = [
        _model_uncertainty(
            section,
            section.uncertainty,
            Shown(views.everywhere(k).models),
            f"uncertainty-{k + 1}",
        )
        for k, section in enumerate(content.sections)
        if section.uncertainty is not None
    ]
    if not models:
        return None
    lead = (
        "The model predicts a distribution. Its entropy measures how uncertain a prediction is. Here the entropy is "
        "explained like any other quantity: where a curve rises, predictions become more uncertain."
    )
    return {"lead": lead, "models": models}


def _model_uncertainty(
    section: ModelSection, found: UncertaintySection, shown: Shown, ident: str
) -> UncertaintyOfModel:
    first = [r.feature for r in found.rhale.ranking() if r.importance > 0][:3]
    sentences = (
        [f"On average, the entropy depends most on {listed_features(first)}."]
        if first
        else ["No feature changes the entropy."]
    )
    keys = [k for k in section.code if k[0] in ("diagnosis", "entropy", "entropy pdp")]
    diagnosis = found.diagnosis
    grids = {
        "Effects on the entropy (RHALE)": (found.rhale, "r"),
        "Effects on the entropy (PDP)": (found.pdp, "p"),
    }
    return {
        "shown": shown,
        "name": section.name,
        "sentences": [*sentences, *found.notes],
        "figures": []
        if diagnosis is None
        else [report_figures.diagnosis_figure(diagnosis, f"{ident}-d")],
        "tables": [] if diagnosis is None else [_verdicts(diagnosis)],
        "grids": [
            {"name": name, "figures": report_figures.draw_overview(effects, f"{ident}-{letter}")}
            for name, (effects, letter) in grids.items()
        ],
        "code": program(section.code, keys),
    }


def _verdicts(diagnosis: Diagnosis) -> NumberTable:
    heads = (("Feature", True), ("Verdict", True), ("Next step", True))
    rows = [(feature_title(v.feature), v.text, v.next) for v in diagnosis.verdicts]
    return NumberTable("Verdict of the diagnosis for each feature", heads, rows)


# ---------------------------------------------------------------------------------------- models
BAR_WIDTH = 96
"""Length of the longest bar of a ranking, in pixels."""


def title(content: ReportContent) -> str:
    """Return the title of the page."""
    # "prediction" is the default name, not one that the user has chosen.
    prediction = (
        f"the prediction of {named(content.target)}" if content.target else "the prediction"
    )
    names = (prediction if t.quantity == "prediction" else t.quantity for t in content.sections)
    quantities = list(dict.fromkeys(names))
    return f"Feature effects on {listed(quantities)}"


def feature_kinds(content: ReportContent) -> dict[str, bool]:
    """Return which kinds of features there are, for the reading guide."""
    effects = [e for t in content.sections for e in t.rhale.values()]
    found = {e.about.feature.kind for e in effects}
    return {
        "numeric": any(not isinstance(e.axis, LevelAxis) for e in effects),
        "levels": any(isinstance(e.axis, LevelAxis) for e in effects),
        "nominal": "nominal" in found,
        "ordinal": "ordinal" in found,
        "missing": any(e.missing_point is not None for e in effects),
    }


def cautions(content: ReportContent, views: Views) -> list[Caution]:
    """Return cautions about the whole page, each with the model that it concerns."""
    several = len(content.sections) > 1
    found: list[Caution] = [{"name": "", "text": text} for text in content.remarks]
    for section in content.sections:
        why = section.reasons.get("quality", "")
        if why and not why.startswith("No labels") and not section.note:
            text = f"How well it predicts is not known. {why}"
            found.append({"name": section.name if several else "", "text": text})
    if content.left_out:
        names = listed(content.left_out, 20)
        text = f"Left out because of more than 2,000 levels: {names}. The model still uses these features."
        found.append({"name": "", "text": text})
    found += [
        Caution(name=section.name if several else "", text=text)
        for section in content.sections
        for text in section.warnings
    ]
    if views.left_out:
        models = counted(views.left_out, "model")
        found.append(
            {"name": "", "text": f"{models} not among the curves on the same axes: see each alone."}
        )
    return found


def model_context(
    content: ReportContent, views: Views, place: int, anchors: Mapping[str, str]
) -> ModelContext:
    """Return the parts of the page about one model as a whole."""
    section, ident = content.sections[place], f"model-{place + 1}"
    return {
        "shown": views.places[place],
        "everywhere": views.everywhere(place),
        "name": section.name,
        "facts": _facts(content, section),
        "more": report_text.summary(section),
        "tiles": _tiles(section),
        "quality": _quality_notes(section),
        "figures": _present(
            report_figures.variance_shares_figure(section, f"{ident}-variance-shares"),
            report_figures.calibration_figure(section, f"{ident}-calibration"),
        ),
        "where": _present(report_figures.importance_figure(section, anchors, f"{ident}-places")),
        "arrows": any(regions_point(r) is not None for r in section.regions.values()),
        "all": report_figures.draw_overview(section.rhale, f"{ident}-all"),
        "all_caption": report_text.overview_caption(section, report_figures.MANY).text,
        "ranking": ranking(section, anchors),
        "given": [(row.id, row_sentence(row)) for row in section.given_rows],
        "given_table": rows_table(section, content.features),
        "cohorts": cohort_tables(section, content.features),
        "origins": _provenance_table(section),
        "code": program(section.code, [("places",), ("all",)]),
    }


def _present(*figures: PageFigure | None) -> list[PageFigure]:
    return [f for f in figures if f is not None]


def _tiles(section: ModelSection) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of each quality measure."""
    if section.quality is None:
        return []
    return [(m.name, m.text, m.meaning) for m in section.quality.measures]


def _quality_notes(section: ModelSection) -> list[str]:
    """Return cautions about the quality measures, or the reason why there are none."""
    if section.quality is not None:
        return list(section.quality.sentences[1:])
    why = "" if section.note else section.reasons.get("quality", "")
    return [f"The quality of the predictions is not shown. {why}"] if why else []


def _facts(content: ReportContent, section: ModelSection) -> list[tuple[str, str]]:
    explained = f"{counted(len(content.features), 'feature')} explained"
    data = f"{counted(content.rows, 'row')}, {counted(content.columns, 'column')}; {explained}"
    found = [("Model", section.model), ("Quantity", section.axis), ("Data", data)]
    return found + ([("Quality", section.note)] if section.note else [])


# ---------------------------------------------------------------------------------------- ranking
def ranking(section: ModelSection, anchors: Mapping[str, str]) -> RankingContext:
    """Return a model's ranking: numbers with bars and intervals, and counts of bins, rows and warnings."""
    level = percent(report_text.LEVEL)
    intervals = f", with {level} intervals" if section.importance_points else ""
    return {
        "caption": f"Importance and heterogeneity score in units of {section.axis}{intervals}.",
        "heads": _heads(section),
        "lines": _lines(section, anchors),
    }


def _heads(section: ModelSection) -> list[PageHead]:
    heads = ["Feature", "Importance", "Heterogeneity score"]
    heads += ["Mostly by"] if _with_whom(section) else []
    heads += ["Regions explain"] if section.regions else []
    heads += ["Warnings"] if section.checks else []
    return [
        {
            "text": text,
            "first": "ascending" if text == "Feature" else "descending",
            "sorted": "descending" if text == "Importance" else "",
        }
        for text in heads
    ]


def _with_whom(section: ModelSection) -> bool:
    """Return whether it is known of any feature by which other one rows differ."""
    return any(e.depends_on is not None for e in section.rhale.values())


def _lines(section: ModelSection, anchors: Mapping[str, str]) -> list[RankingLine]:
    places = {p.feature: p for p in section.importance_points}
    ranks = {r.feature: r for r in section.rhale.ranking()}
    values = [v for r in ranks.values() for v in (r.importance, r.heterogeneity_score)]
    ends = [e for p in places.values() for e in (p.importance_ends, p.heterogeneity_score_ends)]
    values += [v for pair in ends if pair is not None for v in pair]
    top = max([v for v in values if math.isfinite(v)], default=0.0) or 1.0
    lines: list[RankingLine] = []
    for line in report_text.ranking(section):
        f = line.feature
        rank, place = ranks[f], places.get(f)
        lines.append(
            {
                "name": feature_title(f),
                "anchor": anchors[f],
                "importance": _cell(
                    rank.importance, line.importance, place and place.importance_ends, top
                ),
                "heterogeneity_score": _cell(
                    rank.heterogeneity_score,
                    line.heterogeneity_score,
                    place and place.heterogeneity_score_ends,
                    top,
                ),
                "counts": _counts(section, f),
            }
        )
    return lines


def _cell(value: float, text: str, ends: tuple[float, float] | None, top: float) -> Cell:
    """Return a number with its bar and interval, in pixels."""

    def pixels(v: float) -> float:
        return round(BAR_WIDTH * min(max(v / top, 0.0), 1.0), 1)

    if ends is not None and not (all(map(math.isfinite, ends)) and ends[0] < ends[1]):
        ends = None
    return {
        "value": value if math.isfinite(value) else "",
        "text": text,
        "share": pixels(value) if math.isfinite(value) else None,
        "ends": None if ends is None else (pixels(ends[0]), pixels(ends[1])),
        "interval": "" if ends is None else ends_of(*ends, top),
    }


def _counts(section: ModelSection, feature: str) -> list[Count]:
    """Return by which feature rows differ, what regions explain of the heterogeneity, and the number of warnings."""
    found: list[Count] = []
    if _with_whom(section):
        whom = section.rhale[feature].depends_on
        text = "" if whom is None else depends_on_cell(whom, feature_named(whom.name, NAME_LENGTH))
        found.append({"value": "" if whom is None else whom.share, "text": text, "warn": False})
    if section.regions:
        regions = section.regions.get(feature)
        share, error = math.nan, math.nan
        if regions is not None and len(regions) > 1:
            share = regions.heterogeneity_explained
            error = regions.heterogeneity_explained_error
        known = math.isfinite(share)
        text = share_text(share, error) if known else ""
        found.append({"value": share if known else "", "text": text, "warn": False})
    if section.checks:
        checks = section.checks.get(feature)
        warnings = 0 if checks is None else len(checks.warnings)
        found.append({"value": warnings, "text": f"{warnings}", "warn": warnings > 0})
    return found


# -------------------------------------------------------------------------- provenance and contents
def provenance_text(content: ReportContent) -> str:
    """Return a paragraph on the rows that the results are based on, and their cost."""
    cost = cost_table(content)
    also = f" (derivatives for {counted(cost.slope_rows, 'row')})" if cost.slope_rows else ""
    exact = "" if cost.exact else " Results from a sample and approximate results are marked."
    who = "The models were" if len(content.sections) > 1 else "The model was"
    return (
        f"The effects were computed from all {counted(content.rows, 'row')}.{_sampled(content)} {who} evaluated for "
        f"{counted(cost.model_rows, 'row')}{also}, in {cost.seconds:.1f} seconds.{exact} This page explains the model, "
        "not the world: where the model is wrong, its effects are wrong, too."
    )


def _sampled(content: ReportContent) -> str:
    """Return a sentence on the number of rows of the heterogeneity scores, if these are not all."""
    scores = [e.swap_score for section in content.sections for e in section.rhale.values()]
    pairs = [s.pairs for s in scores if s is not None and not s.exact]
    return (
        f" The heterogeneity scores were computed from {2 * max(pairs):,} of these rows."
        if pairs
        else ""
    )


def _provenance_table(section: ModelSection) -> NumberTable:
    sources = local_effect_sources(section)
    where = f" Local effects: {'; '.join(sources)}.{tree_note(section)}" if sources else ""
    heads = (
        *(("Method", False), ("Settings", True), ("Model rows", False), ("Calls", False)),
        *(("Check rows", False), ("Score rows", False), ("Slope rows", False)),
        ("Seconds", False),
    )
    caption = f"{named(section.name)}: {section.rhale.provenance.get('quantity', '')}.{where}"
    return NumberTable(caption, heads, provenance_rows(section))


def page_context(content: ReportContent, name: str | None, progress: bool | None) -> PageContext:
    """Return all values that the page's templates need."""
    views, anchors = Views.of(content.sections), anchors_of(content)
    interactions, uncertainty = interactions_section(content), uncertainty_section(content)
    one_by_one = [
        first_screen(content, section, anchors, shown, f"first-{k}")
        for k, (section, shown) in enumerate(zip(content.sections, views.places, strict=True), 1)
    ]
    at_once = [
        models_first_screen(content, one, anchors, f"first-all-{k}")
        for k, one in enumerate(views.together, 1)
    ]
    context: PageContext = {
        "title": name or title(content),
        "data": content.data,
        "several": views.several,
        "drawn": min(FIRST, len(content.features)),
        "printed": min(PRINTED, len(content.features)),
        "models_switch": views.models,
        "outputs_switch": views.outputs,
        "outputs_name": content.sections[0].outputs,
        "contents": _contents(
            {
                "rows": any(s.given_rows for s in content.sections),
                "cohorts": any(s.cohorts for s in content.sections),
                "pairs": interactions is not None,
                "uncertainty": uncertainty is not None,
            }
        ),
        "has_rows": any(s.given_rows for s in content.sections),
        "has_cohorts": any(s.cohorts for s in content.sections),
        "first": [*at_once, *one_by_one],
        "comparisons": [comparison(one, content.features, anchors) for one in views.together],
        "models": [model_context(content, views, k, anchors) for k in range(len(content.sections))],
        "count": len(content.features),
        "features": [],
        "left_out": [],
        "kinds": feature_kinds(content),
        "scored": any(e.swap_score is not None for t in content.sections for e in t.rhale.values()),
        "cautions": cautions(content, views),
        "pairs": interactions,
        "uncertainty": uncertainty,
        "made": provenance_text(content),
        "versions": versions(content),
        "json": Markup(embedded_json(content)),  # noqa: S704 - escaped for a script element
    }
    return _with_features(content, views, context, progress)


REMARKS = 4_000
"""Bytes that are kept for the sentence on what was left out, and for what joins the sections."""


def _with_features(
    content: ReportContent, views: Views, context: PageContext, progress: bool | None
) -> PageContext:
    """Return the values of the page with its features' sections, in as much detail as its size allows."""
    orders, count = sort_positions(content), len(content.features)
    template = _environment().get_template("feature.html.j2")

    def drawn(place: int, detail: PageDetail) -> Markup:
        ranks = orders[content.features[place]]
        one = feature_context(content, views, place, ranks, detail)
        return Markup(template.render(f=one, several=views.several))  # noqa: S704 - a template

    budget = page_budget(count * len(content.sections))
    room = budget - len(render(context).encode("utf-8", errors="replace")) - REMARKS
    sections, details = fitted_features(count, room, drawn, progress)
    return {**context, "features": sections, "left_out": size_remarks(details, budget)}


def comparison(
    together: Together, features: Sequence[str], anchors: Mapping[str, str]
) -> Comparison:
    """Return importance and heterogeneity score of all features in several models."""
    sections = together.sections
    effects = [e for s in sections for e in s.rhale.values()]
    values = [v for e in effects for v in (e.importance, e.heterogeneity_score)]
    top = max([v for v in values if math.isfinite(v)], default=0.0) or 1.0
    lines: list[ComparisonLine] = []
    for feature in features:
        numbers: list[Cell] = []
        for section in sections:
            effect = section.rhale[feature]
            both = effect.importance, effect.heterogeneity_score
            numbers += [_cell(value, number_or_zero(value, top), None, top) for value in both]
        lines.append(
            {"name": feature_title(feature), "anchor": anchors[feature], "numbers": numbers}
        )
    return {
        "shown": together.shown,
        "caption": f"Importance and heterogeneity score of each feature, in units of {sections[0].axis}.",
        "models": list(together.names),
        "lines": lines,
    }


_SECTIONS = {
    "first": "Summary",
    "where": "Where to look",
    "rows": "Rows",
    "cohorts": "Cohorts",
    "features": "Features",
    "pairs": "Interactions",
    "uncertainty": "Uncertainty",
    "made": "Methods and cost",
}


def _contents(there: Mapping[str, bool]) -> list[Entry]:
    """Return the table of contents, without the sections that are not there."""
    return [
        {"anchor": anchor, "name": name}
        for anchor, name in _SECTIONS.items()
        if there.get(anchor, True)
    ]


# --------------------------------------------------------------------------------- the HTML file
@cache
def _text(name: str) -> str:
    return resources.files("skedasis.report").joinpath("templates", name).read_text("utf-8")


def _shown(value: object) -> Markup:
    """Return what a template shows; a number stays on one line with its unit of percent and its error."""
    return plain(unbroken(value) if type(value) is str else value)


def breakable(name: str) -> Markup:
    """Return a name that a browser may break after underscores, dots and hyphens."""
    return Markup(re.sub(r"([_.-])", r"\1<wbr>", str(plain(name))))  # noqa: S704 - escaped before


def copied(code: str) -> Markup:
    """Return code whose right-to-left names stand in elements, which are not copied with it."""
    marked = str(plain(code)).replace("\u2068", "<bdi>").replace("\u2069", "</bdi>")
    return Markup(marked)  # noqa: S704 - escaped before


@cache
def _environment() -> Environment:
    # Text from users is escaped: a column may be called <script>.
    environment = Environment(
        loader=PackageLoader("skedasis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    environment.filters |= {"named": named, "breakable": breakable, "copied": copied}
    return environment


def render(context: PageContext) -> str:
    """Return the HTML of the page."""
    style = f"{figures_style()}\n{_text('page.css')}"
    script = f"{figures_script()}\n{_text('page.js')}"
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            **context,
            version=__version__,
            policy=csp([style], [script]),
            style=Markup(style),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704
        )
    )
