"""Analyses that combine several passes: `diagnose`, and the null distribution of effects from refits (`chance`)."""
