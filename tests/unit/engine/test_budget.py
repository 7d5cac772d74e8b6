"""What a call costs is announced before it is called for long, is never less than the truth, and is kept to a limit.

The model counts its rows. Time is a clock that only the model advances, so that estimates are the same on each machine.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

import skedasis as sd
from skedasis import _progress
from skedasis.engine import budget
from skedasis.engine.budget import LEAST_ROWS, LONG, rounded
from skedasis.models.calling import ChunkedCaller
from skedasis.trees.ensemble import TreesUnreadable

N, D = 300, 4
X = np.random.default_rng(0).normal(size=(N, D))
Y = X[:, 0] + np.random.default_rng(1).normal(size=N)
FOLDS = np.array_split(np.arange(N), 3)
OFF = {"progress": False}


class Slow:
    """A model that takes a time for each call and each row, on a clock that stands still otherwise."""

    def __init__(self, monkeypatch, function, row: float, call: float = 0.0):
        self.function, self.row, self.call = function, row, call
        self.rows, self.calls, self.now = 0, 0, 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def __call__(self, T):
        self.rows, self.calls = self.rows + len(T), self.calls + 1
        self.now += self.call + self.row * len(T)
        return self.function(T)


def smooth(T):
    """Return a function of which every feature interacts, so that no spread is saved."""
    T = np.asarray(T)
    return T[:, 0] * T[:, 1] + np.sin(T[:, 2]) * T[:, 3]


def steps(T):
    return np.floor(2 * T[:, 0]) * (T[:, 1] > 0) + np.floor(T[:, 2]) * (T[:, 3] > 0)


def gaussian(T):
    return T[:, 0] + T[:, 1], 0.5 + np.abs(T[:, 2])


CASES = {
    "one feature": (smooth, lambda f, **k: sd.explain(f, X, 0, **k)),
    "several features": (smooth, lambda f, **k: sd.explain(f, X, **k)),
    "steps": (steps, lambda f, **k: sd.explain(f, X, **k)),
    "ALE": (smooth, lambda f, **k: sd.explain(f, X, method="ale", **k)),
    "PDP": (smooth, lambda f, **k: sd.explain(f, X, method="pdp", **k)),
    "PFI": (smooth, lambda f, **k: sd.explain(f, X, method="pfi", **k)),
    "a pair": (smooth, lambda f, **k: sd.explain(f, X, (0, 1), **k)),
    "several models": (
        smooth,
        lambda f, **k: sd.explain([f, f], X, method="ale", refits=True, **k),
    ),
    "models to compare": (smooth, lambda f, **k: sd.explain([f, f], X, method="ale", **k)),
    "folds": (
        smooth,
        lambda f, **k: sd.explain([f] * 3, X, method="ale", cv=iter(FOLDS), **k),
    ),
    "regions": (smooth, lambda f, **k: sd.regions(f, X, **k)),
    "given regions": (smooth, lambda f, **k: sd.explain(f, X, [0, 1], by=3, **k)),
    "interactions": (smooth, lambda f, **k: sd.interactions(f, X, **k)),
    "variance shares": (smooth, lambda f, **k: sd.variance_shares(f, X, **k)),
    "SHAP dependence": (
        smooth,
        lambda f, **k: sd.shap_dependence(f, X, 0, background=40, max_rows=120, **k),
    ),
    "display": (
        smooth,
        lambda f, progress, **k: sd.EffectDisplay.from_estimator(
            sd.prediction(f), X, [0, (1, 2)], ax=Figure().subplots(2), **k
        ),
    ),
    "change": (smooth, lambda f, **k: sd.what_if(f, X, {0: 0.5}, **k)),
    "diagnosis": (gaussian, lambda f, **k: sd.diagnose(f, X, Y, dependence=False, **k)),
    "null distribution": (
        smooth,
        lambda f, **k: sd.null_distribution(lambda T, y: f, X, Y, n_repeats=3, method="ale", **k),
    ),
}


def said(call) -> tuple[object, list[str]]:
    """Return a result, and the warnings about its cost."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, [str(w.message) for w in caught if issubclass(w.category, sd.CostWarning)]


