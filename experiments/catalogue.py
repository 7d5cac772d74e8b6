"""All experiments, in the papers' order."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from experiments.experiment import Experiment

CATALOGUE: dict[str, tuple[str, ...]] = {
    "uale": (
        "figure_1",
        "formulas",
        "bin_search",
        "correlated_a",
        "correlated_b",
        "correlated_c",
        "piecewise_linear",
        "non_linear",
        "california",
    ),
    "rhale": (
        "introduction",
        "accumulated_std",
        "running_example",
        "running_example_pdp",
        "theorem",
        "cost_of_bins",
        "efficiency",
        "correlated_a",
        "correlated_b",
        "correlated_c",
        "piecewise_linear",
        "non_linear",
        "california_effects",
        "california_bins",
    ),
    "draft": ("case_1", "case_2", "case_3", "case_4"),
    "entropy": (
        "illustrations",
        "propositions",
        "classification",
        "regression",
        "border",
        "concrete",
        "redundancy",
        "diabetes",
        "diabetes_curves",
        "retraining",
    ),
    "ale_vs_pdp": (
        "example_1",
        "example_2",
        "second_order",
        "modified",
        "munich",
        "model_rows",
        "runtime",
    ),
}
"""The experiments' files, by paper."""


def experiment(paper: str, name: str) -> Experiment:
    """Return one of them; its module is imported only now."""
    return cast("Experiment", import_module(f"experiments.{paper}.{name}").EXPERIMENT)


def everything() -> list[Experiment]:
    """Return all of them."""
    return [experiment(paper, name) for paper, names in CATALOGUE.items() for name in names]
