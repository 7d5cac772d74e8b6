"""Self-contained HTML pages of results, notebook output, and HTML tables."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, singledispatch
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from markupsafe import Markup, escape

from skedasis._files import check_page, write_text
from skedasis._numbers import counted, number, number_or_zero, with_minus
from skedasis.data.times import TimePoints
from skedasis.plots.draw_svg import draw, draw_tiles
from skedasis.plots.elements import Drawing, joined, plain, tag
from skedasis.plots.marks import FigureSpec
from skedasis.plots.scales import position_texts
from skedasis.plots.theme import stylesheet
from skedasis.results.ale_statistics import Statistics
from skedasis.results.change import Change, Changes
from skedasis.results.checks.check import Check, Checks
from skedasis.results.checks.variance_decomposition import VarianceDecomposition
from skedasis.results.containers import HasRanking, OneMember, OutputResult
from skedasis.results.contrast import Contrast, Contrasts, level_text
from skedasis.results.described import columns_of
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.display import RULES, Ranking, bins_table
from skedasis.results.drift import Drift
from skedasis.results.effect import About, BinnedEffect, BinStats, Effect, LevelStepsEffect
from skedasis.results.effects import Effects
from skedasis.results.export import TableColumn, Tabulated
from skedasis.results.frames import effect_table, surface_table
from skedasis.results.importance import Importance
from skedasis.results.interactions import DEPENDS, SHARES, Interactions
from skedasis.results.keywords import RankedBy
from skedasis.results.multi_model import (
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    MultiModelSurface,
)
from skedasis.results.multi_output import Comparison, MultiOutput, ResultsByLabel
from skedasis.results.regions import (
    MultiModelRegions,
    MultiModelRegionsByFeature,
    Regions,
    RegionsByFeature,
)
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces
from skedasis.results.variance_shares import VarianceShares
from skedasis.results.weak_spots import WeakSpots

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# --- tables --------------------------------------------------------------------------------------

LINES = 100
"""Most lines of a table; longer tables are available as data frames."""

PLACES = ("x", "x0", "x1", "left", "right", "left0", "right0", "left1", "right1")
"""Columns of positions on an axis, written with enough digits to distinguish neighbours."""


def table(caption: str, columns: Mapping[str, TableColumn]) -> Markup:
    """Return columns as an HTML table whose first column is the row header."""
    size = _size(columns)
    kept = {name: column[:LINES] for name, column in columns.items()}
    if size > LINES:
        caption = f"{caption}: the first {LINES:,} of {size:,} lines"
    written = {name: _cells(name, column) for name, column in kept.items()}
    heads = [
        tag("th", name.replace("_", " "), scope="col", class_="text" if textual else None)
        for name, (_, textual) in written.items()
    ]
    rows = [
        _row(cells, list(written.values()))
        for cells in zip(*(c for c, _ in written.values()), strict=True)
    ]
    inner = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows),
        class_="skd-table",
    )
    # Wide tables scroll horizontally. The container can be focused, so that keyboards can scroll it, and needs a name.
    return tag("div", inner, class_="skd-scroll", role="region", aria_label=caption, tabindex="0")


def _size(columns: Mapping[str, TableColumn]) -> int:
    """Return the number of lines."""
    return len(next(iter(columns.values()), ()))


def _row(cells: Sequence[str], written: Sequence[tuple[list[str], bool]]) -> Markup:
    kinds = ["text" if textual else None for _, textual in written]
    head = tag("th", cells[0], scope="row", class_=kinds[0])
    return tag("tr", head, *map(_cell, cells[1:], kinds[1:]))


def _cell(text: str, kind: str | None) -> Markup:
    return tag("td", text, class_=kind)


def _cells(name: str, column: TableColumn) -> tuple[list[str], bool]:
    """Return a column as text, and whether it is left-aligned like text."""
    if isinstance(column, TimePoints):
        return column.texts(), True
    values = np.asarray(column)
    if values.dtype.kind == "b":
        return ["yes" if v else "no" for v in values.tolist()], True
    if values.dtype.kind in "iu":
        return [f"{v:,}".replace("-", "−") for v in values.tolist()], False
    if values.dtype.kind == "f":
        if name in PLACES:
            return position_texts(values), False
        top = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
        return [number_or_zero(float(v), top) for v in values.tolist()], False
    shown = with_minus if name in RULES else str
    return ["–" if v is None else shown(str(v)) for v in column], True


def folded(summary: str, *content: Markup) -> Markup:
    """Return content that is collapsed below its summary."""
    return tag("details", tag("summary", summary), joined(content), class_="skd-more")


# --- pages ---------------------------------------------------------------------------------------


@cache
def asset(name: str) -> str:
    """Return the text of a file in `assets`."""
    return resources.files("skedasis.plots").joinpath("assets", name).read_text("utf-8")


def style() -> str:
    """Return the style sheet of figures: light, dark, printed, and with forced colours."""
    return stylesheet() + asset("figure.css")


def script() -> str:
    """Return the script that makes figures interactive; `skedasis.enlive(root)` does so for figures added later."""
    return asset("figure.js")


def csp(styles: Iterable[str], scripts: Iterable[str]) -> str:
    """Return the content security policy that admits only these styles and scripts."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_sources(scripts)}",
            f"style-src {_sources(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )


