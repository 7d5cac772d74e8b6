"""Effects at the rows of a data set, so that they can be added up and compared with the quantity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import Effect


def at_rows(effect: Effect, dataset: Dataset, rows: Ints | None = None) -> Floats:
    """Return an effect at each row, or at some rows, shape (n,); 0, its mean, where it is not defined."""
    feature = effect.about.feature
    some = slice(None) if rows is None else rows
    if isinstance(effect.axis, LevelAxis):
        place = _level_codes(effect.axis.levels.labels, feature, dataset)[some]
        value = np.where(place >= 0, effect.value[place], np.nan)
        observed = place >= 0
    else:
        x = _numbers(feature, dataset)[some]
        value, observed = effect.at(x), np.isfinite(x)
    point = effect.missing_point
    missing = 0.0 if point is None or not np.isfinite(point.value) else point.value
    return np.where(observed, np.nan_to_num(value), missing)


def coordinates_at_rows(effect: Effect, dataset: Dataset) -> Floats:
    """Return where each row is on the axis of an effect, shape (n,): numbers, days, or codes of levels."""
    feature = effect.about.feature
    if isinstance(effect.axis, LevelAxis):
        code = _level_codes(effect.axis.levels.labels, feature, dataset)
        return np.where(code >= 0, code.astype(float), np.nan)
    return _numbers(feature, dataset)


def _numbers(feature: Feature, dataset: Dataset) -> Floats:
    x, own = (
        dataset.floats(feature.position),
        dataset.features[feature.position].time,
    )
    # The time axis of other rows may have another origin.
    return x if feature.time is None or own is None else own.onto(feature.time, x)


def _level_codes(labels: Sequence[str], feature: Feature, dataset: Dataset) -> Ints:
    """Return the code of each row among an effect's levels, -1 for other levels."""
    column = dataset.levels(feature, top=len(dataset))
    known = {label: k for k, label in enumerate(labels)}
    place = np.array([known.get(label, -1) for label in column.levels.labels] + [-1])
    return place[column.codes]
