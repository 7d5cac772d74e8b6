"""Agreement with scikit-learn, PyALE 1.2.0 and effector 0.6.0, where their definitions are the same."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import skedasis as sd
from tests.laws.strategies import near
from tests.reference.exhaustive_partitions import Table

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is the reference")


def rows(seed, n=120):
    """Return correlated rows, one column with few values, a target and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] += X[:, 0]
    X[:, 3] = rng.integers(0, 5, size=n)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * X[:, 3] + 0.1 * rng.normal(size=n)
    return X, y, rng.integers(0, 4, size=n).astype(float) + rng.choice([0.0, 0.5], size=n)


def regressors():
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor

    return {
        "linear": LinearRegression(),
        "forest": RandomForestRegressor(5, max_depth=4, random_state=0),
        "boosting": GradientBoostingRegressor(n_estimators=10, random_state=0),
        "neighbours": KNeighborsRegressor(5),
    }


def classifiers():
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    return {
        "logistic": LogisticRegression(),
        "bayes": GaussianNB(),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    }


def brute(model, X, feature, grid, weights=None, kind="average", **options):
    """Return scikit-learn's values on an explicit grid."""
    from sklearn.inspection import partial_dependence

    if "custom_values" not in inspect.signature(partial_dependence).parameters:
        pytest.skip("custom grids need scikit-learn 1.7 or newer")
    return partial_dependence(
        model,
        X,
        [feature],
        custom_values={feature: grid},
        sample_weight=weights,
        method="brute",
        kind=kind,
        **options,
    )


# ----------------------------------------------------------------------- scikit-learn: PDP and ICE


@pytest.mark.parametrize(("name", "seed"), [("linear", 0), ("forest", 1), ("neighbours", 2)])
def test_pdp_and_ice_of_regressors_are_scikit_learns(name, seed):
    X, y, weights = rows(seed)
    model = regressors()[name].fit(X, y)
    for feature in (0, 1, 3):
        grid = np.linspace(X[:, feature].min() - 1, X[:, feature].max() + 1, 9)
        want = brute(model, X, feature, grid)["average"][0]
        size = np.abs(want).max()
        e = sd.explain(model, X, feature, method=sd.PDP(grid=grid))
        np.testing.assert_array_equal(e.x, grid)
        near(e.value, want, 1e-12 * size, "PDP")
        want = brute(model, X, feature, grid, weights)["average"][0]
        e = sd.explain(model, X, feature, method=sd.PDP(grid=grid), sample_weight=weights)
        near(e.value, want, 1e-12 * size, "weighted PDP")
        curves = brute(model, X, feature, grid, kind="individual")["individual"][0]
        e = sd.explain(model, X, feature, method=sd.ICE(grid=grid))
        near(e.curves.value, curves, 1e-12 * np.abs(curves).max(), "ICE")


@pytest.mark.parametrize(("name", "classes"), [("logistic", 2), ("bayes", 3), ("tree", 3)])
def test_pdp_and_ice_of_classifiers_are_scikit_learns(name, classes):
    X, y, weights = rows(7)
    labels = np.array(["no", "yes", "maybe"])[np.digitize(y, [0.0, 1.0][: classes - 1])]
    model = classifiers()[name].fit(X, labels)
    grid = np.linspace(-2, 2, 7)
    options = {"response_method": "predict_proba"}
    for place, class_ in enumerate(model.classes_):
        quantity = sd.probability(model, class_=class_)
        found = brute(model, X, 1, grid, weights, **options)["average"]
        # For two classes scikit-learn returns only the second one's values.
        want = found[place] if len(found) > 1 else found[0] if place == 1 else 1 - found[0]
        e = sd.explain(quantity, X, 1, method=sd.PDP(grid=grid), sample_weight=weights)
        near(e.value, want, 1e-12, "PDP")
        found = brute(model, X, 1, grid, kind="individual", **options)["individual"]
        want = found[place] if len(found) > 1 else found[0] if place == 1 else 1 - found[0]
        e = sd.explain(quantity, X, 1, method=sd.ICE(grid=grid))
        near(e.curves.value, want, 1e-12, "ICE")


# ------------------------------------------------------------------------------------ PyALE: ALE


