"""`drift`: why the mean of a quantity changed between two tables, two models, or both.

Of the old model f at rows P, and the new one g at rows Q, with their average m and their difference d:

    E_Q g − E_P f  =  (E_Q m − E_P m)  +  ½ (E_P d + E_Q d)  =  rows moved + model changed.

Both orders of the two steps, rows first and model first, are averaged. Groups of rows r partition the rows, so that

    rows moved = Σ_r E_Q (m − c) 1_r − E_P (m − c) 1_r,        model changed = Σ_r ½ (E_P + E_Q) d 1_r,

with c the mean of m over both tables. Of a feature j with the effect e_j (ALE of m at the rows of both tables),
E_Q e_j − E_P e_j is what its own effect carries of "rows moved"; "jointly" is the rest. A mean of d has no such parts
without a choice of origins: effects are differences to their mean, which is 0. What each effect of d adds to the
variance is what the change of its curve is measured by.

Errors are those of means over independent rows of each table: every number here is a sum of one mean per table of an
influence, whose error is that of the mean. The influence of a row on E_Q e_j − E_P e_j is the value of the effect at
the row, and what its local effects change of the curve (`skedasis.stats.curve_sums`), or that of its missing value of
the mean effect of a missing value.
"""

# A quantity with several outputs is a `Quantity`: the overloads list the narrower type first.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Unpack, cast, overload

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from skedasis import __version__
from skedasis._types import Bools, Floats, Ints, JsonValue, OutputLabel, TableLike
from skedasis.analysis.row_groups import Estimate, RowGroups, find_row_groups
from skedasis.data.dataset import Dataset, as_dataset
from skedasis.data.features import Feature
from skedasis.data.stacking import stacked
from skedasis.engine.assemble import collect_results, limit_record, provenance
from skedasis.engine.budget import (
    LEAST_ROWS,
    PROBED_ROWS,
    announce,
    fewer_rows,
    keep_to,
    most_model_rows,
    on_a_sample,
)
from skedasis.engine.options import ALPHA, ExplainOptions, TwoTableKeywords, takes_options
from skedasis.engine.prepare import (
    Job,
    TaskKey,
    planned_like,
    prepare_rows,
    resolve_method_and_selection,
)
from skedasis.engine.rounds import compute
from skedasis.engine.rows import ROWS_OF_CHUNKS, draw_rows
from skedasis.engine.run import values_at_rows
from skedasis.engine.select import FeatureTask
from skedasis.errors import DataError
from skedasis.methods.ale import ALE
from skedasis.methods.missing import Donors
from skedasis.methods.mplot import MPlot
from skedasis.methods.plans import CellPlan
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import (
    ModelLike,
    MultiOutputQuantity,
    as_quantity,
    check_one_model,
)
from skedasis.quantities.tree_evaluator import may_be_trees
from skedasis.results.at_rows import coordinates_at_rows
from skedasis.results.drift import (
    CHANGE,
    JOINTLY,
    MODEL,
    ROWS,
    Drift,
    DriftFeature,
    DriftGroup,
    DriftPart,
)
from skedasis.results.effect import AccumulatedEffect, Effect, LevelStepsEffect
from skedasis.results.effects import Effects
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import add_cost, as_provenance, summed_costs
from skedasis.results.regions import rule_text
from skedasis.stats.curve_sums import LocalSteps, Places, step_coefficients
from skedasis.stats.holm import largest_rejected
from skedasis.stats.moments import WeightKind, power_of_two, summed
from skedasis.stats.random import random_half
from skedasis.stats.resampling import influence_error

ROUNDING = 64.0
"""Differences between models of less than this many rounding errors of their values are none."""


@overload
def drift(
    old: MultiOutputQuantity,
    X_old: TableLike,
    new: ModelLike | None = None,
    X_new: TableLike | None = None,
    *,
    y_old: ArrayLike | None = None,
    y_new: ArrayLike | None = None,
    sample_weight_old: ArrayLike | None = None,
    sample_weight_new: ArrayLike | None = None,
    row_id_old: ArrayLike | None = None,
    row_id_new: ArrayLike | None = None,
    **keywords: Unpack[TwoTableKeywords],
) -> MultiOutput[Drift]: ...


@overload
def drift(
    old: ModelLike,
    X_old: TableLike,
    new: ModelLike | None = None,
    X_new: TableLike | None = None,
    *,
    y_old: ArrayLike | None = None,
    y_new: ArrayLike | None = None,
    sample_weight_old: ArrayLike | None = None,
    sample_weight_new: ArrayLike | None = None,
    row_id_old: ArrayLike | None = None,
    row_id_new: ArrayLike | None = None,
    **keywords: Unpack[TwoTableKeywords],
) -> Drift: ...


