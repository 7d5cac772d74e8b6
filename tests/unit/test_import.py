"""`import skedasis` is light: it imports optional libraries only when they are needed."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd

OPTIONAL = (
    "contourpy", "dask", "jax", "jinja2", "matplotlib", "narwhals", "pandas", "polars", "pyarrow", "rich", "scipy",
    "sklearn", "torch", "typer",
)  # fmt: skip


def in_a_new_process(code: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    ).stdout


def test_importing_the_package_loads_no_optional_library():
    loaded = json.loads(
        in_a_new_process("import json, sys, skedasis; print(json.dumps(list(sys.modules)))")
    )
    assert not [m for m in OPTIONAL if m in loaded]


@pytest.mark.slow
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
    # The heterogeneity score needs SciPy's normal distribution; SciPy is a required dependency.
    assert not [m for m in OPTIONAL if m in loaded and m != "scipy"]


def test_importing_makes_few_calls(tmp_path):
    # Counted, since times swing by half while a machine is busy: calls of Python and of C, most of which make classes.
    # There were 89,147 when this was written, where NumPy made 147,212, and 94,300 with Python 3.12.
    code = (
        "import sys; calls = 0\n"
        "def count(frame, event, arg):\n"
        "    global calls; calls += event in ('call', 'c_call')\n"
        "import numpy; sys.setprofile(count)\n"
        "import skedasis as sd; sd.explain; sd.RHALE\n"
        "sys.setprofile(None); print(calls)"
    )
    # The first run compiles what the second finds compiled, as it is for users.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    calls = [int(in_a_new_process(code, env)) for _ in range(2)]
    assert 0 < calls[-1] < 105_000


def test_explaining_one_feature_of_a_function_touches_few_files():
    """A new maintainer who follows ``sd.explain(f, X, "a")`` to the number reads at most these."""
    package = Path(sd.__file__).parent
    X = np.random.default_rng(0).normal(size=(200, 3))
    files: set[str] = set()

    def profile(frame, event, arg):
        if frame.f_code.co_filename.startswith(str(package)):
            files.add(frame.f_code.co_filename)

    def explained():
        return sd.explain(lambda X: X[:, 0] * X[:, 1], X, "x0", progress=False).value

    explained()  # imports are over
    gc.collect()  # what other tests have left may be cleaned up by files of the package
    sys.setprofile(profile)
    try:
        explained()
    finally:
        sys.setprofile(None)
    # Two of them are about compiled kernels, or three in a process that has compiled some; one makes arrays read-only,
    # one restores the process after Ctrl-C, one compares swapped rows with the data.
    assert len(files) <= 52, sorted(files)
