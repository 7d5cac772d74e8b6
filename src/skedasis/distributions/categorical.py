"""Distributions over classes: probabilities of each row, and their mixtures.

The entropy of a class distribution is -sum p log p. In a mixture, the total entropy is that of the mean probabilities,
the aleatoric part is the mean of the members' entropies, and the epistemic part is their difference, the mutual
information of label and member.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skedasis._types import Bools, DType, Floats, Level, RawResponse, Values
from skedasis.distributions.base import (
    Predicted,
    UncertaintyPart,
    as_class_codes,
    class_values,
    require_total,
)
from skedasis.distributions.continuous import computed_dtype
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.models.calling import as_numbers, plain, unit_round_off

_TINY = float(np.finfo(float).smallest_subnormal)


def _round_off(dtype: DType) -> float:
    """Return the unit round-off of a response's dtype; that of float64 for integers."""
    return float(np.finfo(dtype.type if issubclass(dtype.type, np.floating) else float).eps)


class Classes(Predicted):
    """The probabilities of k classes, for n rows.

    `p` is (k, n), one row per class, because valid probabilities are read class by class. Labels are by default 0 to k
    - 1. `raw_dtype` is that of the model's response, and `min_probability` the smallest probability, if known.
    """

    def __init__(
        self,
        p: Floats,
        raw_dtype: DType,
        labels: Sequence[Level] | None = None,
        min_probability: float | None = None,
    ) -> None:
        self.p, self.raw_dtype = p, raw_dtype
        self.min_probability = (
            float(p.min(initial=1.0)) if min_probability is None else min_probability
        )
        self.labels = range(len(p)) if labels is None else labels

    @property
    def dtype(self) -> DType:
        return computed_dtype(self.raw_dtype, self.p[0])

    @property
    def _eps(self) -> float:
        return _round_off(self.raw_dtype)

    def __len__(self) -> int:
        return self.p.shape[1]

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        """Return -sum p log p, shape (n,): exactly 0 if one class is certain, and never negative."""
        require_total(part)
        return entropy_of(self.p, self.min_probability)

    def log_likelihood(self, y: Values) -> Floats:
        """Return the log of the label's probability, floored at the unit round-off of the model's dtype.

        `sklearn.metrics.log_loss` uses the same floor; in contrast to it, a probability of 1 stays 1.
        """
        p = self._label_probability(y)
        return np.log(np.clip(p, self._eps, 1.0, out=p), out=p)

    def floored(self, y: Values) -> int:
        if self.min_probability >= self._eps:
            return 0
        return int(np.count_nonzero(self._label_probability(y) < self._eps))

    def _label_probability(self, y: Values) -> Floats:
        codes = as_class_codes(y, len(self.p))
        if len(self.p) == 2:
            return np.where(codes == 1, self.p[1], self.p[0])
        return self.p[codes, np.arange(len(self))]

    @property
    def values(self) -> Floats:
        """Return the labels of the classes as numbers, shape (k,)."""
        values = class_values(self.labels)
        if values is None:
            raise UnsupportedError(
                "mean and variance of classes",
                f"labels that are not numbers: {list(self.labels)[:5]}",
                "numbers",
                "Use sd.entropy(model) for the uncertainty of classes",
            )
        return values

    def mean(self) -> Floats:
        """Return the mean of the labels; raise if they are not numbers."""
        return self.values @ self.p

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        """Return the variance of the labels; raise if they are not numbers."""
        require_total(part)
        deviation = self.values[:, None] - self.mean()
        return np.einsum("kn,kn,kn->n", self.p, deviation, deviation)

    def quantile(self, p: float) -> Floats:
        """Raise: classes have no quantiles."""
        raise UnsupportedError(
            "predictive_quantile",
            "probabilities of classes",
            "the distribution of a number",
            "Use sd.probability(model, class_=...)",
        )


def entropy_of(p: Floats, min_probability: float | None = None) -> Floats:
    """Return the entropies of the columns of p, (k, n) -> (n,), where 0 log 0 is 0.

    `min_probability` is the smallest number in p, if known.
    """
    total, logs = np.empty(p.shape[1]), np.empty(p.shape[1])
    positive = (p.min(initial=1.0) if min_probability is None else min_probability) > 0
    for k, row in enumerate(p):
        out = logs if k else total
        np.log(row if positive else np.maximum(row, _TINY, out=out), out=out)
        out *= row
        if k:
            total += out
    # A probability may be 1 plus a rounding error, and an entropy is never -0.0.
    np.negative(total, out=total)
    return np.maximum(total, 0.0, out=total)


def as_classes(
    raw: RawResponse, n: int, what: str, labels: Sequence[Level] | None = None
) -> Classes:
    """Return a model's probabilities, (n, k), checked; `what` is the model, for messages."""
    if isinstance(raw, list) and raw and np.ndim(raw[0]) == 2:
        raise multi_label_error(what, len(raw))
    raw = plain(raw)
    response = as_numbers(raw, what)
    raw_dtype = np.asarray(raw).dtype
    k = "classes" if labels is None else len(labels)
    wrong = (
        response.ndim != 2 or len(response) != n or (labels is not None and response.shape[1] != k)
    )
    if wrong:
        raise ModelOutputError(
            what,
            f"output of shape {response.shape}",
            f"probabilities of shape ({n}, {k})",
            "Return one row of probabilities for each row of X",
        )
    p = np.array(response.T, order="C")
    return Classes(p, raw_dtype, labels, _check(p, raw_dtype, what))


