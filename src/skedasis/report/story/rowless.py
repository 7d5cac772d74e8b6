"""Results without the rows behind them, for pages that are to hold none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

from skedasis.results.build.steps import BOTH, DOWN, UP
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface


@overload
def without_rows(result: Effect) -> Effect: ...
@overload
def without_rows(result: Effects) -> Effects: ...
@overload
def without_rows(result: Surface) -> Surface: ...
def without_rows(result: Any) -> Any:
    """Return a result without kept rows and individual curves; what rests on them is as it was.

    Parameters
    ----------
    result : Effect, Effects or Surface

    Notes
    -----
    Edges of bins, points of grids and levels stay: they are single values of a column, no rows. What asks for rows, as
    `Surface.interaction_strength` and intervals by bootstrap do, has to be asked before.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> e = without_rows(sd.explain(lambda X: X[:, 0] * X[:, 1], X, "x0", method=sd.PDP(ice=10)))
    >>> e.rows is None, e.curves is None
    (True, True)
    """
    if isinstance(result, Effects):
        return Effects({n: without_rows(e) for n, e in result.items()}, result.provenance)
    if isinstance(result, Effect):
        bare = replace(result, rows=None, curves=None)
        if result.spec.local != "integer_steps":
            return bare
        # Of many whole numbers each observed one is kept, with its rows' steps: nearly rows.
        moments = {k: m for k, m in result.moments.items() if k not in (UP, DOWN, BOTH)}
        return replace(bare, values=None, moments=moments)
    return replace(result, rows=None)
