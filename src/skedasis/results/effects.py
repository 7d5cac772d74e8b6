"""`Effects`: the effects of several features, computed in one pass over the data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from numpy.typing import ArrayLike

from skedasis._calls import checked_call, unknown_keyword
from skedasis._escaping import one_line
from skedasis._numbers import counted
from skedasis._types import Floats, Level, TableLike
from skedasis.errors import UnsupportedError
from skedasis.registry import listed_methods
from skedasis.results import operations
from skedasis.results.containers import FeatureMapping
from skedasis.results.display import (
    MOST_LINES,
    Ranking,
    RankLine,
    WithError,
    called_text,
    outside_texts,
    ranking_text,
    sample_text,
)
from skedasis.results.effect import Effect
from skedasis.results.export import TableColumns
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.depends_on import DependsOn
from skedasis.stats.random import RandomState

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.ale_statistics import NullDistribution, Statistics
    from skedasis.results.checks.check import Checks, IgnoreByFeature
    from skedasis.results.checks.extrapolation import FeatureSpace
    from skedasis.results.contrast import Contrasts
    from skedasis.results.factors import RatingTable
    from skedasis.results.keywords import EffectsKeywords, EffectsViewKeywords
    from skedasis.results.variance_shares import VarianceShares


@dataclass(frozen=True)
class Rank(RankLine):
    """One line of a ranking."""

    ordered_by = "importance"

    feature: str
    importance: float
    """Standard deviation of the effect over the data, in units of the quantity."""
    heterogeneity_score: float
    """Heterogeneity score, in units of the quantity."""
    heterogeneity_score_error: float
    """Its standard error."""
    bins: int
    """Number of bins, of points of the grid, or of levels."""
    untrusted_rows: int
    """Number of rows in bins, or at levels, with fewer than 10 rows."""
    missing: int
    """Number of rows in which the feature is missing."""
    depends_on: str | None = None
    """The other feature that explains most of the heterogeneity; None if none explains much."""
    depends_on_share: float = math.nan
    """Share of the squared score that it explains, on held-out rows; NaN without such a feature."""
    depends_on_error: float = math.nan
    """Standard error of the share."""

    @property
    def printed(self) -> Mapping[str, object]:
        """Return the cells of a printed ranking."""
        score = WithError(self.heterogeneity_score, self.heterogeneity_score_error)
        mostly_by = "-"
        if self.depends_on is not None:
            mostly_by = operations.depends_on_cell(
                DependsOn(self.depends_on, self.depends_on_share, self.depends_on_error)
            )
        cells = {**vars(self), "heterogeneity_score": score, "mostly_by": mostly_by}
        return {_HEADS.get(name, name): cell for name, cell in cells.items() if name not in _MERGED}


def _named(found: DependsOn | None) -> tuple[str | None, float, float]:
    return (None, math.nan, math.nan) if found is None else (found.name, found.share, found.error)


_MERGED = ("heterogeneity_score_error", "depends_on", "depends_on_share", "depends_on_error")
"""Fields of a line that are in cells of others."""


_HEADS = {"untrusted_rows": "rows_in_thin_bins"}
"""Fields with another head where they are printed."""


DETAILS = ("bins", "rows_in_thin_bins", "missing")
"""Columns of a ranking that `Effects` do not print."""


class Effects(FeatureMapping[Effect, Rank]):
    """A mapping from feature names to effects, in X's order.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> es = sd.explain(lambda X: X[:, 0] + 3 * X[:, 1], X, method=sd.ALE(bins=10))
    >>> list(es), len(es["x1"].x)
    (['x0', 'x1'], 11)
    """

    exported = ("features", "ranking", "effects", "provenance")
    prints_ranking = True
    tables = ("effect", "bins", "spread", "curves", "missing", "ranking")

    @property
    def effects(self) -> Mapping[str, Effect]:
        """Return the effects by feature."""
        return self.members

    def __repr__(self) -> str:
        said = f"{len(self)} features: {self._named()}{sample_text(self.provenance)}"
        return f"<Effects of {said}{self._outside}>"

    @property
    def _outside(self) -> str:
        return outside_texts({name: e.provenance for name, e in self.items()})

    def __str__(self) -> str:
        if not self:
            return repr(self)
        first = next(iter(self.values()))
        methods = ", ".join(dict.fromkeys(operations.method_of(e) for e in self.values()))
        rows = self.provenance.get("rows")
        quantity = f"{operations.kind_of(first)} {one_line(first.about.axis)}"
        head = f"{counted(len(self), 'feature')}: {quantity} ({methods})"
        head += "" if rows is None else f", {counted(rows, 'row')}"
        head += sample_text(self.provenance) + self._outside
        known = any(e.depends_on is not None for e in self.values())
        without = DETAILS if known else (*DETAILS, "mostly_by")
        called = called_text(self.provenance)
        ranking = ranking_text(self.ranking(), without, MOST_LINES)
        return "\n".join(filter(None, [head, ranking, called]))

    @checked_call
    def ranking(self, by: str | None = None) -> Ranking[Rank]:
        """Return the features, most important first.

        Parameters
        ----------
        by : {"importance", "heterogeneity_score"}, optional
            The standard deviation of the effect over the data (the default), or the heterogeneity score. Both are in
            units of the quantity, and comparable with each other.

        Returns
        -------
        Ranking of Rank
            A tuple of lines that prints as a table.

        Raises
        ------
        DataError
            For another value of `by`.
        UnsupportedError
            By heterogeneity score if an effect has none: for M-plots, and with ``heterogeneity_rows=0``.
        """
        without_score = [e.feature for e in self.values() if e.swap_score is None]
        if by == "heterogeneity_score" and without_score:
            raise UnsupportedError(
                "ranking(by='heterogeneity_score')",
                f"no heterogeneity score of {without_score[0]!r}",
                "a heterogeneity score of each feature",
                "Explain again without heterogeneity_rows=0 (of PDP, without heterogeneity=False), "
                f"by {listed_methods(lambda m: m.local_effects)}",
            )
        return super().ranking(by)

    def _lines(self) -> list[Rank]:
        return [
            Rank(
                name,
                e.importance,
                e.heterogeneity_score,
                e.heterogeneity_score_error,
                e.n_parts,
                e.untrusted_rows,
                e.missing,
                *_named(e.depends_on),
            )
            for name, e in self.items()
        ]

    @checked_call
    def interval(
        self,
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        **options: Any,
    ) -> dict[str, tuple[Floats, Floats]]:
        """Return the confidence intervals of all effects, by feature.

        Parameters
        ----------
        confidence_level, method, **options
            As in `Effect.interval`.

        Returns
        -------
        dict of str to (lower, upper)

        Raises
        ------
        DataError, UnsupportedError
            As `Effect.interval`, if one of the effects does not have the statistic.

        Notes
        -----
        In a bootstrap, features with the same number of rows and the same weights share the draws, so that a thousand
        replicates of all features cost one set of draws. The replicates of a feature equal those of its own
        `Effect.interval`. A simultaneous band covers the points of one feature, not several features. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> es = sd.explain(lambda X: X[:, 0] * X[:, 1], X, method=sd.ALE(bins=5))
        >>> ends = es.interval(0.9, "bootstrap", replicates=200, n_jobs=2)
        >>> list(ends), ends["x0"][0].shape
        (['x0', 'x1'], (6,))
        """
        _, *valid = inspect.signature(Effect.interval).parameters
        for name in options:
            if name not in valid:
                raise unknown_keyword("Effects.interval", name, valid)
        return operations.intervals(
            self.members, operations.IntervalOptions(confidence_level, method, **options)
        )

    @checked_call
    def contrast(
        self,
        changes: Mapping[str, tuple[Level, Level]] | Mapping[int, tuple[Level, Level]],
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        replicates: int = 1000,
        random_state: RandomState = 0,
        n_jobs: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> Contrasts:
        """Return the changes of several effects between two values each.

        Parameters
        ----------
        changes : mapping from features to (a, b)
            Such as ``{"age": (30, 50), "town": ("A", "B")}``.
        confidence_level, method, replicates, random_state, n_jobs, source
            As in `Effect.contrast`.

        Returns
        -------
        Contrasts
            In the order of `changes`.

        Raises
        ------
        DataError, UnsupportedError
            As `Effect.contrast`, and for an unknown feature.

        Notes
        -----
        In a bootstrap, features with the same rows share the draws. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(400, 2))
        >>> es = sd.explain(lambda X: 2 * X[:, 0] * X[:, 1], X, method=sd.ALE(bins=4))
        >>> print(es.contrast({"x0": (0.2, 0.6), "x1": (0.5, 0.1)}))
        change of prediction, with 95 % intervals (analytic)
                      change          interval        p  rows
        x0 0.2 → 0.6  +0.410    0.376 to 0.443  < 0.001   300
        x1 0.5 → 0.1  −0.453  −0.482 to −0.423  < 0.001   300
        """
        pairs = operations.pairs_of(changes, self)
        options = operations.ContrastOptions(
            confidence_level, method, replicates, random_state, n_jobs, source
        )
        return operations.contrasts_of_effects(self, pairs, options)

    @checked_call
    def factors(
        self,
        bases: Mapping[str, Level] | Mapping[int, Level] | None = None,
        shares: VarianceShares | None = None,
        confidence_level: float = 0.95,
        *,
        X: TableLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> RatingTable:
        """Return the multiplicative effects of all features on a quantity on the log scale, as a rating table.

        Parameters
        ----------
        bases : mapping from features to values, optional
            The level or value of each feature whose factor is 1; of others that with the most weight.
        shares : VarianceShares, optional
            Those of the same quantity, which say how much of it is a product of one factor per feature:
            ``sd.variance_shares(q, X)``. Without them the heterogeneity scores say how rows differ from each factor.
        confidence_level : float
            Confidence level of the intervals, between 0 and 1.
        X, y : table and array of n numbers, optional
            Rows with all columns that were explained, and what the total of the table's predictions over them is to be:
            their labels, or the model's predictions, on the scale of the labels. The base value is then multiplied by
            the ratio of both totals, the off-balance. By default it is not corrected.
        sample_weight : array of n numbers, optional
            Weights of these rows, such as exposures.

        Returns
        -------
        RatingTable
            `Factors` by feature, and `base_value`: the prediction at the base of all features. On a log-additive model
            the prediction is ``base_value`` times one factor of each feature.

        Raises
        ------
        DataError, UnsupportedError
            As `Effect.factors`, for an unknown feature, for variance shares of another quantity, for rows that have no
            factor, and for X and y with odds ratios.

        Notes
        -----
        ``base_value`` is ``exp(mean of the log prediction + sum of (effect(base) - mean effect over the rows))``; over
        features that are not in the table it is a geometric mean. It is exact on a log-additive model where curves are
        linear between their points (levels and few values among them), and of an uncentred PDP for any curve. Over more
        rows than `heterogeneity_rows`, the mean of the log prediction is that of a sample, and a note says so. No model
        row.

        Where a model is no product, or the table has not all features, the total of ``base_value`` times factors is not
        that of the model. With `X` and `y`, ``base_value = mean(y) / mean(product of the rows' factors)``; before the
        correction it is ``base_value / off_balance``. A row has the factor of its cell if the lines are cells, else
        that on the curve between the lines; beyond the curve, that at its end.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).integers(0, 3, size=(500, 2)).astype(float)
        >>> q = sd.prediction(
        ...     lambda X: 0.1 * 2.0 ** X[:, 0] * (1 + X[:, 1]), inverse="log", name="rate"
        ... )
        >>> table = sd.explain(q, X, method="ale").factors({"x0": 0, "x1": 0})
        >>> round(table.base_value, 6), [round(f.factor, 6) for f in table["x1"]]
        (0.1, [1.0, 2.0, 3.0])
        """
        return operations.rating_table(
            self, bases, shares, confidence_level, X=X, y=y, sample_weight=sample_weight
        )

    @checked_call
    def checks(
        self,
        confidence_level: float = 0.95,
        *,
        X: TableLike | FeatureSpace | None = None,
        beside: Mapping[str, Effect] | None = None,
        random_state: RandomState = 0,
        ignore: IgnoreByFeature = None,
    ) -> Checks:
        """Run the reliability checks on all effects; parameters as in `Effect.checks`, with `beside` by feature.

        `ignore` can also be a mapping of features to codes, such as ``{"age": "few_rows"}``.
        """
        return operations.check_effects(
            self, confidence_level, X=X, beside=beside, random_state=random_state, ignore=ignore
        )

    @checked_call
    def statistics(
        self,
        y: ArrayLike | None = None,
        confidence_level: float = 0.95,
        replicates: int = 1000,
        random_state: RandomState = 0,
        null: NullDistribution | Sequence[str] | str | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        n_jobs: int = 1,
    ) -> Statistics:
        """Return the ALE statistics (ALED, ALER, NALED, NALER; Okoli 2023) with confidence intervals and p-values.

        Parameters
        ----------
        y : array of n numbers, optional
            The target of the explained rows, for the statistics in percentiles of the target (NALED, NALER).
        confidence_level, replicates, random_state, n_jobs
            Confidence level and settings of the bootstrap intervals.
        null : NullDistribution, or names of features, optional
            The null distribution of the p-values: from `skedasis.null_distribution`, or from features that are known to
            be random.
        sample_weight : array of n numbers, optional
            Weights of the rows of `y`, if the effects are weighted.

        Returns
        -------
        Statistics

        Raises
        ------
        DataError
            For y or weights of the wrong length or type, a `confidence_level` outside (0, 1), fewer than two
            replicates, unknown names, and a null distribution of another method, quantity or settings.
        UnsupportedError
            For PDP, ICE and M-plots, which are not accumulated effects.

        Notes
        -----
        No model row.

        **Definitions** (Okoli 2023). ALED is the weighted mean over the rows of abs(ALE(x_i)), ALER the smallest and
        the largest ALE(x_i). ALE is centred to zero mean over the rows, whatever the centre of the effect, so that ALER
        may differ from the extremes of `Effect.value` by a constant. Okoli uses the centres of the bins instead of the
        rows (the values that Apley & Zhu centre), and the edges instead of the extremes. With narrow bins, this is the
        same. It differs if rows concentrate at one end of wide bins, or if slopes change within bins. If not all rows
        are kept (`exact` is False), two points with the mean and variance of its rows represent each fine cell, and its
        edges their extremes.

        **Percentiles.** An effect of a > 0 is converted to the percentage of rows with an outcome above the median and
        up to median + a; for a < 0 likewise below. NALED is the mean of its absolute value over the rows, NALER its
        extremes, at most 50. Outcomes equal to the median are excluded. In Okoli's definition they are included as soon
        as any other outcome is reached, and each half has 50 percent: if half of the outcomes are zero, the smallest
        effect that reaches the next value is then at least 25 points. `Statistic.okoli` has the numbers of that
        definition. For continuous outcomes, both agree up to 1/n. The median and the outcomes are taken as known:
        intervals do not include their sampling error.

        **Intervals** are computed from a bootstrap of rows with fixed bins, drawn once for all features. The mean of
        abs(f + error) is larger than that of abs(f), and the maximum is biased upwards, most strongly for weak effects.
        `noise` is therefore the value of a flat effect. The interval of a statistic of size t reaches from ``t - 2 b -
        max(q_hi - m, z s)`` to ``t + max(m - q_lo, z s, z s')``: m, s and q are the replicates' mean, standard
        deviation and quantiles, z the normal quantile, and b = max(m - t, 0) the bias; s' is the standard deviation
        with the curve's signs and the positions of its extremes fixed. If the ALED is at most `noise_limit`, intervals
        begin at 0. Nominal 95 % intervals cover 91 to 99 % (simulated: flat, weak and strong curves, 150 to 600 rows, 5
        to 30 bins; least for effects of once or twice the noise). Percentiles of the replicates cover 0 % for flat
        effects, and the basic bootstrap 72 % for weak ones.

        **p-values** are ``(1 + #{null as large}) / (1 + draws)``, one-sided. A feature is compared with its own
        permuted copies; if the null has none, with those of all columns that were explained with the same method and
        settings. Random features given by name are the null of all other features, and have no p-value themselves.

        References
        ----------
        Okoli, C. (2023). Statistical inference using machine learning and classical techniques based on accumulated
        local effects (ALE). arXiv:2310.09877.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.linspace(0, 1, 101)[:, None]
        >>> es = sd.explain(lambda X: 4 * X[:, 0], X, method=sd.ALE(bins=10))
        >>> s = es.statistics(y=4 * X[:, 0])["x0"]
        >>> round(s.aled, 2), round(s.naled), [round(v, 2) for v in s.aler]
        (1.01, 25, [-2.0, 2.0])
        """
        return operations.statistics(
            self,
            y,
            confidence_level,
            replicates,
            random_state,
            null,
            sample_weight=sample_weight,
            n_jobs=n_jobs,
        )

    def table(self, of: str | None = None) -> TableColumns:
        """Return the columns of `to_frame`; "missing" has one row per feature with missing values."""
        some = {name: e for name, e in self.items() if e.missing_point is not None}
        if of == "missing" and 0 < len(some) < len(self):
            return Effects(some).table(of)
        return super().table(of)

    @takes_figure_options
    def plot(self, **options: Unpack[EffectsKeywords]) -> Figure:
        """Plot the effects side by side on shared scales, most important first, or an overview of them.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> es = sd.explain(lambda X: X[:, 0] + 3 * X[:, 1], X, method=sd.ALE(bins=10))
        >>> [ax.get_title(loc="left") for ax in es.plot(top=2, lower=False).axes]
        ['1. x1', '2. x0']
        """
        return operations.plot(self, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[EffectsViewKeywords],
    ) -> Explorable:
        """Return all effects on shared scales as an interactive page with filter, sorting and tooltips.

        Notes
        -----
        `by` is the initial order; the page can also sort by name and by X's order. All effects are on the page, unless
        `top` says how many.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> es = sd.explain(lambda X: X[:, 0] + 3 * X[:, 1], X, method=sd.ALE(bins=10))
        >>> es.explore(top=2).html.count('class="skd-item"')
        2
        """
        return operations.explore(self, path, title, **options)
