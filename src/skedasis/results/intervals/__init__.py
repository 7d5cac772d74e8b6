"""Intervals of effects and surfaces: analytic, and by a weighted bootstrap.

For effects, `analytic` checks the options of `interval` and chooses the estimator. The bootstrap has three parts:
`moments` has the moments of cells for many vectors of row counts, `statistics` computes effects from them, and
`bootstrap` chooses what replicates are computed from. `surfaces` has errors, replicates and intervals of surfaces.
"""