def _sources(texts: Iterable[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in texts]
    return " ".join(f"'sha256-{d}'" for d in digests) or "'none'"


def page(title: str, body: Markup, *, styles: Sequence[str], scripts: Sequence[str] = ()) -> str:
    """Return a complete HTML page."""
    head = [
        Markup('<meta charset="utf-8">'),
        Markup('<meta http-equiv="Content-Security-Policy" content="{}">').format(
            csp(styles, scripts)
        ),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        # Without an icon the browser would request one from the server.
        Markup('<link rel="icon" href="data:,">'),
        tag("title", title),
        *(Markup("<style>{}</style>").format(Markup(s)) for s in styles),  # noqa: S704 - our own
    ]
    code = [Markup("<script>{}</script>").format(Markup(s)) for s in scripts]  # noqa: S704 - our own
    lines = [
        Markup('<!doctype html>\n<html lang="en">\n<head>'),
        *head,
        Markup('</head>\n<body class="skd-page">'),
        body,
        *code,
        Markup("</body>\n</html>\n"),
    ]
    return str(Markup("\n").join(lines))


@dataclass(frozen=True, eq=False)
class Explorable:
    """An interactive HTML page: notebooks display it, `save` writes it to a file.

    Parameters
    ----------
    html : str
        The complete page, which loads nothing from the network.
    title : str
    height : int
        Height in a notebook, in pixels; longer pages scroll.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> shown = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=5)).explore()
    >>> shown
    <Explorable: x0: effect on prediction (ALE), ...>
    """

    html: str = field(repr=False)
    title: str
    height: int = 640

    def __repr__(self) -> str:
        return f"<Explorable: {self.title}, {len(self.html) / 1000:,.0f} kB; .save(path) writes it>"

    def save(self, path: str | Path) -> Path:
        """Write the page to a file; replace an existing file.

        Parameters
        ----------
        path : str or Path
            Its folder is created if it does not exist.

        Returns
        -------
        Path

        Raises
        ------
        DataError
            If `path` is a folder.
        """
        path = check_page(path, "save(path)", "effects.html")
        write_text(path, self.html, "save(path)")
        return path

    def _repr_html_(self) -> str:
        """Return the page in a sandboxed frame: its script runs, but has no access to the notebook."""
        # HTML in an attribute value is escaped like text.
        srcdoc = escape(self.html)
        return (
            f'<iframe title="{plain(self.title)}" srcdoc="{srcdoc}" sandbox="allow-scripts" '
            f'width="100%" height="{self.height}" loading="lazy" frameborder="0"></iframe>'
        )


# --- tables of results ---------------------------------------------------------------------------


TABLES: Mapping[type, Mapping[str, str]] = {
    Comparison: {"ranking": "All models, most important first"},
    MultiModelRegions: {"recurrence": "First splits"},
    MultiModelRegionsByFeature: {"ranking": "Features and their first splits"},
    MultiOutput: {"ranking": "All outputs, most important first"},
    Regions: {"regions": "Groups of rows", "splits": "Splits"},
    RegionsByFeature: {"ranking": "Ranking by heterogeneity score"},
    Surfaces: {"ranking": "Pairs, strongest interaction first"},
}
"""Class → which of the tables of `to_frame` are shown, with their captions."""


@singledispatch
def numbers_of(result: object) -> list[Markup]:
    """Return the numbers of a result as HTML tables: those of `TABLES`, by default that of `to_frame`, with lines."""
    if not result:
        return []
    shown = next((TABLES[kind] for kind in type(result).__mro__ if kind in TABLES), None)
    members = [*result.values()] if isinstance(result, ResultsByLabel) else []
    ranked = all(isinstance(one, (HasRanking, OneMember)) for one in members)
    if shown is not None and ranked and isinstance(result, OutputResult):
        found = [(caption, result.table(of)) for of, caption in shown.items()]
        return [table(caption, columns) for caption, columns in found if _size(columns)]
    return [table("Numbers", _without(result.table()))] if isinstance(result, Tabulated) else []


@numbers_of.register
def _(effect: Effect) -> list[Markup]:
    about = effect.about
    heading = f"Effect at each {effect.axis.noun}{_units(about)}"
    found = [table(heading, _without(effect_table(effect, "effect")))]
    if isinstance(effect, BinnedEffect | LevelStepsEffect) and len(effect.bins):
        steps = isinstance(effect, LevelStepsEffect)
        heading = "Differences between adjacent levels" if steps else "Bins"
        found.append(table(f"{heading}{_units(about)}", _telling(effect_table(effect, "bins"))))
    if effect.missing_point is not None:
        found.append(table("Rows with a missing value", _without(effect_table(effect, "missing"))))
    return found


def _units(about: About) -> str:
    """Return the units for the caption of a table, where they are known."""
    own, unit = about.feature.unit, about.unit
    said = [f"{about.feature.title} in {own}"] if own else []
    said += [f"{about.quantity} in {unit}"] if unit else []
    return f" ({', '.join(said)})" if said else ""


def _without(columns: Mapping[str, TableColumn], *names: str) -> dict[str, TableColumn]:
    """Return columns without the given ones and without the feature, which is the same in each line."""
    leave = (*names, "feature", "feature0", "feature1")
    return {name: column for name, column in columns.items() if name not in leave}


def _telling(columns: Mapping[str, TableColumn]) -> dict[str, TableColumn]:
    """Return the columns of bins or cells without uninformative ones."""
    known = {n: np.asarray(c) for n, c in columns.items() if not isinstance(c, TimePoints)}
    leave = [name for name in ("empty", "slope_change") if name in known and not known[name].any()]
    leave += ["weight"] if np.array_equal(known["weight"], known["count"]) else []
    leave += ["trusted"] if "trusted" in known and known["trusted"].all() else []
    leave += ["rise"] if "rise" in known and np.isnan(known["rise"]).all() else []
    return _without(columns, *leave)


@numbers_of.register
def _(found: Effects | MultiModelEffects | Importance | MultiModelImportance) -> list[Markup]:
    return numbers_of(found.ranking())


@numbers_of.register(Ranking)
def _(ranking: Ranking[DataclassInstance]) -> list[Markup]:
    return (
        [table("Ranking by importance", columns_of(type(ranking[0]), ranking))] if ranking else []
    )


@numbers_of.register
def _(bins: BinStats) -> list[Markup]:
    return [table("Bins", bins_table(bins))] if len(bins) else []


@numbers_of.register
def _(surface: Surface) -> list[Markup]:
    of = "effect" if surface.cells is None else "cells"
    a, b = surface.feature_titles
    names = {"0": a, "1": b}
    found = surface_table(surface, of)
    columns = {
        f"{name[:-1]} of {names[name[-1]]}" if name[-1] in names else name: column
        for name, column in (_without(found) if of == "effect" else _telling(found)).items()
    }
    return [table("Points" if of == "effect" else "Cells", columns)]


@numbers_of.register
def _(diagnosis: Diagnosis) -> list[Markup]:
    columns = diagnosis.table()
    verdicts = {name: columns.pop(name) for name in ("verdict", "text", "next")}
    return [
        table("Verdicts", {"feature": diagnosis.features, **verdicts}),
        table(f"Measures, with {100 * diagnosis.confidence_level:g} % intervals", columns),
    ]


@numbers_of.register
def _(found: VarianceShares) -> list[Markup]:
    columns = found.table() | {"part": [part.title for part in found.parts]}
    columns = {name: c for name, c in columns.items() if name not in ("kind", "features")}
    return [table("Parts of the variance", columns)]


@numbers_of.register
def _(found: Drift) -> list[Markup]:
    return [
        table("Parts of the change, with 95 % intervals", found.table("parts")),
        table("Features", _without(found.table("features"))),
        table(
            "Groups of rows; values and intervals: rows that did not choose them",
            found.table("groups"),
        ),
    ]


@numbers_of.register
def _(found: WeakSpots) -> list[Markup]:
    columns = {name: c for name, c in found.table("groups").items() if name != "group"}
    return [table("Groups of rows, and all rows", columns)]


@numbers_of.register
def _(found: Change | Changes) -> list[Markup]:
    first = found if isinstance(found, Change) else next(iter(found.values()), None)
    if first is None:
        return []
    shown = [table("Mean change, with its 95 % interval", found.table("summary"))]
    if first.rules:
        shown.append(table("Groups of rows, with 95 % intervals", found.table("regions")))
    return shown


@numbers_of.register
def _(found: Interactions) -> list[Markup]:
    titles = {"feature_0": "A", "feature_1": "B", **dict(zip(SHARES, DEPENDS, strict=True))}
    pairs = {
        titles.get(name, name): np.clip(np.asarray(c), 0.0, 1.0) if name in SHARES else c
        for name, c in found.table().items()
    }
    return [table("Pairs", pairs), table("Each feature with all others", found.table("overall"))]


@numbers_of.register
def _(found: MultiModelEffect | MultiModelSurface) -> list[Markup]:
    return [table("Mean over the models, with its interval", _without(found.table()))]


@numbers_of.register
def _(statistics: Statistics) -> list[Markup]:
    lines = list(statistics)
    columns: dict[str, TableColumn] = {"feature": [s.feature for s in lines]}
    columns["ALED"] = [s.aled for s in lines]
    columns[f"{100 * statistics.confidence_level:g} % interval"] = [
        _ends(s.aled_interval) for s in lines
    ]
    columns["noise"] = [s.noise for s in lines]
    columns["ALER"] = [_ends(s.aler) for s in lines]
    if any(not np.isnan(s.naled) for s in lines):
        columns |= {"NALED": [s.naled for s in lines], "NALER": [_ends(s.naler) for s in lines]}
    if any(not np.isnan(s.p_value) for s in lines):
        columns["p"] = [s.p_value for s in lines]
    columns["exceeds noise"] = [not s.is_noise for s in lines]
    return [table(f"{statistics.method} statistics of {statistics.quantity}", columns)]


def _ends(ends: tuple[float, float]) -> str:
    return f"{number(ends[0])} to {number(ends[1])}"


@numbers_of.register
def _(contrast: Contrast) -> list[Markup]:
    return numbers_of(Contrasts((contrast,)))


@numbers_of.register
def _(contrasts: Contrasts) -> list[Markup]:
    if not len(contrasts):
        return []
    columns: dict[str, TableColumn] = {"change": [c.change for c in contrasts]}
    if any(c.rule for c in contrasts):
        columns["where"] = [with_minus(c.rule) for c in contrasts]
    units = {(c.quantity, c.unit) for c in contrasts}
    first = contrasts[0]
    if len(units) > 1:
        columns["quantity"] = [c.quantity for c in contrasts]
    found = contrasts.table()
    numbers = ("value", "std_error", "lower", "upper", "p_value", "rows")
    columns |= {name: found[name] for name in numbers}
    of = (
        f" of {first.quantity}{f' [{first.unit}]' if first.unit else ''}" if len(units) == 1 else ""
    )
    caption = f"Change{of}, {level_text(first.confidence_level)} intervals"
    return [table(caption, columns)]


@numbers_of.register
def _(checks: Checks) -> list[Markup]:
    if not checks:
        return [note("No warnings.")]
    return [table("Checks", columns_of(Check, checks, without=("where", "numbers")))]


@numbers_of.register
def _(found: VarianceDecomposition) -> list[Markup]:
    return [table("Variance decomposition of each bin", _without(found.table()))]


# --- pages of one result -------------------------------------------------------------------------

CURVES = "The up and down arrow keys step through the curves."

HINT = (
    "Point at the figure or tap it to see its values. Keyboard: Tab to the figure, then use the arrow keys; "
    "Escape closes the tooltip."
)


class Ranked(Protocol):
    """A line of a ranking of features."""

    @property
    def feature(self) -> str: ...
    @property
    def importance(self) -> float: ...
    @property
    def heterogeneity_score(self) -> float: ...


@dataclass(frozen=True)
class Gallery:
    """Small figures of features: the first lines of their ranking.

    Parameters
    ----------
    figures : sequence of Drawing
    legend : Drawing
    ranking : sequence
        All features, in the order of the figures.
    features : sequence of str
        All features, in X's order.
    by : str
        What the order follows.
    columns : int, optional
        Largest number of figures side by side.
    """

    figures: Sequence[Drawing]
    legend: Drawing
    ranking: Sequence[Ranked]
    features: Sequence[str]
    by: RankedBy
    columns: int | None


def of_many(title: str, gallery: Gallery, tables: Sequence[Markup]) -> Explorable:
    """Return a page of many figures that can be filtered and sorted."""
    shown, total = len(gallery.figures), len(gallery.features)
    places = {name: place for place, name in enumerate(gallery.features)}
    # The script filters and sorts by these attributes.
    items = [
        tag(
            "li",
            figure.svg,
            class_="skd-item",
            data_feature=rank.feature,
            data_importance=repr(float(rank.importance)),
            data_heterogeneity_score=""
            if math.isnan(rank.heterogeneity_score)
            else repr(float(rank.heterogeneity_score)),
            data_place=str(places[rank.feature]),
        )
        for figure, rank in zip(gallery.figures, gallery.ranking, strict=False)
    ]
    left = (
        f", the {shown:,} largest by {gallery.by.replace('_', ' ')} shown" if shown < total else ""
    )
    # The legend comes first: below 200 figures it would not be seen.
    body = [
        head(title, f"{counted(total, 'feature')}{left}, on shared scales."),
        tag("figure", gallery.legend.svg, class_="skd-figure"),
        tag("p", HINT, class_="skd-hint"),
        _controls(gallery.by, shown),
        tag("ul", *items, class_="skd-gallery"),
        folded("Ranking", *tables),
    ]
    columns = gallery.columns
    tall = min(440.0 + 320.0 * -(-shown // (columns or 3)), 1200.0)
    look = "" if columns is None else f".skd-gallery{{--skd-columns:{columns}}}"
    return explorable(title, joined(body), tall, scripts=[asset("gallery.js")], look=look)


def _controls(by: RankedBy, items: int) -> Markup:
    """Return the controls for filtering and sorting; the script shows them once it runs."""
    orders = {
        "importance": "importance",
        "heterogeneity_score": "heterogeneity score",
        "name": "name",
        "columns": "column order of X",
    }
    options = [
        tag("option", said, value=name, selected=name == by) for name, said in orders.items()
    ]
    field = Markup('<input type="search" placeholder="name (press /)" autocomplete="off">')
    inner = [
        tag("label", "Filter ", field),
        tag("label", "Sort by ", tag("select", *options)),
        tag("span", counted(items, "feature"), role="status"),
    ]
    return tag("div", *inner, class_="skd-controls", role="search", hidden=True)


def head(title: str, said: str) -> Markup:
    """Return the heading of a page, without a break after a number; names may be written from right to left."""
    title = re.sub(r"(?<=\d) (?=\w)", "\u00a0", title)
    return tag("header", tag("h1", title), *([tag("p", said, class_="skd-lead")] if said else []))


def explorable(
    title: str, body: Markup, height: float, *, scripts: Sequence[str] = (), look: str = ""
) -> Explorable:
    """Return a page with interactive figures."""
    styles = [style(), asset("explore.css"), *([look] if look else [])]
    main = tag("main", body, class_="skd-explore")
    html = page(title, main, styles=styles, scripts=[script(), *scripts])
    return Explorable(html, title, round(height))


# --- notebook output -----------------------------------------------------------------------------

_TIP = re.compile(r' data-tip="([^"]*)"([^>]*)>')


def static(*parts: Markup) -> str:
    """Return elements as self-contained HTML for a notebook."""
    look = Markup(style() + asset("explore.css"))  # noqa: S704 - our own
    return str(tag("div", tag("style", look), *parts, class_="skd-figure skd-static"))


def still(spec: FigureSpec) -> Markup:
    """Return a figure for a page without a script."""
    name = f"skd-{secrets.token_hex(16)}"
    return tag("figure", _still(draw(spec, ident=name).svg, name))


def still_many(spec: FigureSpec) -> list[Markup]:
    """Return small multiples and their legend, each as `still` does."""
    name = f"skd-{secrets.token_hex(16)}"
    drawn, legend = draw_tiles(spec, ident=name)
    items = [tag("li", _still(one.svg, name), class_="skd-item") for one in drawn]
    return [tag("ul", *items, class_="skd-gallery"), tag("figure", _still(legend.svg, name))]


def _still(drawn: Markup, name: str) -> Markup:
    svg = str(drawn)
    own = f"skd-{hashlib.sha256(svg.replace(name, '').encode()).hexdigest()[:12]}"
    svg = svg.replace(name, own).replace(' tabindex="0"', "", 1)
    # Text escaped for an attribute is also escaped for an element.
    return Markup(_TIP.sub(r"\2><title>\1</title>", svg))  # noqa: S704 - escaped where it was drawn


def note(said: str) -> Markup:
    """Return a line of small text."""
    return tag("p", said, class_="skd-hint")
