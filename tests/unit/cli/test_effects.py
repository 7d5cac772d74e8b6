"""`skedasis effect` of levels, pairs, groups and classes: printed output, written files, and errors."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.cli.app import app
from tests.shell import CliRunner

HOSTILE = "<script>[red]x[/red] " + "y" * 60
MODULE = """
import numpy as np, pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

worth = {"north": 1.0, "south": 4.0}

def price(X):
    town = X["town"].map(worth).fillna(0.0)
    return X["size"] * (1 + (X["town"] == "south")) + town + 10 * (X["code"] == 2) + 3 * X["gas"] + 5 * X["oil"]

shop = pd.read_csv("shop.csv")
coded = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
kind = make_pipeline(coded, LogisticRegression(max_iter=2000)).fit(shop.drop(columns="kind"), shop["kind"])
linear = LinearRegression().fit(shop[["size"]], shop["size"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    n = 240
    heating = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "size": rng.uniform(0, 1, n).round(3),
            "town": np.resize(["north", "north", "south", HOSTILE], n),
            "code": np.resize([1, 2, 7], n),
            "gas": (heating == 0) * 1.0,
            "oil": (heating == 1) * 1.0,
            "wood": (heating == 2) * 1.0,
            "kind": np.resize(["a/b", "a b", "A_B"], n),
        }
    )
    frame.to_csv(tmp_path / "shop.csv", index=False)
    (tmp_path / "market.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("market", None)


def effect(feature, *args, model="market:price", data="shop.csv", width="140"):
    call = ["effect", "--model", model, "--data", data, "--feature", feature, "--target", "kind"]
    return CliRunner().invoke(app, [*call, *map(str, args)], env={"COLUMNS": width})


def done(*args, **kwargs):
    result = effect(*args, **kwargs)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*args, **kwargs):
    result = effect(*args, **kwargs)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    (line,) = result.stderr.strip().splitlines()
    assert re.match(r"^.+: got .+, expected .+\. .+$", line)
    return line


# ----------------------------------------------------------------------------------------- levels


def test_text_is_explained_by_level(folder):
    said = done("town", "--out", "town.png", "--out", "town.json")
    assert "town: effect on prediction (ALE, 3 levels)" in said
    for level in ("north", "south", "[red]x[/red]"):
        assert level in said
    content = json.loads((folder / "town.json").read_text())
    curve = content["curve"]
    found = dict(zip(curve["levels"], curve["value"], strict=True))
    # The step from north to south is 3 plus the mean size; the other terms do not change.
    size = pd.read_csv("shop.csv")["size"]
    assert abs(found["south"] - found["north"] - 3 - size.mean()) < 0.1
    assert curve["rows"] == [
        {"north": 120, "south": 60, HOSTILE: 60}[name] for name in curve["levels"]
    ]
    assert len(content["bins"]["left"]) == 2


def test_methods_other_than_the_default_take_text(folder):
    done("town", "--method", "pdp", "--out", "t.csv")
    assert set(pd.read_csv("t.csv")["level"]) == {"north", "south", HOSTILE}
    done("town", "--method", "mplot", "--out", "t.npz")
    assert len(sd.load("t.npz").levels) == 3


def test_effects_name_the_feature_they_depend_on_and_several_are_ranked(folder):
    name = "<script>[red]x[/red]"
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.uniform(-1, 1, size=(2000, 3)), columns=["a", name, "c"])
    data.to_csv("wide.csv", index=False)
    (folder / "wide_models.py").write_text(
        "def f(X):\n    return X.iloc[:, 0] * X.iloc[:, 1] + X.iloc[:, 2]\n"
    )
    call = ["effect", "wide_models:f", "wide.csv"]
    one = CliRunner().invoke(app, [*call, "a"], env={"COLUMNS": "300"})
    assert re.search(
        rf"mostly by {re.escape(name)} \([\d.]+ %( ± \S+ %)?\): skedasis regions",
        " ".join(one.stdout.split()),
    )
    assert "features: " not in one.stdout
    every = CliRunner().invoke(app, [*call, "a", "c"], env={"COLUMNS": "300"})
    head, names, *lines = every.stdout.splitlines()[-4:]
    assert head.startswith("2 features: effect on prediction (")
    assert names.split()[-2:] == ["mostly", "by"]
    assert [line.split()[0] for line in lines] == ["c", "a"]
    assert re.search(rf"{re.escape(name)} [\d.]+ %$", lines[1])
    (found,) = json.loads(CliRunner().invoke(app, [*call, "a", "--json"]).stdout)["results"]
    assert found["depends_on"]["name"] == name


