"""`Diagnosis`: features classified by Likelihood-PFI and Entropy-PFI (entropy_importance, sec. 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from skedasis._arguments import check_name
from skedasis._types import Floats, Json
from skedasis.results import json_keys, operations
from skedasis.results.described import Keys, content_of, keys_of, listed, object_of
from skedasis.results.display import SavedResult, align_columns
from skedasis.results.export import Content, ExportOptions
from skedasis.results.importance import Importance, ImportanceRank
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


@dataclass(frozen=True)
class Verdict:
    """The verdict on one feature.

    Parameters
    ----------
    feature : str
    kind : str
        Kind of the verdict.
    text : str
        The verdict as a sentence, with the numbers that it is based on.
    next : str
        The recommended next step.
    """

    feature: str
    kind: VerdictKind
    text: str
    next: str


@dataclass(frozen=True)
class Finding:
    """All measures of one feature, with its verdict.

    Parameters
    ----------
    feature : str
    likelihood, entropy : ImportanceRank
        Likelihood-PFI and Entropy-PFI, in nats.
    r2_others : float
        Out-of-bag R² of a random forest that predicts the feature from the others.
    r2_with_target : float
        The same from the others and the label.
    partners : tuple of str
        The features that it shares most information with.
    verdict : Verdict
    """

    feature: str
    likelihood: ImportanceRank
    entropy: ImportanceRank
    r2_others: float
    r2_with_target: float
    partners: tuple[str, ...]
    verdict: Verdict


_MORE = (
    *("r2_others", "r2_with_target", "partners", "verdict.kind as verdict"),
    *("verdict.text as text", "verdict.next as next"),
)
"""What documents say of a feature, beside the two importances."""


@dataclass(frozen=True, eq=False)
class Diagnosis(SavedResult):
    """Features classified by Likelihood-PFI and Entropy-PFI, in nats. Computed by `skedasis.diagnose`.

    Attributes
    ----------
    likelihood, entropy : Importance
        Permutation importances for the negative log-likelihood and for the entropy of the predictive distribution, in
        nats, from one pass.
    r2_others, r2_with_target : ndarray of float, shape (features,)
        Out-of-bag R² of a random forest that predicts the feature from the others, and from the others and the label.
        NaN if it was not computed, or if the feature is constant.
    partners : tuple of tuple of str
        For each feature, the features that it shares most information with.
    verdicts : tuple of Verdict
        In X's order.
    confidence_level : float
        Confidence level of the intervals that the verdicts are based on.
    notes : tuple of str
        Notes that concern all features.
    provenance : dict

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
    r2_others: Floats
    r2_with_target: Floats
    partners: tuple[tuple[str, ...], ...]
    verdicts: tuple[Verdict, ...]
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()
    provenance: Json = field(default_factory=dict)

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

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a tidy data frame with one row per feature, in X's order.

        Returns
        -------
        data frame
            Columns ``feature``, ``likelihood`` and ``entropy`` with their intervals, ``r2_others``,
            ``r2_with_target``, ``partners``, ``verdict``, ``text`` and ``next``.
        """
        return operations.to_data_frame(self.table(), backend or self.likelihood.library)

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
            **content_of(self, "notes", "provenance"),
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
            **keys_of(cls, "notes", "provenance"),
        }, {}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[DiagnosisKeywords]) -> Figure:
        """Plot the two importances against each other, and how well other features predict each feature.

        Notes
        -----
        How to read it (entropy_importance, sec. 3.5): the importance of features on the right near the horizontal axis
        can be read at face value; features further up share their information with other features. Names without free
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

    def __repr__(self) -> str:
        kinds = [v.kind for v in self.verdicts]
        counts = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        return f"<Diagnosis of {len(self)} features: {counts}>"

    def __str__(self) -> str:
        repeats = self.likelihood.values.shape[1]
        head = (
            f"Diagnosis of {len(self)} features on {self.likelihood.rows:,} rows: "
            f"means over {repeats} repeats, in nats, with {100 * self.confidence_level:g} % intervals"
        )
        texts = [f"{f.feature}: {f.verdict.text} {f.verdict.next}" for f in self.ranking()]
        lines = self.lines()
        table = align_columns(lines, left=(0, len(lines[0]) - 1))
        return "\n".join([head, "", *table, "", *texts, *self.notes])

    def lines(self) -> list[tuple[str, ...]]:
        """Return the printed table: a header, then one row of formatted cells per feature, by Likelihood-PFI."""
        header: tuple[str, ...] = (
            "feature",
            "Likelihood-PFI",
            "Entropy-PFI",
            "R² others",
            "R² with y",
            "verdict",
        )
        intervals = [m.interval(self.confidence_level) for m in (self.likelihood, self.entropy)]
        lines: list[tuple[str, ...]] = [header]
        for finding in self.ranking():
            k = self.features.index(finding.feature)
            means = finding.likelihood.mean, finding.entropy.mean
            importances = [
                f"{format_number(mean)} ({format_number(low[k])} to {format_number(high[k])})"
                for mean, (low, high) in zip(means, intervals, strict=True)
            ]
            r2 = [format_r2(r) for r in (finding.r2_others, finding.r2_with_target)]
            lines.append((finding.feature, *importances, *r2, finding.verdict.kind))
        return lines


def format_number(value: float) -> str:
    """Format a number with three significant digits."""
    if not np.isfinite(value):
        return "–"
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return text.replace("-", "−")


def format_r2(value: float) -> str:
    """Format an R² with two decimals."""
    return "–" if np.isnan(value) else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
