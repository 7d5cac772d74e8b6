"""Shared by the tests of the papers' examples: settings, and the effects of all seeds."""

from __future__ import annotations

from functools import cache

import numpy as np

import skedasis as sd
from skedasis.datasets import SYNTHETIC

SEEDS = 200

# max_bins, alpha, min_points and rows as in the papers; where a paper does not give them (sections 4.1 and 4.2), as in
# the authors' published experiments, with the paper's typical alpha.
SETTINGS = {
    "rhale_introduction": (20, 0.5, 10, 100),
    "running_example": (50, 0.1, 5, 60),
    "correlated_a": (20, 0.2, 10, 500),
    "correlated_b": (20, 0.2, 10, 500),
    "correlated_c": (20, 0.2, 10, 500),
    "piecewise_linear": (40, 0.2, 10, 500),
    "non_linear": (40, 0.2, 10, 500),
}


def effect(example, X, feature, max_bins, alpha, min_points, method=sd.RHALE):
    """Return the effect of one feature from given slopes, without the heterogeneity score, which no test reads."""
    bins = sd.Optimal(max_bins=max_bins, alpha=alpha, min_points=min_points, criterion="eq13")
    quantity = sd.prediction(example.f, slope=example.slope)
    return sd.explain(
        quantity, X, feature, method=method(bins=bins), heterogeneity_rows=0, progress=False
    )


@cache
def run(name, feature, seed, method=sd.RHALE):
    """Return the rows of a seed, and their effect."""
    example = SYNTHETIC[name]
    *settings, n = SETTINGS[name]
    X = example.sample(n, seed)
    return X, effect(example, X, feature, *settings, method=method)


def runs(name, feature, method=sd.RHALE, seeds=SEEDS):
    """Return the rows and the effect of each seed."""
    return [run(name, feature, seed, method) for seed in range(seeds)]


def effects(name, feature, method=sd.RHALE):
    return [e for _, e in runs(name, feature, method)]


def share(conditions):
    return np.mean(list(conditions))


def from_the_left(e):
    """Return the values at the edges, shifted to 0 at the left end, for any centring."""
    return e.value - e.value[0]


def truth_from_the_left(example, feature, e):
    truth = example.true_effect(feature, e.x)
    return truth - truth[0]
