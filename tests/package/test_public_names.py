"""Calls of the last release still work, but for what `intended_breaks.txt` lists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import griffe
import pytest

ROOT = Path(__file__).parents[2]
INTENDED = Path(__file__).with_name("intended_breaks.txt")
RELEASE = "e4a625dd74f6e9eb997b71b43c6f4914582f0bfe"
"""The commit of version 0.2.0."""


def interface(package: griffe.Object | griffe.Alias) -> griffe.Module:
    """Return a module with what users name: the names that `__init__.pyi` imports, and the options of the shell."""
    found = griffe.Module("sd")
    for name, member in package.members.items():
        if member.is_alias and re.match(r"skedasis\.[a-z]", member.target_path):
            target = with_inherited_members(member.final_target)
            if target.is_function:
                name_keywords(target, package)
            found.set_member(name, target)
    for module in package["cli"].modules.values():
        for name in module.functions:
            of = f"{name.title().replace('_', '')}Options"
            if of in module.classes:  # a dataclass: a command's options, with those it inherits
                fields = griffe.Module(of)
                for option, member in module.classes[of].all_members.items():
                    field = member.final_target if member.is_alias else member
                    if field.is_attribute:
                        value = default_of(field.value, package)
                        fields.set_member(option, griffe.Attribute(option, value=value))
                found.set_member(of, fields)
    return found


def name_keywords(function: griffe.Object, package: griffe.Object | griffe.Alias) -> None:
    """Put the keywords of all quantities in the place of ``**keywords`` of a function that takes them."""
    packed = [p.name for p in function.parameters if "QuantityKeywords" in str(p.annotation)]
    for packing in packed:
        del function.parameters[packing]
        for name in package["quantities.keywords.QuantityKeywords"].members:
            default = "False" if name == "copy" else "None"
            kind = griffe.ParameterKind.keyword_only
            function.parameters.add(griffe.Parameter(name, kind=kind, default=default))


def default_of(value: object, package: griffe.Object | griffe.Alias) -> str:
    """Return the default of a field as text: that of a function that makes fields, else the value itself."""
    made = str(value.function) if isinstance(value, griffe.ExprCall) else ""
    if made == "shared":  # with an option of the library's functions
        shared = package["engine.options.ExplainOptions"].members
        return default_of(shared[str(value.arguments[0]).strip("'\"")].value, package)
    if made not in ("option", "column", "argument", "field"):
        return str(value)
    defaults = (str(a.value) for a in value.arguments if getattr(a, "name", "") == "default")
    return next(defaults, "None")


def with_inherited_members(target: griffe.Object) -> griffe.Object:
    """Return a class with the methods of its bases, to which a method may have moved."""
    if target.is_class:
        for name, member in target.inherited_members.items():
            target.members[name] = member.final_target if member.is_alias else member
    if ".results." in target.path:  # made by functions, not by their constructors
        target.members.pop("__init__", None)
    return target


def breaks(old: griffe.Module, new: griffe.Module) -> list[str]:
    """Return a line for each change that breaks calls."""
    found: set[str] = set()
    for breakage in griffe.find_breaking_changes(old, new):
        values = (breakage.old_value, breakage.new_value)
        named = [value.name for value in values if isinstance(value, griffe.Parameter)]
        if named and breakage.obj.name in ("__contains__", "__getitem__"):
            continue  # an operator, whose parameter nobody names
        place = breakage.obj.path + (f"({named[0]})" if named else "")
        found.add(f"{place}: {breakage.kind.value}")
    return sorted(found)


@pytest.mark.slow
def test_nothing_breaks_that_is_not_intended():
    command = ["git", "cat-file", "-e", f"{RELEASE}^{{commit}}"]
    if subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode:
        pytest.skip("the commit of the last release is not in this clone")
    options = {"search_paths": ["src"], "allow_inspection": False, "resolve_aliases": True}
    old = griffe.load_git("skedasis", ref=RELEASE, repo=ROOT, **options)
    new = griffe.load("skedasis", **{**options, "search_paths": [str(ROOT / "src")]})
    found = breaks(interface(old), interface(new))
    intended = INTENDED.read_text("utf-8").splitlines()
    assert found == [line for line in intended if not line.startswith("#")], (
        f"name what breaks in {INTENDED.name}, and say in CHANGELOG.md how to change calls"
    )


def package(folder, effect, option):
    """Return the interface of a small package with the same layout."""
    folder.mkdir()
    files = {
        "skedasis/__init__.py": "from pathlib import Path",
        "skedasis/__init__.pyi": "from skedasis.results.effect import Effect as Effect\n",
        "skedasis/results/__init__.py": "",
        "skedasis/results/effect.py": effect,
        "skedasis/cli/__init__.py": "",
        "skedasis/cli/app.py": f"class InfoOptions:\n    {option}\ndef info(opts: InfoOptions): ...",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    loaded = griffe.load("skedasis", search_paths=[str(folder)], allow_inspection=False)
    return interface(loaded)


def test_changes_of_users_names_are_seen_and_others_are_not(tmp_path):
    old = """
class Effect:
    def __init__(self, x): ...
    def plot(self, ax=None, band=1): ...
    def rebin(self): ...
    def _inside(self): ...
"""
    new = """
class Effect:
    def __init__(self): ...
    def plot(self, band=2): ...
"""
    before = package(tmp_path / "old", old, "json: bool = False")
    after = package(tmp_path / "new", new, "text: bool = False")
    assert breaks(before, before) == []
    assert breaks(before, after) == [
        "sd.Effect.plot(ax): Parameter was removed",
        "sd.Effect.plot(band): Parameter default was changed",
        "sd.Effect.plot(band): Positional parameter was moved",
        "sd.Effect.rebin: Public object was removed",
        "sd.InfoOptions.json: Public object was removed",
    ]
