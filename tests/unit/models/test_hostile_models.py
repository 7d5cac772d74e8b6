"""Models that do what models should not: a right result, or an error that names the model; never a wrong number."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from unittest.mock import Mock

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import paired, refused

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


@pytest.mark.parametrize(("method", "memory"), paired(METHODS, ["20KB", "1GB"]))
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
    "change": lambda f: str(sd.what_if(f, X, {0: 1})),
}


@pytest.mark.parametrize(
    ("error", "n_jobs"), [(SystemExit(3), 1), (KeyboardInterrupt(), 2), (MemoryError("full"), 2)]
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


@pytest.mark.parametrize("member", ["__len__", "__bool__", "__array__", "__eq__"])
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
    "probability": (both, lambda f, **k: sd.probability(f, class_=1, **k)),
    "entropy": (both, sd.entropy),
    "loss": (product, sd.loss),
}


@pytest.mark.parametrize("name", COPYING)
def test_with_copies_rows_that_a_model_keeps_never_change(name):
    function, make = COPYING[name]
    y = (X[:, 0] > 0) * 1
    reused, copied = Keeps(function), Keeps(function)
    results = [
        sd.explain(make(f, **keywords), X, method="pdp", y=y, memory="20KB")
        for f, keywords in ((reused, {}), (copied, {"copy": True}))
    ]
    assert copied.unchanged
    assert not reused.unchanged  # what the documentation warns of
    want, got = (r.to_frame().to_numpy() for r in results)
    assert [row.tolist() for row in want] == [row.tolist() for row in got]


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
