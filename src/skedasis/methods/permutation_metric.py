"""PFI of a metric of the whole sample, such as AUC or R².

Such a metric is not a mean over rows, so that all rows are kept, and the metric is computed at the end, before and
after each permutation. The standard error is that of a jackknife over parts of the rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skedasis._arguments import shown
from skedasis._types import Bools, Floats, Ints, Values
from skedasis.data.dataset import Dataset
from skedasis.distributions.base import Labels, refuse_missing_labels
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, nearest, quiet
from skedasis.methods.permutation_variants import FeaturePlan, RowBasedVariant, outputs_of
from skedasis.methods.plans import BatchStats
from skedasis.models.introspection import title
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.quantities.loss import LOSSES
from skedasis.quantities.outputs import Probability
from skedasis.quantities.uncertainty import Entropy, PredictiveVariance
from skedasis.results.display import METRIC_ROWS
from skedasis.results.effect import About
from skedasis.results.importance import Importance, LocalImportance
from skedasis.results.provenance import as_provenance
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.methods.permutation import PFI

MetricFunction: TypeAlias = Callable[..., float]
"""A metric of labels and values, and of weights if rows are weighted."""

_NAMES: dict[str, tuple[str, int]] = {
    "average_precision": ("average_precision_score", 1),
    "explained_variance": ("explained_variance_score", 1),
    "max_error": ("max_error", -1),
    "median_absolute_error": ("median_absolute_error", -1),
    "r2": ("r2_score", 1),
    "roc_auc": ("roc_auc_score", 1),
}
"""Functions of scikit-learn, and 1 if larger values are better, else -1."""

_CLASSIFICATION = ("average_precision", "roc_auc")
"""Metrics of the scores of a class."""

_RELATIVE = ("explained_variance", "r2")
"""Metrics relative to the variance of the labels."""

_UNWEIGHTED = ("max_error",)
"""Metrics that take no weights. Rows of weight zero are removed beforehand; a maximum ignores other weights."""

_NUMBERS = Labels("numbers")

_PARTS = 10
"""Number of parts of the jackknife."""


def metric_variant(base: PFI, quantity: Quantity, dataset: Dataset, seed: int) -> MetricPFI:
    metric = base.metric
    if metric is None:
        raise TypeError("a metric variant requires a metric")
    if dataset.y is None:
        raise DataError(
            "PFI(metric)", "no y", "the label of each row", "Pass y= with the labels of X"
        )
    refuse_missing_labels(dataset.y, "PFI(metric)")
    _check_direction(base)
    if isinstance(metric, str):
        _sklearn_metric(metric)
        check_comparable(metric, quantity)
    elif dataset.weights is not None and not _takes_weights(metric):
        raise DataError(
            f"PFI(metric={_title(metric)})",
            "a function that takes no sample_weight, and weights",
            "metric(y, values, sample_weight=...), which uses the weights of the rows",
            "Add a parameter sample_weight to the function, or leave sample_weight out",
        )
    y = dataset.y
    if isinstance(metric, str) and metric in _CLASSIFICATION:
        for output in outputs_of(quantity):
            positives(output, y, metric)  # raise before the model is called
    elif isinstance(metric, str):
        y = _NUMBERS.encode(y, f"PFI(metric={metric!r})")
        if metric in _RELATIVE and len(y) < 2:
            got = f"{len(y)} row, whose labels have no variance"
            raise DataError(f"PFI(metric={metric!r})", got, "2 rows or more", "Pass more rows")
    return MetricPFI(base, dataset, seed, metric, y)


def check_comparable(name: str, quantity: Quantity) -> None:
    """Raise if a named metric cannot compare the quantity with labels."""
    for output in outputs_of(quantity):
        no_prediction = output.labelled or isinstance(output, (Entropy, PredictiveVariance))
        is_score = name in _CLASSIFICATION
        if not no_prediction and (is_score or not isinstance(output, Probability)):
            continue
        expected = "sd.probability, sd.logit or sd.prediction" if is_score else "sd.prediction"
        fix = (
            "sd.probability(model, class_=...)"
            if is_score
            else "a regressor, or sd.prediction of it"
        )
        raise UnsupportedError(
            f"PFI(metric={name!r}) of {output.describe()}",
            "a quantity that predicts no label" if no_prediction else "the score of a class",
            f"a prediction of the label: {expected}",
            f"Pass {fix}; or leave metric out to measure the increase of the quantity itself",
        )


def _check_direction(base: PFI) -> None:
    """Raise for an error of scikit-learn whose smaller values are better, without ``greater_is_better=False``.

    Its importances would have the wrong sign. By scikit-learn's convention the names of such functions end in "_error",
    "_loss" or "_deviance".
    """
    name, module = title(base.metric), inspect.getmodule(base.metric)
    is_error = name.endswith(("_error", "_loss", "_deviance"))
    known = module is not None and module.__name__.startswith("sklearn.metrics")
    if not (base.greater_is_better and is_error and known):
        return
    fix = "Write greater_is_better=False"
    got = "a function whose smaller values are better"
    raise DataError(f"PFI(metric={name})", got, "greater_is_better=False", fix)


def _takes_weights(metric: MetricFunction) -> bool:
    """Return whether a function takes `sample_weight`."""
    try:
        parameters = inspect.signature(metric).parameters
    except (TypeError, ValueError):  # compiled functions have no signature
        return True
    return "sample_weight" in parameters or any(
        p.kind is p.VAR_KEYWORD for p in parameters.values()
    )


def _title(metric: MetricFunction | str) -> str:
    """Return a metric's name as a user would write it."""
    return repr(metric) if isinstance(metric, str) else title(metric)


