"""Quantities of tree models, evaluated from the trees: read them, verify them against the model, or fall back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import isfunction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skedasis._types import Floats, Ints, OutputLabel, RawResponse, TreeMode, Values
from skedasis.data.containers import DonorRows, LevelReplacement, Replacement
from skedasis.data.dataset import Batch, Dataset
from skedasis.data.features import Feature
from skedasis.errors import ModelOutputError, TreeWarning, UnsupportedError, warn_caller
from skedasis.models.adapters import Breakpoints
from skedasis.models.calling import CallStats
from skedasis.models.introspection import is_pipeline, title, unwrap_search
from skedasis.quantities.base import ModelProxy, Quantity
from skedasis.quantities.evaluator import (
    PROBE_ROWS,
    BatchEvaluator,
    ProbeResult,
    ResponseCache,
    SetChanges,
    SweepValues,
    SweptValues,
    sets_of,
)
from skedasis.quantities.outputs import Logit, Prediction, Probability

if TYPE_CHECKING:
    from skedasis.trees.arrays import ThresholdCodes
    from skedasis.trees.evaluator import TreeForest, TreeQuery, TreeRows

# --- proxy of the model ---------------------------------------------------------------------------


_BORDER = 1e-13
"""Tolerance for isolation forests' decision function at 0."""


class TreeModelProxy(ModelProxy):
    """Proxy of a tree model that computes its responses by tree evaluation."""

    def __init__(self, model: Any, forest: TreeForest, shift: float = 0.0) -> None:
        from skedasis.trees.readers import RESPONSE_METHODS  # imported where there are trees

        self.model, self.forest, self.shift = model, forest, shift
        self.__name__ = title(model)
        owner = getattr(model, "__self__", None)
        tree_model = model if owner is None else owner
        classes = np.asarray(getattr(tree_model, "classes_", ()))
        # CatBoost's regressors have an empty list of classes.
        self.classes = classes if len(classes) else None
        self._bound = None if owner is None else str(model.__name__)
        if owner is not None:
            return
        # Only the methods that the model has: quantities choose by `hasattr`.
        for name in RESPONSE_METHODS:
            if hasattr(model, name):
                setattr(self, name, _ProxyMethod(self, name))
        if self.classes is not None:
            self.classes_ = self.classes
        if hasattr(model, "_estimator_type"):
            self._estimator_type = model._estimator_type  # noqa: SLF001 - as scikit-learn has it

    @property
    def piecewise_constant(self) -> bool:
        return True

    @property
    def evaluator_class(self) -> type[BatchEvaluator]:
        return TreeEvaluator

    def breakpoints(self, feature: Feature) -> Breakpoints:
        """Return the thresholds of a feature, or the function that searches them; None if they are not known."""
        find = partial(self.forest.jumps, feature.position)
        return find if self.forest.searched else find()

    def __call__(self, question: TreeQuery) -> Values:
        """Return the response of the bound method that this is a proxy of."""
        if self._bound is None:
            raise TypeError("the model is an estimator, not a method of one")
        return self.ask(self._bound, question)

    def plain_output(self, quantity: Quantity) -> int | None:
        """Return the index of the output whose sum of leaves the quantity equals, or None if it is another function."""
        n_outputs = len(self.forest.ensemble.base)
        if self.forest.ensemble.link != "identity" or self.shift:
            return None
        if self._bound == "predict" and self.classes is not None:
            return None  # predicted labels are not sums of leaves
        if type(quantity) is Prediction and not hasattr(self, "classes_"):
            output = 0 if quantity.output is None and n_outputs == 1 else quantity.output
        elif type(quantity) is Probability and hasattr(self, "classes_"):
            output = quantity.column
        else:
            return None
        return output if output is not None and 0 <= output < n_outputs else None

    def leaf_sum(self, quantity: Quantity) -> tuple[int, float] | None:
        """Return the output and the factor of the sum of leaves that the quantity equals up to a constant, or None."""
        plain = self.plain_output(quantity)
        if plain is not None:
            return plain, 1.0
        ensemble = self.forest.ensemble
        two = ensemble.link == "sigmoid" and ensemble.outputs == 1
        if type(quantity) is Logit and two and quantity.column in (0, 1):
            # The sum is that of the second class.
            return 0, ensemble.scale if quantity.column == 1 else -ensemble.scale
        is_score = self._bound == "decision_function" and ensemble.classifier
        if is_score and type(quantity) is Prediction:
            output = 0 if quantity.output is None and ensemble.outputs == 1 else quantity.output
            return None if output is None or not 0 <= output < ensemble.outputs else (output, 1.0)
        return None

    def ask(self, name: str, question: TreeQuery) -> Values:
        """Return the response of the model's method of this name."""
        from skedasis.trees.ensemble import method_response

        raw, ensemble = question.rows.raw(question) + self.shift, self.forest.ensemble
        if name == "predict" and self.classes is not None:
            probabilities = method_response(ensemble, raw, "predict_proba")
            return self.classes[np.argmax(probabilities, axis=1)]
        if name == "predict" and ensemble.link == "path":
            # A score of exactly 0 is an inlier. Scores are of order 1, so rounding is smaller than the tolerance.
            return np.where(method_response(ensemble, raw, "decision_function") < -_BORDER, -1, 1)
        return method_response(ensemble, raw, name)


