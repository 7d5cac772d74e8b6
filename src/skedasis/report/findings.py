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
from skedasis._numbers import ROUNDING_NOISE, counted, number, percent
from skedasis._types import Floats
from skedasis.models.introspection import with_article
from skedasis.plots.scales import shorten
from skedasis.report.content import ModelSection
from skedasis.report.format import feature_named, listed, named
from skedasis.report.quality import Quality
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.checks.check import Check
from skedasis.results.curve_words import ERRORS, PROMINENCE, Curve, standard_errors
from skedasis.results.effect import BinnedEffect, Effect
from skedasis.results.effect_words import depends_on_text, is_told
from skedasis.results.main_stretch import beyond_text, stretch
from skedasis.results.regions import RegionNode, Regions, explained_share
from skedasis.results.variance_shares import VariancePart

LEAST_PART = 0.02
"""Features with a smaller fraction of the sum of all squared sizes are not mentioned."""

MISLEADING = 2.0
"""An average effect is stated with the differences between rows if their score is this many times the importance."""

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

TAIL = 0.01
"""What a curve does beyond the positions with this fraction of the rows is not mentioned, if it is much."""

MIDDLE, NARROW = (0.05, 0.95), 0.6
"""The middle 90 % of the rows, and the fraction of the axis below which a curve is described for these alone."""

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

POOR_R2, POOR_AUC = 0.3, 0.65
"""A model below is said to predict poorly."""

PART = 0.01
"""Parts of the variance below are not mentioned."""

ADDITIVE, NOT_ADDITIVE = 0.95, 0.15
"""What one curve per feature explains, of a model that is called nearly additive, and of one that is not."""

PAIR = 0.05
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
    model = with_article(named(section.model))
    over = f"on {counted(rows, 'row')} with {counted(features, 'feature')}"
    what = _of_target(section, target)
    said = f"Explains {what} by {model}" if what else f"Explains {_quantity(section)} of {model}"
    if section.quality is None and section.note:
        return f"{said} {over}."  # the caller says how well it predicts
    if section.quality is None:
        why = section.reasons.get("quality", "")
        what = "No labels: how" if why.startswith("No labels") else "How"
        return f"{said} {over}. {what} well it predicts is not known."
    return f"{said}: {quality_text(section.quality)}, {over}."


def _of_target(section: ModelSection, target: str) -> str:
    """Return the quantity with the name of the labels; empty without one, or for a name that the user has chosen."""
    if not target.strip():
        return ""
    name = named(target, NAME_LENGTH)
    if section.quantity == "prediction":
        return f"the prediction of {name}"
    if not section.class_name:
        return ""
    return f"the probability that {name} is “{named(section.class_name, NAME_LENGTH)}”"


def quality_text(quality: Quality) -> str:
    """Return how well a model predicts in a few words: "R² 0.95, mean absolute error 25"."""
    texts: list[str] = []
    if quality.kind == "regression":
        if "R²" in quality:
            r2 = quality["R²"]
            worse = " (worse than always predicting the mean)" if r2 < 0 else ""
            texts.append(f"R² {_decimals(r2)}{worse}")
        unit = next(m.text for m in quality.measures if m.name == "MAE").partition(" ")[2]
        texts.append(f"mean absolute error {_size(quality['MAE'])}{f' {unit}' if unit else ''}")
        return ", ".join(texts)
    if "AUC" in quality:
        texts.append(f"AUC {_decimals(quality['AUC'])}")
    usual = quality.most_frequent
    known = f" (most frequent class: {percent(usual)})" if math.isfinite(usual) else ""
    return ", ".join([*texts, f"accuracy {percent(quality['accuracy'])}{known}"])


def _decimals(value: float) -> str:
    """Return a number between 0 and 1 with two decimals, not rounded to 1."""
    text = f"{value:.2f}"
    return "above 0.99" if text == "1.00" and value < 1 else text.replace("-", "−")


def _quantity(section: ModelSection) -> str:
    """Return the quantity's name as part of a sentence."""
    name = section.quantity
    if name == "prediction":  # the default name, not one that the user has chosen
        return "the prediction"
    # A plural needs a noun to agree with the verbs of the sentences.
    return f"the value of {named(name)}" if re.search("[^s]s$", name) else named(name)


# ------------------------------------------------------------------------------------ all findings
def findings(section: ModelSection, *, most: int = 5) -> tuple[Sentence, ...]:
    """Return what a reader should know first, the most important finding first."""
    sizes = _sizes(section)
    if not sizes:
        text = f"No feature changes {_quantity(section)}: it is the same for all rows."
        return (Sentence("nothing", (), text),)
    poor = _poor_model(section)
    stories = list(_stories(section, sizes))
    pair = _pair_finding(section, stories)
    share = _share_finding(section, stories)
    closing = [f for f in (pair, share) if f is not None]
    found = [story.finding for story in stories[: max(most - len(poor) - len(closing), 1)]]
    last = [] if poor else _warning_finding(section, found)
    found += closing[: max(most - len(poor) - len(found) - len(last), 0)]
    if len(poor) + len(found) + len(last) < most:
        found += _uncertainty_finding(section)
    return tuple((*poor, *found, *last)[:most])


def _sizes(section: ModelSection) -> dict[str, float]:
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
    explained = False
    while left:
        name = max(left, key=lambda n: left[n])
        size = left.pop(name)
        if size**2 < LEAST_PART * total:
            break
        effect = section.rhale[name]
        stated = any(name in some for some in by.values())
        story = _feature_story(section, effect, stated=stated, first=not explained)
        if story is None:
            continue
        explained = explained or MEAN in story.finding.text
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
        story = _feature_story(section, section.rhale[name], stated=False, first=False)
        if story is not None:
            yield story


