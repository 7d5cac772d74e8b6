"""Model rows and calls that results report, against the model's own counts; limits, memory and progress bars."""

from __future__ import annotations

import json
import sys
import tracemalloc

import numpy as np
import pytest

import skedasis as sd
from skedasis import _progress as progress
from tests.helpers import paired

N, D = 900, 4


class Counted:
    """A model, with derivatives, that counts its calls and their rows."""

    def __init__(self, flat=False):
        self.flat = flat
        self.rows, self.slope_rows = [], []

    def __call__(self, X):
        self.rows.append(len(X))
        x = np.floor(3 * X[:, 0]) if self.flat else X[:, 0]
        return x * X[:, 1] + X[:, -1]

    def slope(self, X):
        self.slope_rows.append(len(X))
        jacobian = np.zeros(X.shape)
        jacobian[:, 0], jacobian[:, 1], jacobian[:, -1] = X[:, 1], X[:, 0], 1.0
        return jacobian


def data(n=N, d=D, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, -1] = np.round(4 * X[:, -1])
    return X


def quantity(model, slopes):
    return sd.prediction(model, slope=model.slope if slopes else None)


CASES = {
    "ale": (sd.ALE(bins=10), False),
    "ale-uniform": (sd.ALE(bins=sd.Uniform(10)), False),
    "pdp": (sd.PDP(grid=20), False),
    "pdp-few-curves": (sd.PDP(grid=[0.0, 1.0], ice=3, center="start"), False),
    "ice": (sd.ICE(grid=[0.0, 0.5, 1.0]), False),
    "dale-slopes": (sd.DALE(bins=10), True),
    "dale-differences": (sd.DALE(bins=10), False),
    "uale": (sd.UALE(), True),
    "rhale-slopes": (sd.RHALE(), True),
    "rhale-differences": (sd.RHALE(), False),
    "rhale-steps": (sd.RHALE(local_effects="steps"), False),
}
EVERY_CASE = pytest.mark.parametrize(("method", "slopes"), CASES.values(), ids=CASES)


@pytest.mark.parametrize(
    ("case", "memory", "threads"), paired(CASES.values(), ["1GB", "20KB"], [1, 2, 2])
)
def test_the_counts_are_those_of_the_model(case, memory, threads):
    method, slopes = case
    model = Counted()
    options = {"memory": memory, "n_jobs": threads, "progress": False}
    es = sd.explain(quantity(model, slopes), data(), method=method, **options)
    said = es.provenance
    assert said["model_rows"] == sum(model.rows)
    assert said["model_calls"] == len(model.rows)
    assert said["slope_rows"] == sum(model.slope_rows)
    assert said["slope_calls"] == len(model.slope_rows)
    # Per feature: the probe of differences (7 times 128 rows), and the slope check (both edges for 512 rows).
    looked, checked = (0 if slopes else 7 * 128), (1024 if method.checks_slopes else 0)
    if not method.uses_slopes:
        looked = 0
    assert 0 < said["check_rows"] <= 128 + D * (looked + checked)


# -------------------------------------------------------------------------- limits of the cost
@EVERY_CASE
def test_no_method_costs_more_rows_than_it_says(method, slopes):
    model = Counted()
    said = sd.explain(quantity(model, slopes), data(), method=method).provenance
    most = {
        "ALE": 2 * N * D,
        "DALE": 2 * N * D + N,
        "RHALE": 2 * N * D + N + 2 * N,  # integers: a second round of differences
        "PDP": 20 * N * (D - 1) + 64 * N,  # the grid of an integer feature is its values
        "ICE": 3 * N * D,
    }
    if slopes:
        assert (said["effect_rows"], said["slope_rows"]) == (0, N)
        return
    assert said["slope_rows"] == 0
    if method.name == "RHALE" and method.local_effects == "steps":
        assert said["effect_rows"] <= 4 * N * D + N  # a second round of differences
        return
    assert said["effect_rows"] <= most[method.name]


def test_pdp_costs_exactly_its_grid():
    model, X = Counted(), data()
    for points in (1, 7, 50):
        grid = np.linspace(-1, 1, points)
        said = sd.explain(model, X, method=sd.PDP(grid=grid)).provenance
        assert said["effect_rows"] == points * N * D


