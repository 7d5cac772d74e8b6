"""Text of a report: sentences about single effects, and about the groups of rows in which they differ."""

from __future__ import annotations

import math

import numpy as np

from skedasis._numbers import (
    ROUNDING_NOISE,
    number,
    number_or_zero,
    sentence,
    with_error,
)
from skedasis._types import Floats
from skedasis.report.content import ModelSection
from skedasis.report.format import (
    feature_named,
    listed,
    named,
)
from skedasis.results.axis import BY_SIMILARITY, LevelAxis
from skedasis.results.curve_words import curve_words
from skedasis.results.effect import TRUSTED_ROWS, BinnedEffect, Effect, LevelStepsEffect
from skedasis.results.effect_words import depends_on_text
from skedasis.results.main_stretch import beyond_text, main_part
from skedasis.results.observed_words import deviation_text
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
    CAUTION,
    CURVES_BY,
    GROUP,
    MISSING_VALUES,
    NO_EFFECT,
    NONE_OPPOSITE,
    OPPOSITE,
    ORDER,
    PRECISION,
    tell,
)

LEVEL = 0.95
"""Confidence level of the intervals on the page."""

_SMALL_RATIO = 0.25
"""Ratio of heterogeneity score to importance below which the average holds for nearly every row."""


# ------------------------------------------------------------------------------------- one effect
def opposite_sign_share(effect: Effect) -> float | None:
    """Return the fraction of the rows' slopes, or of their steps to adjacent levels, that go against the average."""
    rows, local = effect.rows, None if effect.rows is None else effect.rows.local
    levels = isinstance(effect.axis, LevelAxis)
    if rows is None or local is None or local.ndim != 1 + levels or len(effect.points) < 2:
        return None
    if levels:
        mean, place = np.diff(effect.value), rows.x.astype(np.int64)
        # Steps from the previous level and to the next one; that of a row at the first or the last level is NaN.
        mean = np.stack([mean[np.maximum(place - 1, 0)], mean[np.minimum(place, len(mean) - 1)]], 1)
    elif isinstance(effect, BinnedEffect) and len(effect.bins):
        bins, side = effect.bins, "right" if effect.spec.closed == "left" else "left"
        place = np.clip(np.searchsorted(bins.edges, rows.x, side) - 1, 0, len(bins) - 1)
        middle = (bins.low + bins.high)[place] / 2
        mean = bins.effect[place] + bins.slope_change[place] * (rows.x - middle)
    else:
        return None
    there = np.isfinite(local)
    weight = np.where(there.T, 1.0 if rows.weight is None else rows.weight, 0.0).T
    if not weight.sum() > 0:
        return None
    local = np.where(there, local, 0.0)
    local = np.where(np.abs(local) > ROUNDING_NOISE * np.abs(local).max(), local, 0.0)
    opposite = local * np.sign(np.nan_to_num(mean)) < 0
    return float(np.average(opposite, weights=weight))


def effect_sentence(effect: Effect) -> str:
    """Describe the shape of the curve, or the levels with the highest and the lowest effect."""
    return sentence(curve_words(effect, "the average effect"))


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
    levels = isinstance(effect.axis, LevelAxis)
    return f"{said} {tell(OPPOSITE, share=share, levels=levels) if share > 0 else NONE_OPPOSITE}"


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


def labels_sentence(section: ModelSection, feature: str) -> str:
    """Say where the mean residual along a feature is clearly not 0; empty if it is nowhere."""
    found = section.deviations.get(feature, ())
    return deviation_text(section.rhale[feature], found, feature_named(feature))


def missing_sentence(effect: Effect) -> str:
    """Describe the effect of missing values; empty if there are none, or their effect is not known."""
    point, axis = effect.missing_point, effect.axis
    if point is not None:
        error = point.std_error
        known = math.isfinite(error) and error >= ROUNDING_NOISE * abs(point.effect)
        return tell(
            MISSING_VALUES["point" if point.effect else "same"],
            rows=point.count,
            value=number(abs(point.effect)),
            change=point.effect,
            error=number(error, 2) if known else "",
            exact=point.exact,
        )
    if not isinstance(axis, LevelAxis) or None not in axis.levels.values or len(axis.levels) < 2:
        return ""
    levels, place = axis.levels, axis.levels.values.index(None)
    there = np.isfinite(effect.value)
    # Relative to one level, so that a feature without any effect has deviations of exactly zero.
    value = effect.value - effect.value[there][0]
    value = value - np.average(value[there], weights=levels.share[there])
    change = float(value[place])
    level = abs(change) > ROUNDING_NOISE * float(np.nanmax(np.abs(value)))
    return tell(
        MISSING_VALUES["level" if level else "level at the mean"],
        name=named(levels.labels[place]),
        rows=int(levels.count[place]),
        value=number(abs(change)),
        change=change,
    )