# ----------------------------------------------------------------------------- regions that matter
def regions_that_matter(section: ModelSection, feature: str) -> Regions | None:
    """Return the regions of a feature if they are told in sentences and drawn; otherwise None."""
    found, effect = section.regions.get(feature), section.rhale[feature]
    if found is None or len(found) < 2:
        return None
    # Where the rows of a region have one value of the feature, its curve there is about other rows.
    if any(feature in _conditioned(node) for node in found.nodes) or found.by == feature:
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
    """Some rows and their curve."""

    rule: str
    share: float
    curve: Curve
    labels: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    parts: tuple[_Group, ...] = ()
    part: float = 1.0
    own: bool = False

    @cached_property
    def turns(self) -> list[int]:
        return self.curve.turns

    @property
    def kind(self) -> str:
        """Return "none", "flat", "unclear", "pair" (two values), "levels", "line" or "turns"."""
        if len(self.curve.x) < 2:
            return "none"
        if self.curve.flat:
            return "flat" if self.curve.flat == "flat" else "unclear"
        if len(self.curve.x) == 2 and self._two_values:
            return "pair"
        return "levels" if self.labels else "turns" if self.turns else "line"

    @property
    def _two_values(self) -> bool:
        return bool(self.labels) or self.steps

    steps: bool = False

    @property
    def span(self) -> float:
        return float(np.ptp(self.curve.value))

    @property
    def where(self) -> str:
        """Return the rule with its rows."""
        return f"where {self.rule} ({percent(self.share)} of rows)"

    @property
    def spans(self) -> list[float]:
        """Return the range of the curve, or of each curve of which it is the average."""
        return [g.span for g in self.parts or (self,)]

    def change(self, low: float, high: float) -> float:
        """Return the change of a numeric curve between two positions."""
        first, last = np.interp([low, high], self.curve.x, self.curve.value)
        return float(last - first)

    def tops(self) -> list[int]:
        """Return the indices of the highest points, at most two, the highest first."""
        value, low = self.curve.value, self.curve.low
        if self.labels:
            return self._not_below(self.curve.high, 1.0)
        if self.kind != "turns":
            return [self.curve.high]
        candidates = [0, *self.turns, len(value) - 1]
        tops = [
            k
            for i, k in enumerate(candidates)
            if all(value[k] > value[j] for j in candidates[max(i - 1, 0) : i + 2] if j != k)
        ]
        least = value[low] + TALL * np.ptp(value)
        tops = [k for k in tops if value[k] >= least and value[k] > 0 and self._differs(k, low)]
        return sorted(tops, key=lambda k: -value[k])[:2] or [self.curve.high]

    def _differs(self, high: int, low: int) -> bool:
        """Return whether a point is higher than another one by more than its errors."""
        value, error = self.curve.value, self.curve.error
        return bool(value[high] - value[low] > ERRORS * math.hypot(error[high], error[low]))

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
        if self.labels:
            return self.labels[k]
        unit = f" {self.curve.unit}" if self.curve.unit else ""
        return f"{self.curve.place(k) if self.turns else self.curve.texts([k])[0]}{unit}"


def _group(
    effect: Effect, rule: str = "", share: float = 1.0, whole: Effect | None = None
) -> _Group:
    """Return an effect as a group; `whole` is the effect in all rows, whose middle 90 % the curve is about."""
    if not isinstance(effect.axis, LevelAxis):
        curve = Curve.of(effect).reliable
        steps = _takes_two_values(effect)
        if len(curve.x) < 2 or (len(curve.x) == 2 and steps):
            return _Group(rule, share, curve, steps=steps)
        middle = _restricted(curve, effect if whole is None else whole)
        own = middle is None and whole is not None
        middle = _restricted(curve, effect) if own else middle
        if middle is not None and (not middle[0].flat or curve.flat):
            return _Group(rule, share, middle[0], steps=steps, part=middle[1], own=own)
        inner, part = _without_tails(curve, effect)
        return _Group(rule, share, inner, steps=steps, part=part, own=whole is not None)
    known = np.flatnonzero(np.isfinite(effect.value))
    error = standard_errors(effect)[known]
    curve = Curve(known.astype(float), effect.value[known], error)
    labels = tuple(_label(effect.axis.levels.labels[k]) for k in known)
    return _Group(rule, share, curve, labels)


def _without_tails(curve: Curve, effect: Effect) -> tuple[Curve, float]:
    """Return a curve without an end of the axis with few rows and much of the change, and the fraction of its rows."""
    edges, cumulated = _distribution(effect)
    if len(edges) < 2:
        return curve, 1.0
    low = edges[:-1][cumulated[1:] > TAIL].min()
    high = edges[1:][cumulated[:-1] < 1 - TAIL].max()
    ends = np.interp([low, high], curve.x, curve.value)
    least = PROMINENCE * float(np.ptp(curve.value))
    # Ends where the curve changes little are kept: they are observed values, and known from the figure.
    low = low if abs(ends[0] - curve.value[0]) > least else float(curve.x[0])
    high = high if abs(ends[1] - curve.value[-1]) > least else float(curve.x[-1])
    inner = _between_ends(curve, low, high)
    below = np.interp([inner.x[0], inner.x[-1]], edges, cumulated)
    trimmed = inner.x[0] > curve.x[0] or inner.x[-1] < curve.x[-1]
    return inner, float(below[1] - below[0]) if trimmed else 1.0