class _ProxyMethod:
    """One method of a `TreeModelProxy`."""

    def __init__(self, of: TreeModelProxy, name: str) -> None:
        self.of, self.name = of, name

    def __call__(self, question: TreeQuery) -> Values:
        return self.of.ask(self.name, question)


# --- evaluator of a batch -------------------------------------------------------------------------


class TreeEvaluator(BatchEvaluator):
    """Evaluator of a quantity of trees on one batch of rows."""

    @cached_property
    def _trees(self) -> TreeModelProxy:
        """Return the trees in place of the quantity's model."""
        if not isinstance(self.quantity.model, TreeModelProxy):
            raise TypeError("the evaluator of trees requires a quantity of a TreeModelProxy")
        return self.quantity.model

    @cached_property
    def _buffer(self) -> TreeRows:
        whole, rows = self._whole or (None, None)
        if isinstance(whole, TreeEvaluator) and rows is not None:
            return whole._buffer.some(rows)  # noqa: SLF001 - an evaluator of the same class
        return self._trees.forest.on(self.batch)

    def left(self) -> None:
        """Release the memory; trees have no buffer for reuse."""
        super().left()

    @cached_property
    def _part(self) -> tuple[int, Any] | None:
        """Return the output and its trees on the batch if the quantity is a sum of leaves, else None."""
        output = self._trees.plain_output(self.quantity)
        if output is None or self._rows_refused:
            return None
        return output, self._buffer.part(output)

    @cached_property
    def _rows_refused(self) -> bool:
        """Return whether the model does not accept all of the batch's rows."""
        return self._trees.forest.refuses(self.batch.dataset.table, self.batch.rows)

    def _refused(self, changes: Mapping[int, SweepValues | Replacement]) -> bool:
        """Return whether the model does not accept all of the values that are to be inserted."""
        forest, table = self._trees.forest, self.batch.dataset.table
        for j, values in changes.items() if forest.ensemble.limited else ():
            if isinstance(values, (DonorRows, LevelReplacement)):
                refused = forest.refuses(table, values.rows)
            else:
                parts = (values,) if isinstance(values, np.ndarray) else values
                refused = any(forest.refuses_inserted(j, part) for part in parts)
            if refused:
                return True
        return False

    @cached_property
    def _of_model(self) -> BatchEvaluator:
        quantity = self.quantity.with_model(self._trees.model)
        if quantity is None:
            raise TypeError("a quantity of trees is one of their model, too")
        evaluator = BatchEvaluator(quantity, self.batch, self.copies, self.eps)
        evaluator.stats, evaluator.caller = self.stats, self.caller
        return evaluator

    def _ask(self, changes: SetChanges, sets: int, where: str) -> RawResponse:
        """Evaluate the trees, or call the model if it does not accept all values."""
        if self._rows_refused or self._refused(changes):
            return self._of_model._ask(changes, sets, where)  # noqa: SLF001 - of the base class
        rows = self._buffer
        question = rows.swept(changes, sets) if changes else rows.own()
        self.stats.tree_rows += len(question)
        return self._timed(self.quantity.raw, question, where)

    def sweep_together(self, changes: SweptValues, m: int) -> Floats:
        if self._part is None or self._refused(changes):
            return super().sweep_together(changes, m)
        output, _ = self._part
        rows = self._buffer
        self.stats.tree_rows += m * len(self)
        replaced = {j: sets_of(values, 0, m) for j, values in changes.items()}
        sums = self._timed(lambda _: rows.sums(output, replaced, m), None, "sums of leaves")
        base = rows.forest.ensemble.base[output]
        # In place: a second array of all curves would double the memory. Those of untested columns are one row's.
        return np.add(sums, base, out=sums if sums.flags.writeable else None).T

    def corners(
        self, columns: tuple[int, int], nodes: tuple[Floats, Floats], homes: tuple[Ints, Ints]
    ) -> Floats:
        given = dict(zip(columns, nodes, strict=True))
        accepted = not (self._rows_refused or self._refused(given))
        question = self._buffer.corners(columns, nodes, homes) if accepted else None
        if question is None:
            return super().corners(columns, nodes, homes)
        self.stats.tree_rows += len(question)
        if self._part is not None:
            output, _ = self._part
            sums = self._timed(lambda _: question.sums(output), None, "sums of leaves")
            return sums + self._buffer.forest.ensemble.base[output]
        where = f"with {self._column_names(given)} replaced"
        raw = self._timed(self.quantity.raw, question, f"{len(question)} rows {where}")
        return self._read(raw, 4, where).reshape(4, len(self))

    def cell_differences(self, j: int, edges: Floats, cell: Ints) -> Floats:
        forest = self._buffer.forest
        if self._part is None or forest.shape.place(j) < 0 or self._refused({j: edges}):
            return super().cell_differences(j, edges, cell)
        # Few edges: encode each once, then distribute the codes to the rows.
        codes = forest.numbers(j, edges)
        return self._code_differences(j, codes[:-1].take(cell), codes[1:].take(cell))

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c), (n,), from the leaves that differ between the two."""
        if self._part is None or self._refused({j: (low, high)}):
            return super().edge_differences(j, low, high)
        if self._buffer.forest.shape.place(j) < 0:
            return np.zeros(len(self))
        codes = self._buffer.coded(j, np.stack([low, high]))
        return self._code_differences(j, codes[0], codes[1])

    def _code_differences(self, j: int, low: ThresholdCodes, high: ThresholdCodes) -> Floats:
        """Return the difference of the sum of leaves between two codes per row in a column, (n,)."""
        if self._part is None:
            raise TypeError("differences of codes require a quantity that is a sum of leaves")
        part, place = self._part[1], self._buffer.forest.shape.place(j)
        self.stats.tree_rows += 2 * len(self)
        return self._timed(lambda _: part.between(place, low, high), None, "differences of leaves")

    def sums(self, changes: SweptValues, m: int) -> Floats:
        """Return the sums over the rows with columns replaced, (m,), from row counts if these are points of a grid."""
        if self._part is None or self.weights is not None or self._refused(changes):
            return super().sums(changes, m)
        rows, output = self._buffer, self._part[0]
        replaced = {j: sets_of(values, 0, m) for j, values in changes.items()}
        totals = self._timed(lambda _: rows.totals(output, replaced, m), None, "means of leaves")
        if totals is None:
            return super().sums(changes, m)
        self.stats.tree_rows += m * len(self)
        return totals + len(self) * float(rows.forest.ensemble.base[output])


# --- choice between trees and model ---------------------------------------------------------------


Outputs: TypeAlias = Mapping[OutputLabel, Quantity]

_TOLERANCE, _TOLERANCE_SINGLE = 1e-9, 1e-4
"""Allowed difference beyond that of rounded sums, relative to the range of the values, in double and single precision.

