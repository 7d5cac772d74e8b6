"""Figures and sentences end where the rows do: at codes such as 99999 beyond a gap, and at the rows of a region."""

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.compare import compare_figure
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Area, CurveSet, Line, Points, Rectangles, Rug, Segments, marks_of
from skedasis.plots.plot import FigureOptions, customized
from skedasis.results.curve_words import curve_words
from skedasis.results.main_stretch import main_part

METHODS = [sd.RHALE(), sd.ALE(), sd.DALE(), sd.PDP(), sd.ICE(), sd.MPlot()]


def model(X):
    return 3 * np.log1p(np.maximum(X[:, 0], 0)) + 0.02 * X[:, 1] * (1 + 0.1 * np.tanh(X[:, 0] - 20))


def incomes(low=0, high=0, n=2000):
    """Return incomes and ages; the first rows have the code -999, the last ones 99999."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.lognormal(3, 0.6, n), rng.uniform(20, 80, n)])
    X[:low, 0] = -999
    X[n - high :, 0] = 99999
    return X


def ends(X):
    there = (X[:, 0] > -999) & (X[:, 0] < 99999)
    return X[there, 0].min(), X[there, 0].max()


def x_of(mark):
    """Return all finite horizontal positions of a mark."""
    if isinstance(mark, Segments):
        at = np.concatenate([mark.x0, mark.x1])
    elif isinstance(mark, Rectangles):
        at = np.concatenate([mark.left, mark.right])
    elif isinstance(mark, (Line, Area, Points, CurveSet, Rug)):
        at = mark.x
    else:
        at = np.concatenate([outline[:, 0] for outline in mark.outlines])
    return at[np.isfinite(at)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize(("low", "high"), [(0, 2), (3, 0), (3, 2)])
def test_the_axis_is_the_main_stretch(method, low, high):
    X = incomes(low, high)
    e = sd.explain(model, X, 0, method=method)
    least, most = ends(X)
    for panel in effect_figure(e).panels:
        assert least <= panel.x.least < panel.x.most <= most
        assert [a.text for a in panel.x.asides] == ["−999"] * bool(low) + ["99,999"] * bool(high)
        a, b = panel.x.limits
        assert all(((x_of(m) >= a) & (x_of(m) <= b)).all() for m in panel.marks)
        assert all(t.left >= a and t.right <= b for t in panel.tooltips)
        assert all(least <= at <= most for at, _ in panel.above)


@pytest.mark.parametrize("method", [sd.RHALE(), sd.ALE(), sd.PDP()], ids=lambda m: m.name)
def test_the_point_has_the_value_of_the_curve_and_the_rows(method):
    X = incomes(3, 2)
    e = sd.explain(model, X, 0, method=method)
    main = effect_figure(e, EffectPlotOptions(ice=None if e.bins is None else "centered")).main
    left, right = (a for a in main.x.asides)
    assert left.right < main.x.range[0] < main.x.range[1] < right.left
    (point,) = [p for p in marks_of(main, Points, "missing") if p.x == left.at]
    assert point.label == "−999 (n=3)"
    assert point.y == pytest.approx(e([-999.0])[0])
    # 3 log(100,000) is far above the curve, which would be flat with it: the legend has the number.
    (point,) = marks_of(main, Points, "beyond-above")
    assert point.x == right.at
    assert point.label.startswith("99,999 (n=2): ")
    assert point.label.endswith(", above the panel")
    value = float(point.label.removeprefix("99,999 (n=2): ").split(",")[0])
    assert value == pytest.approx(e([99999.0])[0], rel=0.01)
    assert main.y.range[0] <= point.y <= main.y.range[1] < value
    tips = {t.left: t.text.split("\n") for t in main.tooltips}
    assert tips[left.left][:2] == ["x0 = −999, beyond a gap", "3 rows"]
    assert tips[right.left][:2] == ["x0 = 99,999, beyond a gap", "2 rows"]
    assert "3 rows at −999 and 2 rows at 99,999 lie beyond a gap" in main.notes
    assert "lie beyond a gap" in effect_figure(e).alt
    placed = arrange(effect_figure(e), 320.0)
    below = {t.lines[0] for p in placed.panels for t in p.tick_texts}
    assert {"−999", "99,999"} <= below


@pytest.mark.parametrize("method", [sd.RHALE(), sd.ALE(), sd.DALE(), sd.PDP()])
def test_the_curve_is_that_of_the_result(method):
    e = sd.explain(model, incomes(3, 2), 0, method=method)
    line = next(marks_of(effect_figure(e, EffectPlotOptions(ice="raw")).main, Line))
    np.testing.assert_allclose(line.y, e(line.x), rtol=1e-12, atol=1e-12 * np.ptp(e.value))


def test_a_larger_group_stays_on_the_axis_and_its_gap_is_hatched():
    X = incomes(100)
    for method in (sd.RHALE(), sd.PDP()):
        e = sd.explain(model, X, 0, method=method)
        main = effect_figure(e).main
        assert main.x.least == -999
        assert not main.x.asides
        (gap,) = [m for m in main.marks if isinstance(m, Rectangles) and m.label == "no values"]
        assert (gap.left[0], gap.right[0]) == (-999, ends(X)[0])
        assert gap.style == "empty"
        assert any(t.texts == ("no values",) for t in main.texts)
        assert any("no values −999" in t.text for t in main.tooltips)


def test_a_sparse_tail_is_neither_hatched_nor_left_out():
    X = incomes()
    X[:, 0] = np.exp(1.8 * np.log(X[:, 0]))
    e = sd.explain(model, X, 0, method=sd.ALE())
    main = effect_figure(e).main
    assert main.x.most == X[:, 0].max()
    assert not main.x.asides
    assert not [m for m in main.marks if isinstance(m, Rectangles) and m.label == "no values"]


def test_times():
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2020-01-01", periods=500, freq="D").to_numpy().copy()
    days[7] = np.datetime64("1900-01-01")
    frame = pd.DataFrame({"day": days, "z": np.arange(500.0)})
    e = sd.explain(lambda X: X["z"] + X["day"].dt.day, frame, "day", method=sd.PDP())
    main = effect_figure(e).main
    assert [a.text for a in main.x.asides] == ["1900-01-01"]
    assert main.x.time.text(main.x.least) == "2020-01-01"
    assert "1 row at 1900-01-01 lies beyond a gap" in main.notes


def test_several_effects_have_the_joint_main_stretch():
    """One of the effects is of rows with a code, the other of rows with larger values."""
    X, Z = incomes(high=2), incomes()
    Z[:, 0] *= 2
    found = [sd.explain(model, rows, 0, method=sd.ALE()) for rows in (X, Z)]
    main = compare_figure(*found, labels=["a", "b"]).main
    assert main.x.most == Z[:, 0].max()
    first, second = (m for m in main.marks if isinstance(m, Line))
    assert (first.x[-1], second.x[-1]) == (ends(X)[1], Z[:, 0].max())
    assert not main.x.asides
    assert "2 rows at 99,999 lie beyond a gap" in main.notes


def test_a_curve_in_words_is_that_of_the_main_stretch():
    X = incomes(3, 2)
    for method in (sd.RHALE(), sd.ALE(), sd.PDP()):
        e = sd.explain(lambda X: 3 * np.log1p(np.maximum(X[:, 0], 0)), X, 0, method=method)
        rise = 3 * np.log((1 + ends(X)[1]) / (1 + ends(X)[0]))
        said = curve_words(e)
        assert said.endswith("; 3 rows at −999 and 2 rows at 99,999 lie beyond a gap")
        assert said.startswith(f"rises by {rise:.3g} from ")


@pytest.mark.parametrize("options", [{"xscale": "log"}, {"xlim": (1, 500)}])
def test_points_beside_another_axis(options):
    X = incomes(high=2)
    spec = effect_figure(sd.explain(model, X, 0, method=sd.ALE()))
    main = customized(spec, FigureOptions(**options)).main
    (place,) = main.x.asides
    point = next(m for m in main.marks if isinstance(m, Points) and m.style == "beyond-above")
    assert main.x.range[1] < place.left < point.x[0] == place.at < main.x.limits[1]
    assert (place.left, place.right) in {(t.left, t.right) for t in main.tooltips}


@pytest.mark.parametrize("with_regions", [False, True])
def test_whole_numbers_with_a_code(with_regions):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 10, 2000), rng.integers(0, 2, 2000)])
    X[:3, 0] = 99999
    drawn = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, by=1 if with_regions else None)
    for e in drawn.effects if with_regions else [drawn]:
        assert e.rows.effect.shape == (len(e.rows), 2)  # steps to both neighbours
        main = effect_figure(e).main
        assert (main.x.least, main.x.most) == (0, 9)
        # Steps across the gap belong to no value of the axis.
        part = main_part(e).effect.rows
        assert np.isnan(part.effect[part.x == 9, 1]).all()
        assert np.isfinite(part.effect[part.x == 9, 0]).all()


# --- regions -----------------------------------------------------------------------------------


def logistic(x, z):
    return 1 / (1 + np.exp(-(x - 5) * (2 - z)))


def with_low_and_high(dtype=float):
    """Return rows whose second column, 0 or 1, is 0 for small values of the first, and 1 for large ones."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 2000)
    X = np.column_stack([x, x + rng.normal(0, 0.5, 2000) > 5])
    return np.round(X) if dtype is int else X


