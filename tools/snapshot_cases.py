"""The cases of `tools.snapshot`: small data, models, and what is asked of the library of them.

Each case is a function that yields keys and values. Values are results, which `tools.snapshot` takes apart, or plain
numbers, texts and arrays. Only here and in the tables there stand names of the library: a change that renames something
in the library mends these two files, and the snapshot stays as it is.

Models are such that another machine's linear algebra moves no number beyond rounding: coefficients are drawn or rounded
where a fit stops early, ensembles of trees are fitted by one thread.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import skedasis as sd

Pairs = Iterator[tuple[str, Any]]
CASES: dict[str, Callable[[], Pairs]] = {}


def case(name: str) -> Callable[[Callable[[], Pairs]], Callable[[], Pairs]]:
    """Register a case under the first part of its keys."""

    def register(made: Callable[[], Pairs]) -> Callable[[], Pairs]:
        CASES[name] = made
        return made

    return register


# Data and models.


@cache
def bikes(rows: int = 500) -> Any:
    """Return a data frame with numbers, few values, missing ones, times, levels and a one-hot block."""
    import pandas as pd

    rng = np.random.default_rng(11)
    day = rng.integers(0, 365, rows)
    town = rng.choice(3, rows, p=(0.5, 0.3, 0.2))
    heat = 12 - 9 * np.cos(2 * np.pi * day / 365) + rng.normal(0, 3, rows)
    damp = rng.uniform(0, 100, rows)
    return pd.DataFrame(
        {
            "hour": rng.uniform(0, 24, rows),
            "heat": heat,
            "damp": np.where(rng.uniform(size=rows) < 0.1, np.nan, damp),
            "wind": rng.integers(0, 4, rows),
            "day": np.datetime64("2021-01-01") + day.astype("timedelta64[D]"),
            "sky": rng.choice(["clear", "mist", "rain"], rows, p=(0.6, 0.3, 0.1)),
            "size": pd.Categorical(
                rng.choice(["S", "M", "L", "XL"], rows), ["S", "M", "L", "XL"], ordered=True
            ),
            **{f"town_{k}": (town == k).astype(float) for k in range(3)},
        }
    )


TOWN = {"town": ["town_0", "town_1", "town_2"]}


def riders(X: Any) -> np.ndarray:
    """Return a smooth function of all columns of `bikes`, with interactions of each kind."""
    hour, heat = X["hour"].to_numpy(), X["heat"].to_numpy()
    damp = X["damp"].to_numpy()
    sky = X["sky"].map({"clear": 1.0, "mist": 0.4, "rain": -1.0}).to_numpy(float)
    size = X["size"].astype(str).map({"S": 0.0, "M": 0.5, "L": 0.7, "XL": 2.0}).to_numpy(float)
    days = (X["day"].to_numpy() - np.datetime64("2021-01-01")) / np.timedelta64(1, "D")
    wave = np.sin(2 * np.pi * hour / 24)
    return (
        3 * wave
        + 0.1 * heat * wave
        + np.where(np.isnan(damp), 0.7, -0.02 * damp * (1 + 0.5 * sky))
        + np.cos(X["wind"].to_numpy()) * (1 + 0.1 * heat)
        + 0.5 * np.sin(days / 60)
        + sky * size
        + X["town_1"].to_numpy() * 0.8 * wave
        - X["town_2"].to_numpy() * 0.5
    )


@cache
def numbers(rows: int = 400) -> np.ndarray:
    """Return a matrix: two features that depend on each other, a third, and one of few values."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 4))
    X[:, 1] = 0.7 * X[:, 0] + 0.5 * X[:, 1]
    X[:, 3] = rng.integers(0, 5, rows)
    return X


@cache
def dyadic() -> np.ndarray:
    """Return 256 rows of `numbers` in steps of 1/32, the largest 2 in size.

    Their means and variances are exact in any order of summation. Forests that are grown to the end break many ties
    between splits, which the last bit of a target's scale would break otherwise.
    """
    X = np.clip(np.round(numbers()[:256] * 32), -64, 64) / 32
    X[0] = 2.0
    return X


def curve(X: np.ndarray) -> np.ndarray:
    """Return a smooth function of `numbers` in which the second feature interacts."""
    return np.sin(2 * X[:, 0]) + X[:, 1] * np.tanh(X[:, 2]) + 0.3 * X[:, 3]


