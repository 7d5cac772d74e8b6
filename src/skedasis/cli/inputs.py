"""Inputs of the commands: models, data, columns, quantities and methods from text."""

from __future__ import annotations

import csv
import difflib
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from skedasis.cli.completion import QUANTITIES
from skedasis.cli.options import Data, Rows, Trust
from skedasis.data.readers import read_table
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.cli.output import Talk
    from skedasis.data.features import Feature
    from skedasis.data.readers import Table


# ------------------------------------------------------------------------------------------
# What a command is given: a model, a file, and what its columns are. The options that say so, and what they give.


def placed(
    model: Sequence[str] | str | None,
    data: str | None,
    first: str | None,
    second: str | None,
    rest: Sequence[str] | None,
) -> tuple[list[str], str | None, list[str]]:
    """Return models, file and features: options by their names, then arguments in the order of what is still missing.

    Examples
    --------
    >>> placed(None, None, "m.txt", "d.csv", ["age"])
    (['m.txt'], 'd.csv', ['age'])
    >>> placed("m.txt", None, "d.csv", "age", [])
    (['m.txt'], 'd.csv', ['age'])
    """
    specs = [model] if isinstance(model, str) else list(model or ())
    waiting = [a for a in (first, second, *(rest or ())) if a is not None]
    if not specs and waiting:
        specs = [waiting.pop(0)]
    if data is None and waiting:
        data = waiting.pop(0)
    return specs, data, waiting


def listed(names: str | None, option: str) -> list[str]:
    """Return names with commas between them; those that contain one stand in quotation marks.

    Raises
    ------
    DataError
        For a list with nothing in it, or nothing between two commas.
    """
    if names is None:
        return []
    found = [n.strip() for n in next(csv.reader([names], skipinitialspace=True), [])]
    if not found or not all(found):
        raise DataError(
            explained(option, repr(names), "COLUMN,COLUMN", f"Write it as {option} age,town")
        )
    return found


def read(order: Data, path: str, talk: Talk, bars: bool | None) -> Table:
    """Read the file, and look whether it has the columns that are named beside the features.

    Raises
    ------
    DataError
    """
    with talk.at_work(f"Reading {path}", bars):
        table = read_table(Path(path))
    beside = [(order.target, "--target"), (order.weights, "--weights")]
    for name, option in (*beside, *((n, "--ignore") for n in order.ignore or ())):
        if name is not None:
            table.place(name, option)
    if order.target is not None and order.target == order.weights:
        got, fix = f"{order.weights!r}, which is --target too", "Name another column"
        raise DataError(explained("--weights", got, "a column of its own", fix))
    return table


def rows_of(order: Data, table: Table, talk: Talk, *, labelled: bool) -> Rows:
    """Return the rows to explain on: those with a label where one is needed, and a sample of them where one is wanted.

    Parameters
    ----------
    order : Data
    table : Table
    talk : Talk
    labelled : bool
        Whether rows without a label are left out.
    """
    import numpy as np

    everything, left = len(table), 0
    if labelled and order.target is not None:
        table, left = label_column(table, order.target)
        if left:
            talk.say(f"left out  {left:,} rows without a {order.target}")
    if order.sample is not None and order.sample < len(table):
        some = np.random.default_rng(order.seed).choice(len(table), order.sample, replace=False)
        talk.say(f"sample    {order.sample:,} of {len(table):,} rows, seed {order.seed}")
        table = table.take(np.sort(some))
    return Rows(
        table,
        None if order.target is None else table.column(order.target),
        None if order.weights is None else table.column(order.weights),
        everything,
        left,
    )


def columns_of(order: Data, table: Table, model: Any) -> Columns:
    """Return the columns that a model takes, and what was said of them."""
    beside = [n for n in (order.target, order.weights, *(order.ignore or ())) if n is not None]
    return parse_columns(features_of(table, model, beside), order.categorical, order.group)


def load(order: Trust, spec: str, talk: Talk, bars: bool | None) -> Any:
    """Load a model."""
    with talk.at_work(f"Loading {spec}", bars):
        return load_model(spec, tuple(order.trust or ()), pickle=order.trust_pickle)


# ------------------------------------------------------------------------------------------
# Models: imported by their path or read from a file, and the columns that they were fitted on.


DATA = (".csv", ".tsv", ".gz", ".parquet", ".pq", ".feather", ".arrow", ".ipc")
"""Endings of files that hold rows and never a model."""


def load_model(spec: str, trust: Sequence[str] = (), *, pickle: bool = False) -> Any:
    """Import a model by its path, such as ``my_module:model``, or open the file that its library has saved.

    For modules, and for what a pickle needs, the working directory is searched first.

    Parameters
    ----------
    spec : str
    trust : sequence of str
        Types in a ``.skops`` file that may be made.
    pickle : bool
        Whether files that run code may be read.

    Raises
    ------
    DataError
        For a path of another form, a module or a name that is not there, and files that hold no whole model.
    """
    from skedasis.models.files import SUFFIXES, opened

    path = Path(spec)
    if path.suffix.lower() in SUFFIXES and (path.is_file() or ":" not in spec):
        if pickle:
            _find_here()
        return opened(spec, trust, pickle=pickle)
    if ":" not in spec:
        rows = path.suffix.lower() in DATA
        raise DataError(
            explained(
                "--model",
                f"{spec!r}, a file of rows" if rows else repr(spec),
                f"MODULE:OBJECT, or a file {', '.join(SUFFIXES)}",
                "Name the model first, then the data" if rows else "Write it as my_module:model",
            )
        )
    return _imported(spec)