@takes_options(TwoTableKeywords)
def drift(
    old: ModelLike,
    X_old: TableLike,
    new: ModelLike | None = None,
    X_new: TableLike | None = None,
    *,
    y_old: ArrayLike | None = None,
    y_new: ArrayLike | None = None,
    sample_weight_old: ArrayLike | None = None,
    sample_weight_new: ArrayLike | None = None,
    row_id_old: ArrayLike | None = None,
    row_id_new: ArrayLike | None = None,
    **keywords: Unpack[TwoTableKeywords],
) -> Drift | MultiOutput[Drift]:
    """Return why the mean of a quantity changed: because rows moved, and because the model changed.

    The change from the mean of the old model at the old rows to that of the new model at the new rows is divided into
    two parts, and these by feature and by groups of rows, with an interval for each part and a test.

    Parameters
    ----------
    old : quantity, fitted estimator, network, callable, or path of a model's file
        The old model, or the only one; as in `skedasis.explain`.
    X_old : array, data frame or ParquetData of n rows
        The old rows, or the only ones. Never modified.
    new : quantity, fitted estimator, network, callable, or path of a model's file, optional
        The new model; by default the old one: ``sd.drift(model, X_old, X_new=X_new)``. It gets the columns of `X_old`;
        one that takes others is passed as a function, ``lambda X: new.predict(X[columns])``.
    X_new : array, data frame or ParquetData, optional
        The new rows; by default the old ones: ``sd.drift(old, X, new)``. With the columns of `X_old`, matched by name
        in any order. Numbers may have other types, and there may be other levels.
    y_old, y_new : array of labels, optional
        For quantities that need labels, such as a loss: those of `X_old`, and of `X_new`. Of `sd.parquet` data the
        column is named there.
    sample_weight_old, sample_weight_new : array, optional
        Weights of the rows of `X_old`, and of `X_new`.
    row_id_old, row_id_new : array, optional
        Unique identifiers of the rows of `X_old`, and of `X_new`: the random halves of the rows depend on them, by
        default on the positions. A row may be in both tables.
    sample : int or None
        Number of rows of each table, drawn at random. By default all; of data that are read in chunks at most 100,000.
        All numbers are then of the drawn rows, so that the parts sum to the change; the intervals are as wide as for
        so many rows, and the result says how many they are.
    keep_rows : int or str
        Memory for the local effects of the rows: with less, features are computed one after the other.
    schema, random_state, memory, n_jobs, progress, weight_kind, tree
        As in `skedasis.explain`.
    max_model_rows : int or None
        Largest number of rows at which the models are called, both together: fewer rows of each table are then drawn,
        at least 200. See `explain`.

    Returns
    -------
    Drift
        For quantities with several outputs a `MultiOutput` of these.

    Raises
    ------
    DataError
        For neither a new model nor new rows, tables whose columns differ, quantities that cannot be compared, and as
        `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        For a list of models.

    Notes
    -----
    Let f be the old model at the old rows P and g the new one at the new rows Q, m their average (f + g)/2, and
    d = g − f. Then

    - **change** = E_Q g − E_P f = rows moved + model changed;
    - **rows moved** = E_Q m − E_P m;
    - **model changed** = ½ E_P d + ½ E_Q d.

    This is the average of both orders, rows first or model first. With one model, "model changed" is 0; with one
    table, "rows moved" is 0. Both are exact for these rows; the intervals say how they would differ for other rows of
    the same populations, with the models as they are.

    **By groups of rows.** Groups partition the rows, so that their parts sum to the whole exactly. They are found as
    by `skedasis.weak_spots`: half of the rows chooses the rules, the other half must confirm them. `DriftGroup.total`
    is of all rows; `DriftGroup.value` and its interval are of the rows that did not choose the groups.

    **By feature.** Of "rows moved", a feature carries the mean of its own effect at the new rows less that at the old
    ones: the ALE of m, at the rows of both tables. "jointly" is the rest, of either sign: interactions, and features
    that depend on one another otherwise than before. "model changed" has no such parts: what one feature contributes
    to a *mean* depends on the value at which its effect is said to be 0 (the intercept has the rest), which nothing
    in the data says. Its groups are exact; and for each feature `DriftFeature.curve_change` says how far its effect
    changed, as the standard deviation over the rows of the effect on d.

    **Of a loss,** rows are rows with their labels: "rows moved" contains a change of the labels of rows with the same
    features. It is in "jointly", because an effect is a function of its feature.

    **Tests.** "No change" means one model, and rows of one distribution. Then something is said to have changed in at
    most 5 % of all cases: Holm's correction is over all tests of the result. Of two models, what is
    found is what other rows of the same populations would show, too.

    **Cost.** One model row for each row and model, and 2 more for each row, feature and model, of the rows of both
    tables; the check of each model takes at most 128 more. None for trees that are evaluated from their structure.

    References
    ----------
    Kitagawa (1955), JASA 50, and Oaxaca (1973), Int. Econ. Rev. 14, for the two parts; Jann (2008), Stata Journal 8,
    for the choice of origins; Holm (1979), Scand. J. Stat. 6.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2)) + [0.5, 0.0]
    >>> found = sd.drift(
    ...     lambda X: 2 * X[:, 0] + X[:, 1], before, lambda X: 2 * X[:, 0] + X[:, 1] + 1, after
    ... )
    >>> [(part.part, round(part.value, 1)) for part in found.parts]
    [('change', 2.0), ('rows moved', 1.0), ('model changed', 1.0), ('jointly', 0.0)]
    >>> print(found.verdict[0].partition(": ")[2])
    +1.04 because rows moved and +1.00 because the model changed.
    """
    started = time.perf_counter()
    for model, call in ((old, "sd.drift(m, X_old, X_new=X_new)"), (new, "sd.drift(old, X_old, m)")):
        check_one_model(model, "drift", call)
    second = _is_table(new)
    if second or (new is None and X_new is None):
        raise DataError(
            "drift",
            "a table in the place of the new model" if second else "one model and one table",
            "a second model, a second table, or both",
            "Write sd.drift(model, X_old, X_new=X_new), or sd.drift(old, X, new)",
        )
    options = replace(
        ExplainOptions.of(
            "drift", y=y_old, sample_weight=sample_weight_old, row_id=row_id_old, **keywords
        ),
        heterogeneity_rows=0,
    )
    given = _OfNewTable(y_new, sample_weight_new, row_id_new)
    quantities = [as_quantity(old)]
    if new is not None and new is not old:
        quantities.append(as_quantity(new))
    rows = _rows(X_old, X_new, options, given)
    if rows.dataset.y is None and any(q.labelled for q in quantities):
        fix = "Pass y_old=, and y_new= of a second table"
        raise DataError(quantities[0].describe(), "no labels", "the label of each row", fix)
    drawn = _within_limit(rows, quantities, options)
    if drawn is not None:
        options = replace(options, sample=drawn)
        rows = _rows(X_old, X_new, options, given)
    of_rows = replace(options, y=None, sample_weight=None, row_id=None, sample=None)
    jobs = [prepare_rows(q, q.prepare(rows.dataset), None, ALE(), of_rows) for q in quantities]
    labels = _common_outputs([job.outputs for job in jobs])
    announce(jobs)
    values = [
        values_at_rows(
            *(job.outputs, job.dataset, job.checked, job.stats),
            None if job.is_called else job.batch_rows,
        )
        for job in jobs
    ]
    jobs = [replace(job, own=own) for job, own in zip(jobs, values, strict=True)]
    eps = max(job.checked.eps for job in jobs)
    found = {
        label: _DriftParts.of(rows, [own[label] for own in values], eps, options.seed)
        for label in labels
    }
    records: list[Mapping[str, object]] = []
    for effects, donors in _effects(jobs, records):
        cells = _psi_cells(jobs[0], effects[0])
        for label, parts in found.items():
            for name, effect in effects[0][label].items():
                x = coordinates_at_rows(effect, jobs[0].dataset)
                curves = [
                    _Curve.of(by_label[label][name], x, own.get((label, name)))
                    for by_label, own in zip(effects, donors, strict=True)
                ]
                places = Places.of(x, effect.axis.coordinates)
                parts.add(curves, places, effect.about.feature, cells[name])
    record = _record(rows, jobs, records, options)
    record["seconds"] = time.perf_counter() - started
    results = {
        label: parts.result(jobs[-1].outputs[label], record) for label, parts in found.items()
    }
    return results[None] if set(results) == {None} else MultiOutput(results)


