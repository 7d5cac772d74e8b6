"""Write down the library's results, or show that they are as they were written.

    python -m tools.snapshot                    # compute anew and compare with tests/snapshot, to the last bit
    python -m tools.snapshot --write            # write tests/snapshot
    python -m tools.snapshot kinds bins         # only some cases of `tools.snapshot_cases`
    python -m tools.snapshot --tolerance 1e-9   # on another machine

It is for changes that move and rename much and should change no number. So keys have names of their own, and attributes
are read by the tables below: a change that renames something mends these, and leaves the files in tests/snapshot alone.

``results.json`` has a line a key. Of long arrays it has numbers at evenly chosen places, and the sum and the sum of
squares of all. ``texts.json`` has the numbers that the documentation and experiments/RESULTS.md show, read from
these pages: their words may change, their numbers do not.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import singledispatch
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import skedasis as sd
from skedasis.report.content import ModelSection, ReportContent
from skedasis.report.quality import Quality
from skedasis.results.checks.check import Check
from skedasis.results.checks.elevated_regions import ElevatedRegion
from skedasis.results.effects import Rank
from skedasis.results.importance import ImportanceRank
from skedasis.results.multi_model import ModelsImportanceRank, ModelsRank
from tools.pages import ROOT, outputs

FOLDER = ROOT / "tests" / "snapshot"
RESULTS, TEXTS = FOLDER / "results.json", FOLDER / "texts.json"
LIBRARIES = ("numpy", "scipy", "sklearn", "lightgbm", "xgboost")
"""Their versions decide which models are fitted, and so every number."""
LONG, SHOWN = 40, 20
"""Arrays of more than so many numbers are long, and have so many of them written."""

Table = Mapping[str, Callable[[Any], Any]]
Found = Iterator[tuple[str, Any]]

# What is read of each result: a name that stays, and how the library calls it.

COST = (
    *("rows", "weight", "exact", "rows_kept", "effect_rows", "effect_calls"),
    *("slope_rows", "slope_calls", "check_rows", "check_calls"),
    *("score_rows", "score_calls", "score_exact", "tree_rows"),
)
"""What is read of a provenance; None stands for what does not apply."""


def table(spec: str) -> Table:
    """Return the table of words ``name``, ``name=attribute`` or ``name=attribute,attribute``, which is a list.

    An attribute may be a path, ``of.it``, and be called, ``adjusted()``. ``cost`` is `COST`.
    """

    def value(of: Any, path: str) -> Any:
        for name in path.split("."):
            of = getattr(of, name.removesuffix("()"))
            of = of() if name.endswith("()") else of
        return of

    def column(names: str) -> Callable[[Any], Any]:
        if names == "cost":
            return lambda of: [of.provenance.get(name) for name in COST]
        if "," in names:
            return lambda of: [value(of, name) for name in names.split(",") if name]
        return lambda of: value(of, names)

    pairs = (word.partition("=")[::2] for word in spec.split())
    return {name: column(names or name) for name, names in pairs}


PAIR: Table = {"x0": lambda s: s.x[0], "x1": lambda s: s.x[1]}
EFFECT = table(
    "cost x value heterogeneity accumulated_std std_error freedom=df importance "
    "score=heterogeneity_score,heterogeneity_score_error rows=missing,untrusted_rows"
)
BINS = table("left right count weight effect std std_error empty trusted trend=slope_change")
LEVELS = table("level=values count weight")
KEPT = table("x effect across=bin_slope weight exact")
CURVES = table("x value row exact")
MISSING = table("point=effect,std,std_error,count,weight,value,exact")
SCORE = table("pairs=pairs,effective_pairs,vif,exact scale=quantity_std,quantity_range")
SURFACE = (
    table("cost")
    | PAIR
    | table("value heterogeneity std_error freedom=df strength=interaction_strength()")
    | table("whole=includes_main_effects")
)
CELLS = table("count weight effect std std_error empty")
IMPORTANCE = table("cost features mean std std_error freedom=df values baseline rows")
LOCAL = table("row own=before after difference")
OF_MODELS = table(
    "value between std_error freedom=df reached correction=correction,overlap each=values cost"
)
EFFECT_OF_MODELS = OF_MODELS | table(
    "x heterogeneity importance score=heterogeneity_score,heterogeneity_score_error"
)
SURFACE_OF_MODELS = OF_MODELS | PAIR | table("heterogeneity strength=interaction_strength()")
IMPORTANCE_OF_MODELS = OF_MODELS | table("features baseline")
DIAGNOSIS = {
    **table("likelihood entropy r2=r2_others r2_target=r2_with_target"),
    "partners": lambda d: [" ".join(names) for names in d.partners],
    "verdicts": lambda d: [verdict.kind for verdict in d.verdicts],
    **table("cost"),
    "ranking": lambda d: [line.feature for line in d.ranking()],
}
STATISTIC: Table = {
    "deviation": lambda s: [s.aled, *s.aler, s.naled, *s.naler],
    "deviation-interval": lambda s: [*s.aled_interval, *np.ravel(s.aler_interval)],
    "normalised-interval": lambda s: [*s.naled_interval, *np.ravel(s.naler_interval)],
    "noise": lambda s: [s.noise, s.noise_limit, s.is_noise],
    "p": lambda s: [s.p_value, *s.p_aler],
    **table("okoli rows=n,exact"),
}
SPLIT = table("left right count total within residual p=p_value share adjusted=adjusted()")
TEST = table("score=score,std_error,lower p=p_value,above,effective_pairs verdict")
RISE = table(
    "ends=left,right near=near,near_error,near_rows "
    "elsewhere=elsewhere,elsewhere_error,elsewhere_rows verdict"
)
FLAG = {
    **table("code=feature,code,severity"),
    "where": lambda f: f.where if isinstance(f.where, str) else list(f.where or ()),
    "numbers": lambda f: [v for v in f.numbers.values() if isinstance(v, (int, float, np.number))],
}
RANK = table(
    "feature numbers=importance,heterogeneity_score,heterogeneity_score_error,bins,untrusted_rows,"
    "missing"
)
IMPORTANCE_RANK = table("feature numbers=mean,std,std_error,lower,upper")
MODELS_RANK = table("feature numbers=importance,between,heterogeneity_score,first")
MODELS_IMPORTANCE_RANK = table("feature numbers=mean,between,std_error,lower,upper,first")
TOLD: Table = {
    "places": lambda t: [p.feature for p in t.importance_points],
    "ends": lambda t: [
        p.importance_ends + (p.heterogeneity_score_ends or ())
        for p in t.importance_points
        if p.importance_ends
    ],
    "importances": lambda t: [[e.importance for e in es.values()] for es in (t.rhale, t.ale)],
    "scores": lambda t: [e.heterogeneity_score for e in t.rhale.values()],
    "dependence": lambda t: [e.value for e in t.pdp.values()],
    "means": lambda t: [e.value for e in t.mplot.values()],
    "pairs": lambda t: [" ".join(s.features) for s in t.interactions.strengths],
    "strengths": lambda t: [[s.strength, s.share] for s in t.interactions.strengths],
    "shown": lambda t: [s.shown for s in t.interactions.strengths],
    "surfaces": lambda t: [s.value for s in t.pairs],
    "trust": lambda t: [f"{f.feature} {f.code}" for flags in t.checks.values() for f in flags],
    **table("variance_shares"),
    "regions": lambda t: dict(t.regions),
    **table("quality"),
    "unsure": lambda t: t.uncertainty and [e.importance for e in t.uncertainty.rhale.values()],
    "diagnosis": lambda t: t.uncertainty and t.uncertainty.diagnosis,
}
VARIANCE_SHARES: Table = {
    "parts": lambda v: [p.name for p in v.parts],
    "shares": lambda v: [p.share for p in v.parts],
    "errors": lambda v: [p.std_error for p in v.parts],
    **table("drawn=as_drawn,variance"),
}
REGIONS: Table = {
    "rules": lambda r: list(r.rules),
    "rows": lambda r: [n.count for n in r.nodes],
    "splits": lambda r: [[s.share, s.share_error, s.p_value, s.stability] for s in r.splits],
    "scores": lambda r: [r.scores.whole, r.scores.within, *r.scores.regions],
    "values": lambda r: [e.value for e in r.effects],
}
INTERACTIONS: Table = {
    "pairs": lambda i: [f"{p.feature_0} {p.feature_1}" for p in i.pairs],
    "h2": lambda i: [[p.h2, p.h2_unnormalized, p.std_error] for p in i.pairs],
    "others": lambda i: [[p.ale_strength, p.depends_01, p.depends_10] for p in i.pairs],
    "overall": lambda i: [o.h2_unnormalized for o in i.by_feature],
}
QUALITY: Table = {
    "kind": lambda q: q.kind,
    "measures": lambda q: [m.value for m in q.measures],
    **table("rows=rows,left_out"),
}


def read(key: str, what: Any, table: Table, *inner: tuple[str, str, Table]) -> Found:
    """Yield what a table says of a result, taken apart; then the same of its parts."""
    for name, of in table.items():
        yield from flat(f"{key}/{name}", of(what))
    for name, attribute, its in inner:
        if (part := getattr(what, attribute)) is not None:
            yield from read(f"{key}/{name}", part, its)


@singledispatch
def parts(what: Any, key: str) -> Found:
    """Yield a result's keys and values; what is no result is one value."""
    if hasattr(what, "to_numpy"):
        yield from flat(key, {str(k): what[name].to_numpy() for k, name in enumerate(what)})
    elif isinstance(what, np.ndarray) or not isinstance(what, (Mapping, list, tuple)):
        yield key, plain(what)
    elif isinstance(what, Mapping):
        for name, value in what.items():
            yield from flat(f"{key}/{name}", value)
    elif what and not any(_single(v) for v in what):
        for k, value in enumerate(what):
            yield from flat(f"{key}/{k}", value)
    else:
        yield key, plain(np.array(what, dtype=object))


