"""`Effect`: what one feature does, for whom that is not true, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skedasis.cells import Cells
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.moments import Moments
from skedasis.results.spec import About, Spec
from skedasis.typing import Bools, Floats, Ints, Json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skedasis.binning import Binning

TRUSTED_ROWS = 10
"""Bins with fewer rows are marked not to be trusted (draft, sec. 3.2)."""


def locked(*arrays: np.ndarray) -> None:
    """Make arrays read-only: a result is a value, and a value does not change."""
    for array in arrays:
        array.flags.writeable = False


@dataclass(frozen=True, eq=False)
class BinStats:
    """The bins of an accumulated effect, one entry a bin, left to right.

    Parameters
    ----------
    left, right : ndarray of float, shape (K,)
        Edges, in units of the feature.
    count : ndarray of int, shape (K,)
        Rows.
    weight : ndarray of float, shape (K,)
        Their weight.
    effect : ndarray of float, shape (K,)
        Mean slope, in units of the quantity per unit of the feature (RHALE Eq. 10); NaN where the bin is empty.
    std : ndarray of float, shape (K,)
        Standard deviation of the slopes (Eq. 11); NaN where the weight is 1 or less.
    std_error : ndarray of float, shape (K,)
        Standard error of `effect`; NaN likewise.
    empty, trusted : ndarray of bool, shape (K,)
        No row at all; ten rows or more.
    """

    left: Floats
    right: Floats
    count: Ints
    weight: Floats
    effect: Floats
    std: Floats
    std_error: Floats
    empty: Bools
    trusted: Bools

    def __post_init__(self) -> None:
        locked(*(getattr(self, f.name) for f in fields(self)))

    def __len__(self) -> int:
        return len(self.left)

    @property
    def widths(self) -> Floats:
        """Return right - left."""
        return self.right - self.left

    @classmethod
    def none(cls) -> BinStats:
        """Return the bins of a constant feature: there are none."""
        zero = np.zeros(0)
        return cls(zero, zero, zero.astype(int), zero, zero, zero, zero, zero > 0, zero > 0)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a result keeps.

    Parameters
    ----------
    x : ndarray of float, shape (r,)
        The feature's values.
    effect : ndarray of float, shape (r,), optional
        Local effects: slopes. None for PDP and ICE.
    weight : ndarray of float, shape (r,), optional
        None means 1 each.
    exact : bool
        Whether these are all rows that took part; otherwise they are a seeded sample.
    """

    x: Floats
    effect: Floats | None = None
    weight: Floats | None = None
    exact: bool = True

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class Curves:
    """Individual curves (ICE), centred as the effect is.

    Parameters
    ----------
    value : ndarray of float, shape (r, m)
        One curve a row, on the effect's grid.
    x : ndarray of float, shape (r,)
        The rows' own values of the feature.
    row : ndarray of int, shape (r,)
        The rows' places in X.
    weight : ndarray of float, shape (r,), optional
    exact : bool
        Whether every row has its curve here; otherwise they are a seeded sample.
    """

    value: Floats
    x: Floats
    row: Ints
    weight: Floats | None = None
    exact: bool = True

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of one feature on a quantity.

    Attributes
    ----------
    x : ndarray of float, shape (m,)
        Edges of the bins, or points of the grid, in units of the feature.
    value : ndarray of float, shape (m,)
        The effect there, in units of the quantity.
    heterogeneity : ndarray of float, shape (m,)
        How much the rows differ: accumulated from the left end (RHALE Eq. 16, UALE Eq. 9), or for PDP and ICE the
        standard deviation over rows of the curves minus their own anchor.
    std_error : ndarray of float, shape (m,)
        Standard error of `value`.
    freedom : ndarray of float, shape (m,)
        Degrees of freedom of `std_error` (Satterthwaite).
    importance : float
        Weighted standard deviation of the effect over the data, in units of the quantity.
    score : float
        Heterogeneity score, in units of the quantity: the one to rank features by.
    bins : BinStats or None
        None for PDP and ICE, which have none.
    rows, curves
        What is kept of the rows.
    about, spec, provenance
        What this is, and how it was made.

    Notes
    -----
    No method of a result ever calls the model.
    """

    x: Floats
    value: Floats
    heterogeneity: Floats
    std_error: Floats
    freedom: Floats
    importance: float
    score: float
    about: About
    spec: Spec
    bins: BinStats | None = None
    rows: Rows | None = None
    curves: Curves | None = None
    cells: Cells | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    provenance: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        locked(self.x, self.value, self.heterogeneity, self.std_error, self.freedom)

    @property
    def feature(self) -> str:
        """Return the feature's name."""
        return self.about.feature.name

    @property
    def missing(self) -> int:
        """Return the number of rows without a value of the feature."""
        return self.about.missing

    @property
    def untrusted_rows(self) -> int:
        """Return the number of rows in bins not to be trusted."""
        return 0 if self.bins is None else int(self.bins.count[~self.bins.trusted].sum())

    def __repr__(self) -> str:
        where = f"{len(self.bins)} bins" if self.bins is not None else f"{len(self.x)} points"
        return (
            f"<Effect of {self.feature!r} on {self.about.quantity}: {self.spec.method}, {where}, "
            f"importance {self.importance:.4g}, heterogeneity {self.score:.4g}>"
        )

    def __call__(self, x_new: Any) -> Floats:
        """Evaluate the effect, linear between `x`.

        Parameters
        ----------
        x_new : array_like of float
            Values of the feature.

        Returns
        -------
        ndarray of float, shape of `x_new`
            NaN outside the range of `x`, and where `x_new` is.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.arange(5.0)[:, None]
        >>> e = sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2))
        >>> e([0.0, 1.0, 4.0, 5.0])
        array([-6., -3.,  6., nan])
        """
        x_new = np.asarray(x_new, dtype=float)
        return np.interp(x_new, self.x, self.value, left=np.nan, right=np.nan)

    def interval(
        self,
        level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        replicates: int = 1000,
        seed: int = 0,
    ) -> tuple[Floats, Floats]:
        """Return lower and upper ends of pointwise confidence intervals of `value`.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t with the standard errors of DESIGN 4.3; or percentiles over resampled rows, the bins fixed.
        replicates, seed : int
            Of the bootstrap.

        Returns
        -------
        lower, upper : ndarray of float, shape (m,)

        Raises
        ------
        DataError
            For a level outside (0, 1) or fewer than two replicates.
        UnsupportedError
            For a bootstrap where no rows were kept.

        Notes
        -----
        The estimand is the mean of the local effects within the bins as they are: what binning itself changes, and the
        error of the model, are not in it. No model row.
        """
        from skedasis.resample import bootstrap_interval, t_interval

        if not 0 < level < 1:
            raise DataError(
                explained("interval(level)", repr(level), "a number between 0 and 1", "Use 0.95")
            )
        if method == "analytic":
            return t_interval(self.value, self.std_error, self.freedom, level)
        if method != "bootstrap":
            raise DataError(
                explained("interval(method)", repr(method), "'analytic' or 'bootstrap'", "Name one")
            )
        return bootstrap_interval(self._replicate_source(), level, replicates, seed)

    def _replicate_source(self) -> Any:
        from skedasis.results.replicate import resampler

        return resampler(self)

    def rebin(self, bins: Binning | int) -> Effect:
        """Return the effect on other bins, from what is kept.

        Parameters
        ----------
        bins : Binning or int
            Any scheme where local effects are slopes. Those of ALE and of secants belong to their cells: bins are then
            unions of these.

        Returns
        -------
        Effect
            A new one; this one is unchanged.

        Raises
        ------
        UnsupportedError
            For PDP and ICE, and where ALE's cells would have to be cut.

        Notes
        -----
        No model row. If only a sample of the rows was kept, bins are unions of the fine cells whose moments rest on all
        rows, edges moved to the nearest fine edge, and the provenance says so.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(200, 2))
        >>> q = sd.prediction(
        ...     lambda X: X[:, 0] ** 2, slope=lambda X: np.c_[2 * X[:, 0], 0 * X[:, 1]]
        ... )
        >>> e = sd.explain(q, X, 0, method=sd.RHALE())
        >>> len(e.rebin(sd.Uniform(7)).bins)
        7
        """
        if self.cells is None or self.bins is None:
            raise UnsupportedError(
                explained(
                    f"rebin of a {self.spec.method}",
                    "a result without bins",
                    "ALE, DALE, UALE or RHALE",
                    "Choose another grid and explain again",
                )
            )
        from skedasis.results.rebin import rebinned

        return rebinned(self, bins)

    def to_frame(
        self, backend: str | None = None, *, of: Literal["effect", "bins", "curves"] = "effect"
    ) -> Any:
        """Return the numbers as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars", "pyarrow"; by default the library of X, for NumPy the first that is installed.
        of : {"effect", "bins", "curves"}
            One row a point of `x`, a bin, or a point of an individual curve.

        Raises
        ------
        UnsupportedError
            Where no data frame library is installed, or there are no bins or curves.
        """
        from skedasis.results.tables import frame, table_of

        return frame(table_of(self, of), backend or self.about.library)

    def plot(self, ax: Axes | None = None, **options: Any) -> Any:
        """Draw the effect.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Draw only the main panel, there. By default a figure with all panels is made.
        **options
            Of `skedasis.plots.mpl.draw`.

        Returns
        -------
        matplotlib Figure
        """
        from skedasis.plots.mpl import (
            draw,  # the one import upwards: results know that they can be seen
        )

        return draw(self, ax=ax, **options)

    def save(self, path: str | Path) -> None:
        """Write the result into a file that `skedasis.load` reads: arrays and a JSON header, no code."""
        from skedasis.results.io import save

        save(self, path)

    def with_provenance(self, provenance: Json) -> Effect:
        """Return the same effect with more said about how it was made."""
        return replace(self, provenance={**self.provenance, **provenance})
