"""The command `interactions`: which features interact, and which of them changes the effect of the other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated

import skedasis as sd
from skedasis.cli import completion, inputs, options, output
from skedasis.cli.options import CommandOptions, FeatureOptions
from skedasis.cli.output import Document, Out, Terminal
from skedasis.engine.options import H_ROWS, SCORE_ROWS
from skedasis.errors import DataError
from skedasis.registry import methods_that

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
class InteractionsOptions(FeatureOptions, CommandOptions):
    """The options of `skedasis interactions`."""

    out: Out = None
    h2: Annotated[
        bool,
        options.option("Compute Friedman and Popescu's H².", "--h2/--no-h2", panel=MEASURES_PANEL),
    ] = True
    ale: Annotated[
        bool,
        options.option(
            "Compute the strength of the second-order ALE of each pair.",
            "--ale/--no-ale",
            panel=MEASURES_PANEL,
        ),
    ] = True
    max_rows: Annotated[
        int,
        options.option(
            "Largest number of rows for H², where the model is called: at N² rows for each feature and for the "
            "ten pairs that screening puts first, or for all pairs of named features.",
            metavar="N",
            least=2,
            panel=MEASURES_PANEL,
        ),
    ] = H_ROWS
    method: Annotated[
        str | None,
        options.option(
            f"Method of the effects: {', '.join(methods_that(lambda m: m.local_effects))}. By default rhale.",
            metavar="NAME",
            complete=completion.methods,
        ),
    ] = None
    bins: options.BinCount = None
    quantity: options.QuantityName = None
    loss: options.LossOption = None
    heterogeneity_rows: options.HeterogeneityRows = SCORE_ROWS


def interactions(opts: InteractionsOptions, terminal: Terminal) -> Document:
    """Find which features interact: print the pairs, strongest first, and write a file.

    Without FEATURE, all pairs; otherwise the pairs of these features. Where the model is called, H² of all pairs is
    that of the ten which screening puts first.
    """
    if opts.method is not None:
        inputs.method_of(opts.method, opts.bins)
    models, path, more = opts.assigned("interactions")
    output.check_out(opts.out, [path, *models])
    named = inputs.named_features(opts, more)
    if len(named) == 1 and inputs.as_pattern(named[0], "FEATURE") is None:
        raise _too_few(named[0])
    labelled = inputs.check_labels(opts.quantity, opts.class_, opts.loss, opts.target, opts.inverse)
    files = inputs.opened_all(opts, path, models[0], terminal, labelled=labelled)
    wanted = files.columns.find_all(named, "--feature")
    if len(wanted) == 1:
        raise _too_few(named[0])
    name = opts.method or ("rhale" if opts.bins else None)
    found = sd.interactions(
        inputs.quantity_of(files.model, opts.class_, opts.quantity, opts.loss, opts.inverse),
        files.data,
        list(itertools.combinations(wanted, 2)) if wanted else "all",
        opts.h2,
        opts.ale,
        max_rows=opts.max_rows,
        method=None if name is None else inputs.method_of(name, opts.bins),
        heterogeneity_rows=opts.heterogeneity_rows,
        **files.keywords(opts),
    )
    written = output.output_results(output.by_class(found), opts.out, terminal, [path, *models])
    return {"rows": files.rows.counts, **written}


def _too_few(name: str) -> DataError:
    fix = "Name another feature, or none for all pairs"
    return DataError("FEATURE", f"only {name!r}", "at least two features", fix)
