"""Models that do what models should not: a right result, or an error that names the model; never a wrong number."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable
from unittest.mock import Mock

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused

X = np.random.default_rng(0).normal(size=(120, 2))
METHODS = ("rhale", "ale", "dale", "pdp", "mplot")


def product(X):
    return 2.0 * X[:, 0] + X[:, 0] * X[:, 1]


class OneBuffer:
    """Returns the same array each time, and spoils all of it first."""

    def __init__(self, function: Callable, shape: tuple[int, ...]) -> None:
        self.function, self.array = function, np.empty(shape)

    def __call__(self, X):
        self.array[:] = np.nan
        self.array[: len(X)] = self.function(X)
        return self.array[: len(X)]


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("memory", ["20KB", "1GB"])
def test_a_view_of_the_models_own_buffer_is_copied(method, memory):
    slope = OneBuffer(lambda X: np.stack([2.0 + X[:, 1], X[:, 0]], axis=1), (60_000, 2))
    pairs = [
        (product, OneBuffer(product, (60_000,))),
        (
            sd.prediction(product, slope=slope.function),
            sd.prediction(OneBuffer(product, (60_000,)), slope=slope),
        ),
    ]
    for plain, buffered in pairs:
        want = sd.explain(plain, X, 0, method=method)
        got = sd.explain(buffered, X, 0, method=method, memory=memory)
        np.testing.assert_allclose(got.value, want.value, rtol=1e-12, atol=1e-12)


CALLS = {
    "pfi": lambda f: sd.explain(f, X, method="pfi").values,
    "pair": lambda f: sd.explain(f, X, (0, 1)).value,
    "regions": lambda f: str(sd.regions(f, X, 0)),
    "interactions": lambda f: str(sd.interactions(f, X, max_rows=40, ale=False)),
    "change": lambda f: str(sd.change(f, X, {0: 1})),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_view_of_a_buffer_is_copied_by_other_functions(name):
    np.testing.assert_array_equal(CALLS[name](OneBuffer(product, (60_000,))), CALLS[name](product))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), MemoryError("full"), RecursionError("deep")]
)
def test_what_a_model_raises_is_what_is_raised(error, n_jobs):
    threads, calls = threading.active_count(), 0

    def late(X):
        nonlocal calls
        calls += 1
        if calls > 3:
            raise error
        return product(X)

    with pytest.raises(type(error)) as info:
        sd.explain(late, X, 0, method="pdp", n_jobs=n_jobs, memory="20KB")
    assert info.value is error
    assert threading.active_count() == threads


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_stop_iteration_is_an_error_of_the_model(n_jobs):
    """It would end the loop over batches, and what was left of the rows would be missing."""
    answers = iter([product] * 5)

    def ends(X):
        return next(answers)(X)

    with refused(sd.ModelOutputError, "StopIteration, which the model raised", "next()"):
        sd.explain(ends, X, 0, method="pdp", n_jobs=n_jobs, memory="20KB")


@pytest.mark.parametrize(
    ("wrap", "got", "fix"),
    [
        (lambda r: (v for v in r), "a generator", "list(output)"),
        (lambda r: map(float, r), "a map", "list(output)"),
        (lambda r: dict(enumerate(r)), "a dict", "shape (n,)"),
        (lambda r: [10**400] * len(r), "more than 308 digits", "logarithm"),
        (lambda r: r + 0j, "complex128", "returns numbers"),
    ],
    ids=["generator", "map", "dict", "huge", "complex"],
)
def test_outputs_that_are_no_arrays_say_how_to_make_one(wrap, got, fix):
    with refused(sd.ModelOutputError, "prediction(function)", got, fix):
        sd.explain(lambda X: wrap(product(X)), X, 0)


def test_objects_that_answer_every_name_are_no_models():
    class Anything:
        def __getattr__(self, name):
            return lambda *args: None

    for model in (Mock(), Anything()):
        for use in (sd.prediction, sd.probability, sd.logit):
            with refused(sd.UnsupportedError, "any attribute", "lambda X: model.predict(X)"):
                use(model)
        with refused(sd.UnsupportedError, "any attribute", "lambda X: model.predict(X)"):
            sd.explain(model, X, 0)
    only = Mock(spec=["predict"])
    only.predict.side_effect = product
    assert sd.explain(only, X, 0, method="ale").importance > 0


@pytest.mark.many
@pytest.mark.parametrize(
    "member", ["__len__", "__bool__", "__repr__", "__array__", "__eq__", "__iter__"]
)
def test_special_methods_of_a_model_are_not_asked(member):
    def fails(self, *args, **keywords):
        raise RuntimeError(member)

    members = {"predict": lambda self, X: product(X), "__hash__": object.__hash__}
    model = type("Odd", (), {**members, member: fails})()
    want = sd.explain(product, X, 0).value
    np.testing.assert_array_equal(sd.explain(model, X, 0).value, want)
    for name in ("regions", "interactions"):
        CALLS[name](model)


def test_a_model_may_explain_another_one_and_itself_in_threads():
    inner = []

    def explains(X):
        if len(inner) < 3:
            inner.append(sd.explain(product, X[:20], 1, method="ale", n_jobs=2, progress=True))
        return product(X)

    got = sd.explain(explains, X, 0, n_jobs=2, progress=True, memory="20KB")
    np.testing.assert_allclose(got.value, sd.explain(product, X, 0, memory="20KB").value)
    assert len(inner) == 3


def test_global_state_that_a_model_changes_does_not_change_results(tmp_path, monkeypatch):
    def meddles(X):
        np.seterr(all="raise")
        np.random.seed(0)  # noqa: NPY002
        warnings.simplefilter("ignore")
        monkeypatch.chdir(tmp_path)
        return product(X)

    with warnings.catch_warnings(), np.errstate():
        for method in METHODS:
            got = sd.explain(meddles, X, 0, method=method).value
            np.testing.assert_array_equal(got, sd.explain(product, X, 0, method=method).value)
        for name in ("regions", "interactions", "pfi"):
            CALLS[name](meddles)


class Keeps:
    """Keeps the rows of every call, and what they were."""

    def __init__(self, function: Callable = product) -> None:
        self.function, self.kept = function, []

    def __call__(self, X):
        self.kept += [(X, np.array(X)), (X[:3], np.array(X[:3]))]
        return self.function(X)

    @property
    def unchanged(self) -> bool:
        return all(np.array_equal(np.array(rows), was) for rows, was in self.kept)


def both(X):
    p = 1 / (1 + np.exp(-product(X)))
    return np.stack([1 - p, p], axis=1)


COPYING = {
    "prediction": (product, sd.prediction),
    "outputs": (both, lambda f, **k: sd.prediction(f, output="all", **k)),
    "inverse": (product, lambda f, **k: sd.prediction(f, inverse="tanh", **k)),
    "probability": (both, lambda f, **k: sd.probability(f, class_=1, **k)),
    "logit": (both, lambda f, **k: sd.logit(f, class_=1, **k)),
    "entropy": (both, sd.entropy),
    "nll": (both, sd.nll),
    "variance": (both, sd.predictive_variance),
    "quantile": (
        lambda X: (product(X), np.ones(len(X))),
        lambda f, **k: sd.predictive_quantile(f, 0.9, **k),
    ),
    "loss": (product, sd.loss),
    "log loss": (both, lambda f, **k: sd.loss(f, "log_loss", **k)),
}


@pytest.mark.many
@pytest.mark.parametrize("name", COPYING)
def test_with_copies_rows_that_a_model_keeps_never_change(name):
    function, make = COPYING[name]
    y = (X[:, 0] > 0) * 1
    reused, copied = Keeps(function), Keeps(function)
    results = [
        sd.explain(make(f, **keywords), X, method="ale", y=y, memory="20KB")
        for f, keywords in ((reused, {}), (copied, {"copy": True}))
    ]
    assert copied.unchanged
    assert not reused.unchanged  # what the documentation warns of
    want, got = (r.to_frame().to_numpy() for r in results)
    assert [row.tolist() for row in want] == [row.tolist() for row in got]


def test_with_copies_slopes_and_frames_are_copied_too():
    pandas = pytest.importorskip("pandas")
    slope = Keeps(lambda X: np.stack([2.0 + X[:, 1], X[:, 0]], axis=1))
    sd.explain(sd.prediction(product, slope=slope, copy=True), X, 0, method="dale", memory="20KB")
    assert slope.unchanged
    frames = Keeps(lambda X: product(X.to_numpy()))
    sd.regions(sd.prediction(frames, copy=True), pandas.DataFrame(X, columns=["a", "b"]), "a")
    assert frames.unchanged


@pytest.mark.many
@pytest.mark.parametrize("method", [*METHODS, "pfi"])
def test_with_copies_a_model_may_write_to_its_rows(method):
    def writes(X):
        X[:, 0] *= 2.0 + X[:, 1]
        return X[:, 0]

    before = X.copy()
    with refused(sd.ModelOutputError, "written to", "copy=True"):
        sd.explain(writes, X, method=method)
    got = sd.explain(sd.prediction(writes, copy=True), X, method=method, memory="20KB")
    want = sd.explain(lambda X: X[:, 0] * (2.0 + X[:, 1]), X, method=method, memory="20KB")
    np.testing.assert_array_equal(X, before)
    assert str(got.to_frame()) == str(want.to_frame())


def test_copy_is_a_truth_value():
    for make in (sd.prediction, sd.loss):
        with refused(sd.DataError, "copy", "'yes'", "True or False"):
            make(product, copy="yes")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_after_threads_and_kernels_were_used_can_explain():
    """A child process has none of its parent's threads: waiting for one would never end."""
    work = lambda: sd.explain(product, X, 0, method="pdp", n_jobs=2, memory="20KB").value  # noqa: E731
    want = work()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends the child if it waits
        os._exit(0 if np.array_equal(work(), want) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_first_error_of_a_thread_ends_all_and_no_call_follows():
    calls = []

    def fails(X):
        if len(X) > 64:  # the checks of the model are smaller
            calls.append(len(X))
            raise ValueError("first")
        return product(X)

    before = threading.active_count()
    with pytest.raises(ValueError, match="first"):
        sd.explain(fails, np.repeat(X, 20, axis=0), 0, method="pdp", n_jobs=2, memory="200KB")
    assert 1 <= len(calls) <= 4  # each thread's own, and one that was waiting for it
    assert threading.active_count() == before
