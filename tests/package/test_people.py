"""What the repository says to people: the policies are true, and the forms are such as GitHub reads."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest
import typer

import skedasis as sd
from skedasis.cli.app import app
from skedasis.models import file_checks, files, onnx_files, torch_export
from skedasis.results import export, io

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
    assert len(named) > 20
    for file, test in named:
        text = (ROOT / "tests" / file).read_text("utf-8")
        assert not test or f"def {test}(" in text, f"{file}::{test}"


def test_the_commands_that_can_load_pickles_are_named():
    shell = typer.main.get_command(app)
    can = {
        n for n, c in shell.commands.items() if any("--trust-pickle" in p.opts for p in c.params)
    }
    found = re.search(r"and the commands (.*?)\s+read model files", SECURITY, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", found[1])) == can
    assert len(can) == 6
    assert "the six commands" in SECURITY


def test_the_suffixes_of_model_files_are_named():
    section = SECURITY.partition("**Models.**")[2].partition("**Saved results.**")[0]
    assert set(re.findall(r"`(\.\w+)`", section)) == set(files.SUFFIXES)


def test_limits_are_those_of_the_code():
    limits = SECURITY.partition("## Limits of memory")[2].partition("Tests:")[0]
    assert 'sd.load(path, memory="1GB")' in limits
    assert inspect.signature(sd.load).parameters["memory"].default == "1GB"
    assert file_checks._LARGEST == 2**30
    assert (file_checks._UNPACKED, file_checks._LARGEST_RATIO) == (256 * 2**20, 20)
    assert "256 MB, or 20 times" in limits
    assert torch_export._MOST_NUMBERS == 2**28
    assert "2²⁸ numbers" in limits
    assert (onnx_files._MOST_BYTES, onnx_files._MOST_ITERATIONS) == (4 * 2**30, 65_536)
    assert "4 GB, and loops of 65,536 iterations" in limits


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
    users = [
        d
        for e, ds in PROJECT["optional-dependencies"].items()
        if e in extras_for_users()
        for d in ds
    ]
    for line in PROJECT["dependencies"] + users:
        assert line.startswith("skedasis[") or re.fullmatch(r"[\w.-]+>=[\d.]+", line), line


def extras_for_users() -> set[str]:
    """Return the extras for users, as the list of public names has them."""
    listed = (ROOT / "tests/package/public_names.txt").read_text("utf-8")
    return set(re.search("^extras: (.*)$", listed, re.MULTILINE)[1].split(", "))


def test_the_changelog_has_this_version_after_what_is_not_released():
    versions = re.findall(r"^## \[(.+?)\](.*)$", CHANGELOG, re.MULTILINE)
    names = [name for name, _ in versions]
    assert names[0] == "Unreleased"
    assert names[1] == sd.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert versions[1][1] == f" - {citation['date-released']}"


def test_every_old_name_is_in_the_table_of_the_changelog():
    from skedasis import _renamed

    table = CHANGELOG.partition("### How to change your calls")[2].partition("\n### ")[0]
    renamed = {**_renamed.PUBLIC, **_renamed.KEYWORDS, **_renamed.OPTIONS}
    for names in _renamed.ATTRIBUTES.values():
        renamed |= names
    for old, new in renamed.items():
        rows = [
            line for line in table.splitlines() if re.search(rf"(?<![\w-]){re.escape(old)}\b", line)
        ]
        assert any(re.search(rf"(?<![\w-]){re.escape(new)}\b", row) for row in rows), (
            f"{old} → {new}"
        )


# --- issue forms ----------------------------------------------------------------------------------

KEYS = {
    "markdown": ({"value"}, set()),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}
"""Kind of an element → the attributes that it must have, and others that it may have (GitHub's schema for forms)."""


@pytest.mark.parametrize("path", sorted(FORMS.glob("[!c]*.yml")), ids=lambda path: path.stem)
def test_a_form_is_one(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert set(form) == {"name", "description", "labels", "body"}
    assert all(isinstance(form[key], str) for key in ("name", "description"))
    asked = [element for element in form["body"] if element["type"] != "markdown"]
    assert len({element["id"] for element in asked}) == len(asked)
    assert any(element["validations"]["required"] for element in asked if "validations" in element)
    for element in form["body"]:
        must, may = KEYS[element["type"]]
        assert must <= set(element["attributes"]) <= must | may
        assert set(element) <= {"type", "id", "attributes", "validations"}
        options = element["attributes"].get("options", ())
        # YAML reads some words as truth values.
        assert all(isinstance(option, (str, dict)) for option in options)


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
