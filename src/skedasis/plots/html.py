"""Self-contained HTML pages of results, notebook output, and HTML tables."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, singledispatch
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

from skedasis._arguments import check_int_or_none, check_option
from skedasis._files import check_page, write_text
from skedasis.data.times import TimePoints
from skedasis.plots.draw_svg import WIDTH, draw, draw_tiles
from skedasis.plots.elements import Drawing, joined, plain, tag
from skedasis.plots.figures.change import change_figure
from skedasis.plots.figures.containers import (
    changes_figure,
    outputs_figure,
    recurrences_figure,
    surfaces_figure,
)
from skedasis.plots.figures.diagnosis import diagnosis_figure
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.effect_texts import lead
from skedasis.plots.figures.importance import importance_figure, permutation_figure
from skedasis.plots.figures.interactions import heatmap_figure, network_figure
from skedasis.plots.figures.models import models_figure, models_importance_figure
from skedasis.plots.figures.multiples import (
    effects_figure,
    models_effects_figure,
    ordered_effects,
)
from skedasis.plots.figures.options import EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.figures.regions import (
    recurrence_figure,
    regions_figure,
    regions_overview_figure,
)
from skedasis.plots.figures.surface import surface_figure
from skedasis.plots.figures.variance_shares import variance_shares_figure
from skedasis.plots.keywords import (
    ChangeFigure,
    ImportanceFigure,
    InteractionsFigure,
    RankedBy,
    RegionsKind,
)
from skedasis.plots.marks import FigureSpec
from skedasis.plots.scales import counted, number, number_or_zero, position_texts, sentence
from skedasis.plots.theme import stylesheet
from skedasis.results.ale_statistics import Statistics
from skedasis.results.change import Change, Changes, rows_text
from skedasis.results.checks.check import Checks
from skedasis.results.checks.variance_decomposition import VarianceDecomposition
from skedasis.results.containers import TableColumn
from skedasis.results.contrast import Contrast, Contrasts, level_text
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.display import Ranking, bins_table
from skedasis.results.effect import About, BinnedEffect, BinStats, Effect, LevelStepsEffect
from skedasis.results.effects import Effects
from skedasis.results.frames import effect_table, surface_table
from skedasis.results.importance import Importance
from skedasis.results.interactions import DEPENDS, SHARES, Interactions
from skedasis.results.multi_model import (
    IntervalTarget,
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    MultiModelSurface,
)
from skedasis.results.multi_output import MultiOutput, OutputResult
from skedasis.results.regions import (
    MultiModelRegions,
    MultiModelRegionsByFeature,
    Regions,
    RegionsByFeature,
    heading_text,
    regions_text,
)
from skedasis.results.surface import Surface
from skedasis.results.surfaces import AnySurface, Surfaces
from skedasis.results.variance_shares import VarianceShares

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# --- tables --------------------------------------------------------------------------------------

LINES = 100
"""Most lines of a table; longer tables are available as data frames."""

PLACES = ("x", "x0", "x1", "left", "right", "left0", "right0", "left1", "right1")
"""Columns of positions on an axis, written with enough digits to distinguish neighbours."""


def table(caption: str, columns: Mapping[str, TableColumn]) -> Markup:
    """Return columns as an HTML table whose first column is the row header."""
    size = len(next(iter(columns.values()), ()))
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
    return ["–" if v is None else str(v) for v in column], True


def records(
    lines: Iterable[DataclassInstance], *, leave: Sequence[str] = ()
) -> dict[str, list[object]]:
    """Return the fields of dataclasses of one kind as columns."""
    rows = list(lines)
    names = [f.name for f in fields(rows[0]) if f.name not in leave] if rows else []
    return {name: [getattr(row, name) for row in rows] for name in names}


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


@singledispatch
def numbers_of(result: object) -> list[Markup]:
    """Return the numbers of a result as HTML tables."""
    raise TypeError(f"there is no table for a {type(result).__name__}")


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
def _(effects: Effects) -> list[Markup]:
    return numbers_of(effects.ranking())


@numbers_of.register
def _(effects: MultiModelEffects) -> list[Markup]:
    return numbers_of(effects.ranking())


@numbers_of.register(Ranking)
def _(ranking: Ranking[DataclassInstance]) -> list[Markup]:
    return [table("Ranking by importance", records(ranking))] if ranking else []


@numbers_of.register
def _(bins: BinStats) -> list[Markup]:
    return [table("Bins", bins_table(bins))] if len(bins) else []


@numbers_of.register(Surfaces)
def _(found: Surfaces[AnySurface]) -> list[Markup]:
    lines = found.ranking()
    return [table("Pairs, strongest interaction first", records(lines))] if lines else []


@numbers_of.register(MultiOutput)
def _(found: MultiOutput[OutputResult]) -> list[Markup]:
    return [table("All outputs, most important first", found.table("ranking"))] if found else []


@numbers_of.register
def _(found: MultiModelRegionsByFeature) -> list[Markup]:
    return [table("Features and their first splits", records(found.ranking()))] if found else []


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
def _(importance: Importance) -> list[Markup]:
    return numbers_of(importance.ranking())


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
    columns = {name: c for name, c in found.table().items() if name not in ("kind", "features")}
    return [table("Parts of the variance", columns)]


@numbers_of.register
def _(found: Change) -> list[Markup]:
    tables = found.tables()
    return [
        table("Mean change, with its 95 % interval", tables["summary"]),
        *(
            table("Regions, with 95 % intervals", t)
            for name, t in tables.items()
            if name == "regions"
        ),
    ]


@numbers_of.register
def _(found: Changes) -> list[Markup]:
    if not found:
        return []
    tables = [table("Mean changes, with their 95 % intervals", found.table())]
    if next(iter(found.values())).rules:
        tables.append(table("Regions, with 95 % intervals", found.table("regions")))
    return tables


@numbers_of.register
def _(found: Interactions) -> list[Markup]:
    titles = dict(zip(SHARES, DEPENDS, strict=True))
    pairs = {
        titles.get(name, name): np.clip(np.asarray(c), 0.0, 1.0) if name in titles else c
        for name, c in found.table().items()
    }
    return [
        table("Pairs", pairs),
        table("Each feature with all others", found.table("overall")),
    ]


@numbers_of.register
def _(found: MultiModelImportance) -> list[Markup]:
    return numbers_of(found.ranking())


@numbers_of.register
def _(found: MultiModelEffect | MultiModelSurface) -> list[Markup]:
    columns = found.table()
    return [table("Mean over the models, with its interval", _without(columns))]


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
        columns["where"] = [c.rule for c in contrasts]
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
def _(trust: Checks) -> list[Markup]:
    return [table("Checks", records(trust, leave=("where", "numbers")))] if trust else []


@numbers_of.register
def _(split: VarianceDecomposition) -> list[Markup]:
    columns: dict[str, TableColumn] = {
        "left": split.left,
        "right": split.right,
        "count": split.count,
        "total": split.total,
        "within": split.within,
        "residual": split.residual,
        "share": split.share,
        "p": split.p_value,
        "p_adjusted": split.adjusted(),
    }
    return [table("Variance decomposition of each bin", columns)]


@numbers_of.register
def _(regions: Regions) -> list[Markup]:
    found = [table("Regions", regions.table("regions"))]
    if regions.splits:
        found.append(table("Splits", regions.table("splits")))
    return found


@numbers_of.register
def _(found: RegionsByFeature) -> list[Markup]:
    return [table("Ranking by heterogeneity score", found.table("ranking"))] if found else []


@numbers_of.register
def _(found: MultiModelRegions) -> list[Markup]:
    return [table("First splits", found.table("recurrence"))]


# --- pages of one result -------------------------------------------------------------------------

WIDE = 560
"""Largest width of a figure on a page, in pixels."""


CURVES = "The up and down arrow keys step through the curves."


HINT = (
    "Point at the figure or tap it to see its values. Keyboard: Tab to the figure, then use the arrow keys; "
    "Escape closes the tooltip."
)


def effect_page(effect: Effect, view: EffectPlotOptions, *, title: str | None = None) -> Explorable:
    """Return the page of one effect; see `Effect.explore`."""
    drawn = draw(page_effect(effect, view), ident="effect")
    hints = [HINT] if effect.curves is None or view.ice is None else [HINT, CURVES]
    return _one(title or drawn.title, lead(effect), drawn, numbers_of(effect), hints)


def page_effect(effect: Effect, view: EffectPlotOptions | None = None) -> FigureSpec:
    """Return the figure of an effect for a page, with as many individual curves as keep the page small."""
    view = EffectPlotOptions() if view is None else view
    most = max(LEAST, POINTS // max(len(effect.points), 1))
    if effect.curves is not None:
        view = replace(view, curves=min(view.most_curves, most))
    return effect_figure(effect, replace(view, most_levels=LEVELS))


POINTS, LEAST = 60_000, 20
"""Most points of all individual curves together, and the number of curves that is always allowed."""

LEVELS, SMALL_LEVELS = 24, 10
"""Most levels of a categorical feature in a figure, and in one of many small figures."""


def effects_page(
    effects: Mapping[str, Effect],
    view: EffectPlotOptions,
    *,
    by: RankedBy,
    top: int | None,
    columns: int | None,
    lower: bool,
    title: str | None = None,
) -> Explorable:
    """Return the page of many effects; see `Effects.explore`."""
    _counted(top=top, columns=columns)
    chosen = ordered_effects(effects, by, top)
    spec = effects_figure(
        effects, by, top, lower=lower, options=replace(view, most_levels=SMALL_LEVELS), page=None
    )
    drawn, legend = draw_tiles(spec, ident="small")
    sizes = [(e.feature, e.importance, e.heterogeneity_score) for e in chosen]
    named = title or spec.title
    tiles = Gallery(drawn, legend, sizes, list(effects), by, columns)
    return of_many(named, tiles, numbers_of(effects))


@dataclass(frozen=True)
class Gallery:
    """Figures of many features."""

    drawn: Sequence[Drawing]
    legend: Drawing
    sizes: Sequence[tuple[str, float, float]]
    features: Sequence[str]
    by: RankedBy
    columns: int | None = None


def of_many(title: str, many: Gallery, tables: Sequence[Markup]) -> Explorable:
    """Return a page of many figures that can be filtered and sorted."""
    shown, total = len(many.drawn), len(many.features)
    places = {name: str(place) for place, name in enumerate(many.features)}
    items = [
        _item(one, size, places[size[0]]) for one, size in zip(many.drawn, many.sizes, strict=True)
    ]
    left = f", the {shown:,} largest by {many.by.replace('_', ' ')} shown" if shown < total else ""
    # The legend comes first: below 200 figures it would not be seen.
    body = [
        head(title, f"{counted(total, 'feature')}{left}, on shared scales."),
        tag("figure", many.legend.svg, class_="skd-figure"),
        tag("p", HINT, class_="skd-hint"),
        _controls(many.by, shown),
        tag("ul", *items, class_="skd-gallery"),
        folded("Ranking", *tables),
    ]
    tall = min(440.0 + 320.0 * -(-shown // (many.columns or 3)), 1200.0)
    look = "" if many.columns is None else f".skd-gallery{{--skd-columns:{many.columns}}}"
    return explorable(title, joined(body), tall, scripts=[asset("gallery.js")], look=look)


def _item(one: Drawing, size: tuple[str, float, float], place: str) -> Markup:
    """Return one of many figures, with the attributes by which the script filters and sorts."""
    feature, importance, score = size
    return tag(
        "li",
        one.svg,
        class_="skd-item",
        data_feature=feature,
        data_importance=repr(float(importance)),
        data_heterogeneity_score="" if math.isnan(score) else repr(float(score)),
        data_place=place,
    )


def _counted(**given: int | None) -> None:
    """Raise DataError if an argument is neither None nor a positive integer."""
    for name, value in given.items():
        check_int_or_none(f"explore({name})", value, 1, "Use 12")


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


def surface_page(surface: Surface, *, title: str | None = None) -> Explorable:
    """Return the page of a surface; see `Surface.explore`."""
    drawn = draw(surface_figure(surface), ident="surface")
    return _one(title or drawn.title, lead(surface), drawn, numbers_of(surface))


def importance_page(
    importance: Importance,
    *,
    kind: ImportanceFigure = "bars",
    features: Sequence[str] | None,
    top: int | None,
    confidence_level: float,
    title: str | None = None,
) -> Explorable:
    """Return the page of importances; see `Importance.explore`."""
    check_option("explore(kind)", kind, ("bars", "local"))
    if kind == "local":
        drawn = draw(permutation_figure(importance, features=features, top=top), ident="rows")
    else:
        spec = importance_figure(
            importance, features=features, top=top, confidence_level=confidence_level
        )
        drawn = draw(spec, ident="bars")
    said = sentence(importance.axis)
    return _one(title or drawn.title, said, drawn, numbers_of(importance))


def diagnosis_page(
    diagnosis: Diagnosis, *, confidence_level: float | None, title: str | None = None
) -> Explorable:
    """Return the page of a diagnosis; see `Diagnosis.explore`."""
    drawn = draw(diagnosis_figure(diagnosis, confidence_level), ident="where")
    said = f"Effect of permuting each of {counted(len(diagnosis), 'feature')} on the likelihood and on the entropy."
    return _one(title or drawn.title, said, drawn, numbers_of(diagnosis))


def variance_shares_page(
    found: VarianceShares, *, confidence_level: float, title: str | None = None
) -> Explorable:
    """Return the page of variance shares; see `VarianceShares.explore`."""
    drawn = draw(variance_shares_figure(found, confidence_level), ident="parts")
    said = f"Parts of the variance of {found.quantity} at {counted(found.rows_held_out, 'held-out row')}."
    return _one(title or drawn.title, said, drawn, numbers_of(found))


def change_page(
    found: Change,
    *,
    kind: ChangeFigure | None = None,
    confidence_level: float = 0.95,
    title: str | None = None,
) -> Explorable:
    """Return the page of a change; see `Change.explore`."""
    drawn = draw(change_figure(found, kind=kind, confidence_level=confidence_level), ident="change")
    said = f"Change of {found.quantity} if {found.text}, at {rows_text(found)}."
    return _one(title or drawn.title, said, drawn, numbers_of(found))


def changes_page(
    found: Changes,
    *,
    kind: ChangeFigure | None = None,
    confidence_level: float = 0.95,
    top: int | None = 30,
    title: str | None = None,
) -> Explorable:
    """Return the page of several changes; see `Changes.explore`."""
    spec = changes_figure(found, kind=kind, confidence_level=confidence_level, top=top)
    drawn = draw(spec, ident="changes", width=WIDTH if len(spec.stacks) == 1 else WIDE_PAGE)
    first = next(iter(found.values()))
    said = f"Changes of {first.quantity} for {counted(len(found), 'named move')}."
    return _one(title or spec.title, said, drawn, numbers_of(found))


def interactions_page(
    found: Interactions, *, kind: InteractionsFigure = "heatmap", title: str | None = None
) -> Explorable:
    """Return the page of interactions; see `Interactions.explore`."""
    check_option("explore(kind)", kind, ("heatmap", "network"))
    figure = heatmap_figure if kind == "heatmap" else network_figure
    drawn = draw(figure(found), ident="interactions")
    said = f"How strongly {counted(len(found), 'pair')} of features interact."
    return _one(title or drawn.title, said, drawn, numbers_of(found))


def _one(
    title: str, said: str, drawn: Drawing, tables: Sequence[Markup], hints: Sequence[str] = (HINT,)
) -> Explorable:
    """Return the page of one figure."""
    parts = [
        head(title, said),
        tag("figure", drawn.svg, class_="skd-figure"),
        tag("p", " ".join(hints), class_="skd-hint"),
        folded("Numbers", *tables) if tables else Markup(""),
    ]
    tall = drawn.height * min(WIDE / drawn.width, 1.2) + 190
    return explorable(title, joined(parts), tall)


def head(title: str, said: str) -> Markup:
    """Return the heading of a page; names in it may be written from right to left."""
    inner = tag("h1", title), tag("p", said, class_="skd-lead")
    return tag("header", *inner)


def explorable(
    title: str, body: Markup, height: float, *, scripts: Sequence[str] = (), look: str = ""
) -> Explorable:
    """Return a page with interactive figures."""
    styles = [style(), asset("explore.css"), *([look] if look else [])]
    main = tag("main", body, class_="skd-explore")
    html = page(title, main, styles=styles, scripts=[script(), *scripts])
    return Explorable(html, title, round(height))


def multi_model_effect_page(
    found: MultiModelEffect,
    *,
    confidence_level: float,
    of: IntervalTarget | None,
    title: str | None = None,
) -> Explorable:
    """Return the page of one feature's effect for several models; see `MultiModelEffect.explore`."""
    drawn = draw(models_figure(found, confidence_level, of), ident="models")
    unit = f" {found.about.unit}" if found.about.unit else ""
    said = f"Importance {number(found.importance)}{unit}, the mean over {counted(len(found), 'model')}."
    hints = [HINT, CURVES]
    return _one(title or drawn.title, said, drawn, numbers_of(found), hints)


