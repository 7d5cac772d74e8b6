"""How a report was made: passes, where slopes came from, what was walked, and by which versions."""

from __future__ import annotations

from dataclasses import dataclass

from skedasis._types import Json
from skedasis.report.numbers import settings
from skedasis.report.story.told import Story, Told


def origins(told: Told) -> list[tuple[str, ...]]:
    """Return how each pass was made: method, settings, model rows, calls, slope, check and score rows, seconds."""
    lines: list[tuple[str, ...]] = []
    for made in told.passes:
        p = made.provenance
        lines.append(
            (
                _method(told, p),
                settings(p["settings"]),
                f"{p['model_rows']:,}",
                f"{p['model_calls']:,}",
                f"{p['slope_rows']:,}",
                f"{p['check_rows']:,}",
                f"{p.get('score_rows', 0):,}",
                f"{p['seconds']:.2f}",
            )
        )
    return lines


def _method(told: Told, made: Json) -> str:
    """Return what was done, and to what where that is not what is explained."""
    of = str(made.get("quantity", ""))
    other = of not in ("", str(told.rhale.provenance["quantity"])) and made["method"] != "diagnose"
    return f"{made['method']} of {of}" if other else str(made["method"])


def slopes_from(told: Told) -> list[str]:
    """Return where the local effects of RHALE, and of what stands in its place, came from; each source once."""
    sources = [str(e.provenance.get("local_effects", "")) for e in told.rhale.values()]
    return [s for s in dict.fromkeys(sources) if s]


def walked(told: Told) -> str:
    """Return whether an ensemble of trees was walked, or why it was called; nothing of other models."""
    said = next((str(e.provenance["trees"]) for e in told.passes if "trees" in e.provenance), "")
    return f" Trees: {said}." if said else ""


def versions(story: Story) -> str:
    """Return the versions of what computed the numbers."""
    known = story.told[0].rhale.provenance["versions"]
    return ", ".join(f"{name} {version}" for name, version in known.items())


@dataclass(frozen=True)
class Cost:
    """What a story cost, all models together.

    Parameters
    ----------
    model_rows, check_rows, slope_rows, score_rows, model_calls : int
    seconds : float
    exact : bool
        Whether nothing of it is approximate.
    """

    model_rows: int
    check_rows: int
    slope_rows: int
    score_rows: int
    model_calls: int
    seconds: float
    exact: bool


def cost(story: Story) -> Cost:
    """Return what a story cost; a pass over several outputs of a model counts once.

    Examples
    --------
    >>> import numpy as np
    >>> from skedasis.report.story import gather
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> cost(gather(lambda X: X[:, 0], X, progress=False)).exact
    True
    """
    made = [p.provenance for told in story.told for p in told.passes]
    rows, checks, slopes, scores, calls = (
        sum(int(p.get(name, 0)) for p in made)
        for name in ("model_rows", "check_rows", "slope_rows", "score_rows", "model_calls")
    )
    seconds = sum(float(p.get("seconds", 0.0)) for p in made)
    exact = all(p.get("exact", True) for p in made)
    return Cost(rows, checks, slopes, scores, calls, seconds, exact)
