"""What each extra brings, as programs that work where it is installed, and name it where it is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

ROWS = """
from pathlib import Path
import numpy as np
import skedasis as sd

X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))

def product(X):
    return X[:, 0] * X[:, 1]

def show(effect):
    print(round(float(effect.value[-1] - effect.value[0]) / float(effect.x[-1] - effect.x[0]), 3))
"""
"""What every program begins with."""

PROGRAMS = {
    "sklearn": """
found = sd.explain(product, X, y=product(X), method=sd.PFI(metric="r2"), progress=False)
print(len(found))
""",
    "trees": """
from sklearn.ensemble import RandomForestRegressor

forest = RandomForestRegressor(20, max_depth=4, random_state=0).fit(X, product(X))
effect = sd.explain(forest, X, 0, method="pdp", progress=False)
print(effect.provenance["effect_rows"])
""",
    "parquet": """
data = sd.parquet("rows.parquet", container="numpy")
show(sd.explain(lambda X: 2.0 * X[:, 0], data, "a", progress=False))
""",
    "dask": """
from distributed import Client

data = sd.parquet("rows.parquet", container="numpy")
options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
with Client(**options) as client:
    show(sd.explain(lambda X: 2.0 * X[:, 0], data, "a", client=client, progress=False))
""",
    "skops": """
if not Path("linear.skops").exists():
    import skops.io
    from sklearn.linear_model import LinearRegression

    skops.io.dump(LinearRegression().fit(X, 2.0 * X[:, 0]), "linear.skops")
show(sd.explain(sd.prediction("linear.skops"), X, 0, progress=False))
""",
    "sql": """
from skedasis.data.readers import FileTable

rows = FileTable(np.arange(6.0).reshape(3, 2), ("a", "b"))
print(len(rows.where("a > 0 AND b < 5", "--where")))
""",
    "onnx": """
show(sd.explain(sd.prediction("linear.onnx"), X, 0, method="ale", progress=False))
""",
    "shap": """
show(sd.shap_dependence(lambda X: 2.0 * X[:, 0], X, 0, progress=False))
""",
    "jax": """
import jax.numpy as jnp

effect = sd.explain(lambda X: 2.0 * jnp.asarray(X)[:, 0], X, 0, progress=False)
show(effect)
""",
}
"""Extra → a program. What is missing here has a reason in `tests/package/test_extras.py`."""

OUTPUT = {"sklearn": "2", "sql": "1", "trees": "0"}
"""What a program prints, if not the slope of its line, 2."""


def write_files(folder: Path) -> None:
    """Write the files that the programs read."""
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    pq.write_table(pa.table({"a": X[:, 0]}), folder / "rows.parquet")
    (folder / "linear.onnx").write_bytes(linear_onnx())


def linear_onnx() -> bytes:
    """Return a model in ONNX, the double of the first of two columns; no model without the library that makes them."""
    try:
        from onnx import TensorProto, helper
    except ImportError:
        return b"none"
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", columns])
        for name, columns in (("x", 2), ("y", 1))
    )
    weights = helper.make_tensor("w", TensorProto.FLOAT, [2, 1], [2.0, 0.0])
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", [x], [y], [weights])
    versions = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, ir_version=8, opset_imports=versions).SerializeToString()
