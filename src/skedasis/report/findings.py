"""What a model does and for whom, in three to five sentences, and the one line above them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from skedasis._escaping import one_line
from skedasis._numbers import (
    ROUNDING_NOISE,
    counted,
    fraction,
    listed,
    sentence,
    size,
    with_minus,
    within,
)
from skedasis._types import Floats
from skedasis.models.introspection import with_article
from skedasis.plots.scales import shorten
from skedasis.quantities.base import DIFFERENCE
from skedasis.report.content import ModelSection
from skedasis.report.format import feature_named, listed_features, named
from skedasis.report.quality import Quality
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.curve_words import ERRORS, PROMINENCE, Curve, standard_errors
from skedasis.results.effect import BinnedEffect, Effect
from skedasis.results.effect_words import how_much, is_told
from skedasis.results.main_stretch import beyond_text, stretch
from skedasis.results.regions import RegionNode, Regions, explained_share
from skedasis.results.sentences import (
    BY_GROUP,
    CURVE,
    FEATURE,
    HEADLINE,
    HEADLINE_END,
    HEIGHT,
    INTERACTION,
    MISSING,
    MODEL,
    OTHERS,
    QUALITY,
    QUALITY_UNKNOWN,
    QUANTITY,
    TWO_GROUPS,
    WARNING,
    WHERE,
    tell,
)
from skedasis.results.weak_spots import weak_spot_text

LEAST_PART = 0.02
"""Features with a smaller fraction of the sum of all squared sizes are not mentioned."""

DEVIATING = 0.5
"""An average effect is stated with the differences between rows if their score is this part of the importance."""

LITTLE = 0.5
"""A curve that spans less than this fraction of another one is described by its span."""

NEAR = 0.05
"""Peaks that differ by less than this fraction of the axis are at the same position."""

SIZE_OF_REGIONS = 0.25
"""Regions matter if what they explain is at least this fraction of the size of their feature.

The size is that of importance and heterogeneity score together. A difference of less than a quarter of it is hardly
visible in a figure of the feature, and not worth a longer sentence.
"""

LOSS_OF_REGIONS = 0.1
"""The same without heterogeneity scores: the share of the loss that the splits explain."""

FIRST_SPLIT = 0.6
"""Fraction of the differences between the curves that the first split accounts for, if its sides are compared."""

FEWEST_ROWS = 0.05
"""Regions with a smaller fraction of the rows are not compared with others."""

FEW = 2
"""With fewer features, one that only changes the effects of others is not told for itself."""

MOST_ROWS, NARROW = 0.95, 0.6
"""A curve is described where 95 % of the rows are, if that is less than 60 % of the axis or it changes much beyond."""

SIMILAR = 1.5
"""Changes in several regions are stated by one number if they differ by less than this factor."""

COMMON_RANGE = 0.8
"""Curves are averaged, or compared from end to end, if they share this fraction of the axis."""

LONGEST = 230
"""Longest sentence about a feature, in letters; longer ones are replaced by simpler ones."""

RULE_LENGTH, NAME_LENGTH = 70, 30
"""Longest rule, and longest name of a feature within one."""

TALL = 0.5
"""A second peak is mentioned if it is this fraction of the way from the lowest to the highest point."""

POOR: Mapping[str, float] = {"R²": 0.3, "AUC": 0.65}
"""A model below is said to predict poorly."""

SENTENCES = 5
"""Number of sentences that a reader should know first."""

HIDDEN = 0.2
"""An average effect is called misleading if rows differ by more than it, and by this fraction of the largest one."""

STRONG_PAIR = 0.05
"""An interaction is a finding of its own if its variance is this fraction of the variance of the quantity."""


@dataclass(frozen=True)
class Sentence:
    """A sentence about a model."""

    kind: str
    features: tuple[str, ...]
    text: str


# ------------------------------------------------------------------------------------ the headline
def headline(section: ModelSection, *, rows: int, features: int, target: str = "") -> str:
    """Return what is explained and how well the model predicts, in one line."""
    case, facts = _of_target(section, target)
    said = tell(HEADLINE[case], model=with_article(named(section.model)), **facts)
    quality, unknown = "", ""
    if section.quality is not None:
        quality = quality_text(section.quality)
    elif not section.note:  # otherwise the caller says how well it predicts
        labels = section.reasons.get("quality", "").startswith("No labels")
        if labels or case in ("target", "class"):
            unknown = tell(QUALITY_UNKNOWN, labels=labels)
    said = tell(
        HEADLINE_END, said=said, quality=quality, rows=rows, features=features, unknown=unknown
    )
    return f"{said[:1].upper()}{said[1:]}"


def _of_target(section: ModelSection, target: str) -> tuple[str, dict[str, object]]:
    """Return what the model predicts by the name of the labels, or without one the quantity: a row of `HEADLINE`."""
    name = named(target, NAME_LENGTH) if target.strip() else ""
    quality = section.quality
    if name and section.class_name:
        several = quality is not None and quality.kind != "regression" and "AUC" not in quality
        which = f"“{named(section.class_name, NAME_LENGTH)}”"
        # Of several classes, the quality is that of all.
        return "target" if several else "class", {"target": name, "which": which}
    if section.quantity != "prediction":  # it has a name of its own, or is another quantity
        predicts = quality is not None and quality.kind == "regression"
        name = named(section.quantity, NAME_LENGTH) if predicts else ""
    if name:
        return "target", {"target": name}
    case = "entropy" if section.quantity == "entropy" else "quantity"
    return case, {"quantity": quantity_phrase(section)}


def quality_text(quality: Quality) -> str:
    """Return how well a model predicts in a few words: "R² 0.95, mean absolute error 25"."""
    known = {key: quality[name] for key, name in (("r2", "R²"), ("auc", "AUC")) if name in quality}
    facts: dict[str, object] = {key: fraction(value) for key, value in known.items()}
    if quality.kind == "regression":
        unit = next(m.text for m in quality.measures if m.name == "MAE").partition(" ")[2]
        facts["worse"] = -known.get("r2", 0.0)
        return tell(
            QUALITY["regression"], error=quality["MAE"], unit=named(unit) if unit else "", **facts
        )
    return tell(QUALITY["classes"], right=quality["accuracy"], usual=quality.most_frequent, **facts)


def quantity_phrase(section: ModelSection) -> str:
    """Return the quantity's name as part of a sentence."""
    name = section.quantity
    if name in QUANTITY:  # a default name, not one that the user has chosen
        return QUANTITY[name]
    if section.class_name and name.startswith("P("):
        return f"the probability of “{named(section.class_name, NAME_LENGTH)}”"
    if name.startswith(DIFFERENCE):
        return f"the {named(name)}"
    # A plural needs a noun to agree with the verbs of the sentences.
    return f"the value of {named(name)}" if re.search("[^s]s$", name) else named(name)


