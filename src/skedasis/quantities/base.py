"""`Quantity`: a scalar function of a row, and of its label for losses and likelihoods, derived from a fitted model.

Quantities add and subtract: `Sum` is a linear combination of quantities, such as the difference of two models.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._arguments import is_number, shown
from skedasis._numbers import number
from skedasis._types import (
    DType,
    Floats,
    Ints,
    ModelRows,
    OutputLabel,
    RawResponse,
    TableLike,
    Values,
)
from skedasis.data.containers import ArrayTable
from skedasis.data.dataset import Batch, Dataset, as_dataset
from skedasis.data.features import Feature
from skedasis.distributions.base import refuse_missing_labels
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.adapters import Breakpoints, DerivativeInfo
from skedasis.models.calling import CallStats
from skedasis.models.introspection import title, with_article
from skedasis.models.protocols import AdaptedModel
from skedasis.quantities.evaluator import (
    BatchEvaluator,
    ModelPart,
    ResponseCache,
)
from skedasis.quantities.sum_evaluator import SumEvaluator, SumOfTreesEvaluator

CALL_ROWS = 100_000
"""Rows per call of the model: enough to make the overhead of a call negligible, few enough to fit in memory."""

FULL_CALL = 10_000
"""Rows per call above which the overhead of a call is small relative to its work."""

_EPS = float(np.finfo(float).eps)


class ModelProxy(AdaptedModel, ABC):
    """A stand-in for a model, with an evaluator of its own that does not call the model."""

    @property
    @abstractmethod
    def evaluator_class(self) -> type[BatchEvaluator]:
        """Return the class of the evaluators of this proxy's quantities."""

    @abstractmethod
    def breakpoints(self, feature: Feature) -> Breakpoints:
        """Return the values at which the responses jump along a feature; see `DerivativeInfo`."""


def given_labels(y: Values | None) -> Values:
    """Return the labels; raise if there are none. Evaluators always pass the labels of a labelled quantity."""
    if y is None:
        raise TypeError("a quantity that needs labels was evaluated without labels")
    return y


