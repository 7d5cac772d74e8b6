"""`MultiOutput`: the results of a quantity with several outputs, such as all classes, from the same model rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    overload,
    runtime_checkable,
)

from skedasis._arguments import shown
from skedasis._types import Floats, OutputLabel
from skedasis.data.factorize import equality_key
from skedasis.errors import DataError, UnsupportedError, nearest
from skedasis.results import operations, schema
from skedasis.results.containers import (
    ResultMapping,
    TableColumn,
    TableColumns,
    frame_library,
    key_column,
    no_members_error,
)
from skedasis.results.described import Keys, described
from skedasis.results.display import (
    MOST_LINES,
    Ranking,
    SavedResult,
    count,
    outside_text,
    ranking_text,
    save_if,
)
from skedasis.results.effect import Effect
from skedasis.results.effects import DETAILS
from skedasis.results.export import Content, ExportOptions
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import shows_keywords

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.plots.keywords import OutputsKeywords
    from skedasis.results.checks.check import Checks
    from skedasis.results.importance import Importance
    from skedasis.results.multi_model import (
        MultiModelEffect,
        MultiModelImportance,
        MultiModelSurface,
    )
    from skedasis.results.surface import Surface

    OneInterval = (
        Effect | Surface | Importance | MultiModelEffect | MultiModelSurface | MultiModelImportance
    )

Interval: TypeAlias = tuple[Floats, Floats]
Intervals: TypeAlias = Interval | Mapping[str, Interval] | Mapping[tuple[str, str], Interval]
_SHOWN = 6
"""Most outputs that a representation names."""


@runtime_checkable
class OutputResult(Protocol):
    """A result that a `MultiOutput` can have for each output: any result with a table and a provenance."""

    @property
    def provenance(self) -> Mapping[str, object]:
        """Return the record of how it was computed."""
        ...

    def table(self, of: str = ...) -> Mapping[str, TableColumn]:
        """Return the columns of `to_frame`; each result has tables of its own."""
        ...


ResultT_co = TypeVar("ResultT_co", bound=OutputResult, covariant=True)


@runtime_checkable
class _HasInterval(Protocol):
    def interval(self, confidence_level: float = 0.95, **options: Any) -> Intervals: ...


@runtime_checkable
class _HasChecks(Protocol):
    def checks(self, **options: Any) -> Checks: ...


@dataclass(frozen=True)
class OutputRank:
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

    def __reduce__(self) -> tuple[object, ...]:
        # The class of a line is made when it is first needed, so that pickle cannot find it by its name.
        own = [vars(self)[f.name] for f in fields(self)[1:]]
        return _line, (type(self).__mro__[1], self.output, *own)


@cache
def _line_class(kind: type[DataclassInstance]) -> type[OutputRank]:
    return make_dataclass("OutputRank", [], bases=(kind, OutputRank), frozen=True)


def _line(kind: type[DataclassInstance], output: OutputLabel, *own: object) -> OutputRank:
    """Return a line of a ranking with the output before its fields."""
    return _line_class(kind)(output, *own)


@dataclass(frozen=True, eq=False)
class MultiOutput(ResultMapping[OutputLabel, ResultT_co], Generic[ResultT_co]):
    """A mapping from the outputs of a model, such as classes, to their results, all from the same model rows.

    `explain`, `regions`, `interactions` and `variance_shares` return it for a quantity with several outputs, such as
    ``sd.probability(clf, class_="all")`` and ``sd.prediction(model, output="all")``. The members are what these
    functions return for one output: `Effect`, `Effects`, `Surface`, `Surfaces`, `Importance`, `Regions`, and so on.

    Attributes
    ----------
    outputs : mapping of label to result
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
    """

    outputs: Mapping[OutputLabel, ResultT_co]
    provenance: Provenance = field(default_factory=no_provenance)

    @property
    def members(self) -> Mapping[OutputLabel, ResultT_co]:
        """Return the results by output."""
        return self.outputs

    def __getitem__(self, output: OutputLabel) -> ResultT_co:
        """Return the result of an output, given its label: as for levels, 1 is 1.0, but neither True nor "1"."""
        for label, result in self.outputs.items():
            if equality_key(label) == equality_key(output):
                return result
        known = list(self.outputs)
        near = nearest(output, map(str, known))
        found = next((k for k in known if str(k) == near), None)
        fix = f"Did you mean {found!r}?" if near else "Pass the label of an output"
        listed = ", ".join(map(repr, known[:12])) + (", …" if len(known) > 12 else "")
        raise DataError("output", shown(output), f"one of {listed}" if known else "no output", fix)

    def __contains__(self, output: object) -> bool:
        if not isinstance(output, Hashable):
            return False
        return any(equality_key(label) == equality_key(output) for label in self.outputs)

    def __repr__(self) -> str:
        first = next(iter(self.outputs.values()), None)
        if first is None:
            return "<MultiOutput of 0 outputs>"
        labels = ", ".join(_text(k) for k in list(self)[:_SHOWN])
        more = ", …" if len(self) > _SHOWN else ""
        # Of the classes of effects and of surfaces, the base class, which is the public one.
        bases = [c.__name__ for c in type(first).__mro__]
        kind = next((name for name in ("Effect", "Surface") if name in bases), bases[0])
        said = f"{count(len(self), 'output')}, each {kind}: {labels}{more}"
        return f"<MultiOutput of {said}{outside_text(first.provenance.get('rows_outside'))}>"

    def __str__(self) -> str:
        first = next(iter(self.outputs.values()), None)
        if first is None:
            return repr(self)
        ranked = isinstance(first, SavedResult) and first.prints_ranking
        if ranked or str(first) == repr(first):
            return f"{self!r}\n{ranking_text(self.ranking(), DETAILS, MOST_LINES)}"
        return "\n\n".join(f"output {_text(label)}\n{r}" for label, r in self.outputs.items())

    def ranking(self, by: str | None = None) -> Ranking[OutputRank]:
        """Return the lines of the rankings of all outputs, each with its output, most important first.

        Parameters
        ----------
        by : str, optional
            As in the members' `ranking`: "importance" or "heterogeneity_score" of effects, also "explained" of regions.

        Returns
        -------
        Ranking of OutputRank
            A tuple of lines that prints as a table. A result of one feature, or of one pair, has one line.

        Raises
        ------
        DataError
            For another `by`.
        UnsupportedError
            As the members' `ranking`.

        Notes
        -----
        Outputs are compared in their own units: those of a model of several targets may differ. No model row.
        """
        found = [
            (operations.sort_key(line, member, by), _line(type(line), label, *vars(line).values()))
            for label, member in self.outputs.items()
            for line in operations.ranked_lines(member, by)
        ]
        return Ranking(line for _, line in sorted(found, key=lambda item: item[0]))

    @overload
    def interval(
        self: MultiOutput[OneInterval], confidence_level: float = 0.95, **options: Any
    ) -> Mapping[OutputLabel, Interval]: ...
    @overload
    def interval(
        self, confidence_level: float = 0.95, **options: Any
    ) -> Mapping[OutputLabel, Intervals]: ...
    def interval(
        self, confidence_level: float = 0.95, **options: Any
    ) -> Mapping[OutputLabel, Intervals]:
        """Return the confidence intervals of all outputs.

        Parameters
        ----------
        confidence_level, **options
            As in the members' `interval`.

        Returns
        -------
        dict of label to (lower, upper), or to a dict of these
            What the members' `interval` returns.

        Raises
        ------
        DataError
            As the members' `interval`.
        UnsupportedError
            If the members have no intervals, and as their `interval`.

        Notes
        -----
        A simultaneous band covers the points of one curve of one output, not several outputs. No model row.
        """
        found: dict[OutputLabel, Intervals] = {}
        for label, member in self.outputs.items():
            if not isinstance(member, _HasInterval):
                raise _without("interval", member, "effects, surfaces or importances")
            found[label] = member.interval(confidence_level, **options)
        return found

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
        for label, member in self.outputs.items():
            if not isinstance(member, _HasChecks):
                raise _without("checks", member, "effects or surfaces")
            found += [replace(check, output=label) for check in member.checks(**options)]
        return operations.checks_in_order(found)

    def to_frame(self, backend: str | None = None, *, of: str | None = None) -> Any:
        """Return the results of all outputs as one tidy data frame, whose first column ``"output"`` is the label.

        Parameters
        ----------
        backend : str, optional
            As in `Effect.to_frame`.
        of : str, optional
            One of the tables of the members' `to_frame`, by default their first. "ranking": the lines of `ranking`.

        Returns
        -------
        data frame
            Labels that are not all text, all integers, all booleans or all floats are text.

        Raises
        ------
        DataError
            For another `of`, and without outputs.
        UnsupportedError
            As the members' `to_frame`.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> model = lambda X: np.column_stack([X[:, 0], X[:, 1]])
        >>> every = sd.explain(sd.prediction(model, output="all"), X, 0, method=sd.ALE(bins=2))
        >>> every.to_frame("pandas")[["output", "feature", "x"]].shape
        (6, 3)
        """
        return operations.to_data_frame(self.table(of), backend or frame_library(self))

    def _document(self, options: ExportOptions) -> Content:
        return {
            "outputs": [
                {
                    "output": label if isinstance(label, (str, int, float)) else _text(label),
                    "result": result,
                }
                for label, result in self.outputs.items()
            ],
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        saved = [name for name, kind in schema.kinds().items() if issubclass(kind, SavedResult)]
        some = [schema.result(name) for name in saved if name != cls.json_kind()]
        output = {
            "output": schema.label("Its label: a class, or the number of a column."),
            "result": described({"anyOf": some}, "Its result."),
        }
        outputs = schema.lines("The outputs, in the order of the model.", "One output.", output)
        return {"outputs": outputs, **schema.RECORD}, {}

    def table(self, of: str | None = None) -> TableColumns:
        """Return the columns of `to_frame`."""
        if not self.outputs:
            raise no_members_error("to_frame", "at least one output")
        if of == "ranking":
            lines = self.ranking()
            if not lines:
                raise no_members_error("to_frame(of='ranking')", "at least one line")
            names = [f.name for f in fields(lines[0])][1:]
            outputs = key_column([line.output for line in lines], [1] * len(lines))
            return {
                "output": outputs,
                **{n: [_cell(vars(line)[n]) for line in lines] for n in names},
            }
        tables = [_table(member, of) for member in self.outputs.values()]
        sizes = [len(next(iter(table.values()))) for table in tables]
        return {
            "output": key_column(list(self.outputs), sizes),
            **operations.stack_tables(tables),
        }

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


def _cell(value: object) -> object:
    """Return a value of a line as one that any data frame can have: several features, of variance shares, as text."""
    return (
        ", ".join(map(str, cast("tuple[object, ...]", value)))
        if isinstance(value, tuple)
        else value
    )


def _text(label: OutputLabel) -> str:
    """Return a label on one line, cut off."""
    text = " ".join(str(label).split())
    return text if len(text) <= 40 else f"{text[:39]}…"


def _without(what: str, member: object, expected: str) -> UnsupportedError:
    name = type(member).__name__
    return UnsupportedError(what, f"outputs of class {name}", expected, f"{name} has no {what}")


def _table(member: OutputResult, of: str | None) -> Mapping[str, TableColumn]:
    """Return a table of a member, by default its first."""
    return member.table() if of is None else member.table(of)
