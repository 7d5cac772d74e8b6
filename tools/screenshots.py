"""Take screenshots of reports, to look at them after a change: ``python -m tools.screenshots``.

    python -m tools.screenshots                           # all pictures, into build/screenshots
    python -m tools.screenshots --folder /tmp/pictures
    python -m tools.screenshots --docs                    # the pictures of docs/guides/report.md

The first screen in light and dark, on a phone and on paper; the section of a feature with regions; three models on the
same axes; a classifier with three classes. The table is that of hourly bicycle rentals, if `skedasis.datasets` finds
its file, else scikit-learn's diabetes data. With `--docs`, the pages are those that the code of the guide writes.

It needs playwright and Chromium, as the tests of pages do, and pdftoppm (poppler-utils) for the picture of a printed
page; without pdftoppm, that picture shows the page with the style of paper.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from sybil import Document

import skedasis as sd
from skedasis import datasets
from skedasis.errors import DataError
from tools.pages import ROOT, code, shrunk

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from skedasis.report.report import Report

SCREEN, PHONE, PAPER = (1300, 900), (390, 844), (794, 1123)
"""Windows in CSS pixels; the last one is A4 at 96 dots per inch."""

TALL = (1300, 1400)
"""A window that holds the section of a feature."""

ROWS = 3000
"""Most rows that a report explains, so that all pictures take less than two minutes."""

COLOURS = 128
"""Of a picture of the documentation, which stays small."""

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
"""Of Chromium; containers have no user namespaces for its sandbox."""

SETTLED = 400
"""Milliseconds after which the figures that scroll into view are drawn."""


@dataclass(frozen=True)
class Picture:
    """A screenshot of a report: `at` is the id of the element at the top, `choose` the value of a switch's position."""

    name: str
    page: str
    window: tuple[int, int] = SCREEN
    at: str = ""
    dark: bool = False
    choose: str = ""


PICTURES = (
    Picture("first-light", "one"),
    Picture("first-dark", "one", dark=True),
    Picture("first-phone", "one", PHONE),
    Picture("where", "one", at="where"),
    Picture("regions", "one", TALL, at="regions"),
    Picture("models-first", "models"),
    Picture("models-feature", "models", at="feature-1"),
    Picture("classes-first", "classes"),
    Picture("classes-second", "classes", choose="o2"),
    Picture("classes-feature", "classes", TALL, at="feature-1"),
)
PRINTED = "print"
"""Name of the printed page one, and of the whole paper as PDF."""

GUIDE = ROOT / "docs" / "guides" / "report.md"
DOCS = ROOT / "docs" / "images"
IN_DOCS = (
    Picture("report", "report"),
    Picture("report/regions", "report", (1300, 1100), at="feature-1"),
    Picture("report/models", "models"),
)
"""Pictures of the guide; a page is the name of a file that its code writes."""


# ------------------------------------------------------------------------------------- the pages
def make_reports(folder: Path, data: datasets.RealDataset) -> dict[str, Report]:
    """Return reports of one model, of three models, and of a classifier."""
    from sklearn.datasets import load_wine
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(data.X, data.y, random_state=0)
    X_test, y_test = X_test[:ROWS], y_test[:ROWS]
    models = {
        "boosting": HistGradientBoostingRegressor(random_state=0),
        "forest": RandomForestRegressor(50, min_samples_leaf=10, random_state=0),
        "linear": LinearRegression(),
    }
    unit = data.units.get(data.target)
    quantities = {
        name: sd.prediction(model.fit(X, y), name=data.target, unit=unit)
        for name, model in models.items()
    }
    wine = train_test_split(
        *load_wine(return_X_y=True, as_frame=True), test_size=0.5, random_state=0
    )
    W, W_test, kind, kind_test = wine
    classifier = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(W, kind)
    every = sd.probability(classifier, class_="all")
    return {
        "one": sd.report(quantities["boosting"], X_test, y_test, folder / "one.html"),
        "models": sd.report(quantities, X_test, y_test, folder / "models.html"),
        "classes": sd.report(every, W_test, kind_test, folder / "classes.html"),
    }


def find_data() -> datasets.RealDataset:
    """Return the table of bicycle rentals if its file is there, else one that needs no file."""
    try:
        return datasets.load("bike_sharing_hour", download=False)
    except DataError:
        return datasets.load_diabetes()


def section_with_regions(report: Report) -> str:
    """Return the id of the section of the most important feature with regions, or else of the first feature."""
    regions = report.content.sections[0].regions
    at = next((k for k, f in enumerate(report.content.features) if len(regions.get(f, ())) > 1), 0)
    return f"feature-{at + 1}"