Relative to the largest value for quantities computed from responses: logarithms amplify what these are rounded by."""

_ROUNDINGS, _ROUNDINGS_SINGLE = 8, 1
"""Largest rounding error of a sum of leaves per tree, in units in the last place of the largest sum.

Half a unit in the order of the trees, which is the model's. In double precision orders differ, and leaves are divided
by the number of trees before or after they are summed."""


@dataclass(frozen=True)
class TreeDecision:
    """Decision of `use_trees_if_exact`."""

    outputs: Outputs
    said: str | None = None
    batch_rows: int | None = None
    stats: CallStats = field(default_factory=CallStats)


def use_trees_if_exact(
    outputs: Outputs, dataset: Dataset, wish: TreeMode, checked: ProbeResult, *, means: bool
) -> TreeDecision:
    """Replace the model by its trees if they can be read and reproduce its responses; each model of several."""
    if checked.parts:
        return _of_each_model(outputs, dataset, wish, checked, means=means)
    if wish == "off":
        return TreeDecision(outputs)
    model = next(iter(outputs.values())).model
    try:
        return _read_and_verify(outputs, dataset, model, checked, means=means)
    except _TreesUnavailable as reason:
        if wish == "force":
            raise UnsupportedError(
                "tree='force'",
                f"{title(model)}: {reason}",
                "a tree ensemble that can be evaluated without calling the model",
                "Use tree='auto'",
            ) from reason
        if not reason.quiet:
            _warn_once(
                f"{title(model)}: the model is called, because its trees cannot be used: {reason}"
            )
        said = f"the model is called: {reason}" if reason.of_trees else None
        return TreeDecision(outputs, said, stats=reason.stats)


_EXACT, _NOT_CALLED = "exact: ", " evaluated without calling the model"


def _of_each_model(
    outputs: Outputs, dataset: Dataset, wish: TreeMode, checked: ProbeResult, *, means: bool
) -> TreeDecision:
    """Return the decision for quantities of several models: each is replaced by its trees, or called.

    From here on, the quantities know the round-off of their models.
    """
    by_model = zip(*(q.parts_on(dataset) for q in outputs.values()), strict=True)
    decisions = [
        use_trees_if_exact(
            dict(zip(outputs, (q for q, _ in same), strict=True)),
            same[0][1],
            wish,
            probed,
            means=means,
        )
        for same, probed in zip(by_model, checked.parts, strict=True)
    ]
    stats = CallStats()
    for one in decisions:
        stats.add(one.stats)
    said = [one.said or "" for one in decisions]
    trees = [text[len(_EXACT) : -len(_NOT_CALLED)] for text in said if text.startswith(_EXACT)]
    exact = f"{' and '.join(trees)}{_NOT_CALLED}"
    round_off = [probed.eps for probed in checked.parts]
    replaced = {
        label: q.with_parts([one.outputs[label] for one in decisions], round_off)
        for label, q in outputs.items()
    }
    if len(trees) == len(decisions):
        rows = min(one.batch_rows for one in decisions if one.batch_rows is not None)
        return TreeDecision(replaced, _EXACT + exact, rows, stats)
    reasons = [text for text in said if text and not text.startswith(_EXACT)]
    if not trees:
        return TreeDecision(replaced, " and ".join(dict.fromkeys(reasons)) or None, stats=stats)
    return TreeDecision(replaced, f"one of the models is called; {exact}", stats=stats)


class _TreesUnavailable(Exception):  # noqa: N818 - no error: the model is called instead
    """The reason why trees cannot be used: stated of models with trees, with a warning unless `quiet`."""

    def __init__(
        self,
        reason: str,
        *,
        quiet: bool = False,
        of_trees: bool = True,
        stats: CallStats | None = None,
    ) -> None:
        super().__init__(reason)
        self.quiet, self.of_trees, self.stats = quiet, of_trees, stats or CallStats()


def may_be_trees(quantity: Quantity, wish: TreeMode) -> bool:
    """Return whether all models of a quantity may be evaluated by their trees, without reading or calling them."""
    if wish == "off":
        return False
    try:
        for model in quantity.models:
            _tree_model(model)
    except _TreesUnavailable:
        return False
    return True


def _tree_model(model: object) -> tuple[object, object]:
    """Return the tree ensemble of a model, in its pipeline and alone; raise `_TreesUnavailable` for other models."""
    if isfunction(model):  # the readers need not be imported
        raise _TreesUnavailable("it is a function", quiet=True, of_trees=False)
    from skedasis.trees.readers import RESPONSE_METHODS, has_trees, is_candidate

    owner = getattr(model, "__self__", None)
    tree_model = model if owner is None else owner
    tree_model = unwrap_search(getattr(tree_model, "grown", tree_model))
    is_known_method = owner is None or getattr(model, "__name__", "") in RESPONSE_METHODS
    last = tree_model.steps[-1][1] if is_pipeline(tree_model) else tree_model
    if model is None or not is_known_method or not is_candidate(last):
        reason = "it is not a supported tree ensemble"
        raise _TreesUnavailable(reason, quiet=True, of_trees=has_trees(last))
    return tree_model, last


def _read_and_verify(
    outputs: Outputs, dataset: Dataset, model: object, checked: ProbeResult, *, means: bool
) -> TreeDecision:
    """Read the trees and compare them with the model; raise `_TreesUnavailable` if they cannot be used."""
    tree_model, last = _tree_model(model)
    from skedasis.trees.ensemble import ColumnsMixed, TreesUnreadable

    feature = dataset.features[0]
    if any(q.has_mixed or q.derivative_info(feature).kind == "slopes" for q in outputs.values()):
        raise _TreesUnavailable("slopes were given, which trees do not provide", quiet=True)
    from skedasis._compilation import has_numba
    from skedasis.trees.pipeline import read_forest

    try:
        forest = read_forest(tree_model, dataset, compiled=has_numba())
    except TreesUnreadable as reason:
        mixed = isinstance(reason, ColumnsMixed)
        raise _TreesUnavailable(str(reason), quiet=mixed) from reason
    ensemble = forest.ensemble
    stand_in = TreeModelProxy(model, forest)
    can_count = not forest.deep and _counts_suffice(stand_in, outputs, dataset, means=means)
    if not forest.compiled and not can_count:
        raise _TreesUnavailable(
            "numba is not installed, which makes tree evaluation about a hundred times faster "
            "(pip install 'skedasis[trees]')"
        )
    replaced = {label: quantity.with_model(stand_in) for label, quantity in outputs.items()}
    if any(q is None for q in replaced.values()):
        raise _TreesUnavailable("the quantity needs more than the sums of leaves", quiet=True)
    of_trees: Outputs = {label: q for label, q in replaced.items() if q is not None}
    stats = _verify(outputs, of_trees, dataset, checked, forest)
    trees = f"{ensemble.trees:,} tree{'s' * (ensemble.trees != 1)}"
    behind = "" if last is tree_model else " behind transformers of single columns"
    said = f"{_EXACT}{trees} of {ensemble.title}{behind}{_NOT_CALLED}"
    return TreeDecision(of_trees, said, forest.batch_rows, stats)


def _counts_suffice(
    stand_in: TreeModelProxy, outputs: Outputs, dataset: Dataset, *, means: bool
) -> bool:
    """Return whether row counts suffice: for unweighted means of sums of leaves."""
    plain = all(stand_in.plain_output(q) is not None for q in outputs.values())
    return means and plain and dataset.weights is None


def _verify(
    outputs: Outputs,
    of_trees: Outputs,
    dataset: Dataset,
    checked: ProbeResult,
    forest: TreeForest,
) -> CallStats:
    """Compare trees and model at the probe's rows and at mixtures of them; raise `_TreesUnavailable` if they differ."""
    batch = dataset.evenly_spaced_batch(PROBE_ROWS, checked.among)
    stats = CallStats()
    # The model's responses at the rows themselves are known from the probe.
    by_model = [*checked.responses, *_at_mixed_rows(outputs, batch, checked.eps, stats)]
    try:
        by_tree = _by_tree(of_trees, batch, checked.eps)
        error = _largest_rounding(forest, batch)
        moved = [_by_tree(_shifted(of_trees, e), batch, checked.eps) for e in (-error, error)]
    except UnsupportedError as error:
        raise _TreesUnavailable(str(error), stats=stats) from error
    except (ModelOutputError, TypeError, ValueError) as error:
        # X has columns of another type than the trees' tests were read as, such as text instead of numbers.
        raise _TreesUnavailable(
            f"the trees cannot be evaluated on this X ({error})", stats=stats
        ) from error
    single = forest.ensemble.sums_single
    quantities = [*outputs.values(), *outputs.values()]
    for k, (q, expected, computed) in enumerate(zip(quantities, by_model, by_tree, strict=True)):
        largest = np.abs(expected).max(initial=0.0)
        is_response = type(q) in (Prediction, Probability)
        scale = np.abs(expected - expected.mean()).max(initial=0.0) if is_response else largest
        unit = np.spacing(np.float32(largest) if single else largest)
        allowed = (_TOLERANCE_SINGLE if single else _TOLERANCE) * scale + 4 * unit
        rounding = np.max([np.abs(values[k] - computed) for values in moved], axis=0)
        difference = np.abs(expected - computed)
        if (difference > allowed + rounding).any():
            worst = float(difference.max())
            raise _TreesUnavailable(
                f"the trees as read and the model differ by up to {worst:.3g}", stats=stats
            )
    return stats


