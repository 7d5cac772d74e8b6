"""The figure of variance shares: segments, whiskers, the mark of the curves shown, and what is not drawn."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.variance_shares import LEAST, variance_shares_figure
from skedasis.plots.marks import Points, Rectangles, Segments, marks_of
from skedasis.plots.theme import STYLES
from skedasis.results.variance_shares import VariancePart, VarianceShares
from tests.helpers import refused

ATTACK = "<script>alert(1)</script>"


def part(name: str, kind: str, share: float, error: float = 0.01) -> VariancePart:
    return VariancePart(name, kind, (), share, share, error)  # type: ignore[arg-type]


def variance_shares(
    *shares: float, drawn: float = 0.5, name: str = "regions of a"
) -> VarianceShares:
    main, region, pair = shares
    parts = (
        part("main effects", "main", main),
        part(name, "regions", region),
        part("b × c", "pairs", pair),
        part("not explained", "unexplained", 1 - sum(shares)),
    )
    return VarianceShares(parts, drawn, 0.02, "ALE", 4.0, 500, 400)


def bars(found: VarianceShares) -> list[tuple[float, float, str]]:
    panel = variance_shares_figure(found).main
    return [(float(m.left[0]), float(m.right[0]), m.style) for m in marks_of(panel, Rectangles)]


def test_segments_are_the_parts():
    got = bars(variance_shares(0.5, 0.25, 0.125))
    assert [(a, b) for a, b, _ in got] == [(0, 50), (50, 75), (75, 87.5), (87.5, 100)]
    styles = [style for *_, style in got]
    assert len({(STYLES[s].fill, STYLES[s].hatch) for s in styles}) == 4
    # Without colours they differ in their hatches: filled, hatched in two ways, blank.
    assert [bool(STYLES[s].hatch) for s in styles] == [False, True, True, False]


def test_a_part_below_zero_is_not_drawn():
    spec = variance_shares_figure(variance_shares(0.5, -0.02, 0.125))
    assert len(bars(variance_shares(0.5, -0.02, 0.125))) == 3
    assert "groups of rows for a: nothing at the held-out rows (−2 % ± 1 %)" in spec.notes[0]
    assert "−2 % ± 1 %" in spec.alt


def test_whiskers_are_the_errors_of_parts():
    (whiskers,) = (
        m
        for m in marks_of(variance_shares_figure(variance_shares(0.5, 0.25, 0.125)).main, Segments)
        if m.label
    )
    np.testing.assert_allclose((whiskers.x0 + whiskers.x1) / 2, [50, 75, 87.5])
    np.testing.assert_allclose(whiskers.x1 - whiskers.x0, 2 * 1.959964, rtol=1e-5)
    (wide,) = (
        m
        for m in marks_of(
            variance_shares_figure(variance_shares(0.5, 0.25, 0.125), 0.99).main, Segments
        )
        if m.label
    )
    np.testing.assert_allclose(wide.x1 - wide.x0, 2 * 2.575829, rtol=1e-5)
    with refused(sd.DataError, "confidence_level"):
        variance_shares_figure(variance_shares(0.5, 0.25, 0.125), 1.5)


@pytest.mark.parametrize(("drawn", "at"), [(0.5, 50.0), (-0.1, -10.0), (-7.0, LEAST)])
def test_the_mark_of_the_curves_shown(drawn, at):
    spec = variance_shares_figure(variance_shares(0.5, 0.25, 0.125, drawn=drawn))
    (mark,) = marks_of(spec.main, Points)
    assert mark.x[0] == pytest.approx(at)
    assert mark.y[0] > 1  # above the bar
    assert spec.main.x.least <= at
    assert any("left end" in note for note in spec.notes) == (drawn < LEAST / 100)


def test_without_curves():
    spec = variance_shares_figure(variance_shares(0.5, 0.25, 0.125, drawn=float("nan")))
    assert not list(marks_of(spec.main, Points))
    assert "curves shown" not in spec.alt


def test_names_are_escaped_on_pages():
    found = variance_shares(0.5, 0.25, 0.125, name=f"regions of {ATTACK}")
    for html in (found.explore().html, found._repr_html_()):
        assert ATTACK not in html
        assert "&lt;script&gt;alert" in html


def test_plot_takes_options_and_axes():
    found = variance_shares(0.5, 0.25, 0.125)
    figure = found.plot(title="Parts", confidence_level=0.9)
    assert figure.axes[0].get_title(loc="left") == "Parts"
    again = found.plot(ax=figure.axes[0])
    assert again is figure
    with pytest.raises(TypeError, match="unexpected keyword argument 'bins'"):
        found.plot(bins=3)  # type: ignore[call-arg]
