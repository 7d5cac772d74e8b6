"""Check of LightGBM's text files before LightGBM reads them.

LightGBM trusts its files: it follows child indices, feature indices and offsets of categories without comparing them
with the sizes of its arrays, and allocates what a file declares. A file with other numbers ends the process, or never
returns. `check` accepts the files that LightGBM writes, and only those from which every index stays in its array.

The rules follow `GBDT::LoadModelFromString`, `Tree::Tree(const char*, ...)` and `Tree::GetLeaf` of LightGBM 4.
"""

from __future__ import annotations

import json
import re

import numpy as np

from skedasis._types import Bools, Ints
from skedasis.models.file_checks import Malformed

_TREE = b"\nTree="
_END_OF_TREES = b"\nend of trees"
_PARAMETERS, _END_OF_PARAMETERS = b"parameters:", b"end of parameters"
_CATEGORIES = b"\npandas_categorical:"

# Possessive, so that no memory is kept for each number.
_INTEGERS = re.compile(rb"(?:-?\d{1,10}(?: |\Z))*+\Z")
_NO_NUMBER = re.compile(rb" (?!-?(?:\d[0-9.e+-]*+|inf|nan) |\Z)")
"""A space that is not followed by a number. (Python before 3.11.5 matches possessive groups wrongly.)"""
_NUMBER_CHARACTERS = b"0123456789+-.e "
_BEGINNINGS = (b"  ", b" .", b" e", b" +", b" - ", b" -.", b" -e", b" -+", b" --")
"""How a text of these characters goes on where a space is not followed by a number."""
_CATEGORY_LIST = re.compile(r"-?\d{1,10}(?::-?\d{1,10})*\Z")
_PARAMETER = re.compile(rb"\[\w+: .*\]\Z")
_RANGE = re.compile(r"\[[^\s:\]]{1,40}:[^\s:\]]{1,40}\]\Z")

_INNER = (  # fields with a number for each inner node; LightGBM can do without the later ones
    b"split_feature",
    b"threshold",
    b"left_child",
    b"right_child",
    b"decision_type",
    b"split_gain",
    b"internal_value",
    b"internal_weight",
    b"internal_count",
)
_NEEDED = 4
"""Number of fields in `_INNER` that LightGBM cannot do without."""
_LEAVES = (b"leaf_value", b"leaf_weight", b"leaf_count", b"leaf_const", b"num_features")
_INDICES = (b"split_feature", b"left_child", b"right_child", b"decision_type")
"""Fields whose numbers LightGBM uses as indices or bits."""
_FLOATS = (
    *(b"threshold", b"split_gain", b"internal_value", b"internal_weight"),
    *(b"leaf_value", b"leaf_weight", b"leaf_const", b"leaf_coeff", b"shrinkage"),
)
"""Fields in which a word that is no number ends the process. In other fields LightGBM takes it as 0."""
_LINEAR = (b"leaf_const", b"num_features")
_FIELDS = {
    *_INNER,
    *_LEAVES,
    b"num_leaves",
    b"num_cat",
    b"cat_boundaries",
    b"cat_threshold",
    b"is_linear",
    b"leaf_features",
    b"leaf_coeff",
    b"shrinkage",
}
"""Fields of a tree. LightGBM reads at most 22 lines of a tree, which are these."""

_CATEGORICAL, _LARGEST_DECISION_TYPE = 1, 11
"""The bit of a node that tests categories, and all bits that LightGBM sets."""


Fields = dict[bytes, bytes]


def check(text: bytes) -> None:
    """Raise if LightGBM could read outside of its arrays, allocate more than the file holds, or never return.

    Parameters
    ----------
    text : bytes
        The content of the file.

    Raises
    ------
    Malformed
        With what is wrong.
    """
    # LightGBM itself ends the process if its text is cut off. A carriage return would end a line for it, a zero byte
    # the whole text.
    if not text.startswith(b"tree\n") or b"\r" in text or b"\0" in text:
        raise Malformed("no text of LightGBM")
    stop = text.find(_END_OF_TREES)
    if stop < 0:
        raise Malformed("its end is missing")
    try:
        text.decode()  # LightGBM returns names as such text
    except UnicodeDecodeError as error:
        raise Malformed("not in UTF-8") from error
    first, *parts = text[:stop].split(_TREE)
    if not parts:
        raise Malformed("no trees")
    head = _header(first.decode())
    _check_sizes(head, parts)
    columns = _integer(head, "max_feature_idx", 0) + 1
    _check_columns(head, columns)
    _check_outputs(head, len(parts))
    _check_trees([_fields(t, part) for t, part in enumerate(parts)], columns)
    _check_parameters(text[stop:].split(b"\n"))
    _check_levels(text)


