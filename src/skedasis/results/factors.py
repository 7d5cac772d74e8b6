"""`Factors`: multiplicative effects of a feature on a quantity that is a logarithm; `RatingTable`: those of several.

Of log odds they are odds ratios, by the same mathematics.

On the log scale an effect is a difference, so that its exponential is a factor: exp(effect - effect at the base). The
interval of a factor is the exponential of that of the contrast with the base (`intervals/contrasts.py`), whose two
points share rows.

**Where factors are given.** At the levels, and at the points of the curve of a numeric feature: on a log-additive model
they are exact there. A curve with `observed` has its factors at the cells of the observed means instead, each at the
mean of the feature in the cell; between its points the curve is linear.

**Exposure** is the weight of the rows. Between two points of a curve a row counts for each in part, by how near it is,
so that the mean of the curve over the data is the mean of its points by exposure.

**Observed factor**: mean label over mean label at the base; of odds ratios, the odds of the one over those of the
other. Both are means over different rows, so that the squared relative standard errors add up to the squared error of
the logarithm of the ratio (delta method), with Satterthwaite's degrees of freedom.

**Base value** of a rating table: exp(mean of the log prediction + Σ (effect at the base - mean of the effect over the
data)). Of an uncentred partial dependence the last difference is the value at the base minus the mean of the log
prediction, which is exact also where the curve is not linear between its points. With rows and their labels or
predictions y it is mean(y) / mean(product of the rows' factors) instead, so that the totals agree; the ratio of both
base values is the off-balance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_name, check_probability, shown
from skedasis._escaping import one_line
from skedasis._numbers import counted, listed, number, percent, sentence, with_minus
from skedasis._types import Floats, Ints, Level, OutputLabel, TableLike
from skedasis.data.dataset import Dataset, as_dataset
from skedasis.data.times import TimeAxis
from skedasis.distributions.base import label_numbers
from skedasis.errors import DataError, UnsupportedError
from skedasis.quantities.base import DIFFERENCE, argument_in
from skedasis.results import operations
from skedasis.results.at_rows import coordinates_at_rows
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.build.steps import UP
from skedasis.results.containers import explained_name
from skedasis.results.contrast import level_text
from skedasis.results.described import Columns, Documented, columns_of
from skedasis.results.display import MOST_LINES, SavedResult, align_columns, distinct_texts
from skedasis.results.effect import (
    TRUSTED_ROWS,
    AccumulatedEffect,
    AnyMPlot,
    Effect,
    MissingPoint,
    PartialDependence,
    ValueStepsEffect,
)
from skedasis.results.effects import Effects
from skedasis.results.intervals.analytic import ContrastOptions
from skedasis.results.intervals.contrasts import (
    ValuePair,
    check_on_curve,
    contrasts_of_pairs,
    coordinate_of,
    point_of,
    text_of,
)
from skedasis.results.observed import Observed
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.sentences import FACTORS, tell
from skedasis.results.signatures import takes_figure_options
from skedasis.results.variance_shares import MAIN, VarianceShares
from skedasis.stats.curve_sums import Places
from skedasis.stats.student import interval_of, t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import (
        FactorsKeywords,
        FactorsViewKeywords,
        RatingTableKeywords,
        RatingTableViewKeywords,
    )

NAN = float("nan")

FACTOR, ODDS_RATIO = "factor", "odds ratio"

WHOLE = 31
"""Most lines that are printed without leaving some out: the hours of a day, the days of a month."""

MEASURES = {"log": FACTOR, "logit": ODDS_RATIO}
"""What exponentials of effects are, by the scale of the quantity."""

# --- results --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Factor(Documented):
    """One line of a table of factors."""

    exported = (
        *("_value as value", "text", "low", "high", "factor", "lower", "upper", "std_error"),
        *("is_base as base", "rows", "exposure", "share"),
        *("observed", "observed_lower", "observed_upper"),
    )
    value: Level | float | date | timedelta
    """The level, or the value of the feature: a number, a datetime in UTC, or a duration; None where it is missing."""
    text: str
    """The value in words."""
    cell: str
    """The ends of the cell in words; empty without one."""
    position: float
    """The value as a number of the axis: for times, days; for a level, its index; NaN for missing values."""
    low: float | date | timedelta | None
    """Lower end of the cell of the observed means; None without a cell, and for few values and levels."""
    high: float | date | timedelta | None
    """Upper end of the cell."""
    factor: float
    """Exponential of the effect minus the effect at the base; NaN where the effect has no value."""
    lower: float
    upper: float
    """Limits of its interval; NaN at the base, and where the error is not known."""
    std_error: float
    """Standard error of the logarithm of the factor; 0 at the base."""
    is_base: bool
    """Whether this is the base, whose factor is 1."""
    rows: float
    """Number of rows. Between two points of a curve rows count for each in part."""
    exposure: float
    """Sum of the rows' weights, likewise: by how near a row is to the two points; NaN for a base that was given and is
    no point of the curve."""
    share: float
    """The part of the whole exposure."""
    observed: tuple[float, ...] = ()
    """Mean label divided by the mean label at the base (of odds ratios, their odds), for each value of the split (one
    without a split, none without `observed`); NaN where there is no row, and where the mean label at the base is not
    above 0 (of odds ratios, where a mean label is 1)."""
    observed_lower: tuple[float, ...] = ()
    """Lower limits of their intervals; NaN where either mean is of fewer than 10 rows."""
    observed_upper: tuple[float, ...] = ()
    """Upper limits."""

    @property
    def few(self) -> bool:
        """Return whether there are fewer than 10 rows, whose interval is neither printed nor drawn."""
        return self.rows < TRUSTED_ROWS

    @property
    def _value(self) -> float | date | timedelta | str:
        """Return the value: a number, or a time or the label of a level as text."""
        return self.value if isinstance(self.value, (float, date, timedelta)) else self.text


_NUMBERS = ("lower", "upper", "std_error", "is_base as base", "rows", "exposure", "share")
"""Columns of tables, after the factor."""


@dataclass(frozen=True, eq=False, repr=False)
class Factors(SavedResult, Sequence[Factor]):
    """The factors of one feature: by how much each level or value multiplies a quantity. From `Effect.factors`.

    Notes
    -----
    A sequence of lines that prints as a table. No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"town": rng.choice(["A", "B", "C"], 300, p=[0.6, 0.3, 0.1])})
    >>> X["age"] = rng.uniform(20, 80, 300)
    >>> rate = lambda X: X["town"].map({"A": 0.1, "B": 0.2, "C": 0.05}) * np.exp(X["age"] / 100)
    >>> e = sd.explain(sd.prediction(rate, inverse="log"), X, "town", method="ale")
    >>> sorted((f.text, round(f.factor, 6)) for f in e.factors())
    [('A', 1.0), ('B', 2.0), ('C', 0.5)]
    """

    exported = (
        *("feature", "feature_unit", "quantity", "measure", "method", "_rule as rule"),
        "confidence_level",
        *("between_rows", "split_name", "split_values", "observed_quantity"),
        *("lines as factors", "notes"),
    )
    feature: str
    """Name of the feature."""
    quantity: str
    """Name of what the factors multiply, whose logarithm was explained; of odds ratios, the probability."""
    method: str
    """Method of the effect."""
    lines: tuple[Factor, ...]
    """The factors, in the order of the levels or values; missing values of a numeric feature come last."""
    measure: str = FACTOR
    """What the factors are: "factor", or "odds ratio" if log odds were explained."""
    confidence_level: float = 0.95
    levels: bool = False
    """Whether the lines are levels."""
    default_base: bool = False
    """Whether no base was given, so that it is the line with the most exposure."""
    between_rows: float = NAN
    """Exponential of the heterogeneity score: the factor by which single rows typically differ from these factors, up
    or down; 1 if the model is log-additive in the feature; NaN if the score is not known."""
    split_name: str = ""
    """Name of the split of the observed factors; empty without one, and for an array of labels."""
    split_values: tuple[str, ...] = ()
    """The values of the split; one empty text without a split, none without observed factors."""
    observed_quantity: str = ""
    """Name of the prediction on the scale of the labels; empty without observed factors."""
    feature_unit: str | None = None
    rule: str = ""
    """The rule of the region that the effect is of; empty for all rows."""
    title: str = ""
    """The text of the feature for people."""
    notes: tuple[str, ...] = ()
    """What is not known, and why."""
    time: TimeAxis | None = None
    """For dates, times and durations: the axis of the positions."""
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    provenance: Provenance = field(default_factory=no_provenance)
    """Record of how the effects were computed."""

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, index: int) -> Factor: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Factor, ...]: ...
    def __getitem__(self, index: int | slice) -> Factor | tuple[Factor, ...]:
        return self.lines[index]

    def __iter__(self) -> Iterator[Factor]:
        return iter(self.lines)

    @property
    def base(self) -> Factor:
        """Return the line of the base."""
        return next(f for f in self.lines if f.is_base)

    @property
    def weighed_by(self) -> str:
        """Return "exposure", or "rows" if that is their number, because there are no weights."""
        differ = any(f.exposure != f.rows for f in self.lines if not math.isnan(f.rows))
        return "exposure" if differ else "rows"

    @property
    def _rule(self) -> str | None:
        """Return the rule of the region that the effect is of; None for all rows."""
        return self.rule or None

    def table(self) -> Columns:
        """Return the columns of `to_frame`; observed factors have a column per value of the split."""
        # Levels are text, because those of a column may be of several types.
        value = "text as level" if self.levels else "value"
        cells = ("low", "high") if any(f.cell for f in self.lines) else ()
        return self.columns(value, *cells)

    def columns(self, *of_value: str) -> Columns:
        """Return columns on the value, and those of the factors, also of observed ones for each value of the split."""
        factor = f"factor as {self.measure.replace(' ', '_')}"
        columns: Columns = {"feature": [self.feature] * len(self)}
        columns |= columns_of(Factor, self.lines, *of_value, factor, *_NUMBERS)
        for s, split in enumerate(self.split_values):
            for name in ("observed", "observed_lower", "observed_upper"):
                column = [vars(f)[name][s] for f in self.lines]
                columns[f"{name} ({split})" if split else name] = column
        return columns

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[FactorsKeywords]) -> Figure:
        """Plot the factors on a log axis, the observed ones beside them, and the exposure below.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(300, 2))
        >>> q = sd.prediction(lambda X: np.exp(X[:, 0] + X[:, 1]), inverse="log")
        >>> e = sd.explain(q, X, 0, method=sd.ALE(bins=4))
        >>> [ax.get_ylabel() for ax in e.factors().plot(size=(5, 5)).axes]
        ['factor of prediction', 'rows [%]']
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[FactorsViewKeywords],
    ) -> Explorable:
        """Return the factors as an interactive page with tooltips."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        what = f"{self.feature!r} on {self.quantity}"
        return f"<Factors of {what}: {counted(len(self), 'line')}, base {self.base.text}>"

    def __str__(self) -> str:
        head = tell(
            FACTORS["head"],
            measure=self.measure,
            quantity=self.quantity,
            feature=self.title or self.feature,
            rule=self.rule,
            method=self.method,
            base=with_minus(self.base.text),
            most=self.weighed_by if self.default_base else None,
        )
        return "\n".join([head, *self.printed, *self.remarks])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return how rows differ from the factors, and the notes, as sentences."""
        factor = number(self.between_rows)
        said = tell(FACTORS["between rows"], measure=self.measure, factor=factor)
        known = not math.isnan(self.between_rows)
        return (*([said] if known else []), *map(sentence, self.notes))

    def shown(self, most: int) -> tuple[Factor, ...]:
        """Return the base and other lines, about `most`: levels with most exposure, or evenly spaced values."""
        if len(self) <= most:
            return self.lines
        order = sorted(self, key=lambda f: (f.is_base, f.exposure), reverse=True)
        if not self.levels:
            order = [self.base, *(self[round(i)] for i in np.linspace(0, len(self) - 1, most))]
            most += 1
        kept = set(map(id, order[:most]))
        return tuple(f for f in self if id(f) in kept)

    @property
    def printed(self) -> list[str]:
        """Return the lines of the printed table."""
        lines = self.lines if len(self) <= WHOLE else self.shown(MOST_LINES)
        left_out, where = len(self) - len(lines), "" if self.levels else " between these"
        more = [f"… {left_out:,} more{where}: to_frame() has all"] if left_out else []
        return [*align_columns(self.cells(lines)), *more]

    def cells(self, lines: Sequence[Factor] | None = None) -> list[list[str]]:
        """Return head and lines of a table as text, by default of all lines."""
        interval = f"{level_text(self.confidence_level)} interval"
        cells = any(f.cell for f in self.lines)
        unit = f" [{one_line(self.feature_unit)}]" if self.feature_unit else ""
        head = [one_line(self.title or self.feature) + unit, *(["cell"] if cells else [])]
        head += [self.measure, interval, self.weighed_by]
        for split in self.split_values:
            head += [f"observed, {one_line(split)}" if split else "observed", interval]
        table = [head]
        for f in self.lines if lines is None else lines:
            line = [with_minus(text) for text in (one_line(f.text), *([f.cell] if cells else []))]
            few = f"fewer than {TRUSTED_ROWS} rows" if f.few else _limits(f.lower, f.upper)
            limits = "base" if f.is_base else few
            line += [number(f.factor), limits, percent(f.share)]
            for value, low, high in zip(
                f.observed, f.observed_lower, f.observed_upper, strict=True
            ):
                line += [number(value), "" if f.is_base else _limits(low, high)]
            table.append(line)
        return table


