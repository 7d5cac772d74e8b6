"""The first screen of a page: what is explained, what explains the variance, findings, and three curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from skedasis._numbers import counted, number, number_or_zero, percent, sentence, with_minus
from skedasis.plots.figures.regions import OWN_AVERAGE, OWN_HEIGHT
from skedasis.plots.figures.summary import (
    MOST_LEVELS,
    effect_summary_figure,
    models_summary_figure,
    regions_summary_figure,
)
from skedasis.plots.marks import FigureSpec
from skedasis.report.content import ModelSection, ReportContent
from skedasis.report.figures import CURVE_WIDTH, PageFigure, drawn_figure
from skedasis.report.findings import (
    NAME_LENGTH,
    Sentence,
    effect_size,
    findings,
    first_findings,
    headline,
    moving,
    quality_text,
    quantity_phrase,
    regions_that_matter,
)
from skedasis.report.format import Context, feature_named, feature_title, named
from skedasis.report.given_rows import with_rows
from skedasis.report.quality import TRAINED
from skedasis.report.views import Shown, Together
from skedasis.results.curve_words import curve_words
from skedasis.results.effect import TRUSTED_ROWS
from skedasis.results.effect_words import how_much
from skedasis.results.keywords import CurveScale
from skedasis.results.sentences import AVERAGE, DIFFERS, MODELS, tell
from skedasis.results.variance_shares import VarianceShares

CURVES = 3
"""Largest number of curves on the first screen."""


def most_important(section: ModelSection, most: int = CURVES) -> list[str]:
    """Return the features that move the prediction most, on average or by group; those without a curve are left out."""
    return [f for f in moving(section) if np.isfinite(section.rhale[f].value).sum() > 1][:most]


def _drawn_features(section: ModelSection, said: Sequence[Sentence]) -> list[str]:
    """Return the features to draw: those that the sentences are about, then those that move the prediction most."""
    every = most_important(section, len(section.rhale))
    told = [f.features[0] for f in said if f.kind == "feature" and f.features]
    return list(dict.fromkeys([*(f for f in told if f in every), *every]))[:CURVES]


def summary_figure(
    section: ModelSection, feature: str, ident: str, *, whom: bool = False
) -> PageFigure:
    """Draw a feature in small: the curves of its regions where they matter, else its average curve."""
    effect, regions = section.rhale[feature], regions_that_matter(section, feature)
    notes: list[str] = []
    found = effect.depends_on
    if whom and regions is None and found is not None:
        name = feature_named(found.name, NAME_LENGTH)
        notes.append(tell(DIFFERS, how=how_much(found.share), name=name))
    if regions is None:
        spec, places = effect_summary_figure(effect, scale=section.scale), [None]
    else:
        spec = regions_summary_figure(regions, scale=section.scale)
        places = list(range(len(regions)))
    main = spec.main
    if section.given_rows:
        for region in places:  # each row is on the curve of its region
            main = with_rows(
                main, section, feature, "curve", region=region, most_levels=MOST_LEVELS
            )
    return _small(replace(spec, stacks=((main,),)), notes, ident)


def _small(spec: FigureSpec, notes: Sequence[str], ident: str) -> PageFigure:
    """Draw a small figure whose notes stand below it, so that figures side by side stand on one line."""
    main = replace(spec.main, title=replace(spec.main.title, method=""), notes=())
    said = " ".join(sentence(note) for note in (*notes, *spec.main.notes))
    return drawn_figure(replace(spec, stacks=((main,),)), ident, said, width=CURVE_WIDTH)


def first_screen(
    content: ReportContent,
    section: ModelSection,
    anchors: Mapping[str, str],
    shown: Shown,
    ident: str,
) -> Context:
    """Return the first screen about one model."""
    every = findings(section)
    said = first_findings(every)
    features = _drawn_features(section, said)
    told = {(f.features[0], by) for f in said for by in f.features[1:]}
    by = {f: e.depends_on.name for f, e in section.rhale.items() if e.depends_on is not None}
    whom = {f for f, other in by.items() if (f, other) not in told}
    first = [f.features[0] for f in said if f.kind == "feature" and f.features]
    shares = section.variance_shares
    alone = len({one.of for one in content.sections}) == 1
    return {
        "shown": shown,
        "name": section.name,
        "headline": headline(
            section, rows=content.rows, features=len(content.features), target=content.target
        ),
        "remark": f"{_level(section)} {section.note if section.quality is None else TRAINED}",
        "cohorts": _cohort_lines(section),
        "models": [],
        "variance_shares": shares and variance_bar(shares),
        "no_variance_shares": section.reasons.get("variance_shares", ""),
        "findings": [
            *(_linked(f, anchors) for f in said),
            *(_changed(content, section) if alone else []),
        ],
        "more": [_linked(f, anchors) for f in every if f not in said],
        "about": quantity_phrase(section),
        "curves_name": "The features above, in the same order"
        if first[: len(features)] == features
        else "The features that change it most, on average or for groups of rows",
        "curves": [
            summary_figure(section, f, f"{ident}-curve-{k}", whom=f in whom)
            for k, f in enumerate(features, 1)
        ],
        "note": _note(section, features),
        "who": _affected(section, anchors),
    }


def _level(section: ModelSection) -> str:
    """Say what is predicted on average, and the scale of an entropy; the curves tell differences only."""
    if not math.isfinite(section.mean):
        return ""
    mean, unit = number(section.mean), next(iter(section.rhale.values())).about.unit
    if section.of_classes is None or unit not in ENTROPY_UNITS:
        default = section.class_name and section.quantity.startswith("P(")
        axis = section.quantity if default else ""
        return tell(AVERAGE[""], quantity=quantity_phrase(section), axis=axis, mean=mean)
    double = ENTROPY_UNITS[unit]  # log 2
    likely = 2.0 ** (section.mean / double)
    facts = {"unit": unit, "classes": section.of_classes, "likely": likely, "double": double}
    return tell(AVERAGE["entropy"], mean=mean, **facts)


ENTROPY_UNITS = {"nats": math.log(2.0), "bits": 1.0}
"""The units of entropies, with how much larger one is if twice as many values are as likely."""


def _affected(section: ModelSection, anchors: Mapping[str, str]) -> list[Context]:
    """Return the features whose effect differs between groups of rows: each rule, its rows, and the effect there."""
    found: list[Context] = []
    for feature in most_important(section, len(section.rhale)):
        regions = regions_that_matter(section, feature)
        if regions is not None:
            of = zip(regions.leaves, regions.shares.tolist(), regions.effects, strict=True)
            lines = [
                (with_minus(n.rule), f"{n.count:,} ({percent(share)})", curve_words(effect))
                for n, share, effect in of
            ]
            title, anchor = feature_title(feature), anchors[feature]
            found.append({"name": title, "anchor": anchor, "lines": lines})
    return found[:AFFECTED]


AFFECTED = 20
"""Most features in the table of who is affected, those that matter most; sections of features have the others."""


ALIKE = 0.05
"""Difference of fractions below which models are said to be alike."""

NEARLY_SAME = 0.02
"""Fraction of the effects of a model that differs between rows, below which these are said to be nearly the same."""

IMPORTANCE = "Importance: how far the average curve moves rows (standard deviation)"
"""What the numbers below the curves of several models mean."""

BAND = "Bands: the 95 % interval of the average, for this model and other rows like these"
BANDS = f"{BAND}, and how far single rows lie from it (spread between rows, one standard deviation)"
"""What the bands along a curve mean: one, or two."""


def _note(section: ModelSection, features: Sequence[str]) -> str:
    """Return what the numbers below the curves, their zero and their bands mean."""
    said = [ALONE]
    single = [section.rhale[f] for f in features if regions_that_matter(section, f) is None]
    if section.scale == "difference":
        at = f" ({number(section.mean)})" if math.isfinite(section.mean) else ""
        said.append(f"The line at 0 stands for the average{at}")
    if len(single) < len(features):
        said.append(sentence(OWN_HEIGHT if section.scale == "prediction" else OWN_AVERAGE)[:-1])
    spread = any(e.heterogeneity_score > 0 for e in single)
    said += [BANDS if spread else BAND, "Strokes on the axis: values of rows", IMPORTANT]
    return f"{'. '.join(said)}."


IMPORTANT = "Important features move rows far from the average (standard deviation)"
"""What the order of the features means."""

ALONE = "Along a curve only this feature changes: the others stay as they are in the rows"
"""What a curve holds fixed."""


COHORTS = 4
"""Largest number of cohorts on the first screen."""


def _cohort_lines(section: ModelSection) -> list[tuple[str, str]]:
    """Return the first cohorts with their rows, their mean prediction and the quality there."""
    lines: list[tuple[str, str]] = []
    for cohort in section.cohorts[:COHORTS]:
        said = [counted(cohort.rows, "row")]
        if math.isfinite(cohort.mean):
            said.append(f"mean prediction {number(cohort.mean)}")
        if cohort.quality is not None and cohort.rows >= TRUSTED_ROWS:
            said.append(quality_text(cohort.quality))
        lines.append((named(with_minus(cohort.rule)), ", ".join(said)))
    more = len(section.cohorts) - COHORTS
    return [*lines, ("…", f"{counted(more, 'more cohort')}")] if more > 0 else lines


def _linked(found: Sentence, anchors: Mapping[str, str]) -> Context:
    """Return a finding; a name at its beginning is a link to the section of the feature."""
    for feature in found.features:
        name = feature_named(feature)
        if found.text.startswith(name) and feature in anchors:
            return {"name": name, "anchor": anchors[feature], "text": found.text[len(name) :]}
    return {"name": "", "anchor": "", "text": found.text}


def _changed(content: ReportContent, section: ModelSection) -> list[Context]:
    """Return what changed of an output as a finding, which is a link to its section; none if nothing is compared."""
    said = content.changed.said(section.output)
    text = f": {said[:1].lower()}{said[1:]}"
    return [{"name": "What changed", "anchor": "changed", "text": text}] if said else []


# ------------------------------------------------------------------------------------ the variance shares
def variance_bar(shares: VarianceShares) -> list[Context] | None:
    """Return what the curves shown explain as one bar: average curves, curves of regions, and what is left."""
    if not math.isfinite(shares.as_drawn):
        return None
    main = min(max(shares.as_drawn, 0.0), 1.0)
    regions = min(max(np.nan_to_num(shares.by_region) - main, 0.0), 1.0 - main)
    why = "" if main else WORTHLESS
    lines = [
        ("main", f"explained by the average curves of all features{why}", main),
        ("regions", "more with curves of groups of rows", regions),
        ("rest", "left unexplained", 1.0 - main - regions),
    ]
    lines = [line for line in lines if line[0] != "regions" or regions >= LEAST]
    ends = np.cumsum([0.0, *(share for *_, share in lines)])
    texts = whole_percents([share for *_, share in lines])
    return [
        {
            "kind": kind,
            "name": name,
            "text": text,
            "left": f"{100 * left:.2f}%",
            "width": f"{100 * (right - left):.2f}%",
            "middle": f"{50 * (left + right):.2f}%",
            "labelled": right - left > 0.09,
        }
        for (kind, name, _), text, (left, right) in zip(lines, texts, pairwise(ends), strict=True)
    ]


WORTHLESS = (
    ": their sum predicts no better than the mean of all rows, because features interact; "
    "each curve alone is right on average"
)
"""The text where the sum of the curves predicts the quantity worse than its mean does."""

LEAST = 0.005
"""Fraction of the variance; a smaller part has no line of its own."""


def whole_percents(shares: Sequence[float]) -> list[str]:
    r"""Return shares that sum to 1 as percentages that sum to 100."""
    exact = 100 * np.array(shares)
    whole = np.floor(exact)
    # The largest remainders are rounded up until the sum is right.
    up = np.argsort(whole - exact, kind="stable")[: round(100 - whole.sum())]
    whole[up] += 1
    return [
        percent(s if w in (0, 100) else w / 100)
        for w, s in zip(whole.tolist(), shares, strict=True)
    ]


# ------------------------------------------------------------------------------- several models
def models_first_screen(
    content: ReportContent, together: Together, anchors: Mapping[str, str], ident: str
) -> Context:
    """Return the first screen about several models: their curves on the same axes."""
    sections = together.sections
    order, what = _order(sections, content.features), quantity_phrase(sections[0])
    curves = [
        models_figure(together, f, f"{ident}-curve-{k}") for k, f in enumerate(order[:CURVES], 1)
    ]
    lines: list[Context] = [
        {
            "name": name,
            "line": f"hue{k}",
            "headline": _model_line(s),
            "variance_shares": None
            if s.variance_shares is None
            else variance_bar(s.variance_shares),
        }
        for k, (s, name) in enumerate(zip(sections, together.names, strict=True))
    ]
    return {
        "shown": together.shown,
        "name": "",
        "headline": f"{what[:1].upper()}{what[1:]} in {len(sections)} models, on the same {content.rows:,} rows.",
        "remark": TRAINED if any(s.quality is not None for s in sections) else "",
        "cohorts": [],
        "models": lines,
        "variance_shares": None,
        "no_variance_shares": "",
        "findings": [
            *(_linked(f, anchors) for f in models_findings(together, content.features)),
            *_changed(content, sections[0]),
        ],
        "curves_name": "The features that change the predictions of these models most",
        "curves": curves,
        "note": f"{IMPORTANCE}. {BAND}.",
        "who": [],
    }


def _model_line(section: ModelSection) -> str:
    """Return the kind of a model, and how well it predicts: on these rows, or as the caller says."""
    if section.quality is not None:
        return f"{section.model}, {quality_text(section.quality)}"
    return f"{section.model}: {section.note}" if section.note else section.model


def _shares(section: ModelSection) -> dict[str, float]:
    """Return the size of each feature as a fraction of the largest one of its model."""
    sizes = {f: effect_size(e) for f, e in section.rhale.items()}
    top = max(sizes.values(), default=0.0) or 1.0
    return {f: v / top for f, v in sizes.items()}


def _order(sections: Sequence[ModelSection], features: Sequence[str]) -> list[str]:
    """Return the features with a curve by their mean share of the largest size in each model."""
    shares = [_shares(s) for s in sections]
    drawn = [f for f in features if all(np.isfinite(s.rhale[f].value).sum() > 1 for s in sections)]
    mean = {f: sum(s[f] for s in shares) for f in drawn}
    return sorted((f for f in drawn if mean[f] > 0), key=lambda f: -mean[f])


def models_figure(together: Together, feature: str, ident: str) -> PageFigure:
    """Draw a feature's average curves in several models."""
    effects = [s.rhale[feature] for s in together.sections]
    parts = [
        f"{named(name)} {number_or_zero(e.importance, effect_size(e))}"
        for name, e in zip(together.names, effects, strict=True)
    ]
    raised = all(s.scale == "prediction" for s in together.sections)
    scale: CurveScale = "prediction" if raised else "difference"
    spec = models_summary_figure(effects, list(together.names), scale=scale)
    return _small(spec, [f"importance: {', '.join(parts)}"], ident)


