"""Rows that do not fit in memory: their source, passes over it, and a data set that is known by what these find."""
