"""The page of a report: the values of its sections, and the HTML file made from them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import chain

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from skedasis import __version__
from skedasis._numbers import counted, number, number_or_zero, percent, sentence, unbroken
from skedasis.plots.elements import plain
from skedasis.plots.figures.diagnosis import diagnosis_figure
from skedasis.plots.figures.drift import drift_figure
from skedasis.plots.figures.overview import regions_point
from skedasis.plots.figures.surface import surface_figure
from skedasis.plots.html import csp
from skedasis.plots.html import script as figures_script
from skedasis.plots.html import style as figures_style
from skedasis.report import figures as report_figures
from skedasis.report import text as report_text
from skedasis.report.code import program
from skedasis.report.content import ModelSection, ReportContent, largest_shares
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
from skedasis.report.figures import drawn_figure
from skedasis.report.findings import NAME_LENGTH, uncertainty_findings, wrong_phrase
from skedasis.report.first_screen import first_screen, models_first_screen
from skedasis.report.format import (
    Context,
    NumberTable,
    feature_named,
    feature_title,
    listed,
    named,
    settings,
)
from skedasis.report.format import ends as ends_of
from skedasis.report.interactions import PairStrength
from skedasis.report.tables import cohort_tables, drift_tables, row_sentence, rows_table
from skedasis.report.uncertainty import UncertaintySection
from skedasis.report.views import Shown, Together, Views
from skedasis.results.axis import LevelAxis
from skedasis.results.effect_words import depends_on_cell, share_text
from skedasis.results.provenance import summed_costs
from skedasis.results.sentences import DRIFT, DRIFT_PARTS, UNEXPLAINED, tell
from skedasis.results.weak_spots import weak_spots_texts


# ------------------------------------------------------------------------------ methods and cost
def provenance_table(section: ModelSection) -> NumberTable:
    """Return a table with a row per pass: method, settings, model rows, calls, check, score and slope rows, seconds."""
    effects = section.rhale.values()
    sources = dict.fromkeys(str(e.provenance.get("local_effects", "")) for e in effects)
    where = "; ".join(filter(None, sources))
    trees = next(
        (str(e.provenance["trees"]) for e in section.passes if "trees" in e.provenance), ""
    )
    caption = f"{named(section.name)}: {section.rhale.provenance.get('quantity', '')}."
    caption += f" Local effects: {where}." if where else ""
    caption += f" Trees: {trees}." if where and trees else ""
    made = [one.provenance for one in section.passes]
    columns = {
        "Method": [_method(section, p) for p in made],
        "Settings": [settings(p.get("settings", {})) for p in made],
    }
    for key in ("model_rows", "model_calls", "check_rows", "score_rows", "slope_rows"):
        head = "Calls" if key == "model_calls" else key.replace("_", " ").capitalize()
        columns[head] = [f"{p.get(key, 0):,}" for p in made]
    columns["Seconds"] = [f"{p.get('seconds', 0.0):.2f}" for p in made]
    return NumberTable(caption, columns)


def _method(section: ModelSection, made: Mapping[str, object]) -> str:
    """Return the method of a pass, with its quantity if this is not the one explained."""
    of = str(made.get("quantity", ""))
    explained = section.rhale.provenance.get("quantity", "")
    same = of in ("", explained) or made["method"] == "diagnose"
    return str(made["method"]) if same else f"{made['method']} of {of}"


def provenance_text(content: ReportContent) -> str:
    """Return a paragraph on the rows that the results are based on, and their cost."""
    # A pass over several outputs of a model counts once.
    made = [p.provenance for section in content.sections for p in section.passes]
    cost, seconds = summed_costs(made), sum(float(p.get("seconds", 0.0)) for p in made)
    slopes = cost.get("slope_rows", 0)
    also = f" (derivatives for {slopes:,} rows)" if slopes else ""
    exact = all(p.get("exact", True) for p in made)
    marked = "" if exact else " Results from a sample and approximate results are marked."
    scores = [e.swap_score for section in content.sections for e in section.rhale.values()]
    pairs = max((s.pairs for s in scores if s is not None and not s.exact), default=0)
    some = f" The heterogeneity scores were computed from {2 * pairs:,} of these rows."
    who = "The models were" if len(content.sections) > 1 else "The model was"
    return (
        f"The effects were computed from all {content.rows:,} rows.{some if pairs else ''} {who} evaluated for "
        f"{cost.get('model_rows', 0):,} rows{also}, in {seconds:.1f} seconds.{marked} This page explains the model, "
        "not the world: where the model is wrong, its effects are wrong, too."
    )


def sort_positions(content: ReportContent) -> dict[str, Mapping[str, int]]:
    """Return each feature's position in the orders that the reader can choose."""
    features = list(content.features)
    # Units may differ by model: scores are compared as shares of those of a model.
    scores = [[s.rhale[f].heterogeneity_score for f in features] for s in content.sections]
    share = dict(zip(features, largest_shares(scores).tolist(), strict=True))
    orders = {
        "importance": features,
        "heterogeneity_score": sorted(features, key=lambda f: -share[f]),
        "column": list(content.sections[0].rhale),
    }
    return {f: {name: order.index(f) for name, order in orders.items()} for f in features}


