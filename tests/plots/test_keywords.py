"""Keywords of `plot()` for type checkers: each dictionary names exactly the keywords of its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from skedasis.plots import keywords
from skedasis.plots.mpl import effect, importance, multi_model, surface


@pytest.mark.parametrize(
    ("named", "draw", "own"),
    [
        (keywords.EffectKeywords, effect.draw, {"effect", "ax"}),
        (keywords.EffectsKeywords, effect.draw_all, {"effects"}),
        (keywords.SurfaceKeywords, surface.draw_surface, {"surface", "ax"}),
        (keywords.ImportanceKeywords, importance.draw_importance, {"importance"}),
        (keywords.DiagnosisKeywords, importance.draw_diagnosis, {"diagnosis"}),
        (keywords.ModelsKeywords, multi_model.draw_models, {"found", "ax"}),
        (keywords.AllModelsKeywords, multi_model.draw_all_models, {"found"}),
        (keywords.ModelImportanceKeywords, multi_model.draw_importances, {"found", "ax"}),
    ],
)
def test_keywords_are_those_of_the_function(
    named: type, draw: Callable[..., object], own: set[str]
) -> None:
    """A type checker accepts what the function accepts."""
    parameters = inspect.signature(draw).parameters
    assert set(named.__annotations__) == set(parameters) - own
    assert {name: parameters[name].annotation for name in named.__annotations__} == {
        name: kind.__forward_arg__ for name, kind in named.__annotations__.items()
    }
