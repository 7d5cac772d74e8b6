"""The engine: from `explain` through planning, the loop over batches and second rounds to results; start in `explain`."""