@dataclass(frozen=True, eq=False)
class AtRows:
    """What is known of a model at the rows of a data set: its outputs, their values (n,), and their ALE."""

    dataset: Dataset
    outputs: Mapping[OutputLabel, Quantity]
    values: Mapping[OutputLabel, Floats]
    effects: Mapping[OutputLabel, Effects]
    eps: float


def _is_table(value: object) -> bool:
    return isinstance(value, np.ndarray) or nw.dependencies.is_into_dataframe(value)


def drift_of_effects(models: Sequence[AtRows], seed: int) -> dict[OutputLabel, Drift]:
    """Return the drift from the first to the last model at the same rows, by output, without a model row.

    Raises
    ------
    DataError
        If the outputs or their units differ, or the effects do not keep all rows.
    """
    old, new = models[0], models[-1]
    rows = _Tables(old.dataset, len(old.dataset), one=True)
    labels = _common_outputs([old.outputs, new.outputs])
    found: dict[OutputLabel, Drift] = {}
    for label in labels:
        values = [one.values[label] for one in models]
        parts = _DriftParts.of(rows, values, max(one.eps for one in models), seed)
        for name, effect in old.effects[label].items():
            of_models = effect, new.effects[label][name]
            if any(e.rows is not None and not e.rows.exact for e in of_models):
                fix = "Use a larger keep_rows="
                raise DataError("What changed", "a sample of the rows", "all rows", fix)
            x = coordinates_at_rows(effect, old.dataset)
            curves = [_Curve.of(e, x) for e in of_models]
            places = Places.of(x, effect.axis.coordinates)
            parts.add(curves, places, effect.about.feature, np.zeros(len(x), dtype=np.int64))
        record: dict[str, JsonValue] = {"method": "drift", "rows": len(rows), "random_state": seed}
        found[label] = parts.result(new.outputs[label], record)
    return found


# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _OfNewTable:
    """What the caller gave for the rows of the new table."""

    y: ArrayLike | None
    sample_weight: ArrayLike | None
    row_id: ArrayLike | None


@dataclass(frozen=True)
class _Tested(Estimate):
    """A number with two errors: by the variances of both tables (Welch), and by their common one.

    The larger p-value of both tests counts. Of a small table with a long tail, the first error is small where the mean
    is, so that it finds too much; if only the variances differ, the second one does.
    """

    common: Estimate | None = None

    @property
    def p_value(self) -> float:
        own = super().p_value
        return own if self.common is None else max(own, self.common.p_value)


