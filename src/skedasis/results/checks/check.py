"""`Check` and `Checks`: the findings of reliability checks, with the numbers behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from skedasis._arguments import check_option, listed, shown
from skedasis._calls import NearestAttribute
from skedasis._numbers import counted
from skedasis._types import Bools, OutputLabel
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError
from skedasis.registry import load_plugins
from skedasis.results import json_keys
from skedasis.results.containers import key_column
from skedasis.results.described import Keys
from skedasis.results.display import DisplayMixin
from skedasis.results.export import Content, Exportable, ExportOptions
from skedasis.results.sentences import tell

if TYPE_CHECKING:
    from skedasis.results.checks.extrapolation import Extrapolation, FeatureSpace
    from skedasis.results.effect import Effect

Code = Literal[
    "slope_mismatch",
    "heterogeneous",
    "extrapolation",
    "disagreement",
    "rows_outside",
    "slope_changes",
    "no_rows",
    "gap",
    "few_rows",
    "one_row",
    "collinear",
    "few_pairs",
    "depends_on",
]
Severity = Literal["note", "warning"]

Ignore: TypeAlias = str | Collection[str] | None
"""The argument `ignore` of one result: a code, or several."""

IgnoreByFeature: TypeAlias = Ignore | Mapping[str, str | Collection[str]]
"""The argument `ignore` of several results: the codes for all features, or those of each feature."""


@dataclass(frozen=True)
class CodeInfo:
    """What a code stands for."""

    meaning: str
    warning: str = ""
    note: str = ""

    @property
    def severities(self) -> tuple[Severity, ...]:
        """Return the severities that a finding with the code can have."""
        warning: tuple[Severity, ...] = ("warning",) if self.warning else ()
        return (*warning, "note") if self.note else warning


CODES: dict[str, CodeInfo] = {
    "slope_mismatch": CodeInfo(
        "The slopes do not add up to the differences of the quantity.", "always"
    ),
    "heterogeneous": CodeInfo(
        "The average describes few rows: they differ from it by more than it varies (the heterogeneity score exceeds "
        "the importance).",
        "the score is at least 5 % of the quantity's standard deviation",
        "the score is smaller",
    ),
    "extrapolation": CodeInfo(
        "The method, or the heterogeneity score, asks the model about rows unlike any in the data.",
        "at least 25 % of these rows are extrapolations",
        "at least 10 % (of the score's: 15 %), or a PDP was not checked because X was not given",
    ),
    "disagreement": CodeInfo(
        "Two methods give different curves of the same feature.",
        "the curves differ by more than their errors, and by at least 10 % of their range",
    ),
    "rows_outside": CodeInfo(
        "Rows are left out, because their values lie outside given edges of the bins.",
        "at least 5 % of the rows, by weight",
        "fewer",
    ),
    "slope_changes": CodeInfo(
        "The slope changes within a bin.",
        "the change is at least 10 % of the bin's variance, and 5 % of the root mean square slope",
        "the change is smaller, or local effects are differences across the bin",
    ),
    "no_rows": CodeInfo(
        "A part of the axis, or of a surface, has no rows.",
        "the bin or interval is inside the curve; or at least 25 % of a surface",
        "at least 10 % of a surface",
    ),
    "gap": CodeInfo(
        "Values of the feature lie beyond a wide gap.",
        "they are a single value, or less than 1 % of the rows, beyond more than half of the axis: probably a code",
        "less than 5 % of the rows: the sparse tail of a distribution",
    ),
    "few_rows": CodeInfo(
        "A bin, a level or a cell of a surface has fewer than ten rows.",
        "the value depends on these rows; or at least 50 % of the rows of a surface",
        "a level of a PDP, whose value depends on all rows; or at least 10 % of the rows of a surface",
    ),
    "one_row": CodeInfo("A bin has a single row, and so no variance of its own.", "always"),
    "collinear": CodeInfo(
        "Other columns nearly repeat the feature, so that its heterogeneity score is about small changes only.",
        note="always",
    ),
    "few_pairs": CodeInfo(
        "Too few comparable rows for the heterogeneity score: its ± is rough.",
        "the score is computed from a sample of the rows",
        "the score is computed from all rows",
    ),
    "depends_on": CodeInfo(
        "Another feature explains at least a tenth of the variance between rows.", note="always"
    ),
}
"""Code → what it stands for. Findings with the same severity are in this order: the whole curve before parts of it."""

_PAGE = "reference/checks.html"


@dataclass(frozen=True)
class Check(Exportable, NearestAttribute):
    """One finding of a reliability check."""

    code: Code
    """The code of the check, such as "few_rows"; `page` explains it. Codes are stable: they keep their meaning later.
    """
    severity: Severity
    """How serious it is."""
    message: str
    """What is wrong, the numbers behind it, and what to do, in one to three sentences."""
    rows: int | None = None
    """Number of rows that the finding is about; None if it is not about particular rows. For `extrapolation`: of the
    artificial rows that were sampled."""
    feature: str = ""
    where: tuple[Any, Any] | str | None = None
    """The interval of the axis, the level, or None for the whole effect."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The numbers in the message."""
    output: OutputLabel = None
    """For a result of several outputs, the label of the output; otherwise None."""

    @property
    def page(self) -> str:
        """The address of the section on this code in the documentation, relative to the site's root.

        Examples
        --------
        >>> Check("few_rows", "warning", "The bin has 3 rows.", 3, "x", (0.0, 1.0)).page
        'reference/checks.html#few_rows'
        """
        return f"{_PAGE}#{self.code}"

    def __str__(self) -> str:
        of_output = "" if self.output is None else f"output {self.output!r}: "
        return f"{self.severity}: {of_output}{self.message}"


