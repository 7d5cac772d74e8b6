"""`Interactions`: how strongly features interact, by pair and by feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from skedasis._arguments import shown
from skedasis._calls import checked_call
from skedasis._numbers import counted, percent
from skedasis.errors import DataError
from skedasis.results import operations
from skedasis.results.described import Documented, columns_of
from skedasis.results.display import (
    Ranking,
    ResultWithTables,
    align_columns,
    called_text,
    cell_text,
    sample_text,
)
from skedasis.results.export import TableColumns
from skedasis.results.keywords import Measure
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import takes_figure_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import InteractionsKeywords, InteractionsViewKeywords

_PRINTED = 20
"""Most pairs in the printed table."""

_NOISE = 1e-12
"""Numbers below this fraction of the largest one of their column are printed as 0."""


DEPENDS, SHARES = ("A depends on B", "B depends on A"), ("depends_01", "depends_10")
"""Titles and fields of the shares of heterogeneity."""


@dataclass(frozen=True)
class PairInteraction(Documented):
    """The interaction of two features. A number is NaN if it was not computed, or is not defined."""

    feature_0: str
    feature_1: str
    h2: float
    """Share of the variance of the joint partial dependence that is not the sum of both single ones."""
    h2_unnormalized: float
    """Root mean square of the interaction, in units of the quantity."""
    std_error: float
    """Standard error of `h2_unnormalized`."""
    ale_strength: float
    """Interaction strength of the second-order ALE, in units of the quantity (`Surface.interaction_strength`)."""
    depends_01: float
    """Share of the heterogeneity of the first feature's effect that the value of the second explains."""
    depends_10: float
    """The reverse."""
    exact: bool
    """Whether `h2` is computed from all rows; True if it was not asked for, False if screening left the pair out."""

    def reversed(self) -> PairInteraction:
        """Return the same with both features exchanged."""
        return replace(
            self,
            feature_0=self.feature_1,
            feature_1=self.feature_0,
            depends_01=self.depends_10,
            depends_10=self.depends_01,
        )

    def strength(self, measure: str) -> float:
        """Return a measure of `Measure`; for "depends" the larger of both shares."""
        if measure == "h2":
            return self.h2
        if measure == "ale_strength":
            return self.ale_strength
        if measure == "depends":
            return float(np.fmax(self.depends_01, self.depends_10))
        return self.h2_unnormalized


@dataclass(frozen=True)
class FeatureInteraction(Documented):
    """The interaction of one feature with all others. A number is NaN if it was not computed, or is not defined."""

    feature: str
    h2: float
    """Share of the variance of the quantity that is the feature's interaction with all others."""
    h2_unnormalized: float
    """Root mean square of that interaction, in units of the quantity."""
    importance: float
    """Standard deviation of the feature's effect over the data, in units of the quantity."""
    heterogeneity_score: float
    """Its heterogeneity score, in units of the quantity."""


MEASURES: tuple[Measure, ...] = ("h2_unnormalized", "h2", "ale_strength", "depends")


