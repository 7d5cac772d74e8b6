"""Random states, and keyed hashes: uniform, independent between purposes, equal for equal identifiers of any type."""

from __future__ import annotations

import datetime as dt
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare, kstest

import skedasis as sd
from skedasis.stats.random import as_seed, row_hashes, uniform_from_hash

N = 100_000
IDS = {
    "counted": np.arange(N),
    "far": np.arange(N) * 2**32 + 10**15,
    "text": np.array([f"customer {i}" for i in range(N)]),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_hashes_are_uniform_and_purposes_independent(ids):
    drawn = {
        (seed, what): uniform_from_hash(row_hashes(ids, seed, what))
        for seed in (0, 1)
        for what in "ab"
    }
    for u in drawn.values():
        assert kstest(u, "uniform").pvalue > 1e-4
        # The lower digits are uniform, too.
        assert kstest((u * 2**20) % 1, "uniform").pvalue > 1e-4
        # Neighbours are not correlated.
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 4.5 / np.sqrt(N)
        assert len(np.unique(u)) == N
    for one, two in combinations(drawn.values(), 2):
        table = np.histogram2d(one, two, bins=8)[0]
        assert chisquare(table.ravel()).pvalue > 1e-4
    assert all(u.min() > 0 and u.max() < 1 for u in drawn.values())


def test_every_bit_is_a_fair_coin():
    bits = np.unpackbits(row_hashes(np.arange(N), 0, "bits").view(np.uint8).reshape(N, 8), axis=1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(N)


def test_whole_numbers_are_the_same_in_every_type():
    ids = np.array([0, 3, 7, 200])
    want = row_hashes(ids, 4, "x")
    for other in (
        ids.astype(np.uint8),
        ids.astype(np.int16),
        ids.astype(float),
        ids.astype(np.float32),
        ids.astype(object),
        np.asarray(pd.array(ids, dtype="Int64")),
        ids.astype(">i4"),
    ):
        np.testing.assert_array_equal(row_hashes(other, 4, "x"), want)
    assert row_hashes(np.array([-0.0]), 4, "x")[0] == want[0]
    assert row_hashes(np.array(["3"]), 4, "x")[0] != want[1]
    assert row_hashes(np.array([3.5]), 4, "x")[0] != want[1]


def test_text_is_the_same_in_arrays_of_any_width():
    text = ["a", "bc", "", "äöü", "🙂"]
    want = row_hashes(np.array(text), 0, "x")
    assert len(set(want.tolist())) == 5
    for other in (
        np.array([*text, "x" * 500])[:5],
        np.array(text, dtype=object),
        np.array(text).astype(">U3"),
    ):
        np.testing.assert_array_equal(row_hashes(other, 0, "x"), want)
    for one in text:
        assert row_hashes(np.array([one]), 0, "x")[0] in want
    assert row_hashes(np.array(["ab"]), 0, "x")[0] != row_hashes(np.array(["ba"]), 0, "x")[0]


def test_other_objects_are_known_by_their_text():
    days = [dt.date(2020, 1, d) for d in (1, 2)]
    found = row_hashes(np.array(days, dtype=object), 0, "x")
    np.testing.assert_array_equal(found, row_hashes(np.array([str(d) for d in days]), 0, "x"))
    np.testing.assert_array_equal(
        row_hashes(np.array([b"a", b"b"]), 0, "x"), row_hashes(np.array(["b'a'", "b'b'"]), 0, "x")
    )


def test_large_numbers_stay_apart():
    ids = np.array([2.0**53, 2.0**63, 2.0**64, -(2.0**63), np.inf, 1e300])
    assert len(set(row_hashes(ids, 0, "x").tolist())) == 6
    near = np.array([2**62, 2**62 + 1])
    assert row_hashes(near, 0, "x")[0] != row_hashes(near, 0, "x")[1]
    assert row_hashes(near.astype(object), 0, "x").tolist() == row_hashes(near, 0, "x").tolist()


def product(X):
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def test_a_generator_gives_one_integer_which_the_provenance_records():
    X = np.random.default_rng(0).normal(size=(300, 3))
    drawn = int(np.random.default_rng(5).integers(2**32))
    rng = np.random.default_rng(5)
    first = sd.explain(product, X, 0, method=sd.PFI(), random_state=rng, progress=False)
    again = sd.explain(product, X, 0, method=sd.PFI(), random_state=drawn, progress=False)
    other = sd.explain(product, X, 0, method=sd.PFI(), random_state=rng, progress=False)
    assert first.provenance["random_state"] == drawn
    np.testing.assert_array_equal(first.values, again.values)
    assert other.provenance["random_state"] != drawn
    assert not np.array_equal(first.values, other.values)


def test_none_draws_another_integer_each_time_and_the_recorded_one_repeats_the_result():
    X = np.random.default_rng(0).normal(size=(300, 3))
    found = [
        sd.explain(product, X, 0, method=sd.PFI(), random_state=None, progress=False)
        for _ in range(2)
    ]
    states = [f.provenance["random_state"] for f in found]
    assert states[0] != states[1]
    again = sd.explain(product, X, 0, method=sd.PFI(), random_state=states[0], progress=False)
    np.testing.assert_array_equal(found[0].values, again.values)


@pytest.mark.parametrize("bad", [-1, True, np.random.RandomState(0)])
def test_other_random_states_are_refused(bad):
    with pytest.raises(sd.DataError, match=r"explain\(random_state\): got .*, expected an integer"):
        sd.explain(product, np.zeros((5, 3)), 0, random_state=bad)


def test_integers_of_numpy_are_integers():
    assert as_seed("here", np.int8(7)) == 7
    assert as_seed("here", 2**70) == 2**70
