"""The documentation is correct: every code block runs as written, prints the output shown, and draws its figures."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import Any

import pytest

from tools.pages import ROOT, fences, needs, pages, run

MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"python", "text", "shell", "console", "toml", "bibtex"}
KEPT = 100_000
"""Bytes of a picture, at most."""

QUICK = ("docs/guides/bins.md", "docs/reference/results.md")
"""Pages that run in a second. All others are slow: they fit models of real data, simulate, or write whole reports."""


def _name(path: Any) -> str:
    return path.relative_to(ROOT).as_posix()


def _case(path: Any) -> Any:
    return pytest.param(path, id=_name(path), marks=[pytest.mark.slow] * (_name(path) not in QUICK))


@pytest.mark.parametrize("path", [_case(path) for path in pages()])
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(path):
    for library in needs(path.read_text("utf-8")):
        if find_spec(library) is None:  # not imported, because Keras then chooses its backend
            pytest.skip(f"{library} is not installed")
        if library == "keras":  # one backend per process, as in tests/unit/test_keras.py
            os.environ.setdefault("KERAS_BACKEND", "torch")
    assert run(path) == []


PAGE = """
```python
print(7)
```

```text
8
```

```python
from matplotlib.figure import Figure
Figure(figsize=(1, 1))
```

![A square](square.png)
"""


def test_outputs_that_differ_are_named_and_written_with_the_figures(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    assert run(path) == ["page.md:2 prints\n7\n", f"page.md:10 draws no {tmp_path}/square.png"]
    assert run(path, write=True) == ["page.md:2 prints\n7\n"]
    assert path.read_text("utf-8") == PAGE.replace("8", "7")
    assert (tmp_path / "square.png").read_bytes().startswith(b"\x89PNG")
    assert run(path) == []


def test_every_fence_is_code_of_a_known_language_and_none_is_hidden_from_the_run():
    for path in MARKDOWN:
        text = path.read_text("utf-8")
        assert {block.lexemes["language"] for block in fences(text)} <= LANGUAGES, path
        # An indented fence would be displayed but never run.
        assert not re.search(r"^[ \t]+```python", text, re.MULTILINE), path
        assert 2 * len(fences(text)) == len(re.findall(r"^```", text, re.MULTILINE)), path


def test_shell_lines_are_commands_that_exist():
    for path in MARKDOWN:
        for block in fences(path.read_text("utf-8")):
            for line in block.lexemes["source"].splitlines():
                if block.lexemes["language"] == "shell" and (said := line.partition("#")[0]):
                    first = said.removeprefix("$ ").split()[0]
                    assert first in {"make", "pip", "python", "skedasis"} or "=" in first, line


def test_links_and_pictures_of_a_page_are_there_and_pictures_say_what_is_to_be_seen():
    made = {"papers.md", "changelog.md", "report.html", "RESULTS.md"}
    for path in MARKDOWN:
        text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text):
            if not target.startswith(("http", "mailto:")) and target.rpartition("/")[2] not in made:
                assert (path.parent / target).exists(), (path, target)
        for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text):
            assert len(alt) > 15, (path, target)


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
