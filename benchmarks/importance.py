"""Permutation importance beside scikit-learn; an entropy beside its model; two measures from one pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import skedasis as sd
from benchmarks.bench import Bench, largest_difference, must_ask
from benchmarks.fitted import REPEATS, Case, classes_of, numbers_of, regression, with_method
from benchmarks.lines import Line, Space, Speed
from benchmarks.memory import peak
from benchmarks.problem import Floats

CALL = 20_000
"""Rows that a permutation importance asks a model for in one call."""

CERTAIN = 6.0
"""Two means of random draws that are so many of their standard errors apart are not the same."""


def importance(bench: Bench) -> Iterator[Line]:
    """Measure importances, then what an entropy adds to its model, then two measures at once."""
    yield from _permuted(bench)
    yield from _peaks(bench)
    yield from _read(bench)
    yield from _both(bench)


def _permuted(bench: Bench) -> Iterator[Speed]:
    X = bench.problem.rows
    yield _beside(bench, regression(X), "LinearRegression", 1.5)
    for classes in (2, 3):
        y = classes_of(X, classes)
        logistic = Case(LogisticRegression().fit(X, y), X, y, "log_loss")
        yield _beside(bench, logistic, f"LogisticRegression, {classes} classes")
    few = bench.problem.rows[: bench.settings.n // 10]
    y = numbers_of(few)
    forest = Case(RandomForestRegressor(random_state=0).fit(few, y), few, y)
    yield _beside(bench, forest, f"forest, N = {len(few):,}")


def _beside(bench: Bench, case: Case, what: str, reach: float | None = None) -> Speed:
    """Let both take turns, and the model alone with them."""
    (n, d), work = case.X.shape, f"PFI of {case.loss.replace('_', ' ')}, R = {REPEATS}"
    t, got = bench.run({"ours": case.ours, "theirs": case.theirs, "model": case.alone})
    asked, result = case.counted(case.ours)
    their_rows, _ = case.counted(case.theirs)
    must_ask(work, result, asked, n * (1 + REPEATS * d))
    difference, tolerance = _means_differ(got["ours"].values, got["theirs"].importances)
    return Speed(
        "importance", work, "scikit-learn", t["ours"], t["theirs"], asked / n * t["model"].wall,
        asked, their_rows, difference, tolerance, reach, what, n * d,
    )  # fmt: skip


def _means_differ(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Return by how much the means differ, and by how much those of different draws may.

    Parameters
    ----------
    ours, theirs : ndarray of float, shape (features, repeats)
    """
    scale = np.abs(theirs.mean(axis=1)).max()
    error = np.sqrt((ours.var(axis=1, ddof=1) + theirs.var(axis=1, ddof=1)).max() / REPEATS)
    difference = largest_difference(ours.mean(axis=1), theirs.mean(axis=1))
    return difference, float(CERTAIN * error / scale)


def _peaks(bench: Bench) -> Iterator[Space]:
    """Measure peaks of memory: resident, and as NumPy and Python ask for it."""
    sizes = (20_000,) if bench.settings.quick else (100_000, 1_000_000)
    work = f"PFI of squared error, R = {REPEATS}"
    for n in sizes:
        for how in ("resident", "allocated"):
            ours, theirs = (
                peak(library, "pfi", n, bench.settings.d, how=how)
                for library in ("skedasis", "scikit-learn")
            )
            yield Space("importance", work, n, ours, theirs / 2, f"{how}; half of theirs")
            yield Space("importance", f"scikit-learn: {work}", n, theirs, None, how)


@dataclass(frozen=True, eq=False)
class Reading:
    """A model that is asked for up to `CALL` rows at a time, and what is read off its answers.

    Parameters
    ----------
    what : str
    model : object
    X : ndarray of float, shape (n, d)
    y : ndarray, shape (n,)
    gaussian : bool
        Whether the model answers with means and deviations, else with probabilities.
    passes : int
        How often all rows are gone through in one timed run: again and again, as a method does.
    """

    what: str
    model: Any
    X: Floats
    y: Any
    gaussian: bool = False
    passes: int = 10

    @property
    def parts(self) -> list[slice]:
        """Return which rows are asked for at a time."""
        return [slice(k, k + CALL) for k in range(0, len(self.X), CALL)]

    def ask(self) -> list[Any]:
        """Call the model alone."""
        if self.gaussian:
            return [self.model.predict(self.X[part], return_std=True) for part in self.parts]
        return [self.model.predict_proba(self.X[part]) for part in self.parts]

    def read(self, make: Callable[[Any], Any], answers: tuple[Floats, ...]) -> Callable[[], Floats]:
        """Return what reads a quantity off answers that are there already: all but the model."""
        place = 0

        def answer(X: Any, **_: Any) -> Any:
            nonlocal place
            first, last = place, place + len(X)
            place = last % len(self.X)
            some = tuple(a[first:last] for a in answers)
            return some if self.gaussian else some[0]

        q = make(with_method(self.model, "predict" if self.gaussian else "predict_proba", answer))
        labels = q.encoded(self.y) if q.labelled else None

        def run() -> Floats:
            targets = (None if labels is None else labels[part] for part in self.parts)
            found: list[Floats] = []
            for part, y in zip(self.parts, targets, strict=True):
                raw = q.raw(self.X[part])
                found.append(q.read(raw, y))
                q.floored(raw, y)
            return np.concatenate(found)

        return run

    def joined(self, answers: list[Any]) -> tuple[Floats, ...]:
        """Return the answers of all rows."""
        if self.gaussian:
            return tuple(np.concatenate([a[k] for a in answers]) for k in (0, 1))
        return (np.concatenate(answers),)

    def expected(self, answers: tuple[Floats, ...]) -> dict[str, Floats]:
        """Return the entropies and negative log-likelihoods by SciPy."""
        if self.gaussian:
            normal = scipy.stats.norm(*answers)
            return {"entropy": normal.entropy(), "nll": -normal.logpdf(self.y)}
        p = answers[0]
        own = np.maximum(p[np.arange(len(p)), self.y], np.finfo(p.dtype).eps)
        return {"entropy": scipy.stats.entropy(p, axis=1), "nll": -np.log(own)}


