"""The rows that results keep, in memory and beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from skedasis.data.dataset import as_dataset
from skedasis.data.row_rules import MaskedRows, hashed_rows

X = np.random.default_rng(0).normal(size=(57, 2))


@pytest.mark.parametrize("places", [np.arange(57), np.arange(3, 50, 2)])
def test_a_rule_says_the_same_of_batches_and_of_all_rows(places):
    dataset = as_dataset(X).subset(places)
    n = len(places)
    masked = MaskedRows(np.arange(n) % 3 == 0)
    hashed = hashed_rows(57, 20, 0, numbered=True)
    for rule in (masked, hashed):
        whole = rule.mask(dataset.whole)
        parts = np.concatenate([rule.mask(batch) for batch in dataset.batches(10)])
        np.testing.assert_array_equal(parts, whole)
        some = np.array([1, 4, 7])
        np.testing.assert_array_equal(rule.mask(dataset.whole.take(some)), whole[some])
    np.testing.assert_array_equal(masked.mask(dataset.whole), masked.rows)
    assert masked.most == -(-n // 3)


def test_hashed_rows_are_those_that_are_drawn_in_memory():
    dataset = as_dataset(X)
    kept = hashed_rows(57, 20, 0, numbered=True)
    np.testing.assert_array_equal(kept.mask(dataset.whole), dataset.sample_rows(20, 0).rows)
    assert kept.most == kept.mask(dataset.whole).sum() == 20
    assert not hashed_rows(57, 0, 0, numbered=True).mask(dataset.whole).any()
