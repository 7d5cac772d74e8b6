"""`Surface`: the effect of two features.

| module | what it does |
|---|---|
| `surface` | the result; start here |
| `pairs`, `side` | the algebra of pairs, and the two small matrices in which kinds of features differ |
| `pair_parts` | cells and kept rows |
| `evaluate` | values between the nodes |
| `errors`, `interval`, `draws` | standard errors by the delta method, intervals, and the bootstrap |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints, Json
from skedasis.data.times import TimeAxis
from skedasis.errors import UnsupportedError, explained
from skedasis.results.display import ShownSurface
from skedasis.results.effect import TRUSTED_ROWS, About, Effect, LevelStats, Spec, locked
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skedasis.binning import Binning
    from skedasis.results.checks.check import Trust
    from skedasis.results.intervals.surfaces import SurfaceError


# ------------------------------------------------------------------------------------------
# `Side`: one of the two features of a surface, as the algebra of pairs sees it.


@dataclass(frozen=True, eq=False)
class Side:
    """A feature's *nodes*, where the surface has values, and its *homes*, where rows live.

    | | nodes (m) | homes (h) | cells between nodes (m - 1) |
    |---|---|---|---|
    | numeric | edges | bins | bins: a row is in that of its home |
    | categorical | levels | levels | steps: a row takes that before and that after its home |
    | points of a grid | points | none | none |

    Parameters
    ----------
    bins : Cells, optional
        Of a numeric feature.
    levels : LevelStats, optional
        Of a categorical one.
    points : ndarray of float, optional
        Of a PDP's grid.
    two_values : (float, float), optional
        The values of a numeric feature that has just two of them in the data, the smaller one first.
    """

    bins: Cells | None = None
    levels: LevelStats | None = None
    points: Floats | None = None
    two_values: tuple[float, float] | None = None

    @property
    def nodes(self) -> NDArray[Any]:
        """Return edges, levels or points."""
        if self.levels is not None:
            return self.levels.array()
        return self.points if self.bins is None else self.bins.edges  # type: ignore[return-value]

    @property
    def strips(self) -> tuple[float, float] | None:
        """Return the two values of a two-valued feature if the nodes span both; None for any other feature.

        No row lies between two values, so that figures show two strips instead of a gradient.
        """
        two = self.two_values
        if two is None or self.levels is not None:
            return None
        return two if self.nodes[0] <= two[0] and two[1] <= self.nodes[-1] else None

    @property
    def m(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def homes(self) -> int:
        """Return the number of homes. A constant numeric feature has one: its single value."""
        return self.m if self.levels is not None else max(self.m - 1, 1)

    @property
    def spread_over(self) -> Floats:
        """Return where the nodes are for interpolation: numbers, or places of levels."""
        return np.arange(self.m, dtype=float) if self.levels is not None else self.nodes

    def averaging(self) -> Floats:
        """Return the matrix (h, m) from nodes to homes: a bin sees both of its edges by halves, a level itself."""
        if self.levels is not None or self.m == 1:
            return np.eye(self.homes, self.m)
        return (np.eye(self.homes, self.m) + np.eye(self.homes, self.m, k=1)) / 2

    def sharing(self) -> Floats:
        """Return the matrix (m - 1, h) from the weights of homes to those of cells: (b_k + b_{k+1}) / 2 for steps."""
        if self.levels is None:
            return np.eye(self.m - 1, self.homes)
        return (np.eye(self.m - 1, self.m) + np.eye(self.m - 1, self.m, k=1)) / 2

    def centres(self) -> Floats:
        """Return the cells' places as shares of the range: centres of bins, or steps over their number."""
        if self.levels is not None:
            return np.arange(1.0, self.m) / max(self.m - 1, 1)
        # From the left end: an offset must not cost the digits that tell which cells are equally far.
        edges = self.nodes - self.nodes[0]
        return (edges[:-1] + edges[1:]) / 2 / edges[-1]

    def home(self, x: Floats) -> Ints:
        """Return each value's home, -1 for none. Levels are given by their places."""
        if self.levels is not None:
            return np.where(np.isnan(x), -1, x).astype(np.int64)
        if self.bins is None or self.m == 1:
            return np.where(np.isnan(x), -1, 0)
        return self.bins.locate(x)

    def between(self, x: Any) -> tuple[Ints, Floats, Bools]:
        """Return for values the node before, the share of the way to the next, and whether they lie on this side.

        Parameters
        ----------
        x : array_like
            Values of a numeric feature; levels of a categorical one.
        """
        if self.levels is not None:
            place = self.levels.places(x).reshape(np.shape(x))
            return np.maximum(place, 0), np.zeros(np.shape(x)), place >= 0
        return between(self.nodes, np.asarray(x, dtype=float))


