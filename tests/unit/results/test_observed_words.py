"""Where a model is clearly wrong along a feature: what is said, and how rarely something false is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

import skedasis as sd
from skedasis.results.effect import Effect
from skedasis.results.observed_words import ALPHA, deviation_text, deviations, p_values
from skedasis.stats.holm import largest_rejected
from tests.plots.observed_helpers import observed_of

N = 3_000
RNG = np.random.default_rng(12)
X = pd.DataFrame(
    {
        "hr": RNG.integers(0, 24, N).astype(float),
        "temp": RNG.uniform(-5, 30, N),
        "city": RNG.choice(["Rome", "Oslo", "Bern"], N),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 360, N), "D"),
    }
)
PREDICTION = np.asarray(100 + 4 * X["temp"] + 20 * np.sin(X["hr"] / 4))
EFFECTS = sd.explain(
    sd.prediction(
        lambda X: np.asarray(100 + 4 * X["temp"] + 20 * np.sin(X["hr"] / 4)), unit="bikes"
    ),
    X,
    method="ale",
    schema={"temp": sd.Feature("temp", unit="°C")},
)


def observed(
    feature: str, y: np.ndarray, split: np.ndarray | None = None, name: str = ""
) -> Effect:
    """Return the effect of a feature with the means of labels."""
    effect, column = EFFECTS[feature], X[feature]
    at = effect.levels.codes(column) if effect.levels is not None else column.to_numpy()
    edges = None
    if feature == "when":
        at = effect.axis.coordinates_of(at, "test")
        edges = np.quantile(at, np.linspace(0, 1, 13))
    if feature == "temp":
        edges = np.arange(-5.0, 31.0, 2.5)
    return replace(effect, observed=observed_of(at, y, PREDICTION, edges, split, name, "bikes"))


def said(feature: str, y: np.ndarray, split: np.ndarray | None = None, name: str = "") -> str:
    effect = observed(feature, y, split, name)
    return deviation_text(effect, deviations({feature: effect}).get(feature, ()))


def labels(off: np.ndarray | float = 0.0, sd: float = 20.0) -> np.ndarray:
    return PREDICTION + off + np.random.default_rng(3).normal(0, sd, N)


# --- what is said -----------------------------------------------------------------------------------


def test_adjacent_cells_are_one_interval_with_the_mean_and_interval_of_its_rows():
    inside = X["hr"].between(17, 18).to_numpy()
    y = labels(31.0 * inside)
    effect = observed("hr", y)
    (found,) = deviations({"hr": effect})["hr"]
    residual = (y - PREDICTION)[inside]
    assert found.at == "17 to 18"
    assert found.rows == inside.sum()
    assert found.residual == pytest.approx(residual.mean())
    low, high = ttest_1samp(residual, 0).confidence_interval(0.95)
    assert found.half == pytest.approx((high - low) / 2, rel=0.05)
    assert said("hr", y) == (
        f"Where hr is 17 to 18, the model is {residual.mean():.1f} bikes too low on average "
        f"(95 % interval ± {found.half:.1f})."
    )


def test_the_unit_of_the_feature_and_the_direction_are_said():
    text = said("temp", labels(-40.0 * (X["temp"] > 25).to_numpy()))
    assert text.startswith("Where temp is 25 to 30 °C, the model is ")
    assert "bikes too high on average" in text


def test_levels_are_said_one_by_one():
    city = X["city"].to_numpy()
    text = said("city", labels(30.0 * (city == "Rome") - 30.0 * (city == "Oslo")))
    assert "city is Rome" in text
    assert "it is Oslo" in text
    assert "too low on average" in text
    assert "too high" in text


def test_times_are_texts():
    text = said("when", labels(60.0 * (X["when"] > "2024-12-01").to_numpy()))
    assert text.startswith("Where when is 2024-11-")


def test_values_of_a_split_are_named():
    test = RNG.uniform(size=N) < 0.4
    split = np.where(test, "test", "train")
    y = labels(40.0 * (test & (X["hr"] == 5).to_numpy()))
    assert "hr is 5 (set = test)" in said("hr", y, split, "set")
    assert "train" not in said("hr", y, split, "set")
    assert "hr is 5 (test)" in said("hr", y, split)


def test_of_many_places_two_are_said_and_the_others_counted():
    y = labels(60.0 * (X["hr"] % 5 == 0).to_numpy())
    text = said("hr", y)
    assert text.count(" too ") == 2
    assert text.endswith("it is clearly wrong in 3 other places, too.")


@pytest.mark.parametrize("feature", ["hr", "temp", "city", "when"])
def test_nothing_is_said_of_a_model_that_is_right(feature):
    assert said(feature, labels()) == ""


def test_what_holds_for_all_rows_is_not_said_of_a_feature():
    y = labels(25.0)
    assert said("hr", y) == ""
    amount = f"{(y - PREDICTION).mean():.1f} bikes too low"
    assert (
        f"The model is {amount} on average over all rows, and nowhere clearly more: a figure "
    ) in str(observed("hr", y))
    y = labels(25.0 + 40.0 * (X["hr"] == 3).to_numpy())
    text, amount = said("hr", y), f"{(y - PREDICTION).mean():.1f} bikes too low"
    assert text.startswith("Where hr is 3, the model is 6")
    assert text.endswith(f"; over all rows it is {amount}.")
    y = labels(40.0 * (X["hr"] == 3).to_numpy() - 25.0)
    text, amount = said("hr", y), f"{(PREDICTION - y).mean():.1f} bikes too high"
    assert text.startswith("Where hr is 3, the model is 15.3 bikes too low on average")
    assert text.endswith(f"; over all rows it is {amount}.")


def test_a_small_difference_is_not_worth_saying_however_sure_it_is():
    y = labels(2.0 * (X["temp"] > 25).to_numpy(), sd=0.01)
    effect = observed("temp", y)
    assert (p_values(effect.observed) < 1e-10).any()
    assert deviations({"temp": effect}) == {}


def test_cells_with_few_rows_are_not_tested():
    y = labels()
    rare = np.arange(N) < 9
    at = np.where(rare, 99.0, X["hr"])
    effect = replace(EFFECTS["hr"], observed=observed_of(at, y + 1e4 * rare, PREDICTION))
    assert np.isnan(p_values(effect.observed)[0, -1])
    assert deviations({"hr": effect}) == {}


def test_effects_without_labels_have_no_deviation():
    assert deviations({}) == {}
    assert deviations(dict(EFFECTS)) == {}


def test_an_effect_prints_one_line_about_its_labels():
    right, wrong = (
        str(observed("hr", labels(off))).splitlines()
        for off in (0.0, 50.0 * (X["hr"] == 7).to_numpy())
    )
    bare = str(EFFECTS["hr"]).splitlines()
    assert len(right) == len(wrong) == len(bare) + 1
    assert (
        "The model is nowhere clearly wrong on average: a figure shows the means of labels and predictions."
        in right
    )
    (line,) = set(wrong) - set(right)
    assert line.startswith("Where hr is 7, the model is ")


# --- how sure it is -------------------------------------------------------------------------------


def test_a_cell_without_events_is_no_proof():
    # All labels of a cell are 0, so that its own standard error is that of the predictions, nearly 0.
    n = 4_000
    rng = np.random.default_rng(4)
    at, p = np.repeat(np.arange(20.0), n // 20), np.full(n, 0.02)
    y = (rng.uniform(size=n) < p).astype(float)
    y[at == 7] = 0.0
    p = p + 1e-6 * rng.normal(size=n)
    found = observed_of(at, y, p)
    own = abs(found.residual[0, 7]) / found.residual_error[0, 7]
    assert own > 1_000
    assert p_values(found)[0, 7] > 0.01


def _false_alarms(kind: str, draws: int, seed: int) -> int:
    """Return in how many draws of a right model any cell of ten features is rejected."""
    rng, found, d, n = np.random.default_rng(seed), 0, 10, 1_000
    for _ in range(draws):
        x = rng.uniform(size=(n, d))
        line = x @ np.linspace(0, 1, d)
        if kind == "normal":
            p = line
            y = p + rng.normal(size=n) * np.exp(x[:, 0])
        elif kind == "rare class":
            p = 1 / (1 + np.exp(4 - line / 2))
            y = (rng.uniform(size=n) < p).astype(float)
        else:
            p = 0.1 * np.exp(line / 2)
            y = rng.poisson(p).astype(float)
        edges = np.linspace(0, 1, 11)
        tests = [p_values(observed_of(x[:, j], y, p, edges)).ravel() for j in range(d)]
        found += largest_rejected(np.concatenate(tests), ALPHA) > 0
    return found


@pytest.mark.parametrize("kind", ["normal", "rare class", "counts"])
def test_of_right_models_at_most_five_per_cent_are_accused(kind):
    # Of 40 draws with probability .05 each, more than 6 are false alarms in 1 of 300 runs.
    assert _false_alarms(kind, 40, 21) <= 6


@pytest.mark.long
@pytest.mark.parametrize("kind", ["normal", "rare class", "counts"])
def test_of_400_right_models_at_most_five_per_cent_are_accused(kind):
    assert _false_alarms(kind, 400, 5) / 400 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
