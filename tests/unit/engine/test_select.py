"""Features by pattern, selector or function of the name: what each stands for, and the messages of those that fail."""

from __future__ import annotations

import re

import narwhals as nw
import narwhals.selectors as nws
import narwhals.stable.v2.selectors as stable
import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skedasis as sd
from skedasis.errors import DataError, UnsupportedError

N = 120
RNG = np.random.default_rng(0)
GAS = RNG.integers(0, 2, N)
COLUMNS = {
    "temp": RNG.normal(size=N),
    "hum": RNG.uniform(size=N),
    "atemp": RNG.normal(size=N),
    "gas": GAS,
    "oil": 1 - GAS,
    "town": RNG.choice(["a", "b"], N),
    "Tempo": RNG.normal(size=N),
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def model(X) -> np.ndarray:
    columns = X.to_pandas() if isinstance(X, pa.Table) else X
    return np.asarray(columns["temp"], float) * np.asarray(columns["hum"], float)


def explained(X, features, **keywords) -> list[str]:
    found = sd.explain(model, X, features, heterogeneity_rows=0, **keywords)
    assert isinstance(found, (sd.Effects, sd.Importance))
    return list(found.features) if isinstance(found, sd.Importance) else list(found)


@pytest.mark.parametrize(
    ("library", "features", "expected"),
    [
        ("pandas", re.compile("temp"), ["temp", "atemp"]),
        ("polars", re.compile("temp", re.IGNORECASE), ["temp", "atemp", "Tempo"]),
        ("pandas", [re.compile("^h"), re.compile("um$"), "Tempo", 0], ["temp", "hum", "Tempo"]),
        ("pyarrow", lambda name: len(name) == 3, ["hum", "gas", "oil"]),
        ("pandas", nws.numeric(), ["temp", "hum", "atemp", "gas", "oil", "Tempo"]),
        ("pyarrow", stable.string(), ["town"]),
        ("polars", nws.numeric() - nws.by_dtype(nw.Int64), ["temp", "hum", "atemp", "Tempo"]),
        ("pandas", [nws.string(), "oil"], ["oil", "town"]),
    ],
)
def test_patterns_give_effects_in_the_order_of_x_and_each_once(library, features, expected):
    assert explained(FRAMES[library](COLUMNS), features) == expected


def test_selectors_of_polars_choose_from_a_polars_frame():
    X = pl.DataFrame(COLUMNS)
    assert explained(X, cs.float() & cs.matches("temp")) == ["temp", "atemp"]
    assert explained(X, [cs.string(), "hum"]) == ["hum", "town"]


def test_split_on_takes_patterns_and_leaves_out_the_feature_itself():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(2000, 4)), columns=["a", "b1", "b2", "c"])

    def steps(X: pd.DataFrame) -> np.ndarray:
        return X["a"].to_numpy() * np.where(X["b1"] > 0, 2, -1)

    by_pattern = sd.regions(steps, X, "a", split_on=re.compile("b|a"))
    by_name = sd.regions(steps, X, "a", split_on=["b1", "b2"])
    assert by_pattern.rules == by_name.rules
    assert by_pattern.provenance["split_on"] == ["b1", "b2"]
    assert sd.regions(steps, X, "a", split_on=nws.matches("c")).rules == ("all rows",)
    with pytest.raises(DataError, match="matches none of 3 features"):
        sd.regions(steps, X, "a", split_on=re.compile("^a$"))


@pytest.mark.slow
def test_groups_count_by_their_names_and_by_selectors_of_all_their_columns():
    X = pd.DataFrame(COLUMNS)
    groups = {"heating": ["gas", "oil"]}
    assert explained(X, re.compile("^h"), groups=groups) == ["hum", "heating"]
    assert "heating" in explained(X, nws.numeric(), groups=groups)
    assert explained(X, nws.matches("gas|hum"), groups=groups) == ["hum"]
    with pytest.raises(DataError, match="match the name of the group 'heating'"):
        sd.explain(model, X, re.compile("gas"), groups=groups)


def test_names_of_the_schema_are_matched_in_an_array():
    X = np.random.default_rng(0).normal(size=(50, 3))
    schema = {0: sd.Feature("temp"), 1: sd.Feature("hum"), 2: sd.Feature("atemp")}
    found = sd.explain(lambda X: X[:, 0], X, re.compile("temp"), schema=schema)
    assert list(found) == ["temp", "atemp"]
    assert list(sd.explain(lambda X: X[:, 0], X, re.compile("[02]"))) == ["x0", "x2"]


@pytest.mark.slow
def test_parquet_chooses_by_its_schema(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "a.parquet")
    X = sd.parquet(tmp_path / "a.parquet")
    assert explained(X, nws.string()) == ["town"]
    assert explained(X, cs.string()) == ["town"]
    assert explained(X, re.compile("temp")) == ["temp", "atemp"]


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        (
            re.compile("tmp"),
            DataError,
            r"re.compile\('tmp'\), which matches none of 7 features.*'temp'",
        ),
        (lambda name: 3, DataError, "True or False for each name"),
        (nw.col("temp"), UnsupportedError, "a selector of columns"),
        (("temp", re.compile("hum")), UnsupportedError, "itertools.combinations"),
        ([("temp", "hum"), re.compile("hum")], UnsupportedError, "patterns and pairs in one list"),
        (cs.numeric(), UnsupportedError, "Use narwhals.selectors"),
    ],
)
def test_what_cannot_be_selected_says_what_to_do(features, error, message):
    with pytest.raises(error, match=message):
        sd.explain(model, pd.DataFrame(COLUMNS), features)


def test_a_selector_needs_a_data_frame():
    with pytest.raises(UnsupportedError, match=r"Use positions, or re\.compile"):
        sd.explain(lambda X: X[:, 0], np.zeros((9, 2)), nws.numeric())
