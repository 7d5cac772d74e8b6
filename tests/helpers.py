"""Shared by several test files: data, models that record their calls, and checks of error messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd

METHODS: dict[str, Callable[..., Any]] = {
    "ale": sd.ALE,
    "dale": sd.DALE,
    "ice": sd.ICE,
    "pdp": sd.PDP,
    "rhale": sd.RHALE,
    "uale": sd.UALE,
}
ACCUMULATED = ("ale", "dale", "rhale", "uale")
DEPENDENCE = ("pdp", "ice")
SLOPED = ("dale", "rhale", "uale")
PATTERN = re.compile(r"^.+: got .+, expected .+\. .+[.?!]$", re.DOTALL)

every_method = pytest.mark.parametrize("method", sorted(METHODS))
accumulated = pytest.mark.parametrize("method", ACCUMULATED)
sloped = pytest.mark.parametrize("method", SLOPED)


def paired(*values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return cases that have each value of each list: as many as the longest list has values."""
    lists = [list(v) for v in values]
    return [tuple(v[k % len(v)] for v in lists) for k in range(max(map(len, lists)))]


def observed(name: str, model: Any) -> Any:
    """Return what an M-plot averages by its name: the prediction of a model, the label or the residual."""
    return {"prediction": model, "label": sd.label(), "residual": sd.residual(model)}[name]


def usually(cases: Mapping[str, Any], *names: str) -> list[Any]:
    """Return all cases as parameters, of which those with other names are slow."""
    return [
        pytest.param(case, id=name, marks=() if name in names else pytest.mark.slow)
        for name, case in cases.items()
    ]


def table(n: int = 80, d: int = 3, seed: int = 0) -> np.ndarray:
    """Return n rows of d normal features."""
    return np.random.default_rng(seed).normal(size=(n, d))


def rows_of(container: Any) -> list[list[Any]]:
    """Return the rows of any container as lists."""
    if isinstance(container, np.ndarray):
        return container.tolist()
    if isinstance(container, pd.DataFrame):
        return [list(row) for row in container.itertuples(index=False)]
    if hasattr(container, "rows"):  # of Polars
        return [list(row) for row in container.rows()]
    return [list(row.values()) for row in container.to_pylist()]


def linear(X: np.ndarray) -> np.ndarray:
    """Return 3 x0 - x1; other columns of X have no effect."""
    return 3.0 * X[:, 0] - X[:, 1]


def bent(X: np.ndarray) -> np.ndarray:
    """Return a function that is nonlinear in x0, scaled by x1, plus x2."""
    return np.sin(2.0 * X[:, 0]) * (1.0 + X[:, 1] ** 2) + X[:, 2]


def bent_slope(X: np.ndarray) -> np.ndarray:
    """Return the partial derivatives of `bent`, one column for each column of X."""
    slope = np.zeros(X.shape)
    slope[:, 0] = 2.0 * np.cos(2.0 * X[:, 0]) * (1.0 + X[:, 1] ** 2)
    slope[:, 1] = np.sin(2.0 * X[:, 0]) * 2.0 * X[:, 1]
    slope[:, 2] = 1.0
    return slope


def frame(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Return two numeric and two text columns."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.uniform(size=n),
            "c": rng.choice(list("uvwx"), size=n),
            "d": rng.choice(["p", "q"], size=n),
        }
    )


def of_frame(X: Any) -> Any:
    """Return a function of all four columns of `frame`, in which c changes the effect of a."""
    code = X["c"].map({"u": 0.0, "v": 1.0, "w": 3.0, "x": 6.0}).fillna(9.0).astype(float)
    return X["a"] * code + 2 * X["b"] + code + 0.5 * (X["d"] == "p")


class Remembers:
    """A model that keeps a copy of the rows of each call."""

    def __init__(self, model: Callable[[Any], Any]) -> None:
        self.model = model
        self.seen: list[Any] = []

    def __call__(self, X: Any) -> Any:
        self.seen.append(X.copy() if hasattr(X, "copy") else X)
        return self.model(X)


def curve_extrapolations(checks):
    """Return the findings on rows of the curve that are far from the data, without that on rows of the score."""
    return [f for f in checks.of("extrapolation") if "at" in f.numbers]


def refused(kind: type[Exception], *words: str) -> Any:
    """Expect an error of this class whose message has the common format and contains all these words."""
    return _Refused(kind, words)


class _Refused:
    def __init__(self, kind: type[Exception], words: tuple[str, ...]) -> None:
        self.kind, self.words = kind, words
        self.raises = pytest.raises(kind)

    def __enter__(self) -> Any:
        self.info = self.raises.__enter__()
        return self.info

    def __exit__(self, *details: Any) -> Any:
        caught = self.raises.__exit__(*details)
        if caught:
            message = str(self.info.value)
            assert PATTERN.match(message), f"not 'what: got …, expected …. Fix.': {message}"
            for word in self.words:
                assert word in message, f"{word!r} is missing from: {message}"
        return caught


def same_effect(a: Any, b: Any, rtol: float = 1e-12) -> None:
    """Assert that two effects have the same numbers."""
    for name in ("x", "value", "heterogeneity", "std_error"):
        scale = float(np.nanmax(np.abs(getattr(b, name)), initial=0.0))
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=rtol, atol=rtol * scale, err_msg=name
        )
    assert a.importance == pytest.approx(b.importance, rel=rtol, abs=0)
    assert a.heterogeneity_score == pytest.approx(
        b.heterogeneity_score, rel=max(rtol, 1e-9), abs=rtol * (1 + b.importance), nan_ok=True
    )
    if b.bins is not None:
        np.testing.assert_array_equal(a.bins.count, b.bins.count)


def rise(effect: Any) -> float:
    """Return how much an effect rises from its left to its right end."""
    return float(effect.value[-1] - effect.value[0])