# --- the header -----------------------------------------------------------------------------------


def _header(first: str) -> dict[str, str]:
    """Return the fields of the header."""
    head: dict[str, str] = {}
    for line in first.split("\n"):
        key, _, rest = line.partition("=")
        # LightGBM drops empty parts: for it, "=num_class=3" is a field, too.
        if not line:
            continue
        if not key.isidentifier() or key in head or ("=" in rest and key != "feature_names"):
            raise Malformed(f"the line {line[:40]!r} of its header")
        head[key] = rest
    return head


def _integer(head: dict[str, str], key: str, least: int) -> int:
    """Return a number of the header."""
    text = head.get(key, "")
    if not re.fullmatch(r"-?\d{1,9}", text, re.ASCII) or int(text) < least:
        raise Malformed(f"{key}={text[:40]!r} in its header")
    return int(text)


def _check_sizes(head: dict[str, str], parts: list[bytes]) -> None:
    """Raise if the header does not state the length of every tree. Old files do not state it."""
    if "tree_sizes" not in head:
        return
    # A tree begins with "Tree=", which the split has removed, and includes the line break before the next one.
    sizes = " ".join(str(len(part) + len(_TREE)) for part in parts)
    if head["tree_sizes"].strip() != sizes:
        raise Malformed("trees of other lengths than its header states")


def _check_columns(head: dict[str, str], columns: int) -> None:
    """Raise if there is not one name and one range, or list of categories, for each column."""
    for key in ("feature_names", "feature_infos"):
        count = len([part for part in head.get(key, "").split(" ") if part])
        if count != columns:
            raise Malformed(f"{count} {key} for {columns} columns")
    for info in head["feature_infos"].split():
        if info != "none" and not _RANGE.match(info):
            if not _CATEGORY_LIST.match(info):
                raise Malformed(f"the range {info[:40]!r} of a column")
            if max(abs(int(c)) for c in info.split(":")) >= 2**31:
                raise Malformed(f"the categories {info[:40]!r} of a column")


def _check_outputs(head: dict[str, str], trees: int) -> None:
    """Raise if the number of outputs, for which LightGBM allocates memory, is not that of the trees."""
    outputs = _integer(head, "num_class", 1)
    _integer(head, "label_index", -(10**9))
    if "num_tree_per_iteration" in head:
        each = _integer(head, "num_tree_per_iteration", 1)
        if each != outputs:
            raise Malformed(f"num_tree_per_iteration={each} and num_class={outputs}")
    if trees % outputs:
        raise Malformed(f"{trees} trees for {outputs} outputs")
    name, *options = head.get("objective", "").split() or [""]
    stated = [option for option in options if option.startswith("num_class")]
    expected = [f"num_class:{outputs}"] if name.startswith("multiclass") else []
    if stated != expected or ("objective" in head and not name):
        raise Malformed(f"the objective {head['objective'][:40]!r} for {outputs} outputs")


def _check_parameters(lines: list[bytes]) -> None:
    """Raise if the parameters at the end of the file, of which LightGBM makes JSON, are not names with values."""
    if _PARAMETERS not in lines:
        return
    after = lines[lines.index(_PARAMETERS) + 1 :]
    if _END_OF_PARAMETERS not in after:
        raise Malformed("its end is missing")
    for line in after[: after.index(_END_OF_PARAMETERS)]:
        if line and not _PARAMETER.match(line):
            raise Malformed(f"the parameter {line[:40].decode(errors='replace')!r}")


def _check_levels(text: bytes) -> None:
    """Raise if the levels of pandas' columns are not lists of names and numbers."""
    last = text[text.rfind(_CATEGORIES) :] if _CATEGORIES in text else b""
    line = last.removeprefix(_CATEGORIES).strip()
    try:
        stored = json.loads(line) if line else None
    except (ValueError, RecursionError) as error:
        raise Malformed("pandas_categorical is no JSON") from error
    lists = stored is None or (
        isinstance(stored, list)
        and all(isinstance(part, list) for part in stored)
        and all(isinstance(c, str | int | float) for part in stored for c in part)
    )
    if not lists:
        raise Malformed("pandas_categorical is no list of levels for each column")


# --- the trees ------------------------------------------------------------------------------------