# ------------------------------------------------------------------------------------ all findings
def findings(section: ModelSection, *, first: int = SENTENCES) -> tuple[Sentence, ...]:
    """Return what there is to say about a model: `first` sentences that a reader should know first, then all others."""
    sizes = moving(section)
    if not sizes:
        said = tell(MODEL["nothing"], quantity=quantity_phrase(section))
        return (Sentence("nothing", (), said),)
    poor, weak = _poor_model(section), _weak_spot(section)
    stories = list(_stories(section, sizes))
    told = [story.finding for story in stories]
    pair, unsure = _pair_finding(section, stories), uncertainty_findings(section)
    found = told[: max(first - len(poor) - len(weak) - len(pair), 1)]
    last = weak or ([] if poor else _warning_finding(section, found))
    found += pair[: max(first - len(poor) - len(found) - len(last), 0)]
    if len(poor) + len(found) + len(last) < first:
        found += unsure[:1]
    shown = [*poor, *found, *last][:first]
    others = [*told, *pair, *last, *unsure, *_model_findings(section)]
    return (*shown, *(one for one in others if one not in shown))


def first_findings(every: Sequence[Sentence]) -> list[Sentence]:
    """Return the findings that a reader should know first; not those that sum up what others say."""
    return [one for one in every[:SENTENCES] if one.kind != "model"]


def moving(section: ModelSection) -> dict[str, float]:
    """Return by how much each feature changes the quantity, largest first, without those that do not."""
    sizes = {name: effect_size(effect) for name, effect in section.rhale.items()}
    # The curves of a constant quantity are rounding errors relative to its values, which the bins of M-plots have.
    values = [np.abs(e.bins.effect) for e in section.mplot.values() if isinstance(e, BinnedEffect)]
    top = max([*sizes.values(), *(float(np.nanmax(v, initial=0.0)) for v in values)], default=0.0)
    kept = {n: v for n, v in sizes.items() if v > ROUNDING_NOISE * top}
    return dict(sorted(kept.items(), key=lambda item: -item[1]))


def effect_size(effect: Effect) -> float:
    """Return how much a feature moves the quantity: the importance and the heterogeneity score together."""
    score = effect.heterogeneity_score
    return math.hypot(effect.importance, score if math.isfinite(score) else 0.0)


@dataclass(frozen=True, eq=False)
class _Story:
    """The finding of a feature, and the features by which it compares rows."""

    finding: Sentence
    by: tuple[str, ...] = ()


def _stories(section: ModelSection, sizes: Mapping[str, float]) -> Iterator[_Story]:
    """Yield what there is to say about each feature, the largest first; no interaction twice."""
    total = sum(v**2 for v in sizes.values())
    by: dict[str, tuple[str, ...]] = {}
    left = dict(sizes)
    while left:
        name = max(left, key=lambda n: left[n])
        size = left.pop(name)
        if size**2 < LEAST_PART * total:
            break
        effect = section.rhale[name]
        stated = any(name in some for some in by.values())
        story = _feature_story(section, effect, stated=stated)
        if story is None:
            continue
        by[name] = story.by
        for other in story.by:
            # Its interaction with this feature is stated; its average effect is not.
            if other in left:
                left[other] = section.rhale[other].importance
        yield story
    if len(by) < FEW:
        return
    # A feature that only changes the effects of others is told by theirs; where there is room, it is told itself.
    for name in [n for n, v in sizes.items() if n not in by and v**2 >= LEAST_PART * total]:
        story = _feature_story(section, section.rhale[name], stated=False)
        if story is not None:
            yield story


