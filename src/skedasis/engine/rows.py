"""The rows of X as a data set: in memory, or of a source that is read in chunks, after the first pass over it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from skedasis._arguments import is_int
from skedasis._types import Container, JsonValue, TableLike
from skedasis.data.dataset import ChunkedRows, Dataset
from skedasis.data.features import Feature, find_feature
from skedasis.engine.options import ExplainOptions, Need
from skedasis.engine.select import FeatureSelection, as_method
from skedasis.errors import DataError
from skedasis.methods.ale import ALE
from skedasis.methods.ale_categorical import MOST_LEVELS
from skedasis.methods.base import Parameters
from skedasis.quantities.base import Quantity
from skedasis.results.checks.slope_check import ROWS as CHECKED_ROWS

if TYPE_CHECKING:
    from skedasis.stream.opening import OpenedSource


def open_rows(
    quantity: Quantity,
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    need: Need | None = None,
) -> tuple[Dataset, ExplainOptions]:
    """Return the rows of X as the quantity's model takes them, and the options that belong to them."""
    if not isinstance(X, ChunkedRows):
        _check_no_cluster(options)
        return quantity.prepare(options.dataset(X)), options
    if options.sample is not None:
        drawn = draw_rows(X, options.sample, options)
        return quantity.prepare(drawn.dataset()), drawn.options
    opened = _opened(X, options)
    if options.client is not None:
        # Imported here: most calls have no cluster.
        from skedasis.stream.cluster import packed_work

        packed_work(quantity)
    chosen = None if method is None else as_method(method)
    n = len(opened.reader.source)
    sample = None if chosen is None else chosen.rows_in_memory(n)
    if sample is not None:
        return quantity.prepare(opened.drawn(sample).dataset()), options
    if chosen is not None and chosen.donor_rows:
        return quantity.prepare(opened.with_donors(chosen.donor_rows)), options
    found = Need(kept_features=False) if need is None else need
    return quantity.prepare(_counted(opened, features, chosen, options, found)), options


def _check_no_cluster(options: ExplainOptions) -> None:
    """Raise if a cluster is to explain data in memory."""
    if options.client is not None:
        raise DataError(
            "client",
            "data in memory",
            "data that workers can read",
            'Write them to Parquet, and pass X=sd.parquet("folder")',
        )


def _opened(X: ChunkedRows, options: ExplainOptions) -> OpenedSource:
    """Open a source; raise for arrays beside it."""
    # Imported here: data in memory do not need it.
    from skedasis.stream.opening import OpenedSource
    from skedasis.stream.parquet import ParquetData
    from skedasis.stream.running import PassRunner

    arrays = {"y": options.y, "sample_weight": options.sample_weight, "row_id": options.row_id}
    source, split = cast("ParquetData", X), options.split
    if isinstance(split, str) or is_int(split):
        source = source.with_split(split)
    elif split is not None:
        raise DataError(
            "split",
            "an array beside data that are read in chunks",
            "the name of a column",
            "Write the labels into a column of the data, and name it",
        )
    for name, array in arrays.items():
        if array is not None:
            got, column = "an array beside data that are read in chunks", '"column"'
            if isinstance(array, str):
                got, column = f"{array!r}, which the data themselves name", repr(array)
            fix = f"Name the column where the data are opened: sd.parquet(path, {name}={column})"
            raise DataError(name, got, "the name of a column, given to the data", fix)
    passes = PassRunner(source, options.client, options.n_jobs, options.progress)
    sampling = options.weight_kind == "sampling"
    return OpenedSource.of(passes, options.schema, options.seed, sampling_weights=sampling)


def _counted(
    opened: OpenedSource,
    features: object,
    method: Parameters | None,
    options: ExplainOptions,
    need: Need,
) -> Dataset:
    """Return the data set in which all is counted that the first plans ask for."""
    # Imported here: data in memory do not need it.
    from skedasis.stream.columns import MAX_DISTINCT
    from skedasis.stream.opening import FirstPassOptions

    head = opened.head
    wanted = FeatureSelection(head, features, options.groups).asked if need.counts else []
    counted = {f.columns: f for item in wanted for f in item}
    ordered = isinstance(method, ALE) and method.order is not None
    more = _column(head, need.column)
    if any(f.kind == "nominal" or (ordered and f.categorical) for f in counted.values()):
        # The order of levels compares all other features.
        more = [*head.features, *more]
    for feature in more:
        counted.setdefault(feature.columns, feature)
    n, rows = len(opened.reader.source), options.heterogeneity_rows
    draw = n if rows is None else max(rows, CHECKED_ROWS, need.draw, options.curves) + 1
    top = None if method is None else method.top_levels
    most = MOST_LEVELS if top is None else MAX_DISTINCT
    dataset = opened.counted(
        FirstPassOptions(tuple(counted.values()), most, draw, by_weight=True, at_even_steps=True)
    )
    return replace(dataset, kept_features=need.kept_features)


def _column(head: Dataset, name: Hashable) -> list[Feature]:
    """Return the column of a name or position, if it is one."""
    try:
        return [] if name is None else [head.features[find_feature(head.features, name)]]
    except DataError:  # a group, or a mistake, which is found where the name is used
        return []


# ------------------------------------------------------------------------------------ rows that fit
ROWS_OF_CHUNKS = 100_000
"""Largest number of rows that are drawn from data that are read in chunks, if the caller names none."""


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows in memory, as arguments of functions that need all rows at the same time."""

    X: Container
    options: ExplainOptions
    note: str
    """What the rows are a sample of; empty if they are all."""
    record: dict[str, JsonValue]
    """What provenances say of their source; empty for rows that were in memory."""

    def dataset(self) -> Dataset:
        """Return the rows as a data set in memory, whose results say what they are drawn from."""
        rows = self.options.dataset(self.X)
        if not self.record:
            return rows
        every = "exact" not in self.record
        sample: dict[str, JsonValue] = {} if every else {"sample": len(rows)}
        return replace(rows, origin={**self.record, **sample}, sampled=not every)


def draw_rows(
    X: TableLike, most: int | Callable[[int], int] | None, options: ExplainOptions
) -> DrawnRows:
    """Return X if it is in memory, else those of its rows with the smallest hashes.

    `most` is the number of rows, or a function that computes it from that of all rows. The sample of the options, if
    there is one, is no larger.
    """
    if not isinstance(X, ChunkedRows):
        return DrawnRows(cast("Container", X), options, "", {})  # checked by `as_dataset`
    opened = _opened(X, options)
    source = opened.reader.source
    n = len(source)
    size = most(n) if callable(most) else min(m for m in (most, options.sample, n) if m is not None)
    drawn = opened.drawn(size)
    rows = drawn.dataset()
    given = replace(options, y=rows.y, sample_weight=rows.weights, row_id=rows.keys, client=None)
    if rows.split is not None:
        given = replace(given, split=rows.split)
    record: dict[str, JsonValue] = {"source": repr(source), "source_rows": n}
    if drawn.every:
        return DrawnRows(drawn.native, given, "", record)
    note = f"a random sample of {len(rows):,} of {n:,} rows"
    return DrawnRows(drawn.native, given, note, {**record, "exact": False})


def rows_of(dataset: Dataset, values: np.ndarray, what: str) -> np.ndarray:
    """Return the entries of the dataset's rows of an array over all rows of X."""
    n = len(dataset.table)
    if values.shape != (n,):
        raise DataError(
            what,
            f"an array of shape {values.shape}",
            f"one entry for each of the {n:,} rows of X, shape ({n},)",
            "Pass an array with one entry per row, or the name of a column",
        )
    return values if dataset.row_id is None else values[dataset.row_id]
