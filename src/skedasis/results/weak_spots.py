"""`WeakSpots`: groups of rows in which a model is wrong on average, or in which its loss is large."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, overload

from skedasis._arguments import is_int, shown
from skedasis._calls import checked_call
from skedasis._numbers import counted, number, percent, sentence, within
from skedasis._types import Ints, TableLike
from skedasis.data.dataset import as_dataset
from skedasis.errors import DataError, format_error
from skedasis.results import operations
from skedasis.results.described import columns_of
from skedasis.results.display import (
    Ranking,
    RankLine,
    ResultWithTables,
    WithError,
    called_text,
    sample_text,
)
from skedasis.results.export import TableColumns
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.regions import RegionNode, RegionTree, region_of_rows
from skedasis.results.sentences import WEAK_SPOT, tell
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.student import interval_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import LevelFigureKeywords, LevelKeywords

NAN = math.nan

PREDICTION = "prediction"
"""The name of a plain prediction, of which sentences say "the model"."""


@dataclass(frozen=True)
class WeakSpot(RankLine):
    """A group of rows: by how much the model is wrong on average there, from rows that did not choose the rule."""

    ordered_by = "bias"

    rule: str
    """The rule of the group in words, "workingday = 0 and hr > 9"; "all rows" for all."""
    group: int
    """The number of the group, as `WeakSpots.assign` gives it; -1 for all rows."""
    rows: int
    """Number of rows."""
    share: float
    """Their share of the weight of all rows."""
    bias: float
    """Mean label minus mean prediction: above 0 the model is too low. Of a loss, its mean minus that of all rows."""
    std_error: float
    """Its standard error."""
    df: float
    """The degrees of freedom of the standard error."""
    p_value: float
    """Two-sided p-value of a bias of 0, of one test. NaN if there are too few rows."""
    label: float
    """Mean label of the rows that did not choose the rule; NaN for a loss."""
    prediction: float
    """Mean prediction of the same rows; NaN for a loss."""
    loss: float
    """Mean loss of the same rows; NaN for a bias."""
    ratio: float
    """Mean loss divided by that of all rows; NaN for a bias, and where a mean loss is not positive."""
    ratio_error: float
    """Standard error of the logarithm of `ratio`."""
    stability: float
    """How well the group agrees with the most similar one that the other half of the rows would choose: 1 for the same
    rows, 0 for no more in common than by chance. NaN for all rows."""
    confirmed: bool
    """Whether it is a weak spot: its bias differs from 0, no overall bias explains it, and it is stable. For all rows,
    whether there is an overall bias."""

    @property
    def printed(self) -> Mapping[str, object]:
        """Return the numbers of the group as the cells of a table."""
        found: dict[str, object] = {
            "rule": self.rule,
            "rows": self.rows,
            "share": percent(self.share),
            "bias": WithError(self.bias, self.std_error),
            "p": self.p_value,
            "stability": self.stability,
            "weak spot": "yes" if self.confirmed else "no",
        }
        known = {"label": self.label, "prediction": self.prediction, "mean": self.loss}
        known |= {"times the average": self.ratio}
        return found | {name: v for name, v in known.items() if not math.isnan(v)}

    @checked_call
    def interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval of `bias`, by Student's distribution. No model row."""
        return interval_of(self.bias, self.std_error, self.df, confidence_level)

    @checked_call
    def ratio_interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval of `ratio`, symmetric on the log scale. No model row."""
        if not self.ratio > 0:
            return NAN, NAN
        log_ratio = math.log(self.ratio)
        low, high = interval_of(log_ratio, self.ratio_error, self.df, confidence_level)
        return math.exp(low), math.exp(high)

    def size(self, by: str) -> float:
        """Return how large a number is, by which groups are ordered: of a bias whatever its sign."""
        return abs(float(vars(self)[by]))


@dataclass(frozen=True, eq=False)
class WeakSpots(ResultWithTables[Literal["spots", "groups"]], Sequence[WeakSpot]):
    """Where a model is wrong on average, and by how much: a sequence of groups of rows, the largest bias first.

    Computed by `skedasis.weak_spots`. It prints as sentences. An empty sequence means that no group of rows was found
    where the model is wrong on average.

    Notes
    -----
    No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, size=(2000, 3))
    >>> y = X[:, 0] + 2 * (X[:, 1] > 0.75) + rng.normal(size=2000)
    >>> found = sd.weak_spots(lambda X: X[:, 0], X, y)
    >>> len(found), found[0].rule, round(found[0].bias)
    (1, 'x1 > 0.75', 2)
    >>> found.assign(X[:3]).tolist() == (X[:3, 1] > 0.75).tolist()
    True
    """

    exported = (
        *("of", "quantity", "unit", "alpha", "min_bias", "rules", "_spots as spots"),
        *("overall", "groups", "tree", "provenance"),
    )
    frames = (
        "spots: one row per weak spot, the largest bias first",
        "groups: one row per group of the tree, weak or not, then one for all rows",
    )
    compared_in_table = False
    groups: tuple[WeakSpot, ...]
    """All groups of the tree, in the order of its leaves: together they are all rows."""
    overall: WeakSpot
    """All rows."""
    nodes: tuple[RegionNode, ...]
    """The tree of rules, depth first."""
    of: str = "bias"
    """What is compared: "bias", or the name of a loss."""
    alpha: float = 0.05
    """Level of the tests: with at most this probability any group is shown of a model that is right everywhere."""
    min_bias: float = 0.0
    """The smallest absolute bias that is shown."""
    quantity: str = "prediction"
    """The name of what is compared with the labels."""
    unit: str | None = None
    """Unit of the labels; of a loss that of the loss."""
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    """Features that rules could not use, and why."""
    provenance: Provenance = field(default_factory=no_provenance)
    """Record of how they were computed."""

    @property
    def _spots(self) -> tuple[WeakSpot, ...]:
        """Return the confirmed groups, the largest bias first."""
        return tuple(sorted((g for g in self.groups if g.confirmed), key=WeakSpot.sort_key))

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rule of each weak spot."""
        return tuple(spot.rule for spot in self)

    @property
    def tree(self) -> RegionTree:
        """Return the nodes of the tree of rules as a tuple that prints as an indented tree."""
        return RegionTree(self.nodes)

    def __len__(self) -> int:
        return len(self._spots)

    @overload
    def __getitem__(self, index: int) -> WeakSpot: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[WeakSpot, ...]: ...
    def __getitem__(self, index: int | slice) -> WeakSpot | tuple[WeakSpot, ...]:
        spots = self._spots
        if not isinstance(index, slice) and not is_int(index):
            fix = "Use result[0] for the largest one, or result.groups for all groups"
            raise DataError("weak spots", shown(index), "the position of a weak spot", fix)
        if is_int(index) and not -len(spots) <= index < len(spots):  # ends an iteration
            said = counted(len(spots), "weak spot")
            fix = "Use len(result) for their number, or result.groups for all groups"
            raise IndexError(format_error("weak spots", f"position {index}", said, fix))
        return spots[index]

    def __iter__(self) -> Iterator[WeakSpot]:
        return iter(self._spots)

    @checked_call
    def ranking(self) -> Ranking[WeakSpot]:
        """Return all groups, weak or not, the largest bias first; they print as a table."""
        return Ranking(sorted(self.groups, key=WeakSpot.sort_key))

    def assign(self, X_new: TableLike) -> Ints:
        """Return the number of the group of each row: its place in `groups`.

        Parameters
        ----------
        X_new : ndarray or data frame, shape (n, d)
            A data frame may have its columns in any order, and only those that the rules use.

        Returns
        -------
        ndarray of int, shape (n,)
            -1 for a row that satisfies no rule, such as a row with a level that was not observed.

        Raises
        ------
        DataError
            If a column is missing from `X_new`, or its values are of another kind.

        Notes
        -----
        No model row. `X_new` is not changed.
        """
        return region_of_rows([n for n in self.nodes if n.region >= 0], as_dataset(X_new))

    def _table(self, of: str) -> TableColumns:
        found = columns_of(WeakSpot, self._spots if of == "spots" else (*self.groups, self.overall))
        unknown = {"label", "prediction"} if self.of != "bias" else {"loss", "ratio", "ratio_error"}
        return {name: column for name, column in found.items() if name not in unknown}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[LevelFigureKeywords]) -> Figure:
        """Plot the bias of each group as a bar from zero with its interval, and that of all rows as a line.

        Notes
        -----
        Groups that are no weak spots are hatched. Of a loss, bars are its means, and the line is that of all rows.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> figure = sd.weak_spots(lambda X: X[:, 0], X, X[:, 0] + (X[:, 1] > 1)).plot()
        >>> figure.axes[0].get_xlabel()
        'mean label − mean prediction'
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[LevelKeywords],
    ) -> Explorable:
        """Return the figure of `plot` as an interactive page with tooltips, and a table of all groups."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        found = f": {', '.join(self.rules)}" if self.rules else ""
        said = counted(len(self), "weak spot")
        return f"<WeakSpots of {self.quantity} ({self.of}), {said}{found}>"

    def __str__(self) -> str:
        lines = [sentence(text) for text in weak_spots_texts(self)]
        source = sample_text(self.provenance).removeprefix(", ")
        return "\n".join([*lines, *filter(None, [source, called_text(self.provenance)])])


