"""Kernels over rows: compiled, as plain Python and replaced by NumPy, they give the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skedasis as sd
from skedasis import _compilation as compilation
from skedasis.stats import grid, moments, row_kernels
from skedasis.stats.grid import OUTSIDE, Cells, Grid, Ordered
from skedasis.stats.moments import Moments

FORMS = ["plain", pytest.param("compiled", marks=pytest.mark.filterwarnings("error"))]


@contextmanager
def using(form: str) -> Iterator[None]:
    """Compute with NumPy, with compiled kernels, or with the kernels as plain Python, whatever the number of rows."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (grid, moments):
            patch.setattr(module, "kernels_pay", lambda rows: form != "numpy")
            if form == "plain":
                patch.setattr(module, "compiled", lambda kernel: kernel)
        yield


def same_bits(work: Callable[[], Any], form: str) -> None:
    """Assert that the arrays that `work` returns do not depend on how they are computed."""
    if form == "compiled":
        pytest.importorskip("numba")
    with using("numpy"):
        expected = work()
    with using(form):
        found = work()
    for one, other in zip(expected, found, strict=True):
        assert one.shape == other.shape
        # Of NaN only that it is one: its sign and payload depend on the processor.
        assert np.array_equal(np.isnan(one), np.isnan(other))
        number = ~np.isnan(one)
        assert one[number].tobytes() == other[number].astype(one.dtype).tobytes()


def arrays_of(*parts: Moments) -> list[Any]:
    """Return the arrays of moments."""
    return [array for part in parts for array in part.arrays().values()]


@pytest.mark.parametrize("form", FORMS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 300),
    k=st.sampled_from([1, 2, 3, 20, 64, 1000]),
    offset=st.sampled_from([0.0, -0.0, 1.0, 1e7, -1e12, 1e-300]),
    scale=st.sampled_from([0.0, 1e-12, 1.0, 1e12, 1e160]),
    weighted=st.sampled_from(["no", "whole", "uniform", "tiny"]),
    special=st.sampled_from([None, 0.0, -0.0, np.nan, np.inf, 5e-324]),
    narrow=st.booleans(),
)
def test_moments(
    form: str,
    seed: int,
    n: int,
    k: int,
    offset: float,
    scale: float,
    weighted: str,
    special: float | None,
    narrow: bool,
) -> None:
    rng = np.random.default_rng(seed)
    values, other = offset + scale * rng.normal(size=(2, n))
    if special is not None and n:
        values[rng.uniform(size=n) < 0.3] = special
    # All rows in few of the cells, so that some are empty.
    cell = rng.integers(0, max(1, k // 3) if narrow else k, n)
    weights = {
        "no": None,
        "whole": rng.integers(1, 5, n).astype(float),
        "uniform": rng.uniform(0.1, 3, n),
        "tiny": 1e-200 * rng.uniform(0.1, 3, n),
    }[weighted]

    def work() -> list[Any]:
        with np.errstate(all="ignore"):
            first = Moments.of(values, cell, k, weights)
            second = Moments.of(other, cell.astype(np.int32), k, weights, like=first)
            return arrays_of(first, second, *Moments.of_both(values, other, cell, k, weights))

    same_bits(work, form)


@pytest.mark.parametrize("weighted", [False, True])
def test_both_are_each(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    values, other = rng.normal(size=(2, 5000))
    cell, weights = rng.integers(0, 7, 5000), rng.uniform(0.5, 2, 5000) if weighted else None
    first = Moments.of(values, cell, 7, weights)
    each = first, Moments.of(other, cell, 7, weights, like=first)
    both = Moments.of_both(values, other, cell, 7, weights)
    for a, b in zip(arrays_of(*each), arrays_of(*both), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("form", ["numpy", *FORMS])
@pytest.mark.parametrize("wrong", ["below", "above", "shorter"])
def test_rows_without_a_cell_are_refused(form: str, wrong: str) -> None:
    cell = np.zeros(10, dtype=np.int64)
    values = np.ones(9 if wrong == "shorter" else 10)
    cell[4] = {"below": -1, "above": 3}.get(wrong, 0)
    with using(form), pytest.raises((ValueError, IndexError)):
        Moments.of(values, cell, 3).merge(Moments.zeros(3))


def columns(seed: int, kind: str) -> Any:
    """Return a column of some kind, with more values than NumPy's search is used for."""
    rng = np.random.default_rng(seed)
    n = 20_000
    return {
        "normal": lambda: rng.normal(size=n),
        "long tail": lambda: rng.exponential(size=n) ** 9,
        "whole": lambda: rng.integers(-40, 3000, n).astype(float),
        "far": lambda: 1e9 + rng.normal(size=n),
        "tiny": lambda: 1e-310 * rng.integers(1, 9999, n),
        "zeros": lambda: (
            np.where(rng.uniform(size=n) < 0.5, 0.0, -0.0) + (rng.uniform(size=n) > 0.9)
        ),
    }[kind]()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "k"),
    [("normal", 1000), ("long tail", 513), ("whole", 20), ("far", 2), ("tiny", 1), ("zeros", 20)],
)
def test_cells_and_order_statistics(form: str, kind: str, k: int) -> None:
    x = columns(0, kind)
    some = np.unique(np.quantile(x, np.linspace(0.02, 0.97, k + 1), method="inverted_cdf"))
    x[::97], x[1::97] = np.nan, x[1::97] * 3
    x[2::97] = np.inf
    present = x[np.isfinite(x)]
    low, high = float(present.min()), float(present.max())
    ranks = np.sort(np.random.default_rng(k).integers(0, len(present), k + 1))

    def work() -> list[Any]:
        inside = np.array(Cells(some, "left").locate(x)), np.array(Cells(some, "right").locate(x))
        counted = Grid(some).locate(present)
        return [*inside, counted, Ordered(present, low, high).at(ranks)]

    same_bits(work, form)
    with using(form):
        np.testing.assert_array_equal(Cells(some).locate(x)[::97], OUTSIDE if len(some) else -1)
        found = Ordered(present, low, high).at(ranks)
    np.testing.assert_array_equal(found, np.sort(present)[ranks])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "method", [sd.ALE(bins=7), sd.RHALE(), sd.MPlot(), sd.ALE(bins=sd.Uniform(30))]
)
def test_results(form: str, method: Any) -> None:
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(6000, 2)), rng.uniform(0.5, 2, 6000)
    X[::50, 0] = np.nan
    quantity = sd.prediction(lambda X: np.nan_to_num(X[:, 0] * X[:, 1]) ** 2)

    def work() -> list[Any]:
        effects = sd.explain(
            quantity,
            X,
            method=method,
            sample_weight=weights,
            keep_rows="50KB",
            heterogeneity_rows=0,
        )
        return [a for e in effects.values() for a in (e.x, e.value, e.heterogeneity, e.std_error)]

    same_bits(work, form)


