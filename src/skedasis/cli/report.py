"""`skedasis report`: the whole story in one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skedasis.cli import ask, complete, given, tell
from skedasis.cli.complete import QUANTITIES
from skedasis.cli.given import (
    Data,
    DataArgument,
    FeatureArguments,
    Features,
    Model,
    ModelArgument,
    Trust,
)
from skedasis.cli.models import named
from skedasis.cli.order import Told

if TYPE_CHECKING:
    from skedasis.cli.talk import Talk

PAGES = (".html", ".htm")
NUMBERS = ("importance", "heterogeneity_score", "heterogeneity_score_error")
EXAMPLES = """Examples

\b
skedasis report model.txt houses.parquet --target price -o report.html
    all features of a LightGBM model, and how good it is at these rows
skedasis report my:model houses.csv --features age,size,town --title "Houses"
    some features, in report.html
skedasis report --model my:model --model my:other --data houses.csv age
    two models side by side
skedasis report my:clf houses.feather --target sold --sample 100 --seed 1
    at a sample of the rows
skedasis report model.skops houses.csv --target price --no-rows --pairs 0
    without any row's curve, and without pairs
"""


@dataclass(frozen=True, kw_only=True)
class Models(Model):
    """Which models."""

    model: Annotated[  # type: ignore[assignment] - several instead of one
        list[str] | None,
        typer.Option(
            help="The same as MODEL; may be repeated.",
            metavar="MODEL",
            show_default=False,
            rich_help_panel=given.MODEL,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReportOrder(Features, Models, Trust, Data, Told):
    """The options of `skedasis report`."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.", metavar="FILE")] = Path(
        "report.html"
    )
    title: Annotated[str | None, typer.Option(help="The page's title.", metavar="TEXT")] = None
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
    pairs: Annotated[
        int,
        typer.Option(help="So many pairs of features, the strongest first.", metavar="N", min=0),
    ] = 4
    rows: Annotated[
        bool,
        typer.Option("--rows/--no-rows", help="Show single rows' curves. Nothing else shows rows."),
    ] = True
    uncertainty: Annotated[
        bool,
        typer.Option(
            "--uncertainty/--no-uncertainty",
            help="Say what makes a model uncertain, if it tells how uncertain it is.",
        ),
    ] = True
    heterogeneity_rows: given.HeterogeneityRows = given.HETEROGENEITY_ROWS
    threads: Annotated[int, typer.Option(help="Threads that work.", metavar="N", min=1)] = 1


def report(order: ReportOrder, talk: Talk) -> dict[str, Any]:
    """Write the whole story of one or several models into one page."""
    from skedasis.report.build import report as build

    specs, data, more = given.placed(order.model, order.data, order.model_, order.data_, order.more)
    path = given.needed(specs, data, "report")
    tell.check_out(order.out, [path, *specs], PAGES)
    ask.check_labels(order.quantity, order.class_, order.loss, order.target)
    names = named(specs)
    wanted = [*more, *(order.feature or ()), *given.listed(order.features, "--features")]
    table = given.read(order, path, talk, order.bars)
    models = {
        name: given.load(order, spec, talk, order.bars)
        for name, spec in zip(names, specs, strict=True)
    }
    rows = given.rows_of(order, table, talk, labelled=True)
    columns = given.columns_of(order, rows.table, next(iter(models.values())))
    plain = order.class_ is None and order.quantity is None and order.loss is None
    asked: Any = {
        name: model if plain else ask.quantity_of(model, order.class_, order.quantity, order.loss)
        for name, model in models.items()
    }
    done = build(
        asked if len(asked) > 1 else next(iter(asked.values())),
        columns.table.data,
        rows.labels,
        order.out,
        features=[columns.find(f, "--feature") for f in dict.fromkeys(wanted)] or None,
        schema=columns.schema,
        groups=columns.groups,
        weights=rows.weights,
        title=order.title,
        seed=order.seed,
        threads=order.threads,
        progress=order.bars,
        pairs=order.pairs,
        rows=order.rows,
        uncertainty=order.uncertainty,
        heterogeneity_rows=order.heterogeneity_rows,
    )
    talk.lines([] if talk.quiet else [f"page     {done.path}"])
    return {"rows": rows.counts, "models": _numbers(done), "written": [done.path]}


def _numbers(done: Any) -> dict[str, Any]:
    """Return the numbers of a page's ranking, by model, method and feature."""
    return {
        model: {
            method: {
                feature: {name: getattr(effect, name) for name in NUMBERS}
                for feature, effect in effects.items()
            }
            for method, effects in methods.items()
        }
        for model, methods in done.effects.items()
    }
