"""What a report asks of a model: announced before it is called for long, equal to what it spends, kept to a limit.

The model counts the rows at which it is called. Time is a clock that only the model advances, so that estimates are the
same on each machine.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skedasis as sd
from skedasis.errors import CostWarning
from skedasis.models.calling import CallStats
from skedasis.report import budget, content
from skedasis.report.budget import NO_CUTS, Budget, Cuts, Demand
from skedasis.report.code import called_points
from skedasis.report.content import ReportContent, gather
from skedasis.trees.ensemble import TreesUnreadable

ROWS, FEW = 400, 16_000
"""Rows of the table, and a limit of the model rows with which only a sample of them is on the page."""


class Slow:
    """A model that takes a given time for each row, on a clock that stands still otherwise."""

    def __init__(self, monkeypatch, seconds: float, function=None, call: float = 0.0):
        self.seconds, self.call, self.rows, self.now = seconds, call, 0, 0.0
        self.function = function or (lambda X: X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 3])
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def __call__(self, X):
        self.rows += len(X)
        self.now += self.call + self.seconds * len(X)
        return self.function(X)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, 4))


@pytest.fixture
def chosen(monkeypatch) -> list[Budget]:
    """Return a list to which budgets are added when they are made."""
    found: list[Budget] = []
    made = content._budget

    def remembered(*arguments):
        found.append(made(*arguments))
        return found[-1]

    monkeypatch.setattr(content, "_budget", remembered)
    return found


def build(model, X, **keywords) -> tuple[ReportContent, list[str]]:
    """Return the content of a report, and the warnings about its cost."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = gather(model, X, progress=False, **keywords)
    return found, [str(w.message) for w in caught if issubclass(w.category, CostWarning)]


def spent(found: ReportContent) -> int:
    """Return the rows of the provenances, without those of checks."""
    names = "effect_rows", "slope_rows", "score_rows", "region_score_rows"
    passes = [p.provenance for one in found.sections for p in one.passes]
    return sum(int(p.get(name, 0)) for p in passes for name in names)


def idle(found: ReportContent) -> int:
    """Return the most rows that are announced and not asked for: spreads of features without a score, and points."""
    effects = [e for one in found.sections for e in one.rhale.values()]
    return sum(4 * ROWS for e in effects if e.heterogeneity_score == 0) + ROWS * coinciding(found)


def coinciding(found: ReportContent) -> int:
    """Return the points of grids that are announced, and coincide with others: percentiles that are quantiles, too."""
    grids = [(e.spec.parameters["grid"], e) for one in found.sections for e in one.pdp.values()]
    announced = [12 * len(grid) + 3 * 38 for grid, _ in grids if grid][:1]
    return sum(announced) - sum(len(e.axis) for grid, e in grids if grid)


def checks(found: ReportContent) -> int:
    return sum(int(p.provenance.get("check_rows", 0)) for one in found.sections for p in one.passes)


# ------------------------------------------------------------------------------- announcements
def test_a_slow_model_is_announced_once_and_the_rows_are_its_own(X, monkeypatch, chosen):
    """Without regions and pairs, nothing is left to the first pass: the rows are those of the model, one for one."""
    model = Slow(monkeypatch, 1e-3)
    found, said = build(model, X, regions=False, pairs=0, uncertainty=False)
    (one,) = chosen
    assert spent(found) <= one.model_rows <= spent(found) + idle(found)
    assert model.rows == spent(found) + checks(found)
    assert len(said) == 1
    assert f"up to {one.model_rows:,.3g}"[:5] in said[0]
    assert "max_seconds=" in said[0]
    # The clock is the model's: the estimate is the time of the rows and of at most as many checks.
    assert 1e-3 * model.rows * 0.9 <= one.seconds <= 1.1e-3 * (model.rows + idle(found))
    assert one.left_out == found.remarks == ()


