"""XGBoost's model files, JSON and binary JSON: how they are read, and checks before XGBoost reads them.

XGBoost trusts its files: its reader of binary JSON copies as many bytes as the file states, and predictions follow
child indices, feature indices and segments of categories without comparing them with the sizes of arrays. `check`
accepts the files that XGBoost writes, and only those from which every index stays in its array.

The rules follow `UBJReader`, `RegTree::LoadModel`, `GBTreeModel::LoadModel`, `GBLinearModel::LoadModel` and
`Learner::LoadModel` of XGBoost 1.6 to 3.4.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from skedasis._types import Ints, Values
from skedasis.models.file_checks import Malformed

_Object: TypeAlias = Mapping[str, object]
"""A JSON object; lists of numbers of binary JSON are arrays."""
_List: TypeAlias = "list[object] | Values"

_MOST_UNGROWN = 1000
"""Largest number of outputs of a model without trees. In other models each output has its tree or weight."""
_LARGEST_CATEGORY, _MOST_CATEGORY_BITS = 2**24, 2**31
"""The categories that XGBoost supports; bits that it allocates for the sets of categories of all nodes together."""
_DEEPEST = 50
"""Levels of JSON in a value that is not known to us."""
_INTEGER = re.compile(r"-?\d{1,10}\Z", re.ASCII)
_SCORE = re.compile(r"[-+0-9.eE]{1,40}|nan|[-+]?inf(?:inity)?", re.ASCII)


def parse_xgboost_json(
    saved: bytes | bytearray,
    hook: Callable[[dict[str, Any]], object] | None = None,
    pairs: Callable[[list[tuple[str, object]]], object] | None = None,
) -> Any:
    r"""Return the parsed JSON of a saved XGBoost model, whose decimals give every number of the model exactly.

    Parameters
    ----------
    saved : bytes
    hook : callable, optional
        Replaces each JSON object by its return value; inner objects come first.
    pairs : callable, optional
        The same, called with the list of keys and values.

    Raises
    ------
    ValueError
        If the bytes are not JSON.

    Examples
    --------
    >>> parse_xgboost_json(rb'{"learner": {"feature_names": ["C:\users"]}}')
    {'learner': {'feature_names': ['C:\\users']}}
    """
    # Imported here: few models are such files.
    import json

    # Only names and attributes, which are not used, may have characters beyond ASCII. Latin-1 makes one character of
    # each byte; in another decoding a single wider character would double the memory of the whole text.
    text = saved.decode("latin-1")
    try:
        return json.loads(text, object_hook=hook, object_pairs_hook=pairs)
    except ValueError:
        # XGBoost does not escape a backslash before a "u", so a name such as "C:\users" makes the JSON invalid.
        return json.loads(text.replace("\\u", "\\\\u"), object_hook=hook, object_pairs_hook=pairs)


def check(raw: bytes) -> bool:
    """Raise if XGBoost could read outside of its arrays, allocate more than the file holds, or never return.

    Parameters
    ----------
    raw : bytes
        The content of the file: JSON or binary JSON.

    Returns
    -------
    bool
        Whether XGBoost 3.2 and newer cannot read the file, because leaves with several values have an older form.

    Raises
    ------
    Malformed
        With what is wrong.
    """
    if b"\0" in raw[:2] or not raw.startswith(b"{"):
        raise Malformed("no JSON object")
    try:
        # As XGBoost tells them apart: in binary JSON, a letter for the type of its length precedes the first key.
        binary = raw[1:2].isalpha()
        document = _Ubj(raw).document() if binary else parse_xgboost_json(raw, pairs=_as_object)
    except (ValueError, RecursionError) as error:
        raise Malformed("no JSON") from error
    return _check_model(_part(document, "learner"))


def _as_object(pairs: Iterable[tuple[str, object]]) -> dict[str, object] | _Tree:
    """Return a JSON object; of a tree only what is needed to check the model, once the tree itself is checked."""
    items = list(pairs)
    made = dict(items)
    if len(made) != len(items):
        raise Malformed("an entry that occurs twice")
    return _checked_tree(made) if "split_conditions" in made else made


# --- binary JSON ----------------------------------------------------------------------------------


_NUMBERS = {b"i": "b", b"U": "B", b"C": "b", b"I": "h", b"l": "i", b"L": "q", b"d": "f", b"D": "d"}
_ARRAYS = {
    b"i": "i1",
    b"U": "u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
"""Types of single numbers (for `struct`) and of arrays (for NumPy) by their markers."""


class _Ubj:
    """Reader of binary JSON as XGBoost writes it (https://ubjson.org).

    Parameters
    ----------
    raw : bytes
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0

    def document(self) -> object:
        """Return the value that is the whole content."""
        found = self._value(0)
        if self.at != len(self.raw):
            raise Malformed("bytes after its end")
        return found

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.raw) - self.at:
            raise Malformed("a length beyond its end")
        self.at += size
        return self.raw[self.at - size : self.at]

    def _expect(self, marker: bytes) -> None:
        if self._take(len(marker)) != marker:
            raise Malformed("no binary JSON of XGBoost")

    def _length(self) -> int:
        self._expect(b"L")
        return int(struct.unpack(">q", self._take(8))[0])

    def _ends(self, marker: bytes) -> bool:
        """Return whether the marker is next, and go beyond it."""
        ends = self.raw[self.at : self.at + 1] == marker
        self.at += ends
        return ends

    def _value(self, depth: int) -> object:
        if depth > _DEEPEST:
            raise Malformed("too many levels")
        marker = self._take(1)
        if marker == b"{":
            return _as_object(self._entries(depth))
        if marker == b"[":
            return self._array(depth)
        if marker == b"S":
            return self._take(self._length()).decode("latin-1")
        if marker in (b"Z", b"T", b"F"):
            return {b"Z": None, b"T": True, b"F": False}[marker]
        if marker not in _NUMBERS:
            raise Malformed("no binary JSON of XGBoost")
        form = ">" + _NUMBERS[marker]
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _entries(self, depth: int) -> Iterable[tuple[str, object]]:
        while not self._ends(b"}"):
            name = self._take(self._length()).decode("latin-1")
            yield name, self._value(depth + 1)

    def _array(self, depth: int) -> _List:
        if self._ends(b"$"):
            kind = self._take(1)
            if kind not in _ARRAYS:
                raise Malformed("no binary JSON of XGBoost")
            self._expect(b"#")
            dtype = np.dtype(_ARRAYS[kind])
            return np.frombuffer(self._take(self._length() * dtype.itemsize), dtype)
        if self._ends(b"#"):
            length = self._length()
            if length > len(self.raw) - self.at:
                raise Malformed("a length beyond its end")
            return [self._value(depth + 1) for _ in range(length)]
        found: list[object] = []
        while not self._ends(b"]"):
            found.append(self._value(depth + 1))
        return found


