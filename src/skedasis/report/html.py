"""The page of a report: sections, templates and provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from skedasis._types import Json
from skedasis.engine.run import Progress
from skedasis.plots.html import csp
from skedasis.plots.html import script as figures_script
from skedasis.plots.html import style as figures_style
from skedasis.plots.scales import count, number
from skedasis.report import figures as report_figures
from skedasis.report import text as report_text
from skedasis.report.content import Story, Told
from skedasis.report.figures import Shown
from skedasis.report.format import Numbers, listed, named, percent, settings
from skedasis.report.format import ends as ends_of
from skedasis.report.uncertainty import Unsure
from skedasis.results.checks.check import Flag
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect import Effect
from skedasis.results.effects import Rank
from skedasis.results.surface import Surface

# ------------------------------------------------------------------------------------------
# How a report was made: passes, where slopes came from, what was walked, and by which versions.


def origins(told: Told) -> list[tuple[str, ...]]:
    """Return how each pass was made: method, settings, model rows, calls, slope, check and score rows, seconds."""
    lines: list[tuple[str, ...]] = []
    for made in told.passes:
        p = made.provenance
        lines.append(
            (
                _method(told, p),
                settings(p["settings"]),
                f"{p['model_rows']:,}",
                f"{p['model_calls']:,}",
                f"{p['slope_rows']:,}",
                f"{p['check_rows']:,}",
                f"{p.get('score_rows', 0):,}",
                f"{p['seconds']:.2f}",
            )
        )
    return lines


def _method(told: Told, made: Json) -> str:
    """Return what was done, and to what where that is not what is explained."""
    of = str(made.get("quantity", ""))
    other = of not in ("", str(told.rhale.provenance["quantity"])) and made["method"] != "diagnose"
    return f"{made['method']} of {of}" if other else str(made["method"])


def slopes_from(told: Told) -> list[str]:
    """Return where the local effects of RHALE, and of what stands in its place, came from; each source once."""
    sources = [str(e.provenance.get("local_effects", "")) for e in told.rhale.values()]
    return [s for s in dict.fromkeys(sources) if s]


def walked(told: Told) -> str:
    """Return whether an ensemble of trees was walked, or why it was called; nothing of other models."""
    said = next((str(e.provenance["trees"]) for e in told.passes if "trees" in e.provenance), "")
    return f" Trees: {said}." if said else ""


def versions(story: Story) -> str:
    """Return the versions of what computed the numbers."""
    known = story.told[0].rhale.provenance["versions"]
    return ", ".join(f"{name} {version}" for name, version in known.items())


@dataclass(frozen=True)
class Cost:
    """What a story cost, all models together.

    Parameters
    ----------
    model_rows, check_rows, slope_rows, score_rows, model_calls : int
    seconds : float
    exact : bool
        Whether nothing of it is approximate.
    """

    model_rows: int
    check_rows: int
    slope_rows: int
    score_rows: int
    model_calls: int
    seconds: float
    exact: bool


def cost_table(story: Story) -> Cost:
    """Return what a story cost; a pass over several outputs of a model counts once.

    Examples
    --------
    >>> import numpy as np
    >>> from skedasis.report.content import gather
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> cost(gather(lambda X: X[:, 0], X, progress=False)).exact
    True
    """
    made = [p.provenance for told in story.told for p in told.passes]
    rows, checks, slopes, scores, calls = (
        sum(int(p.get(name, 0)) for p in made)
        for name in ("model_rows", "check_rows", "slope_rows", "score_rows", "model_calls")
    )
    seconds = sum(float(p.get("seconds", 0.0)) for p in made)
    exact = all(p.get("exact", True) for p in made)
    return Cost(rows, checks, slopes, scores, calls, seconds, exact)


# ------------------------------------------------------------------------------------------
# The sections of single features: their figures, words, objections, numbers and code.


FIRST = 10
"""Features whose figures are drawn when the page is loaded; those of others when they come near."""


MADE = ("main", "compare", "pdp", "trust")
"""What a feature's section shows, by the names of `skedasis.report.code`."""


