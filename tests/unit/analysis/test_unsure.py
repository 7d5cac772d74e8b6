"""Where a model is unsure: known places are found with their ratio, and nothing is told where there is no place."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.analysis import unsure
from skedasis.analysis.unsure import where_unsure
from skedasis.data.dataset import as_dataset
from skedasis.results.importance import LocalImportance
from skedasis.stats.random import row_hashes
from tests.helpers import Remembers


def said(X, entropy, labels="classes", seed=0, sampling=False, **data):
    """Return the sentence on the entropies of all rows."""
    row = np.arange(len(X))
    local = LocalImportance(("x0",), row, np.asarray(entropy), np.zeros((1, len(X), 1)))
    rows = replace(as_dataset(X, **data), sampling_weights=sampling)
    return where_unsure(local, rows, labels, seed)


def ratio_of(text):
    return float(re.search(r": ([\d.]+) times its average uncertainty\.$", text)[1])


@pytest.mark.parametrize("labels", ["classes", "numbers"])
def test_a_known_place_is_found_with_its_ratio(labels):
    """Above 200 the mean entropy is 2.5 times that elsewhere, or larger by 1 nat; a third of the rows are there."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 300, (1000, 6))
        there = X[:, 2] > 200
        if labels == "classes":
            entropy = rng.gamma(4.0, 0.25, 1000) * np.where(there, 2.5, 1.0)
            expected = 2.5 / (1 + 1.5 * there.mean())
        else:
            entropy = rng.normal(-2.0, 0.5, 1000) + there  # differential entropies may be negative
            expected = np.exp(1 - there.mean())
        text = said(X, entropy, labels, seed)
        limit = re.match(r"Unsure where x2 > ([\d.]+) \((\d+) % of the rows\): ", text)
        assert float(limit[1]) == pytest.approx(200, abs=10)
        assert int(limit[2]) == pytest.approx(100 * there.mean(), abs=4)
        ratios.append(ratio_of(text) / expected)
    # The half of the rows that did not choose the place gives the ratio: no optimism.
    assert np.mean(ratios) == pytest.approx(1, abs=0.03)


def test_a_place_may_be_in_the_middle_a_level_or_of_two_features():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 300, 1000), "b": rng.choice(["u", "v", "w"], 1000)})
    X["c"] = rng.uniform(0, 1, 1000)
    noise = rng.normal(0, 0.2, 1000)
    middle = said(X, noise + 1.5 * (abs(X["a"] - 150) < 30), "numbers")
    low, high = re.match(r"Unsure where ([\d.]+) < a ≤ ([\d.]+) ", middle).groups()
    assert float(low) == pytest.approx(120, abs=3)
    assert float(high) == pytest.approx(180, abs=3)
    assert said(X, noise + (X["b"] == "v"), "numbers").startswith("Unsure where b = v (")
    both = said(X, noise + (X["b"] == "v") * (X["c"] > 0.5), "numbers")
    assert re.match(r"Unsure where (b = v and c > 0\.5|c > 0\.5\d* and b = v)", both)


@pytest.mark.parametrize("noise", ["exponential", "standard_t", "lognormal"])
def test_nothing_is_told_where_there_is_no_place(noise, monkeypatch):
    told = [0, 0]
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (400, 5))
        size = (3, 400) if noise == "standard_t" else (1.0, 400)
        entropy = (
            rng.lognormal(0.0, 1.5, 400) if noise == "lognormal" else getattr(rng, noise)(*size)
        )
        told[0] += bool(said(X, entropy, "classes", seed))
        with monkeypatch.context() as any_size:
            any_size.setattr(unsure, "WORTH_TELLING", 0.0)
            any_size.setattr(unsure, "LEAST_GAIN", 0.0)
            told[1] += bool(said(X, entropy, "numbers", seed))
    assert told[0] <= 2
    assert told[1] <= 9  # of 100 at a level of 0.05: more in one of 35 cases at most


def test_what_is_hardly_larger_is_not_told():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 2))
    entropy = rng.gamma(100.0, 0.01, 2000)
    assert said(X, entropy + 0.15 * (X[:, 0] > 0.5)) == ""
    assert ratio_of(said(X, entropy + 0.8 * (X[:, 0] > 0.5))) == pytest.approx(1.8 / 1.4, abs=0.1)


