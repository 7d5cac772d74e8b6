"""Warnings point at the line of the user's code that called the library, through any number of frames."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import skedasis as sd
from skedasis.errors import warn_caller

X = np.random.default_rng(0).normal(size=(60, 3))


class Model:
    def predict(self, X):
        return X[:, 0] * X[:, 1]


def call_labels():
    sd.explain(Model(), X, y=X[:, 0], method=sd.PFI(), progress=False)


def call_bins():
    sd.explain(Model(), X, "x0", method=sd.RHALE(bins=sd.Optimal(min_points=100)), progress=False)


def call_report_bins():
    sd.explain(Model(), X, "x0", method="rhale", progress=False).rebin(sd.Optimal(min_points=100))


@pytest.mark.parametrize("call", [call_labels, call_bins, call_report_bins])
def test_a_warning_names_the_file_and_line_of_the_caller(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert found
    for warning in found:
        assert warning.filename == __file__
        assert warning.lineno == call.__code__.co_firstlineno + 1


def test_a_warning_outside_the_library_points_at_its_own_caller():
    with pytest.warns(UserWarning, match="hello") as found:
        warn_caller("hello", UserWarning)
    assert found[0].filename == __file__