def order_sentence(effect: Effect) -> str:
    """Describe the order of a categorical feature's levels, if there is one that matters."""
    if not isinstance(effect.axis, LevelAxis) or len(effect.axis.levels) < 3:
        return ""
    order = effect.axis.levels.order_description
    if effect.about.feature.kind == "ordinal" or order in ("declared", "given"):
        return ORDER.get(order, ORDER["own"])
    return ORDER["similar"] if order == BY_SIMILARITY else ""


def cautions(effect: Effect, *, skip_few_rows: bool = False) -> list[str]:
    """Return cautions about one effect, without those about few rows if a reliability check already has them."""
    levels = effect.axis.levels if isinstance(effect.axis, LevelAxis) else None
    bins = effect.bins if levels is None and isinstance(effect, BinnedEffect) else None
    few: list[int] = []
    if levels is not None:
        few = np.flatnonzero(levels.count < TRUSTED_ROWS).tolist()
    elif bins is not None:
        few = np.flatnonzero(~bins.trusted & ~bins.empty).tolist()
    counts = {
        f"few {'in bins' if levels is None else 'at levels'}": 0 if skip_few_rows else len(few),
        "empty": 0 if bins is None else int(bins.empty.sum()),
        "missing": effect.missing if levels is None or None not in levels.values else 0,
        "outside": effect.provenance.get("rows_outside", 0),
        "sample": 0 if effect.rows is None or effect.rows.exact else len(effect.rows),
    }
    facts = {
        "levels": levels is not None,
        "rows": effect.untrusted_rows,
        "least": TRUSTED_ROWS,
        "names": "" if levels is None else listed([f"“{levels.labels[i]}”" for i in few], 5),
    }
    found = [tell(CAUTION[case], n=n, **facts) for case, n in counts.items() if n]
    # How missing values were filled in, in one line.
    policy = str(effect.provenance.get("missing", "")).splitlines()[:1]
    return [*found, *(f"{text[:1].upper()}{text[1:]}" for text in policy)]


# ------------------------------------------------------------------------------------- regions
def region_texts(regions: Regions) -> tuple[str, list[tuple[str, str]]]:
    """Return what a rule explains, and of each of its groups of rows the conditions and the effect there."""
    lead = sentence(f"{explained_text(regions, scores=True)}{doubt_text(regions)}")
    lines = [
        (
            leaf.rule,
            tell(
                GROUP,
                rows=leaf.count,
                share=share,
                said=curve_words(effect),
                others="; ".join(map(another_text, unstable_splits(regions, leaf.region))),
            ),
        )
        for leaf, share, effect in zip(
            regions.leaves, regions.shares.tolist(), regions.effects, strict=True
        )
    ]
    beyond = beyond_text(regions.whole)
    return f"{lead} {beyond}." if beyond else lead, lines


def for_whom_sentence(section: ModelSection, feature: str) -> str:
    """Say by which feature rows differ, and where its curves are; and that no regions were found, if that is so."""
    effect, regions = section.rhale[feature], section.regions.get(feature)
    found, divided = effect.depends_on, regions is not None and len(regions) > 1
    by = "" if found is None else depends_on_text(found, feature_named(found.name))
    if by and (divided or regions is None):
        return sentence(tell(CURVES_BY, by=by, divided=divided))
    why = ""
    if regions is not None and not divided:
        noticeable = effect.heterogeneity_score > NOTICEABLE * section.largest_importance
        why = undivided_text(regions.nodes[0]) if noticeable else ""
    return " ".join(sentence(text) for text in (by, why) if text)


NOTICEABLE = 0.05
"""Heterogeneity scores below this fraction of the largest importance need no explanation."""
