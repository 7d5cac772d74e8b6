"""A user's program, as type checkers see it: what everything gives is said, and checked by pyright in strict mode.

It also runs, for what is only said to be a type may be another.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any, assert_type

import narwhals.selectors as nws
import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor  # pyright: ignore[reportMissingTypeStubs]
from sklearn.linear_model import LinearRegression  # pyright: ignore[reportMissingTypeStubs]
from sklearn.model_selection import (  # pyright: ignore[reportMissingTypeStubs]
    GridSearchCV,
    KFold,
)
from sklearn.pipeline import Pipeline  # pyright: ignore[reportMissingTypeStubs]

import skedasis as sd

Numbers = NDArray[np.float64]


class Line:
    """A model as scikit-learn's are: it has been fitted, and predicts."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def predict(self, X: Numbers) -> Numbers:
        return self.slope * X[:, 0] + X[:, 1] * X[:, 2]


class Classes:
    """A classifier."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X: Numbers) -> NDArray[np.str_]:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Numbers) -> Numbers:
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.stack([1 - p, p], axis=1)


def curved(X: Numbers) -> Numbers:
    return X[:, 0] ** 2 + X[:, 1]


def rows(n: int = 200) -> tuple[Numbers, Numbers]:
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 3))
    return X, X[:, 0] + X[:, 1]


def methods_and_bins(X: Numbers) -> None:
    assert_type(sd.explain(curved, X, "x0"), sd.Effect)
    assert_type(sd.explain(curved, X, 0, method="ale"), sd.Effect)
    assert_type(sd.explain(curved, X, 0, method=sd.ALE(bins=sd.Quantile(5))), sd.Effect)
    assert_type(sd.explain(curved, X, 0, method=sd.DALE(bins=sd.Uniform(4))), sd.Effect)
    assert_type(sd.explain(curved, X, 0, method=sd.UALE(bins=sd.AutoUniform(8))), sd.Effect)
    assert_type(sd.explain(curved, X, 0, method=sd.PDP(grid=5)), sd.Effect)
    assert_type(sd.explain(curved, X, 0, method=sd.ICE(center="start")), sd.Effect)
    assert_type(sd.explain(curved, X, 0, method=sd.MPlot(bins=sd.Edges([-1, 0, 1]))), sd.Effect)
    quantiles = np.quantile(X[:, 0], [0.0, 0.5, 1.0])
    assert_type(sd.explain(curved, X, 0, method=sd.ALE(bins=sd.Edges(quantiles))), sd.Effect)
    for edges in ([date(2020, 1, 1), date(2021, 1, 1)], ["2020-01-01", "2021-01-01"]):
        assert len(sd.Edges(edges, closed="left").edges) == 2
    best = sd.RHALE(bins=sd.Optimal(max_bins=20, alpha=0.3, min_points=5))
    assert_type(sd.explain(curved, X, method=best), sd.Effects)
    assert_type(sd.explain(curved, X, ["x0", "x2"], method=sd.RHALE(sd.Greedy(10))), sd.Effects)
    assert_type(sd.explain(curved, X, re.compile("x[02]"), method="ale"), sd.Effects)
    assert_type(sd.explain(curved, X, ["x0", re.compile("x[12]")], method="ale"), sd.Effects)
    assert_type(sd.explain(curved, X, lambda name: name > "x0", method="ale"), sd.Effects)
    frame = pl.DataFrame(X, schema=["x0", "x1", "x2"])
    assert_type(sd.explain(curved, frame, nws.numeric(), method="ale"), sd.Effects)
    assert_type(sd.explain(curved, frame, [cs.float(), "x0"], method="ale"), sd.Effects)
    assert_type(sd.explain(curved, X, ("x0", "x1"), method=sd.ALE(bins=4)), sd.Surface)
    pairs = sd.explain(curved, X, [("x0", "x1"), ("x0", "x2")], method="ale")
    assert_type(pairs, sd.Surfaces[sd.Surface])
    assert_type(pairs["x0", "x1"], sd.Surface)


def an_effect(X: Numbers, folder: Path) -> None:
    e = sd.explain(
        curved, X, "x0", sample_weight=np.ones(len(X)), random_state=1, memory="100MB", n_jobs=1
    )
    assert_type(e - e, sd.EffectDifference)
    assert_type((e - e).p_value, float)
    change = sd.prediction(curved) - 0.5 * sd.prediction(curved)
    assert_type(sd.explain(change, X, 0), sd.Effect)
    assert_type(e.value, Numbers)
    assert_type(e.heterogeneity, Numbers)
    if e.accumulated_std is not None:
        assert_type(e.accumulated_std, Numbers)
    if e.spread is not None:
        assert_type(e.spread.std_error, Numbers)
    if e.depends_on is not None:
        assert_type(e.depends_on.share, float)
    assert_type(e.std_error, Numbers)
    assert_type(e.importance, float)
    assert_type(e.value - e.x, Numbers)
    assert_type(e(np.array([0.0, 0.5])), Numbers)
    assert_type(e.rebin(sd.Uniform(3)), sd.Effect)
    assert_type(e.interval(0.95), tuple[Numbers, Numbers])
    assert_type(e.interval(0.9, "bootstrap", simultaneous=True), tuple[Numbers, Numbers])
    assert_type(e.checks(X=X), sd.Checks)
    assert_type(e.variance_decomposition(), sd.VarianceDecomposition)
    assert_type(e.heterogeneity_test(), sd.HeterogeneityTest)
    assert_type(e.provenance["model_rows"], int)
    if e.bins is not None:
        assert_type(e.bins.effect, Numbers)
        assert_type(e.bins.std, Numbers)
        assert_type(e.bins.empty, NDArray[np.bool_])
    frame: Any = e.to_frame()
    assert len(frame) == len(e.x)
    e.plot()
    assert_type(e.explore(), sd.Explorable)
    e.save(folder / "e.npz")
    again: sd.Effect = sd.load(folder / "e.npz")
    assert_type(again.value, Numbers)


def effects_and_surfaces(X: Numbers, y: Numbers) -> None:
    es = sd.explain(Line(2.0), X)
    weak = sd.weak_spots(Line(2.0), X, y)
    assert_type(weak, sd.WeakSpots)
    assert_type(weak.overall, sd.WeakSpot)
    assert_type(weak.overall.interval(0.9), tuple[float, float])
    for spot in weak:
        assert_type(spot.bias, float)
    assert_type(
        sd.weak_spots([Line(2.0), Line(1.0)], X, y, of="squared_error"), sd.Comparison[sd.WeakSpots]
    )
    assert_type(es["x0"], sd.Effect)
    for name, effect in es.items():
        assert_type(name, str)
        assert_type(effect, sd.Effect)
    for place in es.ranking():
        assert_type(place.feature, str)
        assert_type(place.importance, float)
    assert_type(es.statistics(y), sd.Statistics)
    es.plot()
    s = sd.explain(Line(2.0), X, (1, 2), method=sd.ALE(bins=4))
    assert_type(s.value, Numbers)
    assert_type(s.interaction_strength(), float)
    assert_type(s.with_main_effects(), sd.Surface)
    assert_type(s.interval(), tuple[Numbers, Numbers])
    logs = sd.explain(sd.prediction(lambda X: np.exp(X[:, 0]), inverse="log"), X, method="ale")
    assert_type(logs["x0"].factors(base=0.5), sd.Factors)
    assert_type(logs.factors({"x0": 0.5}), sd.RatingTable)
    assert_type(logs.factors()["x0"][0].factor, float)


def importances(X: Numbers, y: Numbers) -> None:
    labels = np.where(y > 0, "yes", "no")
    pf = sd.explain(sd.nll(Classes()), X, y=labels, method=sd.PFI(n_repeats=3))
    assert_type(pf, sd.Importance)
    assert_type(pf.mean, Numbers)
    assert_type(pf.features, tuple[str, ...])
    assert_type(pf.interval(0.95), tuple[Numbers, Numbers])
    assert_type(sd.explain(sd.entropy(Classes()), X, ["x0"], method="pfi"), sd.Importance)
    assert_type(sd.diagnose(Classes(), X, labels, n_repeats=3, dependence=False), sd.Diagnosis)


def quantities(X: Numbers, y: Numbers) -> None:
    clf = Classes()
    assert_type(sd.explain(sd.probability(clf, class_="yes"), X, 0), sd.Effect)
    assert_type(sd.explain(sd.logit(clf, class_="no"), X), sd.Effects)
    assert_type(sd.explain(sd.prediction(curved, slope=None, unit="m"), X, 0), sd.Effect)
    assert_type(sd.explain(sd.loss(curved, "squared_error"), X, 0, y=y, method="pdp"), sd.Effect)
    each = sd.explain(sd.probability(clf, class_="all"), X)
    calibrated = sd.calibration(sd.probability(clf, class_="all"), X, np.where(y > 0, "yes", "no"))
    assert_type(calibrated, sd.MultiOutput[sd.Calibration])
    assert_type(each, sd.MultiOutput[sd.Effects])
    assert_type(each["yes"]["x0"], sd.Effect)
    assert_type(sd.prediction(curved).at(X), Numbers)
    assert_type(sd.prediction(Line(1.0), slope=np.ones_like).at(X), Numbers)
    assert_type(sd.probability(clf, class_="all").at(X)["yes"], Numbers)
    assert_type(sd.entropy(clf, part="total", base=2).at(X), Numbers)
    assert_type(sd.nll(clf).at(X, np.where(y > 0, "yes", "no")), Numbers)
    assert_type(sd.loss(curved, lambda y, f: np.abs(y - f)).at(X, y), Numbers)
    several = sd.ensemble([curved, lambda X: X[:, 0]], noise=0.5, weights=[1, 2])
    assert_type(sd.predictive_variance(several, part="epistemic").at(X), Numbers)
    assert_type(sd.predictive_quantile(several, 0.9).at(X), Numbers)


class Network:
    """A network as torch's are: its call has no types."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0][:, 0]


