"""Figures of the long simulations: each is measured by a test, checked against limits, and stored in `figures.json`.

A test records a figure with the fixture `measured`. `pytest -m long` compares it with the stored figure.
`--write-figures` writes the figures of the tests that ran and passed, and `FIGURES.md`, a table of all. Seeds are
fixed, so figures are the same wherever libraries draw and round in the same way; elsewhere a few draws cross a limit.
A figure therefore counts as reproduced within one standard error. A larger difference means that code or libraries
changed the result, and that the figures need a review.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

KEPT = Path(__file__).with_name("figures.json")
TABLE = "FIGURES.md"
BETWEEN = " :: "
"""Between the name of a test and that of its figure."""

MEASURING = pytest.StashKey[list[str]]()
"""All collected tests that measure figures, whether or not they are chosen to run."""
COLLECTED = pytest.StashKey[set[str]]()
"""The files of all collected tests."""


@dataclass(frozen=True)
class Figure:
    """A measured value, its number of draws, and the limits that the test allows."""

    value: float
    error: float
    """The standard error of the value, for so many draws."""
    draws: int
    rows: int
    """Rows of one draw."""
    seed: str
    """How draws are seeded, as the code says it."""
    low: float | None = None
    high: float | None = None

    def conditions(self) -> dict[str, Any]:
        """Return everything except the value and its error. Limits may be simulated: they get three digits."""
        limits = {k: v and float(f"{v:.3g}") for k, v in (("low", self.low), ("high", self.high))}
        return {"draws": self.draws, "rows": self.rows, "seed": self.seed, **limits}


def of_share(share: float, draws: int) -> float:
    """Return the standard error of a fraction, with one draw of each kind added: it is above 0 for 0 and 1, too."""
    p = (share * draws + 1) / (draws + 2)
    return float(np.sqrt(p * (1 - p) / draws))


def of_ratio(ratio: float, draws: int) -> float:
    """Return the standard error of a ratio of standard deviations, one of them estimated from normal draws."""
    return float(ratio / np.sqrt(2 * (draws - 1)))


def rounded(value: float) -> float:
    """Return a number rounded to the stored precision of four digits."""
    return float(f"{value:.4g}")


def difference(now: Figure, kept: Figure | None) -> str | None:
    """Return how a figure differs from the stored one, or None."""
    if kept is None:
        return "it is not kept"
    if now.conditions() != kept.conditions():
        return f"it is kept with {kept.conditions()}, now {now.conditions()}"
    if not abs(now.value - kept.value) <= kept.error:
        return f"{kept.value} is kept, give or take {kept.error}; now {now.value}"
    return None


# --------------------------------------------------------------------------------------- the file


def read(path: Path = KEPT) -> dict[str, Figure]:
    """Return all stored figures, by test and name."""
    if not path.exists():
        return {}
    return {k: Figure(**v) for k, v in json.loads(path.read_text(encoding="utf-8")).items()}


def test_of(key: str) -> str:
    """Return the name of the test that measures a figure."""
    return key.rpartition(BETWEEN)[0]


def merged(kept: dict[str, Figure], new: dict[str, Figure]) -> dict[str, Figure]:
    """Return the stored figures, with all figures of the tests that ran replaced by the new ones."""
    ran = {test_of(key) for key in new}
    return {**{k: v for k, v in kept.items() if test_of(k) not in ran}, **new}


def as_json(figures: dict[str, Figure]) -> str:
    """Return the text of the file: sorted, one figure per line, so that diffs are readable."""
    lines = []
    for key in sorted(figures):
        known = {k: v for k, v in asdict(figures[key]).items() if v is not None}
        name, about = (
            json.dumps(part, ensure_ascii=False, sort_keys=True) for part in (key, known)
        )
        lines.append(f"{name}: {about}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


HEAD = """# Figures of the long simulations

