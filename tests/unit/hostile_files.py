"""Mutations of model files, and what becomes of them in a process with limited memory and time.

`outcomes` starts a worker (this file as a program), which loads and predicts one file after the other. If a file ends
it, or takes too long, another worker goes on with the next file.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

try:
    import resource
except ImportError:  # Windows
    resource: Any = None

Record: TypeAlias = Callable[[str, object], None]
"""Of pytest's fixture `record_property`."""

ROOT = Path(__file__).parents[2]
SECONDS, ADDRESSES, RESIDENT = 15, 6 << 30, 1 << 20
"""Limits of a file: seconds, bytes of address space, additional KiB of memory."""

NUMBERS = (
    *("0", "-1", "1", "2", "7", "-2", "2147483647", "2147483648", "-2147483648", "4294967296"),
    *(
        "100000000",
        "9223372036854775807",
        "9223372036854775808",
        "1e400",
        "-1e400",
        "nan",
        "1e-400",
    ),
    *("0.5", "", "99999999999999999999999", "inf", "-inf", "1e38", "65536", "null", "0x10", "[]"),
)
VALUES = (
    *(0, -1, 1, 2, 7, -2, 2**31 - 1, 2**31, -(2**31), 2**32, 10**8, 2**63 - 1, 2**63, 1e400),
    *(float("nan"), 0.5, "", "0", "-1", "100000000", "x", None, True, [], {}, [0], 1e38, 65536),
)


# --- mutations ------------------------------------------------------------------------------------


def of_bytes(raw: bytes, rng: random.Random) -> bytes:
    """Return a file with a few bytes flipped, deleted, repeated, moved or cut off."""
    made = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 3, 10))):
        at, size = rng.randrange(max(len(made), 1)), rng.choice((1, 2, 4, 8, 40, 400))
        kind = rng.randrange(6)
        if kind == 0 and made:
            made[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and made:
            made[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 0x2D, 0x39))
        elif kind == 2:
            del made[at : at + size]
        elif kind == 3:
            made[at:at] = made[at : at + size]
        elif kind == 4:
            made[at : at + size] = bytes(rng.choice((0, 0xFF)) for _ in range(size))
        elif rng.random() < 0.3:
            del made[at:]
    return bytes(made)


def of_text(text: str, rng: random.Random) -> str:
    """Return a text with a number replaced, or lines removed, repeated or swapped."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        kind = rng.randrange(10)
        if kind < 6:
            spans = [m.span() for m in re.finditer(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", text)]
            a, b = rng.choice(spans or [(0, 0)])
            text = text[:a] + rng.choice(NUMBERS) + text[b:]
            continue
        lines = text.split("\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        if kind == 6:
            del lines[i]
        elif kind == 7:
            lines.insert(j, lines[i])
        elif kind == 8:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            words = lines[i].split(" ")
            k = rng.randrange(len(words))
            lines[i] = " ".join(words[:k] if rng.random() < 0.5 else [*words, *words[k:]])
        text = "\n".join(lines)
    return text


def of_json(document: Any, rng: random.Random) -> Any:
    """Return a JSON document with a few values replaced, removed, repeated or exchanged."""
    document = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = list(_places(document))
        if not places:
            break
        holder, key = rng.choice(places)
        kind = rng.randrange(8)
        if kind < 5:
            holder[key] = rng.choice(VALUES)
            if kind == 0 and isinstance(holder, list):
                holder.extend([holder[key]] * rng.choice((1, 5)))
        elif kind == 5:
            del holder[key]
        elif kind == 6:
            other, place = rng.choice(places)
            try:
                holder[key] = json.loads(json.dumps(other[place]))
            except (KeyError, IndexError):
                continue
        elif isinstance(holder, list):
            holder.insert(key, holder[key])
    return document


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the holder and key of each value in a JSON document; of a list of numbers, of three of them."""
    keys: Any = value if isinstance(value, dict) else range(len(value))
    keys = list(keys)
    if isinstance(value, list) and len(keys) > 3 and not isinstance(value[0], dict | list):
        keys = [keys[0], keys[len(keys) // 2], keys[-1]]
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list) and value[key]:
            yield from _places(value[key])


# --- outcomes -------------------------------------------------------------------------------------


def outcomes(files: list[tuple[str, bytes]], folder: Path, columns: int) -> list[str]:
    """Return what becomes of each file: "predicted", "refused: ...", or "fault: ...".

    Parameters
    ----------
    files : list of (suffix, content)
        The first is a valid file, with which the worker loads its libraries.
    folder : Path
        An empty folder.
    columns : int
        Number of columns of the rows that are predicted.
    """
    # The worker, too, imports this file, and should not wait for pytest.
    import pytest

    if sys.platform != "linux":
        pytest.skip("memory is limited, and measured, as on Linux")
    for i, (suffix, raw) in enumerate(files):
        (folder / f"{i}{suffix}").write_bytes(raw)
    names = [f"{i}{suffix}" for i, (suffix, _) in enumerate(files)]
    found: list[str] = []
    while len(found) < len(names):
        # The file after which a worker ended is done; the next worker begins with the valid file again.
        asked = names[len(found) :]
        answers = _of_one_worker([names[0], *asked] if found else asked, folder, columns)
        answers = answers[1:] if found else answers
        found.extend(answers)
        if not answers:
            return [*found, "fault, the valid file"]
    return found


def _of_one_worker(names: list[str], folder: Path, columns: int) -> list[str]:
    """Return the outcomes of files in one process, until it ends."""
    worker = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, str(columns), *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "OMP_NUM_THREADS": "1"},
    )
    assert worker.stdout is not None
    found: list[str] = []
    while len(found) < len(names):
        patience = SECONDS if found else 10 * SECONDS  # libraries are imported for the first file
        ready, _, _ = select.select([worker.stdout], [], [], patience)
        if not ready:
            found.append("fault, still running")
            break
        line = worker.stdout.readline().decode(errors="replace")
        if not line:
            code = worker.wait()
            found.append(f"fault, {signal.Signals(-code).name if code < 0 else f'exit {code}'}")
            break
        found.append(json.loads(line))
    worker.kill()
    worker.wait()
    worker.stdout.close()
    return found


