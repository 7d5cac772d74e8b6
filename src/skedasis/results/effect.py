"""`Effect`: what one feature does, for whom that is not true, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Json
from skedasis.data.times import TimeAxis
from skedasis.results.parts import (
    TRUSTED_ROWS,
    BinStats,
    Curves,
    LevelStats,
    MissingPoint,
    Rows,
    locked,
)
from skedasis.results.shown import ShownEffect
from skedasis.results.spec import About, Spec
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skedasis.binning import Binning
    from skedasis.results.rises import Rise
    from skedasis.results.trust.flags import Trust
    from skedasis.results.trust.heterogeneity import HeterogeneityTest
    from skedasis.results.trust.split import Split
    from skedasis.stats.heterogeneity_score import HeterogeneityScore

__all__ = ["TRUSTED_ROWS", "BinStats", "Curves", "Effect", "LevelStats", "MissingPoint", "Rows"]


@dataclass(frozen=True, eq=False)
class Effect(ShownEffect):
    """The effect of one feature on a quantity.

    Attributes
    ----------
    x : ndarray, shape (m,)
        Edges of the bins, or points of the grid, in units of the feature; the means of the feature within the bins of
        an M-plot; the levels of a categorical feature, in the order of accumulation. Of dates, times and durations
        datetime64 (in UTC where the column has a time zone) or timedelta64 (of times of day from midnight).
    points : ndarray, shape (m,)
        The same as floats: of dates, times and durations days on the feature's axis. Else `x` itself.
    value : ndarray of float, shape (m,)
        The effect there, in units of the quantity. Between `x` it is linear, but where `bins.trend` is not 0: there it
        is a parabola, and `path()` has what is to be drawn.
    heterogeneity : ndarray of float, shape (m,)
        How much the rows differ: accumulated from the left end (RHALE Eq. 16, UALE Eq. 9), or for PDP and ICE the
        standard deviation over rows of the curves minus their own anchor. At a level of a nominal feature the root mean
        square of the spread of the steps that touch it. In an M-plot the spread of the quantity within the bin.
    std_error : ndarray of float, shape (m,)
        Standard error of `value`.
    freedom : ndarray of float, shape (m,)
        Degrees of freedom of `std_error` (Satterthwaite).
    importance : float
        Weighted standard deviation of the effect over the data, in units of the quantity.
    swap_score : HeterogeneityScore or None
        The heterogeneity score with its error and the number of its pairs; see `heterogeneity_score`.
    values : ndarray of float or None
        The feature's observed values, where the curve is made of steps between them.
    bins : BinStats or None
        None for PDP and ICE, which have none; of a categorical feature the steps from level to level.
    rows, curves
        What is kept of the rows.
    levels : LevelStats or None
        Of a categorical feature.
    missing_point : MissingPoint or None
        What missing the feature does, where rows miss it and the model takes that.
    about, spec, provenance
        What this is, and how it was made.

    Notes
    -----
    No method of a result ever calls the model.
    """

    points: NDArray[Any]
    value: Floats
    heterogeneity: Floats
    std_error: Floats
    freedom: Floats
    importance: float
    about: About
    spec: Spec
    bins: BinStats | None = None
    rows: Rows | None = None
    curves: Curves | None = None
    cells: Cells | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    provenance: Json = field(default_factory=dict)
    levels: LevelStats | None = None
    missing_point: MissingPoint | None = None
    swap_score: HeterogeneityScore | None = None
    values: Floats | None = None

    def __post_init__(self) -> None:
        locked(self.points, self.value, self.heterogeneity, self.std_error, self.freedom)
        if self.time is not None and self.bins is not None and self.bins.time is None:
            object.__setattr__(self, "bins", replace(self.bins, time=self.time))

    @property
    def time(self) -> TimeAxis | None:
        """Return how days are the times of the feature; None of numbers, and of levels."""
        return self.about.feature.time if self.levels is None else None

    @property
    def x(self) -> NDArray[Any]:
        """Return where `value` stands, as the feature has it."""
        return self.points if self.time is None else self.time.times(self.points)

    @property
    def feature(self) -> str:
        """Return the feature's name."""
        return self.about.feature.name

    @property
    def heterogeneity_score(self) -> float:
        """Return how much of the quantity's variation with the feature depends on the other features.

        Returns
        -------
        float
            In units of the quantity; 0 if the quantity is additive in the feature or does not use it. NaN for an
            M-plot, with ``heterogeneity_rows=0``, and with ``PDP(heterogeneity=False)``.

        Notes
        -----
        Pairs of rows swap their values of the feature. The score is the root mean square of the part of the changes
        that an additive quantity would not have (`stats/heterogeneity_score.py`). For independent features it is the
        standard deviation of all interactions of the feature. It is the same for every method, and comparable between
        features, methods and models. `explain` computes it; reading it costs no model row.

        References
        ----------
        Hooker (2004), KDD; Liu & Owen (2006), JASA 101; Fruth, Roustant & Kuhnt (2014), JSPI 147.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0)  # sd(x0) * sd(x1) = 1 / 3
        >>> bool(abs(e.heterogeneity_score - 1 / 3) < 0.1)
        True
        """
        return float("nan") if self.swap_score is None else self.swap_score.value

    @property
    def heterogeneity_score_error(self) -> float:
        """Return the standard error of `heterogeneity_score`, in units of the quantity; NaN where that is not known.

        It is the error of a mean over disjoint pairs of rows, by the delta method. No model row.
        """
        return float("nan") if self.swap_score is None else self.swap_score.std_error

    @property
    def missing(self) -> int:
        """Return the number of rows without a value of the feature."""
        return self.about.missing

    @property
    def untrusted_rows(self) -> int:
        """Return the number of rows in bins not to be trusted; of a categorical feature, at such levels."""
        if self.levels is not None:
            return int(self.levels.count[self.levels.count < TRUSTED_ROWS].sum())
        return 0 if self.bins is None else int(self.bins.count[~self.bins.trusted].sum())

    def __repr__(self) -> str:
        from skedasis.results.words import count

        where = count(len(self.points), "point" if self.levels is None else "level")
        if self.bins is not None and self.levels is None:
            where = count(len(self.bins), "bin")
        return (
            f"<Effect of {self.feature!r} on {self.about.quantity}: {self.spec.method}, {where}, "
            f"importance {self.importance:.4g}, heterogeneity {self.heterogeneity_score:.4g}>"
        )

    def __call__(self, x_new: Any) -> Floats:
        """Evaluate the effect, linear between `x` (a parabola where `bins.trend` is not 0); of a category at levels.

        Parameters
        ----------
        x_new : array_like
            Values of the feature: of dates, times and durations such, or text that says when.

        Returns
        -------
        ndarray of float, shape of `x_new`
            NaN outside the range of `x`, for what is no level, and where `x_new` is NaN (unless that is a level).

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.arange(5.0)[:, None]
        >>> e = sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2))
        >>> e([0.0, 1.0, 4.0, 5.0])
        array([-6., -3.,  6., nan])
        """
        if self.levels is not None:
            place = self.levels.places(x_new)
            return np.where(place >= 0, self.value[place], np.nan).reshape(np.shape(x_new))
        if self.time is not None:
            days = self.time.days(x_new, f"effect of {self.feature!r}")
            # The ends as `x` has them may be off by the rounding to the axis' grain.
            slack = 0.0 if self.time.exact else self.time.resolution
            first, last = self.points[[0, -1]]
            near = (days >= first - slack) & (days <= last + slack)
            return self.at(np.where(near, np.clip(days, first, last), days))
        return self.at(np.asarray(x_new, dtype=float))

    def at(self, x_new: Floats) -> Floats:
        """Evaluate the effect of a feature that has no levels at places on its axis: numbers, or days."""
        found = np.interp(x_new, self.points, self.value, left=np.nan, right=np.nan)
        if self.bins is not None and np.any(self.bins.trend):
            from skedasis.results.trend import bulge

            found = found + bulge(self.bins, x_new)
        # Of a single point `interp` says its value even where it is asked for NaN.
        return np.where(np.isnan(x_new), np.nan, found)

    def path(self, points: int = 24) -> tuple[NDArray[Any], Floats]:
        """Return the corners of a polygon that looks like the curve, (x, value): `x`, and `points` in each bend."""
        from skedasis.results.trend import drawn

        x, value = drawn(self.bins, self.points, self.value, points)
        return x if self.time is None else self.time.times(x), value

    def interval(
        self,
        level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        of: Literal["value", "bins", "importance", "heterogeneity_score"] = "value",
        simultaneous: bool = False,
        bins: Literal["fixed", "chosen"] = "fixed",
        replicates: int = 1000,
        seed: int = 0,
        threads: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return lower and upper ends of confidence intervals of `value`, or of another figure.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t with the standard errors that are in `std_error`; or percentiles over resampled rows.
        of : {"value", "bins", "importance", "heterogeneity_score"}
            The effect at `x`; the bins' mean effects; the importance (bootstrap only); the heterogeneity score:
            ``score * exp(-+ z * error / score)`` with a normal quantile z (analytic only, because resampling rows would
            separate the pairs that the score is computed from).
        simultaneous : bool
            A band that covers all points, or all bins, at once with probability `level`.
        bins : {"fixed", "chosen"}
            Whether a bootstrap keeps the bins, or chooses them anew in each replicate, by the effect's own scheme.
        replicates, seed, threads : int
            Of the bootstrap; threads change no number.
        source : {"rows", "moments"}, optional
            What a bootstrap draws from; by default rows, if all are kept.

        Returns
        -------
        lower, upper : ndarray of float, shape (m,); (K,) of bins, () of a scalar
            NaN where there is no variance, as in a bin of one row: zero would be a claim.

        Raises
        ------
        DataError
            For a level outside (0, 1), fewer than two replicates, and other wrong arguments.
        UnsupportedError
            For what an effect does not have, and for a mean without its heterogeneity.

        Notes
        -----
        The estimand is the mean of the local effects within the bins as they are: what binning itself changes, and the
        error of the model, are not in it. How they are made: `skedasis.results.intervals.interval`. No model row.
        """
        from skedasis.results.intervals.interval import Asked, interval

        asked = Asked(level, method, of, simultaneous, bins, replicates, seed, threads, source)
        return interval(self, asked)

    def resampled(
        self, counts: Any, of: Literal["value", "bins", "importance"] = "value"
    ) -> Floats:
        """Return the effect with its rows counted otherwise, (R, m): see `results.intervals.interval.resampled`."""
        from skedasis.results.intervals.interval import resampled

        return resampled(self, counts, of)

    def trust(
        self, level: float = 0.95, *, X: Any = None, beside: Effect | None = None, seed: int = 0
    ) -> Trust:
        """Return what there is to object to the curve, as sentences; see `skedasis.results.trust.rules.trust`.

        With X, what was explained, rows that the method made up are compared with the data. `beside` is another
        method's effect of the same feature.
        """
        from skedasis.results.trust.rules import trust

        return trust(self, level, X=X, beside=beside, seed=seed)

    def split(self, *, seed: int = 0) -> Split:
        """Split the variance within the bins by RHALE Theorem 1; see `skedasis.results.trust.split.split`."""
        from skedasis.results.trust.split import split

        return split(self, seed=seed)

    def heterogeneity_test(
        self, level: float = 0.95, above: float | None = None
    ) -> HeterogeneityTest:
        """Test whether the heterogeneity score is above a threshold, by default above rounding errors.

        Parameters
        ----------
        level : float
            Confidence of the verdict and of the lower bound, between 0 and 1.
        above : float, optional
            Threshold, in units of the quantity; by default 1e-6 standard deviations of the quantity.

        Returns
        -------
        HeterogeneityTest
            See `skedasis.results.trust.heterogeneity.heterogeneity_test` for the method and an example.

        Raises
        ------
        DataError
            For a level outside (0, 1), or a threshold that is negative or not a finite number.
        UnsupportedError
            For an effect without a heterogeneity score.
        """
        from skedasis.results.trust.heterogeneity import heterogeneity_test

        return heterogeneity_test(self, level, above)

    def rebin(self, bins: Binning | int) -> Effect:
        """Return the effect on other bins, from what is kept.

        Parameters
        ----------
        bins : Binning or int
            Any scheme where local effects are slopes, and for M-plots. Differences, of ALE and of step functions,
            belong to their cells: bins are then unions of these, and where the curve stands on all cells (RHALE of step
            functions, few values) it stays as it is. The spread of the rows' rises across other bins is then not
            known: NaN, and the provenance names the call that computes it. The steps between the levels of an ordinal
            feature are grouped again by `Optimal` and `Greedy`.

        Returns
        -------
        Effect
            A new one; this one is unchanged.

        Raises
        ------
        UnsupportedError
            For PDP and ICE, for nominal features, and where ALE's cells would have to be cut.

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
        from skedasis.results.rebin import rebinned

        return rebinned(self, bins)

    def rises(self, level: float = 0.95) -> tuple[Rise, ...]:
        """Return where the curves of a PDP or ICE stand high, and whether those of rows that really lie there do.

        Of an uncertainty it tells noise that belongs to the feature's values ("all" rows) from the model's surprise at
        rows put there from "elsewhere" (entropy_importance, sec. 4.1); see `skedasis.results.rises.rises`.

        Raises
        ------
        UnsupportedError
            Without individual curves, for a categorical feature, and for slopes.
        """
        from skedasis.results.rises import rises

        return rises(self, level)

    def to_frame(
        self,
        backend: str | None = None,
        *,
        of: Literal["effect", "bins", "curves", "missing"] = "effect",
    ) -> Any:
        """Return the numbers as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars", "pyarrow"; by default the library of X, for NumPy the first that is installed.
        of : {"effect", "bins", "curves", "missing"}
            One row a point of `x`, a bin, or a point of an individual curve; the one of missing values.

        Raises
        ------
        UnsupportedError
            Where no data frame library is installed, or there are no bins, curves or missing values.
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
