"""The section "What changed": two models on the same rows, older rows, both, several outputs, limits, wrong calls."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd

QUIET: Any = {"progress": False, "uncertainty": False, "regions": False, "pairs": 0}


def rows(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": rng.normal(80 + shift, 10, n),
            "age": rng.uniform(0, 100, n),
            "town": rng.choice(["<b>a</b>", "b"], n),
        }
    )


class Counted:
    """A model that counts the rows at which it is called."""

    def __init__(self, bonus: float) -> None:
        self.bonus, self.rows = bonus, 0

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        self.rows += len(X)
        late = self.bonus * (X["age"] > 60)
        return np.asarray(2 * X["size"] + X["age"] + (X["town"] == "b") + late, dtype=float)


def changed(report: sd.report) -> dict[str, Any]:  # type: ignore[valid-type]
    return report.to_dict()["changed"]  # type: ignore[attr-defined]


@pytest.fixture
def page(tmp_path):
    return tmp_path / "page.html"


def test_models_without_names_are_numbered(page):
    X = rows(300, 0)
    models = [Counted(0.0), Counted(9.0)]
    by_name = {f"model {k}": model for k, model in enumerate(models)}
    one = sd.report(models, X, path=page, **QUIET).to_dict()
    assert "sd.explain(models[1], X" in page.read_text("utf-8")
    assert [m["name"] for m in one["models"]] == ["model 0", "model 1"]
    assert one["changed"] == sd.report(by_name, X, path=page, **QUIET).to_dict()["changed"]


def test_two_models_are_compared_without_a_model_row(page):
    X, old, new = rows(600, 0), Counted(0.0), Counted(9.0)
    alone = sum(sd.report(m, X, path=page, **QUIET) and m.rows for m in (Counted(0), Counted(9)))
    report = sd.report({"old": old, "new": new}, X, path=page, **QUIET)
    assert old.rows + new.rows == alone
    (found,) = changed(report)["drifts"]
    expected = sd.drift(Counted(0.0), X, Counted(9.0), progress=False)
    assert found["verdict"] == list(expected.verdict)
    for part in ("change", "model_changed", "rows_moved"):
        assert found[part]["value"] == getattr(expected, part).value
    for feature, same in zip(found["features"], expected.features, strict=True):
        assert feature["curve_change"] == pytest.approx(same.curve_change)
    text = page.read_text(encoding="utf-8")
    assert '<h2 id="changed-name">What changed</h2>' in text
    assert '<a href="#changed">What changed</a>' in text
    assert "The model changed most where age &gt; " in text
    assert "<b>a</b>" not in text


def test_older_rows_and_two_models(page):
    X, before, old, new = rows(500, 0, 9.0), rows(400, 1), Counted(0.0), Counted(9.0)
    report = sd.report({"old": old, "new": new}, X, path=page, X_old=before, **QUIET)
    (found,) = changed(report)["drifts"]
    expected = sd.drift(Counted(0.0), before, Counted(9.0), X, progress=False)
    assert found["verdict"] == list(expected.verdict)
    made = report.to_dict()["models"]
    total = sum(p["model_rows"] for m in made for p in m["provenance"])
    assert total == old.rows + new.rows
    assert "because rows moved and" in page.read_text(encoding="utf-8")


def test_a_single_model_and_older_rows_within_a_limit(page):
    X, before = rows(500, 0, 9.0), rows(400, 1)
    whole = Counted(0.0)
    report = sd.report(whole, X, path=page, X_old=before, **QUIET)
    assert changed(report)["drifts"][0]["same_model"]
    least = False
    for limit in (whole.rows, 20_000, 10_000, 8_000):
        limited = Counted(0.0)
        with warnings.catch_warnings(action="ignore", category=sd.CostWarning):
            report = sd.report(limited, X, path=page, X_old=before, max_model_rows=limit, **QUIET)
        assert limited.rows <= limit
        fewer = [d["rows_old"] < 400 for d in changed(report)["drifts"]]
        assert fewer or changed(report)["why_not"]
        least = least or fewer != [False]
    assert least  # some limit left out a part of the comparison


def test_each_output_has_its_own(page):
    X = rows(500, 0)[["size", "age"]]
    y = np.digitize(X["size"] + np.random.default_rng(1).normal(size=500), [75, 85])
    models = {name: LogisticRegression(C=c).fit(X, y) for name, c in (("old", 1.0), ("new", 1e-4))}
    report = sd.report(models, X, path=page, **QUIET)
    assert [d["output"] for d in changed(report)["drifts"]] == ["0", "1", "2"]


def summary(page) -> list[str]:
    """Return what the summaries of a page say of what changed."""
    return re.findall(
        r'<li><a href="#changed">What changed</a>: (.*?)</li>', page.read_text("utf-8")
    )


def test_the_summary_says_what_changed(page):
    X, y = rows(400, 0)[["size", "age"]], np.arange(400) % 2
    sd.report(Counted(0.0), rows(500, 0, 9.0), path=page, X_old=rows(400, 1), **QUIET)
    (said,) = summary(page)
    assert said.startswith("the mean prediction rose from ")
    assert said.endswith("because rows moved.")
    sd.report([Counted(0.0), Counted(9.0)], rows(400, 0), path=page, **QUIET)
    (said,) = summary(page)  # of the view of both models
    assert said.endswith("because the model changed.")
    classes = LogisticRegression().fit(X, y + (X["age"] > 60))
    report = sd.report(classes, X, path=page, X_old=X + 9.0, **QUIET)
    verdicts = [d["verdict"][0] for d in changed(report)["drifts"]]
    assert len(verdicts) == 3
    for said, verdict in zip(summary(page), verdicts, strict=True):
        assert said.split()[1:] == verdict.split()[1:]
    sd.report(Counted(0.0), rows(100, 0), path=page, **QUIET)
    assert not summary(page)


def test_what_is_not_compared(page):
    X = rows(300, 0)
    assert changed(sd.report(Counted(0.0), X, path=page, **QUIET)) == {"why_not": "", "drifts": []}
    assert "What changed" not in page.read_text(encoding="utf-8")
    three = {str(k): Counted(float(k)) for k in range(3)}
    assert changed(sd.report(three, X, path=page, **QUIET))["drifts"] == []
    said = changed(sd.report(three, X, path=page, X_old=X, **QUIET))["why_not"]
    assert "pass two models" in said
    assert said in page.read_text(encoding="utf-8")
    units = {u: sd.prediction(Counted(0.0), unit=u) for u in ("EUR", "USD")}
    assert "unit" in changed(sd.report(units, X, path=page, **QUIET))["why_not"]
    other = sd.report(Counted(0.0), X, path=page, X_old=X[["size", "age"]], **QUIET)
    assert "no column 'town'" in changed(other)["why_not"]
    with pytest.raises(sd.DataError, match="no X_old"):
        sd.report(Counted(0.0), X, path=page, y_old=X["age"], **QUIET)


def test_labels_of_older_rows_are_checked_before_the_work(page):
    old = Counted(0.0)
    with pytest.raises(sd.DataError, match="length 3, expected length 50"):
        sd.report(old, rows(100, 0), path=page, X_old=rows(50, 1), y_old=[1, 2, 3], **QUIET)
    assert old.rows == 0


def test_the_page_says_which_model_is_the_old_one(page):
    sd.report({"<b>first": Counted(0.0), "second": Counted(9.0)}, rows(300, 0), path=page, **QUIET)
    text = page.read_text("utf-8")
    assert "The old model is &lt;b&gt;first, the new one second." in text
