"""ONNX: a graph of named operations and their numbers, which onnxruntime runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skedasis.quantity.saved.checks import broken, library


def onnx(file: Path) -> Any:
    """Return a session of onnxruntime.

    Raises
    ------
    DataError
        For other files and those that are cut off.
    """
    runtime = library("onnxruntime", file, "onnx")
    try:
        return runtime.InferenceSession(str(file))
    except Exception as error:
        # Its errors have no common base but this; what they say stands behind.
        raise broken(file, "ONNX") from error
