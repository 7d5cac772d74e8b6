"""Reports of hostile input: a correct page, or an error that says what to do."""

import ast
import html
import json
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import skedasis as sd
from skedasis.report import text as report_text
from skedasis.report.content import gather
from skedasis.report.format import ends, named

QUICK = {"pairs": 0, "regions": False, "uncertainty": False, "progress": False}


def model(X):
    return np.asarray(X)[:, 0] * np.asarray(X)[:, 1]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(80, 3))


def page_of(done):
    return done.path.read_text("utf-8").split("<body")[1]


# ------------------------------------------------------------------------------------------ paths


@pytest.mark.parametrize("path", ["a\0b.html", "x" * 300, 3, None])
def test_what_is_no_path_is_refused_before_the_work(path):
    def never(X):
        raise AssertionError

    with pytest.raises(sd.DataError, match=r"report\(path\)"):
        sd.report(never, np.zeros((3, 1)), path=path, **QUICK)


def test_a_path_below_a_file_is_refused(tmp_path, X):
    (tmp_path / "file").write_text("")
    with pytest.raises(sd.DataError, match="below the file"):
        sd.report(model, X, path=tmp_path / "file" / "deep" / "r.html", **QUICK)
    with pytest.raises(sd.DataError, match="the folder"):
        sd.report(model, X, path=tmp_path, **QUICK)


def test_folders_are_made(tmp_path, X):
    path = tmp_path / "<i>" / "ב" / "r.html"
    assert sd.report(model, X, path=path, **QUICK).path.exists()


@pytest.mark.parametrize("name", ["rows", "uncertainty"])
def test_what_is_to_be_left_out_is_asked_for_by_a_bool(name, X, tmp_path):
    with pytest.raises(sd.DataError, match=rf"report\({name}\)"):
        sd.report(model, X, path=tmp_path / "r.html", **{**QUICK, name: "no"})


# ------------------------------------------------------------------------------------------- data


def test_features_without_a_value_are_named_and_left_out(tmp_path, X):
    data = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    data["void"], data["none"] = np.nan, pd.Series([None] * len(X), dtype=object)
    data["cat"] = pd.Categorical([None] * len(X), categories=["u"])
    done = sd.report(lambda X: X["a"] * X["b"], data, path=tmp_path / "r.html", **QUICK)
    assert list(next(iter(done.effects.values()))["RHALE"]) == ["a", "b"]
    assert "Left out because they have no value in any row: void, none and cat." in page_of(done)
    with pytest.raises(sd.DataError, match="only missing values"):
        gather(lambda X: X["a"], data, features=["void"], progress=False)
    with pytest.raises(sd.DataError, match="only missing values"):
        gather(lambda X: np.zeros(len(X)), data[["void"]], progress=False)


@pytest.mark.parametrize(
    "answer",
    [
        lambda X: np.zeros(len(X)),
        lambda X: np.floor(3 * X[:, 0]).astype(int),
        pytest.param(lambda X: X[:, 0] > 0, marks=pytest.mark.slow),
        pytest.param(lambda X: model(X).astype(np.float32), marks=pytest.mark.slow),
        pytest.param(lambda X: model(X)[:, None], marks=pytest.mark.slow),
        lambda X: model(X) + 1e12,
    ],
    ids=["constant", "whole", "bool", "float32", "column", "offset"],
)
def test_answers_of_any_type_make_a_page(answer, X, tmp_path):
    done = sd.report(answer, X, X[:, 2], path=tmp_path / "r.html", **{**QUICK, "regions": True})
    text = html.unescape(re.sub(r"<[^>]+>", " ", page_of(done)))
    assert not re.search(r"(?<![\w.=])(nan|inf)(?![\w.])", text)
    assert not re.search(r"[\w-]+=\"[^\"]*\\bnan\\b", page_of(done))


