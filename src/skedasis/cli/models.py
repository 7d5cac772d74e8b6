"""Models: imported by their path or read from a file, and the columns that they were fitted on."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.data.readers import Table

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
