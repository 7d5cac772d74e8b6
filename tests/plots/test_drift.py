"""The figure of a drift: which bars it has, on which scale, and what it says of what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.drift import drift_figure
from skedasis.plots.marks import Rectangles, Segments
from tests.plots.spec_helpers import marks_of


def model(X):
    return X[:, 0] + X[:, 1] * (X[:, 2] > 0)


def other(X):
    return model(X) + 2.0 * (X[:, 1] > 0.5)


@pytest.fixture(scope="module")
def tables():
    X = np.random.default_rng(0).normal(size=(1500, 12))
    return X[:800], X[800:] + np.eye(12)[0]


def panels(spec):
    return {str(stack[0].title): stack[0] for stack in spec.stacks}


def test_bars_are_the_parts(tables):
    old, new = tables
    found = sd.drift(model, old, other, new, progress=False)
    spec = drift_figure(found)
    by_title = panels(spec)
    assert list(by_title)[:2] == ["Drift of the mean prediction", "Rows moved, by feature"]
    assert "Model changed, by groups of rows" in by_title
    first = by_title["Drift of the mean prediction"]
    assert first.y.labels == ("model changed", "rows moved", "change")
    ends = np.concatenate([mark.right for mark in marks_of(first, Rectangles)])
    expected = [p.value for p in (found.change, found.rows_moved, found.model_changed)]
    np.testing.assert_allclose(np.sort(ends), np.sort(expected))
    (whisker,) = marks_of(first, Segments, "whisker")
    np.testing.assert_allclose(whisker.x0, [p.lower for p in found.parts[:3]])
    features = by_title["Rows moved, by feature"]
    assert len(features.y.labels) == 9  # eight features, and jointly
    assert features.y.labels[0] == "jointly"
    assert "4 of 12 features not shown" in " ".join(features.notes)
    assert len(panels(drift_figure(found, top=None))["Rows moved, by feature"].y.labels) == 13
    assert len({(p.x.least, p.x.most) for p in by_title.values()}) == 1
    assert found.verdict[0] in spec.alt


def test_one_model_or_one_table_has_no_empty_panel(tables):
    old, new = tables
    rows = panels(drift_figure(sd.drift(model, old, X_new=new, progress=False)))
    assert rows["Drift of the mean prediction"].y.labels == ("change",)
    assert not any("Model" in title for title in rows)
    models = panels(drift_figure(sd.drift(model, old, other, progress=False)))
    assert not any("Rows moved" in title for title in models)
    nothing = drift_figure(sd.drift(model, old, X_new=old.copy(), progress=False))
    assert nothing.main.x.least < nothing.main.x.most


@pytest.mark.parametrize("options", [{"top": 0}, {"confidence_level": 1.5}])
def test_wrong_options(tables, options):
    found = sd.drift(model, tables[0], other, progress=False)
    with pytest.raises(sd.DataError):
        found.plot(**options)
