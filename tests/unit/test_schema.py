"""The argument `schema`: kinds, dictionaries and features; labels as texts for people."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skedasis as sd
from skedasis.data.dataset import as_dataset
from tests.helpers import refused

HOSTILE = {
    "markup": '<script>alert(1)</script> & "co"',
    "newlines": "Air\n temperature\r\n\tindoors",
    "long": "temperature of the air " * 40,
    "signs": "$\\frac{a}{b}$ {x} %s \u202e",
}


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "temp": rng.uniform(0, 30, 200),
            "hum": rng.uniform(0, 1, 200),
            "season": np.resize(["winter", "summer"], 200),
            "code": np.resize([1, 2, 3], 200),
        }
    )


def f(X):
    return 2.0 * X["temp"] + X["hum"] * X["temp"] + (X["season"] == "winter") + X["code"]


def features(X, schema):
    return {f.name: f for f in as_dataset(X, schema=schema).features}


# ------------------------------------------------------------------------------------ declaring
@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_dictionary_keeps_what_it_does_not_contain(X, container):
    frame = container({c: X[c].tolist() for c in X})
    found = features(
        frame,
        {
            "temp": {"unit": "°C", "label": "Temperature"},
            "season": {"label": "Season of the year"},
            "code": "ordinal",
            "hum": sd.Feature("hum", unit="%"),
        },
    )
    assert [f.kind for f in found.values()] == ["continuous", "continuous", "nominal", "ordinal"]
    assert found["temp"].axis == "Temperature [°C]"
    assert found["season"].axis == "Season of the year"
    assert found["hum"].axis == "hum [%]"
    assert found["code"].title == "code"


def test_a_dictionary_may_declare_everything(X):
    declared = {"code": {"kind": "ordinal", "levels": [3, 1, 2], "unit": "grade", "label": "Code"}}
    code = features(X, declared)["code"]
    assert (code.kind, code.levels, code.unit, code.label) == (
        "ordinal",
        (3, 1, 2),
        "grade",
        "Code",
    )
    assert declared == {
        "code": {"kind": "ordinal", "levels": [3, 1, 2], "unit": "grade", "label": "Code"}
    }


def test_levels_alone_keep_the_inferred_kind(X):
    season = features(X, {"season": {"levels": ["summer", "winter"]}})["season"]
    assert (season.kind, season.levels) == ("nominal", ("summer", "winter"))


def test_columns_of_an_array_are_named(X):
    found = as_dataset(X[["temp", "hum"]].to_numpy(), schema={0: {"name": "temp", "unit": "°C"}})
    assert [f.axis for f in found.features] == ["temp [°C]", "x1"]


def test_an_empty_dictionary_changes_nothing(X):
    assert features(X, {"temp": {}}) == features(X, None)


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ({"units": "°C"}, ("schema['temp']", "'units'", "Did you mean 'unit'?")),
        ({"Label": "T"}, ("'Label'", "Did you mean 'label'?")),
        ({"level": [1]}, ("'level'", "Did you mean 'levels'?")),
        ({"colour": "red"}, ("'colour'", "Remove this key")),
        ({3: "°C"}, ("the key 3", "'unit'")),
        ({"kind": "numeric"}, ("['kind']", "'numeric'", "continuous | ordinal | nominal")),
        ({"kind": ["ordinal"]}, ("['kind']", "['ordinal']")),
        ({"unit": 3}, ("['unit']", "got 3", "text")),
        ({"label": ""}, ("['label']", "got ''", "visible character")),
        ({"label": " \n\u200b"}, ("['label']", "visible character")),
        ({"label": b"T"}, ("['label']", "text")),
        ({"name": ""}, ("['name']", "visible character")),
        ({"levels": [1, 2]}, ("['levels']", "'continuous'", '"kind": "ordinal"')),
        ({"kind": "ordinal", "levels": "abc"}, ("['levels']", "a list of values")),
        ({"kind": "ordinal", "levels": 3}, ("['levels']", "a list of values")),
        (["ordinal"], ("schema['temp']", "['ordinal']", "continuous | ordinal | nominal")),
        (None, ("schema['temp']", "None")),
        (sd.Feature("temp", label=3), ("schema['temp'].label", "got 3")),
    ],
)
def test_a_wrong_entry_is_explained(X, entry, parts):
    with refused(sd.DataError, *parts):
        sd.explain(f, X, "temp", schema={"temp": entry})


def test_labels_that_stand_for_two_features_are_followed_by_the_name(X):
    found = features(
        X, {"temp": {"label": "Heat"}, "hum": {"label": "Heat"}, "code": {"label": "season"}}
    )
    assert [f.title for f in found.values()] == [
        "Heat (temp)",
        "Heat (hum)",
        "season",
        "season (code)",
    ]


def test_labels_that_look_the_same_on_one_line_are_followed_by_the_name(X):
    found = features(X, {"temp": {"label": "Air  heat"}, "hum": {"label": "Air\nheat"}})
    assert found["temp"].title == "Air  heat (temp)"
    assert found["hum"].title == "Air\nheat (hum)"


# ------------------------------------------------------------------------------------- results
def test_results_are_indexed_by_name_and_do_not_change(X):
    schema = {"temp": {"unit": "°C", "label": "Temperature"}, "season": {"label": "Season"}}
    plain, labelled = sd.explain(f, X), sd.explain(f, X, schema=schema)
    assert list(plain) == list(labelled)
    for name in plain:
        np.testing.assert_array_equal(plain[name].value, labelled[name].value)
        assert labelled[name].feature == name
        assert labelled[name].provenance["quantity"] == plain[name].provenance["quantity"]
    frame = labelled.to_frame()
    assert set(frame["feature"]) == set(X.columns)


def test_a_label_is_saved(X, tmp_path):
    e = sd.explain(f, X, "temp", schema={"temp": {"label": HOSTILE["markup"]}})
    e.save(tmp_path / "e.npz")
    assert sd.load(tmp_path / "e.npz").about.feature.title == HOSTILE["markup"]