def positives(quantity: Quantity, y: Values, name: str) -> Bools:
    """Return whether each row belongs to the scored class, (n,).

    The quantity is the probability or log odds of a class; or a score that is higher for the larger of two labels.
    `name` is that of the metric, for messages.
    """
    what = f"PFI(metric={name!r}): y"
    if isinstance(quantity, Probability):
        result = quantity.observed_labels(y) > 0
        some = "all are" if result.all() else "never are"
        got = f"labels that {some} the class of {quantity.name}"
    else:
        numbers = _NUMBERS.encode(y, what.removesuffix(": y"))
        labels = np.unique(numbers)
        if len(labels) > 2:
            fix = "Encode them, for example y == 'yes', or pass sd.probability(model, class_=...)"
            raise DataError(what, f"{len(labels):,} different labels", "two", fix)
        result = numbers == labels[-1]
        got = f"{labels[-1]:g} for all rows"
    if result.all() or not result.any():
        raise DataError(what, got, "rows of the class and other rows", "Pass rows of both kinds")
    return result


def _sklearn_metric(name: str) -> tuple[MetricFunction, int]:
    """Return scikit-learn's function, and 1 if larger values are better, else -1."""
    if name not in _NAMES:
        known = ", ".join(map(repr, _NAMES))
        raise DataError(
            "PFI(metric)", repr(name), f"one of {known}, or a function", _suggestion(name)
        )
    try:
        import sklearn.metrics
    except ImportError as error:
        raise UnsupportedError(
            f"PFI(metric={name!r})",
            "a metric of scikit-learn, which is not installed",
            "scikit-learn, or a function of your own",
            "Install it: pip install 'skedasis[sklearn]'",
        ) from error
    function, sign = _NAMES[name]
    return getattr(sklearn.metrics, function), sign


def _suggestion(name: str) -> str:
    """Return the fix for an unknown name: a similar name, or the loss that it is."""
    if name in LOSSES:
        return f"This metric is a mean of losses: explain sd.loss(model, {name!r}) without a metric"
    near = nearest(name, _NAMES, 0.75)
    return "Use one of these" if near is None else f"Did you mean {near!r}?"


