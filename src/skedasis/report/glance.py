"""What to look at first, in sentences: each one stands there only for its cause."""

from __future__ import annotations

from collections.abc import Sequence

from skedasis.plots.scales import count, number
from skedasis.report.numbers import listed, named
from skedasis.report.story.told import Told

CALIBRATED = 0.05
"""Probabilities that are farther off than that, on average, are spoken of."""
WORTH = 0.01
"""Of the variance: pairs that explain less are not."""


def quality(told: Told) -> list[str]:
    """Say how well the model predicts, where labels are given."""
    found = told.quality
    if found is None:
        return []
    off = found.calibration_error > CALIBRATED
    return [found.said[0], *found.said[1:2]] if off else [found.said[0]]


def ledger(told: Told) -> list[str]:
    """Say how much the effects add up to, without and with pairs."""
    found = told.ledger
    if found is None:
        return []
    return [
        " ".join(found.said[:-1] if found.rest else found.said)
    ]  # the rest stands below the figure


def together(told: Told) -> list[str]:
    """Name the pair that interacts most strongly, if that is worth a sentence."""
    shares = {} if told.ledger is None else told.ledger.pairs
    known = [s for s in told.together.strengths if shares.get(s.features, 0.0) >= WORTH]
    if not known:
        return []
    (a, b), strength = known[0].features, known[0].strength
    top = max(e.importance for e in told.rhale.values())
    text = f"Of the computed pairs, {named(a)} and {named(b)} interact most strongly"
    return [
        f"{text}: interaction strength {number(strength)}, where the largest importance is {number(top)}."
    ]


def trust(told: Told) -> list[str]:
    """Name the features that have warnings."""
    warned = {name: len(flags.warnings) for name, flags in told.trust.items() if flags.warnings}
    if not warned:
        return []
    total, most = sum(warned.values()), sorted(warned, key=lambda name: -warned[name])
    warnings = "warning" if total == 1 else count(total, "warning")
    return [f"Check the {warnings} on {listed(most, 5)}."]


def unsure(told: Told) -> list[str]:
    """Say what the predictive uncertainty depends on, and whose importance understates or misleads."""
    found = told.unsure
    if found is None:
        return []
    moving = [r.feature for r in found.rhale.ranking() if r.importance > 0]
    said = [f"Predictive uncertainty depends most on {listed(moving[:3])}."] if moving else []
    if found.diagnosis is not None:
        for kind, text in (
            (
                "shared",
                "These features share information with others, so they matter more than their importance says",
            ),
            ("misleading", "The model would predict better without the values of"),
        ):
            names = [v.feature for v in found.diagnosis.verdicts if v.kind == kind]
            said += _named(text, names, kind)
    return said


def _named(text: str, names: Sequence[str], kind: str) -> list[str]:
    if not names:
        return []
    return [f"{text}: {listed(names, 5)}." if kind == "shared" else f"{text} {listed(names, 5)}."]
