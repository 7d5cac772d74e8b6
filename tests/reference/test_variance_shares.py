"""The variance shares in comparison with closed forms, with dense least squares, and with regions that mean nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import skedasis as sd
import skedasis.stats.variance_shares as module
from skedasis.stats.variance_shares import (
    FOLDS,
    RegionLabels,
    Term,
    VarianceColumn,
    choose_stages,
    explained_share,
    make_margin,
)

CLOSE = 0.015
"""Largest error of a share of the variance at 10,000 rows that the design asks for, for smooth functions."""


class Given:
    """Regions by a rule."""

    def __init__(self, rule: Any, size: int = 2) -> None:
        self.rule, self.size = rule, size

    def __len__(self) -> int:
        return self.size

    def assign(self, X: Any) -> Any:
        return self.rule(np.asarray(X))


def uniform(n: int = 10_000, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, d))


def correlated(rho: float, n: int = 10_000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)


def shares(found: sd.VarianceShares) -> dict[str, float]:
    return {p.name: p.share for p in found.parts}


def close(found: sd.VarianceShares, truth: dict[str, float]) -> None:
    """Assert that shares are near those of the population, up to the error of a share on so many rows."""
    got = shares(found)
    assert set(got) == set(truth)
    for part in found.parts:
        assert abs(part.share - truth[part.name]) < CLOSE + 2 * part.std_error, part


# --- synthetic truths ------------------------------------------------------------------------------


def test_main_effects_regions_and_a_pair():
    """Variances of 3 x0 1[x1 > 0] = 1.5 x0 + 1.5 x0 sign(x1), x2², 1.5 x3 x4, x0 x3 x5 for uniform features."""
    regions = {0: Given(lambda X: (X[:, 1] > 0).astype(int))}

    def model(X: np.ndarray) -> np.ndarray:
        smooth = X[:, 2] ** 2 + 1.5 * X[:, 3] * X[:, 4] + X[:, 0] * X[:, 3] * X[:, 5]
        return np.asarray(3 * X[:, 0] * (X[:, 1] > 0) + smooth)

    found = sd.variance_shares(model, uniform(), regions=regions)
    variances = [2.25 / 3 + 4 / 45, 2.25 / 3, 2.25 / 9, 1 / 27]
    main, region, pair, rest = (v / sum(variances) for v in variances)
    close(
        found,
        {"main effects": main, "regions of x0": region, "x3 × x4": pair, "not explained": rest},
    )
    for part in found.parts:  # and in comparison with the variances of these very rows
        assert part.std_error < 0.012


def test_regions_are_found():
    """Without regions from the caller: those of x0 by x1 and x2, of 3 x0 1[x1 > 0.3 and x2 is "b"] + x3² + 2 x2."""
    X = uniform(d=5)
    X[:, 2] = X[:, 2] > 0
    inside = 0.35 * 0.5

    def model(X: np.ndarray) -> np.ndarray:
        return np.asarray(
            3 * X[:, 0] * ((X[:, 1] > 0.3) & (X[:, 2] > 0)) + X[:, 3] ** 2 + 2 * X[:, 2]
        )

    found = sd.variance_shares(model, X, effects=None)
    # Var(3 x0 1[A]) = 9 / 3 p, of which the main effect of x0 is 9 / 3 p².
    variances = [3 * inside**2 + 4 / 45 + 1, 3 * inside * (1 - inside)]
    main, region = (v / sum(variances) for v in variances)
    close(found, {"main effects": main, "regions of x0": region, "not explained": 0.0})


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_products_of_normal_features(rho):
    """The best additive function of x0 x1 is r / (1 + r²) (x0² + x1²), and explains 4 r² / (1 + r²)²."""
    found = sd.variance_shares(lambda X: X[:, 0] * X[:, 1], correlated(rho), regions={})
    best = 4 * rho**2 / (1 + rho**2) ** 2
    close(found, {"main effects": best, "x0 × x1": 1 - best, "not explained": 0.0})


def test_main_effects_as_drawn_may_explain_less_than_nothing():
    """Marginal means (M-plots) of three near-copies count their common effect three times: R² = 1 - (3 - 1)²."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1)) + 0.01 * rng.normal(size=(4000, 3))
    model = lambda X: X.mean(axis=1)  # noqa: E731
    drawn = sd.explain(model, X, method=sd.MPlot(bins=60))
    found = sd.variance_shares(model, X, effects=drawn)
    # The curves are flat beyond the middle of the first and of the last bin: a little less than three times.
    assert -3.1 < found.as_drawn < -2.5
    assert found["main effects"].share > 0.99