def test_differences_and_steps_cost_what_is_said():
    X = np.random.default_rng(0).normal(size=(N, 2))
    assert sd.explain(Counted(), X, 0, method="rhale").provenance["effect_rows"] == 2 * N
    far = X + np.array([1.7e9, 0.0])
    assert sd.explain(Counted(), far, 0, method="dale").provenance["effect_rows"] == 4 * N
    flat = sd.explain(Counted(flat=True), X, 0, method="rhale")
    assert "piecewise constant" in flat.provenance["local_effects"]
    assert 2 * N <= flat.provenance["effect_rows"] <= 4 * N
    # The rows, one swap each, and at most four more for each row for the spread.
    assert 2 * N < flat.provenance["score_rows"] <= 6 * N


def test_few_rows_with_missing_values_need_few_calls():
    """A call carries as many of their donor values as there is room for: not more rows than a call for all rows."""
    model, X = Counted(), data(400, 2)
    X[:10, 0] = np.nan

    def known(X):
        return model(np.nan_to_num(X))

    e = sd.explain(known, X, 0, method=sd.ALE(bins=5), heterogeneity_rows=0)
    donors = 200
    assert e.missing_point is not None
    assert max(model.rows) == 800  # two copies of all rows, as for the two edges of each row's bin
    assert e.provenance["effect_rows"] == 2 * 390 + 10 + 10 * donors
    assert e.provenance["effect_calls"] == 2 + np.ceil(10 * donors / 800)


def test_nothing_of_a_result_calls_the_model(tmp_path):
    model = Counted()
    for method in (sd.RHALE(), sd.ALE(bins=8), sd.ICE(grid=[0.0, 1.0])):
        e = sd.explain(model, data(), 0, method=method)
        before = len(model.rows)
        e(0.3)
        e.interval()
        e.interval(method="bootstrap", replicates=5)
        e.to_frame()
        e.save(tmp_path / "e.npz")
        if e.bins is not None:
            e.rebin(sd.Edges(e.x[[0, -1]]))
        assert len(model.rows) == before


# --------------------------------------------------------------------------------- calls and memory


@pytest.mark.parametrize("method", [sd.ALE(bins=20), sd.PDP(grid=50, ice=0), sd.DALE(bins=20)])
@pytest.mark.parametrize("n", [30_000, 250_000])
def test_calls_carry_about_a_hundred_thousand_rows(method, n):
    """The model gets neither one giant call nor hundreds of small ones."""
    model = Counted()
    X = np.random.default_rng(0).normal(size=(n, 2))
    sd.explain(model, X, [0], method=method, heterogeneity_rows=0)
    calls = np.array([rows for rows in model.rows if rows > 1024])  # without the calls of checks
    assert calls.max() <= 100_000
    assert calls.mean() >= 50_000


def extra_memory(n, method, **options):
    """Return the peak memory in bytes, without X."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    sd.explain(sum_of_columns, X[:100], 0, method=method)  # triggers lazy imports
    tracemalloc.start()
    try:
        sd.explain(
            sum_of_columns, X, [0, 1], method=method, memory="1MB", progress=False, **options
        )
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def sum_of_columns(X):
    return X[:, 0] + X[:, 1] * X[:, 2]


@pytest.mark.slow
def test_means_of_pdp_and_ice_need_no_memory_that_grows_with_the_rows():
    """Except for the columns of a small X, which are cached if smaller than 8 MB, and a few bytes per row."""
    method = sd.PDP(grid=np.linspace(-1, 1, 10), ice=0)
    small, large = extra_memory(20_000, method), extra_memory(200_000, method)
    # 180,000 more rows take less than 40 bytes each; the 10 values per feature and row alone would take 160.
    assert large - small < 40 * 180_000


@pytest.mark.parametrize(
    ("features", "method"),
    [(0, sd.PDP(grid=np.linspace(-2, 2, 1000), ice=0)), ((0, 1), sd.PDP(grid=30, ice=0))],
)
def test_curves_of_trees_are_not_held_for_all_rows(features, method):
    """20,000 curves of about 1,000 points would take 160 MB, and so would each array that is computed from them."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    pytest.importorskip("numba")
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    model = ensemble.GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0] + X[:, 1] ** 2)
    sd.explain(model, X[:500], features, method=method, tree="force", progress=False)
    tracemalloc.start()
    try:
        sd.explain(model, X, features, method=method, tree="force", progress=False)
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()


