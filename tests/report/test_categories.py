"""Categorical features on the page: effects of levels, and no slopes between them."""

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.report import html as report_html
from skedasis.report import text as report_text
from skedasis.report.content import gather
from skedasis.report.figures import folded_figures, main_figures, png_figures
from skedasis.report.findings import findings
from skedasis.report.tables import effect_tables
from tests.report.test_report import Page

LONG = "a level whose name has eighty letters and goes on until there is no more room.."
HOSTILE = ["<script>alert(1)</script>", LONG, "Überlänge & Söhne", "]]>", "{{ 7*7 }}"]


def town(X):
    return X["town"].map({"a": 0.0, "b": 1.0, "c": 6.0}).fillna(2.0).to_numpy(dtype=float)


def rows(*counts, names="abc"):
    """Return a frame with the given number of rows for each town, and an independent number."""
    column = [name for name, n in zip(names, counts, strict=True) for _ in range(n)]
    return pd.DataFrame({"town": column, "z": np.resize([-1.0, 1.0], len(column))})


def effect(f, X, feature="town", **options):
    return sd.explain(f, X, feature, method="ale", **options)


# ------------------------------------------------------------------------------------------ texts


def test_course_names_the_ends_and_how_far_they_are(tmp_path):
    # 20 rows at 0, 20 at 1, 10 at 6: their mean is 1.6.
    text = report_text.effect_sentence(effect(town, rows(20, 20, 10)))
    assert text == "The average effect is highest for c (4.4), lowest for a (−1.6)."


def test_course_weighs_rows_and_names_few_of_them():
    X = rows(20, 20, 5)
    text = report_text.effect_sentence(
        effect(town, X, sample_weight=np.where(X["town"] == "c", 4.0, 1.0))
    )
    assert "highest for c (3.67), lowest for a (−2.33)" in text  # the mean is 140 / 60


def test_steps_against_their_average_are_counted():
    X = rows(50, 50, names="ab")
    X["z"] = np.arange(100) % 10

    def f(X):
        return np.where(X["town"] == "b", np.where(X["z"] < 3, -1.0, 2.0), 0.0)

    found = effect(f, X)
    assert report_text.opposite_sign_share(found) == pytest.approx(0.3)
    assert "For 30 % of the rows' steps between levels the effect goes the other way." in (
        report_text.heterogeneity_sentence(found)
    )
    weights = np.where(X["z"] < 3, 2.0, 1.0)
    assert report_text.opposite_sign_share(effect(f, X, sample_weight=weights)) == pytest.approx(
        60 / 130
    )
    assert report_text.opposite_sign_share(sd.explain(f, X, "town", method="pdp")) is None
    assert report_text.opposite_sign_share(effect(f, X, keep_rows=0)) is None
    assert "For no row does the effect go the other way." in report_text.heterogeneity_sentence(
        effect(town, rows(20, 20, 20))
    )
    assert "The average describes few rows" in report_text.heterogeneity_sentence(
        effect(lambda X: np.where(X["town"] == "b", X["z"], 0.0), rows(40, 40, names="ab"))
    )


def test_order_is_mentioned_as_what_it_is():
    X = rows(20, 20, 20)
    assert "no order of their own" in report_text.order_sentence(effect(town, X))
    given = sd.explain(town, X, "town", method=sd.ALE(order=["c", "a", "b"]))
    assert (
        "in the given order; distances between levels are not defined"
        in report_text.order_sentence(given)
    )
    ordinal = effect(town, X, schema={"town": "ordinal"})
    assert "in ascending order" in report_text.order_sentence(ordinal)
    declared = sd.Feature("town", kind="ordinal", levels=("c", "b", "a"))
    assert "in the declared order" in report_text.order_sentence(
        effect(town, X, schema={"town": declared})
    )
    assert report_text.order_sentence(effect(town, rows(20, 20, names="ab"))) == ""


def test_cautions_name_levels_with_few_rows():
    (text,) = report_text.cautions(effect(town, rows(20, 3, 4)))
    assert text.startswith("7 rows at 2 levels with fewer than 10 rows (hatched): the effect of")
    assert "“b”" in text
    assert "“c”" in text
    assert "“a”" not in text
    assert report_text.cautions(effect(town, rows(20, 20, 20))) == []


# ---------------------------------------------------------------------------------- missing values