def jacobian(X: np.ndarray) -> np.ndarray:
    """Return all slopes of `curve`."""
    x = X.T
    t = np.tanh(x[2])
    return np.stack([2 * np.cos(2 * x[0]), t, x[1] * (1 - t**2), np.full(len(X), 0.3)], axis=1)


def mixed(X: np.ndarray, j: int, k: int) -> np.ndarray:
    """Return the mixed derivative of `curve` in its only two features that interact."""
    return 1 - np.tanh(X[:, 2]) ** 2 if {j, k} == {1, 2} else np.zeros(len(X))


@cache
def target() -> np.ndarray:
    """Return labels of `numbers`: numbers."""
    return curve(numbers()) + np.random.default_rng(6).normal(0, 0.3, len(numbers()))


@cache
def classes(k: int = 2) -> np.ndarray:
    """Return labels of `numbers`: k classes of about equal size."""
    cuts = np.quantile(target(), np.arange(1, k) / k)
    return np.searchsorted(cuts, target())


def counts() -> np.ndarray:
    """Return frequencies of rows, some of them zero."""
    return np.random.default_rng(8).integers(0, 4, len(numbers())).astype(float)


def rounded(model: Any, *names: str) -> Any:
    """Round what was fitted, so that where a search stopped does not matter."""
    for name in names:
        setattr(model, name, np.round(getattr(model, name), 3))
    return model


def network() -> Any:
    """Return a fitted network of scikit-learn whose weights are drawn: training it would magnify rounding."""
    from sklearn.neural_network import MLPRegressor

    model = MLPRegressor(
        hidden_layer_sizes=(6,), activation="tanh", max_iter=1, random_state=0
    ).fit(numbers(), target())
    rng = np.random.default_rng(9)
    model.coefs_ = [rng.normal(size=c.shape) for c in model.coefs_]
    model.intercepts_ = [rng.normal(size=c.shape) for c in model.intercepts_]
    return model


@cache
def process() -> Any:
    """Return a fitted Gaussian process."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    kernel = RBF((1.0, 1.5, 2.0, 3.0))
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)
    return model.fit(numbers()[:80], target()[:80])


@cache
def classifier(k: int = 2) -> Any:
    """Return a fitted logistic regression of k classes."""
    from sklearn.linear_model import LogisticRegression

    return rounded(
        LogisticRegression(max_iter=300).fit(numbers(), classes(k)), "coef_", "intercept_"
    )


@cache
def forest(**options: Any) -> Any:
    """Return a fitted forest."""
    from sklearn.ensemble import RandomForestRegressor

    wanted = {"n_estimators": 10, "max_depth": 5, "random_state": 0, **options}
    return RandomForestRegressor(**wanted).fit(numbers(), target())


def line(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Fit least squares; return what predicts."""
    slopes = np.linalg.lstsq(X, y, rcond=None)[0]
    return lambda X: X @ slopes


def regressors() -> Mapping[str, Callable[[], Any]]:
    """Return makers of fitted regressors by name: those with slopes in closed form, and ensembles of trees."""
    from sklearn import ensemble, linear_model, pipeline, preprocessing, svm

    X, y = numbers(), target()
    steps = (preprocessing.StandardScaler(), preprocessing.PolynomialFeatures(2))
    return {
        "linear": lambda: linear_model.LinearRegression().fit(X, y),
        "network": network,
        "svm": lambda: svm.SVR(C=2.0, gamma=0.3, tol=1e-9).fit(X, y),
        "process": process,
        "pipeline": lambda: pipeline.make_pipeline(*steps, linear_model.Ridge(1.0)).fit(X, y),
        "forest": forest,
        "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=30, random_state=0).fit(
            X, y
        ),
        "hist": lambda: ensemble.HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(
            X, y
        ),
        "lightgbm": _lightgbm,
        "xgboost": _xgboost,
    }


def _lightgbm(X: Any = None, y: Any = None) -> Any:
    from lightgbm import LGBMRegressor

    options: dict[str, Any] = {"n_estimators": 20, "n_jobs": 1, "deterministic": True}
    return LGBMRegressor(**options, verbose=-1, random_state=0).fit(
        numbers() if X is None else X, target() if y is None else y
    )


def _xgboost(X: Any = None) -> Any:
    from xgboost import XGBRegressor

    options: dict[str, Any] = {"n_estimators": 20, "max_depth": 4, "n_jobs": 1}
    return XGBRegressor(**options, random_state=0).fit(numbers() if X is None else X, target())


# What is asked.