@pytest.mark.slow
def test_a_fast_model_is_not_announced_measured_or_counted(X, monkeypatch, chosen):
    monkeypatch.setattr(budget, "_counted", None)  # would raise if it were called
    found, said = build(Slow(monkeypatch, 1e-6), X)
    assert said == []
    assert not any("measurement" in p.provenance["method"] for p in found.sections[0].passes)
    assert chosen[0].seconds < 1.0


@pytest.mark.parametrize("classes", [False, True])
def test_trees_ask_for_nothing_but_probabilities(X, monkeypatch, chosen, classes):
    """At a second per row, a model called for more than its predictions would be far beyond."""
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(max_iter=5).fit(X, X[:, 0] > 0 if classes else X[:, 0])
    monkeypatch.setattr(
        "skedasis.models.calling.ChunkedCaller.seconds_per_row", property(lambda self: 1.0)
    )
    found, _ = build(model, X)
    assert chosen[0].model_rows == (ROWS if classes else 0) == spent(found)


def test_the_quality_of_trees_is_that_of_the_model(X):
    y = X[:, 0] * X[:, 1] + np.random.default_rng(1).normal(size=ROWS)
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    section = gather(model, X, y, progress=False).sections[0]
    assert section.quality["R²"] == pytest.approx(model.score(X, y), rel=1e-12)


def test_the_time_is_that_of_large_calls(X, monkeypatch, chosen):
    """A call costs the same whatever its size: calls of the 64 rows of the checks would seem to take long per row."""
    model = Slow(monkeypatch, 0.0)

    def of_calls(T):
        model.now += 0.05
        return T[:, 0] + T[:, 1]

    model.function = of_calls
    build(model, X, regions=False, pairs=0)
    (demand,) = chosen[0].demands
    assert demand.seconds_per_call == pytest.approx(0.05)
    assert demand.seconds_per_row == pytest.approx(0.0, abs=1e-9)


# ---------------------------------------------------------------------------------- max_seconds
@pytest.mark.parametrize(
    "seconds",
    [60, pytest.param(30, marks=pytest.mark.slow), 20],
)
def test_a_limit_is_kept_and_what_it_costs_is_said(X, monkeypatch, chosen, seconds):
    model = Slow(monkeypatch, 1e-3)
    found, said = build(model, X, max_seconds=seconds)
    section, (one,) = found.sections[0], chosen
    assert said == []
    assert model.now <= seconds * 1.05
    assert spent(found) <= one.model_rows
    assert set(one.left_out) <= set(found.remarks)
    assert f"within {seconds} seconds" in one.left_out[0]
    record = section.passes[-1].provenance
    assert record["max_seconds"] == seconds
    assert record["left_out"] == list(one.left_out)
    # All that is not named is there.
    assert (
        list(section.rhale)
        == list(section.ale)
        == list(section.mplot)
        == [f"x{j}" for j in range(4)]
    )
    assert list(section.checks) == list(section.rhale)


@pytest.mark.slow
def test_the_least_needed_is_left_out_first(X, monkeypatch, chosen):
    """With ever less time, no part comes back that was left out."""
    found = [build(Slow(monkeypatch, 1e-3), X, max_seconds=s)[0] for s in (400, 115, 75, 25, 17)]
    curves = [len(c.sections[0].pdp) for c in found]
    surfaces = [len(c.sections[0].interactions.surfaces) for c in found]
    rows = [c.rows for c in found]
    assert chosen[0].left_out == ()
    assert curves == sorted(curves, reverse=True)
    assert surfaces == sorted(surfaces, reverse=True)
    assert rows == sorted(rows, reverse=True)
    assert (curves[0], curves[-1]) == (4, 0)
    assert 0 < curves[2] < 4
    assert rows[0] == ROWS > rows[-1] >= budget.LEAST_ROWS


