"""The check of slopes against differences of a quantity: given bins, multi-output and multi-model explanations."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.checks.slope_check import CheckedRows, slope_check
from skedasis.stats.grid import Cells

X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))


def bends(X):
    return np.sin(6 * X[:, 0]) + X[:, 0] * X[:, 1]


@pytest.mark.parametrize(
    ("method", "bins"),
    [
        (sd.RHALE, 2),
        (sd.UALE, 4),
        (sd.UALE, sd.Edges([-1, -0.5, 0.2, 1])),
        (sd.RHALE, sd.Optimal(min_points=700)),
    ],
)
def test_slopes_are_not_blamed_for_what_bins_straighten(method, bins):
    e = sd.explain(bends, X, 0, method=method(bins=bins))
    assert e.spec.local_effects == "differences"
    assert "slope_mismatch" not in {f.code for f in e.checks()}


def test_the_check_compares_the_result_s_own_bins():
    """Of an additive model the rises are the same in all rows, so that those of a few rows are exact."""
    edges, x = np.array([-1, -0.3, 0.6, 1]), X[:, 0]
    method = sd.DALE(bins=sd.Edges(edges))
    e = sd.explain(lambda X: np.sin(6 * X[:, 0]) + X[:, 1], X, 0, method=method)
    cell = np.searchsorted(edges, x, side="right") - 1
    slopes = np.array([6 * np.cos(6 * x[cell == k]).mean() for k in range(3)])
    rises = np.diff(np.sin(6 * edges))
    off, curve = (
        np.interp(x, edges, np.append(0.0, np.cumsum(r)))
        for r in (slopes * np.diff(edges) - rises, rises)
    )
    found = e.provenance["slope_check"]
    assert found["distance"] == pytest.approx(off.std(), rel=1e-6)
    assert found["limit"] == pytest.approx(0.25 * np.hypot(curve.std(), e.heterogeneity_score))
    assert found["range"] == pytest.approx(
        np.ptp(np.cumsum(np.append(0, slopes * np.diff(edges) - rises)))
    )
    assert found["rows"] == 3 * 16


@pytest.mark.parametrize("weighted", [False, True])
def test_the_limit_has_the_errors_of_the_mean_rises(weighted):
    """From the definition: each row's centred curve is linear in the mean rises, whose errors are independent."""
    rng = np.random.default_rng(4)
    x = np.append(rng.uniform(size=58), [0.0, 1.0])
    w = rng.uniform(0.5, 2, 60) if weighted else np.ones(60)
    cells, z = Cells(np.array([0.0, 0.2, 0.7, 1.0])), rng.normal(size=60)
    rise = z * np.diff(cells.edges)[cells.locate(x)]
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], np.column_stack([x, z]), 0, heterogeneity_rows=0)
    e = e.rebin(sd.Edges([x.min(), x.max()]))
    checked = CheckedRows.of(cells, x)
    found = slope_check(e, cells, x, w if weighted else None, checked, rise[checked.rows])
    share, error2, form = w / w.sum(), np.zeros(3), np.zeros((60, 3))
    for k in range(3):
        rows = checked.rows[checked.group == k]
        v = w[rows] / w[rows].sum()
        mean, size = v @ rise[rows], 1 / (v @ v)
        error2[k] = v @ (rise[rows] - mean) ** 2 / (1 - v @ v) / size
        form[:, k] = np.clip((x - cells.edges[k]) / (cells.edges[k + 1] - cells.edges[k]), 0, 1)
    form -= share @ form
    assert found.rows == len(np.unique(checked.rows)) <= 48
    assert found.limit == pytest.approx(3 * np.sqrt(share @ (form**2 @ error2)), rel=1e-9)
    assert found.range_limit == pytest.approx(3 * np.sqrt(error2.sum()), rel=1e-9)


@pytest.mark.parametrize(
    ("size", "gaps", "each"), [(32, (), 16), (60, (5, 20), 12), (44, (9,), 16)]
)
def test_the_check_takes_sixteen_rows_of_a_cell_and_at_most_750(size, gaps, each):
    edges = np.linspace(0, 1, size + 1)
    x = np.random.default_rng(3).permutation(np.linspace(0, 1, 4001))
    x = x[~np.isin(Cells(edges, "right").locate(x), gaps)]
    checked = CheckedRows.of(Cells(edges, "right", gaps), x)
    counts = np.bincount(checked.group, minlength=size + 2 * len(gaps))
    wanted = np.full(size + 2 * len(gaps), each)
    wanted[list(gaps)] = 0
    np.testing.assert_array_equal(counts, wanted)
    assert counts.sum() <= 750


def test_the_unit_of_sampling_weights_does_not_change_the_check():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.exponential(size=500), rng.normal(size=500)])
    w = rng.uniform(0.5, 1.5, 500)
    method = sd.RHALE(local_effects="slopes")
    one, other = (
        sd.explain(bends, Z, 0, method=method, sample_weight=w * unit, weight_kind="sampling")
        for unit in (1.0, 2.0**40)
    )
    assert one.provenance["slope_check"] == pytest.approx(other.provenance["slope_check"])


def test_an_output_is_checked_alone_as_it_is_among_others():
    def two(X):
        return np.stack([bends(X), np.cos(5 * X[:, 0]) * X[:, 1]], axis=1)

    for method in (sd.DALE(bins=3), sd.RHALE(bins=sd.Optimal(12)), sd.RHALE()):
        both = sd.explain(sd.prediction(two, output="all"), X, 0, method=method)
        for k, e in both.items():
            alone = sd.explain(sd.prediction(two, output=k), X, 0, method=method)
            assert e.provenance["slope_check"] == alone.provenance["slope_check"]


def test_several_models_say_what_the_check_found():
    wrong = sd.prediction(bends, slope=lambda X: np.c_[0 * X[:, 0] - 9, X[:, 0]])
    right = sd.prediction(bends, slope=lambda X: np.c_[6 * np.cos(6 * X[:, 0]) + X[:, 1], X[:, 0]])
    em = sd.explain([wrong, right], X, 0, refits=True)
    assert ["slope_mismatch" in {f.code for f in e.checks()} for e in em.models] == [True, False]
    alone = sd.explain(wrong, X, 0).provenance["slope_check"]
    assert em.models[0].provenance["slope_check"]["rows"] == alone["rows"]


def test_given_slopes_stay_although_those_of_another_model_do_not_match():
    """Slopes of ranks follow the density of the data. They are replaced unless another model has given slopes."""
    Z = np.column_stack([np.exp(2 * np.random.default_rng(1).normal(size=2000)), X[:, 1]])
    quantiles = np.quantile(Z[:, 0], np.linspace(0, 1, 1000))
    ranks = sd.prediction(lambda Z: np.interp(Z[:, 0], quantiles, np.linspace(-2, 2, 1000)))
    given = sd.prediction(lambda Z: Z[:, 0], slope=lambda Z: np.eye(2)[[0] * len(Z)])
    assert sd.explain(ranks, Z, 0).spec.local_effects == "steps"
    both = sd.explain([given, ranks], Z, 0, refits=True)
    assert [e.spec.local_effects for e in both.models] == ["slopes", "differences"]
    assert "slope_mismatch" in {f.code for f in both.models[1].checks()}
