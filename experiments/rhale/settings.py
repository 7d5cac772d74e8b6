"""What RHALE's experiments share: the paper's settings, and how an example is explained.

Sections 1 and 3 name their settings. Section 4.1 names none and 4.2 only K_max = 40 and ten rows per bin: there we take
alpha = 0.2, "a typical choice" (sec. 3.2), and in 4.1 500 rows, K_max = 20 and ten rows per bin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import skedasis as sd
from skedasis.datasets import SYNTHETIC
from skedasis.datasets.synthetic import Synthetic

Floats = NDArray[np.float64]
LIKELIHOOD = sd.Optimal(criterion="likelihood")
"""The default bins of the library, shown with those of the paper."""


@dataclass(frozen=True)
class Setting:
    """One of the paper's examples with its settings.

    Parameters
    ----------
    name : str
        Of `skedasis.datasets.SYNTHETIC`.
    max_bins, alpha, min_points
        Of Eq. 13: K_max, the discount, N_PPB.
    rows : int
    """

    name: str
    max_bins: int
    alpha: float
    min_points: int
    rows: int

    @property
    def example(self) -> Synthetic:
        """Return the distribution and the function."""
        return SYNTHETIC[self.name]

    @property
    def bins(self) -> sd.Optimal:
        """Return the bins of Eq. 13."""
        return sd.Optimal(self.max_bins, self.alpha, self.min_points, criterion="eq13")

    def sample(self, seed: int) -> Floats:
        """Return the rows of one run."""
        return self.example.sample(self.rows, seed)

    def explain(
        self, X: Floats, feature: int, bins: object = None, score_rows: int | None = 0
    ) -> sd.Effect:
        """Explain a feature from the function's slopes, on the paper's bins unless others are named; 0 at the left.

        The heterogeneity score is not in the papers: it is computed only if rows are requested (None: all).
        """
        q = sd.prediction(self.example.f, slope=self.example.slope)
        method = sd.RHALE(bins=self.bins if bins is None else bins, center="start")
        return sd.explain(q, X, feature, method=method, heterogeneity_rows=score_rows)

    def true_rise(self, feature: int, x: Floats) -> Floats:
        """Return the true effect, 0 at the first of the points."""
        effect = self.example.true_effect(feature, x)
        return effect - effect[0]


INTRODUCTION = Setting("rhale_introduction", 20, 0.5, 10, 100)
RUNNING = Setting("running_example", 50, 0.1, 5, 60)
CORRELATED = {case: Setting(f"correlated_{case}", 20, 0.2, 10, 500) for case in "abc"}
PIECEWISE = Setting("piecewise_linear", 40, 0.2, 10, 500)
NON_LINEAR = Setting("non_linear", 40, 0.2, 10, 500)


def mean_error(values: Floats) -> tuple[float, float]:
    """Return the mean of independent runs and its standard error."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known)))


def pm(values: Floats, digits: int = 3) -> str:
    """Write the mean of independent runs and its standard error."""
    mean, error = mean_error(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def curve_error(setting: Setting, e: sd.Effect, feature: int) -> float:
    """Return the mean absolute error of the curve over its range, both curves centred by their mean."""
    x = np.linspace(e.x[0], e.x[-1], 401)
    error = e(x) - setting.true_rise(feature, x)
    return float(np.mean(np.abs(error - error.mean())))