def _readings(bench: Bench) -> Iterator[Reading]:
    X = bench.problem.rows
    for classes in (2, 3):
        y = classes_of(X, classes)
        logistic = LogisticRegression().fit(X, y)
        yield Reading(f"LogisticRegression, {classes} classes", logistic, X, y)
    y, few = classes_of(X, 3), len(X) // 10
    yield Reading("GaussianNB, 3 classes", GaussianNB().fit(X, y), X, y)
    forest = RandomForestClassifier(random_state=0).fit(X[:few], y[:few])
    yield Reading("forest, 3 classes", forest, X, y, passes=1)
    y = numbers_of(X)
    kernel = 9.0 * RBF(3.0) + WhiteKernel(1.0)
    process = GaussianProcessRegressor(kernel, optimizer=None).fit(X[:500], y[:500])
    yield Reading(f"Gaussian process, N = {few:,}", process, X[:few], y[:few], True, 1)


def _read(bench: Bench) -> Iterator[Speed]:
    """Measure what an entropy and a likelihood cost beside the model that they are read off."""
    for reading in _readings(bench):
        answers = reading.joined(reading.ask())
        makers = {"entropy": sd.entropy, "nll": sd.nll}
        runs = {name: reading.read(make, answers) for name, make in makers.items()}
        runs["model"] = reading.ask
        often = {name: functools.partial(_again, run, reading.passes) for name, run in runs.items()}
        t, got = bench.run(often)
        expected = reading.expected(answers)
        for name in makers:
            share = t[name].cpu / t["model"].cpu
            yield Speed(
                "importance", f"{name}: what it adds", "the model",
                t[name].times(1 / reading.passes), t["model"].times(1 / reading.passes),
                difference=largest_difference(got[name], expected[name]), tolerance=1e-9,
                reach=10.0, note=f"{reading.what}: {share:.1%} of its processor time",
            )  # fmt: skip


def _again(run: Callable[[], Any], times: int) -> Any:
    """Return the last answer of so many runs."""
    answer = None
    for _ in range(times):
        answer = run()
    return answer


def _both(bench: Bench) -> Iterator[Speed]:
    """Measure `diagnose`, which asks once, beside one importance of each measure."""
    X = bench.problem.rows
    y, few = classes_of(X, 2), len(X) // 10
    logistic = Case(LogisticRegression().fit(X, y), X, y, "log_loss")
    yield _diagnosed(bench, logistic, "LogisticRegression, 2 classes")
    X, y = X[:few], y[:few]
    forest = Case(RandomForestClassifier(random_state=0).fit(X, y), X, y, "log_loss")
    yield _diagnosed(bench, forest, f"forest, N = {few:,}")


def _diagnosed(bench: Bench, case: Case, what: str) -> Speed:
    (n, d), method = case.X.shape, sd.PFI(n_repeats=REPEATS)

    def ours(model: Any) -> Any:
        return sd.diagnose(
            model, case.X, case.y, n_repeats=REPEATS, dependence=False, progress=False, tree="off"
        )  # fmt: skip

    def apart(model: Any) -> Any:
        makers = {"likelihood": sd.nll, "entropy": sd.entropy}
        return {
            name: sd.explain(
                make(model), case.X, y=case.y, method=method, progress=False, tree="off"
            )
            for name, make in makers.items()
        }

    t, got = bench.run({
        "ours": lambda: ours(case.model), "theirs": lambda: apart(case.model), "model": case.alone,
    })  # fmt: skip
    work = f"diagnose, R = {REPEATS}"
    asked, result = case.counted(ours)
    must_ask(work, result, asked, n * (1 + REPEATS * d))
    # The same seed draws the same rows: both must find the same numbers.
    different = max(
        largest_difference(getattr(got["ours"], name).values, one.values)
        for name, one in got["theirs"].items()
    )
    return Speed(
        "importance", work, "two runs of PFI", t["ours"], t["theirs"],
        asked / n * t["model"].wall, asked, case.counted(apart)[0], different, 1e-12,
        note=what, unit=n * d,
    )  # fmt: skip
