"""Rows by an expression on columns, such as ``yr == 1 and temp > 0.5``: the option ``--where`` of the commands.

Python's parser reads the expression, and nothing is evaluated by Python: `parse` accepts the few kinds of nodes that
`_Evaluation` knows, and refuses all others. The same evaluation works on arrays in memory (`Where.mask`) and makes an
expression of pyarrow for files that are read in chunks (`Where.expression`), because both have the same operators.

Missing values follow SQL: a comparison with one is neither true nor false, so that ``not (a == 1)`` is ``a != 1``. Each
condition is therefore a pair: where it is true, and where it is false.
"""

from __future__ import annotations

import ast
import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import reduce
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np

from skedasis._types import Bools, Container, Values
from skedasis.data.arrow import ArrowSchema, ArrowType, Expression, compute_functions
from skedasis.data.factorize import missing_mask
from skedasis.data.time_columns import kind_of_column
from skedasis.errors import DataError

_LONGEST = 10_000
"""Most characters of an expression."""

_DEEPEST = 100
"""Most levels of an expression: Python's recursion is limited, and pyarrow's."""

_FORM = "conditions on columns, such as yr == 1 and temp > 0.5"

Kind: TypeAlias = Literal["number", "text", "truth", "time", "empty", "other"]

_HAS: dict[Kind, str] = {
    "number": "numbers",
    "text": "text",
    "truth": "truth values",
    "time": "dates or times",
    "empty": "only missing values",
    "other": "values that cannot be compared",
}


class Mask(Protocol):
    """Truth values: an array, or an expression of pyarrow."""

    def __and__(self, other: Mask, /) -> Mask:
        """Return where both are true."""
        ...

    def __or__(self, other: Mask, /) -> Mask:
        """Return where one of both is true."""
        ...

    def __invert__(self) -> Mask:
        """Return where it is false."""
        ...


Operation: TypeAlias = Callable[[object, object], object]
"""Of two arrays, expressions or constants, which all have the operators of Python."""


# ------------------------------------------------------------------------------------------
# Parsing.


