"""M-plots: the mean of a quantity over the rows of each bin, or of each level. No row is altered."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.results.effect import Effect
from skedasis.results.parts import TRUSTED_ROWS, BinStats, LevelStats, Rows
from skedasis.results.pieces import AXIS, LOCAL
from skedasis.results.spec import About, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments


def marginal(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> Effect:
    """Read an M-plot off the moments of the quantity and of the feature in each cell.

    Parameters
    ----------
    cells : Cells
    moments : mapping of str to Moments
        ``"local"`` of the quantity, ``"axis"`` of the feature.
    kept : ndarray of int, shape (K + 1,)
        The edges that stay.
    spec, about, rows
        Carried into the result.

    Returns
    -------
    Effect
        Its points are the bins that hold rows, each at the mean of the feature there.
    """
    bins, axis = (
        m if len(cells) == 0 else m.pool(kept[:-1]) for m in (moments[LOCAL], moments[AXIS])
    )
    there = bins.weight > 0
    value, spread, error, freedom = _means(bins.take(np.flatnonzero(there)), spec)
    share = bins.weight[there] / max(float(bins.weight.sum()), np.finfo(float).tiny)
    return Effect(
        points=axis.mean[there],
        value=value,
        heterogeneity=spread,
        std_error=error,
        freedom=freedom,
        importance=_scatter(value, share),
        about=about,
        spec=spec,
        bins=_statistics(
            cells.edges[kept] if len(cells) else np.repeat(cells.edges, 2), bins, spec
        ),
        rows=rows,
        cells=cells,
        moments=moments,
    )


def _statistics(edges: Floats, bins: Moments, spec: Spec) -> BinStats:
    """Return the bins' figures."""
    there = bins.weight > 0
    std = np.sqrt(bins.variance(spec.ddof, spec.weight_kind))
    size = np.where(there, bins.effective(spec.weight_kind), 1.0)
    return BinStats(
        low=edges[:-1],
        high=edges[1:],
        count=bins.count.astype(int),
        weight=bins.weight,
        effect=np.where(there, bins.mean, np.nan),
        std=std,
        std_error=std / np.sqrt(size),
        empty=~there,
        trusted=bins.count >= TRUSTED_ROWS,
    )


def marginal_levels(
    levels: LevelStats,
    moments: Mapping[str, Moments],
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> Effect:
    """Read an M-plot of a categorical feature off the moments of the quantity at each level."""
    local = moments[LOCAL]
    value, spread, error, freedom = _means(local, spec)
    share = local.weight / max(float(local.weight.sum()), np.finfo(float).tiny)
    return Effect(
        points=levels.array(),
        value=np.where(local.weight > 0, value, np.nan),
        heterogeneity=spread,
        std_error=error,
        freedom=freedom,
        importance=_scatter(value, share),
        about=about,
        spec=spec,
        rows=rows,
        moments=moments,
        levels=levels,
    )


def _means(cells: Moments, spec: Spec) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means (centred, if asked for), spreads, standard errors and degrees of freedom."""
    kind = spec.weight_kind
    variance = cells.variance(spec.ddof, kind)
    size = np.where(cells.weight > 0, cells.effective(kind), 1.0)
    weight = max(float(cells.weight.sum()), np.finfo(float).tiny)
    share = cells.weight / weight
    form = np.eye(len(share)) - share if spec.center == "mean" else np.eye(len(share))
    error, freedom = ale_math.std_error(
        form,
        ale_math.borrowed(variance) / size,
        cells.effective(kind) - 1.0,
        np.arange(len(share)),
        "quadrature",
    )
    value = form @ cells.mean
    if spec.center == "mean":
        n = weight if kind == "frequency" else weight**2 / float(cells.weight2.sum())
        error = np.sqrt(error**2 + _scatter(value, share) ** 2 / n)
    return value, np.sqrt(variance), error, freedom


def _scatter(value: Floats, share: Floats) -> float:
    """Return the standard deviation over the data of the bins' means."""
    mean = share @ value
    return float(np.sqrt(share @ (value - mean) ** 2))
