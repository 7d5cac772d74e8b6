"""`skedasis importance`: how much a model needs each feature, and whether that can be taken at its word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skedasis.cli import ask, given, tell
from skedasis.cli.complete import IMPORTANCES, LOSSES, importances, losses
from skedasis.cli.given import (
    Data,
    DataArgument,
    FeatureArguments,
    Features,
    Model,
    ModelArgument,
    Trust,
)
from skedasis.cli.order import Told
from skedasis.cli.tell import Out
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained

if TYPE_CHECKING:
    from skedasis.cli.ask import Columns
    from skedasis.cli.given import Rows
    from skedasis.cli.talk import Talk

_LABELLED = ("both", "likelihood", "loss")
_FOREST_ROWS = 2000, 100
"""What `sd.diagnose` takes by default, and what a forest should have however few rows are asked for."""
IMPORTANCE_EXAMPLES = """Examples

\b
skedasis importance my:clf houses.csv --target sold
    likelihood and entropy of each feature, and a verdict
skedasis importance my:clf houses.csv --target sold -o sold.png
    the same as a figure
skedasis importance model.txt houses.csv --target price --loss absolute_error
    permutation importance of a loss
skedasis importance model.txt houses.csv --target price --weights visits
    some rows count more than once
skedasis importance my:model houses.csv age size --target price
    of some features
skedasis importance my:clf houses.csv --quantity entropy --sample 100
    what makes the model certain, at a hundred rows: needs no target
skedasis importance my:clf houses.csv --target sold --group fuel=gas,oil,wood
    columns that move together
skedasis importance my:clf houses.csv --target sold --json
    for machines
"""


@dataclass(frozen=True, kw_only=True)
class ImportanceOrder(Features, Model, Trust, Data, Told):
    """The options of `skedasis importance`."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None
    out: Out = None
    quantity: Annotated[
        str | None,
        typer.Option(
            help=f"What rises when a feature's values are replaced: {', '.join(IMPORTANCES)}. By default both "
            "(likelihood and entropy, with a verdict) of a model with a predictive distribution, else its loss.",
            show_default=False,
            metavar="NAME",
            autocompletion=importances,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(LOSSES)}. By default squared_error, of classes zero_one.",
            show_default=False,
            metavar="NAME",
            autocompletion=losses,
        ),
    ] = None
    repeats: Annotated[
        int, typer.Option(help="Permutations of each feature.", metavar="N", min=1)
    ] = 10
    conditional: Annotated[
        bool,
        typer.Option(
            "--conditional",
            help="Replace values within groups of rows that are alike in the rest; of likelihood and loss.",
        ),
    ] = False
    rows: Annotated[
        int | None,
        typer.Option(
            help="Replace values in a sample of so many rows; by default in all.",
            metavar="N",
            min=1,
        ),
    ] = None
    threads: Annotated[int, typer.Option(help="Threads that work.", metavar="N", min=1)] = 1


@dataclass(frozen=True)
class Asked:
    """What the options ask for.

    Parameters
    ----------
    quantity : str, optional
        One of `complete.IMPORTANCES`; None leaves it to the model.
    loss : str, optional
    repeats : int
    rows : int, optional
    conditional : bool
    class_ : str, optional
    seed : int
    features : tuple of str
        By their names; all of them where none is named.
    threads : int
    """

    quantity: str | None
    loss: str | None
    repeats: int
    rows: int | None
    conditional: bool
    class_: str | None
    seed: int
    features: tuple[str, ...]
    threads: int

    def __post_init__(self) -> None:
        if self.quantity is not None and self.quantity not in IMPORTANCES:
            known = ", ".join(IMPORTANCES)
            raise DataError(
                explained("--quantity", repr(self.quantity), f"one of {known}", "Name one")
            )
        if self.class_ is not None and self.quantity != "prediction":
            self._refuse("--class", "prediction", "Name it, or leave --class out")
        if self.loss is not None and self.quantity not in (None, "loss"):
            self._refuse("--loss", "loss", "Leave --quantity out")
        if self.conditional and self.quantity in ("both", "entropy", "variance", "prediction"):
            # Drawn from its conditional distribution a feature leaves the joint one as it is (Proposition 3).
            self._refuse("--conditional", "likelihood or loss", "Leave --conditional out")
        if self.features and self.quantity == "both":
            # What features share is found out of all of them.
            self._refuse("FEATURE", "likelihood or entropy", "Name one, or no feature")

    def _refuse(self, option: str, expected: str, fix: str) -> None:
        got = "no --quantity" if self.quantity is None else f"--quantity {self.quantity}"
        raise DataError(explained(option, got, f"--quantity {expected}", fix))

    @property
    def method(self) -> Any:
        """Return the method."""
        from skedasis.methods.permutation import PFI

        return PFI(repeats=self.repeats, max_samples=self.rows, conditional=self.conditional)


