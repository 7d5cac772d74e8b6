"""The keys of computed documents: the vocabulary of their schemas, and the keys that several kinds of results have."""

from __future__ import annotations

from skedasis.results.described import (
    FLAG,
    INTEGER,
    LABEL,
    NUMBER,
    PROVENANCE,
    TEXT,
    USUAL_TEXTS,
    JsonSchema,
    Keys,
    described,
    listed,
    object_of,
    or_null,
)

# --- keys of computed documents -------------------------------------------------------------------


def number(text: str) -> JsonSchema:
    """Return the schema of a number that may be unknown."""
    return described(NUMBER, text)


def integer(text: str) -> JsonSchema:
    """Return the schema of an integer."""
    return described(INTEGER, text)


def text(text: str) -> JsonSchema:
    """Return the schema of a text."""
    return described(TEXT, text)


def flag(text: str) -> JsonSchema:
    """Return the schema of a truth value."""
    return described(FLAG, text)


def value(text: str) -> JsonSchema:
    """Return the schema of a number, or of a time or a level as text."""
    return {"type": ["number", "string"], "description": text}


def label(text: str) -> JsonSchema:
    """Return the schema of the label of an output."""
    return described(LABEL, text)


def choice(text: str, *values: str | None) -> JsonSchema:
    """Return the schema of one of these values."""
    return {"enum": list(values), "description": text}


def numbers(text: str) -> JsonSchema:
    """Return the schema of a list of numbers."""
    return listed(NUMBER, text)


def integers(text: str) -> JsonSchema:
    """Return the schema of a list of integers."""
    return listed(INTEGER, text)


def texts(text: str) -> JsonSchema:
    """Return the schema of a list of texts."""
    return listed(TEXT, text)


def table(text: str, items: JsonSchema = NUMBER) -> JsonSchema:
    """Return the schema of a list of rows of numbers."""
    return listed(listed(items), text)


def interval(text: str) -> JsonSchema:
    """Return the schema of the two ends of an interval."""
    return {**numbers(text), "minItems": 2, "maxItems": 2}


def points(text: str) -> JsonSchema:
    """Return the schema of a list of numbers, or of times or labels as text."""
    return listed({"type": ["number", "string", "null"]}, text)


def lines(text: str, of_one: str, keys: Keys) -> JsonSchema:
    """Return the schema of a list of objects."""
    return listed(object_of(of_one, keys), text)


RESULT = "Result"
"""Name of the schema of a result of any kind."""


def result(kind: str, text: str = "") -> JsonSchema:
    """Return the schema of another result."""
    return {"$ref": f"#/$defs/{kind}"} | ({"description": text} if text else {})


def results(kind: str, text: str) -> JsonSchema:
    """Return the schema of a list of other results."""
    return listed(result(kind), text)


# --- keys of several kinds ------------------------------------------------------------------------

QUANTITY: Keys = {
    "quantity": text(USUAL_TEXTS["quantity"]),
    "unit": or_null(text(USUAL_TEXTS["unit"])),
}
FEATURE: Keys = {
    "feature": text(USUAL_TEXTS["feature"]),
    "feature_kind": choice("Kind of the feature.", "continuous", "ordinal", "nominal"),
    "feature_label": or_null(text("Its label for people; null without one.")),
    "feature_unit": or_null(text(USUAL_TEXTS["feature_unit"])),
    "time": choice("Kind of its times.", "date", "datetime", "duration", "time", None),
}
METHOD: Keys = {"method": text(USUAL_TEXTS["method"])}
LEVEL: Keys = {"confidence_level": number(USUAL_TEXTS["confidence_level"])}
SCORE: Keys = {
    "heterogeneity_score": number("Heterogeneity score, in units of the quantity."),
    "heterogeneity_score_error": number(USUAL_TEXTS["std_error"]),
}
FEATURES: Keys = {"features": texts(USUAL_TEXTS["features"])}
RECORD: Keys = {"provenance": PROVENANCE}
AXIS: Keys = {
    "x": points("The points: numbers, or times as ISO 8601 text. Not for categorical features."),
    "levels": texts("Labels of the levels, for categorical features instead of `x`."),
    "rows": integers("Number of rows at each level."),
    "weight": numbers("Weight of the rows at each level."),
}
PAIR: Keys = {
    "features": texts(USUAL_TEXTS["feature_0"]),
    "axes": listed(object_of("One feature.", FEATURE, AXIS), "The two features with their points."),
    **QUANTITY,
    **METHOD,
}
KEPT: Keys = {
    "weight": or_null(numbers("Weights of the rows; null if all are 1.")),
    "exact": flag("Whether these are all rows instead of a sample."),
}
