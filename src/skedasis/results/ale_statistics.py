"""ALE statistics (Okoli 2023): ALED, ALER, NALED, NALER, with intervals and p-values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_int, check_name, check_probability, shown
from skedasis._numbers import counted
from skedasis._types import Bools, Floats, Ints, Json
from skedasis.errors import DataError, UnsupportedError
from skedasis.registry import listed_methods
from skedasis.results import json_keys
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.build.steps import UP
from skedasis.results.described import Keys, listed, object_of
from skedasis.results.display import SavedResult, align_columns
from skedasis.results.effect import AccumulatedEffect, Effect, LevelStepsEffect, ValueStepsEffect
from skedasis.results.export import Content, Exportable, ExportOptions
from skedasis.results.intervals.bootstrap import (
    ConstantEffect,
    FromMoments,
    FromRows,
    replicate_source,
)
from skedasis.results.intervals.moments import (
    MomentSums,
    SparseMatrix,
    interpolation_matrix,
    sparse_diagonal,
    sparse_matrix,
)
from skedasis.results.intervals.statistics import (
    AccumulatedStatistic,
    LinearSlopeStatistic,
    MomentStatistic,
    StepStatistic,
)
from skedasis.stats.moments import Moments
from skedasis.stats.random import RandomState, as_seed
from skedasis.stats.resampling import (
    DrawnWeights,
    Reweighted,
    bootstrap,
    bootstrap_rng,
    draw_in_parts,
)

# ------------------------------------------------------------------------------------------
# Results: the statistics of features, and null distributions.


NumberPair = tuple[float, float]


_NAN = float("nan")


_UNKNOWN = (_NAN, _NAN)


@dataclass(frozen=True)
class Statistic(Exportable):
    """The ALE statistics of one feature."""

    feature: str
    aled: float
    """ALE deviation: the mean over the rows of abs(ALE), where ALE is centred to zero mean, in units of the quantity.
    """
    aler: NumberPair
    """ALE range: the smallest and the largest ALE of a row."""
    naled: float = _NAN
    """ALE deviation in percentiles of y; NaN without y. See `statistics`."""
    naler: NumberPair = _UNKNOWN
    """ALE range in percentiles of y."""
    aled_interval: NumberPair = _UNKNOWN
    """Ends of the interval of `aled`."""
    aler_interval: tuple[NumberPair, NumberPair] = (_UNKNOWN, _UNKNOWN)
    """Intervals of the lower and of the upper end of `aler`."""
    naled_interval: NumberPair = _UNKNOWN
    """Ends of the interval of `naled`."""
    naler_interval: tuple[NumberPair, NumberPair] = (_UNKNOWN, _UNKNOWN)
    """Intervals of the lower and of the upper end of `naler`."""
    noise: float = _NAN
    """Mean of the ALED of a flat effect with the same standard errors."""
    noise_limit: float = _NAN
    """Its quantile at the confidence level. An ALED below it is not significantly different from zero."""
    p_value: float = _NAN
    """P-value of the ALED: the fraction of random features with an ALED at least as large. NaN without a null
    distribution."""
    p_aler: NumberPair = _UNKNOWN
    """P-values of the two ends of the ALER."""
    okoli: tuple[float, float, float] = (_NAN, _NAN, _NAN)
    """NALED and the ends of NALER with percentiles as defined by Okoli and the R package `ale`."""
    n: int = 0
    """Number of rows."""
    exact: bool = True
    """Whether the statistics are computed from the rows. Otherwise, two points represent the rows of each fine cell."""

    @property
    def is_noise(self) -> bool:
        """Whether the ALED is at most `noise_limit`."""
        return self.aled <= self.noise_limit

    def numbers(self) -> list[tuple[str, float, NumberPair]]:
        """Return each number of the four statistics: its name, its value and its interval."""
        found = [
            ("aled", self.aled, self.aled_interval),
            ("naled", self.naled, self.naled_interval),
        ]
        for name, ends, intervals in (
            ("aler", self.aler, self.aler_interval),
            ("naler", self.naler, self.naler_interval),
        ):
            found.append((f"{name}_low", ends[0], intervals[0]))
            found.append((f"{name}_high", ends[1], intervals[1]))
        return found

    def __repr__(self) -> str:
        low, high = self.aler
        return (
            f"<Statistic of {self.feature!r}: ALED {self.aled:.4g}, ALER {low:.4g} to {high:.4g}>"
        )

    def _columns(self) -> Content:
        return {**columns([self])}


@dataclass(frozen=True, eq=False)
class Statistics(SavedResult):
    """ALE statistics of several features, in the order of the columns of X. Indexed by name or position; iterable."""

    exported = ("quantity", "method", "confidence_level", "lines as statistics", "provenance")
    lines: tuple[Statistic, ...]
    """The statistics of each feature, in X's order."""
    confidence_level: float = 0.95
    """Confidence level of the intervals."""
    method: str = "ALE"
    quantity: str = "prediction"
    library: str | None = None
    """The data frame library of X."""
    provenance: Json = field(default_factory=dict)

    def __getitem__(self, feature: str | int) -> Statistic:
        """Return the statistics of a feature, by its name or position."""
        for place, line in enumerate(self.lines):
            is_place = isinstance(feature, int) and not isinstance(feature, bool)
            if line.feature == feature or (is_place and place == feature):
                return line
        known = f"one of {[line.feature for line in self.lines]}"
        raise DataError("feature", repr(feature), known, "Use the name of a feature")

    def __iter__(self) -> Iterator[Statistic]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return as_text(self)

    def _columns(self) -> Content:
        return {**columns(self)}


