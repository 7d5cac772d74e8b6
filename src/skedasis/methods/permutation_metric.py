"""PFI of a metric of the whole sample, such as AUC or R²."""

from __future__ import annotations

import difflib
import inspect
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.dataset import Source
from skedasis.data.factorize import missing_among
from skedasis.distributions.base import Labels
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.methods.base import Local
from skedasis.methods.permutation import PFI, Lent, OnRows
from skedasis.models.introspection import title
from skedasis.quantities.base import Quantity
from skedasis.quantities.loss import class_indicator, loss_called
from skedasis.quantities.outputs import Probability
from skedasis.quantities.uncertainty import Entropy, PredictiveVariance
from skedasis.results.display import METRIC_ROWS
from skedasis.results.importance import Importance, LocalImportance
from skedasis.stats.moments import Totals, WeightKind

_NAMES: dict[str, tuple[str, int]] = {
    "average_precision": ("average_precision_score", 1),
    "explained_variance": ("explained_variance_score", 1),
    "max_error": ("max_error", -1),
    "median_absolute_error": ("median_absolute_error", -1),
    "r2": ("r2_score", 1),
    "roc_auc": ("roc_auc_score", 1),
}
"""scikit-learn's functions, and whether more of them is better."""


_ALIASES = {
    "ap": "average_precision",
    "auc": "roc_auc",
    "auprc": "average_precision",
    "auroc": "roc_auc",
    "medae": "median_absolute_error",
    "pr_auc": "average_precision",
    "r_squared": "r2",
    "rsquared": "r2",
}


_OF_CLASSES = ("average_precision", "roc_auc")


_OF_SPREAD = ("explained_variance", "r2")


_UNWEIGHTED = ("max_error",)
"""Rows of weight zero are gone before; all others count alike for a maximum."""


_NUMBERS = Labels("numbers")


_PARTS = 10
"""Parts of the jackknife."""


def metric_form(base: PFI, quantity: Quantity, source: Source, seed: int) -> MetricPFI:
    """Return the form for a metric.

    Raises
    ------
    DataError
        For an unknown name, without labels, for labels that the metric has no use for, and for weights with a function
        that takes none.
    UnsupportedError
        For a name without scikit-learn, and for a quantity that the named metric cannot compare with labels.
    """
    metric: Any = base.metric
    if source.y is None:
        raise DataError(
            explained("PFI(metric)", "no y", "the label of each row", "Pass y=, the labels of X")
        )
    missing = int(missing_among(source.y).sum())
    if missing:
        got = f"{missing:,} missing labels (NaN or None)"
        raise DataError(explained("y", got, "a label for every row", "Leave these rows out"))
    if isinstance(metric, str):
        _named(metric)
        check_compared(metric, quantity)
    elif source.weights is not None and not _takes_weights(metric):
        raise DataError(
            explained(
                f"PFI(metric={_title(metric)})",
                "a function that takes no sample_weight, and weights",
                "metric(y, values, sample_weight=...), for rows count by their weights",
                "Let it take sample_weight, or leave weights out",
            )
        )
    y = source.y
    if isinstance(metric, str) and metric in _OF_CLASSES:
        for one in _outputs(quantity):
            hits_of(one, y, metric)  # now, rather than when the model has been called
    elif isinstance(metric, str):
        y = _NUMBERS.encode(y, f"PFI(metric={metric!r})")
        if metric in _OF_SPREAD and len(y) < 2:
            got = f"{len(y)} row, whose labels have no spread"
            raise DataError(
                explained(f"PFI(metric={metric!r})", got, "2 rows or more", "Pass more")
            )
    return MetricPFI(base, source, seed, y)


def check_compared(name: str, quantity: Quantity) -> None:
    """Refuse a quantity that a named metric cannot compare with labels.

    Raises
    ------
    UnsupportedError
    """
    for one in _outputs(quantity):
        wrong = one.labelled or isinstance(one, (Entropy, PredictiveVariance))
        scores = name in _OF_CLASSES
        if not wrong and (scores or not isinstance(one, Probability)):
            continue
        proper = "sd.probability, sd.logit or sd.prediction" if scores else "sd.prediction"
        fix = (
            "sd.probability(model, class_=...)" if scores else "a regressor, or sd.prediction of it"
        )
        raise UnsupportedError(
            explained(
                f"PFI(metric={name!r}) of {one.describe()}",
                "a quantity that predicts no label" if wrong else "the score of a class",
                f"one that does: {proper}",
                f"Pass {fix}; or leave metric out, for the rise of the quantity itself",
            )
        )


def _outputs(quantity: Any) -> list[Any]:
    """Return the quantities of the outputs; where their number is not known yet, one that is like them."""
    parts = getattr(quantity, "parts", None) or {}
    return list(parts.values()) or [getattr(quantity, "one", quantity)]


