"""Sentences of a report: descriptions of effects, captions, and what to look at first.

Every sentence is computed from a result and says no more than it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats
from skedasis.plots.figures.effect_parts import local_effects
from skedasis.plots.scales import NOISE, count, number, number_or_zero, places, with_error
from skedasis.report import categorical_text
from skedasis.report.categorical_text import quoted
from skedasis.report.content import Told
from skedasis.report.format import Numbers, listed, named, percent
from skedasis.results.build.linear_form import drawn
from skedasis.results.effect import BinStats, Effect

# ------------------------------------------------------------------------------------------
# A report's words and numbers: what a picture shows, said so that it can be read aloud.


LEVEL = 0.95
"""Of the intervals that are spoken of."""


_ALIKE = 0.25
"""Heterogeneity score as a share of the importance, below which the average holds for nearly every row."""


# ------------------------------------------------------------------------------------ one effect
def against(effect: Effect) -> float | None:
    """Return the share of rows whose local effect has the sign opposite to their bin's mean; of levels, of their steps.

    None where no rows are kept, or there are no bins.
    """
    if effect.levels is not None:
        return categorical_text.against(effect)
    rows, bins, local = effect.rows, effect.bins, local_effects(effect.rows)
    if rows is None or local is None or bins is None or len(bins) == 0:
        return None
    edges = bins.edges
    side = "right" if effect.spec.closed == "left" else "left"
    place = np.clip(np.searchsorted(edges, rows.x, side) - 1, 0, len(bins) - 1)
    mean = bins.effect[place] + bins.trend[place] * (rows.x - (bins.low + bins.high)[place] / 2)
    opposite = local * np.sign(np.nan_to_num(mean)) < 0
    return float(np.average(opposite, weights=rows.weight)) if len(rows) else None


def course(effect: Effect, unit: str) -> str:
    """Say how the curve goes: up, down, or both; or which levels stand highest and lowest."""
    if effect.levels is not None:
        return categorical_text.course(effect, effect.levels)
    x, value = drawn(effect.bins, effect.points, effect.value)
    x, value = x[np.isfinite(value)], value[np.isfinite(value)]
    if len(x) < 2:
        return "It takes a single value in these rows: there is no effect to see."
    low, high = places(x[[0, -1]], effect.time)
    total, path = float(value[-1] - value[0]), float(np.abs(np.diff(value)).sum())
    where = f"Between {low} and {high}{' ' + unit if unit else ''}"
    way = "rises" if total > 0 else "falls"
    if path == 0:
        return f"{where} the average effect is flat."
    if abs(total) > 0.9 * path:
        return f"{where} the average effect {way} by {number(abs(total))}."
    ends = np.array([x[value.argmin()], x[value.argmax()]])
    lowest, highest = places(ends, effect.time)
    return (
        f"{where} the average effect moves by {number(float(np.ptp(value)))}, lowest at {lowest} and highest at "
        f"{highest}; from end to end it {way} by {number(abs(total))}."
    )


def scatter(effect: Effect) -> str:
    """Say how far the rows differ from the average."""
    if effect.bins is not None and len(effect.bins) == 0:
        return ""  # a single value, or a single level
    if effect.importance == 0 and effect.heterogeneity_score == 0:
        return "The prediction of no row changes with it."
    kept = "rows" if effect.rows is None or effect.rows.exact else "kept rows"
    if effect.levels is not None:
        return _compared(effect) + categorical_text.opposite(effect, kept)
    share = against(effect)
    opposite = (
        ""
        if share is None
        else f" No {kept[:-1]}’s slope points the other way than its bin’s average."
        if share == 0
        else f" For {percent(share)} of the {kept} the slope points the other way than their bin’s average."
    )
    return _compared(effect) + opposite


def _compared(effect: Effect) -> str:
    """Say what the heterogeneity score means, given the importance."""
    score, importance = effect.heterogeneity_score, effect.importance
    if math.isnan(score):
        return "The heterogeneity score was not computed."
    written = with_error(score, effect.heterogeneity_score_error, importance)
    size = f"Heterogeneity score {written}, importance {number_or_zero(importance, score)}: "
    if score <= NOISE * importance:
        return size + "the effect is the same for all rows."
    if score < _ALIKE * importance:
        return size + "the average effect holds for nearly every row."
    if score < importance:
        return size + "rows differ, though less than the average effect moves."
    shown = "curve describes" if effect.levels is None else "averages of the levels describe"
    return size + f"rows differ more than the average effect moves, so the {shown} few rows."


def certainty(rhale: Effect, ale: Effect) -> str:
    """Say how well the average curve is known, and how far two ways to compute it differ."""
    lower, upper = rhale.interval(LEVEL)
    half = (upper - lower)[np.isfinite(upper - lower)] / 2
    if len(half) == 0 or len(rhale.points) < 2:
        return ""
    largest = float(np.nanmax(np.abs(rhale.value), initial=0.0))
    widest = number(_nonzero(float(half.max()), largest), 2)
    text = f"Where it is least certain, the average lies within ±\u202f{widest} ({percent(LEVEL)} interval)."
    if rhale.levels is not None:
        return text  # both are the same steps
    apart = apart_from(ale, rhale)
    if apart is not None:
        text += (
            f" ALE differs from it by at most {number(apart, 2)}."
            if apart > 0
            else " ALE gives the same curve."
        )
    return text


def apart_from(ale: Effect, rhale: Effect) -> float | None:
    """Return the largest difference between the curves of ALE and RHALE, 0 up to rounding; None without a point."""
    shifted = aligned(ale, rhale)
    there = np.isfinite(shifted)
    if not there.any():
        return None
    largest = float(np.nanmax(np.abs(rhale.value), initial=0.0))
    return _nonzero(float(np.abs(shifted - rhale.at(ale.points))[there].max()), largest)


def _nonzero(value: float, largest: float) -> float:
    """Return a size, 0 if it is what only rounding has left of a zero."""
    return value if value > NOISE * largest else 0.0


def aligned(ale: Effect, rhale: Effect) -> Floats:
    """Return the values of an ALE, moved to the mean over the rows that a RHALE has.

    Each is centred by its own bins; what there is to compare are their shapes.
    """
    value = np.where(np.isfinite(rhale.at(ale.points)), ale.value, np.nan)
    x = ale.points if rhale.rows is None else rhale.rows.x
    weight = None if rhale.rows is None else rhale.rows.weight
    gap = ale.at(x) - rhale.at(x)
    there = np.isfinite(gap)
    if not there.any():
        return value
    return value - np.average(gap[there], weights=None if weight is None else weight[there])


def missing(effect: Effect) -> str:
    """Say what it does to miss the feature; nothing where no row misses it, or that is not known."""
    if effect.levels is not None and effect.missing_point is None:
        return categorical_text.missing(effect.levels, effect)
    point = effect.missing_point
    if point is None:
        return ""
    rows = f"In the {count(point.count, 'row')} without a value"
    values = "its observed values" if point.exact else "quantiles of its observed values"
    if point.effect == 0:
        return (
            f"{rows}, missing it changes nothing on average, compared with {values} in its place."
        )
    way = "raises" if point.effect > 0 else "lowers"
    error = point.std_error
    known = math.isfinite(error) and error >= NOISE * abs(point.effect)
    sure = f" (standard error {number(error, 2)})" if known else ""
    return (
        f"{rows}, missing it {way} the prediction by {number(abs(point.effect))}{sure} on average, compared "
        f"with {values} in its place."
    )


def order(effect: Effect) -> str:
    """Say what the order of a categorical feature's levels is."""
    return "" if effect.levels is None else categorical_text.order(effect, effect.levels)


