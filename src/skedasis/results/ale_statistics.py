"""ALE statistics (Okoli 2023): ALED, ALER, NALED, NALER, intervals and p-values.

| module | what it does |
|---|---|
| `measure` | the statistics of effects, with their intervals; start here |
| `deviation` | mean absolute deviations of curves, exact over the rows, and of many counts of the rows at once |
| `percentiles` | effects as percentiles of the outcome |
| `statistics` | how they are carried, printed and compared with those of random features |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Json
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.ale_statistics_bootstrap import (
    Drawn,
    Percentiles,
    Repeats,
    at_places,
    figures,
    middled,
    outcomes,
    places,
    repeats,
)
from skedasis.results.display import Shown, count
from skedasis.results.effect import Effect
from skedasis.results.intervals.analytic import Asked
from skedasis.results.intervals.bootstrap import FromMoments
from skedasis.stats.resampling import Draws, replicate

# ------------------------------------------------------------------------------------------
# ALE statistics (Okoli 2023): how large an accumulated effect is, how sure that is, and whether it could be chance.


Pair = tuple[float, float]


_NAN = float("nan")


_UNKNOWN = (_NAN, _NAN)


@dataclass(frozen=True)
class Statistic:
    """The statistics of one feature.

    Parameters
    ----------
    feature : str
    aled : float
        ALE deviation: the mean over the rows of abs(ALE), which averages to zero over them, in units of the quantity.
    aler : (float, float)
        ALE range: the least and the largest ALE of a row.
    naled, naler : float, (float, float)
        The same in percentiles of y; NaN without y. See `statistics`.
    aled_interval, naled_interval : (float, float)
    aler_interval, naler_interval : ((float, float), (float, float))
        Of the low end and of the high end.
    noise, noise_limit : float
        The ALED that a flat effect would have with errors like these, on average, and with probability `level` at most.
        An ALED below the limit cannot be told from zero.
    p_value : float
        The share of random features whose ALED is as large; NaN without a null.
    p_aler : (float, float)
        The share whose low end is as low, and whose high end is as high.
    okoli : (float, float, float)
        NALED and the ends of NALER as the R package `ale` counts percentiles.
    n : int
        Rows.
    exact : bool
        Whether it rests on the rows; otherwise on two points for each fine cell.
    """

    feature: str
    aled: float
    aler: Pair
    naled: float = _NAN
    naler: Pair = _UNKNOWN
    aled_interval: Pair = _UNKNOWN
    aler_interval: tuple[Pair, Pair] = (_UNKNOWN, _UNKNOWN)
    naled_interval: Pair = _UNKNOWN
    naler_interval: tuple[Pair, Pair] = (_UNKNOWN, _UNKNOWN)
    noise: float = _NAN
    noise_limit: float = _NAN
    p_value: float = _NAN
    p_aler: Pair = _UNKNOWN
    okoli: tuple[float, float, float] = (_NAN, _NAN, _NAN)
    n: int = 0
    exact: bool = True

    @property
    def is_noise(self) -> bool:
        """Return whether the ALED is no larger than that of a flat effect may be."""
        return self.aled <= self.noise_limit

    def __repr__(self) -> str:
        low, high = self.aler
        return (
            f"<Statistic of {self.feature!r}: ALED {self.aled:.4g}, ALER {low:.4g} to {high:.4g}>"
        )


@dataclass(frozen=True, eq=False)
class Statistics(Shown):
    """ALE statistics of several features, in X's order: by name or place, and one after the other.

    Parameters
    ----------
    lines : tuple of Statistic
    level : float
        Of the intervals.
    method, quantity : str
    library : str, optional
        The data frame library of X.
    provenance : dict
    """

    lines: tuple[Statistic, ...]
    level: float = 0.95
    method: str = "ALE"
    quantity: str = "prediction"
    library: str | None = None
    provenance: Json = field(default_factory=dict)

    def __getitem__(self, feature: str | int) -> Statistic:
        """Return the statistics of a feature, by its name or place."""
        for place, line in enumerate(self.lines):
            is_place = isinstance(feature, int) and not isinstance(feature, bool)
            if line.feature == feature or (is_place and place == feature):
                return line
        known = f"one of {[line.feature for line in self.lines]}"
        raise DataError(explained("feature", repr(feature), known, "Use a feature's name"))

    def __iter__(self) -> Iterator[Statistic]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return written(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the statistics as a data frame, one row a feature.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars", "pyarrow"; by default the library of X.

        Raises
        ------
        UnsupportedError
            Where no data frame library is installed.
        """
        from skedasis.results.frames import frame

        return frame(columns(self), backend or self.library)

    def save(self, path: str | Path) -> None:
        """Write the statistics into a file that `skedasis.load` reads."""
        from skedasis.results.io import save

        save(self, path)