def _takes_weights(metric: Any) -> bool:
    """Return whether a function takes `sample_weight`."""
    try:
        taken = inspect.signature(metric).parameters
    except (TypeError, ValueError):  # compiled functions have no signature
        return True
    return "sample_weight" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())


def _title(metric: Any) -> str:
    """Return a metric's name as a user would write it."""
    return repr(metric) if isinstance(metric, str) else title(metric)


def hits_of(quantity: Any, y: Any, name: str) -> Bools:
    """Return whether each row is of the class that is scored, shape (n,).

    Parameters
    ----------
    quantity : Quantity
        A probability or its log odds, of the class whose rows count; or scores, high where the larger of two labels is.
    y : ndarray, shape (n,)
    name : str
        The metric, for messages.

    Raises
    ------
    DataError
        For labels that the quantity does not know, and where all rows are of one class.
    """
    what = f"PFI(metric={name!r}): y"
    if isinstance(quantity, Probability):
        hits = class_indicator(quantity, y) > 0
        got = f"labels that {'all are' if hits.all() else 'never are'} the class of {quantity.name}"
    else:
        numbers = _NUMBERS.encode(y, what.removesuffix(": y"))
        found = np.unique(numbers)
        if len(found) > 2:
            fix = "Encode them, for example y == 'yes', or pass sd.probability(model, class_=...)"
            raise DataError(explained(what, f"{len(found):,} different labels", "two", fix))
        hits = numbers == found[-1]
        got = f"{found[-1]:g} for all rows"
    if hits.all() or not hits.any():
        raise DataError(
            explained(what, got, "rows of the class and others", "Pass rows of both kinds")
        )
    return hits


def _named(name: str) -> tuple[Any, int]:
    """Return scikit-learn's function, and whether more of it is better."""
    if name not in _NAMES:
        known = ", ".join(map(repr, _NAMES))
        raise DataError(
            explained("PFI(metric)", repr(name), f"one of {known}, or a function", _meant(name))
        )
    try:
        import sklearn.metrics
    except ImportError as error:
        raise UnsupportedError(
            explained(
                f"PFI(metric={name!r})",
                "no scikit-learn, whose metric it is",
                "scikit-learn, or a function of your own",
                "Install it: pip install 'skedasis[sklearn]'",
            )
        ) from error
    function, sign = _NAMES[name]
    return getattr(sklearn.metrics, function), sign


def _meant(name: str) -> str:
    """Return what to do instead of an unknown name: use a near one, or the loss that it is the mean of."""
    plain = name.lower().replace("-", "_").replace(" ", "_").removeprefix("neg_")
    loss = loss_called(plain)
    if loss is not None:
        of = "model" if "brier" not in plain else "sd.probability(model)"
        return f"Explain the loss that it is a mean of, without a metric: sd.loss({of}, {loss!r})"
    near = _ALIASES.get(plain) or next(iter(difflib.get_close_matches(plain, _NAMES, 1)), None)
    return "Name one" if near is None else f"Did you mean {near!r}?"


