"""Dictionaries of options: each names exactly what its figure takes, with the same types, and is what methods take."""

from __future__ import annotations

import inspect
import typing
from dataclasses import fields

import pytest

import skedasis as sd
from skedasis.plots import plot
from skedasis.plots.figures.change import change_figure
from skedasis.plots.figures.compare import compare_figure
from skedasis.plots.figures.containers import (
    changes_figure,
    outputs_figure,
    recurrences_figure,
    surfaces_figure,
)
from skedasis.plots.figures.diagnosis import diagnosis_figure
from skedasis.plots.figures.drift import drift_figure
from skedasis.plots.figures.effect_difference import effect_difference_figure
from skedasis.plots.figures.factors import factors_figure, rating_table_figure
from skedasis.plots.figures.importance import importance_figure
from skedasis.plots.figures.interactions import heatmap_figure, network_figure
from skedasis.plots.figures.models import models_figure, models_importance_figure
from skedasis.plots.figures.multiples import effects_figure, models_effects_figure
from skedasis.plots.figures.options import EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.figures.regions import regions_overview_figure
from skedasis.plots.figures.surface import SurfacePlotOptions
from skedasis.plots.figures.variance_shares import variance_shares_figure
from skedasis.plots.figures.weak_spots import weak_spots_figure
from skedasis.results import described, keywords, signatures


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
    # None, a default, is no height of curves.
    return kind.replace('"', "'").replace("CurveScale | None", "CurveScale")


@pytest.mark.parametrize(
    ("named", "function", "own"),
    [
        (keywords.SurfaceViewKeywords, SurfacePlotOptions, set()),
        (keywords.SideBySideKeywords, surfaces_figure, {"found", "page", "options", "limits"}),
        (keywords.SideBySideKeywords, recurrences_figure, {"found", "page"}),
        (keywords.OutputsViewKeywords, outputs_figure, {"found", "of_output", "page"}),
        (keywords.DiagnosisViewKeywords, diagnosis_figure, {"diagnosis"}),
        (keywords.DifferenceViewKeywords, effect_difference_figure, {"difference"}),
        (keywords.FactorsViewKeywords, factors_figure, {"found"}),
        (keywords.RatingTableViewKeywords, rating_table_figure, {"found", "page"}),
        (keywords.LevelKeywords, variance_shares_figure, {"variance_shares"}),
        (keywords.LevelKeywords, weak_spots_figure, {"found"}),
        (keywords.StrongestKeywords, heatmap_figure, {"found"}),
        (keywords.StrongestKeywords, network_figure, {"found"}),
        (keywords.BarKeywords, importance_figure, {"importance"}),
        (keywords.ModelsViewKeywords, models_figure, {"found"}),
        (keywords.ModelImportanceViewKeywords, models_importance_figure, {"found"}),
        (keywords.AllModelsViewKeywords, models_effects_figure, {"found", "page"}),
        (keywords.ChangeViewKeywords, change_figure, {"change"}),
        (keywords.DriftViewKeywords, drift_figure, {"drift"}),
        (keywords.ChangesViewKeywords, changes_figure, {"found"}),
        (keywords.RegionsViewKeywords, RegionsPlotOptions, set()),
        (keywords.SplitKeywords, regions_overview_figure, {"found"}),
        (keywords.CompareViewKeywords, compare_figure, {"results"}),
        (keywords.MultiplesKeywords, effects_figure, {"effects", "options", "page"}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_keywords_are_those_of_the_figure(named, function, own):
    """A type checker accepts what the figure takes."""
    given, taken = kinds(named), parameters(function)
    assert given == {name: kind for name, kind in taken.items() if name not in own}


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


DRAWN = [
    value
    for name in sd.__all__
    if inspect.isclass(value := getattr(sd, name)) and hasattr(value, "explore")
]


@pytest.mark.parametrize("result", DRAWN, ids=lambda r: r.__name__)
def test_plot_takes_the_options_of_every_figure_and_all_those_of_a_page(result):
    of_plot = set(inspect.signature(result.plot).parameters)
    of_page = set(inspect.signature(result.explore).parameters)
    assert set(kinds(keywords.FigureKeywords)) <= of_plot
    assert of_page - {"path"} <= of_plot
    # What a page does not take: where a figure is drawn, and how it looks by matplotlib.
    ways = {"ax", "axes", "page", "color", *kinds(keywords.FigureKeywords)}
    view = of_plot - of_page - ways
    assert view == ({"kind"} if result is sd.Effects else set())


def test_texts_of_options_are_in_the_help_of_methods():
    for name, text in described.texts_below(keywords.__name__)["EffectViewKeywords"].items():
        assert f"\n{name} : " in sd.Effect.plot.__doc__
        assert " ".join(text.split()) in " ".join(sd.Effect.plot.__doc__.split())
    assert "As in `plot`" in sd.Effect.explore.__doc__
    assert sd.Effect.to_frame.__doc__.count("backend : ") == 1
    assert sd.Regions.to_frame.__doc__.count("UnsupportedError") == 1


def test_sections_of_docstrings_are_in_their_order_and_entries_in_that_of_the_signature():
    text = """Say it.

    Parameters
    ----------
    b : int
        Second.

    Raises
    ------
    ValueError
        Seldom.
    """
    entries, shared = (
        ["a : int\n    First."],
        {"Returns": "int", "Raises": "ValueError\n    Often."},
    )
    assert signatures.documented(text, entries, shared, ["a", "b"]) == (
        "Say it.\n\nParameters\n----------\na : int\n    First.\nb : int\n    Second.\n\n"
        "Returns\n-------\nint\n\nRaises\n------\nValueError\n    Often.\n    Seldom."
    )
