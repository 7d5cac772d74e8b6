"""A real browser for tests: Chromium, driven by Playwright, with a record of a page's messages and requests.

A test uses the fixture `visit` and opens pages with it:

    def test_it_is_quiet(visit, tmp_path):
        seen = visit(tmp_path / "page.html", dark=True, phone=True)
        seen.page.locator("svg").hover()
        assert seen.noise == []

`visit` takes a path or the text of a page; `seen.page` is Playwright's. Without a browser or Playwright, tests that
need it are skipped with the reason.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox",  # containers have no user namespaces
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = (1280, 900), (375, 720)
"""Width and height of windows in CSS pixels."""


def chromium_path() -> str | None:
    """Return the path of Chromium: `SKEDASIS_CHROMIUM`, or the first one on the path."""
    named = os.environ.get("SKEDASIS_CHROMIUM")
    if named:
        return shutil.which(named)
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for found in map(shutil.which, names) if found), None)


@dataclass
class Seen:
    """An open page, with its messages and requests so far.

    Parameters
    ----------
    page : playwright.sync_api.Page
    console, errors : list of str
        Messages of any kind; uncaught exceptions.
    requests : list of str
        Requested addresses, except the page itself and its own parts (``data:``, ``about:``).
    """

    page: Any
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def noise(self) -> list[str]:
        """Return all messages, errors and requests; a well-behaved page has none."""
        return [*self.console, *self.errors, *self.requests]

    @property
    def beyond(self) -> int:
        """Return the number of pixels by which the page is wider than its window."""
        return self.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def picture(self, path: str | Path, *, whole: bool = True) -> Path:
        """Write a screenshot of the whole page or of the visible part as PNG, and return its path."""
        self.page.screenshot(path=str(path), full_page=whole)
        return Path(path)

    def violations(self) -> list[str]:
        """Return axe-core's serious and critical violations: one line per rule and element."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        found = axe.Axe().run(self.page).response["violations"]
        return [
            f"{v['id']} ({v['impact']}): {node['html'][:200]} {node.get('failureSummary', '')}"
            for v in found
            if v["impact"] in ("serious", "critical")
            for node in v["nodes"]
        ]


class Visits:
    """Opens pages, each in a context of its own, and closes them at the end of a test."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.contexts: list[Any] = []

    def __call__(
        self,
        page: str | Path,
        *,
        dark: bool = False,
        phone: bool = False,
        touch: bool | None = None,
        size: tuple[int, int] | None = None,
        scripts: bool = True,
        **context: Any,
    ) -> Seen:
        """Open a page.

        Parameters
        ----------
        page : Path or str
            A file, or the text of a page, which is written to a file.
        dark : bool
            Whether the reader prefers dark pages.
        phone : bool
            A phone's width and, unless `touch` is given, its touch screen.
        touch : bool, optional
        size : (int, int), optional
            Of the window in CSS pixels.
        scripts : bool
            False to disable scripts.
        **context
            Of Playwright's `Browser.new_context`, such as ``reduced_motion="reduce"`` or ``forced_colors="active"``.

        Returns
        -------
        Seen
            When the page has loaded.
        """
        if isinstance(page, str):
            path = self.folder / f"page-{len(self.contexts)}.html"
            path.write_text(page, encoding="utf-8")
            page = path
        width, height = size or (PHONE if phone else DESKTOP)
        opened = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=phone if touch is None else touch,
            java_script_enabled=scripts,
            **context,
        )
        self.contexts.append(opened)
        address = page.resolve().as_uri()
        seen = Seen(opened.new_page())
        seen.page.on("console", lambda said: seen.console.append(f"{said.type}: {said.text}"))
        seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.page.on("request", lambda asked: _note(seen.requests, asked.url, address))
        seen.page.goto(address)
        return seen

    def close(self) -> None:
        """Close all pages."""
        for context in self.contexts:
            context.close()


def _note(requests: list[str], url: str, page: str) -> None:
    if url.split("#", maxsplit=1)[0] != page and not url.startswith(("data:", "about:", "blob:")):
        requests.append(url)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium once, or skip."""
    path = chromium_path()
    if path is None:
        pytest.skip("Chromium is not installed (see SKEDASIS_CHROMIUM)")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright, which drives the browser, is not installed"
    )
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visits]:
    """A function that opens pages; see the module."""
    visits = Visits(browser, tmp_path)
    yield visits
    visits.close()
