"""Tree evaluation gives the same results as calling the model: every quantity, importance, missing values, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.reference.tree_cases import (
    METHODS,
    WEIGHTS,
    alike,
    grown,
    number,
    plain,
    singles,
    turns,
    with_missing,
)

# ------------------------------------------------------------------------------------ quantities

QUANTITIES: dict[str, tuple[str, Any]] = {
    "probability of all": ("forest 3", lambda m: sd.probability(m, "all")),
    "probability of all, softmax": ("boosting 3", lambda m: sd.probability(m, "all")),
    "probability of all, lightgbm": ("lightgbm 3", lambda m: sd.probability(m, "all")),
    "probability of the first": ("forest 2", lambda m: sd.probability(m, 3)),
    "logit": ("boosting 2", sd.logit),
    "logit of the first": ("histograms 2", lambda m: sd.logit(m, 3)),
    "logit of three": ("lightgbm 3", lambda m: sd.logit(m, "all")),
    "logit of votes": ("shallow", sd.logit),
    "entropy": ("histograms 3", sd.entropy),
    "entropy in bits, forest": ("forest 2", lambda m: sd.entropy(m, base=2)),
    "likelihood": ("boosting 3", sd.nll),
    "likelihood, forest": ("forest 3", sd.nll),
    "log loss": ("lightgbm 2", lambda m: sd.loss(m, "log_loss")),
    "squared loss": ("boosting", sd.loss),
    "absolute loss": ("lightgbm", lambda m: sd.loss(m, "absolute_error")),
    "pinball": ("histograms", lambda m: sd.loss(m, "pinball", alpha=0.8)),
    "brier": ("forest 2", lambda m: sd.loss(sd.probability(m), "squared_error")),
    "zero-one": ("boosting 3", lambda m: sd.loss(m, "zero_one")),
    "zero-one of votes": ("forest 2", lambda m: sd.loss(m, "zero_one")),
    "own loss": ("boosting", lambda m: sd.loss(m, lambda y, p: np.abs(y - p) ** 1.5)),
    "all outputs": ("two outputs", lambda m: sd.prediction(m, output="all")),
    "last output": ("two outputs", lambda m: sd.prediction(m, output=-1)),
    "named outputs": ("two outputs", lambda m: sd.prediction(m, output=["one", "two"])),
    "predict": ("histograms", lambda m: sd.prediction(m.predict)),
    "predict_proba": ("forest 3", lambda m: sd.prediction(m.predict_proba, output=2)),
    "predict_proba, all": ("boosting 3", lambda m: sd.prediction(m.predict_proba, output="all")),
    "probability of a function": ("forest 3", lambda m: sd.probability(m.predict_proba, 1)),
    "labels": ("forest 3", lambda m: sd.prediction(m.predict)),
    "scores": ("isolation", lambda m: sd.prediction(m.score_samples)),
    "decisions": ("isolation", lambda m: sd.prediction(m.decision_function)),
    "inside or outside": ("isolation", lambda m: sd.prediction(m.predict)),
    "log odds": ("boosting 2", lambda m: sd.prediction(m.decision_function)),
    "log odds of all": ("histograms 3", lambda m: sd.prediction(m.decision_function, output="all")),
}


@pytest.mark.parametrize(
    ("name", "method"),
    turns(
        QUANTITIES, ["ale", "pdp", "pdp alone", "pfi"], "logit", "entropy", "likelihood", "pinball"
    ),
)
def test_every_quantity(name: str, method: str) -> None:
    case, make = QUANTITIES[name]
    model, X, y = grown(case)
    chosen = sd.PFI(n_repeats=2, local="all") if method == "pfi" else METHODS[method]
    y = number(X) if case == "isolation" or case == "two outputs" else y
    alike(make(model), X, method=chosen, y=y)


def test_votes_that_are_tied_stay_tied() -> None:
    # Ten trees of full depth vote with tenths, which floats cannot represent exactly. With five votes each, the first
    # class wins, before and after a column is replaced; a rounding error would let the second one win.
    model, X, y = grown("forest 2")
    mixed = np.stack([np.roll(X[:, j], j) for j in range(X.shape[1])], axis=1)
    assert (model.predict_proba(mixed)[:, 0] == 0.5).sum() > 3
    labels_ = sd.prediction(lambda X: model.classes_[model.predict_proba(X).argmax(axis=1)])
    for method in (sd.PDP(grid=20), sd.ALE(), sd.PFI(n_repeats=3)):
        walked = sd.explain(sd.prediction(model.predict), X, method=method, tree="force")
        called = sd.explain(labels_, X, method=method)
        for one, other in zip(singles(walked), singles(called), strict=True):
            attribute = "values" if hasattr(one, "values") and hasattr(one, "baseline") else "value"
            np.testing.assert_allclose(
                getattr(one, attribute), getattr(other, attribute), rtol=0, atol=1e-13
            )
    alike(sd.loss(model, "zero_one"), X, y=y, method=sd.PFI(n_repeats=3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "metric"), [("forest 2", "average_precision"), ("boosting 2", "roc_auc")]
)
def test_rows_in_the_same_leaves_stay_tied(case: str, metric: str) -> None:
    # Metrics that depend on the order of rows would see a difference of 1e-17 between two equal predictions.
    model, X, y = grown(case)
    alike(sd.probability(model), X, y=y, method=sd.PFI(n_repeats=3, metric=metric))


def test_a_share_of_all_votes_is_one() -> None:
    # The log odds of 1 raise an error. They are not 36, as they would be if tenths summed to 1 - 1e-16.
    from sklearn.ensemble import RandomForestClassifier

    x = np.linspace(0.0, 1.0, 40)[:, None]
    model = RandomForestClassifier(10, random_state=0).fit(x, x[:, 0] > 0.5)
    p = model.predict_proba(x)[:, 1]
    # Hundreds of rows, of which one has probability 1 and is not among the rows that are checked.
    many = np.repeat(x[(p > 0) & (p < 1)], 200, axis=0)
    looked_at = np.linspace(0, len(many) - 1, 64).astype(int)
    place = next(i for i in range(100, 200) if i not in looked_at)
    many[place] = x[int(np.flatnonzero(p == 1.0)[0])]
    for tree in ("off", "force"):
        with pytest.raises(sd.ModelOutputError, match=f"0 or 1 for 1 of {len(many)} rows"):
            sd.explain(sd.logit(model), many, 0, method=sd.MPlot(bins=3), tree=tree)


def test_a_row_on_the_border_is_inside() -> None:
    from sklearn.ensemble import IsolationForest

    # The border is the score of a row: a tenth of 180 steps is a whole number.
    X = np.random.default_rng(0).normal(size=(181, 2))
    for seed in range(4):
        model = IsolationForest(n_estimators=7, contamination=0.1, random_state=seed).fit(X)
        assert (model.decision_function(X) == 0.0).sum() == 1
        alike(sd.prediction(model.predict), X, method=sd.MPlot(bins=4))
        alike(sd.prediction(model.predict), X, method=sd.PFI(n_repeats=2))


# -------------------------------------------------------------------------------------------- PFI

SHUFFLED: dict[str, dict[str, Any]] = {
    "n_repeats": {"n_repeats": 4, "local": "all"},
    "groups": {"groups": {"pair": [0, 1], "rest": [2, 3, 4]}, "n_repeats": 3},
    "exact": {"exact": True},
    "conditional": {"conditional": True, "n_repeats": 2},
    "part": {"max_samples": 0.5, "n_repeats": 2},
    "metric": {"metric": lambda y, p: float(np.corrcoef(y, p)[0, 1]), "n_repeats": 2},
}


@pytest.mark.parametrize(
    ("how", "case"), turns(SHUFFLED, ["boosting", "histograms", "lightgbm"], *SHUFFLED)
)
def test_importance(how: str, case: str) -> None:
    model, X, y = grown(case)
    n = 40 if how == "exact" else len(X)
    about = model if how == "metric" else sd.loss(model)
    alike(about, X[:n], y=y[:n], method=sd.PFI(**SHUFFLED[how]))


@pytest.mark.parametrize("how", ["n_repeats", "groups"])
def test_importance_with_weights(how: str) -> None:
    model, X, y = grown("boosting")
    alike(sd.loss(model), X, y=y, method=sd.PFI(**SHUFFLED[how]), sample_weight=WEIGHTS)
    alike(sd.loss(model), X, y=y, method=sd.PFI(**SHUFFLED[how]), row_id=np.arange(len(X))[::-1])


# ------------------------------------------------------------------------------- missing values


@pytest.mark.parametrize("case", ["forest", "histograms", "lightgbm"])
def test_points_of_missing_values(case: str) -> None:
    _, X, _ = grown(case)
    for method in (METHODS["ale"], METHODS["pdp"], METHODS["pdp alone"]):
        found = alike(plain(case), X, method=method)
        assert all(e.missing_point is not None for e in found.values())
        assert max(abs(e.missing_point.effect) for e in found.values()) > 1e-3


@pytest.mark.parametrize("case", ["monotone", "lightgbm 3"])
def test_missing_values_that_the_model_has_not_seen(case: str) -> None:
    X = with_missing(grown(case)[1], 0.3, seed=6)
    alike(plain(case), X, method=sd.PDP(grid=6))
    alike(plain(case), X, method=sd.ALE(bins=6))
