"""The features' sections of a page, and how many details of each fit on a page of limited size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cache

import numpy as np
from markupsafe import Markup

from skedasis._numbers import number_or_zero
from skedasis._progress import Progress
from skedasis.report import figures as report_figures
from skedasis.report import text as report_text
from skedasis.report.code import program
from skedasis.report.content import ModelSection, ReportContent
from skedasis.report.figures import PageFigure
from skedasis.report.findings import effect_size
from skedasis.report.first_screen import models_figure, summary_figure
from skedasis.report.format import Context, feature_named, feature_title
from skedasis.report.tables import effect_tables
from skedasis.report.views import Shown, Together, Views
from skedasis.results.axis import LevelAxis
from skedasis.results.checks.check import CODES, Check
from skedasis.results.sentences import IN_MODEL, SHORTENED, tell

FIRST = 10
"""Number of features whose figures are drawn when the page is loaded; others are drawn when they scroll into view."""

PRINTED = 6
"""Number of features that are printed: a paper has a few pages."""

CODE_KINDS = ("main", "compare", "pdp", "regions", "checks")
"""Kinds of code shown in the section of a feature; see `skedasis.report.code`."""

FEW_ROWS_CHECKS = ("few_rows", "one_row")
"""Codes of reliability checks about bins or levels with few rows; these replace the caution of the same content."""

_KINDS = {"nominal": "levels without an order", "ordinal": "ordered levels"}


class PageDetail(IntEnum):
    """How much a page shows of a feature."""

    WORDS = 0
    CURVE = 1
    FIGURES = 2
    ALL = 3


_LEFT_OUT = {
    PageDetail.WORDS: "figures and tables",
    PageDetail.CURVE: "slopes, other methods, curves of single rows and tables",
    PageDetail.FIGURES: "other methods, curves of single rows and tables",
}


# --------------------------------------------------------------------------------- the size of a page
FEW, MANY = 20, 300
"""Numbers of features, times models and outputs, for which the size of a page is given."""

SMALL, LARGE = 2_000_000, 5_000_000
"""Largest size in bytes of a page about `FEW` features, and about `MANY`."""


def page_budget(features: int) -> int:
    """Return the largest size in bytes of a page about so many features, counted for each model and output."""
    if features > MANY:
        return LARGE * features // MANY
    share = max(features - FEW, 0) / (MANY - FEW)
    return int(SMALL + share * (LARGE - SMALL))


Draw = Callable[[int, PageDetail], Markup]
"""From the place of a feature and the details to show, to its section as HTML."""


def fitted_features(
    count: int, room: int, render: Draw, progress: bool | None = None
) -> tuple[list[Markup], list[PageDetail]]:
    """Return the sections of features as HTML, with as many details as fit, for the most important features first."""
    made = cache(render)
    with Progress(count, "Drawing", progress) as bar:
        used = 0
        for k in range(count):
            used += _bytes(made(k, PageDetail.ALL))
            bar.advance()
            # Too many details: no more figures are drawn that would not be shown.
            if used > room:
                break
        else:
            return [made(k, PageDetail.ALL) for k in range(count)], [PageDetail.ALL] * count
        details = [PageDetail.WORDS] * count
        used = sum(_bytes(made(k, PageDetail.WORDS)) for k in range(count))
        for last in (min(FIRST, count), count):
            for detail in (PageDetail.CURVE, PageDetail.FIGURES, PageDetail.ALL):
                used = _raised(details, range(last), detail, made, used, room)
    return [made(k, d) for k, d in enumerate(details)], details


def _raised(
    details: list[PageDetail], some: range, detail: PageDetail, made: Draw, used: int, room: int
) -> int:
    """Give some features one more step of details, in their order, while there is room; return the bytes used."""
    for k in some:
        now = details[k]
        if now >= detail:
            continue
        if now != detail - 1:
            return used
        more = _bytes(made(k, detail)) - _bytes(made(k, now))
        if used + more > room:
            return used
        details[k], used = detail, used + more
    return used


def _bytes(text: Markup) -> int:
    return len(text.encode("utf-8", errors="replace"))


def size_remarks(details: Sequence[PageDetail], budget: int) -> list[str]:
    """Return what was left out to keep the page small; empty if nothing was."""
    kinds = (PageDetail.FIGURES, PageDetail.CURVE, PageDetail.WORDS)
    parts = [
        tell(SHORTENED["part"], what=_LEFT_OUT[kind], n=details.count(kind))
        for kind in kinds
        if kind in details
    ]
    facts = {"size": f"{budget / 1e6:.2g}", "parts": "; ".join(parts)}
    return [tell(SHORTENED["page"], **facts)] if parts else []


# ------------------------------------------------------------------------------- one feature's section
def anchors_of(content: ReportContent) -> dict[str, str]:
    """Return the HTML id of each feature's section."""
    return {feature: f"feature-{k}" for k, feature in enumerate(content.features, 1)}


