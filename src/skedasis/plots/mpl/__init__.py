"""Renderer of figure specifications with matplotlib: the functions behind `plot()`."""
