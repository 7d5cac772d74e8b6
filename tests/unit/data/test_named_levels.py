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
    return sd.what_if(lambda X: X["z"], X, to={"c": level}, schema={"c": "nominal"})


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
        ("whole", "2 ", "2"),
        ("whole", True, "1"),
        ("flags", "false", "False"),
        ("text", "zzz", None),
    ],
)
def test_an_unknown_level_raises_and_the_level_that_is_meant_works(lookup, kind, wrong, meant):
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


# ------------------------------------------------------------------- labels that a schema declares
DAYS = {
    "numbers": (np.array([7070, 7171]), {7070: "weekend", 7171: "workday"}),
    "text": (np.array(["rawa", "rawb"]), {"rawa": "weekend", "rawb": "workday"}),
    "flags": (np.array([False, True]), {False: "weekend", True: "workday"}),
    "numbers as text": (np.array([7070, 7171]), {"7070": "weekend", "7171": "workday"}),
}


def of_days(kind):
    """Return rows with a column of two levels, their schema, and a model in which hours act on one level only."""
    values, labels = DAYS[kind]
    rng = np.random.default_rng(0)
    days = pd.Series(values[rng.integers(0, 2, 300)])
    X = pd.DataFrame({"day": days, "hr": rng.uniform(0, 24, 300)})
    return X, {"day": {"labels": labels}}, lambda X: X["hr"] * (X["day"] == values[1])


@pytest.mark.parametrize("kind", DAYS)
def test_labels_of_levels_are_shown_and_looked_up(kind, tmp_path):
    X, schema, f = of_days(kind)
    plain = sd.explain(f, X, "day", schema={"day": "nominal"})
    e = sd.explain(f, X, "day", schema=schema)
    e.save(tmp_path / "e.skd")
    both = DAYS[kind][0].tolist()
    for found in (e, sd.load(tmp_path / "e.skd")):
        assert found.about.feature.kind == "nominal"
        assert found.axis.levels.labels == ("weekend", "workday")
        np.testing.assert_array_equal(found.value, plain.value)
        np.testing.assert_array_equal(found(["weekend", "workday"]), plain.value)
        assert "weekend" in str(found.bins)
        assert "weekend → workday" in str(found.contrast("weekend", "workday"))
    np.testing.assert_array_equal(e(both), plain.value)
    assert e.contrast("weekend", both[1]).value == plain.contrast(both[0], both[1]).value
    assert sd.what_if(f, X, to={"day": "workday"}, schema=schema).value == pytest.approx(
        X["hr"].mean() - f(X).mean()
    )
    with pytest.raises(sd.DataError, match="Did you mean 'weekend'"):
        e("wekend")


def test_no_figure_sentence_or_file_shows_the_value_of_a_level_with_a_label(tmp_path):
    X, schema, f = of_days("numbers")
    by = sd.explain(f, X, "hr", by="day", schema=schema)
    assert by.rules == ("day = weekend", "day = workday")
    regions = sd.regions(f, X, "hr", schema=schema)
    assert sorted(regions.rules) == ["day = weekend", "day = workday"]
    assert sorted(np.unique(regions.assign(X))) == [0, 1]
    results = [
        sd.explain(f, X, "day", schema=schema),
        sd.explain(f, X, "day", method="ice", schema=schema),
        sd.explain(f, X, ("day", "hr"), schema=schema),
        sd.what_if(f, X, {"hr": 1.0}, by="day", schema=schema),
        by,
        regions,
    ]
    texts = [str(result) + result.to_json() for result in results]
    for k, result in enumerate(results):
        result.explore(tmp_path / f"{k}.html")
    sd.report(f, X, f(X), tmp_path / "report.html", schema=schema, rows=[3], progress=False)
    texts += [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.html")]
    for text in texts:
        assert "weekend" in text
        assert re.search(r"(?<![\d.])(7070|7171)(?!\d)", text) is None
    drawn = results[0].plot()
    drawn.canvas.draw()
    ticks = {t.get_text() for ax in drawn.axes for t in ax.get_xticklabels()}
    assert {"weekend", "workday"} <= ticks
    plt.close("all")


def test_labels_leave_declared_orders_missing_values_and_other_levels_as_they_are():
    X = pd.DataFrame({"c": [3, 1, 2] * 20, "m": [None, "a", "b"] * 20})
    schema = {
        "c": {"kind": "ordinal", "levels": [3, 1, 2], "labels": {1: "one", 9: "never seen"}},
        "m": {"labels": {None: "unknown", "a": "A"}},
    }
    es = sd.explain(lambda X: X["c"] * 1.0, X, schema=schema)
    assert es["c"].axis.levels.labels == ("3", "one", "2")
    assert set(es["m"].axis.levels.labels) == {"unknown", "A", "b"}
    np.testing.assert_array_equal(es["m"](["unknown", "A"]), es["m"]([None, "a"]))


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"labels": {True: "yes"}}, r"labels of feature 'c': got True.* Did you mean 1\?$"),
        ({"labels": {0: "same", 1: "same"}}, "got 'same' twice, expected a text for each level"),
        ({"labels": ["no", "yes"]}, "expected a mapping of levels to text"),
        ({"labels": {0: "no"}, "kind": "continuous"}, "levels of an ordinal or nominal feature"),
        ({"labels": {0: "1", 1: "0"}}, "got '1' for 0, which is another level"),
    ],
)
def test_labels_that_cannot_be(entry, says):
    X = pd.DataFrame({"c": [0, 1] * 20})
    with pytest.raises(sd.DataError, match=says):
        sd.explain(lambda X: X["c"] * 1.0, X, "c", schema={"c": entry})


