"""`EffectDisplay` follows scikit-learn: the numbers of `partial_dependence`, its arguments, its arrangement of axes."""

from __future__ import annotations

import inspect
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
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

    def test_a_target_of_two_classes_is_the_class_itself(self, binary, X):
        both = [draw(binary, X, ["a"], method="pdp", target=t) for t in ("high", "low")]
        high, low = (d.effects["a"].value for d in both)
        np.testing.assert_allclose(high, 1 - low, rtol=1e-12)

    @pytest.mark.parametrize("index", [0, 1, 2])
    def test_a_class_of_several(self, multi, X, index):
        self.compare(multi, X, index, target=10 * index)

    @pytest.mark.parametrize("index", [0, 2])
    def test_decision_function_of_several_classes(self, multi, X, index):
        self.compare(multi, X, index, target=10 * index, response="decision_function")

    def test_decision_function_that_is_the_log_odds(self, X, y):
        numbers = X.drop(columns="town")
        boosted = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(numbers, y > 2)
        display = self.compare(boosted, numbers, response="decision_function")
        assert display.effects["a"].provenance["model_rows"] == 0

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

    def test_a_forest_by_its_trees(self, X, y):
        numbers = X.drop(columns="town")
        display = self.compare(RandomForestRegressor(5, random_state=0).fit(numbers, y), numbers)
        assert display.effects["a"].provenance["model_rows"] == 0

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

    def test_given_points_precede_the_resolution(self, model, X):
        display = draw(
            model,
            X,
            ["a", "c"],
            method="pdp",
            grid_resolution=7,
            custom_values={0: [0.0, 1.0]},
        )
        assert display.effects["a"].x.tolist() == [0.0, 1.0]
        assert len(display.effects["c"].x) == 7


