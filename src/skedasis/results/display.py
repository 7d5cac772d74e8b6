"""Display of results: text tables, error messages about missing intervals, notebook representation and `explore`."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    SupportsIndex,
    TypeVar,
    overload,
    runtime_checkable,
)

import numpy as np

from skedasis._arguments import check_option
from skedasis._calls import NearestAttribute, checked_call
from skedasis._escaping import Printed, one_line
from skedasis._numbers import counted, with_minus
from skedasis.errors import DataError, UnsupportedError
from skedasis.registry import methods_that, title_of
from skedasis.results import operations
from skedasis.results.described import Content, Documented, Keys, columns_of, listed
from skedasis.results.export import Exportable, ExportOptions, TableColumns
from skedasis.results.immutable import Immutable, Recorded
from skedasis.results.signatures import with_choices

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from skedasis._types import Floats
    from skedasis.results.effect import BinStats
    from skedasis.results.importance import Importance
    from skedasis.results.provenance import Provenance


# --- text, checks of common arguments, and errors -------------------------------------------------


METRIC_ROWS = 20
"""Minimum rows for the standard error of a metric: two in each of the jackknife's ten parts."""


_MIN_ROWS = 7
"""Minimum rows for the standard error of a mean."""


def sample_text(provenance: Provenance) -> str:
    """Return of how many rows a sample was drawn, if the caller asked for one; else an empty text."""
    sample = provenance.get("sample")
    if sample is None:
        return ""
    return f", a sample of {sample:,} of {counted(provenance.get('source_rows', 0), 'row')}"


def outside_text(rows: object, most: str = "") -> str:
    """Return how many rows a result does not include, because they are outside its bins; else an empty text."""
    return f", {most}{counted(rows, 'row')} outside" if rows and isinstance(rows, int) else ""


def called_text(provenance: Mapping[str, object]) -> str:
    """Return why a model of trees was called, instead of computing the result from its trees; else an empty text."""
    said = str(provenance.get("trees", ""))
    return said if said.startswith("the model is called") else ""


def outside_texts(results: Mapping[str, Mapping[str, object]]) -> str:
    """Return how many rows some of several results do not include, by their names."""
    texts = {name: outside_text(p.get("rows_outside")) for name, p in results.items()}
    return "".join(f"{text} ({name})" for name, text in texts.items() if text)


SHAP_DEPENDENCE = "SHAP dependence"
"""What results of `shap_dependence` call their method, which is no class that a user could call."""


def no_score_error(what: str, method: str) -> UnsupportedError:
    """Return the error for an effect without a heterogeneity score."""
    fix = "Explain again without heterogeneity_rows=0"
    without = methods_that(lambda m: not m.local_effects)
    if method in {m.name for m in without.values()}:
        fix = (
            "Use another method, such as sd.ALE(): the heterogeneity score needs local effects, which "
            f"{title_of(method)} does not have"
        )
    elif method == SHAP_DEPENDENCE:
        fix = "Use sd.explain(model, X), whose effects have one"
    elif method in ("PDP", "ICE"):
        fix += " or heterogeneity=False"
    return UnsupportedError(
        what, "no heterogeneity score", "an effect with a heterogeneity score", fix
    )


def importance_table(importance: Importance) -> str:
    """Return the ranking as a text table: feature, mean, its interval, and the SD over the repeats, where known."""
    drawn = sample_text(importance.provenance)
    rows = "" if drawn else f", {counted(importance.rows, 'row')}"
    repeats = "all pairs" if importance.is_exact else counted(importance.values.shape[1], "repeat")
    what = importance.metric or importance.quantity
    lines = [
        f"{importance.axis}: {importance.method}{rows}{drawn}, {repeats}; {what} at the rows {importance.baseline:.4g}"
    ]
    ranks = importance.ranking()
    columns = {
        "feature": [r.feature for r in ranks],
        "importance": [cell_text(r.mean) for r in ranks],
    }
    if np.isfinite(importance.std_error).any():
        columns["95 % interval"] = [
            f"{r.lower:.4g} to {r.upper:.4g}" if np.isfinite(r.std_error) else "-" for r in ranks
        ]
    if np.any(importance.std > 0):
        columns["SD over repeats"] = [cell_text(r.std) for r in ranks]
    lines += align_columns([list(columns), *zip(*columns.values(), strict=True)])
    lines += filter(None, [called_text(importance.provenance)])
    floored = importance.provenance.get("floored_rows", 0)
    if floored:
        lines.append(
            f"{counted(floored, 'model row')}: the label's probability was raised to a floor"
        )
    return "\n".join(lines)


@dataclass(frozen=True)
class RankLine(NearestAttribute, Documented):
    """One line of a ranking, which one of its numbers orders."""

    ordered_by: ClassVar[str]

    def size(self, by: str) -> float:
        """Return the number of a field, by which the line is ordered."""
        return float(vars(self)[by])

    def sort_key(self, by: str | None = None) -> float:
        """Return a key that sorts the largest number first, and unknown ones last."""
        size = self.size(self.ordered_by if by is None else by)
        return -size if math.isfinite(size) else math.inf


