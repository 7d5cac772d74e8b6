"""Reliability checks of effects and surfaces.

Each objection is a `Flag`: a kind, how grave it is, where on the axis, and a sentence with its numbers. `Trust` is the
tuple of them; an empty one means that there is nothing to object.

| module | what it does |
|---|---|
| `rules` | the objections to an effect, with their thresholds; start here |
| `of_surfaces` | those to a surface |
| `flags` | how objections are carried and printed |
| `split`, `within` | the variance in a bin after RHALE's Theorem 1, and whether slopes change inside it |
| `heterogeneity` | whether rows differ at the same value |
| `far` | rows that a method made up far from the data |
| `beside` | two methods' effects of one feature: do they disagree, and which to trust |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, explained
from skedasis.results.checks.check import Flag, Kind, Severity, Trust, number, runs
from skedasis.results.checks.extrapolation import (
    FAR,
    FAR_NOTE,
    PERCENTILE,
    SWEPT,
    Extrapolation,
    Space,
    another_table,
    elsewhere,
    extrapolation,
    nearest,
)
from skedasis.results.checks.method_disagreement import check, disagreement
from skedasis.results.checks.variance_decomposition import split
from skedasis.results.display import count, given_level, given_seed
from skedasis.results.effect import TRUSTED_ROWS, Effect, LevelStats
from skedasis.results.surface import Side, Surface
from skedasis.stats.heterogeneity_score import COLLINEAR, FEW_PAIRS

# ------------------------------------------------------------------------------------------
# To what extent to trust a curve: what its result itself objects to (ale_uncertainty_draft sec. 3.2, RHALE Theorem 1).


RARE = 5
"""More rare levels than these are objected to at once."""


BENT, SEEN = 0.1, 0.05
"""What the slope does inside a bin is a warning from this share of the variance on (the reported spread is then 5 % too
large), if it also scatters slopes by this share of their typical size."""


GAP, TIMES, TAIL = 0.05, 10.0, 0.25
"""A gap is wider than this share of the axis (one that cuts off fewer than ten rows, than the last share), and than so
many times the median of the ten gaps on either side."""


def trust(
    effect: Effect,
    level: float = 0.95,
    *,
    X: Any = None,
    beside: Effect | None = None,
    seed: int = 0,
) -> Trust:
    """Return what there is to object to a curve.

    Parameters
    ----------
    effect : Effect
    level : float
        Confidence of what is tested: 1 - level is the chance of an objection to the slopes in a clean curve.
    X : array or data frame, optional
        What was explained: then rows that the method made up are compared with it.
    beside : Effect, optional
        Another effect of the same feature on the same quantity, such as the PDP for an ALE.
    seed : int
        Of permutations and samples.

    Returns
    -------
    Trust
        Warnings first.

    Raises
    ------
    DataError
        For a level outside (0, 1), an X that is not what was explained, and an effect of another feature or quantity.

    Notes
    -----
    No model row. The rules:

    - *few rows*, *one row*: bins and levels with fewer than ten rows; those whose weight gives no variance.
    - *slope changes*: local effects depend on x inside a bin (`results.trust.split`), significant at `level` after
      Holm's correction for the number of bins; a warning where that is 10 % of the bin's variance, and
      scatters slopes by 5 % of their typical size.
    - *no rows*: empty bins; gaps between neighbouring values that are wider than 5 % of the axis and ten times the
      median of the ten gaps on either side, with ten rows or more on both sides. Ends of the axis that fewer rows
      carry, beyond a gap of 25 %, are noted.
    - *slope mismatch*: the accumulated slopes differ from the accumulated rises of the quantity by more than a quarter
      of √(importance² + score²) and three standard errors (`skedasis.results.checks.slope_check`).
    - *extrapolation*: 10 % (a warning: 25 %) of the rows that the method made up are farther from all data than 99 % of
      the data's rows are from their nearest (`skedasis.results.checks.extrapolation`).
    - *disagreement* with `beside`: `skedasis.results.checks.method_disagreement`.
    - *collinear*: the other columns nearly determine the feature (variance inflation above 10), so that its
      heterogeneity score compares near values only. A note.
    - *few pairs*: the heterogeneity score has fewer than 50 effective pairs of rows, so that its standard error is not
      reliable. A warning if the score is computed from a sample of the rows, a note if from all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> e = sd.explain(lambda X: X[:, 0] ** 2, X, 0, method=sd.DALE(bins=3))
    >>> [(f.kind, f.severity) for f in trust(e)]
    [('slope changes', 'warning')]
    """
    level, seed = given_level("trust(level)", level), given_seed("trust(seed)", seed)
    if beside is not None:
        check(effect, beside)
    found = [*_few(effect), *_empty(effect), *_gaps(effect), *_bends(effect, level, seed)]
    found += _mismatch(effect)
    space = None if X is None else Space.of(X, seed)
    far = None if space is None else extrapolation(effect, space, seed)
    found += _far(effect, far)
    if beside is not None:
        other = None if space is None else extrapolation(beside, space, seed)
        found += _beside(effect, beside, level, (far, other))
    found += _of_score(effect)
    return Trust(sorted((_clocked(effect, f) for f in found), key=lambda f: f.severity == "note"))


def _clocked(effect: Effect, flag: Flag) -> Flag:
    """Return the flag with its ends as text if the feature is one of times."""
    if effect.time is None or not isinstance(flag.where, tuple):
        return flag
    first, last = effect.time.texts([float(end) for end in flag.where])
    return replace(flag, where=(first, last))


def trust_all(
    effects: Mapping[str, Effect],
    level: float = 0.95,
    *,
    X: Any = None,
    beside: Mapping[str, Effect] | None = None,
    seed: int = 0,
) -> Trust:
    """Return what there is to object to several curves, in their order; see `trust`."""
    if beside is not None and not isinstance(beside, Mapping):
        got, expected = f"a {type(beside).__name__}", "effects by feature"
        raise DataError(explained("trust(beside)", got, expected, "Pass another method's Effects"))
    space = None if X is None else Space.of(X, given_seed("trust(seed)", seed))
    flags: list[Flag] = []
    for name, effect in effects.items():
        other = beside[name] if beside is not None and name in beside else None
        flags += trust(effect, level, X=space, beside=other, seed=seed)
    return Trust(flags)


def _few(effect: Effect) -> Iterator[Flag]:
    """Object to bins and levels with few rows."""
    name = effect.feature
    if effect.levels is not None:
        yield from _rare(effect, effect.levels)
        return
    stats = effect.bins
    if stats is None or len(stats) == 0:
        return
    # After `rebin` the spread of rises across whole bins is not known, however many rows there are.
    light = (stats.weight <= 1) & (effect.spec.weight_kind == "frequency")
    alone = light | (stats.count <= 1)
    single = np.isnan(stats.std) & ~stats.empty & (alone | (not effect.spec.on_cells))
    few = ~stats.trusted & ~stats.empty & ~single
    kinds: tuple[tuple[Kind, Any], ...] = (("one row", single), ("few rows", few))
    for kind, which in kinds:
        for a, b in runs(which):
            ends, rows = (float(stats.low[a]), float(stats.high[b])), stats.count[a : b + 1]
            text = _few_text(effect, ends, rows.tolist(), varies=kind == "few rows")
            yield Flag(kind, "warning", text, name, ends, {"rows": rows.tolist()})


def _rare(effect: Effect, levels: LevelStats) -> Iterator[Flag]:
    """Object to levels with few rows: to each, or to all of many at once."""
    made_up, name = effect.spec.local == "none", effect.feature
    severity: Severity = "note" if made_up else "warning"
    fix = "Use more rows, or join rare levels."
    rare = np.flatnonzero(levels.count < TRUSTED_ROWS)
    rows = levels.count[rare].tolist()
    if len(rare) > RARE:
        said = f"{len(rare):,} levels of {name!r} have fewer than {TRUSTED_ROWS} rows (the rarest {min(rows)})"
        why = "there the model has seen little" if made_up else "their values are little sure"
        yield Flag("few rows", severity, f"{said}: {why}. {fix}", name, None, {"rows": rows})
        return
    for place, few in zip(rare, rows, strict=True):
        label = levels.labels[place]
        said = f"Level {label!r} of {name!r} has {count(few, 'row')}"
        why = "there the model has seen little" if made_up else "its value is little sure"
        yield Flag("few rows", severity, f"{said}: {why}. {fix}", name, label, {"rows": few})


def _few_text(effect: Effect, ends: tuple[float, float], rows: list[int], *, varies: bool) -> str:
    """Say that bins hold few rows, or none that would give them a variance."""
    said = f"{effect.feature!r} from {number(ends[0], effect.time)} to {number(ends[1], effect.time)}: "
    bins = len(rows)
    if not varies:
        what = "one row" if max(rows) == 1 else "a weight of 1 at most"
        said += f"the bin holds {what}" if bins == 1 else f"{bins} bins hold {what} each"
        said += ", which has no variance; that of the neighbours is used"
    elif bins == 1:
        said += f"the bin holds {count(rows[0], 'row')}, too few to trust its slope and spread"
    else:
        said += f"{bins} bins hold fewer than {TRUSTED_ROWS} rows (the emptiest {min(rows)})"
        said += ", too few to trust slopes and spread"
    chosen = effect.spec.method in ("RHALE", "UALE")
    return f"{said}. Use more rows{' or fewer bins' if chosen else ', fewer bins, or sd.RHALE()'}."


def _empty(effect: Effect) -> Iterator[Flag]:
    """Object to empty bins."""
    stats, name = effect.bins, effect.feature
    if stats is None or effect.levels is not None or len(stats) == 0:
        return
    whole = float(stats.high[-1] - stats.low[0])
    for a, b in runs(stats.empty):
        left, right = float(stats.low[a]), float(stats.high[b])
        share = (right - left) / whole
        drawn = "the curve is joined across them by a straight line"
        if a == 0 or b == len(stats) - 1:
            drawn = "there is no curve"
        elif effect.spec.local == "values":
            drawn = "nothing is shown"
        text = (
            f"No row has {name!r} between {number(left, effect.time)} and {number(right, effect.time)} "
            f"({share:.0%} of the axis): {drawn}. Read nothing into that stretch."
        )
        yield Flag("no rows", "warning", text, name, (left, right), {"share": share})


def _gaps(effect: Effect) -> Iterator[Flag]:
    """Object to wide gaps between rows."""
    kept = effect.rows if effect.rows is not None else effect.curves
    if kept is None or effect.levels is not None or len(effect.points) < 2:
        return
    x, often = np.unique(kept.x[np.isfinite(kept.x)], return_counts=True)
    shown = np.asarray(effect.points if effect.bins is None else effect.bins.edges, dtype=float)
    total = int(often.sum())
    if total < 2 * TRUSTED_ROWS or len(x) < 2:
        return
    gap, whole, before = np.diff(x), float(x[-1] - x[0]), np.cumsum(often)[:-1]
    small = np.minimum(before, total - before)
    for k in np.flatnonzero(gap > np.where(small >= TRUSTED_ROWS, GAP, TAIL) * whole):
        left, right = float(x[k]), float(x[k + 1])
        beyond = min(right, shown[-1]) <= max(left, shown[0])
        if beyond or gap[k] <= TIMES * _usual(gap, int(k)) or _told(effect, left, right):
            continue
        share, rows = (right - left) / whole, int(small[k])
        stretch = f"between {number(left, effect.time)} and {number(right, effect.time)} ({share:.0%} of the axis)"
        if rows < TRUSTED_ROWS:
            text = f"No row has {effect.feature!r} {stretch}, and {count(rows, 'row')} beyond it."
            text += " That end of the curve rests on so few."
        else:
            text = f"No row has {effect.feature!r} {stretch}. Read nothing into that stretch."
        severity = "warning" if rows >= TRUSTED_ROWS else "note"
        numbers = {"share": share, "rows_beyond": rows}
        yield Flag("no rows", severity, text, effect.feature, (left, right), numbers)


def _usual(gap: Floats, k: int) -> float:
    """Return the median of the ten gaps on either side of one."""
    near = np.concatenate([gap[max(k - TRUSTED_ROWS, 0) : k], gap[k + 1 : k + 1 + TRUSTED_ROWS]])
    return float(np.median(near)) if len(near) else np.inf


def _told(effect: Effect, left: float, right: float) -> bool:
    """Return whether a gap is known from its empty bins."""
    stats = effect.bins
    if stats is None or not stats.empty.any():
        return False
    return bool(((stats.low < right) & (stats.high > left) & stats.empty).any())


def _bends(effect: Effect, level: float, seed: int) -> Iterator[Flag]:
    """Object to bins in which the local effects depend on x."""
    if effect.bins is None or effect.spec.local in ("none", "values") or effect.spec.on_cells:
        return  # the curve is given at the edges of all cells: bins do not change it
    parts, stats = split(effect, seed=seed), effect.bins
    for a, b in runs(np.nan_to_num(parts.adjusted(), nan=1.0) <= 1 - level):
        here = slice(a, b + 1)
        worst = a + int(np.argmax(np.nan_to_num(parts.share[here])))
        share, p = float(parts.share[worst]), float(parts.adjusted()[here].min())
        ends = (_end(effect, stats.low[a]), _end(effect, stats.high[b]))
        # Pooled within cells, what is reported holds nothing of the bend.
        seen = float(np.sqrt(np.nanmax(parts.residual[here]))) >= SEEN * _typical(effect)
        grave = effect.spec.pointwise and share >= BENT and seen
        total, within = (float(np.sqrt(v[worst])) for v in (parts.total, parts.within))
        numbers = {"bins": b - a + 1, "share": share, "p_value": p, "std": total, "within": within}
        text = _bent_text(effect, ends, numbers)
        yield Flag(
            "slope changes", "warning" if grave else "note", text, effect.feature, ends, numbers
        )


def _mismatch(effect: Effect) -> Iterator[Flag]:
    """Warn of slopes that do not match the rises of the quantity."""
    found = effect.provenance.get("slope_check")
    if not found or found["distance"] <= found["limit"]:
        return
    text = (
        f"The slopes of {effect.feature!r} do not match the rises of {effect.about.quantity}: the accumulated slopes "
        f"differ from the accumulated rises by {found['distance']:.3g} (root mean square), and at most "
        f"{found['limit']:.3g} is allowed. Use sd.ALE() instead, and check the slope function if you gave one."
    )
    yield Flag("slope mismatch", "warning", text, effect.feature, None, dict(found))


def _typical(effect: Effect) -> float:
    """Return the root mean square of the local effects."""
    stats = effect.bins
    if stats is None:
        return 0.0
    size = np.hypot(np.nan_to_num(stats.effect), np.nan_to_num(stats.std))
    largest = float(size.max(initial=0.0))
    if largest == 0 or not stats.weight.sum() > 0:
        return 0.0
    return largest * float(np.sqrt(np.average((size / largest) ** 2, weights=stats.weight)))


def _end(effect: Effect, value: Any) -> Any:
    """Return an end of a bin: a number, or a level's label."""
    if effect.levels is None:
        return float(value)
    return effect.levels.labels[int(effect.levels.places([value])[0])]


