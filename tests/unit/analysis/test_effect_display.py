"""`EffectDisplay` follows scikit-learn: the numbers of `partial_dependence`, its arguments, its arrangement of axes."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay, partial_dependence
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import skedasis as sd

draw = sd.EffectDisplay.from_estimator


@pytest.fixture(autouse=True)
def _no_figure_remains():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "a": rng.normal(size=150),
            "b": rng.gamma(2.0, size=150),
            "town": rng.choice(["Bonn", "Ulm", "Wien"], 150),
            "c": rng.uniform(-1, 1, 150),
            "code": rng.choice([1.0, 2.0, 5.0], 150),
        }
    )


@pytest.fixture(scope="module")
def y(X):
    return (X["a"] * X["b"] + 2 * (X["town"] == "Ulm") - X["c"] ** 2 + X["code"]).to_numpy()


@pytest.fixture(scope="module")
def encoded():
    return make_column_transformer((OneHotEncoder(), ["town"]), remainder=StandardScaler())


@pytest.fixture(scope="module")
def model(X, y, encoded):
    return make_pipeline(encoded, PolynomialFeatures(2), LinearRegression()).fit(X, y)


@pytest.fixture(scope="module")
def binary(X, y, encoded):
    labels = np.where(y > np.median(y), "high", "low")  # "low" is the second class
    return make_pipeline(encoded, RandomForestClassifier(8, random_state=0)).fit(X, labels)


@pytest.fixture(scope="module")
def multi(X, y, encoded):
    labels = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])) * 10
    return make_pipeline(encoded, LogisticRegression(max_iter=2000)).fit(X, labels)


@pytest.fixture(scope="module")
def made(model, X):
    """Return effects and surfaces."""
    effects = sd.explain(model, X, ["a", "b", "c", "town"], method="ale")
    return effects, sd.explain(model, X, [("a", "c")], method="ale")


def lines_over(ax, grid):
    """Return the heights of the averages that are drawn over a grid; edges of bands are thinner lines."""
    found = [line for line in ax.lines if np.array_equal(line.get_xdata(), grid)]
    width = max(line.get_linewidth() for line in found)
    return [line.get_ydata() for line in found if line.get_linewidth() == width]


def line_of(ax, grid):
    """Return the heights of the only average that is drawn over a grid."""
    (found,) = lines_over(ax, grid)
    return found


def theirs(estimator, X, features, **options):
    """Return grid and average of scikit-learn."""
    found = partial_dependence(
        estimator, X, features, method="brute", kind="average", grid_resolution=12, **options
    )
    return found["grid_values"], found["average"]


class TestNumbersOfScikitLearn:
    """With ``method="pdp"`` the drawn averages are those of ``partial_dependence(method="brute")``."""

    def compare(self, estimator, X, index=0, weight=None, response="auto", **options):
        features = ["a", "c"]
        grids = {}
        expected = {}
        for name in features:
            (grid,), average = theirs(
                estimator, X, [name], sample_weight=weight, response_method=response
            )
            grids[name], expected[name] = grid, average[index]
        display = draw(
            estimator,
            X,
            features,
            method="pdp",
            custom_values=grids,
            sample_weight=weight,
            response_method=response,
            **options,
        )
        for ax, name in zip(display.axes_.ravel(), features, strict=True):
            np.testing.assert_allclose(line_of(ax, grids[name]), expected[name], rtol=1e-9)
            assert np.ptp(expected[name]) > 1e-3
        return display

    def test_regressor_with_a_text_column(self, model, X):
        self.compare(model, X)

    def test_regressor_with_weights(self, model, X):
        weight = np.random.default_rng(1).integers(0, 4, len(X))
        display = self.compare(model, X, weight=weight)
        plain = draw(model, X, ["a"], method="pdp")
        assert not np.allclose(display.effects["a"].value[0], plain.effects["a"].value[0])

    def test_two_classes_explain_the_second(self, binary, X):
        display = self.compare(binary, X)
        assert display.axes_[0, 0].get_ylabel() == "P(y = low)"

    @pytest.mark.parametrize("response", ["predict_proba", "decision_function"])
    def test_a_class_of_several(self, multi, X, response):
        self.compare(multi, X, 2, target=20, response=response)

    def test_decision_function_that_is_the_log_odds(self, X, y):
        numbers = X.drop(columns="town")
        boosted = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(numbers, y > 2)
        display = self.compare(boosted, numbers, response="decision_function")
        assert display.effects["a"].provenance["effect_rows"] == 0

    @pytest.mark.parametrize("kind", [RidgeClassifier, SVC])
    def test_a_classifier_without_probabilities_is_explained_by_its_decision_function(
        self, X, y, kind
    ):
        numbers = X.drop(columns="town").to_numpy()
        grid = np.linspace(-1, 1, 5)
        fitted = kind().fit(numbers, y > 2)
        expected = partial_dependence(
            fitted, numbers, [0], method="brute", custom_values={0: grid}
        )["average"][0]
        display = draw(fitted, numbers, [0], method="pdp", custom_values={0: grid})
        np.testing.assert_allclose(line_of(display.axes_[0, 0], grid), expected, rtol=1e-9)
        other = draw(fitted, numbers, [0], method="pdp", custom_values={0: grid}, target=False)
        np.testing.assert_allclose(other.effects[0].value, -expected, rtol=1e-9)

    def test_an_output_of_several(self, X, y):
        numbers = X.drop(columns="town")
        two = LinearRegression().fit(numbers, np.column_stack([y, -3 * y]))
        self.compare(two, numbers, index=1, target=1)

    def test_a_pair(self, model, X):
        (first, second), average = theirs(model, X, ["a", "c"])
        display = draw(
            model, X, [("a", "c")], method="pdp", custom_values={"a": first, "c": second}
        )
        np.testing.assert_allclose(display.surfaces["a", "c"].value, average[0], rtol=1e-9)

    @pytest.mark.parametrize("categories", [["code"], [4], [False] * 4 + [True]])
    def test_a_column_of_numbers_that_are_categories(self, model, X, categories):
        options = {"categorical_features": categories}
        (levels,), average = theirs(model, X, ["code"], **options)
        display = draw(model, X, ["code", "a"], method="pdp", **options)
        found = display.effects["code"]
        assert found.x.tolist() == levels.tolist()
        np.testing.assert_allclose(found.value, average[0], rtol=1e-9)
        assert [t.get_text() for t in display.axes_[0, 0].get_xticklabels()] == [
            "1",
            "2",
            "5",
        ]

    def test_curves_of_rows(self, model, X):
        grid = np.linspace(-1, 1, 5)
        options = {"kind": "both", "custom_values": {"a": grid}}
        expected = partial_dependence(model, X, ["a"], method="brute", **options)
        display = draw(model, X, ["a"], subsample=None, **options)
        curves = display.effects["a"].curves
        np.testing.assert_allclose(
            curves.value[np.argsort(curves.row)], expected["individual"][0], rtol=1e-9
        )
        np.testing.assert_allclose(
            line_of(display.axes_[0, 0], grid), expected["average"][0], rtol=1e-9
        )

    def test_centered_curves_begin_at_zero(self, model, X):
        grid = np.linspace(-1, 1, 5)
        options = {"kind": "both", "custom_values": {0: grid}, "centered": True}
        display = draw(model, X, ["a"], **options)
        other = PartialDependenceDisplay.from_estimator(model, X, ["a"], **options)
        np.testing.assert_allclose(
            line_of(display.axes_[0, 0], grid),
            other.lines_[0, 0, -1].get_ydata(),
            rtol=1e-9,
            atol=1e-12,
        )

    def test_grid_resolution_and_percentiles(self, model, X):
        display = draw(
            model, X, ["a", "c"], method="pdp", grid_resolution=7, percentiles=(0.1, 0.8)
        )
        for name in "ac":
            grid = display.effects[name].x
            assert len(grid) == 7
            # Ends are the rows' own quantiles, between those of the adjacent ranks.
            for end, q in ((grid[0], 0.1), (grid[-1], 0.8)):
                low, high = np.quantile(X[name], [q - 0.01, q + 0.01])
                assert low <= end <= high


class TestEffects:
    """Results are those of `explain`."""

    def test_default_is_that_of_explain(self, model, X):
        display = draw(model, X, ["a", "town", ("a", "b")])
        expected = sd.explain(model, X, ["a", "town"])
        for name in ("a", "town"):
            assert np.array_equal(display.effects[name].value, expected[name].value)
            assert display.effects[name].spec == expected[name].spec
        surface = sd.explain(model, X, ("a", "b"))
        assert np.array_equal(display.surfaces["a", "b"].value, surface.value)
        assert repr(display) == "<EffectDisplay: RHALE of a, ALE of town, ALE of a × b>"

    def test_weights_labels_and_seed_are_passed_on(self, model, X, y):
        options = {"sample_weight": np.arange(len(X)) % 3, "random_state": 7}
        found = draw(model, X, ["a"], **options).effects["a"]
        assert np.array_equal(found.value, sd.explain(model, X, "a", **options).value)
        assert found.provenance["random_state"] == 7
        loss = draw(sd.loss(model, "squared_error"), X, ["a"], y=y, method="pdp")
        assert loss.axes_[0, 0].get_ylabel() == loss.effects["a"].about.quantity

    def test_centered_accumulated_effects_begin_at_zero(self, model, X):
        for method in ("auto", "ale"):
            assert draw(model, X, ["a"], centered=True, method=method).effects["a"].value[0] == 0

    def test_an_outlier_detector_has_scores(self, X):
        numbers = X[["a", "b"]]
        forest = IsolationForest(n_estimators=5, random_state=0).fit(numbers)
        found = draw(forest, numbers, ["a"], method="pdp", response_method="decision_function")
        curve = found.effects["a"]
        by_hand = [forest.decision_function(numbers.assign(a=v)).mean() for v in curve.x]
        np.testing.assert_allclose(curve.value, by_hand, rtol=1e-9)

    @pytest.mark.filterwarnings("error")
    def test_arrays_and_frames_reach_the_model_as_it_was_fitted(self, X, y):
        frame = X[["a", "b"]]
        for fitted_on, given in ((frame, frame.to_numpy()), (frame.to_numpy(), frame)):
            svm = SVC().fit(fitted_on, y > 2)
            assert len(draw(svm, given, [0]).effects) == 1

    def test_names_and_categories_of_columns(self, X, y):
        A = X[["a", "b", "code"]].to_numpy()
        fitted = LinearRegression().fit(A, y)
        display = draw(
            fitted,
            A,
            ["second", 0, ("first", 2)],
            feature_names=np.array(["first", "second", "third"]),
            categorical_features=["third"],
        )
        assert display.features == ["second", "first", ("first", "third")]
        assert display.feature_names == ["first", "second", "third"]
        assert [ax.get_xlabel() for ax in display.axes_.ravel()] == ["second", "first", "first"]
        assert display.surfaces["first", "third"].value.shape[1] == 3

    def test_features_by_position_name_pair_and_repeatedly(self, model, X):
        display = draw(model, X, [0, "a", ("c", 0), [3], np.int64(1), -2, ["b", "c"]])
        assert display.features == ["a", "a", ("c", "a"), "c", "b", "c", ("b", "c")]
        assert len(display.effects) == 3
        for one in ("a", 0, np.array(["a"]), ("a",)):
            assert draw(model, X, one).features == ["a"]
        assert draw(model, X, ("a", "b")).features == ["a", "b"]  # as in scikit-learn


class TestCurves:
    def test_kinds(self, model, X):
        display = draw(model, X, ["a", "b", "c"], kind=["average", "both", "individual"])
        average, both, individual = display.axes_[0]
        assert [len(_curves(ax)) for ax in display.axes_[0]] == [0, 150, 150]
        assert len(average.lines) > 0
        assert len(both.lines) > 0
        assert len(individual.lines) == 0
        assert repr(display) == "<EffectDisplay: PDP of a, PDP of b, PDP of c>"

    @pytest.mark.parametrize(
        ("subsample", "count"), [(1000, 150), (20, 20), (0.1, 15), (0.101, 16), (None, 150)]
    )
    def test_subsample(self, model, X, subsample, count):
        display = draw(model, X, ["a"], kind="both", subsample=subsample)
        assert len(_curves(display.axes_[0, 0])) == count
        assert len(display.effects["a"].curves) == count

    def test_the_average_is_over_all_rows(self, model, X):
        few, all_rows = (draw(model, X, ["a"], kind="both", subsample=n) for n in (3, None))
        assert np.array_equal(few.effects["a"].value, all_rows.effects["a"].value)


def _curves(ax):
    """Return the curves of rows on axes."""
    return [
        c
        for lines in ax.collections
        if hasattr(lines, "get_segments")
        for c in lines.get_segments()
        if len(c) > 1 and not _vertical(c)
    ]


def _vertical(segment):
    return np.ptp(segment[:, 0]) == 0


class TestAxes:
    FEATURES = ("a", "b", "c", ("a", "c"), "town")

    @pytest.fixture
    def display(self, made):
        return sd.EffectDisplay(*made, features=self.FEATURES)

    @pytest.mark.parametrize(("n_cols", "shape"), [(3, (2, 3)), (1, (5, 1)), (9, (1, 5))])
    def test_a_new_figure_of_pyplot(self, display, n_cols, shape):
        assert display.plot(n_cols=n_cols) is display
        assert display.figure_ is plt.gcf()
        assert display.axes_.shape == shape
        assert display.bounding_ax_ is None
        filled = [ax for ax in display.axes_.ravel() if ax is not None]
        labels = [ax.get_xlabel() for ax in filled]
        assert labels == ["a", "b", "c", "a", "town"]
        places = [ax.get_subplotspec().num1 for ax in filled]
        assert places == [0, 1, 2, 3, 4]

    def test_scikit_learn_has_the_same_shapes(self, model, X):
        for n_cols in (1, 2, 3, 4):
            options = {"n_cols": n_cols, "grid_resolution": 3}
            theirs = PartialDependenceDisplay.from_estimator(model, X, ["a", "b", "c"], **options)
            ours = draw(model, X, ["a", "b", "c"], method="pdp", **options)
            assert ours.axes_.shape == theirs.axes_.shape
            assert [v is None for v in ours.axes_.ravel()] == [
                v is None for v in theirs.axes_.ravel()
            ]

    def test_one_axes_is_used_for_one_panel(self, made):
        ax = Figure().subplots()
        display = sd.EffectDisplay(made[0], features=["a"]).plot(ax)
        assert display.axes_.tolist() == [[ax]]
        assert display.figure_ is ax.figure
        assert ax.axison
        assert len(ax.figure.axes) == 1

    @pytest.mark.parametrize("placed", [True, False])
    def test_one_axes_is_divided_for_several_panels(self, display, placed):
        figure = Figure(figsize=(12, 8))
        ax = figure.add_axes((0.5, 0.1, 0.4, 0.8)) if placed else figure.subplots(1, 2)[1]
        box = ax.get_tightbbox()
        display.plot(ax=ax, n_cols=2)
        assert display.bounding_ax_ is ax
        assert display.figure_ is ax.figure
        assert not ax.axison
        assert display.axes_.shape == (3, 2)
        figure.canvas.draw()
        for one in display.axes_.ravel()[:5]:
            inside = one.get_window_extent()
            assert box.x0 - 60 < inside.x0 < inside.x1 < box.x1 + 60

    def test_divided_axes_are_refused_afterwards(self, display):
        ax = Figure(figsize=(9, 9)).subplots()
        display.plot(ax=ax)
        message = (
            r"EffectDisplay.plot\(ax\): got axes that are switched off.*Pass .*: ax=display.axes_"
        )
        with pytest.raises(sd.DataError, match=message):
            display.plot(ax=ax)
        assert display.plot(ax=display.axes_).bounding_ax_ is None

    @pytest.mark.parametrize("shape", [(5,), (5, 1)])
    def test_an_array_of_axes(self, display, shape):
        axes = np.reshape(Figure(figsize=(20, 4)).subplots(1, 5), shape)
        display.plot(axes)
        assert display.axes_.tolist() == axes.tolist()
        assert [ax.get_xlabel() for ax in axes.ravel()] == ["a", "b", "c", "a", "town"]

    def test_a_second_display_on_the_same_axes(self, model, X):
        first = draw(model, X, ["a", "c"], method="pdp")
        limits = [ax.get_ylim() for ax in first.axes_[0]]
        titles = [ax.get_title(loc="left") for ax in first.axes_[0]]
        texts = [len(ax.texts) for ax in first.axes_[0]]
        shifted = sd.prediction(lambda X: model.predict(X) + 100)
        second = draw(shifted, X, ["a", "c"], method="pdp", ax=first.axes_, color="tab:red")
        assert second.figure_ is first.figure_
        for ax, (low, _), title, before in zip(first.axes_[0], limits, titles, texts, strict=True):
            assert ax.get_ylim()[0] <= low
            assert ax.get_ylim()[1] > 100
            assert ax.get_title(loc="left") == title
            assert len(ax.texts) == before
        grid = second.effects["a"].x
        heights = [y[0] for y in lines_over(first.axes_[0, 0], grid)]
        assert heights[1] - heights[0] == pytest.approx(100)

    def test_single_features_have_one_scale(self, display):
        display.plot()
        a, b, c, pair, town = display.axes_.ravel()[:5]
        assert a.get_ylim() == b.get_ylim() == c.get_ylim() == town.get_ylim()
        assert pair.get_ylim() != a.get_ylim()
        lines = [
            one.get_ydata() for ax in (a, b, c) for one in ax.lines if len(one.get_ydata()) > 2
        ]
        assert (
            a.get_ylim()[0]
            < min(v.min() for v in lines)
            < max(v.max() for v in lines)
            < a.get_ylim()[1]
        )

    def test_one_legend(self, display):
        display.plot()
        assert [ax.get_legend() is not None for ax in display.axes_.ravel()[:5]] == [True] + 4 * [
            False
        ]
        display.plot(legend=False)
        assert all(ax.get_legend() is None for ax in display.axes_.ravel()[:5])


class TestDisplay:
    def test_results_of_explain_with_any_option(self, model, X):
        effects = sd.explain(model, X, ["a", "b"], schema={"a": {"unit": "m"}}, n_jobs=2)
        display = sd.EffectDisplay(effects).plot()
        assert display.features == ["a", "b"]
        assert display.effects is effects
        assert len(display.surfaces) == 0
        assert display.kind == ["average", "average"]
        assert display.axes_[0, 0].get_xlabel() == "a [m]"

    def test_order_by_default(self, model, X):
        effects = sd.explain(model, X, ["b", "a"], method="ale")
        surfaces = sd.explain(model, X, [("a", "c"), ("a", "b")], method="ale")
        display = sd.EffectDisplay(effects, surfaces)
        assert display.features == ["b", "a", ("a", "c"), ("a", "b")]
        other = sd.EffectDisplay(effects, surfaces, features=[("b", "a"), 0])
        assert other.features == [("a", "b"), "a"]
        assert other.results[0] is surfaces["a", "b"]

    def test_keywords_that_scikit_learn_has_too_are_named_alike(self):
        ours = inspect.signature(draw).parameters
        others = inspect.signature(PartialDependenceDisplay.from_estimator).parameters
        elsewhere = {"n_jobs", "verbose", "line_kw", "ice_lines_kw", "pd_line_kw", "contour_kw"}
        assert set(others) - set(ours) == elsewhere
        assert set(ours) - set(others) == {"y", "color", "max_model_rows"}
        assert [p for p in ours if ours[p].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD] == [
            "estimator", "X", "features",
        ]  # fmt: skip
        for name in ("kind", "n_cols", "target", "method", "subsample", "centered", "ax"):
            assert ours[name].default == others[name].default


ERRORS = {
    "unknown feature": ({"features": ["aa"]}, sd.DataError, "from_estimator(features): got 'aa', expected one of 'a'"),
    "no features": ({"features": []}, sd.DataError, "features: got an empty list"),
    "three": ({"features": [("a", "b", "c")]}, sd.DataError, "which has 3 entries, expected a feature or a pair."),
    "pfi": ({"method": "pfi"}, sd.UnsupportedError, "EffectDisplay(effects): got Importance"),
    "kind": ({"kind": "all"}, sd.DataError, "got 'all', expected 'average', 'individual' or 'both'"),
    "kinds": ({"kind": ["both", "both"]}, sd.DataError, "got 2 kinds, expected one kind for each of 1 features"),
    "curves of a pair": (
        {"features": ["a", ("a", "b")], "kind": "both"},
        sd.DataError,
        "expected 'average' for pairs. Write kind=['both', 'average'].",
    ),
    "curves of RHALE": ({"method": "rhale", "kind": "both"}, sd.DataError, "got RHALE, which has neither a grid nor"),
    "curves of levels": (
        {"features": ["town"], "kind": "individual", "method": sd.PDP(heterogeneity=False)},
        sd.UnsupportedError,
        "EffectDisplay(kind) of 'town': got curves of rows of PDP, which has none",
    ),
    "grid of bins": ({"grid_resolution": 20, "method": "ale"}, sd.DataError, "method=sd.ALE(bins=20)"),
    "centered": ({"centered": "yes"}, sd.DataError, "from_estimator(centered): got 'yes'"),
    "centered M-plot": ({"centered": True, "method": "mplot"}, sd.DataError, "from_estimator(centered): got MPlot"),
    "percentiles": ({"percentiles": (5, 95)}, sd.DataError, "got (5, 95), expected two rising fractions."),
    "falling": ({"percentiles": (0.9, 0.1)}, sd.DataError, "got (0.9, 0.1), expected two rising fractions."),
    "custom name": ({"custom_values": {"aa": [1, 2]}}, sd.DataError, "from_estimator(custom_values): got 'aa'"),
    "custom": ({"custom_values": [1, 2]}, sd.DataError, "from_estimator(custom_values): got [1, 2]"),
    "subsample": ({"subsample": 1.5}, sd.DataError, "from_estimator(subsample): got 1.5"),
    "columns": ({"n_cols": 0}, sd.DataError, "from_estimator(n_cols): got 0"),
    "color": ({"color": "no colour"}, sd.DataError, "EffectDisplay.plot(color): got 'no colour'"),
    "response": ({"response_method": "predict"}, sd.DataError, "from_estimator(response_method): got 'predict'"),
    "response of a regressor": (
        {"response_method": "predict_proba"},
        sd.UnsupportedError,
        "without predict_proba, expected a method that the estimator has",
    ),
    "target of a regressor": ({"target": 1}, sd.ModelOutputError, "expected (rows, outputs) with a column 1."),
    "target of a quantity": (
        {"estimator": sd.prediction(np.sum), "target": 1},
        sd.DataError,
        "from_estimator(target): got a choice of the output of a quantity",
    ),
    "names": ({"feature_names": ["a", "b"]}, sd.DataError, "got 2 names, expected 5, one for each column of X"),
    "categories": ({"categorical_features": ["z"]}, sd.DataError, "from_estimator(categorical_features): got 'z'"),
    "mask": ({"categorical_features": [True]}, sd.DataError, "got a mask of 1, expected 5, one for each column of X"),
    "axes as text": ({"ax": "top"}, sd.DataError, "from_estimator(ax): got 'top', expected axes of matplotlib"),
    "three axes": (
        {"ax": list(Figure().subplots(1, 3))},
        sd.DataError,
        "from_estimator(ax): got 3 axes, expected one for each panel (1)",
    ),
    "misspelt": ({"targt": 1}, sd.UnsupportedError, "target"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(model, X, case):
    changes, error, message = ERRORS[case]
    given = {"estimator": model, "X": X, "features": ["a"], **changes}
    with pytest.raises(error, match=re.escape(message)):
        draw(**given)


def test_errors_of_models(X, y, multi):
    numbers = X[["a", "b"]]
    labels = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    forest = RandomForestClassifier(3).fit(numbers, y > 2)
    pairs = SVC(decision_function_shape="ovo").fit(numbers, labels)
    two = LinearRegression().fit(numbers, np.column_stack([y, y]))
    for estimator, rows, options, error, message in (
        (LinearRegression(), X, {}, NotFittedError, "is not fitted yet"),
        (multi, X, {}, sd.DataError, "got None, expected one of the classes 0, 10, 20. Write target=20"),
        (multi, X, {"target": 1}, sd.DataError, "got 1, expected one of the classes 0, 10, 20. Write target=20"),
        (pairs, numbers, {"target": 9}, sd.DataError, "one of the classes 0, 1, 2, 3. Write target=3"),
        (pairs, numbers, {"target": 2}, sd.ModelOutputError, "one for each of 4 classes"),
        (two, numbers, {}, sd.ModelOutputError, "Choose one output"),
        (two, numbers, {"target": 2}, sd.ModelOutputError, "Pass the index of one of its columns"),
        (forest, numbers, {"response_method": "decision_function"}, sd.UnsupportedError, "Use 'predict_proba'"),
    ):  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            draw(estimator, rows, ["a"], **options)


def test_errors_of_the_display(model, X):
    one, effects = sd.explain(model, X, "a"), sd.explain(model, X, ["a"])
    for arguments, options, error, message in (
        ([one], {}, sd.UnsupportedError, "EffectDisplay(effects): got"),
        ([effects], {"features": [("a", "b")]}, sd.DataError, "got ('a', 'b'), expected a pair"),
        ([effects], {"features": ["b"]}, sd.DataError, "feature: got 'b'"),
        ([], {}, sd.DataError, "an empty list"),
        ([effects], {"subsample": 0}, sd.DataError, "EffectDisplay(subsample): got 0"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            sd.EffectDisplay(*arguments, **options)
    with pytest.raises(sd.UnsupportedError, match="curves of rows of RHALE, which has none"):
        sd.EffectDisplay(effects, kind="both").plot()
    for options in ({"confidence_level": 2}, {"legend": "no"}, {"n_cols": "3"}):
        with pytest.raises(sd.DataError, match=next(iter(options))):
            sd.EffectDisplay(effects).plot(**options)
