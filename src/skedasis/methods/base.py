"""`Method`: plan, compute, finalize. The protocol, parameters, variants, and statistics of a batch.

`plan` sees a summary of a column and chooses cells. `local` sees one batch of rows, and is the only step that calls the
model. `read` sees what was gathered, and makes the result. A method is a frozen dataclass of its parameters; running it
stores nothing in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json
from skedasis.binning import Binning
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column, Summary
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.models.adapters import Traits
from skedasis.quantities.base import Quantity
from skedasis.stats.grid import Cells, Grid
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.results.effect import About
    from skedasis.stats.heterogeneity_score import HeterogeneityScore


# ------------------------------------------------------------------------------------------
# `Bound` as methods know it: rows of one batch, and what can be asked of a quantity there.


class Bound(Protocol):
    """One batch of rows bound to a quantity: all that a method knows of a model."""

    @property
    def weights(self) -> Floats | None:
        """The rows' weights; None means 1 each."""
        ...

    @property
    def eps(self) -> float:
        """The relative rounding of the model's answers."""
        ...

    @property
    def row_id(self) -> Ints:
        """The rows' places in X."""
        ...

    @property
    def places(self) -> Ints:
        """The rows' places among those that take part."""
        ...

    @property
    def shared(self) -> dict[str, Any]:
        """What features of one batch share."""
        ...

    def __len__(self) -> int: ...

    def column(self, j: int) -> Floats:
        """Return the rows' values of a feature."""
        ...

    def codes(self, column: LevelColumn) -> Ints:
        """Return the rows' places in a categorical feature's levels, -1 for none."""
        ...

    def labels(self) -> Floats:
        """Return the rows' labels as numbers."""
        ...

    def at(self) -> Floats:
        """Return the quantity at the rows, (n,)."""
        ...

    def some(self, rows: Ints) -> Bound:
        """Return the same for some of the rows."""
        ...

    def sweep(self, j: int, values: Floats) -> Floats:
        """Return the quantity, (n, m), with a column replaced."""
        ...

    def sweep_together(self, changes: Mapping[int, Any], m: int) -> Floats:
        """Return the quantity, (n, m), with several columns replaced at once."""
        ...

    def sums(self, changes: Mapping[int, Any], m: int) -> Floats:
        """Return the weighted sums over the rows of the quantity, (m,), with columns replaced."""
        ...

    def slope_sweep(self, j: int, values: Floats) -> Floats:
        """Return the partial derivative by a column, (n, m), with that column replaced."""
        ...

    def slope(self) -> Floats:
        """Return the partial derivatives by all columns, (n, d)."""
        ...

    def mixed_slopes(
        self, columns: tuple[Summary, Summary], traits: tuple[Traits, Traits]
    ) -> tuple[Floats, Floats | None, Floats | None]:
        """Return the mixed second derivative by two features, and the slope by each where there is one, (n,)."""
        ...

    def across(self, j: int, edges: Floats, cell: Ints) -> Floats:
        """Return q(z_k, x_c) - q(z_{k-1}, x_c) for the edges of each row's cell, (n,)."""
        ...

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c), (n,)."""
        ...

    def local_slopes(self, column: Summary, traits: Traits) -> Floats:
        """Return the partial derivative by one feature, (n,): the quantity's own, or central differences."""
        ...


# ------------------------------------------------------------------------------------------
# What every method is: three pure steps.


@dataclass(frozen=True, eq=False)
class Plan:
    """What `plan` gives: the cells or the grid, and how local effects are got.

    Parameters
    ----------
    column : Summary
        Of the column that it was made from.
    traits : Traits
    cells : Cells or Grid
    notes : dict
        For the provenance.
    coarse : ndarray of int, optional
        Which of the cells' edges were planned, where more were put between them (see `Method.refined`).
    values : ndarray of float, optional
        The feature's observed values, where the curve is made of steps between them.
    rises : Cells, optional
        Bins that the first round chose. The second round computes the rows' rises across them.
    """

    column: Summary
    traits: Traits
    cells: Any
    notes: Json = field(default_factory=dict)
    coarse: Ints | None = None
    values: Floats | None = None
    rises: Cells | None = None

    @property
    def bins(self) -> Cells:
        """Return the cells of a plan that has some."""
        return self.cells

    @property
    def grid(self) -> Grid:
        """Return the grid of a plan that has one."""
        return self.cells


