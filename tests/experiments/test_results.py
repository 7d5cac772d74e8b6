"""RESULTS.md reports what the experiments found: all of it, and nothing else."""

from __future__ import annotations

import re

import pytest

from experiments.catalogue import CATALOGUE, everything
from experiments.experiment import HERE, RESULTS, Claim, Experiment, Outcome, Table
from experiments.record import PAPERS, Record, results

EXPERIMENTS = everything()
KEPT = [(e, RESULTS / e.paper / f"{e.name}.json") for e in EXPERIMENTS]
PICTURE, DRAWING = 100_000, 250_000
"""Bytes of a PNG and of an SVG, at most."""


def _name(e):
    return f"{e.paper}-{e.name}"


def test_links_within_the_page_are_not_ambiguous():
    titles = [e.title.lower() for e in EXPERIMENTS]
    assert len(set(titles)) == len(titles)


def test_every_paper_has_experiments():
    assert list(CATALOGUE) == list(PAPERS)
    assert all(CATALOGUE.values())


def test_every_file_that_is_an_experiment_is_in_the_catalogue():
    files = {
        (path.parent.name, path.stem)
        for path in HERE.glob("*/*.py")
        if re.search(r"^EXPERIMENT = ", path.read_text("utf-8"), re.MULTILINE)
    }
    assert files == {(paper, name) for paper, names in CATALOGUE.items() for name in names}
    assert all((e.paper, e.name) in files for e in EXPERIMENTS)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=_name)
def test_an_experiment_has_been_run_and_what_it_found_is_kept(experiment):
    record = Record.read(RESULTS / experiment.paper / f"{experiment.name}.json")
    assert (record.title, record.source) == (experiment.title, experiment.source)
    assert record.claims
    assert len({claim.key for claim in record.claims}) == len(record.claims)
    for claim in record.claims:
        # A verdict needs numbers; a refutation needs a reason.
        assert re.search(r"\d", claim.numbers), claim.key
        assert claim.holds is not False or claim.why, claim.key
    assert all(len(row) == len(table.head) for table in record.tables for row in table.rows)
    for name, caption in record.pictures:
        place = RESULTS / experiment.paper
        assert len(caption) > 15
        assert (place / f"{name}.png").stat().st_size < PICTURE
        assert (place / f"{name}.svg").stat().st_size < DRAWING


def test_nothing_else_lies_among_the_results():
    expected = {path for _, path in KEPT}
    for e, path in KEPT:
        for name, _ in Record.read(path).pictures:
            expected |= {RESULTS / e.paper / f"{name}{suffix}" for suffix in (".png", ".svg")}
    there = {path for paper in PAPERS for path in (RESULTS / paper).iterdir()}
    assert there == expected


def test_the_page_is_made_of_what_is_kept():
    records = [Record.read(path) for _, path in KEPT]
    assert (HERE / "RESULTS.md").read_text("utf-8") == results(records)


def test_the_page_lists_what_does_not_hold_before_all_else(tmp_path):
    claims = [
        Claim("a", "It is so", True, "1 of 1."),
        Claim("b", "It is not so", False, "0 of 1.", "It cannot be."),
        Claim("c", "sigma* may be so", None, "0 of 0 sigma*."),
    ]
    experiment = Experiment("uale", "none", "A title", "UALE, Fig. 0", lambda quick: outcome)
    outcome = Outcome(claims, [Table("Numbers", ["x", "y"], [["1", "2"]])], settings="As there.")
    record = Record.of(experiment, outcome, 3.0)
    record.keep(tmp_path, [])
    assert Record.read(tmp_path / "uale" / "none.json") == record
    page = results([record])
    assert "Of 3 claims 1 hold, 1 do not, 1 cannot be decided" in page
    assert page.index("What does not hold") < page.index("A title")
    assert "- [A title](#a-title) (UALE, Fig. 0)\n    - It is not so\n" in page
    assert r"- *sigma\* may be so*: cannot be decided. 0 of 0 sigma\*." in page
    assert "- *It is not so*: **does not hold**. 0 of 1. It cannot be." in page
    assert "| x | y |\n|---|--:|\n| 1 | 2 |" in page
    assert outcome["b"].holds is False
