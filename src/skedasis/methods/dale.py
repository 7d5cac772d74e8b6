"""DALE: ALE from derivatives (Gkolemis et al. 2022; RHALE Eq. 4).

The local effect of a row is the partial derivative where the row is. No row is moved at all, bins may be wide, and
may be chosen again without the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skedasis.binning import Binning
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError
from skedasis.methods.accumulated import Accumulated, no_derivatives
from skedasis.methods.base import Plan, given_for, one_of
from skedasis.methods.levels import LevelSteps
from skedasis.methods.pairs import PairDALE
from skedasis.methods.pairs_base import fixed
from skedasis.models.adapters import Traits


@dataclass(frozen=True)
class DALE(Accumulated):
    """Differential accumulated local effects, on bins of your choice, of a feature or of two.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": 20 equal bins; of a feature with few values the steps between these. An integer means `Uniform` bins;
        ``{"feature": bins}`` says it for each feature.
    center, accumulate, ddof, accumulate_se, top_levels
        As in `RHALE`.
    empty : {"nearest", None}
        Of two features: as in `ALE`.

    Raises
    ------
    UnsupportedError
        When explaining a piecewise constant model, whose derivative is zero almost everywhere.

    Notes
    -----
    N slope rows for all features together where the model has slopes, else 2 N model rows a feature. Of two features
    the local effect is the mixed second derivative: N rows of the model's own, else 2 N slope rows, else 4 N model
    rows.

    References
    ----------
    Gkolemis, Dalamagas & Diou (2022), arXiv:2210.04542; RHALE Eq. 4.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> q = sd.prediction(lambda X: X[:, 0] ** 2, slope=lambda X: np.c_[2 * X[:, 0], 0 * X[:, 1]])
    >>> e = sd.explain(q, X, 0, method=sd.DALE(bins=5))
    >>> e.bins.effect.round(1)
    array([0.2, 0.6, 1. , 1.4, 1.8])
    """

    empty: Literal["nearest"] | None = "nearest"

    checks_slopes = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("DALE(empty)", self.empty, ("nearest", None))

    def in_place_of(self, feature: Feature) -> LevelSteps:
        """Return what takes this method's place for a categorical feature: between levels there are no slopes."""
        return LevelSteps(self, instead_of=self.name)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairDALE:
        """Return the same for two features."""
        return PairDALE(self)

    def fixed_binning(self, feature: Feature) -> Binning:
        """Return the scheme for one of two features."""
        return fixed(self.scheme(given_for(self.bins, feature, "auto")), self.name)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the bins; refuse a model without derivatives."""
        if traits.local == "steps":
            raise UnsupportedError(no_derivatives(self.name, column, traits))
        return super().plan(column, traits)