def doubts(effect: Effect, *, objected: bool = False) -> list[str]:
    """Return what to mind about one effect; nothing of few rows where that was objected to."""
    found = (
        _of_bins(effect, objected=objected)
        if effect.levels is None
        else categorical_text.doubts(effect, effect.levels, objected=objected)
    )
    if effect.provenance.get("missing"):
        said = str(effect.provenance["missing"]).splitlines()[0].strip()
        found.append(said[:1].upper() + said[1:])
    if effect.rows is not None and not effect.rows.exact:
        found.append(
            f"Drawn from a seeded sample of {count(len(effect.rows), 'row')}; the curve rests on all."
        )
    return found


def _of_bins(effect: Effect, *, objected: bool) -> list[str]:
    """Return what to mind about a numeric feature's bins and rows."""
    found: list[str] = []
    bins = effect.bins
    if bins is not None and effect.untrusted_rows and not objected:
        weak = int((~bins.trusted & ~bins.empty).sum())
        found.append(
            f"{count(effect.untrusted_rows, 'row')} in {count(weak, 'bin')} of fewer than 10: "
            "not to be trusted there (hatched)."
        )
    if bins is not None and bins.empty.any():
        found.append(
            f"{count(int(bins.empty.sum()), 'bin')} without rows: the curve is joined across."
        )
    if effect.missing:
        found.append(f"{count(effect.missing, 'row')} without a value: left out of the curve.")
    if effect.provenance.get("rows_outside"):
        found.append(
            f"{count(effect.provenance['rows_outside'], 'row')} outside the bins: left out."
        )
    return found


