"""`Surfaces`: the effects of several pairs of features, computed in one pass over the data."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeGuard, TypeVar, Unpack, cast

from skedasis._arguments import shown
from skedasis._calls import checked_call
from skedasis._types import Floats
from skedasis.data.features import Feature
from skedasis.errors import DataError
from skedasis.results import operations, schema
from skedasis.results.containers import (
    ResultMapping,
    TableColumns,
    explained_name,
    frame_library,
    key_column,
    no_members_error,
)
from skedasis.results.described import Keys, keys_of, listed
from skedasis.results.display import Ranking, count, outside_texts, save_if
from skedasis.results.export import Content, ExportOptions
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import shows_keywords

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.plots.keywords import SurfacesKeywords
    from skedasis.results.multi_model import MultiModelSurface
    from skedasis.results.surface import Surface

AnySurface: TypeAlias = "Surface | MultiModelSurface"

SurfaceT_co = TypeVar("SurfaceT_co", bound="Surface | MultiModelSurface", covariant=True)


@dataclass(frozen=True)
class SurfaceRank:
    """One line of a ranking of pairs.

    Parameters
    ----------
    feature0, feature1 : str
    interaction_strength : float
        The standard deviation of the surface over the data, in units of the quantity; NaN if the result keeps no rows.
    """

    feature0: str
    feature1: str
    interaction_strength: float


@dataclass(frozen=True, eq=False)
class Surfaces(ResultMapping[tuple[str, str], SurfaceT_co], Generic[SurfaceT_co]):
    """A mapping from pairs of feature names to surfaces, in the order in which the pairs were asked for.

    `explain` returns it for a list of pairs. The members are `Surface`, and for a list of models `MultiModelSurface`.

    Attributes
    ----------
    surfaces : mapping of (str, str) to Surface
    provenance : dict
        Record of the pass that computed them: the entries that all surfaces share.

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

    surfaces: Mapping[tuple[str, str], SurfaceT_co]
    provenance: Provenance = field(default_factory=no_provenance)

    @property
    def members(self) -> Mapping[tuple[str, str], SurfaceT_co]:
        """Return the surfaces by pair."""
        return self.surfaces

    def __getitem__(self, pair: tuple[Hashable, Hashable]) -> SurfaceT_co:
        """Return the surface of a pair, given the names, the labels or the positions of both features."""
        return self.surfaces[self._pair(pair)]

    def __contains__(self, pair: object) -> bool:
        return pair in self.surfaces or (_is_pair(pair) and (pair[1], pair[0]) in self.surfaces)

    def _pair(self, pair: object) -> tuple[str, str]:
        """Return the key of a pair."""
        if not _is_pair(pair):
            fix = f"Use for example surfaces[{', '.join(map(repr, next(iter(self), ('a', 'b'))))}]"
            raise DataError("pair", shown(pair), "two features", fix)
        names = [explained_name(self._features, of) for of in pair] if self.surfaces else []
        for key in [tuple(names), tuple(reversed(names))]:
            if key in self.surfaces:
                return key[0], key[1]
        known = ", ".join(f"{a!r} and {b!r}" for a, b in list(self)[:6])
        more = ", …" if len(self) > 6 else ""
        expected = (
            f"one of {known}{more}" if self.surfaces else "a pair of these surfaces, which are none"
        )
        raise DataError("pair", shown(pair), expected, "Explain this pair, too")

    @property
    def _features(self) -> Sequence[Feature]:
        return [about.feature for s in self.surfaces.values() for about in s.abouts]

    def __repr__(self) -> str:
        pairs = ", ".join(f"{a} × {b}" for a, b in list(self)[:4]) + (
            ", …" if len(self) > 4 else ""
        )
        first = next(iter(self.surfaces.values()), None)
        if first is None:
            return "<Surfaces of 0 pairs>"
        outside = outside_texts({f"{a} × {b}": s.provenance for (a, b), s in self.surfaces.items()})
        return (
            f"<Surfaces of {count(len(self), 'pair')} on {first.about.quantity}: {pairs}{outside}>"
        )

    def __str__(self) -> str:
        return f"{self!r}\n{self.ranking()}" if self.surfaces else repr(self)

    @checked_call
    def ranking(self) -> Ranking[SurfaceRank]:
        """Return the pairs, the strongest interaction first.

        Returns
        -------
        Ranking of SurfaceRank
            A tuple of lines that prints as a table. Pairs without a strength, of results that keep no rows, follow.

        Notes
        -----
        The strength of surfaces that include main effects (PDP, `Surface.with_main_effects`) is the standard deviation
        of all of their effect. No model row.
        """
        lines = [SurfaceRank(*key, s.interaction_strength()) for key, s in self.surfaces.items()]
        return Ranking(sorted(lines, key=_by_strength))

    def interval(
        self, confidence_level: float = 0.95, **options: Any
    ) -> dict[tuple[str, str], tuple[Floats, Floats]]:
        """Return the confidence intervals of all surfaces, by pair.

        Parameters
        ----------
        confidence_level, **options
            As in `Surface.interval`, or `MultiModelSurface.interval`.

        Returns
        -------
        dict of (str, str) to (lower, upper)

        Raises
        ------
        DataError, UnsupportedError
            As `Surface.interval`, if one of the surfaces does not have the statistic.

        Notes
        -----
        A simultaneous band covers the points of one surface, not several surfaces. No model row.
        """
        return {key: s.interval(confidence_level, **options) for key, s in self.surfaces.items()}

    def to_frame(
        self,
        backend: str | None = None,
        *,
        of: Literal["effect", "cells", "models", "ranking"] = "effect",
    ) -> Any:
        """Return all surfaces as one tidy data frame, whose first two columns name the features.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        of : {"effect", "cells", "models", "ranking"}
            One row per pair and point, or per pair and cell; for several models also per pair, model and point; or one
            row per pair, the strongest interaction first. If the first features of the pairs are of several kinds,
            points are in several columns: ``"x0"``, NaN for levels and times, ``"level0"`` and ``"time0"`` (in the
            table of cells ``"left0"``, ``"left_level0"``, …); likewise for the second features.

        Returns
        -------
        data frame

        Raises
        ------
        DataError
            For another `of`, and without surfaces.
        UnsupportedError
            As `Surface.to_frame`.
        """
        return operations.to_data_frame(self.table(of), backend or frame_library(self))

    def _document(self, options: ExportOptions) -> Content:
        return {
            "ranking": tuple(self.ranking()),
            "surfaces": list(self.surfaces.values()),
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        some = {"anyOf": [schema.result("Surface"), schema.result("MultiModelSurface")]}
        surfaces = listed(some, "The surfaces, in the order of the pairs.")
        return {**keys_of(cls, "ranking", "provenance"), "surfaces": surfaces}, {}

    def table(self, of: str = "effect") -> TableColumns:
        """Return the columns of `to_frame`."""
        if not self.surfaces:
            raise no_members_error("to_frame", "at least one pair")
        if of == "ranking":
            lines = [asdict(line) for line in self.ranking()]
            return {name: [line[name] for line in lines] for name in lines[0]}
        tables = []
        for pair, surface in self.surfaces.items():
            table = surface.table(of)
            size = len(next(iter(table.values())))
            names = {f"feature{i}": key_column([name], [size]) for i, name in enumerate(pair)}
            tables.append({**names, **table})
        return operations.concatenate_tables(operations.separate_pair_columns_by_kind(tables))

    @shows_keywords
    def plot(self, **options: Unpack[SurfacesKeywords]) -> Figure:
        """Plot the surfaces as heat maps side by side on one colour scale, the strongest interaction first.

        Parameters
        ----------
        top : int or None
            Largest number of pairs, by default 30; None for all, 30 on each page.
        page : int
            Which page, from 1.
        columns : int, optional
            Number of columns of the grid.
        points, density, empty, step, levels, confidence_level
            As in `Surface.plot`; by default without marginal histograms.
        title, xlabel, ylabel, xscale, xlim, ylim, size, legend, style
            Options of every figure: `skedasis.plots.plot.FigureOptions`.

        Returns
        -------
        matplotlib Figure
            Notebooks display it; ``savefig`` writes it to a file.

        Raises
        ------
        DataError
            For no surface, and for an invalid value of an option.
        UnsupportedError
            For `confidence_level` if the values include main effects.
        TypeError
            For an unknown option.

        Notes
        -----
        Of several models the means over the models are drawn. No model row.

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
        return operations.plot_surfaces(self, **options)

    def explore(
        self, path: str | Path | None = None, *, top: int | None = 30, title: str | None = None
    ) -> Explorable:
        """Return the heat maps as an interactive page with a tooltip for each cell.

        Parameters
        ----------
        path : str or Path, optional
            A file to which the page is also written.
        top : int or None
            Largest number of pairs; None for all.
        title : str, optional
            Title of the page.

        Returns
        -------
        Explorable
            Notebooks display it; its `save` method writes it to a file.

        Raises
        ------
        DataError
            For no surface, for an invalid `top`, and if `path` is a folder.

        Notes
        -----
        The page is a single file that loads nothing from the network. No model row.
        """
        return save_if(operations.surfaces_page(self, top=top, title=title), path)


def _is_pair(pair: object) -> TypeGuard[Sequence[Hashable]]:
    return isinstance(pair, (tuple, list)) and len(cast("Sequence[object]", pair)) == 2


def _by_strength(line: SurfaceRank) -> float:
    strength = line.interaction_strength
    return -strength if math.isfinite(strength) else math.inf
