"""A list or dictionary of models is compared: each is explained as if it were alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import skedasis as sd
from tests.helpers import bent, frame, of_frame, refused, table

X = table(150, 3)
Y = bent(X)
MODELS: dict[str, Any] = {
    "linear": LinearRegression().fit(X, Y),
    "forest": RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, Y),
    "curve": bent,
}
TWO = sd.prediction(lambda X: np.column_stack([bent(X), X[:, 0]]), output="all")
OTHER = sd.prediction(lambda X: np.column_stack([X[:, 1], X[:, 2] ** 2]), output="all")
T = frame(120)
CALLS: dict[str, Callable[..., Any]] = {
    "by default": lambda m: sd.explain(m, X),
    **{
        name: lambda m, name=name: sd.explain(m, X, [0, 1], method=name)
        for name in ("ale", "rhale", "uale", "pdp", "ice", "mplot")
    },
    "one feature": lambda m: sd.explain(m, X, 0, curves=4),
    "a pair": lambda m: sd.explain(m, X, (0, 1), method="ale"),
    "pairs": lambda m: sd.explain(m, X, [(0, 1), (1, 2)], method="pdp"),
    "importance": lambda m: sd.explain(m, X, method=sd.PFI(n_repeats=2)),
    "given regions": lambda m: sd.explain(m, X, 0, by=1),
    "given regions of features": lambda m: sd.explain(m, X, by=1, sample=90),
    "regions": lambda m: sd.regions(m, X, 0, max_depth=1),
    "regions of features": lambda m: sd.regions(m, X, split_on=[1]),
}
# Times, and numbers of calls, which follow from the times that the model took.
NOT_COMPARED = ("seconds", "calls")


def differences(a: Any, b: Any, where: str = "") -> list[str]:
    """Return the places at which two results differ in any bit."""
    if type(a) is not type(b):
        return [f"{where}: {type(a)} and {type(b)}"]
    if isinstance(a, np.ndarray):
        return [] if a.dtype == b.dtype and a.tobytes() == b.tobytes() else [where]
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return differences(vars(a), vars(b), where)
    if isinstance(a, Mapping):
        if list(a) != list(b):
            return [f"{where}: {list(a)} and {list(b)}"]
        kept = [k for k in a if not str(k).endswith(NOT_COMPARED) and not str(k).startswith("_")]
        return [d for k in kept for d in differences(a[k], b[k], f"{where}.{k}")]
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return [where]
        return [
            d
            for i, (p, q) in enumerate(zip(a, b, strict=True))
            for d in differences(p, q, f"{where}.{i}")
        ]
    same = a == b or (a != a and b != b) or not isinstance(a, (str, float, int, bool))
    return [] if same else [f"{where}: {a!r} and {b!r}"]


@pytest.mark.parametrize("call", CALLS)
def test_each_model_is_explained_as_if_it_were_alone(call: str) -> None:
    found = CALLS[call](MODELS)
    assert isinstance(found, sd.Comparison)
    assert list(found) == list(MODELS)
    for name, model in MODELS.items():
        assert differences(found[name], CALLS[call](model)) == []
    assert not differences(found["curve"], found["curve"])
    assert differences(found["linear"], found["curve"])


def test_a_list_has_numbers_for_names_and_models_of_several_outputs_are_compared() -> None:
    found = sd.explain([TWO, OTHER], X, 0, method=sd.ALE(bins=4))
    assert list(found) == [0, 1]
    for i, one in enumerate((TWO, OTHER)):
        alone = sd.explain(one, X, 0, method=sd.ALE(bins=4))
        assert differences(found[i], alone) == []
    with refused(sd.UnsupportedError, "members of class MultiOutput"):
        found.plot()


def test_models_of_other_quantities_and_features_of_every_kind() -> None:
    models = {"a": of_frame, "b": sd.prediction(lambda T: -of_frame(T), name="loss of b")}
    found = sd.explain(models, T, method="ale")
    for name, model in models.items():
        assert differences(found[name], sd.explain(model, T, method="ale")) == []
    labels = {axes.get_ylabel() for axes in found.plot().axes}
    assert "effect on each model" in labels


def test_the_costs_add_up_and_names_and_number_are_in_the_record() -> None:
    called: list[int] = []

    def counting(X: Any) -> Any:
        called.append(len(X))
        return bent(X)

    alone = sd.explain(bent, X, method="ale")
    found = sd.explain({"a": counting, "b": counting}, X, method="ale")
    assert found.provenance["model_rows"] == sum(called) == 2 * alone.provenance["model_rows"]
    assert (found.provenance["models"], found.provenance["model_names"]) == (2, ["a", "b"])


def test_a_generator_of_seeds_draws_once() -> None:
    found = sd.explain([bent, bent], X, random_state=np.random.default_rng(0), sample=60)
    assert differences(found[0], found[1]) == []


def test_a_comparison_is_printed_ranked_drawn_saved_and_written(tmp_path: Any) -> None:
    found = sd.explain(MODELS, X)
    head, names, *lines = str(found).splitlines()
    assert head == "<Comparison of 3 models, each Effects: linear, forest, curve>"
    assert names.split() == ["importance", *MODELS]
    importances = {line.split()[0]: [float(v) for v in line.split()[1:]] for line in lines}
    for feature, numbers in importances.items():
        expected = [e[feature].importance for e in found.values()]
        np.testing.assert_allclose(numbers, expected, rtol=1e-3, atol=1e-12)
    sizes = [max(numbers) for numbers in importances.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert {line.model for line in found.ranking()} == set(MODELS)
    assert next(iter(found.to_frame("pandas").columns)) == "model"
    for panel in found.plot().axes[:3]:
        assert len(panel.get_lines()) >= len(MODELS)
    assert "as if it were alone" in found.explore()._repr_html_()
    found.save(tmp_path / "found.npz")
    again = sd.load(tmp_path / "found.npz")
    assert differences(again, found) == []
    assert [one["model"] for one in found.to_dict()["models"]] == list(MODELS)
    assert sd.compare(sd.explain(MODELS, X, 0))


def test_factors_of_several_models_are_side_by_side(tmp_path: Any) -> None:
    """The models are products: factors follow from their definition, at the base of the first."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"town": rng.choice(["A", "B", "C"], 300, p=[0.6, 0.3, 0.1])})
    rows["age"] = rng.integers(20, 24, 300)
    town = {"old": {"A": 1.0, "B": 2.0, "C": 0.5}, "new": {"A": 1.0, "B": 2.4, "C": 0.25}}

    def rate(of: str) -> Any:
        return lambda part: part["town"].map(town[of]) * np.exp(part["age"] / 20)

    models = {of: sd.prediction(rate(of), inverse="log", name="rate") for of in town}
    both = sd.explain(models, rows, method="ale")
    table = both.factors()
    for of, one in table.items():
        found = {f.text: f.factor for f in one["town"]}
        assert found == pytest.approx(town[of])
        assert one["age"].base.text == table["old"]["age"].base.text
    text = str(table)
    assert "model  base value" in text
    block = next(part for part in text.split("\n\n") if part.startswith("town"))
    lines = {line.split()[0]: line.split()[1:] for line in block.splitlines()}
    assert lines["town"] == ["old", "new"]
    assert lines["A"] == ["base", "base"]
    assert lines["B"] == ["2.00", "2.40"]
    assert lines["C"] == ["0.500", "0.250"]
    frame = table.to_frame("pandas")
    assert frame["model"].tolist() == ["old"] * 7 + ["new"] * 7
    # Another base for both; of one feature, the base alone.
    given = both.factors({"town": "B"})
    assert {f.text: f.factor for f in given["new"]["town"]} == pytest.approx(
        {"A": 1 / 2.4, "B": 1.0, "C": 0.25 / 2.4}
    )
    alone = sd.explain(models, rows, "town", method="ale").factors("C")
    assert ["A", "2.00", "4.00"] in [line.split() for line in str(alone).splitlines()]
    assert len(alone.plot().axes) == 4
    for found in (table, alone):
        found.save(tmp_path / "factors.npz")
        assert str(sd.load(tmp_path / "factors.npz")) == str(found)
        assert "town" in found._repr_html_()
    with refused(sd.UnsupportedError, "models of class Importance", "effects"):
        CALLS["importance"](MODELS).factors()


