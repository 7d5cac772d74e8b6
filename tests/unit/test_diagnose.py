"""`diagnose`: known verdicts, one pass over the model for both measures, and the result object."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from skedasis.analysis.dependence import nothing
from skedasis.analysis.diagnose import _check_intervals
from skedasis.analysis.verdicts import same_everywhere, verdicts
from skedasis.datasets.uncertainty import SharedInformation
from skedasis.results.diagnosis import Diagnosis, Verdict
from skedasis.results.importance import Importance, LocalImportance
from tests.helpers import Remembers, refused
from tests.unit.results.test_io import same

QUICK = {"dependence": False, "progress": False}
NEUTRAL = np.sqrt(np.log(2) * 8 / 3)
"""Residuals of this size are as likely under a standard deviation of 1 as of 2: log 2 + r²/8 = r²/2."""


def designed(n: int = 1200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return an independent feature, two equal ones, an unused one, two equal ones without influence on y; and y."""
    rng = np.random.default_rng(seed)
    alone, agree, idle, noise = rng.normal(size=(4, n))
    X = np.stack([alone, agree, agree, idle, noise, noise], axis=1)
    return X, alone + 2 * agree + NEUTRAL * rng.normal(size=n)


def wary(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation; the latter is larger where features differ that are equal in the data."""
    mean = X[:, 0] + X[:, 1] + X[:, 2]
    return mean, np.where(X[:, 4] != X[:, 5], 2.0, 1.0) * (1 + abs(X[:, 1] - X[:, 2]) / 2)


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    X, y = designed()
    return sd.diagnose(wary, X, y, dependence_rows=300, progress=False)


@pytest.fixture
def few_trees(monkeypatch):
    """Grow small forests: they take most of the time of a diagnosis."""
    monkeypatch.setattr("skedasis.analysis.dependence.TREES", 20)


def kinds(diagnosis: Diagnosis) -> list[str]:
    return [v.kind for v in diagnosis.verdicts]


# --------------------------------------------------------------------------- known verdicts


@pytest.mark.slow
def test_verdicts_of_a_design(found):
    assert kinds(found) == [
        "independent", "shared", "shared", "unused", "uninformative", "uninformative",
    ]  # fmt: skip
    assert found.partners == ((), ("x2",), ("x1",), (), ("x5",), ("x4",))
    assert np.abs(found.r2_others[[0, 3]] - 0).max() < 0.5
    np.testing.assert_allclose(found.r2_others[[1, 2, 4, 5]], 1, atol=0.05)
    # The label helps to predict x0, of which it is a function, but not the unused x3.
    assert found.r2_with_target[0] > found.r2_others[0] + 0.15
    assert abs(found.r2_with_target[3] - found.r2_others[3]) < 0.15


@pytest.mark.slow
def test_the_entropies_of_the_design_are_what_they_are_by_hand(found):
    X, _ = designed()
    # Differing values double the standard deviation, which adds log 2 to the entropy; almost all pairs differ.
    np.testing.assert_allclose(found.entropy.mean[4:], np.log(2), rtol=0.01)
    a = X[:, 1]
    pairs = np.log(1 + np.abs(a[:, None] - a[None, :]) / 2).mean()
    np.testing.assert_allclose(found.entropy.mean[1:3], pairs, rtol=0.05)
    np.testing.assert_array_equal(found.entropy.mean[[0, 3]], 0)
    np.testing.assert_array_equal(found.likelihood.mean[3], 0)


def test_sentences_say_the_numbers_and_whom_it_concerns(found):
    by = {v.feature: v for v in found.verdicts}
    assert by["x0"].text.startswith("Informative, and independent of the other features")
    assert "can be read at face value" in by["x0"].text
    assert f"{found.likelihood.mean[0]:.3g}" in by["x0"].text
    assert "barely" in by["x0"].text
    assert "shared with x2" in by["x1"].text
    assert "underestimates" in by["x1"].text
    assert "predict it well (R² 0.99)" in by["x1"].text
    assert "sd.PFI(groups={'together': ['x1', 'x2']})" in by["x1"].next
    assert "not informative" in by["x4"].text
    assert by["x4"].next == "Fit the model without it, but with x5, and compare on new rows."
    assert (
        by["x3"].text
        == "Unused: replacing its values changes neither the likelihood nor the entropy."
    )
    for verdict in found.verdicts:
        assert verdict.text.endswith(".")
        assert verdict.next.endswith(".")
        assert "nan" not in verdict.text + verdict.next


def test_the_fix_that_a_verdict_names_helps(found):
    X, y = designed()
    together = sd.diagnose(wary, X, y, groups={"both": [1, 2]}, **QUICK)
    assert together.features == ("x0", "both", "x3", "x4", "x5")
    assert kinds(together)[1] == "independent"
    assert together.likelihood["both"].mean > 2 * found.likelihood["x1"].mean


def test_groups_of_a_diagnosis_may_share_columns():
    X, y = designed()
    groups = {"x1": [1], "both": [1, 2], "other": [2, 3]}
    found = sd.diagnose(wary, X, y, groups=groups, **QUICK)
    assert found.features == ("x0", "x1", "both", "other", "x4", "x5")
    alone = sd.diagnose(wary, X, y, groups={"both": [1, 2]}, **QUICK)
    assert found.likelihood["both"].mean == alone.likelihood["both"].mean
    assert kinds(found)[2] == kinds(alone)[1]
    assert kinds(found)[1] == kinds(sd.diagnose(wary, X, y, **QUICK))[1]


# ----------------------------------------------------------------------- cost in model calls


@pytest.mark.parametrize("repeats", [3, 10])
def test_both_come_from_one_pass_of_the_model(repeats):
    X, y = designed(n=150)
    model = Remembers(wary)
    d = sd.diagnose(model, X, y, n_repeats=repeats, **QUICK)
    asked = sum(len(rows) for rows in model.seen)
    assert d.provenance["model_rows"] == 150 * (1 + repeats * 6)
    assert asked == d.provenance["model_rows"] + d.provenance["check_rows"]
    assert d.provenance["check_rows"] <= 128


def test_it_is_pfi_of_both_quantities():
    X, y = designed(n=200)
    d = sd.diagnose(wary, X, y, n_repeats=4, random_state=3, **QUICK)
    for quantity, part in ((sd.nll(wary), d.likelihood), (sd.entropy(wary), d.entropy)):
        alone = sd.explain(quantity, X, y=y, method=sd.PFI(n_repeats=4), random_state=3)
        np.testing.assert_allclose(part.values, alone.values, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(part.std_error, alone.std_error, rtol=1e-9, atol=1e-15)
        assert part.axis == alone.axis
        assert part.unit == "nats"


@pytest.mark.usefixtures("few_trees")
def test_forests_ask_the_model_nothing():
    X, y = designed(n=60)
    model = Remembers(wary)
    sd.diagnose(model, X, y, n_repeats=3, **QUICK)
    calls = len(model.seen)
    again = Remembers(wary)
    sd.diagnose(again, X, y, n_repeats=3, progress=False)
    assert len(again.seen) == calls


# ------------------------------------------------------------------------------------- models


@pytest.mark.usefixtures("few_trees")
def test_several_classes_with_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    clf = LogisticRegression(max_iter=5000).fit(X, y)
    d = sd.diagnose(clf, X, y, dependence_rows=60, progress=False)
    assert d.features == tuple(X.columns)
    assert d.ranking()[0].feature == "petal length (cm)"
    assert d["petal length (cm)"].verdict.kind == "shared"
    assert d["petal length (cm)"].r2_others > 0.9
    frame = d.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert "Entropy-PFI" in d["petal length (cm)"].verdict.text


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
def test_frames_of_any_kind_agree():
    X, y = designed(n=60)
    names = [f"x{j}" for j in range(6)]
    frame = pd.DataFrame(X, columns=names)
    want = sd.diagnose(wary, X, y, n_repeats=3, progress=False)
    for given in (frame, pl.DataFrame(X, schema=names)):
        got = sd.diagnose(lambda X: wary(np.asarray(X)), given, y, n_repeats=3, progress=False)
        np.testing.assert_array_equal(got.likelihood.values, want.likelihood.values)
        np.testing.assert_array_equal(got.r2_others, want.r2_others)
        assert [v.text for v in got.verdicts] == [v.text for v in want.verdicts]
        assert isinstance(got.to_frame(), type(given))


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
def test_the_papers_regression_is_read_as_the_paper_reads_it():
    """Section 3.6: x0 and x1 share information, x2 and x3 share it nonlinearly, x4 is independent, x5 is not used."""
    X, y, X_test, y_test = SharedInformation(noise=0.2).split(0)
    kernel = ConstantKernel(25.0) * RBF([2, 2, 2, 2, 2, 1e4]) + WhiteKernel(0.04)
    process = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    d = sd.diagnose(process, X_test, y_test, dependence_rows=200, progress=False)
    assert kinds(d) == ["shared", "shared", "shared", "shared", "independent", "no effect"]
    assert d.partners == (("x1",), ("x0",), ("x3",), ("x2",), (), ())


def test_a_mixture_is_a_model():
    X, y = designed(n=80)
    y = np.where(y > 0, "up", "down")
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    mixture = sd.ensemble(forest)
    d = sd.diagnose(mixture, X, y, n_repeats=3, **QUICK)
    alone = sd.explain(sd.nll(mixture), X, y=y, method=sd.PFI(n_repeats=3))
    np.testing.assert_allclose(d.likelihood.values, alone.values, rtol=1e-12, atol=1e-15)
    assert d.provenance["model_rows"] == 80 * (1 + 3 * 6)
    assert d.likelihood["x0"].mean > 0


def test_a_model_without_a_distribution_is_refused():
    X, y = designed(n=50)
    with refused(sd.UnsupportedError, "LinearRegression"):
        sd.diagnose(LinearRegression().fit(X, y), X, y)


def test_a_model_of_one_uncertainty_is_told_apart():
    X, y = designed(n=300)
    d = sd.diagnose(lambda X: (X[:, 0] + X[:, 1], np.full(len(X), 1.5)), X, y, **QUICK)
    assert kinds(d) == ["informative", "informative", *["unused"] * 4]
    assert "entropy is constant" in d.notes[0]
    assert "cannot be determined" in d.verdicts[0].text
    assert "entropy is constant" in str(d)


@pytest.mark.usefixtures("few_trees")
def test_a_forest_says_what_the_entropy_cannot():
    X, y = designed(n=300)
    d = sd.diagnose(
        lambda X: (X[:, 0] + X[:, 1], np.full(len(X), 1.5)),
        X,
        y,
        dependence_rows=100,
        progress=False,
    )
    alone, copied = d.verdicts[:2]
    assert (alone.kind, copied.kind) == ("informative", "informative")
    assert "barely" in alone.text
    assert "the others predict it well (R² 0.9" in copied.text
    assert "sd.PFI(groups={'together': ['x1', 'x2']})" in copied.next


def test_one_uncertainty_is_not_one_feature():
    # Permuting the only feature permutes the entropies of the rows: their mean does not change, but they differ.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    spread = np.exp(X[:, 0])
    d = sd.diagnose(
        lambda X: (X[:, 0], np.exp(X[:, 0])), X, X[:, 0] + spread * rng.normal(size=300), **QUICK
    )
    assert d.notes == ()
    assert kinds(d) == ["independent"]
    assert "ice" in d.verdicts[0].next
    assert np.isnan(d.r2_others).all()


def test_labels_of_no_probability_are_told_of():
    X = np.random.default_rng(0).normal(size=(100, 2))

    def sure(X: Any) -> np.ndarray:
        p = (X[:, 0] > 0) * 1.0
        return np.stack([1 - p, p], axis=1)

    d = sd.diagnose(sure, X, (X[:, 0] > 0).astype(int), **QUICK)
    assert "floating-point resolution (float64: 2.2e-16" in " ".join(d.notes)
    assert "was raised to it" in " ".join(d.notes)
    assert kinds(d) == ["independent", "unused"] or kinds(d) == ["informative", "unused"]


@pytest.mark.usefixtures("few_trees")
def test_weights_rows_and_samples():
    X, y = designed(n=120)
    weights = np.r_[np.ones(60), np.zeros(60)]
    some = sd.diagnose(wary, X, y, sample_weight=weights, n_repeats=3, progress=False)
    few = sd.diagnose(wary, X[:60], y[:60], n_repeats=3, progress=False)
    np.testing.assert_allclose(some.likelihood.values, few.likelihood.values)
    np.testing.assert_array_equal(some.r2_others, few.r2_others)
    part = sd.diagnose(wary, X, y, max_samples=50, n_repeats=3, **QUICK)
    assert part.likelihood.rows == 50
    assert part.provenance["model_rows"] == 50 * (1 + 3 * 6)
    assert "50 of 120 rows" in part.notes[0]


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
def test_rows_with_keys_may_stand_in_any_order():
    X, y = designed(n=80)
    order, keys = np.random.default_rng(1).permutation(80), np.arange(80)
    one = sd.diagnose(wary, X, y, row_id=keys, n_repeats=3, progress=False)
    other = sd.diagnose(wary, X[order], y[order], row_id=keys[order], n_repeats=3, progress=False)
    np.testing.assert_allclose(
        other.likelihood.values, one.likelihood.values, rtol=1e-10, atol=1e-12
    )
    np.testing.assert_array_equal(other.r2_with_target, one.r2_with_target)


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
def test_threads_do_not_matter():
    X, y = designed(n=80)
    one = sd.diagnose(wary, X, y, n_repeats=3, progress=False, memory="100KB")
    two = sd.diagnose(wary, X, y, n_repeats=3, progress=False, memory="100KB", n_jobs=2)
    np.testing.assert_array_equal(one.entropy.values, two.entropy.values)
    np.testing.assert_array_equal(one.r2_others, two.r2_others)


# -------------------------------------------------------------------------------- the result


def test_saved_and_loaded_it_is_the_same(found, tmp_path):
    found.save(tmp_path / "d.npz")
    loaded = sd.load(tmp_path / "d.npz")
    assert isinstance(loaded, sd.Diagnosis)
    same(loaded, found)
    assert str(loaded) == str(found)


def test_its_table_has_a_line_a_feature(found):
    frame = found.to_frame("pandas")
    assert frame["feature"].tolist() == list(found.features)
    assert frame["verdict"].tolist() == kinds(found)
    assert frame["partners"].tolist() == ["", "x2", "x1", "", "x5", "x4"]
    np.testing.assert_array_equal(frame["likelihood"], found.likelihood.mean)
    lower, upper = found.entropy.interval(0.95)
    np.testing.assert_array_equal(frame["entropy_lower"], lower)
    np.testing.assert_array_equal(frame["entropy_upper"], upper)
    np.testing.assert_array_equal(frame["r2_others"], found.r2_others)
    assert isinstance(found.to_frame("polars"), pl.DataFrame)


def test_its_texts(found):
    assert repr(found) == (
        "<Diagnosis of 6 features: 1 independent, 2 shared, 1 unused, 2 uninformative>"
    )
    text = str(found)
    assert "1,200 rows" in text
    assert "R² others" in text
    lines = text.splitlines()
    assert lines[3].startswith("x0")
    assert len({line.index("  ") for line in lines[3:9]}) == 1
    for verdict in found.verdicts:
        assert f"{verdict.feature}: {verdict.text} {verdict.next}" in text
    assert "300 of 1,200 rows" in text


def test_its_ranking_is_by_likelihood(found):
    means = [f.likelihood.mean for f in found.ranking()]
    assert means == sorted(means, reverse=True)
    assert found.ranking()[0] == found["x0"]
    with refused(sd.DataError, "'nope'", "x0"):
        found["nope"]


def test_its_provenance(found):
    made = found.provenance
    assert json.loads(json.dumps(made)) == made
    assert made["method"] == "diagnose"
    assert made["settings"]["n_repeats"] == 10
    assert made["settings"]["confidence_level"] == 0.95
    assert made["dependence"]["rows"] == 300
    assert made["dependence"]["trees"] == 100
    assert "scikit-learn" in made["dependence"]
    assert "nll" in made["quantity"] or "likelihood" in made["quantity"]


def test_it_is_a_value(found):
    with pytest.raises(AttributeError):
        found.confidence_level = 0.5
    with pytest.raises(ValueError, match="read-only"):
        found.r2_others[0] = 1


def test_it_draws_itself(found):
    assert found.plot().axes


@pytest.mark.usefixtures("few_trees")
def test_nothing_of_the_callers_is_changed():
    X, y = designed(n=60)
    before, labels = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    sd.diagnose(wary, X, y, n_repeats=3, progress=False)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(y, labels)


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_repeats": 2}, ["diagnose(n_repeats)", "2", "n_repeats=10"]),
        ({"n_repeats": True}, ["diagnose(n_repeats)"]),
        ({"n_repeats": 3.0}, ["diagnose(n_repeats)"]),
        ({"confidence_level": 1}, ["diagnose(confidence_level)", "0.95"]),
        ({"confidence_level": "high"}, ["diagnose(confidence_level)"]),
        ({"dependence_rows": 5}, ["diagnose(dependence_rows)", "5"]),
        ({"dependence_rows": "all"}, ["diagnose(dependence_rows)", "None"]),
        ({"groups": {"g": [17]}}, ["17"]),
        ({"sample_weight": [1]}, ["sample_weight"]),
        ({"max_samples": 0}, ["max_samples"]),
    ],
)
def test_settings_that_mean_nothing(options, words):
    X, y = designed(n=30)
    model = Remembers(wary)
    with refused(sd.DataError, *words):
        sd.diagnose(model, X, y, progress=False, **options)
    assert model.seen == []


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
def test_what_weights_are_is_passed_on(kind):
    X, y = designed(n=60)
    given = {"sample_weight": np.random.default_rng(0).uniform(0.5, 3, 60), "weight_kind": kind}
    d = sd.diagnose(wary, X, y, n_repeats=4, **given, **QUICK)
    alone = sd.explain(sd.nll(wary), X, y=y, method=sd.PFI(n_repeats=4), **given)
    np.testing.assert_allclose(d.likelihood.std_error, alone.std_error, rtol=1e-9)
    with refused(sd.DataError, "weight_kind", "'odd'"):
        sd.diagnose(wary, X, y, weight_kind="odd", **QUICK)


@pytest.mark.parametrize("quantity", [sd.entropy, sd.nll])
def test_a_quantity_is_no_model(quantity):
    X, y = designed(n=30)
    with refused(sd.DataError, "diagnose(model)", "a quantity", "the model itself"):
        sd.diagnose(quantity(wary), X, y)


def test_rows_without_intervals_are_told_for_what_they_are():
    few = importance([1.0, 0.5], np.nan)
    with refused(sd.DataError, "10 repeats of 500 rows", "more repeats"):
        _check_intervals(few)


def test_labels_are_needed():
    X, _ = designed(n=30)
    with refused(sd.DataError, "diagnose(y)", "None"):
        sd.diagnose(wary, X, None)


def test_few_rows_have_no_intervals():
    X, y = designed(n=5)
    with refused(sd.DataError, "diagnose", "5 rows", "at least 7"):
        sd.diagnose(wary, X, y, **QUICK)


# -------------------------------------------------------------------- rules of the verdicts


def importance(means: list[float], error: float | list[float] = 0.01, **more: Any) -> Importance:
    """Return importances of ten repeats with given standard errors, a tenth of which is from the permutations."""
    means, errors = np.asarray(means, float), np.broadcast_to(error, len(means)).astype(float)
    spread = np.tile([1.0, -1.0], 5) * 0.3
    values = means[:, None] + errors[:, None] * spread
    names = tuple(f"f{k}" for k in range(len(means)))
    return Importance(
        names, values, errors, np.full(len(means), 50.0), 1.0, 500, unit="nats", **more
    )


def judged(
    likelihood: Importance, entropy: Importance, others: Any = None, **links: Any
) -> tuple[Verdict, ...]:
    found = replace(nothing(len(likelihood)), **links)
    if others is not None:
        found.others[:] = others
    return verdicts(likelihood, entropy, found, 0.95)


@pytest.mark.parametrize(
    ("likelihood", "entropy", "kind"),
    [
        (0.5, 0.5, "shared"),
        (0.5, 0.001, "independent"),
        (0.5, -0.5, "shared"),
        (0.0001, 0.5, "uninformative"),
        (0.0001, 0.0001, "no effect"),
        (0.0001, -0.5, "uninformative"),
        (-0.5, 0.5, "misleading"),
        (-0.5, 0.0001, "misleading"),
        (-0.5, -0.5, "misleading"),
    ],
)
def test_every_place_has_its_verdict(likelihood, entropy, kind):
    # The first feature defines the scale: the other is judged relative to it.
    first, judgement = judged(importance([1.0, likelihood]), importance([1.0, entropy]))
    assert first.kind == "shared"
    assert judgement.kind == kind
    assert judgement.feature == "f1"


def test_zero_is_zero_up_to_rounding_only():
    for tiny, kind in ((0.0, "unused"), (1e-14, "unused"), (1e-6, "little effect")):
        last = judged(importance([1, tiny], [0.01, 0]), importance([1, tiny], [0.01, 0]))[1]
        assert last.kind == kind


def test_with_many_rows_what_is_small_stays_small():
    last = judged(importance([1, 0.009], 1e-4), importance([1, 0.009], 1e-4))[1]
    assert last.kind == "little effect"
    assert last.text.count("is small compared with the largest") == 2
    assert "about zero" not in last.text
    assert judged(importance([1, 0.02], 1e-4), importance([1, 0.02], 1e-4))[1].kind == "shared"
    some = importance([0.1, 0.006], 1e-4)
    assert judged(some, some)[1].kind == "shared"  # 6 % of the largest
    # 1e-5 nats are negligible, even without a larger importance to compare with.
    nothing_much = judged(importance([1e-5], 1e-7), importance([1e-5], 1e-7))[0]
    assert nothing_much.kind == "little effect"
    assert "0.0001 nats" in nothing_much.text


def test_one_strong_feature_does_not_hide_the_others():
    alone = judged(importance([0.83, 0.3], 0.01), importance([0.83, 0.113], 0.003))
    beside = judged(importance([0.83, 0.3, 500], 0.01), importance([0.83, 0.113, 3.19], 0.003))
    assert [v.kind for v in alone] == ["shared", "shared"]
    assert beside[:2] == alone


def test_what_is_told_from_0_is_not_advised_to_be_left_out():
    likelihood = importance([1, 0.03, 0.009, 0.0, -0.009], [0.01, 0.002, 0.001, 0.001, 0.001])
    found = judged(likelihood, importance([1] * 5))
    assert [v.kind for v in found] == [*["shared"] * 3, *["uninformative"] * 2]
    assert ["without it" in v.next for v in found] == [False] * 3 + [True] * 2
    assert (
        "Likelihood-PFI 0.009 (0.00699 to 0.011; small compared with the largest)" in found[2].text
    )


@pytest.mark.slow
def test_entropy_below_zero_is_shared_information_and_no_reproach():
    """True model sigmoid(2 (a - b)), a and b correlated: with a permuted a they differ more, and it is more certain."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=1000)
    true = lambda X: 1 / (1 + np.exp(-2 * (X[:, 0] - X[:, 1])))  # noqa: E731
    y = (rng.random(1000) < true(X)).astype(int)
    both = lambda X: np.stack([1 - true(X), true(X)], axis=1)  # noqa: E731
    d = sd.diagnose(both, X, y, dependence_rows=300, progress=False)
    assert (d.entropy.mean < -0.1).all()
    assert kinds(d) == ["shared", "shared"]
    for verdict in d.verdicts:
        assert "more certain" in verdict.text
        assert "agree where it is less certain" in verdict.text
        assert "underestimates" not in verdict.text
        assert "sd.PFI(groups=" in verdict.next


@pytest.mark.slow
def test_at_rows_it_was_trained_on_a_forest_is_asked_about_that():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0).fit(X, y)
    d = sd.diagnose(forest, X, y, progress=False)
    assert (d.entropy.interval()[0] > 0).any()
    for verdict, low in zip(d.verdicts, d.entropy.interval()[0], strict=True):
        assert verdict.kind != "shared"
        assert "sd.PFI(groups" not in verdict.next
        if low > 0.1:
            assert "trained on" in verdict.next
    noise = d.verdicts[3]
    assert noise.kind == "informative"
    assert "forests find no feature that it is shared with" in noise.text


