"""Tables as HTML: the numbers behind a picture, and results that are tables themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from markupsafe import Markup

from skedasis.data.times import TimePoints
from skedasis.plots.numbers import beside, places
from skedasis.plots.web.svg import joined, tag

LINES = 100
"""Lines of a table: what has more of them is read from a data frame, not from a page."""
PLACES = ("x", "x0", "x1", "left", "right", "left0", "right0", "left1", "right1")
"""Columns of places on an axis: they have as many digits as keep neighbours apart."""


def table(caption: str, columns: Mapping[str, Sequence[Any]], *, lines: int = LINES) -> Markup:
    """Return columns as a table whose first column says what a line is about.

    Parameters
    ----------
    caption : str
        What it holds.
    columns : mapping of str to sequence
        Numbers, truths or text. An underscore in a name stands for a space.
    lines : int
        Only so many; the caption says how many there are.

    Returns
    -------
    Markup

    Examples
    --------
    >>> shown = table("Two", {"name": ["<b>", "c"], "std_error": [0.25, float("nan")]})
    >>> "&lt;b&gt;" in shown, "<td>0.250</td>" in shown, "<td>–</td>" in shown, "std error" in shown
    (True, True, True, True)
    """
    size = len(next(iter(columns.values()), ()))
    kept = {name: column[:lines] for name, column in columns.items()}
    if size > lines:
        caption = f"{caption}: the first {lines:,} of {size:,} lines"
    written = {name: _cells(name, column) for name, column in kept.items()}
    heads = [
        tag("th", name.replace("_", " "), scope="col", class_="text" if textual else None)
        for name, (_, textual) in written.items()
    ]
    rows = [
        _row(cells, list(written.values()))
        for cells in zip(*(c for c, _ in written.values()), strict=True)
    ]
    inner = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows),
        class_="skd-table",
    )
    # Wide tables scroll within themselves: from a keyboard, too, so it is a stop with a name.
    return tag("div", inner, class_="skd-scroll", role="region", aria_label=caption, tabindex="0")


def _row(cells: Sequence[str], written: Sequence[tuple[list[str], bool]]) -> Markup:
    first, *others = [
        # A name may run from right to left, in a table that does not.
        ("text" if textual else None, "auto" if textual else None, cell)
        for cell, (_, textual) in zip(cells, written, strict=True)
    ]
    head = tag("th", first[2], scope="row", class_=first[0], dir=first[1])
    return tag("tr", head, *(tag("td", text, class_=kind, dir=way) for kind, way, text in others))


def _cells(name: str, column: Sequence[Any]) -> tuple[list[str], bool]:
    """Return a column as text, and whether it was text."""
    if isinstance(column, TimePoints):
        return column.texts(), True
    values = np.asarray(column)
    if values.dtype.kind == "b":
        return ["yes" if v else "no" for v in values.tolist()], True
    if values.dtype.kind in "iu":
        return [f"{v:,}".replace("-", "−") for v in values.tolist()], False
    if values.dtype.kind == "f":
        if name in PLACES:
            return places(values), False
        top = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
        return [beside(float(v), top) for v in values.tolist()], False
    return ["–" if v is None else str(v) for v in column], True


def records(lines: Iterable[Any], *, leave: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return the fields of dataclasses of one kind as columns.

    Parameters
    ----------
    lines : iterable of dataclass
    leave : sequence of str
        Fields to leave out.

    Examples
    --------
    >>> from skedasis.results.effects import Rank
    >>> records([Rank("a", 1.0, 0.5, 0.1, 4, 0, 0)], leave=["bins", "missing"])
    {'feature': ['a'], 'importance': [1.0], 'heterogeneity_score': [0.5], 'heterogeneity_score_error': [0.1],
     'untrusted_rows': [0]}
    """
    rows = list(lines)
    names = [f.name for f in fields(rows[0]) if f.name not in leave] if rows else []
    return {name: [getattr(row, name) for row in rows] for name in names}


def folded(summary: str, *content: Markup) -> Markup:
    """Return what opens when its summary is asked for."""
    return tag("details", tag("summary", summary), joined(content), class_="skd-more")
