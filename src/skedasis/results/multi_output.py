"""`MultiOutput` and `Comparison`: the results of all outputs of a model, such as classes, and of several models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Self, TypeVar, Unpack, cast

from skedasis._calls import checked_call
from skedasis._numbers import counted
from skedasis._types import OutputLabel
from skedasis.results import operations
from skedasis.results.containers import (
    HasRanking,
    OutputResult,
    ResultMapping,
    key_text,
)
from skedasis.results.display import (
    MOST_LINES,
    SavedResult,
    called_text,
    outside_text,
    ranking_text,
)
from skedasis.results.effect import Effect
from skedasis.results.effects import DETAILS, Effects
from skedasis.results.signatures import takes_figure_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.checks.check import Check
    from skedasis.results.factors import Factors, RatingTable
    from skedasis.results.keywords import OutputsKeywords, OutputsViewKeywords

ResultT_co = TypeVar("ResultT_co", bound=OutputResult, covariant=True)


class ResultsByLabel(ResultMapping[OutputLabel, ResultT_co], Generic[ResultT_co]):
    """Results of one kind by label: those of several outputs, or of several models."""

    def __repr__(self) -> str:
        first = next(iter(self.values()), None)
        if first is None:
            return f"<{type(self).__name__} of 0 {self.noun}s>"
        # Of the classes of effects and of surfaces, the base class, which is the public one.
        bases = [c.__name__ for c in type(first).__mro__]
        kind = next((name for name in ("Effect", "Surface") if name in bases), bases[0])
        said = f"{type(self).__name__} of {counted(len(self), self.noun)}, each {kind}: {self._named()}"
        return f"<{said}{outside_text(first.provenance.get('rows_outside'))}>"

    def __str__(self) -> str:
        text = operations.factors_side_by_side(self, self.noun)
        if not text and self._prints_ranking(next(iter(self.values()), None)):
            text = self._ranking_text()
        if text:
            return "\n".join(filter(None, [repr(self), text, called_text(self.provenance)]))
        return super().__str__()

    @checked_call
    def factors(self, *args: object, **options: object) -> Self:
        """Return the factors of all members, side by side: of a log-additive model, its rating table.

        Parameters
        ----------
        *args, **options
            As in `Effects.factors`, or in `Effect.factors` if the members are of one feature. By default the base of
            all is that of the first member.

        Returns
        -------
        Comparison or MultiOutput
            A `RatingTable`, or `Factors`, for each. It prints with a column for each.

        Raises
        ------
        DataError, UnsupportedError
            As the members' `factors`, and if they have none.

        Notes
        -----
        Intervals are those of each member alone. For the ratio of the factors of two models with its interval, explain
        the difference of the quantities: ``sd.explain(q_new - q_old, X).factors()``. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.repeat([[0.0], [1.0], [2.0]], [50, 30, 20], axis=0)
        >>> models = {k: sd.prediction(lambda X, k=k: k * X[:, 0], link="log") for k in (0.0, 1.0)}
        >>> found = sd.explain(models, X, "x0", method="pdp").factors()
        >>> [np.round([f.factor for f in one], 2).tolist() for one in found.values()]
        [[1.0, 1.0, 1.0], [1.0, 2.72, 7.39]]
        """
        found: dict[OutputLabel, Factors | RatingTable] = {}
        for key, member in self.items():
            if not isinstance(member, (Effect, Effects)):
                raise self._without("factors", member, "effects")
            factors = cast("Callable[..., Factors | RatingTable]", member.factors)
            found[key] = one = factors(*args, **options)
            if not args:
                options = {**operations.bases_of(one), **options}
        members = cast("Mapping[OutputLabel, ResultT_co]", found)
        return replace(self, members=members)

    def _prints_ranking(self, first: object) -> bool:
        """Return whether members like this one are printed as a ranking, instead of one after the other."""
        ranked = isinstance(first, SavedResult) and first.prints_ranking
        return ranked or (first is not None and str(first) == repr(first))

    def _ranking_text(self) -> str:
        return ranking_text(self.ranking(), DETAILS, MOST_LINES)

    @takes_figure_options
    def plot(self, **options: Unpack[OutputsKeywords]) -> Figure:
        """Plot the results of all outputs, or of all models, in one figure.

        Effects of one feature are overlaid, each with a colour, a line style and a mark of its own; of more than 8
        those with the largest importance. With mean labels that differ they are side by side. Of several features there
        is one overlay for each, the most important first. Other results are side by side, surfaces on one colour scale.

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
        """Return the results of all members as an interactive page: the figure of `plot`, and the numbers of each."""
        return operations.explore(self, path, title, **options)


class MultiOutput(ResultsByLabel[ResultT_co], Generic[ResultT_co]):
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

    def _named_in(self, check: Check, key: OutputLabel) -> Check:
        return replace(check, output=key)


@dataclass(frozen=True)
class _Row:
    """A line of a table of text."""

    printed: Mapping[str, object]


class Comparison(ResultsByLabel[ResultT_co], Generic[ResultT_co]):
    """A mapping from the names of models to their results: each model explained as if it were alone.

    `explain` and `regions` return it for a list or dictionary of models, whatever their classes; of a list the names
    are the numbers from 0. Each member is what the function returns for this model, to the last bit: its bins, its
    local effects and its rows are its own. The mean of several fits of one learner is asked for by ``refits=True``.

    Attributes
    ----------
    members : mapping of name to result
        In the order in which the models were given.
    provenance : dict
        The entries that all results share, the sums of their costs, the number of `models` and their names.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> models = {"straight": lambda X: X[:, 0], "steep": lambda X: 2 * X[:, 0] + X[:, 1]}
    >>> both = sd.explain(models, X, method=sd.ALE(bins=5))
    >>> print(both)
    <Comparison of 2 models, each Effects: straight, steep>
    importance  straight  steep
    x0            0.5695  1.139
    x1                 0  0.575
    >>> both["steep"]["x0"].importance > both["straight"]["x0"].importance
    True

    Notes
    -----
    A name is looked up as a label of `MultiOutput` is. Importances of models with several quantities or units are each
    in their own.
    """

    noun = column = "model"

    def _prints_ranking(self, first: object) -> bool:
        several = isinstance(first, HasRanking) and not isinstance(first, ResultsByLabel)
        if isinstance(first, SavedResult):
            several = several and first.compared_in_table
        return several or super()._prints_ranking(first)

    def _ranking_text(self) -> str:
        """Return a table of the number that ranks the lines: a column for each model, the largest of all first.

        The rules of regions follow, model by model.
        """
        ranked = {key_text(key): self._ranked(one, None) for key, one in self.items()}
        sizes: dict[str, dict[str, float]] = {}
        order: dict[str, float] = {}
        head = "importance"
        for model, lines in ranked.items():
            for place, line in lines:
                by = line.ordered_by
                head = "importance" if by == "mean" else by  # of a PFI, the mean of its repeats
                name = " × ".join(takewhile(lambda v: isinstance(v, str), vars(line).values()))
                sizes.setdefault(name, dict.fromkeys(ranked, math.nan))[model] = line.size(by)
                order[name] = min(place, order.get(name, math.inf))
        named = sorted(sizes, key=lambda name: order[name])
        rows = [_Row({head: name, **sizes[name]}) for name in named]
        rules = {key: operations.rules_text(one) for key, one in self.items()}
        each = [f"{self.noun} {key_text(k)}\n\n{text}" for k, text in rules.items() if text]
        return "\n\n".join([ranking_text(rows, most=MOST_LINES), *each])