@dataclass(frozen=True, eq=False)
class NullDistribution(SavedResult):
    """Null distribution of ALE statistics: those of random features, which the learner was given in addition to X."""

    draws: Mapping[str, Floats]
    """For each feature the ALED and the two ends of the ALER of its permuted copies, shape (R, 3)."""
    ways: Mapping[str, tuple[str, ...]]
    """For each feature the method by which its copies were explained, the quantity, and the method's settings."""
    provenance: Json = field(default_factory=dict)
    """How it was made: refits, model rows, seed, and so on."""

    def __repr__(self) -> str:
        sizes = [len(d) for d in self.draws.values()]
        return (
            f"<NullDistribution: {counted(sum(sizes), 'random feature')} of {counted(len(sizes), 'column')}, "
            f"{counted(int(self.provenance.get('fits', 0)), 'fit')}>"
        )

    def _document(self, options: ExportOptions) -> Content:
        return {
            "features": [
                {
                    "feature": name,
                    "method": self.ways[name][0],
                    "quantity": self.ways[name][1],
                    "aled": drawn[:, 0],
                    "aler_low": drawn[:, 1],
                    "aler_high": drawn[:, 2],
                }
                for name, drawn in self.draws.items()
            ],
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            "features": listed(
                object_of(
                    "One feature; its numbers have one entry per permuted copy.",
                    {
                        "feature": json_keys.text("Name of the feature."),
                        **json_keys.METHOD,
                        "quantity": json_keys.QUANTITY["quantity"],
                        "aled": json_keys.numbers("ALE deviation."),
                        "aler_low": json_keys.numbers("Lower end of the ALE range."),
                        "aler_high": json_keys.numbers("Upper end of the ALE range."),
                    },
                ),
                "The features.",
            ),
            **json_keys.RECORD,
        }, {}

    def _columns(self) -> Content:
        """Return the columns of `to_frame`: one row per random feature."""
        drawn = np.concatenate([*self.draws.values(), np.zeros((0, 3))])
        names = [name for name, d in self.draws.items() for _ in range(len(d))]
        return {
            "feature": names,
            "aled": drawn[:, 0],
            "aler_low": drawn[:, 1],
            "aler_high": drawn[:, 2],
        }


def columns(found: Iterable[Statistic]) -> dict[str, list[str | float]]:
    """Return the statistics as the columns of a table."""
    table: dict[str, list[str | float]] = {}

    for line in found:
        row: dict[str, str | float] = {"feature": line.feature}
        for name, value, interval in line.numbers():
            row |= {name: value, f"{name}_lower": interval[0], f"{name}_upper": interval[1]}
        row |= {"noise": line.noise, "noise_limit": line.noise_limit, "p_value": line.p_value}
        row |= {"p_aler_low": line.p_aler[0], "p_aler_high": line.p_aler[1]}
        row |= {"n": line.n, "exact": line.exact}
        for name, value in row.items():
            table.setdefault(name, []).append(value)
    return table


def as_text(found: Statistics) -> str:
    """Return the statistics as a table of text."""
    percent = any(not np.isnan(line.naled) for line in found)
    tested = any(not np.isnan(line.p_value) for line in found)
    head = ["feature", "ALED", f"{100 * found.confidence_level:.4g} % interval", "noise", "ALER"]
    head += ["NALED", "NALER"] if percent else []
    table = [head + (["p"] if tested else [])]
    for s in found:
        lower, upper = s.aled_interval
        row = [s.feature, f"{s.aled:.4g}", f"{lower:.4g} to {upper:.4g}"]
        row += [f"{s.noise:.3g}", f"{s.aler[0]:.4g} to {s.aler[1]:.4g}"]
        row += [f"{s.naled:.1f}", f"{s.naler[0]:.1f} to {s.naler[1]:.1f}"] if percent else []
        table.append(row + ([f"{s.p_value:.3g}"] if tested else []))
    rows = counted(max((s.n for s in found), default=0), "row")
    of = f"{found.quantity}: {found.method}, {rows}"
    return "\n".join([of, *align_columns(table), *_notes(found)])


