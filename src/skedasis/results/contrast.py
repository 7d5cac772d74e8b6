"""`Contrast`: the change of an average effect between two values of the feature; `Contrasts`: several of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal, TypeAlias, overload

from skedasis._escaping import one_line
from skedasis._numbers import counted, p_value, with_minus
from skedasis._types import Level
from skedasis.errors import DataError, UnsupportedError
from skedasis.results.described import Columns, columns_of
from skedasis.results.display import SavedResult, align_columns
from skedasis.stats.student import interval_of, two_sided_p

Point: TypeAlias = "Level | float | date | timedelta"
"""A value of a feature: a number, a level (None: missing), a date or datetime (UTC), or a duration."""

ContrastMethod: TypeAlias = Literal["analytic", "bootstrap", "learner", "bound", "models"]
"""Where the error of a contrast comes from: the rows (analytic, bootstrap), or the variation between models."""


@dataclass(frozen=True)
class Contrast(SavedResult):
    """The change of the average effect from value `a` to value `b` of a feature, with its confidence interval.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.uniform(20, 80, 400), rng.normal(size=400)]
    >>> e = sd.explain(
    ...     lambda X: 0.5 * X[:, 0] + X[:, 0] * X[:, 1] / 100, X, 0, method=sd.ALE(bins=6)
    ... )
    >>> c = e.contrast(30, 50)
    >>> print(c)
    x0 30 → 50: prediction +10.021, 95 % interval 9.990 to 10.052
    >>> round(float(c), 2), c.rows, c.p_value < 0.001
    (10.02, 200, True)
    """

    exported = (
        *("feature", "feature_unit", "quantity", "unit", "_rule as rule", "_a as a", "_b as b"),
        *("value", "std_error", "lower", "upper", "confidence_level", "p_value", "comparisons"),
        *("method", "rows", "exact", "notes"),
    )
    feature: str
    quantity: str
    a: Point
    b: Point
    """The two values. Times are datetimes in UTC, as `Effect.x`; None is a missing level."""
    a_text: str
    b_text: str
    """The two values in words."""
    value: float
    """The change, effect(b) - effect(a), in units of the quantity."""
    std_error: float
    """Standard error of the change; 0 if it is known exactly."""
    df: float
    """Its degrees of freedom."""
    lower: float
    """Lower limit of the confidence interval; NaN where no variance can be estimated."""
    upper: float
    """Upper limit."""
    confidence_level: float = 0.95
    method: ContrastMethod = "analytic"
    """Method of the interval. "analytic" and "bootstrap": the error is due to the sample of rows. The others are
    intervals for several models (`MultiModelEffect.interval`): the error is due to the variation between models."""
    rows: int = 0
    """Number of rows that the change is estimated from: those of the bins between the two values, or of the levels
    between them in the order of accumulation; for PDP, ICE and their derivatives, all rows. For several models the
    smallest number."""
    exact: bool = True
    """Whether the error is computed from all rows; False if from a sample of ICE curves, or a bootstrap of moments."""
    unit: str | None = None
    feature_unit: str | None = None
    """Units of the quantity and of the feature."""
    rule: str = ""
    """The rule of the region that the change is of; empty for all rows."""
    notes: tuple[str, ...] = ()
    """What limits the change, such as bins without rows between the two values."""
    comparisons: int = 1
    """Number of contrasts that the interval and the p-value are adjusted for (`Contrasts.simultaneous`); 1 if not."""
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    title: str = ""
    """The text of the feature for people: its label if it has one; empty for its name."""

    def __float__(self) -> float:
        return self.value

    @property
    def p_value(self) -> float:
        """Return the two-sided p-value of the hypothesis of no change, by Student's t; NaN without a standard error.

        Multiplied by `comparisons`, at most 1. It is about the sample of rows (or models), not about the model's fit.
        """
        if math.isnan(self.value) or math.isnan(self.std_error):
            return math.nan
        if self.std_error == 0:
            return 0.0 if self.value else 1.0
        p = float(two_sided_p(self.value / self.std_error, self.df))
        return min(1.0, p * self.comparisons)

    @property
    def change(self) -> str:
        """Return the two values in words, such as "temp 10 → 20 °C"."""
        unit = f" {one_line(self.feature_unit)}" if self.feature_unit else ""
        return f"{one_line(self.title or self.feature)} {self.a_text} → {self.b_text}{unit}"

    @property
    def where(self) -> str:
        """Return the region in words, such as " where workingday = 0"; empty for all rows."""
        return f" where {with_minus(self.rule)}" if self.rule else ""

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.change}{self.where}: unknown: {'; '.join(self.notes) or 'no rows'}"
        change, lower, upper = change_texts(self)
        amount = f"{change} {one_line(self.unit)}" if self.unit else f"{self.quantity} {change}"
        limits = f"{lower} to {upper}" if lower else "unknown"
        together = f", for {counted(self.comparisons, 'contrast')} at once"
        interval = f"{level_text(self.confidence_level)} interval {limits}"
        line = f"{self.change}{self.where}: {amount}, {interval}"
        return "\n".join([line + (together if self.comparisons > 1 else ""), *self.notes])

    def __repr__(self) -> str:
        return f"<Contrast: {str(self).splitlines()[0]}>"

    def table(self) -> Columns:
        """Return the columns of `to_frame`."""
        return Contrasts((self,)).table()

    @property
    def _rule(self) -> str | None:
        """Return the rule of the region that the change is of; None for all rows."""
        return self.rule or None

    @property
    def _a(self) -> float | date | timedelta | str:
        """Return the first value: a number, or a time or the label of a level as text."""
        return self.a if isinstance(self.a, (float, date, timedelta)) else self.a_text

    @property
    def _b(self) -> float | date | timedelta | str:
        """Return the second value."""
        return self.b if isinstance(self.b, (float, date, timedelta)) else self.b_text


@dataclass(frozen=True)
class Contrasts(SavedResult, Sequence[Contrast]):
    """Several contrasts, such as one per region, feature or level: a sequence that prints as a table.

    Notes
    -----
    Each interval covers its own change with probability `confidence_level`. `simultaneous` returns intervals that cover
    all changes at once.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(400, 2))
    >>> es = sd.explain(lambda X: 2 * X[:, 0] + X[:, 1] ** 2, X, method=sd.ALE(bins=4))
    >>> found = es.contrast({"x0": (0.2, 0.6), "x1": (0.2, 0.6)})
    >>> len(found), round(float(found[0]), 6)
    (2, 0.8)
    """

    exported = ("items as contrasts",)
    items: tuple[Contrast, ...]
    """The contrasts."""

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Contrast: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Contrast, ...]: ...
    def __getitem__(self, index: int | slice) -> Contrast | tuple[Contrast, ...]:
        return self.items[index]

    def __iter__(self) -> Iterator[Contrast]:
        return iter(self.items)

    def simultaneous(self) -> Contrasts:
        """Return the contrasts with intervals that cover all changes at once, and with adjusted p-values.

        Returns
        -------
        Contrasts

        Notes
        -----
        Bonferroni: the interval of each of m contrasts has confidence level 1 - (1 - level) / m, by Student's t with
        the standard error of the contrast (also after a bootstrap). That holds for any dependence between the
        contrasts, and is conservative if they are strongly correlated. Contrasts of a value with itself, and unknown
        ones, do not count. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(400, 2))
        >>> es = sd.explain(lambda X: X[:, 0] * X[:, 1], X, method=sd.ALE(bins=4))
        >>> found = es.contrast({"x0": (0.2, 0.6), "x1": (0.2, 0.6)})
        >>> found.simultaneous()[0].lower < found[0].lower
        True
        """
        m = max(sum(c.std_error > 0 for c in self.items), 1)
        return Contrasts(tuple(_adjusted(c, m) for c in self.items))

    def difference(self, first: int = 0, second: int = 1) -> Contrast:
        """Return by how much the change differs between two regions: that of `second` minus that of `first`.

        Parameters
        ----------
        first, second : int
            Positions of the two regions.

        Returns
        -------
        Contrast
            Its rule names both regions.

        Raises
        ------
        DataError
            If the two are no positions of contrasts, or the same.
        UnsupportedError
            If the two contrasts are not of different regions and the same values of one feature: then their errors are
            not independent.

        Notes
        -----
        Regions share no rows, so the squared standard errors add up; Welch's (Satterthwaite's) degrees of freedom. The
        interval is by Student's t, also after a bootstrap. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
        >>> q = lambda X: np.where(X[:, 1] > 0, 3.0, 1.0) * X[:, 0]
        >>> r = sd.explain(q, X, 0, by={"low": X[:, 1] <= 0, "high": X[:, 1] > 0})
        >>> print(r.contrast(-0.5, 0.5).difference())
        x0 −0.5 → 0.5 where high, minus where low: prediction +2, 95 % interval 2 to 2
        """
        one, two = _picked(self.items, first), _picked(self.items, second)
        same = (one.feature, one.a_text, one.b_text) == (two.feature, two.a_text, two.b_text)
        if not (one.rule and two.rule and one.rule != two.rule and same):
            got = f"{one.change}{one.where}, and {two.change}{two.where}"
            raise UnsupportedError(
                "difference of contrasts",
                got,
                "two contrasts of the same values in different regions, which share no rows",
                "Use the result of Regions.contrast, and pass the positions of two regions",
            )
        error2 = one.std_error**2 + two.std_error**2
        df = math.inf
        if error2 > 0:  # the squares as shares of their sum, because fourth powers leave float64
            df = 1.0 / sum((c.std_error**2 / error2) ** 2 / max(c.df, 1.0) for c in (one, two))
        made = replace(
            two,
            value=two.value - one.value,
            std_error=math.sqrt(error2),
            df=df,
            rows=one.rows + two.rows,
            exact=one.exact and two.exact,
            rule=f"{two.rule}, minus where {one.rule}",
            notes=tuple(dict.fromkeys((*one.notes, *two.notes))),
        )
        return _adjusted(made, 1)

    def __str__(self) -> str:
        if not self.items:
            return "no contrasts"
        quantities = {(c.quantity, c.unit) for c in self.items}
        levels, first = {c.confidence_level for c in self.items}, self.items[0]
        lines: list[str] = []
        if len(quantities) == 1 and len(levels) == 1:
            unit = f" [{first.unit}]" if first.unit else ""
            together = ", for all at once" if first.comparisons > 1 else ""
            level = level_text(first.confidence_level)
            how = f"{level} intervals ({first.method}{together})"
            lines = [f"change of {first.quantity}{unit}, with {how}"]
        regions = any(c.rule for c in self.items)
        heads = ["", *(["where"] if regions else []), "change", "interval", "p", "rows"]
        table = [heads, *(_line(c, regions=regions) for c in self.items)]
        notes = dict.fromkeys(
            f"{c.change}{c.where}: {note}" for c in self.items for note in c.notes
        )
        return "\n".join([*lines, *align_columns(table, left=(0, 1) if regions else (0,)), *notes])

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(c.feature for c in self.items))
        return f"<Contrasts: {counted(len(self), 'contrast')} of {names or 'no features'}>"

    def _library(self) -> str | None:
        return self.items[0].library if self.items else None

    def table(self) -> Columns:
        """Return the columns of `to_frame`."""
        items = self.items
        numbers = all(isinstance(v, float) for c in items for v in (c.a, c.b))
        rule = ("rule",) if any(c.rule for c in items) else ()
        ends = ("a", "b") if numbers else ("a_text as a", "b_text as b")
        return columns_of(
            Contrast,
            items,
            *("feature", "quantity", *rule, *ends, "value", "std_error", "df", "lower", "upper"),
            *("p_value", "confidence_level", "method", "rows", "exact"),
        )


# --- intervals from standard errors ---------------------------------------------------------------


def _adjusted(contrast: Contrast, comparisons: int) -> Contrast:
    """Return a contrast with the interval by Student's t that is adjusted for a number of comparisons."""
    level = 1 - (1 - contrast.confidence_level) / comparisons
    lower, upper = interval_of(contrast.value, contrast.std_error, contrast.df, level)
    return replace(contrast, lower=lower, upper=upper, comparisons=comparisons)


