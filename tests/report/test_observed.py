"""What was observed, on a page: figures, sentences, tables, JSON, code, and what it costs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.errors import DataError
from skedasis.report.report import Report

N = 600
RNG = np.random.default_rng(5)
X = pd.DataFrame(
    {
        "hr": RNG.integers(0, 24, N).astype(float),
        "temp": RNG.normal(12, 6, N),
        "city": RNG.choice(["Rome", "Oslo", "Bern"], N),
    }
)
OFF = 60.0 * X["hr"].between(16, 19).to_numpy()
SET = np.where(RNG.uniform(size=N) < 0.6, "train", "test")


def predict(X: pd.DataFrame) -> np.ndarray:
    return np.asarray(50 + 3 * X["temp"] + 8 * (X["city"] == "Rome"))


RIGHT = predict(X) + RNG.normal(0, 15, N)
WRONG = RIGHT + OFF


class Counted:
    """A model that counts its rows."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        self.rows += len(X)
        return predict(X)


def page(
    folder: Path, y: object = WRONG, model: object = predict, X: object = X, **options: object
) -> Report:
    """Write a page without the parts that are not about labels."""
    quick = {
        "pairs": 0,
        "uncertainty": False,
        "regions": False,
        "progress": False,
        "heterogeneity_rows": 100,
    }
    return sd.report({"m": model}, X, y, folder / "page.html", **quick | options)


def section(done: Report, feature: str) -> str:
    """Return the HTML of a feature's section."""
    text = done.path.read_text(encoding="utf-8")
    name = list(done.content.features).index(feature) + 1
    start = text.index(f'id="feature-{name}"')
    end = text.find(f'id="feature-{name + 1}"', start)
    return text[start : end if end > 0 else None]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return page(tmp_path_factory.mktemp("wrong"))


def test_the_model_is_called_at_no_further_row(tmp_path):
    rows = {}
    for observed in (True, False):
        model = Counted()
        page(tmp_path, model=sd.prediction(model), observed=observed)
        rows[observed] = model.rows
    assert rows[True] == rows[False]


def test_figures_of_features_show_labels_and_the_first_screen_does_not(wrong):
    text = wrong.path.read_text(encoding="utf-8")
    first = text[: text.index('id="feature-1"')]
    assert 'class="observed"' not in re.sub(r"<style.*?</style>", "", first, flags=re.DOTALL)
    for feature in X:
        assert "mean label (95 % interval)" in section(wrong, feature)
        assert 'class="observed"' in section(wrong, feature)


def test_a_sentence_says_where_the_model_is_clearly_wrong(wrong, tmp_path):
    (found,) = wrong.content.sections[0].deviations["hr"]
    assert found.at == "16 to 19"
    rows = X["hr"].between(16, 19)
    assert found.residual == pytest.approx((WRONG - predict(X))[rows].mean())
    assert "Where hr is 16 to 19, the model is " in section(wrong, "hr")
    assert "Where city is" not in section(wrong, "city")
    assert page(tmp_path, RIGHT).content.sections[0].deviations == {}


def test_the_table_has_the_means_of_each_cell(wrong):
    text = re.sub(r"<[^>]+>", " ", section(wrong, "city"))
    assert "Mean labels and mean predictions" in text
    for city in ("Rome", "Oslo", "Bern"):
        there = (X["city"] == city).to_numpy()
        assert f"{WRONG[there].mean():.1f}" in text or f"{WRONG[there].mean():.0f}" in text


def test_the_data_of_the_page_have_the_means(wrong):
    found = json.loads(wrong.to_json())["models"][0]["features"]["hr"]
    rows = [(X["hr"] == hour).to_numpy() for hour in range(24)]
    np.testing.assert_allclose(found["observed"]["label"][0], [WRONG[r].mean() for r in rows])
    assert found["observed"]["rows"][0] == [int(r.sum()) for r in rows]
    (off,) = found["deviations"]
    assert off["at"] == "16 to 19"
    assert set(off) == {"at", "split", "residual", "half", "rows"}


def test_code_draws_the_same_figure(wrong):
    text = section(wrong, "hr").replace("&#39;", "'").replace("&quot;", '"')
    assert "y=y, observed=True).plot(scale='prediction')" in re.sub(r"<[^>]+>", "", text)
    effect = sd.explain(predict, X, "hr", method=sd.RHALE(), y=WRONG, observed=True)
    np.testing.assert_allclose(
        effect.observed.label, wrong.effects["m"]["RHALE"]["hr"].observed.label
    )


