"""Check that retired names and phrases do not return, and that docstrings name existing parameters.

`python -m tools.words` prints what is wrong.

Each concept has one name (see the table of terms in CONTRIBUTING.md), and the text is plain technical English. Names
are read from the syntax tree of the package: functions, classes, parameters, fields and constants that are defined, and
names of files. Phrases are searched in the package, its templates, and the documentation. Docstrings of functions are
compared with the signatures, because a renamed parameter is easily forgotten there.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

NAMES = {
    "Asked": "the name of the options",
    "Bound": "BatchEvaluator",
    "Chance": "NullDistribution",
    "Deal": "PermutationPlan",
    "Flag": "Check",
    "Kept": "RowStore",
    "Meter": "CallStats",
    "Pace": "ChunkedCaller",
    "Rise": "ElevatedRegion",
    "Risk": "PenalizedLikelihood",
    "Source": "Dataset",
    "StandIn": "TreeModelProxy",
    "Tape": "ResponseCache",
    "Told": "ModelSection",
    "Traits": "DerivativeInfo",
    "Trust": "Checks",
    "apart": "missing_marker",
    "borrow": "fill_from_neighbors, or donor rows",
    "borrowed": "fill_from_neighbors, or donor rows",
    "chance": "null_distribution",
    "freedom": "df",
    "heed": "warn_unused_arguments",
    "lenders": "donors",
    "rows_wanted": "n_rows_to_keep",
    "redrawn": "bootstrap_from_moments",
    "rechosen": "bootstrap_with_rebinning",
    "rises": "elevated_regions",
    "strewn": "jittered",
    "settled": "the name of the result",
    "sharpened": "refine_edges",
    "told": "the name of what it is",
    "traits": "derivative_info",
    "walked": "tree evaluation",
    "wished": "n_requested",
}
"""Retired name → what to use."""

PHRASES = {
    r"\bheed": "warn about, regard",
    r"\bin vain\b": "that has no effect",
    r"\bthereof\b": "of it",
    r"\bwhoever\b": "users who",
    r"\bact together\b": "interact",
    r"\bstands? high\b": "is elevated",
    r"\bto be minded\b": "caution",
    r"\btaken at its word\b": "read at face value",
    r"\bnot told from\b": "not significantly different from",
    r"\bwhat there is to (?:object|tell|see)\b": "name the thing",
    r"\bwhat is to be seen\b": "figure, content",
    r"\bnobody'?s?\b": "no function, no user",
    r"\bstray(?:s|ed|ing)?\b": "differ, outlier",
    r"\bborrow(?:s|ed|ing)?\b": "use that of the neighbour, donor row",
    r"\blends? (?:its|their|values)\b": "donor row",
    r"\bsays nothing of\b": "has no",
    r"\btheir kin\b": "related methods",
    r"\bact as one\b": "are replaced together",
}
"""Regular expression of a retired phrase → what to write."""

_ANY = re.compile("|".join(PHRASES), re.IGNORECASE)
"""Nearly all files have none of the phrases: one search says so for all lines."""
TEXTS = ("src/**/*.py", "src/**/*.j2", "docs/**/*.md", "*.md", "tools/*.py", "benchmarks/*.md")
EXEMPT = {"CHANGELOG.md", "tools/words.py"}


def defined(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a module defines, with their lines.

    Examples
    --------
    >>> list(defined(ast.parse("def told(apart): ...")))
    [('told', 1), ('apart', 1)]
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.lineno


def documented(docstring: str) -> list[str]:
    """Return the names in the section "Parameters" of a numpydoc docstring."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)", docstring, re.MULTILINE | re.DOTALL
    )
    heads = re.findall(r"^([\w*][\w*, ]*?)(?: :.*)?$", section[1], re.MULTILINE) if section else []
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def undefined(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Yield functions whose docstring has a parameter that they lack, the parameter, and the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            of = node.args
            others = [a for a in (of.vararg, of.kwarg) if a is not None]
            known = {a.arg for a in (*of.posonlyargs, *of.args, *of.kwonlyargs, *others)}
            for name in documented(ast.get_docstring(node) or ""):
                # A function that passes options on documents them, too: only old names are certainly wrong there.
                if name not in known and (of.kwarg is None):
                    yield node.name, name, node.lineno


def faults(root: Path = ROOT) -> list[str]:
    """Return one line for each retired name or phrase, and for each parameter of a docstring that does not exist."""
    found: list[str] = []
    for path in sorted((root / "src").rglob("*.py")):
        where, tree = path.relative_to(root), ast.parse(path.read_text("utf-8"))
        names = [(path.stem, 1), *defined(tree)]
        found += [
            f"{where}:{line}: {name!r} is retired: {NAMES[name]}"
            for name, line in names
            if name in NAMES
        ]
        found += [
            f"{where}:{line}: the docstring of {function!r} has a parameter {name!r}, which it lacks"
            for function, name, line in undefined(tree)
        ]
    for path in sorted({p for pattern in TEXTS for p in root.glob(pattern)}):
        where = path.relative_to(root)
        if str(where) in EXEMPT:
            continue
        text = path.read_text("utf-8")
        for number, line in enumerate(text.splitlines() if _ANY.search(text) else (), 1):
            found += [
                f"{where}:{number}: {match.group(0)!r} is retired: {PHRASES[phrase]}"
                for phrase in PHRASES
                for match in re.finditer(phrase, line, re.IGNORECASE)
            ]
    return found


def main() -> int:
    """Print the faults, and return the exit status."""
    found = faults()
    print("\n".join(found) if found else "no retired names or phrases, and no unknown parameters")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
