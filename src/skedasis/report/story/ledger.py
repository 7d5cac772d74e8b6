"""How much of what moves a quantity the drawn effects add up to: a ledger of its variance over the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.plots.scales import NOISE, number
from skedasis.report.numbers import percent
from skedasis.results.effect import Effect
from skedasis.results.surface import Surface

_LITTLE = 0.005
"""Of the variance: a smaller rest is not spoken of."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Of the variance of the quantity over the rows: what effects of features explain, added up, and what pairs add.

    Parameters
    ----------
    variance : float
        Of the quantity at the rows, in its unit squared.
    additive : float
        ``1 - Var(q - sum of the features' effects) / Var(q)``. Negative where the effects together miss the quantity by
        more than its own mean does.
    with_pairs : float or None
        The same with the second-order effects of the pairs shown; None where none is.
    alone : dict of str to float
        Each feature's ``Var(effect) / Var(q)``, largest first. They add up to `additive` only where features are
        independent and nothing interacts.
    pairs : dict of (str, str) to float
        Each pair's share alone, likewise.
    said : tuple of str
        What it means.
    rest : bool
        Whether the last sentence says what the rest is.
    """

    variance: float
    additive: float
    with_pairs: float | None
    alone: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]
    said: tuple[str, ...]
    rest: bool = False

    @property
    def shares(self) -> dict[str, float]:
        """Return the parts of a bar that is 1 long: of features, of pairs, and the rest; parts may be negative."""
        parts = {"features one by one": self.additive}
        if self.with_pairs is not None:
            parts["pairs shown"] = self.with_pairs - self.additive
        return {**parts, "not explained by these": 1.0 - sum(parts.values())}


def ledger(
    values: Floats,
    source: Source,
    effects: Mapping[str, Effect],
    surfaces: Sequence[Surface],
) -> tuple[Ledger | None, str]:
    """Return the ledger, or None and the reason.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        The quantity at the rows.
    source : Source
        These rows.
    effects : mapping of str to Effect
        RHALE; of nominal features ALE.
    surfaces : sequence of Surface
        Second-order effects.

    Notes
    -----
    No model row. A missing number counts by the point of missing values, as its mean where there is none.
    """
    weight = np.ones(len(values)) if source.weights is None else source.weights
    total = _variance(values, weight)
    if len(values) < 2 or not total > (NOISE * float(np.abs(values).max())) ** 2:
        return None, "It is the same for all rows: there is nothing to explain."
    parts = {n: at_rows(e, source) for n, e in effects.items()}
    summed = np.sum(list(parts.values()), axis=0)
    additive = 1 - _variance(values - summed, weight) / total
    alone = {n: _variance(v, weight) / total for n, v in parts.items()}
    joint = {s.features: surface_at_rows(s, source) for s in surfaces}
    with_pairs = None
    if joint:
        summed = summed + np.sum(list(joint.values()), axis=0)
        with_pairs = 1 - _variance(values - summed, weight) / total
    pairs = {k: _variance(v, weight) / total for k, v in joint.items()}
    found = Ledger(
        total,
        additive,
        with_pairs,
        dict(sorted(alone.items(), key=lambda item: -item[1])),
        pairs,
        tuple(_said(additive, with_pairs, len(parts), len(pairs))),
        _rest(additive, with_pairs) > _LITTLE,
    )
    return found, ""


def _rest(additive: float, with_pairs: float | None) -> float:
    return 1 - (additive if with_pairs is None else with_pairs)


def _variance(x: Floats, weight: Floats) -> float:
    share = weight / weight.sum()
    return float(share @ (x - share @ x) ** 2)


def _said(additive: float, with_pairs: float | None, features: int, pairs: int) -> list[str]:
    one = features == 1
    these = "The effect of 1 feature" if one else f"The effects of {features:,} features, added up,"
    of = f"{percent_of(additive)} of the variance of the prediction"
    text = f"{these} explain{'s' if one else ''} {of}."
    if additive < 0:
        text = f"{these} fit{'s' if one else ''} the prediction worse than its mean does ({of}): features depend "
        text += "on one another, or interact, so strongly that one curve each tells little."
    said = [text]
    if with_pairs is not None:
        them = f"the {pairs} pairs shown" if pairs > 1 else "the pair shown"
        said.append(f"With {them} it is {percent_of(with_pairs)}.")
        if with_pairs < additive - NOISE:
            said.append(
                "That is less: where features depend on one another, effects of pairs do not simply add up."
            )
    rest = _rest(additive, with_pairs)
    if rest > _LITTLE:
        other = (
            "what features do together beyond the pairs shown"
            if pairs
            else "what features do together"
        )
        said.append(
            f"The rest, {percent_of(rest)}, is {other}, what features left out do, and what bins smooth away."
        )
    return said


def percent_of(share: float) -> str:
    r"""Return a share in percent, also where it is negative or beyond all bounds.

    Examples
    --------
    >>> percent_of(-0.25), percent_of(0.987), percent_of(-41.0)
    ('−25\u202f%', '99\u202f%', '−41.0 times')
    """
    if share < -10:
        return f"{number(share)} times"
    return f"−{percent(-share)}" if share < 0 else percent(share)


# ---------------------------------------------------------------------------------- at the rows


def at_rows(effect: Effect, source: Source) -> Floats:
    """Return an effect at each row, shape (n,); 0, its mean, where it says nothing of a row."""
    feature = effect.about.feature
    if effect.levels is not None:
        place = _places(effect.levels.labels, feature, source)
        value = np.where(place >= 0, effect.value[place], np.nan)
        observed = place >= 0
    else:
        x = _numbers(feature, source)
        value, observed = effect.at(x), np.isfinite(x)
    point = effect.missing_point
    missing = 0.0 if point is None or not np.isfinite(point.value) else point.value
    return np.where(observed, np.nan_to_num(value), missing)


def surface_at_rows(surface: Surface, source: Source) -> Floats:
    """Return a surface at each row, shape (n,); 0 where it says nothing of a row."""
    x: list[Any] = []
    for side, about in zip(surface.sides, surface.abouts, strict=True):
        if side.levels is None:
            x.append(_numbers(about.feature, source))
            continue
        labels = side.levels.labels
        # What stands for rows of no level is no level itself; None would be that of missing values.
        names = np.array([*labels, object()], dtype=object)
        x.append(names[_places(labels, about.feature, source)])
    return np.nan_to_num(surface.at(*x))


def _numbers(feature: Feature, source: Source) -> Floats:
    x, own = (
        source.table.column(feature.position, source.row_id),
        source.features[feature.position].time,
    )
    # Other rows may begin on another day.
    return x if feature.time is None or own is None else own.onto(feature.time, x)


def _places(labels: Sequence[str], feature: Feature, source: Source) -> Any:
    """Return each row's place in an effect's levels, -1 where there is none."""
    column = source.levels(feature, top=len(source))
    known = {label: k for k, label in enumerate(labels)}
    place = np.array([known.get(label, -1) for label in column.levels.labels] + [-1])
    return place[column.codes]
