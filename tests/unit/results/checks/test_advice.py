"""What findings advise: each call in a message is run, and the finding is then gone or smaller."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import table

CALL = re.compile(r"(?<![\w.])((?:e|beside|s)\.rebin|sd\.\w+)\(")


def calls(message: str) -> list[str]:
    """Return the calls in a message, from the name to the closing bracket."""
    found, end = [], 0
    for match in CALL.finditer(message):
        if match.start() < end:  # an argument of the call before
            continue
        depth, end = 0, match.end() - 1
        while True:
            depth += {"(": 1, ")": -1}.get(message[end], 0)
            end += 1
            if depth == 0:
                break
        found.append(message[match.start() : end])
    return found


def data(n: int, seed: int = 0) -> pd.DataFrame:
    """Return columns of every kind that go with one hidden number."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    letters = np.array(list("abcdef"))
    X = pd.DataFrame({"many": z, "near": z + 0.1 * rng.normal(size=n)})
    X["few"] = np.clip(np.round(1.5 * z) + 3, 0, 6)
    X["two"] = 1.0 * (z + 0.3 * rng.normal(size=n) > 1)
    X["nominal"] = letters[np.clip(np.round(1.2 * z) + 2, 0, 5).astype(int)]
    X["ordinal"] = pd.Categorical(X["nominal"], categories=letters, ordered=True)
    X["time"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.round(1e6 * z), unit="s")
    return X


def model(X: pd.DataFrame) -> np.ndarray:
    """Return a function of all columns, with jumps, curves and interactions."""
    near = X["near"].to_numpy()
    time = (X["time"] - pd.Timestamp("2020-01-01")).dt.total_seconds().to_numpy() / 1e6
    nominal = X["nominal"].map(dict(zip("abcdef", [0, 1, 3, 2, 5, 9], strict=True))).to_numpy(float)
    many, few, two = (X[name].to_numpy() for name in ("many", "few", "two"))
    ordinal = X["ordinal"].cat.codes.to_numpy() ** 2.0
    smooth = np.sin(2 * many) + many * near + np.sin(3 * time)
    return smooth + few**2 * near + two * near + nominal * near + ordinal


BINNED = (
    sd.RHALE(),
    sd.RHALE(bins=4),
    sd.ALE(),
    sd.ALE(bins=3),
    sd.ALE(bins=80),
    sd.DALE(bins=3),
    sd.PDP(),
    sd.MPlot(),
)
OF_LEVELS = (sd.ALE(), sd.PDP(), sd.MPlot())
FEATURES = {
    "many": (BINNED, {"extrapolation", "slope_changes", "few_rows", "slope_mismatch"}),
    "few": (BINNED, {"extrapolation", "slope_changes"}),
    "two": (BINNED, {"extrapolation", "no_rows", "heterogeneous"}),
    "nominal": (OF_LEVELS, {"extrapolation", "slope_changes", "few_rows", "heterogeneous"}),
    "ordinal": ((sd.RHALE(), *OF_LEVELS), {"extrapolation", "few_rows"}),
    "time": (BINNED, {"extrapolation", "slope_changes", "few_rows", "slope_mismatch"}),
}


def followed(call: str, X: Any, feature: Any, e: Any, beside: Any = None, f: Any = model) -> Any:
    """Return the result of a call that a message advises."""
    names = {"sd": sd, "e": e, "beside": beside, "s": e, "model": f, "X": X}
    value = eval(call, names)
    if isinstance(value, (sd.Effect, sd.Surface, sd.Regions)):
        return value
    return sd.explain(f, X, feature, method=value, progress=False)


SIZES = {
    "extrapolation": lambda flag: flag.numbers["share"],
    "no_rows": lambda flag: flag.numbers["share"],
    "few_rows": lambda flag: np.size(flag.numbers["rows"]),
    "one_row": lambda flag: np.size(flag.numbers["rows"]),
    "slope_changes": lambda flag: flag.numbers["share"] * flag.numbers["std"] ** 2 * flag.rows,
    "slope_mismatch": lambda flag: flag.numbers["distance"] / flag.numbers["limit"],
}


def badness(found: Any, code: str) -> float:
    """Return how bad the findings with a code are, in sum; 0 if there are none."""
    return float(sum(SIZES[code](flag) for flag in found.of(code)))


@pytest.mark.parametrize(
    ("feature", "n"),
    [
        ("nominal", 60),
        *(
            pytest.param(name, 400, marks=pytest.mark.slow)
            for name in ("many", "few", "two", "nominal", "time")
        ),
    ],
)
def test_what_is_advised_can_be_done_and_helps(feature, n):
    X, (methods, expected) = data(n), FEATURES[feature]
    done = set()
    for method in methods:
        e = sd.explain(model, X, feature, method=method, progress=False)
        before = e.checks(X=X)
        advised = {(f.code, call): f for f in before for call in calls(f.message)}
        for (code, call), flag in advised.items():
            first = (code, call) not in done
            done.add((code, call))
            if code in ("heterogeneous", "depends_on"):
                after = followed(call, X, feature, e) if first and method.name != "PDP" else None
                assert after is None or isinstance(after, sd.Regions) or len(after.curves) > 0
                continue
            after = followed(call, X, feature, e).checks(X=X)
            assert badness(after, code) < badness(before, code), f"{flag.message}\n{call}"
    if n == 400:
        assert expected <= {code for code, _ in done}