What `make test-long` measures, with the limits it is held to; a limit that is left out is not asked for. Each figure is
given with its standard error. `make test-long ARGS=--write-figures` writes this page and `figures.json` anew.
"""


def as_table(figures: dict[str, Figure]) -> str:
    """Return a Markdown page of all figures: a section for each file and test, a row for each figure."""
    text, section = [HEAD], ("", "")
    for key in sorted(figures):
        nodeid, _, name = key.rpartition(BETWEEN)
        (file, _, test), f = nodeid.partition("::"), figures[key]
        function, _, case = test.partition("[")
        if file != section[0]:
            text.append(f"\n## {file}\n")
        if (file, function) != section:
            text.append(f"\n### {function}\n\n")
            text.append("| case | figure | value | limits | draws | rows | seeds |\n")
            text.append("|---|---|---|---|---|---|---|\n")
            section = (file, function)
        limits = "" if f.low is None else f"≥ {f.low:g}"
        if f.high is not None:
            limits = f"≤ {f.high:g}" if f.low is None else f"{f.low:g} to {f.high:g}"
        digits = max(0, 1 - int(np.floor(np.log10(f.error)))) if f.error > 0 else 3
        row = (
            case.removesuffix("]"),
            name,
            f"{f.value:.{digits}f} ± {f.error:.{digits}f}",
            limits,
            f"{f.draws:,}",
            f"{f.rows:,}",
            f.seed,
        )
        text.append("| " + " | ".join(part.replace("|", "\\|") for part in row) + " |\n")
    return "".join(text)


def write(figures: dict[str, Figure], path: Path = KEPT) -> None:
    """Write the file, the page in the same folder, and for all figures the tables of the documentation."""
    path.write_text(as_json(figures), encoding="utf-8")
    path.with_name(TABLE).write_text(as_table(figures), encoding="utf-8")
    if path == KEPT:
        PAGE.write_text(summarized(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


# ------------------------------------------------------------------------------- the documentation

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md"
SUMMARIES = {
    "curves, each point": (r"interval_coverage.*intervals_and_bands", "each"),
    "curves, simultaneous bands": (r"interval_coverage.*intervals_and_bands", "all at once"),
    "surfaces, each cell": (r"surface_errors", "each|cells"),
    "surfaces, simultaneous bands": (r"surface_errors", "all at once"),
    "contrasts, by formula": (r"contrast_coverage.*analytic", "mean"),
    "contrasts, bootstrap": (r"contrast_coverage.*bootstrap", "mean"),
    "changes, by formula": (r"change_coverage.*test_intervals_cover\b", "analytic"),
    "changes, bootstrap": (r"change_coverage.*bootstrap", "bootstrap"),
    "importances": (r"pfi_coverage", "held"),
    "statistics of ALE": (r"ale_statistics_coverage.*intervals", "ALE.*|NALED"),
    "heterogeneity score, light tails, 2,000 rows or more": (
        r"test_heterogeneity_score.*intervals_cover",
        "held",
    ),
    "changes, data with long tails": (r"change_coverage.*long_tails", "analytic"),
    "curves, bins chosen on the same rows": (r"bins_that_were_chosen", "each"),
    "Theorem 1: no interaction, no alarm": (r"theorem1.*p_values", "rejected at 5 %"),
    "statistics of ALE: no effect": (r"ale_statistics.*p_values", ".*rejected at 5 %"),
    "regions: none in noise": (r"regions_null.*(noise|walks|several)", "regions"),
}
"""The rows of the page's tables: regular expressions of the tests that they summarize, and of their figures."""


def summarized(page: str, figures: dict[str, Figure]) -> str:
    """Return the page with its rows renewed: simulations, draws, and the lowest, median and highest value."""
    for what, (tests, names) in SUMMARIES.items():
        split = ((*key.rpartition(BETWEEN)[::2], figure) for key, figure in figures.items())
        of = [f for test, name, f in split if re.search(tests, test) and re.fullmatch(names, name)]
        values = [f.value for f in of]
        spread = (min(values), float(np.median(values)), max(values))
        cells = (what, f"{len(of)}", f"{sum(f.draws for f in of):,}", *(f"{v:.3f}" for v in spread))
        row = re.compile(rf"^\| {re.escape(what)} \|.*$", re.MULTILINE)
        page, changed = row.subn(f"| {' | '.join(cells)} |", page)
        if changed != 1:
            raise LookupError(f"{PAGE.name} has {changed} rows {what!r}, expected one")
    return page


