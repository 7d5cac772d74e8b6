"""Mutations of exported programs: none ends the process, and each is predicted or refused."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.hostile_files import Record, counts, faults, of_bytes, of_json, outcomes

pytestmark = pytest.mark.torch


def mutations(n: int, seed: int) -> list[tuple[str, bytes]]:
    """Return a valid file and n mutations: of the archive, its program and its weights."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    layers = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    module = torch.nn.Sequential(*layers).eval()
    rows = ({0: torch.export.Dim("rows", min=2)},)
    made = io.BytesIO()
    program = torch.export.export(module, (torch.zeros(4, 3),), dynamic_shapes=rows)
    torch.export.save(program, made)
    with zipfile.ZipFile(made) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    rng = random.Random(seed)
    files = [(".pt2", made.getvalue())]
    for _ in range(n):
        changed, kind = dict(parts), rng.random()
        if kind < 0.2:
            files.append((".pt2", of_bytes(made.getvalue(), rng)))
            continue
        if kind < 0.8:
            name = rng.choice([name for name in parts if name.endswith(".json")])
            changed[name] = json.dumps(of_json(json.loads(parts[name]), rng)).encode()
        else:
            name = rng.choice(list(parts))
            changed[name] = of_bytes(parts[name], rng)
        archive_bytes = io.BytesIO()
        with zipfile.ZipFile(archive_bytes, "w") as archive:
            for name, raw in changed.items():
                archive.writestr(name, raw)
        files.append((".pt2", archive_bytes.getvalue()))
    return files


@pytest.mark.slow
def test_mutations_are_predicted_or_refused(tmp_path: Path, record_property: Record) -> None:
    found = outcomes(mutations(40, 0), tmp_path, 3)
    record_property("tried", counts(found))
    assert not faults(found)


@pytest.mark.long
def test_hundreds_of_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    found = outcomes(mutations(500, 1), tmp_path, 3)
    record_property("tried", counts(found))
    assert not faults(found)
