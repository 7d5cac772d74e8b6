"""What a reader of a page switches between: models, and the classes or outputs of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skedasis.report.content import ModelSection

TOGETHER = "all"
"""Position of the switch of models at which all models are drawn on the same axes."""

MOST = 8
"""Largest number of models on the same axes: more are not told apart."""


@dataclass(frozen=True)
class Shown:
    """The positions of the switches at which a part of the page is shown."""

    models: str = ""
    outputs: str = ""


@dataclass(frozen=True)
class Position:
    """A position of a switch: its key, and its name for the reader."""

    key: str
    name: str


@dataclass(frozen=True, eq=False)
class Together:
    """Sections of several models that are drawn on the same axes: those about the same quantity."""

    sections: tuple[ModelSection, ...]
    names: tuple[str, ...]
    shown: Shown


@dataclass(frozen=True, eq=False)
class Views:
    """The switches of a page, and where each section stands."""

    models: tuple[Position, ...]
    outputs: tuple[Position, ...]
    places: tuple[Shown, ...]
    together: tuple[Together, ...]
    left_out: int = 0

    @property
    def several(self) -> bool:
        """Return whether the page is about more than one section."""
        return len(self.places) > 1

    def everywhere(self, k: int) -> Shown:
        """Return where to show a part about a section that is shown below the others in the view of all models."""
        place = self.places[k]
        models = f"{place.models} {TOGETHER}" if self.together and place.models else place.models
        return Shown(models, place.outputs)

    @classmethod
    def of(cls, sections: Sequence[ModelSection]) -> Views:
        """Return the views of a page."""
        outputs = {
            of: [s.output for s in sections if s.of == of] for of in (s.of for s in sections)
        }
        labels = next(iter(outputs.values()))
        if any(one != labels for one in outputs.values()):
            every = tuple(Position(f"m{k}", s.name) for k, s in enumerate(sections, 1))
            shown = tuple(Shown(p.key) for p in every)
            together = _together(sections, shown, [""])
            return cls(_all(every, together), (), shown, together, _beyond(together, len(every)))
        models = tuple(Position(f"m{k}", name) for k, name in enumerate(outputs, 1))
        parts = tuple(Position(f"o{k}", name) for k, name in enumerate(labels, 1))
        by_name = {p.name: p.key for p in models}
        by_output = {p.name: p.key for p in parts}
        places = tuple(
            Shown(
                by_name[s.of] if len(models) > 1 else "",
                by_output[s.output] if len(parts) > 1 else "",
            )
            for s in sections
        )
        together = _together(sections, places, labels) if len(models) > 1 else ()
        return cls(
            _all(models, together) if len(models) > 1 else (),
            parts if len(parts) > 1 else (),
            places,
            together,
            _beyond(together, len(models)),
        )


def _all(models: tuple[Position, ...], together: tuple[Together, ...]) -> tuple[Position, ...]:
    return (Position(TOGETHER, "all models"), *models) if together else models


def _beyond(together: tuple[Together, ...], models: int) -> int:
    return models - len(together[0].sections) if together else 0


def _together(
    sections: Sequence[ModelSection], places: Sequence[Shown], outputs: Sequence[str]
) -> tuple[Together, ...]:
    """Return the sections of each output that are about the same quantity in the same unit; none if any is alone."""
    found: list[Together] = []
    for output in outputs:
        some = [(s, p) for s, p in zip(sections, places, strict=True) if output in ("", s.output)]
        if len(some) < 2 or len({s.axis for s, _ in some}) > 1:
            return ()
        at, several = some[0][1].outputs, tuple(s for s, _ in some[:MOST])
        # The switch of outputs tells which output it is.
        same = len({s.output for s in several}) == 1
        names = tuple(s.of if same else s.name for s in several)
        found.append(Together(several, names, Shown(TOGETHER, at)))
    return tuple(found)
