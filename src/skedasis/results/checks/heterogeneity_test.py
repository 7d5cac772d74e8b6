"""One-sided test of the heterogeneity score against a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from skedasis._arguments import check_probability
from skedasis._calls import NearestAttribute
from skedasis._numbers import p_value
from skedasis.errors import DataError
from skedasis.results.display import no_score_error
from skedasis.results.effect import Effect
from skedasis.results.export import Exportable

NEGLIGIBLE = 1e-6
"""The default threshold, as a fraction of the quantity's standard deviation."""


@dataclass(frozen=True)
class HeterogeneityTest(Exportable, NearestAttribute):
    """A test whether the heterogeneity score exceeds a threshold: the result of `heterogeneity_test`."""

    exported = (
        *("score", "std_error", "lower", "p_value", "above", "effective_pairs"),
        *("confidence_level", "verdict", "text"),
    )
    score: float
    """The heterogeneity score, in units of the quantity."""
    std_error: float
    """Its standard error."""
    lower: float
    """One-sided lower confidence bound of the score, at the test's level."""
    p_value: float
    """P-value of the hypothesis that the score is at most `above`. NaN for a score of one pair of rows, like the
    standard error and the bound."""
    above: float
    """The threshold, in units of the quantity."""
    effective_pairs: float
    """Effective number of pairs of rows (see `HeterogeneityScore`). Below 50 the standard error, and so the p-value, is
    not reliable."""
    confidence_level: float = 0.95

    @property
    def verdict(self) -> Literal["heterogeneous", "none", "unclear"]:
        """The verdict: "heterogeneous", "none" (the score is not above the threshold) or "unclear"."""
        if self.p_value <= 1 - self.confidence_level:
            return "heterogeneous"
        return "none" if self.score <= self.above else "unclear"

    @property
    def text(self) -> str:
        """The verdict as a sentence.

        Examples
        --------
        >>> HeterogeneityTest(2.0, 0.1, 1.84, 1e-9, 1e-6, 400.0).text
        'The effect depends on the other features: heterogeneity score 2 (at least 1.84, p < 0.001).'
        """
        if self.verdict == "none":
            return f"The heterogeneity score, {self.score:.3g}, is not above {self.above:.3g}."
        if np.isnan(self.p_value):
            return (
                f"The heterogeneity score, {self.score:.3g}, is computed from one pair of rows, too few to test "
                f"whether it is above {self.above:.3g}."
            )
        p = p_value(self.p_value)
        if self.verdict == "unclear":
            return (
                f"The heterogeneity score, {self.score:.3g}, is not significantly above "
                f"{self.above:.3g} ({p})."
            )
        return (
            f"The effect depends on the other features: heterogeneity score {self.score:.3g} "
            f"(at least {self.lower:.3g}, {p})."
        )

    def __repr__(self) -> str:
        return f"<HeterogeneityTest: {self.text}>"


def heterogeneity_test(
    effect: Effect, confidence_level: float = 0.95, above: float | None = None
) -> HeterogeneityTest:
    """Test whether the heterogeneity score of an effect is above a threshold."""
    from scipy.special import ndtr, ndtri

    confidence_level = check_probability("heterogeneity_test(confidence_level)", confidence_level)
    number = isinstance(above, (int, float, np.number)) and not isinstance(above, bool)
    if above is not None and not (number and 0 <= above < np.inf):
        what = "heterogeneity_test(above)"
        raise DataError(
            what,
            repr(above),
            "a non-negative number",
            "Remove above to use the default threshold",
        )
    score = effect.swap_score
    if score is None:
        raise no_score_error(f"heterogeneity_test of {effect.spec.method}", effect.spec.method)
    # Without rows, the standard deviation is NaN; the threshold is then 0.
    threshold = (
        float(np.nan_to_num(NEGLIGIBLE * score.quantity_std)) if above is None else float(above)
    )
    if not score.value > 0:
        p, lower = 1.0, score.value
    elif score.std_error == 0:
        p, lower = float(score.value <= threshold), score.value
    else:
        scale = score.std_error / score.value
        lower = score.value * float(np.exp(-ndtri(confidence_level) * scale))
        # A NaN standard error gives a NaN p-value, also for a threshold of 0.
        p = 0.0 * scale if threshold <= 0 else float(ndtr(-np.log(score.value / threshold) / scale))
    return HeterogeneityTest(
        score.value, score.std_error, lower, p, threshold, score.effective_pairs, confidence_level
    )
