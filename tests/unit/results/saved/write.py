"""Write one small result of every kind, and what each says, by the version of skedasis that is imported.

`files.tar.xz` has a folder for each format that `load` reads: `python write.py format_7`, by the last version that
wrote the format (format 6: version 0.2.0). A new format gets a folder before `FORMAT` changes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import skedasis as sd
from skedasis.results.io import save

# Version 0.2.0 had other names.
what_if: Any = getattr(sd, "what_if", None) or getattr(sd, "change", None)
variance_shares: Any = getattr(sd, "variance_shares", None) or getattr(sd, "ledger", None)

N = 32


def results() -> dict[str, Any]:
    """Return small results of all kinds, with axes, rows and parts of all kinds."""
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, size=(N, 3)) / 8  # small in a file
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.integers(-2, 3, N) / 16
    columns = pd.DataFrame(
        {
            "a": np.where(np.arange(N) % 8 == 0, np.nan, X[:, 0]),
            "grade": rng.integers(0, 3, N),
            "text": rng.choice(["x", "ü <b>"], N),
            "when": pd.date_range("2020-01-01", periods=N, freq="31h", tz="Europe/Berlin"),
            "took": pd.to_timedelta(rng.integers(0, 999, N), unit="s"),
        }
    )

    def f(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * (X[:, 1] > 0) + X[:, 2]

    def g(X: pd.DataFrame) -> np.ndarray:
        a = X["a"].fillna(0.5).to_numpy(float)
        day = X["when"].dt.dayofyear.to_numpy(float)
        took = X["took"].dt.total_seconds().to_numpy(float)
        return a * (X["text"] == "x").to_numpy() + a * X["grade"] + 0.1 * day + 0.01 * took

    def of(features: Any = None, *, method: Any = "ale", **options: Any) -> Any:
        keys = {"schema": {"grade": "ordinal"}, "sample_weight": 1.0 + np.arange(N) % 3}
        return sd.explain(g, columns, features, method=method, progress=False, **keys, **options)

    few = sd.ALE(bins=2)
    effects = sd.explain(f, X, [0, 1], method=few)
    models = [lambda X, k=k: k * f(X) for k in (1.0, 2.0)]
    losses = [sd.loss(m, "squared_error") for m in models]

    more = rng.integers(-8, 9, size=(100, 3)) / 8
    split: Any = {"method": few, "max_depth": 1, "split_on": [1]}

    def fit(X: np.ndarray, y: np.ndarray) -> Any:
        slopes = np.linalg.lstsq(X, y, rcond=None)[0]
        return lambda X: X @ slopes

    contrast = effects["x0"].contrast(-0.5, 0.5)
    found: dict[str, Any] = {
        "Effect": effects["x0"],
        "Effects": effects,
        "Surface": sd.explain(f, X, (0, 1), method=few),
        "Surfaces": sd.explain(f, X, [(0, 2)], method=few),
        "Importance": sd.explain(losses[0], X, y=y, method=sd.PFI(n_repeats=2, local=4)),
        "Regions": sd.regions(f, more, 0, **split),
        "RegionsByFeature": sd.regions(f, more, [0], **split),
        "Interactions": sd.interactions(f, X, max_rows=N),
        "VarianceShares": variance_shares(f, X, y=y, regions={}),
        "Diagnosis": sd.diagnose(lambda X: (f(X), np.full(len(X), 0.1)), X, y),
        "MultiModelEffect": sd.explain(models, X, 0, method=few, refits=True),
        "MultiModelEffects": sd.explain(models, X, [1], method=few, refits=True),
        "MultiModelSurface": sd.explain(models, X, (0, 1), method=few, refits=True),
        "MultiModelImportance": sd.explain(losses, X, y=y, method=sd.PFI(n_repeats=2), refits=True),
        "MultiModelRegions": sd.regions(models, more, 0, refits=True, **split),
        "MultiModelRegionsByFeature": sd.regions(models, more, [0], refits=True, **split),
        "Statistics": effects.statistics(y, replicates=5),
        "NullDistribution": sd.null_distribution(
            fit, X, y, method=few, n_repeats=2, progress=False
        ),
        "MultiOutput": sd.explain(
            sd.prediction(lambda X: np.c_[f(X), 2 * f(X)], output="all"), X, 0, method=few
        ),
        "Comparison": sd.explain({"f": f, "2f": lambda X: 2 * f(X)}, X, 0, method=few),
        "Change": what_if(f, X, {"x0": 0.1, "x2": "+10%"}, by="x1"),
        "Changes": what_if(f, X, {"up": {"x0": 0.1}, "10 %": {"x2": "+10%"}}),
        "Contrasts": effects.contrast({"x0": (-0.5, 0.5), "x1": (0.0, 0.2)}),
        "Contrast": contrast,
        "with a gap": sd.explain(f, more + 4 * (more > 0), 0, method="ale"),
        "AccumulatedEffect": of(["a", "took"], method=few),
        "ValueStepsEffect": sd.explain(f, (4 * X).astype(int), 0, method="ale"),
        "LevelStepsEffect": of("text", method=few),
        "LevelMeansEffect": of("text", method=sd.MPlot()),
        "MPlotEffect": of(["a"], method=sd.MPlot(bins=2)),
        "PartialDependence": of(["a", "text"], method=sd.ICE(grid=2)),
        "AccumulatedSurface": of(("a", "when"), method=few),
        "levels of a surface": of(("text", "grade"), method=few),
        "PartialDependenceSurface": of(("a", "took"), method=sd.PDP(grid=2)),
        "dict": {"one": contrast, "of several": {1: of("a", method=sd.UALE(bins=2))}},
    }
    return found


def said(result: Any) -> Any:
    """Return what a result writes as JSON."""
    if isinstance(result, dict):
        return {str(key): said(one) for key, one in result.items()}
    return result.to_dict(rows=True)


def main(folder: Path) -> None:
    """Write the results, and their documents in one file."""
    folder.mkdir(parents=True, exist_ok=True)
    documents: dict[str, Any] = {}
    for name, result in results().items():
        path = folder / f"{name.replace(' ', '_')}.npz"
        save(result, path)
        documents[path.stem] = said(sd.load(path))
        assert json.dumps(said(result)) == json.dumps(documents[path.stem]), name
    text = json.dumps(documents, ensure_ascii=False, separators=(",", ":"))
    (folder / "documents.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
