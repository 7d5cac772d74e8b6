"""Predictive distributions of models."""