def named(specs: Sequence[str]) -> list[str]:
    """Return a name for each model: the object's, or the file's.

    Raises
    ------
    DataError
        For two of one name.

    Examples
    --------
    >>> named(["my:tree", "models/linear.skops"])
    ['tree', 'linear']
    """
    from skedasis.models.files import SUFFIXES

    paths = [Path(spec) for spec in specs]
    names = [
        path.stem if path.suffix.lower() in SUFFIXES else spec.partition(":")[2] or spec
        for path, spec in zip(paths, specs, strict=True)
    ]
    if len(set(names)) < len(names):
        names = list(specs)
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError(
            explained("--model", f"{twice!r} twice", "different models", "Name each once")
        )
    return names


def _find_here() -> None:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _imported(spec: str) -> Any:
    module_name, _, path = spec.partition(":")
    if not (module_name and path):
        raise DataError(
            explained("--model", repr(spec), "MODULE:OBJECT", "Write it as my_module:model")
        )
    _find_here()
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
    except (SystemExit, TypeError) as error:
        # A script that ends itself; and importlib on names such as ".my".
        got = f"a module that cannot be imported ({type(error).__name__}: {error})"
        fix = 'Put what it does under: if __name__ == "__main__"'
        raise DataError(explained(f"--model {spec}", got, "a module", fix)) from error
    where = module_name
    for name in path.split("."):
        if not hasattr(found, name):
            raise _no_such(name, found, where)
        found, where = getattr(found, name), f"{where}.{name}"
    return found


def _no_such(name: str, holder: Any, where: str) -> DataError:
    """Return the refusal of a name that an object does not have."""
    held: dict[str, Any] = getattr(holder, "__dict__", {})
    public = [n for n, v in held.items() if not (n.startswith("_") or isinstance(v, ModuleType))]
    near = difflib.get_close_matches(name, public, 1)
    fix = f"Did you mean {near[0]!r}?" if near else "Check the name"
    expected = f"one of {_some(public)}" if public else "an object that has it"
    return DataError(explained("--model", f"no {name!r} in {where}", expected, fix))


def features_of(table: Table, model: Any, beside: Sequence[str] = ()) -> Table:
    """Return the columns that a model was fitted on, in their order; where it does not tell, all but some.

    Parameters
    ----------
    table : Table
    model : object
    beside : sequence of str
        Columns that are no features: the target, weights.

    Raises
    ------
    DataError
        For columns that the model needs and the file has not, and another number of columns than the model takes.
    """
    fitted = columns_named_by(model)
    if fitted is not None:
        # LightGBM writes names with underscores instead of spaces.
        known = (
            {"_".join(name.split()): name for name in table.names} if _is_lightgbm(model) else {}
        )
        names = [name if name in table.names else known.get(name, name) for name in fitted]
        if hasattr(model, "feature_names_in_") or any(name in table.names for name in names):
            return table.select(names)
    left = table.select([name for name in table.names if name not in beside]) if beside else table
    wanted = _width(model)
    if wanted is not None and wanted != len(left.names):
        raise DataError(
            explained(
                "the columns",
                f"{len(left.names)} besides target, weights and what is ignored ({_some(left.names)})",
                f"{wanted}, for the model names none",
                "Name those that are no features: --ignore COLUMN; or save the model with its columns' names",
            )
        )
    return left


def columns_named_by(model: Any) -> list[str] | None:
    """Return the names of the columns that a model was fitted on, None where it does not know them."""
    names: Any = getattr(model, "feature_names_in_", None)
    if names is None and _is_lightgbm(model):
        names = model.feature_name()
    if names is None:  # XGBoost's booster
        names = getattr(getattr(model, "grown", model), "feature_names", None)
    if not (isinstance(names, Sequence) or hasattr(names, "tolist")):
        return None
    return [str(name) for name in names]


def _is_lightgbm(model: Any) -> bool:
    return type(model).__module__.partition(".")[0] == "lightgbm" and hasattr(model, "feature_name")


def _width(model: Any) -> int | None:
    """Return how many columns a model takes, None where it does not say."""
    for holder, name in ((model, "num_feature"), (getattr(model, "grown", model), "num_features")):
        count = getattr(holder, name, None)
        if callable(count):
            return int(count())  # type: ignore[call-overload]
    width = getattr(model, "n_features_in_", None)
    return int(width) if isinstance(width, int) else None


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (", …" if len(names) > 6 else "")


# ------------------------------------------------------------------------------------------
# From what stands in a shell to what the library takes: columns, quantities, methods.


def label_column(table: Table, target: str) -> tuple[Table, int]:
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


def parse_columns(
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
