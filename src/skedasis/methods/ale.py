"""ALE: accumulated local effects (Apley & Zhu 2020; RHALE Eq. 3).

For each row, the difference of the quantity at its bin's two edges, everything else as it is; averaged within bins;
accumulated over them. Rows are moved within their own bin only, so correlated features stay plausible.

Of a categorical feature rows are moved to the neighbouring levels (`methods/levels.py`), of two features to the corners
of their cell (`methods/pairs.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from skedasis.binning import CELLS, Binning, Edges, Quantile, as_binning
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature, find
from skedasis.methods.accumulated import Accumulated
from skedasis.methods.base import Plan, given_for, one_of
from skedasis.methods.levels import LevelSteps
from skedasis.methods.pairs import PairALE
from skedasis.methods.pairs_base import OwnValuesOrQuantiles, fixed
from skedasis.models.adapters import Traits


@dataclass(frozen=True)
class ALE(Accumulated):
    """Accumulated local effects of a feature, numeric or categorical, or of two.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": 32 quantiles; of a feature with few values (at most 13, or at most 64 with ten rows or more a value)
        these values: the step between two of them is the mean of its ends' means. An integer means `Quantile` bins;
        ``{"feature": bins}`` sets them for each feature. With a scheme that chooses (`Optimal`, …) its fine cells are
        differenced and then merged. For two features "auto" means 20 quantiles, or the values of a feature with few.
    center, accumulate, ddof, accumulate_se, top_levels
        As in `RHALE`.
    order : None, "similarity", sequence of levels, or a mapping of these by feature
        Of a categorical feature's levels. None: the feature's own order, if it is ordinal or declared, else the
        similarity of the levels in the other features (Apley & Zhu).
    empty : {"nearest", None}
        Of two features: cells without rows take the double difference of the nearest cell that has some, or add nothing
        (and, between numeric features, have no value). They are marked either way.

    Notes
    -----
    At most 2 N model rows a feature; fewer where an edge is the row's own value. With few values as many, and N once
    for all such features. For a categorical feature each row at
    most twice, plus once itself for all of them. For two numeric features 4 N,
    whatever the bins; at most 6 N with one categorical feature among the two, 9 N with two.

    References
    ----------
    Apley & Zhu (2020), JRSS B 82(4); RHALE Eq. 3; bins as in ale_vs_pdp 6.2.1.2, pairs as in its Eq. 6.4 to 6.7.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> e = sd.explain(
    ...     lambda X: X[:, 0] * 2 + X[:, 1], X, 0, method=sd.ALE(bins=10, center="start")
    ... )
    >>> bool(np.allclose(e.value, 2 * (e.x - e.x[0])))
    True
    >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=4))
    >>> s.value.shape
    (5, 5)
    """

    order: str | Sequence[Any] | Mapping[Any, Any] | None = None
    empty: Literal["nearest"] | None = "nearest"

    uses_slopes = False
    usual: ClassVar[Binning] = Quantile(CELLS)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ALE(empty)", self.empty, ("nearest", None))

    def scheme(self, bins: Any) -> Binning:
        """Return the scheme; the sides of a user's edges belong to the bins as quantiles' do."""
        scheme = self.usual if bins == "auto" else as_binning(bins, Quantile)
        if isinstance(scheme, Edges) and scheme.closed is None:
            return replace(scheme, closed="right")
        return scheme

    def check(self, features: Sequence[Feature]) -> None:
        """Refuse bins, or an order, for a feature that is not there."""
        super().check(features)
        for name in self.order if isinstance(self.order, Mapping) else ():
            find(features, name)

    def for_levels(self, feature: Feature) -> LevelSteps:
        """Return the same for a categorical feature."""
        return LevelSteps(self, self.order)

    def in_place_of(self, feature: Feature) -> LevelSteps:
        """Return the same for a categorical feature: nothing has to take its place."""
        return self.for_levels(feature)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairALE:
        """Return the same for two features."""
        return PairALE(self)

    def fixed_binning(self, feature: Feature) -> Binning:
        """Return the scheme for one of two features: one that needs no local effects to choose."""
        bins = given_for(self.bins, feature, "auto")
        return OwnValuesOrQuantiles() if bins == "auto" else fixed(self.scheme(bins), self.name)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the bins; derivatives, even if there are some, are not asked for."""
        return super().plan(column, Traits("edges", "differences across each row's bin"))
