"""What benchmarks, experiments and tools replace by its dotted name exists, also after a module has moved."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_patched_names_exist():
    found = {
        name
        for folder in ("benchmarks", "experiments", "tools")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(
            r"""(?:mock\.patch|setattr)\(\s*["'](skedasis\.[\w.]+)""", path.read_text("utf-8")
        )
    }
    assert found
    for name in found:
        pkgutil.resolve_name(name)