def calibrations(X: Numbers, y: Numbers) -> None:
    c = sd.calibration(curved, X, y, method="bins", bins=sd.Uniform(5))
    assert_type(c, sd.Calibration)
    assert_type(c.points[0].label, float)
    assert_type(c.interval(0.9), tuple[Numbers, Numbers])
    assert_type(sd.calibration([curved, curved], X, y), sd.Comparison[sd.Calibration])
    c.plot()


def libraries(X: Numbers, y: Numbers, folder: Path) -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    forest = RandomForestRegressor(n_estimators=3, random_state=0)
    forest.fit(frame, y)  # pyright: ignore[reportUnknownMemberType] - scikit-learn has no types
    assert_type(sd.explain(forest, frame, "a"), sd.Effect)
    assert_type(sd.explain(forest, pl.DataFrame(X, schema=["a", "b", "c"]), "a"), sd.Effect)
    assert_type(sd.explain(Network(), X, 0), sd.Effect)
    pipeline = Pipeline([("model", LinearRegression())])
    pipeline.fit(frame, y)  # pyright: ignore[reportUnknownMemberType]
    search = GridSearchCV(pipeline, {"model__fit_intercept": [True, False]}, cv=2)
    search.fit(frame, y)  # pyright: ignore[reportUnknownMemberType]
    assert_type(sd.explain(pipeline, frame, "a"), sd.Effect)
    assert_type(sd.explain([pipeline, pipeline], frame, "a", refits=True), sd.MultiModelEffect)
    # Without stubs of pandas, some rows of a frame may be a column.
    sd.explain(search, frame[frame["b"] > 0], "a")  # pyright: ignore[reportUnknownArgumentType]
    path = folder / "model.joblib"
    assert_type(
        sd.explain([forest, forest], frame, "a", cv=KFold(2), refits=True), sd.MultiModelEffect
    )
    if path.is_file():
        assert_type(sd.explain(path, frame, "a"), sd.Effect)
    schema: dict[str, sd.Feature] = {"a": sd.Feature("a", unit="m")}
    done = sd.explain(forest, frame, schema=schema, groups={"g": ["c"]}, progress=False)
    assert_type(done, sd.Effects)


