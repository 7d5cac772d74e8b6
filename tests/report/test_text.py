"""A report's texts: formatted numbers, and sentences that claim no more than the result."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import skedasis as sd
from skedasis._numbers import number
from skedasis.report import text as report_text
from skedasis.report.content import gather
from skedasis.report.format import NumberTable
from skedasis.report.tables import effect_tables


@pytest.fixture
def X():
    return np.random.default_rng(0).uniform(-1, 1, (400, 3))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "–"),
        (float("inf"), "–"),
        (-1234.5, "−1,234"),
        (1e12, "1.00e12"),
        (0.5, "0.500"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_course_says_which_way(X):
    up = sd.explain(lambda X: 3 * X[:, 0], X, 0)
    down = sd.explain(lambda X: -3 * X[:, 0], X, 0)
    both = sd.explain(lambda X: X[:, 0] ** 2, X, 0, method=sd.ALE(bins=20))
    flat = sd.explain(lambda X: X[:, 1], X, 0)
    assert "rises by 5.9" in report_text.effect_sentence(up)
    assert "falls by 5.9" in report_text.effect_sentence(down)
    assert report_text.effect_sentence(both).startswith("One dip at ")
    assert "flat" in report_text.effect_sentence(flat)
    one = sd.explain(lambda X: X[:, 0], np.ones((30, 1)), 0)
    assert "single value" in report_text.effect_sentence(one)
    assert report_text.heterogeneity_sentence(one) == ""
    assert report_text.precision_sentence(one, one) == ""


def test_what_rounding_left_is_neither_an_error_nor_a_difference(X):
    rhale, ale = (
        sd.explain(lambda X: 3e6 * X[:, 0] + 1e9, X, 0, method=m) for m in ("rhale", "ale")
    )
    said = report_text.precision_sentence(rhale, ale)
    assert "e−" not in said
    assert "known to ± 0 or better" in said
    assert said.endswith("; computed as ALE, it differs by at most 0.")
    bent = (sd.explain(lambda X: X[:, 0] ** 2, X, 0, method=m) for m in ("rhale", sd.ALE(bins=3)))
    assert "; computed as ALE, it differs by at most 0." in report_text.precision_sentence(*bent)


def test_scatter_counts_rows_against_their_average(X):
    half = sd.explain(lambda X: X[:, 0] * (X[:, 1] > 0.5) - X[:, 0] * (X[:, 1] < 0.5) / 10, X, 0)
    share = report_text.opposite_sign_share(half)
    assert share == pytest.approx(np.mean(X[:, 1] < 0.5), abs=0.01)
    assert "describes few rows" in report_text.heterogeneity_sentence(half)
    little = sd.explain(lambda X: X[:, 0] + 0.01 * X[:, 0] * X[:, 1], X, 0)
    assert "nearly every row" in report_text.heterogeneity_sentence(little)
    weighted = sd.explain(
        lambda X: X[:, 0] * np.where(X[:, 1] > 0, 3.0, -1.0),
        X,
        0,
        sample_weight=1.0 + (X[:, 1] > 0),
    )
    below = np.mean(X[:, 1] < 0)
    assert report_text.opposite_sign_share(weighted) == pytest.approx(
        below / (below + 2 * (1 - below)), abs=1e-9
    )


@pytest.mark.parametrize("method", [sd.ALE, sd.RHALE])
def test_no_row_is_against_an_average_of_rows_alike(method):
    """All rows have the slope that the average has at their place: at an edge, that of the bin that they are in."""
    X = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 1.6, 2.0], (600, 1))
    edges = method(bins=sd.Edges([0.0, 1.0, 2.0]))
    closed = sd.explain(lambda X: X[:, 0], X, 0, method=edges).spec.closed

    def slope(X):
        up = X[:, :1] >= 1 if closed == "left" else X[:, :1] > 1
        return np.where(up, 1.0, -1.0)

    steps = sd.prediction(lambda X: np.abs(X[:, 0] - 1), slope=slope)
    assert report_text.opposite_sign_share(sd.explain(steps, X, 0, method=edges)) == 0


def test_no_row_is_against_an_average_whose_slope_changes_as_its_own():
    U = np.random.default_rng(1).uniform(-1, 1, (600, 1))
    square = sd.prediction(lambda X: X[:, 0] ** 2, slope=lambda X: 2 * X)
    bent = sd.explain(square, U, 0, method="rhale")
    assert bent.bins.slope_change.any()
    assert report_text.opposite_sign_share(bent) < 0.02


def test_tables_have_the_slopes_at_the_ends_of_a_bin_and_their_deviations(X):
    square = sd.prediction(lambda X: X[:, 0] ** 2, slope=lambda X: np.c_[2 * X[:, 0], 0 * X[:, 1:]])
    bent = sd.explain(square, X, 0, method="rhale")
    slopes = dict(effect_tables(bent)[0].columns)["Mean slope"]
    low, high = (float(v.replace("−", "-")) for v in slopes[0].split(" … "))
    assert (low, high) == pytest.approx((2 * bent.bins.low[0], 2 * bent.bins.high[0]), abs=0.05)
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=sd.Edges([-1, 0, 1])))
    left = X[:, 0] <= 0
    found = dict(effect_tables(e)[0].columns)
    spread = [X[of, 1].std(ddof=1) for of in (left, ~left)]
    assert list(map(float, found["Std of slopes"])) == pytest.approx(spread, rel=0.01)


def test_effects_on_the_log_scale_have_a_table_of_factors():
    X = pd.DataFrame({"town": ["A"] * 60 + ["B"] * 40, "z": np.arange(100.0)})
    rate = sd.prediction(
        lambda X: np.where(X["town"] == "B", 0.4, 0.2), inverse="log", name="claim rate"
    )
    *_, table = effect_tables(sd.explain(rate, X, "town", method="ale"))
    assert table.caption.startswith("Factors of claim rate by ALE. Single rows differ")
    assert [head for head, _ in table.heads] == ["town", "factor", "95 % interval", "rows"]
    assert table.rows == [("A", "1.00", "base", "60 %"), ("B", "2.00", "2.00 to 2.00", "40 %")]
    odds = sd.logit(lambda X: np.where(X["town"] == "B", 0.4, 0.2))
    *_, table = effect_tables(sd.explain(odds, X, "town", method="ale"))
    assert table.caption.startswith(
        "Odds ratios of P(y = 1) by ALE. Single rows differ from these odds ratios"
    )
    assert table.rows[1][1] == "2.67"  # 0.4 / 0.6 over 0.2 / 0.8
    for other in (
        sd.explain(lambda X: X["z"].to_numpy(), X, "z", method="ale"),
        sd.explain(rate, X, "town", method="mplot"),
    ):
        assert not any("Factors" in t.caption for t in effect_tables(other))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_share_of_a_level_is_that_of_the_weight_of_its_rows(weighted):
    level = np.repeat(["a", "b"], [30, 10])
    weight = np.where(level == "b", 3.0, 1.0) if weighted else None
    X = pd.DataFrame({"level": level, "x": np.linspace(0, 1, 40)})
    e = sd.explain(lambda X: 1.0 * (X["level"] == "a"), X, "level", sample_weight=weight)
    columns = dict(effect_tables(e)[0].columns)
    found = dict(zip(columns["Level"], columns["Share"], strict=True))
    assert found == ({"a": "50 %", "b": "50 %"} if weighted else {"a": "75 %", "b": "25 %"})


def test_the_average_is_known_to_half_of_its_widest_interval(X):
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.RHALE(bins=sd.Uniform(5)))
    half = scipy.stats.t.ppf(0.975, e.df) * e.std_error
    assert f"known to ± {np.nanmax(half):.2g} or" in report_text.precision_sentence(e, e)


def test_against_needs_rows_and_bins(X):
    assert (
        report_text.opposite_sign_share(sd.explain(lambda X: X[:, 0], X, 0, method="pdp")) is None
    )
    assert report_text.opposite_sign_share(sd.explain(lambda X: X[:, 0], X, 0, keep_rows=0)) is None


def test_the_score_is_compared_with_the_importance_of_every_kind_of_model(X):
    steps = sd.explain(lambda X: np.floor(4 * X[:, 0]) * (X[:, 1] > 0), X, 0)
    score, importance = steps.heterogeneity_score, steps.importance
    error = f"{steps.heterogeneity_score_error:.2g}"
    assert report_text.heterogeneity_sentence(steps).startswith(
        f"Single rows deviate from the average by about {score:.3g} ± {error}, which is less than it varies: by "
        f"{importance:.3g} (standard deviations)."
    )


def test_cautions_name_sparse_bins_and_missing_rows(X):
    X = X.copy()
    X[:7, 0] = np.nan
    effect = sd.explain(
        lambda X: np.nan_to_num(X[:, 0]), X, 0, method=sd.RHALE(bins=sd.Uniform(100))
    )
    text = " ".join(report_text.cautions(effect))
    assert "the curve is unreliable there" in text
    assert "7 rows without a value" in text
    assert report_text.cautions(sd.explain(lambda X: X[:, 1], X, 1)) == []


def test_story_orders_features_by_their_largest_share(X):
    content = gather(
        {"a": lambda X: 1000 * (2 * X[:, 0] + X[:, 1]), "b": lambda X: X[:, 2]}, X, progress=False
    )
    assert content.features == ("x2", "x0", "x1")


# ----------------------------------------------------------------------------------------- tables


def test_columns_of_words_are_told_from_columns_of_numbers():
    """Words stand at the left of their cells; a remark in a column of numbers does not make it one of words."""
    columns = {
        "Level": ["north", "7", "south"],
        "Effect": ["−1.20", "≈ 0", "few rows"],
        "Share": ["<0.1 %", "33 % ± 2 %", "–"],
        "At": ["2024-06-01", "2024-06-02", ""],
        "Remark": ["", "", "empty"],
    }
    table = NumberTable("Levels", columns)
    assert dict(table.heads) == {
        "Level": True,
        "Effect": False,
        "Share": False,
        "At": False,
        "Remark": True,
    }
    assert table.rows[2] == ("south", "few rows", "–", "", "empty")
