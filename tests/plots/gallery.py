"""One small figure of every kind, for tests that hold for all of them.

Names of features and levels are long, Chinese, and written from right to left, because those are the ones for which
figures have no room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

import skedasis as sd
from skedasis.plots.figures.calibration import calibration_figure, calibrations_figure
from skedasis.plots.figures.compare import compare_figure, overlay_figure
from skedasis.plots.figures.diagnosis import diagnosis_figure
from skedasis.plots.figures.drift import drift_figure
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.effect_difference import effect_difference_figure
from skedasis.plots.figures.factors import factors_figure, rating_table_figure
from skedasis.plots.figures.importance import importance_figure, permutation_figure
from skedasis.plots.figures.models import models_figure, models_importance_figure
from skedasis.plots.figures.multiples import effects_figure, models_effects_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.overview import (
    RegionsPoint,
    importance_points,
    overview_figure,
)
from skedasis.plots.figures.summary import effect_summary_figure, models_summary_figure
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.figures.variance_shares import variance_shares_figure
from skedasis.plots.marks import FigureSpec
from skedasis.results.diagnosis import Diagnosis, Verdict
from skedasis.results.effect_difference import EffectDifference
from skedasis.results.factors import RatingTable
from skedasis.results.importance import Importance, LocalImportance
from skedasis.results.variance_shares import VariancePart, VarianceShares
from tests.plots.observed_helpers import observed_of

LONG = "number_of_visits_to_the_outpatient_department_in_the_year_2019"
CHINESE, HEBREW, ARABIC = "数量与质量的关系", "שם ארוך של תכונה", "العمر بالسنوات"
CITIES = (
    "Llanfairpwllgwyngyllgogerychwyrndrobwll",
    "北京市朝阳区",
    "ירושלים",
    "القاهرة",
    "Rome",
    "other",
)
GRADES = ("unsatisfactory", "needs improvement", "satisfactory", "very good", "outstanding")
N = 240


@cache
def table() -> pd.DataFrame:
    """Return rows with numeric, few-valued, nominal, ordinal, missing and time features."""
    rng = np.random.default_rng(5311)
    risk = rng.normal(size=N)
    return pd.DataFrame(
        {
            LONG: rng.gamma(2.0, 2.0, N),
            CHINESE: np.where(rng.uniform(size=N) < 0.1, np.nan, rng.normal(size=N)),
            HEBREW: rng.integers(0, 4, N).astype(float),
            "city": rng.choice(CITIES, N),
            "grade": pd.Categorical(rng.choice(GRADES, N), GRADES, ordered=True),
            "admitted": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "risk": risk,
            ARABIC: 1e6 + 2e5 * risk + 1e4 * rng.normal(size=N),
        }
    )


def model(X: pd.DataFrame) -> np.ndarray:
    """Return a quantity that depends on every feature of `table`, with interactions."""
    risk = X["risk"].to_numpy()
    found = (
        np.sin(X[LONG].to_numpy() / 3) * (1 + risk) + np.nan_to_num(X[CHINESE].to_numpy()) * risk
    )
    found = (
        found
        + 0.4 * X[HEBREW].to_numpy() ** 2
        + X["city"].map({c: i for i, c in enumerate(CITIES)}).to_numpy()
    )
    grade = X["grade"].map({g: i for i, g in enumerate(GRADES)}).astype(float).to_numpy()
    days = (X["admitted"] - pd.Timestamp("2021-03-01")).dt.days.to_numpy()
    return found + grade * risk + 0.002 * days + X[ARABIC].to_numpy() / 4e5


@cache
def quantity() -> sd.Quantity:
    return sd.prediction(model, name="predicted cost of the treatment", unit="EUR")


@cache
def effect(feature: str, method: str = "ale") -> sd.Effect:
    """Return the effect of a feature of `table`."""
    return sd.explain(quantity(), table(), feature, method=method)


@cache
def observed(feature: str, method: str = "ale", *, split: bool = False) -> sd.Effect:
    """Return the effect of a feature with mean labels, by the values of a split if asked for."""
    found, y = effect(feature, method), model(table())
    labels = y + 2 * np.sin(3 * y) + np.random.default_rng(1).normal(size=N)
    column, edges = table()[feature], None
    if found.levels is not None:
        at = found.levels.codes(column).astype(float)
    else:
        at = found.axis.coordinates_of(column.to_numpy(), "observed")
        if len(np.unique(at)) > 12:
            edges = np.nanquantile(at, np.linspace(0, 1, 13))
    return replace(
        found,
        observed=observed_of(at, labels, y, edges, GROUPS if split else None, HEBREW, "EUR"),
    )


@cache
def uncertainty() -> sd.Effect:
    """Return individual curves with elevated regions."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 2))
    return sd.explain(
        lambda X: np.exp(X[:, 0] * X[:, 1] * 2) + 4 * (X[:, 0] > 0.6), X, 0, method=sd.ICE(grid=15)
    )