def _bent_text(effect: Effect, ends: tuple[Any, Any], numbers: Mapping[str, Any]) -> str:
    """Say that local effects depend on x inside bins."""
    bins, share, p = numbers["bins"], numbers["share"], numbers["p_value"]
    sure = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    where = (
        f"{effect.feature!r} from {number(ends[0], effect.time)} to {number(ends[1], effect.time)}"
    )
    inside = "inside the bin" if bins == 1 else f"inside {bins} bins"
    most = "" if bins == 1 else "up to "
    if effect.levels is not None:
        return f"{where}: the step depends on which level rows come from ({sure})."
    if not effect.spec.pointwise:
        return (
            f"{where}: rows' differences depend on where {inside} they lie ({sure}), which is "
            f"{most}{share:.0%} of their variance there. Use more bins to see it."
        )
    said = (
        f"{where}: the slope changes {inside} ({sure}), which is {most}{share:.0%} of the variance"
    )
    if share < BENT:
        return f"{said}; the reported spread is hardly touched."
    chosen = effect.spec.method in ("RHALE", "UALE")
    finer = max(40, 2 * len(effect.points))
    fix = f"See it with e.rebin({finer})" if chosen else "Use more bins, or sd.RHALE()"
    left = f"only {numbers['within']:.3g}" if share < 0.999 else "hardly anything"
    return (
        f"{said}: of the reported standard deviation of {numbers['std']:.3g} {left} is how rows "
        f"differ at the same value. {fix}."
    )


