"""Check that the structure of the package does not get worse: types, introspection, imports, circles.

`python -m tools.structure` prints what is wrong, `python -m tools.structure --table` what each package has.

Everything is read from syntax trees; nothing is imported. Four things are counted in each package, and `BUDGETS` says
how many of each it may have; `INTROSPECTIVE` and `LAZY` list the modules. The numbers may only become smaller:

- *any*: `Any` in annotations; an alias counts as many as it contains. What remains are values of foreign libraries and
  models of users, whose attributes no type checker can know.
- *getattr*: calls of `getattr` and `hasattr`. They are for foreign objects; our own declare their attributes.
- *lazy*: imports of the package's own modules inside functions. They keep `import skedasis` fast, and they hide
  dependencies.
- *none*: tests whether `.levels` or `.bins` is None, by which one class would be several kinds. A kind is a type.

No module may import itself through others (`circles`), imports inside functions included.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "skedasis"


class Budget(NamedTuple):
    """How many of each thing a package has, or may have at most."""

    any: int = 0
    getattr: int = 0
    lazy: int = 0
    none: int = 0


BUDGETS = {
    "_compilation": Budget(any=2, getattr=2),
    "_calls": Budget(any=5),
    "_types": Budget(any=7),
    # 20 of these: overloads of `shap_dependence` and `EffectDisplay`, whose first argument is any model of a user.
    "analysis": Budget(any=79, getattr=4),
    # 8 of the imports are of results, data sets and expressions, without which help is shown a third faster.
    "cli": Budget(any=40, getattr=14, lazy=30, none=1),
    # 17 of these: objects of pyarrow, which has no types, and lazy rows of other libraries. Three of the attributes
    # tell in the error for X or a schema what was passed instead.
    "data": Budget(any=27, getattr=4, lazy=7, none=1),
    "datasets": Budget(any=1),
    "demo": Budget(any=12, getattr=1, lazy=1),
    "derivatives": Budget(any=11, getattr=4),
    "distributions": Budget(any=62, getattr=36, lazy=2),
    # 60 of these: overloads of `regions`, `explain(by=)` and `change`, whose first argument is any model of a user.
    "engine": Budget(any=147, getattr=5, lazy=16, none=2),
    "methods": Budget(any=7, getattr=4, lazy=2, none=4),
    "models": Budget(any=77, getattr=50, lazy=1),
    "plots": Budget(getattr=2),
    "quantities": Budget(any=69, getattr=14, lazy=13),
    # 6 of these: the rows of a report whose cost is estimated before it is computed, in any container.
    "report": Budget(any=42, getattr=5, lazy=4),
    # 13 of these: data frames of any library, and options of members, in containers of several results.
    "results": Budget(any=172, getattr=13, lazy=1, none=3),
    "skedasis": Budget(any=1, getattr=1),
    "trees": Budget(any=18, getattr=10, lazy=1),
}
"""Package or module → its budget. A package that is not listed may have nothing of the kind."""

INTROSPECTIVE = frozenset(
    [
        "_compilation",
        "skedasis",
        "analysis.effect_display",
        "analysis.null_distribution",
        "cli.explain",
        "cli.inputs",
        "cli.runtime",
        "data.dataset",
        "data.features",
        "data.time_columns",
        "demo.demo",
        "derivatives.sklearn_models",
        "distributions.base",
        "distributions.ensembles",
        "distributions.gpytorch",
        "distributions.mixture_models",
        "distributions.ngboost",
        "distributions.registry",
        "distributions.scipy",
        "distributions.sklearn",
        "distributions.skpro",
        "engine.multi_model",
        "engine.options",
        "engine.select",
        "methods.permutation",
        "methods.permutation_metric",
        "models.calling",
        "models.introspection",
        "models.jax",
        "models.keras",
        "models.onnx",
        "models.piecewise_constant",
        "models.protocols",
        "models.torch",
        "plots.figures.ice",
        "plots.html",
        "quantities.evaluator",
        "quantities.loss",
        "quantities.outputs",
        "quantities.tree_evaluator",
        "report.code",
        "report.quality",
        "report.uncertainty",
        "results.axis",
        "results.checks.method_disagreement",
        "results.effect",
        "results.effects",
        "results.frames",
        "results.importance",
        "results.io",
        "results.operations",
        "trees.lightgbm",
        "trees.readers",
        "trees.sklearn",
        "trees.xgboost",
    ]
)
"""Modules that may call `getattr` and `hasattr`: on models of users, objects of other libraries, and fields by name."""

LAZY = frozenset(
    [
        "skedasis",
        "cli",
        "cli.app",
        "cli.completion",
        "cli.explain",
        "cli.inputs",
        "cli.output",
        "cli.parquet",
        "data.dataset",
        "data.passes",
        "data.readers",
        "data.spool",
        "data.streamed",
        "demo.demo",
        "distributions.ensembles",
        "engine.assemble",
        "engine.explain",
        "engine.options",
        "engine.plan",
        "engine.rounds",
        "engine.run",
        "engine.streams",
        "methods.permutation",
        "models.registry",
        "quantities.loss",
        "quantities.outputs",
        "quantities.tree_evaluator",
        "quantities.uncertainty",
        "report",
        "report.report",
        "results.frames",
        "trees.evaluator",
    ]
)
"""Modules that may import others of the package inside functions, because few calls need them and they take time."""


class Module:
    """A module of the package.

    Parameters
    ----------
    name : str
        Its full name.
    text : str

    Attributes
    ----------
    tree : ast.Module
    nodes : list of ast.AST
        All nodes of the tree.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name, self.tree = name, ast.parse(text)
        self.nodes = list(ast.walk(self.tree))

    @property
    def part(self) -> str:
        """Return the package directly below the root that the module belongs to, or its own name there."""
        return [*self.name.split("."), self.name][1]


