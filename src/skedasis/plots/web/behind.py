"""The numbers behind pictures, and results that are nothing but numbers, as HTML tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from markupsafe import Markup

from skedasis.plots.numbers import number
from skedasis.plots.web.tables import records, table
from skedasis.results.ale_statistics import Statistics
from skedasis.results.checks.check import Trust
from skedasis.results.checks.variance_decomposition import Split
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.display import Ranking
from skedasis.results.effect import About, Effect
from skedasis.results.effects import Effects
from skedasis.results.frames import surface_table, table_of
from skedasis.results.importance import Importance
from skedasis.results.multi_model import (
    EffectOfModels,
    EffectsOfModels,
    ImportanceOfModels,
    SurfaceOfModels,
)
from skedasis.results.surface import Surface


@singledispatch
def numbers_of(result: Any) -> list[Markup]:
    """Return a result's numbers as tables.

    Parameters
    ----------
    result : Result

    Returns
    -------
    list of Markup
        Text from data or a model is escaped. Tables of more than `tables.LINES` lines say how many there are.
    """
    raise TypeError(f"no tables of a {type(result).__name__}")


@numbers_of.register
def _(effect: Effect) -> list[Markup]:
    about = effect.about
    parts = "level" if effect.levels is not None else "point"
    found = [
        table(f"The effect at each {parts}{_units(about)}", _without(table_of(effect, "effect")))
    ]
    if effect.bins is not None and len(effect.bins):
        parts = "step between levels" if effect.levels is not None else "bin"
        found.append(table(f"Each {parts}{_units(about)}", _telling(table_of(effect, "bins"))))
    if effect.missing_point is not None:
        found.append(table("Rows without a value", _without(table_of(effect, "missing"))))
    return found


def _units(about: About) -> str:
    """Return the units of a table, where they are known."""
    own, unit = about.feature.unit, about.unit
    said = [f"{about.feature.name} in {own}"] if own else []
    said += [f"{about.quantity} in {unit}"] if unit else []
    return f" ({', '.join(said)})" if said else ""


def _without(columns: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return columns without those that are the same in each line."""
    leave = (*names, "feature", "feature0", "feature1")
    return {name: column for name, column in columns.items() if name not in leave}


def _telling(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of bins or cells that tell something: often weights are counts, none is empty or bent."""
    leave = [name for name in ("empty", "trend") if name in columns and not np.any(columns[name])]
    leave += ["weight"] if np.array_equal(columns["weight"], columns["count"]) else []
    leave += ["trusted"] if "trusted" in columns and np.all(columns["trusted"]) else []
    return _without(columns, *leave)


@numbers_of.register
def _(effects: Effects) -> list[Markup]:
    return numbers_of(effects.ranking())


@numbers_of.register
def _(effects: EffectsOfModels) -> list[Markup]:
    return numbers_of(effects.ranking())


@numbers_of.register(Ranking)
def _(ranking: Ranking[Any]) -> list[Markup]:
    return [table("Most important first", records(ranking))] if ranking else []


@numbers_of.register
def _(surface: Surface) -> list[Markup]:
    of = "effect" if surface.cells is None else "cells"
    a, b = surface.features
    names = {"0": a, "1": b}
    found = surface_table(surface, of)
    columns = {
        f"{name[:-1]} of {names[name[-1]]}" if name[-1] in names else name: column
        for name, column in (_without(found) if of == "effect" else _telling(found)).items()
    }
    return [table("Each point" if of == "effect" else "Each cell", columns)]


@numbers_of.register
def _(importance: Importance) -> list[Markup]:
    return numbers_of(importance.ranking())


@numbers_of.register
def _(diagnosis: Diagnosis) -> list[Markup]:
    columns = diagnosis.table()
    verdicts = {name: columns.pop(name) for name in ("verdict", "text", "next")}
    return [
        table("Verdicts", {"feature": diagnosis.features, **verdicts}),
        table(f"Measures, with {100 * diagnosis.level:g} % intervals", columns),
    ]


@numbers_of.register
def _(found: ImportanceOfModels) -> list[Markup]:
    return numbers_of(found.ranking())


@numbers_of.register
def _(found: EffectOfModels | SurfaceOfModels) -> list[Markup]:
    columns = found.table()
    return [table("The mean over the models, with its interval", _without(columns))]


@numbers_of.register
def _(statistics: Statistics) -> list[Markup]:
    lines = list(statistics)
    columns: dict[str, Any] = {"feature": [s.feature for s in lines]}
    columns["ALED"] = [s.aled for s in lines]
    columns[f"{100 * statistics.level:g} % interval"] = [_ends(s.aled_interval) for s in lines]
    columns["noise"] = [s.noise for s in lines]
    columns["ALER"] = [_ends(s.aler) for s in lines]
    if any(not np.isnan(s.naled) for s in lines):
        columns |= {"NALED": [s.naled for s in lines], "NALER": [_ends(s.naler) for s in lines]}
    if any(not np.isnan(s.p_value) for s in lines):
        columns["p"] = [s.p_value for s in lines]
    columns["beyond noise"] = [not s.is_noise for s in lines]
    return [table(f"{statistics.method} statistics of {statistics.quantity}", columns)]


def _ends(ends: tuple[float, float]) -> str:
    return f"{number(ends[0])} to {number(ends[1])}"


@numbers_of.register
def _(trust: Trust) -> list[Markup]:
    return [table("Objections", records(trust, leave=("where", "numbers")))] if trust else []


@numbers_of.register
def _(split: Split) -> list[Markup]:
    names = ("left", "right", "count", "total", "within", "residual")
    columns: dict[str, Any] = {name: getattr(split, name) for name in names}
    columns |= {"share": split.share, "p": split.p_value, "p_adjusted": split.adjusted()}
    return [table("The variance in each bin, and what it consists of", columns)]