def _single(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, np.generic))


@parts.register
def _(what: sd.Statistics, key: str) -> Found:
    for line in what.lines:
        yield from read(f"{key}/{line.feature}", line, STATISTIC)


@parts.register
def _(what: sd.NullDistribution, key: str) -> Found:
    yield from flat(key, dict(what.draws))


@parts.register
def _(what: sd.Checks, key: str) -> Found:
    yield f"{key}/flags", len(what)
    for k, flag in enumerate(what):
        yield from read(f"{key}/{k}", flag, FLAG)


@parts.register
def _(what: ReportContent, key: str) -> Found:
    for k, section in enumerate(what.sections):
        yield from read(f"{key}/{k}", section, TOLD)


INNER: dict[type, tuple[tuple[str, str, Table], ...]] = {
    sd.Effect: (
        *(("bins", "bins", BINS), ("levels", "levels", LEVELS), ("kept", "rows", KEPT)),
        *(("curves", "curves", CURVES), ("missing", "missing_point", MISSING)),
        ("pairs", "swap_score", SCORE),
    ),
    sd.Surface: (("cells", "cells", CELLS),),
    sd.Importance: (("local", "local", LOCAL),),
}
"""Parts of results: their names, their attributes and their tables."""
for kind, table in {
    sd.Effect: EFFECT,
    sd.Surface: SURFACE,
    sd.Importance: IMPORTANCE,
    sd.MultiModelEffect: EFFECT_OF_MODELS,
    sd.MultiModelSurface: SURFACE_OF_MODELS,
    sd.MultiModelImportance: IMPORTANCE_OF_MODELS,
    sd.Diagnosis: DIAGNOSIS,
    sd.VarianceDecomposition: SPLIT,
    sd.HeterogeneityTest: TEST,
    ElevatedRegion: RISE,
    Check: FLAG,
    Rank: RANK,
    ImportanceRank: IMPORTANCE_RANK,
    ModelsRank: MODELS_RANK,
    ModelsImportanceRank: MODELS_IMPORTANCE_RANK,
    ModelSection: TOLD,
    sd.VarianceShares: VARIANCE_SHARES,
    sd.Regions: REGIONS,
    sd.Interactions: INTERACTIONS,
    Quality: QUALITY,
}.items():
    inner = INNER.get(kind, ())
    parts.register(kind, lambda what, key, t=table, inner=inner: read(key, what, t, *inner))


