"""Write the page that states in figures what was tried against the library, and what held.

    python -m tools.reliability --run     # run the tests of all families, note what they came to (an hour)
    python -m tools.reliability --count   # count by family what is noted in build/trials.json, and store it
    python -m tools.reliability --write   # write docs/explanation/reliability.md from what is stored
    python -m tools.reliability           # say whether the page is what is stored

What is stored is in ``tests/long/reliability.json``. Other runs of tests can be noted, too: see `tools.trials`.
Coverage of intervals comes from the figures of the long simulations, the share of seen faults from ``tests/mutants``,
the share of executed lines from the last ``make test-all``, versions from the two environments.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from tools import lowest, mutants, trials

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
FIGURES = ROOT / "tests" / "long" / "figures.json"
COUNTS = ROOT / "tests" / "long" / "reliability.json"
MUTANTS = ROOT / "tests" / "mutants" / "results.json"

# ---------------------------------------------------------------------------------------- families


@dataclass(frozen=True)
class Family:
    """Tests of one kind: what they do, and what each case has to come to.

    Parameters
    ----------
    name : str
        The first cell of its row.
    does, holds : str
        What is done in a case, and what is demanded of it.
    tests : tuple of str
        Files, folders or tests.
    """

    name: str
    does: str
    holds: str
    tests: tuple[str, ...]


_ERROR = "the right answer, or one of the library's errors with its message"

FAMILIES: dict[str, tuple[Family, ...]] = {
    "Hostile input": (
        Family(
            "Data",
            "columns of every type, missing and infinite values, constants, huge offsets, tiny scales, wrong shapes, "
            "strange names, files with mixed line ends",
            _ERROR,
            (
                *("tests/unit/test_bad_input.py", "tests/unit/test_column_types.py"),
                *("tests/unit/test_magnitudes.py", "tests/unit/test_number_ranges.py"),
                *("tests/unit/test_containers.py", "tests/unit/test_readers.py"),
                *("tests/unit/test_shell_hostile_input.py", "tests/report/test_hostile_input.py"),
            ),
        ),
        Family(
            "Calls",
            "wrong arguments of functions, methods and commands",
            "a message that leads to a call that works",
            ("tests/unit/test_wrong_calls.py", "tests/unit/test_results_as_models.py"),
        ),
        Family(
            "Models",
            "models that return something else, keep or change their input, raise, call the library, or hang",
            _ERROR,
            ("tests/unit/test_hostile_models.py",),
        ),
        Family(
            "Saved results",
            "archives with other sizes, shapes, types, versions and values; changed bytes",
            "the same result, or an error that names the field",
            ("tests/unit/test_saving.py",),
        ),
        Family(
            "Text",
            "control characters, formulas and markup in names and levels",
            "text, on the terminal, in spreadsheets and pages",
            ("tests/unit/test_printed_text.py", "tests/report/test_hostile_input.py"),
        ),
    ),
    "Faults": (
        Family(
            "Writing",
            "a full disk at each write, a killed process, two processes with one file, for every writer",
            "the old file, or the new one whole",
            ("tests/unit/test_writing.py",),
        ),
        Family(
            "Surroundings",
            "read-only folders, no home, no fonts, other locales, closed streams, clocks that jump, damaged caches",
            "the same result, or one of the library's errors",
            ("tests/unit/test_surroundings.py", "tests/unit/test_kernel_cache.py"),
        ),
        Family(
            "Clusters",
            "workers that fail, are killed, or find no file",
            "the result of one machine, or the error of the worker",
            ("tests/unit/test_cluster.py",),
        ),
    ),
    "Laws": (
        Family(
            "Results",
            "save, load, pickle, copy, bin anew, intervals, contrasts, regions, figures, tables in random order",
            "the values of a new result; nothing changed; no call of the model",
            ("tests/laws/test_results_states.py",),
        ),
        Family(
            "All laws",
            "weights as repeated rows, batches, threads, order of rows, units, names, sums and more, for every method",
            "equal numbers, mostly to the last bit",
            ("tests/laws",),
        ),
        Family(
            "Comparisons",
            "closed forms, brute force, the papers' examples, and ten other libraries, on the same inputs",
            "equal numbers within the stated rounding",
            ("tests/reference",),
        ),
    ),
}


@dataclass
class Count:
    """What the tests of a family came to: their number, passed random examples, and what they counted themselves."""

    passed: int = 0
    skipped: int = 0
    failed: int = 0
    examples: int = 0
    tried: dict[str, int] = field(default_factory=dict)

    def add(self, trial: trials.Trial) -> None:
        """Count a test."""
        self.passed += trial.outcome == "passed"
        self.skipped += trial.outcome == "skipped"
        self.failed += trial.outcome == "failed"
        self.examples += trial.examples
        for what, number in trial.tried.items():
            self.tried[what] = self.tried.get(what, 0) + number


def counted(family: Family, noted: dict[str, trials.Trial]) -> Count:
    """Return what the tests of a family came to; raise if one of its places has no test."""
    count, places = Count(), dict.fromkeys(family.tests, 0)
    for nodeid, trial in noted.items():
        at = next((p for p in places if _is_at(nodeid, p)), None)
        if at is not None:
            places[at] += 1
            count.add(trial)
    empty = [place for place, tests in places.items() if not tests]
    if empty:
        raise LookupError(f"{family.name}: no test of {empty} is noted; run them with --run")
    return count


def _is_at(nodeid: str, place: str) -> bool:
    """Return whether a test is in a folder or file, or is a case of a test."""
    return nodeid == place or nodeid.startswith((f"{place}/", f"{place}::", f"{place}["))


def run(jobs: int) -> None:
    """Run the tests of all families, long ones included, and note what they come to."""
    trials.KEPT.unlink(missing_ok=True)  # it may note tests that are no more
    places = dict.fromkeys(place for family in families() for place in family.tests)
    args = ["-q", "-n", str(jobs), "-m", "", "-p", "no:cacheprovider", "-p", "tools.trials"]
    code = pytest.main([*args, *places])
    if code != pytest.ExitCode.OK:
        sys.exit(f"pytest ended with {code!r}")


# ----------------------------------------------------------------------------- versions and coverage

LIBRARIES = (
    *("numpy", "scipy", "narwhals", "matplotlib", "numba", "pandas", "polars", "pyarrow"),
    *("scikit-learn", "lightgbm", "xgboost-cpu", "catboost", "torch", "onnxruntime", "jax"),
    *("keras", "skops", "dask"),
)
_ASK = """
import json, platform, sys
from importlib import metadata
found = {"Python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def versions(python: Path) -> dict[str, str]:
    """Return the versions of Python and of the libraries in an environment; none where there is none."""
    if not python.exists():
        return {}
    command = [str(python), "-c", _ASK, *LIBRARIES]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout))


