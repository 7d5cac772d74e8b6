"""`EffectDisplay`: effects by the conventions of scikit-learn's `PartialDependenceDisplay`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._arguments import check_flag, check_int_or_none, check_option, is_number, shown
from skedasis._calls import checked_call
from skedasis._progress import one_call
from skedasis._types import ModelRows, OutputLabel, RawResponse, TableLike, Values
from skedasis.data.dataset import as_dataset
from skedasis.data.features import Feature, SchemaEntry, apply_schema, find_feature
from skedasis.engine.argument_types import FeatureLike
from skedasis.engine.budget import PlannedCall, within_limit
from skedasis.engine.explain import explain
from skedasis.engine.options import ExplainOptions
from skedasis.engine.select import as_method
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.methods.ale import Accumulated
from skedasis.methods.base import ByFeature, Parameters
from skedasis.methods.pdp import PDP
from skedasis.models.introspection import (
    classes_of,
    decides_by_logit,
    is_classifier,
    labels_of,
    title,
)
from skedasis.models.protocols import SupportsPredict, SupportsPredictProba
from skedasis.plots.effect_display import AxesLike, check_axes, draw_panels
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import (
    FromModel,
    ModelLike,
    Prediction,
    default_quantity,
    logit,
    predictions,
    probability,
    respond,
)
from skedasis.registry import EffectMethodName
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces
from skedasis.stats.random import RandomState, as_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.typing import ColorType

DisplayKind: TypeAlias = Literal["average", "individual", "both"]
"""What is drawn of a feature: the average, the curves of rows, or both."""
MethodName: TypeAlias = EffectMethodName | Literal["auto"]
FeatureOrPair: TypeAlias = FeatureLike | Sequence[FeatureLike]
"""A feature, or a pair of features, by name or position."""
SomeColumns: TypeAlias = Sequence[FeatureLike] | NDArray[np.generic]
"""SomeColumns of X, or a mask of them, as a list or an array."""

CURVES = 1000
"""Default of `subsample`, as in scikit-learn."""


class EffectDisplay:
    """Effects of features and pairs, drawn as scikit-learn's `PartialDependenceDisplay` draws partial dependence.

    Use `from_estimator`, or pass results of `explain`, with any of its options.

    Parameters
    ----------
    effects, surfaces : Effects and Surfaces, optional
        ``sd.explain(model, X, ["bmi", "age"])`` and ``sd.explain(model, X, [("bmi", "age")])``.
    features : list of str, int and tuple of two, optional
        What is drawn, one entry for each of the axes. By default all effects, then all surfaces.
    kind : {"average", "individual", "both"} or list of these
        What is drawn of each feature; see `from_estimator`.
    subsample : int or None
        Largest number of curves of rows in one panel; None for all that are kept.
    feature_names : list of str, optional
        Names of all columns of X, for information.

    Attributes
    ----------
    effects, surfaces : Effects and Surfaces
        Empty without single features or pairs. They have `ranking`, `to_frame`, `save`, `checks` and others.
    features, kind : list
        The names of what is drawn, and what is drawn of each.
    feature_names, subsample
        As passed.
    figure_ : matplotlib Figure or SubFigure
        Set by `plot`, like the others below.
    axes_ : ndarray of matplotlib Axes
        With the shape of the grid, or of the given axes; None in cells of the grid without a panel.
    bounding_ax_ : matplotlib Axes or None
        The axes that were divided into a grid.

    Raises
    ------
    DataError
        If there is no result, a feature is in none of the results, or for an invalid `kind` or `subsample`.
    UnsupportedError
        If `effects` or `surfaces` are other results.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> effects = sd.explain(lambda X: X[:, 0] * X[:, 1], X, ["x0", "x1"], n_jobs=2)
    >>> display = sd.EffectDisplay(effects).plot(n_cols=1)
    >>> display, display.axes_.shape
    (<EffectDisplay: RHALE of x0, RHALE of x1>, (2, 1))
    """

    figure_: Figure | SubFigure
    axes_: NDArray[np.object_]
    bounding_ax_: Axes | None

    @checked_call
    def __init__(
        self,
        effects: Effects | None = None,
        surfaces: Surfaces[Surface] | None = None,
        *,
        features: Sequence[FeatureOrPair] | None = None,
        kind: DisplayKind | Sequence[DisplayKind] = "average",
        subsample: int | None = CURVES,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.effects = Effects({}) if effects is None else effects
        self.surfaces = Surfaces[Surface]({}) if surfaces is None else surfaces
        for name, given, needed in (
            ("effects", self.effects, Effects),
            ("surfaces", self.surfaces, Surfaces),
        ):
            if not isinstance(given, needed):
                fix = "Pass sd.explain(model, X, ['a', 'b']), and of pairs surfaces=sd.explain(model, X, [('a', 'b')])"
                raise UnsupportedError(
                    f"EffectDisplay({name})", type(given).__name__, needed.__name__, fix
                )
        wanted = [*self.effects, *self.surfaces] if features is None else features
        results = [self._result(_members(one)) for one in _as_list(wanted)]
        self.features = [r.feature if isinstance(r, Effect) else r.features for r in results]
        self.kind = _kinds(kind, self.features)
        self.subsample = check_int_or_none(
            "EffectDisplay(subsample)", subsample, 1, "Use 200, or None for all"
        )
        self.feature_names = None if feature_names is None else list(feature_names)

    def _result(self, members: Sequence[FeatureLike]) -> Effect | Surface:
        if len(members) == 1:
            return self.effects[members[0]]
        return self.surfaces[members[0], members[1]]

    @property
    def results(self) -> list[Effect | Surface]:
        """Return the result of each entry of `features`: an `Effect`, or of a pair a `Surface`."""
        return [self._result(_members(one)) for one in self.features]

    def __repr__(self) -> str:
        named = [
            f"{r.spec.method} of {' × '.join(map(str, _members(one)))}"
            for one, r in zip(self.features, self.results, strict=True)
        ]
        return f"<EffectDisplay: {', '.join(named[:6])}{', …' * (len(named) > 6)}>"

    @classmethod
    @checked_call
    def from_estimator(  # noqa: PLR0913 - as many as scikit-learn's
        cls,
        estimator: ModelLike,
        X: TableLike,
        features: Sequence[FeatureOrPair] | NDArray[np.generic],
        *,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        categorical_features: SomeColumns | None = None,
        feature_names: Sequence[str] | NDArray[np.generic] | None = None,
        target: OutputLabel = None,
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        method: MethodName | Parameters = "auto",
        kind: DisplayKind | Sequence[DisplayKind] = "average",
        grid_resolution: int | None = None,
        percentiles: tuple[float, float] | None = None,
        custom_values: ByFeature[ArrayLike] | None = None,
        centered: bool = False,
        subsample: float | None = CURVES,
        random_state: RandomState = 0,
        max_model_rows: int | None = None,
        n_cols: int = 3,
        color: ColorType | None = None,
        ax: AxesLike | None = None,
    ) -> EffectDisplay:
        """Explain features of a fitted estimator, and draw them, by the conventions of scikit-learn.

        Parameters
        ----------
        estimator : fitted estimator, or quantity
            A regressor, a classifier, or a pipeline or search that ends in one; or a quantity: ``sd.entropy(model)``.
        X : array or data frame, shape (n, d)
            Rows to explain on. Never modified.
        features : list of {int, str, pair of int, pair of str}
            A panel for each entry, in any mixture: ``(0, 1)`` are two features, and ``[(0, 1)]`` is a pair.
        y, sample_weight : arrays of n numbers, optional
            Labels and frequencies of the rows, as in `explain`.
        categorical_features : list of {int, str}, or mask of d truth values, optional
            SomeColumns of numbers that are categories. Text, booleans and categorical columns always are.
        feature_names : list of d str, optional
            Names of the columns.
        target : label or int, optional
            The class of a classifier, by default the second of two; or the index of one of several outputs.
        response_method : {"auto", "predict_proba", "decision_function"}
            What is explained of a classifier: "auto" is the probability, if it has one.
        method : str, or method
            A method by its name, or with its parameters, such as ``sd.ALE(bins=20)``. "auto" is PDP if there are curves
            of rows or options of a grid, else RHALE, and ALE for pairs and nominal features.
        kind : {"average", "individual", "both"} or list of these, one for each feature
            "average" draws what the method estimates, with its interval and the standard deviation between rows. "both"
            adds the curves of rows, which PDP and ICE of numeric features have; "individual" draws the curves alone.
        grid_resolution : int, optional
            Number of points of PDP and ICE; by default 50, and 20 for each feature of a pair.
        percentiles : (float, float), optional
            Percentiles as fractions between which the points of PDP and ICE lie.
        custom_values : mapping of feature to array, optional
            The points of PDP and ICE for some features. They override `grid_resolution`.
        centered : bool
            Whether curves of single features begin at zero.
        subsample : int, float or None
            Number of curves of rows to keep and draw, as a number, a share of the rows, or None for all. Averages are
            always over all rows.
        random_state : int, numpy.random.Generator or None
            Seed of the sample of curves, and of the rows of heterogeneity scores.
        max_model_rows : int or None
            Largest number of rows at which the model is called, for all panels; see `explain`.
        n_cols : int
            Largest number of columns of the grid.
        color : color, optional
            Colour of the averages, to distinguish displays on the same axes.
        ax : matplotlib Axes, or array-like of Axes, optional
            Where to draw, as in `plot`.

        Returns
        -------
        EffectDisplay
            The results are its `effects` and `surfaces`.

        Raises
        ------
        DataError, ModelOutputError, UnsupportedError
            As `explain`; for an unknown class, axes that do not fit, and an option that the method does not have.

        Notes
        -----
        Costs the model rows of the method and of the heterogeneity scores, as `explain`. With ``method="pdp"`` the
        averages are those of ``partial_dependence(method="brute")`` at the same points. Unlike there, `target` of a
        classifier with two classes is the class that is explained, and is not ignored.

        Examples
        --------
        >>> import skedasis as sd
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = LinearRegression().fit(X, y)
        >>> display = sd.EffectDisplay.from_estimator(model, X, ["bmi", 8, ("age", "bp")])
        >>> display
        <EffectDisplay: RHALE of bmi, RHALE of s5, ALE of age × bp>
        >>> display.axes_.shape
        (1, 3)
        """
        what = "from_estimator"
        check_flag(f"{what}(centered)", centered)
        seed = as_seed(f"{what}(random_state)", random_state)
        rows = as_dataset(X, sample_weight=sample_weight)
        schema = _schema(rows.features, feature_names, categorical_features)
        known = apply_schema(rows.features, schema)

        def named(wanted: FeatureOrPair, option: str = "features") -> tuple[str, ...]:
            return tuple(
                known[find_feature(known, one, f"{what}({option})")].name
                for one in _members(wanted)
            )

        panels = [named(one) for one in _as_list(features)]
        kinds = _kinds(kind, [p[0] if len(p) == 1 else p for p in panels])
        check_axes(what, ax, len(panels), n_cols)
        if isinstance(subsample, float) and 0 < subsample < 1:
            subsample = math.ceil(subsample * len(rows))
        fix = "Use 200, 0.1 for a share of the rows, or None for all"
        most = check_int_or_none(f"{what}(subsample)", subsample, 1, fix)
        if not isinstance(custom_values, (Mapping, NoneType)):
            got, fix = shown(custom_values), 'Write custom_values={"age": [20, 40, 60]}'
            raise DataError(f"{what}(custom_values)", got, "a mapping of features to values", fix)
        points = {
            named(cast("FeatureLike", k), "custom_values")[0]: np.asarray(v)
            for k, v in (custom_values or {}).items()
        }
        grid = _grid(grid_resolution, percentiles, points, {name for p in panels for name in p})
        curves = any(k != "average" for k in kinds)
        quantity = _quantity(estimator, target, response_method)
        singles = list(dict.fromkeys(p[0] for p in panels if len(p) == 1))
        pairs = list(dict.fromkeys((p[0], p[1]) for p in panels if len(p) == 2))
        options = ExplainOptions.of(
            what,
            y=y,
            sample_weight=sample_weight,
            schema=schema,
            random_state=seed,
            max_model_rows=max_model_rows,
        )
        methods = [
            _method(method, grid, most, curves=curves, centered=c) for c in (centered, False)
        ]
        asked = [
            PlannedCall(quantity, X, some, chosen)
            for some, chosen in zip((singles, pairs), methods, strict=True)
            if some
        ]
        more = None if len(asked) == 1 else lambda _, less: asked[1].cost(less)
        effects = surfaces = None
        with one_call() as work:
            options = within_limit(replace(asked[0], more=more), options)
            if singles:
                work.more = 0.0 if more is None else more(rows, options)
                effects = explain(quantity, X, singles, method=methods[0], **options.keywords())
                work.more = 0.0
            if pairs:
                surfaces = explain(quantity, X, pairs, method=methods[1], **options.keywords())
        display = cls(
            effects,
            surfaces,
            features=panels,
            kind=kinds,
            subsample=most,
            feature_names=[f.name for f in known],
        )
        return display.plot(ax, n_cols=n_cols, color=color)

    @checked_call
    def plot(
        self,
        ax: AxesLike | None = None,
        *,
        n_cols: int = 3,
        color: ColorType | None = None,
        confidence_level: float = 0.95,
        legend: bool = True,
    ) -> EffectDisplay:
        """Draw each feature and pair on axes of its own, single features on one vertical scale.

        Parameters
        ----------
        ax : matplotlib Axes, or array-like of Axes, optional
            One `Axes` is used as it is for one panel; for several it is switched off, and a grid is drawn in its place.
            An array or list has one `Axes` for each panel; pass ``other.axes_`` to draw over another display. By
            default a figure of `matplotlib.pyplot` is created.
        n_cols : int
            Largest number of columns of the grid.
        color : color, optional
            Colour of the averages and their intervals.
        confidence_level : float
            Confidence level of the intervals of the averages.
        legend : bool
            Whether the first panel of a single feature has a legend.

        Returns
        -------
        EffectDisplay
            The display itself, with `figure_`, `axes_` and `bounding_ax_`.

        Raises
        ------
        DataError, UnsupportedError
            For axes that do not fit, invalid values of options, and curves of rows that a method does not have.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> from matplotlib.figure import Figure
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> effects = sd.explain(lambda X: X[:, 0] * X[:, 1], X, ["x0", "x1"])
        >>> top, bottom = Figure().subplots(2)
        >>> display = sd.EffectDisplay(effects).plot([top, bottom], color="tab:red")
        >>> display.axes_[1] is bottom
        True
        """
        check_axes("EffectDisplay.plot", ax, len(self.features), n_cols)
        views = [
            EffectPlotOptions(
                ice=None if k == "average" else "raw" if r.spec.center is None else "centered",
                curves=self.subsample or (len(r.curves or ()) if isinstance(r, Effect) else None),
                confidence_level=confidence_level,
                elevated_regions=None,
            )
            for r, k in zip(self.results, self.kind, strict=True)
        ]
        alone = [k == "individual" for k in self.kind]
        drawn = draw_panels(self.results, views, alone, ax, n_cols, color, legend)
        self.figure_, self.axes_, self.bounding_ax_ = drawn
        return self


# --- scikit-learn's arguments ---------------------------------------------------------------------


def _as_list(features: object) -> list[FeatureOrPair]:
    """Return the entries of `features`; a single name or position is a list of one."""
    one = isinstance(features, str) or not isinstance(features, Iterable)
    items = [features] if one else list(cast("Iterable[object]", features))
    if not items:
        fix = "Pass names or positions: ['age', ('age', 'bmi')]"
        raise DataError("features", "an empty list", "a list of features and pairs", fix)
    return cast("list[FeatureOrPair]", items)


def _members(wanted: FeatureOrPair) -> Sequence[FeatureLike]:
    """Return the one or two features of an entry of `features`."""
    members = tuple(wanted) if isinstance(wanted, (tuple, list, np.ndarray)) else (wanted,)
    if len(members) not in (1, 2):
        got = f"{shown(wanted)}, which has {len(members)} entries"
        fix = f"List features one by one: {list(members)!r}"
        raise DataError("features", got, "a feature or a pair", fix)
    return cast("Sequence[FeatureLike]", members)


def _kinds(kind: object, panels: Sequence[object]) -> list[DisplayKind]:
    one_for_all = isinstance(kind, str) or not isinstance(kind, Iterable)
    each = [kind] * len(panels) if one_for_all else kind
    kinds = list(cast("Iterable[DisplayKind]", each))
    if len(kinds) != len(panels):
        got, expected = f"{len(kinds)} kinds", f"one kind for each of {len(panels)} features"
        raise DataError("kind", got, expected, "Pass one kind for all: kind='average'")
    for one in kinds:
        check_option("kind", one, ("average", "individual", "both"))
    own = [k if isinstance(p, str) else "average" for k, p in zip(kinds, panels, strict=True)]
    if own != kinds:
        got = f"{shown(kind)} with a pair of features, which has no curves of rows"
        raise DataError("kind", got, "'average' for pairs", f"Write kind={own!r}")
    return kinds


def _schema(
    known: Sequence[Feature], names: Iterable[object] | None, categorical: object
) -> dict[Hashable, SchemaEntry]:
    """Return the schema with the given names of columns and categories."""
    names = [f.name for f in known] if names is None else [str(name) for name in names]
    if len(names) != len(known):
        expected, fix = f"{len(known)}, one for each column of X", "Leave feature_names out"
        raise DataError("from_estimator(feature_names)", f"{len(names)} names", expected, fix)
    entries: dict[Hashable, SchemaEntry] = {
        f.key: {"name": name} for f, name in zip(known, names, strict=True)
    }
    what = "from_estimator(categorical_features)"
    given = np.ravel(np.asarray([] if categorical is None else categorical))
    if given.dtype == bool and len(given) != len(known):
        got, expected = f"a mask of {len(given)}", f"{len(known)}, one for each column of X"
        raise DataError(what, got, expected, "Pass the names of the columns instead")
    named = apply_schema(known, entries)
    for one in np.flatnonzero(given) if given.dtype == bool else given.tolist():
        entries[known[find_feature(named, one, what)].key]["kind"] = "nominal"
    return entries


def _grid(
    resolution: int | None, percentiles: object, points: dict[str, Values], names: set[str]
) -> dict[str, object]:
    """Return the parameters of PDP and ICE for scikit-learn's options of a grid."""
    grid: dict[str, object] = {}
    if resolution is not None:
        grid = {"grid": resolution, "spacing": "uniform"}
    if percentiles is not None:
        pair = tuple(percentiles) if isinstance(percentiles, (tuple, list)) else ()
        if (
            len(pair) != 2
            or not all(is_number(v) and 0 <= v <= 1 for v in pair)
            or pair[0] >= pair[1]
        ):
            got, fix = shown(percentiles), "Use percentiles=(0.05, 0.95)"
            raise DataError("from_estimator(percentiles)", got, "two rising fractions", fix)
        grid |= {"percentiles": (100 * pair[0], 100 * pair[1]), "spacing": "uniform"}
    if points:
        grid["grid"] = (dict.fromkeys(names, resolution) if resolution else {}) | points
    return grid


