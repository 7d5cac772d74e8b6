"""Random rows for comparing the library with `aleplot_reference`: two numbers and two categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NAMES = ("x0", "x1", "x2", "x3")
NOMINAL = {"x2": "nominal", "x3": "nominal"}
SHAPES = ("smooth", "ties", "whole", "tight", "heavy")
PLACES = ((0.0, 1.0), (0.0, 1.0), (1e6, 1.0), (0.0, 1e-9), (-3e9, 1e9))
"""Offsets and scales of the numbers."""


@dataclass(frozen=True)
class Case:
    """Rows of two numbers and two categories, a model, and the weights of the rows.

    `X` is the input of the library. `plain` and `weights_of_plain` are the same data for the reference: rows as floats,
    and whole weights as repeated rows. `orders` holds the levels in random order.
    """

    X: np.ndarray
    f: Callable[[Any], np.ndarray]
    weights: np.ndarray | None
    plain: np.ndarray
    weights_of_plain: np.ndarray | None
    orders: dict[str, list[float]]

    @property
    def size(self) -> float:
        """Return the largest absolute prediction, to which rounding errors are proportional."""
        return float(np.abs(self.f(self.plain)).max())

    def framed(self) -> tuple[Any, Any]:
        """Return the model and the rows as a data frame whose categories are text."""
        import pandas as pd

        names = {code: f"level {code:g}" for order in self.orders.values() for code in order}
        back = {name: code for code, name in names.items()}
        columns: dict[str, Any] = {n: self.X[:, j] for j, n in enumerate(NAMES[:2])}
        columns |= {n: [names[float(c)] for c in self.X[:, NAMES.index(n)]] for n in NOMINAL}

        def model(frame: Any) -> np.ndarray:
            numbers = [frame[n].to_numpy(dtype=float) for n in NAMES[:2]]
            codes = [np.array([back[name] for name in frame[n]], dtype=float) for n in NOMINAL]
            return self.f(np.column_stack(numbers + codes))

        return model, pd.DataFrame(columns)

    def named(self, order: list[float]) -> list[str]:
        """Return the names of levels in the data frame."""
        return [f"level {code:g}" for code in order]


def case(seed: int, rows: tuple[int, int] = (8, 36)) -> Case:
    """Draw a case."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(*rows))
    whole = rng.random() < 0.2
    somewhere = [p for p in PLACES if p[1] >= 1] if whole else PLACES
    shift, unit = np.array([somewhere[i] for i in rng.integers(0, len(somewhere), 2)]).T
    u = numbers(rng, n, ("whole",) if whole else SHAPES)
    codes = {name: rng.permutation(20)[: rng.integers(2, 6)].astype(float) for name in NOMINAL}
    places = [levels(rng, u[:, 0], len(c)) for c in codes.values()]
    sorts = [np.sort(c) for c in codes.values()]
    chosen = [c[p] for c, p in zip(sorts, places, strict=True)]
    X = np.column_stack([shift + u * unit, *chosen])
    if whole:
        X = X.astype(np.int64)
    elif rng.random() < 0.25:
        X = X.astype(np.float32)
    f = model(rng, shift, unit, sorts)
    weights, plain, left = weighted(rng, X)
    return Case(X, f, weights, plain, left, {n: list(c) for n, c in codes.items()})


def numbers(rng: np.random.Generator, n: int, shapes: tuple[str, ...]) -> np.ndarray:
    """Return two columns of n numbers of size 1, with at least two values each in the first two rows."""
    first, second = rng.choice(shapes, 2)
    u = rng.normal(size=(n, 2))
    u[:, 1] += rng.choice([0.0, 0.8]) * u[:, 0]
    for j, shape in enumerate((first, second)):
        if shape == "ties":
            u[:, j] = np.rint(2 * u[:, j]) / 2
        elif shape == "whole":
            u[:, j] = np.rint(3 * u[:, j])
        elif shape == "heavy":
            u[:, j] **= 3
    if second == "tight":  # most cells are then empty
        u[:, 1] = u[:, 0] + 0.02 * u[:, 1]
    u[:2] = [[-1.0, 2.0], [2.0, -1.0]]
    return u


def levels(rng: np.random.Generator, x: np.ndarray, size: int) -> np.ndarray:
    """Return codes of levels that depend on x; each level occurs once in the first rows."""
    ranks = np.argsort(np.argsort(x + rng.choice([0.1, 1.0, 9.0]) * rng.normal(size=len(x))))
    place = ranks * size // len(x)
    place[:size] = rng.permutation(size)
    return place


def model(
    rng: np.random.Generator, shift: np.ndarray, unit: np.ndarray, codes: list[np.ndarray]
) -> Callable[[Any], np.ndarray]:
    """Return a function in which all features interact; it is computed row by row."""
    a, b = rng.normal(size=(2, len(codes[0]), len(codes[1])))
    c, lift = rng.normal(size=6), rng.choice([0.0, 100.0])

    def f(X: Any) -> np.ndarray:
        X = np.asarray(X)
        u, v = ((X[:, j].astype(float) - shift[j]) / unit[j] for j in (0, 1))
        p, r = (np.searchsorted(codes[j], X[:, 2 + j].astype(float)) for j in (0, 1))
        smooth = c[0] * u + c[1] * u * v + c[2] * np.sin(u + 2 * v) + c[3] * u * v * v
        return lift + smooth + a[p, r] * (1 + c[4] * u) + b[p, r] * np.cos(v + c[5] * u)

    return f


def weighted(
    rng: np.random.Generator, X: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | None]:
    """Return weights, and the equivalent rows and weights for the reference."""
    n, plain = len(X), X.astype(float)
    kind = rng.choice(["none", "whole", "quarters", "any"])
    first = np.arange(n) < 6  # these rows hold all levels, and two values of each number
    if kind == "none":
        return None, plain, None
    if kind == "whole":
        whole = np.where(first, 1, 0) + rng.integers(0, 4, n)
        return whole.astype(float), np.repeat(plain, whole, axis=0), None
    quarters = (np.where(first, 1, 0) + rng.integers(0, 9, n)) / 4
    w = quarters if kind == "quarters" else rng.uniform(0.1, 3.0, n)
    return w, plain, w
