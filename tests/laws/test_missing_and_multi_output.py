"""Laws of missing values, and of multi-output models, for numbers, categories and pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.mixed_cases import (
    A,
    B,
    C,
    kinds,
    mixed_cases,
    tables,
)
from tests.laws.strategies import EXACT, identical, law, near

# ------------------------------------------------------------------------ missing values and outputs


MISSING = [
    (A, "nominal", sd.ALE(bins=4)),
    (A, "nominal", sd.RHALE()),
    (A, "nominal", sd.PDP(grid=4)),
    (A, "nominal", sd.MPlot(bins=4)),
    (C, "ordinal", sd.ALE()),
    (C, "ordinal", sd.PDP()),
    (C, "ordinal", sd.MPlot()),
]


@law(form=st.sampled_from(MISSING), case=mixed_cases(), memory=st.sampled_from([400, 2_000]))
def test_batches_do_not_change_the_point_of_missing_values(form, case, memory):
    column, kind, method = form
    X = case.X.copy()
    X[case.rng.random(len(X)) < 0.3, column] = np.nan
    X[:8, column] = case.X[:8, column]
    if not np.isnan(X[:, column]).any():
        return

    def model(Z):
        return case.model(np.where(np.isnan(Z), 1.0, Z)) + 3.0 * np.isnan(Z[:, column])

    options = {"method": method, "sample_weight": case.weights, "schema": kinds(kind)}
    whole = sd.explain(model, X, column, **options)
    pieces = sd.explain(model, X, column, memory=memory, **options)
    shuffled = case.rng.permutation(len(X))
    weights = None if case.weights is None else case.weights[shuffled]
    other = sd.explain(model, X[shuffled], column, **{**options, "sample_weight": weights})
    assert whole.missing_point.count == np.isnan(X[:, column]).sum()
    for found in (pieces.missing_point, other.missing_point):
        assert (found.count, found.exact) == (whole.missing_point.count, whole.missing_point.exact)
        for name in ("effect", "std", "std_error", "value", "weight"):
            want = getattr(whole.missing_point, name)
            near(getattr(found, name), want, EXACT * (case.bound + len(X)), name)


SEVERAL = [
    (sd.RHALE(), None),
    (sd.ALE(bins=4), None),
    (sd.ALE(), [C]),
    (sd.PDP(grid=4), None),
    (sd.MPlot(bins=3), None),
    (sd.ALE(bins=3), [(A, B), (C, A)]),
    (sd.PDP(grid=3), [(A, C)]),
    (sd.DALE(bins=3), [(A, B)]),
]


@law(form=st.sampled_from(SEVERAL), case=mixed_cases(), memory=st.sampled_from([2_000, 10**9]))
def test_several_outputs_are_the_single_ones_to_the_last_bit(form, case, memory):
    method, wanted = form
    other = tables(case.rng, *case.levels)
    rows = []

    def model(X):
        rows.append(len(X))
        return np.stack([case.model(X), other(X), np.zeros(len(X))], axis=1)

    options = {"method": method, "sample_weight": case.weights, "memory": memory, "progress": False}
    options["schema"] = kinds("nominal")
    together = sd.explain(sd.prediction(model, output="all"), case.X, wanted, **options)
    seen = sum(rows)
    assert list(together) == [0, 1, 2]
    singly = []
    for k, part in together.items():
        alone = sd.explain(sd.prediction(model, output=k), case.X, wanted, **options)
        for name in alone:
            got, want = part[name], alone[name]
            numbers = ["value", "heterogeneity", "moments", "rows"]
            numbers += ["swap_score"] if hasattr(want, "swap_score") else []
            for field in numbers:
                # Batches are smaller where outputs share the memory; sums are then rounded differently.
                if memory == 10**9:
                    identical(getattr(got, field), getattr(want, field))
            near(got.value, want.value, EXACT * (case.bound + other.bound(case.X)), "value")
        said = alone.provenance if hasattr(alone, "provenance") else want.provenance
        singly.append(said["model_rows"])
    if memory == 10**9:
        # Two rows are evaluated to find the number of outputs. A feature whose slopes do not match the differences of
        # one output costs further rows, which all outputs share: at least the cost of the most expensive output, at
        # most the sum of what each output adds.
        least = min(singly)
        assert max(singly) <= seen - 2 <= least + sum(own - least for own in singly)
