"""Laws of observed means: weights are repetitions, rows have no order, splits partition, labels have scales."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.analysis.row_groups import find_row_groups
from skedasis.data.dataset import as_dataset
from skedasis.results.observed import OBSERVED_MEANS, Observed
from tests.helpers import frame, of_frame

X = frame(200, seed=4)
Y = np.asarray(of_frame(X)) + np.random.default_rng(0).normal(size=200)
PART = np.arange(200) % 3
W = np.random.default_rng(3).uniform(0.5, 2, 200)
METHODS = {"ale": "ale", "pdp": "pdp", "mplot": sd.MPlot()}
every = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def explained(rows: Any = slice(None), y: Any = Y, **options: Any) -> dict[str, Observed]:
    """Return the observed means of all features at some rows."""
    found = sd.explain(
        of_frame,
        X.iloc[rows],
        y=np.asarray(y)[rows],
        split=PART[rows],
        observed=True,
        heterogeneity_rows=0,
        **options,
    )
    return {name: e.observed for name, e in found.items() if e.observed is not None}


def alike(
    one: dict[str, Observed], other: dict[str, Observed], *, but: tuple[str, ...] = ()
) -> None:
    assert list(one) == list(other) != []
    for name, seen in one.items():
        for field in ("weight", "points", "low", "high", "df", *OBSERVED_MEANS):
            if field not in but:
                _near(vars(seen)[field], vars(other[name])[field])
        for of in OBSERVED_MEANS:
            _near(vars(seen)[f"{of}_error"], vars(other[name])[f"{of}_error"])
        assert seen.split_values == other[name].split_values


def _near(a: np.ndarray, b: np.ndarray) -> None:
    scale = np.abs(np.nan_to_num(b)).max(initial=0.0)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(scale, 1e-3))


@every
def test_whole_weights_are_repeated_rows(method):
    w = np.random.default_rng(1).integers(0, 4, 200)
    weighted = explained(method=method, sample_weight=w)
    alike(weighted, explained(np.repeat(np.arange(200), w), method=method))


@every
def test_the_order_of_rows_does_not_matter(method):
    order = np.random.default_rng(2).permutation(200)
    alike(explained(order, method=method), explained(method=method))


@every
def test_labels_have_a_scale_and_an_origin(method):
    one, other = explained(method=method), explained(y=3 * Y + 5, method=method)
    for name, seen in one.items():
        _near(other[name].label, 3 * seen.label + 5)
        _near(other[name].label_error, 3 * seen.label_error)
        _near(other[name].prediction, seen.prediction)
        _near(other[name].residual, other[name].label - other[name].prediction)


@every
def test_the_values_of_a_split_partition_the_rows(method):
    """Their means, weighted by their rows, are those without a split."""
    found = sd.explain(
        of_frame, X, y=Y, observed=True, heterogeneity_rows=0, method=method, sample_weight=W
    )
    for name, seen in explained(method=method, sample_weight=W).items():
        whole = found[name].observed
        assert whole is not None
        _near(seen.weight.sum(axis=0), whole.weight[0])
        assert seen.count.sum(axis=0).tolist() == whole.count[0].tolist()
        for of in OBSERVED_MEANS:
            means = np.nan_to_num(vars(seen)[of])
            _near((means * seen.weight).sum(axis=0) / whole.weight[0], vars(whole)[of][0])


# --- one cell, one error --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "frequency", "sampling"])
def test_a_cell_has_one_error_wherever_it_is_said(kind):
    """Observed means, bins of a calibration, M-plots, groups of rows as in weak spots, and drift."""
    rng = np.random.default_rng(7)
    w = rng.integers(1, 5, 4000) if kind == "frequency" else rng.uniform(0.05, 1, 4000)
    p = rng.uniform(size=(4000, 1))
    y = p[:, 0] + (p[:, 0] > 0.7) + rng.normal(size=4000) / np.sqrt(w)
    given: dict[str, Any] = {} if kind == "none" else {"sample_weight": w, "weight_kind": kind}
    options: dict[str, Any] = {"observed": True, "heterogeneity_rows": 0, **given}

    def seen(edges: Any, split: Any = None) -> Observed:
        method = sd.ALE(bins=sd.Edges(edges))
        found = sd.explain(_first, p, 0, y=y, method=method, split=split, **options).observed
        assert found is not None
        return found

    quarters = np.linspace(0, 1, 5)
    bins = sd.calibration(_first, p, y, method="bins", bins=sd.Edges(quarters), **given).points
    cells = seen(quarters)
    _near(cells.residual_error[0], np.array([b.std_error for b in bins]))
    _near(cells.df[0], np.array([b.df for b in bins]))

    edges = sd.Edges(quarters, closed="left")
    X = np.column_stack([p[:, 0], np.digitize(p[:, 0], quarters[1:-1])])
    for quantity, of in {sd.residual(_first): "residual", sd.label(): "label"}.items():
        told = {"y": y, "method": sd.MPlot(bins=edges), "schema": {"x1": "nominal"}, **given}
        means, levels = sd.explain(quantity, X, **told).values()
        for m_plot in (means, means.rebin(edges), levels):
            _near(m_plot.std_error, vars(cells)[f"{of}_error"][0])
            _near(m_plot.df, cells.df[0])

    rows = as_dataset(p, sample_weight=None if kind == "none" else w)
    rows = replace(rows, sampling_weights=kind == "sampling")
    residual = y - p[:, 0]
    groups = find_row_groups(residual, rows, 0, purpose="test", max_depth=1)
    assert len(groups.leaves) == 2
    parts = seen([0, 1], np.where(groups.half, 2, groups.group))
    for g in (0, 1):
        mean = groups.mean(residual, g)
        _near(parts.residual[g, 0], np.asarray(mean.value))
        _near(parts.residual_error[g, 0], np.asarray(mean.std_error))
        _near(parts.df[g, 0], np.asarray(mean.df))

    old = np.arange(4000) < 2500
    tables = seen([0, 1], np.where(old, "old", "new"))
    of_both: dict[str, Any] = {"sample_weight_old": w[old], "sample_weight_new": w[~old]}
    weighted = {**of_both, "weight_kind": kind} if given else {}
    drift = sd.drift(_first, p[old], _first, p[~old], **weighted)
    _near(np.hypot(*tables.prediction_error[:, 0]), np.asarray(drift.change.std_error))


@pytest.mark.parametrize("weights", [{}, {"sample_weight": W, "weight_kind": "sampling"}])
def test_rows_without_a_value_have_the_same_error_in_an_m_plot(weights):
    X = np.where(np.arange(200) % 4 == 0, np.nan, np.asarray(Y))[:, None]
    given: dict[str, Any] = {"y": Y / np.sqrt(W), "method": "mplot", **weights}
    seen = sd.explain(lambda X: np.nan_to_num(X[:, 0]), X, 0, observed=True, **given).observed
    plot = sd.explain(sd.label(), X, 0, **given)
    assert seen is not None
    assert seen.missing is not None
    assert plot.missing_point is not None
    _near(np.asarray(plot.missing_point.std_error), seen.missing.label_error[0, 0])
    _near(plot.std_error, seen.label_error[0])


def _first(X: Any) -> Any:
    return X[:, 0]