def _far(effect: Effect, far: Extrapolation | None) -> Iterator[Flag]:
    """Object to rows that were made up far from the data."""
    name, swept = effect.feature, effect.spec.local == "none"
    if far is None:
        if swept and len(effect.points) > 1:
            text = (
                f"Each row was asked for at each value of {name!r}: how many of these rows are like "
                "no data is known with trust(X=X) only."
            )
            yield Flag("extrapolation", "note", text, name)
        return
    if far.overall < FAR_NOTE:
        return
    place = int(np.nanargmax(far.share))
    label = (
        effect.levels.labels[place]
        if effect.levels is not None
        else number(effect.points[place], effect.time)
    )
    beside = f" (measured with {', '.join(map(repr, far.others))})" if far.others else ""
    if swept:
        fix = "Read sd.ALE() or sd.RHALE() beside it."
    elif effect.levels is not None:
        fix = "Rows of neighbouring levels are not alike."
    elif _between_values(effect):
        fix = "Its steps are between neighbouring values: no bins are narrower."
    else:
        fix = "Use more bins."
    text = (
        f"{far.overall:.0%} of the rows that the curve of {name!r} asks the model for are farther from all "
        f"data than 99 % of the rows are from their nearest{beside}, {far.share[place]:.0%} at {label}: "
        f"there the model extrapolates. {fix}"
    )
    severity: Severity = "warning" if far.overall >= FAR else "note"
    numbers = {
        "share": far.overall,
        "at": far.share.tolist(),
        "rows": far.rows,
        "others": far.others,
    }
    yield Flag("extrapolation", severity, text, name, None, numbers)


