"""Text files of LightGBM with valid syntax and contents that LightGBM itself would crash on."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.models.files import load_model
from tests.helpers import refused
from tests.unit.hostile_files import Record, counts, faults, of_bytes, of_text, outcomes

lightgbm = pytest.importorskip("lightgbm")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
X[:, 1] = RNG.integers(0, 8, 200) * 6
Y = X[:, 0] + 9 * (X[:, 1] % 4 == 2)
CLASSES = np.digitize(Y, [-0.5, 0.5])
SMALL = {"verbose": -1, "num_leaves": 4, "min_data_in_leaf": 5, "num_threads": 1, "seed": 0}


def own_loss(scores: np.ndarray, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient and Hessian that make one class likelier."""
    return np.sign(scores + 0.1) + 0 * data.get_label()[0], np.ones_like(scores)


def fitted(categories: list[int] | None = None, y: np.ndarray = Y, **options: Any) -> Any:
    """Return a small booster."""
    group = [100, 100] if options.get("objective") in ("lambdarank", "rank_xendcg") else None
    data = lightgbm.Dataset(X, y, categorical_feature=categories or [], group=group)
    return lightgbm.train({**SMALL, **options}, data, 3)


VALID: dict[str, dict[str, Any]] = {
    **{
        name: {"objective": name} for name in ("regression_l1", "huber", "fair", "quantile", "mape")
    },
    **{name: {"objective": name, "y": np.exp(Y)} for name in ("poisson", "gamma", "tweedie")},
    **{
        name: {"objective": name, "y": (Y > 0).astype(int)}
        for name in ("binary", "cross_entropy", "cross_entropy_lambda")
    },
    **{
        name: {"objective": name, "num_class": 3, "y": CLASSES}
        for name in ("multiclass", "multiclassova")
    },
    "own, classes": {"objective": own_loss, "num_class": 3, "y": CLASSES},
    **{name: {"objective": name, "y": CLASSES} for name in ("lambdarank", "rank_xendcg")},
    "own": {"objective": own_loss},
    "square root": {"reg_sqrt": True},
    "dart": {"boosting": "dart"},
    "forest": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    "linear": {"linear_tree": True, "categories": None},
    "zero as missing": {"zero_as_missing": True},
    "none missing": {"use_missing": False},
    "monotone": {"monotone_constraints": [1, 0, 0], "categories": None},
    "no split": {"min_data_in_leaf": 300},
    "linear without split": {"min_data_in_leaf": 300, "linear_tree": True},
}


@pytest.mark.parametrize("kind", VALID, ids=str)
def test_files_of_every_kind_are_read(tmp_path: Path, kind: str) -> None:
    booster = fitted(**{"categories": [1], **VALID[kind]})
    booster.save_model(tmp_path / "model.txt")
    read: Any = load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(read.predict(X), booster.predict(X))


