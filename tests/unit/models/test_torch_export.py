"""Files of `torch.export.save`, and whole modules in a pickle."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd
from skedasis.models.files import load_model
from tests.helpers import refused
from tests.shell import CliRunner

pytestmark = pytest.mark.slow
X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


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