def test_bins_grids_and_missing_values_are_printed(folder):
    shop = pd.read_csv("shop.csv")
    shop.loc[:39, "size"] = np.nan
    shop.to_csv("gaps.csv", index=False)
    (folder / "gap_models.py").write_text("def f(X):\n    return 3 * X['size'].fillna(2.0)\n")
    call = ["effect", "gap_models:f", "gaps.csv", "size", "--ignore", "kind"]
    lines = CliRunner().invoke(app, call).stdout.splitlines()
    size = shop["size"].dropna()
    assert "Bins by RHALE, in units of prediction per unit of size." in lines
    bins = lines[-1].split()
    assert [float(bins[0]), float(bins[1])] == [size.min(), size.max()]
    assert bins[2:4] == ["200", "3.00"]
    (told,) = (line for line in lines if line.startswith("The feature is missing in 40 rows. "))
    assert f"{6 - 3 * size.mean():.2f} higher" in told
    lines = CliRunner().invoke(app, [*call, "--method", "pdp"]).stdout.splitlines()
    grid = np.array([line.split()[:2] for line in lines[-12:]], dtype=float)
    assert grid[[0, -1], 0].tolist() == [size.min(), size.max()]
    assert np.ptp(grid[:, 1]) == pytest.approx(3 * np.ptp(size), abs=0.01)


# ------------------------------------------------------------------------------- pairs and groups


def test_a_pair_prints_its_strength(folder):
    said = done("size", "--with", "town", "--out", "pair.json")
    assert "size × town: interaction effect on prediction (ALE, 20 bins × 3 levels)" in said
    assert "21 × 3" in said
    assert "cells without rows" not in said
    assert "cells without rows" in done("size", "--with", "code")
    content = json.loads((folder / "pair.json").read_text())
    assert content["features"] == ["size", "town"]
    assert content["cells"] is not None
    # The interaction of size and town: centered size times the centered indicator of south (fraction 0.25).
    frame = pd.read_csv("shop.csv")
    joint = (frame["size"] - frame["size"].mean()) * ((frame["town"] == "south") - 0.25)
    printed = float(re.search(r"strength.*?(\d\.\d+)", said)[1])
    assert printed == pytest.approx(joint.std(ddof=0), rel=0.1)


def test_a_block_is_moved_as_one(folder):
    said = done("heating", "--group", "heating=gas, oil,wood", "--out", "heating.csv")
    assert "heating: effect on prediction (ALE, 3 levels)" in said
    found = pd.read_csv("heating.csv").set_index("level")["value"]
    assert found["oil"] - found["wood"] == pytest.approx(5)
    assert found["gas"] - found["wood"] == pytest.approx(3)
    assert "2 features" not in said
    assert "size × heating: interaction effect on prediction (ALE, 20 bins × 3 levels)" in done(
        "size", "--with", "heating", "--group", "heating=gas,oil,wood"
    )


# -------------------------------------------------------------------------------------- contrasts


def test_a_change_between_two_values_is_printed(folder):
    said = done("size", "--contrast", "0.2,0.6", "--method", "ale")
    frame = pd.read_csv("shop.csv")
    import market

    want = sd.explain(market.price, frame.drop(columns="kind"), "size", method="ale")
    change = want.contrast(0.2, 0.6)
    assert said.strip().splitlines()[-1] == str(change)
    document = json.loads(done("size", "--contrast", "0.2,0.6", "--method", "ale", "--json"))
    assert document["contrasts"]["value"] == [change.value]
    assert document["contrasts"]["lower"] == [change.lower]
    assert "size 0.6 → 0.2" in done("size", "--contrast", "0.6,0.2")


# ----------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("feature", "args", "message"),
    [
        ("town", ["--method", "rhale"], "RHALE"),
        ("size", ["--with", "towm"], "Did you mean 'town'"),
        ("size", ["--with", "town", "--method", "rhale"], "RHALE"),
        ("size", ["--categorical", "cod"], "--categorical: got 'cod'"),
        ("size", ["--group", "heating"], "expected NAME=COLUMN,COLUMN"),
        ("size", ["--group", "h=gas,oli"], "--group: got 'oli'"),
        ("size", ["--group", "h=gas", "--group", "h=oil"], "'h' twice"),
        ("size", ["--class", "all"], "leave --class out"),
        ("size", ["--contrast", "0.2"], "expected two values, FROM,TO"),
        ("size", ["--contrast", "0.2,30"], "contrast(b) of 'size': got 30"),
        (
            "size",
            ["--contrast", "low,0.3"],
            "contrast(a) of 'size': got values that are not numbers, such as 'low'",
        ),
        ("town", ["--contrast", "north,west"], "expected one of the levels"),
        ("size", ["--with", "town", "--contrast", "0.2,0.4"], "expected one feature"),
    ],
)
def test_errors_are_one_line(folder, feature, args, message):
    assert message in refusal(feature, *args)


# ------------------------------------------------------------------------------ units and labels
def unit_and_label(*args, **kwargs):
    done("size", "--out", "size.npz", *args, **kwargs)
    found = sd.load("size.npz").about.feature
    return found.name, found.unit, found.label, found.kind


def test_units_and_labels_of_columns(folder):
    told = unit_and_label("--unit", "size=m² = area", "--label", "size=Living <b>area</b>")
    assert told == ("size", "m² = area", "Living <b>area</b>", "continuous")


