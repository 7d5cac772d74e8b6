r"""The content of a report as plain data: dictionaries, lists, text, numbers, True, False and None."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from skedasis import __version__
from skedasis._escaping import CONTROL
from skedasis._types import Floats, Ints, JsonValue
from skedasis.report.content import ModelSection, ReportContent
from skedasis.report.given_rows import RowOnCurve
from skedasis.report.quality import Quality
from skedasis.report.text import LEVEL
from skedasis.report.uncertainty import UncertaintySection
from skedasis.results.axis import LevelAxis
from skedasis.results.calibration import Calibration
from skedasis.results.checks.check import Checks
from skedasis.results.described import Content, content_of
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.documents import observed_document
from skedasis.results.effect import BinnedEffect, Effect, LevelStepsEffect
from skedasis.results.export import (
    SCHEMA,
    ExportOptions,
    Object,
    PlainWriter,
    plain_numbers,
    to_json,
)
from skedasis.results.regions import Regions
from skedasis.results.variance_shares import VarianceShares

DIGITS = 6
"""Significant digits of numbers in a page."""


PER_FEATURE, LEAST_SIZE, MOST_SIZE = 10_000, 140_000, 950_000
"""Size in bytes of the data in a page: at most this for each feature of each model, but not less and not more."""


# --- how much is written --------------------------------------------------------------------------


FeaturePart = Literal[
    "bins", "mean labels", "PDPs", "curves in regions", "messages of checks", "curves"
]
"""What may be left out of each feature, in this order."""


@dataclass(frozen=True)
class Detail:
    """How much of each feature is written: most points of a curve, and how many of the parts are left out."""

    points: int | None = None
    fewer: int = 0

    def has(self, part: FeaturePart) -> bool:
        """Return whether a part is written."""
        return part not in self._without

    @property
    def _without(self) -> tuple[str, ...]:
        return get_args(FeaturePart)[: self.fewer]

    @property
    def left_out(self) -> list[str]:
        """Return what is left out, in words."""
        few = self.points is not None and self.has("curves")
        return [*[f"points of curves beyond {self.points}"] * few, *self._without]


FULL = Detail()


DETAILS = tuple(
    Detail(points, fewer)
    for points, fewer in ((100, 0), (60, 1), (60, 2), (60, 3), (30, 3), (30, 5), (16, 5), (2, 6))
)
"""What a page embeds: the first that is small enough, else the last."""


# --- entry points ---------------------------------------------------------------------------------


def report_data(content: ReportContent, digits: int | None = None, detail: Detail = FULL) -> Object:
    """Return the content of a report as plain data; all digits are those needed to read the same numbers again."""
    writer = _Writer(digits)
    return writer.with_plain_texts(writer.plain_object(_Content(content, detail, digits).all()))


def embedded_json(content: ReportContent) -> str:
    r"""Return the most detailed data that are small enough for a page, safe in ``<script type="application/json">``."""
    curves = len(content.features) * len(content.sections)
    most = min(max(PER_FEATURE * curves, LEAST_SIZE), MOST_SIZE)
    text = ""
    for detail in DETAILS:
        text = to_json(report_data(content, DIGITS, detail))
        if len(text.encode()) <= most:
            break
    return re.sub(f"[<>&]|{CONTROL.pattern}", lambda found: f"\\u{ord(found[0]):04x}", text)


# --- plain values ---------------------------------------------------------------------------------


def rounded(values: ArrayLike, digits: int | None, size: float | None = None) -> list[JsonValue]:
    """Return numbers as a list, None for those that are not finite; `digits` are those of `size`, or of the largest."""
    array = np.asarray(values, dtype=float)
    finite = np.isfinite(array)
    if digits is not None:
        largest = float(np.abs(array[finite]).max(initial=0.0)) if size is None else size
        if 1e-290 < largest < 1e290:
            decimals = digits - 1 - math.floor(math.log10(largest))
            array = np.round(array, decimals)
            array = np.where(np.isfinite(array), array, np.asarray(values, dtype=float))
    return plain_numbers(array)


@dataclass(frozen=True, eq=False)
class _Sized:
    """Numbers that are rounded by the size of others: those of a whole curve, or the range of its axis."""

    values: Floats
    size: float | None

    def __getitem__(self, part: slice) -> _Sized:
        return _Sized(self.values[part], self.size)


class _Writer(PlainWriter):
    """Writes values of any type as plain data, with rounded numbers."""

    def __init__(self, digits: int | None) -> None:
        super().__init__(ExportOptions())
        self.digits = digits

    def plain(self, value: object) -> JsonValue:
        """Return a value of any type as a JSON value."""
        if isinstance(value, _Sized):
            return rounded(value.values, self.digits, value.size)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return rounded(value, self.digits)
        return (
            rounded([value], self.digits)[0] if isinstance(value, float) else super().plain(value)
        )


# --- curves with fewer points ---------------------------------------------------------------------


def thinned(x: Floats, value: Floats, most: int) -> Ints:
    """Return the indices of at most `most` points whose polygon is close to a curve."""
    if len(x) <= most:
        return np.arange(len(x))
    y = np.where(np.isfinite(value), value, 0.0)
    kept = [0, len(x) - 1]
    heap: list[tuple[float, int, int, int]] = []

    def add(a: int, b: int) -> None:
        if b - a < 2:
            return
        width = x[b] - x[a]
        fraction = (x[a + 1 : b] - x[a]) / width if width > 0 else np.zeros(b - a - 1)
        far = np.abs(y[a + 1 : b] - (y[a] + fraction * (y[b] - y[a])))
        k = int(far.argmax())
        heapq.heappush(heap, (-float(far[k]), a, a + 1 + k, b))

    add(0, len(x) - 1)
    while heap and len(kept) < most:
        distance, a, k, b = heapq.heappop(heap)
        if distance == 0:
            break
        kept.append(k)
        add(a, k)
        add(k, b)
    return np.sort(np.array(kept))


# --- the content ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Content:
    """The values of a report by key, with a given detail."""

    content: ReportContent
    detail: Detail
    digits: int | None

    def all(self) -> Content:
        """Return the whole."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "confidence_level": LEVEL,
            "left_out": self.detail.left_out,
            "data": content_of(
                self.content,
                *("rows", "columns", "features", "left_out", "remarks", "data as description"),
            ),
            "changed": {
                "why_not": self.content.changed.why_not,
                "drifts": [
                    {"output": "" if label is None else str(label), **drift.to_dict()}
                    for label, drift in self.content.changed.drifts.items()
                ],
            },
            "models": [self.section(one) for one in self.content.sections],
        }

    def section(self, one: ModelSection) -> Content:
        """Return one model, or one output of it."""
        return {
            **content_of(one, "name", "of", "output", "model", "quantity"),
            "unit": next(iter(one.rhale.values())).about.unit,
            **content_of(one, "axis", "note", "warnings"),
            "reasons": dict(sorted(one.reasons.items())),
            "quality": _if_known(one.quality, _quality),
            "calibration": _if_known(one.calibration, _calibration),
            "weak_spots": _if_known(one.where_wrong, lambda wrong: wrong.found.to_dict()),
            "variance_shares": _if_known(one.variance_shares, _variance_shares),
            "ranking": [
                {
                    **content_of(point, "feature", "kind", "importance"),
                    "importance_interval": point.importance_ends,
                    "heterogeneity_score": point.heterogeneity_score,
                    "heterogeneity_score_error": one.rhale[point.feature].heterogeneity_score_error,
                    "heterogeneity_score_interval": point.heterogeneity_score_ends,
                    "warnings": len(one.checks.get(point.feature, Checks()).warnings),
                }
                for point in one.importance_points
            ],
            "features": {name: self.feature(one, name) for name in self.content.features},
            "pairs": [
                content_of(p, "features", "strength", "h2_unnormalized", "depending", "share")
                for p in one.interactions.strengths
            ],
            "cohorts": [
                {
                    **content_of(c, "rule", "rows", "share", "mean", "label_mean", "label_rows"),
                    "quality": _if_known(c.quality, _quality),
                    **content_of(c, "reason", "importance", "heterogeneity_score"),
                    "heterogeneity_score_error": c.heterogeneity_score_error,
                }
                for c in one.cohorts
            ],
            "rows": [
                {
                    **content_of(row, "position", "id", "prediction", "label"),
                    "values": {name: self.on_curve(at) for name, at in row.values.items()},
                }
                for row in one.given_rows
            ],
            "uncertainty": _if_known(one.uncertainty, _uncertainty),
            "provenance": [
                {
                    "method": str(made.get("method", "")),
                    **{key: made.get(key, 0) for key in COUNTS},
                    "seconds": made.get("seconds"),
                }
                for made in (p.provenance for p in one.passes)
            ],
        }

    def feature(self, one: ModelSection, name: str) -> Content:
        """Return everything about one feature."""
        effect, detail = one.rhale[name], self.detail
        about, regions, point = effect.about.feature, one.regions.get(name), effect.missing_point
        return {
            **content_of(about, "kind", "unit"),
            "time": _if_known(about.time, lambda time: time.kind),
            "method": effect.spec.method,
            "quantity_mean": effect.about.quantity_mean,
            **content_of(effect, "importance", "heterogeneity_score"),
            "depends_on": _if_known(
                effect.depends_on, lambda on: content_of(on, "name", "share", "error")
            ),
            "heterogeneity_explained": _if_known(regions, lambda r: r.heterogeneity_explained),
            "heterogeneity_explained_error": _if_known(
                regions, lambda r: r.heterogeneity_explained_error
            ),
            "missing": {
                "rows": effect.missing,
                "value": _if_known(point, lambda p: p.value),
                "error": _if_known(point, lambda p: p.std_error),
            },
            "curve": self.curve(effect, spread=True, band=True) if detail.has("curves") else None,
            "bins": self.bins(effect) if detail.has("bins") else None,
            "observed": _if_known(
                effect.observed if detail.has("mean labels") else None,
                lambda seen: observed_document(effect.axis, seen),
            ),
            "deviations": [
                content_of(found, "at", "split", "residual", "half", "rows")
                for found in one.deviations.get(name, ())
            ],
            "pdp": self.curve(one.pdp[name], spread=True)
            if detail.has("PDPs") and name in one.pdp
            else None,
            "regions": [] if regions is None or len(regions) < 2 else self.regions(regions),
            "checks": [
                {
                    **content_of(check, "code", "severity"),
                    "message": check.message if detail.has("messages of checks") else None,
                    "rows": check.rows,
                    "where": _where(check.where, effect),
                }
                for check in one.checks.get(name, Checks())
            ],
        }

    def curve(self, effect: Effect, *, spread: bool = False, band: bool = False) -> Content:
        """Return a curve: at numbers or times "x", or at "levels"."""
        at, value, most = effect.axis.coordinates, effect.value, self.detail.points
        levels = effect.axis.levels if isinstance(effect.axis, LevelAxis) else None
        if most is None:
            some = np.arange(len(at))
        elif levels is not None:
            some = np.sort(np.argsort(-levels.weight, kind="stable")[:most])
        else:
            some = thinned(at, value, most)
        found: Content = {"x": self.positions(effect, at[some])}
        if levels is not None:
            found = {
                "levels": [levels.labels[k] for k in some.tolist()],
                "rows": levels.count[some],
            }
        columns = {"value": value}
        if band:
            columns["lower"], columns["upper"] = effect.interval(LEVEL)
        if spread:
            columns["heterogeneity"] = effect.heterogeneity
        largest = float(np.nanmax(np.abs(value), initial=0.0)) if len(value) else 0.0
        return found | {name: _Sized(column[some], largest) for name, column in columns.items()}

    def positions(self, effect: Effect, at: Floats) -> list[str] | _Sized:
        """Return points of a numeric axis: numbers, or times as text."""
        time = effect.time
        if time is not None:
            return (
                time.texts(at, time.resolution if self.digits is None else None) if len(at) else []
            )
        span = float(at[-1] - at[0]) if len(at) > 1 else 0.0
        # Relative to the range: years, and numbers far from zero, would otherwise lose their differences.
        return _Sized(at, span if span > 0 and math.isfinite(span) else None)

    def bins(self, effect: Effect) -> Content | None:
        """Return the bins of a numeric feature, or the steps between levels; None without any."""
        if not isinstance(effect, BinnedEffect | LevelStepsEffect) or len(effect.bins) == 0:
            return None
        bins = effect.bins
        if isinstance(effect.axis, LevelAxis):
            levels = effect.axis.levels
            left, right = (
                [levels.labels[k] for k in levels.codes(ends).tolist()]
                for ends in (bins.low, bins.high)
            )
        else:
            edges = self.positions(effect, bins.edges)
            left, right = edges[:-1], edges[1:]
        return {
            "left": left,
            "right": right,
            **content_of(bins, "count", "effect as slope", "std", "std_error"),
        }

    def regions(self, found: Regions) -> list[Content]:
        """Return the effect within each region."""
        return [
            {
                "rule": leaf.rule,
                "rows": leaf.count,
                "share": found.shares[k],
                "quantity_mean": found[k].about.quantity_mean,
                "importance": found[k].importance,
                "heterogeneity_score": found.scores.regions[k],
                "heterogeneity_score_error": found.scores.regions_error[k],
                "curve": self.curve(found[k]) if self.detail.has("curves in regions") else None,
            }
            for k, leaf in enumerate(found.leaves)
        ]

    def on_curve(self, found: RowOnCurve) -> Content:
        """Return where a row that the caller named stands on a curve."""
        return {
            **content_of(found, "text", "value"),
            "rule": found.rule if found.region >= 0 else None,
            **content_of(found, "regional", "deviation"),
            "ice": found.ice if self.detail.has("PDPs") else None,
        }


