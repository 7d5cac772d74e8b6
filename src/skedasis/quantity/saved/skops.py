"""scikit-learn's models as skops writes them: a list of types and their numbers, of which only known types are made."""

from __future__ import annotations

import importlib.metadata
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.quantity.saved.checks import broken, library

_SAFE = (0, 12)
"""The first version without CVE-2025-54412 and CVE-2025-54413."""
SHOWN = 12
"""Types that an error lists; more would hide what to do."""


def skops(file: Path, trust: Sequence[str] = ()) -> Any:
    """Return the object in a file of skops.

    Parameters
    ----------
    file : Path
    trust : sequence of str
        Types that may be made besides those that skops knows to be harmless, by their full names.

    Raises
    ------
    DataError
        For a file with types that are neither known nor named, before any of them is imported; for other files and
        those that are cut off.
    """
    io = library("skops.io", file, "skops")
    _check_version(file)
    if not zipfile.is_zipfile(file):
        raise broken(file, "skops")
    try:
        strange = [str(name) for name in io.get_untrusted_types(file=file)]
    except Exception as error:
        # A file that is none of skops fails as it likes: a key, a type, a name that is not there.
        raise broken(file, "skops", error) from error
    refused = [name for name in strange if name not in trust]
    if refused:
        raise _untrusted(file, refused)
    try:
        # Only what the file needs: skops itself refuses a name that stands for nothing.
        return io.load(file, trusted=[name for name in trust if name in strange])
    except Exception as error:
        raise broken(file, "skops", error) from error


def _check_version(file: Path) -> None:
    """Refuse versions of skops whose own checks can be got around.

    Raises
    ------
    UnsupportedError
    """
    version = importlib.metadata.version("skops")
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if numbers < _SAFE:
        raise UnsupportedError(
            explained(
                f"model {str(file)!r}",
                f"skops {version}, which a file can make run code",
                f"skops {'.'.join(map(str, _SAFE))} or newer",
                "Upgrade it: pip install -U 'skedasis[skops]'",
            )
        )


def _untrusted(file: Path, refused: Sequence[str]) -> DataError:
    listed = ", ".join(refused[:SHOWN])
    more = f" and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
    return DataError(
        explained(
            f"model {str(file)!r}",
            f"types that skops does not know to be harmless: {listed}{more}",
            "known types, or ones that you name",
            "If you know who wrote the file, name each: "
            + " ".join(f"--trust {n}" for n in refused[:SHOWN]),
        )
    )
