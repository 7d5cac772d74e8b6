"""One result of every kind, made once in a process; columns of every kind, with a hostile name."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import skedasis as sd
from skedasis.results.ale_statistics import NullDistribution

# Arrow's text, the default of pandas 3, holds no lone surrogates.
MARK = "\ufffd" if int(pd.__version__.split(".")[0]) >= 3 else chr(0xD800)
LONE, LONE_LEVEL = f"b{MARK}", f"a{MARK}"


@cache
def every_column() -> pd.DataFrame:
    """Return columns of all kinds, with missing values and a hostile name."""
    rng = np.random.default_rng(0)
    n = 200
    return pd.DataFrame(
        {
            "a": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(size=n)),
            LONE: rng.integers(0, 4, n).astype(float),
            "<script>": rng.choice(["x", "y", None, LONE_LEVEL], n),
            "when": pd.date_range("2020-01-01", periods=n, freq="7h", tz="Europe/Berlin"),
            "took": pd.to_timedelta(rng.integers(0, 99_999, n), unit="s"),
        }
    )


def of_every_column(X: pd.DataFrame) -> np.ndarray:
    """Return numbers that depend on all columns."""
    day = (X["when"] - pd.Timestamp("2020-01-01", tz="Europe/Berlin")).dt.total_seconds() / 86_400
    level = X["<script>"].map({"x": 1.0, "y": 2.0}).fillna(0.0)
    a = X["a"].fillna(0.5)
    return np.asarray(a**2 + a * level + X[LONE] + 0.1 * day + X["took"].dt.total_seconds() * 1e-4)


@cache
def every_result() -> dict[str, Any]:
    """Return one result of every kind, by its kind."""
    frame = every_column()
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(300, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=300)

    def f(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * np.sign(X[:, 1]) + X[:, 2]

    effects = sd.explain(f, X, method=sd.ALE(bins=4))
    models = [lambda X, k=k: k * f(X) for k in (1.0, 2.0)]
    losses = [sd.loss(m, "squared_error") for m in models]
    found: dict[str, Any] = {
        "Effect": effects["x0"],
        "Effects": effects,
        "Surface": sd.explain(f, X, (0, 1), method=sd.ALE(bins=3)),
        "Importance": sd.explain(losses[0], X, y=y, method=sd.PFI(n_repeats=3, local=20)),
        "Regions": sd.regions(f, X, 0, method=sd.ALE(bins=4)),
        "RegionsByFeature": sd.regions(f, X, method=sd.ALE(bins=4)),
        "Interactions": sd.interactions(f, X, max_rows=50),
        "VarianceShares": sd.variance_shares(f, X, y=y, regions={}),
        "Calibration": sd.calibration(f, X, y, method="bins", bins=4),
        "WeakSpots": sd.weak_spots(f, X, y),
        "Diagnosis": sd.diagnose(lambda X: (f(X), np.full(len(X), 0.1)), X, y, dependence=False),
        "MultiModelEffect": sd.explain(models, X, 0, method=sd.ALE(bins=4), refits=True),
        "MultiModelEffects": sd.explain(models, X, method=sd.ALE(bins=4), refits=True),
        "MultiModelSurface": sd.explain(models, X, (0, 1), method=sd.ALE(bins=3), refits=True),
        "MultiModelImportance": sd.explain(losses, X, y=y, method=sd.PFI(n_repeats=3), refits=True),
        "MultiModelRegions": sd.regions(models, X, 0, method=sd.ALE(bins=4), refits=True),
        "MultiModelRegionsByFeature": sd.regions(models, X, method=sd.ALE(bins=4), refits=True),
        "Statistics": effects.statistics(y, replicates=20),
        "NullDistribution": NullDistribution(
            {"x0": rng.uniform(size=(3, 3)), LONE: np.full((2, 3), np.nan)},
            {"x0": ("ALE", "prediction", "{}"), LONE: ("ALE", "prediction", "{}")},
            {"fits": 3},
        ),
        "Checks": sd.explain(of_every_column, frame, list(frame), method=sd.ALE(bins=40)).checks(),
        "HeterogeneityTest": effects["x0"].heterogeneity_test(),
        "VarianceDecomposition": effects["x0"].variance_decomposition(),
        "Ranking": effects.ranking(),
        "Surfaces": sd.explain(f, X, [(0, 1), (0, 2)], method=sd.ALE(bins=3)),
        "MultiOutput": sd.explain(
            sd.prediction(lambda X: np.c_[f(X), 2 * f(X)], output="all"), X, method=sd.ALE(bins=3)
        ),
        "Comparison": sd.explain({"f": f, "2f": lambda X: 2 * f(X)}, X, method=sd.ALE(bins=3)),
        "Change": sd.what_if(f, X, {"x0": 0.1, "x2": "+10%"}, by="x1"),
        "Changes": sd.what_if(f, X, {"up": {"x0": 0.1}, "10 %": {"x2": "+10%"}}, by="x1"),
        "RatingTable": sd.explain(
            sd.prediction(lambda X: np.exp(f(X)), inverse="log"), X, method=sd.ALE(bins=4)
        ).factors(),
        "Drift": sd.drift(f, X[:150], lambda X: f(X) + (X[:, 1] > 0), X[150:] + 0.5),
        "Contrasts": effects.contrast({"x0": (-0.5, 0.5), "x1": (0.0, 0.2)}),
    }
    one, two = (sd.explain(f, some, "x0", method=sd.ALE(bins=4)) for some in (X, X[::2]))
    found["EffectDifference"] = one - two
    found["Factors"] = found["RatingTable"]["x0"]
    found["Contrast"] = found["Contrasts"][0]
    found["LocalImportance"] = found["Importance"].local
    found["Statistic"] = found["Statistics"][0]
    found["Check"] = found["Checks"][0]
    return found
