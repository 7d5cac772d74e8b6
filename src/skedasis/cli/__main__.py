"""Entry point of `python -m skedasis.cli`, which is the same as `skedasis`."""

from __future__ import annotations

from skedasis.cli import main

main()
