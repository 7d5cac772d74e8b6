"""The notebooks run and print what they contain, their sentences state printed numbers, and their files are tidy."""

from __future__ import annotations

import copy
import re

import nbformat
import pytest
from PIL import Image

from skedasis import DataError
from skedasis.datasets import load
from tests.docs.test_pages import KEPT
from tools.notebooks import (
    FOLDER,
    as_markdown,
    code_cells,
    differences,
    execute,
    normalised,
    notebooks,
    read,
    run,
    tables,
    written,
)
from tools.pages import ROOT, blocks
from tools.words import PHRASES

PATHS = notebooks()
SIZE = 400_000
"""Bytes of a notebook, at most."""
each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _prose(notebook):
    return "\n\n".join(c["source"] for c in notebook["cells"] if c["cell_type"] == "markdown")


def _sentences(prose):
    """Return text without code, links, and headings."""
    prose = re.sub(r"\[[^\]]*\]\([^)]*\)|`[^`]*`", "", prose)
    return re.sub(r"^#.*$", "", prose, flags=re.MULTILINE)


def _printed(notebook):
    return "\n".join(
        output.get("text") or output["data"]["text/plain"]
        for cell in code_cells(notebook)
        for output in cell["outputs"]
    )


def made(*sources):
    """Return a notebook with code, without outputs."""
    cells = [
        {"cell_type": "code", "source": s, "metadata": {}, "outputs": [], "execution_count": None}
        for s in sources
    ]
    return {"cells": cells}


def test_there_are_four_notebooks_and_each_is_within_reach():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    index = (FOLDER / "index.md").read_text("utf-8")
    listed = re.findall(r"notebooks/(\S+\.ipynb)$", nav, re.MULTILINE)
    assert sorted(listed) == [path.name for path in PATHS]
    assert sorted(re.findall(r"\]\((\S+\.ipynb)\)", index)) == [path.name for path in PATHS]
    assert len(PATHS) == 4


@pytest.mark.slow
@each
def test_a_notebook_runs_and_prints_what_it_contains(path):
    notebook = read(path)
    if any("lightgbm" in cell["source"] for cell in code_cells(notebook)):
        pytest.importorskip("lightgbm")  # its system library may be missing
    for name in tables(notebook):
        try:
            load(name, download=False)
        except DataError as error:
            pytest.skip(f"{name} is not on this machine: {error}")
    assert run(path) == []


@each
def test_a_file_is_normalised_valid_and_small(path):
    text = path.read_text("utf-8")
    assert written(normalised(read(path))) == text
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert path.stat().st_size < SIZE


@each
def test_a_notebook_holds_texts_and_pictures_of_no_machine(path):
    outputs = [output for cell in code_cells(read(path)) for output in cell["outputs"]]
    # Neither errors nor what is written to standard error.
    assert {output["output_type"] for output in outputs} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert {output.get("name", "stdout") for output in outputs} == {"stdout"}
    # A repository's page drops most of HTML, and shows none of the text that stands in for it.
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "image/png"}
    assert not re.search(r"(?<![\w.])/\w+/|[A-Z]:\\|0x[0-9a-f]{6}", _printed(read(path)))


@each
def test_every_picture_is_small_and_says_what_is_to_be_seen(path, tmp_path):
    notebook = read(path)
    _, pictures = as_markdown(notebook, path.stem)
    assert pictures
    for name, content in pictures.items():
        (tmp_path / name).write_bytes(content)
        with Image.open(tmp_path / name) as picture:
            picture.verify()
        assert len(content) < KEPT
    for cell in code_cells(notebook):
        drawn = sum("image/png" in output.get("data", {}) for output in cell["outputs"])
        assert drawn <= 1
        assert (len(cell["metadata"].get("alt", "")) > 15) == bool(drawn), cell["source"]


@each
def test_sentences_state_numbers_that_the_notebook_prints_or_that_its_code_contains(path):
    notebook = read(path)
    code = "\n".join(cell["source"] for cell in code_cells(notebook))
    known = set(_NUMBER.findall(_printed(notebook) + code))
    stated = _NUMBER.findall(_sentences(_prose(notebook)))
    assert stated
    assert [number for number in stated if number not in known] == []


@each
def test_the_words_and_links_of_a_notebook_are_those_of_a_page(path):
    prose = _prose(read(path))
    assert [phrase for phrase in PHRASES if re.search(phrase, prose, re.IGNORECASE)] == []
    assert max(map(len, prose.splitlines())) <= 120
    assert max(len(line) for c in code_cells(read(path)) for line in c["source"].splitlines()) <= 88
    for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", prose):
        assert target.startswith("https://") or (FOLDER / target).exists(), target
    assert prose.startswith("# ")


@each
def test_a_page_of_the_site_has_the_code_texts_and_pictures_of_its_notebook(path):
    notebook = read(path)
    page, pictures = as_markdown(notebook, path.stem)
    shown = blocks(page)
    assert [block.code.rstrip("\n") for block in shown] == [
        cell["source"] for cell in code_cells(notebook)
    ]
    texts = [page[slice(*block.printed)] for block in shown if block.printed]
    assert "".join("\n".join(texts).split()) == "".join(
        _printed(notebook).replace("<Figure>", "").split()
    )
    assert re.findall(r"!\[[^\]]+\]\(files/([^)]+)\)", page) == list(pictures)
    outside = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^# ", outside, re.MULTILINE) == ["# "]
    assert f"](files/{path.name})" in page


# --- changes are noticed -------------------------------------------------------------------------


def _with_another_end(text):
    """Return a text whose last digit is another one; or, without digits, whose last letter is."""
    last = re.search(r"\d(?=\D*\Z)", text) or re.search(r"\w(?=\W*\Z)", text)
    other = str((int(last[0]) + 5) % 10) if last[0].isdigit() else "x"
    return text[: last.start()] + other + text[last.end() :]


@each
def test_a_changed_number_a_missing_line_and_a_missing_picture_are_noticed(path):
    committed = read(path)
    assert differences(committed, copy.deepcopy(committed)) == []
    noticed = 0
    for at, cell in enumerate(code_cells(committed)):
        for number, output in enumerate(cell["outputs"]):
            changed = copy.deepcopy(committed)
            outputs = code_cells(changed)[at]["outputs"]
            if "image/png" in output.get("data", {}):
                del outputs[number]
            else:
                outputs[number]["text"] = _with_another_end(output["text"])
            assert len(differences(committed, changed)) == 1, output
            noticed += 1
            if "text" in output:
                outputs[number]["text"] = output["text"].partition("\n")[2]
                assert len(differences(committed, changed)) == 1, output
    assert noticed > 5


def test_the_difference_is_that_of_the_cell_that_prints_something_else():
    before = execute(made("a = 3\nprint('first')", "print(a)\na + 1"))
    assert [output["output_type"] for output in before["cells"][1]["outputs"]] == [
        "stream",
        "execute_result",
    ]
    edited = copy.deepcopy(before)
    edited["cells"][0]["source"] = "a = 4\nprint('first')"
    assert differences(before, execute(edited)) == ["cell 2 prints\n4\n\n5"]


def test_a_warning_is_an_error():
    with pytest.raises(RuntimeError, match=r"standard error: .*UserWarning: careful"):
        execute(made("import warnings\nwarnings.warn('careful', stacklevel=1)"))
