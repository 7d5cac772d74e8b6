"""Derivatives of models: finite differences, and closed forms of scikit-learn's models."""
