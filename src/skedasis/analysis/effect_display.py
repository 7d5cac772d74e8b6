"""`EffectDisplay`: effects by the conventions of scikit-learn's `PartialDependenceDisplay`.

A translation, without mathematics or drawing of its own: `from_estimator` turns scikit-learn's arguments into a
quantity, a schema and a method, and calls `explain`; `plot` draws the results by their own figures, on axes that
`plots.effect_display` arranges as scikit-learn does.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._arguments import check_flag, check_int, check_option, is_int, is_number, shown
from skedasis._calls import checked_call
from skedasis._types import Level, ModelRows, OutputLabel, RawResponse, TableLike, Values
from skedasis.data.dataset import Dataset, as_dataset
from skedasis.data.features import Feature, SchemaEntry, apply_schema, find_feature
from skedasis.engine.explain import FeatureLike, explain
from skedasis.engine.select import METHODS, as_method
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.methods.ale import RHALE, Accumulated
from skedasis.methods.base import ByFeature, Parameters
from skedasis.methods.pdp import PDP
from skedasis.methods.permutation import PFI
from skedasis.models.introspection import (
    decides_by_logit,
    is_classifier,
    labels_of,
    title,
    without_probabilities,
)
from skedasis.models.protocols import SupportsPredict, SupportsPredictProba
from skedasis.plots.effect_display import AxesLike, check_axes, draw_panels, panel_figures
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import (
    FromModel,
    ModelLike,
    MultiOutputQuantity,
    Prediction,
    default_quantity,
    logit,
    probability,
    respond,
)
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces
from skedasis.stats.random import RandomState, as_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.typing import ColorType

Kind: TypeAlias = Literal["average", "individual", "both"]
"""What is drawn of a feature: the average, the curves of rows, or both."""
MethodName: TypeAlias = Literal["auto", "ale", "dale", "ice", "mplot", "pdp", "rhale", "uale"]
FeatureOrPair: TypeAlias = FeatureLike | Sequence[FeatureLike]
"""A feature, or a pair of features, by name or position."""
Columns: TypeAlias = Sequence[FeatureLike] | NDArray[np.generic]
"""Columns of X, or a mask of them, as a list or an array."""
DisplayPanel: TypeAlias = str | tuple[str, str]
"""The names of what is drawn on one of the axes."""

KINDS: tuple[Kind, ...] = ("average", "individual", "both")
CURVES = 1000
"""Default of `subsample`, as in scikit-learn."""


class EffectDisplay:
    """Effects of features and pairs, drawn as scikit-learn's `PartialDependenceDisplay` draws partial dependence.

    Use `from_estimator`, or pass results of `explain`, with any of its options.

    Parameters
    ----------
    effects : Effects, optional
        Effects of features: ``sd.explain(model, X, ["bmi", "age"])``.
    surfaces : Surfaces, optional
        Surfaces of pairs: ``sd.explain(model, X, [("bmi", "age")])``.
    features : list of str, int and tuple of two, optional
        What is drawn, one entry for each of the axes, by name, label or position. By default all effects, then all
        surfaces.
    kind : {"average", "individual", "both"} or list of these
        What is drawn of each feature; see `from_estimator`.
    subsample : int or None
        Largest number of curves of rows in one panel; None for all that are kept.
    feature_names : list of str, optional
        Names of all columns of X, for information.
    target : optional
        The class or output that is explained, for information.

    Attributes
    ----------
    effects : Effects
        Empty without single features. Results of `explain` have `ranking`, `to_frame`, `save`, `checks` and others.
    surfaces : Surfaces
        Empty without pairs.
    features : list of str and tuple of two str
        The names of what is drawn.
    kind : list of str
        One entry for each of `features`.
    feature_names, target, subsample
        As passed.
    figure_ : matplotlib Figure
        Set by `plot`, like the others below. A `SubFigure` if the axes are in one.
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

    effects: Effects
    surfaces: Surfaces[Surface]
    features: list[DisplayPanel]
    kind: list[Kind]
    subsample: int | None
    feature_names: list[str] | None
    target: OutputLabel
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
        kind: Kind | Sequence[Kind] = "average",
        subsample: int | None = CURVES,
        feature_names: Sequence[str] | None = None,
        target: OutputLabel = None,
    ) -> None:
        for name, given, needed in (
            ("effects", effects, Effects),
            ("surfaces", surfaces, Surfaces),
        ):
            if given is not None and not isinstance(given, needed):
                fix = "Pass sd.explain(model, X, ['a', 'b']), and of pairs surfaces=sd.explain(model, X, [('a', 'b')])"
                got = f"{type(given).__name__}"
                raise UnsupportedError(f"EffectDisplay({name})", got, needed.__name__, fix)
        self.effects = Effects({}) if effects is None else effects
        self.surfaces = Surfaces({}) if surfaces is None else surfaces
        wanted = [*self.effects, *self.surfaces] if features is None else features
        self.features = [self._panel(one) for one in _as_list("EffectDisplay", wanted)]
        self.kind = _kinds("EffectDisplay", kind, self.features)
        if subsample is not None:
            fix = "Use 200, or None for all"
            check_int("EffectDisplay(subsample)", subsample, 1, fix)
        self.subsample = subsample
        self.feature_names = None if feature_names is None else list(feature_names)
        self.target = target

    def _panel(self, wanted: FeatureOrPair) -> DisplayPanel:
        """Return the names of a feature or pair that one of the results has."""
        found = self._result(wanted)
        return found.feature if isinstance(found, Effect) else found.features

    def _result(self, wanted: FeatureOrPair) -> Effect | Surface:
        members = _members("EffectDisplay(features)", wanted)
        of: Effects | Surfaces[Surface] = self.effects if len(members) == 1 else self.surfaces
        if not of:
            kind, name = ("a feature", "effects") if len(members) == 1 else ("a pair", "surfaces")
            got = f"{shown(wanted)}, {kind}, without {name}"
            fix = f"Pass {name}=sd.explain(model, X, [{shown(wanted)}])"
            raise DataError("EffectDisplay(features)", got, f"{name} to draw", fix)
        if isinstance(of, Surfaces):
            return of[members[0], members[-1]]
        return of[members[0]]

    @property
    def results(self) -> list[Effect | Surface]:
        """Return the result of each entry of `features`: an `Effect`, or of a pair a `Surface`."""
        return [self._result(one) for one in self.features]

    def __repr__(self) -> str:
        named = [
            f"{r.spec.method} of {one if isinstance(one, str) else ' × '.join(one)}"
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
        categorical_features: Columns | None = None,
        feature_names: Sequence[str] | NDArray[np.generic] | None = None,
        target: OutputLabel = None,
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        method: MethodName | Parameters = "auto",
        kind: Kind | Sequence[Kind] = "average",
        grid_resolution: int | None = None,
        percentiles: tuple[float, float] | None = None,
        custom_values: ByFeature[ArrayLike] | None = None,
        centered: bool = False,
        subsample: float | None = CURVES,
        random_state: RandomState = 0,
        n_cols: int = 3,
        color: ColorType | None = None,
        ax: AxesLike | None = None,
    ) -> EffectDisplay:
        """Explain features of a fitted estimator, and draw them, by the conventions of scikit-learn.

        Parameters
        ----------
        estimator : fitted estimator, or quantity
            A regressor, a classifier, or a pipeline or search that ends in one; or a quantity such as
            ``sd.entropy(model)``.
        X : array or data frame, shape (n, d)
            Rows to explain on. Never modified.
        features : list of {int, str, pair of int, pair of str}
            A panel for each entry: a feature by position or name, or a pair of features, in any mixture. As in
            scikit-learn, ``(0, 1)`` are two features, and ``[(0, 1)]`` is a pair.
        y : array of n labels, optional
            For quantities that need labels, such as ``sd.nll(model)``, and for `MPlot`.
        sample_weight : array of n numbers, optional
            Frequencies of the rows, for every method and `kind`.
        categorical_features : list of {int, str}, or mask of d truth values, optional
            Columns of numbers that are categories. Text, booleans and categorical columns always are.
        feature_names : list of d str, optional
            Names of the columns of an array. Those of a data frame are its columns.
        target : label or int, optional
            Of a classifier the class that is explained: by default the second of two; of more it must be given. Of a
            model with several outputs the index of one, which must be given.
        response_method : {"auto", "predict_proba", "decision_function"}
            What is explained of a classifier. "auto" is the probability, and the decision function of a classifier that
            has no probabilities.
        method : str, or method
            "auto": RHALE; ALE for pairs and for nominal features; and PDP for all if `kind` needs curves of rows. Or a
            method by its name, such as "pdp", or with its parameters, such as ``sd.ALE(bins=20)``.
        kind : {"average", "individual", "both"} or list of these, one for each feature
            "average" draws what the method estimates, with its interval and the standard deviation between rows. "both"
            adds the curves of rows, which PDP and ICE of numeric features have; "individual" draws the curves alone.
        grid_resolution : int, optional
            Number of points of "pdp" and "ice"; by default 50, and 20 for each feature of a pair.
        percentiles : (float, float), optional
            Percentiles as fractions between which the points of "pdp" and "ice" lie, by default (0.05, 0.95).
        custom_values : mapping of feature to array, optional
            The points of "pdp" and "ice" for some features. They override `grid_resolution`.
        centered : bool
            Whether curves of single features begin at zero. By default PDP and ICE have the level of the predictions,
            and accumulated effects have a mean of zero.
        subsample : int, float or None
            Number of curves of rows to keep and draw, as a number, a share of the rows, or None for all. Averages are
            always over all rows.
        random_state : int, numpy.random.Generator or None
            Seed of the sample of curves, and of the rows of heterogeneity scores.
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
        DataError
            For an unknown feature or class, a missing `target`, a number of axes other than that of the features, and
            an option that the method does not have. Names, options and axes are checked before the model is called.
        UnsupportedError
            For a keyword of scikit-learn that has no meaning here, with what to use instead; and as `explain`.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Notes
        -----
        Costs the model rows of the method (none for trees that are evaluated from their structure): m n for each
        feature and m points of PDP; for RHALE at most 2 n for each numeric feature. To these come the heterogeneity
        scores, as in `explain`. For a model that is no classifier, two more rows count its outputs.

        With ``method="pdp"`` the averages are those of ``partial_dependence(method="brute")`` at the same points;
        scikit-learn has 100 points by default, and other end points. Unlike there, `target` of a classifier with two
        classes is the class that is explained, and is not ignored.

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
        >>> display.effects["bmi"].bins.effect.round().tolist()
        [520.0]
        >>> display.axes_.shape
        (1, 3)
        """
        what = "from_estimator"
        check_option(
            f"{what}(response_method)",
            response_method,
            ("auto", "predict_proba", "decision_function"),
        )
        check_flag(f"{what}(centered)", centered)
        seed = as_seed(f"{what}(random_state)", random_state)
        rows = as_dataset(X, sample_weight=sample_weight)
        known, schema = _named(rows, feature_names, categorical_features)
        panels = [_named_panel(known, one) for one in _as_list(what, features)]
        kinds = _kinds(what, kind, panels)
        curves = any(k != "average" for k in kinds)
        shown_curves = _n_curves(subsample, len(rows), drawn=curves)
        options = _MethodOptions(
            grid_resolution, percentiles, _points(known, custom_values), centered, shown_curves
        )
        single, pair = _methods(method, options, panels, curves=curves)
        check_axes(what, ax, len(panels), n_cols)
        quantity = _quantity(estimator, rows, target, response_method)
        names = list(dict.fromkeys(p for p in panels if isinstance(p, str)))
        pairs = list(dict.fromkeys(p for p in panels if not isinstance(p, str)))
        effects = surfaces = None
        if names:
            effects = explain(
                quantity, X, names, method=single, y=y, sample_weight=sample_weight,
                schema=schema, random_state=seed,
            )  # fmt: skip
        if pairs:
            surfaces = explain(
                quantity, X, pairs, method=pair, y=y, sample_weight=sample_weight,
                schema=schema, random_state=seed,
            )  # fmt: skip
        display = cls(
            effects,
            surfaces,
            features=panels,
            kind=kinds,
            subsample=shown_curves,
            feature_names=[f.name for f in known],
            target=target,
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
        DataError
            For a number of axes other than that of the panels, for axes that are switched off, and for an invalid
            value of an option.
        UnsupportedError
            For curves of rows that a method does not have.

        Notes
        -----
        No model row. Artists belong to the axes: ``display.axes_[0, 0].lines``.

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
        specs = panel_figures(self.results, self.kind, self.subsample, confidence_level)
        drawn = draw_panels(specs, ax, n_cols, color, legend)
        self.figure_, self.axes_, self.bounding_ax_ = drawn
        return self


# --- arguments ------------------------------------------------------------------------------------


def _as_list(what: str, features: object) -> list[FeatureOrPair]:
    """Return the entries of `features`; a single name or position is a list of one."""
    if isinstance(features, str) or is_int(features):
        return [cast("FeatureLike", features)]
    listed = isinstance(features, Iterable) and not isinstance(features, (Mapping, set, frozenset))
    items = list(cast("Iterable[FeatureOrPair]", features)) if listed else []
    if not items:
        got = "an empty list" if listed else shown(features)
        expected = "a list of features and pairs"
        fix = "Pass names or positions: ['age', ('age', 'bmi')]"
        raise DataError(f"{what}(features)", got, expected, fix)
    return items


def _members(
    what: str, wanted: FeatureOrPair
) -> tuple[FeatureLike] | tuple[FeatureLike, FeatureLike]:
    """Return the one or two features of an entry of `features`."""
    if isinstance(wanted, str) or not isinstance(wanted, (tuple, list, np.ndarray)):
        return (cast("FeatureLike", wanted),)
    members = tuple(cast("Sequence[FeatureLike]", wanted))
    if len(members) not in (1, 2):
        got, expected = f"{shown(wanted)}, which has {len(members)} entries", "a feature or a pair"
        raise DataError(what, got, expected, f"List features one by one: {list(members)!r}")
    return members[:1] if len(members) == 1 else (members[0], members[1])


def _named_panel(known: Sequence[Feature], wanted: FeatureOrPair) -> DisplayPanel:
    """Return the names of a feature or pair of X."""
    what = "from_estimator(features)"
    names = [known[find_feature(known, one, what)].name for one in _members(what, wanted)]
    return names[0] if len(names) == 1 else (names[0], names[1])


def _kinds(what: str, kind: object, panels: Sequence[DisplayPanel]) -> list[Kind]:
    """Return the kind of each panel."""
    each = [kind] * len(panels) if isinstance(kind, str) or not isinstance(kind, Iterable) else kind
    kinds = list(cast("Iterable[Kind]", each))
    if len(kinds) != len(panels):
        got, expected = f"{len(kinds)} kinds", f"one kind for each of {len(panels)} features"
        raise DataError(f"{what}(kind)", got, expected, "Pass one kind for all: kind='average'")
    for one in kinds:
        check_option(f"{what}(kind)", one, KINDS)
    if any(k != "average" and not isinstance(p, str) for k, p in zip(kinds, panels, strict=True)):
        own = [k if isinstance(p, str) else "average" for k, p in zip(kinds, panels, strict=True)]
        got = f"{shown(kind)} with a pair of features, which has no curves of rows"
        raise DataError(f"{what}(kind)", got, "'average' for pairs", f"Write kind={own!r}")
    return kinds


def _n_curves(subsample: object, rows: int, *, drawn: bool) -> int | None:
    """Return the largest number of curves of rows to keep and draw; None for all."""
    what = "from_estimator(subsample)"
    if not drawn and not (is_int(subsample) and subsample == CURVES):
        fix = "Write kind='both' to draw curves; to explain a sample of the rows, pass these rows as X"
        raise DataError(
            what, f"{shown(subsample)} with kind='average'", "curves of rows to draw", fix
        )
    if subsample is None:
        return None
    if isinstance(subsample, (float, np.floating)) and 0 < subsample < 1:
        return math.ceil(float(subsample) * rows)
    expected = "a number of rows, a share of them between 0 and 1, or None for all"
    return check_int(what, subsample, 1, "Use 200", expected)


def _named(
    rows: Dataset, feature_names: object, categorical: object
) -> tuple[tuple[Feature, ...], dict[Hashable, SchemaEntry] | None]:
    """Return the columns of X, and the schema with the given names and categories; None if there are none."""
    known = rows.features
    entries: dict[Hashable, SchemaEntry] = {}
    if feature_names is not None:
        names = _texts(feature_names)
        if names is None or len(names) != len(known) or len(set(names)) != len(names):
            got = shown(feature_names) if names is None else f"{len(names)} names"
            expected = f"different names of the {len(known)} columns of X"
            fix = f"Pass one text for each column, such as {[f.name for f in known[:3]]!r}"
            raise DataError("from_estimator(feature_names)", got, expected, fix)
        if rows.library is not None and names != [f.name for f in known]:
            got = "names that are not the columns of X"
            fix = "Leave feature_names out, or rename the columns of X"
            raise DataError("from_estimator(feature_names)", got, "its columns, in order", fix)
        entries = {f.key: {"name": name} for f, name in zip(known, names, strict=True)}
    named = apply_schema(known, entries or None)
    for position in () if categorical is None else _positions(named, categorical):
        own: SchemaEntry = {**entries.get(known[position].key, {}), "kind": "nominal"}
        entries[known[position].key] = own
    return apply_schema(known, entries or None), entries or None


def _texts(values: object) -> list[str] | None:
    """Return a list of texts, or None if it is something else."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return None
    found = list(cast("Iterable[object]", values))
    return [str(v) for v in found] if all(isinstance(v, str) for v in found) else None


def _positions(known: Sequence[Feature], categorical: object) -> list[int]:
    """Return the positions of the columns that are declared as categories: by a mask, names or positions."""
    what = "from_estimator(categorical_features)"
    listed = isinstance(categorical, Iterable) and not isinstance(categorical, str)
    items = list(cast("Iterable[Hashable]", categorical)) if listed else [categorical]
    if items and all(isinstance(v, (bool, np.bool_)) for v in items):
        if len(items) != len(known):
            got, expected = f"a mask of {len(items)}", f"{len(known)}, one for each column of X"
            raise DataError(what, got, expected, "Pass the names of the columns instead")
        return [j for j, chosen in enumerate(items) if chosen]
    return [find_feature(known, cast("Hashable", v), what) for v in items]


def _points(known: Sequence[Feature], custom: object) -> dict[str, Values] | None:
    """Return the points that are given for some features, by their names."""
    if custom is None:
        return None
    what = "from_estimator(custom_values)"
    if not isinstance(custom, Mapping):
        fix = 'Write custom_values={"age": [20, 40, 60]}'
        raise DataError(what, shown(custom), "a mapping of features to values", fix)
    given = cast("Mapping[Hashable, ArrayLike]", custom)
    return {known[find_feature(known, k, what)].name: np.asarray(v) for k, v in given.items()}


# --- methods --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _MethodOptions:
    """Scikit-learn's options that are parameters of a method here."""

    grid_resolution: int | None
    percentiles: tuple[float, float] | None
    custom_values: dict[str, Values] | None
    centered: bool
    curves: int | None

    @property
    def of_grid(self) -> list[str]:
        """The options of a grid that are given."""
        given = {
            "grid_resolution": self.grid_resolution,
            "percentiles": self.percentiles,
            "custom_values": self.custom_values,
        }
        return [name for name, value in given.items() if value is not None]

    def grid(self, panels: Sequence[DisplayPanel]) -> dict[str, object]:
        """Return the parameters of the grid of PDP and ICE."""
        changes: dict[str, object] = {}
        if self.grid_resolution is not None:
            what = "from_estimator(grid_resolution)"
            changes["grid"] = check_int(what, self.grid_resolution, 2, "Use 50")
        if self.percentiles is not None:
            changes["percentiles"] = _percent(self.percentiles)
        if changes:
            changes["spacing"] = "uniform"
        if self.custom_values is not None:
            named = {name for p in panels for name in ((p,) if isinstance(p, str) else p)}
            points = dict.fromkeys(named, changes["grid"]) if "grid" in changes else {}
            changes["grid"] = points | self.custom_values
        return changes


def _percent(percentiles: object) -> tuple[float, float]:
    """Return percentiles in percent."""
    pair = tuple(percentiles) if isinstance(percentiles, (tuple, list)) else ()
    if len(pair) != 2 or not all(is_number(v) for v in pair) or not 0 <= pair[0] < pair[1] <= 1:
        expected = "two fractions, the smaller first"
        fix = "Use percentiles=(0.05, 0.95)"
        raise DataError("from_estimator(percentiles)", shown(percentiles), expected, fix)
    return 100 * float(pair[0]), 100 * float(pair[1])


def _methods(
    method: object, options: _MethodOptions, panels: Sequence[DisplayPanel], *, curves: bool
) -> tuple[Parameters | None, Parameters | None]:
    """Return the methods for single features and for pairs; None for the defaults of `explain`.

    Raises
    ------
    DataError
        For an unknown method, and for options that the method does not have.
    """
    what = "from_estimator(method)"
    if isinstance(method, str) and method.lower() in _OF_SKLEARN:
        got, expected = (
            shown(method),
            f"'auto' or one of {', '.join(repr(m) for m in METHODS if m != 'pfi')}",
        )
        raise DataError(what, got, expected, _OF_SKLEARN[method.lower()])
    auto = isinstance(method, str) and method.lower() == "auto"
    if auto and not curves:
        _check_no_grid(options, "RHALE", "method='auto'")
        if not options.centered:
            return None, None
        return RHALE(center="start"), None
    base = as_method("pdp" if auto else method)
    if isinstance(base, PFI):
        got, fix = (
            "PFI, whose importances are no curves",
            "Use sd.explain(model, X, y=y, method='pfi')",
        )
        raise DataError(what, got, "a method of effects such as 'ale'", fix)
    if curves and not isinstance(base, PDP):
        got = f"{base.name}, which has no curves of rows"
        fix = "Use kind='average', which shows the heterogeneity, or method='pdp'"
        raise DataError(f"{what} with kind='individual' or 'both'", got, "'pdp' or 'ice'", fix)
    if not isinstance(method, str):
        set_here = [*options.of_grid, *(["centered"] if options.centered else [])]
        if set_here:
            got = f"{set_here[0]} with a method that has parameters of its own"
            fix = f"Pass it to the method: method=sd.{base.name}({_IN_METHOD[set_here[0]]})"
            raise DataError(f"from_estimator({set_here[0]})", got, "one of them", fix)
        return base, base
    if not isinstance(base, PDP):
        _check_no_grid(options, base.name, f"method={method!r}")
        return _begun(base, options), base
    base = replace(base, **options.grid(panels))
    if curves:
        base = replace(base, ice="all" if options.curves is None else options.curves)
    return _begun(base, options), base


def _begun(method: Parameters, options: _MethodOptions) -> Parameters:
    """Return the method with curves that begin at zero, if that is asked for."""
    if not options.centered:
        return method
    if not isinstance(method, (Accumulated, PDP)):
        what, expected = "from_estimator(centered)", "a method of effects that may begin at zero"
        raise DataError(what, method.name, expected, "Leave centered out")
    return replace(method, center="start")


def _check_no_grid(options: _MethodOptions, name: str, asked: str) -> None:
    """Raise for options of a grid and a method that has bins."""
    for option in options.of_grid:
        got = f"{option} with {asked}, {name}, which has bins and no grid"
        fix = f"Write method='pdp', or choose bins: method=sd.{name}(bins=20)"
        raise DataError(f"from_estimator({option})", got, "'pdp' or 'ice'", fix)


_IN_METHOD = {
    "grid_resolution": "grid=50",
    "percentiles": "percentiles=(5, 95)",
    "custom_values": "grid={'age': [20, 40, 60]}",
    "centered": "center='start'",
}
"""Option of scikit-learn → the parameter of a method."""

_OF_SKLEARN = {
    "brute": "Use method='pdp', which computes what 'brute' does in scikit-learn",
    "recursion": (
        "Use method='pdp': trees are evaluated from their structure, with the values of 'brute' at the rows of X"
    ),
}
"""Method of scikit-learn → what to use instead."""


# --- quantities -----------------------------------------------------------------------------------


def _quantity(
    estimator: object, rows: Dataset, target: OutputLabel, response_method: str
) -> Quantity:
    """Return what is explained of an estimator."""
    if isinstance(estimator, Quantity):
        return _own_quantity(estimator, target, response_method)
    _check_fitted(estimator)
    if is_classifier(estimator):
        return _of_class(estimator, target, response_method)
    if response_method == "decision_function" and hasattr(estimator, "decision_function"):
        one: FromModel = DecisionFunction(estimator, "decision function")  # of an outlier detector
    elif response_method != "auto":
        what, got = "from_estimator(response_method)", f"{response_method!r} for {title(estimator)}"
        raise DataError(what, got, "'auto', because it is no classifier", "Leave it out")
    else:
        one = default_quantity(cast("SupportsPredict", estimator))
    return _chosen(one, rows, target)


def _own_quantity(quantity: Quantity, target: OutputLabel, response_method: str) -> Quantity:
    """Return a quantity that a user passes as the estimator; raise for arguments that choose another."""
    if target is not None or response_method != "auto":
        name = "response_method" if target is None else "target"
        fix = f"Leave {name} out, or choose it there: sd.probability(model, class_=...)"
        raise DataError(f"from_estimator({name})", f"{name} with a quantity", "one of them", fix)
    if isinstance(quantity, MultiOutputQuantity):
        fix = "Choose one, such as sd.prediction(model, output=0)"
        got = f"all outputs of {title(quantity.one.model)}"
        raise UnsupportedError("from_estimator(estimator)", got, "one output", fix)
    return quantity


def _check_fitted(estimator: object) -> None:
    """Raise scikit-learn's own error, which its users catch, for an estimator of scikit-learn that is not fitted."""
    try:
        from sklearn.base import BaseEstimator
        from sklearn.utils.validation import check_is_fitted
    except ImportError:  # the estimator is of another library
        return
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)


