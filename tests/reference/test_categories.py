"""Effects of categories compared with `aleplot_reference`, between codings, and with PyALE 1.2.0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.strategies import law, near
from tests.reference import aleplot_reference as reference
from tests.reference.aleplot_cases import NAMES, NOMINAL, case

pd = pytest.importorskip("pandas", reason="one-hot blocks and text are compared in data frames")

SEEDS = st.integers(0, 2**32 - 1)
KINDS = {NAMES.index(n): kind for n, kind in NOMINAL.items()}


def same_steps(e, want, size):
    """Compare the values at the levels, the differences between levels, and the levels' weights."""
    tolerance = 1e-9 * np.abs(want.value).max() + 1e-13 * size
    near(e.value, want.value, tolerance, "value")
    near(e.bins.effect, want.mean, tolerance + 1e-9 * np.abs(want.mean).max(initial=0), "steps")
    near(e.levels.weight, want.count, 1e-12 * want.count.max(), "weight")


# ------------------------------------------------------------------------------ ALE


@pytest.mark.slow
@law(seed=SEEDS)
def test_a_given_order(seed):
    """Each step pools the rows of both its levels; values are accumulated, and centred by level frequency."""
    c = case(seed)
    for name in NOMINAL:
        order = c.orders[name]
        want = reference.ale_categorical(c.f, c.plain, NAMES.index(name), order, c.weights_of_plain)
        e = sd.explain(
            c.f, c.X, name, method=sd.ALE(order=order), sample_weight=c.weights, schema=KINDS
        )
        np.testing.assert_array_equal(e.x, order)
        same_steps(e, want, c.size)
        backwards = sd.ALE(order=order[::-1])
        turned = sd.explain(c.f, c.X, name, method=backwards, sample_weight=c.weights, schema=KINDS)
        near(turned.value[::-1], e.value, 1e-12 * (np.abs(e.value).max() + c.size), "backwards")


@pytest.mark.slow
@law(seed=SEEDS)
def test_the_order_of_similarity(seed):
    """Levels are ordered by one-dimensional classical scaling of their distances in the other features.

    The direction is arbitrary, and levels with the same coordinate may come in any order.
    """
    c = case(seed)
    # The reference does not support weights here: weights that are not repetitions are ignored.
    plain, weights = (
        (c.plain, c.weights) if c.weights_of_plain is None else (c.X.astype(float), None)
    )
    for j in KINDS:
        others = [k for k in range(4) if k != j]
        found = reference.similarity_order(
            [plain[:, k] for k in others],
            plain[:, j],
            np.unique(plain[:, j]),
            [k not in KINDS for k in others],
        )
        first, second = found.eigenvalues[:2]
        e = sd.explain(c.f, c.X, j, method=sd.ALE(), sample_weight=weights, schema=KINDS)
        want = reference.ale_categorical(c.f, plain, j, e.x.tolist())
        same_steps(e, want, c.size)
        assert sorted(e.x.tolist()) == sorted(found.order)
        if first - second <= 1e-6 * first:
            continue  # no leading direction
        places = found.coordinate[np.searchsorted(np.unique(plain[:, j]), e.x)]
        along = np.diff(places) * np.sign(places[-1] - places[0])
        assert (along >= -1e-9 * np.abs(places).max()).all()


# ----------------------------------------------------- one-hot blocks: another coding of the same feature


COLOURS = np.array(["red", "green", "blue", "grey"])
BLOCK = {"colour": [f"colour_{c}" for c in COLOURS]}