def _between_values(effect: Effect) -> bool:
    """Return whether the feature has few values, and each of them is an edge."""
    if effect.spec.local != "value_steps" or effect.rows is None:
        return False
    return bool(np.isin(effect.rows.x, effect.points).all())


def _beside(
    effect: Effect,
    other: Effect,
    level: float,
    far: tuple[Extrapolation | None, Extrapolation | None],
) -> Iterator[Flag]:
    """Object to another effect that says something else."""
    shares = [None if f is None else f.overall for f in far]
    found = disagreement(effect, other, level, (shares[0], shares[1]))
    if found is not None:
        where, text, numbers = found
        yield Flag("disagreement", "warning", text, effect.feature, where, numbers)


def _of_score(effect: Effect) -> Iterator[Flag]:
    """Warn of a heterogeneity score that compares near values only, or that has few effective pairs of rows."""
    score, name = effect.swap_score, effect.feature
    if score is None:
        return
    if score.vif > COLLINEAR:
        text = (
            f"The other columns of X nearly determine {name!r} (variance inflation {score.vif:,.0f}; above "
            f"{COLLINEAR:.0f} is high). Its heterogeneity score compares only values that the other columns make "
            "plausible, which are close to each other. A column that nearly repeats another lowers the score even if "
            "the model ignores it: leave such a column out of X, or explain both as a group with groups=."
        )
        yield Flag("collinear", "note", text, name, None, {"vif": score.vif})
    if score.value > 0 and score.effective_pairs < FEW_PAIRS:
        sampled = not score.exact
        # If all rows are used already, heterogeneity_rows cannot be raised.
        severity: Severity = "warning" if sampled else "note"
        fix = "Raise heterogeneity_rows" if sampled else "Use more rows if there are any"
        text = (
            f"The heterogeneity score of {name!r}, {score.value:.3g}, rests on few pairs of rows "
            f"({score.effective_pairs:.0f} effective pairs of {score.pairs:,}; {FEW_PAIRS:.0f} are needed), so that "
            f"its standard error is not reliable. {fix}; until then read the score as an order of magnitude."
        )
        numbers = {"pairs": score.pairs, "effective_pairs": score.effective_pairs}
        yield Flag("few pairs", severity, text, name, None, numbers)


