"""The command `regions`: where the heterogeneity of effects comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import skedasis as sd
from skedasis.cli import choices, output
from skedasis.cli.inputs import NamedColumns
from skedasis.cli.options import MethodOptions, choice, column, columns, option, shared
from skedasis.cli.output import Document, Terminal
from skedasis.cli.session import Session
from skedasis.engine.options import ALPHA, MAX_DEPTH, MIN_GAIN, help_of
from skedasis.errors import DataError

REGIONS_EXAMPLES = """Examples

\b
skedasis regions model.txt houses.csv size --target price
    find the rules that separate the rows where a feature has different effects
skedasis regions my:model houses.csv size -o size.png
    write a figure of the effect in each region
skedasis regions my:model houses.csv --target price -o regions.html
    all features, as a page
skedasis regions my:model houses.csv size --split-on town,age --max-depth 1
    split on some features only, once
skedasis regions my:model houses.csv size age --joint
    find the same regions for two features
skedasis regions my:model houses.csv size --by town -o size.csv
    take the levels of a feature as regions
skedasis regions my:clf houses.csv age --quantity entropy --json
    explain where a model is uncertain, as JSON
"""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of the search for regions, which `sd.regions` has too."""

    panel: ClassVar[str | None] = "Search"

    max_depth: int = option(help_of("max_depth"), default=MAX_DEPTH, least=1)
    alpha: float = option(help_of("alpha"), metavar="P", default=ALPHA)
    min_gain: float = option(help_of("min_gain"), metavar="SHARE", default=MIN_GAIN)
    split_on: str | None = columns(help_of("split_on"))
    criterion: str = choice(help_of("criterion"), default="auto")
    joint: bool = option(help_of("joint"), "--joint", default=False)


@dataclass(frozen=True, kw_only=True)
class RegionsOptions(SearchOptions, MethodOptions):
    """The options of `skedasis regions`."""

    panel: ClassVar[str | None] = None

    compares: ClassVar[bool] = True

    by: str | None = column("Take the values of this column as regions, instead of a search.")
    heterogeneity_rows: int = shared("heterogeneity_rows", 0)

    def check(self, named: Sequence[str]) -> None:
        """Check the options before any file is read."""
        super().check(named)
        for name, value in (("--alpha", self.alpha), ("--min-gain", self.min_gain)):
            if not 0 <= value < 1:
                fix = f"Use {name} 0.05"
                raise DataError(name, f"{value:g}", "a number between 0 and 1", fix)
        choices.check_known("--criterion", self.criterion, ("auto", "within", "curves"))
        if self.joint and len(named) == 1:
            fix = "Name several features, or leave --joint out"
            raise DataError("--joint", "1 feature", "several features", fix)
        changed = (f for f in fields(SearchOptions) if vars(self)[f.name] != f.default)
        extra = next((f"--{f.name.replace('_', '-')}" for f in changed), None)
        if self.by is not None and extra is not None:
            fix = f"Leave {extra} or --by out"
            raise DataError(extra, f"{extra} with --by", "an option of the search", fix)


def regions(opts: RegionsOptions, terminal: Terminal) -> Document:
    """Find regions of the data in which a feature has different effects: print the rules, and write a file.

    Without FEATURE, all features.
    """
    s = Session.open(opts, terminal, "regions")
    wanted = s.features
    one = wanted[0] if len(wanted) == 1 else None
    usual = None if one is None else choices.usual_method(s.columns.features(one))
    keywords: dict[str, Any] = {"method": opts.method_for(usual), **s.keywords}
    features = (wanted or None) if one is None else one
    if opts.by is not None:
        by = s.columns.find(opts.by, "--by")
        found = sd.explain(s.quantity, s.data, features, by=by, **keywords)
        return s.finish(output.by_class(found))
    search = {f.name: vars(opts)[f.name] for f in fields(SearchOptions)}
    search["split_on"] = _conditions(s.columns, choices.listed(opts.split_on, "--split-on"), wanted)
    return s.finish(output.by_class(sd.regions(s.quantity, s.data, features, **search, **keywords)))


def _conditions(
    columns: NamedColumns, names: list[str], wanted: list[str | int]
) -> list[str | int] | None:
    """Return the features that rules may use: patterns do not match the only feature that is explained."""
    found = columns.find_all(names, "--split-on")
    literal = [n for n in names if n in columns.table.names or n in (columns.groups or {})]
    own = set(wanted) - set(columns.find_all(literal, "--split-on")) if len(wanted) == 1 else set()
    return [one for one in found if one not in own] or None
