"""The content of effects and surfaces for `to_dict`: curves, bins, axes and kept rows."""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats, Values
from skedasis.data.features import Feature
from skedasis.data.times import TimePoints
from skedasis.results import json_keys
from skedasis.results.axis import Axis, LevelAxis, LevelPairAxis, LevelStats
from skedasis.results.described import (
    INTEGER,
    Content,
    JsonSchema,
    Keys,
    listed,
    object_of,
    or_null,
)
from skedasis.results.effect import (
    About,
    AnyMPlot,
    BinnedEffect,
    Curves,
    Effect,
    LevelStepsEffect,
    MissingPoint,
    Rows,
)
from skedasis.results.export import ExportOptions
from skedasis.results.frames import axis_column, point_column
from skedasis.results.observed import Observed
from skedasis.results.surface import AccumulatedSurface, CellStats, Surface
from skedasis.stats.student import t_interval

# --- features and axes ----------------------------------------------------------------------------


def feature_document(feature: Feature) -> Content:
    """Return name, kind, unit and kind of times of a feature."""
    return {
        "feature": feature.name,
        "feature_kind": feature.kind,
        "feature_label": feature.label,
        "feature_unit": feature.unit,
        "time": None if feature.time is None else feature.time.kind,
    }


def about_document(about: About) -> Content:
    """Return the feature and the quantity of a result."""
    return {
        **feature_document(about.feature),
        "quantity": about.quantity,
        "unit": about.unit,
    }


def axis_document(axis: Axis) -> Content:
    """Return the points of an axis: numbers or times "x", or "levels" with their rows and weights."""
    if isinstance(axis, LevelAxis):
        return _levels(axis.levels)
    return {"x": axis_column(axis, axis.coordinates)}


def _levels(levels: LevelStats) -> Content:
    return {"levels": levels.labels, "rows": levels.count, "weight": levels.weight}


def _row_values(axis: Axis, x: Floats) -> Values | TimePoints | list[str | None]:
    """Return the values of kept rows: numbers, times, or labels of levels, None for no level."""
    if isinstance(axis, LevelAxis):
        return _labels_of_codes(axis.levels, x)
    return axis_column(axis, x)


def _labels_of_codes(levels: LevelStats, codes: Floats) -> list[str | None]:
    return [None if np.isnan(code) else levels.labels[int(code)] for code in codes.tolist()]


# --- effects --------------------------------------------------------------------------------------


def effect_document(effect: Effect, options: ExportOptions) -> Content:
    """Return what an effect says: see `Effect.to_dict`."""
    score, level = effect.swap_score, options.confidence_level
    lower, upper = t_interval(effect.value, effect.std_error, effect.df, level)
    content: Content = {
        **about_document(effect.about),
        "method": effect.spec.method,
        "rule": effect.rule or None,
        "confidence_level": level,
        "quantity_mean": effect.about.quantity_mean,
        "importance": effect.importance,
        "heterogeneity_score": effect.heterogeneity_score,
        "heterogeneity_score_error": effect.heterogeneity_score_error,
        "heterogeneity_score_interval": None if score is None else score.interval(level),
        "score_off_support": effect.score_off_support,
        "curve": {
            **axis_document(effect.axis),
            "value": effect.value,
            "error": effect.std_error,
            "lower": lower,
            "upper": upper,
            "heterogeneity": effect.heterogeneity,
            "accumulated_std": effect.accumulated_std,
        },
        "bins": _bins(effect),
        "spread": _spread(effect),
        "depends_on": _depends_on(effect),
        "missing": _missing(effect.missing, effect.missing_point),
        "provenance": effect.provenance,
    }
    if effect.observed is not None:
        content["observed"] = observed_document(effect.axis, effect.observed)
    if options.rows:
        content["kept_rows"] = None if effect.rows is None else _rows(effect, effect.rows)
        content["ice"] = None if effect.curves is None else _curves(effect, effect.curves)
    return content


