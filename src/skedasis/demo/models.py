"""The demonstration's two models: one piecewise constant, one smooth."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis.demo.problem import Problem, missing
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import prediction, probability


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, what is explained of it, and how well it does.

    Parameters
    ----------
    name : str
    quantity : Quantity
    quality : str
        On rows that were held out, and on those that it was fitted on.
    """

    name: str
    quantity: Quantity
    quality: str


def fit(problem: Problem, seed: int) -> Iterator[Fitted]:
    """Fit both models on three quarters of the rows, one after the other."""
    from sklearn.model_selection import train_test_split

    y, places = problem.y, np.arange(len(problem.y))
    several = problem.class_ is not None and np.unique(y, return_counts=True)[1].min() >= 2
    train, test = map(
        np.asarray,
        train_test_split(
            places, test_size=0.25, random_state=seed, stratify=y if several else None
        ),
    )
    for name, model in _models(problem, len(train), seed).items():
        with warnings.catch_warnings():
            _quieten()
            _fit_in_units(model, problem.table.take(train).data, y[train])
        yield Fitted(name, _quantity(model, problem), _quality(model, problem, train, test))


def _quieten() -> None:
    from sklearn.exceptions import ConvergenceWarning

    # The network's iterations are few on purpose; what it is worth, the held-out rows say.
    warnings.simplefilter("ignore", ConvergenceWarning)


def _quantity(model: Any, problem: Problem) -> Quantity:
    if problem.class_ is not None:
        name = f"P({problem.target} = {problem.class_})"
        return probability(model, class_=problem.class_, name=name)
    unit = (problem.units or {}).get(problem.target)
    return prediction(model, name=f"predicted {problem.target}", unit=unit)


def _models(problem: Problem, rows: int, seed: int) -> dict[str, Any]:
    """Return a piecewise constant and a smooth model, unfitted."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline

    classes = problem.class_ is not None
    boosting: Any = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    network: Any = MLPClassifier if classes else MLPRegressor
    many = rows >= 2000
    size = (
        {"max_leaf_nodes": 16, "max_iter": 250} if many else {"max_leaf_nodes": 8, "max_iter": 150}
    )
    trees = boosting(
        learning_rate=0.15 if many else 0.08, early_stopping=True, random_state=seed, **size
    )
    neural = network(
        hidden_layer_sizes=(32, 32),
        activation="tanh",
        alpha=2.0 * min(1.0, 500 / rows),
        learning_rate_init=0.005,
        max_iter=40 if many else 100,
        early_stopping=many,
        random_state=seed,
    )
    coded, scaled = _encoders(problem)
    return {
        "gradient boosting": trees if coded is None else make_pipeline(coded, trees),
        "neural network": make_pipeline(*scaled, neural),
    }


def _encoders(problem: Problem) -> tuple[Any, list[Any]]:
    """Return what codes text for the trees, and what scales, fills in and codes for the network."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    table, nominal = problem.table, list(problem.nominal)
    numeric = [n for n in table.names if n not in nominal]
    holes = any(missing(table.column(n)).any() for n in numeric)
    # Scalers alone keep the network's derivatives in closed form.
    scale: list[Any] = [SimpleImputer()] * holes + [StandardScaler()]
    if not nominal:
        return None, scale
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    coded = make_column_transformer((codes, nominal), remainder="passthrough")
    parts = [(make_pipeline(*scale), numeric), (levels, nominal)]
    return coded, [make_column_transformer(*parts[not numeric :])]


def _fit_in_units(model: Any, X: Any, y: NDArray[Any]) -> None:
    """Fit; a network's target is scaled, and the scale then put into its last layer.

    So a price in the hundred thousands is learnt as well as a share, and the model still answers in the target's units.
    """
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    if type(last).__name__ != "MLPRegressor":
        model.fit(X, y)
        return
    mean, sd = float(y.mean()), float(y.std())
    model.fit(X, (y - mean) / sd)
    last.coefs_[-1] = last.coefs_[-1] * sd
    last.intercepts_[-1] = last.intercepts_[-1] * sd + mean


def _quality(model: Any, problem: Problem, train: NDArray[Any], test: NDArray[Any]) -> str:
    y = problem.y
    fitted = model.score(problem.table.take(train).data, y[train])
    held = model.score(problem.table.take(test).data, y[test])
    if problem.class_ is None:
        return f"R² {held:.2f} on {len(test):,} held-out rows ({fitted:.2f} on the rows that it was fitted on)."
    usual = np.unique(y[test], return_counts=True)[1].max() / len(test)
    return (
        f"accuracy {held:.2f} on {len(test):,} held-out rows ({fitted:.2f} on the rows that it was fitted on; "
        f"{usual:.2f} by always saying the most frequent class)."
    )
