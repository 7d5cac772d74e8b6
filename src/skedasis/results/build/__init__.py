"""Construction of results from moments: accumulated effects, PDP, M-plots, categorical features, surfaces, rebinning."""
