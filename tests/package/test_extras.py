"""Every extra, installed alone with what `pip install skedasis` brings, does what the documentation says it brings."""

from __future__ import annotations

import re

import pytest

from tests.package.building import (
    DEVELOPERS,
    PROJECT,
    ROOT,
    Environment,
    built,
    within_reach,
)
from tests.package.extras import OUTPUT, PROGRAMS, ROWS, write_files

EXTRAS = PROJECT["project"]["optional-dependencies"]
ELSEWHERE = {
    "all": "all of them: some gigabytes",
    "keras": "needs a back end, such as that of the extra torch or jax; `make test-all` tests it",
    "torch": "brings gigabytes for graphics cards; `make test-all` tests it",
}
"""Extras that are not installed here, and why."""
MODELS = {"trees": "sklearn"}
"""Extras that are for models of a library that is not part of them, and the extra with which it comes here."""
USUAL = {"parquet", "trees"}
"""Extras whose environments `make test-all` makes; each takes half a minute."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    within_reach(folder)
    return built(folder)[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "extra",
    [pytest.param(extra, marks=[] if extra in USUAL else [pytest.mark.long]) for extra in PROGRAMS],
)
def test_an_extra_alone_does_what_it_is_for(wheel, tmp_path, extra):
    if extra == "onnx":
        pytest.importorskip("onnx")  # which makes the model
    env = Environment.made(tmp_path, wheel, f"[{MODELS.get(extra, extra)}]")
    write_files(env.folder)
    program = env.folder / "program.py"
    program.write_text(ROWS + PROGRAMS[extra], encoding="utf-8")
    if extra in MODELS:
        assert f"pip install 'skedasis[{extra}]'" in env.refused(program, "-W", "error")
        env.install(wheel, f"[{extra}]")
    assert env.runs(program).strip() == OUTPUT.get(extra, "2.0")


def test_every_extra_has_its_test_or_a_reason():
    assert set(PROGRAMS) | set(ELSEWHERE) | DEVELOPERS == set(EXTRAS)
    assert not set(PROGRAMS) & set(ELSEWHERE)
    (every,) = EXTRAS["all"]
    assert set(every[len("skedasis[") : -1].split(",")) == set(EXTRAS) - DEVELOPERS - {"all"}


def test_the_documentation_says_what_each_extra_brings():
    """One table has them all, in the order of their names, with the packages that they install."""
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
    (page,) = [text for text in pages if "| extra |" in text]
    table = page[page.index("| extra |") :].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    names = [row[0].strip("`") for row in rows]
    assert names == sorted(set(EXTRAS) - DEVELOPERS)
    for name, row in zip(names, rows, strict=True):
        if name != "all":
            packages = {re.split(r"[<>=\[]", line)[0] for line in EXTRAS[name]} - {"skedasis"}
            assert packages <= set(re.findall(r"`([\w-]+)`", row[1])), name
