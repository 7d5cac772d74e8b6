"""`shap_dependence`: SHAP values against their definition, trees against shap's own, statistics against effector's."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pandas as pd
import pytest

import skedasis as sd

shap = pytest.importorskip("shap", reason="shap is not installed: pip install 'skedasis[shap]'")


def shapley(f, X, at, background):
    """Return the Shapley values of row `at`, (d,), from all coalitions: the definition, in the frame of X."""
    names, d = list(X.columns), X.shape[1]
    base, row = X.iloc[background].reset_index(drop=True), X.iloc[[at] * len(background)]
    row = row.reset_index(drop=True)

    def worth(members):
        mixed = base.copy()
        for name in members:
            mixed[name] = row[name]
        return float(np.mean(f(mixed)))

    found = np.zeros(d)
    for j, name in enumerate(names):
        others = [n for n in names if n != name]
        for size in range(d):
            share = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            for members in itertools.combinations(others, size):
                found[j] += share * (worth((*members, name)) - worth(members))
    return found


def rows_of(effect):
    """Return the values of the feature and the SHAP values that the effect keeps, in order of the feature."""
    order = np.argsort(effect.rows.x, kind="stable")
    return effect.rows.x[order], effect.rows.effect[order]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(120, 4))


# --- values ---------------------------------------------------------------------------------------


def test_an_additive_model_has_its_components(X):
    def f(X):
        return np.exp(X[:, 0]) - 3 * X[:, 1] + np.sin(X[:, 2])

    es = sd.shap_dependence(f, X, background=None, max_rows=None)
    parts = {"x0": np.exp, "x1": lambda x: -3 * x, "x2": np.sin, "x3": np.zeros_like}
    for j, (name, part) in enumerate(parts.items()):
        x, values = rows_of(es[name])
        np.testing.assert_array_equal(x, np.sort(X[:, j]))
        np.testing.assert_allclose(values, part(x) - part(X[:, j]).mean(), atol=1e-13)


def test_a_feature_has_half_of_its_interactions(X):
    """With v(1) = x E[z], v(2) = z E[x] and v(12) = x z."""
    es = sd.shap_dependence(lambda X: X[:, 0] * X[:, 1], X, background=None, max_rows=None)
    x, z = X[:, 0], X[:, 1]
    none, alone, other = (x * z).mean(), x * z.mean(), z * x.mean()
    expected = ((alone - none) + (x * z - other)) / 2
    np.testing.assert_allclose(rows_of(es["x0"])[1], expected[np.argsort(x)], atol=1e-13)


def test_text_categories_times_and_missing_values_by_the_definition():
    """Rows are mixed in their own container, which a matrix of floats could not hold."""
    rng = np.random.default_rng(1)
    n = 40
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "town": rng.choice(["Aix", "Bonn", "Cork"], n),
            "kind": pd.Categorical(rng.choice(["a", "b"], n)),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D"),
        }
    )
    before = X.copy()

    def f(X):
        assert list(X.dtypes) == list(before.dtypes)
        size = X["size"].fillna(2.0).to_numpy()
        late = (X["day"] > pd.Timestamp("2026-02-15")).to_numpy()
        town = X["town"].map({"Aix": 0.0, "Bonn": 1.0, "Cork": 3.0}).to_numpy(float)
        return size * late + town * (X["kind"] == "b").to_numpy()

    es = sd.shap_dependence(f, X, background=None, max_rows=None)
    pd.testing.assert_frame_equal(X, before)
    by_hand = np.stack([shapley(f, X, i, np.arange(n)) for i in range(n)])
    for level, value in zip(es["town"].x, es["town"].value, strict=True):
        rows = (X["town"] == level).to_numpy()
        assert value == pytest.approx(by_hand[rows, 1].mean(), abs=1e-12)
        at = list(es["town"].x).index(level)
        std = by_hand[rows, 1].std(ddof=1)
        assert es["town"].heterogeneity[at] == pytest.approx(std, abs=1e-12)
    missing = X["size"].isna().to_numpy()
    assert es["size"].missing_point.value == pytest.approx(by_hand[missing, 0].mean(), abs=1e-12)
    observed = np.sort(X["size"].dropna().to_numpy())
    np.testing.assert_array_equal(rows_of(es["size"])[0], observed)


def test_three_way_interactions_by_the_definition():
    X = pd.DataFrame(np.random.default_rng(2).normal(size=(12, 3)), columns=list("abc"))
    by_hand = np.stack(
        [shapley(lambda X: np.prod(X.to_numpy(), axis=1), X, i, np.arange(12)) for i in range(12)]
    )
    e = sd.shap_dependence(lambda X: np.prod(X, axis=1), X.to_numpy(), 0, max_rows=None)
    np.testing.assert_allclose(rows_of(e)[1], by_hand[np.argsort(X["a"]), 0], atol=1e-13)
    assert e.provenance["exact"] is True


def test_many_columns_have_the_permutations_of_shap():
    """More than shap computes exactly; of an additive model its permutations are exact, too."""
    X = np.random.default_rng(3).normal(size=(30, 12))
    e = sd.shap_dependence(lambda X: X.sum(axis=1), X, 0, background=30, max_rows=None)
    assert "PermutationExplainer" in e.provenance["shap"]
    assert e.provenance["exact"] is False
    np.testing.assert_allclose(rows_of(e)[1], np.sort(X[:, 0]) - X[:, 0].mean(), atol=1e-12)


@pytest.mark.parametrize("weights", [None, "given"])
def test_values_add_up_to_the_difference_from_the_background(X, weights):
    """Efficiency: the values of a row sum to the quantity less its mean over the background."""

    def f(X):
        return np.tanh(X[:, 0] * X[:, 1]) + np.abs(X[:, 2] * X[:, 3])

    w = None if weights is None else np.random.default_rng(3).integers(1, 5, len(X))
    es = sd.shap_dependence(f, X, background=50, max_rows=None, sample_weight=w)
    found = np.zeros(len(X))
    for j, e in enumerate(es.values()):
        found[np.argsort(X[:, j])] += rows_of(e)[1]
    rest = f(X) - found
    np.testing.assert_allclose(rest, rest[0], atol=1e-12)
    assert abs(rest[0] - np.average(f(X), weights=w)) < 0.15 * f(X).std()


def test_the_background_follows_the_weights():
    """Rows of weight 9 are nine times as frequent among the drawn ones, for any order of the rows."""
    X = np.repeat([[0.0], [1.0]], 200, axis=0) + np.zeros((400, 2))
    weights = np.where(X[:, 0] == 1, 9.0, 1.0)
    e = sd.shap_dependence(
        lambda X: X[:, 0], X, 0, sample_weight=weights, background=100, max_rows=None
    )
    assert e.provenance["exact"] is False
    # E f = 0.9 over the background, so the values are -0.9 and 0.1.
    np.testing.assert_allclose(e.value, [-0.9, 0.1], atol=0.011)


@pytest.mark.parametrize("background", [None, 120, 500])
def test_all_rows_are_the_background_with_their_weights(X, background):
    """A linear model has the values coef (x - weighted mean), whatever the seed: nothing is drawn."""
    coef, w = (
        np.array([2.0, -1.0, 0.5, 0.0]),
        np.random.default_rng(4).exponential(size=len(X)) ** 3,
    )
    explained = {"background": background, "max_rows": None}
    expected = coef * (X - np.average(X, axis=0, weights=w))
    for seed in range(2):
        es = sd.shap_dependence(
            lambda X: X @ coef, X, sample_weight=w, random_state=seed, **explained
        )
        for j, e in enumerate(es.values()):
            np.testing.assert_allclose(rows_of(e)[1], expected[np.argsort(X[:, j]), j], atol=1e-13)
    # A pair: x0 * x1 with v() = E x0 x1, v(0) = x0 E x1, v(1) = x1 E x0, all with the weights.
    pair = sd.shap_dependence(
        lambda X: X[:, 0] * X[:, 1], X[:, :2], 0, sample_weight=w, **explained
    )
    x, z = X[:, 0], X[:, 1]
    none, alone, other = (np.average(v, weights=w) for v in (x * z, z, x))
    by_hand = ((x * alone - none) + (x * z - z * other)) / 2
    np.testing.assert_allclose(rows_of(pair)[1], by_hand[np.argsort(x)], atol=1e-13)
    assert pair.provenance["exact"] is True


def test_neighbours_in_a_long_table_are_different_rows():
    """shap takes numbers of rows that differ by less than 1e-5 of their size for equal, above 100,000 rows."""
    n = 300_000
    X = np.zeros((n, 2))
    X[-3:, 0] = 1.0, 2.0, 6.0
    weights = np.zeros(n)
    weights[-3:] = 1.0
    e = sd.shap_dependence(
        lambda X: X[:, 0], X, 0, sample_weight=weights, background=3, max_rows=None
    )
    np.testing.assert_allclose(e.value, [-2.0, -1.0, 3.0])


def test_trees_are_those_of_shap():
    """shap.TreeExplainer evaluates them from their structure."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 5))
    y = X[:, 0] * (X[:, 1] > 0) + X[:, 2]
    settings = {"max_depth": 2, "n_estimators": 30, "verbose": -1, "random_state": 0, "n_jobs": 1}
    model = lightgbm.LGBMRegressor(**settings).fit(X, y)
    es = sd.shap_dependence(model, X, background=100, max_rows=None)
    every = shap.maskers.Independent(X, max_samples=len(X))
    theirs = shap.TreeExplainer(model, every, feature_perturbation="interventional")
    their_values = theirs.shap_values(X, check_additivity=False)
    for j, e in enumerate(es.values()):
        values = rows_of(e)[1]
        expected = their_values[np.argsort(X[:, j], kind="stable"), j]
        np.testing.assert_allclose(values, expected, atol=1e-6 * np.abs(their_values).max())
    given = sd.shap_dependence(model, X, 0, shap_values=their_values)
    np.testing.assert_allclose(given.value, es["x0"].value, atol=1e-6)
    assert given.provenance["effect_rows"] == 0


