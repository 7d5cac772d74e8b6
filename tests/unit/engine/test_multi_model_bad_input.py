"""Multi-model explanations: incompatible models, invalid folds, and unavailable intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit

import skedasis as sd
from tests.helpers import bent, linear, refused, table

X = table(60, 3)
Y = linear(X)
TWO = [linear, bent]


def explained(models: Any = TWO, **options: Any) -> Any:
    """Explain with a fast method."""
    return sd.explain(models, X, 0, **{"method": "ale", "refits": True, **options})


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([], ("no models",)),
        ([linear], ("got one model", "Pass the model itself")),
    ],
)
def test_fewer_than_two(models: Any, words: tuple[str, ...]) -> None:
    with refused(sd.DataError, *words):
        explained(models)


def test_a_model_that_fails_says_which() -> None:
    def broken(X: Any) -> Any:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError) as info:
        explained([linear, linear, broken])
    assert any("model 2 of the 3" in note for note in info.value.__notes__)


def test_different_columns() -> None:
    one, other = LinearRegression().fit(X, Y), LinearRegression().fit(X[:, :2], Y)
    with refused(sd.DataError, "columns", "2 of model 1"):
        explained([one, other])
    T = pd.DataFrame(X, columns=list("abc"))
    first, second = LinearRegression().fit(T, Y), LinearRegression().fit(T[list("cba")], Y)
    with refused(sd.DataError, "names"):
        sd.explain([first, second], T, "a", refits=True)


def test_different_classes_and_outputs() -> None:
    label = np.where(Y > 0, "p", "q")
    one = LogisticRegression().fit(X, label)
    other = LogisticRegression().fit(X, np.where(Y > 0, "p", "r"))
    with refused(sd.DataError, "classes"):
        explained([one, other])
    with refused(sd.DataError, "quantities"):
        explained([one, linear])
    with refused(sd.DataError, "quantities", "entropy"):
        explained([sd.entropy(one), sd.probability(one)])
    pair = sd.prediction(lambda X: np.c_[X[:, 0], X[:, 1]], output="all")
    three = sd.prediction(lambda X: X, output="all")
    with refused(sd.DataError, "outputs"):
        explained([pair, three])


def test_one_model_has_no_folds() -> None:
    with refused(sd.DataError, "cv", "one model", "[m1, m2, m3]"):
        sd.explain(linear, X, 0, cv=KFold(2))
    with refused(sd.DataError, "correction", "one model"):
        sd.explain(linear, X, 0, correction=0.5)


A, B = np.arange(30), np.arange(30, 60)


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ([A, B, B], ("3 folds for 2 models",)),
        ([A, []], ("no row in fold 1",)),
        ([A, B + 1], ("row 60 in fold 1", "0 to 59")),
        ([A, np.r_[B, B[:3]]], ("3 repeated rows in fold 1",)),
        ([(A, B), (B, A[:5]), (A, A)], ("30 test rows of fold 2",)),
        ([A, B.astype(float)], ("float64",)),
        (np.zeros(59, dtype=int), ("59 fold numbers", "60")),
        (5, ("got 5", "splitter")),
        (ShuffleSplit(2), ("different folds when called twice", "random_state")),
    ],
)
def test_folds_that_cannot_be(cv: Any, words: tuple[str, ...]) -> None:
    with refused(sd.DataError, "cv", *words):
        explained(cv=cv)


def test_folds_without_weight() -> None:
    w = np.r_[np.zeros(30), np.ones(30)]
    with refused(sd.DataError, "weight 0 in fold 0"):
        explained(cv=[A, B], sample_weight=w)


@pytest.mark.parametrize("correction", [-0.1, np.nan, "0.2"])
def test_corrections(correction: Any) -> None:
    with refused(sd.DataError, "correction", "non-negative number"):
        explained(correction=correction)


def test_forms_of_folds_that_are_the_same() -> None:
    mask = np.zeros(60, dtype=bool)
    mask[A] = True
    forms = [
        [A, B],
        (A, B),
        [A.tolist(), B.tolist()],
        [mask, ~mask],
        [(B, A), (A, B)],
        np.r_[np.zeros(30, int), np.ones(30, int)],
        np.r_[np.zeros(30, int), np.ones(30, int)].tolist(),
        pd.Series(np.r_[np.zeros(30, int), np.ones(30, int)]),
        KFold(2),
        iter([(B, A), (A, B)]),
    ]
    found = [explained(cv=cv) for cv in forms]
    for em in found[1:]:
        np.testing.assert_array_equal(em.values, found[0].values)
        assert em.correction == found[0].correction == pytest.approx(1.0)
        assert em.overlap == pytest.approx(0.0)


def test_rows_of_no_fold() -> None:
    numbers = np.arange(60) % 3 - 1
    em = explained(cv=numbers)
    np.testing.assert_array_equal(em.provenance["rows"], [20, 20])
    assert em.correction is None  # the training rows of the models are unknown


def test_the_correction_follows_from_the_training_rows() -> None:
    em = explained(cv=[(A[:20], B[:10]), (B, A[:15])])
    assert em.correction == pytest.approx((10 / 20 + 15 / 30) / 2)
    drawn = explained(cv=[(np.repeat(A[:20], 3), B[:10]), (np.repeat(B, 2), A[:15])])
    assert drawn.correction == em.correction  # a row counts once, even if drawn repeatedly
    assert explained(cv=[A, B], correction=0.3).correction == 0.3
    assert explained(cv=[A, B], correction=0).provenance["correction_chosen"] == "given"


def test_overlap_by_hand() -> None:
    trains = [np.array([0, 1, 2, 2]), np.array([2, 3, 4, 4]), np.array([0, 4, 5, 6])]
    em = explained([linear, bent, linear], cv=[(t, np.arange(20, 40)) for t in trains])
    counts = np.array([[list(t).count(i) for i in range(60)] for t in trains], dtype=float)
    unit = counts / np.linalg.norm(counts, axis=1)[:, None]
    by_hand = np.mean([unit[0] @ unit[1], unit[0] @ unit[2], unit[1] @ unit[2]])
    assert em.overlap == pytest.approx(by_hand)


def test_intervals_that_are_not_known() -> None:
    em = explained()
    with refused(sd.UnsupportedError, "interval(of='learner')", "correction="):
        em.interval(of="learner")
    with refused(sd.UnsupportedError, "interval(of='bound')", "(train, test)"):
        em.interval(of="bound")
    same = explained(cv=[(A, B), (A, B)])
    with refused(sd.UnsupportedError, "same rows"):
        same.interval(of="bound")
    with refused(sd.DataError, "interval(of)", "'models'"):
        em.interval(of="rows")
    for level in (1, 95):
        with refused(sd.DataError, "interval(confidence_level)"):
            em.interval(level)
    np.testing.assert_array_equal(em.interval(), em.interval(of="models"))


def test_intervals_by_hand() -> None:
    from scipy.stats import t

    em = explained([linear, bent, lambda X: 2 * linear(X)], cv=np.arange(60) % 3)
    s = np.std([e.value for e in em.models], axis=0, ddof=1)
    mean = np.mean([e.value for e in em.models], axis=0)
    there = em.reached == 3
    for of, share in (("models", 0.0), ("learner", 0.5), ("bound", 1.0)):
        lower, upper = em.interval(0.9, of=of)
        half = t.ppf(0.95, 2) * np.sqrt(1 / 3 + share) * s
        np.testing.assert_allclose(upper[there], (mean + half)[there])
        np.testing.assert_allclose(lower[there], (mean - half)[there])
    np.testing.assert_allclose(em.std_error[there], (np.sqrt(1 / 3 + 0.5) * s)[there])