def coloured(seed, n=150):
    """Return rows with a colour as text, the same rows with a one-hot block, and models of both."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    place = np.clip(np.rint(1.5 + x + 0.7 * rng.normal(size=n)), 0, 3).astype(int)
    place[:4] = range(4)
    plain = pd.DataFrame({"x": x, "colour": COLOURS[place], "z": rng.normal(size=n) + place})
    block = pd.DataFrame({f"colour_{c}": (place == k) * 1.0 for k, c in enumerate(COLOURS)})
    lift = np.array([0.3, -1.0, 2.0, 0.8])

    def f(x, place, z):
        return lift[place] * (1 + x) + np.sin(z + place)

    def of_text(X):
        code = {c: k for k, c in enumerate(COLOURS)}
        place = np.array([code[c] for c in X["colour"]])
        return f(X["x"].to_numpy(), place, X["z"].to_numpy())

    def of_block(X):
        place = np.argmax(X[BLOCK["colour"]].to_numpy(), axis=1)
        return f(X["x"].to_numpy(), place, X["z"].to_numpy())

    return (of_text, plain), (of_block, pd.concat([plain[["x"]], block, plain[["z"]]], axis=1))


METHODS = {
    "ale, given order": sd.ALE(order=["grey", "red", "blue", "green"]),
    "ale, similarity": sd.ALE(),
    "pdp": sd.PDP(),
    "ice": sd.ICE(),
    "m-plot": sd.MPlot(),
}


@pytest.mark.parametrize(
    ("method", "weighted", "seed"),
    [(method, k % 2 == 1, k % 3) for k, method in enumerate(METHODS.values())],
    ids=METHODS,
)
def test_a_one_hot_block_is_one_nominal_feature(method, weighted, seed):
    """Effects do not depend on how levels are encoded."""
    (of_text, plain), (of_block, wide) = coloured(seed)
    weights = np.random.default_rng(seed).integers(1, 4, len(plain)) / 2 if weighted else None
    want = sd.explain(of_text, plain, "colour", method=method, sample_weight=weights)
    got = sd.explain(of_block, wide, "colour", method=method, sample_weight=weights, groups=BLOCK)
    by_name = {name: k for k, name in enumerate(want.levels.labels)}
    place = [by_name[name] for name in got.levels.labels]
    assert sorted(place) == list(range(4))
    if method.name == "ALE":
        assert place in ([0, 1, 2, 3], [3, 2, 1, 0])
    size = np.abs(of_text(plain)).max()
    near(got.value, want.value[place], 1e-12 * size, "value")
    near(got.heterogeneity, want.heterogeneity[place], 1e-12 * size, "heterogeneity")
    near(got.std_error, want.std_error[place], 1e-12 * size, "standard error")
    near(got.importance, want.importance, 1e-12 * size, "importance")
    # The same rows swap their levels in either coding.
    near(got.heterogeneity_score, want.heterogeneity_score, 1e-12 * size, "score")
    if want.curves is not None:
        near(got.curves.value, want.curves.value[:, place], 1e-12 * size, "curves")


def test_a_one_hot_block_in_a_pair():
    (of_text, plain), (of_block, wide) = coloured(7)
    for method in (sd.ALE(bins=6, order={"colour": list(COLOURS)}), sd.PDP(grid=7)):
        want = sd.explain(of_text, plain, ("colour", "z"), method=method)
        got = sd.explain(of_block, wide, ("colour", "z"), method=method, groups=BLOCK)
        place = [list(want.sides[0].levels.labels).index(c) for c in got.sides[0].levels.labels]
        near(got.value, want.value[place], 1e-12 * np.abs(want.value).max(), method.name)


# ------------------------------------------------------------------------------------------- PyALE


@pytest.mark.parametrize("seed", range(3))
def test_ordered_categories_are_pyales(seed):
    """With a given order, PyALE follows ALEPlot's rules: steps pooled, values centred by frequency."""
    alone = pytest.importorskip("PyALE._src.ALE_1D", reason="PyALE is the reference")
    (of_text, plain), (_, _) = coloured(seed, n=80)
    order = [str(c) for c in np.random.default_rng(seed).permutation(COLOURS)]
    kind = pd.CategoricalDtype(order, ordered=True)

    class Model:
        def predict(self, X):
            return of_text(X.assign(colour=X["colour"].astype(str)))

    frame = plain.assign(colour=plain["colour"].astype(kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings that pandas raises in PyALE
        theirs = alone.aleplot_1D_categorical(
            frame.copy(), Model(), "colour", lambda c: c, ["x", "colour", "z"], include_CI=False
        )
    e = sd.explain(Model(), frame, "colour", method=sd.ALE())
    assert e.x.tolist() == order == theirs.index.tolist()
    near(e.value, theirs["eff"].to_numpy(), 1e-12 * np.abs(of_text(plain)).max(), "ALE")
    np.testing.assert_array_equal(e.levels.count, theirs["size"])


@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_as_levels_are_pyales(seed):
    """PyALE's discrete ALE is that of an ordinal feature."""
    alone = pytest.importorskip("PyALE._src.ALE_1D", reason="PyALE is the reference")
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 6, 90) * 3, "b": rng.normal(size=90)})

    class Model:
        def predict(self, X):
            return np.sqrt(1 + X["a"].to_numpy()) * np.exp(X["b"].to_numpy() / 3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = alone.aleplot_1D_discrete(X.copy(), Model(), "a", include_CI=False)
    e = sd.explain(Model(), X, "a", method=sd.ALE(), schema={"a": "ordinal"})
    np.testing.assert_array_equal(e.x, theirs.index)
    near(e.value, theirs["eff"].to_numpy(), 1e-12 * np.abs(Model().predict(X)).max(), "ALE")
