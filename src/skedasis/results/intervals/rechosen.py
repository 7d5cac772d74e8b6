"""A bootstrap that chooses the bins anew in each replicate."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from skedasis import binning
from skedasis._types import Floats
from skedasis.binning import Binning
from skedasis.errors import BinningWarning, UnsupportedError, explained
from skedasis.results.accumulated import accumulate
from skedasis.results.choosing import chosen_bins, spread_of
from skedasis.results.effect import Effect
from skedasis.results.intervals.counted_curves import Accumulated
from skedasis.results.intervals.redrawn import FromMoments
from skedasis.results.intervals.summed import Columns
from skedasis.results.pieces import AXIS, LOCAL
from skedasis.results.rebin import fine_cells
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import Draws, generator, replicate


def scheme_of(effect: Effect) -> Binning:
    """Return the scheme that chose an effect's bins.

    Raises
    ------
    UnsupportedError
        Where bins are not chosen from local effects.
    """
    said: Any = effect.spec.parameters.get("bins")
    cells = effect.cells
    if effect.spec.on_cells or effect.values is not None:
        raise UnsupportedError(
            explained(
                f"interval(bins='chosen') of a {effect.spec.method}",
                "a curve of differences, whose values do not depend on the bins",
                "an effect of slopes",
                "Use bins='fixed'",
            )
        )
    if isinstance(said, dict) and cells is not None and len(cells) and effect.levels is None:
        kind = getattr(binning, str(said.get("scheme")), None)
        settings = {k: v for k, v in said.items() if k != "scheme"}
        if kind is not None and kind.choose is not Binning.choose:
            return kind(**settings)
    got = "levels" if effect.levels is not None else "bins that are not chosen by local effects"
    raise UnsupportedError(
        explained(
            f"interval(bins='chosen') of a {effect.spec.method}",
            got,
            "a numeric feature and bins by Optimal, Greedy or AutoUniform",
            "Use bins='fixed'",
        )
    )


def rechosen(effect: Effect, replicates: int, seed: int) -> Floats:
    """Return replicates of the values at the effect's own points, (R, m), the bins chosen anew in each.

    Notes
    -----
    Candidate edges stay as they are, and those that the risk moved to a row are not moved again. Between a replicate's
    own edges its curve is its own. One choice a replicate.
    """
    scheme, cells = scheme_of(effect), effect.cells
    if cells is None:
        return np.zeros((replicates, 0))
    cells, places = fine_cells(effect, cells, scheme)
    parts = slice(int(places[0]), int(places[-1]))
    own = {k: m.take(parts) for k, m in effect.moments.items()}
    cells, places = Cells(cells.edges[places[0] : places[-1] + 1], cells.closed), places - places[0]
    rows, largest = effect.rows, 0.0
    if rows is not None and rows.local is not None:
        largest = float(np.abs(rows.local).max(initial=0.0))
    read = _Reader(effect, scheme, cells, places, largest, own)
    names = (LOCAL, AXIS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BinningWarning)
        if rows is not None and rows.exact and rows.effect is not None:
            draws = Draws(rows.weight, effect.spec.weight_kind, len(rows))
            values = {LOCAL: rows.effect, AXIS: rows.x}
            columns = Columns(cells.locate(rows.x), len(cells), values, draws)
            summed = columns.summed(names, squares=True)
            return replicate(draws, [lambda counts: read(summed(counts))], replicates, seed)[0]
        form = Accumulated(effect, cells, places)
        source = FromMoments(form, own, effect.spec.weight_kind)
        rng, parts_ = generator(seed), []
        for first in range(0, replicates, 100):
            drawn = source.drawn(rng, min(100, replicates - first), names, squares=True)
            parts_.append(read(drawn).T)
        return np.concatenate(parts_)


class _Reader:
    """From moments of fine cells, (P, R), to values at the effect's points."""

    def __init__(
        self,
        effect: Effect,
        scheme: Binning,
        cells: Cells,
        places: Any,
        largest: float,
        own: dict[str, Moments],
    ) -> None:
        self.effect, self.scheme, self.cells = effect, scheme, cells
        self.places, self.largest, self.own = places, largest, own

    def __call__(self, moments: dict[str, Moments]) -> Floats:
        count = moments[LOCAL].weight.shape[1]
        columns = [self._one({k: _column(m, r) for k, m in moments.items()}) for r in range(count)]
        return np.stack(columns, axis=1)

    def _one(self, moments: dict[str, Moments]) -> Floats:
        e, spread = self.effect, spread_of(self.effect.spec, self.largest)
        found = chosen_bins(self.scheme, self.cells, moments, e.spec, spread, planned=self.places)
        if e.spec.local == "values":
            bins = moments[LOCAL].pool(found.kept[:-1])
            return self._means(bins, self.cells.keep(found.kept))
        curve = accumulate(self.cells, moments, found.kept, e.spec, e.about, None, found.trend)
        return curve.at(e.points)

    def _means(self, bins: Moments, cells: Cells) -> Floats:
        """Return the mean of the bin that each of the effect's points lies in."""
        value = np.where(bins.weight > 0, bins.mean, np.nan)
        if self.effect.spec.center == "mean":
            value = value - np.average(bins.mean, weights=bins.weight)
        place = cells.locate(np.asarray(self.effect.points, dtype=float))
        return np.where(place >= 0, value[place], np.nan)


def _column(moments: Moments, r: int) -> Moments:
    return Moments(**{k: a[:, r] for k, a in moments.arrays().items()})
