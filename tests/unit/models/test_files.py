"""Models given as the path of their file, and boosters without an estimator around them."""

import copy
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] * X[:, 1] + np.abs(X[:, 2])


def lightgbm_file(folder: Path) -> tuple[Path, object]:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=7, verbose=-1).fit(X, Y)
    model.booster_.save_model(folder / "model.txt")
    return folder / "model.txt", model


def xgboost_file(folder: Path, suffix: str) -> tuple[Path, object]:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=7).fit(X, Y)
    model.save_model(folder / f"model{suffix}")
    return folder / f"model{suffix}", model


def test_lightgbms_file_answers_as_its_model(tmp_path):
    file, model = lightgbm_file(tmp_path)
    for named in (file, str(file)):
        assert np.allclose(sd.prediction(named).at(X), model.predict(X), rtol=1e-12)
    e = sd.explain(file, X, 0, method=sd.PDP(grid=[0.0]))
    moved = X.copy()
    moved[:, 0] = 0.0
    assert e.value[0] == pytest.approx(model.predict(moved).mean(), rel=1e-12)
    assert "evaluated without calling" in e.provenance["trees"]


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_xgboosts_files_answer_as_their_model(tmp_path, suffix):
    file, model = xgboost_file(tmp_path, suffix)
    assert np.allclose(sd.prediction(file).at(X), model.predict(X), rtol=1e-6)
    walked, called = (
        sd.explain(file, X, method=sd.ALE(bins=5), tree=tree) for tree in ("force", "off")
    )
    for name in walked:
        assert np.allclose(walked[name].value, called[name].value, atol=1e-5)


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_files_of_models_that_stopped_early_predict_as_what_was_saved(tmp_path, suffix, booster):
    """XGBoost's estimators predict with the trees up to the best iteration, its boosters with all."""
    xgb = pytest.importorskip("xgboost")
    dropped = {"rate_drop": 0.3} if booster == "dart" else {}
    settings = {"learning_rate": 0.9, "max_depth": 3, "booster": booster, **dropped}
    if booster == "gblinear":
        settings = {"learning_rate": 0.9, "booster": booster}
    model = xgb.XGBRegressor(n_estimators=40, early_stopping_rounds=4, **settings)
    model.fit(X[:200], Y[:200], eval_set=[(X[200:], Y[200:])], verbose=False)
    rounds = model.get_booster().num_boosted_rounds()
    assert model.best_iteration + 1 < rounds
    file = tmp_path / f"model{suffix}"
    model.save_model(file)
    whole = xgb.DMatrix(X[:200], Y[:200])
    held = [(xgb.DMatrix(X[200:], Y[200:]), "held")]
    bare = xgb.train(settings, whole, 40, evals=held, early_stopping_rounds=4, verbose_eval=False)
    bare.save_model(tmp_path / f"bare{suffix}")
    cases = [
        (file, model.predict),
        (xgb.Booster(model_file=file), model.predict),
        (bare, lambda Z: bare.predict(xgb.DMatrix(Z))),
        (tmp_path / f"bare{suffix}", lambda Z: bare.predict(xgb.DMatrix(Z))),
    ]
    for explained, predict in cases:
        np.testing.assert_allclose(sd.prediction(explained).at(X), predict(X), rtol=1e-5, atol=1e-6)
        moved = X.copy()
        moved[:, 0] = 0.5
        for tree in ("off",) if booster == "gblinear" else ("auto", "off"):
            e = sd.explain(explained, X, 0, method=sd.PDP(grid=[0.5]), tree=tree)
            assert e.value[0] == pytest.approx(predict(moved).mean(), rel=1e-5, abs=1e-6)
            assert (e.provenance["effect_rows"] == 0) == (tree == "auto")


def test_a_bare_booster_takes_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    _, model = xgboost_file(tmp_path, ".json")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    booster = model.get_booster()
    assert np.allclose(sd.prediction(booster).at(frame), model.predict(X), rtol=1e-6)
    with refused(sd.DataError, "X with 2 columns", "3 columns, as in training"):
        sd.prediction(booster).at(X[:, :2])


@pytest.mark.parametrize("saved", [lightgbm_file, lambda f: xgboost_file(f, ".ubj")])
@pytest.mark.parametrize("name", ["model", "m.model", "model.pkl", "model.onnx", "m.v2.cbm"])
def test_first_bytes_tell_whose_a_file_is(tmp_path, saved, name):
    file, model = saved(tmp_path)
    other = tmp_path / "other" / name
    other.parent.mkdir()
    shutil.copy(file, other)
    assert np.allclose(sd.prediction(other).at(X), model.predict(X), rtol=1e-6)