def _restricted(curve: Curve, effect: Effect) -> tuple[Curve, float] | None:
    """Return a curve where the middle 90 % of the rows of an effect are, and their fraction."""
    low, high, part = _middle(effect)
    if part == 1 or low < curve.x[0] or high > curve.x[-1]:
        return None
    return _between_ends(curve, low, high), part


def _middle(effect: Effect) -> tuple[float, float, float]:
    """Return where the middle 90 % of the rows are, and their fraction; 1 if this is most of the axis."""
    edges, below = _distribution(effect)
    if len(edges) < 3:
        return -math.inf, math.inf, 1.0
    first = int(np.flatnonzero(below <= MIDDLE[0])[-1])
    last = int(np.flatnonzero(below >= MIDDLE[1])[0])
    low, high = float(edges[first]), float(edges[last])
    if high - low >= NARROW * float(edges[-1] - edges[0]):
        return -math.inf, math.inf, 1.0
    return low, high, float(below[last] - below[first])


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
    edges = np.clip(edges, *stretch(effect))
    total = float(weight.sum())
    if not total > 0:
        return np.zeros(0), np.zeros(0)
    return edges, np.append(0.0, np.cumsum(weight)) / total


def _takes_two_values(effect: Effect) -> bool:
    """Return whether a numeric feature has two values: its rows lie at the ends of its curve."""
    if len(effect.axis) != 2 or effect.time is not None:
        return False
    if effect.values is not None:
        return len(effect.values) == 2
    return effect.spec.local_effects == "value_steps"


def _label(text: str) -> str:
    return named(one_line(text), NAME_LENGTH)


def _groups(regions: Regions) -> tuple[_Group, _Group, bool] | None:
    """Return two groups of rows to compare, and whether all rows are in one of them; None if there are none."""
    leaves = _leaves(regions)
    known = [k for k, g in enumerate(leaves) if g.kind != "none"]
    if len(known) < 2:
        return None
    grid = _Grid.of(regions.whole, [leaves[k] for k in known])
    if grid is None:
        found, every = _most_unequal([leaves[k] for k in known]), False
    else:
        values = {k: grid.values(leaves[k]) for k in known}
        sides = _sides(regions) if len(known) == len(leaves) else None
        found = None if sides is None else _first_split(regions, leaves, values, sides, grid)
        every = found is not None
        found = found or _most_different(leaves, values, grid)
    return None if found is None else (*found, every or len(leaves) == 2)


def _leaves(regions: Regions) -> list[_Group]:
    """Return the groups of rows that stable splits make, each with the average curve of its regions."""
    total = max(regions.nodes[0].weight, np.finfo(float).tiny)
    every = [
        replace(_group(e, _rule(n), n.weight / total, regions.whole), features=_conditioned(n))
        for e, n in zip(regions.effects, regions.leaves, strict=True)
    ]
    return [
        _merged(regions.nodes[k], every, _below(regions.nodes, k)) for k in _ends(regions.nodes)
    ]


def _ends(nodes: Sequence[RegionNode], k: int = 0) -> list[int]:
    """Return the nodes below a node that no stable split divides."""
    node = nodes[k]
    if not node.children or (node.split is not None and node.split.unstable):
        return [k]
    return [end for child in node.children for end in _ends(nodes, child)]


def _merged(node: RegionNode, every: Sequence[_Group], regions: Sequence[int]) -> _Group:
    """Return the regions of a node as one group; without a curve if theirs share too little of the axis."""
    if len(regions) == 1:
        return every[regions[0]]
    parts = [every[k] for k in regions]
    group = None if any(g.kind == "none" for g in parts) else _average(parts)
    if group is None:
        none = np.zeros(0)
        group = replace(parts[0], curve=Curve(none, none, none), labels=())
    share = sum(g.share for g in parts)
    return replace(group, rule=_rule(node), share=share, features=_conditioned(node))


def _most_different(
    leaves: Sequence[_Group], values: Mapping[int, Floats], grid: _Grid
) -> tuple[_Group, _Group] | None:
    """Return the two regions whose curves differ most; None if fewer than two regions have enough rows."""
    pairs = list(combinations([k for k in values if leaves[k].share >= FEWEST_ROWS], 2))

    def contrast(pair: tuple[int, int]) -> float:
        """Return how different two curves are; large regions count more."""
        i, j = pair
        return grid.distance(values[i], values[j]) * (leaves[i].share * leaves[j].share) ** 0.25

    i, j = max(pairs, key=contrast, default=(0, 0))
    return (leaves[i], leaves[j]) if pairs else None


def _most_unequal(leaves: Sequence[_Group]) -> tuple[_Group, _Group] | None:
    """Return regions with a large and with the smallest range, where curves share too little of the axis."""
    large = [g for g in leaves if g.share >= FEWEST_ROWS]
    if len(large) < 2:
        return None
    first = max(large, key=lambda g: g.span * g.share**0.25)
    return first, min((g for g in large if g is not first), key=lambda g: g.span)


def _sides(regions: Regions) -> tuple[list[int], ...] | None:
    """Return the groups on both sides of the first split; None if there is no split in two."""
    children, ends = regions.nodes[0].children, _ends(regions.nodes)
    if len(children) != 2:
        return None
    return tuple([ends.index(k) for k in _ends(regions.nodes, c)] for c in children)


def _below(nodes: Sequence[RegionNode], k: int) -> list[int]:
    node = nodes[k]
    if node.region >= 0:
        return [node.region]
    return [region for child in node.children for region in _below(nodes, child)]


