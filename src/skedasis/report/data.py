r"""The content of a report as plain data: dictionaries, lists, text, numbers, True, False and None."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skedasis import __version__
from skedasis._escaping import CONTROL
from skedasis._types import Floats, Ints, JsonValue
from skedasis.report.cohorts import Cohort
from skedasis.report.content import ModelSection, ReportContent
from skedasis.report.given_rows import GivenRow
from skedasis.report.interactions import PairStrength
from skedasis.report.quality import Quality
from skedasis.report.uncertainty import UncertaintySection
from skedasis.results.axis import LevelAxis
from skedasis.results.checks.check import Check, Checks
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect import BinnedEffect, BinStats, Effect, LevelStepsEffect
from skedasis.results.export import Object, plain_numbers, plain_text, to_json, unique_texts
from skedasis.results.regions import Regions
from skedasis.results.variance_shares import VarianceShares

SCHEMA = 2
"""Version of the schema: it changes if a key is renamed or removed, or gets another meaning; not if one is added."""


LEVEL = 0.95
"""Confidence level of all intervals."""


DIGITS = 6
"""Significant digits of numbers in a page."""


PER_FEATURE, LEAST_SIZE, MOST_SIZE = 10_000, 140_000, 950_000
"""Size in bytes of the data in a page: at most this for each feature of each model, but not less and not more."""


# --- how much is written --------------------------------------------------------------------------


@dataclass(frozen=True)
class Detail:
    """How much of each feature is written."""

    points: int | None = None
    bins: bool = True
    pdp: bool = True
    regional: bool = True
    checks: bool = True
    curves: bool = True

    @property
    def left_out(self) -> list[str]:
        """Return what is left out, in words."""
        parts = {
            "bins": self.bins,
            "PDPs": self.pdp,
            "curves in regions": self.regional,
            "messages of checks": self.checks,
            "curves": self.curves,
        }
        said = [name for name, there in parts.items() if not there]
        if self.points is not None and self.curves:
            said.insert(0, f"points of curves beyond {self.points}")
        return said


FULL = Detail()


DETAILS = (
    Detail(points=100),
    Detail(points=60, bins=False),
    Detail(points=60, bins=False, pdp=False),
    Detail(points=30, bins=False, pdp=False),
    Detail(points=30, bins=False, pdp=False, regional=False, checks=False),
    Detail(points=16, bins=False, pdp=False, regional=False, checks=False),
    Detail(points=2, bins=False, pdp=False, regional=False, checks=False, curves=False),
)
"""What a page embeds: the first that is small enough, else the last."""


# --- entry points ---------------------------------------------------------------------------------


def report_data(
    content: ReportContent, digits: int | None = None, *, embedded: bool = False
) -> Object:
    """Return the content of a report as plain data."""
    if not embedded:
        return _DataWriter(content, digits, FULL).data()
    return _smallest(content, digits)[0]


def embedded_json(content: ReportContent, digits: int | None = DIGITS) -> str:
    r"""Return the embedded data as JSON that is safe inside ``<script type="application/json">``."""
    text = _smallest(content, digits)[1]
    return re.sub(f"[<>&]|{CONTROL.pattern}", lambda found: f"\\u{ord(found[0]):04x}", text)


def _smallest(content: ReportContent, digits: int | None) -> tuple[Object, str]:
    """Return the most detailed data that are small enough for a page, and their JSON."""
    curves = len(content.features) * len(content.sections)
    most = min(max(PER_FEATURE * curves, LEAST_SIZE), MOST_SIZE)
    data: Object = {}
    text = ""
    for detail in DETAILS:
        data = _DataWriter(content, digits, detail).data()
        text = to_json(data)
        if len(text.encode()) <= most:
            break
    return data, text


# --- plain values ---------------------------------------------------------------------------------


def rounded(values: ArrayLike, digits: int | None, size: float | None = None) -> list[JsonValue]:
    """Return numbers as a list, None for those that are not finite."""
    array = np.asarray(values, dtype=float)
    finite = np.isfinite(array)
    if digits is not None:
        largest = float(np.abs(array[finite]).max(initial=0.0)) if size is None else size
        if 1e-290 < largest < 1e290:
            decimals = digits - 1 - math.floor(math.log10(largest))
            array = np.round(array, decimals)
            array = np.where(np.isfinite(array), array, np.asarray(values, dtype=float))
    return plain_numbers(array)


def integers(values: Ints) -> list[JsonValue]:
    return [int(v) for v in values.tolist()]


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


class _DataWriter:
    """Writes the content of a report with a given detail."""

    def __init__(self, content: ReportContent, digits: int | None, detail: Detail) -> None:
        self.content, self.digits, self.detail = content, digits, detail
        self.names = unique_texts(content.features)

    def data(self) -> Object:
        """Return the whole."""
        content = self.content
        return {
            "schema": SCHEMA,
            "version": __version__,
            "confidence_level": LEVEL,
            "left_out": list(self.detail.left_out),
            "data": {
                "rows": content.rows,
                "columns": content.columns,
                "features": [self.name(n) for n in content.features],
                "left_out": self.texts(content.left_out),
                "remarks": self.texts(content.remarks),
                "description": self.texts(content.data),
            },
            "models": [self.section(one) for one in content.sections],
        }

    # -- values
    def name(self, feature: str) -> str:
        """Return the key of a feature."""
        return self.names.get(feature, plain_text(feature))

    def texts(self, some: Iterable[str]) -> list[JsonValue]:
        return [plain_text(one) for one in some]

    def number(self, value: float) -> JsonValue:
        """Return a number, None if it is not finite."""
        return rounded([value], self.digits)[0]

    def numbers(self, values: ArrayLike) -> list[JsonValue]:
        """Return numbers of one size."""
        return rounded(values, self.digits)

    def ends(self, interval: tuple[float, float] | None) -> JsonValue:
        """Return the ends of an interval, None without one."""
        return None if interval is None else [self.number(end) for end in interval]

    # -- models
    def section(self, one: ModelSection) -> Object:
        """Return one model, or one output of it."""
        first = next(iter(one.rhale.values())).about
        return {
            "name": plain_text(one.name),
            "of": plain_text(one.of),
            "output": plain_text(one.output),
            "model": plain_text(one.model),
            "quantity": plain_text(one.quantity),
            "unit": None if first.unit is None else plain_text(first.unit),
            "axis": plain_text(one.axis),
            "note": plain_text(one.note),
            "warnings": self.texts(one.warnings),
            "reasons": {k: plain_text(v) for k, v in sorted(one.reasons.items())},
            "quality": self.quality(one.quality),
            "variance_shares": None
            if one.variance_shares is None
            else self.variance_shares(one.variance_shares),
            "ranking": self.ranking(one),
            "features": {self.name(n): self.feature(one, n) for n in self.content.features},
            "pairs": [self.pair(p) for p in one.interactions.strengths],
            "cohorts": [self.cohort(c) for c in one.cohorts],
            "rows": [self.row(r) for r in one.given_rows],
            "uncertainty": None if one.uncertainty is None else self.uncertainty(one.uncertainty),
            "provenance": [self.made(p.provenance) for p in one.passes],
        }

    def quality(self, found: Quality | None) -> JsonValue:
        """Return how well a model predicts."""
        if found is None:
            return None
        return {
            "kind": found.kind,
            "rows": found.rows,
            "left_out": found.left_out,
            "class": None if found.class_ is None else plain_text(found.class_),
            "measures": {m.name: self.number(m.value) for m in found.measures},
            "calibration_error": self.number(found.calibration_error),
        }

    def variance_shares(self, found: VarianceShares) -> Object:
        """Return what explains the variance."""
        return {
            "parts": [
                {
                    "name": plain_text(p.name),
                    "kind": p.kind,
                    "features": [self.name(n) for n in p.features],
                    "r2": self.number(p.r2),
                    "share": self.number(p.share),
                    "error": self.number(p.std_error),
                    "label_r2": self.number(p.label_r2),
                    "label_error": self.number(p.label_std_error),
                }
                for p in found.parts
            ],
            "as_drawn": self.number(found.as_drawn),
            "as_drawn_error": self.number(found.as_drawn_std_error),
            "by_region": self.number(found.by_region),
            "by_region_error": self.number(found.by_region_std_error),
            "drawn_regions": [self.name(n) for n in found.drawn_regions],
            "drawn_by": found.drawn_by,
            "variance": self.number(found.variance),
            "rows_fitting": found.rows_fitting,
            "rows_held_out": found.rows_held_out,
        }

    def ranking(self, one: ModelSection) -> list[JsonValue]:
        """Return the features with their importance and score, the most important first."""
        return [
            {
                "feature": self.name(p.feature),
                "kind": p.kind,
                "importance": self.number(p.importance),
                "importance_interval": self.ends(p.importance_ends),
                "heterogeneity_score": self.number(p.heterogeneity_score),
                "heterogeneity_score_error": self.number(
                    one.rhale[p.feature].heterogeneity_score_error
                ),
                "heterogeneity_score_interval": self.ends(p.heterogeneity_score_ends),
                "warnings": len(one.checks.get(p.feature, Checks()).warnings),
            }
            for p in one.importance_points
        ]

    # -- features
    def feature(self, one: ModelSection, name: str) -> Object:
        """Return everything about one feature."""
        effect, detail = one.rhale[name], self.detail
        about, regions = effect.about.feature, one.regions.get(name)
        point = effect.missing_point
        return {
            "kind": about.kind,
            "unit": None if about.unit is None else plain_text(about.unit),
            "time": None if about.time is None else about.time.kind,
            "method": effect.spec.method,
            "level": self.number(effect.about.level),
            "importance": self.number(effect.importance),
            "heterogeneity_score": self.number(effect.heterogeneity_score),
            "depends_on": None
            if effect.depends_on is None
            else {
                "name": self.name(effect.depends_on.name),
                "share": self.number(effect.depends_on.share),
                "error": self.number(effect.depends_on.error),
            },
            "heterogeneity_explained": self.number(
                math.nan if regions is None else regions.heterogeneity_explained
            ),
            "heterogeneity_explained_error": self.number(
                math.nan if regions is None else regions.heterogeneity_explained_error
            ),
            "missing": {
                "rows": effect.missing,
                "value": None if point is None else self.number(point.value),
                "error": None if point is None else self.number(point.std_error),
            },
            "curve": self.curve(effect, spread=True, band=True) if detail.curves else None,
            "bins": self.bins(effect) if detail.bins else None,
            "pdp": self.curve(one.pdp[name], spread=True)
            if detail.pdp and name in one.pdp
            else None,
            "regions": [] if regions is None else self.regions(regions),
            "checks": [self.check(c, effect) for c in one.checks.get(name, Checks())],
        }

    def curve(self, effect: Effect, *, spread: bool = False, band: bool = False) -> Object:
        """Return a curve: at numbers or times "x", or at "levels"."""
        at, value = effect.axis.coordinates, effect.value
        levels = effect.axis.levels if isinstance(effect.axis, LevelAxis) else None
        most = self.detail.points
        if most is None:
            some = np.arange(len(at))
        elif levels is not None:
            some = np.sort(np.argsort(-levels.weight, kind="stable")[:most])
        else:
            some = thinned(at, value, most)
        found: Object = {}
        if levels is not None:
            found["levels"] = self.texts(levels.labels[k] for k in some.tolist())
            found["rows"] = integers(levels.count[some])
        else:
            found["x"] = self.positions(effect, at[some])
        largest = float(np.nanmax(np.abs(value), initial=0.0)) if len(value) else 0.0
        found["value"] = rounded(value[some], self.digits, largest)
        if band:
            lower, upper = effect.interval(LEVEL)
            found["lower"] = rounded(lower[some], self.digits, largest)
            found["upper"] = rounded(upper[some], self.digits, largest)
        if spread:
            found["heterogeneity"] = rounded(effect.heterogeneity[some], self.digits, largest)
        return found

    def positions(self, effect: Effect, at: Floats) -> list[JsonValue]:
        """Return points of a numeric axis: numbers, or times as text."""
        time = effect.time
        if time is not None:
            step = time.resolution if self.digits is None else None
            return [*time.texts(at, step)] if len(at) else []
        span = float(at[-1] - at[0]) if len(at) > 1 else 0.0
        # Relative to the range: years, and numbers far from zero, would otherwise lose their differences.
        return rounded(at, self.digits, span if span > 0 and math.isfinite(span) else None)

    def bins(self, effect: Effect) -> JsonValue:
        """Return the bins of a numeric feature, or the steps between levels; None without any."""
        if not isinstance(effect, BinnedEffect | LevelStepsEffect) or len(effect.bins) == 0:
            return None
        bins = effect.bins
        left, right = self.bin_ends(effect, bins)
        return {
            "left": left,
            "right": right,
            "rows": integers(bins.count),
            "slope": self.numbers(bins.effect),
            "std": self.numbers(bins.std),
            "error": self.numbers(bins.std_error),
        }

    def bin_ends(self, effect: Effect, bins: BinStats) -> tuple[list[JsonValue], list[JsonValue]]:
        """Return the left and right ends of bins: numbers, times or labels of levels."""
        if isinstance(effect.axis, LevelAxis):
            levels = effect.axis.levels
            left, right = levels.codes(bins.low), levels.codes(bins.high)
            labels = self.texts(levels.labels)
            return [labels[k] for k in left.tolist()], [labels[k] for k in right.tolist()]
        edges = self.positions(effect, bins.edges)
        return edges[:-1], edges[1:]

    def regions(self, found: Regions) -> list[JsonValue]:
        """Return the effect within each region; an empty list if there is one region only."""
        if len(found) < 2:
            return []
        shares = found.shares.tolist()
        return [
            {
                "rule": plain_text(leaf.rule),
                "rows": leaf.count,
                "share": self.number(shares[k]),
                "level": self.number(found[k].about.level),
                "importance": self.number(found[k].importance),
                "heterogeneity_score": self.number(float(found.scores.regions[k])),
                "heterogeneity_score_error": self.number(float(found.scores.regions_error[k])),
                "curve": self.curve(found[k]) if self.detail.regional else None,
            }
            for k, leaf in enumerate(found.leaves)
        ]

    def check(self, found: Check, effect: Effect) -> Object:
        """Return a finding of the reliability checks."""
        return {
            "code": found.code,
            "severity": found.severity,
            "message": plain_text(found.message) if self.detail.checks else None,
            "rows": found.rows,
            "where": self.where(found.where, effect),
        }

    def where(self, place: object, effect: Effect) -> JsonValue:
        """Return what a finding is about: an interval, a level, or None for the whole effect."""
        if isinstance(place, tuple):
            return [self.end(one, effect) for one in place]
        return None if place is None else self.end(place, effect)

    def end(self, one: object, effect: Effect) -> JsonValue:
        """Return the end of an interval, or a level."""
        if isinstance(one, (bool, np.bool_)):
            return bool(one)
        if isinstance(one, (int, float, np.integer, np.floating)):
            value = float(one)
            if effect.time is not None and math.isfinite(value):
                return effect.time.text(value, effect.time.resolution)
            return self.number(value)
        return None if one is None else plain_text(str(one))

    # -- other parts
    def pair(self, found: PairStrength) -> Object:
        """Return how strongly a pair interacts."""
        return {
            "features": [self.name(n) for n in found.features],
            "strength": self.number(found.strength),
            "h2_unnormalized": self.number(found.h2_unnormalized),
            "depending": self.name(found.depending),
            "share": self.number(found.share),
        }

    def cohort(self, found: Cohort) -> Object:
        """Return a model within a region that the caller named."""
        return {
            "rule": plain_text(found.rule),
            "rows": found.rows,
            "share": self.number(found.share),
            "mean": self.number(found.mean),
            "label_mean": self.number(found.label_mean),
            "label_rows": found.label_rows,
            "quality": self.quality(found.quality),
            "reason": plain_text(found.reason),
            "importance": self.by_feature(found.importance),
            "heterogeneity_score": self.by_feature(found.heterogeneity_score),
            "heterogeneity_score_error": self.by_feature(found.heterogeneity_score_error),
        }

    def by_feature(self, values: Mapping[str, float]) -> Object:
        """Return numbers by feature."""
        return {self.name(n): self.number(v) for n, v in values.items()}

    def row(self, found: GivenRow) -> Object:
        """Return a row that the caller named."""
        label = found.label
        if isinstance(label, str):
            label = plain_text(label)
        elif isinstance(label, float):
            label = self.number(label)
        return {
            "position": found.position,
            "id": found.id,
            "prediction": self.number(found.prediction),
            "label": label,
            "values": {
                self.name(n): {
                    "text": plain_text(v.text),
                    "value": self.number(v.value),
                    "rule": plain_text(v.rule) if v.region >= 0 else None,
                    "regional": self.number(v.regional),
                    "deviation": self.number(v.deviation),
                    "ice": self.numbers(v.ice) if self.detail.pdp else None,
                }
                for n, v in found.values.items()
            },
        }

    def uncertainty(self, found: UncertaintySection) -> Object:
        """Return what the predictive uncertainty depends on."""
        order = sorted(found.rhale, key=lambda n: -np.nan_to_num(found.rhale[n].importance))
        return {
            "axis": plain_text(found.axis),
            "notes": self.texts(found.notes),
            "ranking": [
                {
                    "feature": self.name(n),
                    "importance": self.number(found.rhale[n].importance),
                    "heterogeneity_score": self.number(found.rhale[n].heterogeneity_score),
                }
                for n in order
            ],
            "unsure": "" if found.diagnosis is None else plain_text(found.diagnosis.unsure),
            "diagnosis": None if found.diagnosis is None else self.diagnosis(found.diagnosis),
        }

    def diagnosis(self, found: Diagnosis) -> list[JsonValue]:
        """Return the verdict on each feature, with its importances in nats."""
        return [
            {
                "feature": self.name(verdict.feature),
                "likelihood": self.number(float(likelihood)),
                "entropy": self.number(float(entropy)),
                "verdict": verdict.kind,
                "text": plain_text(verdict.text),
            }
            for verdict, likelihood, entropy in zip(
                found.verdicts,
                found.likelihood.mean.tolist(),
                found.entropy.mean.tolist(),
                strict=True,
            )
        ]

    def made(self, made: Mapping[str, object]) -> Object:
        """Return what a pass cost."""
        found: Object = {"method": plain_text(str(made.get("method", "")))}
        for key in COUNTS:
            value = made.get(key, 0)
            found[key] = value if isinstance(value, int) else 0
        seconds = made.get("seconds", math.nan)
        found["seconds"] = self.number(seconds if isinstance(seconds, (int, float)) else math.nan)
        return found


COUNTS: Sequence[str] = (
    "model_rows",
    "model_calls",
    "effect_rows",
    "slope_rows",
    "check_rows",
    "score_rows",
    "region_score_rows",
    "tree_rows",
)
"""What a pass counts."""
