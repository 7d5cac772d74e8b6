"""What an effect depends on, compared with shares that follow from the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd

N = 4000


def found(model, X, feature=0, **options):
    return sd.explain(model, X, feature, method=sd.ALE(bins=5), **options).depends_on


def table(n=N, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_one_factor_explains_all():
    depends = found(lambda X: np.sin(X[:, 0]) * X[:, 1] + X[:, 2], table())
    assert depends.name == "x1"
    assert depends.share == pytest.approx(1, abs=0.02)
    assert 0 <= depends.error < 0.02


@pytest.mark.parametrize("part", [0.25, 0.5, 0.75])
def test_two_factors_explain_their_parts(part):
    """x (a z + b u) with a² + b² = 1: z explains a² of the mean square of c."""
    for seed in range(5):
        X = table(seed=seed)
        depends = found(
            lambda X: X[:, 0] * (np.sqrt(part) * X[:, 1] + np.sqrt(1 - part) * X[:, 2]), X
        )
        assert (
            depends.name in ("x1", "x2") if part == 0.5 else depends.name == f"x{1 + (part < 0.5)}"
        )
        assert abs(depends.share - max(part, 1 - part)) < 4 * depends.error
        assert depends.error < 0.06


def test_what_three_features_make_together_no_single_one_explains():
    for seed in range(10):
        X = table(seed=seed, d=12)
        assert found(lambda X: X[:, 0] * X[:, 1] * X[:, 2], X) is None


def test_an_additive_quantity_and_a_single_column_depend_on_nothing():
    assert found(lambda X: X[:, 0] ** 2 + X[:, 1], table()) is None
    assert found(lambda X: X[:, 0] ** 2, table(d=1)) is None


@pytest.mark.parametrize("kind", ["nominal", "ordinal", "boolean", "missing", "few", "far"])
def test_the_other_feature_may_be_of_any_kind(kind):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=N), "idle": rng.normal(size=N)})
    code = rng.integers(0, 4, N)
    sizes = np.array([0.0, 1.0, -2.0, 3.0])[code]
    if kind == "nominal":
        frame["u"] = np.array(list("abcd"))[code]
    elif kind == "ordinal":
        frame["u"] = pd.Categorical(
            np.array(list("abcd"))[code], categories=list("abcd"), ordered=True
        )
    elif kind == "boolean":
        frame["u"], sizes = code > 1, np.where(code > 1, 1.0, -1.0)
    elif kind == "missing":
        frame["u"], sizes = np.where(code == 0, np.nan, rng.normal(size=N)), 1.0 * (code == 0)
    elif kind == "few":
        frame["u"] = code.astype(float)
    else:
        frame["u"] = np.where(code == 0, np.inf, np.where(code == 1, -1e300, code))
        sizes = 1.0 * (code == 0) - (code == 1)
    at = pd.Series(sizes)
    frame["row"] = np.arange(N)

    def model(X):
        return X["x"].to_numpy() * at.loc[X["row"]].to_numpy()

    depends = found(model, frame, "x")
    assert depends.name == "u"
    assert depends.share > 0.95


def test_it_is_found_among_many_columns():
    X = table(d=80)
    depends = found(lambda X: X[:, 0] * X[:, 57], X)
    assert (depends.name, depends.share > 0.95) == ("x57", True)


def test_weights_count():
    """Where z acts has nine tenths of the weight, where u acts the rest."""
    X = table()
    X[:, 3] = np.arange(N) % 2
    w = np.where(X[:, 3] == 0, 9.0, 1.0)

    def model(X):
        return X[:, 0] * np.where(X[:, 3] == 0, X[:, 1], X[:, 2])

    depends = found(model, X, sample_weight=w, heterogeneity_rows=None)
    assert depends.name == "x1"
    assert depends.share > 0.6


def test_regions_say_it_of_all_rows_only():
    X = table()
    r = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, by=X[:, 2] > 0, method="ale")
    assert r.whole.depends_on.name == "x1"
    assert [e.depends_on for e in r] == [None, None]


@pytest.mark.parametrize("method", ["rhale", "dale", "pdp"])
def test_it_does_not_depend_on_the_method(method):
    q = sd.prediction(
        lambda X: X[:, 0] * X[:, 1], slope=lambda X: np.column_stack([X[:, 1], X[:, 0]])
    )
    X = table(1000, 2)
    e = sd.explain(q, X, 0, method=method)
    assert e.depends_on == sd.explain(q, X, 0, method="ale").depends_on
    assert sd.explain(q, X, 0, method="mplot").depends_on is None


def test_a_group_of_columns_is_named_instead_of_its_members():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 5, N)
    X = pd.DataFrame({"x": rng.normal(size=N), "u": rng.normal(size=N)})
    hot = {f"city_{k}": (code == k).astype(float) for k in range(5)}
    X = X.assign(**hot)
    sizes = np.array([0.0, 1.0, -2.0, 3.0, 0.5])

    def model(X):
        return X["x"].to_numpy() * (X[list(hot)].to_numpy() @ sizes) + X["u"].to_numpy()

    es = sd.explain(model, X, method="ale", groups={"city": list(hot)})
    assert es["x"].depends_on.name == "city"
    assert es["x"].depends_on.share > 0.98
    assert es["city"].depends_on.name == "x"
