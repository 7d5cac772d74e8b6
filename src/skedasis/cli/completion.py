"""Shell completion: methods, quantities, losses, data sets, and columns of a file.

Nothing is loaded but the beginning of that file, and nothing that fails is told: a shell waits for an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import typer

METHODS = {
    "rhale": "slopes, averaged in bins that follow them",
    "ale": "differences at the edges of bins",
    "dale": "slopes, averaged in equal bins",
    "uale": "RHALE with equal bins",
    "pdp": "means over all rows",
    "ice": "one curve a row",
    "mplot": "means of the rows nearby",
}


QUANTITIES = {
    "prediction": "what the model predicts",
    "probability": "of a class",
    "logit": "log-odds of a class",
    "entropy": "how uncertain it is",
    "variance": "of its predictive distribution",
    "likelihood": "how surprised it is by the labels (negative log-likelihood)",
    "loss": "how wrong it is",
}


IMPORTANCES = {
    "both": "likelihood and entropy, with a verdict",
    **{k: QUANTITIES[k] for k in ("likelihood", "entropy", "variance", "loss", "prediction")},
}


LOSSES = ("squared_error", "absolute_error", "pinball", "log_loss", "zero_one")


_PLAIN = re.compile(r"[\w .,+@%=-]+\Z")
"""Names that mean nothing to a shell: others in a stranger's file are not offered to one."""


def methods(incomplete: str) -> list[tuple[str, str]]:
    """Offer methods."""
    return _beginning(METHODS.items(), incomplete)


def quantities(incomplete: str) -> list[tuple[str, str]]:
    """Offer quantities that have effects."""
    return _beginning(QUANTITIES.items(), incomplete)


def importances(incomplete: str) -> list[tuple[str, str]]:
    """Offer quantities that have importances."""
    return _beginning(IMPORTANCES.items(), incomplete)


def losses(incomplete: str) -> list[str]:
    """Offer losses."""
    return [name for name in LOSSES if name.startswith(incomplete)]


def datasets(incomplete: str) -> list[str]:
    """Offer data sets."""
    from skedasis import datasets
    from skedasis.datasets import real

    return [n for n in ("diabetes", *real.names(), *datasets.SYNTHETIC) if n.startswith(incomplete)]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the columns of the file that is already named."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def features(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer columns as arguments, once both a model and a file are named; until then the shell offers files."""
    said: dict[str, Any] = ctx.params
    model = said.get("model") or said.get("model_")
    return columns(ctx, incomplete) if model else []


def listed_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer columns behind a comma, too."""
    before, comma, last = incomplete.rpartition(",")
    there = before.split(",")
    names = [name for name in _columns(ctx) if name.startswith(last) and name not in there]
    return [f"{before}{comma}{name}" for name in names]


def grouped_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer columns for a group, behind its name."""
    name, sign, rest = incomplete.partition("=")
    return [f"{name}={more}" for more in listed_columns(ctx, rest)] if sign else []


def _columns(ctx: typer.Context) -> list[str]:
    from skedasis.cli.inputs import placed
    from skedasis.data.readers import header

    said: dict[str, Any] = ctx.params
    _, data, _ = placed(
        said.get("model"), said.get("data"), said.get("model_"), said.get("data_"), ()
    )
    return [n for n in header(data) if _PLAIN.match(n)] if data else []


def _beginning(known: Iterable[tuple[str, str]], incomplete: str) -> list[tuple[str, str]]:
    return [(name, text) for name, text in known if name.startswith(incomplete)]