def _fields(number: int, part: bytes) -> Fields:
    """Return the fields of a tree, of which only the keys are checked."""
    name, _, rest = part.partition(b"\n")
    lines, _, after = rest.partition(b"\n\n")
    fields: Fields = {}
    for line in lines.rstrip(b"\n").split(b"\n"):
        key, equals, content = line.partition(b"=")
        if key not in _FIELDS or not equals or key in fields:
            raise Malformed(f"the line {line[:40].decode(errors='replace')!r} of tree {number}")
        fields[key] = content
    if not name.isdigit() or after.strip(b"\n"):
        raise Malformed(f"tree {number} is not followed by the next one")
    for key in (b"num_leaves", b"num_cat", b"leaf_value"):
        if key not in fields:
            raise Malformed(f"tree {number} has no {key.decode()}")
    return fields


def _check_trees(trees: list[Fields], columns: int) -> None:
    """Raise if an index of a tree is outside of the array that it refers to.

    All trees are checked at once, field by field, which is much faster than one tree at a time.
    """
    leaves = _ints([tree[b"num_leaves"] for tree in trees], "num_leaves", len(trees))
    sets = _ints([tree[b"num_cat"] for tree in trees], "num_cat", len(trees))
    _check_range(leaves, 1, 2**31 - 1, "num_leaves")
    _check_range(sets, 0, 2**31 - 1, "num_cat")
    linear = _ints([tree.get(b"is_linear", b"0") for tree in trees], "is_linear", len(trees))
    _check_range(linear, 0, 1, "is_linear")
    for key in _FLOATS:
        _check_numbers(_texts(trees, key), key.decode())
    counts = leaves.tolist()
    _lengths(trees, counts, b"leaf_value")
    # LightGBM reads nothing else of a tree without splits, for which older versions write other lengths.
    grown = [(t, tree) for t, tree in enumerate(trees) if counts[t] > 1 or linear[t]]
    trees, counts = [tree for _, tree in grown], [counts[t] for t, _ in grown]
    sets = sets[[t for t, _ in grown]]
    for key in _LEAVES[1:]:
        _lengths(trees, counts, key)
    inner = [n - 1 for n in counts]
    for i, key in enumerate(_INNER):
        _lengths(trees, inner, key, needed=i < _NEEDED)
    splits = sum(inner)
    index: dict[bytes, Ints] = {}
    for key in _INDICES:
        texts = _texts(trees, key)
        index[key] = _ints(texts, key.decode(), splits if texts or key in _INNER[:_NEEDED] else 0)
    _check_children(index[b"left_child"], index[b"right_child"], np.array(counts, np.int64))
    _check_range(index[b"split_feature"], 0, columns - 1, "split_feature")
    _check_range(index[b"decision_type"], 0, _LARGEST_DECISION_TYPE, "decision_type")
    if b"n" in b" ".join(_texts(trees, b"threshold")):
        raise Malformed("a threshold that is not a finite number")
    _check_sets(trees, index[b"decision_type"] & _CATEGORICAL > 0, inner, sets.tolist())
    _check_linear([tree for tree in trees if tree.get(b"is_linear") == b"1"], columns)


def _check_children(left: Ints, right: Ints, leaves: Ints) -> None:
    """Raise if the nodes do not form trees: every node but the root is the child of one node that precedes it."""
    inner = leaves - 1
    number = np.arange(len(left)) - np.repeat(np.cumsum(inner) - inner, inner)
    start = np.repeat(np.cumsum(leaves + inner) - leaves - inner, inner)
    below, last = np.repeat(inner, inner), np.repeat(leaves, inner)
    reached = np.zeros(int((leaves + inner).sum()), bool)
    for child in (left, right):
        # LightGBM stores leaf i as ~i. A node precedes its children, because splits are numbered as they are made.
        if ((child >= below) | (child < -last) | ((child >= 0) & (child <= number))).any():
            raise Malformed("a node whose child is not a later node of its tree")
        reached[start + np.where(child >= 0, child, below + ~child)] = True
    if np.count_nonzero(reached) != len(left) + len(right):
        raise Malformed("a node with two parents")


