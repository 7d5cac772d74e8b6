"""Figures of hostile input: always well-formed, no warnings, and names are never markup."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.spec import EffectPlotOptions
from skedasis.plots.svg import (
    effect as effect_svg,
)
from skedasis.plots.svg import (
    importance as importance_svg,
)
from skedasis.plots.svg import (
    surface as surface_svg,
)
from skedasis.plots.svg.effect import compare
from skedasis.plots.svg.importance import before

RNG = np.random.default_rng(0)
N = 60
NAMES = [
    "x" * 500,
    "</style></script><script>alert(1)</script>",
    "]]>&#x0;&amp;<!--",
    "\"' onload=alert(1) x='",
    "אבג\u202eabc\u202c",
    "e\u0301\u0301\u0301 z\u200b\u200d",
    "👩‍👩‍👧 🏳️‍🌈",
    "a\x00b\x1b[31m\x7f\ufffe\x85",
    "",
    " \t\n",
    "url(#f-clip0) ${x} {{x}} {% x %}",
]
KNOWN = frozenset(
    [
        "svg",
        "title",
        "desc",
        "defs",
        "pattern",
        "clipPath",
        "g",
        "path",
        "rect",
        "text",
        "circle",
        "line",
        "tspan",
    ]
)


def checked(drawing) -> ET.Element:
    """Parse a drawing, and assert that it contains no scripts, external resources or broken references."""
    text = str(drawing.svg)
    root = ET.fromstring(text)
    tags = {e.tag.rpartition("}")[2] for e in root.iter()}
    assert tags <= KNOWN, tags - KNOWN
    idents = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(idents) == len(set(idents))
    for e in root.iter():
        assert not {k for k in e.attrib if k.startswith("on") or k in ("style", "href", "src")}
        for key, value in e.attrib.items():
            if key in ("fill", "clip-path") and value.startswith("url("):
                assert value[5:-1] in idents
            if key in ("x", "y", "d", "width", "height", "transform", "points", "viewBox"):
                assert not re.search(r"nan|inf|None|e[+-]?\d", value), (key, value[:80])
    assert "\x00" not in text
    return root


def frame(name: str) -> pd.DataFrame:
    level = RNG.choice([name, f"{name} ", "other"], N)
    return pd.DataFrame(
        {name: RNG.normal(size=N), "b": RNG.normal(size=N), "c": pd.Categorical(level)}
    )


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
class TestNames:
    def test_of_features_levels_and_quantities(self, name):
        X = frame(name)
        q = sd.prediction(lambda d: d.iloc[:, 0].to_numpy() * d["b"].to_numpy(), name=name or "q")
        whole = sd.explain(q, X, 0, method=sd.ALE(bins=4))
        for e in (
            whole,
            sd.explain(q, X, "c", method=sd.PDP()),
            sd.explain(q, X, 0, method=sd.PDP()),
        ):
            root = checked(effect_svg.effect(e, ident="f"))
            assert not [t for t in root.itertext() if "\x00" in t or "\x1b" in t]
        checked(
            effect_svg.effect(
                sd.explain(q, X, 0, method=sd.PDP()), EffectPlotOptions(color=X["c"]), ident="g"
            )
        )
        checked(compare({name: whole, f"{name}2": whole}, ident="c"))
        both = sd.explain(q, X, ["b", X.columns[0]], method=sd.ALE(bins=3))
        checked(effect_svg.effects(both, ident="m"))

    def test_of_surfaces_and_importances(self, name):
        X = frame(name)
        q = sd.prediction(lambda d: d.iloc[:, 0].to_numpy() * d["b"].to_numpy(), name=name or "q")
        checked(surface_svg.surface(sd.explain(q, X, (0, "b"), method=sd.ALE(bins=3)), ident="s"))
        checked(surface_svg.surface(sd.explain(q, X, ("c", "b"), method=sd.PDP(grid=3)), ident="s"))
        pf = sd.explain(q, X, method=sd.PFI(n_repeats=3, local=N))
        checked(importance_svg.importance(pf, ident="b"))
        checked(before(pf, ident="l"))

    def test_pages_hold_no_element_of_a_name(self, name):
        X = frame(name)
        e = sd.explain(lambda d: d.iloc[:, 0].to_numpy() * 2.0, X, 0, method=sd.ALE(bins=3))
        html = e.explore(title=name or None).html
        assert html.count("<script>") == 1 == html.count("</script>")
        assert html.count("</style>") == html.count("<style>") == 2
        assert "<!--" not in html


SIZES = [1e-300, 5e-324, 1e-12, 1e12, 1e150]
METHODS = [sd.ALE(bins=4), sd.PDP(grid=6), sd.MPlot(bins=4), sd.PDP(grid=1)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_quantities_of_any_size(method, size):
    X = RNG.normal(size=(N, 2))
    e = sd.explain(lambda X: size * (X[:, 0] + np.sin(X[:, 1])), X, 0, method=method)
    checked(effect_svg.effect(e, ident="f"))
    checked(compare([e, e], ident="c"))


@pytest.mark.parametrize("size", [1e-12, 1e12, 1e120])
def test_features_of_any_size(size):
    X = RNG.normal(size=(N, 2)) * [size, 1.0]
    for method in (sd.ALE(bins=4), sd.PDP(grid=6), sd.MPlot(bins=4)):
        e = sd.explain(lambda X: X[:, 0] / size + X[:, 1], X, 0, method=method)
        checked(effect_svg.effect(e, ident="f"))


def odd(e, **change):
    """Return an effect with some arrays replaced."""
    return replace(e, **{k: f(np.array(getattr(e, k))) for k, f in change.items()})


X = RNG.normal(size=(N, 2))
GIVEN = [
    sd.explain(lambda X: X[:, 0] + X[:, 0] * X[:, 1], X, 0, method=m)
    for m in (sd.PDP(grid=7), sd.ALE(bins=6), sd.RHALE(), sd.MPlot(bins=5))
]


def some(value):
    """Return a function that sets the second element to a value."""

    def put(a):
        a[1] = value
        return a

    return put


@pytest.mark.parametrize("e", GIVEN, ids=lambda e: e.spec.method)
@pytest.mark.parametrize(
    "change",
    [
        {"value": lambda v: v * np.nan},
        {"value": lambda v: v * 1e305},
        {"value": some(np.nan)},
        {"value": some(np.inf)},
        {"value": some(-np.inf)},
        {"value": lambda v: v * 0 + 3.0},
        {"std_error": lambda v: v * np.nan},
        {"std_error": some(np.inf)},
        {"std_error": lambda v: v * 0},
        {"heterogeneity": lambda v: v * np.nan},
        {"heterogeneity": some(np.inf)},
        {"heterogeneity": lambda v: v + 1e300},
        {"df": lambda v: v * 0},
    ],
    ids=lambda c: next(iter(c)),
)
def test_numbers_that_are_none(e, change):
    changed = odd(e, **change)
    checked(effect_svg.effect(changed, ident="f"))
    checked(compare([changed, e], ident="c"))


def test_two_rows_and_a_million():
    few = np.array([[0.0, 1.0], [1.0, 3.0]])
    for m in (sd.ALE(), sd.PDP(), sd.MPlot(bins=2)):
        checked(
            effect_svg.effect(sd.explain(lambda X: X[:, 0] * X[:, 1], few, 0, method=m), ident="f")
        )
    many = RNG.normal(size=(1_000_000, 2))
    drawing = effect_svg.effect(
        sd.explain(lambda X: X[:, 0], many, 0, method=sd.ALE(bins=20)), ident="f"
    )
    assert "1,000,000 rows" in drawing.svg
    assert len(drawing.svg) < 40_000


def test_equal_idents_are_seen():
    e = GIVEN[0]
    one, two = (effect_svg.effect(e, ident=i) for i in ("f0", "f1"))
    idents = [set(re.findall(r' id="([^"]+)"', str(d.svg))) for d in (one, two)]
    assert idents[0]
    assert not idents[0] & idents[1]