# ------------------------------------------------------------------------------------- one model
def gist(told: Told) -> list[str]:
    """Return the few sentences that a reader with one minute should take away about a model.

    How well it predicts; which features move it; where the average hides something; how far their effects add up; which
    pair acts together; what is not to be trusted; what makes it unsure. Each is there only where there is cause.
    """
    ranks = told.rhale.ranking()
    moving = [r for r in ranks if r.importance > 0]
    if not moving:
        return [*quality(told), f"No feature changes {_quantity_phrase(told)} on average."]
    first = [r.feature for r in moving[:3]]
    said = [
        *quality(told),
        f"On average, {_quantity_phrase(told)} depends most on {listed(first)}.",
    ]
    said += _gist_of_rows(told)
    said += [*ledger(told), *together(told)]
    said += [*trust(told), *unsure(told)]
    idle = [r.feature for r in ranks if r.importance == 0 and r.heterogeneity_score == 0]
    if idle:
        said.append(f"Without any effect: {listed(idle)}.")
    return said


def _quantity_phrase(told: Told) -> str:
    """Return what is explained, within a sentence."""
    # "prediction" is no name that a user has given.
    return "the prediction" if told.quantity == "prediction" else named(told.quantity)


def _gist_of_rows(told: Told) -> list[str]:
    """Say where effects differ between rows; nothing without heterogeneity scores."""
    ranks = [r for r in told.rhale.ranking() if math.isfinite(r.heterogeneity_score)]
    if not ranks:
        return []
    ranks.sort(key=lambda r: -r.heterogeneity_score)
    top = max(r.importance for r in ranks)
    least = NOISE * max(top, ranks[0].heterogeneity_score)
    differing = [r for r in ranks if r.heterogeneity_score > least]
    if not differing:
        return ["The effect of every feature is the same for all rows."]
    hidden = [r for r in differing if r.heterogeneity_score > r.importance]
    weighty = [r.feature for r in hidden if r.heterogeneity_score >= 0.2 * top]
    if weighty:
        return [
            f"The average effect is most misleading for {listed(weighty[:3])}: rows differ more than it moves."
        ]
    most = f"The effect of {listed([r.feature for r in differing[:3]])} varies most between rows"
    return [f"{most}, though for every feature that matters by less than its average moves."]


@dataclass(frozen=True)
class Line:
    """A ranking's line, ready to be shown.

    Parameters
    ----------
    feature, importance, heterogeneity_score : str
    bins, untrusted, missing : str
    """

    feature: str
    importance: str
    heterogeneity_score: str
    bins: str
    untrusted: str
    missing: str


def ranking(told: Told) -> list[Line]:
    """Return a model's ranking by RHALE, most important first."""
    ranks = told.rhale.ranking()
    top = max(
        [v for r in ranks for v in (r.importance, r.heterogeneity_score) if v > 0], default=1.0
    )
    return [
        Line(
            r.feature,
            number_or_zero(r.importance, top),
            number_or_zero(r.heterogeneity_score, top),
            f"{r.bins:,}",
            f"{r.untrusted_rows:,}",
            f"{r.missing:,}",
        )
        for r in ranks
    ]


def numbers(effect: Effect, axis: str, per: str) -> list[Numbers]:
    """Return an effect's tables: its bins; or its levels, and the steps between them.

    Parameters
    ----------
    effect : Effect
    axis, per : str
        The quantity with its unit, and what slopes are given per.
    """
    if effect.levels is not None:
        return (
            categorical_text.tables(effect, effect.levels, axis) if len(effect.points) > 1 else []
        )
    rows = bins_table(effect)
    heads = (
        *(("From", False), ("To", False), ("Rows", False), ("Mean slope", False)),
        *(("Its spread (std)", False), ("Standard error", False), ("Remark", True)),
    )
    caption = f"{effect.spec.method}; slopes in units of {axis} per {per}"
    return [Numbers(caption, heads, rows)] if rows else []


