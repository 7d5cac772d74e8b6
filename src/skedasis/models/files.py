"""Loading models from files: LightGBM, XGBoost, CatBoost, ONNX, skops, torch.export, pickle.

`load_model` chooses the reader by the suffix of the file. Formats that hold only data (LightGBM's text, XGBoost's JSON
and binary JSON, CatBoost's binary format, ONNX, skops with known types, plain `torch.export` programs) are always read.
Pickles, of joblib and torch too, run code when they are loaded, and are read only if the user trusts the file
(`pickle=True`, in the shell ``--trust-pickle``). The shell and `skedasis.models.registry` call `load_model`.

`XGBooster` adapts a bare XGBoost `Booster`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from skedasis._types import Container, Floats, Values
from skedasis.data.dataset import to_array
from skedasis.errors import DataError, UnsupportedError
from skedasis.models import lightgbm_text, onnx_files, skops_files, xgboost_files
from skedasis.models.file_checks import (
    PICKLE,
    Malformed,
    broken,
    content,
    head,
    is_pickled,
    library,
)
from skedasis.models.introspection import with_article
from skedasis.models.piecewise_constant import is_piecewise_constant
from skedasis.models.protocols import AdaptedModel

# --- LightGBM and XGBoost -------------------------------------------------------------------------


def _read_lightgbm(file: Path) -> object:
    """Return the booster in a text file of LightGBM.

    Raises
    ------
    DataError
        If the file is truncated or of another kind, or if an index in it is outside of its array.
    """
    if not head(file).startswith(b"tree\n"):
        raise broken(file, "LightGBM")
    text = content(file)
    try:
        lightgbm_text.check(text)
    except Malformed as error:
        raise broken(file, "LightGBM", error) from error
    lightgbm = library("lightgbm", file)
    try:
        # The text that was checked: another one might have been written into the file since.
        return lightgbm.Booster(model_str=text.decode())
    except Exception as error:  # LightGBMError; ValueError, KeyError of the parameters in the file
        raise broken(file, "LightGBM", error) from error


def _read_xgboost(file: Path) -> object:
    """Return the booster in a JSON or binary JSON file of XGBoost.

    Raises
    ------
    DataError
        If the file is truncated or of another kind, or if an index in it is outside of its array.
    """
    if not head(file).startswith(b"{"):
        raise broken(file, "XGBoost")
    raw = content(file)
    try:
        old_leaves = xgboost_files.check(raw)
    except Malformed as error:
        if b'"features_info"' in raw:
            got, expected = "a model of CatBoost in JSON", "CatBoost's binary format"
            fix = "Save it as .cbm: model.save_model('model.cbm')"
            raise DataError(f"model {str(file)!r}", got, expected, fix) from error
        raise broken(file, "XGBoost", error) from error
    xgboost = library("xgboost", file)
    if old_leaves and tuple(map(int, xgboost.__version__.split(".")[:2])) >= (3, 2):
        raise broken(
            file, "XGBoost", "leaves with several values as XGBoost before 3.2 stored them"
        )
    try:
        # The bytes that were checked: others might have been written into the file since.
        return xgboost.Booster(model_file=bytearray(raw))
    except Exception as error:  # XGBoostError; ValueError of what is no text
        raise broken(file, "XGBoost", error) from error


# --- CatBoost -------------------------------------------------------------------------------------


def _read_catboost(file: Path) -> object:
    """Return the model in a binary file of CatBoost: a classifier if it has classes, else a regressor.

    Raises
    ------
    DataError
        If the file is truncated or of another kind.
    """
    if not head(file).startswith(b"CBM1"):
        raise broken(file, "CatBoost")
    catboost, path = library("catboost", file), str(file)
    try:  # from the path: CatBoost reads beyond the end of bytes that it gets
        model = catboost.CatBoost().load_model(path)
        kind = catboost.CatBoostClassifier if len(model.classes_) else catboost.CatBoostRegressor
    except Exception as error:  # CatBoostError; others of what is no text
        raise broken(file, "CatBoost", error) from error
    try:
        # The loss decides whether `predict` returns the exponential, as for Poisson.
        loss = model.get_all_params()["loss_function"]
    except catboost.CatBoostError:  # a sum of models has none
        return kind().load_model(path)
    return kind(loss_function=loss).load_model(path)


# --- ONNX -----------------------------------------------------------------------------------------


def _read_onnx(file: Path) -> object:
    """Return an onnxruntime session.

    Raises
    ------
    DataError
        If the file is truncated or of another kind.
    """
    runtime = library("onnxruntime", file, "onnx")
    raw = content(file)
    try:
        onnx_files.check(raw, file)
    except Malformed as error:
        raise broken(file, "ONNX", error) from error
    try:
        return onnx_files.session(runtime, file)
    except Exception as error:  # the errors of onnxruntime have no other common base
        raise broken(file, "ONNX") from error


# --- pickle, joblib and torch.save: loading them runs the code in them ----------------------------

_ZIP = b"PK\x03\x04"


def _untrusted_pickle(file: Path) -> DataError:
    """Return the error for a pickle that the user did not declare as trusted."""
    return DataError(
        f"model {str(file)!r}",
        "a pickle, which can run any code when it is loaded",
        "a format that holds only data (.skops, .onnx, .pt2, .txt, .json, .ubj, .cbm)",
        "Save the model in such a format, or, if you know who wrote the file, pass --trust-pickle in the shell, "
        "and in Python the model that joblib.load returns",
    )


def _read_pickle(file: Path) -> object:
    """Load a file of pickle or joblib. This runs the code in it.

    Raises
    ------
    DataError
        If the file is truncated or of another kind.
    UnsupportedError
        If the modules that the pickle refers to cannot be imported.
    """
    if not is_pickled(head(file)):
        raise broken(file, "pickle or joblib")
    try:
        if importlib.util.find_spec("joblib") is not None:
            return library("joblib", file).load(file)
        with file.open("rb") as stream:
            return pickle.load(stream)  # noqa: S301 - the user declared the file as trusted
    except (ModuleNotFoundError, AttributeError) as error:
        raise UnsupportedError(
            f"model {str(file)!r}",
            f"a pickle of objects whose modules are missing ({error})",
            "the modules that were imported when it was saved",
            "Install them, or run from the folder that contains them",
        ) from error
    except Exception as error:
        # A malformed file raises any error: EOFError, KeyError, UnpicklingError, zlib.error, ...
        raise broken(file, "pickle or joblib", error) from error


def _read_torch_pickle(file: Path) -> object:
    """Load a file of `torch.save`. This runs the code in it.

    Raises
    ------
    DataError
        If the file is truncated or of another kind, or holds parameters without their module.
    """
    if not head(file).startswith((_ZIP, PICKLE)):
        raise broken(file, "torch")
    torch = library("torch", file, "torch")
    try:
        model = torch.load(file, map_location="cpu", weights_only=False)
    except Exception as error:
        raise broken(file, "torch", error) from error
    if not callable(model):
        raise DataError(
            f"model {str(file)!r}",
            f"{with_article(type(model).__name__)}, which holds parameters without their module",
            "a whole module",
            "Save the program, for any number of rows: torch.export.save(torch.export.export(module, (rows,), "
            "dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)), 'model.pt2')",
        )
    return model


# --- skops: types and their data; only known types are made ---------------------------------------

_FIRST_SAFE_VERSION = (0, 12)
"""The first version of skops without CVE-2025-54412 and CVE-2025-54413."""

_SHOWN = 12
"""Number of types that an error message lists; more would hide the advice that follows them."""


def _read_skops(file: Path, trust: Sequence[str] = ()) -> object:
    """Return the object in a file of skops.

    Parameters
    ----------
    file : Path
    trust : sequence of str
        Full names of types that may be made, in addition to those that skops knows to be harmless.

    Raises
    ------
    DataError
        If the file has types that are neither known nor trusted, before any of them is imported; or if it is truncated
        or of another kind.
    """
    io = library("skops.io", file, "skops")
    _check_version(file)
    import zipfile  # with its compressors it costs as much as a third of NumPy

    if not zipfile.is_zipfile(file):
        raise broken(file, "skops")
    try:
        archive = skops_files.checked_archive(file)
        unknown = [str(name) for name in io.get_untrusted_types(data=archive)]
    except Exception as error:
        # A malformed file raises any error: KeyError, TypeError, AttributeError, ...
        raise broken(file, "skops", error) from error
    untrusted = [name for name in unknown if name not in trust]
    if untrusted:
        raise _untrusted_types(file, untrusted)
    try:
        # Only the types in the file: skops raises for others that it cannot find.
        model = io.loads(archive, trusted=[name for name in trust if name in unknown])
        skops_files.check_object(model)
    except Exception as error:
        raise broken(file, "skops", error) from error
    return model


def _check_version(file: Path) -> None:
    """Raise if the installed skops has a known vulnerability.

    Raises
    ------
    UnsupportedError
    """
    from importlib import metadata  # costs 20 ms, which `import skedasis` need not pay

    version = metadata.version("skops")
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if numbers < _FIRST_SAFE_VERSION:
        raise UnsupportedError(
            f"model {str(file)!r}",
            f"skops {version}, in which a file can run code",
            f"skops {'.'.join(map(str, _FIRST_SAFE_VERSION))} or newer",
            "Upgrade it: pip install -U 'skedasis[skops]'",
        )


def _untrusted_types(file: Path, types: Sequence[str]) -> DataError:
    listed = ", ".join(types[:_SHOWN])
    more = f" and {len(types) - _SHOWN} more" if len(types) > _SHOWN else ""
    return DataError(
        f"model {str(file)!r}",
        f"types that skops does not know to be harmless: {listed}{more}",
        "types that skops knows, or that you name as trusted",
        "If you know who wrote the file, name each: "
        + " ".join(f"--trust {n}" for n in types[:_SHOWN]),
    )


# --- XGBoost's booster as a model of rows -------------------------------------------


class XGBooster(AdaptedModel):
    """A bare XGBoost `Booster` as a model of rows, which takes arrays and frames.

    Parameters
    ----------
    booster : xgboost.Booster
    """

    def __init__(self, booster: Any) -> None:
        self.grown = booster
        self.__name__ = "XGBoost Booster"

    @property
    def piecewise_constant(self) -> bool:
        """Return whether the booster is piecewise constant; it may also be linear (gblinear)."""
        return self._has_trees

    @cached_property
    def _has_trees(self) -> bool:  # asking the booster writes all of its settings as JSON
        return is_piecewise_constant(self.grown)

    @property
    def takes_codes(self) -> bool:
        """Return whether the booster was trained on categories."""
        return "c" in (self.grown.feature_types or ())

    @property
    def columns(self) -> list[str] | None:
        """Return the names of the columns that the booster was trained on, if they had names."""
        return self.grown.feature_names

    def predict(self, X: Container) -> Values:
        """Return the booster's predictions for rows in any container."""
        if not self._has_trees:  # XGBoost predicts by linear boosters only from its own container
            data = importlib.import_module("xgboost").DMatrix(self._numbers(X))
            return np.asarray(self.grown.predict(data, validate_features=False))
        # XGBoost looks up the categories of a data frame; the numbers of an array are their codes.
        named = self.takes_codes and not isinstance(X, np.ndarray)
        best = best_iteration(self.grown.attributes())
        response = self.grown.inplace_predict(
            X if named else self._numbers(X),
            iteration_range=(0, 0 if best is None else best + 1),
            validate_features=False,
        )
        return np.asarray(response)

    def _numbers(self, X: Container) -> Floats:
        rows = to_array(X)
        if rows.shape[1] != self.grown.num_features():
            raise DataError(
                self.__name__,
                f"X with {rows.shape[1]} columns",
                f"{self.grown.num_features()} columns, as in training",
                "Pass the columns that the model was trained on",
            )
        return np.asarray(rows, dtype=float)


