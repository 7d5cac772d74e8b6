"""What individual curves are coloured by: numbers, or a few groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.data.factorize import absent
from skedasis.errors import DataError, explained
from skedasis.plots.marks import Tint
from skedasis.plots.scale import Axis, clean, extent, shortened

FEW = 8
"""Groups that line styles and colours can tell apart."""


def tint(color: Any, name: str | None, row: Ints, rows: int | None) -> Tint:
    """Say what curves are coloured by.

    Parameters
    ----------
    color : array_like, shape (n,)
        One value for each row of X: numbers, text, booleans; None and NaN are missing.
    name : str, optional
        By default that of the series.
    row : ndarray of int, shape (r,)
        The curves' rows in X.
    rows : int, optional
        How many X has, where that is known.

    Returns
    -------
    Tint
        Text, booleans and whole numbers of at most 8 different values are groups; of more texts the 7 most frequent
        ones are, and all others together. Other numbers are a scale.

    Raises
    ------
    DataError
        For values of another shape or length than the rows of X, or of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> tint(["a", "b", "a"], "arm", np.array([0, 2, 1]), 3)
    Tint(name='arm', value=array([0., 0., 1.]), groups=('a', 'b'))
    """
    # A series may be of any library: as objects they are all alike.
    values = np.asarray(color)
    needed = int(row.max(initial=-1)) + 1 if rows is None else rows
    right = values.ndim == 1 and (len(values) == needed or (rows is None and len(values) > needed))
    if not right:
        got = f"shape {values.shape}" if values.ndim != 1 else f"{len(values):,} values"
        got = f"the text {color!r}" if isinstance(color, str) else got
        expected = f"one value for each of the {needed:,} rows of X"
        fix = "Pass a column of X, or anything of the same length"
        raise DataError(explained("plot(color)", got, expected, fix))
    said = name if name is not None else getattr(color, "name", None)
    called = "color" if said is None else str(said)
    missing = gaps(values)
    numbers = as_numbers(values, missing)
    if numbers is not None and not _is_few(numbers[~missing]):
        return Tint(called, numbers[row])
    place, groups = _grouped(values, missing, numbers)
    return Tint(called, place[row], groups)


def named(tint: Tint, place: int) -> str:
    """Return what a group is called in a legend, and at -1 what has no value."""
    called = shortened(tint.name, 24)
    return f"{called} missing" if place < 0 else f"{called} = {clean(tint.groups[place])}"


def ends(tint: Tint) -> tuple[float, float]:
    """Return the ends of the scale of numbers; they leave out a fiftieth of the rows, which would dim all others."""
    low, high = extent([tint.value])
    known = tint.value[np.isfinite(tint.value)]
    if len(known):
        low, high = (float(v) for v in np.quantile(known, [0.02, 0.98]))
    return Axis("", None, low, high, 0.0).limits


def gaps(values: NDArray[Any]) -> Bools:
    """Return where there is no value: None, NaN, and the like."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([absent(v) for v in values.tolist()], dtype=bool)


def as_numbers(values: NDArray[Any], missing: Bools) -> Floats | None:
    """Return numbers as floats, infinite ones as NaN; None for what is none."""
    if values.dtype.kind == "f":
        return np.where(np.isinf(values), np.nan, values).astype(float)
    there = values[~missing].tolist()
    if not all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in there):
        return None
    out = np.full(len(values), np.nan)
    out[~missing] = [float(v) for v in there]
    return out


def _is_few(numbers: Floats) -> bool:
    if len(numbers) == 0 or not np.isfinite(numbers).all() or (numbers % 1 != 0).any():
        return False
    return len(np.unique(numbers)) <= FEW


def _grouped(
    values: NDArray[Any], missing: Bools, numbers: Floats | None
) -> tuple[Floats, tuple[str, ...]]:
    """Return each value's group, NaN where it is missing, and the groups' names."""
    place = np.full(len(values), np.nan)
    if numbers is not None:
        known, at = np.unique(numbers[~missing], return_inverse=True)
        place[~missing] = at
        return place, tuple(f"{v:.0f}" for v in known)
    there = values[~missing].tolist()
    odd = next((v for v in there if not isinstance(v, (str, bool, int, float, np.generic))), None)
    if odd is not None or values.dtype.kind in "mMc":
        got = "times" if values.dtype.kind in "mM" else f"a {type(odd).__name__}"
        fix = "Turn it into numbers or text first"
        raise DataError(explained("plot(color)", got, "numbers, text or booleans", fix))
    texts = np.array([str(v) for v in there], dtype=object)
    names, at, count = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
    if len(names) > FEW:
        kept = np.sort(np.argsort(-count, kind="stable")[: FEW - 1])
        where = np.full(len(names), FEW - 1)
        where[kept] = np.arange(FEW - 1)
        place[~missing] = where[at]
        others = f"{len(names) - FEW + 1} others"
        return place, (*_short(names[kept].tolist()), others)
    place[~missing] = at
    return place, _short(names.tolist())


def _short(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(shortened(n, 24) for n in names)
