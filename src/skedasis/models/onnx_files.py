"""Checks of ONNX files before onnxruntime reads them, and a session with limited memory.

onnxruntime checks the sizes of a file. But a small file can compute for ever, or double an array until the memory is
full: loops are accepted only with a constant number of iterations, and the memory of computations is limited. Weights
in other files must be beside the model, or below it, which onnxruntime itself requires only in its later versions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from skedasis.models.file_checks import Malformed

_MOST_BYTES = 2**32
"""Memory for the computations of all sessions of files: 4,096 rows of 262,144 numbers in single precision."""
_MOST_ITERATIONS = 2**16
"""Iterations of a loop, and of loops inside of each other."""
_DEEPEST = 50
"""Graphs inside of each other."""

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
"""Types of fields in Protocol Buffers (https://protobuf.dev/programming-guides/encoding)."""

_GRAPH, _FUNCTIONS = 7, 25
_NODE, _INITIALIZER, _GRAPH_INPUT = 1, 5, 11
_FUNCTION_NODE = 7
_INPUT, _OPERATION, _ATTRIBUTE, _OUTPUT = 1, 4, 5, 2
_TENSOR, _SUBGRAPH, _TENSORS, _SUBGRAPHS = 5, 6, 10, 11
_INT64, _NAME, _RAW, _EXTERNAL = 7, 8, 9, 13
"""Numbers of fields of models, graphs, functions, nodes, attributes and tensors (onnx.proto)."""

Field = tuple[int, "int | memoryview"]
Numbers = Mapping[str, int]


def check(raw: bytes, file: Path) -> None:
    """Raise if a model has a loop without a constant number of iterations, or weights outside of its folder.

    Raises
    ------
    Malformed
    """
    for key, part in _fields(memoryview(raw)):
        if key == _GRAPH and isinstance(part, memoryview):
            _check_graph(part, file, {}, 1, 0, _NODE)
        elif key == _FUNCTIONS and isinstance(part, memoryview):
            _check_graph(part, file, {}, 1, 0, _FUNCTION_NODE)


def session(runtime: ModuleType, file: Path) -> object:
    """Return a session of onnxruntime whose computations use limited memory.

    Parameters
    ----------
    runtime : module
        onnxruntime.
    file : Path
    """
    kinds = runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, runtime.OrtMemType.DEFAULT
    memory = runtime.OrtMemoryInfo("Cpu", *kinds)
    # There can be one for a process: an error says that there is.
    with contextlib.suppress(Exception):
        limit = runtime.OrtArenaCfg({"max_mem": _MOST_BYTES})
        runtime.create_and_register_allocator(memory, limit)
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    return runtime.InferenceSession(str(file), options)


def _fields(raw: memoryview) -> Iterator[Field]:
    """Yield number and content of each field of a message."""
    at = 0
    while at < len(raw):
        key, at = _varint(raw, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(raw, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(raw, at)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise Malformed("no Protocol Buffers")
        if size > len(raw) - at:
            raise Malformed("a length beyond its end")
        yield key >> 3, raw[at : at + size]
        at += size


def _varint(raw: memoryview, at: int) -> tuple[int, int]:
    """Return an integer and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(raw):
            break
        byte = raw[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise Malformed("no Protocol Buffers")


def _check_graph(
    raw: memoryview, file: Path, outside: Numbers, iterations: int, depth: int, node_key: int
) -> None:
    """Raise if a graph, or one of a node, has such a loop or such weights.

    Parameters
    ----------
    raw : memoryview
    file : Path
    outside : mapping of str to int
        Constant integers of the graphs around it.
    iterations : int
        How often it runs.
    depth : int
    node_key : int
        Number of the field that holds its nodes.
    """
    if depth > _DEEPEST:
        raise Malformed("too many graphs inside of each other")
    parts = [(key, part) for key, part in _fields(raw) if isinstance(part, memoryview)]
    nodes = [_node(part) for key, part in parts if key == node_key]
    parts = parts if node_key == _NODE else []  # a function has only nodes
    constants = _constants(parts, nodes, file, outside)
    for node in nodes:
        times = iterations * _iterations(node, constants)
        if times > _MOST_ITERATIONS:
            raise Malformed(
                f"a loop without a constant number of at most {_MOST_ITERATIONS} iterations"
            )
        for graph in node.graphs:
            _check_graph(graph, file, constants, times, depth + 1, _NODE)


def _constants(
    parts: list[tuple[int, memoryview]], nodes: list[_Node], file: Path, outside: Numbers
) -> dict[str, int]:
    """Return the constant integers in a graph and around it."""
    constants = dict(outside)
    # What a graph computes, or receives, hides a constant of the same name around it.
    hidden = [name for node in nodes for name in node.outputs]
    hidden += [_name(part) for key, part in parts if key == _GRAPH_INPUT]
    for name in hidden:
        constants.pop(name, None)
    for key, part in parts:
        if key == _INITIALIZER:
            constants.update(_constant(part, file))
    for node in nodes:
        for tensor in node.tensors:
            found = _constant(tensor, file)
            if node.operation == "Constant":
                constants.update(dict.fromkeys(node.outputs, next(iter(found.values()), -1)))
    return constants


def _iterations(node: _Node, constants: Numbers) -> int:
    """Return how often a node evaluates its graphs at most."""
    if node.operation != "Loop":
        return 1
    count = constants.get(node.inputs[0], -1) if node.inputs else -1
    return max(count, 1) if count >= 0 else _MOST_ITERATIONS + 1


class _Node:
    """What is checked of a node."""

    def __init__(self) -> None:
        self.operation = ""
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.tensors: list[memoryview] = []
        self.graphs: list[memoryview] = []


def _node(raw: memoryview) -> _Node:
    """Return what is checked of a node."""
    node = _Node()
    for key, part in _fields(raw):
        if not isinstance(part, memoryview):
            continue
        if key == _OPERATION:
            node.operation = _text(part)
        elif key == _INPUT:
            node.inputs.append(_text(part))
        elif key == _OUTPUT:
            node.outputs.append(_text(part))
        elif key == _ATTRIBUTE:
            for inner, value in _fields(part):
                if inner in (_TENSOR, _TENSORS) and isinstance(value, memoryview):
                    node.tensors.append(value)
                elif inner in (_SUBGRAPH, _SUBGRAPHS) and isinstance(value, memoryview):
                    node.graphs.append(value)
    return node


def _constant(raw: memoryview, file: Path) -> dict[str, int]:
    """Return name and value of a tensor that is one integer; raise if its values are in a file elsewhere."""
    name, stored, value = "", -1, -1
    for key, part in _fields(raw):
        if key == _EXTERNAL and isinstance(part, memoryview):
            entry = {k: _text(v) for k, v in _fields(part) if isinstance(v, memoryview)}
            if entry.get(1) == "location":
                _check_location(entry.get(2, ""), file)
        elif key == _NAME and isinstance(part, memoryview):
            name = _text(part)
        elif key == _RAW and isinstance(part, memoryview) and len(part) == 8:
            stored = int.from_bytes(part, "little", signed=True)
        elif key == _INT64:
            value = _varint(part, 0)[0] if isinstance(part, memoryview) else part
    value = stored if stored >= 0 else value  # as onnxruntime chooses
    return {name: value} if value >= 0 else {}


def _check_location(location: str, file: Path) -> None:
    """Raise if a file with weights is not a regular file in the folder of the model."""
    folder = file.resolve().parent
    path = folder / location
    if not path.resolve().is_relative_to(folder) or not path.is_file():
        raise Malformed(f"weights in {location[:80]!r}, which is no file in its folder")


def _name(raw: memoryview) -> str:
    """Return the name of an input."""
    names = [part for key, part in _fields(raw) if key == 1 and isinstance(part, memoryview)]
    return _text(names[-1]) if names else ""


def _text(raw: memoryview) -> str:
    return bytes(raw).decode(errors="replace")