def test_levels_and_missing_values():
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, 5, 10_000), rng.normal(size=10_000), rng.normal(size=10_000)], 1)
    X[rng.random(10_000) < 0.2, 1] = np.nan
    step = np.array([3.0, -1.0, 0.0, 1.0, 2.0])

    def additive(X: np.ndarray) -> np.ndarray:
        return step[X[:, 0].astype(int)] + np.where(np.isnan(X[:, 1]), 4.0, X[:, 1] ** 2)

    found = sd.variance_shares(additive, X, schema={0: "nominal"}, effects=None)
    assert found["main effects"].share > 0.995
    crossed = sd.variance_shares(
        lambda X: step[X[:, 0].astype(int)] * X[:, 2], X, schema={0: "nominal"}, effects=None
    )
    exact = np.var(step[X[:, 0].astype(int)].mean() * X[:, 2]) / np.var(
        step[X[:, 0].astype(int)] * X[:, 2]
    )
    assert crossed["main effects"].share == pytest.approx(exact, abs=3 * CLOSE)
    assert crossed["not explained"].share < 0.01


def test_the_label():
    """The R² of a prediction f for y = f + noise is Var(f) / Var(y), that of a stage its share of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 2))
    model = lambda X: X[:, 0] + X[:, 0] * X[:, 1]  # noqa: E731
    y = model(X) + rng.normal(size=10_000)
    found = sd.variance_shares(model, X, y, effects=None)
    assert found["not explained"].label_r2 == pytest.approx(2 / 3, abs=0.03)
    assert found["main effects"].label_r2 == pytest.approx(1 / 3, abs=0.03)


# --- least squares and errors, independently -------------------------------------------------------


def test_fits_equal_dense_least_squares(monkeypatch):
    """Without penalties, the additive function is that of a dense design of hats, fitted by NumPy."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(900, 3)), 2)
    X[:, 2] = rng.integers(0, 4, 900)
    q = np.exp(X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=900)
    w = rng.integers(1, 4, 600).astype(float)
    fitting = np.arange(600)
    monkeypatch.setattr(
        module, "fit_penalties", lambda equations, start: dict.fromkeys(equations.groups, 1e-9)
    )
    columns = [
        VarianceColumn(X[:, 0]),
        VarianceColumn(X[:, 1]),
        VarianceColumn(X[:, 2], levels=True),
    ]
    (found,) = choose_stages(columns, fitting, q[:600], fitting % FOLDS, weights=w, pairs=0)

    dense = [np.ones((900, 1)), X[:, 2:] == np.arange(4)]
    for j in (0, 1):
        x, repeated = X[:600, j], np.sort(np.repeat(X[:600, j], w[:600].astype(int)))
        places = np.ceil(np.linspace(0, 1, 32) * len(repeated) - 1e-9).astype(int) - 1
        z = np.unique(repeated[np.maximum(places, 0)])
        at = np.clip(X[:, j], z[0], z[-1])
        dense.append(np.stack([np.interp(at, z, unit) for unit in np.eye(len(z))], axis=1))
        assert np.isin(z, x).all()
    design, root = np.hstack(dense), np.sqrt(w)
    beta = np.linalg.lstsq(design[:600] * root[:, None], q[:600] * root, rcond=None)[0]
    np.testing.assert_allclose(found.values, design @ beta, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_terms_are_those_of_their_functions_at_each_row(weighted):
    """Also products with the functions of a constant column, which has none."""
    rng = np.random.default_rng(0)
    x, fitting = np.round(rng.normal(size=90), 1), np.arange(60)
    holes = np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90))
    w = rng.uniform(0.2, 3, 60) if weighted else np.ones(60)
    columns = [
        VarianceColumn(x),
        VarianceColumn(np.ones(90)),
        VarianceColumn(holes),
        VarianceColumn(rng.integers(0, 4, 90).astype(float), levels=True),
    ]
    margins = [make_margin(column, fitting, w, 6, 3) for column in columns]
    assert [m.table.shape[1] for m in margins].count(0) == 1
    terms = [Term(some, "") for m in margins for some in ((m,), *((m, other) for other in margins))]
    label = RegionLabels(rng.integers(0, 3, 90), 3)
    terms += [Term.of_regions(m, label, "") for m in margins]
    rows = rng.permutation(90)[:40]
    for term in terms:
        functions = term.at(rows)
        beta = rng.normal(size=functions.shape[1])
        np.testing.assert_allclose(term.sum_at(rows, beta), functions @ beta, atol=1e-12)