def test_kernels_are_loaded_when_numpy_has_cost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    loaded = [1]
    sizes = SimpleNamespace(cache_info=lambda: SimpleNamespace(currsize=loaded[0]))
    monkeypatch.setattr(compilation, "_compiled", sizes)
    monkeypatch.setattr(compilation, "has_numba", lambda: bool(asked.append(1)) or True)
    monkeypatch.setitem(compilation.sys.modules, "numba", object())

    def pays_from(rows: int) -> None:
        monkeypatch.setattr(compilation, "_PASSED", [0])
        asked.clear()
        assert not compilation.kernels_pay(rows - 1)
        assert not asked
        assert compilation.kernels_pay(1)

    pays_from(compilation._LOAD_ROWS)
    # The first kernel of a process starts numba; where no library has, it is imported, too.
    loaded[0] = 0
    pays_from(compilation._START_ROWS)
    monkeypatch.delitem(compilation.sys.modules, "numba")
    pays_from(compilation._IMPORT_ROWS)
    monkeypatch.setattr(compilation, "has_numba", lambda: False)
    assert not compilation.kernels_pay(0)


def test_sums_are_refused_only_for_cells_that_do_not_exist() -> None:
    """A refusal is made up for by NumPy, so that no result would show a needless one."""
    values, weights = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 0.5])
    sums = np.zeros((2, 5))
    assert row_kernels.add_rows(np.array([0, 1, 1]), values, -values, weights, sums)
    assert sums.tolist() == [[1, 1, 1, 1, -1], [2, 3.5, 9.25, 8, -8]]
    for wrong in (-1, 2):
        cell = np.array([0, wrong, 1])
        assert not row_kernels.add_rows(cell, values, None, None, np.zeros((2, 5)))
