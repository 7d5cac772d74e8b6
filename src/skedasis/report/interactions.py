"""Strongest interactions of a report: all pairs are compared, the strongest are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skedasis._numbers import ROUNDING_NOISE, counted
from skedasis.analysis.interactions import interactions_of
from skedasis.engine.region_pass import RegionPass
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE
from skedasis.report.format import listed
from skedasis.report.passes import Label, ModelRunner
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.interactions import Interactions, PairInteraction
from skedasis.results.surface import Surface

COMPARED = 30
"""Largest number of features whose pairs are compared: those with the largest heterogeneity scores."""


H2_WORK = 5_000_000
"""Limit on pairs times rows for H², about a second; beyond it, pairs are compared by shares of heterogeneity."""


MODEL_ROWS = 2_000_000
"""Limit on the total cost of all surfaces, which cost 4 N model rows each; one is computed in any case."""


LEVELS = 50
"""Largest number of levels of a categorical feature in a pair: a surface with more levels is unreadable."""


LEAST_SHARE, NOISE_ROWS = 0.01, 40.0
"""Least share of the heterogeneity of an effect, and its least product with the rows: others may be noise."""


METHOD = ALE()


@dataclass(frozen=True)
class PairStrength:
    """How strongly a pair interacts, by each measure; NaN for what was not computed."""

    features: tuple[str, str]
    strength: float
    h2_unnormalized: float
    depending: str
    share: float
    shown: bool


@dataclass(frozen=True, eq=False)
class StrongestPairs:
    """The interactions of one output."""

    surfaces: tuple[Surface, ...] = ()
    strengths: tuple[PairStrength, ...] = ()
    note: str = ""


def strongest_pairs(
    runner: ModelRunner,
    found: RegionPass,
    shown: int,
    *,
    trees_evaluated: bool,
    drawn_at_most: int | None = None,
) -> dict[Label, StrongestPairs]:
    """Return the strongest pairs of each output."""
    effects = found.effects
    if shown < 1:
        none = StrongestPairs(note="The report was written with pairs=0.")
        return dict.fromkeys(effects, none)
    single = next(iter(effects.values()))
    order = candidates(list(effects.values()))
    chosen = [name for name in single if name in order[:COMPARED]]
    by = "heterogeneity score" if _has_scores(single) else "importance"
    if len(chosen) < 2:
        why = f"Fewer than two features have a {by} above zero, so no features interact."
        return dict.fromkeys(effects, StrongestPairs(note=why))
    rows = len(found.done.job.dataset)
    pairs = len(chosen) * (len(chosen) - 1) // 2
    compared = interactions_of(found.done, effects, chosen, h2=pairs * rows <= H2_WORK)
    most = shown if trees_evaluated else max(1, min(shown, MODEL_ROWS // (4 * rows)))
    if drawn_at_most is not None:
        most = min(most, drawn_at_most // len(effects))
    least = max(LEAST_SHARE, NOISE_ROWS / rows)
    ranked = {label: _ranked(it, effects[label], least) for label, it in compared.items()}
    drawn = {
        label: [p for p, _ in lines if not _both_nominal(single, p)][:most]
        for label, lines in ranked.items()
    }
    # A surface of several outputs is computed for all of them in one pass.
    wanted = list(dict.fromkeys(p for some in drawn.values() for p in some))
    try:
        surfaces = runner.surfaces(METHOD, wanted) if wanted else {}
    except (DataError, UnsupportedError) as error:
        return dict.fromkeys(effects, StrongestPairs(note=str(error).splitlines()[0]))
    limit = ""
    if drawn_at_most is not None:
        limit = ", fewer of them drawn to keep to the limit of the page"
    elif most < shown:
        limit = f", no more because each costs {4 * rows:,} model rows"
    results: dict[Label, StrongestPairs] = {}
    for label, lines in ranked.items():
        own = {p: s for p, s in surfaces.get(label, {}).items() if p in drawn[label]}
        ordered = [p for p, _ in lines]
        unordered = sum(_both_nominal(single, p) for p in ordered)
        among = by, len(order)
        note = _note(compared[label], chosen, among, ordered, unordered, limit)
        results[label] = _strongest(lines, own, note)
    return results


def _ranked(
    compared: Interactions, effects: Effects, least: float
) -> list[tuple[tuple[str, str], PairInteraction]]:
    """Return the pairs that interact, strongest first, in units of the quantity."""
    sizes = {p: _size(line, effects, compared.measure, least) for p, line in compared.items()}
    top = max([*sizes.values(), *(e.importance for e in effects.values())], default=0.0)
    kept = [p for p, size in sizes.items() if size > ROUNDING_NOISE * top]
    return [(p, compared[p]) for p in sorted(kept, key=lambda p: -sizes[p])]


def _size(line: PairInteraction, effects: Effects, measure: str, least: float) -> float:
    """Return the strength of a pair in units of the quantity; 0 if it is unknown."""
    if measure != "depends":
        return line.strength(measure) if math.isfinite(line.strength(measure)) else 0.0
    shares = (line.feature_0, line.depends_01), (line.feature_1, line.depends_10)
    return max(
        math.sqrt(share) * _spread(effects[name]) if share >= least else 0.0
        for name, share in shares
    )


def _spread(effect: Effect) -> float:
    score = effect.heterogeneity_score
    return score if math.isfinite(score) else effect.importance


def _strongest(
    lines: Sequence[tuple[tuple[str, str], PairInteraction]],
    surfaces: Mapping[tuple[str, str], Surface],
    note: str,
) -> StrongestPairs:
    """Return the pairs with their surfaces; a surface that is zero up to rounding is not shown."""
    strengths = {pair: s.interaction_strength() for pair, s in surfaces.items()}
    largest = max(
        (float(abs(s.main[k]).max()) for s in surfaces.values() if s.main for k in (0, 1)),
        default=0.0,
    )
    known = [abs(v) for v in strengths.values() if math.isfinite(v)]
    least = ROUNDING_NOISE * max([largest, *known], default=0.0)
    kept = [p for p in surfaces if not strengths[p] <= least]
    # Without kept rows the interaction strength is NaN; such pairs keep their order.
    kept.sort(key=lambda p: -strengths[p] if math.isfinite(strengths[p]) else 0.0)
    by_pair = dict(lines)
    order = [*kept, *(p for p in by_pair if p not in kept)]
    found = tuple(
        _pair_strength(by_pair[p], strengths.get(p, math.nan), shown=p in kept) for p in order
    )
    return StrongestPairs(tuple(surfaces[p] for p in kept), found, note)


def _pair_strength(line: PairInteraction, strength: float, *, shown: bool) -> PairStrength:
    first = not line.depends_10 > line.depends_01
    depending, share = (
        (line.feature_0, line.depends_01) if first else (line.feature_1, line.depends_10)
    )
    pair = line.feature_0, line.feature_1
    return PairStrength(pair, strength, line.h2_unnormalized, depending, share, shown)


def candidates(effects: Sequence[Effects]) -> list[str]:
    """Return the features that may interact, by decreasing heterogeneity score."""
    share: dict[str, float] = {}
    for of in effects:
        scored = _has_scores(of)
        size = {
            n: e.heterogeneity_score if scored else e.importance
            for n, e in of.items()
            if _drawable(e)
        }
        top = max(size.values(), default=0.0)
        least = ROUNDING_NOISE * max([top, *(of[n].importance for n in size)])
        for name, value in size.items():
            if value > least:
                share[name] = max(share.get(name, 0.0), value / top)
    return sorted(share, key=lambda name: -share[name])


def _has_scores(effects: Effects) -> bool:
    return all(e.swap_score is not None for e in effects.values())


def _drawable(effect: Effect) -> bool:
    points = len(effect.axis)
    return points > 1 and (points <= LEVELS or not isinstance(effect.axis, LevelAxis))


def _both_nominal(effects: Effects, pair: tuple[str, str]) -> bool:
    """Return whether both features are nominal: such pairs are left out, because second-order ALE needs an order."""
    return all(effects[name].about.feature.kind == "nominal" for name in pair)


def _note(
    compared: Interactions,
    chosen: Sequence[str],
    among: tuple[str, int],
    ranked: Sequence[tuple[str, str]],
    unordered: int,
    limit: str,
) -> str:
    """Return a note on how the pairs were compared."""
    by, size = among
    of = f"of the {len(chosen)} features with the largest {by}, of {size}"
    if size <= len(chosen):
        titles = [compared.labels.get(name, name) for name in chosen]
        of = f"of {listed(titles)}" if len(chosen) <= 5 else f"of {len(chosen)} features"
    measure = "by how much of the heterogeneity of one effect depends on the other feature"
    if compared.measure == "h2_unnormalized":
        measure = "by H² at all rows, from the tree structure"
    note = f"{counted(len(compared), 'pair')} {of} compared {measure}{limit}."
    if not ranked:
        return f"No interaction was found: {note}"
    if unordered:
        nominal = counted(unordered, "pair")
        note += f" {nominal} of nominal features not drawn, because these have no order."
    return note
