"""UALE, section 4.2, Fig. 5: chosen bins against equal ones where the effect is linear in five pieces.

``f = a(x1) x1 + x1 x2`` with a = 2, -2, 5, -10, 0.5 between 0, 0.2, 0.4, 0.45, 0.5, 1; x1 is uniform on (0, 1) and x2
normal around x1 with variance 0.5. 30 runs of 500 rows against one of a million rows in 1,000 bins; alpha = 0.2, N / 20
rows per bin (section 3.3); K_max, which this paper does not give, is 40, as RHALE has it. The losses are those of
`experiments.losses`.

The paper says: the true effect is a1 x1 and the accumulated deviation sigma_2 x1; UALE separates the narrow pieces and
unites the wide one; and both losses are lower than those of equal bins for all K.
"""

from __future__ import annotations

import sys

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, alone
from experiments.uale import fixed, truths
from experiments.uale.drawing import Floats
from skedasis.datasets.simulations import PiecewiseLinear

CASE = PiecewiseLinear()
QUANTITY = sd.prediction(CASE.f, slope=CASE.slope)
RUNS, ROWS, LEAST = 30, 500, 25
SCHEMES = fixed.schemes(40)


def run(quick: bool) -> Outcome:
    """Compare all bins; draw one run."""
    truth = truths.dense(QUANTITY, CASE, quick)
    found = fixed.compared(lambda r: (QUANTITY, CASE.sample(ROWS, r)), 0, truth, RUNS, SCHEMES)
    claims = [
        truths.effect(truth, CASE, _printed, "a1 x1", "the integral of a, plus x1² / 2"),
        truths.deviation(truth, CASE),
        _separated(),
        _lower(found, 0),
        _lower(found, 1),
    ]
    settings = (
        f"{RUNS} runs of {ROWS} rows; the truth is 1,000 equal bins of {'200,000' if quick else 'a million'} rows. "
        "Eq. 13 with alpha = 0.2, K_max = 40 (not in the paper) and N/20 rows per bin; for comparison 10 rows per "
        "bin, as in RHALE, and the library's bins by likelihood, in which a slope may change linearly (L^rho does not "
        "take this into account)."
    )
    return Outcome(claims, [fixed.lines(found)], [_drawn(found)], settings)


def _printed(x: Floats) -> Floats:
    """Return the slope of the paper's truth within each piece: a."""
    return CASE.slope(np.stack([x, np.zeros(len(x))], axis=1))[:, 0]


def _slope(x: Floats) -> Floats:
    """Return the true mean slope: x2 is x1 on average."""
    return _printed(x) + x


def _effects() -> list[tuple[Floats, sd.Effect]]:
    samples = [CASE.sample(ROWS, run) for run in range(RUNS)]
    return [
        (X, sd.explain(QUANTITY, X, 0, method=sd.UALE(center="start"), heterogeneity_rows=0))
        for X in samples
    ]


def _separated() -> Claim:
    """Look for an edge near each break, and for bins of the last piece."""
    inner = np.array(CASE.breaks[1:-1])
    share, last, scarce = {}, {}, []
    effects = _effects()
    for name, bins in SCHEMES.items():
        edges = [e.rebin(bins).x for _, e in effects]
        near = [all(np.min(np.abs(x - b)) <= 0.025 for b in inner) for x in edges]
        share[name] = float(np.mean(near))
        last[name] = float(np.mean([np.sum((x > 0.525) & (x < 0.99)) + 1 for x in edges]))
    for X, _ in effects:
        few = [np.sum((X[:, 0] >= a) & (X[:, 0] < a + 0.05)) for a in (0.4, 0.45)]
        scarce.append(min(few) < LEAST)
    shown = "; ".join(f"{n} {share[n]:.0%}, {last[n]:.1f}" for n in SCHEMES)
    numbers = (
        "Fraction of runs with an edge within 0.025 (a cell) of each of the four breaks, and mean number of bins in "
        "the "
        f"last piece: {shown}."
    )
    why = (
        f"Each narrow piece contains 25 rows on average, and N/20 requires 25: in {np.mean(scarce):.0%} of the runs "
        f"at least one has fewer, and cannot be a separate bin."
    )
    holds = share[fixed.PAPER] >= 0.9
    says = "UALE separates the pieces (in 9 of 10 runs), and merges most of [0.5, 1]"
    return Claim("pieces", says, bool(holds), numbers, "" if holds else why)


def _lower(found: fixed.Compared, kind: int) -> Claim:
    left = found.not_beaten(fixed.PAPER, kind)
    best, name = found.best(kind), fixed.KINDS[kind]
    values = {n: float(v[:, kind].mean()) for n, v in found.chosen.items()}
    shown = ", ".join(f"{n} {v:.3f}" for n, v in values.items())
    fewer = {n: len(found.not_beaten(n, kind)) for n in (fixed.FINER, fixed.LIKELIHOOD)}
    numbers = (
        f"{name} is {shown}; of equal bins it is lowest with K = {best}, {found.equal[best][:, kind].mean():.3f}. Of "
        f"{len(fixed.EQUAL)} numbers of equal bins up to 100, {len(left)} are not worse by two standard errors than "
        f"Eq. 13 with N/20 rows, {fewer[fixed.FINER]} than with 10 rows, "
        f"{fewer[fixed.LIKELIHOOD]} than bins by likelihood."
    )
    why = (
        "L^mu does not penalise wide bins with mixed slopes: it compares with the true mean over the same bin. Over "
        "the axis the slope "
        f"of {best} equal bins is off by {_over(found.equal[best]):.2f}, of 20 by {_over(found.equal[20]):.2f}, of "
        f"bins by likelihood by {_over(found.chosen[fixed.LIKELIHOOD]):.2f}."
        if kind == 0
        else "All breaks are multiples of 0.05, so 20 equal bins have edges at all of them; and with N/20 rows per "
        "bin Eq. 13 cannot separate the narrow pieces."
    )
    says = f"{name} of UALE is lower than that of equal bins, for all K"
    return Claim(f"lower_{name[2:]}", says, not left, numbers, why if left else "")


def _over(losses: Floats) -> float:
    """Return the mean error of the slope over the axis."""
    return float(np.nanmean(losses[:, 6]))


def _drawn(found: fixed.Compared) -> Picture:
    shown, X = _effects()[0][1], CASE.sample(ROWS, 0)
    figure = fixed.sheet(found, shown, X[:, 0], _slope, RUNS)
    caption = (
        "UALE's Fig. 5: the bins of one run, and the losses of equal bins (grey: two standard errors) "
        "and of chosen ones"
    )
    return Picture("piecewise_linear", figure, caption)


EXPERIMENT = Experiment(
    "uale",
    "piecewise_linear",
    "Chosen bins compared with equal bins: a piecewise linear effect",
    "UALE, sec. 4.2, Fig. 5, Eq. 17 and 18",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
