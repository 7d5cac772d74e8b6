"""`Drift`: how the mean of a quantity changed, because rows moved and because the model changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, Unpack

import numpy as np

from skedasis._calls import checked_call
from skedasis._numbers import counted, number, p_value, percent, signed, with_minus
from skedasis.results import operations
from skedasis.results.described import Documented, columns_of
from skedasis.results.display import Ranking, RankLine, ResultWithTables, align_columns, sample_text
from skedasis.results.export import TableColumns
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.sentences import DRIFT, tell
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.student import interval_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import DriftKeywords, DriftViewKeywords

DriftTable: TypeAlias = Literal["parts", "features", "groups"]

CHANGE: Final = "change"
ROWS: Final = "rows moved"
MODEL: Final = "model changed"
JOINTLY: Final = "jointly"
"""Names of the parts: the whole, its two parts, and what moved rows change beyond the effects of single features."""


class _Estimated:
    """A number with its standard error and its degrees of freedom."""

    value: float
    std_error: float
    df: float

    def interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval of the value; NaN where it has no error."""
        return interval_of(self.value, self.std_error, self.df, confidence_level)


@dataclass(frozen=True)
class DriftPart(_Estimated, Documented):
    """A part of the change of the mean."""

    part: str
    """"change", the whole, which is the sum of "rows moved" and "model changed"; or "jointly", the part of "rows moved"
    that the effects of single features do not carry."""
    value: float
    """In the unit of the quantity."""
    std_error: float
    """Its standard error: rows are drawn anew in both tables, the models stay as they are."""
    df: float
    """Degrees of freedom of the error."""
    lower: float
    """Lower end of the 95 % interval."""
    upper: float
    """Upper end."""
    p_value: float
    """Of the test that it is 0 in the populations of which the rows are samples."""
    found: bool
    """Whether it differs from 0 by this test, at 5 % for all tests of the result together (Holm)."""


@dataclass(frozen=True)
class DriftGroup(_Estimated, Documented):
    """What a group of rows contributes to "rows moved" or to "model changed". The groups of a part contain all rows."""

    exported = (
        *("part", "group", "total", "value", "std_error", "df", "lower", "upper"),
        *("share_old", "share_new", "mean_old", "mean_new", "rows_old", "rows_new"),
    )
    part: Literal["rows moved", "model changed"]
    """The part of which it is a part."""
    group: str
    """The rule of the group."""
    total: float
    """What all rows of the group contribute: the groups sum to the part."""
    value: float
    """The same, from the half of the rows that did not choose the groups: an unbiased estimate."""
    std_error: float
    """Standard error of `value`."""
    df: float
    """Degrees of freedom of the error."""
    lower: float
    """Lower end of the 95 % interval, around `value`."""
    upper: float
    """Upper end."""
    share_old: float
    """Share of the weight of the old rows that is in the group."""
    share_new: float
    """Share of the weight of the new rows."""
    mean_old: float
    """Mean of the old model at its old rows; NaN without rows."""
    mean_new: float
    """Mean of the new model at its new rows; NaN without rows."""
    rows_old: int
    """Number of its old rows."""
    rows_new: int
    """Number of its new rows."""


@dataclass(frozen=True)
class DriftFeature(_Estimated, RankLine):
    """What has changed of one feature."""

    ordered_by = "value"

    feature: str
    """Its name."""
    value: float
    """What its own effect carries of "rows moved": the mean at the new rows of its effect on the mean of both models,
    minus that at the old rows."""
    std_error: float
    """Standard error of `value`."""
    df: float
    """Degrees of freedom of the error."""
    lower: float
    """Lower end of the 95 % interval of `value`."""
    upper: float
    """Upper end."""
    p_value: float
    """Of the test that `value` is 0 in the populations."""
    found: bool
    """Whether it differs from 0 by this test, at 5 % for all tests of the result together (Holm)."""
    curve_change: float
    """How far its effect changed: the standard deviation over all rows of the effect on the new model minus the old."""
    curve_change_error: float
    """Its standard error."""
    curve_p_value: float
    """Of the test that the effect is the same in both models."""
    curve_found: bool
    """Whether it differs by this test, at 5 % for all tests of the result together (Holm)."""
    psi: float
    """Population stability index of the feature: Σ (q − p) ln(q/p) over cells with the shares p of the old and q of the
    new rows. It knows no model: 0.1 and 0.25 are called a moderate and a considerable shift."""
    label: str | None = None
    """The name for people, if the feature has a label; else None."""

    @property
    def title(self) -> str:
        """Return the feature's text for people: its label, else its name."""
        return self.label or self.feature

    def size(self, by: str) -> float:
        """Return the size of a number; of the value, the larger one of it and of the change of the curve."""
        if by == self.ordered_by:
            return float(np.fmax(abs(self.value), np.nan_to_num(self.curve_change)))
        return abs(super().size(by))


