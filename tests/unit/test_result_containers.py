"""`Surfaces`, `MultiOutput` and the other results that contain results: lookup, tables, provenance, saving."""

from __future__ import annotations

import pickle
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.containers import key_column, shared_entries
from skedasis.results.effects import Rank
from skedasis.results.multi_output import OutputRank
from skedasis.results.surfaces import SurfaceRank
from tests.helpers import refused

ROWS = 120
RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(RNG.uniform(-1, 1, size=(ROWS, 3)), columns=["age", "bmi", "cost"])
MOVES = {"older": {"age": 1}, "both": {"age": 1, "bmi": "x2"}, "of 0": {"age": "0"}}
PAIRS = [("age", "bmi"), ("bmi", "cost"), ("age", "cost")]


def targets(X):
    """Return two columns: an additive function, and a strong interaction."""
    X = np.asarray(X, dtype=float)
    return np.column_stack([X[:, 0] + X[:, 2], 5 * X[:, 0] * X[:, 1] + X[:, 1]])


class Classes:
    """A classifier with given classes, each with a probability of its own."""

    def __init__(self, *classes):
        self.classes_ = np.empty(len(classes), dtype=object)
        self.classes_[:] = classes

    def predict_proba(self, X):
        X = np.asarray(X, dtype=float)
        scores = np.column_stack([k * X[:, 0] for k in range(len(self.classes_))])
        p = np.exp(scores)
        return p / p.sum(axis=1, keepdims=True)


BOTH = sd.prediction(targets, output="all")
OPTIONS = {"method": sd.ALE(bins=4), "progress": False, "heterogeneity_rows": 40}


@cache
def made(name: str):
    """Return one container of each kind."""
    models = [lambda X, k=k: k * targets(X)[:, 1] for k in (1.0, 2.0)]
    every = [sd.prediction(lambda X, k=k: k * targets(X), output="all") for k in (1.0, 2.0)]
    what = {
        "effects": lambda: sd.explain(BOTH, TABLE, **OPTIONS),
        "effect": lambda: sd.explain(BOTH, TABLE, "age", **OPTIONS),
        "surface": lambda: sd.explain(BOTH, TABLE, ("age", "bmi"), **OPTIONS),
        "surfaces of outputs": lambda: sd.explain(BOTH, TABLE, PAIRS, **OPTIONS),
        "surfaces": lambda: sd.explain(lambda X: targets(X)[:, 1], TABLE, PAIRS, **OPTIONS),
        "importance": lambda: sd.explain(BOTH, TABLE, method=sd.PFI(3), progress=False),
        "regions": lambda: sd.explain(BOTH, TABLE, "age", by="cost", **OPTIONS),
        "regions of features": lambda: sd.explain(BOTH, TABLE, by="cost", **OPTIONS),
        "interactions": lambda: sd.interactions(BOTH, TABLE, ale=False, progress=False),
        "ledger": lambda: sd.ledger(BOTH, TABLE, regions={}, progress=False),
        "changes": lambda: sd.change(lambda X: targets(X)[:, 1], TABLE, MOVES, by="cost"),
        "change": lambda: sd.change(BOTH, TABLE, {"age": 1}),
        "changes of outputs": lambda: sd.change(BOTH, TABLE, MOVES, by="cost"),
        "surfaces of models": lambda: sd.explain(models, TABLE, PAIRS, **OPTIONS),
        "effect of models": lambda: sd.explain(every, TABLE, "age", **OPTIONS),
        "effects of models": lambda: sd.explain(every, TABLE, **OPTIONS),
        "surface of models": lambda: sd.explain(every, TABLE, ("age", "bmi"), **OPTIONS),
        "surfaces of models and outputs": lambda: sd.explain(every, TABLE, PAIRS, **OPTIONS),
        "importance of models": lambda: sd.explain(every, TABLE, method="pfi", progress=False),
        "regions of models": lambda: sd.regions(models, TABLE, **OPTIONS),
    }
    return what[name]()


OUTPUTS = [
    *("effect", "effects", "surface", "surfaces of outputs", "importance", "regions"),
    *("regions of features", "interactions", "ledger", "effect of models", "effects of models"),
    *("surface of models", "surfaces of models and outputs", "importance of models"),
    *("change", "changes of outputs"),
]
SURFACES = ["surfaces", "surfaces of models"]
ALL = [*OUTPUTS, *SURFACES, "changes", "regions of models"]


