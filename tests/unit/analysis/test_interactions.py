"""`sd.interactions`: its arguments, costs, results and errors."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.analysis.interactions import interactions_of
from skedasis.engine.options import ExplainOptions
from skedasis.engine.prepare import prepare
from skedasis.engine.rounds import compute
from tests.helpers import refused

FAST: dict[str, Any] = {"ale": False, "heterogeneity_rows": 0}


def table(n: int = 60, d: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def product(X: Any) -> np.ndarray:
    X = np.asarray(X)
    return X[:, 0] * X[:, 1] + X[:, 2]


class Counting:
    """A function that counts the rows of its calls."""

    def __init__(self, function: Any = product) -> None:
        self.function = function
        self.rows = self.calls = 0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        self.rows += len(X)
        self.calls += 1
        return self.function(X)


# --- results --------------------------------------------------------------------------------------


def test_a_pair_is_found_in_both_orders():
    it = sd.interactions(product, table(), **FAST)
    a, b = it["x0", "x1"], it["x1", "x0"]
    assert (a.feature_0, b.feature_0) == ("x0", "x1")
    assert a.h2 == b.h2
    assert (a.depends_01, a.depends_10) == (b.depends_10, b.depends_01)
    assert ("x1", "x0") in it
    assert ("x1", "x9") not in it
    assert list(it) == [("x0", "x1"), ("x0", "x2"), ("x1", "x2")]
    with refused(sd.DataError, "it['x0', 'x1']"):
        it["x0", "nothing"]


def test_several_outputs_share_the_model_rows():
    def both(X: np.ndarray) -> np.ndarray:
        return np.column_stack([product(X), X[:, 1] * X[:, 2]])

    found = sd.interactions(sd.prediction(both, output="all"), table(), **FAST)
    assert set(found) == {0, 1}
    assert found[0].ranking()[0].feature_1 == "x1"
    assert (found[1].ranking()[0].feature_0, found[1].ranking()[0].feature_1) == ("x1", "x2")
    alone = sd.interactions(lambda X: X[:, 1] * X[:, 2], table(), **FAST)
    assert found[1]["x1", "x2"].h2_unnormalized == alone["x1", "x2"].h2_unnormalized
    model_rows = found[0].provenance["effect_rows"]
    assert model_rows == found[1].provenance["effect_rows"]


def test_model_rows_are_those_that_are_documented():
    X = table(200)
    X[:, 2] = X[:, 2] > 0
    model = Counting()
    it = sd.interactions(model, X, max_rows=30, **FAST)
    known = it.provenance
    counted = known["model_rows"]
    assert model.rows == counted
    effects = sd.explain(product, X, heterogeneity_rows=0).provenance["effect_rows"]
    # Two features of 30 values, one of 2, and of their pairs one of 900 and two of at most 60 distinct combinations.
    singles, pairs = (30 + 30 + 2) * 30, (30 + 30 + 30) * 30
    assert known["effect_rows"] - effects == singles + pairs + 30


def test_the_rows_are_a_seeded_sample_that_does_not_depend_on_other_arguments():
    X = table(300)
    a = sd.interactions(product, X, max_rows=40, **FAST)
    b = sd.interactions(product, X, [("x0", "x1")], max_rows=40, **FAST)
    c = sd.interactions(product, X, max_rows=40, random_state=1, **FAST)
    assert a["x0", "x1"].h2 == b["x0", "x1"].h2
    assert a["x0", "x1"].h2 != c["x0", "x1"].h2


def six_products(X: np.ndarray) -> np.ndarray:
    return sum((6 - k) * X[:, 2 * k] * X[:, 2 * k + 1] for k in range(6)) + X.sum(axis=1)


def test_h2_of_many_pairs_where_the_model_is_called():
    """190 pairs: those of the six products, and four others that no interaction puts first."""
    X, model = table(400, 20), Counting(six_products)
    it = sd.interactions(model, X)
    known = it.provenance
    assert (known["h2_rows"], known["h2_pairs"], len(it)) == (200, 10, 190)
    assert model.rows == known["model_rows"]
    without = sd.interactions(six_products, X, h2=False).provenance
    # A pass for 20 features and ten pairs, the rows themselves, and screening: the rows, 20 features, and 190 pairs.
    assert known["effect_rows"] - without["effect_rows"] == 30 * 200**2 + 200 + (1 + 20 + 190) * 200
    assert known["effect_calls"] - without["effect_calls"] == 30 + 1 + 1
    assert model.rows <= 2_500_000
    ranking = it.ranking()
    products = [(f"x{2 * k}", f"x{2 * k + 1}") for k in range(6)]
    assert [(p.feature_0, p.feature_1) for p in ranking[:6]] == products
    assert [p.h2_unnormalized for p in ranking[6:10]] == [0.0] * 4
    for left_out in ranking[10:]:
        assert np.isnan([left_out.h2, left_out.h2_unnormalized, left_out.std_error]).all()
        assert left_out.ale_strength == pytest.approx(0.0, abs=1e-12)
    assert not any(p.exact for p in it.pairs)
    assert all(o.h2_unnormalized > 0.1 for o in it.by_feature[:12])
    assert [o.h2_unnormalized for o in it.by_feature[12:]] == [0.0] * 8


def test_pairs_that_screening_leaves_out_are_said_and_come_last():
    X = table(100, 7)
    it = sd.interactions(lambda X: X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3], X)
    assert not it.exact  # of 21 pairs
    assert [p.exact for p in it.ranking()] == [True] * 10 + [False] * 11
    lines = str(it).splitlines()
    assert "(H² from all 100 rows)" in lines[1]
    assert lines[2] == "H² of the 10 pairs that screening put first, a dash for the others"
    assert lines[4].split()[:2] == ["x0", "x1"]
    assert lines[14].split()[2:5] == ["-", "-", "-"]
    frame = it.to_frame()
    assert frame["h2_unnormalized"].notna().tolist() == [True] * 10 + [False] * 11
    by_ale = sd.interactions(lambda X: X[:, 0] * X[:, 1], X[:, :3], h2=False)
    assert by_ale.screened is None
    assert "screening" not in str(by_ale)


def test_pairs_that_are_named_and_all_rows_have_h2_in_any_case():
    X = table(60, 6)
    named = list(itertools.combinations(range(6), 2))
    every = sd.interactions(of_two_and_of_three, X, max_rows=None, **FAST)
    given = sd.interactions(of_two_and_of_three, X, named, max_rows=60, **FAST)
    first = sd.interactions(of_two_and_of_three, X, max_rows=60, **FAST)
    assert every.exact
    assert given.exact
    assert repr(given.pairs) == repr(every.pairs)
    assert (every.screened, given.screened, first.screened) == (None, None, 10)
    for pair in first.pairs:
        if not np.isnan(pair.h2):
            assert repr(pair) == repr(every[pair.feature_0, pair.feature_1])


def of_two_and_of_three(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4]


def test_screening_of_several_outputs_keeps_the_first_pair_of_each():
    X = table(80, 8)

    def outputs(X: np.ndarray) -> np.ndarray:
        return np.column_stack([1e-3 * X[:, 2 * k] * X[:, 2 * k + 1] * 10**k for k in range(4)])

    found = sd.interactions(sd.prediction(outputs, output="all"), X, **FAST)
    for k, it in found.items():
        assert it.screened == 10
        first = it.ranking()[0]
        assert (first.feature_0, first.feature_1) == (f"x{2 * k}", f"x{2 * k + 1}")


def test_many_pairs_of_an_output_of_large_numbers_do_not_displace_that_of_another():
    X = table(80, 8)
    i, j = np.triu_indices(5, 1)

    def outputs(X: np.ndarray) -> np.ndarray:
        return np.column_stack([1e3 * (X[:, i] * X[:, j]).sum(axis=1), X[:, 6] * X[:, 7]])

    _, small = sd.interactions(sd.prediction(outputs, output="all"), X, **FAST).values()
    assert small["x6", "x7"].h2_unnormalized > 0.1


@pytest.mark.parametrize("unit", [1.0, 1e9])
def test_screening_keeps_weak_pairs_beside_an_output_without_interactions(unit: float):
    X = table(300, 10)
    strengths = [10.0, 5.0, 1.0, 0.1, 0.01]

    def outputs(X: np.ndarray) -> np.ndarray:
        products = sum(s * X[:, 2 * k] * X[:, 2 * k + 1] for k, s in enumerate(strengths))
        additive = unit * (np.sin(X) + X @ np.arange(100.0).reshape(10, 10) / 7).sum(axis=1)
        return np.column_stack([additive, products])

    found = sd.interactions(sd.prediction(outputs, output="all"), X, max_rows=60, **FAST)
    additive, products = found.values()
    assert all(not p.h2_unnormalized > 0 for p in additive.pairs)
    first = products.ranking()[: len(strengths)]
    assert [(p.feature_0, p.feature_1) for p in first] == [
        (f"x{2 * k}", f"x{2 * k + 1}") for k in range(len(strengths))
    ]


def test_screening_moves_the_columns_of_a_group_together():
    X = table(80, 8)
    X[:, :2] = np.sign(X[:, :2])
    groups = {"both": ["x0", "x1"]}
    it = sd.interactions(lambda X: X[:, 0] * X[:, 1] + X[:, 1] * X[:, 7], X, groups=groups, **FAST)
    first = it.ranking()[0]
    assert {first.feature_0, first.feature_1} == {"both", "x7"}
    assert first.h2_unnormalized > 0.5
    assert sum(p.h2_unnormalized > 0 for p in it.pairs) == 1


@pytest.mark.parametrize("light_first", [False, True])
def test_screening_weighs_both_rows_of_a_difference(light_first: bool):
    """x0 and x1 differ from 0 in rows of next to no weight only, where their product is large."""
    X, light = table(80, 7), np.arange(80) % 4 == 0
    X[:, :2] = np.where(light[:, None], 1.0 + X[:, :2] ** 2, 0.0)
    some = np.triu_indices(5, 1)

    def model(X: np.ndarray) -> np.ndarray:
        return 1e3 * X[:, 0] * X[:, 1] + (X[:, 2 + some[0]] * X[:, 2 + some[1]]).sum(axis=1)

    weights = np.where(light, 1e-9, 1.0)
    order = np.argsort(~light if light_first else light, kind="stable")
    it = sd.interactions(model, X[order], sample_weight=weights[order], max_rows=80, **FAST)
    found = {(p.feature_0, p.feature_1) for p in it.pairs if not np.isnan(p.h2)}
    assert found == {(f"x{i + 2}", f"x{j + 2}") for i, j in zip(*some, strict=True)}


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
    assert np.isnan([line.ale_strength, line.depends_01]).all()
    assert np.isnan({o.feature: o for o in it.overall}["id"].importance)
    assert it["a", "b"].ale_strength > 0.5


@pytest.mark.parametrize("method", ["pdp", "ale", "dale", None])
def test_methods_of_the_effects(method: Any):
    def slope(X: np.ndarray) -> np.ndarray:
        return np.column_stack([X[:, 1], X[:, 0], np.ones(len(X))])

    q = sd.prediction(product, slope=slope)
    it = sd.interactions(q, table(1000), method=method, h2=False, ale=False)
    assert it["x0", "x1"].depends_01 == pytest.approx(1, abs=0.01)
    none = sd.interactions(q, table(1000), method=method, h2=False, ale=False, heterogeneity_rows=0)
    assert np.isnan(none["x0", "x1"].depends_01)
    assert it.provenance["settings"]["method"] == ("RHALE" if method is None else method.upper())


def test_estimated_shares_beyond_0_and_1_are_in_the_frame_and_not_in_texts():
    it = sd.interactions(product, table(), h2=False, **FAST)
    pairs = tuple(replace(p, depends_01=2.419, depends_10=-0.17) for p in it.pairs)
    it = replace(it, pairs=pairs)
    assert set(it.to_frame()["depends_01"]) == {2.419}
    cells = [line[2:] for line in it.lines()[1:]]
    assert set(cells) == {("1", "0")}
    assert repr(it).endswith("(dependence 1)>")
    page = it.explore().html
    assert "A depends on B" in page
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
    assert known["model_rows"] == rows
    effects: Any = {label: sd.Effects(e, alone.provenance) for label, e in done.results.items()}
    assert repr(interactions_of(done, effects)[None].pairs) == repr(alone.pairs)


def test_few_rows_tell_the_share_too():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    line = sd.interactions(product, X, h2=False, ale=False, method="ale")["x0", "x1"]
    assert min(line.depends_01, line.depends_10) > 0.6


def test_nothing_depends_on_a_constant_feature():
    X = table(400)
    X[:, 2] = 1.0
    it = sd.interactions(product, X, h2=False, ale=False)
    assert it["x0", "x2"].depends_01 == 0.0
    assert np.isnan(it["x0", "x2"].depends_10)  # a constant feature has no effect


def test_missing_values_are_a_group_of_their_own():
    """The effect of x₀ differs between rows with and without x₁, and with nothing else."""
    X = table(4000)
    X[::4, 1] = np.nan

    def f(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * np.isnan(X[:, 1])

    it = sd.interactions(f, X, h2=False, ale=False)
    assert it["x0", "x1"].depends_01 == pytest.approx(1.0, abs=0.02)


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


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": [("x0", 0)]}, "pair of 'x0' with itself"),
        ({"pairs": "every"}, "pairs='all'"),
        ({"pairs": ["x0", "x1"]}, "pairs='all'"),
        ({"pairs": []}, "empty"),
        ({"max_rows": 1}, "200"),
        ({"h2": "no"}, "True or False"),
    ],
)
def test_bad_arguments_are_refused(options, words):
    with refused(sd.DataError, words):
        sd.interactions(product, table(), **options)
    with refused(sd.DataError, "at least two features"):
        sd.interactions(lambda X: X[:, 0], table()[:, :1])


def test_a_feature_without_values_is_in_no_pair():
    X = pd.DataFrame(table(), columns=list("abc")).assign(empty=np.nan)
    with pytest.warns(sd.LeftOutWarning, match="only missing values was left out: empty"):
        found = sd.interactions(product, X, **FAST)
    without = sd.interactions(product, X[["a", "b", "c"]], **FAST)
    assert found.features == without.features == ("a", "b", "c")
    assert [p.h2 for p in found.ranking()] == [p.h2 for p in without.ranking()]
    with pytest.warns(sd.LeftOutWarning), refused(sd.DataError, "one feature"):
        sd.interactions(lambda X: X["a"], X[["a", "empty"]], **FAST)
