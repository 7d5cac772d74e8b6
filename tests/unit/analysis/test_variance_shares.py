"""`variance_shares`: choice without the held-out rows, equivalences, bad input, and the result object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.analysis import variance_shares as analysis
from skedasis.data.dataset import as_dataset
from skedasis.engine.options import ExplainOptions
from skedasis.results.variance_shares import UNEXPLAINED
from skedasis.stats.variance_shares import FOLDS, VarianceColumn, choose_stages
from tests.helpers import Remembers, refused
from tests.reference.test_variance_shares import Given

REGIONS = {"a": Given(lambda X: (X[:, 1].astype(float) > 0).astype(int))}


def model(X: Any) -> np.ndarray:
    x = np.asarray(X, dtype=float)
    return x[:, 0] * (x[:, 1] > 0) + x[:, 1] * x[:, 2]


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(600, 3)), columns=list("abc"))


@pytest.fixture(scope="module")
def found(data) -> sd.VarianceShares:
    return sd.variance_shares(model, data, model(data) + 1.0, regions=REGIONS)


def numbers(found: sd.VarianceShares) -> np.ndarray:
    return np.array([(p.r2, p.share, p.std_error) for p in found.parts])


# --- laws ------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(20, 200),
    d=st.integers(1, 4),
    weighted=st.booleans(),
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_parts_sum_to_one(seed, n, d, weighted, scale, offset):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 4)))
    X = np.column_stack([X, X[:, 0], np.ones(n)])  # a copy and a constant column
    holes = rng.random(X.shape) < rng.choice([0.0, 0.2])
    X[holes] = np.nan
    noise = scale * (rng.normal(size=n) + offset * rng.integers(0, 2))
    X = np.column_stack([X, np.arange(n)])
    w = rng.integers(1, 4, n) if weighted else None
    found = sd.variance_shares(
        lambda X: noise[X[:, -1].astype(int)] + scale * np.nan_to_num(X[:, 0]) ** 2,
        X,
        sample_weight=w,
        effects=None,
        pairs=2,
    )
    assert abs(sum(p.share for p in found.parts) - 1) < 1e-12 * max(
        1, *(abs(p.r2) for p in found.parts)
    )
    assert np.isfinite(numbers(found)).all()
    assert found.parts[-1].name == UNEXPLAINED
    steps = np.diff([0, *(p.r2 for p in found.parts)])
    np.testing.assert_allclose(steps, [p.share for p in found.parts], atol=1e-9)


@pytest.mark.slow
def test_held_out_rows_choose_nothing():
    """Other values of the quantity at the held-out rows change neither what is chosen nor what is fitted."""
    X = np.random.default_rng(0).normal(size=(400, 4))
    first = sd.variance_shares(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, effects=None)
    seen: list[Any] = []

    def spy(columns: Any, fitting: Any, target: Any, *rest: Any, **options: Any) -> Any:
        stages = choose_stages(columns, fitting, target, *rest, **options)
        seen.append((columns, stages))
        return stages

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skedasis.analysis.variance_shares.choose_stages", spy)
        sd.variance_shares(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, effects=None)
        columns, _ = seen[0]
        order = [int(np.flatnonzero(X[:, 0] == v)[0]) for v in columns[0].values]
        held_out = set(X[order[200:], 0].tolist())

        def corrupt(X: np.ndarray) -> np.ndarray:
            bad = np.array([v in held_out for v in X[:, 0].tolist()])
            return np.where(bad, 100 * np.sin(50 * X[:, 3]) * X[:, 1], X[:, 0] * X[:, 1] + X[:, 2])

        second = sd.variance_shares(corrupt, X, effects=None)
    assert [p.name for p in second.parts] == [p.name for p in first.parts]
    for one, two in zip(seen[0][1], seen[1][1], strict=True):
        np.testing.assert_array_equal(one.values, two.values)
    assert second["main effects"].share != first["main effects"].share


def test_frequencies_are_repetitions():
    """With the same halves and folds."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(400, 3)), rng.integers(1, 4, 400)
    X[:, 2] = rng.integers(0, 3, 400)
    q = X[:, 0] * X[:, 1] + X[:, 2] ** 2
    fitting, each = np.arange(250), np.repeat(np.arange(400), w)
    columns = [VarianceColumn(X[:, j], j == 2) for j in range(3)]
    one = choose_stages(columns, fitting, q[:250], fitting % FOLDS, weights=w[:250].astype(float))
    repeated = [VarianceColumn(c.values[each], c.levels) for c in columns]
    some = np.flatnonzero(each < 250)
    two = choose_stages(repeated, some, q[each[some]], each[some] % FOLDS)
    assert [s.features for s in one] == [s.features for s in two]
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a.values[each], b.values, atol=1e-6)