class TestEffects:
    """The other methods: the same results as those of `explain`."""

    def test_default_is_that_of_explain(self, model, X):
        display = draw(model, X, ["a", "town", ("a", "b")])
        for name in ("a", "town"):
            expected = sd.explain(model, X, ["a", "town"])[name]
            assert np.array_equal(display.effects[name].value, expected.value)
            assert display.effects[name].spec == expected.spec
        expected = sd.explain(model, X, ("a", "b"))
        assert np.array_equal(display.surfaces["a", "b"].value, expected.value)
        assert repr(display) == "<EffectDisplay: RHALE of a, ALE of town, ALE of a × b>"

    def test_the_drawn_line_is_the_curve(self, model, X):
        display = draw(model, X, ["a"], method=sd.ALE(bins=6))
        found = display.effects["a"]
        np.testing.assert_array_equal(line_of(display.axes_[0, 0], found.x), found.value)

    def test_weights_labels_and_seed_are_passed_on(self, model, X, y):
        weight = np.arange(len(X)) % 3
        options = {"sample_weight": weight, "random_state": 7}
        display = draw(model, X, ["a"], **options)
        expected = sd.explain(model, X, "a", **options)
        assert np.array_equal(display.effects["a"].value, expected.value)
        assert display.effects["a"].provenance["random_state"] == 7
        loss = draw(sd.loss(model, "squared_error"), X, ["a"], y=y, method="pdp")
        assert loss.axes_[0, 0].get_ylabel() == loss.effects["a"].about.quantity

    def test_a_quantity_is_explained_as_it_is(self, binary, X):
        display = draw(sd.entropy(binary), X, ["a"])
        assert display.axes_[0, 0].get_ylabel().startswith("effect on entropy")

    def test_centered_accumulated_effects_begin_at_zero(self, model, X):
        for method in ("auto", "ale", "rhale", "uale", "dale"):
            assert draw(model, X, ["a"], centered=True, method=method).effects["a"].value[0] == 0
        assert draw(model, X, ["a"]).effects["a"].value[0] != 0

    def test_an_outlier_detector_has_scores(self, X):
        numbers = X[["a", "b"]]
        forest = IsolationForest(n_estimators=5, random_state=0).fit(numbers)
        display = draw(forest, numbers, ["a"], method="pdp", response_method="decision_function")
        expected = theirs_by_hand(forest.decision_function, numbers, display.effects["a"].x)
        np.testing.assert_allclose(display.effects["a"].value, expected, rtol=1e-9)

    @pytest.mark.filterwarnings("error")
    def test_arrays_and_frames_reach_the_model_as_it_was_fitted(self, X, y):
        frame = X[["a", "b"]]
        for fitted_on, given in ((frame, frame.to_numpy()), (frame.to_numpy(), frame)):
            svm = SVC().fit(fitted_on, y > 2)
            assert len(draw(svm, given, [0]).effects) == 1

    def test_names_of_the_columns_of_an_array(self, X, y):
        A = X[["a", "b", "code"]].to_numpy()
        fitted = LinearRegression().fit(A, y)
        names = np.array(["first", "second", "third"])
        display = draw(
            fitted,
            A,
            ["second", 0, ("first", 2)],
            feature_names=names,
            categorical_features=["third"],
        )
        assert display.features == ["second", "first", ("first", "third")]
        assert display.feature_names == ["first", "second", "third"]
        assert [ax.get_xlabel() for ax in display.axes_.ravel()] == ["second", "first", "first"]
        assert (
            draw(fitted, A, [2], feature_names=names, categorical_features=[2])
            .axes_[0, 0]
            .get_xlabel()
            == "third"
        )
        assert display.surfaces["first", "third"].value.shape[1] == 3

    def test_features_by_position_name_pair_and_repeatedly(self, model, X):
        display = draw(model, X, [0, "a", ("c", 0), [3], np.int64(1), -2, ["b", "c"]])
        names = ["a", "a", ("c", "a"), "c", "b", "c", ("b", "c")]
        assert display.features == names
        assert len(display.effects) == 3
        assert [len(getattr(r, "abouts", "1")) for r in display.results] == [1, 1, 2, 1, 1, 1, 2]

    @pytest.mark.parametrize("features", ["a", 0, ["a"], np.array(["a"]), pd.Index(["a"]), ("a",)])
    def test_collections_of_features(self, model, X, features):
        assert draw(model, X, features).features == ["a"]

    def test_a_tuple_lists_features_as_in_scikit_learn(self, model, X):
        assert draw(model, X, ("a", "b")).features == ["a", "b"]

    def test_other_data_frames(self, X, y):
        frame = pl.DataFrame({"a": X["a"].to_numpy(), "b": X["b"].to_numpy()})
        fitted = LinearRegression().fit(frame, y)
        assert draw(fitted, frame, ["b", ("a", "b")]).features == ["b", ("a", "b")]

    def test_rows_and_options_are_not_modified(self, model, X):
        before, custom, features = X.copy(), {"a": np.array([1.0, 0.0])}, ["a", ("a", "c")]
        draw(model, X, features, method="pdp", custom_values=custom, grid_resolution=4)
        pd.testing.assert_frame_equal(X, before)
        assert custom["a"].tolist() == [1.0, 0.0]
        assert features == ["a", ("a", "c")]

    def test_a_constant_column(self, X, y):
        constant = X[["a", "b"]].assign(b=3.0)
        fitted = LinearRegression().fit(constant, y)
        for method in ("auto", "pdp"):
            display = draw(
                fitted, constant, ["b", "a", ("a", "b")][: 2 + (method == "pdp")], method=method
            )
            assert float(np.ptp(display.effects["b"].value)) == 0

    def test_missing_values(self, X, y):
        gaps = X[["a", "b"]].copy()
        gaps.loc[::7, "b"] = np.nan
        forest = RandomForestRegressor(5, random_state=0).fit(gaps, y)
        display = draw(forest, gaps, ["b"])
        assert display.effects["b"].missing == gaps["b"].isna().sum()


