"""A partial dependence on the exact grid is the step function itself; bin edges lie between jumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.stats.grid import Cells
from tests.helpers import refused
from tests.reference.tree_cases import WEIGHTS, few, grown, plain, same, tolerance

EXACT_GRID = sd.PDP(grid="exact")
CASES = ["tree", "forest", "boosting", "histograms", "lightgbm", "xgboost", "catboost", "forest 2"]
CASES += ["boosting 3", "isolation"]


def borders(case: str, j: int) -> np.ndarray:
    """Return the thresholds of a model for a column, as its library reports them."""
    model, _, _ = grown(case)
    if case.partition(" ")[0] in ("tree", "stump", "forest", "boosting"):
        trees = [e.tree_ for e in np.ravel(getattr(model, "estimators_", [model]))]
        found = [t.threshold[t.feature == j] for t in trees]
    elif case == "histograms":
        nodes = [t.nodes for stage in model._predictors for t in stage]
        found = [n["num_threshold"][(n["feature_idx"] == j) & (n["is_leaf"] == 0)] for n in nodes]
    elif case == "lightgbm":
        table = model.booster_.trees_to_dataframe()
        found = [table["threshold"][table["split_feature"] == f"Column_{j}"].to_numpy(float)]
    else:
        return np.zeros(0)
    return np.unique(np.concatenate(found))


def mean_at(quantity: Any, X: np.ndarray, j: int, points: np.ndarray) -> np.ndarray:
    """Return the mean over the rows with a column set to each point, by calling the model."""
    many = np.tile(X, (len(points), 1))
    many[:, j] = np.repeat(points, len(X))
    about = quantity if hasattr(quantity, "describe") else sd.prediction(quantity)
    return about.at(many).reshape(len(points), len(X)).mean(axis=1)


def probed(case: str, X: np.ndarray, j: int) -> np.ndarray:
    """Return points within the range of the data: random ones, data values, thresholds, and their neighbors."""
    rng = np.random.default_rng(1)
    x = X[~np.isnan(X[:, j]), j]
    own = borders(case, j)
    single = np.concatenate([own, rng.choice(x, 20)]).astype(np.float32)
    next_ = np.nextafter(single, np.float32(np.inf))
    # Halfway between two float32 numbers is where rounding changes from one to the other.
    half = (single.astype(float) + next_.astype(float)) / 2
    close = np.concatenate([own, rng.choice(x, 20), half, single.astype(float)])
    points = [close, np.nextafter(close, np.inf), np.nextafter(close, -np.inf)]
    points += [rng.uniform(x.min(), x.max(), 40), [x.min(), x.max()]]
    every = np.concatenate(points)
    return every[(every >= x.min()) & (every <= x.max())]


@pytest.mark.parametrize("case", few(CASES, "forest", "histograms", "lightgbm", "boosting 3"))
def test_the_curve_is_the_step_function(case: str) -> None:
    quantity, X, tol = plain(case), grown(case)[1], tolerance(case)
    for j in (0, 1, 3):
        e = sd.explain(quantity, X, j, method=EXACT_GRID, tree="force")
        points = probed(case, X, j)
        wanted = mean_at(quantity, X, j, points)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(e(points), wanted, rtol=0, atol=tol * size)
        alone = sd.PDP(grid="exact", heterogeneity=False)
        other = sd.explain(quantity, X, j, method=alone, tree="force")
        np.testing.assert_allclose(other.value, e.value, rtol=0, atol=1e-11 * size)
        assert e.importance == pytest.approx(other.importance, rel=1e-9, abs=1e-12 * size)
        # The standard deviation of the step function over the data.
        present = X[~np.isnan(X[:, j]), j]
        of_rows = mean_at(quantity, X, j, present)
        assert e.importance == pytest.approx(of_rows.std(), rel=10 * tol, abs=10 * tol * size)


def test_there_is_a_point_on_both_sides_of_every_jump_and_nothing_else() -> None:
    X = grown("histograms")[1]
    e = sd.explain(grown("histograms")[0], X, 0, method=EXACT_GRID)
    own = borders("histograms", 0)
    low, high = np.nanmin(X[:, 0]), np.nanmax(X[:, 0])
    inside = own[(own >= low) & (own < high)]
    wanted = np.unique(np.concatenate([[low, high], inside, np.nextafter(inside, np.inf)]))
    np.testing.assert_array_equal(e.x, wanted)
    assert e.provenance["grid"] == "both sides of every jump"


@pytest.mark.parametrize("case", ["boosting", "forest 3"])
def test_its_mean_and_its_scatter_are_integrals(case: str) -> None:
    quantity, X = plain(case), grown(case)[1]
    x = np.sort(X[:, 0])
    e = sd.explain(quantity, X, 0, method=EXACT_GRID)
    centred = sd.explain(quantity, X, 0, method=sd.PDP(grid="exact", center="mean"))
    # A step's weight is its length, up to the next jump; its height is the value at its midpoint.
    cuts = np.unique(np.concatenate([borders(case, 0), x[[0, -1]]]))
    cuts = cuts[(cuts >= x[0]) & (cuts <= x[-1])]
    middle, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    share = length / length.sum()
    level = mean_at(quantity, X, 0, middle)
    # For models that round to float32 the cuts are accurate to 1e-7.
    np.testing.assert_allclose(e.value - share @ level, centred.value, rtol=0, atol=1e-6)
    many = np.tile(X, (len(middle), 1))
    many[:, 0] = np.repeat(middle, len(X))
    curves = quantity.at(many) if hasattr(quantity, "at") else quantity.predict(many)
    curves = curves.reshape(len(middle), len(X))
    # The spread is around each curve's mean over the data: a step's weight is its part of the rows.
    step = np.clip(np.searchsorted(cuts, X[:, 0]) - 1, 0, len(middle) - 1)
    part = np.bincount(step, minlength=len(middle)) / len(X)
    spread = (curves - part @ curves).std(axis=1, ddof=1)
    np.testing.assert_allclose(
        np.interp(middle, e.x, e.heterogeneity), spread, rtol=0, atol=2e-3 * spread.max()
    )


def test_weights_anchors_starts_and_rows_without_a_value() -> None:
    model, X, _ = grown("histograms")
    e = sd.explain(model, X, 0, method=EXACT_GRID, sample_weight=WEIGHTS)
    kept = X[WEIGHTS > 0]
    points = probed("histograms", kept, 0)
    many = np.tile(X, (len(points), 1))
    many[:, 0] = np.repeat(points, len(X))
    wanted = model.predict(many).reshape(len(points), len(X)) @ WEIGHTS / WEIGHTS.sum()
    np.testing.assert_allclose(e(points), wanted, rtol=0, atol=1e-10)
    assert e.missing_point is not None
    start = sd.explain(model, X, 0, method=sd.PDP(grid="exact", center="start"))
    raw = sd.explain(model, X, 0, method=EXACT_GRID)
    np.testing.assert_allclose(start.value, raw.value - raw.value[0], rtol=0, atol=1e-12)
    anchored = sd.explain(model, X, 0, method=sd.PDP(grid="exact", anchor=0.3))
    np.testing.assert_allclose(anchored.value, raw.value - raw(0.3), rtol=0, atol=1e-12)
    ice = sd.explain(model, X, 0, method=sd.ICE(grid="exact", ice="all"))
    np.testing.assert_allclose(ice.curves.value.mean(axis=0), raw.value, rtol=0, atol=1e-12)


def test_unused_constant_and_whole_columns() -> None:
    model, X, _ = grown("stump")
    free = next(j for j in range(X.shape[1]) if not len(borders("stump", j)))
    unused = sd.explain(model, X, free, method=EXACT_GRID)
    assert unused.x.tolist() == [X[:, free].min(), X[:, free].max()]
    assert np.ptp(unused.value) == 0.0
    same_ = X.copy()
    same_[:, 1] = 7.0
    assert sd.explain(model, same_, 1, method=EXACT_GRID).x.tolist() == [7.0]
    whole = np.rint(X * [2, 0.01, 1, 3, 2]).astype(int)
    boosted = grown("boosting")[0]
    e = sd.explain(boosted, whole, 0, method=EXACT_GRID)
    points = np.arange(whole[:, 0].min(), whole[:, 0].max() + 1)
    wanted = mean_at(boosted, whole, 0, points)
    np.testing.assert_allclose(e(points), wanted, rtol=0, atol=1e-10)


# --------------------------------------------------------------------------- bins between jumps


@dataclass(frozen=True)
class Given(sd.Optimal):
    """`Optimal` with given candidate edges."""

    edges: tuple[float, ...] = ()

    def candidates(self, column: Any) -> Cells:
        """Return the cells between the edges."""
        return Cells(np.array(self.edges), "left")


@pytest.mark.parametrize("case", ["tree", "boosting", "histograms"])
def test_bins_between_jumps(case: str) -> None:
    model = grown(case)[0]
    X = np.where(np.isnan(grown(case)[1]), 0.1, grown(case)[1])
    for j in (0, 1):
        x = X[:, j]
        jumps = borders(case, j)
        jumps = jumps[(jumps >= x.min()) & (jumps < x.max())]
        between = (jumps[1:] + jumps[:-1]) / 2
        edges = np.unique(np.concatenate([[x.min(), x.max()], between]))
        walked = sd.explain(
            model, X, j, method=sd.RHALE(bins=sd.Optimal(grid="jumps")), tree="force"
        )
        called = sd.explain(
            model, X, j, method=sd.RHALE(bins=Given(edges=tuple(edges))), tree="off"
        )
        # Models that round to float32 have their jumps halfway between two float32 numbers, not at the threshold
        # itself.
        np.testing.assert_allclose(walked.x, called.x, rtol=1e-6)
        np.testing.assert_allclose(walked.value, called.value, rtol=0, atol=1e-6)
        # With exactly the same edges, all results including the bins are equal.
        own = Given(edges=tuple(walked.x))
        same(walked, sd.explain(model, X, j, method=sd.RHALE(bins=own), tree="off"))


def test_no_edge_lies_on_a_jump() -> None:
    model, X, _ = grown("boosting")
    e = sd.explain(model, X, 0, method=sd.RHALE(bins=sd.Optimal(grid="jumps", min_points=2)))
    assert len(e.bins) > 2
    for edge in e.x[1:-1]:
        assert (np.abs(borders("boosting", 0) - edge) > 1e-6).all()


def test_all_jumps_of_a_pair_are_refused() -> None:
    model, X, _ = grown("forest")
    with refused(sd.UnsupportedError, "two features", "Use grid=20"):
        sd.explain(model, X, (0, 1), method=EXACT_GRID)