@dataclass(frozen=True, eq=False)
class Drift(ResultWithTables[DriftTable]):
    """How the mean of a quantity changed, because rows moved and because the model changed.

    Computed by `skedasis.drift`. No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> found = sd.drift(lambda X: X[:, 0] + X[:, 1], X[:1000], X_new=X[1000:] + [1.0, 0.0])
    >>> [(f.feature, round(f.value, 1)) for f in found.features], found.model_changed.value
    ([('x0', 1.0), ('x1', -0.1)], 0.0)
    """

    frames = (
        "parts: the change, rows moved, model changed and jointly, with the columns of `DriftPart`",
        "features: one row per feature, with the columns of `DriftFeature`",
        "groups: one row per group of rows of each part, with the columns of `DriftGroup`",
    )
    exported = (
        *("quantity", "unit", "mean_old", "mean_new", "rows_old", "rows_new", "same_rows"),
        *("same_model", "verdict", "change", "rows_moved", "model_changed", "jointly"),
        *("features", "groups", "provenance"),
    )

    mean_old: float
    """Mean of the old model at the old rows."""
    mean_new: float
    """Mean of the new model at the new rows."""
    change: DriftPart
    """The second minus the first: "rows moved" + "model changed"."""
    rows_moved: DriftPart
    """The change of the mean of both models' average, from the old rows to the new ones."""
    model_changed: DriftPart
    """The mean of the new model minus the old one, half at the old rows and half at the new ones."""
    jointly: DriftPart
    """"rows moved" less what the effects of single features carry: interactions, and features that move together."""
    features: tuple[DriftFeature, ...]
    """The features, in the order of the columns."""
    groups: tuple[DriftGroup, ...]
    """The groups of rows of "rows moved", then those of "model changed"; of each part a single one, "all rows", if no
    rule was confirmed."""
    rows_old: int
    """Number of old rows."""
    rows_new: int
    """Number of new rows."""
    same_rows: bool
    """Whether one table was given: then nothing moved."""
    same_model: bool
    """Whether one model was given, or both give the same values at all rows."""
    quantity: str = "prediction"
    unit: str | None = None
    labelled: bool = False
    """Whether the quantity needs labels, as a loss does: rows are then rows with their labels."""
    library: str | None = None
    """Data frame library of the rows, which `to_frame` uses by default."""
    provenance: Provenance = field(default_factory=no_provenance)

    @property
    def parts(self) -> tuple[DriftPart, ...]:
        """Return the change, its two parts, and what single features do not carry."""
        return self.change, self.rows_moved, self.model_changed, self.jointly

    def groups_of(self, part: str) -> tuple[DriftGroup, ...]:
        """Return the groups of rows of a part, "rows moved" or "model changed": those with the largest totals first."""
        own = [group for group in self.groups if group.part == part]
        return tuple(sorted(own, key=lambda group: -abs(group.total)))

    @property
    def found(self) -> bool:
        """Return whether any change was found, at 5 % for all tests together."""
        by_feature = any(f.found or f.curve_found for f in self.features)
        several = any(len(self.groups_of(part)) > 1 for part in (ROWS, MODEL))
        return by_feature or several or any(part.found for part in self.parts)

    @property
    def verdict(self) -> tuple[str, ...]:
        """Return what changed, as sentences: only what the tests found."""
        return tuple(_verdict(self))

    @checked_call
    def ranking(self) -> Ranking[DriftFeature]:
        """Return the features: first the one of which most changed, by its rows or by its effect."""
        return Ranking(sorted(self.features, key=DriftFeature.sort_key))

    def _table(self, of: str) -> TableColumns:
        if of == "groups":
            return {**columns_of(DriftGroup, self.groups)}
        if of == "features":
            return {**columns_of(DriftFeature, self.features)}
        return {**columns_of(DriftPart, self.parts)}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[DriftKeywords]) -> Figure:
        """Plot the change and its parts as bars with intervals: by feature, and by groups of rows.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> figure = sd.drift(lambda X: X[:, 0], X[:250], X_new=X[250:] + 1.0).plot()
        >>> figure.axes[-1].get_xlabel()
        'change of the mean prediction'
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[DriftViewKeywords],
    ) -> Explorable:
        """Return the change and its parts as an interactive page with tooltips."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        parts = ", ".join(f"{p.part} {signed(p.value)}" for p in self.parts[:3])
        return f"<Drift of mean {self.quantity}: {parts}>"

    def __str__(self) -> str:
        rows = counted(self.rows_old, "row")
        if not self.same_rows:
            rows = f"{counted(self.rows_old, 'old row')}, {counted(self.rows_new, 'new row')}"
        rows += sample_text(self.provenance)
        lines = [f"Drift of the mean {self.quantity}: {rows}", *self.verdict, ""]
        head = ["part", "value", "95 % interval", "", "found"]
        table = [head, *(_line(p.part, p.value, p, p.p_value, p.found) for p in self.parts[:3])]
        if not self.same_rows:
            shown = sorted(self.features, key=lambda f: -abs(f.value))[:MOST_FEATURES]
            table += [_line(f"  {f.title}", f.value, f, f.p_value, f.found) for f in shown]
            own = self.jointly
            table.append(_line(f"  {JOINTLY}", own.value, own, own.p_value, own.found))
        lines += align_columns(table)
        for part in (ROWS, MODEL):
            groups = self.groups_of(part)
            if len(groups) > 1:
                table = [
                    [
                        f"{part}: groups of rows",
                        "all rows",
                        "tested rows",
                        "95 % interval",
                        "share of rows",
                    ]
                ]
                table += [_group_line(group, same_rows=self.same_rows) for group in groups]
                lines += ["", *align_columns(table)]
        changed = sorted((f for f in self.features if f.curve_change > 0), key=_by_curve)
        if changed:
            table = [["effect of", "changed by (SD)", "±", "", "found"]]
            table += [
                [
                    f.title,
                    number(f.curve_change),
                    number(f.curve_change_error, 2) if f.curve_found else "",
                    p_value(f.curve_p_value),
                    "yes" if f.curve_found else "no",
                ]
                for f in changed[:MOST_FEATURES]
            ]
            lines += ["", *align_columns(table)]
        return "\n".join(lines)


