"""`sd.interactions`: its arguments, costs, results and errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.analysis.interactions import interactions_of
from skedasis.engine.assemble import finalize_all
from skedasis.engine.options import ExplainOptions
from skedasis.engine.rounds import Computed, compute, prepare
from tests.helpers import refused

FAST: dict[str, Any] = {"ale": False, "heterogeneity_rows": 0}
COLUMNS = [
    *("feature_0", "feature_1", "h2", "h2_unnormalized", "std_error", "ale_strength"),
    *("modulates_01", "modulates_10", "exact"),
]


def table(n: int = 60, d: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def product(X: Any) -> np.ndarray:
    X = np.asarray(X)
    return X[:, 0] * X[:, 1] + X[:, 2]


class Counting:
    """A function that counts the rows of its calls."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        self.rows += len(X)
        return product(X)


# --- results --------------------------------------------------------------------------------------


def test_frames_have_the_documented_columns_and_order():
    it = sd.interactions(product, table(), heterogeneity_rows=0)
    frame = it.to_frame("pandas")
    assert list(frame.columns) == COLUMNS
    assert list(frame["h2_unnormalized"]) == sorted(frame["h2_unnormalized"], reverse=True)
    assert (frame["feature_0"][0], frame["feature_1"][0]) == ("x0", "x1")
    assert frame["exact"].dtype == bool
    overall = it.to_frame("polars", of="overall")
    assert overall.columns == [
        *("feature", "h2", "h2_unnormalized", "importance", "heterogeneity_score")
    ]
    assert overall["feature"].to_list() == [o.feature for o in it.overall]


def test_a_pair_is_found_in_both_orders():
    it = sd.interactions(product, table(), **FAST)
    a, b = it["x0", "x1"], it["x1", "x0"]
    assert (a.feature_0, b.feature_0) == ("x0", "x1")
    assert a.h2 == b.h2
    assert (a.modulates_01, a.modulates_10) == (b.modulates_10, b.modulates_01)
    assert ("x1", "x0") in it
    assert ("x1", "x9") not in it
    assert list(it) == [("x0", "x1"), ("x0", "x2"), ("x1", "x2")]
    with refused(sd.DataError, "it['x0', 'x1']"):
        it["x0", "nothing"]


def test_a_list_of_pairs_is_computed_in_its_order_and_once():
    asked = [("x2", "x1"), (1, 2), ("x0", "x2")]
    it = sd.interactions(product, table(), asked, **FAST)
    assert list(it) == [("x2", "x1"), ("x0", "x2")]
    assert [o.feature for o in it.by_feature] == ["x0", "x1", "x2"]
    assert np.isfinite(it.h2)
    one = sd.interactions(product, table(), ("x0", "x1"), **FAST)
    assert list(one) == [("x0", "x1")]


def test_the_printed_table_names_the_strongest_pair_first():
    it = sd.interactions(product, table(600), max_rows=50, ale=False)
    lines = str(it).splitlines()
    assert "a sample of 50 rows" in lines[1]
    assert lines[2].split("  ")[0] == "feature 0"
    assert lines[3].startswith("x0")
    assert not it.exact
    assert repr(it).startswith("<Interactions of 3 features for prediction: 3 pairs, first 'x0'")
    assert str(it.overall).splitlines()[0].startswith("feature")
    all_rows = sd.interactions(product, table(), **FAST)
    assert "all 60 rows" in str(all_rows)
    many = sd.interactions(lambda X: X.sum(axis=1), table(30, 8), **FAST)
    assert "… and 8 weaker pairs" in str(many)
    titles = "0 depends on 1", "1 depends on 0"
    assert all(title in lines[2] for title in titles)
    assert "0 depends on 1: share of the heterogeneity of feature 0 that feature 1 explains" in str(
        it
    )