def _notes(found: Statistics) -> list[str]:
    """Return the notes below the table."""
    notes = []
    not_significant = [s.feature for s in found if s.is_noise and s.aled > 0]
    if not_significant:
        notes.append(
            f"not significantly different from a flat effect: {', '.join(not_significant)}"
        )
    with_ties = [s for s in found if abs(s.naled - s.okoli[0]) > 0.5]
    if with_ties:
        okoli_values = ", ".join(f"{s.feature} {s.okoli[0]:.1f}" for s in with_ties)
        notes.append(f"NALED with ties counted as by Okoli: {okoli_values}")
    if any(not s.exact for s in found):
        notes.append("not all rows are kept: two points represent the rows of each fine cell")
    return notes


# ------------------------------------------------------------------------------------------
# Computation of the statistics.


def statistics(
    effects: Mapping[str, Effect] | Effect,
    y: ArrayLike | None = None,
    confidence_level: float = 0.95,
    replicates: int = 1000,
    random_state: RandomState = 0,
    null: NullDistribution | Sequence[str] | str | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    n_jobs: int = 1,
) -> Statistics:
    """Return the ALE statistics of accumulated effects; `Effects.statistics` defines them, and the parameters."""
    confidence_level = check_probability("statistics(confidence_level)", confidence_level)
    replicates = check_int("statistics(replicates)", replicates, 2, "Use 1000")
    seed = as_seed("statistics(random_state)", random_state)
    n_jobs = check_int("statistics(n_jobs)", n_jobs, 1, "Use 1")
    given = {effects.feature: effects} if isinstance(effects, Effect) else effects
    by_name = {name: _as_accumulated(e) for name, e in given.items()}
    percentiles = None if y is None else _outcomes(y, sample_weight, by_name)
    null_draws = _null_draws(null, by_name)
    centred = {name: centred_by_mean(e) for name, e in by_name.items()}
    sources = {name: replicated_statistics(e, percentiles) for name, e in centred.items()}
    drawn = bootstrap(
        {name: source.replicated() for name, source in sources.items()}, replicates, seed, n_jobs
    )
    lines = tuple(
        _with_p_values(
            _statistic(e, percentiles, sources[name].split(drawn[name]), confidence_level),
            null_draws.get(name),
        )
        for name, e in centred.items()
    )
    first = next(iter(by_name.values()))
    how: Json = {"replicates": replicates, "random_state": seed}
    if isinstance(null, NullDistribution):
        how["null"] = dict(null.provenance)
    return Statistics(
        lines,
        confidence_level,
        first.spec.method,
        first.about.quantity,
        first.about.library,
        how,
    )


def _as_accumulated(effect: Effect) -> AccumulatedResult:
    """Return the effect; raise if it is not accumulated."""
    if isinstance(effect, (AccumulatedEffect, LevelStepsEffect)):
        return effect
    raise UnsupportedError(
        f"statistics of {effect.spec.method}",
        "an effect that is not accumulated",
        listed_methods(lambda m: m.bins and m.local_effects),
        "Explain with method=sd.ALE()",
    )


def _outcomes(
    y: ArrayLike, weights: ArrayLike | None, effects: Mapping[str, Effect]
) -> Percentiles:
    first = next(iter(effects.values()))
    rows = first.provenance.get("rows")
    weighted = rows is not None and first.provenance.get("weight", rows) != rows
    return outcomes(y, weights, rows, weighted=weighted)


# ------------------------------------------------------------------------------------------
# Intervals.


def _statistic(
    effect: AccumulatedResult,
    percentiles: Percentiles | None,
    drawn: Replicates,
    confidence_level: float,
) -> Statistic:
    """Return the statistics of one centred effect."""
    where = positions(effect)
    value = curve_at_positions(effect, where.x)
    found = compute_statistics(value[:, None], where.weight[:, None], percentiles)[:, 0]
    limit = float(np.quantile(drawn.noise, confidence_level))
    ends = _intervals(found, drawn, confidence_level, is_noise=bool(found[0] <= limit))
    line = Statistic(
        effect.feature,
        float(found[0]),
        (float(found[1]), float(found[2])),
        aled_interval=ends[0],
        aler_interval=(ends[1], ends[2]),
        noise=float(drawn.noise.mean()),
        noise_limit=limit,
        n=where.rows,
        exact=where.exact,
    )
    if percentiles is None:
        return line
    low, high, *limits = percentiles.of(np.array([*line.aler, *ends[1], *ends[2]])).tolist()
    value = value - np.average(value, weights=where.weight)
    okoli = np.abs(percentiles.okoli(value)) @ where.weight / max(where.weight.sum(), 1e-300)
    okoli_low, okoli_high = percentiles.okoli(np.array(line.aler)).tolist()
    return replace(
        line,
        naled=float(found[3]),
        naler=(low, high),
        naled_interval=(ends[3][0], min(ends[3][1], 50.0)),
        naler_interval=((limits[0], limits[1]), (limits[2], limits[3])),
        okoli=(float(okoli), okoli_low, okoli_high),
    )


