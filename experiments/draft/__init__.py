"""A draft on the uncertainty of ALE: variance and standard error as guides of trust, and the choice of bins."""
