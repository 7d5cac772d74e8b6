"""The argument `schema`: kinds, dictionaries and features; labels as texts for people."""

import html
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.text import Text

import skedasis as sd
from skedasis.data.dataset import as_dataset
from tests.helpers import refused


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
@pytest.mark.parametrize("container", [pd.DataFrame, pa.table])
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


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ({"units": "°C"}, ("schema['temp']", "'units'", "Did you mean 'unit'?")),
        ({"colour": "red"}, ("'colour'", "Remove it")),
        ({"kind": "numeric"}, ("['kind']", "'numeric'", "continuous | ordinal | nominal")),
        ({"unit": 3}, ("['unit']", "got 3", "text")),
        ({"label": " \n\u200b"}, ("['label']", "visible character")),
        ({"levels": [1, 2]}, ("['levels']", "'continuous'", '"kind": "ordinal"')),
        ({"kind": "ordinal", "levels": "abc"}, ("['levels']", "a list of values")),
        (None, ("schema['temp']", "None")),
    ],
)
def test_a_wrong_entry_is_explained(X, entry, parts):
    with refused(sd.DataError, *parts):
        sd.explain(f, X, "temp", schema={"temp": entry})


# ----------------------------------------------------------------------------------- what is shown
NAMES = {"c_temp_c": "Temperature", "c_hum_c": "Humidity", "c_season_c": "Season"}
LABELLED = {
    "c_temp_c": {"unit": "°C", "label": "Temperature"},
    "c_hum_c": {"label": "Humidity"},
    "c_season_c": {"label": "Season"},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    n = 300
    return pd.DataFrame(
        {
            "c_temp_c": rng.uniform(0, 30, n),
            "c_hum_c": rng.uniform(0, 1, n),
            "c_season_c": rng.choice(["winter", "summer"], n),
        }
    )


def model(X):
    winter = X["c_season_c"].to_numpy() == "winter"
    temp, hum = X["c_temp_c"].to_numpy(), X["c_hum_c"].to_numpy()
    return np.where(winter, 2.0, -1.0) * temp + 20 * hum * (temp > 15) + 5 * winter


def texts_of(page):
    """Return what a page shows: text between tags, titles and alternative texts, without code and data."""
    page = re.sub(r"(?s)<(script|style|pre)\b.*?</\1>", " ", page)
    said = re.findall(r'(?:aria-label|title|alt|data-tip|data-text)="([^"]*)"', page)
    return html.unescape(" ".join([re.sub(r"(?s)<[^>]*>", " ", page), *said]))


def check_shown(text, *names):
    for name, label in NAMES.items():
        assert name not in text, text[max(text.index(name) - 200, 0) : text.index(name) + 100]
        assert label in text or name not in names


RESULTS = {
    "rhale": (lambda X: sd.explain(model, X, "c_temp_c", schema=LABELLED), ["c_temp_c"]),
    "effects": (lambda X: sd.explain(model, X, schema=LABELLED), list(NAMES)),
    "level surface": (
        lambda X: sd.explain(model, X, ("c_temp_c", "c_season_c"), method="pdp", schema=LABELLED),
        ["c_temp_c", "c_season_c"],
    ),
    "regions": (lambda X: sd.regions(model, X, "c_temp_c", schema=LABELLED), list(NAMES)[::2]),
    "importance": (
        lambda X: sd.explain(sd.loss(model), X, y=model(X) + 1.0, method="pfi", schema=LABELLED),
        list(NAMES),
    ),
    "interactions": (lambda X: sd.interactions(model, X, schema=LABELLED), list(NAMES)),
}


@pytest.mark.parametrize("kind", list(RESULTS))
def test_figures_show_labels(data, kind):
    make, names = RESULTS[kind]
    result = make(data)
    figure = result.plot()
    figure.canvas.draw()
    said = [t.get_text() for t in figure.findobj(Text) if t.get_visible()]
    check_shown(" ".join(said), *names[:1])
    if hasattr(result, "explore"):
        page = result.explore()
        svg = "".join(re.findall(r"(?s)<svg.*?</svg>", page.html))
        check_shown(texts_of(svg) + page.title)
    # What programs read keeps the names.
    assert not set(NAMES.values()) & set(map(str, result.to_frame().to_numpy().ravel()))


def test_rules_of_regions_show_labels_and_hold_by_name(data):
    r = sd.regions(model, data, "c_temp_c", schema=LABELLED)
    assert r.rules == ("Season = winter", "Season = summer")
    expected = np.where(data["c_season_c"] == "winter", 0, 1)
    np.testing.assert_array_equal(r.assign(data), expected)
    assert r.splits[0].feature == "c_season_c"
    # Also of columns in another order, and of a saved result.
    np.testing.assert_array_equal(r.assign(data[list(data)[::-1]]), expected)
    by_humidity = sd.explain(model, data, "c_temp_c", by=("c_hum_c", [0.5]), schema=LABELLED)
    assert by_humidity.rules == ("Humidity ≤ 0.5", "Humidity > 0.5")