@cache
def effects(method: str = "ale") -> sd.Effects:
    """Return the effects of all features."""
    return sd.explain(quantity(), table(), method=method)


@cache
def difference(feature: str) -> EffectDifference:
    """Return the difference of the effects of a feature in two halves of the rows."""
    halves = [sd.explain(quantity(), table().iloc[k::2], feature, method="ale") for k in (0, 1)]
    return halves[0] - halves[1]


@cache
def factors() -> RatingTable:
    """Return the factors of a cost whose logarithm is explained."""
    q = sd.prediction(lambda X: np.exp(model(X) / 5), inverse="log", name="cost of the treatment")
    return sd.explain(q, table(), method="ale").factors()


@cache
def fitted() -> list[Callable[[pd.DataFrame], np.ndarray]]:
    """Return three models."""
    return [model, lambda X: 1.3 * model(X), lambda X: model(X) + X["risk"].to_numpy() ** 2]


@cache
def models(feature: str) -> sd.MultiModelEffect:
    return sd.explain(fitted(), table(), feature, method="ale", cv=np.arange(N) % 3)


@cache
def models_effects() -> sd.MultiModelEffects:
    return sd.explain(fitted(), table(), method="ale", cv=np.arange(N) % 3)


@cache
def models_importance() -> sd.MultiModelImportance:
    y = model(table()) + np.random.default_rng(1).normal(size=N)
    losses = [sd.loss(m, "squared_error") for m in fitted()]
    return sd.explain(losses, table(), method=sd.PFI(n_repeats=3), y=y, cv=np.arange(N) % 3)


@cache
def surface(a: str, b: str, method: str | sd.ALE = "ale") -> sd.Surface:
    return sd.explain(quantity(), table(), (a, b), method=method)


@cache
def importance() -> Importance:
    """Return importances with repeats, one of them negative."""
    rng = np.random.default_rng(2)
    names = tuple(map(str, table().columns))
    values = rng.gamma(1.0, size=(len(names), 1)) + 0.1 * rng.normal(size=(len(names), 8))
    values[3] = -0.1 + 0.1 * rng.normal(size=8)
    own = rng.uniform(size=50)
    after = own[:, None] + rng.exponential(size=(len(names), 50, 3))
    local = LocalImportance(names, np.arange(50), own, after, None, exact=True)
    error = np.full(len(names), 0.15)
    return Importance(
        names, values, error, np.full(len(names), 12.0), 0.5, N, "entropy", "nats", local=local
    )


@cache
def variance_shares() -> VarianceShares:
    """Return variance shares with long names, thin parts, a negative part, and curves that explain nothing."""
    shares = {
        "main effects": 0.6,
        f"regions of {LONG}": 0.15,
        f"regions of {CHINESE}": 0.06,
        f"{HEBREW} × {ARABIC}": 0.05,
        "a × b": -0.01,
        "not explained": 0.15,
    }
    kinds = ("main", "regions", "regions", "pairs", "pairs", "unexplained")
    parts = tuple(
        VariancePart(name, kind, (), 0.9, share, 0.01)
        for kind, (name, share) in zip(kinds, shares.items(), strict=True)
    )
    return VarianceShares(parts, -0.9, 0.05, "ALE", 2.0, 5000, 5000)


