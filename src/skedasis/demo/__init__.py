"""Demonstration: `skedasis demo` fits two models, explains them, and writes a report."""