@pytest.mark.parametrize(
    ("row", "call", "shape"),
    [
        (1e-4, 0.0, (300, 5)),
        (5e-3, 0.0, (300, 5)),
        (2e-2, 0.0, (250, 3)),
        (1e-3, 0.05, (300, 6)),
    ],
)
def test_a_limit_of_time_is_kept_or_refused_after_32_rows(row, call, shape, monkeypatch):
    """The least that a refusal names is enough."""
    X = np.random.default_rng(1).normal(size=shape)
    model = Slow(monkeypatch, row, lambda T: T[:, 0] * T[:, 1] + np.sin(T[:, 2]), call=call)
    with pytest.raises(sd.DataError, match=r"report\(max_seconds\)") as refused:
        build(model, X, max_seconds=1)
    assert model.rows <= 32
    least = int(str(refused.value).split("at least ")[1].split(" seconds")[0])
    for seconds in (least, 3 * least):
        start = model.now
        found, _ = build(model, X, max_seconds=seconds)
        assert model.now - start <= 1.2 * seconds
        assert found.rows >= budget.LEAST_ROWS
        assert found.remarks


@pytest.mark.parametrize("share", [0.7, 0.4, 0.2])
def test_a_limit_of_rows_is_kept_or_refused_before_the_first_call(X, monkeypatch, share):
    free = Slow(monkeypatch, 0.0)
    build(free, X)
    model, limit = Slow(monkeypatch, 0.0), int(share * free.rows)
    found, _ = build(model, X, max_model_rows=limit)
    assert model.rows <= limit
    assert f"To keep to {limit:,} model rows" in found.remarks[0]
    refused = Slow(monkeypatch, 0.0)
    with pytest.raises(sd.DataError, match="max_model_rows"):
        build(refused, X, max_model_rows=500)
    assert refused.rows == 0


def test_a_page_of_limited_rows_is_announced_once_if_it_takes_long(X, monkeypatch):
    slow, limit = Slow(monkeypatch, 0.05), 20_000
    _, texts = build(slow, X, max_model_rows=limit)
    assert len(texts) == 1
    rows = int(texts[0].split("up to ")[1].split(" rows")[0].replace(",", ""))
    assert 0.7 * slow.rows <= rows <= limit
    assert build(Slow(monkeypatch, 1e-5), X, max_model_rows=limit)[1] == []


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("count", [2, 4])
def test_the_uncertainty_of_a_classifier_costs_at_most_what_is_counted(
    X, count, labelled, monkeypatch, chosen
):
    X, y = X[:300, :count], (X[:300, 0] * X[:300, 1] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    predicted = Slow(monkeypatch, 0.0, model.predict_proba)
    monkeypatch.setattr(model, "predict_proba", predicted.__call__)
    rows = []
    for uncertainty in (False, True):
        predicted.rows = 0
        labels = y if labelled else None
        build(model, X, y=labels, uncertainty=uncertainty, max_model_rows=10**7)
        rows.append(predicted.rows)
    (demand,) = chosen[-1].demands
    assert rows[1] - rows[0] <= demand.uncertainty <= 1.5 * (rows[1] - rows[0])
    assert rows[1] <= chosen[-1].rows


@pytest.mark.parametrize("tree", ["off", "auto"])
@pytest.mark.parametrize("seconds", [0.0, 1e-5, 0.05])
def test_trees_that_are_called_keep_to_a_limit(X, monkeypatch, chosen, seconds, tree):
    """With "auto", it is known only after the check of the model."""

    def unreadable(*arguments, **keywords):
        raise TreesUnreadable("an unknown version")

    monkeypatch.setattr("skedasis.trees.pipeline.read_forest", unreadable)
    forest = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, X[:, 0] * X[:, 1])
    model = Slow(monkeypatch, seconds, forest.predict)
    monkeypatch.setattr(forest, "predict", model.__call__)
    build(forest, X, max_model_rows=FEW, tree=tree)
    assert 2_000 < model.rows <= FEW
    (demand,) = chosen[-1].demands
    # Checks of the model, before and after the choice, and measurements of its time count too.
    assert demand.checks >= 2 * 64 + demand.measured.rows


