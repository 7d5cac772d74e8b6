"""What holds in RESULTS.md also holds in a small run now, and what does not hold there does not hold now."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.catalogue import everything
from experiments.experiment import RESULTS, Experiment
from experiments.record import Record

EXPERIMENTS = everything()


FULL = {"california_housing.csv"}
"""The largest table, 20,640 rows, on which networks are fitted."""
LONGEST = {
    ("draft", "case_3"),
    ("draft", "case_4"),
    ("entropy", "redundancy"),
    ("rhale", "theorem"),
    ("uale", "correlated_c"),
    ("uale", "non_linear"),
    ("uale", "piecewise_linear"),
}
"""Simulations that resemble others: `propositions`, `tests/reference/test_theorem1.py`, and those of RHALE."""


QUICK = {
    ("ale_vs_pdp", "example_2"),
    ("ale_vs_pdp", "modified"),
    ("draft", "case_1"),
    ("entropy", "illustrations"),
    ("rhale", "cost_of_bins"),
    ("rhale", "running_example_pdp"),
    ("uale", "bin_search"),
    ("uale", "figure_1"),
    ("uale", "formulas"),
}
"""Quick experiments of each paper. All others are slow: they simulate, or fit models of real data."""


def _case(experiment: Experiment) -> Any:
    quick = (experiment.paper, experiment.name) in QUICK and not experiment.slow
    longest = (experiment.paper, experiment.name) in LONGEST or FULL & set(experiment.data)
    mark = () if quick else pytest.mark.long if longest else pytest.mark.slow
    return pytest.param(experiment, id=f"{experiment.paper}-{experiment.name}", marks=mark)


@pytest.mark.parametrize("experiment", [_case(e) for e in EXPERIMENTS])
def test_a_small_run_comes_to_the_same_verdicts(experiment):
    if reason := experiment.missing():
        pytest.skip(reason)
    kept = Record.read(RESULTS / experiment.paper / f"{experiment.name}.json")
    outcome = experiment.run(True)
    now = {claim.key: claim for claim in outcome.claims}
    assert list(now) == [claim.key for claim in kept.claims]
    differing = [
        f"{claim.key}: {claim.holds} in RESULTS.md, now {now[claim.key]}"
        for claim in kept.claims
        if not claim.timed and claim.holds is not now[claim.key].holds
    ]
    assert not differing


def test_every_paper_has_a_quick_experiment():
    assert {(e.paper, e.name) for e in EXPERIMENTS} >= QUICK | LONGEST
    assert {paper for paper, _ in QUICK} == {e.paper for e in EXPERIMENTS}
