"""Variants of PFI for given rows: by permutations, by all pairs of rows, weighted, and conditional.

`RowBasedVariant` is their base class, and that of `permutation_metric.MetricPFI`. The donors of the rows are drawn in
`permutation_plan.py`; `combine` merges the features' results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from skedasis._types import Bools, Floats, Ints, ResultKey
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.base import (
    AnyPairMethod,
    FeatureMethod,
    MethodResult,
    MethodVariant,
    ResolvedMethod,
)
from skedasis.methods.permutation_plan import (
    CyclicPermutation,
    PermutationPlan,
    draw_donors,
    subgroups,
)
from skedasis.methods.plans import BatchStats, Notes, select_row_ids, select_rows
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.quantities.outputs import MultiOutputQuantity
from skedasis.results.effect import About
from skedasis.results.importance import Importance, LocalImportance
from skedasis.results.provenance import as_provenance, merged
from skedasis.stats.moments import WeightKind, dot
from skedasis.stats.resampling import influence_error, permutation_error, sum_error

if TYPE_CHECKING:
    from skedasis.methods.permutation import PFI

# --- base class of variants -----------------------------------------------------------------------


ROWS_PER_CALL = 20_000
"""Rows per call of the model: twice as many would make cheap models 10 % faster, but nearly double the memory."""


def outputs_of(quantity: Quantity) -> list[Quantity]:
    """Return the quantity of each output; if their number is not known yet, a list with one representative."""
    if isinstance(quantity, MultiOutputQuantity):
        return list(quantity.parts.values()) or [quantity.one]
    return [quantity]


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """Plan of PFI: the permuted columns, and the donors of the rows."""

    feature: Feature
    drawn: PermutationPlan
    notes: Notes


@dataclass(frozen=True, eq=False)
class _BatchDonors:
    """The donors of a batch's rows, (repeats, n), as places and as table rows, and the rows' blocks in each cycle."""

    drawn: PermutationPlan
    positions: Ints
    rows: DonorRows
    blocks: list[Ints]


@dataclass(frozen=True)
class RowBasedVariant(
    MethodVariant["PFI"], FeatureMethod[Feature, FeaturePlan, Importance], ResolvedMethod
):
    """Base class of PFI's variants for given rows."""

    dataset: Dataset
    seed: int

    leaves_out_missing = False

    def read_column(self, dataset: Dataset, feature: Feature) -> Feature:
        return feature

    def observed_only(self, column: Feature) -> bool:
        """Return True: the model is evaluated at values of other rows."""
        return True

    def for_feature(self, feature: Feature) -> RowBasedVariant:
        """Return itself: features of all kinds are permuted in the same way."""
        return self

    def for_pair(self, features: tuple[Feature, Feature]) -> AnyPairMethod:
        return self.base.for_pair(features)

    def combine_features(
        self, results: Mapping[ResultKey, MethodResult], record: Notes
    ) -> Importance:
        parts = [r for r in results.values() if isinstance(r, Importance)]
        return combine(parts, record, sampled=self.dataset.sampled)

    def plan(self, column: Feature, derivative_info: DerivativeInfo) -> FeaturePlan:
        return FeaturePlan(column, self.drawn, {})

    @cached_property
    def drawn(self) -> PermutationPlan:
        """Return the donors of the rows, which all features share."""
        rows = self.dataset
        return draw_donors(len(rows), rows.sorted, self.base.n_repeats, self.seed, rows.weights)

    @property
    def weight(self) -> float:
        w = self.dataset.weights
        return float(len(self.dataset)) if w is None else float(w.sum())

    @property
    def batch_rows(self) -> int | None:
        """Return the maximum number of rows per batch."""
        return max(250, ROWS_PER_CALL // self.base.n_repeats)

    def points_per_call(self, plans: Sequence[FeaturePlan]) -> int:
        """Return the number of values per row in one call: all repeats."""
        return self.base.n_repeats

    def n_rows_to_keep(self, rows: int) -> int:
        return rows if self.base.local == "all" else min(self.base.local, rows)

    def row_bytes(self, plan: FeaturePlan) -> int:
        """Return the bytes of a kept row: the values of all repeats, its own value, index and weight."""
        return 8 * (self.base.n_repeats + 3)

    def _donors(self, evaluator: BatchEvaluator, plan: FeaturePlan) -> _BatchDonors:
        """Return the donors of the batch's rows; computed once for features that share them."""
        cached = evaluator.shared.get("donors")
        if not isinstance(cached, _BatchDonors) or cached.drawn is not plan.drawn:
            donors = plan.drawn.donors(evaluator.places)
            blocks = [c.block(evaluator.places) for c in plan.drawn.cycles]
            rows = DonorRows(self.dataset.table_rows(donors))
            cached = _BatchDonors(plan.drawn, donors, rows, blocks)
            evaluator.shared["donors"] = cached
        return cached

    def _after(self, evaluator: BatchEvaluator, plan: FeaturePlan, values: DonorRows) -> Floats:
        """Return the quantity with the donors' values, (repeats, n)."""
        changes = dict.fromkeys(plan.feature.columns, values)
        return evaluator.sweep_together(changes, len(values.rows)).T

    def _batch_stats(
        self,
        evaluator: BatchEvaluator,
        totals: dict[str, Floats],
        after: Floats,
        keep: Bools | None,
    ) -> BatchStats:
        """Return the sums of a batch and the kept rows: the quantity before and after, the row's index and weight."""
        kept = {"after": after.T, "own": evaluator.values(), "weight": evaluator.weights}
        rows = select_row_ids(evaluator, keep)
        return BatchStats({}, select_rows(kept, keep), totals=totals, row_id=rows)

    def _result(
        self,
        plan: FeaturePlan,
        local: BatchStats,
        about: About,
        values: Floats,
        error: tuple[float, float],
        *,
        exact: bool,
    ) -> Importance:
        r, row, name = local.kept, local.row_id, plan.feature.name
        kept = None
        if r and row is not None:
            after = np.ascontiguousarray(r["after"])[None]
            kept = LocalImportance((name,), row, r["own"], after, r.get("weight"), exact)
        return Importance(
            (name,),
            values[None],
            np.array([error[0]]),
            np.array([error[1]]),
            float(local.totals["own"][0]) / self.weight,
            len(self.dataset),
            about.quantity,
            about.unit,
            about.library,
            self.name,
            kept,
            as_provenance(plan.notes),
            about.feature.title_by_name,
        )


# --- permutations ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowPFI(RowBasedVariant):
    """PFI by permutations: the mean increase of the quantity with the donors' values."""

    @cached_property
    def sizes(self) -> list[float]:
        """Return for each cycle the sum of squared weights of the rows in its blocks."""
        w, n = self.dataset.weights, len(self.dataset)
        squares = n if w is None else float(dot(w, w))
        # If some rows are in no block, all rows have equal weights.
        return [squares * c.n_in_blocks / n for c in self.drawn.cycles]

    def compute(
        self, evaluator: BatchEvaluator, plan: FeaturePlan, keep: Bools | None
    ) -> BatchStats:
        """Call the model with the donors' values, and sum the increases by blocks of recipients."""
        donors = self._donors(evaluator, plan)
        after = self._after(evaluator, plan, donors.rows)
        own, w = evaluator.values(), evaluator.weights
        increases = after - own
        distinct = plan.drawn.cycles[0].distinct_fraction(evaluator.places)
        increases *= distinct if w is None else distinct * w
        sums = self._sums(evaluator, plan, increases, donors.positions)
        sums["own"] = np.array([own.sum() if w is None else dot(own, w)])
        return self._batch_stats(evaluator, sums, after, keep)

    def _sums(
        self, evaluator: BatchEvaluator, plan: FeaturePlan, increases: Floats, donors: Ints
    ) -> dict[str, Floats]:
        """Return the weighted increases, (repeats, n), summed by blocks of recipients."""
        return {"recipients": self._by_recipient(evaluator, plan, increases)}

    def _by_recipient(
        self, evaluator: BatchEvaluator, plan: FeaturePlan, increases: Floats
    ) -> Floats:
        """Return (repeats, n) numbers summed by the blocks of the recipients, (repeats, blocks + 1)."""
        parts, size = [], plan.drawn.blocks + 1
        blocks = self._donors(evaluator, plan).blocks
        for (repeats, _), block in zip(plan.drawn.by_repeats, blocks, strict=True):
            parts += [np.bincount(block, increase, size) for increase in increases[repeats]]
        return np.array(parts)

    def _by_donor(self, plan: FeaturePlan, increases: Floats, donors: Ints) -> Floats:
        """Return (repeats, n) numbers summed by the blocks of the donors, (repeats, blocks + 1)."""
        parts, size = [], plan.drawn.blocks + 1
        for repeats, cycle in plan.drawn.by_repeats:
            pairs = zip(donors[repeats], increases[repeats], strict=True)
            parts += [np.bincount(cycle.block(donor), increase, size) for donor, increase in pairs]
        return np.array(parts)

    def _lent(
        self,
        evaluator: BatchEvaluator,
        plan: FeaturePlan,
        donors: Ints,
        divisor: Floats | float = 1.0,
    ) -> Floats:
        """Return the weights of the recipients, divided, summed by the blocks of their donors, (repeats, blocks + 1).

        An increase of 1 at every row would have these sums.
        """
        w = 1.0 if evaluator.weights is None else evaluator.weights
        return self._by_donor(plan, np.broadcast_to(w, donors.shape) / divisor, donors)

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average the increases, and compute the standard error."""
        values = stats.totals["recipients"].sum(axis=1) / self.weight
        error = self._error(plan, stats, float(values.mean()), kind)
        return self._result(plan, stats, about, values, error, exact=exact)

    def _error(
        self, plan: FeaturePlan, stats: BatchStats, mean: float, kind: WeightKind
    ) -> tuple[float, float]:
        """Return the standard error of the mean, and its degrees of freedom."""
        return permutation_error(self._parts(plan, stats.totals["recipients"]), self._norm(kind))

    def _parts(self, plan: FeaturePlan, sums: Floats) -> list[tuple[Floats, Floats, float]]:
        """Return for each cycle the sums of its blocks, its steps, and the sum of squared weights of its rows.

        Blocks of weighted rows differ in weight. The sums are those of the deviations from the mean, because a mean is
        not less certain where a block has more weight than another.
        """
        w, mean = self.dataset.weights, float(sums.sum(axis=1).mean()) / self.weight
        parts: list[tuple[Floats, Floats, float]] = []
        for (repeats, c), size in zip(plan.drawn.by_repeats, self.sizes, strict=True):
            part = sums[repeats, : c.blocks]
            if w is not None:
                part = part - mean * _weight_of_blocks(c, w)[: c.blocks]
            parts.append((part, c.steps, size))
        return parts

    @property
    def _weights(self) -> Floats:
        w = self.dataset.weights
        return np.ones(len(self.dataset)) if w is None else w

    def _deviations(
        self, plan: FeaturePlan, stats: BatchStats, mean: float, weight: Floats, kind: str = ""
    ) -> list[Floats]:
        """Return for each cycle the deviations from the mean of its blocks' sums as recipients and as donors."""
        names = ("recipients", "donors", "donor weights")
        recipients, donors, lent = (stats.totals[f"{name}{kind}"] for name in names)
        parts: list[Floats] = []
        for repeats, cycle in plan.drawn.by_repeats:
            part = (recipients[repeats] + donors[repeats] - mean * lent[repeats]).mean(axis=0)
            parts.append(part - mean * _weight_of_blocks(cycle, weight))
        return parts

    def _norm(self, kind: WeightKind) -> tuple[float, float]:
        """Return the divisors that turn the variances between rows, and between permutations, into those of a mean."""
        w = self.dataset.weights
        effective = len(self.dataset) if w is None else w.sum() ** 2 / float(dot(w, w))
        return (self.weight if kind == "frequency" else float(effective)), float(effective)


def _weight_of_blocks(cycle: CyclicPermutation, weights: Floats) -> Floats:
    """Return the total weight of the rows in each block, (blocks + 1,); the last entry is of rows in no block."""
    sums = np.bincount(cycle.block(np.arange(len(weights))), weights, cycle.blocks + 1)
    return sums.astype(float, copy=False)


def combine(parts: Sequence[Importance], record: Notes, *, sampled: bool) -> Importance:
    """Return one importance of all features."""
    first, names = parts[0], tuple(p.features[0] for p in parts)
    local = None
    if first.local is not None:
        kept = [p.local for p in parts if p.local is not None]
        local = LocalImportance(
            names,
            first.local.row,
            first.local.before,
            np.concatenate([p.after for p in kept]),
            first.local.weight,
            first.local.exact,
        )
    notes = merged([p.provenance for p in parts])
    if sampled:
        notes["exact"] = False
    return replace(
        first,
        features=names,
        values=np.concatenate([p.values for p in parts]),
        std_error=np.concatenate([p.std_error for p in parts]),
        df=np.concatenate([p.df for p in parts]),
        labels={name: label for p in parts for name, label in p.labels.items()},
        local=local,
        provenance=as_provenance({**record, **notes}),
    )


# --- all ordered pairs of rows --------------------------------------------------------------------


_MAX_PAIRS = 200_000_000
"""Maximum number of pairs of rows."""


def exact_variant(base: PFI, dataset: Dataset, seed: int) -> ExactPFI:
    """Return the variant for all pairs; raise if there are too many."""
    rows = len(dataset)
    if rows**2 > _MAX_PAIRS:
        raise DataError(
            "PFI(exact=True)",
            f"{rows:,} rows, which are {rows**2:,} pairs for each feature",
            f"at most {_MAX_PAIRS:,} pairs",
            "Use sd.PFI(n_repeats=30), or max_samples",
        )
    return ExactPFI(base, dataset, seed)


@dataclass(frozen=True)
class ExactPFI(RowBasedVariant):
    """PFI by all ordered pairs of rows; nothing is drawn."""

    @cached_property
    def drawn(self) -> PermutationPlan:
        """Return no permutations: every row is a donor of every other."""
        return PermutationPlan(())

    @property
    def batch_rows(self) -> int | None:
        """Return the maximum number of rows per batch, each of which is evaluated with the values of all rows."""
        return max(1, ROWS_PER_CALL // len(self.dataset))

    def points_per_call(self, plans: Sequence[FeaturePlan]) -> int:
        """Return the number of values per row: one for each row."""
        return len(self.dataset)

    def row_bytes(self, plan: FeaturePlan) -> int:
        """Return the bytes of a kept row: its mean after, its own value, index and weight."""
        return 32

    def compute(
        self, evaluator: BatchEvaluator, plan: FeaturePlan, keep: Bools | None
    ) -> BatchStats:
        """Call the model with the values of all rows, and sum the increases by recipient and by donor."""
        n = len(self.dataset)
        all_rows = DonorRows(self.dataset.whole.table_rows[:, None])
        increases = self._after(evaluator, plan, all_rows) - evaluator.values()
        w, all_w = evaluator.weights, self.dataset.weights
        mean = (
            increases.mean(axis=0)
            if all_w is None
            else np.einsum("m,mn->n", all_w, increases) / self.weight
        )
        by_recipient = np.zeros(n)
        by_recipient[evaluator.places] = mean
        by_donor = (increases.sum(axis=1) if w is None else dot(increases, w)) / self.weight
        own = evaluator.values()
        total = np.array([own.sum() if w is None else dot(own, w)])
        sums = {
            "recipients": by_recipient,
            "donors": by_donor,
            "own": total,
        }
        return self._batch_stats(evaluator, sums, (own + mean)[None], keep)

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average the increases, and compute the standard error."""
        recipients, donors = (stats.totals[k] for k in ("recipients", "donors"))
        w = self.dataset.weights
        mean = float(recipients.mean() if w is None else float(dot(w, recipients)) / self.weight)
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
        self, evaluator: BatchEvaluator, plan: FeaturePlan, increases: Floats, donors: Ints
    ) -> dict[str, Floats]:
        """Return sums by recipients and by donors, with the rows' weights and with the roots of their weights."""
        sums = super()._sums(evaluator, plan, increases, donors)
        own, all_roots = evaluator.weights, np.sqrt(self._weights)
        roots = np.ones(len(evaluator)) if own is None else np.sqrt(own)
        # `increases` include the recipient's weight. Over the repeats, a donor's sum is proportional to its own weight,
        # because it is drawn with this probability.
        sums["donors"] = self._by_donor(plan, increases, donors)
        sums["recipients by root"] = self._by_recipient(evaluator, plan, increases / roots)
        sums["donors by root"] = self._by_donor(plan, increases / all_roots[donors], donors)
        sums["donor weights"] = self._lent(evaluator, plan, donors)
        sums["donor weights by root"] = self._lent(evaluator, plan, donors, all_roots[donors])
        return sums

    def _error(
        self, plan: FeaturePlan, stats: BatchStats, mean: float, kind: WeightKind
    ) -> tuple[float, float]:
        norm = self._norm(kind)
        if kind == "frequency":
            norm = norm[0] / self._variance_ratio(plan, stats, mean), norm[1]
        error, df = permutation_error(self._parts(plan, stats.totals["recipients"]), norm)
        # Few heavy rows have no more degrees of freedom than as few rows.
        return error, min(df, max(norm[1] - 1, 1.0)) if kind == "sampling" else df

    def _variance_ratio(self, plan: FeaturePlan, local: BatchStats, mean: float) -> float:
        """Return the ratio of the rows' variance counted by weights to that counted by squared weights."""
        w = self._weights
        size = float(w.sum()), float(dot(w, w))
        by_root = self._block_variation(plan, local, " by root", mean, np.sqrt(w)) / size[0]
        by_weight = self._block_variation(plan, local, "", mean, w) / size[1]
        return by_root / by_weight if by_weight > 0 and by_root > 0 else 1.0

    def _block_variation(
        self, plan: FeaturePlan, local: BatchStats, kind: str, mean: float, weight: Floats
    ) -> float:
        """Return the sum of squared deviations of the blocks' sums from their mean, averaged over the cycles."""
        parts = self._deviations(plan, local, mean, weight, kind)
        return float(np.mean([float(((part - part.mean()) ** 2).sum()) for part in parts]))


# --- conditional ----------------------------------------------------------------------------------


LEAST_ROWS = 7
"""Minimum number of rows for a standard error."""


def conditional_variant(
    base: PFI, quantity: Quantity, dataset: Dataset, seed: int
) -> ConditionalPFI:
    """Return the variant for subgroups; raise for a quantity that does not depend on the label."""
    if all(q.labelled for q in outputs_of(quantity)):
        return ConditionalPFI(base, dataset, seed)
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
        self, evaluator: BatchEvaluator, plan: FeaturePlan, increases: Floats, donors: Ints
    ) -> dict[str, Floats]:
        """Return sums by blocks of recipients and of donors, and the weights of the donors' recipients."""
        return {
            **super()._sums(evaluator, plan, increases, donors),
            "donors": self._by_donor(plan, increases, donors),
            "donor weights": self._lent(evaluator, plan, donors),
        }

    def _error(
        self, plan: FeaturePlan, stats: BatchStats, mean: float, kind: WeightKind
    ) -> tuple[float, float]:
        """Return the error from blocks, as recipients and as donors, and its degrees of freedom."""
        if len(self.dataset) < LEAST_ROWS:
            return np.nan, np.nan
        errors: list[float] = []
        df = np.nan
        parts = self._deviations(plan, stats, mean, self._weights)
        for cycle, part in zip(plan.drawn.cycles, parts, strict=True):  # each has its own blocks
            error, df = sum_error(part[: cycle.blocks], self.weight)
            errors.append(error)
        # Blocks are independent parts of the rows; frequency weights stand for more rows.
        norm = self._norm(kind)
        return float(np.sqrt(np.mean(np.square(errors)) * norm[1] / norm[0])), df
