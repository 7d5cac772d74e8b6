"""Check that the structure of the package does not get worse: types, introspection, imports, circles, names.

`python -m tools.structure` prints what is wrong, `python -m tools.structure --table` what each package has.

Three things are counted, and `BUDGETS` says how many of each a package may have. The numbers may only become smaller:

- *any*: `Any` in annotations and aliases. What remains are values of foreign libraries and models of users, whose
  attributes no type checker can know.
- *getattr*: calls of `getattr` and `hasattr`. They are for foreign objects; our own declare their attributes.
- *lazy*: imports of the package's own modules inside functions. They keep `import skedasis` fast, and they hide
  dependencies.

No module may import itself through others, imports inside functions included. Imports by names in strings would hide
such circles: they are in the modules of `TABLES` alone. A name of a class or type alias is defined in one module.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import grimp

SOURCE = Path(__file__).parents[1] / "src" / "skedasis"


class Budget(NamedTuple):
    """How many of each thing a package has, or may have at most."""

    any: int = 0
    getattr: int = 0
    lazy: int = 0


BUDGETS: dict[str, Budget] = {
    "_calls": Budget(any=5),
    "_compilation": Budget(any=2, getattr=2),
    "_types": Budget(any=5),
    "analysis": Budget(any=21, getattr=4),
    "cli": Budget(any=33, getattr=13, lazy=23),
    "data": Budget(any=12, getattr=4, lazy=4),
    "datasets": Budget(any=1),
    "demo": Budget(any=10, getattr=1, lazy=1),
    "derivatives": Budget(any=11, getattr=4),
    "distributions": Budget(any=47, getattr=36, lazy=2),
    "engine": Budget(any=11, getattr=4, lazy=11),
    "methods": Budget(any=7, getattr=4, lazy=2),
    "models": Budget(any=32, getattr=50, lazy=1),
    "plots": Budget(getattr=1),
    "quantities": Budget(any=14, getattr=14, lazy=13),
    "report": Budget(any=5, getattr=5, lazy=4),
    "results": Budget(any=59, getattr=10, lazy=1),
    "skedasis": Budget(any=1, getattr=1, lazy=1),
    "stream": Budget(any=11, lazy=6),
    "trees": Budget(any=18, getattr=10, lazy=1),
}
"""Package or module → its budget. A package that is not listed may have nothing of the kind."""


def count(text: str) -> Counter[str]:
    """Return how many of each thing a module has."""
    tree = ast.parse(text)
    names = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    lazy = {
        line
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for line in ast.walk(function)
        if isinstance(line, ast.Import | ast.ImportFrom) and "skedasis" in ast.unparse(line)
    }
    found = {"any": names["Any"], "getattr": names["getattr"] + names["hasattr"], "lazy": len(lazy)}
    return Counter(found)


def counts(source: Path = SOURCE) -> dict[str, Budget]:
    """Return what each part of the package has."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(source.rglob("*.py")):
        part = path.relative_to(source).parts[0].removesuffix(".py")
        found[part.replace("__init__", "skedasis")] += count(path.read_text("utf-8"))
    return {part: Budget(**one) for part, one in found.items()}


def defined_twice(source: Path = SOURCE) -> list[str]:
    """Return a line for each name of a class or type alias that several modules define."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(str(path.relative_to(source)))
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                places[ast.unparse(node.target)].add(str(path.relative_to(source)))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
                names = re.findall(r"\A_?[A-Z]\w*[a-z]\w*\Z", ast.unparse(node.targets[0]))
                places.update({n: places[n] | {str(path.relative_to(source))} for n in names})
    return [
        f"{name} is defined in {', '.join(sorted(p))}" for name, p in places.items() if len(p) > 1
    ]


TABLES = "__init__.py", "results/operations.py", "results/saved_fields.py"
"""The modules that import others by their names."""


def named_modules(source: Path = SOURCE) -> list[str]:
    """Return a line for each string that names a module of the package, where imports by name are not allowed."""
    found: list[str] = []
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source).as_posix()
        own = ".".join(("skedasis", *path.relative_to(source).parts[:-1]))
        tree = ast.parse(path.read_text("utf-8"))
        names = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)} - {own}
        named = {
            n
            for n in names
            if isinstance(n, str)
            and (part := re.fullmatch(r"skedasis\.(\w*)[\w.]*(:\w+)?", n))
            and any((source / name).exists() for name in (part[1], f"{part[1]}.py"))
        }
        calls = {ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        named |= {c for c in calls if re.fullmatch(r"(importlib\.)?import_module\('skedasis'\)", c)}
        found += [f"{place} names {n!r} in a string" for n in sorted(named) if place not in TABLES]
    return found


def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports, inside functions too, but not for type checkers alone."""
    graph = grimp.build_graph("skedasis", exclude_type_checking_imports=True, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return modules that import each other, the first and the last the same; none if there are no such modules."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def faults(found: Mapping[str, Budget], budgets: Mapping[str, Budget]) -> list[str]:
    """Return a line for each budget that does not fit."""
    return [
        f"{part}: {has} of {what!r}, {'at most' if has > allowed else 'lower its budget of'} {allowed}"
        for part, one in found.items()
        for what, has, allowed in zip(Budget._fields, one, budgets.get(part, Budget()), strict=True)
        if has != allowed
    ]


def main(arguments: list[str]) -> int:
    """Print the faults, or what each part has as rows of `BUDGETS`, and return the exit status."""
    if "--table" in arguments:
        for part, one in sorted(counts().items()):
            given = ", ".join(f"{k}={v}" for k, v in one._asdict().items() if v)
            print(f'    "{part}": Budget({given}),')
        return 0
    found = faults(counts(), BUDGETS)
    found += defined_twice() + named_modules()
    found += [f"modules that import each other: {', '.join(c)}" for c in [circle(imports())] if c]
    print("\n".join(found) if found else "the structure is within its budgets, without circles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
