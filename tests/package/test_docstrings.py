"""Public names are documented; what is internal needs no docstring where its name says enough."""

from __future__ import annotations

import inspect

import pytest

import skedasis as sd

NAMES = sorted(set(sd.__all__) - {"__version__"})


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_and_its_members_have_docstrings(name):
    value = getattr(sd, name)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        own = {k: v for k, v in inspect.getmembers(value) if not k.startswith("_")}
        bare = [k for k, v in own.items() if callable(v) and not inspect.getdoc(v)]
        assert not bare