# --- trees ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tree:
    """What is needed of a checked tree to check its model.

    Parameters
    ----------
    number : object
        Its `id`.
    columns : int
        Smallest number of columns with which its splits are valid.
    leaf_size : int
        Number of values of a leaf.
    old : bool
        Whether its leaves have several values in the form before XGBoost 3.2.
    bits : int
        Bits that XGBoost allocates for its sets of categories.
    """

    number: object
    columns: int
    leaf_size: int
    old: bool
    bits: int


def _checked_tree(tree: dict[str, object]) -> _Tree:
    """Return the summary of a tree; raise if an index in it is outside of its array."""
    sizes = _part(tree, "tree_param")
    n = _stated(sizes, "num_nodes", 1)
    leaf_size = _stated(sizes, "size_leaf_vector", 0, 0)
    left = _integers(tree, "left_children", n, -1, n - 1)
    right = _integers(tree, "right_children", n, -1, 2**31 - 1)
    inner = left >= 0
    children = np.concatenate([left[inner], right[inner]])
    # Each node has one parent, and the root has none: so no row passes a node twice.
    if ((children < 1) | (children >= n)).any() or len(np.unique(children)) < len(children):
        raise Malformed("nodes that do not form a tree")
    parents = _integers(tree, "parents", n)
    if ((parents[1:] < 0) | (parents[1:] >= n)).any():
        raise Malformed("a parent that is no node")
    feature = _integers(tree, "split_indices", n, 0, 2**32 - 1)
    for key in ("split_conditions", "default_left"):
        _sized(tree, key, n)
    if leaf_size > 1:
        _check_vectors(tree, n, leaf_size, right[~inner])
    bits = _check_categories(tree, n) if "split_type" in tree else 0
    columns = int(feature[inner].max(initial=-1)) + 1
    old = leaf_size > 1 and "leaf_weights" not in tree
    return _Tree(tree.get("id"), columns, leaf_size, old, bits)


