"""The axis of a feature: the points at which a result has values, and how values of the feature relate to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from skedasis._arguments import shown
from skedasis._types import Bools, Floats, Ints, Level, Values
from skedasis.data.categories import unknown_level
from skedasis.data.features import Feature
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError
from skedasis.results.immutable import Immutable, make_read_only
from skedasis.stats.grid import Cells

# --- levels of a categorical feature --------------------------------------------------------------


BY_SIMILARITY = "similarity of the other features"
"""Description of the order of levels that have none of their own: adjacent ones have similar rows."""


@dataclass(frozen=True, eq=False)
class LevelStats(Immutable):
    """The levels of a categorical feature, in the order of accumulation."""

    values: tuple[Level, ...]
    """The levels, as in X; None stands for missing values."""
    labels: tuple[str, ...]
    """Labels for tables and figures."""
    count: Ints
    """Number of rows, shape (L,)."""
    weight: Floats
    """Sum of the rows' weights, shape (L,)."""
    order_description: str = ""
    """How the order was chosen."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def share(self) -> Floats:
        """Return the fraction of the total weight at each level, (L,)."""
        return self.weight / max(float(self.weight.sum()), np.finfo(float).tiny)

    def array(self) -> Values:
        """Return the levels as an array: numeric or text if all levels are, otherwise of dtype object."""
        kinds = {type(v) for v in self.values}
        if kinds <= {int, float} or kinds in ({str}, {bool}):
            return np.array(self.values)
        out = np.empty(len(self), dtype=object)
        out[:] = self.values
        return out

    def codes(self, wanted: object) -> Ints:
        """Return the code of each given value, a level or its label; -1 for a value that is no level."""
        known: dict[Hashable, int] = {_key(label): i for i, label in enumerate(self.labels)}
        known |= {_key(v): i for i, v in enumerate(self.values)}

        def code(value: Level) -> int:
            try:
                return known.get(_key(value), -1)
            except TypeError:  # not hashable, so not a level
                return -1

        flat = np.asarray(wanted, dtype=object).ravel()
        return np.array([code(v) for v in flat], dtype=np.int64)

    def find(self, wanted: object, what: str) -> Ints:
        """Return the codes of levels or labels that a caller names; -1 for a missing value that is no level.

        Parameters
        ----------
        wanted : array_like
        what : str
            What is evaluated, for error messages.

        Raises
        ------
        DataError
            For a value that is neither a level nor missing.
        """
        codes = self.codes(wanted)
        for value, code in zip(np.asarray(wanted, dtype=object).ravel(), codes, strict=True):
            if code < 0 and _key(value) is not None:
                fix = "Pass one of these"
                raise unknown_level(what, value, self.values, self.labels, fix)
        return codes

    def labels_of(self, values: object) -> Values:
        """Return the labels of levels, as a column of a table."""
        return np.array([self.labels[i] for i in self.codes(values)], dtype=object)


def _key(value: Level) -> Hashable:
    """Return a dictionary key that is equal for equal levels only; True and 1 are different levels."""
    value = value.item() if isinstance(value, np.generic) else value
    try:
        missing = value is None or bool(value != value) or type(value).__name__ == "NAType"  # noqa: PLR0124 - NaN
    except TypeError:  # pandas.NA has no truth value
        missing = True
    return None if missing else (isinstance(value, bool), value)


def numbers_of(values: object, what: str, points: Floats) -> Floats:
    """Return values of a numeric feature as floats."""
    found = np.asarray(values)
    if found.ndim > 1 and hasattr(values, "columns"):
        got = f"a {type(values).__name__} of shape {found.shape}"
        raise DataError(what, got, "values of the feature", "Pass one column of it")
    try:
        # Text such as "50" would convert to a number, but names a level of another feature.
        mixed = found.ravel().tolist() if found.dtype.kind == "O" else ()
        if found.dtype.kind in "SU" or any(isinstance(v, str) for v in mixed):
            raise TypeError
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(
            what,
            f"values that are not numbers, such as {shown(found.ravel().tolist()[0])}",
            "numbers, because the feature is numeric",
            f"Pass numbers, such as {points[0]:.6g}",
        ) from error


# --- the axis of an effect ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Axis(Immutable, ABC):
    """The points of one feature at which an effect has values: `NumericAxis`, `TimedAxis` or `LevelAxis`."""

    noun: ClassVar[str] = "point"

    @property
    def nouns(self) -> str:
        """Return the plural of `noun`."""
        return f"{self.noun}s"

    @property
    @abstractmethod
    def x(self) -> Values:
        """Return the points in the feature's own type: numbers, datetime64 (UTC), timedelta64, or levels."""

    @property
    @abstractmethod
    def coordinates(self) -> Floats:
        """Return the points as increasing numbers: numbers, days, or codes of levels."""

    def __len__(self) -> int:
        return len(self.coordinates)

    @abstractmethod
    def in_own_type(self, points: Floats) -> Values:
        """Return numbers on the axis in the feature's own type."""

    @abstractmethod
    def coordinates_of(self, values: object, what: str) -> Floats:
        """Return values of the feature, in its own type, as numbers; NaN for a missing value.

        Parameters
        ----------
        values : array_like
        what : str
            What is evaluated, for error messages.
        """

    @abstractmethod
    def interpolate(self, coordinates: Floats, value: Floats) -> Floats:
        """Return `value`, given at the points, at other coordinates; NaN outside the axis, and for NaN."""


