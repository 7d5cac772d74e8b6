"""What MkDocs does not do by itself: formulas as MathML, and pages that are made from files elsewhere.

MkDocs calls these by their names (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import contextlib
import html
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIVE = "gallery/report.html"

WIDE = 4
"""Columns of a table beyond which it may have to scroll."""
_TABLE = re.compile(r"<table>.*?</thead>", re.DOTALL)
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAYED = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the papers' results with their figures, the changes, and a live report."""
    from mkdocs.structure.files import File, InclusionLevel

    results = (ROOT / "experiments" / "RESULTS.md").read_text("utf-8")
    pages = {"papers.md": results, "changelog.md": (ROOT / "CHANGELOG.md").read_text("utf-8")}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "experiments" / "results").rglob("*")):
        if path.suffix in {".png", ".md"}:
            place = path.relative_to(ROOT / "experiments").as_posix()
            seen = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, place, abs_src_path=str(path), inclusion=seen))
    files.append(File.generated(config, LIVE, content=live()))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Turn formulas into MathML, which browsers draw without a script, and let the keyboard reach wide tables."""
    return _TABLE.sub(_reachable, formulas(html))


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search dialog, which screen readers would announce as nothing."""
    nameless = 'data-md-component="search" role="dialog"'
    return output.replace(nameless, f'{nameless} aria-label="Search"')


def formulas(text: str) -> str:
    r"""Return HTML whose formulas are MathML.

    Examples
    --------
    >>> formulas(r'<span class="arithmatex">\(a_1\)</span>').count("<msub>")
    1
    """
    text = _INLINE.sub(lambda found: _mathml(found[1], "inline"), text)
    return _DISPLAYED.sub(lambda found: _mathml(found[1], "block"), text)


def _reachable(table: re.Match[str]) -> str:
    """Return the start of a table; a wide one scrolls, and what scrolls must be a stop of the Tab key."""
    return (
        table[0].replace("<table>", '<table tabindex="0">')
        if table[0].count("<th") > WIDE
        else table[0]
    )


def _mathml(latex: str, display: str) -> str:
    from latex2mathml.converter import convert

    return str(convert(html.unescape(latex).strip(), display=display))


def live() -> str:
    """Return the page that the first code of docs/guides/report.md writes, for readers to try."""
    from tools.pages import blocks

    guide = (ROOT / "docs" / "guides" / "report.md").read_text("utf-8")
    code = next(block.code for block in blocks(guide) if block.language == "python")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(compile(code, "docs/guides/report.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
        return Path("report.html").read_text("utf-8")


sys.path.insert(0, str(ROOT))