def test_an_interval_that_reaches_far_decides_nothing_whatever_the_others():
    huge, calm = importance([2.2e6, 136_800], [1e4, 135_000]), importance([1.0, 0.5])
    assert judged(huge, calm)[1].kind == "undecided"
    assert "(−134,355 to 407,955)" in judged(huge, calm)[1].text
    unsure = judged(importance([1.0, 0.0]), huge)[1]
    assert unsure.kind == "undecided"
    assert unsure.text.startswith("Undecided: the interval of Entropy-PFI")
    assert judged(importance([1.0, 0.5]), huge)[1].kind == "informative"


def test_what_is_hardly_known_is_not_called_nothing():
    wide = judged(importance([1, 0.1], [0.01, 0.2]), importance([1, 0.5]))[1]
    assert wide.kind == "undecided"
    assert wide.next == "Use more rows."
    unsure = judged(importance([1, 1]), importance([1, 0.1], [0.01, 0.2]))[1]
    assert unsure.kind == "informative"
    assert "is undecided" in unsure.text
    # This is small compared with the feature's likelihood importance, whatever the entropies of the others.
    assert (
        judged(importance([1, 1]), importance([0.1, 0.01], [0.01, 0.02]))[1].kind == "independent"
    )


def test_repeats_are_asked_for_where_the_draws_are_to_blame():
    noisy = importance([1, 0.1], [0.01, 0.2])
    values = np.array(noisy.values)
    values[1] = 0.1 + 0.55 * np.tile([1.0, -1.0], 5)
    noisy = Importance(("f0", "f1"), values, np.array([0.01, 0.2]), np.full(2, 9.0), 1.0, 500)
    assert judged(noisy, importance([1, 0.5]))[1].next == "Use more repeats."


