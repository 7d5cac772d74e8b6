"""An unknown keyword, attribute, name of the package, option or command: the error names the nearest of our own."""

from __future__ import annotations

import copy
import difflib
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skedasis as sd
from skedasis.cli.app import app
from skedasis.errors import nearest
from tests.shell import CliRunner

X = np.random.default_rng(0).normal(size=(60, 2))


def f(X):
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def effect():
    return sd.explain(f, X, 0, method=sd.ALE(bins=4))


CALLS = {
    "a function": (lambda e: sd.explain(f, X, n_job=2), "explain", "n_job", "n_jobs"),
    "options of explain": (lambda e: sd.report(f, X, memori=1), "report", "memori", "memory"),
    "a class": (lambda e: sd.PFI(n_repeat=3), "PFI", "n_repeat", "n_repeats"),
    "a quantity": (lambda e: sd.probability(f, clas="a"), "probability", "clas", "class_"),
    "a method": (
        lambda e: e.interval(confidense_level=0.9),
        "Effect.interval",
        "confidense_level",
        "confidence_level",
    ),
    "a figure": (lambda e: e.plot(titel="a"), "Effect.plot", "titel", "title"),
    "passed on": (
        lambda e: sd.explain(f, X, [0]).interval(replicate=9),
        "Effects.interval",
        "replicate",
        "replicates",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_keyword(effect, name):
    call, function, wrong, right = CALLS[name]
    with pytest.raises(sd.UnsupportedError) as raised:
        call(effect)
    assert str(raised.value) == (
        f"{function}(): got an unexpected keyword argument {wrong!r}, expected {right!r}. Write {right}= instead."
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda e: sd.ALE(nothing=1),
            (
                "ALE(): got an unexpected keyword argument 'nothing', expected one of bins, center, accumulate, "
                "ddof, accumulate_se, top_levels, order, empty. Remove nothing=."
            ),
        ),
        (
            lambda e: sd.explain(f, X, bins=20),
            (
                "explain(): got an unexpected keyword argument 'bins', expected a keyword of explain. "
                "It is a parameter of the method: method=sd.RHALE(bins=...)."
            ),
        ),
        (lambda e: sd.explain(f), "explain(): got no X, expected model and X. Pass X=."),
        (lambda e: e(), "Effect(): got no x_new, expected x_new. Pass x_new=."),
        (
            lambda e: e.contrast(0, 1, a=2),
            "Effect.contrast(): got a twice, expected a once. Remove a=.",
        ),
        (
            lambda e: sd.prediction(f, "price"),
            (
                "prediction(): got 2 positional arguments, expected at most 1 (model). "
                "Pass the others by name: slope=, mixed=, output=, inverse=, link=, name=, unit=, copy=."
            ),
        ),
    ],
)
def test_a_call_that_does_not_fit(effect, call, message):
    with pytest.raises(sd.UnsupportedError) as raised:
        call(effect)
    assert str(raised.value) == message


def test_a_type_error_of_a_call_that_fits_is_its_own(effect):
    def broken(X):
        raise TypeError("broken() got an unexpected keyword argument 'n_job'")

    with pytest.raises(TypeError, match=r"^broken\(\) got an unexpected"):
        sd.explain(broken, X, 0)


def test_names_of_results_are_those_for_users(effect):
    effects = sd.explain(f, X, method=sd.ALE(bins=4))
    for result in (effect, effects, effects.ranking(), effect.checks(), effects.ranking()[0]):
        declared = {"exported", "json_kind", "noun", "column", "line", "tables", "ordered_by"}
        assert not declared & {*dir(result)}
    assert {"values", "bins", "plot", "about", "std_error", "__class__"} <= {*dir(effect)}
    assert {"members", "provenance", "keys", "ranking"} <= {*dir(effects)}
    with pytest.raises(AttributeError, match=r"no attribute 'explore'$"):
        _ = effects.ranking().explore


def test_an_unknown_attribute(effect):
    for result, wrong, right in (
        (effect, "std_eror", "std_error"),
        (sd.PFI(), "n_repeat", "n_repeats"),
        (sd.Check("few_rows", "warning", "Few rows."), "mesage", "message"),
    ):
        with pytest.raises(AttributeError, match=f"{wrong!r}. Did you mean {right!r}[?]$"):
            getattr(result, wrong)
        with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
            _ = result.nothing
        assert not hasattr(result, wrong)
        assert not hasattr(result, "_reprr_html_")


def test_copies_and_pickles_are_as_before(effect):
    assert copy.deepcopy(sd.PFI(n_repeats=3)) == pickle.loads(pickle.dumps(sd.PFI(n_repeats=3)))
    assert np.array_equal(pickle.loads(pickle.dumps(effect)).value, copy.deepcopy(effect).value)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        (
            "sd.PFI().n_repeat",
            "'PFI' object has no attribute 'n_repeat'. Did you mean 'n_repeats'?",
        ),
        ("sd.explian", "module 'skedasis' has no attribute 'explian'. Did you mean sd.explain?"),
        ("sd.ale", "module 'skedasis' has no attribute 'ale'. Did you mean sd.ALE?"),
        ("sd.nothing_like_it", "module 'skedasis' has no attribute 'nothing_like_it'"),
        ("sd.__explain", "module 'skedasis' has no attribute '__explain'"),
    ],
)
def test_python_adds_no_suggestion_of_its_own(code, end):
    command = [sys.executable, "-c", f"import skedasis as sd\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"AttributeError: {end}"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("effect", "--random-stat", "1"), ("No such option: --random-stat", "--random-state")),
        (("report", "--n-job", "1"), ("No such option: --n-job", "--n-jobs")),
        (("efect",), ("No such command 'efect'", "Did you mean 'effect'?")),
        (("--hlep",), ("No such option: --hlep", "--help")),
    ],
)
def test_an_unknown_option_or_command_of_the_shell(args, words):
    shown = CliRunner().invoke(app, args, env={"COLUMNS": "200"})
    assert shown.exit_code == 2
    for word in words:
        assert word in shown.output


@given(st.lists(st.text("abcdeABC_ ", min_size=1, max_size=8), min_size=1), st.text(max_size=8))
def test_the_nearest_name(known, name):
    """It is a known one, itself if that is known, and none is more similar."""
    found = nearest(name, known)
    plain = name.casefold().strip()

    def similarity(other: str) -> float:
        return difflib.SequenceMatcher(None, other.casefold().strip(), plain).ratio()

    best = max(map(similarity, known))
    if found is None:
        assert best < 0.6
        return
    assert found in known
    assert similarity(found) == best >= 0.6
    if name in known:
        assert found.casefold().strip() == plain