def test_parts_that_are_not_wanted_are_unknown():
    it = sd.interactions(product, table(), h2=False, ale=False, heterogeneity_rows=0)
    assert it.measure == "modulates"
    assert np.isnan(it.h2)
    assert np.isnan(
        [[p.h2, p.h2_unnormalized, p.std_error, p.ale_strength] for p in it.pairs]
    ).all()
    assert "H²" not in str(it)
    by_ale = sd.interactions(product, table(), h2=False, heterogeneity_rows=0)
    assert by_ale.measure == "ale_strength"
    assert by_ale.ranking()[0].feature_1 == "x1"
    assert "h2_rows" not in by_ale.provenance


def test_several_outputs_share_the_model_rows():
    def both(X: np.ndarray) -> np.ndarray:
        return np.column_stack([product(X), X[:, 1] * X[:, 2]])

    found = sd.interactions(sd.prediction(both, output="all"), table(), **FAST)
    assert set(found) == {0, 1}
    assert found[0].ranking()[0].feature_1 == "x1"
    assert (found[1].ranking()[0].feature_0, found[1].ranking()[0].feature_1) == ("x1", "x2")
    alone = sd.interactions(lambda X: X[:, 1] * X[:, 2], table(), **FAST)
    assert found[1]["x1", "x2"].h2_unnormalized == alone["x1", "x2"].h2_unnormalized
    model_rows = found[0].provenance["model_rows"]
    assert model_rows == found[1].provenance["model_rows"]


def test_model_rows_are_those_that_are_documented():
    X = table(200)
    X[:, 2] = X[:, 2] > 0
    model = Counting()
    it = sd.interactions(model, X, max_rows=30, **FAST)
    known = it.provenance
    counted = known["model_rows"] + known["check_rows"] + known["score_rows"]
    assert model.rows == counted
    effects = sd.explain(product, X, heterogeneity_rows=0).provenance["model_rows"]
    # Two features of 30 values, one of 2, and of their pairs one of 900 and two of at most 60 distinct combinations.
    singles, pairs = (30 + 30 + 2) * 30, (30 + 30 + 30) * 30
    assert known["model_rows"] - effects == singles + pairs + 30


def test_the_rows_are_a_seeded_sample_that_does_not_depend_on_other_arguments():
    X = table(300)
    a = sd.interactions(product, X, max_rows=40, **FAST)
    b = sd.interactions(product, X, [("x0", "x1")], max_rows=40, **FAST)
    c = sd.interactions(product, X, max_rows=40, random_state=1, **FAST)
    assert a["x0", "x1"].h2 == b["x0", "x1"].h2
    assert a["x0", "x1"].h2 != c["x0", "x1"].h2


def test_weights_of_zero_and_missing_values():
    X = table(80)
    X[::5, 0] = np.nan

    def f(X: np.ndarray) -> np.ndarray:
        return product(np.nan_to_num(X, nan=0.5))

    w = np.ones(80)
    w[60:] = 0
    it = sd.interactions(f, X, sample_weight=w, max_rows=None)
    same = sd.interactions(f, X[:60], max_rows=None)
    assert it["x0", "x1"].h2 == pytest.approx(same["x0", "x1"].h2)
    assert np.isfinite(it["x0", "x1"].modulates_01)
    assert np.isfinite(it["x0", "x1"].ale_strength)


def test_features_with_too_many_levels_have_h2_only():
    n = 2200
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"id": [f"row {i}" for i in range(n)], "a": rng.normal(size=n), "b": rng.normal(size=n)}
    )
    with pytest.warns(sd.LeftOutWarning, match="id"):
        it = sd.interactions(
            lambda d: (d["a"] * d["b"]).to_numpy(), frame, max_rows=20, heterogeneity_rows=0
        )
    line = it["id", "a"]
    assert line.h2 == 0.0
    assert np.isnan([line.ale_strength, line.modulates_01]).all()
    assert np.isnan({o.feature: o for o in it.overall}["id"].importance)
    assert it["a", "b"].ale_strength > 0.5


