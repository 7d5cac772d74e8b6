"""Files of `torch.export.save`: read without unpickling, and rejected if they could run code."""

import io
import json
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd
from skedasis.models.files import load_model
from tests.helpers import refused
from tests.shell import CliRunner

pytestmark = pytest.mark.torch
X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


class Hostile:
    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return (Path.write_text, (Path(self.mark), "here"))


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def module(torch):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = (
        torch.nn.Linear(3, 8),
        torch.nn.BatchNorm1d(8),
        torch.nn.Tanh(),
        torch.nn.Linear(8, 1),
    )
    return torch.nn.Sequential(*layers, torch.nn.Dropout(0.5)).eval()


@pytest.fixture
def file(torch, module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return exported(torch, module, tmp_path / "model.pt2")


def exported(torch, module, path):
    sizes = ({0: torch.export.Dim("rows", min=2)},)
    torch.export.save(torch.export.export(module, (torch.zeros(4, 3),), dynamic_shapes=sizes), path)
    return path


def values(torch, module, rows=X):
    with torch.no_grad():
        return module(torch.tensor(rows)).numpy()


def altered(path, change):
    """Rewrite the archive after a change of its parts, a dict by name."""
    with zipfile.ZipFile(path) as old:
        parts = {name.partition("/")[2]: old.read(name) for name in old.namelist()}
    change(parts)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:
        for name, raw in parts.items():
            new.writestr(f"model/{name}", raw)
    path.write_bytes(made.getvalue())
    return path


def said(change):
    """Return a change of the JSON description of the program."""

    def all_of(parts):
        name = next(n for n in parts if n.startswith("models/"))
        program = json.loads(parts[name])
        change(program)
        parts[name] = json.dumps(program).encode()

    return all_of


def test_it_answers_as_its_module(torch, module, file):
    np.testing.assert_array_equal(values(torch, load_model(file)), values(torch, module))
    e = sd.explain(file, X, 0, method=sd.RHALE(), progress=False)
    own = sd.explain(module, X, 0, method=sd.RHALE(), progress=False)
    np.testing.assert_allclose(e.value, own.value, atol=1e-6)
    assert e.provenance["slope_rows"] == len(X)  # by backward passes, not by differences


@pytest.mark.parametrize("rows", [2, 5, 40])
def test_any_number_of_rows(torch, module, file, rows):
    np.testing.assert_array_equal(
        values(torch, load_model(file), X[:rows]), values(torch, module, X[:rows])
    )


def test_from_the_shell(file):
    from skedasis.cli.app import app

    np.savetxt("rows.csv", X, delimiter=",", header="a,b,c", comments="")
    done = CliRunner().invoke(app, ["effect", "model.pt2", "rows.csv", "a", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["results"][0]["provenance"]["slope_rows"] == len(X)


def test_its_sample_inputs_are_not_unpickled(torch, module, file):
    mark = file.with_name("mark")

    def poisoned(parts):
        name = next(n for n in parts if n.startswith("data/sample_inputs/"))
        parts[name] = pickle.dumps(Hostile(mark))

    altered(file, poisoned)
    np.testing.assert_array_equal(values(torch, load_model(file)), values(torch, module))
    assert not mark.exists()


def poison_weight(parts, mark):
    parts["data/weights/weight_0"] = pickle.dumps(Hostile(mark))
    name = "data/weights/model_weights_config.json"
    config = json.loads(parts[name])
    for entry in config["config"].values():
        entry["use_pickle"] = True
    parts[name] = json.dumps(config).encode()


def legacy_weights(parts, mark):
    parts["data/weights/model.pt"] = pickle.dumps(Hostile(mark))


def opaque_constant(parts, mark):
    parts["data/constants/opaque_obj_0"] = pickle.dumps(Hostile(mark))
    entry = {
        "path_name": "opaque_obj_0",
        "is_param": False,
        "use_pickle": True,
        "tensor_meta": None,
    }
    parts["data/constants/model_constants_config.json"] = json.dumps(
        {"config": {"c": entry}}
    ).encode()


def compiled(parts, mark):
    parts["data/aotinductor/model/a.so"] = b"\x7fELF"


def evil_size(parts, mark):
    def change(program):
        for tensor in program["graph_module"]["graph"]["tensor_values"].values():
            for size in tensor["sizes"]:
                if "as_expr" in size:
                    size["as_expr"]["expr_str"] = (
                        f"__import__('pathlib').Path({str(mark)!r}).touch()"
                    )

    said(change)(parts)


def evil_name(parts, mark):
    raw = next(n for n in parts if n.startswith("models/"))
    parts[raw] = (
        parts[raw]
        .replace(b'"x"', b'"x=open(chr(109),chr(119))"')
        .replace(b'"input"', b'"input=__import__(chr(111)+chr(115))"')
    )


def evil_operation(parts, mark):
    def change(program):
        program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.hub.load"

    said(change)(parts)


def evil_ones(parts, mark):
    def change(program):
        node = program["graph_module"]["graph"]["nodes"][0]
        node["inputs"].append({"name": "size", "arg": {"as_ints": [100000, 100000]}, "kind": 1})

    said(change)(parts)


def evil_range(parts, mark):
    def change(program):
        node = program["graph_module"]["graph"]["nodes"][0]
        node["inputs"].append({"name": "end", "arg": {"as_int": 10**12}, "kind": 1})

    said(change)(parts)


def evil_tree(parts, mark):
    def change(program):
        call = program["graph_module"]["module_call_graph"][0]["signature"]
        call["in_spec"] = json.dumps(
            [1, {"type": "os.system", "context": '"x"', "children_spec": []}]
        )

    said(change)(parts)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (poison_weight, "a pickle among its weights"),
        (legacy_weights, "a pickle, data/weights/model.pt"),
        (opaque_constant, "a pickle"),
        (compiled, "compiled code"),
        (evil_size, "the size"),
        (evil_name, "the name"),
        (evil_operation, "the operation 'torch.hub.load'"),
        (evil_tree, "inputs of type 'os.system'"),
        (evil_ones, "a tensor of size [100000, 100000]"),
        (evil_range, "a tensor of size 1000000000000"),
    ],
)
def test_what_could_run_code_is_refused(file, change, word):
    mark = file.with_name("mark")
    altered(file, lambda parts: change(parts, mark))
    with refused(sd.DataError, word, "--trust-pickle"):
        load_model(file)
    assert not mark.exists()


def test_torch_itself_would_run_it(torch, file):
    # Why the archive is inspected: read by torch itself, as with the flag, the same file runs the pickle.
    mark = file.with_name("mark")
    altered(file, lambda parts: poison_weight(parts, mark))
    with pytest.raises(sd.DataError):
        load_model(file, pickle=True)  # it contains no weight, but its code has already run
    assert mark.exists()


def test_a_guard_in_code_is_dropped(torch, module, file):
    mark = file.with_name("mark")
    code = f"__import__('pathlib').Path({str(mark)!r}).touch() or True"
    altered(file, said(lambda program: program.update(guards_code=[code])))
    np.testing.assert_array_equal(values(torch, load_model(file)), values(torch, module))
    assert not mark.exists()


def test_the_flag_reads_all_that_torch_reads(torch, module, file):
    np.testing.assert_array_equal(
        values(torch, load_model(file, pickle=True)), values(torch, module)
    )


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_cut_off_programs(file, part):
    raw = file.read_bytes()
    file.write_bytes(raw[: int(part * len(raw))])
    with refused(sd.DataError, "cut off", "torch.export"):
        load_model(file)


def test_a_flipped_bit_is_noticed(file):
    raw = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        weight = archive.read(next(n for n in archive.namelist() if n.endswith("weights/weight_0")))
    raw[raw.index(weight) + 5] ^= 0x10
    file.write_bytes(raw)
    with refused(sd.DataError, "cut off"):
        load_model(file)


def test_the_form_of_older_torch(file):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("version", "8.8")
        archive.writestr("serialized_exported_program.json", "{}")
    with refused(sd.DataError, "before version 2.8", "--trust-pickle"):
        load_model(file)


@pytest.mark.parametrize("drop", ["models/", "data/weights/", "archive_version"])
def test_programs_with_a_part_missing(file, drop):
    def change(parts):
        for name in [n for n in parts if n.startswith(drop)]:
            del parts[name]

    altered(file, change)
    with refused(sd.DataError, "torch.export"):
        load_model(file)


def test_whole_modules_only_with_the_flag(torch, module, file):
    torch.save(module, "model.pt")
    with refused(sd.DataError, "a pickle, which can run any code when it is loaded"):
        load_model("model.pt")
    np.testing.assert_array_equal(
        values(torch, load_model("model.pt", pickle=True)), values(torch, module)
    )
    torch.save(module.state_dict(), "model.pth")
    with refused(sd.DataError, "holds parameters", "torch.export.save"):
        load_model("model.pth", pickle=True)
    Path("model.pth").write_bytes(b"PK\x03\x04 and no more")
    with refused(sd.DataError, "cut off"):
        load_model("model.pth", pickle=True)


def test_a_hostile_pt_file(torch, file):
    mark = file.with_name("mark")
    torch.save(Hostile(mark), "evil.pt")
    for name in ("evil.pt", "evil.pt2"):
        Path(name).write_bytes(Path("evil.pt").read_bytes())
        with pytest.raises(sd.DataError):
            load_model(name)
    assert not mark.exists()