def multi_model_effects_page(
    found: MultiModelEffects,
    *,
    by: RankedBy,
    top: int | None,
    columns: int | None,
    confidence_level: float,
    of: IntervalTarget | None,
    title: str | None = None,
) -> Explorable:
    """Return the page of many features' effects for several models; see `MultiModelEffects.explore`."""
    _counted(top=top, columns=columns)
    spec = models_effects_figure(
        found, by, top, confidence_level=confidence_level, of=of, page=None
    )
    drawn, legend = draw_tiles(spec, ident="small")
    ranks = found.ranking(by)[:top]
    sizes = [(r.feature, r.importance, r.heterogeneity_score) for r in ranks]
    many = Gallery(drawn, legend, sizes, list(found), by, columns)
    return of_many(title or spec.title, many, numbers_of(found))


def multi_model_importance_page(
    found: MultiModelImportance,
    *,
    features: Sequence[str] | None,
    top: int | None,
    confidence_level: float,
    of: IntervalTarget | None,
    title: str | None = None,
) -> Explorable:
    """Return the page of importances for several models; see `MultiModelImportance.explore`."""
    spec = models_importance_figure(
        found, features=features, top=top, confidence_level=confidence_level, of=of
    )
    drawn = draw(spec, ident="bars")
    first = found.models[0]
    said = sentence(f"{first.axis}, for {counted(len(found), 'model')}")
    return _one(title or drawn.title, said, drawn, numbers_of(found))


