"""Second-order ALE of two features, beside PyALE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench, largest_difference, must_ask
from benchmarks.lines import Speed

BINS = (20, 40)
"""Of each of the two features, by quantiles."""


def pairs(bench: Bench) -> Iterator[Speed]:
    """Measure the pair of the first two features, whose product is in every model."""
    for bins in BINS:
        yield _pair(bench, bins)


def _pair(bench: Bench, bins: int) -> Speed:
    n, work = bench.settings.n, f"ALE of a pair, {bins} x {bins} quantile bins"
    t, got = bench.run(
        {"ours": lambda: bench.ours.pair(bins), "theirs": lambda: bench.peers.pyale_pair(bins)}
    )
    asked = bench.count("ours", "pair", bins)
    # Four corners a row, whatever the bins.
    must_ask(work, got["ours"], asked, 4 * n)
    ours, edges = _on_their_edges(bench, got["ours"], got["theirs"])
    return Speed(
        "pairs", work, "PyALE", t["ours"], t["theirs"], asked * bench.row_seconds, asked,
        bench.count("peers", "pyale_pair", bins),
        largest_difference(ours.value, got["theirs"].to_numpy()), 1e-9, 20.0, edges, n,
    )  # fmt: skip


def _on_their_edges(bench: Bench, ours: Any, theirs: Any) -> tuple[Any, str]:
    """Return our surface on PyALE's edges, and a note; at the settings' N it is what was timed.

    PyALE multiplies n by a rounded k / K, and may land one row beside the rank.
    """
    edges = (theirs.index.to_numpy(), theirs.columns.to_numpy())
    if all(np.array_equal(a, b) for a, b in zip(ours.x, edges, strict=True)):
        return ours, "same edges"
    names = zip(ours.features, edges, strict=True)
    return bench.ours.pair({name: sd.Edges(z) for name, z in names}), "compared on its edges"
