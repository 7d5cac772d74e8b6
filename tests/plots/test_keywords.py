"""Keywords of `plot()` for type checkers: each dictionary names exactly what its figure takes, with the same types."""

from __future__ import annotations

import inspect
import typing
from dataclasses import fields

import pytest

from skedasis.plots import keywords, plot
from skedasis.plots.figures.compare import compare_figure
from skedasis.plots.figures.diagnosis import diagnosis_figure
from skedasis.plots.figures.importance import importance_figure
from skedasis.plots.figures.interactions import heatmap_figure, network_figure
from skedasis.plots.figures.models import models_figure, models_importance_figure
from skedasis.plots.figures.multiples import effects_figure, models_effects_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.surface import SurfacePlotOptions
from skedasis.plots.figures.variance_shares import variance_shares_figure

SAME = {"Zero": "Literal['mean'] | None"}
"""Names of types in figure functions, and what they stand for."""


def kinds(named: type) -> dict[str, str]:
    """Return the name and the type of each key."""
    return {
        name: _plain(kind.__forward_arg__ if isinstance(kind, typing.ForwardRef) else str(kind))
        for name, kind in named.__annotations__.items()
    }


def parameters(function: object) -> dict[str, str]:
    """Return the name and the type of each parameter of a function, or field of a dataclass."""
    if isinstance(function, type):
        return {f.name: _plain(str(f.type)) for f in fields(function)}
    found = inspect.signature(function).parameters.values()  # pyright: ignore[reportArgumentType]
    return {p.name: _plain(str(p.annotation)) for p in found}


def _plain(kind: str) -> str:
    kind = SAME.get(kind, kind)
    return kind.replace('"', "'")


@pytest.mark.parametrize(
    ("named", "function", "own"),
    [
        (keywords.SurfaceViewKeywords, SurfacePlotOptions, set()),
        (keywords.DiagnosisKeywords, diagnosis_figure, {"diagnosis"}),
        (keywords.VarianceSharesViewKeywords, variance_shares_figure, {"variance_shares"}),
        (keywords.InteractionsViewKeywords, heatmap_figure, {"found"}),
        (keywords.InteractionsViewKeywords, network_figure, {"found"}),
        (keywords.BarKeywords, importance_figure, {"importance"}),
        (keywords.ModelsViewKeywords, models_figure, {"found"}),
        (keywords.ModelImportanceViewKeywords, models_importance_figure, {"found"}),
        (keywords.AllModelsViewKeywords, models_effects_figure, {"found"}),
        (keywords.CompareViewKeywords, compare_figure, {"results"}),
        (keywords.MultiplesKeywords, effects_figure, {"effects", "options"}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_keywords_are_those_of_the_figure(named, function, own):
    """A type checker accepts what the figure takes."""
    given, taken = kinds(named), parameters(function)
    shared = set(kinds(keywords.FigureKeywords))
    mine = {name: kind for name, kind in given.items() if name not in shared}
    assert set(mine) == set(taken) - own
    # All figures of pages are one page.
    pages = {"page"} if "page" in mine else set()
    assert {n: k for n, k in mine.items() if n not in pages} == {
        n: k for n, k in taken.items() if n in mine and n not in pages
    }


def test_keywords_of_effects_are_the_options_of_effects():
    view, options = kinds(keywords.EffectViewKeywords), parameters(EffectPlotOptions)
    # Pages choose the number of levels; `plot` accepts a colour in place of values.
    assert set(view) == set(options) - {"most_levels"}
    different = {name for name in view if view[name] != options[name]}
    assert different == {"color"}
    many = kinds(keywords.EffectsViewKeywords)
    alone = set(many) - set(kinds(keywords.MultiplesKeywords))
    assert {n: many[n] for n in alone} == {n: options[n] for n in alone}


def test_options_of_every_figure():
    every = parameters(plot.FigureOptions)
    color = {"color": every.pop("color")}
    assert kinds(keywords.FigureKeywords) == every
    with_color = kinds(keywords.ColoredKeywords)
    assert {n: k for n, k in with_color.items() if n not in every} == {"color": f"{color['color']}"}


@pytest.mark.parametrize(
    ("named", "method"),
    [
        (keywords.EffectKeywords, plot.plot_effect),
        (keywords.EffectsKeywords, plot.plot_effects),
        (keywords.SurfaceKeywords, plot.plot_surface),
        (keywords.ImportanceKeywords, plot.plot_importance),
        (keywords.DiagnosisKeywords, plot.plot_diagnosis),
        (keywords.VarianceSharesKeywords, plot.plot_variance_shares),
        (keywords.InteractionsKeywords, plot.plot_interactions),
        (keywords.ModelsKeywords, plot.plot_models),
        (keywords.AllModelsKeywords, plot.plot_all_models),
        (keywords.ModelImportanceKeywords, plot.plot_models_importance),
        (keywords.CompareKeywords, plot.compare),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_every_method_takes_its_keywords_and_the_options_of_every_figure(named, method):
    # A public function lists the keywords in its signature instead.
    assert method.__annotations__["given"] == f"Unpack[keywords.{named.__name__}]"
    assert set(kinds(keywords.FigureKeywords)) <= set(kinds(named))
