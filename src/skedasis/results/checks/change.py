"""Reliability checks of a `Change`: rows that leave the data, and regions with few rows."""

from __future__ import annotations

from collections.abc import Iterator

from skedasis.results.change import Change, share_text
from skedasis.results.checks.check import Check, Checks, Severity, in_order
from skedasis.results.checks.extrapolation import NOTE_EXTRAPOLATION, WARN_EXTRAPOLATION
from skedasis.results.display import count
from skedasis.results.effect import TRUSTED_ROWS


def check_change(change: Change) -> Checks:
    """Return the findings on a change; see `Change.checks`."""
    return in_order([*_leaves_range(change), *_is_far(change), *_few_rows(change)])


def _severity(share: float) -> Severity:
    return "warning" if share >= WARN_EXTRAPOLATION else "note"


def _leaves_range(change: Change) -> Iterator[Check]:
    """Check how many rows leave the observed range of a feature that moves."""
    out = change.outside
    if not out.share >= NOTE_EXTRAPOLATION:
        return
    left = [m for m in change.moved if m.outside]
    parts = [repr(m.feature.name) for m in left]
    if len(left) > 1:
        parts = [f"{m.feature.name!r} ({count(m.outside, 'row')})" for m in left]
    rows = "1 row" if out.rows == 1 else f"{out.rows:,} rows"
    verb = "leaves" if out.rows == 1 else "leave"
    text = (
        f"{rows} ({share_text(out.share)}) {verb} the observed range of {', '.join(parts)}, where the model has seen "
        f"no data. {_fix(change)}"
    )
    numbers = {"share": out.share, "rows": out.rows}
    yield Check(
        "extrapolation",
        _severity(out.share),
        text,
        out.rows,
        ", ".join(change.features),
        None,
        numbers,
    )


def _is_far(change: Change) -> Iterator[Check]:
    """Check how many rows are far from the data after the move."""
    out = change.outside
    if not out.far >= NOTE_EXTRAPOLATION:
        return
    others = ", ".join(map(repr, out.others))
    given = f" (distances also in {others})" if out.others else ""
    text = (
        f"{share_text(out.far)} of {count(out.sampled, 'sampled row')} are extrapolations after the move: farther from "
        f"the data than 99% of the rows are from their nearest neighbour{given}. {_fix(change)}"
    )
    numbers = {"share": out.far, "rows": out.sampled, "others": out.others}
    rows = round(out.far * out.sampled)
    yield Check(
        "extrapolation",
        _severity(out.far),
        text,
        rows,
        ", ".join(change.features),
        None,
        numbers,
    )


def _fix(change: Change) -> str:
    """Return what to do about rows that leave the data."""
    if all(m.is_setting for m in change.moved):
        return "Use a more common value, or only the rows for which this one is plausible."
    return "Use a smaller step, or only the rows for which this one is plausible."


def _few_rows(change: Change) -> Iterator[Check]:
    """Check the number of rows of each region."""
    for line in change.by:
        if line.rows >= TRUSTED_ROWS:
            continue
        rows = count(line.rows, "row")
        text = (
            f"The region {line.region!r} has {rows}, so that its mean change is uncertain. Use more rows, or combine "
            "regions."
        )
        yield Check(
            "few_rows",
            "warning",
            text,
            line.rows,
            ", ".join(change.features),
            line.region,
            {"rows": line.rows},
        )