# ------------------------------------------------------------------ interactions and uncertainty
def _interactions(section: ModelSection, shown: Shown, ident: str) -> Context:
    """Return the pairs of a model that interact."""
    surfaces = [
        {
            "pair": s.features,
            "name": " × ".join(map(feature_named, s.features)),
            "figure": drawn_figure(surface_figure(s), f"{ident}-{k}"),
            "code": program(section.code, [("pair", *s.features)]),
        }
        for k, s in enumerate(section.pairs, 1)
    ]
    return {
        "shown": shown,
        "name": section.name,
        "note": section.interactions.note,
        "surfaces": surfaces,
        "table": _strengths(section),
    }


LISTED = 20
"""Largest number of pairs in the table."""

ALWAYS = ("Interaction (SD)", "Shown")
"""Columns of the table that it has whatever is known."""


def _strengths(section: ModelSection) -> NumberTable:
    """Return the pairs that interact, with each measure that is known for one of them."""
    every = section.interactions.strengths
    pairs = every[:LISTED]
    columns = {
        "First feature": [feature_title(p.features[0]) for p in pairs],
        "Second feature": [feature_title(p.features[1]) for p in pairs],
        "Interaction (SD)": [_known(p.strength, number(p.strength)) for p in pairs],
        "H² (unscaled)": [_known(p.h2_unnormalized, number(p.h2_unnormalized)) for p in pairs],
        "A depends on B": [_known(p.share, _dependence(p)) for p in pairs],
        "Shown": ["yes" if p.shown else "" for p in pairs],
    }
    first = "" if len(pairs) == len(every) else f"The {LISTED} strongest. "
    return NumberTable(
        f"{first}Interaction of pairs, in units of {section.axis}",
        {head: cells for head, cells in columns.items() if any(cells) or head in ALWAYS},
    )


def _dependence(pair: PairStrength) -> str:
    """Return which feature of a pair depends on which, and how much."""
    a, b = pair.features if pair.depending == pair.features[0] else pair.features[::-1]
    return f"{feature_title(a)} depends on {feature_title(b)}: {share_text(pair.share)}"


def _known(value: float, text: str) -> str:
    return text if math.isfinite(value) else ""


def _uncertainty(
    section: ModelSection, found: UncertaintySection, shown: Shown, ident: str
) -> Context:
    """Return the predictive uncertainty of a model."""
    diagnosis = found.diagnosis
    verdicts = [] if diagnosis is None else diagnosis.verdicts
    columns = {
        "Feature": [feature_title(v.feature) for v in verdicts],
        "Verdict": [v.text for v in verdicts],
        "Next step": [v.next for v in verdicts],
    }
    effects = {"RHALE": found.rhale, "PDP": found.pdp}
    keys = [k for k in section.code if k[0] in ("diagnosis", "entropy", "entropy pdp")]
    return {
        "shown": shown,
        "name": section.name,
        "sentences": [*(f.text for f in uncertainty_findings(section)), *found.notes],
        "figure": diagnosis and drawn_figure(diagnosis_figure(diagnosis), f"{ident}-d"),
        "table": diagnosis and NumberTable("What to make of each feature", columns),
        "grids": {
            f"How unsure the model is: effects on the entropy ({method})": report_figures.draw_overview(
                some, f"{ident}-{method[0].lower()}", section.scale
            )
            for method, some in effects.items()
        },
        "code": program(section.code, keys),
    }


