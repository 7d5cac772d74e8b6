"""UALE, section 4.2: the dense truth, and whether the paper's formulas for it are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim
from experiments.losses import Dense
from experiments.uale.drawing import Floats
from skedasis.datasets.synthetic import Synthetic

SEED = 20_000


def dense(quantity: Any, case: Synthetic, quick: bool) -> Dense:
    """Return what a million rows say in 1,000 equal bins; of 200,000 rows if it is to be quick."""
    X = case.sample(200_000 if quick else 1_000_000, SEED)
    return Dense.of(sd.explain(quantity, X, 0, method=sd.DALE(bins=1000), heterogeneity_rows=0))


def effect(
    truth: Dense,
    case: Synthetic,
    printed: Callable[[Floats], Floats],
    formula: str,
    right: str,
) -> Claim:
    """Say whether the paper's true effect is what the rows say.

    Parameters
    ----------
    truth : Dense
    case : Synthetic
    printed : callable
        The slope of what the paper prints.
    formula, right : str
        What the paper prints, and what is true, in words.
    """
    middle = (truth.edges[:-1] + truth.edges[1:]) / 2
    width = np.diff(truth.edges)
    rise = np.diff(case.true_effect(0, truth.edges))
    off = {
        "printed": np.sum(np.abs(truth.effect - printed(middle)) * width),
        "true": np.sum(np.abs(truth.effect - rise / width) * width),
    }
    end = float(np.sum(truth.effect * width))
    without = float(np.sum(printed(middle) * width))
    # The mean of a thousand rows has an error of sigma / sqrt(1000), and its size is 0.8 of that on average.
    noise = float(np.mean(truth.std)) * np.sqrt(2 / np.pi) / np.sqrt(1000)
    numbers = (
        f"The dense bins rise by {end:.3f} over the whole axis, the printed formula by {without:.3f}; their slopes are "
        f"off by {off['printed']:.3f} on average from its slopes, and by {off['true']:.3f} from the right ones."
    )
    why = (
        "x1 x2 adds x2 to the slope of x1, and x2 has the mean x1, so x1² / 2 is missing: "
        f"the effect is {right}."
    )
    says = f"the true effect of x1 is {formula}"
    return Claim("truth_of_effect", says, bool(off["printed"] < 3 * noise), numbers, why)


def deviation(truth: Dense, case: Any) -> Claim:
    """Say whether sigma_2 x1 is the accumulated deviation."""
    width = np.diff(truth.edges)
    end = float(np.sum(truth.std * width))
    # Half of it, accumulated over half of the axis.
    half = float(np.sum(truth.std[:500] * width[:500]))
    true = case.spread
    numbers = (
        f"The dense bins accumulate {half:.3f} over the left half and {end:.3f} over all; sigma_2 / 2 = {true / 2:.3f} "
        f"and sigma_2 = {true:.3f}. At each x1 the deviation of the slopes is sigma_2."
    )
    holds = bool(abs(end - true) < 0.01 and abs(half - true / 2) < 0.01)
    return Claim(
        "truth_of_deviation", "the true accumulated deviation is sigma_2 x1", holds, numbers
    )
