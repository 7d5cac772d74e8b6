"""Run the code of the documentation, and write what it prints and draws beside it.

    python -m tools.pages                        # run every page
    python -m tools.pages docs/start.md --write  # and put what it prints and draws into the page

A page is a program: its ``python`` blocks run in order, in one namespace and an empty folder. What a block prints is
the ``text`` block below it; an image below that is the last figure that was made by then, by pyplot or the library.
Where a picture is to stand elsewhere, such as above its code, ``<!-- draws: ../images/gallery/rhale.png -->`` right
above the block names it. Lines ``skedasis …`` of ``shell`` blocks run in between. ``<!-- needs: torch -->`` names
libraries that a page is about and may be absent.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[1]
DOTS = 110
COLOURS = 160

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ ]*\n?", re.MULTILINE | re.DOTALL)
_BELOW = re.compile(
    r"(?P<gap>\s*)(?:```text\n(?P<text>.*?)^```[ ]*\n?)?\s*(?:!\[[^\]]*\]\((?P<image>[^)]+)\))?",
    re.MULTILINE | re.DOTALL,
)
_DRAWS = re.compile(r"<!-- draws: (\S+) -->\s*\Z")
_NUMBER = re.compile(r"[-+−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A block of code, and what stands below it.

    Parameters
    ----------
    language, code : str
    line : int
        Of the page, where its code begins.
    printed : tuple of int, optional
        Where in the page the text is that it should print.
    image : str, optional
        The picture that it draws, relative to the page: below it, or named by a comment above it.
    """

    language: str
    code: str
    line: int
    printed: tuple[int, int] | None = None
    image: str | None = None


def blocks(page: str) -> list[Block]:
    r"""Return all fenced blocks of a page that are not another's output.

    Examples
    --------
    >>> page = "```python\nprint(1)\n```\n\n```text\n1\n```\n"
    >>> [(b.language, b.code, page[slice(*b.printed)]) for b in blocks(page)]
    [('python', 'print(1)\n', '1\n')]
    >>> page = "![A curve](a.png)\n\n<!-- draws: a.png -->\n```python\ne.plot()\n```\n"
    >>> blocks(page)[0].image
    'a.png'
    """
    found: list[Block] = []
    at = 0
    while match := _FENCE.search(page, at):
        language, code = match.groups()
        line = page.count("\n", 0, match.start()) + 2
        named = _DRAWS.search(page, at, match.start())
        below = _BELOW.match(page, match.end()) if language in {"python", "shell"} else None
        if below is None:
            found.append(Block(language, code, line))
            at = match.end()
            continue
        printed = below.span("text") if below["text"] is not None else None
        image = named[1] if named else below["image"]
        found.append(Block(language, code, line, printed, image))
        at = max(match.end(), printed[1] + 4 if printed else 0)
    return found


def needs(page: str) -> list[str]:
    """Return the libraries that a page says it needs.

    Examples
    --------
    >>> needs("<!-- needs: torch, jax -->")
    ['torch', 'jax']
    """
    said = re.search(r"<!-- needs: ([\w, ]+?) *-->", page)
    return re.split(r",\s*", said[1]) if said else []


def differs(expected: str, got: str) -> bool:
    """Return whether texts differ by more than white space and a unit in the numbers' last shown digit.

    Examples
    --------
    >>> (
    ...     differs("mean 0.33 of 7", "mean  0.331 of 7"),
    ...     differs("0.33", "0.36"),
    ...     differs("7 rows", "8 rows"),
    ... )
    (False, True, True)
    """
    if _NUMBER.sub("#", " ".join(expected.split())) != _NUMBER.sub("#", " ".join(got.split())):
        return True
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(got), strict=True)
    return any(abs(_value(a) - _value(b)) > 1.001 * _unit(a) for a, b in pairs)


