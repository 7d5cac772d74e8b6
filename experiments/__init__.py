"""Experiments behind claims: each is a module that is run, and writes its tables and figures to `results`."""
