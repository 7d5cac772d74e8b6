"""SVG of several models: pixels, mapped back to values, are the models' own numbers."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.svg import effect as effect_svg

NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def found():
    X = np.random.default_rng(2).normal(size=(250, 3))
    models = [lambda X, k=k: np.sin(k * X[:, 0]) + X[:, 1] * k for k in (0.8, 1.0, 1.3, 1.5)]
    return sd.explain(models, X, method=sd.ALE(bins=7))


def scales(panel):
    """Return the mappings from pixels to values."""
    out = []
    for name in ("data-x", "data-y"):
        p0, p1, v0, v1 = (float(v) for v in panel.get(name).split())
        out.append(lambda p, p0=p0, p1=p1, v0=v0, v1=v1: v0 + (p - p0) / (p1 - p0) * (v1 - v0))
    return out


def curves(svg):
    """Return the models' curves in data coordinates, by model number: points of shape (m, 2)."""
    [panel] = [g for g in svg.iter(f"{SVG}g") if g.get("class") == "panel" and has_curves(g)]
    [path] = [p for p in panel.iter(f"{SVG}path") if p.get("class") == "curves"]
    x, y = scales(panel)
    points = [
        np.c_[x(way[:, 0]), y(way[:, 1])] for way in map(corners, path.get("d").split("M")[1:])
    ]
    return dict(zip(map(int, path.get("data-rows").split()), points, strict=True))


def corners(way):
    """Return the vertices of one part of a path, shape (m, 2)."""
    start, *steps = re.split("(?=[Ll])", way)
    numbers = [np.array(re.findall(NUMBER, part), float).reshape(-1, 2) for part in (start, *steps)]
    at = numbers[0]
    for step, pairs in zip(steps, numbers[1:], strict=True):
        more = at[-1] + np.cumsum(pairs, axis=0) if step[0] == "l" else pairs
        at = np.concatenate([at, more])
    return at


def has_curves(group):
    return any(p.get("class") == "curves" for p in group.iter(f"{SVG}path"))


def test_each_model_s_curve_is_there(found):
    one = found["x0"]
    svg = ET.fromstring(str(effect_svg.models(one, ident="m").svg))
    drawn = curves(svg)
    assert list(drawn) == [1, 2, 3, 4]
    span = np.ptp(one.values)
    for number, points in drawn.items():
        at = np.interp(points[:, 0], one.x, one.values[number - 1])
        np.testing.assert_allclose(points[:, 1], at, atol=0.01 * span)
    assert "model" in {g.get("data-each") for g in svg.iter(f"{SVG}g")}


def test_points_tell_the_mean_the_spread_and_the_interval(found):
    one = found["x0"]
    lower, upper = one.interval(0.9)
    svg = ET.fromstring(str(effect_svg.models(one, ident="m", confidence_level=0.9).svg))
    tips = [r.get("data-tip").split("\n") for r in svg.iter(f"{SVG}rect") if r.get("data-tip")]
    assert len(tips) == len(one.x)
    told = np.array([re.findall(r"−?\d+\.?\d*", " ".join(t[1:])) for t in tips])
    numbers = np.array([[float(v.replace("−", "-")) for v in row] for row in told])
    expected = np.c_[one.value, one.between, np.full(len(one.x), 90.0), lower, upper]
    np.testing.assert_allclose(numbers, expected, rtol=6e-3, atol=1e-9)


def test_many_share_their_scale_and_their_legend(found):
    drawn, legend = effect_svg.small_models(found, ident="s", top=2)
    panels = [
        g
        for one in drawn
        for g in ET.fromstring(str(one.svg)).iter(f"{SVG}g")
        if g.get("class") == "panel"
    ]
    assert len(drawn) == 2
    assert len({tuple(p.get("data-y").split()[2:]) for p in panels}) == 1
    said = "".join(ET.fromstring(str(legend.svg)).itertext())
    assert "mean of the models" in said
    assert "individual models" in said


def test_levels_without_an_order_have_no_curve_between_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(list("uvw"), 90), "z": rng.normal(size=90)})
    models = [lambda X, k=k: k * (X["c"] == "u") + X["z"] for k in (1.0, 2.0)]
    one = sd.explain(models, X, "c", method=sd.ALE())
    svg = ET.fromstring(str(effect_svg.models(one, ident="m").svg))
    panels = [g for g in svg.iter(f"{SVG}g") if g.get("class") == "panel"]
    assert not any(map(has_curves, panels))
    assert any(p.get("class") == "flecks" for g in panels for p in g.iter(f"{SVG}path"))
    tips = [r.get("data-tip").split("\n")[0] for r in svg.iter(f"{SVG}rect") if r.get("data-tip")]
    assert tips == list(one.levels.labels)


def test_importances_show_each_model():
    X = np.random.default_rng(1).normal(size=(200, 3))
    losses = [sd.loss(lambda X, k=k: k * X[:, 0], "squared_error") for k in (0.9, 1.0, 1.4)]
    found = sd.explain(losses, X, y=X[:, 0] + X[:, 1], method=sd.PFI(n_repeats=2))
    drawing = effect_svg.importances(found, ident="i", top=2)
    svg = ET.fromstring(str(drawing.svg))
    tips = [r.get("data-tip").split("\n") for r in svg.iter(f"{SVG}rect") if r.get("data-tip")]
    order = np.argsort(-found.mean)[:2]
    assert [t[0] for t in tips] == [found.features[i] for i in order]
    first = float(tips[0][1].split()[1].replace(",", ""))
    assert first == pytest.approx(found.mean[order[0]], rel=6e-3)
    ends = [float(v) for v in re.findall(r"[\d.]+", tips[0][-1])]
    each = found.values[:, order[0]]
    assert ends == pytest.approx([each.min(), each.max()], rel=6e-3)
    assert "individual models" in "".join(svg.itertext())
