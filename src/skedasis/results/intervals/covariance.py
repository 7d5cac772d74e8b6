"""How the errors of an effect's points go together: what simultaneous bands need."""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats
from skedasis.results.effect import Effect
from skedasis.results.intervals.counted import interpolated, runs
from skedasis.results.intervals.counted_curves import located, trended
from skedasis.results.intervals.redrawn import FromCurves, correlated
from skedasis.results.intervals.replicate import binned
from skedasis.results.pieces import LOCAL, Linear, linear
from skedasis.results.steps import Scatter, Steps, coefficients
from skedasis.results.trend import bulge
from skedasis.results.value_steps import rise_forms
from skedasis.stats import ale_math
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import Blocks

MOST = 2000
"""Points of a grid, or pieces of a curve, beyond which their joint errors would cost too much."""


def blocks_of(effect: Effect, of: str) -> Blocks | None:
    """Return where the errors of an effect's values, or of its bins, come from.

    Parameters
    ----------
    effect : Effect
    of : {"value", "bins"}

    Returns
    -------
    Blocks or None
        None where it is not known how points go together: fewer than 30 curves are kept, or there are more than 2,000
        points.

    Notes
    -----
    Bins share no row, so an accumulated effect is a sum of independent parts. What the centre adds, that it is a mean
    over rows whose places are random, is the same at all points, and one more part. Of categories a part is the rows of
    a level: its two steps, their covariance, and its place in the centre. The curves of a PDP have one covariance.
    """
    if effect.spec.local in ("none", "values"):
        return _of_curves(effect) if effect.spec.local == "none" else _marginal(effect, of)
    if effect.levels is not None:
        return _stepped(effect, of)
    if effect.values is not None:
        return _halved(effect, effect.values, of)
    cells, kept = located(effect)
    if len(cells) == 0:
        return None
    if effect.spec.on_cells and of == "value":
        kept = np.arange(len(cells.edges))
    form = linear(cells, effect.moments, kept, effect.spec, trended(effect))
    if len(form.pieces) > MOST:
        return None
    return _of_bins(form) if of == "bins" else _accumulated(effect, form)


def bin_freedom(effect: Effect) -> Floats:
    """Return the degrees of freedom of the bins' standard errors, shape (K,)."""
    kind = effect.spec.weight_kind
    if effect.spec.local == "values":
        bins = binned(effect)[LOCAL]
        return bins.effective(kind) - 1.0
    if effect.levels is not None:
        return satterthwaite(_stepped(effect, "bins"))
    if effect.values is not None:
        return satterthwaite(_halved(effect, effect.values, "bins"))
    cells, kept = located(effect)
    if len(cells) == 0:
        return np.zeros(0)
    form = linear(cells, effect.moments, kept, effect.spec, trended(effect))
    return form.pieces.degrees[form.pieces.starts]


def satterthwaite(blocks: Blocks) -> Floats:
    """Return the degrees of freedom of the points' errors."""
    parts = np.zeros((len(blocks.factor), len(blocks.freedom)))
    np.add.at(parts.T, blocks.block, (blocks.factor**2).T)
    total = parts.sum(axis=1)
    share = parts / np.where(total > 0, total, 1.0)[:, None]
    weight = (share**2 / np.maximum(blocks.freedom, 1.0)).sum(axis=1)
    return np.where(total > 0, 1.0 / np.where(weight > 0, weight, 1.0), np.inf)


def _accumulated(effect: Effect, form: Linear) -> Blocks:
    pieces = form.pieces
    # NaN errors matter only where their slope takes part.
    factor = np.where(form.matrix != 0, form.matrix * np.sqrt(pieces.error2), 0.0)
    block, freedom = pieces.bin, pieces.degrees[pieces.starts]
    if effect.spec.center == "mean":
        factor = np.hstack([factor, np.full((len(factor), 1), np.sqrt(form.between))])
        block = np.append(block, len(freedom))
        freedom = np.append(freedom, form.size - 1.0)
    factor[np.isnan(effect.std_error)] = 0.0
    return Blocks(factor, block, freedom)


def _of_bins(form: Linear) -> Blocks:
    """Return independent errors: no two bins share a row."""
    pieces, count = form.pieces, len(form.pieces.starts)
    block, size = pieces.bin, form.pieces.part * np.sqrt(pieces.error2)
    size = np.where(np.isnan(pieces.variance), 0.0, size)
    factor = np.where(block == np.arange(count)[:, None], size, 0.0)
    return Blocks(factor, block, pieces.degrees[pieces.starts])


def _stepped(effect: Effect, of: str) -> Blocks:
    """Return the errors of forms of mean steps, by level (docs/explanation/levels-and-pairs.md)."""
    spec, steps, places = effect.spec, Steps.of(effect.moments), runs(effect)
    size = len(effect.points)
    known = steps.pooled.weight > 0
    start = ale_math.accumulation(np.ones(len(known)), known, np.arange(size))
    own = np.zeros((size, size))
    form = start
    if of == "bins":
        length = np.diff(places)[:, None]
        form = (start[places[1:]] - start[places[:-1]]) / length
        own = np.zeros((len(form), size))
    elif spec.center == "mean":
        weight = steps.up.weight
        total = max(float(weight.sum()), np.finfo(float).tiny)
        value = start @ np.where(known, steps.pooled.mean, 0.0)
        form = start - weight @ start / total
        own = np.broadcast_to(-(value - weight @ value / total) / total, own.shape)
    down, up = coefficients(form, steps, spec)
    factor = _by_level(np.stack([down, up, own], axis=2), steps, spec.weight_kind)
    freedom = np.maximum(steps.up.effective(spec.weight_kind) - 1.0, 1.0)
    return Blocks(factor, np.repeat(np.arange(size), 3), freedom)


