"""DALE: ALE from derivatives (Gkolemis et al. 2022; RHALE Eq. 4).

The local effect of a row is the partial derivative where the row is. No row is moved at all, bins may be wide, and
may be chosen again without the model.
"""

from __future__ import annotations

from dataclasses import dataclass

from skedasis.data.summary import Column
from skedasis.errors import UnsupportedError
from skedasis.methods.accumulated import Accumulated, no_derivatives
from skedasis.methods.base import Plan
from skedasis.quantity.base import Traits


@dataclass(frozen=True)
class DALE(Accumulated):
    """Differential accumulated local effects, on bins of your choice.

    Parameters
    ----------
    bins : int or Binning
        An integer means `Uniform` bins.
    center, accumulate, ddof, accumulate_se
        As in `RHALE`.

    Raises
    ------
    UnsupportedError
        When explaining a piecewise constant model, whose derivative is zero almost everywhere.

    Notes
    -----
    N slope rows for all features together where the model has slopes, else 2 N model rows a feature.

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

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the bins; refuse a model without derivatives."""
        if traits.local == "secants":
            raise UnsupportedError(no_derivatives(self.name, column, traits))
        return super().plan(column, traits)
