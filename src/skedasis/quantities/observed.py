"""What was observed, as quantities with values at the rows only: `label`, and `residual`, label minus prediction."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack, cast, get_args

import numpy as np

from skedasis._arguments import check_option, shown
from skedasis._calls import checked_call
from skedasis._types import Floats, Ints, Level, ModelRows, OutputLabel, RawResponse, Values
from skedasis.data.dataset import Batch, Dataset
from skedasis.data.features import Feature
from skedasis.distributions.base import class_codes, label_numbers
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.calling import CallStats
from skedasis.models.introspection import classes_of
from skedasis.models.protocols import has_predict
from skedasis.quantities.base import Quantity, check_labels, given_labels
from skedasis.quantities.deviance import USUAL_POWER, Bernoulli, Family, Tweedie, check_power
from skedasis.quantities.keywords import (
    QuantityKeywords,
    named_and_called,
    takes_quantity_keywords,
)
from skedasis.quantities.loss import Loss, calls_of
from skedasis.quantities.outputs import (
    ClassLike,
    ModelLike,
    MultiOutputQuantity,
    Prediction,
    Probability,
    as_quantity,
    check_one_model,
    probability,
)

if TYPE_CHECKING:
    from skedasis.quantities.outputs import ClassifierLike

ResidualKind: TypeAlias = Literal["response", "poisson", "gamma", "tweedie", "bernoulli"]


# --- the label ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ObservedLabel(Quantity):
    """The label of a row: a number, or whether it is a class. Created by `label`. No model is called."""

    name: str = "label"
    unit: str | None = None
    class_: Hashable = None

    labelled = True
    observed_only = True

    def raw(self, X: ModelRows) -> RawResponse:
        """Return as many numbers as there are rows; they are not read."""
        return np.zeros(len(X))

    def read(self, raw: RawResponse, y: Values | None = None) -> Values:
        return given_labels(y)

    def without_model(self, batch: Batch) -> Floats:
        return batch.targets().astype(float, copy=False)

    def encoded(self, y: Values) -> Floats:
        """Return labels as numbers: as they are, or 1 for those of the class and 0 for others."""
        if self.class_ is not None:
            found = np.asarray(y == self.class_)
            return (found if found.shape == y.shape else np.zeros(len(y))).astype(float)
        return label_numbers(
            y, self.name, "Choose the class that counts as 1: sd.label(class_='yes')"
        )

    def outputs(
        self, dataset: Dataset, stats: CallStats | None = None, among: Ints | None = None
    ) -> Mapping[OutputLabel, Quantity]:
        """Return the quantity itself; raise if no row has the class. Of data in chunks, not all labels are at hand."""
        whole = dataset.drawable is dataset
        if self.class_ is not None and whole and not np.any(dataset.whole.targets()):
            some = shown(list(dict.fromkeys(np.asarray(dataset.y)[:10_000].tolist()))[:5])
            got, fix = f"{shown(self.class_)}, which no row has", "Choose one of the labels"
            raise DataError("label(class_)", got, f"a label, such as {some}", fix)
        return super().outputs(dataset, stats, among)


# --- the residual ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Residual(Loss):
    """The label minus the prediction, or the signed root of a deviance. Created by `residual`."""

    name: str = "residual"
    family: Family | None = field(default=None, kw_only=True)
    """The distribution whose deviance it is of; None for the plain difference."""
    among: Sequence[Level] = field(default=(), kw_only=True)
    """The classes as whose positions labels are encoded, where these are the outputs, which share them."""

    observed_only = True

    def encoded(self, y: Values) -> Values:
        """Return labels as numbers that the distribution has; for all classes together their positions."""
        if len(self.among):
            return class_codes(y, self.among, self.describe())
        numbers = self.of.observed_labels(y)
        return (
            numbers if self.family is None else self.family.check_labels(numbers, self.describe())
        )

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        labels, predicted = self.numbers(raw, y)
        if len(self.among):
            labels = (labels == self.of.place).astype(float)
        residual = labels - predicted
        if self.family is None:
            return residual
        predicted = self.family.check_means(predicted, self.describe())
        return np.copysign(np.sqrt(self.family.deviance(labels, predicted)), residual)

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return differences across bins, which no method asks for: rows are not moved."""
        return DerivativeInfo("steps", "no row is moved")


# --- the functions --------------------------------------------------------------------------------


@checked_call
def label(
    class_: Hashable | None = None, *, name: str | None = None, unit: str | None = None
) -> ObservedLabel:
    """Average the labels themselves, with the methods that move no rows. Needs y, and no model.

    Parameters
    ----------
    class_ : label, optional
        For labels that are classes: the one that counts as 1; others count as 0, so that means are its shares. By
        default labels are numbers.
    name : str, optional
        Label for the axes of plots. By default "label", or "y = yes" for a class "yes".
    unit : str, optional
        Unit of the labels, for the axes of plots.

    Returns
    -------
    Quantity

    Raises
    ------
    DataError
        On evaluation: if y is not given or has missing labels, if labels are no numbers and there is no `class_`, or if
        no row has this class (of `sd.parquet` that is not checked).
    UnsupportedError
        For methods that change values of features: labels of changed rows were not observed. `MPlot` averages the rows
        as they are; `explain(..., observed=True)` shows labels beside the effect of a model.

    Notes
    -----
    Costs no model rows.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X, y = np.array([[0.0], [0.0], [1.0]]), np.array(["yes", "no", "yes"])
    >>> sd.explain(sd.label("yes"), X, 0, y=y, method=sd.MPlot()).value
    array([0.5, 1. ])
    """
    check_labels(name, unit)
    if isinstance(class_, Quantity) or callable(class_) or has_predict(class_):
        got, fix = f"a {type(class_).__name__}", "Leave it out; sd.residual(model) has one"
        raise DataError("label(class_)", got, "a label: there is no model", fix)
    return ObservedLabel(name or ("label" if class_ is None else f"y = {class_}"), unit, class_)


