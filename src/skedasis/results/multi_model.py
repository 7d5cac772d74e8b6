"""Results of several fitted models: means of effects, surfaces and importances, and how they vary between models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeGuard, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_name, check_option, check_probability
from skedasis._calls import checked_call
from skedasis._escaping import one_line
from skedasis._numbers import counted
from skedasis._types import Floats, Ints, Json, Level, Values
from skedasis.errors import UnsupportedError
from skedasis.results import json_keys, operations
from skedasis.results.axis import Axis, LevelAxis, NumericAxis
from skedasis.results.containers import FeatureMapping
from skedasis.results.described import Keys, listed, object_of, or_null
from skedasis.results.display import (
    MOST_LINES,
    Ranking,
    RankLine,
    ResultWithTables,
    called_text,
    outside_text,
    ranking_text,
)
from skedasis.results.effect import About, Effect, MPlotEffect, OfFeature, OnAxis, Spec
from skedasis.results.effect_words import kind_of, method_of
from skedasis.results.effects import Effects
from skedasis.results.export import Content, ExportOptions
from skedasis.results.importance import Importance
from skedasis.results.provenance import as_provenance, model_names
from skedasis.results.signatures import takes_figure_options
from skedasis.results.surface import AccumulatedSurface, OfPair, Surface
from skedasis.results.surfaces import Surfaces
from skedasis.stats.student import interval_of, t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.contrast import Contrast, Contrasts
    from skedasis.results.frames import FrameColumns
    from skedasis.results.keywords import (
        AllModelsKeywords,
        AllModelsViewKeywords,
        IntervalTarget,
        ModelImportanceKeywords,
        ModelImportanceViewKeywords,
        ModelsKeywords,
        ModelsViewKeywords,
        SurfaceKeywords,
        SurfaceViewKeywords,
    )


# --- mean, standard deviation between models, and intervals ---------------------------------------


_MODEL_KEYS: Keys = {
    "n_models": json_keys.integer("Number of models."),
    "correction": json_keys.number(
        "Number of held-out rows over number of training rows; null if unknown."
    ),
    "overlap": json_keys.number(
        "Fraction of the training rows that two models share; null if unknown."
    ),
    **json_keys.LEVEL,
}
"""What is known of the models."""

ResultT = TypeVar("ResultT", Effect, Surface, Importance)
KindT = TypeVar("KindT")


@dataclass(frozen=True, eq=False)
class MultiModelResult(ResultWithTables[str], Generic[ResultT]):
    """The results of several models, with their mean and its variation."""

    values: Floats
    """What each model has, shape (models, …): effects, surfaces, or importances as means over the repeats."""
    correction: float | None
    overlap: float | None
    provenance: Json
    models: tuple[ResultT, ...]
    """The result of each model, on its own rows and the common bins."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> list[str] | list[int]:
        """Return the names of the models, if `explain` got them by name; else their numbers, from 0."""
        return model_names(self.provenance, len(self))

    @property
    def reached(self) -> Ints:
        """Return the number of models that have a value, at each point."""
        return np.count_nonzero(~np.isnan(self.values), axis=0)

    @property
    def value(self) -> Floats:
        """Return the mean over the models that have a value."""
        return mean_of(self.values)

    @property
    def between(self) -> Floats:
        """Return the standard deviation between models (ddof 1); NaN where fewer than two models have a value."""
        n = self.reached
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.nansum((self.values - self.value) ** 2, axis=0) / (n - 1)
        return np.sqrt(np.where(n > 1, squares, np.nan))

    @property
    def std_error(self) -> Floats:
        """Return the standard error of the mean: sqrt(1/m + c) times `between`, with c = 0 if it is unknown."""
        return self._error(self.correction or 0.0)

    @property
    def df(self) -> Floats:
        """Return the degrees of freedom of `between`: the number of models that have a value, minus 1."""
        return np.maximum(self.reached - 1.0, 1.0)

    def _error(self, correction: float) -> Floats:
        return np.sqrt(1 / np.maximum(self.reached, 1) + correction) * self.between

    @checked_call
    def interval(
        self, confidence_level: float = 0.95, of: IntervalTarget | None = None
    ) -> tuple[Floats, Floats]:
        """Return a pointwise confidence interval of the mean: Student's t with m - 1 degrees of freedom for m models.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.
        of : {"learner", "bound", "models"}, optional
            "learner": an interval for the learner's mean effect over training sets of this size and over rows to
            explain it on. The variance is (1/m + c) between², where c = `correction` accounts for overlapping training
            sets (Nadeau & Bengio).
            "bound": an interval for the same estimand, with a variance that is not too small on average:
            (1/m + r / (1 - r)) between², where r = `overlap`.
            "models": an interval for the mean over infinitely many refits like these, with the variance between²/m. It
            includes the variation due to new seeds, or new resamples of the *same* data, but not due to new data.
            By default "learner" if the correction is known, otherwise "models".

        Returns
        -------
        lower, upper : ndarray of float, shape of `value`
            NaN where fewer than two models have a value.

        Raises
        ------
        DataError
            For a `confidence_level` outside (0, 1), and another `of`.
        UnsupportedError
            If the correction, or the overlap, is unknown.

        Notes
        -----
        The estimand is the mean of the learner, not the true effect: the bias of a learner is the same in every fold.
        No model row.

        The correlation of two models whose training sets share a fraction r of their rows is at most r (Hoeffding; it
        equals r if the learner is a mean over its rows). "bound" follows from that. Nadeau & Bengio use the held-out
        rows over all rows for r. That is too small for stable learners, and for folds of cross-validation, whose
        training sets share nearly all rows. Coverage of 95 % intervals of a PDP, averaged over 9 points and 300
        simulated data sets of 200 rows, with 15 refits or K folds (`tests/reference/test_learner_interval.py`):

        ==========================  =========  =======  ======
        a cubic polynomial          "models"   learner  bound
        ==========================  =========  =======  ======
        subsamples of 63.2 %        0.37       0.85     0.97
        bootstrap, out of bag       0.42       0.89     0.96
        5 folds                     0.63       0.79     0.99
        10 folds                    0.44       0.60     1.00
        **a tree of depth 5**
        subsamples of 63.2 %        0.52       0.94     0.99
        bootstrap, out of bag       0.55       0.96     0.98
        5 folds                     0.71       0.84     0.99
        10 folds                    0.48       0.64     1.00
        ==========================  =========  =======  ======

        Recommendation: fit at least 15 models, on subsamples or bootstrap samples rather than on folds. Use "bound" for
        stable learners, and where an interval must not be too narrow.

        References
        ----------
        Nadeau & Bengio (2003), Machine Learning 52; Molnar et al. (2023), Relating the partial dependence plot and
        permutation feature importance to the data generating process, xAI, CCIS 1901.
        """
        confidence_level = check_probability("interval(confidence_level)", confidence_level)
        return t_interval(self.value, self._error(self._correction(of)), self.df, confidence_level)

    @checked_call
    def mean_interval(
        self, values: Floats, confidence_level: float, of: IntervalTarget | None, what: str
    ) -> MeanInterval:
        """Return the mean over the models of another number that each has, (m,), with its interval as `interval`.

        Parameters
        ----------
        values : ndarray of float, shape (m,)
            NaN for a model that does not have the number.
        confidence_level, of
            As in `interval`.
        what : str
            The method, for error messages.
        """
        level = check_probability(f"{what}(confidence_level)", confidence_level)
        added = self._correction(of, what)
        known = values[~np.isnan(values)]
        between = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
        error, df = (1 / len(known) + added) ** 0.5 * between, max(len(known) - 1.0, 1.0)
        value = float(mean_of(values))
        lower, upper = interval_of(value, error, df, level)
        used: IntervalTarget = "models" if self.correction is None else "learner"
        return MeanInterval(value, error, df, lower, upper, of or used)

    def _correction(self, of: IntervalTarget | None, what: str = "interval") -> float:
        """Return the term that is added to 1/m in the variance."""
        if of is not None:
            check_option(f"{what}(of)", of, ("learner", "bound", "models"), "Pass one of these")
        if of == "models" or (of is None and self.correction is None):
            return 0.0
        if of in (None, "learner") and self.correction is not None:
            return self.correction
        if of == "bound" and self.overlap is not None and self.overlap < 1:
            return self.overlap / (1 - self.overlap)
        got = "models whose training rows are unknown"
        expected = "the rows that each model was fitted on"
        if of == "bound" and self.overlap is not None:
            got = "models that were all fitted on the same rows"
            expected = "models that were fitted on different rows"
        more = ", or correction=held-out rows / training rows" if of == "learner" else ""
        raise UnsupportedError(
            f"{what}(of={of!r})",
            got,
            expected,
            f"Explain with cv=[(train, test), ...]{more}",
        )

    def _mean_of_models(self, number: Callable[[ResultT], float]) -> float:
        """Return the mean over the models of a number that each of their results has."""
        return float(mean_of(np.array([number(result) for result in self.models])))

    @property
    def _outside(self) -> str:
        """Return how many rows the models' results do not include; the most, if they differ."""
        rows = [result.provenance.get("rows_outside", 0) for result in self.models]
        return outside_text(max(rows), "" if min(rows) == max(rows) else "up to ")

    def _numbers(self, options: ExportOptions) -> Content:
        """Return the mean over the models, its variation and its interval, for `to_dict`."""
        lower, upper = self.interval(options.confidence_level)
        return {
            "value": self.value,
            "between": self.between,
            "error": self.std_error,
            "lower": lower,
            "upper": upper,
            "reached": self.reached,
        }

    def _models(self, options: ExportOptions) -> Content:
        """Return what is known of the models, for `to_dict`."""
        return {
            "n_models": len(self),
            "correction": self.correction,
            "overlap": self.overlap,
            "confidence_level": options.confidence_level,
        }

    def _library(self) -> str | None:
        return self.models[0]._library()  # noqa: SLF001

    def _table_columns(self, points: FrameColumns, of: str) -> FrameColumns:
        if of == "models":
            m = len(self)
            return {
                "model": np.repeat(np.array(self.names), self.values[0].size),
                **{name: operations.tile_column(column, m) for name, column in points.items()},
                "value": self.values.ravel(),
            }
        lower, upper = self.interval()
        columns = {
            "value": self.value,
            "between": self.between,
            "std_error": self.std_error,
            "lower": lower,
            "upper": upper,
            "models": self.reached,
        }
        return {**points, **{name: column.ravel() for name, column in columns.items()}}