def _first_split(
    regions: Regions,
    leaves: Sequence[_Group],
    values: Mapping[int, Floats],
    sides: tuple[list[int], ...],
    grid: _Grid,
) -> tuple[_Group, _Group] | None:
    """Return both sides of the first split if it accounts for most of the differences; otherwise None."""
    shares = np.array([g.share for g in leaves])
    stacked = np.stack([values[k] for k in range(len(leaves))])
    means = [np.average(stacked[side], axis=0, weights=shares[side]) for side in sides]
    middle = np.average(stacked, axis=0, weights=shares)
    weights = [shares[side].sum() for side in sides]
    between = sum(w * grid.square(m - middle) for w, m in zip(weights, means, strict=True))
    total = sum(w * grid.square(v - middle) for w, v in zip(shares, stacked, strict=True))
    if between < FIRST_SPLIT * total:
        return None
    merged: list[_Group] = []
    nodes = regions.nodes
    for child, side, weight in zip(nodes[0].children, sides, weights, strict=True):
        curve = _average([leaves[k] for k in side])
        if curve is None:
            return None
        node = nodes[child]
        merged.append(
            replace(
                curve,
                rule=_rule(node),
                share=float(weight),
                features=_conditioned(node),
                parts=tuple(leaves[k] for k in side) if len(side) > 1 else (),
            )
        )
    return merged[0], merged[1]


def _average(groups: Sequence[_Group]) -> _Group | None:
    """Return the average of curves, weighted by rows; None if they share too little of the axis."""
    first, *others = groups
    if not others:
        return first
    weight = np.array([g.share for g in groups]) / sum(g.share for g in groups)
    if first.labels:
        shared = [lab for lab in first.labels if all(lab in g.labels for g in others)]
        if len(shared) < max(len(g.labels) for g in groups):
            return None
        places = [[g.labels.index(lab) for lab in shared] for g in groups]
        value = sum(
            w * g.curve.value[p] for w, g, p in zip(weight, groups, places, strict=True)
        ) + np.zeros(len(shared))
        error = np.sqrt(
            sum((w * g.curve.error[p]) ** 2 for w, g, p in zip(weight, groups, places, strict=True))
            + np.zeros(len(shared))
        )
        return replace(
            first,
            curve=Curve(np.arange(len(shared), dtype=float), value, error),
            labels=tuple(shared),
        )
    span = _common_range(groups)
    if span is None:
        return None
    x = np.unique(np.concatenate([g.curve.x for g in groups]))
    x = x[(x >= span[0]) & (x <= span[1])]
    value, error2 = np.zeros(len(x)), np.zeros(len(x))
    for w, g in zip(weight, groups, strict=True):
        value += w * np.interp(x, g.curve.x, g.curve.value)
        error2 += (w * np.interp(x, g.curve.x, g.curve.error)) ** 2
    curve = Curve(x, value, np.sqrt(error2), first.curve.time, first.curve.unit)
    # Rows can be counted only if all curves are about the same ones.
    alike = all(
        (g.part, g.own, g.curve.x[0], g.curve.x[-1]) == (first.part, False, *span) for g in groups
    )
    return replace(
        first,
        curve=curve,
        steps=all(g.steps for g in groups),
        part=first.part if alike else 1.0 if all(g.part == 1 for g in groups) else math.nan,
        own=False,
    )


def _common_range(groups: Sequence[_Group]) -> tuple[float, float] | None:
    """Return the part of the axis that all curves have, if it is most of the axis of each of them."""
    ends = np.array([(g.curve.x[0], g.curve.x[-1]) for g in groups])
    low, high = float(ends[:, 0].max()), float(ends[:, 1].min())
    return (low, high) if high - low >= COMMON_RANGE * np.ptp(ends, axis=1).max() else None


@dataclass(frozen=True, eq=False)
class _Grid:
    """Points at which curves are compared, as often as the feature has these values."""

    x: Floats
    weight: Floats
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, whole: Effect, groups: Sequence[_Group]) -> _Grid | None:
        """Return the points for some groups; None if their curves share no point."""
        if isinstance(whole.axis, LevelAxis):
            levels = whole.axis.levels
            labels = [_label(text) for text in levels.labels]
            shared = [k for k, label in enumerate(labels) if all(label in g.labels for g in groups)]
            weight = levels.weight[shared]
            if len(shared) < 2 or not weight.sum() > 0:
                return None
            names = tuple(labels[k] for k in shared)
            return cls(np.arange(len(shared), dtype=float), weight / weight.sum(), names)
        low = max(g.curve.x[0] for g in groups)
        high = min(g.curve.x[-1] for g in groups)
        if not low < high:
            return None
        if _takes_two_values(whole):
            # Of two values with fractions p and 1 - p the standard deviation is sqrt(p (1 - p)) steps.
            variance = (whole.about.feature_std / (high - low)) ** 2
            p = (1 + math.sqrt(max(1 - 4 * variance, 0.0))) / 2
            return cls(np.array([low, high]), np.array([p, 1 - p]))
        x = _quantiles(whole, low, high)
        return cls(x, np.full(len(x), 1 / len(x)))

    def values(self, group: _Group) -> Floats:
        """Return a curve at the points, minus its mean."""
        if self.labels:
            value = group.curve.value[[group.labels.index(label) for label in self.labels]]
        else:
            value = np.interp(self.x, group.curve.x, group.curve.value)
        return value - self.weight @ value

    def square(self, difference: Floats) -> float:
        return float(self.weight @ difference**2)

    def distance(self, a: Floats, b: Floats) -> float:
        """Return the standard deviation of the difference of two curves, halved: of each from their middle."""
        return math.sqrt(self.square(a - b)) / 2