@dataclass(frozen=True, eq=False)
class Interactions(
    ResultWithTables[Literal["pairs", "overall"]], Mapping[tuple[str, str], PairInteraction]
):
    """How strongly features interact: by pair, and each with all others. Computed by `skedasis.interactions`.

    A mapping from pairs of names to `PairInteraction`, in either order of the names. It prints as a table, strongest
    pairs first.

    Notes
    -----
    No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    >>> it = sd.interactions(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
    >>> (line,) = [pair for pair in it.ranking() if pair.h2_unnormalized > 0]
    >>> line.feature_0, line.feature_1, bool(abs(line.h2_unnormalized - 1 / 3) < 0.05)
    ('x0', 'x1', True)
    >>> it["x1", "x0"].h2 == line.h2, [o.feature for o in it.overall][2]
    (True, 'x2')
    """

    exported = (
        *("features", "quantity", "unit", "h2", "exact", "measure"),
        *("ranking as pairs", "overall", "provenance"),
    )
    frames = (
        "pairs: one row per pair, strongest first: the fields of `PairInteraction`",
        "overall: one row per feature: the fields of `FeatureInteraction`",
    )
    features: tuple[str, ...]
    """Names of all features, in X's order."""
    pairs: tuple[PairInteraction, ...]
    """In the order in which they were asked for."""
    by_feature: tuple[FeatureInteraction, ...]
    """In X's order; `overall` has the same in the order of strength."""
    h2: float
    """Share of the variance of the quantity that no sum of functions of one feature explains; NaN with ``h2=False``."""
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    provenance: Provenance = field(default_factory=no_provenance)
    """``"h2_rows"`` is the number of rows that H² is computed from, ``"h2_pairs"`` the number of pairs."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def measure(self) -> Measure:
        """Return what pairs are ordered by: H², else the ALE strength, else the shares of heterogeneity."""
        for measure in ("h2_unnormalized", "ale_strength"):
            if any(np.isfinite(p.strength(measure)) for p in self.pairs):
                return measure
        return "depends"

    @property
    def exact(self) -> bool:
        """Return whether H² is computed from all rows, for all pairs."""
        return all(p.exact for p in self.pairs)

    @property
    def screened(self) -> int | None:
        """Return the number of pairs with H² if screening has left out others, else None."""
        known = self.provenance.get("h2_pairs", len(self.pairs))
        return known if known < len(self.pairs) else None

    @property
    def h2_rows_text(self) -> str:
        """Return the rows that H² is computed from, as a text; empty without H²."""
        rows = self.provenance.get("h2_rows")
        if rows is None:
            return ""
        return ("" if self.provenance.get("exact") else "a sample of ") + counted(rows, "row")

    @property
    def overall(self) -> Ranking[FeatureInteraction]:
        """Return the features, the strongest interaction with all others first; they print as a table."""
        by_heterogeneity = all(np.isnan(o.h2_unnormalized) for o in self.by_feature)

        def size(line: FeatureInteraction) -> float:
            value = line.heterogeneity_score if by_heterogeneity else line.h2_unnormalized
            return -value if np.isfinite(value) else np.inf

        return Ranking(sorted(self.by_feature, key=size))

    @checked_call
    def ranking(self) -> Ranking[PairInteraction]:
        """Return the pairs, strongest first: by `h2_unnormalized`, else `ale_strength`, else the larger share.

        Pairs whose H² screening has left out follow those with H².
        """
        return Ranking(sorted(self.pairs, key=_sort_key))

    def __getitem__(self, pair: tuple[str, str]) -> PairInteraction:
        """Return the interaction of two features, with the first one as `feature_0`."""
        for line in self.pairs:
            if (line.feature_0, line.feature_1) == pair:
                return line
            if (line.feature_1, line.feature_0) == pair:
                return line.reversed()
        raise DataError(
            "pair",
            shown(pair),
            "two names of a pair that was computed",
            f"Use for example it[{', '.join(map(repr, next(iter(self))))}]",
        )

    def __contains__(self, pair: object) -> bool:
        known = [(p.feature_0, p.feature_1) for p in self.pairs]
        return pair in known or pair in [(b, a) for a, b in known]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter((p.feature_0, p.feature_1) for p in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def _table(self, of: str) -> TableColumns:
        if of == "overall":
            return {**columns_of(FeatureInteraction, self.overall)}
        return {**columns_of(PairInteraction, self.ranking())}

    def tables(self) -> dict[str, TableColumns]:
        """Return the columns of both frames by name."""
        return {"pairs": self.table("pairs"), "overall": self.table("overall")}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[InteractionsKeywords]) -> Figure:
        """Plot the pairs as a heat map or a network.

        Raises
        ------
        UnsupportedError
            For a measure that was not computed.

        Notes
        -----
        The network leaves out lines below 5 % of the strongest one, and says how many.
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[InteractionsViewKeywords],
    ) -> Explorable:
        """Return the figure as an interactive page with tooltips, and a table of all pairs."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        strongest = next(iter(self.ranking()))
        names = f"{strongest.feature_0!r}, {strongest.feature_1!r}"
        name = "dependence" if self.measure == "depends" else self.measure
        size = f"{name} {bounded(strongest).strength(self.measure):.4g}"
        return (
            f"<Interactions of {counted(len(self.features), 'feature')} for {self.quantity}: "
            f"{counted(len(self), 'pair')}, first {names} ({size})>"
        )

    def __str__(self) -> str:
        unit = f" [{self.unit}]" if self.unit else ""
        lines = [f"Interactions for {self.quantity}{unit}: {counted(len(self), 'pair')}"]
        lines[0] += sample_text(self.provenance)
        if not np.isnan(self.h2):
            whole = "all " if self.provenance.get("exact") else ""
            of_rows = f" (H² from {whole}{self.h2_rows_text})" if self.h2_rows_text else ""
            lines.append(f"Interactions make up {percent(self.h2)} of the variance{of_rows}")
        if self.screened:
            lines.append(f"{screened_text(self)}, a dash for the others")
        header, *pairs = self.lines()
        lines += align_columns([header, *pairs[:_PRINTED]], left=(0, 1))
        if DEPENDS[0] in header or DEPENDS[1] in header:
            lines.append(
                f"{DEPENDS[0]}: share of the spread of A's effect between rows that B explains"
            )
        left = len(self) - _PRINTED
        if left > 0:
            kind = "pair" if self.screened else "weaker pair"
            lines.append(f"… and {counted(left, kind)}: see to_frame()")
        lines += filter(None, [called_text(self.provenance)])
        return "\n".join(lines)

    def lines(self) -> list[tuple[str, ...]]:
        """Return the printed table: a header, then one row of formatted cells per pair, strongest first."""
        numbers = {
            "H²": "h2",
            "size": "h2_unnormalized",
            "std error": "std_error",
            "ALE strength": "ale_strength",
            **dict(zip(DEPENDS, SHARES, strict=True)),
        }
        ranking = [bounded(p) for p in self.ranking()]
        values = {k: [float(vars(p)[v]) for p in ranking] for k, v in numbers.items()}
        known = {k: v for k, v in values.items() if np.isfinite(v).any()}
        # Sums of rounding errors would otherwise look like numbers.
        least = {k: _NOISE * float(np.nanmax(np.abs(v))) for k, v in known.items()}
        rows = [
            (p.feature_0, p.feature_1, *(cell_text(v[i], least[k]) for k, v in known.items()))
            for i, p in enumerate(ranking)
        ]
        return [("A", "B", *known), *rows]


def screened_text(found: Interactions) -> str:
    """Return which pairs have H², if screening has left out others."""
    return f"H² of the {counted(found.screened or 0, 'pair')} that screening put first"


def _sort_key(line: PairInteraction) -> tuple[int, float]:
    """Return a key that sorts by the first measure that is known: the strongest pair first, unknown ones last."""
    for rank, measure in enumerate(("h2_unnormalized", "ale_strength", "depends")):
        value = line.strength(measure)
        if not np.isnan(value):
            return rank, -value
    return len(MEASURES), 0.0


def bounded(pair: PairInteraction) -> PairInteraction:
    """Return a pair as texts and figures show it: estimates of shares, which have no errors, are in [0, 1]."""
    shares = {name: float(np.clip(vars(pair)[name], 0.0, 1.0)) for name in SHARES}
    return replace(pair, **shares)