# ------------------------------------------------------------------------------------------
# To what extent to trust a surface: cells with few rows or none, and points far from all data.


FEW, EMPTY = 0.5, 0.25
"""Share of the rows in cells of fewer than ten, and of the area without a row, from which it is a warning."""


NOTED = 0.1
"""Share of either from which it is noted."""


def trust_surface(surface: Surface, *, X: Any = None, seed: int = 0) -> Trust:
    """Return what there is to object to a surface.

    Parameters
    ----------
    surface : Surface
    X : array or data frame, optional
        What was explained: then the rows that a PDP made up are compared with it.
    seed : int
        Of samples.

    Returns
    -------
    Trust
        Warnings first.

    Notes
    -----
    No model row. The rules:

    - *no rows*: the share of the area (of categorical features of the steps, or level combinations) without any row,
      noted from 10 %, a warning from 25 %. Of a PDP a point of the grid is without rows if it lies farther from all of
      them, in the plane of the two features, than 99 % of the rows from their nearest.
    - *few rows*: the share of the rows in cells of fewer than ten; noted from 10 %, a warning from 50 %.
    - *extrapolation*: as in `skedasis.results.checks.reliability`, of each row at each point of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> x = np.random.default_rng(0).uniform(size=(400, 1))
    >>> s = sd.explain(
    ...     lambda X: X[:, 0] * X[:, 1], np.hstack([x, x]), (0, 1), method=sd.ALE(bins=5)
    ... )
    >>> [(f.kind, f.severity, round(f.numbers["share"], 1)) for f in trust_surface(s)]
    [('no rows', 'warning', 0.8)]
    """
    seed = given_seed("trust(seed)", seed)
    found = [*_cells(surface), *_plane(surface), *_swept(surface, X, seed)]
    return Trust(sorted(found, key=lambda f: f.severity == "note"))


