"""Text of a report: sentences about single effects, the summary of a model, captions, and tables of bins."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skedasis._numbers import (
    ROUNDING_NOISE,
    counted,
    number,
    number_or_zero,
    percent,
    sentence,
    with_error,
    with_minus,
)
from skedasis._types import Floats
from skedasis.plots.figures.effect_parts import local_effects
from skedasis.plots.scales import position_texts
from skedasis.report import categorical_text
from skedasis.report.content import ModelSection
from skedasis.report.format import (
    NumberTable,
    feature_named,
)
from skedasis.results.axis import LevelAxis
from skedasis.results.curve_words import curve_words, shape_of
from skedasis.results.effect import BinnedEffect, BinStats, Effect, LevelStepsEffect
from skedasis.results.effect_words import depends_on_text
from skedasis.results.main_stretch import beyond_text, main_part
from skedasis.results.regions import (
    Regions,
    another_text,
    doubt_text,
    explained_text,
    undivided_text,
    unstable_splits,
)
from skedasis.results.sentences import (
    BETWEEN_ROWS,
    CURVE,
    NO_EFFECT,
    NONE_OPPOSITE,
    OPPOSITE,
    PRECISION,
    tell,
)

LEVEL = 0.95
"""Confidence level of the intervals on the page."""

_SMALL_RATIO = 0.25
"""Ratio of heterogeneity score to importance below which the average holds for nearly every row."""


# ------------------------------------------------------------------------------------- one effect
def opposite_sign_share(effect: Effect) -> float | None:
    """Return the fraction of rows whose local effect has the opposite sign to the mean of their bin."""
    if isinstance(effect.axis, LevelAxis):
        return categorical_text.opposite_sign_share(effect)
    rows, local = effect.rows, local_effects(effect.rows)
    if rows is None or local is None or not isinstance(effect, BinnedEffect):
        return None
    bins, edges = effect.bins, effect.bins.edges
    if len(bins) == 0:
        return None
    side = "right" if effect.spec.closed == "left" else "left"
    place = np.clip(np.searchsorted(edges, rows.x, side) - 1, 0, len(bins) - 1)
    mean = bins.effect[place] + bins.slope_change[place] * (
        rows.x - (bins.low + bins.high)[place] / 2
    )
    opposite = local * np.sign(np.nan_to_num(mean)) < 0
    return float(np.average(opposite, weights=rows.weight)) if len(rows) else None


def effect_sentence(effect: Effect) -> str:
    """Describe the shape of the curve, or the levels with the highest and the lowest effect."""
    case, facts = shape_of(effect)
    said = sentence(tell(CURVE[case], quantity="the average effect", **facts))
    beyond = beyond_text(effect)
    return f"{said} {beyond}." if beyond else said


def heterogeneity_sentence(effect: Effect) -> str:
    """Describe how far the effect differs between rows."""
    if isinstance(effect, BinnedEffect | LevelStepsEffect) and len(effect.bins) == 0:
        return ""  # a single value, or a single level
    score, importance = effect.heterogeneity_score, effect.importance
    case = "large"
    if math.isnan(score):
        case = "unknown"
    elif importance == score == 0:
        return NO_EFFECT
    elif score <= ROUNDING_NOISE * importance:
        case = "same"
    elif score < importance:
        case = "small" if score < _SMALL_RATIO * importance else "some"
    facts = {
        "score": with_error(score, effect.heterogeneity_score_error, importance),
        "importance": number_or_zero(importance, score),
    }
    said, share = tell(BETWEEN_ROWS[case], **facts), opposite_sign_share(effect)
    if share is None:
        return said
    return f"{said} {tell(OPPOSITE, share=share) if share > 0 else NONE_OPPOSITE}"


def precision_sentence(rhale: Effect, ale: Effect) -> str:
    """Describe the precision of the average effect, and the difference between RHALE and ALE."""
    rhale, ale = (main_part(effect).effect for effect in (rhale, ale))
    lower, upper = rhale.interval(LEVEL)
    half = (upper - lower)[np.isfinite(upper - lower)] / 2
    if len(half) == 0 or len(rhale.points) < 2:
        return ""
    largest = float(np.nanmax(np.abs(rhale.value), initial=0.0))
    widest = number(_nonzero(float(half.max()), largest), 2)
    # Effects of levels are computed from the same differences by both.
    difference = None if isinstance(rhale.axis, LevelAxis) else max_difference(ale, rhale)
    other = None if difference is None else number(difference, 2)
    return tell(PRECISION, widest=widest, level=LEVEL, other=other)


def max_difference(ale: Effect, rhale: Effect) -> float | None:
    """Return the largest difference between the curves of ALE and RHALE; None if they share no point."""
    shifted = aligned(ale, rhale)
    there = np.isfinite(shifted)
    if not there.any():
        return None
    largest = float(np.nanmax(np.abs(rhale.value), initial=0.0))
    return _nonzero(float(np.abs(shifted - rhale.at(ale.points))[there].max()), largest)


def _nonzero(value: float, largest: float) -> float:
    """Return a size, or 0 if it is rounding error relative to the largest one."""
    return value if value > ROUNDING_NOISE * largest else 0.0


def aligned(ale: Effect, rhale: Effect) -> Floats:
    """Return the values of an ALE, shifted to the mean that a RHALE has over the rows."""
    value = np.where(np.isfinite(rhale.at(ale.points)), ale.value, np.nan)
    x = ale.points if rhale.rows is None else rhale.rows.x
    weight = None if rhale.rows is None else rhale.rows.weight
    gap = ale.at(x) - rhale.at(x)
    there = np.isfinite(gap)
    if not there.any():
        return value
    return value - np.average(gap[there], weights=None if weight is None else weight[there])


def missing_sentence(effect: Effect) -> str:
    """Describe the effect of missing values; empty if there are none, or their effect is not known."""
    point = effect.missing_point
    if point is None and isinstance(effect.axis, LevelAxis):
        return categorical_text.missing_sentence(effect.axis.levels, effect)
    if point is None:
        return ""
    rows = f"The feature is missing in {counted(point.count, 'row')}."
    values = "observed values" if point.exact else "quantiles of the observed values"
    if point.effect == 0:
        return (
            f"{rows} On average, the prediction there is the same as with {values} of the feature."
        )
    way = "higher" if point.effect > 0 else "lower"
    error = point.std_error
    known = math.isfinite(error) and error >= ROUNDING_NOISE * abs(point.effect)
    precision = f" (standard error {number(error, 2)})" if known else ""
    return (
        f"{rows} On average, the prediction there is {number(abs(point.effect))} {way}{precision} than with "
        f"{values} of the feature."
    )


def level_order_sentence(effect: Effect) -> str:
    """Describe the order of a categorical feature's levels."""
    axis = effect.axis
    if not isinstance(axis, LevelAxis):
        return ""
    return categorical_text.level_order_sentence(effect, axis.levels)