_BIN_KEYS = or_null(
    object_of(
        "The bins from left to right; for a categorical feature the steps between levels. Null for PDP and ICE, and "
        "for M-plots of categorical features.",
        {
            "left": json_keys.points("Left ends: numbers, times, or the labels before a step."),
            "right": json_keys.points("Right ends."),
            "rows": json_keys.integers("Number of rows."),
            "weight": json_keys.numbers("Weight of the rows."),
            "std": json_keys.numbers("Standard deviation of the local effects in the bin."),
            "error": json_keys.numbers("Standard error of `slope`, or `mean`."),
        },
        {
            "slope": json_keys.numbers(
                "Mean of the local effects, in units of the quantity per unit of the feature, of times per day; for "
                "differences across bins or cells the mean slope of the curve; for a categorical feature the mean "
                "difference per step."
            ),
            "rise": json_keys.numbers(
                "Value of the curve at the right end minus that at the left end, in units of the quantity. Absent for "
                "an M-plot."
            ),
            "mean": json_keys.numbers(
                "For an M-plot instead of `slope`: the mean of the quantity."
            ),
            "slope_change": json_keys.numbers(
                "Change of the slope per unit of the feature within the bin. Absent if slopes are constant in all "
                "bins."
            ),
        },
    )
)


_SPREAD_KEYS = or_null(
    object_of(
        "The spread between rows on cells of its own; null if it was not computed.",
        {
            "x": json_keys.points("Mean of the feature in each cell, or the level."),
            "value": json_keys.numbers("Standard deviation of the effect there between rows."),
            "error": json_keys.numbers("Its standard error."),
            "weight": json_keys.numbers("Fraction of the rows in the cell."),
        },
    )
)


_DEPENDS_KEYS = or_null(
    object_of(
        "The other feature that explains most of the heterogeneity; null if none explains much.",
        {
            "name": json_keys.text("Name of the feature."),
            "share": json_keys.number(
                "Share of the squared heterogeneity score that it explains, on held-out rows."
            ),
            "error": json_keys.number("Standard error of the share."),
        },
    )
)


_MISSING_KEYS = object_of(
    "Rows in which the feature is missing.",
    {
        "rows": json_keys.integer("Their number."),
        "value": json_keys.number(
            "Their effect, on the scale of the curve; null without any, or for a level."
        ),
        "error": json_keys.number("Its standard error."),
    },
)


_KEPT_KEYS = or_null(
    object_of(
        "Kept rows, only with rows=True; null if none are kept.",
        {
            "x": json_keys.points("Values of the feature."),
            "local_effect": or_null(
                listed(
                    {"type": ["number", "null", "array"]},
                    "Their local effects; for a categorical feature the two adjacent steps. Null for PDP and ICE.",
                )
            ),
            **json_keys.KEPT,
        },
    )
)


_ICE_KEYS = or_null(
    object_of(
        "Individual curves of kept rows, only with rows=True; null if none are kept.",
        {
            "row": json_keys.integers("Index of each row in X."),
            "x": json_keys.points("The rows' own values of the feature."),
            "value": json_keys.table("One curve per row, at the points of `curve`."),
            **json_keys.KEPT,
        },
    )
)


def effect_keys() -> tuple[Keys, Keys]:
    """Return the schema of the keys of an effect, and of those that only some have."""
    return (
        {
            **json_keys.FEATURE,
            **json_keys.QUANTITY,
            **json_keys.METHOD,
            "rule": or_null(
                json_keys.text("Rule of the region that the effect is of; null for all rows.")
            ),
            **json_keys.LEVEL,
            "quantity_mean": json_keys.number(
                "Mean of the quantity over the rows, of a region over its rows; null if unknown."
            ),
            "importance": json_keys.number("Standard deviation of the effect over the data."),
            **json_keys.SCORE,
            "heterogeneity_score_interval": {
                **json_keys.interval(
                    "Ends of the interval of the heterogeneity score; null if it is unknown."
                ),
                "type": ["array", "null"],
            },
            "score_off_support": json_keys.number(
                "The largest share of the score's swapped rows that are far from the data, in at most three columns."
            ),
            "curve": object_of(
                "The effect at its points, in units of the quantity.",
                {
                    "value": json_keys.numbers("The effect."),
                    "error": json_keys.numbers("Its standard error."),
                    "lower": json_keys.numbers("Lower end of its pointwise interval."),
                    "upper": json_keys.numbers("Upper end."),
                    "heterogeneity": json_keys.numbers(
                        "Spread: standard deviation of the effect there between rows."
                    ),
                    "accumulated_std": or_null(
                        json_keys.numbers(
                            "Standard deviations of local effects, accumulated from the left end; null for PDP and "
                            "M-plots.",
                        )
                    ),
                },
                json_keys.AXIS,
            ),
            "bins": _BIN_KEYS,
            "spread": _SPREAD_KEYS,
            "depends_on": _DEPENDS_KEYS,
            "missing": _MISSING_KEYS,
            **json_keys.RECORD,
        },
        {"observed": _observed_keys(), "kept_rows": _KEPT_KEYS, "ice": _ICE_KEYS},
    )