def test_levels_and_missing_values_without_fitting_rows_get_the_mean():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 200).astype(float)
    q = np.array([5.0, 1.0, 0.0])[level.astype(int)] + 0.1 * rng.normal(size=200)
    level[190:195], level[195:] = 7, np.nan
    (main,) = choose_stages(
        [VarianceColumn(level, levels=True)], np.arange(190), q[:190], np.arange(190) % FOLDS
    )
    np.testing.assert_allclose(main.values[190:], q[:190].mean(), atol=1e-9)
    np.testing.assert_allclose(main.values[:190], q[:190], atol=0.5)


def test_the_order_of_rows_does_not_matter(data):
    order = np.random.default_rng(1).permutation(len(data))
    ids = np.arange(len(data)) * 7
    w = np.random.default_rng(2).uniform(0.5, 2, len(data))
    for rows in (10_000, 300):
        one, two = (
            sd.variance_shares(
                model,
                data.iloc[k],
                regions=REGIONS,
                row_id=ids[k],
                sample_weight=w[k],
                max_rows=rows,
                effects=None,
            )
            for k in (np.arange(len(data)), order)
        )
        np.testing.assert_array_equal(numbers(one), numbers(two))
        assert one.rows_fitting + one.rows_held_out == min(rows, len(data))


def test_shares_do_not_depend_on_the_unit_of_the_quantity(data, found):
    two = sd.variance_shares(lambda X: 1e7 - 1e-3 * model(X), data, regions=REGIONS)
    np.testing.assert_allclose(numbers(two), numbers(found), atol=1e-5)
    assert two.as_drawn == pytest.approx(found.as_drawn, abs=1e-5)


def test_shares_do_not_depend_on_units_of_features(data):
    X = data.to_numpy()
    one = sd.variance_shares(model, X, effects=None, regions={})
    scale, offset = np.array([1e-200, 1e150, 1.0]), np.array([0.0, 0.0, 1e6])
    units = lambda Z: model((Z - offset) / scale)  # noqa: E731
    two = sd.variance_shares(units, X * scale + offset, effects=None, regions={})
    np.testing.assert_allclose(numbers(two), numbers(one), atol=1e-5)


def test_one_model_row_each_and_the_input_is_unchanged(data):
    before, counted = data.copy(), Remembers(model)
    found = sd.variance_shares(counted, data, effects=None, regions={})
    assert found.provenance["effect_rows"] == len(data)
    assert sum(map(len, counted.seen)) == len(data) + found.provenance["check_rows"]
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.slow
def test_the_search_for_regions_calls_the_model_at_fitting_rows_only(data):
    counted = Remembers(model)
    found = sd.variance_shares(counted, data, effects=None, max_rows=400)
    assert sum(map(len, counted.seen)) == (found.provenance["model_rows"])
    # The effects of `explain` at half of the rows, without a score.
    of_half = sd.explain(model, data[:200], heterogeneity_rows=0).provenance
    expected = 400 + of_half["effect_rows"] + of_half["slope_rows"]
    assert found.provenance["effect_rows"] == expected


# --- several outputs, labels, weights --------------------------------------------------------------


def test_labels_of_a_classifier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = np.where(X[:, 0] + rng.normal(size=500) > 0, "yes", "no")
    clf = LogisticRegression().fit(X, y)
    yes, no = (
        sd.variance_shares(sd.probability(clf, class_=c), X, y, effects=None) for c in ("yes", "no")
    )
    every = sd.variance_shares(sd.probability(clf, class_="all"), X, y, effects=None)
    rest = yes.parts[-1]
    assert 0.2 < rest.label_r2 < 0.6
    assert no.parts[-1].label_r2 == pytest.approx(rest.label_r2)
    assert every["yes"].parts[-1].label_r2 == pytest.approx(rest.label_r2)
    with refused(sd.DataError, "'maybe'"):
        sd.variance_shares(sd.probability(clf), X, np.where(y == "no", "maybe", y))
    with refused(sd.DataError, "Omit y"):
        sd.variance_shares(sd.entropy(clf), X, y)
    nll = sd.variance_shares(sd.nll(clf), X, y, effects=None)
    assert not nll.has_labels
    with refused(sd.DataError, "no y"):
        sd.variance_shares(sd.nll(clf), X)


