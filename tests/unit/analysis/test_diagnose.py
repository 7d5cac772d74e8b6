"""`diagnose`: known verdicts, one pass over the model for both measures, and the result object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

import skedasis as sd
from skedasis.analysis.dependence import nothing
from skedasis.analysis.verdicts import verdicts
from skedasis.results.diagnosis import Diagnosis, Verdict, same_everywhere
from skedasis.results.importance import Importance, LocalImportance
from tests.helpers import Remembers, refused

QUICK = {"dependence": False, "progress": False}
NEUTRAL = np.sqrt(np.log(2) * 8 / 3)
"""Residuals of this size are as likely under a standard deviation of 1 as of 2: log 2 + r²/8 = r²/2."""


def designed(n: int = 1200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return an independent feature, two equal ones, an unused one, two equal ones without influence on y; and y."""
    rng = np.random.default_rng(seed)
    alone, agree, idle, noise = rng.normal(size=(4, n))
    X = np.stack([alone, agree, agree, idle, noise, noise], axis=1)
    return X, alone + 2 * agree + NEUTRAL * rng.normal(size=n)


def wary(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation; the latter is larger where features differ that are equal in the data."""
    mean = X[:, 0] + X[:, 1] + X[:, 2]
    return mean, np.where(X[:, 4] != X[:, 5], 2.0, 1.0) * (1 + abs(X[:, 1] - X[:, 2]) / 2)


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    X, y = designed()
    return sd.diagnose(wary, X, y, dependence_rows=300, progress=False)


def kinds(diagnosis: Diagnosis) -> list[str]:
    return [v.kind for v in diagnosis.verdicts]


# --------------------------------------------------------------------------- known verdicts


@pytest.mark.slow
def test_verdicts_of_a_design(found):
    assert kinds(found) == [
        "independent", "shared", "shared", "unused", "uninformative", "uninformative",
    ]  # fmt: skip
    assert found.partners == ((), ("x2",), ("x1",), (), ("x5",), ("x4",))
    assert np.abs(found.r2_others[[0, 3]] - 0).max() < 0.5
    np.testing.assert_allclose(found.r2_others[[1, 2, 4, 5]], 1, atol=0.05)
    # The label helps to predict x0, of which it is a function, but not the unused x3.
    assert found.r2_with_target[0] > found.r2_others[0] + 0.15
    assert abs(found.r2_with_target[3] - found.r2_others[3]) < 0.15


@pytest.mark.slow
def test_the_entropies_of_the_design_are_what_they_are_by_hand(found):
    X, _ = designed()
    # Differing values double the standard deviation, which adds log 2 to the entropy; almost all pairs differ.
    np.testing.assert_allclose(found.entropy.mean[4:], np.log(2), rtol=0.01)
    a = X[:, 1]
    pairs = np.log(1 + np.abs(a[:, None] - a[None, :]) / 2).mean()
    np.testing.assert_allclose(found.entropy.mean[1:3], pairs, rtol=0.05)
    np.testing.assert_array_equal(found.entropy.mean[[0, 3]], 0)
    np.testing.assert_array_equal(found.likelihood.mean[3], 0)


def test_sentences_say_the_numbers_and_whom_it_concerns(found):
    by = {v.feature: v for v in found.verdicts}
    assert by["x0"].text.startswith("It matters (Likelihood-PFI ")
    assert "and no other feature knows the same (Entropy-PFI " in by["x0"].text
    assert by["x0"].text.endswith("): its importance is right as it is.")
    assert f"{found.likelihood.mean[0]:.3g}" in by["x0"].text
    assert "barely" in by["x0"].text
    assert by["x1"].text.startswith("It matters more than its importance, Likelihood-PFI ")
    assert ", suggests: x2 knows the same (Entropy-PFI " in by["x1"].text
    assert "predict it well (R² 0.99)" in by["x1"].text
    assert "sd.PFI(groups={'together': ['x1', 'x2']})" in by["x1"].next
    assert by["x4"].text.startswith("The model does not need it (Likelihood-PFI ")
    assert "): x5 knows the same (Entropy-PFI 0.69" in by["x4"].text
    assert by["x4"].next == "Fit the model without it, but with x5, and compare on new rows."
    assert by["x3"].text == "The model does not use it."
    for verdict in found.verdicts:
        assert verdict.text.endswith(".")
        assert verdict.next.endswith(".")
        assert "nan" not in verdict.text + verdict.next


def test_it_prints_one_table_and_at_most_three_sentences(found):
    head, _, heads, *lines = str(found).splitlines()
    assert head.startswith("Diagnosis of 6 features on 1,200 rows. ")
    assert head.endswith("means over 10 repeats, in nats (95 % intervals)")
    assert heads.split("  ")[0] == "feature"
    assert [line.split()[0] for line in lines[:6]] == [f.feature for f in found.ranking()]
    assert "e−" not in lines[0]  # the entropies of x0 are 0 but for rounding
    said = lines[lines.index("") + 1 :]
    assert tuple(said) == (*found.summary, "", *found.notes)
    nowhere, shared = found.summary
    assert nowhere.startswith("No group of rows was confirmed in which the model is clearly less")
    assert shared.startswith("Shared: x1 and x2. They matter more than their importance suggests")
    assert shared.endswith("sd.PFI(groups={'together': ['x1', 'x2']}).")


def test_sentences_say_where_it_is_unsure_then_what_is_shared_then_what_to_leave_out(found):
    kind = {"x1": "misleading", "x4": "undecided", "x5": "undecided"}
    some = tuple(
        replace(v, kind=kind.get(v.feature, v.kind), next="Use more rows.") for v in found.verdicts
    )
    d = replace(found, verdicts=some, unsure="Unsure where a > 2.")
    assert d.summary == (
        "Unsure where a > 2.",
        (
            "Shared: x2. It matters more than its importance suggests, because other features know the same. Permute "
            "such features together: sd.PFI(groups={'together': ['x2', 'x1']})."
        ),
        "The model would predict better without x1.",
    )
    some = tuple(replace(v, kind=v.kind.replace("misleading", "unused")) for v in some)
    assert replace(d, verdicts=some).summary[2] == "Undecided: x4 and x5. Use more rows."


# ----------------------------------------------------------------------- cost in model calls


@pytest.mark.parametrize("repeats", [3, 10])
def test_both_come_from_one_pass_of_the_model(repeats):
    X, y = designed(n=150)
    model = Remembers(wary)
    d = sd.diagnose(model, X, y, n_repeats=repeats, **QUICK)
    asked = sum(len(rows) for rows in model.seen)
    assert d.provenance["effect_rows"] == 150 * (1 + repeats * 6)
    assert asked == d.provenance["model_rows"]
    assert d.provenance["check_rows"] <= 128


def test_it_is_pfi_of_both_quantities():
    X, y = designed(n=200)
    d = sd.diagnose(wary, X, y, n_repeats=4, random_state=3, **QUICK)
    for quantity, part in ((sd.nll(wary), d.likelihood), (sd.entropy(wary), d.entropy)):
        alone = sd.explain(quantity, X, y=y, method=sd.PFI(n_repeats=4), random_state=3)
        np.testing.assert_allclose(part.values, alone.values, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(part.std_error, alone.std_error, rtol=1e-9, atol=1e-15)
        assert part.axis == alone.axis
        assert part.unit == "nats"


# ------------------------------------------------------------------------------------- models


def test_a_model_of_one_uncertainty_is_told_apart():
    X, y = designed(n=300)
    d = sd.diagnose(lambda X: (X[:, 0] + X[:, 1], np.full(len(X), 1.5)), X, y, **QUICK)
    assert kinds(d) == ["informative", "informative", *["unused"] * 4]
    assert "entropy is constant" in d.notes[0]
    assert "know the same is open: the entropy is constant." in d.verdicts[0].text
    assert str(d).count("entropy is constant") == 1
    assert "No group of rows" not in str(d)


# -------------------------------------------------------------------------------- the result


def test_its_table_has_a_line_a_feature(found):
    frame = found.to_frame("pandas")
    assert frame["feature"].tolist() == list(found.features)
    assert frame["verdict"].tolist() == kinds(found)
    assert frame["partners"].tolist() == ["", "x2", "x1", "", "x5", "x4"]
    np.testing.assert_array_equal(frame["likelihood"], found.likelihood.mean)
    lower, upper = found.entropy.interval(0.95)
    np.testing.assert_array_equal(frame["entropy_lower"], lower)
    np.testing.assert_array_equal(frame["entropy_upper"], upper)
    np.testing.assert_array_equal(frame["r2_others"], found.r2_others)
    assert isinstance(found.to_frame("polars"), pl.DataFrame)


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_repeats": 2}, ["diagnose(n_repeats)", "2", "n_repeats=10"]),
        ({"confidence_level": 1}, ["diagnose(confidence_level)", "0.95"]),
        ({"dependence_rows": 5}, ["diagnose(dependence_rows)", "5"]),
    ],
)
def test_settings_that_mean_nothing(options, words):
    X, y = designed(n=30)
    model = Remembers(wary)
    with refused(sd.DataError, *words):
        sd.diagnose(model, X, y, progress=False, **options)
    assert model.seen == []


# -------------------------------------------------------------------- rules of the verdicts


def importance(means: list[float], error: float | list[float] = 0.01, **more: Any) -> Importance:
    """Return importances of ten repeats with given standard errors, a tenth of which is from the permutations."""
    means, errors = np.asarray(means, float), np.broadcast_to(error, len(means)).astype(float)
    spread = np.tile([1.0, -1.0], 5) * 0.3
    values = means[:, None] + errors[:, None] * spread
    names = tuple(f"f{k}" for k in range(len(means)))
    return Importance(
        names, values, errors, np.full(len(means), 50.0), 1.0, 500, unit="nats", **more
    )


def judged(
    likelihood: Importance, entropy: Importance, others: Any = None, **links: Any
) -> tuple[Verdict, ...]:
    found = replace(nothing(len(likelihood)), **links)
    if others is not None:
        found.others[:] = others
    return verdicts(likelihood, entropy, found, 0.95)


@pytest.mark.parametrize(
    ("likelihood", "entropy", "kind"),
    [
        (0.5, 0.5, "shared"),
        (0.5, 0.001, "independent"),
        (0.5, -0.5, "shared"),
        (0.0001, 0.5, "uninformative"),
        (0.0001, 0.0001, "no effect"),
        (0.0001, -0.5, "uninformative"),
        (-0.5, 0.5, "misleading"),
        (-0.5, 0.0001, "misleading"),
        (-0.5, -0.5, "misleading"),
    ],
)
def test_every_place_has_its_verdict(likelihood, entropy, kind):
    # The first feature defines the scale: the other is judged relative to it.
    first, judgement = judged(importance([1.0, likelihood]), importance([1.0, entropy]))
    assert first.kind == "shared"
    assert judgement.kind == kind
    assert judgement.feature == "f1"


def test_zero_is_zero_up_to_rounding_only():
    for tiny, kind in ((0.0, "unused"), (1e-14, "unused"), (1e-6, "little effect")):
        last = judged(importance([1, tiny], [0.01, 0]), importance([1, tiny], [0.01, 0]))[1]
        assert last.kind == kind


def test_with_many_rows_what_is_small_stays_small():
    last = judged(importance([1, 0.009], 1e-4), importance([1, 0.009], 1e-4))[1]
    assert last.kind == "little effect"
    assert last.text.count(", small beside the largest") == 2
    assert judged(importance([1, 0.02], 1e-4), importance([1, 0.02], 1e-4))[1].kind == "shared"
    some = importance([0.1, 0.006], 1e-4)
    assert judged(some, some)[1].kind == "shared"  # 6 % of the largest
    # 1e-5 nats are negligible, even without a larger importance to compare with.
    nothing_much = judged(importance([1e-5], 1e-7), importance([1e-5], 1e-7))[0]
    assert nothing_much.kind == "little effect"
    assert "below 0.0001 nats" in nothing_much.text


def test_one_strong_feature_does_not_hide_the_others():
    alone = judged(importance([0.83, 0.3], 0.01), importance([0.83, 0.113], 0.003))
    beside = judged(importance([0.83, 0.3, 500], 0.01), importance([0.83, 0.113, 3.19], 0.003))
    assert [v.kind for v in alone] == ["shared", "shared"]
    assert beside[:2] == alone


def test_what_is_told_from_0_is_not_advised_to_be_left_out():
    likelihood = importance([1, 0.03, 0.009, 0.0, -0.009], [0.01, 0.002, 0.001, 0.001, 0.001])
    found = judged(likelihood, importance([1] * 5))
    assert [v.kind for v in found] == [*["shared"] * 3, *["uninformative"] * 2]
    assert ["without it" in v.next for v in found] == [False] * 3 + [True] * 2
    assert "Likelihood-PFI 0.009, 0.00699 to 0.011, small beside the largest" in found[2].text


@pytest.mark.slow
def test_at_rows_it_was_trained_on_a_forest_is_asked_about_that():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0).fit(X, y)
    d = sd.diagnose(forest, X, y, progress=False)
    assert (d.entropy.interval()[0] > 0).any()
    for verdict, low in zip(d.verdicts, d.entropy.interval()[0], strict=True):
        assert verdict.kind != "shared"
        assert "sd.PFI(groups" not in verdict.next
        if low > 0.1:
            assert "trained on" in verdict.next
    noise = d.verdicts[3]
    assert noise.kind == "informative"
    assert "but the forests find none: the others predict it barely" in noise.text


def test_an_interval_that_reaches_far_decides_nothing_whatever_the_others():
    huge, calm = importance([2.2e6, 136_800], [1e4, 135_000]), importance([1.0, 0.5])
    assert judged(huge, calm)[1].kind == "undecided"
    assert "136,800, −134,355 to 407,955; Entropy-PFI 0.5" in judged(huge, calm)[1].text
    unsure = judged(importance([1.0, 0.0]), huge)[1]
    assert unsure.kind == "undecided"
    assert unsure.text.startswith("Too few rows to tell (Entropy-PFI")
    assert judged(importance([1.0, 0.5]), huge)[1].kind == "informative"


def test_what_is_hardly_known_is_not_called_nothing():
    wide = judged(importance([1, 0.1], [0.01, 0.2]), importance([1, 0.5]))[1]
    assert wide.kind == "undecided"
    assert wide.next == "Use more rows."
    unsure = judged(importance([1, 1]), importance([1, 0.1], [0.01, 0.2]))[1]
    assert unsure.kind == "informative"
    assert "is open: too few rows (Entropy-PFI 0.1" in unsure.text
    # This is small compared with the feature's likelihood importance, whatever the entropies of the others.
    assert (
        judged(importance([1, 1]), importance([0.1, 0.01], [0.01, 0.02]))[1].kind == "independent"
    )


def test_a_forest_may_contradict_or_support():
    likelihood, entropy = importance([1, 1]), importance([1, 0.0001])
    told = judged(likelihood, entropy, [0.9, 0.9])[1]
    assert told.kind == "informative"
    assert "but the others predict it well (R² 0.90)." in told.text
    part = judged(likelihood, entropy, [0.9, 0.3])[1]
    assert part.kind == "informative"
    assert "but the others predict it partly (R² 0.30)" in part.text
    lone = judged(likelihood, entropy, [0.9, 0.01])[1]
    assert lone.kind == "independent"
    assert "the others predict it barely" in lone.text
    assert "is right as it is" in lone.text
    helper = {"partners": (("f1",), ("f0",))}
    helps = judged(likelihood, entropy, [0.9, 0.01], **helper)[1]
    assert helps.kind == "informative"
    assert "but it helps to predict f0" in helps.text
    unknown = judged(likelihood, entropy)[1]
    assert unknown.kind == "independent"
    assert "R²" not in unknown.text
    assert "is right as it is" not in unknown.text
    assert "unknown" in unknown.text


def test_entropy_that_forests_do_not_support_is_asked_about():
    lone = judged(importance([1, 1]), importance([1, 0.5]), [0.01, 0.01])[1]
    assert lone.kind == "informative"
    assert "but the forests find none: the others predict it barely (R² 0.01)." in lone.text
    assert "trained on" in lone.next
    none = judged(importance([1, 0.0]), importance([1, 0.5]), [0.01, 0.01])[1]
    assert none.kind == "uninformative"
    assert "trained on" in none.next
    for r2, links in ((0.1, {}), (0.01, {"partners": (("f1",), ("f0",))}), (np.nan, {})):
        linked = judged(importance([1, 1]), importance([1, 0.5]), [0.9, r2], **links)[1]
        assert linked.kind == "shared"
        assert ("sd.PFI(groups={'together': ['f1', 'f0']})" in linked.next) == bool(links)


def test_what_predicts_another_is_not_independent_either():
    likelihood, entropy = importance([1, 1]), importance([1, 0.0001])
    links = {"partners": (("f1",), ("f0",)), "predicts": (("", np.nan), ("f0", 0.8))}
    square = judged(likelihood, entropy, [0.8, -0.1], **links)[1]
    assert square.kind == "informative"
    assert "predict it barely (R² −0.10), but it predicts f0 (R² 0.80)" in square.text
    assert "['f1', 'f0']" in square.next
    shared = judged(likelihood, importance([1, 1]), [0.8, -0.1], **links)[1]
    assert shared.kind == "shared"
    assert (
        "; the others predict it barely (R² −0.10), but it predicts f0 (R² 0.80))." in shared.text
    )


def test_little_entropy_is_believed_where_forests_find_a_link():
    likelihood, entropy = importance([1, 1], 1e-3), importance([1, 0.09], 1e-3)
    assert judged(likelihood, entropy)[1].kind == "shared"
    assert judged(likelihood, entropy, [0.3, 0.3], partners=(("f1",), ("f0",)))[1].kind == "shared"
    lone = judged(likelihood, entropy, [0.01, 0.01])[1]
    assert lone.kind == "independent"
    assert ", small beside the largest" in lone.text
    # From a tenth of a nat, or from a fifth of the largest, an importance is never small.
    for much in (importance([5, 0.15], 1e-3), importance([0.3, 0.07], 1e-3)):
        assert judged(likelihood, much, [0.01, 0.01])[1].kind == "informative"


def test_the_level_decides():
    likelihood, entropy = importance([1, 1]), importance([1, 0.25], [0.01, 0.11])
    found = nothing(2)
    assert verdicts(likelihood, entropy, found, 0.95)[1].kind == "shared"
    assert verdicts(likelihood, entropy, found, 0.99)[1].kind == "informative"


def test_the_same_everywhere_means_all_rows():
    own = np.zeros(8)
    after = np.zeros((1, 8, 10))
    still = LocalImportance(("f0",), np.arange(8), own, after)
    assert same_everywhere(importance([0.0], 0.0, local=still))
    assert same_everywhere(importance([0.0], 0.0))
    moving = LocalImportance(("f0",), np.arange(8), np.arange(8.0), after + np.arange(8.0)[:, None])
    assert not same_everywhere(importance([0.0], 0.0, local=moving))
    assert not same_everywhere(importance([0.1], 0.0, local=still))
