"""From the effects of many features to a figure: small multiples on shared scales, largest first, at most 20 a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from skedasis._arguments import check_int, check_int_or_none
from skedasis._numbers import counted, number, number_or_zero
from skedasis.errors import DataError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.effect import effect_panels
from skedasis.plots.figures.effect_parts import LONG
from skedasis.plots.figures.effect_texts import alt_text, heterogeneity_text
from skedasis.plots.figures.models import models_figure
from skedasis.plots.figures.observed import observed_text
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import FigureSpec, Heat, Mark, Panel, Points, Title, legend_of
from skedasis.plots.scales import clean, shorten
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.keywords import CurveScale, IntervalTarget, RankedBy
from skedasis.results.multi_model import ModelsRank, MultiModelEffect, MultiModelEffects

PER_PAGE = 20
"""Most features in one figure."""

MAIN, LOWER = 163.0, 114.0
"""Heights of the panels."""

LABEL = 70
"""Most characters of a legend entry that stands for two."""


def effects_figure(
    effects: Mapping[str, Effect],
    by: RankedBy = "importance",
    top: int | None = PER_PAGE,
    columns: int | None = None,
    lower: bool = True,
    options: EffectPlotOptions | None = None,
    page: int | None = 1,
) -> FigureSpec:
    """Return the figure of many effects on shared scales, the largest first."""
    options = EffectPlotOptions(curves=60) if options is None else options
    options = replace(options, histogram=False, values=None)
    found = [effects[r.feature] for r in _largest(Effects(dict(effects)).ranking(by), top)]
    each: list[FigureSpec] = []
    for place, effect in enumerate(found):
        main, *below = effect_panels(effect, options)
        alt = " ".join(
            filter(None, [alt_text(effect, main), observed_text(effect, options, main.x)])
        )
        below = [replace(p, height=LOWER, above=()) for p in below if p.kind == "detail" and lower]
        title = str(effect_title(effect))
        main = headed(main, place, effect.feature_title, _notes(effect, main, options), len(below))
        each.append(FigureSpec(((main, *below),), title, alt))
    order = effect_parts.legend_order([p for f in each for p in f.panels])
    what = f"effects on shared scales, ordered by {by.replace('_', ' ')}"
    title = effect_title(*found, of=features_text(len(found)))
    scaled = on_shared_scales([replace(f, order=order) for f in each])
    return page_of(scaled, title, what, len(effects), columns, page)


def models_effects_figure(
    found: MultiModelEffects,
    by: RankedBy = "importance",
    top: int | None = PER_PAGE,
    columns: int | None = None,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
    page: int | None = 1,
    scale: CurveScale = "difference",
) -> FigureSpec:
    """Return the figure of effects of many features for several models on shared scales, the largest first."""
    each: list[FigureSpec] = []
    shown = _largest(found.ranking(by), top)
    for place, rank in enumerate(shown):
        one = found[rank.feature]
        figure = models_figure(one, confidence_level, of, scale)
        main = headed(figure.main, place, one.feature_title, _rank_notes(rank, one))
        each.append(replace(figure, stacks=((main,),)))
    first = [found[rank.feature].models[0] for rank in shown]
    models = counted(len(found[shown[0].feature]), "model")
    what = f"effects for {models} on shared scales, ordered by {by.replace('_', ' ')}"
    title = effect_title(*first, of=features_text(len(shown)), among=models)
    return page_of(on_shared_scales(each), title, what, len(found), columns, page)


def features_text(n: int) -> str:
    """Return the number of features as the beginning of a title; nothing for one, which has its name there."""
    return counted(n, "feature") if n > 1 else ""


# --- one figure per feature ----------------------------------------------------------------------

Ranked = TypeVar("Ranked")


def _largest(ranks: Sequence[Ranked], top: int | None) -> Sequence[Ranked]:
    top = check_int_or_none("plot(top)", top, 1, "Use 20, or None")
    if not ranks:
        raise DataError("plot", "no effect", "at least one effect", "Explain one or more features")
    return ranks[:top]


def headed(main: Panel, place: int, feature: str, notes: Sequence[str], below: int = 0) -> Panel:
    """Return the panel with its feature as title, and legend entries that do not depend on its rows."""
    marks = [
        replace(m, label="missing values") if isinstance(m, Points) and m.style == "missing" else m
        for m in main.marks
    ]
    tooltips = tuple(replace(t, below=min(t.below, below)) for t in main.tooltips)
    return replace(
        main,
        title=Title(f"{place + 1}. {shorten(feature, LONG)}"),
        notes=tuple(notes),
        marks=tuple(marks),
        above=(),
        height=MAIN,
        tooltips=tooltips,
    )


def _notes(effect: Effect, main: Panel, options: EffectPlotOptions) -> tuple[str, ...]:
    """Return importance, heterogeneity score, and what is not shown."""
    shown, points = len(effect_parts.average_of(main).x), len(effect.axis)
    left_out = isinstance(effect.axis, LevelAxis) and points > shown
    return (
        f"importance {number(effect.importance)}",
        heterogeneity_text(effect),
        *((f"{shown} of {points:,} levels",) if left_out else ()),
        *effect_parts.remarks(effect),
        *effect_parts.no_spread(effect, options),
    )


def _rank_notes(rank: ModelsRank, found: MultiModelEffect) -> tuple[str, ...]:
    """Return the importance with its variation between models, and its rank."""
    between = number_or_zero(rank.between, rank.importance)
    return (
        f"importance {number(rank.importance)} ± {between}",
        f"rank 1 in {rank.first} of {len(found)} models",
    )


# --- many figures on the same scales -------------------------------------------------------------


def on_shared_scales(each: Sequence[FigureSpec]) -> tuple[FigureSpec, ...]:
    """Return figures of one stack each with the same vertical axes and legend, for a page that arranges them.

    Slopes per unit of different features are not comparable: each panel of them has a scale of its own.
    """
    mains = [f.main.y for f in each]
    shared = len({(y.name, y.unit) for y in mains}) == 1
    found: list[FigureSpec] = []
    labels = _merged_labels([p for f in each for p in f.panels])
    for figure in each:
        main, *below = figure.stacks[0]
        stack = [replace(main, y=main.y.spanning(mains)) if shared else main]
        named = tuple(replace(p, marks=relabelled(p.marks, labels)) for p in (*stack, *below))
        order = tuple(labels.get(label, label) for label in figure.order)
        found.append(replace(figure, stacks=(named,), small=True, shared=shared, order=order))
    return tuple(found)


def _merged_labels(panels: Sequence[Panel]) -> dict[str, str]:
    """Return new labels for legend entries that look the same, such as of slopes and of level differences."""
    same: dict[object, list[str]] = {}
    for key in legend_of(panels):
        same.setdefault(key.parts, []).append(key.label)
    both = {
        label: " or ".join(dict.fromkeys(labels)) for labels in same.values() for label in labels
    }
    return {label: merged for label, merged in both.items() if len(merged) <= LABEL}


def relabelled(marks: Sequence[Mark], labels: Mapping[str, str]) -> tuple[Mark, ...]:
    """Return marks with other legend entries."""
    return tuple(
        m if isinstance(m, Heat) else replace(m, label=labels.get(m.label, m.label)) for m in marks
    )


def page_of(
    each: Sequence[FigureSpec],
    title: Title,
    what: str,
    total: int,
    columns: int | None = None,
    page: int | None = 1,
    notes: Sequence[str] = (),
) -> FigureSpec:
    """Return one figure of at most `PER_PAGE` figures on shared scales."""
    found = side_by_side(each, title, "feature", total, columns=columns, page=page, width=100.0)
    names = ", ".join(shorten(main.x.name, 40) for main, *_ in found.stacks)
    return replace(
        found,
        alt=f"{len(found.stacks)} {what}: {names}.",
        shared=all(f.shared for f in each),
        small=True,
        notes=(*notes, *found.notes),
    )


def named(name: str, figure: FigureSpec) -> FigureSpec:
    """Return a figure with a name as its title, and before its alternative text."""
    heading = shorten(clean(name), LONG)
    (main, *below), *others = figure.stacks
    stacks = (replace(main, title=Title(heading)), *below), *others
    return replace(figure, stacks=stacks, title=heading, alt=f"{heading}: {figure.alt}")


def side_by_side(
    each: Sequence[FigureSpec],
    title: Title,
    noun: str,
    total: int,
    *,
    columns: int | None = None,
    page: int | None = 1,
    width: float = 150.0,
) -> FigureSpec:
    """Return one figure of at most `PER_PAGE` figures of one stack or more."""
    columns = check_int_or_none("plot(columns)", columns, 1, "Use 3, or None")
    shown, notes = paged(each, page, noun, total)
    stacks = [stack for f in shown for stack in f.stacks]
    titles = [t for f in shown for t in (f.title, *(str(s[0].title) for s in f.stacks[1:]))]
    if len(each) == 1:
        (main, *below), *_ = stacks
        stacks[0], titles[0] = (replace(main, title=title), *below), str(title)
    alone, alts = len(stacks) == len(shown), tuple(f.alt for f in shown)
    return FigureSpec(
        tuple(stacks),
        str(title),
        " ".join(alts),
        columns=columns or columns_for(len(stacks)),
        column_width=width if columns is None else 0.0,  # a given number of columns stays
        small=len(stacks) > 1,
        heading=title if len(each) > 1 else Title(),
        notes=tuple(notes),
        order=tuple(dict.fromkeys(label for f in shown for label in f.order)),
        stack_titles=tuple(titles),
        stack_alts=alts if alone else (),
        noun=noun if alone else "panel",
    )


def paged(
    each: Sequence[Ranked], page: int | None, noun: str, total: int
) -> tuple[Sequence[Ranked], list[str]]:
    """Return the figures of a page, all for None, with notes on what it leaves out and how that is drawn."""
    if page is None:
        return each, [f"{len(each):,} of {counted(total, noun)}"] if len(each) < total else []
    pages = max(math.ceil(len(each) / PER_PAGE), 1)
    page = check_int("plot(page)", page, 1, "Use 1")
    if page > pages:
        fix = f"Pass top=None for pages of all {noun}s"
        raise DataError("plot(page)", str(page), f"at most {pages}", fix)
    left_out = len(each) < total
    some = "all in pages" if total > PER_PAGE else "all"
    notes = [f"{len(each):,} of {counted(total, noun)}, {some} with top=None"] if left_out else []
    after = f", the next with page={page + 1}" if page < pages else ""
    notes += [f"page {page} of {pages}{after}"] if pages > 1 else []
    return (each if pages == 1 else each[PER_PAGE * (page - 1) : PER_PAGE * page]), notes


def columns_for(n: int) -> int:
    """Return the number of columns of a roughly square grid of n panels."""
    return next((c for c, most in ((1, 1), (2, 4), (3, 9), (4, 16)) if n <= most), 5)