def test_a_schema_file_describes_columns_of_the_data(folder):
    schema = {"size": {"unit": "m²", "label": "Area"}, "kind": {"label": "not a feature"}}
    (folder / "schema.json").write_text(json.dumps(schema))
    assert unit_and_label("--schema", "schema.json") == ("size", "m²", "Area", "continuous")
    # The command line wins over the file.
    assert unit_and_label("--schema", "schema.json", "--unit", "size=ft²")[1:3] == ("ft²", "Area")


@pytest.mark.parametrize(
    ("args", "content", "parts"),
    [
        (("--unit", "size"), None, ("--unit", "COLUMN=TEXT", "temp=°C")),
        (("--unit", "sise=m"), None, ("--unit", "sise", "size")),
        (("--schema", "none.json"), None, ("--schema", "none.json", "No such file")),
        (("--schema", "s.json"), "{", ("--schema", "no JSON")),
        (("--schema", "s.json"), '{"size": 3}', ("--schema: 'size'", "3")),
        (("--schema", "s.json"), '{"size": {"units": "m"}}', ("'units'", "Did you mean 'unit'?")),
    ],
)
def test_wrong_units_labels_and_schemas_are_explained(folder, args, content, parts):
    if content is not None:
        (folder / "s.json").write_text(content)
    said = " ".join(refusal("size", *args).split())
    for part in parts:
        assert part in said


# ----------------------------------------------------------------------------------------- models


def test_several_models_are_compared_and_each_is_named(folder):
    (folder / "market.py").write_text(
        MODULE + "\ndef double(X):\n    return 2 * price(X)\nslope = linear.predict\n"
    )
    both = ["--model", "market:price", "--model", "market:double", "--data", "shop.csv"]
    call = ["effect", *both, "size", "--contrast", "0.25,0.75", "--ignore", "kind"]
    text = CliRunner().invoke(app, call)
    assert text.exit_code == 0, text.output
    # The name of a model stands above its table, and before its contrast.
    printed = text.stdout
    first, second = printed.index("\nmodel price\n"), printed.index("\nmodel double\n")
    assert first < printed.index("size: effect on prediction") < second
    assert second < printed.rindex("size: effect on prediction")
    assert "\nprice: size 0.25 → 0.75" in printed
    assert "\ndouble: size 0.25 → 0.75" in printed
    document = json.loads(CliRunner().invoke(app, [*call, "--json"]).stdout)
    assert [one["model"] for one in document["results"]] == ["price", "double"]
    contrasts = document["contrasts"]
    assert contrasts["model"] == ["price", "double"]
    assert contrasts["value"][1] == pytest.approx(2 * contrasts["value"][0])


def test_only_some_commands_compare_models(folder):
    both = ["--model", "market:price", "--model", "market:linear", "--data", "shop.csv"]
    for command in (["importance"], ["interactions"], ["what-if", "size=+1"]):
        wrong = CliRunner().invoke(app, [command[0], *both, *command[1:]])
        assert wrong.exit_code == 2
        assert "--model: got 2 models, expected one model" in " ".join(wrong.output.split())
    twice = CliRunner().invoke(app, ["effect", *both[:2], *both[:2], *both[4:], "size"])
    assert "'price' twice" not in twice.output
    assert "'market:price' twice" in twice.output


# --------------------------------------------------------------------------------- observed means


def observed(folder, *args):
    """Return what the written document says of labels and predictions."""
    call = ["effect", "market:linear", "shop.csv", "size", "--target", "code", "--observed"]
    result = CliRunner().invoke(app, [*call, *args, "--json"])
    assert result.exit_code == 0, result.output
    (one,) = json.loads(result.stdout)["results"]
    return one["observed"]


def test_observed_means_are_those_of_the_file(folder):
    shop = pd.read_csv("shop.csv")
    found = observed(folder)
    assert np.sum(found["rows"]) == len(shop)
    np.testing.assert_allclose(
        np.average(found["label"][0], weights=found["rows"][0]), shop["code"].mean(), rtol=1e-12
    )


def test_observed_means_are_kept_apart_by_a_column_that_is_no_feature(folder):
    shop = pd.read_csv("shop.csv")
    found = observed(folder, "--split", "kind")
    assert found["split_values"] == sorted(shop["kind"].unique())
    wanted = shop.groupby("kind")["code"].mean()
    for k, value in enumerate(found["split_values"]):
        here = np.average(
            np.nan_to_num(np.array(found["label"][k], float)), weights=found["rows"][k]
        )
        assert here == pytest.approx(wanted[value], rel=1e-12)


def test_observed_means_need_labels_and_a_split_needs_them():
    runner, call = CliRunner(), ["effect", "market:linear", "shop.csv", "size"]
    for more, said in (
        (["--observed"], "--target: got none, for --observed"),
        (["--split", "kind"], "--split: got no --observed"),
    ):
        result = runner.invoke(app, [*call, *more])
        assert result.exit_code == 2
        assert said in result.stderr


def test_a_split_that_is_no_column_is_refused(folder):
    call = ["effect", "market:linear", "shop.csv", "size", "--target", "code", "--observed"]
    result = CliRunner().invoke(app, [*call, "--split", "kinds"])
    assert result.exit_code == 2
    assert "Did you mean 'kind'?" in result.stderr