def is_booster(model: object) -> bool:
    """Return whether a model is a bare XGBoost `Booster`."""
    kind = type(model)
    return kind.__name__ == "Booster" and kind.__module__.partition(".")[0] == "xgboost"


def best_iteration(attributes: Mapping[str, str]) -> int | None:
    """Return the last iteration that the predictions of a booster use, from its attributes; None if they use all.

    After early stopping the `predict` of XGBoost's estimators ends there, that of a `Booster` does not. A booster in
    the file of an estimator is the estimator's model.
    """
    best = attributes.get("best_iteration") if "scikit_learn" in attributes else None
    return None if best is None else int(best)


# --- from a path to a model -----------------------------------------------------------------------


def load_model(
    path: str | os.PathLike[str], trust: Sequence[str] = (), *, pickle: bool = False
) -> object:
    """Return the model in a file.

    Parameters
    ----------
    path : str or path
        ``.txt`` of LightGBM, ``.json`` or ``.ubj`` of XGBoost, ``.cbm`` of CatBoost, ``.onnx``, ``.skops``, ``.pt2`` of
        `torch.export.save`; ``.pkl``, ``.pickle``, ``.joblib``, ``.pt`` and ``.pth`` if `pickle` is true.
    trust : sequence of str
        Full names of types in a ``.skops`` file that may be made, in addition to those that skops knows to be harmless.
    pickle : bool
        Whether the file may run code. By default, files that could run code are not read.

    Returns
    -------
    model
        A booster, an ONNX session, an estimator, a torch module.

    Raises
    ------
    DataError
        If the file does not exist, is truncated, of another kind, or not trusted.
    UnsupportedError
        If the library that reads it is not installed.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(
            f"model {str(path)!r}",
            f"a file with suffix {file.suffix}" if file.suffix else "a file without a suffix",
            f"one of {', '.join(SUFFIXES)}",
            "Save the model in one of these formats, or pass the fitted model itself",
        )
    first_bytes = head(file)
    runs_code = suffix in _READERS_OF_CODE or is_pickled(first_bytes)
    if runs_code and not pickle:
        raise _untrusted_pickle(file)
    if suffix in _READERS_OF_CODE:
        return _READERS_OF_CODE[suffix](file)
    if suffix == ".skops":
        return _read_skops(file, trust)
    if suffix == ".pt2":
        from skedasis.models import torch_export

        return torch_export.program(file, pickle=pickle)
    return _READERS_OF_DATA[suffix](file)


_READERS_OF_DATA: dict[str, Callable[[Path], object]] = {
    ".txt": _read_lightgbm,
    ".json": _read_xgboost,
    ".ubj": _read_xgboost,
    ".cbm": _read_catboost,
    ".onnx": _read_onnx,
}
"""Readers of formats that hold only data, and need no further argument."""

_READERS_OF_CODE: dict[str, Callable[[Path], object]] = {
    ".pkl": _read_pickle,
    ".pickle": _read_pickle,
    ".joblib": _read_pickle,
    ".pt": _read_torch_pickle,
    ".pth": _read_torch_pickle,
}
"""Readers of formats that run code when they are loaded."""

SUFFIXES = (*_READERS_OF_DATA, ".skops", ".pt2", *_READERS_OF_CODE)
"""Suffixes of the files that `load_model` reads."""
