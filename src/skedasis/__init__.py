"""skedasis explains a fitted model: what each feature does, for whom that is not true, and how sure one can be.

A *quantity* is a scalar function of a row; a *method* turns it into an effect in three steps, plan, local, read; a
*result* evaluates, re-bins, tabulates, saves and plots itself without ever calling the model again.

Examples
--------
>>> import numpy as np
>>> import skedasis as sd
>>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
>>> e = sd.explain(lambda X: 3 * X[:, 0] * X[:, 1] + X[:, 1], X, "x1", method=sd.ALE(bins=4))
>>> e
<Effect of 'x1' on prediction: ALE, 4 bins, importance 0.6872, heterogeneity 1.01>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "ALE": "methods.ale",
    "AutoUniform": "binning",
    "BinningWarning": "errors",
    "Chance": "results.statistics.statistics",
    "DALE": "methods.dale",
    "DataError": "errors",
    "Diagnosis": "results.diagnosis",
    "Edges": "binning",
    "Effect": "results.effect",
    "EffectOfModels": "results.models.several",
    "Effects": "results.effects",
    "EffectsOfModels": "results.models.several",
    "Explorable": "plots.web.page",
    "Feature": "data.schema",
    "Greedy": "binning",
    "Importance": "results.importance",
    "ImportanceOfModels": "results.models.several_more",
    "HeterogeneityTest": "results.trust.heterogeneity",
    "ICE": "methods.pdp",
    "LeftOutWarning": "errors",
    "MPlot": "methods.mplot",
    "ModelOutputError": "errors",
    "Optimal": "binning",
    "PDP": "methods.pdp",
    "PFI": "methods.pfi",
    "Quantile": "binning",
    "RHALE": "methods.rhale",
    "Split": "results.trust.split",
    "Statistic": "results.statistics.statistics",
    "Statistics": "results.statistics.statistics",
    "Surface": "results.surfaces.surface",
    "SurfaceOfModels": "results.models.several_more",
    "TreeWarning": "errors",
    "Trust": "results.trust.flags",
    "UALE": "methods.rhale",
    "Uniform": "binning",
    "UnsupportedError": "errors",
    "chance": "analysis.chance",
    "compare": "plots.compare",
    "datasets": "",
    "diagnose": "analysis",
    "ensemble": "quantity.predictive.ensembles",
    "entropy": "quantity.uncertainty",
    "explain": "engine",
    "load": "results.io",
    "logit": "quantity.outputs",
    "loss": "quantity.loss",
    "nll": "quantity.uncertainty",
    "prediction": "quantity.outputs",
    "predictive_quantile": "quantity.uncertainty",
    "predictive_variance": "quantity.uncertainty",
    "probability": "quantity.outputs",
    "report": "report.build",
}
"""Where each public name lives. They are imported when they are first used (PEP 562)."""

__all__ = [
    "ALE",
    "DALE",
    "ICE",
    "PDP",
    "PFI",
    "RHALE",
    "UALE",
    "AutoUniform",
    "BinningWarning",
    "Chance",
    "DataError",
    "Diagnosis",
    "Edges",
    "Effect",
    "EffectOfModels",
    "Effects",
    "EffectsOfModels",
    "Explorable",
    "Feature",
    "Greedy",
    "HeterogeneityTest",
    "Importance",
    "ImportanceOfModels",
    "LeftOutWarning",
    "MPlot",
    "ModelOutputError",
    "Optimal",
    "Quantile",
    "Split",
    "Statistic",
    "Statistics",
    "Surface",
    "SurfaceOfModels",
    "Trust",
    "Uniform",
    "UnsupportedError",
    "__version__",
    "chance",
    "compare",
    "datasets",
    "diagnose",
    "ensemble",
    "entropy",
    "explain",
    "load",
    "logit",
    "loss",
    "nll",
    "prediction",
    "predictive_quantile",
    "predictive_variance",
    "probability",
    "report",
]

if TYPE_CHECKING:
    from skedasis import datasets
    from skedasis.analysis import chance, diagnose
    from skedasis.binning import AutoUniform, Edges, Greedy, Optimal, Quantile, Uniform
    from skedasis.data.schema import Feature
    from skedasis.engine import explain
    from skedasis.errors import (
        BinningWarning,
        DataError,
        LeftOutWarning,
        ModelOutputError,
        UnsupportedError,
    )
    from skedasis.methods.ale import ALE
    from skedasis.methods.dale import DALE
    from skedasis.methods.mplot import MPlot
    from skedasis.methods.pdp import ICE, PDP
    from skedasis.methods.pfi import PFI
    from skedasis.methods.rhale import RHALE, UALE
    from skedasis.plots.compare import compare
    from skedasis.plots.web.page import Explorable
    from skedasis.quantity.loss import loss
    from skedasis.quantity.outputs import logit, prediction, probability
    from skedasis.quantity.predictive.ensembles import ensemble
    from skedasis.quantity.uncertainty import (
        entropy,
        nll,
        predictive_quantile,
        predictive_variance,
    )
    from skedasis.report.build import report
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.effect import Effect
    from skedasis.results.effects import Effects
    from skedasis.results.importance import Importance
    from skedasis.results.io import load
    from skedasis.results.models.several import EffectOfModels, EffectsOfModels
    from skedasis.results.models.several_more import ImportanceOfModels, SurfaceOfModels
    from skedasis.results.statistics.statistics import Chance, Statistic, Statistics
    from skedasis.results.surfaces.surface import Surface
    from skedasis.results.trust.flags import Trust
    from skedasis.results.trust.heterogeneity import HeterogeneityTest
    from skedasis.results.trust.split import Split


if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'skedasis' has no attribute {name!r}")
        module = importlib.import_module(f"skedasis.{_PUBLIC[name] or name}")
        value = getattr(module, name) if _PUBLIC[name] else module
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
