"""Distributions over classes: probabilities of each row, and their mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.distributions.base import Part, Predicted, as_places, class_values, whole
from skedasis.distributions.continuous import number_type
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.models.calling import as_numbers, unit_round_off

_TINY = float(np.finfo(float).smallest_subnormal)


class Classes(Predicted):
    """The probabilities of k classes, for n rows.

    Parameters
    ----------
    p : ndarray of float, shape (k, n)
        Class by class, for that is how they are read. Checked.
    given : numpy dtype
        The type that the model answered in.
    labels : sequence, optional
        The classes' labels; without them they are 0 to k - 1.
    least : float, optional
        The smallest probability, if it is known.
    """

    def __init__(
        self,
        p: Floats,
        given: Any,
        labels: Sequence[Any] | None = None,
        least: float | None = None,
    ) -> None:
        self.p, self.given = p, given
        self.least = float(p.min(initial=1.0)) if least is None else least
        self.labels = range(len(p)) if labels is None else labels

    @property
    def dtype(self) -> Any:
        """Return the type that the model computed in."""
        return number_type(self.given, self.p[0])

    @property
    def _eps(self) -> float:
        return float(np.finfo(self.given if self.given.kind == "f" else float).eps)

    def __len__(self) -> int:
        return self.p.shape[1]

    def entropy(self, part: Part = "total") -> Floats:
        """Return -sum p log p, shape (n,): exactly 0 where one class is certain, and never negative."""
        whole(part)
        return entropy_of(self.p, self.least)

    def log_likelihood(self, y: Any) -> Floats:
        """Return the log of the label's probability, floored at the unit round-off of the model's numbers.

        As `sklearn.metrics.log_loss` does; unlike there a probability of 1 stays 1.
        """
        p = self._of(y)
        return np.log(np.clip(p, self._eps, 1.0, out=p), out=p)

    def floored(self, y: Any) -> int:
        """Return for how many rows the label's probability is below the floor."""
        if self.least >= self._eps:
            return 0
        return int(np.count_nonzero(self._of(y) < self._eps))

    def _of(self, y: Any) -> Floats:
        places = as_places(y, len(self.p))
        if len(self.p) == 2:
            return np.where(places == 1, self.p[1], self.p[0])
        return self.p[places, np.arange(len(self))]

    @property
    def values(self) -> Floats:
        """Return the classes' labels as numbers, shape (k,)."""
        values = class_values(self.labels)
        if values is None:
            raise UnsupportedError(
                explained(
                    "mean and variance of classes",
                    f"labels that are no numbers: {list(self.labels)[:5]}",
                    "numbers",
                    "Use sd.entropy(model) for the uncertainty of classes",
                )
            )
        return values

    def mean(self) -> Floats:
        """Return the mean of the labels, where these are numbers."""
        return self.values @ self.p

    def variance(self, part: Part = "total") -> Floats:
        """Return the variance of the labels, where these are numbers."""
        whole(part)
        away = self.values[:, None] - self.mean()
        return np.einsum("kn,kn,kn->n", self.p, away, away)

    def quantile(self, p: float) -> Floats:
        """Refuse: classes have no order."""
        raise UnsupportedError(
            explained(
                "predictive_quantile",
                "probabilities of classes",
                "the distribution of a number",
                "Use sd.probability(model, class_=...)",
            )
        )


def entropy_of(p: Floats, least: float | None = None) -> Floats:
    """Return the entropies of the columns of p, (k, n) -> (n,); 0 log 0 is 0. `least` is p's minimum, if known."""
    total, logs = np.empty(p.shape[1]), np.empty(p.shape[1])
    possible = (p.min(initial=1.0) if least is None else least) > 0
    for place, row in enumerate(p):
        into = logs if place else total
        np.log(row if possible else np.maximum(row, _TINY, out=into), out=into)
        into *= row
        if place:
            total += into
    # A probability may be 1 plus a rounding error; and minus zero is no entropy.
    np.negative(total, out=total)
    return np.maximum(total, 0.0, out=total)


def as_classes(raw: Any, n: int, what: str, labels: Sequence[Any] | None = None) -> Classes:
    """Return a model's probabilities, checked.

    Parameters
    ----------
    raw : array_like, shape (n, k)
    n : int
        How many rows were asked for.
    what : str
        For messages.
    labels : sequence, optional
        The classes.

    Raises
    ------
    ModelOutputError
        For another shape, negative numbers, NaN, and rows that do not sum to 1.
    """
    if isinstance(raw, list) and raw and np.ndim(raw[0]) == 2:
        raise several_labels(what, len(raw))
    answer = as_numbers(raw, what)
    given = np.asarray(raw).dtype
    k = "classes" if labels is None else len(labels)
    wrong = answer.ndim != 2 or len(answer) != n or (labels is not None and answer.shape[1] != k)
    if wrong:
        raise ModelOutputError(
            explained(
                what,
                f"output of shape {answer.shape}",
                f"probabilities of shape ({n}, {k})",
                "Return one row of probabilities for each row of X",
            )
        )
    p = np.array(answer.T, order="C")
    return Classes(p, given, labels, _check(p, given, what))


