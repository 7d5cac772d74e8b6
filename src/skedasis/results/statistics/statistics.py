"""ALE statistics (Okoli 2023): how large an accumulated effect is, how sure that is, and whether it could be chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from skedasis._types import Floats, Json
from skedasis.errors import DataError, explained
from skedasis.results.shown import Shown
from skedasis.results.words import count

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
        from skedasis.results.tables import frame

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
