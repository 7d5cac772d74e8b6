"""The first screen: which curves are drawn, what the bar of the variance adds up to, and what several models share."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis._numbers import number, percent
from skedasis.analysis import variance_shares
from skedasis.report.content import ReportContent, gather
from skedasis.report.findings import effect_size, findings, headline, moving
from skedasis.report.first_screen import _affected as affected
from skedasis.report.first_screen import _level as level
from skedasis.report.first_screen import (
    models_findings,
    most_important,
    regions_that_matter,
    summary_figure,
    variance_bar,
)
from skedasis.report.html import cautions
from skedasis.report.tables import cohort_tables, row_sentence, rows_table
from skedasis.report.views import TOGETHER, Shown, Views


def additive(X):
    return 3 * X[:, 0] + X[:, 1]


def crossed(X):
    return np.where(X[:, 2] > 0, 3.0, -3.0) * X[:, 0] + X[:, 1]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, size=(600, 3))


def sections(models, X, **options):
    return gather(models, X, progress=False, pairs=0, uncertainty=False, **options).sections


@pytest.fixture(scope="module")
def two(X):
    return sections({"plain": additive, "crossed": crossed}, X)


# ------------------------------------------------------------------------------------- which curves


def test_a_feature_whose_average_is_flat_can_be_the_most_important(two):
    plain, mixed = two
    assert most_important(plain) == ["x0", "x1"]  # the third feature moves nothing
    # In the other model x0 has no average effect, but moves single predictions most; so does x2, which turns it.
    assert mixed.rhale["x0"].importance < mixed.rhale["x1"].importance / 2
    assert set(most_important(mixed)[:2]) == {"x0", "x2"}
    sizes = [effect_size(mixed.rhale[f]) for f in most_important(mixed)]
    assert sizes == sorted(sizes, reverse=True)


def test_regions_are_drawn_where_the_effect_differs(two):
    plain, mixed = two
    assert regions_that_matter(plain, "x0") is None
    found = regions_that_matter(mixed, "x0")
    assert {c.feature.name for leaf in found.leaves for c in leaf.conditions} == {"x2"}


# -------------------------------------------------------------------------------- the variance as a bar


def test_the_bar_is_about_the_curves_that_are_drawn(two):
    plain, mixed = two
    # Var(3 x0 sign(x2)) is nine times Var(x1): the average curves tell a tenth, the curves of regions nearly all.
    bar = variance_bar(mixed.variance_shares)
    kinds, widths = ([s[key] for s in bar] for key in ("kind", "width"))
    assert kinds == ["main", "regions", "rest"]
    main, regions, rest = (float(w.rstrip("%")) for w in widths)
    assert main == pytest.approx(10, abs=5)
    assert rest < 3
    assert main + regions + rest == pytest.approx(100, abs=0.1)
    lefts = [float(s["left"].rstrip("%")) for s in bar]
    assert lefts == pytest.approx([0, main, main + regions], abs=0.05)
    assert [s["kind"] for s in variance_bar(plain.variance_shares)] == ["main", "rest"]


@pytest.mark.parametrize("most", [10_000, 300])
def test_groups_of_the_caller_count_with_their_curves(X, most, monkeypatch):
    monkeypatch.setattr(variance_shares, "SCORE_ROWS", most)
    (one,) = sections(crossed, X, by={"low": X[:, 2] <= 0, "high": X[:, 2] > 0})
    assert one.variance_shares.by_region > 0.97
    assert one.variance_shares.drawn_regions == ("x0",)


@pytest.mark.parametrize(
    ("drawn", "by_region", "widths"),
    [(-3.2, -0.4, [0, 100]), (-0.1, 0.5, [0, 50, 50]), (0.5, 0.4, [50, 50]), (1.0, 1.0, [100, 0])],
)
def test_no_share_is_below_zero_or_above_one(two, drawn, by_region, widths):
    found = replace(two[0].variance_shares, as_drawn=drawn, by_region=by_region)
    bar = variance_bar(found)
    assert [float(s["width"].rstrip("%")) for s in bar] == pytest.approx(widths)
    assert ("because features interact" in bar[0]["name"]) == (drawn <= 0)
    assert variance_bar(replace(found, as_drawn=np.nan)) is None


# --------------------------------------------------------------------------------------- several models


def test_models_of_one_quantity_share_axes(two):
    views = Views.of(two)
    assert [p.key for p in views.models] == [TOGETHER, "m1", "m2"]
    assert views.outputs == ()
    assert views.places == (Shown("m1"), Shown("m2"))
    assert views.together[0].names == ("plain", "crossed")
    assert views.everywhere(1).models.split() == ["m2", TOGETHER]


def test_models_with_different_outputs_are_positions_of_one_switch(two):
    odd = (replace(two[0], output="yes"), replace(two[1], output=""))
    views = Views.of(odd)
    assert views.outputs == ()
    assert len(views.places) == 2


def test_what_models_have_in_common_and_where_they_differ(two):
    (together,) = Views.of(two).together
    text = " ".join(f.text for f in models_findings(together, ["x0", "x1", "x2"]))
    # Importances: sd(3x) and about 0 for x0 in the two models; heterogeneity is none in the first.
    assert "x0 is where they differ most: its importance is 1.7" in text
    assert "in plain and" in text
    assert "differ more between rows in crossed than in plain" in text


def test_equal_models_are_said_to_be_alike(X):
    alike = Views.of(sections({"a": additive, "b": additive}, X)).together[0]
    text = " ".join(f.text for f in models_findings(alike, ["x0", "x1", "x2"]))
    assert "Both models depend most on x0." in text
    assert "about as large in each" in text
    assert "nearly the same for all rows" in text


# ---------------------------------------------------------------------------------- rows and cohorts


def test_a_row_is_told_with_what_is_highest_and_lowest_there(X):
    (one,) = sections(additive, X, rows=[4])
    (row,) = one.given_rows
    text = row_sentence(row)
    shown = 3 * (X[4, 0] - X[:, 0].mean())
    way = "above" if shown > 0 else "below"
    assert text.split(f"Furthest {way} the average: ")[1].startswith("x0 = ")
    table = rows_table(one, ["x0", "x1", "x2"])
    assert [line[0] for line in table.rows] == ["x0", "x1", "x2"]
    told = float(table.rows[0][2].replace("−", "-"))
    assert told == pytest.approx(shown, abs=0.01)
    # The model is additive, so that the effects sum to the difference from the mean prediction.
    total = sum(found.deviation for found in row.values.values())
    assert total == pytest.approx(additive(X)[4] - additive(X).mean(), abs=1e-9)
    assert float(table.rows[0][1]) == pytest.approx(X[4, 0], abs=0.01)


def test_cohorts_have_their_rows_means_and_importances(X):
    by = {"low": X[:, 2] <= 0, "high": X[:, 2] > 0}
    (one,) = sections(crossed, X, by=by)
    first, second = cohort_tables(one, ["x0", "x1"])
    for line, (name, mask) in zip(first.rows, by.items(), strict=True):
        assert line[0] == name
        assert line[1] == f"{mask.sum():,}"
        assert float(line[3].replace("−", "-")) == pytest.approx(crossed(X[mask]).mean(), abs=0.01)
    values = dict(zip(["low", "high"], second.rows[0][1::2], strict=True))
    for name, mask in by.items():
        assert float(values[name]) == pytest.approx(3 * X[mask, 0].std(), rel=0.05)


# -------------------------------------------------------------------------------------- cautions


def test_a_caution_about_several_models_is_said_once(two):
    first, second = (replace(s, warnings=w) for s, w in zip(two, (("w", "v"), ("w",)), strict=True))
    content = ReportContent((first, second), rows=600, columns=3, features=("x0",))
    assert list(cautions(content, Views.of(content.sections))) == [("", "w"), ("plain", "v")]


# -------------------------------------------------------------------- what is explained, in words


@pytest.mark.parametrize(("base", "unit", "double"), [("e", "nats", "0.69"), (2, "bits", "1.0")])
def test_the_scale_of_an_entropy_counts_what_is_equally_likely(X, base, unit, double):
    """Four classes that are equally likely, and a normal distribution: exp(entropy) = sd sqrt(2 pi e)."""

    class Even(ClassifierMixin, BaseEstimator):
        classes_ = np.array(list("abcd"))

        def predict_proba(self, X):
            first = 0.25 + 1e-6 * np.asarray(X)[:, 0]  # not constant
            return np.stack([first, 0.5 - first, *np.full((2, len(first)), 0.25)], axis=1)

        def predict(self, X):
            return np.full(len(X), "a")

    (one,) = sections(sd.entropy(Even(), base=base), X, regions=False)
    expected = f"as if 4.0 classes were equally likely; {double} more is twice as many."
    mean = "1.39" if base == "e" else "2.00"
    assert level(one) == f"Uncertainty here is entropy, in {unit}: on average {mean}, {expected}"

    y = 3 * X[:, 0]
    model = GaussianProcessRegressor(WhiteKernel(25.0), optimizer=None).fit(X, y)
    (one,) = sections(sd.entropy(model, base=base), X, regions=False)
    width = 5 * np.sqrt(2 * np.pi * np.e)
    assert f"as if all values in a range of {width:.0f} were equally likely" in level(one)
    assert level(one).endswith(f"; {double} more is a range twice as wide.")


def test_features_are_ordered_by_how_far_they_move_rows():
    """Both features of 3 x0 sign(x2) move a row by its product: by the standard deviation of 3 x0, √3."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(6000, 3))
    (one,) = sections(crossed, X)
    moved = 3 * np.sqrt(np.mean(X[:, 0] ** 2))
    for feature in ("x0", "x2"):
        assert moving(one)[feature] == pytest.approx(moved, rel=0.05)
    assert (
        "depending mostly on x0"
        in summary_figure(replace(one, regions={}), "x2", "f", whom=True).caption
    )
    share = replace(one.rhale["x2"].depends_on, share=0.3)
    effects = type(one.rhale)({**one.rhale, "x2": replace(one.rhale["x2"], depends_on=share)})
    less = replace(one, regions={}, rhale=effects)
    assert "depending in part on x0" in summary_figure(less, "x2", "f", whom=True).caption


