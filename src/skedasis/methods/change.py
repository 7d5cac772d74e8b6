"""Changes: features of every row move by a step, by a factor, or to a value, and the quantity is compared."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from numbers import Real
from typing import Protocol

import numpy as np

from skedasis._arguments import shown
from skedasis._types import Bools, Floats, Ints, JsonValue
from skedasis.data.categories import LevelColumn, unknown_level
from skedasis.data.column_stats import Summary
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.data.features import LARGEST, Feature
from skedasis.errors import DataError
from skedasis.methods.base import FeatureMethod, MethodVariant, Parameters, numeric_column
from skedasis.methods.plans import BatchStats, select_row_ids, select_rows
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.evaluator import BatchEvaluator, SweepValues
from skedasis.results.change import (
    BEFORE,
    CHANGE,
    DECREASES,
    INCREASES,
    OUTSIDE,
    SAME,
    Change,
    ChangeRows,
    MovedFeature,
    MoveKind,
    Outside,
)
from skedasis.results.effect import About
from skedasis.stats.moments import Moments, WeightKind

MISSING = "missing"
"""Name of the sums of rows that are left out, and of those without a value of each moved feature."""

_MOMENTS: tuple[str, ...] = (CHANGE, BEFORE, INCREASES, DECREASES, SAME, OUTSIDE)

_ROUNDING = 64.0
"""A change of less than this many rounding errors of the quantity is neither a rise nor a fall."""


# --- one move -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Move:
    """How one feature moves."""

    feature: Feature
    kind: MoveKind
    amount: float
    text: str
    summary: Summary | None = None
    level_column: LevelColumn | None = None

    @property
    def is_setting(self) -> bool:
        """Return whether all rows get the same value, also rows without one."""
        return self.kind in ("value", "level")

    def own(self, evaluator: BatchEvaluator) -> Floats:
        """Return the rows' values, (n,): codes of levels; NaN where missing and no level."""
        if self.level_column is None:
            return evaluator.column(self.feature.position)
        codes = evaluator.codes(self.level_column)
        return np.where(codes < 0, np.nan, codes.astype(float))

    def is_missing(self, own: Floats) -> Bools:
        """Return which of the rows' values are missing."""
        missing = np.isnan(own)
        if self.level_column is not None:
            missing |= own == self.level_column.levels.find(None)
        return missing

    def values(self, own: Floats) -> Floats:
        """Return the values after the move, as the column's type can represent them."""
        if self.summary is None or self.kind == "level":
            return np.full(len(own), self.amount)
        if self.kind == "value":
            moved = np.full(len(own), self.amount)
        else:
            moved = own + self.amount if self.kind == "step" else own * self.amount
        axis = self.feature.time
        if axis is not None and axis.kind == "time" and self.kind == "step":
            moved = moved % 1.0  # one hour after 23:30 is 00:30
        return self.summary.snap(moved)

    def replaced(self, moved: Floats) -> dict[int, SweepValues]:
        if self.level_column is None:
            return {self.feature.position: moved[:, None]}
        return {**self.level_column.replacements(moved.astype(np.int64)[:, None])}

    def outside(self, moved: Floats) -> Bools:
        """Return which moved values are outside the observed range; none for levels, which were observed."""
        if self.summary is None:
            return np.zeros(len(moved), dtype=bool)
        return (moved < self.summary.low) | (moved > self.summary.high)

    def described(self, outside: int, missing: int) -> MovedFeature:
        """Return the move as a part of the result."""
        low, high = math.nan, math.nan
        if self.summary is not None:
            low, high = self.summary.low, self.summary.high
        labels = () if self.level_column is None else self.level_column.levels.labels
        return MovedFeature(
            self.feature, self.kind, self.amount, self.text, low, high, labels, outside, missing
        )


# --- what the user wrote --------------------------------------------------------------------------

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_STEP = re.compile(rf"(?P<sign>[+\-−])\s*(?P<number>{_NUMBER})\s*(?P<unit>%|[^\d\s].*)?")
_FACTOR = re.compile(rf"[x*×]\s*(?P<number>{_NUMBER})")

