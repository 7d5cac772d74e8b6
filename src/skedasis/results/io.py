"""Results in files: NumPy arrays and a JSON header. No pickle: opening a file runs no code."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from skedasis.cells import Cells
from skedasis.data.schema import Feature
from skedasis.errors import DataError, explained
from skedasis.moments import Moments
from skedasis.results.effect import BinStats, Curves, Effect, Rows
from skedasis.results.effects import Effects
from skedasis.results.spec import About, Spec
from skedasis.typing import Json

FORMAT = 1
_HEADER = "header"
_PLAIN = ("x", "value", "heterogeneity", "std_error", "freedom")
_PARTS: dict[str, type[Any]] = {"bins": BinStats, "rows": Rows, "curves": Curves, "cells": Cells}


def save(result: Effect | Effects, path: str | Path) -> None:
    """Write a result into an npz file.

    Parameters
    ----------
    result : Effect or Effects
    path : str or Path
        The name is used as it is.
    """
    several = isinstance(result, Effects)
    effects = list(result.effects.values()) if isinstance(result, Effects) else [result]
    arrays: dict[str, Any] = {}
    headers = []
    for i, effect in enumerate(effects):
        header, own = _taken_apart(effect)
        headers.append(header)
        arrays.update({f"{i}.{k}": v for k, v in own.items()})
    header: Json = {"skedasis": FORMAT, "several": several, "effects": headers}
    if isinstance(result, Effects):
        header["provenance"] = result.provenance
    arrays[_HEADER] = np.array(json.dumps(header))
    with Path(path).open(
        "wb"
    ) as file:  # an open file keeps NumPy from appending ".npz" to the name
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load(path: str | Path) -> Any:
    """Read a result that was saved.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Effect or Effects
        Equal to what was saved.

    Raises
    ------
    DataError
        For a file that is none of these, or of a later version.

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
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file[_HEADER]))
            arrays = {k: file[k] for k in file.files if k != _HEADER}
    except (ValueError, KeyError, OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataError(
            explained(
                "load",
                f"{path}, which is no saved result",
                "a file that save wrote",
                "Save the result again",
            )
        ) from error
    if header.get("skedasis", 0) > FORMAT:
        raise DataError(
            explained(
                "load",
                f"format {header['skedasis']}",
                f"format {FORMAT} or earlier",
                "Update skedasis",
            )
        )
    effects = [_put_together(h, i, arrays) for i, h in enumerate(header["effects"])]
    if header["several"]:
        return Effects({e.feature: e for e in effects}, header["provenance"])
    return effects[0]


def _taken_apart(effect: Effect) -> tuple[Json, dict[str, Any]]:
    arrays = {name: getattr(effect, name) for name in _PLAIN}
    header: Json = {
        "importance": effect.importance,
        "score": effect.score,
        "spec": effect.spec.to_json(),
        "about": asdict(effect.about),
        "provenance": effect.provenance,
        "moments": list(effect.moments),
    }
    label = effect.about.feature.label
    if not isinstance(label, (str, int, float)):
        header["about"]["feature"]["label"] = effect.feature
    for part, kind in _PARTS.items():
        value = getattr(effect, part)
        header[part] = None
        if value is not None:
            header[part] = {}
            for f in fields(kind):
                entry = getattr(value, f.name)
                if isinstance(entry, np.ndarray):
                    arrays[f"{part}.{f.name}"] = entry
                else:
                    header[part][f.name] = entry
    for name, moments in effect.moments.items():
        arrays.update({f"moments.{name}.{k}": v for k, v in moments.arrays().items()})
    return header, arrays


def _put_together(header: Json, i: int, arrays: dict[str, Any]) -> Effect:
    def own(name: str) -> Any:
        return arrays[f"{i}.{name}"]

    parts = {}
    for part, kind in _PARTS.items():
        entries = header[part]
        if entries is not None:
            parts[part] = kind(
                **{
                    f.name: entries[f.name] if f.name in entries else own(f"{part}.{f.name}")
                    for f in fields(kind)
                }
            )
    moments = {
        name: Moments(*(own(f"moments.{name}.{f.name}") for f in fields(Moments)))
        for name in header["moments"]
    }
    about = header["about"]
    feature = about.pop("feature")
    if feature["levels"] is not None:
        feature["levels"] = tuple(feature["levels"])
    return Effect(
        **{name: own(name) for name in _PLAIN},
        importance=header["importance"],
        score=header["score"],
        about=About(Feature(**feature), **about),
        spec=Spec(**header["spec"]),
        moments=moments,
        provenance=header["provenance"],
        **parts,
    )
