"""Figures: any input is drawn, without warnings and without changes of global state."""

from __future__ import annotations

import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import skedasis as sd
from skedasis.plots.mpl.effect import draw
from tests.plots.mpl_helpers import apart, drawn, fits

NAMES = [
    "x",
    r"$x^2_{\frac$ \alpha",
    "_private_",
    "<script>alert('x')</script> & more",
    "very long " * 40,
    "onewordwithoutanyplacewhereitcouldbebroken" * 5,
    " two\nlines\tand a tab ",
    "",
]


def model(X):
    return np.sin(3 * X[:, 0]) + X[:, 0] * X[:, 1]


def data(n=200, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))


METHODS = [sd.RHALE(), sd.UALE(), sd.DALE(bins=7), sd.ALE(bins=50), sd.PDP(), sd.ICE(grid=5)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method(method):
    figure = sd.explain(model, data(), 0, method=method).plot()
    assert isinstance(figure, Figure)
    texts = drawn(figure)
    assert method.name in texts
    assert "x0" in texts
    assert not any("nan" in t for t in texts)


HOSTILE = {
    "constant": lambda X: np.full(len(X), 3.0),
    "constant at zero": lambda X: np.zeros(len(X)),
    "two values": lambda X: np.where(X[:, 0] > 0, 1.0, 0.0),
    "three values": lambda X: np.round(X[:, 0]),
    "1e-9": lambda X: 1e-9 * X[:, 0],
    "1e12": lambda X: 1e12 * X[:, 0],
    "Unix time": lambda X: 1.7e9 + 86_400 * X[:, 0],
    "missing": lambda X: np.where(X[:, 0] > 0.5, np.nan, X[:, 0]),
    "a gap": lambda X: X[:, 0] + 50 * (X[:, 0] > 0),
    "an outlier": lambda X: np.where(np.arange(len(X)) == 0, 1e4, X[:, 0]),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize(
    "method", [sd.RHALE(), sd.DALE(bins=50), sd.ALE(bins=3), sd.PDP()], ids=str
)
def test_hostile_features(what, method):
    X = data(120)
    X[:, 0] = HOSTILE[what](X)
    scale = np.nanmax(np.abs(X[:, 0])) or 1.0
    e = sd.explain(lambda X: np.tanh(np.nan_to_num(X[:, 0]) / scale) * X[:, 1], X, 0, method=method)
    texts = drawn(e.plot())
    if what == "missing":
        assert any("with a missing value" in t for t in texts)
    if what == "Unix time":
        assert "x0 \N{MINUS SIGN} 1699900000 [×10³]" in texts
        assert all(len(t) < 12 for t in texts if t.replace(".", "").isdigit())


@pytest.mark.parametrize("rows", [1, 2, 3, 11])
@pytest.mark.parametrize("method", [sd.DALE(bins=4), sd.ALE(), sd.PDP()], ids=lambda m: m.name)
def test_few_rows(rows, method):
    drawn(sd.explain(model, data(rows), 0, method=method).plot())


@pytest.mark.parametrize("factor", [0.0, 1e-12, 1e12])
@pytest.mark.parametrize("method", [sd.DALE(bins=4), sd.PDP()], ids=lambda m: m.name)
def test_quantities_of_any_scale(factor, method):
    drawn(sd.explain(lambda X: factor * model(X), data(), 0, method=method).plot())


@pytest.mark.parametrize("name", NAMES)
def test_names_are_text_and_no_formulas(name):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({name: data()[:, 0], "other": data()[:, 1]})
    quantity = sd.prediction(lambda X: model(X.to_numpy()), name=name or "q", unit="$_^")
    es = sd.explain(quantity, X, method=sd.DALE(bins=4))
    figure = es[name].plot()
    drawn(figure)
    assert fits(figure)
    if name.startswith("$"):
        assert figure.axes[-1].get_xlabel() == name
    drawn(es.plot())


def test_unknown_numbers():
    """Values outside the data and errors of single rows are NaN, and gaps in the figure."""
    e = sd.explain(model, data(), 0, method=sd.DALE(bins=sd.Edges([-5, -3, -1, 0, 1, 4])))
    assert np.isnan(e.value).any()
    drawn(e.plot())
    nothing = np.full(len(e.x), np.nan)
    drawn(replace(e, std_error=nothing, heterogeneity=nothing).plot())
    drawn(replace(e, value=nothing, rows=None).plot())


def test_into_a_users_axes():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    e = sd.explain(model, data(), 0, method=sd.DALE(bins=4))
    assert e.plot(ax=left) is figure
    assert left.get_ylabel() == "effect on prediction"
    assert not right.has_data()
    assert draw(e, ax=right, legend=False) is figure
    drawn(figure)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("method", [sd.RHALE(), sd.PDP(grid=5)], ids=lambda m: m.name)
def test_many_features_on_shared_scales(n, method):
    X = np.random.default_rng(0).uniform(size=(60, n))
    if n > 2:
        X[:, 1] = 2.0
        X[3:9, 2] = np.nan
    es = sd.explain(lambda X: np.nan_to_num(X) @ np.arange(n), X, method=method)
    figure = es.plot()
    texts = drawn(figure)
    assert f"1. x{n - 1}" in texts
    mains = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert len(mains) == n
    assert len({ax.get_ylim() for ax in mains}) == 1
    others = [ax for ax in figure.axes if ax not in mains]
    assert len({ax.get_ylim() for ax in others}) <= 1
    if n > 2:
        assert any("6 rows with a missing value" in t for t in texts)


def test_order_and_choice():
    es = sd.explain(lambda X: X[:, 0] + 9 * X[:, 0] * X[:, 1], data(), method=sd.PDP(grid=5))
    (ax,) = es.plot(top=1, by="heterogeneity_score").axes
    first = es.ranking("heterogeneity_score")[0].feature
    assert ax.get_title(loc="left") == f"1. {first}"
    with pytest.raises(sd.DataError, match="'importance' or 'heterogeneity_score'"):
        es.plot(by="size")
    with pytest.raises(sd.DataError, match="no effect"):
        es.plot(top=0)


def test_notebooks_and_files(tmp_path):
    figure = sd.explain(model, data(), 0, method=sd.DALE(bins=4)).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    for kind in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"a.{kind}")
        assert (tmp_path / f"a.{kind}").stat().st_size > 1000


def test_nothing_global():
    before = dict(mpl.rcParams)
    pyplot = "matplotlib.pyplot" in sys.modules
    for _ in range(25):  # pyplot would warn about so many open figures
        sd.explain(model, data(30), 0, method=sd.DALE(bins=2)).plot()
    assert dict(mpl.rcParams) == before
    assert ("matplotlib.pyplot" in sys.modules) == pyplot


def test_counts_never_touch_whatever_the_width_of_the_figure():
    X = np.random.default_rng(0).normal(size=(400, 2))
    e = sd.explain(lambda X: X[:, 0] ** 2, X, 0, method=sd.ALE(bins=sd.Uniform(9)))
    for width in (4.0, 5.3, 6.8, 9.0):
        figure = e.plot(size=(width, 5.0))
        figure.draw_without_rendering()
        counts = [t for ax in figure.axes for t in ax.texts if t.get_text().startswith("n=")]
        assert apart(counts), width
    assert counts  # the widest figure has room for them