_DAYS = {
    **dict.fromkeys(("d", "day", "days"), 1.0),
    **dict.fromkeys(("w", "week", "weeks"), 7.0),
    **dict.fromkeys(("h", "hour", "hours"), 1 / 24),
    **dict.fromkeys(("min", "minute", "minutes"), 1 / 1440),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1 / 86_400),
}
"""Units of steps of times, in days."""


def read_moves(
    dataset: Dataset,
    moves: Sequence[tuple[Feature, object]],
    to: Sequence[tuple[Feature, object]],
) -> tuple[tuple[Move, ...], tuple[AnyColumn, ...]]:
    """Return the moves of features, and the columns of these."""
    found: list[Move] = []
    columns: list[AnyColumn] = []
    used: dict[int, str] = {}
    for feature, value, setting in (
        *((f, v, False) for f, v in moves),
        *((f, v, True) for f, v in to),
    ):
        for j in feature.columns:
            if j in used:
                raise DataError(
                    "change",
                    f"{feature.name!r} moved twice"
                    if used[j] == feature.name
                    else f"{feature.name!r} and {used[j]!r}, which share a column",
                    "one move for each feature",
                    "Remove one of them",
                )
            used[j] = feature.name
        move, column = _read(dataset, feature, value, setting=setting)
        found.append(move)
        columns.append(column)
    return tuple(found), tuple(columns)


def _read(
    dataset: Dataset, feature: Feature, value: object, *, setting: bool
) -> tuple[Move, AnyColumn]:
    if feature.members or not feature.numeric:
        levels = dataset.levels(feature)
        return _to_level(feature, levels, value), levels
    if feature.labels and (setting or not _is_step(value)):
        levels = dataset.levels(feature)
        if levels.levels.named(value) >= 0:
            return _to_level(feature, levels, value), levels
    try:
        column = numeric_column(dataset, feature)
    except DataError:
        if feature.kind != "ordinal":
            raise
        levels = dataset.levels(feature)  # ordinal, but not numbers
        return _to_level(feature, levels, value), levels
    kind: MoveKind = "value"
    if setting:
        _check_setting(feature, value)
        amount = _value(feature, value)
    else:
        kind, amount = _numeric_move(feature, value)
    move = Move(feature, kind, amount, "", column.summary())
    ends = move.values(np.array([column.low, column.high]))
    if not np.isfinite(ends).all() or np.abs(ends).max() > LARGEST:
        raise DataError(
            f"change[{feature.name!r}]",
            f"{shown(value)}, which leads to {ends[np.abs(ends).argmax()]:.3g}",
            f"values up to {LARGEST:g} in size",
            "Use a smaller move",
        )
    return replace(move, text=_text(move)), column


def _to_level(feature: Feature, column: LevelColumn, value: object) -> Move:
    levels = column.levels
    what = f"change[{feature.name!r}]"
    code = levels.named(value)
    if code >= 0:
        text = f"{feature.title} = {levels.labels[code]}"
        return Move(feature, "level", float(code), text, None, column)
    some = ", ".join(map(repr, levels.labels[:8])) + (", …" if len(levels) > 8 else "")
    if _is_step(value):
        article = "an" if feature.kind == "ordinal" else "a"
        kind = "a group" if feature.members else f"{article} {feature.kind} feature"
        known = [v for v in levels.values if v is not None] or levels.labels
        fix = f"Set it to a level: to={{{feature.name!r}: {known[-1]!r}}}"
        if feature.dtype.lower().startswith(("int", "uint", "float")):
            fix += f'; if its values are quantities, declare it: schema={{{feature.name!r}: "continuous"}}'
        raise DataError(what, f"{shown(value)}, a step of {kind}", f"one of {some}", fix)
    raise unknown_level(what, value, levels.values, levels.labels, "Use an observed level")


def _is_step(value: object) -> bool:
    """Return whether a value can only be a step."""
    if isinstance(value, str):
        return _STEP.fullmatch(value.strip()) is not None
    return isinstance(value, (Real, timedelta, np.timedelta64)) and not isinstance(value, bool)