def _largest_rounding(forest: TreeForest, batch: Batch) -> float:
    """Return the largest difference of the model's sums of leaves and those of the trees because of rounding."""
    ensemble, rows = forest.ensemble, forest.on(batch)
    if ensemble.classifier and ensemble.link in ("identity", "normalised"):
        return 0.0  # sums of at most 1, and an error could lead beyond 0 or 1
    size = max(np.abs(values).max(initial=0.0) for values in (rows.raw(rows.own()), ensemble.base))
    single = ensemble.sums_single
    each = _ROUNDINGS_SINGLE if single else _ROUNDINGS
    return float(each * (ensemble.trees + 1) * np.spacing(np.float32(size) if single else size))


def _shifted(of_trees: Outputs, shift: float) -> Outputs:
    """Return the quantities of trees with a number added to all sums of leaves."""
    shifted: dict[OutputLabel, Quantity] = {}
    for label, quantity in of_trees.items():
        proxy = quantity.model
        if isinstance(proxy, TreeModelProxy):
            moved = quantity.with_model(TreeModelProxy(proxy.model, proxy.forest, shift))
            shifted[label] = quantity if moved is None else moved
    return shifted


def _by_tree(outputs: Outputs, batch: Batch, eps: float) -> list[Floats]:
    """Return all outputs of trees at the rows and at mixtures of them."""
    own = [quantity.evaluator(batch, eps=eps).values() for quantity in outputs.values()]
    return [*own, *_at_mixed_rows(outputs, batch, eps, CallStats())]


def _at_mixed_rows(outputs: Outputs, batch: Batch, eps: float, stats: CallStats) -> list[Floats]:
    """Return all outputs at rows that combine columns of different rows of the batch."""
    rows, cache = batch.table_rows, ResponseCache()
    changes: SweptValues = {
        j: DonorRows(np.roll(rows, j + 1)[None]) for j in range(len(batch.dataset.features))
    }
    values: list[Floats] = []
    for quantity in outputs.values():
        evaluator = quantity.evaluator(batch, eps=eps, cache=cache)
        values.append(evaluator.sweep_together(changes, 1)[:, 0])
        stats.add(evaluator.stats)
    return values


_WARNED: set[str] = set()


def _warn_once(text: str) -> None:
    """Issue a `TreeWarning`, once for each text."""
    if text not in _WARNED:
        _WARNED.add(text)
        warn_caller(text, TreeWarning)
