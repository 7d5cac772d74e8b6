"""Rows before and after permutation as SVG: histograms from another way of counting, means, texts, no single rows."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.importance import shifts
from skedasis.plots.svg.importance import before
from tests.plots.svg_parsing import Sheet

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 8))
PFI = sd.explain(lambda X: 3 * X[:, 0] + np.abs(X[:, 1]), X, method=sd.PFI(n_repeats=4, local=300))


@pytest.fixture(scope="module")
def sheet() -> Sheet:
    return Sheet(before(PFI, ident="rows"))


def test_six_features_on_the_same_scales(sheet):
    assert len(sheet.panels) == 6
    assert len({tuple(p.across[2:]) + tuple(p.up[2:]) for p in sheet.panels}) == 1
    titles = [t.text for g in sheet.of("title") for t in g]
    order = np.argsort(-PFI.mean, kind="stable")[:6]
    assert titles == [
        "PFI of prediction: rows before and after permutation",
        *(PFI.features[i] for i in order),
    ]
    assert "6 of 8 features" in sheet.words


def test_heights_are_the_rows_that_lie_there(sheet):
    local = PFI.local
    order = np.argsort(-PFI.mean, kind="stable")[:6]
    for panel, shift, i in zip(sheet.panels, shifts(PFI), order, strict=True):
        (body,) = [
            b
            for b in sheet.of("was", panel.element)
            if "mean" not in b.get("class") and "arrow" not in b.get("class")
        ]
        for part in panel.parts(body):
            left, right, high = part[:, 0].min(), part[:, 0].max(), part[:, 1].max()
            rows = np.mean((local.before >= left) & (local.before < right)) * 100
            # Edges are rounded to a tenth of a pixel: a row may lie between an edge and its rounded position.
            assert abs(high - rows) <= panel.fine[1] + 1.01 * 100 / len(local)
        (line,) = [
            b
            for b in sheet.of("becomes", panel.element)
            if "mean" not in b.get("class") and "arrow" not in b.get("class")
        ]
        (corners,) = panel.parts(line)
        after = local.after[local.features.index(PFI.features[i])].ravel()
        middles = (shift.edges[:-1] + shift.edges[1:]) / 2
        drawn = np.array([corners[np.searchsorted(corners[:, 0], m) - 1, 1] for m in middles])
        share = np.histogram(after, shift.edges)[0] / after.size * 100
        np.testing.assert_allclose(drawn, share, atol=panel.fine[1] + 1e-9)


def test_means_stand_where_they_are(sheet):
    local = PFI.local
    order = np.argsort(-PFI.mean, kind="stable")[:6]
    for panel, i in zip(sheet.panels, order, strict=True):
        was, becomes = (sheet.one(f"mean {k}", panel.element) for k in ("was", "becomes"))
        assert panel.parts(was)[0][0, 0] == pytest.approx(local.before.mean(), abs=panel.fine[0])
        after = local.after[local.features.index(PFI.features[i])]
        assert panel.parts(becomes)[0][0, 0] == pytest.approx(after.mean(), abs=panel.fine[0])


def test_tips_say_both_shares(sheet):
    first = shifts(PFI)[0]
    k = int(np.argmax(first.before))
    tip = sheet.tips[k]
    assert tip[1].startswith("before permutation ")
    assert float(tip[1].split()[-2]) == pytest.approx(first.before[k], rel=6e-3)
    assert tip[2].startswith(f"{first.name} permuted ")
    assert float(tip[2].split()[-2]) == pytest.approx(first.after[k], rel=6e-3)
    assert len(sheet.tips) == 6 * len(first.before)


def test_every_mark_is_explained_and_described(sheet):
    assert sheet.legend == [
        "before permutation: 300 rows",
        "after permutation: 4 repeats",
        "mean before permutation",
        "mean after permutation",
    ]
    assert before(PFI, ident="r").alt.count("mean ") == 6


def test_of_what_was_asked_for():
    page = PFI.explore(kind="local", features=["x1"])
    assert page.html.count('class="panel"') == 1
    assert "x1" in before(PFI, ident="r", features="x1").alt
    with pytest.raises(sd.DataError, match="explore\\(kind\\)"):
        PFI.explore(kind="rows")
    bare = sd.explain(lambda X: X[:, 0], X, method=sd.PFI(n_repeats=2, local=0))
    with pytest.raises(sd.UnsupportedError, match="local"):
        bare.explore(kind="local")


def test_the_same_bars_as_the_other_figure_draws():
    figure = PFI.plot(kind="local", top=1)
    (axes,) = figure.axes
    heights = [p.get_data().values for p in axes.patches]
    shift = shifts(PFI, top=1)[0]
    np.testing.assert_allclose(heights[0], shift.before)
    sheet = Sheet(before(PFI, ident="r", top=1))
    (panel,) = sheet.panels
    assert tuple(panel.up[2:]) == pytest.approx(axes.get_ylim())
    assert tuple(panel.across[2:]) == pytest.approx(axes.get_xlim())
