"""skops files with harmless types and hostile contents: sizes, shapes, and arrays that do not fit together."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeRegressor

import skedasis as sd
from skedasis.models.files import load_model
from skedasis.models.skops_files import check_object
from tests.helpers import refused
from tests.unit.hostile_files import Record, counts, faults, of_bytes, of_json, outcomes

skops_io = pytest.importorskip("skops.io")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + X[:, 1]
CLASSES = np.digitize(Y, [-0.5, 0.5])
TREE = "sklearn.tree._tree.Tree"


def saved(model: Any, folder: Path) -> Path:
    """Return the path of a saved model."""
    skops_io.dump(model, folder / "model.skops")
    return folder / "model.skops"


def parts_of(file: Path) -> dict[str, bytes]:
    """Return the parts of an archive."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(parts: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", kind) as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    return made.getvalue()


@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(kernel="linear"), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM()],
    ids=repr,
)
def test_support_vector_machines_are_read(tmp_path: Path, model: Any) -> None:
    model.fit(X, CLASSES)
    read: Any = load_model(saved(model, tmp_path))
    np.testing.assert_array_equal(read.predict(X), model.predict(X))


def test_compressed_files_and_sparse_coefficients_are_read(tmp_path: Path) -> None:
    model = SGDClassifier(random_state=0).fit(X, CLASSES).sparsify()
    skops_io.dump(model, tmp_path / "model.skops", compression=zipfile.ZIP_DEFLATED)
    trust = skops_io.get_untrusted_types(file=tmp_path / "model.skops")
    read: Any = load_model(tmp_path / "model.skops", trust)
    np.testing.assert_array_equal(read.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("_dual_coef_", lambda a: a[:, :2].copy()),
        ("_dual_coef_", lambda a: a[:1].copy()),
        ("_intercept_", lambda a: a[:0].copy()),
        ("support_", lambda a: a[:2].copy()),
        ("_n_support", lambda a: np.array([10**8, 1 - 10**8, 5], np.int32)),
        ("_n_support", lambda a: a[:2].copy()),
    ],
)
def test_support_vector_machines_with_other_sizes_are_refused(
    tmp_path: Path, name: str, change: Any
) -> None:
    model = SVC().fit(X, CLASSES)
    setattr(model, name, change(getattr(model, name)))
    with refused(sd.DataError, "a support vector machine whose arrays have other sizes"):
        load_model(saved(model, tmp_path))


@pytest.mark.parametrize("change", [("left_child", 10**8), ("right_child", 0), ("feature", 99)])
def test_trusted_trees_with_wrong_indices_are_refused(tmp_path: Path, change: Any) -> None:
    # skops does not trust trees itself, because such an index ends the process.
    model = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    check_object(model)
    state = model.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][change[0]][0] = change[1]
    model.tree_.__setstate__(state)
    with refused(sd.DataError, "not in skops format"):
        load_model(saved(model, tmp_path), [TREE])


def test_sparse_matrices_with_wrong_indices_are_refused(tmp_path: Path) -> None:
    model = SGDClassifier(random_state=0).fit(X, CLASSES).sparsify()
    model.coef_.indices[0] = 10**8
    file = saved(model, tmp_path)
    with refused(sd.DataError, "a sparse matrix with wrong indices"):
        load_model(file, skops_io.get_untrusted_types(file=file))


def test_archives_that_unfold_to_much_more_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skedasis.models.file_checks._UNPACKED", 1 << 20)
    parts = parts_of(saved(SVR().fit(X, Y), tmp_path))
    (tmp_path / "bomb.skops").write_bytes(
        archive_of({**parts, "zeros.npy": bytes(4 << 20)}, zipfile.ZIP_DEFLATED)
    )
    with refused(sd.DataError, "bytes in"):
        load_model(tmp_path / "bomb.skops")


def test_a_part_that_is_larger_than_it_states_is_refused(tmp_path: Path) -> None:
    # `ZipFile.read` decompresses such a part as a whole: up to 2 GB, which it throws away.
    raw = bytearray(archive_of({"schema.json": b"{}" + bytes(1 << 20)}, zipfile.ZIP_DEFLATED))
    size, small = struct.pack("<I", (1 << 20) + 2), struct.pack("<I", 2)
    code = struct.pack("<I", zlib.crc32(b"{}" + bytes(1 << 20)))
    raw = raw.replace(size, small).replace(code, struct.pack("<I", zlib.crc32(b"{}")))
    (tmp_path / "m.skops").write_bytes(raw)
    with refused(sd.DataError, "skops"):
        load_model(tmp_path / "m.skops")


def test_parts_that_occur_twice_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.skops", "w") as archive:
        archive.writestr("schema.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("schema.json", b"[]")
    with refused(sd.DataError, "the part 'schema.json' twice"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("shape", ["(100000000000,)", "(2, 2)", "(-1,)", "[1]", "(" * 2000])
def test_arrays_of_another_shape_than_their_bytes_are_refused(tmp_path: Path, shape: str) -> None:
    file = saved(SVR().fit(X, Y), tmp_path)
    parts = parts_of(file)
    name = next(name for name in parts if name.endswith(".npy"))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    parts[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(8)
    file.write_bytes(archive_of(parts))
    with refused(sd.DataError, "an array"):
        load_model(file)


# --------------------------------------------------------------------------------------- mutations


def mutations(n: int, seed: int) -> list[tuple[str, bytes]]:
    """Return a valid file and n mutations: of the archive, its arrays and its schema."""
    models = (
        SVR().fit(X, Y),
        SVC().fit(X, CLASSES),
        KNeighborsRegressor(algorithm="brute").fit(X, Y),
        SGDClassifier(random_state=0).fit(X, CLASSES),
    )
    files = [skops_io.dumps(model) for model in models]
    rng = random.Random(seed)
    made = [(".skops", files[0])]
    for _ in range(n):
        raw, kind = rng.choice(files), rng.random()
        if kind < 0.2:
            made.append((".skops", of_bytes(raw, rng)))
            continue
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        if kind < 0.6:
            schema = of_json(json.loads(parts["schema.json"]), rng)
            parts["schema.json"] = json.dumps(schema).encode()
        else:
            name = rng.choice([name for name in parts if name.endswith(".npy")])
            parts[name] = of_bytes(parts[name], rng)
        compression = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        made.append((".skops", archive_of(parts, compression)))
    return made


def test_a_hundred_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    found = outcomes(mutations(100, 0), tmp_path, 3)
    record_property("tried", counts(found))
    assert not faults(found)
    assert sum(said.startswith("predicted") for said in found) > 5


@pytest.mark.long
def test_thousands_of_mutations_are_predicted_or_refused(
    tmp_path: Path, record_property: Record
) -> None:
    # A model that lacks an attribute raises its own error when it is called, as a model in memory does.
    own = ("fault, AttributeError: ", "fault, NotFittedError: ", "fault, ValueError: ")
    found = outcomes(mutations(5000, 1), tmp_path, 3)
    record_property("tried", counts(found))
    assert not [fault for fault in faults(found) if not fault.startswith(own)]
