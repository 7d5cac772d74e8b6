"""What interactions, regions and variance shares cost: H², who depends whom, first splits, regions beside `explain`."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import effector
import numpy as np
from effector.space_partitioning import Best
from lightgbm import LGBMRegressor

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.grown import grown_of
from benchmarks.lines import Alone, Line, Speed
from benchmarks.report import Work
from benchmarks.timing import once
from skedasis.stats.conditioning import code_numbers
from skedasis.stats.depends_on import Pairs, hat_functions, shares_explained
from skedasis.stats.regions import RegionSearch, slope_effects

GROUP = "interactions"

WORST = 2.0
"""How many times as long as `explain` regions of all features may take."""

MOST_ROWS = 2_500_000
"""Most model rows of the interactions of twenty features and 400 rows, by the defaults."""


def interactions(bench: Bench) -> Iterator[Line]:
    """Measure H² of boosted trees, the tables of all pairs, and dependence and regions beside `explain`."""
    quick, n, d = bench.settings.quick, bench.settings.n, bench.settings.d
    for rows, seconds in ((1_000, None),) if quick else ((10_000, 0.3), (10 * n, 20.0)):
        yield _of_trees(bench, rows, d, seconds)
    yield _beside_brute_force(bench, 60 if quick else 500, d)
    yield _called(bench, 60 if quick else 400, 2 * d)
    yield from _pairs_of_trees(bench, d)
    yield _tables(bench, 10_000, d)
    for rows, reach in ((2_000, None),) if quick else ((n, 6.0), (10 * n, 15.0)):
        yield _first_split(bench, rows, reach)
    yield from _beside_explain(bench, 2_000 if quick else n, d)
    for columns, features, seconds in (
        ((40, 2, None),) if quick else ((100, 5, 2.0), (200, 25, 15.0))
    ):
        yield _many_columns(bench, columns, features, seconds)
    yield _either(bench, 40 if quick else 100)
    yield _wide_shares(bench, *((200, 20, None) if quick else (300, 500, 20.0)))
    yield _shares_of_page(bench, *((400, None) if quick else (5_000, 0.6)))


def _of_trees(bench: Bench, rows: int, d: int, seconds: float | None) -> Alone:
    grown = grown_of("LightGBM", rows, d, bench.settings.quick)

    def found() -> Any:
        q = grown.model
        return sd.interactions(
            q, grown.X, ale=False, heterogeneity_rows=0, tree="force", progress=False
        )

    once(found)  # kernels are compiled, or read
    t, got = bench.run({"ours": found})
    pairs = d * (d - 1) // 2
    return Alone(
        GROUP, f"H² of {pairs} pairs, and effects", rows, t["ours"], 0, seconds,
        f"{grown.what}, {d} features", got["ours"].exact,
    )  # fmt: skip


def _beside_brute_force(bench: Bench, rows: int, d: int) -> Speed:
    """Compare H² from the leaves with the definition: the model at all combinations of so many rows."""
    grown = grown_of("LightGBM", 10 * rows, d, bench.settings.quick)
    X = grown.X[:rows]

    def found(tree: str) -> Any:
        return sd.interactions(
            grown.model,
            X,
            ale=False,
            heterogeneity_rows=0,
            max_rows=None,
            tree=tree,
            progress=False,
        )

    once(lambda: found("force"))
    t, got = bench.run({"ours": lambda: found("force"), "theirs": lambda: found("off")})
    exact, brute = (np.array([p.h2_unnormalized for p in g.pairs]) for g in got.values())
    difference = float(np.abs(exact - brute).max() / np.abs(brute).max())
    return Speed(
        GROUP, f"H² of {d * (d - 1) // 2} pairs, {rows} rows", "the definition", t["ours"], t["theirs"],
        rows=0, their_rows=got["theirs"].provenance["model_rows"], difference=difference, tolerance=1e-6,
        reach=None if bench.settings.quick else 200.0, unit=1,
        note="both with the effects of single features",
    )  # fmt: skip


def _called(bench: Bench, rows: int, d: int) -> Alone:
    """Return the time and model rows of the defaults for a function, whose largest term is to be the first pair."""
    X = np.random.default_rng(0).normal(size=(rows, d))

    def f(X: Any) -> Any:
        return 2 * X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 3] + X[:, 4:].sum(axis=1)

    t, got = bench.run({"ours": lambda: sd.interactions(f, X, progress=False)})
    known, first = got["ours"].provenance, got["ours"].ranking()[0]
    asked, calls = known["model_rows"], known["model_calls"]
    right = (first.feature_0, first.feature_1) == ("x0", "x1") and asked <= MOST_ROWS
    return Alone(
        GROUP, f"{d * (d - 1) // 2} pairs of a function", rows, t["ours"], asked,
        None if bench.settings.quick else 3.0, f"{calls:,} calls; wanted: at most {MOST_ROWS:,} model rows", right,
    )  # fmt: skip


def _pairs_of_trees(bench: Bench, d: int) -> Iterator[Alone]:
    """Measure ALE and dependence of all pairs at two sizes; the first pair is compared with calls of the model."""
    quick = bench.settings.quick
    for rows, seconds in ((1_000, None),) if quick else ((250_000, 4.0), (1_000_000, 10.0)):
        grown = grown_of("LightGBM", rows, d, quick)

        def found(grown: Any = grown) -> Any:
            return sd.interactions(grown.model, grown.X, h2=False, tree="force", progress=False)

        once(found)
        t, got = bench.run({"ours": found})
        # The surface of the strongest pair on the same rows, by calling the model at few of them.
        first = got["ours"].ranking()[0]
        pair, some = (first.feature_0, first.feature_1), grown.X[: min(rows, 2_000)]
        walked, called = (
            sd.interactions(grown.model, some, [pair], h2=False, tree=tree, progress=False)[pair]
            for tree in ("force", "off")
        )
        away = abs(walked.ale_strength - called.ale_strength)
        right = pair == ("x0", "x1") and away <= 1e-9 * called.ale_strength
        pairs = d * (d - 1) // 2
        yield Alone(
            GROUP, f"ALE of {pairs} pairs, and effects", rows, t["ours"], 0, seconds,
            f"{grown.what}, {d} features", right,
        )  # fmt: skip


def _first_split(bench: Bench, n: int, reach: float | None) -> Speed:
    """Compare the search for one split of one feature with effector's, local effects given."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 5))
    slopes = np.zeros_like(X)
    slopes[:, 0] = X[:, 1] > 0
    half = np.random.default_rng(1).random(n) < 0.5
    limits = np.stack([X.min(axis=0), X.max(axis=0)])

    def theirs() -> Any:
        peer = effector.RHALE(
            X, lambda X: X[:, 0] * 1.0, data_effect=slopes, nof_instances="all", axis_limits=limits,
            schema={"feature_types": ["continuous"] * X.shape[1]},
        )  # fmt: skip
        peer.fit(0, binning_method="dp")
        return peer

    def split() -> Any:
        columns = [code_numbers(X[:, j]) for j in range(1, X.shape[1])]
        effects = slope_effects(X[:, 0], slopes[:, 0], 1 / 3)
        return RegionSearch([effects], columns, half, max_depth=1).run()

    def their_split() -> Any:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            # A second search of the same object would find its intermediate results.
            return theirs().find_regions(0, finder=Best(max_depth=1))

    t, got = bench.run({"ours": split, "theirs": their_split})
    cut = got["ours"].split.cuts[0]
    same = cut.column == 0 and "x_1" in str(got["theirs"].leaves[0].rule)
    return Speed(
        GROUP, "first split of one feature", "effector", t["ours"], t["theirs"],
        difference=abs(cut.threshold) if same else 1.0, tolerance=3 / n,
        reach=reach, note=f"{n:,} rows, 5 features; theirs with its bins", unit=1,
    )  # fmt: skip


