"""`MultiOutput`: the results of a quantity with several outputs, such as all classes, from the same model rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from skedasis._numbers import counted
from skedasis._types import OutputLabel
from skedasis.results import operations
from skedasis.results.containers import OutputResult, ResultMapping
from skedasis.results.display import (
    MOST_LINES,
    SavedResult,
    called_text,
    outside_text,
    ranking_text,
)
from skedasis.results.effects import DETAILS
from skedasis.results.signatures import takes_figure_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.checks.check import Check
    from skedasis.results.keywords import OutputsKeywords, OutputsViewKeywords

ResultT_co = TypeVar("ResultT_co", bound=OutputResult, covariant=True)


class MultiOutput(ResultMapping[OutputLabel, ResultT_co], Generic[ResultT_co]):
    """A mapping from the outputs of a model, such as classes, to their results, all from the same model rows.

    `explain`, `regions`, `interactions` and `variance_shares` return it for a quantity with several outputs, such as
    ``sd.probability(clf, class_="all")`` and ``sd.prediction(model, output="all")``. The members are what these
    functions return for one output: `Effect`, `Effects`, `Surface`, `Surfaces`, `Importance`, `Regions`, and so on.
    Labels are the classes, or the numbers of the columns, in the order of the model's outputs.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> model = lambda X: np.column_stack([X[:, 0], 3 * X[:, 0] * X[:, 1]])
    >>> every = sd.explain(sd.prediction(model, output="all"), X, method=sd.ALE(bins=5))
    >>> every
    <MultiOutput of 2 outputs, each Effects: 0, 1>
    >>> [(line.output, line.feature) for line in every.ranking()[:2]]
    [(0, 'x0'), (1, 'x1')]
    >>> every[1]["x0"].about.quantity, every.provenance["effect_rows"]
    ('prediction 1', 1200)

    Notes
    -----
    As for levels, the label 1 is 1.0, but neither True nor "1". A ranking compares outputs in their own units: those of
    a model of several targets may differ.
    """

    noun = column = "output"

    @property
    def outputs(self) -> Mapping[OutputLabel, ResultT_co]:
        """Return the results by output."""
        return self.members

    def __repr__(self) -> str:
        first = next(iter(self.values()), None)
        if first is None:
            return "<MultiOutput of 0 outputs>"
        # Of the classes of effects and of surfaces, the base class, which is the public one.
        bases = [c.__name__ for c in type(first).__mro__]
        kind = next((name for name in ("Effect", "Surface") if name in bases), bases[0])
        said = f"{counted(len(self), 'output')}, each {kind}: {self._named()}"
        return f"<MultiOutput of {said}{outside_text(first.provenance.get('rows_outside'))}>"

    def __str__(self) -> str:
        first = next(iter(self.values()), None)
        ranked = isinstance(first, SavedResult) and first.prints_ranking
        if first is not None and (ranked or str(first) == repr(first)):
            ranking = ranking_text(self.ranking(), DETAILS, MOST_LINES)
            return "\n".join(filter(None, [repr(self), ranking, called_text(self.provenance)]))
        return super().__str__()

    def _named_in(self, check: Check, key: OutputLabel) -> Check:
        return replace(check, output=key)

    @takes_figure_options
    def plot(self, **options: Unpack[OutputsKeywords]) -> Figure:
        """Plot the results of all outputs in one figure.

        Effects of one feature are overlaid, each output with a colour, a line style and a mark of its own; of more than
        8 outputs those with the largest importance. Of several features there is one overlay for each, the most
        important first. Other results are side by side, surfaces on one colour scale.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> model = lambda X: np.column_stack([X[:, 0], -X[:, 0]])
        >>> every = sd.explain(sd.prediction(model, output="all"), X, 0, method=sd.ALE(bins=5))
        >>> every.plot().axes[0].get_ylabel()
        'effect on prediction'
        """
        return operations.plot(self, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[OutputsViewKeywords],
    ) -> Explorable:
        """Return the results of all outputs as an interactive page: the figure of `plot`, and the numbers of each."""
        return operations.explore(self, path, title, **options)
