"""`Regions`: the effect of a feature in parts of the data, and the rules that define these parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, overload

import numpy as np

from skedasis._arguments import is_int, shown
from skedasis._calls import checked_call
from skedasis._escaping import one_line
from skedasis._numbers import counted, percent, with_error, with_minus
from skedasis._types import Bools, Floats, Ints, Level, TableLike, Values
from skedasis.data.categories import NO_COLUMN_LEVEL, given_labels, labels_of
from skedasis.data.dataset import Dataset, as_dataset
from skedasis.data.factorize import equality_key, to_python
from skedasis.data.features import Feature, first_names
from skedasis.data.times import TimePoints
from skedasis.errors import DataError, UnsupportedError, format_error
from skedasis.results import json_keys, operations
from skedasis.results.containers import FeatureMapping, ResultMapping, ordered
from skedasis.results.curve_words import curve_words
from skedasis.results.described import (
    Documented,
    Keys,
    columns_of,
    content_of,
    keys_of,
    listed,
    schema_of,
)
from skedasis.results.display import (
    DisplayMixin,
    Ranking,
    RankLine,
    ResultWithTables,
    called_text,
    outside_text,
    sample_text,
)
from skedasis.results.effect import About, Effect, OfFeature
from skedasis.results.effect_words import share_text
from skedasis.results.effects import Effects
from skedasis.results.export import Content, ExportOptions, TableColumns, iso_times
from skedasis.results.immutable import Immutable
from skedasis.results.main_stretch import beyond_text
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.sentences import (
    ANOTHER,
    BEST_EXPLAINS_LITTLE,
    BEST_NOT_CONFIRMED,
    EXPLAINED,
    GROUPS,
    ONE_GROUP,
    SPLIT,
    tell,
)
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.random import RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.contrast import Contrasts
    from skedasis.results.keywords import (
        FigureKeywords,
        MultiModelRegionsByFeatureKeywords,
        MultiModelRegionsViewKeywords,
        RegionsByFeatureKeywords,
        RegionsByFeatureViewKeywords,
        RegionsKeywords,
        RegionsViewKeywords,
        SideBySideKeywords,
    )

# --- conditions: words, intersections, rows -------------------------------------------------------


ALL_ROWS = "all rows"
"""The rule of the whole."""


MOST_LEVELS = 6
"""A condition with more levels names this many of them, and their number."""


_FIX = "Pass X with columns as in the data that were explained"


_OR_MISSING, _IS_MISSING = " or missing", " is missing"


@dataclass(frozen=True)
class Condition(Documented):
    """A condition on one conditioning feature: one side of a split, or what several splits on one feature leave."""

    exported = (
        *("feature.name as feature", "text", "_above as above", "_up_to as up_to"),
        *("_labels as levels", "excluded", "missing"),
    )
    feature: Feature
    """Its name, kind and levels, and the time axis of dates, times and durations. A group of columns has `members`."""
    low: float = -math.inf
    high: float = math.inf
    """For continuous features: ``low < value <= high``, in units of the feature; for times, days on ``feature.time``.
    -inf or inf where the condition has no such end. No value satisfies it if ``low >= high``."""
    levels: tuple[Level, ...] | None = None
    """For categorical features: the levels; None in it is the level of missing values. None for continuous features."""
    excluded: bool = False
    """Whether all levels but `levels` satisfy the condition, also levels that were not observed."""
    missing: bool = False
    """Whether rows with a missing value satisfy the condition. Where missing is one of `levels`, these decide."""
    text: str = ""
    """The condition in words: "workingday = 0", "0.3 < temp ≤ 0.5", "season in {spring, summer}"."""
    columns: tuple[str, ...] = ()
    """For a group of columns: their names. Without names they are found by position."""

    def __post_init__(self) -> None:
        if isinstance(self.levels, tuple) and None in self.levels:
            object.__setattr__(self, "missing", not self.excluded)

    @property
    def _above(self) -> float | str | None:
        """Return the end above which rows satisfy it: a number, or a time as text; None without, and for levels."""
        return self._end(self.low)

    @property
    def _up_to(self) -> float | str | None:
        """Return the largest value that satisfies it: a number, or a time as text; None without, and for levels."""
        return self._end(self.high)

    def _end(self, value: float) -> float | str | None:
        time = self.feature.time
        if time is None or not math.isfinite(value):
            return value
        return iso_times(TimePoints(time, np.array([value])))[0]

    @property
    def _labels(self) -> Sequence[str] | None:
        """Return the labels of the levels that satisfy it; None for numbers and times."""
        return None if self.levels is None else labels_of(self.levels, self.feature)

    def holds(self, dataset: Dataset) -> Bools:
        """Return which rows satisfy the condition, shape (n,).

        Parameters
        ----------
        dataset : Dataset
            Rows with a column of this feature. Its own schema does not matter: values are read by the kind of
            `feature`. Numbers are compared as numbers, whatever the type of the column; levels as `Levels.find` does: 1
            equals 1.0, but neither True nor "1".

        Raises
        ------
        DataError
            If the column does not exist, or its values are not of the feature's kind.

        Notes
        -----
        No model row.

        Examples
        --------
        >>> import numpy as np
        >>> from skedasis.data.dataset import as_dataset
        >>> X = np.array([[0.2], [0.5], [0.7], [np.nan]])
        >>> Condition(Feature("x0"), high=0.5, missing=True).holds(as_dataset(X)).tolist()
        [True, True, False, True]
        """
        if isinstance(self.levels, tuple):
            return self._holds_level(dataset)
        values = self._numbers(dataset, _position(dataset, self.feature))
        return np.where(np.isnan(values), self.missing, (values > self.low) & (values <= self.high))

    def _numbers(self, dataset: Dataset, j: int) -> Floats:
        """Return a column as numbers, times as days on the axis of the feature."""
        name, axis, found = self.feature.name, self.feature.time, dataset.features[j].time
        try:
            values = dataset.floats(j)
        except (ValueError, TypeError) as error:
            got = "values that are not numbers"
            raise DataError(f"column {name!r}", got, "numbers", _FIX) from error
        if np.isnan(values).all() or (axis is None and found is None):
            return values
        if axis is None or found is None or axis.dtype.kind != found.dtype.kind:
            got, expected = (
                "numbers" if t is None else f"values of kind {t.kind}" for t in (found, axis)
            )
            raise DataError(f"column {name!r}", got, expected, _FIX)
        # Through ticks, which are exact: a shift of days would be rounded.
        return axis.days(found.times(values), f"column {name!r}")

    def _holds_level(self, dataset: Dataset) -> Bools:
        wanted = {_key(v) for v in self.levels or () if v is not None}

        def satisfied(level: Level) -> bool:
            return (_key(level) in wanted) != self.excluded

        if self.feature.members:
            return self._holds_group(dataset, satisfied)
        codes, values = dataset.coded(_position(dataset, self.feature))
        table = [satisfied(_typed(v, self.feature.dtype)) for v in values]
        # Missing values have code -1: the last entry.
        return np.array([*table, self.missing], dtype=bool)[codes]

    def _holds_group(self, dataset: Dataset, satisfied: Callable[[Level], bool]) -> Bools:
        """Return which rows satisfy a condition on a group: on the column that is 1, or on a combination of values."""
        positions = self._member_positions(dataset)
        coded = [dataset.coded(j) for j in positions]
        is_missing = np.any([codes < 0 for codes, _ in coded], axis=0)
        levels = [v for v in self.levels or () if v is not None]
        if any(isinstance(v, tuple) for v in levels):
            typed = [
                [_typed(v, dataset.features[j].dtype) for v in values]
                for j, (_, values) in zip(positions, coded, strict=True)
            ]
            held = _by_combination([codes for codes, _ in coded], typed, satisfied)
        else:
            names = self.columns or tuple(dataset.features[j].name for j in positions)
            # The last entry, False, is that of missing values, whose code is -1.
            ones = [np.array([*(v == 1 for v in values), False])[codes] for codes, values in coded]
            hot = np.stack(ones)
            none = NO_COLUMN_LEVEL
            while none in names:
                none = f"({none})"
            table = np.array([satisfied(name) for name in (*names, none)])
            held = table[np.where(hot.any(axis=0), hot.argmax(axis=0), len(names))]
        return np.where(is_missing, self.missing, held)

    def _member_positions(self, dataset: Dataset) -> list[int]:
        """Return the positions of the columns of a group."""
        name = self.feature.name
        if self.columns:
            return [_position(dataset, Feature(column)) for column in self.columns]
        known = [f.name for f in dataset.features]
        beyond = [j for j in self.feature.members if j >= len(known)]
        # The levels of a one-hot block are names of columns.
        at = {known[j] for j in self.feature.members if j < len(known)}
        texts = [v for v in self.levels or () if isinstance(v, str)]
        other = [v for v in texts if v not in at and v.strip("()") != NO_COLUMN_LEVEL.strip("()")]
        if beyond or other:
            got = f"X with the columns {first_names(known)}"
            expected = f"the columns of the group at the positions {list(self.feature.members)}"
            raise DataError(f"group {name!r}", got, expected, _FIX)
        return list(self.feature.members)


_SAVED = ("bool", "number", "str", "date", "datetime", "timedelta")
"""Types of levels that are loaded as they were saved."""


def _key(level: Level) -> tuple[str, Level]:
    """Return a key that is equal for equal levels, also after `save`, which writes other objects as text."""
    if isinstance(level, tuple):
        return "tuple", tuple(map(_key, level))
    kind, value = equality_key(level)
    return (kind, value) if kind in _SAVED else ("str", str(value))


def _by_combination(
    codes: Sequence[Ints], values: Sequence[Sequence[Level]], satisfied: Callable[[Level], bool]
) -> Bools:
    """Return which rows have a combination of values that satisfies a condition; rows with missing values are False."""
    rows, inverse = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    table = np.array(
        [
            all(c >= 0 for c in row)
            and satisfied(tuple(v[c] for v, c in zip(values, row, strict=True)))
            for row in rows.tolist()
        ]
    )
    return table[inverse.ravel()]


def _typed(value: Level, dtype: str) -> Level:
    """Convert a float back to the type of the explained column, if that was of integers or booleans."""
    value = to_python(value)
    if isinstance(value, float) and dtype.lower().startswith("bool") and value in (0.0, 1.0):
        return bool(value)
    return value


def _position(dataset: Dataset, feature: Feature) -> int:
    """Return the position of a feature's column: by its label, else by its name."""
    for j, f in enumerate(dataset.features):
        if feature.key is not None and f.key == feature.key:
            return j
    names = [f.name for f in dataset.features]
    if feature.name in names:
        return names.index(feature.name)
    raise DataError(
        "X",
        f"the columns {first_names(names)}",
        f"a column {feature.name!r}, which the rules of the regions use",
        _FIX,
    )


