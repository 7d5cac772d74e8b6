"""Reliability checks of effects and surfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skedasis._arguments import check_probability
from skedasis._numbers import counted, p_value, percent
from skedasis._numbers import number as number_text
from skedasis._types import Bools, Floats, TableLike
from skedasis.data.gaps import Gap
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError
from skedasis.results.axis import LevelAxis, LevelPairAxis, LevelStats, PairAxis
from skedasis.results.build.pairs import HOME
from skedasis.results.checks.advice import (
    BETWEEN_VALUES,
    automatic_bins,
    between_values,
    bins_that_resolve,
    coarser_surface,
    instead_of_accumulated,
    instead_of_swept,
    instead_of_swept_surface,
    of_rare_levels,
    wider_bins,
)
from skedasis.results.checks.check import (
    RULES,
    Check,
    Checks,
    Code,
    Examined,
    Ignore,
    IgnoreByFeature,
    Severity,
    check_codes,
    check_ignore,
    checks_in_order,
    number,
    reports,
    runs,
    severity_of,
)
from skedasis.results.checks.extrapolation import (
    N_NEW_ROWS,
    NOTE_EXTRAPOLATION,
    NOTE_OFF_SUPPORT,
    PERCENTILE,
    WARN_EXTRAPOLATION,
    WARN_OFF_SUPPORT,
    FeatureSpace,
    columns_of,
    extrapolation,
    is_moved,
    nearest_distance,
    wrong_table_error,
)
from skedasis.results.checks.heterogeneity_test import NEGLIGIBLE
from skedasis.results.checks.method_disagreement import check_comparable, disagreement
from skedasis.results.checks.slope_check import SlopeCheck
from skedasis.results.checks.variance_decomposition import ROUNDING, variance_decomposition
from skedasis.results.effect import (
    TRUSTED_ROWS,
    AnyAccumulated,
    BinnedEffect,
    BinStats,
    Effect,
    LevelStepsEffect,
    MPlotEffect,
    PartialDependence,
)
from skedasis.results.effect_words import depends_on_text, regions_call
from skedasis.results.main_stretch import value_text, values_text
from skedasis.results.provenance import Provenance
from skedasis.results.surface import AccumulatedSurface, Surface
from skedasis.stats.heterogeneity_score import COLLINEAR, FEW_PAIRS, HeterogeneityScore
from skedasis.stats.random import RandomState, as_seed

# ------------------------------------------------------------------------------------------
# Effects.


RARE = 5
"""If there are more rare levels than this, one flag lists them all."""


CHANGE_FRACTION, VISIBLE_CHANGE = 0.1, 0.05
"""A changing slope inside a bin is a warning if it causes at least the first fraction of the variance (the reported
standard deviation is then 5 % too large), and if its standard deviation is at least the second fraction of the root
mean square slope."""


VISIBLE_SCORE = 0.05
"""A score that exceeds the importance is a warning from this fraction of the quantity's standard deviation on: the
scores of features that hardly have an effect exceed their importances, too."""


OUTSIDE = 0.05
"""From this fraction of the rows on, by weight, rows outside given edges are a warning."""


MOST_COMBINATIONS = 100
"""Largest number of combinations of two columns, in a sample, for which a group of them is proposed. On average each
has at least ten rows."""


EMPTY_FRACTION, STEP_RATIO = 0.05, 10.0
"""An interval without rows is wider than this fraction of the axis, and than the ratio times the median of the ten
steps between values on either side."""


SPARSE = 0.05
"""Rows beyond a gap that does not separate them are a sparse tail up to this share."""


def check_effect(
    effect: Effect,
    confidence_level: float = 0.95,
    *,
    X: TableLike | FeatureSpace | None = None,
    beside: Effect | None = None,
    random_state: RandomState = 0,
    ignore: Ignore = None,
) -> Checks:
    """Run the reliability checks of an effect.

    Parameters
    ----------
    effect : Effect
    confidence_level : float
        Confidence level of the tests. If the slope changes in no bin, the probability of a `slope_changes` finding is
        1 - confidence_level.
    X : array or data frame, optional
        The data that was explained. With it, the rows at which the method evaluated the model are checked for
        extrapolation.
    beside : Effect, optional
        Another effect of the same feature on the same quantity to compare with, such as the PDP for an ALE.
    random_state : int, numpy.random.Generator or None
        Seed of permutations and samples.
    ignore : str or collection of str, optional
        Codes whose findings are left out. Their checks are not computed.

    Returns
    -------
    Checks
        Warnings first; the whole curve before parts of it.

    Raises
    ------
    DataError
        For a `confidence_level` outside (0, 1), an X other than the explained data, an effect of another feature or
        quantity, or a code that does not exist.

    Notes
    -----
    Needs no model rows. The rules:

    - `heterogeneous`: the heterogeneity score exceeds the importance by more than its error (at `confidence_level`). A
      warning if the score is at least 5 % of the quantity's standard deviation, otherwise a note.
    - `rows_outside`: rows with a value outside given edges of the bins. A warning from 5 % of the weight of the rows
      with a value, otherwise a note.
    - `few_rows`, `one_row`: bins and levels with fewer than ten rows; bins without a variance of their own: a weight of
      1 or less, or for sampling weights a single row.
    - `slope_changes`: local effects depend on x inside a bin (`skedasis.results.checks.variance_decomposition`),
      significant at `confidence_level` after Holm's correction for the number of bins. A warning if this is at least 10
      % of the bin's variance, and its standard deviation at least 5 % of the root mean square slope.
    - `no_rows`: empty bins; intervals between neighbouring values that are wider than 5 % of the axis and ten times the
      median of the ten steps between values on either side, with at least ten rows on both sides.
    - `gap`: a warning if rows lie beyond a gap of more than half of the axis, and share a value or are less than 1 % of
      the rows (`skedasis.data.gaps`). A note if less than 5 % of the rows lie beyond another gap, of more than a
      quarter of the axis.
    - `slope_mismatch`: the accumulated slopes differ from the accumulated differences of the quantity by more than
      0.25 √(importance² + score²) and three standard errors (`skedasis.results.checks.slope_check`).
    - `extrapolation`: at least 10 % (a warning: 25 %) of the rows at which the method evaluates the model are farther
      from the data than 99 % of the data's rows are from their nearest neighbour
      (`skedasis.results.checks.extrapolation`); or at least 15 % (a warning: 25 %) of the rows whose values the
      heterogeneity score has swapped, in a set of at most three columns (`skedasis.stats.off_support`).
    - `disagreement`: the effect and `beside` differ by more than their errors
      (`skedasis.results.checks.method_disagreement`).
    - `collinear`: the other columns nearly determine the feature (variance inflation above 10), so that its
      heterogeneity score compares only similar values. A note.
    - `few_pairs`: the heterogeneity score has fewer than 50 effective pairs of rows, so that its standard error is not
      reliable. A warning if the score is computed from a sample of the rows, a note if from all rows.
    - `depends_on`: another feature explains at least a tenth of the squared heterogeneity score, and more than two
      standard errors of this share, on held-out rows. A note.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> e = sd.explain(lambda X: X[:, 0] ** 2, X, 0, method=sd.DALE(bins=3))
    >>> [(f.code, f.severity) for f in check_effect(e)]
    [('slope_changes', 'warning')]
    """
    fix = "Pass for example 0.95; data are passed by name: checks(X=X)"
    confidence_level = check_probability("checks(confidence_level)", confidence_level, fix)
    seed = as_seed("checks(random_state)", random_state)
    left_out = check_codes("checks(ignore)", ignore)
    if beside is not None:
        check_comparable(effect, beside)
    space = None if X is None else FeatureSpace.of(X, seed)
    # Also checks that X is the explained data.
    far = None if space is None else extrapolation(effect, space, seed)
    seen = Examined(effect, confidence_level, seed, space, far, beside)
    needed = [rule for rule, codes in RULES.items() if not left_out.issuperset(codes)]
    found = [finding for rule in needed for finding in rule(seen)]
    return checks_in_order([_with_time_text(effect, f) for f in found if f.code not in left_out])


def _with_time_text(effect: Effect, flag: Check) -> Check:
    """Return the flag with the ends of its interval as text if the feature is a time."""
    if effect.time is None or not isinstance(flag.where, tuple):
        return flag
    first, last = effect.time.texts([float(end) for end in flag.where])
    return replace(flag, where=(first, last))


def check_effects(
    effects: Mapping[str, Effect],
    confidence_level: float = 0.95,
    *,
    X: TableLike | FeatureSpace | None = None,
    beside: Mapping[str, Effect] | None = None,
    random_state: RandomState = 0,
    ignore: IgnoreByFeature = None,
) -> Checks:
    """Run the reliability checks of several effects, in their order; see `check_effect`."""
    left_out = check_ignore("checks(ignore)", ignore, list(effects))
    if beside is not None and not isinstance(beside, Mapping):
        got, expected = type(beside).__name__, "effects by feature"
        raise DataError("checks(beside)", got, expected, "Pass the Effects of another method")
    seed = as_seed("checks(random_state)", random_state)
    space = None if X is None else FeatureSpace.of(X, seed)
    flags: list[Check] = []
    for name, effect in effects.items():
        other = beside[name] if beside is not None and name in beside else None
        flags += check_effect(
            effect,
            confidence_level,
            X=space,
            beside=other,
            random_state=seed,
            ignore=left_out[name],
        )
    return Checks(flags)


@reports("rows_outside")
def _check_rows_outside(seen: Examined) -> Iterator[Check]:
    """Check how many rows are outside given edges."""
    effect = seen.effect
    if isinstance(effect, BinnedEffect) and len(effect.bins):
        bins, name = effect.bins, effect.feature
        ends = f"from {number(bins.low[0], effect.time)} to {number(bins.high[-1], effect.time)}"
        inside = int(bins.count.sum()), float(bins.weight.sum())
        where = f"outside the edges of {name!r}, {ends}"
        yield from _rows_outside(effect.provenance, inside, name, f"{where}: the curve")


def _rows_outside(
    known: Provenance, inside: tuple[int, float], name: str, where: str
) -> Iterator[Check]:
    """Report rows that are left out; `inside` are the number and the weight of the others."""
    rows = known.get("rows_outside", 0)
    if rows == 0:
        return
    weight = known.get("weight_outside", float(rows))
    share = weight / (weight + inside[1])
    of_weight = "" if weight + inside[1] == rows + inside[0] else " of the weight"
    text = (
        f"{rows:,} of {counted(rows + inside[0], 'row')} ({percent(share)}{of_weight}) "
        f"{'is' if rows == 1 else 'are'} {where} does not include them. Use wider edges, or bins='auto', if it should."
    )
    yield Check(
        "rows_outside", severity_of(share, OUTSIDE), text, rows, name, None, {"share": share}
    )


@reports("few_rows", "one_row")
def _check_bin_rows(seen: Examined) -> Iterator[Check]:
    """Check the number of rows of bins and levels."""
    effect = seen.effect
    name = effect.feature
    if isinstance(effect.axis, LevelAxis):
        yield from _check_level_rows(effect, effect.axis.levels)
    if not isinstance(effect, BinnedEffect):
        return
    stats = effect.bins
    # After `rebin`, the variance of differences across whole bins is not known, even in bins with many rows.
    weight_one = (stats.weight <= 1) & (effect.spec.weight_kind == "frequency")
    alone = weight_one | (stats.count <= 1)
    single = np.isnan(stats.std) & ~stats.empty & (alone | (not effect.spec.on_cells))
    few = ~stats.trusted & ~stats.empty & ~single
    kinds: tuple[tuple[Code, Bools], ...] = (("one_row", single), ("few_rows", few))
    for kind, which in kinds:
        for a, b in runs(which):
            ends, rows = (float(stats.low[a]), float(stats.high[b])), stats.count[a : b + 1]
            text = _few_text(effect, ends, rows.tolist(), varies=kind == "few_rows")
            yield Check(kind, "warning", text, int(rows.sum()), name, ends, {"rows": rows.tolist()})


def _check_level_rows(effect: Effect, levels: LevelStats) -> Iterator[Check]:
    """Check the number of rows of levels; many rare levels give one flag."""
    is_pdp, name = isinstance(effect, PartialDependence), effect.feature
    severity: Severity = "note" if is_pdp else "warning"
    fix = f"{of_rare_levels(effect, levels)}."
    rare = np.flatnonzero(levels.count < TRUSTED_ROWS)
    rows = levels.count[rare].tolist()
    if len(rare) > RARE:
        start = f"{len(rare):,} levels of {name!r} have fewer than {TRUSTED_ROWS} rows (the rarest {min(rows)})"
        why = "the model has seen few rows like these" if is_pdp else "their values are uncertain"
        yield Check(
            "few_rows", severity, f"{start}: {why}. {fix}", sum(rows), name, None, {"rows": rows}
        )
        return
    for place, few in zip(rare, rows, strict=True):
        label = levels.labels[place]
        start = f"Level {label!r} of {name!r} has {counted(few, 'row')}"
        why = "the model has seen few rows like these" if is_pdp else "its value is uncertain"
        yield Check("few_rows", severity, f"{start}: {why}. {fix}", few, name, label, {"rows": few})


def _few_text(
    effect: BinnedEffect, ends: tuple[float, float], rows: list[int], *, varies: bool
) -> str:
    """Return the text about bins with few rows, or with too few for a variance (`varies` is False)."""
    start = f"{effect.feature!r} from {number(ends[0], effect.time)} to {number(ends[1], effect.time)}: "
    bins = len(rows)
    if not varies:
        alone = max(rows) == 1
        what = "one row" if alone else "a weight of 1 at most"
        start += f"the bin has {what}" if bins == 1 else f"each of {bins} bins has {what}"
        start += (
            ", so that there is no variance of its own; the variance of neighbouring bins is used"
        )
        if not alone:
            return f'{start}. If the weights are no numbers of rows, pass weight_kind="sampling".'
    elif bins == 1:
        start += f"the bin has {counted(rows[0], 'row')}, too few for a reliable slope and standard deviation"
    else:
        start += f"{bins} bins have fewer than {TRUSTED_ROWS} rows (the smallest {min(rows)})"
        start += ", too few for reliable slopes and standard deviations"
    call = wider_bins(effect)
    return f"{start}. Use more rows{'' if call is None else f', or fewer bins: {call}'}."


@reports("no_rows")
def _check_empty_bins(seen: Examined) -> Iterator[Check]:
    effect = seen.effect
    if not isinstance(effect, BinnedEffect) or len(effect.bins) == 0:
        return
    stats, name, call = effect.bins, effect.feature, None
    if stats.empty.any():
        call = automatic_bins(effect)
    fix = f", or use {call}, which has no empty bins" if call is not None else ""
    axis_length = float(stats.high[-1] - stats.low[0])
    for a, b in runs(stats.empty):
        left, right = float(stats.low[a]), float(stats.high[b])
        share = (right - left) / axis_length
        drawn = "the curve is a straight line there"
        if a == 0 or b == len(stats) - 1:
            drawn = "there is no curve"
        elif isinstance(effect, MPlotEffect):
            drawn = "nothing is shown there"
        text = (
            f"No row has {name!r} between {number(left, effect.time)} and {number(right, effect.time)} "
            f"({percent(share)} of the axis): {drawn}. Do not interpret the curve there{fix}."
        )
        yield Check("no_rows", "warning", text, 0, name, (left, right), {"share": share})


@reports("gap")
def _check_gaps(seen: Examined) -> Iterator[Check]:
    """Check for rows beyond wide gaps: codes, and sparse tails."""
    effect = seen.effect
    name, time = effect.feature, effect.time
    for gap in effect.about.gaps:
        ends = gap.left, gap.right
        if gap.separates:
            text = (
                f"{name!r} has a gap, without rows, from {value_text(gap.left, time)} to "
                f"{value_text(gap.right, time)}; beyond it {_are_beyond(gap, time)}. If that is a code, such as one "
                "for missing values, replace it by a missing value. Do not interpret the curve across the gap."
            )
            numbers = {"rows_beyond": gap.rows, "share": gap.share}
            yield Check("gap", "warning", text, gap.rows, name, ends, numbers)
    for side in ("left", "right"):
        some = [g for g in effect.about.gaps if not g.separates and g.side == side]
        tails = [g for g in some if g.share < SPARSE]
        if tails:
            gap = max(tails, key=lambda g: g.rows)
            start = gap.left if side == "right" else gap.right
            text = (
                f"The {side} tail of {name!r} is sparse: beyond {value_text(start, time)} "
                f"{_are_beyond(gap, time)}. That end of the curve rests on these rows."
            )
            numbers = {"rows_beyond": gap.rows, "share": gap.share}
            yield Check("gap", "note", text, gap.rows, name, (gap.left, gap.right), numbers)


def _are_beyond(gap: Gap, time: TimeAxis | None) -> str:
    """Return the number of rows beyond a gap and their values in words."""
    verb = "lies" if gap.rows == 1 else "lie"
    at = f"at {values_text(gap, time)}"
    return f"{verb} {counted(gap.rows, 'row')} ({percent(gap.share)}), {at}"


@reports("no_rows")
def _check_intervals_without_rows(seen: Examined) -> Iterator[Check]:
    """Check for intervals between observed values that are much wider than those nearby."""
    effect = seen.effect
    kept = effect.rows
    if kept is None or isinstance(effect.axis, LevelAxis) or len(effect.axis) < 2:
        return
    x, counts = np.unique(kept.x[np.isfinite(kept.x)], return_counts=True)
    shown = effect.bins.edges if isinstance(effect, BinnedEffect) else effect.axis.coordinates
    total = int(counts.sum())
    if total < 2 * TRUSTED_ROWS or len(x) < 2:
        return
    step, axis_length, before = np.diff(x), float(x[-1] - x[0]), np.cumsum(counts)[:-1]
    small = np.minimum(before, total - before)
    reported = {g.left for g in effect.about.gaps if g.separates or g.share < SPARSE}
    for k in np.flatnonzero((step > EMPTY_FRACTION * axis_length) & (small >= TRUSTED_ROWS)):
        left, right = float(x[k]), float(x[k + 1])
        beyond = min(right, shown[-1]) <= max(left, shown[0])
        if (
            beyond
            or left in reported
            or step[k] <= STEP_RATIO * _median_step_nearby(step, int(k))
            or _is_empty_bin(effect, left, right)
        ):
            continue
        share = (right - left) / axis_length
        text = (
            f"No row has {effect.feature!r} between {number(left, effect.time)} and {number(right, effect.time)} "
            f"({percent(share)} of the axis). Do not interpret the curve there."
        )
        numbers = {"share": share, "rows_beyond": int(small[k])}
        yield Check("no_rows", "warning", text, 0, effect.feature, (left, right), numbers)


def _median_step_nearby(step: Floats, k: int) -> float:
    """Return the median of the ten steps between values on either side of step k."""
    near = np.concatenate([step[max(k - TRUSTED_ROWS, 0) : k], step[k + 1 : k + 1 + TRUSTED_ROWS]])
    return float(np.median(near)) if len(near) else np.inf


def _is_empty_bin(effect: Effect, left: float, right: float) -> bool:
    """Return whether an interval is reported already as an empty bin."""
    if not isinstance(effect, BinnedEffect):
        return False
    stats = effect.bins
    return bool(((stats.low < right) & (stats.high > left) & stats.empty).any())


@reports("slope_changes")
def _check_slope_changes(seen: Examined) -> Iterator[Check]:
    """Check whether local effects depend on x inside a bin."""
    effect, confidence_level, seed = seen.effect, seen.confidence_level, seen.seed
    if not isinstance(effect, AnyAccumulated) or effect.spec.on_cells:
        return  # the curve is computed at the edges of all cells, whatever the bins
    parts, stats = variance_decomposition(effect, random_state=seed), effect.bins
    changes = np.nan_to_num(parts.adjusted(), nan=1.0) <= 1 - confidence_level
    call = bins_that_resolve(effect) if changes.any() else None
    for a, b in runs(changes):
        here = slice(a, b + 1)
        worst = a + int(np.argmax(np.nan_to_num(parts.share[here])))
        share, p = float(parts.share[worst]), float(parts.adjusted()[here].min())
        ends = _ends(effect, a, b)
        # Only the variance that pooling within cells leaves in the reported one counts.
        change_std = float(np.sqrt(np.nanmax(parts.residual[here])))
        visible = change_std >= VISIBLE_CHANGE * _rms_local_effect(stats)
        is_warning = effect.spec.pointwise and share >= CHANGE_FRACTION and visible
        total, within = (float(np.sqrt(v[worst])) for v in (parts.total, parts.within))
        numbers = {"bins": b - a + 1, "share": share, "p_value": p, "std": total, "within": within}
        text = _slope_change_text(effect, ends, numbers, call)
        yield Check(
            "slope_changes",
            "warning" if is_warning else "note",
            text,
            int(stats.count[here].sum()),
            effect.feature,
            ends,
            numbers,
        )


@reports("slope_mismatch", "heterogeneous")
def _check_curve(seen: Examined) -> Iterator[Check]:
    """Compare slopes with differences, and if they match, the heterogeneity score with the importance."""
    wrong = [*_check_slope_mismatch(seen.effect)]
    # The importance of a curve of wrong slopes is wrong, too.
    yield from wrong or _check_heterogeneity(seen.effect, seen.confidence_level)


def _check_slope_mismatch(effect: Effect) -> Iterator[Check]:
    """Report slopes that do not match differences of the quantity."""
    found = effect.provenance.get("slope_check")
    if not found:
        return
    # Files of earlier versions have no range.
    along = found.get("range", 0.0), found.get("range_limit", 0.0)
    check = SlopeCheck(found["distance"], found["limit"], *along, found["rows"])
    if check.passed:
        return
    is_own = effect.spec.local_effects == "slopes"
    fix = f"Use sd.ALE(){', and check the slope function if you passed one' if is_own else ''}."
    text = (
        f"The slopes of {effect.feature!r} do not add up to the differences of {effect.about.quantity} "
        f"({check.outcome}). {fix}"
    )
    yield Check("slope_mismatch", "warning", text, None, effect.feature, None, dict(found))


def _rms_local_effect(stats: BinStats) -> float:
    """Return the root mean square of the local effects."""
    size = np.hypot(np.nan_to_num(stats.effect), np.nan_to_num(stats.std))
    largest = float(size.max(initial=0.0))
    if largest == 0 or not stats.weight.sum() > 0:
        return 0.0
    return largest * float(np.sqrt(np.average((size / largest) ** 2, weights=stats.weight)))


def _ends(effect: AnyAccumulated, first: int, last: int) -> tuple[float, float] | tuple[str, str]:
    """Return the ends of a run of bins as numbers, or as the labels of levels."""
    low, high = effect.bins.low[first], effect.bins.high[last]
    if not isinstance(effect, LevelStepsEffect):
        return float(low), float(high)
    levels = effect.axis.levels
    start, end = levels.codes([low, high]).tolist()
    return levels.labels[start], levels.labels[end]


def _slope_change_text(
    effect: Effect,
    ends: tuple[float, float] | tuple[str, str],
    numbers: Mapping[str, Any],
    call: str | None,
) -> str:
    """Return the text about local effects that depend on x inside bins."""
    bins, share, p = numbers["bins"], numbers["share"], numbers["p_value"]
    sure = p_value(p)
    where = (
        f"{effect.feature!r} from {number(ends[0], effect.time)} to {number(ends[1], effect.time)}"
    )
    inside = "within the bin" if bins == 1 else f"within {bins} bins"
    most = "" if bins == 1 else "up to "
    if isinstance(effect, LevelStepsEffect):
        fix = "The curve uses the mean over the rows of both levels: compare with sd.PDP(), which uses all rows."
        if len(effect.bins) < len(effect.axis.levels) - 1:
            fix = "Some bins are groups of steps: sd.ALE() shows each step on its own."
        return f"{where}: the difference between levels depends on the level of the row ({sure}). {fix}"
    if not effect.spec.pointwise:
        fix = f"Use more bins to resolve it: {call}"
        if call is None:
            fix = (
                "More bins would have too few rows: read each difference as the mean over its rows"
            )
            if between_values(effect):
                fix = f"{BETWEEN_VALUES}: read each difference as the mean over its rows"
        return (
            f"{where}: the effect changes {inside} ({sure}), which is {most}{percent(share)} of the variance there. "
            f"{fix}."
        )
    start = f"{where}: the slope changes {inside} ({sure}), which is {most}{percent(share)} of the variance there"
    if share < CHANGE_FRACTION:
        return f"{start}; the reported standard deviation is barely affected."
    fix = f"Use {call} to resolve it" if call is not None else "Use more rows, and then more bins"
    if call is None and between_values(effect):
        fix = BETWEEN_VALUES
    left = f"only {number_text(numbers['within'])}" if share < 0.999 else "almost nothing"
    return (
        f"{start}: of the reported standard deviation of {number_text(numbers['std'])}, {left} is due to differences "
        f"between rows with the same value. {fix}."
    )


def _check_heterogeneity(effect: Effect, confidence_level: float) -> Iterator[Check]:
    """Check whether the effect differs more between rows than the average curve varies."""
    from scipy.special import ndtri

    score, name, importance = effect.swap_score, effect.feature, effect.importance
    if score is None or effect.spec.derivative:  # the importance of slopes has another unit
        return
    least = NEGLIGIBLE * float(np.nan_to_num(score.quantity_std))
    lower = score.value - float(ndtri(0.5 + confidence_level / 2)) * score.std_error
    # NaN (a score of one pair, an importance that is not known) compares as False.
    if not (lower > importance and score.value > least):
        return
    numbers = {"score": score.value, "std_error": score.std_error, "importance": importance}
    shown = f"{number_text(importance)}" if importance > ROUNDING * score.value else "0"
    fix = f"{regions_call(effect)} searches for groups of similar rows, and sd.ICE() shows the curves of single rows."
    if effect.rule:
        fix = "sd.ICE() shows the curves of single rows of this group."
    text = (
        f"The average of {name!r} describes few rows: they differ from it by {number_text(score.value)} (heterogeneity "
        f"score), and it varies by {shown} (importance). {fix}"
    )
    is_small = score.value < VISIBLE_SCORE * score.quantity_std
    yield Check("heterogeneous", "note" if is_small else "warning", text, None, name, None, numbers)


@reports("extrapolation")
def _check_extrapolation(seen: Examined) -> Iterator[Check]:
    """Check how many of the rows at which the method evaluated the model are outside the data."""
    effect, far = seen.effect, seen.far
    name, swept = effect.feature, isinstance(effect, PartialDependence)
    if far is None:
        if swept and len(effect.points) > 1:
            text = (
                f"The curve of {name!r} asks the model about each row with each value, and so perhaps about rows "
                "unlike "
                "any in the data: checks(X=X) measures how many."
            )
            yield Check("extrapolation", "note", text, None, name)
        return
    if far.overall < NOTE_EXTRAPOLATION:
        return
    place = int(np.nanargmax(far.share))
    label = (
        effect.axis.levels.labels[place]
        if isinstance(effect.axis, LevelAxis)
        else number(effect.points[place], effect.time)
    )
    fix = instead_of_swept(effect) if swept else instead_of_accumulated(effect)
    text = (
        f"For {percent(far.overall)} of its points the curve of {name!r} asks the model about rows unlike any in the "
        f"data ({percent(far.share[place])} at {label}). {fix}"
    )
    severity = severity_of(far.overall, WARN_EXTRAPOLATION)
    numbers = {
        "share": far.overall,
        "at": far.share.tolist(),
        "rows": far.rows,
        "others": far.others,
    }
    yield Check("extrapolation", severity, text, round(far.overall * far.rows), name, None, numbers)


@reports("extrapolation")
def _check_off_support(seen: Examined) -> Iterator[Check]:
    """Check how many of the swapped rows of the heterogeneity score are off support."""
    effect = seen.effect
    score, name, share = effect.swap_score, effect.feature, effect.score_off_support
    if score is None or not score.value > 0 or not share >= NOTE_OFF_SUPPORT:
        return
    instead = ""
    if effect.accumulated_std is not None:
        instead = ' plot(band="accumulated") shows the spread of the local effects instead.'
    text = (
        f"{percent(share)} of the swapped rows behind the heterogeneity score of {name!r}, "
        f"{number_text(score.value)}, are "
        f"unlike any in the data.{instead}"
    )
    severity = severity_of(share, WARN_OFF_SUPPORT)
    numbers = {"share": share, "others": score.beside}
    yield Check("extrapolation", severity, text, None, name, None, numbers)


@reports("disagreement")
def _check_disagreement(seen: Examined) -> Iterator[Check]:
    """Check whether another effect of the feature differs by more than the errors."""
    effect, other, space = seen.effect, seen.beside, seen.space
    if other is None:
        return
    own = None if seen.far is None else seen.far.overall
    far = None if space is None else extrapolation(other, space, seen.seed)
    shares = own, None if far is None else far.overall
    found = disagreement(effect, other, seen.confidence_level, shares)
    if found is not None:
        where, text, numbers = found
        yield Check("disagreement", "warning", text, None, effect.feature, where, numbers)


@reports("collinear", "few_pairs")
def _check_heterogeneity_score(seen: Examined) -> Iterator[Check]:
    """Check whether the heterogeneity score compares only similar values, or has few effective pairs of rows."""
    effect, space = seen.effect, seen.space
    score, name = effect.swap_score, effect.feature
    if score is None:
        return
    if score.vif > COLLINEAR:
        related = () if space is None else space.with_related(columns_of(space, effect)).others
        most = f", most of all {related[0]!r}," if related else ","
        fix = "Refit the model without one of them"
        if space is None:
            fix += "; checks(X=X) names the most related column"
        elif related and not effect.about.feature.members and _few_combinations(space, effect):
            both = {f"{name} + {related[0]}": [name, related[0]]}
            fix += f", or explain both as a group: groups={both}"
        text = (
            f"Other columns nearly repeat {name!r}{most} so its heterogeneity score is about small changes only. "
            f"{fix}."
        )
        numbers = {"vif": score.vif, "related": related}
        yield Check("collinear", "note", text, None, name, None, numbers)
    if score.value > 0 and score.effective_pairs < FEW_PAIRS:
        sampled = not score.exact
        # If all rows are used already, heterogeneity_rows cannot be raised.
        severity: Severity = "warning" if sampled else "note"
        fix = (
            f"Use heterogeneity_rows={_rows_of_score(effect, score)}"
            if sampled
            else "Use more rows if available"
        )
        text = (
            f"The heterogeneity score of {name!r}, {number_text(score.value)}: too few comparable rows; treat ± as "
            "rough. "
            f"{fix}."
        )
        numbers = {"pairs": score.pairs, "effective_pairs": score.effective_pairs}
        yield Check("few_pairs", severity, text, None, name, None, numbers)


@reports("depends_on")
def _check_depends_on(seen: Examined) -> Iterator[Check]:
    """Name the feature that explains most of the heterogeneity."""
    effect = seen.effect
    found, name = effect.depends_on, effect.feature
    if found is None:
        return
    text = (
        f"How {name!r} acts differs between rows, {depends_on_text(found, repr(found.name))}. {regions_call(effect)} "
        "searches for groups of similar rows."
    )
    yield Check("depends_on", "note", text, None, name, None, dict(vars(found)))


def _few_combinations(space: FeatureSpace, effect: Effect) -> bool:
    """Return whether the feature and its most related column have so few combinations that they can be a group."""
    columns = columns_of(space, effect)
    view = space.with_related(columns)
    names = [f.name for f in space.dataset.features]
    axes = np.isin(view.owner, [*columns, names.index(view.others[0])])
    points = view.points[space.reference][:, axes]
    return len(np.unique(points, axis=0)) <= min(MOST_COMBINATIONS, len(points) / TRUSTED_ROWS)


def _rows_of_score(effect: Effect, score: HeterogeneityScore) -> int | None:
    """Return a number of rows for which the score has enough effective pairs; None for all rows."""
    # Effective pairs grow about in proportion to the pairs; half as many again for their own error.
    needed = 1.5 * 2 * score.pairs * FEW_PAIRS / max(score.effective_pairs, 1.0)
    unit = 10 ** max(len(str(int(needed))) - 2, 0)
    rows = int(np.ceil(needed / unit)) * unit
    return rows if rows < effect.provenance.get("rows", np.inf) else None


# ------------------------------------------------------------------------------------------
# Surfaces: cells with few rows or none, and points outside the data.


FEW, EMPTY = 0.5, 0.25
"""From these fractions on, rows in cells with fewer than ten rows, and area without rows, are warnings."""


NOTE_FRACTION = 0.1
"""From this fraction on, either of them is a note."""


def check_surface(
    surface: Surface,
    *,
    X: TableLike | FeatureSpace | None = None,
    random_state: RandomState = 0,
    ignore: Ignore = None,
) -> Checks:
    """Run the reliability checks of a surface."""
    seed = as_seed("checks(random_state)", random_state)
    left_out = check_codes("checks(ignore)", ignore)
    found = [
        *_check_rows_outside_cells(surface),
        *_check_cells(surface),
        *_check_grid_points(surface),
        *_check_surface_extrapolation(surface, X, seed),
    ]
    return checks_in_order([f for f in found if f.code not in left_out])


def _names(surface: Surface) -> str:
    return " × ".join(surface.features)


def _widths(side: PairAxis) -> Floats:
    """Return the widths of a side's cells as fractions of its axis; steps between levels have equal widths."""
    if side.strips is not None:
        return np.bincount(side.home_of(np.array(side.strips)), minlength=side.n_homes) / 2
    width = (
        np.ones(max(side.n_nodes - 1, 1))
        if side.bins is None or side.n_nodes < 2
        else side.bins.widths
    )
    return width / width.sum()