def test_named_rows_labels_and_weights_survive_a_sample(X, monkeypatch):
    weight = np.ones(ROWS)
    weight[:50] = 0.0
    found, _ = build(
        Slow(monkeypatch, 0.0),
        X,
        y=X[:, 0],
        max_model_rows=FEW,
        rows=[399, 60],
        by=np.where(X[:, 3] > 0, "high", "low"),
        sample_weight=weight,
    )
    section = found.sections[0]
    assert [r.position for r in section.given_rows] == [399, 60]
    assert section.quality is not None
    assert len(section.cohorts) == 2
    assert budget.LEAST_ROWS <= found.rows < 300
    # The code is about the caller's rows and weights, not about a sample that has no name.
    assert "sample_weight=sample_weight" in section.code["main", "x0"]


def test_code_does_not_name_weights_that_the_caller_does_not_have(X, monkeypatch):
    found, _ = build(Slow(monkeypatch, 0.0), X, max_model_rows=FEW)
    assert "sample_weight" not in section_code(found)


def section_code(found: ReportContent) -> str:
    return " ".join(found.sections[0].code.values())


def test_the_uncertainty_goes_first(X, monkeypatch, chosen):
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, X[:, 0])
    monkeypatch.setattr(content, "timed", lambda *_: (0.0, 1e-3, CallStats(rows=30, calls=2)))
    whole, _ = build(model, X, max_seconds=1_000)
    assert whole.sections[0].uncertainty is not None
    needed = chosen[0].seconds - 1e-3 * chosen[0].demands[0].uncertainty
    found, _ = build(model, X, max_seconds=needed + 20)
    section = found.sections[0]
    assert section.uncertainty is None
    assert "max_seconds" in section.reasons["uncertainty"]
    assert found.remarks[-1] == "The predictive uncertainty is left out."
    assert len(section.pdp) == 4


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "60", True, [60]])
def test_wrong_limits_are_refused_before_the_model_is_called(X, seconds):
    def never(T):
        raise AssertionError("called")

    with pytest.raises(sd.DataError, match=r"report\(max_seconds\)"):
        gather(never, X, max_seconds=seconds, progress=False)


# ------------------------------------------------------------------------------------- arithmetic
def demand(**parts) -> Demand:
    known = {
        "rows": 1_000,
        "score_rows": 1_000,
        "seconds_per_row": 1e-3,
        "parts": {"main effects": 5_000.0},
        "scores": 4_000.0,
        "pdp": {"a": 50_000.0, "b": 10_000.0},
        "surface": 4_000.0,
        "surfaces": 2,
        "uncertainty": 30_000.0,
    }
    return Demand(**{**known, **parts})


def test_the_order_of_cuts_by_hand():
    """5 + 4 s are the least; PDP 60 s, of which the larger one counts first; surfaces 4 s each; uncertainty 30 s."""
    one = Budget((demand(),))
    assert one.seconds == pytest.approx(107)
    assert one.choose(107, 2) == NO_CUTS
    assert one.choose(106, 2) == Cuts(uncertainty=False)
    assert one.choose(76, 2) == Cuts(uncertainty=False, surfaces=1)
    assert one.choose(69, 2) == Cuts(uncertainty=False, surfaces=0)
    assert one.choose(68, 2) == Cuts(uncertainty=False, surfaces=0, pdp_features=1)
    assert one.choose(58, 2) == Cuts(uncertainty=False, surfaces=0, pdp_features=0)
    assert one.choose(8, 2) == Cuts(uncertainty=False, surfaces=0, pdp_features=0, score_rows=500)
    # 5 s of effects for all rows, without scores: of r rows, 5 r / 1000.
    assert one.choose(5, 2).score_rows == 0
    assert one.choose(5, 2).rows is None
    assert 0.98 * 600 <= one.choose(3, 2).rows <= 600
    assert one.choose(0.01, 2).rows == budget.LEAST_ROWS


