"""`MultiOutput`: the results of a quantity with several outputs, such as all classes, from the same model rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, Unpack, runtime_checkable

from skedasis._types import OutputLabel
from skedasis.results import operations
from skedasis.results.containers import KeyRank, OutputResult, ResultMapping
from skedasis.results.display import (
    MOST_LINES,
    SavedResult,
    count,
    outside_text,
    ranking_text,
    save_if,
)
from skedasis.results.effects import DETAILS
from skedasis.results.signatures import shows_keywords

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.plots.keywords import OutputsKeywords
    from skedasis.results.checks.check import Checks

ResultT_co = TypeVar("ResultT_co", bound=OutputResult, covariant=True)


@runtime_checkable
class _HasChecks(Protocol):
    def checks(self, **options: Any) -> Checks: ...


@dataclass(frozen=True)
class OutputRank(KeyRank):
    """One line of a ranking over several outputs: a line of the ranking of one of them, with the output before it.

    Attributes
    ----------
    output : hashable
        The label of the output.

    Notes
    -----
    A line is also of the class of the lines of one output, such as `Rank`, and has its fields.
    """

    output: OutputLabel


class MultiOutput(ResultMapping[OutputLabel, ResultT_co], Generic[ResultT_co]):
    """A mapping from the outputs of a model, such as classes, to their results, all from the same model rows.

    `explain`, `regions`, `interactions` and `variance_shares` return it for a quantity with several outputs, such as
    ``sd.probability(clf, class_="all")`` and ``sd.prediction(model, output="all")``. The members are what these
    functions return for one output: `Effect`, `Effects`, `Surface`, `Surfaces`, `Importance`, `Regions`, and so on.

    Attributes
    ----------
    members : mapping of label to result
        In the order of the model's outputs. Labels are the classes, or the numbers of the columns.
    provenance : dict
        Record of the pass that computed them: the entries that all outputs share.

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
    >>> every[1]["x0"].about.quantity, every.provenance["model_rows"]
    ('prediction 1', 1200)

    Notes
    -----
    As for levels, the label 1 is 1.0, but neither True nor "1". A ranking compares outputs in their own units: those of
    a model of several targets may differ.
    """

    noun = column = "output"
    line = OutputRank

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
        said = f"{count(len(self), 'output')}, each {kind}: {self._named()}"
        return f"<MultiOutput of {said}{outside_text(first.provenance.get('rows_outside'))}>"

    def __str__(self) -> str:
        first = next(iter(self.values()), None)
        ranked = isinstance(first, SavedResult) and first.prints_ranking
        if first is not None and (ranked or str(first) == repr(first)):
            return f"{self!r}\n{ranking_text(self.ranking(), DETAILS, MOST_LINES)}"
        return super().__str__()

    def checks(self, **options: Any) -> Checks:
        """Run the reliability checks on the results of all outputs; each finding names its `output`.

        Parameters
        ----------
        **options
            As in the members' `checks`.

        Returns
        -------
        Checks

        Raises
        ------
        DataError
            As the members' `checks`.
        UnsupportedError
            If the members have no checks.

        Notes
        -----
        No model row.
        """
        found = []
        for label, member in self.items():
            if not isinstance(member, _HasChecks):
                raise self._without("checks", member, "effects or surfaces")
            found += [replace(check, output=label) for check in member.checks(**options)]
        return operations.checks_in_order(found)

    @shows_keywords
    def plot(self, **options: Unpack[OutputsKeywords]) -> Figure:
        """Plot the results of all outputs in one figure.

        Effects of one feature are overlaid, each output with a colour, a line style and a mark of its own. Of several
        features there is one overlay for each, the most important first. Other results are side by side, surfaces on
        one colour scale.

        Parameters
        ----------
        top : int or None
            Largest number of features, of pairs, or of outputs that are side by side, by default 30; None for all, 30
            on each page. Overlays have the 8 outputs with the largest importance.
        page : int
            Which page, from 1.
        columns : int, optional
            Number of columns of the grid.
        center : {"mean", None}
            Of overlaid effects: "mean" subtracts from each its mean over the data; None leaves them unchanged.
        confidence_level : float
            Confidence level of the intervals, which overlays have for at most 3 outputs.
        ax : matplotlib Axes, optional
            Axes to draw on, for a figure of one panel. By default a figure is created.
        title, xlabel, ylabel, xscale, xlim, ylim, size, legend, style
            Options of every figure: `skedasis.plots.plot.FigureOptions`.

        Returns
        -------
        matplotlib Figure
            Notebooks display it; ``savefig`` writes it to a file.

        Raises
        ------
        DataError
            For no output, and for an invalid value of an option.
        TypeError
            For an unknown option.

        Notes
        -----
        No model row.

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
        return operations.plot_outputs(self, **options)

    def explore(
        self, path: str | Path | None = None, *, top: int | None = 30, title: str | None = None
    ) -> Explorable:
        """Return the results of all outputs as an interactive page: the figure of `plot`, and the numbers of each.

        Parameters
        ----------
        path : str or Path, optional
            A file to which the page is also written.
        top : int or None
            As in `plot`.
        title : str, optional
            Title of the page.

        Returns
        -------
        Explorable
            Notebooks display it; its `save` method writes it to a file.

        Raises
        ------
        DataError
            For no output, for an invalid `top`, and if `path` is a folder.

        Notes
        -----
        The page is a single file that loads nothing from the network. No model row.
        """
        return save_if(operations.outputs_page(self, top=top, title=title), path)
