"""Analyses that need several passes."""
