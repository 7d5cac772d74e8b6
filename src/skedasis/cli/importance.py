"""`skedasis importance`: how much a model needs each feature, and whether that can be taken at its word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skedasis.cli import ask, tell
from skedasis.cli.options import AnyClass, Categorical, Data, Groups, Model, Out
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained

if TYPE_CHECKING:
    from skedasis.cli.ask import Columns

QUANTITIES = ("both", "likelihood", "entropy", "variance", "loss", "prediction")
_LABELLED = ("both", "likelihood", "loss")
_FOREST_ROWS = 2000, 100
"""What `sd.diagnose` takes by default, and what a forest should have however few rows are asked for."""
Labels = Annotated[
    str | None,
    typer.Option(
        help="The column of the labels; entropy and prediction need none.", metavar="COLUMN"
    ),
]
Quantity = Annotated[
    str | None,
    typer.Option(
        help=f"What rises when a feature's values are replaced: {', '.join(QUANTITIES)}. By default both (likelihood "
        "and entropy, with a verdict) of a model with a predictive distribution, else its loss.",
        show_default=False,
        metavar="NAME",
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        help="squared_error, absolute_error, pinball, log_loss or zero_one. By default squared_error, of classes "
        "zero_one.",
        show_default=False,
        metavar="NAME",
    ),
]
Conditional = Annotated[
    bool,
    typer.Option(
        "--conditional",
        help="Replace values within groups of rows that are alike in the rest; of likelihood and loss.",
    ),
]
IMPORTANCE_EXAMPLES = """Examples

\b
skedasis importance --model my:clf --data houses.csv --target sold
    likelihood and entropy of each feature, and a verdict
skedasis importance --model my:clf --data houses.csv --target sold --out sold.png
    the same as a figure
skedasis importance --model my:model --data houses.csv --target price --loss absolute_error
    permutation importance of a loss
skedasis importance --model my:clf --data houses.csv --quantity entropy
    what makes the model certain: needs no target
skedasis importance --model my:clf --data houses.csv --target sold --group heating=gas,oil,wood
    columns that move together
"""


@dataclass(frozen=True)
class Asked:
    """What the options ask for.

    Parameters
    ----------
    quantity : str, optional
        One of `QUANTITIES`; None leaves it to the model.
    loss : str, optional
    repeats : int
    rows : int, optional
    conditional : bool
    class_ : str, optional
    seed : int
    """

    quantity: str | None
    loss: str | None
    repeats: int
    rows: int | None
    conditional: bool
    class_: str | None
    seed: int

    def __post_init__(self) -> None:
        if self.quantity is not None and self.quantity not in QUANTITIES:
            known = ", ".join(QUANTITIES)
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

    def _refuse(self, option: str, expected: str, fix: str) -> None:
        got = "no --quantity" if self.quantity is None else f"--quantity {self.quantity}"
        raise DataError(explained(option, got, f"--quantity {expected}", fix))

    @property
    def method(self) -> Any:
        """Return the method."""
        from skedasis.methods.pfi import PFI

        return PFI(repeats=self.repeats, max_samples=self.rows, conditional=self.conditional)


def importance_command(  # noqa: PLR0917 - typer names them all
    model: Model,
    data: Data,
    target: Labels = None,
    quantity: Quantity = None,
    loss: Loss = None,
    repeats: Annotated[int, typer.Option(help="Permutations of each feature.", min=1)] = 10,
    conditional: Conditional = False,
    rows: Annotated[
        int | None,
        typer.Option(help="Take a sample of so many rows; by default all.", min=1),
    ] = None,
    class_: AnyClass = None,
    categorical: Categorical = None,
    group: Groups = None,
    out: Out = None,
    seed: int = 0,
) -> None:
    """Say how much a model needs each feature: print the numbers, and write a figure or the numbers into a file.

    Bring rows that the model was not trained on. Of rows that it knows by heart, values of other rows make it worse and
    less certain whatever the feature is: even noise looks important, and shared.
    """
    from skedasis.data.files import read_table

    tell.checked_ending(out)
    asked = Asked(quantity, loss, repeats, rows, conditional, class_, seed)
    table = read_table(data)
    if target is not None:  # told at once: a model may take long to load
        table.place(target, "--target")
    loaded = ask.load_model(model)
    if target is not None and asked.quantity in (None, *_LABELLED):
        table, left = ask.labelled(table, target)
        if left:
            tell.say(f"left out  {left:,} rows without a {target}")
    labels = None if target is None else table.column(target)
    columns = ask.columns_of(ask.features_of(table, loaded, target), categorical, group)
    asked = _settled(asked, loaded, columns, labels)
    tell.tell(_found(asked, loaded, columns, labels), out)


def _settled(asked: Asked, model: Any, columns: Columns, labels: Any) -> Asked:
    """Settle what the options leave open, and say so.

    Raises
    ------
    DataError
        For labels that are needed and not there.
    """
    from skedasis.quantity.fitted import title

    if asked.quantity is None:
        predictive = asked.loss is None and _is_predictive(model, columns)
        usual = "likelihood" if asked.conditional else "both"
        asked = replace(asked, quantity=usual if predictive else "loss")
        if not predictive and asked.loss is None:
            asked = replace(asked, loss=_usual_loss(model, labels))
            tell.say(f"loss      {asked.loss}, for {title(model)} says nothing of its uncertainty")
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
    from skedasis.quantity.uncertainty import entropy

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
    from skedasis.quantity.fitted import is_classifier

    text = labels is not None and labels.dtype.kind not in "fiub"
    return "zero_one" if is_classifier(model) or text else "squared_error"


def _found(asked: Asked, model: Any, columns: Columns, labels: Any) -> Any:
    """Do the work."""
    from skedasis.analysis import diagnose
    from skedasis.engine import explain

    data: Any = columns.table.data
    given: Any = {"schema": columns.schema, "groups": columns.groups}
    if asked.quantity != "both":
        quantity = _quantity(asked, model)
        return explain(quantity, data, y=labels, method=asked.method, seed=asked.seed, **given)
    usual, least = _FOREST_ROWS
    return diagnose(
        model,
        data,
        labels,
        repeats=asked.repeats,
        max_samples=asked.rows,
        dependence_rows=usual if asked.rows is None else min(usual, max(least, asked.rows)),
        seed=asked.seed,
        **given,
    )


def _quantity(asked: Asked, model: Any) -> Any:
    from skedasis.quantity import uncertainty
    from skedasis.quantity.loss import loss

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
