"""`skedasis regions`: what it passes to the library, what it prints and writes, and its errors."""

import csv
import json

import pytest

import skedasis as sd
from skedasis.cli.app import app
from skedasis.results.regions import RegionsByFeature
from tests.made_regions import BY_DAY, TEMP, bikes, made_regions, rentals, sides
from tests.shell import CliRunner, working_folder

MODULE = """
def rentals(X):
    return X["hr"] * X["workingday"] + X["temp"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = bikes(300).drop(columns="date")
    return working_folder(tmp_path, monkeypatch, "shop_of_bikes", MODULE, bikes=rows)


@pytest.fixture
def calls(monkeypatch):
    """Replace the search and `explain` by functions that keep their arguments."""
    found = []
    r = made_regions(rentals, bikes(400), "hr", [BY_DAY, sides(TEMP, 0.5)])

    def regions(model, X, features=None, **keywords):
        found.append({"features": features, **keywords})
        return RegionsByFeature({"hr": r, "temp": r}) if isinstance(features, list | None) else r

    monkeypatch.setattr(sd, "regions", regions, raising=False)
    monkeypatch.setattr(sd, "explain", regions)
    return found


def run(*arguments):
    return CliRunner().invoke(app, ["regions", "shop_of_bikes:rentals", "bikes.csv", *arguments])


def test_one_feature_prints_the_tree_and_the_curves(folder, calls):
    done = run("hr")
    assert done.exit_code == 0, done.output
    assert "the rule (4 groups of rows) explains" in done.output
    assert "    [0] temp ≤ 0.5: " in done.output
    (call,) = calls
    assert call["features"] == 0  # the position of hr
    assert (call["max_depth"], call["alpha"], call["min_gain"]) == (2, 0.05, 0.01)
    assert (call["criterion"], call["joint"], call["split_on"]) == ("auto", False, None)
    assert call["method"] == sd.RHALE()
    assert "by" not in call


def test_options_reach_the_search(folder, calls):
    done = run(
        *("hr", "--max-depth", "3", "--alpha", "0.1", "--min-gain", "0.2", "--criterion", "curves"),
        *("--split-on", "temp,workingday", "--method", "pdp", "--bins", "7"),
        *("--heterogeneity-rows", "0", "--random-state", "5", "--n-jobs", "2"),
    )
    assert done.exit_code == 0, done.output
    (call,) = calls
    assert (call["max_depth"], call["alpha"], call["min_gain"]) == (3, 0.1, 0.2)
    assert (call["criterion"], call["split_on"]) == ("curves", [2, 1])
    assert call["method"] == sd.PDP(grid=7)
    assert (call["heterogeneity_rows"], call["random_state"], call["n_jobs"]) == (0, 5, 2)


def test_no_feature_means_all_of_them(folder, calls):
    done = run("--json")
    assert done.exit_code == 0, done.output
    assert calls[0]["features"] is None
    assert calls[0]["method"] is None
    (result,) = json.loads(done.output)["results"]
    assert result["kind"] == "RegionsByFeature"
    assert result["features"] == ["hr", "temp"]
    assert list(result["regions"]) == ["hr", "temp"]


@pytest.mark.slow
def test_files(folder, calls):
    for name in ("r.csv", "r.json", "r.npz", "r.png", "r.html"):
        done = run("hr", "-o", name)
        assert done.exit_code == 0, done.output
    with (folder / "r.csv").open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head[:3] == ["region", "rule", "rows"]
    assert len(rows) == 4
    assert rows[0][1] == "workingday = 0 and temp ≤ 0.5"
    found = json.loads((folder / "r.json").read_text("utf-8"))
    assert [region["rule"] for region in found["regions"]] == [row[1] for row in rows]
    assert len(sd.load(folder / "r.npz")) == 4
    document = json.loads(run("hr", "--json").output)["results"][0]
    assert document["kind"] == "Regions"
    assert 0 < document["heterogeneity_explained"] <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hr", "--alpha", "1.5"), "--alpha"),
        (("hr", "--criterion", "gini"), "--criterion"),
        (("hr", "--joint"), "--joint"),
        (("hr", "--by", "temp", "--max-depth", "3"), "--max-depth with --by"),
        (("hr", "--split-on", "nothing"), "--split-on"),
    ],
)
def test_invalid_arguments_are_errors_before_anything_is_computed(
    folder, calls, arguments, message
):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert not calls


def test_several_models_are_compared_and_each_is_named(folder):
    (folder / "two_shops.py").write_text(
        MODULE + '\ndef hours(X):\n    return 3.0 * X["hr"] + X["temp"]\n'
    )
    both = [f"--model=two_shops:{name}" for name in ("rentals", "hours")]
    done = CliRunner().invoke(app, ["regions", *both, "--data", "bikes.csv", "hr"])
    assert done.exit_code == 0, done.output
    _, first, second = done.stdout.split("\nmodel ")
    assert first.startswith("rentals\n")
    assert "the rule (2 groups of rows) explains" in first
    assert second.startswith("hours\n")
    assert "one group of rows" in second
