"""The engine: from the arguments of `explain` to results. Its reading path begins in `explain`."""
