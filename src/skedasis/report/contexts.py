"""The values of the page's templates, as `skedasis.report.html` makes them: what each part of a template may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    from markupsafe import Markup

    from skedasis.report.figures import PageFigure
    from skedasis.report.format import NumberTable
    from skedasis.report.views import Position, Shown

Part = TypeVar("Part")


class Section(TypedDict, Generic[Part]):
    """A section with an introduction and a part for each model."""

    lead: str
    models: list[Part]


# --- the first screen -----------------------------------------------------------------------------


class VarianceSegment(TypedDict):
    """A segment of the bar of the variance; lengths are percentages of its width."""

    kind: str
    name: str
    text: str
    left: str
    width: str
    middle: str
    labelled: bool


VarianceBar: TypeAlias = "list[VarianceSegment]"


class FindingContext(TypedDict):
    """A sentence; a name at its beginning is a link to the section of its feature."""

    name: str
    anchor: str
    text: str


class ModelLine(TypedDict):
    """A model beside others: its name, the style of its curves, how good it is, and what explains its variance."""

    name: str
    line: str
    headline: str
    variance_shares: VarianceBar | None


class FirstScreen(TypedDict):
    """What a reader sees first, about one model or about several."""

    shown: Shown
    name: str
    headline: str
    remark: str
    cohorts: list[tuple[str, str]]
    models: list[ModelLine]
    variance_shares: VarianceBar | None
    no_variance_shares: str
    findings: list[FindingContext]
    curves: list[PageFigure]
    note: str


# --- features -------------------------------------------------------------------------------------


class CheckText(TypedDict):
    """A finding of a reliability check: the meaning of its code, and the page of the documentation about it."""

    code: str
    meaning: str
    page: str
    text: str


class CheckTexts(TypedDict):
    """Texts of reliability checks: warnings are open, notes are collapsed."""

    warnings: list[CheckText]
    notes: list[CheckText]


class RegionsContext(TypedDict):
    """The regions of a feature: what they explain, and the effects in them, drawn or as rules with words."""

    lead: str
    lines: list[tuple[str, str]]
    panels: list[PageFigure]


class FeatureOfModel(TypedDict):
    """One feature's effect in one model, with as many details as the size of the page allows."""

    shown: Shown
    model: str
    sentences: dict[str, str]
    regions: RegionsContext | None
    figures: list[PageFigure]
    folded: list[PageFigure]
    cautions: list[str]
    flags: CheckTexts
    checked: bool
    parts: str
    tables: list[NumberTable]
    code: str
    left_out: str


class FeatureOfModels(TypedDict):
    """One feature's effect in several models, on the same axes."""

    shown: Shown
    figure: PageFigure
    lines: list[tuple[str, str, str]]


class FeatureContext(TypedDict):
    """The section of a feature; `ranks` are its positions in the orders that the reader can choose."""

    name: str
    unit: str
    kind: str
    anchor: str
    place: int
    drawn: bool
    printed: bool
    ranks: Mapping[str, int]
    together: list[FeatureOfModels]
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

    shown: Shown
    name: str
    sentences: list[str]
    surfaces: list[SurfaceContext]
    tables: list[NumberTable]


class PanelGrid(TypedDict):
    """Small figures side by side, with a name."""

    name: str
    figures: list[PageFigure]


class UncertaintyOfModel(TypedDict):
    """The predictive uncertainty of one model."""

    shown: Shown
    name: str
    sentences: list[str]
    figures: list[PageFigure]
    tables: list[NumberTable]
    grids: list[PanelGrid]
    code: str


# --- models ---------------------------------------------------------------------------------------


class PageHead(TypedDict):
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
    """A number of a ranking, which may be a reason for caution; an unknown one is empty."""

    value: float | str
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
    heads: list[PageHead]
    lines: list[RankingLine]


class ComparisonLine(TypedDict):
    """A feature's line of the comparison of several models: importance and heterogeneity score in each."""

    name: str
    anchor: str
    numbers: list[Cell]


class Comparison(TypedDict):
    """Importance and heterogeneity score of all features in several models."""

    shown: Shown
    caption: str
    models: list[str]
    lines: list[ComparisonLine]


class ModelContext(TypedDict):
    """The parts of the page about one model as a whole."""

    shown: Shown
    everywhere: Shown
    name: str
    facts: list[tuple[str, str]]
    tiles: list[tuple[str, str, str]]
    quality: list[str]
    more: list[str]
    figures: list[PageFigure]
    where: list[PageFigure]
    arrows: bool
    all: list[PageFigure]
    all_caption: str
    ranking: RankingContext
    given: list[tuple[str, str]]
    given_table: NumberTable
    cohorts: list[NumberTable]
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
    data: tuple[str, ...]
    several: bool
    drawn: int
    printed: int
    models_switch: Sequence[Position]
    outputs_switch: Sequence[Position]
    outputs_name: str
    contents: list[Entry]
    has_rows: bool
    has_cohorts: bool
    first: list[FirstScreen]
    comparisons: list[Comparison]
    models: list[ModelContext]
    count: int
    features: Sequence[Markup]
    left_out: Sequence[str]
    kinds: dict[str, bool]
    scored: bool
    cautions: list[Caution]
    pairs: Section[PairsOfModel] | None
    uncertainty: Section[UncertaintyOfModel] | None
    made: str
    versions: str
    json: Markup
