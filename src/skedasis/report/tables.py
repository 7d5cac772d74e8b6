"""The tables of a page about rows and cohorts that the caller named, and sentences on each row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from skedasis._numbers import number, number_or_zero, percent, signed, with_minus
from skedasis.report.cohorts import Cohort
from skedasis.report.content import ModelSection
from skedasis.report.format import NumberTable, feature_named, feature_title, named
from skedasis.report.given_rows import GivenRow
from skedasis.results.effect import TRUSTED_ROWS

TOLD = 3
"""Largest number of features in a sentence on a row."""

LEAST = 0.05
"""Effects below this fraction of the row's largest one are not in its sentence."""


def row_sentence(row: GivenRow) -> str:
    """Return a row's prediction and label, and the features whose curves are highest and lowest at its values."""
    label = "" if row.label is None else f" (label {_label(row.label)})"
    said = f"{number(row.prediction)}{label}."
    effects = {f: v.deviation for f, v in row.values.items()}
    known = {f: v for f, v in effects.items() if math.isfinite(v)}
    top = max(map(abs, known.values()), default=0.0)
    for way, sign in (("above", 1), ("below", -1)):
        some = [f for f, v in known.items() if sign * v > LEAST * top]
        some.sort(key=lambda f: -sign * known[f])
        if some:
            parts = [
                f"{feature_named(f)} = {named(row.values[f].text)} ({signed(known[f], top)})"
                for f in some[:TOLD]
            ]
            said += f" Furthest {way} the average: {', '.join(parts)}."
    return said


def _label(label: float | str) -> str:
    return named(label) if isinstance(label, str) else number(float(label))


def rows_table(section: ModelSection, features: Sequence[str]) -> NumberTable:
    """Return the values of the rows that the caller named, and where each stands on the curves."""
    heads = [("Feature", True)]
    for row in section.given_rows:
        heads += [(f"{row.id}: value", True), ("effect", False)]
    lines: list[tuple[str, ...]] = []
    for feature in features:
        cells = [feature_title(feature)]
        for row in section.given_rows:
            found = row.values[feature]
            effect = found.deviation
            known = number(effect) if math.isfinite(effect) else ""
            cells += [found.text, known]
        lines.append(tuple(cells))
    caption = (
        f"Effects at the values of the rows, compared with their mean over the rows, in units of {section.axis}. Where "
        "a feature has regions, the effect and the mean are those of the row’s region."
    )
    return NumberTable(caption, tuple(heads), lines)


def cohort_tables(section: ModelSection, features: Sequence[str]) -> list[NumberTable]:
    """Return how a model predicts in each cohort, and how much each feature changes the prediction there."""
    cohorts = section.cohorts
    if not cohorts:
        return []
    measures = list(dict.fromkeys(m.name for c in cohorts if c.quality for m in c.quality.measures))
    labelled = any(math.isfinite(c.label_mean) for c in cohorts)
    heads = [("Cohort", True), ("Rows", False), ("Share", False), ("Mean prediction", False)]
    heads += [("Mean label", False)] if labelled else []
    heads += [(name, False) for name in measures]
    lines = [_cohort_line(c, measures, labelled=labelled) for c in cohorts]
    first = NumberTable(
        f"Predictions in each cohort, in units of {section.axis}.", tuple(heads), lines
    )
    return [first, _importances(section, features)]


def _cohort_line(cohort: Cohort, measures: Sequence[str], *, labelled: bool) -> tuple[str, ...]:
    cells = [
        with_minus(cohort.rule),
        f"{cohort.rows:,}",
        percent(cohort.share),
        _known(cohort.mean),
    ]
    cells += [_known(cohort.label_mean)] if labelled else []
    few = cohort.rows < TRUSTED_ROWS
    for name in measures:
        some = () if cohort.quality is None else cohort.quality.measures
        known = next((m.text for m in some if m.name == name), "")
        cells.append("few rows" if few and known else known)
    return tuple(cells)


def _importances(section: ModelSection, features: Sequence[str]) -> NumberTable:
    heads = [("Feature", True)]
    for cohort in section.cohorts:
        heads += [(f"{with_minus(cohort.rule)}: importance", False), ("heterogeneity score", False)]
    top = max(
        (v for c in section.cohorts for v in c.importance.values() if math.isfinite(v)), default=0.0
    )
    lines: list[tuple[str, ...]] = []
    for feature in features:
        cells = [feature_title(feature)]
        for cohort in section.cohorts:
            values = (
                cohort.importance.get(feature, math.nan),
                cohort.heterogeneity_score.get(feature, math.nan),
            )
            cells += [number_or_zero(v, top) if math.isfinite(v) else "" for v in values]
        lines.append(tuple(cells))
    return NumberTable(
        f"How much each feature changes the prediction in each cohort, in units of {section.axis}.",
        tuple(heads),
        lines,
    )


def _known(value: float) -> str:
    return number(value) if math.isfinite(value) else ""