def weak_spots_texts(found: WeakSpots, who: str = "") -> list[str]:
    """Say where a model is wrong on average and by how much, then whether it is overall: sentences without full stop.

    `who` is what is wrong, by default "the model" for a prediction, else the prediction of the quantity.
    """
    who = who or who_text(found)
    spots = [weak_spot_text(found, spot, who) for spot in found]
    if not spots:
        unit = f" {found.unit}" if found.unit else ""
        least = f"{number(found.min_bias, zeros=False)}{unit}" if found.min_bias else ""
        none = "no loss" if found.of != "bias" else "no bias"
        none = "no other bias" if none == "no bias" and found.overall.confirmed else none
        spots = [tell(WEAK_SPOT[none], who=who, loss=found.of, least=least)]
    return [*spots, overall_text(found, who)]


def who_text(found: WeakSpots) -> str:
    """Say what is compared with the labels: "the model" for a prediction, else the prediction of the quantity."""
    return "the model" if found.quantity == PREDICTION else f"the prediction of {found.quantity}"


def weak_spot_text(found: WeakSpots, spot: WeakSpot, who: str = "") -> str:
    """Say by how much a model is wrong in a group of rows, with the interval and the part of the rows."""
    who = who or who_text(found)
    facts: dict[str, object] = {"who": who, "loss": found.of, "unit": found.unit, "rule": spot.rule}
    if found.of == "bias" or math.isnan(spot.ratio):
        kind, numbers = "bias" if found.of == "bias" else "excess", _amount(spot)
    else:
        kind, numbers = "ratio", _numbers(spot.ratio, spot.ratio_interval())
    return tell(WEAK_SPOT[kind], part=spot.share, bias=spot.bias, **facts, **numbers)


