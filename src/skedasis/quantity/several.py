"""Models with several outputs: one quantity for each of them, all read off the same answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skedasis._types import Ints
from skedasis.data.dataset import Source
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.quantity.base import Meter, Quantity
from skedasis.quantity.fitted import is_classifier, title


@dataclass(frozen=True, eq=False)
class Several(Quantity):
    """All outputs of a model. Made by `prediction(output="all")` and `probability(class_="all")`.

    Parameters
    ----------
    one : Quantity
        The quantity of one output: what prepares the rows, and calls the model.
    parts : dict of label to Quantity
        Of each output; empty where their number is only known when the model has answered.
    name, unit : str
    """

    one: Any
    parts: dict[Any, Quantity] = field(default_factory=dict)
    name: str = "prediction"
    unit: str | None = None

    def raw(self, X: Any) -> Any:
        """Call the model: all outputs."""
        return self.one.raw(X)

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return f"{self.name}({title(self.one.model)})"

    def prepare(self, source: Source) -> Source:
        """Return the rows in the container that the model was fitted on."""
        return self.one.prepare(source)

    def outputs(
        self, source: Source, meter: Meter | None = None, among: Ints | None = None
    ) -> dict[Any, Quantity]:
        """Return the outputs' quantities; where their number is not known, two rows are asked for it."""
        if self.parts:
            return self.parts
        rows = source.some(2, among)
        answer = np.asarray(self.one.raw(rows.tile(1).own()))
        if meter is not None:
            meter.rows, meter.calls = meter.rows + len(rows), meter.calls + 1
        if answer.ndim != 2:
            raise ModelOutputError(
                explained(
                    self.describe(),
                    f"output of shape {answer.shape}",
                    "(rows, outputs)",
                    "Leave output out: the model has one output only",
                )
            )
        return {
            k: replace(self.one, output=k, name=f"{self.name} {k}", shared=True)
            for k in range(answer.shape[1])
        }


def predictions(one: Any, output: int | str | Sequence[str] | None) -> Any:
    """Return the quantity of the output, or of all outputs, that is meant by `output`."""
    if output is None:
        return one
    if isinstance(output, (int, np.integer)) and not isinstance(output, bool):
        return replace(one, output=int(output), name=f"{one.name} {int(output)}")
    if output == "all":
        return Several(one, {}, one.name, one.unit)
    names = list(output) if isinstance(output, Iterable) and not isinstance(output, str) else []
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise DataError(
            explained(
                "prediction(output)",
                repr(output)[:60],
                "the index of an output, 'all', or different names for all outputs",
                "Use output='all'",
            )
        )
    parts: dict[Any, Quantity] = {
        n: replace(one, output=k, of=len(names), name=n, shared=True) for k, n in enumerate(names)
    }
    return Several(one, parts, one.name, one.unit)


def wants_all(model: Any, class_: Any) -> bool:
    """Return whether all classes are asked for: a class that is called "all" is meant itself."""
    if not isinstance(class_, str) or class_ != "all":
        return False
    return "all" not in np.asarray(getattr(model, "classes_", [])).tolist()


def all_classes(model: Any, unit: str | None, kind: Any, written: str, name: str) -> Several:
    """Return the quantities of all of a classifier's classes.

    Raises
    ------
    UnsupportedError
        For what has no classes, or no probabilities.
    """
    classes = getattr(model, "classes_", None)
    if classes is None or not is_classifier(model) or not hasattr(model, "predict_proba"):
        raise UnsupportedError(
            explained(
                f"{name}({title(model)}, class_='all')",
                f"a {title(model)} without classes_ and predict_proba",
                "a fitted classifier that gives probabilities",
                "For a function use sd.prediction(f, output='all')",
            )
        )
    labels = np.asarray(classes).tolist()
    parts: dict[Any, Quantity] = {
        label: kind(model, written.format(label), unit, k) for k, label in enumerate(labels)
    }
    return Several(next(iter(parts.values())), parts, name, unit)


def column_of(raw: Any, column: int, what: str, of: str = "output", most: int | None = None) -> Any:
    """Return one column of a model's answer: that of an output, or of a class.

    Parameters
    ----------
    raw : array_like, shape (n, o)
    column : int
    what, of : str
        For messages.
    most : int, optional
        How many columns there have to be.

    Raises
    ------
    ModelOutputError
        Where there is none.
    """
    answer = np.asarray(raw)
    if answer.ndim == 2 and most not in (None, answer.shape[1]):
        raise ModelOutputError(
            explained(
                what,
                f"{answer.shape[1]} outputs",
                f"{most}, as many as names were given",
                "Name each output, or use output='all'",
            )
        )
    if answer.ndim == 2 and -answer.shape[1] <= column < answer.shape[1]:
        return answer[:, column]
    keyword, plural = ("class_", "classes") if of == "class" else ("output", "outputs")
    fix = f"Leave {keyword} out" if answer.ndim == 1 else "Pass the index of one of its columns"
    raise ModelOutputError(
        explained(
            what,
            f"output of shape {answer.shape}",
            f"(rows, {plural}) with a column {column}",
            fix,
        )
    )
