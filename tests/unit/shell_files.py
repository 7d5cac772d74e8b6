"""Files as in the examples of `skedasis --help`: a table of houses, and models in all formats that need no download."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

MODULE = """
import numpy as np, pandas as pd
from sklearn.linear_model import LogisticRegression

worth = {"north": 1.0, "south": 4.0}

def model(X):
    heat = 3 * X["gas"] + 5 * X["oil"]
    return X["size"] / 20 * (1 + (X["town"] == "south")) - X["age"] / 50 + X["town"].map(worth) + heat

def other(X):
    return X["size"] / 20 + 0.0 * X["age"]

def other2(X):
    return X["age, years"] + X["size"]

houses = pd.read_csv("houses.csv")
clf = LogisticRegression(max_iter=5000).fit(houses[["age", "size", "gas", "oil", "wood"]], houses["sold"])
"""
NUMBERS = ["age", "size", "zip", "gas", "oil", "wood"]


def houses(n: int = 160) -> pd.DataFrame:
    """Return a table of houses with their prices."""
    rng = np.random.default_rng(0)
    heating = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(0, 90, n).round(1),
            "size": rng.uniform(30, 200, n).round(1),
            "town": np.resize(["north", "south", "south"], n),
            "zip": np.resize([10, 20, 70], n),
            "gas": (heating == 0) * 1.0,
            "oil": (heating == 1) * 1.0,
            "wood": (heating == 2) * 1.0,
            "visits": rng.integers(1, 4, n),
        }
    )
    frame["price"] = (frame["size"] * 3 - frame["age"] + 10 * rng.normal(size=n)).round(2)
    frame["sold"] = np.where(frame["price"] + 100 * rng.normal(size=n) > 250, "yes", "no")
    return frame


def build(folder: Path) -> None:
    """Write the table, a module, and models as LightGBM text, skops and pickle into a folder."""
    frame = houses()
    frame.to_csv(folder / "houses.csv", index=False)
    frame.to_parquet(folder / "houses.parquet")
    frame.to_feather(folder / "houses.feather")
    (folder / "my.py").write_text(MODULE)
    lightgbm: Any = pytest.importorskip("lightgbm")
    fitted = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(frame[NUMBERS], frame["price"])
    fitted.booster_.save_model(folder / "model.txt")
    skops: Any = pytest.importorskip("skops.io")
    linear = LinearRegression().fit(frame[["size", "age"]], frame["price"])
    skops.dump(linear, folder / "model.skops")
    (folder / "model.pkl").write_bytes(pickle.dumps(linear))


def entered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to the folder, and remove its module from `sys.modules` afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    # The forests of a diagnosis take most of its time; how good they are is not tested in a shell.
    monkeypatch.setattr("skedasis.analysis.dependence.TREES", 20)
    yield folder
    sys.modules.pop("my", None)


def headings(page: str, tag: str) -> list[str]:
    """Return the texts of all elements with a tag in an HTML page."""

    class Reader(HTMLParser):
        found, depth = [], 0

        def handle_starttag(self, name, attributes):
            if name == tag:
                self.found, self.depth = [*self.found, ""], 1

        def handle_endtag(self, name):
            self.depth = 0 if name == tag else self.depth

        def handle_data(self, text):
            if self.depth:
                self.found[-1] += text

    reader = Reader()
    reader.feed(page)
    return [" ".join(text.split()) for text in reader.found]
