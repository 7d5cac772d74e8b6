"""`Check` and `Checks`: the findings of reliability checks, with the numbers behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from skedasis._renamed import RenamedAttributes
from skedasis._types import Bools
from skedasis.data.times import TimeAxis
from skedasis.results import operations
from skedasis.results.display import DisplayMixin, count

Code = Literal[
    "few_rows",
    "one_row",
    "slope_changes",
    "slope_mismatch",
    "no_rows",
    "extrapolation",
    "disagreement",
    "collinear",
    "few_pairs",
]
Severity = Literal["note", "warning"]


@dataclass(frozen=True)
class Check(RenamedAttributes):
    """One finding of a reliability check.

    Parameters
    ----------
    code : str
        "few_rows", "one_row", "slope_changes", "slope_mismatch", "no_rows", "extrapolation" or "disagreement"; for the
        heterogeneity score "collinear" or "few_pairs".
    severity : {"note", "warning"}
    message : str
        What is wrong, the numbers behind it, and what to do, in one to three sentences.
    rows : int or None
        Number of rows that the finding is about; None if it is not about particular rows. For `extrapolation`: of the
        artificial rows that were sampled.
    feature : str
    where : (left, right), str or None
        The interval of the axis, the level, or None for the whole effect.
    numbers : dict
        The numbers in the message.
    """

    code: Code
    severity: Severity
    message: str
    rows: int | None = None
    feature: str = ""
    where: tuple[Any, Any] | str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"


class Checks(DisplayMixin, tuple[Check, ...]):
    """The findings of the reliability checks of one or more results: a tuple of `Check`, empty if there are none.

    Examples
    --------
    >>> print(Checks([Check("few_rows", "warning", "The bin has 3 rows.", 3, "x", (0.0, 1.0))]))
    warning: The bin has 3 rows.
    >>> print(Checks())
    No warnings.
    """

    __slots__ = ()

    @property
    def warnings(self) -> Checks:
        """The findings with severity "warning"."""
        return Checks(f for f in self if f.severity == "warning")

    def of(self, code: Code) -> Checks:
        """Return the findings with one code."""
        return Checks(f for f in self if f.code == code)

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "No warnings."

    def __repr__(self) -> str:
        return f"<Checks: {count(len(self), 'finding')}, {count(len(self.warnings), 'warning')}>\n{self}"

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per finding.

        Its columns are `feature`, `code`, `severity`, `left` and `right` (the interval of a numeric feature), `level`
        (of a categorical feature; for a feature of times, the interval as text), `rows` and `message`.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        """
        ends = [f.where if isinstance(f.where, tuple) else (np.nan, np.nan) for f in self]
        numbers = [tuple(e if isinstance(e, (int, float)) else np.nan for e in w) for w in ends]
        levels = [f.where if isinstance(f.where, str) else _levels_of(f.where) for f in self]
        table = {
            "feature": np.array([f.feature for f in self], dtype=object),
            "code": np.array([f.code for f in self], dtype=object),
            "severity": np.array([f.severity for f in self], dtype=object),
            "left": np.array([float(left) for left, _ in numbers]),
            "right": np.array([float(right) for _, right in numbers]),
            "level": np.array(levels, dtype=object),
            "rows": np.array([np.nan if f.rows is None else f.rows for f in self], dtype=float),
            "message": np.array([f.message for f in self], dtype=object),
        }
        return operations.to_data_frame(table, backend)


def _levels_of(where: Any) -> str | None:
    return f"{where[0]} – {where[1]}" if where and isinstance(where[0], str) else None


def runs(where: Bools) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of each run of true values.

    Examples
    --------
    >>> list(runs(np.array([True, False, True, True])))
    [(0, 0), (2, 3)]
    """
    edge = np.flatnonzero(np.diff(np.concatenate([[0], where.astype(int), [0]])))
    yield from ((int(a), int(b) - 1) for a, b in zip(edge[::2], edge[1::2], strict=True))


def number(value: Any, time: TimeAxis | None = None) -> str:
    """Return an end of an interval as text; on a time axis as a time.

    Examples
    --------
    >>> number(0.1 + 0.2), number("a")
    ('0.3', 'a')
    """
    if time is not None:
        return time.text(float(value))
    return f"{value:.4g}" if isinstance(value, (int, float, np.number)) else str(value)