def modules(root: Path = ROOT) -> list[Module]:
    """Return the modules of the package below `root`."""
    found: list[Module] = []
    for path in sorted((root / "src" / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root / "src").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path.read_text("utf-8")))
    return found


# --- counts ---------------------------------------------------------------------------------------


def _parsed(text: str) -> ast.AST | None:
    try:
        return ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return None


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names in a type, also in its quoted parts; the values of Literal are not types."""
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
        return
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        quoted = _parsed(node.value)
        if quoted is not None:
            yield from _names(quoted)
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _types(module: Module) -> Iterator[ast.AST]:
    """Yield what a module uses as types: annotations, bases of classes and variables, the first argument of `cast`."""
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.ClassDef):
            yield from node.bases
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "cast":
                yield node.args[0]
            elif node.func.id == "TypeVar":
                yield from (keyword.value for keyword in node.keywords)


def _alias(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """Return name and value of a statement that may define an alias of a type."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        named = ast.unparse(node.annotation).endswith("TypeAlias")
        return (node.target.id, node.value) if named and node.value is not None else None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        kinds = (ast.Subscript, ast.BinOp, ast.Name)
        return (node.targets[0].id, node.value) if isinstance(node.value, kinds) else None
    return None


def _imported(module: Module) -> dict[str, tuple[str, str]]:
    """Return the names that a module imports from others of the package: local name → module and name there."""
    return {
        name.asname or name.name: (node.module or "", name.name)
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE)
        for name in node.names
    }


def anys(package: Iterable[Module]) -> Counter[str]:
    r"""Return how many `Any` stand in the types of each module; an alias counts as many as it contains.

    Examples
    --------
    >>> first = Module("skedasis.a", "Table = dict[str, Any]\ndef f(x: Any) -> Table: ...")
    >>> second = Module("skedasis.b", "from skedasis.a import Table\nx: list[Table]")
    >>> sorted(anys([first, second]).items())
    [('skedasis.a', 3), ('skedasis.b', 1)]
    """
    package = list(package)
    own = {m.name: dict(filter(None, map(_alias, m.tree.body))) for m in package}
    imports = {m.name: _imported(m) for m in package}

    def count(module: str, node: ast.AST, seen: frozenset[tuple[str, str]]) -> int:
        return sum(worth(module, name, seen) for name in _names(node))

    def worth(module: str, name: str, seen: frozenset[tuple[str, str]]) -> int:
        if name == "Any":
            return 1
        if (module, name) in seen:  # an alias that contains itself
            return 0
        seen |= {(module, name)}
        value = own.get(module, {}).get(name)
        if value is not None:
            return count(module, value, seen)
        source = imports.get(module, {}).get(name)
        return 0 if source is None else worth(*source, seen)

    found: Counter[str] = Counter()
    for m in package:
        found[m.name] = sum(count(m.name, node, frozenset()) for node in _types(m))
        found[m.name] += sum(worth(m.name, alias, frozenset()) for alias in own[m.name])
    return found


def introspection(module: Module) -> int:
    """Return the number of calls of `getattr` and `hasattr`."""
    names = {"getattr", "hasattr"}
    return sum(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names
        for n in module.nodes
    )


def comparisons_with_none(module: Module) -> int:
    """Return how often a module tests whether `.levels` or `.bins` is None.

    Examples
    --------
    >>> comparisons_with_none(
    ...     Module("m", "e.levels is None or e.bins is not None or e.rows is None")
    ... )
    2
    """
    return sum(
        isinstance(n, ast.Compare)
        and isinstance(n.left, ast.Attribute)
        and n.left.attr in ("levels", "bins")
        and isinstance(n.ops[0], ast.Is | ast.IsNot)
        for n in module.nodes
    )


