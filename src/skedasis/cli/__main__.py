"""`python -m skedasis.cli`: the same as `skedasis`."""

from __future__ import annotations

from skedasis.cli.commands import main

main()