def methods() -> Mapping[str, Any]:
    """Return every method of effects by name."""
    return {
        "pdp": sd.PDP(grid=9, ice=20),
        "pdp-centred": sd.PDP(grid=9, center="start", spacing="quantile", ice=20),
        "ice": sd.ICE(grid=7),
        "mplot": sd.MPlot(),
        "ale": sd.ALE(),
        "dale": sd.DALE(bins=8),
        "uale": sd.UALE(),
        "rhale": sd.RHALE(),
    }


@case("kinds")
def kinds() -> Pairs:
    """Ask every method of a feature of every kind."""
    X = bikes()
    given: dict[str, Any] = {"groups": TOWN, "heterogeneity_rows": 200}
    for name, method in methods().items():
        # A nominal feature has no first level from which curves could start.
        wanted = ["hour", "damp", "wind", "day", "size"] if name == "pdp-centred" else None
        es = sd.explain(riders, X, wanted, method=method, **given)
        for feature, e in es.items():
            yield f"{name}/{feature}", e
            yield f"{name}/{feature}/interval", e.interval(0.9)
        yield f"{name}/trust", es.checks()
        yield f"{name}/ranking", es.ranking()
        if name in {"ale", "rhale"}:
            yield f"{name}/ranking-score", es.ranking(by="heterogeneity_score")
    for order in ("similarity", {"sky": ["rain", "clear", "mist"]}):
        way = sd.ALE(order=order)
        yield f"order/{type(order).__name__}", sd.explain(riders, X, "sky", method=way)
    e = sd.explain(riders, X, "damp", method="ale")
    yield "frames/damp", e.to_frame()
    yield "frames/damp-missing", e.to_frame(of="missing")
    yield "frames/sky", sd.explain(riders, X, "sky", method="ale").to_frame(of="bins")
    yield (
        "frames/ranking",
        sd.explain(riders, X, ["hour", "sky"], method="ale").to_frame(of="ranking"),
    )


@case("evaluation")
def evaluation() -> Pairs:
    """Evaluate effects at new values, within the data and beyond; show curves of rows."""
    X = bikes()
    new = {
        "hour": np.linspace(-1, 25, 14),
        "wind": np.arange(-1, 5),
        "day": X["day"].to_numpy()[:5],
    }
    new |= {"sky": np.array(["rain", "clear"]), "size": np.array(["XL", "S"])}
    for name in ("pdp", "mplot", "ale", "rhale"):
        for feature, at in new.items():
            method = "ale" if (name, feature) == ("rhale", "sky") else name
            yield f"{name}/{feature}", sd.explain(riders, X, feature, method=method)(at)
    e = sd.explain(riders, X, "hour", method=sd.ICE(grid=6, anchor=3.0))
    yield "ice/frame", e.to_frame(of="curves")
    yield "ice/anchored", e
    yield "pdp-slopes", sd.explain(curve, numbers(), 0, method=sd.PDP(grid=9, derivative=True))
    yield "pdp-grid", sd.explain(curve, numbers(), 0, method=sd.PDP(grid=[-1.0, 0.0, 0.5]))
    yield "mplot-label", sd.explain(sd.label(), numbers(), 0, y=target(), method=sd.MPlot())
    residual = sd.residual(curve)
    method = sd.MPlot(bins=6)
    yield "mplot-residual", sd.explain(residual, numbers(), 0, y=target(), method=method)
    yield "path", sd.explain(curve, numbers(), 0).path(3)


@case("pairs")
def pairs() -> Pairs:
    """Explain pairs of numbers and levels."""
    X = bikes()
    given: dict[str, Any] = {"groups": TOWN}
    order = {"sky": ["rain", "mist", "clear"]}
    made = {
        "pdp": sd.PDP(grid=5, ice=10),
        "ale": sd.ALE(bins=5, order=order),
        "dale": sd.DALE(bins=4),
    }
    asked = {
        "num-num": ("hour", "heat"),
        "few-num": ("wind", "heat"),
        "cat-num": ("sky", "damp"),
        "cat-cat": ("sky", "size"),
        "group-num": ("town", "hour"),
    }
    for name, method in made.items():
        for what, pair in asked.items():
            if name == "dale" and what not in {"num-num", "few-num"}:
                continue
            s = sd.explain(riders, X, pair, method=method, **given)
            yield f"{name}/{what}", s
            yield f"{name}/{what}/trust", s.checks()
    s = sd.explain(riders, X, ("hour", "heat"), method=sd.ALE(bins=5))
    yield "whole", s.with_main_effects()
    effects = sd.explain(riders, X, ["hour", "heat"], method=sd.ALE(bins=5))
    yield "whole-exact", s.with_main_effects(effects)
    yield "rebinned", sd.explain(riders, X, ("hour", "heat"), method=sd.DALE(bins=8)).rebin(3)
    yield "at", s(np.linspace(1, 23, 7), np.linspace(2, 20, 7))
    yield "analytic", s.interval(0.9)
    yield "cells", s.interval(0.9, of="cells")
    yield "bootstrap", s.interval(0.9, "bootstrap", replicates=100, random_state=3)
    yield "simultaneous", s.interval(0.9, "bootstrap", simultaneous=True, replicates=100)
    yield "frame", s.to_frame()
    yield "frame-cells", s.to_frame(of="cells")
    yield "trust-rows", s.checks(X=X)


