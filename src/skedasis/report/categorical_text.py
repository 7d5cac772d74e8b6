"""Sentences about categorical features.

Levels have no distances: nothing here speaks of slopes or of what lies between two of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.plots.scales import NOISE, count, number
from skedasis.report.format import Numbers, listed, named, percent
from skedasis.results.effect import TRUSTED_ROWS, Effect, LevelStats

LINES = 100
"""Lines of a table: of more levels those with most rows are shown, or a page of identifiers would be megabytes."""


def quoted(label: str) -> str:
    """Return a level's name for a sentence, between quotation marks.

    Examples
    --------
    >>> quoted("terraced")
    '“terraced”'
    """
    return f"“{named(label)}”"


def centred(effect: Effect, levels: LevelStats) -> Floats:
    """Return the values minus their mean over the rows."""
    there = np.isfinite(effect.value)
    share = np.where(there, levels.share, 0.0)
    value = np.where(there, effect.value, 0.0)
    # By way of one level: a feature without any effect has deviations of exactly zero.
    moved = value - value[0]
    total = float(share.sum())
    mean = float(share @ moved) / total if total > 0 else 0.0
    return np.where(there, moved - mean, np.nan)


def course(effect: Effect, levels: LevelStats) -> str:
    """Say which level raises the quantity most, which lowers it most, and by how much."""
    value = centred(effect, levels)
    if len(levels) < 2 or not np.isfinite(value).any():
        return "It takes a single value in these rows: there is no effect to see."
    if np.nanmax(value) - np.nanmin(value) == 0:
        return f"Its {len(levels):,} levels do not differ: the average effect is flat."
    return (
        f"Of its {len(levels):,} levels {_highest(levels, value)} the prediction most, by "
        f"{number(float(np.nanmax(value)))}, and {_highest(levels, -value, 'lower')} it most, by "
        f"{number(-float(np.nanmin(value)))}, compared with the mean over the rows."
    )


def _highest(levels: LevelStats, value: Floats, verb: str = "raise") -> str:
    """Name the level of the largest value, and say how many others have the same; with the rows where these are few."""
    top, low = float(np.nanmax(value)), float(np.nanmin(value))
    there = np.where(np.isfinite(value), value, low)
    first, *others = np.flatnonzero(there >= top - NOISE * (top - low))
    rows = int(levels.count[first])
    few = f" ({count(rows, 'row')})" if rows < TRUSTED_ROWS else ""
    more = f" and {count(len(others), 'other')} with it" if others else ""
    return f"{quoted(levels.labels[first])}{few}{more} {verb}{'' if others else 's'}"


def against(effect: Effect) -> float | None:
    """Return the share of the rows' steps to neighbouring levels that go the other way than the average step.

    None where no steps are kept.
    """
    rows = effect.rows
    if rows is None or rows.effect is None or rows.effect.ndim != 2 or len(effect.points) < 2:
        return None
    mean, place = np.diff(effect.value), rows.x.astype(np.int64)
    # The step from the level before, and that to the level after: NaN in `rows.effect` where there is none.
    down, up = mean[np.maximum(place - 1, 0)], mean[np.minimum(place, len(mean) - 1)]
    there = np.isfinite(rows.effect)
    weight = np.where(there, 1.0 if rows.weight is None else rows.weight[:, None], 0.0)
    if weight.sum() == 0:
        return None
    step = np.where(there, rows.effect, 0.0)
    step = np.where(np.abs(step) > NOISE * np.abs(step).max(initial=0.0), step, 0.0)
    opposite = step * np.sign(np.nan_to_num(np.stack([down, up], axis=1))) < 0
    return float(np.average(opposite, weights=weight))


def opposite(effect: Effect, kept: str) -> str:
    """Say how many of the rows' steps go the other way than on average; nothing where that is not known."""
    share = against(effect)
    if share is None:
        return ""
    if share == 0:
        return f" No {kept[:-1]}’s step to a neighbouring level goes the other way than the average step."
    return f" Of the steps of {kept} to neighbouring levels {percent(share)} go the other way than their average."


def order(effect: Effect, levels: LevelStats) -> str:
    """Say what the order of the levels is, where there is one to speak of."""
    if len(levels) < 3:
        return ""
    said = {
        "declared": "as it was declared",
        "given": "as it was given",
        "ascending values": "ascending",
    }
    if effect.about.feature.kind == "ordinal":
        own = said.get(levels.chosen, "its own")
        return f"The levels stand in their order, {own}; it has no distances."
    if levels.chosen == "similarity of the other features":
        return (
            "The levels have no order of their own. Neighbours are levels whose rows are alike in the other "
            "features: a row is moved to these only."
        )
    if levels.chosen in ("declared", "given"):
        return f"The levels stand in an order {said[levels.chosen]}; it has no distances."
    return ""