@dataclass(frozen=True, eq=False)
class NumericAxis(Axis):
    """The axis of a numeric feature, between whose points values are interpolated."""

    points: Floats
    """Increasing, shape (m,)."""

    @classmethod
    def of(cls, feature: Feature, points: Floats) -> NumericAxis:
        """Return the axis of a feature's numbers; for a feature of times, of its days."""
        return NumericAxis(points) if feature.time is None else TimedAxis(points, feature.time)

    @property
    def x(self) -> Values:
        """Return the points."""
        return self.points

    @property
    def coordinates(self) -> Floats:
        """Return the points."""
        return self.points

    def in_own_type(self, points: Floats) -> Values:
        """Return numbers on the axis in the feature's own type."""
        return points

    def coordinates_of(self, values: object, what: str) -> Floats:
        """Return values as floats; raise `DataError` for values that are not numbers."""
        return numbers_of(values, what, self.points)

    def interpolate(self, coordinates: Floats, value: Floats) -> Floats:
        """Interpolate linearly; NaN outside the points, and for NaN."""
        between = np.interp(coordinates, self.points, value, left=np.nan, right=np.nan)
        # With a single point `interp` returns its value for NaN, too.
        return np.where(np.isnan(coordinates), np.nan, between)


@dataclass(frozen=True, eq=False)
class TimedAxis(NumericAxis):
    """The axis of a feature of dates, times or durations. Its numbers are days.

    Parameters
    ----------
    points : ndarray of float, shape (m,)
        Days since the origin of `time`.
    """

    time: TimeAxis
    """The conversion between days and times."""

    @property
    def x(self) -> Values:
        """Return the points as datetime64 (UTC) or timedelta64."""
        return self.time.times(self.points)

    def in_own_type(self, points: Floats) -> Values:
        """Return days as datetime64 (UTC) or timedelta64."""
        return self.time.times(points)

    def coordinates_of(self, values: object, what: str) -> Floats:
        """Return times, or text that denotes times, as days."""
        days = self.time.days(values, what)
        # The first and last of `x` are rounded to the unit of the column, and may so be beyond the points.
        ends = self.points[[0, -1]]
        (first, last), rounded = ends, self.time.days(self.in_own_type(ends))
        inside = (days >= min(first, rounded[0])) & (days <= max(last, rounded[1]))
        return np.where(inside, np.clip(days, first, last), days)


@dataclass(frozen=True, eq=False)
class LevelAxis(Axis):
    """The axis of a categorical feature. Its levels have no distances, and no values lie between them."""

    noun: ClassVar[str] = "level"
    levels: LevelStats
    """In the order of accumulation."""

    @cached_property
    def points(self) -> Values:
        """Return the levels as an array."""
        points = self.levels.array()
        make_read_only(points)
        return points

    @property
    def x(self) -> Values:
        """Return the levels as an array."""
        return self.points

    @property
    def coordinates(self) -> Floats:
        """Return the codes of the levels."""
        return np.arange(len(self.levels), dtype=float)

    def in_own_type(self, points: Floats) -> Values:
        """Return the levels of codes."""
        return self.points[points.astype(np.int64)]

    def coordinates_of(self, values: object, what: str) -> Floats:
        """Return the codes of levels or labels, NaN for missing values; raise `DataError` for no level."""
        code = self.levels.find(values, what).reshape(np.asarray(values, dtype=object).shape)
        return np.where(code >= 0, code, np.nan)

    def interpolate(self, coordinates: Floats, value: Floats) -> Floats:
        """Return the values at codes of levels; NaN for NaN."""
        known = ~np.isnan(coordinates)
        code = np.where(known, coordinates, 0.0).astype(np.int64)
        return np.where(known, value[code], np.nan)


