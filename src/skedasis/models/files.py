"""Loading models from files: LightGBM, XGBoost, CatBoost, ONNX, skops, torch.export, pickle."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from skedasis._escaping import one_line
from skedasis._types import Container, Floats, Values
from skedasis.data.dataset import to_array
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.introspection import with_article
from skedasis.models.piecewise_constant import is_piecewise_constant
from skedasis.models.protocols import AdaptedModel

# --- readers: each gets the library and the path, and lets errors of the library pass -------------


def _read_lightgbm(lightgbm: ModuleType, file: Path) -> object:
    text = _whole(file)
    if not text.startswith(b"tree"):
        raise ValueError("it does not begin with 'tree'")
    return lightgbm.Booster(model_str=text.decode())


def _read_xgboost(xgboost: ModuleType, file: Path) -> object:
    raw = _whole(file)
    if b'"features_info"' in raw and b'"learner"' not in raw:
        got, expected = "a model of CatBoost in JSON", "CatBoost's binary format"
        fix = "Save it as .cbm: model.save_model('model.cbm')"
        raise DataError(f"model {str(file)!r}", got, expected, fix)
    # From the path, XGBoost would trust the suffix.
    return xgboost.Booster(model_file=bytearray(raw))


def _whole(file: Path) -> bytes:
    """Return the content of a file of LightGBM or XGBoost; raise ValueError if its last parts are missing."""
    raw = file.read_bytes().removeprefix(BOM_UTF8).lstrip()
    if raw.startswith(b"tree"):
        head, *trees = raw.partition(b"\nend of trees")[0].split(b"\nTree=")
        # A tree begins with "Tree=", and ends before the line break of the next one.
        sizes = [len(tree) + len(b"\nTree=") for tree in trees]
        stated = re.search(rb"\ntree_sizes=([\d ]*)", head)
        last = raw.rstrip().rpartition(b"\n")[2]
        # Before 2018, LightGBM wrote no parameters after the trees.
        complete = last.startswith((b"end of parameters", b"pandas_categorical:")) or not (
            re.search(rb"\nversion=v[3-9]|\nparameters:", raw)
        )
        complete &= b"\nend of trees" in raw
        complete &= stated is None or [int(size) for size in stated[1].split()] == sizes
    elif raw[:1] == b"{" and raw[1:2].isalpha():  # XGBoost's version is the last entry
        complete = raw.endswith(b"}") and b"version" in raw[-64:]
    else:
        complete = bool(raw)
    if not complete:
        raise ValueError("its end is missing")
    return raw


def _read_catboost(catboost: ModuleType, file: Path) -> object:
    """Return the model in a binary file of CatBoost: a classifier if it has classes, else a regressor."""
    model = catboost.CatBoost().load_model(str(file))
    kind = catboost.CatBoostClassifier if len(model.classes_) else catboost.CatBoostRegressor
    try:
        # The loss decides whether `predict` returns the exponential, as for Poisson.
        loss = model.get_all_params()["loss_function"]
    except catboost.CatBoostError:  # a sum of models has none
        return kind().load_model(str(file))
    return kind(loss_function=loss).load_model(str(file))


def _read_onnx(runtime: ModuleType, file: Path) -> object:
    return runtime.InferenceSession(str(file))


_SHOWN = 12
"""Number of types that an error message lists; more would hide the advice that follows them."""


def _read_skops(io: ModuleType, file: Path, trust: Sequence[str]) -> object:
    unknown = [str(name) for name in io.get_untrusted_types(file=file)]
    untrusted = [name for name in unknown if name not in trust]
    if untrusted:
        more = f" and {len(untrusted) - _SHOWN} more" if len(untrusted) > _SHOWN else ""
        raise DataError(
            f"model {str(file)!r}",
            f"types that skops does not know to be harmless: {', '.join(untrusted[:_SHOWN])}{more}",
            "types that skops knows, or that you name as trusted",
            "If you know who wrote the file, name each: "
            + " ".join(f"--trust {name}" for name in untrusted[:_SHOWN]),
        )
    # Only the types in the file: skops raises for others that it cannot find.
    return io.load(file, trusted=[name for name in trust if name in unknown])


def _read_program(export: ModuleType, file: Path) -> object:
    return export.load(file).module()


def _read_pickle(pickle: ModuleType, file: Path) -> object:
    """Load a file of pickle or joblib. This runs the code in it."""
    joblib = importlib.util.find_spec("joblib") is not None
    with file.open("rb") as stream:
        return (importlib.import_module("joblib") if joblib else pickle).load(stream)


def _read_torch_pickle(torch: ModuleType, file: Path) -> object:
    """Load a file of `torch.save`."""
    model = torch.load(file, map_location="cpu", weights_only=False)
    if not callable(model):
        raise DataError(
            f"model {str(file)!r}",
            f"{with_article(type(model).__name__)}, which holds parameters without their module",
            "a whole module",
            "Save the program, for any number of rows: torch.export.save(torch.export.export(module, (rows,), "
            "dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)), 'model.pt2')",
        )
    return model


# --- from a path to a model -----------------------------------------------------------------------

_PICKLE = b"\x80"
"""First byte of a pickle since protocol 2 (2003)."""

_COMPRESSED = (
    *(b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"),
    *(b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x5d\x00\x00"),
)
"""First bytes of zlib (four levels), gzip, bzip2, xz and LZMA, with which joblib compresses pickles."""


@dataclass(frozen=True)
class _Format:
    """A format of model files."""

    name: str
    module: str
    suffixes: tuple[str, ...]
    read: Callable[..., object]
    begins: tuple[bytes, ...] = ()
    part: str = ""
    extra: str = ""
    runs_code: bool = False


_SKOPS = _Format("skops", "skops.io", (".skops",), _read_skops, part="schema.json", extra="skops")

_FORMATS = (
    _Format("LightGBM", "lightgbm", (".txt",), _read_lightgbm, (b"tree\n", b"tree\r")),
    _Format("XGBoost", "xgboost", (".json", ".ubj"), _read_xgboost, (b"{", b"binf")),
    _Format("CatBoost", "catboost", (".cbm",), _read_catboost, (b"CBM1",)),
    _Format("ONNX", "onnxruntime", (".onnx",), _read_onnx, (b"\x08",), extra="onnx"),
    _SKOPS,
    _Format(
        *("torch.export", "torch.export", (".pt2",), _read_program),
        part="archive_format",
        extra="torch",
    ),
    _Format(
        *("pickle or joblib", "pickle", (".pkl", ".pickle", ".joblib"), _read_pickle),
        begins=(_PICKLE, *_COMPRESSED),
        runs_code=True,
    ),
    _Format(
        *("torch", "torch", (".pt", ".pth"), _read_torch_pickle, (_PICKLE,)),
        part="data.pkl",
        extra="torch",
        runs_code=True,
    ),
)

SUFFIXES = tuple(suffix for form in _FORMATS for suffix in form.suffixes)
"""Usual suffixes of the files that `load_model` reads."""


def load_model(
    path: str | os.PathLike[str], trust: Sequence[str] = (), *, pickle: bool = False
) -> object:
    """Return the model in a file."""
    file = Path(path)
    form = _format_of(file)
    if form.runs_code and not pickle:
        raise DataError(
            f"model {str(file)!r}",
            "a pickle, which can run any code when it is loaded",
            "another format (.skops, .onnx, .pt2, .txt, .json, .ubj, .cbm)",
            "Save the model in such a format, or, if you know who wrote the file, pass --trust-pickle in the shell, "
            "and in Python the model that joblib.load returns",
        )
    library = _imported(form, file)
    try:
        return form.read(library, file, trust) if form is _SKOPS else form.read(library, file)
    except (DataError, UnsupportedError):
        raise
    except Exception as error:  # libraries raise any error for a malformed file
        if form.runs_code and isinstance(error, ModuleNotFoundError | AttributeError):
            raise UnsupportedError(
                f"model {str(file)!r}",
                f"a pickle of objects whose modules are missing ({error})",
                "the modules that were imported when it was saved",
                "Install them, or run from the folder that contains them",
            ) from error
        line = one_line(str(error))[:200]
        raise DataError(
            f"model {str(file)!r}",
            f"a file that is cut off or not in {form.name} format{f' ({line})' if line else ''}",
            f"a complete model as saved by {form.name}",
            "Save the model again",
        ) from error


def _format_of(file: Path) -> _Format:
    try:
        with file.open("rb") as stream:
            begins = stream.read(8)
    except FileNotFoundError as error:
        raise DataError("model", f"no file {str(file)!r}", "a file", "Check the path") from error
    except OSError as error:
        got = f"{str(file)!r}, which cannot be read ({error.strerror})"
        raise DataError("model", got, "a file", "Check the path and its permissions") from error
    parts = _parts(file) if begins.startswith(b"PK") else set()
    fits = [f for f in _FORMATS if begins.startswith(f.begins) or (f.part and f.part in parts)]
    named = [form for form in fits or _FORMATS if file.suffix.lower() in form.suffixes]
    if not (named or fits):
        raise DataError(
            f"model {str(file)!r}",
            "a file of an unknown format",
            f"one of {', '.join(SUFFIXES)}",
            "Save the model in one of these formats, or pass the fitted model itself",
        )
    return (named or fits)[0]


def _parts(file: Path) -> set[str]:
    """Return the names of files in an archive, without their folders; none if the archive is cut off."""
    import zipfile  # with its compressors it costs as much as a third of NumPy

    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile:
        return set()
    # If the end is missing, a part that is an archive itself is found, behind the beginning of the file.
    whole = min((part.header_offset for part in parts), default=0) == 0
    return {part.filename.rpartition("/")[2] for part in parts if whole}


def _imported(form: _Format, file: Path) -> ModuleType:
    """Import the module that reads a format; raise UnsupportedError if it is not installed."""
    try:
        return importlib.import_module(form.module)
    except ImportError as error:
        package = form.module.partition(".")[0]
        install = f"'skedasis[{form.extra}]'" if form.extra else package
        raise UnsupportedError(
            f"model {str(file)!r}",
            f"no installed {package}",
            f"{package}, which reads the file",
            f"Install it: pip install {install}",
        ) from error


# --- XGBoost's booster as a model of rows -------------------------------------------


class XGBooster(AdaptedModel):
    """A bare XGBoost `Booster` as a model of rows, which takes arrays and frames."""

    def __init__(self, booster: Any) -> None:
        self.grown = booster
        self.__name__ = "XGBoost Booster"

    @property
    def piecewise_constant(self) -> bool:
        """Return whether the booster is piecewise constant; it may also be linear (gblinear)."""
        return self._has_trees

    @cached_property
    def _has_trees(self) -> bool:  # asking the booster writes all of its settings as JSON
        return is_piecewise_constant(self.grown)

    @property
    def takes_codes(self) -> bool:
        return "c" in (self.grown.feature_types or ())

    @property
    def columns(self) -> list[str] | None:
        return self.grown.feature_names

    def predict(self, X: Container) -> Values:
        """Return the booster's predictions for rows in any container."""
        if not self._has_trees:  # XGBoost predicts by linear boosters only from its own container
            data = importlib.import_module("xgboost").DMatrix(self._numbers(X))
            return np.asarray(self.grown.predict(data, validate_features=False))
        # XGBoost looks up the categories of a data frame; the numbers of an array are their codes.
        named = self.takes_codes and not isinstance(X, np.ndarray)
        best = best_iteration(self.grown.attributes())
        response = self.grown.inplace_predict(
            X if named else self._numbers(X),
            iteration_range=(0, 0 if best is None else best + 1),
            validate_features=False,
        )
        return np.asarray(response)

    def _numbers(self, X: Container) -> Floats:
        rows = to_array(X)
        if rows.shape[1] != self.grown.num_features():
            raise DataError(
                self.__name__,
                f"X with {rows.shape[1]} columns",
                f"{self.grown.num_features()} columns, as in training",
                "Pass the columns that the model was trained on",
            )
        return np.asarray(rows, dtype=float)


def is_booster(model: object) -> bool:
    """Return whether a model is a bare XGBoost `Booster`."""
    kind = type(model)
    return kind.__name__ == "Booster" and kind.__module__.partition(".")[0] == "xgboost"


def best_iteration(attributes: Mapping[str, str]) -> int | None:
    """Return the last iteration that the predictions of a booster use, from its attributes; None if they use all."""
    best = attributes.get("best_iteration") if "scikit_learn" in attributes else None
    return None if best is None else int(best)