def test_a_forest_may_contradict_or_support():
    likelihood, entropy = importance([1, 1]), importance([1, 0.0001])
    told = judged(likelihood, entropy, [0.9, 0.9])[1]
    assert told.kind == "informative"
    assert "but the others predict it well (R² 0.90)" in told.text
    part = judged(likelihood, entropy, [0.9, 0.3])[1]
    assert part.kind == "informative"
    assert "but the others partly predict it (R² 0.30)" in part.text
    assert "may be too small" in part.next
    lone = judged(likelihood, entropy, [0.9, 0.01])[1]
    assert lone.kind == "independent"
    assert "and the others barely predict it" in lone.text
    assert "at face value" in lone.text
    helper = {"partners": (("f1",), ("f0",))}
    helps = judged(likelihood, entropy, [0.9, 0.01], **helper)[1]
    assert helps.kind == "informative"
    assert "but it helps to predict f0" in helps.text
    unknown = judged(likelihood, entropy)[1]
    assert unknown.kind == "independent"
    assert "R²" not in unknown.text
    assert "at face value" not in unknown.text
    assert "unknown" in unknown.text


def test_entropy_that_forests_do_not_support_is_asked_about():
    lone = judged(importance([1, 1]), importance([1, 0.5]), [0.01, 0.01])[1]
    assert lone.kind == "informative"
    assert "but the forests find no feature that it is shared with: the others" in lone.text
    assert "trained on" in lone.next
    none = judged(importance([1, 0.0]), importance([1, 0.5]), [0.01, 0.01])[1]
    assert none.kind == "uninformative"
    assert "trained on" in none.next
    for r2, links in ((0.1, {}), (0.01, {"partners": (("f1",), ("f0",))}), (np.nan, {})):
        linked = judged(importance([1, 1]), importance([1, 0.5]), [0.9, r2], **links)[1]
        assert linked.kind == "shared"
        assert ("sd.PFI(groups={'together': ['f1', 'f0']})" in linked.next) == bool(links)


