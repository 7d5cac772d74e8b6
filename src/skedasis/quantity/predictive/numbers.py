"""Distributions over numbers: what they have in common, and the normal one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.quantity.answers import as_numbers, unit_round_off
from skedasis.quantity.predicted import Part, Predicted, whole

HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
_LOOKED_AT = 64
NOISE = (
    "Include the noise of the observations: a WhiteKernel in the kernel of a Gaussian process, "
    "noise= in sd.ensemble"
)
"""What helps where a model is certain of a number."""


class Numbers(Predicted):
    """The distributions of a number for n rows."""

    what: str
    """The model, for messages."""

    discrete = False
    """Whether probability sits on whole numbers, so that there is no density."""

    def log_likelihood(self, y: Any) -> Floats:
        """Return the log density (of discrete distributions the log probability) at the rows' labels.

        Raises
        ------
        ModelOutputError
            Where a label cannot occur at all: its loss would be infinite.
        """
        found = self.log_density(as_label_numbers(y))
        impossible = int(np.count_nonzero(found == -np.inf))
        if impossible:
            raise ModelOutputError(
                explained(
                    self.what,
                    f"a likelihood of 0 for the labels of {impossible:,} of {len(self):,} rows",
                    "labels within the support of the predictive distributions",
                    "Use a distribution that can take all labels",
                )
            )
        return found

    @abstractmethod
    def log_density(self, y: Floats) -> Floats:
        """Return the log density, or log probability, at each row's own y, (n,) -> (n,); -inf outside the support."""

    @abstractmethod
    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y, for each row's own y, both exact where small."""

    @abstractmethod
    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles, exact also where q is too small for 1 - q to tell."""

    def at_score(self, z: float) -> Floats:
        """Return the quantiles at the probability with which a standard normal variable is at most z."""
        from scipy.special import ndtr

        return self.quantile(float(ndtr(z))) if z <= 0 else self.upper(float(ndtr(-z)))


class Normal(Numbers):
    """Normal distributions.

    Parameters
    ----------
    location, scale : ndarray of float, shape (n,)
        Means and standard deviations, checked; a standard deviation may be 0.
    given : numpy dtype
        The type that the model answered in.
    what, fix : str
        For messages: the model, and what helps where it is certain.
    """

    def __init__(
        self, location: Floats, scale: Floats, given: Any, what: str, fix: str = NOISE
    ) -> None:
        self.location, self.scale, self.given = location, scale, given
        self.what, self.fix = what, fix

    @property
    def dtype(self) -> Any:
        """Return the type that the model computed in."""
        return number_type(self.given, self.location)

    def __len__(self) -> int:
        return len(self.location)

    def entropy(self, part: Part = "total") -> Floats:
        """Return log(2 pi e scale²) / 2."""
        whole(part)
        return np.log(self._spread) + (HALF_LOG_2PI + 0.5)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density at y, exact however far out."""
        z = (y - self.location) / self._spread
        return -0.5 * z * z - np.log(self.scale) - HALF_LOG_2PI

    @property
    def _spread(self) -> Floats:
        """Return the standard deviations; a density needs that none is 0."""
        need_spread(self.scale, self.what, self.fix)
        return self.scale

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        from scipy.special import ndtr

        z = (y - self.location) / self._spread
        return ndtr(z), ndtr(-z)

    def mean(self) -> Floats:
        """Return the means."""
        return self.location.copy()

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances."""
        whole(part)
        return self.scale**2

    def quantile(self, p: float) -> Floats:
        """Return mean + scale · the standard normal's quantile."""
        from scipy.special import ndtri

        return self.location + self.scale * float(ndtri(p))

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles."""
        from scipy.special import ndtri

        return self.location - self.scale * float(ndtri(q))

    def at_score(self, z: float) -> Floats:
        """Return mean + scale · z."""
        return self.location + self.scale * z


def need_spread(scale: Floats, what: str, fix: str) -> None:
    """Refuse standard deviations, (…, n), of which some are 0."""
    if scale.min(initial=np.inf) > 0:
        return
    certain = (scale == 0).reshape(-1, scale.shape[-1]).any(axis=0)
    raise ModelOutputError(
        explained(
            what,
            f"a standard deviation of 0 for {int(certain.sum()):,} of {len(certain):,} rows",
            "positive ones: without spread there is no density",
            fix,
        )
    )


def number_type(given: Any, values: Floats) -> Any:
    """Return the type that a model computed in, from the type and some of the numbers of its answer.

    That type, if it is coarser than float64; float32, if all of the numbers are such; else float64.
    """
    if given.kind == "f" and given.itemsize < 8:
        return given
    single = unit_round_off(given, values.reshape(-1)[:_LOOKED_AT]) > np.finfo(float).eps
    return np.dtype(np.float32) if single else np.dtype(float)


def as_label_numbers(y: Any) -> Floats:
    """Return labels as numbers; the places of classes are none."""
    y = np.asarray(y)
    if y.dtype.kind != "f":
        raise UnsupportedError(
            explained(
                "y",
                "classes",
                "numbers: the model answers with distributions of a number",
                "Pass y as numbers",
            )
        )
    return y


def as_normal(mean: Any, std: Any, n: int, what: str, fix: str = NOISE) -> Normal:
    """Return means and standard deviations, (n,) each, as distributions.

    Raises
    ------
    ModelOutputError
        For other shapes, NaN, and negative standard deviations.
    """
    given = np.result_type(np.asarray(mean).dtype, np.asarray(std).dtype)
    location, scale = of_rows(mean, n, what, "mean"), of_rows(std, n, what, "standard deviation")
    negative = int(np.count_nonzero(scale < 0))
    if negative:
        raise ModelOutputError(
            explained(
                what,
                f"a negative standard deviation for {negative:,} of {n:,} rows",
                "standard deviations, not negative",
                "Return standard deviations, none of them below 0",
            )
        )
    return Normal(location, scale, given, what, fix)


def of_rows(raw: Any, n: int, what: str, which: str) -> Floats:
    """Return one finite number for each row, as a copy of its own, (n,)."""
    answer = np.array(as_numbers(raw, what))
    if answer.shape == (n, 1):
        answer = answer[:, 0]
    if answer.shape != (n,):
        raise ModelOutputError(
            explained(
                what,
                f"a {which} of shape {answer.shape}",
                f"({n},)",
                "Return one for each row of X; explain several outputs one by one",
            )
        )
    strange = int(np.count_nonzero(~np.isfinite(answer)))
    if strange:
        raise ModelOutputError(
            explained(
                what,
                f"a {which} that is NaN or infinite for {strange:,} of {n:,} rows",
                "finite numbers",
                "If X has missing values that the model cannot take, impute them or drop those rows",
            )
        )
    return answer


def check_level(p: Any) -> float:
    """Return the probability of a quantile, checked.

    Raises
    ------
    DataError
        For what does not lie between 0 and 1.
    """
    try:
        level = float(p)
    except (TypeError, ValueError):
        level = np.nan
    if isinstance(p, (bool, str)) or not 0 < level < 1:
        raise DataError(
            explained(
                "predictive_quantile(p)",
                repr(p),
                "a number between 0 and 1",
                "Pass 0.9, for example",
            )
        )
    return level