@pytest.mark.parametrize(("bins", "seed"), [(1, 0), (5, 1), (20, 2), (100, 3)])
def test_ale_is_pyales(bins, seed):
    """As in PyALE: edges by the inverse empirical distribution, cells closed on the right, mid-values centred."""
    pandas = pytest.importorskip("pandas", reason="PyALE takes pandas data frames")
    if pandas.__version__.startswith("2."):
        pytest.skip("PyALE slices a float index by position, which pandas 2 treats as labels")
    pytest.importorskip("PyALE", reason="PyALE is the reference: pip install PyALE==1.2.0")
    from PyALE._src.ALE_1D import aleplot_1D_continuous

    X, y, _ = rows(seed)
    names = ["a", "b", "c", "d"]
    frame = pandas.DataFrame(X, columns=names)
    model = regressors()["boosting"].fit(frame, y)
    for j, name in enumerate(names):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings that pandas raises in PyALE
            theirs = aleplot_1D_continuous(frame, model, name, grid_size=bins, include_CI=False)
        e = sd.explain(model, frame, name, method=sd.ALE(bins=bins))
        if not np.array_equal(e.x, theirs.index):
            # PyALE multiplies n by a rounded k / K; where this misses the rank, the library is given PyALE's edges.
            assert np.isin(theirs.index, X[:, j]).all()
            e = sd.explain(model, frame, name, method=sd.ALE(bins=sd.Edges(theirs.index)))
        np.testing.assert_array_equal(e.x, theirs.index)
        near(e.value, theirs["eff"], 1e-12 * np.abs(y).max() * len(e.x), "ALE")
        np.testing.assert_array_equal(e.bins.count, theirs["size"][1:])


# -------------------------------------------------------------------------- effector: DALE and RHALE


def smooth(seed, n=400):
    """Return rows that are not on a grid, a model and its derivatives."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))

    def f(X):
        return np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 3 + X[:, 0]

    def slope(X):
        return np.stack(
            [3 * np.cos(3 * X[:, 0]) * X[:, 1] + 1, np.sin(3 * X[:, 0]), 3 * X[:, 2] ** 2], axis=1
        )

    return X, f, slope


def effectors_rhale(X, f, slope, binning):
    effector = pytest.importorskip(
        "effector", reason="effector is the reference: pip install effector==0.6.0"
    )
    rhale = effector.RHALE(X, f, slope, nof_instances="all")
    rhale.fit("all", binning_method=binning, centering=False)
    return rhale


@pytest.mark.parametrize(("bins", "seed"), [(1, 0), (4, 1), (20, 2)])
def test_dale_is_effectors_rhale_with_fixed_bins(bins, seed):
    partitioning = pytest.importorskip(
        "effector.axis_partitioning", reason="effector is the reference"
    )
    X, f, slope = smooth(seed)
    binning = partitioning.Fixed(nof_bins=bins, min_points_per_bin=0)
    theirs = effectors_rhale(X, f, slope, binning)
    quantity = sd.prediction(f, slope=slope)
    for j in range(3):
        method = sd.DALE(bins=sd.Uniform(bins), ddof=0, center="start")
        e = sd.explain(quantity, X, j, method=method)
        assert not e.bins.empty.any()
        middle = (e.x[:-1] + e.x[1:]) / 2
        size = np.abs(e.rows.effect).max()
        near(e.value, theirs.eval(j, e.x, centering=False), 1e-12 * size, "mean")
        near(e(middle), theirs.eval(j, middle, centering=False), 1e-12 * size, "mean between")
        if (e.bins.count > 1).all():
            near(e.bins.std**2, theirs.eval_heter(j, middle), 1e-12 * size**2, "variance")


@pytest.mark.parametrize(
    ("seed", "bins", "least", "alpha"),
    [(0, 8, 10, 0.3), (1, 20, 20, 0.2), (2, 60, 5, 0.0), (3, 40, 30, 0.7)],
)
def test_optimal_bins_are_effectors_or_better(seed, bins, least, alpha):
    """effector's definition is Eq. 13 with variances that divide by n."""
    partitioning = pytest.importorskip(
        "effector.axis_partitioning", reason="effector is the reference"
    )
    X, _, slope = smooth(seed)
    rng = np.random.default_rng(seed)
    d = slope(X)[:, 0] + rng.normal(size=len(X))
    x = X[:, 0]

    def given(X):
        return np.stack([X[:, 1], 0 * X[:, 1]], axis=1)

    dynamic = partitioning.DynamicProgramming(
        max_nof_bins=bins, min_points_per_bin=least, discount=alpha
    )
    theirs = dynamic.find_limits(x, d, None)
    scheme = sd.Optimal(max_bins=bins, alpha=alpha, min_points=least, criterion="eq13")
    e = sd.explain(
        sd.prediction(lambda X: X[:, 0], slope=given),
        np.stack([x, d], axis=1),
        0,
        method=sd.RHALE(bins=scheme, ddof=0),
    )
    ours, others = (cost_of(x, d, edges, least, alpha) for edges in (e.x, theirs))
    assert ours <= others * (1 + 1e-12)
    # Both solve the same problem, so the optima are equal.
    assert ours == pytest.approx(others, rel=1e-9)


def cost_of(x, d, edges, least, alpha):
    edges = np.array([x.min(), *edges[1:-1], x.max()])
    table = Table(x, d, np.ones(len(x)), edges, alpha=alpha, least=least, ddof=0)
    return table.of(tuple(range(len(edges))))