def cautions(effect: Effect, *, skip_few_rows: bool = False) -> list[str]:
    """Return cautions about one effect, without those about few rows if a reliability check already has them."""
    axis = effect.axis
    found = (
        categorical_text.cautions(effect, axis.levels, skip_few_rows=skip_few_rows)
        if isinstance(axis, LevelAxis)
        else _bin_cautions(effect, skip_few_rows=skip_few_rows)
    )
    missing = effect.provenance.get("missing")
    if missing:
        text = missing.splitlines()[0].strip()
        found.append(text[:1].upper() + text[1:])
    if effect.rows is not None and not effect.rows.exact:
        found.append(
            f"Single rows are shown for a random sample of {counted(len(effect.rows), 'row')}; the curve uses all rows."
        )
    return found


def _few_rows_cautions(effect: BinnedEffect, *, skip_few_rows: bool) -> list[str]:
    """Return cautions about bins with few rows or none."""
    found: list[str] = []
    bins = effect.bins
    if effect.untrusted_rows and not skip_few_rows:
        weak = int((~bins.trusted & ~bins.empty).sum())
        found.append(
            f"{counted(effect.untrusted_rows, 'row')} in {counted(weak, 'bin')} with fewer than 10 rows (hatched): "
            "the curve is unreliable there."
        )
    if bins.empty.any():
        found.append(
            f"{counted(int(bins.empty.sum()), 'bin')} without rows: the curve is interpolated there."
        )
    return found


def _bin_cautions(effect: Effect, *, skip_few_rows: bool) -> list[str]:
    """Return cautions about the bins and rows of a numeric feature."""
    found: list[str] = []
    if isinstance(effect, BinnedEffect):
        found += _few_rows_cautions(effect, skip_few_rows=skip_few_rows)
    if effect.missing:
        found.append(f"{counted(effect.missing, 'row')} without a value: left out of the curve.")
    outside = effect.provenance.get("rows_outside")
    if outside:
        found.append(f"{counted(outside, 'row')} outside the bins: left out.")
    return found