def missing(levels: LevelStats, effect: Effect) -> str:
    """Say what it does to miss a nominal feature: there it is a level like others."""
    place = next((i for i, v in enumerate(levels.values) if v is None), None)
    if place is None or len(levels) < 2:
        return ""
    values = centred(effect, levels)
    value, largest = float(values[place]), float(np.nanmax(np.abs(values), initial=0.0))
    rows = count(int(levels.count[place]), "row")
    where = f"{number(abs(value))} {'above' if value > 0 else 'below'}"
    where = "at" if abs(value) <= NOISE * largest else where
    return f"A missing value is a level like others, {quoted(levels.labels[place])} ({rows}): {where} the mean."


def doubts(effect: Effect, levels: LevelStats, *, objected: bool) -> list[str]:
    """Return what to mind about the levels."""
    found: list[str] = []
    few = np.flatnonzero(levels.count < TRUSTED_ROWS)
    if len(few) and not objected:
        names = listed([f"“{levels.labels[i]}”" for i in few], 5)
        found.append(
            f"{count(int(levels.count[few].sum()), 'row')} at {count(len(few), 'level')} of fewer than "
            f"{TRUSTED_ROWS}: not to be trusted there (hatched): {names}."
        )
    if effect.missing and None not in levels.values:
        found.append(f"{count(effect.missing, 'row')} without a value: left out of the levels.")
    if effect.provenance.get("rows_outside"):
        rows = count(effect.provenance["rows_outside"], "row")
        found.append(f"{rows} of other, rarer levels: left out.")
    return found


# ---------------------------------------------------------------------------------------- tables
def tables(effect: Effect, levels: LevelStats, axis: str) -> list[Numbers]:
    """Return a categorical feature's numbers: its levels, and the steps between them."""
    some = most_rows(levels.count, LINES)
    shown = "" if len(some) == len(levels) else f" The {LINES} of {len(levels):,} with most rows."
    method = f"by {effect.spec.method}, in units of {axis}"
    found = [
        Numbers(f"Levels {method}.{shown}", level_heads(effect), level_rows(effect, levels, some))
    ]
    steps = effect.bins
    if steps is not None and len(steps) and effect.spec.local == "levels":
        some = most_rows(steps.count, LINES)
        shown = "" if len(some) == len(steps) else f" The {LINES} of {len(steps):,} with most rows."
        runs = " A run of steps that are alike is one line." if len(steps) < len(levels) - 1 else ""
        heads = (
            *(("From level", True), ("To level", True), ("Rows", False)),
            *(("Mean step", False), ("Its spread (std)", False), ("Standard error", False)),
            ("Remark", True),
        )
        caption = f"Steps from one level to the next {method} per step.{runs}{shown}"
        found.append(Numbers(caption, heads, step_rows(effect, levels, some)))
    return found


def most_rows(rows: Ints, most: int) -> Ints:
    """Return the places of those that have most rows, in their order."""
    return np.sort(np.argsort(-rows, kind="stable")[:most])


def level_heads(effect: Effect) -> tuple[tuple[str, bool], ...]:
    """Return the headings of a table of levels, each with whether its column holds text."""
    value, spread = "Effect", "Heterogeneity"
    if effect.spec.local == "values":
        value, spread = "Mean", "Its spread (std)"
    elif effect.spec.local == "levels" and effect.about.feature.kind == "nominal":
        spread = "Spread of the steps beside it"
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
    """Return some of the levels' numbers, ready to be shown."""
    return [
        (
            levels.labels[i],
            f"{levels.count[i]:,}",
            percent(float(levels.share[i])),
            number(float(effect.value[i])),
            number(float(effect.heterogeneity[i])),
            number(float(effect.std_error[i])),
            "" if levels.count[i] >= TRUSTED_ROWS else "not to be trusted",
        )
        for i in some
    ]


def step_rows(
    effect: Effect, levels: LevelStats, some: Sequence[int] | Ints
) -> list[tuple[str, ...]]:
    """Return some of the steps' numbers, ready to be shown."""
    steps = effect.bins
    if steps is None:
        return []
    left, right = levels.places(steps.low), levels.places(steps.high)
    return [
        (
            levels.labels[left[k]],
            levels.labels[right[k]],
            f"{steps.count[k]:,}",
            number(float(steps.effect[k])),
            number(float(steps.std[k])),
            number(float(steps.std_error[k])),
            "empty" if steps.empty[k] else "" if steps.trusted[k] else "not to be trusted",
        )
        for k in some
    ]
