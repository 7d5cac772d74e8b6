"""Coverage of PFI: 95 % intervals must contain the true importance in 95 of 100 data sets.

Many data sets are simulated at a time: the quantity is a sum over pairs of columns (s, c), so that the importance of s
in it is that of s in its own pair, exactly. A fraction of 2,000 data sets has a standard error of 0.005.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import skedasis as sd
from tests.long.figures import of_ratio

SETS = 5
"""Data sets of one call."""
RHO = 0.6


@dataclass(frozen=True)
class World:
    """A population: `draw(rng, shape)` gives columns, `value(*columns)` the quantity of each row."""

    draw: object
    value: object
    truth: float


def unrelated(rng, shape):
    return rng.normal(size=shape), rng.normal(size=shape)


def skewed(rng, shape):
    return rng.normal(size=shape), rng.exponential(size=shape)


def related(rng, shape):
    c = rng.normal(size=shape)
    return RHO * c + np.sqrt(1 - RHO**2) * rng.normal(size=shape), c


def labelled(rng, shape):
    s, c = related(rng, shape)
    return s, c, s + c + rng.normal(size=shape)


def logistic_entropy(s, c):
    """Return the entropy of a logistic model whose two features interact."""
    z = np.abs(s + 0.5 * c + s * c)
    return np.log1p(np.exp(-z)) + z / (1 + np.exp(z))


def gaussian_entropy(s, c):
    return 0.5 * np.log(2 * np.pi * np.e) + 0.5 * s * np.sqrt(c) + 0.3 * s**2


def tree_entropy(s, c):
    p = np.array([[0.5, 0.9], [0.7, 0.99]])[(s > 0.3).astype(int), (c > 0).astype(int)]
    return -p * np.log(p) - (1 - p) * np.log(1 - p)


def entropic_truth():
    """Return the increase of the entropy when s becomes independent of c, by quadrature."""
    x, w = np.polynomial.hermite_e.hermegauss(120)
    a, b = np.meshgrid(x, x, indexing="ij")
    weight = np.outer(w, w) / (2 * np.pi)
    apart = logistic_entropy(a, b)
    together = logistic_entropy(RHO * b + np.sqrt(1 - RHO**2) * a, b)
    return float((weight * (apart - together)).sum())


WORLDS = {
    "logistic": World(unrelated, logistic_entropy, 0.0),
    "gaussian": World(skewed, gaussian_entropy, 0.0),
    "tree": World(unrelated, tree_entropy, 0.0),
    "product": World(related, lambda s, c: s * c, -RHO),
    "squared error": World(labelled, lambda s, c, y: (y - s - c) ** 2, 2.0),
    "dependent entropy": World(related, logistic_entropy, entropic_truth()),
}
INDEPENDENT = ("logistic", "gaussian", "tree")


@dataclass(frozen=True)
class Found:
    """Importances of many data sets, and their intervals."""

    mean: np.ndarray
    error: np.ndarray
    held: np.ndarray

    @property
    def share(self):
        return float(self.held.mean())

    @property
    def ratio(self):
        """Return the stated error divided by the true one."""
        return float(np.sqrt((self.error**2).mean()) / self.mean.std(ddof=1))


def simulate(world, rows, calls, *, weigh=None, kind="frequency", key=0, **settings):
    """Simulate importances and intervals in `calls` calls of `SETS` data sets each."""
    found = []
    for call in range(calls):
        rng = np.random.default_rng([key, call, rows])
        columns = world.draw(rng, (SETS, rows))
        X = np.concatenate(columns).T.copy()

        def quantity(X):
            return world.value(*np.split(X, X.shape[1] // SETS, axis=1)).sum(axis=1)

        pf = sd.explain(
            quantity,
            X,
            list(range(SETS)),
            method=sd.PFI(local=0, **settings),
            sample_weight=None if weigh is None else weigh(rng, rows),
            weight_kind=kind,
            random_state=call,
            progress=False,
        )
        if np.isfinite(pf.std_error).all():
            low, high = pf.interval(0.95)
            found.append((pf.mean, pf.std_error, (low <= world.truth) & (world.truth <= high)))
    return Found(*map(np.concatenate, zip(*found, strict=True)))


def of_means(world, rows, sets, key=1):
    """Return the coverage of Student's interval for a plain mean: of each row's contribution to the importance of s.

    It is the coverage that is possible with so few rows of a skewed distribution.
    """
    columns = world.draw(np.random.default_rng(key), (sets, rows))
    seen = -columns[0] * columns[1] if len(columns) == 2 else 2 * columns[0] ** 2
    half = stats.t.ppf(0.975, rows - 1) * seen.std(axis=1, ddof=1) / np.sqrt(rows)
    return float((np.abs(seen.mean(axis=1) - world.truth) <= half).mean())


# -------------------------------------------------------------------------------------- short runs


@pytest.mark.parametrize("settings", [{"n_repeats": 10}, {"exact": True}], ids=["draws", "exact"])
def test_what_is_additive_is_zero_with_an_interval_of_zero(settings):
    """What a row loses as a recipient it adds as a donor: the variation of single-row increases must not contribute."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    pf = sd.explain(lambda X: 100 * X[:, 0] ** 2 + X[:, 1], X, method=sd.PFI(**settings))
    low, high = pf.interval(0.95)
    size = np.array([100.0, 1.0])
    assert (np.maximum(np.abs(low), np.abs(high)) < 1e-12 * size).all()
    assert (low <= 1e-13 * size).all()
    assert (high >= -1e-13 * size).all()


