"""The notebooks run and print what they contain, their sentences state printed numbers, and their files are tidy."""

from __future__ import annotations

import copy
import re

import nbformat
import pytest

from skedasis import DataError
from skedasis.datasets import load
from tests.docs.test_pages import KEPT
from tools.notebooks import (
    FOLDER,
    as_markdown,
    code_cells,
    differences,
    execute,
    notebooks,
    pictures_of,
    read,
    run,
    text_of,
)
from tools.pages import ROOT, fences, outputs

PATHS = notebooks()
SIZE = 400_000
"""Bytes of a notebook, at most."""
each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _prose(notebook):
    return "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


def _code(notebook):
    return "\n".join(cell.source for cell in code_cells(notebook))


def _printed(notebook):
    return "\n".join(text_of(cell) for cell in code_cells(notebook))


def test_there_are_four_notebooks_and_each_is_within_reach():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    index = (FOLDER / "index.md").read_text("utf-8")
    names = [path.name for path in PATHS]
    assert sorted(re.findall(r"notebooks/(\S+\.ipynb)$", nav, re.MULTILINE)) == names
    assert sorted(re.findall(r"\]\((\S+\.ipynb)\)", index)) == names
    assert len(PATHS) == 4


@pytest.mark.slow
@each
def test_a_notebook_runs_and_prints_what_it_contains(path):
    code = _code(read(path))
    if "lightgbm" in code:
        pytest.importorskip("lightgbm")  # its system library may be missing
    for name in re.findall(r"""\bload\(["'](\w+)["']\)""", code):
        try:
            load(name, download=False)
        except DataError as error:
            pytest.skip(f"{name} is not on this machine: {error}")
    assert run(path) == []


@each
def test_a_file_is_valid_and_small_and_holds_nothing_of_a_machine(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert path.stat().st_size < SIZE
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert notebook.metadata.language_info == {"name": "python"}
    assert all(set(cell.metadata) <= {"alt"} for cell in notebook.cells)
    for output in (output for cell in code_cells(notebook) for output in cell.outputs):
        # Neither errors nor what is written to standard error; a repository's page drops most of HTML.
        assert output.output_type in {"stream", "display_data", "execute_result"}
        assert output.get("name", "stdout") == "stdout"
        assert set(output.get("data", {})) <= {"text/plain", "image/png"}
    assert not re.search(r"(?<![\w.])/\w+/|[A-Z]:\\|0x[0-9a-f]{6}", _printed(notebook))


@each
def test_sentences_state_numbers_that_the_notebook_prints_or_that_its_code_contains(path):
    notebook = read(path)
    known = set(_NUMBER.findall(_printed(notebook) + _code(notebook)))
    prose = re.sub(r"\[[^\]]*\]\([^)]*\)|`[^`]*`", "", _prose(notebook))
    stated = _NUMBER.findall(re.sub(r"^#.*$", "", prose, flags=re.MULTILINE))
    assert stated
    assert [number for number in stated if number not in known] == []


@each
def test_lines_and_links_of_a_notebook_are_those_of_a_page(path):
    prose = _prose(read(path))
    assert prose.startswith("# ")
    assert max(map(len, prose.splitlines())) <= 120
    assert max(map(len, _code(read(path)).splitlines())) <= 88
    for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", prose):
        assert target.startswith("https://") or (FOLDER / target).exists(), target


@each
def test_a_page_of_the_site_has_the_code_texts_and_pictures_of_its_notebook(path):
    notebook = read(path)
    page, pictures = as_markdown(notebook, path.stem)
    code = [f.lexemes["source"] for f in fences(page) if f.lexemes["language"] == "python"]
    assert [source.rstrip("\n") for source in code] == [c.source for c in code_cells(notebook)]
    assert "".join("\n".join(outputs(page)).split()) == "".join(_printed(notebook).split())
    assert re.findall(r"!\[[^\]]{15,}\]\(files/([^)]+)\)", page) == list(pictures)
    assert pictures
    assert all(len(content) < KEPT for content in pictures.values())
    assert f"](files/{path.name})" in page


# --- changes are noticed -------------------------------------------------------------------------


def test_a_changed_number_and_a_missing_picture_are_noticed():
    committed = read(PATHS[0])
    changed = copy.deepcopy(committed)
    assert differences(committed, changed) == []
    cells = code_cells(changed)
    drawn = next(k for k, cell in enumerate(cells) if pictures_of(cell))
    cells[drawn].outputs = [o for o in cells[drawn].outputs if "image/png" not in o.get("data", {})]
    assert differences(committed, changed) == [f"cell {drawn + 1} draws 0 figures"]
    printed = next(cell for cell in cells if re.search(r"\d", text_of(cell)))
    printed.outputs[0].text = re.sub(r"\d(?=\D*\Z)", "x", printed.outputs[0].text)
    assert len(differences(committed, changed)) == 2


def made(*sources):
    """Return an executed notebook."""
    notebook = copy.deepcopy(read(PATHS[0]))
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    execute(notebook)
    return notebook


@pytest.mark.slow
def test_the_difference_is_that_of_the_cell_that_prints_something_else():
    before = made("a = 3\nprint('first')", "print(a)\na + 1")
    after = made("a = 4\nprint('first')", "print(a)\na + 1")
    assert differences(before, after) == ["cell 2 prints\n4\n\n5"]


def test_a_warning_is_an_error():
    with pytest.raises(RuntimeError, match=r"standard error: .*UserWarning: careful"):
        made("import warnings\nwarnings.warn('careful', stacklevel=1)")
