"""Sentences and tables about categorical features: the counterparts of `skedasis.report.text`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skedasis._numbers import ROUNDING_NOISE, counted, number, percent
from skedasis._types import Floats, Ints
from skedasis.report.format import NumberTable, listed, named
from skedasis.results.axis import LevelStats
from skedasis.results.effect import TRUSTED_ROWS, Effect, LevelMeansEffect, LevelStepsEffect

LINES = 100
"""Largest number of table rows: a page with thousands of identifiers would take megabytes."""


def quoted(label: str) -> str:
    """Return a level's name in quotation marks."""
    return f"“{named(label)}”"


def centred(effect: Effect, levels: LevelStats) -> Floats:
    """Return the values minus their mean over the rows."""
    there = np.isfinite(effect.value)
    share = np.where(there, levels.share, 0.0)
    value = np.where(there, effect.value, 0.0)
    # Relative to one level, so that a feature without any effect has deviations of exactly zero.
    moved = value - value[0]
    total = float(share.sum())
    mean = float(share @ moved) / total if total > 0 else 0.0
    return np.where(there, moved - mean, np.nan)


def opposite_sign_share(effect: Effect) -> float | None:
    """Return the fraction of the rows' differences to adjacent levels with the opposite sign to the average one."""
    rows = effect.rows
    if rows is None or rows.effect is None or rows.effect.ndim != 2 or len(effect.points) < 2:
        return None
    mean, place = np.diff(effect.value), rows.x.astype(np.int64)
    # Differences from the previous level and to the next one; `rows.effect` is NaN at the first and the last level.
    down, up = mean[np.maximum(place - 1, 0)], mean[np.minimum(place, len(mean) - 1)]
    there = np.isfinite(rows.effect)
    weight = np.where(there, 1.0 if rows.weight is None else rows.weight[:, None], 0.0)
    if weight.sum() == 0:
        return None
    step = np.where(there, rows.effect, 0.0)
    step = np.where(np.abs(step) > ROUNDING_NOISE * np.abs(step).max(initial=0.0), step, 0.0)
    opposite = step * np.sign(np.nan_to_num(np.stack([down, up], axis=1))) < 0
    return float(np.average(opposite, weights=weight))


def level_order_sentence(effect: Effect, levels: LevelStats) -> str:
    """Describe the order of the levels, if there is one that matters."""
    if len(levels) < 3:
        return ""
    orders = {"declared": "the declared", "given": "the given", "ascending values": "ascending"}
    distances = "distances between levels are not defined."
    if effect.about.feature.kind == "ordinal":
        return (
            f"The levels are in {orders.get(levels.order_description, 'their')} order; {distances}"
        )
    if levels.order_description == "similarity of the other features":
        return (
            "The levels have no order of their own. Adjacent levels have similar rows in the other features; each row "
            "is moved to adjacent levels only."
        )
    if levels.order_description in ("declared", "given"):
        return f"The levels are in {orders[levels.order_description]} order; {distances}"
    return ""


def missing_sentence(levels: LevelStats, effect: Effect) -> str:
    """Describe the effect of missing values of a nominal feature, which form a level."""
    place = next((i for i, v in enumerate(levels.values) if v is None), None)
    if place is None or len(levels) < 2:
        return ""
    values = centred(effect, levels)
    value, largest = float(values[place]), float(np.nanmax(np.abs(values), initial=0.0))
    rows = counted(int(levels.count[place]), "row")
    where = f"{number(abs(value))} {'above' if value > 0 else 'below'}"
    where = "at" if abs(value) <= ROUNDING_NOISE * largest else where
    return f"Missing values are a level of their own, {quoted(levels.labels[place])} ({rows}): {where} the mean."


