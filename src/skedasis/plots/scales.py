"""Axes, ticks, positions as text, width of text, and simplification of lines."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np

from skedasis._escaping import one_line, visible
from skedasis._numbers import number
from skedasis._types import Bools, Floats
from skedasis.data import times
from skedasis.data.times import TimeAxis

# --- width of text in SVG ------------------------------------------------------------------------

_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[]{}/\\ `°·"), frozenset("mwMW@%&—…→←")


@lru_cache(maxsize=4096)
def width_of(text: str, size: float = 12.0) -> float:
    """Return the approximate width of a line of text, in units of its size, for the widest of the common fonts."""
    return size * sum(_share(c) for c in text)


def _share(c: str) -> float:
    """Return the width of a character in units of the font size."""
    if c in _NARROW:
        return 0.38
    if c in _WIDE:
        return 0.95
    if c.isascii():
        return 0.68 if c.isupper() else 0.61
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Cf"):
        return 0.0
    # East Asian characters and most emoji are as wide as they are high.
    wide = unicodedata.east_asian_width(c) in ("W", "F") or ord(c) >= 0x1F000
    return 1.15 if wide else 0.66


# --- positions as text -----------------------------------------------------------------------------


def position_texts(values: Floats, time: TimeAxis | None = None) -> list[str]:
    """Return positions on an axis as text, with enough digits to distinguish neighbours; times for a time axis."""
    if time is not None:
        return time.texts(values)
    steps = np.diff(np.unique(values[np.isfinite(values)]))
    if len(steps) == 0:
        return [number(float(v), 4) for v in values]
    finest = math.floor(math.log10(steps.min()))
    if finest < -5 or np.abs(values[np.isfinite(values)]).max() >= 1e15:
        return [number(float(v), 6) for v in values]
    decimals = max(2 - finest, 0)
    while decimals and np.array_equal(np.round(values, decimals), np.round(values, decimals - 1)):
        decimals -= 1
    return [f"{v:,.{decimals}f}".replace("-", "−") for v in values]


# --- axes ----------------------------------------------------------------------------------------

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


ASIDE = 0.12
"""Fraction of an axis that a separate position beside it takes."""


ROUNDING = 1e-13
"""Relative rounding error: sums and means lose a few hundred machine epsilons."""


LEAST = 1e-300
"""Smaller numbers lose digits (subnormals), and steps between ticks underflow: they are drawn as zero."""


_EPOCH = TimeAxis("datetime", "s")


_MINUS, _TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Scale:
    """Offset and power of ten of the numbers at the ticks: ``value = offset + tick * 10**exponent``."""

    offset: float = 0.0
    exponent: int = 0

    @classmethod
    def of(cls, low: float, high: float) -> Scale:
        """Choose the scale for which ticks between `low` and `high` have few digits."""
        size, span = max(abs(low), abs(high)), high - low
        if not 0 < size < math.inf:
            return cls()
        offset = 0.0
        # Ticks need about one digit more than size / span has; more than five digits are hard to compare.
        if size > (1e4 if size < 1e5 else 1e3) * span > 0:
            offset = _round_below(low + 0.1 * span, span)
            size = max(abs(low - offset), abs(high - offset))
        exponent = math.floor(math.log10(size))
        return cls(offset, 0 if -3 <= exponent < 5 else 3 * math.floor(exponent / 3))

    def texts(self, ticks: Sequence[float]) -> list[str]:
        """Return the ticks as text, with enough decimals to distinguish them."""
        values = (np.asarray(ticks, dtype=float) - self.offset) / 10.0**self.exponent
        decimals = _decimals(values)
        # Avoid "-0.0" after rounding.
        written = [f"{round(float(v), decimals) + 0.0:.{decimals}f}" for v in values]
        return [w.replace("-", _MINUS) for w in written]

    def label(self, name: str, unit: str | None) -> str:
        """Return the axis label: name, unit, and the offset and power of ten that the ticks omit."""
        if self.offset:
            name = f"{name} {'+' if self.offset < 0 else _MINUS} {abs(self.offset):.15g}"
        if self.exponent:
            power = f"10{str(self.exponent).translate(_SUPERSCRIPTS)}"
            unit = f"{power} {unit}" if unit else f"{_TIMES}{power}"
        return f"{name} [{unit}]" if unit else name


@dataclass(frozen=True)
class Clock(Scale):
    """The scale of a time axis: a day that all ticks share is moved to the axis label."""

    time: TimeAxis = _EPOCH
    shared: str = ""

    @classmethod
    def on(cls, time: TimeAxis, low: float, high: float) -> Clock:
        """Return the scale for times between `low` and `high`."""
        if time.kind not in ("date", "datetime") or not (math.isfinite(low) and low < high):
            return cls(time=time)
        first, last = times.written(time, np.array([low, high]), 1 / 86_400)
        return cls(time=time, shared=first[:10] if first[:10] == last[:10] else "")

    def texts(self, ticks: Sequence[float]) -> list[str]:
        """Return the ticks as text, without the shared day."""
        texts = times.written(self.time, np.asarray(ticks, dtype=float), None, short=True)
        if not self.shared or any(len(t) <= 10 or t[:10] != self.shared for t in texts):
            return texts
        return [t[11:] for t in texts]

    def label(self, name: str, unit: str | None) -> str:
        """Return the axis label: name, shared day, and unit or time zone."""
        name = f"{name}, {self.shared}" if self.shared else name
        unit = unit or self.time.zone
        return f"{name} [{unit}]" if unit else name


@dataclass(frozen=True)
class Ratios(Scale):
    """The scale of a logarithmic axis: each tick has its own number of digits."""

    def texts(self, ticks: Sequence[float]) -> list[str]:
        """Return the ticks as text; from 100,000 and below 0.001 with a power of ten."""
        return [self._text(v) for v in ticks]

    @staticmethod
    def _text(value: float) -> str:
        power = math.floor(math.log10(value) + 1e-9)
        if -4 < power < 5:
            return f"{value:.6g}"
        digits = f"{value / 10.0**power:.6g}"
        raised = f"10{str(power).translate(_SUPERSCRIPTS)}"
        return raised if digits == "1" else f"{digits}{_TIMES}{raised}"


class OffAxis(NamedTuple):
    """Values beyond the range of an axis that have a separate position beside it: their ends, and its tick label."""

    text: str
    low: float
    high: float
    side: Literal[-1, 1]


class Aside(NamedTuple):
    """A separate position beside an axis: where its point is, the ends of the area around it, and its tick label."""

    at: float
    left: float
    right: float
    text: str


@dataclass(frozen=True)
class PlotAxis:
    """The range of a variable, with its name, unit, ticks and labels."""

    name: str
    unit: str | None = None
    least: float = math.nan
    most: float = math.nan
    margin: float = 0.03
    ticks: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    missing_label: str = ""
    off_axis: tuple[OffAxis, ...] = ()
    time: TimeAxis | None = None
    log: bool = False
    hidden: bool = False
    room: tuple[tuple[float, tuple[str, ...]], ...] = ()
    """Texts that begin at positions: the layout extends the range until one alternative of each fits beside them."""

    @cached_property
    def range(self) -> tuple[float, float]:
        """Return the ends of the range with its margins, in ascending order."""
        if not self.log:
            return padded(self.least, self.most, self.margin)
        if not self.margin and self.least < self.most:  # exactly as given
            return self.least, self.most
        low, high = padded(math.log10(self.least), math.log10(self.most), self.margin)
        return 10.0**low, 10.0**high

    @cached_property
    def limits(self) -> tuple[float, float]:
        """Return the ends of the axis, including the separate positions beside it."""
        low, high = self.range
        ends = [end for aside in self.asides for end in (aside.left, aside.right)]
        return min([low, *ends]), max([high, *ends])

    @cached_property
    def asides(self) -> tuple[Aside, ...]:
        """Return the separate positions beside the axis: those of `off_axis`, then that of missing values."""
        given = [(b.text, b.side) for b in self.off_axis]
        given += [(self.missing_label, 1)] if self.missing_label else []
        found: list[Aside] = []
        taken = {-1: 0, 1: 0}
        for text, side in given:
            at, near, far = (self._beside(side, taken[side] + part) for part in (0.6, 0.2, 1.0))
            found.append(Aside(at, min(near, far), max(near, far), text))
            taken[side] += 1
        return tuple(found)

    def place(self, value: float) -> float:
        """Return the position of a value: that of missing values for NaN; NaN for a value without a position."""
        if math.isnan(value):
            return self.asides[-1].at if self.missing_label else math.nan
        for aside, (_, low, high, _) in zip(self.asides, self.off_axis, strict=False):
            if low <= value <= high:
                return aside.at
        sides = {b.side for b in self.off_axis}
        hidden = (value < self.range[0] and -1 in sides) or (value > self.range[1] and 1 in sides)
        return math.nan if hidden else value

    def _beside(self, side: int, part: float) -> float:
        """Return a position below (-1) or above (1) the range, in units of the space for a separate position."""
        low, high = self.range
        end = high if side > 0 else low
        if self.log:
            return end * (high / low) ** (side * part * ASIDE)
        return end + side * part * ASIDE * (high - low)

    def share(self, values: Floats | float) -> Floats:
        """Return positions as fractions of the axis; those of ±inf are its ends."""
        low, high = self.limits
        at = np.asarray(values, dtype=float)
        if self.log:
            at, low, high = np.log10(np.clip(at, low, high)), math.log10(low), math.log10(high)
        # Halved first: the difference of two huge numbers of opposite sign would overflow.
        with np.errstate(invalid="ignore", over="ignore"):
            found = (at / 2 - low / 2) / (high / 2 - low / 2)
        return np.where(np.isinf(at), at > 0, found)

    @cached_property
    def scale(self) -> Scale:
        """Return the scale of the ticks; trivial for names of levels."""
        if self.log:
            return Ratios()
        if self.time is not None:
            return Clock.on(self.time, self.least, self.most)
        return Scale() if self.labels else Scale.of(*self.range)

    @property
    def label(self) -> str:
        """Return the axis label: name, unit and scale."""
        return self.scale.label(clean(self.name), clean(self.unit) if self.unit else None)

    @property
    def label_text(self) -> str:
        """Return the axis label; empty for an axis without a name."""
        return "" if self.hidden or not self.name else self.label

    def spanning(self, axes: Sequence[PlotAxis]) -> PlotAxis:
        """Return this axis with the joint range of `axes`."""
        low, high = extent(np.array([a.least, a.most]) for a in axes)
        return replace(self, least=low, most=high)


def extent(values: Iterable[Floats]) -> tuple[float, float]:
    """Return the minimum and maximum finite value; (nan, nan) without finite values."""
    finite = [a[np.isfinite(a)] for a in (np.asarray(v, dtype=float).ravel() for v in values)]
    some = [(float(a.min()), float(a.max())) for a in finite if a.size]
    if not some:
        return math.nan, math.nan
    return min(s[0] for s in some), max(s[1] for s in some)


def padded(low: float, high: float, margin: float) -> tuple[float, float]:
    """Return a range with margins at both ends; a default range for a single value or no value."""
    if math.isnan(low) or max(abs(low), abs(high)) < LEAST:
        return -1.0, 1.0
    # A range within rounding error is treated as a constant: otherwise the figure would show noise.
    if high - low > ROUNDING * max(abs(low), abs(high)):
        pad = margin * (high - low)
        return low - pad, high + pad
    pad = 0.05 * abs(low) or 1.0
    return low - pad, high + pad


def rounded(at: Floats) -> Floats:
    """Return ascending positions rounded to two significant digits of their smallest step."""
    least = float(np.diff(at).min(initial=math.inf))
    if not 0 < least < math.inf:
        return at
    return np.round(at, int(np.clip(1 - math.floor(math.log10(least)), -300, 300)))


def zero_rounding(values: Floats, size: float) -> Floats:
    """Set values to zero that are rounding errors of larger numbers."""
    return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)


@lru_cache(maxsize=4096)  # the same names and texts are measured again and again
def clean(text: str) -> str:
    r"""Return text on one line, with control characters as the terminal shows them."""
    shown = (c if c.isprintable() else " " for c in visible(one_line(text)))
    return one_line("".join(shown)) or "(no name)"


_OPERATORS = frozenset("=≠<>≤≥±×→+−")
_NUMBER = re.compile(r"[(\[{±−+-]*\d[\d.,]*(?<!,)")


_COMPARISON = re.compile(r" (?:[=≠<>≤≥] |in \{)")


def unbreakable(text: str, *, brackets: bool = True) -> list[str]:
    """Return the parts of a text between which a line may end: it breaks no formula, and no number from its unit.

    With `brackets`, what stands in brackets is one part.
    """
    parts: list[str] = []
    depth, joined, words = 0, False, text.split(" ")
    for word, following in zip(words, [*words[1:], ""], strict=True):
        operator = word in _OPERATORS or (word == "in" and following.startswith("{"))
        if parts and (joined or operator or depth > 0 or word == "%"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
        if brackets:
            depth += sum((c in "([{") - (c in ")]}") for c in word)
        joined = operator or _NUMBER.fullmatch(word) is not None
    return parts


def shortened(text: str, fits: Callable[[str], bool], *, middle: bool = False) -> str:
    """Return the longest beginning of a text that fits, with what stands in brackets at its end.

    A comparison keeps its operator and its value. A single word, and with `middle` any text, keeps both ends, which
    distinguish names.
    """
    if fits(text):
        return text
    for brackets in () if middle else (True, False):
        *most, last = unbreakable(text, brackets=brackets)
        ends = (f" {last}", "") if last[0] in "([" else ("",)
        for end in ends:
            for n in range(len(most), 0, -1):
                short = f"{' '.join(most[:n]).rstrip(' ,;:·')}…{end}"
                if fits(short):
                    return short
        first, more = (most[0], "…") if most else (last, "")
        found = _COMPARISON.search(first)
        if found is not None:
            name, value = first[: found.start()], first[found.start() :] + more
            if fits(f"{name[:2]}…{value}"):
                return f"{_ends(name, partial(_with, fits, value))}{value}"
    return _ends(text, fits, both=middle or len(unbreakable(text)) == 1)


def _with(fits: Callable[[str], bool], end: str, text: str) -> bool:
    return fits(text + end)


def _ends(text: str, fits: Callable[[str], bool], *, both: bool = True) -> str:
    """Return as many of the first letters of a text as fit, with `both` as many of the last ones."""

    def cut(kept: int) -> str:
        end = kept // 2 if both else 0
        return f"{text[: kept - end].rstrip(' =≠<>≤≥')}…{text[len(text) - end :].lstrip()}"

    low, high = 0, len(text) - 1
    while low < high:
        kept = (low + high + 1) // 2
        low, high = (kept, high) if fits(cut(kept)) else (low, kept - 1)
    return cut(low)


def shorten(text: str, room: int, *, middle: bool = False) -> str:
    """Return text of at most `room` characters, shortened as `shortened` describes."""
    text = clean(text)
    if len(text) <= room:
        return text
    return shortened(text, lambda short: len(short) <= room, middle=middle)


def distinct_names(names: Sequence[str], room: int) -> tuple[str, ...]:
    """Return shortened names: equal ones keep both ends, except comparisons; if still equal, they are numbered."""
    short = [shorten(n, room) for n in names]
    if len(set(short)) < len(set(names)) and not any(map(_COMPARISON.search, names)):
        short = [shorten(n, room, middle=True) for n in names]
    times, seen = Counter(short), Counter[str]()
    out: list[str] = []
    for name, cut in zip(names, short, strict=True):
        seen[cut] += 1
        out.append(cut if times[cut] == 1 else f"{shorten(name, room - 4)} ({seen[cut]})")
    return tuple(out)


def _round_below(low: float, span: float) -> float:
    """Return the roundest number below `low` that differs from it by at most a few times the span."""
    unit = 10.0 ** math.floor(math.log10(abs(low)))
    while low - math.floor(low / unit) * unit > 4 * span:
        unit /= 10
    return math.floor(low / unit) * unit


def _decimals(values: Floats) -> int:
    """Return how many decimals represent each value to a hundredth of the smallest step."""
    steps = np.diff(np.unique(values))
    step = float(steps.min()) if len(steps) else abs(float(values[0])) if len(values) else 1.0
    if not 0 < step < math.inf:
        return 0
    first = max(0, -math.floor(math.log10(step) + 1e-9))
    for decimals in range(first, first + 3):
        if np.all(np.abs(values - np.round(values, decimals)) <= 0.01 * step):
            return decimals
    return first + 1


# --- simplification of lines ---------------------------------------------------------------------


def select_points(x: Floats, y: Floats, tolerance: float) -> Bools:
    """Select points of curves such that the polyline through them passes all others within a tolerance."""
    x = np.broadcast_to(x, y.shape)
    rows, m = y.shape
    kept = np.ones((rows, m), dtype=bool)
    whole = np.ones((rows, m - 1), dtype=bool)
    k = 1
    while 2 * k < m:
        pairs = (m - 1) // (2 * k)
        whole = whole[:, : 2 * pairs : 2] & whole[:, 1 : 2 * pairs : 2]
        whole &= _straight(x, y, pairs, 2 * k, tolerance)
        row, pair = np.nonzero(whole)
        kept[row, 2 * k * pair + k] = False
        k *= 2
    return kept


def _straight(x: Floats, y: Floats, pairs: int, k: int, tolerance: float) -> Bools:
    """Return which segments of k steps are straight within the tolerance."""
    rows = len(y)
    inner_x = x[:, : pairs * k].reshape(rows, pairs, k)
    inner_y = y[:, : pairs * k].reshape(rows, pairs, k)
    first_x, first_y = inner_x[..., :1], inner_y[..., :1]
    end_x = x[:, k : pairs * k + 1 : k, None]
    end_y = y[:, k : pairs * k + 1 : k, None]
    span = end_x - first_x
    share = (inner_x - first_x) / np.where(span == 0, 1.0, span)
    # Segments with non-finite points are never straight.
    with np.errstate(invalid="ignore"):
        off = np.abs(inner_y - first_y - share * (end_y - first_y))
    return np.all(off <= tolerance, axis=2)
