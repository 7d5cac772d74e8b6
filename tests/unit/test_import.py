"""`import skedasis` is light: it loads NumPy's world only when it is asked for something."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import skedasis as sd

OPTIONAL = (
    "dask", "jax", "jinja2", "matplotlib", "narwhals", "pandas", "polars", "pyarrow", "rich", "scipy", "sklearn",
    "torch", "typer",
)  # fmt: skip


def in_a_new_process(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_importing_the_package_loads_no_optional_library():
    loaded = json.loads(
        in_a_new_process("import json, sys, skedasis; print(json.dumps(list(sys.modules)))")
    )
    assert not [m for m in OPTIONAL if m in loaded]


def test_explaining_an_array_loads_no_optional_library():
    code = (
        "import json, sys, numpy as np, skedasis as sd;"
        "X = np.random.default_rng(0).normal(size=(50, 2));"
        "sd.explain(lambda X: X[:, 0], X, progress=False);"
        "sd.explain(lambda X: X[:, 0], X, method='pdp');"
        "sd.explain(lambda X: X[:, 0], X, method='ale');"
        "print(json.dumps(list(sys.modules)))"
    )
    loaded = json.loads(in_a_new_process(code))
    # The normal distribution of the heterogeneity score's pairs is SciPy's, which is no optional library.
    assert not [m for m in OPTIONAL if m in loaded and m != "scipy"]


def test_importing_takes_less_than_150_ms_beyond_numpy():
    code = (
        "import time, numpy; t = time.process_time(); import skedasis as sd; sd.explain; sd.RHALE;"
        "print(time.process_time() - t)"
    )
    # The least of several: the first run of a fresh checkout also compiles, and others may be at work.
    assert min(float(in_a_new_process(code)) for _ in range(7)) < 0.150


def test_every_public_name_is_there_and_listed():
    for name in sd.__all__:
        assert getattr(sd, name) is not None
    assert set(sd.__all__) <= set(dir(sd))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        sd.nothing  # noqa: B018
