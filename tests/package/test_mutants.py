"""The tool that changes the code in small ways: which changes it makes, and that a made change has an effect."""

import ast

import numpy as np
import pytest

from tools import mutants

CODE = '''
def clipped(values, low=0.0, *, axis=1):
    """Return 1 + 2."""
    if low < 0 and axis:
        raise ValueError(f"low is {low - 1}")
    total = np.sum(values[1:], axis=axis, dtype=float)
    return np.maximum(total, low) * 2
'''


def changes() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for mutant in mutants.mutants("a.py", CODE):
        found.setdefault(mutant.was, set()).add(mutant.becomes)
    return found


def test_each_kind_of_change_is_made():
    found = changes()
    assert found["low < 0"] >= {"low <= 0", "low >= 0", "low < 1"}
    assert found["low < 0 and axis"] == {"low < 0 or axis", "low < 0", "axis"}
    assert found["1:"] == {"2:", "0:", ":"}
    assert "np.sum(values[1:], dtype=float)" in found["np.sum(values[1:], axis=axis, dtype=float)"]
    assert "np.minimum(total, low)" in found["np.maximum(total, low)"]
    assert {"np.maximum(total, low) / 2", "np.maximum(total, low) * 3"} <= set().union(
        *found.values()
    )
    assert any("(removed)" in becomes for becomes in found.values())  # the raise


def test_messages_docstrings_and_types_of_arrays_are_left_alone():
    for was, becomes in changes().items():
        assert "1 + 2" not in was
        assert "low is" not in was or becomes == {"(removed)"}
        assert not any("dtype" not in text and "dtype" in was for text in becomes - {"(removed)"})


@pytest.mark.parametrize(
    "source", [CODE, "def f(x):\n    while x > 1:\n        x -= 1\n    return x"]
)
def test_a_change_is_one_difference_from_the_code(source):
    original = ast.dump(ast.parse(source))
    made = set()
    for mutant in mutants.mutants("a.py", source):
        tree = mutants._Places("a.py", mutant.number).visit(ast.parse(source))
        made.add(ast.dump(tree))
    assert original not in made
    assert len(made) == len(mutants.mutants("a.py", source))


def test_the_changed_code_computes_something_else():
    source = "def f(x):\n    return [v for v in x[1:] if v > 2]"
    results = {}
    for mutant in mutants.mutants("a.py", source):
        names = {}
        exec(mutants.mutated(mutant, source), names)
        results[mutant.becomes] = names["f"]([5, 1, 2, 3])
    assert results["v >= 2"] == [2, 3]
    assert results["v > 3"] == []
    assert results["2:"] == [3]
    assert results[":"] == [5, 3]


def test_a_sample_is_the_same_again_and_divided_by_lines():
    modules = ["stats/ale_math.py", "stats/h_statistic.py"]
    one, other = (mutants.sample(modules, 40, 3) for _ in range(2))
    assert one == other != mutants.sample(modules, 40, 4)
    sizes = [mutants.lines_of_code(module) for module in modules]
    expected = [40 * size / sum(sizes) for size in sizes]
    drawn = [sum(m.module == module for m in one) for module in modules]
    assert sum(drawn) == 40
    np.testing.assert_allclose(drawn, expected, atol=1)


def test_fast_tests_and_first_cases_come_first():
    mutant = mutants.Mutant("m.py", "f", 1, 0, 2, (2, 3), "a", "b")
    seconds = {"t.py::a[1]": 0.1, "t.py::a[2]": 0.2, "t.py::b": 1.0, "u.py::c": 5.0}
    lines = {"m.py": {"2": [0, 1], "3": [2], "4": [3]}}
    assert mutants.select_tests(mutant, seconds, lines, 10) == (
        ["t.py::a[1]", "t.py::a[2]", "t.py::b"],
        pytest.approx(1.3),
    )
    assert mutants.select_tests(mutant, seconds, lines, 1.15)[0] == ["t.py::a[1]", "t.py::b"]


def test_the_interval_is_wilsons():
    # Agresti & Coull (1998): 0 of 10 gives an upper limit of z² / (n + z²).
    low, high = mutants.wilson(0, 10)
    assert low == pytest.approx(0.0, abs=1e-12)
    assert high == pytest.approx(1.96**2 / (10 + 1.96**2))
    assert sum(mutants.wilson(5, 10)) == pytest.approx(1.0)