def test_what_predicts_another_is_not_independent_either():
    likelihood, entropy = importance([1, 1]), importance([1, 0.0001])
    links = {"partners": (("f1",), ("f0",)), "predicts": (("", np.nan), ("f0", 0.8))}
    square = judged(likelihood, entropy, [0.8, -0.1], **links)[1]
    assert square.kind == "informative"
    assert "barely predict it (R² −0.10), but it predicts f0 (R² 0.80)" in square.text
    assert "['f1', 'f0']" in square.next
    shared = judged(likelihood, importance([1, 1]), [0.8, -0.1], **links)[1]
    assert shared.kind == "shared"
    assert "; the others barely predict it (R² −0.10), but it predicts f0 (R² 0.80)." in shared.text


def test_little_entropy_is_believed_where_forests_find_a_link():
    likelihood, entropy = importance([1, 1], 1e-3), importance([1, 0.09], 1e-3)
    assert judged(likelihood, entropy)[1].kind == "shared"
    assert judged(likelihood, entropy, [0.3, 0.3], partners=(("f1",), ("f0",)))[1].kind == "shared"
    lone = judged(likelihood, entropy, [0.01, 0.01])[1]
    assert lone.kind == "independent"
    assert "is small compared with the largest" in lone.text
    # From a tenth of a nat, or from a fifth of the largest, an importance is never small.
    for much in (importance([5, 0.15], 1e-3), importance([0.3, 0.07], 1e-3)):
        assert judged(likelihood, much, [0.01, 0.01])[1].kind == "informative"


