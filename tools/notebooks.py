"""Execute the notebooks of the documentation, and compare what they print with what they contain.

`python -m tools.pages` does it, too. nbclient runs each notebook in a kernel of its own and in an empty folder. Texts
are compared like those of the pages, pictures by their number. A written file has no times, no machine's names and
small pictures, so that a change of it is a change of the notebook. The metadata `alt` of a cell describes its picture.
`tools/site.py` shows each notebook as a page, through `as_markdown`.
"""

from __future__ import annotations

import base64
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

from tools.pages import ROOT, differs, shrunk

FOLDER = ROOT / "docs" / "notebooks"
SECONDS = 300
"""Limit of one cell."""
ANNOUNCEMENT = re.compile(r"(skedasis: compiling kernels for .*; this happens once\.\n)+")
"""What the first runs on a machine write to standard error."""

_KERNEL = [
    # Processes that a cell starts, such as workers, write to this process's error stream and not into the notebook:
    # Dask's workers may report on closing that the scheduler is gone.
    "--IPKernelApp.capture_fd_output=False",
    # The kernel's own log has the warning that it talks to this process without encryption.
    "--IPKernelApp.log_level=ERROR",
]


def notebooks() -> list[Path]:
    """Return the notebooks of the documentation."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells with code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def execute(notebook: NotebookNode) -> None:
    """Replace the outputs of a notebook by those of a new kernel.

    Raises
    ------
    RuntimeError
        If a cell writes to standard error, as warnings do: readers would see it. Errors of cells are raised as they
        are by nbclient.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as settings:
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=_KERNEL,
            resources={"metadata": {"path": folder}},
        )
        # Without the user's settings of IPython and of figures; kernels find the package wherever this process does.
        own = {"IPYTHONDIR": settings, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        path = os.pathsep.join(path for path in sys.path if path)
        client.execute(env={**os.environ, **own, "PYTHONPATH": path})
    notebook.metadata.language_info = {"name": "python"}  # without the version
    for cell in code_cells(notebook):
        cell.outputs = [
            o for o in cell.outputs if not ANNOUNCEMENT.fullmatch(str(o.get("text", "")))
        ]
        for output in cell.outputs:
            if output.get("name") == "stderr":
                raise RuntimeError(f"a cell writes to standard error: {output.text}")
            if "image/png" in output.get("data", {}):
                picture = shrunk(Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))))
                # The text of a figure is its address in memory, or its size.
                small = base64.b64encode(picture).decode("ascii")
                output.data = {"image/png": small, "text/plain": "<Figure>"}
                output.metadata = {}


def differences(committed: NotebookNode, executed: NotebookNode) -> list[str]:
    """Return a sentence for each cell whose texts differ, or that has another number of pictures."""
    found: list[str] = []
    pairs = zip(code_cells(committed), code_cells(executed), strict=True)
    for number, (before, after) in enumerate(pairs, 1):
        if differs(text_of(before), text_of(after)):
            found.append(f"cell {number} prints\n{text_of(after)}")
        if len(pictures_of(before)) != len(pictures_of(after)):
            found.append(f"cell {number} draws {len(pictures_of(after))} figures")
    return found


def text_of(cell: NotebookNode) -> str:
    """Return what a cell prints and returns, without its figures."""
    return "\n".join(
        output.text if output.output_type == "stream" else output.data["text/plain"]
        for output in cell.outputs
        if "image/png" not in output.get("data", {})
    )


def pictures_of(cell: NotebookNode) -> list[bytes]:
    """Return the pictures that a cell draws."""
    return [
        base64.b64decode(output.data["image/png"])
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]


def as_markdown(notebook: NotebookNode, name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as a page, and its pictures by the names by which the page refers to them."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if text := text_of(cell).rstrip():
            parts.append(f"```text\n{text}\n```")
        for picture in pictures_of(cell):
            place = f"{name}-{len(pictures) + 1}.png"
            pictures[place] = picture
            parts.append(f"![{cell.metadata.alt}](files/{place})")
    title, *rest = parts
    download = f"*This page is a notebook. [Download it](files/{name}.ipynb) to run it.*"
    heading, _, first = title.partition("\n")
    return "\n\n".join([heading, download, first.strip(), *rest]) + "\n", pictures


def run(path: Path, write: bool = False) -> list[str]:
    """Execute a notebook; return a sentence for each difference, and with `write` replace the file."""
    executed = read(path)
    execute(executed)
    found = [f"{path.name}: {text}" for text in differences(read(path), executed)]
    if write:
        nbformat.write(executed, path)
    return found