def test_names_of_columns_and_levels_are_free(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    f = pandas.DataFrame(X, columns=["a=b", "<script>", "日本\x1b2J"])
    f["<script>"] = pandas.Categorical(f["<script>"].astype(int).map("<b>{}\x07".format))
    booster = lightgbm.train(SMALL, lightgbm.Dataset(f, Y), 3)
    booster.save_model(tmp_path / "model.txt")
    read: Any = load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(read.predict(f), booster.predict(f))


# ---------------------------------------------------------------------------------- wrong contents


@pytest.fixture(scope="module")
def text() -> str:
    """Return the text of a model with numeric and categorical splits."""
    return fitted([1], max_cat_to_onehot=1, min_data_per_group=5, num_leaves=5).model_to_string()


def sized(text: str) -> str:
    """Return a text whose header states the lengths of its trees."""
    trees = text[: text.index("\nend of trees")].split("\nTree=")[1:]
    sizes = " ".join(str(len(tree.encode()) + 6) for tree in trees)
    return re.sub("tree_sizes=.*", f"tree_sizes={sizes}", text)


def line(key: str, rest: str) -> Any:
    """Return a change of the first line with a key."""
    return lambda text: re.sub(rf"(?m)^{key}=.*$", f"{key}={rest}", text, count=1)


WRONG: dict[str, tuple[Any, str]] = {
    "child beyond": (
        line("left_child", "1 3 100000000 -1"),
        "a node whose child is not a later node",
    ),
    "leaf beyond": (
        line("left_child", "1 3 -100000000 -1"),
        "a node whose child is not a later node",
    ),
    "circle": (
        line("left_child", "0 3 -2 -1"),
        "a node whose child is not a later node of its tree",
    ),
    "two parents": (line("left_child", "1 3 -3 -1"), "a node with two parents"),
    "overflow": (line("left_child", "1 3 4294967295 -1"), "a node whose child is not"),
    "column beyond": (line("split_feature", "1 99 0 0"), "split_feature outside of 0 to 2"),
    "column below": (line("split_feature", "1 -1 0 0"), "split_feature outside of 0 to 2"),
    "not integers": (line("split_feature", "1 a 0 0"), "split_feature that are no integers"),
    "too short": (line("left_child", "1 2"), "left_child of another length than its tree"),
    "values": (line("leaf_value", "1 2"), "leaf_value of another length than its tree"),
    "leaves": (line("num_leaves", "100000000"), "leaf_value of another length than its tree"),
    "no leaves": (line("num_leaves", "0"), "num_leaves outside of 1 to"),
    "leaves missing": (lambda t: t.replace("num_leaves=5\n", "", 1), "tree 0 has no num_leaves"),
    "not a number": (line("threshold", "0 nan 0 0"), "a threshold that is not a finite number"),
    "word": (line("split_gain", "1 [] 2 3"), "split_gain that is not a number"),
    "sign only": (line("internal_value", "1 - 2 3"), "internal_value that is not a number"),
    "set": (line("threshold", "1 0 0 0"), "the index of a set outside of 0 to 0"),
    "half": (line("threshold", "0.5 0 0 0"), "threshold that are no integers"),
    "space": (
        lambda t: re.sub(r"(?m)( \d)$(?=\nleft_child)", " ", t),
        "decision_type that are no integers",
    ),
    "bits": (line("decision_type", "1 127 2 2"), "decision_type outside of 0 to 11"),
    "no children": (
        lambda t: re.sub("right_child=.*\n", "", t, count=1),
        "a tree without right_child",
    ),
    "line": (line("shrinkage", "1\nfoo=1"), "the line 'foo=1' of tree 0"),
    "twice": (line("shrinkage", "1\nnum_cat=1"), "the line 'num_cat=1' of tree 0"),
    "gap": (line("shrinkage", "1\n\nfoo"), "tree 0 is not followed by the next one"),
    "no outputs": (line("num_tree_per_iteration", "0"), "num_tree_per_iteration='0' in its header"),
    "more outputs": (
        line("num_tree_per_iteration", "7"),
        "num_tree_per_iteration=7 and num_class=1",
    ),
    "many outputs": (
        lambda t: line("num_tree_per_iteration", "100000000")(line("num_class", "100000000")(t)),
        "3 trees for 100000000 outputs",
    ),
    "classes": (line("objective", "multiclass num_class:9"), "for 1 outputs"),
    "columns": (line("max_feature_idx", "100000000"), "3 feature_names for 100000001 columns"),
    "header twice": (line("num_class", "1\nnum_class=9"), "the line 'num_class=9' of its header"),
    "range": (line("feature_infos", "[0:1] 1:x none"), "the range '1:x' of a column"),
    "category": (line("feature_infos", "[0:1] 4294967296 none"), "the categories '4294967296'"),
    "set beyond": (lambda t: re.sub(r"num_cat=\d", "num_cat=100000000", t), "cat_boundaries"),
    "bounds": (line("cat_boundaries", "0 100000000"), "cat_threshold instead of 100000000"),
    "bounds below": (line("cat_boundaries", "5 2"), "cat_boundaries that do not increase from 0"),
    "words": (line("cat_threshold", "-1 2"), "cat_threshold"),
    "carriage return": (
        lambda t: t.replace("num_leaves", "\rnum_leaves", 1),
        "no text of LightGBM",
    ),
    "parameter": (lambda t: t.replace("[seed: ", "[seed"), "the parameter '[seed"),
    "no end": (lambda t: t.replace("end of parameters", ""), "its end is missing"),
    "no trees": (lambda t: re.sub(r"(?s)Tree=0.*(?=\nend of trees)", "", t), "no trees"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_contents_are_refused_before_lightgbm_sees_them(
    tmp_path: Path, text: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, words = WRONG[kind]
    changed = sized(change(text))
    assert changed != text
    (tmp_path / "model.txt").write_text(changed, newline="")
    monkeypatch.setattr(lightgbm, "Booster", None)
    with refused(sd.DataError, words, "cut off or not in LightGBM format"):
        load_model(tmp_path / "model.txt")


@pytest.mark.parametrize("levels", ["7", "[1]", "[[[]]]", "[" * 5000, "[[null]]", "{"])
def test_levels_that_are_no_lists_are_refused(tmp_path: Path, text: str, levels: str) -> None:
    head, key, _ = text.rpartition("pandas_categorical:")
    (tmp_path / "model.txt").write_text(f"{head}{key}{levels}\n")
    with refused(sd.DataError, "pandas_categorical"):
        load_model(tmp_path / "model.txt")


def test_linear_leaves_with_other_columns_are_refused(tmp_path: Path) -> None:
    text = fitted(linear_tree=True).model_to_string()
    second = text.index("Tree=1")
    for key, rest, words in (
        ("leaf_features", "0 0 9", "leaf_features outside of 0 to 2"),
        ("leaf_features", "0", "leaf_features of another length than num_features states"),
        ("num_features", "1 1 1 100000000", "num_features outside of 0 to 3"),
        ("leaf_coeff", "1 2 x", "leaf_coeff that is not a number"),
        ("leaf_coeff", "1 2 -1e400", "leaf_coeff that is too large or too small"),
        ("leaf_const", "1 2 1e-320 0", "leaf_const that is too large or too small"),
        ("leaf_const", "1 2 1e-400 0", "leaf_const that is too large or too small"),
    ):
        changed = sized(text[:second] + line(key, rest)(text[second:]))
        (tmp_path / "model.txt").write_text(changed)
        with refused(sd.DataError, words):
            load_model(tmp_path / "model.txt")


# --------------------------------------------------------------------------------------- mutations


def mutations(n: int, seed: int) -> list[tuple[str, bytes]]:
    """Return a valid file and n mutations of files with categories, linear leaves, classes, and of a forest."""
    models = (
        fitted([1], max_cat_to_onehot=1, min_data_per_group=5, num_leaves=5),
        fitted(linear_tree=True),
        fitted(objective="multiclass", num_class=3, y=CLASSES),
        fitted([1], boosting="rf", bagging_freq=1, bagging_fraction=0.5),
    )
    texts = [model.model_to_string() for model in models]
    rng = random.Random(seed)
    made = [(".txt", texts[0].encode())]
    for _ in range(n):
        text = rng.choice(texts)
        if rng.random() < 0.2:
            made.append((".txt", of_bytes(text.encode(), rng)))
            continue
        # Few of the parameters at the end are read; with other lengths of trees nothing else would be.
        stop = text.index("\nend of trees")
        changed = of_text(text[:stop], rng) + text[stop:]
        made.append((".txt", (sized(changed) if rng.random() < 0.8 else changed).encode()))
    return made


def test_a_hundred_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    found = outcomes(mutations(100, 0), tmp_path, 3)
    record_property("tried", counts(found))
    assert not faults(found)
    assert 10 < sum(said.startswith("predicted") for said in found) < 60


@pytest.mark.long
def test_thousands_of_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    found = outcomes(mutations(5000, 1), tmp_path, 3)
    record_property("tried", counts(found))
    assert not faults(found)
