"""`Surfaces`: the effects of several pairs of features, computed in one pass over the data."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeGuard, TypeVar, Unpack, cast

from skedasis._arguments import shown
from skedasis._calls import checked_call
from skedasis._numbers import counted
from skedasis.data.features import Feature
from skedasis.errors import DataError
from skedasis.results import json_keys, operations
from skedasis.results.containers import (
    ResultMapping,
    TableColumns,
    explained_name,
    key_column,
    ordered,
)
from skedasis.results.described import Keys, keys_of, listed
from skedasis.results.display import Ranking, RankLine, called_text, outside_texts
from skedasis.results.export import Content, ExportOptions
from skedasis.results.signatures import takes_figure_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.checks.check import Check
    from skedasis.results.keywords import SurfacesKeywords, SurfacesViewKeywords
    from skedasis.results.multi_model import MultiModelSurface
    from skedasis.results.surface import Surface

AnySurface: TypeAlias = "Surface | MultiModelSurface"

SurfaceT_co = TypeVar("SurfaceT_co", bound="Surface | MultiModelSurface", covariant=True)


@dataclass(frozen=True)
class SurfaceRank(RankLine):
    """One line of a ranking of pairs."""

    ordered_by = "interaction_strength"

    feature0: str
    feature1: str
    interaction_strength: float
    """The standard deviation of the surface over the data, in units of the quantity; NaN if the result keeps no rows.
    """


class Surfaces(ResultMapping[tuple[str, str], SurfaceT_co], Generic[SurfaceT_co]):
    """A mapping from pairs of feature names to surfaces, in the order in which the pairs were asked for.

    `explain` returns it for a list of pairs. The members are `Surface`, and for a list of models `MultiModelSurface`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 3))
    >>> model = lambda X: X[:, 0] * X[:, 1] + X[:, 2]
    >>> pairs = sd.explain(model, X, [("x0", "x1"), ("x0", "x2")], method=sd.ALE(bins=5))
    >>> pairs
    <Surfaces of 2 pairs on prediction: x0 × x1, x0 × x2>
    >>> print(pairs.ranking())
    feature0  feature1  interaction strength
    x0              x1                0.3187
    x0              x2                     0
    >>> pairs["x1", "x0"] is pairs["x0", "x1"]
    True
    """

    noun = column = "pair"
    tables = ("effect", "cells", "models", "ranking")

    @property
    def surfaces(self) -> Mapping[tuple[str, str], SurfaceT_co]:
        """Return the surfaces by pair."""
        return self.members

    def _found(self, key: object) -> SurfaceT_co | None:
        found = super()._found(key)
        return super()._found((key[1], key[0])) if found is None and _is_pair(key) else found

    def _resolved(self, key: object) -> SurfaceT_co:
        if not _is_pair(key):
            fix = f"Use for example surfaces[{', '.join(map(repr, next(iter(self), ('a', 'b'))))}]"
            raise DataError("pair", shown(key), "two features", fix)
        names = [explained_name(self._features, of) for of in key] if self else []
        found = self._found(tuple(names))
        if found is not None:
            return found
        known = ", ".join(f"{a!r} and {b!r}" for a, b in list(self)[:6])
        more = ", …" if len(self) > 6 else ""
        expected = f"one of {known}{more}" if self else "a pair of these surfaces, which are none"
        raise DataError("pair", shown(key), expected, "Explain this pair, too")

    @property
    def _features(self) -> Sequence[Feature]:
        return [about.feature for s in self.values() for about in s.abouts]

    def __repr__(self) -> str:
        pairs = ", ".join(f"{a} × {b}" for a, b in list(self)[:4]) + (
            ", …" if len(self) > 4 else ""
        )
        first = next(iter(self.values()), None)
        if first is None:
            return "<Surfaces of 0 pairs>"
        outside = outside_texts({f"{a} × {b}": s.provenance for (a, b), s in self.items()})
        return f"<Surfaces of {counted(len(self), 'pair')} on {first.about.quantity}: {pairs}{outside}>"

    def __str__(self) -> str:
        if not self:
            return repr(self)
        return "\n".join(
            filter(None, [repr(self), str(self.ranking()), called_text(self.provenance)])
        )

    @checked_call
    def ranking(self, by: str | None = None) -> Ranking[SurfaceRank]:
        """Return the pairs, the strongest interaction first.

        Parameters
        ----------
        by : {"interaction_strength"}, optional
            The only order.

        Returns
        -------
        Ranking of SurfaceRank
            A tuple of lines that prints as a table. Pairs without a strength, of results that keep no rows, follow.

        Notes
        -----
        The strength of surfaces that include main effects (PDP, `Surface.with_main_effects`) is the standard deviation
        of all of their effect. No model row.
        """
        lines = [SurfaceRank(*key, s.interaction_strength()) for key, s in self.items()]
        return ordered(lines, by, ("interaction_strength",))

    def _named_in(self, check: Check, key: tuple[str, str]) -> Check:
        return check  # whose feature is the pair

    def _key_columns(self, sizes: Sequence[int], others: Collection[str]) -> TableColumns:
        return {f"feature{i}": key_column((pair[i] for pair in self), sizes) for i in (0, 1)}

    def _document(self, options: ExportOptions) -> Content:
        return {
            "ranking": tuple(self.ranking()),
            "surfaces": list(self.values()),
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        some = {"anyOf": [json_keys.result("Surface"), json_keys.result("MultiModelSurface")]}
        surfaces = listed(some, "The surfaces, in the order of the pairs.")
        return {**keys_of(cls, "ranking", "provenance"), "surfaces": surfaces}, {}

    @takes_figure_options
    def plot(self, **options: Unpack[SurfacesKeywords]) -> Figure:
        """Plot the surfaces as heat maps side by side on one colour scale, the strongest interaction first.

        Raises
        ------
        UnsupportedError
            For `confidence_level` if the values include main effects.

        Notes
        -----
        Of several models the means over the models are drawn.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
        >>> pairs = [("x0", "x1"), ("x0", "x2")]
        >>> found = sd.explain(lambda X: X[:, 0] * X[:, 2], X, pairs, method=sd.ALE(bins=4))
        >>> found.plot().axes[0].get_title(loc="left")
        '1. x0 × x2'
        """
        return operations.plot(self, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[SurfacesViewKeywords],
    ) -> Explorable:
        """Return the heat maps as an interactive page with a tooltip for each cell."""
        return operations.explore(self, path, title, **options)


def _is_pair(pair: object) -> TypeGuard[Sequence[Hashable]]:
    return isinstance(pair, (tuple, list)) and len(cast("Sequence[object]", pair)) == 2
