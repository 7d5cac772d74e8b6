"""The site: it builds without warnings, has every public name, loads nothing external, and works in a real browser.

All tests are slow, because all need the whole site.
"""

from __future__ import annotations

import functools
import html
import http.server
import inspect
import os
import re
import subprocess
import sys
import threading
import urllib.parse
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

import skedasis as sd
from skedasis import datasets
from tests.report.browser import DESKTOP, PHONE, Seen
from tools.pages import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_public_name_has_its_place_in_the_reference(site):
    text = "\n".join(p.read_text("utf-8") for p in sorted((site / "reference").glob("*.html")))
    anchors = set(re.findall(r'id="(skedasis\.[\w.]+)"', text))
    names = {name for name in sd.__all__ if name not in {"__version__", "datasets"}}
    assert {f"skedasis.{name}" for name in names} <= anchors
    assert {f"skedasis.datasets.{name}" for name in datasets.__all__} <= anchors


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("explain", "explain"),
        ("report", "report"),
        ("analysis", "diagnose"),
        ("analysis", "null_distribution"),
    ],
)
def test_a_signature_has_all_keywords_with_their_defaults(site, page, name):
    text = (site / "reference" / f"{page}.html").read_text("utf-8")
    plain = html.unescape(re.sub(r"<[^>]+>", "", text))
    shown = re.search(rf"^{name}\(\n(.*?)^\) ->", plain, re.MULTILINE | re.DOTALL)
    names = re.findall(r"^    (\w+)\b", shown[1], re.MULTILINE)
    assert names == list(inspect.signature(getattr(sd, name)).parameters)
    assert 'memory: int | str = "1GB"' in shown[1]
    assert "**" not in shown[1]


def test_formulas_are_drawn_by_the_browser_alone(site):
    pages = sorted((site / "explanation").glob("*.html"))
    text = "\n".join(page.read_text("utf-8") for page in pages)
    assert text.count("<math") > 50
    assert "arithmatex" not in text
    # Commands that the converter does not know would remain as LaTeX.
    assert not re.search(r"<m[io]>\\", text)


def test_no_page_asks_for_anything_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        for address in re.findall(r'(?:src|href)="(https?:[^"]+)"', text):
            tag = text[text.rfind("<", 0, text.find(address)) : text.find(address)]
            # An address of the page itself is not asked for.
            assert tag.startswith(("<a ", '<link rel="canonical"')), f"{page.name}: {tag}{address}"


@pytest.fixture(scope="module")
def server(site):
    """Serve the site, because browsers block the search script on pages opened from a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *said):
            pass

    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()


@pytest.fixture
def opened(browser, server):
    """Open pages of the site, and record external requests and all messages."""
    contexts = []

    def at(page, size=DESKTOP, scheme="light"):
        width, height = size
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        seen = Seen(context.new_page())
        seen.page.on("console", lambda said: seen.console.append(f"{said.type}: {said.text}"))
        seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.page.on(
            "request",
            lambda asked: (
                None
                if asked.url.startswith((server, "data:", "blob:"))
                else seen.requests.append(asked.url)
            ),
        )
        seen.page.goto(f"{server}/{page}", wait_until="networkidle")
        return seen

    yield at
    for context in contexts:
        context.close()


KINDS = (
    "index.html",
    "start.html",
    "guides/which-method.html",
    "explanation/heterogeneity.html",
    "reference/results.html",
    "gallery/index.html",
    "notebooks/bikes.html",
    "papers.html",
)
"""A page of each kind."""


@pytest.mark.parametrize(
    ("scheme", "page"),
    [
        *(("light", page) for page in KINDS),
        # Darkness changes colours alone: a page of text and one of pictures have them all.
        *(("dark", page) for page in ("index.html", "gallery/index.html")),
    ],
)
def test_a_page_is_quiet_and_everybody_can_read_it(opened, page, scheme):
    seen = opened(page, scheme=scheme)
    assert seen.noise == []
    assert seen.violations() == []


def test_code_can_be_scrolled_by_the_keyboard_before_any_script_has_run(site):
    pages = "\n".join(path.read_text("utf-8") for path in site.rglob("*.html"))
    seen = set(re.findall(r"<pre[^>]*>(?:<span></span>)?<code[^>]*>", pages))
    assert seen
    assert all('tabindex="0"' in tag for tag in seen), seen


@pytest.mark.parametrize("page", KINDS)
def test_a_page_fits_a_phone(opened, page):
    assert opened(page, size=PHONE).beyond <= 0


def test_every_picture_of_the_site_is_one(site):
    seen = 0
    for page in site.rglob("*.html"):
        for source in re.findall(r'<img[^>]+?src="([^"]+)"', page.read_text("utf-8")):
            if source.startswith("data:"):
                continue
            seen += 1
            picture = page.parent / urllib.parse.unquote(source)
            if picture.suffix == ".svg":
                assert ET.parse(picture).getroot().tag.endswith("svg"), picture
            else:
                with Image.open(picture) as opened_picture:
                    opened_picture.verify()
    assert seen > 50


def test_the_browser_draws_every_picture_of_the_gallery(opened):
    broken = opened("gallery/index.html").page.evaluate(
        "() => [...document.images].filter(i => { i.loading = 'eager'; return i.complete && !i.naturalWidth })"
        ".map(i => i.src)"
    )
    assert broken == []


def test_a_reader_finds_what_is_searched_for(opened):
    seen = opened("index.html")
    seen.page.locator("input.md-search__input").click()
    seen.page.locator("input.md-search__input").press_sequentially("heterogeneity")
    seen.page.locator(".md-search-result__link").first.wait_for()
    assert "heterogeneity" in seen.page.locator(".md-search-result__list").inner_text().lower()


def test_the_live_report_is_there(opened):
    seen = opened("gallery/report.html")
    assert seen.page.locator("svg.skd").count() > 5
    assert seen.noise == []