def message_of(kind, call, *args, **keywords):
    """Return the message of the error that a call raises, which has the common format."""
    with refused(kind) as info:
        call(*args, **keywords)
    return str(info.value)


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("name", ALL)
def test_the_frame_is_that_of_the_members_one_below_the_other(name):
    found = made(name)
    frame = found.to_frame("pandas", of="regions") if name == "regions of models" else None
    frame = found.to_frame("pandas") if frame is None else frame
    keys = ["feature0", "feature1"] if name in SURFACES else ["output"]
    keys = ["name"] if name == "changes" else keys
    if name == "regions of models":
        keys = ["of"]
    assert list(frame.columns)[: len(keys)] == keys
    start = 0
    for key, member in found.items():
        one = member.to_frame("pandas")
        if name == "regions of models":
            one = member.to_frame("pandas", of="regions")
        part = frame.iloc[start : start + len(one)].reset_index(drop=True)
        start += len(one)
        named = list(key) if isinstance(key, tuple) else [key]
        assert part[keys].to_numpy().tolist() == [named] * len(one)
        pd.testing.assert_frame_equal(part[list(one.columns)], one, check_dtype=False)
    assert start == len(frame)


@pytest.mark.many
@pytest.mark.parametrize("name", ALL)
def test_saving_is_an_identity(name, tmp_path):
    found = made(name)
    found.save(tmp_path / "found.npz")
    again = sd.load(tmp_path / "found.npz")
    assert type(again) is type(found)
    assert list(again) == list(found)
    assert again.provenance == found.provenance
    pd.testing.assert_frame_equal(again.to_frame("pandas"), found.to_frame("pandas"))
    assert str(again) == str(found)


@pytest.mark.parametrize("name", ALL)
def test_the_provenance_has_what_all_members_share(name):
    found = made(name)
    members = list(found.values())
    shared = found.provenance
    for entry, value in shared_entries(members).items():
        assert shared[entry] == value
    for member in members:
        own = {"settings"} if name == "changes" else set()  # each move has its own
        wanted = {"method", "settings", "random_state", "model_rows"} - own
        for entry in wanted & set(member.provenance):
            assert shared[entry] == member.provenance[entry]


def test_entries_that_differ_are_left_to_the_members():
    rows = TABLE.assign(age=TABLE["age"] + TABLE["bmi"])
    effects = sd.explain(lambda X: targets(X)[:, 1], rows, **OPTIONS)
    each = [e.provenance["vif"] for e in effects.values()]
    assert len(set(each)) == 3
    assert "vif" not in effects.provenance
    for entry in ("method", "quantity", "rows", "random_state", "model_rows", "versions"):
        assert effects.provenance[entry] == effects["age"].provenance[entry]
    own = sd.Effects({name: effects[name] for name in ("age", "bmi")})
    assert own.provenance["model_rows"] == effects.provenance["model_rows"]
    assert shared_entries([effects["age"], 1]) == {}
    assert sd.Effects({}).provenance == {}


def test_rankings_have_the_lines_of_all_outputs_in_order():
    found = made("effects")
    lines = found.ranking()
    assert [line.importance for line in lines] == sorted(
        (r.importance for r in lines), reverse=True
    )
    assert all(isinstance(line, Rank) and isinstance(line, OutputRank) for line in lines)
    want = [(k, r.feature, r.importance) for k, es in found.items() for r in es.ranking()]
    assert sorted((r.output, r.feature, r.importance) for r in lines) == sorted(want)
    assert str(lines).splitlines()[0].split()[:2] == ["output", "feature"]
    by_score = found.ranking("heterogeneity_score")
    assert by_score[0].heterogeneity_score == max(r.heterogeneity_score for r in lines)
    assert repr(pickle.loads(pickle.dumps(lines))) == repr(lines)  # NaN is not equal to itself
    frame = found.to_frame("pandas", of="ranking")
    assert frame[["output", "feature"]].to_numpy().tolist() == [
        [r.output, r.feature] for r in lines
    ]


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_output_has_lines(name):
    found = made(name)
    assert {line.output for line in found.ranking()} == {0, 1}
    assert "ranking(by)" in message_of(sd.DataError, found.ranking, by="size")