# ---------------------------------------------------------------------------------------- changes
def changed_context(content: ReportContent, views: Views) -> list[Context]:
    """Return what changed between models and rows, one part per output; none if nothing is compared."""
    changed, found = content.changed, list[Context]()
    if changed.why_not:
        return [
            {
                "shown": Shown(),
                "name": "",
                "sentences": [changed.why_not],
                "figure": None,
                "tables": [],
                "about": [],
            }
        ]
    shown = {
        s.output: Shown("", p.outputs) for s, p in zip(content.sections, views.places, strict=True)
    }
    models = list(dict.fromkeys(s.of for s in content.sections))
    for k, (label, drift) in enumerate(changed.drifts.items(), 1):
        named = [] if len(models) < 2 else [tell(DRIFT["models"], old=models[0], new=models[1])]
        output = "" if label is None else str(label)
        found.append(
            {
                "shown": shown.get(output, Shown()),
                "name": output,
                "sentences": list(drift.verdict),
                "about": named
                + [
                    DRIFT_PARTS[part.part]
                    for part, nothing in (
                        (drift.rows_moved, drift.same_rows),
                        (drift.model_changed, drift.same_model),
                    )
                    if not nothing
                ],
                "figure": drawn_figure(drift_figure(drift), f"changed-{k}"),
                "tables": drift_tables(drift),
            }
        )
    return found


# ---------------------------------------------------------------------------------------- models
def title(content: ReportContent) -> str:
    """Return the title of the page."""
    quantities = list(dict.fromkeys(t.quantity for t in content.sections))
    learned = all(q == "prediction" or q.startswith("P(") for q in quantities)
    models = len({t.of for t in content.sections})
    who = "a model" if models == 1 else f"{_SMALL.get(models, models)} models"
    if content.target and learned:
        return f"What {who} learned about {named(content.target)}"
    if content.target and quantities == ["entropy"]:
        return f"What makes {who} unsure about {named(content.target)}"
    # "prediction" is the default name, not one that the user has chosen.
    names = ["the prediction" if q == "prediction" else q for q in quantities]
    return f"Feature effects on {listed(names)}"


_SMALL = dict(enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine"], 2))


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
        "labels": any(e.observed is not None for e in effects),
    }


def cautions(content: ReportContent, views: Views) -> Iterator[tuple[str, str]]:
    """Yield cautions about the whole page, each once with the models that it concerns."""
    yield from (("", text) for text in content.remarks)
    of: dict[str, list[str]] = {}
    for section in content.sections:
        why = section.reasons.get("quality", "")
        if why and not why.startswith("No labels") and not section.note:
            of.setdefault(f"How well it predicts is not known. {why}", []).append(section.name)
        for text in section.warnings:
            of.setdefault(text, []).append(section.name)
    every = len(content.sections)
    yield from ((listed(some, 3) if len(some) < every else "", text) for text, some in of.items())
    if content.left_out:
        names = listed(content.left_out, 20)
        yield "", tell(UNEXPLAINED["levels"], names=names)
    if views.left_out:
        models = counted(views.left_out, "model")
        yield "", f"{models} not among the curves on the same axes: see each alone."


def model_context(
    content: ReportContent, views: Views, place: int, anchors: Mapping[str, str]
) -> Context:
    """Return the parts of the page about one model as a whole."""
    section, ident = content.sections[place], f"model-{place + 1}"
    explained = f"{counted(len(content.features), 'feature')} explained"
    data = f"{counted(content.rows, 'row')}, {counted(content.columns, 'column')}; {explained}"
    facts = {"Model": section.model, "Quantity": section.axis, "Data": data}
    facts |= {"Quality": section.note} if section.note else {}
    figures = [
        report_figures.variance_shares_figure(section, f"{ident}-variance-shares"),
        report_figures.calibration_figure(section, f"{ident}-calibration"),
    ]
    return {
        "shown": views.places[place],
        "everywhere": views.everywhere(place),
        "name": section.name,
        "facts": facts,
        "measures": () if section.quality is None else section.quality.measures,
        "quality": _quality_notes(section),
        "figures": [f for f in figures if f is not None],
        "wrong": _where_wrong(section),
        "wrong_figure": report_figures.weak_spots_figure(section, f"{ident}-wrong"),
        "where": report_figures.importance_figure(section, anchors, f"{ident}-places"),
        "arrows": any(regions_point(r) is not None for r in section.regions.values()),
        "all": report_figures.draw_overview(section.rhale, f"{ident}-all", section.scale),
        "all_caption": report_figures.overview_caption(section),
        "ranking": ranking(section, anchors),
        "given": {row.id: row_sentence(row) for row in section.given_rows},
        "given_table": rows_table(section, content.features),
        "cohorts": cohort_tables(section, content.features),
        "origins": provenance_table(section),
        "code": program(section.code, [("places",), ("all",)]),
    }


