"""Names beside points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skedasis.plots.label_placement import MARK, _crossing, place_labels


def test_no_overlap_whatever_the_points():
    rng = np.random.default_rng(0)
    for n in (1, 10, 50):
        points = rng.uniform(10, 290, size=(n, 2))
        sizes = np.column_stack([rng.uniform(10, 60, n), np.full(n, 9.0)])
        taken = np.array([[0.0, 280, 80, 300]])
        tags = place_labels(points, sizes, (300.0, 300.0), taken, np.zeros((0, 4)))
        boxes = [
            (t.x, t.y, t.x + w, t.y + h)
            for t, (w, h) in zip(tags, sizes, strict=True)
            if t is not None
        ]
        marks = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in points]
        for a, b in [
            *itertools.combinations(boxes, 2),
            *itertools.product(boxes, [*marks, *taken]),
        ]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert all(a >= 0 and b >= 0 and c <= 300 and d <= 300 for a, b, c, d in boxes)
        assert len(boxes) >= 0.8 * n


def test_no_room_no_name():
    none = np.zeros((0, 4))
    wide = place_labels(np.array([[50.0, 50]]), np.array([[120.0, 9]]), (100.0, 100.0), none, none)
    assert wide == (None,)


@pytest.mark.slow
def test_lines_to_points_hardly_ever_run_through_other_names():
    """Clusters of points, where about a fifth of these lines did so when names ignored them."""
    none, share = np.zeros((0, 4)), np.linspace(0, 1, 200)[:, None]
    through = led = missing = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cluster = rng.uniform(40, 200, 2) + 12 * rng.normal(size=(5, 2))
        points = np.concatenate([cluster, rng.uniform(10, 250, (3, 2))])
        sizes = np.column_stack([rng.uniform(25, 75, 8), np.full(8, 11.0)])
        tags = place_labels(points, sizes, (270.0, 200.0), none, none)
        missing += tags.count(None)
        low = np.array([(np.nan,) * 2 if t is None else (t.x, t.y) for t in tags])
        for i in (i for i, t in enumerate(tags) if t is not None and t.led):
            end = np.clip(points[i], low[i], low[i] + sizes[i])
            on = (points[i] + share * (end - points[i]))[:, None]
            inside = ((on > low) & (on < low + sizes)).all(axis=2).any(axis=0)
            inside[i] = False
            through, led = through + bool(inside.any()), led + 1
    assert led > 150
    assert through <= 0.01 * led
    assert missing <= 0.01 * 8 * 100


def test_lines_are_avoided_where_that_is_near():
    point, size, none = np.array([[100.0, 100]]), np.array([[30.0, 9]]), np.zeros((0, 4))
    cross = np.array([[80.0, 100, 120, 100], [100, 80, 100, 120]])
    (tag,) = place_labels(point, size, (200.0, 200.0), none, cross)
    assert not (tag.x < 100 < tag.x + 30)
    assert not (tag.y < 100 < tag.y + 9)
    assert not tag.led


def test_arrows_are_avoided_where_that_is_near():
    point, size, none = np.array([[100.0, 100]]), np.array([[30.0, 9]]), np.zeros((0, 4))
    (beside,) = place_labels(point, size, (200.0, 200.0), none, none)
    # An arrow from the point through the place that the name would have taken.
    arrow = np.array([[100.0, 100.0, 140.0, 112.0]])
    (tag,) = place_labels(point, size, (200.0, 200.0), none, none, arrow)
    assert not tag.led
    share = np.linspace(0, 1, 500)[:, None]
    on = arrow[0, :2] + share * (arrow[0, 2:] - arrow[0, :2])

    def crossed(t):
        low = np.array([t.x, t.y])
        return bool(((on > low) & (on < low + size[0])).all(axis=1).any())

    assert crossed(beside)
    assert not crossed(tag)
    # The box of the arrow alone would have excluded the free space below it, too.
    assert tag.x < 140
    assert tag.y < 112


coordinate = st.integers(-20, 20)


@given(
    st.tuples(coordinate, coordinate, coordinate, coordinate),
    st.tuples(coordinate, coordinate, st.integers(1, 10), st.integers(1, 10)),
)
def test_a_line_runs_through_a_box_where_one_of_its_points_is_inside(line, box):
    x, y, wide, high = box
    found = _crossing(np.array([line], float), np.array([[x, y, x + wide, y + high]], float))
    share = np.linspace(0, 1, 2001)[:, None]
    on = np.array(line[:2]) + share * (np.array(line[2:]) - np.array(line[:2]))

    # Between two of the points, a line may cut a corner by a twentieth of a unit.
    def passes(reach):
        low, end = (x - reach, y - reach), (x + wide + reach, y + high + reach)
        return bool(((on > low) & (on < end)).all(axis=1).any())

    assert passes(0.05) if found[0, 0] else not passes(-0.05)