@pytest.mark.parametrize("case", CASES)
def test_a_long_call_is_announced_once_with_at_least_its_rows(case, monkeypatch):
    function, call = CASES[case]
    model = Slow(monkeypatch, function, 1.0)
    _, texts = said(lambda: call(model, **OFF))
    assert len(texts) == 1
    # By these words pyproject.toml ignores the announcement in all other tests, because it rests on the speed.
    assert texts[0].startswith("This call asks the model for up to ")
    rows = int(texts[0].split("up to ")[1].split(" rows")[0].replace(",", ""))
    # Regions and second rounds are decided by the first pass.
    most = {"regions": 2.2, "given regions": 2.2, "variance shares": 1.5, "several models": 1.25}
    assert model.rows <= rows <= most.get(case, 1.35) * model.rows


@pytest.mark.parametrize("case", ["several features", "PDP", "interactions"])
def test_a_short_call_is_not_announced(case, monkeypatch):
    function, call = CASES[case]
    assert said(lambda: call(Slow(monkeypatch, function, 1e-5), **OFF))[1] == []


def test_trees_that_are_not_called_are_not_announced(monkeypatch):
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, Y)
    monkeypatch.setattr(ChunkedCaller, "_costs", lambda self: (1.0, 1.0))
    found, texts = said(lambda: sd.explain(model, X, max_model_rows=10, **OFF))
    assert texts == []
    assert found.provenance["left_out"] == []


def test_the_announcement_comes_before_the_long_work(monkeypatch):
    model = Slow(monkeypatch, smooth, 0.1)
    seen = []

    def note(message, category, **_):
        seen.append(model.rows)

    monkeypatch.setattr(warnings, "warn", note)
    sd.explain(model, X, **OFF)
    assert seen == [128]
    assert model.rows > 10_000


def test_a_call_that_takes_long_by_itself_is_not_divided(monkeypatch):
    """Two seconds a call: 64 rows at a time would take 16 times as long."""
    model = Slow(monkeypatch, smooth, 1e-3, 2.0)
    found, _ = said(lambda: sd.explain(model, X, method="ale", heterogeneity_rows=0, **OFF))
    assert found.provenance["effect_calls"] <= D + 1


@pytest.mark.parametrize("share", [0.8, 0.5, 0.3])
@pytest.mark.parametrize("case", CASES)
def test_a_limit_is_kept_or_refused_before_the_first_call(case, share, monkeypatch):
    function, call = CASES[case]
    free = Slow(monkeypatch, function, 0.0)
    call(free, **OFF)
    limit = int(share * free.rows)
    model = Slow(monkeypatch, function, 0.0)
    try:
        _, texts = said(lambda: call(model, max_model_rows=limit, **OFF))
    except sd.DataError as error:
        assert model.rows == 0
        least = int(str(error).split("at least ")[1].split(" model rows")[0].replace(",", ""))
        assert least > limit
        # What it suggests can be done.
        _, texts = said(lambda: call(model, max_model_rows=least, **OFF))
        limit = least
    assert model.rows <= limit
    assert texts
    assert "max_model_rows" in texts[0]


LARGE = np.random.default_rng(2).normal(size=(3_000, D))
"""More rows than are drawn from data in chunks: 2,001 by default."""

OF_CHUNKS = {
    "explain": lambda f, T, **k: sd.explain(f, T, method="ale", **k),
    "regions": lambda f, T, **k: sd.regions(f, T, method="ale", **k),
    "interactions": lambda f, T, **k: sd.interactions(f, T, max_rows=50, **k),
}


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    """Return the large data as a file that is read in chunks."""
    path = tmp_path_factory.mktemp("data") / "rows.parquet"
    pl.DataFrame(LARGE, schema=list("abcd")).write_parquet(path)
    return path