def _method(
    method: MethodName | Parameters,
    grid: dict[str, object],
    most: int | None,
    *,
    curves: bool,
    centered: bool,
) -> Parameters | None:
    """Return the method; None for the default of `explain`."""
    auto = isinstance(method, str) and method.lower() == "auto"
    if auto and not (curves or grid or centered):
        return None
    base = as_method(("pdp" if curves or grid else "rhale") if auto else method)
    if (curves or grid) and not isinstance(base, PDP):
        got = f"{base.name}, which has neither a grid nor curves of rows"
        fix = f"Use method='pdp', or kind='average' and bins: method=sd.{base.name}(bins=20)"
        raise DataError("from_estimator(method)", got, "'pdp' or 'ice'", fix)
    if centered and not isinstance(base, (Accumulated, PDP)):
        expected = "a method of effects that may begin at zero"
        raise DataError("from_estimator(centered)", base.name, expected, "Leave centered out")
    if curves and isinstance(method, str):
        grid = {**grid, "ice": "all" if most is None else most}
    return replace(base, **grid, **({"center": "start"} if centered else {}))


def _quantity(estimator: object, target: OutputLabel, response_method: str) -> Quantity:
    """Return what is explained: a quantity itself, the probability or score of a class, or a prediction."""
    what = "from_estimator(response_method)"
    check_option(what, response_method, ("auto", "predict_proba", "decision_function"))
    if isinstance(estimator, Quantity):
        if target is not None or response_method != "auto":
            fix = "Choose it there: sd.probability(model, class_=...)"
            got = "a choice of the output of a quantity"
            raise DataError("from_estimator(target)", got, "a quantity as it is", fix)
        return estimator
    there = [m for m in ("predict_proba", "decision_function") if hasattr(estimator, m)]
    if response_method not in ("auto", *there):
        got, fix = f"{title(estimator)} without {response_method}", f"Use {(*there, 'auto')[0]!r}"
        raise UnsupportedError(what, got, "a method that the estimator has", fix)
    scored = response_method == "decision_function" or there == ["decision_function"]
    if is_classifier(estimator):
        if not scored:
            one = target if labels_of(estimator) else _class(estimator, target)
            return probability(cast("SupportsPredictProba", estimator), one)
        return _score(estimator, target)
    if response_method == "decision_function":  # of an outlier detector
        return DecisionFunction(estimator, "decision function")
    one = cast("Prediction", default_quantity(cast("SupportsPredict", estimator)))
    return predictions(one, cast("int | None", target))


