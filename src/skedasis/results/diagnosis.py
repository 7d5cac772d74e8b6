"""`Diagnosis`: features classified by Likelihood-PFI and Entropy-PFI (entropy_importance, sec. 3.5)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from skedasis._arguments import check_name
from skedasis._numbers import number_or_zero
from skedasis._types import Floats, Json
from skedasis.results import json_keys, operations
from skedasis.results.described import Documented, Keys, content_of, keys_of, listed, object_of
from skedasis.results.display import SavedResult, align_columns
from skedasis.results.export import Content, ExportOptions
from skedasis.results.importance import Importance, ImportanceRank
from skedasis.results.sentences import (
    DIAGNOSIS,
    MISLEADING,
    NOWHERE_UNSURE,
    SHARED,
    UNDECIDED,
    tell,
)
from skedasis.results.signatures import takes_figure_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import DiagnosisKeywords, DiagnosisViewKeywords

VerdictKind = Literal[
    "unused",
    "no effect",
    "little effect",
    "independent",
    "shared",
    "uninformative",
    "informative",
    "undecided",
    "misleading",
]
"""Kinds of verdicts. `skedasis.diagnose` documents which measures lead to which kind."""

LEAST_NATS = 1e-4
"""Means below this are small in any case: a likelihood ratio of 1.0001 per row. Nats have no unit."""


def same_everywhere(entropy: Importance) -> bool:
    """Return whether the entropy of the model is constant over the rows that are known."""
    if (np.abs(entropy.values) > LEAST_NATS).any():
        return False
    rows = entropy.local
    if rows is None:
        return True
    largest = max(np.ptp(rows.before), np.abs(rows.after - rows.before[:, None]).max(initial=0.0))
    return bool(largest <= LEAST_NATS)


@dataclass(frozen=True)
class Verdict(Documented):
    """The verdict on one feature."""

    feature: str
    kind: VerdictKind
    """Kind of the verdict."""
    text: str
    """The verdict as a sentence, with the numbers that it is based on."""
    next: str
    """The recommended next step."""


@dataclass(frozen=True)
class Finding(Documented):
    """All measures of one feature, with its verdict."""

    feature: str
    likelihood: ImportanceRank
    entropy: ImportanceRank
    """Likelihood-PFI and Entropy-PFI, in nats."""
    r2_others: float
    """Out-of-bag R² of a random forest that predicts the feature from the others."""
    r2_with_target: float
    """The same from the others and the label."""
    partners: tuple[str, ...]
    """The features that it shares most information with."""
    verdict: Verdict


_MORE = (
    *("r2_others", "r2_with_target", "partners", "verdict.kind as verdict"),
    *("verdict.text as text", "verdict.next as next"),
)
"""What documents say of a feature, beside the two importances."""


@dataclass(frozen=True, eq=False)
class Diagnosis(SavedResult):
    """Features classified by Likelihood-PFI and Entropy-PFI, in nats. Computed by `skedasis.diagnose`.

    Notes
    -----
    No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = X[:, 0] + rng.normal(size=400)
    >>> model = lambda X: (X[:, 0], np.ones(len(X)))
    >>> d = sd.diagnose(model, X, y, dependence=False)
    >>> [(v.feature, v.kind) for v in d.verdicts]
    [('x0', 'informative'), ('x1', 'unused')]
    """

    likelihood: Importance
    entropy: Importance
    """Permutation importances for the negative log-likelihood and for the entropy of the predictive distribution, in
    nats, from one pass."""
    r2_others: Floats
    r2_with_target: Floats
    """Out-of-bag R² of a random forest that predicts the feature from the others, and from the others and the label,
    shape (features,). NaN if it was not computed, or if the feature is constant."""
    partners: tuple[tuple[str, ...], ...]
    """For each feature, the features that it shares most information with."""
    verdicts: tuple[Verdict, ...]
    """In X's order."""
    confidence_level: float = 0.95
    """Confidence level of the intervals that the verdicts are based on."""
    notes: tuple[str, ...] = ()
    """Notes that concern all features."""
    provenance: Json = field(default_factory=dict)
    unsure: str = ""
    """Where the model is least certain, as a sentence: "Unsure where age > 200 (8 % of the rows): 2.3 times its average
    uncertainty."; empty if no such place is confirmed. `skedasis.diagnose` says how it is found."""

    @property
    def features(self) -> tuple[str, ...]:
        """Return the feature names, in X's order."""
        return self.likelihood.features

    @property
    def feature_titles(self) -> tuple[str, ...]:
        """Return the features' texts for people: their labels, or their names."""
        return self.likelihood.feature_titles

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, feature: str) -> Finding:
        """Return the measures and the verdict of a feature."""
        check_name("feature", feature, self.features, "Pass the name of a feature")
        k = self.features.index(feature)
        return Finding(
            feature,
            self.likelihood[feature],
            self.entropy[feature],
            float(self.r2_others[k]),
            float(self.r2_with_target[k]),
            self.partners[k],
            self.verdicts[k],
        )

    def ranking(self) -> tuple[Finding, ...]:
        """Return the features, ordered by decreasing Likelihood-PFI."""
        return tuple(self[r.feature] for r in self.likelihood.ranking())

    def _library(self) -> str | None:
        return self.likelihood.library

    def table(self) -> dict[str, Sequence[object] | Floats]:
        """Return the columns of `to_frame`."""
        columns: dict[str, Sequence[object] | Floats] = {"feature": list(self.features)}
        for name, measure in (("likelihood", self.likelihood), ("entropy", self.entropy)):
            lower, upper = measure.interval(self.confidence_level)
            columns |= {name: measure.mean, f"{name}_lower": lower, f"{name}_upper": upper}
        return columns | {
            "r2_others": self.r2_others,
            "r2_with_target": self.r2_with_target,
            "partners": [", ".join(p) for p in self.partners],
            "verdict": [v.kind for v in self.verdicts],
            "text": [v.text for v in self.verdicts],
            "next": [v.next for v in self.verdicts],
        }

    def _document(self, options: ExportOptions) -> Content:
        ends = {
            name: np.transpose(measure.interval(self.confidence_level))
            for name, measure in (("likelihood", self.likelihood), ("entropy", self.entropy))
        }
        return {
            **content_of(self, "features", "likelihood.rows as rows", "confidence_level"),
            "diagnosis": [
                {
                    "feature": name,
                    "likelihood": self.likelihood.mean[k],
                    "likelihood_interval": ends["likelihood"][k],
                    "entropy": self.entropy.mean[k],
                    "entropy_interval": ends["entropy"][k],
                    **content_of(self[name], *_MORE),
                }
                for k, name in enumerate(self.features)
            ],
            **content_of(self, "unsure", "notes", "provenance"),
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            **keys_of(cls, "features", "likelihood.rows as rows", "confidence_level"),
            "diagnosis": listed(
                object_of(
                    "One feature.",
                    {
                        "feature": json_keys.text("Name of the feature."),
                        "likelihood": json_keys.number("Likelihood-PFI."),
                        "likelihood_interval": json_keys.interval("Ends of its interval."),
                        "entropy": json_keys.number("Entropy-PFI."),
                        "entropy_interval": json_keys.interval("Ends of its interval."),
                        **keys_of(Finding, *_MORE),
                    },
                ),
                "The features, in X's order.",
            ),
            **keys_of(cls, "unsure", "notes", "provenance"),
        }, {}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[DiagnosisKeywords]) -> Figure:
        """Plot the two importances against each other, and how well other features predict each feature.

        Notes
        -----
        How to read it (entropy_importance, sec. 3.5): the importance of features on the right near the horizontal axis
        is right as it is; features further up share their information with other features. Names without free
        space are omitted.
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[DiagnosisViewKeywords],
    ) -> Explorable:
        """Return the features in the plane of the two importances as an interactive page with tooltips."""
        return operations.explore(self, path, title, **options)

    @property
    def summary(self) -> tuple[str, ...]:
        """Return at most three sentences: where the model is unsure, what is shared, misleading or undecided."""
        by_kind: dict[str, list[Verdict]] = {}
        for found in self.ranking():
            by_kind.setdefault(found.verdict.kind, []).append(found.verdict)
        shared, misleading, undecided = (
            by_kind.get(kind, []) for kind in ("shared", "misleading", "undecided")
        )
        sentences = [self.unsure] if self.unsure else []
        if not sentences and not same_everywhere(self.entropy):  # of which a note says so
            sentences.append(NOWHERE_UNSURE)
        if shared:
            names = [v.feature for v in shared]
            together = [names[0], *self[names[0]].partners]
            sentences.append(tell(SHARED, names=names, together=together if together[1:] else None))
        if misleading:
            sentences.append(tell(MISLEADING, names=[v.feature for v in misleading]))
        elif undecided:
            names = [v.feature for v in undecided]
            sentences.append(tell(UNDECIDED, names=names, next=undecided[0].next))
        return tuple(sentences)

    def __repr__(self) -> str:
        kinds = [v.kind for v in self.verdicts]
        counts = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        return f"<Diagnosis of {len(self)} features: {counts}>"

    def __str__(self) -> str:
        lines = self.lines()
        table = align_columns(lines, left=(0, len(lines[0]) - 1))
        said = [("", *part) for part in (self.summary, self.notes) if part]
        return "\n".join([self.heading, "", *table, *itertools.chain(*said)])

    @property
    def heading(self) -> str:
        """Return what the printed table shows."""
        return tell(
            DIAGNOSIS,
            features=len(self),
            rows=self.likelihood.rows,
            repeats=self.likelihood.values.shape[1],
            level=f"{100 * self.confidence_level:g}",
        )

    def lines(self) -> list[tuple[str, ...]]:
        """Return the printed table: a header, then one row of formatted cells per feature, by Likelihood-PFI."""
        lines: list[tuple[str, ...]] = [
            ("feature", "how much it matters", "what others know", "verdict")
        ]
        measures = self.likelihood, self.entropy
        intervals = [m.interval(self.confidence_level) for m in measures]
        largest = [float(np.abs(m.mean).max(initial=0.0)) for m in measures]
        for finding in self.ranking():
            k = self.features.index(finding.feature)
            means = finding.likelihood.mean, finding.entropy.mean
            importances = [
                f"{number_or_zero(mean, most)} ({number_or_zero(low[k], most)} to {number_or_zero(high[k], most)})"
                for mean, (low, high), most in zip(means, intervals, largest, strict=True)
            ]
            lines.append((finding.feature, *importances, finding.verdict.kind))
        return lines
