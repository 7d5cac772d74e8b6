"""Data beyond memory: Parquet that is read in chunks, in one process and on a cluster, beside DuckDB for quantiles.

``python -m benchmarks.streams TASK FOLDER`` does one task in a process of its own, and prints its times and its peak.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench import Bench
from benchmarks.lines import Alone, Line, Space, Speed
from benchmarks.memory import MEGABYTE, peak_of_process
from benchmarks.timing import Took

GROUP = "streams"
MODEL = "model.txt"
STEPS = 40
"""Quantiles are the order statistics at multiples of 1/40."""

FILE, ROW_GROUP = 2_500_000, 333_333
"""Rows of a file and of a row group: neither is a multiple of the library's chunks."""


def streams(bench: Bench) -> Iterator[Line]:
    """Measure the ALE of boosted trees at fewer and at more rows, the same on a cluster, and exact quantiles."""
    quick = bench.settings.quick
    few, many, most = (60_000, 200_000, 300_000) if quick else (6_000_000, 20_000_000, 50_000_000)
    with tempfile.TemporaryDirectory(prefix="skedasis-bench-") as folder:
        write(Path(folder), most)
        _train(Path(folder))
        small, alone = _done("ale", folder, few), _done("ale", folder, many)
        yield _peak(f"ALE of 100 trees, {_passes(alone)}", few, small)
        yield _peak(f"ALE of 100 trees, {_passes(alone)}", many, alone, None if quick else 1000.0)
        more = alone["peak"] - small["peak"]
        yield Space(
            GROUP, "the same, beyond that of fewer rows", many, more, None if quick else 150.0
        )
        yield Alone(GROUP, "ALE of 100 trees, one process", many, _took(alone), 0)
        yield from _on_a_cluster(folder, many, alone, quick=quick)
        ours, theirs = (_done(task, folder, most) for task in ("quantiles", "duckdb"))
        yield Speed(
            GROUP, f"exact quantiles at 1/{STEPS} of ten columns", "DuckDB", _took(ours), _took(theirs),
            difference=_difference(ours, theirs), tolerance=0.0, note=f"{most:,} rows", unit=1,
        )  # fmt: skip
        yield _peak("exact quantiles of ten columns", most, ours, None if quick else 1000.0)
        yield _peak("DuckDB: exact quantiles of ten columns", most, theirs)


def _on_a_cluster(folder: str, rows: int, alone: dict[str, Any], *, quick: bool) -> Iterator[Line]:
    """Yield the processor time of two workers beside that of one process, their memory, and what is sent to them."""
    found = _done("cluster", folder, rows)
    same = found["digest"] == alone["digest"]
    yield Alone(
        GROUP, "the same on two workers: their processor time", rows,
        Took(found["workers"], found["workers"]), 0, None if quick else 1.3 * alone["cpu"],
        "the same bits", same,
    )  # fmt: skip
    for k, megabytes in enumerate(found["peaks"]):
        limit = None if quick else 1000.0
        yield Space(GROUP, f"worker {k + 1}: the whole process", rows, megabytes, limit)
    limit = 4 * found["model"] / MEGABYTE + 1
    yield Space(
        GROUP, "largest job sent to a worker", rows, found["sent"] / MEGABYTE, limit,
        f"the pickled model has {found['model'] / MEGABYTE:.2f} MB",
    )  # fmt: skip


def _peak(work: str, rows: int, found: dict[str, Any], limit: float | None = None) -> Space:
    return Space(GROUP, f"{work}: the whole process", rows, found["peak"], limit)


def _passes(found: dict[str, Any]) -> str:
    return f"{found['passes']} passes"


def _took(found: dict[str, Any]) -> Took:
    return Took(found["wall"], found["cpu"])


def _difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Return the largest difference of quantiles, relative to the largest value of their column."""
    a, b = (np.array(found["quantiles"]) for found in (one, other))
    return float((np.abs(a - b).max(axis=1) / np.abs(b).max(axis=1)).max())


# ------------------------------------------------------------------------------------ data and model
def write(folder: Path, rows: int) -> None:
    """Write ten columns of different shapes: correlated, skewed, mostly zero, times, counts, long tails, offsets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, start in enumerate(range(0, rows, FILE)):
        n = min(FILE, rows - start)
        r = np.random.default_rng([7, number])
        z = r.standard_normal(n)
        columns = {
            "a": z.astype("f4"),
            "b": (z + r.standard_normal(n)).astype("f4"),
            "c": r.random(n, dtype="f4"),
            "d": np.exp(2 * r.standard_normal(n, dtype="f4")),
            "e": (r.random(n, dtype="f4") < 0.1) * r.random(n, dtype="f4"),
            "f": r.standard_normal(n) * 1e-12,
            "g": 1.7e9 + (start + np.arange(n)) * 0.37 + r.random(n),
            "h": r.poisson(300, n).astype(float),
            "i": r.standard_cauchy(n),
            "j": 1e7 + 0.01 * r.standard_normal(n),
        }
        pq.write_table(
            pa.table(columns), folder / f"part-{number:03d}.parquet", row_group_size=ROW_GROUP,
            compression="lz4", use_dictionary=False,
        )  # fmt: skip