LEAST_NAMED = 0.1
"""Effects that changed by less than this part of the one that changed most are counted only: of any two models, nearly
all effects differ a little."""

MOST_FEATURES = 12
"""Most features that are printed."""


def _by_curve(feature: DriftFeature) -> float:
    return -feature.curve_change


def ends_text(part: _Estimated) -> str:
    """Return the 95 % interval of a part as text; empty without one."""
    lower, upper = part.interval()
    return f"{number(lower)} to {number(upper)}" if math.isfinite(lower) else ""


def _line(name: str, value: float, part: _Estimated, p: float, found: bool) -> list[str]:
    tested = "" if math.isnan(p) else "yes" if found else "no"
    return [name, signed(value), ends_text(part) if value else "", p_value(p), tested]


def shares_text(group: DriftGroup, *, same_rows: bool) -> str:
    """Return the share of the rows in a group, before and after where there are two tables."""
    if same_rows:
        return percent(group.share_new)
    return f"{percent(group.share_old)} → {percent(group.share_new)}"


def _group_line(group: DriftGroup, *, same_rows: bool) -> list[str]:
    shares = shares_text(group, same_rows=same_rows)
    return [
        with_minus(group.group),
        signed(group.total),
        signed(group.value),
        ends_text(group),
        shares,
    ]


# --- what is said ---------------------------------------------------------------------------------


def _verdict(drift: Drift) -> list[str]:
    """Return the sentences: the change of the mean, then where it comes from."""
    facts = {
        "quantity": drift.quantity,
        "old": number(drift.mean_old),
        "new": number(drift.mean_new),
        "change": drift.change.value,
        "ends": ends_text(drift.change),
        "alone": int(drift.change.lower > 0 or drift.change.upper < 0),
        "rows": not drift.same_rows,
    }
    if not drift.found:
        return [tell(DRIFT["none"], **facts)]
    kind = "" if drift.change.found else "found: "
    causes = [
        tell(DRIFT[kind + part.part], value=part.value, labels=drift.labelled)
        for part in (drift.rows_moved, drift.model_changed)
        if part.found
    ]
    moved = sorted((f for f in drift.features if f.found), key=lambda f: -abs(f.value))
    parts = [f"{f.title} {signed(f.value)}" for f in moved]
    parts += [f"{JOINTLY} {signed(drift.jointly.value)}"] if drift.jointly.found else []
    groups = {f"groups: {part}": _of_groups(drift, part) for part in (ROWS, MODEL)}
    curves = sorted((f for f in drift.features if f.curve_found), key=_by_curve)
    if drift.change.found:
        said = [tell(DRIFT["mean"], **facts, causes=causes)]
    else:
        others = {"features": parts, **groups, "curves": curves}
        causes += [tell(DRIFT[kind + of], n=len(some)) for of, some in others.items() if some]
        said = [tell(DRIFT["same mean"], **facts, parts=causes)]
    if parts:
        said.append(tell(DRIFT["features"], parts=parts))
    said += [sentence for of_part in groups.values() for sentence in of_part]
    if curves:
        large = [f for f in curves if f.curve_change >= LEAST_NAMED * curves[0].curve_change]
        parts = [f"{f.title} ({number(f.curve_change)})" for f in large]
        rest = len(curves) - len(large)
        said.append(tell(DRIFT["curves"], n=len(large), parts=parts, more=rest or None))
    return said


def _of_groups(drift: Drift, part: str) -> list[str]:
    """Return the sentence about the group of rows that contributes most to a part; none for all rows."""
    groups: Sequence[DriftGroup] = drift.groups_of(part)
    if len(groups) < 2:
        return []
    first = groups[0]
    facts = {
        "rule": first.group,
        "value": first.total,
        "whole": (drift.rows_moved if part == ROWS else drift.model_changed).value,
        "shares": shares_text(first, same_rows=drift.same_rows),
    }
    return [tell(DRIFT[f"groups: {part}"], **facts)]
