"""The code next to figures: run unchanged, it gives the arrays from which the figures were drawn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.report import uncertainty
from skedasis.report.code import method_code
from skedasis.report.content import gather, without_rows

LOGISTIC = 1e-12
"""Relative rounding of a logistic regression: its matrix products depend on how many rows share a call."""

KINDS = {"main": "rhale", "ale": "ale", "pdp": "pdp", "mplot": "mplot"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 150
    return pd.DataFrame(
        {
            'it\'s "x"\n<b>': rng.normal(size=n),
            "b": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(size=n)),
            "town": rng.choice(["x", "y", "z"], n),
            "grade": rng.integers(0, 4, n),
        }
    )


def f(X):
    return X.iloc[:, 0] * (1 + X["b"].fillna(5)) + (X["town"] == "x") * X["grade"]


def run(code, **names):
    """Run the displayed code without its plotting call."""
    return eval(code.removesuffix(".plot()"), {"sd": sd, "np": np, **names})


def spec_of(effect):
    """Return what was asked for of an effect; of numbers of points by feature, its own."""
    grid = effect.spec.parameters.get("grid")
    if not isinstance(grid, dict):
        return effect.spec
    return replace(effect.spec, parameters={**effect.spec.parameters, "grid": grid[effect.feature]})


def same(a, b, rounding=0.0):
    assert spec_of(a) == spec_of(b)
    assert np.array_equal(a.x, b.x)
    for name in ("value", "heterogeneity", "std_error"):
        one, other = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(one, other, rtol=rounding, atol=0.0, err_msg=name)
    assert (a.curves is None) == (b.curves is None)
    if a.curves is not None:
        assert np.array_equal(a.curves.value, b.curves.value, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_single_features(frame, rows):
    given = {
        "sample_weight": np.random.default_rng(1).integers(1, 4, len(frame)),
        "schema": {"grade": sd.Feature("grade", "ordinal")},
    }
    section = gather(f, frame, progress=False, random_state=7, rows=rows, **given).sections[0]
    for feature in section.rhale:
        for kind, name in KINDS.items():
            found = run(section.code[kind, feature], model=f, X=frame, **given)
            if not rows:
                found = without_rows(found)
            same(found, getattr(section, name)[feature])
        flags = run(section.code["checks", feature], model=f, X=frame, **given)
        assert [str(x) for x in flags] == [str(x) for x in section.checks[feature]]
    for surface in section.pairs:
        found = run(section.code["pair", *surface.features], model=f, X=frame, **given)
        assert np.array_equal(found.value, surface.value)
    every = run(section.code["all",], model=f, X=frame, **given)
    same(every["b"], section.rhale["b"])
    ranked = run(section.code["places",], model=f, X=frame, **given)
    places = {p.feature: p for p in section.importance_points}
    assert {r.feature: r.importance for r in ranked} == {n: places[n].importance for n in every}
    assert "sample_weight=sample_weight, schema=schema" in section.code["main", "b"]
    assert "random_state=7" in section.code["main", "b"]


def test_models_by_name_and_groups(frame):
    X = np.column_stack(
        [np.random.default_rng(0).normal(size=(200, 2)), np.eye(2)[np.arange(200) % 2]]
    )
    models = {"one's": lambda X: X[:, 0] * X[:, 1] + X[:, 2], 'two"': lambda X: X[:, 0] ** 2}
    groups = {"side": [2, 3]}
    for section in gather(models, X, progress=False, groups=groups).sections:
        assert list(section.rhale) == ["x0", "x1", "side"]
        for feature in section.rhale:
            same(
                run(section.code["main", feature], models=models, X=X, groups=groups),
                section.rhale[feature],
            )
        assert "models[" in section.code["import",] or "models" in section.code["import",]
        assert "groups" in section.code["import",]


@pytest.mark.slow
def test_trees_that_are_walked():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(X, X[:, 0] * X[:, 1])
    for tree in ("auto", "off"):
        section = gather(model, X, progress=False, tree=tree).sections[0]
        for feature in section.rhale:
            for kind, name in KINDS.items():
                same(
                    run(section.code[kind, feature], model=model, X=X),
                    getattr(section, name)[feature],
                )
        assert ("tree='off'" in section.code["main", "x0"]) == (tree == "off")


@pytest.mark.slow
@pytest.mark.parametrize("most", [pytest.param(2000, marks=pytest.mark.slow), 100])
def test_uncertainty(most, monkeypatch):
    monkeypatch.setattr(uncertainty, "ROWS", most)
    monkeypatch.setattr("skedasis.report.code.ROWS", most)
    n = 300 if most == 2000 else 150
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.where(X[:, 0] + np.random.default_rng(1).normal(size=n) > 0, "yes", "no")
    clf = LogisticRegression().fit(X, y)
    for model in (clf, sd.probability(clf, class_="no"), sd.probability(clf, class_="all")):
        content = gather({"m": model}, X, y, regions=False, progress=False)
        section = content.sections[0]
        names = {"models": {"m": model}, "X": X, "y": y}
        assert ("import numpy as np" in section.code["import",]) == (most == 100)
        exec(section.code["import",])
        for feature in section.uncertainty.rhale:
            same(
                run(section.code["entropy", feature], **names),
                section.uncertainty.rhale[feature],
                LOGISTIC,
            )
        for feature in section.uncertainty.pdp:
            same(
                run(section.code["entropy pdp", feature], **names),
                section.uncertainty.pdp[feature],
                LOGISTIC,
            )
        found = run(section.code["diagnosis",], **names)
        assert np.array_equal(found.likelihood.mean, section.uncertainty.diagnosis.likelihood.mean)
        assert found.verdicts == section.uncertainty.diagnosis.verdicts
        for one in content.sections:  # each of several outputs
            same(run(one.code["main", "x1"], **names), one.rhale["x1"], LOGISTIC)
            for surface in one.pairs:
                assert np.array_equal(
                    run(one.code["pair", *surface.features], **names).value, surface.value
                )


def test_methods_are_written_with_what_is_not_usual():
    for method in (sd.RHALE(), sd.ALE(bins=7), sd.PDP(center="start", ice=0), sd.MPlot(bins=3)):
        assert eval(method_code(method), {"sd": sd}) == method
    assert method_code(sd.RHALE()) == "sd.RHALE()"
