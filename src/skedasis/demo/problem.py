"""The data of the demonstration: rented bicycles, bundled data, or a user's file."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools
from skedasis.data.features import Feature
from skedasis.data.readers import Table, read_table
from skedasis.datasets.real import load
from skedasis.errors import DataError, explained

LEAST = 20
"""Rows without which neither a model nor a test of it means anything."""
MOST_CLASSES, MOST_LEVELS = 20, 50
_DATE = re.compile(r"^\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})(\D|$)")
_ROW_NAME = re.compile(
    r"^$|^unnamed|(^|[_ .-])(id|idx|index|row|rownum|nr|key|uuid)$", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learnt: features and a target, fit for scikit-learn.

    Parameters
    ----------
    table : Table
        Of features alone.
    y : ndarray
        Numbers, or the classes as text.
    target : str
    nominal : tuple of str
        Features without numeric values.
    class_ : str, optional
        The class whose probability is explained; None for a target of numbers.
    units : mapping of str to str
    said : tuple of str
        What was done to the data, to be told.
    source : str
        What the data are, for a line of text.
    """

    table: Table
    y: NDArray[Any]
    target: str
    nominal: tuple[str, ...] = ()
    class_: str | None = None
    units: Mapping[str, str] | None = None
    said: tuple[str, ...] = ()
    source: str = ""

    @property
    def schema(self) -> dict[Any, Feature]:
        """Return names and units, as `skedasis.explain` takes them."""
        units = self.units or {}
        names = [n for n in self.table.names if n in units or not self.table.is_frame]
        key = (lambda n: n) if self.table.is_frame else self.table.place
        return {key(n): Feature(n, "continuous", units.get(n)) for n in names}


def usual() -> Problem:
    """Return the data of the demonstration: rented bicycles where they are at hand, else bundled data.

    Nothing is downloaded.
    """
    try:
        return rentals()
    except DataError:
        return tumours()


def rentals() -> Problem:
    """Return the bicycles that were rented in each hour of two years.

    Raises
    ------
    DataError
        Where `skedasis.datasets` finds no such file.
    """
    found = load("bike_sharing_hour", download=False)
    table = Table(found.X, found.feature_names)
    table = table.select([n for n in table.names if n != "atemp"])
    said = (
        "Chosen because models predict it well, and the effect of the hour differs between working days and others.",
        "Column atemp was left out: it is nearly a copy of temp.",
    )
    units = {"hr": "h", "rentals": "bicycles/h"}
    source = "Bicycle rentals by the hour in Washington (UCI data set 275)"
    y = np.asarray(found.y, float)
    return Problem(table, y, "rentals", units=units, said=said, source=source)


def tumours() -> Problem:
    """Return scikit-learn's breast cancer data: the nuclei's largest values, without copies of the radius."""
    from sklearn.datasets import load_breast_cancer

    raw: Any = load_breast_cancer()
    places = {
        str(name).removeprefix("worst "): j
        for j, name in enumerate(raw.feature_names)
        if str(name).startswith("worst ") and str(name) not in ("worst perimeter", "worst area")
    }
    values = np.asarray(raw.data, float)[:, list(places.values())]
    y = np.asarray(raw.target_names)[raw.target].astype(str)
    said = (
        "Chosen because models predict them well; those of scikit-learn's diabetes data have an R² below 0.5.",
        "Features are the largest values among a tumour's cell nuclei, but for two near copies of the radius.",
        "With bike_sharing_hour.csv in the folder that SKEDASIS_DATA names, rented bicycles are explained instead.",
    )
    source = "scikit-learn's breast cancer data"
    table = Table(_framed(values, tuple(places)), tuple(places))
    return Problem(table, y, "diagnosis", class_="malignant", said=said, source=source)


def _framed(values: NDArray[Any], names: tuple[str, ...]) -> Any:
    """Return a data frame where pandas is installed, else the array."""
    if importlib.util.find_spec("pandas") is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=pd.Index(names))


def own(path: str | Path, target: str | None, class_: str | None) -> Problem:
    """Make a problem of a user's file."""
    table = read_table(path)
    if target is None:
        listed = ", ".join(map(repr, table.names[:12])) + (", …" if len(table.names) > 12 else "")
        raise DataError(
            explained("--target", "no target", f"one of {listed}", "Name the column to learn")
        )
    table.place(target, "--target")
    values = table.column(target)
    there = np.flatnonzero(~missing(values))
    said: list[str] = []
    if len(there) < len(values):
        table, values = table.take(there), values[there]
        left = f"{len(there):,} remain" if len(there) != 1 else "1 remains"
        said.append(f"Rows without a {target} were left out: {left}.")
    if len(there) < LEAST:
        got = f"rows with a value of {target!r}: {len(there)}"
        raise DataError(explained(str(path), got, f"at least {LEAST}", "Bring more rows"))
    y, explained_class = _learnable(values, target, class_)
    kept, nominal, reasons = _usable(table, target)
    if not kept:
        raise DataError(
            explained(
                str(path),
                f"no usable feature ({'; '.join(reasons) or 'the target is the only column'})",
                f"at least one column of numbers or of at most {MOST_LEVELS} texts beside the target",
                "Check that the file's columns were told apart",
            )
        )
    return Problem(
        table.select(kept),
        y,
        target,
        tuple(nominal),
        explained_class,
        said=(*said, *reasons),
        source=str(path),
    )