@dataclass(frozen=True, eq=False)
class Chance:
    """What statistics random features have: those that a learner was given, and that say nothing.

    Parameters
    ----------
    draws : dict of str to ndarray of float, shape (R, 3)
        For each feature the ALED and the two ends of the ALER of its permuted copies.
    ways : dict of str to tuple of str
        For each feature the method that its copies were explained by, the quantity, and the method's settings.
    provenance : dict
        How it was made: refits, model rows, seed, and so on.
    """

    draws: Mapping[str, Floats]
    ways: Mapping[str, tuple[str, ...]]
    provenance: Json = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = [len(d) for d in self.draws.values()]
        return (
            f"<Chance: {count(sum(sizes), 'random feature')} of {count(len(sizes), 'column')}, "
            f"{count(int(self.provenance.get('fits', 0)), 'fit')}>"
        )

    def save(self, path: str | Path) -> None:
        """Write it into a file that `skedasis.load` reads."""
        from skedasis.results.io import save

        save(self, path)


def columns(found: Statistics) -> dict[str, Any]:
    """Return the statistics as columns."""
    table: dict[str, list[Any]] = {}

    def put(name: str, value: Any) -> None:
        table.setdefault(name, []).append(value)

    for line in found:
        put("feature", line.feature)
        for name in ("aled", "naled"):
            put(name, getattr(line, name))
            put(f"{name}_lower", getattr(line, f"{name}_interval")[0])
            put(f"{name}_upper", getattr(line, f"{name}_interval")[1])
        for name in ("aler", "naler"):
            for k, end in enumerate(("low", "high")):
                put(f"{name}_{end}", getattr(line, name)[k])
                put(f"{name}_{end}_lower", getattr(line, f"{name}_interval")[k][0])
                put(f"{name}_{end}_upper", getattr(line, f"{name}_interval")[k][1])
        put("noise", line.noise)
        put("noise_limit", line.noise_limit)
        put("p_value", line.p_value)
        put("p_aler_low", line.p_aler[0])
        put("p_aler_high", line.p_aler[1])
        put("n", line.n)
        put("exact", line.exact)
    return table


def written(found: Statistics) -> str:
    """Return the statistics as a table of text."""
    percent = any(not np.isnan(line.naled) for line in found)
    tested = any(not np.isnan(line.p_value) for line in found)
    head = ["feature", "ALED", f"{100 * found.level:.4g} % interval", "noise", "ALER"]
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
        f"{found.quantity}: {found.method}, {count(max((s.n for s in found), default=0), 'row')}"
    ]
    for row in table:
        cells = [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]))
    return "\n".join(lines + _notes(found))


def _notes(found: Statistics) -> list[str]:
    """Return what a reader has to know of the table."""
    notes = []
    within = [s.feature for s in found if s.is_noise and s.aled > 0]
    if within:
        notes.append(f"not told from a flat effect: {', '.join(within)}")
    away = [s for s in found if abs(s.naled - s.okoli[0]) > 0.5]
    if away:
        theirs = ", ".join(f"{s.feature} {s.okoli[0]:.1f}" for s in away)
        notes.append(f"NALED with ties counted as Okoli does: {theirs}")
    if any(not s.exact for s in found):
        notes.append("rows lie at two points in each fine cell: not all are kept")
    return notes


