"""`Surfaces`, `MultiOutput` and the other results that contain results: lookup, tables, rankings, figures."""

from __future__ import annotations

import inspect
import pickle
import re
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.containers import ResultMapping, key_column
from skedasis.results.display import RankLine
from skedasis.results.effects import Rank
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
        "variance_shares": lambda: sd.variance_shares(BOTH, TABLE, regions={}, progress=False),
        "changes": lambda: sd.what_if(lambda X: targets(X)[:, 1], TABLE, MOVES, by="cost"),
        "change": lambda: sd.what_if(BOTH, TABLE, {"age": 1}),
        "changes of outputs": lambda: sd.what_if(BOTH, TABLE, MOVES, by="cost"),
        "surfaces of models": lambda: sd.explain(models, TABLE, PAIRS, refits=True, **OPTIONS),
        "effect of models": lambda: sd.explain(every, TABLE, "age", refits=True, **OPTIONS),
        "effects of models": lambda: sd.explain(every, TABLE, refits=True, **OPTIONS),
        "surface of models": lambda: sd.explain(
            every, TABLE, ("age", "bmi"), refits=True, **OPTIONS
        ),
        "surfaces of models and outputs": lambda: sd.explain(
            every, TABLE, PAIRS, refits=True, **OPTIONS
        ),
        "importance of models": lambda: sd.explain(
            every, TABLE, method="pfi", refits=True, progress=False
        ),
        "regions of models": lambda: sd.regions(models, TABLE, refits=True, **OPTIONS),
    }
    return what[name]()