# ----------------------------------------------------------------------------- regions that matter
def regions_that_matter(section: ModelSection, feature: str) -> Regions | None:
    """Return the regions of a feature if they are told in sentences and drawn; otherwise None."""
    found, effect = section.regions.get(feature), section.rhale[feature]
    if found is None or len(found) < 2:
        return None
    # Where the rows of a region have one value of the feature, its curve there is about other rows.
    if (
        any(c.feature.name == feature for node in found.nodes for c in node.conditions)
        or found.by == feature
    ):
        return None
    if found.criterion == "given":
        return found
    first = found.nodes[0].split
    if (first is not None and first.unstable) or not is_told(*explained_share(found)):
        return None
    score, explained = effect.heterogeneity_score, found.scores.explained
    if not (math.isfinite(score) and math.isfinite(explained)):
        return found if found.loss_explained >= LOSS_OF_REGIONS else None
    size = SIZE_OF_REGIONS * effect_size(effect)
    return found if 0 < size <= math.sqrt(explained) * score else None


# ----------------------------------------------------------------------------- groups of rows
@dataclass(frozen=True, eq=False)
class _Group:
    """Some rows: the curves of their regions, as a figure draws them, and the average of these."""

    curve: Curve
    """The average. For levels, x is their index in `labels`."""
    parts: tuple[Curve, ...]
    rule: str = ""
    share: float = 1.0
    features: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    two: bool = False
    """Whether a numeric feature has two values."""
    part: float = math.nan
    """Fraction of all rows with a value between the ends, if these leave rows out."""
    missing: int = 0
    """Number of rows without a value."""
    weights: tuple[float, ...] = (1.0,)
    """Fraction of the rows in each part."""
    levels: tuple[float, ...] = ()
    """Mean of the quantity over the rows of each part: what lifts its curve to the height of predictions."""
    divided_by: tuple[str, ...] = ()
    """The features by which the parts differ."""

    @cached_property
    def kind(self) -> str:
        """Return the row of `CURVE` that describes the average: here "turns" for all curves with a turn."""
        curve = self.curve
        if not len(curve.x):  # no range that the regions share
            return "none"
        if len(curve.x) < 2 or curve.still:
            return curve.still or "none"
        if len(curve.x) == 2 and (self.two or self.labels):
            return "two values"
        return "levels" if self.labels else "turns" if curve.turns else "line"

    @property
    def span(self) -> float:
        return float(np.ptp(self.curve.value)) if len(self.curve.x) else 0.0

    @property
    def spans(self) -> list[float]:
        """Return the range of each curve."""
        return [float(np.ptp(c.value)) for c in self.parts]

    @property
    def there(self) -> dict[str, object]:
        """Return `part` and the noun of what it is a part of, as facts."""
        return {"part": self.part, "some": f"rows{' with a value' if self.missing else ''}"}

    @property
    def where(self) -> str:
        """Return the rule with its rows."""
        return tell(WHERE, rule=self.rule, share=self.share, rows="rows")

    def change(self, low: float, high: float) -> float:
        """Return the change of the average between two positions."""
        return float(np.diff(np.interp([low, high], self.curve.x, self.curve.value))[0])

    def changes(self, low: float, high: float) -> list[float]:
        """Return the change of each curve between two positions."""
        return [float(np.diff(np.interp([low, high], c.x, c.value))[0]) for c in self.parts]

    def tops(self) -> list[int]:
        """Return the indices of the highest points, at most two peaks, the highest first."""
        value, error, low = self.curve.value, self.curve.error, self.curve.low
        if self.labels:
            return self._not_below(self.curve.high, 1.0)
        around = [0, *self.curve.turns, len(value) - 1]
        tops = [
            k
            for i, k in enumerate(around)
            if all(value[k] > value[j] for j in around[max(i - 1, 0) : i + 2] if j != k)
            and value[k] >= value[low] + TALL * self.span
            and value[k] - value[low] > ERRORS * math.hypot(error[k], error[low])
            and value[k] > 0
        ]
        return sorted(tops, key=lambda k: -value[k])[:2] or [self.curve.high]

    def bottoms(self) -> list[int]:
        """Return the index of the lowest point; of levels, those that are not significantly higher."""
        return self._not_below(self.curve.low, -1.0) if self.labels else [self.curve.low]

    def _not_below(self, k: int, sign: float) -> list[int]:
        """Return the levels whose difference to an extreme one is within its errors, the extreme one first."""
        value, error = sign * self.curve.value, self.curve.error
        within = value[k] - value <= ERRORS * np.hypot(error, error[k])
        return sorted(np.flatnonzero(within).tolist(), key=lambda j: -value[j])

    def at(self, k: int) -> str:
        """Return a point as text, with the unit of the feature."""
        return self.labels[int(self.curve.x[k])] if self.labels else self.curve.at(k)


def _group(effect: Effect, whole: Effect | None = None) -> _Group:
    """Return an effect as a group; the ends of its curve are chosen by the rows of the effect in all rows."""
    levels = (effect.about.quantity_mean,)
    if isinstance(effect.axis, LevelAxis):
        own = effect.axis.levels.labels
        every = (
            own
            if whole is None or not isinstance(whole.axis, LevelAxis)
            else whole.axis.levels.labels
        )
        known = [k for k in np.flatnonzero(np.isfinite(effect.value)) if own[k] in every]
        known.sort(key=lambda k: every.index(own[k]))
        x = np.array([every.index(own[k]) for k in known], dtype=float)
        curve = Curve(x, effect.value[known], standard_errors(effect)[known])
        names = (named(one_line(text), NAME_LENGTH) for text in every)
        return _Group(curve, (curve,), labels=tuple(names), levels=levels)
    curve, two = Curve.of(effect).reliable, _takes_two_values(effect)
    if len(curve.x) < 2 or (len(curve.x) == 2 and two):
        return _Group(curve, (curve,), two=two, levels=levels)
    of = effect if whole is None else whole
    inner, part = _without_ends(curve, of)
    return _Group(inner, (inner,), two=two, part=part, missing=of.missing, levels=levels)