class Quantity(ABC):
    """A scalar function of a row.

    Quantities can be added and subtracted, and multiplied by numbers: ``sd.prediction(new) - sd.prediction(old)`` is
    the difference of two models, and explained like any other quantity; see `Sum`.
    """

    # NumPy's numbers leave products to `__rmul__`, instead of making an array of one quantity.
    __array_ufunc__ = None

    name: str = "prediction"
    unit: str | None = None

    model: object = None
    """The model that `raw` calls; None if it is not known."""

    labelled: bool = False
    """Whether the quantity needs the rows' labels: likelihoods and losses do, predictions and entropies do not."""

    observed_only: bool = False
    """Whether only observed rows have values, those with their own labels: methods that change rows refuse it."""

    several: bool = False
    """Whether these are all outputs of a model, which `outputs` returns."""

    copy: bool = False
    """Whether each call of the model gets rows of its own, which are never used again."""

    call_rows: int | None = None
    """Most rows of a call of the model; None for any number."""

    @property
    def batch_rows(self) -> int | None:
        """Return how many rows a batch should have at most because of the model; None for any number."""
        return self.model.batch_rows if isinstance(self.model, AdaptedModel) else None

    @property
    def scale(self) -> str:
        """Return the function of what labels are that the values are of: "log", "logit", "sqrt", or "identity".

        Exponentials of effects are factors on the log scale, and odds ratios on the logit scale.
        """
        return "identity"

    def on_label_scale(self) -> Quantity | None:
        """Return the quantity of the same model whose mean is compared with that of the labels; None if there is none.

        It is a prediction, a probability, or what a function of one was computed from: the prediction itself for a
        function that shows it on another scale (`inverse="log"`, "sqrt", a logit), the function's value for one that
        undoes a transformation of the labels (`inverse="exp"`, "square"). Entropies, variances and losses have none,
        nor have all outputs of a model together, as the labels are those of one.
        """
        return None

    def label_scale(self, what: str) -> Quantity:
        """Return `on_label_scale`, which `what` needs; raise `UnsupportedError` if there is none."""
        found = self.on_label_scale()
        if found is None:
            raise self.not_compared(what)
        return found

    def not_compared(self, what: str) -> UnsupportedError:
        """Return the error for a quantity that is not compared with labels."""
        return UnsupportedError(
            what,
            f"{self.describe()}, which is not compared with labels",
            "a prediction, a probability, or a function of one of them, of one output that y has the labels of",
            "Use sd.prediction(model), or sd.probability(model, class_='yes'); of several outputs name one: output=0",
        )

    def observed_labels(self, y: Values) -> Floats:
        """Return labels as numbers that `on_label_scale` predicts, (n,): for a probability 1 for its class, else 0.

        Raises `DataError` for labels that are not finite numbers, or no classes of the model. Only if the quantity has
        a label scale.
        """
        raise self.not_compared("y")

    def to_label_scale(self, values: Floats) -> Floats:
        """Return the values of `on_label_scale` at some rows, (n,), from those of this quantity; no model row."""
        return values

    def with_model(self, model: object) -> Quantity | None:
        """Return this quantity of another model with the same responses; None if that is not possible."""
        return None

    @abstractmethod
    def raw(self, X: ModelRows) -> RawResponse:
        """Call the model on rows in X's container and return its full response."""

    def read(self, raw: RawResponse, y: Values | None = None) -> object:
        """Return the quantity's values from the response that `raw` returned: (n,) numbers, unless it is invalid."""
        return raw

    def encoded(self, y: Values) -> Values:
        """Return labels in the form that `read` takes; raise `DataError` if they are invalid. Only if `labelled`."""
        return y

    def without_model(self, batch: Batch) -> Floats | None:
        """Return the values at a batch's rows, (n,), if no model is called for them, else None."""
        return None

    def refuse_moved_rows(self, method: str) -> None:
        """Raise if only observed rows have values: a method that changes rows cannot explain the quantity."""
        if self.observed_only:
            raise UnsupportedError(
                f"{method} of {self.describe()}",
                "a quantity that only observed rows have, and a method that changes values of features",
                "a method that takes the rows as they are",
                "Use sd.explain(quantity, X, feature, y=y, method=sd.MPlot()); sd.explain(model, X, feature, y=y, "
                "observed=True) shows what was observed beside an effect, sd.weak_spots(model, X, y) finds where a "
                "model is wrong",
            )

    def computed(self, raw: RawResponse) -> DType | None:
        """Return the dtype that the model computed in if the dtype of `read`'s values does not show it, else None."""
        return None

    def floored(self, raw: RawResponse, y: Values | None = None) -> int:
        """Return the number of rows whose probability was raised to a floor before taking its logarithm."""
        return 0

    def outputs(
        self, dataset: Dataset, stats: CallStats | None = None, among: Ints | None = None
    ) -> Mapping[OutputLabel, Quantity]:
        """Return the quantity of each output by its label; a quantity with a single output has the label None."""
        return {None: self}

    @property
    def has_mixed(self) -> bool:
        """Return whether the quantity provides mixed second derivatives."""
        return False

    def mixed(self, X: ModelRows, j: int, k: int) -> object:
        """Return the mixed second derivative by columns j and k at each row, (n,). Only if `has_mixed`."""
        raise UnsupportedError(
            self.describe(),
            "a model without mixed derivatives",
            "a model that provides them",
            "Pass sd.prediction(model, mixed=f), where f(X, j, k) returns one number per row",
        )

    def slopes(self, X: ModelRows, y: Values | None = None) -> object:
        """Call the model's derivative and return it, (n, d). Only if `derivative_info` reports one."""
        raise UnsupportedError(
            self.describe(),
            "a model without derivatives",
            "a differentiable model",
            "Pass a function for them: sd.prediction(model, slope=...)",
        )

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return how local effects of a feature are best computed: from derivatives or from differences."""
        return DerivativeInfo("differences", "central differences")

    def describe(self) -> str:
        """Return the quantity as a user would write it, for errors and the provenance."""
        return self.name

    def prepare(self, dataset: Dataset) -> Dataset:
        """Check that the rows match the model's training data; return them in its container."""
        return self.with_labels(dataset)

    def with_labels(self, dataset: Dataset) -> Dataset:
        """Return the rows with their encoded labels if the quantity needs labels."""
        if not self.labelled:
            return dataset
        if dataset.y is None:
            raise DataError(
                self.describe(), "no y", "the label of each row", "Pass y= with the labels of X"
            )
        refuse_missing_labels(dataset.y, self.describe())
        return replace(dataset, targets=np.asarray(self.encoded(dataset.y)))

    @property
    def axis(self) -> str:
        """Return the axis label: the name, with the unit if there is one."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def evaluator(
        self,
        batch: Batch,
        copies: int = 1,
        eps: float = _EPS,
        used: BatchEvaluator | None = None,
        cache: ResponseCache | None = None,
    ) -> BatchEvaluator:
        """Return the evaluator of the quantity on a batch of rows."""
        model = self.model
        kind = model.evaluator_class if isinstance(model, ModelProxy) else BatchEvaluator
        return kind(self, batch, copies, eps, used, cache)

    def at(self, X: TableLike, y: ArrayLike | None = None) -> Floats:
        """Return the quantity at each row of X."""
        dataset = self.prepare(as_dataset(X, y))
        return np.concatenate([self.evaluator(b).values() for b in dataset.batches(CALL_ROWS)])

    # -- quantities of several models
    def as_terms(self) -> tuple[Addend, ...]:
        """Return the quantities that this one is the sum of, each with its factor."""
        return ((1.0, self),)

    @property
    def models(self) -> tuple[object, ...]:
        """Return the models that the quantity is computed from."""
        return (self.model,)

    @property
    def rows_per_row(self) -> int:
        """Return how many model rows the quantity costs at one row."""
        return 1

    def parts_on(self, dataset: Dataset) -> Sequence[ModelPart]:
        """Return the quantities of single models with the rows as these take them; none if there is one model."""
        return ()

    def combined(self, parts: Sequence[Floats]) -> Floats:
        """Return the quantity's values from those of its parts."""
        raise TypeError("a quantity of one model has no parts")

    def with_parts(self, parts: Sequence[Quantity], round_off: Sequence[float]) -> Quantity:
        """Return the quantity with others in place of its parts, whose models have these unit round-offs."""
        raise TypeError("a quantity of one model has no parts")

    def _sum(self, terms: Sequence[Addend]) -> Quantity:
        return Sum.of(terms)

    def __add__(self, other: Quantity) -> Quantity:
        return self._sum((*self.as_terms(), *_terms(self, other, "+")))

    def __radd__(self, other: Literal[0]) -> Self:
        """Return the quantity itself, so that `sum` adds quantities."""
        if not is_number(other) or other != 0:
            _terms(self, other, "+")
        return self

    def __sub__(self, other: Quantity) -> Quantity:
        others = _terms(self, other, "-")
        return self._sum((*self.as_terms(), *((-factor, q) for factor, q in others)))

    def __rsub__(self, other: object) -> Self:
        _terms(self, other, "-")
        return self

    def __neg__(self) -> Quantity:
        return -1.0 * self

    def __mul__(self, factor: float) -> Quantity:
        if not is_number(factor) or not np.isfinite(factor):
            got, expected = shown(factor), "a finite number"
            fix = "Multiply by a number: 0.5 * q"
            raise UnsupportedError(f"factor of {self.describe()}", got, expected, fix)
        return self._sum([(float(factor) * own, q) for own, q in self.as_terms()])

    def __rmul__(self, factor: float) -> Quantity:
        return self * factor

    def __truediv__(self, divisor: float) -> Quantity:
        return self * (1.0 / divisor if is_number(divisor) else divisor)