def _numeric_move(feature: Feature, value: object) -> tuple[MoveKind, float]:
    """Return the kind and the amount of a move of a numeric feature."""
    axis = feature.time
    if isinstance(value, str):
        return _written_move(feature, value.strip())
    if axis is not None and isinstance(value, (timedelta, np.timedelta64)):
        return "step", _step_in_days(feature, value)
    if axis is not None and isinstance(value, (date, datetime, time, np.datetime64)):
        return "value", _value(feature, value)
    return "step", _finite(feature, value, "a step: a number" + " of days" * (axis is not None))


def _written_move(feature: Feature, text: str) -> tuple[MoveKind, float]:
    """Return the move that is written as in the shell: "+1", "-10%", "x2", or a value."""
    what = f"change[{feature.name!r}]"
    factor = _FACTOR.fullmatch(text)
    step = _STEP.fullmatch(text)
    if factor is None and step is None:
        return "value", _value(feature, text)
    axis = feature.time
    relative = step is None or step["unit"] == "%"
    if relative and axis is not None and axis.kind != "duration":
        raise DataError(
            what, repr(text), "a step in time, because times have no percentages", 'Use "+1 day"'
        )
    if factor is not None:
        return "factor", _finite(feature, float(factor["number"]), "a factor")
    if step is None:
        raise TypeError("a move is a factor or a step")
    size = float(step["number"]) * (1 if step["sign"] == "+" else -1)
    unit: str | None = step["unit"]
    if unit == "%":
        return "factor", _finite(feature, 1 + size / 100, "a percentage")
    if unit is None or unit == feature.unit:
        return "step", _finite(feature, size, "a step")
    if axis is None:
        raise DataError(
            what,
            f"{text!r} with the unit {unit!r}",
            f"a step in the unit of the feature ({feature.unit or 'none declared'})",
            f"Use {text.removesuffix(unit).strip()!r}",
        )
    if unit.lower() not in _DAYS:
        raise DataError(
            what,
            f"{text!r} with the unit {unit!r}",
            "weeks, days, hours, minutes or seconds",
            'Use for example "+30 days"',
        )
    return "step", _finite(feature, size * _DAYS[unit.lower()], "a step")


def _step_in_days(feature: Feature, value: timedelta | np.timedelta64) -> float:
    if isinstance(value, timedelta):
        return value / timedelta(days=1)
    if np.isnat(value) or np.datetime_data(value.dtype)[0] in ("Y", "M", "generic"):
        raise DataError(
            f"change[{feature.name!r}]",
            repr(value),
            "a duration of a fixed length",
            "Use for example datetime.timedelta(days=30)",
        )
    return float(value / np.timedelta64(1, "D"))


def _value(feature: Feature, value: object) -> float:
    """Return the value that a numeric feature is set to, on its axis."""
    what = f"change[{feature.name!r}]"
    if feature.time is not None:
        found = float(feature.time.days(np.array([value], dtype=object), what)[0])
        if math.isnan(found):
            raise DataError(what, shown(value), "a time that is not missing", "Pass a time")
        return found
    if isinstance(value, str):
        text = value.strip()
        try:
            value = float(text)
        except ValueError as error:
            if feature.labels:
                named = dict(feature.labels)
                fix = "Use a level, or a number"
                raise unknown_level(what, value, [*named], [*named.values()], fix) from error
            fix = 'Use for example "+1", "+10%", "x2" or "40"'
            if text.endswith("%") and text[:1].isdigit():
                fix = f'Write the sign: "+{text}" or "-{text}"'
            raise DataError(
                what,
                repr(value),
                'a step ("+1"), a percentage ("+10%"), a factor ("x2") or a number',
                fix,
            ) from error
    return _finite(feature, value, "a number")


