"""Public names and signatures are those of a committed list, so that a change of one is seen in review."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import pytest
import typer

import skedasis as sd
from skedasis.cli.app import app
from skedasis.engine.explain import explain
from skedasis.results.checks import check
from skedasis.results.provenance import Provenance
from tools import public_names as tool


@pytest.fixture(scope="module")
def committed():
    return tool.FILE.read_text("utf-8")


def section(text: str, name: str) -> list[str]:
    """Return the lines of a name: the first, which begins with it, and those that are indented below."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(name))
    more = lines[first + 1 :]
    end = next((i for i, line in enumerate(more) if not line.startswith((" ", ")"))), len(more))
    return lines[first : first + 1 + end]


def test_public_names_are_those_of_the_committed_list(committed):
    changed = tool.difference(committed, tool.text())
    if changed:
        pytest.fail(
            f"Public names differ from {tool.FILE.relative_to(tool.ROOT)}:\n\n{changed}\n\n"
            "If this is intended, run `python -m tools.public_names --write`, commit the list, and say in "
            "CHANGELOG.md what users have to change.",
            pytrace=False,
        )


# --- the list has what users see, found by other ways ---------------------------------------------


def test_the_list_has_every_public_name(committed):
    lines = committed.splitlines()
    for name in set(sd.__all__) - {"__version__", "datasets"}:
        assert any(line.startswith((f"class sd.{name}", f"sd.{name}(")) for line in lines), name


def test_the_list_has_every_keyword_of_explain(committed):
    given = [line.strip(" *,").partition(":")[0] for line in section(committed, "sd.explain(")]
    keywords = explain.__wrapped__.__kwdefaults__ or {}
    for name in ("model", "X", "features", "method", "by", "heterogeneity_rows", "cv", *keywords):
        assert name in given


def test_the_list_has_every_option_of_the_shell(committed):
    shell = typer.main.get_command(app)
    for name, command in {"": shell, **shell.commands}.items():
        lines = section(committed.partition("# Commands")[2], f"skedasis {name}".rstrip())[1:]
        listed = {
            part for line in lines for part in line.replace("/", " ").replace(",", " ").split()
        }
        own = [p for p in command.params if "help" not in p.name and "completion" not in p.name]
        assert len(lines) == len(own)
        for parameter in own:
            # An argument's own name has no dash.
            assert {o for o in parameter.opts + parameter.secondary_opts if o[0] == "-"} <= listed


def test_the_list_has_the_codes_of_checks_and_the_entries_of_provenances(committed):
    codes = section(committed, "skedasis.results.checks.check.Code =")[1:]
    assert codes == [f"    | {code!r}" for code in check.CODES]
    entries = section(committed, "class skedasis.results.provenance.Provenance")[1:]
    assert [e.split(":")[0].strip() for e in entries] == list(Provenance.__annotations__)


# --- it depends on nothing else -------------------------------------------------------------------

ELSEWHERE = """
import sys
for name in {names!r}:
    sys.modules[name] = None  # as if it were not installed
from tools import public_names
sys.stdout.reconfigure(encoding="utf-8")
print(public_names.text(), end="")
"""
OPTIONAL = (
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "numba",
    "torch",
    "jax",
    "dask",
    "shap",
    "lightgbm",
)


@pytest.mark.slow
def test_the_list_depends_on_no_optional_library_and_no_order(committed):
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE.format(names=OPTIONAL)],
        cwd=tool.ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == tool.text()
    assert " at 0x" not in committed


# --- changes are seen -----------------------------------------------------------------------------


def load(path: str, *, memory: int | str | None = "2GB") -> object: ...


def load_renamed(path: str, *, limit: int | str | None = "1GB") -> object: ...


def load_by_position(path: str, memory: int | str | None = "1GB") -> object: ...


@pytest.mark.parametrize(
    ("other", "seen"),
    [
        (load, "memory: int | str | None = '2GB'"),
        (load_renamed, "limit: int | str | None = '1GB'"),
        (load_by_position, "sd.load(path: str, memory:"),
    ],
)
def test_another_signature_is_seen(committed, monkeypatch, other, seen):
    monkeypatch.setattr(sd, "load", other)
    changed = tool.difference(committed, tool.text()).splitlines()
    assert any(line.startswith("+sd.load(") and seen in line for line in changed)
    assert any(line.startswith("-sd.load(path: str | Path, *, memory:") for line in changed)


def test_a_name_that_is_missing_is_seen(committed, monkeypatch):
    monkeypatch.setattr(sd, "__all__", [name for name in sd.__all__ if name != "nll"])
    changed = tool.difference(committed, tool.text())
    assert "-sd.nll(" in changed


