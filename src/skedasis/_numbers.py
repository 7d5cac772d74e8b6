"""Numbers as text: the one place where numbers, percentages, p-values, counts and enumerations become words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

ROUNDING_NOISE = 1e-9
"""Numbers smaller than this fraction of the largest related number are rounding errors of zero."""

UNKNOWN = "–"
"""The text of a number that is not known."""


def number(value: float, digits: int = 3, *, zeros: bool = True) -> str:
    """Return a number with `digits` significant digits, or all digits of its whole part; without `zeros` at its end."""
    if not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 9:
        text = f"{value:,.{max(digits - 1 - size, 0)}f}"
        text = text if zeros or "." not in text else text.rstrip("0").rstrip(".")
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa if zeros or "." not in mantissa else mantissa.rstrip("0").rstrip(".")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def with_minus(text: str) -> str:
    """Return a text, such as a rule, whose negative numbers have the minus sign of all other numbers."""
    return re.sub(r"(?<![^ {(,])-(?=\d)|(?<=\de)-(?=\d)", "−", text)


def number_or_zero(value: float, largest: float) -> str:
    """Return a number as text, and "≈ 0" for the rounding error of a zero relative to `largest`."""
    return "≈ 0" if 0 < abs(value) < ROUNDING_NOISE * largest else number(value)


def size(value: float) -> str:
    """Return how large a number is, whatever its sign, with two significant digits: "430", "0.22", "12,000"."""
    value = abs(value)
    return number(float(f"{value:.1e}") if math.isfinite(value) else value, 2)


def within(value: float, span: float) -> str:
    """Return a number with two significant digits, or so many that a fifth of the span of related ones shows."""
    digits = math.ceil(math.log10(5 / span)) + math.floor(math.log10(abs(value) or 1.0)) + 1
    return number(value, max(digits, 2), zeros=False)


def signed(value: float, largest: float = 0.0) -> str:
    """Return a number with its sign, "+0.410"; 0 for the rounding error of a zero relative to `largest`."""
    if abs(value) <= ROUNDING_NOISE * largest:
        return "0"
    return f"+{number(value)}" if value > 0 else number(value)


def with_error(value: float, error: float, largest: float = 0.0) -> str:
    """Return a number with its standard error, where that is known."""
    if not 0 < error < math.inf or abs(value) < ROUNDING_NOISE * largest:
        return number_or_zero(value, largest)
    return f"{number_or_zero(value, largest)} ± {number(error, 2)}"


def percent(share: float, error: float = math.nan) -> str:
    """Return a fraction in per cent, with its standard error where that is known and not rounded to 0 %.

    Whole numbers from 10 % on, one decimal below and above 99.5 %; what is not 0 or 1 is not rounded to it.
    """
    if not math.isfinite(share):
        return UNKNOWN
    value = 100 * share
    whole = 9.95 <= abs(value) < 99.5 or abs(value) >= 100
    text = f"{value:,.0f}" if whole else f"{value:.1f}".removesuffix(".0")
    text = {"0": "<0.1", "100": ">99.9"}.get(text, text) if 0 < share < 1 else text
    text = f"{'0' if text == '-0' else text} %".replace("-", "−")
    known = math.isfinite(error) and error >= 0.0005
    return f"{text} ± {100 * error:.{0 if error >= 0.0095 else 1}f} %" if known else text


def fraction(value: float) -> str:
    """Return a number of at most 1, such as an R² or AUC, with two decimals; less than 1 is not rounded to it."""
    if not math.isfinite(value):
        return UNKNOWN
    text = f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
    return "above 0.99" if text == "1.00" and value < 1 else text


def p_value(p: float) -> str:
    """Return a p-value, "p = 0.021" or "p < 0.001"; empty if it is unknown."""
    if not math.isfinite(p):
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def counted(n: float, thing: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{n:,.0f} {thing}{'' if n == 1 else 's'}"


def listed(texts: Sequence[str], most: int = 8) -> str:
    """Return texts as an enumeration, "a, b and c"; of many, the first few: "a, b and 7 more"."""
    shown, rest = list(texts[:most]), len(texts) - most
    if rest > 0:
        shown.append(f"{rest:,} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def sentence(text: str) -> str:
    """Return a text with a capital letter at its beginning and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}."


def unbroken(text: str) -> str:
    """Return a text that is not broken between a number and "%" or "±", for where lines are broken."""
    return text.replace(" %", "\u202f%").replace("± ", "±\u202f")
