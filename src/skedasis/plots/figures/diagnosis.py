"""From a `Diagnosis` to a figure specification.

The main panel (`where`) is a scatter plot of the features: Likelihood-PFI on the horizontal axis, Entropy-PFI on the
vertical axis, with a cross of both confidence intervals and a mark for the kind of the verdict. Texts in its corners
say what the position means (entropy_importance, sec. 3.5). The second panel (`predictable`) has two bars per feature:
the R² with which the other features predict it, without and with the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skedasis._arguments import check_probability
from skedasis._types import Floats
from skedasis.plots.figures.importance import axis_of_values, cut, repeated
from skedasis.plots.scales import Axis, clean, counted, distinct_names, extent, shorten, wrapped
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.importance import Importance
from skedasis.stats.resampling import t_interval

SHORT = 20
"""Most characters of a name beside its point."""


ROOM = 0.16
"""Fraction of each axis that lies below zero, for the texts there."""


_CORNERS = ("informative and shared:\nPFI underestimates it", "shared,\nnot informative")


_RIGHT, _ORIGIN = "informative,\nindependent", "unused"


_LEFT = "negative Likelihood-PFI:\nbetter without the feature"


_BELOW = "negative Entropy-PFI: shared,\npermuting reduces the entropy"


HEAD = 0.14
"""Fraction of the vertical axis above all marks, for the texts in the upper corners."""


LISTED = 40
"""Most features whose R² are drawn; their names are still readable."""


@dataclass(frozen=True)
class RegionText:
    """A text on the meaning of a part of the panel.

    Parameters
    ----------
    text : str
    x, y : float or None
        Position in units of the axes; None for the end of the axis given by `toward`.
    toward : (-1 or 1, -1 or 1)
        Side of the position on which the text is written, or end of the axes.
    """

    text: str
    x: float | None
    y: float | None
    toward: tuple[int, int]


@dataclass(frozen=True, eq=False)
class ImportanceMap:
    """Specification of the scatter plot of both importances.

    Parameters
    ----------
    names, kinds : tuple of str
        Features and kinds of their verdicts, in descending order of Likelihood-PFI.
    at, lower, upper : ndarray of float, shape (f, 2)
        Likelihood-PFI and Entropy-PFI with their confidence intervals; NaN without an interval.
    x, y : Axis
    words : tuple of RegionText
        Texts on the meaning of parts of the panel.
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
    words: tuple[RegionText, ...]
    title: str
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RedundancyBars:
    """Specification of the bars that show how well other features predict each feature.

    Parameters
    ----------
    names : tuple of str
    others, with_target : ndarray of float, shape (f,)
        R² from the other features, and from the other features and the label; NaN if unknown.
    x : Axis
    left_out : int
        Number of features that are not shown; they have the smallest Likelihood-PFI.
    """

    names: tuple[str, ...]
    others: Floats
    with_target: Floats
    x: Axis
    left_out: int


def where(diagnosis: Diagnosis, confidence_level: float | None = None) -> ImportanceMap:
    """Return the specification of the scatter plot of both importances.

    Parameters
    ----------
    diagnosis : Diagnosis
    confidence_level : float, optional
        Confidence level of the intervals; by default that of the verdicts.

    Returns
    -------
    ImportanceMap

    Raises
    ------
    DataError
        If `confidence_level` is not in (0, 1).
    """
    confidence_level = diagnosis.confidence_level if confidence_level is None else confidence_level
    confidence_level = check_probability("plot(confidence_level)", confidence_level)
    order = by_likelihood(diagnosis)
    both = (diagnosis.likelihood, diagnosis.entropy)
    at = np.column_stack([i.mean for i in both])[order]
    ends = [t_interval(i.mean, i.std_error, i.df, confidence_level) for i in both]
    lower, upper = (np.column_stack([e[k] for e in ends])[order] for k in range(2))
    x, y = (_axis(i, at[:, k], (lower[:, k], upper[:, k])) for k, i in enumerate(both))
    kinds = tuple(diagnosis.verdicts[i].kind for i in order)
    of = str(diagnosis.provenance.get("quantity", ""))
    notes = [shorten(of, 60)] if of else []
    notes += [counted(both[0].rows, "row"), repeated(both[0])]
    known = np.isfinite(lower).any()
    notes.append(f"crosses: {100 * confidence_level:g} % intervals" if known else "no intervals")
    far = [cut(axis, lower[:, k], upper[:, k]) for k, axis in enumerate((x, y))]
    notes += far[0] or far[1]
    return ImportanceMap(
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


def predictable(diagnosis: Diagnosis) -> RedundancyBars | None:
    """Return the specification of the R² bars; None if no R² is known."""
    order = by_likelihood(diagnosis)[:LISTED]
    others, both = diagnosis.r2_others[order], diagnosis.r2_with_target[order]
    if not (np.isfinite(others).any() or np.isfinite(both).any()):
        return None
    low, _ = extent([others, both, np.zeros(1)])
    names = _short(diagnosis, order)
    # How much worse than the mean a forest predicts is of no interest.
    x = Axis("R²", None, max(low, -0.25), 1.0, 0.03)
    return RedundancyBars(names, others, both, x, len(diagnosis) - len(order))


def by_likelihood(diagnosis: Diagnosis) -> np.ndarray:
    """Return the indices of the features in descending order of Likelihood-PFI."""
    return np.argsort(-diagnosis.likelihood.mean, kind="stable")


def _short(diagnosis: Diagnosis, order: np.ndarray) -> tuple[str, ...]:
    return distinct_names([clean(diagnosis.features[i]) for i in order], SHORT)


def _axis(importance: Importance, value: Floats, ends: tuple[Floats, Floats]) -> Axis:
    """Return the axis of an importance, with space below zero."""
    axis = axis_of_values(importance, value, ends, np.zeros(0))
    low, high = axis.least, axis.most
    if not high > low:
        return axis
    high = max(high, -0.4 * low)
    low = min(low, -ROOM / (1 - ROOM) * high)
    return replace(axis, least=low, most=high)


def _words(kinds: Sequence[str], *, below: bool) -> tuple[RegionText, ...]:
    """Return the texts on the meaning of parts of the panel; below zero only if a feature is there."""
    shared, alone = _CORNERS
    words = [
        RegionText(shared, None, None, (1, 1)),
        RegionText(alone, None, None, (-1, 1)),
        RegionText(_RIGHT, None, 0.0, (1, -1)),
        RegionText(_ORIGIN, 0.0, 0.0, (-1, -1)),
    ]
    if "misleading" in kinds:
        words.append(RegionText(_LEFT, None, None, (-1, -1)))
    if below:
        words.append(RegionText(_BELOW, None, None, (1, -1)))
    return tuple(words)
