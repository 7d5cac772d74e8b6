"""How a report was made: passes, where slopes came from, what was walked, and by which versions."""

from __future__ import annotations

from skedasis.report.numbers import settings
from skedasis.report.story import Story, Told


def origins(told: Told) -> list[tuple[str, ...]]:
    """Return how each pass was made: method, settings, model rows, calls, slope rows, seconds."""
    lines: list[tuple[str, ...]] = []
    for effects in told.passes:
        p = effects.provenance
        lines.append(
            (
                p["method"],
                settings(p["settings"]),
                f"{p['model_rows']:,}",
                f"{p['model_calls']:,}",
                f"{p['slope_rows']:,}",
                f"{p['check_rows']:,}",
                f"{p['seconds']:.2f}",
            )
        )
    return lines


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