def _where_wrong(section: ModelSection) -> list[str]:
    """Return where the model is wrong on average, or that no such rows were found."""
    wrong = section.where_wrong
    return (
        []
        if wrong is None
        else [sentence(t) for t in weak_spots_texts(wrong.found, wrong_phrase(section))]
    )


def _quality_notes(section: ModelSection) -> list[str]:
    """Return cautions about the quality measures, or the reason why there are none."""
    if section.quality is not None:
        return list(section.quality.sentences)
    why = "" if section.note else section.reasons.get("quality", "")
    return [f"The quality of the predictions is not shown. {why}"] if why else []


# ---------------------------------------------------------------------------------------- ranking
BAR_WIDTH = 96
"""Length of the longest bar of a ranking, in pixels."""


def ranking(section: ModelSection, anchors: Mapping[str, str]) -> Context:
    """Return a model's ranking: numbers with bars and intervals, by what rows differ, and counts of warnings."""
    points, counts = section.importance_points, _counts(section)
    ends = [(*(p.importance_ends or ()), *(p.heterogeneity_score_ends or ())) for p in points]
    top = _largest(chain(*((p.importance, p.heterogeneity_score) for p in points), *ends))
    level = percent(report_text.LEVEL)
    return {
        "caption": f"Importance and heterogeneity score in units of {section.axis}, with {level} intervals.",
        "heads": ["Feature", "Importance", "Heterogeneity score", *counts],
        "lines": [
            {
                "name": feature_title(p.feature),
                "anchor": anchors[p.feature],
                "importance": _cell(p.importance, p.importance_ends, top),
                "heterogeneity_score": _cell(
                    p.heterogeneity_score, p.heterogeneity_score_ends, top
                ),
                "counts": [_count(head, cells, p.feature) for head, cells in counts.items()],
            }
            for p in points
        ],
    }


WARNINGS = "Warnings"
"""Head of the column with the numbers of warnings, which are marked."""


def _largest(values: Iterable[float]) -> float:
    """Return the largest of the values that are known, which has the longest bar; 1 if none is above zero."""
    return max(filter(math.isfinite, values), default=0.0) or 1.0


def _cell(value: float, ends: tuple[float, float] | None, top: float) -> Context:
    """Return a number with its bar and interval, in pixels."""

    def pixels(v: float) -> float:
        return round(BAR_WIDTH * min(max(v / top, 0.0), 1.0), 1)

    if ends is not None and not (all(map(math.isfinite, ends)) and ends[0] < ends[1]):
        ends = None
    return {
        "value": value if math.isfinite(value) else "",
        "text": number_or_zero(value, top),
        "share": pixels(value) if math.isfinite(value) else None,
        "ends": None if ends is None else (pixels(ends[0]), pixels(ends[1])),
        "interval": "" if ends is None else ends_of(*ends, top),
    }


def _counts(section: ModelSection) -> dict[str, dict[str, tuple[float, str]]]:
    """Return what a ranking tells besides, as numbers and texts by the head of the column and the feature."""
    whom = {f: e.depends_on for f, e in section.rhale.items() if e.depends_on is not None}
    regions = {f: r for f, r in section.regions.items() if len(r) > 1}
    explained = {
        f: (r.heterogeneity_explained, r.heterogeneity_explained_error) for f, r in regions.items()
    }
    warned = {f: len(checks.warnings) for f, checks in section.checks.items()}
    columns: dict[str, dict[str, tuple[float, str]]] = {
        "Differs by": {
            f: (on.share, depends_on_cell(on, feature_named(on.name, NAME_LENGTH)))
            for f, on in whom.items()
        },
        "The rule explains": {f: (v, share_text(v, error)) for f, (v, error) in explained.items()},
        WARNINGS: {f: (n, f"{n}") for f, n in warned.items()},
    }
    return {head: cells for head, cells in columns.items() if cells}


def _count(head: str, cells: Mapping[str, tuple[float, str]], feature: str) -> Context:
    """Return a cell of one of these columns, empty if the number is not known."""
    value, text = cells.get(feature, (math.nan, ""))
    if not math.isfinite(value):
        return {"value": "", "text": "", "warn": False}
    return {"value": value, "text": text, "warn": head == WARNINGS and value > 0}