@dataclass(frozen=True, eq=False)
class _Tables:
    """The rows of both tables in one data set, those of the old table first; or those of the only table."""

    dataset: Dataset
    n_old: int
    one: bool

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Return the rows of each table."""
        if self.one:
            return (slice(0, len(self)),)
        return slice(0, self.n_old), slice(self.n_old, len(self))

    @property
    def old(self) -> slice:
        return self.slices[0]

    @property
    def new(self) -> slice:
        return self.slices[-1]

    @cached_property
    def weights(self) -> Floats:
        """Return the weights of the rows, (n,)."""
        w = self.dataset.weights
        return np.ones(len(self)) if w is None else w

    @cached_property
    def sign(self) -> Floats:
        """Return -1 for the old rows and 1 for the new ones, (n,)."""
        return np.where(np.arange(len(self)) < self.n_old, -1.0, 1.0)

    @cached_property
    def table_weight(self) -> Floats:
        """Return the weight of each row's table, (n,)."""
        found = np.empty(len(self))
        for table in self.slices:
            found[table] = self.weights[table].sum()
        return found

    def mean(self, values: Floats, table: slice, some: Bools | None = None) -> float:
        """Return the weighted mean over a table, or over some of its rows."""
        w = self.weights[table] if some is None else self.weights[table] * some[table]
        return float(w @ values[table] / w.sum())

    @property
    def kind(self) -> WeightKind:
        """Return what the weights mean."""
        return "sampling" if self.dataset.sampling_weights else "frequency"

    def total(self, values: Floats, some: Bools | None = None) -> float:
        """Return the sum over the tables of the means of all, or of some rows."""
        return sum(self.mean(values, table, some) for table in self.slices)

    def estimate(
        self,
        influence: Floats,
        some: Bools | None = None,
        *,
        value: float | None = None,
    ) -> _Tested:
        """Return the sum over the tables of the means of an influence with its error, or a value with this error."""
        value = self.total(influence, some) if value is None else value
        unit, errors = power_of_two(influence), list[tuple[float, float]]()
        for table in self.slices:
            own = slice(None) if some is None else some[table]
            w = None if self.dataset.weights is None else self.weights[table][own]
            errors.append(influence_error(influence[table][own] / unit, w, self.kind))
        squares = np.array([(unit * error) ** 2 for error, _ in errors])
        total = float(squares.sum())
        if not total > 0:
            return _Tested(value, math.sqrt(total), math.nan if math.isnan(total) else math.inf)
        df = np.array([df for _, df in errors])
        spread = float(((squares / total) ** 2 / df).sum())
        # If both tables have the same variance, that of all rows: squares times rows are variances.
        pooled = float((squares * (df + 1) * df).sum() / df.sum() * (1 / (df + 1)).sum())
        common = Estimate(value, math.sqrt(pooled), float(df.sum()))
        return _Tested(value, math.sqrt(total), 1.0 / spread, common)


def _rows(
    X_old: TableLike, X_new: TableLike | None, options: ExplainOptions, given: _OfNewTable
) -> _Tables:
    """Return the rows of both tables, which are checked, as one data set."""
    first = draw_rows(X_old, ROWS_OF_CHUNKS, options)
    old = first.dataset()
    if X_new is None or X_new is X_old:
        for name, value in vars(given).items():
            if value is not None:
                got, fix = f"{name}_new and one table", f"Pass {name}_old=, which is of X_old"
                raise DataError(f"drift({name}_new)", got, f"{name}_new with X_new", fix)
        return _Tables(old, len(old), one=True)
    of_new = replace(options, y=given.y, sample_weight=given.sample_weight, row_id=given.row_id)
    second = draw_rows(X_new, ROWS_OF_CHUNKS, of_new)
    new = second.dataset()
    for name, one, other in (("y", old.y, new.y), ("row_id", old.keys, new.keys)):
        if (one is None) != (other is None):
            which = "X_old" if other is None else "X_new"
            fix = f"Pass both {name}_old= and {name}_new="
            raise DataError(f"drift({name})", f"{name} of {which} only", "of both tables", fix)
    whole = as_dataset(stacked(first.X, second.X), schema=options.schema)
    places = [d.table_rows(np.arange(len(d))) for d in (old, new)]
    rows = np.concatenate([places[0], len(old.table) + places[1]])
    weights = None
    if old.weights is not None or new.weights is not None:
        weights = np.concatenate(
            [np.ones(len(d)) if d.weights is None else d.weights for d in (old, new)]
        )
    labels = None if old.y is None or new.y is None else np.concatenate([old.y, new.y])
    dataset = replace(
        whole,
        row_id=None if len(rows) == len(whole) else rows,
        y=labels,
        weights=weights,
        # Rows with the same identifier are in the same half, whatever their table.
        keys=np.concatenate([old.identifiers, new.identifiers]),
        sampled=old.sampled or new.sampled,
        origin=_origin([old, new]),
        sampling_weights=old.sampling_weights,
    )
    return _Tables(dataset, len(old), one=False)


def _origin(tables: Sequence[Dataset]) -> dict[str, JsonValue]:
    """Return what provenances say of both tables: their sources, and of how many rows they are a sample."""
    sources = [str(d.origin["source"]) for d in tables if "source" in d.origin]
    found: dict[str, JsonValue] = {"source": ", ".join(sources)} if sources else {}
    if any("sample" in d.origin for d in tables):
        of = sum(cast("int", d.origin.get("source_rows", len(d))) for d in tables)
        found |= {"sample": sum(map(len, tables)), "source_rows": of}
    return found