def sized(text):
    """Return a text of LightGBM whose header states the lengths of its trees."""
    trees = text[: text.index("\nend of trees")].split("\nTree=")[1:]
    sizes = " ".join(str(len(tree) + len("\nTree=")) for tree in trees)
    return re.sub("tree_sizes=.*", f"tree_sizes={sizes}", text)


OLDER = {
    "infinite threshold": lambda t: sized(
        re.sub(r"\nthreshold=\S+", "\nthreshold=inf", t, count=1)
    ),
    "version 2": lambda t: t.replace("version=v4", "version=v2"),
    "no parameters": lambda t: re.sub(r"(?s)\nparameters:.*end of parameters\n", "", t).replace(
        "version=v4", "version=v2"
    ),
    "no lengths": lambda t: re.sub(r"tree_sizes=.*\n", "", t),
    "no levels": lambda t: t[: t.index("\npandas_categorical")],
}


@pytest.mark.parametrize("kind", OLDER)
def test_what_lightgbm_reads_is_read(tmp_path, kind):
    lightgbm = pytest.importorskip("lightgbm")
    file, _ = lightgbm_file(tmp_path)
    text = OLDER[kind](file.read_text())
    assert text != file.read_text()
    file.write_text(text)
    expected = lightgbm.Booster(model_str=text).predict(X)
    np.testing.assert_allclose(sd.prediction(file).at(X), expected, rtol=1e-12)


def test_an_error_of_the_library_comes_with_the_name_of_the_file(tmp_path):
    file, _ = lightgbm_file(tmp_path)
    file.write_text(file.read_text().replace("objective=regression", "objective=of_tomorrow"))
    with refused(sd.DataError, str(file), "Unknown objective type name: of_tomorrow"):
        sd.prediction(file)


def test_a_tree_that_is_cut_out_of_the_middle_is_noticed(tmp_path):
    file, _ = lightgbm_file(tmp_path)
    text = file.read_bytes()
    start = text.index(b"Tree=3")
    file.write_bytes(text[: start + 40] + text[start + 80 :])
    with refused(sd.DataError, "cut off"):
        sd.prediction(file)


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_xgboosts_files_may_name_paths(tmp_path, suffix):
    # XGBoost does not escape the backslash before a "u", so its JSON is invalid.
    xgb = pytest.importorskip("xgboost")
    data = xgb.DMatrix(X, X[:, 0], feature_names=["C:\\users", "é", "c"])
    booster = xgb.train({"nthread": 1}, data, 3)
    booster.save_model(tmp_path / f"model{suffix}")
    answers = sd.prediction(tmp_path / f"model{suffix}").at(X)
    assert np.allclose(answers, booster.predict(data), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("model.txt", b"age,price\n1,2\n", ("not in LightGBM format",)),
        ("model.json", b'{"a": 1}', ("not in XGBoost format",)),
        ("model.ubj", b"", ("a file that is cut off", "Save the model again")),
        (
            "model.pkl",
            b"\x80\x04.",
            ("a pickle, which can run any code when it is loaded", "--trust-pickle"),
        ),
        ("model.cbm", b"CBM2", ("not in CatBoost format",)),
        ("model.h5", b"HDF", ("a file of an unknown format", "pass the fitted model itself")),
        ("gone.txt", None, ("no file", "Check the path")),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, name, content, words):
    if name.endswith(".cbm"):
        pytest.importorskip("catboost")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with refused(sd.DataError, *words):
        sd.explain(tmp_path / name, X)


def catboost_model(kind, target, **options):
    catboost = pytest.importorskip("catboost")
    fixed = {"iterations": 7, "depth": 3, "verbose": 0, "allow_writing_files": False}
    model = getattr(catboost, kind)({**fixed, **options}) if kind == "CatBoost" else None
    return (model or getattr(catboost, kind)(**fixed, **options)).fit(X, target)


