"""Simulated calibrations: intervals contain the mean label at a prediction, and calibrated models are rarely wrong.

Labels are drawn around known mean labels of the predictions: normal, with unequal noise, counts and events; calibrated,
or too high, too steep and flat. Intervals of the isotonic fit are taken at quantiles of the predictions, which are
chosen without the labels; those of bins are compared with the mean of the true mean labels in the bin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from skedasis.stats.calibration import (
    LabelledRows,
    Ranges,
    deviations,
    equal_weight_starts,
    error_parts,
    isotonic_starts,
    mean_label_interval,
)
from tests.long.figures import long_case

Mean = Callable[[np.ndarray], np.ndarray]
INNER = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def same(x: np.ndarray) -> np.ndarray:
    return x


def draw(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Mean]:
    """Return predictions, labels, and the mean label as a function of the prediction."""
    x, e, u = rng.normal(size=n), rng.normal(size=n), rng.uniform(size=n)
    p = rng.beta(1, 3, size=n)
    if kind == "normal":
        return x, x + e, same
    if kind == "steep":

        def half(x: np.ndarray) -> np.ndarray:
            return 0.5 * x + 0.3

        return x, half(x) + np.exp(0.4 * x) * e, half
    if kind == "flat":

        def above(x: np.ndarray) -> np.ndarray:
            return np.maximum(x, 0.0)

        return x, above(x) + 0.5 * e, above
    if kind in ("counts", "rare counts", "amounts"):
        rate = 0.2 * u if kind == "rare counts" else np.exp(0.7 * x)
        return rate, rng.gamma(1, rate) if kind == "amounts" else 1.0 * rng.poisson(rate), same
    if kind == "events":
        return p, (u < p).astype(float), same
    if kind == "ties":
        return p.round(1), (u < p.round(1)).astype(float), same

    def less(p: np.ndarray) -> np.ndarray:
        return expit(0.5 * logit(p) - 0.5)

    return p, (u < less(p)).astype(float), less


def of(p: np.ndarray, y: np.ndarray, *, isotonic: bool) -> tuple[Ranges, np.ndarray, np.ndarray]:
    """Return the points of a calibration with their intervals."""
    rows, _ = LabelledRows.sorted_by_prediction(p, y, None, "frequency")
    ranges = Ranges.of(rows, isotonic_starts(rows) if isotonic else equal_weight_starts(rows, 10))
    ends = mean_label_interval(
        ranges.label.mean,
        *ranges.errors(isotonic=isotonic),
        ranges.size,
        0.95,
        isotonic=isotonic,
        events=rows.events,
    )
    return ranges, *ends


def held(kind: str, n: int, draws: int, quantiles: np.ndarray | None) -> float:
    """Return the share of intervals that contain the mean label: at quantiles of the predictions, or of bins."""
    inside: list[float] = []
    for run in range(draws):
        p, y, mean = draw(kind, n, np.random.default_rng([50, run]))
        ranges, lower, upper = of(p, y, isotonic=quantiles is not None)
        if quantiles is None:
            truth = np.add.reduceat(mean(ranges.rows.prediction), ranges.starts) / ranges.size
        else:
            x = np.quantile(p, quantiles, method="inverted_cdf")
            k = np.searchsorted(ranges.low, x, side="right") - 1
            lower, upper, truth = lower[k], upper[k], mean(x)
        inside.append(np.mean((lower <= truth + 1e-9) & (truth - 1e-9 <= upper)))
    return float(np.mean(inside))


def cases(*kinds: str) -> list[Any]:
    quick = [pytest.param(kind, 1000, 60, id=f"{kind}-quick") for kind in kinds]
    return quick + [long_case(kind, n, 1000) for kind in kinds for n in (200, 1000, 5000)]


KINDS = ("normal", "steep", "flat", "counts", "events", "ties", "steep events")


@pytest.mark.parametrize(("kind", "n", "draws"), cases(*KINDS))
def test_intervals_of_the_isotonic_fit(kind, n, draws, measured):
    # Five dependent points of each draw; with 200 rows the fit is not yet that of many.
    low, high = (0.91, 0.985) if draws < 100 or n == 200 else (0.93, 0.975)
    share = held(kind, n, draws, INNER)
    measured("coverage", share, draws=draws, rows=n, seed="[50, run]", low=low, high=high)


@pytest.mark.parametrize(("kind", "n", "draws"), cases(*KINDS))
def test_intervals_of_bins(kind, n, draws, measured):
    low, high = (0.92, 0.98) if draws < 100 or n == 200 else (0.935, 0.97)
    share = held(kind, n, draws, None)
    measured("coverage", share, draws=draws, rows=n, seed="[50, run]", low=low, high=high)


@pytest.mark.parametrize(
    ("kind", "n", "draws"),
    cases("normal", "events", "ties", "counts", "rare counts", "amounts"),
)
def test_calibrated_predictions_are_rarely_wrong(kind, n, draws, measured):
    # Three standard errors above 5 %.
    found = 0
    for run in range(draws):
        p, y, _ = draw(kind, n, np.random.default_rng([51, run]))
        rows, _ = LabelledRows.sorted_by_prediction(p, y, None, "frequency")
        found += bool(
            deviations(Ranges.of(rows, equal_weight_starts(rows, min(10, n // 30))), 0.05)
        )
    high = 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
    measured("found", found / draws, draws=draws, rows=n, seed="[51, run]", high=high)


@pytest.mark.parametrize(("kind", "n", "draws"), cases("normal", "steep", "events"))
def test_miscalibration_beyond_noise_has_no_bias(kind, n, draws, measured):
    """Its mean is the mean squared difference of predictions and mean labels, up to a third of its error."""
    p, _, mean = draw(kind, 200_000, np.random.default_rng(0))
    truth = float(np.mean((p - mean(p)) ** 2))
    off: list[float] = []
    for run in range(draws):
        rng = np.random.default_rng([52, run])
        p, y, _ = draw(kind, n, rng)
        rows, _ = LabelledRows.sorted_by_prediction(p, y, None, "frequency")
        parts = error_parts(rows, rng.random(n) < 0.5)
        off.append((parts.corrected - truth) / parts.corrected_error)
    ratio, limit = float(np.mean(off)), 0.5 + 3 / np.sqrt(draws)
    measured(
        "bias",
        ratio,
        draws=draws,
        rows=n,
        seed="[52, run]",
        low=-limit,
        high=limit,
        error=1 / np.sqrt(draws),
    )