def _tables(bench: Bench, n: int, d: int) -> Alone:
    """Return the time of the shares of all ordered pairs of features, with the pairs of rows given."""
    rng = np.random.default_rng(0)
    X, rows = rng.uniform(-1, 1, size=(n, d)), rng.permutation(n)
    first, second = rows[: n // 2], rows[n // 2 :]
    # The effect of each feature depends on the next one alone.
    change = [
        (X[second, j] - X[first, j]) * (X[first, (j + 1) % d] - X[second, (j + 1) % d]) / 2
        for j in range(d)
    ]
    half, weight = rng.random(len(first)) < 0.5, np.ones(len(first))

    def shares() -> Any:
        functions = [hat_functions(x, 8) for x in X.T]
        own = [hat_functions(x, 12) for x in X.T]
        found = np.full((d, d), np.nan)
        for j in range(d):
            others = [i for i in range(d) if i != j]
            pairs = Pairs(first, second, change[j], weight, half)
            found[j, others] = shares_explained(pairs, own[j], [functions[i] for i in others])[0]
        return found

    t, got = bench.run({"ours": shares})
    known = all(got["ours"][j, (j + 1) % d] > 0.8 for j in range(d))
    seconds = None if bench.settings.quick else 3.0
    return Alone(
        GROUP, f"shares of {d * (d - 1)} ordered pairs", n, t["ours"], 0, seconds,
        "pairs of rows given", known,
    )  # fmt: skip


def _beside_explain(bench: Bench, n: int, d: int) -> Iterator[Alone]:
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, d))

    def f(X: Any) -> Any:
        return 3 * X[:, 0] * X[:, 1] + 2 * (X[:, 2] > 0) * X[:, 3] + np.sin(3 * X[:, 4])

    runs = {
        "explain": lambda: sd.explain(f, X, progress=False),
        "dependence": lambda: sd.interactions(f, X, h2=False, ale=False, progress=False),
        "regions": lambda: sd.regions(f, X, progress=False),
    }
    t, got = bench.run(runs)
    worst = WORST * t["explain"].wall
    correct = {
        "dependence": got["dependence"]["x0", "x1"].depends_01 > 0.9,
        "regions": len(got["regions"]["x3"]) == 2,
    }
    for name, right in correct.items():
        ratio = t[name].cpu / t["explain"].cpu
        note = f"{ratio:.2f} times the processor time of explain; wanted: {WORST} times"
        yield Alone(GROUP, f"{name} of {d} features", n, t[name], 0, round(worst, 3), note, right)