@pytest.mark.parametrize("feature", ["nominal", "ordinal"])
def test_no_other_bins_are_advised_where_there_are_none(feature):
    X = data(400)
    for method in FEATURES[feature][0]:
        e = sd.explain(model, X, feature, method=method, progress=False)
        said = str(e.checks(X=X, beside=sd.explain(model, X, feature, method=sd.PDP())))
        assert "rebin" not in said
        assert "bins=" not in said
        assert "more bins" not in said.lower()
        if feature == "nominal":
            assert "RHALE" not in said


# ------------------------------------------------------------------------- single findings
@pytest.mark.parametrize("feature", ["many", "few", "time"])
def test_regions_are_found_where_they_are_advised(feature):
    rng = np.random.default_rng(1)
    X, n = data(600), 600
    for name in ("many", "few", "two", "nominal", "ordinal", "time"):  # independent of each other
        X[name] = X[name].sample(n, random_state=int(rng.integers(99))).array
    X["sign"] = rng.normal(size=n)

    def switched(X):
        return np.sign(X["sign"].to_numpy()) * model(X.assign(near=0.1))

    e = sd.explain(switched, X, feature, method=sd.ALE(), progress=False)
    (flag,) = e.checks().of("heterogeneous")
    regions, curves = (followed(call, X, feature, e, f=switched) for call in calls(flag.message))
    assert len(regions) >= 2
    assert np.mean([part.heterogeneity_score for part in regions]) < 0.6 * flag.numbers["score"]
    assert len(curves.curves) > 0


def test_a_group_is_advised_where_it_can_be_made():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3)).round()
    X[:, 2] = X[:, 0]

    def f(X):
        return X[:, 0] * X[:, 1]

    e = sd.explain(f, X, 0, method=sd.ALE())
    (flag,) = e.checks(X=X).of("collinear")
    groups = eval(re.search(r"groups=({.*?})", flag.message)[1])
    assert groups == {"x0 + x2": ["x0", "x2"]}
    group = sd.explain(f, X, "x0 + x2", method=sd.ALE(), groups=groups)
    assert not group.checks(X=X).of("collinear")
    assert group.heterogeneity_score > e.heterogeneity_score
    X[:, 2] = X[:, 0] = rng.normal(size=600)
    (flag,) = sd.explain(f, X, 0, method=sd.ALE()).checks(X=X).of("collinear")
    assert "groups" not in flag.message


def test_weights_that_are_no_numbers_of_rows_are_advised_to_be_sampling_weights():
    X = table(100)
    q = sd.prediction(
        lambda X: X[:, 0] * X[:, 1], slope=lambda X: np.column_stack([X[:, 1], X[:, 0], X[:, 2]])
    )
    given = {"sample_weight": np.full(100, 1e-3), "method": sd.DALE(bins=2)}
    (flag,) = sd.explain(q, X, 0, **given).checks().of("one_row")
    assert 'pass weight_kind="sampling"' in flag.message
    assert not sd.explain(q, X, 0, weight_kind="sampling", **given).checks().of("one_row")


def test_grouped_steps_of_an_ordinal_feature_are_shown_one_by_one():
    rng = np.random.default_rng(6)
    z = rng.normal(size=2000)
    X = pd.DataFrame({"o": np.clip(np.round(z) + 3, 0, 6).astype(int), "a": z})
    schema = {"o": "ordinal"}

    def f(X):
        return X["o"] * (1 + 0.3 * X["a"])

    e = sd.explain(f, X, "o", method=sd.RHALE(bins=sd.Optimal(alpha=1.0)), schema=schema)
    found = e.checks().of("slope_changes")
    assert len(e.bins) < len(e.levels) - 1
    assert "sd.ALE() shows each step on its own" in found[0].message
    each = sd.explain(f, X, "o", method=sd.ALE(), schema=schema)
    assert len(each.bins) == len(each.levels) - 1
    assert badness(each.checks(), "slope_changes") < badness(e.checks(), "slope_changes")


# -------------------------------------------------------------------------------- surfaces
@pytest.mark.parametrize(
    ("pair", "method"),
    [
        (("many", "few"), sd.ALE()),
        (("many", "near"), sd.DALE()),
        (("many", "nominal"), sd.PDP()),
        (("nominal", "ordinal"), sd.PDP()),
    ],
)
def test_surfaces_get_advice_that_can_be_followed(pair, method):
    X = data(300)
    s = sd.explain(model, X, pair, method=method, progress=False)
    before = s.checks(X=X)
    for flag in before:
        for call in calls(flag.message):
            after = followed(call, X, pair, s)
            if method.name == "PDP":  # the area without rows of an ALE, which is hatched
                assert not after.checks(X=X).of("extrapolation")
                continue
            share = sum(f.numbers["share"] for f in after.checks(X=X).of(flag.code))
            assert share < flag.numbers["share"], f"{flag.message}\n{call}"
    assert pair != ("nominal", "ordinal") or "bins" not in str(before)
