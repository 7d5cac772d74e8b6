"""The options that several commands share, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skedasis.cli import ask

Data = Annotated[Path, typer.Option("--data", help="A CSV or Parquet file.", metavar="FILE")]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        help="A module and a name in it, or a file of LightGBM (.txt), XGBoost (.json, .ubj) or ONNX.",
        metavar="MODULE:OBJECT|FILE",
    ),
]
Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        help="As MODULE:OBJECT, or the model's file; may be repeated.",
        metavar="MODULE:OBJECT|FILE",
    ),
]
Target = Annotated[str | None, typer.Option(help="A column that is no feature.", metavar="COLUMN")]
Class = Annotated[
    str | None, typer.Option("--class", help="The class whose probability is explained.")
]
AnyClass = Annotated[
    str | None,
    typer.Option("--class", help="The class whose probability is explained; all of them: all."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="A column whose numbers are codes without an order; may be repeated.",
        metavar="COLUMN",
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns that move together, such as a one-hot block; may be repeated.",
        metavar="NAME=COLUMN,COLUMN",
    ),
]
Feature = Annotated[
    str, typer.Option(help="The feature to explain, or a group of columns.", metavar="COLUMN")
]
With = Annotated[
    str | None,
    typer.Option("--with", help="A second one: what the two do together.", metavar="COLUMN"),
]
Method = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(ask.METHODS)}. By default rhale; ale for a feature whose levels have no order, and "
        "for two features.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="A figure (.png, .svg, .pdf) or the numbers (.csv, .json, .npz).", metavar="FILE"
    ),
]
Bins = Annotated[int | None, typer.Option(help="Bins; points of the grid for pdp and ice.", min=1)]
