"""The learner interval: against the jackknife where that is exact, and its coverage in simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import skedasis as sd

GRID = np.linspace(0.1, 0.9, 9)
METHOD = sd.PDP(grid=GRID, ice=0, heterogeneity=False)
N, SETS, FRESH = 200, 300, 2000


@pytest.mark.parametrize("k", [3, 5, 12])
def test_the_bound_of_a_mean_over_rows_is_the_jackknife(k: int) -> None:
    """Quenouille, Tukey: (k - 1) / k times the sum of squares of leave-one-group-out values about their mean."""
    rng = np.random.default_rng(k)
    X, y = rng.uniform(size=(12 * k, 2)), rng.normal(size=12 * k)
    fold = rng.permutation(np.arange(12 * k) % k)
    left_out = np.array([y[fold != i].mean() for i in range(k)])
    models = [lambda X, b=b: np.full(len(X), b) for b in left_out]
    em = sd.explain(models, X, 0, method=METHOD, cv=fold)
    lower, upper = em.interval(0.95, of="bound")
    from scipy.stats import t

    jackknife = (k - 1) / k * ((left_out - left_out.mean()) ** 2).sum()
    np.testing.assert_allclose((upper - lower) / 2, t.ppf(0.975, k - 1) * np.sqrt(jackknife))
    # For a mean of equally large groups the jackknife is the variance of the groups' means over k.
    groups = np.array([y[fold == i].mean() for i in range(k)])
    assert jackknife == pytest.approx(groups.var(ddof=1) / k)


def test_the_correction_is_that_of_nadeau_and_bengio() -> None:
    """Their Eq. 7: (1/J + n2/n1) times the sample variance, with J = 4 splits of 30 rows into 24 and 6."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 1))
    splits = [(p[:24], p[24:]) for p in (rng.permutation(30) for _ in range(4))]
    values = np.array([0.3, 0.5, 0.1, 0.9])
    em = sd.explain(
        [lambda X, v=v: np.full(len(X), v) for v in values], X, 0, method=METHOD, cv=splits
    )
    variance = (1 / 4 + 6 / 24) * ((values - 0.45) ** 2).sum() / 3
    np.testing.assert_allclose(em.std_error, np.sqrt(variance))


class Polynomial:
    """A stable learner: least squares on powers of each feature."""

    def fit(self, X: Any, y: Any) -> Any:
        self.b = np.linalg.lstsq(self.powers(X), y, rcond=None)[0]
        return self

    @staticmethod
    def powers(X: Any) -> Any:
        return np.column_stack(
            [np.ones(len(X)), *(X[:, j] ** p for j in range(3) for p in (1, 2, 3))]
        )

    def __call__(self, X: Any) -> Any:
        return self.powers(X) @ self.b


class Tree:
    """An unstable learner."""

    def fit(self, X: Any, y: Any) -> Any:
        self.tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
        return self

    def __call__(self, X: Any) -> Any:
        return self.tree.predict(X)


def drawn(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return rows, and labels that are nonlinear in the first feature."""
    X = rng.uniform(size=(N, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N)


def splits(kind: str, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Return (train, test) rows of each refit."""
    if kind.endswith("folds"):
        parts = np.array_split(rng.permutation(N), int(kind.split(maxsplit=1)[0]))
        return [(np.setdiff1d(np.arange(N), p), p) for p in parts]
    found = []
    for _ in range(15):
        order = rng.permutation(N) if kind == "subsamples" else rng.integers(0, N, N)
        train = order[: round(0.632 * N)] if kind == "subsamples" else order
        found.append((train, np.setdiff1d(np.arange(N), train)))
    return found


def by_hand(model: Any, X: Any) -> Any:
    """Return a partial dependence, computed with a loop."""
    values = []
    for point in GRID:
        moved = X.copy()
        moved[:, 0] = point
        values.append(model(moved).mean())
    return np.array(values)


@pytest.mark.long
@pytest.mark.parametrize(
    ("learner", "kind", "low", "high"),
    [
        (Polynomial, "subsamples", 0.79, 0.88),
        (Polynomial, "bootstrap", 0.85, 0.93),
        (Polynomial, "5 folds", 0.73, 0.84),
        (Polynomial, "10 folds", 0.53, 0.65),
        (Tree, "subsamples", 0.90, 0.97),
        (Tree, "bootstrap", 0.92, 0.98),
        (Tree, "5 folds", 0.81, 0.90),
        (Tree, "10 folds", 0.59, 0.71),
    ],
)
def test_coverage(learner: Any, kind: str, low: float, high: float, measured: Any) -> None:
    """The truth is the mean of 2,000 refits on fresh data. The correction is the paper's; the bound always covers."""
    rng = np.random.default_rng(1)
    truth = np.zeros(len(GRID))
    for _ in range(FRESH):
        X, y = drawn(rng)
        train, test = splits(kind, rng)[0]
        truth += by_hand(learner().fit(X[train], y[train]), X[test]) / FRESH
    hits: dict[str, list[float]] = {"models": [], "learner": [], "bound": []}
    for _ in range(SETS):
        X, y = drawn(rng)
        cv = splits(kind, rng)
        models = [learner().fit(X[train], y[train]) for train, _ in cv]
        em = sd.explain(models, X, 0, method=METHOD, cv=cv)
        for of, hit in hits.items():
            lower, upper = em.interval(0.95, of=of)  # type: ignore[arg-type]
            hit.append(float(np.mean((lower <= truth) & (truth <= upper))))
    share = {of: float(np.mean(hit)) for of, hit in hits.items()}
    about: dict[str, Any] = {"draws": SETS, "rows": N, "seed": "1"}
    measured("models", share["models"], **about)
    measured("learner", share["learner"], **about, low=low, high=high)
    measured("bound", share["bound"], **about, low=0.93)
    assert share["models"] < share["learner"] - 0.1
