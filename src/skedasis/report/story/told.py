"""What a report tells, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skedasis.plots.svg.overview import Place
from skedasis.report.story.asked import Pass
from skedasis.report.story.ledger import Ledger
from skedasis.report.story.quality import Quality
from skedasis.report.story.together import Together
from skedasis.report.story.unsure import Unsure
from skedasis.results.checks.check import Trust
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface

Code = Mapping[tuple[str, ...], str]
"""Code by what it makes: a kind of figure, and the feature or features of it; see `skedasis.report.story.codes`."""


@dataclass(frozen=True, eq=False)
class Told:
    """What there is to tell of one model, or of one of its outputs.

    Parameters
    ----------
    name : str
        The user's name for it; of one of several outputs with that behind it.
    model, quantity, axis : str
        What the model is; what is explained of it, and that with its unit.
    rhale, ale, pdp : Effects
        Of all features. Nominal features, which have no RHALE, have their ALE in its place. All have the heterogeneity
        scores of `rhale`: a score does not depend on the method.
    warnings : tuple of str
        What the methods complained of.
    note : str
        One sentence of the user's, such as how well the model predicts.
    passes : tuple of Effects or Pass
        What the model was asked, for its provenance. What was asked for all outputs of a model stands with the first.
    mplot : Effects
        M-plots of all features: what is seen in the data, whatever brings it about.
    trust : dict of str to Trust
        What there is to object to each feature's RHALE.
    places : tuple of Place
        Importance and heterogeneity score of each feature with intervals, the most important first.
    quality : Quality, optional
        How well the model predicts the labels.
    ledger : Ledger, optional
        How much of the quantity's variance the effects add up to.
    together : Together
        The pairs that interact most strongly.
    unsure : Unsure, optional
        What makes the model unsure; with the first of several outputs.
    reasons : dict of str to str
        Why "quality", "ledger" or "unsure" is not there.
    code : dict
        What makes each figure again.
    """

    name: str
    model: str
    quantity: str
    axis: str
    rhale: Effects
    ale: Effects
    pdp: Effects
    warnings: tuple[str, ...] = ()
    note: str = ""
    passes: tuple[Effects | Pass, ...] = ()
    mplot: Effects = field(default_factory=lambda: Effects({}))
    trust: Mapping[str, Trust] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    quality: Quality | None = None
    ledger: Ledger | None = None
    together: Together = field(default_factory=Together)
    unsure: Unsure | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    code: Code = field(default_factory=dict)

    @property
    def pairs(self) -> tuple[Surface, ...]:
        """Return the surfaces of the pairs that interact most strongly, strongest first."""
        return self.together.surfaces


@dataclass(frozen=True, eq=False)
class Story:
    """What there is to tell.

    Parameters
    ----------
    told : tuple of Told
        One a model, or one an output.
    rows : int
        Rows that were explained on.
    columns : int
        Columns of X.
    features : tuple of str
        Those that are explained, the most important first: by the largest share of a model's importances.
    left_out : tuple of str
        Features of more levels than can be looked at.
    remarks : tuple of str
        Cautions about the data.
    with_rows : bool
        Whether results keep rows and individual curves, and pictures show them.
    data : tuple of str
        Sentences that describe the data, for the top of the page.
    """

    told: tuple[Told, ...]
    rows: int
    columns: int
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    with_rows: bool = True
    data: tuple[str, ...] = ()
