"""ALE of a nominal feature, beside PyALE; and of one with very many levels, beside nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import PyALE
from numpy.typing import NDArray

import skedasis as sd
from benchmarks.bench import Bench, Counted, largest_difference, must_ask
from benchmarks.lines import Alone, Speed
from benchmarks.peers import Estimator, seconds_of
from benchmarks.problem import Floats, Model, rows_of
from benchmarks.timing import Took

FEW, MANY = 10, 1_000
"""Levels beside PyALE, and alone."""

COLUMN = "level"
REACH = 10.0
SECONDS = 5.0
"""Within which many levels of a million rows must be done."""


@dataclass(frozen=True)
class Levelled:
    """The settings' problem with one nominal feature more, the last.

    Levels are neighbours where their rows are alike in the other features, and their numbers follow
    that order: whoever orders them by similarity finds it, from one end or the other, and whoever
    takes their numbers has it. Then both give the same answer. Names are in another order.

    Parameters
    ----------
    base : function
        The model of the other columns.
    X : ndarray, shape (n, d)
        The other columns.
    levels : int
    """

    base: Model
    X: Floats
    levels: int

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Return each row's level, shape (n,); the first ones are the most frequent."""
        n = len(self.X)
        place = self.X[:, 0] + np.random.default_rng(3).normal(size=n) / 2
        share = np.empty(n)
        share[np.argsort(place)] = np.arange(n) / n
        return (self.levels * share**1.5).astype(np.intp)

    @cached_property
    def lift(self) -> Floats:
        """Return what a level adds to the slope of the first feature, shape (levels,)."""
        return np.sin(1.7 * np.arange(self.levels))

    @cached_property
    def names(self) -> NDArray[np.str_]:
        """Return the levels' names, shape (levels,)."""
        order = np.random.default_rng(4).permutation(self.levels)
        return np.array([f"level {place:04}" for place in order])

    @cached_property
    def array(self) -> Floats:
        """Return the rows with the codes as their last column."""
        return np.column_stack([self.X, self.codes])

    @cached_property
    def coded(self) -> pd.DataFrame:
        """Return the array as a frame: one block of doubles, which is what PyALE is fastest with."""
        names = [f"x{j}" for j in range(self.X.shape[1])]
        return pd.DataFrame(self.array, columns=[*names, COLUMN])

    @cached_property
    def text(self) -> pd.DataFrame:
        """Return the rows with the names as text."""
        return self.coded.assign(**{COLUMN: pd.Series(self.names[self.codes], dtype="str")})

    @cached_property
    def categorical(self) -> pd.DataFrame:
        """Return the rows with the names as an unordered categorical."""
        return self.text.assign(**{COLUMN: self.text[COLUMN].astype("category")})

    @cached_property
    def hot(self) -> list[str]:
        """Return the names of the one-hot columns."""
        return [f"{COLUMN}_{name}" for name in self.names]

    @cached_property
    def predictors(self) -> list[str]:
        """Return the columns of the one-hot model, in its order."""
        return [*self.coded.columns[:-1], *self.hot]

    def encode(self, column: pd.DataFrame) -> pd.DataFrame:
        """Return the one-hot columns of the feature: PyALE's `encode_fun`."""
        blocks = pd.get_dummies(column, columns=[COLUMN], dtype=float)
        return blocks.reindex(columns=self.hot, fill_value=0.0)

    def of_codes(self, X: Floats) -> Floats:
        """Return the model of an array with codes."""
        d = self.X.shape[1]
        return self.base(X[:, :d]) + self.lift[X[:, d].astype(np.intp)] * X[:, 0]

    def of_hot(self, X: Floats) -> Floats:
        """Return the same of an array with one-hot columns."""
        d = self.X.shape[1]
        return self.base(X[:, :d]) + (X[:, d:] @ self.lift) * X[:, 0]

    def of_frame(self, X: pd.DataFrame) -> Floats:
        """Return the same of a frame with names, encoded exactly as PyALE encodes it."""
        wide = pd.concat([X.drop(COLUMN, axis=1), self.encode(X[[COLUMN]])], axis=1)
        return self.of_hot(wide[self.predictors].to_numpy())

    def ours(self, model: Model, X: Any, kind: str = "nominal", order: Any = None) -> Any:
        """Return our ALE of the feature."""
        feature = COLUMN if isinstance(X, pd.DataFrame) else X.shape[1] - 1
        return sd.explain(
            sd.prediction(model), X, feature, method=sd.ALE(order=order),
            schema={feature: kind}, heterogeneity_rows=0, progress=False,
        )  # fmt: skip

    def pyale(self, model: Model, feature_type: str) -> pd.DataFrame:
        """Return PyALE's: "categorical", ordered by similarity, or "discrete", in order of codes."""
        X, special = self.coded, {}
        if feature_type == "categorical":
            # It writes its order into the frame, and would find the levels ordered the next time.
            X = self.text.copy(deep=False)
            special = {"encode_fun": self.encode, "predictors": self.predictors}
        return PyALE.ale(
            X, Estimator(model).fit(X), [COLUMN], feature_type, plot=False, **special
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Way:
    """One way to hand the feature to us: the model, its rows, and what the feature is said to be."""

    what: str
    model: Model
    X: Any
    kind: str = "nominal"


def categories(bench: Bench) -> Iterator[Speed]:
    """Measure a nominal feature of ten levels in several forms."""
    p = Levelled(bench.problem.model, bench.problem.rows, FEW)
    text = Way("text", p.of_frame, p.text)
    categorical = Way("categorical", p.of_frame, p.categorical)
    codes = Way("codes", p.of_codes, p.array)
    ordinal = Way("ordinal codes", p.of_codes, p.array, "ordinal")
    notes = {
        text: "both one-hot encode for the same model",
        categorical: "both one-hot encode for the same model; theirs: text",
        codes: "theirs: one-hot of text",
    }
    yield from _beside(bench, p, "categorical", p.of_hot, notes)
    notes = {codes: "theirs: seeks no order", ordinal: "neither seeks an order"}
    yield from _beside(bench, p, "discrete", p.of_codes, notes)


def _beside(
    bench: Bench, p: Levelled, feature_type: str, model: Model, notes: dict[Way, str]
) -> Iterator[Speed]:
    """Let all ways and PyALE take turns."""
    runs = {way.what: lambda way=way: p.ours(way.model, way.X, way.kind) for way in notes}
    t, got = bench.run({**runs, "theirs": lambda: p.pyale(model, feature_type)})
    counted = Counted(model)
    p.pyale(counted, feature_type)
    for way, note in notes.items():
        work = f"ALE of {p.levels} levels, {way.what}"
        asked = _asked(p, way, got[way.what], work)
        yield Speed(
            "categories", work, f"PyALE {feature_type}", t[way.what], t["theirs"],
            asked * seconds_of(way.model, way.X), asked, counted.rows,
            _differ(p, way, got[way.what], got["theirs"]), 1e-9, REACH, note, bench.settings.n,
        )  # fmt: skip


def _asked(p: Levelled, way: Way, result: Any, work: str, order: Any = None) -> int:
    """Return the model rows of one call: each row itself, and at each level next to its own."""
    counted = Counted(way.model)
    p.ours(counted, way.X, way.kind, order)
    ends = int(result.levels.count[[0, -1]].sum())
    must_ask(work, result, counted.rows, 3 * len(p.X) - ends)
    return counted.rows


def _differ(p: Levelled, way: Way, ours: Any, theirs: pd.DataFrame) -> float:
    """Return the largest difference level by level; the direction of an order changes no value.

    Its quantiles lie at 0, 0.01, ..., 0.99 instead of 100 places from 0 to 1: of few rows it may
    find another order, on which ours is then compared.
    """
    order = theirs.index.tolist()
    if isinstance(way.X, np.ndarray):
        code = {name: float(k) for k, name in enumerate(p.names.tolist())}
        order = [code.get(level, level) for level in order]
    if ours.x.tolist() not in (order, order[::-1]):
        ours = p.ours(way.model, way.X, way.kind, order)
    by_level = dict(zip(order, theirs["eff"], strict=True))
    return largest_difference(ours.value, [by_level[level] for level in ours.x.tolist()])


def levels(bench: Bench) -> Iterator[Alone]:
    """Measure very many levels of ten times the rows, and what their order is of it."""
    n = 10 * bench.settings.n
    p = Levelled(bench.problem.model, rows_of(n, bench.settings.d), MANY)
    way = Way("codes", p.of_codes, p.array)
    order = p.ours(way.model, way.X).x.tolist()
    t, got = bench.run(
        {
            "similar": lambda: p.ours(way.model, way.X),
            "given": lambda: p.ours(way.model, way.X, order=order),
        },
        min(5, bench.settings.repeats),
    )
    same = largest_difference(got["given"].value, got["similar"].value) == 0
    work = f"ALE of {p.levels:,} levels"
    yield Alone(
        "levels", f"{work}, ordered by similarity", n, t["similar"],
        _asked(p, way, got["similar"], work), SECONDS, _share(t["similar"], t["given"]),
    )  # fmt: skip
    asked = _asked(p, way, got["given"], work, order)
    yield Alone(
        "levels", f"{work}, order given", n, t["given"], asked, None, "same values", same
    )  # fmt: skip


def _share(whole: Took, rest: Took) -> str:
    wall, cpu = 1 - rest.wall / whole.wall, 1 - rest.cpu / whole.cpu
    return f"the order's share: {wall:.0%} (cpu {cpu:.0%})"
