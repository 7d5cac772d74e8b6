"""PFI of data that are read in chunks: donors are a sample of the rows, which every chunk has at hand.

A permutation moves values between any two rows, which data beyond memory do not allow. Here the donors are the rows
with the smallest hashes, at most `PFI.donor_rows`, and each row draws one of them in each repeat, by a hash of its own
identifier. So the draws are the same for any files, chunks and threads, and their mean is unbiased for the mean over
all ordered pairs of rows. The error counts the donors as the sample that they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from skedasis._types import Bools, Floats, Ints, Values
from skedasis.data.containers import DonorRows
from skedasis.errors import UnsupportedError
from skedasis.methods.permutation_plan import PermutationPlan
from skedasis.methods.permutation_variants import FeaturePlan, RowBasedVariant
from skedasis.methods.plans import BatchStats
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.importance import Importance
from skedasis.stats.moments import WeightKind, dot
from skedasis.stats.random import row_hashes, uniform_from_hash
from skedasis.stats.resampling import sum_error

if TYPE_CHECKING:
    from skedasis.data.dataset import Dataset
    from skedasis.data.features import Feature
    from skedasis.methods.permutation import PFI
    from skedasis.results.effect import About

BLOCKS = 400
"""Blocks of rows whose sums give the error. A row is in the same block as recipient and as donor."""


@dataclass(frozen=True, eq=False)
class SampledDonors:
    """The donors of data that are read in chunks: the first rows of each chunk's table.

    `block`, (size,), is that of each donor, and `order`, (size,), are the donors by their hashes, so that draws do not
    depend on the order of the rows. `reached`, (size,), is the sum of the weights up to each donor in this order; None
    if they are equal. `concentration` is the sum of squared weights, relative to that of as many equal weights with
    the same sum.
    """

    size: int
    block: Ints
    order: Ints
    reached: Floats | None
    concentration: float

    @classmethod
    def of(cls, rows: Dataset, seed: int) -> SampledDonors:
        """Return the donors from the drawn rows in memory, in their order."""
        n, w = len(rows), rows.weights
        block = blocks_of(rows.identifiers, seed)
        order = np.argsort(row_hashes(rows.identifiers, seed, "PFI: order"), kind="stable")
        if w is None:
            return cls(n, block, order, None, 1.0)
        concentration = float(dot(w, w)) * n / float(w.sum()) ** 2
        return cls(n, block, order, np.cumsum(w[order]), concentration)

    def drawn(self, identifiers: Values, seed: int, repeats: int) -> Ints:
        """Return the donor of each row in each repeat, (repeats, n), with probabilities by the donors' weights."""
        out = np.empty((repeats, len(identifiers)), dtype=np.int64)
        for repeat in range(repeats):
            u = uniform_from_hash(row_hashes(identifiers, seed, f"PFI: donors {repeat}"))
            if self.reached is None:
                out[repeat] = u * self.size
            else:
                out[repeat] = np.searchsorted(self.reached, u * self.reached[-1], side="right")
        return self.order[np.minimum(out, self.size - 1)]


@dataclass(frozen=True, eq=False)
class _BatchDraws:
    """The donors of a batch's rows, (repeats, n), and the blocks of the rows, (n,); shared by features."""

    rows: DonorRows
    blocks: Ints


@dataclass(frozen=True)
class SampledPFI(RowBasedVariant):
    """PFI with donors from a sample of the rows."""

    donors: SampledDonors = field(kw_only=True)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the data set, which workers do not need."""
        return {**vars(self), "dataset": None}

    @property
    def weight(self) -> float:
        return self.dataset.total_weight

    def plan(self, column: Feature, derivative_info: DerivativeInfo) -> FeaturePlan:
        notes = {"exact": False, "donors": self.donors.size}
        return FeaturePlan(
            column, PermutationPlan(()), notes if self.donors.size < len(self.dataset) else {}
        )

    def compute(
        self, evaluator: BatchEvaluator, plan: FeaturePlan, keep: Bools | None
    ) -> BatchStats:
        """Call the model with the donors' values, and sum the increases by blocks of recipients and of donors."""
        draws = evaluator.shared.get("sampled donors")
        if not isinstance(draws, _BatchDraws):
            ids = evaluator.identifiers
            drawn = self.donors.drawn(ids, self.seed, self.base.n_repeats)
            draws = _BatchDraws(DonorRows(drawn), blocks_of(ids, self.seed))
            evaluator.shared["sampled donors"] = draws
        after = self._after(evaluator, plan, draws.rows)
        own, w = evaluator.values(), evaluator.weights
        increases = after - own
        if w is not None:
            increases *= w
        repeats, n = increases.shape
        donor_block = self.donors.block[draws.rows.rows].reshape(-1)
        each = np.ones(n) if w is None else w
        totals = {
            "recipients": np.array([_by_block(draws.blocks, d) for d in increases]),
            "recipient weights": _by_block(draws.blocks, each) * repeats,
            "donors": _by_block(donor_block, increases.reshape(-1)),
            "donor weights": _by_block(donor_block, np.tile(each, repeats)),
            "own": np.array([own.sum() if w is None else dot(own, w)]),
            "squared weights": np.array([dot(each, each)]),
        }
        return self._batch_stats(evaluator, totals, after, keep)

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average the increases, and compute the error from blocks of rows, as recipients and as donors."""
        sums = stats.totals
        values = sums["recipients"].sum(axis=1) / self.weight
        mean, repeats = float(values.mean()), len(values)
        recipients = sums["recipients"].sum(axis=0) - mean * sums["recipient weights"]
        donors = sums["donors"] - mean * sums["donor weights"]
        if kind == "frequency":
            # A weight of w stands for w rows, each with a variance of its own, not for one row that counts w times.
            # Donors are drawn as rows, and are only as many as they are unless they are all rows.
            squared = float(sums["squared weights"][0])
            recipients *= np.sqrt(self.weight / max(squared, 1e-300))
            drawn = self.donors.size / len(self.dataset)
            mean_weight = self.weight / len(self.dataset)
            fraction = 1 / (self.donors.concentration * mean_weight)
            donors *= np.sqrt(1 - drawn + drawn * fraction)
        error = sum_error((recipients + donors) / repeats, self.weight)
        return self._result(plan, stats, about, values, error, exact=exact)


def blocks_of(identifiers: Values, seed: int) -> Ints:
    """Return the block of each row, by its hash."""
    return (row_hashes(identifiers, seed, "PFI: blocks") % np.uint64(BLOCKS)).astype(np.int64)


def _by_block(block: Ints, values: Floats) -> Floats:
    """Return the sums of values by block, (BLOCKS,)."""
    return np.bincount(block, values, BLOCKS).astype(float, copy=False)


def sampled_variant(base: PFI, dataset: Dataset, donors: Dataset, seed: int) -> SampledPFI:
    """Return the variant for data that are read in chunks."""
    reasons = {
        "exact=True": (base.exact, "all pairs of rows"),
        "conditional=True": (base.conditional, "subgroups of all rows"),
        "metric": (base.metric is not None, "the values of all rows at the same time"),
    }
    for argument, (wanted, needed) in reasons.items():
        if wanted:
            raise UnsupportedError(
                f"PFI({argument}) of data that are read in chunks",
                f"work that needs {needed}",
                "a sample of the rows",
                "Draw one, such as max_samples=100_000",
            )
    return SampledPFI(base, dataset, seed, donors=SampledDonors.of(donors, seed))