def bins_table(effect: Effect) -> list[tuple[str, ...]]:
    """Return the bins' numbers: from, to, rows, slope (M-plots: mean), its spread, its standard error, remark."""
    bins = effect.bins
    if bins is None or len(bins) == 0 or effect.levels is not None:
        return []
    edges = places(bins.edges, effect.time)
    remarks = [
        "empty" if empty else "" if trusted else "not to be trusted"
        for empty, trusted in zip(bins.empty, bins.trusted, strict=True)
    ]
    return [
        (
            edges[k],
            edges[k + 1],
            f"{bins.count[k]:,}",
            _slope(bins, k),
            number(float(bins.std[k])),
            number(float(bins.std_error[k])),
            remarks[k],
        )
        for k in range(len(bins))
    ]


def _slope(bins: BinStats, k: int) -> str:
    """Return a bin's slope, or those at its two ends where it changes."""
    if not bins.trend[k]:
        return number(float(bins.effect[k]))
    first, last = (number(float(end[k])) for end in bins.ends)
    return f"{first} … {last}"


# ------------------------------------------------------------------------------------------
# What a report's figures show, said in words: names for files, captions, and texts for those who do not see them.


@dataclass(frozen=True)
class Caption:
    """A figure in words.

    Parameters
    ----------
    name : str
        For a file, without its ending.
    alt, text : str
        What it shows, for those who do not see it; and what it is.
    title : str
        What `alt` begins with, short.
    """

    name: str
    alt: str
    text: str
    title: str = ""

    @property
    def rest(self) -> str:
        """Return `alt` for those who have been told the title."""
        rest = self.alt.removeprefix(self.title).lstrip(" ,")
        return rest[:1].upper() + rest[1:]


def of_rhale(told: Told, feature: str) -> Caption:
    """Return the words of a feature's RHALE; of a nominal feature's ALE."""
    effect = told.rhale[feature]
    method = effect.spec.method
    if effect.levels is not None:
        said = (course(effect, ""), scatter(effect), missing(effect))
        at = count(len(effect.points), "level")
        text = (
            f"{method} at each level: the average effect and how rows differ from it; "
            "below, the steps from level to level."
        )
        alt = f"{method} of {_effect_of(told, feature)}, at {at}. {_joined(said)}"
        return Caption(f"{feature} {method}", alt, text, f"{method} of {named(feature)}")
    bins = 0 if effect.bins is None else len(effect.bins)
    said = (course(effect, unit_of(effect)), scatter(effect), missing(effect))
    alt = f"RHALE of {_effect_of(told, feature)}, in {count(bins, 'bin')}. {_joined(said)}"
    text = "RHALE: the average effect and how rows differ from it; below, the slopes in each bin."
    return Caption(f"{feature} RHALE", alt, text, f"RHALE of {named(feature)}")


def of_compared(told: Told, feature: str, methods: Sequence[str]) -> Caption:
    """Return the words of several methods' curves laid over one another."""
    names = listed(list(methods))
    alt = f"{names} of {_effect_of(told, feature)}, each minus its mean over the data."
    rise = {m: _range(e) for m, e in of_methods(told, feature).items() if m in methods}
    sizes = [f"{m} moves by {number(size)}" for m, size in rise.items() if np.isfinite(size)]
    if sizes:
        alt += f" {listed(sizes)}."
    text = f"{names}: where they diverge, features depend on each other."
    return Caption(f"{feature} methods", alt, text, f"{names} of {named(feature)}")


def of_methods(told: Told, feature: str) -> dict[str, Effect]:
    """Return what there is of a feature to lay over one another, by the method's name."""
    found = {"ALE": told.ale[feature], "PDP": told.pdp[feature]}
    return found | ({"M-plot": told.mplot[feature]} if feature in told.mplot else {})


def _range(effect: Effect) -> float:
    there = effect.value[np.isfinite(effect.value)]
    return float(np.ptp(there)) if len(there) else float("nan")


def of_pdp(told: Told, feature: str) -> Caption:
    """Return the words of a feature's PDP with its individual curves."""
    effect = told.pdp[feature]
    curves = 0 if effect.curves is None else len(effect.curves)
    centred = effect.spec.center == "mean"
    spread = number(float(np.nanmax(effect.heterogeneity)))
    start = "around zero" if centred else "from a common start"
    drawn = f", with {count(curves, 'individual curve')} {start}" if curves else ""
    alt = (
        f"PDP of {_effect_of(told, feature)}{drawn}. "
        f"{course(effect, unit_of(effect))} Where they have parted most, the rows’ curves have a standard "
        f"deviation of {spread}."
    )
    text = (
        f"PDP with c-ICE: the average of all rows and {count(curves, 'row')} one by one."
        if curves
        else "PDP: the average of all rows."
    )
    if centred and curves:
        text += " Each row’s mean over the levels is zero."
    elif effect.levels is not None and curves:
        text += f" All are zero at {quoted(effect.levels.labels[0])}."
    return Caption(f"{feature} PDP", alt, text, f"PDP of {named(feature)}")