@dataclass(frozen=True)
class MetricPFI(OnRows):
    """How much a metric falls with values that permutations bring.

    Parameters
    ----------
    y : ndarray, shape (N,)
        Labels, as the metric takes them.
    """

    y: Any

    def rows_wanted(self, rows: int) -> int:
        """Return how many rows are to be kept: all, for the metric sees them at once."""
        return rows

    def refined(self, plan: Any) -> Any:
        """Refuse: not all rows can be kept."""
        rows = len(self.source)
        needed = rows * self.row_bytes(plan) / 1e6
        raise DataError(
            explained(
                "PFI(metric)",
                f"a budget that does not hold {rows:,} rows of {self.base.repeats} repeats",
                f"room for them: {needed:,.0f} MB for each feature",
                'Raise it: keep="4GB", or lower repeats or max_samples',
            )
        )

    @property
    def what(self) -> str:
        """Return the metric's name."""
        metric: Any = self.base.metric
        return metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")

    @property
    def _metric(self) -> tuple[Any, int]:
        """Return the metric, and 1 where it is better the larger it is, else -1."""
        metric: Any = self.base.metric
        if isinstance(metric, str):
            return _named(metric)
        return metric, 1 if self.base.greater_is_better else -1

    def _score(self, y: Any, values: Floats, rows: Any) -> float:
        """Return the metric as something that is better the larger it is, of values and the rows they are of."""
        metric, sign = self._metric
        w = None if self.base.metric in _UNWEIGHTED else self.source.weights
        weights = {} if w is None else {"sample_weight": w[rows]}
        try:
            found = metric(y[rows], values[rows], **weights)
        except Exception as error:
            self._explain(error)
            raise
        try:
            number = float(found)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ModelOutputError(
                explained(
                    f"PFI(metric={self.what})",
                    repr(found)[:60],
                    "a finite number",
                    "Return one number for all rows",
                )
            )
        return sign * number

    def _explain(self, error: Exception) -> None:
        """Say what helps where a metric wants predicted labels, else add a note of how it was called."""
        if isinstance(error, ValueError) and "continuous" in str(error):
            raise DataError(
                explained(
                    f"PFI(metric={self.what})",
                    f"a metric of predicted labels ({str(error).splitlines()[0][:80]})",
                    "a metric of labels and the quantity's values: metric(y, values)",
                    "For wrong labels explain sd.loss(model, 'zero_one') without a metric",
                )
            ) from error
        error.add_note(
            f"raised while skedasis called the metric {self.what} with the labels and the quantity's values of "
            f"{len(self.source):,} rows"
        )

    def local(self, bound: Any, plan: Lent, keep: Bools | None) -> Local:
        """Call the model with borrowed values, and keep everything."""
        _, borrowed = self._lenders(bound, plan)
        after = self._after(bound, plan, borrowed)
        kept = self._kept(bound, after, keep)
        # Which class is scored depends on the output: only here it is known.
        return Local({"own": Totals(np.zeros(1))}, kept, notes={"of": bound.quantity})

    def _labels(self, quantity: Any) -> Any:
        """Return the labels as the metric takes them."""
        return hits_of(quantity, self.y, self.what) if self._of_classes else self.y

    @property
    def _of_classes(self) -> bool:
        return isinstance(self.base.metric, str) and self.base.metric in _OF_CLASSES

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Compare the metric before and after."""
        own, after = local.kept["own"], np.ascontiguousarray(local.kept["after"].T)
        y, everyone = self._labels(local.notes["of"]), np.arange(len(own))
        base = self._score(y, own, everyone)
        values = np.array([base - self._score(y, a, everyone) for a in after])
        sign = self._metric[1]
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
            self._some(plan, local),
            {"metric": self.what, "greater_is_better": sign > 0},
        )

    def _error(self, plan: Lent, y: Any, own: Floats, after: Floats, kind: WeightKind) -> float:
        """Return the jackknife's error over parts of the rows.

        A part is taken out as rows that borrow and as rows that lend, in all repeats: a row is in the metric twice.
        """
        n = len(own)
        if n < METRIC_ROWS or len(after) < 3:
            return np.nan
        part = np.empty(n, dtype=np.int64)
        part[self.source.order] = np.random.default_rng([_PARTS, self.seed]).permutation(n) % _PARTS
        lent = part[plan.circles.lenders(np.arange(n))]
        try:
            with warnings.catch_warnings():  # whoever asked has not asked for parts of the rows
                warnings.simplefilter("ignore")
                left = np.array(
                    [self._without(k, part, lent, y, own, after) for k in range(_PARTS)]
                )
        except (ValueError, ArithmeticError):
            return np.nan
        error = np.sqrt((_PARTS - 1) / _PARTS * ((left - left.mean()) ** 2).sum())
        return float(error * np.sqrt(self._repeated(kind)))

    def _without(self, k: int, part: Ints, lent: Ints, y: Any, own: Floats, after: Floats) -> float:
        """Return the importance without a part of the rows; NaN where the rest is of one class.

        Before and after on the same rows: a feature that is not used has no error.
        """
        rest = [np.flatnonzero((part != k) & (lenders != k)) for lenders in lent]
        if self._of_classes and any(len(np.unique(y[r])) < 2 for r in rest):
            return np.nan  # a part holds all of a class
        fallen = [
            self._score(y, own, r) - self._score(y, a, r) for a, r in zip(after, rest, strict=True)
        ]
        return float(np.mean(fallen))

    def _repeated(self, kind: WeightKind) -> float:
        """Return how many times fewer rows there are than their weights say: frequencies stand for equal rows."""
        w = self.source.weights
        return 1.0 if w is None or kind == "sampling" else float(w.sum() / (w @ w))

    def _some(self, plan: Lent, local: Local) -> LocalImportance | None:
        """Return the single rows that were asked for."""
        rows = len(self.source)
        wanted = rows if self.base.local == "all" else min(self.base.local, rows)
        if wanted == 0:
            return None
        picked = np.random.default_rng(self.seed).choice(rows, wanted, replace=False)
        picked = np.sort(self.source.order[picked])
        r = local.kept
        weight = r["weight"][picked] if "weight" in r else None
        after = np.ascontiguousarray(r["after"][picked])[None]
        name = (plan.feature.name,)
        return LocalImportance(
            name, r["row"][picked], r["own"][picked].copy(), after, weight, wanted == rows
        )
