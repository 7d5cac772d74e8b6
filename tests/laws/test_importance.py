"""Laws of PFI, on random models and data, in all its variants."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from skedasis.engine import prepare
from tests.laws.strategies import CONTINUOUS, EXACT, Smooth, cases, changed, identical, law, near


def squared(y, values):
    """Return the squared error of each row: the loss, and the term that the metric averages."""
    return (y - values) ** 2


def mean_squared(y, values, sample_weight=None):
    return np.average(squared(y, values), weights=sample_weight)


@dataclass(frozen=True)
class Form:
    """Settings of PFI, and the properties of them that the laws depend on."""

    settings: dict[str, Any] = field(default_factory=dict)
    labelled: bool = False
    drawn: bool = True
    means: bool = True
    """Whether the importance is a mean over rows."""


FORMS = {
    "draws": Form({"n_repeats": 7}),
    "many-draws": Form({"n_repeats": 23}),
    "loss": Form({"n_repeats": 5}, labelled=True),
    "conditional": Form({"n_repeats": 5, "conditional": True, "subgroup_rows": 6}, labelled=True),
    "metric": Form(
        {"n_repeats": 4, "metric": mean_squared, "greater_is_better": False}, means=False
    ),
    "exact": Form({"exact": True}, drawn=False),
}


def forms(wanted=lambda form: True):
    """Draw one of the forms that satisfy `wanted`."""
    return st.sampled_from([form for form in FORMS.values() if wanted(form)])


def labels_of(case):
    """Return labels that depend on the row's values only, so that equal rows have equal labels."""
    return np.cos(3 * case.X[:, 0]) + case.X[:, 1]


def importance_of(case, form, model=None, y=None, features=None, **options):
    """Return the importances of a case for a variant of PFI."""
    model = case.model if model is None else model
    quantity = sd.loss(model, squared) if form.labelled else model
    options = {"sample_weight": case.weights, "progress": False, **options}
    method = sd.PFI(**{"local": "all", **form.settings, **options.pop("settings", {})})
    if not form.labelled and form.means:
        y = None
    elif y is None:
        y = labels_of(case)
    return sd.explain(quantity, case.X, features, method=method, y=y, **options)


def size_of(case, form, model=None, y=None):
    """Return the size to which rounding errors are proportional: a bound of the quantity for any mix of the columns.

    The terms of a smooth model are bounded by the largest values of its columns, in any row.
    """
    model = case.model if model is None else model
    u = [(np.abs(case.X[:, j] - model.shift) / model.unit).max() for j in model.columns]
    v = u[1:] + u[:1]
    terms = zip(model.linear, model.product, model.wave, u, v, strict=True)
    value = sum(abs(a) * s + abs(b) * s * t + abs(c) for a, b, c, s, t in terms)
    value = abs(model.size) * value + abs(model.lift)
    y = labels_of(case) if y is None else y
    return value if not form.labelled and form.means else (value + np.abs(y).max()) ** 2


def assert_same(got, want, size, *, errors=True, rows=True):
    """Assert that two importances are the same, up to rounding that is proportional to the quantity's size."""
    assert got.features == want.features
    near(got.values, want.values, EXACT * size, "values")
    near(got.baseline, want.baseline, EXACT * size, "baseline")
    if errors:
        # A variance is rounded relative to its squares; the root of a variance near zero is larger than its rounding.
        near(got.std_error**2, want.std_error**2, EXACT * size**2, "std_error")
        near(got.df, want.df, 1e-9 * want.df.max(), "df")
    if rows:
        near(got.local.before, want.local.before, EXACT * size, "before")
        near(got.local.after, want.local.after, EXACT * size, "after")


# ---------------------------------------------------------------------- batches, threads and calls


@law(
    form=forms(),
    case=cases(),
    memory=st.sampled_from([200, 2_000, 9_000]),
    rows=st.sampled_from([7, 64, 500]),
)
def test_how_the_work_is_cut_does_not_matter(form, case, memory, rows):
    whole = importance_of(case, form)
    pieces = importance_of(case, form, memory=memory)
    assert memory > 2_000 or pieces.provenance["effect_calls"] > whole.provenance["effect_calls"]
    assert pieces.provenance["effect_rows"] == whole.provenance["effect_rows"]
    assert_same(pieces, whole, size_of(case, form))
    identical(importance_of(case, form, memory=memory, n_jobs=3), pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "CALL_ROWS", rows)
        assert_same(importance_of(case, form), whole, size_of(case, form))


