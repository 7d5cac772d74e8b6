"""Reliability checks of results: flags with their positions, numbers and messages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.errors import DataError
from tests.helpers import (
    METHODS,
    curve_extrapolations,
    frame,
    linear,
    of_frame,
    paired,
    refused,
    table,
)
from tests.unit.results.test_variance_decomposition import of_slopes


def kinds(flags):
    return [(f.code, f.severity) for f in flags]


def test_a_clean_curve_has_nothing_against_it():
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    for method in (sd.ALE(), sd.DALE(), sd.RHALE()):
        flags = sd.explain(linear, X, 0, method=method).checks(X=X)
        assert flags == ()
        assert str(flags) == "No warnings."
    assert sd.explain(linear, X, 0, method=sd.PDP()).checks(X=X) == ()


def test_bins_of_few_rows_are_named_with_their_ends():
    x = np.concatenate([np.linspace(0, 1, 50), np.linspace(1.05, 1.9, 5), np.linspace(2, 3, 50)])
    X = np.column_stack([x, x])
    e = sd.explain(linear, X, 0, method=sd.DALE(bins=sd.Edges([0, 1.0001, 1.95, 3])))
    (flag,) = e.checks().of("few_rows")
    assert (flag.code, flag.severity, flag.feature) == ("few_rows", "warning", "x0")
    assert flag.where == (1.0001, 1.95)
    assert flag.numbers["rows"] == [5]
    assert "5 rows" in flag.message
    assert "fewer bins" in flag.message


def test_a_bin_of_one_row_has_no_variance_and_says_so():
    x = np.append(np.linspace(0, 1, 40), 1.5)
    e = of_slopes(np.cos(99 * x), x, sd.DALE(bins=sd.Edges([0, 1.0001, 2])))
    (flag,) = e.checks().of("one_row")
    assert flag.where == (1.0001, 2.0)
    assert "no variance" in flag.message


def test_slopes_that_depend_on_x_inside_a_bin_are_told_with_what_is_left():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=2000)
    e = of_slopes(np.where(x < 0.5, 8 * x, 4) + rng.normal(0, 0.5, 2000), x, sd.DALE(bins=2))
    (flag,) = e.checks(ignore=("heterogeneous", "depends_on"))
    assert (flag.code, flag.severity) == ("slope_changes", "warning")
    assert flag.where == pytest.approx((0, 0.5), abs=0.01)
    assert flag.numbers["share"] == pytest.approx(16 / 12 / (16 / 12 + 0.25), rel=0.05)
    assert flag.numbers["within"] == pytest.approx(0.5, rel=0.1)
    assert "e.rebin(sd.Quantile(40))" in flag.message
    assert e.rebin(sd.Quantile(40)).checks().warnings.of("slope_changes") == ()


def test_what_is_sure_but_small_is_a_note():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=20_000)
    e = of_slopes(0.3 * x + rng.normal(size=20_000), x, sd.DALE(bins=1))
    (flag,) = e.checks(ignore=("heterogeneous", "depends_on"))
    assert (flag.code, flag.severity) == ("slope_changes", "note")
    assert flag.numbers["share"] < 0.05


def test_empty_bins_and_gaps_are_told_once():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(0, 0.3, 300), rng.uniform(0.7, 1, 300)])
    X = np.column_stack([x, rng.uniform(size=600)])
    for method in (sd.DALE(bins=10), sd.ALE(), sd.RHALE(), sd.PDP(), sd.MPlot()):
        flags = sd.explain(linear, X, 0, method=method).checks().of("no_rows")
        assert len(flags) == 1, method
        left, right = flags[0].where
        assert 0.25 <= left < 0.35 < 0.65 < right <= 0.75
        assert flags[0].severity == "warning"


def test_an_end_that_one_row_carries_is_noted():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.append(rng.uniform(size=500), 3.0), rng.uniform(size=501)])
    (flag,) = sd.explain(linear, X, 0, method=sd.ALE()).checks().of("gap")
    assert flag.severity == "warning"
    assert "beyond it lies 1 row (0.2 %), at 3." in flag.message


@pytest.mark.parametrize("draw", ["normal", "exponential", "poisson"])
def test_usual_distributions_have_no_gaps(draw):
    rng = np.random.default_rng(6)
    for _ in range(40):
        x = getattr(rng, draw)(size=300)
        e = sd.explain(linear, np.column_stack([x, x]), 0, method=sd.ALE(bins=10))
        assert not e.checks().of("no_rows").warnings


def test_rare_levels_are_named():
    X = frame(300)
    X.loc[:3, "c"] = "rare"
    e = sd.explain(of_frame, X, "c", method=sd.ALE())
    (flag,) = e.checks().of("few_rows")
    assert (flag.where, flag.severity, flag.numbers["rows"]) == ("rare", "warning", 4)
    swept = sd.explain(of_frame, X, "c", method=sd.PDP()).checks().of("few_rows")
    assert kinds(swept) == [("few_rows", "note")]


def test_a_step_that_depends_on_where_rows_come_from_is_noted():
    rng = np.random.default_rng(7)
    X = frame(400)
    X["a"] = np.where(X["c"].isin(["u", "v"]), 5.0, 0.0) + rng.normal(size=400)
    e = sd.explain(of_frame, X, "c", method=sd.ALE(order=["u", "w", "v", "x"]))
    flags = e.checks().of("slope_changes")
    assert flags
    assert all(f.severity == "note" for f in flags)
    assert flags[0].where[0] in "uwvx"


# ----------------------------------------------------------------------------------------------- extrapolation


def test_swept_rows_of_correlated_features_are_extrapolations():
    rng = np.random.default_rng(8)
    x = rng.normal(size=800)
    X = np.column_stack([x, x + 0.05 * rng.normal(size=800), *rng.normal(size=(6, 800))])
    pdp = sd.explain(linear, X, 0, method=sd.PDP())
    flag, near = pdp.checks(X=X)
    assert (near.code, near.severity) == ("collinear", "note")
    assert (flag.code, flag.severity) == ("extrapolation", "warning")
    assert flag.numbers["share"] > 0.6
    assert flag.numbers["others"] == ("x1",)
    assert max(flag.numbers["at"]) >= flag.numbers["share"]
    assert len(flag.numbers["at"]) == len(pdp.x)
    assert flag.numbers["rows"] <= 2000
    ale = sd.explain(linear, X, 0, method=sd.ALE(bins=80)).checks(X=X).of("extrapolation")
    assert not ale.warnings
    assert not sd.explain(linear, X, 2, method=sd.PDP()).checks(X=X)


def test_of_few_values_no_finer_bins_are_proposed():
    rng = np.random.default_rng(8)
    month = rng.integers(0, 12, 800)
    X = np.column_stack([month // 3, month, rng.normal(size=(800, 2))]).astype(float)
    for method in (sd.ALE(), sd.RHALE()):
        (flag,) = sd.explain(linear, X, 0, method=method).checks(X=X).of("extrapolation")
        assert "narrower bins do not help" in flag.message
        assert "% at " in flag.message
    wide = sd.explain(linear, X, 1, method=sd.ALE(bins=sd.Edges([0, 6, 11])))
    assert wide.checks(X=X).of("extrapolation")[0].message.endswith("Use more bins: sd.ALE().")


@pytest.mark.parametrize("d", [2, 4, 12])
def test_of_independent_features_one_in_a_hundred_is_far(d):
    from skedasis.results.checks.extrapolation import extrapolation

    shares = []
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(1500, d))
        e = sd.explain(linear, X, 0, method=sd.PDP(grid=X[:20, 0]))
        shares.append(extrapolation(e, X, seed).overall)
    assert np.mean(shares) == pytest.approx(0.01, abs=0.012)


def test_nearest_is_brute_force():
    from skedasis.results.checks.extrapolation import nearest_distance

    rng = np.random.default_rng(9)
    for d in (2, 15):
        made, reference = rng.normal(size=(300, d)), rng.normal(size=(200, d))
        reference[7] = reference[8]
        made[:20] = reference[:20]
        without = np.where(np.arange(300) < 20, np.arange(300), -1)
        distance = np.sqrt(((made[:, None] - reference[None]) ** 2).sum(axis=2))
        distance[np.arange(20), np.arange(20)] = np.inf
        np.testing.assert_allclose(
            nearest_distance(made, reference, without), distance.min(axis=1), rtol=1e-9, atol=1e-12
        )


def test_without_x_a_pdp_says_what_would_be_needed():
    X = table(100)
    (flag,) = sd.explain(linear, X, 0, method=sd.PDP()).checks()
    assert kinds([flag]) == [("extrapolation", "note")]
    assert "checks(X=X)" in flag.message


def test_levels_that_go_with_another_feature_are_extrapolated():
    rng = np.random.default_rng(10)
    X = frame(600)
    X["a"] = X["c"].map({"u": 0.0, "v": 10.0, "w": 20.0, "x": 30.0}) + rng.normal(size=600)
    for method in (sd.PDP(), sd.ALE()):
        e = sd.explain(of_frame, X, "c", method=method)
        (flag,) = curve_extrapolations(e.checks(X=X))
        assert flag.numbers["share"] > 0.5
        assert flag.numbers["others"] == ("a",)
    assert not sd.explain(of_frame, X, "d", method=sd.PDP()).checks(X=X).of("extrapolation")


def test_another_table_is_refused():
    X = table(100)
    e = sd.explain(linear, X, 0, method=sd.PDP(ice="all"))
    for other in (X[:50], X + 1, X[:, :0], X[:, 1:]):
        with pytest.raises(DataError):
            e.checks(X=other)
    with refused(DataError, "checks(X)", "another table"):
        e.checks(X=X + 1)


# ---------------------------------------------------------------------------------- comparison with another effect


def two(rho, n=2000, model=lambda X: X[:, 0] * X[:, 1]):
    rng = np.random.default_rng(12)
    z = rng.normal(size=(n, 2))
    X = np.column_stack([z[:, 0], rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]])
    return X, *(sd.explain(model, X, 0, method=m) for m in (sd.ALE(), sd.PDP(spacing="uniform")))


def test_correlated_features_make_pdp_and_ale_disagree_and_ale_is_to_be_trusted():
    # E[X1] = 0: the PDP is flat. The ALE of x0 x1 is rho x0² / 2, because E[x1 | x0] = rho x0.
    X, ale, pdp = two(0.95)
    (flag,) = ale.checks(X=X, beside=pdp).of("disagreement")
    assert flag.severity == "warning"
    assert "Use ALE" in flag.message
    at = flag.numbers["at"]
    expected = abs(0.95 * (at**2 - 1) / 2)
    assert flag.numbers["difference"] == pytest.approx(expected, rel=0.35)
    assert flag.numbers["errors"] > 3
    assert "Use ALE" in pdp.checks(X=X, beside=ale).of("disagreement")[0].message
    assert "checks(X=X)" in ale.checks(beside=pdp).of("disagreement")[0].message


def test_a_disagreement_at_one_value_is_said_to_be_there():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 4, 3000)
    X = np.column_stack([level, level + 0.05 * rng.normal(size=3000)]).astype(float)

    def last(X):
        return 5 * (X[:, 0] == 3) * (X[:, 1] > 2.5) + X[:, 0]

    ale, pdp = (sd.explain(last, X, 0, method=m) for m in ("ale", "pdp"))
    (flag,) = ale.checks(X=X, beside=pdp).of("disagreement")
    assert flag.where == (3, 3)
    assert "differ at 3 by" in flag.message


def test_independent_features_agree():
    X, ale, pdp = two(0.0)
    assert not ale.checks(X=X, beside=pdp).of("disagreement")
    X, ale, pdp = two(0.95, model=lambda X: X[:, 0] ** 3 + X[:, 1])
    assert not ale.checks(beside=pdp).of("disagreement")


def test_an_mplot_holds_the_other_features():
    X, _, pdp = two(0.9, model=lambda X: X[:, 0] + 3 * X[:, 1])
    mean = sd.explain(lambda X: X[:, 0] + 3 * X[:, 1], X, 0, method=sd.MPlot())
    assert "use PDP" in mean.checks(beside=pdp).of("disagreement")[0].message


def test_levels_are_compared_by_their_names():
    X = frame(500)
    ale = sd.explain(of_frame, X, "c", method=sd.ALE(order=["x", "v", "u", "w"]))
    pdp = sd.explain(of_frame, X, "c", method=sd.PDP())
    assert not ale.checks(beside=pdp).of("disagreement")
    other = sd.explain(lambda F: -5 * of_frame(F), X, "c", method=sd.PDP())
    (flag,) = ale.checks(beside=other).of("disagreement")
    assert flag.where in list("uvwx")


def test_other_features_and_quantities_are_refused():
    X = table(100)
    e = sd.explain(linear, X, 0, method=sd.ALE())
    with refused(DataError, "beside", "'x1'"):
        e.checks(beside=sd.explain(linear, X, 1, method=sd.PDP()))
    with refused(DataError, "beside"):
        e.checks(beside=sd.explain(linear, X, 0, method=sd.PDP(derivative=True)))


# ---------------------------------------------------------------------------------------- several effects


@pytest.mark.parametrize(
    ("method", "x"),
    paired(
        METHODS,
        [
            np.repeat([0.0, 1.0, 2.0], 12),
            np.full(36, 4.0),
            1e7 + np.arange(36.0),
            1e-12 * np.arange(36.0) ** 2,
            np.append(np.zeros(34), [1.0, np.nan]),
        ],
    ),
)
def test_hostile_columns_are_judged_without_a_warning_of_numpy(method, x):
    X = np.column_stack([x, np.random.default_rng(13).normal(size=len(x))])
    e = sd.explain(lambda X: np.nan_to_num(X[:, 0]) * X[:, 1], X, 0, method=METHODS[method]())
    for flag in e.checks(X=X):
        assert flag.message.endswith(".")
        assert "nan" not in flag.message
    e.heterogeneity_test()


def test_all_weight_on_one_row_is_judged():
    X = table(50)
    e = sd.explain(linear, X, 0, sample_weight=np.eye(50)[3], method=sd.DALE())
    assert e.heterogeneity_test().verdict == "none"
    assert "nan" not in e.heterogeneity_test().text
    assert e.checks(X=X) == ()


def test_groups_and_dates_have_places_too():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(20)
    X = pd.DataFrame({"a": rng.normal(size=300), "when": pd.date_range("2020", periods=300)})
    level = rng.integers(3, size=300)
    for k in range(3):
        X[f"d_{k}"] = (level == k) * 1.0
    X["twin"] = level * 1.0

    def model(X):
        return X["a"] * X["d_1"]

    e = sd.explain(model, X, "d", method=sd.PDP(), groups={"d": ["d_0", "d_1", "d_2"]})
    (flag,) = curve_extrapolations(e.checks(X=X))
    assert flag.numbers["others"] == ("twin",)
    assert flag.numbers["share"] == pytest.approx(2 / 3, abs=0.05)


# ------------------------------------------------------------------------------------------- surfaces


def test_a_surface_says_how_much_of_it_has_no_rows():
    rng = np.random.default_rng(15)
    x = rng.uniform(size=2000)
    X = np.column_stack(
        [x, np.clip(x + rng.uniform(-0.05, 0.05, 2000), 0, 1), rng.normal(size=2000)]
    )
    surface = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=10))
    (flag,) = surface.checks().of("no_rows")
    widths = [np.diff(v) for v in surface.x]
    area = np.outer(*widths)[surface.cells.count == 0].sum() / np.outer(*widths).sum()
    assert flag.numbers["share"] == pytest.approx(area)
    assert (flag.feature, flag.severity) == ("x0 × x1", "warning")
    swept = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.PDP(grid=8))
    assert kinds(swept.checks()) == [("no_rows", "warning")]
    assert ("extrapolation", "warning") in kinds(swept.checks(X=X))


def test_a_clean_surface_has_nothing_against_it():
    X = np.random.default_rng(16).uniform(size=(3000, 3))
    model = lambda X: X[:, 0] * X[:, 1]  # noqa: E731
    for method in (sd.ALE(bins=6), sd.PDP(grid=6)):
        assert sd.explain(model, X, (0, 1), method=method).checks(X=X) == ()


def test_a_jump_between_two_points_of_a_grid_is_no_disagreement():
    # Neither grid determines the exact position of a jump between two of its points.
    X = np.random.default_rng(11).uniform(-1, 1, size=(2000, 2))
    f = sd.prediction(lambda X: np.where(X[:, 0] > 0.0123, 5.0, 0.0) + X[:, 1])
    ale = sd.explain(f, X, 0, method=sd.ALE(bins=sd.Edges([-1, -0.5, 0, 0.02, 0.5, 1])))
    pdp = sd.explain(f, X, 0, method=sd.PDP(grid=[-0.99, -0.5, -0.05, 0.06, 0.5, 0.99]))
    assert not ale.checks(beside=pdp).of("disagreement")
    # Between points with too many rows between them no jump is assumed: a straight line across is a different curve.
    wide = sd.explain(f, X, 0, method=sd.ALE(bins=sd.Edges([-1, 1])))
    (flag,) = wide.checks(beside=pdp).of("disagreement")
    assert flag.numbers["difference"] == pytest.approx(2.5, abs=0.3)
    # A jump at a different position is a disagreement.
    moved = sd.prediction(lambda X: np.where(X[:, 0] > 0.3, 5.0, 0.0) + X[:, 1])
    (flag,) = ale.checks(beside=sd.explain(moved, X, 0, method=sd.PDP())).of("disagreement")
    assert 0 < flag.where[0] < flag.where[1] <= 0.5


@pytest.mark.parametrize(("rare", "flags"), [(5, 5), (6, 1), (40, 1)])
def test_many_rare_levels_are_objected_to_at_once(rare, flags):
    names = np.repeat([f"l{k:02}" for k in range(rare + 2)], [3] * rare + [60, 60])
    X = pd.DataFrame({"a": np.arange(len(names), dtype=float), "town": names})
    e = sd.explain(lambda X: X["a"] * (X["town"] == "l00"), X, "town", method=sd.ALE())
    found = e.checks().of("few_rows")
    assert len(found) == flags
    assert sum(len(np.atleast_1d(f.numbers["rows"])) for f in found) == rare
    if flags == 1:
        assert f"{rare} levels of 'town' have fewer than 10 rows (the rarest 3)" in found[0].message
