"""Text of data and models: control characters do not reach the terminal, formulas do not reach spreadsheets."""

from __future__ import annotations

import csv
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis._escaping import cell_text
from skedasis.cli.output import write_csv
from skedasis.errors import warn_caller

SEQUENCES = "\x1b[2J\x1b]0;title\x07\r\u202e\u2066\x9b31m"
NAME = f"é日本{SEQUENCES}"
LEVEL = f"ш{SEQUENCES}"
ESCAPED = r"é日本\x1b[2J\x1b]0;title\x07\x0d\u202e\u2066\x9b31m"
HOSTILE = set("\x1b\x07\r\u202e\u2066\x9b")


def f(X: pd.DataFrame) -> np.ndarray:
    return np.asarray(X[NAME] * np.where(X["c"] == LEVEL, 2.0, -1.0) + X["b"])


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    """Return results of data whose names and levels hold control sequences."""
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {NAME: rng.normal(size=n), "c": rng.choice([LEVEL, "x"], n), "b": rng.normal(size=n)}
    )
    label = {NAME: {"label": f"label{SEQUENCES}", "unit": f"unit{SEQUENCES}"}}
    y = f(X)
    method = sd.ALE(bins=3)
    effects = sd.explain(f, X, method=method, schema=label)
    log = sd.prediction(lambda X: np.exp(f(X)), inverse="log", name=f"log({NAME})")
    logs = sd.explain(log, X, method=method, schema=label, y=np.exp(y), observed=True, split="c")
    models = [f, lambda X: 2 * f(X)]
    losses = [sd.loss(m, "squared_error") for m in models]
    regions = sd.regions(f, X, NAME, method=method)
    found = {
        "Effects": effects,
        "Effect": effects[NAME],
        "levels": effects["c"],
        "Checks": effects.checks(),
        "bins": effects[NAME].bins,
        "bins of levels": effects["c"].bins,
        "Ranking": effects.ranking(),
        "Contrast": effects["c"].contrast(LEVEL, "x"),
        "Contrasts": effects.contrast({NAME: (-0.1, 0.1)}),
        "RatingTable": logs.factors(),
        "Factors": logs["c"].factors(),
        "Surface": sd.explain(f, X, (NAME, "c"), method=method),
        "Importance": sd.explain(losses[0], X, y=y, method=sd.PFI(n_repeats=2, local=5)),
        "Regions": regions,
        "RegionTree": regions.tree,
        "Interactions": sd.interactions(f, X, max_rows=30),
        "VarianceShares": sd.variance_shares(f, X, y=y, regions={}),
        "WeakSpots": sd.weak_spots(f, X, y),
        "Diagnosis": sd.diagnose(lambda X: (f(X), np.ones(len(X))), X, y, dependence=False),
        "MultiModelEffect": sd.explain(models, X, NAME, method=method, refits=True),
        "MultiModelEffects": sd.explain(models, X, method=method, refits=True),
        "MultiModelImportance": sd.explain(losses, X, y=y, method=sd.PFI(n_repeats=2), refits=True),
        "MultiModelRegions": sd.regions(models, X, NAME, method=method, refits=True),
        "MultiOutput": sd.explain(
            sd.prediction(lambda X: np.c_[f(X), f(X)], output="all"), X, method=method
        ),
        "Change": sd.what_if(f, X, {NAME: 0.1}, by="c"),
        "Drift": sd.drift(f, X[: len(X) // 2], X_new=X[len(X) // 2 :]),
        "Changes": sd.what_if(f, X, {f"up{SEQUENCES}": {NAME: 0.1}}),
        "HeterogeneityTest": effects[NAME].heterogeneity_test(),
        "VarianceDecomposition": effects[NAME].variance_decomposition(),
        "Statistics": effects.statistics(y, replicates=10),
    }
    found["LocalImportance"] = found["Importance"].local
    found["Statistic"] = found["Statistics"][0]
    return found


def test_results_print_no_control_characters(hostile):
    shown = {kind: str(r) + repr(r) + f"{r}" for kind, r in hostile.items()}
    assert {kind for kind, text in shown.items() if HOSTILE & set(text)} == set()
    assert r"é日本\x1b[2J" in shown["Effects"]
    assert r"ш\x1b[2J" in shown["bins of levels"]
    # Most of them print a name, which would hold the characters.
    assert sum(r"\x1b" in text for text in shown.values()) > 16


def test_errors_and_warnings_have_no_control_characters(hostile):
    with pytest.raises(sd.DataError) as caught:
        hostile["Effects"][f"é{SEQUENCES}"]
    assert not HOSTILE & set(str(caught.value))
    error = sd.DataError(f"the model says {SEQUENCES}, 日本")
    assert str(error) == rf"the model says {ESCAPED.removeprefix('é日本')}, 日本"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_caller(f"left out: {NAME}", UserWarning)
    assert str(found[0].message) == f"left out: {ESCAPED}"


FORMULAS = {
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    "+1+2": "'+1+2",
    "-2+3": "'-2+3",
    "@SUM(A1)": "'@SUM(A1)",
    "\t=1": "'\t=1",
    "\r=1": "'\r=1",
}


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_get_an_apostrophe(text, tmp_path):
    path = tmp_path / "t.csv"
    write_csv(path, ["name", text], [(text, -1.5), ("-1.5", 2), (f"a{text}", None)])
    with path.open(newline="", encoding="utf-8") as file:
        head, first, second, third = csv.reader(file)
    assert head == ["name", FORMULAS[text]]
    assert first == [FORMULAS[text], "-1.5"]
    assert second == ["-1.5", "2"]  # numbers stay numbers
    assert third == [f"a{text}", ""]
    assert [cell_text(v) for v in (-1, 2.5, None, "a-b", "")] == [-1, 2.5, None, "a-b", ""]