def between(nodes: Floats, x: Floats) -> tuple[Ints, Floats, Bools]:
    """Return for numbers the node before, the share of the way to the next, and whether they lie within the nodes."""
    inside = (x >= nodes[0]) & (x <= nodes[-1])
    if len(nodes) == 1:
        return np.zeros(x.shape, dtype=np.int64), np.zeros(x.shape), inside
    place = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    share = (np.where(inside, x, nodes[0]) - nodes[place]) / (nodes[place + 1] - nodes[place])
    return place, np.where(inside, share, 0.0), inside


# ------------------------------------------------------------------------------------------
# What surfaces consist of: the cells of two features, and kept rows.


@dataclass(frozen=True, eq=False)
class CellStats:
    """The cells of an accumulated surface, bin by bin or step by step, shape (K0, K1).

    Parameters
    ----------
    count : ndarray of int
        Rows. Of a categorical feature a cell is the step between two levels, and the rows of both are in it.
    weight : ndarray of float
        Their weight.
    effect : ndarray of float
        Mean double difference across the cell (ale_vs_pdp Eq. 6.5), in units of the quantity; NaN where the cell is
        empty.
    std : ndarray of float
        Spread of the rows' double differences; NaN where the weight is 1 or less.
    empty : ndarray of bool
        No row.
    std_error : ndarray of float, optional
        Standard error of `effect`; NaN where the cell has no spread, and in files of earlier versions.
    """

    count: Ints
    weight: Floats
    effect: Floats
    std: Floats
    empty: Bools
    std_error: Floats = None  # type: ignore[assignment]

    @property
    def trusted(self) -> Bools:
        """Return which cells have ten rows or more."""
        return self.count >= TRUSTED_ROWS

    def __post_init__(self) -> None:
        if self.std_error is None:
            object.__setattr__(self, "std_error", np.full(self.std.shape, np.nan))
        locked(*(getattr(self, f.name) for f in fields(self)))


@dataclass(frozen=True, eq=False)
class PairRows:
    """The rows that a surface keeps.

    Parameters
    ----------
    x0, x1 : ndarray of float, shape (r,)
        The features' values; places of levels for a categorical feature, NaN where there is none.
    effect : ndarray of float, shape (r,), optional
        Mixed derivatives; None where local effects are differences across cells.
    weight : ndarray of float, shape (r,), optional
    exact : bool
        Whether these are all rows that took part; otherwise they are a seeded sample.
    slope0, slope1 : ndarray of float, shape (r,), optional
        Slopes by each of the features, where they came with the mixed derivatives.
    across : ndarray of float, shape (r, q), optional
        Of an ALE the row's double differences in the cells that it takes part in: one for two numeric features, two or
        four with levels (the step after its level before the one before it; the second feature runs fastest), NaN
        where there is none. Of a PDP with ``ice="all"`` the row's own surface, flat, centred as the values are.
    """

    x0: Floats
    x1: Floats
    effect: Floats | None = None
    weight: Floats | None = None
    exact: bool = True
    slope0: Floats | None = None
    slope1: Floats | None = None
    across: Floats | None = None

    def __len__(self) -> int:
        return len(self.x0)


# ------------------------------------------------------------------------------------------
# Surfaces at values of the two features: bilinear, or the papers' step function.


def evaluated(
    shown: Surface, x0: Any, x1: Any, *, step: bool | tuple[bool, bool] = False
) -> Floats:
    """Evaluate a surface; see `Surface.__call__`. `step` may differ between the two features."""
    first, second = (
        x if time is None else time.days(x, f"surface of {name!r}")
        for x, time, name in zip((x0, x1), shown.times, shown.features, strict=True)
    )
    return on_axes(shown, first, second, step=step)


