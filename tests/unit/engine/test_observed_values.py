"""What models are asked: whole numbers, levels and times as they occur, in their own type; floats in their range."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd

N = 300
METHODS = ["pdp", "ice", "mplot", "ale", "dale", "uale", "rhale", sd.PFI(n_repeats=2)]
CALLS: dict[str, Callable[[Any, pd.DataFrame], Any]] = {
    **{
        getattr(m, "name", m): lambda f, X, m=m: sd.explain(f, X, method=m, progress=False)
        for m in METHODS
    },
    **{
        f"pairs, {m}": lambda f, X, m=m: sd.explain(
            f, X, [("store", "at"), ("store", "x"), ("at", "x")], method=m, progress=False
        )
        for m in ("pdp", "ale", "dale")
    },
    "change": lambda f, X: sd.what_if(f, X, to={"level": "b"}),
    "regions": lambda f, X: sd.regions(f, X, "x"),
    "interactions": sd.interactions,
}


def data(dtype: str) -> pd.DataFrame:
    """Return rows with the numbers of stores, of which not all between the smallest and the largest occur."""
    rng = np.random.default_rng(0)
    stores = pd.Series(rng.integers(0, 200, N) * 3 + 7)
    if dtype == "int8":
        stores = stores // 6
    seconds = pd.to_timedelta(rng.integers(0, 10**7, N), unit="s")
    return pd.DataFrame(
        {
            "store": stores.astype(dtype),
            "at": pd.Timestamp("2020-01-01") + seconds,
            "x": rng.normal(size=N),
            "level": rng.choice(list("abc"), N),
        }
    )


class Spy:
    """A model of stores that are known, which notes what else it is asked."""

    def __init__(self, X: pd.DataFrame, *, smooth: bool) -> None:
        self.X, self.smooth, self.found = X, smooth, set[tuple[str, str]]()

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        for name in ("store", "at", "level"):
            if X[name].dtype != self.X[name].dtype:
                self.found.add((name, str(X[name].dtype)))
            if not set(X[name].tolist()) <= set(self.X[name].tolist()):
                self.found.add((name, "a value that does not occur"))
        step = 1e-3 * self.X["x"].std()
        if X["x"].min() < self.X["x"].min() - step or X["x"].max() > self.X["x"].max() + step:
            self.found.add(("x", "beyond its range"))
        store = X["store"].to_numpy(dtype=float)
        days = (X["at"] - pd.Timestamp("2020-01-01")).dt.total_seconds().to_numpy() / 86400
        own = store / 100 if self.smooth else np.sin(store)
        return own + 0.1 * X["x"].to_numpy() * (X["level"] == "a").to_numpy() + days / 100


@pytest.mark.parametrize(
    ("call", "dtype"),
    list(zip(CALLS, cycle(["int64", "int8", "Int64", "float64", "int64[pyarrow]"]), strict=False)),
)
def test_models_see_values_that_occur(call, dtype):
    X = data(dtype)
    # RHALE has local effects of its own for models that are smooth, and DALE needs one.
    model = Spy(X, smooth="dale" in call)
    CALLS[call](model, X)
    assert not model.found


def test_points_that_the_user_gives_may_be_fractions():
    X = data("int64")
    model = Spy(X, smooth=True)
    e = sd.explain(model, X, "store", method=sd.PDP(grid=[10.5, 20.5]))
    assert e.x.tolist() == [10.5, 20.5]
    assert e.provenance["promoted"] == "int64 to float64, for the points of the grid"
    assert "promoted" not in sd.explain(model, X, "store", method="pdp").provenance
