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


def _case(experiment: Experiment) -> Any:
    marks = [pytest.mark.slow] if experiment.slow else []
    marks += [pytest.mark.long] if FULL & set(experiment.data) else []
    marks += [pytest.mark.torch] if {"torch", "gpytorch"} & set(experiment.needs) else []
    return pytest.param(experiment, id=f"{experiment.paper}-{experiment.name}", marks=marks)


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