@law(form=forms(), case=cases())
def test_features_together_are_features_one_by_one(form, case):
    together = importance_of(case, form)
    for j, name in enumerate(together.features):
        alone = importance_of(case, form, features=[j])
        assert alone.features == (name,)
        np.testing.assert_array_equal(alone.values[0], together.values[j])
        np.testing.assert_array_equal(alone.local[name], together.local[name])


# ------------------------------------------------------------------------------------ the rows


@law(form=forms(), case=cases(kinds=CONTINUOUS), text=st.booleans())
def test_with_row_id_the_order_of_rows_does_not_matter(form, case, text):
    n = len(case.X)
    known = case.rng.permutation(10 * n)[:n]
    known = np.array([f"id-{k:04}" for k in known]) if text else known
    order = case.rng.permutation(n)
    weights = None if case.weights is None else case.weights[order]
    shuffled = changed(case, X=case.X[order], weights=weights)
    want = importance_of(case, form, row_id=known)
    got = importance_of(shuffled, form, row_id=known[order])
    assert_same(got, want, size_of(case, form), rows=False)
    near(got.local.before, want.local.before[order], EXACT * size_of(case, form), "before")
    near(got.local.after, want.local.after[:, order], EXACT * size_of(case, form), "after")


@law(case=cases(rows=(30, 60)))
def test_with_row_id_samples_are_of_the_same_rows(case):
    n = len(case.X)
    order, known = case.rng.permutation(n), case.rng.permutation(n)
    form = Form({"n_repeats": 4, "max_samples": 0.5, "local": 9})
    weights = None if case.weights is None else case.weights[order]
    shuffled = changed(case, X=case.X[order], weights=weights)
    want = importance_of(case, form, row_id=known)
    got = importance_of(shuffled, form, row_id=known[order])
    assert_same(got, want, size_of(case, form), rows=False)
    assert set(order[got.local.row]) == set(want.local.row)


@law(form=forms(), case=cases(weights=("none",)), weight=st.sampled_from([2.0, 0.3, 1e6]))
def test_rows_of_equal_weight_are_rows_without_weight(form, case, weight):
    if form.settings.get("conditional"):
        return  # conditional PFI draws arcs of equal length from random points: other draws
    want = importance_of(case, form)
    got = importance_of(case, form, sample_weight=np.full(len(case.X), weight))
    assert_same(got, want, size_of(case, form), errors=False)


@law(case=cases(weights=("whole",)))
def test_of_all_pairs_whole_weights_are_repetitions(case):
    repeats = case.weights.astype(int)
    repeated = changed(case, X=np.repeat(case.X, repeats, axis=0), weights=None)
    form = FORMS["exact"]
    want, got = importance_of(repeated, form), importance_of(case, form)
    assert_same(got, want, size_of(case, form), rows=False)
    first = np.cumsum(repeats) - repeats
    near(got.local.after, want.local.after[:, first], EXACT * size_of(case, form), "after")


@law(form=forms(), case=cases(weights=("whole", "fractional")))
def test_weight_zero_is_absence(form, case):
    absent = case.rng.random(len(case.X)) < 0.3
    absent[0] = True
    X, y = case.X.copy(), labels_of(case)
    X[absent], y[absent] = 1e6, 1e6
    X[0] = np.nan  # a row of weight zero may hold any value
    with_zeros = changed(case, X=X, weights=np.where(absent, 0.0, case.weights))
    without = changed(case, X=case.X[~absent], weights=case.weights[~absent])
    got = importance_of(with_zeros, form, y=y)
    want = importance_of(without, form)
    assert_same(got, want, size_of(without, form))
    np.testing.assert_array_equal(got.local.row, np.flatnonzero(~absent))
    assert got.rows == len(without.X)


# --------------------------------------------------------------------------------- the columns


@law(form=forms(), case=cases(kinds=CONTINUOUS))
def test_permuting_columns_permutes_results(form, case):
    order = case.rng.permutation(case.X.shape[1])
    place = {int(old): new for new, old in enumerate(order)}
    model = replace(case.model, columns=tuple(place[j] for j in case.model.columns))
    permuted = changed(case, X=np.ascontiguousarray(case.X[:, order]), model=model)
    want = importance_of(case, form)
    got = importance_of(permuted, form, y=labels_of(case))
    size = size_of(case, form)
    near(got.values, want.values[order], EXACT * size, "values")
    near(got.std_error**2, want.std_error[order] ** 2, EXACT * size**2, "std_error")
    near(got.local.after, want.local.after[order], EXACT * size, "after")


