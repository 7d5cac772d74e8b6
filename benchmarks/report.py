"""The whole report of a boosted model on one page: `sd.report` beside effector's `explain(...).to_html()`."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import effector
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import skedasis as sd
from benchmarks.bench import Bench, largest_difference
from benchmarks.fitted import with_method
from benchmarks.lines import Alone, Line, Speed
from benchmarks.problem import Floats
from benchmarks.timing import once

SIZES = {5_000: 6.0, 17_000: 10.0}
"""Rows, and how many times as fast a report of so many is to be."""
QUICK = (400, 800)
FEATURES = 11
CALLED_SECONDS = 8.0
"""Seconds in which the report of boosted trees that are called, of 5,000 rows, is to be written."""
MOST_ROWS, MOST_CALLS = 240_000, 40
"""Model rows and calls that the report of a smooth function of twenty features, at 400 rows, may ask for."""
ALL: dict[str, Any] = {"nof_instances": "all"}
"""By default effector takes 10,000 of the rows."""
REPEATS = 3


@dataclass(frozen=True)
class Work:
    """A boosted model of so many rows, and both libraries' pages of it.

    Parameters
    ----------
    n : int
    folder : Path
        Where pages are written.
    features : int
    called : bool
        Whether our page gets a function, which is called; otherwise the model, whose trees are evaluated.
    """

    n: int
    folder: Path
    features: int = FEATURES
    called: bool = False

    @cached_property
    def rows(self) -> Floats:
        """Return rows as tables have them: related numbers, whole numbers, a share."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n, self.features))
        X[:, 1:4] += 0.5 * X[:, :1]
        X[:, 4] = rng.integers(0, 24, self.n)
        X[:, 5] = rng.integers(0, 7, self.n)
        X[:, 6] = rng.random(self.n)
        return X

    @cached_property
    def labels(self) -> Floats:
        """Return labels to which two pairs of features contribute together."""
        X, rng = self.rows, np.random.default_rng(1)
        value = X[:, 0] * X[:, 1] + np.sin(X[:, 4] / 4) * (X[:, 5] < 5) + X[:, 2] + X[:, 6] ** 2
        return value + 0.3 * rng.normal(size=self.n)

    @cached_property
    def model(self) -> Any:
        """Return the fitted model."""
        return HistGradientBoostingRegressor(random_state=0).fit(self.rows, self.labels)

    def ours(self, model: Any = None) -> Any:
        """Write our page."""
        path, explained = self.folder / "ours.html", model or self.model
        if self.called:
            explained = explained.predict
        return sd.report(explained, self.rows, self.labels, path, progress=False)

    def theirs(self, model: Any = None) -> Any:
        """Write effector's page, of all rows."""
        predict = (model or self.model).predict
        with contextlib.redirect_stdout(io.StringIO()):  # it says what it found
            found = effector.explain(self.rows, predict, y=self.labels, **ALL)
            found.to_html(str(self.folder / "theirs.html"))
        return found

    def counted(self, ask: Callable[[Any], Any]) -> tuple[list[int], Any]:
        """Return the rows of each call of the model for a page, counted where it answers, and what the page shows."""
        rows, predict = list[int](), self.model.predict

        def count(X: Any) -> Any:
            rows.append(len(X))
            return predict(X)

        found = ask(with_method(self.model, "predict", count))
        return rows, found

    def difference(self, found: Any) -> float:
        """Return by how much the PDP on their page differs from ours on their grid: both have read the same model."""
        theirs = found.features[0]
        x, y = np.asarray(theirs.xs, dtype=float), np.asarray(theirs.y, dtype=float)
        effect = sd.explain(
            self.model,
            self.rows,
            int(theirs.feature),
            method=sd.PDP(grid=x),
            heterogeneity_rows=0,
            progress=False,
        )
        return largest_difference(effect.value - effect.value.mean(), y - y.mean())


class Smooth:
    """A model with a few interactions of twenty features."""

    def predict(self, X: Floats) -> Floats:
        """Return the predictions."""
        products = X[:, 0] * X[:, 1] + X[:, 3] * (X[:, 4] > 0)
        return products + np.sin(2 * X[:, 2]) + X[:, 5:].sum(axis=1)


@dataclass(frozen=True)
class SmoothWork(Work):
    """The same of a smooth function of independent features."""

    features: int = 20
    called: bool = True

    @cached_property
    def rows(self) -> Floats:
        """Return independent normal numbers."""
        return np.random.default_rng(0).normal(size=(self.n, self.features))

    @cached_property
    def model(self) -> Any:
        """Return the function."""
        return Smooth()


def report(bench: Bench) -> Iterator[Line]:
    """Measure whole pages: computed, drawn and written."""
    sizes = dict.fromkeys(QUICK) if bench.settings.quick else SIZES
    with tempfile.TemporaryDirectory() as folder:
        for n, reach in sizes.items():
            work = Work(n, Path(folder))
            alone, _ = once(partial(work.model.predict, work.rows))
            pages = {"ours": work.ours, "theirs": work.theirs}
            runs = {who: partial(work.counted, page) for who, page in pages.items()}
            t, got = bench.run(runs, min(REPEATS, bench.settings.repeats))
            (calls, _), (their_calls, theirs) = got["ours"], got["theirs"]
            rows, their_rows = sum(calls), sum(their_calls)
            yield Speed(
                "report", f"a whole report, N = {n:,}, D = {FEATURES}", "effector",
                t["ours"], t["theirs"], alone.wall * rows / n, rows, their_rows,
                work.difference(theirs), 1e-6, reach,
                f"boosted trees, walked; one page, {_size(work)}", n * FEATURES,
            )  # fmt: skip
    yield from called_reports(bench)


def called_reports(bench: Bench) -> Iterator[Line]:
    """Measure whole pages of models that are called: model rows beside effector, calls, and seconds."""
    quick = bench.settings.quick
    with tempfile.TemporaryDirectory() as folder:
        few, many = QUICK[0], QUICK[0] if quick else 5_000
        for work, seconds, most_rows, most_calls in (
            (SmoothWork(few, Path(folder)), None, MOST_ROWS, MOST_CALLS),
            (Work(many, Path(folder), called=True), CALLED_SECONDS, None, None),
        ):
            calls, _ = work.counted(work.ours)
            rows, their_rows = sum(calls), sum(work.counted(work.theirs)[0])
            t, _ = bench.run({"ours": work.ours}, 1)
            right = rows <= min(their_rows, most_rows or rows)
            note = f"{len(calls)} calls; effector's page asks for {their_rows:,} rows"
            if most_calls is not None:
                missed = " (missed)" if len(calls) > most_calls else ""
                note += f"; wanted: at most {most_rows:,} rows and {most_calls} calls{missed}"
            yield Alone(
                "report", f"a whole report of a callable, D = {work.features}", work.n, t["ours"], rows,
                None if quick else seconds, note, right,
            )  # fmt: skip


def _size(work: Work) -> str:
    """Return how large both pages are."""
    ours, theirs = ((work.folder / f"{who}.html").stat().st_size for who in ("ours", "theirs"))
    return f"{ours / 1e6:.1f} MB, theirs {theirs / 1e6:.1f} MB"