def _of_class(estimator: object, target: OutputLabel, response_method: str) -> Quantity:
    """Return the probability or the score of a class."""
    raw: object = getattr(estimator, "classes_", ())
    labels = labels_of(estimator)
    there = [m for m in ("predict_proba", "decision_function") if hasattr(estimator, m)]
    if labels is not None and there != ["decision_function"]:  # whose columns are the labels
        got, expected = f"{title(estimator)} of several labels", "a classifier of one label"
        fix = "Explain all: sd.explain(sd.probability(model, class_='all'), X, features)"
        fix = fix if there else without_probabilities(estimator)
        raise UnsupportedError("from_estimator(estimator)", got, expected, fix)
    classes = (
        [*labels] if labels else cast("list[Level]", np.asarray(cast("ArrayLike", raw)).tolist())
    )
    if target is None and (labels or len(classes) != 2):
        raise _no_class(f"no class, for a classifier of {len(classes)}", classes)
    if target is not None and target not in classes:
        raise _no_class(shown(target), classes)
    label = classes[1] if target is None else target
    if not there or response_method not in ("auto", *there):
        wanted = "predict_proba" if response_method == "auto" else response_method
        fix = f"Use response_method={there[0]!r}" if there else without_probabilities(estimator)
        what, got = "from_estimator(response_method)", f"{title(estimator)} without {wanted}"
        raise UnsupportedError(what, got, f"a classifier with {wanted}", fix)
    if response_method != "decision_function" and there[0] == "predict_proba":
        return probability(cast("SupportsPredictProba", estimator), label)
    name = f"decision function (y = {label})"
    if decides_by_logit(estimator):  # with its slopes, or from the structure of its trees
        return logit(cast("SupportsPredictProba", estimator), label, name=name)
    column = classes.index(label)
    return DecisionFunction(estimator, name, column=column, n_classes=len(classes))