def _check_rows_outside_cells(surface: Surface) -> Iterator[Check]:
    """Check how many rows are outside given edges of an accumulated surface."""
    numeric = [not isinstance(side, LevelPairAxis) for side in surface.sides]
    if HOME in surface.moments and any(numeric):
        homes, name = surface.moments[HOME], _names(surface)
        where = f"outside the cells of {name}: the surface"
        inside = int(homes.count.sum()), float(homes.weight.sum())
        yield from _rows_outside(surface.provenance, inside, name, where)


def _check_cells(surface: Surface) -> Iterator[Check]:
    """Check the number of rows in the cells of an accumulated surface."""
    cells, name = surface.cells, _names(surface)
    if cells is None or cells.count.size == 0:
        return
    area = np.outer(_widths(surface.sides[0]), _widths(surface.sides[1]))
    empty = cells.empty.reshape(area.shape)
    share = float(area[empty].sum())
    if share >= NOTE_FRACTION:
        there = area > 0
        n = int(empty[there].sum())
        text = (
            f"{percent(share)} of the area of {name} ({n} of {int(there.sum())} cells) has no rows, so "
            "that values there have no meaning (figures hatch this area). Use fewer bins."
        )
        numbers = {"share": share, "cells": n}
        yield Check("no_rows", severity_of(share, EMPTY), text, 0, name, None, numbers)
    few = (cells.count < TRUSTED_ROWS) & ~cells.empty
    part = float(cells.count[few].sum() / max(cells.count.sum(), 1))
    if part >= NOTE_FRACTION:
        text = (
            f"{percent(part)} of the rows of {name} lie in cells with fewer than {TRUSTED_ROWS} rows "
            f"({int(few.sum())} of {empty.size} cells). {coarser_surface(surface)}."
        )
        numbers = {"share": part, "cells": int(few.sum())}
        yield Check(
            "few_rows",
            severity_of(part, FEW),
            text,
            int(cells.count[few].sum()),
            name,
            None,
            numbers,
        )


