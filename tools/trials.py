"""A plugin of pytest that notes what each test came to, for the page of figures on reliability.

``python -m pytest -p tools.trials`` adds the tests that it runs to ``build/trials.json``: their outcome, the random
examples that a law passed, and what they counted themselves by ``record_property("tried", {"mutated files": 5000})``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
from hypothesis.statistics import collector

KEPT = Path(__file__).parents[1] / "build" / "trials.json"


@dataclass
class Trial:
    """What a test came to.

    Parameters
    ----------
    outcome : str
        "passed", "failed" or "skipped".
    examples : int
        Random examples that passed.
    tried : dict of str to int
        What the test counted itself.
    """

    outcome: str
    examples: int = 0
    tried: dict[str, int] = field(default_factory=dict)


def read() -> dict[str, Trial]:
    """Return what all noted tests came to, by their names."""
    if not KEPT.exists():
        return {}
    return {k: Trial(**v) for k, v in json.loads(KEPT.read_text(encoding="utf-8")).items()}


class Notes:
    """Collects reports, from this process and its workers, and writes the file at the end."""

    def __init__(self) -> None:
        self.trials: dict[str, Trial] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the call of a test, what stopped it before its call, and the examples of a law after it."""
        if report.when == "call" or report.outcome != "passed":
            self.trials[report.nodeid] = Trial(report.outcome)
        trial = self.trials.get(report.nodeid)
        if trial is None:
            return
        for name, value in report.user_properties:
            if name == "tried" and isinstance(value, dict):
                trial.tried = value
            if name == "examples" and isinstance(value, int):
                trial.examples = value

    def pytest_sessionfinish(self) -> None:
        """Add the tests of this run to the file."""
        if self.trials:
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            kept = {k: asdict(v) for k, v in (read() | self.trials).items()}
            KEPT.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n", encoding="utf-8")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count the examples of laws that a test runs itself, as those of `tests/laws` do."""
    passing = Counter[str]()

    def count(phases: Mapping[str, object]) -> None:
        for phase in phases.values():
            if isinstance(phase, dict):
                passing.update(case["status"] for case in phase["test-cases"])

    with collector.with_value(count):
        yield
    if passing["valid"]:
        item.user_properties.append(("examples", passing["valid"]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Add the examples of a test that is a law to its last report: Hypothesis offers them in a text only."""
    text = str(vars(item).get("hypothesis_statistics", ""))
    if call.when == "teardown" and text:
        passing = map(int, re.findall(r"(\d+) passing", text))
        item.user_properties.append(("examples", sum(passing)))


def pytest_configure(config: pytest.Config) -> None:
    """Register the notes in the main process, which receives the reports of all workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes())