@pytest.mark.parametrize("case", OF_CHUNKS)
def test_data_in_chunks_are_counted_at_the_rows_that_were_drawn(case, chunks, monkeypatch):
    model, call = Slow(monkeypatch, smooth, 0.02), OF_CHUNKS[case]
    _, texts = said(lambda: call(model, sd.parquet(chunks), heterogeneity_rows=1_000, **OFF))
    assert len(texts) == 1
    rows = int(texts[0].split("up to ")[1].split(" rows")[0].replace(",", ""))
    assert model.rows <= rows <= 2.2 * model.rows
    limit = int(0.6 * model.rows)
    model = Slow(monkeypatch, smooth, 0.0)
    said(lambda: call(model, sd.parquet(chunks), max_model_rows=limit, **OFF))
    assert 0 < model.rows <= limit


@pytest.mark.parametrize(("limit", "rows"), [(500, 185), (3_000, 1_403), (10_000, 3_000)])
def test_a_change_of_data_in_chunks_keeps_to_a_limit(limit, rows, chunks, monkeypatch):
    model = Slow(monkeypatch, smooth, 0.0)

    def change():
        return sd.what_if(model, sd.parquet(chunks), {"a": 0.5}, max_model_rows=limit, **OFF)

    if rows < LEAST_ROWS:
        with pytest.raises(sd.DataError, match="at least"):
            change()
        assert model.rows == 0
        return
    found, texts = said(change)
    assert model.rows <= limit
    assert found.n_rows == found.provenance["rows"] == rows
    assert len(texts) == len(found.provenance["left_out"]) == (rows < len(LARGE))


def test_data_in_chunks_are_opened_once_for_all_numbers_of_scored_rows(chunks, monkeypatch):
    opened, once = [], budget.open_rows

    def counted(*arguments):
        opened.append(arguments[4].sample)
        return once(*arguments)

    monkeypatch.setattr(budget, "open_rows", counted)
    said(lambda: sd.explain(smooth, sd.parquet(chunks), method="ale", max_model_rows=40_000, **OFF))
    assert opened.count(None) == 1
    assert len(opened) == len(set(opened)) < 10


TREES = {
    "explain": lambda m, **k: sd.explain(m, X, **k),
    "ALE": lambda m, **k: sd.explain(m, X, method="ale", **k),
    "regions": lambda m, **k: sd.regions(m, X, method="ale", **k),
    "interactions": lambda m, **k: sd.interactions(m, X, **k),
    "variance shares": lambda m, **k: sd.variance_shares(m, X, **k),
    "change": lambda m, **k: sd.what_if(m, X, {0: 0.5}, **k),
    "several models": lambda m, **k: sd.explain([m, m], X, method="ale", refits=True, **k),
    "models to compare": lambda m, **k: sd.explain([m, m], X, method="ale", **k),
    "regions to compare": lambda m, **k: sd.regions([m, m], X, 0, method="ale", **k),
    "regions of several": lambda m, **k: sd.regions([m, m], X, 0, method="ale", refits=True, **k),
}


class Trees(Slow):
    """Predictions of trees, which are read or called."""

    def __init__(self, monkeypatch, row: float):
        self.forest = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, Y)
        super().__init__(monkeypatch, self.forest.predict, row)
        monkeypatch.setattr(self.forest, "predict", self.__call__)