def _check_grid_points(surface: Surface) -> Iterator[Check]:
    """Check for points of a PDP's grid without rows near them, in the plane of the two features."""
    rows = surface.rows
    if isinstance(surface, AccumulatedSurface) or rows is None or len(rows) < 2 * TRUSTED_ROWS:
        return
    known = np.isfinite(rows.x0) & np.isfinite(rows.x1)
    first = _axes(surface.sides[0], rows.x0[known])
    second = _axes(surface.sides[1], rows.x1[known])
    of_rows = np.hstack([first[0], second[0]])
    m0, m1 = surface.value.shape
    nodes = np.hstack([np.repeat(first[1], m1, axis=0), np.tile(second[1], (m0, 1))])
    some = np.random.default_rng(0).permutation(len(of_rows))[:N_NEW_ROWS]
    limit = np.percentile(nearest_distance(of_rows[some], of_rows, some), PERCENTILE)
    distance = nearest_distance(nodes, of_rows, np.full(m0 * m1, -1))
    share = float((distance > limit * (1 + 1e-9)).mean())
    if share >= NOTE_FRACTION:
        name = _names(surface)
        text = (
            f"{percent(share)} of the grid points of {name} have no row near them: the surface is an extrapolation "
            "there. "
            f"{instead_of_swept_surface(surface)}"
        )
        yield Check("no_rows", severity_of(share, EMPTY), text, 0, name, None, {"share": share})


