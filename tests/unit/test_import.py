"""`import skedasis` is light: it imports optional libraries only when they are needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

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
    # There were 89,147 when this was written, where NumPy made 147,212, and 94,300 with Python 3.12. Docstrings and
    # documents that follow from descriptions took 5,000 more, 1 to 2 % of the time; the modules that a call of
    # `explain` needs, and which the first one loaded before, 16,000; sums of quantities, and means of labels beside
    # effects, 6,000.
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
    assert 0 < calls[-1] < 133_000


def test_the_first_call_of_explain_loads_no_module_of_the_package():
    code = (
        "import sys, numpy as np, skedasis as sd\n"
        "X = np.random.default_rng(0).normal(size=(50, 2)); sd.explain, sd.ALE\n"
        "before = set(sys.modules)\n"
        "sd.explain(lambda X: X[:, 0], X, method=sd.ALE(), heterogeneity_rows=0)\n"
        "print(*(m for m in set(sys.modules) - before if m.startswith('skedasis')))"
    )
    assert not in_a_new_process(code).strip()


def test_explaining_one_feature_of_a_function_touches_few_files():
    """A new maintainer who follows ``sd.explain(f, X, "a")`` to the number reads at most these."""
    # A file is touched if the body of one of its functions runs; the first call is over with the imports.
    code = (
        "import inspect, json, sys, threading; from pathlib import Path\n"
        "import numpy as np; import skedasis as sd\n"
        "X = np.random.default_rng(0).normal(size=(200, 3)); files = set()\n"
        "package = Path(sd.__file__).parent\n"
        "def f(X): return X[:, 0] * X[:, 1]\n"
        "def profile(frame, event, arg):\n"
        "    of = frame.f_code\n"
        "    if event == 'call' and of.co_flags & inspect.CO_OPTIMIZED:\n"
        "        files.add(of.co_filename)\n"
        "sd.explain(f, X, 'x0')\n"
        "threading.setprofile(profile); sys.setprofile(profile)\n"
        "sd.explain(f, X, 'x0')\n"
        "sys.setprofile(None)\n"
        "print(json.dumps([f for f in files if f.startswith(str(package))]))"
    )
    files = json.loads(in_a_new_process(code))
    assert 30 < len(files) <= 54, sorted(files)