# --- the axes of a surface ------------------------------------------------------------------------


CellPosition = tuple[Ints, Floats, Bools]
"""On one axis: index of the node before, fraction of the way to the next node, whether the value is valid."""


@dataclass(frozen=True, eq=False)
class PairAxis(Immutable, ABC):
    """One of the two features of a surface: `BinPairAxis`, `GridPairAxis` or `LevelPairAxis`.

    Its *nodes* are the points at which the surface has values. Its *homes* are the groups of rows: each row has one
    home, the bin or the level of its value. *Cells* lie between neighbouring nodes.

    | | nodes (m) | homes (h) | cells (m - 1) |
    |---|---|---|---|
    | numeric | edges | bins | bins: a row is in one cell, its home |
    | categorical | levels | levels | steps: a row is in the steps before and after its level |
    | points of a grid | points | none | none |
    """

    bins: Cells | None = field(default=None, init=False)
    """The bins of a numeric feature."""
    levels: LevelStats | None = field(default=None, init=False)
    """The levels of a categorical feature."""
    points: Floats | None = field(default=None, init=False)
    """The grid of a PDP."""

    @property
    @abstractmethod
    def nodes(self) -> Values:
        """Return the nodes: edges, levels or points of a grid."""

    @property
    @abstractmethod
    def node_coordinates(self) -> Floats:
        """Return the coordinates of the nodes for interpolation: numbers, or codes of levels."""

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.node_coordinates)

    @property
    @abstractmethod
    def n_homes(self) -> int:
        """Return the number of homes. A constant numeric feature has one."""

    @property
    @abstractmethod
    def cell_offsets(self) -> tuple[int, ...]:
        """Return the offsets from a row's home to its cells: its bin, or the two adjacent steps."""

    @property
    def strips(self) -> tuple[float, float] | None:
        """Return the two values of a two-valued feature if the nodes span both; None for any other feature.

        Because no row lies between two values, figures show two strips instead of a gradient.
        """
        return None

    @abstractmethod
    def node_to_home_matrix(self) -> Floats:
        """Return the matrix (h, m) from values at nodes to values at homes: the mean of a bin's edges, or the level."""

    @abstractmethod
    def home_to_cell_matrix(self) -> Floats:
        """Return the matrix (m - 1, h) from weights of homes to weights of cells: (b_k + b_{k+1}) / 2 for steps."""

    @abstractmethod
    def centres(self) -> Floats:
        """Return the centres of the cells as fractions of the range; steps between levels are equidistant."""

    @abstractmethod
    def home_of(self, x: Floats) -> Ints:
        """Return the home of each value, -1 for none. Levels are given by their codes."""

    @abstractmethod
    def as_array(self, x: object) -> Values:
        """Return values as an array of floats, or of levels."""

    @abstractmethod
    def locate(self, x: Values) -> CellPosition:
        """Return the position of values between the nodes: node before, fraction of the way to the next, validity.

        Parameters
        ----------
        x : ndarray
            Values as from `as_array`.
        """

    def upper_edge(self, x: Values, position: CellPosition) -> CellPosition:
        """Return the position of the upper edge of each value's bin, because Eq. 6.4 sums over whole cells."""
        return position


@dataclass(frozen=True, eq=False)
class NumericPairAxis(PairAxis):
    """A numeric feature of a surface."""

    two_values: tuple[float, float] | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def nodes(self) -> Floats:
        """Return the edges, or the points of the grid."""

    @property
    def node_coordinates(self) -> Floats:
        """Return the nodes."""
        return self.nodes

    @property
    def n_homes(self) -> int:
        """Return the number of intervals between nodes; 1 for a constant feature."""
        return max(self.n_nodes - 1, 1)

    @property
    def strips(self) -> tuple[float, float] | None:
        """Return the two values of a two-valued feature if the nodes span both."""
        two, nodes = self.two_values, self.nodes
        if two is None:
            return None
        return two if nodes[0] <= two[0] and two[1] <= nodes[-1] else None

    def node_to_home_matrix(self) -> Floats:
        """Return the matrix (h, m) that averages the two edges of each bin."""
        if self.n_nodes == 1:
            return np.eye(self.n_homes, self.n_nodes)
        return (np.eye(self.n_homes, self.n_nodes) + np.eye(self.n_homes, self.n_nodes, k=1)) / 2

    def home_to_cell_matrix(self) -> Floats:
        """Return the identity: a bin is its own cell."""
        return np.eye(self.n_nodes - 1, self.n_homes)

    def centres(self) -> Floats:
        """Return the centres of the bins as fractions of the range."""
        # Relative to the left end: a large offset would cost the digits that decide which cells are equidistant.
        edges = self.nodes - self.nodes[0]
        return (edges[:-1] + edges[1:]) / 2 / edges[-1]

    def home_of(self, x: Floats) -> Ints:
        """Return 0 for each value, and -1 for NaN: points of a grid have no homes."""
        return np.where(np.isnan(x), -1, 0)

    def as_array(self, x: object) -> Values:
        """Return values as floats."""
        return numbers_of(x, "surface", self.nodes)

    def locate(self, x: Values) -> CellPosition:
        """Return the position of numbers between the nodes."""
        return between(self.nodes, np.asarray(x, dtype=float))


