"""Results as data frames: the columns for numbers, levels, pairs, and points of missing values."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import skedasis as sd
from tests.helpers import refused

N = 90
SCRIPT = "<script>alert('a')</script>"
backends = pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])


def frame() -> pd.DataFrame:
    """Return two numeric columns, one with missing values, a text column with markup characters, and a grade."""
    rng = np.random.default_rng(3)
    gaps = rng.normal(size=N)
    gaps[::9] = np.nan
    return pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "gaps": gaps,
            SCRIPT: rng.choice(["<b>", "ä", "z"], N, p=[0.5, 0.3, 0.2]),
            "grade": rng.integers(1, 5, N),
        }
    )


X = frame()
WEIGHTS = np.random.default_rng(4).integers(1, 4, N).astype(float)
LEVELS = ["<b>", "z", "ä"]


def model(rows: pd.DataFrame) -> np.ndarray:
    """Return a function of all columns; a missing value counts as 2."""
    level = rows[SCRIPT].map({"<b>": 1.0, "ä": -1.0, "z": 0.5}).to_numpy(float)
    gaps = rows["gaps"].fillna(2.0).to_numpy(float)
    return (1 + level) * rows["a"].to_numpy() + gaps + rows["grade"].to_numpy() ** 2


def explain(method: Any, features: Any = None, **options: Any) -> Any:
    schema = {"grade": "ordinal"}
    return sd.explain(model, X, features, method=method, schema=schema, progress=False, **options)


def columns(native: Any) -> dict[str, list[Any]]:
    """Return the columns of a data frame of any library as lists."""
    return nw.from_native(native, eager_only=True).to_dict(as_series=False)


def test_levels_stand_beside_their_rows():
    e = explain(sd.ALE(order={SCRIPT: ["z", "<b>", "ä"]}), SCRIPT, sample_weight=WEIGHTS)
    shown = e.to_frame()
    assert list(shown) == [
        *("feature", "level", "value", "heterogeneity", "std_error"),
        *("count", "weight", "accumulated_std"),
    ]
    assert shown["level"].tolist() == ["z", "<b>", "ä"]
    assert set(shown["feature"]) == {SCRIPT}
    for level, count, weight in zip(shown["level"], shown["count"], shown["weight"], strict=True):
        here = (X[SCRIPT] == level).to_numpy()
        assert (count, weight) == (here.sum(), WEIGHTS[here].sum())
    for name in ("value", "heterogeneity", "std_error"):
        np.testing.assert_array_equal(shown[name], getattr(e, name))


def test_steps_have_text_for_edges():
    e = explain(sd.ALE(order={SCRIPT: ["z", "<b>", "ä"]}), SCRIPT)
    shown = e.to_frame(of="bins")
    assert shown["left"].tolist() == ["z", "<b>"]
    assert shown["right"].tolist() == ["<b>", "ä"]
    assert shown["count"].tolist() == [
        X[SCRIPT].isin(pair).sum() for pair in (["z", "<b>"], ["<b>", "ä"])
    ]
    grades = explain(sd.RHALE(), "grade").to_frame(of="bins")
    assert grades["left"].iloc[0] == "1"
    assert grades["right"].iloc[-1] == "4"


def test_one_point_of_missing_values_is_one_row():
    e = explain(sd.ALE(bins=5), "gaps")
    shown = e.to_frame(of="missing")
    assert list(shown) == ["feature", "count", "effect", "value", "std", "std_error"]
    assert len(shown) == 1
    row = shown.iloc[0]
    assert (row["feature"], row["count"]) == ("gaps", 10)
    # A missing value counts as 2: the effect is 2 minus the observed mean, the same for every row.
    assert row["effect"] == pytest.approx(2.0 - X["gaps"].mean(), rel=1e-9)
    assert row["std"] == pytest.approx(0.0, abs=1e-12)


@backends
def test_numbers_and_levels_in_one_table(backend):
    es = explain(sd.ALE(bins=4), sample_weight=WEIGHTS)
    shown = columns(es.to_frame(backend))
    assert list(shown) == [
        *("feature", "x", "level", "value", "heterogeneity", "std_error"),
        *("accumulated_std", "count", "weight"),
    ]
    size = {name: len(e.x) for name, e in es.items()}
    assert shown["feature"] == [name for name in es for _ in range(size[name])]
    categorical = [name in (SCRIPT, "grade") for name in shown["feature"]]
    assert [_no_text(level) for level in shown["level"]] == [not c for c in categorical]
    assert np.isnan(np.array(shown["x"], dtype=float)).tolist() == categorical
    assert np.isnan(np.array(shown["count"], dtype=float)).tolist() == [not c for c in categorical]
    value = np.concatenate([e.value for e in es.values()])
    np.testing.assert_array_equal(shown["value"], value)
    here = [i for i, name in enumerate(shown["feature"]) if name == SCRIPT]
    assert sorted(shown["level"][i] for i in here) == LEVELS
    assert sum(shown["weight"][i] for i in here) == WEIGHTS.sum()


def _no_text(value: Any) -> bool:
    return not isinstance(value, str)


def test_the_spread_has_a_table_on_cells_of_its_own():
    e = explain(sd.ALE(bins=4), "a")
    shown = e.to_frame(of="spread")
    assert list(shown) == ["feature", "x", "value", "std_error", "weight"]
    np.testing.assert_array_equal(shown["value"], e.spread.value)
    levels = explain(sd.ALE(), SCRIPT).to_frame(of="spread")
    assert sorted(levels["level"]) == LEVELS
    with refused(sd.UnsupportedError, "has no spread"):
        explain(sd.ALE(bins=4), "a", heterogeneity_rows=0).to_frame(of="spread")


def test_a_table_is_in_the_library_of_the_data():
    rows = pl.DataFrame(
        {k: X[k].to_list() for k in X} | {SCRIPT: pl.Series(X[SCRIPT].tolist(), dtype=pl.String)}
    )
    es = sd.explain(
        lambda rows: rows["a"].to_numpy() * 2, rows, ["a", SCRIPT], method="ale", progress=False
    )
    assert isinstance(es.to_frame(), pl.DataFrame)
    assert es.to_frame().schema["level"] == pl.String


# --------------------------------------------------------------------------------- surfaces


@backends
def test_points_of_a_surface(backend):
    s = explain(sd.ALE(bins=3), ("a", SCRIPT))
    shown = columns(s.to_frame(backend))
    figures = ["value", "heterogeneity", "std_error"]
    assert list(shown) == ["feature0", "feature1", "x0", "x1", *figures]
    assert set(shown["feature0"]) == {"a"}
    assert set(shown["feature1"]) == {SCRIPT}
    labels = list(s.sides[1].levels.labels)
    for i, (x0, x1) in enumerate(zip(shown["x0"], shown["x1"], strict=True)):
        row, column = divmod(i, 3)
        assert x0 == s.x[0][row]
        assert x1 == labels[column]
        assert shown["value"][i] == s.value[row, column] == s(x0, x1)
        assert shown["heterogeneity"][i] == s.heterogeneity[row, column]
        assert shown["std_error"][i] == s.std_error[row, column]


@backends
def test_cells_of_a_surface(backend):
    s = explain(sd.ALE(bins=sd.Uniform(6)), ("a", SCRIPT), sample_weight=WEIGHTS)
    shown = columns(s.to_frame(backend, of="cells"))
    ends = ["left0", "right0", "left1", "right1"]
    assert list(shown) == [
        *("feature0", "feature1", *ends, "count", "weight", "effect", "std", "empty"),
        "std_error",
    ]
    labels = s.sides[1].levels.labels
    assert list(zip(*(shown[c] for c in ends), strict=True)) == [
        (s.x[0][i], s.x[0][i + 1], labels[j], labels[j + 1]) for i in range(6) for j in range(2)
    ]
    for low, high, one, other, count, weight, empty in zip(
        *(shown[c] for c in (*ends, "count", "weight", "empty")), strict=True
    ):
        top = X["a"] <= high if high == s.x[0][-1] else X["a"] < high
        here = ((X["a"] >= low) & top & X[SCRIPT].isin([one, other])).to_numpy()
        assert (count, weight, empty) == (here.sum(), WEIGHTS[here].sum(), not here.any())