@cache
def drift() -> sd.Drift:
    """Return a drift with long names, groups of rows in both parts, and parts of either sign."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(1200, 4)), columns=[LONG, CHINESE, HEBREW, ARABIC])
    new = X[600:] * 1.1 + np.array([0.9, -0.6, 0.0, 0.0])

    def model(X: pd.DataFrame) -> np.ndarray:
        x = X.to_numpy()
        return 3 * x[:, 0] + x[:, 0] * x[:, 1] + 2 * x[:, 1]

    return sd.drift(
        sd.prediction(model, unit="€"),
        X[:600],
        sd.prediction(lambda X: model(X) + 2.0 * (X[HEBREW] > 0.5).to_numpy(), unit="€"),
        new,
        progress=False,
    )


def diagnosis() -> Diagnosis:
    names = tuple(map(str, table().columns))
    at = np.random.default_rng(3).gamma(1.0, 0.3, size=(len(names), 2))
    kinds = (
        "unused",
        "independent",
        "shared",
        "uninformative",
        "independent",
        "shared",
        "undecided",
        "misleading",
    )
    measures = [
        Importance(
            names,
            np.repeat(at[:, [k]], 5, axis=1),
            np.full(len(names), 0.02),
            np.full(len(names), 20.0),
            0.5,
            N,
            q,
            "nats",
        )
        for k, q in enumerate(("negative log-likelihood", "entropy"))
    ]
    r2 = np.full(len(names), np.nan)
    verdicts = tuple(Verdict(f, k, "", "") for f, k in zip(names, kinds, strict=True))
    return Diagnosis(
        *measures, r2, r2.copy(), ((),) * len(names), verdicts, 0.95, ("3 rows without a label",)
    )


@cache
def calibration(method: Literal["isotonic", "bins"] = "isotonic") -> sd.Calibration:
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 9, size=(800, 1))
    y = np.minimum(X[:, 0], 6) + rng.normal(size=800)
    quantity = sd.prediction(lambda X: X[:, 0], name=ARABIC, unit="kg")
    return sd.calibration(quantity, X, y, method=method)


GROUPS = np.array([LONG, CHINESE, HEBREW])[np.arange(N) % 3]

FIGURES: dict[str, Callable[[], FigureSpec]] = {
    "ale": lambda: effect_figure(effect(LONG)),
    "rhale": lambda: effect_figure(effect(ARABIC, "rhale")),
    "missing": lambda: effect_figure(effect(CHINESE)),
    "few values": lambda: effect_figure(effect(HEBREW)),
    "nominal": lambda: effect_figure(effect("city")),
    "ordinal": lambda: effect_figure(effect("grade", "pdp")),
    "time": lambda: effect_figure(effect("admitted")),
    "m-plot": lambda: effect_figure(effect(LONG, "mplot")),
    "observed": lambda: effect_figure(observed(LONG, "rhale")),
    "observed, by a split": lambda: effect_figure(observed(CHINESE, split=True)),
    "observed at few values": lambda: effect_figure(observed(HEBREW, split=True)),
    "observed at levels": lambda: effect_figure(observed("city", split=True)),
    "observed at ordered levels": lambda: effect_figure(observed("grade", "pdp")),
    "observed at times": lambda: effect_figure(observed("admitted", split=True)),
    "observed on another scale": lambda: effect_figure(
        observed(ARABIC), EffectPlotOptions(scale="difference")
    ),
    "observed beside curves of rows": lambda: effect_figure(observed("risk", "pdp")),
    "coloured": lambda: effect_figure(
        effect(LONG, "pdp"), EffectPlotOptions(color=GROUPS, histogram=True)
    ),
    "coloured by numbers": lambda: effect_figure(
        effect("risk", "pdp"), EffectPlotOptions(color=table()[ARABIC], color_name=ARABIC)
    ),
    "own": lambda: effect_figure(effect("risk", "ice"), EffectPlotOptions(own=True)),
    "elevated": lambda: effect_figure(uncertainty(), EffectPlotOptions(elevated_regions=True)),
    "overlay": lambda: overlay_figure([effect(LONG, m) for m in ("ale", "pdp", "mplot")]),
    "overlaid levels": lambda: overlay_figure(
        [effect("city", m) for m in ("ale", "pdp")], [LONG, CHINESE]
    ),
    "compared effects": lambda: compare_figure(effects(), effects("pdp")),
    "compared surfaces": lambda: compare_figure(
        surface("risk", LONG), surface("risk", LONG, sd.ALE(bins=4))
    ),
    "models": lambda: models_figure(models(LONG)),
    "models of levels": lambda: models_figure(models("city")),
    "models importance": lambda: models_importance_figure(models_importance()),
    "importance": lambda: importance_figure(importance()),
    "local": lambda: permutation_figure(importance(), top=6),
    "surface": lambda: surface_figure(
        surface("risk", LONG), SurfacePlotOptions(confidence_level=0.95)
    ),
    "bands": lambda: surface_figure(surface("city", LONG, "pdp")),
    "tiles": lambda: surface_figure(surface("city", "grade", "pdp")),
    "cells": lambda: surface_figure(surface("risk", ARABIC), SurfacePlotOptions(step=True)),
    "diagnosis": lambda: diagnosis_figure(diagnosis()),
    "variance_shares": lambda: variance_shares_figure(variance_shares()),
    "drift": lambda: drift_figure(drift()),
    "effects": lambda: effects_figure(effects()),
    "effects of models": lambda: models_effects_figure(models_effects()),
    "overview": lambda: overview_figure(importance_points(effects())),
    "overview with regions": lambda: overview_figure(
        importance_points(effects()),
        regions={
            f: RegionsPoint(1.2 * e.importance, 0.4 * e.heterogeneity_score, 3)
            for f, e in effects().items()
        },
    ),
    "summary": lambda: effect_summary_figure(effect(LONG)),
    "summary of levels": lambda: effect_summary_figure(effect("city")),
    "summary of models": lambda: models_summary_figure(
        [effect(LONG), effect(LONG, "pdp")], [LONG, HEBREW]
    ),
    "calibration": lambda: calibration_figure(calibration()),
    "calibration in bins": lambda: calibration_figure(calibration("bins")),
    "calibrations": lambda: calibrations_figure({LONG: calibration(), HEBREW: calibration("bins")}),
    "difference of effects": lambda: effect_difference_figure(difference(CHINESE)),
    "difference of levels": lambda: effect_difference_figure(difference("city")),
    "factors": lambda: factors_figure(factors()["city"]),
    "factors of numbers": lambda: factors_figure(factors()[CHINESE]),
    "rating table": lambda: rating_table_figure(factors()),
}
"""Name → figure function with its arguments."""


@cache
def figure(name: str) -> FigureSpec:
    """Return a figure of a kind."""
    return FIGURES[name]()