@dataclass(frozen=True)
class Where:
    """An expression that has been read and checked, as far as the names of columns tell.

    Parameters
    ----------
    text : str
        As the user wrote it.
    source : str
        What the parser has read: without spaces at the ends, and with names between backticks replaced by others.
    tree : ast.expr
    names : dict of (int, int) to str
        The column of each name, by its position in the text.
    what : str
        The argument, for messages.
    """

    text: str
    source: str = field(repr=False)
    tree: ast.expr = field(repr=False)
    names: Mapping[tuple[int, int], str]
    what: str

    def part(self, node: ast.expr) -> str:
        """Return the text of a node, as the user wrote it."""
        # Python normalizes names (NFKC), and quoted names are replaced: the text has them as they are.
        start, end = (
            _characters(self.source, k) for k in (node.col_offset, node.end_col_offset or 0)
        )
        shift = len(self.text) - len(self.text.lstrip())
        return self.text[shift + start : shift + end]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that it needs, each once."""
        return tuple(dict.fromkeys(self.names.values()))

    def mask(self, data: Container, names: Sequence[str]) -> Bools:
        """Return for which rows in memory it is true, shape (n,).

        Parameters
        ----------
        data : data frame or ndarray, n rows
        names : sequence of str
            The names of its columns.

        Raises
        ------
        DataError
            For columns and values that cannot be compared.
        """
        columns = {name: _memory_column(data, list(names).index(name)) for name in self.columns}
        with np.errstate(all="ignore"):  # divisions by zero and missing values
            return np.asarray(_Evaluation(self, columns, _IN_MEMORY).truth(self.tree).true)

    def expression(self, schema: ArrowSchema) -> Expression:
        """Return the expression of pyarrow that is true for the same rows.

        Raises
        ------
        DataError
            For columns and values that cannot be compared.
        """
        pc = compute_functions()
        columns = {name: _arrow_column(name, schema.field(name).type) for name in self.columns}
        # Python's operators of expressions raise an error for divisions by zero.
        of_arrow = _Arithmetic(pc.add, pc.subtract, pc.multiply, pc.divide, pc.floor, pc.scalar)
        return cast("Expression", _Evaluation(self, columns, of_arrow).truth(self.tree).true)


def parse(text: str, names: Sequence[str], what: str = "--where") -> Where:
    """Read an expression on columns.

    Parameters
    ----------
    text : str
        Comparisons of columns with numbers, quoted text and each other, also in chains (``3 <= a < 5``); ``in [1, 2]``
        and ``not in``; ``is missing`` and ``is not missing``; ``and``, ``or``, ``not``, or ``&``, ``|``, ``~`` between
        conditions in parentheses; ``+ - * / %`` of numbers. A column of truth values is a condition. Names that are no
        names of Python are written between backticks.
    names : sequence of str
        The columns that there are.
    what : str
        The argument, for messages.

    Returns
    -------
    Where

    Raises
    ------
    DataError
        For anything else, which is never evaluated, and for unknown columns.

    Examples
    --------
    >>> where = parse("2 <= a < 4 or `b c` == 'x'", ["a", "b c"])
    >>> where.columns
    ('a', 'b c')
    >>> parse("a = 1", ["a"])
    Traceback (most recent call last):
    skedasis.errors.DataError: --where: got 'a ^= 1' (the ^ marks the place), expected conditions on columns, such as yr == 1 and temp > 0.5. Write == to compare.
    """  # noqa: E501 - the message is one line
    if len(text) > _LONGEST:
        got = f"{len(text):,} characters"
        raise DataError(what, got, f"at most {_LONGEST:,}", "Filter the rows before")
    source = re.sub(r"[\r\n\t\f\v]", " ", text)
    source = _without_backticks(source, what)
    shift = len(source) - len(source.lstrip())
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        end = len(source.strip())
        # Of a text that ends too early, Python gives no place.
        at = shift + (min(error.offset - 1, end) if error.offset else end)
        raise _syntax(text, at, str(error.msg), what) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise DataError(what, f"{text[:60]!r} ({error})", _FORM, "Write a shorter one") from None
    where = Where(text, source.strip(), tree, {}, what)
    found: dict[tuple[int, int], str] = {}
    _check_depth(tree, where)
    for node in _names_in(tree, where):
        part = where.part(node)
        name = part[1:-1] if part.startswith("`") else part
        if name not in names:
            raise _unknown(name, names, what)
        found[node.col_offset, node.end_col_offset or 0] = name
    if not found:
        raise DataError(what, f"{text[:60]!r}, which names no column", _FORM, "Name a column")
    return replace(where, names=found)


def _without_backticks(text: str, what: str) -> str:
    """Return the text with quoted names replaced by names of Python of the same length."""
    parts: list[str] = []
    at, quote = 0, ""
    while at < len(text):
        c = text[at]
        if quote:
            step = 2 if c == "\\" else 1
            quote = "" if c == quote else quote
        elif c == "`":
            end = text.find("`", at + 1)
            if end < 0 or end == at + 1:
                problem = "a backtick that is not closed" if end < 0 else "backticks without a name"
                raise _syntax(text, at, problem, what)
            parts.append("_" * (end + 1 - at))
            at = end + 1
            continue
        else:
            step = 1
            quote = c if c in "'\"" else ""
        parts.append(text[at : at + step])
        at += step
    return "".join(parts)


def _characters(text: str, offset: int) -> int:
    """Return a position of the parser, which counts bytes, in characters."""
    return len(text.encode()[:offset].decode(errors="ignore"))


def _syntax(text: str, at: int, problem: str, what: str) -> DataError:
    """Return the error for a text that Python's parser cannot read, with a mark at the place."""
    marked = f"{text[:at]}^{text[at:]}"
    if len(marked) > 80:
        low = max(at - 40, 0)
        marked = f"{'…' if low else ''}{text[low:at]}^{text[at : at + 40]}…"
    fix = f"Correct it ({problem[:60]}), or write names that are no words between backticks"
    plain = re.sub(r"'[^']*'|\"[^\"]*\"", lambda quoted: "_" * len(quoted[0]), text)
    lone = re.search(r"(?<![=<>!])=(?!=)", plain)
    if lone:
        fix, at = "Write == to compare", lone.start()
        marked = f"{text[:at][-40:]}^{text[at:][:40]}"
    elif re.search(r"&&|\|\||!(?!=)", plain):
        fix = "Write and, or, not"
    elif "<>" in plain:
        fix = "Write != for unequal"
    elif plain.count("'") % 2 or plain.count('"') % 2:
        fix = "Close the quotation mark"
    return DataError(what, f"{marked!r} (the ^ marks the place)", _FORM, fix)