def _without_ends(curve: Curve, effect: Effect) -> tuple[Curve, float]:
    """Return a curve where most rows are, and their fraction; all of it (NaN) if rows are on most of its axis.

    Of an end with few rows where the curve changes little all is kept: its end is an observed value.
    """
    edges, below = _distribution(effect)
    if len(edges) < 3:
        return curve, math.nan
    last = np.searchsorted(below, np.minimum(below + MOST_ROWS, 1.0) - 1e-12)
    widths = np.where(below <= 1 - MOST_ROWS + 1e-12, edges[last] - edges, math.inf)
    first = int(widths.argmin())
    low, high = float(edges[first]), float(edges[last[first]])
    if high - low >= NARROW * float(edges[-1] - edges[0]):
        ends, least = np.interp([low, high], curve.x, curve.value), PROMINENCE * np.ptp(curve.value)
        low = low if abs(ends[0] - curve.value[0]) > least else float(curve.x[0])
        high = high if abs(ends[1] - curve.value[-1]) > least else float(curve.x[-1])
    inner = _between_ends(curve, low, high)
    if inner.still and not curve.still:
        return curve, math.nan
    part = float(np.diff(np.interp(inner.x[[0, -1]], edges, below))[0])
    return inner, math.nan if np.array_equal(inner.x[[0, -1]], curve.x[[0, -1]]) else part


def _between_ends(curve: Curve, low: float, high: float) -> Curve:
    """Return the part of a curve between two positions; all of it if it has no other points there."""
    low, high = max(low, float(curve.x[0])), min(high, float(curve.x[-1]))
    if not low < high:
        return curve
    # Between distant points of a curve, as of a line, the remaining ends are new points.
    x = np.unique([low, *curve.x[(curve.x > low) & (curve.x < high)], high])
    value, error = (np.interp(x, curve.x, of) for of in (curve.value, curve.error))
    return replace(curve, x=x, value=value, error=error)


def _distribution(effect: Effect) -> tuple[Floats, Floats]:
    """Return edges on the axis, and the fraction of the rows below each; none if they are unknown."""
    axis = effect.moments.get(AXIS)
    if effect.cells is not None and axis is not None and len(axis.weight) == len(effect.cells):
        edges, weight = effect.cells.edges, axis.weight
    elif isinstance(effect, BinnedEffect) and len(effect.bins):
        edges, weight = effect.bins.edges, effect.bins.weight
    else:
        return np.zeros(0), np.zeros(0)
    total = float(weight.sum())
    if not total > 0:
        return np.zeros(0), np.zeros(0)
    return np.clip(edges, *stretch(effect)), np.append(0.0, np.cumsum(weight)) / total


def _takes_two_values(effect: Effect) -> bool:
    """Return whether a numeric feature has two values: its rows lie at the ends of its curve."""
    if len(effect.axis) != 2 or effect.time is not None:
        return False
    if effect.values is not None:
        return len(effect.values) == 2
    return effect.spec.local_effects == "value_steps"


def _points(
    whole: Effect, groups: Sequence[_Group], least: float = 0.0
) -> tuple[Floats, Floats] | None:
    """Return the points that the curves of all groups have, and the fraction of the rows at each.

    None if they share less than this fraction of the axis of one of them, or of its levels.
    """
    curves = [g.curve for g in groups]
    if isinstance(whole.axis, LevelAxis):
        x = curves[0].x
        for curve in curves[1:]:
            x = np.intersect1d(x, curve.x)
        weight = whole.axis.levels.weight[x.astype(int)]
        enough = len(x) >= 2 and len(x) >= (least > 0) * max(len(c.x) for c in curves)
        return (x, weight / weight.sum()) if enough and weight.sum() > 0 else None
    span = _common_range(curves, least)
    if span is None:
        return None
    x = np.unique(np.concatenate([*(c.x for c in curves), span]))
    x = x[(x >= span[0]) & (x <= span[1])]
    edges, below = _distribution(whole)
    rows = np.diff(np.interp(x, edges, below)) if len(edges) > 1 else np.diff(x)
    weight = np.append(rows, 0.0) + np.append(0.0, rows)
    return (x, weight / weight.sum()) if weight.sum() > 0 else None


def _common_range(
    curves: Sequence[Curve], least: float = COMMON_RANGE
) -> tuple[float, float] | None:
    """Return the part of the axis that all curves have, if it is at least this fraction of that of each of them."""
    if any(len(c.x) < 2 for c in curves):
        return None
    ends = np.array([(c.x[0], c.x[-1]) for c in curves])
    low, high = float(ends[:, 0].max()), float(ends[:, 1].min())
    return (low, high) if high > low and high - low >= least * np.ptp(ends, axis=1).max() else None


