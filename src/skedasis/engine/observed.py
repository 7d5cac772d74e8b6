"""Observed means: label, prediction and residual of the rows in cells of each feature, by the values of a split.

They are computed in the pass that computes the effects, and travel with the moments of each feature, of which
`finalize_task` takes them out again.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from skedasis._arguments import is_int, shown
from skedasis._types import Floats, Ints, Level, OutputLabel, ResultKey, Values
from skedasis.binning import Edges
from skedasis.data.categories import LevelColumn, ordered_levels
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Batch, Dataset
from skedasis.data.factorize import Factorized, coded_array, equality_key, missing_mask
from skedasis.data.features import Feature, find_feature
from skedasis.distributions.base import refuse_missing_labels
from skedasis.engine.rows import rows_of
from skedasis.engine.select import FeatureTask, NamedLike, Task
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.base import BinnedMethod
from skedasis.methods.mplot import MPlot
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.quantities.outputs import MultiOutputQuantity
from skedasis.registry import listed_methods
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import Effect
from skedasis.results.observed import Observed
from skedasis.stats.calibration import ROUNDING
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, RowMeans

if TYPE_CHECKING:
    from skedasis.engine.prepare import TaskKey
    from skedasis.methods.plans import BatchStats

_LABEL, _PREDICTION, _RESIDUAL, _AXIS, _WHOLE = (
    f"observed {name}" for name in ("label", "prediction", "residual", "axis", "whole numbers")
)
_SQUARED = {name: f"{name}, squared weights" for name in (_LABEL, _PREDICTION, _RESIDUAL)}

OBSERVED = (*_SQUARED, *_SQUARED.values(), _AXIS, _WHOLE)
"""Keys of the moments; `_WHOLE` has the share of batches whose labels are all whole numbers, as one cell."""

FEWEST_VALUES, MOST_VALUES = 2, 6
"""Fewest and most values of a split."""


# --- the cells of a feature -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ObservedCells:
    """The K cells of a feature: intervals of numbers, single ones of a few `values`, or levels.

    Rows in which the feature is missing have a cell of their own, the last one, if `missing`.
    """

    position: int
    cells: Cells | None
    values: Floats | None = None
    column: LevelColumn | None = None
    missing: bool = False

    @classmethod
    def of(cls, task: FeatureTask) -> ObservedCells:
        """Return the cells of a feature; raise `NotYetKnown` if they need counts that no pass has made."""
        column, variant = task.column, task.variant
        if isinstance(column, LevelColumn):
            # Levels that are left out by `top_levels` have no code, either.
            missing = column.missing > 0 and not column.n_other
            return cls(-1, None, column=column, missing=missing)
        if not isinstance(column, Column):
            raise TypeError("a feature without a column has no cells")
        method = MPlot()
        if isinstance(variant, BinnedMethod):
            scheme = variant.binning()
            if isinstance(variant, MPlot) and not scheme.chooses:
                method = variant
            elif isinstance(scheme, Edges):
                method = MPlot(bins=replace(scheme, closed=scheme.closed or "left"))
        plan = method.plan(column, _VALUES)
        values = column.few_values() if method.bins == "auto" else None
        cells, position = plan.cells, column.feature.position
        return cls(position, cells, values, missing=column.missing > 0)

    def __len__(self) -> int:
        if self.column is not None:
            return len(self.column.levels)
        return 1 if self.cells is None else max(len(self.cells), 1)

    def ends(self, moments: Mapping[str, Moments], effect: Effect) -> tuple[Floats, Floats, Floats]:
        """Return the left and right ends of the cells, and their points, (K,); NaN for a level without an effect."""
        if self.column is not None and isinstance(effect.axis, LevelAxis):
            place = {label: k for k, label in enumerate(effect.axis.levels.labels)}
            points = np.array([place.get(v, np.nan) for v in self.column.levels.labels], float)
            return points, points, points
        if self.values is not None or self.cells is None:
            points = cast("Floats", self.values)
            return points, points, points
        edges = self.cells.edges
        low, high = (edges[:-1], edges[1:]) if len(edges) > 1 else (edges, edges)
        axis = moments[_AXIS]
        splits = np.arange(0, len(axis.count), len(axis.count) // (len(self) + self.missing))
        return low, high, np.clip(axis.pool(splits).mean[: len(self)], low, high)

    def locate(self, batch: Batch) -> tuple[Ints, Floats | None]:
        """Return the cell of each row, -1 outside all of them, and the values whose means are wanted."""
        if self.column is not None or self.cells is None:
            cell = batch.codes(cast("LevelColumn", self.column))
            return (np.where(cell < 0, len(self), cell) if self.missing else cell), None
        x = batch.column(self.position)
        # A constant feature has one edge only.
        cell = self.cells.locate(x) if len(self.cells) else np.zeros(len(x), dtype=np.int64)
        if self.missing:
            cell = np.where(np.isnan(x), len(self), cell)
        return cell, x if self.values is None else None


_VALUES = DerivativeInfo("values", "the rows as they are")


# --- the split ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowSplit:
    """The values by which means are kept apart; without a split all rows have one value.

    `part`, (n,), is the number of each row's value, if the rows are in memory. Chunks find it by `numbers`, the number
    of each value; None stands for a missing one.
    """

    name: str = ""
    values: tuple[str, ...] = ("",)
    part: NDArray[np.int8] | None = None
    numbers: Mapping[Hashable, int] | None = None

    @classmethod
    def of(cls, dataset: Dataset, split: object) -> RowSplit:
        """Return the split that an argument means: a column by its name or position, or a label of each row."""
        if split is None:
            return cls()
        feature, name = _column(dataset, split)
        here = dataset.before_passes(lambda: _coded_rows(dataset, feature, split))
        if here is not None:
            own, missing = here.values, bool(here.codes.min() < 0)
        else:
            found = dataset.fold(_DistinctValues(), "Values of the split", "values of the split")
            own = [value for key, value in found.items() if key is not None]
            missing = None in found
        numbered = np.arange(len(own))
        coded = ordered_levels(feature or Feature("split", "nominal", dtype=""), numbered, own)
        labels = list(coded.labels)
        if missing:
            labels.append("(missing)" if "missing" in labels else "missing")
        if not FEWEST_VALUES <= len(labels) <= MOST_VALUES:
            raise _wrong_number(split, len(labels))
        if here is not None:
            places = np.append(coded.codes, len(coded.values)).astype(np.int8)  # a missing one last
            return cls(name, tuple(labels), places[here.codes])
        numbers: dict[Hashable, int] = {equality_key(v): k for k, v in enumerate(coded.values)}
        return cls(name, tuple(labels), numbers=numbers)

    def of_rows(self, batch: Batch) -> NDArray[np.integer] | None:
        """Return the number of the value of each row of a batch; None if there is one only."""
        if self.part is not None:
            return self.part[batch.places]
        if self.numbers is None:
            return None
        codes, values = _coded(batch.split())
        known = [self.numbers[equality_key(v)] for v in values]
        return np.array([*known, len(self.values) - 1])[codes]


def _column(dataset: Dataset, split: object) -> tuple[Feature | None, str]:
    """Return the column that a split names, and its name; None for labels of the rows, or no feature."""
    if not (isinstance(split, str) or is_int(split)):
        name = split.name if isinstance(split, NamedLike) else None
        return None, name if isinstance(name, str) else ""
    here = dataset.before_passes(lambda: find_feature(dataset.features, split, "split"))
    if here is not None:
        return dataset.features[here], dataset.features[here].name
    # The source has found the column, which may be no feature.
    names = [f.name for f in dataset.features]
    position = split if is_int(split) else names.index(split) if split in names else None
    feature = None if position is None else dataset.features[position]
    return feature, str(split) if feature is None else feature.name


def _coded_rows(dataset: Dataset, feature: Feature | None, split: object) -> Factorized:
    if feature is not None:
        return dataset.coded(feature.position)
    return _coded(rows_of(dataset, np.asarray(split), "split"))


def _coded(values: Values) -> Factorized:
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]")  # as objects nanoseconds are integers
    if values.dtype.kind not in "biuf":
        values = values.astype(object)
    return coded_array(values, what="split")


class _DistinctValues:
    """A pass that finds the values of the split by their keys, None for a missing one; not all of very many."""

    def state(self) -> dict[Hashable, Level]:
        return {}

    def add(self, state: dict[Hashable, Level], first: int, chunk: Dataset) -> None:
        if len(state) <= _MANY_VALUES:
            codes, values = _coded(chunk.whole.split())
            self.merge(state, {equality_key(v): v for v in values[: _MANY_VALUES + 1]})
            if (codes < 0).any():
                state[None] = None

    def merge(self, state: dict[Hashable, Level], other: dict[Hashable, Level]) -> None:
        state.update(other)


_MANY_VALUES = 1_000


def _wrong_number(split: object, values: int) -> DataError:
    fix = "Pass labels of a few groups, such as split=X[column] > 50"
    if isinstance(split, str):
        fix = f"Explain {split!r} as a feature, or pass labels of a few groups"
    return DataError(
        "split",
        f"{shown(split)} with {values:,} different value{'s' * (values != 1)} in the explained rows",
        f"{FEWEST_VALUES} to {MOST_VALUES} values",
        "Leave split out" if values < FEWEST_VALUES else fix,
    )


# --- what is computed -----------------------------------------------------------------------------


def check_observed(quantity: Quantity, dataset: Dataset, tasks: Sequence[Task]) -> None:
    """Raise if observed means cannot be computed: labels, their scale, or single features are lacking."""
    for task in tasks:
        if not isinstance(task, FeatureTask) or isinstance(task.column, Feature):
            raise UnsupportedError(
                "explain(observed=True)",
                f"{task.variant.name} of {shown(task.key)}",
                f"{listed_methods(lambda m: not m.importance)} of single features",
                "Leave observed out, or explain single features by method='rhale'",
            )
    if dataset.y is None:
        raise DataError(
            "explain(observed=True)",
            "no y",
            "the label of each row",
            "Pass them: sd.explain(model, X, y=y, observed=True); for files sd.parquet(path, y=column)",
        )
    if not isinstance(quantity, MultiOutputQuantity):
        check_labels(quantity, dataset)


def check_labels(quantity: Quantity, dataset: Dataset) -> None:
    """Raise for a quantity that is not compared with labels, and for labels that are not those of the quantity."""
    quantity.label_scale("explain(observed=True)")
    y = dataset.y
    if y is None or dataset.before_passes(lambda: _labels_of(quantity, y)) is None:
        return
    if unlabelled_rows(dataset) == len(y):
        refuse_missing_labels(y, quantity.describe())


def unlabelled_rows(dataset: Dataset) -> int:
    """Return the number of rows without a label, which observed means leave out; 0 if not all rows are at hand."""
    y = dataset.y
    return dataset.before_passes(lambda: 0 if y is None else int(missing_mask(y).sum())) or 0


@dataclass(frozen=True, eq=False)
class ObservedWork:
    """What observed means take: the cells of each feature, and the split."""

    cells: Mapping[ResultKey, ObservedCells]
    split: RowSplit
    sampling: bool = False
    """Whether weights are sampling weights."""
    predictions: Mapping[OutputLabel, Floats] | None = None
    """Those of all rows in memory, (n,), which the pass fills in for the means of regions; None if it does not."""

    def with_predictions(self, dataset: Dataset, outputs: Collection[OutputLabel]) -> ObservedWork:
        """Return the work with room for the predictions at all rows, if these are in memory."""

        def room() -> Mapping[OutputLabel, Floats]:
            return {label: np.empty(len(dataset)) for label in outputs}

        return replace(self, predictions=dataset.before_passes(room))

    def add(
        self,
        evaluators: Mapping[OutputLabel, BatchEvaluator],
        gathered: Mapping[TaskKey, BatchStats],
    ) -> None:
        """Add the moments of a batch to those of its features. Costs n model rows, unless they are known."""
        if not gathered:
            return
        batch, numbers = next(iter(evaluators.values())).batch, dict[OutputLabel, _Numbers]()
        for label, evaluator in evaluators.items():
            prediction = evaluator.quantity.to_label_scale(evaluator.values())
            if self.predictions is not None:
                self.predictions[label][batch.places] = prediction
            numbers[label] = _numbers_of(evaluator.quantity, batch, prediction)
        for name in dict.fromkeys(name for _, name in gathered):
            own = {label: each for label, each in numbers.items() if (label, name) in gathered}
            for label, found in self._moments(name, batch, own).items():
                gathered[label, name].moments.update(found)

    def _moments(
        self, name: ResultKey, batch: Batch, numbers: Mapping[OutputLabel, _Numbers]
    ) -> dict[OutputLabel, dict[str, Moments]]:
        """Return the moments of some rows in the cells of a feature and the values of the split, by output."""
        cells, splits = self.cells[name], len(self.split.values)
        size = (len(cells) + cells.missing) * splits
        cell, x = cells.locate(batch)
        part, weights = self.split.of_rows(batch), batch.weights
        index = cell if part is None else cell * splits + part
        inside = (cell >= 0) & ~np.isnan(next(iter(numbers.values()))[0])
        if not inside.all():
            some = np.flatnonzero(inside)
            index, x, weights = (
                index.take(some),
                None if x is None else x.take(some),
                None if weights is None else weights.take(some),
            )
            numbers = {k: [a.take(some) for a in own] for k, own in numbers.items()}
        found = {k: _in_cells(own, x, index, size, weights) for k, own in numbers.items()}
        for k, (y, *_) in numbers.items():
            whole = float(np.array_equal(y, np.floor(y)))
            found[k][_WHOLE] = Moments.of_one_cell(np.full(1, whole))
        if weights is not None and self.sampling:
            for k, own in numbers.items():
                more = _in_cells(own, None, index, size, weights**2)
                found[k] |= {_SQUARED[name]: m for name, m in more.items()}
        return found

    def of_rows(
        self,
        key: TaskKey,
        batch: Batch,
        quantity: Quantity,
        effect: Effect,
    ) -> Observed | None:
        """Return the means of a feature at some of the rows; None without their predictions."""
        label, name = key
        if self.predictions is None:
            return None
        prediction = self.predictions[label][batch.places]
        numbers = {label: _numbers_of(quantity, batch, prediction)}
        return self.means(name, self._moments(name, batch, numbers)[label], quantity, effect)

    def means(
        self,
        name: ResultKey,
        moments: Mapping[str, Moments],
        quantity: Quantity,
        effect: Effect,
    ) -> Observed | None:
        """Return the means of a feature from the moments of all rows; None if there are none."""
        cells, scale = self.cells[name], quantity.on_label_scale()
        if _LABEL not in moments or scale is None:
            return None
        low, high, points = cells.ends(moments, effect)
        size, splits = len(cells), len(self.split.values)
        used = moments[_LABEL].count.reshape(-1, splits).sum(axis=1) > 0
        if not used.any():  # no row has a label
            return None
        events = _of_events(moments[_LABEL], moments[_PREDICTION])
        order = np.argsort(np.where(np.isnan(points), -1.0, points), kind="stable")
        some = order[used[:size][order] & ~np.isnan(points[order])]

        def of_cells(
            place: Ints, low: Floats, high: Floats, points: Floats, missing: Observed | None
        ) -> Observed:
            label, prediction, residual = (
                RowMeans(*(moments[k].reshape(-1, splits).take(place) for k in own if k in moments))
                for own in _SQUARED.items()
            )
            least = prediction.least_error if moments[_WHOLE].mean[0] == 1 else 0.0
            return Observed(
                points=points,
                low=low,
                high=high,
                split_values=self.split.values,
                quantity=scale.name,
                unit=scale.unit,
                count=label.moments.count.T.astype(np.int64),
                weight=label.moments.weight.T,
                label=_means(label.moments),
                label_error=label.error.T,
                prediction=_means(prediction.moments),
                prediction_error=prediction.error.T,
                residual=_means(residual.moments),
                residual_error=np.maximum(residual.error, least).T,
                df=label.df.T,
                of_effect=scale is quantity and not effect.spec.derivative,
                events=events,
                split_name=self.split.name,
                missing=missing,
            )

        nan, missing = np.full(1, np.nan), None
        if cells.missing and used[-1]:
            missing = of_cells(np.array([size]), nan, nan, nan, None)
        return of_cells(some, low[some], high[some], points[some], missing)


_Numbers: TypeAlias = Sequence[Floats]
"""Label, prediction and residual of each row, (n,) each, on the scale of the labels; NaN without a label."""


def _numbers_of(quantity: Quantity, batch: Batch, prediction: Floats) -> _Numbers:
    y = _labels_of(quantity, batch.given_labels())
    return y, prediction, y - prediction


def _labels_of(quantity: Quantity, y: Values) -> Floats:
    """Return the labels of some rows as numbers, (n,); NaN for those that are missing, which have no observed means."""
    missing = missing_mask(y)
    if not missing.any():
        return quantity.observed_labels(y)
    found = np.full(len(y), np.nan)
    found[~missing] = quantity.observed_labels(y[~missing])
    return found


def _means(moments: Moments) -> Floats:
    return np.where(moments.weight > 0, moments.mean, np.nan).T


def _of_events(label: Moments, prediction: Moments) -> bool:
    """Return whether labels are 0 and 1, whose mean of y (1 - y) is 0, and mean predictions between."""
    total = label.weight * label.mean
    off = np.abs(total * (1 - label.mean) - label.m2)
    between = np.abs(prediction.mean - 0.5) < 0.5 + ROUNDING
    return bool((between & (off <= 1e-9 * np.abs(total))).all())


def _in_cells(
    numbers: _Numbers, x: Floats | None, index: Ints, size: int, weights: Floats | None
) -> dict[str, Moments]:
    """Return the moments of label, prediction and residual, and of the feature if it is given."""
    y, prediction, residual = numbers
    found: dict[str, Moments] = {}
    found[_LABEL], found[_PREDICTION] = Moments.of_both(y, prediction, index, size, weights)
    if x is None:
        found[_RESIDUAL] = Moments.of(residual, index, size, weights, like=found[_LABEL])
    else:
        found[_RESIDUAL], found[_AXIS] = Moments.of_both(residual, x, index, size, weights)
    return found