def regions_page(
    regions: Regions, *, kind: RegionsKind, confidence_level: float, title: str | None = None
) -> Explorable:
    """Return the page of the regions of one feature; see `Regions.explore`."""
    spec = regions_figure(regions, RegionsPlotOptions(kind, confidence_level))
    drawn = draw(spec, ident="regions", width=WIDE_PAGE if len(spec.stacks) > 1 else WIDTH)
    named = title or spec.title
    parts = [
        head(named, f"{heading_text(regions)}."),
        tag("figure", drawn.svg, class_="skd-figure"),
        tag("p", HINT, class_="skd-hint"),
        _text_of(regions),
        folded("Numbers", *numbers_of(regions)),
    ]
    return explorable(named, joined(parts), drawn.height * 1.2 + 420)


WIDE_PAGE = 900.0
"""Width in pixels of a figure of several panels on a page."""


def _text_of(regions: Regions) -> Markup:
    """Return the tree of rules and the curves in words; long lines are broken."""
    text = regions_text(regions).partition("\n\n")[2]
    return tag("pre", text, class_="skd-text")


def regions_by_feature_page(found: RegionsByFeature, *, title: str | None = None) -> Explorable:
    """Return the page of the regions of several features; see `RegionsByFeature.explore`."""
    drawn = draw(regions_overview_figure(found), ident="overview")
    named = title or drawn.title
    parts = [
        head(named, "The heterogeneity of each effect, and what regions explain of it."),
        tag("figure", drawn.svg, class_="skd-figure"),
        tag("p", HINT, class_="skd-hint"),
        folded("Ranking", *numbers_of(found)),
    ]
    split = [found[r.feature] for r in found.ranking() if r.regions > 1]
    for i, regions in enumerate(split[:PAGES]):
        one = draw(regions_figure(regions), ident=f"regions{i}", width=WIDE_PAGE)
        inside = [tag("figure", one.svg, class_="skd-figure"), _text_of(regions)]
        parts.append(folded(heading_text(regions), *inside, *numbers_of(regions)))
    return explorable(named, joined(parts), drawn.height * 1.2 + 300)


