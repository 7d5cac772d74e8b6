"""Reports of hostile input: a correct page, or an error that says what to do."""

import ast
import html
import json
import re

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.report.content import gather
from skedasis.report.findings import findings
from skedasis.report.format import ends

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


@pytest.mark.parametrize(
    "y", [np.ones(80), np.full(80, np.nan), np.where(np.arange(80) < 9, np.nan, 1.5), ["p"] * 80]
)
def test_labels_that_tell_little_make_a_page(y, X, tmp_path):
    done = sd.report(model, X, y, path=tmp_path / "r.html", **QUICK)
    assert "The quality of the predictions is not shown" in page_of(done) or "no R²" in page_of(
        done
    )


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
        re.sub(r"in \d+\.\d seconds|econds\">\d+\.\d\d</td>|\"seconds\":[\d.e-]+", "", p)
        for p in pages
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
    section = gather(lambda X: np.asarray(X)[:, 0], data, progress=False).sections[0]
    for one in findings(section):
        assert len(one.text) < 300


def test_what_has_no_bytes_is_replaced(tmp_path, X):
    data = pd.DataFrame({"a": X[:, 0], "b\x00": X[:, 1], "]]>": X[:, 2]})
    done = sd.report({"m\ud800": model}, data, path=tmp_path / "r.html", title="t\ud800", **QUICK)
    assert r'<h1 dir="auto">t\ud800</h1>' in page_of(done)


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
