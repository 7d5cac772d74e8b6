"""`Importance` without a model: statistics, intervals, tables, text and files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import skedasis as sd
from skedasis.results.importance import Importance, ImportanceRank, LocalImportance
from tests.helpers import refused

FEATURES = ("b", "a", "<script>alert(1)</script>", "ä ö")
VALUES = np.array(
    [
        [1.0, 2.0, 3.0, 6.0],
        [-1.0, -1.5, -0.5, -1.0],
        [0.0, 0.0, 0.0, 0.0],
        [2.5, 3.5, 3.0, 3.0],
    ]
)
ERROR = np.array([0.5, 0.25, 0.0, 1.0])
FREEDOM = np.array([10.0, 20.0, np.inf, 3.5])
OWN = np.array([1.0, 2.0, 5.0])
AFTER = np.arange(48, dtype=float).reshape(4, 3, 4) ** 1.5


def local(**parts):
    return LocalImportance(
        FEATURES, np.array([7, 3, 11]), OWN.copy(), AFTER.copy(), exact=False, **parts
    )


def made(**parts):
    """Return an importance of four features, ordered neither by importance nor alphabetically."""
    given = {
        "features": FEATURES,
        "values": VALUES.copy(),
        "std_error": ERROR.copy(),
        "df": FREEDOM.copy(),
        "baseline": 2.0,
        "rows": 40,
        "quantity": "entropy",
        "unit": "nats",
        "local": local(),
    }
    return Importance(**{**given, **parts})


# ------------------------------------------------------------------------------------ the numbers


def test_mean_and_standard_deviation_are_over_the_repeats():
    pf = made()
    np.testing.assert_allclose(pf.mean, [3.0, -1.0, 0.0, 3.0])
    want = [math.sqrt((4 + 1 + 0 + 9) / 3), math.sqrt(0.5 / 3), 0.0, math.sqrt(0.5 / 3)]
    np.testing.assert_allclose(pf.std, want)
    assert len(pf) == 4


def test_one_repeat_has_no_standard_deviation():
    assert np.isnan(made(values=VALUES[:, :1].copy(), local=None).std).all()


def test_where_nothing_was_drawn_nothing_varies():
    pf = made(values=VALUES[:, :1].copy(), local=None, provenance={"settings": {"exact": True}})
    assert pf.is_exact
    np.testing.assert_array_equal(pf.std, 0.0)
    for end in pf.interval(0.95, method="repeats"):
        np.testing.assert_array_equal(end, pf.mean)


def test_a_feature_is_found_by_its_name():
    line = made()["a"]
    assert isinstance(line, ImportanceRank)
    assert (line.feature, line.mean, line.std_error) == ("a", -1.0, 0.25)
    half = stats.t.ppf(0.975, 20) * 0.25
    assert line.lower == pytest.approx(-1 - half)
    assert line.upper == pytest.approx(-1 + half)
    for unknown in ("z", 0, None, "A"):
        with refused(sd.DataError, "feature", repr(unknown), "'ä ö'"):
            made()[unknown]


def test_the_ranking_is_by_size_with_signs_and_ties_in_the_order_of_x():
    lines = made().ranking()
    assert [line.feature for line in lines] == ["b", "ä ö", FEATURES[2], "a"]
    assert [line.mean for line in lines] == [3.0, 3.0, 0.0, -1.0]
    assert isinstance(lines, tuple)


def test_single_rows():
    rows = local()
    assert len(rows) == 3
    want = (AFTER - OWN[:, None]).mean(axis=2)
    np.testing.assert_allclose(rows.difference, want)
    np.testing.assert_allclose(rows["a"], want[1])
    with refused(sd.DataError, "feature", "'z'", "'a'"):
        rows["z"]


# ------------------------------------------------------------------------------------- intervals


def test_the_analytic_interval_is_students():
    pf = made()
    for level in (0.5, 0.95):
        low, high = pf.interval(level)
        df = np.where(np.isinf(FREEDOM), 1e9, FREEDOM)
        half = stats.t.ppf((1 + level) / 2, df) * ERROR
        np.testing.assert_allclose(low, pf.mean - half)
        np.testing.assert_allclose(high, pf.mean + half)


def test_the_interval_over_repeats_is_students_of_their_mean():
    pf = made()
    low, high = pf.interval(0.9, method="repeats")
    for j, values in enumerate(VALUES[:2]):
        want = stats.t.interval(0.9, 3, values.mean(), stats.sem(values))
        np.testing.assert_allclose((low[j], high[j]), want)
    assert low[2] == high[2] == 0


@pytest.mark.parametrize("level", [0, 95, True, "0.95"])
def test_levels_that_are_none_are_refused(level):
    with refused(sd.DataError, "interval(confidence_level)", repr(level), "between 0 and 1"):
        made().interval(level)


@pytest.mark.parametrize("method", ["bootstrap", None])
def test_unknown_intervals_are_refused(method):
    with refused(sd.DataError, "interval(method)", repr(method), "'analytic'", "'repeats'"):
        made().interval(method=method)


@pytest.mark.parametrize("repeats", [1, 2])
def test_few_repeats_have_no_analytic_interval(repeats):
    pf = made(values=VALUES[:, :repeats].copy(), std_error=np.full(4, np.nan), local=None)
    given = "1 repeat " if repeats == 1 else "2 repeats "
    with refused(sd.DataError, given, "at least 3 repeats", "sd.PFI(n_repeats=10)"):
        pf.interval()
    assert all(math.isnan(line.lower) and math.isnan(line.upper) for line in pf.ranking())
    if repeats == 1:
        with refused(sd.DataError, "1 repeat ", "at least 2 repeats"):
            pf.interval(method="repeats")
    else:
        assert np.isfinite(pf.interval(method="repeats")).all()


# ---------------------------------------------------------------------------------------- tables


def test_tables():
    pf = made()
    columns = pf.to_frame("pandas")
    assert list(columns) == ["feature", "mean", "std", "std_error", "lower", "upper"]
    assert columns["feature"].tolist() == list(FEATURES)
    lower, upper = pf.interval()
    for name, expected in (("mean", pf.mean), ("std", pf.std), ("lower", lower), ("upper", upper)):
        np.testing.assert_array_equal(columns[name], expected)
    columns = pf.to_frame("polars", of="values").to_dict(as_series=False)
    assert columns["feature"] == [f for f in FEATURES for _ in range(4)]
    assert columns["repeat"] == [0, 1, 2, 3] * 4
    np.testing.assert_array_equal(columns["value"], VALUES.ravel())
    columns = pf.to_frame("pyarrow", of="local").to_pydict()
    assert columns["row"] == [7, 3, 11] * 4
    np.testing.assert_array_equal(columns["before"], np.tile(OWN, 4))
    np.testing.assert_array_equal(columns["difference"], local().difference.ravel())
    with refused(sd.UnsupportedError, "to_frame(of='local')", "sd.PFI(local=1000)"):
        made(local=None).to_frame(of="local")


# ------------------------------------------------------------------------------------------ files


def test_a_file_gives_back_what_was_saved(tmp_path):
    pf = made(provenance={"exact": True, "settings": {"n_repeats": 4}})
    weights = np.array([0.5, 2.0, 1.0])
    for result in (pf, replace(pf, local=None), replace(pf, local=local(weight=weights))):
        result.save(tmp_path / "pf.npz")
        again = sd.load(tmp_path / "pf.npz")
        assert isinstance(again, Importance)
        for name in ("values", "std_error", "df"):
            np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
        for name in ("features", "baseline", "rows", "quantity", "unit", "library", "method"):
            assert getattr(again, name) == getattr(result, name), name
        assert again.provenance == result.provenance
        assert again.ranking() == result.ranking()
        assert (again.local is None) == (result.local is None)
        if result.local is not None:
            np.testing.assert_array_equal(again.local.difference, result.local.difference)
            np.testing.assert_array_equal(again.local.row, result.local.row)
            assert again.local.exact == result.local.exact
            assert not again.local.after.flags.writeable
        if result.local is not None and result.local.weight is not None:
            np.testing.assert_array_equal(again.local.weight, weights)
