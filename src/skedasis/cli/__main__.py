"""`python -m skedasis.cli`: the same as `skedasis`."""

from __future__ import annotations

from skedasis.cli import main

main()
