"""The wheel and the source distribution: their contents, and that both are the same library."""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.package.building import PROJECT, ROOT, built, copied
from tools.build import main, release_faults

SOURCE = ROOT / "src"
LARGE = 100_000
"""Bytes of a file: code and words are smaller, data and pictures are not."""
WRITTEN = {".py", ".pyi", ".typed", ".j2", ".css", ".js"}
"""What the package consists of, by endings."""


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Return the source distribution and the wheel built from it, as `pip install` does without a published wheel."""
    source, wheel = built(tmp_path_factory.mktemp("archives"))
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
    source = {n.removeprefix("src/"): data for n, data in found.items() if n.startswith("src/")}
    assert source == of_the_package()
    others = {name for name in found if not name.startswith("src/")}
    needed = {"PKG-INFO", "hatch_build.py", "pyproject.toml", "tools/addresses.py", ".gitignore"}
    assert others == {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", *needed}
    for name, data in found.items():
        assert not re.search(r"__pycache__|\.egg-info|\.nb[ic]$|\.npz$|\.parquet$|\.csv$", name)
        assert len(data) < LARGE, name


def test_both_ways_give_the_same_wheel(archives, tmp_path):
    """From the repository and from the source distribution, byte by byte in every file."""
    (straight,) = built(tmp_path, "--wheel")
    assert straight.name == archives[1].name
    assert contents(straight) == contents(archives[1])


def test_two_builds_have_the_same_bytes(archives, tmp_path):
    """In another folder, at another time, with other permissions, and where Python and a build have left files."""
    other = copied(tmp_path / "elsewhere" / "with another name")
    for k, path in enumerate(sorted(other.rglob("*"))):
        os.utime(path, (1e9 + k, 1e9 + k))
        path.chmod(0o750 if path.is_dir() else 0o640)
    for left in ("src/skedasis/__pycache__/errors.cpython-311.pyc", "dist/skedasis-0.0.0.whl"):
        (other / left).parent.mkdir(exist_ok=True)
        (other / left).write_bytes(b"left")
    second = built(tmp_path / "second", source=other)
    assert [path.name for path in second] == [path.name for path in archives]
    for one, two in zip(archives, second, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name


def test_the_version_of_the_metadata_is_one_that_services_know(archives):
    """hatchling's newest is not yet what every tool that uploads or installs understands."""
    for found, name in ((members(archives[0]), "PKG-INFO"), (contents(archives[1]), "METADATA")):
        (place,) = [path for path in found if path.endswith(name)]
        assert message_from_bytes(found[place])["Metadata-Version"] == "2.4"


def release(folder: Path, version: str, date: str) -> Path:
    """Write what names a version and its date."""
    code = folder / "src" / "skedasis" / "__init__.py"
    code.parent.mkdir(parents=True)
    code.write_text(f'x = 1\n__version__ = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(f"# Changes\n\n## [{version}] - {date}\n\n- All.\n")
    (folder / "CITATION.cff").write_text(f"version: {version}\ndate-released: {date}\n")
    return folder


def test_a_release_that_agrees_with_its_tag_has_no_faults(tmp_path):
    assert release_faults("v1.2.0", release(tmp_path, "1.2.0", "2026-05-04")) == []


@pytest.mark.parametrize(
    ("tag", "file", "old", "new", "fault"),
    [
        ("v1.2.0", "src/skedasis/__init__.py", "1.2.0", "1.1.0", "src/skedasis/__init__.py: got 1"),
        ("v1.2.0", "CITATION.cff", "version: 1.2.0", "", "version in CITATION.cff: got nothing"),
        ("v1.2.0", "CITATION.cff", "05-04", "05-05", "got 2026-05-05, expected 2026-05-04"),
        ("v1.2.0", "CHANGELOG.md", "[1.2.0] - 2026-05-04", "[Unreleased]", "in CHANGELOG.md: got"),
        ("1.2.0", "CHANGELOG.md", "", "", "the tag: got 1.2.0, expected v1.2.0"),
    ],
)
def test_a_release_that_does_not_agree_is_refused(tmp_path, tag, file, old, new, fault):
    path = release(tmp_path, "1.2.0", "2026-05-04") / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert fault in "\n".join(release_faults(tag, tmp_path))


def test_the_command_builds_what_is_published(archives, tmp_path, capfd):
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "skedasis-0.0.0.tar.gz").write_bytes(b"of another day")
    assert main(["--out", str(tmp_path / "dist")]) == 0
    made = sorted(tmp_path.glob("dist/*"))
    assert [path.name for path in made] == sorted(path.name for path in archives)
    assert {p.name: p.read_bytes() for p in made} == {p.name: p.read_bytes() for p in archives}
    assert capfd.readouterr().out.count("PASSED") == 2
    assert main(["--out", str(tmp_path / "dist"), "--tag", "v99.0"]) == 1
    assert "__version__ in src/skedasis/__init__.py: got " in capfd.readouterr().err
