"""`skedasis effect`: what features do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skedasis.cli import ask, complete, given, tell
from skedasis.cli.complete import METHODS, QUANTITIES
from skedasis.cli.given import (
    Data,
    DataArgument,
    FeatureArguments,
    Features,
    Model,
    ModelArgument,
    Trust,
)
from skedasis.cli.order import Told
from skedasis.cli.tell import Out
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.cli.ask import Columns
    from skedasis.cli.given import Rows
    from skedasis.cli.talk import Talk

EXAMPLES = """Examples

\b
skedasis effect model.txt houses.csv age --target price
    its numbers, by RHALE
skedasis effect my:model houses.csv town -o town.png
    a feature with levels: by ALE, as a figure
skedasis effect my:model houses.csv age size --method pdp -o curves.csv
    two features: curves-age.csv and curves-size.csv
skedasis effect my:model houses.csv age --with town -o both.png
    what two features do together
skedasis effect my:model houses.csv zip --categorical zip
    codes that are numbers, but have no order
skedasis effect my:model houses.csv heating --group heating=gas,oil,wood
    a one-hot block, moved as one
skedasis effect my:clf houses.csv age --class all -o age.png
    each class: age-<class>.png
skedasis effect my:clf houses.csv age --quantity entropy --json
    what makes the model uncertain, for machines
"""


@dataclass(frozen=True, kw_only=True)
class EffectOrder(Features, Model, Trust, Data, Told):
    """The options of `skedasis effect`."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None
    out: Out = None
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(METHODS)}. By default rhale; ale for a feature whose levels have no order, and "
            "for two features.",
            metavar="NAME",
            show_default=False,
            autocompletion=complete.methods,
        ),
    ] = None
    bins: Annotated[
        int | None,
        typer.Option(help="Bins; points of the grid for pdp and ice.", metavar="N", min=1),
    ] = None
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="A second feature: what the two do together.",
            metavar="COLUMN",
            autocompletion=complete.columns,
        ),
    ] = None
    quantity: Annotated[
        str | None,
        typer.Option(
            help=f"What is explained: {', '.join(QUANTITIES)}. By default the prediction, of two classes the "
            "probability of the second.",
            metavar="NAME",
            show_default=False,
            autocompletion=complete.quantities,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"Of --quantity loss: {', '.join(complete.LOSSES)}.",
            metavar="NAME",
            show_default=False,
            autocompletion=complete.losses,
        ),
    ] = None
    heterogeneity_rows: given.HeterogeneityRows = given.HETEROGENEITY_ROWS
    threads: Annotated[int, typer.Option(help="Threads that work.", metavar="N", min=1)] = 1


def effect(order: EffectOrder, talk: Talk) -> dict[str, Any]:
    """Explain features, or two together: print the numbers, and write a figure or the numbers into a file."""
    if order.method is not None:
        ask.method_of(order.method, order.bins)
    models, data, more = given.placed(
        order.model, order.data, order.model_, order.data_, order.more
    )
    path = given.needed(models, data, "effect")
    tell.check_out(order.out, [path, *models])
    named = [*more, *(order.feature or ()), *given.listed(order.features, "--features")]
    labelled = _check(order, named)
    table = given.read(order, path, talk, order.bars)
    model = given.load(order, models[0], talk, order.bars)
    rows = given.rows_of(order, table, talk, labelled=labelled)
    columns = given.columns_of(order, rows.table, model)
    wanted: list[Any] = [columns.find(name, "--feature") for name in dict.fromkeys(named)]
    if order.with_ is not None:
        wanted = [(wanted[0], columns.find(order.with_, "--with"))]
    quantity = ask.quantity_of(model, order.class_, order.quantity, order.loss)
    results: list[tuple[dict[str, Any], Any]] = []
    for one in wanted:
        apart = {"feature": columns.name(one)} if len(wanted) > 1 else {}
        labels = rows.labels if labelled else None
        found = _explained(order, quantity, columns, rows, labels, one)
        several = found.items() if isinstance(found, dict) else [(None, found)]
        results += [
            (apart if label is None else {**apart, "class": label}, part) for label, part in several
        ]
    return {"rows": rows.counts, **tell.tell(results, order.out, talk, [path, *models])}


def _check(order: EffectOrder, named: list[str]) -> bool:
    """Check what can be checked before anything is read; return whether the labels are part of the quantity.

    Raises
    ------
    DataError
    """
    if not named:
        fix = "Write it as skedasis effect MODEL DATA FEATURE"
        raise DataError(explained("FEATURE", "none", "a column to explain", fix))
    if order.with_ is not None and len(named) > 1:
        got = f"{len(named)} features besides"
        raise DataError(explained("--with", got, "one", "Name one pair at a time"))
    return ask.check_labels(order.quantity, order.class_, order.loss, order.target)


def _explained(
    order: EffectOrder, quantity: Any, columns: Columns, rows: Rows, labels: Any, wanted: Any
) -> Any:
    from skedasis.engine.explain import explain

    name = order.method or ask.usual_method(columns.features(wanted))
    return explain(
        quantity,
        columns.table.data,
        wanted,
        method=ask.method_of(name, order.bins),
        y=labels,
        weights=rows.weights,
        schema=columns.schema,
        groups=columns.groups,
        seed=order.seed,
        heterogeneity_rows=order.heterogeneity_rows,
        threads=order.threads,
        progress=order.bars,
    )
