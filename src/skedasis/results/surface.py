"""`Surface`: the effect of two features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._calls import checked_call
from skedasis._types import Bools, Floats, Ints, TableLike
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError, UnsupportedError
from skedasis.results import operations
from skedasis.results.axis import (
    BinPairAxis,
    CellPosition,
    GridPairAxis,
    LevelPairAxis,
    PairAxis,
    between,
)
from skedasis.results.described import Keys
from skedasis.results.display import ResultWithTables, outside_text
from skedasis.results.effect import TRUSTED_ROWS, About, Effect, Spec
from skedasis.results.export import Content, ExportOptions, TableColumns
from skedasis.results.immutable import Immutable
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import takes_figure_options
from skedasis.stats import ale_math
from skedasis.stats.moments import Moments
from skedasis.stats.random import RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.binning import Binning
    from skedasis.plots.html import Explorable
    from skedasis.results.checks.check import Checks, Ignore
    from skedasis.results.checks.extrapolation import FeatureSpace
    from skedasis.results.intervals.surfaces import SurfaceError
    from skedasis.results.keywords import SurfaceKeywords, SurfaceViewKeywords
    from skedasis.results.surfaces import Surfaces


# --- cells and rows -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellStats(Immutable):
    """The cells of an accumulated surface, shape (K0, K1): products of bins, or of steps between levels."""

    count: Ints
    """Number of rows. A step between two levels contains the rows of both levels."""
    weight: Floats
    """Sum of the rows' weights."""
    effect: Floats
    """Mean double difference across the cell (ale_vs_pdp Eq. 6.5), in units of the quantity; NaN in an empty cell."""
    std: Floats
    """Standard deviation of the rows' double differences; NaN where the weight is 1 or less."""
    empty: Bools
    """Whether the cell has no row."""
    std_error: Floats = None  # type: ignore[assignment]
    """Standard error of `effect`; NaN where `std` is NaN, and for files of earlier versions."""

    @property
    def trusted(self) -> Bools:
        """Return whether each cell has at least 10 rows."""
        return self.count >= TRUSTED_ROWS

    def __post_init__(self) -> None:
        if self.std_error is None:
            object.__setattr__(self, "std_error", np.full(self.std.shape, np.nan))
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class PairRows(Immutable):
    """The rows that a surface keeps, with their local effects."""

    x0: Floats
    x1: Floats
    """Values of the features, shape (r,); for a categorical feature: the index of the level in
    `sides[i].levels.values`, NaN for a value that is no level."""
    effect: Floats | None = None
    """Mixed derivatives, shape (r,); None if local effects are differences across cells."""
    weight: Floats | None = None
    """Shape (r,)."""
    exact: bool = True
    """Whether these are all rows that were used; otherwise they are a random sample with a fixed seed."""
    slope0: Floats | None = None
    slope1: Floats | None = None
    """Slopes by each of the features, if they were computed with the mixed derivatives, shape (r,)."""
    across: Floats | None = None
    """For an ALE: the row's double differences in its cells, shape (r, q). There is one cell for two numeric features,
    and two or four with levels (first the step after its level, then the step before it; the second feature varies
    fastest). NaN where there is no such step. For a PDP with ``ice="all"``: the row's own surface, flattened, centred
    in the same way as the values."""

    def __len__(self) -> int:
        return len(self.x0)


# --- evaluation: bilinear, or the step function of the papers -------------------------------------


def _bilinear(shown: Surface, first: CellPosition, second: CellPosition) -> Floats:
    """Interpolate bilinearly between the four nodes around each position."""
    (i, s, valid0), (j, t, valid1) = first, second
    value = shown.value
    up, right = np.minimum(i + 1, value.shape[0] - 1), np.minimum(j + 1, value.shape[1] - 1)
    low = (1 - t) * value[i, j] + t * value[i, right]
    high = (1 - t) * value[up, j] + t * value[up, right]
    return np.where(valid0 & valid1, (1 - s) * low + s * high, np.nan)


