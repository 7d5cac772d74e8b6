"""ONNX models, evaluated by onnxruntime: networks and converted scikit-learn models."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from tests.helpers import refused

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
H, TP = onnx.helper, onnx.TensorProto
pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(200, 3))
W = np.array([[2.0], [-1.0], [0.5]])


def graph(nodes, outputs, inputs=None, weights=(), opset=17):
    """Return a model of these nodes."""
    inputs = inputs or [H.make_tensor_value_info("x", TP.FLOAT, [None, 3])]
    made = H.make_graph(nodes, "g", inputs, outputs, list(weights))
    return H.make_model(made, opset_imports=[H.make_opsetid("", opset)], ir_version=8)


def linear(rows=None, kind=TP.FLOAT, w=W):
    w = onnx.numpy_helper.from_array(w.astype(H.tensor_dtype_to_np_dtype(kind)), "w")
    x = H.make_tensor_value_info("x", kind, [rows, 3])
    y = H.make_tensor_value_info("y", kind, [rows, w.dims[1]])
    return graph([H.make_node("MatMul", ["x", "w"], ["y"])], [y], [x], [w])


def session(model):
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("form", [lambda m: m, session])
def test_values_of_a_session_and_of_a_model(form):
    q = sd.prediction(form(linear()))
    np.testing.assert_allclose(q.at(X), (X @ W)[:, 0], atol=1e-5)
    e = sd.explain(q, X, 0, method=sd.ALE(5))
    np.testing.assert_allclose(np.diff(e.value) / np.diff(e.x), 2, atol=1e-4)
    e = sd.explain(form(linear()), X, 0)
    np.testing.assert_allclose(e.bins.effect, 2, atol=1e-2)
    assert e.provenance["local_effects"] == "central differences"


def test_double_precision_is_kept():
    q = sd.prediction(session(linear(kind=TP.DOUBLE)))
    np.testing.assert_allclose(q.at(X), (X @ W)[:, 0], rtol=1e-14)
    assert sd.prediction(session(linear())).raw(X).dtype == np.float32


@pytest.mark.parametrize("rows", [1, 7, 200])
def test_a_model_for_so_many_rows_is_asked_for_so_many(rows):
    q = sd.prediction(session(linear(rows, TP.DOUBLE)))
    np.testing.assert_allclose(q.at(X), (X @ W)[:, 0], rtol=1e-13)
    np.testing.assert_allclose(q.at(X[:1]), (X[:1] @ W)[:, 0], rtol=1e-13)


def test_columns_of_an_output_and_several_outputs_are_outputs():
    w = np.arange(6.0).reshape(3, 2)
    wide = sd.prediction(session(linear(w=w)), output="all")
    np.testing.assert_allclose(wide.at(X)[1], (X @ w)[:, 1], atol=1e-5)
    y = [H.make_tensor_value_info(n, TP.FLOAT, [None, 3]) for n in ("a", "b")]
    both = graph([H.make_node("Neg", ["x"], ["a"]), H.make_node("Abs", ["x"], ["b"])], y)
    q = sd.prediction(session(both), output=4)
    np.testing.assert_allclose(q.at(X), np.abs(X[:, 1]), atol=1e-6)
    with refused(sd.ModelOutputError, "(64, 6)", "output=0"):
        sd.explain(session(both), X)


def test_one_input_for_each_column():
    inputs = [H.make_tensor_value_info(n, TP.FLOAT, [None, 1]) for n in "ab"]
    y = H.make_tensor_value_info("y", TP.FLOAT, [None, 1])
    s = session(graph([H.make_node("Sub", ["a", "b"], ["y"])], [y], inputs))
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    np.testing.assert_allclose(sd.prediction(s).at(frame), X[:, 0] - X[:, 1], atol=1e-6)
    np.testing.assert_allclose(sd.prediction(s).at(X[:, :2]), X[:, 0] - X[:, 1], atol=1e-6)
    e = sd.explain(s, frame, "b", method=sd.ALE(4))
    np.testing.assert_allclose(np.diff(e.value) / np.diff(e.x), -1, atol=1e-4)
    with refused(sd.DataError, "['b', 'a']", "['a', 'b']"):
        sd.explain(s, frame[["b", "a"]])
    with refused(sd.DataError, "X with 3 columns", "2"):
        sd.explain(s, X)


@pytest.fixture(scope="module")
def converted():
    return pytest.importorskip("skl2onnx", reason="skl2onnx is not installed").to_onnx


@pytest.mark.parametrize("zipmap", [True, False])
def test_classifiers_of_scikit_learn(converted, zipmap):
    y = np.where(X[:, 0] + X[:, 1] > 0.5, "yes", np.where(X[:, 2] > 0, "maybe", "no"))
    clf = LogisticRegression().fit(X, y)
    model = converted(clf, X[:1].astype(np.float32), options={"zipmap": zipmap})
    class_ = "yes" if zipmap else 2
    q = sd.probability(session(model), class_)
    np.testing.assert_allclose(q.at(X), clf.predict_proba(X)[:, 2], atol=1e-5)
    every = sd.probability(session(model), "all").at(X)
    assert list(every) == (["maybe", "no", "yes"] if zipmap else [0, 1, 2])
    with refused(sd.ModelOutputError, "3 classes and no class_"):
        sd.explain(session(model), X)
    with refused(sd.UnsupportedError, "a classifier", "sd.probability"):
        sd.prediction(session(model))


def test_a_forest_is_seen_to_be_piecewise_constant(converted):
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, X[:, 0] * X[:, 1])
    s = session(converted(forest, X[:1].astype(np.float32)))
    e = sd.explain(s, X, 0)
    assert "piecewise constant" in e.provenance["local_effects"]
    single = X.astype(np.float32)
    np.testing.assert_allclose(sd.prediction(s).at(single), forest.predict(single), atol=1e-5)


def test_quantities_of_models_travel_and_of_sessions_as_far_as_these():
    q = sd.prediction(linear())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(q)).at(X), q.at(X))
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(sd.prediction(session(linear())))