PAGES = 30
"""Most features whose regions are drawn on one page."""


def multi_model_regions_page(found: MultiModelRegions, *, title: str | None = None) -> Explorable:
    """Return the page of regions for several models; see `MultiModelRegions.explore`."""
    drawn = draw(recurrence_figure(found), ident="models")
    named = title or drawn.title
    parts = [
        head(named, "How many models have their first split on which feature."),
        tag("figure", drawn.svg, class_="skd-figure"),
        *(
            folded(f"Model {i}: {heading_text(r)}", _text_of(r), *numbers_of(r))
            for i, r in enumerate(found.models)
        ),
    ]
    return explorable(named, joined(parts), drawn.height * 1.2 + 300)


def surfaces_page(
    found: Surfaces[AnySurface], *, top: int | None, title: str | None = None
) -> Explorable:
    """Return the page of the surfaces of several pairs; see `Surfaces.explore`."""
    _counted(top=top)
    spec = surfaces_figure(found, top, page=None)
    first = next(iter(found.values()))
    said = f"Surfaces of {counted(len(found), 'pair')} on {first.about.quantity}, strongest interaction first."
    return _side_by_side(title or spec.title, said, spec, numbers_of(found))


def outputs_page(
    found: MultiOutput[OutputResult], *, top: int | None, title: str | None = None
) -> Explorable:
    """Return the page of the results of several outputs; see `MultiOutput.explore`."""
    _counted(top=top)
    spec = outputs_figure(found, top, page=None)
    said = f"Results of {counted(len(found), 'output')}, from the same model rows."
    parts = [
        folded(f"Output {label}", *numbers_of(member)) for label, member in [*found.items()][:PAGES]
    ]
    named = title or spec.title
    return _side_by_side(named, said, spec, numbers_of(found), parts)


