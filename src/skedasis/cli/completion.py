"""Shell completion: methods, quantities, losses, data sets, and the columns of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import typer

import skedasis as sd
from skedasis.quantities.inverse import KNOWN
from skedasis.registry import QUANTITIES, methods_that

BOTH = "both"
"""The quantity of `skedasis importance` that is two: their diagnosis."""


LOSSES = (
    *("squared_error", "absolute_error", "pinball"),
    *("poisson_deviance", "gamma_deviance", "tweedie_deviance", "log_loss", "zero_one"),
)


_PLAIN = re.compile(r"[\w .,+@%=-]+\Z")
"""Names without special characters of a shell: other names of an untrusted file are not offered."""


def offering(
    names: Callable[[], Mapping[str, str] | Iterable[str]],
) -> Callable[[str], list[tuple[str, str]] | list[str]]:
    """Return a function that completes names, with what they mean where that is known."""

    def complete(incomplete: str) -> list[tuple[str, str]] | list[str]:
        known = names()
        if isinstance(known, Mapping):
            return [(name, text) for name, text in known.items() if name.startswith(incomplete)]
        return [name for name in known if name.startswith(incomplete)]

    return complete


def measured() -> dict[str, str]:
    """Return the quantities whose importance can be measured, and what they are."""
    some = {name: entry.words for name, entry in QUANTITIES.items() if not entry.of_class}
    return {BOTH: "likelihood and entropy, with a verdict", **some}


def _checks() -> dict[str, str]:
    from skedasis.results.checks.check import CODES

    return {code: info.meaning for code, info in CODES.items()}


methods = offering(
    lambda: {name: m.words for name, m in methods_that(lambda m: not m.importance).items()}
)
quantities = offering(lambda: {name: entry.words for name, entry in QUANTITIES.items()})
importances = offering(measured)
losses = offering(lambda: LOSSES)
inverses = offering(lambda: KNOWN)
checks = offering(_checks)
datasets = offering(lambda: ("diabetes", *sd.datasets.names(), *sd.datasets.SYNTHETIC))


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete columns of the data file on the command line."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def features(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete columns as arguments, after the model and the data file; before, the shell completes file names."""
    values: dict[str, Any] = ctx.params
    model = values.get("model") or values.get("model_")
    return columns(ctx, incomplete) if model else []


def files() -> list[str]:
    """Complete nothing, so that the shell completes names of files."""
    return []


def moves(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete columns of moves, after the model and the data file, with the sign of equality."""
    return [] if "=" in incomplete else [f"{name}=" for name in features(ctx, incomplete)]


def listed_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete columns in a comma-separated list."""
    before, comma, last = incomplete.rpartition(",")
    there = before.split(",")
    names = [name for name in _columns(ctx) if name.startswith(last) and name not in there]
    return [f"{before}{comma}{name}" for name in names]


def grouped_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete columns of a group, after its name."""
    name, sign, rest = incomplete.partition("=")
    return [f"{name}={more}" for more in listed_columns(ctx, rest)] if sign else []


def assign_arguments(
    model: Sequence[str] | str | None,
    data: str | None,
    first: str | None,
    second: str | None,
    rest: Sequence[str] | None,
) -> tuple[list[str], str | None, list[str]]:
    """Return models, data file and features: from options if given, the others from arguments in this order."""
    specs = [model] if isinstance(model, str) else list(model or ())
    waiting = [a for a in (first, second, *(rest or ())) if a is not None]
    if not specs and waiting:
        specs = [waiting.pop(0)]
    if data is None and waiting:
        data = waiting.pop(0)
    return specs, data, waiting


def _columns(ctx: typer.Context) -> list[str]:
    values: dict[str, Any] = ctx.params
    _, data, _ = assign_arguments(
        values.get("model"), values.get("data"), values.get("model_"), values.get("data_"), ()
    )
    if not data:
        return []
    from skedasis.data.readers import header

    return [name for name in header(data) if _PLAIN.match(name)]