def several_models(X: Numbers) -> None:
    models = [Line(1.0), Line(1.5), Line(2.0)]
    assert_type(sd.explain(models, X, "x0", refits=True), sd.MultiModelEffect)
    assert_type(sd.explain(models, X, refits=True), sd.MultiModelEffects)
    assert_type(sd.explain(models, X, (0, 1), method="ale", refits=True), sd.MultiModelSurface)


def drifts(X: Numbers) -> None:
    found = sd.drift(Line(1.0), X[:100], Line(2.0), X[100:])
    assert_type(found, sd.Drift)
    assert_type(found.change.interval(0.9), tuple[float, float])
    assert_type(found.verdict, tuple[str, ...])
    assert_type(found.features[0].psi, float)
    assert_type(found.groups_of("model changed")[0].group, str)
    assert_type(sd.drift(curved, X[:100], X_new=X[100:]), sd.Drift)
    every = sd.probability(Classes(), class_="all")
    assert_type(sd.drift(every, X[:100], X_new=X[100:]), sd.MultiOutput[sd.Drift])


def pages(X: Numbers, y: Numbers, folder: Path) -> None:
    done = sd.report(curved, X, y, path=folder / "report.html", progress=False)
    assert_type(done.path, Path)
    sd.compare([sd.explain(curved, X, 0, method="pdp"), sd.explain(curved, X, 0, method="ale")])


def main(folder: Path) -> None:
    X, y = rows()
    methods_and_bins(X)
    an_effect(X, folder)
    effects_and_surfaces(X, y)
    importances(X, y)
    quantities(X, y)
    calibrations(X, y)
    libraries(X, y, folder)
    several_models(X)
    drifts(X)
    pages(X, y, folder)