# --- pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SURFACES)
def test_pairs_are_found_by_names_labels_and_positions_in_either_order(name):
    found = made(name)
    assert list(found) == PAIRS
    want = found["age", "bmi"]
    for pair in (("bmi", "age"), (0, 1), (1, 0), ("age", 1), ["age", "bmi"]):
        assert found[pair] is want
    assert ("bmi", "age") in found
    assert ("age", "age") not in found
    assert found.get(("bmi", "age")) is want
    assert found.get(("age", "sex")) is None
    assert found.get("age", 3) == 3
    assert list(found.keys()) == PAIRS


def test_pairs_that_are_not_there():
    found = made("surfaces")
    assert "Did you mean 'age'?" in message_of(sd.DataError, lambda: found["agee", "bmi"])
    assert "two features" in message_of(sd.DataError, lambda: found["age"])
    assert "two features" in message_of(sd.DataError, lambda: found["age", "bmi", "cost"])
    some = sd.Surfaces({k: found[k] for k in PAIRS[:2]})
    message = message_of(sd.DataError, lambda: some["age", "cost"])
    assert "'age' and 'bmi', 'bmi' and 'cost'" in message
    assert "Explain this pair, too" in message
    none = sd.Surfaces({})
    assert repr(none) == str(none) == "<Surfaces of 0 pairs>"
    assert len(none.ranking()) == 0
    assert "which are none" in message_of(sd.DataError, lambda: none["age", "cost"])
    assert "at least one pair" in message_of(sd.DataError, none.to_frame)


def test_the_strongest_pair_is_first():
    found = made("surfaces")
    lines = found.ranking()
    assert isinstance(lines[0], SurfaceRank)
    assert (lines[0].feature0, lines[0].feature1) == ("age", "bmi")
    strengths = [found[r.feature0, r.feature1].interaction_strength() for r in lines]
    assert [r.interaction_strength for r in lines] == strengths == sorted(strengths, reverse=True)
    lower, upper = found.interval(0.9)["age", "bmi"]
    np.testing.assert_array_equal(lower, found["age", "bmi"].interval(0.9)[0])
    assert (lower <= upper).all()


def test_pairs_of_several_kinds_have_a_column_for_each_kind():
    rows = TABLE.assign(
        sex=np.where(TABLE["age"] > 0, "f", "m"), day=pd.date_range("2024-01-01", periods=ROWS)
    )
    pairs = [("age", "bmi"), ("sex", "bmi"), ("age", "day"), ("sex", "day")]
    found = sd.explain(lambda X: X["age"].to_numpy() * X["bmi"].to_numpy(), rows, pairs, **OPTIONS)
    frame = found.to_frame("pandas")
    names = ["feature0", "feature1", "x0", "level0", "x1", "time1", "value", "heterogeneity"]
    assert list(frame.columns)[:8] == names
    levels = frame[frame["feature0"] == "sex"]
    assert set(levels["level0"]) == {"f", "m"}
    assert levels["x0"].isna().all()
    assert frame.loc[frame["feature1"] == "day", "time1"].notna().all()
    assert frame.loc[frame["feature1"] == "bmi", "time1"].isna().all()
    cells = found.to_frame("polars", of="cells")
    assert {"left0", "left_level0", "right_level0", "left_time1"} <= set(cells.columns)
    assert len(cells) == sum(s.cells.effect.size for s in found.values())


# --- changes --------------------------------------------------------------------------------------


def test_changes_are_found_by_name():
    found = made("changes")
    assert isinstance(found, sd.Changes)
    assert list(found) == list(MOVES)
    assert "older" in found
    assert 0 not in found
    assert found.get("none") is None
    assert "Did you mean 'older'?" in message_of(sd.DataError, lambda: found["oldr"])
    assert "one of 'older', 'both', 'of 0'" in message_of(sd.DataError, lambda: found[3])
    none = sd.Changes({})
    assert repr(none) == str(none) == "<Changes: no named move>"
    assert len(none.ranking()) == len(none.checks()) == len(none.interval()) == 0
    assert "at least one named move" in message_of(sd.DataError, none.to_frame)
    assert "no change" in message_of(sd.DataError, none.plot)
    assert "No changes." in none._repr_html_()


