"""A result of another package: document, schema, columns and file follow from the fields of its class alone."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray

import skedasis as sd
from skedasis._types import Floats
from skedasis.results.containers import ResultMapping
from skedasis.results.described import columns_of, schema_of, texts_of
from skedasis.results.display import SavedResult
from skedasis.results.saved_fields import saved_kinds
from skedasis.results.schema import json_schema
from tests.helpers import refused


@dataclass(frozen=True)
class Gain:
    """What one pair of features gains. It is a part of a result.

    Parameters
    ----------
    feature_0, feature_1 : str
    gain, std_error : float
    count : int
    kind : {"small", "large"}
        Its size, None if it is
        unknown. NaN is never written.
    """

    feature_0: str
    feature_1: str
    gain: float
    std_error: float
    count: int
    kind: Literal["small", "large"] | None = None


@dataclass(frozen=True, eq=False)
class Gains(SavedResult):
    """Gains of pairs. Another package has them.

    Attributes
    ----------
    lines : tuple of Gain
        The pairs.
    base : ndarray of float, shape (n,)
        The level before.
    names : mapping of str to str
        Names of pairs.
    best : Gain, optional
        The best one.
    effect : Effect, optional
        The effect of the first feature.
    hidden : bool
        It is not written.
    """

    exported = ("lines as gains", "total", "base", "names", "best", "effect")
    lines: tuple[Gain, ...]
    base: Floats
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    best: Gain | None = None
    effect: sd.Effect | None = None
    hidden: bool = True

    @property
    def total(self) -> float:
        """Return the sum of all gains; NaN without any."""
        return sum(line.gain for line in self.lines) if self.lines else float("nan")


@pytest.fixture
def gains() -> Gains:
    X = np.random.default_rng(0).normal(size=(60, 1))
    effect = sd.explain(lambda X: X[:, 0], X, 0, method=sd.ALE(bins=2))
    lines = (Gain("a", "b", 1.5, 0.25, 7, "small"), Gain("a", "c", float("nan"), 0.5, 9))
    return Gains(lines, np.array([1.0, np.inf]), {"ab": "first"}, lines[0], effect)


def test_a_class_lists_its_fields_with_the_texts_below_them():
    text = " ".join(str(inspect.getdoc(sd.Effect)).split())
    assert "std_error : ndarray of float Standard error of `value`, shape (m,). df :" in text
    assert "rows : Rows or None The rows that the result keeps." in text
    assert str(inspect.getdoc(sd.Contrast)).count("\nAttributes\n") == 1
    assert "a, b : Point\n    The two values." in str(inspect.getdoc(sd.Contrast))
    assert "Return" not in texts_of(sd.Effect)["value"]
    assert texts_of(sd.Effect)["df"] == "Degrees of freedom of `std_error` (Satterthwaite)."


def test_the_source_is_read_when_a_docstring_is_asked_for():
    code = """
import inspect

read, source_of = [], inspect.getsource
inspect.getsource = lambda module: read.append(module.__name__) or source_of(module)
import skedasis as sd

assert sd.Effects and sd.Regions and "skedasis.results.effect" not in read
assert "Standard error of `value`" in sd.Effect.__doc__
assert "skedasis.results.effect" in read
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_document_has_what_the_class_exports(gains):
    found = gains.to_dict()
    assert found.pop("effect")["feature"] == "x0"
    assert {found.pop(key) for key in ("schema", "version")} == {2, sd.__version__}
    first = {"features": ["a", "b"], "gain": 1.5, "error": 0.25, "rows": 7, "kind": "small"}
    assert found == {
        "kind": "Gains",
        "gains": [
            first,
            {"features": ["a", "c"], "gain": None, "error": 0.5, "rows": 9, "kind": None},
        ],
        "total": None,
        "base": [1.0, None],
        "names": {"ab": "first"},
        "best": first,
    }