@dataclass(frozen=True, eq=False)
class BinPairAxis(NumericPairAxis):
    """A numeric feature of an accumulated surface."""

    bins: Cells = field()

    @property
    def nodes(self) -> Floats:
        """Return the edges."""
        return self.bins.edges

    @property
    def cell_offsets(self) -> tuple[int, ...]:
        """Return 0: a row's only cell is its bin."""
        return () if self.n_nodes == 1 else (0,)

    def home_of(self, x: Floats) -> Ints:
        """Return the bin of each value, -1 for none."""
        return super().home_of(x) if self.n_nodes == 1 else self.bins.locate(x)

    def upper_edge(self, x: Values, position: CellPosition) -> CellPosition:
        """Return the position of the upper edge of each value's bin."""
        if self.n_nodes == 1:
            return position
        numbers = np.asarray(x, dtype=float)
        home = np.maximum(self.bins.locate(np.ravel(numbers)), 0).reshape(numbers.shape)
        return home + 1, np.zeros(numbers.shape), position[2]


@dataclass(frozen=True, eq=False)
class GridPairAxis(NumericPairAxis):
    """A numeric feature of a partial dependence surface."""

    points: Floats = field()

    @property
    def nodes(self) -> Floats:
        """Return the points of the grid."""
        return self.points

    @property
    def cell_offsets(self) -> tuple[int, ...]:
        """Return no offsets: a grid has no cells."""
        return ()


@dataclass(frozen=True, eq=False)
class LevelPairAxis(PairAxis):
    """A categorical feature of a surface."""

    levels: LevelStats = field()

    @property
    def nodes(self) -> Values:
        return self.levels.array()

    @property
    def node_coordinates(self) -> Floats:
        """Return the codes of the levels."""
        return np.arange(len(self.levels), dtype=float)

    @property
    def n_homes(self) -> int:
        """Return the number of levels."""
        return len(self.levels)

    @property
    def cell_offsets(self) -> tuple[int, ...]:
        """Return 0 and -1: a row is in the steps after and before its level."""
        return () if self.n_nodes == 1 else (0, -1)

    def node_to_home_matrix(self) -> Floats:
        """Return the identity: a level is its own home."""
        return np.eye(self.n_nodes)

    def home_to_cell_matrix(self) -> Floats:
        """Return the matrix (m - 1, m) that averages the two levels of each step."""
        return (
            np.eye(self.n_nodes - 1, self.n_nodes) + np.eye(self.n_nodes - 1, self.n_nodes, k=1)
        ) / 2

    def centres(self) -> Floats:
        """Return equidistant centres of the steps, as fractions of the range."""
        return np.arange(1.0, self.n_nodes) / max(self.n_nodes - 1, 1)

    def home_of(self, x: Floats) -> Ints:
        """Return codes of levels as integers, -1 for NaN."""
        return np.where(np.isnan(x), -1, x).astype(np.int64)

    def as_array(self, x: object) -> Values:
        """Return values as an array of objects."""
        return np.asarray(x, dtype=object)

    def locate(self, x: Values) -> CellPosition:
        """Return the codes of levels, and which values are levels."""
        code = self.levels.find(x, "surface").reshape(x.shape)
        return np.maximum(code, 0), np.zeros(x.shape), code >= 0


def between(nodes: Floats, x: Floats) -> CellPosition:
    """Return the position of numbers: index of the node before, fraction of the way to the next, inside the range."""
    inside = (x >= nodes[0]) & (x <= nodes[-1])
    if len(nodes) == 1:
        return np.zeros(x.shape, dtype=np.int64), np.zeros(x.shape), inside
    i = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    fraction = (np.where(inside, x, nodes[0]) - nodes[i]) / (nodes[i + 1] - nodes[i])
    return i, np.where(inside, fraction, 0.0), inside
