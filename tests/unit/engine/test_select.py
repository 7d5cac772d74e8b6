"""The default method explains every kind of feature, and printed rankings are readable tables."""

import numpy as np
import pandas as pd
import pytest

import skedasis as sd


@pytest.fixture(scope="module")
def towns():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=300), "town": rng.choice(list("xyz"), 300)})


def model(X):
    return X["a"] * (X["town"] == "x")


def test_a_nominal_feature_without_a_method_gets_its_ale(towns):
    e = sd.explain(model, towns, "town")
    ale = sd.explain(model, towns, "town", method=sd.ALE())
    assert e.value.tolist() == ale.value.tolist()
    assert list(e.x) == list(ale.x)
    both = sd.explain(model, towns, ["a", "town"])
    assert both["town"].value.tolist() == e.value.tolist()
    assert both["a"].value.tolist() == sd.explain(model, towns, "a").value.tolist()


def test_so_it_is_of_groups_and_of_several_models(towns):
    blocks = pd.concat([towns[["a"]], pd.get_dummies(towns["town"], prefix="town")], axis=1)
    columns = [name for name in blocks if name != "a"]
    e = sd.explain(lambda X: X["a"] * X["town_x"], blocks, "town", groups={"town": columns})
    assert len(e.value) == 3
    several = sd.explain([model, model], towns, "town")
    assert several.between.tolist() == [0.0] * 3
