"""Quality of a model on the given labels: its scores, and the calibration of its predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skedasis._numbers import counted, number, percent
from skedasis._types import Bools, Floats, Ints, Level, Values
from skedasis.analysis.calibration import calibration_of_values
from skedasis.analysis.weak_spots import FEWEST_ROWS, SpotOptions, spots_of_values
from skedasis.data.dataset import Dataset
from skedasis.data.factorize import missing_mask
from skedasis.engine.conditioning import conditioning_features
from skedasis.engine.options import ExplainOptions
from skedasis.engine.row_values import HALVES
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import Logit, Prediction, Probability
from skedasis.report.format import named
from skedasis.results.calibration import Calibration
from skedasis.results.weak_spots import WeakSpot, WeakSpots
from skedasis.stats.random import random_half


# ------------------------------------------------------------------------------ scores on arrays
def mean_squared_error(y: Floats, predicted: Floats, weight: Floats) -> tuple[float, float]:
    """Return the mean squared error and the variance of the labels."""
    mean = float(np.average(y, weights=weight))
    error = float(np.average((y - predicted) ** 2, weights=weight))
    return error, float(np.average((y - mean) ** 2, weights=weight))


def mean_absolute_error(y: Floats, predicted: Floats, weight: Floats) -> float:
    return float(np.average(np.abs(y - predicted), weights=weight))


def log_loss(codes: Ints, probability: Floats, weight: Floats) -> float:
    """Return the mean negative log probability of the labels, in nats."""
    kind = probability.dtype.name if probability.dtype.kind == "f" else "float64"
    eps = float(np.finfo(kind).eps)
    own = np.clip(probability[np.arange(len(codes)), codes].astype(float), eps, 1.0)
    return float(np.average(-np.log(own), weights=weight))


def auc(positive: Floats, score: Floats, weight: Floats) -> float:
    """Return the probability that a row of the class scores higher than a row of the other; ties count half."""
    _, place = np.unique(score, return_inverse=True)
    yes = np.bincount(place, weight * positive)
    no = np.bincount(place, weight * (1 - positive))
    pairs = float(yes.sum() * no.sum())
    below = np.cumsum(no) - no
    return float(yes @ (below + no / 2)) / pairs if pairs > 0 else math.nan


# ---------------------------------------------------------------------------- quality of a model
MIN_LABELS = 2
"""Smallest number of labels for any quality measure."""


@dataclass(frozen=True)
class QualityMeasure:
    name: str
    value: float
    text: str
    meaning: str


@dataclass(frozen=True, eq=False)
class Quality:
    """How well a model predicts the labels of the rows that it is explained on."""

    kind: Literal["regression", "classification"]
    measures: tuple[QualityMeasure, ...]
    rows: int
    left_out: int
    sentences: tuple[str, ...]
    class_: str | None = None
    most_frequent: float = math.nan

    def __getitem__(self, name: str) -> float:
        """Return the value of a measure by its name."""
        return next(m.value for m in self.measures if m.name == name)

    def __contains__(self, name: object) -> bool:
        return any(m.name == name for m in self.measures)


def quality(
    quantity: Quantity,
    values: Floats,
    raw: Values | None,
    y: ArrayLike | None,
    weights: Floats | None,
) -> tuple[Quality | None, str]:
    """Return how well the model predicts, or None and the reason."""
    if y is None:
        return None, "No labels were given."
    there = ~missing_mask(np.asarray(y))
    weight = np.ones(len(values)) if weights is None else weights
    if int(there.sum()) < MIN_LABELS:
        return None, "Fewer than two rows have a label."
    labels, weight = np.asarray(y)[there], weight[there]
    left = int((~there).sum())
    chosen = isinstance(quantity, Prediction) and quantity.output is not None
    if chosen or (isinstance(quantity, Probability) and quantity.label is not None):
        several = (
            "The model has several outputs, and it is not known to which one the labels belong."
        )
        return None, several
    if isinstance(quantity, Probability):
        return _classification_quality(quantity, values[there], raw, there, labels, weight)
    if isinstance(quantity, Prediction):
        return _regression_quality(quantity, values[there], labels, weight, left)
    return None, f"The explained quantity does not predict the labels: {quantity.name}."


def page_calibration(
    quantity: Quantity, values: Floats, dataset: Dataset, options: ExplainOptions, *, rows: bool
) -> Calibration | None:
    """Return the calibration of a prediction that is known at the rows; None if no label is compared with it.

    Without `rows` in bins: a block of the isotonic fit may be a single row.
    """
    scale = quantity.on_label_scale()
    if scale is None or dataset.y is None:
        return None
    there = ~missing_mask(dataset.y)
    if int(there.sum()) < MIN_LABELS:
        return None
    try:
        labels = scale.observed_labels(dataset.y[there])
        predicted = quantity.to_label_scale(values)[there]
    except (DataError, ModelOutputError):
        # Labels of another kind, or values beyond the largest number.
        return None
    return calibration_of_values(
        scale,
        predicted,
        labels,
        None if dataset.weights is None else dataset.weights[there],
        random_half(dataset.identifiers[there], options.seed, HALVES),
        options,
        {"exact": True},
        method="isotonic" if rows else "bins",
        library=dataset.library,
    )


def label_values(
    quantity: Quantity, values: Floats, raw: ArrayLike | None, y: ArrayLike | None
) -> Floats | None:
    """Return the labels on the scale of the prediction, (n,): numbers, or 1 for the class that is explained, else 0."""
    plain = isinstance(quantity, Prediction) and quantity.output is None
    classified = isinstance(quantity, Probability) and quantity.label is None
    if y is None or not (plain or classified):
        return None
    labels = np.asarray(y)
    there = ~missing_mask(labels)
    found = np.full(len(labels), np.nan)
    if not there.any():
        return found
    try:
        if isinstance(quantity, Probability):
            classes, column, _ = _probabilities(quantity, values[there], np.asarray(raw), there)
            known = {label: float(k == column) for k, label in enumerate(classes)}
            found[there] = [known.get(v, np.nan) for v in labels[there].tolist()]
        else:
            found[there] = labels[there].astype(float)
    except (TypeError, ValueError):  # labels that are neither numbers nor classes
        return None
    return np.where(np.isfinite(found), found, np.nan)


# ------------------------------------------------------------------------ where a model is wrong
LARGE = 0.5
"""A bias of this part of the mean absolute error makes up much of the error in its group. The first screen says it if
the whole 95 % interval is larger."""


@dataclass(frozen=True, eq=False)
class WhereWrong:
    """The groups of rows in which a model is wrong on average."""

    found: WeakSpots
    error: float
    """The mean absolute difference of label and prediction."""

    @property
    def large(self) -> WeakSpot | None:
        """Return the largest weak spot whose bias is surely at least half of the mean absolute error; None without."""
        for spot in self.found:
            sign = 1.0 if spot.bias > 0 else -1.0
            if min(sign * end for end in spot.interval()) >= LARGE * self.error:
                return spot
        return None


def where_wrong(
    quantity: Quantity, values: Floats, dataset: Dataset, seed: int
) -> WhereWrong | None:
    """Return where a model is wrong, given its predictions, (n,); None if the labels do not say it. No model row."""
    scale = quantity.on_label_scale()
    if dataset.y is None or scale is None:
        return None
    there = np.flatnonzero(~missing_mask(dataset.y))
    rows = dataset if len(there) == len(dataset) else dataset.subset(there)
    if len(there) < FEWEST_ROWS or rows.y is None:
        return None
    try:
        labels = scale.observed_labels(rows.y)
    except (DataError, UnsupportedError):  # labels of another kind
        return None
    values = quantity.to_label_scale(values[there])
    known = conditioning_features(rows, rows.features, None, ())
    found = spots_of_values(scale, values, rows, known, SpotOptions(), seed)
    error = float(np.average(np.abs(labels - values), weights=rows.weights))
    return WhereWrong(found, error)


# ---------------------------------------------------------------------------------------- numbers
def _regression_quality(
    quantity: Quantity, predicted: Floats, labels: Values, weight: Floats, left: int
) -> tuple[Quality | None, str]:
    try:
        y = labels.astype(float)
    except (TypeError, ValueError):
        return None, "The labels are not numbers, but the explained quantity is."
    if y.ndim != 1 or not np.isfinite(y).all():
        return None, "Some labels are not finite numbers."
    error, spread = mean_squared_error(y, predicted, weight)
    mean = mean_absolute_error(y, predicted, weight)
    unit = f" {quantity.unit}" if quantity.unit else ""
    root, found = math.sqrt(error), [] if spread == 0 else [1 - error / spread]
    measures = [
        QualityMeasure(
            "R²", r2, number(r2), "fraction of the variance of the labels that the model explains"
        )
        for r2 in found
    ]
    measures += [
        QualityMeasure("RMSE", root, number(root) + unit, "square root of the mean squared error"),
        QualityMeasure("MAE", mean, number(mean) + unit, "mean absolute error"),
    ]
    same = () if found else ("All labels are the same, so there is no R².",)
    return Quality("regression", tuple(measures), len(y), left, (*same, *_cautions(left))), ""


TRAINED = "If the model was trained on these rows, expect lower quality on new rows."
"""The caution on all quality measures: a report does not know which rows a model was trained on."""


def _cautions(left: int) -> tuple[str, ...]:
    return (TRAINED, f"{counted(left, 'row')} without a label: left out.") if left else (TRAINED,)


# ---------------------------------------------------------------------------------------- classes
def _classification_quality(
    quantity: Probability,
    values: Floats,
    raw: Values | None,
    there: Bools,
    labels: Values,
    weight: Floats,
) -> tuple[Quality | None, str]:
    classes, column, probability = _probabilities(quantity, values, raw, there)
    known = {label: k for k, label in enumerate(classes)}
    try:
        place = np.array([known.get(v, -1) for v in labels.tolist()])
    except TypeError:  # labels that are lists
        return None, "The labels are not classes."
    unknown = sorted({repr(v) for v in labels[place < 0].tolist()})
    if unknown:
        some = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        return None, f"Some labels are not classes of the model: {some}."
    name = str(classes[column])
    measures = _class_measures(place, probability, column, weight, name)
    left = int((~there).sum())
    usual = float(np.bincount(place, weight).max() / weight.sum())
    found = Quality("classification", measures, len(place), left, _cautions(left), name, usual)
    return found, ""


def _class_measures(
    place: Ints, probability: Floats, column: int, weight: Floats, name: str
) -> tuple[QualityMeasure, ...]:
    one, p = (place == column).astype(float), probability[:, column].astype(float)
    loss = log_loss(place, probability, weight)
    right = float(np.average(probability.argmax(axis=1) == place, weights=weight))
    brier = mean_squared_error(one, p, weight)[0]
    found = [
        QualityMeasure(
            "log-loss", loss, f"{number(loss)} nats", "mean negative log probability of the label"
        ),
        QualityMeasure(
            "accuracy",
            right,
            percent(right),
            "fraction of rows whose most probable class is correct",
        ),
        QualityMeasure(
            "Brier score",
            brier,
            number(brier),
            f"mean squared error of the probability of “{named(name)}”",
        ),
    ]
    if probability.shape[1] == 2:
        area = auc(one, p, weight)
        if math.isfinite(area):
            meaning = "probability that a row of the class gets a higher probability than a row of the other"
            found.append(QualityMeasure("AUC", area, number(area), meaning))
    return tuple(found)


def _probabilities(
    quantity: Probability, values: Floats, raw: Values | None, there: Bools
) -> tuple[Sequence[Level], int, Floats]:
    """Return the classes, the index of the one explained, and the probabilities, shape (n, classes)."""
    answer = np.asarray(raw)
    named = getattr(quantity.model, "classes_", None)
    column = quantity.column
    if answer.ndim == 2 and answer.shape[1] > 1 and column is not None:
        probability = answer[there]
        if np.allclose(probability.sum(axis=1), 1, atol=1e-4):
            classes = list(range(answer.shape[1])) if named is None else np.asarray(named).tolist()
            return classes, column % answer.shape[1], probability
    # A score, or a single column with the probability of one class.
    p = _expit(values) if isinstance(quantity, Logit) else values
    classes = [0, 1] if named is None else np.asarray(named).tolist()
    place = 1 if column is None else column % max(len(classes), 1)
    if len(classes) != 2:
        classes, place = [f"not {classes[place]}", classes[place]], 1
    both = [1 - p, p] if place == 1 else [p, 1 - p]
    return classes, place, np.stack(both, axis=1)


def _expit(x: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, -x))