def _common_outputs(models: Sequence[Mapping[OutputLabel, Quantity]]) -> list[OutputLabel]:
    """Return the outputs of the models; raise if they are not the same, or in different units."""
    labels = [list(outputs) for outputs in models]
    if set(labels[0]) != set(labels[-1]):
        got, expected = (
            "one output" if found == [None] else f"the outputs {found}" for found in labels[::-1]
        )
        fix = "Compare one output of each: sd.probability(model, class_=...)"
        raise DataError("drift(new)", got, f"{expected}, as the old model", fix)
    units = [{label: q.unit for label, q in outputs.items()} for outputs in models]
    for label in labels[0]:
        if units[0][label] != units[-1][label]:
            got, expected = (f"the unit {u[label]!r}" for u in units[::-1])
            fix = "Pass quantities of the same unit, such as sd.prediction(model, unit=...)"
            raise DataError("drift(new)", got, f"{expected}, as the old model", fix)
    return labels[0]


def _within_limit(
    rows: _Tables, quantities: Sequence[Quantity], options: ExplainOptions
) -> int | None:
    """Return how many rows of each table are drawn to keep to `max_model_rows`; None for all."""
    limit, most = options.max_model_rows, max(rows.n_old, len(rows) - rows.n_old)
    called = [q for q in quantities if not may_be_trees(q, options.tree)]
    if limit is None or not called:
        return None
    checks = float(PROBED_ROWS * len(called))
    all_rows = sum(
        len(rows) + most_model_rows(q, q.prepare(rows.dataset), None, ALE(), options)
        for q in called
    )

    def drawn(k: int) -> int:
        return sum(min(k, table.stop - table.start) for table in rows.slices)

    def cost(k: int) -> float:
        return checks + (all_rows - checks) * drawn(k) / len(rows)

    k = keep_to(
        limit,
        [most, *fewer_rows(most, LEAST_ROWS)],
        cost,
        lambda k: [on_a_sample(drawn(k), len(rows))],
    )
    return None if k == most else k


# --- effects --------------------------------------------------------------------------------------