@pytest.mark.parametrize("method", ["pdp", "ale", "dale", None])
def test_methods_of_the_effects(method: Any):
    def slope(X: np.ndarray) -> np.ndarray:
        return np.column_stack([X[:, 1], X[:, 0], np.ones(len(X))])

    q = sd.prediction(product, slope=slope)
    it = sd.interactions(q, table(1000), method=method, h2=False, ale=False)
    assert it["x0", "x1"].modulates_01 == pytest.approx(1, abs=0.01)
    none = sd.interactions(q, table(1000), method=method, h2=False, ale=False, heterogeneity_rows=0)
    assert np.isnan(none["x0", "x1"].modulates_01)
    assert it.provenance["settings"]["method"] == ("RHALE" if method is None else method.upper())


def test_estimated_shares_beyond_0_and_1_are_in_the_frame_and_not_in_texts():
    it = sd.interactions(product, table(), h2=False, **FAST)
    pairs = tuple(replace(p, modulates_01=2.419, modulates_10=-0.17) for p in it.pairs)
    it = replace(it, pairs=pairs)
    assert set(it.to_frame()["modulates_01"]) == {2.419}
    cells = [line[2:] for line in it.lines()[1:]]
    assert set(cells) == {("1", "0")}
    assert repr(it).endswith("(dependence 1)>")
    page = it.explore().html
    assert "0 depends on 1" in page
    assert "<td>2.42<" not in page


def test_work_of_explain_gives_modulation_at_no_model_row():
    model, X, options = Counting(), table(400), ExplainOptions.of("explain")
    done = compute(prepare(sd.prediction(model), X, None, None, options))
    rows = model.rows
    alone = interactions_of(done)[None]
    assert model.rows == rows
    same = sd.interactions(product, X, h2=False, ale=False)
    assert repr(alone.pairs) == repr(same.pairs)
    assert repr(alone.by_feature) == repr(same.by_feature)
    known = alone.provenance
    assert known["model_rows"] + known["check_rows"] + known["score_rows"] == rows
    # The work is not used up: effects can be made of it, and given.
    effects = {label: sd.Effects(e, alone.provenance) for label, e in finalized(done).items()}
    assert repr(interactions_of(done, effects)[None].pairs) == repr(alone.pairs)


def finalized(done: Computed) -> dict[Any, dict[str, sd.Effect]]:
    found: Any = finalize_all(done.job, dict(done.gathered), done.scores, done.finalized)
    return found


def test_few_rows_tell_the_share_too():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    line = sd.interactions(product, X, h2=False, ale=False, method="ale")["x0", "x1"]
    assert min(line.modulates_01, line.modulates_10) > 0.6


def test_a_constant_feature_modulates_nothing():
    X = table(400)
    X[:, 2] = 1.0
    it = sd.interactions(product, X, h2=False, ale=False)
    assert it["x0", "x2"].modulates_01 == 0.0
    assert np.isnan(it["x0", "x2"].modulates_10)  # a constant feature has no effect


