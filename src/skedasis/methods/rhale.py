"""RHALE: robust and heterogeneity-aware ALE (Gkolemis et al. 2023), and UALE, where it came from.

Slopes at the rows as in DALE; bins by the optimal partition, of Eq. 13 or by its risk; the spread of the slopes within
bins (Eq. 11) says for whom the average is not true. Piecewise constant models have no slopes: there the differences
over fine cells, secants, take their place (docs/explanation/heterogeneity.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from skedasis.binning import Binning, Greedy, Optimal
from skedasis.curves import Accumulate
from skedasis.data.schema import Feature
from skedasis.data.summary import Column
from skedasis.errors import UnsupportedError, explained
from skedasis.methods.accumulated import Accumulated, no_derivatives
from skedasis.methods.base import Plan, one_of
from skedasis.methods.levels import LevelSteps
from skedasis.quantity.base import Traits

RISK = Optimal(criterion="risk")
"""The usual bins: they beat Eq. 13 at the papers' settings on all their cases (docs/guides/bins.md)."""


@dataclass(frozen=True)
class RHALE(Accumulated):
    """The average effect and its heterogeneity, on bins chosen automatically.

    Parameters
    ----------
    bins : int, Binning or mapping
        By default ``Optimal(criterion="risk")``; an integer means `Uniform` bins. The papers' bins are `Optimal()`.
    center : {"mean", "start", None}
        "mean" subtracts the mean over bins of the mid-values, weighted by their rows; "start" and None leave zero at
        the left end.
    accumulate : {"variance", "std"}
        The spread at the edges: root of the sum of width² std² (Eq. 16), or sum of width * std (UALE Eq. 9).
    ddof : {1, 0}
        1 divides bin variances by n - 1 (Eq. 11), 0 by n (UALE Eq. 11, the draft's Eq. 4).
    accumulate_se : {"quadrature", "sum"}
        Errors of the bins are added as independent ones are, or by the draft's Eq. 5, which is conservative.
    top_levels : int, optional
        Of a categorical feature: only so many of the most frequent levels.
    local_effects : {"auto", "slopes", "secants"}
        "auto" takes slopes unless the model is, or turns out to be, piecewise constant. "slopes" overrules what a look
        at the model suggested, not what is known of it.

    Notes
    -----
    N slope rows for all features together where the model has slopes; else 2 N model rows a feature, and for secants up
    to 2 N more for each side on which a row's cell has a neighbour without rows. The number of bins costs nothing.

    Of an ordinal feature the local effects are the steps between neighbouring levels, each row at most twice plus once
    itself; the same dynamic program groups runs of steps that are alike. A nominal feature has no axis: explained by
    name it is refused, and with ``features=None`` it gets its categorical `ALE`.

    References
    ----------
    Gkolemis, Dalamagas, Ntoutsi & Diou (2023), RHALE, ECAI: Eq. 9 to 16.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> e = sd.explain(lambda X: 5 * X[:, 0] * np.sign(X[:, 1]), X, 0, method=sd.RHALE())
    >>> bool(e.importance < 0.3), bool(e.score > 2.5)
    (True, True)
    """

    bins: Binning | int | Mapping[Any, Any] = RISK
    local_effects: Literal["auto", "slopes", "secants"] = "auto"

    usual: ClassVar[Any] = RISK

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(f"{self.name}(local_effects)", self.local_effects, ("auto", "slopes", "secants"))

    def for_levels(self, feature: Feature) -> Any:
        """Return the same for an ordinal feature: steps between its levels, in runs that the scheme chooses.

        Raises
        ------
        UnsupportedError
            For a nominal feature, and for bins that do not choose.
        """
        chooses = isinstance(self.binning(), (Optimal, Greedy))
        if feature.kind == "ordinal" and chooses:
            return LevelSteps(self, grouped=True)
        if feature.kind == "ordinal":
            raise UnsupportedError(
                explained(
                    f"{self.name}(bins={type(self.binning()).__name__}) of {feature.name!r}",
                    "bins on an axis",
                    "Optimal or Greedy, which group levels",
                    "Use sd.RHALE(); or, if its values are numbers, declare them continuous",
                )
            )
        return super().for_levels(feature)

    def in_place_of(self, feature: Feature) -> LevelSteps:
        """Return what takes this method's place for a categorical feature, where all features are explained."""
        if feature.kind == "ordinal" and isinstance(self.binning(), (Optimal, Greedy)):
            return LevelSteps(self, grouped=True)
        return LevelSteps(self, instead_of=self.name)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the fine cells; the bins are chosen when the slopes are known."""
        if self.local_effects == "secants":
            traits = Traits("secants", "secants over fine cells, as asked for")
        elif self.local_effects == "slopes" and traits.local == "secants":
            if traits.certain:
                raise UnsupportedError(no_derivatives(self.name, column, traits))
            traits = Traits("differences", "central differences, as asked for")
        return super().plan(column, traits)


@dataclass(frozen=True)
class UALE(RHALE):
    """RHALE with standard deviations accumulated (UALE Eq. 9) and divided by n (Eq. 11).

    Parameters, cost and errors are those of `RHALE`.

    References
    ----------
    Uncertainty-aware Accumulated Local Effects, Eq. 8 to 15. (Its Eq. 15 omits the width and the discount, and states
    feasibility the wrong way round; Eq. 13 is what is minimised.)

    Examples
    --------
    >>> UALE().accumulate, UALE().ddof
    ('std', 0)
    """

    accumulate: Accumulate = "std"
    ddof: int = 0
