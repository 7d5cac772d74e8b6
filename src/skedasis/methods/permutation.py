"""PFI: by permutations, by all pairs of rows, weighted, and conditional.

How much does a quantity rise, on average over the rows, when a feature's values come from other rows? On a loss that is
the classical importance, on the negative log-likelihood Likelihood-PFI (Eq. 5), on an entropy Entropy-PFI (sec. 3.2).
Rows are moved to places where no data lies if features depend on each other: for an entropy that is what is measured.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json
from skedasis.data.containers import Borrowed
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, explained
from skedasis.methods.base import Bound, Form, Local, Parameters, chosen, plain
from skedasis.methods.permutation_plan import Deal, deal, subgroups, uneven
from skedasis.models.adapters import Traits
from skedasis.quantities.base import Quantity
from skedasis.results.importance import Importance, LocalImportance
from skedasis.stats.moments import Totals, WeightKind
from skedasis.stats.resampling import influence_error, parts_error, permutation_error

# ------------------------------------------------------------------------------------------
# PFI: permutation feature importance (Breiman 2001; entropy_importance Eq. 1, 5 and 6).


_SAMPLE = 4099
"""Keeps the sample of rows apart from other draws with the same seed."""


@dataclass(frozen=True)
class PFI(Parameters):
    """Permutation importance: the mean rise of the quantity when a feature's values come from other rows.

    It estimates E q(X'_s, X_c, Y) - E q(X_s, X_c, Y), where X'_s is distributed as X_s and independent of the rest
    (entropy_importance Eq. 2), by all ordered pairs of rows, i = j included: in expectation (1 - 1/N) of it.

    Parameters
    ----------
    repeats : int
        How many permutations.
    groups : mapping of str to list of columns, optional
        Columns that move together, under a name of their own, as in `skedasis.explain`.
    max_samples : int or float, optional
        Take so many of the rows only, or such a part of them: a seeded sample without replacement. Rows keep their
        weights, and the provenance says so.
    local : int or "all"
        How many single rows to keep with the result: a seeded sample.
    metric : callable or str, optional
        What is compared where it is no mean over rows: ``metric(y, values) -> float`` of the labels and the quantity,
        given ``sample_weight=`` besides where there are weights; or the name of a metric of scikit-learn: "roc_auc",
        "average_precision", "r2", "explained_variance", "max_error", "median_absolute_error". Importance is how much it
        gets worse. All rows are kept in memory.
    greater_is_better : bool
        Whether a `metric` of one's own is better the larger it is.
    conditional : bool
        Permute within subgroups of rows that are alike in the other features: the leaves of a decision tree that
        predicts the feature from them. Only of quantities that know the label.
    subgroup_rows : int
        How many rows such a subgroup has at least.
    exact : bool
        No draws: the mean over all ordered pairs of rows, each row with itself included, which is what random
        permutations estimate. For a small X.

    Raises
    ------
    DataError
        For less than one repeat, groups that overlap, a metric without y, and settings that exclude each other.
    UnsupportedError
        For a pair of features, and for ``conditional=True`` on an entropy, variance or prediction: their conditional
        importance is zero by construction (entropy_importance, Proposition 3).

    Notes
    -----
    N (1 + R D) model rows for R repeats of D features, all repeats of a feature in one call of a batch; N (1 + N D)
    with ``exact=True``. Never clipped at zero: a feature that does not matter has an importance around zero, and
    exactly zero where the model does not use it (Proposition 2).

    All features share the permutations (but with ``conditional=True``, where each has subgroups of its own), which are
    drawn before the first batch for the rows' keys (`row_id`): the result does not depend on batches, threads, or the
    order of columns (but where two columns split a subgroup equally well). No row borrows from itself; that it would,
    once in N times, is a factor 1 - 1/N of the mean, which a `metric` does not have.
    Weighted rows lend in proportion to their weights; a row borrows from one other in each repeat, whatever its weight,
    so that draws add more to the error than if rows were repeated.

    `std_error` and the analytic interval include that the rows are a sample: the Hájek projection of the mean over
    pairs, from sums over blocks of rows (`skedasis.stats.resampling.pair_variance`), plus what the draws add. Below
    some 50 rows they are too narrow (0.8 to 0.9 instead of 0.95 at 10 rows). With ``conditional=True`` the error
    is that of independent draws of donors and recipients, which is rather too large; with a `metric` it comes from the
    jackknife over ten parts of the rows, which calls the metric twenty times as often as the values do.

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

    repeats: int = 10
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
        _whole("repeats", self.repeats, 1, 10)
        _whole("subgroup_rows", self.subgroup_rows, 2, 30)
        if self.local != "all":
            _whole("local", self.local, 0, 1000)
        _share(self.max_samples)
        for name in ("exact", "conditional", "greater_is_better"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                got = repr(getattr(self, name))[:60]
                raise DataError(explained(f"PFI({name})", got, "True or False", "Use one of them"))
        chosen = {
            "exact": self.exact,
            "conditional": self.conditional,
            "metric": self.metric is not None,
        }
        if sum(chosen.values()) > 1:
            names = " and ".join(k for k, v in chosen.items() if v)
            raise DataError(explained("PFI", names, "one of them", "Leave the others out"))
        if not (self.metric is None or isinstance(self.metric, str) or callable(self.metric)):
            raise DataError(
                explained(
                    "PFI(metric)",
                    f"a {type(self.metric).__name__}",
                    "a function metric(y, values), or a name",
                    "Use metric='roc_auc'",
                )
            )

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.groups is not None:
            said["groups"] = {k: list(v) for k, v in self.groups.items()}
        if callable(self.metric):
            said["metric"] = getattr(self.metric, "__name__", type(self.metric).__name__)
        return {k: plain(v) for k, v in said.items()}

    def given(self, source: Source, groups: Any, seed: int) -> tuple[Source, Any]:
        """Return the rows that take part, and all groups."""
        if self.groups is not None:
            # What is no mapping is refused where groups are read.
            own = self.groups
            groups = {**(groups or {}), **own} if isinstance(own, Mapping) else own
        wanted = self.max_samples
        if wanted is None:
            return source, groups
        n = len(source)
        size = max(1, round(wanted * n)) if isinstance(wanted, float) else int(wanted)
        if size >= n:
            return source, groups
        drawn = np.random.default_rng([_SAMPLE, seed]).choice(n, size, replace=False)
        return source.only(np.sort(source.order[drawn])), groups

    def heed(self, model: Any, y: Any) -> None:
        """Warn of labels that are given with a bare estimator: its prediction has no use for them."""
        bare = not isinstance(model, Quantity) and hasattr(model, "predict")
        if bare and y is not None and self.metric is None:
            warnings.warn(
                "PFI: y is not used, for it is the prediction whose rise is measured. To see which features the model "
                'needs to be right use sd.loss(model, "squared_error") or sd.nll(model).',
                LeftOutWarning,
                stacklevel=4,
            )

    def on(self, quantity: Quantity, source: Source, seed: int) -> Any:
        """Return the form that knows the rows: who lends to whom.

        Raises
        ------
        UnsupportedError
            For a conditional importance of what does not know the label.
        """
        return form_of(self, quantity, source, seed)

    def for_pair(self, features: tuple[Feature, Feature]) -> Any:
        """Refuse: two features that move together are a group."""
        one, two = (f.name for f in features)
        raise UnsupportedError(
            explained(
                f"PFI of ({one!r}, {two!r})",
                "a pair",
                "single features or groups",
                f'Use sd.PFI(groups={{"both": [{one!r}, {two!r}]}})',
            )
        )


def _whole(what: str, value: Any, least: int, usual: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise DataError(
            explained(
                f"PFI({what})",
                repr(value)[:60],
                f"a whole number from {least}",
                f"Use {what}={usual}",
            )
        )


def _share(value: Any) -> None:
    """Refuse a sample that is neither a number of rows nor a part of them."""
    if value is None:
        return
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1
    part = isinstance(value, (float, np.floating)) and 0 < value <= 1
    if not (whole or part):
        raise DataError(
            explained(
                "PFI(max_samples)",
                repr(value)[:60],
                "a number of rows, or a part of them between 0.0 and 1.0",
                "Use max_samples=10_000",
            )
        )


# ------------------------------------------------------------------------------------------
# PFI on given rows: plan, local, read. By permutations, by all pairs of rows, or of a metric.


CALL = 20_000
"""Rows of one call: twice as many would save a cheap model a tenth of its time, and take nearly twice the memory."""


def form_of(base: PFI, quantity: Quantity, source: Source, seed: int) -> Any:
    """Return the form that was asked for."""
    if base.exact:
        return exact_form(base, source, seed)
    if base.metric is not None:
        from skedasis.methods.permutation_metric import metric_form

        return metric_form(base, quantity, source, seed)
    if base.conditional:
        return conditional_form(base, quantity, source, seed)
    if uneven(source.weights):
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


# ------------------------------------------------------------------------------------------
# PFI by all ordered pairs of rows: nothing is drawn.


_PAIRS = 200_000_000
"""Pairs of rows that are taken on at most."""


def exact_form(base: PFI, source: Source, seed: int) -> ExactPFI:
    """Return the form for all pairs.

    Raises
    ------
    DataError
        For too many rows.
    """
    _check_size(len(source))
    return ExactPFI(base, source, seed)


def _check_size(rows: int) -> None:
    if rows**2 > _PAIRS:
        raise DataError(
            explained(
                "PFI(exact=True)",
                f"{rows:,} rows, which are {rows**2:,} pairs for each feature",
                f"at most {_PAIRS:,} pairs",
                "Use sd.PFI(repeats=30), or max_samples",
            )
        )


@dataclass(frozen=True)
class ExactPFI(OnRows):
    """The mean over all ordered pairs of rows."""

    @cached_property
    def deal(self) -> Deal | None:
        """Return None: every row lends to every other."""
        return None

    @property
    def batch_rows(self) -> int | None:
        """Return how many rows meet all the others at a time."""
        return max(1, CALL // len(self.source))

    def sets(self, plans: Sequence[Any]) -> int:
        """Return how many values a row gets: those of all rows."""
        return len(self.source)

    def row_bytes(self, plan: Lent) -> int:
        """Return what a kept row costs."""
        return 32

    def local(self, bound: Bound, plan: Lent, keep: Bools | None) -> Local:
        """Call the model with everyone's values, and sum the rises by receiver and by lender."""
        n = len(self.source)
        everyone = Borrowed(self._rows(np.arange(n))[:, None])
        rises = self._after(bound, plan, everyone) - bound.at()
        w, all_w = bound.weights, self.source.weights
        mean = rises.mean(axis=0) if all_w is None else all_w @ rises / self.weight
        received = np.zeros(n)
        received[bound.places] = mean
        lent = (rises.sum(axis=1) if w is None else rises @ w) / self.weight
        own = bound.at()
        total = np.array([own.sum() if w is None else own @ w])
        sums = {"received": Totals(received), "lent": Totals(lent), "own": Totals(total)}
        return Local(sums, self._kept(bound, (own + mean)[None], keep))

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average, and say how sure that is."""
        received, lent = local.moments["received"].sums, local.moments["lent"].sums
        w = self.source.weights
        mean = float(received.mean() if w is None else w @ received / self.weight)
        error = influence_error(received + lent - 2 * mean, w, kind)
        return self._result(plan, local, about, np.array([mean]), error, exact=exact)


# ------------------------------------------------------------------------------------------
# PFI of rows that differ in weight: the same means, and an error that knows what the weights are.


@dataclass(frozen=True)
class WeightedPFI(RowPFI):
    """Means over rows of different weights.

    A block's sum counts rows by their squared weights, as samples want it. Of frequencies a row of weight w is w rows,
    which count by w: where heavy rows vary less than light ones, or more, that is another error. Sums in which a row
    that borrows, or lends, has the root of its weight say by how much.
    """

    def _sums(self, bound: Bound, plan: Lent, rises: Floats, lenders: Ints) -> dict[str, Any]:
        """Sum by receivers and by lenders, with the rows' weights and with their roots."""
        found = super()._sums(bound, plan, rises, lenders)
        own, all_roots = bound.weights, np.sqrt(self._weights)
        roots = np.ones(len(bound)) if own is None else np.sqrt(own)
        # `rises` carry the receiver's weight, and so does a lender gather its own from all that borrow from it.
        found["lent"] = self._by_lender(plan, rises, lenders)
        found["rises by root"] = self._by_receiver(bound, plan, rises / roots)
        found["lent by root"] = self._by_lender(plan, rises / all_roots[lenders], lenders)
        return found

    @property
    def _weights(self) -> Floats:
        w = self.source.weights
        return np.ones(len(self.source)) if w is None else w

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average, and say how sure that is."""
        sums = local.moments["rises"].sums
        values = sums.sum(axis=1) / self.weight
        norm = self._norm(kind)
        if kind == "frequency":
            norm = norm[0] / self._repeated(plan, local, float(values.mean())), norm[1]
        error, freedom = permutation_error(self._parts(plan, sums), norm)
        if kind == "sampling":  # few heavy rows say no more than as few rows would
            freedom = min(freedom, max(norm[1] - 1, 1.0))
        return self._result(plan, local, about, values, (error, freedom), exact=exact)

    def _repeated(self, plan: Lent, local: Local, mean: float) -> float:
        """Return the rows' variance, each counted by its weight, beside that of rows counted by squared weights."""
        w = self._weights
        size = float(w.sum()), float(w @ w)
        by_root = self._spread(plan, local, " by root", mean, np.sqrt(w)) / size[0]
        by_weight = self._spread(plan, local, "", mean, w) / size[1]
        return by_root / by_weight if by_weight > 0 and by_root > 0 else 1.0

    def _spread(self, plan: Lent, local: Local, kind: str, mean: float, share: Floats) -> float:
        """Return the squares of what blocks lend and receive beyond the mean, summed, on average over the circles."""
        received: Totals = local.moments[f"rises{kind}"]
        lent: Totals = local.moments[f"lent{kind}"]
        everyone, found = np.arange(len(share)), []
        for some, circle in plan.circles.turns:
            usual = 2 * mean * np.bincount(circle.block(everyone), share, received.sums.shape[1])
            part = (received.sums[some] + lent.sums[some]).mean(axis=0) - usual
            found.append(float(((part - part.mean()) ** 2).sum()))
        return float(np.mean(found))


# ------------------------------------------------------------------------------------------
# Conditional PFI: values borrowed within subgroups of rows that are alike in the other features.


LEAST_ROWS = 7
"""Fewer rows have no standard error."""


def conditional_form(base: PFI, quantity: Quantity, source: Source, seed: int) -> ConditionalPFI:
    """Return the form for subgroups.

    Raises
    ------
    UnsupportedError
        For what does not know the label.
    """
    _check_conditional(quantity)
    return ConditionalPFI(base, source, seed)


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
        return {**found, "lent": self._by_lender(plan, rises, lenders)}

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average; the error takes what a row lends and what it receives for its part."""
        received, lent = (local.moments[k].sums for k in ("rises", "lent"))
        values = received.sum(axis=1) / self.weight
        everyone, w = np.arange(len(self.source)), self.source.weights
        spread: list[float] = []
        for some, circle in plan.circles.turns:  # each has blocks of its own
            weight = np.bincount(circle.block(everyone), w, received.shape[1])
            part = (received[some] + lent[some]).mean(axis=0)
            spread.append(parts_error(part - 2 * values.mean() * weight, self.weight)[0])
        # Parts are independent rows: weights that are frequencies stand for more of them.
        norm = self._norm(kind)
        error = float(np.sqrt(np.mean(np.square(spread)) * norm[1] / norm[0]))
        freedom = float(min(received.shape[1], len(self.source)) - 1)
        if len(self.source) < LEAST_ROWS:
            error, freedom = np.nan, np.nan
        return self._result(plan, local, about, values, (error, freedom), exact=exact)
