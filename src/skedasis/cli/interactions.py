"""The command `interactions`: which features interact, and which of them changes the effect of the other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

import skedasis as sd
from skedasis._types import Values
from skedasis.cli import completion, inputs, options, output
from skedasis.cli.inputs import NamedColumns
from skedasis.cli.options import (
    DataArgument,
    ExplainingOptions,
    FeatureArguments,
    FeatureOptions,
    ModelArgument,
    ModelOptions,
    RowOptions,
)
from skedasis.cli.output import Document, Out, Terminal
from skedasis.engine.options import H_ROWS, SCORE_ROWS
from skedasis.errors import DataError
from skedasis.registry import methods_that

if TYPE_CHECKING:
    from skedasis.quantities.base import Quantity
    from skedasis.results.interactions import Interactions
    from skedasis.results.multi_output import MultiOutput


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


MEASURES_PANEL = "Measures"


@dataclass(frozen=True, kw_only=True)
class InteractionsOptions(FeatureOptions, ModelOptions, ExplainingOptions):
    """The options of `skedasis interactions`."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None
    out: Out = None
    h2: Annotated[
        bool,
        typer.Option(
            "--h2/--no-h2",
            help="Compute Friedman and Popescu's H².",
            rich_help_panel=MEASURES_PANEL,
        ),
    ] = True
    ale: Annotated[
        bool,
        typer.Option(
            "--ale/--no-ale",
            help="Compute the strength of the second-order ALE of each pair.",
            rich_help_panel=MEASURES_PANEL,
        ),
    ] = True
    max_rows: Annotated[
        int,
        typer.Option(
            help="Largest number of rows for H², where the model is called. It is called about N² times for each "
            "feature and pair.",
            metavar="N",
            min=2,
            rich_help_panel=MEASURES_PANEL,
        ),
    ] = H_ROWS
    method: Annotated[
        str | None,
        typer.Option(
            help=f"Method of the effects: {', '.join(methods_that(lambda m: m.local_effects))}. By default rhale.",
            metavar="NAME",
            show_default=False,
            autocompletion=completion.methods,
        ),
    ] = None
    bins: Annotated[
        int | None,
        typer.Option(help="Number of bins, or of grid points for pdp and ice.", metavar="N", min=1),
    ] = None
    quantity: options.QuantityName = None
    loss: options.LossName = None
    heterogeneity_rows: options.HeterogeneityRows = SCORE_ROWS


def interactions(opts: InteractionsOptions, terminal: Terminal) -> Document:
    """Find which features interact: print the pairs, strongest first, and write a file.

    Without FEATURE, all pairs; otherwise the pairs of these features.
    """
    if opts.method is not None:
        inputs.method_of(opts.method, opts.bins)
    models, data, more = completion.assign_arguments(
        opts.model, opts.data, opts.model_, opts.data_, opts.more
    )
    path = options.needed(models, data, "interactions")
    output.check_out(opts.out, [path, *models])
    named = inputs.named_features(opts, more)
    if len(named) == 1 and inputs.as_pattern(named[0], "FEATURE") is None:
        fix = "Name another feature, or none for all pairs"
        raise DataError("FEATURE", f"only {named[0]!r}", "at least two features", fix)
    labelled = inputs.check_labels(opts.quantity, opts.class_, opts.loss, opts.target, opts.inverse)
    model, rows, columns = inputs.opened_all(opts, path, models[0], terminal, labelled=labelled)
    wanted = columns.find_all(named, "--feature")
    if len(wanted) == 1:
        fix = "Name another feature, or none for all pairs"
        raise DataError("FEATURE", f"only {named[0]!r}", "at least two features", fix)
    quantity = inputs.quantity_of(model, opts.class_, opts.quantity, opts.loss, opts.inverse)
    found = _found(opts, quantity, columns, rows, rows.labels if labelled else None, wanted)
    written = output.output_results(output.by_class(found), opts.out, terminal, [path, *models])
    return {"rows": rows.counts, **written}


def _found(
    opts: InteractionsOptions,
    quantity: Quantity,
    columns: NamedColumns,
    rows: RowOptions,
    labels: Values | None,
    wanted: list[str | int],
) -> Interactions | MultiOutput[Interactions]:
    """Return the interactions of all features, or of the wanted ones."""
    name = opts.method or ("rhale" if opts.bins else None)
    return sd.interactions(
        quantity,
        columns.table.data,
        list(itertools.combinations(wanted, 2)) if wanted else "all",
        opts.h2,
        opts.ale,
        max_rows=opts.max_rows,
        method=None if name is None else inputs.method_of(name, opts.bins),
        heterogeneity_rows=opts.heterogeneity_rows,
        **inputs.keywords_of(opts, columns, rows, labels),
    )
