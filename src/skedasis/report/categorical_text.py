"""Sentences and tables about categorical features: the counterparts of `skedasis.report.text`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skedasis._numbers import number, percent
from skedasis._types import Ints
from skedasis.report.format import NumberTable
from skedasis.results.axis import LevelStats
from skedasis.results.effect import TRUSTED_ROWS, Effect, LevelMeansEffect, LevelStepsEffect

LINES = 100
"""Largest number of table rows: a page with thousands of identifiers would take megabytes."""


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
