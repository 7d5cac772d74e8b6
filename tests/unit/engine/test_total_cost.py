"""The model rows and calls of a provenance are those that a model sees, which counts them, for every function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import skedasis as sd
from skedasis.report.content import gather
from skedasis.results.provenance import PARTS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
X[:, 3] = RNG.integers(0, 4, 120)
GAPS = X.copy()
GAPS[::7, 1] = np.nan
Y = X[:, 0] + RNG.normal(size=120)
OFF = {"progress": False}


class Seen:
    """A model that counts the rows and the calls that it gets."""

    def __init__(self, function):
        self.function, self.rows, self.calls = function, 0, 0

    def __call__(self, rows):
        self.rows, self.calls = self.rows + len(rows), self.calls + 1
        return self.function(rows)


def smooth(T):
    return np.nan_to_num(T[:, 0] * T[:, 1]) + np.sin(T[:, 2]) + T[:, 3]


def steps(T):
    return np.floor(2 * T[:, 0]) * (T[:, 1] > 0) + T[:, 2]


def two(T):
    return np.stack([T[:, 0] * T[:, 1], T[:, 2]], axis=1)


def gaussian(T):
    return T[:, 0] + T[:, 1], 0.5 + np.abs(T[:, 2])


def first(found) -> dict:
    """Return the provenance of a result, or of the first output of several."""
    return (next(iter(found.values())) if isinstance(found, sd.MultiOutput) else found).provenance


CASES = {
    "one feature": (smooth, lambda f: sd.explain(f, X, 0, **OFF)),
    "a linear feature": (smooth, lambda f: sd.explain(f, X, 3, **OFF)),
    "several features": (smooth, lambda f: sd.explain(f, X, **OFF)),
    "missing values": (smooth, lambda f: sd.explain(f, GAPS, **OFF)),
    "steps and their second round": (steps, lambda f: sd.explain(f, X, **OFF)),
    "ALE": (smooth, lambda f: sd.explain(f, X, method="ale", **OFF)),
    "PDP": (smooth, lambda f: sd.explain(f, X, method="pdp", **OFF)),
    "M-plots": (smooth, lambda f: sd.explain(f, X, method="mplot", **OFF)),
    "curves": (smooth, lambda f: sd.explain(f, X, curves=9, **OFF)),
    "a pair": (smooth, lambda f: sd.explain(f, X, (0, 1), **OFF)),
    "pairs by PDP": (smooth, lambda f: sd.explain(f, X, [(0, 1), (1, 2)], method="pdp", **OFF)),
    "several outputs": (
        two,
        lambda f: sd.explain(sd.prediction(f, output="all"), X, **OFF),
    ),
    "PFI": (smooth, lambda f: sd.explain(f, X, method="pfi", **OFF)),
    "PFI of a loss": (
        smooth,
        lambda f: sd.explain(sd.loss(f, "squared_error"), X, method="pfi", y=Y, **OFF),
    ),
    "given regions": (smooth, lambda f: sd.explain(f, X, [0, 1], by=3, **OFF)),
    "regions": (smooth, lambda f: sd.regions(f, X, **OFF)),
    "regions of one feature": (smooth, lambda f: sd.regions(f, X, 0, method="pdp", **OFF)),
    "interactions": (smooth, lambda f: sd.interactions(f, X, max_rows=50, **OFF)),
    "interactions without H²": (smooth, lambda f: sd.interactions(f, X, h2=False, **OFF)),
    "variance shares": (smooth, lambda f: sd.variance_shares(f, X, y=Y, **OFF)),
    "variance shares of steps": (steps, lambda f: sd.variance_shares(f, X, effects="ale", **OFF)),
    "change": (smooth, lambda f: sd.what_if(f, X, {0: 0.5}, **OFF)),
    "named changes": (
        smooth,
        lambda f: sd.what_if(f, X, {"a": {0: 0.5}, "b": {1: "x2"}}, by=3, **OFF),
    ),
    "diagnosis": (
        gaussian,
        lambda f: sd.diagnose(f, X, Y, dependence=False, n_repeats=4, **OFF),
    ),
    "null distribution": (
        smooth,
        lambda f: sd.null_distribution(lambda T, y: f, X, Y, n_repeats=3, method="ale", **OFF),
    ),
    "null distribution by RHALE": (
        smooth,
        lambda f: sd.null_distribution(lambda T, y: f, X, Y, n_repeats=2, **OFF),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_total_is_what_the_model_saw(case):
    function, call = CASES[case]
    model = Seen(function)
    found = first(call(model))
    assert found["model_rows"] == model.rows > 0
    assert found["model_calls"] == model.calls
    for kind in ("rows", "calls"):
        assert found[f"model_{kind}"] == sum(found.get(f"{part}_{kind}", 0) for part in PARTS)


def test_several_models_add_up():
    for functions in ((smooth, smooth), (smooth, steps)):
        models = [Seen(f) for f in functions]
        found = sd.explain(models, X, refits=True, **OFF)
        assert found.provenance["model_rows"] == sum(m.rows for m in models)
        each = [e.provenance["model_rows"] for e in found["x0"].models]
        assert each == [m.rows for m in models]


def test_regions_of_several_features_state_the_cost_of_all_in_each():
    found = sd.regions(Seen(smooth), X, **OFF)
    total = found.provenance["model_rows"]
    parts = [r for one in found.values() for r in (one, one.whole, *one.effects)]
    assert {part.provenance["model_rows"] for part in parts} == {total}


def test_slopes_are_no_model_rows():
    model, slope = Seen(lambda T: T[:, 0] ** 2 + T[:, 1]), Seen(lambda T: 2 * T[:, [0]] + 0 * T)
    found = sd.explain(sd.prediction(model, slope=slope), X, 0, **OFF).provenance
    assert found["model_rows"] == model.rows
    assert (found["slope_rows"], found["slope_calls"]) == (slope.rows, slope.calls) == (120, 1)
    assert found["effect_rows"] == 0


@pytest.mark.parametrize("labels", [None, Y])
def test_the_passes_of_a_report_add_up(labels):
    for function in (smooth, steps):
        model = Seen(function)
        content = gather(model, X, labels, progress=False)
        passes = [p.provenance for section in content.sections for p in section.passes]
        assert sum(p["model_rows"] for p in passes) == model.rows


def test_files_of_earlier_versions_get_the_total(tmp_path: Path):
    import json

    e = sd.explain(LinearRegression().fit(X, Y), X, 0, method="ale", curves=3, **OFF)
    e.save(tmp_path / "e.npz")
    with np.load(tmp_path / "e.npz", allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays["header"]))
    record = header["result"]["of"]["provenance"]
    for kind in ("rows", "calls"):
        record[f"model_{kind}"] = record.pop(f"effect_{kind}")
    arrays["header"] = np.array(json.dumps(header))
    np.savez_compressed(tmp_path / "old.npz", **arrays)
    assert sd.load(tmp_path / "old.npz").provenance == e.provenance
