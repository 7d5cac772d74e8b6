"""Derivatives of models: finite differences, and closed forms for scikit-learn's models."""
