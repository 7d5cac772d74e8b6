"""What a finding advises: other bins, another method or other rows, if they are possible for this very feature."""

from __future__ import annotations

import numpy as np

from skedasis.binning import Quantile
from skedasis.data.column_stats import Column
from skedasis.registry import METHODS, call_of
from skedasis.results.axis import LevelAxis, LevelPairAxis, LevelStats
from skedasis.results.build.rebin import rebin_effect
from skedasis.results.checks.variance_decomposition import local_rows, split_variance
from skedasis.results.display import SHAP_DEPENDENCE
from skedasis.results.effect import (
    TRUSTED_ROWS,
    BinnedEffect,
    Effect,
    MPlotEffect,
)
from skedasis.results.surface import Surface

OBSERVED_ONLY = (
    f"{METHODS['mplot'].call}() uses observed rows only, but includes the effects of correlated "
    "features"
)

BETWEEN_VALUES = "Its bins lie between neighbouring values, so that narrower ones are not possible"

_FINER = 1.25
"""Bins are called narrower if there are at least this many times more of them."""

_BINS = 40
"""Number of bins that is proposed for a finer curve, if there are enough rows."""


def _column(effect: BinnedEffect) -> Column | None:
    """Return the values of the rows that the effect keeps; None if it keeps none."""
    rows = effect.rows
    if rows is None:
        return None
    there = np.isfinite(rows.x) if rows.weight is None else np.isfinite(rows.x) & (rows.weight > 0)
    weight = None if rows.weight is None else rows.weight[there]
    return Column(effect.about.feature, rows.x[there], weight) if there.any() else None


def has_two_values(effect: Effect) -> bool:
    """Return whether the feature has two values or levels, so that each method moves rows from one to the other."""
    if isinstance(effect, BinnedEffect):
        column = _column(effect)
        return column is not None and len(np.unique(column.x)) == 2
    return len(effect.axis) == 2


def between_values(effect: Effect) -> bool:
    """Return whether the bins of a numeric feature lie between neighbouring values, so that none are narrower."""
    if not isinstance(effect, BinnedEffect) or isinstance(effect, MPlotEffect):
        return False
    column = _column(effect)
    return column is not None and bool(np.isin(column.x, effect.bins.edges).all())


def _rebinned(effect: BinnedEffect, k: int, name: str) -> str:
    """Return the call that gives k bins with about equal numbers of rows: without the model, if that is possible."""
    method = effect.spec.method
    whole = isinstance(effect, MPlotEffect) or method == "ALE"
    bins = str(k) if whole else f"sd.Quantile({k})"
    if effect.spec.pointwise and effect.rows is not None and effect.rows.exact:
        return f"{name}.rebin({bins})"
    return _call(method, f"bins={bins}")


def _call(method: str, settings: str) -> str:
    """Return the call with other settings: the constructor of a method, or the function that computes SHAP values."""
    call = "sd.shap_dependence" if method == SHAP_DEPENDENCE else call_of(method)
    return f"{call}({settings})"