@case("bins")
def bins() -> Pairs:
    """Choose bins by every scheme, at once and afterwards."""
    X, q = numbers(), sd.prediction(curve, slope=jacobian)
    schemes = {
        "uniform": sd.Uniform(7),
        "quantile": sd.Quantile(6),
        "edges": sd.Edges([-1.0, -0.2, 0.5, 1.5]),
        "edges-right": sd.Edges([-1.0, -0.2, 0.5, 1.5], closed="right"),
        "auto-uniform": sd.AutoUniform(),
        "greedy": sd.Greedy(),
        "optimal": sd.Optimal(max_bins=30),
        "optimal-quantile": sd.Optimal(max_bins=30, grid="quantile", alpha=0.4, min_points=15),
        "optimal-data": sd.Optimal(grid="data"),
        "risk": sd.Optimal(criterion="likelihood"),
        "risk-constant": sd.Optimal(criterion="likelihood", slopes="constant"),
        "auto": "auto",
    }
    for name, scheme in schemes.items():
        given: dict[str, Any] = {"heterogeneity_rows": 0}
        yield f"rhale/{name}", sd.explain(q, X, 0, method=sd.RHALE(bins=scheme), **given)
        if name not in {"risk", "risk-constant", "auto-uniform", "edges-right"}:
            yield f"ale/{name}", sd.explain(curve, X, 0, method=sd.ALE(bins=scheme), **given)
    fine = sd.explain(q, X, 0, method=sd.DALE(bins=40))
    for name in ("uniform", "edges", "greedy", "optimal", "risk"):
        yield f"rebinned/{name}", fine.rebin(schemes[name])
    steps = sd.explain(forest(), X, 0, method=sd.RHALE())
    yield "rebinned/steps", steps.rebin(sd.Edges(steps.bins.edges[[0, -1]]))
    yield "start", sd.explain(q, X, 0, method=sd.RHALE(center="start"))


@case("models")
def models() -> Pairs:
    """Explain every kind of model: slopes in closed form, trees that are walked, and the same trees called."""
    X = numbers()
    for name, make in regressors().items():
        model = make()
        es = sd.explain(model, X, [0, 1, 3], heterogeneity_rows=200)
        for k, e in enumerate(es.values()):
            yield f"{name}/rhale/{k}", e
        if name in {"linear", "svm", "process"}:
            continue
        tree = name not in {"network", "pipeline"}
        asked = [sd.ALE(bins=6), sd.PDP(grid="exact" if name == "forest" else 9, ice=10)]
        for method, what in zip(asked, ("ale", "pdp"), strict=True):
            for way in ("auto", "off") if tree else ("auto",):
                if what == "pdp" and name == "forest" and way == "off":
                    continue
                e = sd.explain(model, X, 0, method=method, tree=way, heterogeneity_rows=200)
                yield f"{name}/{what}/{way}", e
        if tree:
            yield f"{name}/pair", sd.explain(model, X, (0, 1), method=sd.ALE(bins=4))
            pfi = sd.PFI(n_repeats=2, local=0)
            yield f"{name}/pfi", sd.explain(model, X, method=pfi, heterogeneity_rows=0)
    frame = bikes()[["hour", "damp", "sky"]].astype({"sky": "category"})
    levels = _lightgbm(frame, riders(bikes()))
    for way in ("auto", "off"):
        for feature in frame:
            e = sd.explain(levels, frame, feature, method="ale", tree=way, heterogeneity_rows=200)
            yield f"levels/{way}/{feature}", e
    gaps = np.where(np.random.default_rng(2).uniform(size=X.shape) < 0.1, np.nan, X)
    holes = _xgboost(gaps)
    yield "holes/ale", sd.explain(holes, gaps, 0, method="ale")
    yield "holes/called", sd.explain(holes, gaps, 0, method="ale", tree="off")
    given: dict[str, Any] = {"slope": jacobian, "mixed": mixed}
    yield "mixed", sd.explain(sd.prediction(curve, **given), X, (1, 2), method=sd.DALE(bins=4))
    yield "slope", sd.explain(sd.prediction(curve, slope=jacobian), X, 2)
    yield "called", sd.explain(curve, X, 2)
    yield "batches", sd.explain(curve, X, [0, 1], memory=20_000, n_jobs=2)
    yield "kept", sd.explain(curve, X, 0, keep_rows=4_000, method=sd.ALE(bins=9))


