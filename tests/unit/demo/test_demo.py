"""The demonstration: how it reads a user's file, the models it fits, and the report it writes."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import skedasis as sd
from skedasis.demo.demo import (
    breast_cancer,
    demo,
    fit,
    sentences,
    user_problem,
)
from skedasis.report.content import gather
from skedasis.report.findings import findings, first_findings


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 120
    return pd.DataFrame(
        {
            "size": rng.uniform(20, 200, n),
            "age": rng.integers(0, 80, n),
            "town": rng.choice(["A", "B", "C"], n),
            "garden": rng.random(n) < 0.5,
        }
    ).assign(price=lambda d: 3000.0 * d["size"] - 1000 * d.age + 50_000 * (d.town == "A"))


@pytest.fixture
def save(tmp_path):
    def saved(data, name="data.csv"):
        path = tmp_path / name
        if isinstance(data, str):
            path.write_text(data)
        elif name.endswith(".parquet"):
            data.to_parquet(path)
        else:
            data.to_csv(path, index=False)
        return path

    return saved


def run(*args, **kwargs):
    output = io.StringIO()
    done = demo(*args, console=Console(file=output, width=120), **kwargs)
    return done, output.getvalue()


# ------------------------------------------------------------------------------------------ files


def test_columns_find_their_place(save, frame):
    n = len(frame)
    frame = frame.assign(
        id=np.arange(n),
        uuid=[f"{k:08x}" for k in range(n)],
        sold=pd.date_range("2020-01-01", periods=n).strftime("%d.%m.%Y"),
        account=2**60 + np.arange(n) * 7,
        same=1,
        empty=np.nan,
        same_text="x",
    )
    problem = user_problem(save(frame), "price", None)
    assert problem.table.names == ("size", "age", "town", "garden")
    assert problem.nominal == ("town", "garden")
    said = " ".join(problem.remarks)
    for name in ("id", "uuid", "sold", "account", "same", "empty", "same_text"):
        assert f"Column {name} was left out" in said
    assert "dates are not numbers" in said
    assert problem.class_ is None


@pytest.mark.parametrize(
    ("change", "class_", "message"),
    [
        (lambda d: d.assign(price="x"), None, "the same value in every row"),
        (lambda d: d.assign(price=list("abc") * 40), None, "got 3 classes, .*--class 'c'"),
        (
            lambda d: d.assign(price=list("ab") * 60),
            "z",
            r"--class z, expected one of \['a', 'b'\]",
        ),
        (
            lambda d: d.assign(price=[f"{k},5" for k in range(120)]),
            None,
            "120 different texts.*point",
        ),
        (lambda d: d.assign(size=np.where(d.age > 40, np.inf, 1)), None, "'size': got infinite"),
        (lambda d: d[:1], None, "got rows with a value of 'price': 1, expected at least 20"),
        (lambda d: d[["price"]].assign(date="2020-01-01"), None, "no usable feature.*dates"),
    ],
)
def test_nothing_to_learn(save, frame, change, class_, message):
    with pytest.raises(sd.DataError, match=message):
        user_problem(save(change(frame)), "price", class_)


# ----------------------------------------------------------------------------------------- models


def test_a_target_in_hundred_thousands_is_learnt(save, frame):
    boosting, network = fit(user_problem(save(frame), "price", None), 0)
    assert "R²" in boosting.quality
    held_out = float(network.quality.split()[1])
    assert held_out > 0.8


# ------------------------------------------------------------------------------------- end to end


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path):
    done, text = run(out=tmp_path)
    assert done.path.stat().st_size < 3e6
    assert len(done.figures) == 3
    assert "• hr: " in text
    assert "• Both models depend most on hr." in text


def test_the_page_says_what_is_explained_and_what_was_left_out(save, frame, tmp_path):
    path = save(frame[["size", "price"]].assign(same=1), "houses.csv")
    done, text = run(path, "price", tmp_path / "out", rows=80, progress=False)
    assert done.content.data == ("houses.csv.",)
    sample, column = done.content.remarks
    assert sample == "This page is about a random sample of 80 of 120 rows."
    assert column == "Column same was left out: all its values are the same."
    assert "What two models learned about price" in done.path.read_text()
    assert column in text


def test_why_the_data_were_chosen_stands_in_the_terminal_only():
    problem = breast_cancer()
    assert "Chosen because" in problem.notes[0]
    assert "hosen" not in problem.source
    assert problem.remarks == ()


# -------------------------------------------------------------------------- sentences and tables


def test_sentences_are_those_of_the_page_about_the_first_model_and_both():
    def crossed(X):
        return 4 * X["dose"].to_numpy() + 3 * X["age"].to_numpy() * np.sign(X["sex"].to_numpy())

    columns = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    X = pd.DataFrame(columns, columns=["dose", "age", "sex"])
    quantities = {n: sd.prediction(crossed, name="gain", unit="kg") for n in ("one", "other")}
    content = gather(quantities, X, progress=False)
    said = sentences(content)
    assert said["one"] == [f.text for f in first_findings(findings(content.sections[0]))]
    assert said["one"][0].startswith("dose: gain rises by 8.0 kg")
    assert any("age" in text and "sex" in text for text in said["one"][1:])
    assert said["both models"][0] == "Both models depend most on dose."
