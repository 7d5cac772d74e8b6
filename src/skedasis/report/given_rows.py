"""Rows that the caller named: where each stands on every curve, and its own ICE curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from skedasis._arguments import is_int, shown
from skedasis._types import Floats, Ints, Level
from skedasis.data.dataset import Dataset
from skedasis.data.factorize import is_absent, to_python
from skedasis.errors import DataError
from skedasis.plots.figures.curve_height import lift, mean_over_data
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.kinds import LEVELS
from skedasis.plots.marks import Line, Mark, Panel, Points
from skedasis.plots.scales import PlotAxis, clean
from skedasis.plots.theme import HUES
from skedasis.results.at_rows import coordinates_at_rows
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.regions import Regions, region_of_rows

if TYPE_CHECKING:
    from skedasis.report.content import ModelSection

MOST = HUES
"""Largest number of rows: as many as shapes that differ without colours."""


RowCurves: TypeAlias = Mapping[str, Floats]
"""ICE curves of the given rows by feature, (k, m), at the points of the feature's PDP."""


@dataclass(frozen=True, eq=False)
class RowOnCurve:
    """Where a row stands on the curves of one feature."""

    text: str
    x: float
    value: float
    region: int = -1
    rule: str = ""
    regional: float = math.nan
    ice_x: float = math.nan
    ice: Floats = field(default_factory=lambda: np.zeros(0))
    mean: float = 0.0
    regional_mean: float = 0.0

    @property
    def deviation(self) -> float:
        """Return the effect minus its mean over the rows: those of the row's region if there is one."""
        if math.isfinite(self.regional):
            return self.regional - self.regional_mean
        return self.value - self.mean


@dataclass(frozen=True, eq=False)
class GivenRow:
    """A row that the caller named."""

    position: int
    id: str
    prediction: float
    label: float | str | None
    values: Mapping[str, RowOnCurve]


# ------------------------------------------------------------------------------------- arguments
def named_rows(rows: object) -> tuple[bool, tuple[int, ...]]:
    """Return whether a report shows single rows, and the positions of those that the caller named."""
    if isinstance(rows, (bool, np.bool_)):
        return bool(rows), ()
    fix = "Use rows=[3, 17] for two rows, rows=False to show nothing of single rows"
    listed = list(rows) if isinstance(rows, (Sequence, np.ndarray)) else None
    if listed is None or isinstance(rows, str):
        raise DataError("report(rows)", shown(rows), "True, False, or positions of rows", fix)
    if not listed:
        # An empty list is false, but it is not False: which of both is meant decides what the page discloses.
        raise DataError("report(rows)", "no positions", "at least one, True or False", fix)
    if all(isinstance(r, (bool, np.bool_)) for r in listed):
        fix = "Use rows=np.flatnonzero(mask)"
        raise DataError("report(rows)", "a mask", "positions of rows", fix)
    wrong = [r for r in listed if not is_int(r) or r < 0]
    if wrong:
        raise DataError("report(rows)", shown(wrong[0]), "positions of rows, from 0", fix)
    positions = tuple(dict.fromkeys(int(r) for r in listed))
    if len(positions) > MOST:
        got, fix = f"{len(positions):,} rows", "Name the rows that matter most"
        raise DataError("report(rows)", got, f"at most {MOST}", fix)
    return True, positions


def places_of(dataset: Dataset, positions: Sequence[int]) -> Ints:
    """Return the indices in a dataset of rows of X, in the order of the positions."""
    n = len(dataset.table)
    wrong = [p for p in positions if p >= n]
    if wrong:
        fix = f"Use positions from 0 to {n - 1:,}"
        raise DataError("report(rows)", f"{wrong[0]:,}", f"a position among {n:,} rows", fix)
    if dataset.row_id is None:
        return np.array(positions, dtype=np.int64)
    found = np.searchsorted(dataset.row_id, positions)
    at = np.minimum(found, len(dataset.row_id) - 1)
    absent = [p for p, k in zip(positions, at.tolist(), strict=True) if dataset.row_id[k] != p]
    if absent:
        fix = "Name rows with a positive weight"
        got = f"row {absent[0]:,}, whose weight is 0"
        if dataset.origin:
            fix = "Leave sample out, or name rows that it has"
            got = f"row {absent[0]:,}, which is not among the {len(dataset):,} rows of the sample"
        raise DataError("report(rows)", got, "rows that are explained", fix)
    return at.astype(np.int64)


