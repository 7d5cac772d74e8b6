"""Axes: ranges with margins, ticks that can be read at any scale and offset, and labels of any name."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Floats
from skedasis.data import times
from skedasis.data.times import TimeAxis

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ASIDE = 0.12
"""Share of an axis that a place beside it takes."""
ROUNDING = 1e-13
"""Share of a number below which another one is its rounding error: sums and means lose a few hundred epsilons."""
LEAST = 1e-300
"""Below it numbers lose digits, and the steps between ticks are zero: what is so small is drawn as zero."""
_EPOCH = TimeAxis("datetime", "s")
_MINUS, _TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Scale:
    """What the numbers at the ticks are multiplied by, and what is added: ``value = offset + tick * 10**exponent``.

    Parameters
    ----------
    offset : float
    exponent : int
    """

    offset: float = 0.0
    exponent: int = 0

    @classmethod
    def of(cls, low: float, high: float) -> Scale:
        """Choose the scale on which ticks between `low` and `high` have few digits.

        Examples
        --------
        >>> Scale.of(0.0, 42.0)
        Scale(offset=0.0, exponent=0)
        >>> Scale.of(1.7e9, 1.7e9 + 86_400)
        Scale(offset=1700000000.0, exponent=0)
        >>> Scale.of(-3e-9, 2e-9)
        Scale(offset=0.0, exponent=-9)
        """
        size, span = max(abs(low), abs(high)), high - low
        if not 0 < size < math.inf:
            return cls()
        offset = 0.0
        # Ticks need about one digit more than size / span has: beyond five nobody compares them.
        if size > (1e4 if size < 1e5 else 1e3) * span > 0:
            offset = _round_below(low + 0.1 * span, span)
            size = max(abs(low - offset), abs(high - offset))
        exponent = math.floor(math.log10(size))
        return cls(offset, 0 if -3 <= exponent < 5 else 3 * math.floor(exponent / 3))

    def texts(self, ticks: Sequence[float]) -> list[str]:
        """Write the ticks with as many decimals as tell them apart.

        Parameters
        ----------
        ticks : sequence of float

        Returns
        -------
        list of str

        Examples
        --------
        >>> Scale(exponent=-9).texts([0.0, 2.5e-10, 5e-10])
        ['0.00', '0.25', '0.50']
        """
        values = (np.asarray(ticks, dtype=float) - self.offset) / 10.0**self.exponent
        decimals = _decimals(values)
        # A zero that rounding made negative is zero.
        written = [f"{round(float(v), decimals) + 0.0:.{decimals}f}" for v in values]
        return [w.replace("-", _MINUS) for w in written]

    def label(self, name: str, unit: str | None) -> str:
        """Return a label that says what the ticks leave out.

        Examples
        --------
        >>> Scale(exponent=-9).label("delay", "s")
        'delay [10⁻⁹ s]'
        >>> Scale(offset=-1.7e9).label("time", "s")
        'time + 1700000000 [s]'
        """
        if self.offset:
            name = f"{name} {'+' if self.offset < 0 else _MINUS} {abs(self.offset):.15g}"
        if self.exponent:
            power = f"10{str(self.exponent).translate(_SUPERSCRIPTS)}"
            unit = f"{power} {unit}" if unit else f"{_TIMES}{power}"
        return f"{name} [{unit}]" if unit else name


@dataclass(frozen=True)
class Clock(Scale):
    """The scale of a time axis: the day that all ticks share stands in the label.

    Parameters
    ----------
    time : TimeAxis
    shared : str
        Empty where ticks say all.
    """

    time: TimeAxis = _EPOCH
    shared: str = ""

    @classmethod
    def on(cls, time: TimeAxis, low: float, high: float) -> Clock:
        """Return the scale between two places of an axis.

        Examples
        --------
        >>> scale = Clock.on(TimeAxis("datetime", "s"), 0.25, 0.75)
        >>> scale.texts([0.25, 0.5]), scale.label("sent", None)
        (['06:00', '12:00'], 'sent, 1970-01-01')
        """
        if time.kind not in ("date", "datetime") or not (math.isfinite(low) and low < high):
            return cls(time=time)
        first, last = times.written(time, np.array([low, high]), 1 / 86_400)
        return cls(time=time, shared=first[:10] if first[:10] == last[:10] else "")

    def texts(self, ticks: Sequence[float]) -> list[str]:
        """Write the ticks, less what they share."""
        texts = times.written(self.time, np.asarray(ticks, dtype=float), None, short=True)
        if not self.shared or any(len(t) <= 10 or t[:10] != self.shared for t in texts):
            return texts
        return [t[11:] for t in texts]

    def label(self, name: str, unit: str | None) -> str:
        """Return a label that says what the ticks leave out, and the time zone."""
        name = f"{name}, {self.shared}" if self.shared else name
        unit = unit or self.time.zone
        return f"{name} [{unit}]" if unit else name


@dataclass(frozen=True)
class Axis:
    """A range, and what it is a range of.

    Parameters
    ----------
    name : str
    unit : str or None
    least, most : float
        What must be seen; NaN where there is nothing.
    margin : float
        Share of the range that is added on either side.
    ticks : tuple of float
        Where ticks stand; empty leaves the choice to who draws.
    labels : tuple of str
        Of levels, one a tick; empty where ticks are numbers.
    turn : {0, 40, 90}
        Degrees by which these labels are turned, so that they do not touch.
    apart : str
        What stands at the tick of a place beside the axis, at `beside`; empty where there is none.
    time : TimeAxis, optional
        Of dates, times and durations: what the days on the axis are.
    """

    name: str
    unit: str | None
    least: float
    most: float
    margin: float = 0.03
    ticks: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    turn: int = 0
    apart: str = ""
    time: TimeAxis | None = None

    @property
    def range(self) -> tuple[float, float]:
        """Return the ends of what is on the axis, the first less than the second."""
        return padded(self.least, self.most, self.margin)

    @property
    def limits(self) -> tuple[float, float]:
        """Return the ends of the axis, with the place beside it if there is one."""
        low, high = self.range
        return low, high + (ASIDE * (high - low) if self.apart else 0.0)

    @property
    def beside(self) -> float:
        """Return where what lies nowhere on the axis stands."""
        low, high = self.range
        return high + 0.6 * ASIDE * (high - low)

    @property
    def gap(self) -> tuple[float, float]:
        """Return the ends of the place beside the axis."""
        low, high = self.range
        return high + 0.2 * ASIDE * (high - low), self.limits[1]

    @property
    def scale(self) -> Scale:
        """Return the scale of its ticks; names have none."""
        if self.time is not None:
            return Clock.on(self.time, self.least, self.most)
        return Scale() if self.labels else Scale.of(*self.range)

    @property
    def label(self) -> str:
        """Return its name, unit and scale."""
        return self.scale.label(clean(self.name), clean(self.unit) if self.unit else None)

    def spanning(self, axes: Sequence[Axis]) -> Axis:
        """Return this axis with a range that shows all that `axes` must show."""
        low, high = extent(np.array([a.least, a.most]) for a in axes)
        return replace(self, least=low, most=high)


def extent(values: Iterable[Floats]) -> tuple[float, float]:
    """Return the least and greatest finite value; (nan, nan) where there is none."""
    finite = [a[np.isfinite(a)] for a in (np.asarray(v, dtype=float).ravel() for v in values)]
    some = [(float(a.min()), float(a.max())) for a in finite if a.size]
    if not some:
        return math.nan, math.nan
    return min(s[0] for s in some), max(s[1] for s in some)


def padded(low: float, high: float, margin: float) -> tuple[float, float]:
    """Widen a range; make one of a single value, or of none."""
    if math.isnan(low) or max(abs(low), abs(high)) < LEAST:
        return -1.0, 1.0
    # A span within rounding of its own values is no span: a constant would be drawn as noise.
    if high - low > ROUNDING * max(abs(low), abs(high)):
        pad = margin * (high - low)
        return low - pad, high + pad
    pad = 0.05 * abs(low) or 1.0
    return low - pad, high + pad


def settled(values: Floats, size: float) -> Floats:
    """Return values of which those are zero that differ from it by the rounding of larger numbers alone.

    Parameters
    ----------
    values : ndarray of float
        Differences, such as a curve minus its mean.
    size : float
        The largest of the numbers that were subtracted.

    Examples
    --------
    >>> settled(np.array([7.1e-15, -0.5, np.nan]), 51.6).tolist()
    [0.0, -0.5, nan]
    """
    return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)


def clean(text: str) -> str:
    r"""Return text on one line, without what cannot be printed.

    Examples
    --------
    >>> clean(" a\tname\n")
    'a name'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "(no name)"


