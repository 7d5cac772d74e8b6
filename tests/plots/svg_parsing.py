"""Helpers of the tests of SVG: parsing, and mapping pixels back to values."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np

SPACE = "{http://www.w3.org/2000/svg}"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")


class Sheet:
    """A drawing, parsed as XML."""

    def __init__(self, drawing) -> None:
        self.text = str(drawing.svg)
        self.root = ET.fromstring(self.text)
        self.panels = [Axes(g) for g in self.root.iter(f"{SPACE}g") if g.get("class") == "panel"]

    def of(self, name: str, inside=None) -> list:
        """Return the elements that have all of these classes."""
        wanted = set(name.split())
        found = (self.root if inside is None else inside).iter()
        return [e for e in found if wanted <= set(e.get("class", "").split())]

    def one(self, name: str, inside=None):
        (found,) = self.of(name, inside)
        return found

    @property
    def tips(self) -> list[list[str]]:
        """Return the lines of each tooltip, in document order."""
        return [e.get("data-tip").split("\n") for e in self.root.iter() if e.get("data-tip")]

    @property
    def legend(self) -> list[str]:
        return [t.text for g in self.of("legend") for t in g.iter(f"{SPACE}text")]

    @property
    def words(self) -> list[str]:
        return [t.text or "" for t in self.root.iter(f"{SPACE}text")]


class Axes:
    """One panel: its element, and the mapping from pixels to values."""

    def __init__(self, element) -> None:
        self.element = element
        self.across = [float(v) for v in element.get("data-x").split()]
        self.up = [float(v) for v in element.get("data-y").split()]

    def x(self, pixels):
        p0, p1, v0, v1 = self.across
        return v0 + (np.asarray(pixels) - p0) / (p1 - p0) * (v1 - v0)

    def y(self, pixels):
        p0, p1, v0, v1 = self.up
        return v0 + (np.asarray(pixels) - p0) / (p1 - p0) * (v1 - v0)

    @property
    def fine(self) -> tuple[float, float]:
        """Return the size of a tenth of a pixel in units of both axes, the resolution of coordinates."""
        p0, p1, v0, v1 = self.across
        q0, q1, w0, w1 = self.up
        return 0.1 * abs((v1 - v0) / (p1 - p0)), 0.1 * abs((w1 - w0) / (q1 - q0))

    def parts(self, element) -> list[np.ndarray]:
        """Return a path's parts in data coordinates, each (m, 2)."""
        return [np.column_stack([self.x(p[:, 0]), self.y(p[:, 1])]) for p in parts(element)]


def parts(element) -> list[np.ndarray]:
    """Return the vertices of each part of a path, in pixels; for marks made of arcs, their centers."""
    found: list[list[tuple[float, float]]] = []
    x = y = 0.0
    for letter, rest in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", element.get("d")):
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


def marks(element) -> np.ndarray:
    """Return the centers of marks, in pixels, (m, 2): each mark is a move to its center and a relative shape."""
    pairs = re.findall(r"M([-\d.]+) ([-\d.]+)m", element.get("d"))
    return np.array(pairs, dtype=float).reshape(-1, 2)
