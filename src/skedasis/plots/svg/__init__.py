"""Renderer of figure specifications as SVG: figures of `explore()`, notebooks and reports."""