@law(form=forms(), case=cases())
def test_groups_of_one_are_no_groups(form, case):
    names = [f"x{j}" for j in range(case.X.shape[1])]
    want = importance_of(case, form)
    for settings, options in (
        ({"groups": {f"the {n}": [n] for n in names}}, {}),
        ({}, {"groups": {f"the {n}": [n] for n in names}}),
        ({"groups": {"the x0": [0]}}, {"groups": {f"the {n}": [n] for n in names[1:]}}),
    ):
        got = importance_of(case, form, settings=settings, **options)
        assert got.features == tuple(f"the {n}" for n in names)
        for name in ("values", "std_error", "df"):
            np.testing.assert_array_equal(getattr(got, name), getattr(want, name), err_msg=name)


def assert_same_feature(got, want, name):
    """Assert that a feature's importance is bitwise the same in two results."""
    i, j = got.features.index(name), want.features.index(name)
    for field_ in ("values", "std_error", "df"):
        one, two = getattr(got, field_)[i], getattr(want, field_)[j]
        np.testing.assert_array_equal(one, two, err_msg=f"{field_} of {name}")
    for field_ in ("row", "before"):
        np.testing.assert_array_equal(getattr(got.local, field_), getattr(want.local, field_))
    np.testing.assert_array_equal(got.local.after[i], want.local.after[j])
    assert got.baseline == want.baseline


@law(form=forms(), case=cases())
def test_a_group_has_its_own_importance_whatever_other_groups_share_its_columns(form, case):
    d = case.X.shape[1]
    groups = {
        "first two": [0, 1],
        "x0": [0],
        "ends": [0, d - 1],
        "all": list(range(d)),
        "again": [1, 0],
    }
    got = importance_of(case, form, settings={"groups": groups})
    # All begin with the first column, and no column is outside the groups.
    assert got.features == tuple(groups)
    for name, columns in groups.items():
        alone = importance_of(case, form, settings={"groups": {name: columns}})
        assert_same_feature(got, alone, name)
    assert_same_feature(got, importance_of(case, form), "x0")
    # Equal groups differ by name alone.
    np.testing.assert_array_equal(got.values[0], got.values[4])


@law(form=forms(), case=cases())
def test_an_unused_feature_is_exactly_zero(form, case):
    pf = importance_of(case, form)
    for j in case.unused:
        np.testing.assert_array_equal(pf.values[j], 0.0)
        np.testing.assert_array_equal(pf.local.difference[j], 0.0)
        assert pf.std_error[j] == 0
        assert pf.interval(0.95)[0][j] == pf.interval(0.95)[1][j] == 0


@law(form=forms(), case=cases(), value=st.sampled_from([0.0, -1e9, 1e-9]))
def test_a_constant_feature_is_exactly_zero(form, case, value):
    X = case.X.copy()
    X[:, 0] = value
    pf = importance_of(changed(case, X=X), form)
    np.testing.assert_array_equal(pf.values[0], 0.0)


# ------------------------------------------------------------------------------------- the model


@law(form=st.sampled_from([FORMS["draws"], FORMS["exact"]]), case=cases())
def test_importances_add_up(form, case):
    other = Smooth(*case.rng.normal(size=(3, 2)), columns=(0, 1))
    first, second = importance_of(case, form), importance_of(case, form, model=other)
    both = importance_of(case, form, model=lambda X: case.model(X) + other(X))
    size = size_of(case, form) + size_of(case, form, other)
    near(both.values, first.values + second.values, EXACT * size, "values")
    near(both.local.after, first.local.after + second.local.after, EXACT * size, "after")


@law(
    form=forms(lambda form: form.means),
    case=cases(),
    c=st.sampled_from([1e-12, -1.0, 3.0, 1e12]),
    d=st.sampled_from([0.0, 1e3, -1e-3]),
)
def test_units_and_offsets_of_the_quantity_only_scale_results(form, case, c, d):
    """A quantity with opposite sign has the opposite importances: nothing is clipped."""
    want = importance_of(case, form)
    y = labels_of(case)
    model = replace(case.model, size=c, lift=d)
    if (
        form.labelled
    ):  # squared errors scale with c², and an offset of labels and predictions cancels
        got = importance_of(case, form, model=model, y=c * y + d)
        scale, lift, size = c**2, 0.0, size_of(case, form, model, c * y + d)
    else:
        got, scale, lift = importance_of(case, form, model=model), c, d
        size = size_of(case, form, model)
    near(got.values, scale * want.values, EXACT * size, "values")
    near(got.std_error**2, (scale * want.std_error) ** 2, EXACT * size**2, "std_error")
    near(got.local.difference, scale * want.local.difference, EXACT * size, "difference")
    near(got.baseline, scale * want.baseline + lift, EXACT * size, "baseline")