def equations_of(Z: np.ndarray, y: np.ndarray, groups: tuple[str, ...], w: np.ndarray) -> Any:
    """Return the normal equations of a design, in folds."""
    parts = [(Z[k::FOLDS], y[k::FOLDS], w[k::FOLDS]) for k in range(FOLDS)]
    return module.Equations(
        (np.stack([(z * w[:, None]).T @ z for z, _, w in parts]),),
        np.stack([(z * w[:, None]).T @ y for z, y, w in parts]),
        np.array([w @ y**2 for _, y, w in parts]),
        np.array([w.sum() for _, _, w in parts]),
        groups,
    )


def test_penalties_maximize_the_likelihood():
    """The fixed point is that of scikit-learn's Bayesian ridge regression, whose prior has one variance."""
    from sklearn.linear_model import BayesianRidge

    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(300, 8)), np.zeros(300)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    y = Z @ rng.normal(size=8) * 0.2 + rng.normal(size=300)
    y -= y.mean()
    design = np.hstack([np.ones((300, 1)), Z])
    equations = equations_of(design, y, ("", *["lines"] * 8), np.ones(300))
    found = module.fit_penalties(equations, {})["lines"]
    tiny = 1e-12
    ridge = BayesianRidge(
        alpha_1=tiny, alpha_2=tiny, lambda_1=tiny, lambda_2=tiny, tol=1e-9, max_iter=2000
    ).fit(Z, y)
    # theirs: prior precision over noise precision; the noise's degrees of freedom differ by the constant
    assert found == pytest.approx(ridge.lambda_ / ridge.alpha_, rel=0.02)