def _check_sets(
    trees: list[Fields], by_category: Bools, inner: list[int], counts: list[int]
) -> None:
    """Raise if a split by categories has no set of categories among those of its tree."""
    # Without the field, all splits are numeric.
    grouped = np.split(by_category, np.cumsum(inner)[:-1]) if len(by_category) else []
    for tree, tests, count in zip(trees, grouped, counts, strict=False):
        if tests.any():
            texts = [
                text
                for text, test in zip(tree[b"threshold"].split(b" "), tests, strict=True)
                if test
            ]
            # In such a node, the threshold is the index of the set within the tree.
            _check_range(_ints(texts, "threshold", len(texts)), 0, count - 1, "the index of a set")
    for tree, count in zip(trees, counts, strict=True):
        if not count:
            continue
        bounds = _ints([tree.get(b"cat_boundaries", b"")], "cat_boundaries", count + 1)
        if bounds[0] != 0 or (np.diff(bounds) < 0).any():
            raise Malformed("cat_boundaries that do not increase from 0")
        words = _ints([tree.get(b"cat_threshold", b"")], "cat_threshold", int(bounds[-1]))
        _check_range(words, 0, 2**32 - 1, "cat_threshold")


def _check_linear(trees: list[Fields], columns: int) -> None:
    """Raise if the linear model of a leaf refers to other columns than there are."""
    for tree in trees:
        if b"num_features" not in tree:
            continue
        counts = _ints([tree[b"num_features"]], "num_features", None)
        _check_range(counts, 0, columns, "num_features")
        for key in (b"leaf_features", b"leaf_coeff"):
            # LightGBM writes one space too many after each leaf.
            if len(tree.get(key, b"").split()) != counts.sum():
                raise Malformed(f"{key.decode()} of another length than num_features states")
        for key in (b"leaf_const", b"leaf_coeff"):
            if not all(_is_normal(number) for number in tree.get(key, b"").split()):
                raise Malformed(f"{key.decode()} that is too large or too small")
        indices = _ints([b" ".join(tree.get(b"leaf_features", b"").split())], "leaf_features", None)
        _check_range(indices, 0, columns - 1, "leaf_features")


# --- numbers --------------------------------------------------------------------------------------


def _texts(trees: list[Fields], key: bytes) -> list[bytes]:
    """Return a field of those trees that have it with a number in it."""
    return [tree[key] for tree in trees if tree.get(key)]


def _lengths(trees: list[Fields], counts: list[int], key: bytes, *, needed: bool = False) -> None:
    """Raise if a tree has more or fewer numbers in a field than nodes, or if only some trees have the field."""
    having = [(tree[key], count) for tree, count in zip(trees, counts, strict=True) if key in tree]
    everywhere = needed or (having and key not in _LINEAR)
    if everywhere and len(having) != len(trees):
        raise Malformed(f"a tree without {key.decode()}")
    if any((text.count(b" ") + 1 if text else 0) != count for text, count in having):
        raise Malformed(f"{key.decode()} of another length than its tree")


def _ints(texts: list[bytes], key: str, count: int | None) -> Ints:
    """Return the integers in texts; raise if there is something else, or if there are not `count` of them."""
    joined = b" ".join(texts)
    if not _INTEGERS.match(joined):
        raise Malformed(f"{key} that are no integers")
    return _counted(np.fromstring(joined, np.int64, sep=" "), key, count)


def _check_numbers(texts: list[bytes], key: str) -> None:
    """Raise if there is something else than numbers in texts."""
    if key == "leaf_coeff":  # LightGBM writes one space too many after each leaf.
        texts = [b" ".join(text.split()) for text in texts if text.strip()]
    if not texts:
        return
    joined = b" " + b" ".join(texts) + b" "
    # Ten times as fast as the regular expression, which is needed for words such as "inf".
    if joined.translate(None, _NUMBER_CHARACTERS):
        fits = _NO_NUMBER.search(joined) is None
    else:
        fits = not any(part in joined for part in _BEGINNINGS)
    if not fits:
        raise Malformed(f"{key} that is not a number")


def _is_normal(number: bytes) -> bool:
    """Return whether a number is 0, a word, or within the range of normal floats: others end the process."""
    value = abs(float(number))
    if value in (0, np.inf):
        mantissa = number.partition(b"e")[0]
        return b"inf" in number if value else not mantissa.strip(b"-0.")
    return not value < np.finfo(float).tiny


def _counted(numbers: Ints, key: str, count: int | None) -> Ints:
    if count is not None and len(numbers) != count:
        raise Malformed(f"{len(numbers)} {key} instead of {count}")
    return numbers


def _check_range(numbers: Ints, least: int, most: int, key: str) -> None:
    """Raise if a number is not in a range."""
    if len(numbers) and not (numbers.min() >= least and numbers.max() <= most):
        raise Malformed(f"{key} outside of {least} to {most}")
