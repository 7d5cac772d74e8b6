r"""The data of a report as JSON: strict, the same numbers as the results, small in a page, and nothing of rows."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.report.content import gather
from skedasis.report.data import (
    DETAILS,
    DIGITS,
    embedded_json,
    report_data,
    thinned,
)
from skedasis.results.export import plain_text, to_json, unique_texts

QUICK = {"pairs": 0, "uncertainty": False, "progress": False}


def strict(text):
    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def leaves_of(value, path=()):
    if isinstance(value, dict):
        assert all(type(key) is str for key in value), path
        for key, one in value.items():
            yield from leaves_of(one, (*path, key))
    elif isinstance(value, list):
        for one in value:
            yield from leaves_of(one, (*path, "*"))
    else:
        yield path, value


def checked(data):
    """Return the data after a round trip; raise unless all values are plain and finite."""
    for path, value in leaves_of(data):
        assert type(value) in (str, int, float, bool, type(None)), (path, type(value))
        assert not isinstance(value, float) or math.isfinite(value), path
    back = strict(to_json(data))
    assert back == data
    to_json(data).encode("utf-8")  # raises for lone surrogates
    return back


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n = 400
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "constant": np.ones(n),
            "grade": pd.Categorical(
                rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], ordered=True
            ),
        }
    )


def of_frame(X):
    days = (X["day"] - pd.Timestamp("2024-01-01")).dt.days.to_numpy(float)
    code = X["city"].map({"x": 0.0, "y": 1.0, "z": 3.0}).astype(float).to_numpy()
    return X["a"].to_numpy() * code + X["holes"].fillna(2.0).to_numpy() + days / 100


@pytest.fixture(scope="module")
def content(frame):
    y = of_frame(frame) + np.random.default_rng(0).normal(size=len(frame))
    options = {"rows": [3, 5], "by": "city", "progress": False, "uncertainty": False}
    return gather(of_frame, frame, y, pairs=2, **options)


# ----------------------------------------------------------------------------------------- numbers


@pytest.mark.slow
def test_the_numbers_are_those_of_the_results(content):
    data, section = checked(report_data(content)), content.sections[0]
    assert data["schema"] == 2
    assert data["version"] == sd.__version__
    assert data["left_out"] == []
    assert data["data"]["rows"] == 400
    assert data["data"]["features"] == list(content.features)
    (model,) = data["models"]
    assert list(model["features"]) == list(content.features)
    for name, found in model["features"].items():
        effect = section.rhale[name]
        assert found["importance"] == effect.importance
        assert found["heterogeneity_score"] == effect.heterogeneity_score
        curve = found["curve"]
        assert curve["value"] == pytest.approx(effect.value.tolist(), nan_ok=True)
        lower, upper = effect.interval(0.95)
        expected = [None if math.isnan(v) else v for v in lower.tolist()]
        assert curve["lower"] == expected
        assert curve["upper"] == [None if math.isnan(v) else v for v in upper.tolist()]
        assert len(found["pdp"]["value"]) == len(section.pdp[name].value)
        checks = section.checks[name]
        assert [c["code"] for c in found["checks"]] == [c.code for c in checks]
        assert [c["message"] for c in found["checks"]] == [c.message for c in checks]
        # The regions were named by the column "city", which has none of its own.
        assert (name in section.regions) == (name != "city")
        regions = section.regions.get(name)
        for k, region in enumerate(found["regions"]):
            assert region["rule"] == regions.rules[k]
            assert region["importance"] == regions[k].importance
            assert region["rows"] == regions.leaves[k].count
            assert region["curve"]["value"] == regions[k].value.tolist()
    features = model["features"]
    assert features["a"]["curve"]["x"] == section.rhale["a"].points.tolist()
    assert features["city"]["curve"]["levels"] == list(section.rhale["city"].levels.labels)
    assert sum(features["city"]["curve"]["rows"]) == 400
    days = features["day"]["curve"]["x"]
    assert [d[:10] for d in days] == [str(d)[:10] for d in section.rhale["day"].x]
    assert features["holes"]["missing"]["value"] == section.rhale["holes"].missing_point.value
    assert features["constant"]["bins"] is None
    assert [p["name"] for p in model["variance_shares"]["parts"]] == [
        p.name for p in section.variance_shares.parts
    ]
    ranking = [r["importance"] for r in model["ranking"]]
    assert ranking == sorted(ranking, reverse=True)
    assert [c["rule"] for c in model["cohorts"]] == ["city = x", "city = y", "city = z"]
    assert model["cohorts"][1]["importance"]["a"] == section.cohorts[1].importance["a"]
    assert [r["position"] for r in model["rows"]] == [3, 5]
    assert model["rows"][0]["values"]["a"]["ice"] == section.given_rows[0].values["a"].ice.tolist()
    assert model["quality"]["measures"]["R²"] == section.quality["R²"]
    assert sum(p["effect_rows"] for p in model["provenance"]) == sum(
        p.provenance["effect_rows"] for p in section.passes
    )


def test_bins_are_those_of_the_effect(content):
    section = content.sections[0]
    features = report_data(content)["models"][0]["features"]
    bins = section.rhale["a"].bins
    found = features["a"]["bins"]
    assert found["left"] == bins.low.tolist()
    assert found["right"] == bins.high.tolist()
    assert found["slope"] == bins.effect.tolist()
    assert found["rows"] == bins.count.tolist()
    grades = features["grade"]["bins"]
    assert (grades["left"][0], grades["right"][-1]) == ("lo", "hi")


def test_the_same_content_gives_the_same_text(content):
    assert to_json(report_data(content)) == to_json(report_data(content))
    assert embedded_json(content) == embedded_json(content)


def test_predictive_uncertainty():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = np.where(rng.random(300) < 1 / (1 + np.exp(-4 * X[:, 0])), "yes", "no")
    content = gather(LogisticRegression().fit(X, y), X, y, pairs=0, progress=False)
    found = checked(report_data(content))["models"][0]["uncertainty"]
    diagnosis = content.sections[0].uncertainty.diagnosis
    assert found["ranking"][0]["feature"] == "x0"
    for line, verdict in zip(found["diagnosis"], diagnosis.verdicts, strict=True):
        assert line["verdict"] == verdict.kind
        assert line["likelihood"] == diagnosis[line["feature"]].likelihood.mean


# ----------------------------------------------------------------------------------- hostile texts

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "a\ud800",
    "a\udc00",
    "quo\"te's \\ \n",
    "\u202eלא \u0627",
    "line\u2028para\u2029",
    "&amp;",
]


def test_hostile_names_come_back_as_they_are():
    rng = np.random.default_rng(0)
    # Since version 3, pandas itself cannot join columns whose names have lone surrogates.
    new = int(pd.__version__.split(".")[0]) >= 3
    given = [name for name in HOSTILE if not new or name not in HOSTILE[2:4]]
    X = pd.DataFrame(rng.normal(size=(120, len(given))), columns=given)
    content = gather(
        {"<b>&\ud800": lambda X: np.asarray(X)[:, 0] * np.asarray(X)[:, 1]}, X, **QUICK
    )
    data = checked(report_data(content))
    names = data["data"]["features"]
    assert len(set(names)) == len(given)
    changed = set(given) & set(HOSTILE[2:4])
    assert set(given) - set(names) == changed
    assert not changed or {"a\ufffd", "a\ufffd (2)"} <= set(names)
    assert set(data["models"][0]["features"]) == set(names)
    assert data["models"][0]["name"] == "<b>&\ufffd"
    text = embedded_json(content)
    assert not set("<>&\u2028\u2029") & set(text)
    assert strict(text)["data"]["features"] == names


def test_numbers_that_are_extreme():
    rng = np.random.default_rng(0)
    X = np.c_[1e12 + rng.random(200), 1e-300 * rng.random(200), rng.integers(2019, 2021, 200)]

    def f(X):
        return 1e30 * (X[:, 0] - 1e12) + X[:, 2]

    content = gather(f, X, **QUICK)
    checked(report_data(content))
    few = checked(report_data(content, DIGITS))["models"][0]["features"]
    # Relative to the range: all points would be 1e12 with six digits of themselves.
    assert len(set(few["x0"]["curve"]["x"])) > 1
    assert few["x2"]["curve"]["x"] == [2019.0, 2020.0]


def test_surrogates_and_names():
    assert plain_text("\U0001f600 \ud83d\ude00"[:1]) == "\U0001f600"
    found = unique_texts(["a\ufffd", "a\ud800", "a\udfff"])
    assert list(found.values()) == ["a\ufffd", "a\ufffd (2)", "a\ufffd (3)"]


# ------------------------------------------------------------------------------------ what is kept


@pytest.mark.slow
def test_without_rows_no_value_of_a_row_is_written(frame):
    """Values of rows that are neither ends of a column nor points of a curve."""
    y = of_frame(frame) + np.random.default_rng(0).normal(size=len(frame))
    content = gather(of_frame, frame, y, rows=False, **QUICK)
    data = checked(report_data(content))
    assert data["models"][0]["rows"] == []
    written = {v for _, v in leaves_of(data) if isinstance(v, float)}
    allowed = {
        float(v)
        for e in (content.sections[0].rhale, content.sections[0].pdp)
        for one in e.values()
        if one.points.dtype.kind == "f"
        for v in one.points
    }
    # Without a or holes, predictions are round numbers, as averages also are.
    predicted = of_frame(frame)[(frame["city"] != "x") & frame["holes"].notna()]
    rows = {float(v) for v in (*frame["a"], *frame["holes"].dropna(), *y, *predicted)}
    assert not (written & rows) - allowed


# -------------------------------------------------------------------------------------------- size


@pytest.mark.slow
@pytest.mark.parametrize("features", [60])
def test_300_features_take_less_than_a_megabyte(features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, features))
    w = rng.normal(size=features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sd.CostWarning)
        content = gather(lambda X: np.sin(X) @ w, X, regions=False, heterogeneity_rows=0, **QUICK)
    text = embedded_json(content)
    assert len(text.encode()) < 1_000_000 * features / 300
    assert len(strict(text)["models"][0]["features"]) == features


def test_what_is_left_out_of_a_page_is_named(content):
    features, said = content.features, []
    for detail in DETAILS:
        data = checked(report_data(content, DIGITS, detail))
        told = data["models"][0]["features"]
        every = [told[name] for name in features]
        rules = [r["curve"] for f in every for r in f["regions"]]
        checks = [c["message"] for f in every for c in f["checks"]]
        parts = {
            "bins": [f["bins"] for f in every],
            "mean labels": [f["observed"] for f in every],
            "PDPs": [f["pdp"] for f in every],
            "curves in regions": rules,
            "messages of checks": checks,
            "curves": [f["curve"] for f in every],
        }
        *_, points = ["", *(t for t in data["left_out"] if t.startswith("points"))]
        assert [t for t in data["left_out"] if t != points] == [
            name for name, some in parts.items() if all(one is None for one in some)
        ]
        curves = [c for c in parts["curves"] if c is not None]
        assert bool(points) == bool(curves)
        most = max((len(c["value"]) for c in curves), default=0)
        assert not points or most <= int(points.rpartition(" ")[2])
        said.append(data["left_out"])
    assert [len(some) for some in said] == [1, 2, 3, 4, 4, 6, 6, 6]


def test_thinned_curves_keep_their_ends_and_peaks():
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(500))
    y = np.cumsum(rng.normal(size=500))
    some = thinned(x, y, 40)
    assert len(some) == 40
    assert {0, 499, int(y.argmax()), int(y.argmin())} <= set(some.tolist())
    close = np.abs(np.interp(x, x[some], y[some]) - y).max()
    even = np.linspace(0, 499, 40).astype(int)
    assert close < np.abs(np.interp(x, x[even], y[even]) - y).max()
    assert thinned(x, np.full(500, np.nan), 5).tolist() == [0, 499]
    assert thinned(np.zeros(9), np.arange(9.0), 3)[[0, -1]].tolist() == [0, 8]


# -------------------------------------------------------------------------------------- the report


def test_a_report_returns_and_writes_its_data(tmp_path, frame):
    X = frame[["a", "holes"]].fillna(0.0)
    done = sd.report(lambda X: np.asarray(X)[:, 0], X, path=tmp_path / "r.html", **QUICK)
    data = checked(done.to_dict())
    text = done.to_json(tmp_path / "new" / "données.json", indent=2)
    assert (tmp_path / "new" / "données.json").read_text("utf-8") == text
    assert strict(text) == data == strict(done.to_json())
    assert "\n" not in done.to_json()
    with pytest.raises(sd.DataError, match=r"to_json\(path\).*the folder"):
        done.to_json(tmp_path)
    with pytest.raises(sd.DataError, match=r"to_json\(path\)"):
        done.to_json("a\0b")
