"""Probe of a model before the work: precision, determinism, and whether differences describe it.

`probe_model` calls the model twice on a few rows. `derivative_info_of` says how the local effects of a feature are
computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.column_stats import Summary
from skedasis.data.dataset import Dataset, to_array
from skedasis.data.factorize import is_missing
from skedasis.derivatives.finite_differences import probe_derivatives
from skedasis.errors import ModelOutputError
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.calling import CallStats, ChunkedCaller, unit_round_off
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import ResponseCache

PROBE_ROWS = 64
"""Rows at which the model is probed."""

_DERIVATIVE_ROWS = 128
"""Rows at which it is checked whether differences are meaningful."""


@dataclass(frozen=True)
class ProbeResult:
    """Result of probing the model.

    Parameters
    ----------
    eps : float
        Unit round-off of the dtype that the model computes in.
    stats : CallStats
        Calls and rows of the probe, which are counted separately from those of the explanation.
    among : ndarray of int, optional
        Positions of the rows that the probe's rows were drawn from; None means all.
    caller : ChunkedCaller
        Measured speed of the model, which sets the size of later calls.
    responses : tuple of ndarray of float
        Values of each quantity at the probe's rows, at most 64.
    """

    eps: float
    stats: CallStats
    among: Ints | None = None
    caller: ChunkedCaller = field(default_factory=ChunkedCaller)
    responses: tuple[Floats, ...] = ()


def probe_model(
    quantities: Sequence[Quantity], dataset: Dataset, among: Ints | None = None
) -> ProbeResult:
    """Call the model twice on a few rows, and check that it is deterministic and leaves its input unchanged.

    Parameters
    ----------
    quantities : sequence of Quantity
        One, or one for each output of the same model.
    dataset : Dataset
    among : ndarray of int, optional
        Positions of the rows that the explanation uses; None means all.

    Raises
    ------
    ModelOutputError
        If the output is not one finite number per row, differs between the two calls, or the model changed its input.

    Notes
    -----
    Costs at most 128 model rows in two calls, whatever the size of X and the number of outputs.
    """
    batch = dataset.evenly_spaced_batch(PROBE_ROWS, among)
    stats, caller = CallStats(), ChunkedCaller()
    rounds: list[list[Floats]] = []
    eps = float(np.finfo(float).eps)
    for _ in range(2):
        cache = ResponseCache() if len(quantities) > 1 else None
        evaluators = [q.evaluator(batch, cache=cache) for q in quantities]
        for evaluator in evaluators:
            evaluator.caller = caller
        rounds.append([evaluator.values() for evaluator in evaluators])
        for evaluator, response in zip(evaluators, rounds[-1], strict=True):
            stats.add(evaluator.stats)
            eps = max(eps, unit_round_off(evaluator.dtype, response))
        if not _same(evaluators[0].given(), batch.tile(1).own()):
            raise ModelOutputError(
                quantities[0].describe(),
                "rows that the model has written to",
                "a model that does not change its input",
                "Copy the input inside the model first: X = X.copy()",
            )
    for quantity, first, second in zip(quantities, *rounds, strict=True):
        _check_deterministic(quantity, first, second, eps)
    return ProbeResult(eps, stats, among, caller, tuple(rounds[0]))


def _check_deterministic(quantity: Quantity, first: Floats, second: Floats, eps: float) -> None:
    """Raise if two calls on the same rows differ by more than rounding."""
    scale, difference = np.abs(first).max(), np.abs(first - second).max()
    if difference > 64 * eps * scale:
        raise ModelOutputError(
            quantity.describe(),
            f"two different responses for the same rows (largest difference {difference:.3g})",
            "the same response at each call",
            "Fix its random seed, or switch it to evaluation (dropout off)",
        )


def derivative_info_of(
    quantity: Quantity,
    dataset: Dataset,
    column: Summary,
    found: ProbeResult,
    cache: ResponseCache | None = None,
    values: Floats | None = None,
) -> DerivativeInfo:
    """Return a quantity's `DerivativeInfo` for a feature; without derivatives, probe whether differences make sense.

    `values` are the observed values of a feature of whole numbers.
    """
    derivative_info = quantity.derivative_info(column.feature)
    if derivative_info.kind != "differences":
        return derivative_info
    evaluator = quantity.evaluator(
        dataset.evenly_spaced_batch(_DERIVATIVE_ROWS, found.among), 4, found.eps, cache=cache
    )
    derivative_info = probe_derivatives(evaluator, column, values)
    found.stats.add(evaluator.stats)
    return derivative_info


def _equal(x: object, y: object) -> bool:
    # pandas' NA is neither equal nor unequal to anything, including itself.
    if is_missing(x) or is_missing(y):
        return is_missing(x) and is_missing(y)
    return bool(x == y) or (x != x and y != y)  # noqa: PLR0124 - NaN equals NaN here


def _same(a: Any, b: Any) -> bool:
    try:
        a, b = to_array(a), to_array(b)
    except Exception:  # noqa: BLE001 - each library raises its own error for columns of mixed types
        return bool(a.equals(b)) if hasattr(a, "equals") else True
    if a.dtype.kind == "O":
        return all(_equal(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    return bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124 - NaN equals NaN here
