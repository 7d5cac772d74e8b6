"""An effect as text: its numbers, and the feature that its heterogeneity depends on, with shares and scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from skedasis._escaping import one_line
from skedasis._numbers import counted, number, percent, with_error, with_minus
from skedasis.registry import title_of
from skedasis.results.axis import BinPairAxis, LevelPairAxis, PairAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.display import called_text, outside_text, sample_text
from skedasis.results.effect import AnyMPlot, BinnedEffect, Effect, LevelStepsEffect
from skedasis.results.main_stretch import beyond_text
from skedasis.results.observed_words import deviation_text, deviations, nowhere_text
from skedasis.stats.depends_on import DependsOn

if TYPE_CHECKING:
    from skedasis.results.surface import Surface

MOSTLY = 0.5
"""From this share on, an effect differs "mostly" by a feature; below, "in part"."""


def how_much(share: float) -> str:
    """Return how much of a difference between rows a feature explains: "mostly" or "in part"."""
    return "mostly" if share >= MOSTLY else "in part"


# --- shares and scores ----------------------------------------------------------------------------


NOT_TOLD = "no measurable part"
"""A share that is not two standard errors above 0."""


def is_told(share: float, error: float = math.nan) -> bool:
    """Return whether a share is at least two standard errors above 0; where these are unknown, above 0."""
    return share > 0 and not share < 2 * error


def share_text(share: float, error: float = math.nan) -> str:
    """Return a share that something explains in words: with its standard error, or that no part can be told."""
    if not math.isfinite(share):
        return "unknown"
    if not is_told(share, error):
        return NOT_TOLD
    # An estimate may be above 1, which its error explains.
    return percent(share if error > 0 else min(share, 1.0), error)


# --- what an effect depends on --------------------------------------------------------------------


def depends_on_text(found: DependsOn, name: str | None = None) -> str:
    """Return by which other feature an effect differs between rows, and how much of the heterogeneity it explains."""
    name = one_line(found.title or found.name) if name is None else name
    return f"{how_much(found.share)} by {name} ({share_text(found.share, found.error)})"


def depends_on_cell(found: DependsOn, name: str | None = None) -> str:
    """Return the same for a column with the head "mostly by"."""
    how = "" if found.share >= MOSTLY else "in part "
    return f"{how}{one_line(found.name) if name is None else name} {share_text(found.share)}"


def regions_call(effect: Effect) -> str:
    """Return the call that searches for the regions of an effect: "sd.regions(model, X, 'hr')"."""
    return f"sd.regions(model, X, {effect.feature!r})"


# --- the effect -----------------------------------------------------------------------------------


def kind_of(effect: Effect | Surface) -> str:
    """Return what the values of an effect are, before the name of the quantity: "effect on"."""
    if not isinstance(effect, Effect):
        return "joint effect on" if effect.includes_main_effects else "interaction effect on"
    if effect.spec.derivative:
        return "slope of"
    return "mean of" if isinstance(effect, AnyMPlot) else "effect on"


def method_of(result: Effect | Surface) -> str:
    """Return the name of the method for people, such as "M-plot"."""
    return title_of(result.spec.method)


def effect_text(effect: Effect) -> str:
    """Return an effect as text: what it is of, importance and heterogeneity score, rows, and where to find more."""
    tables = "e.bins, " if isinstance(effect, BinnedEffect | LevelStepsEffect) else ""
    more = f"more: e.plot(), e.checks(), {tables}e.to_frame()"
    return "\n".join([*effect_lines(effect, regions_call(effect)), more])


def effect_lines(effect: Effect, regions: str) -> list[str]:
    """Return the lines of `effect_text` but the last one. `regions` is the call that searches for regions."""
    about, unit = effect.about, f" {one_line(effect.about.unit)}" if effect.about.unit else ""
    subject = one_line(", ".join(filter(None, [effect.feature_title, with_minus(effect.rule)])))
    parts = counted(effect.n_parts, effect.part_noun)
    score = "not computed"
    if effect.swap_score is not None:
        score = with_error(effect.heterogeneity_score, effect.heterogeneity_score_error) + unit
    lines = [
        f"{subject}: {kind_of(effect)} {one_line(about.quantity)} ({method_of(effect)}, {parts})",
        f"importance           {number(effect.importance)}{unit}",
        f"heterogeneity score  {score}",
    ]
    if effect.depends_on is not None:
        lines.append(f"{depends_on_text(effect.depends_on)}: {regions}")
    if effect.observed is not None:
        found = deviations({effect.feature: effect})
        said = found.get(effect.feature, ())
        lines.append(deviation_text(effect, said) if said else nowhere_text(effect.observed))
    lines.append(_rows_text(effect))
    return [*lines, *filter(None, [called_text(effect.provenance)])]


def surface_text(surface: Surface) -> str:
    """Return a surface as text: what it is of, how strongly the features interact, points, empty cells, and rows."""
    about, known = surface.about, surface.provenance
    subject = TIMES.join(map(one_line, surface.feature_titles))
    sizes = TIMES.join(map(_size_of, surface.sides))
    name = "standard deviation" if surface.includes_main_effects else "interaction strength"
    unit = f" {one_line(about.unit)}" if about.unit else ""
    of = "with the effects of each feature" if surface.includes_main_effects else "SD over the rows"
    lines = [
        f"{subject}: {kind_of(surface)} {one_line(about.quantity)} ({method_of(surface)}, {sizes})",
        f"{name:20}  {number(surface.interaction_strength())}{unit} ({of})",
        f"{'points':20}  {TIMES.join(f'{n:,}' for n in surface.value.shape)}",
    ]
    # A cell between two levels or values counts the rows of both, so that empty cells would have no meaning.
    if surface.cells is not None and not any(map(is_discrete, surface.sides)):
        empty = surface.cells.empty
        lines.append(f"{'cells without rows':20}  {int(empty.sum()):,} of {empty.size:,}")
    rows = counted(known.get("rows", 0), "row")
    lines.append(f"{rows}{sample_text(known)}{outside_text(known.get('rows_outside'))}")
    return "\n".join([*lines, *filter(None, [called_text(known)])])


TIMES = " × "
"""Between the two features of a pair."""


def is_discrete(side: PairAxis) -> bool:
    """Return whether a side has levels or two single values, without a continuum between them."""
    return isinstance(side, LevelPairAxis) or side.strips is not None


def _size_of(side: PairAxis) -> str:
    """Return how many bins, levels or points a side of a surface has."""
    if isinstance(side, BinPairAxis) and side.strips is None:
        return counted(max(len(side.bins), 1), "bin")
    noun = "level" if isinstance(side, LevelPairAxis) else "point"
    return counted(side.n_nodes, noun if side.strips is None else "value")


def _rows_text(effect: Effect) -> str:
    """Return the number of rows, and how many of them the curve does not include."""
    known, levels = effect.provenance, effect.levels
    rows = known.get("rows", 0)
    if effect.rule:  # the provenance counts all rows
        inside = effect.moments[AXIS].count if levels is None else levels.count
        rows = round(float(inside.sum())) + (effect.missing if levels is None else 0)
    said = f"{counted(rows, 'row')}{sample_text(known)}{outside_text(known.get('rows_outside'))}"
    if effect.missing and levels is None:
        said += f", {effect.missing:,} with a missing value"
    if "unlabelled_rows" in known and not effect.rule:
        said += f", {known['unlabelled_rows']:,} without a label"
    beyond = beyond_text(effect)
    return f"{said}; {beyond}" if beyond else said