def feature_context(
    content: ReportContent, views: Views, place: int, ranks: Mapping[str, int], detail: PageDetail
) -> Context:
    """Return the section of a feature."""
    feature = content.features[place]
    first, anchor = content.sections[0].rhale[feature], f"feature-{place + 1}"
    together = [
        _together(one, feature, f"{anchor}-all-{k}")
        for k, one in enumerate(views.together, 1)
        if detail > PageDetail.WORDS and _comparable(one, feature)
    ]
    return {
        "name": feature_title(feature),
        "unit": first.about.feature.unit or "",
        "kind": _KINDS.get(first.about.feature.kind, ""),
        "anchor": anchor,
        "place": place + 1,
        "drawn": place < FIRST,
        "printed": place < PRINTED,
        "ranks": ranks,
        "together": together,
        "effects": [
            _of_model(section, feature, f"{anchor}-{k}", shown, detail)
            for k, (section, shown) in enumerate(
                zip(content.sections, views.places, strict=True), 1
            )
        ],
    }


def _comparable(one: Together, feature: str) -> bool:
    return all(np.isfinite(s.rhale[feature].value).sum() > 1 for s in one.sections)


def _together(one: Together, feature: str, ident: str) -> Context:
    """Return a feature's curves in several models, and its numbers in each."""
    lines: list[tuple[str, str, str]] = []
    for k, (section, name) in enumerate(zip(one.sections, one.names, strict=True)):
        effect, regions = section.rhale[feature], section.regions.get(feature, ())
        score, size = effect.heterogeneity_score, effect_size(effect)
        said = tell(
            IN_MODEL,
            importance=number_or_zero(effect.importance, size),
            score=number_or_zero(score, size) if math.isfinite(score) else "",
            groups=len(regions) if len(regions) > 1 else None,
            said=report_text.effect_sentence(effect),
        )
        lines.append((f"hue{k}", name, said))
    return {"shown": one.shown, "figure": models_figure(one, feature, ident), "lines": lines}


def _of_model(
    section: ModelSection, feature: str, ident: str, shown: Shown, detail: PageDetail
) -> Context:
    rhale = section.rhale[feature]
    flags = section.checks.get(feature, ())
    sentences = {
        "Effect": report_text.effect_sentence(rhale),
        "Between rows": report_text.heterogeneity_sentence(rhale),
        "For whom": report_text.for_whom_sentence(section, feature),
        "Labels": report_text.labels_sentence(section, feature),
        "Precision": report_text.precision_sentence(rhale, section.ale[feature]),
        "Missing": report_text.missing_sentence(rhale),
        "Order": report_text.order_sentence(rhale),
    }
    figures: list[PageFigure] = []
    if detail == PageDetail.CURVE:
        figures = _summary(section, feature, f"{ident}-curve")
    elif detail > PageDetail.CURVE:
        figures = report_figures.main_figures(section, feature, ident)
    whole = detail == PageDetail.ALL
    return {
        "shown": shown,
        "model": section.name,
        "sentences": {label: text for label, text in sentences.items() if text},
        "regions": _regions(section, feature, ident, drawn=detail >= PageDetail.FIGURES),
        "figures": figures,
        "folded": report_figures.folded_figures(section, feature, ident) if whole else [],
        "cautions": report_text.cautions(
            rhale, skip_few_rows=any(f.code in FEW_ROWS_CHECKS for f in flags)
        ),
        # A sentence says what the effect depends on.
        "flags": _check_texts([f for f in flags if f.code != "depends_on"], feature),
        "checked": feature in section.checks,
        "parts": "levels" if isinstance(rhale.axis, LevelAxis) else "bins",
        "tables": effect_tables(rhale) if whole and len(rhale.points) > 1 else [],
        "code": program(section.code, [(kind, feature) for kind in CODE_KINDS]),
        "left_out": "" if whole else tell(SHORTENED["feature"], what=_LEFT_OUT[detail]),
    }


def _summary(section: ModelSection, feature: str, ident: str) -> list[PageFigure]:
    """Return the small figure of a feature; none if it has a single value."""
    if np.isfinite(section.rhale[feature].value).sum() < 2:
        return []
    return [summary_figure(section, feature, ident)]


def _regions(section: ModelSection, feature: str, ident: str, *, drawn: bool) -> Context | None:
    """Return the regions of a feature; None if it has one."""
    found = section.regions.get(feature)
    if found is None or len(found) < 2 or len(section.rhale[feature].points) < 2:
        return None
    lead, lines = report_text.region_texts(found)
    said = [f"{rule}, {text}" for rule, text in lines]
    panels = (
        report_figures.region_panels(found, said, f"{ident}-regions", section.scale)
        if drawn
        else []
    )
    return {"lead": lead, "lines": [] if drawn else lines, "panels": panels}


def _check_texts(found: Sequence[Check], feature: str) -> Context:
    """Return the texts of reliability checks, separated into warnings and notes, with a long name shortened."""
    short = f"'{feature_named(feature)}'"
    texts: Mapping[str, list[Context]] = {"warning": [], "note": []}
    for one in found:
        text = one.message.replace(repr(feature), short)
        meaning = f"{CODES[one.code].meaning.rstrip('.')}."
        texts[one.severity].append(
            {"code": one.code, "meaning": meaning, "page": one.page, "text": text}
        )
    return {"warnings": texts["warning"], "notes": texts["note"]}
