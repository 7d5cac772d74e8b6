"""Models from their libraries' own files, and boosters as models of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from skedasis.data.dataset import to_array
from skedasis.errors import DataError, explained
from skedasis.quantity.piecewise import is_piecewise_constant
from skedasis.quantity.saved import boosters, networks, pickles, programs, skops
from skedasis.quantity.saved.checks import head, is_pickled


class XGBooster:
    """A bare XGBoost `Booster` as a model of rows: it takes arrays and frames.

    Parameters
    ----------
    booster : xgboost.Booster
    """

    def __init__(self, booster: Any) -> None:
        self.grown = booster
        self.__name__ = "XGBoost Booster"

    @cached_property
    def piecewise_constant(self) -> bool:
        """Return whether the booster is constant between jumps: it may also be linear."""
        return is_piecewise_constant(self.grown)

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


def opened(path: str | os.PathLike[str], trust: Sequence[str] = (), *, pickle: bool = False) -> Any:
    """Return the model in a file.

    Parameters
    ----------
    path : str or path
        ``.txt`` of LightGBM, ``.json`` or ``.ubj`` of XGBoost, ``.onnx``, ``.skops``, ``.pt2`` of `torch.export.save`;
        ``.pkl``, ``.pickle``, ``.joblib``, ``.pt`` and ``.pth`` where `pickle` is true.
    trust : sequence of str
        Types in a ``.skops`` file that may be made, besides those that skops knows to be harmless.
    pickle : bool
        Whether the file may run code. By default no file is read that could.

    Returns
    -------
    model
        A booster, an ONNX session, an estimator, a torch module.

    Raises
    ------
    DataError
        For a file that is not there, of another kind, cut off, or not trusted.
    UnsupportedError
        Where the library is not installed.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(
            explained(
                f"model {str(path)!r}",
                f"a file {file.suffix or 'without a suffix'}",
                f"one of {', '.join(SUFFIXES)}",
                "Pass the fitted model itself",
            )
        )
    begins = head(file)
    code = suffix in CODE or is_pickled(begins)
    if code and not pickle:
        raise pickles.refused(file)
    if suffix in CODE:
        return CODE[suffix](file)
    if suffix == ".skops":
        return skops.skops(file, trust)
    if suffix == ".pt2":
        return programs.program(file, pickle=pickle)
    return PLAIN[suffix](file)


PLAIN: dict[str, Callable[[Path], Any]] = {
    ".txt": boosters.lightgbm,
    ".json": boosters.xgboost,
    ".ubj": boosters.xgboost,
    ".onnx": networks.onnx,
}
"""Files that are read as they are."""
CODE: dict[str, Callable[[Path], Any]] = {
    ".pkl": pickles.pickled,
    ".pickle": pickles.pickled,
    ".joblib": pickles.pickled,
    ".pt": pickles.torch_pickled,
    ".pth": pickles.torch_pickled,
}
"""Files that run code when they are read."""
SUFFIXES = (*PLAIN, ".skops", ".pt2", *CODE)
"""What the name of a model's file ends with."""
