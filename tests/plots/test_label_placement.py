"""Names beside points."""

from __future__ import annotations

import itertools

import numpy as np
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


def test_lines_are_avoided_where_that_is_near():
    point, size, none = np.array([[100.0, 100]]), np.array([[30.0, 9]]), np.zeros((0, 4))
    cross = np.array([[80.0, 100, 120, 100], [100, 80, 100, 120]])
    (tag,) = place_labels(point, size, (200.0, 200.0), none, cross)
    assert not (tag.x < 100 < tag.x + 30)
    assert not (tag.y < 100 < tag.y + 9)
    assert not tag.led


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