def importance(order: ImportanceOrder, talk: Talk) -> dict[str, Any]:
    """Say how much a model needs each feature: print the numbers, and write a figure or the numbers into a file.

    Bring rows that the model was not trained on. Of rows that it knows by heart, values of other rows make it worse and
    less certain whatever the feature is: even noise looks important, and shared.
    """
    models, data, more = given.placed(
        order.model, order.data, order.model_, order.data_, order.more
    )
    named = [*more, *(order.feature or ()), *given.listed(order.features, "--features")]
    asked = Asked(
        order.quantity,
        order.loss,
        order.repeats,
        order.rows,
        order.conditional,
        order.class_,
        order.seed,
        tuple(dict.fromkeys(named)),
        order.threads,
    )
    path = given.needed(models, data, "importance")
    tell.check_out(order.out, [path, *models])
    # The columns that are named are looked for at once: a model may take long to load.
    table = given.read(order, path, talk, order.bars)
    model = given.load(order, models[0], talk, order.bars)
    labelled = asked.quantity in (None, *_LABELLED)
    rows = given.rows_of(order, table, talk, labelled=labelled)
    columns = given.columns_of(order, rows.table, model)
    asked = _settled(asked, model, columns, rows.labels, talk)
    found = _found(asked, model, columns, rows, order.bars)
    several = found.items() if isinstance(found, dict) else None
    results: Any = (
        [({}, found)] if several is None else [({"class": label}, one) for label, one in several]
    )
    return {"rows": rows.counts, **tell.tell(results, order.out, talk, [path, *models])}


def _settled(asked: Asked, model: Any, columns: Columns, labels: Any, talk: Talk) -> Asked:
    """Settle what the options leave open, and say so.

    Raises
    ------
    DataError
        For labels that are needed and not there.
    """
    from skedasis.models.introspection import title

    if asked.quantity is None:
        predictive = asked.loss is None and _is_predictive(model, columns)
        usual = "likelihood" if asked.conditional or asked.features else "both"
        asked = replace(asked, quantity=usual if predictive else "loss")
        if not predictive and asked.loss is None:
            asked = replace(asked, loss=_usual_loss(model, labels))
            talk.say(f"loss      {asked.loss}, for {title(model)} says nothing of its uncertainty")
    if asked.quantity == "loss" and asked.loss is None:
        asked = replace(asked, loss=_usual_loss(model, labels))
    if asked.quantity in _LABELLED and labels is None:
        raise DataError(
            explained(
                "--target",
                f"none, for --quantity {asked.quantity}",
                "the column of the labels",
                "Name it, or use --quantity entropy or prediction, which need no labels",
            )
        )
    return asked


def _is_predictive(model: Any, columns: Columns) -> bool:
    """Return whether a model has a predictive distribution. A function tells by its answer for two rows."""
    from skedasis.quantities.uncertainty import entropy

    try:
        certain = entropy(model)
    except UnsupportedError:
        return False
    if hasattr(model, "predict"):
        return True
    two = list(range(min(2, len(columns.table))))
    try:
        certain.at(columns.table.take(two).data)  # type: ignore[arg-type]
    except (ModelOutputError, UnsupportedError):
        return False
    return True


def _usual_loss(model: Any, labels: Any) -> str:
    from skedasis.models.introspection import is_classifier

    text = labels is not None and labels.dtype.kind not in "fiub"
    return "zero_one" if is_classifier(model) or text else "squared_error"


def _found(asked: Asked, model: Any, columns: Columns, rows: Rows, bars: bool | None) -> Any:
    """Do the work."""
    from skedasis.analysis.diagnose import diagnose
    from skedasis.engine.explain import explain

    data: Any = columns.table.data
    said: Any = {"schema": columns.schema, "groups": columns.groups}
    said |= {"weights": rows.weights, "progress": bars, "threads": asked.threads}
    if asked.quantity != "both":
        quantity = _quantity(asked, model)
        wanted = [columns.find(name, "FEATURE") for name in asked.features] or None
        said |= {"y": rows.labels, "method": asked.method, "seed": asked.seed}
        return explain(quantity, data, wanted, **said)
    usual, least = _FOREST_ROWS
    return diagnose(
        model,
        data,
        rows.labels,
        repeats=asked.repeats,
        max_samples=asked.rows,
        dependence_rows=usual if asked.rows is None else min(usual, max(least, asked.rows)),
        seed=asked.seed,
        **said,
    )


def _quantity(asked: Asked, model: Any) -> Any:
    from skedasis.quantities import uncertainty
    from skedasis.quantities.loss import loss

    if asked.quantity == "loss":
        return loss(model, asked.loss or "squared_error")
    if asked.quantity == "prediction":
        return ask.quantity_of(model, asked.class_)
    kinds = {
        "likelihood": uncertainty.nll,
        "entropy": uncertainty.entropy,
        "variance": uncertainty.predictive_variance,
    }
    return kinds[str(asked.quantity)](model)
