"""Results of other packages: documents, schema, columns and files follow from the fields of a class alone."""

import subprocess
import sys
from pathlib import Path


def test_a_class_of_another_package_is_known_once_it_is_defined():
    """In a process of its own, so that other tests do not know the class."""
    tests = Path(__file__).with_name("other_package.py")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--no-cov",
        "-p",
        "no:cacheprovider",
        str(tests),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
