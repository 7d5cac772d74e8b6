"""Each group of tasks in a process of its own, both libraries in the same one.

How the C library's allocator treats large arrays depends on which have been freed before: the same
scikit-learn call takes 0.4 or 0.7 seconds. In a fresh process a group's times depend neither on the
groups before it nor on ``--only``.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from benchmarks.lines import Alone, Growth, Line, Space, Speed
from benchmarks.problem import Settings
from benchmarks.tasks import measure
from benchmarks.timing import Took

KINDS: dict[str, type[Line]] = {kind.__name__: kind for kind in (Speed, Space, Alone, Growth)}


def measure_apart(settings: Settings, groups: list[str]) -> Iterator[Line]:
    """Measure the groups one after the other, and yield each line as soon as it is there."""
    for group in groups:
        task = json.dumps({"settings": asdict(settings), "group": group})
        command = [sys.executable, "-m", "benchmarks.apart", task]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 (no shell)
            assert child.stdout is not None
            yield from map(_read, child.stdout)
        if child.returncode:
            raise RuntimeError(f"{group}: got exit status {child.returncode}, expected 0")


def _read(line: str) -> Line:
    found = json.loads(line)
    kind = KINDS[found.pop("kind")]
    times = {name: _times(found[name]) for name in ("ours", "theirs", "took") if name in found}
    return kind(**{**found, **times})


def _times(found: Any) -> Any:
    """Return seconds, of one run or of several, from JSON."""
    if isinstance(found, list):
        return [_times(one) for one in found]
    return None if found is None else Took(**found)


def main(task: str) -> None:
    """Measure one group; print its lines as JSON."""
    # PyALE logs each feature's type; the peers' deprecations are not what is measured.
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    given = json.loads(task)
    for line in measure(Settings(**given["settings"]), [given["group"]]):
        print(json.dumps({"kind": type(line).__name__, **asdict(line)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
