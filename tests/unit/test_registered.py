"""What is written in several places for each method: nothing is left out when a method is added."""

from __future__ import annotations

import numpy as np

import skedasis as sd
from skedasis import methods
from skedasis.cli import completion
from skedasis.engine import select
from skedasis.methods.base import Parameters
from tests.laws.strategies import WAYS


def public_methods():
    """Return the names of the public classes of methods."""
    kinds = {name: getattr(sd, name) for name in sd.__all__}
    return {n for n, k in kinds.items() if isinstance(k, type) and issubclass(k, Parameters)}


def test_every_method_is_known_by_its_name():
    assert {kind.partition(".")[2] for kind in select.METHODS.values()} == public_methods()


def test_the_shell_offers_every_method_of_effects():
    assert set(completion.METHODS) == set(select.METHODS) - {"pfi"}


def test_the_laws_are_tried_with_every_method_of_effects():
    named = {type(way.method(np.arange(9.0))).__name__ for way in WAYS.values()}
    assert named == public_methods() - {"PFI"}


def test_the_tables_of_methods_have_every_method():
    assert methods.__doc__
    tables = methods.__doc__.partition("| | categorical")
    for name in public_methods() - {"PFI"}:
        assert f"`{name}`" in tables[0]
        assert f"`{name}`" in tables[2]