@pytest.mark.many
@pytest.mark.parametrize(
    "y", [np.ones(80), np.full(80, np.nan), np.where(np.arange(80) < 9, np.nan, 1.5), ["p"] * 80]
)
def test_labels_that_tell_little_make_a_page(y, X, tmp_path):
    done = sd.report(model, X, y, path=tmp_path / "r.html", **QUICK)
    assert "The quality of the predictions is not shown" in page_of(done) or "no R²" in page_of(
        done
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_frames_of_other_libraries_give_the_same_page(kind, X, tmp_path):
    library = pytest.importorskip(kind)
    columns = {c: X[:, k] for k, c in enumerate("abc")}
    frame = library.DataFrame(columns) if kind == "polars" else library.table(columns)

    def called(X):
        return np.asarray(X["a"]) * np.asarray(X["b"])

    pages = [
        page_of(sd.report(called, data, path=tmp_path / "r.html", title="t", **QUICK))
        for data in (pd.DataFrame(columns), frame)
    ]
    first, second = (
        re.sub(r"<details class=\"provenance.*?</details>", "", p, flags=re.DOTALL) for p in pages
    )
    seconds = re.compile(r"in \d+\.\d seconds|\"seconds\":[\d.e-]+")
    assert seconds.sub("", first) == seconds.sub("", second)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_page(tmp_path, X):
    pages = [
        page_of(
            sd.report(
                model, X, X[:, 2], path=tmp_path / "r.html", pairs=0, random_state=s, progress=False
            )
        )
        for s in (3, 3, 4)
    ]
    bare = [
        re.sub(r"in \d+\.\d seconds|<td>\d+\.\d\d</td>|\"seconds\":[\d.e-]+", "", p) for p in pages
    ]
    assert bare[0] == bare[1]
    assert bare[0] != bare[2]


# ------------------------------------------------------------------------------- rows of the data


@pytest.mark.slow
def test_no_value_of_a_row_is_on_a_page_without_rows(tmp_path):
    # Values have six digits, so none is found by chance. Edges of bins and grids may be data values: extremes,
    # quantiles.
    rng = np.random.default_rng(0)
    X = rng.choice(np.arange(100_000, 1_000_000), (300, 2), replace=False).astype(float)
    secret = {f"{v:.0f}" for column in X.T for v in np.sort(column)[1:-1]}

    def found(rows):
        done = sd.report(
            lambda X: X[:, 0] / 1e5 * X[:, 1] / 1e5,
            X,
            path=tmp_path / "r.html",
            rows=rows,
            uncertainty=False,
            progress=False,
        )
        text = html.unescape(page_of(done)).replace(",", "")
        shown = set(re.findall(r"(?<![\d.])\d{6}(?![\d.])", text))
        kept = {f"{p:.0f}" for e in done.effects["function"]["RHALE"].values() for p in e.x}
        for method in ("ALE", "PDP"):
            kept |= {f"{p:.0f}" for e in done.effects["function"][method].values() for p in e.x}
        return (shown & secret) - kept, page_of(done)

    hidden, bare = found(rows=False)
    assert not hidden
    for trace in ("data-rows", 'class="curves', 'class="rug', 'class="violin'):
        assert trace not in bare
    assert "data-rows" in found(rows=True)[1]


# ------------------------------------------------------------------------------------------ names


def test_long_names_are_short_in_sentences_and_whole_in_headings(tmp_path, X):
    long = "y" * 500
    data = pd.DataFrame({long: X[:, 0], "b": X[:, 1]})
    done = sd.report(
        {"m" * 500: lambda X: np.asarray(X)[:, 0]}, data, path=tmp_path / "r.html", **QUICK
    )
    page = page_of(done)
    heading = re.search(r"<h3 id=\"feature-1-name\".*?</h3>", page)[0]
    assert long in heading
    labels = re.findall(r"aria-label=\"([^\"]*)\"", page)
    assert max(map(len, labels)) < 150
    for sentence in report_text.summary(
        gather(lambda X: np.asarray(X)[:, 0], data, progress=False).sections[0]
    ):
        assert len(sentence) < 300


def test_what_has_no_bytes_is_replaced(tmp_path, X):
    data = pd.DataFrame({"a": X[:, 0], "b\x00": X[:, 1], "]]>": X[:, 2]})
    done = sd.report({"m\ud800": model}, data, path=tmp_path / "r.html", title="t\ud800", **QUICK)
    assert r'<h1 dir="auto">t\ud800</h1>' in page_of(done)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "two\nlines", "y" * 500])
