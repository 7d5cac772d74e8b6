"""Run the code of the documentation, and write what it prints and draws into it.

    python -m tools.pages                        # run every page and notebook (tools/notebooks.py)
    python -m tools.pages docs/start.md --write  # and put what it prints and draws into the page

A page is a program: sybil finds its ``python`` blocks and runs them in order, in one namespace and an empty folder.
What a block prints is the ``text`` block below it; an image below that is the last figure that was made by then, by
pyplot or the library. Where a picture is to stand elsewhere, such as above its code, ``<!-- draws:
../images/gallery/rhale.png -->`` right above the block names it. Lines ``skedasis …`` of ``shell`` blocks run in
between. ``<!-- needs: torch -->`` names libraries that a page is about and may be absent.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest import mock

from PIL import Image
from sybil import Document, Example, Region
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

from skedasis.registry import METHODS, QUANTITIES
from skedasis.results.checks.check import CODES
from skedasis.results.checks.reliability import RULES

ROOT = Path(__file__).parents[1]
DOTS = 110
COLOURS = 160

_FENCES = FencedCodeBlockLexer(r"\w+")
_PICTURE = re.compile(r"\s*!\[[^\]]*\]\(([^)]+)\)")
_DRAWS = re.compile(r"<!-- draws: (\S+) -->\s*\Z")
_NUMBER = re.compile(r"[-+−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def fences(page: str) -> list[Region]:
    """Return the fenced blocks of a page, with their ``language`` and ``source``."""
    return list(_FENCES(Document(page, "")))


def outputs(page: str) -> list[str]:
    r"""Return what a page says that its code prints.

    Examples
    --------
    >>> outputs("```python\nprint(1)\n```\n\n```text\n1\n```\n\nNo output:\n\n```text\n2\n```\n")
    ['1\n']
    """
    found = (region.lexemes["output"] for region in code(Document(page, "")))
    return [region.lexemes["source"] for region in found if region]


def code(document: Document) -> Iterator[Region]:
    """Yield the blocks that run, each with its ``output``, a block or None, and its ``picture``, a path or empty."""
    blocks = list(_FENCES(document))
    for block, after in zip_longest(blocks, blocks[1:]):
        language = block.lexemes["language"]
        if language in _EVALUATORS:
            is_output = after and after.lexemes["language"] == "text"
            near = is_output and not document.text[block.end : after.start].strip()
            output = after if near else None
            named = _DRAWS.search(document.text[: block.start])
            below = _PICTURE.match(document.text, output.end if output else block.end)
            picture = (named or below or ("", ""))[1]
            block.lexemes = {**block.lexemes, "output": output, "picture": picture}
            block.parsed, block.evaluator = block.lexemes["source"], _EVALUATORS[language]
            yield block


def _shell(example: Example) -> None:
    from typer.testing import CliRunner

    from skedasis.cli.app import app

    for line in example.parsed.splitlines():
        if line.startswith("skedasis "):
            done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            print(done.stdout, end="")
            if done.exit_code:
                raise RuntimeError(f"`{line}` ended with {done.exit_code}: {done.output}")


_EVALUATORS = {"python": PythonEvaluator(), "shell": _shell}


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


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def _unit(number: str) -> float:
    """Return one unit in the last digit that a number shows; whole numbers are exact."""
    mantissa, _, exponent = number.partition("e")
    digits = len(mantissa.partition(".")[2])
    if not digits and not exponent:
        return 0.0
    return 10.0 ** (int(exponent or 0) - digits)


def run(path: Path, write: bool = False) -> list[str]:
    """Run a page; return a sentence for each output that is not what the page says, and with `write` mend it."""
    from matplotlib import pyplot as plt

    document = Document.parse(str(path), code)
    document.namespace["__name__"] = "__main__"
    text, faults = document.text, list[str]()
    edits: list[tuple[int, int, str]] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(stack.enter_context(tempfile.TemporaryDirectory())))
        made = stack.enter_context(_figures())
        # Other pages know nothing of a page's plugins.
        for table in (METHODS, QUANTITIES, CODES, RULES):
            stack.enter_context(mock.patch.dict(table))
        for example in document:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                example.evaluate()
            printed = out.getvalue()
            output, picture = (example.region.lexemes[name] for name in ("output", "picture"))
            if output and differs(output.lexemes["source"], printed):
                faults.append(f"{path.name}:{example.line} prints\n{printed}")
                edits.append((output.start, output.end, f"```text\n{printed.rstrip()}\n```"))
            if picture and not picture.startswith("http"):
                place = path.parent / picture
                if made and write:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(_drawn(made[-1]))
                if not place.is_file():
                    faults.append(f"{path.name}:{example.line} draws no {place}")
                made.clear()  # each picture is drawn by its own block
                plt.close("all")
    if write:
        for start, end, new in reversed(edits):
            text = text[:start] + new + text[end:]
        path.write_text(text, encoding="utf-8")
    return faults


def _drawn(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS)
    return shrunk(Image.open(buffer))


def shrunk(image: Image.Image, colours: int = COLOURS) -> bytes:
    """Return a picture as a small PNG."""
    # By coverage: a median cut would turn the rare colours of a scale into others.
    cut = Image.Quantize.MAXCOVERAGE
    buffer = io.BytesIO()
    image.convert("RGB").quantize(colours, method=cut, kmeans=4).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


@contextlib.contextmanager
def _figures() -> Iterator[list[Any]]:
    """Collect the figures that are made meanwhile: pyplot knows nothing of the library's own."""
    from matplotlib.figure import Figure

    made: list[Any] = []
    begin = Figure.__init__

    def noted(figure: Any, *args: Any, **options: Any) -> None:
        begin(figure, *args, **options)
        made.append(figure)

    with mock.patch.object(Figure, "__init__", noted), warnings.catch_warnings():
        yield made


def pages() -> list[Path]:
    """Return every page with code: the README and the documentation."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in every if "```python" in path.read_text("utf-8")]


def main() -> int:
    """Run the pages and notebooks that were named, or all."""
    from tools import notebooks

    reader = argparse.ArgumentParser(prog="python -m tools.pages")
    reader.add_argument("page", nargs="*", type=Path)
    reader.add_argument("--write", action="store_true")
    asked = reader.parse_args()
    wrong: list[str] = []
    for path in [page.resolve() for page in asked.page] or [*pages(), *notebooks.notebooks()]:
        absent = [name for name in needs(path.read_text("utf-8")) if find_spec(name) is None]
        if absent:
            print(f"{path}: skipped, needs {', '.join(absent)}")
            continue
        print(path, flush=True)
        runner = notebooks.run if path.suffix == ".ipynb" else run
        wrong += runner(path, asked.write)
    print("\n".join(wrong))
    return int(bool(wrong) and not asked.write)


if __name__ == "__main__":
    sys.exit(main())