OUTPUTS = [
    *("effect", "effects", "surface", "surfaces of outputs", "importance", "regions"),
    *(
        "regions of features",
        "interactions",
        "variance_shares",
        "effect of models",
        "effects of models",
    ),
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


def test_rankings_have_the_lines_of_all_outputs_in_order():
    found = made("effects")
    lines = found.ranking()
    assert [line.importance for line in lines] == sorted(
        (r.importance for r in lines), reverse=True
    )
    assert all(isinstance(line, Rank) for line in lines)
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


# --- changes --------------------------------------------------------------------------------------


def test_changes_are_those_of_separate_calls():
    found = made("changes")
    for name, moves in MOVES.items():
        alone = sd.what_if(lambda X: targets(X)[:, 1], TABLE, moves, by="cost")
        assert found[name].value == alone.value
        assert found.interval(0.9)[name] == alone.interval(0.9)
        assert found[name].by == alone.by
    lines = found.ranking()
    assert [abs(r.value) for r in lines] == sorted((abs(r.value) for r in lines), reverse=True)
    assert {r.name: r.value for r in lines} == {name: c.value for name, c in found.items()}
    frame = found.to_frame("pandas", of="ranking")
    assert frame["name"].tolist() == [r.name for r in lines]


def test_figures_of_changes():
    from skedasis.plots.figures.containers import changes_figure
    from skedasis.plots.kinds import figure_of_outputs
    from skedasis.plots.marks import Points, Segments

    found, plain = made("changes"), sd.what_if(lambda X: targets(X)[:, 1], TABLE, MOVES)
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
    assert "2 of 3 named moves, all with top=None" in some.notes
    assert len(figure_of_outputs(made("changes of outputs")).stacks) == 2


# --- outputs --------------------------------------------------------------------------------------


LABELS = [
    ("<script>alert(1)</script>", "a & b", "'quoted'"),
    (False, True),
    (("a", 1), ("a", 2), "a"),
    (1, "1"),
    ("", "a\nb"),
]


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


# --- figures and pages ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["effects", "surfaces of outputs", "changes", "effects of models"])
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
    from skedasis.plots.figures.containers import surfaces_figure
    from skedasis.plots.kinds import figure_of_outputs

    found = made("surfaces")
    spec = surfaces_figure(found)
    first = found.ranking()[0]
    assert str(spec.stacks[0][0].title) == f"1. {first.feature0} × {first.feature1}"
    assert len({stack[0].marks[0].limits for stack in spec.stacks}) == 1
    assert [str(s[0].title)[:2] for s in surfaces_figure(found, top=2).stacks] == ["1.", "2."]
    assert "2 of 3 pairs, all with top=None" in surfaces_figure(found, top=2).notes
    assert "at most 1" in message_of(sd.DataError, surfaces_figure, found, page=2)
    for name, panels in (("surface", 2), ("surfaces of outputs", 6)):
        of_outputs = figure_of_outputs(made(name))
        assert len(of_outputs.stacks) == panels
        assert len({stack[0].marks[0].limits for stack in of_outputs.stacks}) == 1


def test_outputs_are_overlaid_with_a_style_each():
    from skedasis.plots.kinds import figure_of_outputs
    from skedasis.plots.marks import Line

    one = figure_of_outputs(made("effect"))
    assert len(one.stacks) == 1
    lines = [m for m in one.main.marks if isinstance(m, Line)]
    assert [m.label for m in lines] == ["output 0", "output 1"]
    assert len({m.style for m in lines}) == 2
    assert one.main.y.name == "effect on prediction"
    many = figure_of_outputs(made("effects"))
    assert len(many.stacks) == 3
    largest = max(made("effects").ranking(), key=lambda r: r.importance).feature
    assert str(many.stacks[0][0].title) == f"1. {largest}"
    assert len(figure_of_outputs(made("effects"), top=1).stacks) == 1


# --- a container of another package ---------------------------------------------------------------


class Cities(ResultMapping[str, sd.Effect]):
    """The effects of one feature, by city."""


def test_a_container_is_written_in_two_lines(tmp_path):
    effects = made("effect")
    found = Cities({"Bern": effects[0], "Basel": effects[1]})
    assert list(found) == ["Bern", "Basel"]
    assert found["Bern"] is effects[0]
    assert "Basel" in found
    assert found.get("Genf") is None
    assert "Did you mean 'Bern'?" in message_of(sd.DataError, lambda: found["bern"])
    assert "expected one of 'Bern', 'Basel'" in message_of(sd.DataError, lambda: found[0])
    assert repr(found) == "<Cities of 2 members: Bern, Basel>"
    frame = found.to_frame("pandas")
    assert frame["name"].tolist() == ["Bern"] * 5 + ["Basel"] * 5
    np.testing.assert_array_equal(frame["value"], [*effects[0].value, *effects[1].value])
    lines = found.ranking()
    assert {(line.name, line.importance) for line in lines} == {
        (name, e.importance) for name, e in found.items()
    }
    assert found.to_frame("pandas", of="ranking")["name"].tolist() == [r.name for r in lines]
    np.testing.assert_array_equal(found.interval(0.9)["Bern"], effects[0].interval(0.9))
    assert found.provenance["method"] == "ALE"
    assert [part["name"] for part in found.to_dict()["members"]] == ["Bern", "Basel"]
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)
    found.save(tmp_path / "cities.npz")
    again = sd.load(tmp_path / "cities.npz")
    assert type(again) is Cities
    assert again.to_json() == found.to_json()
    np.testing.assert_array_equal(again["Basel"].value, effects[1].value)
    with pytest.raises(AttributeError):
        found.note = "is not kept"
    with pytest.raises(ValueError, match="read-only"):
        found["Bern"].value[0] = 1.0
    assert "at least one member" in message_of(sd.DataError, Cities({}).to_frame)


class Countries(ResultMapping[str, Cities]):
    """The cities of some countries."""


def test_containers_of_containers_keep_the_keys_of_both(tmp_path):
    effects = made("effect")
    of = {
        "CH": Cities({"Bern": effects[0]}),
        "FR": Cities({"Bern": effects[1], "Paris": effects[0]}),
    }
    found = Countries(of)
    want = [("CH", "Bern"), ("FR", "Bern"), ("FR", "Paris")]
    frame = found.to_frame("pandas")
    assert list(frame.columns)[:2] == ["countries_name", "name"]
    assert list(frame.groupby(["countries_name", "name"]).groups) == want
    lines = found.ranking()
    assert sorted((line.countries_name, line.name) for line in lines) == want
    for line in lines:
        assert line.importance == found[line.countries_name][line.name].importance
    assert repr(pickle.loads(pickle.dumps(lines))) == repr(lines)
    ranked = found.to_frame("pandas", of="ranking")
    assert ranked["name"].tolist() == [line.name for line in lines]
    found.save(tmp_path / "countries.npz")
    pd.testing.assert_frame_equal(sd.load(tmp_path / "countries.npz").to_frame("pandas"), frame)