def theirs_by_hand(function, X, grid):
    return np.array([function(X.assign(a=v)).mean() for v in grid])


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

    def test_random_state_chooses_the_curves(self, model, X):
        drawn = [
            draw(model, X, ["a"], kind="both", subsample=5, random_state=seed)
            .effects["a"]
            .curves.row.tolist()
            for seed in (0, 0, 1)
        ]
        assert drawn[0] == drawn[1] != drawn[2]

    def test_ice_is_a_method_with_curves(self, model, X):
        display = draw(model, X, ["a"], method=sd.ICE(grid=[0.0, 1.0]), kind="individual")
        assert len(_curves(display.axes_[0, 0])) == 150


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

    @pytest.mark.parametrize("how", ["cell", "constrained", "placed", "subfigure"])
    def test_one_axes_is_divided_for_several_panels(self, display, how):
        figure = Figure(figsize=(12, 8), layout="constrained" if how == "constrained" else None)
        if how == "placed":
            ax = figure.add_axes((0.5, 0.1, 0.4, 0.8))
        elif how == "subfigure":
            ax = figure.subfigures(1, 2)[1].subplots()
        else:
            ax = figure.subplots(1, 2)[1]
        box = ax.get_tightbbox()
        display.plot(ax=ax, n_cols=2)
        assert display.bounding_ax_ is ax
        assert display.figure_ is ax.figure
        assert not ax.axison
        assert display.axes_.shape == (3, 2)
        figure.canvas.draw()
        for one in display.axes_.ravel()[:5]:
            assert one.figure is ax.figure
            inside = one.get_window_extent()
            if how != "constrained":
                assert inside.x0 > box.x0 - 60
                assert inside.x1 < box.x1 + 60

    def test_divided_axes_are_refused_afterwards(self, display):
        ax = Figure(figsize=(9, 9)).subplots()
        display.plot(ax=ax)
        message = (
            r"EffectDisplay.plot\(ax\): got axes that are switched off.*Pass .*: ax=display.axes_"
        )
        with pytest.raises(sd.DataError, match=message):
            display.plot(ax=ax)
        assert display.plot(ax=display.axes_).bounding_ax_ is None

    @pytest.mark.parametrize(
        "as_given", [list, tuple, np.asarray, lambda a: np.asarray(a)[:, None]]
    )
    def test_a_list_or_array_of_axes(self, display, as_given):
        figure = Figure(figsize=(20, 4))
        axes = list(figure.subplots(1, 5))
        given = as_given(axes)
        display.plot(given)
        assert display.axes_.shape == np.shape(given)
        assert display.axes_.ravel().tolist() == axes
        assert [ax.get_xlabel() for ax in axes] == ["a", "b", "c", "a", "town"]

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

    def test_color_and_level(self, made):
        effects, _ = made
        display = sd.EffectDisplay(effects, features=["a"]).plot(
            color="tab:red", confidence_level=0.5
        )
        ax = display.axes_[0, 0]
        red = mpl.colors.to_rgb("tab:red")
        assert any(mpl.colors.to_rgb(one.get_color()) == red for one in ax.lines)
        texts = [t.get_text() for t in ax.get_legend().get_texts()]
        assert any("50 %" in text for text in texts)


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

    def test_subclasses_are_made_as_such(self, model, X):
        class Own(sd.EffectDisplay):
            pass

        assert type(Own.from_estimator(model, X, ["a"])) is Own

    def test_keywords_that_scikit_learn_has_too_are_named_alike(self):
        ours = inspect.signature(draw).parameters
        others = inspect.signature(PartialDependenceDisplay.from_estimator).parameters
        elsewhere = {"n_jobs", "verbose", "line_kw", "ice_lines_kw", "pd_line_kw", "contour_kw"}
        assert set(others) - set(ours) == elsewhere
        assert set(ours) - set(others) == {"y", "color"}
        assert [p for p in ours if ours[p].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD] == [
            "estimator", "X", "features",
        ]  # fmt: skip
        for name in ("kind", "n_cols", "target", "method", "subsample", "centered", "ax"):
            assert ours[name].default == others[name].default


