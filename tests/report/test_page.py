"""The page, compared with the results that it shows: sections, orders, numbers, and what it must not contain."""

import html
import math
import re

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.report import html as report_html
from skedasis.report import text as report_text
from skedasis.report.content import gather
from skedasis.report.features import FIRST, PageDetail, anchors_of, feature_context
from skedasis.report.format import ends
from skedasis.report.report import write
from skedasis.report.views import Views
from tests.report.test_report import Page

D = 12


def smooth(X):
    return X @ np.arange(D) / D + X[:, 0] * X[:, 1]


class Coin:
    """A classifier with known probabilities."""

    classes_ = np.array(["no", "yes"])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-2 * np.asarray(X)[:, 0] - np.asarray(X)[:, 1]))
        return np.column_stack([1 - p, p])


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(250, D))


@pytest.fixture(scope="module")
def content(X):
    y = smooth(X) + np.random.default_rng(1).normal(size=len(X)) / 2
    return gather({"m": sd.prediction(smooth, unit="€")}, X, y, progress=False)


@pytest.fixture(scope="module")
def page(content, tmp_path_factory):
    return Page(write(content, tmp_path_factory.mktemp("page") / "p.html", progress=False).path)


@pytest.fixture(scope="module")
def coin(X, tmp_path_factory):
    y = np.where(
        np.random.default_rng(2).random(len(X)) < Coin().predict_proba(X)[:, 1], "yes", "no"
    )
    section = gather({"coin": sd.probability(Coin(), class_="yes")}, X[:, :4], y, progress=False)
    path = write(section, tmp_path_factory.mktemp("coin") / "p.html", progress=False).path
    return section, Page(path)


def headings(page):
    return re.findall(r"<h2[^>]*>(.*?)</h2>", page.html)


@pytest.mark.slow
def test_sections_are_those_that_there_is_something_to_say_in(page, coin, tmp_path, X):
    assert headings(page) == [
        *("Summary", "Who is affected", "Where to look", "Features", "Interactions"),
        "Methods and cost",
    ]
    assert "How unsure the model is" in headings(coin[1])
    bare = sd.report(smooth, X, path=tmp_path / "r.html", pairs=0, regions=False, progress=False)
    assert "Interactions" not in headings(Page(bare.path))


def test_the_first_ten_features_are_drawn_and_the_others_wait(page, content):
    parts = page.html.split('<section class="feature')[1:]
    assert len(parts) == D
    for k, part in enumerate(parts):
        assert ("<template>" in part) == (k >= FIRST)
        leaves = len(content.sections[0].regions[content.features[k]])
        drawn = 3 + (leaves + 1 if leaves > 1 else 0)  # the regions with their scores, and a legend
        assert part.split("</section>")[0].count('class="skd') == drawn
        assert part.count('class="hold"') == (drawn if k >= FIRST else 0)
        words = html.unescape(part)
        assert content.features[k] in words
        assert "Code for the figures of" in words


def test_quality_is_told_in_figures(page, content):
    quality = content.sections[0].quality
    tiles = re.findall(
        r'<span class="what">(.*?)</span> <span class="value">(.*?)</span>', page.html
    )
    assert [(n, html.unescape(v)) for n, v in tiles] == [(m.name, m.text) for m in quality.measures]
    assert quality["R²"] > 0.5


@pytest.mark.slow
def test_it_says_why_there_is_no_quality(X, tmp_path):
    labels = np.array(["a", "b"])[np.arange(len(X)) % 2]
    done = sd.report(
        smooth, X, labels, path=tmp_path / "r.html", pairs=0, regions=False, progress=False
    )
    assert (
        "The quality of the predictions is not shown. The labels are not numbers"
        in Page(done.path).words
    )


def test_code_is_on_the_page_as_it_is(page, content):
    text = html.unescape(page.html)
    code = content.drawn_at("prediction").sections[0].code
    assert code["main", content.features[0]].endswith(".plot(scale='prediction')")
    for name in content.features:
        for kind in ("main", "compare", "pdp", "checks"):
            assert code[kind, name] in text
    for (kind, *names), line in code.items():
        if kind == "pair":
            assert line in text
            assert f"{names[0]} × {names[1]}" in text


def test_predictive_uncertainty_is_diagnosed(coin):
    content, page = coin
    uncertainty = content.sections[0].uncertainty
    for verdict in uncertainty.diagnosis.verdicts:
        assert " ".join(verdict.text.split()) in page.words
    assert 'id="uncertainty-1-d-title"' in page.html
    assert "effects on the entropy (PDP)" in page.words


# ------------------------------------------------------------------------------------ the ranking


