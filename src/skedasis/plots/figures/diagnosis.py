"""From a `Diagnosis` to a figure specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, explained
from skedasis.plots.figures.effect_parts import counted
from skedasis.plots.figures.importance import axis_of_values, cut, repeated
from skedasis.plots.scales import Axis, clean, extent, shortened, told_apart, wrapped
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.importance import Importance
from skedasis.stats.resampling import t_interval

SHORT = 20
"""Letters of a name beside its point."""


ROOM = 0.16
"""Share of each axis that lies below zero, for the words that stand there."""


_CORNERS = ("informative and shared:\nPFI underestimates it", "shared,\nnot informative")


_RIGHT, _ORIGIN = "informative,\nindependent", "unused"


_LEFT = "below zero: better\nwithout the feature"


_BELOW = "below zero: shared, permuted\nvalues reduce the entropy"


HEAD = 0.14
"""Share of the upper axis above all that is drawn, for the words at its end."""


LISTED = 40
"""Features whose R² are drawn: these names can still be read."""


@dataclass(frozen=True)
class Place:
    """Words that say what lies in a part of the panel.

    Parameters
    ----------
    text : str
    x, y : float or None
        In units of the axes; None is the end of the axis that `toward` names.
    toward : (-1 or 1, -1 or 1)
        To which side of the point the words stand, or at which end of the axes.
    """

    text: str
    x: float | None
    y: float | None
    toward: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Map:
    """Features at their two importances.

    Parameters
    ----------
    names, kinds : tuple of str
        Of the features and of their verdicts, by Likelihood-PFI.
    at, lower, upper : ndarray of float, shape (f, 2)
        Likelihood-PFI and Entropy-PFI, and the ends of their intervals, NaN where there is none.
    x, y : Axis
    words : tuple of Place
    title : str
    notes : tuple of str
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    at: Floats
    lower: Floats
    upper: Floats
    x: Axis
    y: Axis
    words: tuple[Place, ...]
    title: str
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Predictable:
    """How well features are predicted.

    Parameters
    ----------
    names : tuple of str
    others, with_target : ndarray of float, shape (f,)
        R² from the other features, and from these and the label; NaN where it is not known.
    x : Axis
    left_out : int
        Features with less Likelihood-PFI that are not shown.
    """

    names: tuple[str, ...]
    others: Floats
    with_target: Floats
    x: Axis
    left_out: int


def where(diagnosis: Diagnosis, level: float | None = None) -> Map:
    """Say where features lie.

    Parameters
    ----------
    diagnosis : Diagnosis
    level : float, optional
        Of the intervals; by default that of the verdicts.

    Returns
    -------
    Map

    Raises
    ------
    DataError
        For a level outside (0, 1).
    """
    level = diagnosis.level if level is None else level
    if isinstance(level, bool) or not 0 < level < 1:
        raise DataError(
            explained("plot(level)", repr(level), "a number between 0 and 1", "Use 0.95")
        )
    order = by_likelihood(diagnosis)
    both = (diagnosis.likelihood, diagnosis.entropy)
    at = np.column_stack([i.mean for i in both])[order]
    ends = [t_interval(i.mean, i.std_error, i.freedom, level) for i in both]
    lower, upper = (np.column_stack([e[k] for e in ends])[order] for k in range(2))
    x, y = (_axis(i, at[:, k], (lower[:, k], upper[:, k])) for k, i in enumerate(both))
    kinds = tuple(diagnosis.verdicts[i].kind for i in order)
    of = str(diagnosis.provenance.get("quantity", ""))
    notes = [shortened(of, 60)] if of else []
    notes += [counted(both[0].rows, "row"), repeated(both[0])]
    known = np.isfinite(lower).any()
    notes.append(f"crosses: {100 * level:g} % intervals" if known else "no interval")
    far = [cut(axis, lower[:, k], upper[:, k]) for k, axis in enumerate((x, y))]
    notes += far[0] or far[1]
    return Map(
        _short(diagnosis, order),
        kinds,
        at,
        lower,
        upper,
        replace(x, name=f"Likelihood-PFI: {x.name}"),
        replace(y, name=f"Entropy-PFI: {y.name}", most=y.most + HEAD * (y.most - y.least)),
        _words(kinds, below=bool((upper[:, 1] < 0).any())),
        "Diagnosis",
        (*notes, *(wrapped(clean(n), 100) for n in diagnosis.notes)),
    )


def predictable(diagnosis: Diagnosis) -> Predictable | None:
    """Say how well features are predicted from others; None where nothing is known of it."""
    order = by_likelihood(diagnosis)[:LISTED]
    others, both = diagnosis.r2_others[order], diagnosis.r2_with_target[order]
    if not (np.isfinite(others).any() or np.isfinite(both).any()):
        return None
    low, _ = extent([others, both, np.zeros(1)])
    names = _short(diagnosis, order)
    # Of a forest that predicts worse than the mean does it is of no interest by how much.
    x = Axis("R²", None, max(low, -0.25), 1.0, 0.03)
    return Predictable(names, others, both, x, len(diagnosis) - len(order))


def by_likelihood(diagnosis: Diagnosis) -> np.ndarray:
    """Return the features' places by Likelihood-PFI, the greatest first."""
    return np.argsort(-diagnosis.likelihood.mean, kind="stable")


def _short(diagnosis: Diagnosis, order: np.ndarray) -> tuple[str, ...]:
    return told_apart([clean(diagnosis.features[i]) for i in order], SHORT)


def _axis(importance: Importance, value: Floats, ends: tuple[Floats, Floats]) -> Axis:
    """Return an axis on which zero has room below it, and above."""
    axis = axis_of_values(importance, value, ends, np.zeros(0))
    low, high = axis.least, axis.most
    if not high > low:
        return axis
    high = max(high, -0.4 * low)
    low = min(low, -ROOM / (1 - ROOM) * high)
    return replace(axis, least=low, most=high)


def _words(kinds: Sequence[str], *, below: bool) -> tuple[Place, ...]:
    """Say what lies where; below zero only where something does."""
    shared, alone = _CORNERS
    words = [
        Place(shared, None, None, (1, 1)),
        Place(alone, None, None, (-1, 1)),
        Place(_RIGHT, None, 0.0, (1, -1)),
        Place(_ORIGIN, 0.0, 0.0, (-1, -1)),
    ]
    if "misleading" in kinds:
        words.append(Place(_LEFT, None, None, (-1, -1)))
    if below:
        words.append(Place(_BELOW, None, None, (1, -1)))
    return tuple(words)