def on_axes(shown: Surface, x0: Any, x1: Any, *, step: bool | tuple[bool, bool] = False) -> Floats:
    """Evaluate a surface at numbers, days or levels; see `Surface.at`."""
    steps = step if isinstance(step, tuple) else (step, step)
    a, b = np.broadcast_arrays(_asked(shown.sides[0], x0), _asked(shown.sides[1], x1))
    first, second = (s.between(v) for s, v in zip(shown.sides, (a, b), strict=True))
    if any(steps) and shown.cells is None:
        raise UnsupportedError(
            explained(
                f"step of a {shown.spec.method}'s surface",
                "points of a grid",
                "cells, as ALE and DALE have them",
                "Leave step out",
            )
        )
    places = [
        _stepped(side, x, place) if along else place
        for side, x, place, along in zip(shown.sides, (a, b), (first, second), steps, strict=True)
    ]
    found = _bilinear(shown, places[0], places[1])
    holes = _left_empty(shown, first[:2], second[:2])
    if all(steps):
        holes = _stepped_holes(shown, places[0], places[1])
    return np.where(holes, np.nan, found)


def _asked(side: Side, x: Any) -> Any:
    """Return what was asked for as an array: of floats, or of levels."""
    return np.asarray(x, dtype=object if side.levels is not None else float)


Place = tuple[Ints, Floats, Bools]


def _bilinear(shown: Surface, first: Place, second: Place) -> Floats:
    (i, s, here), (j, t, there) = first, second
    value = shown.value
    up, right = np.minimum(i + 1, value.shape[0] - 1), np.minimum(j + 1, value.shape[1] - 1)
    low = (1 - t) * value[i, j] + t * value[i, right]
    high = (1 - t) * value[up, j] + t * value[up, right]
    return np.where(here & there, (1 - s) * low + s * high, np.nan)


def _left_empty(shown: Surface, first: tuple[Ints, Floats], second: tuple[Ints, Floats]) -> Bools:
    """Return which places lie inside cells that were left empty; a level lies in no step."""
    hole = shown.cells is not None and shown.provenance.get("empty_cells") == "left empty"
    numeric = all(s.levels is None and s.m > 1 for s in shown.sides)
    if shown.cells is None or not hole or not numeric:
        return np.zeros(first[0].shape, dtype=bool)
    # On an edge a place belongs to both cells: it is a hole only where all that touch it are.
    empty = np.ones(first[0].shape, dtype=bool)
    for i in (first[0], np.where(first[1] == 0, np.maximum(first[0] - 1, 0), first[0])):
        for j in (second[0], np.where(second[1] == 0, np.maximum(second[0] - 1, 0), second[0])):
            empty &= shown.cells.empty[i, j]
    return empty


def _stepped(side: Side, x: Any, place: Place) -> Place:
    """Return the upper edge of each value's bin: the sum of Eq. 6.4 runs over whole cells."""
    if side.bins is None or side.m == 1:
        return place
    home = np.maximum(side.bins.locate(np.ravel(x)), 0).reshape(np.shape(x))
    return home + 1, np.zeros(np.shape(x)), place[2]


def _stepped_holes(shown: Surface, first: Place, second: Place) -> Bools:
    """Return which places lie in cells that were left empty, for places at the upper corners of their cells."""
    left = shown.cells is not None and shown.provenance.get("empty_cells") == "left empty"
    if shown.cells is None or not left or any(s.bins is None or s.m == 1 for s in shown.sides):
        return np.zeros(first[0].shape, dtype=bool)
    return shown.cells.empty[first[0] - 1, second[0] - 1]


