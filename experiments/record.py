"""Stored results of experiments (JSON and figures), and ``RESULTS.md``, which is generated from them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table

PAPERS = {
    "uale": "UALE: uncertainty-aware accumulated local effects",
    "rhale": "RHALE: robust and heterogeneity-aware accumulated local effects",
    "draft": "Uncertainty of ALE (draft)",
    "entropy": "Model-agnostic variable importance for predictive uncertainty",
    "ale_vs_pdp": "Comparison of ALE and PDP",
}
_VERDICT = {True: "holds", False: "**does not hold**", None: "cannot be decided"}
_DOTS = 110
_COLOURS = 64


@dataclass(frozen=True)
class Record:
    """The results of one experiment, without its figures."""

    paper: str
    name: str
    title: str
    source: str
    settings: str
    claims: list[Claim]
    tables: list[Table]
    pictures: list[tuple[str, str]]
    seconds: float
    version: str

    @classmethod
    def of(cls, experiment: Experiment, outcome: Outcome, seconds: float) -> Record:
        """Return the record of a run."""
        return cls(
            experiment.paper,
            experiment.name,
            experiment.title,
            experiment.source,
            outcome.settings,
            list(outcome.claims),
            list(outcome.tables),
            [(picture.name, picture.caption) for picture in outcome.pictures],
            round(seconds, 1),
            sd.__version__,
        )

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a stored record."""
        kept = json.loads(path.read_text("utf-8"))
        kept["claims"] = [Claim(**claim) for claim in kept["claims"]]
        kept["tables"] = [Table(**table) for table in kept["tables"]]
        kept["pictures"] = [(name, caption) for name, caption in kept["pictures"]]
        return cls(**kept)

    def keep(self, out: Path, pictures: Sequence[Picture]) -> None:
        """Write the record, and its figures as PNG and SVG, to the folder of the paper."""
        place = out / self.paper
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (place / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")
        for picture in pictures:
            drawn(picture, place)

    def plain(self) -> str:
        """Return the text for a terminal."""
        parts = [f"{self.title} ({self.source}), {self.seconds:.1f} s of processor time"]
        parts += [f"{table.title}\n{table.markdown()}" for table in self.tables]
        return "\n\n".join([*parts, "\n".join(f"- {claim}" for claim in self.claims)])

    def markdown(self) -> str:
        """Return the section of RESULTS.md."""
        command = f"`python -m experiments.{self.paper}.{self.name}`"
        parts = [f"### {self.title}", f"{self.source}; {command}, {self.seconds:.0f} s."]
        parts += [_plain(self.settings)] if self.settings else []
        parts.append("\n".join(_bullet(claim) for claim in self.claims))
        for name, caption in self.pictures:
            parts.append(f"![{caption}](results/{self.paper}/{name}.png)")
        for table in self.tables:
            # Folded: most readers do not need the numbers.
            head = f'<details markdown="1"><summary>{escape(table.title)}</summary>'
            parts += [head, table.markdown(), "</details>"]
        return "\n\n".join(parts)


def drawn(picture: Picture, place: Path) -> None:
    """Write a figure as a small PNG for the page and as SVG for print."""
    import matplotlib as mpl
    from PIL import Image

    buffer = io.BytesIO()
    picture.figure.savefig(buffer, format="png", dpi=_DOTS)
    image = Image.open(buffer).convert("RGB").quantize(_COLOURS)
    image.save(place / f"{picture.name}.png", optimize=True)
    # No date and no random names, so that the same figure gives the same file.
    with mpl.rc_context({"svg.hashsalt": picture.name, "svg.fonttype": "none"}):
        path = place / f"{picture.name}.svg"
        picture.figure.savefig(path, format="svg", metadata={"Date": None})
    # More than two decimals are invisible, and would be a third of the file.
    text = re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", path.read_text("utf-8"))
    path.write_text(text, encoding="utf-8")


def results(records: Sequence[Record]) -> str:
    """Return RESULTS.md."""
    claims = [claim for record in records for claim in record.claims]
    holding = sum(claim.holds is True for claim in claims)
    refuted = sum(claim.holds is False for claim in claims)
    seconds = sum(record.seconds for record in records)
    versions = ", ".join(sorted({record.version for record in records}))
    head = (
        f"Made by `python -m experiments` with skedasis {versions}: {len(records)} experiments, "
        f"{seconds / 60:.0f} minutes of processor time. Of {len(claims)} claims {holding} hold, {refuted} do not, "
        f"{len(claims) - holding - refuted} cannot be decided. Each claim that holds is also a test "
        "(`tests/experiments`). “Deviation” means standard deviation; “Ours” marks statements that are not from the "
        "papers. "
        "[Bins by likelihood](results/bins.md) is an additional experiment."
    )
    parts = ["# The papers, reproduced", head]
    papers = [
        (paper, title, [r for r in records if r.paper == paper]) for paper, title in PAPERS.items()
    ]
    papers = [(paper, title, own) for paper, title, own in papers if own]
    if refuted:
        parts += ["## What does not hold", "The sections below give the numbers and the reasons."]
        parts += [_refuted(title, own) for _, title, own in papers]
    for _, title, own in papers:
        parts += [f"## {title}", _contents(own), *(record.markdown() for record in own)]
    return "\n\n".join(parts) + "\n"


def _refuted(title: str, records: Sequence[Record]) -> str:
    """Return the claims of a paper that do not hold, by experiment."""
    lines: list[str] = []
    for record in records:
        refuted = [claim for claim in record.claims if claim.holds is False]
        if refuted:
            lines.append(f"- {_linked(record)} ({record.source})")
            lines += [f"    - {_plain(claim.says)}" for claim in refuted]
    return "\n".join([f"**{title}**", "", *lines]) if lines else ""


def _linked(record: Record) -> str:
    """Return an experiment's title as a link to its section."""
    words = re.sub(r"[^\w\s-]", "", record.title.lower())
    anchor = re.sub(r"[\s-]+", "-", words.strip())
    return f"[{record.title}](#{anchor})"


def _plain(text: str) -> str:
    """Return text with escaped asterisks."""
    return text.replace("*", r"\*")


def _contents(records: Sequence[Record]) -> str:
    """Return a table of the experiments of a paper: their sources, and how many of their claims hold."""
    rows = [
        [
            _linked(record),
            record.source,
            f"{sum(claim.holds is True for claim in record.claims)} of {len(record.claims)}",
        ]
        for record in records
    ]
    return Table("", ("experiment", "source", "claims that hold"), rows).markdown()


def _bullet(claim: Claim) -> str:
    why = f" {claim.why}" if claim.why else ""
    verdict = _VERDICT[claim.holds]
    return f"- *{_plain(claim.says)}*: {verdict}. {_plain(claim.numbers + why)}"