def test_missing_a_number_is_one_sentence():
    X = pd.DataFrame({"x": [np.nan] * 5 + [1.0, 3.0] * 20})
    up = sd.explain(lambda X: X["x"].fillna(7.0), X, "x")
    assert report_text.missing_sentence(up) == (
        "The feature is missing in 5 rows. On average, the prediction there is 5.00 higher than with observed "
        "values of the feature."
    )
    down = sd.explain(lambda X: X["x"].fillna(-1.0), X, "x")
    assert "the prediction there is 3.00 lower than" in report_text.missing_sentence(down)
    idle = sd.explain(lambda X: np.ones(len(X)), X, "x")
    assert "the prediction there is the same as with" in report_text.missing_sentence(idle)
    assert report_text.missing_sentence(sd.explain(lambda X: X["x"], X.dropna(), "x")) == ""


def test_a_nominal_feature_has_a_level_for_missing_values():
    X = rows(20, 20, 10)
    X.loc[:9, "town"] = None  # ten at 0, twenty at 1, ten at 6, ten at 2: the mean is 2
    found = effect(town, X)
    assert report_text.missing_sentence(found) == (
        "Missing values are a level of their own, “missing” (10 rows): at the mean."
    )
    assert report_text.cautions(found) == []
    moved = effect(lambda X: town(X) - 3.0 * X["town"].isna(), X)  # −1, where the mean is 1.4
    assert "“missing” (10 rows): 2.40 below the mean" in report_text.missing_sentence(moved)


# ----------------------------------------------------------------------------------------- tables


def test_tables_hold_the_numbers_of_levels_and_steps():
    found = effect(town, rows(20, 20, 5), schema={"town": "ordinal"})
    by_level, by_step = effect_tables(found)
    assert [head for head, _ in by_level.heads][:4] == ["Level", "Rows", "Share", "Effect"]
    mean = (20 * 0 + 20 * 1 + 5 * 6) / 45
    effects = [f"{v - mean:.3g}".replace("-", "−") for v in (0.0, 1.0, 6.0)]
    assert [row[0] for row in by_level.rows] == ["a", "b", "c"]
    assert [row[1] for row in by_level.rows] == ["20", "20", "5"]
    assert [float(row[3].replace("−", "-")) for row in by_level.rows] == pytest.approx(
        [float(e.replace("−", "-")) for e in effects], abs=0.005
    )
    assert [row[-1] for row in by_level.rows] == ["", "", "few rows"]
    assert [row[:4] for row in by_step.rows] == [("a", "b", "40", "1.00"), ("b", "c", "25", "5.00")]
    assert "Differences between adjacent levels by" in by_step.caption


# ------------------------------------------------------------------------------------ the content


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "firm": rng.choice(HOSTILE, n),
            "flag": rng.random(n) < 0.5,
            "grade": rng.choice(["low", "mid", "high"], n),
            "one": "only",
            "code": rng.integers(0, 4, n),
            "hot_a": 0.0,
        }
    )
    X["hot_a"] = (X["code"] == 1).astype(float)
    X["hot_b"] = (X["code"] == 2).astype(float)
    for j, name in enumerate(("x", "firm", "grade")):
        X.loc[rng.permutation(n)[: 20 + j], name] = None
    return X


def model(X):
    firm = X["firm"].map({name: float(k) for k, name in enumerate(HOSTILE)}).fillna(-2.0)
    grade = X["grade"].map({"low": 0.0, "mid": 1.0, "high": 3.0}).astype(float).fillna(9.0)
    return (
        X["x"].fillna(4.0) * (1.0 + X["flag"].astype(float)) + firm + grade + X["hot_a"]
    ).to_numpy()


SCHEMA = {"grade": sd.Feature("grade", kind="ordinal", levels=("low", "mid", "high"))}
GROUPS = {"hot": ["hot_a", "hot_b"]}


@pytest.fixture(scope="module")
def section(frame):
    return gather(model, frame, schema=SCHEMA, groups=GROUPS, progress=False).sections[0]


@pytest.mark.slow
def test_each_kind_has_its_method(section):
    method = {name: e.spec.method for name, e in section.rhale.items()}
    assert method == {
        **dict.fromkeys(("x", "grade", "code"), "RHALE"),
        **dict.fromkeys(("firm", "flag", "one", "hot"), "ALE"),
    }
    assert list(section.ale) == list(section.pdp) == list(section.rhale)
    methods = [p.provenance["method"] for p in section.passes]
    assert {m: methods.count(m) for m in methods if m.isupper() or m == "MPlot"} == {
        "RHALE": 1,
        "ALE": 1,
        "PDP": 2,
        "MPlot": 1,
    }
    assert [line[0] for line in report_html.provenance_table(section).rows] == methods
    assert {n: e.spec.center for n, e in section.pdp.items()}["firm"] == "mean"


