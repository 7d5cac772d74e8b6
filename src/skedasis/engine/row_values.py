"""Quantities at every row, for results that need no effect: one model row for each.

`values_and_labels` takes data that are read in chunks, too, and returns the labels; `evaluate_rows` takes rows in
memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skedasis._types import Bools, Floats, JsonValue, OutputLabel, TableLike, TreeMode
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.data.features import Feature
from skedasis.engine.assemble import provenance
from skedasis.engine.budget import announce, announce_rows, rows_within_limit
from skedasis.engine.heterogeneity_score import Scores
from skedasis.engine.options import ExplainOptions, Need
from skedasis.engine.prepare import prepare_job
from skedasis.engine.rows import open_rows
from skedasis.engine.run import run, values_at_rows
from skedasis.engine.select import AnyPlan, FeatureSelection, FeatureTask, Task
from skedasis.errors import DataError
from skedasis.methods.base import FeatureMethod, Parameters, ResolvedMethod
from skedasis.methods.plans import BatchStats, select_rows
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.calling import CallStats
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator, probe_model
from skedasis.quantities.tree_evaluator import Outputs, use_trees_if_exact
from skedasis.results.effect import About, Effect
from skedasis.results.provenance import add_cost
from skedasis.stats.moments import WeightKind
from skedasis.stats.random import random_half

HALVES = "rows and labels: halves"
"""Names the random half of the rows by which the parts of the squared error are corrected."""


# --- with labels ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowValues:
    """The quantity and the label of some rows, (n,)."""

    values: Floats
    labels: Floats
    weights: Floats | None
    half: Bools
    """A random half of the rows, by their hashes."""


@dataclass(frozen=True, eq=False)
class RowValuesByOutput:
    """The values of each output, and how they were computed."""

    outputs: Mapping[OutputLabel, Quantity]
    rows: Mapping[OutputLabel, RowValues]
    dataset: Dataset
    provenance: dict[str, JsonValue]


def values_and_labels(
    quantity: Quantity, X: TableLike, options: ExplainOptions
) -> RowValuesByOutput:
    """Return the quantity, whose labels are on its scale, and the labels at the rows of X.

    Costs one model row for each row, none for trees that are evaluated from their structure. If the rows need more
    memory than `keep_rows`, a random sample of them is used.
    """
    options = rows_within_limit(quantity, X, 1, options)
    dataset, options = open_rows(quantity, X, None, None, options, Need(None, 0, False, False))
    if dataset.y is None:
        fix = "Pass y=; for sd.parquet name the column: sd.parquet(path, y='column')"
        raise DataError("y", "no labels", "one label per row", fix)
    # A fault in the labels is found before the model is called.
    for output in quantity.outputs(dataset).values():
        output.observed_labels(dataset.y)
    job = prepare_job(quantity, EveryRow(options.seed), _Rows(dataset), options)
    announce([job])
    gathered = run(job)
    record = provenance(job, Scores())
    if job.sample is not None:
        record |= {"exact": False}
    found = {label: _values_of(local) for (label, _), local in gathered.items()}
    return RowValuesByOutput(quantity.outputs(job.dataset), found, job.dataset, record)


def _values_of(local: BatchStats) -> RowValues:
    kept = local.kept
    return RowValues(kept["value"], kept["label"], kept.get("weight"), kept["half"] > 0)


@dataclass(frozen=True)
class EveryRow(Parameters, FeatureMethod[AnyColumn, None, Effect]):
    """The method that keeps the quantity and the label of each row, and has no feature."""

    seed: int = 0

    cheaper = "a sample of the rows"
    leaves_out_missing = False

    @property
    def name(self) -> str:
        return "values"

    def for_feature(self, feature: Feature) -> EveryRow:
        return self

    def read_column(self, dataset: Dataset, feature: Feature) -> AnyColumn:
        return feature

    def plan(self, column: AnyColumn, derivative_info: DerivativeInfo) -> None:
        return None

    def row_bytes(self, plan: None) -> int:
        """Return the bytes of a value, a label, a weight and a flag."""
        return 32

    def compute(self, evaluator: BatchEvaluator, plan: None, keep: Bools | None) -> BatchStats:
        labels = evaluator.quantity.observed_labels(evaluator.batch.given_labels())
        kept = {
            "value": evaluator.values(),
            "label": labels,
            "weight": evaluator.weights,
            "half": random_half(evaluator.identifiers, self.seed, HALVES).astype(float),
        }
        return BatchStats({}, select_rows(kept, keep))

    def finalize(
        self, plan: None, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        raise TypeError("rows have no effect: what they keep is read instead")


class _Rows(FeatureSelection):
    """No feature: one task for the rows themselves."""

    def __init__(self, dataset: Dataset) -> None:
        super().__init__(dataset, None)

    def tasks(self, method: ResolvedMethod) -> list[Task]:
        first = self.dataset.features[0]
        return [_RowsTask("rows", first, first, method.for_feature(first))]


@dataclass(frozen=True, eq=False)
class _RowsTask(FeatureTask):
    """The rows as they are: `feature` and `column` are not used."""

    @property
    def features(self) -> tuple[Feature, ...]:
        return ()

    @property
    def columns(self) -> tuple[AnyColumn, ...]:
        return ()

    def plan(self, infos: object) -> AnyPlan:
        return None


# --- rows in memory -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """Values of each output at the rows, (n,), and what they cost."""

    values: Mapping[OutputLabel, Floats]
    stats: CallStats
    check: CallStats
    trees: str | None
    """Whether the model's trees were used, or why not; None for other models."""

    def record(self) -> dict[str, JsonValue]:
        """Return the cost, for a provenance."""
        cost: dict[str, JsonValue] = {}
        add_cost(cost, "effect", self.stats)
        add_cost(cost, "check", self.check)
        if self.trees:
            cost |= {"trees": self.trees, "tree_rows": self.stats.tree_rows}
        return cost


def evaluate_rows(
    outputs: Outputs, dataset: Dataset, tree: TreeMode, check: CallStats | None = None
) -> EvaluatedRows:
    """Return the outputs of one model at all rows of a dataset.

    One model row for each row, of all outputs together, and at most 128 for the check of the model; none but those of
    the check for trees that are evaluated from their structure. `check` are calls that were made before.
    """
    checked = probe_model(list(outputs.values()), dataset)
    if check is not None:
        checked.stats.add(check)
    evaluated = use_trees_if_exact(outputs, dataset, tree, checked, means=False)
    checked.stats.add(evaluated.stats)
    if not (evaluated.said or "").startswith("exact"):
        each = next(iter(outputs.values())).rows_per_row
        announce_rows(checked.caller, float(each * len(dataset)), each, "fewer rows: sample=")
    stats = CallStats()
    values = values_at_rows(evaluated.outputs, dataset, checked, stats)
    return EvaluatedRows(values, stats, checked.stats, evaluated.said)
