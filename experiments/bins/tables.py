"""Tables of the experiment on bins, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from experiments.bins.fits import ERRORS, LIKELIHOOD
from experiments.bins.runs import BEST, METHODS, RIVALS, Outcome


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; all columns but the first are aligned to the right."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def number(value: float) -> str:
    """Return three digits."""
    if not np.isfinite(value):
        return "·"
    return f"{value:.3f}" if value >= 0.01 else f"{value:.2g}"


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return how often likelihood is better, neither or worse than each rival, for each error, over cases and N."""
    rows: list[list[str]] = []
    for rival in RIVALS:
        row = [rival]
        for kind in range(len(ERRORS)):
            all_of_them = [o.verdict(rival, kind) for o in outcomes]
            row.append(" / ".join(str(all_of_them.count(v)) for v in "+=-"))
        rows.append(row)
    return table(["likelihood against: better / neither / worse", *ERRORS], rows)


def by_case(outcomes: Sequence[Outcome], kind: int) -> str:
    """Return one error, its mean over the runs: a row for each case and N."""
    rows: list[list[str]] = []
    for o in outcomes:
        row = [f"{o.case.name}, {o.n:,}", f"**{number(o.mean(LIKELIHOOD, kind))}**"]
        for rival in RIVALS:
            also = f" ({o.best(kind)})" if rival == BEST else ""
            row.append(f"{number(o.mean(rival, kind))}{also} {o.verdict(rival, kind)}")
        rows.append(row)
    return table(["case, rows", LIKELIHOOD, *RIVALS], rows)


def counts(outcomes: Sequence[Outcome]) -> str:
    """Return the mean number of bins, and of those that are left out of L_mu and L_sigma."""
    rows: list[list[str]] = []
    for o in outcomes:
        row = [f"{o.case.name}, {o.n:,}"]
        for bins, few in zip(o.bins.mean(axis=0), o.left_out.mean(axis=0), strict=True):
            row.append(f"{bins:.1f}" + (f" ({few:.1f})" if few > 0 else ""))
        rows.append(row)
    return table(["case, rows", *METHODS], rows)