def all_multi_model_regions_page(
    found: MultiModelRegionsByFeature, *, top: int | None, title: str | None = None
) -> Explorable:
    """Return the page of the regions of several features for several models."""
    _counted(top=top)
    spec = recurrences_figure(found, top, page=None)
    said = "For each feature, how many models have their first split on which feature."
    ranks = found.ranking()[: PAGES if top is None else min(top, PAGES)]
    parts = [folded(f"Regions of {r.feature}", *numbers_of(found[r.feature])) for r in ranks]
    return _side_by_side(title or spec.title, said, spec, numbers_of(found), parts)


def _side_by_side(
    title: str,
    said: str,
    spec: FigureSpec,
    tables: Sequence[Markup],
    parts: Sequence[Markup] = (),
) -> Explorable:
    """Return a page of a figure of one or more panels, a table of all of it, and folded parts."""
    width = WIDTH if len(spec.stacks) == 1 else WIDE_PAGE
    drawn = draw(spec, ident="results", width=width)
    body = [
        head(title, said),
        tag("figure", drawn.svg, class_="skd-figure"),
        tag("p", HINT, class_="skd-hint"),
        folded("Ranking", *tables),
        *parts,
    ]
    return explorable(title, joined(body), drawn.height * 1.2 + 300)


# --- notebook output -----------------------------------------------------------------------------