KnownT = TypeVar("KnownT")


def _if_known(value: KnownT | None, content: Callable[[KnownT], object]) -> object:
    return None if value is None else content(value)


def _quality(found: Quality) -> Content:
    """Return how well a model predicts."""
    return {
        **content_of(found, "kind", "rows", "left_out", "class_ as class"),
        "measures": {m.name: m.value for m in found.measures},
    }


def _calibration(found: Calibration) -> Content:
    """Return how mean labels compare with mean predictions, without points: there may be one for each row."""
    return content_of(
        found,
        *("label", "prediction", "residual", "std_error", "squared_error", "miscalibration"),
        *("discrimination", "uncertainty", "miscalibration_beyond_noise", "miscalibration_error"),
        *("deviations", "confidence_level as deviations_level"),
    )


def _variance_shares(found: VarianceShares) -> Content:
    """Return what explains the variance."""
    part = "name", "kind", "features", "r2", "share", "std_error", "label_r2", "label_std_error"
    drawn = "as_drawn", "as_drawn_std_error", "by_region", "by_region_std_error", "drawn_regions"
    rows = "rows_fitting", "rows_held_out"
    return {
        "parts": [content_of(p, *part) for p in found.parts],
        **content_of(found, *drawn, "drawn_by", "variance", *rows),
    }