@dataclass(eq=False)
class Local:
    """What `local` gives of one batch. Two of them merge into what it would give of both.

    Parameters
    ----------
    moments : dict of str to Moments or Totals
    kept : dict of str to ndarray
        Arrays by rows, for the rows that are kept; not merged, but collected by `Kept`.
    largest : float
        Largest absolute local effect.
    outside : int
        Rows beyond the edges.
    notes : dict
        What the provenance is to say.
    """

    moments: dict[str, Any]
    kept: dict[str, Any] = field(default_factory=dict)
    largest: float = 0.0
    outside: int = 0
    notes: Json = field(default_factory=dict)

    def merge(self, other: Local) -> Local:
        """Return what both batches give together, but for the rows."""
        moments = {k: m.merge(other.moments[k]) for k, m in self.moments.items()}
        largest = max(self.largest, other.largest)
        notes = {**other.notes, **self.notes}
        return Local(moments, {}, largest, self.outside + other.outside, notes)


class Kept:
    """The rows that are kept of all features, written batch by batch into one block for each kind of array.

    One large block takes a fraction of the time of many arrays (the system hands out its memory in large pages), and
    nothing has to be joined at the end.

    Parameters
    ----------
    features : sequence
        What each is known by.
    capacity : int
        Rows of each feature at most.
    """

    def __init__(self, features: Sequence[Any], capacity: int) -> None:
        self._place = {j: i for i, j in enumerate(features)}
        self._filled = dict.fromkeys(features, 0)
        self._capacity = capacity
        self._blocks: dict[tuple[str, Any, Any], Any] = {}
        self._views: dict[Any, dict[str, Any]] = {j: {} for j in features}

    def add(self, j: Any, arrays: Mapping[str, Any]) -> None:
        """Write a batch's arrays of feature j behind those of the batches before."""
        if not arrays:
            return
        start, rows = self._filled[j], len(next(iter(arrays.values())))
        views = self._views[j]
        for name, array in arrays.items():
            whole, there = _whole(array, start, self._capacity), views.get(name)
            if whole is not None and (there is None or there is whole):
                views[name] = whole  # nobody will write to it: there is nothing to put together
                continue
            if there is None or not there.flags.writeable:
                views[name] = self._room(name, array)[self._place[j]]
                if there is not None:
                    views[name][:start] = there[:start]
            views[name][start : start + rows] = array
        self._filled[j] += rows

    def _room(self, name: str, array: Any) -> Any:
        kind = (name, array.dtype, array.shape[1:])
        if kind not in self._blocks:
            shape = (len(self._place), self._capacity, *array.shape[1:])
            self._blocks[kind] = np.empty(shape, dtype=array.dtype)
        return self._blocks[kind]

    def of(self, j: Any) -> dict[str, Any]:
        """Return the arrays of feature j."""
        return {name: view[: self._filled[j]] for name, view in self._views[j].items()}


def _whole(array: Any, start: int, capacity: int) -> Any:
    """Return the array that this one is a part of, at this place, if it holds all rows and nobody will write to it."""
    if array.flags.writeable or not array.flags.c_contiguous:
        return None
    if len(array) == capacity:
        return array
    base = array.base
    if not isinstance(base, np.ndarray) or base.shape != (capacity, *array.shape[1:]):
        return None
    same = base.dtype == array.dtype and base.flags.c_contiguous and not base.flags.writeable
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return base if same and offset == start * base.strides[0] else None