def test_nothing_is_paid_for_twice(section, frame):
    # The ALE of a nominal feature is used in place of RHALE, and comes from the same run.
    assert section.rhale["firm"] is section.ale["firm"]
    assert section.passes[1].provenance["features"] == list(section.rhale)
    assert section.passes[2].provenance["features"] == ["x", "grade", "code"]


@pytest.mark.slow
def test_pictures_say_what_they_show(section):
    assert [f.name for f in png_figures(section, "firm")] == ["firm ALE", "firm PDP"]
    assert [f.name for f in png_figures(section, "grade")] == ["grade RHALE", "grade PDP"]
    (firm,), (grade,) = (main_figures(section, name, name) for name in ("firm", "grade"))
    assert firm.caption.startswith("ALE at each level: ")
    assert grade.caption.startswith("RHALE at each level: ")
    assert "firm: effect on prediction (ALE)" in firm.svg
    captions = {f: folded_figures(section, f, f)[-1].caption for f in ("firm", "grade", "x")}
    assert "Each curve has mean zero over the levels." in captions["firm"]
    assert captions["grade"].endswith(" All curves are zero at “low”.")
    assert "zero at" not in captions["x"]
    assert all(c.startswith("PDP with c-ICE: ") for c in captions.values())


def test_scores_of_numbers_and_levels_are_compared():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300)})
    X["town"] = rng.choice(["a", "b"], 300)
    section = gather(
        lambda X: np.floor(3 * X["x"]) * (X["town"] == "a") + np.floor(X["y"]), X, progress=False
    ).sections[0]
    said = "The average effect is most misleading for town: differences between rows exceed it."
    assert said in {f.text for f in findings(section)}


# --------------------------------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def page(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "page.html"
    done = sd.report(model, frame, path=path, schema=SCHEMA, groups=GROUPS, progress=False)
    assert list(done.effects["model"]) == ["RHALE", "ALE", "PDP"]
    return Page(path)


@pytest.mark.slow
def test_hostile_levels_are_text(page):
    assert page.html.count("<script") == 2  # the page's own: its program and its data
    assert "49" not in [cell.strip() for cell in page.text]  # no nested template is evaluated
    for name in HOSTILE:
        assert name in page.words


def test_the_page_explains_levels(page):
    assert "Left out" not in page.words
    for words_ in (
        "Features with levels",
        "Missing values",
        "The average effect is highest for",
        "table of levels",
        "The feature takes a single value",
        "(none)",
    ):
        assert words_ in page.words, words_
    descriptions = page.html.split("<desc")[1:]
    assert any("hot: effect on prediction (ALE)" in d.split("</desc>")[0] for d in descriptions)
    captions = [t.split("</caption>")[0] for t in page.html.split("<caption>")[1:]]
    assert any("adjacent levels" in c for c in captions)
    assert not any("slope" in c and "grade" in c for c in captions)


def test_identifiers_are_named_as_left_out(tmp_path):
    n = 2001
    X = pd.DataFrame({"id": [f"k{i}" for i in range(n)], "x": np.linspace(0, 1, n)})
    done = sd.report(lambda X: X["x"], X, path=tmp_path / "r.html", progress=False)
    assert "Left out because of more than 2,000 levels: id." in Page(done.path).words
    assert list(done.effects["function"]["RHALE"]) == ["x"]


@pytest.mark.slow
def test_missing_values_everywhere(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=90), "town": rng.choice(list("abc"), 90)})
    X["flag"] = pd.array(rng.random(90) < 0.5, dtype="boolean")
    for name in X:
        X.loc[rng.permutation(90)[:30], name] = None

    def f(X):
        flag = X["flag"].astype(object).map({True: 1.0, False: 0.0}).astype(float)
        return (X["x"].fillna(3.0) + flag.fillna(5.0)).to_numpy() + town(X)

    done = sd.report({"m": f}, X, path=tmp_path / "r.html", progress=False)
    words_ = Page(done.path).words
    assert "The feature is missing in 30 rows. On average, the prediction there is" in words_
    assert words_.count("Missing values are a level of their own, “missing” (30 rows)") == 2