def test_the_schema_knows_the_class_with_types_and_texts(gains):
    schema = json_schema()
    own = schema["$defs"]["Gains"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(gains.to_dict(), schema)
    keys = own["properties"]
    assert own["description"] == "Gains of pairs."
    assert keys["total"] == {
        "type": ["number", "null"],
        "description": "The sum of all gains; null without any.",
    }
    assert keys["base"]["items"] == {"type": ["number", "null"]}
    assert keys["names"]["additionalProperties"] == {"type": "string"}
    assert keys["effect"]["anyOf"] == [{"type": "null"}, {"$ref": "#/$defs/Effect"}]
    assert keys["best"]["type"] == ["object", "null"]
    line = keys["gains"]["items"]
    assert line["description"] == "What one pair of features gains."
    assert line["required"] == ["features", "gain", "error", "rows", "kind"]
    assert line["properties"]["kind"] == {
        "enum": ["small", "large", None],
        "description": "Its size, null if it is unknown. Null is never written.",
    }
    wrong = {**gains.to_dict(), "total": "much"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_a_file_has_the_class_and_its_parts(gains, tmp_path):
    assert saved_kinds()["Gains"] is Gains
    assert saved_kinds()["Gain"] is Gain
    gains.save(tmp_path / "gains.npz")
    found = sd.load(tmp_path / "gains.npz")
    assert type(found) is Gains
    assert found.to_dict(rows=True) == gains.to_dict(rows=True)
    assert not found.base.flags.writeable
    damaged = Gains(("no gain",), gains.base)  # pyright: ignore[reportArgumentType]
    damaged.save(tmp_path / "damaged.npz")
    with refused(sd.DataError, "load", "no saved result"):
        sd.load(tmp_path / "damaged.npz")


def test_columns_are_the_fields_of_the_lines(gains):
    assert columns_of(Gain, gains.lines)["count"] == [7, 9]
    assert list(columns_of(Gain, ())) == list(vars(gains.lines[0]))
    assert list(columns_of(Gain, gains.lines, without=("gain", "kind")))[-2:] == [
        "std_error",
        "count",
    ]
    assert gains.to_frame("pandas").columns.tolist() == ["total"]


HINTS: list[tuple[Any, Any]] = [
    (np.ndarray, np.zeros((2, 2))),
    (NDArray[Any], np.arange(2)),
    (NDArray[np.str_], np.array(["a"])),
    (NDArray[np.bool_], np.array([True])),
    (NDArray[np.datetime64], np.array(["2020-01-01"], "M8[D]")),
    (dict, {"a": 1}),
    (list, [1, "a"]),
    (list[Literal["a"] | None], ["a", None]),
    (tuple, (1, "a")),
    (tuple[int, str], (1, "a")),
    (set[str], {"a"}),
    (int | dict[str, int], {"a": 1}),
    (Literal["a"] | int, 3),
    (datetime, datetime(2020, 1, 1, tzinfo=UTC)),
    (Path, Path("a")),
    (Path | None, None),
    (np.float64, np.float64(2)),
    (np.int64, np.int64(2)),
    (Annotated[float, "m"], 1.0),
    (Callable[[int], int], len),
    (TypeVar("T"), 3),
]
"""Types of fields, each with a value."""


@pytest.mark.parametrize("k", range(len(HINTS)))
def test_the_schema_of_any_type_holds_for_its_values(k):
    hint, value = HINTS[k]
    kind = make_dataclass(f"Of{k}", [("value", hint)], bases=(SavedResult,), frozen=True, eq=False)
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(kind(value).to_dict(), schema["$defs"][kind.__name__])


@pytest.mark.parametrize(
    ("hint", "type_"),
    [
        (np.ndarray, "array"),
        (set[str], "array"),
        (Path, "string"),
        (np.float64, ["number", "null"]),
        (Callable[[int], int], None),
    ],
)
def test_schemas_say_what_they_know(hint, type_):
    assert schema_of(hint).get("type") == type_


@dataclass(frozen=True, eq=False)
class OfTable(SavedResult):
    """A result of a package that imports the type of a field for type checkers only."""

    table: NotImported  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    @property
    def rows(self):
        """Return the number of rows."""
        return 3


def test_a_class_of_unknown_types_is_in_nobodys_way(gains, tmp_path):
    gains.save(tmp_path / "gains.npz")
    assert type(sd.load(tmp_path / "gains.npz")) is Gains
    result = OfTable({"a": 1})
    jsonschema.validate(result.to_dict(), json_schema())
    with refused(sd.DataError, "save", "OfTable of tests.unit", "types are unknown"):
        result.save(tmp_path / "table.npz")
    assert not (tmp_path / "table.npz").exists()


def again() -> type[SavedResult]:
    """Return a class, defined as by a cell of a notebook that is run once more."""

    @dataclass(frozen=True, eq=False)
    class Slopes(SavedResult):
        """Slopes."""

        values: tuple[float, ...]

    return Slopes


def test_the_newest_class_of_a_name_is_saved_and_loaded(tmp_path):
    path = tmp_path / "slopes.npz"
    old, new = again(), again()
    new((1.0, 2.0)).save(path)
    found = sd.load(path)
    assert type(found) is new
    assert found.values == (1.0, 2.0)
    with refused(sd.DataError, "save", "Slopes", "compute the result with the new class"):
        old((1.0,)).save(path)


def test_no_class_takes_the_place_of_one_of_ours(gains, tmp_path):
    path = tmp_path / "result.npz"

    @dataclass(frozen=True, eq=False)
    class Cells(SavedResult):
        """Cells of a map."""

        values: tuple[float, ...]

    class Effects(ResultMapping[str, sd.Effect]):
        """Effects by town."""

    gains.effect.save(path)
    assert sd.load(path).to_dict(rows=True) == gains.effect.to_dict(rows=True)
    for result in (Cells((1.0,)), Effects({"a": gains.effect})):
        with refused(sd.DataError, "save", type(result).__name__, "a class of skedasis.", "Rename"):
            result.save(path)
    assert "ranking" in json_schema()["$defs"]["Effects"]["properties"]


@dataclass(frozen=True, eq=False)
class Holder(SavedResult):
    """A result with anything."""

    part: object


def test_an_object_whose_class_cannot_be_found_is_refused(gains, tmp_path):
    other = make_dataclass("Unnamed", [("size", int)], frozen=True)
    with refused(sd.DataError, "save", "Unnamed", "Name it in the type of the field"):
        Holder(other(3)).save(tmp_path / "holder.npz")