def condition_text(
    feature: Feature,
    low: float = -math.inf,
    high: float = math.inf,
    levels: Sequence[Level] | None = None,
    excluded: bool = False,
    missing: bool = False,
    only: Level | None = None,
) -> str:
    """Return a condition in words."""
    name = one_line(feature.title)
    suffix = _OR_MISSING if missing else ""
    if only is not None:
        return f"{name} = {_value_text(feature, only, levels)}{suffix}"
    if levels is None:
        return _interval_text(feature, name, low, high, suffix)
    known = [v for v in levels if v is not None]
    if len(known) < len(levels) and not missing:
        known.append(None)  # last
    if not known:
        if excluded:
            return f"{name} is not missing" if not missing else f"any {name}"
        return f"{name} is missing" if missing else f"no {name}"
    if len(known) == 1:
        return f"{name} {'≠' if excluded else '='} {_level_text(feature, known[0])}{suffix}"
    shown = [_level_text(feature, v) for v in known[:MOST_LEVELS]]
    more = f", … ({len(known)} levels)" if len(known) > MOST_LEVELS else ""
    return f"{name} {'not in' if excluded else 'in'} {{{', '.join(shown)}{more}}}{suffix}"


def _interval_text(feature: Feature, name: str, low: float, high: float, suffix: str) -> str:
    if not low < high:
        return f"{name} is missing" if suffix else f"no {name}"
    if math.isinf(low) and math.isinf(high):
        return f"any {name}" if suffix else f"{name} is not missing"
    ends = [_number_text(feature, end) for end in (low, high)]
    unit = _unit(feature)
    if math.isinf(low):
        return f"{name} ≤ {ends[1]}{unit}{suffix}"
    if math.isinf(high):
        return f"{name} > {ends[0]}{unit}{suffix}"
    return f"{ends[0]} < {name} ≤ {ends[1]}{unit}{suffix}"


def _value_text(feature: Feature, value: Level, levels: Sequence[Level] | None) -> str:
    if levels is None and isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{_number_text(feature, float(value))}{_unit(feature)}"
    return _level_text(feature, value)


def _unit(feature: Feature) -> str:
    return f" {one_line(feature.unit)}" if feature.unit and feature.time is None else ""


def _number_text(feature: Feature, value: float) -> str:
    """Return a number, or a time, exactly: thresholds are round."""
    if math.isinf(value):
        return ""
    if feature.time is not None:
        return feature.time.text(value, feature.time.resolution)
    return f"{value + 0.0:.12g}"  # + 0.0: no negative zero