def wider_bins(effect: BinnedEffect) -> str | None:
    """Return a call that gives fewer bins, with at least ten rows in each."""
    column = _column(effect)
    now = len(effect.bins)
    if column is None:
        return None
    k = min(now - 1, len(column) // TRUSTED_ROWS)
    while k >= 2:
        cells = Quantile(k).candidates(column)
        counts = np.bincount(cells.locate(column.x), minlength=len(cells))
        if len(cells) < now and counts.min() >= TRUSTED_ROWS:
            return _rebinned(effect, k, "e")
        k = min(k - 1, int(0.9 * k))
    return None


def narrower_bins(effect: Effect, name: str = "e") -> str | None:
    """Return a call that gives more bins."""
    if not isinstance(effect, BinnedEffect) or between_values(effect):
        return None
    automatic = automatic_bins(effect)
    if automatic is not None:  # the automatic bins of a feature with few values lie between them
        return automatic
    k = _finer(effect)
    return None if k is None else _rebinned(effect, k, name)


def _finer(effect: BinnedEffect) -> int | None:
    """Return a number of quantiles that gives more bins; None if there are too few rows or values."""
    column = _column(effect)
    if column is None or effect.spec.local_effects == "value_steps":
        return None
    now = len(effect.bins) if effect.spec.pointwise else len(effect.cells)
    k = min(max(_BINS, 2 * now), len(column) // TRUSTED_ROWS, len(np.unique(column.x)) - 1)
    return k if k >= _FINER * now else None


def bins_that_resolve(effect: Effect) -> str | None:
    """Return a call that gives more bins in which local effects depend less on x."""
    call = narrower_bins(effect)
    if call is None or not call.startswith("e.") or not isinstance(effect, BinnedEffect):
        return call
    k = _finer(effect)
    finer = None if k is None else rebin_effect(effect, Quantile(k))
    return call if finer is not None and _residual(finer) < _residual(effect) else None


def _residual(effect: Effect) -> float:
    """Return the sum of squares of the local effects that is due to their dependence on x within bins (E²)."""
    rows, bins = local_rows(effect), effect.n_parts
    if rows is None:
        return np.inf
    parts = [(len(x), *split_variance(x, d, w)) for x, d, w in rows.groups(bins)]
    return float(np.nansum([n * max(total - within, 0.0) for n, total, within in parts]))


def automatic_bins(effect: BinnedEffect) -> str | None:
    """Return the method that has one bin per step between few values, none of them empty; None for other features."""
    column = _column(effect)
    if column is None or column.few_values() is None or effect.spec.local_effects == "slopes":
        return None
    method = effect.spec.method
    own = isinstance(effect, MPlotEffect) or method == "ALE"
    return _call(method, "") if own else "sd.RHALE()"


def of_rare_levels(effect: Effect, levels: LevelStats) -> str:
    """Return what to do about levels with few rows."""
    common = int((levels.count >= TRUSTED_ROWS).sum())
    if common < 2:
        return "Use more rows"
    method = effect.spec.method
    if method == SHAP_DEPENDENCE:  # it has no `top_levels`
        return "Use more rows, or merge rare levels with similar ones"
    fix = f"{call_of(method)}(top_levels={common})"
    return f"Use more rows, merge rare levels with similar ones, or leave them out: {fix}"


def instead_of_swept(effect: Effect) -> str:
    """Return what to do if a PDP evaluates the model outside the data."""
    if isinstance(effect.axis, LevelAxis) or has_two_values(effect):
        return f"{OBSERVED_ONLY}."
    if effect.spec.derivative:
        return "Compare with the slopes of sd.DALE()."
    return "Compare with sd.ALE() or sd.RHALE()."


def instead_of_accumulated(effect: Effect) -> str:
    """Return what to do if the steps of an accumulated effect evaluate the model outside the data."""
    if isinstance(effect.axis, LevelAxis):
        return (
            "Rows of neighbouring levels differ in their other features, so read the steps between them with care; "
            f"{OBSERVED_ONLY}."
        )
    if effect.spec.local_effects in ("value_steps", "integer_steps") or between_values(effect):
        return (
            "Its steps are between neighbouring values, so that narrower bins do not help; "
            f"{OBSERVED_ONLY}."
        )
    call = narrower_bins(effect)
    if call is not None:
        return f"Use more bins: {call}."
    return f"Narrower bins would have fewer than {TRUSTED_ROWS} rows; {OBSERVED_ONLY}."


# ------------------------------------------------------------------------------------------
# Surfaces.


def coarser_surface(surface: Surface) -> str:
    """Return what to do about cells of an accumulated surface with few rows, or none."""
    numeric = [k for k, s in enumerate(surface.sides) if not isinstance(s, LevelPairAxis)]
    method, rows = surface.spec.method, surface.rows
    if not numeric:
        return "Use more rows, or merge rare levels"
    x = None if rows is None else (rows.x0, rows.x1)
    few = x is not None and any(len(np.unique(x[k])) <= surface.sides[k].n_homes for k in numeric)
    if few and method == "DALE":
        return "Use sd.ALE(), which has one bin per step between the values of a feature with few values"
    now = max(surface.sides[k].n_homes for k in numeric)
    n = 0 if surface.cells is None else int(surface.cells.count.sum())
    other = 1 if len(numeric) == 2 else max(s.n_homes for s in surface.sides if s.levels)
    wanted = n / (2 * TRUSTED_ROWS * other)
    k = int(min(now // 2, wanted**0.5 if len(numeric) == 2 else wanted))
    if k < 2:
        return "Use more rows"
    if surface.spec.pointwise and rows is not None and rows.exact:
        return f"Use more rows, or fewer bins: s.rebin({k})"
    return f"Use more rows, or fewer bins: {call_of(method)}(bins={k})"


def instead_of_swept_surface(surface: Surface) -> str:
    """Return what to do if the PDP of two features evaluates the model outside the data."""
    sides = surface.sides
    if all(side.n_nodes <= 2 for side in sides):
        return "Do not interpret the surface at combinations of values that no row has."
    order = {}
    if all(isinstance(side, LevelPairAxis) for side in sides):
        # An ALE of two categorical features needs an order of the levels of both.
        features = [(a.feature, s.n_nodes) for a, s in zip(surface.abouts, sides, strict=True)]
        order = {f.name: "similarity" for f, n in features if f.kind == "nominal" and n > 2}
    return f"Compare with sd.ALE({f'order={order}' if order else ''})."