# ---------------------------------------------------------------------- pytest hooks and fixtures

Measure = Callable[..., None]


LONG = pytest.mark.long


def long_case(*values: Any) -> Any:
    """Return a case of a parametrized test that only `make test-long` runs."""
    return pytest.param(*values, marks=LONG)


def usually(values: Any, *usual: Any) -> list[Any]:
    """Return values as cases, of which all but the usual ones run in the long run only."""
    return [value if value in usual else long_case(value) for value in values]


FAULTS = pytest.StashKey[list[str]]()


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Measure:
    """Return a function that records a figure, checks its limits, and compares it with the stored one.

    ``measured(name, value, draws=..., rows=..., seed=..., low=None, high=None, error=None)``. The default error is
    that of a fraction. A test fails only after all of its figures are recorded.

    The quick form of a test, not marked long, has fewer draws: its figures may lie three standard errors beyond
    the limits, and are not stored.
    """
    config, node = request.config, request.node
    is_long = node.get_closest_marker("long") is not None
    kept = None if config.getoption("write_figures") else read(Path(config.getoption("figures")))
    faults = node.stash.setdefault(FAULTS, [])

    def take(name: str, value: float, *, error: float | None = None, **about: Any) -> None:
        error = of_share(float(value), about["draws"]) if error is None else error
        limits = {k: rounded(about.pop(k)) for k in ("low", "high") if k in about}
        now = Figure(rounded(value), rounded(error), **about, **limits)
        key = f"{node.nodeid}{BETWEEN}{name}"
        if is_long:
            node.user_properties.append(("measured", [key, asdict(now)]))
        print(f"{name}: {now.value:g} ± {now.error:.2g}")  # noqa: T201 - seen with -s, and of what fails
        low, high = limits.get("low", -np.inf), limits.get("high", np.inf)
        beyond = 0.0 if is_long else 3 * error
        if not low - beyond <= value <= high + beyond:
            faults.append(f"{name}: {value:.4g} is not between {low:g} and {high:g}")
        if is_long and kept is not None and (wrong := difference(now, kept.get(key))):
            faults.append(f"{name}: {wrong}")

    return take


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Fail a test for its figures after all of them are recorded."""
    found = yield
    if faults := item.stash.get(FAULTS, []):
        pytest.fail("\n".join(faults), pytrace=False)
    return found


def take_uniform(measured: Measure, p: Any, name: str, **about: Any) -> None:
    """Record the Kolmogorov-Smirnov distance of p-values from the uniform distribution.

    Uniform p-values exceed the limit once in 1,000 times. 0.26 / √n is the standard deviation of
    Kolmogorov's distribution.
    """
    n = len(p)
    distance = stats.kstest(p, "uniform").statistic
    high = stats.kstwo.ppf(0.999, n)
    measured(name, distance, error=0.26 / np.sqrt(n), high=high, **about)


class Keeper:
    """Collects the figures of passed tests, from this process and its workers, and writes them at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures: dict[str, Figure] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the figures of a test that passed."""
        if report.when == "call" and report.passed:
            for name, found in report.user_properties:
                if name == "measured":
                    key, about = found
                    self.figures[key] = Figure(**about)

    def pytest_sessionfinish(self) -> None:
        """Write the collected figures; figures of other tests stay as they are."""
        if self.figures:
            write(merged(read(self.path), self.figures), self.path)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options ``--write-figures`` and ``--figures``."""
    group = parser.getgroup("figures of long simulations")
    group.addoption("--write-figures", action="store_true", help="keep what simulations measure")
    group.addoption("--figures", default=str(KEPT), help="the file in which they are kept")


def pytest_configure(config: pytest.Config) -> None:
    """Register the writer in the main process, which receives the reports of all workers."""
    if config.getoption("write_figures") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Keeper(Path(config.getoption("figures"))))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Record which tests measure figures, before pytest deselects tests."""
    config.stash[MEASURING] = [
        i.nodeid
        for i in items
        if "measured" in getattr(i, "fixturenames", ()) and i.get_closest_marker("long")
    ]
    config.stash[COLLECTED] = {i.nodeid.partition("::")[0] for i in items}
