"""ALE statistics (Okoli 2023): ALED, ALER, NALED, NALER, with intervals and p-values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_int, check_name, check_probability, shown
from skedasis._numbers import counted
from skedasis._types import Bools, Floats, Json
from skedasis.errors import DataError, UnsupportedError
from skedasis.registry import listed_methods
from skedasis.results import json_keys, operations
from skedasis.results.ale_statistics_bootstrap import (
    AccumulatedResult,
    Percentiles,
    Replicates,
    centred_by_mean,
    compute_statistics,
    curve_at_positions,
    outcomes,
    positions,
    replicated_statistics,
)
from skedasis.results.described import Keys, listed, object_of
from skedasis.results.display import SavedResult
from skedasis.results.effect import AccumulatedEffect, Effect, LevelStepsEffect
from skedasis.results.export import Content, Exportable, ExportOptions
from skedasis.stats.random import RandomState, as_seed
from skedasis.stats.resampling import bootstrap

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

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the statistics as a data frame with one row per feature."""
        return operations.to_data_frame(columns(self), backend or self.library)


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
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        f"{found.quantity}: {found.method}, {counted(max((s.n for s in found), default=0), 'row')}"
    ]
    for row in table:
        cells = [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]))
    return "\n".join(lines + _notes(found))


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
    """Return the ALE statistics of accumulated effects.

    Parameters
    ----------
    effects : Effects or Effect
        Effects by ALE (numeric or categorical), DALE, RHALE or UALE.
    y : array of n numbers, optional
        The outcomes of the explained rows, for percentiles; or other values to compare the effects with, such as the
        predictions.
    confidence_level : float
        Confidence level of the intervals.
    replicates, random_state, n_jobs : int
        Settings of the bootstrap behind the intervals. The result does not depend on `n_jobs`.
    null : NullDistribution, or names of features, optional
        The null distribution for p-values: the result of `skedasis.null_distribution`, or the names of features that
        are known to be random.
    sample_weight : array of n numbers, optional
        The weights that were passed to `explain`, if any.

    Returns
    -------
    Statistics

    Raises
    ------
    DataError
        For y or weights of the wrong length or type, a `confidence_level` outside (0, 1), fewer than two replicates,
        unknown names, and a null distribution of another method, quantity or settings.
    UnsupportedError
        For PDP, ICE and M-plots, which are not accumulated effects.

    Notes
    -----
    Needs no model rows.

    **Definitions** (Okoli 2023). ALED is the weighted mean over the rows of abs(ALE(x_i)), ALER the smallest and the
    largest ALE(x_i). ALE is centred to zero mean over the rows, whatever the centre of the effect, so that ALER may
    differ from the extremes of `Effect.value` by a constant. Okoli uses the centres of the bins instead of the rows
    (the values that Apley & Zhu centre), and the edges instead of the extremes. With narrow bins, this is the same. It
    differs if rows concentrate at one end of wide bins, or if slopes change within bins. If not all rows are kept
    (`exact` is False), two points with the mean and variance of its rows represent each fine cell, and its edges their
    extremes.

    **Percentiles.** An effect of a > 0 is converted to the percentage of rows with an outcome above the median and up
    to median + a; for a < 0 likewise below. NALED is the mean of its absolute value over the rows, NALER its extremes,
    at most 50. Outcomes equal to the median are excluded. In Okoli's definition they are included as soon as any other
    outcome is reached, and each half has 50 percent: if half of the outcomes are zero, the smallest effect that reaches
    the next value is then at least 25 points. `Statistic.okoli` has the numbers of that definition. For continuous
    outcomes, both agree up to 1/n. The median and the outcomes are taken as known: intervals do not include their
    sampling error.

    **Intervals** are computed from a bootstrap of rows with fixed bins, drawn once for all features. The mean of
    abs(f + error) is larger than that of abs(f), and the maximum is biased upwards, most strongly for weak effects.
    `noise` is therefore the value of a flat effect. The interval of a statistic of size t reaches from
    ``t - 2 b - max(q_hi - m, z s)`` to ``t + max(m - q_lo, z s, z s')``: m, s and q are the replicates' mean, standard
    deviation and quantiles, z the normal quantile, and b = max(m - t, 0) the bias; s' is the standard deviation with
    the curve's signs and the positions of its extremes fixed. If the ALED is at most `noise_limit`, intervals begin at
    0. Nominal 95 % intervals cover 91 to 99 % (simulated: flat, weak and strong curves, 150 to 600 rows, 5 to 30 bins;
    least for effects of once or twice the noise). Percentiles of the replicates cover 0 % for flat effects, and the
    basic bootstrap 72 % for weak ones.

    **p-values** are ``(1 + #{null as large}) / (1 + draws)``, one-sided. A feature is compared with its own permuted
    copies; if the null has none, with those of all columns that were explained with the same method and settings.
    Random features given by name are the null of all other features, and have no p-value themselves.

    References
    ----------
    Okoli, C. (2023). Statistical inference using machine learning and classical techniques based on accumulated local
    effects (ALE). arXiv:2310.09877.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(400, 2))
    >>> y = 8 * X[:, 0] + X[:, 1] ** 2
    >>> es = sd.explain(lambda X: 8 * X[:, 0] + X[:, 1] ** 2, X, method=sd.ALE(bins=10))
    >>> st = es.statistics(y, replicates=200)
    >>> round(st["x0"].aled), round(st["x0"].naled), st["x1"].aled < 0.3
    (2, 26, True)
    """
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