def _intervals(
    found: Floats, drawn: Replicates, confidence_level: float, *, is_noise: bool
) -> list[NumberPair]:
    """Return the intervals of ALED, the two ends of ALER and, if computed, NALED."""
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence_level) / 2))
    out: list[NumberPair] = []
    for k in range(len(found)):
        sign = -1.0 if k == 1 else 1.0  # the lower end of ALER is negative
        deviation = sign * (drawn.statistics[:, k] - drawn.base[k])
        mean, std = float(deviation.mean()), float(deviation.std())
        low, high = np.quantile(deviation, [(1 - confidence_level) / 2, (1 + confidence_level) / 2])
        known = drawn.moved[~np.isnan(drawn.moved[:, k]), k]
        fixed_std = known.std() if len(known) else 0.0
        size = sign * float(found[k])
        lower = size - 2 * max(mean, 0.0) - max(float(high) - mean, z * std)
        lower = 0.0 if is_noise else max(lower, 0.0)
        upper = size + max(mean - float(low), z * std, z * float(fixed_std))
        out.append((lower, upper) if sign > 0 else (-upper, 0.0 - lower))
    return out


# ------------------------------------------------------------------------------------------
# Null distributions and p-values.


def _null_draws(
    null: NullDistribution | Sequence[str] | str | None, effects: Mapping[str, Effect]
) -> dict[str, Floats]:
    """Return the null distribution of each feature, (R, 3)."""
    if null is None:
        return {}
    if isinstance(null, NullDistribution):
        if not any(len(draws) for draws in null.draws.values()):
            raise DataError(
                "statistics(null)",
                "an empty null distribution",
                "at least one random feature",
                "Rerun sd.null_distribution()",
            )
        return _matching_draws(null, effects)
    names = [null] if isinstance(null, str) else null
    if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) for n in names):
        expected = "a null distribution, or names of random features"
        raise DataError(
            "statistics(null)", shown(null), expected, "Use null=sd.null_distribution(...)"
        )
    for name in names:
        fix = "Include the random feature in the explained features"
        check_name("statistics(null)", name, list(effects), fix)
    draws = np.array([point_statistics(effects[name]) for name in names])
    return {name: draws for name in effects if name not in names}


def _matching_draws(null: NullDistribution, effects: Mapping[str, Effect]) -> dict[str, Floats]:
    """Return the draws of each feature; without any, those of all columns with the same settings."""
    found: dict[str, Floats] = {}
    for name, effect in effects.items():
        own = null_key(effect)
        alike = [null.draws[k] for k, way in null.ways.items() if way == own]
        if null.ways.get(name) == own:
            found[name] = null.draws[name]
        elif name in null.ways:
            raise _mismatch_error(name, own, {null.ways[name]})
        elif alike:
            found[name] = np.concatenate(alike)
    if not found:
        name, effect = next(iter(effects.items()))
        raise _mismatch_error(name, null_key(effect), set(null.ways.values()))
    return found


def _mismatch_error(name: str, own: tuple[str, ...], ways: set[tuple[str, ...]]) -> DataError:
    of = " or ".join(sorted({f"{w[0]} of {w[1]}" for w in ways}))
    return DataError(
        f"statistics(null) of {name!r}",
        f"draws of {of}",
        f"{own[0]} of {own[1]}, with the same settings",
        "Pass the method of sd.explain to sd.null_distribution",
    )


def null_key(effect: Effect) -> tuple[str, ...]:
    """Return what a null must share with an effect: method, quantity, and the method's settings except the centre."""
    given = {k: v for k, v in effect.spec.parameters.items() if k != "center"}
    if isinstance(effect, LevelStepsEffect) and effect.spec.method == "ALE":
        given = {"order": given.get("order")}
    settings = json.dumps(given, sort_keys=True, default=str)
    return effect.spec.method, effect.about.quantity, settings


def point_statistics(effect: Effect) -> Floats:
    """Return ALED and the ends of ALER, shape (3,), without intervals."""
    centred = centred_by_mean(_as_accumulated(effect))
    where = positions(centred)
    return compute_statistics(
        curve_at_positions(centred, where.x)[:, None], where.weight[:, None], None
    )[:, 0]


