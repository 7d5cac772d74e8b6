"""Models with their own threads: limited to one while several threads of skedasis call them, and then restored."""

from __future__ import annotations

import contextlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

import skedasis as sd
from skedasis.models.calling import one_thread_each
from tests.helpers import bent, same_effect

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


def test_it_can_be_entered_again():
    with one_thread_each():
        with one_thread_each():
            assert pools("blas") == {1}
        assert pools("blas") == {1}  # the outer one is still active
    assert pools("blas") == {4}


def test_two_explanations_at_once_share_it():
    """The limit stays until the last explanation ends."""
    first, last = threading.Event(), threading.Event()
    seen = []

    def short():
        with one_thread_each():
            first.set()
            last.wait(10)

    def long():
        first.wait(10)
        with one_thread_each():
            last.set()
            other.join(10)
            seen.append(pools("blas"))

    other = threading.Thread(target=short)
    mine = threading.Thread(target=long)
    for thread in (other, mine):
        thread.start()
    for thread in (other, mine):
        thread.join(10)
    assert seen == [{1}]
    assert pools("blas") == {4}


@pytest.mark.slow
def test_a_model_may_explain_another_one():
    """As a surrogate model might: worker threads are started from a worker thread."""
    inner = Watched()

    def outer(Z):
        if len(Z) > 64:
            explained(inner, n_jobs=2)
        return bent(Z)

    e = explained(outer, n_jobs=2, memory="300KB")
    same_effect(e, explained(bent, n_jobs=1, memory="300KB"), rtol=0)
    assert inner.numbers("blas") == inner.numbers("openmp") == {1}
    assert pools("blas") == {4}


def test_without_threadpoolctl_there_is_less_to_set(monkeypatch):
    find = sys.modules["importlib.util"].find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda n, *a: None if n == "threadpoolctl" else find(n, *a)
    )
    model = Watched()
    e = explained(model, n_jobs=2)
    assert model.numbers("blas") == {4}
    same_effect(e, explained(bent, n_jobs=1), rtol=0)


def test_what_fails_half_way_is_put_back(monkeypatch):
    class Pools:
        @property
        def lib_controllers(self):
            raise OSError("no such library")

    class Torch:
        threads = 4

        def get_num_threads(self):
            return self.threads

        def set_num_threads(self, n):
            self.threads = n

    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr("skedasis.models.calling._pools", Pools)
    with pytest.raises(OSError, match="no such library"), one_thread_each():
        pass
    assert torch.threads == 4
    monkeypatch.undo()
    with one_thread_each():
        assert pools("blas") == {1}
    assert pools("blas") == {4}


# ----------------------------------------------------------------------- estimators, torch, LightGBM


class Crew(RegressorMixin, BaseEstimator):
    """Predicts as forests do, with joblib threads, one for each job."""

    n_features_in_ = 3

    def __init__(self, n_jobs=4):
        self.n_jobs = n_jobs
        self.met = []

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        barrier = threading.Barrier(2)

        def job(part):
            if len(X) > 64:
                # Two jobs that wait for each other meet only if they run at the same time.
                self.met.append(_meets(barrier))
            return bent(part)

        jobs = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return np.concatenate(jobs(delayed(job)(p) for p in np.array_split(X, 2)))


def _meets(barrier):
    try:
        barrier.wait(0.2)
    except threading.BrokenBarrierError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.thinned
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("threads", "meet"), [(1, True), (2, False)])
def test_the_jobs_of_an_estimator_come_one_by_one(wrapped, threads, meet):
    crew = Crew()
    model = make_pipeline(StandardScaler(with_mean=False, with_std=False).fit(X), crew)
    e = explained(model if wrapped else crew, n_jobs=threads)
    assert set(crew.met) == {meet}
    assert crew.n_jobs == 4
    same_effect(e, explained(bent, n_jobs=1), rtol=0)


@pytest.mark.slow
def test_a_forest_is_not_touched_and_answers_the_same():
    forest = RandomForestRegressor(10, n_jobs=2, random_state=0).fit(X, bent(X))
    before = joblib.hash(forest)
    two = explained(forest, n_jobs=2, tree="off")
    assert joblib.hash(forest) == before
    same_effect(two, explained(forest, n_jobs=1, tree="off"), rtol=1e-12)
    assert joblib.effective_n_jobs(2) == 2


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


@pytest.mark.thinned
@pytest.mark.parametrize("method", [sd.PDP(), sd.ALE(), sd.PFI(n_repeats=2)], ids=lambda m: m.name)
@pytest.mark.parametrize("weighted", [False, True])
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