class Method(Protocol):
    """A method for one kind of feature, or for two features: its parameters, and three steps.

    What users write (`ALE`, `PDP`, …) is the method for a numeric feature; its `for_levels` and `for_pair` give the
    same for a categorical feature and for two.
    """

    @property
    def name(self) -> str:
        """The method's name, as users write it."""
        ...

    @property
    def uses_slopes(self) -> bool:
        """Whether it asks for derivatives, so that it matters whether there are any."""
        ...

    @property
    def scored(self) -> bool:
        """Whether its effects have a heterogeneity score (see `skedasis.stats.heterogeneity_score`)."""
        ...

    @property
    def checks_slopes(self) -> bool:
        """Whether slopes are compared with how much the quantity rises across the bins."""
        ...

    @property
    def follows_curve(self) -> bool:
        """Whether bins are chosen so that they follow the curve, and do not straighten it."""
        ...

    @property
    def replaces_slopes(self) -> bool:
        """Whether slopes that do not match the rises of the quantity are replaced by differences."""
        ...

    @property
    def leaves_out_missing(self) -> bool:
        """Whether the model is never asked for rows that miss the feature, but to compare them."""
        ...

    def held(self, plans: Sequence[Any]) -> int:
        """Return how many numbers of each row are held at a time: batches are sized by it, too."""
        ...

    @property
    def batch_rows(self) -> int | None:
        """How many rows a batch should have at most, for its arrays to stay where they are quickly at hand."""
        ...

    @property
    def compares_missing(self) -> bool:
        """Whether rows without a value are compared with observed values of the feature (see `methods/missing.py`)."""
        ...

    def plan(self, column: Any, traits: Any) -> Any:
        """Choose the cells from a summary of the column (of both columns, for a pair)."""
        ...

    def sets(self, plans: Sequence[Any]) -> int:
        """Return how many values a row is evaluated at in one call, at most: batches are sized by it."""
        ...

    def rows_wanted(self, rows: int) -> int:
        """Return how many of the rows are to be kept, if there is room."""
        ...

    def row_bytes(self, plan: Any) -> int:
        """Return what keeping one row costs."""
        ...

    def refined(self, plan: Any) -> Any:
        """Return a plan whose moments allow other bins later, for when the rows cannot all be kept."""
        ...

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        ...

    def local(self, bound: Bound, plan: Any, keep: Bools | None) -> Local:
        """Call the model for one batch; keep the rows that `keep` marks (None: all)."""
        ...

    def observed_only(self, column: Column) -> bool:
        """Return whether the model is evaluated only at observed values of the feature."""
        ...

    def further(
        self,
        plan: Any,
        local: Local,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> Plan | None:
        """Return the plan of one more round over the rows, given what the rounds before gathered; None for no more."""
        ...

    def read(self, plan: Any, local: Local, about: Any, *, exact: bool, kind: WeightKind) -> Any:
        """Make the result."""
        ...


@dataclass(frozen=True)
class Parameters:
    """A method's parameters can be written down."""

    compares_missing = True
    leaves_out_missing = True
    reads_columns = True
    scored = False
    checks_slopes = False
    follows_curve = False
    replaces_slopes = False
    batch_rows = None
    by_rows = False
    """Whether what it does to a row depends on which other rows there are, not on cells or levels."""

    def given(self, source: Source, groups: Any, seed: int) -> tuple[Source, Any]:
        """Return the rows that take part, and groups: for most methods what the caller gave."""
        return source, groups

    def heed(self, model: Any, y: Any) -> None:
        """Warn of what was given in vain, and refuse what is missing. Most methods take what they get."""

    def on(self, quantity: Quantity, source: Source, seed: int) -> Any:
        """Return the method for these rows. Most know them by their columns alone."""
        return self

    def held(self, plans: Sequence[Any]) -> int:
        """Return how many numbers of each row are held at a time: few, unless rows have curves."""
        return 0

    @property
    def name(self) -> str:
        """Return the method's name."""
        return type(self).__name__

    def check(self, features: Sequence[Feature]) -> None:
        """Refuse parameters that name features which are not there. Most name none."""

    def for_feature(self, feature: Feature) -> Any:
        """Return the method as it is for a feature: itself for a numeric one."""
        return self.for_levels(feature) if feature.categorical else self

    def for_levels(self, feature: Feature) -> Any:
        """Return the method for a categorical feature.

        Raises
        ------
        UnsupportedError
            Where there is none.
        """
        fix = "Use sd.ALE() or sd.PDP()"
        if str(feature.dtype).lower().startswith(("bool", "int", "uint", "float")):
            fix += f'; or, if its values are amounts, declare it: schema={{{feature.name!r}: "continuous"}}'
        raise UnsupportedError(
            explained(
                f"{self.name} of {feature.name!r}",
                f"a{'n' * (feature.kind == 'ordinal')} {feature.kind} feature ({feature.dtype})",
                "a numeric feature",
                fix,
            )
        )

    def for_pair(self, features: tuple[Feature, Feature]) -> Any:
        """Return the method for two features.

        Raises
        ------
        UnsupportedError
            Where there is none.
        """
        names = ", ".join(repr(f.name) for f in features)
        raise UnsupportedError(
            explained(
                f"{self.name} of ({names})",
                "two features",
                "a method of pairs: ALE, DALE or PDP",
                "Use method=sd.ALE()",
            )
        )

    def rows_wanted(self, rows: int) -> int:
        """Return how many of the rows are to be kept, if there is room: all of them."""
        return rows

    def refined(self, plan: Plan) -> Plan:
        """Return a plan whose moments allow other bins later. Most plans are what they are."""
        return plan

    def observed_only(self, column: Column) -> bool:
        """Return False: most methods also evaluate the model between observed values."""
        return False

    def further(
        self,
        plan: Plan,
        local: Local,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> Plan | None:
        """Return None: most methods need one round."""
        return None

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}


def plain(value: Any) -> Any:
    """Return a parameter as something that JSON can hold."""
    if isinstance(value, Binning):
        return value.describe()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    # Levels may be anything, dates for example.
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def chosen(arrays: Mapping[str, Any], keep: Bools | None) -> dict[str, Any]:
    """Return the rows that are kept, of those arrays that there are."""
    there = {name: a for name, a in arrays.items() if a is not None}
    if keep is None:
        return there
    places = np.flatnonzero(keep)
    return {name: a[places] for name, a in there.items()} if len(places) else {}


def given_for(value: Any, feature: Feature, usual: Any) -> Any:
    """Return what a parameter says for a feature, where it is a mapping by features; else the parameter itself."""
    if not isinstance(value, Mapping):
        return value
    names = [feature.label, feature.name]
    # A place in X counts where columns have no numbers for labels, which would be misread.
    if isinstance(feature.label, str) or feature.label == feature.position:
        names.append(feature.position)
    return next((value[n] for n in names if n in value), usual)


def one_of(what: str, value: Any, known: tuple[Any, ...]) -> None:
    """Refuse a value that is none of those known.

    Raises
    ------
    DataError
    """
    if value not in known:
        raise DataError(
            explained(what, repr(value), " | ".join(map(repr, known)), "Name one of these")
        )


# ------------------------------------------------------------------------------------------
# What the forms of a method share: the same method for a categorical feature, or for two features.


@dataclass(frozen=True)
class Form:
    """A method in the form that meets one kind of feature; what is said of it is what the user wrote.

    Parameters
    ----------
    base : method
        The method as the user wrote it.
    """

    base: Any

    uses_slopes = False
    compares_missing = True
    leaves_out_missing = True
    reads_columns = True
    scored = False
    checks_slopes = False
    follows_curve = False
    replaces_slopes = False
    batch_rows = None

    @property
    def name(self) -> str:
        """Return the name of the method as the user wrote it."""
        return self.base.name

    @property
    def top_levels(self) -> int | None:
        """Return how many of the most frequent levels were asked for."""
        return self.base.top_levels

    def heed(self, model: Any, y: Any) -> None:
        """Warn of nothing: what was given has been settled."""

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        return self.base.describe()

    def refined(self, plan: Any) -> Any:
        """Return the plan as it is: levels, and differences across cells, cannot be cut finer."""
        return plan

    def observed_only(self, column: Column) -> bool:
        """Return False: forms for pairs decide by their cells, and levels have nothing between them."""
        return False

    def further(
        self,
        plan: Any,
        local: Local,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> None:
        """Return None: forms need one round."""
        return

    def held(self, plans: Sequence[Any]) -> int:
        """Return 0: rows have no curves."""
        return 0

    def rows_wanted(self, rows: int) -> int:
        """Return how many rows are to be kept: all."""
        return rows