def _quantiles(effect: Effect, low: float, high: float, points: int = 101) -> Floats:
    """Return positions from low to high, each for the same fraction of the rows."""
    edges, cumulated = _distribution(effect)
    if len(edges) < 2:
        return np.linspace(low, high, points)
    first, last = np.interp([low, high], edges, cumulated)
    if not first < last:
        return np.linspace(low, high, points)
    return np.interp(np.linspace(first, last, points), cumulated, edges)


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
    return re.sub(r"(?<=[ {(])-(?=\d)|^-(?=\d)", "−", shorten(" and ".join(texts), RULE_LENGTH))


def _conditioned(node: RegionNode) -> tuple[str, ...]:
    return tuple(c.feature.name for c in node.conditions)


# ----------------------------------------------------------------------- sentences on a feature
@dataclass(frozen=True)
class _Words:
    """The names in the sentences about a feature."""

    quantity: str
    unit: str
    first: bool

    def size(self, value: float) -> str:
        return f"{_size(abs(value))}{self.unit}"

    def sizes(self, values: Sequence[float], mean: float) -> str:
        """Return "67,000 to 217,000", or the size of their mean if they are similar."""
        low, high = sorted(abs(v) for v in (min(values, key=abs), max(values, key=abs)))
        texts = _size(low), _size(high)
        if high <= SIMILAR * low or texts[0] == texts[1]:
            return self.size(mean)
        return f"{texts[0]} to {texts[1]}{self.unit}"

    def signed(self, value: float, *, explained: bool = True) -> str:
        """Return a value of a curve, "+430"; the first one says what it is compared with."""
        text = f"{_signed(value)}{self.unit}"
        if explained or not self.first:
            return text
        return f"{text} {'above' if value > 0 else 'below'} {MEAN}"


MEAN = "the curve's mean"
"""What numbers in parentheses are compared with: the mean of the curve over the rows that it is about."""


def _feature_story(
    section: ModelSection, effect: Effect, *, stated: bool, first: bool
) -> _Story | None:
    """Return what there is to say about a feature; None if its curve is within its errors."""
    regions = None if stated else regions_that_matter(section, effect.feature)
    unit = effect.about.unit
    words = _Words(_quantity(section), f" {named(unit, NAME_LENGTH)}" if unit else "", first)
    name = feature_named(effect.feature)
    leaves = [] if regions is None else _leaves(regions)
    text = _each_change(leaves, words)
    if 0 < len(text) <= LONGEST - len(name):
        by = tuple(dict.fromkeys(f for leaf in leaves for f in leaf.features))
        text = _with_other_rows(f"{name}: {text}.", effect)
        return _Story(Sentence("feature", (effect.feature, *by), text), by)
    found = None if regions is None else _groups(regions)
    if found is not None:
        a, b, whole = found
        text = _comparison(a, b, words, elsewhere=whole)
        if len(text) > LONGEST:
            a, b = (replace(g, part=1.0) for g in (a, b))  # positions, without the rows there
            text = _comparison(a, b, words, elsewhere=whole)
        between = f"{text}{_between(a, b, regions, whole)}"
        text = between if len(between) <= LONGEST else text
        if text and len(text) <= LONGEST:
            by = tuple(dict.fromkeys((*a.features, *b.features)))
            text = _with_other_rows(f"{name}: {text}.", effect)
            return _Story(Sentence("feature", (effect.feature, *by), text), by)
    text = _alone(_group(effect), words)
    others = None if stated else _depending(section, effect, MISLEADING if text else 1.0)
    if others is not None:
        depends = _depending_on(effect, others)
        differ = f"rows differ from this by {words.size(effect.heterogeneity_score)}{depends}"
        text = f"{text or f'no clear change of {words.quantity}'} on average; {differ}"
    if not text:
        return None
    features = (effect.feature, *(others or ()))
    return _Story(Sentence("feature", features, _with_other_rows(f"{name}: {text}.", effect)))


def _depending(section: ModelSection, effect: Effect, ratio: float) -> list[str] | None:
    """Return the feature by which an effect differs between rows most, if it is known."""
    score, error = effect.heterogeneity_score, effect.heterogeneity_score_error
    if not score > max(ratio * effect.importance, ERRORS * float(np.nan_to_num(error))):
        return None
    if effect.depends_on is not None:
        return [effect.depends_on.name]
    strengths = section.interactions.strengths
    pair = next((s.features for s in strengths if effect.feature in s.features), ())
    return [f for f in pair if f != effect.feature]


def _depending_on(effect: Effect, others: Sequence[str]) -> str:
    """Return by which feature rows differ: ", mostly by workingday (62 % ± 3 %)"; empty if it is not known."""
    if effect.depends_on is not None:
        return f", {depends_on_text(effect.depends_on, feature_named(effect.depends_on.name))}"
    return f", depending on {listed(others)}" if others else ""


def _alone(group: _Group, words: _Words) -> str:
    """Return the sentence about one curve, without the name of the feature; empty if there is none."""
    kind, q = group.kind, words.quantity
    if kind == "pair":
        return _pair_clause(group, words)
    if kind == "line":
        return f"{q} {_line_clause(group, words)}"
    if kind in ("turns", "levels"):
        return f"{_range(group)}{q} is {_extrema_clause(group, words)}"
    return ""


def _range(group: _Group) -> str:
    """Return "between 3 and 100 (90 % of the rows), " if a curve with turns is restricted to these."""
    if group.part == 1:
        return ""
    a, b = group.curve.texts([0, len(group.curve.x) - 1])
    unit = f" {group.curve.unit}" if group.curve.unit else ""
    return f"between {a} and {b}{unit}{_rows_there(group)}, "