@pytest.mark.parametrize("method", [sd.RHALE(), sd.ALE(40), sd.UALE()], ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", [float, int])
def test_the_curve_of_a_region_ends_where_its_rows_end(method, dtype):
    # Beyond them no model value was seen: a bin that is wider than its rows would be drawn with their slope.
    X = with_low_and_high(dtype).astype(dtype)
    regions = sd.explain(lambda X: logistic(X[:, 0], X[:, 1]), X, 0, method=method, by=1)
    for level, effect in enumerate(regions.effects):
        x = X[X[:, 1] == level, 0]
        (at, value) = (main_part(effect).effect.points, main_part(effect).effect.value)
        widest = np.diff(effect.cells.edges).max()
        assert x.min() - widest <= at[0] <= x.min()
        assert x.max() <= at[-1] <= x.max() + widest
        # The curve is the model's own, as no other feature changes within the region.
        rise = logistic(at, level) - logistic(at[0], level)
        assert value - value[0] == pytest.approx(rise, abs=0.03)
        assert curve_words(effect).startswith(f"rises by {value[-1] - value[0]:.3g} from ")
        panel = effect_figure(effect).main
        (curve,) = [m for m in panel.marks if isinstance(m, Line) and m.style == "average"]
        assert (curve.x[0], curve.x[-1]) == (at[0], at[-1])


def test_the_interval_of_a_curve_that_is_cut_within_a_bent_bin_lies_around_it():
    X = with_low_and_high()
    regions = sd.explain(lambda X: logistic(X[:, 0], X[:, 1]), X, 0, by=1)
    for effect in regions.effects:
        part, take = main_part(effect)
        assert effect.bins.slope_change.any()
        assert not np.array_equal(part.points, effect.points)
        lower, upper = (take(end) for end in effect.interval())
        assert (lower < part.value).all()
        assert (part.value < upper).all()
        assert (lower + upper) / 2 == pytest.approx(part.value, abs=1e-12)
