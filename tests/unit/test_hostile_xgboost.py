"""JSON and binary JSON files of XGBoost with valid syntax and contents that XGBoost itself would crash on."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.models import xgboost_files
from skedasis.models.files import load_model
from tests.helpers import refused
from tests.unit.hostile_files import (
    Record,
    counts,
    faults,
    of_bytes,
    of_json,
    of_text,
    outcomes,
    ubj,
)

xgboost = pytest.importorskip("xgboost")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
X[:, 2] = RNG.integers(0, 40, 200)
Y = X[:, 0] + np.sin(X[:, 1]) + 3 * (X[:, 2] % 3 == 1)
CLASSES = np.digitize(Y, [-0.5, 0.5])
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:xgboost")


def fitted(y: np.ndarray = Y, rounds: int = 3, **options: Any) -> Any:
    """Return a small booster."""
    types = ["q", "q", "c"] if options.pop("categories", False) else None
    data = xgboost.DMatrix(X, y, feature_types=types, enable_categorical=types is not None)
    if options.get("objective", "").startswith("rank"):
        data.set_group([100, 100])
    if options.get("objective") == "survival:aft":
        data.set_float_info("label_lower_bound", y)
        data.set_float_info("label_upper_bound", y)
    return xgboost.train({"nthread": 1, "max_depth": 3, "seed": 0, **options}, data, rounds)


VALID: dict[str, dict[str, Any]] = {
    **{
        name: {"objective": name}
        for name in ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")
    },
    **{
        name: {"objective": name, "y": np.exp(Y)}
        for name in (
            *("reg:squaredlogerror", "reg:gamma", "reg:tweedie", "count:poisson"),
            *("survival:cox", "survival:aft"),
        )
    },
    **{
        name: {"objective": name, "y": (Y > 1).astype(float)}
        for name in (
            *("binary:logistic", "binary:logitraw", "binary:hinge", "reg:logistic"),
            *("rank:pairwise", "rank:ndcg", "rank:map"),
        )
    },
    **{
        name: {"objective": name, "num_class": 3, "y": CLASSES}
        for name in ("multi:softmax", "multi:softprob")
    },
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "linear": {"booster": "gblinear"},
    "linear classes": {
        "booster": "gblinear",
        "objective": "multi:softprob",
        "num_class": 3,
        "y": CLASSES,
    },
    "targets": {"y": np.stack([Y, -Y], axis=1)},
    "vector leaves": {"y": np.stack([Y, -Y], axis=1), "multi_strategy": "multi_output_tree"},
    "categories": {"categories": True, "max_cat_to_onehot": 1},
    "one category": {"categories": True, "max_cat_to_onehot": 100},
    "forest": {"num_parallel_tree": 3, "subsample": 0.5},
    "pruned": {"tree_method": "exact", "gamma": 20.0, "max_depth": 7},
    "no rounds": {"rounds": 0},
}


@pytest.mark.parametrize("kind", VALID)
def test_files_of_every_kind_are_read(tmp_path: Path, kind: str) -> None:
    booster = fitted(**VALID[kind])
    rows = xgboost.DMatrix(
        X,
        feature_types=booster.feature_types,
        enable_categorical=booster.feature_types is not None,
    )
    for suffix in (".json", ".ubj"):
        booster.save_model(tmp_path / f"model{suffix}")
        read: Any = load_model(tmp_path / f"model{suffix}")
        np.testing.assert_array_equal(read.predict(rows), booster.predict(rows))


def test_names_of_pandas_levels_are_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    f = pandas.DataFrame(X, columns=["a b", "/script>", "日"])
    f["日"] = pandas.Categorical(f["日"].astype(int).map("<b>{}\x07".format))
    data = xgboost.DMatrix(f, Y, enable_categorical=True)
    booster = xgboost.train({"nthread": 1}, data, 3)
    booster.save_model(tmp_path / "model.ubj")
    read: Any = load_model(tmp_path / "model.ubj")
    np.testing.assert_array_equal(read.predict(data), booster.predict(data))


def test_binary_json_is_read_as_json(tmp_path: Path) -> None:
    # Our reader of binary JSON is compared with Python's of the same model.
    booster = fitted(categories=True)
    seen: list[dict[str, Any]] = []

    def as_lists(pairs: Any) -> dict[str, Any]:
        made = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in pairs}
        seen.append(made)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xgboost_files, "_as_object", as_lists)
        xgboost_files._Ubj(bytes(booster.save_raw("ubj"))).document()
    expected = json.loads(booster.save_raw("json"))
    found, other = (d["learner"]["gradient_booster"]["model"] for d in (seen[-1], expected))
    for ours, theirs in zip(found["trees"], other["trees"], strict=True):
        for key in theirs.keys() - {"tree_param"}:
            np.testing.assert_allclose(ours[key], theirs[key], rtol=1e-6, atol=1e-44)
    assert found["tree_info"] == other["tree_info"]


# ---------------------------------------------------------------------------------- wrong contents


def tree(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    """Return a change of the second tree of a model."""
    return lambda learner: change(learner["gradient_booster"]["model"]["trees"][1])


def at(key: str, index: int, value: object) -> Callable[[dict[str, Any]], object]:
    """Return a change of one entry of a list of a tree."""
    return tree(lambda part: part[key].__setitem__(index, value))


def entry(path: str, value: object) -> Callable[[dict[str, Any]], object]:
    """Return a change of an entry below `learner`."""

    def change(learner: Any) -> None:
        *keys, last = path.split(".")
        for key in keys:
            learner = learner[int(key) if key.isdigit() else key]
        learner[last] = value

    return change


MODEL = "gradient_booster.model"
WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "child beyond": (at("left_children", 0, 100_000_000), "left_children outside of -1 to"),
    "circle": (at("left_children", 1, 0), "nodes that do not form a tree"),
    "itself": (at("right_children", 1, 1), "nodes that do not form a tree"),
    "one child": (at("right_children", 0, -1), "nodes that do not form a tree"),
    "column beyond": (at("split_indices", 0, 99), "a split by column 99 of 3"),
    "column below": (at("split_indices", 0, -1), "split_indices outside of 0 to"),
    "float": (at("split_indices", 0, 0.5), "split_indices that are no integers"),
    "huge": (at("left_children", 0, 2**70), "left_children"),
    "parent": (at("parents", 1, 10_000), "a parent that is no node"),
    "nodes": (
        tree(lambda t: t["tree_param"].update(num_nodes="100000000")),
        "left_children instead of 100000000",
    ),
    "short": (tree(lambda t: t["split_conditions"].pop()), "split_conditions instead of"),
    "leaf size": (
        tree(lambda t: t["tree_param"].update(size_leaf_vector="100000000")),
        "base_weights instead of",
    ),
    "number": (tree(lambda t: t.update(id=7)), "the tree 1"),
    "no tree": (entry(f"{MODEL}.trees", [{}]), "0 trees instead of num_trees"),
    "count": (entry(f"{MODEL}.gbtree_model_param.num_trees", "100000000"), "3 trees instead"),
    "info": (entry(f"{MODEL}.tree_info", [0, 7, 0]), "tree_info outside of 0 to 0"),
    "iterations": (
        entry(f"{MODEL}.iteration_indptr", [0, 3, 1, 3]),
        "iteration_indptr that does not increase",
    ),
    "classes": (entry("learner_model_param.num_class", "100000000"), "3 trees for 100000000"),
    "negative": (entry("learner_model_param.num_class", "-1"), "num_class='-1'"),
    "no number": (entry("learner_model_param.num_feature", "x"), "num_feature='x'"),
    "columns": (
        lambda s: s.update(feature_types=[]) or s["learner_model_param"].update(num_feature="1"),
        "of 1",
    ),
    "score": (entry("learner_model_param.base_score", "[1,2]"), "base_score='[1,2]'"),
    "objective": (entry("objective.name", "multi:softprob"), "no softmax_multiclass_param"),
    "names": (entry("feature_names", ["a"]), "1 feature_names for 3 columns"),
    "attributes": (entry("attributes", {"a": 1}), "attributes that are no texts"),
    "booster": (entry("gradient_booster.name", "gbnone"), "the booster 'gbnone'"),
    "linear": (
        entry("gradient_booster", {"name": "gblinear", "model": {"weights": [1.0]}}),
        "1 weights",
    ),
    "dart": (
        lambda s: s.update(
            gradient_booster={"name": "dart", "gbtree": s["gradient_booster"], "weight_drop": []}
        ),
        "0 weight_drop instead of 3",
    ),
    "deep": (entry("more", json.loads("[" * 60 + "]" * 60)), "too many levels"),
    "split type": (at("split_type", 0, 7), "split_type outside of 0 to 1"),
    "sets": (tree(lambda t: t.update(categories_nodes=[])), "categories_nodes instead of"),
    "segment": (at("categories_segments", 0, 10**6), "categories_segments outside of"),
    "sizes": (at("categories_sizes", 0, 0), "categories_sizes outside of 1"),
    "category": (at("categories", 0, 2**30), "categories outside of 0 to"),
    "levels": (
        entry(
            f"{MODEL}.cats", {"enc": [{}] * 3, "feature_segments": [0, 0, 0, 9], "sorted_idx": []}
        ),
        "no values",
    ),
}


@pytest.fixture(scope="module")
def saved() -> dict[str, Any]:
    """Return the JSON of a model with categories."""
    return json.loads(fitted(categories=True, max_cat_to_onehot=1).save_raw("json"))


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_wrong_contents_are_refused_before_xgboost_sees_them(
    tmp_path: Path, saved: Any, kind: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, words = WRONG[kind]
    document = copy.deepcopy(saved)
    change(document["learner"])
    raw = json.dumps(document).encode() if suffix == ".json" else ubj(document)
    (tmp_path / f"model{suffix}").write_bytes(raw)
    monkeypatch.setattr(xgboost, "Booster", None)
    with refused(sd.DataError, words, "cut off or not in XGBoost format"):
        load_model(tmp_path / f"model{suffix}")


def test_what_is_written_here_is_read(tmp_path: Path, saved: Any) -> None:
    # Else the refusals above could have another reason than the change.
    (tmp_path / "model.json").write_text(json.dumps(saved))
    (tmp_path / "model.ubj").write_bytes(ubj(saved))
    for suffix in (".json", ".ubj"):
        load_model(tmp_path / f"model{suffix}")


def test_entries_that_occur_twice_are_refused(tmp_path: Path, saved: Any) -> None:
    # Of two entries, XGBoost takes the first and Python the second.
    text = json.dumps(saved).replace('"left_children"', '"left_children": [9], "left_children"', 1)
    (tmp_path / "model.json").write_text(text)
    with refused(sd.DataError, "an entry that occurs twice"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{L\0\0\0\0\xff\xff\xff\xffa", "a length beyond its end"),
        (b"{L\xff\xff\xff\xff\xff\xff\xff\xffa", "a length beyond its end"),
        (b"{L\0\0\0\0\0\0\0\1a[$d#L\0\0\0\0\x7f\xff\xff\xff", "a length beyond its end"),
        (b"{L\0\0\0\0\0\0\0\1a[#L\0\0\0\0\x7f\xff\xff\xff", "a length beyond its end"),
        (b"{L\0\0\0\0\0\0\0\1a" + b"[" * 100, "too many levels"),
        (b"{L\0\0\0\0\0\0\0\1a[$Z#L\0\0\0\0\0\0\0\1", "no binary JSON of XGBoost"),
        (b"{L\0\0\0\0\0\0\0\1aH", "no binary JSON of XGBoost"),
        (b"{L\0\0\0\0\0\0\0\1aZ}x", "bytes after its end"),
        (b"{i\1aZ}", "no binary JSON of XGBoost"),
    ],
)
def test_lengths_of_binary_json_stay_in_the_file(tmp_path: Path, raw: bytes, words: str) -> None:
    (tmp_path / "model.ubj").write_bytes(raw)
    with refused(sd.DataError, words):
        load_model(tmp_path / "model.ubj")


def test_leaves_of_an_older_version_are_refused_if_xgboost_would_crash(tmp_path: Path) -> None:
    booster = fitted(np.stack([Y, -Y], axis=1), multi_strategy="multi_output_tree")
    document = json.loads(booster.save_raw("json"))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    if "leaf_weights" not in trees[0]:
        pytest.skip("this XGBoost is as old")
    for part in trees:
        del part["leaf_weights"]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with refused(sd.DataError, "leaves with several values as XGBoost before 3.2 stored them"):
        load_model(tmp_path / "model.json")


# --------------------------------------------------------------------------------------- mutations


def mutations(n: int, seed: int) -> list[tuple[str, bytes]]:
    """Return a valid file and n mutations of JSON and binary JSON of different kinds."""
    kinds = ("categories", "vector leaves", "multi:softprob", "dart", "linear", "pruned")
    documents = [json.loads(fitted(**VALID[kind]).save_raw("json")) for kind in kinds]
    rng = random.Random(seed)
    made = [(".json", json.dumps(documents[0]).encode())]
    for _ in range(n):
        document, kind = rng.choice(documents), rng.random()
        if kind < 0.1:
            made.append((".json", of_text(json.dumps(document), rng).encode()))
        elif kind < 0.3:
            suffix = rng.choice((".json", ".ubj"))
            raw = json.dumps(document).encode() if suffix == ".json" else ubj(document)
            made.append((suffix, of_bytes(raw, rng)))
        else:
            changed = of_json(document, rng)
            raw = json.dumps(changed).encode() if rng.random() < 0.5 else ubj(changed)
            made.append((".json" if raw[1:2] == b'"' else ".ubj", raw))
    return made


def test_a_hundred_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    found = outcomes(mutations(100, 0), tmp_path, 3)
    record_property("tried", counts(found))
    assert not faults(found)
    assert 10 < sum(said.startswith("predicted") for said in found) < 70


@pytest.mark.long
def test_thousands_of_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    found = outcomes(mutations(5000, 1), tmp_path, 3)
    record_property("tried", counts(found))
    assert not faults(found)