def _level_text(feature: Feature, level: Level) -> str:
    """Return a level on one line."""
    own = given_labels([level], feature)
    if own:
        return own[0]
    if level is None:
        return "missing"
    if isinstance(level, tuple):
        return f"({', '.join(_level_text(feature, v) for v in level)})"
    if isinstance(level, float) and level.is_integer() and abs(level) < 2**53:
        return str(int(level))
    text = one_line(str(level))
    return text or repr(level)


def rule_text(conditions: Sequence[Condition]) -> str:
    """Return a rule in words: its conditions joined by "and"."""
    if len(conditions) < 2:
        return "".join(c.text for c in conditions) or ALL_ROWS
    return " and ".join(
        f"({c.text})" if c.text.endswith(_OR_MISSING) else c.text for c in conditions
    )


def merged(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return conditions in which each feature occurs once: the intersection of those on the same feature."""
    found: dict[str, Condition] = {}
    for new in conditions:
        known = found.get(new.feature.name)
        found[new.feature.name] = new if known is None else _intersection(known, new)
    return tuple(found.values())


def _intersection(parent: Condition, new: Condition) -> Condition:
    """Return the rows of a parent's condition that satisfy a new condition on the same feature."""
    missing = parent.missing and new.missing
    low, high = max(parent.low, new.low), min(parent.high, new.high)
    levels, excluded = _common_levels(parent, new)
    if levels is not None and not excluded and not missing:
        levels = tuple(v for v in levels if v is not None)
    columns = new.columns or parent.columns
    both = Condition(new.feature, low, high, levels, excluded, missing, "", columns)
    for one in (new, parent):
        same = (one.low, one.high, one.excluded, one.missing) == (low, high, excluded, missing)
        if same and _keys(one.levels) == _keys(levels):
            return replace(both, text=one.text)
    # The search does not mention missing values where there are none in the node, although the rule covers them.
    said = new.text.endswith((_OR_MISSING, _IS_MISSING))
    if new.text != _text_of(new, missing=said) and "=" in new.text:
        # A text that is not the default one names the only observed value, which remains the only one.
        plain = new.text.removesuffix(_OR_MISSING)
        return replace(both, text=plain + (_OR_MISSING if missing and said else ""))
    return replace(both, text=_text_of(both, missing=missing and said))


def _text_of(condition: Condition, *, missing: bool) -> str:
    c = condition
    return condition_text(c.feature, c.low, c.high, c.levels, c.excluded, missing)


def _keys(levels: Sequence[Level] | None) -> frozenset[object] | None:
    return None if levels is None else frozenset(map(equality_key, levels))


def _common_levels(a: Condition, b: Condition) -> tuple[tuple[Level, ...] | None, bool]:
    """Return the levels of two conditions together, and whether they are excluded."""
    if not isinstance(a.levels, tuple) or not isinstance(b.levels, tuple):
        one = a if isinstance(a.levels, tuple) else b
        return one.levels, one.excluded
    of_a, of_b = ({equality_key(v) for v in c.levels or ()} for c in (a, b))
    if a.excluded and b.excluded:
        return (*a.levels, *(v for v in b.levels if equality_key(v) not in of_a)), True
    if a.excluded:
        return tuple(v for v in b.levels if equality_key(v) not in of_a), False
    kept = tuple(v for v in a.levels if (equality_key(v) in of_b) != b.excluded)
    return kept, False


# --- the tree -------------------------------------------------------------------------------------


SIGNIFICANT = 0.05
"""A candidate with a smaller p-value looks confirmed: the text adds the limit, which is smaller for many tests."""


STABLE = 0.3
"""Splits with a smaller half-sample stability are no findings."""


@dataclass(frozen=True)
class Split(Documented):
    """A split of a node on one conditioning feature."""

    exported = (
        *("feature", "p_value", "level", "share", "share_error", "stability", "another", "rows"),
    )
    feature: str
    """The conditioning feature."""
    conditions: tuple[Condition, ...]
    """The condition of each child, in the order of the children."""
    p_value: float
    """One-sided p-value, from rows that did not choose the split; NaN for given regions."""
    share: float
    """Share of the whole's loss that the split explains, from rows that did not choose it. For curves of step functions
    relative to the squared heterogeneity score, and possibly above 1."""
    share_error: float
    """Its standard error."""
    share_in_sample: float
    """The same from all rows, which also chose the split: too large on average."""
    stability: float
    """Agreement of this split with the best split on the same feature of the other half of the rows, corrected for
    chance: 1 for the same rows on each side, 0 for no more than chance. NaN if it is unknown."""
    look_ahead: bool
    """Whether it was chosen together with the splits of its children, because none of the single splits helps."""
    rows: int
    """Number of rows that checked it."""
    another: str = ""
    """The best split of the other half of the rows, by the condition of its first side; empty if it is unknown."""
    level: float = math.nan
    """The largest p-value with which the split is confirmed: ``alpha`` divided by the number of features and halved for
    each level of the tree, of which single splits get 80 % and two at once 20 %. NaN if it is unknown."""

    @property
    def unstable(self) -> bool:
        """Return whether `stability` is below 0.3: another split does about as well, and this one is no finding."""
        return self.stability < STABLE

    @property
    def feature_title(self) -> str:
        """Return the conditioning feature's text for people: its label if it has one, else its name."""
        return next((c.feature.title for c in self.conditions), self.feature)


@dataclass(frozen=True)
class RegionNode(Documented):
    """A node of the tree of rules. Node 0 is the whole."""

    exported = (
        *("condition", "rule", "_parent as parent", "children", "depth", "count", "weight"),
        *("_region as region", "note", "split", "candidate"),
    )
    condition: str
    """What it adds to its parent's rule, "workingday = 0"; empty for the whole."""
    rule: str
    """The whole rule, "workingday = 0 and temp ≤ 0.5"; "all rows" for the whole."""
    conditions: tuple[Condition, ...]
    """Those of the whole rule, one per conditioning feature. Empty if rules are not conditions: regions that were given
    by labels or masks."""
    parent: int
    """Number of the parent; -1 for the whole."""
    children: tuple[int, ...]
    """Numbers of its children, none for leaves. A split has two children; given regions are any number of children of
    the whole."""
    depth: int
    """Number of splits above it."""
    count: int
    """Number of rows."""
    weight: float
    """Sum of their weights."""
    split: Split | None
    """How the node was split; None for a leaf."""
    region: int
    """For a leaf, its index in the sequence of regions; otherwise -1."""
    loss: float
    """The criterion's loss per unit of weight in the node, in squared units of the quantity."""
    note: str = ""
    """Why a leaf was not split further; otherwise empty."""
    candidate: Split | None = None
    """For a leaf, the split that one half of its rows chose among all, but that the other half did not confirm, or that
    explains too little. Its p-value is that of one test, of this split on the other half. It has no stability."""

    @property
    def _parent(self) -> int | None:
        """Return the number of the parent; None for the whole."""
        return self.parent if self.parent >= 0 else None

    @property
    def _region(self) -> int | None:
        """Return for a leaf its index in the sequence of regions; None for a node that was split."""
        return self.region if self.region >= 0 else None


class RegionTree(DisplayMixin, tuple[RegionNode, ...]):
    """The nodes of the tree of rules, depth first: a tuple that prints as an indented tree."""

    __slots__ = ()

    def __str__(self) -> str:
        return tree_text(self)


@dataclass(frozen=True, eq=False)
class RegionScores(Immutable):
    """Heterogeneity scores of the whole and within the regions; NaN with ``heterogeneity_rows=0``."""

    whole: float
    """Heterogeneity score of all rows, in units of the quantity."""
    whole_error: float
    """Its standard error."""
    regions: Floats
    regions_error: Floats
    """The score of each region, from pairs of rows within it, shape (R,)."""
    within: float
    """The score that is left within the regions: root of the weighted mean of their squared scores."""
    within_error: float
    """Its standard error."""
    explained: float
    """Share of the squared score that the regions explain: 1 - within² / whole², from pairs of rows that did not choose
    the splits (given regions: all pairs)."""
    explained_error: float
    """Its standard error."""
    pairs: int
    """Number of pairs of rows."""

    @classmethod
    def unknown(cls, regions: int) -> RegionScores:
        """Return the scores of some regions without any score: all NaN."""
        nan = math.nan
        none = np.full(regions, nan)
        return cls(nan, nan, none, none.copy(), nan, nan, nan, nan, 0)


# --- regions of one feature -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Regions(
    ResultWithTables[Literal["regions", "splits", "effect", "bins"]], OfFeature, Sequence[Effect]
):
    """The effect of a feature in parts of the data: a sequence of effects, one per region.

    Notes
    -----
    No method calls the model.

    Examples
    --------
    A tree as `skedasis.regions` finds it, built by hand:

    >>> import numpy as np
    >>> import skedasis as sd
    >>> from skedasis.data.features import Feature
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> q = lambda X: np.where(X[:, 1] > 0, 2.0, -2.0) * X[:, 0]
    >>> whole, below, above = (
    ...     sd.explain(q, X[rows], 0, method=sd.ALE(bins=4))
    ...     for rows in (slice(None), X[:, 1] <= 0, X[:, 1] > 0)
    ... )
    >>> b = Feature("x1", position=1, key=1)
    >>> sides = Condition(b, high=0.0, text="x1 ≤ 0"), Condition(b, low=0.0, text="x1 > 0")
    >>> split = Split("x1", sides, 1e-9, 0.98, 0.01, 0.99, 1.0, False, 200)
    >>> nodes = (
    ...     RegionNode("", "all rows", (), -1, (1, 2), 0, 400, 400.0, split, -1, 1.3),
    ...     *(
    ...         RegionNode(
    ...             c.text, c.text, (c,), 0, (), 1, 200, 200.0, None, i, 0.0, "no heterogeneity"
    ...         )
    ...         for i, c in enumerate(sides)
    ...     ),
    ... )
    >>> r = Regions(
    ...     (below, above), whole, nodes, RegionScores.unknown(2), "within", 0.98, 0.01, 0.99
    ... )
    >>> len(r), r.rules, r.assign(np.array([[0.0, 0.5], [0.0, -0.5]])).tolist()
    (2, ('x1 ≤ 0', 'x1 > 0'), [1, 0])
    >>> print(r)
    x0 on prediction (ALE): the rule (2 groups of rows) explains 98 % ± 1 % of the variance between rows, as searched
    <BLANKLINE>
    all rows: 400 rows; by x1: explains 98 % ± 1 %, p < 0.001
      [0] x1 ≤ 0: 200 rows (50 %)
      [1] x1 > 0: 200 rows (50 %)
    <BLANKLINE>
    [0] x1 ≤ 0: falls by 3.96 from −0.99 to 0.99
    [1] x1 > 0: rises by 3.97 from −0.99 to 1
    """

    frames = (
        "regions: one row per region: its rule, its rows, its heterogeneity score",
        "splits: one row per split: what it explains, how certain it is",
        'effect: one row per point of the effects in all regions, after columns "region" and "rule"',
        "bins: one row per bin of the effects, if they have bins",
    )

    effects: tuple[Effect, ...]
    """The effects in the regions, in the order of the leaves of the tree; each has its `rule`."""
    whole: Effect
    """The effect in all rows."""
    nodes: tuple[RegionNode, ...]
    """The tree of rules, depth first."""
    scores: RegionScores
    """Heterogeneity scores before and after."""
    criterion: str
    """What the splits minimise: the squared deviations of the local effects from the effect of their node, or the
    squared differences between curves. "given" for regions that were given."""
    loss_explained: float
    """Share of the criterion's loss that all splits explain, from rows that did not choose them."""
    loss_explained_error: float
    """Its standard error."""
    loss_explained_in_sample: float
    """The same from all rows."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Conditioning features that could not be used, and why."""
    by: str = ""
    """How given regions were given: the name of a column, "labels" or "masks". Empty for regions that were found."""
    provenance: Provenance = field(default_factory=no_provenance)
    """Record of how the regions were computed."""

    def __len__(self) -> int:
        return len(self.effects)

    @overload
    def __getitem__(self, index: int) -> Effect: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Effect, ...]: ...
    def __getitem__(self, index: int | slice) -> Effect | tuple[Effect, ...]:
        last = len(self.effects) - 1
        if not isinstance(index, slice) and not is_int(index):
            fix = f"Pass a position from 0 to {last}"
            if isinstance(index, str) and index in self.rules:
                fix = f"Write result[{self.rules.index(index)}]"
            raise DataError("regions", shown(index), "the position of a region", fix)
        if is_int(index) and not -last - 1 <= index <= last:  # ends an iteration by positions
            got, fix = f"position {index}", "Use len(result) for the number of regions"
            raise IndexError(format_error("regions", got, f"0 to {last}", fix))
        return self.effects[index]

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.effects)

    @property
    def about(self) -> About:
        """Return the description of the feature and the quantity."""
        return self.whole.about

    @property
    def quantity(self) -> str:
        """Return the name of the quantity."""
        return self.whole.about.quantity

    @property
    def leaves(self) -> tuple[RegionNode, ...]:
        """Return the node of each region."""
        return tuple(sorted((n for n in self.nodes if n.region >= 0), key=lambda n: n.region))

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rule of each region."""
        return tuple(n.rule for n in self.leaves)

    @property
    def splits(self) -> tuple[Split, ...]:
        """Return the splits, in the order of the nodes."""
        return tuple(n.split for n in self.nodes if n.split is not None)

    @property
    def tree(self) -> RegionTree:
        """Return the nodes as a tuple that prints as an indented tree."""
        return RegionTree(self.nodes)

    @property
    def shares(self) -> Floats:
        """Return the fraction of the weight in each region, shape (R,)."""
        weight = np.array([n.weight for n in self.leaves])
        return weight / max(self.nodes[0].weight, np.finfo(float).tiny)

    @property
    def heterogeneity(self) -> RegionScores:
        """Return the heterogeneity scores of the whole and within the regions."""
        return self.scores

    @property
    def heterogeneity_explained(self) -> float:
        """Return the share of the squared heterogeneity score that the regions explain; NaN without scores."""
        return self.scores.explained

    @property
    def heterogeneity_explained_error(self) -> float:
        """Return the standard error of `heterogeneity_explained`; NaN if it is unknown."""
        return self.scores.explained_error

    def __repr__(self) -> str:
        return f"<Regions of {self.feature!r} on {self.quantity}: {summary_text(self)}>"

    def __str__(self) -> str:
        return regions_text(self)

    def assign(self, X_new: TableLike) -> Ints:
        """Return the number of the region of each row.

        Parameters
        ----------
        X_new : ndarray or data frame, shape (n, d)
            A data frame may have its columns in any order, and only those that the rules use.

        Returns
        -------
        ndarray of int, shape (n,)
            Index of the region; -1 for a row that satisfies no rule, such as a row with a level that was not observed.

        Raises
        ------
        DataError
            If a column is missing from `X_new`, or its values are of another kind.
        UnsupportedError
            For regions that were given by labels or masks: no rule says where a new row belongs.

        Notes
        -----
        No model row. `X_new` is not changed.
        """
        dataset = as_dataset(X_new)
        leaves = self.leaves
        if (self.by or len(leaves) > 1) and any(not n.conditions for n in leaves):
            raise UnsupportedError(
                "assign",
                f"regions that were given by {self.by or 'labels'}",
                "regions with rules",
                "Give the regions by the name of a column, such as by='workingday'",
            )
        return region_of_rows(leaves, dataset)

    @checked_call
    def contrast(
        self,
        a: Level,
        b: Level,
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        replicates: int = 1000,
        random_state: RandomState = 0,
        n_jobs: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> Contrasts:
        """Return the change of the effect from value `a` to value `b` of the feature in each region.

        Parameters
        ----------
        a, b, confidence_level, method, replicates, random_state, n_jobs, source
            As in `Effect.contrast`.

        Returns
        -------
        Contrasts
            One per region. `Contrasts.difference` compares two of them. In a region whose curve does not contain the
            values the change is NaN, and a note gives the reason.

        Raises
        ------
        DataError, UnsupportedError
            As `Effect.contrast`; for values outside the curve only if no region has both.

        Notes
        -----
        If the regions were found on the same rows, their effects differ more than those of new rows would: the
        intervals take the regions as given. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
        >>> q = lambda X: (np.where(X[:, 1] > 0, 3.0, 1.0) + X[:, 1] / 10) * X[:, 0]
        >>> r = sd.explain(q, X, 0, by={"low": X[:, 1] <= 0, "high": X[:, 1] > 0})
        >>> [(c.rule, round(float(c))) for c in r.contrast(-0.5, 0.5)]
        [('low', 1), ('high', 3)]
        """
        options = operations.ContrastOptions(
            confidence_level, method, replicates, random_state, n_jobs, source
        )
        return operations.contrasts_of_regions(self.effects, a, b, options)

    def alone(self) -> RegionsByFeature:
        """Return a container with these regions alone."""
        return RegionsByFeature({self.feature: self})

    def _table(self, of: str) -> TableColumns:
        if of == "regions":
            return self._region_columns()
        return self._split_columns() if of == "splits" else self._effect_columns(of)

    def _region_columns(self) -> TableColumns:
        leaves, scores = self.leaves, self.scores
        return {
            **columns_of(RegionNode, leaves, "region", "rule", "count as rows", "weight"),
            "share": self.shares,
            "heterogeneity_score": scores.regions,
            "heterogeneity_score_error": scores.regions_error,
            "importance": np.array([e.importance for e in self.effects], dtype=float),
        }

    def _split_columns(self) -> TableColumns:
        found = [(n, n.split) for n in self.nodes if n.split is not None]
        numbers = "p_value", "share", "share_error", "stability"
        return {
            "depth": np.array([n.depth for n, _ in found], dtype=np.int64),
            "rule": _texts(n.rule for n, _ in found),
            "feature": _texts(s.feature for _, s in found),
            "condition": _texts(s.conditions[0].text if s.conditions else "" for _, s in found),
            **{name: np.array([vars(s)[name] for _, s in found], dtype=float) for name in numbers},
            "another": _texts(s.another for _, s in found),
            "rows": np.array([s.rows for _, s in found], dtype=np.int64),
        }

    def _effect_columns(self, of: str) -> TableColumns:
        tables: list[TableColumns] = []
        for i, (effect, rule) in enumerate(zip(self.effects, self.rules, strict=True)):
            columns = operations.effect_table(effect, of)
            size = len(columns["feature"])
            named = {"region": np.full(size, i), "rule": _texts([rule] * size)}
            tables.append({**named, **columns})
        return operations.stack_tables(tables)

    @property
    def _by(self) -> str | None:
        """Return how given regions were given; None for regions that were found."""
        return self.by or None

    _attributes = (
        *(
            "whole.spec.method as method",
            "criterion",
            "_by as by",
            "whole.importance as importance",
        ),
        *("scores.whole as heterogeneity_score", "scores.whole_error as heterogeneity_score_error"),
        "scores.within as heterogeneity_score_within",
        "scores.within_error as heterogeneity_score_within_error",
        "scores.explained as heterogeneity_explained",
        "scores.explained_error as heterogeneity_explained_error",
        *("loss_explained", "loss_explained_error", "left_out", "whole"),
    )

    def _document(self, options: ExportOptions) -> Content:
        shares, scores = self.shares, self.scores
        return {
            **operations.about_document(self.about),
            **content_of(self, *self._attributes),
            "regions": [
                {
                    "rule": leaf.rule,
                    "rows": leaf.count,
                    "weight": leaf.weight,
                    "share": shares[k],
                    "importance": self.effects[k].importance,
                    "heterogeneity_score": scores.regions[k],
                    "heterogeneity_score_error": scores.regions_error[k],
                    "conditions": leaf.conditions,
                    "effect": self.effects[k],
                }
                for k, leaf in enumerate(self.leaves)
            ],
            "nodes": tuple(self.nodes),
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            **json_keys.FEATURE,
            **json_keys.QUANTITY,
            **keys_of(cls, *cls._attributes),
            "regions": json_keys.lines(
                "The regions.",
                "One region.",
                {
                    "rule": json_keys.text('Its rule, such as "workingday = 0".'),
                    "rows": json_keys.integer("Number of rows."),
                    "weight": json_keys.number("Their weight."),
                    "share": json_keys.number("Fraction of the weight."),
                    "importance": json_keys.number(
                        "Standard deviation of the effect within the region."
                    ),
                    **json_keys.SCORE,
                    "conditions": listed(
                        schema_of(Condition),
                        "The conditions of the rule, all of which hold. Empty for regions given by labels or masks.",
                    ),
                    "effect": json_keys.result("Effect", "The effect within the region."),
                },
            ),
            "nodes": listed(
                schema_of(RegionNode),
                "The tree of rules, depth first; the first node is the whole.",
            ),
            **json_keys.RECORD,
        }, {}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[RegionsKeywords]) -> Figure:
        """Plot the effects in the regions on one scale, with the effect in all rows, and the scores."""
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[RegionsViewKeywords],
    ) -> Explorable:
        """Return the regions as an interactive page: the figure with tooltips, the tree, and the numbers."""
        return operations.explore(self, path, title, **options)


def _texts(texts: Iterable[str]) -> Values:
    out = list(texts)
    column = np.empty(len(out), dtype=object)
    column[:] = out
    return column


# --- text -----------------------------------------------------------------------------------------


def region_of_rows(leaves: Sequence[RegionNode], dataset: Dataset) -> Ints:
    """Return the region of each row of a dataset by the rules of the leaves, shape (n,); -1 for a row of none."""
    # Each condition is evaluated once, although several rules share it.
    known: dict[int, Bools] = {}
    regions = np.full(len(dataset), -1, dtype=np.int64)
    for node in leaves:
        rows = np.ones(len(dataset), dtype=bool)
        for condition in node.conditions:
            if id(condition) not in known:
                known[id(condition)] = condition.holds(dataset)
            rows &= known[id(condition)]
        regions[rows] = node.region
    return regions


def another_text(split: Split) -> str:
    """Return that another split does about as well as one that is not stable, and which."""
    return tell(ANOTHER, rule=split.another)


def alternatives(regions: Regions) -> list[str]:
    """Return for each split that is not stable which other split does about as well, in words."""
    return [
        f"{f'where {with_minus(n.rule)}, ' if n.parent >= 0 else ''}{another_text(n.split)}"
        for n in regions.nodes
        if n.split is not None and n.split.unstable
    ]


def unstable_splits(regions: Regions, region: int) -> list[Split]:
    """Return the splits in the rule of a region that are not stable, the last one first."""
    found: list[Split] = []
    number = regions.leaves[region].parent
    while number >= 0:
        node = regions.nodes[number]
        if node.split is not None and node.split.unstable:
            found.append(node.split)
        number = node.parent
    return found


def explained_share(regions: Regions) -> tuple[float, float]:
    """Return the share that regions explain of the heterogeneity, or without scores of the loss, and its error."""
    if math.isfinite(regions.heterogeneity_explained):
        return regions.heterogeneity_explained, regions.heterogeneity_explained_error
    return regions.loss_explained, regions.loss_explained_error


def summary_text(regions: Regions) -> str:
    """Return the number of regions, what they explain, and whether another first split does about as well."""
    return f"{explained_text(regions)}{doubt_text(regions)}"


def doubt_text(regions: Regions) -> str:
    """Return "; another split does about as well: temp ≤ 0.5" if the first split is not stable, else nothing."""
    first = regions.nodes[0].split
    return f"; {another_text(first)}" if first is not None and first.unstable else ""


def explained_text(regions: Regions, *, scores: bool = False) -> str:
    """Return the number of regions and what they explain, or why there is one; with the scores before and after."""
    n, whole, within = len(regions), regions.scores.whole, regions.scores.within
    before = whole if scores else math.nan
    if n == 1:
        return tell(ONE_GROUP, why=undivided_text(regions.nodes[0]), before=before)
    share, error = explained_share(regions)
    return tell(
        EXPLAINED if math.isfinite(share) else GROUPS,
        n=n,
        share=share_text(share, error),
        searched=math.isnan(regions.heterogeneity_explained),
        before=before,
        within=within,
    )


def undivided_text(leaf: RegionNode) -> str:
    """Return why a leaf is not divided, with the best candidate: its p-value, or how little it explains."""
    best = leaf.candidate
    if best is None:
        return leaf.note
    return tell(
        BEST_EXPLAINS_LITTLE if best.p_value <= best.level else BEST_NOT_CONFIRMED,
        note=leaf.note,
        rule=best.conditions[0].text,
        share=share_text(best.share),
        p=best.p_value,
        level=best.level if best.p_value < SIGNIFICANT else None,
    )


def heading_text(regions: Regions) -> str:
    """Return the first line of the text of regions: the feature, the quantity, and what the regions explain."""
    return (
        f"{one_line(regions.feature_title)} on {one_line(regions.quantity)} ({regions.whole.spec.method}): "
        f"{explained_text(regions, scores=True)}{doubt_text(regions)}"
    )


def rules_text(found: object) -> str:
    """Return the trees of rules of all features that are divided as text; empty if none is, and for other results."""
    regions = [*found.values()] if isinstance(found, RegionsByFeature) else []
    if isinstance(found, RegionsByFeature) and found.joint and regions:
        return f"one partition for all features:\n{tree_text(regions[0].nodes)}"
    divided = [r for r in regions if len(r) > 1]
    return "\n\n".join(f"{heading_text(r)}\n{tree_text(r.nodes, r.scores)}" for r in divided)


def regions_text(regions: Regions) -> str:
    """Return regions as text: a line on all, the tree of rules, and a line on each curve."""
    heading = heading_text(regions) + sample_text(regions.provenance)
    heading += outside_text(regions.whole.provenance.get("rows_outside"))
    blocks = [heading, tree_text(regions.nodes, regions.scores)]
    blocks.append(
        "\n".join(
            f"[{i}] {with_minus(rule)}: {curve_words(effect)}"
            for i, (rule, effect) in enumerate(zip(regions.rules, regions.effects, strict=True))
        )
    )
    said = beyond_text(regions.whole)
    blocks += [f"{said} of {one_line(regions.feature_title)}"] if said else []
    blocks += filter(None, [called_text(regions.provenance)])
    if regions.left_out:
        said = "; ".join(f"{one_line(name)} ({why})" for name, why in regions.left_out.items())
        blocks.append(f"not used as conditions: {said}")
    return "\n\n".join(blocks)


def tree_text(nodes: Sequence[RegionNode], scores: RegionScores | None = None) -> str:
    """Return the tree of rules as indented text: conditions, rows, splits, and the scores of the regions."""
    total = max(nodes[0].weight, np.finfo(float).tiny) if nodes else 1.0
    lines: list[str] = []
    for node in nodes:
        name = f"[{node.region}] " if node.region >= 0 and node.depth else ""
        rule = with_minus(node.condition or node.rule)
        said = f"{'  ' * node.depth}{name}{rule}: {counted(node.count, 'row')}"
        said += f" ({percent(node.weight / total)})" if node.depth else ""
        if scores is not None:
            said += _node_score(node, scores)
        if node.split is not None:
            said += f"; {split_text(node.split)}"
        lines.append(said)
    return "\n".join(lines)


def _node_score(node: RegionNode, scores: RegionScores) -> str:
    score, error = math.nan, math.nan
    if node.region >= 0 and node.region < len(scores.regions):
        score, error = float(scores.regions[node.region]), float(scores.regions_error[node.region])
    elif node.depth == 0:
        score, error = scores.whole, scores.whole_error
    return f", score {with_error(score, error)}" if math.isfinite(score) else ""


def split_text(split: Split) -> str:
    """Return a split in words: its feature, what it explains, and how certain it is."""
    return tell(
        SPLIT,
        feature=split.feature_title,
        share=share_text(split.share, split.share_error) if math.isfinite(split.share) else "",
        p=split.p_value,
        another=another_text(split) if split.unstable else "",
        ahead=split.look_ahead,
    )


# --- regions of several features ------------------------------------------------------------------


@dataclass(frozen=True)
class RegionsRank(RankLine):
    """One line of the ranking of features by their heterogeneity."""

    ordered_by = "heterogeneity_score"

    feature: str
    importance: float
    """Standard deviation of the effect over all data, in units of the quantity."""
    heterogeneity_score: float
    """Heterogeneity score of all rows, in units of the quantity."""
    explained: float
    """Share of the heterogeneity that the regions explain; NaN without scores."""
    explained_error: float
    """Its standard error."""
    regions: int
    """Number of regions."""
    first_split: str
    """The feature of the first split; empty if there is none."""

    @property
    def printed(self) -> Mapping[str, object]:
        """Return the cells of a printed ranking."""
        known = self.regions > 1 and math.isfinite(self.explained)
        explained = share_text(self.explained, self.explained_error) if known else "-"
        cells = {**vars(self), "explained": explained}
        return {name: cell for name, cell in cells.items() if name != "explained_error"}


class RegionsByFeature(FeatureMapping[Regions, RegionsRank]):
    """A mapping from feature names to their regions, in X's order."""

    exported = ("features", "joint", "ranking", "regions", "provenance")
    column = "of"
    tables = ("ranking", "regions", "splits", "effect", "bins")
    orders = ("heterogeneity_score", "explained", "importance")

    joint: bool = False
    """Whether all features have the same regions: one partition of the rows for all of them."""

    @property
    def regions(self) -> Mapping[str, Regions]:
        """Return the regions by feature."""
        return self.members

    def __repr__(self) -> str:
        joint = "one partition for all, " if self.joint else ""
        return f"<RegionsByFeature of {counted(len(self), 'feature')}: {joint}{self._named()}>"

    def __str__(self) -> str:
        first = next(iter(self.values()), None)
        if first is None:
            return "no features"
        drawn = sample_text(self.provenance)
        head = f"regions of {counted(len(self), 'feature')} on {first.quantity}{drawn}"
        rules, ranking = rules_text(self), str(self.ranking())
        blocks = [head, *([rules, ranking] if self.joint else [ranking, rules])]
        return "\n\n".join(filter(None, [*blocks, called_text(self.provenance)]))

    @property
    def effects(self) -> Effects:
        """Return the effects in all rows."""
        return Effects({name: r.whole for name, r in self.items()}, self.provenance)

    def _lines(self) -> list[RegionsRank]:
        lines = [
            RegionsRank(
                name,
                r.whole.importance,
                r.scores.whole if math.isfinite(r.scores.whole) else r.whole.heterogeneity_score,
                r.heterogeneity_explained,
                r.heterogeneity_explained_error,
                len(r),
                r.splits[0].feature if r.splits else "",
            )
            for name, r in self.items()
        ]
        return sorted(lines, key=lambda line: -line.importance)

    @checked_call
    def contrast(
        self,
        changes: Mapping[str, tuple[Level, Level]] | Mapping[int, tuple[Level, Level]],
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        replicates: int = 1000,
        random_state: RandomState = 0,
        n_jobs: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> Contrasts:
        """Return the change of the effect of several features in each of their regions.

        Parameters
        ----------
        changes : mapping from features to (a, b)
            Such as ``{"age": (30, 50), "town": ("A", "B")}``.
        confidence_level, method, replicates, random_state, n_jobs, source
            As in `Effect.contrast`.

        Returns
        -------
        Contrasts
            One per feature and region, in the order of `changes`.

        Raises
        ------
        DataError, UnsupportedError
            As `Regions.contrast`, and for an unknown feature.
        """
        pairs = operations.pairs_of(changes, self)
        options = operations.ContrastOptions(
            confidence_level, method, replicates, random_state, n_jobs, source
        )
        return operations.contrasts(
            self, pairs, lambda r, a, b: operations.contrasts_of_regions(r.effects, a, b, options)
        )

    def assign(self, X_new: TableLike) -> Ints:
        """Return the number of the region of each row, if all features have the same regions; see `Regions.assign`.

        Raises
        ------
        UnsupportedError
            If each feature has its own regions.
        """
        if not self.joint or not self:
            raise UnsupportedError(
                "assign",
                "regions of several features, each with its own",
                "one partition for all features",
                "Choose a feature, such as regions['age'].assign(X), or find regions with joint=True",
            )
        return next(iter(self.values())).assign(X_new)

    def table(self, of: str | None = None) -> TableColumns:
        """Return the columns of `to_frame`."""
        found = super().table(of)
        if of in ("effect", "bins"):
            del found["of"]  # which is the feature
        return found

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[RegionsByFeatureKeywords]) -> Figure:
        """Plot the features' heterogeneity scores, in all rows and within the regions, with the first split."""
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[RegionsByFeatureViewKeywords],
    ) -> Explorable:
        """Return the overview and the regions of each feature as an interactive page; see `Regions.explore`."""
        return operations.explore(self, path, title, **options)