FEW = ("few rows", "one row")
"""Objections that say of which bins or levels little is known, so that nothing else has to."""


_KINDS = {"nominal": "levels without an order", "ordinal": "ordered levels"}


def anchored(story: Story) -> dict[str, str]:
    """Return where on the page each feature is."""
    return {feature: f"feature-{k}" for k, feature in enumerate(story.features, 1)}


def features(story: Story, progress: bool | None = None) -> list[dict[str, Any]]:
    """Return the features' sections, the most important first.

    Parameters
    ----------
    story : Story
    progress : bool, optional
        A bar while figures are drawn, where that takes longer than two seconds.
    """
    places, ranks = anchored(story), _ranks(story)
    sections: list[dict[str, Any]] = []
    with Progress(len(story.features), "Drawing", progress) as bar:
        for k, feature in enumerate(story.features):
            section = _feature(story, feature, places[feature])
            sections.append(section | {"drawn": k < FIRST, "ranks": ranks[feature]})
            bar.advance()
    return sections


def _feature(story: Story, feature: str, anchor: str) -> dict[str, Any]:
    first = story.told[0].rhale[feature]
    return {
        "name": feature,
        "unit": report_text.unit_of(first),
        "kind": _KINDS.get(first.about.feature.kind, ""),
        "anchor": anchor,
        "effects": [
            _of_model(told, feature, f"{anchor}-{k}") for k, told in enumerate(story.told, 1)
        ],
    }


def _of_model(told: Told, feature: str, ident: str) -> dict[str, Any]:
    rhale = told.rhale[feature]
    unit, flags = report_text.unit_of(rhale), told.trust.get(feature, ())
    said = {
        "Effect": report_text.course(rhale, unit),
        "Rows": report_text.scatter(rhale),
        "Certainty": report_text.certainty(rhale, told.ale[feature]),
        "Missing": report_text.missing(rhale),
        "Order": report_text.order(rhale),
    }
    return {
        "model": told.name,
        "said": {about: text for about, text in said.items() if text},
        "figures": report_figures.of_feature(told, feature, ident),
        "doubts": report_text.doubts(rhale, objected=any(f.kind in FEW for f in flags)),
        "flags": _flags(flags, feature),
        "parts": "bins" if rhale.levels is None else "levels",
        "tables": report_text.numbers(rhale, told.axis, _per(rhale, unit, feature)),
        "code": _feature_code(told, feature),
    }


def _per(effect: Effect, unit: str, feature: str) -> str:
    """Return what slopes are given per."""
    return "day" if effect.time is not None else unit or f"unit of {named(feature)}"


def _flags(found: Sequence[Flag], feature: str) -> dict[str, list[str]]:
    """Return objections, warnings apart from notes; a long name is shortened in them."""
    short = f"'{named(feature)}'"
    lines = [(f.severity, f.text.replace(repr(feature), short)) for f in found]
    return {
        "warnings": [text for severity, text in lines if severity == "warning"],
        "notes": [text for severity, text in lines if severity == "note"],
    }


def _feature_code(told: Told, feature: str) -> str:
    """Return what makes a feature's figures again."""
    lines = [told.code[kind, feature] for kind in MADE if (kind, feature) in told.code]
    return "\n".join([told.code["import",], "", *lines]) if lines else ""


# ---------------------------------------------------------------------------------------- orders
def _ranks(story: Story) -> dict[str, Mapping[str, int]]:
    """Return each feature's place in the orders that a reader can choose."""
    orders = {
        "importance": list(story.features),
        "heterogeneity_score": _by_score(story),
        "column": list(story.told[0].rhale),
    }
    places = {name: {f: k for k, f in enumerate(order)} for name, order in orders.items()}
    return {f: {name: place[f] for name, place in places.items()} for f in story.features}


