"""The demonstration: how it reads a user's file, the models it fits, and the report it writes."""

import io
import os
import re
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.console import Console

import skedasis as sd
from skedasis.data import readers
from skedasis.demo.demo import (
    default_problem,
    demo,
    fit,
    ranking,
    rentals,
    sentences,
    user_problem,
)
from skedasis.report.content import gather


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
    said = " ".join(problem.notes)
    for name in ("id", "uuid", "sold", "account", "same", "empty", "same_text"):
        assert f"Column {name} was left out" in said
    assert "dates are not numbers" in said
    assert problem.class_ is None


def test_real_dates_are_left_out(save, frame):
    frame["sold"] = pd.date_range("2020-01-01", periods=len(frame))
    problem = user_problem(save(frame, "d.parquet"), "price", None)
    assert "sold" not in problem.table.names


def test_rows_without_a_target_are_dropped_and_counted(save, frame):
    frame.loc[:9, "price"] = np.nan
    problem = user_problem(save(frame), "price", None)
    assert len(problem.table) == len(problem.y) == 110
    assert "Rows without a price were left out: 110 remain." in problem.notes


@pytest.mark.parametrize(
    ("labels", "class_", "expected"),
    [
        (["no", "yes"], None, "yes"),
        ([0, 1], None, "1"),
        ([True, False], None, "True"),
        ([1.5, 3.0], None, "3"),
        (["no", "yes"], "no", "no"),
        (["a", "b", "c"], "b", "b"),
        ([1, 2, 3], "2", "2"),
    ],
)
def test_classes(save, frame, labels, class_, expected):
    frame["price"] = np.array(labels)[np.arange(len(frame)) % len(labels)]
    problem = user_problem(save(frame), "price", class_)
    assert problem.class_ == expected
    assert set(problem.y) == {f"{v:g}" if isinstance(v, float) else str(v) for v in labels}


@pytest.mark.many
@pytest.mark.parametrize(
    ("change", "class_", "message"),
    [
        (lambda d: d.assign(price="x"), None, "the same value in every row"),
        (lambda d: d.assign(price=5), None, "the same value in every row"),
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
        (lambda d: d, "1", "different numbers.*Leave --class out"),
        (lambda d: d.assign(price=np.inf).reset_index(), None, "the same value|infinite"),
        (lambda d: d.assign(size=np.where(d.age > 40, np.inf, 1)), None, "'size': got infinite"),
        (lambda d: d[:1], None, "got rows with a value of 'price': 1, expected at least 20"),
        (lambda d: d[["price"]], None, "no usable feature"),
        (lambda d: d[["price"]].assign(date="2020-01-01"), None, "no usable feature.*dates"),
        (lambda d: d.assign(price=np.nan), None, "got rows with a value of 'price': 0"),
    ],
)
def test_nothing_to_learn(save, frame, change, class_, message):
    with pytest.raises(sd.DataError, match=message):
        user_problem(save(change(frame)), "price", class_)


def test_target_must_be_named_and_there(save, frame):
    path = save(frame)
    with pytest.raises(sd.DataError, match="--target: got no target"):
        user_problem(path, None, None)
    with pytest.raises(sd.DataError, match="Did you mean 'price'"):
        user_problem(path, "prize", None)


def test_requests_that_contradict_themselves(tmp_path):
    with pytest.raises(sd.DataError, match="without a file"):
        run(target="price")
    with pytest.raises(sd.DataError, match="--rows"):
        run(rows=0)
    (tmp_path / "there").write_text("")
    with pytest.raises(sd.DataError, match="the file"):
        run(out=tmp_path / "there")


def test_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(sd.DataError, match=r"pip install 'skedasis\[sklearn\]'"):
        run()


# ----------------------------------------------------------------------------------------- models


