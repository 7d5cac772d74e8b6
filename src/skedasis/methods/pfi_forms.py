"""PFI on given rows: plan, local, read. By permutations, by all pairs of rows, or of a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json
from skedasis.data.containers import Borrowed
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.methods.base import Local, chosen
from skedasis.methods.bound import Bound
from skedasis.methods.deal import Deal, deal, uneven
from skedasis.methods.form import Form
from skedasis.methods.pfi import PFI
from skedasis.models.adapters import Traits
from skedasis.quantities.base import Quantity
from skedasis.results.importance import Importance, LocalImportance
from skedasis.stats.moments import Totals, WeightKind
from skedasis.stats.resampling import permutation_error

CALL = 20_000
"""Rows of one call: twice as many would save a cheap model a tenth of its time, and take nearly twice the memory."""


def form_of(base: PFI, quantity: Quantity, source: Source, seed: int) -> Any:
    """Return the form that was asked for."""
    if base.exact:
        from skedasis.methods.pfi_exact import exact_form

        return exact_form(base, source, seed)
    if base.metric is not None:
        from skedasis.methods.pfi_metric import metric_form

        return metric_form(base, quantity, source, seed)
    if base.conditional:
        from skedasis.methods.pfi_conditional import conditional_form

        return conditional_form(base, quantity, source, seed)
    if uneven(source.weights):
        from skedasis.methods.pfi_weighted import WeightedPFI

        return WeightedPFI(base, source, seed)
    return RowPFI(base, source, seed)


@dataclass(frozen=True, eq=False)
class Lent:
    """A plan: the columns that move, and who lends to whom.

    Parameters
    ----------
    feature : Feature
    deal : Deal, optional
        None where every row lends to every other.
    notes : dict
        For the provenance.
    """

    feature: Feature
    deal: Deal | None
    notes: Json

    @property
    def circles(self) -> Deal:
        """Return the deal of a plan that has one."""
        return Deal(()) if self.deal is None else self.deal


@dataclass(frozen=True)
class OnRows(Form):
    """What the forms share: rows, their weights, and a seed.

    Parameters
    ----------
    source : Source
    seed : int
    """

    source: Source
    seed: int

    compares_missing = False
    leaves_out_missing = False
    reads_columns = False

    def given(self, source: Source, groups: Any, seed: int) -> tuple[Source, Any]:
        """Return what was given: it has been settled."""
        return source, groups

    def on(self, quantity: Quantity, source: Source, seed: int) -> Any:
        """Return itself."""
        return self

    def check(self, features: Sequence[Feature]) -> None:
        """Accept: there is no parameter that names features, but groups, which have been read."""

    def for_feature(self, feature: Feature) -> Any:
        """Return itself: features of all kinds are lent alike."""
        return self

    def for_pair(self, features: tuple[Feature, Feature]) -> Any:
        """Refuse."""
        return self.base.for_pair(features)

    def together(self, found: Any, record: Json) -> Importance:
        """Return one result of all features."""
        return together(found, record, sampled=self.source.sampled)

    def plan(self, column: Feature, traits: Traits) -> Lent:
        """Say what moves, and from where."""
        return Lent(column, self.deal, {})

    @cached_property
    def deal(self) -> Deal | None:
        """Return who lends to whom, for all features."""
        rows = self.source
        return deal(len(rows), rows.sorted, self.base.repeats, self.seed, rows.weights)

    @property
    def weight(self) -> float:
        """Return the weight of all rows."""
        w = self.source.weights
        return float(len(self.source)) if w is None else float(w.sum())

    @property
    def batch_rows(self) -> int | None:
        """Return how many rows a batch has at most."""
        return max(250, CALL // self.base.repeats)

    def sets(self, plans: Sequence[Any]) -> int:
        """Return how many values a row gets in one call: all repeats."""
        return self.base.repeats

    def rows_wanted(self, rows: int) -> int:
        """Return how many single rows are to be kept."""
        return rows if self.base.local == "all" else min(self.base.local, rows)

    def row_bytes(self, plan: Lent) -> int:
        """Return what a kept row costs: its values in all repeats, and what it is."""
        return 8 * (self.base.repeats + 3)

    def _rows(self, places: Ints) -> Ints:
        """Return the rows of X at these places."""
        ids = self.source.row_id
        return places if ids is None else ids[places]

    def _lenders(self, bound: Bound, plan: Lent) -> tuple[Ints, Borrowed]:
        """Return the lenders' places, (repeats, n), and rows of X; once for all features that share them."""
        known = bound.shared.get("lenders")
        if known is None or known[0] is not plan.deal:
            places = plan.circles.lenders(bound.places)
            known = plan.deal, places, Borrowed(self._rows(places))
            bound.shared["lenders"] = known
        return known[1], known[2]

    def _after(self, bound: Bound, plan: Lent, borrowed: Borrowed) -> Floats:
        """Return the quantity with borrowed values, (repeats, n)."""
        changes = dict.fromkeys(plan.feature.columns, borrowed)
        return bound.sweep_together(changes, len(borrowed.rows)).T

    def _kept(self, bound: Bound, after: Floats, keep: Bools | None) -> dict[str, Any]:
        own, row, weight = bound.at(), bound.row_id, bound.weights
        return chosen({"after": after.T, "own": own, "row": row, "weight": weight}, keep)

    def _result(
        self,
        plan: Lent,
        local: Local,
        about: Any,
        values: Floats,
        error: tuple[float, float],
        *,
        exact: bool,
    ) -> Importance:
        """Put a result of one feature together."""
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
            len(self.source),
            about.quantity,
            about.unit,
            about.library,
            self.name,
            kept,
            plan.notes,
        )


