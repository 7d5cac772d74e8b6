"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from rich.markup import escape
from rich.table import Table as Lines

from skedasis.plots.figures.compare import heterogeneity
from skedasis.plots.scales import count, number, places
from skedasis.report import categorical_text
from skedasis.report import text as report_text
from skedasis.report.content import Told
from skedasis.results.effect import Effect
from skedasis.results.surface import Surface

LINES = 40
"""Of more levels a terminal shows those with most rows."""


def ranking(told: Told) -> Lines:
    """Return a ranking for a terminal: feature, importance, heterogeneity score, bins, rows not to be trusted."""
    kinds = {e.about.feature.kind for e in told.rhale.values()}
    method = "ALE" if kinds == {"nominal"} else "RHALE"
    besides = " (ALE where levels have no order)" if "nominal" in kinds and len(kinds) > 1 else ""
    title = escape(f"{told.name}: {method}{besides}, in units of {told.axis}")
    table = Lines(title=title, title_justify="left", title_style="bold")
    table.add_column("feature", overflow="fold")
    some = any(e.levels is not None for e in told.rhale.values())
    parts = "bins or levels" if some else "bins"
    for heading in ("importance", "heterogeneity score", parts, "rows not to be trusted"):
        table.add_column(heading, justify="right")
    for line in report_text.ranking(told):
        feature = escape(line.feature)
        table.add_row(feature, line.importance, line.heterogeneity_score, line.bins, line.untrusted)
    return table


def numbers(effect: Effect) -> Lines:
    """Return an effect's numbers for a terminal: its bins, its levels, or some points of its grid."""
    title = f"{effect.spec.method} of {effect.about.feature.axis} on {effect.about.axis}"
    caption = f"importance {number(effect.importance)}, {heterogeneity(effect)}"
    if effect.levels is not None:
        some = categorical_text.most_rows(effect.levels.count, LINES)
        rows = categorical_text.level_rows(effect, effect.levels, some)
        if len(some) < len(effect.levels):
            caption += f"; {LINES} of {len(effect.levels):,} levels, those with most rows"
        # A terminal is narrow, and the rows say what their share does.
        heads = [h for h in categorical_text.level_heads(effect) if h[0] != "Share"]
        rows = [(*row[:2], *row[3:]) for row in rows]
        return _table(title, _ended(caption, effect), heads, rows)
    rows = report_text.bins_table(effect)
    middle = "mean" if effect.spec.local == "values" else "mean slope"
    if effect.time is not None and middle == "mean slope":
        middle = "mean slope per day"
    names: Sequence[str] = ("from", "to", "rows", middle, "std", "standard error", "")
    if not any(row[-1] for row in rows):
        names, rows = names[:-1], [row[:-1] for row in rows]
    if not rows:
        some = np.unique(np.linspace(0, len(effect.points) - 1, 12).astype(int))
        columns = (effect.value, effect.heterogeneity, effect.std_error)
        at = places(effect.points[some], effect.time)
        rows = [
            (where, *(number(float(c[j])) for c in columns))
            for where, j in zip(at, some, strict=True)
        ]
        names = ("at", "effect", "heterogeneity", "standard error")
    return _table(title, _ended(caption, effect), [(name, False) for name in names], rows)


def surface(result: Surface) -> Lines:
    """Return what two features do together for a terminal: its strength, and its size."""
    first, second = result.features
    table = Lines(
        title=escape(f"{result.spec.method} of {first} and {second} on {result.about.axis}"),
        title_justify="left",
        show_header=False,
    )
    what = "main effects included" if result.includes_main_effects else "interaction strength"
    table.add_row(
        f"standard deviation over the rows ({what})", number(result.interaction_strength())
    )
    for about, side in zip(result.abouts, result.sides, strict=True):
        size = f"{side.m:,} {'points' if side.levels is None else 'levels'}"
        if side.strips is not None:
            size = "2 values"
        elif side.bins is not None:
            size = count(max(len(side.bins), 1), "bin")
        table.add_row(escape(about.feature.axis), size)
    # Between two levels or values a cell has the rows of both: there it says nothing of where rows are.
    apart = any(side.levels is not None or side.strips is not None for side in result.sides)
    if result.cells is not None and not apart:
        empty = int(result.cells.empty.sum())
        table.add_row("cells without rows", f"{empty:,} of {result.cells.empty.size:,}")
    table.add_row("points in all", " × ".join(f"{n:,}" for n in result.value.shape))
    return table


def _ended(caption: str, effect: Effect) -> str:
    """Add what it does to miss the feature."""
    point = effect.missing_point
    if point is None:
        return caption
    return f"{caption}; value missing ({point.count:,} rows): {number(point.effect)}"


def _table(
    title: str, caption: str, heads: Iterable[tuple[str, bool]], rows: Iterable[Sequence[str]]
) -> Lines:
    """Return a table. What comes from a user is no markup."""
    table = Lines(
        title=escape(title), caption=caption, title_justify="left", caption_justify="left"
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
