"""`Importance`: how much a quantity rises when a feature's values come from other rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skedasis._types import Floats, Ints, Json
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.display import (
    Ranking,
    ShownImportance,
    count,
    given_level,
    importance_table,
    no_interval,
)
from skedasis.results.effect import locked
from skedasis.stats.resampling import t_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IntervalMethod = Literal["analytic", "repeats"]


@dataclass(frozen=True)
class ImportanceRank:
    """One line of a ranking.

    Parameters
    ----------
    feature : str
    mean, std, std_error : float
        In units of the quantity.
    lower, upper : float
        The analytic 95 % interval; NaN where there is none.
    """

    feature: str
    mean: float
    std: float
    std_error: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class LocalImportance:
    """What permutation did to single rows (entropy_importance, appendix A).

    Iterating gives the features' names; ``local["age"]`` the rises of one.

    Parameters
    ----------
    features : tuple of str
    row : ndarray of int, shape (m,)
        The rows' places in X.
    own : ndarray of float, shape (m,)
        The quantity at the rows.
    after : ndarray of float, shape (features, m, repeats)
        The quantity with the feature's value taken from another row.
    weight : ndarray of float, shape (m,), optional
        None means 1 each.
    exact : bool
        Whether these are all rows; otherwise they are a seeded sample.

    Notes
    -----
    `difference` holds raw differences between a row and itself with another row's value. Where these are all n rows,
    drawn by permutations of equal weights, their mean times (1 - 1/n) is the importance: that counts a row with itself.
    """

    features: tuple[str, ...]
    row: Ints
    own: Floats
    after: Floats
    weight: Floats | None = None
    exact: bool = True

    def __post_init__(self) -> None:
        locked(self.row, self.own, self.after, *(() if self.weight is None else (self.weight,)))

    def __len__(self) -> int:
        return len(self.row)

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __contains__(self, feature: object) -> bool:
        return feature in self.features

    def __repr__(self) -> str:
        rows = "all" if self.exact else "a sample of"
        return (
            f"<LocalImportance: {rows} {len(self):,} rows, {count(len(self.features), 'feature')}>"
        )

    @property
    def difference(self) -> Floats:
        """Return each row's mean rise over the repeats, shape (features, m): raw differences."""
        return (self.after - self.own[:, None]).mean(axis=2)

    def __getitem__(self, feature: str) -> Floats:
        """Return the rows' mean rises for one feature, shape (m,)."""
        place = _place(self.features, feature)
        return (self.after[place] - self.own[:, None]).mean(axis=1)