def _unknown(name: str, names: Sequence[str], what: str) -> DataError:
    folded = {n.casefold(): n for n in names}
    close = difflib.get_close_matches(name.casefold(), list(folded), 1, 0.6)
    listed = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
    fix = f"Did you mean {folded[close[0]]!r}?" if close else "Use one of these names"
    if not close:
        fix += "; put text between quotation marks"
    return DataError(what, f"the column {name!r}", f"one of {listed}", fix)


def _check_depth(tree: ast.expr, where: Where) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [below for node in level for below in ast.iter_child_nodes(node)]
        if not level:
            return
    raise DataError(
        where.what, f"{where.text[:60]!r} …, which is too deep", _FORM, "Write a shorter one"
    )


def _names_in(tree: ast.expr, where: Where) -> list[ast.Name]:
    """Return the names of columns in an expression, and refuse all nodes that no expression has.

    Raises
    ------
    DataError
    """
    found: list[ast.Name] = []
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for op, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(op, (ast.Is, ast.IsNot)):
                    if not _is_missing_word(right):
                        raise where_error(where, right, "is missing, or is not missing", "Write ==")
                    skipped.add(id(right))
        if isinstance(node, ast.Name) and id(node) not in skipped:
            found.append(node)
        _check_node(node, tree, where)
    return found


def _check_node(node: ast.AST, tree: ast.expr, where: Where) -> None:
    """Raise for a node that no expression has."""
    if isinstance(node, ast.Call):
        fix = "Write a is missing for missing values, and compute other columns before"
        if isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in ("isna", "isnull", "notna", "notnull", "is_null", "is_not_null"):
                no = "not " if "not" in called else ""
                fix = f"Write a is {no}missing"
        raise where_error(where, node, "no call of a function", fix)
    if not isinstance(node, _NODES):
        fix = "Use and, or, not, in, is missing, comparisons, and + - * / %"
        if isinstance(node, (ast.Pow, ast.FloorDiv, ast.MatMult, ast.LShift, ast.RShift)):
            raise where_error(where, tree, "the operators + - * / %", fix)
        raise where_error(where, node, _FORM, fix)
    if isinstance(node, ast.Constant):
        _check_constant(where, node)


_NODES = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Invert, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.BitAnd, ast.BitOr, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
    *(ast.Is, ast.IsNot, ast.Name, ast.Load, ast.Constant, ast.List, ast.Tuple, ast.Set),
)


def _is_missing_word(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "missing") or (
        isinstance(node, ast.Constant) and node.value is None
    )


def _check_constant(where: Where, node: ast.Constant) -> None:
    value = node.value
    if value is None or isinstance(value, (bool, str)):
        return
    if isinstance(value, (int, float)) and (isinstance(value, int) or math.isfinite(value)):
        return
    raise where_error(where, node, "numbers, text, True and False", "Write another value")


def where_error(where: Where, node: ast.AST, expected: str, fix: str, note: str = "") -> DataError:
    """Return the error for a part of an expression."""
    part = where.part(node) if isinstance(node, ast.expr) else where.text
    return DataError(where.what, f"{part[:60]!r}{note}", expected, fix)


# ------------------------------------------------------------------------------------------
# Evaluation, of arrays and of expressions of pyarrow alike.