def test_rows_are_kept_up_to_their_budget_and_a_sample_says_so():
    X = data(2000)
    for method in (sd.RHALE(), sd.ALE(bins=5), sd.ICE(grid=[0.0, 1.0])):
        e = sd.explain(Counted(), X, 0, method=method, keep_rows="10KB")
        kept = e.rows if e.curves is None else e.curves
        assert 0 < len(kept) < 2000
        assert not kept.exact
        assert e.provenance["rows_kept"] == len(kept)
        again = sd.explain(Counted(), X, 0, method=method, keep_rows="10KB")
        np.testing.assert_array_equal(again.rows.x, e.rows.x)
        other = sd.explain(Counted(), X, 0, method=method, keep_rows="10KB", random_state=1)
        assert not np.array_equal(other.rows.x, e.rows.x)
        np.testing.assert_array_equal(other.value, e.value)  # the effect is computed from all rows
        with pytest.raises(sd.UnsupportedError, match="keep_rows="):
            e.interval(method="bootstrap", source="rows")


# ------------------------------------------------------------------------------------- provenance
@pytest.mark.parametrize("case", ["ale", "pdp", "rhale-slopes", "dale-differences"])
def test_the_provenance_is_complete_and_plain(case):
    (method, slopes), X = CASES[case], data()
    weights = np.full(N, 2.0)
    model = Counted()
    options = {"sample_weight": weights, "random_state": 5, "progress": False}
    es = sd.explain(quantity(model, slopes), X, method=method, **options)
    for said in (es.provenance, es[0].provenance):
        assert json.loads(json.dumps(said, allow_nan=False)) == said
        assert said["method"] == method.name
        assert set(said["settings"]) == set(method.describe())
        assert (said["rows"], said["weight"], said["random_state"]) == (N, 2.0 * N, 5)
        assert said["exact"] is True
        assert "prediction" in said["quantity"]
        assert "unit" in said
        assert set(said["versions"]) >= {"skedasis", "numpy", "python"}
        assert said["versions"]["skedasis"] == sd.__version__
        counts = ("model", "slope", "check", "score")
        assert all(
            isinstance(said[f"{c}_{what}"], int) for c in counts for what in ("rows", "calls")
        )
        assert 0 <= said["model_seconds"] <= said["seconds"]
    said = es[0].provenance
    if method.name in ("PDP", "ICE"):
        assert said["grid"]
    else:
        sources = {"ALE": "across each row's bin", "slopes": "given slope"}
        if slopes:
            wanted = sources["slopes"]
        elif method.name == "ALE":
            wanted = sources["ALE"]
        else:
            wanted = "differences"
        assert wanted in said["local_effects"]


# ------------------------------------------------------------------------------------- progress


@pytest.fixture
def opened(monkeypatch):
    """Show progress bars without delay, and record them."""
    bars = []
    original = progress.Progress._open

    def noted(self):
        bars.append(self)
        original(self)

    monkeypatch.setattr(progress.Progress, "_open", noted)
    monkeypatch.setattr(progress, "_DELAY", -1.0)
    return bars


@pytest.mark.parametrize(
    ("asked", "terminal", "shown"),
    [(None, False, False), (None, True, True), (False, True, False), (True, False, True)],
)
def test_a_bar_appears_when_asked_for_or_on_a_terminal(opened, monkeypatch, asked, terminal, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    sd.explain(Counted(), data(), method=sd.ALE(bins=5), progress=asked)
    assert bool(opened) is shown
    assert all(bar.done == bar.total for bar in opened)


def test_ale_costs_less_where_edges_are_the_rows_own_values():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(N, D)).astype(float)
    said = sd.explain(Counted(), X, method=sd.ALE(bins=20)).provenance
    # Every row is on an edge of its bin and evaluated at the other edge; all features share the rows themselves.
    assert said["effect_rows"] == N * D + N
    X[:, 0] = rng.normal(size=N)
    said = sd.explain(Counted(), X, method=sd.ALE(bins=20)).provenance
    assert N * D + N < said["effect_rows"] <= 2 * N + N * (D - 1) + N