@case("quantities")
def quantities() -> Pairs:
    """Explain every quantity that is derived from a model."""
    X, y, c, clf = numbers(), target(), classes(), classifier()
    mixture = sd.ensemble([classifier(), rounded(_other(), "coef_", "intercept_")])
    made: dict[str, Any] = {
        "bare": clf,
        "probability": sd.probability(clf, class_=1),
        "logit": sd.logit(clf),
        "entropy": sd.entropy(clf),
        "entropy-bits": sd.entropy(clf, base=2),
        "trees-probability": sd.probability(_boosted(), class_=1),
        "trees-logit": sd.logit(_boosted()),
        "trees-entropy": sd.entropy(_boosted()),
        "nll": sd.nll(clf),
        "variance": sd.predictive_variance(process()),
        "quantile": sd.predictive_quantile(process(), 0.9),
        "process-entropy": sd.entropy(process()),
        "loss": sd.loss(process(), "squared_error"),
        "loss-absolute": sd.loss(process(), "absolute_error"),
        "loss-own": sd.loss(curve, lambda y, p: np.abs(y - p) ** 1.5),
        "ensemble-total": sd.entropy(mixture),
        "ensemble-epistemic": sd.entropy(mixture, part="epistemic"),
        "ensemble-variance": sd.predictive_variance(sd.ensemble([curve, forest()], noise=0.3)),
    }
    for name, q in made.items():
        label = {"nll": c}.get(name, y if name.startswith("loss") else None)
        for method in (
            ("rhale", "pdp") if name in {"probability", "entropy", "loss"} else ("rhale",)
        ):
            e = sd.explain(q, X, 0, y=label, method=method, heterogeneity_rows=200)
            yield f"{name}/{method}", e
        if hasattr(q, "at"):
            yield f"{name}/at", q.at(X[:10], None if label is None else label[:10])
    three = classifier(3)
    for name, q in {
        "probabilities": sd.probability(three, class_="all"),
        "logits": sd.logit(three, class_="all"),
    }.items():
        for k, e in enumerate(sd.explain(q, X, 0, heterogeneity_rows=200).values()):
            yield f"{name}/{k}", e
    for k, s in enumerate(
        sd.explain(sd.probability(three, class_="all"), X, (0, 2), method=sd.ALE(bins=4)).values()
    ):
        yield f"probabilities-pair/{k}", s


@cache
def _boosted() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    made = GradientBoostingClassifier(n_estimators=10, random_state=0)
    return made.fit(numbers(), classes())


def _other() -> Any:
    from sklearn.linear_model import LogisticRegression

    half = slice(0, 150)
    return LogisticRegression(C=0.1, max_iter=300).fit(numbers()[half], classes()[half])


