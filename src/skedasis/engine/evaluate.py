"""A quantity at the rows of a data set: from its trees where they can be used, else one model row for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skedasis._types import Floats, JsonValue, OutputLabel, TreeMode
from skedasis.data.dataset import Dataset
from skedasis.engine.budget import announce_rows
from skedasis.engine.run import values_at_rows
from skedasis.models.calling import CallStats
from skedasis.quantities.evaluator import probe_model
from skedasis.quantities.tree_evaluator import Outputs, use_trees_if_exact
from skedasis.results.provenance import add_cost


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