def flat(key: str, what: Any) -> Found:
    """Yield keys and plain values of anything."""
    yield from parts(what, key)


def plain(what: Any) -> Any:
    """Return a value as JSON has it: long arrays as some of their entries, their sum and their sum of squares.

    Examples
    --------
    >>> plain(np.array([1.5, np.nan])), plain(3), plain(None)
    ([1.5, 'nan'], 3, None)
    >>> plain(np.arange(100.0))["sum"]
    4950.0
    """
    array = np.asarray(what)
    if array.ndim == 0:
        return _entry(array.item() if array.dtype.kind in "biuf" else what)
    entries = array.ravel()
    if entries.size <= LONG:
        listed = [_entry(v) for v in entries.tolist()] if array.dtype.kind != "M" else None
        listed = [str(v) for v in entries] if listed is None else listed
        return listed if array.ndim == 1 else {"shape": list(array.shape), "at": listed}
    places = np.linspace(0, entries.size - 1, SHOWN).round().astype(int)
    some: dict[str, Any] = {"shape": list(array.shape)}
    if array.dtype.kind in "biuf":
        finite = entries[np.isfinite(entries)].astype(float)
        some |= {"finite": finite.size, "sum": math.fsum(finite), "squares": math.fsum(finite**2)}
    return {**some, "at": plain(entries[places])}