def test_changes_are_those_of_separate_calls():
    found = made("changes")
    for name, moves in MOVES.items():
        alone = sd.change(lambda X: targets(X)[:, 1], TABLE, moves, by="cost")
        assert found[name].value == alone.value
        assert found.interval(0.9)[name] == alone.interval(0.9)
        assert found[name].by == alone.by
    lines = found.ranking()
    assert [abs(r.value) for r in lines] == sorted((abs(r.value) for r in lines), reverse=True)
    assert {r.name: r.value for r in lines} == {name: c.value for name, c in found.items()}
    frame = found.to_frame("pandas", of="ranking")
    assert frame["name"].tolist() == [r.name for r in lines]


def test_tables_of_changes_name_the_move():
    found = made("changes")
    regions = found.to_frame("pandas", of="regions")
    assert regions["name"].tolist() == [n for n, c in found.items() for _ in c.rules]
    rows = found.to_frame("pandas", of="rows")
    assert len(rows) == 3 * ROWS
    assert rows.loc[rows["name"] != "both", "bmi"].isna().all()  # does not move
    np.testing.assert_allclose(
        rows.loc[rows["name"] == "both", "change"], found["both"].rows.change
    )
    assert "to_frame(of)" in message_of(sd.DataError, found.to_frame, of="row")
    plain = sd.change(lambda X: targets(X)[:, 1], TABLE, MOVES)
    assert "without regions" in message_of(sd.UnsupportedError, plain.to_frame, of="regions")


def test_checks_of_changes_name_the_move():
    found = made("changes")
    checks = found.checks()
    assert {c.message.split("'")[1] for c in checks} <= set(MOVES)
    assert len(checks) == sum(len(c.checks()) for c in found.values()) > 0


def test_printed_changes_have_a_line_for_each_move_and_region():
    found = made("changes")
    text = str(found).splitlines()
    assert text[0] == "Changes of prediction, 3 named moves: 120 rows"
    assert text[1].split()[:2] == ["name", "change"]
    assert [line.split()[0] for line in text[2:5]] == ["older", "both", "of"]
    assert len(text) == 5 + 2 + sum(len(c.rules) for c in found.values())
    assert repr(found) == "<Changes of prediction: 3 named moves: older, both, of 0>"


def test_figures_of_changes():
    from skedasis.plots.figures.containers import changes_figure, outputs_figure
    from skedasis.plots.marks import Points, Segments

    found, plain = made("changes"), sd.change(lambda X: targets(X)[:, 1], TABLE, MOVES)
    panel = changes_figure(plain).main
    whole = next(m for m in panel.marks if isinstance(m, Points) and len(m.x) == 3)
    np.testing.assert_array_equal(whole.x, [c.value for c in plain.values()])
    ends = next(m for m in panel.marks if isinstance(m, Segments) and len(m.x0) == 3)
    np.testing.assert_allclose(ends.x0, [low for low, _ in plain.interval().values()])
    assert panel.y.labels[::-1][:2] == ("older: age + 1 (120)", "both: age + 1, bmi × 2 (120)")
    with_regions = changes_figure(found).main
    dots = [m for m in with_regions.marks if isinstance(m, Points)]
    assert [len(m.x) for m in dots] == [3, sum(len(c.rules) for c in found.values())]
    assert with_regions.y.labels[::-1][0] == "older: all rows (120)"
    assert len(set(with_regions.y.labels)) == len(with_regions.y.labels)
    assert len(changes_figure(found, kind="rows").stacks) == 3
    largest = sorted(found, key=lambda name: -abs(found[name].value))[:2]
    some = changes_figure(plain, top=2).main
    assert [text.split(":")[0] for text in some.y.labels[::-1]] == [
        n for n in MOVES if n in largest
    ]
    assert "2 of 3 named moves" in some.notes
    assert len(outputs_figure(made("changes of outputs")).stacks) == 2
    for wrong in ({"kind": "bars"}, {"confidence_level": 2}, {"columns": 0}, {"top": 0}):
        assert "plot(" in message_of(sd.DataError, partial(found.plot, **wrong))
    assert "without regions" in message_of(sd.UnsupportedError, partial(plain.plot, kind="regions"))
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert "one panel" in message_of(sd.DataError, partial(found.plot, ax, kind="rows"))
    plain.plot(ax)
    plt.close("all")
    assert "3 named moves" in found.explore().html


