"""Measure how many faults the tests see: change the code in small ways and run the tests that execute the change.

``python -m tools.mutants --record`` runs the tests once and notes which of them execute which lines
(``build/mutants/executed.json``). ``python -m tools.mutants stats methods --sample 200 --seed 0`` then draws mutants,
as many from each module as its share of the lines of code, and prints those that no test sees. ``--write`` adds the
outcome to ``tests/mutants/RESULTS.md``.

A mutant differs from the code in one place: a comparison, an operator, a constant, a condition, a slice, a keyword
argument or a statement (`_Places`). Its tests run in a forked process, in which the code object of the function is
replaced, so that nothing is imported or collected again. A mutant is *seen* if a test fails, or if the tests take
several times as long as without it. Tests run in the order of their time, up to a limit in total (``--seconds``): a
mutant that is not seen may be seen by slower tests.

No mutants are made where none could be seen: in messages, docstrings, annotations, types of arrays, suppressed
warnings, ``__repr__``, and what decides only how rows are divided into batches and calls. Those that change no result
are listed with a reason in ``tests/mutants/equivalent.toml``, and are not counted. Constants and defaults
outside functions are not mutated.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
import json
import math
import os
import random
import signal
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeGuard

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "skedasis"
PACKAGES = ("stats", "methods", "trees")
EXECUTED = ROOT / "build" / "mutants" / "executed.json"
FOLDER = ROOT / "tests" / "mutants"
TESTS = ("tests/unit", "tests/laws", "tests/reference")
USUAL = "not long and not torch and not optional"
"""Marks of the tests that may see a mutant: those of `make test` and, of `make test-rest`, those without further
libraries."""

_PYTEST = ("-q", "-s", "-p", "no:faulthandler", "-p", "no:xdist", "-p", "no:cacheprovider")

# ------------------------------------------------------------------------------------------- mutants


@dataclass(frozen=True)
class Mutant:
    """A change of the code in one place.

    Parameters
    ----------
    module : str
        The file below `src/skedasis`.
    function : str
        Qualified name of the outermost function that contains the place.
    first : int
        First line of this function's code, decorators included.
    number : int
        The number of the change among those of the module.
    line, lines : int, list of int
        The line of the place; those of its statement.
    was, becomes : str
        The source before and after.
    """

    module: str
    function: str
    first: int
    number: int
    line: int
    lines: tuple[int, ...]
    was: str
    becomes: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.function}: {self.was}  →  {self.becomes}"


_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("nanmin", "nanmax"),
    ("fmin", "fmax"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("left", "right"),
)
_OPPOSITES = dict(_PAIRS) | {second: first for first, second in _PAIRS}
"""Functions, methods and sides (of `searchsorted` and of cells) → what they are mistaken for."""
_IDENTITIES = frozenset(["abs", "sqrt", "cumsum", "sort", "unique", "square"])
"""Functions that a mutant replaces by their argument."""
_UNSEEN_KEYWORDS = frozenset(
    ["dtype", "copy", "strict", "out", "fix", "expected", "kind", "optimize"]
)
"""Keywords that change types, memory, messages or algorithms, but no number."""
_UNSEEN_CALLS = frozenset(
    ["warn", "warn_caller", "warn_once", "errstate", "cast", "field", "TypeVar"]
)
"""Calls in whose arguments no mutants are made."""
_UNSEEN_FUNCTIONS = frozenset(
    ["__repr__", "__str__", "row_bytes", "floats_per_row", "points_per_call"]
)
"""Functions in which no mutants are made: texts, and what decides only how work is divided into batches and calls."""
_PERFORMANCE = frozenset(["kernels_pay", "has_numba"])
"""Calls in conditions that choose between compiled code and NumPy, whose results are the same."""

Change = Callable[[ast.AST], ast.AST | None]
"""Returns the node to put in place of a node; it may change and return the node itself, and None removes it."""


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


class _Places(ast.NodeTransformer):
    """Counts the changes of a module; makes the one of a given number.

    Parameters
    ----------
    wanted : int
        The number of the change to make; -1 makes none.
    """

    def __init__(self, module: str, wanted: int = -1) -> None:
        self.module, self.wanted = module, wanted
        self.found: list[Mutant] = []
        self._scope: list[ast.AST] = []
        self._statement: ast.stmt | None = None

    def visit(self, node: ast.AST) -> ast.AST | None:
        """Visit a node: list its own changes, then those of what it contains."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self._visit_function(node)
        if isinstance(node, ast.ClassDef):
            self._scope.append(node)
            node.body = [kept for part in node.body if (kept := self.visit(part)) is not None]
            self._scope.pop()
            return node
        if not any(isinstance(s, ast.FunctionDef) for s in self._scope):
            return node if isinstance(node, ast.stmt) else self.generic_visit(node)
        outer = self._statement
        if isinstance(node, ast.stmt):
            self._statement = node
        try:
            if _is_performance(node):
                node.body = self._block(node.body)
                return node
            for change in _changes(node):
                changed = self._note(node, change)
                if changed is not node:
                    return changed
            self._visit_children(node)
        finally:
            self._statement = outer
        return node

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        is_unseen = node.name in _UNSEEN_FUNCTIONS or any(
            "overload" in ast.unparse(d) for d in node.decorator_list
        )
        if not is_unseen:
            self._scope.append(node)
            node.body = self._block(node.body)
            self._scope.pop()
        return node

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(part) for part in body]
        return [part for part in found if isinstance(part, ast.stmt)] or [ast.Pass()]

    def _visit_children(self, node: ast.AST) -> None:
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Call) and _called(node) in _UNSEEN_CALLS:
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params"):
                continue
            if isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    setattr(node, name, self._block(value))
                else:
                    setattr(node, name, [self._child(part) for part in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self._child(value))

    def _child(self, part: object) -> object:
        if isinstance(part, ast.keyword) and part.arg in _UNSEEN_KEYWORDS:
            return part
        return self.visit(part) if isinstance(part, ast.AST) else part

    def _note(self, node: ast.AST, change: Change) -> ast.AST | None:
        """List a change of a node, and make it if it is the wanted one."""
        number = len(self.found)
        is_wanted = number == self.wanted
        statement = self._statement
        if statement is None:
            return node
        changed = change(node if is_wanted else copy.deepcopy(node))
        start = next(
            s for s in self._scope if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        names = self._scope[: self._scope.index(start) + 1]
        self.found.append(
            Mutant(
                self.module,
                ".".join(s.name for s in names if isinstance(s, ast.ClassDef | ast.FunctionDef)),
                min([start.lineno, *(d.lineno for d in start.decorator_list)]),
                number,
                getattr(node, "lineno", statement.lineno),
                tuple(_header(statement)),
                _source(statement, node, node) if not is_wanted else "",
                _source(statement, node, changed) if not is_wanted else "",
            )
        )
        return changed if is_wanted else node


def _is_performance(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Call) and _called(part) in _PERFORMANCE for part in ast.walk(node.test)
    )


def _header(statement: ast.stmt) -> range:
    """Return the lines of a statement without the statements that it contains."""
    inner = [part.lineno for part in ast.walk(statement) if isinstance(part, ast.stmt)]
    inner = [line for line in inner if line > statement.lineno]
    body = getattr(statement, "body", None)
    end = min(inner) - 1 if body and inner else statement.end_lineno or statement.lineno
    return range(statement.lineno, end + 1)


def _source(statement: ast.stmt, node: ast.AST, changed: ast.AST | None) -> str:
    """Return the source of a changed node; of a change that is too small to be understood alone, what surrounds it."""
    if changed is None or isinstance(changed, ast.Pass):
        return "(removed)"
    if isinstance(node, ast.Constant | ast.keyword | ast.Compare | ast.BinOp | ast.stmt):
        surrounding = _parent(statement, node)
        if isinstance(node, ast.Constant | ast.keyword) and surrounding is not None:
            return _replaced(surrounding, node, changed)
    text = ast.unparse(changed).splitlines()
    return text[0] + (" pass" if isinstance(changed, ast.If) and text[1].strip() == "pass" else "")


def _parent(statement: ast.stmt, node: ast.AST) -> ast.expr | None:
    parents = [p for p in ast.walk(statement) if node in ast.iter_child_nodes(p)]
    return parents[0] if parents and isinstance(parents[0], ast.expr) else None


def _replaced(surrounding: ast.expr, node: ast.AST, changed: ast.AST) -> str:
    """Return the source of an expression in which a part is replaced."""
    twin = copy.copy(surrounding)
    for name, value in ast.iter_fields(surrounding):
        if value is node:
            setattr(twin, name, changed)
        elif isinstance(value, list) and node in value:
            setattr(twin, name, [changed if part is node else part for part in value])
    return ast.unparse(twin)


# ----------------------------------------------------------------------------- the kinds of changes


def _changes(node: ast.AST) -> Iterator[Change]:
    """Yield the changes of a node itself."""
    for kind, changes in _KINDS:
        if isinstance(node, kind):
            yield from changes(node)


def _of_comparison(node: ast.Compare) -> Iterator[Change]:
    for i, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            yield lambda n, i=i, other=other: _set(n, ops=_at(n.ops, i, other()))


def _of_operator(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    other = _OPERATORS.get(type(node.op))
    if other is not None and not (isinstance(node, ast.BinOp) and _is_text(node)):
        yield lambda n: _set(n, op=other())


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in (node.left, node.right)
    )


def _of_logic(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or if isinstance(node.op, ast.And) else ast.And
    yield lambda n: _set(n, op=other())
    for i in range(len(node.values)):
        yield (
            lambda n, i=i: (
                n.values[1 - i]
                if len(n.values) == 2
                else _set(n, values=[v for j, v in enumerate(n.values) if j != i])
            )
        )


def _of_unary(_: ast.UnaryOp) -> Iterator[Change]:
    yield lambda n: n.operand


def _of_condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    # The negation of a comparison is among the changes of its operator.
    if not isinstance(node.test, ast.UnaryOp | ast.Compare):
        yield lambda n: _set(n, test=_not(n.test))


def _not(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _of_comprehension(node: ast.comprehension) -> Iterator[Change]:
    if node.ifs:
        yield lambda n: _set(n, ifs=[])


def _of_constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield lambda n: _set(n, value=not value)
    elif isinstance(value, int):
        yield lambda n: _set(n, value=value + 1)
        if value != 0:  # `> -1` is `> 0` or `>= 0` for whole numbers
            yield lambda n: _set(n, value=value - 1)
    elif isinstance(value, float) and math.isfinite(value):
        yield lambda n: _set(n, value=value + 1.0)
        if value != 0:
            yield lambda n: _set(n, value=value * 0.9)
    elif isinstance(value, str) and value in ("left", "right"):
        yield lambda n: _set(n, value=_OPPOSITES[value])


def _of_slice(node: ast.Slice) -> Iterator[Change]:
    for bound in ("lower", "upper"):
        value = getattr(node, bound)
        if value is None:
            continue
        yield lambda n, bound=bound: _set(n, **{bound: None})
        if not isinstance(value, ast.Constant):
            yield lambda n, bound=bound: _set(n, **{bound: _plus_one(getattr(n, bound))})


def _plus_one(value: ast.expr) -> ast.expr:
    return ast.copy_location(
        ast.BinOp(value, ast.Add(), ast.copy_location(ast.Constant(1), value)), value
    )


def _of_call(node: ast.Call) -> Iterator[Change]:
    name = _called(node)
    if name in _UNSEEN_CALLS:
        return
    if name in _OPPOSITES and name not in ("left", "right"):
        yield lambda n: _renamed(n, _OPPOSITES[name])
    if name in _IDENTITIES and len(node.args) == 1:
        yield lambda n: n.args[0]
    for i, keyword in enumerate(node.keywords):
        if keyword.arg is not None and keyword.arg not in _UNSEEN_KEYWORDS:
            yield lambda n, i=i: _set(n, keywords=[k for j, k in enumerate(n.keywords) if j != i])


def _renamed(call: ast.Call, name: str) -> ast.Call:
    return _set(
        call,
        func=_set(call.func, **{"attr" if isinstance(call.func, ast.Attribute) else "id": name}),
    )


def _of_statement(node: ast.stmt) -> Iterator[Change]:
    """Remove a statement that defines no name; others would only raise a NameError."""
    is_removable = isinstance(node, ast.AugAssign | ast.Continue | ast.Break | ast.Raise) or (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and _called(node.value) not in _UNSEEN_CALLS - {"warn_caller", "warn_once"}
    )
    if isinstance(node, ast.Assign):
        is_removable = all(isinstance(t, ast.Subscript | ast.Attribute) for t in node.targets)
    if is_removable:
        yield lambda n: ast.copy_location(ast.Pass(), n)


def _of_branch(node: ast.If) -> Iterator[Change]:
    """Leave out a branch that returns early."""
    if not node.orelse and isinstance(node.body[-1], ast.Return):
        yield lambda n: _set(n, body=[ast.copy_location(ast.Pass(), n.body[0])])


_KINDS: tuple[tuple[type | tuple[type, ...], Callable[..., Iterator[Change]]], ...] = (
    (ast.stmt, _of_statement),
    (ast.If, _of_branch),
    (ast.Compare, _of_comparison),
    ((ast.BinOp, ast.AugAssign), _of_operator),
    (ast.BoolOp, _of_logic),
    (ast.UnaryOp, _of_unary),
    ((ast.If, ast.IfExp, ast.While), _of_condition),
    (ast.comprehension, _of_comprehension),
    (ast.Constant, _of_constant),
    (ast.Slice, _of_slice),
    (ast.Call, _of_call),
)


def _set(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _at(values: list[ast.cmpop], i: int, value: ast.cmpop) -> list[ast.cmpop]:
    return [*values[:i], value, *values[i + 1 :]]


def mutants(module: str, source: str | None = None) -> list[Mutant]:
    r"""Return all changes of a module.

    Examples
    --------
    >>> code = "def area(width, height=1):\n    return width * height"
    >>> [str(m) for m in mutants("a.py", code)]
    ['a.py:2 area: width * height  →  width / height']
    """
    places = _Places(module)
    places.visit(ast.parse(_text(module, source)))
    return places.found


def mutated(mutant: Mutant, source: str | None = None) -> CodeType:
    """Return the code of the mutant's module, with its change."""
    tree = _Places(mutant.module, mutant.number).visit(ast.parse(_text(mutant.module, source)))
    if not isinstance(tree, ast.Module):
        raise TypeError(f"a change of {mutant.module} gave no module")
    return compile(ast.fix_missing_locations(tree), str(SOURCE / mutant.module), "exec")


def _text(module: str, source: str | None) -> str:
    return (SOURCE / module).read_text(encoding="utf-8") if source is None else source


def lines_of_code(module: str) -> int:
    """Return how many lines of a module have statements, without docstrings."""
    tree = ast.parse(_text(module, None))
    statements = [n for n in ast.walk(tree) if isinstance(n, ast.stmt)]
    texts = [n for n in statements if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return len({n.lineno for n in statements} - {n.lineno for n in texts})


def sample(packages: Iterable[str], size: int, seed: int) -> list[Mutant]:
    """Return mutants of the packages or modules, in proportion to the lines of each module, one of a place."""
    names = [
        str(path.relative_to(SOURCE))
        for name in packages
        for path in sorted(
            (SOURCE / name).glob("*.py") if (SOURCE / name).is_dir() else [SOURCE / name]
        )
    ]
    lines = {name: lines_of_code(name) for name in names}
    chosen: list[Mutant] = []
    total = done = 0
    for name in names:
        total += lines[name]
        # The whole sample is divided without a remainder.
        count = round(size * total / sum(lines.values())) - done
        done += count
        found = mutants(name)
        random.Random(f"{seed} {name}").shuffle(found)  # noqa: S311 - a sample, no secret
        places: set[tuple[int, str]] = set()
        for mutant in found:
            place = mutant.line, mutant.was
            if len(places) < count and place not in places:
                places.add(place)
                chosen.append(mutant)
    # Where the time ends the run, the mutants before are a sample of all modules, too.
    random.Random(seed).shuffle(chosen)  # noqa: S311
    return chosen


# ------------------------------------------------------------------- which tests execute which lines


class _Recorder:
    """A plugin of pytest that runs some cases of each test and notes the lines that they execute.

    Parameters
    ----------
    cases : int
        Cases of a test with parameters that run, evenly chosen.
    slowest : float
        Tests that take more seconds are not noted.
    """

    def __init__(self, cases: int, slowest: float) -> None:
        import coverage

        self.cases, self.slowest = cases, slowest
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        include = [str(SOURCE / name / "*") for name in PACKAGES]
        self.coverage = coverage.Coverage(data_file=None, include=include, config_file=False)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        groups: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            groups[item.nodeid.partition("[")[0]].append(item)
        kept: set[pytest.Item] = set()
        for group in groups.values():
            step = max(1, -(-len(group) // self.cases))
            kept.update(group[::step])
        items[:] = [item for item in items if item in kept]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)

    def write(self, file: Path) -> None:
        """Write the table of lines, and the seconds of each test."""
        data = self.coverage.get_data()
        good = [t for t, s in self.seconds.items() if s <= self.slowest and t not in self.failed]
        index = {test: i for i, test in enumerate(good)}
        lines: dict[str, dict[str, list[int]]] = {}
        for measured in sorted(data.measured_files()):
            lines[str(Path(measured).relative_to(SOURCE))] = {
                str(line): sorted(index[test] for test in contexts if test in index)
                for line, contexts in sorted(data.contexts_by_lineno(measured).items())
            }
        file.parent.mkdir(parents=True, exist_ok=True)
        tests = {test: round(self.seconds[test], 4) for test in good}
        file.write_text(json.dumps({"tests": tests, "lines": lines}), encoding="utf-8")
        print(f"{len(good)} tests, {len(self.failed)} failed or skipped")


def record(file: Path, arguments: Sequence[str], cases: int, slowest: float) -> None:
    """Run the tests and write which lines they execute."""
    recorder = _Recorder(cases, slowest)
    recorder.coverage.start()
    pytest.main(
        [*_PYTEST, "-m", USUAL, *arguments],
        [recorder],
    )
    recorder.coverage.stop()
    recorder.write(file)


def _report_first_failure(items: Iterable[pytest.Item]) -> None:
    """Let hypothesis report the first failure that it finds: to look for a simpler one takes minutes."""
    from hypothesis import Phase, settings

    name = "_hypothesis_internal_use_settings"
    for item in items:
        function = getattr(item, "function", None)
        own = getattr(function, name, None)
        if own is not None:
            quick = settings(own, phases=(Phase.explicit, Phase.generate))
            setattr(getattr(function, "__func__", function), name, quick)


# ------------------------------------------------------------------------------ running the mutants


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Parameters
    ----------
    mutant : Mutant
    seen : str
        The test that failed, "time" or "crash"; empty if no test sees the mutant.
    tests, seconds : int, float
        The tests that were chosen for it, and what they take without it.
    """

    mutant: Mutant
    seen: str
    tests: int
    seconds: float


class _Runner:
    """A plugin of pytest that collects the tests once and runs those of each mutant in a forked process.

    Parameters
    ----------
    chosen : list of (Mutant, list of str, float)
        Mutants, the tests of each in their order, and the seconds that these take without it.
    seconds : dict of str to float
        Of each recorded test.
    limit : float
        Of the seconds of a mutant's tests.
    minutes : float
        No further mutant is begun after so many minutes.
    """

    def __init__(
        self,
        chosen: list[tuple[Mutant, list[str], float]],
        seconds: Mapping[str, float],
        limit: float,
        minutes: float,
    ) -> None:
        self.chosen, self.seconds, self.limit, self.minutes = chosen, seconds, limit, minutes
        self._items: dict[str, pytest.Item] = {}
        self.outcomes: list[Outcome] = []
        self._answer: int | None = None
        self._good: set[tuple[str, bool]] = set()
        self._bad: set[tuple[str, bool]] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the forked process: stop at the first failure."""
        if self._answer is not None and report.failed:
            os.write(self._answer, _FAILED)
            os._exit(1)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the mutants instead of the tests."""
        items = self._items = {item.nodeid: item for item in session.items}
        _report_first_failure(session.items)
        gc.freeze()  # a collection in a forked process would copy all that the tests share
        end = time.monotonic() + 60 * self.minutes
        for mutant, tests, seconds in self.chosen:
            if time.monotonic() > end:
                break
            selected = [items[test] for test in tests if test in items]
            further = self._further_cases(selected, seconds)
            seen = self._seen(mutant, selected + further, self.limit if further else seconds)
            if seen is None:
                print(f"\nnot possible: {mutant}", end="", flush=True)
                continue
            self.outcomes.append(Outcome(mutant, seen, len(selected) + len(further), seconds))
            print(
                "." if seen else f"\n{mutant}  [{len(selected) + len(further)} tests]",
                end="",
                flush=True,
            )
        return True

    def _further_cases(self, selected: list[pytest.Item], seconds: float) -> list[pytest.Item]:
        """Return further cases of the selected tests, which were not recorded, within the limit of time.

        They are taken in turns of all tests, and expected to take as long as what is recorded of the same test.
        """
        known = {item.nodeid for item in selected}
        cost = {item.nodeid.partition("[")[0]: self.seconds[item.nodeid] for item in selected}
        turns: dict[str, int] = defaultdict(int)
        found: list[tuple[int, float, str]] = []
        for name in self._items:
            test = name.partition("[")[0]
            if test in cost and name not in known:
                found.append((turns[test], cost[test], name))
                turns[test] += 1
        further: list[pytest.Item] = []
        for _, expected, name in sorted(found):
            seconds += expected
            if seconds > self.limit:
                break
            further.append(self._items[name])
        return further

    def _seen(self, mutant: Mutant, selected: list[pytest.Item], seconds: float) -> str | None:
        """Return the test that sees a mutant, an empty text if none does, or None if there is no such mutant.

        A test that fails without the mutant, too, is left out, as most of those of kernels that run as Python, and one
        that waits for a thread that the fork did not copy.
        """
        is_kernel = mutant.module.endswith("_kernels.py")
        by_name = {item.nodeid: item for item in selected}
        while True:
            usable = [item for name, item in by_name.items() if (name, is_kernel) not in self._bad]
            how, test = _in_a_process(partial(self._run, mutant, usable), seconds)
            if how == "impossible":
                return None
            if how in ("passed", "time", "crash"):
                return "" if how == "passed" else how
            if how == "failed" and (test, is_kernel) in self._good:
                return test
            unchanged = partial(self._run, mutant, [by_name[test]], change=False)
            if how == "waiting" or _in_a_process(unchanged, seconds)[0] != "passed":
                self._bad.add((test, is_kernel))
            else:
                self._good.add((test, is_kernel))

    def _run(
        self, mutant: Mutant, items: list[pytest.Item], report: int, *, change: bool = True
    ) -> None:
        """In a forked process: make the change and run the tests, up to the first failure."""
        self._answer = report
        if mutant.module.endswith("_kernels.py"):
            _interpret_kernels()
        if change:
            try:
                apply(mutant)
            except (LookupError, SyntaxError, ValueError):
                os.write(report, b"impossible")
                return
        for item, following in zip_longest(items, items[1:]):
            os.write(report, f"{item.nodeid}\n".encode())
            signal.alarm(60 + int(20 * self.seconds.get(item.nodeid, 1.0)))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os.write(report, b"passed")


_FAILED = b"failed"


def _in_a_process(work: Callable[[int], None], seconds: float) -> tuple[str, str]:
    """Run tests in a forked process, and return how they end and the name of the last one.

    The work writes the name of each test to a file descriptor before it begins, and at last "passed", "failed" or
    "impossible". Else the end is "time", "crash", or "waiting" for something that does not come.

    Parameters
    ----------
    work : callable
    seconds : float
        What the work is expected to take. The limit is in seconds of the processor, so that other work on the machine
        does not matter, and a multiple of it in seconds.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            limit = int(10 + 4 * seconds)
            import resource  # which Windows does not have

            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))
            work(writing)
        except BaseException:  # noqa: BLE001 - whatever ends a test otherwise is a failure
            os._exit(3)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        *names, end = pipe.read().split("\n")
    _, status = os.waitpid(child, 0)
    test = names[-1] if names else ""
    if end:
        return end, test
    if not os.WIFSIGNALED(status):
        return "crash", test
    return ("waiting" if os.WTERMSIG(status) == signal.SIGALRM else "time"), test


def _interpret_kernels() -> None:
    """Run kernels as Python: compiled code is cached, and would not have the change."""
    import numba

    from skedasis import _compilation

    numba.config.DISABLE_JIT = True
    _compilation._compiled.cache_clear()  # noqa: SLF001


def apply(mutant: Mutant) -> None:
    """Replace the code of the mutant's function in this process."""
    # Modules are imported when they are first used.
    importlib.import_module("skedasis." + mutant.module.removesuffix(".py").replace("/", "."))
    code = _find(mutated(mutant), mutant)
    path = str(SOURCE / mutant.module)
    replaced = 0
    gc.unfreeze()
    objects = gc.get_objects()
    gc.freeze()
    for found in objects:
        if type(found) is not FunctionType or found.__code__.co_filename != path:
            continue
        own = found.__code__
        if own.co_qualname == mutant.function and own.co_firstlineno == mutant.first:
            found.__code__ = code
            replaced += 1
    if not replaced:
        raise LookupError(f"no function {mutant.function} in {mutant.module}")


def _find(code: CodeType, mutant: Mutant) -> CodeType:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_qualname == mutant.function and part.co_firstlineno == mutant.first:
                return part
            if mutant.function.startswith(part.co_qualname + "."):
                return _find(part, mutant)
    raise LookupError(f"no code of {mutant.function} in {mutant.module}")


def select_tests(
    mutant: Mutant,
    seconds: Mapping[str, float],
    lines: Mapping[str, Mapping[str, Sequence[int]]],
    limit: float,
) -> tuple[list[str], float]:
    """Return the tests to run for a mutant, and the seconds they take.

    One case of each test comes before further cases, and fast tests before slow ones, until the limit is reached.
    Then they are sorted by file, so that what the tests of a file share is made once.
    """
    names = list(seconds)
    executed = lines.get(mutant.module, {})
    found = {names[i] for line in mutant.lines for i in executed.get(str(line), ())}
    cases: dict[str, int] = defaultdict(int)
    ordered: list[tuple[int, float, str]] = []
    for test in sorted(found, key=lambda name: (seconds[name], name)):
        function = test.partition("[")[0]
        ordered.append((cases[function], seconds[test], test))
        cases[function] += 1
    kept: list[str] = []
    total = 0.0
    for _, cost, test in sorted(ordered):
        if total + cost > limit and kept:
            break
        kept.append(test)
        total += cost
    files: dict[str, list[float]] = defaultdict(list)
    for test in kept:
        files[test.partition("::")[0]].append(seconds[test])
    mean = {file: sum(costs) / len(costs) for file, costs in files.items()}
    kept.sort(
        key=lambda test: (mean[test.partition("::")[0]], test.partition("::")[0], seconds[test])
    )
    return kept, total


def run(chosen: list[Mutant], file: Path, limit: float, minutes: float) -> list[Outcome]:
    """Run the tests of each mutant."""
    executed = json.loads(file.read_text(encoding="utf-8"))
    tests: list[tuple[Mutant, list[str], float]] = [
        (mutant, *select_tests(mutant, executed["tests"], executed["lines"], limit))
        for mutant in chosen
    ]
    files = sorted({test.partition("::")[0] for _, selected, _ in tests for test in selected})
    if not files:
        return [Outcome(mutant, "", 0, 0.0) for mutant in chosen]
    runner = _Runner(tests, executed["tests"], limit, minutes)
    folder = f"--basetemp=/tmp/mutants-{os.getpid()}"
    pytest.main(
        [*_PYTEST, "-m", USUAL, folder, *files],
        [runner],
    )
    return runner.outcomes


# ------------------------------------------------------------------------------------- the outcome


def wilson(seen: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share.

    Examples
    --------
    >>> wilson(9, 10)
    (0.595..., 0.982...)
    """
    share = seen / count
    centre = share + z**2 / (2 * count)
    half = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (centre - half) / (1 + z**2 / count), (centre + half) / (1 + z**2 / count)


def read_outcomes(file: Path) -> list[Outcome]:
    """Return the outcomes that an earlier run wrote with `--out`."""
    return [
        Outcome(
            **{
                **entry,
                "mutant": Mutant(**{**entry["mutant"], "lines": tuple(entry["mutant"]["lines"])}),
            }
        )
        for entry in json.loads(file.read_text(encoding="utf-8"))
    ]


def share(seen: int, count: int) -> str:
    """Return a share of mutants in words, with its interval."""
    low, high = wilson(seen, count)
    return f"{seen} of {count} mutants seen: {seen / count:.1%} (95 % interval {low:.1%} to {high:.1%})"


def write(options: argparse.Namespace, outcomes: list[Outcome], left_out: list[Mutant]) -> None:
    """Add the outcome of the packages to `results.json`, and write the page that is made of it."""
    file = FOLDER / "results.json"
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    modules: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for outcome in outcomes:
        modules[outcome.mutant.module][0] += 1
        modules[outcome.mutant.module][1] += bool(outcome.seen)
    for mutant in left_out:
        modules[mutant.module][2] += 1
    name = " ".join(options.packages)
    first = [sum(bool(o.seen) for o in outcomes), len(outcomes)]
    if options.again:  # tests may have been added for what was missed
        first = results.get(name, {}).get("first")
    results[name] = {
        "first": first,
        "sample": options.sample,
        "seed": options.seed,
        "seconds": options.seconds,
        "modules": dict(sorted(modules.items())),
        "unseen": [str(o.mutant) for o in outcomes if not o.seen],
    }
    file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (FOLDER / "RESULTS.md").write_text(page(results), encoding="utf-8")


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page of the outcomes."""
    lines = [
        "# How many faults the tests see",
        "",
        "A mutant is a copy of the code with one change: a comparison, an operator, a constant, a condition,",
        "a slice, a keyword argument or a statement. It is *seen* if a test fails. `tools/mutants.py` draws",
        "mutants at random, as many from each module as its share of the lines, and runs tests that execute",
        "the changed lines, fast ones first, up to a limit of time. Slower tests may see more. Mutants that change no",
        "result, with reasons in [equivalent.toml](equivalent.toml), are not counted.",
        "",
        "`make mutants` repeats this. A change of a module changes its mutants, so that the numbers are those of the",
        "code at the time. Mutants that fast tests missed were run again with more of their tests, and tests were",
        "added for some of them: of another sample (another seed) fewer may be seen than the interval says. The file",
        "is made from [results.json](results.json).",
    ]
    for name, found in results.items():
        counted = sum(n for n, _, _ in found["modules"].values())
        seen = sum(n for _, n, _ in found["modules"].values())
        lines += [
            "",
            f"## {name}",
            "",
            (
                f"{share(seen, counted)}. Sample of {found['sample']}, seed {found['seed']}, "
                f"at most {found['seconds']:g} s of tests for each mutant."
            ),
            *_first(found.get("first")),
            "",
            "| module | mutants | seen | not seen | equivalent, not counted |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {m} | {n} | {s} | {n - s} | {e} |" for m, (n, s, e) in found["modules"].items()
        ]
        if found["unseen"]:
            lines += ["", "Not seen:", "", *(f"- `{unseen}`" for unseen in found["unseen"])]
    return "\n".join(lines) + "\n"


def _first(first: Sequence[int] | None) -> Iterator[str]:
    """Yield how many were seen before tests were added for the others; nothing if it is not known."""
    if first is not None:
        yield f"Before tests were added for the others: {share(first[0], first[1])}."


def equivalent(mutant: Mutant) -> str:
    """Return why a mutant changes no result, or an empty text."""
    listed = tomllib.loads((FOLDER / "equivalent.toml").read_text(encoding="utf-8"))
    for entry in listed.get("mutant", []):
        if (entry["module"], entry["function"]) == (mutant.module, mutant.function) and (
            entry["was"] == mutant.was and entry["becomes"] in (mutant.becomes, "*")
        ):
            return entry["reason"]
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the lines that tests execute, or run mutants and print those that no test sees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "packages", nargs="*", default=[], help=f"packages or modules ({', '.join(PACKAGES)})"
    )
    parser.add_argument(
        "--record", action="store_true", help="run the tests and note which lines they execute"
    )
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="the tests to record")
    parser.add_argument(
        "--executed", type=Path, default=EXECUTED, help="the file of executed lines"
    )
    parser.add_argument("--cases", type=int, default=6, help="recorded cases of a test")
    parser.add_argument(
        "--slowest", type=float, default=2.0, help="leave out tests that take more seconds"
    )
    parser.add_argument("--sample", type=int, default=100, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=15.0, help="limit of the tests of a mutant"
    )
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="begin no mutant after so many minutes"
    )
    parser.add_argument("--out", type=Path, help="a file of JSON for the outcome of each mutant")
    parser.add_argument(
        "--write", action="store_true", help="add the outcome to tests/mutants/RESULTS.md"
    )
    parser.add_argument(
        "--again",
        type=Path,
        help="such a file of the same sample: run only those that were not seen",
    )
    options = parser.parse_args(arguments)
    if options.record:
        record(options.executed, options.tests, options.cases, options.slowest)
        return 0
    chosen = sample(options.packages, options.sample, options.seed)
    left_out = [m for m in chosen if equivalent(m)]
    chosen = [m for m in chosen if not equivalent(m)]
    before: list[Outcome] = []
    if options.again:
        names = {str(m) for m in chosen}
        before = [o for o in read_outcomes(options.again) if o.seen and str(o.mutant) in names]
        known = {str(o.mutant) for o in before}
        chosen = [m for m in chosen if str(m) not in known]
    outcomes = before + run(chosen, options.executed, options.seconds, options.minutes)
    if options.out:
        options.out.write_text(
            json.dumps([asdict(o) for o in outcomes], indent=1), encoding="utf-8"
        )
    seen = sum(bool(o.seen) for o in outcomes)
    if not outcomes:
        print("no mutants")
        return 0
    print(f"\n{share(seen, len(outcomes))}; {len(left_out)} equivalent")
    if options.write:
        write(options, outcomes, left_out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