ERRORS = {
    "unknown feature": (
        {"features": ["aa"]},
        sd.DataError,
        "from_estimator(features): got 'aa', expected one of 'a', 'b', 'town', 'c', 'code'.",
    ),
    "position": ({"features": [9]}, sd.DataError, "from_estimator(features): got 9, expected a position in 0..4."),
    "no features": ({"features": []}, sd.DataError, "from_estimator(features): got an empty list"),
    "None": ({"features": None}, sd.DataError, "from_estimator(features): got None"),
    "a set": ({"features": {"a"}}, sd.DataError, "from_estimator(features): got {'a'}"),
    "three": (
        {"features": [("a", "b", "c")]},
        sd.DataError,
        "which has 3 entries, expected a feature or a pair. List features one by one: ['a', 'b', 'c'].",
    ),
    "an empty pair": ({"features": [()]}, sd.DataError, "got (), which has 0 entries"),
    "twice in a pair": ({"features": [("a", "a")]}, sd.DataError, "the pair of 'a' with itself"),
    "method": ({"method": "shap"}, sd.DataError, "method: got 'shap', expected one of 'ale'"),
    "recursion": (
        {"method": "recursion"},
        sd.DataError,
        ("from_estimator(method): got 'recursion', expected 'auto' or one of 'ale', 'dale', 'ice', 'mplot', 'pdp', "
        "'rhale', 'uale'. Use method='pdp': trees are evaluated from their structure"),
    ),
    "brute": ({"method": "brute"}, sd.DataError, "Use method='pdp', which computes what 'brute' does"),
    "pfi": ({"method": "pfi"}, sd.DataError, "PFI, whose importances are no curves"),
    "a class": ({"method": sd.ALE}, sd.DataError, "Pass an instance: method=sd.ALE()"),
    "kind": ({"kind": "all"}, sd.DataError, "got 'all', expected 'average', 'individual' or 'both'"),
    "kinds": ({"kind": ["both", "both"]}, sd.DataError, "got 2 kinds, expected one kind for each of 1 features"),
    "curves of a pair": (
        {"features": ["a", ("a", "b")], "kind": "both"},
        sd.DataError,
        "expected 'average' for pairs. Write kind=['both', 'average'].",
    ),
    "curves of RHALE": (
        {"method": "rhale", "kind": "both"},
        sd.DataError,
        "got RHALE, which has no curves of rows, expected 'pdp' or 'ice'. Use kind='average', which shows",
    ),
    "curves of levels": (
        {"features": ["town"], "kind": "individual", "method": sd.PDP(heterogeneity=False)},
        sd.UnsupportedError,
        "EffectDisplay(kind) of 'town': got 'individual' for PDP without curves of rows",
    ),
    "grid of bins": (
        {"grid_resolution": 20},
        sd.DataError,
        ("from_estimator(grid_resolution): got grid_resolution with method='auto', RHALE, which has bins and no grid, "
        "expected 'pdp' or 'ice'. Write method='pdp', or choose bins: method=sd.RHALE(bins=20)."),
    ),
    "percentiles of bins": ({"percentiles": (0.1, 0.9), "method": "ale"}, sd.DataError, "method=sd.ALE(bins=20)"),
    "grid twice": (
        {"grid_resolution": 20, "method": sd.PDP()},
        sd.DataError,
        "Pass it to the method: method=sd.PDP(grid=50)",
    ),
    "centered twice": ({"centered": True, "method": sd.ALE()}, sd.DataError, "method=sd.ALE(center='start')"),
    "centered M-plot": ({"centered": True, "method": "mplot"}, sd.DataError, "from_estimator(centered): got MPlot"),
    "centered": ({"centered": "yes"}, sd.DataError, "from_estimator(centered): got 'yes'"),
    "resolution": ({"grid_resolution": 1, "method": "pdp"}, sd.DataError, "from_estimator(grid_resolution): got 1"),
    "percent": (
        {"percentiles": (5, 95), "method": "pdp"},
        sd.DataError,
        "got (5, 95), expected two fractions, the smaller first. Use percentiles=(0.05, 0.95).",
    ),
    "custom": ({"custom_values": [1, 2], "method": "pdp"}, sd.DataError, "from_estimator(custom_values): got [1, 2]"),
    "custom name": ({"custom_values": {"z": [1]}, "method": "pdp"}, sd.DataError, "(custom_values): got 'z'"),
    "subsample": (
        {"subsample": 50},
        sd.DataError,
        "from_estimator(subsample): got 50 with kind='average', expected curves of rows to draw. Write kind='both'",
    ),
    "share": ({"subsample": 1.5, "kind": "both"}, sd.DataError, "a share of them between 0 and 1, or None for all"),
    "no curves": ({"subsample": 0, "kind": "both"}, sd.DataError, "from_estimator(subsample): got 0"),
    "seed": ({"random_state": -1}, sd.DataError, "from_estimator(random_state): got -1"),
    "columns": ({"n_cols": 0}, sd.DataError, "from_estimator(n_cols): got 0"),
    "color": ({"color": "no colour"}, sd.DataError, "EffectDisplay.plot(color): got 'no colour'"),
    "response": ({"response_method": "predict"}, sd.DataError, "from_estimator(response_method): got 'predict'"),
    "response of a regressor": (
        {"response_method": "predict_proba"},
        sd.DataError,
        "expected 'auto', because it is no classifier. Leave it out.",
    ),
    "target of a regressor": (
        {"target": 1},
        sd.DataError,
        "from_estimator(target): got 1, for a model of one output, expected no target. Leave target out.",
    ),
    "names": ({"feature_names": ["a", "b"]}, sd.DataError, "got 2 names, expected different names of the 5 columns"),
    "names of a frame": (
        {"feature_names": list("vwxyz")},
        sd.DataError,
        "got names that are not the columns of X, expected its columns, in order. Leave feature_names out",
    ),
    "names as text": ({"feature_names": "abcde"}, sd.DataError, "from_estimator(feature_names): got 'abcde'"),
    "categories": ({"categorical_features": ["z"]}, sd.DataError, "from_estimator(categorical_features): got 'z'"),
    "mask": ({"categorical_features": [True]}, sd.DataError, "got a mask of 1, expected 5, one for each column of X"),
    "rows": ({"X": [[1, 2]]}, sd.DataError, "X: got a list, expected a NumPy array or a data frame"),
    "weights": ({"sample_weight": [1.0]}, sd.DataError, "sample_weight"),
    "a model's class": ({"estimator": LinearRegression}, sd.UnsupportedError, "got the class LinearRegression"),
    "axes as text": ({"ax": "top"}, sd.DataError, "from_estimator(ax): got 'top', expected axes of matplotlib"),
    "a figure": ({"ax": [Figure()]}, sd.DataError, "expected axes of matplotlib"),
    "misspelt": ({"targt": 1}, sd.UnsupportedError, "expected 'target'"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(model, X, case):
    changes, error, message = ERRORS[case]
    given = {"estimator": model, "X": X, "features": ["a"], **changes}
    with pytest.raises(error, match=re.escape(message)):
        draw(**given)
    assert plt.get_fignums() == []


class Counting:
    """A model that counts the rows it is called with."""

    def __init__(self):
        self.rows = 0

    def fit(self, X, y):
        return self

    def predict(self, X):
        self.rows += len(X)
        return np.asarray(X)[:, 0]


@pytest.mark.parametrize(
    "options",
    [
        {"features": [0, 7]},
        {"kind": "both", "method": "ale"},
        {"ax": []},
        {"grid_resolution": 5},
        {"categorical_features": [5]},
        {"n_cols": 0.5},
    ],
)
def test_arguments_are_checked_before_the_model_is_called(options):
    model = Counting()
    with pytest.raises(sd.DataError):
        draw(model, np.random.default_rng(0).normal(size=(40, 2)), **{"features": [0], **options})
    assert model.rows == 0


class TestErrorsOfModels:
    def test_an_estimator_that_is_not_fitted(self, X, encoded):
        for estimator in (
            LinearRegression(),
            LogisticRegression(),
            make_pipeline(encoded, LinearRegression()),
        ):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                draw(estimator, X, ["a"])

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (None, "got no class, for a classifier of 3, expected one of the classes 0, 10, 20. Write target=20."),
            (1, "got 1, expected one of the classes 0, 10, 20. Write target=20."),
            ("10", "got '10', expected one of the classes 0, 10, 20."),
        ],
    )  # fmt: skip
    def test_a_class_that_is_missing(self, multi, X, target, message):
        with pytest.raises(sd.DataError, match=re.escape(f"from_estimator(target): {message}")):
            draw(multi, X, ["a"], target=target)

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (None, "got no output, for a model of 2 outputs, expected an index from 0 to 1. Write target=0."),
            (2, "got 2, for a model of 2 outputs, expected an index from 0 to 1."),
            (-1, "got -1, for a model of 2 outputs"),
            ("y", "got 'y', for a model of 2 outputs"),
        ],
    )  # fmt: skip
    def test_an_output_that_is_missing(self, X, y, target, message):
        numbers = X[["a", "b"]]
        two = LinearRegression().fit(numbers, np.column_stack([y, y]))
        with pytest.raises(sd.DataError, match=re.escape(f"from_estimator(target): {message}")):
            draw(two, numbers, ["a"], target=target)

    def test_a_classifier_without_what_is_wanted(self, X, y):
        numbers = X[["a", "b"]]
        forest = RandomForestClassifier(3).fit(numbers, y > 2)
        with pytest.raises(sd.UnsupportedError, match="Use response_method='predict_proba'"):
            draw(forest, numbers, ["a"], response_method="decision_function")
        with pytest.raises(sd.UnsupportedError, match="Use response_method='decision_function'"):
            draw(SVC().fit(numbers, y > 2), numbers, ["a"], response_method="predict_proba")

    def test_a_classifier_with_neither(self, X, y):
        class Bare:
            classes_ = np.array([0, 1])

            def predict(self, X):
                return np.zeros(len(X))

        with pytest.raises(
            sd.UnsupportedError, match=r"Bare without predict_proba.*model.predict\(X\) == 1"
        ):
            draw(Bare(), X[["a"]], ["a"])

    def test_a_classifier_of_several_labels(self, X, y):
        numbers = X[["a", "b"]]
        forest = RandomForestClassifier(3).fit(numbers, np.column_stack([y > 2, y > 3]))
        with pytest.raises(sd.UnsupportedError, match="RandomForestClassifier of several labels"):
            draw(forest, numbers, ["a"])

    def test_scores_of_pairs_of_classes(self, X, y):
        numbers = X[["a", "b"]]
        labels = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
        svm = SVC(decision_function_shape="ovo").fit(numbers, labels)
        with pytest.raises(sd.ModelOutputError, match=r"one score for each of 4 classes.*'ovr'"):
            draw(svm, numbers, ["a"], target=2)

    def test_a_quantity_with_what_would_choose_another(self, multi, X):
        one = sd.probability(multi, class_=10)
        with pytest.raises(sd.DataError, match=r"target with a quantity.*Leave target out"):
            draw(one, X, ["a"], target=10)
        with pytest.raises(sd.DataError, match="response_method with a quantity"):
            draw(one, X, ["a"], response_method="predict_proba")
        with pytest.raises(sd.UnsupportedError, match="expected one output"):
            draw(sd.probability(multi, class_="all"), X, ["a"])

    def test_labels_are_needed_by_some_quantities(self, model, X):
        with pytest.raises(sd.DataError, match="y"):
            draw(sd.loss(model, "squared_error"), X, ["a"])


