"""Estimators whose `predict` returns labels of their own are refused, and what the message advises works."""

from __future__ import annotations

import re
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
from sklearn import cluster, decomposition, ensemble, mixture, neighbors, svm
from sklearn.base import RegressorMixin
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skedasis as sd
from skedasis.errors import UnsupportedError

X = np.random.default_rng(0).normal(size=(120, 3))
X[:60, 0] += 4.0
MODELS = {
    "k-means": cluster.KMeans(2, n_init=1, random_state=0),
    "dbscan": cluster.DBSCAN(eps=2.0),
    "hierarchical": cluster.AgglomerativeClustering(),
    "mixture": mixture.GaussianMixture(2, random_state=0),
    "isolation": ensemble.IsolationForest(n_estimators=5, random_state=0),
    "one class": svm.OneClassSVM(),
    "new rows": neighbors.LocalOutlierFactor(novelty=True),
    "own rows": neighbors.LocalOutlierFactor(),
    "density": neighbors.KernelDensity(),
    "components": decomposition.PCA(2),
    "behind a scaler": make_pipeline(StandardScaler(), cluster.KMeans(2, n_init=1)),
    "components behind a scaler": make_pipeline(StandardScaler(), decomposition.PCA(2)),
    "searched": GridSearchCV(cluster.KMeans(n_init=1), {"n_clusters": [2, 3]}),
}
"""Unsupervised estimators, by name."""


@pytest.mark.parametrize(
    ("name", "entry"),
    list(zip(MODELS, cycle([sd.explain, sd.probability, sd.prediction, sd.regions]), strict=False)),
)
def test_what_the_message_advises_works(name: str, entry) -> None:
    model = MODELS[name].fit(X)
    with pytest.raises(UnsupportedError) as caught:
        entry(model, X) if entry in (sd.explain, sd.regions) else entry(model)
    message = str(caught.value)
    if "novelty=True" in message:
        model = neighbors.LocalOutlierFactor(novelty=True).fit(X)
    names = {
        "sd": sd,
        "model": model,
        "X": X,
        "KNeighborsClassifier": neighbors.KNeighborsClassifier,
    }
    advised = re.search(r"((sd\.prediction|KNeighborsClassifier)\(.*\))\.$", message)
    assert advised is not None, message
    explained = eval(advised[1], names)
    if advised[2] == "KNeighborsClassifier":
        explained = sd.probability(explained, class_=explained.classes_[-1])
    effects = sd.explain(explained, X, method="pdp")
    assert max(np.ptp(effect.value) for effect in effects.values()) > 0.0


@pytest.mark.parametrize("name", ["k-means", "isolation", "searched"])
def test_their_labels_have_no_mixture(name: str) -> None:
    model = MODELS[name].fit(X)
    with pytest.raises(UnsupportedError) as alone:
        sd.explain(model, X, 0)
    with pytest.raises(UnsupportedError) as mixed:
        sd.ensemble([model, model])
    assert str(mixed.value).partition(": ")[2] == str(alone.value).partition(": ")[2]


@pytest.mark.parametrize("name", ["mixture", "behind a scaler"])
def test_numbers_of_clusters_are_no_prediction(name: str) -> None:
    with pytest.raises(UnsupportedError, match="have no order"):
        sd.explain(MODELS[name].fit(X).predict, X, 0)


def test_labels_of_outlier_detectors_are_explained_if_they_are_asked_for() -> None:
    model = MODELS["one class"].fit(X)
    assert set(sd.prediction(model.predict).at(X)) == {-1.0, 1.0}


def test_the_distance_to_a_centre_is_explained() -> None:
    """Of one feature, whose square is added to the others': at the centre the distance is smallest."""
    model = MODELS["k-means"].fit(X)
    centre = model.cluster_centers_[0]
    effect = sd.explain(
        sd.prediction(model.transform, output=0), X, 0, method=sd.PDP(grid=[-1.0, 0.0, 5.0])
    )
    moved = np.repeat(X[None], 3, axis=0)
    moved[:, :, 0] = np.array([-1.0, 0.0, 5.0])[:, None]
    distances = np.sqrt(((moved - centre) ** 2).sum(axis=2)).mean(axis=1)
    np.testing.assert_allclose(effect.value, distances, rtol=1e-9)


def test_estimators_of_users_are_explained() -> None:
    """A mixin without scikit-learn's base class has no tags, and names of a wrapper are its own."""

    class Own(RegressorMixin):
        def predict(self, Z: np.ndarray) -> np.ndarray:
            return 2.0 * Z[:, 0]

    own = Own()
    own.feature_names_ = pd.Index(list("abcde"))
    assert sd.explain(own, X, 0).importance == pytest.approx(2 * X[:, 0].std(), rel=0.02)
