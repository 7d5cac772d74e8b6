"""Importances and diagnoses as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from rich.box import HEAVY_HEAD, SIMPLE_HEAD, Box
from rich.markup import escape
from rich.table import Table as Lines

from skedasis.plots.scales import count, number, number_or_zero
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
        (
            r.feature,
            number_or_zero(r.mean, largest),
            _interval(r, largest),
            number_or_zero(r.std, largest),
        )
        for r in ranks
    ]
    return _table(title, caption, heads, lines)


def diagnosis(found: Diagnosis, *, lines: int = 1, r2: bool = True) -> Lines:
    """Return a diagnosis for a terminal, by Likelihood-PFI.

    Parameters
    ----------
    found : Diagnosis
    lines : {1, 2}
        2 puts intervals below their means, and nothing between columns.
    r2 : bool
        False leaves out what forests found.
    """
    heads, *rows = found.lines()
    if lines > 1:
        heads = [h.replace("R² ", "R²\n") for h in heads]
        rows = [(r[0], *(_on_two_lines(c) for c in r[1:3]), *r[3:]) for r in rows]
    if not r2:
        heads, *rows = [(*r[:3], *r[5:]) for r in (heads, *rows)]
    repeats = count(found.likelihood.values.shape[1], "repeat")
    of = found.provenance.get("quantity", "likelihood and entropy")
    caption = (
        f"{count(found.likelihood.rows, 'row')}, {repeats}; {100 * found.level:g}\u202f% intervals"
    )
    return _table(
        f"PFI of {of}, in nats",
        caption if r2 else f"{caption}; R² of each: in a wider terminal",
        heads,
        rows,
        SIMPLE_HEAD if lines > 1 else HEAVY_HEAD,
    )


def _on_two_lines(measured: str) -> str:
    """Return a mean with its interval below it."""
    mean, _, ends = measured.partition(" (")
    return f"{mean}\n{ends.removesuffix(')')}"


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
    return f"{number_or_zero(rank.lower, largest)} to {number_or_zero(rank.upper, largest)}"


def _table(
    title: str,
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    box: Box = HEAVY_HEAD,
) -> Lines:
    """Return a table. What comes from a user is no markup."""
    table = Lines(
        title=escape(title),
        caption=escape(caption),
        title_justify="left",
        caption_justify="left",
        box=box,
        pad_edge=box is HEAVY_HEAD,
        padding=(0, 1) if box is HEAVY_HEAD else (0, 1, 0, 0),
    )
    for head in heads:
        side = "left" if head in ("feature", "verdict") else "right"
        table.add_column(head, justify=side, overflow="fold", no_wrap=head == "verdict")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