def test_a_class_is_named_once_in_sentences_and_figures(X):
    labels = np.where(X[:, 0] > 0.2, "bad", np.where(X[:, 1] > 0, "good", "fair"))
    model = LogisticRegression().fit(X, labels)
    (one,) = sections(sd.probability(model, "bad"), X, y=labels)
    mean = number(model.predict_proba(X)[:, list(model.classes_).index("bad")].mean())
    assert (
        level(one)
        == f"On average, the probability of “bad”, {one.quantity} in the figures, is {mean}."
    )
    assert findings(one)[0].text.startswith("x0: the probability of “bad” rises by ")
    # The share that is right is that of all classes, and so is what is predicted.
    right = percent(np.mean(model.predict(X) == labels))
    said = headline(one, rows=600, features=3, target="status")
    assert said.startswith(f"A LogisticRegression predicts status: right for {right} of the rows (")


def test_groups_of_rows_have_their_own_shares(X):
    weight = np.where(X[:, 1] > 0.5, 4.0, 1.0)
    model = lambda X: X[:, 0] * np.where(X[:, 1] > 0.5, 3.0, -1.0)  # noqa: E731
    section = sections(model, X, sample_weight=weight)[0]
    found = next(
        c for c in affected(section, dict.fromkeys(section.rhale, "")) if c["name"] == "x0"
    )
    shares = {rule.split()[1]: share for rule, share, _ in found["lines"]}
    above = weight[X[:, 1] > 0.5].sum() / weight.sum()
    for side, part in ((">", above), ("≤", 1 - above)):
        assert float(shares[side].split("(")[1].split(" %")[0]) == pytest.approx(100 * part, abs=2)