def _together(regions: Regions, every: Sequence[_Group], k: int) -> _Group:
    """Return the regions below a node as one group; without a curve if theirs share too little of the axis."""
    node, below = regions.nodes[k], _below(regions.nodes, k)
    groups = [every[region] for region in below]
    named_by = {"rule": _rule(node), "features": tuple(c.feature.name for c in node.conditions)}
    share = sum(g.share for g in groups)
    if len(groups) == 1:
        return replace(groups[0], share=share, **named_by)
    found, first = _points(regions.whole, groups, COMMON_RANGE), groups[0]
    x = np.zeros(0) if found is None else found[0]
    weight = np.array([g.share for g in groups]) / share
    value, error = (
        np.array([np.interp(x, g.curve.x, of(g.curve)) if len(x) else x for g in groups])
        for of in (lambda c: c.value, lambda c: c.error)
    )
    curve = replace(first.curve, x=x, value=weight @ value, error=np.sqrt(weight**2 @ error**2))
    part = math.nan
    if len(x) and any(math.isfinite(g.part) for g in groups):
        part = float(np.diff(np.interp(x[[0, -1]], *_distribution(regions.whole)))[0])
    return replace(
        first,
        curve=curve,
        parts=tuple(g.curve for g in groups),
        weights=tuple(weight.tolist()),
        levels=tuple(level for g in groups for level in g.levels),
        divided_by=tuple(dict.fromkeys(_splits(regions.nodes, k))),
        two=all(g.two for g in groups),
        share=share,
        part=part,
        **named_by,
    )


def _leaves(regions: Regions) -> tuple[list[_Group], list[_Group]]:
    """Return the regions as groups, and the groups that stable splits make of them."""
    total = max(regions.nodes[0].weight, np.finfo(float).tiny)
    every = [
        replace(_group(e, regions.whole), share=n.weight / total)
        for e, n in zip(regions.effects, regions.leaves, strict=True)
    ]
    return every, [_together(regions, every, k) for k in _ends(regions.nodes)]


def _ends(nodes: Sequence[RegionNode], k: int = 0) -> list[int]:
    """Return the nodes below a node that no stable split divides."""
    node = nodes[k]
    if not node.children or (node.split is not None and node.split.unstable):
        return [k]
    return [end for child in node.children for end in _ends(nodes, child)]


def _below(nodes: Sequence[RegionNode], k: int) -> list[int]:
    node = nodes[k]
    if node.region >= 0:
        return [node.region]
    return [region for child in node.children for region in _below(nodes, child)]


def _splits(nodes: Sequence[RegionNode], k: int) -> Iterator[str]:
    """Yield the features that divide the rows of a node."""
    split, children = nodes[k].split, nodes[k].children
    if split is not None and children:
        yield split.feature
    for child in children:
        yield from _splits(nodes, child)


def _compared(regions: Regions) -> tuple[_Group, _Group, bool] | None:
    """Return two groups of rows to compare, and whether all rows are in one of them; None if there are none.

    They are the sides of the first split if it accounts for most of the differences, else those that differ most.
    """
    every, ends = _leaves(regions)
    known = [g for g in ends if g.kind != "none"]
    large = [g for g in known if g.share >= FEWEST_ROWS]
    found = _points(regions.whole, known) if len(known) > 1 else None
    if found is None:
        if len(large) < 2:
            return None
        first = max(large, key=lambda g: g.span * g.share**0.25)
        return (
            first,
            min((g for g in large if g is not first), key=lambda g: g.span),
            len(ends) == 2,
        )
    x, weight = found

    def centred(group: _Group) -> Floats:
        value = np.interp(x, group.curve.x, group.curve.value)
        return value - weight @ value

    def between(groups: Sequence[_Group]) -> float:
        """Return the variance between the curves of groups."""
        value, shares = np.array([centred(g) for g in groups]), np.array([g.share for g in groups])
        return float(shares @ (value - shares @ value / shares.sum()) ** 2 @ weight)

    sides = [_together(regions, every, child) for child in regions.nodes[0].children]
    whole = len(sides) == 2 and len(known) == len(ends) and all(g.kind != "none" for g in sides)
    if whole and between(sides) >= FIRST_SPLIT * between(ends):
        return sides[0], sides[1], True
    # Large regions count more.
    pairs = combinations(large, 2)
    best = max(
        pairs,
        key=lambda p: (
            (centred(p[0]) - centred(p[1])) ** 2 @ weight * (p[0].share * p[1].share) ** 0.5
        ),
        default=None,
    )
    return None if best is None else (*best, len(ends) == 2)


# ------------------------------------------------------------------------------------------- rules
def _rule(node: RegionNode) -> str:
    """Return a rule with short names."""
    texts = [
        c.text.replace(one_line(c.feature.title), named(c.feature.title, NAME_LENGTH), 1)
        for c in node.conditions
    ]
    if not texts:
        return shorten(one_line(node.rule), RULE_LENGTH)
    texts = [f"({t})" if len(texts) > 1 and t.endswith("missing") else t for t in texts]
    return with_minus(shorten(" and ".join(texts), RULE_LENGTH))


