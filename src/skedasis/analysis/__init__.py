"""Analyses that combine several passes: `diagnose`, and `null_distribution` of effects from refits."""