@dataclass(frozen=True, eq=False, repr=False)
class RatingTable(SavedResult):
    """The factors of several features and the value that they multiply: a rating table. From `Effects.factors`.

    Notes
    -----
    `base_value` times one factor of each feature is the prediction of a log-additive model. No method of a result calls
    the model.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({n: rng.choice(["A", "B"], 400, p=[0.7, 0.3]) for n in ("x", "y")})
    >>> rate = lambda X: 0.1 * np.where(X["x"] == "B", 2, 1) * np.where(X["y"] == "B", 3, 1)
    >>> es = sd.explain(sd.prediction(rate, inverse="log"), X, method="ale")
    >>> table = es.factors()
    >>> round(table.base_value, 6), [round(f.factor, 6) for f in table["y"]]
    (0.1, [1.0, 3.0])
    """

    exported = (
        *("quantity", "unit", "base_value", "off_balance", "balance_rows", "confidence_level"),
        *("product_share", "product_share_std_error", "features", "notes"),
    )
    features: tuple[Factors, ...]
    """The factors of each feature, in X's order."""
    base_value: float
    """The prediction at the base of all features, in units of the quantity (of odds ratios, the odds); over features
    that are not in the table, the geometric mean. Multiplied by the off-balance if that is known. NaN if it is not
    known."""
    quantity: str
    """Name of the quantity, whose logarithm was explained; of odds ratios, the probability."""
    unit: str | None = None
    off_balance: float = NAN
    """Total of the y that was given to `Effects.factors`, labels or predictions, divided by that of the table's
    predictions before the correction of the base value; NaN if none was given."""
    balance_rows: int = 0
    """Number of these rows."""
    confidence_level: float = 0.95
    """Confidence level of the intervals."""
    product_share: float = NAN
    """Share of the variance of the logarithm at held-out rows that a product of one factor per feature explains, the
    first part of `skedasis.variance_shares`; NaN if that was not given."""
    product_share_std_error: float = NAN
    """Its standard error."""
    notes: tuple[str, ...] = ()
    """What is not known, and why."""
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    provenance: Provenance = field(default_factory=no_provenance)
    """Record of how the effects were computed."""

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, name: str) -> Factors:
        """Return the factors of the feature of this name."""
        names = [found.feature for found in self.features]
        check_name("feature", name, names, "Pass the name of a feature")
        return self.features[names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter([found.feature for found in self.features])

    def table(self) -> Columns:
        """Return the columns of `to_frame`: one line per level or value of each feature, as text."""
        tables = [one.columns("text as level") for one in self.features]
        names = dict.fromkeys(name for table in tables for name in table)
        return {
            name: [v for t in tables for v in t.get(name, [NAN] * len(t["feature"]))]
            for name in names
        }

    @takes_figure_options
    def plot(self, **options: Unpack[RatingTableKeywords]) -> Figure:
        """Plot the factors of all features side by side on one log axis."""
        return operations.plot(self, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[RatingTableViewKeywords],
    ) -> Explorable:
        """Return the factors of all features as an interactive page with tooltips."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        names = listed([found.feature for found in self.features])
        return f"<RatingTable of {self.quantity}: base value {number(self.base_value)}, {names}>"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return how much of the model is a product, and the notes, as sentences."""
        measure = self.features[0].measure
        if not math.isnan(self.product_share):
            share = percent(self.product_share, self.product_share_std_error)
            facts = {"measure": measure, "share": share, "quantity": self._multiplied}
            said = tell(FACTORS["product"], **facts)
        else:
            known = [f for f in self.features if not math.isnan(f.between_rows)]
            texts = [f"{one_line(f.title or f.feature)} {number(f.between_rows)}" for f in known]
            each = FACTORS["between rows of each"]
            said = tell(each, measure=measure, factors=texts) if known else ""
        return (*filter(None, [said]), *map(sentence, self.notes))

    @property
    def _multiplied(self) -> str:
        """Return the name of what the factors multiply."""
        odds = self.features[0].measure == ODDS_RATIO
        return f"odds of {self.quantity}" if odds else self.quantity

    def __str__(self) -> str:
        at = [
            f"{one_line(f.title or f.feature)} = {with_minus(one_line(f.base.text))}"
            for f in self.features
        ]
        head = tell(
            FACTORS["base"],
            measure=self.features[0].measure,
            quantity=self._multiplied,
            value=f"{number(self.base_value, 4)} {self.unit or ''}".rstrip(),
            at=at,
            most=next((f.weighed_by for f in self.features if f.default_base), None),
        )
        parts = [head, *self.remarks]
        for one in self.features:
            parts += ["", *one.printed, *map(sentence, one.notes)]
        return "\n".join(parts)


# --- words ----------------------------------------------------------------------------------------


def _limits(lower: float, upper: float) -> str:
    if math.isnan(lower) or math.isnan(upper):
        return ""
    return f"{number(lower)} to {number(upper)}"


# --- the factors of one feature -------------------------------------------------------------------


def factors_of(effect: Effect, base: object = None, confidence_level: float = 0.95) -> Factors:
    """Return the factors of an effect; see `Effect.factors`."""
    level = check_probability("factors(confidence_level)", confidence_level)
    _check_is_factor(effect)
    points = _Points.of(effect)
    at, first = _base(effect, points, base)
    points, k = points.with_base(at, first)
    lines, notes = _lines(effect, points, k, level)
    point = effect.missing_point
    if point is not None:
        lines.append(_missing_line(effect, point, lines[k], level))
        if math.isnan(lines[-1].std_error):
            notes.append(FACTORS["no interval of missing"])
    observed, about, score = effect.observed, effect.about, effect.heterogeneity_score
    measure = MEASURES[about.scale]
    if observed is not None:
        lines, unknown = _with_observed(lines, k, observed, points, level, measure)
        notes += unknown
    whole = sum(f.exposure for f in lines if not math.isnan(f.exposure))
    return Factors(
        feature=effect.feature,
        quantity=_named(effect),
        measure=measure,
        method=operations.method_of(effect),
        lines=tuple(replace(f, share=f.exposure / whole if whole > 0 else NAN) for f in lines),
        confidence_level=level,
        levels=isinstance(effect.axis, LevelAxis),
        default_base=base is None,
        between_rows=math.exp(score) if score < 700 else NAN,
        split_name="" if observed is None else observed.split_name,
        split_values=() if observed is None else observed.split_values,
        observed_quantity="" if observed is None else observed.quantity,
        feature_unit=about.feature.unit,
        rule=effect.rule,
        title=about.feature.label or "",
        notes=tuple(notes),
        time=effect.time,
        library=about.library,
        provenance=effect.provenance,
    )


def _named(effect: Effect) -> str:
    """Return the name of what was explained on the log scale; a difference of logarithms is that of a ratio."""
    name = effect.about.quantity
    of_both = name.removeprefix(f"{DIFFERENCE} ")
    for function, odds in (("log", ""), ("logit", "odds of ")):
        inside = argument_in(of_both, function) or of_both.removeprefix(f"{function} ")
        if inside != of_both:
            return inside if of_both == name else f"ratio of {odds}{inside}"
    return name


def _check_is_factor(effect: Effect) -> None:
    """Raise for an effect whose exponential is no factor."""
    what, about = f"factors of {effect.feature!r}", effect.about
    if isinstance(effect, AnyMPlot):
        raise UnsupportedError(
            what,
            "an M-plot, which compares different rows",
            "an effect: what changes if the feature alone does",
            "Use another method, such as sd.ALE(); with explain(..., y=y, observed=True) the observed factors stand "
            "next to its factors",
        )
    if effect.spec.derivative:
        got = "derivatives of the quantity"
        raise UnsupportedError(what, got, "an effect", "Explain without derivative=True")
    if about.scale not in MEASURES:
        raise UnsupportedError(
            what,
            f"{about.quantity}, whose values are not known to be logarithms",
            "a quantity on the log scale, where effects are logarithms of factors, or log odds",
            'Explain sd.prediction(model, inverse="log"), or sd.prediction(model, link="log") if the model returns '
            "logarithms; for odds ratios of a classifier sd.logit(model)",
        )


@dataclass(frozen=True, eq=False)
class _Points:
    """The points at which factors are given, with the weight of the rows that belong to them."""

    at: Floats
    exposure: Floats
    rows: Floats
    texts: list[str]
    cell: Ints
    """Index of the cell of the observed means, -1 for none."""
    low: Floats
    high: Floats

    @classmethod
    def of(cls, effect: Effect) -> _Points:
        """Return the levels, the cells of the observed means, or the points of the curve."""
        axis, observed = effect.axis, effect.observed
        nothing = np.full(len(axis), NAN)
        if isinstance(axis, LevelAxis):
            known = np.flatnonzero(~np.isnan(effect.value))
            cell = np.full(len(axis), -1)
            if observed is not None:
                cell[observed.points.astype(int)] = np.arange(len(observed))
            levels, texts = axis.levels, [axis.levels.labels[k] for k in known.tolist()]
            return cls(
                known.astype(float),
                levels.weight[known],
                levels.count[known].astype(float),
                texts,
                cell[known],
                nothing[known],
                nothing[known],
            )
        if observed is not None:
            at, cell = observed.points, np.arange(len(observed))
            weight, rows = observed.weight.sum(axis=0), observed.count.sum(axis=0).astype(float)
            return cls(at, weight, rows, _texts(effect, at), cell, observed.low, observed.high)
        at = axis.coordinates
        weight, rows = (Places.of(x, at).weights(atoms) for x, atoms in _atoms(effect))
        none = np.full(len(at), -1)
        return cls(at, weight, rows, _texts(effect, at), none, nothing, nothing)

    def with_base(self, at: float, text: str) -> tuple[_Points, int]:
        """Return the points with the base among them, and its index. A base between two points has no rows."""
        k = int(np.searchsorted(self.at, at))
        if k < len(self.at) and self.at[k] == at:
            return self, k
        inside = np.flatnonzero((self.low <= at) & (at <= self.high))
        cell = int(self.cell[inside[0]]) if len(inside) else -1
        new = {"at": at, "exposure": NAN, "rows": NAN, "cell": cell, "low": NAN, "high": NAN}
        inserted = {name: np.insert(vars(self)[name], k, value) for name, value in new.items()}
        return replace(self, **inserted, texts=[*self.texts[:k], text, *self.texts[k:]]), k


def _texts(effect: Effect, at: Floats) -> list[str]:
    """Return values of a numeric feature in words."""
    return distinct_texts(at) if effect.time is None else effect.time.texts(at)


def _atoms(effect: Effect) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return where the rows of a numeric feature are on its axis, with their weight, and with their number.

    In a cell, where the curve is linear, all are at their mean.
    """
    if isinstance(effect, ValueStepsEffect):
        found, at = effect.moments[UP], effect.values
    else:
        found = effect.moments[AXIS]
        at = found.mean
    some = found.weight > 0
    if not some.any():  # a constant feature has no cells
        rows = effect.provenance.get("rows", 0) - effect.about.missing
        weight = effect.provenance.get("weight", float(rows))
        point = effect.missing_point
        left = weight - (0.0 if point is None else point.weight)
        return (effect.points, np.array([left])), (effect.points, np.array([float(rows)]))
    at = np.clip(at[some], *effect.axis.coordinates[[0, -1]])
    return (at, found.weight[some]), (at, found.count[some].astype(float))


def weight_on_axis(effect: Effect) -> tuple[Floats, Floats]:
    """Return where the rows of a numeric feature are on its axis, with their weight."""
    return _atoms(effect)[0]


def _base(effect: Effect, points: _Points, base: object) -> tuple[float, str]:
    """Return the base as a coordinate and in words: the given value, or the point with most weight."""
    if base is None:
        value = effect.at(points.at)
        if np.isnan(value).all():
            got = "an effect without values"
            raise DataError(
                f"factors of {effect.feature!r}",
                got,
                "an effect that has values",
                "Explain with more rows",
            )
        k = int(np.argmax(np.where(np.isnan(value), -1.0, points.exposure)))
        return float(points.at[k]), points.texts[k]
    at = coordinate_of(effect, base, "factors(base)")
    check_on_curve(effect, at, base, "factors(base)")
    return at, text_of(effect, at)


def _lines(effect: Effect, points: _Points, k: int, level: float) -> tuple[list[Factor], list[str]]:
    """Return a line for each point, without observed factors, and notes."""
    value, notes = effect.at(points.at), list[str]()
    pairs = {
        str(i): ValuePair(effect, float(points.at[k]), float(points.at[i]))
        for i in np.flatnonzero(~np.isnan(value)).tolist()
        if i != k
    }
    try:
        found = contrasts_of_pairs(pairs, ContrastOptions(level))
    except UnsupportedError:  # a partial dependence that keeps no curves, or a mean only
        found = {}
        notes.append(FACTORS["no intervals"])
    missed = int(np.isnan(value).sum())
    if missed:
        notes.append(tell(FACTORS["off the curve"], n=missed))
    wide = np.flatnonzero(points.high > points.low)
    ends = iter(_texts(effect, np.column_stack([points.low, points.high])[wide].ravel()))
    cells = dict(zip(wide.tolist(), map(" to ".join, zip(ends, ends, strict=True)), strict=True))
    lines: list[Factor] = []
    for i in range(len(value)):
        change, at = found.get(str(i)), float(points.at[i])
        with np.errstate(over="ignore"):
            factor, lower, upper = np.exp(
                [
                    value[i] - value[k],
                    *((NAN, NAN) if change is None else (change.lower, change.upper)),
                ]
            ).tolist()
        lines.append(
            Factor(
                value=point_of(effect, at),
                text=points.texts[i],
                cell=cells.get(i, ""),
                position=at,
                low=_end(effect, float(points.low[i])) if i in cells else None,
                high=_end(effect, float(points.high[i])) if i in cells else None,
                factor=factor,
                lower=lower,
                upper=upper,
                std_error=0.0 if i == k else NAN if change is None else change.std_error,
                is_base=i == k,
                rows=float(points.rows[i]),
                exposure=float(points.exposure[i]),
                share=NAN,
            )
        )
    return lines, notes


def _end(effect: Effect, at: float) -> float | date | timedelta:
    """Return an end of a cell in the feature's own type."""
    found = point_of(effect, at)
    return found if isinstance(found, (date, timedelta)) else at


def _missing_line(effect: Effect, point: MissingPoint, base: Factor, level: float) -> Factor:
    """Return the line of the missing values of a numeric feature.

    Their mean and the curve are of different rows. The curve's own error at the base is known relative to its mean.
    """
    at = base.position
    # `point.value` is relative to the mean over the cells' middles.
    change = point.effect + _mean_over_data(effect, missing=False)
    change -= float(effect.at(np.array([at]))[0])
    error, df = NAN, NAN
    if isinstance(effect, AccumulatedEffect) and effect.spec.center == "mean":
        size = (point.std / point.std_error) ** 2 if point.std_error > 0 else float(point.count)
        errors = np.array([point.std_error, np.interp(at, effect.points, effect.std_error)])
        error = float(np.hypot(*errors))
        degrees = np.array([size - 1, np.interp(at, effect.points, effect.df)])
        df = float(_welch(errors**2, degrees))
    with np.errstate(over="ignore"):
        factor, low, high = np.exp([change, *interval_of(change, error, df, level)]).tolist()
    return replace(
        base,
        value=None,
        text=MISSING,
        cell="",
        position=NAN,
        low=None,
        high=None,
        factor=factor,
        lower=low,
        upper=high,
        std_error=error,
        is_base=False,
        rows=float(point.count),
        exposure=point.weight,
    )


def _welch(variance: Floats, df: Floats) -> Floats:
    """Return Satterthwaite's degrees of freedom of a sum of independent means, along the first axis."""
    share = variance / np.maximum(variance.sum(axis=0), np.finfo(float).tiny)
    return 1.0 / np.maximum((share**2 / np.maximum(df, 1.0)).sum(axis=0), np.finfo(float).tiny)


def _with_observed(
    lines: list[Factor],
    k: int,
    observed: Observed,
    points: _Points,
    level: float,
    measure: str,
) -> tuple[list[Factor], list[str]]:
    """Return the lines with their observed factors, and notes on those that are not defined."""
    cells = [*points.cell.tolist(), *([len(observed)] if len(lines) > len(points.at) else [])]
    parts = [observed, *([] if observed.missing is None else [observed.missing])]
    unknown = np.full((len(observed.split_values), 2), NAN)
    label, error, df, rows = (
        np.hstack([*(vars(part)[name] for part in parts), unknown])[:, cells]
        for name in ("label", "label_error", "df", "count")
    )
    mean, error = label, np.where(rows >= TRUSTED_ROWS, error, NAN)
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == ODDS_RATIO:
            mean, error = np.where(label < 1, label / (1 - label), NAN), error / (1 - label) ** 2
        known = (mean >= 0) & (mean[:, k : k + 1] > 0)
        ratio = np.where(known, mean / mean[:, k : k + 1], NAN)
        relative = np.where(mean > 0, error / mean, NAN) ** 2
        both = np.stack([relative, np.broadcast_to(relative[:, k : k + 1], relative.shape)])
        degrees = np.stack([df, np.broadcast_to(df[:, k : k + 1], df.shape)])
        lower, upper = t_interval(
            np.log(ratio), np.sqrt(both.sum(axis=0)), _welch(both, degrees), level
        )
    ends = np.where(np.isfinite(lower) & (np.arange(len(lines)) != k), np.exp([lower, upper]), NAN)
    found = [
        replace(
            f,
            observed=tuple(ratio[:, i].tolist()),
            observed_lower=tuple(ends[0, :, i].tolist()),
            observed_upper=tuple(ends[1, :, i].tolist()),
        )
        for i, f in enumerate(lines)
    ]
    notes = [
        tell(
            FACTORS["no observed base"],
            measure=measure,
            split=split,
            name=observed.split_name,
            mean=label[s, k],
            odds=1 if measure == ODDS_RATIO else None,
        )
        for s, split in enumerate(observed.split_values)
        if not mean[s, k] > 0
    ]
    return found, notes


MISSING = "missing"


# --- the factors of several features --------------------------------------------------------------


def rating_table(
    effects: Effects,
    bases: object = None,
    shares: object = None,
    confidence_level: float = 0.95,
    *,
    X: TableLike | None = None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> RatingTable:
    """Return the factors of several features as one table; see `Effects.factors`."""
    if not effects:
        raise DataError(
            "factors", "no effect", "at least one effect", "Explain one or more features"
        )
    given = _bases(effects, bases)
    found = tuple(
        factors_of(effect, given.get(name), confidence_level) for name, effect in effects.items()
    )
    first = next(iter(effects.values()))
    share, error = _product_share(effects, shares)
    value, notes = _base_value(effects, found)
    off_balance, rows = NAN, 0
    if X is not None or y is not None:
        balanced, rows = _balanced(effects, found, X, y, sample_weight)
        off_balance, value = balanced / value, balanced
        ratio = None if math.isnan(value) else number(off_balance, 4)
        notes = (tell(FACTORS["balanced"], rows=rows, off_balance=ratio, share=1 / off_balance),)
    elif found[0].measure == FACTOR:
        notes += (FACTORS["not balanced"],)
    return RatingTable(
        features=found,
        base_value=value,
        off_balance=off_balance,
        balance_rows=rows,
        quantity=_named(first),
        unit=first.about.unit if first.observed is None else first.observed.unit,
        confidence_level=found[0].confidence_level,
        product_share=share,
        product_share_std_error=error,
        notes=notes,
        library=first.about.library,
        provenance=effects.provenance,
    )


def _bases(effects: Effects, bases: object) -> dict[str, object]:
    """Return the given bases by the names of their features, checked."""
    what, example = "factors(bases)", next(iter(effects))
    if bases is None:
        return {}
    if not isinstance(bases, Mapping):
        fix = f"Write factors(bases={{{example!r}: value}})"
        raise DataError(what, shown(bases), "a mapping of features to values", fix)
    known = [effect.about.feature for effect in effects.values()]
    return {explained_name(known, name, what): value for name, value in bases.items()}


def _product_share(effects: Effects, shares: object) -> tuple[float, float]:
    """Return what main effects explain of the variance of the logarithm, with its error; NaN if it is not given."""
    if shares is None:
        return NAN, NAN
    what, quantity = "factors(shares)", next(iter(effects.values())).about.quantity
    fix = "Pass sd.variance_shares(q, X) of the quantity q that was explained"
    if not isinstance(shares, VarianceShares):
        raise DataError(what, shown(shares), "the result of sd.variance_shares", fix)
    if shares.quantity != quantity:
        got = f"the variance shares of {shares.quantity}"
        raise DataError(what, got, f"those of {quantity}", fix)
    part = shares[MAIN]
    return part.share, part.std_error


def _base_value(effects: Effects, found: Sequence[Factors]) -> tuple[float, tuple[str, ...]]:
    """Return the prediction at the base of all features, and notes on how well it is known."""
    mean = next(
        (
            e.about.quantity_mean
            for e in effects.values()
            # Where the feature is missing in some rows, the mean is over the others.
            if e.about.missing == 0 or e.about.feature.kind == "nominal"
        ),
        NAN,
    )
    if math.isnan(mean):
        return NAN, (FACTORS["no base value"],)
    log = mean
    for effect, factors in zip(effects.values(), found, strict=True):
        at = float(effect.at(np.array([factors.base.position]))[0])
        uncentred = isinstance(effect, PartialDependence) and effect.spec.center is None
        log += at - (mean if uncentred else _mean_over_data(effect))
    exact = all(e.provenance.get("score_exact", True) for e in effects.values())
    return math.exp(log) if log < 700 else math.inf, () if exact else (
        FACTORS["base value of a sample"],
    )


def _mean_over_data(effect: Effect, *, missing: bool = True) -> float:
    """Return the mean of the curve over the rows, with or without those that have a missing value."""
    if isinstance(effect.axis, LevelAxis):
        weight, value = effect.axis.levels.weight, np.nan_to_num(effect.value)
    else:
        at, weight = weight_on_axis(effect)
        value = effect.at(at)
    mean, point = float(np.average(value, weights=weight)), effect.missing_point
    if point is None or not missing:
        return mean
    return mean + point.effect * point.weight / (point.weight + float(weight.sum()))


def _balanced(
    effects: Effects,
    found: Sequence[Factors],
    X: TableLike | None,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[float, int]:
    """Return the base value with which the total of the table over rows is that of y, and the number of rows."""
    what = "factors(X, y)"
    if X is None or y is None:
        got, fix = (
            "one of them",
            "Pass rows with their labels, or with the predictions of the model",
        )
        raise DataError(what, got, "both, or neither", fix)
    if found[0].measure == ODDS_RATIO:
        got, fix = "odds ratios, which multiply odds", "Leave X and y out; see sd.calibration"
        raise UnsupportedError(what, got, "factors, which multiply what is added up", fix)
    data = as_dataset(X, y, sample_weight)
    log = [_log_factors(e, one, data) for e, one in zip(effects.values(), found, strict=True)]
    factor, numbers = np.exp(np.sum(log, axis=0)), label_numbers(np.asarray(data.y), what)
    of_y, of_table = (np.average(v, weights=data.weights) for v in (numbers, factor))
    return float(of_y / of_table), len(data)


def _log_factors(effect: Effect, factors: Factors, data: Dataset) -> Floats:
    """Return the logarithm of the factor of each row: that of its cell, or on the curve between the lines."""
    feature, observed = effect.about.feature, effect.observed
    names = [f.name for f in data.features]
    if not feature.members and names[feature.position : feature.position + 1] != [feature.name]:
        got, expected = f"the columns {shown(names)}", "the columns that were explained"
        raise DataError("factors(X)", got, expected, "Pass rows like those of sd.explain")
    at = coordinates_at_rows(effect, data)
    if not factors.levels:
        at = np.clip(at, *effect.axis.coordinates[[0, -1]])
        if observed is not None and (observed.high > observed.low).any():
            cell = np.searchsorted(observed.high, at).clip(max=len(observed) - 1)
            at = np.where(np.isnan(at), NAN, observed.points[cell])
    value = effect.at(at) - effect.at(np.array([factors.base.position]))
    if effect.missing_point is not None:
        value = np.where(np.isnan(at), math.log(factors[-1].factor), value)
    unknown = int(np.isnan(value).sum())
    if unknown:
        got = f"{counted(unknown, 'row')} whose value of {feature.name!r} has no factor"
        raise DataError("factors(X)", got, "values in the table", "Leave these rows out of X and y")
    return value


# --- the factors of several models ----------------------------------------------------------------


def bases_of(found: Factors | RatingTable) -> dict[str, object]:
    """Return the base, or those of all features, as an argument of `factors`."""
    if isinstance(found, RatingTable):
        return {"bases": {one.feature: one.base.value for one in found.features}}
    return {"base": found.base.value}


def factors_side_by_side(found: Mapping[OutputLabel, object], noun: str) -> str:
    """Return the factors of several models as text, with a column for each; empty for other results."""
    features: dict[str, dict[OutputLabel, Factors]] = {}
    values: list[list[str]] = []
    for key, one in found.items():
        for factors in one.features if isinstance(one, RatingTable) else (one,):
            if isinstance(factors, Factors):
                features.setdefault(factors.feature, {})[key] = factors
        if isinstance(one, RatingTable):
            value = f"{number(one.base_value, 4)} {one.unit or ''}".rstrip()
            values.append([one_line(str(key)), value])
    parts = [align_columns([[noun, "base value"], *values])] if values else []
    parts += [align_columns(_side_by_side(each)) for each in features.values()]
    return "\n\n".join("\n".join(lines) for lines in parts)


def _side_by_side(each: Mapping[OutputLabel, Factors]) -> list[list[str]]:
    """Return the factors of one feature as head and lines; values of a numeric feature are in order."""
    first = next(iter(each.values()))
    # A number may be written with more digits in one of the models; missing values come last.
    lines: list[dict[str | float, Factor]] = [
        {f.text if one.levels or math.isnan(f.position) else f.position: f for f in one}
        for one in each.values()
    ]
    every = {at: f for of_one in lines for at, f in of_one.items()}
    at = [*every] if first.levels else sorted(every, key=lambda k: (isinstance(k, str), k))
    return [
        [one_line(first.title or first.feature), *(one_line(str(key)) for key in each)],
        *(
            [
                one_line(every[k].text),
                *("-" if (f := of_one.get(k)) is None else _cell(f) for of_one in lines),
            ]
            for k in at
        ),
    ]


def _cell(one: Factor) -> str:
    return "base" if one.is_base else number(one.factor)