def _classes(estimator: object) -> list[OutputLabel]:
    labels = labels_of(estimator)  # of several labels, whose columns they are
    return [*labels] if labels else np.asarray(classes_of(estimator)).tolist()


def _class(estimator: object, target: OutputLabel) -> OutputLabel:
    """Return the class that is explained; raise `DataError` if it is none of the classifier's."""
    classes = _classes(estimator)
    binary = len(classes) == 2 and not labels_of(estimator)
    label = classes[1] if target is None and binary else target
    if label not in classes:
        expected = f"one of the classes {', '.join(map(repr, classes[:12]))}"
        raise DataError(
            "from_estimator(target)", shown(target), expected, f"Write target={classes[-1]!r}"
        )
    return label


def _score(estimator: object, target: OutputLabel) -> Quantity:
    """Return the score of a class by `decision_function`."""
    label, classes = _class(estimator, target), _classes(estimator)
    name = f"decision function (y = {label})"
    if decides_by_logit(estimator):  # with its slopes, or from the structure of its trees
        return logit(cast("SupportsPredictProba", estimator), label, name=name)
    return DecisionFunction(estimator, name, column=classes.index(label), classes=len(classes))


@dataclass(frozen=True, eq=False)
class DecisionFunction(FromModel):
    """The score of a class by `decision_function`, or the only score, that of an outlier detector."""

    column: int | None = None
    classes: int | None = None

    def raw(self, X: ModelRows) -> RawResponse:
        """Call the model."""
        return respond(self.model, "decision_function", X)

    def read(self, raw: RawResponse, y: Values | None = None) -> Values:
        """Return the score of the class; of the first of two classes its negative."""
        scores = np.asarray(raw)
        if scores.ndim == 1:
            return -scores if self.column == 0 else scores
        if scores.shape[1] != self.classes:
            got, expected = f"{scores.shape[1]} scores", f"one for each of {self.classes} classes"
            fix = "Use decision_function_shape='ovr', or response_method='predict_proba'"
            raise ModelOutputError(self.describe(), got, expected, fix)
        return scores[:, self.column]