# ----------------------------------------------------------------------------------------- ignore
@pytest.mark.slow
def test_ignored_checks_are_left_out_of_the_page(X):
    def function(T):
        return T[:, 0] * T[:, 1]

    plain = gather(function, X[:60], heterogeneity_rows=20, progress=False).sections[0]
    codes = {check.code for found in plain.checks.values() for check in found}
    assert codes
    code = min(codes)
    bare = gather(function, X[:60], heterogeneity_rows=20, ignore=code, progress=False).sections[0]
    left = {check.code for found in bare.checks.values() for check in found}
    assert left == codes - {code}
    where = next(n for n, found in plain.checks.items() if any(c.code == code for c in found))
    of_one = gather(
        function, X[:60], heterogeneity_rows=20, ignore={where: code}, progress=False
    ).sections[0]
    assert code not in {check.code for check in of_one.checks[where]}
    others = [n for n in plain.checks if n != where]
    for name in others:
        assert [c.code for c in of_one.checks[name]] == [c.code for c in plain.checks[name]]


@pytest.mark.parametrize("ignore", ["no_such_code", ["few_rows", 3], {"zz": "few_rows"}, 5])
def test_wrong_codes_are_refused_before_the_model_is_called(X, ignore):
    def never(T):
        raise AssertionError("called")

    with pytest.raises(sd.DataError, match=r"report\(ignore\)"):
        gather(never, X, ignore=ignore, progress=False)


# ------------------------------------------------------------------------------- rows of the parts
def test_points_go_to_the_features_with_the_largest_effects():
    assert called_points({"a": 3.0}) == {"a": 50}
    assert called_points(dict.fromkeys("abc", 1.0)) == dict.fromkeys("abc", 50)
    assert called_points({"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0}) == {
        "a": 50, "b": 38, "c": 37, "d": 37,
    }  # fmt: skip
    for sizes in ([5.0, 1, 1, 1, 1], [1.0] * 20, [0.0] * 7, [1e-300, 1e300, 1.0, 2.0]):
        found = called_points({str(k): s for k, s in enumerate(sizes)})
        assert min(found.values()) >= 12
        assert max(found.values()) <= 50
        assert sum(found.values()) == 12 * len(sizes) + 3 * 38
        points = [found[str(k)] for k in np.argsort(-np.array(sizes), kind="stable")]
        assert points == sorted(points, reverse=True)


def test_a_page_of_twenty_features_calls_the_model_sparingly(monkeypatch):
    """A page of effector asks for 240,400 rows."""
    # Calls take no time, so that none is divided because it lasts too long.
    monkeypatch.setattr("skedasis.models.calling.time.perf_counter", lambda: 0.0)
    X = np.random.default_rng(0).normal(size=(ROWS, 20))
    rows, seen = list[int](), list[bytes]()

    def function(T):
        rows.append(len(T))
        seen.append(T.tobytes())
        return T[:, 0] * T[:, 1] + np.sin(2 * T[:, 2]) + T[:, 3] * (T[:, 4] > 0) + T[:, 5:].sum(1)

    found = gather(function, X, progress=False).sections[0]
    points = [len(effect.axis) for effect in found.pdp.values()]
    assert sum(points) <= 12 * 20 + 3 * 38
    assert sum(rows) <= 240_000
    assert len(rows) <= 30
    assert seen.count(X.tobytes()) == 1
    # The model is checked once, before the first pass.
    checks = [p.provenance["check_calls"] for p in found.passes if "check_calls" in p.provenance]
    assert checks[0] > 0 == sum(checks[1:])


def test_pdps_of_trees_have_all_points(X):
    y = X[:, 0] * X[:, 1] + X[:, 2]
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    found = gather(model, X, progress=False).sections[0]
    assert [len(effect.axis) for effect in found.pdp.values()] == [50] * 4