def comparison(together: Together, features: Sequence[str], anchors: Mapping[str, str]) -> Context:
    """Return importance and heterogeneity score of all features in several models."""
    sections = together.sections
    numbers = {
        f: [v for s in sections for v in (s.rhale[f].importance, s.rhale[f].heterogeneity_score)]
        for f in features
    }
    top = _largest(chain.from_iterable(numbers.values()))
    return {
        "shown": together.shown,
        "caption": f"Importance and heterogeneity score of each feature, in units of {sections[0].axis}.",
        "models": together.names,
        "lines": [
            {
                "name": feature_title(f),
                "anchor": anchors[f],
                "numbers": [_cell(v, None, top) for v in some],
            }
            for f, some in numbers.items()
        ],
    }


# --------------------------------------------------------------------------------------- the page
_SECTIONS = {
    "first": "Summary",
    "who": "Who is affected",
    "changed": "What changed",
    "where": "Where to look",
    "rows": "Rows",
    "cohorts": "Cohorts",
    "features": "Features",
    "pairs": "Interactions",
    "uncertainty": "Uncertainty",
    "made": "Methods and cost",
    "reading": "How to read this page",
}


def page_context(content: ReportContent, name: str | None, progress: bool | None) -> Context:
    """Return all values that the page's templates need."""
    views, anchors = Views.of(content.sections), anchors_of(content)
    sections = list(enumerate(content.sections))
    # Predictive uncertainty is about a model, whatever output is chosen: the section of the first output has it.
    about = {
        "pairs": [
            _interactions(s, views.everywhere(k), f"pairs-{k + 1}")
            for k, s in sections
            if s.interactions.strengths
        ],
        "uncertainty": [
            _uncertainty(
                s, s.uncertainty, Shown(views.everywhere(k).models), f"uncertainty-{k + 1}"
            )
            for k, s in sections
            if s.uncertainty is not None
        ],
        "changed": changed_context(content, views),
        "rows": any(s.given_rows for s in content.sections),
        "cohorts": any(s.cohorts for s in content.sections),
    }
    at_once = [
        models_first_screen(content, one, anchors, f"first-all-{k}")
        for k, one in enumerate(views.together, 1)
    ]
    one_by_one = [
        first_screen(content, s, anchors, views.places[k], f"first-{k + 1}")
        | {"everywhere": views.everywhere(k)}
        for k, s in sections
    ]
    about["who"] = any(screen["who"] for screen in one_by_one)
    context: Context = {
        **about,
        "title": name or title(content),
        "data": content.data,
        "several": views.several,
        "drawn": min(FIRST, len(content.features)),
        "printed": min(PRINTED, len(content.features)),
        "views": views,
        "outputs_name": content.sections[0].outputs,
        "contents": {a: text for a, text in _SECTIONS.items() if about.get(a, True)},
        "first": [*at_once, *one_by_one],
        "comparisons": [comparison(one, content.features, anchors) for one in views.together],
        "models": [
            model_context(content, views, k, anchors) | {"more": one_by_one[k]["more"]}
            for k, _ in sections
        ],
        "count": len(content.features),
        "features": [],
        "left_out": [],
        "kinds": feature_kinds(content),
        "raised": any(t.scale == "prediction" for t in content.sections),
        "scored": any(e.swap_score is not None for s in content.sections for e in s.rhale.values()),
        "cautions": list(cautions(content, views)),
        "made": provenance_text(content),
        "versions": content.sections[0].rhale.provenance.get("versions", {}),
        "json": Markup(embedded_json(content)),  # noqa: S704 - escaped for a script element
    }
    return _with_features(content, views, context, progress)


REMARKS = 4_000
"""Bytes that are kept for the sentence on what was left out, and for what joins the sections."""


def _with_features(
    content: ReportContent, views: Views, context: Context, progress: bool | None
) -> Context:
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


# --------------------------------------------------------------------------------- the HTML file
@cache
def _text(name: str) -> str:
    return resources.files("skedasis.report").joinpath("templates", name).read_text("utf-8")


def _shown(value: object) -> Markup:
    """Return what a template shows; formulas, and a number with its unit of percent and its error, stay on one line."""
    if type(value) is not str:
        return plain(value)
    return Markup(_FORMULA.sub(_on_one_line, plain(unbroken(value))))  # noqa: S704 - escaped before


_FORMULA = re.compile(r"\bP\([^()]{1,40}\)| (?:[=≤×→]|&[lg]t;) ")
"""A probability such as "P(y = bad)", and a sign between two sides."""


def _on_one_line(found: re.Match[str]) -> str:
    return found[0].replace(" ", "\u00a0")


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
    environment.filters |= {
        "named": named,
        "titled": feature_title,
        "breakable": breakable,
        "copied": copied,
    }
    return environment


def render(context: Context) -> str:
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