def refused(call) -> bool:
    """Return whether a call is refused for its limit of model rows; its warnings are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except sd.DataError as error:
            return str(error).startswith("max_model_rows")
    return False


@pytest.mark.parametrize("case", TREES)
def test_trees_that_are_called_on_demand_keep_to_a_limit(case, monkeypatch):
    call = TREES[case]
    free, model = Trees(monkeypatch, 0.0), Trees(monkeypatch, 0.0)
    call(free.forest, tree="off", **OFF)
    limit = int(0.9 * free.rows)
    if refused(lambda: call(model.forest, tree="off", max_model_rows=limit, **OFF)):
        assert model.rows == 0
    else:
        assert 0 < model.rows <= limit


@pytest.mark.parametrize("row", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("case", TREES)
def test_trees_that_cannot_be_read_are_refused_beyond_a_limit(case, row, monkeypatch):
    """It is known only after the check of the model, or its values, that it is called."""

    def unreadable(*arguments, **keywords):
        raise TreesUnreadable("an unknown version")

    monkeypatch.setattr("skedasis.trees.pipeline.read_forest", unreadable)
    model = Trees(monkeypatch, row)
    assert refused(lambda: TREES[case](model.forest, max_model_rows=700, **OFF))
    assert 0 < model.rows <= 700


SEVERAL = {
    "explain": lambda f, **k: sd.explain([f] * 3, X, method="ale", refits=True, **k),
    "comparison": lambda f, **k: sd.explain([f] * 3, X, method="ale", **k),
    "regions": lambda f, **k: sd.regions([f] * 3, X, method="ale", refits=True, **k),
    "null distribution": lambda f, **k: sd.null_distribution(
        lambda T, y: f, X, Y, columns=[0], n_repeats=3, method="ale", **k
    ),
}


@pytest.mark.parametrize("case", SEVERAL)
def test_several_models_share_a_limit_that_messages_and_provenances_state(case, monkeypatch):
    call = SEVERAL[case]
    model = Slow(monkeypatch, smooth, 0.0)
    with pytest.raises(sd.DataError, match="got 250, expected at least") as raised:
        call(model, max_model_rows=250, **OFF)
    assert model.rows == 0
    least = int(str(raised.value).split("at least ")[1].split(" model rows")[0].replace(",", ""))
    found, texts = said(lambda: call(model, max_model_rows=least, **OFF))
    assert model.rows <= least
    assert len(texts) == 1
    assert f"To keep to {least:,} model rows" in texts[0]
    assert found.provenance["max_model_rows"] == least
    assert found.provenance["left_out"]
    assert all(one in texts[0] for one in found.provenance["left_out"])


def test_scores_go_first_and_then_rows(monkeypatch):
    model = Slow(monkeypatch, smooth, 0.0)
    every = [
        said(lambda m=limit: sd.explain(model, X, method="ale", max_model_rows=m, **OFF))[0]
        for limit in (20_000, 8_500, 3_000, 2_200)
    ]
    provenances = [e.provenance for e in every]
    assert [p["left_out"] == [] for p in provenances] == [True, False, False, False]
    assert [p["rows"] for p in provenances][:3] == [N, N, N]
    assert LEAST_ROWS <= provenances[3]["rows"] < N
    scores = [p["score_rows"] for p in provenances]
    assert scores == sorted(scores, reverse=True)
    assert scores[2] == scores[3] == 0
    assert provenances[3]["exact"] is False


RECORDED = {
    "interactions": lambda f, **k: sd.interactions(f, X, max_model_rows=60_000, **k),
    "variance shares": lambda f, **k: sd.variance_shares(f, LARGE, max_model_rows=20_000, **k),
}


@pytest.mark.parametrize("case", RECORDED)
def test_the_provenance_says_what_the_warning_said(case, monkeypatch):
    found, texts = said(lambda: RECORDED[case](Slow(monkeypatch, smooth, 0.0), **OFF))
    assert len(texts) == 1
    assert f"{found.provenance['max_model_rows']:,} model rows" in texts[0]
    assert texts[0].endswith(" ".join(found.provenance["left_out"]))
    assert found.provenance["left_out"]


def test_the_bar_covers_all_the_work(monkeypatch):
    """Once the work is foreseen, each part of it goes on where the one before ended, in model rows."""
    monkeypatch.setattr(_progress, "_DELAY", -1.0)
    opened = []
    close = _progress.Progress.close

    def closed(self):
        opened.append((self._work.expected, self._shown[0]))
        close(self)

    monkeypatch.setattr(_progress.Progress, "close", closed)
    model = Slow(monkeypatch, smooth, LONG / 1_000)
    said(lambda: sd.explain(model, X, method="ale", progress=True))
    totals, ends = zip(*opened, strict=True)
    assert len(opened) >= 3
    assert len(set(totals)) == 1
    assert list(ends) == sorted(ends)
    assert 0.75 * totals[0] <= ends[-1] == model.rows <= totals[0]


def test_rows_are_rounded_up():
    assert [rounded(n) for n in (0, 7, 999, 1_001, 123_401)] == [
        "0",
        "7",
        "999",
        "1,010",
        "124,000",
    ]