def test_statistics_are_those_of_effector(X):
    """Means and variances of the bins, from the same SHAP values and the same bins."""

    effector = pytest.importorskip("effector", reason="effector is not installed")

    def f(X):
        return X[:, 0] * X[:, 1] + X[:, 2]

    values = np.random.default_rng(5).normal(size=X.shape) + X
    theirs = effector.ShapDP(X, f, nof_instances="all", shap_values=values)
    theirs.fit(0, binning_method=effector.axis_partitioning.Fixed(6), centering=False)
    edges = np.linspace(X[:, 0].min(), X[:, 0].max(), 7)
    e = sd.shap_dependence(f, X, 0, shap_values=values, bins=sd.Edges(edges))
    middle = (edges[:-1] + edges[1:]) / 2
    mean, variance = theirs.eval(0, middle, centering=False), theirs.eval_heter(0, middle)
    n = e.bins.count
    np.testing.assert_allclose(e.bins.effect, mean, rtol=1e-12)
    np.testing.assert_allclose(e.bins.std**2 * (n - 1) / n, variance, rtol=1e-12)


# --- quantities -----------------------------------------------------------------------------------


def test_any_quantity_with_labels_and_with_several_outputs():
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(X, y)
    few = {"background": 20, "max_rows": 40}
    entropy = sd.shap_dependence(sd.entropy(model), X, 2, **few)
    assert entropy.about.quantity == "SHAP value of entropy"
    # The label of the row that is explained stays with it, whatever its columns are mixed with.
    values = sd.shap_dependence(sd.nll(model), X, y=y, background=None, max_rows=None)
    p = model.predict_proba(X)
    own = -np.log(p[np.arange(len(y)), y])
    mean = -np.log(p[:, y]).mean(axis=0)
    total = np.zeros(len(X))
    for j, e in enumerate(values.values()):
        # Of rows with one value of the feature, which have any order, the sums are compared.
        x, kept = rows_of(e)
        for value in np.unique(x):
            total[X[:, j] == value] += kept[x == value].mean()
    assert total.mean() == pytest.approx((own - mean).mean(), abs=1e-10)
    every = sd.shap_dependence(sd.probability(model, class_="all"), X, **few)
    assert isinstance(every, sd.MultiOutput)
    one = sd.shap_dependence(sd.probability(model, class_=2), X, **few)
    np.testing.assert_array_equal(every[2]["x1"].value, one["x1"].value)


