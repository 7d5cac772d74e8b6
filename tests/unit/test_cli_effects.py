"""`skedasis effect` of levels, pairs, groups and classes: printed output, written files, and errors."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.cli.app import app
from skedasis.cli.output import paths_of
from skedasis.data import readers
from skedasis.demo import demo
from tests.shell import CliRunner
from tests.unit.shell_files import headings

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
    assert "town: effect on prediction (ALE)" in said
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


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize("ending", ["png", "csv", "npz"])
@pytest.mark.parametrize("method", ["ale", "pdp", "ice", "mplot"])
def test_every_method_takes_text(folder, method, ending):
    done("town", "--method", method, "--out", f"t.{ending}")
    if ending == "csv":
        assert set(pd.read_csv("t.csv")["level"]) == {"north", "south", HOSTILE}
    elif ending == "npz":
        assert len(sd.load("t.npz").levels) == 3
    else:
        assert (folder / "t.png").read_bytes().startswith(b"\x89PNG")


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
        rf"mostly by {re.escape(name)} \(\d+ %( ± \S+ %)?\): skedasis regions",
        " ".join(one.stdout.split()),
    )
    assert "features: " not in one.stdout
    every = CliRunner().invoke(app, [*call, "a", "c"], env={"COLUMNS": "300"})
    head, names, *lines = every.stdout.splitlines()[-4:]
    assert head.startswith("2 features: effect on prediction (")
    assert names.split()[-2:] == ["mostly", "by"]
    assert [line.split()[0] for line in lines] == ["c", "a"]
    assert re.search(rf"{re.escape(name)} \d+ %$", lines[1])
    (found,) = json.loads(CliRunner().invoke(app, [*call, "a", "--json"]).stdout)["results"]
    assert found["depends_on"]["name"] == name


def test_an_mplot_prints_means(folder):
    said = done("size", "--method", "mplot", "--bins", "4", "--out", "size.csv")
    assert "size: mean of prediction (M-plot)" in said
    assert "mean slope" not in said
    assert " mean " in said
    assert len(pd.read_csv("size.csv")) == 4


def test_curves_of_rows_are_kept_with_the_effect(folder):
    done("size", "--curves", "6", "--out", "size.npz")
    e = sd.load(folder / "size.npz")
    assert len(e.curves) == 6
    assert e.provenance["curve_rows"] == 6 * len(e.x)


def test_many_levels_are_cut_on_the_screen_only(folder):
    frame = pd.read_csv("shop.csv").assign(town=[f"t{k % 60:02}" for k in range(240)])
    frame.to_csv("many.csv", index=False)
    said = done("town", "--out", "many_out.csv", data="many.csv")
    assert "40 of 60 levels, those with the most rows" in " ".join(said.split())
    assert len(pd.read_csv("many_out.csv")) == 60


def test_codes_are_levels_if_they_are_declared(folder):
    assert "code: effect on prediction (RHALE)" in done("code")
    said = done("code", "--categorical", "code", "--out", "code.csv")
    assert "code: effect on prediction (ALE)" in said
    found = pd.read_csv("code.csv").set_index("level")["value"]
    assert found[2] - found[1] == pytest.approx(10)
    assert found[2] - found[7] == pytest.approx(10)


def test_declared_codes_need_no_data_frame(folder, monkeypatch):
    monkeypatch.setattr(readers, "_LIBRARIES", ())
    pd.read_csv("shop.csv")[["size", "code"]].to_csv("plain.csv", index=False)
    (folder / "market.py").write_text("def f(X): return 10.0 * (X[:, 1] == 2)")
    args = ("effect", "--model", "market:f", "--data", "plain.csv", "--feature", "code")
    result = CliRunner().invoke(app, [*args, "--categorical", "code"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    assert "code: effect on prediction (ALE)" in result.stdout
    assert "6.67" in result.stdout  # 10 × 2/3: two thirds of the rows are 10 lower


def test_missing_values_are_counted(folder):
    frame = pd.read_csv("shop.csv")
    frame.loc[:19, "size"] = np.nan
    frame.loc[:29, "town"] = None
    frame.to_csv("holes.csv", index=False)
    (folder / "market.py").write_text(
        "def price(X): return X['size'].fillna(9.0) + 0.0 * X['town'].isna()"
    )
    observed = frame["size"].dropna().mean()
    said = done("size", "--out", "size.json", data="holes.csv")
    assert f"value missing (20 rows): {9 - observed:.2f}" in " ".join(said.split())
    content = json.loads((folder / "size.json").read_text())
    assert content["missing"]["value"] == pytest.approx(9 - observed, abs=0.01)
    assert " missing " in done("town", data="holes.csv")


# ------------------------------------------------------------------------------- pairs and groups


def test_a_pair_prints_its_strength(folder):
    said = done("size", "--with", "town", "--out", "pair.json")
    assert "size × town: interaction effect on prediction (ALE)" in said
    assert "3 levels" in said
    assert "20 bins" in said
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


@pytest.mark.parametrize("ending", ["png", "csv", "npz"])
def test_a_pair_is_written(folder, ending):
    done("size", "--with", "code", "--bins", 4, "--out", f"pair.{ending}")
    if ending == "csv":
        frame = pd.read_csv("pair.csv")
        assert (frame["x0"].nunique(), frame["x1"].nunique()) == (5, 3)  # three codes
        assert len(frame) == 15
    elif ending == "npz":
        assert sd.load(folder / "pair.npz").features == ("size", "code")
    else:
        assert (folder / "pair.png").read_bytes().startswith(b"\x89PNG")


def test_a_pair_by_pdp_includes_main_effects(folder):
    said = done("size", "--with", "town", "--method", "pdp", "--bins", 6)
    assert "main effects included" in said
    assert "6 points" in said


def test_a_block_is_moved_as_one(folder):
    said = done("heating", "--group", "heating=gas, oil,wood", "--out", "heating.csv")
    assert "heating: effect on prediction (ALE)" in said
    found = pd.read_csv("heating.csv").set_index("level")["value"]
    assert found["oil"] - found["wood"] == pytest.approx(5)
    assert found["gas"] - found["wood"] == pytest.approx(3)
    assert "2 features" not in said
    assert "size × heating: interaction effect on prediction (ALE)" in done(
        "size", "--with", "heating", "--group", "heating=gas,oil,wood"
    )


def test_columns_with_commas_stand_in_quotation_marks(folder):
    frame = pd.read_csv("shop.csv").assign(**{"gas, new": 0.0})
    frame.to_csv("commas.csv", index=False)
    said = done("heating", "--group", 'heating=gas,"gas, new",oil,wood', data="commas.csv")
    assert "heating: effect on prediction (ALE)" in said


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


def test_levels_and_classes_have_changes(folder):
    assert "town north → south: prediction +" in done("town", "--contrast", "north,south")
    said = done("size", "--class", "all", "--contrast", "0.2,0.6", model="market:kind")
    for label in ("a/b", "a b", "A_B"):
        assert f"size 0.2 → 0.6: P(y = {label}) " in said
    refusal("size", "--contrast", "-5,0.6")


# ---------------------------------------------------------------------------------------- classes


@pytest.mark.slow
def test_each_class_has_a_file(folder):
    said = done("size", "--class", "all", "--out", "new/out.png", model="market:kind")
    names = {p.name for p in (folder / "new").iterdir()}
    assert names == {"out-A_B.png", "out-a_b-2.png", "out-a_b-3.png"}  # some systems ignore case
    for label in ("a/b", "a b", "A_B"):
        assert f"P(y = {label})" in said
    assert said.count("written") == 3


def test_classes_add_up_to_one(folder):
    done("town", "--class", "all", "--out", "c.npz", model="market:kind")
    found = [sd.load(p).value for p in sorted(folder.glob("c-*.npz"))]
    assert len(found) == 3
    np.testing.assert_allclose(np.sum(found, axis=0), 0.0, atol=1e-12)


def test_file_names_are_told_apart():
    from pathlib import Path

    names = [p.name for p in paths_of(Path("x/o.png"), ["a", "a-2", "A", "a", 1, 1.0, "", ".."])]
    assert len({n.casefold() for n in names}) == 8
    assert paths_of(Path("x/o.png"), ["a"]) == [Path("x/o-a.png")]


# ----------------------------------------------------------------------------------------- errors


@pytest.mark.many
@pytest.mark.parametrize(
    ("feature", "args", "message"),
    [
        ("town", ["--method", "rhale"], "RHALE"),
        ("town", ["--method", "dale"], "DALE"),
        ("size", ["--with", "towm"], "Did you mean 'town'"),
        ("size", ["--with", "size"], "size"),
        ("size", ["--with", "town", "--method", "rhale"], "RHALE"),
        ("size", ["--with", "town", "--method", "mplot"], "MPlot"),
        ("size", ["--categorical", "cod"], "--categorical: got 'cod'"),
        ("size", ["--group", "heating"], "expected NAME=COLUMN,COLUMN"),
        ("size", ["--group", "=gas,oil"], "expected NAME=COLUMN,COLUMN"),
        ("size", ["--group", "h="], "expected NAME=COLUMN,COLUMN"),
        ("size", ["--group", "h=gas,,oil"], "expected NAME=COLUMN,COLUMN"),
        ("size", ["--group", "h=gas,oli"], "--group: got 'oli'"),
        ("size", ["--group", "h=gas", "--group", "h=oil"], "'h' twice"),
        ("size", ["--group", "h=gas,oil", "--group", "i=oil,wood"], "in one group only"),
        ("gas", ["--group", "h=gas,oil"], "features='h'"),
        ("size", ["--class", "all"], "leave --class out"),
        ("size", ["--contrast", "0.2"], "expected two values, FROM,TO"),
        ("size", ["--contrast", "0.2,0.4,0.6"], "expected two values, FROM,TO"),
        ("size", ["--contrast", "0.2,"], "--contrast"),
        ("size", ["--contrast", "0.2,30"], "contrast(b) of 'size': got 30"),
        (
            "size",
            ["--contrast", "low,0.3"],
            "contrast(a) of 'size': got values that are not numbers, such as 'low'",
        ),
        ("town", ["--contrast", "north,west"], "expected one of the levels"),
        ("size", ["--with", "town", "--contrast", "0.2,0.4"], "expected one feature"),
        ("size", ["--feature", "town", "--contrast", "0.2,0.4"], "expected one feature"),
    ],
)
def test_errors_are_one_line(folder, feature, args, message):
    assert message in refusal(feature, *args)


def test_help_shows_examples(folder):
    said = CliRunner().invoke(app, ["effect", "--help"], env={"COLUMNS": "120"}).stdout
    assert "Examples" in said
    examples = [line.strip() for line in said.splitlines() if "skedasis effect m" in line]
    assert len(examples) >= 5
    for option in ("--with", "--categorical", "--group", "--class all"):
        assert any(option in e for e in examples), option


# --------------------------------------------------------------------------------- other commands


@pytest.mark.slow
def test_a_report_takes_groups_and_codes(folder):
    call = ["report", "--model", "market:price", "--data", "shop.csv", "--target", "kind"]
    more = ["--group", "heating=gas,oil,wood", "--categorical", "code", "--out", "page.html"]
    result = CliRunner().invoke(app, [*call, *more])
    assert result.exit_code == 0, result.output
    page = (folder / "page.html").read_text("utf-8")
    # A feature's heading begins with its place in the order of importance.
    named = {word for text in headings(page, "h3") for word in text.split()[:2]}
    for name in ("size", "town", "code", "heating"):
        assert name in named
    assert "gas" not in named
    assert HOSTILE not in page
    assert "<script>[" not in page
    assert "&lt;script&gt;" in page


def test_the_demonstration_learns_from_text(folder):
    found = demo.user_problem("shop.csv", "kind", "a b")
    assert found.nominal == ("town",)


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


def test_a_schema_file_declares_kinds_and_levels(folder):
    schema = {"code": {"kind": "ordinal", "levels": [7, 2, 1]}, "size": "continuous"}
    (folder / "schema.json").write_text(json.dumps(schema))
    done("code", "--schema", "schema.json", "--out", "code.npz")
    assert sd.load("code.npz").about.feature.levels == (7, 2, 1)


def test_a_column_name_with_the_sign(folder):
    frame = pd.read_csv("shop.csv").rename(columns={"wood": "a=b"})
    frame.to_csv("signs.csv", index=False)
    done("a=b", "--unit", "a=b=kg", "--out", "e.npz", data="signs.csv")
    assert sd.load("e.npz").about.feature.unit == "kg"


def test_columns_of_an_array_have_units(folder, monkeypatch):
    monkeypatch.setattr(readers, "_LIBRARIES", ())
    pd.read_csv("shop.csv")[["size", "code"]].to_csv("plain.csv", index=False)
    (folder / "market.py").write_text("def f(X): return X[:, 0]")
    args = ["effect", "market:f", "plain.csv", "size", "--unit", "size=m²", "--out", "e.npz"]
    result = CliRunner().invoke(app, args, env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    assert sd.load("e.npz").about.feature.axis == "size [m²]"


@pytest.mark.many
@pytest.mark.parametrize(
    ("args", "content", "parts"),
    [
        (("--unit", "size"), None, ("--unit", "COLUMN=TEXT", "temp=°C")),
        (("--unit", "=m"), None, ("--unit", "COLUMN=TEXT")),
        (("--label", "size= "), None, ("--label", "COLUMN=TEXT", "temp=Temperature")),
        (("--unit", "sise=m"), None, ("--unit", "sise", "size")),
        (("--schema", "none.json"), None, ("--schema", "none.json", "No such file")),
        (("--schema", "s.json"), "{", ("--schema", "no JSON")),
        (("--schema", "s.json"), "[1]", ("--schema", "a JSON list")),
        (("--schema", "s.json"), '{"size": 3}', ("--schema: 'size'", "3")),
        (("--schema", "s.json"), '{"sise": "ordinal"}', ("--schema", "'sise'", "size")),
        (("--schema", "s.json"), '{"size": {"units": "m"}}', ("'units'", "Did you mean 'unit'?")),
        (("--schema", "s.json"), '{"size": "odd"}', ("'odd'", "ordinal")),
    ],
)
def test_wrong_units_labels_and_schemas_are_explained(folder, args, content, parts):
    if content is not None:
        (folder / "s.json").write_text(content)
    said = " ".join(refusal("size", *args).split())
    for part in parts:
        assert part in said


# --------------------------------------------------------------------------- functions of predictions
def test_an_inverse_is_applied_to_predictions(folder):
    said = done("size", "--inverse", "exp", "--bins", 5, "--out", "e.npz")
    assert "exp(prediction)" in said
    e, model = sd.load("e.npz"), sys.modules["market"].price
    X = pd.read_csv("shop.csv").drop(columns="kind")
    expected = sd.explain(lambda X: np.exp(model(X)), X, "size", method=sd.RHALE(bins=5))
    np.testing.assert_allclose(e.value, expected.value, rtol=1e-12)
    assert "inverse=exp" in e.provenance["quantity"]


def test_a_loss_of_transformed_predictions(folder):
    frame = pd.read_csv("shop.csv").assign(area=lambda f: f["size"] ** 2)
    frame.to_csv("area.csv", index=False)
    call = ["effect", "market:linear", "area.csv", "size", "--out", "e.npz", "--bins", "3"]
    args = ("--target", "area", "--loss", "absolute_error", "--inverse", "square")
    result = CliRunner().invoke(app, [*call, *args], env={"COLUMNS": "140"})
    assert result.exit_code == 0, result.output
    e = sd.load("e.npz")
    model, X = sys.modules["market"].linear, frame[["size"]]
    by_hand = sd.loss(lambda X: model.predict(X) ** 2, "absolute_error")
    expected = sd.explain(by_hand, X, "size", y=frame["area"], method=sd.RHALE(bins=3))
    np.testing.assert_allclose(e.value, expected.value, atol=1e-9)
    assert e.about.quantity == "absolute error of square(prediction)"


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (("--inverse", "expp"), ("--inverse", "'expp'", "Did you mean 'exp'?")),
        (("--inverse", "exp", "--quantity", "entropy"), ("--inverse", "--quantity prediction")),
    ],
)
def test_wrong_inverses_are_explained(folder, args, parts):
    said = " ".join(refusal("size", *args).split())
    for part in parts:
        assert part in said
