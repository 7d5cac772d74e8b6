"""Checks of skops files: their archive and arrays before skops reads them, and the objects that skops has made.

skops makes only objects of known or trusted types, but does not look at what is in them. An archive may state other
sizes than it has, or unfold to a thousand times its size; an array may state any shape; and scikit-learn's compiled
code follows the sizes and indices of fitted attributes without comparing them with the sizes of arrays.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.models.file_checks import Malformed, read_archive


class _Tree(Protocol):
    """scikit-learn's compiled tree."""

    children_left: Ints
    children_right: Ints
    feature: Ints
    node_count: int
    n_features: int


class _Machine(Protocol):
    """What scikit-learn passes to LIBSVM."""

    support_: Ints
    support_vectors_: Floats
    _n_support: Ints
    _dual_coef_: Floats
    _intercept_: Floats


class _Sparse(Protocol):
    """A compressed sparse matrix or array of SciPy."""

    def check_format(self, full_check: bool = ...) -> None: ...


_COMPRESSED_SPARSE = {
    f"scipy.{form}_{kind}" for form in ("csr", "csc") for kind in ("matrix", "array")
}
_CLASSIFIERS = ("sklearn.SVC", "sklearn.NuSVC")
_VECTOR_MACHINES = (*_CLASSIFIERS, "sklearn.SVR", "sklearn.NuSVR", "sklearn.OneClassSVM")


def checked_archive(file: Path) -> bytes:
    """Return the archive of a skops file with uncompressed parts, whose arrays are as large as they state.

    Raises
    ------
    Malformed
    """
    import zipfile

    parts = read_archive(file)
    for name, raw in parts.items():
        _check_array(name, raw)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    return made.getvalue()


def _check_array(name: str, raw: bytes) -> None:
    """Raise if an array has not as many bytes as its shape says."""
    if name.endswith(".npz"):  # the arrays of a sparse matrix
        for part, inside in read_archive(io.BytesIO(raw)).items():
            _check_array(part, inside)
    if not name.endswith(".npy"):
        return
    stream = io.BytesIO(raw)
    try:
        version = np.lib.format.read_magic(stream)
        first = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    except Exception as error:  # ValueError, and errors of the parser of Python's literals
        raise Malformed("an array without a valid shape") from error
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(raw) - stream.tell():
        raise Malformed(f"an array of shape {shape} in {len(raw)} bytes")


def check_object(model: object) -> None:
    """Raise if compiled code of scikit-learn or SciPy would read outside of an array of an object or its parts.

    Raises
    ------
    Malformed
    """
    for part in _parts(model):
        kind = f"{type(part).__module__.partition('.')[0]}.{type(part).__name__}"
        if kind == "sklearn.Tree":
            _check_tree(cast("_Tree", part))
        elif kind in _VECTOR_MACHINES and "support_" in vars(part):
            _check_vector_machine(cast("_Machine", part), kind)
        elif kind in _COMPRESSED_SPARSE:
            try:
                cast("_Sparse", part).check_format(full_check=True)
            except ValueError as error:
                raise Malformed(f"a sparse matrix with wrong indices ({error})") from error


def _parts(model: object) -> Iterator[object]:
    """Yield an object, its attributes and what is in its containers, each once."""
    waiting, seen = [model], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | bool | type):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Mapping):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.flat if part.dtype.kind == "O" else [])
        else:
            waiting.extend(_attributes(part).values())


def _attributes(part: object) -> dict[str, object]:
    """Return the attributes of an object, none of a compiled one."""
    try:
        return vars(part)
    except TypeError:
        return {}


def _check_tree(tree: _Tree) -> None:
    """Raise if a child or a feature of scikit-learn's `Tree` does not exist."""
    left, right, n = tree.children_left, tree.children_right, tree.node_count
    inner = left != -1
    children = np.concatenate([left[inner], right[inner]])
    if ((children < 1) | (children >= n)).any() or len(np.unique(children)) < len(children):
        raise Malformed("nodes that do not form a tree")
    feature = tree.feature[inner]
    if ((feature < 0) | (feature >= tree.n_features)).any():
        raise Malformed("a split by a column that does not exist")


def _check_vector_machine(machine: _Machine, kind: str) -> None:
    """Raise if the arrays of a support vector machine, which LIBSVM reads, have other sizes than its vectors."""
    vectors = machine.support_vectors_.shape[0]
    counts = np.asarray(machine._n_support)  # noqa: SLF001 - the array that is passed to LIBSVM
    classes = len(counts) if kind in _CLASSIFIERS else 2
    # Others have one count of vectors, and a number after it that nothing reads.
    counts = counts if kind in _CLASSIFIERS else counts[:1]
    coefficients = machine._dual_coef_.shape
    intercepts = np.shape(machine._intercept_)
    if (
        coefficients != (classes - 1, vectors)
        or intercepts != (classes * (classes - 1) // 2,)
        or (counts < 0).any()
        or counts.sum() != vectors
        or len(machine.support_) != vectors
    ):
        raise Malformed("a support vector machine whose arrays have other sizes than its vectors")
