"""Model evaluations of ALE and PDP (6.3): rows, counted in the model, of every setting that the chapter describes.

The chapter explains its runtimes by counts: an ALE of one numeric feature needs 2 N predictions for any number of
intervals K, a PDP (K + 1) N; for two features 4 N and (K + 1)² N; for a categorical feature the number of levels
replaces the grid. Counts, unlike times, are the same on every machine: those of PyALE, scikit-learn and ours are taken
from inside the model. The library evaluates forests from the structure of their trees, without calling them; its check
of every model on 64 rows, which its provenance records, is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from experiments.ale_vs_pdp.costs import (
    ALE,
    FOREST,
    LEVELS,
    ONE,
    PDP,
    PYALE,
    SKLEARN,
    SVM,
    TWO,
    WAYS,
    Setting,
    counted,
    table,
)
from experiments.experiment import Claim, Experiment, Outcome, Table, alone

Found = dict[Setting, dict[str, int]]


def settings(sizes: Iterable[int], models: Iterable[str] = (SVM, FOREST)) -> list[Setting]:
    """Return the settings to count."""
    found = []
    for n in sizes:
        found += [Setting(SVM, ONE, n, d, grid) for d, grid in ((5, 20), (40, 20), (5, 100))]
        found += [Setting(SVM, TWO, n, d, grid) for d, grid in ((5, 5), (40, 5), (5, 10))]
        found += [Setting(SVM, LEVELS, n, d) for d in (5, 40)]
        found += [
            Setting(FOREST, ONE, n),
            Setting(FOREST, TWO, n, grid=5),
            Setting(FOREST, LEVELS, n),
        ]
    return [s for s in found if s.model in models]


def run(quick: bool) -> Outcome:
    """Count."""
    found = {s: {w: counted(w, s) for w in WAYS} for s in settings((120,) if quick else (200, 400))}
    svm = {s: c for s, c in found.items() if s.model == SVM}
    forest = {s: c for s, c in found.items() if s.model == FOREST}
    return Outcome(
        claims=[*_numeric(svm), *_two(svm), _features(svm), *_levels(svm), _forest(forest)],
        tables=[_table(found)],
        settings="An SVM behind a one-hot encoding, and a small forest; "
        + " and ".join(f"{n}" for n in sorted({s.n for s in found}))
        + " rows. Ours, PyALE 1.2.0 and scikit-learn's `partial_dependence` (brute).",
    )


def _of(found: Found, work: str, way: str) -> dict[Setting, float]:
    """Return rows as multiples of N."""
    return {s: c[way] / s.n for s, c in found.items() if s.work == work}


def _said(found: dict[Setting, float]) -> str:
    return " and ".join(f"{v:g} N" for v in sorted(set(found.values())))


def _numeric(svm: Found) -> list[Claim]:
    ale = {way: _of(svm, ONE, way) for way in (ALE, PYALE)}
    pdp = {way: _of(svm, ONE, way) for way in (PDP, SKLEARN)}
    return [
        Claim(
            "ale_one",
            "An ALE of one numeric feature needs 2 N predictions for any number of intervals",
            all(v == 2 for found in ale.values() for v in found.values()),
            f"Ours {_said(ale[ALE])}, PyALE {_said(ale[PYALE])}, with 20 and 100 intervals.",
        ),
        Claim(
            "pdp_one",
            "Its PDP needs (K + 1) N predictions",
            all(v == s.grid + 1 for found in pdp.values() for s, v in found.items()),
            f"Ours {_said(pdp[PDP])}, scikit-learn {_said(pdp[SKLEARN])}, with 20 and 100 intervals.",
        ),
    ]


def _two(svm: Found) -> list[Claim]:
    ale = {way: _of(svm, TWO, way) for way in (ALE, PYALE)}
    pdp = {way: _of(svm, TWO, way) for way in (PDP, SKLEARN)}
    return [
        Claim(
            "ale_two",
            "An ALE of two numeric features needs 4 N predictions",
            all(v == 4 for found in ale.values() for v in found.values()),
            f"Ours {_said(ale[ALE])}, PyALE {_said(ale[PYALE])}, with 5 and 10 intervals of each.",
        ),
        Claim(
            "pdp_two",
            "Their PDP needs (K + 1)² N predictions",
            all(v == (s.grid + 1) ** 2 for found in pdp.values() for s, v in found.items()),
            f"Ours {_said(pdp[PDP])}, scikit-learn {_said(pdp[SKLEARN])}.",
        ),
    ]


def _features(svm: Found) -> Claim:
    kinds = {(s.n, s.work, s.grid) for s in svm if s.work != LEVELS}
    same = all(
        len({c[way] for s, c in svm.items() if (s.n, s.work, s.grid) == kind}) == 1
        for kind in kinds
        for way in WAYS
    )
    return Claim(
        "features",
        "For numeric features the number of predictions does not depend on the number of features",
        same,
        f"With 5 and with 40 features all four need the same number of rows, in {len(kinds)} settings.",
    )


def levels(s: Setting) -> int:
    """Return how many levels the rows have."""
    return int(table(s.n, s.d)[0]["a"].nunique())


def _levels(svm: Found) -> list[Claim]:
    pdp = {way: _of(svm, LEVELS, way) for way in (PDP, SKLEARN)}
    ale = {way: _of(svm, LEVELS, way) for way in (ALE, PYALE)}
    rows = [v for found in ale.values() for v in found.values()]
    return [
        Claim(
            "pdp_levels",
            "For a categorical feature the number of its levels replaces the grid",
            all(v == levels(s) for found in pdp.values() for s, v in found.items()),
            f"The PDP of ten levels needs {_said(pdp[PDP])} (ours) and {_said(pdp[SKLEARN])} (scikit-learn), that of "
            f"a numeric feature with 20 intervals twice as many.",
        ),
        Claim(
            "ale_levels",
            "An ALE of a categorical feature needs at most the row and its two neighbouring levels: 3 N",
            max(rows) < 3,
            f"Ours {min(ale[ALE].values()):.2f} to {max(ale[ALE].values()):.2f} N, PyALE "
            f"{min(ale[PYALE].values()):.2f} to {max(ale[PYALE].values()):.2f} N: rows of the first and the last level "
            "have one neighbour only. The additional cost compared with a numeric feature is the order of the levels.",
        ),
    ]


def _forest(forest: Found) -> Claim:
    own = sum(c[way] for c in forest.values() for way in (ALE, PDP))
    theirs = [c[way] / s.n for s, c in forest.items() for way in (PYALE, SKLEARN)]
    return Claim(
        "forest",
        "Ours: for a forest neither ALE nor PDP needs any prediction",
        own == 0,
        f"{own} rows in {2 * len(forest)} runs; PyALE and scikit-learn need {min(theirs):.1f} to "
        f"{max(theirs):.0f} N.",
    )


def _table(found: Found) -> Table:
    n = max(s.n for s in found)
    rows = []
    for s, c in found.items():
        if s.n == n:
            what = "10 levels" if s.work == LEVELS else f"{s.grid} intervals"
            cells = [f"{c[way] / n:.3g}" for way in WAYS]
            rows.append([f"{s.model}, {s.work}, {s.d} features, {what}", *cells])
    return Table(f"Model rows as multiples of N, which is {n}", ("", *WAYS), rows)


EXPERIMENT = Experiment(
    "ale_vs_pdp",
    "model_rows",
    "Model evaluations of ALE and PDP",
    "ale_vs_pdp, 6.3",
    run,
    needs=("PyALE", "sklearn", "pandas"),
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
