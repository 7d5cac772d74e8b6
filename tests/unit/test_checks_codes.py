"""Codes of reliability checks: the table, the documentation, `ignore=`, and the check `heterogeneous`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.checks.check import CODES, Check, Code, check_codes, check_ignore
from tests.helpers import frame, linear, of_frame, refused, table

PAGE = Path(__file__).parents[2] / "docs/reference/checks.md"


# ------------------------------------------------------------------------------------- codes


def test_the_table_the_type_and_the_page_have_the_same_codes():
    assert list(CODES) == list(get_args(Code))
    sections = re.findall(r"^## `(\w+)`", PAGE.read_text(), re.MULTILINE)
    assert sections == list(CODES)
    described = re.findall(
        r"^code : str\n(.*?)^severity", str(inspect.getdoc(Check)), re.DOTALL | re.MULTILINE
    )
    assert set(re.findall(r'"(\w+)"', described[0])) == set(CODES)
    assert all(info.severities and info.meaning.endswith(".") for info in CODES.values())


def test_the_page_states_the_severity_of_each_code():
    sections = re.split(r"^## `(\w+)`.*$", PAGE.read_text(), flags=re.MULTILINE)
    for code, text in zip(sections[1::2], sections[2::2], strict=True):
        start = " ".join(text.split())[:400]
        assert ("**Warning:**" in start) == bool(CODES[code].warning), code
        assert ("**Note:**" in start) == bool(CODES[code].note), code


def test_a_finding_names_the_section_of_its_code():
    found = sd.explain(linear, table(60), 0, method=sd.ALE(bins=10)).checks()
    (flag,) = found.of("few_rows")
    with pytest.raises(sd.DataError, match=r"got 'few rows', expected .*'few_rows'"):
        found.of("few rows")
    assert flag.page == "reference/checks.html#few_rows"


@pytest.mark.slow
def test_findings_have_severities_of_the_table_and_its_order():
    X = frame(300)
    X.loc[:3, "c"] = "rare"
    X["twin"] = X["a"]
    X.loc[0, "a"] = 50.0
    place = {code: k for k, code in enumerate(CODES)}
    for method in (sd.ALE(bins=40), sd.PDP()):
        for name, e in sd.explain(of_frame, X, method=method).items():
            found = e.checks(X=X)
            assert all(f.severity in CODES[f.code].severities for f in found), name
            keys = [(f.severity == "note", place[f.code]) for f in found]
            assert keys == sorted(keys)


# ------------------------------------------------------------------------------------ ignore


def noisy():
    X = table(90)
    X[:, 2] = X[:, 0]
    return sd.explain(lambda X: X[:, 0] * X[:, 1], X, method=sd.ALE(bins=15))


@pytest.mark.many
@pytest.mark.parametrize(
    "ignore", ["few_rows", ("few_rows",), ["few_rows"], {"few_rows"}], ids=repr
)
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


def test_findings_of_a_surface_can_be_ignored():
    X = table(100)
    s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=10))
    codes = {f.code for f in s.checks()}
    assert "few_rows" in codes
    assert {f.code for f in s.checks(ignore="few_rows")} == codes - {"few_rows"}
    with refused(sd.DataError, "checks(ignore)", "'few_row'", "'few_rows'"):
        s.checks(ignore="few_row")


@pytest.mark.parametrize(
    "wrong", ["few_row", "", ["few_rows", "rows"], 3, True, b"few_rows", [None]]
)
def test_what_is_no_code_is_refused_with_the_codes(wrong):
    es = noisy()
    for result in (es, es["x0"]):
        with refused(sd.DataError, "checks(ignore)", *CODES):
            result.checks(ignore=wrong)
    with refused(sd.DataError, "checks(ignore)", *CODES):
        es.checks(ignore={"x1": wrong})


def test_a_mapping_names_features():
    es = noisy()
    with refused(sd.DataError, "checks(ignore)", "'age'", "'x0', 'x1', 'x2'"):
        es.checks(ignore={"age": "few_rows"})
    with refused(sd.DataError, "checks(ignore)", "codes of checks"):
        es["x0"].checks(ignore={"x0": "few_rows"})
    assert check_ignore("report(ignore)", None, ["a"]) == {"a": frozenset()}
    assert es["x0"].checks(ignore=check_codes("x", "few_rows")) == es["x0"].checks(
        ignore="few_rows"
    )


# -------------------------------------------------------------------------------- heterogeneous


def product(share: float, n: int = 4000, seed: int = 0):
    """Return data and a model: share * x0 + x0 * x1 of independent standard normal features.

    The importance of x0 is the share, its score 1.
    """
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, lambda X: share * X[:, 0] + X[:, 0] * X[:, 1]


@pytest.mark.many
@pytest.mark.parametrize("method", [sd.RHALE(), sd.ALE(), sd.PDP()], ids=lambda m: m.name)
@pytest.mark.parametrize(("share", "found"), [(0.0, 1), (0.7, 1), (1.5, 0), (5.0, 0)])
def test_a_score_above_the_importance_is_a_warning(method, share, found):
    X, model = product(share)
    flags = sd.explain(model, X, 0, method=method).checks().of("heterogeneous")
    assert [f.severity for f in flags] == ["warning"] * found
    if found:
        assert flags[0].numbers["score"] == pytest.approx(1, abs=0.15)
        assert flags[0].numbers["importance"] == pytest.approx(share, abs=0.15)
        assert f"score, {flags[0].numbers['score']:.3g}, exceeds" in flags[0].message
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


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("x0", [0.0, 1.0])
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


def test_an_effect_of_a_region_is_not_told_to_look_for_regions():
    X, model = product(0.0)
    halves = sd.explain(
        model, X, 0, by={"odd": np.arange(len(X)) % 2 == 1, "even": np.arange(len(X)) % 2 == 0}
    )
    (flag,) = halves[0].checks().of("heterogeneous")
    assert "sd.regions" not in flag.message
    assert "sd.ICE()" in flag.message


def test_a_curve_of_wrong_slopes_is_not_called_heterogeneous():
    X, model = product(0.7)
    flat = sd.prediction(model, slope=lambda X: 0 * X)
    e = sd.explain(flat, X, 0, method=sd.DALE())
    assert e.heterogeneity_score > 0.5 > e.importance
    codes = {f.code for f in e.checks()}
    assert "slope_mismatch" in codes
    assert "heterogeneous" not in codes