# --- bad input -------------------------------------------------------------------------------------


def test_what_cannot_be_computed_raises(data):
    with refused(sd.DataError, "19 rows", "20"):
        sd.variance_shares(model, data[:19])
    assert len(sd.variance_shares(model, data[:20])) >= 2
    with refused(sd.DataError, "the same value"):
        sd.variance_shares(lambda X: np.full(len(X), 0.1), data)
    for options in ({"pairs": -1}, {"max_rows": 10}):
        with refused(sd.DataError, *options):
            sd.variance_shares(model, data, **options)
    with refused(sd.DataError, "same label"):
        sd.variance_shares(model, data, np.ones(len(data)))


@pytest.mark.parametrize(
    ("regions", "words"),
    [
        ({"a": Given(lambda X: np.zeros(3, int))}, ("shape (3,)",)),
        ({"a": Given(lambda X: np.full(len(X), 2))}, ("labels from 2 to 2", "0 to 1")),
        ("all", ("mapping",)),
    ],
)
def test_wrong_regions_raise(data, regions, words):
    with refused(sd.DataError, *words):
        sd.variance_shares(model, data, regions=regions)


# --- the result ------------------------------------------------------------------------------------


def test_the_result(found, data, tmp_path):
    assert found["regions of a"].features == ("a",)
    assert found["b × c"].kind == "pairs"
    # y = q + 1: constant differences count
    assert found.parts[-1].label_r2 == pytest.approx(1 - 1 / found.variance, rel=1e-6)
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["share"]) == [p.share for p in found.parts]
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    text = str(found)
    assert "groups of rows for a" in text
    assert "The curves shown (ALE) explain 17 % ± 6 %" in text
    assert "The full model: R² 0." in text
    assert repr(found).startswith("<VarianceShares of prediction: each feature alone")
    with refused(sd.DataError, "nothing"):
        found["nothing"]
    with pytest.raises(AttributeError):
        found.variance = 1.0
    found.save(tmp_path / "variance_shares.npz")
    loaded = sd.load(tmp_path / "variance_shares.npz")
    assert str(loaded) == text
    np.testing.assert_array_equal(numbers(loaded), numbers(found))


@pytest.mark.slow
def test_sampling_weights_do_not_depend_on_their_scale(data):
    w = np.random.default_rng(0).uniform(1, 3, len(data))
    one, two = (
        sd.variance_shares(model, data, sample_weight=c * w, weight_kind="sampling", effects=None)
        for c in (1, 1000)
    )
    np.testing.assert_allclose(numbers(one), numbers(two), atol=1e-8)


def test_curves_of_regions_count_an_interaction_once():
    """Of q = 3 x0 sign(x2) + x1, the regions of x0 and those of x2 both tell the first term, nine parts of ten."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    q = lambda X: 3 * X[:, 0] * np.sign(X[:, 2]) + X[:, 1]  # noqa: E731
    both = {name: sd.regions(q, X, name) for name in ("x0", "x2")}
    assert all(len(r) > 1 for r in both.values())
    found = sd.variance_shares(q, X, regions=both)
    assert found.as_drawn == pytest.approx(0.1, abs=0.03)
    assert found.by_region > 0.97
    assert found.drawn_regions == ("x0",)
    one = sd.variance_shares(q, X, regions={"x0": both["x0"]})
    assert one.by_region == found.by_region
    # Without rules that differ from the average curve, nothing is replaced.
    plain = sd.variance_shares(lambda X: X[:, 0] + X[:, 1], X, regions=both)
    assert plain.by_region == plain.as_drawn
    # What adds less than 0.1 % of the variance is not drawn: 0.02² / 2 of it is less, 0.1² / 2 is more.
    for size, drawn in ((0.02, ()), (0.1, ("x0",))):
        q = lambda X, size=size: X[:, 0] * (1 + size * np.sign(X[:, 2])) + X[:, 1]  # noqa: E731
        regions = {"x0": sd.regions(q, X, "x0")}
        assert len(regions["x0"]) == 2
        assert sd.variance_shares(q, X, regions=regions).drawn_regions == drawn


def weighted_r2(values: np.ndarray, function: np.ndarray, w: np.ndarray) -> float:
    mean = np.average(values, weights=w)
    return 1 - (w @ (values - function) ** 2) / (w @ (values - mean) ** 2)


def halves(X: np.ndarray, **keywords: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the fitting and the held-out rows, which do not depend on what is explained."""
    sample = analysis._sample(as_dataset(X, **keywords), None, ExplainOptions.of("variance_shares"))
    return sample.order[: sample.n_fitting], sample.order[sample.n_fitting :]


