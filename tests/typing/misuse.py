"""What type checkers must object to, a line each, marked with the rule that they name. Nobody runs this."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import skedasis as sd

Model = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def model(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return X[:, 0]


def fit(X: NDArray[np.float64], y: NDArray[np.float64]) -> Model:
    return model


def misuse() -> None:
    X = np.zeros((10, 2))

    sd.explain(model, X, "x0", methods="ale")  # wrong: reportCallIssue
    sd.explain(model, X, "x0", "ale")  # wrong: reportCallIssue
    sd.explain(model, X, "x0", method="ALEplot")  # wrong: reportArgumentType
    sd.explain(model, X, 0.5)  # wrong: reportArgumentType
    sd.explain(model)  # wrong: reportCallIssue
    sd.explain(model, X, "x0").ranking()  # wrong: reportAttributeAccessIssue
    _ = sd.explain(model, X).value  # wrong: reportAttributeAccessIssue
    sd.explain(model, X, method=sd.PFI()).rebin(3)  # wrong: reportAttributeAccessIssue
    sd.explain(model, X, 0).interval(method="jackknife")  # wrong: reportArgumentType
    sd.explain(model, X, 0).plot(colour="red")  # wrong: reportCallIssue
    sd.explain(model, X, 0).plot(ice="all")  # wrong: reportArgumentType
    sd.explain(model, X).plot(top="all")  # wrong: reportArgumentType
    sd.explain(model, X, 0).value = X  # wrong: reportAttributeAccessIssue
    sd.explain(model, X, n_jobs="two")  # wrong: reportArgumentType
    sd.prediction(3)  # wrong: reportArgumentType
    sd.probability(model, klass="yes")  # wrong: reportCallIssue
    sd.entropy(model, part="model")  # wrong: reportArgumentType
    sd.entropy("model.onnx")  # wrong: reportArgumentType
    sd.nll(model, base=10)  # wrong: reportArgumentType
    sd.loss(model, "squared")  # wrong: reportArgumentType
    sd.predictive_quantile(model, "high")  # wrong: reportArgumentType
    sd.ensemble([model], noises=1.0)  # wrong: reportCallIssue
    sd.RHALE(bin=5)  # wrong: reportCallIssue
    sd.Uniform("five")  # wrong: reportArgumentType
    sd.Edges(5)  # wrong: reportArgumentType
    sd.explain(model, "rows.csv", "x0")  # wrong: reportArgumentType
    sd.Optimal(criterion="best")  # wrong: reportArgumentType
    sd.explain(3, X, "x0")  # wrong: reportArgumentType
    sd.explain(model, 3, "x0")  # wrong: reportArgumentType
    sd.explain(model, X, "x0", schema={"x0": "number"})  # wrong: reportArgumentType
    sd.explain(model, X, "x0", cv=[[0], [1]])  # wrong: reportArgumentType
    sd.explain([model, model], X, "x0", cv=5)  # wrong: reportArgumentType
    sd.report(model, X, seed=1)  # wrong: reportCallIssue
    sd.report(model, X, n_jobs="two")  # wrong: reportArgumentType
    sd.diagnose(model, X, X[:, 0], heterogeneity_rows=5)  # wrong: reportCallIssue
    sd.diagnose(model, X, X[:, 0], weight_kind="none")  # wrong: reportArgumentType
    sd.null_distribution(fit, X, X[:, 0], groups={})  # wrong: reportCallIssue
    sd.null_distribution(fit, X, X[:, 0], how="swapped")  # wrong: reportArgumentType
    sd.report(model, X, path=3)  # wrong: reportArgumentType
    sd.load(Path("e.npz"), allow_pickle=True)  # wrong: reportCallIssue
    sd.explian(model, X)  # wrong: reportAttributeAccessIssue