def _by_score(story: Story) -> list[str]:
    """Return the features by the largest share of a model's heterogeneity scores: models may differ in their units."""
    shares = dict.fromkeys(story.features, 0.0)
    for told in story.told:
        scores = {f: np.nan_to_num(told.rhale[f].heterogeneity_score) for f in story.features}
        total = sum(scores.values()) or 1.0
        shares = {f: max(share, scores[f] / total) for f, share in shares.items()}
    return sorted(story.features, key=lambda f: -shares[f])


# ------------------------------------------------------------------------------------------
# The sections that not every page has: features that act in pairs, and what makes a model unsure.


def pairs(story: Story) -> dict[str, Any] | None:
    """Return what features do in pairs; None where no pair was computed."""
    models = [
        _pairs_of(told, f"pairs-{k}")
        for k, told in enumerate(story.told, 1)
        if told.together.strengths
    ]
    if not models:
        return None
    lead = (
        "Second-order ALE: the effect of two features together that is not the sum of their effects. Zero everywhere "
        "means that they do not interact. A pair’s interaction strength is the standard deviation of this effect over "
        "the rows; cells without rows do not count."
    )
    return {"lead": lead, "models": models}


def _pairs_of(told: Told, ident: str) -> dict[str, Any]:
    together = told.together
    top = max(s.strength for s in together.strengths)
    said = [] if top > 0 else ["None of the computed pairs interacts."]
    return {
        "name": told.name,
        "said": [*said, together.note] if together.note else said,
        "surfaces": [
            _surface(told, surface, f"{ident}-{k}") for k, surface in enumerate(told.pairs, 1)
        ],
        "tables": [_strengths(told)],
    }


def _surface(told: Told, surface: Surface, ident: str) -> dict[str, Any]:
    a, b = surface.features
    return {
        "names": (a, b),
        "name": f"{named(a)} × {named(b)}",
        "figure": report_figures.of_pair(surface, ident),
        "code": _pairs_code(told, [("pair", a, b)]),
    }


def _strengths(told: Told) -> Numbers:
    heads = (("First", True), ("Second", True), ("Interaction strength", False), ("Shown", True))
    rows = [
        (*s.features, number(s.strength), "yes" if s.shown else "") for s in told.together.strengths
    ]
    caption = f"Interaction strength of each computed pair, in units of {told.axis}"
    return Numbers(caption, heads, rows)


def _pairs_code(told: Told, keys: list[tuple[str, ...]]) -> str:
    lines = [told.code[key] for key in keys if key in told.code]
    return "\n".join([told.code["import",], "", *lines]) if lines else ""


def uncertainty_section(story: Story) -> dict[str, Any] | None:
    """Return what makes the models unsure; None where none of them says how sure it is."""
    models = [
        _unsure_of(told, told.unsure, f"unsure-{k}")
        for k, told in enumerate(story.told, 1)
        if told.unsure is not None
    ]
    if not models:
        return None
    lead = (
        "The model predicts a distribution. Its entropy measures how uncertain the prediction of a row is. Here the "
        "entropy is explained like any other quantity: where a curve rises, predictions become less certain."
    )
    return {"lead": lead, "models": models}


def _unsure_of(told: Told, found: Unsure, ident: str) -> dict[str, Any]:
    first = [r.feature for r in found.rhale.ranking() if r.importance > 0][:3]
    said = (
        [f"On average, the entropy depends most on {listed(first)}."]
        if first
        else ["No feature changes the entropy."]
    )
    keys = [k for k in told.code if k[0] in ("diagnosis", "entropy", "entropy pdp")]
    diagnosis = found.diagnosis
    grids = {
        "RHALE of the entropy": (found.rhale, "r"),
        "PDP of the entropy": (found.pdp, "p"),
    }
    return {
        "name": told.name,
        "said": [*said, *found.notes],
        "figures": []
        if diagnosis is None
        else [report_figures.of_diagnosis(diagnosis, f"{ident}-d")],
        "tables": [] if diagnosis is None else [_verdicts(diagnosis)],
        "grids": [
            {"name": name, "figures": report_figures.draw_overview(effects, f"{ident}-{letter}")}
            for name, (effects, letter) in grids.items()
        ],
        "code": _pairs_code(told, keys),
    }


