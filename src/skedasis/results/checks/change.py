"""Reliability checks of a `Change`: rows that leave the data, and regions with few rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skedasis._numbers import counted, percent
from skedasis.results.change import Change
from skedasis.results.checks.check import Check, Checks, checks_in_order, severity_of
from skedasis.results.checks.extrapolation import NOTE_EXTRAPOLATION, WARN_EXTRAPOLATION
from skedasis.results.effect import TRUSTED_ROWS


def check_change(change: Change) -> Checks:
    """Return the findings on a change; see `Change.checks`."""
    return checks_in_order([*_leaves_data(change), *_few_rows(change)])


def _leaves_data(change: Change) -> Iterator[Check]:
    """Check how many rows leave the observed range of a feature that moves, and are far from the data after it."""
    out, moved = change.outside, ", ".join(change.features)
    fix = "Use a smaller step, or only the rows for which this one is plausible."
    if all(m.is_setting for m in change.moved):
        fix = "Use a more common value, or only the rows for which this one is plausible."
    left = [m for m in change.moved if m.outside]
    parts = [f"{m.feature.name!r} ({counted(m.outside, 'row')})" for m in left]
    if len(left) == 1:
        parts = [repr(left[0].feature.name)]
    range_text = (
        f"{counted(out.rows, 'row')} ({percent(out.share)}) {'leaves' if out.rows == 1 else 'leave'} the observed "
        f"range of {', '.join(parts)}, where the model has seen no data. {fix}"
    )
    sampled = counted(out.sampled, "sampled row")
    far_text = f"After the move {percent(out.far)} of {sampled} are unlike any in the data. {fix}"
    in_range = {"share": out.share, "rows": out.rows}
    near = {"share": out.far, "rows": out.sampled, "others": out.others}
    far_rows = round(out.far * out.sampled) if np.isfinite(out.far) else 0
    for share, rows, text, numbers in (
        (out.share, out.rows, range_text, in_range),
        (out.far, far_rows, far_text, near),
    ):
        if share >= NOTE_EXTRAPOLATION:
            severity = severity_of(share, WARN_EXTRAPOLATION)
            yield Check("extrapolation", severity, text, rows, moved, None, numbers)


def _few_rows(change: Change) -> Iterator[Check]:
    """Check the number of rows of each region."""
    for line in change.by:
        if line.rows >= TRUSTED_ROWS:
            continue
        text = (
            f"The group {line.region!r} has {counted(line.rows, 'row')}, so that its mean change is uncertain. "
            "Use more rows, or combine groups."
        )
        moved, numbers = ", ".join(change.features), {"rows": line.rows}
        yield Check("few_rows", "warning", text, line.rows, moved, line.region, numbers)