@case("importances")
def importances() -> Pairs:
    """Measure permutation importances in all their forms."""
    X, y, c = numbers(), target(), classes()
    nll, loss = sd.nll(classifier()), sd.loss(curve, "squared_error")
    for name, method in {
        "permutations": sd.PFI(n_repeats=4, local=20),
        "local": sd.PFI(n_repeats=3, local="all"),
        "conditional": sd.PFI(n_repeats=4, conditional=True, local=0),
        "sample": sd.PFI(n_repeats=3, max_samples=0.5, local=0),
        "groups": sd.PFI(n_repeats=4, groups={"first": [0, 1]}, local=0),
    }.items():
        pf = sd.explain(nll, X, y=c, method=method, random_state=2)
        yield name, pf
        yield f"{name}/ranking", pf.ranking()
        yield f"{name}/interval", pf.interval(0.9)
    pf = sd.explain(nll, X, y=c, method=sd.PFI(n_repeats=4, local=0))
    yield "simultaneous", pf.interval(0.9, simultaneous=True)
    yield "quantiles", sd.explain(loss, X, y=y, method=sd.PFI(n_repeats=40)).interval(0.9)
    yield "frame", pf.to_frame()
    yield "exact", sd.explain(loss, X[:150], y=y[:150], method=sd.PFI(exact=True))
    weights = counts()
    once = sd.PFI(n_repeats=4, local=10)
    yield "weighted", sd.explain(loss, X, y=y, sample_weight=weights, method=once)
    exact = sd.PFI(exact=True, local=0)
    half = slice(0, 120)
    yield (
        "weighted-exact",
        sd.explain(
            loss,
            X[half],
            y=y[half],
            sample_weight=weights[half],
            weight_kind="sampling",
            method=exact,
        ),
    )
    for metric, q, label in (
        ("r2", sd.prediction(curve), y),
        ("roc_auc", sd.probability(classifier(), class_=1), c),
    ):
        yield (
            f"metric/{metric}",
            sd.explain(q, X, y=label, method=sd.PFI(n_repeats=3, metric=metric)),
        )
    own = sd.PFI(n_repeats=3, metric=_worst, greater_is_better=False)
    yield "metric/own", sd.explain(curve, X, y=y, method=own)
    yield "entropy", sd.explain(sd.entropy(classifier()), X, method=sd.PFI(n_repeats=4, local=0))
    given: dict[str, Any] = {"groups": TOWN, "method": sd.PFI(n_repeats=3, local=0)}
    yield "kinds", sd.explain(riders, bikes(), **given)


def _worst(y: np.ndarray, values: np.ndarray) -> float:
    return float(np.quantile(np.abs(y - values), 0.9))


@case("weights")
def weights() -> Pairs:
    """Weigh rows by weights of both kinds."""
    X, w = numbers(), counts()
    asked = {
        "rhale": sd.RHALE(),
        "ale": sd.ALE(bins=6),
        "pdp": sd.PDP(grid=7, ice=10),
        "mplot": sd.MPlot(bins=6),
        "uale": sd.UALE(bins=6),
    }
    for kind, given in {"frequency": w, "sampling": 0.4 * w + 0.1}.items():
        for name, method in asked.items():
            es = sd.explain(curve, X, [1, 3], method=method, sample_weight=given, weight_kind=kind)
            for k, e in enumerate(es.values()):
                yield f"{kind}/{name}/{k}", e
        s = sd.explain(
            curve, X, (1, 2), method=sd.ALE(bins=4), sample_weight=given, weight_kind=kind
        )
        yield f"{kind}/pair", s
        levels = sd.explain(
            riders, bikes(len(w)), "sky", method="ale", sample_weight=given, weight_kind=kind
        )
        yield f"{kind}/levels", levels
    e = sd.explain(curve, X, 1, method=sd.ALE(bins=6), sample_weight=w)
    yield "bootstrap", e.interval(0.9, "bootstrap", replicates=100)
    yield "scored", sd.explain(curve, X, 1, sample_weight=w, heterogeneity_rows=100, random_state=4)
    ids = np.random.default_rng(0).permutation(len(X))
    yield "row-id", sd.explain(curve, X, 1, row_id=ids, heterogeneity_rows=100)


@case("intervals")
def intervals() -> Pairs:
    """Compute intervals of all figures in all ways."""
    X = numbers()
    found = {
        "rhale": sd.explain(curve, X, 0),
        "ale": sd.explain(curve, X, 0, method=sd.ALE(bins=8)),
        "few": sd.explain(curve, X, 3, method="ale"),
        "pdp": sd.explain(curve, X, 0, method=sd.PDP(grid=7, ice="all")),
        "mplot": sd.explain(curve, X, 0, method=sd.MPlot(bins=6)),
        "levels": sd.explain(riders, bikes(), "sky", method="ale"),
        "steps": sd.explain(forest(), X, 0),
    }
    drawn: dict[str, Any] = {"method": "bootstrap", "replicates": 100, "random_state": 1}
    for name, e in found.items():
        yield f"{name}/analytic", e.interval(0.95)
        yield f"{name}/bootstrap", e.interval(0.95, **drawn)
        yield f"{name}/bootstrap-importance", e.interval(0.95, of="importance", **drawn)
        yield f"{name}/bootstrap-simultaneous", e.interval(0.95, simultaneous=True, **drawn)
        if name not in {"pdp", "mplot", "levels"}:
            yield f"{name}/bins", e.interval(0.95, of="bins")
            yield f"{name}/simultaneous", e.interval(0.95, simultaneous=True)
        if name != "mplot":
            yield f"{name}/score", e.interval(0.95, of="heterogeneity_score")
    chosen: dict[str, Any] = {"bins": "chosen", "replicates": 50, "method": "bootstrap"}
    sloped = sd.prediction(curve, slope=jacobian)
    greedy = sd.explain(sloped, X, 0, method=sd.RHALE(bins=sd.Greedy()))
    yield "greedy/chosen", greedy.interval(0.95, **chosen)
    yield "ale/moments", found["ale"].interval(0.95, source="moments", **drawn)
    draws = np.random.default_rng(0).integers(0, 3, (3, len(X)))
    yield "ale/resampled", found["ale"].resampled(draws)
    es = sd.explain(curve, X, [0, 3], method=sd.ALE(bins=8))
    for k, ends in enumerate(es.interval(0.95, **drawn).values()):
        yield f"several/{k}", ends