def _check_vectors(tree: _Object, n: int, leaf_size: int, leaf: Ints) -> None:
    """Raise if leaves with several values, whose index is in `right_children`, have other values than there are."""
    for key in ("base_weights", "loss_changes", "sum_hessian"):
        _list(tree, key)
    _sized(tree, "base_weights", n * leaf_size)
    if "leaf_weights" in tree:  # since XGBoost 3.2
        count = len(_list(tree, "leaf_weights"))
        if count % leaf_size or ((leaf < 0) | (leaf >= count // leaf_size)).any():
            raise Malformed("leaf_weights of another length than the leaves")


def _check_categories(tree: _Object, n: int) -> int:
    """Return the bits of the sets of categories; raise if a node's segment of categories is not in the list."""
    tests = np.flatnonzero(_integers(tree, "split_type", n, 0, 1))
    nodes = _integers(tree, "categories_nodes", len(tests))
    if (nodes != tests).any():
        raise Malformed("categories_nodes other than the nodes that test categories")
    count = len(_list(tree, "categories"))
    categories = _integers(tree, "categories", count, 0, _LARGEST_CATEGORY)
    begin = _integers(tree, "categories_segments", len(tests), 0, count)
    size = _integers(tree, "categories_sizes", len(tests), 1, count)
    if (begin + size > count).any():
        raise Malformed("a segment beyond the list of categories")
    largest = [int(categories[a : a + b].max()) for a, b in zip(begin, size, strict=True)]
    return sum(largest) + 32 * len(largest)


# --- the model ------------------------------------------------------------------------------------


def _check_model(learner: _Object) -> bool:
    """Raise if the parts of a model do not fit together; return as `check`."""
    stated = _part(learner, "learner_model_param")
    columns = _stated(stated, "num_feature", 0)
    classes = _stated(stated, "num_class", 0)
    targets = _stated(stated, "num_target", 1, 1)
    outputs = max(classes, targets)
    if classes > 1 and targets > 1:
        raise Malformed(f"{classes} classes and {targets} targets")
    _stated(stated, "boost_from_average", 0, 1)
    _check_scores(stated.get("base_score"), outputs)
    _check_objective(_part(learner, "objective"), classes)
    _check_texts(learner, columns)
    _check_depth(learner)
    booster = _part(learner, "gradient_booster")
    name = booster.get("name")
    if name == "gblinear":
        weights = len(_list(_part(booster, "model"), "weights"))
        if weights != (columns + 1) * outputs:
            raise Malformed(f"{weights} weights for {columns} columns and {outputs} outputs")
        return False
    if name not in ("gbtree", "dart"):
        raise Malformed(f"the booster {str(name)[:40]!r}")
    model = _part(_part(booster, "gbtree") if name == "dart" else booster, "model")
    # XGBoost wrote the weights of dropped trees into the booster, and from 3.4 on into the model.
    weighted = [holder for holder in (booster, model) if "weight_drop" in holder]
    for holder in weighted:
        _sized(holder, "weight_drop", len(_list(model, "trees")))
    if name == "dart" and not weighted:
        raise Malformed("no weight_drop")
    _check_cats(model.get("cats"), columns)
    return _check_trees(model, columns, outputs)


def _check_texts(learner: _Object, columns: int) -> None:
    """Raise if names and attributes are no texts, or if there is not one name for each column."""
    for key in ("feature_names", "feature_types"):
        names = learner.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Malformed(f"{key} that are no texts")
        if names and len(names) != columns:
            raise Malformed(f"{len(names)} {key} for {columns} columns")
    if not all(isinstance(text, str) for text in _part(learner, "attributes").values()):
        raise Malformed("attributes that are no texts")


def _check_scores(score: object, outputs: int) -> None:
    """Raise if there is not one intercept, or one for each output."""
    scores = score.strip("[]").split(",") if isinstance(score, str) else []
    if len(scores) not in (1, outputs) or not all(_SCORE.fullmatch(one) for one in scores):
        raise Malformed(f"base_score={str(score)[:40]!r}")


def _check_objective(objective: _Object, classes: int) -> None:
    """Raise if the objective, which turns sums into predictions, has other classes than the model."""
    name = objective.get("name")
    if not isinstance(name, str):
        raise Malformed("no objective")
    if name.startswith("multi:"):
        stated = _part(objective, "softmax_multiclass_param")
        if classes < 1 or _stated(stated, "num_class", 1) != classes:
            raise Malformed(f"the objective {name!r} for {classes} classes")


def _check_trees(model: _Object, columns: int, outputs: int) -> bool:
    """Raise if the trees do not fit to the columns and outputs of the model; return as `check`."""
    stated = _part(model, "gbtree_model_param")
    trees = [tree for tree in _list(model, "trees") if isinstance(tree, _Tree)]
    if not _stated(stated, "num_trees", 0) == len(trees) == len(_list(model, "trees")):
        raise Malformed(f"{len(trees)} trees instead of num_trees")
    _check_iterations(model, stated, len(trees))
    _integers(model, "tree_info", len(trees), 0, outputs - 1)
    for number, tree in enumerate(trees):
        if tree.number != number:
            raise Malformed(f"the tree {number}")
        if tree.columns > columns:
            raise Malformed(f"a split by column {tree.columns - 1} of {columns}")
    if sum(tree.bits for tree in trees) > _MOST_CATEGORY_BITS:
        raise Malformed("too large categories")
    sizes = {max(tree.leaf_size, 1) for tree in trees}
    if sizes - {1} and sizes != {outputs}:
        raise Malformed(f"leaves with {max(sizes)} values for {outputs} outputs")
    if sizes <= {1} and outputs > (len(trees) or _MOST_UNGROWN):
        raise Malformed(f"{len(trees)} trees for {outputs} outputs")
    return any(tree.old for tree in trees)


def _check_iterations(model: _Object, stated: _Object, trees: int) -> None:
    """Raise if the iterations are not successive parts of the trees."""
    parallel = _stated(stated, "num_parallel_tree", 0, 1)
    if "iteration_indptr" in model:
        ends = _integers(model, "iteration_indptr", None, 0, trees)
        if not len(ends) or ends[0] != 0 or ends[-1] != trees or (np.diff(ends) < 0).any():
            raise Malformed("iteration_indptr that does not increase from 0 to num_trees")
    elif not parallel:
        raise Malformed("num_parallel_tree=0")


def _check_cats(cats: object, columns: int) -> None:
    """Raise if the names of categories, which XGBoost compares with those of data frames, are not in their lists."""
    if cats is None:
        return
    if not isinstance(cats, Mapping):
        raise Malformed("cats that are no object")
    names = _list(cats, "enc")
    ends = _integers(cats, "feature_segments", None, 0, 2**31 - 1)
    if not names and not len(ends):
        _integers(cats, "sorted_idx", 0)
        return
    if len(names) != columns or len(ends) != columns + 1 or ends[0] != 0:
        raise Malformed(f"categories for {len(names)} of {columns} columns")
    if (np.diff(ends) != [_category_count(column) for column in names]).any():
        raise Malformed("feature_segments other than the categories")
    order = _integers(cats, "sorted_idx", int(ends[-1]))
    for start, stop in pairwise(ends):
        if (np.sort(order[start:stop]) != np.arange(stop - start)).any():
            raise Malformed("sorted_idx that is no order of the categories")


def _category_count(column: object) -> int:
    """Return the number of categories of a column; raise if the text of one is not among all texts."""
    if not isinstance(column, Mapping):
        raise Malformed("the categories of a column")
    count = len(_list(column, "values"))
    _integers(column, "values", count, -(2**63), 2**63 - 1)
    if "offsets" not in column:
        return count
    starts = _integers(column, "offsets", None, 0, count)
    if (np.diff(starts) < 0).any() or (len(starts) and (starts[0] or starts[-1] != count)):
        raise Malformed("the names of categories")
    return max(len(starts) - 1, 0)


def _check_depth(value: object) -> None:
    """Raise if values are nested so deeply that reading them could exhaust XGBoost's stack."""
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        inside: list[object] = []
        for part in level:
            if isinstance(part, Mapping):
                inside.extend(part.values())
            elif isinstance(part, list):
                inside.extend(one for one in part if isinstance(one, list | Mapping))
        if not inside:
            return
        level = inside
    raise Malformed("too many levels")


# --- entries --------------------------------------------------------------------------------------


def _part(holder: object, key: str) -> _Object:
    """Return an entry that is an object."""
    part = holder.get(key) if isinstance(holder, Mapping) else None
    if not isinstance(part, Mapping):
        raise Malformed(f"no {key}")
    return part


def _list(holder: _Object, key: str) -> _List:
    """Return an entry that is a list or an array."""
    part = holder.get(key)
    if not isinstance(part, list | np.ndarray):
        raise Malformed(f"no {key}")
    return part


def _sized(holder: _Object, key: str, length: int) -> None:
    """Raise if an entry is no list of this length."""
    found = len(_list(holder, key))
    if found != length:
        raise Malformed(f"{found} {key} instead of {length}")


def _stated(holder: _Object, key: str, least: int, default: int | None = None) -> int:
    """Return a number that is written as text, as XGBoost writes the sizes of its model."""
    text = holder.get(key, default if default is None else str(default))
    if not isinstance(text, str) or not _INTEGER.match(text) or not least <= int(text) < 2**31:
        raise Malformed(f"{key}={str(text)[:40]!r}")
    return int(text)


def _integers(
    holder: _Object,
    key: str,
    length: int | None,
    least: int = -(2**31),
    most: int = 2**31 - 1,
) -> Ints:
    """Return a list of integers in a range."""
    part = _list(holder, key)
    try:
        numbers = np.asarray(part)
    except ValueError as error:  # lists of different lengths
        raise Malformed(f"{key} that are no integers") from error
    if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iub"):
        raise Malformed(f"{key} that are no integers")
    if length is not None and len(numbers) != length:
        raise Malformed(f"{len(numbers)} {key} instead of {length}")
    if len(numbers) and not (numbers.min() >= least and numbers.max() <= most):
        raise Malformed(f"{key} outside of {least} to {most}")
    return numbers.astype(np.int64)
