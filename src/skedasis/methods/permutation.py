"""Permutation feature importance (PFI): by permutations, by all pairs of rows, weighted, and conditional.

The importance of a feature is the mean increase of the quantity over the rows when each row gets the feature's value of
another row, its *donor* (Breiman 2001; entropy_importance Eq. 1). For a loss this is the classical importance, for the
negative log-likelihood Likelihood-PFI (Eq. 5), for an entropy Entropy-PFI (sec. 3.2). If features are dependent, the
model extrapolates; for an entropy, this is what is measured.

`PFI` is the public method. It has plans for given rows only, so that `PFI.on` returns a variant that knows the rows:
`RowPFI` (permutations), `WeightedPFI` (rows of different weights), `ConditionalPFI` (donors within subgroups),
`ExactPFI` (all ordered pairs of rows) or `MetricPFI` (a metric of the whole sample; `permutation_metric.py`). The
donors are drawn in `permutation_plan.py`; `combine` merges the features' results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from skedasis._renamed import RenamedAttributes, refuse_old_keywords
from skedasis._types import Bools, Floats, Ints, Json
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, warn_caller
from skedasis.methods.base import (
    BatchStats,
    Evaluator,
    MethodVariant,
    Parameters,
    plain,
    select_rows,
)
from skedasis.methods.permutation_plan import (
    PermutationPlan,
    draw_donors,
    has_unequal_weights,
    subgroups,
)
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.base import Quantity
from skedasis.results.importance import Importance, LocalImportance
from skedasis.stats.moments import Totals, WeightKind
from skedasis.stats.resampling import influence_error, permutation_error, sum_error

# --- the public method ----------------------------------------------------------------------------


_SAMPLE = 4099
"""Makes the sample of rows independent of other draws with the same seed."""


@refuse_old_keywords
@dataclass(frozen=True)
class PFI(RenamedAttributes, Parameters):
    """Permutation importance: the mean increase of the quantity when a feature's values come from other rows.

    It estimates E q(X'_s, X_c, Y) - E q(X_s, X_c, Y), where X'_s is distributed as X_s and independent of the rest
    (entropy_importance Eq. 2), by the mean over all ordered pairs of rows including i = j, whose expectation is
    (1 - 1/N) of it.

    Parameters
    ----------
    n_repeats : int
        Number of permutations.
    groups : mapping of str to list of columns, optional
        Columns that are permuted together under one name, as in `skedasis.explain`.
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
        For less than one repeat, groups that overlap, a metric without y, and arguments that exclude each other.
    UnsupportedError
        For a pair of features, and for ``conditional=True`` with an entropy, variance or prediction, whose conditional
        importance is zero by construction (entropy_importance, Proposition 3).

    Notes
    -----
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
    """

    n_repeats: int = 10
    groups: Mapping[str, Sequence[Any]] | None = None
    max_samples: int | float | None = None
    local: int | Literal["all"] = 1000
    metric: str | Callable[..., float] | None = None
    greater_is_better: bool = True
    conditional: bool = False
    subgroup_rows: int = 30
    exact: bool = False

    uses_slopes = False
    compares_missing = False
    leaves_out_missing = False
    by_rows = True

    def __post_init__(self) -> None:
        _check_integer("n_repeats", self.n_repeats, 1, 10)
        _check_integer("subgroup_rows", self.subgroup_rows, 2, 30)
        if self.local != "all":
            _check_integer("local", self.local, 0, 1000)
        _check_sample_size(self.max_samples)
        for name in ("exact", "conditional", "greater_is_better"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                got = repr(getattr(self, name))[:60]
                raise DataError(f"PFI({name})", got, "True or False", "Use one of them")
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

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.groups is not None:
            parameters["groups"] = {k: list(v) for k, v in self.groups.items()}
        if callable(self.metric):
            parameters["metric"] = getattr(self.metric, "__name__", type(self.metric).__name__)
        return {k: plain(v) for k, v in parameters.items()}

    def given(self, dataset: Dataset, groups: Any, seed: int) -> tuple[Dataset, Any]:
        """Return the rows to use, a sample for `max_samples`, and the caller's groups with those of the method."""
        if self.groups is not None:
            # Groups that are no mapping are rejected where they are resolved.
            own = self.groups
            groups = {**(groups or {}), **own} if isinstance(own, Mapping) else own
        requested = self.max_samples
        if requested is None:
            return dataset, groups
        n = len(dataset)
        size = max(1, round(requested * n)) if isinstance(requested, float) else int(requested)
        if size >= n:
            return dataset, groups
        drawn = np.random.default_rng([_SAMPLE, seed]).choice(n, size, replace=False)
        return dataset.subset(np.sort(dataset.order[drawn])), groups

    def warn_unused_arguments(self, model: Any, y: Any) -> None:
        """Warn if labels are given with a model instead of a quantity: a prediction does not depend on them."""
        is_bare = not isinstance(model, Quantity) and hasattr(model, "predict")
        if is_bare and y is not None and self.metric is None:
            warn_caller(
                "PFI: y is not used, because PFI of a model measures how its prediction changes. To measure which "
                'features the model needs for its accuracy, use sd.loss(model, "squared_error") or sd.nll(model).',
                LeftOutWarning,
            )

    def on(self, quantity: Quantity, dataset: Dataset, seed: int) -> Any:
        """Return the variant for these rows.

        Raises
        ------
        UnsupportedError
            For the conditional importance of a quantity that does not depend on the label.
        """
        return variant_for_rows(self, quantity, dataset, seed)

    def for_pair(self, features: tuple[Feature, Feature]) -> Any:
        """Raise `UnsupportedError`: two features that are permuted together are a group."""
        one, two = (f.name for f in features)
        raise UnsupportedError(
            f"PFI of ({one!r}, {two!r})",
            "a pair",
            "single features or groups",
            f'Use sd.PFI(groups={{"both": [{one!r}, {two!r}]}})',
        )


def _check_integer(what: str, value: Any, least: int, default: int) -> None:
    """Raise `DataError` unless the value is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise DataError(
            f"PFI({what})",
            repr(value)[:60],
            f"a whole number of at least {least}",
            f"Use {what}={default}",
        )


def _check_sample_size(value: Any) -> None:
    """Raise `DataError` unless the value is None, a number of rows, or a fraction of them."""
    if value is None:
        return
    is_count = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1
    is_fraction = isinstance(value, (float, np.floating)) and 0 < value <= 1
    if not (is_count or is_fraction):
        raise DataError(
            "PFI(max_samples)",
            repr(value)[:60],
            "a number of rows, or a fraction between 0.0 and 1.0",
            "Use max_samples=10_000",
        )


# --- base class of variants -----------------------------------------------------------------------


ROWS_PER_CALL = 20_000
"""Rows per call of the model: twice as many would make cheap models 10 % faster, but nearly double the memory."""


def variant_for_rows(base: PFI, quantity: Quantity, dataset: Dataset, seed: int) -> Any:
    """Return the variant of PFI that its parameters and the rows' weights require."""
    if base.exact:
        return exact_variant(base, dataset, seed)
    if base.metric is not None:
        from skedasis.methods.permutation_metric import metric_variant

        return metric_variant(base, quantity, dataset, seed)
    if base.conditional:
        return conditional_variant(base, quantity, dataset, seed)
    if has_unequal_weights(dataset.weights):
        return WeightedPFI(base, dataset, seed)
    return RowPFI(base, dataset, seed)


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """Plan of PFI: the permuted columns, and the donors of the rows.

    Parameters
    ----------
    feature : Feature
    drawn : PermutationPlan, optional
        None if every row is a donor of every other.
    notes : dict
        Entries for the provenance.
    """

    feature: Feature
    drawn: PermutationPlan | None
    notes: Json

    @property
    def permutations(self) -> PermutationPlan:
        """Return the drawn permutations, for variants that draw some."""
        return PermutationPlan(()) if self.drawn is None else self.drawn


@dataclass(frozen=True)
class RowBasedVariant(MethodVariant):
    """Base class of PFI's variants for given rows.

    Parameters
    ----------
    dataset : Dataset
    seed : int
    """

    dataset: Dataset
    seed: int

    compares_missing = False
    leaves_out_missing = False
    reads_columns = False

    def given(self, dataset: Dataset, groups: Any, seed: int) -> tuple[Dataset, Any]:
        """Return the arguments: the user's method has resolved them."""
        return dataset, groups

    def on(self, quantity: Quantity, dataset: Dataset, seed: int) -> Any:
        """Return itself."""
        return self

    def check(self, features: Sequence[Feature]) -> None:
        """Do nothing: groups have been resolved, and no other parameter names features."""

    def for_feature(self, feature: Feature) -> Any:
        """Return itself: features of all kinds are permuted in the same way."""
        return self

    def for_pair(self, features: tuple[Feature, Feature]) -> Any:
        """Raise `UnsupportedError`."""
        return self.base.for_pair(features)

    def together(self, found: Any, record: Json) -> Importance:
        """Return one result of all features."""
        return combine(found, record, sampled=self.dataset.sampled)

    def plan(self, column: Feature, derivative_info: DerivativeInfo) -> FeaturePlan:
        """Return the columns to permute, and the donors."""
        return FeaturePlan(column, self.drawn, {})

    @cached_property
    def drawn(self) -> PermutationPlan | None:
        """Return the donors of the rows, which all features share."""
        rows = self.dataset
        return draw_donors(len(rows), rows.sorted, self.base.n_repeats, self.seed, rows.weights)

    @property
    def weight(self) -> float:
        """Return the total weight of the rows."""
        w = self.dataset.weights
        return float(len(self.dataset)) if w is None else float(w.sum())

    @property
    def batch_rows(self) -> int | None:
        """Return the maximum number of rows per batch."""
        return max(250, ROWS_PER_CALL // self.base.n_repeats)

    def points_per_call(self, plans: Sequence[Any]) -> int:
        """Return the number of values per row in one call: all repeats."""
        return self.base.n_repeats

    def n_rows_to_keep(self, rows: int) -> int:
        """Return the number of single rows to keep."""
        return rows if self.base.local == "all" else min(self.base.local, rows)

    def row_bytes(self, plan: FeaturePlan) -> int:
        """Return the bytes of a kept row: the values of all repeats, its own value, index and weight."""
        return 8 * (self.base.n_repeats + 3)

    def _rows(self, positions: Ints) -> Ints:
        """Return the indices in X of the rows at these positions."""
        ids = self.dataset.row_id
        return positions if ids is None else ids[positions]

    def _donors(self, evaluator: Evaluator, plan: FeaturePlan) -> tuple[Ints, DonorRows]:
        """Return the donors' positions, (repeats, n), and their values; computed once for features that share them."""
        cached = evaluator.shared.get("donors")
        if cached is None or cached[0] is not plan.drawn:
            donors = plan.permutations.donors(evaluator.places)
            cached = plan.drawn, donors, DonorRows(self._rows(donors))
            evaluator.shared["donors"] = cached
        return cached[1], cached[2]

    def _after(self, evaluator: Evaluator, plan: FeaturePlan, values: DonorRows) -> Floats:
        """Return the quantity with the donors' values, (repeats, n)."""
        changes = dict.fromkeys(plan.feature.columns, values)
        return evaluator.sweep_together(changes, len(values.rows)).T

    def _kept(self, evaluator: Evaluator, after: Floats, keep: Bools | None) -> dict[str, Any]:
        """Return the arrays of the kept rows: the quantity before and after, the row's index and weight."""
        own, row, weight = evaluator.values(), evaluator.row_id, evaluator.weights
        return select_rows({"after": after.T, "own": own, "row": row, "weight": weight}, keep)

    def _result(
        self,
        plan: FeaturePlan,
        local: BatchStats,
        about: Any,
        values: Floats,
        error: tuple[float, float],
        *,
        exact: bool,
    ) -> Importance:
        """Return the result of one feature."""
        r, name = local.kept, plan.feature.name
        kept = None
        if r:
            after = np.ascontiguousarray(r["after"])[None]
            kept = LocalImportance((name,), r["row"], r["own"], after, r.get("weight"), exact)
        return Importance(
            (name,),
            values[None],
            np.array([error[0]]),
            np.array([error[1]]),
            float(local.moments["own"].sums[0]) / self.weight,
            len(self.dataset),
            about.quantity,
            about.unit,
            about.library,
            self.name,
            kept,
            plan.notes,
        )


# --- permutations ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowPFI(RowBasedVariant):
    """PFI by permutations: the mean increase of the quantity with the donors' values."""

    @cached_property
    def sizes(self) -> list[float]:
        """Return for each cycle the sum of squared weights of the rows in its blocks."""
        if self.drawn is None:
            return []
        w, n = self.dataset.weights, len(self.dataset)
        squares = n if w is None else float(w @ w)
        # If some rows are in no block, all rows have equal weights.
        return [squares * c.n_in_blocks / n for c in self.drawn.cycles]

    def compute(self, evaluator: Evaluator, plan: FeaturePlan, keep: Bools | None) -> BatchStats:
        """Call the model with the donors' values, and sum the increases by blocks of recipients."""
        donors, values = self._donors(evaluator, plan)
        after = self._after(evaluator, plan, values)
        own, w = evaluator.values(), evaluator.weights
        increases = after - own
        distinct = plan.permutations.cycles[0].distinct_fraction(evaluator.places)
        increases *= distinct if w is None else distinct * w
        sums = self._sums(evaluator, plan, increases, donors)
        sums["own"] = Totals(np.array([own.sum() if w is None else own @ w]))
        return BatchStats(sums, self._kept(evaluator, after, keep))

    def _sums(
        self, evaluator: Evaluator, plan: FeaturePlan, increases: Floats, donors: Ints
    ) -> dict[str, Any]:
        """Return the weighted increases, (repeats, n), summed by blocks of recipients."""
        return {"recipients": self._by_recipient(evaluator, plan, increases)}

    def _by_recipient(self, evaluator: Evaluator, plan: FeaturePlan, increases: Floats) -> Totals:
        """Return (repeats, n) numbers summed by the blocks of the recipients, (repeats, blocks + 1)."""
        parts, size = [], plan.permutations.blocks + 1
        blocks = self._blocks(evaluator, plan)
        for (repeats, _), block in zip(plan.permutations.by_repeats, blocks, strict=True):
            parts += [np.bincount(block, increase, size) for increase in increases[repeats]]
        return Totals(np.array(parts))

    def _by_donor(self, plan: FeaturePlan, increases: Floats, donors: Ints) -> Totals:
        """Return (repeats, n) numbers summed by the blocks of the donors, (repeats, blocks + 1)."""
        parts, size = [], plan.permutations.blocks + 1
        for repeats, cycle in plan.permutations.by_repeats:
            pairs = zip(donors[repeats], increases[repeats], strict=True)
            parts += [np.bincount(cycle.block(donor), increase, size) for donor, increase in pairs]
        return Totals(np.array(parts))

    def _blocks(self, evaluator: Evaluator, plan: FeaturePlan) -> list[Ints]:
        """Return the rows' blocks in each cycle; computed once for features that share the permutations."""
        cached = evaluator.shared.get("blocks")
        if cached is None or cached[0] is not plan.drawn:
            cached = plan.drawn, [c.block(evaluator.places) for c in plan.permutations.cycles]
            evaluator.shared["blocks"] = cached
        return cached[1]

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average the increases, and compute the standard error."""
        sums = stats.moments["recipients"].sums
        values = sums.sum(axis=1) / self.weight
        norm = self._norm(kind)
        error, df = permutation_error(self._parts(plan, sums), norm)
        return self._result(plan, stats, about, values, (error, df), exact=exact)

    def _parts(self, plan: FeaturePlan, sums: Floats) -> list[tuple[Floats, Floats, float]]:
        """Return for each cycle the sums of its blocks, its steps, and the sum of squared weights of its rows."""
        cycles = zip(plan.permutations.by_repeats, self.sizes, strict=True)
        return [(sums[repeats, : c.blocks], c.steps, size) for (repeats, c), size in cycles]

    def _norm(self, kind: WeightKind) -> tuple[float, float]:
        """Return the divisors that turn the variances between rows, and between permutations, into those of a mean."""
        w = self.dataset.weights
        effective = len(self.dataset) if w is None else w.sum() ** 2 / (w @ w)
        return (self.weight if kind == "frequency" else float(effective)), float(effective)


def combine(found: Mapping[str, Importance], record: Json, *, sampled: bool) -> Importance:
    """Return one importance of all features.

    Parameters
    ----------
    found : mapping of str to Importance
        The importance of each feature.
    record : dict
        Provenance of the run.
    sampled : bool
        Whether the rows are a sample of those given.
    """
    parts = list(found.values())
    first = parts[0]
    local = None
    if first.local is not None:
        kept = [p.local for p in parts if p.local is not None]
        local = LocalImportance(
            tuple(found),
            first.local.row,
            first.local.before,
            np.concatenate([p.after for p in kept]),
            first.local.weight,
            first.local.exact,
        )
    notes = dict(first.provenance)
    for part in parts:
        for key, value in part.provenance.items():
            notes[key] = {**notes[key], **value} if isinstance(value, dict) else value
    if sampled:
        notes["exact"] = False
    return replace(
        first,
        features=tuple(found),
        values=np.concatenate([p.values for p in parts]),
        std_error=np.concatenate([p.std_error for p in parts]),
        df=np.concatenate([p.df for p in parts]),
        local=local,
        provenance={**record, **notes},
    )


# --- all ordered pairs of rows --------------------------------------------------------------------


_MAX_PAIRS = 200_000_000
"""Maximum number of pairs of rows."""


def exact_variant(base: PFI, dataset: Dataset, seed: int) -> ExactPFI:
    """Return the variant for all pairs.

    Raises
    ------
    DataError
        For too many rows.
    """
    _check_size(len(dataset))
    return ExactPFI(base, dataset, seed)


def _check_size(rows: int) -> None:
    if rows**2 > _MAX_PAIRS:
        raise DataError(
            "PFI(exact=True)",
            f"{rows:,} rows, which are {rows**2:,} pairs for each feature",
            f"at most {_MAX_PAIRS:,} pairs",
            "Use sd.PFI(n_repeats=30), or max_samples",
        )


@dataclass(frozen=True)
class ExactPFI(RowBasedVariant):
    """PFI by all ordered pairs of rows; nothing is drawn."""

    @cached_property
    def drawn(self) -> PermutationPlan | None:
        """Return None: every row is a donor of every other."""
        return None

    @property
    def batch_rows(self) -> int | None:
        """Return the maximum number of rows per batch, each of which is evaluated with the values of all rows."""
        return max(1, ROWS_PER_CALL // len(self.dataset))

    def points_per_call(self, plans: Sequence[Any]) -> int:
        """Return the number of values per row: one for each row."""
        return len(self.dataset)

    def row_bytes(self, plan: FeaturePlan) -> int:
        """Return the bytes of a kept row: its mean after, its own value, index and weight."""
        return 32

    def compute(self, evaluator: Evaluator, plan: FeaturePlan, keep: Bools | None) -> BatchStats:
        """Call the model with the values of all rows, and sum the increases by recipient and by donor."""
        n = len(self.dataset)
        all_rows = DonorRows(self._rows(np.arange(n))[:, None])
        increases = self._after(evaluator, plan, all_rows) - evaluator.values()
        w, all_w = evaluator.weights, self.dataset.weights
        mean = increases.mean(axis=0) if all_w is None else all_w @ increases / self.weight
        by_recipient = np.zeros(n)
        by_recipient[evaluator.places] = mean
        by_donor = (increases.sum(axis=1) if w is None else increases @ w) / self.weight
        own = evaluator.values()
        total = np.array([own.sum() if w is None else own @ w])
        sums = {
            "recipients": Totals(by_recipient),
            "donors": Totals(by_donor),
            "own": Totals(total),
        }
        return BatchStats(sums, self._kept(evaluator, (own + mean)[None], keep))

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average the increases, and compute the standard error."""
        recipients, donors = (stats.moments[k].sums for k in ("recipients", "donors"))
        w = self.dataset.weights
        mean = float(recipients.mean() if w is None else w @ recipients / self.weight)
        error = influence_error(recipients + donors - 2 * mean, w, kind)
        return self._result(plan, stats, about, np.array([mean]), error, exact=exact)


# --- rows of different weights --------------------------------------------------------------------


@dataclass(frozen=True)
class WeightedPFI(RowPFI):
    """PFI of rows with different weights: the same means, and an error that depends on the kind of weights.

    The variance of block sums weights rows by their squared weights, which is right for sampling weights. A row with
    frequency weight w stands for w rows, which count by w instead; the error differs if heavy rows vary more, or less,
    than light ones. The ratio is estimated from sums in which the recipient, or the donor, is weighted by the root of
    its weight.
    """

    def _sums(
        self, evaluator: Evaluator, plan: FeaturePlan, increases: Floats, donors: Ints
    ) -> dict[str, Any]:
        """Return sums by recipients and by donors, with the rows' weights and with the roots of their weights."""
        sums = super()._sums(evaluator, plan, increases, donors)
        own, all_roots = evaluator.weights, np.sqrt(self._weights)
        roots = np.ones(len(evaluator)) if own is None else np.sqrt(own)
        # `increases` include the recipient's weight. Over the repeats, a donor's sum is proportional to its own weight,
        # because it is drawn with this probability.
        sums["donors"] = self._by_donor(plan, increases, donors)
        sums["recipients by root"] = self._by_recipient(evaluator, plan, increases / roots)
        sums["donors by root"] = self._by_donor(plan, increases / all_roots[donors], donors)
        return sums

    @property
    def _weights(self) -> Floats:
        w = self.dataset.weights
        return np.ones(len(self.dataset)) if w is None else w

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average the increases, and compute the standard error for the kind of weights."""
        sums = stats.moments["recipients"].sums
        values = sums.sum(axis=1) / self.weight
        norm = self._norm(kind)
        if kind == "frequency":
            norm = norm[0] / self._variance_ratio(plan, stats, float(values.mean())), norm[1]
        error, df = permutation_error(self._parts(plan, sums), norm)
        if kind == "sampling":  # few heavy rows have no more degrees of freedom than as few rows
            df = min(df, max(norm[1] - 1, 1.0))
        return self._result(plan, stats, about, values, (error, df), exact=exact)

    def _variance_ratio(self, plan: FeaturePlan, local: BatchStats, mean: float) -> float:
        """Return the ratio of the rows' variance counted by weights to that counted by squared weights."""
        w = self._weights
        size = float(w.sum()), float(w @ w)
        by_root = self._block_variation(plan, local, " by root", mean, np.sqrt(w)) / size[0]
        by_weight = self._block_variation(plan, local, "", mean, w) / size[1]
        return by_root / by_weight if by_weight > 0 and by_root > 0 else 1.0

    def _block_variation(
        self, plan: FeaturePlan, local: BatchStats, kind: str, mean: float, weight: Floats
    ) -> float:
        """Return the sum of squared deviations of the blocks' sums from their mean, averaged over the cycles."""
        recipients: Totals = local.moments[f"recipients{kind}"]
        donors: Totals = local.moments[f"donors{kind}"]
        all_rows, variation = np.arange(len(weight)), []
        for repeats, cycle in plan.permutations.by_repeats:
            expected = (
                2 * mean * np.bincount(cycle.block(all_rows), weight, recipients.sums.shape[1])
            )
            part = (recipients.sums[repeats] + donors.sums[repeats]).mean(axis=0) - expected
            variation.append(float(((part - part.mean()) ** 2).sum()))
        return float(np.mean(variation))


# --- conditional ----------------------------------------------------------------------------------


LEAST_ROWS = 7
"""Minimum number of rows for a standard error."""


def conditional_variant(
    base: PFI, quantity: Quantity, dataset: Dataset, seed: int
) -> ConditionalPFI:
    """Return the variant for subgroups.

    Raises
    ------
    UnsupportedError
        For a quantity that does not depend on the label.
    """
    _check_conditional(quantity)
    return ConditionalPFI(base, dataset, seed)


def _check_conditional(quantity: Quantity) -> None:
    parts = getattr(quantity, "parts", None) or {None: quantity}
    if all(q.labelled for q in parts.values()):
        return
    raise UnsupportedError(
        f"PFI(conditional=True) of {quantity.describe()}",
        "a quantity that does not depend on the label",
        "a loss, or a negative log-likelihood",
        "Leave conditional out: conditional permutation does not change the joint distribution of the features, "
        "so that this importance is zero by construction (entropy_importance, Proposition 3)",
    )


@dataclass(frozen=True)
class ConditionalPFI(RowPFI):
    """PFI with donors from subgroups of rows that are similar in the other features (Molnar et al. 2023)."""

    def plan(self, column: Feature, derivative_info: DerivativeInfo) -> FeaturePlan:
        """Find the feature's subgroups, and draw donors within them."""
        groups = subgroups(self.dataset, column, self.base.subgroup_rows, self.seed)
        rows, w = self.dataset, self.dataset.weights
        drawn = draw_donors(len(rows), rows.sorted, self.base.n_repeats, self.seed, w, groups)
        return FeaturePlan(column, drawn, {"subgroups": {column.name: int(groups.max()) + 1}})

    def _sums(
        self, evaluator: Evaluator, plan: FeaturePlan, increases: Floats, donors: Ints
    ) -> dict[str, Any]:
        """Return sums by blocks of recipients and of donors."""
        sums = super()._sums(evaluator, plan, increases, donors)
        return {**sums, "donors": self._by_donor(plan, increases, donors)}

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average the increases; compute the error from blocks, as recipients and as donors."""
        recipients, donors = (stats.moments[k].sums for k in ("recipients", "donors"))
        values = recipients.sum(axis=1) / self.weight
        all_rows, w = np.arange(len(self.dataset)), self.dataset.weights
        errors: list[float] = []
        for repeats, cycle in plan.permutations.by_repeats:  # each cycle has its own blocks
            weight = np.bincount(cycle.block(all_rows), w, recipients.shape[1])
            part = (recipients[repeats] + donors[repeats]).mean(axis=0)
            errors.append(sum_error(part - 2 * values.mean() * weight, self.weight)[0])
        # Blocks are independent parts of the rows; frequency weights stand for more rows.
        norm = self._norm(kind)
        error = float(np.sqrt(np.mean(np.square(errors)) * norm[1] / norm[0]))
        df = float(min(recipients.shape[1], len(self.dataset)) - 1)
        if len(self.dataset) < LEAST_ROWS:
            error, df = np.nan, np.nan
        return self._result(plan, stats, about, values, (error, df), exact=exact)
