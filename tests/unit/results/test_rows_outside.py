"""Rows outside given edges are counted, by `print` and by the check `rows_outside`."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis._numbers import counted

N = 400
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "a": np.where(np.arange(N) % 20 == 0, np.nan, RNG.normal(size=N)),
        "n": RNG.integers(0, 300, size=N),
        "few": RNG.integers(0, 6, size=N),
        "b": RNG.normal(size=N),
        "g": RNG.choice(["u", "v"], size=N),
    }
)
W = RNG.uniform(0.5, 5, size=N)


def model(X):
    return (np.nan_to_num(X["a"]) + X["n"] / 100 + X["few"]).to_numpy() ** 2 * (1 + X["b"])


def explained(feature, method, **options):
    return sd.explain(model, X, feature, method=method, heterogeneity_rows=0, **options)


def found(result):
    (check,) = result.checks().of("rows_outside")
    return check


EVERY = [
    sd.ALE,
    sd.DALE,
    sd.UALE,
    sd.RHALE,
    lambda bins: sd.RHALE(bins=bins, local_effects="steps"),
    sd.MPlot,
]


@pytest.mark.parametrize(
    ("method", "feature", "low", "high", "weighted"),
    [
        (sd.ALE, "a", -0.7, 1.4, False),
        (sd.DALE, "n", 15, 270.5, True),
        (sd.UALE, "few", 1, 5, False),
        (sd.RHALE, "a", -9, 2, True),
        (EVERY[4], "n", 15, 270.5, False),
        (sd.MPlot, "a", -0.7, 1.4, True),
        (sd.RHALE, "few", 1, 5, False),
    ],
)
def test_rows_outside_are_counted_and_missing_values_are_not(method, feature, low, high, weighted):
    x, w = X[feature], W if weighted else None
    e = explained(feature, method(bins=sd.Edges([low, (low + high) / 2, high])), sample_weight=w)
    outside, weight = ((x < low) | (x > high)).to_numpy(), np.ones(N) if w is None else w
    check, share = found(e), weight[outside].sum() / weight[x.notna()].sum()
    assert check.rows == outside.sum() > 0
    assert check.numbers["share"] == pytest.approx(share, rel=1e-12)
    assert check.severity == ("warning" if share >= 0.05 else "note")
    total = f"{outside.sum()} of {x.notna().sum()} rows"
    assert check.message.startswith(f"{total} (")
    assert ("of the weight" in check.message) == weighted
    assert f", {counted(outside.sum(), 'row')} outside, " in repr(e)
    assert e.bins.count.sum() + outside.sum() == x.notna().sum()


def test_a_single_row_is_a_note_and_a_heavy_one_a_warning():
    rows = np.append(np.linspace(0, 1, 99), 3.0)[:, None]
    q, method = (lambda X: X[:, 0] ** 2), sd.ALE(bins=sd.Edges([0, 0.5, 1]))
    e = sd.explain(q, rows, 0, method=method, heterogeneity_rows=0)
    assert str(found(e)) == (
        "note: 1 of 100 rows (1 %) is outside the edges of 'x0', from 0 to 1: the curve does not "
        "include them. Use wider edges, or bins='auto', if it should."
    )
    weights = np.append(np.ones(99), 11.0)
    heavy = sd.explain(q, rows, 0, method=method, sample_weight=weights, heterogeneity_rows=0)
    assert found(heavy).severity == "warning"
    assert found(heavy).rows == 1
    assert found(heavy).numbers["share"] == pytest.approx(0.1)


@pytest.mark.parametrize("method", [sd.ALE, sd.DALE])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_outside_of_pairs(method, weighted):
    w = W if weighted else None
    edges = {"a": sd.Edges([-1, 0, 1]), "b": sd.Edges([-1.5, 0, 9])}
    s = explained(("a", "b"), method(bins=edges), sample_weight=w)
    outside = ((X["a"].abs() > 1) | (X["b"] < -1.5)) & X["a"].notna()
    weight = np.ones(N) if w is None else w
    assert found(s).rows == outside.sum()
    share = weight[outside].sum() / weight[X["a"].notna()].sum()
    assert found(s).numbers["share"] == pytest.approx(share, rel=1e-12)
    assert f", {outside.sum()} rows outside, " in repr(s)
    pairs = explained([("a", "b"), ("b", "few")], method(bins={"a": edges["a"]}))
    assert "rows outside (a × b)>\n" in str(pairs)


@pytest.mark.parametrize(
    ("method", "weighted", "keep"),
    list(zip(EVERY[:-1], cycle([False, True]), cycle(["all", "all", "8KB"]), strict=False)),
)
def test_regions_count_their_own_rows(method, weighted, keep):
    w = W if weighted else None
    options = {} if keep == "all" else {"keep_rows": keep}
    bins = sd.Edges([-1, 0, 1])
    r = explained("a", method(bins=bins), by="g", sample_weight=w, **options)
    assert f", {found(r.whole).rows} rows outside\n" in str(r)
    x, weight = X["a"], np.ones(N) if w is None else w
    for e, level in zip(r.effects, ("u", "v"), strict=True):
        inside = (X["g"] == level) & x.notna()
        outside = inside & (x.abs() > 1)
        if keep == "all":
            assert found(e).rows == outside.sum()
            share = weight[outside].sum() / weight[inside].sum()
            assert found(e).numbers["share"] == pytest.approx(share, rel=1e-12)
        else:  # of the kept rows, as the numbers of rows in the bins
            assert found(e).numbers["share"] == pytest.approx(outside.sum() / inside.sum(), abs=0.2)


@pytest.mark.parametrize("method", [sd.ALE, sd.RHALE, sd.MPlot])
def test_saved_and_streamed_results_count_them(method, tmp_path):
    pytest.importorskip("pyarrow")
    bins = sd.Edges([-1, 0, 1])
    e = explained("a", method(bins=bins), sample_weight=W)
    e.save(tmp_path / "e.npz")
    assert str(found(sd.load(tmp_path / "e.npz"))) == str(found(e))
    X.assign(w=W).to_parquet(tmp_path / "x.parquet")
    source = sd.parquet(tmp_path / "x.parquet", sample_weight="w")
    again = sd.explain(model, source, "a", method=method(bins=bins), heterogeneity_rows=0)
    assert found(again).rows == found(e).rows
    assert found(again).numbers["share"] == pytest.approx(found(e).numbers["share"], rel=1e-12)


@pytest.mark.parametrize("keep", ["all", "3KB"])
@pytest.mark.parametrize("method", [sd.DALE(bins=8), sd.MPlot(bins=8), sd.ALE(bins=8)])
def test_rebinning_counts_the_rows_that_it_leaves_out(method, keep):
    options = {} if keep == "all" else {"keep_rows": keep}
    e = explained("a", method, sample_weight=W, **options)
    narrow = e.rebin(sd.Edges(e.cells.edges[[len(e.cells) // 4, len(e.cells) // 2, -2]]))
    lost, weight = e.bins.count.sum() - narrow.bins.count.sum(), e.bins.weight.sum()
    assert found(narrow).rows == lost > 0
    share = 1 - narrow.bins.weight.sum() / weight
    assert found(narrow).numbers["share"] == pytest.approx(share, rel=1e-9)
    if keep == "all" and not isinstance(method, sd.ALE):
        assert not narrow.rebin(3).checks().of("rows_outside")


@pytest.mark.parametrize("method", [sd.DALE, sd.MPlot, sd.ALE])
def test_rows_outside_before_and_after_rebinning_add_up(method):
    """Inside and outside there is always the weight of all rows with a value."""
    e = explained("a", method(bins=sd.Edges([-1.2, -0.5, 0.0, 0.5, 1.2])), sample_weight=W)
    narrow = e.rebin(sd.Edges([-0.5, 0.0, 0.5]))
    outside = (X["a"] < -0.5) | (X["a"] > 0.5)
    assert found(e).rows < found(narrow).rows == outside.sum()
    total = W[X["a"].notna()].sum()
    for one in (e, narrow):
        left_out = one.provenance["weight_outside"]
        assert left_out + one.bins.weight.sum() == pytest.approx(total, rel=1e-12)
