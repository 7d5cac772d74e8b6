"""The table of what is drawn: one row is enough for `plot`, `explore` and notebooks; refusals name what was called."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Literal, Unpack

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots import kinds
from skedasis.plots.figures.importance import importance_figure
from skedasis.results import keywords, operations
from skedasis.results.containers import ResultMapping
from skedasis.results.display import SavedResult
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import takes_figure_options
from tests.made_results import every_result

DRAWN = [name for name, result in every_result().items() if hasattr(result, "explore")]


class WeightsKeywords(keywords.FigureKeywords, total=False):
    """Options of another package."""

    top: int | None
    """Most weights."""
    order: Order
    """Which weights come first."""


Order = Literal["largest", "first"]


@dataclass(frozen=True)
class Weights(SavedResult):
    """A result of another package."""

    values: tuple[float, ...]
    provenance: Provenance = field(default_factory=no_provenance)

    def table(self):
        return {"weight": list(self.values)}

    @takes_figure_options
    def plot(self, **options: Unpack[WeightsKeywords]):
        """Draw the weights."""
        return operations.plot(self, **options)


class WeightsByCity(ResultMapping[str, Weights]):
    """A container of another package."""


def weights_figure(found, *, top=None, order="largest"):
    n = len(found.values)
    names = tuple(f"w{i}" for i in range(n))
    each = np.array(found.values)[:, None]
    ones = np.ones(n)
    return importance_figure(sd.Importance(names, each, 0.1 * ones, 9 * ones, 0.5, 10), top=top)


def test_a_row_is_all_that_a_kind_of_result_needs(monkeypatch, tmp_path):
    row = kinds.DrawnKind[Weights](
        figure=weights_figure, lead=lambda w: f"{len(w.values)} weights.", in_notebook={"top": 2}
    )
    monkeypatch.setitem(kinds.KINDS, Weights, row)
    found = Weights((3.0, 1.0, 2.0))
    (axes,) = operations.plot(found, title="Weights", top=2).axes
    assert axes.get_title(loc="left") == "Weights"
    assert [t.get_text() for t in axes.get_yticklabels()] == ["w2", "w0"]
    page = operations.explore(found, tmp_path / "weights.html", None)
    assert (tmp_path / "weights.html").read_text("utf-8") == page.html
    assert "3 weights." in page.html
    assert page.html.count("w1") > 0
    assert ">3.00<" in page.html
    static = operations.notebook_html(found)
    assert ">w2<" in static
    assert ">w1<" not in static


def test_a_result_that_is_not_drawn_is_a_table_in_notebooks():
    weights = Weights((3.0, 1.25))
    assert ">1.25<" in weights._repr_html_()
    assert weights.to_frame("pandas")["weight"].tolist() == [3.0, 1.25]
    shown = WeightsByCity({"Rome": weights, "Oslo": Weights((7.5,))})._repr_html_()
    assert all(f">{text}<" in shown for text in ("Rome", "Oslo", "1.25", "7.50"))
    assert "WeightsByCity of 0 members" in WeightsByCity({})._repr_html_()


def test_a_result_of_another_package_is_drawn_beside_those_of_other_outputs(monkeypatch):
    row = kinds.DrawnKind[Weights](figure=weights_figure, as_output={"top": None})
    found = sd.MultiOutput({"a": Weights((3.0, 1.0)), "b": Weights((2.0, 4.0))})
    with pytest.raises(sd.UnsupportedError, match=r"^MultiOutput\.plot: got members of class Weig"):
        found.plot()
    monkeypatch.setitem(kinds.KINDS, Weights, row)
    shown = [[t.get_text() for t in axes.get_yticklabels()] for axes in found.plot(top=1).axes]
    assert shown == [["w0"]]
    shown = [[t.get_text() for t in axes.get_yticklabels()] for axes in found.plot().axes]
    assert shown == [["w1", "w0"], ["w0", "w1"]]


def test_options_of_a_result_of_another_package_are_its_own(monkeypatch):
    monkeypatch.setitem(kinds.KINDS, Weights, kinds.DrawnKind[Weights](figure=weights_figure))
    found = Weights((3.0, 1.0, 2.0))
    assert found.plot(top=1, order="first", title="Weights").axes
    with pytest.raises(sd.DataError, match=r"^Weights\.plot\(order\): got 'x', expected 'largest'"):
        found.plot(order="x")
    with pytest.raises(
        sd.UnsupportedError, match=r"^Weights\.plot\(\): got an unexpected keyword .* top, order"
    ):
        found.plot(cmap="x")
    text = Weights.plot.__doc__
    assert 'order : {"largest", "first"}\n    Which weights come first.' in text
    assert "top : int or None\n    Most weights." in text


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("method", ["plot", "explore"])
def test_a_refusal_names_the_method_that_was_called(name, method):
    called = getattr(every_result()[name], method)
    with pytest.raises(
        TypeError, match=rf"^{name}\.{method}\(\): got an unexpected keyword argument"
    ):
        called(nonsense=1)
    with pytest.raises(ValueError, match=rf"^{name}\.{method}\(title\): got 5, expected a text"):
        called(title=5)
    wrong = {"by": "x", "features": 0, "measure": "x", "of": "x", "center": "x", "empty": "x"}
    wrong |= {"band": "x", "ice": True, "xscale": "x", "confidence_level": "a", "kind": "x"}
    for option, value in (*wrong.items(), ("top", "x"), ("columns", 0), ("confidence_level", 2)):
        if option in inspect.signature(called).parameters:
            with pytest.raises(ValueError, match=rf"^{name}\.{method}\({option}\): got"):
                called(**{option: value})


@pytest.mark.parametrize("kind", ["effects", "overview"])
def test_axes_of_effects_are_one_for_each_or_one_for_the_overview(kind):
    from matplotlib.figure import Figure

    effects = every_result()["Effects"]
    axes = list(Figure().subplots(1, len(effects)))
    passed, refused = {"axes": axes}, {"ax": axes[0]}
    if kind == "overview":
        passed, refused = refused, passed
    assert effects.plot(kind=kind, **passed) is axes[0].figure
    for one in (effects, sd.Effects({"x0": effects["x0"]})):
        given = {"axes": axes[: len(one)]} if "axes" in refused else refused
        with pytest.raises(
            sd.DataError, match=re.escape(f"Effects.plot({next(iter(refused))}): got axes")
        ):
            one.plot(kind=kind, **given)


def test_a_page_takes_the_options_of_the_figure():
    found = every_result()

    def panels(name, **options):
        return found[name].explore(**options).html.count("<clipPath")

    assert panels("Regions") == 2 * len(found["Regions"])
    assert panels("Regions", scores=False) == len(found["Regions"])
    assert panels("Surfaces", top=1) == panels("Surfaces") / 2
    assert (
        "Heat map of size of the interaction of 1 pair."
        in found["Interactions"].explore(top=2).html
    )


def test_panels_of_a_page_are_arranged_by_its_width():
    """On a phone below one another, each with its own drawing, then the legend."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    found = sd.regions(lambda X: X[:, 0] * np.sign(X[:, 2]), X, "x0")
    page = found.explore().html
    tiles = page.split('<ul class="skd-gallery">')[1].split("</ul>")[0]
    assert tiles.count("<svg") >= len(found) == 2
    boxes = re.findall(r'<svg [^>]*class="skd[^"]*" viewBox="0 0 ([\d.]+)', page)
    assert len(boxes) == tiles.count("<svg") + 1
    assert max(map(float, boxes)) < 480
