"""A part of a report that fails does not affect the other parts."""

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import refused
from tests.report.test_report import Page


@pytest.fixture(scope="module")
def homes():
    rng = np.random.default_rng(0)
    n = 900
    return pd.DataFrame(
        {
            "area": rng.gamma(4, 20, n),
            "district": rng.choice(list("abcd"), n),
            "heating": rng.choice(["gas", "oil"], n),
        }
    )


def price(X):
    near = np.where(X["district"] == "a", 3.0, 1.0)
    return np.asarray(X["area"] * near * np.where(X["heating"] == "gas", 1.0, 1.2))


@pytest.mark.slow
def test_two_nominal_features_do_not_cost_the_other_pairs_theirs(homes, tmp_path):
    with refused(sd.UnsupportedError, "no order"):
        sd.explain(price, homes, ("district", "heating"))
    done = sd.report(price, homes, path=tmp_path / "r.html", progress=False)
    words = Page(done.path).words
    assert "3 pairs of area, district and heating compared" in words
    strongest = sd.explain(price, homes, ("area", "district")).interaction_strength()
    assert f"{strongest:.3g}" in words


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_a_network_of_probabilities_has_an_entropy_by_differences(classes, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, classes), nn.Softmax(dim=1)
    ).double()
    X = np.random.default_rng(0).normal(size=(120, 3))
    q = sd.probability(net, class_=1)
    done = sd.report(q, X, X[:, 0] > 0, path=tmp_path / "r.html", progress=False)
    assert "entropy" in Page(done.path).words

    def probabilities(rows):
        with torch.no_grad():
            return net(torch.as_tensor(np.asarray(rows))).numpy()

    method = sd.RHALE(bins=4)
    ours = sd.explain(sd.entropy(q.model), X, 0, method=method)
    theirs = sd.explain(sd.entropy(probabilities), X, 0, method=method)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-6)
    assert ours.provenance["slope_rows"] == 0


@pytest.mark.parametrize("percentiles", [(0.05, 0.95), (0, 1)])
def test_percentiles_are_in_percent(percentiles):
    with refused(sd.DataError, "in percent", "(5, 95)"):
        sd.explain(lambda X: X[:, 0], np.eye(5), 0, method=sd.PDP(percentiles=percentiles))