def test_a_target_in_hundred_thousands_is_learnt(save, frame):
    boosting, network = fit(user_problem(save(frame), "price", None), 0)
    assert "R²" in boosting.quality
    held_out = float(network.quality.split()[1])
    assert held_out > 0.8


def test_networks_keep_their_closed_form_on_plain_numbers(save, frame):
    problem = user_problem(save(frame[["size", "age", "price"]]), "price", None)
    network = list(fit(problem, 0))[1].quantity
    effect = sd.explain(network, problem.table.data, "size")
    assert effect.spec.local_effects == "slopes"
    # The slopes include the scale of the target, which is part of the last layer.
    assert effect.bins.effect.mean() == pytest.approx(3000, rel=0.2)


@pytest.mark.parametrize(
    ("library", "target"),
    [
        ("pandas", "price"),
        ("polars", "dear"),
        pytest.param("pandas", "dear", marks=pytest.mark.long),
        pytest.param("polars", "price", marks=pytest.mark.long),
    ],
)
def test_text_and_missing_values_stay_in_the_models(save, frame, monkeypatch, library, target):
    monkeypatch.setattr(readers, "_LIBRARIES", (library,))
    frame["dear"] = np.where(frame.price > frame.price.median(), "yes", "no")
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "town"] = None
    problem = user_problem(
        save(frame.drop(columns="price" if target == "dear" else "dear")), target, None
    )
    assert isinstance(problem.table.data, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library])
    for fitted in fit(problem, 0):
        effect = sd.explain(fitted.quantity, problem.table.data, "age")
        assert effect.missing == 18
        assert effect.importance > 0
        other = problem.table.data
        if library == "pandas":
            moved = other.assign(town="A")
            assert np.ptp(fitted.quantity.at(moved) - fitted.quantity.at(other)) > 0


@pytest.mark.slow
def test_small_work_keeps_to_one_thread():
    code = """
from threadpoolctl import threadpool_info
from skedasis.demo.demo import _limit_threads
with _limit_threads(100):
    print({i["num_threads"] for i in threadpool_info() if i["user_api"] == "openmp"})
"""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "{1}"


# ------------------------------------------------------------------------------------- end to end


@pytest.mark.slow
def test_a_users_file_from_end_to_end(save, frame, tmp_path):
    done, text = run(save(frame), "price", tmp_path / "out", rows=60)
    assert done.path == tmp_path / "out" / "report.html"
    page = done.path.read_text("utf-8")
    head, rest = page.split("</header>", 1)
    assert "Explained on a random sample of 60 of 120 rows." in head
    shown, _ = rest.split('<script type="application/json"')
    assert "Explained on a random sample" not in shown  # not repeated as a warning
    assert "Left out" not in page
    for name in ("town", "garden"):
        assert re.search(rf"<h3[^>]*>.*<bdi>{name}</bdi>", page)
    assert "held-out" in page
    assert 2 <= len(done.figures) <= 3
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in done.figures)
    for word in (
        "gradient boosting",
        "neural network",
        "importance",
        "heterogeneity",
        "report.html",
    ):
        assert word in text


@pytest.mark.slow
def test_text_is_explained_as_it_stands_in_the_file(save, frame, tmp_path):
    frame.loc[::10, "town"] = None
    done, _ = run(save(frame), "price", tmp_path / "out")
    for effects in done.effects.values():
        town = effects["RHALE"]["town"]
        assert town.spec.method == "ALE"
        assert set(town.levels.labels) == {"A", "B", "C", "missing"}
        # A is worth 50,000 more than B and C, which are worth the same. Both models recover most of that.
        apart = town("A") - (town("B") + town("C")) / 2
        assert apart == pytest.approx(50_000, rel=0.5)


@pytest.mark.slow
def test_a_file_without_numbers_is_learnt_too(save, frame, tmp_path):
    done, text = run(save(frame[["town", "garden", "price"]]), "price", tmp_path / "out")
    assert "2 features" in text
    assert list(done.effects["neural network"]["RHALE"]) == ["town", "garden"]


