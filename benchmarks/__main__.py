"""``python -m benchmarks``: measure, and print the table."""

from __future__ import annotations

import argparse
import json
import sys

from benchmarks.apart import measure_apart
from benchmarks.problem import MODELS, Settings
from benchmarks.table import as_json, show, watch
from benchmarks.tasks import GROUPS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--n", type=int, default=100_000, help="rows (default 100,000)")
    parser.add_argument("--d", type=int, default=10, help="features (default 10)")
    parser.add_argument("--n-repeats", type=int, default=7, help="timed runs of each (default 7)")
    parser.add_argument(
        "--only", action="append", metavar="GROUP", help=f"{', '.join(GROUPS)}; repeat"
    )
    parser.add_argument("--model", choices=tuple(MODELS), default="arithmetic")
    parser.add_argument(
        "--quick", "--smoke", action="store_true",
        help="few rows, two runs: shows that everything works and agrees; its ratios mean nothing",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a reach is missed")
    return parser


def _settings(given: argparse.Namespace) -> Settings:
    n, repeats = given.n, given.n_repeats
    if given.quick:
        n, repeats = min(n, 10_000), min(repeats, 2)
    return Settings(n, given.d, repeats, given.model, given.quick)


def main() -> int:
    """Run what the command line asks for; return the exit status."""
    given = _parser().parse_args()
    groups = given.only or list(GROUPS)
    unknown = [g for g in groups if g not in GROUPS]
    if unknown:
        print(f"--only: got {unknown}, expected some of {list(GROUPS)}", file=sys.stderr)
        return 2
    settings = _settings(given)
    rows = list(watch(measure_apart(settings, groups)))
    if given.json:
        print(json.dumps(as_json(settings, rows), indent=1))
    else:
        show(settings, rows)
    wrong = any(not row.agrees for row in rows)
    missed = given.strict and any(row.reached is False for row in rows)
    return int(wrong or missed)


if __name__ == "__main__":
    sys.exit(main())
