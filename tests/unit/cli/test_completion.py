"""Tab completion, in the form in which shells request it."""

import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge, LogisticRegression

import skedasis as sd
from skedasis.cli import choices, completion
from skedasis.cli.app import app
from skedasis.cli.explain import EffectOptions
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


def offered(folder, line):
    """Return the completions at the end of a command line."""
    asked = {
        "_SKEDASIS_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = CliRunner().invoke(app, [], prog_name="skedasis", env=asked)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return [line for line in done.stdout.split("\n") if line]


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("effect --method ", {"rhale", "ale", "dale", "uale", "pdp", "ice", "mplot"}),
        ("report --ignore-check ", set(CODES)),
        (
            "importance --quantity ",
            {"both", "likelihood", "entropy", "variance", "loss", "prediction"},
        ),
        ("importance --loss l", {"log_loss"}),
    ],
)
def test_names(folder, line, known):
    assert set(offered(folder, f"skedasis {line}")) == known


def test_what_is_offered_is_taken():
    clf = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    ridge = BayesianRidge().fit([[0.0], [1.0], [2.0]], [0, 1, 3])
    for name, _ in completion.methods(""):
        assert choices.method_of(name, 5) is not None
    for name in completion.LOSSES:
        assert isinstance(sd.loss(ridge, name), Quantity)
    for name, _ in completion.quantities(""):
        model = ridge if name in ("variance", "prediction") else clf
        assert isinstance(EffectOptions(quantity=name).quantity_of(model), Quantity), name


@pytest.mark.parametrize(
    "line",
    [
        "effect --data houses.csv --feature a",
        "effect --model m:o --data houses.feather a",
        "effect m:o houses.parquet town a",
        "importance --data houses.csv --sample-weight a",
    ],
)
def test_columns_of_the_file_that_is_named(folder, line):
    assert offered(folder, f"skedasis {line}") == ["age", "agent count"]


def test_lists_and_groups(folder):
    assert offered(folder, "skedasis report m:o houses.csv --features town,ag") == [
        "town,age",
        "town,agent count",
    ]
    assert offered(folder, "skedasis effect m:o houses.csv --group g=age,to") == ["g=age,town"]


@pytest.mark.parametrize("file", ["gone.csv", "odd.parquet"])
def test_a_file_that_cannot_be_read_offers_nothing(folder, file):
    assert offered(folder, f"skedasis effect m:o {file} --feature ") == []
    assert offered(folder, "skedasis effect --feature ") == []


def test_names_that_mean_something_to_a_shell_are_not_offered(folder):
    said = "\n".join(offered(folder, "skedasis effect m:o houses.csv "))
    assert "town" in said
    assert "touch" not in said
    assert "`" not in said
    assert not (folder / "mark").exists()
