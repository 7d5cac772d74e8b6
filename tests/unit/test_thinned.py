"""The mark `thinned`: few cases run usually, and these have every value of every argument."""

from __future__ import annotations

import itertools

import pytest

from tests.conftest import _covering

VALUES = {"a": [1, 2, 3], "b": ["x", "y"], "c": [True, False]}


@pytest.mark.thinned
@pytest.mark.parametrize("a", VALUES["a"])
@pytest.mark.parametrize("b", VALUES["b"])
@pytest.mark.parametrize("c", VALUES["c"])
def test_each_value(a, b, c):
    assert a in VALUES["a"]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("a", VALUES["a"])
@pytest.mark.parametrize("b", VALUES["b"])
@pytest.mark.parametrize("c", VALUES["c"])
def test_each_pair(a, b, c):
    assert a in VALUES["a"]


@pytest.mark.parametrize(
    ("test", "together", "cases"), [(test_each_value, 1, 3), (test_each_pair, 2, 6)]
)
def test_few_cases_have_all_values_together(request, test, together, cases):
    usual = [
        item.callspec.params
        for item in request.session.items
        if getattr(item, "function", None) is test and not item.get_closest_marker("long")
    ]
    if not usual:
        pytest.skip("these cases are not among the chosen tests")
    assert cases <= len(usual) <= cases + 1
    for names in itertools.combinations(VALUES, together):
        found = {tuple(case[name] for name in names) for case in usual}
        assert found == set(itertools.product(*(VALUES[name] for name in names)))


def test_few_sets_have_the_elements_of_all():
    sets = [{a, 10 + b, 20 + c} for a in range(4) for b in range(4) for c in range(4)]
    chosen = _covering(sets)
    assert set().union(*(sets[k] for k in chosen)) == set().union(*sets)
    assert len(chosen) == 4
    assert _covering([{1}, {1}, {2}]) == {0, 2}