WEEK = {1: "Mon", 2: "Tue", 3: "Wed", 4: "Thu"}
GIVEN = {
    "numbers": ([1, 2, 3, 4], WEEK),
    "text": (["lo", "mid", "hi", "top"], {"lo": "Low", "hi": "High"}),
    "text for numbers": ([1, 2, 3, 4], {str(level): text for level, text in WEEK.items()}),
    "flags": ([False, True], {False: "no", True: "yes"}),
}


@pytest.mark.parametrize(
    ("given", "kind", "declare"),
    [
        ("numbers", "ordinal", dict),
        ("text", "nominal", dict),
        ("text for numbers", "nominal", lambda **fields: sd.Feature("c", **fields)),
        ("flags", "ordinal", lambda **fields: sd.Feature("c", **fields)),
    ],
)
def test_levels_of_a_schema_are_named_by_labels_too(kind, given, declare):
    values, labels = GIVEN[given]
    X = pd.DataFrame({"c": np.array(values)[np.random.default_rng(0).integers(0, len(values), 99)]})
    by_label = [labels.get(v, labels.get(str(v), v)) for v in values]
    order = np.arange(len(values))[::-1]

    def explained_in(levels):
        schema = {"c": declare(kind=kind, labels=labels, levels=levels)}
        return sd.explain(lambda X: X["c"].map(values.index) ** 2.0, X, "c", schema=schema)

    plain, named = (
        explained_in([values[k] for k in order]),
        explained_in([by_label[k] for k in order]),
    )
    assert named.axis.levels.values == tuple(values[k] for k in order)
    assert named.axis.levels.labels == tuple(by_label[k] for k in order)
    np.testing.assert_array_equal(named.value, plain.value)
    with pytest.raises(sd.DataError, match=f"an order without {by_label[-1]!r}"):
        explained_in(by_label[:-1])


def test_a_feature_with_labels_is_nominal_unless_it_is_declared_ordinal():
    assert sd.Feature("c", labels={0: "no"}).kind == "nominal"
    assert sd.Feature("c", "ordinal", labels={0: "no"}).kind == "ordinal"
    X = pd.DataFrame({"c": [0, 1] * 20})
    schema = [sd.Feature("c", labels={0: "no", 1: "yes"})]
    e = sd.explain(lambda X: X["c"] * 1.0, X, "c", schema=schema)
    assert e.contrast("no", "yes").value == 1


@pytest.mark.parametrize(("dtype", "text"), [(int, False), (float, True), (str, False)])
def test_ordinal_numbers_are_set_to_labels_and_move_by_steps(dtype, text):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"d": rng.integers(1, 5, 80).astype(dtype), "a": rng.normal(size=80)})
    labels = {str(k) if text else dtype(k): label for k, label in WEEK.items()}
    schema = {"d": {"labels": labels, "kind": "ordinal"}}

    def f(X):
        return X["a"] * X["d"].astype(float)

    for found in (
        sd.what_if(f, X, to={"d": "Tue"}, schema=schema),
        sd.what_if(f, X, {"d": "Tue"}, schema=schema),
        sd.what_if(f, X, to={"d": dtype(2)}, schema=schema),
    ):
        assert found.value == pytest.approx((2 * X["a"] - f(X)).mean())
        assert found.text == "d = Tue"
    with pytest.raises(sd.DataError, match=r"one of the levels 'Mon', .* Did you mean 'Tue'\?$"):
        sd.what_if(f, X, to={"d": "tue"}, schema=schema)
    if dtype is not str:
        schema["d"]["levels"] = list(WEEK.values())
        step = sd.what_if(f, X, {"d": 2}, schema=schema)
        assert step.value == pytest.approx(2 * X["a"].mean())
