"""ALE: accumulated local effects (Apley & Zhu 2020; RHALE Eq. 3).

For each row, the difference of the quantity at its bin's two edges, everything else as it is; averaged within bins;
accumulated over them. Rows are moved within their own bin only, so correlated features stay plausible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skedasis.binning import Binning, Edges, Quantile, as_binning
from skedasis.data.summary import Column
from skedasis.methods.accumulated import Accumulated
from skedasis.methods.base import Plan
from skedasis.quantity.base import Traits


@dataclass(frozen=True)
class ALE(Accumulated):
    """Accumulated local effects.

    Parameters
    ----------
    bins : int or Binning
        An integer means `Quantile` bins. With a scheme that chooses (`Optimal`, …) its fine cells are differenced and
        then merged.
    center, accumulate, ddof, accumulate_se
        As in `RHALE`.

    Notes
    -----
    At most 2 N model rows a feature; fewer where an edge is the row's own value.

    References
    ----------
    Apley & Zhu (2020), JRSS B 82(4); RHALE Eq. 3; bins as in ale_vs_pdp 6.2.1.2.

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
    """

    bins: Binning | int = 20

    uses_slopes = False

    def binning(self) -> Binning:
        """Return the scheme; the sides of a user's edges belong to the bins as quantiles' do."""
        scheme = as_binning(self.bins, Quantile)
        if isinstance(scheme, Edges) and scheme.closed is None:
            return replace(scheme, closed="right")
        return scheme

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the bins; derivatives, even if there are some, are not asked for."""
        return super().plan(column, Traits("edges", "differences across each row's bin"))
