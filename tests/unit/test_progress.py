"""The time that is left of all work: of passes over the data, and of rounds that call the model."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis import _progress as progress
from skedasis._progress import Further, Progress, one_call
from skedasis.engine import run
from skedasis.stream import running


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


@pytest.mark.parametrize(
    ("further", "said"),
    [
        (None, ""),
        (Further(0.0, certain=True), "about 30 seconds left in all"),
        (Further(1.0, certain=True), "about 70 seconds left in all"),
        (Further(3.0, certain=False), "at least 2.5 minutes left in all"),
    ],
)
def test_a_quarter_of_the_work_took_ten_seconds(clock, further, said):
    bar = Progress(100, "work", False, further)
    assert bar.time_left() == ""  # nothing is known before the first step
    bar.advance(0)
    clock.now += 10.0
    bar.advance(25)
    assert bar.time_left() == said


def test_a_part_that_calls_no_model_shows_its_own_steps():
    with one_call() as work:
        work.expected = 1_000.0
        work.add(400)
        bar = Progress(10, "reading", False)
        bar.advance(3)
        assert bar._shown == (3, 10)
        work.add(100)
        assert bar._shown == (500, 1_000)


class Noted(Progress):
    """Progress bars that are noted."""

    def __init__(self, *args):
        super().__init__(*args)
        self.found.append(self)

    found: list[Progress] = []  # noqa: RUF012 - a list for each test


@pytest.fixture
def bars(monkeypatch):
    monkeypatch.setattr(Noted, "found", [])
    monkeypatch.setattr(run, "Progress", Noted)
    monkeypatch.setattr(running, "Progress", Noted)
    return Noted


def test_passes_that_read_say_that_the_model_follows(bars, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "rows.parquet")
    effect = sd.explain(lambda X: X["a"] * X["b"], sd.parquet(tmp_path), "a", method="ale")
    reading, calling = bars.found[:-1], bars.found[-1]
    assert len(bars.found) == effect.provenance["passes"] == 4
    answers = ["Order statistics"] * 2
    assert [bar.what for bar in reading] == ["Counting values", *answers]
    assert all(bar.further == Further(1.0, certain=False) for bar in reading)
    assert calling.further is None
    assert all(bar.done == bar.total for bar in bars.found)


def test_a_round_that_may_follow_is_foreseen(bars):
    X = np.random.default_rng(0).normal(size=(3_000, 2))

    def steps(X):
        return np.floor(3 * X[:, 0]) * (X[:, 1] > 0)

    sd.explain(steps, X, 0, method=sd.RHALE(local_effects="steps"))
    assert [bar.further for bar in bars.found] == [Further(1.0, certain=True), None]
    bars.found.clear()
    sd.explain(steps, X, 0, method=sd.RHALE(bins=sd.Uniform(9), local_effects="steps"))
    assert [bar.further for bar in bars.found] == [None]
