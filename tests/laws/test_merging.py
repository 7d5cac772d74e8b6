"""Laws of merging: partial results of batches merge, in any order and grouping, to the result of all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.engine.assemble import _about
from skedasis.engine.options import ExplainOptions
from skedasis.engine.prepare import prepare_job
from skedasis.engine.select import FeatureSelection
from tests.laws.mixed_cases import (
    PAIR_WAYS,
    A,
    B,
    C,
    kinds,
    level_ways,
    levels_of,
    mixed_cases,
    pair_quantity,
    pair_ways,
)
from tests.laws.strategies import EXACT, law, near


@dataclass
class Parts:
    """One feature or pair, planned once, and the partial results of several batches."""

    job: Any
    found: list[Any]

    @classmethod
    def of(cls, quantity, case, wanted, method, schema, cuts):
        """Compute the partial result of each subset of rows separately."""
        source = as_dataset(case.X, None, case.weights, schema)
        options = ExplainOptions(memory=10**9, keep_rows=10**9)
        job = prepare_job(quantity, method, FeatureSelection(source, wanted), options)
        (batch,) = source.batches(len(source))
        way, plan = job.tasks[0].variant, job.plans[None, job.tasks[0].key]
        found = [
            way.compute(
                quantity.evaluator(batch.take(rows), job.copies, job.checked.eps), plan, None
            )
            for rows in cuts
        ]
        return cls(job, found)

    def read(self, local):
        """Return the values and scores that are computed from moments, without any row."""
        task = self.job.tasks[0]
        abouts = tuple(_about(self.job.quantity, self.job.dataset, c) for c in task.columns)
        about = abouts[0] if len(abouts) == 1 else abouts
        local.kept = {}
        plan = self.job.plans[None, task.key]
        return task.variant.finalize(plan, local, about, exact=True, kind="frequency")


def in_any_order(quantity, case, wanted, method, schema, cut):
    """Assert that parts a, b, c give the same as (a b) c, a (b c), (c a) b, and all at once."""
    n = len(case.X)
    # Two different cuts among the n - 1 gaps between rows.
    one, apart = cut % (n - 1), 1 + cut // n % (n - 2)
    first, second = sorted((1 + one, 1 + (one + apart) % (n - 1)))
    order = case.rng.permutation(n)
    cuts = [order[:first], order[first:second], order[second:], np.arange(n)]
    parts = Parts.of(quantity, case, wanted, method, schema, cuts)
    a, b, c, whole = parts.found
    want = parts.read(whole)
    size = EXACT * case.bound * max(1.0, np.ptp(case.X[:, [A, B]], axis=0).prod())
    for merged in (
        a.merge(b).merge(c),
        a.merge(b.merge(c)),
        c.merge(a).merge(b),
        reduce(lambda one, two: two.merge(one), [a, b, c]),
    ):
        got = parts.read(merged)
        for name in {"value", "heterogeneity", "accumulated_std"} & {
            *vars(want),
            *vars(type(want)),
        }:
            near(getattr(got, name), getattr(want, name), size, name)
        for name in set(vars(want)) & {"std_error", "importance"}:
            near(getattr(got, name), getattr(want, name), size, name)
        assert merged.outside == whole.outside
        for name, moments in whole.moments.items():
            np.testing.assert_array_equal(merged.moments[name].count, moments.count, name)


@law(way=level_ways(), case=mixed_cases(), cut=st.integers(0, 10**6))
def test_parts_of_a_category_merge_in_any_order(way, case, cut):
    method = way.method(levels_of(case))
    in_any_order(sd.prediction(case.model), case, C, method, kinds(way.kind), cut)


@law(way=pair_ways(), case=mixed_cases(), cut=st.integers(0, 10**6))
def test_parts_of_a_pair_merge_in_any_order(way, case, cut):
    quantity = pair_quantity(case.model, way)
    in_any_order(quantity, case, way.columns, way.method(), kinds(way.kind), cut)


NUMBERS = [
    sd.ALE(bins=5),
    sd.ALE(bins=sd.Edges([-0.5, 0.5, 1.5])),
    sd.DALE(bins=4),
    sd.UALE(bins=sd.Uniform(3)),
    sd.RHALE(bins=sd.Uniform(5), local_effects="steps"),
    sd.PDP(grid=4),
    sd.PDP(grid=4, center="mean"),
    sd.ICE(grid=3, anchor=0.5),
    sd.PDP(grid=4, derivative=True),
    sd.MPlot(bins=4),
    sd.MPlot(bins=sd.Optimal(max_bins=6)),
]


@law(method=st.sampled_from(NUMBERS), case=mixed_cases(), cut=st.integers(0, 10**6))
def test_parts_of_a_number_merge_in_any_order(method, case, cut):
    quantity = pair_quantity(case.model, PAIR_WAYS["dale-slopes"])
    in_any_order(quantity, case, A, method, kinds("nominal"), cut)