def _check_setting(feature: Feature, value: object) -> None:
    """Raise for a step or a factor where a value is set: ``to={"age": "+1"}`` would set the age to 1."""
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith("+") or text.endswith("%") or _FACTOR.fullmatch(text) is not None:
        raise DataError(
            f"change(to)[{feature.name!r}]",
            f"{value!r}, which is a move",
            "the value that every row gets",
            f"Write it in the moves: sd.what_if(model, X, {{{feature.name!r}: {value!r}}})",
        )


def _finite(feature: Feature, value: object, expected: str) -> float:
    """Return a finite number; an error for anything else."""
    what, fix = f"change[{feature.name!r}]", 'Use for example 1, "+10%" or "x2"'
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise DataError(what, shown(value), expected, fix)
    number = float(value)
    if not math.isfinite(number):
        raise DataError(what, shown(value), f"{expected}, and finite", fix)
    return number


def _text(move: Move) -> str:
    """Return a move of a numeric feature in words."""
    feature, amount = move.feature, move.amount
    name, unit = feature.title, f" {feature.unit}" if feature.unit else ""
    sign = "−" if amount < 0 else "+"
    if move.kind == "value":
        text = f"{amount:.10g}{unit}"
        if feature.time is not None:
            text = feature.time.text(amount)
        return f"{name} = {text}"
    if move.kind == "factor":
        percent = round(100 * (amount - 1), 10)
        if 0 < amount < 2:
            return f"{name} {'−' if percent < 0 else '+'} {abs(percent):.10g} %"
        return f"{name} × {amount:.10g}"
    if feature.time is not None:
        return f"{name} {sign} {_duration(abs(amount))}"
    return f"{name} {sign} {abs(amount):.10g}{unit}"


def _duration(days: float) -> str:
    """Return a duration in the largest unit of which it is a whole number."""
    for unit, size in (("day", 1), ("hour", 24), ("minute", 1440), ("second", 86_400)):
        number = days * size
        if abs(number - round(number)) < 1e-9 * max(1.0, number):
            return f"{round(number):,} {unit}{'' if round(number) == 1 else 's'}"
    return f"{days:.6g} days"


# --- the method -----------------------------------------------------------------------------------


class RowRegions(Protocol):
    """Regions of the rows, which each row's own values or its place determine."""

    @property
    def by(self) -> str:
        """What gives the regions; empty for a single region of all rows."""
        ...

    @property
    def rules(self) -> Sequence[str]:
        """The rules of the regions; empty for a single region of all rows."""
        ...

    def of(self, evaluator: BatchEvaluator) -> Ints:
        """Return the index of the region of each row of a batch, (n,)."""
        ...


