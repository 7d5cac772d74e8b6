"""A report's texts: formatted numbers, and sentences that claim no more than the result."""

import numpy as np
import pytest

import skedasis as sd
from skedasis._numbers import number
from skedasis.report import text as report_text
from skedasis.report.content import gather
from skedasis.report.format import NumberTable


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
