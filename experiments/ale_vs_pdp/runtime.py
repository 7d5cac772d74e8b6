"""The runtime of ALE and PDP (6.3, figures 6.13 to 6.18), for three implementations.

The chapter measures R's iml, ten runs a setting, and concludes that the ALE is by far faster, that the number of
features hardly matters, that the PDP's time grows with the grid and faster with the rows, and that for categorical
features it is the other way round. The same design here for PyALE, scikit-learn and ours: an SVM that is fitted on the
rows it is explained on, and a forest; see `costs.py`.

Times are processor time, the implementations take turns, and the first run of each is not counted. A run that the model
alone would keep busy for longer than `CAP` is left out; its entry is that time, the number of model rows times
the time of the model per row.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from experiments.ale_vs_pdp import runtime_claims
from experiments.ale_vs_pdp.costs import (
    ALE,
    FOREST,
    LEVELS,
    ONE,
    PDP,
    SVM,
    TWO,
    WAYS,
    Setting,
    asked,
    fitted,
    table,
)
from experiments.ale_vs_pdp.costs import (
    run as explain,
)
from experiments.ale_vs_pdp.runtime_drawing import drawn
from experiments.experiment import Experiment, Outcome, Picture, Table, alone

RUNS = 10
CAP = 0.5
"""Seconds of model time above which a run is left out."""


@dataclass
class Times:
    """What was measured.

    Parameters
    ----------
    seconds : dict of (Setting, way) to ndarray
        Of each run; left out: absent.
    rates : dict of (model, n, d) to float
        Seconds of the model per row.
    """

    seconds: dict[tuple[Setting, str], np.ndarray] = field(default_factory=dict)
    rates: dict[tuple[str, int, int], float] = field(default_factory=dict)

    def rate(self, s: Setting) -> float:
        """Return the seconds of the model per row, measured at first use."""
        key = (s.model, s.n, s.d)
        if key not in self.rates:
            model, X = fitted(*key), table(s.n, s.d)[0]
            model.predict(X[:50])
            often = 3 if s.n < 5_000 else 1
            took = [_seconds(partial(model.predict, X)) for _ in range(often)]
            self.rates[key] = min(took) / s.n
        return self.rates[key]

    def alone(self, way: str, s: Setting) -> float:
        """Return the time of the model alone for a method; zero where trees are evaluated from their structure."""
        walked = s.model == FOREST and way in (ALE, PDP)
        return 0.0 if walked else asked(way, s) * self.rate(s)

    def measure(self, settings: Sequence[Setting], runs: int, cap: float) -> Times:
        """Let the ways take turns in each setting."""
        for s in settings:
            model = fitted(s.model, s.n, s.d)
            ways = [way for way in WAYS if self.alone(way, s) <= cap]
            took: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(runs + 1):
                for way in ways:
                    seconds = _seconds(partial(explain, way, s, model))
                    if turn:
                        took[way].append(seconds)
            self.seconds |= {(s, way): np.array(t) for way, t in took.items()}
        return self

    def median(self, s: Setting, way: str) -> float:
        """Return the median of the runs; for runs that were left out, the time of the model."""
        found = self.seconds.get((s, way))
        return self.alone(way, s) if found is None else float(np.median(found))


def _seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


@dataclass(frozen=True)
class Design:
    """Which settings are measured.

    Parameters
    ----------
    sizes : tuple of int
        Numbers of rows; where the grid or the features change, the first.
    features : tuple of int
    grids, pairs : tuple of int
        Intervals for one and for two numeric features; where rows or features change, the first.
    """

    sizes: tuple[int, ...] = (100, 1_000, 10_000)
    features: tuple[int, ...] = (5, 20, 40)
    grids: tuple[int, ...] = (20, 100)
    pairs: tuple[int, ...] = (5, 10, 20)

    def settings(self) -> list[Setting]:
        """Return all settings, each once."""
        found: list[Setting] = []
        n, d, middle = self.sizes[0], self.features[0], self.sizes[-2]
        for model in (SVM, FOREST):
            found += [Setting(model, ONE, n, f, self.grids[0]) for f in self.features]
            found += [Setting(model, ONE, n, d, k) for k in self.grids[1:]]
            found += [Setting(model, ONE, m, d, self.grids[0]) for m in self.sizes[1:]]
            found += [Setting(model, TWO, n, f, self.pairs[0]) for f in (d, self.features[-1])]
            found += [Setting(model, TWO, n, d, k) for k in self.pairs[1:]]
            found += [Setting(model, TWO, m, d, self.pairs[0]) for m in self.sizes[1:]]
            found += [Setting(model, LEVELS, m, d) for m in self.sizes]
            found += [Setting(model, LEVELS, middle, f) for f in self.features[1:]]
        return found


QUICK = Design((40, 80, 160), (5, 10), (5, 10), (3, 4))


def run(quick: bool) -> Outcome:
    """Measure all settings."""
    design = QUICK if quick else Design()
    times = Times().measure(design.settings(), 1 if quick else RUNS, 0.1 if quick else CAP)
    left = [(s, way) for s in design.settings() for way in WAYS if (s, way) not in times.seconds]
    return Outcome(
        claims=runtime_claims.claims(times, design),
        tables=[*(_table(times, design, work) for work in (ONE, TWO, LEVELS)), _rates(times)],
        pictures=[
            Picture(
                "runtime",
                drawn(times, design),
                "Figures 6.13 to 6.18 as curves: median processor time of ten runs, lower to upper quartile; "
                "stars are the time of the model alone where a run was left out. Above an SVM, below a forest, whose "
                "trees ours evaluates from their structure",
            )
        ],
        settings="Ten runs per setting (the tables give the median, and the quartiles), processor time of one thread. "
        f"{len(left)} of {len(WAYS) * len(design.settings())} cells are left out, because the model alone would take "
        f"more than {CAP:g} s: an SVM of 10,000 rows has thousands of support vectors. The chapter does not name all "
        "its grids and sizes; here one numeric feature has 20 and 100 intervals, two have 5, 10 and 20 each.",
    )


def _table(times: Times, design: Design, work: str) -> Table:
    rows = []
    for s in design.settings():
        if s.work == work:
            what = "" if work == LEVELS else f", K = {s.grid}"
            name = f"{s.model}, {s.n:,} rows, {s.d} features{what}"
            rows.append([name, *(_cell(times, s, way) for way in WAYS)])
    return Table(f"Milliseconds, {work}: median (quartiles); *: the model alone", ("", *WAYS), rows)


def _cell(times: Times, s: Setting, way: str) -> str:
    found = times.seconds.get((s, way))
    if found is None:
        return f"{1e3 * times.alone(way, s):,.0f}*"
    low, middle, high = 1e3 * np.quantile(found, [0.25, 0.5, 0.75])
    return f"{middle:.0f} ({low:.0f}–{high:.0f})"


def _rates(times: Times) -> Table:
    rows = []
    for (model, n, d), rate in times.rates.items():
        vectors = f"{len(fitted(model, n, d).machine_.support_):,}" if model == SVM else "–"
        rows.append([f"{model}, {n:,} rows, {d} features", f"{1e6 * rate:.0f}", vectors])
    return Table("The model itself", ("", "microseconds per row", "support vectors"), rows)


EXPERIMENT = Experiment(
    "ale_vs_pdp",
    "runtime",
    "The runtime of ALE and PDP",
    "ale_vs_pdp, 6.3, figures 6.13 to 6.18",
    run,
    needs=("PyALE", "sklearn", "pandas"),
    timed=True,
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