def test_a_stream_gives_what_its_rows_give(tmp_path, X):
    import pyarrow as pa
    from pyarrow import parquet

    table = {f"x{j}": X[:, j] for j in range(4)}
    parquet.write_table(pa.table(table), tmp_path / "rows.parquet")

    def f(rows):
        columns = np.asarray(rows, dtype=float)
        return columns[:, 0] * columns[:, 1]

    from_file = sd.shap_dependence(f, sd.parquet(tmp_path / "rows.parquet"), "x0", background=30)
    at_once = sd.shap_dependence(f, X, "x0", background=30)
    np.testing.assert_array_equal(from_file.value, at_once.value)


# --- rows, cost, randomness -----------------------------------------------------------------------


def test_the_cost_is_what_the_docstring_says(X):
    seen = []

    def f(X):
        seen.append(len(X))
        return X[:, 0] * X[:, 1]

    e = sd.shap_dependence(f, X, 0, background=25, max_rows=30)
    assert sum(seen) == e.provenance["model_rows"]
    assert e.provenance["check_rows"] <= 128
    # A row that is in its own background is not evaluated there again.
    assert 0.9 * 30 * 25 * 2**4 < e.provenance["effect_rows"] <= 30 * 25 * 2**4
    assert e.provenance["rows"] == 30
    assert e.provenance["exact"] is False
    assert e.provenance["background_rows"] == 25
    assert e.provenance["settings"]["background"] == 25