@runtime_checkable
class PrintedLine(Protocol):
    """A line of a ranking whose printed cells are not its fields."""

    @property
    def printed(self) -> Mapping[str, object]:
        """Return the cells by the names of their columns."""
        ...


RULES = ("rule", "condition", "another", "region")
"""Columns of rules, whose negative numbers are printed with the minus sign of all others."""

MOST_LINES = 20
"""Most lines of a ranking that a container of results prints."""


def ranking_text(
    ranking: Sequence[DataclassInstance], without: Collection[str] = (), most: int | None = None
) -> str:
    """Return a ranking as a text table, numbers with four significant digits."""
    lines = [line.printed if isinstance(line, PrintedLine) else vars(line) for line in ranking]
    names = [name for name in lines[0] if name not in without] if lines else ["feature"]
    columns = {name: [line[name] for line in lines] for name in names}
    least = {name: NOISE * _largest(column) for name, column in columns.items()}
    cells = [
        [
            with_minus(cell_text(v, least[name])) if name in RULES else cell_text(v, least[name])
            for name, v in zip(names, line, strict=True)
        ]
        for line in zip(*columns.values(), strict=True)
    ]
    table = align_columns([[name.replace("_", " ") for name in names], *cells[:most]])
    left_out = 0 if most is None else max(len(cells) - most, 0)
    return "\n".join([*table, *([f"… {left_out:,} more"] if left_out else [])])


NOISE = 1e-12
"""Numbers below this fraction of the largest one of their column, sums of rounding errors, are printed as 0."""


@dataclass(frozen=True)
class WithError:
    """A number of a table with its standard error, NaN if that is unknown."""

    value: float
    error: float


def _largest(column: Sequence[object]) -> float:
    numbers = [v.value if isinstance(v, WithError) else v for v in column]
    sizes = [abs(v) for v in numbers if isinstance(v, float) and np.isfinite(v)]
    return max(sizes, default=0.0)


def cell_text(value: object, least: float = 0.0) -> str:
    """Return a cell of a table as text; numbers below `least` are 0."""
    if isinstance(value, WithError):
        known = value.error > 0 and abs(value.value) >= least
        error = f" ± {value.error:.{2 if value.error < 100 else 4}g}" if known else ""
        return f"{cell_text(value.value, least)}{error}"
    if isinstance(value, float):
        return "0" if abs(value) < least else f"{value:.4g}" if np.isfinite(value) else "-"
    return f"{value:,}" if isinstance(value, int) else one_line(str(value))


MOST_BINS = 40
"""Most bins in a printed table; of more the first and the last are printed."""


def bins_text(bins: BinStats) -> str:
    """Return bins as a text table: ends, rows, weight where it is not the rows, effect, rise, errors, and remarks."""
    table = bins_table(bins)
    head = [name.replace("_", " ") for name in table]
    lines = [list(line) for line in zip(*table.values(), strict=True)]
    left_out = len(lines) - MOST_BINS
    if left_out > 0:
        half = MOST_BINS // 2
        more = [f"… {left_out:,} more", *("…" for _ in head[1:-1]), ""]
        lines = [*lines[:half], more, *lines[-half:]]
    remarks = () if head[-1] else (len(head) - 1,)
    return "\n".join(align_columns([head, *lines], left=remarks))


def bins_table(bins: BinStats) -> dict[str, list[str]]:
    """Return bins as columns of text; a column of which nothing is known is left out."""
    if bins.end_labels:
        texts = [one_line(text) for text in (*bins.end_labels[:-1], *bins.end_labels[1:])]
    else:
        ends = np.concatenate((bins.low, bins.high))
        texts = distinct_texts(ends) if bins.time is None else bins.time.texts(ends)
    table = {"from": texts[: len(bins)], "to": texts[len(bins) :]}
    table["rows"] = [f"{n:,}" for n in bins.count.tolist()]
    if not np.array_equal(bins.weight, bins.count):
        table["weight"] = [f"{w:.6g}" for w in bins.weight.tolist()]
    numbers = {
        "effect": bins.effect,
        "rise": bins.rise,
        "std": bins.std,
        "std_error": bins.std_error,
    }
    if np.any(bins.slope_change):
        numbers["slope_change"] = bins.slope_change
    for name, column in numbers.items():
        if name == "effect" or np.isfinite(column).any():
            table[name] = [cell_text(v) for v in column.tolist()]
    table[""] = [
        "no rows" if empty else "" if trusted else "fewer than 10 rows"
        for empty, trusted in zip(bins.empty.tolist(), bins.trusted.tolist(), strict=True)
    ]
    return table if any(table[""]) else {k: v for k, v in table.items() if k}


def distinct_texts(values: Floats) -> list[str]:
    """Return numbers with as few digits, four at least, as keep different numbers different."""
    different = len(set(values.tolist()))
    texts: list[str] = []
    for digits in range(4, 18):
        texts = [f"{v + 0.0:.{digits}g}" for v in values.tolist()]  # + 0.0: no negative zero
        if len(set(texts)) == different:
            break
    return texts


