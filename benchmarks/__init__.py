"""The library's speed and memory, measured beside effector, PyALE and scikit-learn in one run."""

import os

# Linear algebra libraries read these once, when NumPy is first imported.
for _name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
