"""Runs of the experiment on bins: every method on the same draws, and what differs by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from experiments.bins.cases import Case, Floats
from experiments.bins.fits import (
    EFFECTOR,
    FIXED,
    LIKELIHOOD,
    SCHEMES,
    chosen,
    equal,
    errors,
    explained,
)

METHODS = (*SCHEMES, EFFECTOR)
USUAL, BEST = "20 equal", "best equal"
RIVALS = (*METHODS[1:], USUAL, BEST)
Verdict = Literal["+", "=", "-"]
_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out for one case and one number of rows.

    Parameters
    ----------
    case : Case
    n : int
        Rows.
    error : ndarray, shape (runs, methods, 4)
        The four errors (`fits.ERRORS`) of `METHODS`.
    equal : ndarray, shape (runs, 99, 4)
        Of 2 to 100 equal bins.
    bins, left_out : ndarray of int, shape (runs, methods)
        Numbers of bins, and of those among them that L_mu and L_sigma leave out.
    """

    case: Case
    n: int
    error: Floats
    equal: Floats
    bins: np.ndarray
    left_out: np.ndarray

    def of(self, method: str, kind: int) -> Floats:
        """Return a method's errors of one kind, one a run."""
        if method == USUAL:
            return self.equal[:, 20 - FIXED[0], kind]
        if method == BEST:
            return self.equal[:, self.best(kind) - FIXED[0], kind]
        return self.error[:, METHODS.index(method), kind]

    def mean(self, method: str, kind: int) -> float:
        """Return the mean over the runs."""
        return float(np.nanmean(self.of(method, kind)))

    def best(self, kind: int) -> int:
        """Return the number of equal bins that did best on average: known in hindsight only."""
        with np.errstate(invalid="ignore"):
            mean = np.where(np.isnan(self.equal[..., kind]), np.inf, self.equal[..., kind])
        return FIXED[int(np.argmin(mean.mean(axis=0)))]

    def verdict(self, rival: str, kind: int) -> Verdict:
        """Return whether the error of bins by likelihood is smaller (+), larger (-) or neither: paired, at 95 %."""
        low, high = paired(self.of(rival, kind) - self.of(LIKELIHOOD, kind))
        return "+" if low > 0 else "-" if high < 0 else "="


def paired(difference: Floats) -> tuple[float, float]:
    """Return Student's interval at 95 % of a mean difference; runs without a figure are left out."""
    known = difference[np.isfinite(difference)]
    if len(known) < 2:
        return -np.inf, np.inf
    middle = float(known.mean())
    reach = float(stdtrit(len(known) - 1, (1 + _CONFIDENCE) / 2))
    reach *= float(known.std(ddof=1)) / np.sqrt(len(known))
    return middle - reach, middle + reach


def simulated(case: Case, n: int, runs: int) -> Outcome:
    """Draw a case repeatedly and apply every method to each draw."""
    error, of_equal, bins, left_out = [], [], [], []
    for seed in range(runs):
        x, d = case.sample(n, seed)
        found = chosen(x, d)
        judged = [errors(case, found[name]) for name in METHODS]
        error.append([figures for figures, _ in judged])
        left_out.append([few for _, few in judged])
        bins.append([len(found[name]) for name in METHODS])
        of_equal.append([errors(case, one)[0] for one in equal(x, d).values()])
    arrays = (np.array(a) for a in (error, of_equal, bins, left_out))
    return Outcome(case, n, *arrays)


def counted(case: Case, n: int, runs: int) -> np.ndarray:
    """Return the number of bins by likelihood in each of further draws."""
    out: list[int] = []
    for seed in range(1000, 1000 + runs):
        effect = explained(*case.sample(n, seed), SCHEMES[LIKELIHOOD])
        out.append(0 if effect.bins is None else len(effect.bins))
    return np.array(out)
