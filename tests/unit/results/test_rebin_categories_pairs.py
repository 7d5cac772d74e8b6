"""Rebinning without calling the model: M-plots, ordinal steps, points of missing values, and surfaces."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.build.rebin import rebin_effect
from tests.helpers import Remembers, bent, bent_slope, refused, same_effect, table

N = 240
X = table(N)
WEIGHTS = np.random.default_rng(1).integers(1, 4, N).astype(float)
SCHEMES: dict[str, Any] = {
    "int": 7,
    "uniform": sd.Uniform(6),
    "quantile": sd.Quantile(9),
    "edges": sd.Edges([-1.0, 0.0, 0.5, 2.0]),
    "edges closed on the left": sd.Edges([-1.0, 0.0, 0.5, 2.0], closed="left"),
    "edges beyond": sd.Edges([-50.0, -9.0, 0.0, 9.0, 50.0]),
    "optimal": sd.Optimal(max_bins=12, alpha=0.4),
    "optimal at data": sd.Optimal(grid="data", min_points=20),
    "greedy": sd.Greedy(max_bins=15),
    "auto": sd.AutoUniform(max_bins=6),
}


def one(method: Any, model: Any = bent, feature: Any = 0, **options: Any) -> Any:
    return sd.explain(model, options.pop("X", X), feature, method=method, progress=False, **options)


@pytest.mark.parametrize(
    "method", [sd.RHALE(), sd.DALE(), sd.ALE(bins=12)], ids=["rhale", "dale", "ale"]
)
def test_other_bins_have_the_same_heterogeneity_score(method):
    effect = one(method)
    again = effect.rebin(sd.Edges(effect.cells.edges[[0, 4, -1]]))
    assert again.heterogeneity_score > 0
    assert again.swap_score == effect.swap_score


def test_groups_of_levels_have_the_same_heterogeneity_score():
    data = pd.DataFrame({"a": np.arange(60) % 5, "b": np.arange(60.0)})
    schema = {"a": "ordinal"}
    effect = sd.explain(lambda T: (T["a"] * T["b"]).to_numpy(), data, "a", schema=schema)
    assert effect.rebin(sd.Greedy()).swap_score == effect.swap_score is not None


# ----------------------------------------------------------------------------------- M-plots


@pytest.mark.parametrize(
    ("bins", "weights", "center"),
    list(
        zip(
            SCHEMES.values(),
            itertools.cycle([None, WEIGHTS]),
            itertools.cycle([None, "mean", "mean"]),
            strict=False,
        )
    ),
    ids=SCHEMES,
)
def test_an_m_plot_on_other_bins_is_the_m_plot_of_these_bins(bins, weights, center):
    model = Remembers(bent)
    e = one(sd.MPlot(bins=20, center=center), model, sample_weight=weights)
    called = len(model.seen)
    got = e.rebin(bins)
    assert len(model.seen) == called
    want = one(sd.MPlot(bins=bins, center=center), sample_weight=weights)
    same_effect(got, want, 1e-12)
    np.testing.assert_array_equal(got.bins.left, want.bins.left)
    np.testing.assert_array_equal(got.bins.empty, want.bins.empty)
    assert replace(got.spec, parameters={}) == replace(want.spec, parameters={})
    assert got.provenance["rows_outside"] == want.provenance["rows_outside"]
    assert got.provenance["rebinned"] == got.spec.parameters["bins"]


def test_bins_of_an_m_plot_hold_the_means_of_their_rows():
    got = one(sd.MPlot(bins=20), sample_weight=WEIGHTS).rebin(sd.Edges([-1.0, 0.0, 1.5]))
    for k, (low, high) in enumerate([(-1.0, 0.0), (0.0, 1.5)]):
        here = (X[:, 0] > low) & (X[:, 0] <= high)
        assert got.value[k] == pytest.approx(np.average(bent(X[here]), weights=WEIGHTS[here]))
        assert got.x[k] == pytest.approx(np.average(X[here, 0], weights=WEIGHTS[here]))


def test_an_m_plot_that_kept_some_rows_joins_its_bins():
    whole = one(sd.MPlot(bins=12))
    part = one(sd.MPlot(bins=12), keep_rows=800)
    assert not part.rows.exact
    got = part.rebin(sd.Edges(whole.bins.left[[0, 3, 4, 9]], closed="right"))
    want = whole.rebin(sd.Edges(whole.bins.left[[0, 3, 4, 9]], closed="right"))
    same_effect(got, want, 1e-12)
    assert got.provenance["exact"] is True
    moved = part.rebin(sd.Uniform(3))
    assert moved.provenance["exact"] is False
    assert set(moved.bins.left) <= set(whole.bins.left)


def test_edges_outside_the_values_are_refused():
    with refused(sd.DataError, "edges outside the values", "Choose edges within"):
        one(sd.MPlot(bins=5)).rebin(sd.Edges([100.0, 200.0]))


def test_a_constant_m_plot_has_nothing_to_bin():
    e = one(sd.MPlot(), X=np.c_[np.ones(N), X])
    assert e.rebin(5) is e


@pytest.mark.parametrize("method", [sd.PDP(), sd.ICE(), sd.PDP(derivative=True)])
def test_grids_are_still_refused(method):
    with refused(sd.UnsupportedError, "rebin of the", "without bins", "another grid"):
        rebin_effect(one(method), 5)


# ------------------------------------------------------------- points of missing values


def with_gaps(seed: int = 2) -> np.ndarray:
    rows = table(N, 3, seed)
    rows[::7, 0] = np.nan
    return rows


def gapped(rows: np.ndarray) -> np.ndarray:
    """Return `bent`, where missing values of the first feature count as 1.5."""
    return bent(np.c_[np.nan_to_num(rows[:, 0], nan=1.5), rows[:, 1:]])


def gapped_slope(rows: np.ndarray) -> np.ndarray:
    return bent_slope(np.c_[np.nan_to_num(rows[:, 0], nan=1.5), rows[:, 1:]])


@pytest.mark.parametrize("kind", [sd.MPlot, sd.DALE, sd.RHALE])
@pytest.mark.parametrize("center", ["mean", None])
def test_the_point_of_missing_values_is_that_of_the_new_bins(kind, center):
    q = sd.prediction(gapped, slope=gapped_slope)
    rows = with_gaps()
    edges = sd.Edges([-1.0, 0.0, 0.7, 1.5]) if kind is sd.MPlot else sd.Edges([-9.0, 0.0, 0.7, 9.0])
    got = one(kind(bins=6, center=center), q, X=rows).rebin(edges).missing_point
    want = one(kind(bins=edges, center=center), q, X=rows).missing_point
    for name in ("effect", "std", "std_error", "value"):
        assert getattr(got, name) == pytest.approx(getattr(want, name), rel=1e-12), name
    assert (got.count, got.weight, got.exact) == (want.count, want.weight, want.exact)


# --------------------------------------------------------------------------- ordinal steps


def graded(seed: int = 0, levels: int = 8) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"grade": rng.integers(0, levels, N), "z": rng.normal(size=N)})


def staircase(rows: pd.DataFrame) -> np.ndarray:
    """Increase by 1 + 0.1 z² per step up to grade 3, and by 1 + 2 z + 0.1 z² from there on."""
    g = rows["grade"].to_numpy(float)
    return g + 2.0 * np.maximum(g - 3.0, 0.0) * rows["z"].to_numpy() + 0.1 * g * rows["z"] ** 2


ORDINAL = {"schema": {"grade": "ordinal"}, "X": graded(), "model": staircase, "feature": "grade"}


@pytest.mark.parametrize(
    ("bins", "weights", "kind"),
    [
        (sd.Optimal(alpha=0.9), None, sd.RHALE),
        (sd.Optimal(alpha=0.0, min_points=130), WEIGHTS, sd.UALE),
        (sd.Greedy(alpha=0.5), WEIGHTS, sd.RHALE),
        (sd.Greedy(min_points=200), None, sd.UALE),
    ],
    ids=["discount", "large", "greedy", "greedy large"],
)
def test_steps_are_grouped_as_explaining_again_groups_them(bins, weights, kind):
    model = Remembers(staircase)
    options = {**ORDINAL, "model": model, "sample_weight": weights}
    e = one(kind(), **options)
    called = len(model.seen)
    got = rebin_effect(e, bins)
    assert len(model.seen) == called
    want = one(kind(bins=bins), **{**options, "model": staircase})
    same_effect(got, want, 1e-12)
    np.testing.assert_array_equal(got.bins.left, want.bins.left)
    np.testing.assert_array_equal(got.bins.right, want.bins.right)
    np.testing.assert_array_equal(got.bins.std, want.bins.std)
    assert got.spec == want.spec
    assert got.provenance["rebinned"] == bins.describe()
    np.testing.assert_array_equal(got.value, e.value)


def test_groups_of_steps_are_the_best_of_all_groups():
    """Search all partitions of the steps, from the local effects of the rows (Eq. 13, each step of width 1)."""
    alpha, least, rows = 0.02, 60, graded()
    grade = rows["grade"].to_numpy()
    last = grade.max()
    steps: list[np.ndarray] = []
    for k in range(last):
        near = rows[np.isin(grade, [k, k + 1])]
        steps.append(
            (staircase(near.assign(grade=k + 1)) - staircase(near.assign(grade=k))).to_numpy()
        )
    total = sum(map(len, steps))

    def cost(ends: tuple[int, ...]) -> float:
        price = 0.0
        for a, b in itertools.pairwise(ends):
            inside = np.concatenate(steps[a:b])
            if len(inside) < least:
                return np.inf
            price += (1 - alpha * len(inside) / total) * inside.var(ddof=1) * (b - a)
        return price

    inner = range(1, last)
    cuts = [c for size in range(last) for c in itertools.combinations(inner, size)]
    best = min(((0, *c, last) for c in cuts), key=cost)
    got = rebin_effect(one(sd.RHALE(), **ORDINAL), sd.Optimal(alpha=alpha, min_points=least))
    assert got.bins.left.tolist() == list(best[:-1])
    assert got.bins.right.tolist() == list(best[1:])
    assert 1 < len(best) - 1 < last


def test_grouping_needs_no_rows():
    e = one(sd.RHALE(), **ORDINAL, keep_rows=0)
    assert e.rows is None or not e.rows.exact
    want = rebin_effect(one(sd.RHALE(), **ORDINAL), sd.Greedy(alpha=0.5))
    np.testing.assert_array_equal(rebin_effect(e, sd.Greedy(alpha=0.5)).bins.left, want.bins.left)


def test_one_level_has_no_steps_to_group():
    e = one(sd.RHALE(top_levels=1), **ORDINAL)
    assert len(rebin_effect(e, sd.Optimal()).x) == 1


@pytest.mark.parametrize("bins", [4, sd.Edges([0, 4]), sd.AutoUniform()])
def test_steps_lie_on_no_axis(bins):
    with refused(sd.UnsupportedError, "rebin of the RHALE of 'grade'", "which group levels"):
        rebin_effect(one(sd.RHALE(), **ORDINAL), bins)


def test_nominal_levels_have_no_bins():
    e = one(sd.ALE(), **{**ORDINAL, "schema": {"grade": "nominal"}})
    with refused(sd.UnsupportedError, "rebin of the ALE of 'grade'", "declare it", "ordinal"):
        rebin_effect(e, sd.Optimal())


@pytest.mark.parametrize("method", [sd.MPlot(), sd.PDP()])
def test_levels_of_other_methods_have_no_bins(method):
    with refused(sd.UnsupportedError, "without bins", "Use the levels as they are"):
        rebin_effect(one(method, **ORDINAL), sd.Optimal())


# -------------------------------------------------------------------------------- surfaces

SLOPED = sd.prediction(bent, slope=bent_slope)
PAIRS: dict[str, Any] = {
    "uniform": sd.Uniform(4),
    "int": 5,
    "quantile": sd.Quantile(6),
    "edges": (sd.Edges([-1.0, 0.0, 1.0]), sd.Edges([-2.0, 0.5, 1.0, 2.0])),
    "two schemes": (sd.Uniform(3), sd.Quantile(7)),
    "one cell": (sd.Edges([-1.0, 1.0]), sd.Edges([-1.0, 1.0])),
}


@pytest.mark.parametrize(
    ("bins", "weights", "empty"),
    list(
        zip(
            PAIRS.values(),
            itertools.cycle([None, WEIGHTS]),
            itertools.cycle(["nearest", None, None]),
            strict=False,
        )
    ),
    ids=PAIRS,
)
def test_a_surface_of_slopes_on_other_bins_is_the_surface_of_these_bins(bins, weights, empty):
    model = Remembers(bent)
    q = sd.prediction(model, slope=bent_slope)
    shown = one(sd.DALE(bins=8, empty=empty), q, (0, 1), sample_weight=weights)
    called = len(model.seen)
    got = shown.rebin(bins)
    assert len(model.seen) == called
    by_name = dict(zip(("x0", "x1"), bins, strict=True)) if isinstance(bins, tuple) else bins
    want = one(sd.DALE(bins=by_name, empty=empty), SLOPED, (0, 1), sample_weight=weights)
    for axis in (0, 1):
        np.testing.assert_array_equal(got.x[axis], want.x[axis])
        np.testing.assert_allclose(got.main[axis], want.main[axis], rtol=1e-12, atol=1e-12)
    size = np.abs(want.value).max()
    np.testing.assert_allclose(got.value, want.value, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(got.heterogeneity, want.heterogeneity, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(got.cells.count, want.cells.count)
    np.testing.assert_array_equal(got.cells.weight, want.cells.weight)
    np.testing.assert_array_equal(got.cells.empty, want.cells.empty)
    np.testing.assert_allclose(got.cells.effect, want.cells.effect, rtol=1e-12, atol=1e-12)


def test_a_rebinned_surface_holds_no_main_effects():
    shown = one(sd.DALE(bins=8), SLOPED, (0, 1))
    got = shown.with_main_effects().rebin(sd.Uniform(4))
    np.testing.assert_array_equal(got.value, shown.rebin(sd.Uniform(4)).value)
    assert not got.includes_main_effects
    assert got.provenance["rebinned"] == [sd.Uniform(4).describe()] * 2


def test_a_product_keeps_its_mixed_slope_on_any_bins():
    """The mixed derivative of 3 x0 x1 is 3 everywhere: each cell's effect is 3 times its area."""
    q = sd.prediction(
        lambda rows: 3 * rows[:, 0] * rows[:, 1],
        slope=lambda rows: np.c_[3 * rows[:, 1], 3 * rows[:, 0], 0 * rows[:, 0]],
    )
    got = one(sd.DALE(bins=8), q, (0, 1)).rebin((sd.Uniform(3), sd.Edges([-1.0, 0.2, 1.0])))
    area = np.diff(got.x[0])[:, None] * np.diff(got.x[1])[None, :]
    np.testing.assert_allclose(got.cells.effect, 3 * area, rtol=1e-6)


@pytest.mark.parametrize("method", [sd.ALE(bins=4), sd.PDP(grid=4)])
def test_other_surfaces_are_refused(method):
    with refused(sd.UnsupportedError, "rebin of the", "surface", "sd.DALE()"):
        one(method, SLOPED, (0, 1)).rebin(5)


def test_a_surface_that_kept_some_rows_is_refused():
    with refused(sd.UnsupportedError, "a sample of the rows", "larger keep_rows="):
        one(sd.DALE(bins=4), SLOPED, (0, 1), keep_rows=800).rebin(5)