def faults(found: list[str]) -> Counter[str]:
    """Return how often each fault was found."""
    return Counter(line for line in found if line.startswith("fault"))


def counts(found: list[str]) -> dict[str, int]:
    """Return how many files were tried, refused and predicted, for the figures on reliability."""
    others = found[1:]  # the first file is valid
    predicted, refused = others.count("predicted"), sum("refused: " in line for line in others)
    return {"changed files": len(others), "refused": refused, "predicted": predicted}


def _outcome(name: str, columns: int) -> str:
    """Load and predict a file, and return what became of it."""
    import numpy as np

    import skedasis as sd

    X = np.random.default_rng(0).normal(size=(3, columns))
    X[:, -1] = np.arange(3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        quantity = sd.prediction(name)
        quantity.at(X)
        sd.explain(quantity, X, 0, method=sd.PDP(grid=[0.0, 1.0]), progress=False)
        said = "predicted"
    except (sd.DataError, sd.ModelOutputError, sd.UnsupportedError) as error:
        shown = "predicted, refused" if isinstance(error, sd.ModelOutputError) else "refused"
        good = re.match(r"^.+: got .+, expected .+\. .+[.?!]$", str(error), re.DOTALL)
        said = f"{shown if good else 'fault, message'}: {error}"
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a fault
        said = f"fault, {type(error).__name__}: {str(error)[:300]}"
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"fault, {used >> 10} MB: {said}" if used > RESIDENT else said


def _work(columns: int, names: list[str]) -> None:
    """Write a line for each file."""
    out = os.fdopen(os.dup(1), "w")  # libraries write into the standard output
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for i, name in enumerate(names):
        said = _outcome(name, columns)
        if not i:  # after the imports, which may take much address space
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        out.write(json.dumps(said[:3000]) + "\n")
        out.flush()


_WIDE, _NARROW = ("categories_segments", "categories_sizes"), ("split_type", "default_left")
_FLAT = (
    *("left_children", "right_children", "parents", "split_indices", "categories"),
    *("categories_nodes", "feature_segments", "sorted_idx"),
)
_SINGLES = (
    *("split_conditions", "base_weights", "loss_changes", "sum_hessian", "leaf_weights"),
    "weights",
)


def ubj(value: Any, key: str = "") -> bytes:
    """Return a JSON document as binary JSON, with typed arrays where XGBoost writes them and the numbers fit."""
    if isinstance(value, dict):
        return b"{" + b"".join(_name(k) + ubj(v, k) for k, v in value.items()) + b"}"
    if isinstance(value, list):
        form = {
            **dict.fromkeys(_WIDE, "q"),
            **dict.fromkeys(_NARROW, "B"),
            **dict.fromkeys(_FLAT, "i"),
        }
        kind = "f" if key in _SINGLES else form.get(key)
        try:
            packed = struct.pack(f">{len(value)}{kind}", *value) if kind else None
        except (struct.error, OverflowError):  # the numbers do not fit
            packed = None
        if packed is not None:
            marker = {"q": b"L", "B": b"U", "i": b"l", "f": b"d"}[kind or ""]
            return b"[$" + marker + b"#L" + struct.pack(">q", len(value)) + packed
        return b"[#L" + struct.pack(">q", len(value)) + b"".join(map(ubj, value))
    if isinstance(value, str):
        return b"S" + _name(value)
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, int):
        return b"L" + struct.pack(">q", min(value, 2**63 - 1))
    return b"d" + struct.pack(">f", _single(value))


def _name(text: str) -> bytes:
    raw = text.encode()
    return b"L" + struct.pack(">q", len(raw)) + raw


def _single(value: float) -> float:
    return value if abs(value) < 3e38 or value != value else 3e38


if __name__ == "__main__":
    _work(int(sys.argv[1]), sys.argv[2:])