@dataclass(frozen=True)
class MeanInterval:
    """The mean of a number over several models, its standard error with degrees of freedom, and its interval."""

    value: float
    std_error: float
    df: float
    lower: float
    upper: float
    of: IntervalTarget


def mean_of(values: Floats) -> Floats:
    """Return the means over the first axis without NaN; the mean of equal numbers is exactly that number."""
    known = ~np.isnan(values)
    n = np.count_nonzero(known, axis=0)
    first = np.take_along_axis(values, np.argmax(known, axis=0)[None], axis=0)
    return first[0] + np.nansum(values - first, axis=0) / np.maximum(n, 1)


# --- effects of features --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MultiModelEffect(MultiModelResult[Effect], OnAxis, OfFeature):
    """The effect of one feature on the predictions of several fitted models.

    Notes
    -----
    `between` is the variation between models; `heterogeneity` is the spread between rows within a model. Neither
    includes the other. `interval` documents its estimands and their measured coverage.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0, 3.0)]
    >>> em = sd.explain(models, X, 0, method=sd.ALE(bins=2, center="start"), refits=True)
    >>> em
    <MultiModelEffect: 3 models, 'x0' on prediction: ALE, 3 points, importance 0.5823>
    >>> rise = em.x[-1] - em.x[0]
    >>> [round(float(v), 9) for v in (em.value[-1] / rise, em.between[-1] / rise)]
    [2.0, 1.0]
    """

    frames = ("effect: one row per point", "models: one row per model and point")

    axis: Axis
    """The points, as an object that knows the kind of the feature."""

    @classmethod
    def of(
        cls,
        found: Sequence[Effect],
        correction: float | None,
        overlap: float | None,
        record: Json,
    ) -> MultiModelEffect:
        """Return the effect for several models; see `combine_models`."""
        first, axis, x = found[0], found[0].axis, _bin_points(found)
        if isinstance(first, MPlotEffect):
            axis = NumericAxis.of(first.about.feature, x[~np.isnan(x)])
        values = _at_points(found, [e.value for e in found])
        return cls(values, correction, overlap, record, tuple(found), axis)

    @property
    def within(self) -> Floats:
        """Return the spread between rows at `x` of each model, (m, k)."""
        return _at_points(self.models, [e.heterogeneity for e in self.models])

    @property
    def heterogeneity(self) -> Floats:
        """Return the mean over the models of the spread between rows within a model."""
        return mean_of(self.within)

    @property
    def importance(self) -> float:
        """Return the mean over the models of the importance, the standard deviation of each effect over the data."""
        return self._mean_of_models(lambda e: e.importance)

    @property
    def heterogeneity_score(self) -> float:
        """Return the mean over the models of the heterogeneity score, in units of the quantity."""
        return self._mean_of_models(lambda e: e.heterogeneity_score)

    @property
    def heterogeneity_score_error(self) -> float:
        """Return the standard error of `heterogeneity_score` due to the sample of rows, in units of the quantity.

        It is the root mean square of the models' standard errors. That is correct for fully correlated errors; the
        errors of models explained on the same rows are nearly so. For models explained on different rows it is too
        large, by at most a factor of the square root of the number of models.
        """
        return float(np.sqrt(self._mean_of_models(lambda e: e.heterogeneity_score_error**2)))

    @property
    def about(self) -> About:
        """Return the description of the feature and the quantity, of the first model."""
        return self.models[0].about

    @property
    def spec(self) -> Spec:
        """Return the settings of the method, of the first model."""
        return self.models[0].spec

    def __repr__(self) -> str:
        return (
            f"<MultiModelEffect: {len(self)} models, {self.feature!r} on {self.about.quantity}: "
            f"{self.spec.method}, {len(self.axis)} {self.axis.nouns}{self._outside}, importance {self.importance:.4g}>"
        )

    def alone(self) -> MultiModelEffects:
        """Return a container with this effect alone."""
        return MultiModelEffects({self.feature: self})

    def __call__(self, x_new: ArrayLike) -> Floats:
        """Evaluate the mean effect: the mean over the models that have a value there, NaN where none has one."""
        return mean_of(np.stack([np.asarray(e(x_new), dtype=float) for e in self.models]))

    @checked_call
    def contrast(
        self,
        a: Level,
        b: Level,
        confidence_level: float = 0.95,
        of: IntervalTarget | None = None,
    ) -> Contrast:
        """Return the mean over the models of the change from value `a` to value `b`, with its interval.

        Parameters
        ----------
        a, b : value of the feature
            As in `Effect.contrast`.
        confidence_level, of
            As in `interval`.

        Returns
        -------
        Contrast
            Its standard error comes from the variation of the change between the models, Student's t with m - 1 degrees
            of freedom for m models; it does not include the error due to the rows of one model.

        Raises
        ------
        DataError
            For a value that is missing, no level or outside the curves of all models, and for invalid options.
        UnsupportedError
            If the correction, or the overlap, is unknown.

        Notes
        -----
        No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(200, 2))
        >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0, 3.0)]
        >>> c = sd.explain(models, X, 0, method=sd.ALE(bins=2), refits=True).contrast(0.2, 0.7)
        >>> round(float(c), 6), round(c.std_error, 6), c.method
        (1.0, 0.288675, 'models')
        """
        return operations.contrast_of_models(self, a, b, confidence_level, of)

    def _table(self, of: str) -> FrameColumns:
        points: FrameColumns = {"x": operations.point_column(self.points, self.time)}
        if isinstance(self.axis, LevelAxis):
            points = {"level": np.array(self.axis.levels.labels, dtype=object)}
        columns = self._table_columns(points, of)
        if of == "models":
            columns["heterogeneity"] = self.within.ravel()
            error = np.stack([on_bins(e, e.std_error) for e in self.models])
            columns["std_error"] = error.ravel()
        else:
            columns["heterogeneity"] = self.heterogeneity
        name = np.array([self.feature] * len(columns["value"]), dtype=object)
        return {"feature": name, **columns}

    def _document(self, options: ExportOptions) -> Content:
        return {
            **operations.about_document(self.about),
            "method": self.spec.method,
            **self._models(options),
            "importance": self.importance,
            "heterogeneity_score": self.heterogeneity_score,
            "heterogeneity_score_error": self.heterogeneity_score_error,
            "curve": {
                **operations.axis_document(self.axis),
                **self._numbers(options),
                "heterogeneity": self.heterogeneity,
            },
            "models": [
                {
                    "importance": e.importance,
                    "heterogeneity_score": e.heterogeneity_score,
                    "value": self.values[k],
                    "heterogeneity": self.within[k],
                }
                for k, e in enumerate(self.models)
            ],
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            **json_keys.FEATURE,
            **json_keys.QUANTITY,
            **json_keys.METHOD,
            **_MODEL_KEYS,
            "importance": json_keys.number("Mean over the models of the importance."),
            "heterogeneity_score": json_keys.number(
                "Mean over the models of the heterogeneity score."
            ),
            "heterogeneity_score_error": json_keys.number(
                "Its standard error, due to the sample of rows."
            ),
            "curve": object_of(
                "The mean over the models at its points, in units of the quantity.",
                {
                    "value": json_keys.numbers("The mean."),
                    "between": json_keys.numbers("Standard deviation between models."),
                    "error": json_keys.numbers("Standard error of the mean."),
                    "lower": json_keys.numbers("Lower end of its pointwise interval."),
                    "upper": json_keys.numbers("Upper end."),
                    "reached": json_keys.integers("Number of models that have a value."),
                    "heterogeneity": json_keys.numbers(
                        "Mean over the models of the heterogeneity."
                    ),
                },
                json_keys.AXIS,
            ),
            "models": listed(
                object_of(
                    "One model.",
                    {
                        "importance": json_keys.number("Its importance."),
                        "heterogeneity_score": json_keys.number("Its heterogeneity score."),
                        "value": json_keys.numbers("Its effect, at the points of `curve`."),
                        "heterogeneity": json_keys.numbers("Its heterogeneity there."),
                    },
                ),
                "The models, in the order given.",
            ),
            **json_keys.RECORD,
        }, {}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[ModelsKeywords]) -> Figure:
        """Plot each model's curve as a thin line, their mean as a thick one, and its interval as a band.

        Raises
        ------
        UnsupportedError
            As `interval`.
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[ModelsViewKeywords],
    ) -> Explorable:
        """Return the models' curves and their mean as an interactive page with tooltips.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0)]
        >>> sd.explain(models, X, 0, method=sd.ALE(bins=4), refits=True).explore().title
        'x0: effect on prediction, 2 models (ALE)'
        """
        return operations.explore(self, path, title, **options)


@dataclass(frozen=True)
class ModelsRank(RankLine):
    """One line of a ranking."""

    ordered_by = "importance"

    feature: str
    importance: float
    """Mean over the models of the importance, in units of the quantity."""
    between: float
    """Its standard deviation between models (ddof 1)."""
    heterogeneity_score: float
    """Mean over the models of the heterogeneity score, in units of the quantity."""
    first: int
    """Number of models in which this feature is the most important one."""


class MultiModelEffects(FeatureMapping[MultiModelEffect, ModelsRank]):
    """A mapping from feature names to effects of several fitted models, in X's order.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] + X[:, 1] for k in (2.0, 3.0)]
    >>> es = sd.explain(models, X, method="ale", refits=True)
    >>> [(r.feature, r.first) for r in es.ranking()]
    [('x0', 2), ('x1', 0)]
    """

    exported = ("features", "ranking", "effects", "provenance")
    prints_ranking = True
    tables = ("effect", "models", "ranking")

    @property
    def effects(self) -> Mapping[str, MultiModelEffect]:
        """Return the effects by feature."""
        return self.members

    def __repr__(self) -> str:
        models = len(next(iter(self.values())))
        return f"<MultiModelEffects: {models} models, {len(self)} features: {self._named()}>"

    def __str__(self) -> str:
        first = next(iter(self.values()))
        one = first.models[0]
        head = f"{counted(len(self), 'feature')}: {kind_of(one)} {one_line(first.about.axis)}, "
        head += f"means of {counted(len(first), 'model')} ({method_of(one)})"
        ranking = ranking_text(self.ranking(), most=MOST_LINES)
        return "\n".join(filter(None, [head, ranking, called_text(self.provenance)]))

    def _lines(self) -> list[ModelsRank]:
        each = np.array([[m.importance for m in e.models] for e in self.values()])
        first = np.bincount(each.argmax(axis=0), minlength=len(each))
        return [
            ModelsRank(name, e.importance, float(own.std(ddof=1)), e.heterogeneity_score, int(n))
            for (name, e), own, n in zip(self.items(), each, first, strict=True)
        ]

    @checked_call
    def contrast(
        self,
        changes: Mapping[str, tuple[Level, Level]] | Mapping[int, tuple[Level, Level]],
        confidence_level: float = 0.95,
        of: IntervalTarget | None = None,
    ) -> Contrasts:
        """Return the mean changes of several features, such as ``{"age": (30, 50)}``.

        Parameters
        ----------
        changes : mapping from features to (a, b)
        confidence_level, of
            As in `MultiModelEffect.contrast`.

        Returns
        -------
        Contrasts
            In the order of `changes`.

        Raises
        ------
        DataError, UnsupportedError
            As `MultiModelEffect.contrast`, and for an unknown feature.
        """
        return operations.contrasts(
            self,
            operations.pairs_of(changes, self),
            lambda e, a, b: [operations.contrast_of_models(e, a, b, confidence_level, of)],
        )

    @takes_figure_options
    def plot(self, **options: Unpack[AllModelsKeywords]) -> Figure:
        """Plot the effects side by side on shared scales, most important first."""
        return operations.plot(self, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[AllModelsViewKeywords],
    ) -> Explorable:
        """Return all effects on shared scales as an interactive page with filter, sorting and tooltips."""
        return operations.explore(self, path, title, **options)


def on_bins(effect: Effect, numbers: Floats) -> Floats:
    """Return numbers at an effect's points unchanged; for an M-plot one per bin, NaN for bins without rows."""
    if not isinstance(effect, MPlotEffect):
        return numbers
    by_bin = np.full(len(effect.bins), np.nan)
    by_bin[~effect.bins.empty] = numbers
    return by_bin