# --------------------------------------------------------------------------- where the rows stand
def given_rows(
    positions: Sequence[int],
    dataset: Dataset,
    values: Floats,
    effects: Effects,
    pdp: Effects,
    curves: RowCurves,
    regions: Mapping[str, Regions],
    region: Ints | None,
) -> tuple[GivenRow, ...]:
    """Return where the rows that the caller named stand on every curve, in the caller's order."""
    if not positions:
        return ()
    places = places_of(dataset, positions)
    standing: list[dict[str, RowOnCurve]] = [{} for _ in positions]
    for name, effect in effects.items():
        of = regions.get(name)
        where = _regions_of(of, dataset, places, region)
        at = coordinates_at_rows(effect, dataset)[places]
        texts, on_curve = _value_texts(effect, at, dataset, places), _values_at(effect, at).tolist()
        x, mean, ice_x = at.tolist(), mean_over_data(effect), [math.nan] * len(places)
        if name in pdp:
            ice_x = coordinates_at_rows(pdp[name], dataset)[places].tolist()
        for i, own in enumerate(standing):
            number, ice = where[i], curves[name][i] if name in curves else np.zeros(0)
            regional, rule, regional_mean = math.nan, "", 0.0
            if of is not None and number >= 0:
                part, rule = of.effects[number], of.rules[number]
                regional, regional_mean = _regional_at(part, effect, x[i]), mean_over_data(part)
            there = on_curve[i], number, rule, regional
            own[name] = RowOnCurve(texts[i], x[i], *there, ice_x[i], ice, mean, regional_mean)
    labels = [None] * len(places) if dataset.y is None else np.asarray(dataset.y)[places].tolist()
    return tuple(
        GivenRow(p, f"row {p}", float(values[place]), _label(label), on)
        for p, place, label, on in zip(positions, places.tolist(), labels, standing, strict=True)
    )


def _label(label: Level) -> float | str | None:
    """Return a label as a plain value."""
    if is_absent(label):
        return None
    plain = to_python(label)
    return plain if isinstance(plain, (bool, int, float, str)) else str(plain)


def _values_at(effect: Effect, x: Floats) -> Floats:
    """Return an effect at coordinates of its axis; for missing values its missing point."""
    value = np.asarray(effect.at(x), dtype=float)
    if isinstance(effect.axis, LevelAxis) or effect.missing_point is None:
        return value
    return np.where(np.isnan(x), effect.missing_point.value, value)


def _regional_at(part: Effect, whole: Effect, x: float) -> float:
    """Return a regional effect at a coordinate of the effect in all rows: their levels can have another order."""
    if isinstance(part.axis, LevelAxis) and isinstance(whole.axis, LevelAxis):
        if math.isnan(x):
            return math.nan
        label = whole.axis.levels.labels[int(x)]
        known = part.axis.levels.labels
        return float(part.value[known.index(label)]) if label in known else math.nan
    return float(_values_at(part, np.array([x]))[0])


def _value_texts(effect: Effect, x: Floats, dataset: Dataset, places: Ints) -> list[str]:
    """Return the rows' values of a feature as text."""
    feature, axis = effect.about.feature, effect.axis
    if isinstance(axis, LevelAxis):
        labels = axis.levels.labels
        if np.isnan(x).any():
            column = dataset.levels(feature, top=len(dataset))
            codes = column.codes[places]
            other = [column.levels.labels[k] if k >= 0 else "missing" for k in codes.tolist()]
        else:
            other = [""] * len(x)
        return [o if math.isnan(v) else labels[int(v)] for v, o in zip(x, other, strict=True)]
    time = effect.time
    if time is None:
        return ["missing" if math.isnan(v) else f"{v + 0.0:.7g}" for v in x.tolist()]
    return ["missing" if math.isnan(v) else time.text(v, time.resolution) for v in x.tolist()]


def _regions_of(
    found: Regions | None, dataset: Dataset, places: Ints, region: Ints | None
) -> list[int]:
    """Return the region of each row; -1 without regions, and for rows of no region."""
    if found is None or len(found) < 2:
        return [-1] * len(places)
    if region is not None:
        return region[places].tolist()
    order = np.argsort(places)
    part = dataset.subset(places[order])
    number = np.empty(len(places), dtype=np.int64)
    number[order] = region_of_rows(found.leaves, part)
    return number.tolist()