def test_values_of_a_split_are_apart(tmp_path):
    done = page(tmp_path, split=SET)
    observed = done.effects["m"]["RHALE"]["hr"].observed
    assert observed.split_values == ("test", "train")
    assert "observed1" in section(done, "hr")
    assert "split=split" in re.sub(r"<[^>]+>", "", section(done, "hr"))
    by_column = page(tmp_path, X=X.assign(part=SET), split="part")
    np.testing.assert_allclose(by_column.effects["m"]["RHALE"]["hr"].observed.label, observed.label)
    with pytest.raises(DataError, match="split"):
        page(tmp_path, None, split=SET)


def test_labels_are_left_out_if_asked_or_impossible(tmp_path):
    for done in (
        page(tmp_path, observed=False),
        page(tmp_path, None),
        page(tmp_path, np.full(N, np.nan)),
        page(tmp_path, np.where(WRONG > 90, "high", "low")),
        page(tmp_path, model=sd.loss(predict, "squared_error")),
    ):
        assert done.effects["m"]["RHALE"]["hr"].observed is None
        assert "mean label" not in section(done, "hr")
        assert done.content.sections[0].deviations == {}
    with pytest.raises(DataError, match="observed"):
        page(tmp_path, observed="yes")


def test_labels_that_cannot_be_used_are_left_out_and_said(tmp_path):
    there = np.arange(N) >= 5
    done = page(tmp_path, np.where(there, WRONG, np.nan))
    means = done.effects["m"]["RHALE"]["city"].observed
    city = X["city"].to_numpy()[there]
    for k, level in enumerate(means.x):
        assert means.count[0, k] == (city == level).sum()
        assert means.label[0, k] == pytest.approx(WRONG[there][city == level].mean())
    text = done.path.read_text(encoding="utf-8")
    assert "5 rows without a label: left out" in text
    assert done.content.sections[0].calibration.rows == N - 5
    page(tmp_path, np.where(WRONG > 90, "high", "low"))
    text = done.path.read_text(encoding="utf-8")
    assert "How well it predicts is not known. The labels are not numbers" in text


def test_a_page_around_zero_has_labels_in_a_panel_of_their_own(tmp_path):
    done = page(tmp_path, scale="difference")
    assert "mean label (95 % interval)" in section(done, "hr")


def test_classes_have_the_proportion_of_their_labels(tmp_path):
    from sklearn.linear_model import LogisticRegression

    numbers = X[["hr", "temp"]]
    y = np.digitize(X["temp"] + RNG.normal(0, 4, N), [8, 16])
    done = page(tmp_path, y, LogisticRegression(max_iter=1000).fit(numbers, y), numbers)
    for k, one in enumerate(done.content.sections):
        observed = one.rhale["hr"].observed
        rows = (X["hr"] == 3).to_numpy()
        assert observed.label[0, 3] == pytest.approx((y[rows] == k).mean())


def test_a_page_without_rows_has_no_mean_of_few_rows(tmp_path):
    rare = X.assign(hr=np.where(np.arange(N) < 3, 99.0, X["hr"]))
    done = page(tmp_path, X=rare, rows=False)
    observed = done.effects["m"]["RHALE"]["hr"].observed
    assert (observed.count >= 10).all()
    assert 99.0 not in observed.points
    assert observed.count.sum() == N - 3
    assert np.isfinite(observed.label).all()


def test_a_page_of_files_has_the_numbers_of_memory(tmp_path):
    """Labels are a column of the file; means, calibration, weak spots and sentences are those of rows in memory."""
    pytest.importorskip("pyarrow")
    X.assign(y=WRONG, part=SET).to_parquet(tmp_path / "rows.parquet", row_group_size=250)
    data = sd.parquet(tmp_path / "rows.parquet", columns=list(X), y="y")
    quality = {"uncertainty": False, "random_state": 0}
    memory = page(tmp_path, pd.Series(WRONG, name="y"), split=SET, **quality)
    one = json.loads(memory.to_json())["models"][0]
    found = page(tmp_path, None, X=data, split="part", **quality)
    other = json.loads(found.to_json())["models"][0]
    for feature in X:
        a, b = (m["features"][feature] for m in (one, other))
        assert a["observed"] is not None
        assert (a["observed"], a["deviations"]) == (b["observed"], b["deviations"])
    for part in ("quality", "calibration", "weak_spots"):
        assert one[part]
        assert one[part] == other[part]
