"""The table of what is drawn: one row is enough for `plot`, `explore` and notebooks; refusals name what was called."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots import kinds
from skedasis.plots.figures.importance import importance_figure
from skedasis.results import operations
from tests.made_results import every_result

DRAWN = [name for name, result in every_result().items() if hasattr(result, "explore")]


@dataclass(frozen=True)
class Weights:
    """A result of another package."""

    values: tuple[float, ...]


def weights_figure(found, *, top=None):
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
    monkeypatch.setattr(kinds.html, "numbers_of", lambda found: [])
    found = Weights((3.0, 1.0, 2.0))
    (axes,) = operations.plot(found, title="Weights", top=2).axes
    assert axes.get_title(loc="left") == "Weights"
    assert [t.get_text() for t in axes.get_yticklabels()] == ["w2", "w0"]
    page = operations.explore(found, tmp_path / "weights.html", None)
    assert (tmp_path / "weights.html").read_text("utf-8") == page.html
    assert "3 weights." in page.html
    assert page.html.count("w1") > 0
    static = operations.notebook_html(found)
    assert ">w2<" in static
    assert ">w1<" not in static


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
    for option, value in (("top", "x"), ("columns", 0), ("confidence_level", 2), ("kind", "x")):
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

    assert panels("Regions") == len(found["Regions"]) + 1
    assert panels("Regions", scores=False) == len(found["Regions"])
    assert panels("Surfaces", top=1) == panels("Surfaces") / 2
    assert "Heat map of H² unnormalized of 1 pair." in found["Interactions"].explore(top=2).html