@pytest.mark.slow
def test_intervals_over_repeats_hold_what_infinitely_many_would_give():
    """The interval for given rows contains the mean over all pairs."""
    rng = np.random.default_rng(3)
    X = np.stack(related(rng, 300), axis=1)

    def q(X):
        return X[:, 0] * X[:, 1]

    exact = sd.explain(q, X, 0, method=sd.PFI(exact=True)).mean[0]
    held = 0
    for seed in range(600):
        pf = sd.explain(q, X, 0, method=sd.PFI(local=0), random_state=seed, progress=False)
        (low,), (high,) = pf.interval(0.95, method="repeats")
        held += low <= exact <= high
    assert held / 600 >= 0.925


# ------------------------------------------------------------------------------- conservative forms

LEVELS = 4


def levelled(rng, rows):
    """Return a feature that depends on a category, the category, and a label; within a level the feature's variance is
    1.
    """
    c = rng.integers(0, LEVELS, rows).astype(float)
    s = 3 * c + rng.normal(size=rows)
    return np.stack([s, c], axis=1), s + rng.normal(size=rows)


def conditional(rows, repeats, sets):
    """Return importances of s given c: the model's error is s' - s, whose variance is 2 within a level."""
    q = sd.loss(lambda X: X[:, 0], "squared_error")
    found = []
    for k in range(sets):
        X, y = levelled(np.random.default_rng([8, k]), rows)
        method = sd.PFI(n_repeats=repeats, conditional=True, local=0)
        pf = sd.explain(q, X, 0, y=y, method=method, random_state=k, progress=False)
        assert pf.provenance["subgroups"] == {"x0": LEVELS}
        (low,), (high,) = pf.interval(0.95)
        found.append((pf.mean[0], pf.std_error[0], low <= 2 <= high))
    return Found(*map(np.array, zip(*found, strict=True)))


def mean_squares(y, values, sample_weight=None):
    return np.average((y - values) ** 2, weights=sample_weight)


def of_metric(draw, rows, repeats, sets, truth, metric=mean_squares):
    found = []
    for k in range(sets):
        rng = np.random.default_rng([9, k])
        s = draw(rng, rows)
        X, y = np.stack([s, rng.normal(size=rows)], axis=1), s + rng.normal(size=rows)
        method = sd.PFI(n_repeats=repeats, metric=metric, greater_is_better=False, local=0)
        pf = sd.explain(lambda X: X[:, 0], X, 0, y=y, method=method, random_state=k, progress=False)
        (low,), (high,) = pf.interval(0.95)
        found.append((pf.mean[0], pf.std_error[0], low <= truth <= high))
    return Found(*map(np.array, zip(*found, strict=True)))


def uniform(rng, rows):
    return rng.uniform(0.2, 3, rows)


def counted(total, repeats, sets, **settings):
    """Return importances of aggregated rows: `total` rows on a lattice, each distinct row once with its count."""
    found = []
    for k in range(sets):
        rng = np.random.default_rng([6, k])
        rows = np.round(np.stack(unrelated(rng, total), axis=1) * 2) / 2
        X, often = np.unique(rows, axis=0, return_counts=True)
        method = sd.PFI(n_repeats=repeats, local=0, **settings)
        pf = sd.explain(
            lambda X: X[:, 0] * X[:, 1],
            X,
            0,
            sample_weight=often.astype(float),
            method=method,
            random_state=k,
            progress=False,
        )
        (low,), (high,) = pf.interval(0.95)
        found.append((pf.mean[0], pf.std_error[0], low <= 0 <= high))
    return Found(*map(np.array, zip(*found, strict=True)))