@pytest.mark.parametrize("seed", range(2))
def test_penalties_of_what_is_added_solve_the_full_equations(seed, monkeypatch):
    """The search in the equations of the added groups alone ends where the dense equations of all groups end."""
    monkeypatch.setattr(module, "_SAME_PARAMETERS", 1e-9)
    monkeypatch.setattr(module, "_STEPS", 2000)
    rng = np.random.default_rng(seed)
    Z, w = rng.normal(size=(400, 12)), rng.integers(1, 4, 400).astype(float)
    Z[:, 6:] += 0.5 * Z[:, :6]  # what is added is not orthogonal to what was there
    y = Z @ rng.normal(size=12) + rng.normal(size=400)
    design, weighted = (v := np.hstack([np.ones((400, 1)), Z])), v * w[:, None]
    equations = equations_of(design, y, ("", *["old"] * 6, *["new"] * 6), w)
    n, known = w.sum(), 3.0
    others = module._Solution.of(
        equations.gram[:7, :7], np.array([0.0] + [known] * 6), equations.ends[1]
    )
    added = module._Added.of(others, equations.gram[:, 7:], equations.moment.sum(0))
    found = module.fit_penalties(equations, {"old": known}, added)["new"]
    each = np.array([0.0] + [known] * 6 + [found] * 6)
    inverse = np.linalg.inv(design.T @ weighted + np.diag(each))
    beta = inverse @ (weighted.T @ y)
    used_new = (1 - each * np.diag(inverse))[7:].sum()
    # The groups that were there count their parameters without what is added.
    before = np.linalg.inv(design[:, :7].T @ weighted[:, :7] + np.diag(each[:7]))
    used_old = (1 - each[:7] * np.diag(before)).sum()
    noise = w @ (y - design @ beta) ** 2 / (n - used_old - used_new)
    assert found == pytest.approx(noise * used_new / (beta[7:] @ beta[7:]), rel=1e-5)


@pytest.mark.parametrize("help_", [False, True])
def test_functions_that_vanish_are_left_out_and_come_back(help_):
    """From the largest penalty on, the next one is that of the dense equations: it remains, or falls by orders."""
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(300, 6))
    Z[:, 3:] += 0.7 * Z[:, :3]
    y = Z[:, 0] + rng.normal(size=300) + help_ * 4 * Z[:, 3:].sum(axis=1)
    design, groups = np.hstack([np.ones((300, 1)), Z]), ("", *["a"] * 3, *["b"] * 3)
    equations = equations_of(design, y, groups, np.ones(300))
    high = equations.ends[1]
    solution = module._Solution.of(equations.gram, np.array([0.0] + [2.0] * 3 + [high] * 3), high)
    inverse = np.linalg.inv(design.T @ design + np.diag([0.0] + [2.0] * 3 + [high] * 3))
    used = 1 - np.array([0.0] + [2.0] * 3 + [high] * 3) * np.diag(inverse)
    np.testing.assert_allclose(solution.used[:4], used[:4], rtol=1e-6)
    # 1 - penalty × inverse is rounded; Sherman, Morrison and Woodbury's formula is not.
    smaller = np.linalg.inv(design[:, :4].T @ design[:, :4] + np.diag([0.0] + [2.0] * 3))
    cross = design[:, :4].T @ design[:, 4:]
    alone = np.diag(design[:, 4:].T @ design[:, 4:] - cross.T @ smaller @ cross)
    np.testing.assert_allclose(solution.used[4:], alone / high, rtol=1e-6)
    found = module.fit_penalties(equations, {"a": 2.0, "b": high})
    assert (found["b"] < 1e-3 * high) if help_ else (found["b"] > 0.1 * high)


def test_an_added_part_may_vanish_as_a_whole():
    """A second copy of what explains everything: no group of it has a penalty below the largest, and all remains."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 3))
    design = np.hstack([np.ones((300, 1)), Z, rng.normal(size=(300, 2))])
    groups = ("", *["old"] * 3, *["new"] * 2)
    equations = equations_of(design, Z.sum(axis=1), groups, np.ones(300))
    each = np.array([0.0, *[1e-6] * 3])
    others = module._Solution.of(equations.gram[:4, :4], each, equations.ends[1])
    added = module._Added.of(others, equations.gram[:, 4:], equations.moment.sum(0))
    high = equations.ends[1]
    beta, used = added.solve(np.array([*each, high, high]), high)
    np.testing.assert_allclose(beta, [0, 1, 1, 1, 0, 0], atol=1e-7)
    np.testing.assert_allclose(used, 0, atol=1e-7)


def test_what_gains_little_is_not_fitted_with_the_others(monkeypatch):
    """A pair that gains nothing with the penalties as they are costs no fit; one that explains much costs one."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (1_000, 3))
    columns, rows, fits = [VarianceColumn(x) for x in X.T], np.arange(1_000), list[int]()
    whole = module.fit

    def counted(terms: Any, *args: Any) -> Any:
        fits.append(len(terms))
        return whole(terms, *args)

    monkeypatch.setattr(module, "fit", counted)
    additive = X[:, 0] + X[:, 1] ** 2 + 1e-4 * rng.normal(size=1_000)
    assert len(choose_stages(columns, rows, additive, rows % FOLDS)) == 1
    assert fits == [3]
    fits.clear()
    stages = choose_stages(columns, rows, additive + X[:, 1] * X[:, 2], rows % FOLDS)
    assert [s.features for s in stages] == [(), (1, 2)]
    assert fits == [3, 4]