@contextlib.contextmanager
def pages_of_the_guide() -> Generator[dict[str, Path]]:
    """Run the code of docs/guides/report.md in an empty folder, and return the pages that it writes by their names."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for example in Document.parse(str(GUIDE), code):
            with contextlib.redirect_stdout(None):
                example.evaluate()
        yield {path.stem: path for path in Path(folder).glob("*.html")}


# ---------------------------------------------------------------------------------- the pictures
def take(browser: Browser, page: Path, picture: Picture, at: str) -> Image.Image:
    """Return the screenshot of a page."""
    width, height = picture.window
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if picture.dark else "light",
    )
    seen = context.new_page()
    seen.goto(page.resolve().as_uri() + (f"#{at}" if at else ""))
    if picture.choose:
        seen.locator(f"label:has(input[value='{picture.choose}'])").click()
    seen.wait_for_timeout(SETTLED)
    taken = seen.screenshot()
    context.close()
    return Image.open(io.BytesIO(taken))


def print_page(browser: Browser, page: Path, folder: Path) -> list[Path]:
    """Write a page as PDF, and its first sheet as PNG; return both paths."""
    pdf, png = folder / f"{PRINTED}.pdf", folder / f"{PRINTED}.png"
    width, height = PAPER
    context = browser.new_context(viewport={"width": width, "height": height})
    seen = context.new_page()
    seen.goto(page.resolve().as_uri())
    seen.wait_for_timeout(SETTLED)
    seen.pdf(path=str(pdf), format="A4")
    pdftoppm = shutil.which("pdftoppm")
    if pdftoppm is None:
        seen.emulate_media(media="print")
        seen.screenshot(path=str(png))
    else:
        sheet = ["-png", "-singlefile", "-f", "1", "-scale-to-x", str(width), "-scale-to-y"]
        command = [pdftoppm, *sheet, str(height), str(pdf), str(png.with_suffix(""))]
        subprocess.run(command, check=True)
    context.close()
    return [pdf, png]


def take_all(browser: Browser, reports: Mapping[str, Report], folder: Path) -> list[Path]:
    """Write all pictures into a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for picture in PICTURES:
        report = reports[picture.page]
        at = section_with_regions(report) if picture.at == "regions" else picture.at
        made.append(folder / f"{picture.name}.png")
        take(browser, report.path, picture, at).save(made[-1])
    return [*made, *print_page(browser, reports["one"].path, folder)]


def take_for_docs(browser: Browser, pages: Mapping[str, Path]) -> list[Path]:
    """Write the pictures of the guide into docs/images, with few colours, and return their paths."""
    made: list[Path] = []
    for picture in IN_DOCS:
        made.append(DOCS / f"{picture.name}.png")
        made[-1].parent.mkdir(exist_ok=True)
        taken = take(browser, pages[picture.page], picture, picture.at)
        made[-1].write_bytes(shrunk(taken, COLOURS))
    return made


# ----------------------------------------------------------------------------------- the command
def chromium_path() -> str | None:
    """Return the path of Chromium: `SKEDASIS_CHROMIUM`, or the first one on the path."""
    named = os.environ.get("SKEDASIS_CHROMIUM")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    return next(filter(None, map(shutil.which, names)), None)


@contextlib.contextmanager
def started() -> Generator[Browser]:
    """Start Chromium, and close it at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        yield browser
        browser.close()


def missing() -> str:
    """Return what is missing for screenshots and how to get it; empty if nothing is."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed. Run: .venv/bin/python -m pip install playwright"
    if chromium_path() is None:
        return (
            "Chromium was not found. Install it (Debian: apt-get install chromium), or set "
            "SKEDASIS_CHROMIUM to its path."
        )
    return ""


def main(arguments: Iterable[str] | None = None) -> int:
    """Take the screenshots; return the exit code."""
    reader = argparse.ArgumentParser(
        prog="python -m tools.screenshots", description="Screenshots of reports."
    )
    reader.add_argument("--folder", type=Path, default=ROOT / "build" / "screenshots")
    reader.add_argument(
        "--docs", action="store_true", help="renew the pictures of docs/guides/report.md"
    )
    options = reader.parse_args(None if arguments is None else list(arguments))
    if problem := missing():
        print(problem, file=sys.stderr)
        return 1
    # Pages are written before the browser starts: it would only wait for them.
    with pages_of_the_guide() if options.docs else tempfile.TemporaryDirectory() as made:
        if isinstance(made, dict):
            with started() as browser:
                pictures = take_for_docs(browser, made)
        else:
            reports = make_reports(Path(made), find_data())
            with started() as browser:
                pictures = take_all(browser, reports, options.folder)
    for path in pictures:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