class Checks(Exportable, DisplayMixin, tuple[Check, ...]):
    """The findings of the reliability checks of one or more results: a tuple of `Check`, empty if there are none.

    `to_frame` has one row per finding, with the columns `output` (for a result of several outputs), `feature`, `code`,
    `severity`, `left` and `right` (the interval of a numeric feature), `level` (of a categorical feature; for a feature
    of times, the interval as text), `rows` and `message`.

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

    def of(self, code: str) -> Checks:
        """Return the findings with one code; raise `DataError` for an unknown one."""
        load_plugins()  # they add codes
        check_option("Checks.of(code)", code, list(CODES))
        return Checks(f for f in self if f.code == code)

    def __str__(self) -> str:
        return "\n".join(lines_of(self)) or "No warnings."

    def __repr__(self) -> str:
        return f"<Checks: {counted(len(self), 'finding')}, {counted(len(self.warnings), 'warning')}>\n{self}"

    def _document(self, options: ExportOptions) -> Content:
        return {"checks": tuple(self)}

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {"checks": json_keys.results("Check", "The findings, warnings first.")}, {}

    def _columns(self) -> Content:
        ends = [f.where if isinstance(f.where, tuple) else (np.nan, np.nan) for f in self]
        numbers = [tuple(e if isinstance(e, (int, float)) else np.nan for e in w) for w in ends]
        levels = [f.where if isinstance(f.where, str) else _levels_of(f.where) for f in self]
        table: Content = {
            "feature": np.array([f.feature for f in self], dtype=object),
            "code": np.array([f.code for f in self], dtype=object),
            "severity": np.array([f.severity for f in self], dtype=object),
            "left": np.array([float(left) for left, _ in numbers]),
            "right": np.array([float(right) for _, right in numbers]),
            "level": np.array(levels, dtype=object),
            "rows": np.array([np.nan if f.rows is None else f.rows for f in self], dtype=float),
            "message": np.array([f.message for f in self], dtype=object),
        }
        if any(f.output is not None for f in self):
            outputs = key_column([f.output for f in self], [1] * len(self))
            return {"output": outputs, **table}
        return table


def lines_of(checks: Sequence[Check]) -> list[str]:
    """Return findings as lines; what is found for several outputs alike is one line, with their number."""
    groups: dict[tuple[object, ...], list[Check]] = {}
    told: Counter[tuple[object, ...]] = Counter()
    for found in checks:
        alike = (found.severity, found.code, found.feature, found.output is None)
        # An output can have several findings with one code, at several places: each has its line.
        groups.setdefault((*alike, told[*alike, found.output]), []).append(found)
        told[*alike, found.output] += 1
    return [_line(group) for group in groups.values()]


def _line(group: Sequence[Check]) -> str:
    """Return findings of several outputs as a line; where their numbers differ, with those of the first."""
    first = group[0]
    if len(group) == 1:
        return str(first)
    same = all(found.message == first.message for found in group)
    return tell(
        "{severity}: {n:#output} ({names:list})[, here {first}]: {message}",
        severity=first.severity,
        n=len(group),
        names=[repr(found.output) for found in group],
        first=None if same else repr(first.output),
        message=first.message,
    )


@dataclass(frozen=True, eq=False)
class Examined:
    """What a rule is given."""

    effect: Effect
    confidence_level: float
    """Confidence level of tests."""
    seed: int
    """Seed of permutations and samples."""
    space: FeatureSpace | None = None
    """The data that was explained."""
    far: Extrapolation | None = None
    """How far from the data the method evaluates the model; None without the data, or if it evaluates it at the rows.
    """
    beside: Effect | None = None
    """Another effect of the same feature."""


Rule: TypeAlias = Callable[[Examined], Iterator[Check]]
"""Yields the findings of an effect."""

RULES: dict[Rule, tuple[str, ...]] = {}
"""Rule → the codes of its findings. A rule is not run if all of them are left out."""


def reports(*codes: str) -> Callable[[Rule], Rule]:
    """Return a decorator that registers a rule, whose findings have these codes of `CODES`."""

    def register(rule: Rule) -> Rule:
        RULES[rule] = codes
        return rule

    return register


def severity_of(share: float, is_warning: float) -> Severity:
    """Return the severity of a finding on a share of the rows: from `is_warning` on a warning."""
    return "warning" if share >= is_warning else "note"


def checks_in_order(found: Sequence[Check]) -> Checks:
    """Return findings with warnings first, and those of one severity in the order of `CODES`."""
    place = {code: k for k, code in enumerate(CODES)}
    return Checks(sorted(found, key=lambda f: (f.severity == "note", place[f.code])))


def check_codes(what: str, value: object) -> frozenset[str]:
    """Return the codes of the argument `ignore` of one result."""
    given: list[object] = [] if value is None else [value]
    if isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping)):
        given = list(value)
    load_plugins()  # they add codes, and rules that are run
    for code in given:
        if not isinstance(code, str) or code not in CODES:
            expected = f"codes of checks: {listed(list(CODES))}"
            raise DataError(what, shown(code), expected, 'Pass for example ignore=("few_rows",)')
    return frozenset(code for code in CODES if code in given)


def check_ignore(what: str, value: object, features: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the codes that are left out for each feature."""
    if not isinstance(value, Mapping):
        codes = check_codes(what, value)
        return dict.fromkeys(features, codes)
    wrong = [name for name in value if name not in features]
    if wrong:
        expected = f"features: {', '.join(map(repr, features))}"
        raise DataError(what, shown(wrong[0]), expected, "Use their names as keys")
    return {name: check_codes(what, value.get(name)) for name in features}


def _levels_of(where: Any) -> str | None:
    return f"{where[0]} – {where[1]}" if where and isinstance(where[0], str) else None


def runs(where: Bools) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of each run of true values."""
    edge = np.flatnonzero(np.diff(np.concatenate([[0], where.astype(int), [0]])))
    yield from ((int(a), int(b) - 1) for a, b in zip(edge[::2], edge[1::2], strict=True))


def number(value: Any, time: TimeAxis | None = None) -> str:
    """Return an end of an interval as text; on a time axis as a time."""
    if time is not None:
        return time.text(float(value))
    return f"{value:.4g}" if isinstance(value, (int, float, np.number)) else str(value)