def test_neither_the_order_of_rows_nor_the_generator_of_others_matters(X):
    def f(X):
        return np.prod(X, axis=1)

    keys, order = np.arange(len(X)), np.random.default_rng(6).permutation(len(X))
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    e = sd.shap_dependence(f, X, 0, row_id=keys, max_rows=50)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    other = sd.shap_dependence(f, X[order], 0, row_id=keys[order], max_rows=50)
    np.testing.assert_array_equal(rows_of(e)[0], rows_of(other)[0])
    np.testing.assert_allclose(rows_of(e)[1], rows_of(other)[1], atol=1e-12)
    again = sd.shap_dependence(f, X, 0, row_id=keys, max_rows=50, random_state=1)
    assert not np.array_equal(rows_of(e)[0], rows_of(again)[0])


def test_constants_two_rows_and_huge_offsets():
    X = np.array([[1.0, 5.0], [1.0, 6.0]])
    e = sd.shap_dependence(lambda X: X[:, 1], X, 0)
    np.testing.assert_array_equal(e.value, [0.0])
    e = sd.shap_dependence(lambda X: X[:, 1], X, 1)
    np.testing.assert_array_equal(e.value, [-0.5, 0.5])
    assert e.provenance["exact"] is True
    X = 1e9 + np.random.default_rng(8).normal(size=(50, 2))
    e = sd.shap_dependence(lambda X: X[:, 0], X, 0, background=None)
    np.testing.assert_allclose(rows_of(e)[1], np.sort(X[:, 0]) - X[:, 0].mean(), atol=1e-5)