def align_columns(table: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return the lines of a text table."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def no_interval_error(importance: Importance, repeats: int) -> DataError:
    """Return the error for an importance without an interval; it names the reason."""
    n_repeats, of_metric = importance.values.shape[1], importance.metric is not None
    rows = METRIC_ROWS if of_metric and repeats > 2 else _MIN_ROWS
    weight = importance.provenance.get("weight", importance.rows)
    got = f"{counted(n_repeats, 'repeat')} of {counted(importance.rows, 'row')}"
    expected, fix = f"at least {repeats} repeats, and {rows} rows", "Use sd.PFI(n_repeats=10)"
    if importance.is_exact:
        got, expected = counted(importance.rows, "row"), f"at least {rows} rows"
    if importance.is_exact and importance.rows > 1 and weight <= 1:
        got, expected = f"frequency weights with sum {weight:.4g}", "a sum above 1"
        fix = "Pass the number of times each row occurs, or weight_kind='sampling'"
    elif n_repeats >= repeats and importance.rows < rows:
        fix = "Pass more rows"
    elif of_metric and n_repeats >= repeats:
        got = f"{importance.metric}, which is undefined on some of the jackknife's subsamples"
        expected = "a metric that is defined on any nine tenths of the rows"
        fix = (
            "Pass more rows of each class, or use method='repeats' for an interval over the "
            "permutations only"
        )
    return DataError(f"interval of {importance.method}", got, expected, fix)


# --- notebooks and interactive pages --------------------------------------------------------------


Line = TypeVar("Line", bound="DataclassInstance")


class DisplayMixin(Printed, NearestAttribute):
    """A result with a representation in notebooks."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return a static figure or table as HTML, for IPython. No model row."""
        return operations.notebook_html(self)

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Return the representations by MIME type, for IPython, restricted to `include` and without `exclude`."""
        known: dict[str, Callable[[], str]] = {
            "text/plain": lambda: repr(self),
            "text/html": self._repr_html_,
        }
        wanted = set(include or known) - set(exclude or ())
        return {kind: render() for kind, render in known.items() if kind in wanted}


class SavedResult(Immutable, Exportable, DisplayMixin):
    """A result that can be saved, and written as plain data."""

    __slots__ = ()

    prints_ranking: ClassVar[bool] = False
    """Whether several of them are printed as a ranking, instead of one after the other."""
    compared_in_table: ClassVar[bool] = True
    """Whether those of several models are printed as one table of the number that ranks them, if they have one."""

    @checked_call
    def save(self, path: str | Path) -> None:
        """Save the result to a file that `skedasis.load` reads: arrays and a JSON header, no pickle."""
        operations.save(self, path)


TableT = TypeVar("TableT", bound=str)


class ResultWithTables(SavedResult, Recorded, Generic[TableT]):
    """A result whose `to_frame` returns one of several tables."""

    __slots__ = ()

    frames: ClassVar[tuple[str, ...]] = ()
    """The tables, the default first: "name: what it has a row for"."""

    def __init_subclass__(cls) -> None:
        """Name the tables in the signature and the docstring."""
        super().__init_subclass__()
        if "frames" in vars(cls):
            cls.to_frame = with_choices(cls.to_frame, cls, "of", cls.frames)

    def to_frame(self, backend: str | None = None, *, of: TableT | None = None) -> Any:
        """Return the numbers as a tidy data frame.

        Parameters
        ----------
        of : str, optional

        Raises
        ------
        DataError
            For another `of`.
        UnsupportedError
            If the result does not have this table.
        """
        return operations.to_data_frame({**self.table(of)}, backend or self._library())

    def table(self, of: str | None = None) -> TableColumns:
        """Return the columns of `to_frame`."""
        names = [text.partition(":")[0] for text in self.frames]
        of = names[0] if of is None else of
        check_option("to_frame(of)", of, names, "Pass one of these")
        return self._table(of)

    @abstractmethod
    def _table(self, of: str) -> TableColumns: ...


class Ranking(Exportable, DisplayMixin, tuple[Line, ...]):
    """A ranking: a tuple of lines that prints as a table."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Line: ...
    @overload
    def __getitem__(self, index: slice, /) -> Ranking[Line]: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Line | Ranking[Line]:
        """Return a line, or some lines as a ranking that prints as a table."""
        if isinstance(index, slice):
            return Ranking(tuple(self)[index])
        return super().__getitem__(index)

    def _document(self, options: ExportOptions) -> Content:
        return {"ranking": tuple(self)}

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        line = {"type": "object", "description": "One line, with the fields of its class as keys."}
        return {"ranking": listed(line, "The lines, in order.")}, {}

    def _columns(self) -> Content:
        return {**columns_of(type(self[0]), self)} if len(self) else {"feature": []}

    def __str__(self) -> str:
        return ranking_text(self) if len(self) else "()"
