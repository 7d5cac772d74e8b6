"""Strongest interactions of a report, and the variance that the effects explain.

`strongest_pairs` selects candidate pairs by heterogeneity score, computes their second-order ALE, and ranks them by
interaction strength. `explained_variance` evaluates all effects at the rows and compares their sum with the quantity:
``R² = 1 - Var(q - sum of effects) / Var(q)``, first with the main effects, then with the interactions shown. Called by
`skedasis.report.content`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats, Ints, Values
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE
from skedasis.plots.scales import ROUNDING_NOISE, counted, number
from skedasis.report.format import listed, percent
from skedasis.report.passes import Label, ModelRunner
from skedasis.results.axis import LevelAxis, LevelPairAxis
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface

# ------------------------------------------------------------------------------- strongest pairs
CANDIDATES = 5
"""Largest number of features whose pairs are computed."""


MODEL_ROWS = 2_000_000
"""Limit on the total cost of all pairs, which cost 4 N model rows each; one pair is computed in any case."""


LEVELS = 50
"""Largest number of levels of a categorical feature in a pair: a surface with more levels is unreadable."""


METHOD = ALE()


@dataclass(frozen=True)
class PairStrength:
    """Interaction strength of a candidate pair.

    Parameters
    ----------
    features : (str, str)
    strength : float
        `Surface.interaction_strength`: the standard deviation of the second-order effect over the rows, in units of the
        quantity. Cells without rows do not count.
    shown : bool
        Whether its surface is drawn.
    """

    features: tuple[str, str]
    strength: float
    shown: bool


@dataclass(frozen=True, eq=False)
class Interactions:
    """The interactions of one output.

    Parameters
    ----------
    surfaces : tuple of Surface
        Second-order ALE of the strongest pairs.
    strengths : tuple of PairStrength
        All candidates, strongest first.
    note : str
        How the candidates were chosen, or why there are none.
    """

    surfaces: tuple[Surface, ...] = ()
    strengths: tuple[PairStrength, ...] = ()
    note: str = ""


def strongest_pairs(
    runner: ModelRunner,
    effects: Mapping[Label, Effects],
    shown: int,
    rows: int,
    *,
    trees_evaluated: bool,
) -> dict[Label, Interactions]:
    """Return the strongest pairs of each output.

    Parameters
    ----------
    runner : ModelRunner
    effects : dict of label to Effects
        RHALE of single features.
    shown : int
        Largest number of surfaces per output; 0 computes none.
    rows : int
    trees_evaluated : bool
        Whether effects are computed from the tree structure, so that candidates cost no model rows.

    Notes
    -----
    Candidates are all pairs of the `CANDIDATES` features with the largest heterogeneity scores, or of fewer features if
    4 N model rows per pair would exceed `MODEL_ROWS`. A feature with score zero has no interactions. Without scores,
    the most important features are used.
    """
    if shown < 1:
        return dict.fromkeys(effects, Interactions(note="The report was written with pairs=0."))
    single = next(iter(effects.values()))
    order = candidates(list(effects.values()))
    most = CANDIDATES if trees_evaluated else _affordable(rows)
    chosen = [name for name in single if name in order[:most]]
    if len(chosen) < 2:
        why = "Fewer than two features have a heterogeneity score above zero, so no features interact."
        return dict.fromkeys(effects, Interactions(note=why))
    pairs = [p for p in itertools.combinations(chosen, 2) if _disjoint_columns(single, p)]
    drawn = [p for p in pairs if not _both_nominal(single, p)]
    try:
        found = runner.surfaces(METHOD, drawn) if drawn else {}
    except (DataError, UnsupportedError) as error:
        return dict.fromkeys(effects, Interactions(note=str(error).splitlines()[0]))
    by = "heterogeneity score" if _has_scores(single) else "importance"
    note = _note(chosen, by, len(order), (most, rows, len(pairs) - len(drawn)))
    return {label: _rank_pairs(found.get(label, {}), shown, note) for label in effects}


def candidates(effects: Sequence[Effects]) -> list[str]:
    """Return the features that may interact, by decreasing heterogeneity score.

    Without scores, the importance is used. Outputs may differ in their units: each score is divided by the output's
    largest one, and the maximum over the outputs counts.
    """
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


def _affordable(rows: int) -> int:
    """Return the largest number of features whose pairs cost at most `MODEL_ROWS`."""
    fits = [k for k in range(2, CANDIDATES + 1) if k * (k - 1) // 2 * 4 * rows <= MODEL_ROWS]
    return max(fits, default=2)


def _disjoint_columns(effects: Effects, pair: tuple[str, str]) -> bool:
    """Return whether two features share no column; a group and one of its members do share one."""
    first, second = (set(effects[name].about.feature.columns) for name in pair)
    return first.isdisjoint(second)


def _both_nominal(effects: Effects, pair: tuple[str, str]) -> bool:
    """Return whether both features are nominal: such pairs are left out, because second-order ALE needs an order."""
    return all(effects[name].about.feature.kind == "nominal" for name in pair)


def _rank_pairs(found: Mapping[tuple[str, str], Surface], shown: int, note: str) -> Interactions:
    strengths = {pair: s.interaction_strength() for pair, s in found.items()}
    # Without kept rows the interaction strength is NaN; such pairs keep their order.
    order = sorted(found, key=lambda p: -strengths[p] if math.isfinite(strengths[p]) else 0.0)
    scale = max((abs(v) for v in strengths.values() if math.isfinite(v)), default=0.0)
    largest = max(
        (float(abs(s.main[k]).max()) for s in found.values() if s.main for k in (0, 1)), default=0.0
    )
    least = ROUNDING_NOISE * max(scale, largest)
    kept = [p for p in order if not strengths[p] <= least][:shown]
    lines = tuple(PairStrength(p, strengths[p], p in kept) for p in order)
    return Interactions(tuple(found[p] for p in kept), lines, note)


def _note(chosen: Sequence[str], by: str, among: int, limits: tuple[int, int, int]) -> str:
    """Return a note on which pairs were computed, and why no others.

    Parameters
    ----------
    chosen : sequence of str
        The features whose pairs were computed.
    by : str
        The criterion by which they were chosen.
    among : int
        Number of features from which they were chosen.
    limits : tuple of int
        Largest number of features, number of rows of X, and number of pairs of nominal features left out.
    """
    most, rows, unordered = limits
    pairs = len(chosen) * (len(chosen) - 1) // 2 - unordered
    note = f"{counted(pairs, 'pair')} computed, of {listed(chosen)}"
    if unordered:
        note = f"{counted(unordered, 'pair')} of nominal features left out because these have no order; {note}"
    if among <= len(chosen):
        return f"{note}: all features whose {by} is above zero."
    note += f": the features with the largest {by}, of {among}"
    if most < CANDIDATES:
        note += f" (no more, because each pair costs {4 * rows:,} model rows)"
    return f"{note}."


# ---------------------------------------------------------------------------- explained variance
_MIN_REST = 0.005
"""Fraction of the variance; a smaller unexplained rest is not mentioned."""


@dataclass(frozen=True, eq=False)
class ExplainedVariance:
    """Fractions of the variance of the quantity over the rows that sums of effects explain.

    Parameters
    ----------
    variance : float
        Variance of the quantity at the rows, in its unit squared.
    additive : float
        ``1 - Var(q - sum of the main effects) / Var(q)``. Negative if the sum fits the quantity worse than its mean.
    with_pairs : float or None
        The same including the interactions shown; None if none is shown.
    main_shares : dict of str to float
        ``Var(effect) / Var(q)`` of each feature, largest first. These sum to `additive` only if features are
        independent and do not interact.
    pair_shares : dict of (str, str) to float
        ``Var(effect) / Var(q)`` of each interaction shown.
    sentences : tuple of str
        The result in words.
    has_rest : bool
        Whether the last sentence explains the unexplained rest.
    """

    variance: float
    additive: float
    with_pairs: float | None
    main_shares: Mapping[str, float]
    pair_shares: Mapping[tuple[str, str], float]
    sentences: tuple[str, ...]
    has_rest: bool = False

    @property
    def shares(self) -> dict[str, float]:
        """Return the parts of the variance, which sum to 1 and may be negative: main effects, interactions, rest."""
        parts = {"main effects": self.additive}
        if self.with_pairs is not None:
            parts["interactions shown"] = self.with_pairs - self.additive
        return {**parts, "not explained": 1.0 - sum(parts.values())}


def explained_variance(
    values: Floats,
    dataset: Dataset,
    effects: Mapping[str, Effect],
    surfaces: Sequence[Surface],
) -> tuple[ExplainedVariance | None, str]:
    """Return the explained variance, or None and the reason.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        The quantity at the rows.
    dataset : Dataset
        These rows.
    effects : mapping of str to Effect
        Main effects: RHALE, or ALE for nominal features.
    surfaces : sequence of Surface
        Second-order effects.

    Notes
    -----
    Costs no model rows. A row with a missing number gets the effect of missing values if there is one, else the mean 0.
    """
    weight = np.ones(len(values)) if dataset.weights is None else dataset.weights
    total = _variance(values, weight)
    if len(values) < 2 or not total > (ROUNDING_NOISE * float(np.abs(values).max())) ** 2:
        return None, "The prediction is the same for all rows, so it has no variance to explain."
    parts = {n: at_rows(e, dataset) for n, e in effects.items()}
    summed = np.sum(list(parts.values()), axis=0)
    additive = 1 - _variance(values - summed, weight) / total
    alone = {n: _variance(v, weight) / total for n, v in parts.items()}
    joint = {s.features: surface_at_rows(s, dataset) for s in surfaces}
    with_pairs = None
    if joint:
        summed = summed + np.sum(list(joint.values()), axis=0)
        with_pairs = 1 - _variance(values - summed, weight) / total
    pairs = {k: _variance(v, weight) / total for k, v in joint.items()}
    found = ExplainedVariance(
        total,
        additive,
        with_pairs,
        dict(sorted(alone.items(), key=lambda item: -item[1])),
        pairs,
        tuple(_sentences(additive, with_pairs, len(parts), len(pairs))),
        _rest(additive, with_pairs) > _MIN_REST,
    )
    return found, ""


def _rest(additive: float, with_pairs: float | None) -> float:
    return 1 - (additive if with_pairs is None else with_pairs)


def _variance(x: Floats, weight: Floats) -> float:
    share = weight / weight.sum()
    return float(share @ (x - share @ x) ** 2)


def _sentences(additive: float, with_pairs: float | None, features: int, pairs: int) -> list[str]:
    model = "The effect of 1 feature"
    if features > 1:
        model = f"The sum of the {features:,} main effects"
    text = f"{model} explains {percent_of(additive)} of the variance of the prediction."
    if additive < 0:
        text = (
            f"{model} fits the prediction worse than its mean does ({percent_of(additive)} of its variance): features "
            "depend on one another, or interact, so strongly that one curve per feature says little."
        )
    sentences = [text]
    if with_pairs is not None:
        shown = f"the {pairs} interactions shown" if pairs > 1 else "the interaction shown"
        sentences.append(f"With {shown}, it explains {percent_of(with_pairs)}.")
        if with_pairs < additive - ROUNDING_NOISE:
            sentences.append(
                "This is less, because effects of pairs do not add up if features depend on one another."
            )
    rest = _rest(additive, with_pairs)
    if rest > _MIN_REST:
        other = "interactions not shown" if pairs else "interactions"
        sentences.append(
            f"The rest, {percent_of(rest)}, is due to {other}, dependence between features, features left out, and "
            "detail lost to binning."
        )
    return sentences


def percent_of(share: float) -> str:
    r"""Return a fraction as a percentage, also if it is negative; below −1000 % as a multiple.

    Examples
    --------
    >>> percent_of(-0.25), percent_of(0.987), percent_of(-41.0)
    ('−25\u202f%', '99\u202f%', '−41.0 times')
    """
    if share < -10:
        return f"{number(share)} times"
    return f"−{percent(-share)}" if share < 0 else percent(share)


# ---------------------------------------------------------------------------------- at the rows
def at_rows(effect: Effect, dataset: Dataset) -> Floats:
    """Return an effect at each row, shape (n,); 0, its mean, where it is not defined."""
    feature = effect.about.feature
    if isinstance(effect.axis, LevelAxis):
        place = _level_codes(effect.axis.levels.labels, feature, dataset)
        value = np.where(place >= 0, effect.value[place], np.nan)
        observed = place >= 0
    else:
        x = _numbers(feature, dataset)
        value, observed = effect.at(x), np.isfinite(x)
    point = effect.missing_point
    missing = 0.0 if point is None or not np.isfinite(point.value) else point.value
    return np.where(observed, np.nan_to_num(value), missing)


def surface_at_rows(surface: Surface, dataset: Dataset) -> Floats:
    """Return a surface at each row, shape (n,); 0 where it is not defined."""
    x: list[Values] = []
    for side, about in zip(surface.sides, surface.abouts, strict=True):
        if not isinstance(side, LevelPairAxis):
            x.append(_numbers(about.feature, dataset))
            continue
        labels = side.levels.labels
        # A marker for rows of no level: None would be the level of missing values.
        names = np.array([*labels, object()], dtype=object)
        x.append(names[_level_codes(labels, about.feature, dataset)])
    return np.nan_to_num(surface.at(*x))


def _numbers(feature: Feature, dataset: Dataset) -> Floats:
    x, own = (
        dataset.floats(feature.position),
        dataset.features[feature.position].time,
    )
    # The time axis of other rows may have another origin.
    return x if feature.time is None or own is None else own.onto(feature.time, x)


def _level_codes(labels: Sequence[str], feature: Feature, dataset: Dataset) -> Ints:
    """Return the code of each row among an effect's levels, -1 for other levels."""
    column = dataset.levels(feature, top=len(dataset))
    known = {label: k for k, label in enumerate(labels)}
    place = np.array([known.get(label, -1) for label in column.levels.labels] + [-1])
    return place[column.codes]