@dataclass(frozen=True)
class Share(RankLine):
    """A share of something."""

    ordered_by = "share"
    share: float


@dataclass(frozen=True)
class Poll:
    """A result of another package, which derives from nothing."""

    shares: tuple[float, ...]
    provenance: dict = field(default_factory=dict)

    def table(self, of="shares"):
        return {"share": list(self.shares)}

    def ranking(self):
        return [Share(share) for share in self.shares]


class Polls(ResultMapping[str, Poll]):
    """Polls by year."""

    column = "year"


def test_any_result_with_a_ranking_is_ranked():
    found = Polls({"2025": Poll((0.2, 0.5)), "2026": Poll((0.3,))})
    lines = [(line.year, line.share) for line in found.ranking()]
    assert lines == [("2025", 0.5), ("2026", 0.3), ("2025", 0.2)]
    assert "one order" in message_of(sd.DataError, found.ranking, "share")
    assert found.to_frame("pandas")["year"].tolist() == ["2025", "2025", "2026"]


# --- what help and errors name --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["effects of models", "surfaces", "changes", "regions of models"])
def test_help_names_the_tables_and_orders_that_a_result_takes(name):
    found = made(name)
    found = next(iter(found.values())) if name == "effects of models" else found
    for method, option in ((found.to_frame, "of"), (found.ranking, "by")):
        entry = re.search(rf"^ *{option} : {{(.*)}}", method.__doc__, re.MULTILINE)
        values = [value.strip('"') for value in entry[1].split(", ")]
        taken = {}
        for value in (*values, None):
            try:
                taken[value] = str(method(**{option: value}))
            except (
                sd.DataError,
                sd.UnsupportedError,
            ) as error:  # a table that these members do not have
                taken[value] = str(error)
        assert taken[values[0]] == taken[None]
        message = message_of(sd.DataError, method, **{option: "nonsense"})
        assert re.findall(r"'([a-z_0-9]+)'", message.partition("expected")[2]) == values
    frame = inspect.signature(type(found).to_frame).parameters["of"]
    assert frame.default == type(found).tables[0]
    assert all(repr(table) in frame.annotation for table in type(found).tables)


def test_errors_name_the_class_of_the_result():
    effects, regions = made("effects")[0], made("regions of models")
    several = made("effects of models")[0]["age"]
    for call, wrong, start in (
        (effects.to_frame, {"off": "ranking"}, "Effects.to_frame(): got an unexpected"),
        (regions.ranking, {"nonsense": 1}, "MultiModelRegionsByFeature.ranking(): "),
        (several.interval, {"levl": 0.9}, "MultiModelEffect.interval(): "),
        (effects["age"].to_frame, {"off": "bins"}, "Effect.to_frame(): "),
        (effects["age"], {"new": 1}, "Effect(): "),
    ):
        assert message_of(sd.UnsupportedError, call, **wrong).startswith(start)
    assert "Write of= instead" in message_of(sd.UnsupportedError, effects.to_frame, off="bins")


def test_only_texts_are_suggested():
    regions = made("regions of models")["age"]
    assert "Pass one of these" in message_of(sd.DataError, lambda: regions["x0"])


def test_members_without_an_operation_are_refused():
    regions = made("regions of features")[0]
    assert "features of class Regions" in message_of(sd.UnsupportedError, regions.interval)


def test_findings_are_those_of_the_members():
    found = made("surfaces")
    each = [check.message for surface in found.values() for check in surface.checks()]
    assert sorted(check.message for check in found.checks()) == sorted(each)
    outputs = made("surfaces of outputs").checks()
    assert {check.output for check in outputs} == {0, 1}
    assert "effects or surfaces" in message_of(sd.UnsupportedError, made("importance").checks)