def _entry(value: Any) -> Any:
    """Return one entry as JSON has it."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def compute(cases: Sequence[str] = ()) -> dict[str, Any]:
    """Return all results, or those of some cases: values by key.

    Notes
    -----
    Linear algebra has one thread, for the order of sums depends on how many there are. The clock stands still: how many
    rows a slow model gets in a call depends on its speed, and so does the number of calls.
    """
    from threadpoolctl import threadpool_limits

    from tools.snapshot_cases import CASES

    found: dict[str, Any] = {}
    still = mock.patch("time.perf_counter", return_value=0.0)
    with warnings.catch_warnings(), threadpool_limits(1), still:
        warnings.simplefilter("ignore")
        for case in cases or CASES:
            for name, what in CASES[case]():
                for key, value in flat(f"{case}/{name}", what):
                    if key in found:
                        raise ValueError(f"two values have the key {key}")
                    found[key] = value
    return found


def versions() -> dict[str, str]:
    """Return the versions of the libraries that numbers depend on."""
    return {name: import_module(name).__version__ for name in LIBRARIES}


_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
"""A number, and no digit in a name such as x1."""


def texts() -> dict[str, list[str]]:
    """Return the numbers that committed pages show, in order, by page and place.

    Notes
    -----
    The place of an output is its number among the page's outputs: lines and code above it may change.
    """
    found: dict[str, list[str]] = {}
    heading, seen = "", 0
    for line in (ROOT / "experiments" / "RESULTS.md").read_text("utf-8").splitlines():
        if line.startswith("#"):
            heading, seen = line.lstrip("# "), seen + 1
        numbers = found.setdefault(f"RESULTS/{seen}", [])
        if line != heading:
            numbers += _NUMBER.findall(line)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for k, text in enumerate(outputs(path.read_text("utf-8"))):
            found[f"{path.relative_to(ROOT).as_posix()}/{k}"] = _NUMBER.findall(text)
    return found


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float = 0.0
) -> list[str]:
    """Return a line for each key whose values differ, or that only one of both has.

    Parameters
    ----------
    old, new : mapping of str to value
    tolerance : float
        Numbers a, b may differ by so much times max(1, |a|, |b|): many numbers are of order 1, and a spread of rounding
        errors is no number to compare.

    Examples
    --------
    >>> differences({"a": [1, 2.0], "b": "x"}, {"a": [1, 2.1], "b": "x"})
    ['a: 2.0 is now 2.1']
    >>> differences({"a": 2.0}, {"a": 2.0 + 1e-12}, 1e-9)
    []
    """
    lines = [f"{key}: is gone" for key in old if key not in new]
    lines += [f"{key}: is new" for key in new if key not in old]
    for key in old:
        if key in new:
            lines += [f"{key}: {a} is now {b}" for a, b in _unequal(old[key], new[key], tolerance)]
    return lines


def _unequal(old: Any, new: Any, tolerance: float) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of values that differ, the smallest that do."""
    if isinstance(old, Mapping) and isinstance(new, Mapping) and list(old) == list(new):
        for name in old:
            yield from _unequal(old[name], new[name], tolerance)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for a, b in zip(old, new, strict=True):
            yield from _unequal(a, b, tolerance)
    elif isinstance(old, float) and isinstance(new, float):
        if abs(old - new) > tolerance * max(1.0, abs(old), abs(new)):
            yield old, new
    elif type(old) is not type(new) or old != new:
        yield old, new


def write(path: Path, values: Mapping[str, Any]) -> None:
    """Write values as JSON, one key a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    dumped = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in values.items())
    path.write_text("{\n" + ",\n".join(dumped) + "\n}\n", encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Return the values of a file."""
    return json.loads(path.read_text("utf-8"))


def main() -> int:
    """Write, or compare."""
    reader = argparse.ArgumentParser(prog="python -m tools.snapshot")
    reader.add_argument("case", nargs="*")
    reader.add_argument("--write", action="store_true")
    reader.add_argument("--tolerance", type=float, default=0.0)
    asked = reader.parse_args()
    results = {"versions": versions(), **compute(asked.case)}
    if asked.write:
        before = load(RESULTS) if asked.case and RESULTS.is_file() else {}
        write(RESULTS, {**before, **results})
        write(TEXTS, texts())
        return 0
    known = load(RESULTS)
    if asked.case:
        known = {k: v for k, v in known.items() if k.split("/")[0] in {*asked.case, "versions"}}
    lines = differences(known, results, asked.tolerance) + differences(load(TEXTS), texts())
    print("\n".join(lines) or f"{len(known)} results, all as they were")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
