"""Files of formats 6 and 7, written by version 0.2.0 and by the first version of format 7, say what they said."""

from __future__ import annotations

import io
import json
import re
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.saved_fields import saved_kinds

ARCHIVE = Path(__file__).parent / "saved" / "files.tar.xz"

ADDED = {"accumulated_std", "another", "depends_on", "depends_on_error", "depends_on_share"} | {
    *("explained_error", "rise", "score_off_support", "spread")
}
"""Keys that documents of version 0.2.0 did not have."""

LATER = {
    "by_region",
    "by_region_error",
    "candidate",
    "drawn_regions",
    "level",
    "quantity_mean",
    "unsure",
}
"""Keys that documents of the first version of format 7 did not have, either."""

RENAMED = {"modulates_01": "depends_01", "modulates_10": "depends_10"}

TOTALS = {"model_rows": "effect_rows", "model_calls": "effect_calls"}
"""What counted the cost of the effect alone until provenances had totals, and the key that does since."""


@cache
def members() -> dict[str, bytes]:
    """Return the files by path."""
    with tarfile.open(ARCHIVE) as archive:
        files = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in files}  # pyright: ignore[reportOptionalMemberAccess]


def compare(found: Any, written: Any, where: str, *, old: bool) -> None:
    """Compare documents to the bit; those of format 6 but for what has another name or meaning since."""
    if isinstance(written, dict):
        names = {key: RENAMED.get(key, key) if old else key for key in written}
        if "model_rows" in written and "effect_rows" not in written:
            names |= TOTALS
            for kind in ("rows", "calls"):
                parts = ("model", "check", "score", "curve", "region_score")
                whole = sum(written.get(f"{part}_{kind}", 0) for part in parts)
                assert found[f"model_{kind}"] == whole, where
        more = found.keys() - names.values() - TOTALS.keys()
        assert more <= (ADDED | LATER if old else LATER), where
        for key in written.keys() - {"schema", "version"}:
            if old and key == "heterogeneity" and re.search(r"(curve|models\[\d\])$", where):
                # That of curves was accumulated, which has a name of its own now.
                assert not any(found[key]), where
                if found.get("accumulated_std") is not None:
                    assert found["accumulated_std"] == written[key], where
            else:
                compare(found[names[key]], written[key], f"{where}.{key}", old=old)
    elif isinstance(written, list):
        assert len(found) == len(written), where
        for k, (one, other) in enumerate(zip(found, written, strict=True)):
            compare(one, other, f"{where}[{k}]", old=old)
    elif old and written == "Ledger":
        assert found == "VarianceShares", where
    else:
        assert (type(found), found) == (type(written), written), where


def said(result: Any) -> Any:
    """Return the document of a result, or of each of several."""
    if isinstance(result, dict):
        return {str(key): said(one) for key, one in result.items()}
    return result.to_dict(rows=True)


@pytest.mark.parametrize("name", sorted(n for n in members() if n.endswith(".npz")))
def test_a_file_says_what_the_version_that_wrote_it_said(name, tmp_path):
    folder, _, file = name.partition("/")
    written = json.loads(members()[f"{folder}/documents.json"])[Path(file).stem]
    path = tmp_path / "result.npz"
    path.write_bytes(members()[name])
    compare(said(sd.load(path)), written, name, old=folder == "format_6")


def test_a_file_of_format_7_has_each_class():
    """There are no objects of the other classes, which others derive from, and none of a later class."""
    named = set()
    for name, content in members().items():
        if name.startswith("format_7/") and name.endswith(".npz"):
            with np.load(io.BytesIO(content)) as file:
                named |= set(re.findall(r'"\$": "([A-Z]\w+)"', str(file["header"])))
    own = {name for name, kind in saved_kinds().items() if kind.__module__.startswith("skedasis")}
    assert own - named == {
        "BinnedEffect",
        "Calibration",
        "CalibrationDeviation",
        "CalibrationPoint",
        "Comparison",
        "Drift",
        "DriftFeature",
        "DriftGroup",
        "DriftPart",
        "Effect",
        "EffectDifference",
        "ErrorBlocks",
        "Factor",
        "Factors",
        "Observed",
        "RatingTable",
        "Surface",
        "WeakSpot",
        "WeakSpots",
    }
