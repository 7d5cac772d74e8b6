"""A result of another package: document, schema, columns and file follow from the fields of its class alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import jsonschema
import numpy as np
import pytest

import skedasis as sd
from skedasis._types import Floats
from skedasis.results.described import columns_of
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
    assert gains.to_frame("pandas").columns.tolist() == ["total"]
