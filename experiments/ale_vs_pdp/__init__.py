"""Comparison of ALE and PDP (Bodensteiner), a chapter of a seminar on the limitations of interpretable learning."""
