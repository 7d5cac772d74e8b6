"""Codes of reliability checks: the table, the documentation, `ignore=`, and the check `heterogeneous`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.checks.check import CODES, RULES, Check, Checks, Code
from tests.helpers import refused, table

PAGE = Path(__file__).parents[4] / "docs/reference/checks.md"


# ------------------------------------------------------------------------------------- codes


def test_the_table_the_type_and_the_page_have_the_same_codes():
    assert list(CODES) == list(get_args(Code))
    sections = re.findall(r"^## `(\w+)`", PAGE.read_text(), re.MULTILINE)
    assert sections == list(CODES)
    assert {code for codes in RULES.values() for code in codes} == set(CODES)
    assert all(info.severities and info.meaning.endswith(".") for info in CODES.values())


# ------------------------------------------------------------------------------------- text


def test_what_several_outputs_have_alike_is_one_line():
    def found(output, message, code="few_rows", feature="x"):
        return Check(code, "warning", message, 3, feature, (0.0, 1.0), output=output)

    every = Checks(
        [
            *(found(o, "The bin has 3 rows.") for o in ("a", "b", "c")),
            *(found(o, f"Score {n}.", "heterogeneous") for o, n in (("a", 1), ("b", 2))),
            found("a", "Another bin has 3 rows."),
            found("a", "The bin has 3 rows.", feature="z"),
            found(None, "The bin has 3 rows."),
        ]
    )
    assert str(every).splitlines() == [
        "warning: 3 outputs ('a', 'b' and 'c'): The bin has 3 rows.",
        "warning: 2 outputs ('a' and 'b'), here 'a': Score 1.",
        "warning: output 'a': Another bin has 3 rows.",
        "warning: output 'a': The bin has 3 rows.",
        "warning: The bin has 3 rows.",
    ]
    # Only the text is merged.
    assert len(every) == 8
    assert len(every.to_frame()) == 8


# ------------------------------------------------------------------------------------ ignore


def noisy():
    X = table(90)
    X[:, 2] = X[:, 0]
    return sd.explain(lambda X: X[:, 0] * X[:, 1], X, method=sd.ALE(bins=15))


@pytest.mark.parametrize("ignore", ["few_rows", ["few_rows"], {"few_rows"}], ids=repr)
def test_ignored_codes_are_left_out_and_all_others_stay(ignore):
    es = noisy()
    everything = es.checks()
    assert {"few_rows", "collinear"} <= {f.code for f in everything}
    assert es.checks(ignore=ignore) == tuple(f for f in everything if f.code != "few_rows")
    assert es["x0"].checks(ignore=ignore) == tuple(
        f for f in everything if f.code != "few_rows" and f.feature == "x0"
    )
    assert es.checks(ignore=list(CODES)) == ()
    assert es.checks(ignore=()) == es.checks(ignore=None) == everything


def test_codes_can_be_ignored_for_some_features():
    es = noisy()
    found = es.checks(ignore={"x0": ["few_rows", "collinear"], "x1": "few_rows"})
    kept = {(f.feature, f.code) for f in found}
    assert kept == {(f.feature, f.code) for f in es.checks()} - {
        ("x0", "few_rows"),
        ("x0", "collinear"),
        ("x1", "few_rows"),
    }
    assert ("x2", "few_rows") in kept


@pytest.mark.parametrize("wrong", ["few_row", ["few_rows", "rows"], 3])
def test_what_is_no_code_is_refused_with_the_codes(wrong):
    es = noisy()
    for result in (es, es["x0"]):
        with refused(sd.DataError, "checks(ignore)", *CODES):
            result.checks(ignore=wrong)
    with refused(sd.DataError, "checks(ignore)", *CODES):
        es.checks(ignore={"x1": wrong})


# -------------------------------------------------------------------------------- heterogeneous


def product(share: float, n: int = 4000, seed: int = 0):
    """Return data and a model: share * x0 + x0 * x1 of independent standard normal features.

    The importance of x0 is the share, its score 1.
    """
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, lambda X: share * X[:, 0] + X[:, 0] * X[:, 1]


@pytest.mark.parametrize(
    ("method", "share", "found"),
    [(sd.RHALE(), 0.0, 1), (sd.ALE(), 0.7, 1), (sd.PDP(), 1.5, 0)],
)
def test_a_score_above_the_importance_is_a_warning(method, share, found):
    X, model = product(share)
    flags = sd.explain(model, X, 0, method=method).checks().of("heterogeneous")
    assert [f.severity for f in flags] == ["warning"] * found
    if found:
        assert flags[0].numbers["score"] == pytest.approx(1, abs=0.15)
        assert flags[0].numbers["importance"] == pytest.approx(share, abs=0.15)
        said = f"they differ from it by {flags[0].numbers['score']:.3g} (heterogeneity score), and it varies by "
        assert said in flags[0].message
        assert "sd.regions(model, X, 'x0')" in flags[0].message


def test_a_score_that_exceeds_the_importance_within_its_error_is_none():
    X, model = product(0.7, n=60)
    e = sd.explain(model, X, 0, method=sd.ALE(bins=3))
    score, error = e.heterogeneity_score, e.heterogeneity_score_error
    assert score > e.importance > score - 1.96 * error
    assert not e.checks().of("heterogeneous")
    assert e.checks(0.2).of(
        "heterogeneous"
    )  # a level at which the error is a quarter of a standard error


@pytest.mark.parametrize(("size", "x0"), [(1e-12, 0.0), (1e12, 1.0)])
def test_rounding_is_not_heterogeneous(size, x0):
    X = np.random.default_rng(1).normal(size=(500, 3))
    es = sd.explain(lambda X: size * (x0 * X[:, 0] + np.exp(X[:, 1]) + 1e4), X, method=sd.PDP())
    assert not es.checks().of("heterogeneous")


def test_the_score_of_a_feature_that_hardly_matters_is_a_note():
    X = np.random.default_rng(2).normal(size=(2000, 3))
    e = sd.explain(lambda X: 100 * X[:, 2] + X[:, 0] * X[:, 1], X, 0)
    (flag,) = e.checks().of("heterogeneous")
    assert flag.severity == "note"


def test_without_a_score_or_its_error_nothing_is_known():
    X, model = product(0.0, n=200)
    assert not sd.explain(model, X, 0, heterogeneity_rows=0).checks().of("heterogeneous")
    assert (
        not sd.explain(model, X, 0, heterogeneity_rows=2).checks().of("heterogeneous")
    )  # one pair
    assert not sd.explain(model, X, 0, method=sd.MPlot()).checks().of("heterogeneous")
    # Slopes have another unit than the score.
    assert not sd.explain(model, X, 0, method=sd.PDP(derivative=True)).checks().of("heterogeneous")


def test_a_curve_of_wrong_slopes_is_not_called_heterogeneous():
    X, model = product(0.7)
    flat = sd.prediction(model, slope=lambda X: 0 * X)
    e = sd.explain(flat, X, 0, method=sd.DALE())
    assert e.heterogeneity_score > 0.5 > e.importance
    codes = {f.code for f in e.checks()}
    assert "slope_mismatch" in codes
    assert "heterogeneous" not in codes
