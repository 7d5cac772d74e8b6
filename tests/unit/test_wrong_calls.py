"""Wrong calls and commands, one of each kind: the message, and the call that it leads to.

`wrong_calls.txt` and `wrong_commands.txt` are the tables. Each entry has three lines: what someone wrote, the message,
and what a reader of the message alone writes instead, which must work. ``[...]`` stands for any text.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from narwhals import selectors
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import skedasis as sd
from skedasis.cli.app import app
from tests.helpers import PATTERN
from tests.shell import CliRunner

OWN = {"DataError", "ModelOutputError", "UnsupportedError"}

MODULE = """
import numpy as np
def model(X):
    return 0.5 * X["age"] + X["bmi"] * (X["sex"] == "m")
class Risk:
    classes_ = np.array(["bad", "good"])
    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-(X["age"] - 50) / 10))
        return np.column_stack([p, 1 - p])
risk = Risk()
"""


@dataclass(frozen=True)
class Wrong:
    """An entry of a table."""

    wrong: str
    says: str
    right: str

    @property
    def pattern(self) -> str:
        """The message as a regular expression."""
        return ".*".join(re.escape(part) for part in self.says.split("[...]"))


def table(name: str) -> list[Wrong]:
    """Return the entries of a table, in its order."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    entries = re.findall(r"^wrong: (.+)\nsays:  (.+)\nright: (.+)$", text, re.MULTILINE)
    assert len(entries) == text.count("\nwrong:") == text.count("\nright:")
    return [Wrong(*entry) for entry in entries]


CALLS, COMMANDS = table("wrong_calls.txt"), table("wrong_commands.txt")


def written(value: Wrong) -> str:
    return value.wrong


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("wrong")


@pytest.fixture(scope="module")
def tried():
    """Return the calls and commands that have worked."""
    return set()


@pytest.fixture(scope="module")
def names(folder):
    """Return the names that the calls use: small data, models, and results."""
    rng = np.random.default_rng(0)
    n = 80
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n).astype(float),
            "bmi": rng.normal(27, 4, n).round(1),
            "income": rng.lognormal(8, 0.5, n).round(),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    noise = rng.normal(size=n)
    y = (X["age"] * 0.5 + X["bmi"] * (X["sex"] == "m") + noise).rename("cost")
    risk = pd.Series(np.where(y > y.median(), "bad", "good"))
    grade = pd.cut(y, [-np.inf, 30, 45, np.inf], labels=["low", "mid", "high"]).astype(str)
    encoded = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    A = X[["age", "bmi", "income"]].to_numpy()
    m = make_pipeline(encoded, Ridge()).fit(X, y)
    classifier = make_pipeline(encoded, StandardScaler(), LogisticRegression())
    data = X.assign(cost=y, risk=risk)
    data.to_csv(folder / "data.csv", index=False)
    data.to_parquet(folder / "data.parquet")
    (folder / "shop.py").write_text(MODULE)
    return {
        "A": A,
        "GaussianProcessRegressor": GaussianProcessRegressor,
        "LinearRegression": LinearRegression,
        "LogisticRegression": LogisticRegression,
        "Ridge": Ridge,
        "SVC": SVC,
        "SimpleImputer": SimpleImputer,
        "StandardScaler": StandardScaler,
        "X": X,
        "clf": make_pipeline(encoded, StandardScaler(), LogisticRegression()).fit(X, risk),
        "clf01": LogisticRegression().fit(A, (risk == "bad").astype(int)),
        "clf3": classifier.fit(X, grade),
        "csr_matrix": csr_matrix,
        "data": data,
        "e": sd.explain(m, X, "age"),
        "es": sd.explain(m, X),
        "gp": GaussianProcessRegressor(alpha=1.0).fit(A, y),
        "lin": LinearRegression().fit(A, y),
        "m": m,
        "make_pipeline": make_pipeline,
        "mean_squared_error": mean_squared_error,
        "np": np,
        "pd": pd,
        "pdp": sd.explain(m, X, "age", method="pdp"),
        "re": re,
        "risk": risk,
        "rng": np.random.RandomState(0),
        "s": sd.explain(m, X, ("age", "bmi")),
        "sd": sd,
        "selectors": selectors,
        "vote": VotingClassifier([("svc", SVC()), ("lr", LogisticRegression())]).fit(A, risk),
        "y": y,
    }


@contextlib.contextmanager
def quietly():
    """Ignore warnings: the data are tiny."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("call", CALLS, ids=written)
def test_the_message_of_a_wrong_call_leads_to_one_that_works(
    call, names, folder, tried, monkeypatch
):
    monkeypatch.chdir(folder)
    with quietly(), pytest.raises(Exception) as raised:  # noqa: PT011 - compared with the table
        eval(call.wrong, dict(names))
    notes = "".join(f" [{note}]" for note in getattr(raised.value, "__notes__", ()))
    message = f"{type(raised.value).__name__}: {raised.value}{notes}"
    assert re.fullmatch(call.pattern, message, re.DOTALL), message
    assert type(raised.value).__name__ not in OWN or PATTERN.match(str(raised.value))
    if call.right not in tried:  # several messages lead to the same call
        with quietly():
            eval(call.right, dict(names))
        tried.add(call.right)


@pytest.mark.parametrize("command", COMMANDS, ids=written)
def test_the_message_of_a_wrong_command_leads_to_one_that_works(
    command, names, folder, tried, monkeypatch
):
    monkeypatch.chdir(folder)
    shell = {"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"}
    with quietly():
        shown = CliRunner().invoke(app, shlex.split(command.wrong), env=shell)
    assert shown.exit_code == 2
    text = " ".join(shown.output.replace("│", " ").split())
    assert re.search(command.pattern, text), text
    if command.right in tried:
        return
    with quietly():
        done = CliRunner().invoke(app, shlex.split(command.right), env=shell)
    assert done.exit_code == 0, done.output
    tried.add(command.right)


def test_the_tables_are_long_enough_and_have_no_call_twice():
    assert len(CALLS) >= 140
    assert len(COMMANDS) >= 40
    for entries in (CALLS, COMMANDS):
        assert len({entry.wrong for entry in entries}) == len(entries)