QUICK = {
    "independent": lambda: simulate(WORLDS["logistic"], 100, 120, n_repeats=10),
    "dependent": lambda: simulate(WORLDS["product"], 500, 120, n_repeats=10),
    "loss": lambda: simulate(WORLDS["squared error"], 500, 120, n_repeats=10),
    "all pairs": lambda: simulate(WORLDS["product"], 150, 50, exact=True),
    "sampling weights": lambda: simulate(
        WORLDS["product"], 500, 100, n_repeats=30, weigh=uniform, kind="sampling", key=4
    ),
    "conditional": lambda: conditional(400, 3, 300),
    "metric": lambda: of_metric(lambda rng, n: rng.normal(size=n), 400, 5, 300, 2.0),
    "counted rows": lambda: counted(2000, 30, 250),
    "counted rows, all pairs": lambda: counted(2000, 1, 250, exact=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_intervals_hold_the_truth(name):
    """With 600 data sets a share has a standard error of 0.009. Errors of other forms may be too large."""
    found = QUICK[name]()
    assert found.share >= 0.91
    assert found.ratio >= 0.9
    if name in ("independent", "dependent", "loss", "all pairs"):
        assert found.share <= 0.985
        assert found.ratio <= 1.15


# ------------------------------------------------------------------------------------- long runs


def took(measured, found, rows, seed, low, high=None, ratios=(None, None)):
    """Record the coverage of intervals, and the ratio of stated and true error."""
    about = {"draws": len(found.held), "rows": rows, "seed": seed}
    limits = {"low": low} if high is None else {"low": low, "high": high}
    measured("held", found.share, **about, **limits)
    limits = {} if ratios[0] is None else {"low": ratios[0], "high": ratios[1]}
    error = of_ratio(found.ratio, len(found.held))
    measured("stated error over true", found.ratio, error=error, **about, **limits)


@pytest.mark.long
@pytest.mark.parametrize("repeats", [5, 10, 30])
@pytest.mark.parametrize("rows", [100, 500, 2000])
@pytest.mark.parametrize("world", WORLDS)
def test_coverage(world, rows, repeats, measured):
    found = simulate(WORLDS[world], rows, 200 if rows == 2000 else 400, n_repeats=repeats, key=2)
    low = 0.925  # 0.93, minus a standard error of the coverage
    if world in ("product", "squared error") and rows == 100:
        low = min(low, of_means(WORLDS[world], rows, 20_000) - 0.015)
    # The ratio from 1,000 data sets has an error of about 0.022.
    took(measured, found, rows, "[2, call, rows]", low, 0.97, (0.92, 1.09))


@pytest.mark.long
@pytest.mark.parametrize("rows", [100, 300])
@pytest.mark.parametrize("world", WORLDS)
def test_coverage_of_all_pairs(world, rows, measured):
    found = simulate(WORLDS[world], rows, 400 if rows == 100 else 120, exact=True, key=3)
    low = 0.93
    if world not in INDEPENDENT:
        low = min(low, of_means(WORLDS["product"], rows, 20_000) - 0.015)
    took(measured, found, rows, "[3, call, rows]", low, 0.975, (0.93, 1.08))


@pytest.mark.long
@pytest.mark.parametrize("repeats", [5, 10])
@pytest.mark.parametrize("rows", [300, 1500])
def test_coverage_of_conditional_importance(rows, repeats, measured):
    took(measured, conditional(rows, repeats, 1500), rows, "[8, set]", 0.93)


@pytest.mark.long
@pytest.mark.parametrize("repeats", [5, 10, 30])
@pytest.mark.parametrize("world", ["logistic", "product"])
def test_coverage_of_weighted_samples(world, repeats, measured):
    found = simulate(
        WORLDS[world], 500, 400, n_repeats=repeats, weigh=uniform, kind="sampling", key=5
    )
    took(measured, found, 500, "[5, call, rows]", 0.93)


@pytest.mark.long
@pytest.mark.parametrize("rows", [200, 1000])
def test_coverage_of_a_metric_of_normal_data(rows, measured):
    found = of_metric(lambda rng, n: rng.normal(size=n), rows, 10, 1500, 2.0)
    took(measured, found, rows, "[9, set]", 0.93)