def multi_label_error(what: str, count: int, first: str = "") -> UnsupportedError:
    """Return the error for multi-label models; `first` is a function of the probabilities of the first label."""
    first = first or "lambda X: model.predict_proba(X)[0]"
    return UnsupportedError(
        what,
        f"probabilities of {count} labels at once",
        "probabilities of one label",
        f"Explain each label separately: instead of the model, pass {first}",
    )


def _check(p: Floats, raw_dtype: DType, what: str) -> float:
    """Raise if columns of p are not distributions; set negative rounding errors to 0; return the smallest p."""
    error = p.sum(axis=0)
    error -= 1.0
    np.abs(error, out=error)
    eps = _round_off(raw_dtype)
    low = float(p.min(initial=1.0))
    if low >= 0 and error.max(initial=0.0) <= np.sqrt(eps):
        return low
    n = p.shape[1]
    invalid = ~np.isfinite(p).all(axis=0)
    if invalid.any():
        raise _not_probabilities(what, "NaN or infinity", invalid, n)
    rounding = 64 * unit_round_off(raw_dtype, p)
    invalid = (p < -rounding).any(axis=0)
    if invalid.any():
        raise _not_probabilities(what, f"negative probabilities, down to {low:.4g},", invalid, n)
    invalid = error > np.sqrt(rounding / 64)
    if invalid.any():
        got = f"probabilities whose sum differs from 1 by up to {error.max():.4g}"
        raise _not_probabilities(what, got, invalid, n)
    np.maximum(p, 0.0, out=p)
    return max(low, 0.0)


def _not_probabilities(what: str, got: str, invalid: Bools | np.bool_, n: int) -> ModelOutputError:
    return ModelOutputError(
        what,
        f"{got} for {int(invalid.sum()):,} of {n:,} rows",
        "probabilities that are not negative and sum to 1 in each row",
        "Turn scores into probabilities first (softmax), or calibrate the classifier",
    )


def check_same_classes(first: Sequence[Level], other: Sequence[Level], what: str) -> None:
    """Raise if members of a mixture do not have the same classes in the same order."""
    if list(first) != list(other):
        raise DataError(
            what,
            f"members with the classes {list(first)[:6]} and {list(other)[:6]}",
            "the same classes in the same order",
            "Fit all members on the same classes",
        )


class ClassMixture(Classes):
    """A mixture of distributions over classes. It keeps what the quantities need, not the members.

    `p`, (k, n), are the mean probabilities, `entropies`, (n,), the mean of the members' entropies, and `variances` the
    mean of the members' variances and the variance of their means, (n,) each, if labels are numbers.
    """

    def __init__(
        self,
        p: Floats,
        raw_dtype: DType,
        labels: Sequence[Level] | None,
        entropies: Floats,
        variances: tuple[Floats, Floats] | None,
    ) -> None:
        super().__init__(p, raw_dtype, labels)
        self.entropies, self.variances = entropies, variances

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        """Return the entropy of the mean, the mean entropy, or their difference, the mutual information."""
        if part == "aleatoric":
            return self.entropies.copy()
        total = entropy_of(self.p)
        # Not negative by Jensen's inequality, except for rounding.
        return total if part == "total" else np.maximum(total - self.entropies, 0.0)

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        """Return the variance of the labels, by the law of total variance."""
        if part == "total" or self.variances is None:
            return super().variance()
        return self.variances[part == "epistemic"].copy()


class ClassSum:
    """Running means over the members of a mixture: the memory does not depend on their number."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.first: Classes | None = None
        self.weight = 0.0

    def add(self, member: Classes, weight: float) -> None:
        """Add a member. A member of weight 0 is checked only."""
        values = class_values(member.labels)
        if self.first is None:
            self.first, self.raw_dtype, self.numeric = member, member.raw_dtype, values is not None
            self.p = np.zeros_like(member.p)
            self.entropies, self.within, self.mean, self.between = np.zeros((4, len(member)))
        check_same_classes(self.first.labels, member.labels, self.what)
        if member.raw_dtype.itemsize < self.raw_dtype.itemsize:
            self.raw_dtype = member.raw_dtype
        if weight == 0:
            return
        self.weight += weight
        fraction = weight / self.weight
        # Running means, so that a mixture of equal members has exactly the members' distribution.
        self.p += fraction * (member.p - self.p)
        self.entropies += fraction * (member.entropy() - self.entropies)
        if self.numeric:
            deviation = member.mean() - self.mean
            self.within += fraction * (member.variance() - self.within)
            self.between += fraction * ((1.0 - fraction) * deviation**2 - self.between)
            self.mean += fraction * deviation

    def mixture(self) -> ClassMixture:
        """Return the mixture of the members added so far."""
        if self.first is None:
            raise DataError(self.what, "no members", "two or more members", "Add members")
        variances = (self.within, self.between) if self.numeric else None
        return ClassMixture(self.p, self.raw_dtype, self.first.labels, self.entropies, variances)
