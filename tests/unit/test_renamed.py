"""Old names of keywords, attributes, public names and options: each error gives the new name."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import skedasis as sd
from skedasis import _renamed

X = np.random.default_rng(0).normal(size=(120, 3))
Y = X[:, 0] * X[:, 1]


def f(X):
    return X[:, 0] * X[:, 1]


def explained(feature="x0", **keywords):
    return sd.explain(f, X, feature, progress=False, **keywords)


CALLS = {
    "explain(weights)": (lambda: explained(weights=np.ones(120)), "sample_weight"),
    "explain(seed)": (lambda: explained(seed=1), "random_state"),
    "explain(threads)": (lambda: explained(threads=2), "n_jobs"),
    "report(seed)": (lambda: sd.report(f, X, seed=1), "random_state"),
    "report(weights)": (lambda: sd.report(f, X, weights=None), "sample_weight"),
    "report(threads)": (lambda: sd.report(f, X, threads=1), "n_jobs"),
    "diagnose(repeats)": (lambda: sd.diagnose(f, X, Y, repeats=3), "n_repeats"),
    "diagnose(level)": (lambda: sd.diagnose(f, X, Y, level=0.9), "confidence_level"),
    "null_distribution(repeats)": (
        lambda: sd.null_distribution(f, X, Y, repeats=3),
        "n_repeats",
    ),
    "null_distribution(seed)": (lambda: sd.null_distribution(f, X, Y, seed=3), "random_state"),
    "ensemble(seed)": (lambda: sd.ensemble([f, f], seed=1), "random_state"),
    "PFI(repeats)": (lambda: sd.PFI(repeats=3), "n_repeats"),
    "Effect.interval(level)": (lambda: explained().interval(level=0.9), "confidence_level"),
    "Effect.interval(seed)": (lambda: explained().interval(seed=1), "random_state"),
    "Effect.interval(threads)": (lambda: explained().interval(threads=1), "n_jobs"),
    "Effect.checks(level)": (lambda: explained().checks(level=0.9), "confidence_level"),
    "Effect.variance_decomposition(seed)": (
        lambda: explained().variance_decomposition(seed=1),
        "random_state",
    ),
    "Effect.heterogeneity_test(level)": (
        lambda: explained().heterogeneity_test(level=0.9),
        "confidence_level",
    ),
    "Effect.elevated_regions(level)": (
        lambda: explained().elevated_regions(level=0.9),
        "confidence_level",
    ),
    "Effect.plot(level)": (lambda: explained().plot(level=0.9), "confidence_level"),
    "Effect.plot(rises)": (lambda: explained().plot(rises=True), "elevated_regions"),
    "Effect.explore(level)": (lambda: explained().explore(level=0.9), "confidence_level"),
    "compare(level)": (
        lambda: sd.compare(explained(), explained(), level=0.9),
        "confidence_level",
    ),
    "Effects.interval(level)": (
        lambda: explained(["x0", "x1"]).interval(level=0.9),
        "confidence_level",
    ),
    "Effects.checks(seed)": (lambda: explained(["x0", "x1"]).checks(seed=1), "random_state"),
    "Effects.statistics(weights)": (
        lambda: explained(["x0", "x1"]).statistics(weights=None),
        "sample_weight",
    ),
    "Effects.plot(level)": (
        lambda: explained(["x0", "x1"]).plot(level=0.9),
        "confidence_level",
    ),
    "Surface.interval(level)": (
        lambda: explained(("x0", "x1"), method=sd.ALE(bins=3)).interval(level=0.9),
        "confidence_level",
    ),
    "Surface.plot(sure)": (
        lambda: explained(("x0", "x1"), method=sd.ALE(bins=3)).plot(sure=0.9),
        "confidence_level",
    ),
    "Importance.interval(level)": (
        lambda: sd.explain(f, X, method=sd.PFI(), progress=False).interval(level=0.9),
        "confidence_level",
    ),
    "MultiModelResult.interval(level)": (
        lambda: sd.explain([f, f], X, "x0", progress=False).interval(level=0.9),
        "confidence_level",
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("name", CALLS)
def test_an_old_keyword_is_a_type_error_that_names_the_new_one(name):
    call, new = CALLS[name]
    old = name[name.index("(") + 1 : -1]
    with pytest.raises(
        TypeError, match=f"unexpected keyword argument '{old}', expected '{new}'. Write {new}="
    ):
        call()


def test_another_unknown_keyword_is_a_type_error_that_lists_the_valid_ones():
    message = r"^explain\(\): got an unexpected keyword argument 'nothing', expected one of model, X, .*, correction\. "
    with pytest.raises(TypeError, match=message):
        sd.explain(f, X, nothing=1)


def test_every_renamed_keyword_of_a_public_function_is_refused():
    """Every public function or method with a renamed keyword rejects the old name with the hint."""
    new = set(_renamed.KEYWORDS.values())
    missing = []
    for name in sd.__all__:
        if name == "parquet":  # newer than the old names, and `sample_weight` names a column
            continue
        public = getattr(sd, name)
        found = [(name, public)]
        if inspect.isclass(public):
            found = [
                (f"{name}.{k}", v)
                for k, v in inspect.getmembers(public, inspect.isfunction)
                if not k.startswith("_")
            ]
        for where, function in found:
            if not inspect.isfunction(function):
                continue
            # What takes further options passes them to what checks all of them.
            code = function.__code__
            own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            others = code.co_flags & inspect.CO_VARKEYWORDS
            if set(own) & new and not others and not hasattr(function, "__wrapped__"):
                missing.append(where)
    assert not missing


def results():
    effect, pair = explained(), explained(("x0", "x1"), method=sd.ALE(bins=3))
    effects = explained(["x0", "x1"])
    importance = sd.explain(f, X, method=sd.PFI(), progress=False)
    return {
        "BinStats": effect.bins,
        "Effect": effect,
        "Importance": importance,
        "LocalImportance": importance.local,
        "Rank": effects.ranking()[0],
        "Effects": effects,
        "Surface": pair,
        "MultiModelEffect": sd.explain([f, f], X, "x0", progress=False),
        "HeterogeneityTest": effect.heterogeneity_test(),
        "Check": sd.Check("few_rows", "warning", "Few rows."),
        "PFI": sd.PFI(),
        "Diagnosis": sd.diagnose(lambda X: (f(X), np.ones(len(X))), X, Y, progress=False),
        "Statistics": effects.statistics(replicates=20),
    }


@pytest.mark.slow
def test_an_old_attribute_is_an_attribute_error_that_names_the_new_one():
    found = results()
    assert set(found) == set(_renamed.ATTRIBUTES)
    for kind, names in _renamed.ATTRIBUTES.items():
        assert kind in [c.__name__ for c in type(found[kind]).__mro__]
        for old, new in names.items():
            with pytest.raises(AttributeError, match=f"{old!r}: it is called {new!r}"):
                getattr(found[kind], old)
            assert not hasattr(found[kind], old)
            assert hasattr(found[kind], new)
        with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
            _ = found[kind].nothing


def test_copies_and_pickles_are_as_before():
    effect = explained()
    assert copy.deepcopy(sd.PFI(n_repeats=3)) == pickle.loads(pickle.dumps(sd.PFI(n_repeats=3)))
    assert np.array_equal(pickle.loads(pickle.dumps(effect)).value, copy.deepcopy(effect).value)


@pytest.mark.parametrize("old", _renamed.PUBLIC)
def test_an_old_public_name_is_an_attribute_error_that_names_the_new_one(old):
    new = _renamed.PUBLIC[old]
    assert new in sd.__all__
    with pytest.raises(AttributeError, match=f"{old!r}: it is called {new!r}"):
        getattr(sd, old)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("sd.PFI().repeats", "'PFI' object has no attribute 'repeats': it is called 'n_repeats'"),
        (
            "sd.PFI().n_repeat",
            "'PFI' object has no attribute 'n_repeat'. Did you mean 'n_repeats'?",
        ),
        (
            "sd.Chance",
            "module 'skedasis' has no attribute 'Chance': it is called 'NullDistribution'",
        ),
        ("sd.explian", "module 'skedasis' has no attribute 'explian'. Did you mean sd.explain?"),
    ],
)
def test_python_adds_no_suggestion_of_its_own(code, end):
    command = [sys.executable, "-c", f"import skedasis as sd\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"AttributeError: {end}"