def _verdicts(diagnosis: Diagnosis) -> Numbers:
    heads = (("Feature", True), ("What its importances say", True), ("What to look at next", True))
    rows = [(v.feature, v.text, v.next) for v in diagnosis.verdicts]
    return Numbers("What the diagnosis says of each feature", heads, rows)


# ------------------------------------------------------------------------------------------
# The sections of the page about whole models: at a glance, where to look, pairs, what is unsure, how it was made.


LENGTH = 96
"""Pixels of a ranking's longest bar."""


def title(story: Story) -> str:
    """Return what the page is about."""
    # "prediction" is no name that a user has given.
    names = ("the prediction" if t.quantity == "prediction" else t.quantity for t in story.told)
    quantities = list(dict.fromkeys(names))
    return f"Feature effects on {listed(quantities)}"


def lead(story: Story) -> str:
    """Return the page in a sentence."""
    names = listed([t.name for t in story.told])
    return (
        f"The effect of {count(len(story.features), 'feature')} in {names}: how large it is, where the average "
        f"misleads, and how precise it is. From {count(story.rows, 'row')} of {count(story.columns, 'column')}."
    )


def kinds(story: Story) -> dict[str, bool]:
    """Return which kinds of features there are to be told how to read."""
    effects = [e for t in story.told for e in t.rhale.values()]
    found = {e.about.feature.kind for e in effects}
    return {
        "numeric": any(e.levels is None for e in effects),
        "levels": any(e.levels is not None for e in effects),
        "nominal": "nominal" in found,
        "ordinal": "ordinal" in found,
        "missing": any(e.missing_point is not None for e in effects),
    }


def cautions(story: Story) -> list[dict[str, str]]:
    """Return what is to be minded of the whole page, with the model that it concerns."""
    several = len(story.told) > 1
    found = [{"name": "", "text": text} for text in story.remarks]
    if story.left_out:
        names = listed(story.left_out, 20)
        text = f"Left out, having more than 2,000 levels: {names}. The model still uses them."
        found.append({"name": "", "text": text})
    found += [
        {"name": told.name if several else "", "text": text}
        for told in story.told
        for text in told.warnings
    ]
    return found


def model(story: Story, told: Told, anchors: Mapping[str, str], ident: str) -> dict[str, Any]:
    """Return what the page says of one model as a whole.

    Parameters
    ----------
    story : Story
    told : Told
        One of its models.
    anchors : mapping of str to str
        Where each feature is.
    ident : str
        Unique on the page.
    """
    return {
        "name": told.name,
        "facts": _facts(story, told),
        "gist": report_text.gist(told),
        "tiles": _tiles(told),
        "quality": _said_of_quality(told),
        "figures": _there(
            report_figures.of_ledger(told, f"{ident}-ledger"),
            report_figures.of_calibration(told, f"{ident}-calibration"),
        ),
        "where": _there(report_figures.of_places(told, anchors, f"{ident}-places")),
        "all": report_figures.draw_overview(told.rhale, f"{ident}-all"),
        "all_said": report_text.of_all(told, report_figures.MANY).text,
        "ranking": ranking(told, anchors),
        "origins": _origins(told),
        "code": _overview_code(told),
    }


def _there(*figures: Shown | None) -> list[Shown]:
    return [f for f in figures if f is not None]


def _overview_code(told: Told) -> str:
    """Return what makes the ranking and the figures of all features again."""
    lines = [told.code[key] for key in (("places",), ("all",)) if key in told.code]
    return "\n".join([told.code["import",], "", *lines]) if lines else ""


def _tiles(told: Told) -> list[tuple[str, str, str]]:
    """Return how well the model predicts, in figures."""
    if told.quality is None:
        return []
    return [(m.name, m.text, m.meaning) for m in told.quality.measures]