def _bin_points(models: Sequence[Effect]) -> Floats:
    """Return the points of the effects; of M-plots, whose points differ between models, their means in each bin."""
    return mean_of(np.stack([on_bins(e, e.axis.coordinates) for e in models]))


def _at_points(models: Sequence[Effect], numbers: Sequence[Floats]) -> Floats:
    """Return numbers at the points of each effect; of M-plots, in those bins that have rows in all models."""
    stacked = np.stack([on_bins(e, n) for e, n in zip(models, numbers, strict=True)])
    return stacked[:, ~np.isnan(_bin_points(models))]


# --- effects of pairs of features -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MultiModelSurface(MultiModelResult[Surface], OfPair):
    """The effect of two features on the predictions of several fitted models.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] * X[:, 1] for k in (1.0, 3.0)]
    >>> sm = sd.explain(models, X, (0, 1), method=sd.ALE(bins=3), refits=True)
    >>> sm.value.shape, bool(np.allclose(sm.value, 2 * sm.models[0].value))
    ((4, 4), True)
    """

    frames = MultiModelEffect.frames

    @classmethod
    def of(
        cls,
        found: Sequence[Surface],
        correction: float | None,
        overlap: float | None,
        record: Json,
    ) -> MultiModelSurface:
        """Return the surface for several models; see `combine_models`."""
        values = np.stack([s.value for s in found])
        return cls(values, correction, overlap, record, tuple(found))

    @property
    def x(self) -> tuple[Values, Values]:
        """Return the points of both axes, in the features' own types."""
        return self.models[0].x

    @property
    def points(self) -> tuple[Values, Values]:
        """Return `x` as floats; for times: days."""
        return self.models[0].points

    @property
    def heterogeneity(self) -> Floats:
        """Return the mean over the models of the heterogeneity (between rows, within a model)."""
        return mean_of(np.stack([s.heterogeneity for s in self.models]))

    @property
    def abouts(self) -> tuple[About, About]:
        """Return the descriptions of both features and the quantity, of the first model."""
        return self.models[0].abouts

    def interaction_strength(self) -> float:
        """Return the mean over the models of each surface's interaction strength, in units of the quantity."""
        return self._mean_of_models(lambda s: s.interaction_strength())

    def __repr__(self) -> str:
        a, b = self.features
        first = self.models[0]
        return (
            f"<MultiModelSurface: {len(self)} models, {a!r} and {b!r} on {self.about.quantity}: "
            f"{first.spec.method}, {first.value.shape[0]} x {first.value.shape[1]} points{self._outside}, "
            f"interaction strength {self.interaction_strength():.4g}>"
        )

    def alone(self) -> Surfaces[MultiModelSurface]:
        """Return a container with this surface alone."""
        return Surfaces({self.features: self})

    def __call__(self, x0: ArrayLike, x1: ArrayLike) -> Floats:
        """Evaluate the mean surface, bilinearly."""
        return mean_of(np.stack([np.asarray(s(x0, x1), dtype=float) for s in self.models]))

    def mean(self) -> Surface:
        """Return the mean over the models as a `Surface` without rows, which can be plotted, tabulated and saved."""
        first = self.models[0]
        provenance = {**first.provenance, "models": len(self), "mean_of": self.provenance}
        quantity = f"{first.about.quantity}, mean of {len(self)} models"
        mean = replace(
            first,
            abouts=tuple(replace(about, quantity=quantity) for about in first.abouts),
            value=self.value.copy(),
            heterogeneity=self.heterogeneity,
            rows=None,
            moments={},
            provenance=provenance,
        )
        return replace(mean, main=None) if isinstance(mean, AccumulatedSurface) else mean

    def _table(self, of: str) -> FrameColumns:
        first = self.models[0]
        a, b = (
            operations.point_column(x, t) for x, t in zip(self.points, first.times, strict=True)
        )
        x0, x1 = operations.column_pairs(a, b)
        names = {
            f"feature{i}": np.array([name] * len(x0), dtype=object)
            for i, name in enumerate(self.features)
        }
        return self._table_columns({**names, "x0": x0, "x1": x1}, of)

    def _document(self, options: ExportOptions) -> Content:
        return {
            "features": self.features,
            "axes": operations.surface_axes(self.models[0]),
            "quantity": self.about.quantity,
            "unit": self.about.unit,
            "method": self.models[0].spec.method,
            **self._models(options),
            "interaction_strength": self.interaction_strength(),
            **self._numbers(options),
            "heterogeneity": self.heterogeneity,
            "models": [
                {"interaction_strength": s.interaction_strength(), "value": s.value}
                for s in self.models
            ],
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            **json_keys.PAIR,
            **_MODEL_KEYS,
            "interaction_strength": json_keys.number(
                "Mean over the models of the interaction strength."
            ),
            "value": json_keys.table("The mean over the models."),
            "between": json_keys.table("Standard deviation between models."),
            "error": json_keys.table("Standard error of the mean."),
            "lower": json_keys.table("Lower end of its pointwise interval."),
            "upper": json_keys.table("Upper end."),
            "reached": listed(
                {"type": "array", "items": {"type": "integer"}},
                "Number of models that have a value.",
            ),
            "heterogeneity": json_keys.table("Mean over the models of the heterogeneity."),
            "models": listed(
                object_of(
                    "One model.",
                    {
                        "interaction_strength": json_keys.number("Its interaction strength."),
                        "value": json_keys.table("Its surface."),
                    },
                ),
                "The models, in the order given.",
            ),
            **json_keys.RECORD,
        }, {}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[SurfaceKeywords]) -> Figure:
        """Plot the mean over the models as a heat map with contours; see `Surface.plot`."""
        return operations.plot(self.mean(), ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[SurfaceViewKeywords],
    ) -> Explorable:
        """Return the mean over the models as an interactive page; see `Surface.explore`."""
        return operations.explore(self.mean(), path, title, **options)

    def _repr_html_(self) -> str:
        return operations.notebook_html(self.mean())