def _halved(effect: Effect, values: Floats, of: str) -> Blocks:
    """Return the errors of a curve of steps between values, or of its bins' slopes: by value."""
    spec, steps, stats = effect.spec, Steps.of(effect.moments, values), effect.bins
    edges = np.asarray(effect.points, dtype=float)
    if of == "bins" and stats is not None:
        form = np.diff(rise_forms(values, stats.edges, steps.known), axis=0) / stats.widths[:, None]
        own = np.zeros((len(form), len(values)))
    else:
        form = rise_forms(values, edges, steps.known)
        own = np.zeros((len(form), len(values)))
        if spec.center == "mean":
            start, total = (
                form @ steps.mean,
                max(float(steps.up.weight.sum()), np.finfo(float).tiny),
            )
            at = np.interp(values, edges, start) + (0.0 if stats is None else bulge(stats, values))
            share = steps.up.weight / total
            own = np.broadcast_to(-(at - share @ at) / total, own.shape)
            form = form - share @ interpolated(edges, values) @ form
        form = np.where(np.isnan(effect.std_error)[:, None], 0.0, form)
    down, up = coefficients(form, steps, spec)
    factor = _by_level(np.stack([down, up, own], axis=2), steps, spec.weight_kind)
    freedom = np.maximum(steps.up.effective(spec.weight_kind) - 1.0, 1.0)
    return Blocks(factor, np.repeat(np.arange(len(values)), 3), freedom)


def _by_level(form: Floats, steps: Steps, kind: WeightKind) -> Floats:
    """Return (m, 3 L): forms (m, L, 3) of a row's steps and of its being there, times the root of their moments."""
    seen, up = Scatter.of(steps, kind), steps.up
    moment = np.empty((len(up.weight), 3, 3))
    moment[:, 0, 0], moment[:, 1, 1], moment[:, 2, 2] = seen.down, seen.up, up.weight
    moment[:, 0, 1] = moment[:, 1, 0] = seen.both
    moment[:, 0, 2] = moment[:, 2, 0] = up.weight * seen.off_down
    moment[:, 1, 2] = moment[:, 2, 1] = up.weight * seen.off_up
    if kind == "sampling":
        moment *= (up.weight2 / np.where(up.weight > 0, up.weight, 1.0))[:, None, None]
    # In units of each part's own size: what a step measures may be far from 1.
    unit = np.sqrt(np.maximum(np.diagonal(moment, axis1=1, axis2=2), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    roots, vectors = np.linalg.eigh(moment / unit[:, :, None] / unit[:, None, :])
    root = unit[:, :, None] * vectors * np.sqrt(np.maximum(roots, 0.0))[:, None, :]
    return np.einsum("mli,lij->mlj", form, root).reshape(len(form), 3 * len(moment))


def _marginal(effect: Effect, of: str) -> Blocks:
    """Return the errors of an M-plot's means: independent, but for the centre."""
    spec, kind = effect.spec, effect.spec.weight_kind
    bins = binned(effect)[LOCAL]
    variance = bins.variance(spec.ddof, kind)
    if of == "bins":
        error = np.sqrt(variance / np.where(bins.weight > 0, bins.effective(kind), 1.0))
        return Blocks(
            np.diag(np.nan_to_num(error)), np.arange(len(error)), bins.effective(kind) - 1.0
        )
    if effect.levels is None:
        bins = bins.take(np.flatnonzero(bins.weight > 0))
        variance = bins.variance(spec.ddof, kind)
    return _means(effect, bins, variance)


def _means(effect: Effect, bins: Moments, variance: Floats) -> Blocks:
    kind, count = effect.spec.weight_kind, len(variance)
    size = np.where(bins.weight > 0, bins.effective(kind), 1.0)
    error = np.nan_to_num(np.sqrt(ale_math.borrowed(variance) / size))
    share = bins.weight / max(float(bins.weight.sum()), np.finfo(float).tiny)
    form, block, freedom = np.eye(count), np.arange(count), bins.effective(kind) - 1.0
    if effect.spec.center != "mean":
        return Blocks(form * error, block, freedom)
    total = float(bins.weight.sum())
    n = total if kind == "frequency" else total**2 / float(bins.weight2.sum())
    between = float(share @ (bins.mean - share @ bins.mean) ** 2 / n)
    factor = np.hstack([(form - share) * error, np.full((count, 1), np.sqrt(between))])
    return Blocks(factor, np.append(block, count), np.append(freedom, n - 1.0))


def _of_curves(effect: Effect) -> Blocks | None:
    kept = effect.curves
    if kept is None or len(kept) < FromCurves.least or len(effect.points) > MOST:
        return None
    factor = correlated(kept) * np.nan_to_num(effect.std_error)[:, None]
    least = np.nanmin(effect.freedom, initial=np.inf)
    return Blocks(factor, np.zeros(factor.shape[1], dtype=np.int64), np.array([least]))
