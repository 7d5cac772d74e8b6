"""The JSON Schema of `to_dict` and `to_json`: which keys each kind of result has, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from skedasis.results.export import SCHEMA

JsonSchema: TypeAlias = dict[str, object]
"""A JSON Schema, or a part of one."""

Keys: TypeAlias = Mapping[str, JsonSchema]

NO_KEYS: Keys = {}

DRAFT = "https://json-schema.org/draft/2020-12/schema"


# --- parts of a schema ----------------------------------------------------------------------------


def _of(kind: str, text: str, *, null: bool = False, **more: object) -> JsonSchema:
    return {"type": [kind, "null"] if null else kind, "description": text, **more}


def _number(text: str) -> JsonSchema:
    """Return a number that may be unknown."""
    return _of("number", text, null=True)


def _integer(text: str, *, null: bool = False) -> JsonSchema:
    return _of("integer", text, null=null)


def _text(text: str, *, null: bool = False) -> JsonSchema:
    return _of("string", text, null=null)


def _output(text: str) -> JsonSchema:
    """Return the label of an output."""
    return {"type": ["string", "number", "boolean", "null"], "description": text}


def _value(text: str, *, null: bool = False) -> JsonSchema:
    """Return a number or a text."""
    return {"type": ["number", "string", *["null"] * null], "description": text}


def _flag(text: str) -> JsonSchema:
    return _of("boolean", text)


def _choice(text: str, *values: str | None) -> JsonSchema:
    return {"enum": list(values), "description": text}


def _list(items: JsonSchema, text: str, *, null: bool = False) -> JsonSchema:
    return _of("array", text, null=null, items=items)


def _numbers(text: str, *, null: bool = False) -> JsonSchema:
    return _list({"type": ["number", "null"]}, text, null=null)


def _table(text: str) -> JsonSchema:
    """Return a list of rows of numbers."""
    return _list({"type": "array", "items": {"type": ["number", "null"]}}, text)


def _integers(text: str) -> JsonSchema:
    return _list({"type": "integer"}, text)


def _texts(text: str) -> JsonSchema:
    return _list({"type": "string"}, text)


def _pair(text: str) -> JsonSchema:
    """Return the two ends of an interval."""
    return {**_numbers(text), "minItems": 2, "maxItems": 2}


def _points(text: str) -> JsonSchema:
    """Return numbers, or times or labels as text."""
    return _list({"type": ["number", "string", "null"]}, text)


def _object(text: str, keys: Keys, *, optional: Keys = NO_KEYS, null: bool = False) -> JsonSchema:
    """Return an object with these keys, of which only the optional ones may be absent."""
    properties = {**keys, **optional}
    return _of("object", text, null=null, properties=properties, required=list(keys))


def _by_name(values: JsonSchema, text: str) -> JsonSchema:
    """Return an object whose keys are names."""
    return _of("object", text, additionalProperties=values)


def _result(kind: str, text: str) -> JsonSchema:
    """Return another result."""
    return {"$ref": f"#/$defs/{kind}", "description": text}


@dataclass(frozen=True)
class Kind:
    """A kind of result."""

    text: str
    keys: Keys
    optional: Keys = field(default_factory=dict)

    def schema(self, name: str) -> JsonSchema:
        kind: JsonSchema = {"const": name, "description": "The kind of the result."}
        return _object(self.text, {"kind": kind, **self.keys}, optional=self.optional)


# --- keys of several kinds ------------------------------------------------------------------------


_QUANTITY: Keys = {
    "quantity": _text("Name of the quantity that is explained."),
    "unit": _text("Its unit.", null=True),
}


_FEATURE: Keys = {
    "feature": _text("Name of the feature."),
    "feature_kind": _choice("Kind of the feature.", "continuous", "ordinal", "nominal"),
    "feature_label": _text("Its label for people; null without one.", null=True),
    "feature_unit": _text("Unit of the feature.", null=True),
    "time": _choice("Kind of its times.", "date", "datetime", "duration", "time", None),
}


_METHOD: Keys = {"method": _text('The method, such as "RHALE".')}


_LEVEL: Keys = {"confidence_level": _number("Confidence level of the intervals.")}


_SCORE: Keys = {
    "heterogeneity_score": _number("Heterogeneity score, in units of the quantity."),
    "heterogeneity_score_error": _number("Its standard error."),
}


_PROVENANCE: Keys = {
    "provenance": _of(
        "object",
        "How the result was computed: the entries of `Provenance`. Within another result: those that differ from the "
        "entries of the whole.",
    )
}


_FEATURES: Keys = {"features": _texts("Names of the features, in X's order.")}


_AXIS: Keys = {
    "x": _points("The points: numbers, or times as ISO 8601 text. Not for categorical features."),
    "levels": _texts("Labels of the levels, for categorical features instead of `x`."),
    "rows": _integers("Number of rows at each level."),
    "weight": _numbers("Weight of the rows at each level."),
}


_KEPT: Keys = {
    "weight": _numbers("Weights of the rows; null if all are 1.", null=True),
    "exact": _flag("Whether these are all rows instead of a sample."),
}


_MISSING = _object(
    "Rows in which the feature is missing.",
    {
        "rows": _integer("Their number."),
        "value": _number(
            "Their effect, on the scale of the curve; null without any, or for a level."
        ),
        "error": _number("Its standard error."),
    },
)


_BINS = _object(
    "The bins from left to right; for a categorical feature the steps between levels. Null for PDP and ICE, and for "
    "M-plots of categorical features.",
    {
        "left": _points("Left ends: numbers, times, or the labels before a step."),
        "right": _points("Right ends."),
        "rows": _integers("Number of rows."),
        "weight": _numbers("Weight of the rows."),
        "std": _numbers("Standard deviation of the local effects in the bin."),
        "error": _numbers("Standard error of `slope`, or `mean`."),
    },
    optional={
        "slope": _numbers(
            "Mean of the local effects, in units of the quantity per unit of the feature, of times per day; for "
            "differences across bins or cells the mean slope of the curve; for a categorical feature the mean "
            "difference per step."
        ),
        "rise": _numbers(
            "Value of the curve at the right end minus that at the left end, in units of the quantity. Absent for an "
            "M-plot."
        ),
        "mean": _numbers("For an M-plot instead of `slope`: the mean of the quantity."),
        "slope_change": _numbers(
            "Change of the slope per unit of the feature within the bin. Absent if slopes are constant in all bins."
        ),
    },
    null=True,
)


_SPREAD = _object(
    "The spread between rows on cells of its own; null if it was not computed.",
    {
        "x": _points("Mean of the feature in each cell, or the level."),
        "value": _numbers("Standard deviation of the effect there between rows."),
        "error": _numbers("Its standard error."),
        "weight": _numbers("Fraction of the rows in the cell."),
    },
    null=True,
)


_DEPENDS_ON = _object(
    "The other feature that explains most of the heterogeneity; null if none explains much.",
    {
        "name": _text("Name of the feature."),
        "share": _number(
            "Share of the squared heterogeneity score that it explains, on held-out rows."
        ),
        "error": _number("Standard error of the share."),
    },
    null=True,
)


_ICE = _object(
    "Individual curves of kept rows, only with rows=True; null if none are kept.",
    {
        "row": _integers("Index of each row in X."),
        "x": _points("The rows' own values of the feature."),
        "value": _table("One curve per row, at the points of `curve`."),
        **_KEPT,
    },
    null=True,
)


_KEPT_ROWS = _object(
    "Kept rows, only with rows=True; null if none are kept.",
    {
        "x": _points("Values of the feature."),
        "local_effect": _list(
            {"type": ["number", "null", "array"]},
            "Their local effects; for a categorical feature the two adjacent steps. Null for PDP and ICE.",
            null=True,
        ),
        **_KEPT,
    },
    null=True,
)


# --- kinds of results -----------------------------------------------------------------------------


def _ranking(text: str, keys: Keys) -> JsonSchema:
    return _list(_object("One line of the ranking.", keys), text)


_EFFECT = Kind(
    "The effect of one feature.",
    {
        **_FEATURE,
        **_QUANTITY,
        **_METHOD,
        "rule": _text("Rule of the region that the effect is of; null for all rows.", null=True),
        **_LEVEL,
        "importance": _number("Standard deviation of the effect over the data."),
        **_SCORE,
        "heterogeneity_score_interval": {
            **_pair("Ends of the interval of the heterogeneity score; null if it is unknown."),
            "type": ["array", "null"],
        },
        "score_off_support": _number(
            "The largest share of the score's swapped rows that are far from the data, in at most three columns."
        ),
        "curve": _object(
            "The effect at its points, in units of the quantity.",
            {
                "value": _numbers("The effect."),
                "error": _numbers("Its standard error."),
                "lower": _numbers("Lower end of its pointwise interval."),
                "upper": _numbers("Upper end."),
                "heterogeneity": _numbers(
                    "Spread: standard deviation of the effect there between rows."
                ),
                "accumulated_std": _numbers(
                    "Standard deviations of local effects, accumulated from the left end; null for PDP and M-plots.",
                    null=True,
                ),
            },
            optional=_AXIS,
        ),
        "bins": _BINS,
        "spread": _SPREAD,
        "depends_on": _DEPENDS_ON,
        "missing": _MISSING,
        **_PROVENANCE,
    },
    optional={"kept_rows": _KEPT_ROWS, "ice": _ICE},
)


_EFFECTS = Kind(
    "The effects of several features.",
    {
        **_FEATURES,
        "ranking": _ranking(
            "The features, most important first.",
            {
                "feature": _text("Name of the feature."),
                "importance": _number("Standard deviation of the effect over the data."),
                **_SCORE,
                "bins": _integer("Number of bins, points of the grid, or levels."),
                "untrusted_rows": _integer("Rows in bins, or at levels, with fewer than 10 rows."),
                "missing": _integer("Rows in which the feature is missing."),
                "depends_on": _text(
                    "The other feature that explains most of the heterogeneity; null if none explains much.",
                    null=True,
                ),
                "depends_on_share": _number(
                    "Share of the squared score that it explains, on held-out rows."
                ),
                "depends_on_error": _number("Standard error of the share."),
            },
        ),
        "effects": _by_name(_result("Effect", "The effect."), "The effects by feature."),
        **_PROVENANCE,
    },
)


_RANKING = Kind(
    "A ranking.",
    {
        "ranking": _list(
            _of("object", "One line, with the fields of its class as keys."), "The lines, in order."
        )
    },
)


_IMPORTANCE_NUMBERS: Keys = {
    "mean": _number("The importance: the mean over the repeats, in units of the quantity."),
    "error": _number("Its standard error."),
    "lower": _number("Lower end of its interval."),
    "upper": _number("Upper end."),
}


_LOCAL_IMPORTANCE = Kind(
    "The effect of permutation on single rows.",
    {
        **_FEATURES,
        "row": _integers("Index of each row in X."),
        "before": _numbers("The quantity at the rows."),
        "difference": _by_name(
            _numbers("Mean increase of each row over the repeats."),
            "By feature, the mean increase of each row with the feature's values of other rows.",
        ),
        **_KEPT,
    },
)


_IMPORTANCE = Kind(
    "Permutation importance of features.",
    {
        **_FEATURES,
        **_QUANTITY,
        **_METHOD,
        "metric": _text("Name of the metric; null if the quantity is a mean over rows.", null=True),
        "baseline": _number("Mean of the quantity at the rows, or the metric on them."),
        "rows": _integer("Number of rows."),
        "all_pairs": _flag("Whether all pairs of rows were used, so that there is no randomness."),
        **_LEVEL,
        "ranking": _ranking(
            "The features, most important first.",
            {
                "feature": _text("Name of the feature."),
                **_IMPORTANCE_NUMBERS,
                "std": _number("Standard deviation over the repeats."),
                "values": _numbers("The importance in each repeat."),
            },
        ),
        **_PROVENANCE,
    },
    {
        "local": {
            "anyOf": [{"type": "null"}, {"$ref": "#/$defs/LocalImportance"}],
            "description": "Values of single rows, only with rows=True; null if none are kept.",
        }
    },
)


_CELLS = _object(
    "The cells of an ALE or DALE, by the bins or steps of the first and of the second feature. Null for a PDP.",
    {
        "rows": _list({"type": "array", "items": {"type": "integer"}}, "Number of rows."),
        "weight": _table("Weight of the rows."),
        "difference": _table("Mean double difference across the cell, in units of the quantity."),
        "std": _table("Standard deviation of the rows' double differences."),
        "error": _table("Standard error of `difference`."),
    },
    null=True,
)


_AXES: Keys = {
    "features": _texts("Names of the two features."),
    "axes": _list(
        _object("One feature.", _FEATURE, optional=_AXIS), "The two features with their points."
    ),
    **_QUANTITY,
    **_METHOD,
}


_SURFACE = Kind(
    "The effect of two features. Tables have a row for each point of the first feature.",
    {
        **_AXES,
        **_LEVEL,
        "includes_main_effects": _flag("Whether values include the main effects of the features."),
        "interaction_strength": _number(
            "Standard deviation of the surface over the data; null if no rows are kept."
        ),
        "value": _table("The effect, in units of the quantity."),
        "error": _table("Its standard error."),
        "lower": _table("Lower end of its pointwise interval."),
        "upper": _table("Upper end."),
        "heterogeneity": _table("Standard deviation between rows."),
        "cells": _CELLS,
        **_PROVENANCE,
    },
    {
        "kept_rows": _object(
            "Kept rows, only with rows=True; null if none are kept.",
            {
                "x0": _points("Values of the first feature."),
                "x1": _points("Values of the second feature."),
                "local_effect": _numbers(
                    "Mixed derivatives; null if local effects are differences.", null=True
                ),
                **_KEPT,
            },
            null=True,
        )
    },
)


_REGION = _object(
    "One region.",
    {
        "rule": _text('Its rule, such as "workingday = 0".'),
        "rows": _integer("Number of rows."),
        "weight": _number("Their weight."),
        "share": _number("Fraction of the weight."),
        "importance": _number("Standard deviation of the effect within the region."),
        **_SCORE,
        "conditions": _list(
            _object(
                "A condition on one feature.",
                {
                    "feature": _text("Name of the feature."),
                    "text": _text("The condition in words."),
                    "above": _value(
                        "Rows with a larger value satisfy it: a number, or a time as text; null for no such end, and "
                        "for levels.",
                        null=True,
                    ),
                    "up_to": _value(
                        "Rows with this value or a smaller one satisfy it; null for no such end, and for levels.",
                        null=True,
                    ),
                    "levels": _list(
                        {"type": "string"},
                        "Labels of the levels that satisfy it; null for numbers and times.",
                        null=True,
                    ),
                    "excluded": _flag("Whether all levels but these satisfy it."),
                    "missing": _flag("Whether rows with a missing value satisfy it."),
                },
            ),
            "The conditions of the rule, all of which hold. Empty for regions given by labels or masks.",
        ),
        "effect": _result("Effect", "The effect within the region."),
    },
)


_NODE = _object(
    "A node of the tree of rules.",
    {
        "condition": _text("What it adds to the rule of its parent; empty for the whole."),
        "rule": _text("Its rule."),
        "parent": _integer("Index of its parent; null for the whole.", null=True),
        "children": _integers("Indices of its children."),
        "depth": _integer("Number of splits above it."),
        "rows": _integer("Number of rows."),
        "weight": _number("Their weight."),
        "region": _integer("Index of its region; null for a node that was split.", null=True),
        "note": _text("Why it was not split further."),
        "split": _object(
            "How it was split; null for a region.",
            {
                "feature": _text("Feature of the conditions."),
                "p_value": _number("One-sided p-value."),
                "share": _number("Share of the loss of the whole that the split explains."),
                "share_error": _number("Its standard error."),
                "stability": _number(
                    "Agreement with the best split of the other half of the rows."
                ),
                "another": _text("That split, by its first condition; empty if it is unknown."),
                "rows": _integer("Number of rows that checked it."),
            },
            null=True,
        ),
    },
)


_REGIONS = Kind(
    "The effect of a feature in parts of the data.",
    {
        **_FEATURE,
        **_QUANTITY,
        **_METHOD,
        "criterion": _text("What the splits minimise."),
        "by": _text("How given regions were given; null for regions that were found.", null=True),
        "importance": _number("Standard deviation of the effect over all data."),
        **_SCORE,
        "heterogeneity_score_within": _number("The score that is left within the regions."),
        "heterogeneity_score_within_error": _number("Its standard error."),
        "heterogeneity_explained": _number("Share of the squared score that the regions explain."),
        "heterogeneity_explained_error": _number("Its standard error."),
        "loss_explained": _number("Share of the criterion's loss that all splits explain."),
        "loss_explained_error": _number("Its standard error."),
        "left_out": _by_name(_text("Why."), "Features that could not be conditions."),
        "whole": _result("Effect", "The effect in all rows."),
        "regions": _list(_REGION, "The regions."),
        "nodes": _list(_NODE, "The tree of rules, depth first; the first node is the whole."),
        **_PROVENANCE,
    },
)


_REGIONS_BY_FEATURE = Kind(
    "The regions of several features.",
    {
        **_FEATURES,
        "joint": _flag("Whether all features have the same regions."),
        "ranking": _ranking(
            "The features, the largest heterogeneity first.",
            {
                "feature": _text("Name of the feature."),
                "importance": _number("Standard deviation of the effect over all data."),
                "heterogeneity_score": _number("Heterogeneity score of all rows."),
                "explained": _number("Share of the heterogeneity that the regions explain."),
                "explained_error": _number("Its standard error."),
                "regions": _integer("Number of regions."),
                "first_split": _text("Feature of the first split; empty without one."),
            },
        ),
        "regions": _by_name(_result("Regions", "The regions."), "The regions by feature."),
        **_PROVENANCE,
    },
)


_OF_MODELS: Keys = {
    "n_models": _integer("Number of models."),
    "correction": _number("Number of held-out rows over number of training rows; null if unknown."),
    "overlap": _number("Fraction of the training rows that two models share; null if unknown."),
    **_LEVEL,
}


_REACHED = "Number of models that have a value."


_MULTI_MODEL_EFFECT = Kind(
    "The effect of one feature for several models.",
    {
        **_FEATURE,
        **_QUANTITY,
        **_METHOD,
        **_OF_MODELS,
        "importance": _number("Mean over the models of the importance."),
        "heterogeneity_score": _number("Mean over the models of the heterogeneity score."),
        "heterogeneity_score_error": _number("Its standard error, due to the sample of rows."),
        "curve": _object(
            "The mean over the models at its points, in units of the quantity.",
            {
                "value": _numbers("The mean."),
                "between": _numbers("Standard deviation between models."),
                "error": _numbers("Standard error of the mean."),
                "lower": _numbers("Lower end of its pointwise interval."),
                "upper": _numbers("Upper end."),
                "reached": _integers(_REACHED),
                "heterogeneity": _numbers("Mean over the models of the heterogeneity."),
            },
            optional=_AXIS,
        ),
        "models": _list(
            _object(
                "One model.",
                {
                    "importance": _number("Its importance."),
                    "heterogeneity_score": _number("Its heterogeneity score."),
                    "value": _numbers("Its effect, at the points of `curve`."),
                    "heterogeneity": _numbers("Its heterogeneity there."),
                },
            ),
            "The models, in the order given.",
        ),
        **_PROVENANCE,
    },
)


_MULTI_MODEL_EFFECTS = Kind(
    "The effects of several features for several models.",
    {
        **_FEATURES,
        "ranking": _ranking(
            "The features, most important first.",
            {
                "feature": _text("Name of the feature."),
                "importance": _number("Mean over the models of the importance."),
                "between": _number("Its standard deviation between models."),
                "heterogeneity_score": _number("Mean over the models of the heterogeneity score."),
                "first": _integer("Number of models in which the feature is the most important."),
            },
        ),
        "effects": _by_name(_result("MultiModelEffect", "The effect."), "The effects by feature."),
        **_PROVENANCE,
    },
)


_MULTI_MODEL_SURFACE = Kind(
    "The effect of two features for several models.",
    {
        **_AXES,
        **_OF_MODELS,
        "interaction_strength": _number("Mean over the models of the interaction strength."),
        "value": _table("The mean over the models."),
        "between": _table("Standard deviation between models."),
        "error": _table("Standard error of the mean."),
        "lower": _table("Lower end of its pointwise interval."),
        "upper": _table("Upper end."),
        "reached": _list({"type": "array", "items": {"type": "integer"}}, _REACHED),
        "heterogeneity": _table("Mean over the models of the heterogeneity."),
        "models": _list(
            _object(
                "One model.",
                {
                    "interaction_strength": _number("Its interaction strength."),
                    "value": _table("Its surface."),
                },
            ),
            "The models, in the order given.",
        ),
        **_PROVENANCE,
    },
)


_MULTI_MODEL_IMPORTANCE = Kind(
    "Permutation importance of features for several models.",
    {
        **_FEATURES,
        **_QUANTITY,
        **_METHOD,
        "metric": _text("Name of the metric; null if the quantity is a mean over rows.", null=True),
        "baseline": _number("Mean over the models of the quantity at the rows, or of the metric."),
        **_OF_MODELS,
        "ranking": _ranking(
            "The features, most important first.",
            {
                "feature": _text("Name of the feature."),
                **_IMPORTANCE_NUMBERS,
                "between": _number("Standard deviation between models."),
                "reached": _integer(_REACHED),
                "values": _numbers("The importance for each model."),
            },
        ),
        **_PROVENANCE,
    },
)


_MULTI_MODEL_REGIONS = Kind(
    "The regions of one feature for several models.",
    {
        "feature": _text("Name of the feature."),
        "recurrence": _list(
            _object(
                "The models with one first split.",
                {
                    "feature": _text("Feature of the first split."),
                    "models": _integer("Number of models."),
                    "condition": _text("Condition of the first region, or how conditions differ."),
                },
            ),
            "How often each feature is the first split, the most frequent first.",
        ),
        "models": _list(_result("Regions", "The regions."), "The regions for each model."),
        **_PROVENANCE,
    },
)


_MULTI_MODEL_REGIONS_BY_FEATURE = Kind(
    "The regions of several features for several models.",
    {
        **_FEATURES,
        "ranking": _ranking(
            "The features, the largest mean heterogeneity score first.",
            {
                "feature": _text("Name of the feature."),
                "importance": _number("Mean over the models of the importance."),
                "heterogeneity_score": _number("Mean over the models of the heterogeneity score."),
                "models_with_regions": _integer("Number of models with a split."),
                "first_split": _text(
                    "Most frequent feature of the first split; empty without one."
                ),
                "models": _integer("Number of models with this first split."),
                "condition": _text("Condition of the first region, or how conditions differ."),
            },
        ),
        "regions": _by_name(
            _result("MultiModelRegions", "The regions."), "The regions by feature."
        ),
        **_PROVENANCE,
    },
)


_DIAGNOSIS = Kind(
    "Features classified by Likelihood-PFI and Entropy-PFI, in nats.",
    {
        **_FEATURES,
        "rows": _integer("Number of rows."),
        **_LEVEL,
        "diagnosis": _list(
            _object(
                "One feature.",
                {
                    "feature": _text("Name of the feature."),
                    "likelihood": _number("Likelihood-PFI."),
                    "likelihood_interval": _pair("Ends of its interval."),
                    "entropy": _number("Entropy-PFI."),
                    "entropy_interval": _pair("Ends of its interval."),
                    "r2_others": _number(
                        "R² of a forest that predicts the feature from the others."
                    ),
                    "r2_with_target": _number("The same from the others and the label."),
                    "partners": _texts("Features that it shares most information with."),
                    "verdict": _text("Kind of the verdict."),
                    "text": _text("The verdict as a sentence."),
                    "next": _text("The recommended next step."),
                },
            ),
            "The features, in X's order.",
        ),
        "notes": _texts("Notes that concern all features."),
        **_PROVENANCE,
    },
)


_INTERACTIONS = Kind(
    "How strongly features interact.",
    {
        **_FEATURES,
        **_QUANTITY,
        "h2": _number("Share of the variance that no sum of functions of one feature explains."),
        "exact": _flag("Whether H² is computed from all rows."),
        "measure": _choice(
            "What pairs are ordered by.", "h2_unnormalized", "h2", "ale_strength", "depends"
        ),
        "pairs": _list(
            _object(
                "One pair; numbers that were not computed are null.",
                {
                    "features": _texts("Names of the two features."),
                    "h2": _number("Share of the variance of the joint effect that is interaction."),
                    "h2_unnormalized": _number("Root mean square of the interaction."),
                    "error": _number("Standard error of `h2_unnormalized`."),
                    "ale_strength": _number("Interaction strength of the second-order ALE."),
                    "depends_01": _number(
                        "Share of the heterogeneity of the first feature that the second explains."
                    ),
                    "depends_10": _number("The reverse."),
                    "exact": _flag("Whether `h2` is computed from all rows."),
                },
            ),
            "The pairs, strongest first.",
        ),
        "overall": _list(
            _object(
                "One feature.",
                {
                    "feature": _text("Name of the feature."),
                    "h2": _number("Share of the variance that is its interaction with all others."),
                    "h2_unnormalized": _number("Root mean square of that interaction."),
                    "importance": _number("Standard deviation of its effect over the data."),
                    "heterogeneity_score": _number("Its heterogeneity score."),
                },
            ),
            "The features, the strongest interaction with all others first.",
        ),
        **_PROVENANCE,
    },
)


_VARIANCE_SHARES = Kind(
    "How much of the variance of a quantity its parts explain at held-out rows.",
    {
        **_QUANTITY,
        "parts": _list(
            _object(
                "One part.",
                {
                    "name": _text("Name of the part."),
                    "kind": _choice("Its kind.", "main", "regions", "pairs", "unexplained"),
                    "features": _texts("Its features."),
                    "r2": _number("R² of this part and all parts before."),
                    "share": _number("What the part adds to R²."),
                    "error": _number("Standard error of `share`."),
                    "label_r2": _number("R² for the label; null without labels."),
                    "label_error": _number("Its standard error."),
                    "label": _text("Its text for people; null without labels.", null=True),
                },
            ),
            "The parts, in the order in which they were added; shares sum to 1.",
        ),
        "as_drawn": _number("R² of the sum of the effect curves."),
        "as_drawn_error": _number("Its standard error."),
        "drawn_by": _text("Method of these curves."),
        "variance": _number("Variance of the quantity at the held-out rows."),
        "rows_fitting": _integer("Number of rows on which parts were chosen and fitted."),
        "rows_held_out": _integer("Number of rows on which they are measured."),
        **_PROVENANCE,
    },
)


_STATISTIC = Kind(
    "The ALE statistics of one feature.",
    {
        "feature": _text("Name of the feature."),
        "aled": _number("ALE deviation, in units of the quantity."),
        "aler": _pair("ALE range: the smallest and the largest ALE."),
        "naled": _number("ALE deviation in percentiles of y; null without y."),
        "naler": _pair("ALE range in percentiles of y."),
        "aled_interval": _pair("Ends of the interval of `aled`."),
        "aler_interval": _table("Intervals of both ends of `aler`."),
        "naled_interval": _pair("Ends of the interval of `naled`."),
        "naler_interval": _table("Intervals of both ends of `naler`."),
        "noise": _number("Mean ALE deviation of a flat effect with the same standard errors."),
        "noise_limit": _number("Its quantile at the confidence level."),
        "p_value": _number("P-value of `aled`; null without a null distribution."),
        "p_aler": _pair("P-values of both ends of `aler`."),
        "okoli": _numbers("`naled` and `naler` with percentiles as defined by Okoli."),
        "rows": _integer("Number of rows."),
        "exact": _flag("Whether the statistics are computed from the rows."),
    },
)


_STATISTICS = Kind(
    "The ALE statistics of several features.",
    {
        "quantity": _QUANTITY["quantity"],
        **_METHOD,
        **_LEVEL,
        "statistics": _list(_result("Statistic", "One feature."), "The features, in X's order."),
        **_PROVENANCE,
    },
)


_NULL_DISTRIBUTION = Kind(
    "ALE statistics of random features.",
    {
        "features": _list(
            _object(
                "One feature; its numbers have one entry per permuted copy.",
                {
                    "feature": _text("Name of the feature."),
                    **_METHOD,
                    "quantity": _QUANTITY["quantity"],
                    "aled": _numbers("ALE deviation."),
                    "aler_low": _numbers("Lower end of the ALE range."),
                    "aler_high": _numbers("Upper end of the ALE range."),
                },
            ),
            "The features.",
        ),
        **_PROVENANCE,
    },
)


_CHECK = Kind(
    "One finding of a reliability check.",
    {
        "feature": _text("Name of the feature."),
        "code": _text('Code of the check, such as "few_rows".'),
        "severity": _choice("How serious it is.", "note", "warning"),
        "message": _text("What is wrong, and what to do."),
        "rows": _integer("Number of rows that it is about; null if it is about none.", null=True),
        "where": {
            "type": ["array", "string", "null"],
            "description": "The two ends of an interval, a level, or null for the whole effect.",
        },
        "numbers": _of("object", "The numbers in the message."),
        "output": _output("Output of the model that it is about; null for a model with one."),
    },
)


_CHECKS = Kind(
    "The findings of the reliability checks.",
    {"checks": _list(_result("Check", "One finding."), "The findings, warnings first.")},
)


_HETEROGENEITY_TEST = Kind(
    "A test whether the heterogeneity score exceeds a threshold.",
    {
        "score": _number("The heterogeneity score, in units of the quantity."),
        "error": _number("Its standard error."),
        "lower": _number("One-sided lower confidence bound."),
        "p_value": _number("P-value of the hypothesis that the score is at most `above`."),
        "above": _number("The threshold."),
        "effective_pairs": _number("Effective number of pairs of rows."),
        **_LEVEL,
        "verdict": _choice("The verdict.", "heterogeneous", "none", "unclear"),
        "text": _text("The verdict as a sentence."),
    },
)


_VARIANCE_DECOMPOSITION = Kind(
    "The variance of local effects within bins, and its two parts.",
    {
        "feature": _text("Name of the feature."),
        "bins": _object(
            "The bins from left to right.",
            {
                "left": _points("Left ends: numbers, times, or the labels before a step."),
                "right": _points("Right ends."),
                "rows": _integers("Number of rows."),
                "total": _numbers("Variance of the local effects."),
                "within": _numbers("Variance at given values of the feature: the heterogeneity."),
                "residual": _numbers("The rest: the mean slope changes within the bin."),
                "share": _numbers("`residual` as a fraction of `total`."),
                "p_value": _numbers("P-value of the hypothesis that the mean slope is constant."),
                "p_value_adjusted": _numbers("The same, corrected for the number of bins."),
            },
        ),
    },
)


_SURFACES = Kind(
    "The surfaces of several pairs of features.",
    {
        "ranking": _ranking(
            "The pairs, the strongest interaction first.",
            {
                "features": _texts("Names of the two features."),
                "interaction_strength": _number("Standard deviation of the surface over the data."),
            },
        ),
        "surfaces": _list(
            {"anyOf": [{"$ref": "#/$defs/Surface"}, {"$ref": "#/$defs/MultiModelSurface"}]},
            "The surfaces, in the order of the pairs.",
        ),
        **_PROVENANCE,
    },
)


_CONTRAST = Kind(
    "The change of an average effect between two values of a feature.",
    {
        "feature": _text("Name of the feature."),
        "feature_unit": _FEATURE["feature_unit"],
        **_QUANTITY,
        "rule": _text("Rule of the region that the change is of; null for all rows.", null=True),
        "a": _value("The first value: a number, or a time or the label of a level as text."),
        "b": _value("The second value."),
        "value": _number(
            "The change from the first value to the second, in units of the quantity."
        ),
        "error": _number("Its standard error."),
        "lower": _number("Lower end of its interval."),
        "upper": _number("Upper end."),
        **_LEVEL,
        "p_value": _number("P-value of the hypothesis of no change."),
        "comparisons": _integer("Number of contrasts that interval and p-value are adjusted for."),
        "method": _text("Method of the interval."),
        "rows": _integer("Number of rows that the change is estimated from."),
        "exact": _flag("Whether the error is computed from all rows."),
        "notes": _texts("What limits the change."),
    },
)


_CHANGE = Kind(
    "The change of a quantity if features of every row move, or are set to a value.",
    {
        "change": _text('The move in words, such as "age + 1".'),
        **_QUANTITY,
        "moved": _list(
            _object(
                "One feature.",
                {
                    **_FEATURE,
                    "move": _choice("How it moves.", "step", "factor", "value", "level"),
                    "amount": _value("The step, factor, value or level; a step of times in days."),
                    "text": _text("The move in words."),
                    "outside": _integer("Rows whose value leaves the observed range."),
                    "missing": _integer("Rows without a value."),
                },
            ),
            "The features that move.",
        ),
        "value": _number("Mean change over the rows, in units of the quantity."),
        "std": _number("Standard deviation of the changes over the rows."),
        "error": _number("Standard error of `value`."),
        "df": _number("Degrees of freedom of the error."),
        "lower": _number("Lower end of the interval of `value`."),
        "upper": _number("Upper end."),
        **_LEVEL,
        "before": _number("Mean of the quantity at the rows."),
        "after": _number("Mean of the quantity after the move."),
        "increases": _number("Share of the rows at which the quantity increases."),
        "decreases": _number("Share of the rows at which the quantity decreases."),
        "already": _number("Share of the rows that have all values already."),
        "rows": _integer("Number of rows."),
        "missing": _integer(
            "Rows left out: a feature that moves by a step or a factor has no value."
        ),
        "outside": _object(
            "Rows that leave the data.",
            {
                "share": _number("Share of the rows with a value outside the observed range."),
                "rows": _integer("Number of these rows."),
                "far": _number("Share of the sampled rows that are far from the data."),
                "sampled": _integer("Number of sampled rows."),
                "others": _texts("The other features in which distances are measured."),
            },
        ),
        "regions_by": _text("What gives the regions; empty without regions."),
        "regions": _list(
            _object(
                "One region.",
                {
                    "region": _text("Its rule."),
                    "rows": _integer("Number of its rows."),
                    "share": _number("Share of the weight."),
                    "value": _number("Mean change."),
                    "std": _number("Standard deviation of the changes over its rows."),
                    "error": _number("Standard error of `value`."),
                    "df": _number("Degrees of freedom of the error."),
                    "lower": _number("Lower end of the interval of `value`."),
                    "upper": _number("Upper end."),
                    "increases": _number("Share of its rows at which the quantity increases."),
                    "decreases": _number("Share of its rows at which the quantity decreases."),
                    "outside": _number("Share of its rows with a value outside the range."),
                },
            ),
            "The regions.",
        ),
        **_PROVENANCE,
    },
    {
        "kept_rows": _object(
            "The kept rows; null if none are kept. With `rows=True`.",
            {
                "row": _integers("Index of each row in X."),
                "x": _list(_points("Values of one feature."), "The values of each moved feature."),
                "before": _numbers("The quantity at the rows."),
                "change": _numbers("The change of each row."),
                "region": _integers("Number of each row's region."),
                **_KEPT,
            },
            null=True,
        )
    },
)


_CHANGES = Kind(
    "Several named changes, from the same pass over the rows.",
    {
        "ranking": _ranking(
            "The changes, the largest mean change of either sign first.",
            {
                "name": _text("Its name."),
                "change": _text("The move in words."),
                "value": _number("Mean change over the rows, in units of the quantity."),
                "error": _number("Its standard error."),
                "std": _number("Standard deviation of the changes over the rows."),
                "rows": _integer("Number of rows."),
            },
        ),
        "changes": _by_name(_result("Change", "The change."), "The changes by name."),
        **_PROVENANCE,
    },
)


_MULTI_OUTPUT = Kind(
    "The results of several outputs of a model, such as classes.",
    {
        "outputs": _list(
            _object(
                "One output.",
                {
                    "output": _output("Its label: a class, or the number of a column."),
                    "result": {
                        "anyOf": [
                            {"$ref": f"#/$defs/{kind}"}
                            for kind in (
                                *("Effect", "Effects", "Surface", "Surfaces", "Importance"),
                                *("Regions", "RegionsByFeature", "Interactions", "VarianceShares"),
                                *("Change", "Changes"),
                                *("MultiModelEffect", "MultiModelEffects", "MultiModelSurface"),
                                *("MultiModelImportance", "MultiModelRegions"),
                                "MultiModelRegionsByFeature",
                            )
                        ],
                        "description": "Its result.",
                    },
                },
            ),
            "The outputs, in the order of the model.",
        ),
        **_PROVENANCE,
    },
)


_CONTRASTS = Kind(
    "Several contrasts.",
    {"contrasts": _list(_result("Contrast", "One contrast."), "The contrasts.")},
)


KINDS: Mapping[str, Kind] = {
    "Effect": _EFFECT,
    "Effects": _EFFECTS,
    "Surface": _SURFACE,
    "Importance": _IMPORTANCE,
    "LocalImportance": _LOCAL_IMPORTANCE,
    "Regions": _REGIONS,
    "RegionsByFeature": _REGIONS_BY_FEATURE,
    "Interactions": _INTERACTIONS,
    "VarianceShares": _VARIANCE_SHARES,
    "Diagnosis": _DIAGNOSIS,
    "MultiModelEffect": _MULTI_MODEL_EFFECT,
    "MultiModelEffects": _MULTI_MODEL_EFFECTS,
    "MultiModelSurface": _MULTI_MODEL_SURFACE,
    "MultiModelImportance": _MULTI_MODEL_IMPORTANCE,
    "MultiModelRegions": _MULTI_MODEL_REGIONS,
    "MultiModelRegionsByFeature": _MULTI_MODEL_REGIONS_BY_FEATURE,
    "Surfaces": _SURFACES,
    "MultiOutput": _MULTI_OUTPUT,
    "Change": _CHANGE,
    "Changes": _CHANGES,
    "Contrast": _CONTRAST,
    "Contrasts": _CONTRASTS,
    "Statistics": _STATISTICS,
    "Statistic": _STATISTIC,
    "NullDistribution": _NULL_DISTRIBUTION,
    "Checks": _CHECKS,
    "Check": _CHECK,
    "HeterogeneityTest": _HETEROGENEITY_TEST,
    "VarianceDecomposition": _VARIANCE_DECOMPOSITION,
    "Ranking": _RANKING,
}
"""Name of each kind → its keys."""


# --- the whole ------------------------------------------------------------------------------------


def json_schema() -> JsonSchema:
    """Return the JSON Schema (draft 2020-12) of what `to_dict` and `to_json` return.

    Returns
    -------
    dict
        ``$defs`` has one entry for each kind of result. Data of an older skedasis with the same ``"schema"`` number are
        valid, too.

    Examples
    --------
    >>> schema = json_schema()
    >>> schema["$defs"]["Effect"]["properties"]["importance"]["description"]
    'Standard deviation of the effect over the data.'
    """
    return {
        "$schema": DRAFT,
        "title": "Results of skedasis",
        "description": "What to_dict and to_json of a result return.",
        "type": "object",
        "properties": {
            "kind": {"enum": list(KINDS), "description": "The kind of the result."},
            "schema": {"const": SCHEMA, "description": "Version of this schema."},
            "version": _text("Version of skedasis that wrote the data."),
        },
        "required": ["kind", "schema", "version"],
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in KINDS],
        "$defs": {name: kind.schema(name) for name, kind in KINDS.items()},
    }