def _in_holes(
    shown: AccumulatedSurface, first: tuple[Ints, Floats], second: tuple[Ints, Floats]
) -> Bools:
    """Return which positions lie inside cells that were left empty; levels are nodes, and lie in no cell."""
    if any(isinstance(s, LevelPairAxis) or s.n_nodes == 1 for s in shown.sides):
        return np.zeros(first[0].shape, dtype=bool)
    # A position on an edge belongs to the cells on both sides: it is a hole only if all of them are empty.
    empty = np.ones(first[0].shape, dtype=bool)
    for i in (first[0], np.where(first[1] == 0, np.maximum(first[0] - 1, 0), first[0])):
        for j in (second[0], np.where(second[1] == 0, np.maximum(second[0] - 1, 0), second[0])):
            empty &= shown.cells.empty[i, j]
    return empty


def _corners_of_holes(
    shown: AccumulatedSurface, first: CellPosition, second: CellPosition
) -> Bools:
    """Return which positions are upper corners of cells that were left empty."""
    if any(not isinstance(s, BinPairAxis) or s.n_nodes == 1 for s in shown.sides):
        return np.zeros(first[0].shape, dtype=bool)
    return shown.cells.empty[first[0] - 1, second[0] - 1]


# --- the surface ----------------------------------------------------------------------------------


class HasPair(Protocol):
    """A result with the descriptions of two features."""

    @property
    def abouts(self) -> tuple[About, About]: ...


class OfPair:
    """A result of two features."""

    __slots__ = ()

    @property
    def features(self: HasPair) -> tuple[str, str]:
        """Return the names of the two features."""
        return self.abouts[0].feature.name, self.abouts[1].feature.name

    @property
    def feature_titles(self: HasPair) -> tuple[str, str]:
        """Return the two features' texts for people: their labels, or their names."""
        return self.abouts[0].feature.title, self.abouts[1].feature.title

    @property
    def about(self: HasPair) -> About:
        """Return the description of the first feature and the quantity."""
        return self.abouts[0]