def _axes(side: PairAxis, x: Floats) -> tuple[Floats, Floats]:
    """Return the coordinates of rows and nodes of a side: one axis in standard deviations, or one axis per level."""
    if isinstance(side, LevelPairAxis):
        unit = np.eye(side.n_nodes) * np.sqrt(0.5)
        return unit[x.astype(np.int64)], unit
    mean, size = float(x.mean()), float(x.std())
    scale = size if size > 0 else 1.0
    return ((x - mean) / scale)[:, None], ((side.node_coordinates - mean) / scale)[:, None]


def _check_surface_extrapolation(
    surface: Surface, X: TableLike | FeatureSpace | None, seed: int
) -> Iterator[Check]:
    """Check how many of the rows at which a PDP evaluated the model are outside the data."""
    if X is None:
        return
    space, rng = FeatureSpace.of(X, seed), np.random.default_rng(seed)
    features = [a.feature for a in surface.abouts]
    columns = tuple(c for f in features for c in f.columns)
    if any(is_moved(space, f) for f in features):
        raise wrong_table_error()
    if isinstance(surface, AccumulatedSurface):
        return
    view, n = space.with_related(columns), len(space.points)
    row = rng.integers(n, size=N_NEW_ROWS)
    new_rows = view.points[row]
    for feature, side in zip(features, surface.sides, strict=True):
        place = rng.integers(side.n_nodes, size=N_NEW_ROWS)
        if not isinstance(side, LevelPairAxis):
            view.set_values(new_rows, feature.position, side.nodes[place].astype(float))
            continue
        column = space.dataset.levels(feature, top=n)
        known_rows = dict(zip(column.levels.labels, column.levels.rows, strict=True))
        donors = np.array([known_rows.get(label, -1) for label in side.levels.labels])[place]
        there = donors >= 0
        new_rows, row, donors = new_rows[there], row[there], donors[there]
        view.set_from_donors(new_rows, feature.columns, donors)
    share = float(view.is_extrapolation(new_rows, row).mean()) if len(row) else 0.0
    if share >= NOTE_EXTRAPOLATION:
        name = _names(surface)
        text = (
            f"For {percent(share)} of its points the surface of {name} asks the model about rows unlike any in the "
            "data. "
            f"{instead_of_swept_surface(surface)}"
        )
        numbers = {"share": share, "rows": len(row), "others": view.others}
        yield Check(
            "extrapolation",
            severity_of(share, WARN_EXTRAPOLATION),
            text,
            round(share * len(row)),
            name,
            None,
            numbers,
        )