# --- outputs --------------------------------------------------------------------------------------


LABELS = [
    ("<script>alert(1)</script>", "a & b", "'quoted'"),
    (0, 1),
    (False, True),
    (("a", 1), ("a", 2), "a"),
    (1, "1"),
    ("only",),
    tuple(f"class {i}" for i in range(40)),
    (1.5, 2.5),
    ("", "a\nb"),
]


@pytest.mark.many
@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: str(labels)[:20])
def test_any_labels_of_outputs(labels, tmp_path):
    q = sd.probability(Classes(*labels), class_="all")
    found = sd.explain(q, TABLE, ["age", "bmi"], **OPTIONS)
    assert list(found) == list(labels)
    for label in labels:
        assert found[label]["age"].about.quantity
        assert label in found
    frame = found.to_frame("polars")
    kept = len({type(k) for k in labels}) == 1 and not isinstance(labels[0], tuple)
    assert frame["output"].unique(maintain_order=True).to_list() == (
        list(labels) if kept else key_column(labels, [1] * len(labels))
    )
    assert len({str(v) for v in frame["output"].to_list()}) == len(labels)
    found.save(tmp_path / "labels.npz")
    again = sd.load(tmp_path / "labels.npz")
    assert list(again) == list(labels)
    assert [type(k) for k in again] == [type(k) for k in labels]
    assert len(found.ranking()) == 2 * len(labels)
    assert f"{len(labels)} output" in repr(found)
    assert len(repr(found).splitlines()) == 1
    assert "<script>" not in found._repr_html_()


def test_labels_are_found_as_levels_are():
    numbers = sd.explain(sd.probability(Classes(0, 1), class_="all"), TABLE, "age", **OPTIONS)
    assert numbers[1.0] is numbers[np.int64(1)] is numbers[1]
    assert True not in numbers
    assert [0] not in numbers
    assert "one of 0, 1" in message_of(sd.DataError, lambda: numbers[True])
    words = sd.explain(
        sd.probability(Classes("bad", "good"), class_="all"), TABLE, "age", **OPTIONS
    )
    assert "Did you mean 'bad'?" in message_of(sd.DataError, lambda: words["Bad"])
    assert words.get("Bad") is None


def test_no_output():
    none = sd.MultiOutput({})
    assert repr(none) == str(none) == "<MultiOutput of 0 outputs>"
    assert len(none.ranking()) == len(none.checks()) == len(none.interval()) == 0
    assert "at least one output" in message_of(sd.DataError, none.to_frame)
    assert "no output" in message_of(sd.DataError, lambda: none["a"])


@pytest.mark.parametrize(
    "name",
    ["effect", "effects", "surface", "surfaces of outputs", "importance", "changes of outputs"],
)
def test_intervals_are_those_of_the_members(name):
    found = made(name)
    for label, want in ((k, found[k].interval(0.8)) for k in found):
        got = found.interval(0.8)[label]
        pairs = [(got[k], want[k]) for k in want] if isinstance(want, dict) else [(got, want)]
        for one, two in pairs:
            np.testing.assert_array_equal(one, two)


def test_members_without_intervals_or_checks_say_so():
    assert "Ledger has no interval" in message_of(sd.UnsupportedError, made("ledger").interval)
    assert "Ledger has no checks" in message_of(sd.UnsupportedError, made("ledger").checks)


def test_findings_name_their_output():
    checks = made("effects").checks()
    assert {c.output for c in checks} <= {0, 1}
    assert any(c.code == "heterogeneous" and c.output == 1 for c in checks)
    assert str(checks[0]).startswith(f"{checks[0].severity}: output {checks[0].output}: ")
    assert next(iter(checks.to_frame("pandas").columns)) == "output"
    alone = made("effects")[1].checks()
    assert "output" not in alone.to_frame("pandas").columns
    assert len(alone) == sum(c.output == 1 for c in checks)


