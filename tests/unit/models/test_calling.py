"""Models with their own threads: limited to one while several threads of skedasis call them, and then restored."""

from __future__ import annotations

import contextlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from threadpoolctl import threadpool_info, threadpool_limits

import skedasis as sd
from skedasis.models.calling import one_thread_each
from tests.helpers import bent

X = np.random.default_rng(0).normal(size=(3_000, 3))


@pytest.fixture(autouse=True)
def four():
    """Let every library use four threads, whatever the machine and its environment."""
    assert HistGradientBoostingRegressor  # its import has loaded OpenMP
    with threadpool_limits(4):
        yield


def pools(api):
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == api}


def in_a_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


class Watched:
    """A function that records, in each of its larger calls, how many threads libraries would use."""

    def __init__(self):
        self.seen = []

    def __call__(self, X):
        if len(X) > 64:
            found = {"blas": pools("blas"), "openmp": pools("openmp")}
            torch = sys.modules.get("torch")
            if torch is not None:
                found["torch"] = {torch.get_num_threads()}
            self.seen.append((threading.get_ident(), found))
        return bent(X)

    def numbers(self, api):
        return set().union(*(found.get(api, {1}) for _, found in self.seen))


def explained(model, n_jobs, memory="60KB", **options):
    return sd.explain(model, X, 0, method=sd.ALE(bins=5), memory=memory, n_jobs=n_jobs, **options)


# ---------------------------------------------------------------------------------- limits of libraries


def test_libraries_take_one_thread_in_each_of_ours():
    model = Watched()
    e = explained(model, n_jobs=2)
    assert len({ident for ident, _ in model.seen}) == 2
    assert threading.get_ident() not in {ident for ident, _ in model.seen}
    assert model.numbers("blas") == model.numbers("openmp") == model.numbers("torch") == {1}
    assert e.provenance["model_threads"] == 1
    assert e.provenance["n_jobs"] == 2
    assert pools("blas") == {4}
    assert pools("openmp") == {4}


@pytest.mark.parametrize(("threads", "memory"), [(1, "60KB"), (1, "1GB"), (2, "1GB")])
def test_one_thread_of_ours_leaves_the_model_all_of_its_own(threads, memory):
    """Also with `n_jobs=2`, if there is only one batch."""
    model = Watched()
    e = explained(model, n_jobs=threads, memory=memory)
    assert model.numbers("blas") == {4}
    assert model.numbers("openmp") == {4}
    assert "model_threads" not in e.provenance


def test_what_was_set_before_is_set_again_after_an_error():
    calls = []

    def fails(X):
        calls.append(len(X))
        if len(calls) > 4:
            raise RuntimeError("out of order")
        return bent(X)

    with pytest.raises(RuntimeError, match="out of order"):
        explained(fails, n_jobs=2)
    assert pools("blas") == {4}
    with threadpool_limits(3):
        with contextlib.suppress(KeyError), one_thread_each():
            assert pools("blas") == {1}
            raise KeyError
        assert pools("blas") == {3}


# ----------------------------------------------------------------------- estimators, torch, LightGBM


@pytest.mark.slow
def test_the_number_of_torch_is_set_and_put_back():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        model = Watched()
        explained(model, n_jobs=2)
        assert model.numbers("torch") == {1}
        assert torch.get_num_threads() == 3
        assert in_a_thread(torch.get_num_threads) == 3
    finally:
        torch.set_num_threads(before)


def test_the_bound_of_lightgbm_is_set_and_put_back():
    pytest.importorskip("lightgbm")
    import ctypes

    from lightgbm.basic import _LIB

    def bound():
        number = ctypes.c_int()
        _LIB.LGBM_GetMaxThreads(ctypes.byref(number))
        return number.value

    before = bound()
    with one_thread_each():
        assert bound() == 1
    assert bound() == before


@pytest.mark.parametrize(
    ("method", "weighted"), [(sd.PDP(), True), (sd.ALE(), False), (sd.PFI(n_repeats=2), True)]
)
def test_the_number_of_threads_changes_no_bit(method, weighted):
    # With one job, the linear algebra library has all processors; with two, one each. Its sums of many terms differ.
    rng = np.random.default_rng(1)
    many = rng.normal(size=(40_000, 3))
    tree = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(many[:500], many[:500, 0])
    weights = rng.random(len(many)) if weighted else None

    def bits(n_jobs):
        found = sd.explain(
            tree, many, method=method, sample_weight=weights, n_jobs=n_jobs,
            heterogeneity_rows=500, progress=False,
        )  # fmt: skip
        if isinstance(method, sd.PFI):
            return found.values.tobytes() + found.std_error.tobytes()
        return b"".join(e.value.tobytes() + e.std_error.tobytes() for e in found.values())

    with threadpool_limits(2):
        several = bits(1)
    with threadpool_limits(1):
        assert bits(1) == several
    assert bits(2) == several
