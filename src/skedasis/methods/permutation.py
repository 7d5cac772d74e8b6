"""Permutation feature importance (PFI): the public method.

The importance of a feature is the mean increase of the quantity over the rows when each row gets the feature's value of
another row, its *donor* (Breiman 2001; entropy_importance Eq. 1). For a loss this is the classical importance, for the
negative log-likelihood Likelihood-PFI (Eq. 5), for an entropy Entropy-PFI (sec. 3.2). If features are dependent, the
model extrapolates; for an entropy, this is what is measured.

`PFI` has plans for given rows only, so that `PFI.for_rows` returns a variant that knows the rows: `RowPFI`
(permutations), `WeightedPFI` (rows of different weights), `ConditionalPFI` (donors within subgroups) or `ExactPFI` (all
ordered pairs of rows) of `permutation_variants.py`, or `MetricPFI` (a metric of the whole sample) of
`permutation_metric.py`. The donors are drawn in `permutation_plan.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skedasis._arguments import check_flag, check_int, is_int, is_number, shown
from skedasis._calls import NearestAttribute, checked_call
from skedasis._types import JsonValue
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature, Groups
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, warn_caller
from skedasis.methods.base import AnyPairMethod, Parameters, plain
from skedasis.methods.permutation_plan import has_unequal_weights
from skedasis.methods.permutation_variants import (
    RowBasedVariant,
    RowPFI,
    WeightedPFI,
    conditional_variant,
    exact_variant,
)
from skedasis.quantities.base import Quantity

_SAMPLE = 4099
"""Makes the sample of rows independent of other draws with the same seed."""


@checked_call
@dataclass(frozen=True)
class PFI(NearestAttribute, Parameters):
    """Permutation importance: the mean increase of the quantity when a feature's values come from other rows.

    It estimates E q(X'_s, X_c, Y) - E q(X_s, X_c, Y), where X'_s is distributed as X_s and independent of the rest
    (entropy_importance Eq. 2), by the mean over all ordered pairs of rows including i = j, whose expectation is
    (1 - 1/N) of it.

    Parameters
    ----------
    n_repeats : int
        Number of permutations.
    groups : mapping of str to list of columns, optional
        Columns that are permuted together under one name. They join the groups of `skedasis.explain`. A column may be
        in several groups. Columns in no group are features; to keep a column of a group as well, give it a group of its
        own: ``{"temp": ["temp"], "weather": ["temp", "hum"]}``. The result has the order of X: a group is at the place
        of its first column, and groups with the same first column are in the order given. Each group costs as much as a
        column.
    max_samples : int or float, optional
        Number of rows to use, or their fraction: a seeded sample without replacement. Rows keep their weights. The
        provenance states that the rows are a sample.
    local : int or "all"
        Number of single rows to keep with the result: a seeded sample.
    metric : callable or str, optional
        A metric of the whole sample instead of a mean over rows: ``metric(y, values) -> float`` of the labels and the
        quantity, called with ``sample_weight=`` if rows are weighted; or the name of a metric of scikit-learn:
        "roc_auc", "average_precision", "r2", "explained_variance", "max_error", "median_absolute_error". The importance
        is the deterioration of the metric. All rows are kept in memory.
    greater_is_better : bool
        Whether larger values of a user's `metric` are better.
    conditional : bool
        Permute within subgroups of rows that are similar in the other features: the leaves of a decision tree that
        predicts the feature from them. Only for quantities that depend on the label.
    subgroup_rows : int
        Minimum number of rows per subgroup.
    exact : bool
        Use all ordered pairs of rows, including each row with itself, instead of permutations, which estimate this
        mean. For small X.

    Raises
    ------
    DataError
        For less than one repeat, a group that has a column twice, a metric without y, and arguments that exclude each
        other.
    UnsupportedError
        For a pair of features, and for ``conditional=True`` with an entropy, variance or prediction, whose conditional
        importance is zero by construction (entropy_importance, Proposition 3).

    Notes
    -----
    Data that are read in chunks have at most 100,000 donors, the rows with the smallest hashes, of which each row draws
    one in each repeat. The mean is unbiased, and the error counts the donors. A metric, ``exact=True`` and
    ``conditional=True`` need all rows at the same time: they need `max_samples` there.

    Costs N (1 + R D) model rows for R repeats of D features, all repeats of a feature in one call per batch;
    N (1 + N D) with ``exact=True``. Values are not clipped at zero: an irrelevant feature has an importance around
    zero, and exactly zero if the model does not use it (Proposition 2).

    All features share the permutations (except with ``conditional=True``, where each feature has its own subgroups).
    They are drawn before the first batch and keyed by `row_id`, so that the result does not depend on batches, threads,
    or the order of columns (unless two columns split a subgroup equally well). No row is its own donor; the mean is
    multiplied by 1 - 1/N instead, the probability of another row as donor. This factor is not applied to a `metric`.
    Weighted rows are donors with probabilities proportional to their weights. A row has one donor in each repeat,
    whatever its weight, so that the permutations add more to the error than if rows were repeated.

    `std_error` and the analytic interval include the sampling of the rows: the Hájek projection of the mean over pairs,
    from sums over blocks of rows (`skedasis.stats.resampling.pair_variance`), plus the variance of the permutations.
    Below about 50 rows the intervals are too narrow (coverage 0.8 to 0.9 instead of 0.95 at 10 rows). With
    ``conditional=True`` the error is that of independent draws of donors and recipients, which is conservative. With a
    `metric` it is the jackknife's over ten parts of the rows, which calls the metric twenty times as often as the
    values do.

    References
    ----------
    entropy_importance Eq. 1, 2, 5, 6 and sec. 3.2; conditional: Molnar et al. (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> loss = sd.loss(lambda X: X[:, 0], "squared_error")
    >>> pf = sd.explain(loss, X, y=X[:, 0], method=sd.PFI(exact=True))
    >>> bool(np.isclose(pf.mean[0], 2 * X[:, 0].var())), float(pf.mean[1])
    (True, 0.0)

    Groups may share columns. Here the model adds the two columns, so that the group has the sum of their importances.

    >>> both = sd.loss(lambda X: X.sum(axis=1), "squared_error")
    >>> groups = {"x0": ["x0"], "x1": ["x1"], "pair": ["x0", "x1"]}
    >>> pf = sd.explain(both, X, y=X.sum(axis=1), method=sd.PFI(exact=True, groups=groups))
    >>> pf.features, bool(np.isclose(pf.mean[1], 2 * X.sum(axis=1).var()))
    (('x0', 'pair', 'x1'), True)
    """

    n_repeats: int = 10
    groups: Mapping[str, Sequence[Hashable]] | None = None
    max_samples: int | float | None = None
    local: int | Literal["all"] = 1000
    metric: str | Callable[..., float] | None = None
    greater_is_better: bool = True
    conditional: bool = False
    subgroup_rows: int = 30
    exact: bool = False

    cheaper = "fewer repeats (n_repeats), fewer rows (max_samples=100_000), or fewer features"
    donor_rows = 100_000

    def __post_init__(self) -> None:
        self.check_no_model()
        check_int("PFI(n_repeats)", self.n_repeats, 1, "Use n_repeats=10")
        check_int("PFI(subgroup_rows)", self.subgroup_rows, 2, "Use subgroup_rows=30")
        if not (isinstance(self.local, str) and self.local == "all"):
            check_int("PFI(local)", self.local, 0, "Use local=1000")
        _check_sample_size(self.max_samples)
        check_flag("PFI(exact)", self.exact)
        check_flag("PFI(conditional)", self.conditional)
        check_flag("PFI(greater_is_better)", self.greater_is_better)
        exclusive = {
            "exact": self.exact,
            "conditional": self.conditional,
            "metric": self.metric is not None,
        }
        if sum(exclusive.values()) > 1:
            names = " and ".join(k for k, v in exclusive.items() if v)
            raise DataError("PFI", names, "only one of them", "Leave the others out")
        if not (self.metric is None or isinstance(self.metric, str) or callable(self.metric)):
            raise DataError(
                "PFI(metric)",
                f"a {type(self.metric).__name__}",
                "a function metric(y, values), or the name of a metric",
                "Use metric='roc_auc'",
            )

    def describe(self) -> dict[str, JsonValue]:
        parameters = super().describe()
        if self.groups is not None:
            parameters["groups"] = {k: plain(list(v)) for k, v in self.groups.items()}
        if callable(self.metric):
            parameters["metric"] = getattr(self.metric, "__name__", type(self.metric).__name__)
        return parameters

    def rows_and_groups(
        self, dataset: Dataset, groups: Groups | None, seed: int
    ) -> tuple[Dataset, Groups | None]:
        """Return the rows to use, a sample for `max_samples`, and the caller's groups with those of the method."""
        if self.groups is not None:
            # Groups that are no mapping are rejected where they are resolved.
            own = self.groups
            groups = {**(groups or {}), **own} if isinstance(own, Mapping) else own
        n = len(dataset)
        # Rows that were drawn from data beyond memory are the sample.
        size = None if dataset.row_numbers is not None else self.rows_in_memory(n)
        if size is None or size >= n:
            return dataset, groups
        drawn = np.random.default_rng([_SAMPLE, seed]).choice(n, size, replace=False)
        return dataset.subset(np.sort(dataset.order[drawn])), groups

    def rows_in_memory(self, n: int) -> int | None:
        requested = self.max_samples
        if requested is None:
            return None
        size = max(1, round(requested * n)) if isinstance(requested, float) else int(requested)
        return min(size, n)

    def warn_unused_arguments(self, model: object, y: object) -> None:
        """Warn if labels are given with a model instead of a quantity: a prediction does not depend on them."""
        is_bare = not isinstance(model, Quantity) and hasattr(model, "predict")
        if is_bare and y is not None and self.metric is None:
            warn_caller(
                "PFI: y is not used, because PFI of a model measures how its prediction changes. To measure which "
                'features the model needs for its accuracy, use sd.loss(model, "squared_error") or sd.nll(model).',
                LeftOutWarning,
            )

    def for_rows(self, quantity: Quantity, dataset: Dataset, seed: int) -> RowBasedVariant:
        """Return the variant that the parameters and the rows' weights require.

        Raise `UnsupportedError` for the conditional importance of a quantity that does not depend on the label, and
        for what needs all rows of data that are read in chunks.
        """
        donors = dataset.donors_for_chunks()
        if donors is not None:
            # Imported here: data in memory do not need it.
            from skedasis.methods.permutation_donors import sampled_variant

            return sampled_variant(self, dataset, donors, seed)
        if self.exact:
            return exact_variant(self, dataset, seed)
        if self.metric is not None:
            # Imported here: only a metric needs the modules of the quantities.
            from skedasis.methods.permutation_metric import metric_variant

            return metric_variant(self, quantity, dataset, seed)
        if self.conditional:
            return conditional_variant(self, quantity, dataset, seed)
        if has_unequal_weights(dataset.weights):
            return WeightedPFI(self, dataset, seed)
        return RowPFI(self, dataset, seed)

    def for_pair(self, features: tuple[Feature, Feature]) -> AnyPairMethod:
        """Raise `UnsupportedError`: two features that are permuted together are a group."""
        one, two = (f.name for f in features)
        raise UnsupportedError(
            f"PFI of ({one!r}, {two!r})",
            "a pair",
            "single features or groups",
            f'Use sd.PFI(groups={{"both": [{one!r}, {two!r}]}})',
        )


def _check_sample_size(value: object) -> None:
    """Raise `DataError` unless the value is None, a number of rows, or a fraction of them."""
    is_fraction = is_number(value) and not is_int(value) and 0 < value <= 1
    if value is None or is_fraction or (is_int(value) and value >= 1):
        return
    raise DataError(
        "PFI(max_samples)",
        shown(value),
        "a number of rows, or a fraction between 0.0 and 1.0",
        "Use max_samples=10_000",
    )
