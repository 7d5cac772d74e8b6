"""From what stands in a shell to what the library takes: columns, quantities, methods."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skedasis.cli.complete import QUANTITIES
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.data.features import Feature
    from skedasis.data.readers import Table


def labelled(table: Table, target: str) -> tuple[Table, int]:
    """Return the rows that have a label, and how many have none.

    Raises
    ------
    DataError
        For a target that is no column, or has no value at all.
    """
    import numpy as np

    from skedasis.data.factorize import missing_among

    table.place(target, "--target")
    missing = missing_among(table.column(target))
    left = int(missing.sum())
    if left == len(table):
        raise DataError(
            explained("--target", f"{target!r} without any value", "labels", "Name another column")
        )
    return (table.take(np.flatnonzero(~missing)) if left else table), left


def class_of(model: Any, class_: str) -> Any:
    """Return a class as the model knows it: a shell knows text only, a label may be a number or a truth value."""
    labels = [label for label in getattr(model, "classes_", ()) if str(label) == class_]
    return labels[0].item() if labels and hasattr(labels[0], "item") else class_


def output_of(class_: str) -> int | str:
    """Return which output of a model is meant that names no classes: a booster's, a network's.

    Raises
    ------
    DataError
        For what is no number.
    """
    if class_ == "all":
        return class_
    if not class_.isdecimal():
        got = f"{class_!r}, of a model that names no classes"
        raise DataError(
            explained("--class", got, "the number of an output, or all", "Count from 0")
        )
    return int(class_)


def quantity_of(
    model: Any, class_: str | None, kind: str | None = None, loss: str | None = None
) -> Any:
    """Return what is explained of a model.

    Parameters
    ----------
    model : object
    class_ : str, optional
        The class whose probability or logit is meant.
    kind : str, optional
        One of `complete.QUANTITIES`; None leaves it to the model, and is a probability where a class is named.
    loss : str, optional
        Of ``loss``, which it stands for where no kind is named.

    Raises
    ------
    DataError
        For a kind that is none, and options that do not go together.
    """
    from skedasis.quantities import outputs, uncertainty
    from skedasis.quantities.outputs import as_quantity

    asked, kind = kind, kind_of(kind, class_, loss)
    if kind is None:
        return as_quantity(model)
    if kind == "loss":
        return _loss(model, loss)
    if kind in ("probability", "logit"):
        if class_ is not None and asked is None and not hasattr(model, "predict_proba"):
            return outputs.prediction(model, output=output_of(class_))
        label = None if class_ is None else class_of(model, class_)
        make: Any = getattr(outputs, kind)
        return make(model, class_=label)
    kinds = {
        "prediction": outputs.prediction,
        "likelihood": uncertainty.nll,
        "entropy": uncertainty.entropy,
        "variance": uncertainty.predictive_variance,
    }
    return kinds[kind](model)


def kind_of(kind: str | None, class_: str | None, loss: str | None) -> str | None:
    """Return the kind of quantity that options ask for, None where they leave it to the model.

    Raises
    ------
    DataError
        For a kind that is none, and options that do not go together.
    """
    if kind is None:
        kind = "loss" if loss is not None else None if class_ is None else "probability"
    elif kind not in QUANTITIES:
        got, fix = repr(kind), "Name one"
        raise DataError(explained("--quantity", got, f"one of {', '.join(QUANTITIES)}", fix))
    if loss is not None and kind != "loss":
        raise DataError(
            explained("--loss", f"--quantity {kind}", "--quantity loss", "Leave one of them out")
        )
    if class_ is not None and kind not in ("probability", "logit"):
        raise DataError(
            explained(
                "--class",
                f"--quantity {kind}",
                "--quantity probability or logit",
                "Leave one of them out",
            )
        )
    return kind


def _loss(model: Any, kind: str | None) -> Any:
    from skedasis.models.introspection import is_classifier
    from skedasis.quantities.loss import loss

    return loss(model, kind or ("zero_one" if is_classifier(model) else "squared_error"))


def check_labels(
    kind: str | None, class_: str | None, loss: str | None, target: str | None
) -> bool:
    """Check options of a quantity before anything is read; return whether it is one of the labels.

    Raises
    ------
    DataError
        For options that do not go together, and labels that are needed and not named.
    """
    kind = kind_of(kind, class_, loss)
    if kind not in ("likelihood", "loss"):
        return False
    if target is None:
        got, fix = f"none, for --quantity {kind}", "Name it, or leave the quantity out"
        raise DataError(explained("--target", got, "the column of the labels", fix))
    return True


@dataclass(frozen=True, eq=False)
class Columns:
    """A file's columns, and what was said about them.

    Parameters
    ----------
    table : Table
    schema : dict, optional
        As `skedasis.explain` takes it.
    groups : dict of str to list of int, optional
        Columns that move together, by their places.
    """

    table: Table
    schema: dict[Any, Any] | None
    groups: dict[str, list[int]] | None

    def find(self, name: str, option: str) -> str | int:
        """Return a group by its name, a column by its place.

        Raises
        ------
        DataError
            Where there is none: the message suggests the nearest name.
        """
        return name if name in (self.groups or {}) else self.table.place(name, option)

    def name(self, wanted: str | int) -> str:
        """Return a group's or column's name."""
        return wanted if isinstance(wanted, str) else self.table.names[wanted]

    def features(self, wanted: str | int | tuple[str | int, ...]) -> tuple[Feature, ...]:
        """Return the one or two features that are meant."""
        from skedasis.data.dataset import as_source
        from skedasis.engine.select import Choice

        source = as_source(self.table.data, None, None, self.schema)
        return Choice(source, wanted, self.groups).asked[0]


def columns_of(
    table: Table, categorical: Sequence[str] | None, group: Sequence[str] | None
) -> Columns:
    """Return a table's columns with what ``--categorical`` and ``--group`` say of them.

    Raises
    ------
    DataError
        For columns that are not there, and groups of another form.
    """
    schema: dict[Any, Any] = dict(table.schema or {})
    for name in categorical or ():
        place = table.place(name, "--categorical")
        schema |= {name: "nominal"} if table.is_frame else {place: _nominal(name, place)}
    groups: dict[str, list[int]] = {}
    for text in group or ():
        name, columns = _group(text)
        if name in groups:
            fix = "Give each group a name of its own"
            raise DataError(explained("--group", f"{name!r} twice", "different names", fix))
        groups[name] = [table.place(column, "--group") for column in columns]
    return Columns(table, schema or None, groups or None)


def _nominal(name: str, place: int) -> Feature:
    from skedasis.data.features import Feature

    return Feature(name, "nominal", position=place)


def _group(text: str) -> tuple[str, list[str]]:
    """Return a group's name and columns; those that contain a comma stand in quotation marks, as in a CSV file."""
    name, sign, rest = text.partition("=")
    columns = [c.strip() for c in next(csv.reader([rest], skipinitialspace=True), [])]
    if not (name.strip() and sign and columns and all(columns)):
        fix = "Write it as --group district=district_a,district_b"
        raise DataError(explained("--group", repr(text), "NAME=COLUMN,COLUMN", fix))
    return name.strip(), columns


def method_of(name: str, bins: int | None) -> Any:
    """Return a method by its name, with a number of bins or points if one is given.

    Raises
    ------
    DataError
        For a name that is no method's.
    """
    from skedasis.engine.select import as_method, method_called

    way = as_method(name)
    if bins is None:
        return way
    key = "grid" if name.lower() in ("pdp", "ice") else "bins"
    return method_called(name.lower())(**{key: bins})


def usual_method(features: Sequence[Feature]) -> str:
    """Return the method where none was named: RHALE has no form for pairs, nor for levels without an order."""
    return "ale" if len(features) > 1 or features[0].kind == "nominal" else "rhale"
