"""Pickle, joblib and torch's own files. Whoever reads one runs what its author wrote: only for who trusts the file."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from typing import Any

from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.quantity.saved.checks import broken, head, is_pickled, library

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
