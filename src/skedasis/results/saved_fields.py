"""What the fields of results in a file may hold, so that a file is read whole or refused."""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Sized
from dataclasses import is_dataclass
from datetime import date, timedelta
from functools import cache
from importlib import import_module
from typing import (
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)
from typing import is_typeddict as _is_typed_dictionary

import numpy as np

from skedasis import _MODULES
from skedasis._types import DType, Floats
from skedasis.results.axis import BinPairAxis, GridPairAxis, LevelAxis, LevelPairAxis, PairAxis
from skedasis.results.described import Hint, has_types, hints_of, is_base, is_ours, subclasses
from skedasis.results.display import SavedResult
from skedasis.results.immutable import Immutable
from skedasis.results.observed import OBSERVED_MEANS

SavedParts: TypeAlias = Mapping[str, Any]
"""The values of the fields of one object, of any type until they are checked."""
Hints: TypeAlias = tuple[Any, ...]
SavedClass: TypeAlias = type[Any]
"""A dataclass of a file."""
Kinds: TypeAlias = Mapping[str, SavedClass]
"""The classes of which files have objects, by name."""


class FieldError(ValueError):
    """A field has a value that no result has."""


# --- classes --------------------------------------------------------------------------------------


def import_results() -> None:
    """Import the modules of all public results, so that their classes are known."""
    for module in dict.fromkeys(_MODULES.values()):
        if module.startswith("skedasis.results."):
            import_module(module)


def saved_kinds() -> Kinds:
    """Return the classes of which files may have objects: all results, and what the types of their fields name.

    Classes whose types are unknown are left out; of one name counts the class of this package, else the newest.
    """
    import_results()
    results = filter(is_dataclass, subclasses(SavedResult))
    return _with_parts(tuple(filter(has_types, results)))


@cache
def _with_parts(results: tuple[SavedClass, ...]) -> Kinds:
    """Return classes and those of their parts by name, without abstract ones."""
    found: dict[SavedClass, None] = {}
    waiting = [*results]
    for kind in waiting:  # to which more are added
        if kind not in found and has_types(kind):
            found[kind] = None
            for part in (part for hint in hints_of(kind).values() for part in _classes_in(hint)):
                waiting += [part, *subclasses(part)]
    return {kind.__name__: kind for kind in sorted(found, key=is_ours) if not is_base(kind)}


def _classes_in(hint: Hint) -> Iterator[SavedClass]:
    """Yield the dataclasses that a type names."""
    if is_dataclass(hint):
        yield cast("SavedClass", hint)
    for argument in get_args(hint):
        yield from _classes_in(argument)


# --- numbers --------------------------------------------------------------------------------------


def _finite(values: Floats) -> bool:
    return bool(np.isfinite(values).all())


def _not_negative(values: Floats) -> bool:
    return not (values < 0).any()  # NaN stands for what is unknown


def _increasing(values: Floats) -> bool:
    return _finite(values) and bool((np.diff(values) > 0).all())