def _bins(effect: Effect) -> Content | None:
    """Return the bins of a numeric feature, or the steps between levels; None without any."""
    if not isinstance(effect, BinnedEffect | LevelStepsEffect):
        return None
    bins = effect.bins
    content: Content = {
        "left": axis_column(effect.axis, bins.low),
        "right": axis_column(effect.axis, bins.high),
        "rows": bins.count,
        "weight": bins.weight,
        "mean" if isinstance(effect, AnyMPlot) else "slope": bins.effect,
        "std": bins.std,
        "error": bins.std_error,
    }
    if not isinstance(effect, AnyMPlot):
        content["rise"] = bins.rise
    if np.any(bins.slope_change):
        content["slope_change"] = bins.slope_change
    return content


def _depends_on(effect: Effect) -> Content | None:
    found = effect.depends_on
    if found is None:
        return None
    return {"name": found.name, "share": found.share, "error": found.error}


def _spread(effect: Effect) -> Content | None:
    spread = effect.spread
    if spread is None:
        return None
    x = axis_column(effect.axis, spread.x if isinstance(effect.axis, LevelAxis) else spread.points)
    return {"x": x, "value": spread.value, "error": spread.std_error, "weight": spread.weight}


def _missing(rows: int, point: MissingPoint | None) -> Content:
    return {
        "rows": rows,
        "value": None if point is None else point.value,
        "error": None if point is None else point.std_error,
    }


_OBSERVED_NUMBERS = {
    "weight": "Weight of the rows.",
    "label": "Mean of the labels; of a class, 1 for its rows, else 0. Null where there is no row.",
    "label_error": "Its standard error.",
    "prediction": "Mean of the predictions, on the scale of the labels.",
    "prediction_error": "Its standard error.",
    "residual": "Mean of label - prediction.",
    "residual_error": "Its standard error: that of the differences of the same rows.",
    "df": "Degrees of freedom of the standard errors.",
}


def _observed_numbers_keys() -> Keys:
    rows = json_keys.table("Number of rows.", INTEGER)
    return {"rows": rows, **{k: json_keys.table(text) for k, text in _OBSERVED_NUMBERS.items()}}


def _observed_keys() -> JsonSchema:
    text = "One list for each value of the split, with one number for each cell."
    return object_of(
        f"Labels and predictions in cells of the feature, only with explain(observed=True). {text}",
        {
            "quantity": json_keys.text("Name of the prediction, on the scale of the labels."),
            "unit": or_null(json_keys.text("Unit of labels and predictions.")),
            "events": json_keys.flag(
                "Whether labels are 0 and 1 and predictions between: mean labels are proportions."
            ),
            "split": or_null(json_keys.text("Name of the split; null without a name.")),
            "split_values": json_keys.texts("Its values; one empty text without a split."),
            "x": json_keys.points("Mean of the feature in each cell, or the level."),
            **_observed_numbers_keys(),
            "missing": or_null(
                object_of("Rows in which the feature is missing.", _observed_numbers_keys())
            ),
        },
        {
            "left": json_keys.points("Left ends of the cells. Not for categorical features."),
            "right": json_keys.points("Right ends of the cells."),
        },
    )


def observed_document(axis: Axis, observed: Observed) -> Content:
    """Return the means of label, prediction and residual in cells of a feature."""
    ends: Content = {}
    if not isinstance(axis, LevelAxis):
        ends = {
            "left": axis_column(axis, observed.low),
            "right": axis_column(axis, observed.high),
        }
    x = axis_column(axis, observed.x if isinstance(axis, LevelAxis) else observed.points)
    missing = observed.missing
    return {
        "quantity": observed.quantity,
        "unit": observed.unit,
        "events": observed.events,
        "split": observed.split_name or None,
        "split_values": observed.split_values,
        "x": x,
        **ends,
        **_observed_numbers(observed),
        "missing": None if missing is None else _observed_numbers(missing),
    }


def _observed_numbers(observed: Observed) -> Content:
    return {
        "rows": observed.count,
        **{name: vars(observed)[name] for name in _OBSERVED_NUMBERS},
    }


