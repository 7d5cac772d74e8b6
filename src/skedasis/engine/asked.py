"""What types `explain` takes, and what it gives for them: for type checkers and editors alone."""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex, TypeAlias, TypedDict

from skedasis.methods.base import Form, Parameters
from skedasis.methods.permutation import PFI
from skedasis.quantities.outputs import Several
from skedasis.quantities.tree_evaluator import Wish
from skedasis.stats.moments import WeightKind

One: TypeAlias = str | SupportsIndex
Pair: TypeAlias = tuple[One, One]
Pairs: TypeAlias = list[tuple[str, str]] | list[tuple[int, int]] | list[Pair]
Many: TypeAlias = list[str] | list[int] | list[One] | None

Models: TypeAlias = list[Any] | tuple[Any, ...]
ModelsOfSeveral: TypeAlias = list[Several] | tuple[Several, ...]

Importances: TypeAlias = PFI | Literal["pfi"]
Curves: TypeAlias = (
    Parameters | Form | Literal["ale", "dale", "ice", "mplot", "pdp", "rhale", "uale"] | None
)
"""Where these are asked for, `Importances` was asked before: a PFI is a method as well."""


class Keywords(TypedDict, total=False):
    """The other keywords of `explain`."""

    y: Any
    weights: Any
    schema: Any
    groups: Any
    seed: int
    memory: int | str
    keep: int | str
    threads: int
    progress: bool | None
    weight_kind: WeightKind
    row_id: Any
    tree: Wish
    heterogeneity_rows: int | None


class KeywordsOfModels(Keywords, total=False):
    """Those of several models besides."""

    cv: Any
    correction: float | None