@dataclass(frozen=True)
class AllRows:
    """One region of all rows."""

    by: str = ""
    rules: tuple[str, ...] = ()

    def of(self, evaluator: BatchEvaluator) -> Ints:
        return np.zeros(len(evaluator), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Moves:
    """What moves together, and the regions by which it is averaged: the plan of `MovedRows`."""

    moves: tuple[Move, ...]
    regions: RowRegions


@dataclass(frozen=True)
class ForwardDifference(Parameters):
    """The method of `skedasis.what_if`: what `MovedRows` reports as its method."""

    cheaper = "a sample of the rows"


@dataclass(frozen=True)
class MovedRows(MethodVariant[ForwardDifference], FeatureMethod[AnyColumn, Moves, Change]):
    """The change of the quantity at every row, from two model rows for each."""

    moves: Moves

    @property
    def compares_missing(self) -> bool:
        """Return False: rows with a missing value are counted."""
        return False

    def describe(self) -> dict[str, JsonValue]:
        return {"moves": [m.text for m in self.moves.moves]}

    def read_column(self, dataset: Dataset, feature: Feature) -> AnyColumn:
        return dataset.levels(feature) if feature.categorical else numeric_column(dataset, feature)

    def observed_only(self, column: AnyColumn) -> bool:
        """Return True: no derivative is needed."""
        return True

    def plan(self, column: AnyColumn, derivative_info: DerivativeInfo) -> Moves:
        return self.moves

    def floats_per_row(self, plans: Sequence[Moves]) -> int:
        """Return the number of floats held per row: values, quantity, flags."""
        return 6 + max((3 * len(p.moves) for p in plans), default=0)

    def row_bytes(self, plan: Moves) -> int:
        return 8 * (5 + len(plan.moves))

    def compute(self, evaluator: BatchEvaluator, plan: Moves, keep: Bools | None) -> BatchStats:
        own = [move.own(evaluator) for move in plan.moves]
        gaps = [move.is_missing(x) for move, x in zip(plan.moves, own, strict=True)]
        left_out = np.zeros(len(evaluator), dtype=bool)
        for move, gap in zip(plan.moves, gaps, strict=True):
            if not move.is_setting:
                left_out |= gap
        lost = np.array([float(left_out.sum()), *(float(gap.sum()) for gap in gaps)])
        region = plan.regions.of(evaluator)
        rows = np.flatnonzero(~left_out) if left_out.any() else None
        part = evaluator
        if rows is not None:
            own, region = [x[rows] for x in own], region[rows]
            keep = None if keep is None else keep[rows]
            part = evaluator.subset(rows)
        size = max(len(plan.regions.rules), 1)
        if len(region) == 0:
            none = Moments.zeros(size)
            moments = dict.fromkeys(_MOMENTS, none)
            left = np.zeros(len(own))
            return BatchStats(moments, totals={MISSING: lost, OUTSIDE: left})
        moved = [move.values(x) for move, x in zip(plan.moves, own, strict=True)]
        changes: dict[int, SweepValues] = {}
        for move, values in zip(plan.moves, moved, strict=True):
            changes |= move.replaced(values)
        same = np.logical_and.reduce([a == b for a, b in zip(moved, own, strict=True)])
        before = part.values()
        after = part.sweep_together(changes, 1)[:, 0]
        # A row that does not move does not change, whatever a model's sums over a batch round to.
        change = np.where(same, 0.0, after - before)
        noise = _ROUNDING * part.eps * np.maximum(np.abs(before), np.abs(after))
        out = [move.outside(values) for move, values in zip(plan.moves, moved, strict=True)]
        w = part.weights
        of_change, of_before = Moments.of_both(change, before, region, size, w)
        moments = {CHANGE: of_change, BEFORE: of_before}
        some_out = np.logical_or.reduce(out)
        flags = (change > noise, change < -noise, same, some_out)
        for name, flag in zip((INCREASES, DECREASES, SAME, OUTSIDE), flags, strict=True):
            moments[name] = Moments.of(flag.astype(float), region, size, w, like=of_change)
        kept = {
            CHANGE: change,
            BEFORE: before,
            "weight": w,
            "region": region.astype(float),
            **{f"x{i}": x for i, x in enumerate(own)},
        }
        left = np.array([float(flag.sum()) for flag in out])
        return BatchStats(
            moments,
            select_rows(kept, keep),
            float(np.abs(change).max()),
            int(some_out.sum()),
            totals={MISSING: lost, OUTSIDE: left},
            row_id=select_row_ids(part, keep),
        )

    def finalize(
        self, plan: Moves, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Change:
        """Return the result; whether rows are far from the data is not known here."""
        lost, left = stats.totals[MISSING], stats.totals[OUTSIDE]
        whole = stats.moments[OUTSIDE].whole()
        moments = {name: stats.moments[name] for name in _MOMENTS}
        rows: ChangeRows | None = None
        r = stats.kept
        if r and stats.row_id is not None:
            x = tuple(r[f"x{i}"] for i in range(len(plan.moves)))
            region = r["region"].astype(np.int64)
            rows = ChangeRows(stats.row_id, x, r[BEFORE], r[CHANGE], r.get("weight"), region, exact)
        described = tuple(
            move.described(int(left[i]), int(lost[1 + i])) for i, move in enumerate(plan.moves)
        )
        return Change(
            described,
            moments,
            Outside(float(whole.mean[0]), stats.outside),
            int(lost[0]),
            rows,
            plan.regions.by,
            tuple(plan.regions.rules),
            about.quantity,
            about.unit,
            about.library,
            kind,
        )
