"""From the sums of an ensemble to what its model answers."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from skedasis._types import Floats
from skedasis.errors import UnsupportedError, explained
from skedasis.quantity.trees.ensemble import Ensemble, Link

_ROUNDING = 1e-13


def answers(link: Link, scale: float, raw: Floats) -> Floats:
    """Return what a model makes of its sums.

    Parameters
    ----------
    link : str
        - "identity": the sums themselves; a forest's mean is in its leaves;
        - "exp": the mean of a count or a positive number;
        - "sigmoid": 1 / (1 + exp(-scale · raw)), the probability of the second of two classes;
        - "one_vs_rest": the same of each output by itself;
        - "softmax": the probabilities of all classes;
        - "normalised": shares, where the sums are not negative;
        - "path": ``-2 ** (-raw / scale)``, an isolation forest's `score_samples` (Liu, Ting & Zhou 2008, Eq. 2).
    scale : float
    raw : ndarray of float, shape (..., outputs)

    Returns
    -------
    ndarray of float, shape (..., outputs)

    Examples
    --------
    >>> answers("sigmoid", 2.0, np.array([[0.0], [0.5]])).tolist()
    [[0.5], [0.7310585786]]
    """
    if link in {"sigmoid", "one_vs_rest"}:
        return expit(scale * raw)
    if link == "softmax":
        return softmax(raw, axis=-1)
    if link == "exp":
        return np.exp(raw)
    if link == "normalised":
        return raw / raw.sum(axis=-1, keepdims=True)
    if link == "path":
        # Trees of single rows have no paths: scikit-learn says -1/2 of all rows then.
        return -np.exp2(-raw / scale) if scale else np.full(raw.shape, -0.5)
    return raw


def answer(ensemble: Ensemble, raw: Floats, name: str | None = None) -> Floats:
    """Return what a method of the model answers.

    Parameters
    ----------
    ensemble : Ensemble
    raw : ndarray of float, shape (..., outputs)
        Sums of leaves, with the base.
    name : {"predict", "predict_proba", "decision_function", "score_samples"}, optional
        The method. By default `predict_proba` of a classifier, `score_samples` of an isolation forest, and `predict` of
        all others.

    Returns
    -------
    ndarray of float, shape (...) or (..., outputs)
        As the model does: without the last axis where there is one output, and for two classes with a column of each.

    Raises
    ------
    UnsupportedError
        For labels, which are no numbers, and any other method.
    """
    isolates = ensemble.link == "path"
    natural = "score_samples" if isolates else "predict_proba" if ensemble.classifier else "predict"
    asked = name or natural
    if asked == natural:
        found = answers(ensemble.link, ensemble.scale, raw)
    elif asked == "decision_function" and (isolates or ensemble.classifier):
        scores = answers(ensemble.link, ensemble.scale, raw) if isolates else raw
        found = scores - ensemble.offset
    else:
        raise UnsupportedError(
            explained(
                f"the trees of {ensemble.title}",
                f"a question for {asked}",
                f"one for {natural}",
                f"Explain {natural} instead",
            )
        )
    if asked == "predict_proba" and ensemble.link == "identity":
        # A share of all votes is 1: what rounding made of their sum would have log odds, which 1 has not.
        found = np.where(np.abs(found - 1.0) < _ROUNDING, 1.0, found)
    if asked == "predict_proba" and ensemble.link == "sigmoid":
        return np.concatenate([1.0 - found, found], axis=-1)
    plain = asked != "predict_proba" and ensemble.outputs == 1
    return found[..., 0] if plain else found
