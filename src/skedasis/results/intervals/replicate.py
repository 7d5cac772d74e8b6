"""What a bootstrap repeats: the rows that a result keeps, or draws from its moments where they are not all kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.effect import Effect
from skedasis.results.intervals.averaged import Averaged
from skedasis.results.intervals.counted import Form, Halved, Marginal, Of, Stepped, needs
from skedasis.results.intervals.counted_curves import Accumulated, accumulated
from skedasis.results.intervals.redrawn import FromCurves, FromMoments
from skedasis.results.intervals.summed import Columns, Counted
from skedasis.results.parts import Curves, Rows
from skedasis.results.pieces import AXIS, LOCAL
from skedasis.results.steps import DOWN, UP
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import Draws

Source = Literal["rows", "moments"]


@dataclass(frozen=True, eq=False)
class FromRows(Counted):
    """An effect whose rows are counted otherwise.

    Parameters
    ----------
    form : Form
    columns : Columns
    draws : Draws
    """

    form: Form
    columns: Columns
    draws: Draws

    def repeated(self, of: Of) -> Any:
        """Return what gives (m, R) from counts (n, R)."""
        names, squares = needs(self.form, of)
        summed = self.columns.summed(names, squares=squares)
        return lambda counts: self.form.read(summed(counts), of)


@dataclass(frozen=True, eq=False)
class Fixed(Counted):
    """What does not depend on rows: the effect of a feature that takes one value."""

    level: Floats
    draws: Draws

    def repeated(self, of: Of) -> Any:
        """Return what gives (m, R) from counts (n, R)."""
        value = self.level if of == "value" else np.zeros(0 if of == "bins" else 1)
        return lambda counts: np.repeat(value[:, None], counts.shape[1], axis=1)


Sourced = FromRows | Averaged | Fixed | FromMoments | FromCurves


def source_of(effect: Effect, wanted: Source | None = None) -> Sourced:
    """Return what a bootstrap of an effect draws from.

    Parameters
    ----------
    effect : Effect
    wanted : {"rows", "moments"}, optional
        By default rows, if all are kept.

    Raises
    ------
    DataError
        For another source.
    UnsupportedError
        Where rows are asked for and not all kept; for moments of PDP and ICE with fewer than 30 curves.
    """
    if wanted not in (None, "rows", "moments"):
        raise DataError(
            explained("interval(source)", repr(wanted), "'rows' or 'moments'", "Name one, or None")
        )
    if effect.spec.local == "none":
        return _of_curves(effect, wanted)
    if _is_fixed(effect):
        rows = 1 if effect.rows is None else max(len(effect.rows), 1)
        return Fixed(effect.value, Draws(None, "frequency", rows))
    kept = effect.rows
    if kept is not None and kept.exact and wanted != "moments" and kept.effect is not None:
        return _of_rows(effect, kept, kept.effect)
    if wanted == "rows":
        raise _not_kept(effect, "leave source= away")
    form = _form(effect)
    moments = form.reduced(effect.moments) if isinstance(form, Accumulated) else effect.moments
    if isinstance(form, Marginal) and effect.levels is None:
        moments = binned(effect)
    return FromMoments(form, moments, effect.spec.weight_kind)


def resampler(effect: Effect) -> FromRows | Averaged | Fixed:
    """Return how an effect depends on how often each of its rows counts, its bins, grid or levels fixed.

    Raises
    ------
    UnsupportedError
        Where not all rows, or curves, were kept.

    Notes
    -----
    No model row. A draw may leave out all rows of a bin or of a level. What is not known then is NaN in that draw, and
    the interval rests on the other draws:

    - in an M-plot the value of that bin or level;
    - in an accumulated effect what lies beyond the first and last bins with rows, or, of levels, beyond the first and
      last steps with rows (a step has rows unless both of its levels are left out). Between them the effect is joined
      as it is where the data themselves leave a bin empty. An effect that starts at zero on the left is not known
      at all in a draw without rows in its first bin or step.

    Where rows are few a bootstrap is too narrow, and a bin of a single row adds nothing to it: that is what
    `BinStats.trusted` and `LevelStats.count` warn of.
    """
    found = source_of(effect, None if effect.spec.local != "none" else "rows")
    if isinstance(found, (FromMoments, FromCurves)):
        raise _not_kept(effect, "use interval(method='bootstrap'), which then draws from moments")
    return found


def _not_kept(effect: Effect, otherwise: str) -> UnsupportedError:
    return UnsupportedError(
        explained(
            f"bootstrap of a {effect.spec.method}",
            "a result that keeps a part of the rows",
            "all rows",
            f"Explain with a larger keep=, for PDP with ice='all'; or {otherwise}",
        )
    )


def _is_fixed(effect: Effect) -> bool:
    """Return whether the effect is zero whatever the rows: of a constant feature, or of a single level."""
    if effect.spec.local == "values":
        return False
    constant = effect.cells is not None and len(effect.cells) == 0
    return constant or len(effect.points) < 2


def _form(effect: Effect) -> Form:
    if effect.spec.local == "values":
        return Marginal.of(effect)
    if effect.levels is not None:
        return Stepped.of(effect)
    return accumulated(effect) if effect.values is None else Halved(effect, effect.values)


def _draws(effect: Effect, kept: Rows | Curves) -> Draws:
    return Draws(kept.weight, effect.spec.weight_kind, len(kept))


def _of_rows(effect: Effect, rows: Rows, local: Floats) -> FromRows:
    """Lay the rows of an effect out by cell."""
    form, draws = _form(effect), _draws(effect, rows)
    if isinstance(form, (Stepped, Halved)):
        known = np.nan_to_num(local)  # nothing before the first level, or value, and after the last
        values = {DOWN: known[:, 0], UP: known[:, 1]}
        if isinstance(form, Halved):
            place, size = np.searchsorted(form.values, rows.x), len(form.values)
        else:
            place, size = rows.x.astype(np.int64), len(effect.points)
        return FromRows(form, Columns(place, size, values, draws), draws)
    values = {LOCAL: local, AXIS: rows.x}
    if isinstance(form, Accumulated):
        # Re-binned to narrower edges, a result still has all its rows: some lie in no cell.
        place = form.cells.locate(rows.x)
        return FromRows(form, Columns(place, len(form.cells), values, draws), draws)
    place, size = np.zeros(len(rows), dtype=np.int64), len(effect.points)
    if effect.levels is not None:
        place = rows.x.astype(np.int64)
    elif effect.bins is not None and effect.cells is not None and len(effect.cells):
        place, size = Cells(effect.bins.edges, effect.cells.closed).locate(rows.x), len(effect.bins)
    return FromRows(form, Columns(place, size, values, draws), draws)


def binned(effect: Effect) -> Mapping[str, Moments]:
    """Return the moments of an M-plot's own bins."""
    cells, stats = effect.cells, effect.bins
    if cells is None or stats is None or len(cells) == 0:
        return effect.moments
    kept = np.searchsorted(cells.edges, stats.edges)
    return {k: m.pool(kept[:-1]) for k, m in effect.moments.items()}


def _of_curves(effect: Effect, wanted: Source | None) -> Averaged | FromCurves:
    curves = effect.curves
    if curves is not None and curves.exact and wanted != "moments":
        return Averaged(effect, curves, _draws(effect, curves))
    if wanted == "rows" or curves is None or len(curves) < FromCurves.least:
        raise _not_kept(effect, "use method='analytic'")
    return FromCurves(effect, curves)