MOST = 12
"""Most features whose effects are drawn; `explore()` shows all of them."""

BARS = 30
"""Most bars that are drawn."""

_TIP = re.compile(r' data-tip="([^"]*)"([^>]*)>')


def notebook_html(result: object) -> str:
    """Return a result as self-contained HTML for a notebook."""
    look = Markup(style() + asset("explore.css"))  # noqa: S704 - our own
    body = tag("div", tag("style", look), *parts_of(result), class_="skd-figure skd-static")
    return str(body)


@singledispatch
def parts_of(result: object) -> list[Markup]:
    """Return the elements that display a result, from top to bottom; by default its tables."""
    return numbers_of(result)


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


def _note(said: str) -> Markup:
    return tag("p", said, class_="skd-hint")


@parts_of.register
def _(effect: Effect) -> list[Markup]:
    drawn = still(page_effect(effect))
    return [drawn, _note(f"{lead(effect)} explore() shows values on hover.")]


@parts_of.register
def _(effects: Effects) -> list[Markup]:
    if not effects:
        return [_note("No effects.")]
    view = EffectPlotOptions(curves=60, most_levels=SMALL_LEVELS)
    drawn = still_many(effects_figure(effects, top=MOST, options=view, page=None))
    return [*drawn, _note(_many(len(effects))), folded("Ranking", *numbers_of(effects))]