def _said_of_quality(told: Told) -> list[str]:
    """Return what to mind of these figures, whose meaning the gist says; or why there are none."""
    if told.quality is not None:
        return list(told.quality.said[1:])
    why = "" if told.note else told.reasons.get("quality", "")
    return [f"How well it predicts is not said here. {why}"] if why else []


def _facts(story: Story, told: Told) -> list[tuple[str, str]]:
    explained = f"{count(len(story.features), 'feature')} explained"
    data = f"{count(story.rows, 'row')}, {count(story.columns, 'column')}; {explained}"
    found = [("Model", told.model), ("Explained", told.axis), ("Data", data)]
    return found + ([("Quality", told.note)] if told.note else [])


# --------------------------------------------------------------------------------------- ranking
def ranking(told: Told, anchors: Mapping[str, str]) -> dict[str, Any]:
    """Return a model's ranking: numbers with their bars, intervals where they are known, and what there is to mind."""
    intervals = f", with {percent(report_text.LEVEL)} intervals" if told.places else ""
    return {
        "caption": f"Importance and heterogeneity score in units of {told.axis}{intervals}.",
        "heads": _heads(told),
        "lines": _lines(told, anchors),
    }


def _heads(told: Told) -> list[dict[str, str]]:
    numeric = any(e.levels is None for e in told.rhale.values())
    levels = any(e.levels is not None for e in told.rhale.values())
    parts = "Bins" if not levels else "Bins or levels" if numeric else "Levels"
    heads = ["Feature", "Importance", "Heterogeneity score", parts]
    heads += ["Rows not to be trusted", "Missing"]
    if told.trust:
        heads.append("Warnings")
    return [
        {
            "text": text,
            "first": "ascending" if text == "Feature" else "descending",
            "sorted": "descending" if text == "Importance" else "",
        }
        for text in heads
    ]


def _lines(told: Told, anchors: Mapping[str, str]) -> list[dict[str, Any]]:
    places = {p.feature: p for p in told.places}
    ranks = {r.feature: r for r in told.rhale.ranking()}
    values = [v for r in ranks.values() for v in (r.importance, r.heterogeneity_score)]
    ends = [e for p in places.values() for e in (p.importance_ends, p.heterogeneity_score_ends)]
    values += [v for pair in ends if pair is not None for v in pair]
    top = max([v for v in values if math.isfinite(v)], default=0.0) or 1.0
    lines: list[dict[str, Any]] = []
    for line in report_text.ranking(told):
        f = line.feature
        rank, place = ranks[f], places.get(f)
        lines.append(
            {
                "name": f,
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
                "counts": _counts(told, rank, line),
            }
        )
    return lines


def _cell(value: float, text: str, ends: tuple[float, float] | None, top: float) -> dict[str, Any]:
    """Return a number with its bar and interval, in pixels."""

    def pixels(v: float) -> float:
        return round(LENGTH * min(max(v / top, 0.0), 1.0), 1)

    known = ends is not None and all(map(math.isfinite, ends)) and ends[0] < ends[1]
    return {
        "value": value if math.isfinite(value) else "",
        "text": text,
        "share": pixels(value) if math.isfinite(value) else None,
        "ends": tuple(map(pixels, ends)) if ends and known else None,
        "interval": ends_of(*ends, top) if ends and known else "",
    }


def _counts(told: Told, rank: Rank, line: report_text.Line) -> list[dict[str, Any]]:
    found = [
        {"value": rank.bins, "text": line.bins, "warn": False},
        {"value": rank.untrusted_rows, "text": line.untrusted, "warn": rank.untrusted_rows > 0},
        {"value": rank.missing, "text": line.missing, "warn": False},
    ]
    if told.trust:
        warnings = len(told.trust[rank.feature].warnings) if rank.feature in told.trust else 0
        found.append({"value": warnings, "text": f"{warnings}", "warn": warnings > 0})
    return found