def test_standard_errors_equal_the_spread_of_repeated_held_out_samples():
    rng = np.random.default_rng(0)
    errors, values = [], []
    for _ in range(1500):
        x = rng.normal(size=(200, 2))
        y = x[:, 0] + x[:, 1]
        share = explained_share(y, None, x[:, 0])
        errors.append(share.std_error)
        values.append(share.value)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.06)
    assert np.mean(values) == pytest.approx(0.5, abs=0.01)


# --- no optimism -----------------------------------------------------------------------------------


def permuted(seed: int, force: bool) -> float:
    """Return the largest z-value of regions whose labels are permuted; with `force` they are always added."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 4))
    q = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2
    labels = {
        j: RegionLabels(rng.permutation((X[:, (j + 1) % 4] > 0).astype(np.int64)), 2)
        for j in range(4)
    }
    fitting, out = np.arange(500), np.arange(500, 1000)
    columns = [VarianceColumn(x) for x in X.T]
    with pytest.MonkeyPatch.context() as patch:
        if force:
            patch.setattr(module, "improves", lambda *_: True)
        stages = choose_stages(
            columns, fitting, q[fitting], fitting % FOLDS, regions=labels, pairs=0
        )
    parts = [explained_share(q[out], a.values[out], b.values[out]) for a, b in pairwise(stages)]
    return max((p.value / p.std_error for p in parts), default=-np.inf)


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_those_of_features_that_explain_most_alone(weighted: bool, monkeypatch: Any):
    """Of twelve features four have pairs; with weights, three more act where there is next to no weight."""
    monkeypatch.setattr(module, "MOST_PAIRED", 4)
    rng, n = np.random.default_rng(3), 2_000
    X, light = rng.uniform(-1, 1, (n, 12)), np.arange(n) % 10 == 0
    q = 3 * X[:, [2, 5, 7, 10]].sum(axis=1) + 4 * X[:, 5] * X[:, 10] + 0.1 * X[:, 0] * X[:, 1]
    w = None
    if weighted:
        q += 60 * light * X[:, [0, 3, 4]].sum(axis=1)
        w = np.where(light, 1e-6, 1.0)
    columns, rows = [VarianceColumn(x) for x in X.T], np.arange(n)
    stages = choose_stages(columns, rows, q, rows % FOLDS, weights=w, pairs=5)
    assert stages[1].features == (5, 10)
    assert {j for stage in stages[1:] for j in stage.features} <= {2, 5, 7, 10}


@pytest.mark.slow
@pytest.mark.parametrize(
    "draws", [60, pytest.param(400, marks=pytest.mark.long)], ids=["quick", "long"]
)
@pytest.mark.parametrize("force", [False, True], ids=["chosen", "forced"])
def test_permuted_regions_add_nothing(draws, force, measured):
    """Less than two standard errors in 95 % of draws: also if they are added without asking whether they help."""
    largest = np.array([permuted(seed, force) for seed in range(draws)])
    about: dict[str, Any] = {"draws": draws, "rows": 1000, "seed": "run"}
    measured("above two standard errors", np.mean(largest > 2), **about, high=0.05)
    if not force:
        measured("added", np.mean(np.isfinite(largest)), **about, high=0.1)
