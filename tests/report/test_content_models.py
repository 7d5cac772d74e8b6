"""What a report computes for models: their outputs, what uncertainty depends on, and pages without rows."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.report import uncertainty
from skedasis.report.content import gather, without_rows
from skedasis.results.effect import Spread
from skedasis.results.provenance import summed_costs


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, (600, 4))


PLAIN = {"pairs": 0, "regions": False}
"""Without the search for pairs and regions, which takes most of the time of a report of a fast model."""


def told_of(model, X, y=None, **options):
    return gather(model, X, y, progress=False, **options).sections[0]


# ---------------------------------------------------------------------------------------- outputs


@pytest.fixture(scope="module")
def flowers(X):
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.3, 0.3])
    return LogisticRegression(max_iter=500).fit(X, y), y


@pytest.mark.slow
def test_every_class_is_told_of(X, flowers):
    model, y = flowers
    calls = []

    class Counting:
        classes_ = model.classes_

        def predict(self, X):
            return model.predict(X)

        def predict_proba(self, X):
            calls.append(len(X))
            return model.predict_proba(X)

    q = sd.probability(Counting(), class_="all")
    content = gather({"m": q}, X, y, progress=False, uncertainty=False)
    assert [t.name for t in content.sections] == ["m: 0", "m: 1", "m: 2"]
    assert [t.quantity for t in content.sections] == ["P(y = 0)", "P(y = 1)", "P(y = 2)"]
    cost = summed_costs([p.provenance for s in content.sections for p in s.passes])
    assert cost["model_rows"] == sum(calls)
    for k, section in enumerate(content.sections):
        direct = sd.explain(sd.probability(model, class_=k), X, "x1", method=sd.ALE())
        np.testing.assert_allclose(section.ale["x1"].value, direct.value, atol=1e-12)
        assert section.quality.class_ == str(k)
        assert bool(section.passes) == (k == 0)
    bare = {"pairs": 0, "regions": False, "uncertainty": False, "progress": False}
    alone = gather(sd.probability(model, class_="all"), X, y, **bare)
    assert alone.sections[0].name == "LogisticRegression: 0"


def test_quantities_have_the_name_of_the_labels():
    X = np.random.default_rng(0).normal(size=(120, 2))
    good = pd.Series(np.where(X[:, 0] > 0, "good", "bad"), name="Status")
    model = LogisticRegression().fit(X, good)
    quick = {"pairs": 0, "regions": False, "uncertainty": False, "progress": False}

    def names(asked, y=good):
        return [(s.quantity, s.axis) for s in gather(asked, X, y, **quick).sections]

    bad = "P(Status = bad)"
    assert names(sd.probability(model, "bad")) == [(bad, bad)]
    assert [q for q, _ in names(sd.probability(model, "all"))] == [bad, "P(Status = good)"]
    assert names(sd.logit(model, "bad"))[0][0] == "logit P(Status = bad)"
    # Names that the user has chosen stay, also one that could be a default; labels can have no name.
    assert names(sd.probability(model, "bad", name="P(y = bad)"))[0][0] == "P(y = bad)"
    assert names(sd.probability(model, "bad"), good.to_numpy())[0][0] == "P(y = bad)"


def test_a_bare_classifier_of_three_classes_shows_all_of_them(X, flowers):
    every = sd.probability(flowers[0], class_="all")
    bare, named = (gather(m, X, features=[0], progress=False) for m in (flowers[0], every))
    assert [s.quantity for s in bare.sections] == ["P(y = 0)", "P(y = 1)", "P(y = 2)"]
    assert {s.outputs for s in bare.sections} == {"Class"}
    for one, other in zip(bare.sections, named.sections, strict=True):
        assert np.array_equal(one.rhale["x0"].value, other.rhale["x0"].value)


# ------------------------------------------------------------------------------------ uncertainty


@pytest.fixture(scope="module")
def coin(X):
    y = np.where(
        np.random.default_rng(2).random(len(X)) < 1 / (1 + np.exp(-4 * X[:, 0])), "yes", "no"
    )
    return LogisticRegression().fit(X, y), y


@pytest.mark.slow
def test_uncertainty_of_a_classifier(X, coin):
    model, y = coin
    section = told_of(model, X, y, **PLAIN)
    found = section.uncertainty
    assert found.axis == "entropy [nats]"
    direct = sd.explain(sd.entropy(model), X, "x0", method=sd.RHALE())
    assert np.array_equal(found.rhale["x0"].value, direct.value)
    assert np.array_equal(
        found.pdp["x0"].value, sd.explain(sd.entropy(model), X, "x0", method=sd.PDP()).value
    )
    assert {v.feature for v in found.diagnosis.verdicts} == set(section.rhale)
    assert "permutation" in " ".join(found.notes)
    assert not found.sampled


def test_without_labels_there_is_no_diagnosis(X, coin):
    found = told_of(coin[0], X, **PLAIN).uncertainty
    assert found.diagnosis is None
    assert "No labels" in found.notes[0]
    assert len(found.rhale) == 4


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_dear_model_is_asked_of_a_sample(X, coin, monkeypatch, weighted):
    monkeypatch.setattr(uncertainty, "ROWS", 200)
    weights = np.full(len(X), 2.0) if weighted else None
    section = told_of(coin[0], X, coin[1], random_state=4, sample_weight=weights, **PLAIN)
    some = np.random.default_rng(4).choice(len(X), 200, replace=False)
    direct = sd.explain(
        sd.entropy(coin[0]), X[np.sort(some)], "x1", method=sd.ALE(bins=3), random_state=4
    )
    found = sd.explain(
        sd.entropy(coin[0]),
        X,
        "x1",
        method=sd.ALE(bins=3),
        sample_weight=np.isin(np.arange(len(X)), some),
    )
    np.testing.assert_allclose(found.value, direct.value)
    assert section.uncertainty.sampled
    assert section.uncertainty.rhale["x1"].bins.count.sum() == 200
    assert section.uncertainty.rhale["x1"].bins.weight.sum() == (400 if weighted else 200)
    assert "200 of 600 rows, chosen at random" in section.uncertainty.notes[0]


@pytest.mark.slow
def test_a_function_that_answers_with_probabilities_is_predictive(X):
    def p(X):
        one = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - one, one])

    section = told_of(sd.probability(p, class_=1), X, (X[:, 0] > 0).astype(int), **PLAIN)
    assert section.uncertainty.diagnosis is not None


# ----------------------------------------------------------------------------------- without rows


def numbers_in(value, found, seen):
    """Collect the arrays that can be reached from a value, except sums over cells and positions on axes."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        found.append(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for f in dataclasses.fields(value):
            axis = f.name in ("low", "high", "edges", "points", "values", "provenance", "moments")
            axis |= f.name == "x" and isinstance(value, sd.Effect | sd.Surface | Spread)
            if not axis:
                numbers_in(getattr(value, f.name), found, seen)
    elif isinstance(value, dict | sd.Effects):
        for one in value.values():
            numbers_in(one, found, seen)
    elif isinstance(value, tuple | list):
        for one in value:
            numbers_in(one, found, seen)


