"""Results are immutable: no array that can be reached from one is writeable, and none is the caller's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.schema import kinds
from tests.helpers import bent, paired, table
from tests.made_results import every_column, every_result, of_every_column


def arrays(value: object, where: str = "", seen: set[int] | None = None) -> Iterator[Any]:
    """Yield all arrays that can be reached from a value through attributes, mappings and sequences, with the way."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield where, value
    elif isinstance(value, Mapping) and not hasattr(value, "__dict__"):
        for key, part in value.items():
            yield from arrays(part, f"{where}[{key!r}]", seen)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from arrays(part, f"{where}[{i}]", seen)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        for name, part in vars(value).items():
            yield from arrays(part, f"{where}.{name}", seen)


def writeable(result: object) -> list[str]:
    return [where for where, array in arrays(result) if array.flags.writeable]


COPIES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda result: result,
    "pickled": lambda result: pickle.loads(pickle.dumps(result)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


@pytest.mark.parametrize("kind", kinds("skedasis"))
def test_no_array_of_a_result_is_writeable(kind):
    result = every_result()[kind]
    for copied in (copy_of(result) for copy_of in COPIES.values()):
        assert len(list(arrays(copied))) == len(list(arrays(result)))
        assert writeable(copied) == []


DERIVED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "binned again": lambda _: sd.explain(bent, table(), 0, method=sd.DALE(bins=4)).rebin(
        sd.Uniform(2)
    ),
    "with main effects": lambda found: found["Surface"].with_main_effects(),
    "after its error": lambda found: (
        found["Surface"].std_error,
        found["Surface"],
    ),
    "some lines": lambda found: found["Ranking"][:2],
    "levels and times": lambda _: sd.explain(of_every_column, *COLUMNS, method=sd.ALE(bins=3)),
    "curves": lambda _: sd.explain(of_every_column, *COLUMNS, method=sd.ICE(grid=3)),
    "means": lambda _: sd.explain(of_every_column, *COLUMNS, method=sd.MPlot(bins=3)),
    "rows of a change": lambda _: sd.what_if(bent, table(), {"x0": 0.1}).rows,
}
COLUMNS = every_column(), ["a", "<script>", "when"]


@pytest.mark.parametrize("name", DERIVED)
def test_no_array_of_a_derived_result_is_writeable(name):
    result = DERIVED[name](every_result())
    assert name == "some lines" or len(list(arrays(result))) > 3
    assert writeable(result) == writeable(copy.deepcopy(result)) == []


@pytest.mark.parametrize(
    ("method", "order"), paired([sd.ALE(), sd.RHALE(), sd.PDP(), sd.MPlot()], ["C", "F"])
)
def test_what_the_caller_passed_stays_writeable_and_can_change(method, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(40, 2)), order=order)
    weights = rng.integers(1, 4, 40).astype(float)
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=method, sample_weight=weights)
    before = {where: array.copy() for where, array in arrays(e)}
    X[:] = -7.0
    weights[:] = 99.0
    for where, array in arrays(e):
        np.testing.assert_array_equal(array, before[where], err_msg=where)


@pytest.mark.parametrize("method", [sd.MPlot(bins=3), sd.ALE(bins=3), sd.ICE(grid=3)], ids=str)
def test_a_model_may_use_its_output_again(method):
    """Some models return one array, which their next call writes into."""
    X, out = table(50), np.empty(2000)

    def reused(X: np.ndarray) -> np.ndarray:
        out[: len(X)] = bent(X)
        return out[: len(X)]

    e, want = (sd.explain(f, X, 0, method=method) for f in (reused, bent))
    out[:] = 99.0
    for (where, one), (_, two) in zip(arrays(e), arrays(want), strict=True):
        np.testing.assert_array_equal(one, two, err_msg=where)


def test_an_altered_copy_shares_all_but_what_is_given_and_is_read_only():
    effect = sd.explain(lambda X: X[:, 0] * X[:, 1], table(), 0, progress=False)
    found = effect.with_provenance({"note": "further"})
    assert found.provenance["note"] == "further"
    assert "note" not in effect.provenance
    assert found.value is effect.value
    assert found.bins is effect.bins
    rising = effect.bins.on_curve(np.arange(len(effect.bins) + 1.0))
    assert rising.rise.tolist() == [1.0] * len(effect.bins)
    assert not writeable(rising)