@case("trust")
def trust() -> Pairs:
    """Ask how far results can be trusted: codes and numbers, not sentences."""
    X = numbers()
    few = sd.explain(riders, bikes(60).iloc[:60], method="ale", heterogeneity_rows=40)
    yield "few-rows", few.checks()
    for name, method in {
        "rhale": sd.RHALE(),
        "rhale-bins": sd.RHALE(bins=4),
        "pdp": sd.PDP(grid=9),
        "ale": sd.ALE(bins=10),
    }.items():
        e = sd.explain(curve, X, 1, method=method)
        yield f"{name}/trust", e.checks()
        yield f"{name}/trust-rows", e.checks(X=X)
        yield f"{name}/test", e.heterogeneity_test()
        yield f"{name}/test-above", e.heterogeneity_test(0.9, above=0.3)
        if name != "pdp":
            yield f"{name}/split", e.variance_decomposition(random_state=1)
            pdp = sd.explain(curve, X, 1, method=sd.PDP(grid=20))
            yield f"{name}/beside", e.checks(beside=pdp)
    es = sd.explain(curve, X, method=sd.ALE(bins=5))
    yield "all", es.checks(X=X)
    corner = np.random.default_rng(1).uniform(-1, 1, 1000)
    near = np.stack([corner, corner + np.random.default_rng(2).normal(0, 0.05, 1000)], axis=1)

    def ridge(X: np.ndarray) -> np.ndarray:
        return X[:, 0] + 4 * (X[:, 0] - X[:, 1]) ** 2

    ale, pdp = (sd.explain(ridge, near, 0, method=m) for m in (sd.ALE(bins=20), sd.PDP(grid=20)))
    yield "disagreement", ale.checks(beside=pdp)
    yield "far", pdp.checks(X=near)
    square = sd.datasets.SquareBorder()
    rows, _ = square.sample(500, 0)
    sure = sd.explain(
        lambda X: np.exp(-4 * (np.abs(X) ** 2).sum(axis=1)), rows, 0, method=sd.ICE(grid=25)
    )
    yield "rises", sure.elevated_regions()


@case("statistics")
def statistics() -> Pairs:
    """Measure ALED and its relatives, with intervals and p-values."""
    X, y = numbers(120)[:, :3], target_of(120)
    es = sd.explain(line(X, y), X, method=sd.ALE(bins=5))
    yield "plain", es.statistics()
    yield "labels", es.statistics(y, replicates=100, random_state=1)
    null = sd.null_distribution(line, X, y, method=sd.ALE(bins=5), n_repeats=19, columns=[0, 2])
    yield "null", null
    yield "tested", es.statistics(y, replicates=50, null=null)
    added = sd.null_distribution(
        line, X, y, method=sd.ALE(bins=5), n_repeats=9, how="added", random_state=3
    )
    yield "null-added", added
    kinds = sd.explain(riders, bikes(), ["hour", "sky", "wind"], method=sd.ALE(bins=8))
    yield "kinds", kinds.statistics(riders(bikes()), replicates=50)
    yield "frame", es.statistics(y, replicates=50).to_frame()


def target_of(rows: int) -> np.ndarray:
    """Return labels of so many rows that are linear in all features but one."""
    X = numbers(rows)
    noise = np.random.default_rng(3).normal(size=rows)
    return X[:, 0] + 0.3 * X[:, 1] + noise


