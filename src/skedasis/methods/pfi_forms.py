"""PFI on given rows: plan, local, read. By permutations, by all pairs of rows, or of a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skedasis.data.changes import Borrowed
from skedasis.data.schema import Feature
from skedasis.data.source import Source
from skedasis.errors import UnsupportedError, explained
from skedasis.methods.base import Bound, Local, chosen
from skedasis.methods.deal import Deal, deal
from skedasis.methods.form import Form
from skedasis.methods.pfi import PFI
from skedasis.methods.subgroups import subgroups
from skedasis.moments import Totals, WeightKind
from skedasis.quantity.base import Quantity, Traits
from skedasis.resample import parts_error, permutation_error
from skedasis.results.importance import Importance, LocalImportance
from skedasis.typing import Bools, Floats, Ints, Json

CALL = 20_000
"""Rows of one call: beyond it calls get no cheaper for any model, and their arrays no longer stay close at hand."""
LEAST_ROWS = 7
"""Fewer rows have no standard error."""
NOTHING = (np.nan, np.nan)


def form_of(base: PFI, quantity: Quantity, source: Source, seed: int) -> Any:
    """Return the form that was asked for."""
    if base.exact:
        from skedasis.methods.pfi_exact import exact_form

        return exact_form(base, source, seed)
    if base.metric is not None:
        from skedasis.methods.pfi_metric import metric_form

        return metric_form(base, quantity, source, seed)
    if base.conditional:
        _check_conditional(quantity)
        return ConditionalPFI(base, source, seed)
    return RowPFI(base, source, seed)


def _check_conditional(quantity: Quantity) -> None:
    parts = getattr(quantity, "parts", None) or {None: quantity}
    if all(q.labelled for q in parts.values()):
        return
    raise UnsupportedError(
        explained(
            f"PFI(conditional=True) of {quantity.describe()}",
            "a quantity that does not know the label",
            "a loss, or a negative log-likelihood",
            "Leave conditional out: drawn from its conditional distribution a feature leaves the joint "
            "distribution as it is, so such an importance is zero by construction (entropy_importance, Proposition 3)",
        )
    )


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
        blocks = self._blocks(bound, plan)
        parts, size, first = [], plan.circles.blocks + 1, 0
        for circle, block in zip(plan.circles.circles, blocks, strict=True):
            last = first + len(circle.steps)
            parts += [np.bincount(block, rise, size) for rise in rises[first:last]]
            first = last
        return {"rises": Totals(np.array(parts))}

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
        if kind == "sampling":  # few heavy rows say no more than as few rows would
            freedom = min(freedom, max(norm[1] - 1, 1.0))
        return self._result(plan, local, about, values, (error, freedom), exact=exact)

    def _parts(self, plan: Lent, sums: Floats) -> list[tuple[Floats, Floats, float]]:
        """Return for each circle its blocks' sums, its steps, and the size of its rows."""
        parts: list[tuple[Floats, Floats, float]] = []
        first = 0
        for circle, size in zip(plan.circles.circles, self.sizes, strict=True):
            last = first + len(circle.steps)
            parts.append((sums[first:last, : circle.blocks], circle.steps, size))
            first = last
        return parts

    def _norm(self, kind: WeightKind) -> tuple[float, float]:
        """Return what the variances of rows, and of draws, are divided by to be those of a mean."""
        w = self.source.weights
        effective = len(self.source) if w is None else w.sum() ** 2 / (w @ w)
        return (self.weight if kind == "frequency" else float(effective)), float(effective)


@dataclass(frozen=True)
class ConditionalPFI(RowPFI):
    """Values borrowed within subgroups of rows that are alike in the other features (Molnar et al. 2023)."""

    def plan(self, column: Feature, traits: Traits) -> Lent:
        """Find the subgroups."""
        found = subgroups(self.source, column, self.base.subgroup_rows, self.seed)
        rows, w = self.source, self.source.weights
        dealt = deal(len(rows), rows.sorted, self.base.repeats, self.seed, w, found)
        return Lent(column, dealt, {"subgroups": {column.name: int(found.max()) + 1}})

    def _sums(self, bound: Bound, plan: Lent, rises: Floats, lenders: Ints) -> dict[str, Any]:
        """Sum by blocks of lenders, too."""
        found = super()._sums(bound, plan, rises, lenders)
        parts, size, first = [], plan.circles.blocks + 1, 0
        for circle in plan.circles.circles:
            last = first + len(circle.steps)
            pairs = zip(lenders[first:last], rises[first:last], strict=True)
            parts += [np.bincount(circle.block(lender), rise, size) for lender, rise in pairs]
            first = last
        return {**found, "lent": Totals(np.array(parts))}

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average; the error takes what a row lends and what it receives for its part."""
        received, lent = (local.moments[k].sums for k in ("rises", "lent"))
        values = received.sum(axis=1) / self.weight
        everyone, w = np.arange(len(self.source)), self.source.weights
        spread, first = [], 0
        for circle in plan.circles.circles:  # each has blocks of its own
            last = first + len(circle.steps)
            weight = np.bincount(circle.block(everyone), w, received.shape[1])
            part = (received[first:last] + lent[first:last]).mean(axis=0)
            spread.append(parts_error(part - 2 * values.mean() * weight, self.weight)[0])
            first = last
        # Parts are independent rows: weights that are frequencies stand for more of them.
        norm = self._norm(kind)
        error = float(np.sqrt(np.mean(np.square(spread)) * norm[1] / norm[0]))
        enough = len(self.source) >= LEAST_ROWS
        freedom = float(min(received.shape[1], len(self.source)) - 1)
        return self._result(
            plan, local, about, values, (error, freedom) if enough else NOTHING, exact=exact
        )


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