def test_one_pass_costs_the_same_model_rows():
    """Count the rows that a model is called with: a container is made without a further call."""
    calls = []

    def counted(X):
        calls.append(len(X))
        return targets(X)

    found = sd.explain(sd.prediction(counted, output="all"), TABLE, **OPTIONS)
    p = found.provenance
    known = ("model_rows", "slope_rows", "check_rows", "score_rows")
    assert sum(calls) == sum(p[name] for name in known)
    before = len(calls)
    found.ranking()
    found.to_frame("pandas")
    str(found)
    found._repr_html_()
    assert len(calls) == before


def test_completion_of_keys():
    assert made("effects")._ipython_key_completions_() == [0, 1]
    assert made("surfaces")._ipython_key_completions_() == PAIRS


def test_several_outputs_of_several_models_are_refused_by_regions():
    every = [BOTH, BOTH]
    assert "one output" in message_of(sd.UnsupportedError, sd.regions, every, TABLE, **OPTIONS)


def test_regions_of_several_models():
    found = made("regions of models")
    assert isinstance(found, sd.MultiModelRegionsByFeature)
    assert found[0] is found["age"]
    assert found.get("sex") is None
    lines = found.ranking()
    assert {line.feature for line in lines} == {"age", "bmi", "cost"}
    first = next(line for line in lines if line.feature == "age")
    assert (first.first_split, first.models) == ("bmi", 2) or first.models_with_regions == 0
    assert repr(found) == "<MultiModelRegionsByFeature of 3 features, 2 models: age, bmi, cost>"


# --- bins as a table ------------------------------------------------------------------------------


def test_bins_print_as_a_table():
    edges = sd.Edges([0, 0.1, 50, 95, 99, 100])
    rows = np.arange(100.0)[:, None]
    bins = sd.explain(lambda X: X[:, 0] ** 2, rows, 0, method=sd.ALE(bins=edges)).bins
    lines = str(bins).splitlines()
    assert lines[0].split() == ["from", "to", "rows", "effect", "rise", "std", "std", "error"]
    assert lines[1].split()[:4] == ["0", "0.1", "1", f"{bins.effect[0]:.4g}"]
    assert lines[1].endswith("fewer than 10 rows")
    assert lines[5].endswith("no rows")
    assert len({line.index("  ") >= 0 for line in lines}) == 1
    assert repr(bins) == "<BinStats: 5 bins, 100 rows, 1 without rows, 2 with fewer than 10 rows>"
    html = bins._repr_html_()
    assert html.count("<tr>") == 6
    assert "no rows" in html


def test_edges_that_differ_print_differently():
    edges = 1e6 + np.array([0.0, 0.25, 0.5, 1.0])
    rows = np.linspace(edges[0], edges[-1], 60)[:, None]
    bins = sd.explain(lambda X: X[:, 0] - 1e6, rows, 0, method=sd.ALE(bins=sd.Edges(edges))).bins
    ends = [line.split()[0] for line in str(bins).splitlines()[1:]]
    assert len(set(ends)) == 3
    np.testing.assert_allclose([float(end) for end in ends], edges[:-1], atol=0.1)


def test_bins_of_times_and_levels_print_dates_and_labels():
    rows = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60)})
    rows["<level>"] = np.resize(["<b>", "a\nb", None], 60)
    effects = sd.explain(lambda X: np.arange(len(X)) * 0.0, rows, method=sd.ALE(bins=2))
    assert "2024-01-01" in str(effects["day"].bins)
    text = str(effects["<level>"].bins)
    assert {"<b>", "missing"} <= set(text.split())
    assert len(text.splitlines()) == 1 + len(effects["<level>"].bins)
    assert "<b>" not in effects["<level>"].bins._repr_html_()


def test_many_bins_are_abbreviated_in_the_middle():
    rows = np.arange(1000.0)[:, None]
    bins = sd.explain(lambda X: X[:, 0], rows, 0, method=sd.ALE(bins=sd.Quantile(100))).bins
    lines = str(bins).splitlines()
    assert len(lines) == 42
    assert lines[21].startswith("… 60 more")
    assert lines[-1].split()[1] == "999"


def test_bins_with_weights_and_without_any():
    rows = np.arange(50.0)[:, None]
    weights = np.full(50, 2.0)
    e = sd.explain(lambda X: X[:, 0], rows, 0, method=sd.ALE(bins=2), sample_weight=weights)
    assert "weight" in str(e.bins).splitlines()[0]
    constant = sd.explain(lambda X: X[:, 0], np.ones((20, 1)), 0, method="ale")
    assert str(constant.bins) == "no bins"
    assert repr(constant.bins) == "<BinStats: 0 bins, 0 rows>"
    assert constant.bins._repr_html_()


