"""Execute the notebooks of the documentation, and compare what they print with what they contain.

    python -m tools.notebooks                                  # execute all, and compare their texts
    python -m tools.notebooks docs/notebooks/bikes.ipynb --write  # and put the new outputs into the file

Each notebook runs in a kernel of its own and in an empty folder. It prints results (`print(r)`) or draws them
(`r.plot()`): texts and pictures are what a repository's page, the site and a test can show. Texts are compared like
those of the pages, pictures by their presence. A written file has no times, no machine's names and small pictures, so
that a change of it is a change of the notebook. The metadata `alt` of a cell describes its picture.

`tools/site.py` shows each notebook as a page, through `as_markdown`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

from tools.pages import COLOURS, ROOT, differs

FOLDER = ROOT / "docs" / "notebooks"
SECONDS = 300
"""Limit of one cell."""

Notebook: TypeAlias = dict[str, Any]
Cell: TypeAlias = dict[str, Any]
Output: TypeAlias = dict[str, Any]

ANNOUNCEMENT = "skedasis: compiling kernels; this happens once.\n"
"""What the first run on a machine writes to standard error."""

_KERNEL = [
    # Processes that a cell starts, such as workers, write to this process's error stream and not into the notebook:
    # Dask's workers may report on closing that the scheduler is gone.
    "--IPKernelApp.capture_fd_output=False",
    # The kernel's own log has the warning that it talks to this process without encryption.
    "--IPKernelApp.log_level=ERROR",
]
_LOADED = re.compile(r"""\bload\(["'](\w+)["']\)""")


def notebooks() -> list[Path]:
    """Return the notebooks of the documentation."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    """Return a notebook as the file has it, with the texts of cells and outputs in one piece."""
    found = json.loads(path.read_text("utf-8"))
    for cell in found["cells"]:
        cell["source"] = _joined(cell["source"])
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = _joined(output["text"])
            for kind, value in output.get("data", {}).items():
                output["data"][kind] = _joined(value)
    return found


def tables(notebook: Notebook) -> list[str]:
    """Return the names of the tables that a notebook loads.

    Examples
    --------
    >>> tables({"cells": [{"cell_type": "code", "source": 'bikes = load("bike_sharing_hour")'}]})
    ['bike_sharing_hour']
    """
    return _LOADED.findall("\n".join(cell["source"] for cell in code_cells(notebook)))


def code_cells(notebook: Notebook) -> list[Cell]:
    """Return the cells with code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


# --- execution -----------------------------------------------------------------------------------


def execute(notebook: Notebook) -> Notebook:
    """Return a notebook with the outputs of a new kernel, normalised.

    Raises
    ------
    RuntimeError
        If a cell writes to standard error, as warnings do: readers would see it. Errors of cells are raised as they
        are by nbclient.
    """
    import nbformat
    from nbclient import NotebookClient

    empty = normalised({"cells": [_bare(cell) for cell in notebook["cells"]]})
    made = nbformat.from_dict(empty)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("work", "settings"):
            (Path(folder) / name).mkdir()
        client = NotebookClient(
            made,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            extra_arguments=_KERNEL,
            resources={"metadata": {"path": str(Path(folder) / "work")}},
        )
        client.execute(env=_environment(Path(folder) / "settings"))
    for cell in code_cells(made):
        cell["outputs"] = [o for o in cell["outputs"] if not _announces(o)]
        for output in cell["outputs"]:
            if output.get("name") == "stderr":
                raise RuntimeError(f"a cell writes to standard error: {output['text']}")
    return normalised(made)


def _announces(output: Output) -> bool:
    """Return whether an output says only that kernels are compiled, as the first run on a machine does.

    Examples
    --------
    >>> _announces({"name": "stderr", "text": ANNOUNCEMENT})
    True
    >>> _announces({"name": "stderr", "text": ANNOUNCEMENT + "A warning."})
    False
    """
    return output.get("name") == "stderr" and "".join(output["text"]) == ANNOUNCEMENT


def _environment(settings: Path) -> dict[str, str]:
    """Return the environment of this process, without the user's settings of IPython and of figures."""
    return {
        **os.environ,
        "IPYTHONDIR": str(settings),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # Kernels find the package wherever this process does.
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def normalised(notebook: Notebook) -> Notebook:
    """Return a notebook without traces of machine and time: counts in order, ids from the code, small pictures.

    Examples
    --------
    >>> cell = {
    ...     "cell_type": "code",
    ...     "source": "1",
    ...     "execution_count": 9,
    ...     "metadata": {"tags": []},
    ...     "outputs": [],
    ... }
    >>> done = normalised({"cells": [cell], "metadata": {"kernelspec": {"name": "mine"}}})
    >>> (
    ...     done["cells"][0]["execution_count"],
    ...     done["cells"][0]["metadata"],
    ...     done["metadata"]["kernelspec"]["name"],
    ... )
    (1, {}, 'python3')
    """
    cells: list[Cell] = []
    for cell in notebook["cells"]:
        seen = sum(other["source"] == cell["source"] for other in cells)
        done = {**_bare(cell), "id": _identifier(cell["source"], seen)}
        if cell["cell_type"] == "code":
            count = 1 + len([other for other in cells if other["cell_type"] == "code"])
            done |= {"execution_count": count, "outputs": _outputs(cell["outputs"], count)}
        cells.append(done)
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _bare(cell: Cell) -> Cell:
    """Return a cell without outputs, counts, and what editors write into its metadata."""
    kept = {key: value for key, value in cell.get("metadata", {}).items() if key == "alt"}
    bare: Cell = {
        "cell_type": cell["cell_type"],
        "id": cell.get("id", _identifier(cell["source"], 0)),
        "metadata": kept,
        "source": cell["source"],
    }
    return bare | ({"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {})


def _identifier(source: str, seen: int) -> str:
    return hashlib.sha256(f"{source}{seen or ''}".encode()).hexdigest()[:8]


def _outputs(outputs: list[Any], count: int) -> list[Any]:
    """Return outputs with printed text in one piece, results numbered in order, and small pictures."""
    done: list[Any] = []
    for output in outputs:
        if output["output_type"] == "stream":
            if done and done[-1].get("name") == output["name"]:
                done[-1]["text"] += output["text"]
            else:
                done.append(dict(output))
            continue
        data = dict(output["data"])
        if "image/png" in data:
            # The text of a figure is its address in memory, or its size.
            data = {"image/png": _small(data["image/png"]), "text/plain": "<Figure>"}
        result = output["output_type"] == "execute_result"
        done.append(
            {
                "data": data,
                **({"execution_count": count} if result else {}),
                "metadata": {},
                "output_type": output["output_type"],
            }
        )
    return done


def _small(picture: str) -> str:
    """Return a PNG, as base64, with few colours, chosen as those of the pages."""
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(picture)))
    if image.mode == "P":
        return picture
    buffer = io.BytesIO()
    cut = Image.Quantize.MAXCOVERAGE
    image.convert("RGB").quantize(COLOURS, method=cut, kmeans=4).save(
        buffer, format="PNG", optimize=True
    )
    return base64.b64encode(buffer.getvalue()).decode("ascii")


# --- comparison ----------------------------------------------------------------------------------


def differences(committed: Notebook, executed: Notebook) -> list[str]:
    r"""Return a sentence for each cell whose texts differ, or that has a picture only in one of both.

    Examples
    --------
    >>> def printing(text):
    ...     output = {"output_type": "stream", "name": "stdout", "text": text}
    ...     return {"cells": [{"cell_type": "code", "source": "", "outputs": [output]}]}
    >>> differences(printing("R² 0.94"), printing("R² 0.941"))
    []
    >>> differences(printing("R² 0.94"), printing("R² 0.91"))
    ['cell 1 prints\nR² 0.91']
    """
    found: list[str] = []
    pairs = zip(code_cells(committed), code_cells(executed), strict=True)
    for number, (before, after) in enumerate(pairs, 1):
        if differs(_text(before), _text(after)):
            found.append(f"cell {number} prints\n{_text(after)}")
        if len(_pictures(before)) != len(_pictures(after)):
            found.append(f"cell {number} draws {len(_pictures(after))} figures")
    return found


def _text(cell: Cell) -> str:
    """Return what a cell prints and returns, without its figures."""
    return "\n".join(
        output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
        for output in cell["outputs"]
        if "image/png" not in output.get("data", {})
    )


def _pictures(cell: Cell) -> list[bytes]:
    return [
        base64.b64decode(output["data"]["image/png"])
        for output in cell["outputs"]
        if "image/png" in output.get("data", {})
    ]


# --- files ---------------------------------------------------------------------------------------


def written(notebook: Notebook) -> str:
    r"""Return the text of a notebook's file: texts as lists of lines, as Jupyter writes them.

    Examples
    --------
    >>> text = written({"cells": [{"cell_type": "markdown", "source": "# A\nB"}]})
    >>> json.loads(text)["cells"][0]["source"]
    ['# A\n', 'B']
    """
    cells = []
    for cell in notebook["cells"]:
        split = {**cell, "source": _lines(cell["source"])}
        if "outputs" in cell:
            split["outputs"] = [_split(output) for output in cell["outputs"]]
        cells.append(split)
    made = {**notebook, "cells": cells}
    return json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _split(output: dict[str, Any]) -> dict[str, Any]:
    if "text" in output:
        return {**output, "text": _lines(output["text"])}
    data = {
        kind: _lines(value) if kind.startswith("text/") else value
        for kind, value in output["data"].items()
    }
    return {**output, "data": data}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def as_markdown(notebook: Notebook, name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as a page, and its pictures by the names by which the page refers to them.

    Parameters
    ----------
    notebook : dict
    name : str
        Of the notebook's file, without its ending.
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"])
            continue
        parts.append(f"```python\n{cell['source']}\n```")
        if text := _text(cell).rstrip():
            parts.append(f"```text\n{text}\n```")
        for picture in _pictures(cell):
            place = f"{name}-{len(pictures) + 1}.png"
            pictures[place] = picture
            parts.append(f"![{cell['metadata']['alt']}](files/{place})")
    title, *rest = parts
    download = f"*This page is a notebook. [Download it](files/{name}.ipynb) to run it.*"
    heading, _, first = title.partition("\n")
    return "\n\n".join([heading, download, first.strip(), *rest]) + "\n", pictures


def run(path: Path, write: bool = False) -> list[str]:
    """Execute a notebook; return a sentence for each difference, and with `write` replace the file."""
    committed = read(path)
    executed = execute(committed)
    if write:
        path.write_text(written(executed), encoding="utf-8")
    return [f"{path.name}: {text}" for text in differences(committed, executed)]


def main() -> int:
    """Execute the notebooks that are named, or all."""
    reader = argparse.ArgumentParser(prog="python -m tools.notebooks")
    reader.add_argument("notebook", nargs="*", type=Path)
    reader.add_argument("--write", action="store_true")
    asked = reader.parse_args()
    wrong: list[str] = []
    for path in asked.notebook or notebooks():
        print(path, flush=True)
        wrong += run(path, asked.write)
    print("\n".join(wrong))
    return int(bool(wrong) and not asked.write)


if __name__ == "__main__":
    sys.exit(main())
