"""The claims about bins by likelihood, each with its numbers: one sentence per claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.bins.fits import ERRORS, LIKELIHOOD
from experiments.bins.runs import BEST, RIVALS, Outcome

PAPERS = ("piecewise (papers)", "non-linear (papers)")
FLAT = ("constant", "constant, heavy-tailed d")
EQ13 = ("Eq. 13, 20", "Eq. 13, 40", "Eq. 13, 200")
_BY = {name: kind for kind, name in enumerate(ERRORS)}
Counts = Mapping[tuple[str, int], np.ndarray]


def sentences(outcomes: Sequence[Outcome], bins: Counts) -> list[str]:
    """Return a sentence for each claim; it starts with whether it holds."""
    at = {(o.case.name, o.n): o for o in outcomes}
    papers = [at[name, 500] for name in PAPERS]
    return [
        *(_below(papers, name, EQ13) for name in ("L_sigma", "L_mu", *ERRORS[:2])),
        _best_equal(papers),
        _pieces(bins),
        *(_one_bin(bins, name) for name in FLAT),
        _flat(outcomes),
        *_losses(outcomes),
    ]


def _said(holds: bool, text: str) -> str:
    return f"{'**Holds.**' if holds else '**Does not hold.**'} {text}"


def _below(papers: Sequence[Outcome], error: str, rivals: Sequence[str]) -> str:
    kind, parts, holds = _BY[error], [], True
    for o in papers:
        own = o.mean(LIKELIHOOD, kind)
        theirs = [o.mean(r, kind) for r in rivals]
        holds &= all(o.verdict(r, kind) == "+" for r in rivals)
        listed = ", ".join(
            f"{v:.3f} {o.verdict(r, kind)}" for v, r in zip(theirs, rivals, strict=True)
        )
        parts.append(f"{o.case.name} {own:.3f} against {listed}")
    text = f"{error} lower than Eq. 13's at K_max 20, 40, 200: {'; '.join(parts)}."
    lower = all(o.mean(LIKELIHOOD, kind) < o.mean(r, kind) for o in papers for r in rivals)
    if lower and not holds:
        return f"**Not shown.** {text} Lower on average, but not everywhere significantly."
    return _said(holds, text)


def _best_equal(papers: Sequence[Outcome]) -> str:
    kind, parts, holds = _BY["L_sigma"], [], True
    for o in papers:
        ratio = o.mean(LIKELIHOOD, kind) / o.mean(BEST, kind)
        holds &= ratio <= 1.05
        parts.append(f"{o.case.name} {ratio:.2f} times that of K = {o.best(kind)}")
    return _said(
        holds, f"L_sigma is within 1.05 of the best of 2..100 equal bins: {'; '.join(parts)}."
    )


def _pieces(bins: Counts) -> str:
    found = bins[PAPERS[0], 500]
    share = float(np.mean((found >= 5) & (found <= 7)))
    text = (
        f"5 to 7 bins in {share:.0%} of {len(found)} runs of {PAPERS[0]}, 500 rows (target: 80 %)."
    )
    return _said(share >= 0.8, text)


def _one_bin(bins: Counts, name: str) -> str:
    shares = {n: float(np.mean(found == 1)) for (case, n), found in bins.items() if case == name}
    runs = {n: len(found) for (case, n), found in bins.items() if case == name}
    listed = ", ".join(f"{share:.1%} at {n:,} ({runs[n]} runs)" for n, share in shares.items())
    holds = min(shares.values()) >= 0.95
    return _said(holds, f"One bin in 95 % of runs where the effect is constant; {name}: {listed}.")


def _flat(outcomes: Sequence[Outcome]) -> str:
    worse = [
        f"{o.case.name}, {o.n:,}: {ERRORS[kind]} against {rival}"
        for o in outcomes
        if o.case.name in FLAT
        for rival in RIVALS[:5]
        for kind in range(4)
        if rival.startswith("Eq. 13") and o.verdict(rival, kind) == "-"
    ]
    text = "Never significantly worse than Eq. 13, with any settings, where the effect is constant"
    return _said(not worse, f"{text}{': but ' + '; '.join(worse) if worse else ''}.")


def _losses(outcomes: Sequence[Outcome]) -> list[str]:
    """Return where the integrated errors are worse than a rival's."""
    out: list[str] = []
    for rival in (*EQ13, "Eq. 13, default", "effector", "20 equal", BEST):
        worse = [
            f"{o.case.name} {o.n:,} ({ERRORS[kind]} {o.mean(LIKELIHOOD, kind):.3f} against {o.mean(rival, kind):.3f})"
            for o in outcomes
            for kind in range(2)
            if o.verdict(rival, kind) == "-"
        ]
        text = f"Integrated errors never significantly worse than those of {rival}"
        out.append(_said(not worse, f"{text}{': worse in ' + '; '.join(worse) if worse else ''}."))
    return out
