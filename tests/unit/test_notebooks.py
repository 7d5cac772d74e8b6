"""Results in notebooks: IPython's display protocol without IPython, self-contained HTML, and pages as files."""

import pickle
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import Remembers

ATTACK = "<script>alert(1)</script>\"'&\x00"
VOID = {"br", "hr", "img", "input", "link", "meta"}


class Reader(HTMLParser):
    """Parses HTML, and fails if tags are not closed in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.ids, self.text, self.attributes = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    for svg in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL):
        ET.fromstring(svg)  # inline SVG is XML, too
    return reader


def model(X):
    return np.sin(X["a"]) * X[ATTACK] + (X["c"] == "u")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=150), ATTACK: rng.normal(size=150)})
    X["c"] = rng.choice(["u", ATTACK, "w"], 150)
    X.loc[:9, "c"] = None
    return X


@pytest.fixture(scope="module")
def asked():
    return Remembers(lambda X: np.asarray(model(X), dtype=float))


@pytest.fixture(scope="module")
def results(data, asked):
    """Return one result of each kind."""
    numbers = data[["a", ATTACK]].to_numpy()
    several = [lambda X, k=k: k * X[:, 0] + X[:, 1] for k in (0.9, 1.0, 1.2)]
    losses = [sd.loss(m, "squared_error") for m in several]
    y = numbers.sum(axis=1)
    effects = sd.explain(asked, data, method=sd.ALE(bins=4))
    logs = sd.explain(sd.prediction(asked, link="log", name=ATTACK), data, method=sd.ALE(bins=4))
    found = {
        "effect": effects["a"],
        "levels": effects["c"],
        "effects": effects,
        "ranking": effects.ranking(),
        "pdp": sd.explain(asked, data, "a", method=sd.PDP()),
        "rhale": sd.explain(asked, data, "a"),
        "mplot": sd.explain(asked, data, "a", method=sd.MPlot()),
        "surface": sd.explain(asked, data, ("a", ATTACK), method=sd.ALE(bins=3)),
        "mixed surface": sd.explain(asked, data, ("a", "c"), method=sd.PDP()),
        "importance": sd.explain(losses[0], numbers, y=y, method=sd.PFI()),
        "diagnosis": sd.diagnose(
            lambda X: (X.sum(axis=1), np.ones(len(X))),
            numbers,
            y,
            n_repeats=3,
            dependence_rows=60,
            progress=False,
        ),
        "variance_shares": sd.variance_shares(losses[0], numbers, y, pairs=1),
        "weak_spots": sd.weak_spots(losses[0].of, numbers, y),
        "rating table": logs.factors(),
        "factors": logs[ATTACK].factors(),
        "interactions": sd.interactions(asked, data, max_rows=10, heterogeneity_rows=0),
        "statistics": effects.statistics(replicates=20),
        "trust": effects.checks(),
        "no objection": effects.checks().of("collinear"),
        "split": effects["a"].variance_decomposition(),
        "effect of models": sd.explain(several, numbers, 0, method=sd.ALE(bins=3), refits=True),
        "effects of models": sd.explain(several, numbers, method=sd.ALE(bins=3), refits=True),
        "surface of models": sd.explain(
            several, numbers, (0, 1), method=sd.ALE(bins=3), refits=True
        ),
        "importance of models": sd.explain(
            losses, numbers, y=y, method=sd.PFI(n_repeats=2), refits=True
        ),
    }
    found["importances ranked"] = found["importance"].ranking()
    found["models ranked"] = found["effects of models"].ranking()
    return found


KINDS = (
    "effect",
    "levels",
    "effects",
    "ranking",
    "pdp",
    "rhale",
    "mplot",
    "surface",
    "mixed surface",
    "importance",
    "diagnosis",
    "variance_shares",
    "weak_spots",
    "rating table",
    "factors",
    "interactions",
    "statistics",
    "trust",
    "no objection",
    "split",
    "effect of models",
    "effects of models",
    "surface of models",
    "importance of models",
    "importances ranked",
    "models ranked",
)
TABLES = (
    "ranking",
    "statistics",
    "trust",
    "no objection",
    "split",
    "importances ranked",
    "models ranked",
)


@pytest.mark.parametrize("kind", KINDS)
def test_html_stands_alone(results, asked, kind):
    calls = len(asked.seen)
    html = results[kind]._repr_html_()
    assert len(asked.seen) == calls  # no result calls its model
    seen = read(html)
    assert "script" not in seen.seen
    assert not any(name.startswith("on") for name, _ in seen.attributes)
    addresses = [v for name, v in seen.attributes if name in ("src", "href", "xlink:href")]
    assert addresses == []
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert ("svg" in seen.seen) == (kind not in TABLES)
    assert seen.seen[0] == "div"  # a single root element
    assert html == results[kind]._repr_html_()  # the same HTML when a notebook is run again


def test_names_are_text(results):
    shown = "".join(read(results["effects"]._repr_html_()).text)
    assert "<script>" in shown
    assert "\x00" not in shown


def test_marks_have_the_browser_s_tooltips(results):
    html = results["effect"]._repr_html_()
    assert "data-tip" not in html
    titles = re.findall(r'class="hit".*?><title>(.*?)</title>', html, flags=re.DOTALL)
    bins = results["effect"].bins
    assert [unescape(t).split("\n")[1] for t in titles] == [f"{n} rows" for n in bins.count]


def test_two_results_on_one_page_share_no_name(results):
    both = results["effect"]._repr_html_() + results["rhale"]._repr_html_()
    read(both)


def test_a_table_holds_the_numbers(results):
    rank = results["ranking"][0]
    text = read(results["ranking"]._repr_html_()).text
    assert f"{rank.importance:.3g}".rstrip("0") in [t.rstrip("0") for t in text]
    assert "No warnings." in read(results["no objection"]._repr_html_()).text
    flags = results["trust"]
    assert {f.message.replace("\x00", "") for f in flags} <= set(read(flags._repr_html_()).text)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bundle_holds_what_is_wanted(results, kind):
    result = results[kind]
    both = result._repr_mimebundle_()
    assert both == {"text/plain": repr(result), "text/html": result._repr_html_()}
    assert result._repr_mimebundle_(None, None) == both
    assert list(result._repr_mimebundle_(include=["text/plain"])) == ["text/plain"]
    assert list(result._repr_mimebundle_(include={"text/html", "image/png"})) == ["text/html"]
    assert list(result._repr_mimebundle_(exclude=["text/html"])) == ["text/plain"]
    assert result._repr_mimebundle_(include=["text/html"], exclude=["text/html"]) == {}


def test_what_is_not_wanted_is_not_made(results, monkeypatch):
    from skedasis.plots import kinds

    def made(result):
        raise AssertionError("drawn although only text was asked for")

    monkeypatch.setattr(kinds, "notebook_html", made)
    assert list(results["effects"]._repr_mimebundle_(include=["text/plain"])) == ["text/plain"]


@pytest.mark.slow
def test_of_many_features_the_first_twelve_are_drawn():
    X = np.random.default_rng(0).normal(size=(60, 50))
    effects = sd.explain(lambda X: X @ np.linspace(0, 1, 50), X, method=sd.ALE(bins=2))
    html = effects._repr_html_()
    seen = read(html)
    assert seen.seen.count("svg") == 12 + 1  # and the legend
    assert "Effects of 50 features, the 12 most important are drawn." in " ".join(seen.text)
    assert len(html) < 300_000
    assert effects.explore().html.count('class="skd-item"') == 50


def test_a_ranking_is_the_tuple_that_it_was(results):
    ranks = results["ranking"]
    assert isinstance(ranks, tuple)
    assert ranks == tuple(ranks)
    first, *others = ranks
    assert [first, *others] == list(ranks)
    again = pickle.loads(pickle.dumps(ranks))
    assert repr(again) == repr(ranks)  # NaN is not equal to itself
    assert type(again) is type(ranks)


# ------------------------------------------------------------------------------------- pages


EXPLORED = tuple(kind for kind in KINDS if kind not in TABLES)


@pytest.mark.parametrize("kind", EXPLORED)
def test_a_page_is_written_as_it_is_shown(results, asked, tmp_path, kind):
    calls, path = len(asked.seen), tmp_path / "new" / "page.html"
    shown = results[kind].explore(path)
    assert len(asked.seen) == calls
    assert path.read_text(encoding="utf-8") == shown.html
    seen = read(shown.html.removeprefix("<!doctype html>"))
    assert {"title", "main", "h1", "svg", "table", "script", "style"} <= set(seen.seen)
    assert seen.seen.count("h1") == 1
    assert ("lang", "en") in seen.attributes
    assert not any(name.startswith("on") or name == "style" for name, _ in seen.attributes)
    again = shown.save(tmp_path / "again.html")
    assert again.read_bytes() == path.read_bytes()


def test_a_page_in_a_notebook_is_a_frame_that_reaches_nothing(results):
    shown = results["effect"].explore()
    seen = read(shown._repr_html_())
    assert seen.seen == ["iframe"]
    frame = dict(seen.attributes)
    assert frame["srcdoc"] == shown.html
    assert frame["sandbox"] == "allow-scripts"
    assert frame["title"] == "a: effect on prediction (ALE)"
    assert int(frame["height"]) > 300


def test_a_folder_is_no_page(results, tmp_path):
    with pytest.raises(sd.DataError, match=r"got the folder .*expected a file.*html"):
        results["effect"].explore(tmp_path)


def test_titles_are_text(results):
    shown = results["effect"].explore(title=ATTACK)
    assert shown.title == ATTACK
    assert read(shown.html.removeprefix("<!doctype html>")).seen.count("script") == 1
    read(shown._repr_html_())


def test_options_are_those_of_the_plot(results, data):
    pdp = results["pdp"]
    few = pdp.explore(curves=5).html
    rows = re.findall(r'data-rows="([\d ]+)"', few)
    assert [len(r.split()) for r in rows] == [5]
    assert 'data-rows="' not in pdp.explore(ice=None).html
    assert "c = u" in pdp.explore(color=data["c"]).html
    assert "99 % interval" in pdp.explore(confidence_level=0.99).html
    with pytest.raises(sd.DataError, match="ice"):
        pdp.explore(ice="both")


@pytest.mark.slow
def test_pages_do_without_matplotlib():
    code = (
        "import sys, numpy as np, skedasis as sd\n"
        "X = np.random.default_rng(0).normal(size=(60, 2))\n"
        "es = sd.explain(lambda X: X[:, 0], X, method=sd.ALE(bins=2))\n"
        "es._repr_html_(), es.explore(), es['x0'].explore()\n"
        "print('matplotlib' in sys.modules, 'jinja2' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout.split() == ["False", "False"]