@takes_quantity_keywords
def residual(
    model: ModelLike,
    kind: ResidualKind = "response",
    *,
    class_: ClassLike = None,
    power: float = USUAL_POWER,
    **keywords: Unpack[QuantityKeywords],
) -> Quantity:
    """Average what a model leaves, with the methods that move no rows: label minus prediction. Needs y.

    Parameters
    ----------
    model : fitted estimator, callable, or quantity
        What labels are compared with. Of a quantity it is the scale that they are on: the prediction itself for
        ``inverse="log"``, its exponential for ``link="log"``, the probability for log odds.
    kind : {"response", "poisson", "gamma", "tweedie", "bernoulli"}
        "response" is the label minus the prediction; for a probability the label is 1 if the row belongs to the class,
        else 0. The others are deviance residuals, ``sign(y - f) * sqrt(deviance)``: of about equal variance where the
        model is right, so that means over few rows have errors that are alike. See `loss` for the deviances; that of
        "bernoulli" is twice the log loss.
    class_ : label, optional
        For a classifier, as in `probability`: by default the second of two classes; "all" gives an output for each.
    power : float
        The power of the Tweedie deviance, as in `loss`.
    name : str, optional
        Label for the axes of plots. By default "residual", with the name of the quantity.
    unit : str, optional
        Unit for the axes of plots. By default the quantity's unit; none for a deviance residual.

    Returns
    -------
    Quantity

    Raises
    ------
    DataError
        For an unknown `kind`, a `power` that does not apply, and `class_` beside a quantity. On evaluation: if y is not
        given, or has labels that the model or the distribution does not have.
    ModelOutputError
        For more than two classes without `class_`. On evaluation: for predictions that the distribution does not have,
        such as negative rates.
    UnsupportedError
        For a quantity that is not compared with labels. For methods that change values of features, as `label`.

    Notes
    -----
    Costs a model row for each row, none for trees that are evaluated from their structure. Probabilities are kept at
    least 2.2e-16 from 0 and 1 for the deviance of "bernoulli".

    The mean residual of rows is 0 where a model is right on average. Its `MPlot` tells where it is not along a feature.

    References
    ----------
    McCullagh & Nelder (1989), Generalized Linear Models, sec. 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X, y = np.array([[0.0], [0.0], [1.0]]), np.array([1.0, 2.0, 5.0])
    >>> rate = lambda X: 1.0 + 3.0 * X[:, 0]
    >>> sd.residual(rate).at(X, y)
    array([0., 1., 1.])
    >>> sd.residual(rate, "poisson").at(X, y).round(3)
    array([0.   , 0.879, 0.481])
    """
    check_option("residual(kind)", kind, get_args(ResidualKind))
    power = check_power("residual", power, kind == "tweedie", "kind='tweedie'")
    name, unit, calls = named_and_called(keywords)
    check_one_model(model, "residual", "sd.residual(m)")
    if class_ is None:
        quantity = as_quantity(model)
    elif isinstance(model, Quantity):
        got, expected = f"class_={shown(class_)} beside {model.describe()}", "a fitted classifier"
        raise DataError("residual(class_)", got, expected, "Leave class_ out, or pass the model")
    else:
        quantity = probability(cast("ClassifierLike", model), class_)
    family = _family(kind, power)

    def of_one(quantity: Quantity, among: Sequence[Level] = ()) -> Residual:
        of = quantity.label_scale("residual(model)")
        if not isinstance(of, (Prediction, Probability)):
            got, fix = quantity.describe(), "Pass a function that returns the mean prediction"
            raise UnsupportedError("residual(model)", got, "a quantity of one model", fix)
        said = f"{NAMES[kind]} of {of.name}" if of.name != "prediction" else NAMES[kind]
        own, own_unit = name or said, unit or (of.unit if family is None else None)
        # The prediction takes the residual's name, so that its errors show which quantity failed.
        of = replace(of, name=own)
        settings = calls_of(of, calls)
        return Residual(of, own, own_unit, family=family, among=among, **settings)

    if not isinstance(quantity, MultiOutputQuantity) or not isinstance(quantity.one, Probability):
        return of_one(quantity)
    among: Sequence[Level] = np.asarray(classes_of(quantity.one.model)).tolist()
    parts = {label: of_one(part, among) for label, part in quantity.parts.items()}
    return MultiOutputQuantity(next(iter(parts.values())), parts, name or NAMES[kind], unit)


NAMES: dict[ResidualKind, str] = {
    "response": "residual",
    "poisson": "Poisson deviance residual",
    "gamma": "gamma deviance residual",
    "tweedie": "Tweedie deviance residual",
    "bernoulli": "deviance residual",
}


def _family(kind: ResidualKind, power: float) -> Family | None:
    """Return the distribution whose deviance a kind of residual is of; None for the plain difference."""
    if kind == "response":
        return None
    powers = {"poisson": 1.0, "gamma": 2.0, "tweedie": power}
    return Tweedie(powers[kind]) if kind in powers else Bernoulli()