# ------------------------------------------------------------------------------ how it was made
def made(story: Story) -> str:
    """Return what the numbers rest on, and what they cost."""
    cost = cost_table(story)
    rows = cost.model_rows + cost.check_rows + cost.score_rows
    also = f" and for {count(cost.slope_rows, 'row')} of slopes" if cost.slope_rows else ""
    exact = (
        "" if cost.exact else " What rests on a sample, or is approximate, says so where it stands."
    )
    who = "The models were" if len(story.told) > 1 else "The model was"
    return (
        f"The effects rest on all {count(story.rows, 'row')}.{_sampled(story)} {who} asked for "
        f"{count(rows, 'row')}{also}, in {cost.seconds:.1f} seconds.{exact} The page explains the model, "
        "not the world: where the model errs, so do its effects."
    )


def _sampled(story: Story) -> str:
    """Say how many rows the heterogeneity scores rest on, where these are not all."""
    scores = [e.swap_score for told in story.told for e in told.rhale.values()]
    pairs = [s.pairs for s in scores if s is not None and not s.exact]
    return f" The heterogeneity scores rest on {2 * max(pairs):,} of them." if pairs else ""


def _origins(told: Told) -> Numbers:
    sources = slopes_from(told)
    where = f" Local effects: {'; '.join(sources)}.{walked(told)}" if sources else ""
    heads = (
        *(("Method", False), ("Settings", True), ("Model rows", False), ("Calls", False)),
        *(("Slope rows", False), ("Check rows", False), ("Score rows", False)),
        ("Seconds", False),
    )
    caption = f"{named(told.name)}: {told.rhale.provenance['quantity']}.{where}"
    return Numbers(caption, heads, origins(told))


def sections(story: Story, name: str | None, progress: bool | None) -> dict[str, Any]:
    """Return all that the page's templates ask for.

    Parameters
    ----------
    story : Story
    name : str, optional
        The page's title.
    progress : bool, optional
        A bar while figures are drawn.
    """
    places = anchored(story)
    together, unsure = pairs(story), uncertainty_section(story)
    return {
        "title": name or title(story),
        "lead": lead(story),
        "data": story.data,
        "several": len(story.told) > 1,
        "drawn": min(FIRST, len(story.features)),
        "contents": _contents(pairs=together is not None, unsure=unsure is not None),
        "models": [model(story, t, places, f"model-{k}") for k, t in enumerate(story.told, 1)],
        "features": features(story, progress),
        "kinds": kinds(story),
        "scored": any(e.swap_score is not None for t in story.told for e in t.rhale.values()),
        "cautions": cautions(story),
        "pairs": together,
        "unsure": unsure,
        "made": made(story),
        "versions": versions(story),
    }


def _contents(*, pairs: bool, unsure: bool) -> list[dict[str, str]]:
    names = {"short": "At a glance", "where": "Where to look", "features": "Each feature"}
    names |= {"pairs": "Pairs"} if pairs else {}
    names |= {"unsure": "Predictive uncertainty"} if unsure else {}
    names |= {"made": "How this was made"}
    return [{"anchor": anchor, "name": name} for anchor, name in names.items()]


# ------------------------------------------------------------------------------------------
# From sections to one file: the template, its looks, its script, and the policy that allows these and nothing else.


@cache
def _text(name: str) -> str:
    return resources.files("skedasis.report").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    # Everything that comes from a user is escaped: a column may be called <script>.
    made = Environment(
        loader=PackageLoader("skedasis.report"), autoescape=True, undefined=StrictUndefined
    )
    made.filters["named"] = named
    return made


def written(sections: Mapping[str, Any]) -> str:
    """Return the page.

    Parameters
    ----------
    sections : mapping
        What the templates ask for. Text is escaped; only SVG, whose text is escaped already, comes as `Markup`.

    Returns
    -------
    str
        One file: it fetches nothing, and runs its own script alone.
    """
    from skedasis import __version__

    style = f"{figures_style()}\n{_text('page.css')}"
    script = f"{figures_script()}\n{_text('page.js')}"
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            **sections,
            version=__version__,
            policy=csp([style], [script]),
            style=Markup(style),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704
        )
    )