# ---------------------------------------------------------------------------------------- tables
def number_tables(effect: Effect, axis: str, per: str) -> list[NumberTable]:
    """Return an effect's tables: its bins, or its levels and the differences between adjacent levels."""
    if isinstance(effect.axis, LevelAxis):
        levels = effect.axis.levels
        return categorical_text.tables(effect, levels, axis) if len(levels) > 1 else []
    rows = bins_table(effect)
    heads = (
        *(("From", False), ("To", False), ("Rows", False), ("Mean slope", False)),
        *(("Std of slopes", False), ("Standard error", False), ("Remark", True)),
    )
    caption = f"{effect.spec.method}; slopes in units of {axis} per {per}"
    return [NumberTable(caption, heads, rows)] if rows else []


def bins_table(effect: Effect) -> list[tuple[str, ...]]:
    """Return the rows of a table of bins: from, to, rows, slope (M-plots: mean), std, standard error, remark."""
    if not isinstance(effect, BinnedEffect) or len(effect.bins) == 0:
        return []
    bins = effect.bins
    edges = position_texts(bins.edges, effect.time)
    remarks = [
        "empty" if empty else "" if trusted else "few rows"
        for empty, trusted in zip(bins.empty, bins.trusted, strict=True)
    ]
    return [
        (
            edges[k],
            edges[k + 1],
            f"{bins.count[k]:,}",
            _slope(bins, k),
            number(float(bins.std[k])),
            number(float(bins.std_error[k])),
            remarks[k],
        )
        for k in range(len(bins))
    ]


def _slope(bins: BinStats, k: int) -> str:
    """Return the slope of a bin; if it changes within the bin, the slopes at both ends."""
    if not bins.slope_change[k]:
        return number(float(bins.effect[k]))
    first, last = (number(float(end[k])) for end in bins.ends)
    return f"{first} … {last}"


def unit_of(effect: Effect) -> str:
    """Return the feature's unit, or nothing."""
    return effect.about.feature.unit or ""


# ------------------------------------------------------------------------------------- regions
@dataclass(frozen=True)
class RegionTexts:
    """The regions of a feature in words."""

    lead: str
    lines: list[tuple[str, str]]


def region_texts(regions: Regions) -> RegionTexts:
    """Return several regions in words."""
    total = max(regions.nodes[0].weight, np.finfo(float).tiny)
    lead = sentence(f"{explained_text(regions, scores=True)}{doubt_text(regions)}")
    lines: list[tuple[str, str]] = []
    for leaf, effect in zip(regions.leaves, regions.effects, strict=True):
        said = (
            f"{counted(leaf.count, 'row')} ({percent(leaf.weight / total)}): {curve_words(effect)}"
        )
        others = [another_text(split) for split in unstable_splits(regions, leaf.region)]
        lines.append((with_minus(leaf.rule), "; ".join([said, *others])))
    beyond = beyond_text(regions.whole)
    return RegionTexts(f"{lead} {beyond}." if beyond else lead, lines)


def for_whom_sentence(section: ModelSection, feature: str) -> str:
    """Say by which feature rows differ, and where its curves are; and that no regions were found, if that is so."""
    found, regions = section.rhale[feature].depends_on, section.regions.get(feature)
    if found is None:
        return _one_region_sentence(section, feature)
    text = depends_on_text(found, feature_named(found.name))
    text = f"{text[:1].upper()}{text[1:]}"
    if regions is not None and len(regions) > 1:
        return f"{text}: the curves of its regions are above."
    if regions is None:
        return f"{text}: sd.regions(…)."
    return f"{text}. {_one_region_sentence(section, feature)}".rstrip()


def _one_region_sentence(section: ModelSection, feature: str) -> str:
    """Say that no regions were found; empty if there are some, or if the differences between rows are small."""
    regions, effect = section.regions.get(feature), section.rhale[feature]
    if regions is None or len(regions) > 1 or not math.isfinite(effect.heterogeneity_score):
        return ""
    largest = section.largest_importance
    if not effect.heterogeneity_score > NOTICEABLE * largest:
        return ""
    why = undivided_text(regions.nodes[0])
    return f"{why[:1].upper()}{why[1:]}." if why else ""


NOTICEABLE = 0.05
"""Heterogeneity scores below this fraction of the largest importance need no explanation."""