def _no_class(got: str, classes: Sequence[Level]) -> DataError:
    listed = ", ".join(map(repr, classes[:12])) + (", …" if len(classes) > 12 else "")
    fix = f"Write target={classes[-1]!r}" if classes else "Fit the classifier first"
    return DataError("from_estimator(target)", got, f"one of the classes {listed}", fix)


@dataclass(frozen=True, eq=False)
class DecisionFunction(FromModel):
    """The score of a class by `decision_function`, or the only score of an outlier detector.

    Parameters
    ----------
    model, name, unit
        See `FromModel`.
    column : int, optional
        Index of the class; None for a single score.
    n_classes : int
    """

    column: int | None = None
    n_classes: int = 0

    def raw(self, X: ModelRows) -> RawResponse:
        """Call the model."""
        return respond(self.model, "decision_function", X)

    def read(self, raw: RawResponse, y: Values | None = None) -> Values:
        """Return the score of the class; of the first of two classes its negative."""
        scores = np.asarray(raw)
        if self.column is None:
            return scores
        if scores.ndim == 1 and self.n_classes == 2:
            return scores if self.column == 1 else -scores
        if scores.ndim != 2 or scores.shape[1] != self.n_classes:
            raise ModelOutputError(
                self.describe(),
                f"scores of shape {scores.shape}",
                f"one score for each of {self.n_classes} classes",
                "Use decision_function_shape='ovr', or response_method='predict_proba'",
            )
        return scores[:, self.column]

    @property
    def place(self) -> int | None:
        """Return the index of the class."""
        return self.column


def _chosen(one: FromModel, rows: Dataset, target: OutputLabel) -> Quantity:
    """Return the chosen output of a model, which is called on two rows to count its outputs."""
    two = one.prepare(rows).evenly_spaced_batch(2)
    shape = np.shape(cast("ArrayLike", one.raw(two.tile(1).own())))
    outputs = shape[1] if len(shape) == 2 else 1
    what, of = "from_estimator(target)", f"a model of {outputs} outputs"
    if outputs == 1:
        if target is None:
            return one
        got, fix = f"{shown(target)}, for a model of one output", "Leave target out"
        raise DataError(what, got, "no target", fix)
    if isinstance(one, Prediction) and is_int(target) and 0 <= target < outputs:
        return one.of_output(int(target))
    got = f"no output, for {of}" if target is None else f"{shown(target)}, for {of}"
    raise DataError(what, got, f"an index from 0 to {outputs - 1}", "Write target=0")
