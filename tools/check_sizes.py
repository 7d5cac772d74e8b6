"""Fail where a file or a function has outgrown what a reader takes in at once.

A file has at most 400 lines, a function at most 40. A function's docstring does not count:
explaining must never cost room. Its signature, comments and blank lines do.

    python tools/check_sizes.py src
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 400
FUNCTION_LINES = 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


def function_lines(function: Function) -> int:
    r"""Return a function's number of lines, from `def` to its end, less the docstring.

    Examples
    --------
    >>> tree = ast.parse("def f(x):\n    'Add one.'\n    return x + 1\n")
    >>> function_lines(tree.body[0])
    2
    """
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def complaints(path: Path) -> Iterator[str]:
    """Give one sentence for each thing in a file that is too long."""
    source = path.read_text(encoding="utf-8")
    length = len(source.splitlines())
    if length > FILE_LINES:
        yield f"{path}: {length} lines, at most {FILE_LINES}. Split it by what it is about."
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if isinstance(node, Function) and (lines := function_lines(node)) > FUNCTION_LINES:
            yield (
                f"{path}:{node.lineno}: {node.name}() has {lines} lines without its docstring, "
                f"at most {FUNCTION_LINES}. Name a part of it."
            )


def main(folders: list[str]) -> int:
    """Check every Python file below the folders; return the exit status."""
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    if not files:
        print(f"check_sizes: no Python file below {folders or 'nothing'}. Name a folder: src")
        return 2
    found = [complaint for path in files for complaint in complaints(path)]
    print("\n".join(found) or f"check_sizes: {len(files)} files, none too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
