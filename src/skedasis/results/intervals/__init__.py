"""Intervals of effects and surfaces: analytic, and by a weighted bootstrap.

`analytic` checks the options of `interval` and chooses the estimator, for effects. `bootstrap` computes effects for
many vectors of row weights at once. `surfaces` does both for surfaces.
"""
