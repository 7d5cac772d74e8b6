"""Write the reference page of the JSON of results, and its schema as a file, from `skedasis.results.schema`.

python -m tools.schema_page           # say whether they are up to date
python -m tools.schema_page --write   # write docs/reference/json.md and docs/reference/results.schema.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skedasis.results.schema import RESULT, json_schema

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "json.md"
FILE = ROOT / "docs" / "reference" / "results.schema.json"
BEGIN = "<!-- the tables below are written by tools/schema_page.py -->"

Schema = Mapping[str, Any]


def file_text() -> str:
    """Return the schema as JSON."""
    return json.dumps(json_schema("skedasis"), indent=1, ensure_ascii=False) + "\n"


def described() -> Mapping[str, Schema]:
    """Return the schema of each kind of result."""
    defined: Any = json_schema("skedasis")["$defs"]
    return {kind: schema for kind, schema in defined.items() if kind != RESULT}


def tables() -> str:
    """Return a section for each kind of result, with a table of its keys."""
    lines: list[str] = []
    for kind, schema in described().items():
        lines += [f"## {kind}", "", f"{schema['description']}", ""]
        lines += ["| key | type | value |", "|---|---|---|"]
        lines += [f"| `{key}` | {type_of(part)} | {words} |" for key, part, words in rows(schema)]
        lines += [""]
    return "\n".join(lines)


def rows(schema: Schema, prefix: str = "") -> Iterator[tuple[str, Schema, str]]:
    """Yield each key with its path, its schema and its description; keys of lists have `[]` in their path."""
    required = schema["required"]
    for key, part in schema["properties"].items():
        if key == "kind" and "const" in part:
            continue
        path = f"{prefix}{key}"
        optional = "" if key in required else " (optional)"
        yield path, part, part["description"] + optional
        inner, mark = part, "."
        if "items" in part:
            inner, mark = part["items"], "[]."
        if isinstance(inner.get("required"), list):
            yield from rows(inner, f"{path}{mark}")


def type_of(schema: Schema) -> str:
    """Return the type of a value in words."""
    if "$ref" in schema:
        kind = schema["$ref"].rsplit("/", 1)[1]
        if kind == RESULT:
            return "any result"
        return f"[{kind}](#{kind.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(part) for part in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join("null" if v is None else f'"{v}"' for v in schema["enum"])
    names = _names(schema)
    if "array" in names and "items" in schema:
        names[names.index("array")] = f"list of {_plural(schema['items'])}"
    if "object" in names and isinstance(schema.get("additionalProperties"), dict):
        names[names.index("object")] = f"object of {_plural(schema['additionalProperties'])}"
    return " or ".join(names)


def _plural(schema: Schema) -> str:
    if "$ref" in schema or "anyOf" in schema:
        return type_of(schema)
    if schema["type"] == "object":
        return "objects"
    if schema["type"] == "array":
        return "lists of " + _plural(schema["items"])
    plural = {"array": "lists"}
    return " or ".join(plural.get(name, f"{name}s") for name in _names(schema) if name != "null")


def _names(schema: Schema) -> list[str]:
    """Return the types of a value. Every number may be null, as the page says."""
    types = schema["type"]
    names = [types] if isinstance(types, str) else list(types)
    return [n for n in names if n != "null" or "number" not in names]


def page_text(page: str) -> str:
    """Return a page with its tables renewed: everything below the mark."""
    head, mark, _ = page.partition(BEGIN)
    return f"{head}{mark}\n\n{tables()}"


def main() -> int:
    """Write the files, or say whether they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    wanted = {PAGE: page_text(PAGE.read_text("utf-8")), FILE: file_text()}
    old = [p for p, text in wanted.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in old:
        if write:
            path.write_text(wanted[path], "utf-8")
        print(f"{path.relative_to(ROOT)}: {'written' if write else 'not up to date'}")
    return 1 if old and not write else 0


if __name__ == "__main__":
    raise SystemExit(main())