def test_missing_values_are_a_group_of_their_own():
    """The effect of x₀ differs between rows with and without x₁, and with nothing else."""
    X = table(4000)
    X[::4, 1] = np.nan

    def f(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * np.isnan(X[:, 1])

    it = sd.interactions(f, X, h2=False, ale=False)
    assert it["x0", "x1"].modulates_01 == pytest.approx(1.0, abs=0.02)


def test_constant_features_and_two_rows():
    X = table(40)
    X[:, 2] = 1.0
    it = sd.interactions(product, X, heterogeneity_rows=0)
    assert it["x0", "x2"].h2 == it["x0", "x2"].ale_strength == 0.0
    assert it["x0", "x1"].h2 > 0.1
    two = sd.interactions(product, table(2), heterogeneity_rows=0)
    assert two.provenance["h2_rows"] == 2
    constant = sd.interactions(lambda X: np.full(len(X), 1e6), table(), **FAST)
    assert constant.h2 == 0.0
    assert {p.h2 for p in constant.values()} == {0.0}
    assert {p.std_error for p in constant.values()} == {0.0}


def test_rounding_errors_are_no_interactions():
    it = sd.interactions(lambda X: 1e9 + X[:, 0] / 3 + np.exp(X[:, 1]), table(), **FAST)
    assert {p.h2_unnormalized for p in it.values()} == {0.0}
    assert it.h2 == 0.0


def test_hostile_names_are_escaped():
    X = pd.DataFrame(table(40), columns=["<script>alert(1)</script>", "$a_b$", "c"])
    it = sd.interactions(product, X, heterogeneity_rows=0)
    for page in (it._repr_html_(), it.explore().html, it.explore(kind="network").html):
        assert "<script>alert" not in page
    assert "<script>alert(1)</script>" in str(it)


# --- errors ---------------------------------------------------------------------------------------


def test_bad_arguments_are_refused():
    X = table()
    with refused(sd.DataError, "pair of 'x0' with itself"):
        sd.interactions(product, X, [("x0", 0)])
    with refused(sd.DataError, "'nothing'"):
        sd.interactions(product, X, [("x0", "nothing")])
    with refused(sd.DataError, "at least two features"):
        sd.interactions(lambda X: X[:, 0], X[:, :1])
    with refused(sd.DataError, "'every'", "pairs='all'"):
        sd.interactions(product, X, "every")
    with refused(sd.DataError, "pairs='all'"):
        sd.interactions(product, X, ["x0", "x1"])
    with refused(sd.DataError, "empty"):
        sd.interactions(product, X, [])
    with refused(sd.DataError, "max_rows", "500"):
        sd.interactions(product, X, max_rows=1)
    with refused(sd.DataError, "h2", "True or False"):
        sd.interactions(product, X, h2="no")
    with refused(sd.UnsupportedError, "2 models", "for m in models"):
        sd.interactions([product, product], X)
    with refused(sd.UnsupportedError, "PFI"):
        sd.interactions(product, X, method="pfi")
    with pytest.raises(TypeError, match="unexpected keyword argument 'maxrows'"):
        sd.interactions(product, X, maxrows=3)


def test_bad_options_of_results_are_refused():
    it = sd.interactions(product, table(), **FAST)
    with refused(sd.DataError, "to_frame(of)"):
        it.to_frame(of="features")
    with refused(sd.DataError, "Interactions.plot(kind)"):
        it.plot(kind="circle")
    with refused(sd.DataError, "Interactions.plot(measure)"):
        it.plot(measure="strength")
    with refused(sd.UnsupportedError, "'ale_strength', which was not computed"):
        it.plot(measure="ale_strength")
    with refused(sd.DataError, "Interactions.plot(top)"):
        it.plot(top=1)
    with refused(sd.DataError, "explore(kind)"):
        it.explore(kind="circle")


def test_levels_with_and_without_an_order_are_pairs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sky": rng.choice(["clear", "cloud", "rain"], 300),
            "grade": pd.Categorical(rng.choice(list("abc"), 300), list("abc"), ordered=True),
            "open": rng.random(300) < 0.5,
            "wind": rng.normal(size=300),
        }
    )

    def model(X):
        return (X["sky"] == "rain") * (X["grade"] == "c") + X["wind"] * X["open"]

    found = sd.interactions(model, X, h2=False)
    assert all(np.isfinite(p.ale_strength) for p in found.pairs)
    assert found.ranking()[0].ale_strength > 0.1
    assert found["sky", "grade"].ale_strength > 5 * found["sky", "wind"].ale_strength


def test_a_feature_without_values_is_in_no_pair():
    X = pd.DataFrame(table(), columns=list("abc")).assign(empty=np.nan)
    with pytest.warns(sd.LeftOutWarning, match="only missing values was left out: empty"):
        found = sd.interactions(product, X, **FAST)
    without = sd.interactions(product, X[["a", "b", "c"]], **FAST)
    assert found.features == without.features == ("a", "b", "c")
    assert [p.h2 for p in found.ranking()] == [p.h2 for p in without.ranking()]
    with pytest.warns(sd.LeftOutWarning), refused(sd.DataError, "one feature"):
        sd.interactions(lambda X: X["a"], X[["a", "empty"]], **FAST)
