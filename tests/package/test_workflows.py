"""Workflows, and the other files that services read: their commands are the Makefile's, and mistakes are noticed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.building import PROJECT, ROOT
from tests.systems import posix
from tools import workflows

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
if not (ROOT / ".github").is_dir():
    pytest.skip("this copy has no workflows", allow_module_level=True)
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in workflows.workflows(ROOT)
}
JOBS = {
    f"{name}/{job}": text for name, file in WORKFLOWS.items() for job, text in file["jobs"].items()
}
STEPS = [(name, step) for name, job in JOBS.items() for step in job["steps"]]
linters = pytest.mark.skipif(
    shutil.which("zizmor", path=str(Path(sys.executable).parent)) is None,
    reason="the linters are not installed: pip install 'skedasis[lint]'",
)


@pytest.fixture
def project(tmp_path):
    """Return a copy of what services read, to be damaged."""
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    for name in (".readthedocs.yaml", ".pre-commit-config.yaml", "CITATION.cff", "Makefile"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def damage(project: Path, file: str, old: str, new: str) -> None:
    path = project / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@linters
def test_all_is_well(project):
    """`make lint` runs these checks, and actionlint, on the repository itself."""
    assert workflows.schema_faults(project) == []
    assert workflows.security_faults(project) == []


@linters
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (".github/workflows/tests.yml", "runs-on:", "run-on:", "run-on"),
        (".github/ISSUE_TEMPLATE/bug.yml", "type: textarea", "type: picture", "body"),
        ("CITATION.cff", "cff-version: 1.2.0", "cff-version: 0.1.0", "0.1.0"),
    ],
)
def test_the_schemas_notice_a_mistake(project, file, old, new, words):
    damage(project, file, old, new)
    (fault,) = workflows.schema_faults(project)
    assert Path(file).name in fault
    assert words in fault


@linters
@pytest.mark.parametrize(
    ("old", "new", "audit"),
    [
        ("        with:\n          persist-credentials: false\n", "", "artipacked"),
        ("@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "unpinned-uses"),
        ("run: make test", "run: make test ${{ github.head_ref }}", "template-injection"),
    ],
)
def test_the_security_check_notices_a_gap(project, old, new, audit):
    damage(project, ".github/workflows/tests.yml", old, new)
    (found,) = workflows.security_faults(project)
    assert audit in found


@linters
def test_actionlint_notices_a_mistake_that_no_schema_knows(project):
    try:
        before = workflows.actionlint_faults(project)
    except workflows.UnreachableError as reason:
        pytest.skip(f"actionlint is not installed: {reason}")
    assert before == []
    damage(project, ".github/workflows/tests.yml", "${{ matrix.python }}", "${{ matrix.pyhton }}")
    (fault,) = workflows.actionlint_faults(project)
    assert re.search(r"tests\.yml:\d+:\d+: property \"pyhton\" is not defined", fault)


def test_the_pythons_that_are_claimed_are_tried_on_every_system():
    prefix = "Programming Language :: Python :: 3."
    classifiers = PROJECT["project"]["classifiers"]
    claimed = [c.rpartition(" ")[2] for c in classifiers if c.startswith(prefix)]
    matrix = JOBS["tests/test"]["strategy"]["matrix"]
    assert matrix["python"] == claimed
    assert PROJECT["project"]["requires-python"] == f">={claimed[0]}"
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_no_job_runs_forever_or_may_do_more_than_it_needs():
    for name, job in JOBS.items():
        assert 0 < job["timeout-minutes"] <= 150, name
        writes = {key for key, value in job["permissions"].items() if value == "write"}
        assert writes <= {"pages", "id-token"}, name
        assert bool(writes) == (name in {"docs/deploy", "release/publish"}), name
    for file in WORKFLOWS.values():
        assert file["permissions"] == {}
        assert "group" in file["concurrency"]
        # YAML reads the key `on` as true.
        assert "pull_request_target" not in file[True]


def test_a_release_is_built_once_and_published_by_a_job_that_can_do_nothing_else():
    build, publish = JOBS["release/build"], JOBS["release/publish"]
    assert WORKFLOWS["release"][True] == {"push": {"tags": ["v*"]}}
    assert publish["environment"] == "pypi"
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    names = [step["uses"].partition("@")[0] for step in publish["steps"]]
    assert names == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]
    assert publish["steps"][-1]["with"] == {"attestations": True}
    commands = [step["run"] for step in build["steps"] if "run" in step]
    assert commands == ["make build"]
    (tagged,) = [step["env"] for step in build["steps"] if "env" in step]
    assert tagged == {"TAG": "${{ github.ref_name }}"}


TEXTS = {"", ".md", ".py", ".pyi", ".toml", ".yml", ".yaml", ".cff", ".ipynb", ".j2"}
COMMAND = re.compile(
    # In quotes, in a workflow, or a line of its own.
    r"(?:`|run: |entry: |\$\(MAKE\) )make\s+([a-z][a-z-]*)|^ *-? ?make ([a-z-]+)(?= *$| +#| +[A-Z]+=)",
    re.MULTILINE,
)


def test_every_make_that_a_text_names_has_a_rule():
    known = workflows.targets((ROOT / "Makefile").read_text("utf-8"))
    named = set()
    for folder in (ROOT, *map(ROOT.joinpath, (".ci", ".github", "docs", "src", "tests", "tools"))):
        for path in folder.glob("*") if folder == ROOT else folder.rglob("*"):
            if path.is_file() and path.suffix in TEXTS and path != Path(__file__):
                # Files without a suffix are texts, or what coverage has left.
                for found in COMMAND.finditer(path.read_text("utf-8", errors="replace")):
                    named.add(found[1] or found[2])
                    assert named <= known, f"{path}: no rule for {found[0]!r}"
    assert {"demo", "test", "test-all", "build"} <= named


@posix
def test_the_makefile_lists_its_commands_and_the_programs_that_it_runs_exist():
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert set(re.findall(r"^make ([a-z-]+)", shown, re.MULTILINE)) == workflows.targets(makefile)
    for name in re.findall(r"-m (tools\.\w+)", makefile):
        assert (ROOT / name.replace(".", "/")).with_suffix(".py").exists()


@posix
@pytest.mark.parametrize("system", ["", "Windows_NT"])
def test_the_makefile_finds_the_programs_of_the_system(system):
    """What would be run is printed, as if nothing was installed."""
    command = ["make", "--dry-run", "--always-make", "demo", "VENV=none"]
    # Without what a `make` that runs the tests hands on, such as PYTHON=python3.13.
    handed = ("PYTHON", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")
    environment = {k: v for k, v in os.environ.items() if k not in handed} | {"OS": system}
    shown = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    folder = "none/Scripts" if system else "none/bin"
    assert f"{folder}/skedasis demo" in shown
    assert f"{folder}/python -m pip install" in shown
    assert ("python -m venv none" in shown) == bool(system)
    assert ("python3 -m venv none" in shown) == (not system)
