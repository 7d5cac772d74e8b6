"""`Surface`: what two features do together, beyond what each does alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from skedasis.errors import UnsupportedError, explained
from skedasis.moments import Moments
from skedasis.results.effect import Effect
from skedasis.results.parts import locked
from skedasis.results.side import Side
from skedasis.results.spec import About, Spec
from skedasis.typing import Bools, Floats, Ints, Json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skedasis.binning import Binning


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
    """

    count: Ints
    weight: Floats
    effect: Floats
    std: Floats
    empty: Bools

    def __post_init__(self) -> None:
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
    """

    x0: Floats
    x1: Floats
    effect: Floats | None = None
    weight: Floats | None = None
    exact: bool = True
    slope0: Floats | None = None
    slope1: Floats | None = None

    def __len__(self) -> int:
        return len(self.x0)


@dataclass(frozen=True, eq=False)
class Surface:
    """The effect of two features on a quantity.

    Attributes
    ----------
    x : tuple of two ndarray, shapes (m0,) and (m1,)
        Edges of the bins, points of the grid, or levels.
    value : ndarray of float, shape (m0, m1)
        In units of the quantity. ALE and DALE: the second-order effect alone, without what each feature does by itself;
        its main effects and its mean over the data are zero. PDP: the mean of the quantity, main effects included.
    heterogeneity : ndarray of float, shape (m0, m1)
        PDP: spread over rows of their surfaces minus each one's mean over the grid. ALE, DALE: the rows' spread in the
        cells that touch the point, root mean square.
    score : float
        Heterogeneity score in units of the quantity. ALE, DALE: sd of the one feature times sd of the other times the
        root mean square spread of the mixed differences per unit of both axes; where cells are much smaller than jumps
        of the quantity, as with trees, it is large. PDP: the root mean square of `heterogeneity`.
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

    x: tuple[NDArray[Any], NDArray[Any]]
    value: Floats
    heterogeneity: Floats
    score: float
    sides: tuple[Side, Side]
    abouts: tuple[About, About]
    spec: Spec
    cells: CellStats | None = None
    main: tuple[Floats, Floats] | None = None
    rows: PairRows | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    provenance: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        locked(*self.x, self.value, self.heterogeneity)

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

    def __repr__(self) -> str:
        a, b = self.features
        # With main effects in it the number is no interaction's, and says so.
        said = "standard deviation" if self.includes_main_effects else "strength"
        some = "" if self.rows is None or self.rows.exact else f" (from {len(self.rows):,} rows)"
        return (
            f"<Surface of {a!r} and {b!r} on {self.about.quantity}: {self.spec.method}, "
            f"{self.value.shape[0]} x {self.value.shape[1]} points, {said} {self.strength():.4g}{some}>"
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
        from skedasis.results.evaluate import evaluated

        return evaluated(self, x0, x1, step=step)

    def strength(self) -> float:
        """Return the surface's weighted standard deviation over the data, in units of the quantity.

        Returns
        -------
        float
            Of an ALE or DALE how much the two features do together that neither does alone. Of a surface that holds
            main effects (PDP, `with_main_effects`) these count, too. From the rows that the result keeps: exact where
            these are all; NaN where there are none.

        Notes
        -----
        No model row.
        """
        from skedasis.results.evaluate import strength

        return strength(self)

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
        from skedasis.results.pairs import rebinned

        return rebinned(self, bins)

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