def run(path: Path, write: bool = False) -> list[str]:
    """Run a page; return a sentence for each output that is not what the page says, and with `write` mend it.

    Raises whatever the page's code raises, with a note of the line.
    """
    page = path.read_text("utf-8")
    complaints: list[str] = []
    edits: list[tuple[tuple[int, int], str]] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    with _elsewhere(), _figures() as made:
        for block in blocks(page):
            printed = _printed(block, names, path)
            if block.printed is not None and differs(page[slice(*block.printed)], printed):
                complaints.append(f"{path.name}:{block.line} prints\n{printed}")
                edits.append((block.printed, printed.rstrip() + "\n"))
            if block.image is not None and not block.image.startswith("http"):
                complaints += _drawn(block, path, made, write)
    if write:
        for (start, end), text in reversed(edits):
            page = page[:start] + text + page[end:]
        path.write_text(page, encoding="utf-8")
    return complaints


def _printed(block: Block, names: dict[str, Any], path: Path) -> str:
    """Run a block; return what it printed. A page's warnings are errors: readers would see them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            if block.language == "python":
                # Lines of an error are those of the page.
                source = "\n" * (block.line - 1) + block.code
                exec(compile(source, str(path), "exec"), names)  # noqa: S102 - our own pages
            elif block.language == "shell":
                for line in block.code.splitlines():
                    if line.startswith("skedasis "):
                        _shell(line)
        except Exception as error:
            error.add_note(f"in the block at {path}:{block.line}")
            raise
    return out.getvalue()


def _shell(line: str) -> None:
    from typer.testing import CliRunner

    from skedasis.cli.app import app

    done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    print(done.stdout, end="")
    if done.exit_code:
        raise RuntimeError(f"`{line}` ended with {done.exit_code}: {done.output}")


def _drawn(block: Block, path: Path, made: list[Any], write: bool) -> list[str]:
    """Keep or miss the picture of a block; one that no figure is made for came from elsewhere, and is there."""
    from matplotlib import pyplot as plt

    place = path.parent / str(block.image)
    if made and write:
        save(made[-1], place)
    nothing = "" if made else " draws nothing,"
    made.clear()  # each picture is drawn by its own block
    plt.close("all")
    return [] if place.is_file() else [f"{path.name}:{block.line}:{nothing} {place} is not there"]


def save(figure: Any, place: Path) -> None:
    """Write a figure as a small PNG."""
    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS)
    place.parent.mkdir(parents=True, exist_ok=True)
    # By coverage: a median cut would turn the rare colours of a scale into others.
    cut = Image.Quantize.MAXCOVERAGE
    small = Image.open(buffer).convert("RGB").quantize(COLOURS, method=cut, kmeans=4)
    small.save(place, optimize=True)


@contextlib.contextmanager
def _figures() -> Iterator[list[Any]]:
    """Collect the figures that are made meanwhile: pyplot knows nothing of the library's own.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> with _figures() as made:
    ...     figure = Figure()
    >>> made == [figure]
    True
    """
    from matplotlib.figure import Figure

    made: list[Any] = []
    begin = Figure.__init__

    def noted(figure: Any, *args: Any, **options: Any) -> None:
        begin(figure, *args, **options)
        made.append(figure)

    with mock.patch.object(Figure, "__init__", noted):
        yield made


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Work in an empty folder, and leave no figure behind."""
    from matplotlib import pyplot as plt

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            plt.close("all")


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def _unit(number: str) -> float:
    """Return one unit in the last digit that a number shows; whole numbers are exact."""
    mantissa, _, exponent = number.partition("e")
    digits = len(mantissa.partition(".")[2])
    if not digits and not exponent:
        return 0.0
    return 10.0 ** (int(exponent or 0) - digits)


def pages() -> list[Path]:
    """Return every page with code: the README and the documentation."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in every if "```python" in path.read_text("utf-8")]


def main() -> int:
    """Run the pages that were named, or all."""
    reader = argparse.ArgumentParser(prog="python -m tools.pages")
    reader.add_argument("page", nargs="*", type=Path)
    reader.add_argument("--write", action="store_true")
    asked = reader.parse_args()
    wrong: list[str] = []
    for path in [page.resolve() for page in asked.page] or pages():
        absent = [name for name in needs(path.read_text("utf-8")) if find_spec(name) is None]
        if absent:
            print(f"{path}: skipped, needs {', '.join(absent)}")
            continue
        print(path, flush=True)
        wrong += run(path, asked.write)
    print("\n".join(wrong))
    return int(bool(wrong) and not asked.write)


if __name__ == "__main__":
    sys.exit(main())
