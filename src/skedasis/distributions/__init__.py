"""Predictive distributions of models: of classes and of numbers, of single models and of mixtures."""
