"""Make the pictures of the README: ``python docs/images/make.py``.

A drug's effect by its dose, as a model may have learned it. Above 4 mg one half of the patients gains what the other
half loses: the average is flat there, and does not tell.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
from PIL import Image

import skedasis as sd

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


def main() -> None:
    """Write both pictures."""
    X = patients(600)
    quantity = sd.prediction(response, slope=derivatives, name="relief", unit="points")
    schema = {"dose": sd.Feature("dose", unit="mg")}
    for method in (sd.RHALE(), sd.PDP(ice=100)):
        effect = sd.explain(quantity, X, "dose", method=method, schema=schema)
        figure = effect.plot()
        buffer = io.BytesIO()
        figure.savefig(buffer, dpi=PIXELS / figure.get_figwidth())
        # 128 colours are enough, and half the size.
        small = Image.open(buffer).convert("RGB").quantize(128)
        small.save(HERE / f"{method.name.lower()}.png", optimize=True)


if __name__ == "__main__":
    main()