def _with_p_values(line: Statistic, null: Floats | None) -> Statistic:
    """Return the statistics of a feature with p-values."""
    if null is None:
        return line
    # Values that differ by rounding are equal: an unused random feature may have 1e-17 or 0.
    slack = 1e-9 * max(float(np.abs(null).max(initial=0.0)), abs(line.aled))
    aled = _p_value(null[:, 0] >= line.aled - slack)
    low = _p_value(null[:, 1] <= line.aler[0] + slack)
    high = _p_value(null[:, 2] >= line.aler[1] - slack)
    return replace(line, p_value=aled, p_aler=(low, high))


def _p_value(as_large: Bools) -> float:
    return float((1 + int(as_large.sum())) / (1 + len(as_large)))


# ------------------------------------------------------------------------------------------
# Effects in percentiles of the outcome.


_REACHED = 1 + 1e-9
"""Factor on effects, so that outcomes missed only by rounding count as reached."""


@dataclass(frozen=True, eq=False)
class Percentiles:
    """The distribution of outcomes around their median."""

    above: Floats
    below: Floats
    up: Floats
    down: Floats
    half_up: Floats
    half_down: Floats

    @classmethod
    def around(cls, y: Floats, weight: Floats) -> Percentiles:
        """Return the distribution of weighted outcomes around their median."""
        order = np.argsort(y, kind="stable")
        y, weight = y[order], weight[order]
        total = np.cumsum(weight)
        half = total[-1] / 2
        ends = [int(np.searchsorted(total, half, side=s)) for s in ("left", "right")]
        moved = y - (y[ends[0]] + y[min(ends[1], len(y) - 1)]) / 2
        sides = []
        for side in (moved, -moved):
            passed = side > 0
            worth = weight[passed]
            if side is not moved:
                worth = worth[::-1]
            tied = float(weight[moved == 0].sum())
            so_far = np.append(0.0, np.cumsum(worth))
            held = max(tied + so_far[-1], np.finfo(float).tiny)
            halves = np.append(0.0, tied + so_far[1:]) / held * 50
            sides.append((np.sort(side[passed]), so_far / total[-1] * 100, halves))
        (above, up, half_up), (below, down, half_down) = sides
        return cls(above, below, up, down, half_up, half_down)

    def of(self, effect: Floats) -> Floats:
        """Return effects in percentiles: the percentage of rows between the median and median + effect."""
        reach = effect * _REACHED
        up = self.up[np.searchsorted(self.above, reach, side="right")]
        down = self.down[np.searchsorted(self.below, -reach, side="right")]
        return up - down

    def okoli(self, effect: Floats) -> Floats:
        """Return effects in percentiles as defined by Okoli (2023) and the R package `ale`."""
        up = self.half_up[np.searchsorted(self.above, effect * _REACHED, side="right")]
        down = self.half_down[np.searchsorted(self.below, -effect * _REACHED, side="right")]
        far = [side[0] if len(side) else np.inf for side in (self.above, self.below)]
        return np.where(effect > far[0], up, 0.0) - np.where(-effect > far[1], down, 0.0)


def outcomes(
    y: ArrayLike, weights: ArrayLike | None, rows: int | None, *, weighted: bool
) -> Percentiles:
    """Check outcomes and weights, and return the distribution of the outcomes around their median."""
    values = _numbers(y)
    if weighted and weights is None:
        fix = "Pass the weights that were passed to explain"
        raise DataError("statistics(sample_weight)", "None", "one weight per row", fix)
    w = np.ones(len(values)) if weights is None else _numbers(weights, "statistics(sample_weight)")
    if w.shape != values.shape:
        got = f"shapes {values.shape} and {w.shape}"
        fix = "Pass the outcomes and weights of the rows of X"
        raise DataError("statistics(y, sample_weight)", got, "one number per row", fix)
    if not np.isfinite(w).all() or (w < 0).any() or not w.any():
        got = "weights that are negative, not finite or all zero"
        raise DataError(
            "statistics(sample_weight)",
            got,
            "non-negative numbers, at least one of them positive",
            "Pass the weights that were passed to explain",
        )
    values, w = values[w > 0], w[w > 0]
    if rows is not None and len(values) != rows:
        got, expected = f"length {len(values)}", f"length {rows} (one per row)"
        fix = "Pass the outcomes of the rows that were explained"
        raise DataError("statistics(y)", got, expected, fix)
    if not np.isfinite(values).all():
        got = f"{int((~np.isfinite(values)).sum())} values that are NaN or infinite"
        raise DataError(
            "statistics(y)", got, "finite numbers", "Remove these rows before sd.explain"
        )
    return Percentiles.around(values, w)


