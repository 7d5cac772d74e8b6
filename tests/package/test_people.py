"""What the repository says to people: the policies are true, and the forms are such as GitHub reads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import typer

import skedasis as sd
from skedasis.cli.app import app
from skedasis.models import files
from skedasis.results import export, io
from tests.package.building import DEVELOPERS

yaml = pytest.importorskip("yaml")  # which the documentation needs

ROOT = Path(__file__).parents[2]
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
STABILITY = (ROOT / "docs" / "reference" / "stability.md").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

TEXTS = ("SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md", ".github/PULL_REQUEST_TEMPLATE.md")


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_to_files_and_sections_that_exist(name):
    path = ROOT / name
    for target, section in re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", path.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        found = path.parent / target if target else path
        assert found.exists(), target
        if section:
            headings = re.findall("^#+ (.*)$", found.read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
            assert section[1:] in anchors, section


# --- SECURITY.md ----------------------------------------------------------------------------------


def test_the_tests_that_show_a_statement_exist():
    named = re.findall(r"`((?:plots|report|unit)/[\w/]+\.py)(?:::(\w+))?`", SECURITY)
    assert len(named) >= 20
    for file, test in named:
        text = (ROOT / "tests" / file).read_text("utf-8")
        assert not test or f"def {test}(" in text, f"{file}::{test}"


def test_the_commands_that_can_load_pickles_are_named():
    shell = typer.main.get_command(app)
    can = {
        n for n, c in shell.commands.items() if any("--trust-pickle" in p.opts for p in c.params)
    }
    found = re.search(r"and the commands (.*?)\s+read model files", SECURITY, re.DOTALL)
    assert set(re.findall(r"`([\w-]+)`", found[1])) == can
    assert len(can) == 7
    assert "the seven commands" in SECURITY


def test_the_suffixes_of_model_files_are_named():
    section = SECURITY.partition("**Models.**")[2].partition("**Saved results.**")[0]
    assert set(re.findall(r"`(\.\w+)`", section)) == set(files.SUFFIXES)


# --- the page about stability, the versions and the changelog -------------------------------------


def test_formats_and_versions_of_python_are_those_of_the_code():
    assert f"writes format {io.FORMAT}, and loads files of format {io.OLDEST} too" in STABILITY
    assert f"`schema` is {export.SCHEMA}." in (ROOT / "docs/reference/json.md").read_text("utf-8")
    python = "Programming Language :: Python :: "
    named = [c.removeprefix(python) for c in PROJECT["classifiers"] if c.startswith(f"{python}3.")]
    assert f"Python {', '.join(named[:-1])} and {named[-1]}." in STABILITY
    # The lowest is the one that pip asks for.
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_dependencies_have_lower_bounds_alone():
    extras = PROJECT["optional-dependencies"]
    users = [line for extra in set(extras) - DEVELOPERS for line in extras[extra]]
    for line in PROJECT["dependencies"] + users:
        assert line.startswith("skedasis[") or re.fullmatch(r"[\w.-]+>=[\d.]+", line), line


def test_the_changelog_has_this_version_after_what_is_not_released():
    versions = re.findall(r"^## \[(.+?)\](.*)$", CHANGELOG, re.MULTILINE)
    names = [name for name, _ in versions]
    assert names[0] == "Unreleased"
    assert names[1] == sd.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert versions[1][1] == f" - {citation['date-released']}"


# --- issue forms ----------------------------------------------------------------------------------


def test_there_are_forms_for_all_that_people_report():
    assert {path.stem for path in FORMS.glob("*.yml")} == {
        *("bug", "wrong-number", "feature", "documentation", "config")
    }
    config = yaml.safe_load((FORMS / "config.yml").read_text("utf-8"))
    # Without a public address no contact link leads anywhere.
    assert config == {"blank_issues_enabled": True}
    for name in ("bug", "wrong-number"):
        assert "`skedasis info`" in (FORMS / f"{name}.yml").read_text("utf-8")
    assert "info" in typer.main.get_command(app).commands