@pytest.mark.slow
def test_it_works_without_a_data_frame_library(save, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "_LIBRARIES", ())
    path = save(frame[["size", "age", "price"]])
    done, text = run(path, "price", tmp_path / "out")
    assert done.path.is_file()
    assert "2 features" in text


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path, capsys):
    began = time.perf_counter()
    done, text = run(out=tmp_path)
    seconds = time.perf_counter() - began
    with capsys.disabled():
        print(  # noqa: T201 - how long it takes is what one wants to know
            f"\nskedasis demo: {seconds:.1f} s, {done.path.stat().st_size / 1e6:.1f} MB"
        )
    assert seconds < 60
    assert done.path.stat().st_size < 3e6
    assert 2 <= len(done.figures) <= 3
    assert "has the largest average effect: importance " in text
    assert "It interacts most with " in text


# -------------------------------------------------------------------------------------- data sets


@pytest.fixture
def no_rentals(monkeypatch):
    def nothing(name, *, download):
        assert not download
        raise sd.DataError("not there")

    monkeypatch.setattr("skedasis.demo.demo.load", nothing)


@pytest.mark.parametrize("library", [True, False])
def test_bundled_data_take_the_place_of_rentals(no_rentals, monkeypatch, library):
    if not library:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    problem = default_problem()
    assert problem.class_ == "malignant"
    assert len(problem.table) == len(problem.y) == 569
    assert problem.table.is_frame is library
    assert "radius" in problem.table.names
    assert "perimeter" not in problem.table.names


@pytest.mark.slow
def test_rentals_are_taken_where_they_are():
    try:
        problem = rentals()
    except sd.DataError:
        pytest.skip("no bike_sharing_hour.csv")
    assert problem.target == default_problem().target == "rentals"
    assert "atemp" not in problem.table.names
    assert problem.units["rentals"] == "bicycles/h"
    boosting, network = fit(problem, 0)
    assert float(boosting.quality.split()[1]) > 0.9
    assert float(network.quality.split()[1]) > 0.85


# -------------------------------------------------------------------------- sentences and tables


def section(functions, X):
    quantities = {n: sd.prediction(f, name="gain", unit="kg") for n, f in functions.items()}
    return gather(quantities, X, progress=False).sections


@pytest.fixture
def X():
    columns = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    return pd.DataFrame(columns, columns=["dose", "age", "sex"])


def test_sentences_name_what_the_average_hides(X):
    def crossed(X):
        return 4 * X["dose"].to_numpy() + 3 * X["age"].to_numpy() * np.sign(X["sex"].to_numpy())

    first, second, *others = sentences(section({"one": crossed, "other": crossed}, X))
    assert re.fullmatch(
        r"dose has the largest average effect: importance 2\.\d+, heterogeneity (0|≈ 0) kg\. "
        r"It is the same for all rows\.", first
    )  # fmt: skip
    hidden, other = ("age", "sex") if second.startswith("age") else ("sex", "age")
    assert second.startswith(f"{hidden} has the most misleading average effect: importance ")
    assert re.search(
        rf"Its effect depends on the other features\. It interacts most with {other} \(", second
    )
    assert others[0].startswith(
        f"The other agrees on dose and {hidden}. Models of different kinds agree"
    )


def test_sentences_of_an_additive_and_of_a_constant_quantity(X):
    additive, nothing = section(
        {"a": lambda X: X["dose"].to_numpy(), "c": lambda X: np.ones(len(X))}, X
    )
    assert len(sentences([additive])) == 1
    assert sentences([nothing]) == ["No feature changes gain on average."]


def test_many_features_are_not_all_in_the_table():
    columns = np.random.default_rng(0).uniform(size=(100, 10))
    table = ranking(section({"sum": lambda X: X @ np.arange(10.0)}, columns))
    assert table.row_count == 8
    assert table.caption == "and 2 more on the page"
