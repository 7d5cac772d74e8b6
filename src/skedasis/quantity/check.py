"""One look at a model before the work begins: does it answer, the same each time, and leave its input as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.column_stats import Summary
from skedasis.data.dataset import Source, to_array
from skedasis.data.factorize import is_missing
from skedasis.errors import ModelOutputError, explained
from skedasis.quantity.answers import unit_round_off
from skedasis.quantity.base import Meter, Quantity, Traits
from skedasis.quantity.gradients import look
from skedasis.quantity.pace import Pace
from skedasis.quantity.tape import Tape

LOOKED_AT = 64
"""Rows at which a model is looked."""
_LOOKED_AT = 128


@dataclass(frozen=True)
class Checked:
    """What the look found.

    Parameters
    ----------
    eps : float
        Unit round-off of the model's numbers.
    meter : Meter
        What the look cost. It is counted apart from the explanation's own rows.
    among : ndarray of int, optional
        Places of the rows that were looked among; None means all.
    pace : Pace
        How fast the model was, and how large its calls are to be.
    answers : tuple of ndarray of float
        Of each quantity, at up to 64 rows among those.
    """

    eps: float
    meter: Meter
    among: Ints | None = None
    pace: Pace = field(default_factory=Pace)
    answers: tuple[Floats, ...] = ()


def check(quantities: Sequence[Quantity], source: Source, among: Ints | None = None) -> Checked:
    """Call the model twice on a few rows.

    Parameters
    ----------
    quantities : sequence of Quantity
        One, or one for each output of the same model.
    source : Source
    among : ndarray of int, optional
        Places of the rows that the model will be asked for; None means all.

    Raises
    ------
    ModelOutputError
        Where the output is not one finite number a row, differs between the calls, or the rows were changed.

    Notes
    -----
    Costs at most 128 model rows in two calls, whatever the size of X and the number of outputs.
    """
    batch = source.some(LOOKED_AT, among)
    meter, pace = Meter(), Pace()
    rounds: list[list[Floats]] = []
    eps = float(np.finfo(float).eps)
    for _ in range(2):
        tape = Tape() if len(quantities) > 1 else None
        bounds = [q.on(batch, tape=tape) for q in quantities]
        for bound in bounds:
            bound.pace = pace
        rounds.append([bound.at() for bound in bounds])
        for bound, answer in zip(bounds, rounds[-1], strict=True):
            meter.add(bound.meter)
            eps = max(eps, unit_round_off(bound.output, answer))
        if not _same(bounds[0].given(), batch.tile(1).own()):
            raise ModelOutputError(
                explained(
                    quantities[0].describe(),
                    "rows that the model has written to",
                    "a model that leaves its input as it is",
                    "Let it copy first: X = X.copy()",
                )
            )
    for quantity, first, second in zip(quantities, *rounds, strict=True):
        _agree(quantity, first, second, eps)
    return Checked(eps, meter, among, pace, tuple(rounds[0]))


def _agree(quantity: Quantity, first: Floats, second: Floats, eps: float) -> None:
    """Refuse a model that answers differently when it is asked again."""
    size, apart = np.abs(first).max(), np.abs(first - second).max()
    if apart > 64 * eps * size:
        raise ModelOutputError(
            explained(
                quantity.describe(),
                f"two answers for the same rows, up to {apart:.3g} apart",
                "the same answer at each call",
                "Fix its random seed, or switch it to evaluation (dropout off)",
            )
        )


def traits_of(
    quantity: Quantity,
    source: Source,
    column: Summary,
    found: Checked,
    tape: Tape | None = None,
    values: Floats | None = None,
) -> Traits:
    """Return a quantity's traits for a feature; where only differences are left, look at whether they mean anything.

    Of whole numbers `values` are those that were observed.
    """
    traits = quantity.traits(column.feature)
    if traits.local != "differences":
        return traits
    bound = quantity.on(source.some(_LOOKED_AT, found.among), 4, found.eps, tape=tape)
    traits = look(bound, column, values)
    found.meter.add(bound.meter)
    return traits


def _equal(x: Any, y: Any) -> bool:
    # The NA of pandas is neither equal nor unequal to anything, itself included.
    if is_missing(x) or is_missing(y):
        return is_missing(x) and is_missing(y)
    return bool(x == y) or (x != x and y != y)  # noqa: PLR0124 - NaN equals NaN here


def _same(a: Any, b: Any) -> bool:
    try:
        a, b = to_array(a), to_array(b)
    except Exception:  # noqa: BLE001 - each library has its own for columns that no one type fits
        return bool(a.equals(b)) if hasattr(a, "equals") else True
    if a.dtype.kind == "O":
        return all(_equal(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    return bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124 - NaN equals NaN here
