"""The statements of the chapter on runtimes, compared with measurements. All verdicts depend on measured time."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.ale_vs_pdp.costs import (
    ALE,
    FOREST,
    LEVELS,
    ONE,
    PDP,
    PYALE,
    SKLEARN,
    SVM,
    TWO,
    WAYS,
    Setting,
)
from experiments.experiment import Claim

_OF_ALE, _OF_PDP = (ALE, PYALE), (PDP, SKLEARN)


def claims(times: Any, design: Any) -> list[Claim]:
    """Return all of them."""
    return [
        _features(times, design),
        _grid(times, design),
        _rows(times, design),
        _pairs(times, design),
        _hundredfold(times, design),
        _levels(times, design),
        _slower(times, design),
        _half(times, design),
        _faster(times, design),
        _minute(times, design),
        _ours(times),
    ]


def _claim(key: str, says: str, holds: bool | None, numbers: str, why: str = "") -> Claim:
    """Return a claim that rests on seconds; what holds needs no reason."""
    return Claim(key, says, holds, numbers, "" if holds else why, timed=True)


def _ratio(times: Any, after: Setting, before: Setting, way: str) -> float:
    return float(times.median(after, way) / times.median(before, way))


def _each(ratios: dict[str, float]) -> str:
    return ", ".join(f"{way} {r:.1f}" for way, r in ratios.items())


def _features(times: Any, design: Any) -> Claim:
    n, few, most, grid = design.sizes[0], design.features[0], design.features[-1], design.grids[0]
    grown = {
        f"{way} ({model})": _ratio(
            times, Setting(model, ONE, n, most, grid), Setting(model, ONE, n, few, grid), way
        )
        for model in (SVM, FOREST)
        for way in WAYS
    }
    rate = times.rate(Setting(SVM, ONE, n, most)) / times.rate(Setting(SVM, ONE, n, few))
    return _claim(
        "features",
        "The number of features barely influences the runtime of one numeric feature",
        # The chapter's model is an SVM; the other measurements are reported with it.
        all(ratio < 1.5 for what, ratio in grown.items() if SVM in what),
        f"With {most} features instead of {few} the runtime is longer by these factors: {_each(grown)}; the SVM "
        f"itself takes {rate:.1f} times as long per row.",
        "The time of the model per row grows, and that of copying rows.",
    )


def _grid(times: Any, design: Any) -> Claim:
    n, d = design.sizes[0], design.features[0]
    low, high = design.grids
    grown = {
        way: _ratio(times, Setting(SVM, ONE, n, d, high), Setting(SVM, ONE, n, d, low), way)
        for way in WAYS
    }
    rows = (high + 1) / (low + 1)
    return _claim(
        "grid",
        "Five times as many intervals do not change the ALE's runtime and increase that of the PDP fivefold",
        all(grown[w] < 1.5 for w in _OF_ALE) and all(grown[w] > 0.6 * rows for w in _OF_PDP),
        f"From {low} to {high} intervals, SVM, {n} rows: {_each(grown)} times as long; a PDP needs {rows:.1f} times "
        f"as many rows.",
        "Of 100 rows, what does not depend on the grid is a large share.",
    )


def _rows(times: Any, design: Any) -> Claim:
    d, grid = design.features[0], design.grids[0]
    few, more = (Setting(SVM, ONE, n, d, grid) for n in design.sizes[:2])
    grown = {way: _ratio(times, more, few, way) for way in WAYS}
    return _claim(
        "rows",
        "With more rows the runtime of the PDP increases much faster than that of the ALE",
        min(grown[w] for w in _OF_PDP) > 1.5 * max(grown[w] for w in _OF_ALE),
        f"From {few.n:,} to {more.n:,} rows, SVM: {_each(grown)} times as long.",
        "Both need a multiple of N rows; the difference is their time without the model.",
    )


def _pairs(times: Any, design: Any) -> Claim:
    n, d = design.sizes[0], design.features[0]
    low, high = design.pairs[:2]
    grown = {
        way: _ratio(times, Setting(SVM, TWO, n, d, high), Setting(SVM, TWO, n, d, low), way)
        for way in WAYS
    }
    rows = (high + 1) ** 2 / (low + 1) ** 2
    return _claim(
        "pairs",
        "With a finer grid for two features the runtime of the PDP increases strongly, that of the ALE does not",
        all(grown[w] < 1.5 for w in _OF_ALE) and all(grown[w] > 0.6 * rows for w in _OF_PDP),
        f"From {low} × {low} to {high} × {high} intervals, SVM, {n} rows: {_each(grown)} times as long; a PDP needs "
        f"{rows:.1f} times as many rows.",
    )


def _hundredfold(times: Any, design: Any) -> Claim:
    d, grid = design.features[0], design.pairs[0]
    few, most = (Setting(SVM, TWO, n, d, grid) for n in (design.sizes[0], design.sizes[-1]))
    grown = {way: _ratio(times, most, few, way) for way in WAYS}
    rate = times.rate(most) / times.rate(few)
    return _claim(
        "hundredfold",
        "Two features: with a hundred times the rows the PDP takes almost 1,000 times as long, the ALE a bit more "
        "than 10 times",
        min(grown[w] for w in _OF_PDP) > 300 and max(grown[w] for w in _OF_ALE) < 30,
        f"By the time of the model alone for {most.n:,} rows, which is a lower bound: "
        f"{', '.join(f'{w} {g:.0f}' for w, g in grown.items())} times as long.",
        f"The time of an SVM per row grows with its support vectors, here {rate:.0f} times: this makes a factor of "
        "1,000 out of 100, and it also applies to the 4 N rows of the ALE. A factor of 10 is possible only if the "
        "fixed cost of the call dominates at 100 rows.",
    )


def _levels(times: Any, design: Any) -> Claim:
    n, few, most = design.sizes[-2], design.features[0], design.features[-1]
    grown = {
        way: _ratio(times, Setting(FOREST, LEVELS, n, most), Setting(FOREST, LEVELS, n, few), way)
        for way in WAYS
    }
    return _claim(
        "levels",
        "For a categorical feature the runtime of the ALE increases with the number of features, because it orders "
        "the levels; that of the PDP does not",
        grown[PYALE] > 1.5 and grown[SKLEARN] < 1.5,
        f"From {few} to {most} features, forest, {n:,} rows: {_each(grown)} times as long.",
    )


def _slower(times: Any, design: Any) -> Claim:
    d, grid = design.features[0], design.grids[0]
    ratios = {
        f"{way}, {n:,} rows": times.median(Setting(FOREST, LEVELS, n, d), way)
        / times.median(Setting(FOREST, ONE, n, d, grid), way)
        for n in design.sizes
        for way in _OF_ALE
    }
    return _claim(
        "slower",
        "The ALE is always slower for a categorical feature than for a numeric one",
        min(ratios.values()) > 1,
        f"Forest: {_each(ratios)} times as long.",
    )


def _half(times: Any, design: Any) -> Claim:
    d, grid, n = design.features[0], design.grids[0], design.sizes[-2]
    ratios = {
        way: times.median(Setting(SVM, ONE, n, d, grid), way)
        / times.median(Setting(SVM, LEVELS, n, d), way)
        for way in _OF_PDP
    }
    return _claim(
        "half",
        "The PDP of ten levels is twice as fast as that of a numeric feature with 20 intervals",
        all(1.6 < r < 2.6 for r in ratios.values()),
        f"SVM, {n:,} rows: {_each(ratios)} times as fast; it needs {(grid + 1) / 10:.1f} times fewer rows.",
    )


def _faster(times: Any, design: Any) -> Claim:
    said, won = [], True
    for work in (ONE, TWO, LEVELS):
        gain = [
            times.median(s, SKLEARN) / times.median(s, PYALE)
            for s in design.settings()
            if s.work == work
        ]
        own = [
            times.median(s, PDP) / times.median(s, ALE) for s in design.settings() if s.work == work
        ]
        won = won and float(np.median(gain)) > 2
        said.append(
            f"{work}: {np.median(gain):.1f} ({min(gain):.1f} to {max(gain):.0f}) for PyALE and scikit-learn, "
            f"{np.median(own):.1f} ({min(own):.1f} to {max(own):.0f}) for ours"
        )
    return _claim(
        "faster",
        "In general the ALE is much faster than the PDP",
        won,
        f"Time of the PDP as a multiple of that of the ALE, median and range over all settings: {'; '.join(said)}.",
        "This is true for numeric features, whose PDPs need more rows; for ten levels a PDP needs 10 N and an ALE 3 "
        "N, but it has to order the levels. Where trees are evaluated from their structure no model row is needed, "
        "and the two take about equally long.",
    )


def _minute(times: Any, design: Any) -> Claim:
    n = design.sizes[-2]
    s = Setting(FOREST, TWO, n, design.features[0], 20)
    trees = 500
    seconds = times.alone(SKLEARN, s) * trees / 50
    own = times.median(Setting(FOREST, TWO, n, design.features[0], design.pairs[0]), PDP)
    return _claim(
        "minute",
        f"The PDP of a forest can easily take half a minute for {n:,} rows",
        None if seconds > 10 else False,
        f"Two features on 20 × 20 intervals of a forest of {trees} trees: {seconds:.0f} s by its time per row "
        f"(scikit-learn; the chapter's forest and grid are not given); one feature {seconds / 21:.1f} s. Ours "
        f"evaluates the trees from their structure: {own:.2f} s for 5 × 5 intervals and 50 trees.",
    )


def _ours(times: Any) -> Claim:
    both = [(s, way) for s, way in times.seconds if way in (ALE, PDP)]
    rival = {ALE: PYALE, PDP: SKLEARN}
    said, fair = [], []
    for model in (SVM, FOREST):
        for way in (ALE, PDP):
            gain = [
                times.median(s, rival[way]) / times.median(s, way)
                for s, w in both
                if w == way and s.model == model and (s, rival[way]) in times.seconds
            ]
            fair.append(float(np.median(gain)))
            said.append(
                f"{way.split(',')[0]} of the {model} {np.median(gain):.1f} ({min(gain):.1f} to {max(gain):.1f})"
            )
    return _claim(
        "ours",
        "Ours: in the median no slower than PyALE and scikit-learn",
        min(fair) >= 0.95,
        f"Their time as a multiple of ours, median and range: {', '.join(said)}.",
        "Every call first checks the model and reads its trees, which is most of what a hundred rows cost.",
    )
