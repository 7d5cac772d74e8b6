"""Choose the tests that run with coverage: few of all tests run nearly all lines, and coverage doubles their time.

    OMP_NUM_THREADS=1 python -m pytest -n 2 -p tools.measured --cov --cov-context=test --cov-report= --cov-fail-under=0
    python -m tools.measured

The first command measures the first case of each fast test and its time (20 minutes). The second writes
``tests/measured.json``: tests that take more than half a second and run no branch that faster ones do not run
("unmeasured"), and those of `tests/laws` and `tests/reference` that run three that no others run ("measured"; others
there are never measured). Slow tests that somebody added to "measured", because only they run some lines, stay there.
`tests/conftest.py` reads it. A test that is not in the file is measured if it is where tests usually are.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).parents[1]
CHOICE = ROOT / "tests" / "measured.json"
SECONDS = ROOT / "build" / "seconds.json"
COMPARISONS = ("tests/laws", "tests/reference")
NEVER = ("tests/docs/", "tests/experiments/", "tests/typing/", "tests/unit/test_streams_law.py")
"""Programs, which `tests/conftest.py` never measures: what only they run counts as not run."""
LONG = 0.5
"""Seconds of a test that is worth a line in the file."""

Branches: TypeAlias = set[tuple[int, int, int]]
"""Executed branches: a file, a line, and the next line."""


# ------------------------------------------------------------------------------ the first command


class _FirstCases:
    """A plugin of pytest that runs the first case of each fast test and notes its time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        first: dict[str, pytest.Item] = {}
        for item in items:
            if not any(
                map(item.get_closest_marker, ("slow", "torch", "optional", "unmeasured"))
            ) and (not item.nodeid.startswith(NEVER)):
                first.setdefault(item.nodeid.partition("[")[0], item)
        items[:] = first.values()
        for item in items:
            item.own_markers = [mark for mark in item.own_markers if mark.name != "no_cover"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid.partition("[")[0]] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            SECONDS.parent.mkdir(exist_ok=True)
            SECONDS.write_text(json.dumps(self.seconds), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin."""
    config.pluginmanager.register(_FirstCases())


# ----------------------------------------------------------------------------- the second command


def executed(file: Path) -> dict[str, Branches]:
    """Return the branches that each test executes; those of imports under an empty name."""
    found: dict[str, Branches] = defaultdict(set)
    with sqlite3.connect(file) as data:
        names = dict(data.execute("select id, context from context"))
        for path, context, line, following in data.execute(
            "select file_id, context_id, fromno, tono from arc"
        ):
            test = names[context].partition("|")[0].partition("[")[0]
            found[test].add((path, line, following))
    return found


def few(
    branches: Mapping[str, Branches], seconds: Mapping[str, float], least: int = 1
) -> list[str]:
    """Return tests that execute what all of them execute, each time the one with most new branches a second.

    Tests with fewer than `least` new branches are left out.

    Examples
    --------
    >>> a, b, c = (0, 1, 2), (0, 2, 3), (0, 3, 4)
    >>> few(
    ...     {"slow": {a, b, c}, "quick": {a, b}, "other": {b}},
    ...     {"slow": 9.0, "quick": 1.0, "other": 1.0},
    ... )
    ['quick', 'slow']
    """
    left: Branches = set().union(*branches.values())
    rate = {test: 1 / (seconds.get(test, 0.0) + 0.05) for test in branches}
    queue = [(-len(own) * rate[test], test) for test, own in branches.items()]
    heapq.heapify(queue)
    chosen: list[str] = []
    while queue and left:
        before, test = heapq.heappop(queue)
        new = branches[test] & left
        now = -len(new) * rate[test]
        if len(new) < least:
            continue
        if now > before and queue and now > queue[0][0]:
            heapq.heappush(queue, (now, test))  # others have taken some of them
        else:
            chosen.append(test)
            left -= new
    return chosen


def choice(branches: dict[str, Branches], seconds: Mapping[str, float]) -> dict[str, list[str]]:
    """Return the content of the file."""
    known = branches.pop("", set())
    usual = {t: own - known for t, own in branches.items() if not t.startswith(COMPARISONS)}
    needed = set(few(usual, seconds))
    known |= set().union(*usual.values())
    others = {t: own - known for t, own in branches.items() if t.startswith(COMPARISONS)}
    return {
        "measured": sorted(few(others, seconds, least=3)),
        "unmeasured": sorted(
            t
            for t in usual
            if t not in needed and seconds.get(t, 0.0) > LONG and t.startswith("tests/")
        ),
    }


def main() -> int:
    """Write the file from what the first command has measured."""
    if not SECONDS.exists():
        print((__doc__ or "").partition("\n\n")[2])
        return 1
    seconds = json.loads(SECONDS.read_text(encoding="utf-8"))
    branches = executed(ROOT / ".coverage")
    slow = [
        t for t in json.loads(CHOICE.read_text(encoding="utf-8"))["measured"] if t not in branches
    ]
    found = choice(branches, seconds)
    found["measured"] = sorted({*found["measured"], *slow})
    CHOICE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print({name: len(tests) for name, tests in found.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
