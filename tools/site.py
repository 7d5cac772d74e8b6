"""What MkDocs does not do by itself: addresses, formulas as MathML, and pages that are made from files elsewhere.

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


def on_config(config: Any) -> None:
    """Set the addresses of the site and of the repository, where pyproject.toml has them."""
    # MkDocs restores the path of modules after it has loaded this one: the hooks need it when they run.
    sys.path.insert(0, str(ROOT))
    from tools.addresses import Addresses

    addresses = Addresses.read(Path(config["config_file_path"]).parent)
    if addresses.documentation:
        config["site_url"] = f"{addresses.documentation}/"
    if addresses.repository:
        config["repo_url"] = addresses.repository
        config["repo_name"] = addresses.repository.rpartition("/")[2]


def on_files(files: Any, config: Any) -> Any:
    """Add the papers' results with their figures, the changes, a live report, and the notebooks."""
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
    _add_notebooks(files, config)
    return files


def _add_notebooks(files: Any, config: Any) -> None:
    """Make notebooks pages, under their names; beside them are their pictures, and the notebooks to download."""
    from mkdocs.structure.files import File

    from tools.notebooks import as_markdown, notebooks, read

    class NotebookFile(File):
        def is_documentation_page(self) -> bool:
            return True

    for path in notebooks():
        page, pictures = as_markdown(read(path), path.stem)
        name = f"notebooks/{path.name}"
        files.remove(files.get_file_from_path(name))
        files.append(NotebookFile.generated(config, name, content=page))
        download = f"notebooks/files/{path.name}"
        files.append(File.generated(config, download, abs_src_path=str(path)))
        for picture, content in pictures.items():
            files.append(File.generated(config, f"notebooks/files/{picture}", content=content))


def on_page_content(html: str, **_: Any) -> str:
    """Turn formulas into MathML, which browsers draw without a script, and let the keyboard reach what scrolls.

    Wide tables and code become stops of the Tab key. The theme's script would do this for code, but only some time
    after a page is shown; it removes the stops of code that does not have to scroll.
    """
    html = html.replace("<pre><span></span><code>", '<pre><span></span><code tabindex="0">')
    return _TABLE.sub(_reachable, formulas(html))


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search dialog, which screen readers would announce as nothing; and keep the page at home.

    The theme's script would ask the repository's host for its number of stars.
    """
    nameless = 'data-md-component="search" role="dialog"'
    output = output.replace(nameless, f'{nameless} aria-label="Search"')
    return output.replace(' data-md-component="source"', "")


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
    from sybil import Document

    from tools.pages import code

    guide = Document.parse(str(ROOT / "docs" / "guides" / "report.md"), code)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        next(guide.examples()).evaluate()
        return Path("report.html").read_text("utf-8")
