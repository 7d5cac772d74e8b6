"""Results as tables for a terminal."""

from __future__ import annotations

import numpy as np
from rich.markup import escape
from rich.table import Table as Lines

from skedasis.report import words
from skedasis.report.numbers import number, places
from skedasis.report.story import Told
from skedasis.results.effect import Effect


def ranking(told: Told) -> Lines:
    """Return a ranking for a terminal: feature, importance, heterogeneity, bins, rows not to be trusted."""
    title = escape(f"{told.name}: RHALE, in units of {told.axis}")
    table = Lines(title=title, title_justify="left", title_style="bold")
    table.add_column("feature", overflow="fold")
    for heading in ("importance", "heterogeneity", "bins", "rows not to be trusted"):
        table.add_column(heading, justify="right")
    for line in words.ranking(told):
        feature = escape(line.feature)
        table.add_row(feature, line.importance, line.heterogeneity, line.bins, line.untrusted)
    return table


def numbers(effect: Effect) -> Lines:
    """Return an effect's numbers for a terminal: its bins, or some points of its grid."""
    title = escape(f"{effect.spec.method} of {effect.about.feature.axis} on {effect.about.axis}")
    caption = f"importance {number(effect.importance)}, heterogeneity {number(effect.score)}"
    table = Lines(title=title, caption=caption, title_justify="left", caption_justify="left")
    rows = words.bins_table(effect)
    headings = ("from", "to", "rows", "mean slope", "std", "standard error", "")
    if not rows:
        some = np.unique(np.linspace(0, len(effect.x) - 1, 12).astype(int))
        columns = (effect.value, effect.heterogeneity, effect.std_error)
        at = places(effect.x[some])
        rows = [
            (where, *(number(float(c[j])) for c in columns))
            for where, j in zip(at, some, strict=True)
        ]
        headings = ("at", "effect", "heterogeneity", "standard error")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    return table