@case("diagnosis")
def diagnosis() -> Pairs:
    """Set Likelihood-PFI beside Entropy-PFI, and measure how features depend on one another."""
    X, c = dyadic(), classes()[:256]
    found = sd.diagnose(classifier(), X, c, n_repeats=4)
    yield "classes", found
    yield "process", sd.diagnose(process(), numbers(), target(), n_repeats=3, dependence=False)
    given: dict[str, Any] = {"groups": {"first": [0, 1]}, "n_repeats": 3}
    given["sample_weight"] = np.where(np.random.default_rng(8).permutation(256) < 128, 1.0, 3.0)
    yield "groups", sd.diagnose(classifier(), X, c, **given)
    yield "frame", found.to_frame().drop(columns=["text", "next"])  # numbers, not sentences


@case("several")
def several() -> Pairs:
    """Explain several fitted models."""
    X, y = numbers(), target()
    fold = np.arange(len(X)) % 4
    fits = [line(X[fold != k], y[fold != k]) for k in range(4)]
    bent = [lambda X, f=f, k=k: f(X) + np.sin((1 + 0.1 * k) * X[:, 0]) for k, f in enumerate(fits)]
    for name, given in {
        "all": {"refits": True},
        "cv": {"cv": fold},
        "corrected": {"correction": 0.25},
    }.items():
        em = sd.explain(bent, X, 0, **given)
        yield f"{name}/rhale", em
        yield f"{name}/interval", em.interval(0.9)
        yield f"{name}/pdp", sd.explain(bent, X, 0, method=sd.PDP(grid=7), **given)
        yield f"{name}/pair", sd.explain(bent, X, (0, 1), method=sd.ALE(bins=4), **given)
        loss = [sd.loss(f, "squared_error") for f in bent]
        pf = sd.explain(loss, X, y=y, method=sd.PFI(n_repeats=3), **given)
        yield f"{name}/pfi", pf
        yield f"{name}/pfi-ranking", pf.ranking()
    many = sd.explain(bent, X, [0, 1, 3], method=sd.ALE(bins=6), cv=fold)
    yield "ranking", many.ranking()
    yield "frame", many.to_frame(of="models")
    yield "trees", sd.explain([forest(), forest(random_state=1)], X, 0, refits=True)


@case("saved")
def saved() -> Pairs:
    """Count the numbers of results that change by saving and loading: none."""
    from tools.snapshot import flat

    X = numbers()
    results = {
        "rhale": sd.explain(curve, X, 0),
        "few": sd.explain(curve, X, 3, method="ale"),
        "ice": sd.explain(curve, X, 0, method=sd.ICE(grid=5)),
        "levels": sd.explain(riders, bikes(), "sky", method="ale"),
        "days": sd.explain(riders, bikes(), "day", method="ale"),
        "missing": sd.explain(riders, bikes(), "damp", method="ale"),
        "surface": sd.explain(curve, X, (0, 1), method=sd.ALE(bins=4)),
        "importance": sd.explain(curve, X, method=sd.PFI(n_repeats=3)),
        "models": sd.explain([curve, forest()], X, 0, method=sd.ALE(bins=5), refits=True),
        "diagnosis": sd.diagnose(classifier(), X, classes(), n_repeats=3, dependence=False),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, found in results.items():
            path = Path(folder) / f"{name}.npz"
            found.save(path)
            before, after = dict(flat("", found)), dict(flat("", sd.load(path)))
            yield f"{name}/keys", len(before)
            yield f"{name}/changed", sorted(k for k in before | after if before[k] != after.get(k))


@case("regions")
def regions() -> Pairs:
    """Compute regions, interactions and variance_shares."""
    q = sd.prediction(riders)
    yield "trees", dict(sd.regions(forest(), numbers(), progress=False))
    yield "kinds", dict(sd.regions(q, bikes(), progress=False))
    yield "curves", sd.regions(q, bikes(), bikes().columns[0], method=sd.PDP(), progress=False)
    yield "named", sd.explain(q, bikes(), bikes().columns[0], by=bikes().columns[-1])
    yield "pairs", sd.interactions(forest(), numbers(), progress=False)
    yield "called", sd.interactions(q, bikes(), max_rows=20, progress=False)
    yield "variance_shares", sd.variance_shares(forest(), numbers(), progress=False)


@case("report")
def report() -> Pairs:
    """Gather the values that a report tells."""
    from skedasis.report.content import gather

    given: dict[str, Any] = {"progress": False, "pairs": 3}
    yield "regression", gather(forest(), numbers(), target(), **given)
    yield "classes", gather(classifier(), dyadic(), classes()[:256], **given)
    yield "kinds", gather(riders, bikes(), groups=TOWN, uncertainty=False, **given)