def _effects(
    jobs: Sequence[Job], records: list[Mapping[str, object]]
) -> Iterator[tuple[list[dict[OutputLabel, Effects]], list[dict[TaskKey, Donors]]]]:
    """Yield the effects of some features of each model, by output, until all are computed; add what they cost.

    The effects keep the local effects of all rows, and the donors the effects of missing values at the rows, so that
    the features are as few at a time as there is memory for.
    """
    first = jobs[0]
    names = [task.key for task in first.tasks if isinstance(task, FeatureTask)]
    size = 24 * len(first.dataset) * len(first.outputs) * len(jobs)
    step = max(1, first.options.keep_bytes // size)
    options = replace(first.options, keep_rows=2 * size * step)
    for start in range(0, len(names), step):
        some, found = names[start : start + step], list[dict[OutputLabel, Effects]]()
        donors = list[dict[TaskKey, Donors]]()
        for job in jobs:
            method, selection = resolve_method_and_selection(
                ALE(), job.quantity, job.dataset, some, options
            )
            part = planned_like(job, method, selection, options)
            wanted = {
                key: replace(own, at_rows=np.zeros(len(first.dataset)))
                for key, own in part.donors.items()
            }
            done = compute(replace(part, donors=wanted))
            record = provenance(part, done.scores)
            records.append(record)
            by_output: dict[OutputLabel, Effects] = {}
            for label, result in done.results.items():
                explained = collect_results(part, result, record)
                if isinstance(explained, Effects):
                    by_output[label] = explained
            found.append(by_output)
            donors.append(wanted)
        yield found, donors


def _steps(effect: Effect, n: int, x: Floats) -> LocalSteps:
    """Return the local steps of an effect's curve; `x`, (n,), are the coordinates of the rows, NaN for none."""
    kept, row = effect.rows, np.flatnonzero(np.isfinite(x))
    if kept is None or kept.effect is None or len(effect.axis.coordinates) < 2:  # a single value
        none = np.zeros(0, dtype=np.int64)
        return LocalSteps.across_cells(n, none, none, np.zeros(0), 0)
    size = kept.effect
    if isinstance(effect, AccumulatedEffect) and effect.cells is not None and size.ndim == 1:
        cells = effect.cells
        cell = cells.locate(kept.x)
        return LocalSteps.across_cells(n, row, cell, size * cells.widths[cell], len(cells))
    code = np.searchsorted(effect.axis.coordinates, kept.x)
    halves = not isinstance(effect, LevelStepsEffect)
    return LocalSteps.between_values(
        n, row, code, size, len(effect.axis.coordinates), halves=halves
    )


@dataclass(frozen=True, eq=False)
class _Curve:
    """A linear combination of the effects of a feature on the models, with the local steps of the rows."""

    value: Floats
    """At the nodes."""
    missing: float
    """For rows without a value."""
    absent: LocalSteps
    """The effects of a missing value at these rows, which are averaged."""
    steps: LocalSteps

    def combined(self, other: _Curve, own: float, others: float) -> _Curve:
        """Return a linear combination with the effect on another model."""
        return _Curve(
            own * self.value + others * other.value,
            own * self.missing + others * other.missing,
            self.absent.combined(other.absent, own, others),
            self.steps.combined(other.steps, own, others),
        )

    def influence(
        self, of_nodes: Floats, of_missing: float, weights: Floats, kind: WeightKind
    ) -> Floats:
        """Return the influence of the rows on a sum over the nodes and the missing value, per unit of weight.

        The coefficients of the nodes sum to 0.
        """
        own = self.steps.influence(step_coefficients(of_nodes), weights, kind)
        return own + self.absent.influence(np.array([of_missing]), weights, kind)

    @classmethod
    def of(cls, effect: Effect, x: Floats, donors: Donors | None = None) -> _Curve:
        """Return the curve of an effect; `x`, (n,), are the coordinates of the rows, NaN for none."""
        point, row = effect.missing_point, np.flatnonzero(~np.isfinite(x))
        missing, size = 0.0, np.zeros(len(row))
        if point is not None:
            missing = float(np.nan_to_num(point.value))
            if donors is not None and donors.at_rows is not None:
                size = donors.at_rows[row]
        absent = LocalSteps.across_cells(len(x), row, np.zeros(len(row), dtype=np.int64), size, 1)
        return cls(np.nan_to_num(effect.value), missing, absent, _steps(effect, len(x), x))


# --- population stability index --------------------------------------------------------------------


def _psi_cells(job: Job, effects: Mapping[OutputLabel, Effects]) -> dict[str, Ints]:
    """Return the cell of each row on the axis of each feature, -1 without a value: those of an M-plot. No model row."""
    names = list(next(iter(effects.values())))
    method, selection = resolve_method_and_selection(
        MPlot(), job.quantity, job.dataset, names, job.options
    )
    planned = planned_like(job, method, selection, job.options)
    found: dict[str, Ints] = {}
    for (_, name), plan in planned.plans.items():
        effect = next(iter(effects.values()))[str(name)]
        x = coordinates_at_rows(effect, job.dataset)
        known = np.isfinite(x)
        if isinstance(plan, CellPlan):
            cell = plan.cells.locate(x) if len(plan.cells) else np.zeros(len(x), dtype=np.int64)
            found[str(name)] = np.where(known, cell, -1)
        else:
            found[str(name)] = np.where(known, np.nan_to_num(x), -1).astype(np.int64)
    return found


def _psi(rows: _Tables, cell: Ints) -> float:
    """Return the population stability index: 0 for one table.

    Half a row more in each cell keeps it finite where one table has no row.
    """
    if rows.one:
        return 0.0
    cell = cell - min(int(cell.min()), 0)
    cells = int(cell.max()) + 1
    shares: list[Floats] = []
    for table in rows.slices:
        w = rows.weights[table]
        count = summed(cell[table], w, cells) * (
            len(w) / w.sum() if rows.dataset.sampling_weights else 1.0
        )
        shares.append((count + 0.5) / (count.sum() + 0.5 * cells))
    p, q = shares
    return float(((q - p) * np.log(q / p)).sum())


# --- parts ----------------------------------------------------------------------------------------

_NONE = Estimate(0.0, 0.0, math.inf)


@dataclass(eq=False)
class _DriftParts:
    """The parts of one output, to which features are added."""

    rows: _Tables
    old: Floats
    new: Floats
    """The models at all rows, (n,): the same array if they do not differ."""
    noise: float
    """Differences up to this size are rounding errors."""
    seed: int
    features: list[DriftFeature] = field(default_factory=list[DriftFeature])
    influence: Floats = field(init=False)
    """Of what single features carry of "rows moved" together, (n,)."""

    def __post_init__(self) -> None:
        self.influence = np.zeros(len(self.rows))

    @classmethod
    def of(cls, rows: _Tables, values: Sequence[Floats], eps: float, seed: int) -> _DriftParts:
        """Return the parts of an output, given its values at all rows by each model."""
        old, new = values[0], values[-1]
        noise = ROUNDING * eps * max(float(np.abs(v).max()) for v in values)
        return cls(rows, old, new if float(np.abs(new - old).max()) > noise else old, noise, seed)

    @cached_property
    def mean(self) -> Floats:
        """The average of both models at the rows, less its mean over both tables, (n,)."""
        average = self.old if self.new is self.old else (self.old + self.new) / 2
        return average - self.rows.total(average) / len(self.rows.slices)

    @cached_property
    def difference(self) -> Floats:
        """The new model minus the old one at the rows, (n,)."""
        return self.new - self.old

    # -- the change and its parts
    def totals(self) -> dict[str, Estimate]:
        """Return the change, "rows moved", "model changed" and "jointly"."""
        rows, d, moved = self.rows, self.difference, np.zeros(len(self.rows))
        half = 1.0 / len(rows.slices)
        change = model = rows.estimate(half * d)
        shift = _NONE
        if not rows.one:
            moved = rows.sign * self.mean
            shift = rows.estimate(moved)
            # At the old rows the old model, which is the average less half of the difference.
            change = rows.estimate(moved + half * d, value=shift.value + model.value)
        if self.new is self.old:
            model = _NONE
        left = shift.value - math.fsum(f.value for f in self.features)
        jointly = _NONE if rows.one else rows.estimate(moved - self.influence, value=left)
        return {CHANGE: change, ROWS: shift, MODEL: model, JOINTLY: self._beyond_rounding(jointly)}

    def _beyond_rounding(self, of: Estimate) -> Estimate:
        """Return 0 for what is a rounding error in each row."""
        sizes = abs(of.value), of.std_error * math.sqrt(len(self.rows))
        return _NONE if max(sizes) <= self.noise else of

    # -- features
    def add(self, curves: Sequence[_Curve], places: Places, feature: Feature, cell: Ints) -> None:
        """Add a feature, given its curve on each model."""
        rows, w = self.rows, self.rows.weights
        carried, change, p_curve = _NONE, _NONE, math.nan
        known = np.where(places.known, w, 0.0)
        within = places.shares(w) * w.sum() / max(float(known.sum()), 1e-300)
        if not rows.one:
            curve = curves[0] if len(curves) == 1 else curves[0].combined(curves[1], 0.5, 0.5)
            shares = [places.shares(np.where(rows.sign == side, w, 0.0)) for side in (-1.0, 1.0)]
            at = rows.sign * places.at(curve.value, curve.missing)
            of_nodes = shares[1] - shares[0]
            # Without the rows whose value is missing, the centre of the curve does not cancel.
            known = float(of_nodes.sum())
            own = curve.influence(of_nodes - known * within, -known, w, rows.kind)
            own = at + rows.table_weight * own
            carried = self._beyond_rounding(rows.estimate(own, value=rows.total(at)))
            self.influence += own
        if len(curves) == 2 and self.new is not self.old:
            curve = curves[1].combined(curves[0], 1.0, -1.0)
            change, p_curve = self._curve_change(curve, places, within)
        self.features.append(
            DriftFeature(
                feature.name,
                carried.value,
                carried.std_error,
                carried.df,
                *carried.interval(),
                self._p_value(carried),
                False,
                change.value,
                change.std_error,
                p_curve,
                False,
                _psi(rows, cell),
                feature.label,
            )
        )

    def _curve_change(
        self, curve: _Curve, places: Places, within: Floats
    ) -> tuple[Estimate, float]:
        """Return the standard deviation over the rows of the effect on the difference, and the p-value of 0."""
        rows, w = self.rows, self.rows.weights
        centred = curve.value - within @ curve.value
        if float(np.abs(centred).max(initial=0.0)) <= self.noise:
            return _NONE, math.nan
        unit = power_of_two(centred)
        off2 = (places.at(centred) / unit) ** 2
        known = np.where(places.known, w, 0.0)
        square = float(known @ off2 / known.sum())
        part = np.where(places.known, rows.table_weight / known.sum(), 0.0)
        own = curve.influence(2.0 * within * centred / unit, 0.0, w, rows.kind)
        own = own * rows.table_weight / unit
        found = rows.estimate(part * (off2 - square) + own, value=square)
        size = math.sqrt(square)
        change = Estimate(unit * size, unit * found.std_error / (2.0 * size), found.df)
        return change, self._p_of_curve(curve, within, unit)

    def _p_of_curve(self, curve: _Curve, within: Floats, unit: float) -> float:
        """Return the p-value of a curve of 0: one half of the rows chooses a direction, the other half tests it."""
        w, identifiers = self.rows.weights, self.rows.dataset.identifiers
        half = random_half(identifiers, self.seed, "drift: halves")
        chosen = np.append(0.0, np.cumsum(curve.steps.steps(w, half))) / unit
        c = step_coefficients(within * (chosen - within @ chosen))
        from scipy.special import stdtr

        total = float(c @ curve.steps.steps(w, ~half)) / unit
        own = curve.steps.influence(c, w, self.rows.kind, ~half) / unit
        sampling = self.rows.dataset.sampling_weights
        squares = (w * own) ** 2 if sampling else w * own**2
        if not float(np.sqrt(squares.sum())) > ROUNDING * np.finfo(float).eps * abs(total):
            return 0.0 if total > 0 else 1.0
        spread = float((squares**2 / (1.0 if sampling else w)).sum())
        df = max(float(squares.sum()) ** 2 / spread, 2.0)
        return float(stdtr(df, -total / math.sqrt(float(squares.sum()))))

    def _p_value(self, of: Estimate) -> float:
        """Return the two-sided p-value of 0; NaN for what is 0 by definition, or has no error."""
        if math.isnan(of.std_error) or (of.value == 0 and of.std_error == 0):
            return math.nan
        if of.std_error * math.sqrt(len(self.rows)) > self.noise:
            return of.p_value
        return 0.0 if abs(of.value) > self.noise else 1.0

    # -- groups of rows
    def groups(self, part: str) -> tuple[RowGroups | None, float]:
        """Return the groups of a part, None for all rows, and the p-value of their first rule; NaN without a test."""
        rows, dataset = self.rows, self.rows.dataset
        if (part == ROWS and rows.one) or (part == MODEL and self.new is self.old):
            return None, math.nan
        values = self.difference
        ratio = rows.weights.sum() / (len(rows.slices) * rows.table_weight)
        if part == ROWS:  # whose mean over all rows is the part
            values = 2.0 * ratio * rows.sign * self.mean
        elif float(np.ptp(ratio)) > 0:  # both tables count alike
            dataset = replace(dataset, weights=ratio * rows.weights, sampling_weights=True)
        found = find_row_groups(values, dataset, self.seed, purpose=f"drift: {part}")
        first = found.nodes[0].split
        if first is None:
            return None, 1.0
        p = min(1.0, first.p_value * ALPHA / first.level)
        return found, p if part == MODEL else max(p, self._p_of_groups(values, found))

    def _p_of_groups(self, values: Floats, groups: RowGroups) -> float:
        """Return the p-value of the groups that moved rows have: like that of a feature with their means as its effect.

        The means are of the rows that chose the groups, the test is of the others.
        """
        rows = self.rows
        means = np.array([groups.chosen_mean(values, k) for k in range(len(groups))])
        means -= means @ [groups.share(k) for k in range(len(groups))]
        moved = rows.sign * self.mean
        # Of tables far apart, what all rows moved by would make the error as large as the groups' sizes are uncertain.
        moved -= rows.total(moved, ~groups.half) / len(rows.slices)
        tested = rows.estimate(moved * means[groups.group], ~groups.half)
        return tested.p_value / 2.0 if tested.value > 0 else 1.0

    def group_lines(
        self,
        part: Literal["rows moved", "model changed"],
        groups: RowGroups | None,
        whole: Estimate,
    ) -> list[DriftGroup]:
        """Return what each group of rows contributes to a part."""
        every = np.ones(len(self.rows), dtype=bool)
        if groups is None:
            return [self._group(part, rule_text(()), every, whole.value, whole)]
        found: list[DriftGroup] = []
        for k, leaf in enumerate(groups.leaves):
            inside = groups.group == k
            total = self._contribution(part, inside, every).value
            held_out = self._contribution(part, inside, ~groups.half)
            found.append(self._group(part, leaf.rule, inside, total, held_out))
        return found

    def _contribution(self, part: str, inside: Bools, some: Bools) -> Estimate:
        """Return what the rows of a group contribute to a part, from some rows of all."""
        rows, half = self.rows, 1.0 / len(self.rows.slices)
        if part == MODEL:
            return rows.estimate(half * self.difference * inside, some)
        centred = self.mean - half * rows.total(self.mean, some)
        influence = rows.sign * centred * inside
        # The centre is a mean over these rows, too.
        share = rows.total(rows.sign * inside, some)
        value = rows.total(influence, some)
        return rows.estimate(influence - half * share * centred, some, value=value)

    def _group(
        self,
        part: Literal["rows moved", "model changed"],
        rule: str,
        inside: Bools,
        total: float,
        of: Estimate,
    ) -> DriftGroup:
        rows = self.rows
        shares = [rows.mean(inside.astype(float), t) for t in (rows.old, rows.new)]
        means = [
            rows.mean(v, t, inside) if share > 0 else math.nan
            for v, t, share in zip((self.old, self.new), (rows.old, rows.new), shares, strict=True)
        ]
        return DriftGroup(
            part,
            rule,
            total,
            of.value,
            of.std_error,
            of.df,
            *of.interval(),
            shares[0],
            shares[1],
            means[0],
            means[1],
            int(inside[rows.old].sum()),
            int(inside[rows.new].sum()),
        )

    # -- all together
    def result(self, quantity: Quantity, record: Mapping[str, JsonValue]) -> Drift:
        """Return the result, after all features have been added."""
        rows, totals = self.rows, self.totals()
        p_values = {name: self._p_value(of) for name, of in totals.items()}
        groups = {part: self.groups(part) for part in (ROWS, MODEL)}
        tests = {(name, ""): p for name, p in p_values.items()}
        only = MODEL if rows.one else ROWS if self.new is self.old else None
        if only is not None:  # the change is its only part, with the same test
            del tests[CHANGE, ""]
        tests |= {("groups", part): p for part, (_, p) in groups.items()}
        tests |= {("carried", f.feature): f.p_value for f in self.features}
        tests |= {("curve", f.feature): f.curve_p_value for f in self.features}
        below = largest_rejected(np.array(list(tests.values())), ALPHA)
        found = {test: bool(p <= below) for test, p in tests.items()}
        if only is not None:
            found[CHANGE, ""] = found[only, ""]
        parts = {
            name: DriftPart(
                name, of.value, of.std_error, of.df, *of.interval(), p_values[name], found[name, ""]
            )
            for name, of in totals.items()
        }
        lines = [
            line
            for part in (ROWS, MODEL)
            for line in self.group_lines(
                part, groups[part][0] if found["groups", part] else None, totals[part]
            )
        ]
        return Drift(
            rows.mean(self.old, rows.old),
            rows.mean(self.new, rows.new),
            parts[CHANGE],
            parts[ROWS],
            parts[MODEL],
            parts[JOINTLY],
            tuple(
                replace(f, found=found["carried", f.feature], curve_found=found["curve", f.feature])
                for f in self.features
            ),
            tuple(lines),
            rows.n_old,
            len(rows.dataset) if rows.one else len(rows.dataset) - rows.n_old,
            rows.one,
            self.new is self.old,
            quantity.name,
            quantity.unit,
            quantity.labelled,
            rows.dataset.library,
            as_provenance({**record, "quantity": quantity.describe()}),
        )


def _record(
    rows: _Tables,
    jobs: Sequence[Job],
    passes: Sequence[Mapping[str, object]],
    options: ExplainOptions,
) -> dict[str, JsonValue]:
    """Return the provenance, with the cost of all passes and models."""
    cost = summed_costs(passes)
    for job in jobs:
        add_cost(cost, "effect", job.stats)
        add_cost(cost, "check", job.checked.stats)
    return {
        "method": "drift",
        "features": [task.key for task in jobs[0].tasks if isinstance(task, FeatureTask)],
        "unit": jobs[-1].quantity.unit,
        "random_state": options.seed,
        "rows": len(rows.dataset),
        "exact": not rows.dataset.sampled,
        **rows.dataset.origin,
        **({"trees": jobs[-1].trees} if jobs[-1].trees else {}),
        **limit_record(options),
        **cost,
        "versions": {"skedasis": __version__, "numpy": np.__version__},
    }
