"""Null distributions from random features: permuted columns, cost, p-values, and bad input."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import skedasis as sd
from skedasis.analysis.null_distribution import added, replaced
from skedasis.data.dataset import as_dataset
from tests.helpers import frame, refused

FOUR = sd.ALE(bins=4)


def table(n: int = 60, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features and a label that depends on the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 0] + rng.normal(size=n)


def least_squares(X: np.ndarray, y: Any) -> Any:
    """Fit a linear model."""
    b = np.linalg.lstsq(np.c_[X, np.ones(len(X))], np.asarray(y), rcond=None)[0]
    return lambda X: np.c_[X, np.ones(len(X))] @ b


class Counts:
    """A learner that records the number of columns of each fit."""

    def __init__(self) -> None:
        self.widths: list[int] = []

    def __call__(self, X: np.ndarray, y: Any) -> Any:
        self.widths.append(X.shape[1])
        return least_squares(X, y)


# -------------------------------------------------------------------------------- permuted columns


CONTAINERS = {
    "pandas": lambda f: f.set_index(np.arange(len(f))[::-1] + 5),
    "polars": pl.from_pandas,
    "objects": lambda f: f.to_numpy(dtype=object),
}


def columns(X: Any) -> list[list[Any]]:
    """Return the columns of any container as lists."""
    if isinstance(X, np.ndarray):
        return [list(c) for c in X.T]
    return [s.to_list() for s in nw.from_native(X).iter_columns()]


@pytest.mark.parametrize("container", CONTAINERS)
def test_columns_are_permuted_in_any_container(container: str) -> None:
    X = CONTAINERS[container](frame(20))
    before = columns(X)
    features = as_dataset(X).features
    orders = [np.random.default_rng(k).permutation(20) for k in (1, 2)]
    chosen = [features[2], features[0]]
    new, labels, _ = replaced(X, chosen, orders, None)
    assert type(new) is type(X)
    expected = list(before)
    expected[2] = [before[2][i] for i in orders[0]]
    expected[0] = [before[0][i] for i in orders[1]]
    assert columns(new) == expected
    assert labels == [features[2].name, features[0].name]
    new, labels, _ = added(X, chosen, orders, None)
    assert columns(new) == [*before, expected[2], expected[0]]
    assert len(labels) == len({*labels, *(f.key for f in features)} - {f.key for f in features})
    if not isinstance(X, np.ndarray):
        assert nw.from_native(new).columns[4:] == labels
        kinds = nw.from_native(new).schema.dtypes()
        assert kinds[4:] == [kinds[2], kinds[0]]
    assert columns(X) == before


@pytest.mark.parametrize("how", ["replaced", "added"])
def test_declared_kinds_hold_for_random_features(how: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 3, 60), rng.normal(size=60)].astype(float)
    schema = {0: sd.Feature("grade", "nominal"), "x1": sd.Feature("size", unit="m")}
    null = sd.null_distribution(
        least_squares, X, X[:, 1], method=FOUR, n_repeats=3, how=how, schema=schema
    )
    assert list(null.draws) == ["grade", "size"]
    es = sd.explain(least_squares(X, X[:, 1]), X, method=FOUR, schema=schema)
    assert es["grade"].levels is not None
    assert 0 < es.statistics(null=null, replicates=2)["grade"].p_value <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "method"), [("replaced", "ale"), ("replaced", None), ("added", sd.DALE(bins=3))]
)
def test_text_is_permuted_and_explained_by_its_levels(how: Any, method: Any) -> None:
    X = frame(80)
    y = X["a"] + (X["c"] == "u") + 0.1 * np.random.default_rng(1).normal(size=80)

    def fit(X: pd.DataFrame, y: Any) -> Any:
        def coded(X: pd.DataFrame) -> np.ndarray:
            parts = [X[c] if X[c].dtype == float else X[c].isin(["u", "p"]) for c in X]
            return np.stack([np.asarray(p, dtype=float) for p in parts], axis=1)

        model = least_squares(coded(X), y)
        return lambda X: model(coded(X))

    null = sd.null_distribution(fit, X, y, method=method, n_repeats=19, how=how)
    st = sd.explain(fit(X, y), X, method=method).statistics(null=null, replicates=2)
    assert st["a"].p_value == 0.05
    assert st["c"].p_value == 0.05
    assert st["d"].p_value > 0.05


# -------------------------------------------------------------------------------------------- cost


def test_fits_and_model_rows_are_counted() -> None:
    X, y = table()
    learner = Counts()
    null = sd.null_distribution(learner, X, y, method=FOUR, n_repeats=4)
    assert learner.widths == [3] * 12
    assert null.provenance["fits"] == 12
    assert null.provenance["effect_rows"] == 12 * 2 * 60
    learner = Counts()
    null = sd.null_distribution(
        learner, X, y, method=FOUR, n_repeats=4, columns=["x0", 2], how="added"
    )
    assert learner.widths == [5] * 4
    assert null.provenance["effect_rows"] == 8 * 2 * 60
    assert {k: v.shape for k, v in null.draws.items()} == {"x0": (4, 3), "x2": (4, 3)}
    assert "8 random features of 2 columns, 4 fits" in repr(null)


def test_draws_depend_on_the_seed_and_the_column_alone() -> None:
    X, y = table()
    all_of, one, other = (
        sd.null_distribution(
            least_squares, X, y, method=FOUR, n_repeats=3, columns=c, random_state=s
        )
        for c, s in ((None, 0), (1, 0), (1, 1))
    )
    np.testing.assert_array_equal(all_of.draws["x1"], one.draws["x1"])
    assert (one.draws["x1"] != other.draws["x1"]).all()


def test_draws_are_statistics_of_a_model_fitted_with_a_permuted_column() -> None:
    X, y = table()
    null = sd.null_distribution(
        least_squares, X, y, method=FOUR, n_repeats=1, columns="x1", random_state=7
    )
    new = X.copy()
    new[:, 1] = X[np.random.default_rng([7, 1, 0]).permutation(60), 1]
    s = sd.explain(least_squares(new, y), new, ["x1"], method=FOUR).statistics(replicates=2)[0]
    assert null.draws["x1"][0].tolist() == pytest.approx([s.aled, *s.aler])


def test_estimators_are_cloned_and_weights_reach_them() -> None:
    class Mean:
        def __init__(self) -> None:
            self.fits = 0

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Mean:
            self.fits += 1
            assert sample_weight is not None
            w = np.sqrt(sample_weight)[:, None]
            self.slopes = np.linalg.lstsq(X * w, np.asarray(y) * w[:, 0], rcond=None)[0]
            return self

        def predict(self, X: Any) -> Any:
            return X @ self.slopes

    X, y = table()
    own = Mean()
    null = sd.null_distribution(
        own, X, y, method=FOUR, n_repeats=2, sample_weight=np.arange(1.0, 61)
    )
    assert own.fits == 0
    assert not hasattr(own, "slopes")
    assert null.provenance["fits"] == 6


# ---------------------------------------------------------------------------------------- p-values


def test_p_values_count_what_is_as_large() -> None:
    X, y = table()
    es = sd.explain(least_squares(X, y), X, method=FOUR)
    own = es.statistics(replicates=2)["x1"]
    null = sd.null_distribution(least_squares, X, y, method=FOUR, n_repeats=1, columns=1)
    draws = np.array(
        [
            [own.aled, own.aler[0], own.aler[1]],  # ties count
            [own.aled * 2, own.aler[0] * 2, own.aler[1] / 2],
            [own.aled / 2, own.aler[0] / 2, own.aler[1] / 2],
        ]
    )
    s = es.statistics(null=sd.NullDistribution({"x1": draws}, null.ways), replicates=2)["x1"]
    assert s.p_value == (1 + 2) / 4
    assert s.p_aler == ((1 + 2) / 4, (1 + 1) / 4)


def test_features_without_copies_are_compared_with_those_that_are_explained_alike() -> None:
    X, y = table()
    rng = np.random.default_rng(0)
    X = np.c_[X, rng.integers(0, 3, 60)]
    schema = {3: "nominal"}
    null = sd.null_distribution(
        least_squares, X, y, method=FOUR, n_repeats=4, columns=[1, 2], schema=schema
    )
    st = sd.explain(least_squares(X, y), X, method=FOUR, schema=schema).statistics(
        null=null, replicates=2
    )
    assert st["x0"].p_value == 1 / 9
    assert st["x1"].p_value * 5 in (1, 2, 3, 4, 5)
    assert np.isnan(st["x3"].p_value)  # only numeric features have draws


def test_features_that_are_known_to_be_random_are_a_null() -> None:
    X, y = table(d=4)
    es = sd.explain(least_squares(X, y), X, method=FOUR)
    st = es.statistics(null=["x2", "x3"], replicates=2)
    assert np.isnan(st["x2"].p_value)
    assert st["x0"].p_value == 1 / 3
    larger = sum(st[r].aled >= st["x1"].aled for r in ("x2", "x3"))
    assert st["x1"].p_value == (1 + larger) / 3
    assert es.statistics(null="x3", replicates=2)["x0"].p_value == 1 / 2
    assert "p" in repr(st).splitlines()[1].split()


# --------------------------------------------------------------------------------------- bad input


def test_a_null_of_another_kind_is_refused() -> None:
    X, y = table()
    null = sd.null_distribution(least_squares, X, y, method=FOUR, n_repeats=2)
    model = least_squares(X, y)
    for method in (sd.ALE(bins=5), sd.DALE(bins=4)):
        with refused(sd.DataError, "statistics(null)", "ALE of prediction", "same settings"):
            sd.explain(model, X, method=method).statistics(null=null)
    other = sd.prediction(model, name="price")
    with refused(sd.DataError, "ALE of price"):
        sd.explain(other, X, method=FOUR).statistics(null=null)
    centred = sd.explain(model, X, method=sd.ALE(bins=4, center="start"))
    assert centred.statistics(null=null, replicates=2)["x0"].p_value <= 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"fit": lambda X, y: None}, ["null_distribution(fit)", "None"]),
        ({"fit": Counts}, ["null_distribution(fit)", "the class Counts", "Counts()"]),
        ({"y": np.ones(3)}, ["null_distribution(y)", "length 3", "length 60"]),
        ({"n_repeats": 0}, ["null_distribution(n_repeats)", "0"]),
        ({"columns": []}, ["null_distribution(columns)"]),
        ({"how": "swapped"}, ["null_distribution(how)", "swapped"]),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, dict) else "",
)
def test_what_cannot_be_used_is_refused(given: dict[str, Any], words: list[str]) -> None:
    X, y = table()
    all_of = {"fit": least_squares, "y": y, "method": FOUR, "n_repeats": 2, **given}
    with refused(sd.DataError, *words):
        sd.null_distribution(all_of.pop("fit"), X, all_of.pop("y"), **all_of)


@pytest.mark.parametrize(
    "given", [{"groups": {"g": ["x0", "x1"]}}, {"method": sd.PFI()}, {"method": sd.PDP()}]
)
def test_what_has_no_accumulated_effects_of_columns_is_refused(given: dict[str, Any]) -> None:
    X, y = table()
    with refused(sd.UnsupportedError):
        sd.null_distribution(least_squares, X, y, **{"n_repeats": 2, **given})
