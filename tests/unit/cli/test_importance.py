"""`skedasis importance`: defaults, printed output, written files, and errors."""

import re
import sys

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.cli.app import app
from tests.shell import CliRunner

HOSTILE = "[red]x[/red] <b>"
MODULE = """
import numpy as np, pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

shop = pd.read_csv("shop.csv")
known = shop.dropna(subset=["price"])
X, y = shop[["size", "age", "gas", "oil", "[red]x[/red] <b>"]], shop["sold"]
clf = LogisticRegression(max_iter=2000).fit(X, y)
three = LogisticRegression(max_iter=2000).fit(X, np.digitize(shop["size"], [0.3, 0.6]))
arrays = LogisticRegression(max_iter=2000).fit(X.to_numpy(), y)
line = LinearRegression().fit(X.loc[known.index], known["price"])
ridge = BayesianRidge().fit(X.loc[known.index], known["price"])
svm = LinearSVC().fit(X, y)

def price(X):
    return 3 * X["size"].to_numpy()

def spread(X):
    return 3 * X["size"].to_numpy(), np.full(len(X), 0.1)

def broken(X):
    raise RuntimeError("the oven is cold")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("importance")
    rng = np.random.default_rng(0)
    n = 150
    heating = rng.integers(0, 2, n)
    size = rng.uniform(0, 1, n).round(4)
    price = 3 * size + 0.1 * rng.normal(size=n)
    price[:4] = np.nan
    frame = pd.DataFrame(
        {
            "size": size,
            "age": rng.uniform(0, 90, n).round(1),
            "gas": (heating == 0) * 1,
            "oil": (heating == 1) * 1,
            HOSTILE: rng.normal(size=n).round(3),
            "price": price.round(4),
            "sold": np.where(size + 0.3 * rng.normal(size=n) > 0.5, "yes", "no"),
        }
    )
    frame.to_csv(folder / "shop.csv", index=False)
    (folder / "bazaar.py").write_text(MODULE)
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    # The forests of a diagnosis take most of the time; how good they are is not tested here.
    monkeypatch.setattr("skedasis.analysis.dependence.TREES", 20)
    monkeypatch.chdir(made)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield made
    sys.modules.pop("bazaar", None)


def importance(*args, model="bazaar:clf", target="sold", width="160"):
    line = ["importance", "--model", model, "--data", "shop.csv", *map(str, args)]
    line += [] if target is None else ["--target", target]
    return CliRunner().invoke(app, line, env={"COLUMNS": width})


def printed(*args, **kwargs):
    done = importance(*args, **kwargs)
    assert done.exit_code == 0, done.output
    return done.stdout


def words_of(text):
    """Return a text with its lines joined, because titles wrap above narrow tables."""
    return " ".join(text.replace("\u202f", " ").split())


def one_line(done, code=2):
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    lines = done.stderr.strip().splitlines()
    return (
        lines[0] if code == 1 else "".join(lines) if len(lines) == 1 else pytest.fail(done.stderr)
    )


# ------------------------------------------------------------------------------------ defaults


def test_a_model_with_a_distribution_is_diagnosed(folder):
    text = printed("--n-repeats", 5)
    for word in ("Likelihood-PFI", "Entropy-PFI", "what others know", "5 repeats", "150 rows"):
        assert word in text
    assert HOSTILE in text
    assert not re.search("^price ", text, re.MULTILINE)  # the model was not fitted on this column


@pytest.mark.slow
def test_its_numbers_are_those_of_diagnose(folder):
    printed("--n-repeats", 4, "--random-state", 3, "--out", "d.npz")
    from bazaar import X, clf, y

    want = sd.diagnose(clf, X, y, n_repeats=4, random_state=3, progress=False)
    got = sd.load("d.npz")
    np.testing.assert_array_equal(got.likelihood.values, want.likelihood.values)
    np.testing.assert_array_equal(got.r2_others, want.r2_others)
    assert [v.text for v in got.verdicts] == [v.text for v in want.verdicts]


def test_a_model_of_a_mean_has_a_loss(folder):
    text = printed("--out", "loss.npz", model="bazaar:line", target="price")
    assert "squared_error, because LinearRegression has no predictive distribution" in text
    assert "left out  4 rows without a price" in text
    assert "rise of squared error" in text
    from bazaar import X, known, line

    rows = X.loc[known.index].reset_index(drop=True)
    loss = sd.loss(line, "squared_error")
    want = sd.explain(loss, rows, y=known["price"], method=sd.PFI(n_repeats=10))
    np.testing.assert_array_equal(sd.load("loss.npz").values, want.values)


# ------------------------------------------------------------------------------------ quantities
@pytest.mark.parametrize(
    ("quantity", "heading"),
    [
        ("likelihood", "rise of negative log-likelihood [nats]"),
        ("entropy", "rise of entropy [nats]"),
        ("loss", "rise of zero-one loss"),
        ("prediction", "rise of P(y = yes)"),
    ],
)
def test_quantities(folder, quantity, heading):
    text = words_of(printed("--quantity", quantity, "--n-repeats", 3))
    assert heading in text
    assert "95 % interval" in text
    assert "3 repeats" in text


# -------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("quantity", ["both", "entropy"])
def test_figures(folder, quantity):
    text = printed("--quantity", quantity, "--n-repeats", 3, "--out", f"new/{quantity}.png")
    assert f"written  new/{quantity}.png" in text
    assert (folder / "new" / f"{quantity}.png").read_bytes().startswith(b"\x89PNG")


# -------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        (["--quantity", "magic"], {}, ["--quantity: got 'magic'", "both, prediction, entropy"]),
        (["--quantity", "both"], {"target": None}, ["--target: got none", "--quantity entropy"]),
        ([], {"target": "solt"}, ["--target: got 'solt'", "Did you mean 'sold'"]),
        (["--loss", "zero_one", "--quantity", "both"], {}, ["--loss: got --quantity both"]),
        (["--conditional", "--quantity", "entropy"], {}, ["--conditional: got --quantity entropy"]),
        (["--class", "yes"], {}, ["--class: got no --quantity", "--quantity prediction"]),
        (["--n-repeats", 2], {}, ["diagnose(n_repeats)", "got 2"]),
        (["--quantity", "entropy"], {"model": "bazaar:line"}, ["LinearRegression"]),
        (["--quantity", "likelihood"], {"target": "price"}, ["'no', 'yes'"]),
    ],
)
def test_errors_are_one_line(folder, args, options, words):
    message = one_line(importance(*args, **options))
    for word in words:
        assert word in message


def test_an_inverse_is_applied_before_the_loss(folder):
    done = importance("--inverse", "exp", "--out", "i.npz", model="bazaar:line", target="price")
    assert done.exit_code == 0, done.output
    assert "--inverse applies to predictions" in done.output
    found, frame = sd.load("i.npz"), pd.read_csv("shop.csv").dropna(subset=["price"])
    model = sys.modules["bazaar"].line
    X = frame[list(found.features)]
    baseline = ((frame["price"] - np.exp(model.predict(X))) ** 2).mean()
    assert found.baseline == pytest.approx(baseline, rel=1e-9)
    assert found.quantity == "squared error of exp(prediction)"
    done = importance("--inverse", "exp", "--quantity", "entropy")
    assert "--quantity loss or prediction" in one_line(done, 2)