def several_labels(what: str, count: int) -> UnsupportedError:
    """Return the error for models of several labels at once."""
    return UnsupportedError(
        explained(
            what,
            f"probabilities of {count} labels at once",
            "of one label",
            "Explain each label on its own: sd.entropy(lambda X: model.predict_proba(X)[0])",
        )
    )


def _check(p: Floats, given: Any, what: str) -> float:
    """Refuse what is no distribution, set what is negative by rounding to 0, and return the smallest of all."""
    off = p.sum(axis=0)
    off -= 1.0
    np.abs(off, out=off)
    eps = np.finfo(given if given.kind == "f" else float).eps
    low = float(p.min(initial=1.0))
    if low >= 0 and off.max(initial=0.0) <= np.sqrt(eps):
        return low
    n = p.shape[1]
    strange = ~np.isfinite(p).all(axis=0)
    if strange.any():
        raise _refused(what, "NaN or infinity", strange, n)
    rounding = 64 * unit_round_off(given, p)
    strange = (p < -rounding).any(axis=0)
    if strange.any():
        raise _refused(what, f"negative probabilities, down to {low:.4g},", strange, n)
    strange = off > np.sqrt(rounding / 64)
    if strange.any():
        raise _refused(what, f"probabilities that sum to {off.max():.4g} off 1", strange, n)
    np.maximum(p, 0.0, out=p)
    return max(low, 0.0)


def _refused(what: str, got: str, strange: Any, n: int) -> ModelOutputError:
    return ModelOutputError(
        explained(
            what,
            f"{got} for {int(strange.sum()):,} of {n:,} rows",
            "probabilities: not negative, and of sum 1 in each row",
            "Turn scores into probabilities first (softmax), or calibrate the classifier",
        )
    )


def same_classes(first: Sequence[Any], other: Sequence[Any], what: str) -> None:
    """Refuse members of a mixture that do not speak of the same classes in the same order.

    Raises
    ------
    DataError
    """
    if list(first) != list(other):
        raise DataError(
            explained(
                what,
                f"members with the classes {list(first)[:6]} and {list(other)[:6]}",
                "the same classes in the same order",
                "Fit all members on the same classes",
            )
        )


class ClassMixture(Classes):
    """A mixture of distributions over classes, of which only what is asked for is kept.

    Parameters
    ----------
    p : ndarray of float, shape (k, n)
        The mean probabilities.
    given : numpy dtype
    labels : sequence, optional
    entropies : ndarray of float, shape (n,)
        The mean of the members' entropies.
    variances : pair of ndarray of float, shape (n,), optional
        The mean of the members' variances and the variance of their means, where labels are numbers.
    """

    def __init__(
        self,
        p: Floats,
        given: Any,
        labels: Sequence[Any] | None,
        entropies: Floats,
        variances: tuple[Floats, Floats] | None,
    ) -> None:
        super().__init__(p, given, labels)
        self.entropies, self.variances = entropies, variances

    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropy of the mean, the mean entropy, or their difference, the mutual information."""
        if part == "aleatoric":
            return self.entropies.copy()
        total = entropy_of(self.p)
        # Jensen: never negative, but by rounding.
        return total if part == "total" else np.maximum(total - self.entropies, 0.0)

    def variance(self, part: Part = "total") -> Floats:
        """Return the variance of the labels, by the law of total variance."""
        if part == "total" or self.variances is None:
            return super().variance()
        return self.variances[part == "epistemic"].copy()


class ClassSum:
    """Gathers the members of a mixture one by one, so that their number costs no memory."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.first: Classes | None = None
        self.weight = 0.0

    def add(self, member: Classes, weight: float) -> None:
        """Add a member. One without weight is only looked at."""
        values = class_values(member.labels)
        if self.first is None:
            self.first, self.given, self.numeric = member, member.given, values is not None
            self.p = np.zeros_like(member.p)
            self.entropies, self.within, self.mean, self.between = np.zeros((4, len(member)))
        same_classes(self.first.labels, member.labels, self.what)
        if member.given.itemsize < self.given.itemsize:
            self.given = member.given
        if weight == 0:
            return
        self.weight += weight
        share = weight / self.weight
        # Running means, so that equal members have exactly their own distribution for a mixture.
        self.p += share * (member.p - self.p)
        self.entropies += share * (member.entropy() - self.entropies)
        if self.numeric:
            away = member.mean() - self.mean
            self.within += share * (member.variance() - self.within)
            self.between += share * ((1.0 - share) * away**2 - self.between)
            self.mean += share * away

    def mixture(self) -> ClassMixture:
        """Return the mixture of what was added."""
        if self.first is None:
            raise DataError(explained(self.what, "no members", "two or more", "Add members"))
        variances = (self.within, self.between) if self.numeric else None
        return ClassMixture(self.p, self.given, self.first.labels, self.entropies, variances)