@dataclass(frozen=True, eq=False)
class Importance(ShownImportance):
    """Permutation importance of features for a quantity.

    Estimates ``E q(X', X_c, Y) - E q(X, Y)`` for X' an independent copy of the feature X_s, the other features X_c
    staying as they are. Printed it is a table; iterating gives the features' names, and ``pf["age"]`` one line.

    Attributes
    ----------
    features : tuple of str
        Names in X's order; of groups the groups' names.
    values : ndarray of float, shape (features, repeats)
        The importance in each repeat: the quantity's mean over the rows with the feature's values taken from other
        rows, minus its mean at the rows: over all pairs of rows, of which one in n is a row with itself, as in random
        permutations. It is therefore (1 - 1/n) times the mean over pairs of different rows. Never clipped at zero. Of a
        metric: how much worse it got where every row has another row's value.
    std_error : ndarray of float, shape (features,)
        Standard error of `mean`, which includes that the rows are a sample; NaN for fewer than three repeats.
    freedom : ndarray of float, shape (features,)
        Degrees of freedom of `std_error`.
    baseline : float
        The quantity's weighted mean at the rows, or the metric there.
    rows : int
    quantity, unit, library : str
        For axes, and for tables of the same kind as X.
    method : str
    local : LocalImportance or None
        Single rows, where they are kept.
    provenance : dict
        "exact" says whether all rows took part, rather than a sample; for whether all pairs of rows did see `is_exact`.

    Notes
    -----
    No method of a result ever calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + 2 * X[:, 1]
    >>> loss = sd.loss(lambda X: X[:, 0] + 2 * X[:, 1], "squared_error")
    >>> pf = sd.explain(loss, X, y=y, method=sd.PFI(repeats=5))
    >>> [line.feature for line in pf.ranking()]
    ['x1', 'x0', 'x2']
    >>> float(pf.mean[2])
    0.0
    """

    features: tuple[str, ...]
    values: Floats
    std_error: Floats
    freedom: Floats
    baseline: float
    rows: int
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    method: str = "PFI"
    local: LocalImportance | None = None
    provenance: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        locked(self.values, self.std_error, self.freedom)

    @property
    def mean(self) -> Floats:
        """Return the importances, shape (features,): the means over the repeats."""
        return self.values.mean(axis=1)

    @property
    def std(self) -> Floats:
        """Return the standard deviation over the repeats (ddof 1), shape (features,).

        NaN for a single repeat; 0 where all pairs of rows were taken and nothing was left to chance.
        """
        repeats = self.values.shape[1]
        if self.is_exact:
            return np.zeros(len(self.features))
        return self.values.std(axis=1, ddof=1) if repeats > 1 else np.full(len(self.values), np.nan)

    @property
    def is_exact(self) -> bool:
        """Return whether all ordered pairs of rows were taken, ``PFI(exact=True)``: nothing was left to chance.

        The provenance's "exact" is another thing: whether all rows took part.
        """
        return bool(self.provenance.get("settings", {}).get("exact", False))

    @property
    def axis(self) -> str:
        """Return the text for the axis of importances."""
        up = not self.metric or not self.provenance.get("greater_is_better", True)
        what = f"{'rise' if up else 'fall'} of {self.metric or self.quantity}"
        return f"{what} [{self.unit}]" if self.unit and not self.metric else what

    @property
    def metric(self) -> str | None:
        """Return the name of the metric, None where rows were averaged."""
        return self.provenance.get("metric")

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __contains__(self, feature: object) -> bool:
        return feature in self.features

    def __repr__(self) -> str:
        first = max(zip(self.mean, self.features, strict=True), default=(0.0, ""))
        repeats = "all pairs" if self.is_exact else count(self.values.shape[1], "repeat")
        return (
            f"<Importance of {count(len(self), 'feature')} for {self.quantity}: {self.method}, "
            f"{repeats}, first {first[1]!r} ({first[0]:.4g})>"
        )

    def __str__(self) -> str:
        return importance_table(self)

    def __getitem__(self, feature: str) -> ImportanceRank:
        """Return one feature's line."""
        return self._lines()[_place(self.features, feature)]

    def interval(
        self, level: float = 0.95, method: IntervalMethod = "analytic", simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Return a confidence interval of each importance.

        Parameters
        ----------
        level : float
        method : {"analytic", "repeats"}
            "analytic" covers what would come out on other rows of the same kind: it includes the rows' sampling error
            (the Hájek projection over rows as receivers and as donors). "repeats" covers the draws of donors only: what
            would come out on these rows with infinitely many repeats.
        simultaneous : bool
            Intervals that cover all features at once, each at level ** (1 / features): Šidák's, as if independent.

        Returns
        -------
        lower, upper : ndarray of float, shape (features,)

        Raises
        ------
        DataError
            For fewer than three repeats ("repeats": two) or seven rows (of a metric: twenty), for frequencies that add
            up to one row, a level outside (0, 1), or another method.

        Notes
        -----
        Of a metric the error is the jackknife's, over ten parts of the rows, of one repeat. It takes what a row
        receives and what it lends as if they were independent: it is too wide where most of the metric's error is the
        same before and after, and too narrow where the metric's tails are long.
        """
        if method not in ("analytic", "repeats"):
            raise DataError(
                explained("interval(method)", repr(method), "'analytic' or 'repeats'", "Name one")
            )
        level = given_level("interval(level)", level)
        if simultaneous:
            level **= 1 / max(int(np.count_nonzero(self.std_error != 0)), 1)
        if method == "repeats" and not self.is_exact:
            repeats = self.values.shape[1]
            if repeats < 2:
                raise no_interval(self, 2)
            error = self.std / np.sqrt(repeats)
            return t_interval(self.mean, error, np.full(len(self), repeats - 1.0), level)
        if method == "repeats":
            return self.mean, self.mean
        if np.isnan(self.std_error).any():
            raise no_interval(self, 3)
        return t_interval(self.mean, self.std_error, self.freedom, level)

    def ranking(self) -> Ranking[ImportanceRank]:
        """Return the features, most important first."""
        return Ranking(sorted(self._lines(), key=lambda r: -r.mean))

    def _lines(self) -> list[ImportanceRank]:
        ends = t_interval(self.mean, self.std_error, self.freedom, 0.95)
        columns = (self.mean, self.std, self.std_error, *ends)
        return [
            ImportanceRank(f, *map(float, numbers))
            for f, *numbers in zip(self.features, *columns, strict=True)
        ]

    def to_frame(
        self,
        backend: str | None = None,
        *,
        of: Literal["importance", "values", "local"] = "importance",
    ) -> Any:
        """Return the importances as a tidy data frame.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        of : {"importance", "values", "local"}
            A line a feature, in X's order; a line for each feature and repeat; a line for each feature and kept row.

        Raises
        ------
        UnsupportedError
            Where no data frame library is installed, or no rows are kept.
        """
        from skedasis.results.frames import frame

        return frame(self.table(of), backend or self.library)

    def table(self, of: str = "importance") -> dict[str, Any]:
        """Return the columns of `to_frame`."""
        names = np.array(self.features, dtype=object)
        if of == "importance":
            lines = self._lines()
            numbers = [f.name for f in fields(ImportanceRank)][1:]
            return {
                "feature": list(self.features),
                **{n: np.array([getattr(line, n) for line in lines]) for n in numbers},
            }
        if of == "values":
            repeats = self.values.shape[1]
            return {
                "feature": list(np.repeat(names, repeats)),
                "repeat": np.tile(np.arange(repeats), len(self)),
                "value": self.values.ravel(),
            }
        if of != "local":
            raise DataError(
                explained("to_frame(of)", repr(of), "'importance', 'values' or 'local'", "Name one")
            )
        if self.local is None:
            raise UnsupportedError(
                explained("to_frame(of='local')", "no rows", "rows", "Use sd.PFI(local=1000)")
            )
        rows = len(self.local)
        return {
            "feature": list(np.repeat(names, rows)),
            "row": np.tile(self.local.row, len(self)),
            "own": np.tile(self.local.own, len(self)),
            "difference": self.local.difference.ravel(),
        }

    def plot(self, **options: Any) -> Figure:
        """Draw the importances as bars with their spread, most important first.

        Parameters
        ----------
        kind : {"bars", "local"}
            Bars; or histograms of single rows before and after permutation (entropy_importance, Fig. 2).
        features : sequence of str, optional
            Only these. By default all, of "local" the six most important ones.
        top : int, optional
            Only so many, the most important ones.
        level : float
            Of the intervals.
        ax : matplotlib Axes, optional
            Draw there; by default a figure is made.
        size : (float, float), optional
            Width and height of the figure in inches.
        legend : bool

        Returns
        -------
        matplotlib Figure
        """
        from skedasis.plots.mpl.importance import draw_importance

        return draw_importance(self, **options)

    def save(self, path: str | Path) -> None:
        """Write the importances into a file that `skedasis.load` reads."""
        from skedasis.results.io import save

        save(self, path)

    def with_provenance(self, record: Json) -> Importance:
        """Return the same with more said of how it was made."""
        return replace(self, provenance={**self.provenance, **record})


def _place(features: tuple[str, ...], wanted: str) -> int:
    if wanted not in features:
        raise DataError(
            explained("feature", repr(wanted), f"one of {list(features)}", "Use a feature's name")
        )
    return features.index(wanted)