def _rows_there(group: _Group) -> str:
    rows = "these" if group.own else "the"
    return f" ({percent(group.part)} of {rows} rows)" if group.part < 1 else ""


def _pair_clause(group: _Group, words: _Words) -> str:
    """Return "1 instead of 0 raises the prediction by 85"."""
    other, one, change = _instead(group)
    way = "raises" if change > 0 else "lowers"
    return f"{one} instead of {other} {way} {words.quantity} by {words.size(change)}"


def _each_change(leaves: Sequence[_Group], words: _Words) -> str:
    """Return the change between two values in each of three or more regions; empty if it is not clear in all."""
    if len(leaves) < 3 or any(leaf.kind != "pair" for leaf in leaves):
        return ""
    if len({(leaf.at(0), leaf.at(1)) for leaf in leaves}) > 1:
        return ""
    changes = [_instead(leaf)[2] for leaf in leaves]
    order = sorted(range(len(leaves)), key=lambda k: -abs(changes[k]))
    rises = changes[order[0]] > 0
    parts: list[str] = []
    for same in (True, False):
        some = [k for k in order if (changes[k] > 0) == (rises == same)]
        if not some:
            continue
        verb = "raises" if rises == same else "lowers"
        told = [f"by {words.size(changes[k])} {leaves[k].where}" for k in some]
        what = words.quantity if same else "it"
        parts.append(f"{verb} {what} {', '.join(told)}")
    other, one, _ = _instead(leaves[0])
    text = f"{one} instead of {other} {', and '.join(parts)}"
    first, *rest = text.split(" of rows)")
    return f"{first} of rows){')'.join(rest)}"


def _instead(group: _Group) -> tuple[str, str, float]:
    """Return the first and the second value of a feature with two, and the change from the first to the second."""
    first, second = (group.at(k) for k in (0, 1))
    return first, second, float(group.curve.value[1] - group.curve.value[0])


def _line_clause(group: _Group, words: _Words, span: tuple[float, float] | None = None) -> str:
    """Return "rises by 21 from 1 to 90 days, mostly between 3 and 28"."""
    curve = group.curve
    low, high = (curve.x[0], curve.x[-1]) if span is None else span
    change = group.change(low, high)
    unit = f" {curve.unit}" if curve.unit else ""
    at = replace(curve, x=np.array([low, high])).texts([0, 1])
    said = f"{'rises' if change > 0 else 'falls'} by {words.size(change)} from {at[0]} to {at[1]}{unit}"
    whole = (low, high) == (curve.x[0], curve.x[-1])
    said += _rows_there(group) if whole else ""
    return said + (_steep(group) if span is None else "")


def _steep(group: _Group) -> str:
    part = group.curve.steep_part
    if part is None:
        return ""
    a, b = group.curve.texts(part)
    return f", mostly between {a} and {b}" if a != b else f", mostly at {a}"


def _extrema_clause(group: _Group, words: _Words) -> str:
    """Return "highest at 17 (+380 above the curve's mean) and 8 (+270), lowest at 4 (−170)"."""
    highest = f"highest {_places(group, group.tops(), words)}"
    return f"{highest}, lowest {_places(group, group.bottoms(), replace(words, first=False))}"


def _places(group: _Group, points: Sequence[int], words: _Words) -> str:
    """Return "at 17 (+380 …) and 8 (+270)"; of more than two levels, the first and how many."""
    value = group.curve.value
    shown = points if len(points) < 3 else points[:1]
    texts = [
        f"{group.at(k)} ({words.signed(float(value[k]), explained=j > 0)})"
        for j, k in enumerate(shown)
    ]
    if len(shown) < len(points):
        texts.append(counted(len(points) - 1, "similar level"))
    return f"{'for' if group.labels else 'at'} {' and '.join(texts)}"


# --- two groups of rows ---------------------------------------------------------------------------
def _comparison(a: _Group, b: _Group, words: _Words, *, elsewhere: bool) -> str:
    """Return the sentence that compares two curves, without the name of the feature; empty if there is none."""
    if a.span < b.span:
        a, b = b, a
    other = _other(a, b, elsewhere=elsewhere)
    if a.kind in ("none", "flat", "unclear"):
        return ""
    if b.kind in ("flat", "unclear"):
        clearly = "" if b.kind == "flat" else "clearly "
        said = _alone(a, words)
        comma = "," if "mostly" in said else ""
        return f"{said}{comma} {a.where}, does not {clearly}change it {other}"
    text = _of_one_kind(a, b, words, other) if a.kind == b.kind else ""
    if text:
        return text
    if b.span >= LITTLE * a.span and not a.kind == b.kind == "turns":
        rest = _alone(b, replace(words, quantity="it", first=False))
        return f"{a.where}, {_alone(a, words)}; {other}, {rest}"
    only = "only " if max(b.spans) < LITTLE * a.span else ""
    rest = f"it varies by {only}{words.sizes(b.spans, b.span)}"
    comma = "" if other == "elsewhere" else ","
    return f"{a.where}, {_alone(a, words)}; {other}{comma} {rest}"


