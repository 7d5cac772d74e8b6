"""The values of the page's templates, as `skedasis.report.html` makes them: what each part of a template may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

if TYPE_CHECKING:
    from skedasis.report.figures import PageFigure
    from skedasis.report.format import NumberTable

Part = TypeVar("Part")


class Section(TypedDict, Generic[Part]):
    """A section with an introduction and a part for each model."""

    lead: str
    models: list[Part]


# --- features -------------------------------------------------------------------------------------


class CheckTexts(TypedDict):
    """Texts of reliability checks: warnings are open, notes are collapsed."""

    warnings: list[str]
    notes: list[str]


class RegionsOfFeature(TypedDict):
    """The regions of a feature: what they explain, their rules, and the effects in them."""

    lead: str
    lines: list[tuple[str, str]]
    figure: PageFigure


class FeatureOfModel(TypedDict):
    """One feature's effect in one model."""

    model: str
    sentences: dict[str, str]
    figures: list[PageFigure]
    regions: RegionsOfFeature | None
    cautions: list[str]
    flags: CheckTexts
    parts: str
    tables: list[NumberTable]
    code: str


class FeatureContext(TypedDict):
    """The section of a feature; `ranks` are its positions in the orders that the reader can choose."""

    name: str
    unit: str
    kind: str
    anchor: str
    drawn: bool
    ranks: Mapping[str, int]
    effects: list[FeatureOfModel]


# --- interactions and uncertainty -----------------------------------------------------------------


class SurfaceContext(TypedDict):
    """A surface of a pair."""

    names: tuple[str, str]
    name: str
    figure: PageFigure
    code: str


class PairsOfModel(TypedDict):
    """The interactions in one model."""

    name: str
    sentences: list[str]
    surfaces: list[SurfaceContext]
    tables: list[NumberTable]


class Grid(TypedDict):
    """Small figures side by side, with a name."""

    name: str
    figures: list[PageFigure]


class UncertaintyOfModel(TypedDict):
    """The predictive uncertainty of one model."""

    name: str
    sentences: list[str]
    figures: list[PageFigure]
    tables: list[NumberTable]
    grids: list[Grid]
    code: str


# --- models ---------------------------------------------------------------------------------------


class Head(TypedDict):
    """The head of a column of a ranking: in which direction it sorts first, and how it is sorted now."""

    text: str
    first: str
    sorted: str


class Cell(TypedDict):
    """A number of a ranking with its bar and its interval, in pixels; `value` sorts it."""

    value: float | str
    text: str
    share: float | None
    ends: tuple[float, float] | None
    interval: str


class Count(TypedDict):
    """A count of a ranking, which may be a reason for caution."""

    value: int
    text: str
    warn: bool


class RankingLine(TypedDict):
    """A feature's line of a ranking."""

    name: str
    anchor: str
    importance: Cell
    heterogeneity_score: Cell
    counts: list[Count]


class RankingContext(TypedDict):
    """The ranking of a model's features."""

    caption: str
    heads: list[Head]
    lines: list[RankingLine]


class ModelContext(TypedDict):
    """The parts of the page about one model as a whole."""

    name: str
    facts: list[tuple[str, str]]
    summary: Sequence[str]
    tiles: list[tuple[str, str, str]]
    quality: list[str]
    figures: list[PageFigure]
    where: list[PageFigure]
    all: list[PageFigure]
    all_caption: str
    ranking: RankingContext
    origins: NumberTable
    code: str


# --- the page -------------------------------------------------------------------------------------


class Caution(TypedDict):
    """A caution about the whole page, and the model that it concerns."""

    name: str
    text: str


class Entry(TypedDict):
    """An entry of the table of contents."""

    anchor: str
    name: str


class PageContext(TypedDict):
    """All values that the page's templates need."""

    title: str
    lead: str
    data: tuple[str, ...]
    several: bool
    drawn: int
    contents: list[Entry]
    models: list[ModelContext]
    features: list[FeatureContext]
    kinds: dict[str, bool]
    scored: bool
    cautions: list[Caution]
    pairs: Section[PairsOfModel] | None
    uncertainty: Section[UncertaintyOfModel] | None
    made: str
    versions: str
