"""Titles: the feature first, then the quantity, and last the method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.data.features import Feature
from skedasis.plots.figures.compare import compare_figure
from skedasis.plots.figures.containers import changes_figure, surfaces_figure
from skedasis.plots.figures.interactions import heatmap_figure
from skedasis.plots.figures.regions import recurrence_figure, regions_overview_figure
from skedasis.plots.figures.surface import surface_figure
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.kinds import figure_of_outputs
from skedasis.plots.marks import Line, Title
from tests.made_regions import made_regions, sides

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.uniform(-1, 1, 90), "b": RNG.uniform(-1, 1, 90)})


def product(X):
    return X["a"].to_numpy() * X["b"].to_numpy()


def explained(method, feature="a", **more):
    return sd.explain(
        sd.prediction(product, name="demand", unit="kW"), X, feature, method=method, **more
    )


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("ale", "a: effect on demand (ALE)"),
        ("ice", "a: effect on demand (ICE)"),
        (sd.PDP(derivative=True), "a: slope of demand (PDP)"),
        ("mplot", "a: mean of demand (M-plot)"),
    ],
)
def test_what_the_values_are(method, said):
    assert str(effect_title(explained(method))) == said


def test_labels_are_shown_and_units_are_not():
    schema = {"a": {"label": "Outside air", "unit": "°C"}}
    assert (
        str(effect_title(explained("ale", schema=schema))) == "Outside air: effect on demand (ALE)"
    )


def test_a_rule_follows_the_feature():
    found = made_regions(product, X, "a", [sides(Feature("b", position=1, key="b"), 0.0)])
    first = f"a, {found.rules[0]}: effect on prediction (ALE)"
    assert str(effect_title(found[0])) == first
    # A title that several effects share has the rule that all have.
    assert str(effect_title(found[0], found[0])) == first
    assert str(effect_title(*found)) == "a: effect on prediction (ALE)"
    overview = regions_overview_figure(sd.RegionsByFeature({"a": found, "b": found}))
    said = "2 features: spread of the effect on prediction, before and after the split (ALE)"
    assert overview.title == said


def test_a_pair():
    ale = explained("ale", ("a", "b"))
    said = "a × b: interaction effect on demand (ALE)"
    assert surface_figure(ale).title == said
    assert surface_figure(ale.with_main_effects()).title == "a × b: joint effect on demand (ALE)"
    # One pair has no number before it.
    assert surfaces_figure(sd.Surfaces({("a", "b"): ale})).main.title == Title(
        *said[:-6].split(": "), "ALE"
    )


def test_several_methods_and_quantities():
    ale, pdp = explained("ale"), explained("pdp")
    assert compare_figure(ale, pdp, labels=["x", "y"]).title == "a: effect on demand (ALE and PDP)"
    other = sd.explain(product, X, "a", method="ale")
    assert compare_figure(ale, other).title == "a: effect on demand and prediction (ALE)"


def test_outputs_share_what_their_quantities_share():
    scores = sd.prediction(lambda X: np.outer(product(X), [1.0, -1.0]), output=["low", "high"])
    effects = figure_of_outputs(sd.explain(scores, X, "a", method="ale"))
    assert effects.title == "a: effect on each output (ALE)"
    assert effects.main.y.name == "effect on each output"
    surfaces = figure_of_outputs(sd.explain(scores, X, ("a", "b"), method="ale"))
    assert str(surfaces.heading) == "a × b: interaction effect on … (ALE)"
    assert [str(stack[0].title) for stack in surfaces.stacks] == ["low", "high"]


def test_classes_that_are_numbers_are_named_as_in_the_quantity():
    """A class 0 is "y = 0" in the legend of "P(y = …)"; a model 0 of the same quantity stays a model."""

    model = LogisticRegression().fit(X, (X["a"] > 0).astype(int))
    both = sd.probability(model, class_="all")
    effects = figure_of_outputs(sd.explain(both, X, "a", method="ale"))
    assert [m.label for m in effects.main.marks if isinstance(m, Line)] == [
        "y = 0",
        "y = 1",
    ]
    assert effects.main.y.name == "effect on P(y = …)"
    shares = figure_of_outputs(sd.variance_shares(both, X, effects=None))
    assert str(shares.heading) == "What explains the variance of P(y = …)"
    assert [str(stack[0].title) for stack in shares.stacks] == ["y = 0", "y = 1"]
    one = sd.probability(model, class_=0)
    models = figure_of_outputs(sd.explain([one, one], X, "a", method="ale"))
    assert [m.label for m in models.main.marks if isinstance(m, Line)] == [
        "model 0",
        "model 1",
    ]


def test_moves_come_first():
    q = sd.prediction(product, name="demand")
    one = sd.what_if(q, X, {"a": 0.1})
    assert str(one.plot().axes[0].get_title(loc="left")) == "a + 0.1: change of demand"
    two = sd.what_if(q, X, {"up": {"a": 0.1}, "down": {"a": -0.1}})
    assert changes_figure(two).title == "2 named moves: change of demand"


def test_interactions_name_their_measure():
    found = sd.interactions(product, X, ale=False)
    assert (
        heatmap_figure(found).title
        == "2 features: interactions for prediction (size of the interaction)"
    )


def test_first_splits():
    found = sd.regions([product, product], X, "a", method="ale", refits=True)
    said = "a: first split of the effect on prediction, 2 models (ALE)"
    assert recurrence_figure(found).title == said
