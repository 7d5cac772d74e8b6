"""`skedasis demo`: two models of real data, explained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skedasis.cli import complete
from skedasis.cli.order import Told
from skedasis.cli.screen import Screen

if TYPE_CHECKING:
    from skedasis.cli.talk import Talk

EXAMPLES = """Examples

\b
skedasis demo
    two models of bicycle rentals, if that file is at hand, else of scikit-learn's breast cancer data
skedasis demo --data houses.csv --target price --sample 150 --out houses-demo
    of your own data
skedasis demo --data houses.csv --target sold --class yes --seed 1
    the probability of a class
"""


@dataclass(frozen=True, kw_only=True)
class DemoOrder(Told):
    """The options of `skedasis demo`."""

    data: Annotated[
        str | None,
        typer.Option(help="A file of your own: CSV, Parquet or Feather.", metavar="FILE"),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            help="The column to learn.", metavar="COLUMN", autocompletion=complete.columns
        ),
    ] = None
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder to write into.", metavar="FOLDER")
    ] = Path("skedasis-demo")
    class_: Annotated[
        str | None,
        typer.Option("--class", help="The class whose probability is explained.", metavar="CLASS"),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            "--rows",
            help="Explain on a sample of so many rows; by default on all.",
            metavar="N",
            min=1,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(help="Of the split, the models and samples.", metavar="N", min=0)
    ] = 0


def demo(order: DemoOrder, talk: Talk) -> dict[str, Any]:
    """Fit two models of real data, explain them, and write a page and its figures."""
    from skedasis.demo.run import demo as show

    done = show(
        None if order.data is None else Path(order.data),
        order.target,
        order.out,
        class_=order.class_,
        rows=order.sample,
        seed=order.seed,
        progress=order.bars,
        console=Screen(quiet=talk.quiet or talk.json),
    )
    return {"written": [done.path, *done.figures]}
