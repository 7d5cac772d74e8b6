"""Helpers of the tests of SVG figures: parsing as XML, and mapping pixels back to values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import numpy as np

from skedasis._escaping import visible
from skedasis.plots.elements import Drawing

SVG = "{http://www.w3.org/2000/svg}"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
LOOKS = {"style", "onclick", "onload", "onmouseover"}
"""Attributes that a strict page refuses."""


def parsed(drawing: Drawing) -> ET.Element:
    """Check what must hold for every figure, and return it as XML."""
    root = ET.fromstring(str(drawing.svg))
    assert root.tag == f"{SVG}svg"
    assert [c.tag for c in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert [without_isolates(e.text) for e in root[:2]] == [
        visible(drawing.title),
        visible(drawing.alt),
    ]
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    names = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(names) == len(set(names))
    assert root.get("aria-labelledby", "").split() == names[:2]
    used = [e.get(key, "") for e in root.iter() for key in ("fill", "clip-path")]
    assert {u[5:-1] for u in used if u.startswith("url(")} <= set(names)
    assert not any(LOOKS & set(e.attrib) for e in root.iter())
    assert "script" not in {e.tag.removeprefix(SVG) for e in root.iter()}
    numbers = re.findall(r"(?:nan|inf)\b", " ".join(v for _, v in lengths(root)))
    assert not numbers
    return root


def without_isolates(text: str | None) -> str:
    """Return text as it was before right-to-left names in it were isolated."""
    return (text or "").replace("\u2068", "").replace("\u2069", "")


def lengths(root: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield the names and values of all numeric attributes."""
    for element in root.iter():
        for name, value in element.attrib.items():
            if name in ("x", "y", "width", "height", "cx", "cy", "d", "transform", "r"):
                yield name, value


def of(root: ET.Element, look: str) -> list[ET.Element]:
    """Return the elements with a class."""
    return [e for e in root.iter() if look in e.get("class", "").split()]


def tips(root: ET.Element) -> list[str]:
    """Return the tooltips of marks."""
    return [e.get("data-tip", "") for e in root.iter() if e.get("data-tip")]


def texts(root: ET.Element) -> list[str]:
    """Return all texts."""
    return ["".join(e.itertext()) for e in root.iter(f"{SVG}text")]


def back(panel: ET.Element, which: str, pixels: float | np.ndarray) -> np.ndarray:
    """Return the values at pixel positions."""
    a, b, low, high = (float(v) for v in panel.get(f"data-{which}", "").split())
    return low + (np.asarray(pixels, dtype=float) - a) / (b - a) * (high - low)


def pixel(panel: ET.Element, which: str) -> float:
    """Return the size of a tenth of a pixel in units of an axis, the resolution of coordinates, plus 10 %."""
    a, b, low, high = (float(v) for v in panel.get(f"data-{which}", "").split())
    return abs(0.11 * (high - low) / (b - a))


def parts(element: ET.Element) -> list[np.ndarray]:
    """Return the vertices of each part of a path, in pixels; for marks made of arcs, their centers."""
    found: list[list[tuple[float, float]]] = []
    x = y = 0.0
    for letter, rest in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", element.get("d", "")):
        numbers = [float(v) for v in _NUMBER.findall(rest)]
        kind, ox, oy = letter.upper(), *((x, y) if letter.islower() else (0.0, 0.0))
        if kind == "Z" or kind == "A":
            continue
        step = 1 if kind in "HV" else 2
        for k in range(0, len(numbers), step):
            if letter.islower():
                ox, oy = x, y
            if kind == "H":
                x = ox + numbers[k]
            elif kind == "V":
                y = oy + numbers[k]
            else:
                x, y = ox + numbers[k], oy + numbers[k + 1]
            if kind == "M" and k == 0:
                found.append([])
            found[-1].append((x, y))
    return [np.array(p) for p in found]


def marks(element: ET.Element) -> np.ndarray:
    """Return the centers of marks, in pixels, (m, 2): each mark is a move to its center and a relative shape."""
    pairs = re.findall(r"M([-\d.]+) ([-\d.]+)m", element.get("d", ""))
    return np.array(pairs, dtype=float).reshape(-1, 2)


def inside(root: ET.Element) -> bool:
    """Return whether all texts begin and end within the figure, by their estimated widths."""
    from skedasis.plots.scales import width_of

    wide, high = float(root.get("width", "0")), float(root.get("height", "0"))
    for group, parents in _with_parents(root):
        if group.tag != f"{SVG}text" or group.get("transform") or parents[-1].get("transform"):
            continue
        x, y = float(group.get("x", "0")), float(group.get("y", "0"))
        looks = " ".join(e.get("class", "") for e in (*parents, group)).split()
        room = 0.85 * width_of("".join(group.itertext()))
        left = x - room if "end" in looks else x - room / 2 if "middle" in looks else x
        if left < -2 or left + room > wide + 2 or not 0 <= y <= high:
            return False
    return True


def _with_parents(
    root: ET.Element, above: tuple[ET.Element, ...] = ()
) -> Iterator[tuple[ET.Element, tuple[ET.Element, ...]]]:
    for child in root:
        yield child, (*above, root)
        yield from _with_parents(child, (*above, root))