def _many(features: int) -> str:
    left = f", the {MOST} most important are drawn" if features > MOST else ""
    return f"Effects of {counted(features, 'feature')}{left}. explore() filters and sorts them."


@parts_of.register
def _(surface: Surface) -> list[Markup]:
    drawn = still(surface_figure(surface))
    return [drawn, _note(f"{lead(surface)} explore() shows values on hover.")]


@parts_of.register(Surfaces)
def _(found: Surfaces[AnySurface]) -> list[Markup]:
    if not found:
        return [_note("No surfaces.")]
    drawn = still_many(surfaces_figure(found, MOST, page=None))
    left = f", the {MOST} strongest are drawn" if len(found) > MOST else ""
    said = f"Surfaces of {counted(len(found), 'pair')}{left}. explore() shows values on hover."
    return [*drawn, _note(said), folded("Ranking", *numbers_of(found))]


@parts_of.register(MultiOutput)
def _(found: MultiOutput[OutputResult]) -> list[Markup]:
    if not found:
        return [_note("No outputs.")]
    spec = outputs_figure(found, MOST, page=None)
    drawn = [still(spec)] if len(spec.stacks) == 1 else still_many(spec)
    return [*drawn, _note(f"{repr(found)[1:-1]}."), folded("Ranking", *numbers_of(found))]


@parts_of.register
def _(found: MultiModelRegionsByFeature) -> list[Markup]:
    if not found:
        return [_note("No features.")]
    drawn = still_many(recurrences_figure(found, MOST, page=None))
    return [*drawn, folded("Ranking", *numbers_of(found))]


@parts_of.register
def _(importance: Importance) -> list[Markup]:
    top = min(BARS, len(importance))
    drawn = [still(importance_figure(importance, top=top))] if top else []
    return [*drawn, folded("Numbers", *numbers_of(importance))]


@parts_of.register
def _(found: MultiModelImportance) -> list[Markup]:
    top = min(BARS, len(found.features))
    drawn = still(models_importance_figure(found, top=top))
    return [drawn, folded("Numbers", *numbers_of(found))]


@parts_of.register
def _(diagnosis: Diagnosis) -> list[Markup]:
    drawn = still(diagnosis_figure(diagnosis))
    return [drawn, folded("Verdicts and numbers", *numbers_of(diagnosis))]


@parts_of.register
def _(found: VarianceShares) -> list[Markup]:
    return [still(variance_shares_figure(found)), folded("Numbers", *numbers_of(found))]


@parts_of.register
def _(found: Change) -> list[Markup]:
    return [still(change_figure(found)), folded("Numbers", *numbers_of(found))]


@parts_of.register
def _(found: Changes) -> list[Markup]:
    if not found:
        return [_note("No changes.")]
    return [still(changes_figure(found)), folded("Numbers", *numbers_of(found))]


@parts_of.register
def _(found: Interactions) -> list[Markup]:
    return [still(heatmap_figure(found)), folded("Numbers", *numbers_of(found))]


@parts_of.register
def _(found: MultiModelEffect) -> list[Markup]:
    drawn = still(models_figure(found))
    return [drawn, _note("explore() shows values on hover.")]


@parts_of.register
def _(found: MultiModelEffects) -> list[Markup]:
    if not found:
        return [_note("No effects.")]
    drawn = still_many(models_effects_figure(found, top=MOST, page=None))
    return [*drawn, _note(_many(len(found))), folded("Ranking", *numbers_of(found))]


@parts_of.register
def _(found: MultiModelSurface) -> list[Markup]:
    return parts_of(found.mean())


@parts_of.register
def _(regions: Regions) -> list[Markup]:
    drawn = still(regions_figure(regions))
    return [drawn, _text_of(regions), folded("Numbers", *numbers_of(regions))]


@parts_of.register
def _(found: RegionsByFeature) -> list[Markup]:
    if not found:
        return [_note("No features.")]
    drawn = still(regions_overview_figure(found))
    return [drawn, folded("Ranking", *numbers_of(found))]


@parts_of.register
def _(found: MultiModelRegions) -> list[Markup]:
    return [still(recurrence_figure(found)), folded("First splits", *numbers_of(found))]


@parts_of.register
def _(trust: Checks) -> list[Markup]:
    if not trust:
        return [_note("No warnings.")]
    return numbers_of(trust)
