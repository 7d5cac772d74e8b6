"""The wheel and the source distribution: their contents, and that both are the same library."""

from __future__ import annotations

import re
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.package.building import PROJECT, ROOT, built, within_reach

pytestmark = pytest.mark.slow

SOURCE = ROOT / "src"
LARGE = 100_000
"""Bytes of a file: code and words are smaller, data and pictures are not."""
WRITTEN = {".py", ".pyi", ".typed", ".j2", ".css", ".js"}
"""What the package consists of, by endings."""


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Return the source distribution and the wheel built from it, as `pip install` does without a published wheel."""
    folder = tmp_path_factory.mktemp("archives")
    within_reach(folder)
    wheel, source = sorted(built(folder), key=lambda path: path.suffix == ".gz")
    return source, wheel


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def members(source: Path) -> dict[str, bytes]:
    """Return the files of a source distribution, without their common folder."""
    with tarfile.open(source) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        assert len({member.name.partition("/")[0] for member in files}) == 1
        return {m.name.partition("/")[2]: archive.extractfile(m).read() for m in files}


def of_the_package() -> dict[str, bytes]:
    files = [path for path in (SOURCE / "skedasis").rglob("*") if path.is_file()]
    made = [path for path in files if "__pycache__" in path.parts]
    return {p.relative_to(SOURCE).as_posix(): p.read_bytes() for p in files if p not in made}


def test_the_wheel_is_the_package_and_nothing_else(archives):
    _, wheel = archives
    assert wheel.name.endswith("-py3-none-any.whl")
    found = contents(wheel)
    library = {n: data for n, data in found.items() if n.startswith("skedasis/")}
    assert library == of_the_package()
    others = {name.partition("/")[2] for name in found.keys() - library.keys()}
    assert others == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    assert {Path(name).suffix for name in library} == WRITTEN
    assert max(map(len, found.values())) < LARGE


def test_the_wheel_has_what_the_code_reads_at_run_time(archives):
    """Types, report templates, styles and scripts of pages: no import would fail without them."""
    library = contents(archives[1])
    code = b"".join(data for name, data in library.items() if name.endswith((".py", ".j2")))
    assert "skedasis/py.typed" in library
    told = set(re.findall(rb'["\']([\w./-]+\.(?:j2|css|js))["\']', code))
    assert len(told) >= 12
    there = {Path(name).name for name in library}
    assert {Path(name.decode()).name for name in told} <= there


def test_the_metadata_say_what_the_project_says(archives):
    _, wheel = archives
    found = contents(wheel)
    place = next(name for name in found if name.endswith("/METADATA"))
    said = message_from_bytes(found[place])
    project = PROJECT["project"]
    version = re.search(
        r'^__version__ = "(.+)"', (SOURCE / "skedasis/__init__.py").read_text(), re.MULTILINE
    )
    assert version is not None
    assert said["Version"] == version[1]
    assert said["Requires-Python"] == project["requires-python"]
    assert said["License-Expression"] == project["license"]
    assert set(said.get_all("Provides-Extra")) == set(project["optional-dependencies"])
    needed = {line for line in said.get_all("Requires-Dist") if "extra ==" not in line}
    assert needed == set(project["dependencies"])
    assert said.get_payload().startswith("# skedasis")
    start = found[place.replace("METADATA", "entry_points.txt")].decode()
    assert "skedasis = skedasis.cli:main" in start


def test_the_source_distribution_has_code_and_words_and_nothing_that_was_made(archives):
    found = members(archives[0])
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"} <= set(found)
    source = {n.removeprefix("src/"): data for n, data in found.items() if n.startswith("src/")}
    assert source == of_the_package()
    for name, data in found.items():
        assert not re.search(r"__pycache__|\.egg-info|\.nb[ic]$|\.npz$|\.parquet$|\.csv$", name)
        assert len(data) < LARGE, name


def test_both_ways_give_the_same_wheel(archives, tmp_path):
    """From the repository and from the source distribution, byte by byte in every file."""
    (straight,) = built(tmp_path, "--wheel")
    assert straight.name == archives[1].name
    assert contents(straight) == contents(archives[1])