CATBOOST = {
    "regressor": ("CatBoostRegressor", Y, {}),
    "counts": ("CatBoostRegressor", np.round(np.exp(Y)), {"loss_function": "Poisson"}),
    "classifier": ("CatBoostClassifier", np.where(Y > 0.5, "yes", "no"), {}),
    "plain": ("CatBoost", Y, {"loss_function": "RMSE"}),
}
"""CatBoost's models: the class, labels, and options."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CATBOOST)
def test_catboosts_files_answer_as_their_model(tmp_path, case):
    kind, target, options = CATBOOST[case]
    model = catboost_model(kind, target, **options)
    model.save_model(tmp_path / "model.cbm")
    quantity = sd.prediction
    expected = model.predict(X)
    if case == "classifier":
        quantity, expected = sd.probability, model.predict_proba(X)[:, 1]
    assert np.allclose(quantity(tmp_path / "model.cbm").at(X), expected, rtol=1e-12)
    walked, called = (
        sd.explain(tmp_path / "model.cbm", X, method=sd.ALE(bins=5), tree=tree)
        for tree in ("auto", "off")
    )
    for name in walked:
        assert np.allclose(walked[name].value, called[name].value, rtol=1e-6)


@pytest.mark.slow
def test_a_sum_of_catboosts_models_is_opened(tmp_path):
    catboost = pytest.importorskip("catboost")
    parts = [catboost_model("CatBoostRegressor", y) for y in (Y, Y**2)]
    catboost.sum_models(parts, weights=[1.0, 1.0]).save_model(str(tmp_path / "sum.cbm"))
    expected = sum(part.predict(X) for part in parts)
    assert np.allclose(sd.prediction(tmp_path / "sum.cbm").at(X), expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["classifier", "plain", "regressor"])
@pytest.mark.parametrize("way", ["copy", "deepcopy", "load_model", "pickle"])
def test_copies_of_catboosts_models_that_forgot_their_width_are_explained(tmp_path, case, way):
    kind, target, options = CATBOOST[case]
    model = catboost_model(kind, target, **options)
    model.save_model(tmp_path / "model.cbm")
    again = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "load_model": lambda m: type(m)().load_model(tmp_path / "model.cbm"),
        "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    }[way](model)
    expected, found = sd.explain(model, X), sd.explain(again, X)
    for name in expected:
        assert np.array_equal(found[name].value, expected[name].value)
    with refused(sd.DataError, "X with 2 columns", "3 columns, as in fit"):
        sd.explain(again, X[:, :2])
    both = sd.explain([model, again], X, 0, refits=True)
    assert np.array_equal(*both.values)


def _saved_catboost(folder):
    model = catboost_model("CatBoostRegressor", Y)
    model.save_model(folder / "model.cbm")
    return folder / "model.cbm", model


@pytest.mark.parametrize(
    "saved", [lightgbm_file, pytest.param(_saved_catboost, marks=pytest.mark.slow)]
)
def test_a_shell_opens_them_too(tmp_path, saved):
    from skedasis.cli.app import app
    from tests.shell import CliRunner

    file, model = saved(tmp_path)
    data = tmp_path / "rows.csv"
    np.savetxt(data, np.column_stack([X, Y]), delimiter=",", header="a,b,c,y", comments="")
    told = ["effect", "--data", str(data), "--target", "y", "--feature", "b", "--method", "pdp"]
    result = CliRunner().invoke(app, [*told, "--model", str(file)])
    assert result.exit_code == 0, result.output
    moved = X.copy()
    low = np.quantile(X[:, 1], 0.05, method="inverted_cdf")
    moved[:, 1] = low
    assert f"{model.predict(moved).mean():.3g}" in result.output
    file.write_bytes(b"tree\n")
    result = CliRunner().invoke(app, [*told, "--model", str(file)])
    assert result.exit_code == 2
    assert "cut off" in result.output


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_linear_boosters_of_xgboost_are_predicted(tmp_path, suffix):
    xgb = pytest.importorskip("xgboost")
    data = xgb.DMatrix(X, X[:, 0])
    booster = xgb.train({"nthread": 1, "booster": "gblinear"}, data, 20)
    booster.save_model(tmp_path / f"model{suffix}")
    assert np.allclose(sd.prediction(tmp_path / f"model{suffix}").at(X), booster.predict(data))


def test_catboosts_json_is_recognised(tmp_path):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(iterations=3, verbose=0, allow_writing_files=False)
    model.fit(X, Y).save_model(str(tmp_path / "model.json"), format="json")
    with refused(
        sd.DataError, "CatBoost in JSON", "Save it as .cbm: model.save_model('model.cbm')"
    ):
        sd.prediction(tmp_path / "model.json")


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_a_classifiers_file_of_xgboost(tmp_path, classes):
    """The file does not know that they are probabilities: the message says how to explain them."""
    xgboost = pytest.importorskip("xgboost")
    labels = np.digitize(X[:, 0], [-0.5, 0.5][: classes - 1])
    model = xgboost.XGBClassifier(n_estimators=4).fit(X, labels)
    file = str(tmp_path / "model.json")
    model.save_model(file)
    with refused(sd.UnsupportedError, "Use sd.prediction(model)", "(model, output=1)"):
        sd.probability(file, class_=1)
    found = sd.prediction(file, output=1) if classes == 3 else sd.prediction(file)
    assert np.allclose(found.at(X), model.predict_proba(X)[:, 1], rtol=1e-6)


def test_an_archive_is_known_by_its_parts_and_not_by_its_folders(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.bin", "w") as archive:
        archive.writestr("x/", "")
        archive.writestr("x/schema.json", "{}")
    with refused(sd.DataError, "not in skops format"):
        sd.explain(tmp_path / "model.bin", X)


# --- files that are cut off -----------------------------------------------------------------------

CUTS = """
import sys
from pathlib import Path
import skedasis as sd
from skedasis.models.files import load_model