# --- sums -----------------------------------------------------------------------------------------

Addend: TypeAlias = tuple[float, Quantity]
"""A factor and the quantity that it multiplies."""


@dataclass(frozen=True, eq=False)
class Sum(Quantity):
    """A linear combination of quantities: the difference of two models, or the mean of several.

    Each model gets the rows in the container that it was fitted on, and labels as it encodes them. One row costs a row
    of each model that is called; trees are evaluated from their structure. On the same cells, an effect of a sum is the
    sum of the effects (PDP, ICE, M-plot, ALE and their kin are linear in the quantity; importances and heterogeneity
    are not). Because the models are compared at the same rows, intervals are paired.

    Parameters
    ----------
    terms : tuple of (float, Quantity)
        The factors and the quantities, each of one model.
    name, unit : str, optional
        The label and the unit.
    labelled, observed_only : bool
        Whether a quantity needs labels, or has values at observed rows only.
    round_off : tuple of float
        The unit round-off of each model's arithmetic, once the models have been probed.

    Examples
    --------
    For which rows does a new model predict more than the old one?

    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> old = sd.prediction(lambda X: X[:, 0], name="rent", unit="EUR")
    >>> new = sd.prediction(lambda X: X[:, 0] + 2 * X[:, 1], name="rent", unit="EUR")
    >>> change = new - old
    >>> change.axis
    'difference in rent [EUR]'
    >>> sd.explain(change, X, "x1").value[[0, -1]].round(2).tolist()
    [-1.99, 1.99]
    """

    terms: tuple[Addend, ...]
    name: str = ""
    unit: str | None = None
    labelled: bool = False
    observed_only: bool = False
    round_off: tuple[float, ...] = ()

    @property
    def scale(self) -> str:
        """Return the scale of all terms; log odds that are no mean, such as a difference, are logarithms of ratios."""
        scale, whole = self.quantities[0].scale, sum(factor for factor, _ in self.terms)
        return "log" if scale == "logit" and not np.isclose(whole, 1.0) else scale

    @classmethod
    def of(cls, terms: Sequence[Addend]) -> Sum:
        """Return the sum with its default name; raise `DataError` if units or scales differ."""
        quantities = [q for _, q in terms]
        if any(q.several for q in quantities):
            raise several_and_one(terms)
        scales = list(dict.fromkeys(q.scale for q in quantities))
        if len(scales) > 1:
            raise DataError(
                formula([(factor, q.describe()) for factor, q in terms]),
                f"quantities on the scales {' and '.join(map(repr, scales))}",
                "quantities on one scale",
                'Pass the same inverse= for all; link="log" for a model that returns logarithms; of classifiers, '
                "sd.logit or sd.probability of all",
            )
        units = list(dict.fromkeys(q.unit for q in quantities if q.unit is not None))
        if len(units) > 1:
            raise DataError(
                formula([(factor, q.describe()) for factor, q in terms]),
                f"quantities in the units {' and '.join(map(repr, units))}",
                "quantities in one unit",
                "Explain them separately, or pass the same unit=",
            )
        return cls(
            tuple(terms),
            name_of_sum(terms),
            units[0] if units else None,
            labelled=any(q.labelled for q in quantities),
            observed_only=any(q.observed_only for q in quantities),
        )

    def as_terms(self) -> tuple[Addend, ...]:
        return self.terms

    @property
    def quantities(self) -> list[Quantity]:
        """Return the quantities that are added."""
        return [q for _, q in self.terms]

    @property
    def models(self) -> tuple[object, ...]:
        return tuple(model for q in self.quantities for model in q.models)

    @property
    def rows_per_row(self) -> int:
        """Return the number of models that are called."""
        return max(1, sum(not isinstance(model, ModelProxy) for model in self.models))

    @property
    def batch_rows(self) -> int | None:
        return min((q.batch_rows for q in self.quantities if q.batch_rows), default=None)

    def describe(self) -> str:
        return formula([(factor, q.describe()) for factor, q in self.terms])

    def on_label_scale(self) -> Quantity | None:
        """Return the mean itself, of quantities of one name that are on the scale of labels; of other sums None."""
        same = len({q.name for q in self.quantities}) == 1
        whole = np.isclose(sum(factor for factor, _ in self.terms), 1.0)
        return (
            self
            if same and whole and all(q.on_label_scale() is q for q in self.quantities)
            else None
        )

    def observed_labels(self, y: Values) -> Floats:
        """Return the labels as numbers, which are the same for all parts of a mean."""
        self.label_scale("y")
        return self.quantities[0].observed_labels(y)

    def raw(self, X: ModelRows) -> RawResponse:
        raise TypeError("a sum of quantities is evaluated by its parts")

    def encoded(self, y: Values) -> Values:
        """Return the labels as each part encodes them: a record for each row, with a field for each part."""
        parts = {str(i): q.encoded(y) for i, q in enumerate(self.quantities) if q.labelled}
        records = np.empty(len(y), dtype=[(i, labels.dtype) for i, labels in parts.items()])
        for i, labels in parts.items():
            records[i] = labels
        return records

    def prepare(self, dataset: Dataset) -> Dataset:
        """Return the rows in the containers that the models take: in one if they agree, else in one for each."""
        tables = [dataset.table]
        for q in self.quantities:
            table = q.prepare(dataset).table
            # Frames are converted to the same array for all models that take arrays.
            known = (
                t for t in tables if isinstance(t, ArrayTable) and isinstance(table, ArrayTable)
            )
            tables.append(next((t for t in known if t.X.dtype == table.to_array().dtype), table))
        _, *tables = tables
        if all(table is tables[0] for table in tables):
            return self.with_labels(replace(dataset, table=tables[0], model_tables=()))
        return self.with_labels(replace(dataset, model_tables=tuple(tables)))

    def parts_on(self, dataset: Dataset) -> list[ModelPart]:
        tables = dataset.model_tables or (dataset.table,) * len(self.terms)
        targets = cast("NDArray[np.void] | None", dataset.targets)
        return [
            (
                q,
                replace(
                    dataset,
                    table=table,
                    model_tables=(),
                    targets=targets[str(i)] if q.labelled and targets is not None else None,
                ),
            )
            for i, (q, table) in enumerate(zip(self.quantities, tables, strict=True))
        ]

    def combined(self, parts: Sequence[Floats]) -> Floats:
        (first, _), *others = self.terms
        total = first * parts[0]
        for (factor, _), part in zip(others, parts[1:], strict=True):
            total += factor * part
        return total

    def with_parts(self, parts: Sequence[Quantity], round_off: Sequence[float]) -> Sum:
        factors = (factor for factor, _ in self.terms)
        terms = tuple(zip(factors, parts, strict=True))
        return replace(self, terms=terms, round_off=tuple(round_off))

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return slopes if all parts have them; steps if one is piecewise constant, else differences.

        Differences across bins are exact for a smooth part, too. Jumps are known if all parts are piecewise constant.
        """
        infos = [q.derivative_info(feature) for q in self.quantities]
        described = " and ".join(dict.fromkeys(info.description for info in infos))
        if all(info.kind == "slopes" for info in infos):
            exact, given = all(i.exact for i in infos), all(i.given for i in infos)
            return DerivativeInfo("slopes", described, exact, given=given)
        stepped = [info for info in infos if info.kind == "steps"]
        if not stepped:
            return super().derivative_info(feature)
        if len(stepped) < len(infos):
            return replace(stepped[0], breakpoints=None)
        jumps = [info.breakpoints for info in infos]
        searched = any(map(callable, jumps))
        return DerivativeInfo(
            "steps", described, breakpoints=_Jumps(infos) if searched else _Jumps(infos)()
        )

    @property
    def has_mixed(self) -> bool:
        return all(q.has_mixed for q in self.quantities)

    def evaluator(
        self,
        batch: Batch,
        copies: int = 1,
        eps: float = _EPS,
        used: BatchEvaluator | None = None,
        cache: ResponseCache | None = None,
    ) -> BatchEvaluator:
        of_trees = any(isinstance(model, ModelProxy) for model in self.models)
        kind = SumOfTreesEvaluator if of_trees else SumEvaluator
        return kind(self, batch, copies, eps, used, cache)


@dataclass(frozen=True)
class _Jumps:
    """The values at which one of several piecewise constant quantities jumps; None if they are not known of all."""

    infos: Sequence[DerivativeInfo]

    def __call__(self) -> Floats | None:
        found = [jumps for info in self.infos if (jumps := info.jumps()) is not None]
        return np.unique(np.concatenate(found)) if len(found) == len(self.infos) else None


def _terms(quantity: Quantity, other: object, sign: str) -> tuple[Addend, ...]:
    """Return the terms of the other operand; raise `UnsupportedError` if it is no quantity."""
    if isinstance(other, Quantity):
        return other.as_terms()
    fix = "Wrap a model first: sd.prediction(model)"
    if is_number(other):
        fix = "Numbers multiply: 0.5 * q"
    raise UnsupportedError(
        f"{quantity.describe()} {sign} …", with_article(title(other)), "a quantity", fix
    )


def several_and_one(terms: Sequence[Addend]) -> UnsupportedError:
    """Return the error for a sum of all outputs of one model and a single output of another."""
    return UnsupportedError(
        formula([(factor, q.describe()) for factor, q in terms]),
        "all outputs of one model, and one output of another",
        "as many outputs of each",
        "Choose one output of each: class_=, or output=",
    )


def formula(terms: Sequence[tuple[float, str]]) -> str:
    """Return a linear combination as text: "a − b", "0.5 · a + 0.5 · b"."""
    written = ""
    for factor, name in terms:
        size = "" if abs(factor) == 1.0 else f"{number(abs(factor), zeros=False)} · "
        sign = ("−" if factor < 0 else "") if not written else (" − " if factor < 0 else " + ")
        written += f"{sign}{size}{name}"
    return written


DIFFERENCE = "difference in"
"""How the names of differences of quantities with the same name begin."""


def name_of_sum(terms: Sequence[Addend]) -> str:
    """Return the default name of a linear combination."""
    names = {q.name for _, q in terms}
    added = sum(factor for factor, _ in terms if factor > 0)
    taken = -sum(factor for factor, _ in terms if factor < 0)
    if len(names) == 1 and len(terms) > 1 and np.isclose(added, 1.0):
        (name,) = names
        if np.isclose(taken, 1.0):
            return f"{DIFFERENCE} {name}"
        if taken == 0.0:
            equal = len({factor for factor, _ in terms}) == 1
            return f"{name} ({'' if equal else 'weighted '}mean of {len(terms)} models)"
    return formula([(factor, q.name) for factor, q in terms])


def argument_in(name: str, function: str) -> str | None:
    """Return what a name such as "log(rate)" is the logarithm of; None if it is not a function of one argument."""
    inside = name.removeprefix(f"{function}(").removesuffix(")")
    depths = list(itertools.accumulate((c == "(") - (c == ")") for c in inside))
    whole = len(name) - len(inside) == len(function) + 2
    return inside if whole and min(depths, default=0) >= 0 else None


def check_labels(name: object, unit: object) -> None:
    """Raise unless the name and the unit of a quantity are text, or None."""
    for what, text in (("name", name), ("unit", unit)):
        if text is not None and not isinstance(text, str):
            fix = f"Write {what}={str(text)!r}" if is_number(text) else "Leave it out"
            raise DataError(what, shown(text), "text", fix)
