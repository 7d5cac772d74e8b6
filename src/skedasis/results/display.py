"""Display of results: text tables, notebook representation, `plot`, `explore`.

Results inherit from these classes. What they show is made in `skedasis.plots.html`, which is imported when it is asked
for: the one import upwards, as in `Effect.plot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from skedasis.errors import DataError, UnsupportedError, explained

if TYPE_CHECKING:
    from skedasis.plots.html import Explorable
    from skedasis.plots.spec import Ice
    from skedasis.results.importance import Importance


# ------------------------------------------------------------------------------------------
# What results say of themselves in words: printed as a table, and why there is no interval.


METRIC_ROWS = 20
"""Rows that a metric needs for a standard error: two in each of ten parts."""


_ROWS = 7


def count(number: int, what: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def given_level(what: str, level: Any) -> float:
    """Return a confidence level, or refuse it."""
    number = isinstance(level, Real) and not isinstance(level, (bool, np.bool_))
    if not number or not 0 < float(level) < 1:
        raise DataError(explained(what, repr(level), "a number between 0 and 1", "Use 0.95"))
    return float(level)


def no_score(what: str, method: str) -> UnsupportedError:
    """Return the error for an effect without a heterogeneity score."""
    fix = "Explain again without heterogeneity_rows=0"
    if method == "MPlot":
        fix = "Explain by another method, such as sd.ALE(): an M-plot is no effect of its feature"
    elif method in ("PDP", "ICE"):
        fix += " or heterogeneity=False"
    return UnsupportedError(
        explained(what, "no heterogeneity score", "an effect that was explained with one", fix)
    )


def given_seed(what: str, seed: Any) -> int:
    """Return a seed, or refuse it."""
    whole = isinstance(seed, Integral) and not isinstance(seed, (bool, np.bool_))
    if not whole or seed < 0:
        raise DataError(explained(what, repr(seed), "0 or more", "Use 0"))
    return int(seed)


def importance_table(importance: Importance) -> str:
    """Return the ranking as a table of text: feature, mean, and the interval where there is one."""
    lines = [f"{importance.axis}: {importance.method}, {count(importance.rows, 'row')}"]
    known = bool(np.isfinite(importance.std_error).any())
    table = [["feature", "importance", "95 % interval"]]
    for line in importance.ranking():
        ends = f"{line.lower:.4g} to {line.upper:.4g}" if np.isfinite(line.std_error) else "-"
        table.append([line.feature, f"{line.mean:.4g}", ends])
    lines += _aligned([row[: 3 if known else 2] for row in table])
    floored = importance.provenance.get("floored_rows", 0)
    if floored:
        lines.append(
            f"{count(floored, 'model row')}: the label's probability was raised to a floor"
        )
    return "\n".join(lines)


def tabled(ranking: Sequence[Any]) -> str:
    """Return a ranking as a table of text, numbers in four digits."""
    names = [field.name for field in fields(ranking[0])] if len(ranking) else ["feature"]
    cells = [[_cell(getattr(line, name)) for name in names] for line in ranking]
    return "\n".join(_aligned([[name.replace("_", " ") for name in names], *cells]))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if np.isfinite(value) else "-"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in table
    ]


def no_interval(importance: Importance, repeats: int) -> DataError:
    """Return the error for an importance without an interval, with what is in the way.

    Parameters
    ----------
    importance : Importance
    repeats : int
        How many it takes: three, or for the draws alone two.
    """
    given, of_metric = importance.values.shape[1], importance.metric is not None
    rows = METRIC_ROWS if of_metric and repeats > 2 else _ROWS
    weight = importance.provenance.get("weight", importance.rows)
    got = f"{count(given, 'repeat')} of {count(importance.rows, 'row')}"
    expected, fix = f"at least {repeats} repeats, and {rows} rows", "Use sd.PFI(repeats=10)"
    if importance.is_exact:
        got, expected = count(importance.rows, "row"), f"at least {rows} rows"
    if importance.is_exact and importance.rows > 1 and weight <= 1:
        got, expected = f"weights that add up to {weight:.4g}", "more than one row"
        fix = "Pass how often each row is there, or weight_kind='sampling'"
    elif given >= repeats and importance.rows < rows:
        fix = "Pass more rows"
    elif of_metric and given >= repeats:
        got = f"{importance.metric}, which nine tenths of the rows do not always have"
        expected = "a metric of any of them: of each class many rows"
        fix = "Use method='repeats', for the draws alone"
    return DataError(explained(f"interval of {importance.method}", got, expected, fix))


# ------------------------------------------------------------------------------------------
# What makes results show themselves: in notebooks as they are, and as pages that answer the pointer.


Line = TypeVar("Line")


class Shown:
    """A result that notebooks show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return a picture or a table that needs no script: IPython asks for it. No model row."""
        from skedasis.plots.html import html_of

        return html_of(self)

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Return what this looks like by its MIME type: IPython asks for it, and may name what it wants or does not."""
        known: dict[str, Callable[[], str]] = {
            "text/plain": lambda: repr(self),
            "text/html": self._repr_html_,
        }
        wanted = set(include or known) - set(exclude or ())
        return {kind: made() for kind, made in known.items() if kind in wanted}


class Ranking(Shown, tuple[Line, ...]):
    """A ranking: a tuple of its lines, which notebooks show as a table, and `print` writes as one."""

    __slots__ = ()

    def __str__(self) -> str:
        return tabled(self)


