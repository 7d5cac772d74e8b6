"""Checks of the heterogeneity score: collinear columns, and scores that depend on few pairs of rows."""

from __future__ import annotations

import re

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused


def product(X):
    return X[:, 0] * X[:, 1]


def explained(X, feature=0, model=product, **options):
    return sd.explain(model, X, feature, method=sd.ALE(bins=4), progress=False, **options)


def normal(n=4000, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_copy_is_collinear(noise):
    X = normal()
    X[:, 2] = X[:, 0] + noise * X[:, 2]
    found = explained(X, None).checks().of("collinear")
    assert [f.feature for f in found] == ["x0", "x2"]
    for flag in found:
        assert (flag.severity, flag.code, flag.where) == ("note", "collinear", None)
        assert flag.numbers["vif"] > 10
        assert "so its heterogeneity score is about small changes only." in flag.message
        assert "Refit the model without one of them; checks(X=X) names" in flag.message
    named = explained(X, None).checks(X=X).of("collinear")
    assert [f.numbers["related"][0] for f in named] == ["x2", "x0"]
    assert named[0].message.startswith("Other columns nearly repeat 'x0', most of all 'x2', so")
    assert "groups=" not in named[0].message  # too many combinations
    # The message is correct: without the copy, the score has its full value.
    assert explained(X).heterogeneity_score < 0.4
    alone = explained(X[:, :2])
    assert alone.heterogeneity_score == pytest.approx(1, abs=0.1)
    assert not alone.checks().of("collinear")
    group = explained(X.round(), "both", groups={"both": [0, 2]})
    assert not group.checks().of("collinear")


def test_a_score_that_few_pairs_carry_is_said():
    X = normal()
    rare = explained(X, 0, lambda X: 1.0 * (X[:, 0] > 0) * (X[:, 1] > 2.9))
    (flag,) = rare.checks().of("few_pairs")
    # A note, because all rows were used and no more are available. For a sample of the rows it is a warning.
    assert (flag.severity, flag.code) == ("note", "few_pairs")
    score = rare.swap_score
    assert flag.numbers == {"pairs": 2000, "effective_pairs": score.effective_pairs}
    assert 0 < score.effective_pairs < 50
    assert "too few comparable rows; treat ± as rough." in flag.message
    assert "Use more rows" in flag.message
    assert "heterogeneity_rows" not in flag.message  # all rows were used


def test_what_is_said_to_be_done_can_be_done():
    X = normal()
    few = explained(X, heterogeneity_rows=200)
    (flag,) = few.checks().of("few_pairs")
    rows = int(re.search(r"Use heterogeneity_rows=(\d+)\.", flag.message)[1])
    assert 200 < rows < 4000
    assert not explained(X, heterogeneity_rows=rows).checks().of("few_pairs")
    rare = explained(X[:300], heterogeneity_rows=100)
    assert "Use heterogeneity_rows=None." in rare.checks().of("few_pairs")[0].message


@pytest.mark.parametrize("rows", [2, 40])
def test_of_few_rows_it_is_a_note(rows):
    (flag,) = explained(normal(rows)).checks().of("few_pairs")
    assert flag.severity == "note"
    assert flag.numbers["pairs"] == rows // 2


def test_no_score_raises_neither():
    X = normal(60)
    X[:, 2] = X[:, 0]
    assert not explained(X, heterogeneity_rows=0).checks().of("collinear")
    additive = explained(X[:, :2], model=lambda X: X[:, 0] + X[:, 1])
    assert not additive.checks().of("few_pairs")  # a score of zero is exact
    plot = sd.explain(product, X, 0, method=sd.MPlot(bins=3))
    assert not plot.checks().of("few_pairs")


@pytest.mark.parametrize(
    ("method", "fix"),
    [
        (sd.MPlot(), "Use another method, such as sd.ALE()"),
        (sd.PDP(heterogeneity=False), "without heterogeneity_rows=0 or heterogeneity=False"),
        (sd.DALE(), "without heterogeneity_rows=0"),
    ],
)
def test_without_a_score_it_is_said_how_to_get_one(method, fix):
    e = sd.explain(product, normal(200), 0, method=method, heterogeneity_rows=0)
    with refused(sd.UnsupportedError, type(method).__name__, "no heterogeneity score", fix):
        e.heterogeneity_test()