def test_weights_count_as_repeated_rows():
    """With weight 9, the few rows of the place are most of the average, and the ratio is small."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (1000, 2))
    there = X[:, 1] > 0.8
    entropy = rng.gamma(100.0, 0.01, 1000) * np.where(there, 4.0, 1.0)
    weights = np.where(there, 9.0, 1.0)
    text = said(X, entropy, sample_weight=weights)
    assert text.startswith("Unsure where x1 > 0.8")
    w = weights.sum()
    assert ratio_of(text) == pytest.approx(
        4 / ((4 * 9 * there.sum() + (~there).sum()) / w), abs=0.06
    )
    assert "(69 % of the rows)" in text


def test_diagnose_says_it_without_another_model_row(tmp_path):
    """Rows of weight 0 are left out: the entropies belong to rows of X by their numbers, not by their places."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (1500, 3))
    y = X[:, 0] + rng.normal(0, 0.1, 1500)
    weights = np.where(np.arange(1500) % 3 == 0, 0.0, 1.0)
    model = Remembers(lambda X: (X[:, 0], np.where(X[:, 2] > 0.9, 3.0, 1.0)))
    d = sd.diagnose(model, X, y, sample_weight=weights, n_repeats=3, dependence=False)
    expected = r"Unsure where x2 > (0\.9|0\.89\d*) \([\d.]+ % of the rows\): 2\.\d times its average uncertainty\.$"
    assert re.match(expected, d.unsure)
    assert d.provenance["effect_rows"] == 1000 * (1 + 3 * 3)
    assert sum(len(rows) for rows in model.seen) == d.provenance["model_rows"]
    assert d.summary[0] == d.unsure
    assert d.to_dict()["unsure"] == d.unsure
    d.save(tmp_path / "d.npz")
    assert sd.load(tmp_path / "d.npz").unsure == d.unsure
    everywhere = lambda X: (X[:, 0], 1 + 0.1 * np.sin(1000 * X[:, 0]))  # noqa: E731
    nowhere = sd.diagnose(everywhere, X, y, n_repeats=3, dependence=False)
    assert nowhere.unsure == ""
    assert "\nNo group of rows was confirmed in which" in str(nowhere)


def test_one_half_chooses_the_place_and_the_other_one_gives_its_ratio(monkeypatch):
    """In quarters of x0: the second has the largest mean in the first half of the rows, the last one in all rows."""
    monkeypatch.setattr(unsure, "LEAST_GAIN", 0.001)
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (2000, 2))
    first = row_hashes(as_dataset(X).identifiers, 0, "unsure: halves") >> np.uint64(63) == 0
    means = np.where(
        first, *(np.array(m)[X[:, 0].astype(int)] for m in ([3, 4, -5, 3.8], [3, 3.7, -5, 4.4]))
    )
    entropy = means + rng.normal(0, 0.1, 2000)
    text = said(X, entropy, "numbers")
    low, high = re.match(r"Unsure where ([\d.]+) < x0 ≤ ([\d.]+) ", text).groups()
    assert (float(low), float(high)) == pytest.approx((1, 2), abs=0.02)
    inside = (X[:, 0] > float(low)) & (X[:, 0] <= float(high))
    expected = np.exp(entropy[inside & ~first].mean() - entropy[~first].mean())
    assert ratio_of(text) == pytest.approx(expected, rel=0.01)


def test_weights_choose_the_place_and_say_how_many_rows_there_are():
    """The heavy rows are unsure at large values of x1, the light ones, which are more, of x0."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 2))
    heavy = np.arange(2000) % 4 == 0
    entropy = rng.gamma(100.0, 0.01, 2000) * np.where(X[np.arange(2000), 1 * heavy] > 0.8, 4.0, 1.0)
    assert said(X, entropy).startswith("Unsure where x0 > ")
    weights = np.where(heavy, 100.0, 1.0)
    assert said(X, entropy, sample_weight=weights).startswith("Unsure where x1 > ")
    # A weight of 400 is 400 rows, or a row that was drawn with a small probability: then its size does not matter.
    weak = rng.gamma(1.0, 1.0, 100) * np.where(X[:100, 0] > 0.5, 1.5, 1.0)
    texts = {
        (kind, size): said(X[:100], weak, sampling=kind, sample_weight=np.full(100, size))
        for kind in (False, True)
        for size in (1e-6, 1.0, 400.0)
    }
    assert texts[False, 1.0] == ""
    assert texts[False, 400.0].startswith("Unsure where x0 > ")
    assert {texts[True, size] for size in (1e-6, 1.0, 400.0)} == {""}
    strong = said(X, entropy, sampling=True, sample_weight=weights)
    assert strong.startswith("Unsure where x1 > ")
    assert said(X, entropy, sampling=True, sample_weight=1e-6 * weights) == strong


def test_sampling_weights_are_no_numbers_of_rows(monkeypatch):
    """With unequal weights few rows decide: that is not mistaken for many rows which agree."""
    monkeypatch.setattr(unsure, "WORTH_TELLING", 0.0)
    monkeypatch.setattr(unsure, "LEAST_GAIN", 0.0)
    told = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, weights = rng.uniform(-1, 1, (400, 3)), rng.lognormal(0.0, 1.5, 400)
        text = said(X, rng.normal(size=400), "numbers", seed, sampling=True, sample_weight=weights)
        told += bool(text)
    assert told <= 7  # of 60 at a level of 0.05: more in one of 60 cases at most