def _of_one_kind(a: _Group, b: _Group, words: _Words, other: str) -> str:
    """Return the sentence that compares two curves of one shape; empty if they need a sentence each."""
    if a.kind == "pair" and (a.at(0), a.at(1)) == (b.at(0), b.at(1)):
        changes = [_instead(g)[2] for g in (b, *b.parts)]
        return _two_changes(_pair_clause(a, words), a, _instead(a)[2], changes, words, other)
    if a.kind == "levels":
        return _two_level_curves(a, b, words, other)
    span = _common_range([a, b])
    if a.kind == "line" and span is not None:
        steep = _common_steep(a, b)
        start = f"{words.quantity} {_line_clause(a, words, span)}{steep}{',' if steep else ''}"
        changes = [g.change(*span) for g in (b, *b.parts)]
        return _two_changes(start, a, a.change(*span), changes, words, other)
    if a.kind == "turns" and not _same_top(a, b):
        highest = f"{words.quantity} is highest {_places(a, a.tops(), words)} {a.where}"
        return f"{_range(a)}{highest}, {_places(b, b.tops(), replace(words, first=False))} {other}"
    return ""


def _same_top(a: _Group, b: _Group) -> bool:
    """Return whether both curves have their peaks at the same positions."""
    tops, tops_b = (np.sort(g.curve.x[g.tops()]) for g in (a, b))
    near = NEAR * float(np.ptp(a.curve.x))
    return len(tops) == len(tops_b) and bool((np.abs(tops - tops_b) <= near).all())


def _common_steep(a: _Group, b: _Group) -> str:
    """Return where both curves change most; empty if they do not change most at the same positions."""
    part = a.curve.steep_part
    if part is None or not b.span > 0:
        return ""
    low, high = a.curve.x[list(part)]
    return _steep(a) if abs(b.change(low, high)) > FIRST_SPLIT * b.span else ""


def _other(a: _Group, b: _Group, *, elsewhere: bool) -> str:
    """Return where the second curve holds: its rule, or "elsewhere" if the rules exclude each other."""
    if not elsewhere or (" = " in a.rule and " = " in b.rule):
        return b.where.replace(" of rows)", ")")
    return "elsewhere"


def _two_changes(
    start: str, a: _Group, change: float, changes: Sequence[float], words: _Words, other: str
) -> str:
    """Return "… by 28 where cement > 350 (40 % of rows), by 15 elsewhere"."""
    mean, *each = changes
    # One range has no words for changes in both directions.
    size = words.sizes(each, mean) if each and min(each) * max(each) > 0 else words.size(mean)
    if change * mean > 0:
        return f"{start} {a.where}, by {size} {other}"
    way = (
        ("raises" if " raises " in start or " lowers " in start else "rises")
        if mean > 0
        else ("lowers" if " raises " in start or " lowers " in start else "falls")
    )
    it = " it" if way in ("raises", "lowers") else ""
    return f"{start} {a.where}, and {way}{it} by {size} {other}"


def _two_level_curves(a: _Group, b: _Group, words: _Words, other: str) -> str:
    """Compare the highest with the lowest level of the first curve; empty if the second curve lacks one of them."""
    high, low = a.labels[a.curve.high], a.labels[a.curve.low]
    if high not in b.labels or low not in b.labels:
        return ""
    changes = [
        float(g.curve.value[g.labels.index(high)] - g.curve.value[g.labels.index(low)])
        for g in (b, *b.parts)
    ]
    change = float(np.ptp(a.curve.value))
    start = f"{high} instead of {low} raises {words.quantity} by {words.size(change)}"
    return _two_changes(start, a, change, changes, words, other)


def _between(a: _Group, b: _Group, regions: Regions | None, whole: bool) -> str:
    """Return ", by values between these elsewhere" if the changes of all other curves are clearly between the two."""
    if whole or regions is None or a.kind not in ("pair", "line") or b.kind not in ("pair", "line"):
        return ""
    low, high = sorted(_net(g) for g in (a, b))
    margin = 0.1 * (high - low)
    others = [_net(g) for g in _leaves(regions) if g.rule not in (a.rule, b.rule)]
    if not others or not all(low + margin < v < high - margin for v in others):
        return ""
    return f", {'by' if low * high > 0 else 'with'} values between these elsewhere"


def _net(group: _Group) -> float:
    value = group.curve.value
    return float(value[-1] - value[0]) if len(value) > 1 else 0.0


def _with_other_rows(text: str, effect: Effect) -> str:
    """Add what lies beyond gaps, and the effect of missing values, if it is large."""
    beyond = beyond_text(effect)
    text = f"{text} {beyond}." if beyond else text
    point = effect.missing_point
    if point is None or not point.weight > 0:
        return text
    bins = effect.bins
    known = 0.0 if bins is None else float(bins.weight.sum())
    share = point.weight / (point.weight + known)
    size = abs(point.effect) * math.sqrt(share)
    if size < SIZE_OF_REGIONS * effect_size(effect) or abs(point.effect) <= ERRORS * np.nan_to_num(
        point.std_error
    ):
        return text
    way = "higher" if point.effect > 0 else "lower"
    return f"{text} Where it is missing, the average is {_size(abs(point.effect))} {way} than with a value."


# -------------------------------------------------------------------------- what sentences leave out
def _pair_finding(section: ModelSection, stories: Sequence[_Story]) -> Sentence | None:
    """Return the strongest interaction, if it is a noticeable part of the variance and no sentence states it."""
    if not section.interactions.strengths or section.variance_shares is None:
        return None
    first = section.interactions.strengths[0]
    a, b = first.features
    # Second-order ALE is noisy with few rows, H² extrapolates, and a share depends on the score: all must agree.
    depending = (
        math.sqrt(max(first.share, 0.0)) * section.rhale[first.depending].heterogeneity_score
    )
    known = [v for v in (first.strength, first.h2_unnormalized, depending) if math.isfinite(v)]
    size = min(known, default=0.0)
    if not size**2 >= PAIR * section.variance_shares.variance:
        return None
    stated = {
        frozenset((s.finding.features[0], f)) for s in stories for f in s.finding.features[1:]
    }
    if frozenset((a, b)) in stated:
        return None
    unit = f" {section.variance_shares.unit}" if section.variance_shares.unit else ""
    text = (
        f"{feature_named(a, NAME_LENGTH)} and {feature_named(b, NAME_LENGTH)} interact most strongly: "
        "together they change "
        f"{_quantity(section)} by {_size(size)}{unit} (standard deviation) beyond their own curves."
    )
    return Sentence("interaction", (a, b), text)