def _numbers(y: ArrayLike, what: str = "statistics(y)") -> Floats:
    """Return outcomes or weights as an array of floats; raise if they are no numbers."""
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    got = None
    if given.ndim != 1 or len(given) == 0:
        got = f"shape {given.shape}"
    elif given.dtype.kind not in "biufO":
        got = f"values of type {given.dtype}"
    try:
        values = np.zeros(0) if got else given.astype(float)
    except (TypeError, ValueError):
        got, values = "values that are no numbers", np.zeros(0)
    if got:
        fix = "Pass the outcome of each row as a number, a class as 0 or 1"
        if what != "statistics(y)":
            fix = "Pass the weights that were passed to explain"
        raise DataError(what, got, "one number per row", fix)
    return values


# ------------------------------------------------------------------------------------------
# Statistics of an accumulated effect, and of its bootstrap replicates.


GROUPS = 2048
"""Up to this many distinct values, resampled rows are not grouped."""


_EDGE_WEIGHT = 1e-12
"""Weight of a cell's edges, relative to its rows."""


_MOST_NUMBERS = 1_000_000
"""Largest number of groups times replicates computed at once."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Positions of rows on the axis."""

    x: Floats
    weight: Floats
    rows: int
    exact: bool


AccumulatedResult: TypeAlias = AccumulatedEffect | LevelStepsEffect
"""The kinds of effects that have ALE statistics."""


def centred_by_mean(effect: AccumulatedResult) -> AccumulatedResult:
    """Return the effect with ``center="mean"``, so that its replicates are known wherever they have rows."""
    if effect.spec.center == "mean":
        return effect
    return replace(effect, spec=replace(effect.spec, center="mean"))


def positions(effect: AccumulatedResult) -> Positions:
    """Return the positions of an effect's rows if all are kept; else of levels, or of points in fine cells."""
    if isinstance(effect, LevelStepsEffect):
        levels = effect.axis.levels
        return Positions(
            effect.axis.coordinates, levels.weight, int(levels.count.sum()), exact=True
        )
    rows = effect.rows
    if len(effect.points) < 2 or len(effect.cells) == 0:
        count = int(effect.provenance.get("rows", effect.missing)) - effect.missing
        return Positions(np.zeros(1), np.ones(1), count, exact=True)
    if rows is not None and rows.exact:
        inside = (rows.x >= effect.points[0]) & (rows.x <= effect.points[-1])
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        return Positions(rows.x[inside], weight[inside], int(inside.sum()), exact=True)
    if isinstance(effect, ValueStepsEffect):
        own = effect.moments[UP]
        return Positions(effect.values, own.weight, int(own.count.sum()), exact=True)
    x, cell, fraction = _points(effect)
    axis = effect.moments[AXIS]
    count = int(axis.count[np.unique(cell)].sum())
    return Positions(x, fraction * axis.weight[cell], count, exact=False)


def _points(effect: AccumulatedEffect) -> tuple[Floats, Ints, Floats]:
    """Return points that represent the rows of fine cells: values, cells, and fractions of the cells' weight."""
    axis, cells = effect.moments[AXIS], effect.cells
    own = np.clip(axis.mean, cells.edges[:-1], cells.edges[1:])
    inside = (axis.weight > 0) & (own >= effect.points[0]) & (own <= effect.points[-1])
    cell = np.flatnonzero(inside)
    left, right, mean = cells.edges[cell], cells.edges[cell + 1], own[cell]
    variance = axis.m2[cell] / axis.weight[cell]
    std = np.sqrt(variance)
    below = np.minimum(std, mean - left)
    above = np.minimum(std, right - mean)
    # A point outside the cell is moved to its edge; the other is moved away from the mean, to keep mean and variance.
    tight_low, tight_high = below < std, above < std
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(tight_low & (below > 0), variance / below, above)
        below = np.where(tight_high & ~tight_low & (above > 0), variance / above, below)
        part = np.where(above + below > 0, above / (above + below), 0.5)
    x = [mean - below, mean + above, left, right]
    fraction = [part, 1 - part, np.full(len(cell), _EDGE_WEIGHT), np.full(len(cell), _EDGE_WEIGHT)]
    where = np.clip(np.concatenate(x), effect.points[0], effect.points[-1])
    return where, np.tile(cell, 4), np.concatenate(fraction)


def curve_at_positions(effect: AccumulatedResult, where: Floats) -> Floats:
    """Return the curve at values of the feature; for a categorical feature, at codes of levels."""
    if isinstance(effect, LevelStepsEffect):
        return effect.value[where.astype(np.int64)]
    if len(effect.points) < 2:
        return np.zeros(len(where))
    return effect.at(where)