# ------------------------------------------------------------------------------------------
# From accumulated effects to their ALE statistics (Okoli 2023): figures, intervals, p-values.


def statistics(
    effects: Mapping[str, Effect] | Effect,
    y: Any = None,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    null: Chance | Sequence[str] | str | None = None,
    *,
    weights: Any = None,
    threads: int = 1,
) -> Statistics:
    """Return the ALE statistics of accumulated effects.

    Parameters
    ----------
    effects : Effects or Effect
        Of ALE, DALE, RHALE or UALE, the categorical ALE among them.
    y : array of n numbers, optional
        The outcome of the rows that were explained, for percentiles; or anything else that an effect is to be compared
        with, such as the predictions.
    level : float
        Of the intervals.
    replicates, seed, threads : int
        Of the bootstrap behind them; threads change no number.
    null : Chance, or names of features, optional
        What p-values compare with: `skedasis.chance`, or those of the features that are known to be random.
    weights : array of n numbers, optional
        Of y, where the effects are weighted: those that `explain` had.

    Returns
    -------
    Statistics

    Raises
    ------
    DataError
        For a y or weights of another length or kind, a level outside (0, 1), fewer than two replicates, unknown names,
        and a null of another method, quantity or settings.
    UnsupportedError
        For PDP, ICE and M-plots, whose curves are no accumulated effects.

    Notes
    -----
    No model row.

    **Definitions** (Okoli 2023). ALED is the weighted mean over the rows of abs(ALE(x_i)), ALER the smallest and the
    largest ALE(x_i). ALE is centred for it, whatever the effect's own centre: it averages to zero over the rows. Okoli
    takes the middles of the bins in place of the rows, whose average Apley & Zhu make zero, and the edges in place of
    their extremes. Where bins are narrow that is the same; where rows crowd at one end of wide bins, or slopes change
    within them, the curve lies elsewhere than its edges say. So ALER may differ from the extremes of `Effect.value` by
    a constant. Where not all rows are kept (`exact` is False), two points stand for each fine cell, with its rows' mean
    and variance, and its edges for their extremes.

    **Percentiles.** An effect of a > 0 counts the share of rows, in percent, whose outcome lies above the median and
    not beyond median + a; of a < 0 likewise below. NALED is the mean over the rows of its size, NALER are its extremes:
    50 at most. What is tied with the median is not passed. Okoli counts it, as soon as any outcome is, and makes each
    half 50 percent: where half of the outcomes are zero, the smallest effect beyond the next value is then worth
    25 points and more. `Statistic.okoli` has his numbers. With continuous outcomes both are the same but for 1/n. The
    median and the outcomes are taken as they are: their own error is in no interval.

    **Intervals** rest on resampled rows at fixed bins, drawn once for all features. The mean of abs(f + error) is
    larger than that of abs(f), and the largest value is too high, all the more where the effect is weak. So `noise`
    says what a flat effect would show, and the interval of a statistic of size t reaches from
    ``t - 2 b - max(q_hi - m, z s)`` to ``t + max(m - q_lo, z s, z s')``: m, s and q are the replicates' mean, standard
    deviation and quantiles, z the normal quantile, and b = m - t, if positive, what errors add; s' is the standard
    deviation if the curve's signs, and the places of its extremes, were known. Where the ALED is within `noise_limit`
    intervals begin at 0. So made, 95 % cover 91 to 99 % (simulated: flat, weak and strong curves, 150 to 600 rows, 5
    to 30 bins; least where the effect is once or twice the noise). Percentiles of the replicates cover 0 % where the
    effect is flat, and the basic bootstrap 72 % where it is weak.

    **p-values** are ``(1 + #{null as large}) / (1 + draws)``, one-sided. A feature is compared with its own permuted
    copies, and where the null has none of it, with those of all columns that were explained alike. Named random
    features are a null for all others; they have no p-value.

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
    asked = Asked(level, "bootstrap", replicates=replicates, seed=seed, threads=threads)
    several = {effects.feature: effects} if isinstance(effects, Effect) else dict(effects)
    for effect in several.values():
        _refuse(effect)
    share = None if y is None else _outcomes(y, weights, several)
    compared = _null(null, several)
    middle = {name: middled(e) for name, e in several.items()}
    drawn = _drawn({name: repeats(e, share) for name, e in middle.items()}, asked)
    lines = tuple(
        _compared(_line(e, share, drawn[name], level), compared.get(name))
        for name, e in middle.items()
    )
    first = next(iter(several.values()))
    how: Json = {"replicates": int(replicates), "seed": int(seed)}
    if isinstance(null, Chance):
        how["null"] = dict(null.provenance)
    return Statistics(
        lines, float(level), first.spec.method, first.about.quantity, first.about.library, how
    )


def _refuse(effect: Effect) -> None:
    what = f"statistics of a {effect.spec.method}"
    if effect.spec.local in ("none", "values"):
        got = "an effect that is not accumulated"
        raise UnsupportedError(
            explained(what, got, "ALE, DALE, RHALE or UALE", "Explain by method=sd.ALE()")
        )


def _outcomes(y: Any, weights: Any, effects: Mapping[str, Effect]) -> Percentiles:
    first = next(iter(effects.values()))
    rows = first.provenance.get("rows")
    weighted = rows is not None and first.provenance.get("weight", rows) != rows
    return outcomes(y, weights, rows, weighted=weighted)


# -------------------------------------------------------------------------------------- intervals
def _drawn(sources: Mapping[str, Repeats], asked: Asked) -> dict[str, Drawn]:
    """Return each feature's replicates: rows are drawn once for all features that have the same."""
    found: dict[str, Floats] = {}
    groups: list[tuple[Draws, list[str]]] = []
    for name, repeated in sources.items():
        source = repeated.source
        if isinstance(source, FromMoments):
            found[name] = repeated.drawn(asked.replicates, asked.seed)
            continue
        for draws, names in groups:
            if draws.alike(source.draws):
                names.append(name)
                break
        else:
            groups.append((source.draws, [name]))
    for draws, names in groups:
        together = [sources[name] for name in names]
        made = replicate(draws, together, int(asked.replicates), int(asked.seed), asked.threads)
        found |= dict(zip(names, made, strict=True))
    return {name: sources[name].split(found[name]) for name in sources}