# --- importances ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelsImportanceRank(RankLine):
    """One line of a ranking."""

    ordered_by = "mean"

    feature: str
    mean: float
    between: float
    std_error: float
    """The mean over the models, the standard deviation between them, and the standard error of the mean, in units of
    the quantity."""
    lower: float
    upper: float
    """The 95 % interval."""
    first: int
    """Number of models in which this feature is the most important one."""


@dataclass(frozen=True, eq=False)
class MultiModelImportance(MultiModelResult[Importance]):
    """Permutation importance of features for several fitted models (learner-PFI).

    Notes
    -----
    All models use the same seed, so that models on the same rows are compared under the same permutations. The random
    error of the permutations that is common to all models is included in the intervals of the single importances only.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> models = [lambda X, k=k: k * X[:, 0] + X[:, 1] for k in (0.9, 1.0, 1.1)]
    >>> losses = [sd.loss(m, "squared_error") for m in models]
    >>> pf = sd.explain(losses, X, y=y, method=sd.PFI(n_repeats=3), refits=True)
    >>> pf.features, pf.values.shape
    (('x0', 'x1'), (3, 2))
    """

    frames = ("importance: one row per feature", "models: one row per model and feature")

    @property
    def features(self) -> tuple[str, ...]:
        """Return the feature names, in X's order."""
        return self.models[0].features

    @property
    def mean(self) -> Floats:
        """Return the means over the models, shape (features,); the same as `value`."""
        return self.value

    @property
    def baseline(self) -> float:
        """Return the mean over the models of the baseline, the mean of the quantity at the rows."""
        return self._mean_of_models(lambda pf: pf.baseline)

    def __repr__(self) -> str:
        mean, first = max(zip(self.mean, self.features, strict=True), default=(0.0, ""))
        name = self.models[0].quantity
        return (
            f"<MultiModelImportance: {len(self)} models, {len(self.features)} features for {name}: "
            f"{self.models[0].method}, first {first!r} ({mean:.4g})>"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __contains__(self, feature: object) -> bool:
        return feature in self.features

    def __getitem__(self, feature: str) -> ModelsImportanceRank:
        """Return the line of one feature."""
        check_name("feature", feature, self.features, "Pass the name of a feature")
        return self._lines()[self.features.index(feature)]

    @checked_call
    def ranking(self) -> Ranking[ModelsImportanceRank]:
        """Return the features, most important first."""
        return Ranking(sorted(self._lines(), key=lambda r: -r.mean))

    def _lines(self) -> list[ModelsImportanceRank]:
        first = np.bincount(self.values.argmax(axis=1), minlength=len(self.features))
        columns = (self.mean, self.between, self.std_error, *self.interval())
        return [
            ModelsImportanceRank(name, *map(float, numbers), first=int(n))
            for name, n, *numbers in zip(self.features, first, *columns, strict=True)
        ]

    def _table(self, of: str) -> FrameColumns:
        return self._table_columns({"feature": np.array(self.features, dtype=object)}, of)

    def _document(self, options: ExportOptions) -> Content:
        numbers = self._numbers(options)
        first, arrays = self.models[0], {k: np.asarray(v) for k, v in numbers.items()}
        lines = [
            {
                "feature": name,
                **{("mean" if key == "value" else key): v[k] for key, v in arrays.items()},
                "values": self.values[:, k],
            }
            for k, name in enumerate(self.features)
        ]
        return {
            "features": self.features,
            "quantity": first.quantity,
            "unit": first.unit,
            "method": first.method,
            "metric": first.metric,
            "baseline": self.baseline,
            **self._models(options),
            "ranking": [lines[k] for k in np.argsort(-self.mean, kind="stable").tolist()],
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            **json_keys.FEATURES,
            **json_keys.QUANTITY,
            **json_keys.METHOD,
            "metric": or_null(
                json_keys.text("Name of the metric; null if the quantity is a mean over rows.")
            ),
            "baseline": json_keys.number(
                "Mean over the models of the quantity at the rows, or of the metric."
            ),
            **_MODEL_KEYS,
            "ranking": json_keys.lines(
                "The features, most important first.",
                "One line of the ranking.",
                {
                    "feature": json_keys.text("Name of the feature."),
                    "mean": json_keys.number(
                        "The importance: the mean over the repeats, in units of the quantity."
                    ),
                    "error": json_keys.number("Its standard error."),
                    "lower": json_keys.number("Lower end of its interval."),
                    "upper": json_keys.number("Upper end."),
                    "between": json_keys.number("Standard deviation between models."),
                    "reached": json_keys.integer("Number of models that have a value."),
                    "values": json_keys.numbers("The importance for each model."),
                },
            ),
            **json_keys.RECORD,
        }, {}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[ModelImportanceKeywords]) -> Figure:
        """Plot the means with their intervals, and each model's importance as a mark, most important first."""
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[ModelImportanceViewKeywords],
    ) -> Explorable:
        """Return the bars as an interactive page with tooltips."""
        return operations.explore(self, path, title, **options)


