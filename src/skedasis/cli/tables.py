"""Importances and diagnoses as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from rich.markup import escape
from rich.table import Table as Lines

from skedasis.report.numbers import beside, count, number
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.importance import Importance, ImportanceRank


def importance(found: Importance) -> Lines:
    """Return importances for a terminal, most important first: mean, interval, spread over the repeats."""
    title = f"{found.method}: {found.axis}"
    what = found.metric or found.quantity
    repeats = "all pairs of rows" if found.is_exact else count(found.values.shape[1], "repeat")
    rows = f"{count(found.rows, 'row')}, {repeats}"
    caption = f"{what} at the rows {number(found.baseline)}; {rows}"
    heads = ("feature", "mean", "95\u202f% interval", "std over repeats")
    ranks = found.ranking()
    largest = max(abs(found.baseline), *(abs(r.mean) for r in ranks))
    lines = [
        (r.feature, beside(r.mean, largest), _interval(r, largest), beside(r.std, largest))
        for r in ranks
    ]
    return _table(title, caption, heads, lines)


def diagnosis(found: Diagnosis) -> Lines:
    """Return a diagnosis for a terminal, by Likelihood-PFI."""
    heads, *rows = found.lines()
    repeats = count(found.likelihood.values.shape[1], "repeat")
    of = found.provenance.get("quantity", "likelihood and entropy")
    return _table(
        f"PFI of {of}, in nats",
        f"{count(found.likelihood.rows, 'row')}, {repeats}; {100 * found.level:g}\u202f% intervals",
        heads,
        rows,
    )


def sentences(found: Diagnosis) -> Iterator[str]:
    """Give what is to be said of each feature, and of all of them."""
    yield ""
    for line in found.ranking():
        yield f"{line.feature}: {line.verdict.text} {line.verdict.next}"
    if found.notes:
        yield ""
    yield from found.notes


def _interval(rank: ImportanceRank, largest: float) -> str:
    if math.isnan(rank.lower):
        return "–"
    return f"{beside(rank.lower, largest)} to {beside(rank.upper, largest)}"


def _table(title: str, caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    """Return a table. What comes from a user is no markup."""
    table = Lines(
        title=escape(title), caption=escape(caption), title_justify="left", caption_justify="left"
    )
    for head in heads:
        side = "left" if head in ("feature", "verdict") else "right"
        table.add_column(head, justify=side, overflow="fold", no_wrap=head == "verdict")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