def interaction_strength(shown: Surface) -> float:
    """Return the weighted standard deviation of a surface over the rows that it keeps; NaN where it keeps none.

    A cell counts by the weight of its rows: what stands in cells without rows is no part of the sum.
    """
    rows = shown.rows
    if rows is None or len(rows) == 0:
        return float("nan")
    places: list[Place] = []
    for side, x in zip(shown.sides, (rows.x0, rows.x1), strict=True):
        nodes = side.spread_over
        # Beyond a PDP's grid the surface is taken as constant, as its curves are.
        inside = np.clip(x, nodes[0], nodes[-1]) if side.points is not None else x
        places.append(between(nodes, inside))
    value = _bilinear(shown, places[0], places[1])
    known = ~np.isnan(value)
    if not known.any():
        return 0.0
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    w = weight[known] / weight[known].sum()
    return float(np.sqrt(w @ (value[known] - w @ value[known]) ** 2))


# ------------------------------------------------------------------------------------------
# `Surface`: what two features do together, beyond what each does alone.


@dataclass(frozen=True, eq=False)
class Surface(ShownSurface):
    """The effect of two features on a quantity.

    Attributes
    ----------
    x : tuple of two ndarray, shapes (m0,) and (m1,)
        Edges of the bins, points of the grid, or levels; of dates, times and durations as `Effect.x`.
    points : tuple of two ndarray
        The same as floats, as in `Effect`.
    value : ndarray of float, shape (m0, m1)
        In units of the quantity. ALE and DALE: the second-order effect alone, without what each feature does by itself;
        its main effects and its mean over the data are zero. PDP: the mean of the quantity, main effects included.
    heterogeneity : ndarray of float, shape (m0, m1)
        PDP: spread over rows of their surfaces minus each one's mean over the grid. ALE, DALE: the rows' spread in the
        cells that touch the point, root mean square.
    cells : CellStats or None
        None for PDP, which has none.
    main : tuple of two ndarray, or None
        The features' own effects at `x`, as `with_main_effects` adds them.
    sides : tuple of two Side
        Each feature's cells or levels.
    rows, about, spec, moments, provenance
        As in `Effect`; two of `about`.

    Notes
    -----
    No method of a result ever calls the model.
    """

    points: tuple[NDArray[Any], NDArray[Any]]
    value: Floats
    heterogeneity: Floats
    sides: tuple[Side, Side]
    abouts: tuple[About, About]
    spec: Spec
    cells: CellStats | None = None
    main: tuple[Floats, Floats] | None = None
    rows: PairRows | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    provenance: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        locked(*self.points, self.value, self.heterogeneity)

    @property
    def times(self) -> tuple[TimeAxis | None, TimeAxis | None]:
        """Return how days are times, of each feature; None of numbers, and of levels."""
        first, second = (
            a.feature.time if s.levels is None else None
            for a, s in zip(self.abouts, self.sides, strict=True)
        )
        return first, second

    @property
    def x(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return where the values stand, as the features have it."""
        first, second = (
            x if t is None else t.times(x) for x, t in zip(self.points, self.times, strict=True)
        )
        return first, second

    @property
    def features(self) -> tuple[str, str]:
        """Return the features' names."""
        return self.abouts[0].feature.name, self.abouts[1].feature.name

    @property
    def about(self) -> About:
        """Return what the surface is about: the quantity is the same for both features."""
        return self.abouts[0]

    @property
    def includes_main_effects(self) -> bool:
        """Return whether the values hold what each feature does by itself."""
        return self.cells is None or bool(self.provenance.get("main_effects"))

    @cached_property
    def error(self) -> SurfaceError:
        """Return the standard errors, worked out when they are first asked for."""
        from skedasis.results.intervals.surfaces import surface_error

        return surface_error(self)

    @property
    def std_error(self) -> Floats:
        """Return the standard error of each value, (m0, m1), in units of the quantity (see `interval`).

        NaN where the spread of the rows is not known: of a mean alone, with main effects added, in files of earlier
        versions, and where every cell has but one row.
        """
        return self.error.std_error

    @property
    def freedom(self) -> Floats:
        """Return the degrees of freedom of `std_error`, (m0, m1), after Satterthwaite; infinite where it is zero."""
        return self.error.freedom

    @property
    def support(self) -> Bools | None:
        """Return which cells have a row, (K0, K1); None for a PDP, which has no cells."""
        return None if self.cells is None else ~self.cells.empty

    def __repr__(self) -> str:
        a, b = self.features
        # With main effects in it the number is no interaction's, and says so.
        said = "standard deviation" if self.includes_main_effects else "interaction strength"
        some = "" if self.rows is None or self.rows.exact else f" (from {len(self.rows):,} rows)"
        return (
            f"<Surface of {a!r} and {b!r} on {self.about.quantity}: {self.spec.method}, "
            f"{self.value.shape[0]} x {self.value.shape[1]} points, {said} {self.interaction_strength():.4g}{some}>"
        )

    def __call__(self, x0: Any, x1: Any, *, step: bool = False) -> Floats:
        """Evaluate the surface.

        Parameters
        ----------
        x0, x1 : array_like
            Values of the two features, of shapes that go together.
        step : bool
            The step function of the papers (ale_vs_pdp Eq. 6.4 to 6.7), which has in each cell the value of its upper
            corner, instead of the bilinear one.

        Returns
        -------
        ndarray of float
            NaN outside the ranges, for what is no level, and, of two numeric features, in cells that were left empty.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
        >>> bool(abs(s(0.5, -0.5) + 0.25) < 0.1)
        True
        """
        return evaluated(self, x0, x1, step=step)

    def at(self, x0: Any, x1: Any, *, step: bool | tuple[bool, bool] = False) -> Floats:
        """Evaluate the surface as a call does, at points of its axes (days for times); `step` may differ by axis."""
        return on_axes(self, x0, x1, step=step)

    def interaction_strength(self) -> float:
        """Return the surface's weighted standard deviation over the data, in units of the quantity.

        Returns
        -------
        float
            For ALE and DALE: the size of the second-order effect, which excludes both main effects. A surface that
            includes main effects (PDP, `with_main_effects`) gives the standard deviation of their sum. Computed from
            the rows that the result keeps: exact if it keeps all rows, NaN if it keeps none.

        Notes
        -----
        The surface is evaluated at the rows' own values of the two features, with the rows' weights. So a cell counts
        with the weight of its rows, and a cell without rows does not count. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=20))
        >>> bool(abs(s.interaction_strength() - 1 / 3) < 0.03)
        True
        """
        return interaction_strength(self)

    def interval(
        self,
        level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        simultaneous: bool = False,
        of: Literal["value", "cells"] = "value",
        replicates: int = 1000,
        seed: int = 0,
    ) -> tuple[Floats, Floats]:
        """Return lower and upper ends of confidence intervals.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t with `std_error` and `freedom`; or percentiles over rows drawn again with the cells as they are
            (cells that a draw leaves empty take what empty cells take). Where not all rows were kept, the numbers of
            rows in the cells and their means are drawn from the moments; of a PDP point by point.
        simultaneous : bool
            Whether the intervals hold all together with this level, not each: from the largest deviation of draws from
            the errors' covariance, or of the replicates; of cells, and of a PDP without its rows' surfaces, each at
            level ** (1 / points), which is conservative.
        of : {"value", "cells"}
            Of the surface at its nodes; or of the cells' mean double differences, `cells.effect`.
        replicates, seed : int
            Of the bootstrap; the seed of simultaneous bands, too.

        Returns
        -------
        lower, upper : ndarray of float, shape (m0, m1), or (K0, K1) of cells

        Raises
        ------
        DataError
            For a level outside (0, 1) or fewer than two replicates.
        UnsupportedError
            For a mean without its heterogeneity, for a surface to which main effects were added, and for a file of an
            earlier version with a categorical feature.

        Notes
        -----
        The estimand is the population's surface on these cells, empty ones filled as here: the error is that of the
        mean double differences and of the shares of the rows by which main effects and the mean are taken off. Cells
        whose rows have no variance borrow that of the nearest cell that has one. What rounding of the quantity's values
        can do is added, so that no joint effect is claimed where there is only that. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 3))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1] * X[:, 2], X, (0, 1), method=sd.ALE(bins=3))
        >>> lower, upper = s.interval(0.95, simultaneous=True)
        >>> bool(((lower <= 0) & (0 <= upper)).all())
        True
        """
        from skedasis.results.intervals.surfaces import interval

        return interval(
            self,
            level,
            method,
            simultaneous=simultaneous,
            of=of,
            replicates=replicates,
            seed=seed,
        )

    def resampled(self, counts: Any) -> Floats:
        """Return the surface with its rows counted otherwise, the cells as they are.

        Parameters
        ----------
        counts : array_like, shape (R, r) or (r,)
            How often each of the kept rows counts, in place of its weight: once for each replicate.

        Returns
        -------
        ndarray of float, shape (R, m0, m1)
            What explaining the rows so often on the same cells gives.

        Raises
        ------
        DataError
            For counts of another shape, that are negative, or all zero.
        UnsupportedError
            Where not all rows were kept, or, of a PDP, not their own surfaces (``ice="all"``).

        Notes
        -----
        No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(50, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=2))
        >>> bool(np.allclose(s.resampled(np.ones(50))[0], s.value))
        True
        """
        from skedasis.results.intervals.surfaces import resampled

        return resampled(self, counts)

    def with_main_effects(self, effects: Mapping[str, Effect] | None = None) -> Surface:
        """Return the surface with what each feature does by itself added.

        Parameters
        ----------
        effects : Effects or mapping of str to Effect, optional
            The two features' own effects. By default those that follow from the surface's own model rows: differences
            across each row's bin, interpolated between the two edges of the other feature's bin to the row's own value.
            They equal the one-dimensional ALE on the same bins where the quantity is linear in the other feature within
            a bin (exactly so for steps of categorical features and for slopes).

        Returns
        -------
        Surface
            A new one. A PDP's surface holds them already and is returned as it is.

        Raises
        ------
        UnsupportedError
            Where there is none to add: a DALE of a model that has mixed derivatives but no slopes.

        Notes
        -----
        No model row.
        """
        if self.includes_main_effects:
            return self
        if effects is not None:
            parts = [effects[name](x) for name, x in zip(self.features, self.x, strict=True)]
        elif self.main is not None:
            parts = list(self.main)
        else:
            raise UnsupportedError(
                explained(
                    "with_main_effects",
                    f"a {self.spec.method} without slopes",
                    "the two features' own effects",
                    "Pass them: s.with_main_effects(sd.explain(q, X, [a, b], method=sd.ALE()))",
                )
            )
        value = self.value + parts[0][:, None] + parts[1][None, :]
        said = {**self.provenance, "main_effects": "given" if effects is not None else "own"}
        return replace(self, value=value, provenance=said)

    def rebin(self, bins: Binning | int | tuple[Any, Any]) -> Surface:
        """Return the surface on other bins, from the rows that it keeps.

        Parameters
        ----------
        bins : Binning, int or a tuple of two of these

        Returns
        -------
        Surface

        Raises
        ------
        UnsupportedError
            For an ALE, whose double differences belong to their cells; for a PDP; and where rows were not all kept.
        """
        from skedasis.results.build.pairs import rebinned

        return rebinned(self, bins)

    def trust(self, *, X: Any = None, seed: int = 0) -> Trust:
        """Return what there is to object to the surface, as sentences; see `skedasis.results.checks.reliability`."""
        from skedasis.results.checks.reliability import trust_surface

        return trust_surface(self, X=X, seed=seed)

    def to_frame(
        self, backend: str | None = None, *, of: Literal["effect", "cells"] = "effect"
    ) -> Any:
        """Return the numbers as a data frame.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        of : {"effect", "cells"}
            One row a point of the surface, or a cell.
        """
        from skedasis.results.frames import frame, surface_table

        return frame(surface_table(self, of), backend or self.about.library)

    def plot(self, ax: Axes | None = None, **options: Any) -> Any:
        """Draw the surface as a heat map. Options are those of `skedasis.plots.mpl.surface.draw_surface`.

        Returns
        -------
        matplotlib Figure
        """
        from skedasis.plots.mpl.surface import (
            draw_surface,  # the one import upwards, as in `Effect.plot`
        )

        return draw_surface(self, ax=ax, **options)

    def save(self, path: str | Path) -> None:
        """Write the surface into a file that `skedasis.load` reads: arrays and a JSON header, no code."""
        from skedasis.results.io import save

        save(self, path)

    def with_provenance(self, provenance: Json) -> Surface:
        """Return the same surface with more said about how it was made."""
        return replace(self, provenance={**self.provenance, **provenance})
