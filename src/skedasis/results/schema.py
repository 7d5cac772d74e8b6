"""The JSON Schema of `to_dict` and `to_json`: which keys each kind of result has, and what they say."""

from __future__ import annotations

from dataclasses import is_dataclass

from skedasis.results.described import (
    FLAG,
    INTEGER,
    LABEL,
    NUMBER,
    PROVENANCE,
    TEXT,
    JsonSchema,
    Keys,
    described,
    import_results,
    is_base,
    listed,
    object_of,
    or_null,
    subclasses,
    summary_of,
)
from skedasis.results.export import SCHEMA, Exportable

DRAFT = "https://json-schema.org/draft/2020-12/schema"


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


def by_name(values: JsonSchema, text: str) -> JsonSchema:
    """Return the schema of an object whose keys are names."""
    return {"type": "object", "description": text, "additionalProperties": values}


def result(kind: str, text: str = "") -> JsonSchema:
    """Return the schema of another result."""
    return {"$ref": f"#/$defs/{kind}"} | ({"description": text} if text else {})


def results(kind: str, text: str) -> JsonSchema:
    """Return the schema of a list of other results."""
    return listed(result(kind), text)


# --- keys of several kinds ------------------------------------------------------------------------

QUANTITY: Keys = {
    "quantity": text("Name of the quantity that is explained."),
    "unit": or_null(text("Its unit.")),
}
FEATURE: Keys = {
    "feature": text("Name of the feature."),
    "feature_kind": choice("Kind of the feature.", "continuous", "ordinal", "nominal"),
    "feature_label": or_null(text("Its label for people; null without one.")),
    "feature_unit": or_null(text("Unit of the feature.")),
    "time": choice("Kind of its times.", "date", "datetime", "duration", "time", None),
}
METHOD: Keys = {"method": text('The method, such as "RHALE".')}
LEVEL: Keys = {"confidence_level": number("Confidence level of the intervals.")}
SCORE: Keys = {
    "heterogeneity_score": number("Heterogeneity score, in units of the quantity."),
    "heterogeneity_score_error": number("Its standard error."),
}
FEATURES: Keys = {"features": texts("Names of the features, in X's order.")}
RECORD: Keys = {"provenance": PROVENANCE}
AXIS: Keys = {
    "x": points("The points: numbers, or times as ISO 8601 text. Not for categorical features."),
    "levels": texts("Labels of the levels, for categorical features instead of `x`."),
    "rows": integers("Number of rows at each level."),
    "weight": numbers("Weight of the rows at each level."),
}
PAIR: Keys = {
    "features": texts("Names of the two features."),
    "axes": listed(object_of("One feature.", FEATURE, AXIS), "The two features with their points."),
    **QUANTITY,
    **METHOD,
}
KEPT: Keys = {
    "weight": or_null(numbers("Weights of the rows; null if all are 1.")),
    "exact": flag("Whether these are all rows instead of a sample."),
}


# --- the whole ------------------------------------------------------------------------------------


RESULT = "Result"
"""Name of the schema of a result of any kind."""


def kinds(package: str = "") -> dict[str, type[Exportable]]:
    """Return the classes of results of a package by kind, in the order of the alphabet; by default of all packages."""
    import_results()
    found: dict[str, type[Exportable]] = {}
    for kind in subclasses(Exportable):
        written = is_dataclass(kind) or issubclass(kind, tuple)
        if written and not is_base(kind) and kind.__module__.startswith(package):
            found.setdefault(kind.json_kind(), kind)
    return dict(sorted(found.items()))


def json_schema(package: str = "") -> JsonSchema:
    """Return the JSON Schema (draft 2020-12) of what `to_dict` and `to_json` return.

    Parameters
    ----------
    package : str
        The package whose results are described, such as "skedasis"; by default all that are imported.

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
    found = kinds(package)
    every = {"oneOf": [result(name) for name in found]}
    return {
        "$schema": DRAFT,
        "title": "Results of skedasis",
        "description": "What to_dict and to_json of a result return.",
        "type": "object",
        "properties": {
            "kind": choice("The kind of the result.", *found),
            "schema": {"const": SCHEMA, "description": "Version of this schema."},
            "version": text("Version of skedasis that wrote the data."),
        },
        "required": ["kind", "schema", "version"],
        **every,
        "$defs": {**{name: _schema(name, kind) for name, kind in found.items()}, RESULT: every},
    }


def _schema(name: str, kind: type[Exportable]) -> JsonSchema:
    keys, optional = kind._keys()  # noqa: SLF001 - declared in `export`
    const: JsonSchema = {"const": name, "description": "The kind of the result."}
    return object_of(summary_of(kind), {"kind": const, **keys}, optional)