def shortened(text: str, room: int) -> str:
    """Return text of at most `room` characters; its beginning and end, which tell names apart, stay.

    Examples
    --------
    >>> shortened("number_of_visits_in_the_year_2019", 20)
    'number_of_…year_2019'
    """
    text = clean(text)
    if len(text) <= room:
        return text
    end = (room - 1) // 2
    return f"{text[: room - 1 - end]}…{text[-end:]}"


def told_apart(names: Sequence[str], room: int) -> tuple[str, ...]:
    """Return shortened names; those that have become equal are numbered.

    Examples
    --------
    >>> told_apart(["visits in 2019", "visits of 2019", "age"], 10)
    ('vis…19 (1)', 'vis…19 (2)', 'age')
    """
    short = [shortened(n, room) for n in names]
    seen: dict[str, int] = {}
    out: list[str] = []
    for name, cut in zip(names, short, strict=True):
        seen[cut] = seen.get(cut, 0) + 1
        out.append(cut if short.count(cut) == 1 else f"{shortened(name, room - 4)} ({seen[cut]})")
    return tuple(out)


def wrapped(text: str, width: int) -> str:
    """Break text into lines."""
    return "\n".join(textwrap.wrap(text, width)) or text


def flowed(remarks: Sequence[str], width: int) -> str:
    """Set short remarks one after the other, and break lines only between them.

    Examples
    --------
    >>> flowed(["500 rows", "6 bins"], 80)
    '500 rows · 6 bins'
    """
    lines: list[str] = []
    for remark in remarks:
        if lines and len(lines[-1]) + len(remark) + 3 <= width:
            lines[-1] += f" · {remark}"
        else:
            lines.append(remark)
    return "\n".join(lines)


def _round_below(low: float, span: float) -> float:
    """Return the roundest number below `low` that leaves numbers not much longer than the span itself."""
    unit = 10.0 ** math.floor(math.log10(abs(low)))
    while low - math.floor(low / unit) * unit > 4 * span:
        unit /= 10
    return math.floor(low / unit) * unit


def _decimals(values: Floats) -> int:
    """Return how many decimals show every value to a hundredth of the least step."""
    steps = np.diff(np.unique(values))
    step = float(steps.min()) if len(steps) else abs(float(values[0])) if len(values) else 1.0
    if not 0 < step < math.inf:
        return 0
    first = max(0, -math.floor(math.log10(step) + 1e-9))
    for decimals in range(first, first + 3):
        if np.all(np.abs(values - np.round(values, decimals)) <= 0.01 * step):
            return decimals
    return first + 1
