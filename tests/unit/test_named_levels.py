"""Levels that a caller names: an unknown one raises wherever levels are looked up, and the error names the near one."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import skedasis as sd

N = 60
RNG = np.random.default_rng(0)

COLUMNS = {
    "text": RNG.choice(["female", "male"], N),
    "digits": RNG.choice(["1", "2"], N),
    "whole": RNG.choice([1, 2], N),
    "flags": RNG.choice([True, False], N),
}


def explained(kind, features="c", method=None):
    X = pd.DataFrame({"c": COLUMNS[kind], "z": RNG.normal(size=N)})
    schema = {"c": "nominal"}
    return sd.explain(lambda X: X["z"] * 2, X, features, method=method or sd.ALE(), schema=schema)


def change_to(kind, level):
    X = pd.DataFrame({"c": COLUMNS[kind], "z": np.arange(N) % 7.0})
    return sd.change(lambda X: X["z"], X, to={"c": level}, schema={"c": "nominal"})


LOOKUPS = {
    "effect": lambda kind, level: explained(kind)(level),
    "effect of several": lambda kind, level: explained(kind)([None, level]),
    "surface": lambda kind, level: explained(kind, ("c", "z"))([level], [0.0]),
    "contrast": lambda kind, level: explained(kind).contrast(level, level),
    "contrasts": lambda kind, level: explained(kind).contrasts(level),
    "grid": lambda kind, level: explained(kind, method=sd.PDP(grid={"c": [level]})),
    "anchor": lambda kind, level: explained(kind, method=sd.PDP(anchor={"c": level})),
    "change": change_to,
    "values": lambda kind, level: explained(kind, method=sd.ICE()).plot(
        values=[level] * N, histogram=True, color=np.arange(N) % 2
    ),
}


@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize(
    ("kind", "wrong", "meant"),
    [
        ("text", "femael", "'female'"),
        ("text", " Male", "'male'"),
        ("digits", 1, "'1'"),
        ("digits", True, None),
        ("whole", True, "1"),
        ("whole", "2 ", "2"),
        ("flags", 1, "True"),
        ("flags", "false", "False"),
        ("text", "zzz", None),
        ("text", ["male"], "'male'"),
    ],
)
def test_an_unknown_level_raises_and_the_level_that_is_meant_works(lookup, kind, wrong, meant):
    if isinstance(wrong, list) and lookup not in ("contrast", "contrasts", "change"):
        pytest.skip("a list is several levels")
    if lookup == "change" and wrong == 1 and wrong is not True:
        pytest.skip("a number is a step")
    with pytest.raises(sd.DataError) as caught:
        LOOKUPS[lookup](kind, wrong)
    said = re.search(r"Did you mean (.+)\?$", str(caught.value))
    if meant is None:
        assert said is None
        return
    assert f"got {wrong!r}, expected one of the levels " in str(caught.value)
    assert said is not None
    assert said[1] == meant
    LOOKUPS[lookup](kind, eval(said[1]))
    plt.close("all")


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_value_that_is_no_level_has_no_value(missing):
    e = explained("text")
    assert np.isnan(e(["male", missing])).tolist() == [False, True]
    surface = explained("text", ("c", "z"))
    assert np.isnan(surface(["male", missing], [0.0, 0.0])).tolist() == [False, True]


def test_rows_of_levels_that_are_left_out_have_no_position():
    X = pd.DataFrame({"c": ["a"] * 30 + ["b"] * 20 + ["c"] * 10})
    e = sd.explain(lambda X: X["c"] == "a", X, "c", method=sd.ICE(top_levels=2))
    e.plot(values=X["c"], histogram=True, color=np.arange(60) % 2)
    plt.close("all")
    with pytest.raises(sd.DataError, match=r"got 'c', expected one of the levels 'a', 'b'"):
        e("c")