def _line(effect: Effect, share: Percentiles | None, drawn: Drawn, level: float) -> Statistic:
    """Return the statistics of one centred effect."""
    where = places(effect)
    value = at_places(effect, where.x)
    found = figures(value[:, None], where.weight[:, None], share)[:, 0]
    limit = float(np.quantile(drawn.noise, level))
    ends = _intervals(found, drawn, level, is_noise=bool(found[0] <= limit))
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
    if share is None:
        return line
    low, high, *limits = share.of(np.array([*line.aler, *ends[1], *ends[2]])).tolist()
    value = value - np.average(value, weights=where.weight)
    okoli = np.abs(share.okoli(value)) @ where.weight / max(where.weight.sum(), 1e-300)
    okoli_low, okoli_high = share.okoli(np.array(line.aler)).tolist()
    return replace(
        line,
        naled=float(found[3]),
        naler=(low, high),
        naled_interval=(ends[3][0], min(ends[3][1], 50.0)),
        naler_interval=((limits[0], limits[1]), (limits[2], limits[3])),
        okoli=(float(okoli), okoli_low, okoli_high),
    )


def _intervals(found: Floats, drawn: Drawn, level: float, *, is_noise: bool) -> list[Pair]:
    """Return intervals of ALED, the two ends of ALER and, where it is there, NALED."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    out: list[Pair] = []
    for k in range(len(found)):
        sign = -1.0 if k == 1 else 1.0  # the low end is a size below zero
        moved = sign * (drawn.figures[:, k] - drawn.base[k])
        middle, spread = float(moved.mean()), float(moved.std())
        low, high = np.quantile(moved, [(1 - level) / 2, (1 + level) / 2])
        known = drawn.moved[~np.isnan(drawn.moved[:, k]), k]
        sure = known.std() if len(known) else 0.0
        size = sign * float(found[k])
        lower = size - 2 * max(middle, 0.0) - max(float(high) - middle, z * spread)
        lower = 0.0 if is_noise else max(lower, 0.0)
        upper = size + max(middle - float(low), z * spread, z * float(sure))
        out.append((lower, upper) if sign > 0 else (-upper, 0.0 - lower))
    return out


# ------------------------------------------------------------------------------------------- null
def _null(null: Any, effects: Mapping[str, Effect]) -> dict[str, Floats]:
    """Return what each feature's statistics are compared with, (R, 3)."""
    if null is None:
        return {}
    if isinstance(null, Chance):
        if not any(len(draws) for draws in null.draws.values()):
            raise DataError(explained("statistics(null)", "no draws", "some", "Make it again"))
        return _own_or_all(null, effects)
    names = [null] if isinstance(null, str) else null
    if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) for n in names):
        expected = "what skedasis.chance gives, or names of random features"
        raise DataError(
            explained("statistics(null)", repr(null)[:60], expected, "Use null=sd.chance(...)")
        )
    for name in names:
        if name not in effects:
            known = f"some of {list(effects)}"
            raise DataError(
                explained("statistics(null)", repr(name), known, "Explain the random feature too")
            )
    draws = np.array([point_figures(effects[name]) for name in names])
    return {name: draws for name in effects if name not in names}


