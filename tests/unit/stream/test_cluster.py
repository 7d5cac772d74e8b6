"""Work on a Dask cluster gives the bits of one process, also where a worker dies in the middle."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("distributed")
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from sklearn.ensemble import HistGradientBoostingRegressor

from skedasis.stream import cluster, running
from tests.systems import posix

N = 600_001
OPTIONS = {"progress": False, "keep_rows": "3MB", "heterogeneity_rows": 500}


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
def test_observed_means_have_the_bits_of_one_process(folder, client):
    data = sd.parquet(folder, columns=["a", "b"], y="b", filters=[("c", "<", 3)])
    options = {"observed": True, "split": "c", **OPTIONS}

    def product(X):  # workers get it whole, not by the name of this module
        return np.asarray(X["a"] * X["b"])

    alone = sd.explain(product, data, method="mplot", **options)
    elsewhere = sd.explain(product, data, method="mplot", client=client, **options)
    for name in ("a", "b"):
        one, other = alone[name].observed, elsewhere[name].observed
        assert one is not None
        assert other is not None
        assert one.split_values == other.split_values == ("0", "1", "2")
        for field in ("count", "points", "label", "label_error", "residual", "residual_error"):
            np.testing.assert_array_equal(vars(one)[field], vars(other)[field])


@pytest.mark.slow
def test_the_bits_of_one_process(folder, client, model):
    data = sd.parquet(folder)
    for method in (sd.ALE(), sd.RHALE(), sd.PDP(grid=5)):
        alone = sd.explain(model, data, method=method, **OPTIONS)
        together = sd.explain(model, data, method=method, client=client, **OPTIONS)
        assert _same(alone, together)
        assert alone["a"].provenance["passes"] == together["a"].provenance["passes"]


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


@pytest.mark.parametrize(
    "method", [pytest.param("rhale", marks=pytest.mark.slow), sd.PFI(n_repeats=2)]
)
def test_workers_combine_results_where_there_are_many(folder, method, monkeypatch):
    """Ranges of one chunk each; results are combined by two until at most two are left."""
    monkeypatch.setattr(cluster, "_COMBINED", 2)
    monkeypatch.setattr(cluster, "_GATHERED", 2)
    monkeypatch.setattr(running, "CHUNK_ROWS", 65_536)
    data, client = sd.parquet(folder), Here(threads=50)

    def product(X):
        return X["a"] * X["b"]

    alone = sd.explain(product, data, method=method, memory="3MB", **OPTIONS)
    together = sd.explain(product, data, method=method, memory="3MB", client=client, **OPTIONS)
    assert client.tasks.count("_combine") > 5
    if method != "rhale":
        assert np.array_equal(alone.values, together.values)
        assert np.array_equal(alone.std_error, together.std_error)
    else:
        assert _same(alone, together)
        assert alone["a"].provenance["rows_kept"] == together["a"].provenance["rows_kept"]


def test_a_model_that_cannot_be_sent(folder):
    lock = threading.Lock()

    def model(X):
        with lock:
            return X["a"]

    with pytest.raises(sd.UnsupportedError, match="cannot be sent"):
        sd.explain(model, sd.parquet(folder), "a", method="ale", client=Here())


def test_an_interruption_cancels_all_tasks(folder, monkeypatch):
    """Also while they are submitted."""
    cancelled = []

    def cancel(task):
        cancelled.append(task)

    monkeypatch.setattr(Done, "cancel", cancel)
    monkeypatch.setattr(running, "CHUNK_ROWS", 65_536)
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