# --------------------------------------------------------------------------------------- drawing
APART = 0.08
"""Distance of the points of two rows at a level, where adjacent levels are 1 apart."""


On: TypeAlias = Literal["curve", "ice"]
"""On which curve rows are drawn: on the effect itself, or each on its own ICE curve, which is drawn, too."""


def row_marks(
    section: ModelSection,
    feature: str,
    on: On,
    *,
    region: int | None = None,
    x_axis: PlotAxis | None = None,
    most_levels: int = LEVELS,
) -> list[Mark]:
    """Return the marks of the rows that the caller named, for a panel of an effect, a region or a PDP."""
    if on == "ice" and feature not in section.pdp:
        return []
    effect = section.pdp[feature] if on == "ice" else section.rhale[feature]
    of = effect if region is None else section.regions[feature].effects[region]
    up = lift(of) if section.scale == "prediction" else 0.0
    count, marks = len(section.given_rows), list[Mark]()
    for i, row in enumerate(section.given_rows):
        found = row.values[feature]
        if region is not None and found.region != region:
            continue
        # Several rows can be at one level.
        beside = APART * (i - (count - 1) / 2) if isinstance(effect.axis, LevelAxis) else 0.0
        of_row = _RowMarks(effect, f"given{i}", clean(row.id), beside, x_axis, most_levels)
        if on == "ice":
            marks += of_row.ice(replace(found, ice=found.ice + up))
        else:
            value = found.value if region is None else found.regional
            marks += of_row.point(found.x, value + up)
    return marks


def with_rows(
    panel: Panel,
    section: ModelSection,
    feature: str,
    on: On,
    *,
    region: int | None = None,
    most_levels: int = LEVELS,
) -> Panel:
    """Return a main panel with the marks of `row_marks`; its vertical axis contains them all."""
    marks = row_marks(section, feature, on, region=region, x_axis=panel.x, most_levels=most_levels)
    y = [m.y[np.isfinite(m.y)] for m in marks if isinstance(m, (Line, Points))]
    ends = np.concatenate([*y, np.zeros(0)])
    if not len(ends):
        return panel
    low = float(np.fmin(panel.y.least, ends.min()))
    high = float(np.fmax(panel.y.most, ends.max()))
    axis = replace(panel.y, least=low, most=high)
    return replace(panel, marks=(*panel.marks, *marks), y=axis)


@dataclass(frozen=True, eq=False)
class _RowMarks:
    """The marks of one row in a panel of an effect; `beside` is by how much its points are moved."""

    effect: Effect
    style: str
    label: str
    beside: float
    x_axis: PlotAxis | None
    most_levels: int

    def point(self, x: float, y: float) -> list[Mark]:
        """Return the point of the row; none if it has no position."""
        if math.isnan(x) or not isinstance(self.effect.axis, LevelAxis):
            at = x if self.x_axis is None else self.x_axis.place(x)
        else:
            at = float(self._levels(self.effect.axis).position[int(x)])
        at += self.beside
        if not (math.isfinite(at) and math.isfinite(y)):
            return []
        return [Points(np.array([at]), np.array([y]), f"{self.style}-point", self.label)]

    def ice(self, found: RowOnCurve) -> list[Mark]:
        """Return the row's ICE curve, and the point on it at the row's own value."""
        axis, ice = self.effect.axis, found.ice
        if len(ice) != len(axis) or not len(ice):
            return []
        if not isinstance(axis, LevelAxis):
            own = float(axis.interpolate(np.array([found.ice_x]), ice)[0])
            curve = Line(axis.coordinates, ice, self.style, self.label)
            return [curve, *self.point(found.ice_x, own)]
        levels = self._levels(axis)
        own = math.nan if math.isnan(found.ice_x) else float(ice[int(found.ice_x)])
        # Nominal levels have no values in between: points, not a line.
        x, y, style = levels.x, ice[levels.shown], self.style
        among = Points(x + self.beside, y, f"{style}-small", self.label)
        curve = Line(x, y, style, self.label) if levels.ordered else among
        return [curve, *self.point(found.ice_x, own)]

    def _levels(self, axis: LevelAxis) -> ShownLevels:
        return ShownLevels.of(self.effect.about.feature, axis.levels, self.most_levels)