def test_curves_of_regions_row_by_row_with_weights():
    """A region's curve has the weighted mean of the average curve at the region's fitting rows."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(400, 3))
    w = rng.integers(1, 4, 400) * np.where(X[:, 0] > 0.3, 5.0, 1.0)  # unequal within regions, too
    q = lambda X: np.exp(X[:, 0]) * np.where(X[:, 2] > 0.2, 2, -1) + X[:, 1] + X[:, 2]  # noqa: E731
    regions = sd.regions(q, X, "x0", sample_weight=w)
    effects = sd.explain(q, X, method="ale", sample_weight=w)
    found = sd.variance_shares(
        q, X, regions={"x0": regions}, effects=effects, sample_weight=w, pairs=0
    )
    fit, out = halves(X, sample_weight=w)
    curves = np.column_stack([effects[j](X[:, j]) for j in range(3)])
    average, by_region = curves.sum(axis=1), curves[:, 1:].sum(axis=1)
    assert len(regions) == 2
    for k, effect in enumerate(regions):
        rows = np.flatnonzero(regions.assign(X) == k)
        own, there = effect(X[rows, 0]), np.intersect1d(rows, fit)
        lift = np.average(curves[there, 0], weights=w[there])
        by_region[rows] += own + lift - np.average(effect(X[there, 0]), weights=w[there])
    level = np.average(q(X)[fit] - average[fit], weights=w[fit])
    assert found.as_drawn == pytest.approx(
        weighted_r2(q(X)[out], level + average[out], w[out]), rel=1e-9
    )
    share = weighted_r2(q(X)[out], level + by_region[out], w[out])
    assert found.by_region == pytest.approx(share, rel=1e-9)
    assert share > found.as_drawn + 0.05
    # The error is that of a ratio of two weighted sums of the held-out rows: by repetition and the jackknife.
    many = np.repeat(out, w[out].astype(int))
    for function, error in (
        (average, found.as_drawn_std_error),
        (by_region, found.by_region_std_error),
    ):
        pairs = (level + function[many], q(X)[many].mean())
        rest, whole = (s.sum() - s for s in ((q(X)[many] - f) ** 2 for f in pairs))
        jackknife = (1 - rest / whole).std() * np.sqrt(len(many) - 1)
        assert error == pytest.approx(jackknife, rel=0.01)


def test_fitting_rows_by_their_weights_choose_whose_regions_are_drawn():
    """Column 2 says where x0 interacts with x1; elsewhere its curves by region are wrong."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    fit, out = halves(X)

    def q(X: np.ndarray) -> np.ndarray:
        return np.where(X[:, 2] > 0, 3 * X[:, 0] * np.sign(X[:, 1]), X[:, 1])

    for helps, drawn in ((fit, ("x0",)), (out, ())):
        X[:, 2] = -1
        X[helps, 2] = 1
        by = {"x0": sd.regions(q, X, "x0", split_on=["x1"])}
        found = sd.variance_shares(q, X, regions=by, pairs=0)
        assert found.drawn_regions == drawn
        assert (found.by_region < found.as_drawn) == (len(drawn) > 0)
    X[:, 2] = np.where(np.arange(2000) % 10 < 7, 1, -1)
    by = {"x0": sd.regions(q, X, "x0", split_on=["x1"])}
    for heavy, drawn in ((1.0, ("x0",)), (50.0, ())):
        w = np.where(X[:, 2] > 0, 1.0, heavy)
        found = sd.variance_shares(q, X, regions=by, pairs=0, sample_weight=w)
        assert found.drawn_regions == drawn


@pytest.mark.parametrize(("noise", "text"), [(0.02, "above 0.99"), (0.0, "1.00"), (1.0, None)])
def test_what_is_not_certain_is_not_rounded_to_1(data, noise, text):
    q = model(data)
    y = q + noise * np.random.default_rng(0).normal(size=len(data))
    found = sd.variance_shares(model, data, y, regions={}, effects=None, pairs=0)
    _, out = halves(data)
    wanted = text or f"{weighted_r2(y[out], q[out], np.ones(len(out))):.2f}"
    assert f"The full model: R² {wanted}" in str(found)
