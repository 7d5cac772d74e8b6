"""`PFI(metric=...)`: valid labels, quantities and functions, standard errors, and printed importances."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score

import skedasis as sd
from tests.helpers import refused, table

N = 90
X = table(N)
TWO = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.4])]
NUMBER = X[:, 0] + 0.3 * X[:, 1]
BINARY = LogisticRegression().fit(X, TWO)
SEVERAL = LogisticRegression().fit(X, THREE)
LINE = LinearRegression().fit(X, NUMBER)


def important(
    quantity, y, metric, *, n_repeats=3, sample_weight=None, weight_kind="frequency", **more
):
    method = sd.PFI(metric=metric, n_repeats=n_repeats, local="all", **more)
    return sd.explain(
        quantity,
        X[: len(y)],
        y=y,
        sample_weight=sample_weight,
        method=method,
        weight_kind=weight_kind,
    )


# -------------------------------------------------------------------------------------- the labels


@pytest.mark.parametrize("make", [sd.probability, sd.logit])
def test_the_area_of_each_class_is_that_of_its_own_rows(make):
    found = important(make(SEVERAL, class_="all"), THREE, "roc_auc", n_repeats=1)
    assert list(found) == ["a", "b", "c"]
    for label, pf in found.items():
        hits = label == THREE
        assert pf.baseline == pytest.approx(roc_auc_score(hits, pf.local.before))
        want = [pf.baseline - roc_auc_score(hits, after) for after in pf.local.after[0].T]
        np.testing.assert_allclose(pf.values[0], want, atol=1e-12)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_rows_of_one_class_are_refused(metric):
    calls = []

    def score(X):
        calls.append(len(X))
        return X[:, 0]

    with refused(sd.DataError, f"PFI(metric='{metric}'): y", "1 for all rows", "both kinds"):
        important(score, np.ones(N), metric)
    assert not calls  # the error is raised before any model call
    with refused(sd.DataError, "never are the class of P(y = yes)"):
        important(BINARY, np.full(N, "no"), metric)
    with refused(sd.DataError, "all are the class of P(y = yes)"):
        important(BINARY, np.full(N, "yes"), metric)
    with refused(sd.DataError, "maybe", "['no', 'yes']", "the right column?"):
        important(BINARY, np.full(N, "maybe"), metric)


@pytest.mark.parametrize("metric", ["r2", "median_absolute_error"])
def test_metrics_of_numbers_need_numbers(metric):
    with refused(sd.DataError, f"PFI(metric='{metric}'): y", "not numbers", "'no'"):
        important(LINE, np.sort(TWO), metric)


@pytest.mark.parametrize("metric", ["r2", "explained_variance"])
def test_one_row_has_no_spread_to_explain(metric):
    with refused(sd.DataError, "1 row,", "2 rows or more"):
        important(LINE, NUMBER[:1], metric)


# ---------------------------------------------------------------------------------- the quantities


@pytest.mark.parametrize(
    ("quantity", "metric", "proper"),
    [
        (sd.nll(SEVERAL), "roc_auc", "sd.probability, sd.logit or sd.prediction"),
        (sd.predictive_variance(BayesianRidge().fit(X, NUMBER)), "max_error", "sd.prediction"),
    ],
)
def test_quantities_that_predict_no_label_are_refused(quantity, metric, proper):
    of = f"PFI(metric='{metric}') of {quantity.describe()}"
    with refused(sd.UnsupportedError, of, "predicts no label", proper, "leave metric out"):
        important(quantity, THREE, metric)


def test_scores_of_classes_have_no_metrics_of_numbers():
    for quantity in (BINARY, sd.logit(BINARY), sd.probability(SEVERAL, class_="all")):
        with refused(
            sd.UnsupportedError, "PFI(metric='r2')", "the score of a class", "sd.prediction"
        ):
            important(quantity, TWO == "yes", "r2")
    median = sd.predictive_quantile(BayesianRidge().fit(X, NUMBER), 0.5)
    assert important(median, NUMBER, "r2").baseline > 0.9


# --------------------------------------------------------------------------------------- the names


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("ROC-AUC", "Did you mean 'roc_auc'?"),
        ("log_loss", "sd.loss(model, 'log_loss')"),
        ("good", "Use one of these"),
    ],
)
def test_unknown_names_are_told_what_they_may_mean(name, fix):
    with refused(sd.DataError, "PFI(metric)", repr(name), "'roc_auc'", "a function", fix):
        important(LINE, NUMBER, name)


# ----------------------------------------------------------------------------------- the functions


def test_a_function_that_takes_no_weights():
    w = np.linspace(1, 2, N)
    with refused(sd.DataError, "takes no sample_weight, and weights", "leave sample_weight out"):
        important(LINE, NUMBER, lambda y, v: float(np.mean(y * v)), sample_weight=w)

    def moment(y, values, sample_weight):
        return float(np.average(y * values, weights=sample_weight))

    def open_(y, values, **more):
        return moment(y, values, **more)

    want = float(np.average(NUMBER * LINE.predict(X), weights=w))
    for metric in (moment, open_, functools.partial(moment)):
        assert important(LINE, NUMBER, metric, sample_weight=w).baseline == pytest.approx(want)


def test_a_metric_of_predicted_labels_is_told_what_it_gets():
    fixes = "metric(y, values)", "sd.loss(model, 'zero_one')"
    with refused(
        sd.DataError, "PFI(metric=accuracy_score)", "mix of binary and continuous", *fixes
    ):
        important(BINARY, TWO, accuracy_score)


# ------------------------------------------------------------------------------- standard errors


def mean_error(y, values, sample_weight=None):
    return float(np.average((y - values) ** 2, weights=sample_weight))


def test_rows_that_stand_for_many_have_the_error_of_many():
    """Four times the frequency halves the error; four times the sampling weight leaves it unchanged."""
    one, four = np.ones(N), np.full(N, 4.0)
    again = {"metric": mean_error, "greater_is_better": False, "n_repeats": 3}
    plain = important(LINE, NUMBER, **again)
    for weights, kind, factor in (
        (one, "frequency", 1.0),
        (four, "frequency", 0.5),
        (four, "sampling", 1.0),
    ):
        pf = important(LINE, NUMBER, **again, sample_weight=weights, weight_kind=kind)
        np.testing.assert_allclose(pf.values, plain.values, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(pf.std_error, factor * plain.std_error, rtol=1e-9, atol=1e-15)


def test_the_reason_for_no_interval_is_the_true_one():
    with refused(sd.DataError, "3 repeats of 15 rows", "3 repeats, and 20 rows", "Pass more rows"):
        important(LINE, NUMBER[:15], "r2").interval()
    with refused(
        sd.DataError, "2 repeats of 90 rows", "at least 3 repeats", "sd.PFI(n_repeats=10)"
    ):
        important(LINE, NUMBER, "r2", n_repeats=2).interval()
    rare = important(LINE, np.arange(N) == 3, "roc_auc")
    with refused(sd.DataError, "roc_auc, which is undefined", "nine tenths", "method='repeats'"):
        rare.interval()
    assert np.isfinite(rare.interval(method="repeats")).all()
    few = sd.explain(LINE, X[:6], method=sd.PFI(n_repeats=5))
    with refused(sd.DataError, "5 repeats of 6 rows", "7 rows", "Pass more rows"):
        few.interval()
    alone = sd.explain(LINE, X[:1], method=sd.PFI(exact=True))
    with refused(sd.DataError, "got 1 row,", "7 rows"):
        alone.interval()


# -------------------------------------------------------------------------------- printing


def test_an_importance_in_print():
    pf = sd.explain(sd.loss(LINE), X, y=NUMBER, method=sd.PFI(n_repeats=5))
    lines = str(pf).splitlines()
    assert lines[0] == (
        f"rise of squared error: PFI, 90 rows, 5 repeats; squared error at the rows {pf.baseline:.4g}"
    )
    assert re.split("  +", lines[1].strip())[2:] == ["95 % interval", "SD over repeats"]
    first = pf.ranking()[0]
    assert lines[2].split()[:2] == [first.feature, f"{first.mean:.4g}"]
    assert f"{first.lower:.4g} to {first.upper:.4g}" in lines[2]
    assert lines[2].split()[-1] == f"{first.std:.4g}"
    assert len(lines) == 5
    assert len({len(line) for line in lines[1:]}) == 1
    assert "interval" not in str(sd.explain(LINE, X, method=sd.PFI(n_repeats=2)))


def test_raised_probabilities_are_told_in_print():
    sure = sd.nll(lambda X: np.column_stack([X[:, 0] > 9, X[:, 0] <= 9]).astype(float))
    pf = sd.explain(sure, X, "x0", y=np.zeros(N, dtype=int), method=sd.PFI(n_repeats=3))
    assert pf.provenance["floored_rows"] == 4 * N
    assert str(pf).splitlines()[-1].startswith("360 model rows: the label's probability")
