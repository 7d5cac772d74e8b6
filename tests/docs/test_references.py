"""References: citations exist, BibTeX and the list agree, docstrings give the right years."""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import combining, normalize

import pytest

from tools.pages import ROOT, fences

DOCS = ROOT / "docs"
LIST = DOCS / "explanation" / "references.md"
NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "book": {"author", "title", "publisher", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title"},
    "unpublished": {"author", "title", "note"},
}
"""What BibTeX's own styles ask for; `misc` asks for nothing."""
ACCENTS = {"'": "\u0301", '"': "\u0308", "~": "\u0303"}


@dataclass(frozen=True)
class Entry:
    kind: str
    fields: dict[str, str]

    @property
    def first_author(self) -> str:
        """Family name, with LaTeX escapes converted to Unicode."""
        return plain(self.fields["author"].split(" and ")[0].split(",")[0])


def parsed(text: str) -> dict[str, Entry]:
    """Parse BibTeX: comments between entries, values in braces."""
    found: dict[str, Entry] = {}
    at = 0
    text = re.sub(r"^%.*$", "", text, flags=re.MULTILINE)
    while head := re.compile(r"\s*@(\w+)\{([\w-]+),\s*").match(text, at):
        kind, key = head.groups()
        assert key not in found, f"{key} is there twice"
        fields: dict[str, str] = {}
        at = head.end()
        while field := re.compile(r"\s*(\w+)\s*=\s*(?=\{)").match(text, at):
            value, at = braced(text, field.end())
            assert field[1].lower() not in fields, f"{key}: {field[1]} is there twice"
            fields[field[1].lower()] = " ".join(value.split())
            at = re.compile(r",?\s*").match(text, at).end()
        assert text[at : at + 1] == "}", f"{key}: {text[at : at + 40]!r}"
        found[key] = Entry(kind, fields)
        at += 1
    assert not text[at:].strip(), text[at : at + 60]
    return found


