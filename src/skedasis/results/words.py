"""What results say of themselves in words: printed as a table, and why there is no interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis.errors import DataError, UnsupportedError, explained

if TYPE_CHECKING:
    from skedasis.results.importance import Importance

METRIC_ROWS = 20
"""Rows that a metric needs for a standard error: two in each of ten parts."""
_ROWS = 7


def count(number: int, what: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def given_level(what: str, level: Any) -> float:
    """Return a confidence level, or refuse it."""
    number = isinstance(level, Real) and not isinstance(level, (bool, np.bool_))
    if not number or not 0 < float(level) < 1:
        raise DataError(explained(what, repr(level), "a number between 0 and 1", "Use 0.95"))
    return float(level)


def no_score(what: str, method: str) -> UnsupportedError:
    """Return the error for an effect without a heterogeneity score."""
    fix = "Explain again without heterogeneity_rows=0"
    if method == "MPlot":
        fix = "Explain by another method, such as sd.ALE(): an M-plot is no effect of its feature"
    elif method in ("PDP", "ICE"):
        fix += " or heterogeneity=False"
    return UnsupportedError(
        explained(what, "no heterogeneity score", "an effect that was explained with one", fix)
    )


def given_seed(what: str, seed: Any) -> int:
    """Return a seed, or refuse it."""
    whole = isinstance(seed, Integral) and not isinstance(seed, (bool, np.bool_))
    if not whole or seed < 0:
        raise DataError(explained(what, repr(seed), "0 or more", "Use 0"))
    return int(seed)


def written(importance: Importance) -> str:
    """Return the ranking as a table of text: feature, mean, and the interval where there is one."""
    lines = [f"{importance.axis}: {importance.method}, {count(importance.rows, 'row')}"]
    known = bool(np.isfinite(importance.std_error).any())
    table = [["feature", "importance", "95 % interval"]]
    for line in importance.ranking():
        ends = f"{line.lower:.4g} to {line.upper:.4g}" if np.isfinite(line.std_error) else "-"
        table.append([line.feature, f"{line.mean:.4g}", ends])
    lines += _aligned([row[: 3 if known else 2] for row in table])
    floored = importance.provenance.get("floored_rows", 0)
    if floored:
        lines.append(
            f"{count(floored, 'model row')}: the label's probability was raised to a floor"
        )
    return "\n".join(lines)


def tabled(ranking: Sequence[Any]) -> str:
    """Return a ranking as a table of text, numbers in four digits."""
    names = [field.name for field in fields(ranking[0])] if len(ranking) else ["feature"]
    cells = [[_cell(getattr(line, name)) for name in names] for line in ranking]
    return "\n".join(_aligned([[name.replace("_", " ") for name in names], *cells]))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if np.isfinite(value) else "-"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in table
    ]


def no_interval(importance: Importance, repeats: int) -> DataError:
    """Return the error for an importance without an interval, with what is in the way.

    Parameters
    ----------
    importance : Importance
    repeats : int
        How many it takes: three, or for the draws alone two.
    """
    given, of_metric = importance.values.shape[1], importance.metric is not None
    rows = METRIC_ROWS if of_metric and repeats > 2 else _ROWS
    weight = importance.provenance.get("weight", importance.rows)
    got = f"{count(given, 'repeat')} of {count(importance.rows, 'row')}"
    expected, fix = f"at least {repeats} repeats, and {rows} rows", "Use sd.PFI(repeats=10)"
    if importance.is_exact:
        got, expected = count(importance.rows, "row"), f"at least {rows} rows"
    if importance.is_exact and importance.rows > 1 and weight <= 1:
        got, expected = f"weights that add up to {weight:.4g}", "more than one row"
        fix = "Pass how often each row is there, or weight_kind='sampling'"
    elif given >= repeats and importance.rows < rows:
        fix = "Pass more rows"
    elif of_metric and given >= repeats:
        got = f"{importance.metric}, which nine tenths of the rows do not always have"
        expected = "a metric of any of them: of each class many rows"
        fix = "Use method='repeats', for the draws alone"
    return DataError(explained(f"interval of {importance.method}", got, expected, fix))
