"""Results in files: NumPy arrays and a JSON header. No pickle: opening a file runs no code.

A file is a zip archive of NumPy's (``.npz``). Its array ``header`` is one text: ``{"skedasis": 3, "result": …}``, the
result taken apart as `skedasis.results.packing` says; all its other arrays are named there.
"""

from __future__ import annotations

import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skedasis.data.features import Feature
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError, explained
from skedasis.results.diagnosis import Diagnosis, Verdict
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance, LocalImportance
from skedasis.results.models.several import EffectOfModels, EffectsOfModels
from skedasis.results.models.several_more import ImportanceOfModels, SurfaceOfModels
from skedasis.results.packing import Packer, unpacked
from skedasis.results.parts import BinStats, Curves, LevelStats, MissingPoint, Rows
from skedasis.results.spec import About, Spec
from skedasis.results.statistics.statistics import Chance, Statistic, Statistics
from skedasis.results.surfaces.pair_parts import CellStats, PairRows
from skedasis.results.surfaces.side import Side
from skedasis.results.surfaces.surface import Surface
from skedasis.stats.grid import Cells
from skedasis.stats.heterogeneity_score import HeterogeneityScore
from skedasis.stats.moments import Moments

FORMAT = 3
"""Written."""
_READ = (2, FORMAT)
"""Format 2 has fields that no longer exist, which are left out."""

_HEADER = "header"
_RESULTS = (
    *(Diagnosis, Effect, Effects, Importance, Surface),
    *(EffectOfModels, EffectsOfModels, ImportanceOfModels, SurfaceOfModels),
    *(Chance, Statistics),
)
_PARTS = (
    *(About, BinStats, CellStats, Cells, Curves, Feature, HeterogeneityScore),
    *(LevelStats, LocalImportance, MissingPoint, Moments, Statistic, TimeAxis, Verdict),
)
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (*_RESULTS, *_PARTS, PairRows, Rows, Side, Spec)
}
_BROKEN = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, EOFError),
    *(SyntaxError, RuntimeError, OverflowError, struct.error, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What NumPy, zip, JSON and we ourselves may raise on bytes that nobody meant."""


def save(result: Any, path: str | Path) -> None:
    """Write a result, or a dictionary of results, into one npz file.

    Parameters
    ----------
    result : Effect, Effects, Surface, Importance, Diagnosis or dict
        A dictionary is what `explain` gives for several outputs or for a list of pairs: by output, or by pair of names.
    path : str or Path
        The name is used as it is.

    Raises
    ------
    DataError
        For anything else.

    Notes
    -----
    Levels of categorical features, and columns' labels, keep their types where these are text, numbers, booleans, None,
    dates, or tuples of these. Other objects, such as the intervals of pandas, come back as their text, by which a
    result knows its levels as well.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> pairs = sd.explain(lambda X: X[:, 0] * X[:, 1], X, [(0, 1), (0, 2)], method=sd.ALE(bins=3))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.npz"
    >>> save(pairs, path)
    >>> list(sd.load(path))
    [('x0', 'x1'), ('x0', 'x2')]
    """
    if not _is_result(result):
        raise DataError(
            explained(
                "save",
                f"{type(result).__name__}",
                "an Effect, Effects, a Surface, an Importance, a Diagnosis, or a dictionary of these",
                "Pass what explain returned",
            )
        )
    packer = Packer(_KINDS)
    header = {"skedasis": FORMAT, "result": packer.packed(result, "result")}
    arrays: dict[str, Any] = {
        _HEADER: np.array(json.dumps(header, allow_nan=False)),
        **packer.arrays,
    }
    # An open file keeps NumPy from appending ".npz" to the name.
    with Path(path).open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load(path: str | Path) -> Any:
    """Read a result that was saved.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Effect, Effects, Surface, Importance, Diagnosis or dict
        With the same numbers, bit for bit. It is another object: compare arrays, not results.

    Raises
    ------
    DataError
        For a file that is none of these, or of a format that is not read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> e = sd.explain(lambda X: X[:, 0], X, 0, method="ale")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x0.npz"
    >>> e.save(path)
    >>> bool((sd.load(path).value == e.value).all())
    True
    """
    try:
        # Opened here: NumPy leaves a file open that turns out to be none of its own.
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            header = json.loads(str(file[_HEADER]))
            version = int(header["skedasis"])
            result = None
            if version in _READ:
                older = version < FORMAT
                result = unpacked(header["result"], _arrays(file), _KINDS, older=older)
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except MemoryError as error:
        raise _no_result(path, "whose arrays do not fit into memory") from error
    except _BROKEN as error:
        raise _no_result(path) from error
    if version not in _READ:
        fix = "Update skedasis" if version > FORMAT else "Explain again, and save the result again"
        expected = "format " + " or ".join(map(str, _READ))
        raise DataError(explained("load", f"format {version}", expected, fix))
    if not _is_result(result):
        raise _no_result(path)
    return result


def _no_result(path: str | Path, why: str = "which is no saved result") -> DataError:
    return DataError(
        explained(
            "load",
            f"{path}, {why}",
            "a file that save wrote",
            "Save the result again",
        )
    )


def _arrays(file: Any) -> Callable[[str], Any]:
    """Return how arrays are got: each is read once, so that what was one array is one again."""
    known: dict[str, Any] = {}

    def array(name: str) -> Any:
        if name not in known:
            known[name] = file[name]
        return known[name]

    return array


def _is_result(value: Any) -> bool:
    """Return whether this is a result, or a dictionary of results."""
    if isinstance(value, _RESULTS):
        return True
    return isinstance(value, Mapping) and len(value) > 0 and all(map(_is_result, value.values()))