def braced(text: str, start: int) -> tuple[str, int]:
    """Return the text between balanced braces, and where it ends."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at], at + 1
    raise AssertionError(f"no closing brace: {text[start : start + 60]!r}")


def plain(value: str) -> str:
    r"""Return a value as displayed: ``{\"o}`` is ö, braces and escapes are removed.

    Examples
    --------
    >>> plain('K{\\"o}nig and {ALE}')
    'König and ALE'
    """
    value = re.sub(r"\{\\(['\"~])(\w)\}", lambda m: normalize("NFC", m[2] + ACCENTS[m[1]]), value)
    return value.replace(r"{\o}", "ø").replace(r"\&", "&").replace("{", "").replace("}", "")


def bare(name: str) -> str:
    """Return a name without accents."""
    return "".join(c for c in normalize("NFKD", name) if not combining(c))


def told(text: str) -> str:
    """Return a listed line with normalized white space."""
    return " ".join(text.split())


ENTRIES = parsed((DOCS / "references.bib").read_text("utf-8"))


def listed() -> dict[str, str]:
    """Return the lines of the list by key."""
    text = LIST.read_text("utf-8")
    items = re.findall(
        r'^- <a id="([\w-]+)"></a>(.*?)(?=^- |^#|\Z)', text, re.MULTILINE | re.DOTALL
    )
    return {key: told(line) for key, line in items}


def test_the_reader_of_bibtex_objects():
    assert plain(ENTRIES["montiel2019"].fields["author"]).startswith("Montiel Olea, José Luis")
    with pytest.raises(AssertionError, match="twice"):
        parsed("@misc{a,\n title = {x}\n}\n@misc{a,\n title = {y}\n}")
    with pytest.raises(AssertionError, match="no closing brace"):
        parsed("@misc{a,\n title = {x\n")
    with pytest.raises(AssertionError, match="here"):
        parsed("@misc{a,\n title = {x} here\n}")


@pytest.mark.parametrize("key", sorted(ENTRIES))
def test_every_entry_is_valid(key):
    entry = ENTRIES[key]
    assert entry.kind in NEEDED
    assert NEEDED[entry.kind] <= set(entry.fields)
    assert all(entry.fields.values())
    assert re.fullmatch(r"(1[89]|20)\d\d", entry.fields.get("year", "2000"))
    assert re.fullmatch(r"\d+--\d+", entry.fields.get("pages", "1--2"))
    assert re.fullmatch(r"10\.\d{4,}/\S+", entry.fields.get("doi", "10.1000/1"))
    assert re.fullmatch(r"\d{4}\.\d{5}", entry.fields.get("eprint", "0000.00000"))
    for name in entry.fields["author"].split(" and "):
        assert name.startswith("{") or name.count(",") == 1, name
    # A key consists of author and year.
    year = entry.fields.get("year", "")
    assert not re.search(r"\d{4}", key) or year in key
    family = re.sub(r"\W", "", bare(entry.first_author)).lower()
    assert "year" not in entry.fields or key.startswith(family[:5]) or key[:5] in family


@pytest.mark.parametrize("key", sorted(ENTRIES))
def test_the_list_says_the_same(key):
    entry, line = ENTRIES[key], listed()[key]
    assert entry.first_author in line
    assert plain(entry.fields["title"]) in line
    for part in ("year", "volume", "eprint", "pages"):
        if part == "volume" and entry.kind == "inproceedings":
            continue
        assert entry.fields.get(part, "").replace("--", "–") in line, part
    assert set(re.findall(r"doi:(10\.\S+?)[.,](?:\s|$)", line)) <= {entry.fields.get("doi")}
    count = len(entry.fields["author"].split(" and "))
    assert len(re.findall(r"[A-Z]\.(?:-?[A-Z]\.| [A-Z]\.)*(?=[,\s])", line.split("(")[0])) in {
        count,
        0,
    }


def test_the_list_and_the_file_hold_the_same():
    assert set(listed()) == set(ENTRIES)


def test_what_pages_cite_is_there():
    cited: dict[str, str] = {}
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        for key in re.findall(r"references\.md#([\w-]+)", page.read_text("utf-8")):
            cited[key] = page.name
    headings = {
        re.sub(r"\s+", "-", h.lower())
        for h in re.findall(r"^## (.+)$", LIST.read_text("utf-8"), re.MULTILINE)
    }
    assert len(cited) > 10
    assert not {
        key: page for key, page in cited.items() if key not in ENTRIES and key not in headings
    }


def test_bibtex_to_copy_is_that_of_the_file():
    own: dict[str, Entry] = {}
    for block in fences(LIST.read_text("utf-8")):
        if block.lexemes["language"] == "bibtex":
            own |= parsed(block.lexemes["source"])
    assert {"skedasis", "gkolemis2023rhale", "apley2020", "wood2024"} <= set(own)
    assert all(entry == ENTRIES[key] for key, entry in own.items() if key != "skedasis")


def test_docstrings_give_the_years_of_their_sources():
    names = {
        bare(e.first_author).split()[-1]: set() for e in ENTRIES.values() if "year" in e.fields
    }
    for entry in ENTRIES.values():
        if "year" in entry.fields:
            names[bare(entry.first_author).split()[-1]].add(entry.fields["year"])
    said, wrong = set(), []
    pattern = re.compile(
        rf"\b({'|'.join(map(re.escape, names))})\b(?:[^.;()\d]|et al\.)*\(?((?:18|19|20)\d\d)\b"
    )
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name, year in pattern.findall(bare(" ".join(path.read_text("utf-8").split()))):
            said.add((name, year))
            if year not in names[name]:
                wrong.append(f"{path.name}: {name} {year}")
    assert not wrong
    assert {("Apley", "2020"), ("Chan", "1983"), ("Okoli", "2023"), ("Holm", "1979")} <= said


def test_citation_file_agrees_with_the_bibtex():
    yaml = pytest.importorskip("yaml")
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    by_title = {plain(e.fields["title"]).lower(): e for e in ENTRIES.values()}
    for reference in cff["references"]:
        entry = by_title[reference["title"].lower()]
        assert reference.get("doi") == entry.fields.get("doi")
        assert str(reference.get("year", "")) == entry.fields.get("year", "")
        families = [a.get("family-names", a.get("name")) for a in reference["authors"]]
        assert families == [plain(n).split(",")[0] for n in entry.fields["author"].split(" and ")]