def of_all(told: Told, most: int | None = None) -> Caption:
    """Return the words of all features' RHALE on shared scales; of at most so many, the most important ones."""
    ranks = [r.feature for r in told.rhale.ranking()][:most]
    methods = {told.rhale[f].spec.method for f in ranks}
    what = "ALE" if methods == {"ALE"} else "RHALE"
    besides = " (of features without an order: ALE)" if len(methods) > 1 else ""
    alt = (
        f"{what}{besides} of {count(len(ranks), 'feature')} on {told.axis}, {named(told.name)}, on shared scales, "
        f"the most important first: {listed(ranks)}."
    )
    which = (
        "every feature"
        if len(ranks) == len(told.rhale)
        else f"the {len(ranks)} most important features"
    )
    return Caption("all features", alt, f"{what} of {which}{besides}, {named(told.name)}.")


def unit_of(effect: Effect) -> str:
    """Return the feature's unit, or nothing."""
    return effect.about.feature.unit or ""


def _effect_of(told: Told, feature: str) -> str:
    """Say whose effect is shown, on what, and of which model."""
    return f"{named(feature)} on {told.axis}, {named(told.name)}"


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(s for s in sentences if s)


# ------------------------------------------------------------------------------------------
# What to look at first, in sentences: each one stands there only for its cause.


CALIBRATED = 0.05
"""Probabilities that are farther off than that, on average, are spoken of."""


WORTH = 0.01
"""Of the variance: pairs that explain less are not."""


def quality(told: Told) -> list[str]:
    """Say how well the model predicts, where labels are given."""
    found = told.quality
    if found is None:
        return []
    off = found.calibration_error > CALIBRATED
    return [found.said[0], *found.said[1:2]] if off else [found.said[0]]


def ledger(told: Told) -> list[str]:
    """Say how much the effects add up to, without and with pairs."""
    found = told.ledger
    if found is None:
        return []
    return [
        " ".join(found.said[:-1] if found.rest else found.said)
    ]  # the rest stands below the figure


def together(told: Told) -> list[str]:
    """Name the pair that interacts most strongly, if that is worth a sentence."""
    shares = {} if told.ledger is None else told.ledger.pairs
    known = [s for s in told.together.strengths if shares.get(s.features, 0.0) >= WORTH]
    if not known:
        return []
    (a, b), strength = known[0].features, known[0].strength
    top = max(e.importance for e in told.rhale.values())
    text = f"Of the computed pairs, {named(a)} and {named(b)} interact most strongly"
    return [
        f"{text}: interaction strength {number(strength)}, where the largest importance is {number(top)}."
    ]


def trust(told: Told) -> list[str]:
    """Name the features that have warnings."""
    warned = {name: len(flags.warnings) for name, flags in told.trust.items() if flags.warnings}
    if not warned:
        return []
    total, most = sum(warned.values()), sorted(warned, key=lambda name: -warned[name])
    warnings = "warning" if total == 1 else count(total, "warning")
    return [f"Check the {warnings} on {listed(most, 5)}."]


def unsure(told: Told) -> list[str]:
    """Say what the predictive uncertainty depends on, and whose importance understates or misleads."""
    found = told.unsure
    if found is None:
        return []
    moving = [r.feature for r in found.rhale.ranking() if r.importance > 0]
    said = [f"Predictive uncertainty depends most on {listed(moving[:3])}."] if moving else []
    if found.diagnosis is not None:
        for kind, text in (
            (
                "shared",
                "These features share information with others, so they matter more than their importance says",
            ),
            ("misleading", "The model would predict better without the values of"),
        ):
            names = [v.feature for v in found.diagnosis.verdicts if v.kind == kind]
            said += _named(text, names, kind)
    return said


def _named(text: str, names: Sequence[str], kind: str) -> list[str]:
    if not names:
        return []
    return [f"{text}: {listed(names, 5)}." if kind == "shared" else f"{text} {listed(names, 5)}."]