def _names(surface: Surface) -> str:
    return " × ".join(surface.features)


def _widths(side: Side) -> Floats:
    """Return the widths of a side's cells as shares of it; steps between levels count alike.

    Between the two values of a two-valued feature there is nothing: the bins of these values count alike, others not.
    """
    if side.strips is not None:
        return np.bincount(side.home(np.array(side.strips)), minlength=side.homes) / 2
    width = np.ones(max(side.m - 1, 1)) if side.bins is None or side.m < 2 else side.bins.widths
    return width / width.sum()


def _graded(share: float, grave: float) -> Severity:
    return "warning" if share >= grave else "note"


def _cells(surface: Surface) -> Iterator[Flag]:
    """Object to the cells of an accumulated surface."""
    cells, name = surface.cells, _names(surface)
    if cells is None or cells.count.size == 0:
        return
    area = np.outer(_widths(surface.sides[0]), _widths(surface.sides[1]))
    empty = cells.empty.reshape(area.shape)
    share = float(area[empty].sum())
    if share >= NOTED:
        there = area > 0
        n = int(empty[there].sum())
        text = (
            f"{share:.0%} of the area of {name} ({n} of {int(there.sum())} cells) holds no row: "
            "figures hatch it, and values there mean nothing. Use fewer bins."
        )
        numbers = {"share": share, "cells": n}
        yield Flag("no rows", _graded(share, EMPTY), text, name, None, numbers)
    few = (cells.count < TRUSTED_ROWS) & ~cells.empty
    part = float(cells.count[few].sum() / max(cells.count.sum(), 1))
    if part >= NOTED:
        text = (
            f"{part:.0%} of the rows of {name} lie in cells of fewer than {TRUSTED_ROWS} rows "
            f"({int(few.sum())} of {empty.size} cells). Use more rows or fewer bins."
        )
        numbers = {"share": part, "cells": int(few.sum())}
        yield Flag("few rows", _graded(part, FEW), text, name, None, numbers)


