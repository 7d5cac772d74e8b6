"""The documentation is correct: every code block runs as written, prints the output shown, and draws its figures."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import Any

import pytest

from tools.pages import ROOT, blocks, needs, pages, run

PAGES = pages()
MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"python", "text", "shell", "console", "r", "toml", "bibtex"}
KEPT = 100_000
"""Bytes of a picture, at most."""

TUTORIALS = {
    "README.md",
    "docs/explanation/errors.md",
    "docs/explanation/heterogeneity.md",
    "docs/explanation/importance.md",
    "docs/explanation/regions.md",
    "docs/gallery/index.md",
    "docs/guides/beyond-memory.md",
    "docs/guides/contrasts.md",
    "docs/guides/figures.md",
    "docs/guides/interactions.md",
    "docs/guides/ledger.md",
    "docs/guides/migrate.md",
    "docs/guides/pairs.md",
    "docs/guides/read-rhale.md",
    "docs/guides/regions.md",
    "docs/guides/reliability.md",
    "docs/guides/report.md",
    "docs/guides/scale.md",
    "docs/guides/speed.md",
    "docs/guides/uncertainty.md",
    "docs/index.md",
    "docs/models/gaussian-process.md",
    "docs/models/pipeline.md",
    "docs/models/save-compare.md",
    "docs/start.md",
}
"""Pages that run for several seconds: they fit models of real data, simulate, or write whole reports."""


def _name(path: Any) -> str:
    return path.relative_to(ROOT).as_posix()


def _case(path: Any) -> Any:
    asked = needs(path.read_text("utf-8"))
    marks = [pytest.mark.torch] if asked else []
    marks += [pytest.mark.slow] if _name(path) in TUTORIALS else []
    return pytest.param(path, id=_name(path), marks=marks)


def test_the_pages_that_are_slow_exist():
    assert {_name(path) for path in PAGES} >= TUTORIALS


@pytest.mark.many
@pytest.mark.parametrize("path", [_case(path) for path in PAGES])
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(path):
    for library in needs(path.read_text("utf-8")):
        if find_spec(library) is None:  # not imported, because Keras then chooses its backend
            pytest.skip(f"{library} is not installed")
        if library == "keras":  # one backend per process, as in tests/unit/test_keras.py
            os.environ.setdefault("KERAS_BACKEND", "torch")
    assert run(path) == []


@pytest.mark.many
@pytest.mark.parametrize("path", MARKDOWN, ids=_name)
def test_every_fence_is_code_of_a_known_language_and_none_is_hidden_from_the_run(path):
    text = path.read_text("utf-8")
    assert {block.language for block in blocks(text)} <= LANGUAGES
    # An indented fence would be displayed but never run.
    assert not re.search(r"^[ \t]+```python", text, re.MULTILINE)
    assert len(re.findall(r"^```python", text, re.MULTILINE)) == sum(
        block.language == "python" for block in blocks(text)
    )


@pytest.mark.parametrize("path", MARKDOWN, ids=_name)
def test_shell_lines_are_commands_that_exist(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for block in blocks(path.read_text("utf-8")):
        if block.language != "shell":
            continue
        for line in filter(
            None, (line.partition("#")[0].strip() for line in block.code.splitlines())
        ):
            words = line.removeprefix("$ ").split()
            assert words[0] in {"make", "pip", "python", "skedasis"} or "=" in words[0], line
            if words[0] == "make":
                assert words[1] in targets, line


@pytest.mark.parametrize("path", MARKDOWN, ids=_name)
def test_links_and_pictures_of_a_page_are_there(path):
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    made = {"papers.md", "changelog.md", "report.html", "RESULTS.md"}
    for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text):
        if target.startswith(("http", "mailto:")) or target.rpartition("/")[2] in made:
            continue
        assert (path.parent / target).exists(), target


@pytest.mark.many
@pytest.mark.parametrize("path", MARKDOWN, ids=_name)
def test_every_picture_says_what_is_to_be_seen(path):
    for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", path.read_text("utf-8")):
        assert len(alt) > 15, target


def test_every_picture_is_shown_and_small():
    shown = "\n".join(path.read_text("utf-8") for path in MARKDOWN)
    pictures = sorted((ROOT / "docs" / "images").rglob("*.png"))
    assert len(pictures) > 20
    for path in pictures:
        assert path.name in shown, path
        assert path.stat().st_size < KEPT, path


def test_every_page_is_within_reach():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"(\S+\.md)$", nav, re.MULTILINE)) - {"papers.md", "changelog.md"}
    there = {path.relative_to(ROOT / "docs").as_posix() for path in MARKDOWN[1:]}
    assert listed == there