def _where(place: object, effect: Effect) -> object:
    """Return what a finding is about: an interval, a level, or None for the whole effect."""
    if isinstance(place, tuple):
        return [_where(end, effect) for end in cast("tuple[object, ...]", place)]
    time = effect.time
    if time is None or isinstance(place, bool) or not isinstance(place, (int, float)):
        return place
    return time.text(place, time.resolution) if math.isfinite(place) else None


def _uncertainty(found: UncertaintySection) -> Content:
    """Return what the predictive uncertainty depends on; importances of the verdicts are in nats."""
    order = sorted(found.rhale, key=lambda n: -np.nan_to_num(found.rhale[n].importance))
    return {
        **content_of(found, "axis", "notes"),
        "ranking": [
            {"feature": n, **content_of(found.rhale[n], "importance", "heterogeneity_score")}
            for n in order
        ],
        "unsure": "" if found.diagnosis is None else found.diagnosis.unsure,
        "diagnosis": _if_known(found.diagnosis, _diagnosis),
    }


def _diagnosis(found: Diagnosis) -> list[Content]:
    return [
        {
            "feature": verdict.feature,
            "likelihood": likelihood,
            "entropy": entropy,
            **content_of(verdict, "kind as verdict", "text"),
        }
        for verdict, likelihood, entropy in zip(
            found.verdicts, found.likelihood.mean, found.entropy.mean, strict=True
        )
    ]


COUNTS = (
    *("model_rows", "model_calls", "effect_rows", "slope_rows"),
    *("check_rows", "score_rows", "region_score_rows", "tree_rows"),
)
"""What a pass counts."""