@dataclass(frozen=True, eq=False)
class Surface(ResultWithTables[Literal["effect", "cells"]], OfPair):
    """The effect of two features on a quantity.

    Notes
    -----
    No method of a result calls the model. Surfaces of ALE and DALE are of the derived class `AccumulatedSurface`,
    those of PDP of `PartialDependenceSurface`.
    """

    frames = (
        "effect: one row per point of the surface",
        "cells: one row per cell, if it has cells",
    )

    points: tuple[NDArray[Any], NDArray[Any]]
    """`x` as floats, as in `Effect`."""
    value: Floats
    """In units of the quantity, shape (m0, m1). For ALE and DALE: the second-order effect, without the main effects of
    the features; its mean over the data is zero. For PDP: the mean of the quantity, which includes the main effects."""
    heterogeneity: Floats
    """For PDP: the standard deviation over rows of their surfaces, each minus its mean over the grid, shape (m0, m1).
    For ALE and DALE: the root mean square of the standard deviations of the adjacent cells."""
    sides: tuple[PairAxis, PairAxis]
    """The bins, levels or grid of each feature."""
    abouts: tuple[About, About]
    """The two features and the quantity."""
    spec: Spec
    """As in `Effect`, as the next three."""
    rows: PairRows | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=no_provenance)
    # None here; an accumulated surface declares them as parameters.
    cells: CellStats | None = field(default=None, init=False)
    """None for PDP, which has no cells."""
    main: tuple[Floats, Floats] | None = field(default=None, init=False)
    """The main effects of the features at `x`, which `with_main_effects` adds."""

    @property
    def times(self) -> tuple[TimeAxis | None, TimeAxis | None]:
        """Return for each feature the axis that converts days to times; None for numbers and levels."""
        first, second = (
            None if isinstance(s, LevelPairAxis) else a.feature.time
            for a, s in zip(self.abouts, self.sides, strict=True)
        )
        return first, second

    @property
    def x(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the points at which `value` is given, in the features' own types."""
        first, second = (
            x if t is None else t.times(x) for x, t in zip(self.points, self.times, strict=True)
        )
        return first, second

    @property
    def includes_main_effects(self) -> bool:
        """Return whether the values include the main effects of the features."""
        return True

    @cached_property
    def error(self) -> SurfaceError:
        """Return the standard errors, computed at first access."""
        return operations.surface_error(self)

    @property
    def std_error(self) -> Floats:
        """Return the standard error of each value, (m0, m1), in units of the quantity (see `interval`).

        NaN where the variance between rows is unknown: with ``heterogeneity=False``, with main effects added, in files
        of earlier versions, and if every cell has only one row.
        """
        return self.error.std_error

    @property
    def df(self) -> Floats:
        """Return the degrees of freedom of `std_error`, (m0, m1), by Satterthwaite; infinite where it is zero."""
        return self.error.df

    @property
    def support(self) -> Bools | None:
        """Return whether each cell has a row, (K0, K1); None for a PDP, which has no cells."""
        return None

    def __repr__(self) -> str:
        a, b = self.features
        # With main effects included, the number is not the size of an interaction.
        name = "standard deviation" if self.includes_main_effects else "interaction strength"
        sample = "" if self.rows is None or self.rows.exact else f" (from {len(self.rows):,} rows)"
        return (
            f"<Surface of {a!r} and {b!r} on {self.about.quantity}: {self.spec.method}, "
            f"{self.value.shape[0]} x {self.value.shape[1]} points{outside_text(self.provenance.get('rows_outside'))}, "
            f"{name} {self.interaction_strength():.4g}{sample}>"
        )

    def __str__(self) -> str:
        return operations.surface_text(self)

    @checked_call
    def __call__(self, x0: object, x1: object, *, step: bool = False) -> Floats:
        """Evaluate the surface.

        Parameters
        ----------
        x0, x1 : array_like
            Values of the two features; their shapes are broadcast.
        step : bool
            Return the step function of the papers (ale_vs_pdp Eq. 6.4 to 6.7), whose value in each cell is that of the
            upper corner, instead of the bilinear interpolation.

        Returns
        -------
        ndarray of float
            NaN outside the ranges, for missing values that are no level, and, for two numeric features, in cells that
            were left empty.

        Raises
        ------
        DataError
            For values that are no level.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
        >>> bool(abs(s(0.5, -0.5) + 0.25) < 0.1)
        True
        """
        first, second = (
            x if time is None else time.days(x, f"surface of {name!r}")
            for x, time, name in zip((x0, x1), self.times, self.features, strict=True)
        )
        return self.at(first, second, step=step)

    def alone(self) -> Surfaces[Surface]:
        """Return a container with this surface alone."""
        return operations.Surfaces({self.features: self})

    def at(self, x0: object, x1: object, *, step: bool | tuple[bool, bool] = False) -> Floats:
        """Evaluate the surface as `__call__`, at points of its axes (days for times); `step` may differ by axis."""
        steps = step if isinstance(step, tuple) else (step, step)
        if any(steps) and not isinstance(self, AccumulatedSurface):
            raise UnsupportedError(
                f"step=True for the {self.spec.method} surface",
                "a surface on the points of a grid",
                "a surface with cells, as from ALE and DALE",
                "Omit step",
            )
        both = np.broadcast_arrays(self.sides[0].as_array(x0), self.sides[1].as_array(x1))
        inside = [s.locate(v) for s, v in zip(self.sides, both, strict=True)]
        first, second = (
            side.upper_edge(x, position) if stepped else position
            for side, x, position, stepped in zip(self.sides, both, inside, steps, strict=True)
        )
        value = _bilinear(self, first, second)
        left_empty = self.provenance.get("empty_cells") == "left empty"
        if not isinstance(self, AccumulatedSurface) or not left_empty:
            return value
        holes = (
            _corners_of_holes(self, first, second)
            if all(steps)
            else _in_holes(self, inside[0][:2], inside[1][:2])
        )
        return np.where(holes, np.nan, value)

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
        The surface is evaluated at the rows' own values of the two features, with the rows' weights. Cells without rows
        do not contribute. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=20))
        >>> bool(abs(s.interaction_strength() - 1 / 3) < 0.03)
        True
        """
        rows = self.rows
        if rows is None or len(rows) == 0:
            return float("nan")
        positions: list[CellPosition] = []
        for side, x in zip(self.sides, (rows.x0, rows.x1), strict=True):
            nodes = side.node_coordinates
            # Outside the grid of a PDP the surface is extended by constants, as the curves are.
            clipped = np.clip(x, nodes[0], nodes[-1]) if isinstance(side, GridPairAxis) else x
            positions.append(between(nodes, clipped))
        value = _bilinear(self, positions[0], positions[1])
        known = ~np.isnan(value)
        if not known.any():
            return 0.0
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        return ale_math.weighted_std(value[known], weight[known] / weight[known].sum())

    @checked_call
    def interval(
        self,
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        simultaneous: bool = False,
        of: Literal["value", "cells"] = "value",
        replicates: int = 1000,
        random_state: RandomState = 0,
    ) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of confidence intervals.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t with `std_error` and `df`; or percentiles over resampled rows on the same cells (cells that
            are empty in a replicate are filled as empty cells are). If not all rows were kept, the numbers of rows in
            the cells and the cells' means are resampled from the moments; for a PDP, point by point.
        simultaneous : bool
            Return intervals that hold simultaneously with this level: from the maximum deviation of draws from the
            covariance of the errors, or of the replicates. For cells, and for a PDP without the rows' surfaces, each
            interval has confidence_level ** (1 / points), which is conservative.
        of : {"value", "cells"}
            The surface at its nodes; or the mean double differences of the cells, `cells.effect`.
        replicates, random_state : int
            Settings of the bootstrap; `random_state` is also used for simultaneous bands.

        Returns
        -------
        lower, upper : ndarray of float, shape (m0, m1), or (K0, K1) for cells

        Raises
        ------
        DataError
            For a `confidence_level` outside (0, 1) or fewer than two replicates.
        UnsupportedError
            With ``heterogeneity=False``, for a surface with main effects added, and for a file of an earlier version
            with a categorical feature.

        Notes
        -----
        The estimand is the population's surface on these cells, with empty cells filled in the same way. The error is
        that of the mean double differences, and of the fractions of rows that weight the subtracted main effects and
        mean. Cells whose variance cannot be estimated use that of the nearest cell with a variance. The possible
        rounding error of the quantity is added, so that rounding alone is not significant. No model row.

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
        return operations.surface_interval(
            self,
            confidence_level,
            method,
            simultaneous=simultaneous,
            of=of,
            replicates=replicates,
            random_state=random_state,
        )

    def resampled(self, counts: ArrayLike) -> Floats:
        """Return the surface for each of R vectors of row weights, on the same cells.

        Parameters
        ----------
        counts : array_like, shape (R, r) or (r,)
            Weights of the kept rows, which replace their own weights: one vector per replicate.

        Returns
        -------
        ndarray of float, shape (R, m0, m1)
            The surfaces of the reweighted rows.

        Raises
        ------
        DataError
            For counts of another shape, negative counts, or counts that are all zero.
        UnsupportedError
            If not all rows were kept, or, for a PDP, not the rows' surfaces (``ice="all"``).

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
        return operations.reweighted_surface(self, counts)

    def with_main_effects(self, effects: Mapping[str, Effect] | None = None) -> Surface:
        """Return the surface with the main effects of the two features added.

        Parameters
        ----------
        effects : Effects or mapping of str to Effect, optional
            The effects of the two features. By default they are computed from the model rows of the surface:
            differences across each row's bin, interpolated between the two edges of the other feature's bin at the
            row's own value. They equal the one-dimensional ALE on the same bins if the quantity is linear in the other
            feature within a bin (for steps of categorical features and for slopes they always do).

        Returns
        -------
        Surface
            A new surface. The surface of a PDP includes the main effects already and is returned unchanged.

        Raises
        ------
        UnsupportedError
            If main effects are unknown: for a DALE of a model that has mixed derivatives but no slopes.

        Notes
        -----
        No model row.
        """
        return self

    def rebin(self, bins: Binning | int | tuple[Binning | int, Binning | int]) -> Surface:
        """Return the surface on other bins, computed from the rows that it keeps.

        Parameters
        ----------
        bins : Binning, int or a tuple of two of these
            For both features, or one for each.

        Returns
        -------
        Surface

        Raises
        ------
        UnsupportedError
            For an ALE, whose double differences belong to their cells; for a PDP; and if not all rows were kept.
        """
        return operations.rebin_surface(self, bins)

    @checked_call
    def checks(
        self,
        *,
        X: TableLike | FeatureSpace | None = None,
        random_state: RandomState = 0,
        ignore: Ignore = None,
    ) -> Checks:
        """Run the reliability checks and return their findings, warnings and notes.

        See `skedasis.results.checks.reliability`. `ignore` is a code, or several, whose findings are left out.
        """
        return operations.check_surface(self, X=X, random_state=random_state, ignore=ignore)

    def _table(self, of: str) -> TableColumns:
        return operations.surface_table(self, of)

    def _document(self, options: ExportOptions) -> Content:
        return operations.surface_document(self, options)

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return operations.surface_keys()

    @classmethod
    def json_kind(cls) -> str:
        """Return "Surface", also for the classes that derive from it."""
        return Surface.__name__

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[SurfaceKeywords]) -> Figure:
        """Plot the surface as a heat map with contours.

        Raises
        ------
        UnsupportedError
            For `confidence_level` if the values include main effects.

        Notes
        -----
        The colours of an interaction effect diverge from zero. Contours below zero are dashed, and a plus and a minus
        sign mark the maximum and the minimum, so that the sign is visible without colours.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
        >>> figure = s.plot()
        >>> figure.axes[0].get_xlabel(), figure.axes[1].get_xlabel()
        ('x0', 'interaction effect on prediction')
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[SurfaceViewKeywords],
    ) -> Explorable:
        """Return the heat map as an interactive page with a tooltip for each cell.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
        >>> s.explore().title
        'x0 × x1: interaction effect on prediction (ALE)'
        """
        return operations.explore(self, path, title, **options)


# --- kinds of surfaces ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependenceSurface(Surface):
    """The partial dependence on two features, which includes their main effects."""


@dataclass(frozen=True, eq=False, repr=False)
class AccumulatedSurface(Surface):
    """The second-order effect of two features, accumulated from double differences: ALE and DALE."""

    cells: CellStats = field(kw_only=True)
    main: tuple[Floats, Floats] | None = field(default=None, kw_only=True)
    """The main effects of the features at `x`, which `with_main_effects` adds."""

    @property
    def includes_main_effects(self) -> bool:
        """Return whether the main effects of the features were added to the values."""
        return bool(self.provenance.get("main_effects"))

    @property
    def support(self) -> Bools:
        """Return whether each cell has a row, (K0, K1)."""
        return ~self.cells.empty

    def with_main_effects(self, effects: Mapping[str, Effect] | None = None) -> Surface:
        """Return the surface with the main effects of the two features added; see `Surface.with_main_effects`."""
        if self.includes_main_effects:
            return self
        missing = [name for name in self.features if effects is not None and name not in effects]
        if missing:
            raise DataError(
                "with_main_effects",
                f"no effect of {missing[0]!r}",
                f"effects of both features, {self.features[0]!r} and {self.features[1]!r}",
                f"Pass sd.explain(q, X, {list(self.features)!r}, method=sd.ALE()), or leave effects "
                "out for the surface's own",
            )
        if effects is not None:
            parts = [effects[name](x) for name, x in zip(self.features, self.x, strict=True)]
        elif self.main is not None:
            parts = list(self.main)
        else:
            raise UnsupportedError(
                "with_main_effects",
                f"{self.spec.method} without slopes by the single features",
                "the effects of the two features",
                "Pass them: s.with_main_effects(sd.explain(q, X, [a, b], method=sd.ALE()))",
            )
        value = self.value + parts[0][:, None] + parts[1][None, :]
        origin = "given" if effects is not None else "own"
        return replace(self, value=value, provenance={**self.provenance, "main_effects": origin})