def _rows(effect: Effect, rows: Rows) -> Content:
    return {
        "x": _row_values(effect.axis, rows.x),
        "local_effect": rows.local,
        "weight": rows.weight,
        "exact": rows.exact,
    }


def _curves(effect: Effect, curves: Curves) -> Content:
    return {
        "row": curves.row,
        "x": _row_values(effect.axis, curves.x),
        "value": curves.value,
        "weight": curves.weight,
        "exact": curves.exact,
    }


# --- surfaces -------------------------------------------------------------------------------------


def surface_document(surface: Surface, options: ExportOptions) -> Content:
    """Return what a surface says: see `Surface.to_dict`."""
    level = options.confidence_level
    error = surface.std_error
    lower, upper = t_interval(surface.value, error, surface.df, level)
    content: Content = {
        "features": surface.features,
        "axes": surface_axes(surface),
        "quantity": surface.about.quantity,
        "unit": surface.about.unit,
        "method": surface.spec.method,
        "confidence_level": level,
        "includes_main_effects": surface.includes_main_effects,
        "interaction_strength": surface.interaction_strength(),
        "value": surface.value,
        "error": error,
        "lower": lower,
        "upper": upper,
        "heterogeneity": surface.heterogeneity,
        "cells": _cells(surface.cells) if isinstance(surface, AccumulatedSurface) else None,
        "provenance": surface.provenance,
    }
    if options.rows:
        content["kept_rows"] = _pair_rows(surface)
    return content


_CELL_KEYS = or_null(
    object_of(
        "The cells of an ALE or DALE, by the bins or steps of the first and of the second feature. Null for a "
        "PDP.",
        {
            "rows": listed({"type": "array", "items": {"type": "integer"}}, "Number of rows."),
            "weight": json_keys.table("Weight of the rows."),
            "difference": json_keys.table(
                "Mean double difference across the cell, in units of the quantity."
            ),
            "std": json_keys.table("Standard deviation of the rows' double differences."),
            "error": json_keys.table("Standard error of `difference`."),
        },
    )
)


def surface_keys() -> tuple[Keys, Keys]:
    """Return the schema of the keys of a surface, and of those that only some have."""
    return (
        {
            **json_keys.PAIR,
            **json_keys.LEVEL,
            "includes_main_effects": json_keys.flag(
                "Whether values include the main effects of the features."
            ),
            "interaction_strength": json_keys.number(
                "Standard deviation of the surface over the data; null if no rows are kept."
            ),
            "value": json_keys.table(
                "The effect, in units of the quantity; a row for each point of the first feature."
            ),
            "error": json_keys.table("Its standard error."),
            "lower": json_keys.table("Lower end of its pointwise interval."),
            "upper": json_keys.table("Upper end."),
            "heterogeneity": json_keys.table("Standard deviation between rows."),
            "cells": _CELL_KEYS,
            **json_keys.RECORD,
        },
        {
            "kept_rows": or_null(
                object_of(
                    "Kept rows, only with rows=True; null if none are kept.",
                    {
                        "x0": json_keys.points("Values of the first feature."),
                        "x1": json_keys.points("Values of the second feature."),
                        "local_effect": or_null(
                            json_keys.numbers(
                                "Mixed derivatives; null if local effects are differences."
                            )
                        ),
                        **json_keys.KEPT,
                    },
                )
            )
        },
    )


def surface_axes(surface: Surface) -> list[Content]:
    """Return the features of a surface with their points."""
    return [
        {
            **feature_document(about.feature),
            **(
                _levels(side.levels)
                if isinstance(side, LevelPairAxis)
                else {"x": point_column(points, time)}
            ),
        }
        for about, side, points, time in zip(
            surface.abouts, surface.sides, surface.points, surface.times, strict=True
        )
    ]


def _cells(cells: CellStats) -> Content:
    return {
        "rows": cells.count,
        "weight": cells.weight,
        "difference": cells.effect,
        "std": cells.std,
        "error": cells.std_error,
    }


def _pair_rows(surface: Surface) -> Content | None:
    rows = surface.rows
    if rows is None:
        return None
    x0, x1 = (
        _labels_of_codes(side.levels, x)
        if isinstance(side, LevelPairAxis)
        else point_column(x, time)
        for side, x, time in zip(surface.sides, (rows.x0, rows.x1), surface.times, strict=True)
    )
    return {
        "x0": x0,
        "x1": x1,
        "local_effect": rows.effect,
        "weight": rows.weight,
        "exact": rows.exact,
    }