def test_the_result_is_an_effect_like_others(X, tmp_path):
    e = sd.shap_dependence(lambda X: X[:, 0] * X[:, 1] + X[:, 0], X, 0)
    e.save(tmp_path / "e.npz")
    np.testing.assert_array_equal(sd.load(tmp_path / "e.npz").value, e.value)
    assert len(e.rebin(5).bins) == 5
    lower, upper = e.interval(0.95)
    assert ((lower < e.value) & (e.value < upper)).all()
    assert e.plot().axes[0].get_ylabel() == "SHAP value"
    assert "SHAP dependence" in e.explore().html
    beside = sd.compare(e, sd.explain(lambda X: X[:, 0] * X[:, 1] + X[:, 0], X, 0, method=sd.PDP()))
    texts = [t.get_text() for t in beside.findobj(lambda a: hasattr(a, "get_text"))]
    assert "SHAP dependence" in texts
    for check in e.checks(X=X):
        assert "sd.SHAP" not in check.message
    few = sd.shap_dependence(lambda X: X[:, 0], X, 0, shap_values=X, bins=40)
    advised = [c.message for c in few.checks() if "fewer bins" in c.message]
    assert advised
    assert all("rebin(" in text or "sd.shap_dependence(" in text for text in advised)


# --- errors ---------------------------------------------------------------------------------------


def f(X):
    return X[:, 0]


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"shap_values": np.zeros((119, 4))}, r"shape \(119, 4\), expected finite numbers of"),
        ({"shap_values": np.zeros((120, 4, 3))}, r"values of 3 outputs.*values\[:, :, k\]"),
        ({"shap_values": np.full((120, 4), np.nan)}, "NaN or infinity in 120 rows"),
        ({"shap_values": "tree"}, "a str, expected finite numbers"),
        ({"shap_values": {"a": 1}}, "a dict, expected finite numbers"),
        ({"background": 0}, "background"),
        ({"max_rows": 1}, "max_rows"),
        ({"bins": 0}, r"Quantile\(k\): got 0"),
        ({"features": "x9"}, "x9"),
    ],
)
def test_invalid_arguments_are_named(X, keywords, words):
    with pytest.raises(sd.DataError, match=words):
        sd.shap_dependence(f, X, **keywords)


def test_what_is_not_supported_says_what_to_use(X, tmp_path):
    with pytest.raises(sd.UnsupportedError, match=r"a pair of features.*sd\.explain"):
        sd.shap_dependence(f, X, ("x0", "x1"))
    with pytest.raises(sd.UnsupportedError, match=r"2 models.*for m in models"):
        sd.shap_dependence([f, f], X)
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "rows.parquet")
    with pytest.raises(sd.UnsupportedError, match="read in chunks"):
        sd.shap_dependence(f, sd.parquet(tmp_path / "rows.parquet"), shap_values=np.zeros((2, 1)))


def test_without_shap_the_extra_is_named_and_given_values_work(X, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(sd.UnsupportedError, match=r"pip install 'skedasis\[shap\]'.*shap_values="):
        sd.shap_dependence(f, X)
    e = sd.shap_dependence(f, X, 0, shap_values=X)
    assert e.provenance["effect_rows"] == 0
    # The bins' means of values that are the feature itself are its means.
    np.testing.assert_allclose(e.value, e.x)


def test_a_frame_and_an_explanation_are_read(X):
    values = np.cos(X)
    frame = pd.DataFrame(values)
    explanation = shap.Explanation(values, data=X)
    one, other = (sd.shap_dependence(f, X, 1, shap_values=v) for v in (frame, explanation))
    np.testing.assert_array_equal(one.value, other.value)
    # Rows of weight 0 are absent from both.
    weights = np.where(np.arange(len(X)) < 60, 1.0, 0.0)
    half = sd.shap_dependence(f, X, 1, shap_values=values, sample_weight=weights)
    same = sd.shap_dependence(f, X[:60], 1, shap_values=values[:60])
    np.testing.assert_allclose(half.value, same.value, rtol=1e-13)