def _train(folder: Path) -> None:
    """Fit boosted trees to the first rows."""
    import lightgbm
    import pyarrow.parquet as pq

    table = pq.ParquetFile(folder / "part-000.parquet").read_row_group(0).slice(0, 100_000)
    X = np.column_stack([column.to_numpy().astype(float) for column in table.columns])
    u = np.argsort(np.argsort(X, axis=0), axis=0) / len(X)
    y = 3 * np.sin(5 * u[:, 0]) + 4 * u[:, 1] * u[:, 2] + u[:, 3] ** 2 + 2 * (u[:, 4] > 0.95)
    y += u[:, 5] * u[:, 6] + np.sqrt(u[:, 7]) + u[:, 8] + u[:, 9] * u[:, 0]
    y += 0.1 * np.random.default_rng(0).standard_normal(len(X))
    options = {"objective": "regression", "num_leaves": 31, "verbose": -1, "num_threads": 1}
    rows = lightgbm.Dataset(X, y, feature_name=table.column_names)
    lightgbm.train(options, rows, 100).save_model(folder / MODEL)


# ------------------------------------------------------------------------------------ tasks
def _done(task: str, folder: str, rows: int) -> dict[str, Any]:
    """Return what a task found, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.streams", task, folder, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (no shell)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _source(folder: str, rows: int) -> Any:
    """Return the first rows of the files, up to a whole row group."""
    import skedasis as sd

    source = sd.parquet(f"{folder}/*.parquet")
    files, left = [], rows
    for file in source.files:
        many = int(np.searchsorted(np.cumsum(file.rows), left)) + 1
        files.append(replace(file, groups=file.groups[:many], rows=file.rows[:many]))
        left -= sum(file.rows[:many])
        if left <= 0:
            break
    return replace(source, files=tuple(files))


def _explained(folder: str, rows: int, **options: Any) -> Any:
    import lightgbm

    import skedasis as sd

    model = lightgbm.Booster(model_file=Path(folder, MODEL))
    method = sd.ALE(bins=STEPS)
    return sd.explain(model, _source(folder, rows), method=method, progress=False, **options)


def _ale(folder: str, rows: int) -> dict[str, Any]:
    return _summary(_explained(folder, rows))


def _summary(effects: Any) -> dict[str, Any]:
    digest = hashlib.sha256()
    for effect in effects.values():
        for name in ("x", "value", "heterogeneity", "accumulated_std", "std_error"):
            digest.update(np.ascontiguousarray(getattr(effect, name)).tobytes())
    return {"digest": digest.hexdigest(), "passes": effects["a"].provenance["passes"]}


def _cluster(folder: str, rows: int) -> dict[str, Any]:
    """Explain on two workers of one thread each."""
    from distributed import Client, LocalCluster

    from skedasis.stream import cluster

    sent: list[int] = []
    pack = cluster.packed_work

    def packed(work: object) -> bytes:
        found = pack(work)
        sent.append(len(found))
        return found

    cluster.packed_work = packed
    model = len(pickle.dumps(Path(folder, MODEL).read_bytes()))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        tempfile.TemporaryDirectory() as here,
        LocalCluster(**options, local_directory=here, silence_logs=50) as local,
        Client(local) as client,
    ):
        client.run(_ready)
        before = client.run(time.process_time)
        found = _summary(_explained(folder, rows, client=client))
        after = client.run(time.process_time)
        peaks = client.run(peak_of_process)
    workers = sum(after[name] - before[name] for name in before)
    measured = {"workers": workers, "peaks": list(peaks.values()), "sent": max(sent)}
    return {**found, **measured, "model": model}


def _ready() -> None:
    """Import what work needs: this is no cost of the rows."""
    import lightgbm
    import pandas as pd

    import skedasis.engine.rows

    assert lightgbm, (pd, skedasis)


def _quantiles(folder: str, rows: int) -> dict[str, Any]:
    """Return the order statistics of all columns, as plans ask for them."""
    import skedasis as sd
    from skedasis.data.column_stats import NotYetKnown
    from skedasis.engine.options import ExplainOptions, Need
    from skedasis.engine.rows import open_rows

    options = ExplainOptions(progress=False, heterogeneity_rows=0)
    quantity = sd.prediction(lambda X: X["a"])
    dataset, _ = open_rows(quantity, _source(folder, rows), None, None, options, Need())

    def all_columns() -> list[list[float]]:
        found: list[list[float]] = []
        missing: list[Exception] = []
        for feature in dataset.features:
            try:
                found.append(dataset.column(feature.position).order_statistics(STEPS).tolist())
            except NotYetKnown as error:
                missing.append(error)
        if missing:
            raise missing[0]
        return found

    quantiles = dataset.once_known(all_columns)
    return {"quantiles": quantiles, "passes": dataset.provenance["passes"]}


def _duckdb(folder: str, rows: int) -> dict[str, Any]:
    """Ask DuckDB for the same order statistics of the same files."""
    import duckdb

    source = _source(folder, rows)
    names = source.columns
    if sum(sum(file.rows) for file in source.files) != len(source):
        raise ValueError("DuckDB reads whole files")
    connection = duckdb.connect()
    connection.execute("set threads=1")
    steps = [float(step / STEPS) for step in range(STEPS + 1)]
    wanted = ", ".join(f"quantile_disc({name}, {steps})" for name in names)
    files = sorted(str(path) for path in Path(folder).glob("*.parquet"))
    row = connection.execute(f"select {wanted} from read_parquet({files})").fetchone()  # noqa: S608
    return {"quantiles": [[float(v) for v in column] for column in row], "passes": 1}


TASKS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "ale": _ale, "cluster": _cluster, "quantiles": _quantiles, "duckdb": _duckdb,
}  # fmt: skip


def main(task: str, folder: str, rows: str) -> None:
    """Do one task, and print what it found and cost."""
    _ready()
    wall, cpu = time.perf_counter(), time.process_time()
    found = TASKS[task](folder, int(rows))
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    print(json.dumps({**found, **took, "peak": peak_of_process()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