def test_a_method_an_attribute_and_a_default_that_change_are_seen(committed, monkeypatch):
    monkeypatch.delattr(sd.Effect, "rebin")
    monkeypatch.setattr(sd.Effect, "heterogeneity_score", 1.5)
    monkeypatch.setattr(sd.Effects, "latest", lambda self, n=3: n, raising=False)
    changed = tool.difference(committed, tool.text()).splitlines()
    assert any(line.startswith("-    rebin(") for line in changed)
    assert "-    heterogeneity_score: float  (read only)" in changed
    assert "+    heterogeneity_score = 1.5" in changed
    assert "+    latest(n = 3)" in changed


def test_another_option_of_the_shell_is_seen(committed, monkeypatch):
    commands = {c.name: c for c in app.registered_commands}

    def info(deep: str = "no") -> None: ...

    info.__annotations__["deep"] = Annotated[str, typer.Option("--deep", "-d")]
    monkeypatch.setattr(commands["info"], "callback", info)
    changed = tool.difference(committed, tool.text()).splitlines()
    assert "+    --deep, -d str = no" in changed
    assert "-    --json" in changed


def test_another_format_of_files_is_seen(committed, monkeypatch):
    from skedasis.results import io

    monkeypatch.setattr(io, "FORMAT", io.FORMAT + 1)
    assert f"+format of saved results: {io.FORMAT}" in tool.difference(committed, tool.text())


# --- how lines are written ------------------------------------------------------------------------


@dataclass(frozen=True)
class Bins:
    """A dataclass whose lines are known."""

    n: int
    edges: Mapping[str, float] = field(default_factory=dict)
    _cache: int = 0
    rule: Literal["equal", "quantile"] = field(default="equal", kw_only=True)

    width = 2

    @property
    def left(self) -> float:
        return 0.0

    @classmethod
    def of(cls, values: list[float], /, *more: float, **options: object) -> Bins:
        return cls(1)


class MoreBins(Bins, dict):
    """A class whose base has all but one of its lines."""

    def __len__(self) -> int:
        return 1


class Rank(NamedTuple):
    """A named tuple whose lines are known."""

    feature: str
    share: float = 1.0


@pytest.fixture
def ours(monkeypatch):
    """Take the classes above for classes of the package."""
    for kind in (Bins, MoreBins, Rank):
        monkeypatch.setattr(kind, "__module__", "skedasis.made_up")


def test_the_lines_of_a_class(ours):
    every = tool.Extent({Bins, MoreBins}, set())
    assert list(tool.class_lines("sd.Bins", Bins, [], every)) == [
        "class sd.Bins",
        "    n: int",
        "    edges: Mapping[str, float] = <made anew>",
        "    rule: Literal['equal', 'quantile'] = 'equal'  (by name)",
        "    left: float  (read only)",
        "    of(values: list[float], /, *more: float, **options: object) -> Bins",
        "    width = 2",
    ]
    assert list(tool.class_lines("sd.MoreBins", MoreBins, [Bins], every)) == [
        "class sd.MoreBins(Bins, dict)",
        "    __len__() -> int",
    ]
    fields_alone = tool.Extent({Rank}, {Rank})
    assert list(tool.class_lines("sd.Rank", Rank, [], fields_alone)) == [
        "class sd.Rank(tuple)",
        "    feature: str",
        "    share: float = 1.0",
    ]


def test_a_long_signature_has_a_line_for_each_parameter():
    def rows(
        first: int, second: str = "x" * 40, *, third: float = 1e-3, last: object = ...
    ) -> str: ...

    text = "x" * 40
    assert tool.signature("sd.short", load_by_position) == [
        "sd.short(path: str, memory: int | str | None = '1GB') -> object"
    ]
    assert tool.signature("skedasis.a_module_with_a_long_name.rows", rows) == [
        "skedasis.a_module_with_a_long_name.rows(",
        "    first: int,",
        f"    second: str = '{text}',",
        "    *,",
        "    third: float = 0.001,",
        "    last: object = ...,",
        ") -> str",
    ]


def test_alternatives_that_need_more_than_a_line():
    options = " | ".join(f"Mapping[str, Option{i}]" for i in range(5))
    assert tool.alias_lines("Options", f"Literal['a', 'b'] | {options} | None")[:4] == [
        "Options =",
        "    | 'a'",
        "    | 'b'",
        "    | Mapping[str, Option0]",
    ]


# --- the command ----------------------------------------------------------------------------------


def test_the_command_writes_the_list_and_says_what_differs(tmp_path, monkeypatch, capsys):
    file = tmp_path / "public_names.txt"
    file.write_text(tool.text().replace("sd.load(path", "sd.load(file"), "utf-8")
    monkeypatch.setattr(tool, "FILE", file)
    monkeypatch.setattr(sys, "argv", ["public_names"])
    assert tool.main() == 1
    assert "\n-sd.load(file: str | Path" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["public_names", "--write"])
    assert tool.main() == 0
    assert file.read_text("utf-8") == tool.text()
    monkeypatch.setattr(sys, "argv", ["public_names"])
    assert tool.main() == 0
    assert capsys.readouterr().out.endswith("up to date\n")
