"""Make the pictures of the README and the documentation: ``python docs/images/make.py``.

``bikes.png``: for whom the hour matters how: rentals of bicycles on workdays and on other days. It needs the data set,
which is downloaded if no folder has it.

``rhale.png``: a drug's effect by its dose, as a model may have learned it. Above 4 mg one half of the
patients gains what the other half loses: the average is flat there, and does not tell.

``pairs.png``: a product of correlated features, but for what the function says where no row lies (Bodensteiner,
"Comparison of ALE and PDP", figure 6.12). The PDP is made of such rows; the ALE with main effects never sees them.

``recursion.png``: a forest of two features that go together. Its partial dependence, exact at every jump, beside
scikit-learn's "recursion", which weighs branches by the rows that the model was trained on.

Pictures of reports are screenshots: ``python -m tools.screenshots --docs``.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt  # noqa: TID253
import numpy as np
import pandas as pd  # noqa: TID253
from lightgbm import LGBMRegressor  # noqa: TID253
from PIL import Image
from sklearn.ensemble import RandomForestRegressor  # noqa: TID253
from sklearn.inspection import partial_dependence  # noqa: TID253

import skedasis as sd
from skedasis.datasets import load

HERE = Path(__file__).parent
PIXELS = 900
LIMIT = 4.0


def patients(n: int) -> pd.DataFrame:
    """Return dose, age and whether a gene is there, of `n` patients."""
    rng = np.random.default_rng(1)
    dose = 10 * rng.beta(1.5, 1.5, n)
    return pd.DataFrame(
        {"dose": dose, "age": rng.normal(50, 12, n), "gene": rng.integers(0, 2, n).astype(float)}
    )


def slopes(X: pd.DataFrame) -> tuple[Any, Any]:
    """Return what one more milligram does below and above the limit."""
    strength = 1.4 + 0.02 * (X["age"] - 50)
    return strength, np.where(X["gene"] > 0, strength, -strength)


def response(X: pd.DataFrame) -> Any:
    """Return the model's prediction."""
    below, above = slopes(X)
    dose = X["dose"]
    return np.asarray(below * np.minimum(dose, LIMIT) + above * np.maximum(dose - LIMIT, 0))


def derivatives(X: pd.DataFrame) -> Any:
    """Return the prediction's derivatives; only the first column is looked at."""
    below, above = slopes(X)
    return np.column_stack([np.where(X["dose"] > LIMIT, above, below), np.zeros((len(X), 2))])


def correlated(n: int) -> pd.DataFrame:
    """Return three features; x3 follows x2, the more closely the smaller x1 is."""
    rng = np.random.default_rng(1)
    x1, x2 = rng.uniform(0, 0.5, n), rng.normal(5, 1, n)
    return pd.DataFrame({"x1": x1, "x2": x2, "x3": rng.normal(x2, x1)})


def product(X: pd.DataFrame) -> Any:
    """Return x1 x2 x3, but x3³ where no row lies."""
    nowhere = (X["x3"] >= 6) & (X["x2"] <= 4)
    return np.asarray(np.where(nowhere, X["x3"] ** 3, X["x1"] * X["x2"] * X["x3"]))


def write(figure: Any, name: str, pixels: int = PIXELS, colours: int = 128) -> None:
    """Write a picture; so many colours are enough, and half the size."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=pixels / figure.get_figwidth())
    small = Image.open(buffer).convert("RGB").quantize(colours)
    small.save(HERE / f"{name}.png", optimize=True)


def one_feature() -> None:
    """Write `rhale.png`."""
    X = patients(600)
    quantity = sd.prediction(response, slope=derivatives, name="relief", unit="points")
    schema = {"dose": sd.Feature("dose", unit="mg")}
    write(sd.explain(quantity, X, "dose", schema=schema).plot(), "rhale")


def bikes() -> None:
    """Write `bikes.png`."""
    raw = load("bike_sharing_hour")
    X = pd.DataFrame(
        {
            "hour": raw.X["hr"],
            "workday": raw.X["workingday"] == 1,
            "month": raw.X["mnth"],
            "year": 2011 + raw.X["yr"],
            "temp": (47 * raw.X["temp"] - 8).round(1),
            "humidity": (100 * raw.X["hum"]).round(),
        }
    )
    new = np.arange(len(X)) % 3 == 0
    model = LGBMRegressor(
        n_estimators=300, learning_rate=0.05, random_state=0, n_jobs=1, verbose=-1
    )
    model.fit(X[~new], raw.y[~new])
    quantity = sd.prediction(model, name="rentals", unit="bikes per hour")
    regions = sd.regions(quantity, X[new], "hour", max_depth=1)
    write(regions.plot(kind="together", size=(8.6, 5.0)), "bikes")


def two_features() -> None:
    """Write `pairs.png`."""
    X = correlated(500)
    quantity = sd.prediction(product, name="f")
    grid = {"x1": np.linspace(0.01, 0.49, 25), "x2": np.linspace(2.5, 7.5, 41)}
    pdp = sd.explain(quantity, X, ("x1", "x2"), method=sd.PDP(grid=grid))
    ale = sd.explain(quantity, X, ("x1", "x2"), method=sd.ALE(bins=10))
    (left, *_, right), (lower, *_, upper) = grid.values()
    both = {"PDP": pdp, "ALE with main effects": ale.with_main_effects()}
    figure = sd.compare(both, size=(9, 4.6), xlim=(left, right), ylim=(lower, upper))
    write(figure, "pairs", 3 * PIXELS // 2, 255)


def forest_of_two() -> None:
    """Write `recursion.png`."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=2000)
    X = np.column_stack([size, size + 0.3 * rng.normal(size=2000)])
    y = np.where(X[:, 0] > 0, 2.0, 0.0) * X[:, 1] + 0.1 * rng.normal(size=2000)
    forest = RandomForestRegressor(100, max_depth=8, n_jobs=1, random_state=0).fit(X, y)
    exact = sd.explain(forest, X, 1, method=sd.PDP(grid="exact", heterogeneity=False))
    by_counts = partial_dependence(forest, X, [1], method="recursion", percentiles=(0, 1))
    by_hand = partial_dependence(forest, X, [1], method="brute", grid_resolution=12)
    figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    ax.plot(
        exact.x,
        exact.value,
        color="black",
        lw=1.2,
        label=f"exact, {len(exact.x):,} points (skedasis)",
    )
    places = by_hand["grid_values"][0]
    moved = {"mfc": "white", "color": "black", "label": "all rows moved (scikit-learn, brute)"}
    ax.plot(places, by_hand["average"][0], "o", **moved)
    places = by_counts["grid_values"][0]
    dashed = {"color": "tab:orange", "lw": 1.8, "label": "scikit-learn, recursion"}
    ax.plot(places, by_counts["average"][0], "--", **dashed)
    ax.plot(X[:200, 1], np.full(200, exact.value.min() - 0.3), "|", color="black", ms=7)
    ax.set_xlabel("x1 (ticks: 200 of 2,000 rows)")
    ax.set_ylabel("mean prediction")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    write(figure, "recursion")
    plt.close(figure)


def main() -> None:
    """Write all pictures."""
    bikes()
    one_feature()
    two_features()
    forest_of_two()


if __name__ == "__main__":
    main()