def test_the_page_names_what_an_effect_depends_on_once_for_each_part(tmp_path, name):
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    data = pd.DataFrame(X, columns=["a", name, "c"])
    done = sd.report(
        lambda X: model(X) + np.asarray(X)[:, 2], data, path=tmp_path / "r.html", **QUICK
    )
    page = page_of(done)
    assert "<script>alert" not in page
    shown = html.escape(named(name), quote=False)
    first, *sections = page.split('<section class="feature')
    first = re.sub(r"<desc.*?</desc>", "", first, flags=re.DOTALL)  # repeats a figure's texts
    assert len(re.findall(rf"mostly by {re.escape(shown)} \(\d+ %( ± \S+ %)?\)", first)) == 1
    (said,) = [s for s in sections if f"ostly by {shown} (" in s]
    assert said.count(f"ostly by {shown} (") == 1
    assert "sd.regions(…)" in said
    assert page.count(">Mostly by<") == 1
    cell = html.escape(named(name, 30), quote=False)
    assert re.search(rf'<td data-value="0\.\d+">{re.escape(cell)} \d+ %</td>', page)
    done.to_json(tmp_path / "r.json")
    (values,) = json.loads((tmp_path / "r.json").read_text())["models"]
    assert values["features"]["a"]["depends_on"]["name"] == name
    assert values["features"]["c"]["depends_on"] is None


def test_isolates_are_closed_on_a_page_of_hostile_names(tmp_path, X):
    names = ["עברית", "العمر", "<script>alert(1)</script>"]
    data = pd.DataFrame(X, columns=names)
    done = sd.report(
        {"נ": lambda X: model(X) + np.asarray(X)[:, 2]},
        data,
        path=tmp_path / "r.html",
        progress=False,
    )
    for element in re.findall(r">([^<]*)<", page_of(done)):
        assert element.count("\u2068") == element.count("\u2069")
    assert "\u2068" in page_of(done)
    assert "<script>alert" not in page_of(done)


HOSTILE = ["גיל", "עיר", "\x1b[31mred\x00", "a\u202eb\u2066"]
ORDER = """
() => {
  // The words of each text on the page, as they are written and from left to right as they are drawn.
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("script, style, template, desc, title")) continue;
    const places = [...node.data.matchAll(/[^\\s\u2068\u2069]+/g)].map(word => {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const box = range.getBoundingClientRect();
      return {word: word[0], x: box.left, width: box.width};
    }).filter(place => place.width);
    const words = list => list.map(place => place.word).join(" ");
    found.push([words(places), words(places.sort((a, b) => a.x - b.x))]);
  }
  return found;
}
"""


def hostile_frame():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 4))
    data = pd.DataFrame(X, columns=HOSTILE)
    data["עיר"] = np.where(X[:, 1] > 0, "חיפה", "\x1b[2Jb")
    return data


def of_hostile_frame(X):
    return X["גיל"] * X[HOSTILE[2]] + (X["עיר"] == "חיפה") * X[HOSTILE[3]] + X[HOSTILE[3]]


def words_as_drawn(seen):
    """Return the texts of a page, whose words must be drawn in the order in which they are written."""
    seen.page.add_style_tag(content="* { white-space: nowrap !important }")
    for fold in seen.page.locator("details").all():
        fold.evaluate("e => e.open = true")
    lines = seen.page.evaluate(ORDER)
    assert [pair for pair in lines if pair[0] != pair[1]] == []
    return [drawn for _, drawn in lines]


