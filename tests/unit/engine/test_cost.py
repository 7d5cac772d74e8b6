"""Model rows that a pass asks for, counted from its plan, against those that it spends."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.engine.budget import COUNTED, count_rows, count_rows_of
from skedasis.engine.heterogeneity_score import count_score_rows
from skedasis.engine.options import ExplainOptions
from skedasis.engine.prepare import Job, prepare
from skedasis.engine.rounds import compute
from skedasis.quantities.outputs import as_quantity
from tests.helpers import paired

METHODS = {"ALE": sd.ALE(), "PDP": sd.PDP(), "MPlot": sd.MPlot()}


class Counter:
    """A model that counts the rows at which it is called."""

    def __init__(self, function):
        self.function, self.rows = function, 0

    def __call__(self, X):
        self.rows += len(X)
        return self.function(X)


def normal(n: int, d: int = 4) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def gaps(n: int) -> np.ndarray:
    X = normal(n)
    X[:, 3] = np.random.default_rng(1).integers(0, 5, n)
    X[::9, 1] = np.nan
    return X


def frame(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": pd.Categorical(rng.choice(list("abcd"), n)),
            "c": rng.integers(0, 100, n),
        }
    )


def of_frame(X: pd.DataFrame) -> np.ndarray:
    return X["a"].to_numpy() * X["c"].to_numpy() + (X["b"] == "a").to_numpy()


CASES = {
    "smooth": (lambda X: X[:, 0] * X[:, 1] + np.sin(X[:, 2]), normal(700)),
    "missing values and few values": (
        lambda X: np.nan_to_num(X[:, 0] * X[:, 1]) + X[:, 3],
        gaps(700),
    ),
    "steps": (lambda X: np.floor(3 * X[:, 0]) + X[:, 1], normal(700)),
    "levels and integers": (of_frame, frame(700)),
    "more rows than are counted": (lambda X: X[:, 0] * X[:, 1], normal(2 * COUNTED + 100, 2)),
}


def prepared(function, X) -> tuple[Job, Counter]:
    model = Counter(function)
    return prepare(as_quantity(model), X, None, None, ExplainOptions()), model


@pytest.mark.parametrize("case", CASES)
def test_the_count_of_the_main_pass_is_what_it_spends_and_calls_no_model(case):
    """The rows are counted by the model itself; only checks of slopes come on top, of which provenances tell."""
    ready, model = prepared(*CASES[case])
    before = model.rows
    counted, scores = count_rows(ready), count_score_rows(ready)
    assert model.rows == before
    checks = ready.checked.stats.rows
    done = compute(ready)
    model_rows = sum(count.model for count in counted.values())
    later = sum(count.later for count in counted.values())
    spent = model.rows - before - (done.job.checked.stats.rows - checks)
    # Where a score is zero, no curves are evaluated for its spread.
    idle = sum(score.value == 0 for score in done.scores.found.values())
    least = scores - idle * min(4000, 4 * len(ready.dataset))
    assert least <= done.scores.stats.rows <= scores
    assert (done.scores.stats.rows == scores) == (idle == 0)
    spread = done.scores.stats.rows
    assert model_rows + spread <= spent <= model_rows + later + spread
    if case not in ("steps", "missing values and few values"):
        assert later == 0  # so the count is exact


@pytest.mark.parametrize(("case", "name"), paired(CASES, METHODS))
def test_the_count_of_another_method_is_what_it_spends(case, name):
    function, X = CASES[case]
    ready, model = prepared(function, X)
    names, before = [t.key for t in ready.tasks], model.rows
    counted = count_rows_of(ready, METHODS[name], names)
    assert model.rows == before
    assert list(counted) == names
    spent = sd.explain(function, X, method=METHODS[name], heterogeneity_rows=0).provenance
    assert sum(c.model for c in counted.values()) == spent["effect_rows"]


def test_outputs_of_one_model_share_its_rows():
    from sklearn.linear_model import LogisticRegression

    X = normal(200)
    labels = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    model = LogisticRegression().fit(X, labels)
    every = sd.probability(model, class_="all")
    slopes = sd.RHALE(local_effects="slopes")  # no slopes are replaced, which would cost more
    job = prepare(every, X, None, slopes, ExplainOptions())
    done = sd.explain(every, X, method=slopes, heterogeneity_rows=0)
    record = next(iter(done.values())).provenance
    counted = count_rows(job).values()
    assert sum(c.slope for c in counted) == record["slope_rows"] > 0
    assert sum(c.model for c in counted) == record["effect_rows"]
    pdp = sd.explain(every, X, method=sd.PDP(), heterogeneity_rows=0)
    counted = count_rows_of(job, sd.PDP(), ["x0", "x1"]).values()
    assert 2 * sum(c.model for c in counted) == next(iter(pdp.values())).provenance["effect_rows"]


def test_a_method_that_needs_derivatives_is_not_planned_without_the_model():
    job = prepared(*CASES["smooth"])[0]
    with pytest.raises(TypeError, match="derivatives"):
        count_rows_of(job, sd.RHALE(), ["x0"])
