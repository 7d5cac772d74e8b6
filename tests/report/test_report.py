"""The page: its structure, its completeness, and the escaping of all user-provided text."""

import base64
import hashlib
import itertools
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.report.content import gather
from skedasis.report.figures import file_name
from skedasis.report.report import write
from tests.helpers import refused

EVIL = '<script>alert("1")</script>'
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """A page, parsed as far as these tests need."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.stack, self.text = [], [], []
        self.html = path.read_text(encoding="utf-8")
        self.feed(self.html)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        # Visible text: neither code nor a figure's description, which repeats the text next to it.
        if self.stack[-1:] not in (["script"], ["style"], ["desc"]):
            self.text.append(data)

    def all(self, *names):
        return [attrs for tag, attrs in self.tags if tag in names]

    @property
    def words(self):
        return " ".join("".join(self.text).split())


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 300
    return pd.DataFrame(
        {
            EVIL: rng.normal(size=n),
            "b": rng.exponential(size=n),
            "const": np.ones(n),
            "holes": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "city": rng.choice(["x", "y"], n),
        }
    )


def f(X):
    return X.iloc[:, 0] * (1 + X["b"]) + X["holes"].fillna(0) ** 2


def g(X):
    return np.floor(2 * X["b"])


@pytest.fixture(scope="module")
def page(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    models = {"<b>one</b>": sd.prediction(f, name="<i>q</i>", unit="€"), "two": g}
    schema = {"b": sd.Feature("b", unit="k<g")}
    sd.report(models, frame, path=path, schema=schema, progress=False)
    return Page(path)


def test_it_holds_all_it_shows(page):
    programs = [a for a in page.all("script") if a.get("type") != "application/json"]
    assert len(programs) == len(page.all("style")) == 1
    assert len(page.all("script")) == 2  # the other one is data, which no browser runs
    for tag, attrs in page.tags:
        assert tag not in ("iframe", "object", "base", "embed", "img")
        assert "style" not in attrs
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "href", "action", "srcset"):
            value = attrs.get(name) or "#"
            assert value == "data:," or value.startswith("#"), value[:80]
    style = page.html[page.html.index("<style>") : page.html.index("</style>")]
    assert "url(" not in style.replace("url(#", "")
    assert "@import" not in style
    addresses = set(re.findall(r"https?://[^\s\"'<)]*", page.html))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_its_policy_allows_its_own_script_and_style_alone(page):
    (policy,) = [a["content"] for a in page.all("meta") if "Policy" in a.get("http-equiv", "")]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["img-src"] == "data:"
    for name in ("script", "style"):
        text = page.html.split(f"<{name}>")[1].split(f"</{name}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{name}-src"] == f"'sha256-{digest}'"


def test_names_are_escaped(page):
    assert page.html.count("<script") == 2
    assert "<b>one" not in page.html
    assert "<i>q" not in page.html
    assert EVIL in page.words
    assert "<b>one</b>" in page.words
    assert "k<g" in page.words


def test_headings_go_down_one_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_every_figure_is_well_formed_and_has_words(page):
    figures = re.findall(r"<svg[^>]*class=\"skd\b.*?</svg>", page.html, re.DOTALL)
    # Two models, each with a scatter plot, explained variance, four small figures with a legend, four large ones, and
    # pairs.
    assert len(figures) >= 2 * (2 + 5 + 4 * 3)
    alts = []
    for figure in figures:
        root = ET.fromstring(figure)
        title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert title.text
        alts.append((title.text, desc.text))
    large = [alt for name, alt in alts if re.search(r"effect on .* \((RHALE|ALE|PDP)\)", name)]
    assert len(large) >= 2 * (3 + 4)
    assert all(len(alt) > 40 for alt in large)
    drawn = [f for f in figures if 'data-x="' in f]
    assert len(drawn) >= 2 * (1 + 4 + 4 * 3)


def test_links_lead_somewhere(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    for link in page.all("a"):
        assert link["href"][1:] in ids
    for _, attrs in page.tags:
        for name in ("aria-controls", "aria-describedby"):
            assert attrs.get(name, ids[0]) in ids
    for _, attrs in page.tags:
        assert set(attrs.get("aria-labelledby", ids[0]).split()) <= set(ids)


def test_tables_have_headings_and_captions(page):
    tables = page.html.split("<table")[1:]
    assert all("<caption>" in t and 'scope="col"' in t for t in tables)
    assert all("<td" in t for t in tables)


@pytest.mark.slow
def test_two_models_of_ten_features_stay_small(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 10))

    def wild(X):
        return np.sin(3 * X).sum(axis=1) + X[:, 0] * X[:, 1]

    done = sd.report({"a": wild, "b": wild}, X, path=tmp_path / "r.html", progress=False)
    assert done.path.stat().st_size < 3e6


@pytest.mark.slow
def test_names_for_files(frame, tmp_path):
    content = gather({"m/1": f, "m:1": f}, frame, features=[EVIL], progress=False)
    done = write(content, tmp_path / "r.html", figures=tmp_path / "figures", progress=False)
    assert len(done.figures) == 6
    assert all(p.is_file() and re.fullmatch(r"[\w-]+\.png", p.name) for p in done.figures)
    assert file_name("..", "/") == "_-_"


def test_bad_requests_are_refused(frame, tmp_path):
    with pytest.raises(sd.DataError, match="no model"):
        sd.report({}, frame)
    with pytest.raises(sd.DataError, match=r"the folder .* expected a file"):
        sd.report(f, frame, path=tmp_path)
    with pytest.raises(sd.DataError, match="Did you mean"):
        sd.report(f, frame, features=["hols"])
    with refused(sd.UnsupportedError, "report(features)", "the pair ['b', 'city']"):
        sd.report(f, frame, features=[("b", "city")])
    names = pd.DataFrame({"id": [f"k{i}" for i in range(2001)]})
    with refused(sd.UnsupportedError, "only features with more than 2,000 levels (1 in all)"):
        sd.report(lambda X: np.zeros(len(X)), names)
    with refused(sd.DataError, "2,001 levels", "identifier"):
        sd.report(lambda X: np.zeros(len(X)), names, features=["id"], path=tmp_path / "r.html")