def _own_or_all(null: Chance, effects: Mapping[str, Effect]) -> dict[str, Floats]:
    """Return each feature's own draws, else those of all columns that were explained as it was.

    Raises
    ------
    DataError
        For draws of another method, quantity or settings.
    """
    found: dict[str, Floats] = {}
    for name, effect in effects.items():
        own = way_of(effect)
        alike = [null.draws[k] for k, way in null.ways.items() if way == own]
        if null.ways.get(name) == own:
            found[name] = null.draws[name]
        elif name in null.ways:
            raise _another_way(name, own, {null.ways[name]})
        elif alike:
            found[name] = np.concatenate(alike)
    if not found:
        name, effect = next(iter(effects.items()))
        raise _another_way(name, way_of(effect), set(null.ways.values()))
    return found


def _another_way(name: str, own: tuple[str, ...], ways: set[tuple[str, ...]]) -> DataError:
    shown = " or ".join(sorted({f"{w[0]} of {w[1]}" for w in ways}))
    return DataError(
        explained(
            f"statistics(null) of {name!r}",
            f"draws of {shown}",
            f"{own[0]} of {own[1]}, with the same settings",
            "Pass chance the method that explain had",
        )
    )


def way_of(effect: Effect) -> tuple[str, ...]:
    """Return what a null must share with an effect: method, quantity, and the method's settings but for the centre."""
    given = {k: v for k, v in effect.spec.parameters.items() if k != "center"}
    if effect.levels is not None and effect.spec.method == "ALE":
        given = {"order": given.get("order")}
    settings = json.dumps(given, sort_keys=True, default=str)
    return effect.spec.method, effect.about.quantity, settings


def point_figures(effect: Effect) -> Floats:
    """Return ALED and the ends of ALER, shape (3,), without intervals.

    Raises
    ------
    UnsupportedError
        As `statistics`.
    """
    _refuse(effect)
    middle = middled(effect)
    where = places(middle)
    return figures(at_places(middle, where.x)[:, None], where.weight[:, None], None)[:, 0]


def _compared(line: Statistic, null: Floats | None) -> Statistic:
    """Return a line with its p-values."""
    if null is None:
        return line
    # Differences of rounding are none: a copy that is never used has 1e-17, another one 0.
    slack = 1e-9 * max(float(np.abs(null).max(initial=0.0)), abs(line.aled))
    aled = _share(null[:, 0] >= line.aled - slack)
    low = _share(null[:, 1] <= line.aler[0] + slack)
    high = _share(null[:, 2] >= line.aler[1] - slack)
    return replace(line, p_value=aled, p_aler=(low, high))


def _share(as_large: Bools) -> float:
    return float((1 + int(as_large.sum())) / (1 + len(as_large)))