def _picked(items: Sequence[Contrast], index: int) -> Contrast:
    if (
        isinstance(index, bool)
        or not isinstance(index, int)
        or not -len(items) <= index < len(items)
    ):
        raise DataError(
            "difference of contrasts",
            repr(index)[:60],
            f"a position from 0 to {len(items) - 1}",
            "Pass the positions of two regions, such as difference(0, 1)",
        )
    return items[index]


# --- words ----------------------------------------------------------------------------------------


def level_text(confidence_level: float) -> str:
    """Return a confidence level in per cent, such as "95 %"."""
    return f"{100 * confidence_level:.6g} %"


def change_texts(contrast: Contrast) -> tuple[str, str, str]:
    """Return the change with its sign, and the limits of the interval, all rounded alike; empty limits if unknown."""
    c = contrast
    half = (c.upper - c.lower) / 2
    digits = None
    if math.isfinite(half) and half > 0 and half > 1e-9 * abs(c.value):
        digits = 1 - math.floor(math.log10(half))
    texts = [_number(v, digits) for v in (c.value, c.lower, c.upper)]
    sign = "+" if c.value > 0 else ""
    if math.isnan(half):
        return f"{sign}{texts[0]}", "", ""
    return f"{sign}{texts[0]}", texts[1], texts[2]


def _number(value: float, digits: int | None) -> str:
    """Return a number with this many decimals, or with four significant digits."""
    if not math.isfinite(value):
        return "unknown"
    if digits is None or digits > 6 or abs(value) >= 1e12:
        text = f"{value + 0.0:.4g}"
    else:
        text = f"{round(value, digits) + 0.0:,.{max(digits, 0)}f}"
    return text.replace("-", "−")


def _line(contrast: Contrast, *, regions: bool) -> list[str]:
    c = contrast
    cells = [c.change, *([with_minus(c.rule)] if regions else [])]
    if math.isnan(c.value):
        return [*cells, "unknown", "", "", ""]
    change, lower, upper = change_texts(c)
    limits = f"{lower} to {upper}" if lower else "unknown"
    p = c.p_value
    p_text = p_value(p).removeprefix("p ").removeprefix("= ")
    return [*cells, change, limits, p_text, f"{c.rows:,}"]
