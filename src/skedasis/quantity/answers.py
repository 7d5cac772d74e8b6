"""What a model answered: turned into numbers, and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats
from skedasis.data.containers import to_float
from skedasis.errors import ModelOutputError, explained


def as_array(raw: Any, what: str) -> NDArray[Any]:
    """Return whatever a model answered as an array, or say why it cannot be one."""
    if isinstance(raw, np.ma.MaskedArray):
        return np.ma.filled(raw.astype(float), np.nan)
    try:
        return np.asarray(raw)
    except ValueError as error:
        raise ModelOutputError(
            explained(
                what,
                f"a {type(raw).__name__} of parts that differ in length",
                "one number for each row",
                "Return an array of shape (n,)",
            )
        ) from error


def as_numbers(raw: Any, what: str) -> Floats:
    """Return whatever a model answered as an array of float64, or say why it cannot be one."""
    answer = as_array(raw, what)
    try:
        # Text that reads as a number is still a label.
        objects = list(answer.flat) if answer.dtype.kind == "O" else []
        if answer.dtype.kind not in "fiubO" or any(isinstance(v, (str, bytes)) for v in objects):
            raise TypeError
        if objects:
            return to_float(objects).reshape(answer.shape)
        return answer.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise ModelOutputError(
            explained(
                what,
                f"output of type {answer.dtype}",
                "numbers",
                "Wrap the model in a function that returns numbers; "
                "for a classifier use sd.probability(model, class_=...)",
            )
        ) from error


def checked(raw: Any, n: int, what: str, where: str) -> Floats:
    """Return a model's answer as finite floats of shape (n,), or raise `ModelOutputError`."""
    answer = as_numbers(raw, what)
    if answer.shape == (n, 1):
        answer = answer[:, 0]
    if answer.shape != (n,):
        several = answer.ndim == 2 and len(answer) == n
        fix = (
            "Choose one output: sd.prediction(model, output=0), or all of them: output='all'; of a classifier "
            "sd.probability(model, class_=...)"
            if several
            else "Return one number for each row, in the rows' order"
        )
        got = f"output of shape {answer.shape} ({where})"
        raise ModelOutputError(explained(what, got, f"({n},)", fix))
    # A sum is finite only if every term is (or, rarely, if it overflows): one cheap pass in the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        total = answer.sum()
    if not np.isfinite(total) and not np.isfinite(answer).all():
        bad = int((~np.isfinite(answer)).sum())
        raise ModelOutputError(
            explained(
                what,
                f"NaN or infinity for {bad} of {n} rows ({where})",
                "finite numbers",
                "If X has missing values that the model cannot take, impute them or drop those rows",
            )
        )
    return answer


def unit_round_off(dtype: Any, answer: Floats) -> float:
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
