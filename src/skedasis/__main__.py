"""`python -m skedasis`: the same as `skedasis`."""

from __future__ import annotations

from skedasis.cli import main

main()
