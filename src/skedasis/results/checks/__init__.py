"""Reliability checks, tests and decompositions of results."""