# --- regions for several models -------------------------------------------------------------------


NO_SPLIT = "(no split)"
"""What the recurrence calls models without a split."""


@dataclass(frozen=True)
class Recurrence(RankLine):
    """One line of a recurrence: how many models have their first split on a feature."""

    ordered_by = "models"

    feature: str
    """The feature of the first split, or "(no split)"."""
    models: int
    """Number of models."""
    condition: str
    """The condition of the first region, where all agree; the range of the thresholds; or the different conditions."""


class MultiModelRegions(ResultMapping[str | int, Regions], OfFeature):
    """A mapping from several models to the regions of one feature for each.

    A model is looked up by its name, if `regions` got them by name, or by its number, from 0.
    """

    exported = ("feature", "recurrence", "models", "provenance")
    noun = column = "model"
    tables = ("recurrence", "regions", "splits", "effect", "bins")

    def _resolved(self, key: object) -> Regions:
        at = int(key) if is_int(key) else len(self)
        return self.models[at] if -len(self) <= at < len(self) else super()._resolved(key)

    @property
    def models(self) -> tuple[Regions, ...]:
        """Return the regions for each model."""
        return tuple(self.values())

    @property
    def names(self) -> list[str | int]:
        """Return the names of the models, if `regions` got them by name; else their numbers, from 0."""
        return list(self)

    @property
    def about(self) -> About:
        """Return the description of the feature and the quantity, of the first model."""
        return self.models[0].about

    def __repr__(self) -> str:
        first = self.recurrence[0]
        said = f"first split most often {first.feature} ({first.models} of {len(self)})"
        return f"<MultiModelRegions of {self.feature!r}: {counted(len(self), 'model')}, {said}>"

    def __str__(self) -> str:
        of = f"{one_line(self.feature_title)} on {one_line(self.about.quantity)}: {counted(len(self), 'model')}"
        lines = [f"model {name}: {summary_text(r)}" for name, r in self.items()]
        return "\n".join([of, "", str(self.recurrence), "", *lines])

    @property
    def recurrence(self) -> Ranking[Recurrence]:
        """Return how often each feature is the first split, the most frequent first.

        Returns
        -------
        Ranking of Recurrence
            A tuple of lines that prints as a table.
        """
        roots = [r.nodes[0].split for r in self.models]
        often = Counter(NO_SPLIT if s is None else s.feature for s in roots)
        lines = [
            Recurrence(
                name, n, _agreement([s for s in roots if s is not None and s.feature == name])
            )
            for name, n in often.most_common()
        ]
        return Ranking(sorted(lines, key=lambda line: (-line.models, line.feature == NO_SPLIT)))

    @checked_call
    def ranking(self, by: str | None = None) -> Ranking[Recurrence]:
        """Return how often each feature is the first split, the most frequent first: the `recurrence`.

        Parameters
        ----------
        by : {"models"}
            The only order.
        """
        return ordered(self.recurrence, by, ("models",))

    def table(self, of: str | None = None) -> TableColumns:
        """Return the columns of `to_frame`."""
        recur = of in (None, "recurrence")
        return {**columns_of(Recurrence, self.recurrence)} if recur else super().table(of)

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[FigureKeywords]) -> Figure:
        """Plot how many models have their first split on which feature, as bars with the thresholds."""
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[MultiModelRegionsViewKeywords],
    ) -> Explorable:
        """Return the recurrence and the regions of each model as an interactive page; see `Regions.explore`."""
        return operations.explore(self, path, title, **options)


