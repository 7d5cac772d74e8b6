"""Results as rich tables for a terminal: effects and surfaces. Called by `skedasis.cli.output`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from rich.markup import escape
from rich.table import Table as Lines

from skedasis._numbers import counted, number
from skedasis.plots.figures.effect_texts import heterogeneity_text
from skedasis.plots.figures.surface import is_discrete
from skedasis.plots.figures.titles import TIMES, effect_title, surface_title
from skedasis.plots.scales import position_texts
from skedasis.report import categorical_text
from skedasis.report import text as report_text
from skedasis.results.axis import BinPairAxis, LevelAxis, LevelPairAxis, TimedAxis
from skedasis.results.effect import AnyMPlot, Effect
from skedasis.results.effect_words import depends_on_text
from skedasis.results.surface import Surface

LINES = 40
"""Largest number of levels in a table; of more levels, those with the most rows are shown."""


def numbers(effect: Effect) -> Lines:
    """Return an effect as a table: its bins, its levels, or some points of its grid."""
    # A table has no axes: the units are in its title.
    title = replace(
        effect_title(effect, quantity=effect.about.axis), subject=effect.about.feature.axis
    )
    caption = f"importance {number(effect.importance)}, {heterogeneity_text(effect)}"
    if effect.depends_on is not None:
        caption += f", {depends_on_text(effect.depends_on)}: skedasis regions"
    if isinstance(effect.axis, LevelAxis):
        levels = effect.axis.levels
        some = categorical_text.most_rows(levels.count, LINES)
        rows = categorical_text.level_rows(effect, levels, some)
        if len(some) < len(levels):
            caption += f"; {LINES} of {len(levels):,} levels, those with the most rows"
        # A terminal is narrow, and the share follows from the number of rows.
        heads = [h for h in categorical_text.level_heads(effect) if h[0] != "Share"]
        rows = [(*row[:2], *row[3:]) for row in rows]
        return _table(str(title), _ended(caption, effect), heads, rows)
    rows = report_text.bins_table(effect)
    per = " per day" if isinstance(effect.axis, TimedAxis) else ""
    middle = "mean" if isinstance(effect, AnyMPlot) else f"mean slope{per}"
    names: Sequence[str] = ("from", "to", "rows", middle, "std", "standard error", "")
    if not any(row[-1] for row in rows):
        names, rows = names[:-1], [row[:-1] for row in rows]
    if not rows:
        some = np.unique(np.linspace(0, len(effect.points) - 1, 12).astype(int))
        columns = (effect.value, effect.heterogeneity, effect.std_error)
        at = position_texts(effect.points[some], effect.time)
        rows = [
            (where, *(number(float(c[j])) for c in columns))
            for where, j in zip(at, some, strict=True)
        ]
        names = ("at", "effect", "spread between rows", "standard error")
    return _table(str(title), _ended(caption, effect), [(name, False) for name in names], rows)


def surface(result: Surface) -> Lines:
    """Return a surface as a table: interaction strength, sizes of both axes, empty cells."""
    title = surface_title(result, quantity=result.about.axis)
    table = Lines(
        title=escape(str(replace(title, subject=TIMES.join(result.feature_titles)))),
        title_justify="left",
        show_header=False,
    )
    what = "main effects included" if result.includes_main_effects else "interaction strength"
    table.add_row(
        f"standard deviation over the rows ({what})", number(result.interaction_strength())
    )
    for about, side in zip(result.abouts, result.sides, strict=True):
        size = f"{side.n_nodes:,} {'levels' if isinstance(side, LevelPairAxis) else 'points'}"
        if side.strips is not None:
            size = "2 values"
        elif isinstance(side, BinPairAxis):
            size = counted(max(len(side.bins), 1), "bin")
        table.add_row(escape(about.feature.axis), size)
    # A cell between two levels or values counts the rows of both, so empty cells would have no meaning.
    discrete = any(map(is_discrete, result.sides))
    if result.cells is not None and not discrete:
        empty = int(result.cells.empty.sum())
        table.add_row("cells without rows", f"{empty:,} of {result.cells.empty.size:,}")
    table.add_row("points in total", " × ".join(f"{n:,}" for n in result.value.shape))
    return table


def _ended(caption: str, effect: Effect) -> str:
    """Append the effect of missing values to the caption."""
    point = effect.missing_point
    if point is None:
        return caption
    return f"{caption}; value missing ({point.count:,} rows): {number(point.effect)}"


def _table(
    title: str, caption: str, heads: Iterable[tuple[str, bool]], rows: Iterable[Sequence[str]]
) -> Lines:
    """Return a table; text from users is escaped."""
    table = Lines(
        title=escape(title), caption=escape(caption), title_justify="left", caption_justify="left"
    )
    for text, left in heads:
        table.add_column(
            text.lower(),
            justify="left" if left else "right",
            overflow="fold" if left else "ellipsis",
        )
    for row in rows:
        table.add_row(*map(escape, row))
    return table