def test_bars_are_as_long_as_their_numbers(content):
    section = content.sections[0]
    table = report_html.ranking(section, anchors_of(content))
    places = {p.feature: p for p in section.importance_points}
    top = max(
        v
        for p in section.importance_points
        for v in (*(p.importance_ends or ()), *(p.heterogeneity_score_ends or ()), p.importance)
        if math.isfinite(v)
    )
    assert [line["name"] for line in table["lines"]] == [r.feature for r in section.rhale.ranking()]
    for line in table["lines"]:
        effect, place = section.rhale[line["name"]], places[line["name"]]
        cell = line["importance"]
        assert cell["value"] == effect.importance
        assert cell["share"] == pytest.approx(
            report_html.BAR_WIDTH * effect.importance / top, abs=0.06
        )
        left, right = place.importance_ends
        assert cell["ends"][0] == pytest.approx(
            report_html.BAR_WIDTH * max(left, 0) / top, abs=0.06
        )
        assert cell["interval"] == ends(left, right, top)
        assert line["heterogeneity_score"]["value"] == effect.heterogeneity_score


@pytest.mark.slow
def test_heterogeneity_scores_of_all_kinds_have_one_scale():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    X["t"] = rng.choice(["u", "v"], 200)
    steps = gather(
        lambda X: np.floor(9 * X["a"]) * X["b"].round() + 9 * X["b"] * (X["t"] == "u"),
        X,
        progress=False,
    )
    section = steps.sections[0]
    table = report_html.ranking(section, anchors_of(steps))
    top = max(
        v
        for p in section.importance_points
        for v in (*p.importance_ends, *p.heterogeneity_score_ends)
    )
    for line in table["lines"]:
        score = section.rhale[line["name"]].heterogeneity_score
        length = report_html.BAR_WIDTH * score / top
        assert line["heterogeneity_score"]["share"] == pytest.approx(length, abs=0.06)
    views = Views.of(steps.sections)
    orders = report_html.sort_positions(steps)
    made = [
        feature_context(steps, views, k, orders[f], PageDetail.WORDS)
        for k, f in enumerate(steps.features)
    ]
    ranks = {f["name"]: f["ranks"] for f in made}
    order = sorted(ranks, key=lambda f: ranks[f]["heterogeneity_score"])
    assert order == [r.feature for r in section.rhale.ranking("heterogeneity_score")]
    assert ranks["t"]["column"] == 2
    assert sorted(r["importance"] for r in ranks.values()) == [0, 1, 2]


# ------------------------------------------------------------------------------ rows of the data


@pytest.mark.slow
# -------------------------------------------------------------------------------------- details


def test_a_report_shows_itself_as_a_link(tmp_path, X):
    name = "<b>\"x\" & 'y'.html"
    done = sd.report({"<i>m</i>": smooth}, X, path=tmp_path / name, features=["x0"], progress=False)
    shown = done._repr_html_()
    assert "<b>" not in shown
    assert "<i>m" not in shown
    assert "1 feature in &lt;i&gt;m" in shown
    assert done.path.resolve().as_uri().replace("&", "&amp;").replace("'", "&#39;") in shown


def test_a_feature_that_takes_one_value_has_words_alone(tmp_path):
    X = np.column_stack([np.ones(60), np.linspace(-1, 1, 60)])
    done = sd.report(lambda X: X[:, 1], X, path=tmp_path / "r.html", progress=False)
    part = next(
        p
        for p in Page(done.path).html.split('<section class="feature')[1:]
        if 'data-name="x0"' in p
    )
    assert "The feature takes a single value" in part
    assert "<svg" not in part.split("</section>")[0]


def test_infinite_and_missing_values_are_survived(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:5, 0], X[5:9, 1] = np.nan, np.nan
    done = sd.report(
        lambda X: np.nan_to_num(X).sum(axis=1), X, path=tmp_path / "r.html", progress=False
    )
    assert "NaN" not in Page(done.path).words
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+", "", Page(done.path).html.split("<body")[1])


@pytest.mark.slow
def test_regions_are_on_the_page_with_their_rules(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    content = gather(
        lambda X: X[:, 0] * np.where(X[:, 1] > 0, 2, -1), X, uncertainty=False, progress=False
    )
    page = Page(write(content, tmp_path / "r.html", progress=False).path)
    regions = content.sections[0].regions["x0"]
    assert page.html.count('<div class="regions">') == sum(
        len(r) > 1 for r in content.sections[0].regions.values()
    )
    assert ">For whom</h4>" in page.html
    words = " ".join(page.words.split())
    for rule, text in report_text.region_texts(regions)[1]:
        assert rule in words
        assert " ".join(text.split()) in words
    assert "sd.regions(model, X, 'x0').plot(scale='prediction')" in page.words
