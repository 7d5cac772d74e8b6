"""The tables of a page: the numbers of an effect, also for the shell, and of the rows and cohorts that are named."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from skedasis._escaping import one_line
from skedasis._numbers import number, number_or_zero, percent, signed, with_error, with_minus
from skedasis._types import Bools, Floats, Ints
from skedasis.plots.scales import position_texts
from skedasis.report.cohorts import Cohort
from skedasis.report.content import ModelSection
from skedasis.report.format import NumberTable, feature_named, feature_title, named
from skedasis.report.given_rows import GivenRow
from skedasis.report.text import missing_sentence
from skedasis.results.axis import LevelAxis, TimedAxis
from skedasis.results.display import align_columns
from skedasis.results.drift import MODEL, ROWS, Drift, ends_text, shares_text
from skedasis.results.effect import (
    TRUSTED_ROWS,
    AnyMPlot,
    BinnedEffect,
    BinStats,
    Effect,
    LevelStepsEffect,
)
from skedasis.results.effect_words import effect_lines, method_of
from skedasis.results.factors import MEASURES
from skedasis.results.observed import Observed

# ------------------------------------------------------------------------------------- one effect
LINES = 100
"""Largest number of levels in a table: a page with thousands of identifiers would take megabytes."""

POINTS = 12
"""Number of points in a table of an effect that has neither bins nor levels."""


def effect_tables(effect: Effect, most: int = LINES) -> list[NumberTable]:
    """Return the numbers of an effect: at its levels, in its bins or between levels, else at some of its points."""
    of = f"by {method_of(effect)}, in units of {effect.about.axis}"
    columns = (effect.value, effect.heterogeneity, effect.std_error)
    names = ("Effect", "Spread between rows", "Standard error")
    if isinstance(effect, AnyMPlot):
        names = ("Mean", "Std", "Standard error")
    found: list[NumberTable] = []
    if isinstance(effect.axis, LevelAxis):
        levels = effect.axis.levels
        cells = {
            "Level": levels.labels,
            **_counts(levels.count),
            "Share": [percent(share) for share in levels.share.tolist()],
            **dict(zip(names, map(_numbers, columns), strict=True)),
            **_remarks(levels.count < TRUSTED_ROWS),
        }
        found.append(_with_most_rows(f"Levels {of}.", cells, levels.count, most))
    if isinstance(effect, LevelStepsEffect) and len(effect.bins):
        bins = effect.bins
        ends = {"From level": bins.end_labels[:-1], "To level": bins.end_labels[1:]}
        merged = len(bins) < len(effect.points) - 1
        said = f"Differences between adjacent levels {of}."
        said += " Similar adjacent differences are merged." if merged else ""
        cells = {**ends, **_of_bins(bins, "Mean difference", "Std")}
        found.append(_with_most_rows(said, cells, bins.count, most))
    elif isinstance(effect, BinnedEffect) and len(effect.bins):
        edges = position_texts(effect.bins.edges, effect.time)
        measure = (
            ("Mean", "Std") if isinstance(effect, AnyMPlot) else ("Mean slope", "Std of slopes")
        )
        said = f"Bins {of}" + ("" if isinstance(effect, AnyMPlot) else f" per {_per(effect)}")
        cells = {"From": edges[:-1], "To": edges[1:], **_of_bins(effect.bins, *measure)}
        found.append(NumberTable(f"{said}.", cells))
    if not found:
        some = np.unique(np.linspace(0, len(effect.points) - 1, POINTS).astype(int))
        at = {"At": position_texts(effect.points[some], effect.time)}
        cells = at | {name: _numbers(c[some]) for name, c in zip(names, columns, strict=True)}
        found.append(NumberTable(f"Some points {of}.", cells))
    if effect.about.scale in MEASURES and not (
        isinstance(effect, AnyMPlot) or effect.spec.derivative
    ):
        found.append(_factors(effect, most))
    if effect.observed is not None and len(effect.observed):
        found.append(_observed(effect, effect.observed, most))
    return found


def _factors(effect: Effect, most: int) -> NumberTable:
    """Return the factors of an effect on the log scale, with intervals, exposure and observed factors."""
    found = effect.factors()
    (heads, *lines), columns, before = found.cells(), dict[str, Sequence[str]](), ""
    for head, column in zip(heads, zip(*lines, strict=True), strict=True):
        columns[f"{head} of {before}" if head in columns else head] = column
        before = head
    said = [f"{found.measure.capitalize()}s of {found.quantity} by {found.method}.", *found.remarks]
    rows = np.array([f.rows for f in found]).astype(np.int64)
    return _with_most_rows(" ".join(said), columns, rows, most)


def _observed(effect: Effect, found: Observed, most: int) -> NumberTable:
    """Return the mean labels and predictions in the cells of a feature, of each value of a split."""
    axis, splits = effect.axis, len(found.split_values)
    several = {found.split_name or "Split": np.repeat(found.split_values, len(found)).tolist()}
    if isinstance(axis, LevelAxis):
        where = {"Level": [axis.levels.labels[int(k)] for k in found.points.tolist()]}
    elif np.array_equal(found.low, found.high):
        where = {"At": position_texts(found.points, effect.time)}
    else:
        ends = np.unique(np.concatenate([found.low, found.high]))
        texts = dict(zip(ends.tolist(), position_texts(ends, effect.time), strict=True))
        where = {"From": [texts[v] for v in found.low.tolist()]}
        where["To"] = [texts[v] for v in found.high.tolist()]
    numbers = {
        "Mean label": found.label,
        "Standard error": found.label_error,
        "Mean prediction": found.prediction,
        "Label − prediction": found.residual,
        "Its standard error": found.residual_error,
    }
    cells = {
        **(several if splits > 1 else {}),
        **{name: [*texts] * splits for name, texts in where.items()},
        **_counts(found.count.ravel()),
        **{name: _numbers(values.ravel()) for name, values in numbers.items()},
    }
    unit = f", in {found.unit}" if found.unit else ""
    said = f"Mean labels and mean predictions ({found.quantity}){unit}."
    return _with_most_rows(said, cells, found.count.ravel(), most)


PRINTED = 40
"""Largest number of levels that are printed."""


def effect_with_numbers(effect: Effect, regions: str) -> list[str]:
    """Return an effect as lines of text, with its table; `regions` is the call that searches for its regions."""
    table = effect_tables(effect, PRINTED)[0]
    cells = [list(map(one_line, row)) for row in table.rows]
    words = [k for k, (_, is_words) in enumerate(table.heads) if is_words]
    lines = [*effect_lines(effect, regions), *filter(None, [missing_sentence(effect)])]
    return [*lines, "", table.caption, *align_columns([[*table.columns], *cells], words)]


def _per(effect: Effect) -> str:
    """Return the unit that slopes are given per."""
    feature = effect.about.feature
    if isinstance(effect.axis, TimedAxis):
        return "day"
    return feature.unit or f"unit of {feature_named(feature.name)}"


def _of_bins(bins: BinStats, effect: str, std: str) -> dict[str, Sequence[str]]:
    """Return the rows, numbers and remarks of bins or of steps between levels."""
    slopes = _numbers(bins.effect)
    for k in np.flatnonzero(bins.slope_change):
        # The slope changes within the bin: those at both ends.
        slopes[k] = " … ".join(number(float(end[k])) for end in bins.ends)
    return {
        **_counts(bins.count),
        effect: slopes,
        std: _numbers(bins.std),
        "Standard error": _numbers(bins.std_error),
        **_remarks(~bins.trusted, bins.empty),
    }


def _numbers(values: Floats) -> list[str]:
    return [number(v) for v in values.tolist()]


def _counts(rows: Ints) -> dict[str, Sequence[str]]:
    return {"Rows": [f"{n:,}" for n in rows.tolist()]}


def _remarks(few: Bools, empty: Bools | None = None) -> dict[str, Sequence[str]]:
    """Return a column that marks few rows and none; no column if there is nothing to mark."""
    said = np.where(few, "few rows", "")
    said = said if empty is None else np.where(empty, "empty", said)
    return {"Remark": said.tolist()} if said.any() else {}


def _with_most_rows(
    caption: str, columns: Mapping[str, Sequence[str]], rows: Ints, most: int
) -> NumberTable:
    """Return a table of the lines with the most rows."""
    if len(rows) <= most:
        return NumberTable(caption, columns)
    some: list[int] = np.sort(np.argsort(-rows, kind="stable")[:most]).tolist()
    caption += f" The {most} of {len(rows):,} with the most rows."
    return NumberTable(caption, {h: [cells[k] for k in some] for h, cells in columns.items()})


# ------------------------------------------------------------------------------- rows and cohorts
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
    columns = {"Feature": [feature_title(feature) for feature in features]}
    for row in section.given_rows:
        found = [row.values[feature] for feature in features]
        columns[f"{row.id}: value"] = [at.text for at in found]
        columns[f"{row.id}: effect"] = [_known(at.deviation) for at in found]
    caption = (
        f"Effects at the values of the rows, compared with their mean over the rows, in units of {section.axis}. Where "
        "a feature has groups of rows, the effect and the mean are those of the row’s group."
    )
    return NumberTable(caption, columns)


def cohort_tables(section: ModelSection, features: Sequence[str]) -> list[NumberTable]:
    """Return how a model predicts in each cohort, and how much each feature changes the prediction there."""
    cohorts = section.cohorts
    if not cohorts:
        return []
    columns = {
        "Cohort": [with_minus(c.rule) for c in cohorts],
        "Rows": [f"{c.rows:,}" for c in cohorts],
        "Share": [percent(c.share) for c in cohorts],
        "Mean prediction": [_known(c.mean) for c in cohorts],
    }
    if any(math.isfinite(c.label_mean) for c in cohorts):
        columns["Mean label"] = [_known(c.label_mean) for c in cohorts]
    for name in dict.fromkeys(m.name for c in cohorts if c.quality for m in c.quality.measures):
        columns[name] = [_measured(c, name) for c in cohorts]
    sizes = [(with_minus(c.rule), c.importance, c.heterogeneity_score) for c in cohorts]
    top = max((v for _, first, _ in sizes for v in first.values() if math.isfinite(v)), default=0.0)
    effects = {"Feature": [feature_title(feature) for feature in features]}
    for rule, importance, score in sizes:
        for head, known in (("importance", importance), ("heterogeneity score", score)):
            values = [known.get(feature, math.nan) for feature in features]
            effects[f"{rule}: {head}"] = [_known(v, top) for v in values]
    of = f"in each cohort, in units of {section.axis}."
    return [
        NumberTable(f"Predictions {of}", columns),
        NumberTable(f"How much each feature changes the prediction {of}", effects),
    ]


def _measured(cohort: Cohort, name: str) -> str:
    """Return how good the predictions in a cohort are by a measure, if it has rows enough."""
    some = () if cohort.quality is None else cohort.quality.measures
    known = next((m.text for m in some if m.name == name), "")
    return "few rows" if known and cohort.rows < TRUSTED_ROWS else known


def _known(value: float, largest: float = 0.0) -> str:
    return number_or_zero(value, largest) if math.isfinite(value) else ""


# ------------------------------------------------------------------------------------- what changed
def drift_tables(drift: Drift) -> list[NumberTable]:
    """Return what changed: the parts, the features, and the groups of rows."""
    parts = drift.parts[:3]
    found = [
        NumberTable(
            "The change of the mean, and its parts, with 95 % intervals.",
            {
                "Part": [p.part for p in parts],
                "Value": [signed(p.value) for p in parts],
                "Interval": [ends_text(p) for p in parts],
                "Found": ["yes" if p.found else "no" for p in parts],
            },
        )
    ]
    features = drift.ranking()[:LINES]
    columns = {"Feature": [feature_title(f.feature) for f in features]}
    if not drift.same_rows:
        columns |= {
            "Rows moved": [signed(f.value) for f in features],
            "Interval": [ends_text(f) for f in features],
        }
    if not drift.same_model:
        columns["Effect changed by (SD)"] = [
            with_error(f.curve_change, f.curve_change_error)
            if f.curve_found
            else f"{number(f.curve_change)}, no change found"
            for f in features
        ]
    columns["Found"] = ["yes" if f.found or f.curve_found else "no" for f in features]
    if not drift.same_rows:
        columns["PSI"] = [number(f.psi, 2) for f in features]
    found.append(NumberTable("What its own effect carries, and how far it changed.", columns))
    groups = [g for part in (ROWS, MODEL) for g in drift.groups_of(part)]
    if len(groups) > 2:
        cells = {
            "Group of rows": [with_minus(g.group) for g in groups],
            "Part of": [g.part for g in groups],
            "All rows": [signed(g.total) for g in groups],
            "Tested rows": [signed(g.value) for g in groups],
            "Interval": [ends_text(g) for g in groups],
            "Share of rows": [shares_text(g, same_rows=drift.same_rows) for g in groups],
        }
        said = "Groups of rows. Half of the rows chose them; the intervals are of the others, the tested rows."
        found.append(NumberTable(said, cells))
    return found
