"""Completion in editors and notebooks: what jedi, and IPython with it, offer; and the texts that come with it."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd
from skedasis.engine import options
from skedasis.results import keywords

PRELUDE = """
import numpy as np
import skedasis as sd
X = np.zeros((5, 2))
def m(X): return X[:, 0]
e = sd.explain(m, X, "x0")
"""


def in_editor(code: str) -> set[str]:
    """Return what an editor without a running program offers at the end of the code."""
    jedi = pytest.importorskip("jedi", reason="completion is by jedi")
    return {c.name for c in jedi.Script(PRELUDE + code).complete()}


def in_notebook(code: str) -> set[str]:
    """Return what a notebook offers at the end of a line, where the program's objects exist."""
    jedi = pytest.importorskip("jedi", reason="completion is by jedi")
    X = np.random.default_rng(0).normal(size=(60, 2))
    names = {"sd": sd, "m": _first, "X": X, "e": sd.explain(_first, X, 0)}
    return {c.name for c in jedi.Interpreter(code, [names]).complete(1, len(code))}


def _first(X):
    return X[:, 0]


# Without a running program, jedi reads the whole package and infers what it returns: up to twenty seconds.
EVERYWHERE = pytest.mark.parametrize(
    "offered", [pytest.param(in_editor, marks=pytest.mark.slow), in_notebook]
)


class TestCompletion:
    @pytest.mark.parametrize("offered", [in_editor, in_notebook])
    def test_all_public_names_are_offered_although_they_are_imported_when_first_used(self, offered):
        assert set(sd.__all__) <= offered("sd.")

    @pytest.mark.slow
    @EVERYWHERE
    def test_parameters_of_functions_and_methods(self, offered):
        assert "method=" in offered("sd.explain(m, X, me")
        assert "n_repeats=" in offered("sd.PFI(n_re")
        assert {"bins=", "center="} <= offered("sd.ALE(")

    @pytest.mark.slow
    @EVERYWHERE
    def test_members_of_a_result(self, offered):
        assert {"plot", "interval", "to_frame", "importance", "checks"} <= offered("e.")


@pytest.mark.slow
def test_options_that_are_unpacked_are_offered_in_a_notebook():
    assert "ice=" in in_notebook("e.plot(ic")
    assert "heterogeneity_rows=" in in_notebook("sd.explain(m, X, het")
    assert {"labels=", "size="} <= in_notebook("sd.compare(e, e, ")


def test_a_notebook_shows_parameters_with_their_types_and_defaults():
    jedi = pytest.importorskip("jedi")
    (shown,) = jedi.Interpreter("sd.ALE(", [{"sd": sd}]).get_signatures(1, 7)
    text = shown.to_string()
    assert re.search(r"top_levels: '?int \| None'?=None", text)
    assert re.search(r"bins: '?Bins'?=['\"]auto['\"]", text)


# --------------------------------------------------------------------------- signatures at run time

RESULTS = [
    value
    for name in sd.__all__
    if inspect.isclass(value := getattr(sd, name)) and hasattr(value, "plot")
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: r.__name__)
def test_plot_lists_its_options(result):
    parameters = inspect.signature(result.plot).parameters
    kinds = {p.kind for p in parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    for name, parameter in parameters.items():
        assert name == "self" or parameter.annotation is not inspect.Parameter.empty


@pytest.mark.parametrize("name", [n for n in sd.__all__ if inspect.isfunction(getattr(sd, n))])
def test_every_parameter_of_a_public_function_has_a_type(name):
    signature = inspect.signature(getattr(sd, name))
    untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    assert untyped == []
    assert signature.return_annotation is not inspect.Signature.empty


# ---------------------------------------------------------------------------- texts of the keywords


def texts_of(module) -> dict[str, dict[str, str]]:
    """Return the text below each key of the dictionaries of keywords in a module."""
    found: dict[str, dict[str, str]] = {}
    for named in ast.parse(Path(module.__file__).read_text("utf-8")).body:
        if isinstance(named, ast.ClassDef) and named.name.endswith("Keywords"):
            below = zip(named.body, [*named.body[1:], None], strict=True)
            found[named.name] = {
                key.target.id: text.value.value if isinstance(text, ast.Expr) else ""
                for key, text in below
                if isinstance(key, ast.AnnAssign)
            }
    return found


KEYS = [
    (module, named, key)
    for module in (options, keywords)
    for named, texts in texts_of(module).items()
    for key in texts
]


@pytest.mark.parametrize(("module", "named", "key"), KEYS, ids=lambda v: v if v == str(v) else "")
def test_each_keyword_has_a_text_that_stands_alone(module, named, key):
    text = texts_of(module)[named][key]
    assert re.fullmatch(r"[A-Z].*\.", text, re.DOTALL), (named, key)
    assert not text.startswith("As in")
    if module is options:  # the help text of the shell
        assert "\n" not in text
        assert len(text) <= 110


def test_a_keyword_of_several_dictionaries_has_one_text():
    found: dict[str, set[str]] = {}
    for texts in texts_of(options).values():
        for key, text in texts.items():
            found.setdefault(key, set()).add(text)
    assert {key: texts for key, texts in found.items() if len(texts) > 1} == {}


def parameters_in(doc: str) -> dict[str, str]:
    """Return the description of each parameter of a numpydoc docstring, in one line."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)",
        inspect.cleandoc(doc),
        re.MULTILINE | re.DOTALL,
    )
    parts = re.findall(
        r"^(\S[^\n]*)\n((?:[ ]+[^\n]*\n?|\n)*)", f"{section[1]}\n" if section else "", re.MULTILINE
    )
    return {
        name.lstrip("*"): " ".join(body.split())
        for head, body in parts
        for name in head.partition(" : ")[0].split(", ")
    }


# ------------------------------------------------------------------------------- public docstrings


def members() -> list[tuple[str, typing.Any]]:
    """Return the public functions, classes, and methods of public classes, with their names."""
    found: list[tuple[str, typing.Any]] = []
    for name in sd.__all__:
        value = getattr(sd, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            found.append((name, value))
        if inspect.isclass(value):
            found += [
                (f"{name}.{m}", getattr(value, m))
                for m, own in vars(value).items()
                if not m.startswith("_") and inspect.isfunction(own)
            ]
    return found


@pytest.mark.parametrize(
    ("name", "value"), members(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_public_names_say_in_one_line_what_the_caller_gets(name, value):
    doc = inspect.getdoc(value)
    assert doc
    first, *_ = doc.split("\n\n")
    assert "\n" not in first
    assert first.endswith((".", ":")), first
    assert len(first) <= 120


@pytest.mark.parametrize(
    ("name", "value"), members(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_public_names_document_their_parameters(name, value):
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value):
        if not is_dataclass(value) or "\nParameters\n" not in text:
            return  # errors, warnings and results, which callers do not make
        wanted = {f.name for f in fields(value) if f.init and not f.name.startswith("_")}
    else:
        wanted = {p for p in inspect.signature(value).parameters if p not in ("self", "cls")}
    found = set(parameters_in(text))
    if not found and "." in name:
        return  # a short method whose sentence names its parameters
    assert wanted <= found, wanted - found
