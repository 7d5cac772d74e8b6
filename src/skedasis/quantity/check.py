"""One look at a model before the work begins: does it answer, the same each time, and leave its input as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.data.arrays import is_missing
from skedasis.data.source import Source, to_array
from skedasis.data.summary import Summary
from skedasis.errors import ModelOutputError, explained
from skedasis.quantity.base import Meter, Quantity, Traits
from skedasis.quantity.gradients import look
from skedasis.typing import Floats

_ROWS = 64
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
    """

    eps: float
    meter: Meter


def check(quantity: Quantity, source: Source) -> Checked:
    """Call the model twice on a few rows.

    Raises
    ------
    ModelOutputError
        Where the output is not one finite number a row, differs between the calls, or the rows were changed.

    Notes
    -----
    Costs at most 128 model rows in two calls, whatever the size of X.
    """
    batch = source.some(_ROWS)
    meter = Meter()
    answers: list[Floats] = []
    eps = float(np.finfo(float).eps)
    for _ in range(2):
        bound = quantity.on(batch)
        answers.append(bound.at())
        meter.add(bound.meter)
        eps = _unit_round_off(bound.output, answers[-1])
        if not _same(bound.given(), batch.tile(1).own()):
            raise ModelOutputError(
                explained(
                    quantity.describe(),
                    "rows that the model has written to",
                    "a model that leaves its input as it is",
                    "Let it copy first: X = X.copy()",
                )
            )
    size, apart = np.abs(answers[0]).max(), np.abs(answers[0] - answers[1]).max()
    if apart > 64 * eps * size:
        raise ModelOutputError(
            explained(
                quantity.describe(),
                f"two answers for the same rows, up to {apart:.3g} apart",
                "the same answer at each call",
                "Fix its random seed, or switch it to evaluation (dropout off)",
            )
        )
    return Checked(eps, meter)


def traits_of(quantity: Quantity, source: Source, column: Summary, found: Checked) -> Traits:
    """Return a quantity's traits for a feature; where only differences are left, look at whether they mean anything."""
    traits = quantity.traits(column.feature)
    if traits.local != "differences":
        return traits
    bound = quantity.on(source.some(_LOOKED_AT), 4, found.eps)
    traits = look(bound, column)
    found.meter.add(bound.meter)
    return traits


def _unit_round_off(dtype: Any, answer: Floats) -> float:
    """Return the round-off of the numbers that a model computes in.

    Models that compute in float32 may answer in float64. Sixty numbers that all fit into float32, and are no short
    fractions (which any model may return), were computed there.
    """
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8:
        return float(np.finfo(dtype).eps)
    with np.errstate(over="ignore"):
        single = answer.astype(np.float32).astype(float)
    mantissa = np.frexp(answer)[0] * 2**14
    if np.array_equal(single, answer) and not np.array_equal(mantissa, np.rint(mantissa)):
        return float(np.finfo(np.float32).eps)
    return float(np.finfo(float).eps)


def _equal(x: Any, y: Any) -> bool:
    # The NA of pandas is neither equal nor unequal to anything, itself included.
    if is_missing(x) or is_missing(y):
        return is_missing(x) and is_missing(y)
    return bool(x == y) or (x != x and y != y)  # noqa: PLR0124 - NaN equals NaN here


def _same(a: Any, b: Any) -> bool:
    a, b = to_array(a), to_array(b)
    if a.dtype.kind == "O":
        return all(_equal(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    return bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124 - NaN equals NaN here
