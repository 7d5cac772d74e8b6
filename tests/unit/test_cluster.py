"""Work on a Dask cluster gives the bits of one process, also where a worker dies in the middle."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("distributed")
import dask
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from sklearn.ensemble import HistGradientBoostingRegressor

from skedasis.engine import cluster, progress, streams
from tests.systems import posix

N = 600_001
NAMES = ["a", "b", "c"]
OPTIONS = {"progress": False, "keep": "3MB", "heterogeneity_rows": 500}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    r = np.random.default_rng(0)
    frame = pd.DataFrame({"a": r.normal(size=N), "b": r.normal(size=N), "c": r.integers(0, 9, N)})
    where = tmp_path_factory.mktemp("cluster")
    for i, (start, stop) in enumerate([(0, 1), (1, 250_000), (250_000, N)]):
        table = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        pq.write_table(table, where / f"part-{i}.parquet", row_group_size=70_001)
    return where


@pytest.fixture
def client(tmp_path):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(**options, local_directory=str(tmp_path), silence_logs=50) as cluster,
        Client(cluster) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def model(folder):
    frame = pd.read_parquet(folder).iloc[:5_000]
    return HistGradientBoostingRegressor(max_iter=20).fit(frame, frame.a * frame.b + frame.c)


def _same(one, other) -> bool:
    names = ["x", "value", "heterogeneity", "std_error", "importance", "heterogeneity_score"]
    return all(
        np.array_equal(np.asarray(getattr(one[k], n)), np.asarray(getattr(other[k], n)))
        for k in one
        for n in names
    )


@pytest.mark.slow
def test_the_bits_of_one_process(folder, client, model):
    data = sd.parquet(folder)
    for method in (sd.ALE(), sd.RHALE(), sd.PDP(grid=5)):
        alone = sd.explain(model, data, method=method, **OPTIONS)
        together = sd.explain(model, data, method=method, client=client, **OPTIONS)
        assert _same(alone, together)
        assert alone["a"].provenance["passes"] == together["a"].provenance["passes"]


@pytest.mark.slow
def test_a_function_of_a_notebook(folder, client):
    def local(X):
        return X["a"] * X["b"] + np.sin(X["c"])

    data = sd.parquet(folder)
    alone = sd.explain(local, data, method="ale", **OPTIONS)
    assert _same(alone, sd.explain(local, data, method="ale", client=client, **OPTIONS))


@pytest.mark.slow
def test_workers_without_memory_for_the_model_are_an_error(folder, tmp_path):
    def greedy(X):
        # The nanny ends a worker that takes more than 95 % of its memory.
        taken = [np.ones(2**20) for _ in range(120)]
        time.sleep(2.0)
        return X["a"] * len(taken)

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # 3 workers otherwise
        LocalCluster(
            **options, memory_limit="600MB", local_directory=str(tmp_path), silence_logs=50
        ) as small,
        Client(small) as client,
        pytest.raises(
            sd.ModelOutputError, match="Pass a smaller memory=, or give the workers more"
        ),
    ):
        sd.explain(greedy, sd.parquet(folder), "a", method="ale", client=client, **OPTIONS)


@pytest.mark.slow
@posix
def test_a_worker_that_is_killed_twice_changes_no_bit(folder, client, monkeypatch):
    # Workers combine results, too, which are lost with them.
    monkeypatch.setattr(cluster, "_COMBINED", 2)
    monkeypatch.setattr(cluster, "_GATHERED", 2)

    def slow(X):
        time.sleep(0.02)
        return X["a"] * X["b"]

    def kill():
        for _ in range(2):
            time.sleep(3.0)
            pids = list(client.run(os.getpid).values())
            os.kill(pids[0], signal.SIGKILL)

    data = sd.parquet(folder)
    alone = sd.explain(lambda X: X["a"] * X["b"], data, method="ale", **OPTIONS)
    killer = threading.Thread(target=kill)
    killer.start()
    together = sd.explain(slow, data, method="ale", client=client, memory="5MB", **OPTIONS)
    killer.join()
    memory = sd.explain(lambda X: X["a"] * X["b"], data, method="ale", memory="5MB", **OPTIONS)
    assert _same(memory, together)
    assert np.allclose(alone["a"].value, together["a"].value, rtol=1e-12)


class Done:
    """A task that is done."""

    def __init__(self, value):
        self.value = value

    def result(self):
        return self.value

    def release(self):
        pass

    cancel = release


class Here:
    """A cluster in this process. Arguments and results are pickled, as on the way to and from workers."""

    def __init__(self, threads=2):
        self.threads = threads
        self.tasks = []
        self.sent = []

    def nthreads(self):
        return {"here": self.threads}

    def submit(self, function, *args, **options):
        def plain(value):
            if isinstance(value, list):
                return [plain(v) for v in value]
            return pickle.loads(pickle.dumps(value.value)) if isinstance(value, Done) else value

        values = [plain(a) for a in args]
        self.tasks.append(function.__name__)
        if function is cluster._same:
            self.sent.append(len(values[0]))
        return Done(function(*values))


Here.__module__ = "distributed.client"


@pytest.mark.slow
def test_what_is_sent_is_as_large_as_the_model(folder, model):
    data, client = sd.parquet(folder), Here()
    together = sd.explain(model, data, method="ale", client=client, **OPTIONS)
    assert max(client.sent) <= 4 * len(pickle.dumps(model)) + 1_000_000
    assert _same(sd.explain(model, data, method="ale", **OPTIONS), together)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("ale", marks=pytest.mark.long),
        pytest.param("rhale", marks=pytest.mark.slow),
        sd.PFI(n_repeats=2),
    ],
)
def test_workers_combine_results_where_there_are_many(folder, method, monkeypatch):
    """Ranges of one chunk each; results are combined by two until at most two are left."""
    monkeypatch.setattr(cluster, "_COMBINED", 2)
    monkeypatch.setattr(cluster, "_GATHERED", 2)
    monkeypatch.setattr(streams, "CHUNK_ROWS", 65_536)
    data, client = sd.parquet(folder), Here(threads=50)

    def product(X):
        return X["a"] * X["b"]

    alone = sd.explain(product, data, method=method, memory="3MB", **OPTIONS)
    together = sd.explain(product, data, method=method, memory="3MB", client=client, **OPTIONS)
    assert client.tasks.count("_combine") > 5
    if method != "rhale" and method != "ale":
        assert np.array_equal(alone.values, together.values)
        assert np.array_equal(alone.std_error, together.std_error)
    else:
        assert _same(alone, together)
        assert alone["a"].provenance["rows_kept"] == together["a"].provenance["rows_kept"]


def test_what_is_no_client_is_refused():
    with pytest.raises(sd.DataError, match="client: got a str"):
        sd.explain(len, np.zeros((3, 2)), client="tcp://host")


def test_a_model_that_cannot_be_sent(folder):
    lock = threading.Lock()

    def model(X):
        with lock:
            return X["a"]

    with pytest.raises(sd.UnsupportedError, match="cannot be sent"):
        sd.explain(model, sd.parquet(folder), "a", method="ale", client=Here())


def test_the_path_of_the_folder_is_all_that_is_needed(folder):
    assert len(sd.parquet(Path(folder))) == N


def test_freed_memory_is_kept_while_tasks_run_and_then_as_before(monkeypatch):
    calls = []
    stub = (lambda *a: calls.append(a)), (lambda *a: calls.append("trim"))
    monkeypatch.setattr(cluster, "_mallopt", lambda: stub)
    monkeypatch.setattr(cluster, "_RESTORED_AFTER", 60.0)
    allocator = cluster._Allocator()
    monkeypatch.setattr(cluster, "_ALLOCATOR", allocator)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    with cluster.freed_memory_kept():
        assert calls == []  # what the user has chosen, or glibc by default
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    kept, restored = [(-1, 128 << 20), (-3, 32 << 20)], [(-1, 65536), (-3, 128 << 10), "trim"]
    with cluster.freed_memory_kept():
        with cluster.freed_memory_kept():  # another thread of the same worker
            assert calls == kept
        allocator.restore()  # the timer of an earlier task, which comes too late
        assert calls == kept
    with cluster.freed_memory_kept():  # the next task begins before the setting is as before
        assert calls == kept
    assert calls == kept
    monkeypatch.setattr(cluster, "_RESTORED_AFTER", 0.01)
    with pytest.raises(ZeroDivisionError), cluster.freed_memory_kept():
        raise ZeroDivisionError
    allocator.timer.join(10.0)
    assert calls == [*kept, *restored]
    calls.clear()
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "1000000")
    with cluster.freed_memory_kept():
        assert calls == kept
    allocator.timer.join(10.0)
    assert calls == [*kept, (-1, 65536), (-3, 1_000_000), "trim"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_the_c_library_takes_the_settings(monkeypatch):
    # In a process of its own: the thresholds of this one adapt to its arrays, which a setting would end.
    code = """
