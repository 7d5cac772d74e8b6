"""Figures of interactions: cells and lines are the numbers of the pairs, and names overlap nothing at any size."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skedasis.plots.figures.interactions import heatmap_figure, network_figure
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Heat, Points, Rectangles, Segments, marks_of
from skedasis.plots.theme import STYLES
from skedasis.results.interactions import FeatureInteraction, Interactions, PairInteraction
from tests.plots.specs import assert_readable, labels, tips

NAMES = [r"$x^2_{\frac$ \alpha", "_b_", "<script>x</script>", "very long " * 20, "", " a\nb "]


def interactions(
    n: int, names: Any = None, unit: str | None = "MPa", seed: int = 0
) -> Interactions:
    """Return interactions of n features with random strengths; the first one interacts most."""
    rng = np.random.default_rng(seed)
    names = tuple(names or [f"feature {i}" for i in range(n)])
    strength = rng.gamma(0.4, 1.0, (n, n))
    strength[0] += 1.0
    pairs = tuple(
        PairInteraction(
            names[i], names[j], strength[i, j] / 10, strength[i, j], 0.1, np.nan, 0.3, 0.2, False
        )
        for i, j in itertools.combinations(range(n), 2)
    )
    total = [
        sum(p.h2_unnormalized for p in pairs if name in (p.feature_0, p.feature_1))
        for name in names
    ]
    features = tuple(
        FeatureInteraction(name, 0.1, t, float(k), 1.0)
        for k, (name, t) in enumerate(zip(names, total, strict=True))
    )
    return Interactions(names, pairs, features, 0.25, "load", unit, None, {"h2_rows": 500})


@pytest.mark.parametrize("figure", [heatmap_figure, network_figure])
@pytest.mark.parametrize("n", [2, 30])
def test_figures_are_readable(n: int, figure: Any):
    assert_readable(figure(interactions(n)))


@pytest.mark.parametrize("figure", [heatmap_figure, network_figure])
def test_any_names_are_drawn(figure: Any):
    assert_readable(figure(interactions(len(NAMES), NAMES)))


def test_cells_are_the_pairs_in_the_order_of_the_overall_strength():
    it = interactions(5)
    spec = heatmap_figure(it)
    (heat,) = marks_of(spec.main, Heat)
    order = [o.feature for o in it.overall]
    assert spec.main.x.labels == tuple(order[:-1])
    assert spec.main.y.labels == tuple(order[:0:-1])
    for i, j in itertools.combinations(range(5), 2):
        assert heat.value[4 - j, i] == it[order[i], order[j]].h2_unnormalized
    assert np.isfinite(heat.value).sum() == 10
    assert heat.limits[0] == 0.0
    assert spec.panels[1].x.label == "size of the interaction [MPa]"
    assert spec.main.notes[:2] == (
        "a sample of 500 rows",
        "interactions make up 25 % of the variance",
    )
    assert len(spec.main.texts) == 10
    assert not heatmap_figure(interactions(30)).main.texts


def test_pairs_without_h2_are_not_drawn_as_0():
    it = interactions(6)
    known = {p: k < 10 for k, p in enumerate(it.ranking())}
    nan = float("nan")
    pairs = tuple(
        p if known[p] else replace(p, h2=nan, h2_unnormalized=nan, std_error=nan) for p in it.pairs
    )
    it = replace(it, pairs=pairs, provenance={"h2_rows": 500, "h2_pairs": 10})
    spec = heatmap_figure(it)
    assert_readable(spec)
    (heat,) = marks_of(spec.main, Heat)
    (rest,) = marks_of(spec.main, Rectangles)
    centres = zip((rest.lower + rest.upper) / 2, (rest.left + rest.right) / 2, strict=True)
    order = [o.feature for o in it.overall]
    found = {frozenset((order[5 - int(row)], order[int(i)])) for row, i in centres}
    assert found == {frozenset((p.feature_0, p.feature_1)) for p, of in known.items() if not of}
    assert np.isfinite(heat.value).sum() == len(spec.main.texts) == 10
    said = "H² of the 10 pairs that screening put first"
    assert said in spec.main.notes
    assert said in network_figure(it).main.notes
    assert_readable(network_figure(it))
    lines = sum(len(m.x0) for m in marks_of(network_figure(it).main, Segments))
    assert 0 < lines <= 10
    by_shares = heatmap_figure(it, measure="depends")
    assert said not in by_shares.main.notes
    assert not list(marks_of(by_shares.main, Rectangles))


def test_lines_are_wider_and_darker_where_the_interaction_is_stronger():
    it = interactions(8)
    spec = network_figure(it)
    lines = list(marks_of(spec.main, Segments))
    most = max(p.h2_unnormalized for p in it.pairs)
    drawn = [p for p in it.pairs if p.h2_unnormalized > 0.05 * most]
    assert sum(len(line.x0) for line in lines) == len(drawn)
    widths = [STYLES[f"edge{k}"].width for k in range(5)]
    darkness = [STYLES[f"edge{k}"].opacity for k in range(5)]
    assert widths == sorted(widths)
    assert darkness == sorted(darkness)
    by_class = {line.style: len(line.x0) for line in lines}
    classes = [min(int(np.ceil(5 * p.h2_unnormalized / most)) - 1, 4) for p in drawn]
    assert by_class == {f"edge{k}": classes.count(k) for k in sorted(set(classes))}
    weak = len(it.pairs) - len(drawn)
    assert weak > 0
    assert "weaker ones not drawn" in spec.main.notes
    assert len(labels(spec)) == len(by_class)
    assert labels(spec)[-1].endswith("MPa")


def test_the_area_of_discs_is_the_importance():
    spec = network_figure(interactions(10))
    discs = list(marks_of(spec.main, Points))
    assert sum(len(d.x) for d in discs) == 10
    sizes = [STYLES[d.style].size for d in discs]
    assert sizes == sorted(sizes)
    # Importance is the index: the last two have the largest disc.
    assert len(discs[-1].x) == 2
    area = [STYLES[f"node{k}"].size ** 2 for k in range(5)]
    assert area == pytest.approx(area[0] * np.arange(1, 6), rel=0.05)
    for d in discs:
        np.testing.assert_allclose(np.hypot(d.x, d.y), 1.0, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 10, 30, 40])
def test_every_name_of_a_network_has_room(n: int):
    """At the natural width no name is left out, and none overlaps another: see `assert_readable`."""
    placed = arrange(network_figure(interactions(n)), 480.0, None)
    written = {line for text in placed.texts() for line in text.lines}
    assert {f"feature {i}" for i in range(n)} <= written


def test_tooltips_state_the_numbers():
    assert any(
        "feature 0 and feature 1" in t and "H²" in t for t in tips(heatmap_figure(interactions(3)))
    )
    assert any("importance" in t for t in tips(network_figure(interactions(3))))


def test_no_interaction_at_all():
    names = ("a", "b", "c")
    pairs = tuple(
        PairInteraction(a, b, 0.0, 0.0, 0.0, 0.0, np.nan, np.nan, True)
        for a, b in itertools.combinations(names, 2)
    )
    features = tuple(FeatureInteraction(n, 0.0, 0.0, np.nan, np.nan) for n in names)
    it = Interactions(names, pairs, features, 0.0)
    for figure in (heatmap_figure, network_figure):
        assert_readable(figure(it))
    assert not list(marks_of(network_figure(it).main, Segments))


def test_plot_draws_on_axes_and_takes_options_of_every_figure():
    it = interactions(4)
    _, ax = plt.subplots()
    assert it.plot(ax, kind="network", title="Mine") is ax.figure
    assert it.plot(measure="h2", size=(5, 4)).get_size_inches().tolist() == [5.0, 4.0]
    with pytest.raises(TypeError, match=r"Interactions\.plot"):
        it.plot(colour="red")
    plt.close("all")
