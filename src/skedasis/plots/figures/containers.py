"""From results that contain results to figures: the surfaces of several pairs, and the results of several outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from skedasis._arguments import check_flag, check_int_or_none, check_probability
from skedasis._numbers import counted, percent
from skedasis._types import OutputLabel
from skedasis.errors import DataError
from skedasis.plots.figures.calibration import calibrations_figure
from skedasis.plots.figures.change import (
    NAME,
    MeanChange,
    change_figure,
    change_notes,
    changes_title,
    mean_changes,
    means_figure,
)
from skedasis.plots.figures.compare import MOST, overlay_figure, overlays, unlabelled
from skedasis.plots.figures.multiples import PER_PAGE, features_text, named, side_by_side
from skedasis.plots.figures.observed import shared_labels
from skedasis.plots.figures.regions import recurrence_figure
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.figures.titles import surface_title
from skedasis.plots.marks import FigureSpec, Heat, Title
from skedasis.plots.scales import PlotAxis, clean, distinct_names, shorten
from skedasis.results.calibration import Calibration
from skedasis.results.change import Change, Changes
from skedasis.results.effect import Effect
from skedasis.results.effect_words import TIMES
from skedasis.results.effects import Effects
from skedasis.results.multi_model import MultiModelEffects, MultiModelSurface
from skedasis.results.multi_output import OutputResult, ResultsByLabel
from skedasis.results.regions import MultiModelRegionsByFeature, Regions
from skedasis.results.surface import Surface
from skedasis.results.surfaces import AnySurface, Surfaces
from skedasis.results.variance_shares import VarianceShares
from skedasis.results.weak_spots import WeakSpots

if TYPE_CHECKING:
    from skedasis.results.keywords import ChangeFigure, CurveScale, Zero


Kind = TypeVar("Kind")


# --- surfaces -------------------------------------------------------------------------------------


def surfaces_figure(
    found: Mapping[tuple[str, str], AnySurface],
    top: int | None = PER_PAGE,
    columns: int | None = None,
    page: int | None = 1,
    options: SurfacePlotOptions | None = None,
    limits: tuple[float, float] | None = None,
) -> FigureSpec:
    """Return heat maps of several pairs on one colour scale, the strongest interaction first."""
    top = check_int_or_none("plot(top)", top, 1, "Use 12, or None")
    if not found:
        raise DataError("plot", "no pair", "at least one pair", "Explain some pairs")
    ranks = Surfaces(found).ranking()[:top]
    shown = [_one_surface(found[r.feature0, r.feature1]) for r in ranks]
    options = SurfacePlotOptions(density=False) if options is None else options
    limits = _shared_limits(shown, options) if limits is None else limits
    each: list[FigureSpec] = []
    for i, (rank, surface) in enumerate(zip(ranks, shown, strict=True)):
        name = f"{i + 1}. {rank.feature0}{TIMES}{rank.feature1}"
        each.append(named(name, surface_figure(surface, options, limits=limits)))
    title = surface_title(*shown, of=counted(len(shown), "pair") if len(shown) > 1 else "")
    return side_by_side(each, title, "pair", len(found), columns=columns, page=page)


def _one_surface(surface: AnySurface) -> Surface:
    return surface if isinstance(surface, Surface) else surface.mean()


def _shared_limits(
    surfaces: Sequence[Surface], options: SurfacePlotOptions
) -> tuple[float, float] | None:
    """Return the ends of one colour scale; None if the surfaces are in different units."""
    if len({(s.about.unit, s.includes_main_effects) for s in surfaces}) != 1:
        return None
    scales = [surface_figure(s, options).panels[1].x for s in surfaces]
    return min(a.least for a in scales), max(a.most for a in scales)


# --- changes --------------------------------------------------------------------------------------


def changes_figure(
    found: Changes,
    *,
    kind: ChangeFigure | None = None,
    confidence_level: float = 0.95,
    top: int | None = PER_PAGE,
    columns: int | None = None,
) -> FigureSpec:
    """Return one dot per named move and region, or a histogram of the changes of rows for each move."""
    level = check_probability("plot(confidence_level)", confidence_level)
    check_int_or_none("plot(columns)", columns, 1, "Use 3, or None")
    if not found:
        raise DataError("plot", "no change", "at least one named move", "Name some moves")
    largest = {
        line.name
        for line in found.ranking()[: check_int_or_none("plot(top)", top, 1, "Use 12, or None")]
    }
    shown = {name: c for name, c in found.items() if name in largest}
    first = next(iter(shown.values()))
    title = changes_title(list(shown.values()))
    if kind == "rows":
        each = [
            named(name, change_figure(c, kind="rows", confidence_level=level))
            for name, c in shown.items()
        ]
        return side_by_side(each, title, "named move", len(found), columns=columns, page=None)
    if kind == "regions" and not first.rules:
        return change_figure(first, kind="regions", confidence_level=level)  # raises
    lines: list[MeanChange] = []
    names = distinct_names([*map(clean, shown)], NAME)
    for name, (key, c) in zip(names, shown.items(), strict=True):
        if c.rules:
            every = mean_changes(c, level)
            lines += [replace(line, name=f"{name}: {line.name}") for line in every]
        else:
            text = name if key == c.text else f"{name}: {shorten(clean(c.text), NAME)}"
            lines += mean_changes(c, level, text)
    return means_figure(first, lines, level, title, _changes_notes(shown, len(found)))


def _changes_notes(shown: Mapping[str, Change], total: int) -> tuple[str, ...]:
    """Return the notes that all changes share, else the largest share of rows outside, and how many are drawn."""
    notes = {change_notes(c) for c in shown.values()}
    shared = notes.pop() if len(notes) == 1 else ()
    outside = max(c.outside.share for c in shown.values())
    if not shared and outside > 0:
        shared = (f"up to {percent(outside)} of rows leave the observed range",)
    if len(shown) == total:
        return shared
    return (*shared, f"{len(shown):,} of {total:,} named moves, all with top=None")


# --- outputs --------------------------------------------------------------------------------------


OfOutput: TypeAlias = Callable[[OutputResult, Mapping[str, object]], FigureSpec]
"""Returns the figure of one output, given the options of the figure of all outputs that it can share."""


def outputs_figure(
    found: ResultsByLabel[OutputResult],
    of_output: OfOutput,
    top: int | None = PER_PAGE,
    columns: int | None = None,
    page: int | None = 1,
    center: Zero = "mean",
    confidence_level: float = 0.95,
    scale: CurveScale | None = None,
    *,
    observed: bool = True,
) -> FigureSpec:
    """Return the figure of the results of several outputs, or of several models."""
    if not check_flag("plot(observed)", observed, "Use observed=False to hide mean labels"):
        found = replace(found, members={k: unlabelled(r) for k, r in found.items()})
    noun = found.noun
    top = check_int_or_none("plot(top)", top, 1, "Use 12, or None")
    first = next(iter(found.values()), None)
    if first is None:
        raise DataError("plot", f"no {noun}", f"at least one {noun}", f"Explain some {noun}s")
    effects = {k: r for k, r in found.items() if isinstance(r, Effect)}
    # Labels of classes differ, and those of a split are side by side: each has a figure of its own.
    alike = shared_labels([*effects.values()])
    if effects and (alike or all(e.observed is None for e in effects.values())):
        shown = _most_important(effects, lambda e: e.importance)
        names, quantity = _names_and_quantity(shown, noun)
        figure = overlay_figure([*shown.values()], names, center, confidence_level, quantity, scale)
        return _of_members(figure, len(shown), len(effects), noun)
    many = {k: r for k, r in found.items() if isinstance(r, Effects)}
    if many:
        shown = _most_important(
            many, lambda es: max((e.importance for e in es.values()), default=0.0)
        )
        names, quantity = _names_and_quantity(
            {k: next(iter(es.values())) for k, es in shown.items()}, noun
        )
        figure = overlays(
            [*shown.values()],
            names,
            center,
            confidence_level,
            top=top,
            columns=columns,
            page=page,
            scale=scale,
            quantity=quantity,
        )
        return _of_members(figure, len(shown), len(many), noun)
    fits = {k: r for k, r in found.items() if isinstance(r, Calibration)}
    if fits and noun == "model":
        shown = dict([*fits.items()][:MOST])
        names = {_name(label, noun, c.quantity): c for label, c in shown.items()}
        return _of_members(
            calibrations_figure(names, confidence_level), len(shown), len(fits), noun, "first"
        )
    limits = _shared_limits(_surfaces_of(found, top), SurfacePlotOptions(density=False))
    shared = {"top": top, "confidence_level": confidence_level}
    shared |= {} if scale is None else {"scale": scale}
    apart = len({member.rules for member in found.values() if isinstance(member, Regions)}) > 1
    figures = {
        str(label): _figures_of(label, noun, member, of_output, shared, limits, apart=apart)
        for label, member in [*found.items()][: None if isinstance(first, Surfaces) else top]
    }
    title = _shared_title({label: own[0][1] for label, own in figures.items()}, noun)
    each = [named(*one) for own in figures.values() for one in own]
    ruled = isinstance(first, Change) and bool(first.rules)
    lines = ruled or isinstance(first, Changes | WeakSpots)
    if columns is None and lines:  # one below the other, and wide: lines have long names
        axes = [one.main.x for one in each]
        if len({(x.name, x.unit) for x in axes}) == 1:
            each = [_with_axis(one, one.main.x.spanning(axes)) for one in each]
        figure = side_by_side(each, title, noun, len(found), columns=1, page=page)
        return replace(figure, small=False)
    if isinstance(first, Surfaces):
        total = sum(len(s) for s in found.values() if isinstance(s, Surfaces))
        return side_by_side(each, title, "surface", total, columns=columns, page=page)
    return side_by_side(each, title, noun, len(found), columns=columns, page=page)


def _with_axis(figure: FigureSpec, x: PlotAxis) -> FigureSpec:
    (main, *below), *others = figure.stacks
    return replace(figure, stacks=((replace(main, x=x), *below), *others))


def _name(label: OutputLabel, noun: str, quantity: str) -> str:
    """Return the name of an output or a model; one without a letter says what it is: "y = 0", "output 0", "model 0"."""
    text = str(label)
    if any(map(str.isalpha, text)):
        return text
    of_class = re.search(rf"[^(]+ = {re.escape(text)}(?=\))", quantity)
    return of_class[0] if of_class and noun == "output" else f"{noun} {text}"


def _shared_title(figures: Mapping[str, FigureSpec], noun: str) -> Title:
    """Return the title of the figures of several outputs, with what the names of their quantities share."""
    titles = {label: figure.heading or figure.main.title for label, figure in figures.items()}
    first = next(iter(titles.values()))
    if not first.quantity:  # its subject names the quantity, as "variance of P(y = 0)"
        subject = _common({label: title.subject for label, title in titles.items()}, noun)
        return replace(first, subject=subject)
    return replace(first, quantity=_common({k: t.quantity for k, t in titles.items()}, noun))


def _surfaces_of(found: ResultsByLabel[OutputResult], top: int | None) -> list[Surface]:
    """Return the surfaces of all outputs that are drawn."""
    surfaces: list[Surface] = []
    for member in found.values():
        if isinstance(member, Surfaces):
            surfaces += [
                _one_surface(member[r.feature0, r.feature1]) for r in member.ranking()[:top]
            ]
        elif isinstance(member, Surface | MultiModelSurface):
            surfaces.append(_one_surface(member))
    return surfaces


def _most_important(
    found: Mapping[OutputLabel, Kind], size: Callable[[Kind], float]
) -> dict[OutputLabel, Kind]:
    """Return the outputs that can be distinguished when overlaid, in their order."""
    ranked = sorted(found, key=lambda label: -size(found[label]))[:MOST]
    return {label: member for label, member in found.items() if label in ranked}


def _of_members(
    figure: FigureSpec, shown: int, total: int, noun: str, which: str = "most important"
) -> FigureSpec:
    """Return an overlay of outputs or models with a note if some are not drawn."""
    left = (f"the {shown} {which} of {total:,} {noun}s",) if shown < total else ()
    return replace(figure, notes=(*figure.notes, *left))


def _names_and_quantity(effects: Mapping[OutputLabel, Effect], noun: str) -> tuple[list[str], str]:
    """Return the names of overlaid outputs or models, and what they share."""
    names = [_name(label, noun, e.about.quantity) for label, e in effects.items()]
    return names, common_quantity({str(k): e.about.quantity for k, e in effects.items()}, noun)


def common_quantity(quantities: Mapping[str, str], noun: str = "output") -> str:
    """Return the name that the quantities of all outputs share, given by the label of the output."""
    name = _common(quantities, noun)
    return f"each {noun}" if name == "…" else name.removesuffix(" …")


def _common(quantities: Mapping[str, str], noun: str) -> str:
    """Return the text that the quantities of all outputs share, with "…" in place of the label."""
    names = set(quantities.values())
    if len(names) == 1:
        return names.pop()
    names.clear()
    for key, quantity in quantities.items():
        label = key if noun == "output" else ""  # a quantity has no name of a model
        before, found, after = quantity.rpartition(label or quantity)
        names.add(f"{before}…{after}" if found and label else quantity)
    return names.pop() if len(names) == 1 else f"each {noun}"


def _figures_of(
    key: OutputLabel,
    noun: str,
    member: OutputResult,
    of_output: OfOutput,
    shared: Mapping[str, object],
    limits: tuple[float, float] | None,
    *,
    apart: bool,
) -> list[tuple[str, FigureSpec]]:
    """Return the figures of one output, each with its title."""
    if isinstance(member, Surface | MultiModelSurface):
        options = SurfacePlotOptions(density=False)
        figure = surface_figure(_one_surface(member), options, limits=limits)
    elif isinstance(member, Surfaces):
        top = cast("int | None", shared["top"])
        figure = surfaces_figure(member, top, page=None, limits=limits)
    else:
        figure = of_output(member, shared)
    label = _name(key, noun, str(figure.heading or figure.main.title))
    if isinstance(member, Surfaces | MultiModelEffects):
        titles = figure.stack_titles or [str(stack[0].title) for stack in figure.stacks]
        return [
            (f"{label}: {title}", replace(figure, stacks=(stack,), alt=alt))
            for stack, title, alt in zip(figure.stacks, titles, figure.stack_alts, strict=True)
        ]
    if isinstance(member, Regions) and apart:
        # Different regions of outputs are in one legend.
        def named(entry: str) -> str:
            return f"{shorten(clean(label), 40)} {entry}" if entry.startswith("[") else entry

        figure = _relabelled(figure, named)
    if isinstance(member, VarianceShares):
        # One legend explains all bars, each of which has its own numbers.
        figure = _relabelled(figure, lambda entry: _NUMBERS.sub("", entry))
    return [(label, figure)]


_NUMBERS = re.compile(" [\N{MINUS SIGN}\\d][\\d.,]* %.*$")
"""The numbers at the end of a legend entry of variance shares."""


def _relabelled(figure: FigureSpec, of: Callable[[str], str]) -> FigureSpec:
    """Return a figure with other legend entries."""
    stacks = tuple(
        tuple(
            replace(
                panel,
                marks=tuple(
                    m if isinstance(m, Heat) else replace(m, label=of(m.label)) for m in panel.marks
                ),
            )
            for panel in stack
        )
        for stack in figure.stacks
    )
    return replace(figure, stacks=stacks, order=tuple(of(label) for label in figure.order))


# --- regions of several features for several models -----------------------------------------------


def recurrences_figure(
    found: MultiModelRegionsByFeature,
    top: int | None = PER_PAGE,
    columns: int | None = None,
    page: int | None = 1,
) -> FigureSpec:
    """Return for each feature how many models have their first split on which feature, side by side."""
    top = check_int_or_none("plot(top)", top, 1, "Use 12, or None")
    if not found:
        raise DataError("plot", "no feature", "at least one feature", "Explain some features")
    ranks = found.ranking()[:top]
    figures = [recurrence_figure(found[rank.feature]) for rank in ranks]
    each = [
        named(f"{i + 1}. {rank.feature}", figure)
        for i, (rank, figure) in enumerate(zip(ranks, figures, strict=True))
    ]
    title = figures[0].main.title
    title = title if len(each) == 1 else replace(title, subject=features_text(len(each)))
    return side_by_side(each, title, "feature", len(found), columns=columns, page=page)