file = Path(sys.argv[1])
whole = file.read_bytes()
load_model(file, pickle=True)
for part in range(20):
    file.write_bytes(whole[: part * (len(whole) - 3) // 19])
    try:
        load_model(file, pickle=True)
    except sd.DataError as error:
        assert file.name in str(error)
        assert "cut off" in str(error), str(error)
    else:
        sys.exit(f"{part} of 20 parts were read")
print("all are refused")
"""


def linear_skops(folder: Path) -> Path:
    from sklearn.linear_model import LinearRegression

    io = pytest.importorskip("skops.io")
    io.dump(LinearRegression().fit(X, Y), folder / "model.skops")
    return folder / "model.skops"


def linear_pickle(folder: Path) -> Path:
    from sklearn.linear_model import LinearRegression

    (folder / "model.pkl").write_bytes(pickle.dumps(LinearRegression().fit(X, Y)))
    return folder / "model.pkl"


def onnx_file(folder: Path) -> Path:
    pytest.importorskip("onnxruntime")
    h = pytest.importorskip("onnx").helper
    graph = h.make_graph(
        [h.make_node("ReduceSum", ["x"], ["y"], keepdims=1)],
        "sums",
        [h.make_tensor_value_info("x", 1, ["n", 3])],
        [h.make_tensor_value_info("y", 1, ["n", 1])],
    )
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx"


def torch_file(folder: Path, name: str) -> Path:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(3, 1)
    if name == "exported.pt2":
        torch.export.save(torch.export.export(module, (torch.zeros(4, 3),)), folder / name)
    elif name == "script.pt":
        torch.jit.save(torch.jit.trace(module, torch.zeros(4, 3)), folder / name)
    else:
        torch.save(module, folder / name)
    return folder / name


def marked_lightgbm(folder: Path) -> Path:
    file = lightgbm_file(folder)[0]
    file.write_bytes(b"\xef\xbb\xbf\n" + file.read_bytes())
    return file


FILES = {
    "lightgbm": lambda folder: lightgbm_file(folder)[0],
    "lightgbm after a byte-order mark": marked_lightgbm,
    "xgboost json": lambda folder: xgboost_file(folder, ".json")[0],
    "xgboost ubj": lambda folder: xgboost_file(folder, ".ubj")[0],
    "pickle": linear_pickle,
}
SLOW_FILES = {
    "skops": linear_skops,
    "catboost": lambda folder: _saved_catboost(folder)[0],
    "onnx": onnx_file,
    "torch export": lambda folder: torch_file(folder, "exported.pt2"),
    "torch module": lambda folder: torch_file(folder, "module.pt"),
    "torch script": lambda folder: torch_file(folder, "script.pt"),
}


@pytest.mark.filterwarnings("ignore")  # of torch
@pytest.mark.parametrize(
    "save",
    [
        *(pytest.param(save, id=name) for name, save in FILES.items()),
        *(pytest.param(save, id=name, marks=pytest.mark.slow) for name, save in SLOW_FILES.items()),
    ],
)
def test_a_file_that_is_cut_off_is_refused_and_the_process_goes_on(tmp_path, save):
    """LightGBM and XGBoost themselves end the process on some of them, or never return."""
    program = [sys.executable, "-c", CUTS, str(save(tmp_path))]
    done = subprocess.run(program, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all are refused\n")
