"""From what stands in a shell to what the library takes: models, columns, quantities, methods."""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.data.files import Table
    from skedasis.data.schema import Feature

FILES = (".txt", ".json", ".ubj", ".onnx")
"""What the files of LightGBM, XGBoost and ONNX end with."""
METHODS = ("rhale", "ale", "dale", "uale", "pdp", "ice", "mplot")


def load_model(spec: str) -> Any:
    """Import a model by its path, such as ``my_module:model``, or open the file that its library has saved.

    For modules the working directory is searched first.

    Raises
    ------
    DataError
        For a path of another form, a module or a name that is not there, and files that hold no whole model.
    """
    if ":" not in spec and Path(spec).suffix.lower() in FILES:
        from skedasis.quantity.files import opened

        return opened(spec)
    module_name, colon, path = spec.partition(":")
    if not (module_name and colon and path):
        raise DataError(
            explained(
                "--model",
                repr(spec),
                f"MODULE:OBJECT, or a file {', '.join(FILES)}",
                "Write it as my_module:model",
            )
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise DataError(
                explained(
                    f"--model {spec}",
                    f"a module that needs {error.name!r}, which is not installed",
                    "a module that can be imported",
                    f"Install it: pip install {error.name}",
                )
            ) from error
        got, fix = f"no module {error.name!r}", f"Run it from the folder that holds {error.name}.py"
        raise DataError(explained("--model", got, "a module", fix)) from error
    for name in path.split("."):
        if not hasattr(found, name):
            public = [n for n in vars(found) if not n.startswith("_")][:12]
            got = f"no {name!r} in {module_name}"
            raise DataError(explained("--model", got, f"one of {public}", "Name one of them"))
        found = getattr(found, name)
    return found


def features_of(table: Table, model: Any, target: str | None) -> Table:
    """Return the columns that a model was fitted on, or all but the target."""
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is not None:
        return table.select([str(name) for name in fitted])
    if target is None:
        return table
    table.place(target, "--target")
    return table.select([name for name in table.names if name != target])


def labelled(table: Table, target: str) -> tuple[Table, int]:
    """Return the rows that have a label, and how many have none.

    Raises
    ------
    DataError
        For a target that is no column, or has no value at all.
    """
    import numpy as np

    from skedasis.data.coding import missing_among

    table.place(target, "--target")
    missing = missing_among(table.column(target))
    left = int(missing.sum())
    if left == len(table):
        raise DataError(
            explained("--target", f"{target!r} without any value", "labels", "Name another column")
        )
    return (table.take(np.flatnonzero(~missing)) if left else table), left


def quantity_of(model: Any, class_: str | None) -> Any:
    """Return what is explained of a model: with ``--class``, that class's probability."""
    from skedasis.quantity.outputs import probability
    from skedasis.quantity.wrap import as_quantity

    if class_ is None:
        return as_quantity(model)
    # A shell knows text only; a label may be a number or a truth value.
    labels = [label for label in getattr(model, "classes_", ()) if str(label) == class_]
    return probability(
        model, class_=labels[0].item() if labels and hasattr(labels[0], "item") else class_
    )


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

    def features(self, wanted: str | int | tuple[str | int, ...]) -> tuple[Feature, ...]:
        """Return the one or two features that are meant."""
        from skedasis.data.given import as_source
        from skedasis.engine.choose import Choice

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
    from skedasis.data.schema import Feature

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
    from skedasis.engine import as_method, method_called

    way = as_method(name)
    if bins is None:
        return way
    key = "grid" if name.lower() in ("pdp", "ice") else "bins"
    return method_called(name.lower())(**{key: bins})


def usual_method(features: Sequence[Feature]) -> str:
    """Return the method where none was named: RHALE has no form for pairs, nor for levels without an order."""
    return "ale" if len(features) > 1 or features[0].kind == "nominal" else "rhale"