def test_figures_tables_and_notebooks_escape_control_characters_and_keep_the_order(visit, tmp_path):
    data = hostile_frame()
    effects = sd.explain(of_hostile_frame, data)
    pages = [effects.explore(tmp_path / "e.html").html]
    shown = (
        effects["עיר"],
        effects.ranking(),
        effects.checks(),
        sd.regions(of_hostile_frame, data, "גיל"),
        sd.explain(of_hostile_frame, data, ("גיל", HOSTILE[2])),
        sd.interactions(of_hostile_frame, data),
        sd.change(of_hostile_frame, data, {"גיל": 0.1}),
    )
    pages += ["<!doctype html><meta charset='utf-8'>" + result._repr_html_() for result in shown]
    for text in pages:
        assert not set(text) & set("\x00\x1b\u202e\u2066")
        seen = visit(text, size=(1400, 900), bypass_csp=True)
        assert any("גיל" in line or "עיר" in line for line in words_as_drawn(seen))
    figure = effects.plot()
    said = [t.get_text() for t in figure.findobj(Text)]
    assert not set("".join(said)) & set("\x00\x1b\u202e\u2066")
    assert r"3. \x1b[31mred\x00" in said
    marks = ("\u2068", "\u2069") if mpl.__version_info__ >= (3, 11) else ("", "")
    assert "2. {}גיל{}".format(*marks) in said


def test_control_characters_are_escaped_and_names_do_not_turn_a_sentence(visit, tmp_path):
    """Without isolates Chromium draws "falls by 1.5 from 1− to 0.99 :גיל" and the like."""
    title = "model \u202ex עיר"
    done = sd.report(
        of_hostile_frame, hostile_frame(), path=tmp_path / "r.html", title=title, progress=False
    )
    text = done.path.read_text("utf-8")
    assert not set(text) & set("\x00\x1b\u202e\u2066")
    assert r"\x1b[31mred\x00" in text
    seen = visit(done.path, size=(1400, 900), bypass_csp=True)
    drawn = words_as_drawn(seen)
    assert any("where גיל > " in line for line in drawn)
    assert any(re.match("גיל : effect on", line) for line in drawn)
    data = json.loads(seen.page.evaluate("() => document.getElementById('data').textContent"))
    assert sorted(data["data"]["features"]) == sorted(HOSTILE)
    code = "".join(seen.page.locator("details.code code").all_text_contents())
    called = {ast.literal_eval(name) for name in re.findall(r"model, X, ('[^']*'), method", code)}
    assert called == set(HOSTILE)
    assert seen.noise == []


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0352, 0.268, "0.04 – 0.27"),
        (-0.5, 0.5, "−0.5 – 0.5"),
        (1.0, 1.0, "1.00 – 1.00"),
        (0.0, 1e-12, "0 – ≈ 0"),
        (1_234_567.0, 2_345_678.0, "1,200,000 – 2,300,000"),
    ],
)
def test_ends_have_the_digits_that_their_width_is_worth(low, high, text):
    assert ends(low, high, max(abs(low), abs(high), 1.0)) == text


def test_ends_never_lose_an_interval():
    rng = np.random.default_rng(0)
    for _ in range(300):
        low = rng.normal() * 10 ** rng.uniform(-4, 8)
        high = low + 10 ** rng.uniform(-4, 8)
        first, last = ends(low, high, 0.0).replace(",", "").replace("−", "-").split(" – ")
        assert abs(float(first) - low) <= 0.1 * (high - low)
        assert abs(float(last) - high) <= 0.1 * (high - low)


@pytest.mark.slow
def test_every_pair_of_outer_settings_makes_a_page(tmp_path, X):
    # Any two of the settings occur in each of their four combinations.
    settings = ((0, True, True), (0, False, False), (1, True, False), (1, False, True))
    for pairs, rows, uncertain in settings:
        done = sd.report(
            model,
            X,
            path=tmp_path / "r.html",
            pairs=pairs,
            rows=rows,
            uncertainty=uncertain,
            regions=False,
            progress=False,
        )
        assert ('id="pairs"' in page_of(done)) == (pairs > 0)
