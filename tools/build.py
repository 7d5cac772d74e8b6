"""Build the source distribution and the wheel into `dist`, and check them.

    python -m tools.build                # `make build`
    python -m tools.build --tag v1.2.3   # a release: version, changelog and CITATION.cff must agree with the tag

The wheel is built from the source distribution. Two builds of the same files with the same hatchling have the same
bytes, wherever and whenever they are made.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def release_faults(tag: str, root: Path = ROOT) -> list[str]:
    """Return what does not agree with the tag of a release; nothing if all is ready."""
    version = tag.removeprefix("v")
    code = (root / "src" / "skedasis" / "__init__.py").read_text("utf-8")
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    citation = (root / "CITATION.cff").read_text("utf-8")
    dated = _found(rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$", changes)
    cases = {
        "the tag": (f"v{version}", tag),
        "__version__ in src/skedasis/__init__.py": (
            version,
            _found(r'^__version__ = "(.+)"$', code),
        ),
        "version in CITATION.cff": (version, _found(r"^version: (.+)$", citation)),
        f"the heading '## [{version}] - YYYY-MM-DD' in CHANGELOG.md": ("a date", dated),
        "date-released in CITATION.cff": (
            dated or "that date",
            _found(r"^date-released: (.+)$", citation),
        ),
    }
    return [
        f"{what}: got {got or 'nothing'}, expected {expected}"
        for what, (expected, got) in cases.items()
        if got != expected and not (expected == "a date" and got)
    ]


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip("\"'") if found else ""


def build(folder: Path, root: Path = ROOT) -> list[Path]:
    """Build both archives into an empty folder, and let twine check them; return their paths.

    Raises
    ------
    subprocess.CalledProcessError
        If an archive cannot be built, or twine finds a fault.
    """
    shutil.rmtree(folder, ignore_errors=True)
    # A date of the environment would change the bytes.
    own = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    # In this environment, whose hatchling the tests have used.
    command = ["build", "--no-isolation", "--outdir", str(folder), str(root)]
    subprocess.run([sys.executable, "-m", *command], check=True, env=own)
    archives = sorted(folder.iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *archives], check=True)
    return archives


def main(args: list[str] | None = None) -> int:
    """Build and check; return 1 if something does not agree with the tag, or is not a valid archive."""
    parser = argparse.ArgumentParser(description="Build the package into a folder, and check it.")
    parser.add_argument("--out", type=Path, default=DIST)
    parser.add_argument("--tag", default="", help="the tag of a release, such as v1.2.3")
    options = parser.parse_args(args)
    faults = release_faults(options.tag) if options.tag else []
    if faults:
        print(*faults, sep="\n", file=sys.stderr)
        return 1
    try:
        archives = build(options.out)
    except subprocess.CalledProcessError as error:
        print(f"{error.cmd[2]} has failed", file=sys.stderr)
        return 1
    for archive in archives:
        print(hashlib.sha256(archive.read_bytes()).hexdigest(), archive.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
