"""Panels one above the other on the same horizontal axis, in the making."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from skedasis.plots.marks import Panel, Picture
from skedasis.plots.view import View
from skedasis.plots.web import tips
from skedasis.plots.web.areas import Defs
from skedasis.plots.web.frame import Frame, below, beside, overhang
from skedasis.plots.web.legend import Keys
from skedasis.plots.web.panel import WORDS, head, head_of, inside, words
from skedasis.plots.web.svg import joined
from skedasis.results.effect import Effect

EDGE, RIGHT = 2.0, 14.0
"""Pixels on the left and on the right of all."""


@dataclass
class Stack:
    """Panels one above the other.

    Parameters
    ----------
    defs : Defs
    left, width : float
        Of the frames, in pixels.
    start : float
        Where the next panel begins.
    origin : float
        The left end of all.
    small : bool
        Whether it is one of many.
    """

    defs: Defs
    left: float
    width: float
    start: float
    origin: float = 0.0
    small: bool = False
    parts: list[Markup] = field(default_factory=list)
    keys: Keys = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)

    def add(
        self, panel: Panel, height: float, *, last: bool, titled: bool, above: float = 0.0
    ) -> None:
        """Draw a panel below those that are there.

        Parameters
        ----------
        panel : Panel
        height : float
            Of its frame, in pixels.
        last : bool
            Whether the horizontal axis has its texts here.
        titled : bool
            Whether the panel's title is written.
        above : float
            At least so many pixels lie above the frame: those of neighbours stand level then.
        """
        title, notes = (panel.title if titled else ""), panel.notes
        room = self.left + self.width - self.origin - EDGE
        # On whole pixels lines are crisp, and what is told of pixels is what is drawn.
        top = math.ceil(self.start + max(above, head_of(panel, room, title=title, notes=notes)))
        lift = WORDS if panel.words else 0.0
        edge, dense = self.origin + EDGE, self.small
        frame = Frame(
            panel.x, panel.y, self.left, top, self.width, height, edge, dense=dense, lift=lift
        )
        drawn, more = inside(frame, panel, self.defs, small=self.small)
        axes = frame.axes(below=last)
        under = frame.ground()
        look = {} if not self.small else {"data_small": "1"}
        self.parts += [
            head(frame, self.start, title=title, notes=notes),
            frame.panel(under, drawn, axes, words(frame, panel), **look),
        ]
        self.keys = _merged(self.keys, more)
        self.frames.append(frame)
        under_it = below(panel.x, self.width, dense=dense) if last else 10.0
        self.start = frame.bottom + under_it


def stacked(
    defs: Defs,
    panels: Sequence[tuple[Panel, float]],
    width: float,
    origin: tuple[float, float] = (0.0, 2.0),
    *,
    small: bool = False,
) -> Stack:
    """Return a stack with room for what stands beside the panels."""
    room = EDGE + max(beside(panel.y, height, dense=small) for panel, height in panels)
    across = panels[0][0].x
    for _ in range(3):  # the more room names take on the left, the nearer they come to each other
        room = max(room, EDGE + overhang(across, width - room - RIGHT))
    room = math.ceil(room)
    left = origin[0] + room
    return Stack(defs, left, width - room - RIGHT, origin[1], origin[0], small)


def hits(effect: Effect, shown: Picture, view: View, frames: Sequence[Frame]) -> Markup:
    """Return what is touched, over the panels that it speaks of."""
    main, lower, both = tips.of_effect(effect, shown, view)
    count = len(frames) - (shown.groups is not None)
    foot = frames[count - 1].bottom if both else frames[0].bottom
    parts = [tips.placed(main, frames[0], frames[0].top, foot)]
    if lower:
        parts.append(tips.placed(lower, frames[1], frames[1].top, frames[1].bottom))
    if shown.groups is not None:
        unit = effect.about.feature.unit
        bars = tips.of_groups(shown.groups, effect.feature, unit)
        parts.append(tips.placed(bars, frames[-1], frames[-1].top, frames[-1].bottom))
    return joined(parts)


def _merged(above: Keys, under: Keys) -> Keys:
    """Join two legends; what the lower one says of a group, with its rows, takes the place of its name alone."""
    keys: Keys = {}
    for said, drawn in above.items():
        more = next((k for k in under if k.startswith(f"{said} (")), said)
        keys[more] = under.get(more, drawn)
    return keys | under
