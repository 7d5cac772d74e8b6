"""Mean labels and predictions in figures of effects: their values, where they are, and what the figure says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis._numbers import number
from skedasis.errors import DataError
from skedasis.plots.draw_matplotlib import draw as draw_matplotlib
from skedasis.plots.draw_svg import draw as draw_svg
from skedasis.plots.figures.compare import compare_figure
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.multiples import effects_figure
from skedasis.plots.figures.options import EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.figures.regions import regions_figure
from skedasis.plots.kinds import figure_of_outputs
from skedasis.plots.layout import arrange
from skedasis.plots.marks import FigureSpec, Line, Panel, Points, Rectangles, Segments, marks_of
from skedasis.results.effects import Effects
from skedasis.results.multi_output import Comparison
from tests.plots.observed_helpers import observed_of
from tests.plots.spec_helpers import legend, only, styles, texts, tips

N = 2_000
RNG = np.random.default_rng(8)
X = pd.DataFrame(
    {
        "hr": RNG.integers(0, 24, N).astype(float),
        "temp": RNG.normal(12.0, 6.0, N),
        "city": RNG.choice(["Rome", "Oslo", "Bern"], N),
    }
)
SET = np.where(RNG.uniform(size=N) < 0.7, "train", "test")


def predict(X: pd.DataFrame) -> np.ndarray:
    return np.asarray(50 + 3 * X["temp"] + 40 * np.sin(X["hr"] / 4) + 20 * (X["city"] == "Rome"))


Y = predict(X) + 30 * (X["hr"].to_numpy() == 17) + RNG.normal(0, 20, N)
EDGES = np.quantile(X["temp"], np.linspace(0, 1, 11))
QUANTITY = sd.prediction(predict, name="rentals", unit="bikes")
EFFECTS = sd.explain(QUANTITY, X, method="ale")


def made(
    feature: str, split: np.ndarray | None = None, effect: sd.Effect | None = None
) -> sd.Effect:
    """Return the effect of a feature with what was observed."""
    effect = EFFECTS[feature] if effect is None else effect
    at = X[feature].to_numpy()
    if effect.levels is not None:
        at = effect.levels.codes(at)
    edges = EDGES if feature == "temp" else None
    return replace(
        effect,
        observed=observed_of(
            at, Y, predict(X), edges, split, "set" if split is not None else "", "bikes"
        ),
    )


def points(panel: Panel, style: str) -> Points:
    """Return the means of a style."""
    return only(panel, Points, style)


# --- values -----------------------------------------------------------------------------------------


def test_means_and_their_intervals_are_those_of_the_rows_in_each_cell():
    main = effect_figure(made("hr"), EffectPlotOptions(confidence_level=0.9)).main
    labels, predictions = points(main, "observed"), points(main, "predicted")
    whiskers = only(main, Segments, "observed-interval")
    for k, hour in enumerate(range(24)):
        rows = X["hr"].to_numpy() == hour
        n, mean = int(rows.sum()), Y[rows].mean()
        half = t.ppf(0.95, n - 1) * Y[rows].std(ddof=1) / np.sqrt(n)
        assert labels.x[k] == predictions.x[k] == whiskers.x0[k] == hour
        np.testing.assert_allclose(labels.y[k], mean)
        np.testing.assert_allclose(predictions.y[k], predict(X)[rows].mean())
        np.testing.assert_allclose([whiskers.y0[k], whiskers.y1[k]], [mean - half, mean + half])


def test_the_curve_shares_the_scale_of_the_labels_and_averages_to_the_mean_prediction():
    effect = made("hr")
    main = effect_figure(effect).main
    assert (main.y.name, main.y.unit) == ("rentals", "bikes")
    curve = next(marks_of(main, Line, "average"))
    hours = X["hr"].to_numpy()
    np.testing.assert_allclose(np.interp(hours, curve.x, curve.y).mean(), predict(X).mean())
    np.testing.assert_allclose(np.ptp(curve.y), np.ptp(effect.value))


def test_the_mean_prediction_is_that_of_all_rows_not_only_of_those_of_the_score():
    effect = sd.explain(QUANTITY, X, "hr", method="ale", heterogeneity_rows=100)
    assert abs(effect.about.quantity_mean - predict(X).mean()) > 0.1
    curve = next(marks_of(effect_figure(made("hr", effect=effect)).main, Line, "average"))
    mean = np.interp(X["hr"].to_numpy(), curve.x, curve.y).mean()
    np.testing.assert_allclose(mean, predict(X).mean())


def test_a_pdp_that_is_not_centred_stays_where_it_is():
    effect = sd.explain(QUANTITY, X, "temp", method=sd.PDP(grid=10, center=None))
    main = effect_figure(made("temp", effect=effect)).main
    np.testing.assert_allclose(next(marks_of(main, Line, "average")).y, effect.value)


def test_the_rows_of_each_cell_are_bars_below():
    *_, rows = effect_figure(made("temp")).stacks[0]
    bars = only(rows, Rectangles, "count")
    np.testing.assert_array_equal(bars.upper, np.histogram(X["temp"], EDGES)[0])
    np.testing.assert_allclose(bars.left, EDGES[:-1])
    np.testing.assert_allclose(bars.right, EDGES[1:])


@pytest.mark.parametrize("feature", ["hr", "temp", "city"])
def test_values_of_a_split_have_their_own_means_side_by_side(feature):
    effect = made(feature, SET)
    main, *_, rows = effect_figure(effect).stacks[0]
    observed = effect.observed
    assert observed is not None
    for s, one in enumerate(observed.split_values):
        mine = points(main, f"observed{s}")
        np.testing.assert_allclose(mine.y, observed.label[s])
        np.testing.assert_allclose(points(main, f"predicted{s}").y, observed.prediction[s])
        np.testing.assert_array_equal(points(main, f"predicted{s}").x, mine.x)
        np.testing.assert_array_equal(
            only(rows, Rectangles, f"observed{s}-rows").upper, observed.count[s]
        )
        assert f"set = {one}" in legend(effect_figure(effect))
    first, second = (points(main, f"observed{s}").x for s in (0, 1))
    assert (first < second).all()
    assert (second[:-1] < first[1:]).all()


def test_levels_that_are_not_shown_have_no_means():
    names = np.array([f"level {k:02d}" for k in range(30)])
    frame = pd.DataFrame({"a": names[np.minimum(RNG.geometric(0.15, N) - 1, 29)]})
    effect = sd.explain(
        lambda X: X["a"].str[-2:].astype(float).to_numpy(), frame, "a", method="ale"
    )
    codes = effect.levels.codes(frame["a"])
    effect = replace(effect, observed=observed_of(codes, Y, predict(X)))
    main = effect_figure(effect, EffectPlotOptions(most_levels=5)).main
    labels = points(main, "observed")
    shown = [effect.levels.labels.index(name) for name in main.x.labels]
    np.testing.assert_allclose(labels.y, [Y[codes == k].mean() for k in shown])


def test_cells_with_few_rows_do_not_determine_the_scale():
    at = np.where(np.arange(N) < 3, 30.0, X["hr"])
    y = np.where(np.arange(N) < 3, 1e5, Y)
    effect = replace(EFFECTS["hr"], observed=observed_of(at, y, predict(X)))
    main = effect_figure(effect).main
    assert main.y.range[1] < 500
    assert "some intervals are off the scale" in main.notes


# --- where labels are drawn -----------------------------------------------------------------------


def test_nothing_changes_without_labels_or_if_they_are_hidden():
    bare, hidden = (
        effect_figure(e, EffectPlotOptions(observed=False)) for e in (EFFECTS["hr"], made("hr"))
    )
    assert [p.kind for p in bare.panels] == [p.kind for p in hidden.panels]
    assert bare.alt == hidden.alt
    for a, b in zip(bare.panels, hidden.panels, strict=True):
        assert (a.x, a.y, a.notes, a.tooltips) == (b.x, b.y, b.notes, b.tooltips)
        assert [m.style for m in a.marks] == [m.style for m in b.marks]


@pytest.mark.parametrize("why", ["difference", "logarithm", "slope"])
def test_labels_on_another_scale_have_a_panel_of_their_own(why):
    effect, options = made("temp"), EffectPlotOptions()
    if why == "difference":
        options = replace(options, scale="difference")
    elif why == "logarithm":
        effect = replace(effect, observed=effect.observed.altered(of_effect=False, quantity="rate"))
    else:
        pdp = sd.explain(QUANTITY, X, "temp", method=sd.PDP(grid=9, derivative=True))
        effect = made("temp", effect=pdp)
    main, own, *_ = effect_figure(effect, options).stacks[0]
    bare = effect_figure(replace(effect, observed=None), options).main
    assert "observed" not in styles(main)
    np.testing.assert_array_equal(
        next(marks_of(main, Line, "average")).y, next(marks_of(bare, Line, "average")).y
    )
    assert own.kind == "detail"
    assert (own.y.name, own.y.unit) == ("rate" if why == "logarithm" else "prediction", "bikes")
    np.testing.assert_allclose(points(own, "observed").y, effect.observed.label[0])


def test_a_label_is_drawn_over_the_prediction_and_both_over_the_curve():
    order = [m.style for m in effect_figure(made("hr")).main.marks if hasattr(m, "style")]
    assert order.index("average") < order.index("predicted") < order.index("observed")


def test_rows_without_a_value_are_beside_the_axis():
    a = np.where(RNG.uniform(size=N) < 0.1, np.nan, X["temp"])
    frame = X.assign(temp=a)
    effect = sd.explain(lambda X: predict(X.fillna(5.0)), frame, "temp", method="ale")
    effect = replace(effect, observed=observed_of(a, Y, predict(X), EDGES))
    main = effect_figure(effect).main
    labels, (aside,) = points(main, "observed"), main.x.asides
    np.testing.assert_allclose(labels.y[-1], Y[np.isnan(a)].mean())
    assert aside.left < labels.x[-1] < aside.right
    line = only(main, Line, "predicted-line")
    assert len(line.x) == len(labels.x) - 1  # does not lead to missing values
    (tip,) = (t for t in tips(main) if "missing" in t[0])
    assert any(text.startswith("mean label ") for text in tip)


def test_cells_beyond_a_gap_are_one_mean_beside_the_axis():
    at = X["temp"].to_numpy().copy()
    at[:4] = [10_000.0, 10_000.0, 10_100.0, 10_100.0]
    frame = X.assign(temp=at)
    effect = sd.explain(lambda X: 0.01 * X["temp"].to_numpy(), frame, "temp", method="ale")
    edges = np.array([*np.quantile(at[4:], np.linspace(0, 1, 6)) + 1e-9, 10_050.0, 10_101.0])
    effect = replace(effect, observed=observed_of(at, Y, predict(X), edges))
    main = effect_figure(effect).main
    (aside,) = main.x.asides
    labels = points(main, "observed")
    inside = (labels.x > aside.left) & (labels.x < aside.right)
    assert inside.tolist() == [False] * (len(inside) - 1) + [True]
    cells = effect.observed
    np.testing.assert_allclose(
        labels.y[-1], np.average(cells.label[0][-2:], weights=cells.count[0][-2:])
    )
    rows = effect_figure(effect).stacks[0][-1]
    assert only(rows, Rectangles, "count").upper[-1] == cells.count[0][-2:].sum()


def test_the_axis_of_a_pdp_reaches_to_the_cells_beyond_its_grid():
    effect = sd.explain(QUANTITY, X, "temp", method=sd.PDP(grid=[8.0, 12.0, 16.0]))
    main = effect_figure(made("temp", effect=effect)).main
    low, high = main.x.range
    labels = points(main, "observed")
    assert low < labels.x.min() < 8.0
    assert 16.0 < labels.x.max() < high


# --- words ------------------------------------------------------------------------------------------


def test_tooltips_name_the_cell_its_rows_and_its_means():
    effect = made("hr")
    main, slopes, rows = effect_figure(effect).stacks[0]
    cells = effect.observed
    assert tips(main) == tips(rows)
    half = {
        of: np.diff(cells.interval(of=of), axis=0)[0, 0, 17] / 2 for of in ("label", "residual")
    }
    assert tips(main)[17] == [
        "hr = 17",
        f"{cells.count[0, 17]} rows",
        f"mean label {cells.label[0, 17]:.3g} ± {half['label']:.3g} bikes",
        f"mean prediction {cells.prediction[0, 17]:.3g} bikes",
        f"label minus prediction {number(cells.residual[0, 17])} ± {half['residual']:.3g}",
    ]
    assert any("average slope" in text for tip in tips(slopes) for text in tip)


def test_intervals_of_events_have_two_ends():
    rare = RNG.uniform(size=N) < 0.005
    effect = sd.explain(
        lambda X: np.full(len(X), 0.005), X[["hr"]], "hr", y=rare, method="ale", observed=True
    )
    seen, main = effect.observed, effect_figure(effect, EffectPlotOptions()).main
    assert seen is not None
    lower, upper = seen.interval(0.95)
    drawn = only(main, Segments, "observed-interval")
    np.testing.assert_allclose(np.sort(drawn.y0), np.sort(lower[0]), atol=1e-15)
    np.testing.assert_allclose(np.sort(drawn.y1), np.sort(upper[0]))
    k = int(np.argmin(seen.label[0]))
    assert f"mean label 0 (0 to {upper[0, k]:.2g}" in str(tips(main))


def test_tooltips_of_levels_have_the_means_too():
    effect = made("city", SET)
    for tip in tips(effect_figure(effect).main):
        assert "set = test: " in "\n".join(tip)
        assert sum(text.startswith("mean label") for text in tip) == 2


def test_the_alternative_text_says_where_labels_and_predictions_differ_most():
    said = effect_figure(made("hr")).alt
    assert "they differ most at hr = 17: the label is 30.0 higher." in said
    assert "Mean labels (set = test)" in effect_figure(made("hr", SET)).alt
    assert "Mean labels" not in effect_figure(made("hr"), EffectPlotOptions(observed=False)).alt


def test_the_legend_names_the_curve_by_its_method():
    entries = legend(effect_figure(made("hr")))
    assert entries[:3] == [
        "effect (ALE, 95 % interval)",
        "mean label (95 % interval)",
        "mean prediction",
    ]


def test_hostile_names_of_a_split_are_text():
    effect = made("temp", np.where(SET == "train", "<script>alert(1)</script>", "a\nb"))
    svg = str(draw_svg(effect_figure(effect), ident="a").svg)
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg


# --- sizes and renderers --------------------------------------------------------------------------


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("feature", ["hr", "temp", "city"])
def test_a_small_figure_keeps_the_means_and_a_legend_of_a_fifth(feature, split):
    spec = effect_figure(made(feature, SET if split else None))
    layout = arrange(spec, 3.3 * 72, 2.5 * 72)
    assert len(layout.panels) == 1
    labels = {text for key in layout.keys for text in key.text.lines}
    for start in ("effect", "mean label|label", "mean prediction|prediction"):
        assert any(text.startswith(tuple(start.split("|"))) for text in labels)
    assert not any("…" in text for text in labels)
    if split:
        assert {"set = test", "set = train"} <= labels
    high = max(k.y for k in layout.keys) - min(k.y for k in layout.keys) + 12
    assert high <= 0.2 * 2.5 * 72 + 1


def test_both_renderers_draw_the_same_means():
    effect = made("hr", SET)
    figure = draw_matplotlib(effect_figure(effect), (6, 6))
    svg = str(draw_svg(effect_figure(effect), ident="a").svg)
    assert svg.count("observed0-interval") >= 1
    assert len(figure.axes) == 3


def test_small_multiples_have_labels_on_the_shared_scale():
    effects = Effects({name: made(name) for name in EFFECTS}, EFFECTS.provenance)
    spec = effects_figure(effects)
    assert len({stack[0].y.range for stack in spec.stacks}) == 1
    assert all("observed" in styles(stack[0]) for stack in spec.stacks)
    assert legend(spec).count("mean prediction") == 1
    hidden = effects_figure(effects, options=EffectPlotOptions(observed=False))
    assert not any("observed" in styles(stack[0]) for stack in hidden.stacks)


def test_the_option_is_a_flag():
    with pytest.raises(DataError, match="observed"):
        EFFECTS["hr"].plot(observed="yes")
    assert "mean prediction" in texts(effect_figure(made("hr")))


# --- several effects ------------------------------------------------------------------------------


def drawn_outputs(members: dict[str, sd.Effect], **options: object) -> FigureSpec:
    return figure_of_outputs(Comparison(members), **options)


@pytest.mark.parametrize("feature", ["hr", "temp", "city"])
def test_models_of_the_same_rows_share_their_mean_labels(feature):
    """Labels belong to the rows: they are drawn once, over curves at the height of the predictions of each model."""
    other = sd.explain(
        sd.prediction(lambda X: predict(X) / 2 + 70, name="rentals", unit="bikes"),
        X,
        feature,
        y=Y,
        observed=True,
        method="ale",
    )
    first = sd.explain(QUANTITY, X, feature, y=Y, observed=True, method="ale")
    spec = drawn_outputs({"a": first, "b": other})
    (main,) = spec.panels
    labels, seen = points(main, "observed"), first.observed
    assert seen is not None
    wanted = [Y[X[feature] == v].mean() for v in seen.x] if feature != "temp" else seen.label[0]
    np.testing.assert_allclose(labels.y, wanted)
    np.testing.assert_allclose(
        only(main, Segments, "observed-interval").y1, seen.interval()[1][0], rtol=1e-12
    )
    assert "predicted" not in styles(main)
    assert legend(spec).count("mean label (95 % interval)") == 1
    assert any("mean label" in text and "bikes" in text for tip in tips(main) for text in tip)
    assert not any("mean prediction" in text for tip in tips(main) for text in tip)
    assert "mean label (95 % interval): from " in spec.alt
    low, high = main.y.range
    assert low < labels.y.min() < labels.y.max() < high
    if feature == "city":  # side by side with the points of the models
        at = np.concatenate([labels.x, *(points(main, f"hue{i}-vertex").x for i in (0, 1))])
        assert np.diff(np.sort(at)).min() > 0.05
    else:
        line = next(marks_of(main, Line, "hue1"))
        mean = np.interp(X[feature], line.x, line.y).mean()
        assert mean == pytest.approx(predict(X).mean() / 2 + 70, rel=1e-3)
    # Hidden, or around zero, as without labels.
    for options in ({"observed": False}, {"scale": "difference"}):
        bare = drawn_outputs({"a": first, "b": other}, **options)
        assert not {"observed", "observed-interval"} & set(styles(bare.main))
        assert ("alone" in " ".join(bare.main.notes)) == ("scale" in options)


def test_effects_of_many_features_share_mean_labels_too():
    halved = sd.prediction(lambda X: predict(X) / 2, name="rentals", unit="bikes")
    two = [
        sd.explain(q, X, ["hr", "city"], y=Y, observed=True, method="ale")
        for q in (QUANTITY, halved)
    ]
    spec = compare_figure({"a": two[0], "b": two[1]})
    assert all("observed" in styles(stack[0]) for stack in spec.stacks)
    assert spec.notes == ()
    hidden = compare_figure({"a": two[0], "b": two[1]}, observed=False)
    assert not any("observed" in styles(p) for p in hidden.panels)
    with pytest.raises(DataError, match=r"compare\(observed\)"):
        compare_figure(two, observed="no")
    other = sd.explain(QUANTITY, X[:500], ["hr", "city"], y=Y[:500], observed=True, method="ale")
    rows = compare_figure({"all": two[0], "some": other})
    assert not any("observed" in styles(p) for p in rows.panels)
    assert "mean labels are in the figure of each alone" in rows.notes


def test_labels_that_differ_have_a_figure_each():
    """Those of classes are indicators, and those of a split are side by side."""
    classes = np.select([Y < 70, Y < 100], ["low", "mid"], "high")
    clf = LogisticRegression(max_iter=1_000).fit(X[["hr", "temp"]], classes)
    q, Z = sd.probability(clf, class_="all"), X[["hr", "temp"]]
    every = sd.explain(q, Z, "hr", y=classes, observed=True, method="ale")
    spec = figure_of_outputs(every)
    assert len(spec.stacks) == 3
    for label, stack in zip(every, spec.stacks, strict=True):
        shares = [(classes[X["hr"] == hour] == label).mean() for hour in range(24)]
        np.testing.assert_allclose(points(stack[0], "observed").y, shares)
    assert len(figure_of_outputs(every, observed=False).stacks) == 1
    many = figure_of_outputs(sd.explain(q, Z, y=classes, observed=True, method="ale"))
    assert "mean labels are in the figure of each alone" in many.notes
    split = {
        name: sd.explain(QUANTITY, X, "hr", y=Y, observed=True, split=SET, method="ale")
        for name in "ab"
    }
    for stack in drawn_outputs(split).stacks:
        assert {"observed0", "observed1", "predicted0"} <= set(styles(stack[0]))


@pytest.mark.parametrize("split", [None, SET])
def test_points_beside_each_other_are_not_joined_at_levels(split):
    """A line would lead from one level to the next beside the points of the other values of the split."""
    grades = pd.Categorical(X["city"], ["Oslo", "Bern", "Rome"], ordered=True)
    frame = pd.DataFrame({"city": grades})
    effect = sd.explain(lambda X: X["city"].cat.codes.to_numpy() * 1.0, frame, "city", method="ale")
    spec = effect_figure(made("city", split, effect))
    assert not [m.style for m in spec.main.marks if isinstance(m, Line) and "predicted" in m.style]
    assert any(
        "predicted" in s and s.endswith("line")
        for s in styles(effect_figure(made("hr", split)).main)
    )


def test_marks_of_the_effect_do_not_look_like_mean_predictions():
    """Which are open: at levels the effect is a plus, and along numbers a line without marks."""
    assert "vertex-plus" in styles(effect_figure(made("city")).main)
    for feature in ("hr", "city"):
        assert "vertex" not in styles(effect_figure(made(feature)).main)
    assert "vertex" in styles(effect_figure(EFFECTS["hr"]).main)


# --- regions ----------------------------------------------------------------------------------------


def test_the_panel_of_a_region_has_the_means_of_its_rows():
    city = X["city"].to_numpy() == "Rome"
    found = sd.explain(
        sd.prediction(lambda X: predict(X) * np.where(X["city"] == "Rome", 2.0, 1.0), unit="bikes"),
        X,
        "temp",
        method="ale",
        by={"Rome": city, "elsewhere": ~city},
    )
    masks = [city if rule == "Rome" else ~city for rule in found.rules]
    effects = tuple(
        replace(e, observed=observed_of(X["temp"][m], Y[m], predict(X)[m], EDGES))
        for e, m in zip(found.effects, masks, strict=True)
    )
    regions = replace(found, effects=effects)
    raised = regions_figure(regions, RegionsPlotOptions(scale="prediction"))
    for (panel, *_), effect in zip(raised.stacks, effects, strict=False):
        labels = points(panel, "observed")
        np.testing.assert_allclose(labels.y, effect.observed.label[0])
        assert panel.y.range[0] < labels.y.min() < labels.y.max() < panel.y.range[1]
        assert any("mean label" in text for tip in tips(panel) for text in tip)
    for view in (
        RegionsPlotOptions(),
        RegionsPlotOptions(scale="prediction", observed=False),
        RegionsPlotOptions(scale="prediction", kind="together"),
    ):
        assert not any("observed" in styles(p) for p in regions_figure(regions, view).panels)
