"""Tab completion, in the form in which shells request it."""

import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge, LogisticRegression

import skedasis as sd
from skedasis.cli import completion, inputs
from skedasis.cli.app import app
from skedasis.quantities.base import Quantity
from skedasis.results.checks.check import CODES
from tests.shell import CliRunner


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {"age": [1], "agent count": [2], "town": ["x"], "$(touch mark)": [3], "a`b": [4]}
    )
    frame.to_csv(tmp_path / "houses.csv", index=False)
    frame.to_parquet(tmp_path / "houses.parquet")
    frame.to_feather(tmp_path / "houses.feather")
    (tmp_path / "none.csv").write_text("")
    (tmp_path / "odd.parquet").write_bytes(b"PAR1...")
    return tmp_path


def offered(folder, line, shell="bash"):
    """Return the completions at the end of a command line."""
    asked = {
        "_SKEDASIS_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = CliRunner().invoke(app, [], prog_name="skedasis", env=asked)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return [line for line in done.stdout.split("\n") if line]


def test_commands_and_options(folder):
    assert set(offered(folder, "skedasis ")) >= {"demo", "report", "effect", "importance", "info"}
    assert offered(folder, "skedasis rep") == ["report"]
    assert "--trust-pickle" in offered(folder, "skedasis effect --trust")


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("effect --method ", {"rhale", "ale", "dale", "uale", "pdp", "ice", "mplot"}),
        ("report --ignore-check ", set(CODES)),
        ("report --ignore-check few", {"few_rows", "few_pairs"}),
        (
            "effect --quantity ",
            {"prediction", "probability", "logit", "entropy", "variance", "likelihood", "loss"},
        ),
        (
            "importance --quantity ",
            {"both", "likelihood", "entropy", "variance", "loss", "prediction"},
        ),
        (
            "importance --loss ",
            {"squared_error", "absolute_error", "pinball", "log_loss", "zero_one"},
        ),
        ("importance --loss l", {"log_loss"}),
    ],
)
def test_names(folder, line, known):
    assert set(offered(folder, f"skedasis {line}")) == known


def test_what_is_offered_is_taken():
    clf = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    ridge = BayesianRidge().fit([[0.0], [1.0], [2.0]], [0, 1, 3])
    for name in completion.METHODS:
        assert inputs.method_of(name, 5) is not None
    for name in completion.LOSSES:
        assert isinstance(sd.loss(ridge, name), Quantity)
    for name in completion.QUANTITIES:
        model = ridge if name in ("variance", "prediction") else clf
        assert isinstance(inputs.quantity_of(model, None, name), Quantity), name


def test_datasets(folder):
    assert "diabetes" in offered(folder, "skedasis datasets ")
    assert offered(folder, "skedasis datasets runn") == ["running_example"]


@pytest.mark.many
@pytest.mark.parametrize("file", ["houses.csv", "houses.parquet", "houses.feather"])
@pytest.mark.parametrize(
    "line",
    [
        "effect --data {} --feature a",
        "effect --model m:o --data {} a",
        "effect m:o {} a",
        "effect --model m:o {} a",
        "effect m:o {} town a",
        "report m:o {} --target a",
        "importance --data {} --sample-weight a",
        "demo --data {} --target a",
    ],
)
def test_columns_of_the_file_that_is_named(folder, file, line):
    assert offered(folder, "skedasis " + line.format(file)) == ["age", "agent count"]


def test_lists_and_groups(folder):
    assert offered(folder, "skedasis report m:o houses.csv --features town,ag") == [
        "town,age",
        "town,agent count",
    ]
    assert offered(folder, "skedasis report m:o houses.csv --features age,ag") == [
        "age,agent count"
    ]
    assert offered(folder, "skedasis effect m:o houses.csv --group g=age,to") == ["g=age,town"]


@pytest.mark.parametrize("file", ["gone.csv", "none.csv", "odd.parquet", "."])
def test_a_file_that_cannot_be_read_offers_nothing(folder, file):
    assert offered(folder, f"skedasis effect m:o {file} --feature ") == []
    assert offered(folder, "skedasis effect --feature ") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_that_mean_something_to_a_shell_are_not_offered(folder, shell):
    said = "\n".join(offered(folder, "skedasis effect m:o houses.csv ", shell))
    assert "town" in said
    assert "touch" not in said
    assert "`" not in said
    assert not (folder / "mark").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_can_be_shown(shell):
    asked = {"_SKEDASIS_COMPLETE": f"source_{shell}"}
    done = CliRunner().invoke(app, [], prog_name="skedasis", env=asked)
    assert done.exit_code == 0, done.output
    assert "_SKEDASIS_COMPLETE=complete_" in done.stdout
    said = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).stdout
    assert "--install-completion" in said
    assert "--show-completion" in said