class TestErrorsOfTheDisplay:
    @pytest.mark.parametrize("count", [1, 3])
    def test_another_number_of_axes(self, model, X, count):
        axes = list(np.ravel(Figure().subplots(1, count)))
        message = rf"from_estimator\(ax\): got {count} axes, expected one for each panel \(2\)"
        with pytest.raises(sd.DataError, match=message):
            draw(model, X, ["a", "b"], ax=axes)

    def test_other_results(self, model, X):
        one, pair = sd.explain(model, X, "a"), sd.explain(model, X, [("a", "b")])
        with pytest.raises(sd.UnsupportedError, match=r"EffectDisplay\(effects\): got .*Effect"):
            sd.EffectDisplay(one)
        with pytest.raises(sd.UnsupportedError, match=r"EffectDisplay\(effects\): got Surfaces"):
            sd.EffectDisplay(pair)

    def test_a_feature_without_a_result(self, model, X):
        effects = sd.explain(model, X, ["a"])
        with pytest.raises(sd.DataError, match=r"a pair, without surfaces.*Pass surfaces="):
            sd.EffectDisplay(effects, features=[("a", "b")])
        with pytest.raises(sd.DataError, match="feature: got 'b'"):
            sd.EffectDisplay(effects, features=["b"])
        with pytest.raises(sd.DataError, match="an empty list"):
            sd.EffectDisplay()
        with pytest.raises(sd.DataError, match=r"EffectDisplay\(subsample\): got 0"):
            sd.EffectDisplay(effects, subsample=0)

    def test_curves_that_are_not_there(self, model, X):
        display = sd.EffectDisplay(sd.explain(model, X, ["a"]), kind="both")
        with pytest.raises(sd.UnsupportedError, match="RHALE without curves of rows"):
            display.plot()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"line_kw": {}}, "EffectDisplay.plot(): got an unexpected keyword argument 'line_kw'"),
            ({"confidence_level": 2}, "confidence_level"),
            ({"legend": "no"}, "EffectDisplay.plot(legend): got 'no'"),
            ({"n_cols": "3"}, "EffectDisplay.plot(n_cols): got '3'"),
        ],
    )
    def test_options_of_plot(self, model, X, options, message):
        display = sd.EffectDisplay(sd.explain(model, X, ["a"]))
        with pytest.raises((TypeError, ValueError), match=re.escape(message)):
            display.plot(**options)

    def test_missing_arguments(self, model):
        message = r"Write sd.EffectDisplay.from_estimator\(estimator, X, features\)"
        with pytest.raises(sd.UnsupportedError, match=message):
            draw(model)
