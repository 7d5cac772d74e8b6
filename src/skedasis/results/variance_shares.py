"""`VarianceShares`: what main effects, regions and interactions explain of a quantity's variance at held-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from skedasis._arguments import check_name, check_option
from skedasis._calls import checked_call
from skedasis._numbers import counted, fraction, percent
from skedasis._types import JsonValue
from skedasis.results import operations
from skedasis.results.described import columns_of
from skedasis.results.display import Ranking, RankLine, SavedResult, align_columns
from skedasis.results.sentences import tell
from skedasis.results.signatures import takes_figure_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import LevelFigureKeywords, LevelKeywords

NAN = float("nan")

MAIN, UNEXPLAINED = "main effects", "not explained"
"""Names of the first and of the last part."""

GROUPS = "groups of rows for"
"""The beginning of the text of a part of regions."""


@dataclass(frozen=True)
class VariancePart(RankLine):
    """One part of the variance of a quantity."""

    ordered_by = "share"

    name: str
    """"main effects", "regions of a", "a × b", or "not explained"."""
    kind: Literal["main", "regions", "pairs", "unexplained"]
    """Its kind."""
    features: tuple[str, ...]
    """The feature with regions, or the two of a pair."""
    r2: float
    """R² at the held-out rows of the function with this part and all parts before; 1 for "not explained"."""
    share: float
    """What the part adds to R²: the difference to that of the part before, which may be negative."""
    std_error: float
    """Standard error of `share` over the held-out rows."""
    label_r2: float = NAN
    """R² at the held-out rows for the label instead of the quantity, of the same function; for "not explained" of the
    quantity itself. NaN without labels."""
    label_std_error: float = NAN
    """Its standard error."""
    label: str | None = None
    """The name for people, if features have labels; else None."""

    @property
    def title(self) -> str:
        """Return the part's text for people, as figures have it: "each feature alone", "groups of rows for a"."""
        if self.kind == "main":
            return "each feature alone"
        text = self.label or self.name
        return text.replace("regions of", GROUPS, 1) if self.kind == "regions" else text


@dataclass(frozen=True, eq=False)
class VarianceShares(SavedResult):
    """What main effects, regions and pairs explain of a variance. Computed by `skedasis.variance_shares`.

    Notes
    -----
    No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> found = sd.variance_shares(lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, regions={})
    >>> [(part.name, round(part.share, 1)) for part in found.parts]
    [('main effects', 0.5), ('x1 × x2', 0.5), ('not explained', 0.0)]
    """

    exported = (
        *("quantity", "unit", "parts", "as_drawn", "as_drawn_std_error", "drawn_by", "variance"),
        *("by_region", "by_region_std_error", "drawn_regions"),
        *("rows_fitting", "rows_held_out", "provenance"),
    )
    parts: tuple[VariancePart, ...]
    """The parts, in the order in which they were added; shares sum to 1. The last part is what is not explained."""
    as_drawn: float
    """R² at the held-out rows of the curves shown, added up: one average curve per feature; NaN if it was not computed.
    It is no part: if features depend on one another, curves may add up to nothing (0 or less) while the best additive
    function explains much."""
    as_drawn_std_error: float
    """Its standard error."""
    drawn_by: str
    """Method of these curves."""
    variance: float
    """Variance of the quantity at the held-out rows, in its unit squared."""
    rows_fitting: int
    """Number of rows on which the parts were chosen and fitted."""
    rows_held_out: int
    """Number of rows on which they are measured."""
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    provenance: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    by_region: float = NAN
    """As `as_drawn`, with the curves of the regions of `drawn_regions` in place of their average curves."""
    by_region_std_error: float = NAN
    """Its standard error."""
    drawn_regions: tuple[str, ...] = ()
    """The features whose regions bring the sum of the curves nearer to the quantity."""

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, name: str) -> VariancePart:
        """Return the part of this name."""
        names = [part.name for part in self.parts]
        check_name("part", name, names, "Pass the name of a part")
        return self.parts[names.index(name)]

    @checked_call
    def ranking(self) -> Ranking[VariancePart]:
        """Return the parts, the largest share first."""
        return Ranking(sorted(self.parts, key=VariancePart.sort_key))

    @property
    def has_labels(self) -> bool:
        """Return whether the R² for the labels are known."""
        return not math.isnan(self.parts[-1].label_r2)

    def table(self, of: str = "parts") -> dict[str, list[object]]:
        """Return the columns of `to_frame`; there is one table, of the parts."""
        check_option("to_frame(of)", of, ("parts",), "Omit it")
        found = columns_of(VariancePart, self.parts)
        found = {"part": found["name"], **found}
        hidden = {"name", "label"} | (set() if self.has_labels else {"label_r2", "label_std_error"})
        return {name: column for name, column in found.items() if name not in hidden}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[LevelFigureKeywords]) -> Figure:
        """Plot the parts as one bar, with the error of each, and mark what the curves shown explain.

        Notes
        -----
        Parts below zero are not drawn; a note states them.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> figure = sd.variance_shares(lambda X: X[:, 0] + X[:, 1], X).plot()
        >>> figure.axes[0].get_xlabel()
        'part of the variance of prediction [%]'
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
        """Return the parts as an interactive page with tooltips."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        parts = ", ".join(f"{p.title} {percent(p.share)}" for p in self.parts)
        return f"<VarianceShares of {self.quantity}: {parts}>"

    def __str__(self) -> str:
        head = (
            f"Variance of {self.quantity} at {counted(self.rows_held_out, 'held-out row')}, "
            f"by functions fitted on {self.rows_fitting:,} others"
        )
        heads = ["part", "share", "±", "R² up to here"]
        labelled = self.has_labels
        table = [[*heads, "R² for the label"] if labelled else heads]
        for p in self.parts:
            rest = p.kind == "unexplained"
            line = [p.title, percent(p.share), percent(p.std_error), "" if rest else percent(p.r2)]
            if labelled:
                line.append("" if rest else percent(p.label_r2))
            table.append(line)
        lines = [head, *align_columns(table)]
        if not math.isnan(self.as_drawn):
            lines.append(f"{curves_text(self)}.")
        if labelled:
            lines.append(f"{full_model_text(self)}.")
        return "\n".join(lines)


_CURVES = "The curves shown ({by}) explain {average}[; with curves of groups of rows for {names:list}, {by_region}]"


def curves_text(found: VarianceShares) -> str:
    """Say what the curves shown explain, on average and by region."""
    nothing = "nothing, because features interact or depend on one another"
    average, by_region = (
        percent(share, error) if share > 0 else nothing
        for share, error in (
            (found.as_drawn, found.as_drawn_std_error),
            (found.by_region, found.by_region_std_error),
        )
    )
    names = found.drawn_regions
    return tell(_CURVES, by=found.drawn_by, average=average, names=names, by_region=by_region)


def full_model_text(found: VarianceShares) -> str:
    """Say how well the quantity itself explains the label."""
    return f"The full model: R² {fraction(found.parts[-1].label_r2)}"
