"""`to_dict` and `to_json` of results: strict JSON, exact numbers, and a schema that describes every key."""

import functools
import json
import math

import jsonschema
import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.export import SCHEMA
from skedasis.results.schema import RESULT, json_schema, kinds
from tests.made_results import LONE, every_column, every_result
from tests.made_results import of_every_column as model


def strict(node):
    """Return the schema without permission for keys that it does not describe."""
    if isinstance(node, list):
        return [strict(part) for part in node]
    if not isinstance(node, dict):
        return node
    found = {key: strict(part) for key, part in node.items()}
    if isinstance(found.get("required"), list) and "oneOf" not in found:
        found["additionalProperties"] = False
        found["properties"] = {"schema": True, "version": True, **found["properties"]}
    return found


SCHEMA_OF_ALL = strict(json_schema("skedasis"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA_OF_ALL)


@functools.cache
def validator(kind):
    """Return the validator of documents of one kind."""
    only = {"$ref": f"#/$defs/{kind}", "$defs": SCHEMA_OF_ALL["$defs"]}
    return jsonschema.Draft202012Validator(only)


def checked(result, **options):
    """Return `to_dict` of a result after checks that hold for every result."""
    found = result.to_dict(**options)
    errors = [
        f"{list(error.absolute_path)}: {error.message[:300]}"
        for error in validator(found["kind"]).iter_errors(found)
    ]
    assert errors == []
    VALIDATOR.validate(found)
    text = result.to_json(**options)
    text.encode()  # no lone surrogates

    def refused(constant):
        raise AssertionError(constant)

    assert json.loads(text, parse_constant=refused) == found
    assert plain(found)
    assert result.to_json(**options) == text
    return found


def plain(value):
    """Return whether a value consists of Python's own types only."""
    if type(value) is dict:
        return all(type(k) is str and plain(v) for k, v in value.items())
    if type(value) is list:
        return all(map(plain, value))
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (str, int, bool)


@pytest.fixture(scope="module")
def frame():
    return every_column()


@pytest.fixture(scope="module")
def results():
    return every_result()


METHODS = [sd.ALE(bins=3), sd.RHALE(), sd.MPlot(bins=3), sd.ICE(grid=5)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_effects_of_all_kinds_are_valid(frame, method):
    columns = ["a", LONE, "<script>", "when", "took"]
    if isinstance(method, sd.RHALE):
        columns.remove("<script>")
    before = frame.copy()
    es = sd.explain(model, frame, columns, method=method)
    every = ({}, {"rows": True}, {"confidence_level": 0.5})
    for options in every if isinstance(method, sd.ALE) else every[1:2]:
        whole = checked(es, **options)
        assert list(whole["effects"]) == whole["features"]
        for name, e in es.items():
            alone = checked(e, **options)
            inside = dict(whole["effects"][alone["feature"]])
            assert name.replace("\ud800", "\ufffd") == alone["feature"]
            # A member has what its provenance says beyond that of the whole.
            assert {**whole["provenance"], **inside.pop("provenance")} == alone.pop("provenance")
            assert alone == {**inside, "schema": SCHEMA, "version": sd.__version__}
    pd.testing.assert_frame_equal(frame, before)


def test_numbers_of_an_effect_are_those_of_its_attributes_and_interval(frame):
    e = sd.explain(model, frame, "a", method=sd.ALE(bins=4))
    found = json.loads(e.to_json(confidence_level=0.9))
    lower, upper = e.interval(0.9)
    curve = found["curve"]
    assert curve["x"] == e.x.tolist()
    assert curve["value"] == e.value.tolist()
    assert curve["error"] == e.std_error.tolist()
    assert (curve["lower"], curve["upper"]) == (lower.tolist(), upper.tolist())
    assert curve["heterogeneity"] == e.heterogeneity.tolist()
    assert found["importance"] == e.importance
    ends = e.interval(0.9, of="heterogeneity_score")
    assert found["heterogeneity_score_interval"] == [float(end) for end in ends]
    bins, own = found["bins"], e.bins
    assert bins["left"] == own.left.tolist()
    assert bins["right"] == own.right.tolist()
    assert bins["rows"] == own.count.tolist()
    assert bins["slope"] == own.effect.tolist()
    assert found["missing"] == {
        "rows": int(frame["a"].isna().sum()),
        "value": None if e.missing_point is None else e.missing_point.value,
        "error": None if e.missing_point is None else e.missing_point.std_error,
    }


def test_nothing_is_of_a_single_row_unless_asked(frame):
    ice = sd.explain(model, frame, "a", method=sd.ICE(grid=4))
    assert not {"kept_rows", "ice"} & set(ice.to_dict())
    found = checked(ice, rows=True)
    assert found["ice"]["value"] == ice.curves.value.tolist()
    assert found["ice"]["row"] == ice.curves.row.tolist()
    ale = sd.explain(model, frame, "<script>", method=sd.ALE())
    kept = checked(ale, rows=True)["kept_rows"]
    labels = [ale.levels.labels[int(code)] for code in ale.rows.x]
    assert kept["x"] == [label.replace("\ud800", "\ufffd") for label in labels]


def test_times_are_iso_text(frame):
    e = sd.explain(model, frame, "when", method=sd.ALE(bins=2))
    x = e.to_dict()["curve"]["x"]
    assert [pd.Timestamp(text) for text in x] == [pd.Timestamp(t, tz="UTC") for t in e.x]
    took = sd.explain(model, frame, "took", method=sd.ALE(bins=2))
    x = took.to_dict()["curve"]["x"]
    assert [pd.Timedelta(text) for text in x] == [pd.Timedelta(t) for t in took.x]


def test_a_file_has_the_same_text(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    e = sd.explain(lambda X: X[:, 0], X, 0, method=sd.ALE(bins=2))
    text = e.to_json(tmp_path / "new" / "e.json", 1)
    assert (tmp_path / "new" / "e.json").read_text("utf-8") == text
    assert json.loads(text) == e.to_dict()
    assert "\n " in text
    with pytest.raises(sd.DataError, match=r"to_json\(path\).*the folder"):
        e.to_json(tmp_path)


# --- every kind of result -------------------------------------------------------------------------


@pytest.mark.slow
def test_every_kind_is_valid(results):
    assert set(results) == set(kinds("skedasis"))
    for kind, result in results.items():
        for options in ({}, {"rows": True}, {"confidence_level": 0.8}):
            found = checked(result, **options)
            assert list(found)[:3] == ["kind", "schema", "version"]
            assert found["kind"] == kind
            assert found["schema"] == SCHEMA


def test_every_kind_has_a_frame(results):
    for backend in ("pandas", "polars", "pyarrow"):
        for kind, result in results.items():
            if backend != "pandas" and kind in ("NullDistribution", "Checks", "Check"):
                continue  # the names of these are no text for other libraries
            table = result.to_frame(backend)
            assert type(table).__module__.startswith(backend), kind
            assert len(table) > 0


def test_results_agree_with_their_attributes_and_intervals(results):
    pf = results["Importance"]
    found = pf.to_dict(confidence_level=0.9)
    lower, upper = pf.interval(0.9)
    lines = {line["feature"]: line for line in found["ranking"]}
    for k, name in enumerate(pf.features):
        assert lines[name]["mean"] == pf.mean[k]
        assert lines[name]["values"] == pf.values[k].tolist()
        assert (lines[name]["lower"], lines[name]["upper"]) == (lower[k], upper[k])
    assert [line["feature"] for line in found["ranking"]] == [r.feature for r in pf.ranking()]

    surface = results["Surface"]
    found = surface.to_dict(confidence_level=0.9)
    assert found["value"] == surface.value.tolist()
    assert found["axes"][1]["x"] == surface.x[1].tolist()
    lower, upper = surface.interval(0.9)
    np.testing.assert_allclose(np.array(found["lower"], dtype=float), lower, rtol=1e-9)
    np.testing.assert_allclose(np.array(found["upper"], dtype=float), upper, rtol=1e-9)

    several = results["MultiModelImportance"]
    lower, _ = several.interval(0.9)
    lines = {x["feature"]: x for x in several.to_dict(confidence_level=0.9)["ranking"]}
    assert [lines[n]["lower"] for n in several.features] == lower.tolist()
    assert [lines[n]["values"] for n in several.features] == several.values.T.tolist()


def test_rules_of_regions_can_be_applied_from_the_data(results):
    regions = results["Regions"]
    assert len(regions) > 1
    X = np.random.default_rng(2).uniform(-1, 1, size=(100, 3))
    region = np.full(100, -1)
    for k, found in enumerate(regions.to_dict()["regions"]):
        rows = np.ones(100, dtype=bool)
        for c in found["conditions"]:
            x = X[:, int(c["feature"][1:])]
            rows &= x > (-np.inf if c["above"] is None else c["above"])
            rows &= x <= (np.inf if c["up_to"] is None else c["up_to"])
        region[rows] = k
    np.testing.assert_array_equal(region, regions.assign(X))


# --- the schema -----------------------------------------------------------------------------------


def test_the_schema_is_valid_and_each_key_is_described():
    schema = json_schema("skedasis")
    jsonschema.Draft202012Validator.check_schema(schema)

    def undescribed(node, path):
        if isinstance(node, dict):
            if isinstance(node.get("required"), list):
                for key, part in node["properties"].items():
                    if not part.get("description", "").strip().endswith("."):
                        yield f"{path}.{key}"
            for key, part in node.items():
                yield from undescribed(part, f"{path}.{key}")

    assert list(undescribed(schema, "")) == []
    assert set(schema["$defs"]) == {*kinds("skedasis"), RESULT}


def test_the_reference_page_and_the_schema_file_are_up_to_date():
    from tools import schema_page

    page = schema_page.PAGE.read_text("utf-8")
    assert page == schema_page.page_text(page), "python -m tools.schema_page --write"
    assert schema_page.FILE.read_text("utf-8") == schema_page.file_text()