def missing(values: NDArray[Any]) -> Bools:
    """Return which values are not there."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    # None, NaN and pandas' NA are the values that do not simply equal themselves.
    return np.array([v is None or repr(v) in ("nan", "<NA>", "NaT") for v in values], dtype=bool)


def _learnable(
    values: NDArray[Any], target: str, class_: str | None
) -> tuple[NDArray[Any], str | None]:
    """Return the target as numbers, or as classes with the one that is to be explained."""
    what = f"target {target!r}"
    numeric = values.dtype.kind in "iuf"
    labels = np.unique(values if numeric else values.astype(str))
    if len(labels) < 2:
        raise DataError(
            explained(what, "the same value in every row", "values that differ", "Name another")
        )
    if numeric and not np.isfinite(values.astype(float)).all():
        raise DataError(explained(what, "infinite values", "finite numbers", "Repair these rows"))
    if numeric and len(labels) > 2 and class_ is None:
        return values.astype(float), None
    if len(labels) > MOST_CLASSES:
        kind = "numbers" if numeric else "texts"
        fix = "Leave --class out" if numeric else "If they are numbers, write them with a point"
        raise DataError(
            explained(
                what,
                f"{len(labels):,} different {kind}",
                f"numbers, or at most {MOST_CLASSES} classes",
                fix,
            )
        )
    y = np.array([f"{v:g}" for v in values.astype(float)] if numeric else values.astype(str))
    classes = [str(c) for c in np.unique(y)]
    if class_ is None and len(classes) == 2:
        return y, classes[1]
    if class_ not in classes:
        got = f"{len(classes)} classes and none named" if class_ is None else f"--class {class_}"
        fix = f"Choose one whose probability is explained: --class {classes[-1]!r}"
        raise DataError(explained(what, got, f"one of {classes}", fix))
    return y, class_


def _usable(table: Table, target: str) -> tuple[list[str], list[str], list[str]]:
    """Return the columns to learn from, those of them that are nominal, and why others are left out."""
    kept: list[str] = []
    nominal: list[str] = []
    reasons: list[str] = []
    for name in table.names:
        if name == target:
            continue
        values = table.column(name)
        present = values[~missing(values)]
        numeric = values.dtype.kind in "iuf"
        reason = _numeric_trouble(name, present) if numeric else _text_trouble(present)
        if reason:
            reasons.append(f"Column {name or '(no name)'} was left out: {reason}.")
            continue
        kept.append(name)
        if not numeric:
            nominal.append(name)
    return kept, nominal, reasons


def _numeric_trouble(name: str, present: NDArray[Any]) -> str:
    """Say why a column of numbers is not one to learn from, or nothing."""
    if len(present) == 0 or present.min() == present.max():
        return "all its values are the same" if len(present) else "it has no values"
    if not np.isfinite(present.astype(float)).all():
        raise DataError(
            explained(f"column {name!r}", "infinite values", "finite numbers", "Repair these rows")
        )
    whole = present.dtype.kind in "iu" or bool(np.all(present == np.round(present)))
    if whole and np.abs(present.astype(float)).max() > 2**53:
        return "whole numbers so large are names, not measurements"
    distinct = whole and len(np.unique(present)) == len(present)
    counted = distinct and float(present.max()) - float(present.min()) + 1 == len(present)
    if counted or (distinct and _ROW_NAME.search(name)):
        return "its numbers only tell the rows apart"
    return ""


def _text_trouble(present: NDArray[Any]) -> str:
    """Say why a column without numbers is not one to learn from, or nothing."""
    if len(present) == 0:
        return "it has no values"
    if present.dtype.kind in "mM" or not isinstance(present[0], (str, bool, np.bool_)):
        return "dates and the like are no numbers; give the year, month or age instead"
    if all(_DATE.match(str(v)) for v in present[:100]):
        return "dates are no numbers; give the year, month or age instead"
    levels = len(np.unique(present.astype(str)))
    if levels == 1:
        return "all its values are the same"
    return f"it has {levels:,} different texts" if levels > MOST_LEVELS else ""