def _of_columns(columns: int, quick: bool) -> Any:
    """Return a boosted model of so many columns, of which only the first two interact."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2_000 if quick else 20_000, columns))
    small = 0.3 * rng.normal(size=columns) / np.sqrt(columns)
    y = 2 * X[:, 0] + 2 * X[:, 1] + 3 * X[:, 0] * X[:, 1] + X @ small
    trees = LGBMRegressor(n_estimators=20 if quick else 100, n_jobs=1, verbose=-1)
    return trees.fit(X, y)


def _many_columns(bench: Bench, columns: int, features: int, seconds: float | None) -> Alone:
    """Return the time of the regions of some features of a model of many columns, and whether they are right."""
    model = _of_columns(columns, bench.settings.quick)
    X = np.random.default_rng(2).normal(size=(2_000, columns))
    some = list(range(features))

    def found() -> Any:
        return sd.regions(model, X, some, progress=False)

    once(found)
    t, got = bench.run({"ours": found})
    split = {name: {s.feature for s in r.splits} for name, r in got["ours"].items()}
    right = {name: set[str]() for name in split} | {"x0": {"x1"}, "x1": {"x0"}}
    return Alone(
        GROUP, f"regions of {features} features", len(X), t["ours"], 0, seconds,
        f"LightGBM, {columns} columns", split == right,
    )  # fmt: skip


def _either(bench: Bench, noise: int) -> Alone:
    """Return the time of ten searches for an interaction that no single column shows, and whether all find it."""
    draws = [np.random.default_rng(k).uniform(-1, 1, size=(2_000, 3 + noise)) for k in range(10)]

    def f(X: Any) -> Any:
        return X[:, 0] * np.sign(X[:, 1] * X[:, 2])

    def found() -> Any:
        return [sd.regions(f, X, 0, progress=False) for X in draws]

    t, got = bench.run({"ours": found})
    right = [{s.feature for s in r.splits} == {"x1", "x2"} for r in got["ours"]]
    return Alone(
        GROUP, "exclusive or, ten draws", 2_000, t["ours"], 0, None,
        f"{noise} columns of noise; found in {sum(right)} of 10", all(right),
    )  # fmt: skip


def _wide_shares(bench: Bench, rows: int, columns: int, seconds: float | None) -> Alone:
    """Return the time of the variance shares of a model with more columns than rows, and whether its pair is found."""
    model = _of_columns(columns, bench.settings.quick)
    X = np.random.default_rng(2).normal(size=(rows, columns))

    def found() -> Any:
        return sd.variance_shares(model, X, progress=False)

    t, got = bench.run({"ours": found})
    pairs = [part for part in got["ours"].parts if "×" in part.name]
    right = [p.name for p in pairs] == ["x0 × x1"] and pairs[0].share > 2 * pairs[0].std_error
    return Alone(
        GROUP, "variance shares", rows, t["ours"], 0, seconds, f"LightGBM, {columns} columns", right
    )


def _shares_of_page(bench: Bench, rows: int, seconds: float | None) -> Alone:
    """Return the time of the variance shares of the model that `report` measures, and whether their sum is right."""
    work = Work(rows, Path())

    def found() -> Any:
        return sd.variance_shares(work.model, work.rows, progress=False)

    once(found)
    t, got = bench.run({"ours": found})
    right = abs(sum(part.share for part in got["ours"].parts) - 1) < 1e-9
    what = f"boosted trees, {work.features} columns"
    return Alone(GROUP, "variance shares", rows, t["ours"], 0, seconds, what, right)