@dataclass(frozen=True)
class RecurrenceRank(RankLine):
    """One line of the ranking of features by how their regions recur over several models."""

    ordered_by = "heterogeneity_score"

    feature: str
    importance: float
    """Mean over the models of the importance, in units of the quantity."""
    heterogeneity_score: float
    """Mean over the models of the heterogeneity score, in units of the quantity."""
    models_with_regions: int
    """Number of models with a split."""
    first_split: str
    """The most frequent feature of the first split; empty if no model has a split."""
    models: int
    """Number of models with this first split."""
    condition: str
    """Condition of the first region, or how conditions differ."""


class MultiModelRegionsByFeature(FeatureMapping[MultiModelRegions, RecurrenceRank]):
    """A mapping from feature names to their regions for several models, in X's order."""

    exported = ("features", "ranking", "regions", "provenance")
    column = "of"
    tables = ("ranking", "recurrence", "regions", "splits", "effect", "bins")
    orders = ("heterogeneity_score", "importance")

    @property
    def regions(self) -> Mapping[str, MultiModelRegions]:
        """Return the regions by feature."""
        return self.members

    def __repr__(self) -> str:
        of = counted(len(self), "feature")
        models = [f", {counted(len(r), 'model')}" for r in self.values()][:1]
        return f"<MultiModelRegionsByFeature of {of}{''.join(models)}: {self._named()}>"

    def __str__(self) -> str:
        return f"{self!r}\n{self.ranking()}" if self else repr(self)

    def _lines(self) -> list[RecurrenceRank]:
        lines: list[RecurrenceRank] = []
        for name, found in self.items():
            wholes = [r.whole for r in found.models]
            often = [line for line in found.recurrence if line.feature != NO_SPLIT]
            first = often[0] if often else Recurrence("", 0, "")
            lines.append(
                RecurrenceRank(
                    name,
                    float(np.mean([e.importance for e in wholes])),
                    float(np.mean([e.heterogeneity_score for e in wholes])),
                    sum(len(r) > 1 for r in found.models),
                    first.feature,
                    first.models,
                    first.condition,
                )
            )
        return sorted(lines, key=lambda line: -line.importance)

    @takes_figure_options
    def plot(self, **options: Unpack[MultiModelRegionsByFeatureKeywords]) -> Figure:
        """Plot for each feature how many models have their first split on which feature, side by side."""
        return operations.plot(self, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[SideBySideKeywords],
    ) -> Explorable:
        """Return the figure of `plot` and the regions of each model as an interactive page; see `Regions.explore`."""
        return operations.explore(self, path, title, **options)


def _agreement(splits: Sequence[Split]) -> str:
    """Return the condition of the first child, the range of the thresholds, or the different conditions."""
    first = [s.conditions[0] for s in splits if s.conditions]
    texts = list(dict.fromkeys(c.text for c in first))
    if len(texts) < 2:
        return "".join(texts)
    ends = [c.high if math.isfinite(c.high) else c.low for c in first]
    if not any(isinstance(c.levels, tuple) for c in first) and np.isfinite(ends).all():
        feature = first[0].feature
        low, high = (_number_text(feature, end) for end in (min(ends), max(ends)))
        return f"{one_line(feature.title)} at {low} to {high}{_unit(feature)}"
    return "; ".join(texts[:3]) + (f"; … ({len(texts)} conditions)" if len(texts) > 3 else "")
