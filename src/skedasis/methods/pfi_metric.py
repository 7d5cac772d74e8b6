"""PFI of a metric that is no mean over rows: all rows are kept, and the metric sees them at once."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.data.coding import missing_among
from skedasis.data.source import Source
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.methods.base import Bound, Local
from skedasis.methods.pfi import PFI
from skedasis.methods.pfi_forms import Lent, OnRows
from skedasis.moments import Totals, WeightKind
from skedasis.quantity.base import Quantity
from skedasis.results.importance import Importance, LocalImportance
from skedasis.typing import Bools, Floats

_NAMES: dict[str, tuple[str, int]] = {
    "average_precision": ("average_precision_score", 1),
    "explained_variance": ("explained_variance_score", 1),
    "max_error": ("max_error", -1),
    "median_absolute_error": ("median_absolute_error", -1),
    "r2": ("r2_score", 1),
    "roc_auc": ("roc_auc_score", 1),
}
"""scikit-learn's functions, and whether more of them is better."""
_OF_CLASSES = ("average_precision", "roc_auc")
_PARTS = 10
"""Parts of the jackknife."""


def metric_form(base: PFI, quantity: Quantity, source: Source, seed: int) -> MetricPFI:
    """Return the form for a metric.

    Raises
    ------
    DataError
        For an unknown name, and without labels.
    UnsupportedError
        For a name without scikit-learn.
    """
    if source.y is None:
        raise DataError(
            explained("PFI(metric)", "no y", "the label of each row", "Pass y=, the labels of X")
        )
    missing = int(missing_among(source.y).sum())
    if missing:
        got = f"{missing:,} missing labels (NaN or None)"
        raise DataError(explained("y", got, "a label for every row", "Leave these rows out"))
    y: Any = source.y
    if isinstance(base.metric, str) and base.metric in _OF_CLASSES:
        y = _hits(quantity, y)
    return MetricPFI(base, source, seed, y)


def _hits(quantity: Any, y: Any) -> Any:
    """Return labels as whether they are the class whose probability is explained."""
    classes = getattr(getattr(quantity, "model", None), "classes_", None)
    column = getattr(quantity, "column", None)
    if classes is None or column is None:
        return y
    return np.asarray(y) == np.asarray(classes)[column]


def _named(name: str) -> tuple[Any, int]:
    if name not in _NAMES:
        known = ", ".join(map(repr, _NAMES))
        raise DataError(
            explained("PFI(metric)", repr(name), f"one of {known}, or a function", "Name one")
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

    @functools.cached_property
    def _score(self) -> Any:
        """Return the metric as something that is better the larger it is, of values and the rows they are of."""
        metric, sign = self.base.metric, 1 if self.base.greater_is_better else -1
        if isinstance(metric, str):
            metric, sign = _named(metric)
        return functools.partial(self._value, metric, sign)

    def _value(self, metric: Any, sign: int, values: Floats, rows: Any) -> float:
        w = self.source.weights
        weights = {} if w is None else {"sample_weight": w[rows]}
        found = metric(self.y[rows], values[rows], **weights)
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

    def local(self, bound: Bound, plan: Lent, keep: Bools | None) -> Local:
        """Call the model with borrowed values, and keep everything."""
        _, borrowed = self._lenders(bound, plan)
        after = self._after(bound, plan, borrowed)
        return Local({"own": Totals(np.zeros(1))}, self._kept(bound, after, keep))

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Compare the metric before and after."""
        own, after = local.kept["own"], np.ascontiguousarray(local.kept["after"].T)
        everyone = np.arange(len(own))
        base = self._score(own, everyone)
        values = np.array([base - self._score(a, everyone) for a in after])
        error = self._error(own, after[0], values, kind)
        sign = 1 if self.base.greater_is_better else -1
        if isinstance(self.base.metric, str):
            sign = _named(self.base.metric)[1]
        return Importance(
            (plan.feature.name,),
            values[None],
            np.array([error]),
            np.array([_PARTS - 1.0]),
            sign * base,
            len(own),
            about.quantity,
            about.unit,
            about.library,
            self.name,
            self._some(plan, local),
            {"metric": self.what},
        )

    def _error(self, own: Floats, after: Floats, values: Floats, kind: WeightKind) -> float:
        """Return the jackknife's error over parts of the rows, of the first repeat: conservative for several."""
        n = len(own)
        if n < 2 * _PARTS or len(values) < 3:
            return np.nan
        part = np.empty(n, dtype=np.int64)
        part[self.source.order] = np.random.default_rng([_PARTS, self.seed]).permutation(n) % _PARTS
        rest = [np.flatnonzero(part != k) for k in range(_PARTS)]
        try:
            left = np.array([self._score(own, r) - self._score(after, r) for r in rest])
        except (ValueError, ModelOutputError):  # a part that holds all of a class
            return np.nan
        return float(np.sqrt((_PARTS - 1) / _PARTS * ((left - left.mean()) ** 2).sum()))

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
