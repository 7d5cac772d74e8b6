"""The JSON Schema of `to_dict` and `to_json`: which keys each kind of result has, and what they say."""

from __future__ import annotations

from dataclasses import is_dataclass

from skedasis.results.described import (
    JsonSchema,
    is_base,
    is_ours,
    object_of,
    subclasses,
    summary_of,
)
from skedasis.results.export import SCHEMA, Exportable
from skedasis.results.json_keys import RESULT, choice, result, text
from skedasis.results.saved_fields import import_results

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def kinds(package: str = "") -> dict[str, type[Exportable]]:
    """Return the classes of results of a package by kind, in the order of the alphabet; by default of all packages."""
    import_results()
    found: dict[str, type[Exportable]] = {}
    for kind in sorted(subclasses(Exportable), key=is_ours, reverse=True):
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
