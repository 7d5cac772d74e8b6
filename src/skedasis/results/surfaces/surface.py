"""`Surface`: what two features do together, beyond what each does alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Json
from skedasis.data.times import TimeAxis
from skedasis.errors import UnsupportedError, explained
from skedasis.results.effect import Effect
from skedasis.results.parts import locked
from skedasis.results.shown import ShownSurface
from skedasis.results.spec import About, Spec
from skedasis.results.surfaces.pair_parts import CellStats, PairRows
from skedasis.results.surfaces.side import Side
from skedasis.stats.moments import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skedasis.binning import Binning
    from skedasis.results.surfaces.errors import SurfaceError
    from skedasis.results.trust.flags import Trust


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
        from skedasis.results.surfaces.errors import surface_error

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
        from skedasis.results.surfaces.evaluate import evaluated

        return evaluated(self, x0, x1, step=step)

    def at(self, x0: Any, x1: Any, *, step: bool | tuple[bool, bool] = False) -> Floats:
        """Evaluate the surface as a call does, at points of its axes (days for times); `step` may differ by axis."""
        from skedasis.results.surfaces.evaluate import on_axes

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
        from skedasis.results.surfaces.evaluate import interaction_strength

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
        from skedasis.results.surfaces.interval import interval

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
        from skedasis.results.surfaces.draws import resampled

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
        from skedasis.results.surfaces.pairs import rebinned

        return rebinned(self, bins)

    def trust(self, *, X: Any = None, seed: int = 0) -> Trust:
        """Return what there is to object to the surface, as sentences; see `skedasis.results.trust.of_surfaces`."""
        from skedasis.results.trust.of_surfaces import trust_surface

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
        from skedasis.results.tables import frame, surface_table

        return frame(surface_table(self, of), backend or self.about.library)

    def plot(self, ax: Axes | None = None, **options: Any) -> Any:
        """Draw the surface as a heat map. Options are those of `skedasis.plots.surface.draw_surface`.

        Returns
        -------
        matplotlib Figure
        """
        from skedasis.plots.surface import (
            draw_surface,
        )  # the one import upwards, as in `Effect.plot`

        return draw_surface(self, ax=ax, **options)

    def save(self, path: str | Path) -> None:
        """Write the surface into a file that `skedasis.load` reads: arrays and a JSON header, no code."""
        from skedasis.results.io import save

        save(self, path)

    def with_provenance(self, provenance: Json) -> Surface:
        """Return the same surface with more said about how it was made."""
        return replace(self, provenance={**self.provenance, **provenance})