def _sorted(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return not np.isinf(known).any() and bool((np.diff(known) >= 0).all())


FINITE = (_finite, "finite numbers")
NOT_NEGATIVE = (_not_negative, "numbers that are not negative")
INCREASING = (_increasing, "finite, increasing numbers")
SORTED = (_sorted, "sorted numbers")

FieldRule = tuple[Callable[[Floats], bool], str]
"""A test of the numbers of an array, and what it demands."""


class SavedLayout(NamedTuple):
    """The shape of a field, and rules for its numbers."""

    shape: str
    rules: tuple[FieldRule, ...] = ()


def _layout(shape: str, *rules: FieldRule) -> SavedLayout:
    return SavedLayout(shape, rules)


_COUNTS = FINITE, NOT_NEGATIVE


LAYOUT: Mapping[str, Mapping[str, SavedLayout]] = {
    "BinStats": {
        "low": _layout("K"),
        "high": _layout("K"),
        "count": _layout("K", *_COUNTS),
        "weight": _layout("K", *_COUNTS),
        "effect": _layout("K"),
        "std": _layout("K", NOT_NEGATIVE),
        "std_error": _layout("K", NOT_NEGATIVE),
        "empty": _layout("K"),
        "trusted": _layout("K"),
        "slope_change": _layout("K", FINITE),
    },
    "CellStats": {
        "count": _layout("*S", *_COUNTS),
        "weight": _layout("*S", *_COUNTS),
        "effect": _layout("*S"),
        "std": _layout("*S", NOT_NEGATIVE),
        "empty": _layout("*S"),
        "std_error": _layout("*S", NOT_NEGATIVE),
    },
    "Cells": {"edges": _layout("m", INCREASING)},
    "ChangeRows": {
        "row": _layout("r", NOT_NEGATIVE),
        "x": _layout("each r"),
        "before": _layout("r"),
        "change": _layout("r"),
        "weight": _layout("r", *_COUNTS),
        "region": _layout("r"),
    },
    "Curves": {
        "value": _layout("r m"),
        "x": _layout("r"),
        "row": _layout("r", NOT_NEGATIVE),
        "weight": _layout("r", *_COUNTS),
    },
    "Diagnosis": {
        "r2_others": _layout("F"),
        "r2_with_target": _layout("F"),
        "partners": _layout("F"),
        "verdicts": _layout("F"),
    },
    "Effect": {
        "axis": _layout("m"),
        "value": _layout("m"),
        "accumulated_std": _layout("m", NOT_NEGATIVE),
        "std_error": _layout("m", NOT_NEGATIVE),
        "df": _layout("m"),
    },
    "EffectDifference": {
        "axis": _layout("m"),
        "value": _layout("m"),
        "std_error": _layout("m", NOT_NEGATIVE),
        "df": _layout("m"),
        "first": _layout("m"),
        "second": _layout("m"),
        "weight": _layout("m", *_COUNTS),
        "detail": _layout("m", NOT_NEGATIVE),
    },
    "ErrorBlocks": {
        "factor": _layout("m r"),
        "block": _layout("r", *_COUNTS),
        "df": _layout("B"),
    },
    "GridPairAxis": {"points": _layout("m", INCREASING)},
    "Importance": {
        "features": _layout("F"),
        "values": _layout("F n"),
        "std_error": _layout("F", NOT_NEGATIVE),
        "df": _layout("F"),
    },
    "LevelStats": {
        "values": _layout("L"),
        "labels": _layout("L"),
        "count": _layout("L", *_COUNTS),
        "weight": _layout("L", *_COUNTS),
    },
    "LocalImportance": {
        "features": _layout("F"),
        "row": _layout("r", NOT_NEGATIVE),
        "before": _layout("r"),
        "after": _layout("F r n"),
        "weight": _layout("r", *_COUNTS),
    },
    "Moments": {
        "count": _layout("*S", *_COUNTS),
        "weight": _layout("*S", *_COUNTS),
        "weight2": _layout("*S", *_COUNTS),
        "mean": _layout("*S"),
        "m2": _layout("*S", NOT_NEGATIVE),
    },
    "MultiModelEffect": {
        "axis": _layout("m"),
        "models": _layout("M"),
        "values": _layout("M m"),
    },
    "MultiModelResult": {"models": _layout("M"), "values": _layout("M …")},
    "NumericAxis": {"points": _layout("m", SORTED)},
    "Observed": {
        "points": _layout("K"),
        "low": _layout("K"),
        "high": _layout("K"),
        "split_values": _layout("S"),
        "count": _layout("S K", *_COUNTS),
        "weight": _layout("S K", *_COUNTS),
        **{mean: _layout("S K") for mean in OBSERVED_MEANS},
        **{f"{mean}_error": _layout("S K", NOT_NEGATIVE) for mean in OBSERVED_MEANS},
        "df": _layout("S K"),
    },
    "PairRows": {
        "x0": _layout("r"),
        "x1": _layout("r"),
        "effect": _layout("r …"),
        "weight": _layout("r", *_COUNTS),
        "slope0": _layout("r …"),
        "slope1": _layout("r …"),
        "across": _layout("r …"),
    },
    "RegionScores": {"regions": _layout("R"), "regions_error": _layout("R", NOT_NEGATIVE)},
    "Rows": {
        "x": _layout("r"),
        "effect": _layout("r …"),
        "weight": _layout("r", *_COUNTS),
        "bin_slope": _layout("r …"),
    },
    "Spread": {
        "points": _layout("K", INCREASING),
        "value": _layout("K", NOT_NEGATIVE),
        "std_error": _layout("K", NOT_NEGATIVE),
        "weight": _layout("K", *_COUNTS),
    },
    "Surface": {
        "value": _layout("*S"),
        "heterogeneity": _layout("*S", NOT_NEGATIVE),
    },
    "ValueStepsEffect": {"values": _layout("V", INCREASING)},
}
"""Class → field → shape and rules. Subclasses add to what their bases have."""


# --- the check of one object ----------------------------------------------------------------------


def check_fields(kind: SavedClass, parts: SavedParts) -> None:
    """Raise if the values are not those of a result."""
    hints = hints_of(kind)
    for name, value in parts.items():
        if name in hints and not _fits(value, hints[name]):
            raise FieldError(f"{kind.__name__}.{name} is {_described(value)}")
    sizes: dict[str, tuple[int, ...]] = {}
    for name, layout in _layouts(kind).items():
        value = parts.get(name)
        if value is not None:
            _check_layout(f"{kind.__name__}.{name}", value, layout, sizes)
    for base in kind.__mro__:
        if base.__name__ in _ACROSS:
            wrong = _ACROSS[base.__name__](parts)
            if wrong:
                raise FieldError(f"{kind.__name__}: {wrong}")


@cache
def _layouts(kind: SavedClass) -> dict[str, SavedLayout]:
    found: dict[str, SavedLayout] = {}
    for base in reversed(kind.__mro__):
        found |= LAYOUT.get(base.__name__, {})
    return found


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"{type(value).__name__} {value!r:.40}"


# --- types ----------------------------------------------------------------------------------------


def _fits(value: object, hint: Hint) -> bool:
    """Return whether a value is of a type. Integers are floats, booleans are not."""
    hint = _without_alias(hint)
    origin = get_origin(hint)
    if isinstance(hint, TypeVar):
        return _fits_variable(value, hint)
    if _is_typed_dictionary(hint):
        return _fits_entries(value, hint)
    if origin in _FORMS:
        return _FORMS[origin](value, get_args(hint))
    if hint in _PLAIN:
        return _PLAIN[hint](value)
    return isinstance(value, origin or hint)


@runtime_checkable
class _Alias(Protocol):
    """A name for a type made by Python's statement `type`, as `NDArray` is since NumPy 2.5."""

    __value__: Hint


@cache
def _without_alias(hint: Hint) -> Hint:
    """Return the type that a name for a type, with or without arguments, stands for."""
    name = get_origin(hint) or hint
    if not isinstance(name, _Alias):
        return hint
    arguments = get_args(hint)
    return _without_alias(name.__value__[arguments] if arguments else name.__value__)


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_level(value: object) -> bool:
    """Return whether this is a level, a label or a key, as files hold them."""
    if isinstance(value, tuple):
        return all(map(_is_level, value))
    return value is None or isinstance(value, (str, bool, int, float, date, timedelta))


_PLAIN: Mapping[Hint, Callable[[object], bool]] = {
    Any: lambda _: True,
    object: lambda _: True,
    None: lambda value: value is None,
    Hashable: _is_level,
    int: lambda value: _is_number(value, int),
    float: lambda value: _is_number(value, int, float),
}
"""Type → whether a value is of it; of others values are instances."""


def _fits_any(value: object, hints: Hints) -> bool:
    return any(_fits(value, hint) for hint in hints)


def _fits_mapping(value: object, hints: Hints) -> bool:
    return isinstance(value, Mapping) and all(
        _fits(k, hints[0]) and _fits(v, hints[1]) for k, v in value.items()
    )


def _fits_list(value: object, hints: Hints) -> bool:
    return isinstance(value, list) and all(_fits(v, hints[0]) for v in value)


def _fits_tuple(value: object, hints: Hints) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(hints) == 2 and hints[1] is ...:
        return all(_fits(v, hints[0]) for v in value)
    return len(value) == len(hints) and all(map(_fits, value, hints))


_FORMS: Mapping[Hint, Callable[[object, Hints], bool]] = {
    Union: _fits_any,
    types.UnionType: _fits_any,
    Literal: lambda value, known: any(value == v and type(value) is type(v) for v in known),
    np.ndarray: lambda value, hints: (
        isinstance(value, np.ndarray) and _has_type(value.dtype, hints[1])
    ),
    tuple: _fits_tuple,
    list: _fits_list,
    Sequence: _fits_list,
    dict: _fits_mapping,
    Mapping: _fits_mapping,
}
"""Form of a type with arguments → whether a value is of it."""


def _fits_variable(value: object, hint: TypeVar) -> bool:
    """Return whether a value is of one of the types that a type variable may stand for."""
    bound = hint.__bound__
    # "Surface | MultiModelSurface", which its module does not import.
    if isinstance(bound, ForwardRef):
        names = {name.strip() for name in bound.__forward_arg__.split("|")}
        return any(base.__name__ in names for base in type(value).__mro__)
    return _fits_any(value, hint.__constraints__ or (bound or Immutable,))


def _fits_entries(value: object, hint: SavedClass) -> bool:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        return False
    hints = _entries(hint)
    # Of several models it is a list of what each one has.
    return all(
        _fits(v, hints[k]) or (isinstance(v, list) and all(_fits(one, hints[k]) for one in v))
        for k, v in value.items()
        if k in hints
    )


@cache
def _entries(hint: SavedClass) -> dict[str, Hint]:
    return get_type_hints(hint, localns={"JsonValue": object})


_LEVELS = "OUSbiufMm"
"""Kinds of arrays of levels, edges and points in the type of their feature."""


def _has_type(dtype: DType, hint: Hint) -> bool:
    """Return whether an array has the type of its annotation, in the byte order of this machine."""
    wanted = get_args(hint)[0]
    if not dtype.isnative:
        return False
    if isinstance(wanted, type) and issubclass(wanted, np.integer):
        return dtype.kind in "iu"
    if isinstance(wanted, type) and issubclass(wanted, np.generic):
        return dtype == np.dtype(wanted)
    return dtype.kind in _LEVELS and dtype != np.float16


# --- shapes ---------------------------------------------------------------------------------------


def _check_layout(
    name: str, value: object, layout: SavedLayout, sizes: dict[str, tuple[int, ...]]
) -> None:
    """Check the shape and the numbers of one field; `sizes` has those of the letters so far."""
    if layout.shape.startswith("each "):
        for one in value if isinstance(value, tuple) else ():
            _check_layout(name, one, SavedLayout(layout.shape[5:], layout.rules), sizes)
        return
    if not isinstance(value, np.ndarray):
        _check_shape(name, (len(value),) if isinstance(value, Sized) else (), layout.shape, sizes)
        return
    _check_shape(name, value.shape, layout.shape, sizes)
    for holds, wanted in layout.rules:
        if not holds(value):
            raise FieldError(f"{name} has not {wanted}")


def _check_shape(
    name: str, shape: tuple[int, ...], pattern: str, sizes: dict[str, tuple[int, ...]]
) -> None:
    letters = pattern.split()
    if pattern.startswith("*"):
        found = {pattern: shape}
    else:
        first_only = letters[-1:] == ["…"]
        letters = letters[:-1] if first_only else letters
        if len(shape) < len(letters) or (len(shape) > len(letters) and not first_only):
            raise FieldError(f"{name} has the shape {shape}")
        found = {letter: (size,) for letter, size in zip(letters, shape, strict=False)}
    for letter, size in found.items():
        if sizes.setdefault(letter, size) != size:
            raise FieldError(f"{name} has the shape {shape}, which other fields contradict")


# --- what several fields of one object have to agree on -------------------------------------------


def _of_effect(parts: SavedParts) -> str:
    """Return what is wrong between the parts of an effect: lengths of bins, cells and curves, codes of levels."""
    axis = parts["axis"]
    rows = parts.get("rows")
    curves = parts.get("curves")
    levels = axis.levels if isinstance(axis, LevelAxis) else None
    if curves is not None and curves.value.shape[1] != len(axis):
        return "its curves have another number of points"
    observed = parts.get("observed")
    if levels is not None and rows is not None and not _are_codes(rows.x, len(levels)):
        return "its rows have values that are no levels"
    if levels is not None and observed is not None and not _are_codes(observed.points, len(levels)):
        return "it was observed at values that are no levels"
    return ""


def _of_binned_effect(parts: SavedParts) -> str:
    bins = parts["bins"]
    cells = parts["cells"]
    # A constant feature has one bin, both of whose edges are its value.
    constant = len(bins) == 1 and bins.low[0] == bins.high[0]
    if len(bins) and not constant and not _increasing(bins.edges):
        return "its bins have edges that do not increase"
    if not np.array_equal(bins.low[1:], bins.high[:-1]):
        return "its bins are not adjacent"
    if len(bins) and not np.isin(bins.edges, cells.edges).all():
        return "its bins are no unions of its cells"
    across = parts["moments"].get("gap")
    if any(not 0 <= k < len(cells) for k in cells.gaps):
        return "its cells have no such gaps"
    if across is not None and len(across.weight) != 2 * len(cells.gaps):
        return "its moments are of other gaps"
    return ""


def _of_difference(parts: SavedParts) -> str:
    errors = parts["errors"]
    if len(errors.factor) != len(parts["value"]):
        return "its errors are of other points"
    fits = len(errors.df) == max(errors.block, default=-1) + 1
    return "" if fits else "its errors have other parts"


def _of_value_steps(parts: SavedParts) -> str:
    steps = parts["moments"].get("up")
    if steps is not None and len(steps.weight) != len(parts["values"]):
        return "its steps are between other values"
    return ""


def _length(side: PairAxis) -> int:
    if isinstance(side, BinPairAxis):
        return len(side.bins.edges)
    return len(
        side.points if isinstance(side, GridPairAxis) else cast("LevelPairAxis", side).levels
    )


def _of_surface(parts: SavedParts) -> str:
    points = parts["points"]
    value = parts["value"]
    if value.shape != tuple(len(x) for x in points):
        return "its values have another shape than its points"
    sides = parts["sides"]
    if value.shape != tuple(map(_length, sides)):
        return "its axes have other numbers of points than its values"
    main = parts.get("main")
    if main is not None and tuple(len(m) for m in main) != value.shape:
        return "its main effects have another shape than its points"
    return ""


def _of_regions(parts: SavedParts) -> str:
    """Return what is wrong with a tree: numbers of nodes and regions out of range, or that do not belong together."""
    nodes = parts["nodes"]
    effects = parts["effects"]
    leaves = [node.region for node in nodes if not node.children]
    if sorted(leaves) != list(range(len(effects))):
        return "its leaves are not its regions"
    for k, node in enumerate(nodes):
        if any(not k < child < len(nodes) or nodes[child].parent != k for child in node.children):
            return "its nodes are no tree"
        if node.parent >= k or (node.parent < 0) != (k == 0):
            return "its nodes are no tree"
    scores = parts["scores"]
    return "" if len(scores.regions) == len(effects) else "its scores are of other regions"


def _of_levels(parts: SavedParts) -> str:
    values = parts["values"]
    distinct = {(type(v), v) for v in values}
    return "" if len(distinct) == len(values) else "it has a level twice"


def _are_codes(codes: Floats, size: int) -> bool:
    known = codes[~np.isnan(codes)]
    return bool(((known >= 0) & (known < size) & (known == np.floor(known))).all())


_ACROSS: Mapping[str, Callable[[SavedParts], str]] = {
    "BinnedEffect": _of_binned_effect,
    "Effect": _of_effect,
    "EffectDifference": _of_difference,
    "LevelStats": _of_levels,
    "Regions": _of_regions,
    "Surface": _of_surface,
    "ValueStepsEffect": _of_value_steps,
}
"""Class → a function that returns what is wrong between the fields of an object; an empty text if nothing is."""