# ----------------------------------------------------------------------- sentences on a feature
@dataclass(frozen=True)
class _Words:
    """The names in the sentences about a feature, and its sizes in the unit of the quantity."""

    quantity: str
    unit: str
    raised: bool
    """Whether figures draw curves at the height of predictions."""

    def size(self, value: float) -> str:
        return f"{size(value)}{self.unit}"

    def sizes(self, group: _Group, values: Sequence[float]) -> str:
        """Return "67,000 to 217,000", the sizes of a group's curves; their average if similar, or of both signs."""
        low, high = (size(f(map(abs, values))) for f in (min, max))
        alike = (
            max(map(abs, values)) <= SIMILAR * min(map(abs, values))
            or min(values) * max(values) < 0
        )
        if alike or low == high:
            return self.size(float(np.average(values, weights=group.weights)))
        return f"{_several(values, low, high)}{self.unit}"

    def places(self, group: _Group, points: Sequence[int], at: str = "") -> str:
        """Return points of a curve with its values there; of more than two levels, the first and how many."""
        shown = points if len(points) < 3 else points[:1]
        texts: list[str] = []
        raised = self.raised and all(map(math.isfinite, group.levels))
        by = [feature_named(name) for name in group.divided_by]
        for k in shown:
            x = group.curve.x[k]
            values = [float(np.interp(x, c.x, c.value)) for c in group.parts]
            if raised:
                heights = [v + level for v, level in zip(values, group.levels, strict=True)]
                low, high = (within(f(heights), max(group.spans)) for f in (min, max))
                height = _several(heights, low, high) if high != low else low
                told, by = ([], by) if high == low else (by, [])  # said once
                facts = {"height": height, "unit": self.unit.strip(), "by": told}
                texts.append(tell(HEIGHT["drawn"], place=group.at(k), **facts))
            else:
                above = bool(np.average(values, weights=group.weights) > 0)
                around = self.sizes(group, values)
                texts.append(
                    tell(HEIGHT["around zero"], place=group.at(k), size=around, above=above)
                )
        others = len(points) - len(shown)
        return f"{at}{listed([*texts, *([counted(others, 'similar level')] if others else [])])}"


def _several(values: Sequence[float], low: str, high: str) -> str:
    """Return the values of several curves as text: both, or, of more than two, from which to which."""
    return f"{low} {'or' if len(values) == 2 else 'to'} {high}"


def _feature_story(section: ModelSection, effect: Effect, *, stated: bool) -> _Story | None:
    """Return what there is to say about a feature; None if its curve is within its errors."""
    regions = None if stated else regions_that_matter(section, effect.feature)
    unit = f" {named(effect.about.unit, NAME_LENGTH)}" if effect.about.unit else ""
    words = _Words(quantity_phrase(section), unit, section.scale == "prediction")
    name = feature_named(effect.feature)
    after = _other_rows(effect, words.quantity)
    if regions is not None:
        for text, features in _by_groups(regions, words):
            if 0 < len(text) <= LONGEST:
                said = tell(FEATURE["alone"], name=name, said=text, after=after)
                return _Story(Sentence("feature", (effect.feature, *features), said), features)
    group = _group(effect)
    others = None if stated else _depending(effect, 1.0 if _is_still(group) else DEVIATING)
    if _is_still(group) and others is None:
        return None
    facts: dict[str, object] = {}
    if others is not None:
        facts["deviation"] = words.size(effect.heterogeneity_score)
        facts["others"] = [feature_named(other) for other in others]
        if effect.depends_on is not None:
            facts["how"] = how_much(effect.depends_on.share)
    case = "still" if _is_still(group) else "alone" if others is None else "deviating"
    said = tell(
        FEATURE[case],
        name=name,
        said=_alone(group, words),
        quantity=words.quantity,
        after=after,
        **facts,
    )
    return _Story(Sentence("feature", (effect.feature, *(others or ())), said))


def _is_still(group: _Group) -> bool:
    return group.kind in ("none", "flat", "unclear")


