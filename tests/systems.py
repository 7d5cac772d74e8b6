"""What tests need of the system that runs them: marks that skip a test, with the reason, where it is missing."""

from __future__ import annotations

import os
import sys

import pytest

posix = pytest.mark.skipif(
    not hasattr(os, "fork"),
    reason="Windows has no such signals, pipes, terminals, permissions or names of files",
)
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