class ShownEffect(Shown):
    """What an `Effect` shows."""

    __slots__ = ()

    def explore(
        self,
        path: str | Path | None = None,
        *,
        ice: Ice = "centered",
        own: bool = False,
        curves: int = 200,
        level: float = 0.95,
        color: Any = None,
        color_name: str | None = None,
        rises: bool | None = None,
        histogram: bool = False,
        values: Any = None,
        simultaneous: bool = False,
        title: str | None = None,
    ) -> Explorable:
        """Return the picture as a page that tells, under the pointer, what each bin, point and curve is.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        ice, own, curves, level, color, color_name, rises, histogram, values, simultaneous
            As in `plot` (`skedasis.plots.mpl.effect.draw`).
        title : str, optional
            Of the page; by default the feature's name.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError, UnsupportedError
            As `plot` does; and for a path that is a folder.

        Notes
        -----
        The page is one file that fetches nothing. Arrow keys go from bin to bin and from curve to curve; the numbers
        behind the picture are tables below it. Of single rows it holds what the picture shows: curves with their rows'
        numbers, ticks where rows lie, and dashes for the local effects of bins with few rows. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=5))
        >>> page = e.explore()
        >>> page.title, page.html.count("<svg ")
        ('x0', 1)
        """
        from skedasis.plots.html import of_effect
        from skedasis.plots.spec import View

        view = View(
            ice,
            own,
            curves,
            level,
            color=color,
            color_name=color_name,
            rises=rises,
            histogram=histogram,
            values=values,
            simultaneous=simultaneous,
        )
        return save_if(of_effect(this(self), view, title=title), path)


class ShownEffects(Shown):
    """What `Effects` show."""

    __slots__ = ()

    def explore(
        self,
        path: str | Path | None = None,
        *,
        by: Literal["importance", "heterogeneity_score"] = "importance",
        top: int | None = None,
        columns: int | None = None,
        lower: bool = True,
        ice: Ice = "centered",
        curves: int = 60,
        level: float = 0.95,
        title: str | None = None,
    ) -> Explorable:
        """Return all effects on shared scales, as a page that filters, sorts and tells numbers under the pointer.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        by : {"importance", "heterogeneity_score"}
            How they are sorted at first. The page sorts them by name and by X's order, too.
        top : int, optional
            Only so many.
        columns : int, optional
            So many side by side at most; by default as many as there is room for.
        lower, ice, curves, level
            As in `plot` (`skedasis.plots.mpl.effect.draw_all`).
        title : str, optional
            Of the page; by default what is explained.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError
            Where there is nothing to show, for a `by`, `top` or `columns` that do not exist, and a path that is a
            folder.

        Notes
        -----
        The page is one file that fetches nothing. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> es = sd.explain(lambda X: X[:, 0] + 3 * X[:, 1], X, method=sd.ALE(bins=10))
        >>> es.explore(top=2).html.count('class="skd-item"')
        2
        """
        from skedasis.plots.html import of_effects
        from skedasis.plots.spec import View

        view = View(ice, False, curves, level)
        made = of_effects(
            this(self), view, by=by, top=top, columns=columns, lower=lower, title=title
        )
        return save_if(made, path)


class ShownSurface(Shown):
    """What a `Surface` shows."""

    __slots__ = ()

    def explore(self, path: str | Path | None = None, *, title: str | None = None) -> Explorable:
        """Return the heat map as a page that tells, under the pointer, what each cell is.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        title : str, optional
            Of the page; by default the features' names.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError
            For a path that is a folder.

        Notes
        -----
        The page is one file that fetches nothing; the numbers behind the picture are a table below it. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
        >>> s.explore().title
        'x0 and x1'
        """
        from skedasis.plots.html import of_surface

        return save_if(of_surface(this(self), title=title), path)


class ShownImportance(Shown):
    """What an `Importance` shows."""

    __slots__ = ()

    def explore(
        self,
        path: str | Path | None = None,
        *,
        kind: Literal["bars", "local"] = "bars",
        features: Sequence[str] | None = None,
        top: int | None = None,
        level: float = 0.95,
        title: str | None = None,
    ) -> Explorable:
        """Return the bars, or rows before and after permutation, as a page that tells numbers under the pointer.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        kind, features, top, level
            As in `plot`.
        title : str, optional
            Of the page; by default what it shows.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError, UnsupportedError
            As `plot` does; and for a path that is a folder.

        Notes
        -----
        The page is one file that fetches nothing. Of single rows it holds histograms alone. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> pf = sd.explain(lambda X: X[:, 0], X, method=sd.PFI())
        >>> pf.explore().title
        'Importance of 2 features'
        """
        from skedasis.plots.html import of_importance

        made = of_importance(
            this(self), kind=kind, features=features, top=top, level=level, title=title
        )
        return save_if(made, path)


class ShownDiagnosis(Shown):
    """What a `Diagnosis` shows."""

    __slots__ = ()

    def explore(
        self,
        path: str | Path | None = None,
        *,
        level: float | None = None,
        title: str | None = None,
    ) -> Explorable:
        """Return the features between their two importances, as a page that tells their numbers under the pointer.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        level : float, optional
            Of the intervals; by default that of the verdicts.
        title : str, optional
            Of the page.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError
            For a level outside (0, 1), and a path that is a folder.

        Notes
        -----
        The verdicts are a table below the picture. No model row.
        """
        from skedasis.plots.html import of_diagnosis

        return save_if(of_diagnosis(this(self), level=level, title=title), path)


def this(result: Any) -> Any:
    """Return a result as what it is: a class to inherit from cannot name its heirs."""
    return result


def save_if(page: Explorable, path: str | Path | None) -> Explorable:
    """Write a page where that is asked for, and return it."""
    if path is not None:
        page.save(path)
    return page