def executed_lines() -> str | None:
    """Return the share of lines and branches that the last `make test-all` executed, in percent, or None."""
    command = [sys.executable, "-m", "coverage", "report", "--format=total", "--precision=1"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    total = found.stdout.strip()
    return total if re.fullmatch(r"[\d.]+", total) else None


# ---------------------------------------------------------------------------------------- the file


@dataclass
class Store:
    """What the page is made of and no committed file has otherwise."""

    counts: dict[str, Count]
    newest: dict[str, str]
    lowest: dict[str, str]
    executed: str | None

    @classmethod
    def read(cls) -> Store:
        """Return what is stored; nothing where there is no file."""
        if not COUNTS.exists():
            return cls({}, {}, {}, None)
        kept = json.loads(COUNTS.read_text(encoding="utf-8"))
        counts = {name: Count(**count) for name, count in kept.pop("counts").items()}
        return cls(counts, **kept)

    def write(self) -> None:
        """Write the file."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        COUNTS.write_text(text + "\n", encoding="utf-8")


def families() -> Iterator[Family]:
    """Yield all families."""
    for group in FAMILIES.values():
        yield from group


# ---------------------------------------------------------------------------------------- the page

HEAD = """# Reliability in figures

What was tried against the library, and what held. `python -m tools.reliability --run` runs the tests behind this page
and counts their cases; `--write` writes it. A case that does not hold fails a test, so the tables state what was tried.
What does not hold is listed [at the end](#what-is-not-promised).
"""

TAIL = """
## What is not promised

- A model is a program. One that hangs within a call cannot be ended by `max_seconds`, which is looked at between
  calls; an interrupt (Ctrl-C) ends the run as soon as the model's own code lets it.
- A model file is a program, too: [open what you trust](../guides/shell.md#which-files-are-safe-to-open). A file of
  pickles is not loaded unless you ask for that.
- Intervals of bins that were chosen on the same rows cover less than they state (the last rows of the table above).
- Intervals of the heterogeneity score cover less than they state with heavy tails or few rows
  ([simulations](heterogeneity.md#error-and-interval) of independent features): 91 to 96 % for products of uniform,
  normal and two-valued features with 500 rows or more, 79 to 95 % for exponential, t₅ and lognormal × sign, and 41 to
  84 % for products with t₃, Pareto(3) or two lognormal features, with 500 and 2,000 rows. The check `few_pairs` does
  not tell which of them to trust.
- The tests run on Linux. Nothing is known to be wrong elsewhere, and nothing here shows that it is right.
"""


@dataclass(frozen=True)
class Coverage:
    """Simulations of one kind of interval: a row of the table.

    Parameters
    ----------
    what : str
        The kind of interval.
    tests : str
        A regular expression for the names of the simulations' tests.
    figure : str
        One for the names of their figures.
    """

    what: str
    tests: str
    figure: str


INTERVALS = (
    Coverage("curves, each point", r"interval_coverage.*intervals_and_bands", "each"),
    Coverage(
        "curves, simultaneous bands", r"interval_coverage.*intervals_and_bands", "all at once"
    ),
    Coverage("surfaces, each cell", r"surface_errors", "each|cells"),
    Coverage("surfaces, simultaneous bands", r"surface_errors", "all at once"),
    Coverage("contrasts, by formula", r"contrast_coverage.*analytic", "mean"),
    Coverage("contrasts, bootstrap", r"contrast_coverage.*bootstrap", "mean"),
    Coverage("changes, by formula", r"change_coverage.*test_intervals_cover\b", "analytic"),
    Coverage("changes, bootstrap", r"change_coverage.*bootstrap", "bootstrap"),
    Coverage("importances", r"pfi_coverage", "held"),
    Coverage("statistics of ALE", r"ale_statistics_coverage.*intervals", "ALE.*|NALED"),
    Coverage(
        "heterogeneity score, light tails, 2,000 rows or more",
        r"test_heterogeneity_score.*intervals_cover",
        "held",
    ),
    Coverage("changes, data with long tails", r"change_coverage.*long_tails", "analytic"),
    Coverage("curves, bins chosen on the same rows", r"bins_that_were_chosen", "each"),
)
TESTS = (
    Coverage("Theorem 1: no interaction, no alarm", r"theorem1.*p_values", "rejected at 5 %"),
    Coverage("statistics of ALE: no effect", r"ale_statistics.*p_values", ".*rejected at 5 %"),
    Coverage("regions: none in noise", r"regions_null.*(noise|walks|several)", "regions"),
)


def _shares(rows: Iterable[Coverage]) -> Iterator[str]:
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))
    for row in rows:
        of = []
        for key, figure in kept.items():
            test, _, name = key.rpartition(" :: ")
            if re.search(row.tests, test) and re.fullmatch(row.figure, name):
                of.append(figure)
        if not of:
            raise LookupError(f"{row.what}: no figure of tests/long/figures.json has this name")
        values = [f["value"] for f in of]
        draws = sum(f["draws"] for f in of)
        spread = (min(values), statistics.median(values), max(values))
        yield (
            f"| {row.what} | {len(of)} | {draws:,} | "
            + " | ".join(f"{v:.3f}" for v in spread)
            + " |"
        )


def _row(family: Family, count: Count) -> str:
    said = [f"{number:,} {words}" for words, number in count.tried.items()]
    if count.examples:
        said.append(f"{count.examples:,} random examples")
    said.append(f"{count.passed:,} test{'s' if count.passed != 1 else ''}")
    cells = (family.name, family.does, family.holds, ", ".join(said))
    return "| " + " | ".join(cells) + " |"


def page(store: Store) -> str:
    """Return the page."""
    lines = [HEAD]
    for title, group in FAMILIES.items():
        lines += [f"## {title}", "", "| | a case | comes to | tried |", "|---|---|---|---|"]
        lines += [_row(family, store.counts[family.name]) for family in group]
        lines += [""]
    lines += ["## Intervals and tests", ""]
    lines += ["How often 95 % intervals held the true value in simulated data sets:", ""]
    head = ["simulations", "data sets", "lowest", "median", "highest"]
    lines += ["| interval | " + " | ".join(head) + " |", "|---" * 6 + "|", *_shares(INTERVALS), ""]
    lines += ["How often tests at 5 % rejected what is true:", ""]
    lines += ["| test | " + " | ".join(head) + " |", "|---" * 6 + "|", *_shares(TESTS), ""]
    lines += ["## Faults that the tests see", "", *_mutants(), ""]
    if store.executed is not None:
        lines += [
            f"The tests execute {store.executed} % of the lines and branches of the package.",
            "",
        ]
    lines += [
        "## Versions",
        "",
        "The versions with which all of this ran, and the lowest ones that are tested:",
    ]
    lines += ["", "| | newest | lowest |", "|---|---|---|"]
    lines += [
        f"| {name} | {version} | {store.lowest.get(name, '')} |"
        for name, version in store.newest.items()
    ]
    return "\n".join(lines) + "\n" + TAIL


_CHANGES = """
`make mutants` changes the code at random places, such as a comparison, a constant or an argument, and runs tests that
execute the change. Tests were added for some of the changes that none of them noticed: of other changes fewer may be
seen than the table says. `tests/mutants/RESULTS.md` lists those that are not seen.

| package | changes | seen | share | 95 % interval |
|---|---|---|---|---|"""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _mutants() -> Iterator[str]:
    """Yield how many faults the tests see, by package."""
    yield _CHANGES.lstrip()
    for package, found in json.loads(MUTANTS.read_text(encoding="utf-8")).items():
        count = sum(of[0] for of in found["modules"].values())
        seen = sum(of[1] for of in found["modules"].values())
        low, high = mutants.wilson(seen, count)
        yield f"| {package} | {count} | {seen} | {_percent(seen / count)} | {_percent(low)} to {_percent(high)} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Run families, write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(prog="python -m tools.reliability", description=__doc__)
    parser.add_argument("--run", action="store_true", help="run the tests of all families")
    parser.add_argument("--count", action="store_true", help="store what is noted")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args(argv)
    if args.run:
        run(args.jobs)
    store = Store.read()
    if args.run or args.count:
        noted = trials.read()
        store.counts = {family.name: counted(family, noted) for family in families()}
        store.newest, store.lowest = versions(Path(sys.executable)), versions(lowest.PYTHON)
        store.executed = executed_lines() or store.executed
        store.write()
        failed = [name for name, count in store.counts.items() if count.failed]
        if failed:
            sys.exit("These have tests that fail: " + ", ".join(failed))
    if not store.counts:
        sys.exit("Nothing is counted yet: python -m tools.reliability --run")
    text = page(store)
    if args.write:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(
            "docs/explanation/reliability.md is not up to date: python -m tools.reliability --write"
        )


if __name__ == "__main__":
    main()
