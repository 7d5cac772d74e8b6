"""Observed means of an effect: kept in files, written to documents and tables, with intervals of Student's t."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skedasis as sd
from skedasis.results.effect import Effect
from skedasis.results.observed import Observed

FRAME = pd.DataFrame(
    {
        "x": np.linspace(0.0, 1.0, 90),
        "<script>": np.tile(["b", "a", "c"], 30),
        "when": pd.date_range("2020-01-01", periods=90, freq="D"),
    }
)


def observed(points: list[float], *, missing: bool = False, width: float = 0.1) -> Observed:
    """Return different numbers for each of two values of a split."""
    rng, shape = np.random.default_rng(len(points)), (2, len(points))
    of = {name: rng.normal(size=shape) for name in ("label", "prediction", "residual")}
    return Observed(
        points=np.array(points),
        low=np.array(points),
        high=np.array(points) + width,
        split_values=("train", "<b>"),
        split_name="part",
        quantity="prediction",
        unit="EUR",
        count=rng.integers(1, 9, shape),
        weight=rng.uniform(1, 2, shape),
        **of,
        **{f"{name}_error": rng.uniform(1, 2, shape) for name in of},
        df=rng.uniform(2, 9, shape),
        missing=observed([np.nan]) if missing else None,
    )


def effect(column: str, *, missing: bool = False) -> Effect:
    """Return an effect with observed means at some of its points."""
    found = sd.explain(lambda X: X["x"], FRAME, column, method="ale")
    return replace(found, observed=observed([0.0, 2.0], missing=missing))


@pytest.mark.parametrize("column", FRAME)
@pytest.mark.parametrize("missing", [False, True])
def test_files_hold_what_was_observed(tmp_path, column, missing):
    e = effect(column, missing=missing)
    e.save(tmp_path / "e.npz")
    back = sd.load(tmp_path / "e.npz")
    assert isinstance(back, Effect)
    assert back.observed is not None
    assert e.observed is not None
    pairs = [(e.observed, back.observed), (e.observed.missing, back.observed.missing)]
    for one, other in pairs[: 1 + missing]:
        for name, value in vars(one).items():
            if name != "missing":
                np.testing.assert_array_equal(vars(other)[name], value)
    assert back.observed.missing is None or missing
    assert not back.observed.label.flags.writeable


@pytest.mark.parametrize("column", FRAME)
def test_a_table_has_a_row_for_each_cell_and_value_of_the_split(column):
    e = effect(column, missing=True)
    table = e.to_frame(of="observed")
    assert table["split"].tolist() == ["train"] * 2 + ["<b>"] * 2 + ["train", "<b>"]
    seen = e.observed
    assert seen is not None
    assert seen.missing is not None
    both = np.concatenate([seen.label.ravel(), seen.missing.label.ravel()])
    np.testing.assert_array_equal(table["label"], both)
    x = table["level" if column == "<script>" else "x"]
    assert x.isna().tolist() == [False] * 4 + [True] * 2
    if column == "<script>":
        assert e.levels is not None
        assert x.tolist()[:2] == [e.levels.labels[0], e.levels.labels[2]]
    if column == "when":
        assert x.tolist()[1] == pd.Timestamp("2020-01-03")


@pytest.mark.parametrize("column", [*FRAME, "few", "flag"])
def test_what_explain_observed_is_kept_in_files(tmp_path, column):
    X = FRAME.assign(few=np.tile([1, 2, 3], 30), flag=np.tile([True, False, False], 30))
    e = sd.explain(lambda X: X["x"], X, column, y=X["x"], method="ale", observed=True)
    e.save(tmp_path / "e.npz")
    assert sd.load(tmp_path / "e.npz").to_json() == e.to_json()


def test_an_effect_without_says_how_to_compute_it():
    e = replace(effect("x"), observed=None)
    with pytest.raises(sd.UnsupportedError, match=r"y=y, observed=True"):
        e.to_frame(of="observed")
    assert "observed" not in e.to_dict()


@pytest.mark.parametrize("column", FRAME)
def test_a_document_has_one_list_for_each_value_of_the_split(column):
    e = effect(column, missing=True)
    found, seen = e.to_dict()["observed"], e.observed
    assert seen is not None
    assert seen.missing is not None
    assert found["split_values"] == ["train", "<b>"]
    assert found["unit"] == "EUR"
    np.testing.assert_array_equal(found["residual_error"], seen.residual_error)
    np.testing.assert_array_equal(found["missing"]["rows"], seen.missing.count)
    assert ("left" in found) == (column != "<script>")
    if column == "when":
        assert found["x"][1].startswith("2020-01-03")


def test_rebinning_keeps_what_was_observed():
    e = effect("x")
    assert e.rebin(sd.Edges([0.0, 1.0])).observed is not None


def test_intervals_are_student_s_t():
    seen = observed([0.0, 1.0])
    for of in ("label", "prediction", "residual"):
        mean, error = vars(seen)[of], vars(seen)[f"{of}_error"]
        wanted = stats.t.interval(0.9, seen.df, mean, error)
        np.testing.assert_allclose(seen.interval(0.9, of), wanted, rtol=1e-12)
    with pytest.raises(sd.DataError, match="confidence_level"):
        seen.interval(2.0)
    with pytest.raises(sd.DataError, match="residual"):
        seen.interval(of="effect")


def test_its_text_names_the_split():
    assert repr(observed([0.0, 1.0])).startswith(
        "<Observed: label and prediction by part (train, <b>), 2 cells, "
    )