@dataclass(frozen=True)
class MetricPFI(RowBasedVariant):
    """PFI of a metric: its deterioration when a feature is permuted. `y`, (N,), are labels as it takes them."""

    metric: MetricFunction | str
    y: Values

    def n_rows_to_keep(self, rows: int) -> int:
        """Return the number of rows to keep: all, as the metric is computed from all rows."""
        return rows

    def with_fine_cells(self, plan: FeaturePlan) -> FeaturePlan:
        """Raise `DataError`: called if memory does not allow keeping all rows."""
        rows = len(self.dataset)
        needed = rows * self.row_bytes(plan) / 1e6
        raise DataError(
            "PFI(metric)",
            f"a memory budget too small for {rows:,} rows of {self.base.n_repeats} repeats",
            f"{needed:,.0f} MB for each feature",
            'Raise the budget, for example keep_rows="4GB", or lower n_repeats or max_samples',
        )

    @property
    def what(self) -> str:
        """Return the metric's name."""
        metric = self.metric
        return metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")

    @property
    def _signed_metric(self) -> tuple[MetricFunction, int]:
        """Return the metric, and 1 if larger values are better, else -1."""
        if isinstance(self.metric, str):
            return _sklearn_metric(self.metric)
        return self.metric, 1 if self.base.greater_is_better else -1

    def _score(self, y: Values, values: Floats, rows: Ints) -> float:
        """Return the metric of the values of some rows, with the sign for which larger is better."""
        metric, sign = self._signed_metric
        w = None if self.metric in _UNWEIGHTED else self.dataset.weights
        weights = {} if w is None else {"sample_weight": w[rows]}
        try:
            returned = metric(y[rows], values[rows], **weights)
        except Exception as error:
            self._annotate(error)
            raise
        try:
            number = float(returned)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ModelOutputError(
                f"PFI(metric={self.what})",
                shown(returned),
                "a finite number",
                "Return one number for all rows",
            )
        return sign * number

    def _annotate(self, error: Exception) -> None:
        """Raise a helpful error if the metric requires predicted labels, else add a note on how it was called."""
        if isinstance(error, ValueError) and "continuous" in str(error):
            raise DataError(
                f"PFI(metric={self.what})",
                f"a metric of predicted labels ({str(error).splitlines()[0][:80]})",
                "a metric of labels and the quantity's values: metric(y, values)",
                "To measure the error rate, explain sd.loss(model, 'zero_one') without a metric",
            ) from error
        error.add_note(
            f"raised while skedasis called the metric {self.what} with the labels and the quantity's values of "
            f"{len(self.dataset):,} rows"
        )

    def compute(
        self, evaluator: BatchEvaluator, plan: FeaturePlan, keep: Bools | None
    ) -> BatchStats:
        after = self._after(evaluator, plan, self._donors(evaluator, plan).rows)
        stats = self._batch_stats(evaluator, {"own": np.zeros(1)}, after, keep)
        # The scored class depends on the output, which only the evaluator knows.
        return replace(stats, quantity=evaluator.quantity)

    def _labels(self, quantity: Quantity | None) -> Values:
        """Return the labels in the form that the metric takes."""
        if quantity is None or not self._is_classification:
            return self.y
        return positives(quantity, self.y, self.what)

    @property
    def _is_classification(self) -> bool:
        return isinstance(self.metric, str) and self.metric in _CLASSIFICATION

    def finalize(
        self, plan: FeaturePlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Compare the metric before and after permutation."""
        own, after = stats.kept["own"], np.ascontiguousarray(stats.kept["after"].T)
        y, all_rows = self._labels(stats.quantity), np.arange(len(own))
        base = self._score(y, own, all_rows)
        values = np.array([base - self._score(y, a, all_rows) for a in after])
        sign = self._signed_metric[1]
        return Importance(
            (plan.feature.name,),
            values[None],
            np.array([self._error(plan, y, own, after, kind)]),
            np.array([_PARTS - 1.0]),
            sign * base,
            len(own),
            about.quantity,
            about.unit,
            about.library,
            self.name,
            self._local_importance(plan, stats),
            as_provenance({"metric": self.what, "greater_is_better": sign > 0}),
            about.feature.title_by_name,
        )

    def _error(
        self, plan: FeaturePlan, y: Values, own: Floats, after: Floats, kind: WeightKind
    ) -> float:
        """Return the standard error of a jackknife over parts of the rows.

        A part is left out as recipients and as donors, in all repeats, because a row contributes to the metric as both.
        """
        n = len(own)
        if n < METRIC_ROWS or len(after) < 3:
            return np.nan
        part = np.empty(n, dtype=np.int64)
        part[self.dataset.order] = (
            np.random.default_rng([_PARTS, self.seed]).permutation(n) % _PARTS
        )
        donor_part = part[plan.drawn.donors(np.arange(n))]
        try:
            with quiet():  # warnings about parts of the rows would confuse the user
                estimates = np.array(
                    [self._without(k, part, donor_part, y, own, after) for k in range(_PARTS)]
                )
        except (ValueError, ArithmeticError):
            return np.nan
        error = np.sqrt((_PARTS - 1) / _PARTS * ((estimates - estimates.mean()) ** 2).sum())
        # Frequency weights stand for several equal rows.
        w = self.dataset.weights
        factor = 1.0 if w is None or kind == "sampling" else float(w.sum() / (w @ w))
        return float(error * np.sqrt(factor))

    def _without(
        self, k: int, part: Ints, donor_part: Ints, y: Values, own: Floats, after: Floats
    ) -> float:
        """Return the importance without part k of the rows; NaN if the other rows belong to one class.

        Both metrics are computed on the same rows, so that the error of an unused feature is 0.
        """
        rest = [np.flatnonzero((part != k) & (donors != k)) for donors in donor_part]
        if self._is_classification and any(len(np.unique(y[r])) < 2 for r in rest):
            return np.nan  # the part contains all rows of a class
        decreases = [
            self._score(y, own, r) - self._score(y, a, r) for a, r in zip(after, rest, strict=True)
        ]
        return float(np.mean(decreases))

    def _local_importance(self, plan: FeaturePlan, local: BatchStats) -> LocalImportance | None:
        """Return the importance of the sampled single rows; None for ``local=0``."""
        rows = len(self.dataset)
        n_local = rows if self.base.local == "all" else min(self.base.local, rows)
        if n_local == 0:
            return None
        picked = np.random.default_rng(self.seed).choice(rows, n_local, replace=False)
        picked = np.sort(self.dataset.order[picked])
        r, row = local.kept, local.row_id
        if row is None:
            return None
        weight = r["weight"][picked] if "weight" in r else None
        after = np.ascontiguousarray(r["after"][picked])[None]
        name = (plan.feature.name,)
        return LocalImportance(
            name, row[picked], r["own"][picked].copy(), after, weight, n_local == rows
        )
