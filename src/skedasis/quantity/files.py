"""Models from their libraries' own files, and boosters as models of rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from skedasis.data.source import to_array
from skedasis.errors import DataError, UnsupportedError, explained

_END = b"\nend of trees"


class XGBooster:
    """A bare XGBoost `Booster` as a model of rows: it takes arrays and frames.

    Parameters
    ----------
    booster : xgboost.Booster
    """

    def __init__(self, booster: Any) -> None:
        self.grown = booster
        self.__name__ = "XGBoost Booster"

    def predict(self, X: Any) -> Any:
        """Return what the booster predicts for rows in any container."""
        rows = to_array(X)
        if rows.shape[1] != self.grown.num_features():
            raise DataError(
                explained(
                    self.__name__,
                    f"X with {rows.shape[1]} columns",
                    f"{self.grown.num_features()}, as in training",
                    "Pass the columns that the model was trained on",
                )
            )
        answer = self.grown.inplace_predict(np.asarray(rows, dtype=float), validate_features=False)
        return np.asarray(answer)


def is_booster(model: Any) -> bool:
    """Return whether a model is a bare booster of XGBoost."""
    kind = type(model)
    return kind.__name__ == "Booster" and kind.__module__.partition(".")[0] == "xgboost"


def opened(path: str | os.PathLike[str]) -> Any:
    """Return the model in a file of LightGBM, XGBoost or ONNX.

    Parameters
    ----------
    path : str or path
        ``.txt`` of LightGBM, ``.json`` or ``.ubj`` of XGBoost, ``.onnx``. No file is read that could run code.

    Returns
    -------
    model
        A booster, or an ONNX session.

    Raises
    ------
    DataError
        For a file that is not there, of another kind, or cut off.
    UnsupportedError
        Where the library is not installed.
    """
    file = Path(path)
    opener = _OPENERS.get(file.suffix.lower())
    if opener is None:
        raise DataError(
            explained(
                f"model {str(path)!r}",
                f"a file {file.suffix or 'without a suffix'}",
                ".txt (LightGBM), .json or .ubj (XGBoost), or .onnx",
                "Pass the fitted model itself",
            )
        )
    if not file.is_file():
        raise DataError(explained("model", f"no file {str(path)!r}", "a file", "Check the path"))
    return opener(file)


def _lightgbm(file: Path) -> Any:
    text = file.read_bytes()
    # LightGBM itself ends the process where its text is cut off.
    if not text.startswith(b"tree\n") or _END not in text or not _whole(text):
        raise _broken(file, "LightGBM")
    lightgbm = _library("lightgbm", file)
    try:
        return lightgbm.Booster(model_file=str(file))
    except lightgbm.basic.LightGBMError as error:
        raise _broken(file, "LightGBM") from error


def _whole(text: bytes) -> bool:
    """Return whether the trees are as long as the head of the file says."""
    head = text[: text.find(b"\nTree=")].split(b"\n")
    said = next((line for line in head if line.startswith(b"tree_sizes=")), b"")
    sizes = [int(n) for n in said.partition(b"=")[2].split() if n.isdigit()]
    start = text.find(b"\nTree=") + 1
    return not sizes or start + sum(sizes) == text.index(_END) + 1


def _xgboost(file: Path) -> Any:
    if file.suffix.lower() == ".json":
        try:
            known = "learner" in json.loads(file.read_text())
        except ValueError:
            known = False
        if not known:
            raise _broken(file, "XGBoost")
    xgboost = _library("xgboost", file)
    try:
        return xgboost.Booster(model_file=str(file))
    except xgboost.core.XGBoostError as error:
        raise _broken(file, "XGBoost") from error


def _onnx(file: Path) -> Any:
    runtime = _library("onnxruntime", file)
    try:
        return runtime.InferenceSession(str(file))
    except Exception as error:
        # Its errors have no common base but this; what they say stands behind.
        raise _broken(file, "ONNX") from error


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".txt": _lightgbm,
    ".json": _xgboost,
    ".ubj": _xgboost,
    ".onnx": _onnx,
}


def _library(name: str, file: Path) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnsupportedError(
            explained(
                f"model {str(file)!r}",
                f"no {name}",
                f"{name}, which reads it",
                f"Install it: pip install {name}",
            )
        ) from error


def _broken(file: Path, library: str) -> DataError:
    return DataError(
        explained(
            f"model {str(file)!r}",
            f"a file that is cut off, or none of {library}",
            f"a whole model as {library} saves it",
            "Save it anew",
        )
    )
