"""`Flag` and `Trust`: warnings about a result, with the numbers behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools
from skedasis.data.times import TimeAxis
from skedasis.results.display import Shown, count

Kind = Literal[
    "few rows",
    "one row",
    "slope changes",
    "slope mismatch",
    "no rows",
    "extrapolation",
    "disagreement",
    "collinear",
    "few pairs",
]


Severity = Literal["note", "warning"]


@dataclass(frozen=True)
class Flag:
    """One objection to a curve.

    Parameters
    ----------
    kind : str
        "few rows", "one row", "slope changes", "slope mismatch", "no rows", "extrapolation" or "disagreement"; of the
        heterogeneity score "collinear" or "few pairs".
    severity : {"note", "warning"}
    text : str
        A sentence or two: what is the matter, by which numbers, and what to do.
    feature : str
    where : (left, right), str or None
        The stretch of the axis, a level, or None for all of it.
    numbers : dict
        What the sentence says, as numbers.
    """

    kind: Kind
    severity: Severity
    text: str
    feature: str
    where: tuple[Any, Any] | str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """Return the kind as one word, such as ``"few_pairs"``: for programs and settings."""
        return self.kind.replace(" ", "_")

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"


class Trust(Shown, tuple[Flag, ...]):
    """What there is to object to one curve or several: a tuple of `Flag`, empty where there is nothing.

    Examples
    --------
    >>> print(Trust([Flag("few rows", "warning", "Only 3 rows lie there.", "x", (0.0, 1.0))]))
    warning: Only 3 rows lie there.
    >>> print(Trust())
    Nothing to object.
    """

    __slots__ = ()

    @property
    def warnings(self) -> Trust:
        """Return the flags that are more than notes."""
        return Trust(f for f in self if f.severity == "warning")

    def of(self, kind: Kind) -> Trust:
        """Return the flags of a kind."""
        return Trust(f for f in self if f.kind == kind)

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "Nothing to object."

    def __repr__(self) -> str:
        return (
            f"<Trust: {count(len(self.warnings), 'warning')}, {count(len(self), 'flag')}>\n{self}"
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row a flag: feature, kind, severity, left, right, level, text.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        """
        from skedasis.results.frames import frame

        ends = [f.where if isinstance(f.where, tuple) else (np.nan, np.nan) for f in self]
        numbers = [tuple(e if isinstance(e, (int, float)) else np.nan for e in w) for w in ends]
        levels = [f.where if isinstance(f.where, str) else _levels_of(f.where) for f in self]
        table = {
            "feature": np.array([f.feature for f in self], dtype=object),
            "kind": np.array([f.kind for f in self], dtype=object),
            "severity": np.array([f.severity for f in self], dtype=object),
            "left": np.array([float(left) for left, _ in numbers]),
            "right": np.array([float(right) for _, right in numbers]),
            "level": np.array(levels, dtype=object),
            "text": np.array([f.text for f in self], dtype=object),
        }
        return frame(table, backend)


def _levels_of(where: Any) -> str | None:
    return f"{where[0]} – {where[1]}" if where and isinstance(where[0], str) else None


def runs(where: Bools) -> Iterator[tuple[int, int]]:
    """Yield the first and the last place of each run of true places.

    Examples
    --------
    >>> list(runs(np.array([True, False, True, True])))
    [(0, 0), (2, 3)]
    """
    edge = np.flatnonzero(np.diff(np.concatenate([[0], where.astype(int), [0]])))
    yield from ((int(a), int(b) - 1) for a, b in zip(edge[::2], edge[1::2], strict=True))


def number(value: Any, time: TimeAxis | None = None) -> str:
    """Write an end of a stretch; one on a time axis as a time.

    Examples
    --------
    >>> number(0.1 + 0.2), number("a")
    ('0.3', 'a')
    """
    if time is not None:
        return time.text(float(value))
    return f"{value:.4g}" if isinstance(value, (int, float, np.number)) else str(value)