def compute_statistics(value: Floats, weight: Floats, percentiles: Percentiles | None) -> Floats:
    """Return ALED, the two ends of ALER and, with percentiles, NALED: shape (3, R) or (4, R)."""
    there = weight > 0
    known = np.where(there, value, 0.0)
    level = _mean(known, weight)
    known = np.where(there, known - level, 0.0)
    low = np.where(there, known, np.inf).min(axis=0)
    high = np.where(there, known, -np.inf).max(axis=0)
    found = [_mean(np.abs(known), weight), low, high]
    if percentiles is not None:
        found.append(_mean(np.abs(percentiles.of(known)), weight))
    return np.stack(found)


def _mean(value: Floats, weight: Floats) -> Floats:
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    return (weight * value).sum(axis=0) / total


@dataclass(frozen=True, eq=False)
class Replicates:
    """Replicates of the f statistics of an effect."""

    base: Floats
    statistics: Floats
    moved: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class ReplicatedStatistics:
    """The statistics of an effect as a function of the counts of its rows."""

    source: FromRows | FromMoments | ConstantEffect
    moments: MomentSums | None
    gather: SparseMatrix
    interpolation: SparseMatrix
    parabola: SparseMatrix | None
    weight: Floats
    flat: Floats
    percentiles: Percentiles | None

    @property
    def base(self) -> Floats:
        """The statistics with the original weights, shape (f,)."""
        return compute_statistics(self.flat, self.weight, self.percentiles)[:, 0]

    def split(self, drawn: Floats) -> Replicates:
        """Return replicates, (R, 2 f + 1), as a `Replicates`."""
        f = len(self.base)
        return Replicates(self.base, drawn[:, :f], drawn[:, f : 2 * f], drawn[:, 2 * f])

    def replicated(self) -> Reweighted | DrawnWeights:
        """Return the statistics as a function of counts, or as random draws; see `stats.resampling.bootstrap`."""
        if isinstance(self.source, FromMoments):
            return self.drawn
        return Reweighted(self.source.draws, self)

    def __call__(self, counts: Floats) -> Floats:
        """Return statistics, their changes, and noise, (2 f + 1, R), from counts (n, R)."""
        if self.moments is None or not isinstance(self.source, FromRows):
            still = np.concatenate([self.base, np.zeros(len(self.base) + 1)])
            return np.repeat(still[:, None], counts.shape[1], axis=1)
        return self._evaluate(self.source.statistic, self.moments(counts), self.gather @ counts)

    def drawn(self, replicates: int, seed: int) -> Floats:
        """Return statistics, their changes, and noise, (R, 2 f + 1), from drawn moments."""
        source = self.source
        if not isinstance(source, FromMoments):
            raise TypeError("only moments are drawn")
        rng = bootstrap_rng(seed)
        names, squares = source.statistic.needed("value")
        cells = len(source.moments[names[0]].weight)

        def draw(size: int) -> Floats:
            moments = source.drawn(rng, size, names, squares=squares)
            weight = self.gather @ moments[names[0]].weight
            return self._evaluate(source.statistic, moments, weight).T

        return draw_in_parts(
            replicates, max(1, _MOST_NUMBERS // max(len(self.flat), cells, 1)), draw
        )

    def _evaluate(
        self, statistic: MomentStatistic, moments: Mapping[str, Moments], weight: Floats
    ) -> Floats:
        # Where the curve of a replicate is unknown, the replicate has no rows either.
        at = curve_at(statistic, moments, self.interpolation, self.parabola)
        at = at - _mean(np.where(weight > 0, at, 0.0), weight)
        deviation, side = np.where(weight > 0, at - self.flat, 0.0), np.sign(self.flat)
        seen = np.where(self.weight > 0, self.flat, np.nan)[:, 0]
        ends = [int(np.nanargmin(seen)), int(np.nanargmax(seen))]
        moved = [_mean(side * deviation, weight)]
        moved += [np.where(weight[k] > 0, deviation[k], np.nan) for k in ends]
        if self.percentiles is not None:
            fraction = self.percentiles.of(self.flat + deviation) - self.percentiles.of(self.flat)
            moved.append(_mean(side * fraction, weight))
        found = compute_statistics(at, weight, self.percentiles)
        return np.concatenate([found, np.stack(moved), _mean(np.abs(deviation), weight)[None]])


def curve_at(
    statistic: MomentStatistic,
    moments: Mapping[str, Moments],
    interpolation: SparseMatrix,
    parabola: SparseMatrix | None,
) -> Floats:
    """Return curves at the groups, (g, R); zero where they are unknown."""
    at = interpolation @ np.nan_to_num(statistic.evaluate(moments, "value"))
    if parabola is None or not isinstance(statistic, LinearSlopeStatistic):
        return at
    return at + parabola @ statistic.trend(moments)


def replicated_statistics(
    effect: AccumulatedResult, percentiles: Percentiles | None
) -> ReplicatedStatistics:
    """Return the statistics of a centred effect as a function of the counts of its rows."""
    source = replicate_source(effect)
    if isinstance(source, ConstantEffect):
        one, zero = sparse_diagonal(np.ones(1)), np.zeros((1, 1))
        return ReplicatedStatistics(source, None, one, one, None, zero + 1, zero, percentiles)
    sums: MomentSums | None = None
    if isinstance(source, FromRows):
        names, squares = source.statistic.needed("value")
        sums = source.columns.summed(names, squares=squares)
        x, gather, observed = _of_rows(effect, source)
        own: Mapping[str, Moments] = sums(source.own_counts[:, None])
    elif isinstance(source, FromMoments):
        x, gather, observed = _of_cells(source)
        own = {k: _column(m) for k, m in source.moments.items()}
    else:
        raise TypeError(f"no statistics of {type(source).__name__}")
    interpolation, parabola = _interpolation(effect, x), _bending(effect, x)
    flat = curve_at(source.statistic, own, interpolation, parabola)
    flat = flat - _mean(flat, observed[:, None])
    return ReplicatedStatistics(
        source, sums, gather, interpolation, parabola, observed[:, None], flat, percentiles
    )


def _column(moments: Moments) -> Moments:
    return Moments(**{k: a[:, None] for k, a in moments.arrays().items()})


def _of_rows(effect: AccumulatedResult, source: FromRows) -> tuple[Floats, SparseMatrix, Floats]:
    """Return groups of neighbouring rows: their positions, the matrix that sums counts by group, and their weights."""
    rows = effect.rows
    x = np.zeros(0) if rows is None else rows.x
    inside = np.flatnonzero((source.columns.place >= 0) & ~np.isnan(x))
    if isinstance(effect, AccumulatedEffect):
        inside = inside[(x[inside] >= effect.points[0]) & (x[inside] <= effect.points[-1])]
    group, size = _group_rows(effect, x[inside])
    w = source.draws.sampling_weight
    worth = np.ones(len(inside)) if w is None else w[inside]
    gather = sparse_matrix(worth, group, inside, (size, len(x)))
    fraction = np.bincount(group, minlength=size)
    return np.bincount(group, x[inside], size) / fraction, gather, gather @ source.own_counts


def _group_rows(effect: AccumulatedResult, x: Floats) -> tuple[Ints, int]:
    """Return the group of each row, and the number of groups: one per value, or neighbouring values within a bin."""
    values, group = np.unique(x, return_inverse=True)
    if len(values) > GROUPS:
        block = np.arange(len(values)) * GROUPS // len(values)
        edges = effect.axis.coordinates
        block = block + len(values) * np.searchsorted(edges, values, side="right")
        group = np.unique(block, return_inverse=True)[1][group]
    return group.astype(np.int64), int(group.max(initial=-1)) + 1


def _of_cells(source: FromMoments) -> tuple[Floats, SparseMatrix, Floats]:
    """Return points in the fine cells as groups, each with its fraction of the weight of the statistic's cell."""
    if isinstance(source.statistic, StepStatistic):
        x = source.statistic.positions
        return x, sparse_diagonal(np.ones(len(x))), source.moments[UP].weight
    statistic = source.statistic
    if not isinstance(statistic, AccumulatedStatistic):
        raise TypeError("statistics are of accumulated effects")
    fine = statistic.effect.moments[AXIS]
    x, cell, fraction = _points(statistic.effect)
    own = statistic.cells.locate(fine.mean)[cell]
    there = np.flatnonzero(own >= 0)
    x, own, weight = x[there], own[there], (fraction * fine.weight[cell])[there]
    whole = np.bincount(own, weight, len(statistic.cells))
    shape = len(x), len(statistic.cells)
    gather = sparse_matrix(weight / whole[own], np.arange(len(x)), own, shape)
    return x, gather, gather @ source.moments[LOCAL].weight


def _interpolation(effect: AccumulatedResult, x: Floats) -> SparseMatrix:
    """Return the matrix that interpolates a curve from the effect's points to x."""
    if isinstance(effect, AccumulatedEffect):
        return interpolation_matrix(effect.points, x)
    shape = len(x), len(effect.axis)
    return sparse_matrix(np.ones(len(x)), np.arange(len(x)), x.astype(np.int64), shape)


def _bending(effect: AccumulatedResult, x: Floats) -> SparseMatrix | None:
    """Return the matrix from changes of slopes in bins to the parabola minus its chord at x, or None without any."""
    bins = effect.bins
    if isinstance(effect, LevelStepsEffect) or not np.any(bins.slope_change):
        return None
    place = np.clip(np.searchsorted(bins.low, x, side="right") - 1, 0, len(bins) - 1)
    worth = (x - bins.low[place]) * (x - bins.high[place]) / 2
    return sparse_matrix(np.minimum(worth, 0.0), np.arange(len(x)), place, (len(x), len(bins)))