def _by_groups(regions: Regions, words: _Words) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield sentences about the groups of rows of a feature and the features of these, the most detailed first."""
    _, ends = _leaves(regions)
    yield _each_change(ends, words), tuple(dict.fromkeys(f for g in ends for f in g.features))
    found = _compared(regions)
    if found is None:
        return
    a, b, whole = found
    features = tuple(dict.fromkeys((*a.features, *b.features)))
    yield _comparison(a, b, words, whole, "" if whole else _between(a, b, ends)), features
    # Positions, without the rows there; a curve that turns may be higher beyond them.
    a, b = (g if g.kind == "turns" else replace(g, part=math.nan) for g in (a, b))
    yield _comparison(a, b, words, whole), features


def _depending(effect: Effect, ratio: float) -> list[str] | None:
    """Return the feature by which an effect differs between rows, if it differs much: none if that is not known."""
    score, error = effect.heterogeneity_score, effect.heterogeneity_score_error
    if not score > max(ratio * effect.importance, ERRORS * float(np.nan_to_num(error))):
        return None
    return [] if effect.depends_on is None else [effect.depends_on.name]


def _alone(group: _Group, words: _Words, quantity: str | None = None) -> str:
    """Return the clause about one curve, without the name of the feature; empty if there is nothing to say."""
    if _is_still(group):
        return ""
    low, high = group.curve.x[[0, -1]]
    facts: dict[str, object] = {"change": group.change(low, high), **group.there}
    facts["size"] = words.sizes(group, group.changes(low, high))
    if group.kind == "two values":
        facts |= {"old": group.at(0), "new": group.at(1)}
    elif group.kind == "line":
        facts |= group.curve.ends() | group.curve.steep()
    else:
        facts |= group.curve.ends() if group.kind == "turns" else {}
        facts["top"] = words.places(group, group.tops())
        facts["bottom"] = words.places(replace(group, divided_by=()), group.bottoms())
    return tell(
        CURVE[group.kind], quantity=words.quantity if quantity is None else quantity, **facts
    )


def _each_change(groups: Sequence[_Group], words: _Words) -> str:
    """Return the change between two values in each of three or more groups; empty if it is not clear in all."""
    if len(groups) < 3 or any(g.kind != "two values" for g in groups):
        return ""
    if len({(g.at(0), g.at(1)) for g in groups}) > 1:
        return ""
    changes = {id(g): g.change(*g.curve.x) for g in groups}
    order = sorted(groups, key=lambda g: -abs(changes[id(g)]))
    change = changes[id(order[0])]
    told: dict[bool, list[str]] = {True: [], False: []}
    for k, g in enumerate(order):
        where = tell(WHERE, rule=g.rule, share=g.share, rows="" if k else "rows")
        same = changes[id(g)] * change > 0
        told[same].append(f"by {words.sizes(g, g.changes(*g.curve.x))} {where}")
    same, opposite = (", ".join(told[k]) for k in (True, False))
    facts = {"old": groups[0].at(0), "new": groups[0].at(1), "quantity": words.quantity}
    return tell(BY_GROUP, change=change, same=same, opposite=opposite, **facts)


# --- two groups of rows ---------------------------------------------------------------------------
def _comparison(a: _Group, b: _Group, words: _Words, whole: bool, rest: str = "") -> str:
    """Return the sentence that compares two groups, without the name of the feature; empty if there is none."""
    if a.span < b.span:
        a, b = b, a
    if _is_still(a):
        return ""
    case, facts = _pair(a, b, words)
    elsewhere = OTHERS
    if not whole or (" = " in a.rule and " = " in b.rule):
        elsewhere = tell(WHERE, rule=b.rule, share=b.share)
    known = {"said": _alone(a, words), "quantity": words.quantity, "where": a.where, "rest": rest}
    return tell(TWO_GROUPS[case], **(known | {"elsewhere": elsewhere} | facts))


def _pair(a: _Group, b: _Group, words: _Words) -> tuple[str, dict[str, object]]:
    """Return how the second group differs from the first one, a row of the table `TWO_GROUPS`, and its facts."""
    if _is_still(b):
        return "no change", {"clear": b.kind == "flat"}
    if a.kind == b.kind:
        change = _same_change(a, b, words)
        if change is not None:
            return change
        if a.kind == "turns" and not _same_top(a, b):
            start = a.curve.ends() | a.there | {"top": words.places(a, a.tops(), "at ")}
            return "two peaks", start | {"other": words.places(b, b.tops(), "at ")}
    if b.span >= LITTLE * a.span and not a.kind == b.kind == "turns":
        return "two shapes", {"other": _alone(b, words, "it")}
    return "less", {"only": max(b.spans) < LITTLE * a.span, "other": words.sizes(b, b.spans)}


def _same_change(a: _Group, b: _Group, words: _Words) -> tuple[str, dict[str, object]] | None:
    """Return the changes of both groups between the same values, levels or positions; None if there are none."""
    facts: dict[str, object] = {"quantity": words.quantity}
    if a.labels:
        ends = [float(a.curve.x[k]) for k in (a.curve.low, a.curve.high)]
        if not np.isin(ends, b.curve.x).all():
            return None
        case, low, high = "two values", *ends
        facts |= {"old": a.labels[int(low)], "new": a.labels[int(high)]}
    elif a.kind == "two values" and (a.at(0), a.at(1)) == (b.at(0), b.at(1)):
        case, (low, high) = "two values", a.curve.x
        facts |= {"old": a.at(0), "new": a.at(1)}
    else:
        span = _common_range([a.curve, b.curve]) if a.kind == "line" else None
        if span is None:
            return None
        case, (low, high) = "line", span
        whole = span == (a.curve.x[0], a.curve.x[-1])
        there = replace(a.curve, x=np.array(span), value=np.zeros(2))
        facts |= there.ends() | (a.there if whole else {}) | _common_steep(a, b)
    changes = a.change(low, high), b.change(low, high)
    facts |= {"change": changes[0], "size": words.sizes(a, a.changes(low, high))}
    said: dict[str, object] = {
        "said": tell(CURVE[case], **facts),
        "other": words.sizes(b, b.changes(low, high)),
    }
    if changes[0] * changes[1] > 0:
        return "same way", said
    return "other way" if case == "line" else "other way, two values", said | {"change": changes[1]}


def _same_top(a: _Group, b: _Group) -> bool:
    """Return whether both curves have their peaks at the same positions."""
    tops, tops_b = (np.sort(g.curve.x[g.tops()]) for g in (a, b))
    near = NEAR * float(np.ptp(a.curve.x))
    return len(tops) == len(tops_b) and bool((np.abs(tops - tops_b) <= near).all())


def _common_steep(a: _Group, b: _Group) -> dict[str, object]:
    """Return where both curves change most, as facts; none if they do not change most at the same positions."""
    part = a.curve.steep_part
    if part is None or not b.span > 0:
        return {}
    return a.curve.steep() if abs(b.change(*a.curve.x[list(part)])) > FIRST_SPLIT * b.span else {}


def _between(a: _Group, b: _Group, groups: Sequence[_Group]) -> str:
    """Return `OTHERS` if the changes of all other groups are clearly between those of two; else an empty text."""
    if any(g.kind not in ("two values", "line") for g in (a, b)):
        return ""
    low, high = sorted(g.change(*g.curve.x[[0, -1]]) for g in (a, b))
    margin = 0.1 * (high - low)
    others = [g for g in groups if g.rule not in (a.rule, b.rule)]
    nets = [g.change(*g.curve.x[[0, -1]]) if len(g.curve.x) else 0.0 for g in others]
    return OTHERS if nets and all(low + margin < v < high - margin for v in nets) else ""


def _other_rows(effect: Effect, quantity: str) -> str:
    """Return what lies beyond gaps, and the effect of missing values, if it is large, in sentences."""
    beyond = beyond_text(effect)
    said = [f"{beyond}."] if beyond else []
    point = effect.missing_point
    if point is not None and point.weight > 0:
        known = 0.0 if effect.bins is None else float(effect.bins.weight.sum())
        large = abs(point.effect) * math.sqrt(point.weight / (point.weight + known))
        clear = abs(point.effect) > ERRORS * np.nan_to_num(point.std_error)
        if clear and large >= SIZE_OF_REGIONS * effect_size(effect):
            said.append(tell(MISSING, quantity=quantity, change=point.effect))
    return " ".join(said)


# -------------------------------------------------------------------------- what sentences leave out
def _pair_finding(section: ModelSection, stories: Sequence[_Story]) -> list[Sentence]:
    """Return the strongest interaction, if it is a noticeable part of the variance and no sentence states it."""
    if not section.interactions.strengths or section.variance_shares is None:
        return []
    first = section.interactions.strengths[0]
    a, b = first.features
    # Second-order ALE is noisy with few rows, H² extrapolates, and a share depends on the score: all must agree.
    depending = (
        math.sqrt(max(first.share, 0.0)) * section.rhale[first.depending].heterogeneity_score
    )
    known = [v for v in (first.strength, first.h2_unnormalized, depending) if math.isfinite(v)]
    strength = min(known, default=0.0)
    if not strength**2 >= STRONG_PAIR * section.variance_shares.variance:
        return []
    stated = {
        frozenset((s.finding.features[0], f)) for s in stories for f in s.finding.features[1:]
    }
    if frozenset((a, b)) in stated:
        return []
    unit = f" {section.variance_shares.unit}" if section.variance_shares.unit else ""
    names = [feature_named(f, NAME_LENGTH) for f in (a, b)]
    quantity = quantity_phrase(section)
    text = tell(INTERACTION, names=names, quantity=quantity, size=f"{size(strength)}{unit}")
    return [Sentence("interaction", (a, b), text)]


def uncertainty_findings(section: ModelSection) -> list[Sentence]:
    """Return where the model is unsure, or what its uncertainty depends on, and which importances are misleading."""
    found = section.uncertainty
    if found is None:
        return []
    names = [r.feature for r in found.rhale.ranking() if r.importance > 0][:3]
    known = found.diagnosis
    said = () if known is None else known.summary
    if known is None or not known.unsure:
        said = (
            tell(MODEL["unsure" if names else "never unsure"], names=listed_features(names)),
            *said,
        )
    return [Sentence("uncertainty", tuple(names), text) for text in said]


def _model_findings(section: ModelSection) -> list[Sentence]:
    """Return which average effects describe few rows, which features have warnings, and which have no effect."""
    ranks = section.rhale.ranking()
    scored = [r for r in ranks if math.isfinite(r.heterogeneity_score)]
    top = max(r.importance for r in ranks)
    least = ROUNDING_NOISE * max([top, *(r.heterogeneity_score for r in scored)])
    differing = [r for r in scored if r.heterogeneity_score > least]
    differing.sort(key=lambda r: -r.heterogeneity_score)
    hidden = [r for r in differing if r.heterogeneity_score > max(r.importance, HIDDEN * top)]
    warned = {name: len(flags.warnings) for name, flags in section.checks.items() if flags.warnings}
    names = {
        "misleading" if hidden else "small": [r.feature for r in hidden or differing][:3],
        "warned": sorted(warned, key=lambda name: -warned[name]),
        "unused": [r.feature for r in ranks if r.importance == r.heterogeneity_score == 0],
    }
    found = [
        Sentence("model", tuple(some), tell(MODEL[case], names=listed_features(some)))
        for case, some in names.items()
        if some
    ]
    same = len(scored) == len(ranks) and not differing
    return [Sentence("model", (), MODEL["same"])] * same + found


def _poor_model(section: ModelSection) -> list[Sentence]:
    """Return that the model predicts poorly."""
    quality = section.quality
    for name, least in POOR.items():
        if quality is not None and name in quality and quality[name] < least:
            said = tell(MODEL["poor"], measure=name, value=fraction(quality[name]))
            return [Sentence("caution", (), said)]
    return []


def _weak_spot(section: ModelSection) -> list[Sentence]:
    """Return where the model is wrong on average, if its bias there is surely half of its mean absolute error."""
    wrong = section.where_wrong
    spot = None if wrong is None else wrong.large
    if wrong is None or spot is None:
        return []
    return [
        Sentence("caution", (), sentence(weak_spot_text(wrong.found, spot, wrong_phrase(section))))
    ]


def wrong_phrase(section: ModelSection) -> str:
    """Return what is too low or too high: the model, or its probability of a class."""
    if not section.class_name:
        return "the model"
    return f"the model's probability of “{named(section.class_name, NAME_LENGTH)}”"


def _warning_finding(section: ModelSection, found: Sequence[Sentence]) -> list[Sentence]:
    """Return the first warning on the most important feature."""
    feature = found[0].features[0] if found else ""
    codes = (c.code for c in section.checks.get(feature, ()) if c.severity == "warning")
    return [
        Sentence("caution", (feature,), tell(WARNING[code], name=feature_named(feature)))
        for code in codes
        if code in WARNING
    ][:1]