from skedasis.engine import cluster
found = cluster._mallopt()
if found is not None:
    mallopt, trim = found
    assert mallopt(-1, cluster._KEPT_BYTES) == mallopt(-3, cluster._LARGEST_BYTES) == 1
    assert trim(0) in (0, 1)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_interruption_cancels_all_tasks(folder, monkeypatch):
    """Also while they are submitted, and while something, such as a debugger, holds the traceback."""
    cancelled = []

    def cancel(task):
        cancelled.append(task)

    monkeypatch.setattr(Done, "cancel", cancel)
    monkeypatch.setattr(streams, "CHUNK_ROWS", 65_536)
    data = sd.parquet(folder)

    class Interrupted(Here):
        """A cluster whose n-th task is interrupted."""

        def __init__(self, at):
            super().__init__(threads=50)
            self.at, self.made = at, []

        def submit(self, function, *args, **options):
            if function is cluster._compute and len(self.made) == self.at:
                raise KeyboardInterrupt
            done = super().submit(function, *args, **options)
            self.made += [done] * (function is cluster._compute)
            return done

    Interrupted.__module__ = "distributed.client"
    client = Interrupted(2)
    with pytest.raises(KeyboardInterrupt):
        sd.explain(lambda X: X["a"] * X["b"], data, "a", client=client, **OPTIONS)
    assert len(client.made) == 2
    assert cancelled == client.made
    del cancelled[:]

    def interrupted(*_):
        raise KeyboardInterrupt

    client = Interrupted(-1)
    monkeypatch.setattr(progress.Progress, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt) as held:
        sd.explain(lambda X: X["a"] * X["b"], data, "a", client=client, **OPTIONS)
    assert client.made
    assert [d for d in cancelled if d in client.made] == client.made
    assert held.traceback