def overall_text(found: WeakSpots, who: str) -> str:
    """Say whether a model is wrong on average over all rows, or its average loss."""
    overall = found.overall
    low, high = overall.interval()
    if found.of != "bias":
        kind, ends = "average", (overall.loss + low, overall.loss + high)
        numbers = _numbers(overall.loss, ends)
    elif overall.confirmed:
        kind, numbers = "overall", _amount(overall)
    else:
        kind, numbers = "not overall", _numbers(overall.bias, (low, high))
    facts = {"who": who, "loss": found.of, "unit": found.unit, "bias": overall.bias}
    return tell(WEAK_SPOT[kind], **facts, **numbers)


def _amount(spot: WeakSpot) -> dict[str, str]:
    """Return the size of a bias and the ends of its interval, both in its direction, as texts."""
    low, high = spot.interval()
    return (
        _numbers(spot.bias, (low, high)) if spot.bias >= 0 else _numbers(-spot.bias, (-high, -low))
    )


def _numbers(value: float, ends: tuple[float, float]) -> dict[str, str]:
    """Return a number and the ends of its interval as texts, with as many digits as the interval is narrow."""
    low, high = ends
    span = high - low if 0 < high - low < math.inf else abs(value) or 1.0
    texts = [within(v, span) for v in (value, low, high)]
    return dict(zip(("amount", "low", "high"), texts, strict=True))