def _plane(surface: Surface) -> Iterator[Flag]:
    """Object to points of a PDP's grid without rows around them, in the plane of the two features."""
    rows = surface.rows
    if surface.cells is not None or rows is None or len(rows) < 2 * TRUSTED_ROWS:
        return
    known = np.isfinite(rows.x0) & np.isfinite(rows.x1)
    first = _axes(surface.sides[0], rows.x0[known])
    second = _axes(surface.sides[1], rows.x1[known])
    of_rows = np.hstack([first[0], second[0]])
    m0, m1 = surface.value.shape
    nodes = np.hstack([np.repeat(first[1], m1, axis=0), np.tile(second[1], (m0, 1))])
    some = np.random.default_rng(0).permutation(len(of_rows))[:SWEPT]
    limit = np.percentile(nearest(of_rows[some], of_rows, some), PERCENTILE)
    distance = nearest(nodes, of_rows, np.full(m0 * m1, -1))
    share = float((distance > limit * (1 + 1e-9)).mean())
    if share >= NOTED:
        name = _names(surface)
        text = (
            f"{share:.0%} of the points of {name} lie where no row is near: farther from all rows than 99 % "
            "of these from their nearest. There the surface is the model's guess."
        )
        yield Flag("no rows", _graded(share, EMPTY), text, name, None, {"share": share})


def _axes(side: Side, x: Floats) -> tuple[Floats, Floats]:
    """Return rows, and the nodes of a side, on axes: one in units of the standard deviation, or one a level."""
    if side.levels is not None:
        unit = np.eye(side.m) * np.sqrt(0.5)
        return unit[x.astype(np.int64)], unit
    mean, size = float(x.mean()), float(x.std())
    scale = size if size > 0 else 1.0
    return ((x - mean) / scale)[:, None], ((side.nodes - mean) / scale)[:, None].astype(float)


def _swept(surface: Surface, X: Any, seed: int) -> Iterator[Flag]:
    """Object to the rows that a PDP made up."""
    if X is None:
        return
    space, rng = Space.of(X, seed), np.random.default_rng(seed)
    features = [a.feature for a in surface.abouts]
    columns = tuple(c for f in features for c in f.columns)
    if any(elsewhere(space, f) for f in features):
        raise another_table()
    if surface.cells is not None:
        return
    view, n = space.beside(columns), len(space.points)
    row = rng.integers(n, size=SWEPT)
    made = view.points[row]
    for feature, side in zip(features, surface.sides, strict=True):
        place = rng.integers(side.m, size=SWEPT)
        if side.levels is None:
            view.put(made, feature.position, side.nodes[place].astype(float))
            continue
        column = space.source.levels(feature, top=n)
        known_rows = dict(zip(column.levels.labels, column.levels.rows, strict=True))
        donors = np.array([known_rows.get(label, -1) for label in side.levels.labels])[place]
        there = donors >= 0
        made, row, donors = made[there], row[there], donors[there]
        view.lend(made, feature.columns, donors)
    share = float(view.far(made, row).mean()) if len(row) else 0.0
    if share >= FAR_NOTE:
        name = _names(surface)
        text = (
            f"{share:.0%} of the rows that the surface of {name} asks the model for are farther from all data "
            "than 99 % of the rows are from their nearest: there the model extrapolates. Read sd.ALE() beside it."
        )
        numbers = {"share": share, "rows": len(row), "others": view.others}
        yield Flag("extrapolation", _graded(share, FAR), text, name, None, numbers)