@pytest.mark.slow
def test_a_story_without_rows_holds_none(X, coin):
    model, y = coin
    content = gather(
        {"c": model, "f": lambda X: X[:, 0] * X[:, 1]},
        X,
        (y == "yes") * 1.0,
        progress=False,
        rows=False,
    )
    for section in content.sections:
        some = [section.rhale, section.ale, section.pdp, section.mplot]
        some += [section.uncertainty.rhale, section.uncertainty.pdp] if section.uncertainty else []
        for effect in (e for effects in some for e in effects.values()):
            assert effect.rows is None
            assert effect.curves is None
        assert all(s.rows is None for s in section.pairs)
    arrays = []
    numbers_in(content, arrays, set())
    held = np.concatenate([a.ravel() for a in arrays if a.dtype.kind == "f"])
    assert len(held) > 1000
    assert not np.isin(held[np.abs(held) > 1e-9], X.ravel()).any()
    with_rows = []
    numbers_in(gather(lambda X: X[:, 0] * X[:, 1], X, progress=False, **PLAIN), with_rows, set())
    held = np.concatenate([a.ravel() for a in with_rows if a.dtype.kind == "f"])
    assert np.isin(X[:, 2], held).any()  # the search does find values of rows


def test_rows_are_taken_off_a_surface(X):
    surface = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1))
    assert without_rows(surface).rows is None
    assert np.array_equal(without_rows(surface).value, surface.value)