def cautions(effect: Effect, levels: LevelStats, *, skip_few_rows: bool) -> list[str]:
    """Return cautions about the levels."""
    found: list[str] = []
    few = np.flatnonzero(levels.count < TRUSTED_ROWS)
    if len(few) and not skip_few_rows:
        names = listed([f"“{levels.labels[i]}”" for i in few], 5)
        found.append(
            f"{counted(int(levels.count[few].sum()), 'row')} at {counted(len(few), 'level')} with fewer than "
            f"{TRUSTED_ROWS} rows (hatched): the effect of {names} is unreliable."
        )
    if effect.missing and None not in levels.values:
        found.append(f"{counted(effect.missing, 'row')} without a value: left out of the levels.")
    outside = effect.provenance.get("rows_outside")
    if outside:
        rows = counted(outside, "row")
        found.append(f"{rows} of other, rarer levels: left out.")
    return found


# ---------------------------------------------------------------------------------------- tables
def tables(effect: Effect, levels: LevelStats, axis: str) -> list[NumberTable]:
    """Return the tables of a categorical feature: its levels, and the differences between adjacent levels."""
    some = most_rows(levels.count, LINES)
    shown = (
        "" if len(some) == len(levels) else f" The {LINES} of {len(levels):,} with the most rows."
    )
    method = f"by {effect.spec.method}, in units of {axis}"
    found = [
        NumberTable(
            f"Levels {method}.{shown}", level_heads(effect), level_rows(effect, levels, some)
        )
    ]
    if isinstance(effect, LevelStepsEffect) and len(effect.bins):
        steps = effect.bins
        some = most_rows(steps.count, LINES)
        shown = (
            "" if len(some) == len(steps) else f" The {LINES} of {len(steps):,} with the most rows."
        )
        runs = " Similar adjacent differences are merged." if len(steps) < len(levels) - 1 else ""
        heads = (
            *(("From level", True), ("To level", True), ("Rows", False)),
            *(("Mean difference", False), ("Std", False), ("Standard error", False)),
            ("Remark", True),
        )
        caption = f"Differences between adjacent levels {method}.{runs}{shown}"
        found.append(NumberTable(caption, heads, step_rows(effect, some)))
    return found


def most_rows(rows: Ints, most: int) -> Ints:
    """Return the positions with the most rows, in ascending order."""
    return np.sort(np.argsort(-rows, kind="stable")[:most])


def level_heads(effect: Effect) -> tuple[tuple[str, bool], ...]:
    """Return the headings of a table of levels, and whether each column holds text."""
    value, spread = "Effect", "Spread between rows"
    if isinstance(effect, LevelMeansEffect):
        value, spread = "Mean", "Std"
    return (
        ("Level", True),
        ("Rows", False),
        ("Share", False),
        (value, False),
        (spread, False),
        ("Standard error", False),
        ("Remark", True),
    )


def level_rows(
    effect: Effect, levels: LevelStats, some: Sequence[int] | Ints
) -> list[tuple[str, ...]]:
    """Return the table rows of some levels, formatted as text."""
    return [
        (
            levels.labels[i],
            f"{levels.count[i]:,}",
            percent(float(levels.share[i])),
            number(float(effect.value[i])),
            number(float(effect.heterogeneity[i])),
            number(float(effect.std_error[i])),
            "" if levels.count[i] >= TRUSTED_ROWS else "few rows",
        )
        for i in some
    ]


def step_rows(effect: LevelStepsEffect, some: Sequence[int] | Ints) -> list[tuple[str, ...]]:
    """Return the table rows of some differences between adjacent levels, formatted as text."""
    levels, steps = effect.axis.levels, effect.bins
    left, right = levels.codes(steps.low), levels.codes(steps.high)
    return [
        (
            levels.labels[left[k]],
            levels.labels[right[k]],
            f"{steps.count[k]:,}",
            number(float(steps.effect[k])),
            number(float(steps.std[k])),
            number(float(steps.std_error[k])),
            "empty" if steps.empty[k] else "" if steps.trusted[k] else "few rows",
        )
        for k in some
    ]