def models_findings(together: Together, features: Sequence[str]) -> list[Sentence]:
    """Return what several models have in common, and where they differ, in two to four sentences."""
    sections, names = together.sections, [named(name) for name in together.names]
    order = _order(sections, features)
    if not order:
        return [Sentence("nothing", (), MODELS["nothing"])]
    first = [max(s.rhale, key=lambda f, s=s: effect_size(s.rhale[f])) for s in sections]
    by = {f: [n for n, own in zip(names, first, strict=True) if own == f] for f in first}
    on = [tell(MODELS["on"], models=some, name=feature_named(f)) for f, some in by.items()]
    case = "different" if len(by) > 1 else "both" if len(names) == 2 else "all"
    said = tell(MODELS[case], n=len(names), name=feature_named(first[0]), parts=on)
    of = tuple(by) if len(by) > 1 else ()
    found = [Sentence("feature", of, said), _most_different(sections, names, order)]
    return [*found, *_most_heterogeneous(sections, names)]


def _most_different(
    sections: Sequence[ModelSection], names: Sequence[str], order: Sequence[str]
) -> Sentence:
    """Name the feature whose importance differs most between the models."""
    sizes = {f: [s.rhale[f].importance for s in sections] for f in order}
    feature, largest = max(order, key=lambda f: np.ptp(sizes[f])), max(map(max, sizes.values()))
    high, *_, low = sorted(zip(sizes[feature], names, strict=True), key=lambda one: -one[0])
    if high[0] - low[0] < ALIKE * largest:
        return Sentence("models", (), MODELS["curves alike"])
    said = tell(
        MODELS["curves differ"],
        name=feature_named(feature),
        high=number_or_zero(high[0], largest),
        most=high[1],
        low=number_or_zero(low[0], largest),
        least=low[1],
    )
    return Sentence("models", (feature,), said)


def _most_heterogeneous(sections: Sequence[ModelSection], names: Sequence[str]) -> list[Sentence]:
    """Say in which model effects differ most between rows."""
    shares: list[tuple[float, str]] = []
    for section, name in zip(sections, names, strict=True):
        both = [(e.heterogeneity_score, effect_size(e)) for e in section.rhale.values()]
        scores, sizes = np.square(both).sum(axis=0).tolist()
        if not (math.isfinite(scores) and sizes > 0):
            return []
        shares.append((scores / sizes, name))
    (high, most), (low, least) = (f(shares, key=lambda one: one[0]) for f in (max, min))
    case = "rows alike" if high - low < ALIKE else "rows differ"
    case = "rows the same" if high < NEARLY_SAME else case
    facts = {"two": len(names) == 2, "most": most, "high": high, "least": least, "low": low}
    return [Sentence("models", (), tell(MODELS[case], **facts))]
