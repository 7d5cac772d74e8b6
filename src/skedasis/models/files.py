"""Loading models from files: LightGBM, XGBoost, ONNX, skops, pickle.

| file | what it reads |
|---|---|
| `checks` | what every reader looks at first: that there is a file, what it begins with, and how it is refused |
| `boosters` | LightGBM's text, XGBoost's JSON and binary JSON |
| `networks` | ONNX |
| `programs` | what `torch.export.save` wrote, without the pickles that torch would load |
| `skops` | scikit-learn's models as skops writes them |
| `pickles` | pickle, joblib and torch's own: only for who trusts the file, for to read it is to run it |
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import pickle
import re
import zipfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from skedasis.data.dataset import to_array
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.models import torch_export
from skedasis.models.file_checks import broken, content, head, is_pickled, library
from skedasis.models.piecewise_constant import is_piecewise_constant

# ------------------------------------------------------------------------------------------
# LightGBM's text, XGBoost's JSON and binary JSON: numbers only, nothing of them is run.


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


# ------------------------------------------------------------------------------------------
# ONNX: a graph of named operations and their numbers, which onnxruntime runs.


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


# ------------------------------------------------------------------------------------------
# Pickle, joblib and torch's own files. Whoever reads one runs what its author wrote: only for who trusts the file.


_ZIP = b"PK\x03\x04"


def refused(file: Path) -> DataError:
    """Return the refusal of a pickle that nobody vouched for."""
    return DataError(
        explained(
            f"model {str(file)!r}",
            "a pickle, and to load it is to run whatever code is in it",
            "a format that runs nothing (.skops, .onnx, .pt2, .txt, .json, .ubj)",
            "Save it anew; or, if you know who wrote it, pass --trust-pickle, and in Python what joblib.load gives",
        )
    )


def pickled(file: Path) -> Any:
    """Load a pickle, of joblib too. This runs the code that is in it.

    Raises
    ------
    DataError
        For files that are none, and those that are cut off.
    """
    if not is_pickled(head(file)):
        raise broken(file, "pickle or joblib")
    try:
        if importlib.util.find_spec("joblib") is not None:
            return library("joblib", file).load(file)
        with file.open("rb") as stream:
            return pickle.load(stream)  # noqa: S301 - asked for by name, and the question says what it means
    except (ModuleNotFoundError, AttributeError) as error:
        raise UnsupportedError(
            explained(
                f"model {str(file)!r}",
                f"a pickle of what is not here ({error})",
                "the modules that it was made with",
                "Install them, or run from the folder that holds them",
            )
        ) from error
    except Exception as error:
        # Whatever the file does wrong happens here: EOFError, KeyError, UnpicklingError, zlib.error, ...
        raise broken(file, "pickle or joblib", error) from error


def torch_pickled(file: Path) -> Any:
    """Load what `torch.save` wrote. This runs the code that is in it.

    Raises
    ------
    DataError
        For files that are none, those that are cut off, and parameters without a module around them.
    """
    if not head(file).startswith((_ZIP, b"\x80")):
        raise broken(file, "torch")
    torch = library("torch", file, "torch")
    try:
        found = torch.load(file, map_location="cpu", weights_only=False)
    except Exception as error:
        raise broken(file, "torch", error) from error
    if not callable(found):
        raise DataError(
            explained(
                f"model {str(file)!r}",
                f"a {type(found).__name__}, which holds parameters and not what is done with them",
                "a whole module",
                "Save the program: torch.export.save(torch.export.export(module, (rows,)), 'model.pt2')",
            )
        )
    return found


# ------------------------------------------------------------------------------------------
# scikit-learn's models as skops writes them: a list of types and their numbers, of which only known types are made.


_SAFE = (0, 12)
"""The first version without CVE-2025-54412 and CVE-2025-54413."""


SHOWN = 12
"""Types that an error lists; more would hide what to do."""


def skops(file: Path, trust: Sequence[str] = ()) -> Any:
    """Return the object in a file of skops.

    Parameters
    ----------
    file : Path
    trust : sequence of str
        Types that may be made besides those that skops knows to be harmless, by their full names.

    Raises
    ------
    DataError
        For a file with types that are neither known nor named, before any of them is imported; for other files and
        those that are cut off.
    """
    io = library("skops.io", file, "skops")
    _check_version(file)
    if not zipfile.is_zipfile(file):
        raise broken(file, "skops")
    try:
        strange = [str(name) for name in io.get_untrusted_types(file=file)]
    except Exception as error:
        # A file that is none of skops fails as it likes: a key, a type, a name that is not there.
        raise broken(file, "skops", error) from error
    refused = [name for name in strange if name not in trust]
    if refused:
        raise _untrusted(file, refused)
    try:
        # Only what the file needs: skops itself refuses a name that stands for nothing.
        return io.load(file, trusted=[name for name in trust if name in strange])
    except Exception as error:
        raise broken(file, "skops", error) from error


def _check_version(file: Path) -> None:
    """Refuse versions of skops whose own checks can be got around.

    Raises
    ------
    UnsupportedError
    """
    version = importlib.metadata.version("skops")
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if numbers < _SAFE:
        raise UnsupportedError(
            explained(
                f"model {str(file)!r}",
                f"skops {version}, which a file can make run code",
                f"skops {'.'.join(map(str, _SAFE))} or newer",
                "Upgrade it: pip install -U 'skedasis[skops]'",
            )
        )


def _untrusted(file: Path, refused: Sequence[str]) -> DataError:
    listed = ", ".join(refused[:SHOWN])
    more = f" and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
    return DataError(
        explained(
            f"model {str(file)!r}",
            f"types that skops does not know to be harmless: {listed}{more}",
            "known types, or ones that you name",
            "If you know who wrote the file, name each: "
            + " ".join(f"--trust {n}" for n in refused[:SHOWN]),
        )
    )


# ------------------------------------------------------------------------------------------
# Models from their libraries' own files, and boosters as models of rows.


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
        raise refused(file)
    if suffix in CODE:
        return CODE[suffix](file)
    if suffix == ".skops":
        return skops(file, trust)
    if suffix == ".pt2":
        return torch_export.program(file, pickle=pickle)
    return PLAIN[suffix](file)


PLAIN: dict[str, Callable[[Path], Any]] = {
    ".txt": lightgbm,
    ".json": xgboost,
    ".ubj": xgboost,
    ".onnx": onnx,
}
"""Files that are read as they are."""


CODE: dict[str, Callable[[Path], Any]] = {
    ".pkl": pickled,
    ".pickle": pickled,
    ".joblib": pickled,
    ".pt": torch_pickled,
    ".pth": torch_pickled,
}
"""Files that run code when they are read."""


SUFFIXES = (*PLAIN, ".skops", ".pt2", *CODE)
"""What the name of a model's file ends with."""


# ------------------------------------------------------------------------------------------
# XGBoost's models, from the JSON that they are saved in: its decimals name every number of theirs.


def document(
    saved: bytes | bytearray, hook: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> Any:
    r"""Return what XGBoost's JSON says.

    Parameters
    ----------
    saved : bytes
    hook : callable, optional
        What is to stand for an object, given the object; innermost ones come first.

    Raises
    ------
    ValueError
        For what is no JSON.

    Examples
    --------
    >>> document(rb'{"learner": {"feature_names": ["C:\users"]}}')
    {'learner': {'feature_names': ['C:\\users']}}
    """
    # Only names and attributes, which nobody reads, are more than ASCII. Latin-1 makes a character of each byte; a
    # single one of another alphabet would double the memory of the whole text.
    text = saved.decode("latin-1")
    try:
        return json.loads(text, object_hook=hook)
    except ValueError:
        # XGBoost does not escape a backslash before a "u", so that a name such as "C:\users" is no JSON.
        return json.loads(text.replace("\\u", "\\\\u"), object_hook=hook)
