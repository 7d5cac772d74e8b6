"""How large a page is: what is left out, in which order, and that it is said."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

import skedasis as sd
from skedasis.report.features import PageDetail, fitted_features, page_budget


def wild(X):
    return np.sin(2 * X).sum(axis=1) + X[:, 0] * X[:, 1]


@pytest.mark.parametrize(
    ("features", "megabytes"), [(1, 2.0), (20, 2.0), (160, 3.5), (300, 5.0), (600, 10.0)]
)
def test_the_budget_grows_with_the_features(features, megabytes):
    assert page_budget(features) == pytest.approx(1e6 * megabytes)


@pytest.mark.slow
@pytest.mark.parametrize(("features", "megabytes"), [(76, 2.6)])
def test_many_features_leave_out_details_and_say_so(tmp_path, features, megabytes):
    X = np.random.default_rng(0).normal(size=(400, features))
    done = sd.report(wild, X, path=tmp_path / "r.html", pairs=0, progress=False)
    text = done.path.read_text("utf-8")
    assert done.path.stat().st_size < megabytes * 1e6
    assert f"To keep this page below {megabytes} MB, it leaves out" in text
    parts = text.split('<section class="feature')[1:]
    assert len(parts) == features
    figures = [part.count('class="skd') for part in parts]
    assert figures[0] > 1
    # What is less important has no more figures than what is more important.
    said = [re.search("Left out to keep the page small: ([^<]*)", part) for part in parts]
    kinds = [0 if found is None else len(found[1]) for found in said]
    assert len(set(kinds)) > 1
    assert said[-1] is not None


sizes = st.lists(st.integers(1, 50), min_size=4, max_size=4).map(lambda s: np.cumsum(s).tolist())


@given(st.lists(sizes, min_size=1, max_size=12), st.integers(0, 1500))
def test_details_fit_and_are_ordered(every, room):
    """Whatever the sizes, details never increase from one feature to the next less important one."""

    def render(k, detail):
        return Markup("x" * every[k][detail])

    sections, details = fitted_features(len(every), room, render, progress=False)
    assert [len(s) for s in sections] == [every[k][d] for k, d in enumerate(details)]
    assert details == sorted(details, reverse=True)
    used = sum(map(len, sections))
    least = sum(s[0] for s in every)
    assert used <= max(room, least)
    if sum(s[3] for s in every) <= room:
        assert details == [PageDetail.ALL] * len(every)
    elif least <= room:
        # One more step of the first feature that could have one would not have fitted, when it was tried.
        k = next(k for k, d in enumerate(details) if d < PageDetail.ALL)
        assert k == len(every) - 1 or used + every[k][details[k] + 1] - every[k][details[k]] > room