# --- figures and pages ----------------------------------------------------------------------------


OF_MODELS = [
    *("effects of models", "surface of models", "surfaces of models"),
    *("surfaces of models and outputs", "importance of models"),
]
"""Containers whose figures are drawn as those of outputs or of an effect of models."""


@pytest.mark.many
@pytest.mark.parametrize(
    "name", [pytest.param(k, marks=pytest.mark.slow if k in OF_MODELS else []) for k in ALL]
)
def test_every_container_has_a_figure_and_pages(name, tmp_path):
    import matplotlib.pyplot as plt

    found = made(name)
    figure = found.plot(top=2)
    assert figure.axes
    plt.close(figure)
    page = found.explore(tmp_path / "page.html", title="<b>title</b>")
    assert "<b>title</b>" not in page.html
    assert "<svg" in page.html
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    html = found._repr_html_()
    assert "<svg" in html
    assert "<script" not in html
    assert html == found._repr_html_()


def test_surfaces_share_a_colour_scale_and_the_strongest_is_first():
    from skedasis.plots.figures.containers import outputs_figure, surfaces_figure

    found = made("surfaces")
    spec = surfaces_figure(found)
    first = found.ranking()[0]
    assert str(spec.stacks[0][0].title) == f"1. {first.feature0} × {first.feature1}"
    assert len({stack[0].marks[0].limits for stack in spec.stacks}) == 1
    assert [str(s[0].title)[:2] for s in surfaces_figure(found, top=2).stacks] == ["1.", "2."]
    assert "2 of 3 pairs" in surfaces_figure(found, top=2).notes
    assert "at most 1" in message_of(sd.DataError, surfaces_figure, found, page=2)
    for name, panels in (("surface", 2), ("surfaces of outputs", 6)):
        of_outputs = outputs_figure(made(name))
        assert len(of_outputs.stacks) == panels
        assert len({stack[0].marks[0].limits for stack in of_outputs.stacks}) == 1
    for figure, none in ((surfaces_figure, sd.Surfaces({})), (outputs_figure, sd.MultiOutput({}))):
        assert "plot" in message_of(sd.DataError, figure, none)


def test_outputs_are_overlaid_with_a_style_each():
    from skedasis.plots.figures.containers import outputs_figure
    from skedasis.plots.marks import Line

    one = outputs_figure(made("effect"))
    assert len(one.stacks) == 1
    lines = [m for m in one.main.marks if isinstance(m, Line)]
    assert [m.label for m in lines] == ["0", "1"]
    assert len({m.style for m in lines}) == 2
    assert one.main.y.name == "effect on prediction"
    many = outputs_figure(made("effects"))
    assert len(many.stacks) == 3
    largest = max(made("effects").ranking(), key=lambda r: r.importance).feature
    assert str(many.stacks[0][0].title) == f"1. {largest}"
    assert len(outputs_figure(made("effects"), top=1).stacks) == 1


def test_of_many_outputs_the_most_important_are_overlaid():
    from skedasis.plots.figures.containers import outputs_figure

    labels = tuple(f"class {i}" for i in range(40))
    q = sd.probability(Classes(*labels), class_="all")
    found = sd.explain(q, TABLE, "age", **OPTIONS)
    spec = outputs_figure(found)
    assert "the 8 most important of 40 outputs" in spec.notes
    shown = {m.label for m in spec.main.marks if getattr(m, "label", "") in labels}
    sizes = sorted(found, key=lambda k: -found[k].importance)
    assert shown == set(sizes[:8])
    assert spec.main.y.name == "effect on P(y = …)"
    figure = found.plot(ax=None)
    assert figure.axes


@pytest.mark.many
@pytest.mark.parametrize("labels", LABELS[:4], ids=str)
def test_hostile_labels_in_figures_and_pages(labels):
    q = sd.probability(Classes(*labels), class_="all")
    for features in ("age", ["age", "bmi"]):
        found = sd.explain(q, TABLE, features, **OPTIONS)
        html = found.explore().html
        assert "<script>alert" not in html
        assert "<script>alert" not in found._repr_html_()
        found.plot()