@dataclass(frozen=True, eq=False)
class WhereColumn:
    """A column, or a constant.

    Parameters
    ----------
    kind : str
    values : ndarray or pyarrow expression
        Numbers, text, truth values, or times without a zone.
    present : ndarray of bool or pyarrow expression, optional
        Where values are not missing; None for a constant.
    as_float : ndarray or pyarrow expression, optional
        Numbers as float64, for arithmetic.
    """

    kind: Kind
    values: object
    present: Mask | None = None
    as_float: object = None


@dataclass(frozen=True, eq=False)
class _Truth:
    """Where a condition is true, and where it is false; elsewhere a value is missing."""

    true: Mask
    false: Mask


_COMPARISONS: dict[type[ast.cmpop], tuple[Callable[..., object], Callable[..., object]]] = {
    ast.Eq: (operator.eq, operator.ne),
    ast.NotEq: (operator.ne, operator.eq),
    ast.Lt: (operator.lt, operator.ge),
    ast.LtE: (operator.le, operator.gt),
    ast.Gt: (operator.gt, operator.le),
    ast.GtE: (operator.ge, operator.lt),
}

_SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod)


@dataclass(frozen=True)
class _Arithmetic:
    """The arithmetic of arrays, or of expressions, on float64."""

    add: Operation
    subtract: Operation
    multiply: Operation
    divide: Operation
    floor: Callable[[object], object]
    scalar: Callable[[float], object]

    def apply(self, op: ast.operator, x: object, y: object) -> object:
        """Return the result of an operator; the remainder has the sign of y, as in Python."""
        if isinstance(op, ast.Mod):
            return self.subtract(x, self.multiply(self.floor(self.divide(x, y)), y))
        if isinstance(op, ast.Add):
            return self.add(x, y)
        if isinstance(op, ast.Sub):
            return self.subtract(x, y)
        return self.multiply(x, y) if isinstance(op, ast.Mult) else self.divide(x, y)


_IN_MEMORY = _Arithmetic(
    cast("Operation", np.add),
    cast("Operation", np.subtract),
    cast("Operation", np.multiply),
    cast("Operation", np.divide),
    cast("Callable[[object], object]", np.floor),
    np.float64,
)