# --- imports --------------------------------------------------------------------------------------


class Import(NamedTuple):
    """What a line imports at run time: a module, or a name from it."""

    module: str
    name: str
    line: int
    inside: bool


def _imports(node: ast.AST, *, inside: bool = False) -> Iterator[Import]:
    """Yield what a tree imports, and whether inside a function; not what only type checkers import."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _imports(ast.Module(child.orelse, []), inside=inside)
        elif isinstance(child, ast.ImportFrom):
            for name in child.names:
                yield Import(child.module or "", name.name, child.lineno, inside)
        elif isinstance(child, ast.Import):
            for name in child.names:
                yield Import(name.name, "", child.lineno, inside)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(child, inside=inside or function)


def lazy_imports(module: Module) -> int:
    r"""Return how many lines inside functions import modules of the package.

    Examples
    --------
    >>> code = "import skedasis\ndef f():\n    from skedasis.a import b, c\n    import numpy"
    >>> lazy_imports(Module("m", code))
    1
    """
    return len(
        {i.line for i in _imports(module.tree) if i.inside and i.module.split(".")[0] == PACKAGE}
    )


def dependencies(package: Iterable[Module]) -> dict[str, set[str]]:
    """Return the modules that each module imports, inside functions too, but not for type checkers only."""
    package = list(package)
    names = {m.name for m in package}
    graph: dict[str, set[str]] = {}
    for m in package:
        found = {
            full if (full := f"{i.module}.{i.name}") in names else i.module
            for i in _imports(m.tree)
        }
        graph[m.name] = (found & names) - {m.name}
    return graph


def circles(graph: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """Return the sets of modules that import each other, the largest first.

    Examples
    --------
    >>> [sorted(c) for c in circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})]
    [['a', 'b', 'c']]
    """
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = list(graph[start])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += graph.get(at, ())
        reached[start] = seen
    found = {frozenset(b for b in reached[a] if a in reached[b]) for a in graph if a in reached[a]}
    return sorted(found, key=lambda circle: (-len(circle), sorted(circle)))


# --- faults ---------------------------------------------------------------------------------------


def counts(package: Iterable[Module]) -> dict[str, Budget]:
    """Return what each part of the package has."""
    package = list(package)
    each = anys(package)
    found: dict[str, Budget] = {}
    for m in package:
        one = (each[m.name], introspection(m), lazy_imports(m), comparisons_with_none(m))
        before = found.get(m.part, Budget())
        found[m.part] = Budget(*(a + b for a, b in zip(before, one, strict=True)))
    return found


def faults(
    package: Iterable[Module],
    budgets: Mapping[str, Budget] = BUDGETS,
    introspective: Collection[str] = INTROSPECTIVE,
    lazy: Collection[str] = LAZY,
) -> list[str]:
    """Return a line for each budget that does not fit, each module that a list lacks or need not name, each circle."""
    package = list(package)
    found = [
        f"{part}: {has} of {what!r}, {'at most' if has > allowed else 'lower its budget of'} {allowed}"
        for part, one in counts(package).items()
        for what, has, allowed in zip(Budget._fields, one, budgets.get(part, Budget()), strict=True)
        if has != allowed
    ]
    for m in package:
        name = m.name.removeprefix(f"{PACKAGE}.")
        if introspection(m) and name not in introspective:
            found.append(f"{name}: getattr or hasattr; declare the attribute, or list the module")
        if lazy_imports(m) and name not in lazy:
            found.append(f"{name}: an import inside a function; import above, or list the module")
        if name in introspective and not introspection(m):
            found.append(f"{name}: no getattr or hasattr; remove it from the list")
        if name in lazy and not lazy_imports(m):
            found.append(f"{name}: no import inside a function; remove it from the list")
    closed = circles(dependencies(package))
    return found + [f"modules that import each other: {', '.join(sorted(c))}" for c in closed]


def table(package: Iterable[Module]) -> str:
    """Return what each part of the package has, as rows of `BUDGETS`, and the circles."""
    package = list(package)
    each = counts(package)
    rows = [
        f'    "{part}": Budget({", ".join(f"{k}={v}" for k, v in one._asdict().items() if v)}),'
        for part, one in sorted(each.items())
        if any(one)
    ]
    total = Budget(*(sum(column) for column in zip(*each.values(), strict=True)))
    found = [
        f"# {len(circle)} modules: {', '.join(sorted(circle))}"
        for circle in circles(dependencies(package))
    ]
    return "\n".join([*rows, f"# {total}", *found])


def main(arguments: list[str]) -> int:
    """Print the faults, or what each part has, and return the exit status."""
    package = modules()
    if "--table" in arguments:
        print(table(package))
        return 0
    found = faults(package)
    print("\n".join(found) if found else "the structure is within its budgets, without circles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
