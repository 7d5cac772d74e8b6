"""LightGBM's text, XGBoost's JSON and binary JSON: numbers only, nothing of them is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skedasis.quantity.saved.checks import broken, content, library
from skedasis.quantity.trees.xgboost import document

_END = b"\nend of trees"
_BEGUN, _ENDED = b"\nparameters:", b"\nend of parameters"


def lightgbm(file: Path) -> Any:
    """Return LightGBM's booster.

    Raises
    ------
    DataError
        For other files and those that are cut off.
    """
    text = content(file)
    # LightGBM itself ends the process where its text is cut off.
    if not text.startswith(b"tree\n") or _END not in text or not _whole(text):
        raise broken(file, "LightGBM")
    if _BEGUN in text and _ENDED not in text:
        raise broken(file, "LightGBM")
    lightgbm = library("lightgbm", file)
    try:
        return lightgbm.Booster(model_file=str(file))
    except (lightgbm.basic.LightGBMError, ValueError) as error:  # categories that are no JSON
        raise broken(file, "LightGBM") from error


def _whole(text: bytes) -> bool:
    """Return whether the trees are as long as the head of the file says."""
    head = text[: text.find(b"\nTree=")].split(b"\n")
    said = next((line for line in head if line.startswith(b"tree_sizes=")), b"")
    sizes = [int(n) for n in said.partition(b"=")[2].split() if n.isdigit()]
    start = text.find(b"\nTree=") + 1
    return not sizes or start + sum(sizes) == text.index(_END) + 1


def xgboost(file: Path) -> Any:
    """Return XGBoost's booster.

    Raises
    ------
    DataError
        For other files and those that are cut off.
    """
    raw = content(file)
    if file.suffix.lower() == ".json":
        try:
            found: Any = document(raw)
        except (ValueError, RecursionError):
            found = None
        known = isinstance(found, dict) and "learner" in found
    else:
        known = raw.startswith(b"{")
    if not known:
        raise broken(file, "XGBoost")
    xgboost = library("xgboost", file)
    try:
        return xgboost.Booster(model_file=str(file))
    except (xgboost.core.XGBoostError, ValueError) as error:
        raise broken(file, "XGBoost") from error