@law(
    form=st.sampled_from([FORMS["draws"], FORMS["exact"]]),
    case=cases(kinds=CONTINUOUS),
    a=st.sampled_from([2.0**-40, -3.0, 1e9]),
    b=st.sampled_from([0.0, 1e3]),
)
def test_units_of_features_do_not_matter(form, case, a, b):
    b = b * a  # an offset of a thousand units
    X = np.round(case.X * 2**20) / 2**20
    moved = changed(case, X=X * a + b, model=replace(case.model, shift=b, unit=a))
    want = importance_of(changed(case, X=X), form)
    got = importance_of(moved, form, y=labels_of(case))
    near(got.values, want.values, 1e-9 * size_of(case, form), "values")


@law(case=cases())
def test_several_outputs_are_the_outputs_one_by_one(case):
    other = Smooth(*case.rng.normal(size=(3, 2)), columns=(0, 1))

    def both(X):
        return np.stack([case.model(X), other(X)], axis=1)

    for form in (FORMS["draws"], FORMS["exact"]):
        found = importance_of(case, form, model=sd.prediction(both, output="all"), memory=20_000)
        assert list(found) == [0, 1]
        for k, model in enumerate((case.model, other)):
            alone = importance_of(case, form, model=model, memory=20_000)
            assert_same(found[k], alone, size_of(case, form, model))
            assert found[k].provenance["effect_rows"] == alone.provenance["effect_rows"]


# ------------------------------------------------------------------------------------ the result


@law(form=forms(lambda form: form.means), case=cases())
def test_single_rows_average_to_the_importance(form, case):
    pf = importance_of(case, form)
    n = len(case.X)
    assert pf.local.exact
    np.testing.assert_array_equal(pf.local.row, np.arange(n))
    size = size_of(case, form)
    if form.drawn and (case.weights is not None or form.settings.get("conditional")):
        return  # the fraction of pairs of a row with itself differs between rows
    # The donor of each row is another row, so the one pair in n of a row with itself has to be counted here.
    others = 1 - 1 / n if form.drawn else 1
    means = np.average(pf.local.difference, axis=1, weights=case.weights)
    near(others * means, pf.mean, EXACT * size, "mean")
    if form.drawn:
        each = (pf.local.after - pf.local.before[:, None]).mean(axis=1)
        near(others * each, pf.values, EXACT * size, "values")
    near(np.average(pf.local.before, weights=case.weights), pf.baseline, EXACT * size, "baseline")


@law(form=forms(), case=cases(), local=st.sampled_from([0, 1, 10]))
def test_keeping_fewer_rows_changes_nothing_else(form, case, local):
    want = importance_of(case, form)
    got = importance_of(case, form, settings={"local": local})
    np.testing.assert_array_equal(got.values, want.values)
    np.testing.assert_array_equal(got.std_error, want.std_error)
    if local == 0:
        assert got.local is None
        return
    rows = got.local.row
    assert len(np.unique(rows)) == local
    np.testing.assert_array_equal(got.local.before, want.local.before[rows])
    np.testing.assert_array_equal(got.local.after, want.local.after[:, rows])
    assert not got.local.exact


@law(form=forms(), case=cases())
def test_save_and_load_are_identities(form, case):
    pf = importance_of(case, form, settings={"local": 12})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pf.npz"
        pf.save(path)
        again = sd.load(path)
    identical(again, pf)
    assert again.features == pf.features
    assert again.provenance == pf.provenance
    assert (again.rows, again.method, again.metric) == (pf.rows, pf.method, pf.metric)
    assert (again.local.exact, again.axis) == (pf.local.exact, pf.axis)
    if case.weights is not None:
        np.testing.assert_array_equal(again.local.weight, pf.local.weight)
    np.testing.assert_array_equal(again.interval(0.9), pf.interval(0.9))
