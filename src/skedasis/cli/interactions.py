"""The command `interactions`: which features interact, and which of them changes the effect of the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import skedasis as sd
from skedasis.cli import output
from skedasis.cli.inputs import as_pattern
from skedasis.cli.options import MethodOptions, option, shared
from skedasis.cli.output import Document, Terminal
from skedasis.cli.session import Session
from skedasis.engine.options import H_ROWS
from skedasis.errors import DataError

INTERACTIONS_EXAMPLES = """Examples

\b
skedasis interactions model.txt houses.csv --target price
    list all pairs of features, strongest first
skedasis interactions my:model houses.csv -o pairs.png
    write a heat map of the pairs
skedasis interactions my:model houses.csv size age town --target price -o pairs.html
    the pairs of three features, as a page
skedasis interactions my:model houses.csv --no-h2 --no-ale
    only which feature changes the effect of which: costs no more than the effects
skedasis interactions my:model houses.csv --max-rows 2000 --json
    H² from more rows, where the model is called; as JSON
"""


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """Measures of interactions."""

    panel: ClassVar[str | None] = "Measures"

    h2: bool = option("Compute Friedman and Popescu's H².", default=True)
    ale: bool = option("Compute the strength of the second-order ALE of each pair.", default=True)
    max_rows: int = option(
        "Largest number of rows for H², where the model is called: at N² rows for each feature and for the "
        "ten pairs that screening puts first, or for all pairs of named features.",
        default=H_ROWS,
        least=2,
    )


@dataclass(frozen=True, kw_only=True)
class InteractionsOptions(MeasureOptions, MethodOptions):
    """The options of `skedasis interactions`."""

    panel: ClassVar[str | None] = None

    heterogeneity_rows: int = shared("heterogeneity_rows", 0)

    def check(self, named: Sequence[str]) -> None:
        """Check the options before any file is read."""
        super().check(named)
        if len(named) == 1 and as_pattern(named[0], "FEATURE") is None:
            raise _too_few(named[0])


def interactions(opts: InteractionsOptions, terminal: Terminal) -> Document:
    """Find which features interact: print the pairs, strongest first, and write a file.

    Without FEATURE, all pairs; otherwise the pairs of these features. Where the model is called, H² of all pairs is
    that of the ten which screening puts first.
    """
    s = Session.open(opts, terminal, "interactions")
    if len(s.features) == 1:
        raise _too_few(s.named[0])
    pairs = list(itertools.combinations(s.features, 2)) or "all"
    found = sd.interactions(
        opts.quantity_of(s.model),
        s.data,
        pairs,
        opts.h2,
        opts.ale,
        max_rows=opts.max_rows,
        method=opts.method_for(None),
        **s.keywords,
    )
    return s.finish(output.by_class(found))


def _too_few(name: str) -> DataError:
    fix = "Name another feature, or none for all pairs"
    return DataError("FEATURE", f"only {name!r}", "at least two features", fix)