# --- from the results of single models ------------------------------------------------------------


AnyMultiModel: TypeAlias = (
    MultiModelEffect
    | MultiModelSurface
    | MultiModelImportance
    | MultiModelEffects
    | Surfaces[MultiModelSurface]
)
"""What `explain` returns for several models and one output."""


def combine_models(
    found: Sequence[object], correction: float | None, overlap: float | None, record: Json
) -> AnyMultiModel:
    """Combine the results of several models into one: those of single features or pairs, or containers of these."""
    common = (correction, overlap, record)
    if _all_are(found, Effects):
        effects = {
            name: MultiModelEffect.of([es[name] for es in found], *common) for name in found[0]
        }
        return MultiModelEffects(effects, as_provenance(record))
    if _all_are(found, Surfaces):
        surfaces = {
            pair: MultiModelSurface.of([s[pair] for s in found], *common) for pair in found[0]
        }
        return Surfaces(surfaces, as_provenance(record))
    if _all_are(found, Importance):
        return MultiModelImportance(np.stack([pf.mean for pf in found]), *common, tuple(found))
    if _all_are(found, Surface):
        return MultiModelSurface.of(found, *common)
    if _all_are(found, Effect):
        return MultiModelEffect.of(found, *common)
    raise TypeError("the results of several models are of one class")


def _all_are(found: Sequence[object], kind: type[KindT]) -> TypeGuard[Sequence[KindT]]:
    return all(isinstance(result, kind) for result in found)