def _share_finding(section: ModelSection, stories: Sequence[_Story]) -> Sentence | None:
    """Return what curves, regions and pairs explain of the variance; None for a single feature."""
    variance_shares = section.variance_shares
    if variance_shares is None or len(section.rhale) < 2:
        return None
    main, *parts, rest = variance_shares.parts
    of = f"of the variance of {_quantity(section)}"
    names, added = _added(parts)
    if main.share < NOT_ADDITIVE:
        share = "next to nothing" if main.share < PART else percent(main.share)
        text = f"The model is not additive: one curve per feature explains {share} {of}"
    elif main.share >= ADDITIVE and not any(story.by for story in stories):
        alone = _no_scores(section)
        share = "all" if alone and main.share > 1 - PART else percent(min(main.share, 1.0))
        how = "do not interact" if alone else "hardly interact"
        return Sentence(
            "share", (), f"One curve per feature explains {share} {of}: the features {how}."
        )
    else:
        text = f"One curve per feature explains {percent(main.share)} {of}"
    if not added and rest.share >= PART:
        text += "; the rest is not explained"
    elif added:
        left = f"; {percent(rest.share)} is not explained" if rest.share >= PART else ""
        text += f"; {added}{left}"
    return Sentence("share", names, f"{text}.")


def _no_scores(section: ModelSection) -> bool:
    scores = [e.heterogeneity_score for e in section.rhale.values()]
    top = section.largest_importance
    return all(s <= ROUNDING_NOISE * top for s in scores)


def _added(parts: Sequence[VariancePart]) -> tuple[tuple[str, ...], str]:
    """Return the features that are named, and the text: "separate curves for groups of rows … add 21 %, …"."""
    regions, pairs = (
        [p for p in parts if p.kind == kind and p.share > 0] for kind in ("regions", "pairs")
    )
    texts: list[str] = []
    names: tuple[str, ...] = ()
    total = sum(p.share for p in regions)
    if total >= PART:
        large = [p for p in regions if p.share >= PART] or regions[:1]
        names = tuple(p.features[0] for p in large[:3])
        of = listed([feature_named(name, NAME_LENGTH) for name in names])
        every = f"separate curves of {of} for groups of rows add"
        some = f"separate curves for groups of rows, mostly of {of}, add"
        texts.append(f"{some if len(names) < len(regions) else every} {percent(total)}")
    total = sum(p.share for p in pairs)
    if total >= PART:
        texts.append(f"pairs of features {'' if texts else 'add '}{percent(total)}")
    return names, ", ".join(texts)


def _uncertainty_finding(section: ModelSection) -> list[Sentence]:
    found = section.uncertainty
    if found is None:
        return []
    names = [r.feature for r in found.rhale.ranking() if r.importance > 0][:2]
    if not names:
        return []
    said = found.diagnosis.unsure if found.diagnosis is not None else ""
    text = said or f"How unsure the model is depends most on {listed(names)}."
    return [Sentence("uncertainty", tuple(names), text)]


def _poor_model(section: ModelSection) -> list[Sentence]:
    """Return that the model predicts poorly."""
    quality = section.quality
    if quality is None:
        return []
    poor = ""
    if "R²" in quality and quality["R²"] < POOR_R2:
        poor = f"R² {_decimals(quality['R²'])}"
    elif "AUC" in quality and quality["AUC"] < POOR_AUC:
        poor = f"AUC {_decimals(quality['AUC'])}"
    if not poor:
        return []
    text = f"The model predicts poorly ({poor}), so its explanation says little about the data."
    return [Sentence("caution", (), text)]


_WARNINGS = {
    "slope_mismatch": "the slopes of the model do not match its predictions",
    "extrapolation": "its curve or its heterogeneity needs predictions for rows far from the data",
    "disagreement": "PDP shows a clearly different curve, because features depend on one another",
    "rows_outside": "its curve leaves out rows outside the edges",
    "gap": "some of its values lie beyond a wide gap, and may be codes",
    "slope_changes": "its slope changes within bins",
    "no_rows": "part of its curve has no rows",
    "few_rows": "part of its curve has few rows",
    "one_row": "part of its curve has a single row",
}


def _warning_finding(section: ModelSection, found: Sequence[Sentence]) -> list[Sentence]:
    """Return the first warning on the most important feature."""
    for finding in found[:1]:
        feature = finding.features[0]
        for check in section.checks.get(feature, ()):
            text = _warning_text(check)
            if text:
                return [
                    Sentence("caution", (feature,), f"{feature_named(feature)}: caution, {text}.")
                ]
    return []


def _warning_text(check: Check) -> str:
    return _WARNINGS.get(check.code, "") if check.severity == "warning" else ""


# ----------------------------------------------------------------------------------------- numbers
def _size(value: float) -> str:
    """Return a size with two significant digits: "430", "0.22", "12,000"."""
    if value == 0 or not math.isfinite(value):
        return number(value)
    rounded = float(f"{value:.1e}")
    return number(rounded, 2)


def _signed(value: float) -> str:
    text = _size(abs(value))
    return f"−{text}" if value < 0 else f"+{text}"
