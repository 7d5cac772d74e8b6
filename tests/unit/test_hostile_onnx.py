"""ONNX files that compute for ever, fill the memory, or read other files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.models import onnx_files
from skedasis.models.files import load_model
from tests.helpers import refused
from tests.systems import posix
from tests.unit.hostile_files import Record, counts, faults, of_bytes, outcomes

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
FLOAT, X = 1, np.ones((3, 3), np.float32)
WEIGHTS = np.array([[1.0], [2.0], [3.0]], np.float32)


def node(kind: str, inputs: list[str], output: str, **options: Any) -> Any:
    """Return a node."""
    return onnx.helper.make_node(kind, inputs, [output], **options)


def value(name: str, kind: int, shape: list[Any]) -> Any:
    """Return the type of an input or output."""
    return onnx.helper.make_tensor_value_info(name, kind, shape)


def saved(file: Path, nodes: list[Any], opset: int = 11, **constants: Any) -> Path:
    """Return the path of a saved model of x with constants."""
    made = [
        onnx.numpy_helper.from_array(c, name) if isinstance(c, np.ndarray) else c
        for name, c in constants.items()
    ]
    graph = onnx.helper.make_graph(
        nodes, "g", [value("x", FLOAT, ["n", 3])], [value("y", FLOAT, ["n", 1])], made
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = 8
    file.write_bytes(model.SerializeToString())
    return file


LINEAR = node("MatMul", ["x", "w"], "y")


def stored_in(location: str) -> Any:
    """Return the weights as a tensor whose values are in a file."""
    tensor = onnx.TensorProto(
        name="w", data_type=FLOAT, dims=[3, 1], data_location=onnx.TensorProto.EXTERNAL
    )
    for key, text in (("location", location), ("offset", "0"), ("length", "12")):
        tensor.external_data.add(key=key, value=text)
    return tensor


@pytest.mark.parametrize("location", ["w.bin", "sub/w.bin", "sub/../w.bin"])
def test_weights_in_the_folder_of_the_model_are_read(tmp_path: Path, location: str) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("w.bin", "sub/w.bin"):
        (tmp_path / name).write_bytes(WEIGHTS.tobytes())
    file = saved(tmp_path / "m.onnx", [LINEAR], w=stored_in(location))
    if ".." in location:
        onnx_files.check(file.read_bytes(), file)
    else:
        assert sd.prediction(file).at(X).tolist() == [6.0, 6.0, 6.0]


@posix
@pytest.mark.parametrize("location", ["/etc/passwd", "../w.bin", "/dev/zero", "link", "gone", ""])
def test_weights_elsewhere_are_refused(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    (folder / "link").symlink_to("/etc/passwd")
    file = saved(folder / "m.onnx", [LINEAR], w=stored_in(location))
    with refused(sd.DataError, "which is no file in its folder"):
        load_model(file)


def loop(count: np.ndarray | None, body: list[Any] | None = None) -> tuple[list[Any], Any]:
    """Return nodes that add 1 as often as `count` says, and its constants."""
    inner = body or [node("Add", ["v", "one"], "r")]
    graph = onnx.helper.make_graph(
        [node("Identity", ["c"], "more"), *inner],
        "body",
        [value("i", 7, []), value("c", 9, []), value("v", FLOAT, ["n", 1])],
        [value("more", 9, []), value("r", FLOAT, ["n", 1])],
    )
    inputs = ["count" if count is not None else "", "true", "m"]
    nodes = [node("MatMul", ["x", "w"], "m"), node("Loop", inputs, "y", body=graph)]
    constants = {"w": WEIGHTS, "one": np.float32([1.0]), "true": np.array(True)}
    return nodes, constants if count is None else {**constants, "count": count}


def test_loops_with_a_constant_number_of_iterations_are_read(tmp_path: Path) -> None:
    nodes, constants = loop(np.array(7))
    file = saved(tmp_path / "m.onnx", nodes, **constants)
    assert sd.prediction(file).at(X).tolist() == [13.0, 13.0, 13.0]


@pytest.mark.parametrize("count", [np.array(2**62), np.array(-1), None])
def test_loops_without_an_end_are_refused(tmp_path: Path, count: Any) -> None:
    nodes, constants = loop(count)
    file = saved(tmp_path / "m.onnx", nodes, **constants)
    with refused(sd.DataError, "a loop without a constant number of at most 65536 iterations"):
        load_model(file)


def test_loops_inside_of_loops_are_multiplied(tmp_path: Path) -> None:
    inner = onnx.helper.make_graph(
        [node("Identity", ["d"], "e"), node("Add", ["u", "one"], "s")],
        "inner",
        [value("j", 7, []), value("d", 9, []), value("u", FLOAT, ["n", 1])],
        [value("e", 9, []), value("s", FLOAT, ["n", 1])],
    )
    nodes, constants = loop(np.array(1000), [node("Loop", ["count", "true", "v"], "r", body=inner)])
    file = saved(tmp_path / "m.onnx", nodes, **constants)
    with refused(sd.DataError, "a loop without a constant number"):
        load_model(file)


@pytest.mark.parametrize("count", [1, 2**40])
def test_results_that_do_not_fit_into_memory_are_refused(tmp_path: Path, count: int) -> None:
    nodes = [
        node("Tile", ["x", "times"], "t"),
        node("ReduceSum", ["t"], "y", axes=[1], keepdims=1),
    ]
    file = saved(tmp_path / "m.onnx", nodes, times=np.array([1, count]))
    if count == 1:
        assert sd.prediction(file).at(X).tolist() == [3.0, 3.0, 3.0]
        return
    with refused(sd.ModelOutputError, "an error of onnxruntime for 3 rows", "fit into memory"):
        sd.prediction(file).at(X)


@pytest.mark.parametrize(
    "raw", [b"\x3a\xff\xff\xff\x7f", b"\x3a", b"\xff" * 20, b"\x0b", b"\x3a\x02\x0a\x09"]
)
def test_broken_protocol_buffers_are_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(raw)
    with refused(sd.DataError, "not in ONNX format ("):
        load_model(tmp_path / "m.onnx")


# --------------------------------------------------------------------------------------- mutations


def mutations(n: int, seed: int, folder: Path) -> list[tuple[str, bytes]]:
    """Return a valid file and n mutations."""
    nodes, constants = loop(np.array(7))
    tanh = [node("MatMul", ["x", "w"], "h"), node("Tanh", ["h"], "y")]
    models = [
        saved(folder / "a.onnx", tanh, w=WEIGHTS).read_bytes(),
        saved(folder / "b.onnx", nodes, **constants).read_bytes(),
        saved(
            folder / "c.onnx",
            [node("Gemm", ["x", "w", "b"], "h"), node("Reshape", ["h", "s"], "y")],
            w=WEIGHTS,
            b=np.float32([1.0]),
            s=np.array([-1, 1]),
        ).read_bytes(),
    ]
    rng = random.Random(seed)
    return [(".onnx", models[0])] + [(".onnx", of_bytes(rng.choice(models), rng)) for _ in range(n)]


def test_a_hundred_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    (tmp_path / "made").mkdir()
    found = outcomes(mutations(100, 0, tmp_path), tmp_path / "made", 3)
    record_property("tried", counts(found))
    assert not faults(found)
    assert sum(said.startswith("predicted") for said in found) > 5


@pytest.mark.long
def test_thousands_of_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    (tmp_path / "made").mkdir()
    found = outcomes(mutations(5000, 1, tmp_path), tmp_path / "made", 3)
    record_property("tried", counts(found))
    assert not faults(found)
