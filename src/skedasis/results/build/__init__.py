"""Construction of results from moments: accumulated effects, PDP, M-plots, surfaces, rebinning."""