def test_the_level_decides():
    likelihood, entropy = importance([1, 1]), importance([1, 0.25], [0.01, 0.11])
    found = nothing(2)
    assert verdicts(likelihood, entropy, found, 0.95)[1].kind == "shared"
    assert verdicts(likelihood, entropy, found, 0.99)[1].kind == "informative"


def test_what_the_model_leaves_out_is_told():
    found = nothing(2)
    found.others[:], found.with_target[:] = [0.3, 0.1], [0.3, 0.6]
    left = verdicts(importance([1, 0], [0.01, 0]), importance([1, 0], [0.01, 0]), found, 0.95)[1]
    assert left.kind == "unused"
    assert "The label helps to predict it (R² 0.10 without, 0.60 with it)" in left.next


def test_the_same_everywhere_means_all_rows():
    own = np.zeros(8)
    after = np.zeros((1, 8, 10))
    still = LocalImportance(("f0",), np.arange(8), own, after)
    assert same_everywhere(importance([0.0], 0.0, local=still))
    assert same_everywhere(importance([0.0], 0.0))
    moving = LocalImportance(("f0",), np.arange(8), np.arange(8.0), after + np.arange(8.0)[:, None])
    assert not same_everywhere(importance([0.0], 0.0, local=moving))
    assert not same_everywhere(importance([0.1], 0.0, local=still))