class _Evaluation:
    """Evaluates the nodes of an expression."""

    def __init__(
        self,
        where: Where,
        columns: Mapping[str, WhereColumn],
        arithmetic: _Arithmetic,
    ) -> None:
        self.where, self.columns, self.arithmetic = where, columns, arithmetic

    def _error(self, node: ast.AST, expected: str, fix: str, note: str = "") -> DataError:
        return where_error(self.where, node, expected, fix, note)

    # -- conditions
    def truth(self, node: ast.expr) -> _Truth:
        """Return where a condition is true and where it is false."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(part) for part in node.values]
            return reduce(self._and if isinstance(node.op, ast.And) else self._or, parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            combine = self._and if isinstance(node.op, ast.BitAnd) else self._or
            return combine(self.truth(node.left), self.truth(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            one = self.truth(node.operand)
            return _Truth(one.false, one.true)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = zip(sides, node.ops, node.comparators, strict=False)
            return reduce(self._and, [self._compare(a, op, b, node) for a, op, b in pairs])
        value = self.value(node)
        if value.kind == "truth" and value.present is not None:
            holds = cast("Mask", value.values)
            return _Truth(value.present & holds, value.present & ~holds)
        fix = "Compare it, for example with != 0" if value.kind == "number" else "Compare it"
        raise self._error(node, "a condition", fix, f", which has {_HAS[value.kind]}")

    def _and(self, a: _Truth, b: _Truth) -> _Truth:
        return _Truth(a.true & b.true, a.false | b.false)

    def _or(self, a: _Truth, b: _Truth) -> _Truth:
        return _Truth(a.true | b.true, a.false & b.false)

    def _compare(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, whole: ast.Compare
    ) -> _Truth:
        if isinstance(op, (ast.Is, ast.IsNot)):
            present = self.value(left).present
            if present is None:
                raise self._error(left, "a column", "Write a is missing, with a column a")
            return (
                _Truth(~present, present) if isinstance(op, ast.Is) else _Truth(present, ~present)
            )
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._member(left, right, negated=isinstance(op, ast.NotIn))
        for side in (left, right):
            self._check_no_condition(side, whole)
        a, b = self.value(left), self.value(right)
        a, b = self._alike(a, b, left, right)
        return self._compared(type(op), a, b)

    def _compared(self, op: type[ast.cmpop], a: WhereColumn, b: WhereColumn) -> _Truth:
        for one in (a, b):
            if one.kind == "empty" and one.present is not None:
                return _Truth(one.present, one.present)
        present = a.present if b.present is None else b.present
        if a.present is not None and b.present is not None:
            present = a.present & b.present
        holds, fails = _COMPARISONS[op]
        if present is None:
            raise TypeError("a comparison has a column")
        true, false = (cast("Mask", test(a.values, b.values)) for test in (holds, fails))
        return _Truth(present & true, present & false)

    def _check_no_condition(self, side: ast.expr, whole: ast.Compare) -> None:
        """Raise for ``a == 1 & b == 2``, which Python reads as ``a == (1 & b) == 2``."""
        inner = side.operand if isinstance(side, ast.UnaryOp) else side
        bits = isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.BitAnd, ast.BitOr))
        flip = isinstance(side, ast.UnaryOp) and isinstance(side.op, (ast.Invert, ast.Not))
        if bits or flip:
            of = inner.op if isinstance(inner, ast.BinOp) else None
            sign = "~" if flip else "&" if isinstance(of, ast.BitAnd) else "|"
            word = {"~": "not", "&": "and", "|": "or"}[sign]
            fix = f"Write {word} instead of {sign}, or put each comparison into parentheses"
            note = f", where {sign} binds more strongly than the comparison"
            raise self._error(whole, "conditions between & and |", fix, note)
        if isinstance(side, (ast.Compare, ast.BoolOp)):
            raise self._error(
                whole, "values on both sides of a comparison", "Write and between conditions"
            )

    def _member(self, left: ast.expr, right: ast.expr, *, negated: bool) -> _Truth:
        if not isinstance(right, (ast.List, ast.Tuple, ast.Set)):
            raise self._error(right, "a list of values, such as [1, 2]", "Write a in [1, 2]")
        if not right.elts:
            raise self._error(right, "at least one value", "Write a in [1, 2]")
        column = self.value(left)
        truths: list[_Truth] = []
        for item in right.elts:
            constant = self.value(item)
            if constant.present is not None:
                raise self._error(right, "a list of numbers or text", "Compare columns with ==")
            truths.append(self._compared(ast.Eq, *self._alike(column, constant, left, item)))
        while len(truths) > 1:  # pairwise, so that the expression is not deep
            pairs = [self._or(*truths[k : k + 2]) for k in range(0, len(truths) - 1, 2)]
            truths = pairs + truths[2 * len(pairs) :]
        found = truths[0]
        return _Truth(found.false, found.true) if negated else found

    # -- values
    def value(self, node: ast.expr) -> WhereColumn:
        """Return the values of a column, a constant, or of arithmetic with numbers."""
        if isinstance(node, ast.Name):
            return self.columns[self.where.names[node.col_offset, node.end_col_offset or 0]]
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            one = self._number(node.operand)
            sign = 1 if isinstance(node.op, ast.UAdd) else -1
            present = one.present
            if present is None:
                number = sign * cast("float", one.values)
                return WhereColumn("number", number, None, _as_float(number))
            of = self.arithmetic
            signed = of.multiply(one.as_float, of.scalar(float(sign)))
            return WhereColumn("number", signed, present, signed)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _SIGNS):
            return self._arithmetic(node)
        if isinstance(node, ast.BinOp):
            fix = "Write and, or, or put each comparison into parentheses"
            raise self._error(node, "a value", fix)
        raise self._error(node, "a column or a value", "Write for example temp > 0.5")

    def _constant(self, node: ast.Constant) -> WhereColumn:
        value = node.value
        if isinstance(value, bool):
            return WhereColumn("truth", value)
        if isinstance(value, str):
            return WhereColumn("text", value)
        if isinstance(value, (int, float)):
            # Larger integers than any column has.
            exact = value if abs(value) < 2**63 else _as_float(value)
            return WhereColumn("number", exact, None, _as_float(value))
        raise self._error(node, "a value", "Write a is missing for missing values")

    def _number(self, node: ast.expr) -> WhereColumn:
        one = self.value(node)
        if one.kind not in ("number", "empty"):
            fix = "Compute the column before"
            raise self._error(node, "numbers, for + - * / %", fix, f", which has {_HAS[one.kind]}")
        return one

    def _arithmetic(self, node: ast.BinOp) -> WhereColumn:
        a, b = self._number(node.left), self._number(node.right)
        if a.present is None and b.present is None:
            with np.errstate(all="ignore"):
                x, y = (np.float64(cast("float", v.as_float)) for v in (a, b))
                number = float(cast("float", _IN_MEMORY.apply(node.op, x, y)))
            if not math.isfinite(number):
                raise self._error(node, "a finite number", "Write another number")
            return WhereColumn("number", number, None, number)
        of = self.arithmetic
        left, right = (
            of.scalar(cast("float", v.as_float)) if v.present is None else v.as_float
            for v in (a, b)
        )
        found = of.apply(node.op, left, right)
        present = a.present if b.present is None else b.present
        if a.present is not None and b.present is not None:
            present = a.present & b.present
        # Of 0 / 0 there is no value; NaN differs from itself.
        if present is None:
            raise TypeError("one of both is a column")
        number = cast("Mask", found == found)  # noqa: PLR0124
        return WhereColumn("number", found, present & number, found)

    def _alike(
        self, a: WhereColumn, b: WhereColumn, left: ast.expr, right: ast.expr
    ) -> tuple[WhereColumn, WhereColumn]:
        """Return two values that can be compared: a constant is read as the type of the column."""
        if a.present is None and b.present is None:
            raise self._error(left, "a column on one side of each comparison", "Name a column")
        for one, node in ((a, left), (b, right)):
            if one.kind == "other":
                expected = "numbers, text, truth values, dates or times"
                note = ", a column of another type"
                raise self._error(node, expected, "Use is missing", note)
        if a.present is None:
            return self._read_as(b.kind, a, left), b
        if b.present is None:
            return a, self._read_as(a.kind, b, right)
        if a.kind != b.kind and "empty" not in (a.kind, b.kind):
            note = f", which has {_HAS[b.kind]}, beside {self.where.part(left)}"
            raise self._error(right, _HAS[a.kind], "Compare columns of one type", note)
        return a, b

    def _read_as(self, kind: Kind, constant: WhereColumn, node: ast.expr) -> WhereColumn:
        """Return a constant as a value of a column of some kind."""
        if kind in (constant.kind, "empty"):
            return constant
        if kind == "time" and constant.kind == "text":
            return self._time(constant, node)
        if kind == "number" and constant.kind == "truth":
            return WhereColumn("number", int(cast("bool", constant.values)))
        if kind == "truth" and constant.kind == "number" and constant.values in (0, 1):
            return WhereColumn("truth", bool(constant.values))
        note = f", beside a column that has {_HAS[kind]}"
        raise self._error(node, _HAS[kind], _repaired(kind, constant), note)

    def _time(self, constant: WhereColumn, node: ast.expr) -> WhereColumn:
        try:
            text = str(constant.values)
            if not re.match(r"\d{4}-\d\d-\d\d", text):
                raise ValueError
            time = datetime.fromisoformat(text)
            if time.tzinfo is not None:
                raise ValueError
        except ValueError:
            expected = "a date or a local time, such as '2024-06-01' or '2024-06-01 12:30'"
            fix = "Write it in this form, without a zone"
            raise self._error(node, expected, fix) from None
        return WhereColumn("time", np.datetime64(time, "us"))


def _repaired(kind: Kind, value: WhereColumn) -> str:
    """Return what to write instead of a constant of another kind."""
    if kind == "number" and value.kind == "text":
        try:
            return f"Write the number without quotation marks: {float(str(value.values)):g}"
        except ValueError:
            return "Compare it with a number"
    if kind == "text" and value.kind != "text":
        return f"Put the value between quotation marks: '{value.values}'"
    if kind == "time":
        return "Compare it with a date between quotation marks, such as '2024-06-01'"
    return "Compare it with True or False"


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


# ------------------------------------------------------------------------------------------
# Columns in memory, and of files.


def _memory_column(data: Container, j: int) -> WhereColumn:
    """Return a column of a data frame or array, as arrays."""
    if isinstance(data, np.ndarray):
        return _of_array(data[:, j])
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, eager_only=True)
    series = frame.get_column(frame.columns[j])
    dtype = series.dtype
    known = kind_of_column(series, None)
    if known is not None and known[2] is not None:
        series = series.dt.replace_time_zone(None)
    if dtype.is_decimal():
        series = series.cast(nw.Float64())
    if dtype.is_integer() and series.null_count():
        # Without floats, which would round large integers.
        missing = series.is_null().to_numpy()
        return _of_array(series.fill_null(0).to_numpy(), missing)
    return _of_array(series.to_numpy())


def _of_array(values: Values, missing: Bools | None = None) -> WhereColumn:
    present = ~(missing_mask(values) if missing is None else missing)
    there = cast("Mask", present)
    if not present.any():
        return WhereColumn("empty", values, there, np.zeros(len(values)))
    if values.dtype.kind == "O":
        values = _typed(values, present)
    kind = _KINDS.get(values.dtype.kind, "other")
    if values.dtype.kind == "O" and kind == "text" and not _is_text(values, present):
        kind = "other"
    if kind == "number":
        return WhereColumn(kind, values, there, values.astype(float))
    return WhereColumn(kind, values.astype(object) if kind == "text" else values, there)


_KINDS: dict[str, Kind] = {
    "i": "number",
    "u": "number",
    "f": "number",
    "b": "truth",
    "M": "time",
    "U": "text",
    "T": "text",
    "O": "text",
}
"""What an array of a NumPy kind has; objects are text, or else cannot be compared."""


def _is_text(values: Values, present: Bools) -> bool:
    return all(isinstance(v, str) for v in values[present].tolist())


def _typed(values: Values, present: Bools) -> Values:
    """Return an array of objects as numbers, truth values or times, if they are; text with "" where missing."""
    found = values[present].tolist()
    if any(isinstance(v, (Sequence, Mapping)) and not isinstance(v, str) for v in found):
        return values
    inner = np.array(found)
    if inner.dtype.kind == "O":  # dates and decimals
        try:
            times = all(isinstance(v, date) for v in found)
            local = [v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in found]
            inner = np.array(local).astype("datetime64[us]" if times else float)
        except (TypeError, ValueError):
            return values
    text = inner.dtype.kind == "U"
    full = np.full(len(values), "", dtype=object) if text else np.zeros(len(values), inner.dtype)
    full[present] = values[present] if text else inner
    return full


def _arrow_column(name: str, kind: ArrowType) -> WhereColumn:
    """Return a column of files, as expressions."""
    import pyarrow as pa
    import pyarrow.types as pt

    pc = compute_functions()
    values = pc.field(name)
    present = ~values.is_null(nan_is_null=True)
    if pt.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pt.is_null(kind):
        return WhereColumn("empty", values, present, values.cast(pa.float64()))
    if pt.is_boolean(kind):
        return WhereColumn("truth", values, present)
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
        as_float = values.cast(pa.float64(), safe=False)
        values = as_float if pt.is_decimal(kind) else values
        return WhereColumn("number", values, present, as_float)
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return WhereColumn("text", values.cast(pa.string()), present)
    if pt.is_date(kind):
        values = values.cast(pa.timestamp("us"))
    elif pt.is_timestamp(kind):
        values = values if "tz=" not in str(kind) else pc.local_timestamp(values)
    else:
        return WhereColumn("other", values, present)
    return WhereColumn("time", values, present)
