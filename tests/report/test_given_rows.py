"""`report(rows=[…])`: where the rows that the caller named stand, against curves of the model called directly."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import skedasis as sd
from skedasis.plots.draw_svg import draw
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.marks import FigureSpec, Line, Points
from skedasis.plots.theme import STYLES
from skedasis.report.content import gather
from skedasis.report.given_rows import MOST, row_marks, with_rows

QUICK = {"pairs": 0, "uncertainty": False, "progress": False}
NAMED = (170, 3, 41)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, (240, 3))


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(1)
    n = 300
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    frame.loc[5, "holes"], frame.loc[6, "holes"] = np.nan, 0.5
    return frame


def of_mixed(frame):
    days = (frame["day"] - pd.Timestamp("2024-01-01")).dt.days.to_numpy(float)
    code = frame["city"].map({"x": 0.0, "y": 1.0, "z": 3.0}).astype(float).to_numpy()
    return frame["a"].to_numpy() * code + frame["holes"].fillna(2.0).to_numpy() + days / 100


def crossed(X):
    return X[:, 0] * X[:, 1] + 2 * X[:, 2]


# ------------------------------------------------------------------------------------------ values


def test_the_ice_curves_are_those_of_the_model(X):
    """Called directly, with one row at each point of the grid; minus the first point, as the PDP is centred."""
    section = gather(crossed, X, rows=list(NAMED), **QUICK).sections[0]
    assert [r.position for r in section.given_rows] == list(NAMED)
    for row in section.given_rows:
        assert row.prediction == pytest.approx(crossed(X[[row.position]])[0])
        for j, name in enumerate(["x0", "x1", "x2"]):
            grid = section.pdp[name].points
            changed = np.repeat(X[[row.position]], len(grid), axis=0)
            changed[:, j] = grid
            curve = crossed(changed)
            np.testing.assert_allclose(row.values[name].ice, curve - curve[0], atol=1e-12)


@pytest.mark.parametrize("tree", ["off", "auto"])
def test_rows_change_no_other_result_and_cost_no_model_row(X, tree):
    y = crossed(X)
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y)
    plain, named = (
        gather(model, X, y, rows=rows, tree=tree, **QUICK).sections[0]
        for rows in (True, list(NAMED))
    )
    keys = ("method", "effect_rows", "check_rows", "score_rows", "rows_kept")
    for a, b in zip(plain.passes, named.passes, strict=True):
        assert [a.provenance.get(k) for k in keys] == [b.provenance.get(k) for k in keys]
    for name in plain.pdp:
        a, b = plain.pdp[name], named.pdp[name]
        for one, other in (
            (a.value, b.value),
            (a.curves.value, b.curves.value),
            (a.curves.row, b.curves.row),
            (a.rows.x, b.rows.x),
        ):
            np.testing.assert_array_equal(one, other)
        assert len(b.curves) == 100
    assert not set(NAMED) <= set(named.pdp["x0"].curves.row.tolist())
    exact = sd.explain(model, X, "x0", method=sd.ICE(center="start"), tree=tree, progress=False)
    of_row = dict(zip(exact.curves.row.tolist(), exact.curves.value, strict=True))
    for row in named.given_rows:
        np.testing.assert_array_equal(row.values["x0"].ice, of_row[row.position])


def test_a_row_stands_on_its_curve_and_on_that_of_its_region():
    X = np.random.default_rng(0).uniform(-1, 1, (2000, 3))

    def f(X):
        return X[:, 0] * np.where(X[:, 1] > 0, 2.0, -2.0)

    section = gather(f, X, rows=[1, 2, 3, 4], **QUICK).sections[0]
    regions = section.regions["x0"]
    assert regions.rules == ("x1 ≤ 0", "x1 > 0")
    for row in section.given_rows:
        x, found = X[row.position], row.values["x0"]
        assert found.region == int(x[1] > 0) == regions.assign(X[[row.position]])[0]
        assert found.rule == regions.rules[found.region]
        assert found.value == section.rhale["x0"](x[0])
        assert found.regional == regions[found.region](x[0])
        # Within a region the effect is a line of its slope.
        part, slope = regions[found.region], 2.0 if x[1] > 0 else -2.0
        line = part.value[0] + slope * (x[0] - part.points[0])
        assert found.regional == pytest.approx(line, abs=1e-9)
        assert row.values["x2"].region == -1
        assert row.values["x2"].rule == ""
        assert np.isnan(row.values["x2"].regional)


@pytest.mark.slow
def test_missing_values_levels_and_times(mixed):
    section = gather(of_mixed, mixed, mixed["a"], rows=[5, 6], **QUICK).sections[0]
    absent, present = section.given_rows
    assert absent.values["holes"].text == "missing"
    assert absent.values["holes"].value == section.rhale["holes"].missing_point.value
    assert present.values["holes"].text == "0.5"
    assert present.values["day"].text == str(mixed["day"][6].date())
    assert present.label == mixed["a"][6]
    for row in (absent, present):
        city = row.values["city"]
        assert city.text == mixed["city"][row.position]
        assert city.value == section.rhale["city"](city.text)
        # Centred at the mean over the levels.
        values = mixed.loc[[row.position] * 3].assign(city=section.pdp["city"].x)
        expected = of_mixed(values)
        np.testing.assert_allclose(city.ice, expected - expected.mean(), atol=1e-12)
        assert section.pdp["city"].x[int(city.ice_x)] == city.text


def test_positions_are_those_of_X_beside_weights_of_zero(X):
    weight = np.ones(len(X))
    weight[:10] = 0.0
    section = gather(crossed, X, rows=[11, 50], sample_weight=weight, **QUICK).sections[0]
    assert [r.prediction for r in section.given_rows] == pytest.approx(crossed(X[[11, 50]]))
    with pytest.raises(sd.DataError, match=r"row 4, whose weight is 0"):
        gather(crossed, X, rows=[4], sample_weight=weight, **QUICK)


# --------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([-1], "positions of rows, from 0"),
        ([1.5], "positions of rows, from 0"),
        ([True, 3], "positions of rows, from 0"),
        (["a"], "positions of rows, from 0"),
        ("no", "True, False, or positions"),
        (None, "True, False, or positions"),
        (3, "True, False, or positions"),
        ([], "at least one"),
        ([True, False], "np.flatnonzero"),
        (range(MOST + 1), f"at most {MOST}"),
        ([10**6], "a position among 240 rows"),
    ],
)
def test_wrong_rows_are_refused_before_the_model_is_called(rows, said, X):
    def never(X):
        raise AssertionError

    with pytest.raises(sd.DataError, match=r"report\(rows\)") as error:
        gather(never, X, rows=rows, **QUICK)
    assert said in str(error.value)


# ----------------------------------------------------------------------------------------- drawing


def test_marks_of_rows_on_curves_and_on_their_ice_curves(X):
    section = gather(crossed, X, rows=list(NAMED), **QUICK).sections[0]
    points = row_marks(section, "x0", "curve")
    assert [m.label for m in points] == ["row 170", "row 3", "row 41"]
    for mark, row in zip(points, section.given_rows, strict=True):
        assert (mark.x[0], mark.y[0]) == (
            X[row.position, 0],
            section.rhale["x0"](X[row.position, 0]),
        )
    assert len({STYLES[m.style].shape for m in points}) == 3
    ice = row_marks(section, "x0", "ice")
    lines = [m for m in ice if isinstance(m, Line)]
    assert len(lines) == 3
    assert len({STYLES[m.style].dash for m in lines}) == 3
    own = [m for m in ice if isinstance(m, Points)]
    for mark, row in zip(own, section.given_rows, strict=True):
        curve = row.values["x0"].ice
        assert mark.y[0] == np.interp(mark.x[0], section.pdp["x0"].points, curve)


@pytest.mark.slow
def test_the_axis_contains_the_rows_and_both_renderers_draw_them(mixed):
    far = mixed.copy()
    far.loc[6, "a"] = 40.0
    section = gather(of_mixed, far, rows=[5, 6], **QUICK).sections[0]
    for name, kind in (("city", Points), ("day", Line), ("holes", Line), ("a", Line)):
        spec = effect_figure(section.pdp[name])
        panel = with_rows(spec.main, section, name, "ice")
        added = panel.marks[len(spec.main.marks) :]
        assert {m.label for m in added} == {"row 5", "row 6"}
        assert any(isinstance(m, kind) for m in added)
        for mark in added:
            assert panel.y.least <= np.nanmin(mark.y)
            assert np.nanmax(mark.y) <= panel.y.most
        whole = FigureSpec((panel_stack(spec, panel),), spec.title, spec.alt)
        svg = str(draw(whole, ident="t").svg)
        assert "row 5" in svg
        assert "row 6" in svg
    beside = with_rows(effect_figure(section.rhale["holes"]).main, section, "holes", "curve")
    absent = next(m for m in beside.marks if isinstance(m, Points) and m.label == "row 5")
    assert absent.x[0] == beside.x.asides[-1].at


def panel_stack(spec, panel):
    return (panel, *spec.stacks[0][1:])


def test_data_that_are_read_in_chunks_have_no_named_rows(tmp_path, X):
    pytest.importorskip("pyarrow")
    pd.DataFrame(X, columns=["a", "b", "c"]).to_parquet(tmp_path / "x.parquet")
    with (
        warnings.catch_warnings(),
        pytest.raises(sd.UnsupportedError, match="positions beside data"),
    ):
        gather(crossed, sd.parquet(tmp_path / "x.parquet"), rows=[3], **QUICK)
