"""What has a name is registered once, and what the registry says of it is true."""

from __future__ import annotations

import inspect
import re
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
from sklearn.linear_model import BayesianRidge, LogisticRegression

import skedasis as sd
from skedasis import registry
from skedasis.engine.select import loaded
from skedasis.methods.base import Parameters
from tests.laws.strategies import WAYS

PAGES = Path(__file__).parents[2] / "docs/reference"


def public_methods():
    """Return the names of the public classes of methods."""
    kinds = {name: getattr(sd, name) for name in sd.__all__}
    return {n for n, k in kinds.items() if isinstance(k, type) and issubclass(k, Parameters)}


def test_every_method_is_known_by_its_name():
    assert {entry.name for entry in registry.METHODS.values()} == public_methods()
    assert all(name == entry.name.lower() for name, entry in registry.METHODS.items())


def test_type_checkers_know_every_method_of_effects():
    effects = registry.methods_that(lambda m: not m.importance)
    assert get_args(registry.EffectMethodName) == tuple(effects)


def test_the_pages_have_every_method_and_quantity():
    listed = re.findall(r"^::: skedasis\.(\w+)", (PAGES / "methods.md").read_text(), re.MULTILINE)
    assert listed == [entry.name for entry in registry.METHODS.values()]
    listed = re.findall(
        r"^::: skedasis\.(\w+)", (PAGES / "quantities.md").read_text(), re.MULTILINE
    )
    assert {entry.name for entry in registry.QUANTITIES.values()} <= set(listed)


def test_the_laws_are_tried_with_every_method_of_effects():
    named = {type(way.method(np.arange(9.0))).__name__ for way in WAYS.values()}
    assert named == public_methods() - {"PFI"}


def works(call):
    """Return whether a call is supported."""
    try:
        call()
    except sd.UnsupportedError:
        return False
    return True


def test_what_the_registry_says_of_methods_is_true():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))

    def model(X):
        return X[:, 0] * X[:, 1] + X[:, 2] ** 2

    for entry in registry.METHODS.values():
        found = sd.explain(model, X, 0, method=loaded(entry)())
        assert isinstance(found, sd.Importance) == entry.importance
        if entry.importance:
            continue
        assert (entry.title or entry.name) in str(found)
        assert works(partial(found.interval, of="bins")) == entry.bins
        assert np.isfinite(found.heterogeneity_score) == entry.local_effects
        pair = partial(sd.explain, model, X, (0, 1), method=loaded(entry)())
        assert works(pair) == entry.pairs


def test_what_the_registry_says_of_quantities_is_true():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    classes, numbers = LogisticRegression().fit(X, X[:, 0] > 0.5), BayesianRidge().fit(X, X[:, 0])
    for name, entry in registry.QUANTITIES.items():
        model, make = numbers if name in ("prediction", "variance") else classes, loaded(entry)
        given = {"loss": (model, "zero_one"), "label": ()}.get(name, (model,))
        quantity = make(*given)
        assert quantity.labelled == entry.labelled
        assert quantity.observed_only == entry.observed_only
        assert ("class_" in inspect.signature(make).parameters) == entry.of_class