@dataclass(frozen=True)
class RowPFI(OnRows):
    """Means over rows, with values that permutations bring."""

    @cached_property
    def sizes(self) -> list[float]:
        """Return of each circle the sum of squared weights of the rows in its blocks."""
        if self.deal is None:
            return []
        w, n = self.source.weights, len(self.source)
        squares = n if w is None else float(w @ w)
        # Where some rows are in no block, all weigh the same.
        return [squares * c.inside / n for c in self.deal.circles]

    def local(self, bound: Bound, plan: Lent, keep: Bools | None) -> Local:
        """Call the model with borrowed values, and sum the rises by blocks of receivers."""
        lenders, borrowed = self._lenders(bound, plan)
        after = self._after(bound, plan, borrowed)
        own, w = bound.at(), bound.weights
        rises = after - own
        others = plan.circles.circles[0].others(bound.places)
        rises *= others if w is None else others * w
        sums = self._sums(bound, plan, rises, lenders)
        sums["own"] = Totals(np.array([own.sum() if w is None else own @ w]))
        return Local(sums, self._kept(bound, after, keep))

    def _sums(self, bound: Bound, plan: Lent, rises: Floats, lenders: Ints) -> dict[str, Any]:
        """Return the weighted rises, (repeats, n), summed by blocks."""
        return {"rises": self._by_receiver(bound, plan, rises)}

    def _by_receiver(self, bound: Bound, plan: Lent, rises: Floats) -> Totals:
        """Return (repeats, n) numbers summed by the blocks of the rows that borrow, (repeats, blocks + 1)."""
        parts, size = [], plan.circles.blocks + 1
        blocks = self._blocks(bound, plan)
        for (some, _), block in zip(plan.circles.turns, blocks, strict=True):
            parts += [np.bincount(block, rise, size) for rise in rises[some]]
        return Totals(np.array(parts))

    def _by_lender(self, plan: Lent, rises: Floats, lenders: Ints) -> Totals:
        """Return the same by the blocks of the rows that are borrowed from."""
        parts, size = [], plan.circles.blocks + 1
        for some, circle in plan.circles.turns:
            pairs = zip(lenders[some], rises[some], strict=True)
            parts += [np.bincount(circle.block(lender), rise, size) for lender, rise in pairs]
        return Totals(np.array(parts))

    def _blocks(self, bound: Bound, plan: Lent) -> list[Ints]:
        known = bound.shared.get("blocks")
        if known is None or known[0] is not plan.deal:
            known = plan.deal, [c.block(bound.places) for c in plan.circles.circles]
            bound.shared["blocks"] = known
        return known[1]

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average, and say how sure that is."""
        sums = local.moments["rises"].sums
        values = sums.sum(axis=1) / self.weight
        norm = self._norm(kind)
        error, freedom = permutation_error(self._parts(plan, sums), norm)
        return self._result(plan, local, about, values, (error, freedom), exact=exact)

    def _parts(self, plan: Lent, sums: Floats) -> list[tuple[Floats, Floats, float]]:
        """Return for each circle its blocks' sums, its steps, and the size of its rows."""
        turns = zip(plan.circles.turns, self.sizes, strict=True)
        return [(sums[some, : c.blocks], c.steps, size) for (some, c), size in turns]

    def _norm(self, kind: WeightKind) -> tuple[float, float]:
        """Return what the variances of rows, and of draws, are divided by to be those of a mean."""
        w = self.source.weights
        effective = len(self.source) if w is None else w.sum() ** 2 / (w @ w)
        return (self.weight if kind == "frequency" else float(effective)), float(effective)


def together(found: Mapping[str, Importance], record: Json, *, sampled: bool) -> Importance:
    """Return one importance of all features.

    Parameters
    ----------
    found : mapping of str to Importance
        Each of one feature.
    record : dict
        How they were made.
    sampled : bool
        Whether the rows are a sample of those that were given.
    """
    parts = list(found.values())
    first = parts[0]
    local = None
    if first.local is not None:
        kept = [p.local for p in parts if p.local is not None]
        local = LocalImportance(
            tuple(found),
            first.local.row,
            first.local.own,
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
        freedom=np.concatenate([p.freedom for p in parts]),
        local=local,
        provenance={**record, **notes},
    )
