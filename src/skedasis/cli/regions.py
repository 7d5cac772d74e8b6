"""The command `regions`: where the heterogeneity of effects comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import skedasis as sd
from skedasis.cli import completion, inputs, options, output
from skedasis.cli.inputs import NamedColumns, Opened
from skedasis.cli.options import CommandOptions, FeatureOptions
from skedasis.cli.output import Document, Out, Terminal
from skedasis.engine.options import ALPHA, MAX_DEPTH, MIN_GAIN, SCORE_ROWS
from skedasis.errors import DataError
from skedasis.registry import methods_that

if TYPE_CHECKING:
    from skedasis.quantities.base import Quantity
    from skedasis.results.multi_output import MultiOutput
    from skedasis.results.regions import Regions, RegionsByFeature

Found: TypeAlias = "Regions | RegionsByFeature"


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


SEARCH_PANEL = "Search"


CRITERIA = ("auto", "within", "curves")


@dataclass(frozen=True, kw_only=True)
class RegionsOptions(FeatureOptions, CommandOptions):
    """The options of `skedasis regions`."""

    out: Out = None
    method: Annotated[
        str | None,
        options.option(
            f"Method: {', '.join(methods_that(lambda m: m.local_effects))}. By default rhale, or ale for levels "
            "without an order.",
            metavar="NAME",
            complete=completion.methods,
        ),
    ] = None
    bins: options.BinCount = None
    max_depth: Annotated[
        int,
        options.option(
            "Largest number of conditions in a rule.", metavar="N", least=1, panel=SEARCH_PANEL
        ),
    ] = MAX_DEPTH
    alpha: Annotated[
        float,
        options.option(
            "Probability that a split of an effect without heterogeneity is found, between 0 and 1.",
            metavar="P",
            panel=SEARCH_PANEL,
        ),
    ] = ALPHA
    min_gain: Annotated[
        float,
        options.option(
            "Share of the heterogeneity that a split explains at least, between 0 and 1.",
            metavar="SHARE",
            panel=SEARCH_PANEL,
        ),
    ] = MIN_GAIN
    split_on: Annotated[
        str | None,
        options.option(
            "Comma-separated list of the features that rules may use. By default all others.",
            metavar="COLUMN,COLUMN",
            complete=completion.listed_columns,
            panel=SEARCH_PANEL,
        ),
    ] = None
    criterion: Annotated[
        str,
        options.option(
            "What splits reduce: within, the deviations of local effects from their average; curves, the "
            "differences between curves; auto, by the kind of local effects.",
            metavar="NAME",
            panel=SEARCH_PANEL,
        ),
    ] = "auto"
    joint: Annotated[
        bool,
        options.option("Find the same regions for all features.", "--joint", panel=SEARCH_PANEL),
    ] = False
    by: Annotated[
        str | None,
        options.column("Take the values of this column as regions, instead of a search."),
    ] = None
    quantity: options.QuantityName = None
    loss: options.LossOption = None
    heterogeneity_rows: options.HeterogeneityRows = SCORE_ROWS


def regions(opts: RegionsOptions, terminal: Terminal) -> Document:
    """Find regions of the data in which a feature has different effects: print the rules, and write a file.

    Without FEATURE, all features.
    """
    if opts.method is not None:
        inputs.method_of(opts.method, opts.bins)
    models, path, more = opts.assigned("regions")
    output.check_out(opts.out, [path, *models])
    named = inputs.named_features(opts, more)
    labelled = _check(opts, named)
    files = inputs.opened_all(opts, path, models[0], terminal, labelled=labelled)
    wanted = files.columns.find_all(named, "--feature")
    quantity = inputs.quantity_of(files.model, opts.class_, opts.quantity, opts.loss, opts.inverse)
    found = _found(opts, quantity, files, wanted)
    written = output.output_results(output.by_class(found), opts.out, terminal, [path, *models])
    return {"rows": files.rows.counts, **written}


def _check(opts: RegionsOptions, named: list[str]) -> bool:
    """Check the options before any file is read; return whether the quantity needs labels."""
    for option, value in (("--alpha", opts.alpha), ("--min-gain", opts.min_gain)):
        if not 0 <= value < 1:
            raise DataError(option, f"{value:g}", "a number between 0 and 1", f"Use {option} 0.05")
    if opts.criterion not in CRITERIA:
        known = f"one of {', '.join(CRITERIA)}"
        raise DataError("--criterion", repr(opts.criterion), known, "Choose one of these")
    if opts.joint and len(named) == 1:
        fix = "Name several features, or leave --joint out"
        raise DataError("--joint", "1 feature", "several features", fix)
    search = {
        "--max-depth": opts.max_depth != MAX_DEPTH,
        "--alpha": opts.alpha != ALPHA,
        "--min-gain": opts.min_gain != MIN_GAIN,
        "--split-on": opts.split_on is not None,
        "--criterion": opts.criterion != "auto",
        "--joint": opts.joint,
    }
    extra = next((name for name, given in search.items() if given), None)
    if opts.by is not None and extra is not None:
        fix = f"Leave {extra} or --by out"
        raise DataError(extra, f"{extra} with --by", "an option of the search", fix)
    return inputs.check_labels(opts.quantity, opts.class_, opts.loss, opts.target, opts.inverse)


def _conditions(
    columns: NamedColumns, names: list[str], wanted: list[str | int]
) -> list[str | int] | None:
    """Return the features that rules may use: patterns do not match the only feature that is explained."""
    found = columns.find_all(names, "--split-on")
    literal = [n for n in names if n in columns.table.names or n in (columns.groups or {})]
    own = set(wanted) - set(columns.find_all(literal, "--split-on")) if len(wanted) == 1 else set()
    return [one for one in found if one not in own] or None


def _found(
    opts: RegionsOptions, quantity: Quantity, files: Opened, wanted: list[str | int]
) -> Found | MultiOutput[Found]:
    """Return the regions of one feature, or of several."""
    features = (wanted[0] if len(wanted) == 1 else wanted) if wanted else None
    name = opts.method
    if name is None and len(wanted) == 1:
        name = inputs.usual_method(files.columns.features(wanted[0]))
    elif name is None and opts.bins:
        name = "rhale"
    keywords: Any = {
        "method": None if name is None else inputs.method_of(name, opts.bins),
        "heterogeneity_rows": opts.heterogeneity_rows,
        **files.keywords(opts),
    }
    if opts.by is not None:
        by = files.columns.find(opts.by, "--by")
        found: object = sd.explain(quantity, files.data, features, by=by, **keywords)
    else:
        listed = inputs.listed(opts.split_on, "--split-on")
        keywords |= {
            "split_on": _conditions(files.columns, listed, wanted),
            "max_depth": opts.max_depth,
            "alpha": opts.alpha,
            "min_gain": opts.min_gain,
            "criterion": opts.criterion,
            "joint": opts.joint,
        }
        found = sd.regions(quantity, files.data, features, **keywords)
    return cast("Found | MultiOutput[Found]", found)  # of one model
