"""The commands, by name."""

from __future__ import annotations

from typing import Annotated

import typer

from skedasis.cli import about, demo, effect, importance, order, report, shell
from skedasis.cli.order import Work

app = typer.Typer(
    cls=shell.Commands,
    name="skedasis",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    help="Explain a fitted model: what each feature does, for whom that is not true, and how sure one can be.",
    epilog="""Exit codes: 0 done; 1 the model or a library failed; 2 it cannot be done as asked; 130 interrupted.

\b
skedasis demo
skedasis report model.txt houses.csv --target price
skedasis COMMAND --help    shows examples of each""",
)


def _version(wanted: bool) -> None:
    if wanted:
        from skedasis import __version__

        typer.echo(f"skedasis {__version__}")
        raise typer.Exit


@app.callback()
def skedasis(
    debug: Annotated[
        bool, typer.Option(shell.DEBUG, help="Show where an error came from; of every command.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options of all commands."""


order.add(app, "demo", Work(demo.DemoOrder, demo.demo), demo.EXAMPLES)
order.add(app, "report", Work(report.ReportOrder, report.report), report.EXAMPLES)
order.add(app, "effect", Work(effect.EffectOrder, effect.effect), effect.EXAMPLES)
order.add(
    app,
    "importance",
    Work(importance.ImportanceOrder, importance.importance),
    importance.IMPORTANCE_EXAMPLES,
)
order.add(app, "datasets", Work(about.DatasetsOrder, about.datasets), about.DATASETS_EXAMPLES)
order.add(app, "info", Work(about.InfoOrder, about.info), about.INFO_EXAMPLES)