@pytest.mark.parametrize(
    ("call", "number", "head"),
    [
        ("pairs", "interaction_strength", "interaction strength"),
        ("importance", "mean", "importance"),
        ("given regions of features", "heterogeneity_score", "heterogeneity score"),
    ],
)
def test_results_with_a_ranking_are_one_table_by_model(call: str, number: str, head: str) -> None:
    found = CALLS[call](MODELS)
    table, *rules = str(found).split("\n\n")
    _, names, *lines = table.splitlines()
    assert names.split() == [*head.split(), *MODELS]
    for k, result in enumerate(found.values()):
        for line in result.ranking():
            texts = [v for v in vars(line).values() if isinstance(v, str)]
            name = " × ".join(texts[: 2 if call == "pairs" else 1])
            (own,) = (text for text in lines if text.startswith(f"{name} "))
            printed = float(own.removeprefix(name).split()[k])
            assert printed == pytest.approx(vars(line)[number], rel=1e-3, abs=1e-9)
    # The rules of regions follow, those of a model together.
    models = [block for block in rules if block.startswith("model ")]
    assert models == ([f"model {name}" for name in MODELS] if call.startswith("given") else [])


def test_a_mean_is_asked_for() -> None:
    for asked in ({"refits": True}, {"correction": 0.2}, {"cv": np.arange(150) % 3}):
        assert isinstance(sd.explain([bent] * 3, X, 0, **asked), sd.MultiModelEffect)
        assert isinstance(sd.regions([bent] * 3, X, 0, **asked), sd.MultiModelRegions)
    with refused(sd.DataError, "refits: got one model"):
        sd.explain(bent, X, refits=True)
    with refused(sd.UnsupportedError, "the mean of several models", "Leave out refits"):
        sd.explain([bent, bent], X, 0, by=1, refits=True)
    with refused(sd.DataError, "columns", "Compare them: leave out refits=True"):
        sd.explain([MODELS["linear"], LinearRegression().fit(X[:, :2], Y)], X, 0, refits=True)
    with refused(sd.DataError, "refits: got 1, expected True or False"):
        sd.explain([bent, bent], X, 0, refits=1)


@pytest.mark.parametrize("models", [[], [bent], {"a": bent}])
@pytest.mark.parametrize("function", [sd.explain, sd.regions])
def test_fewer_than_two_models_are_refused(function: Any, models: Any) -> None:
    with refused(sd.DataError, "expected at least two models"):
        function(models, X, 0)


def test_an_error_says_which_model_has_it() -> None:
    with pytest.raises(sd.ModelOutputError) as info:
        sd.explain({"a": bent, "b": lambda X: np.full(len(X), np.nan)}, X, 0)
    assert any("model 1 of the 2" in note for note in info.value.__notes__)
