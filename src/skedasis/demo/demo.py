"""`skedasis demo`: fit two models to bundled data or to a user's file, explain them, and write a report."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table as Lines

from skedasis._files import write_bytes
from skedasis._numbers import counted, number_or_zero
from skedasis._types import Container, Floats, Ints, TableLike, TreeMode, Values
from skedasis.data.factorize import missing_mask
from skedasis.data.features import Feature, first_names
from skedasis.data.readers import FileTable, read_table
from skedasis.datasets.real import load
from skedasis.errors import DataError, quiet
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import prediction, probability
from skedasis.report.content import ModelSection, ReportContent, gather
from skedasis.report.findings import effect_size, findings, first_findings
from skedasis.report.first_screen import models_findings, most_important
from skedasis.report.report import Report, write
from skedasis.report.views import Views

if TYPE_CHECKING:
    from rich.console import Console


# ------------------------------------------------------------------------------------------ data
MIN_ROWS = 20
"""Smallest number of rows for fitting and testing a model."""


MOST_CLASSES, MOST_LEVELS = 20, 50


_DATE = re.compile(r"^\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})(\D|$)")


_ROW_NAME = re.compile(
    r"^$|^unnamed|(^|[_ .-])(id|idx|index|row|rownum|nr|key|uuid)$", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Problem:
    """A learning problem: features and a target, suitable for scikit-learn.

    `notes` say why these data, and are printed; `remarks` say what was left out, and stand on the page, too.
    """

    table: FileTable
    y: Values
    target: str
    subject: str
    source: str
    nominal: tuple[str, ...] = ()
    class_: str | None = None
    units: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[Hashable, Feature]:
        """Return the `schema` argument of `skedasis.explain`, with names and units."""
        units = self.units or {}
        names = [n for n in self.table.names if n in units or not self.table.is_frame]
        key = (lambda n: n) if self.table.is_frame else self.table.place
        return {key(n): Feature(n, "continuous", units.get(n)) for n in names}


def default_problem() -> Problem:
    """Return the default data: bicycle rentals if the file is available, otherwise scikit-learn's bundled data."""
    try:
        return rentals()
    except DataError:
        return breast_cancer()


def rentals() -> Problem:
    """Return the number of bicycles rented in each hour of two years."""
    found = load("bike_sharing_hour", download=False)
    table = FileTable(found.X, found.feature_names)
    table = table.select([n for n in table.names if n != "atemp"])
    return Problem(
        table,
        np.asarray(found.y, float),
        "rentals",
        subject="bicycle rentals",
        source="Bicycle rentals by the hour in Washington (UCI data set 275)",
        units={"hr": "h", "rentals": "bicycles/h"},
        notes=(
            "Chosen because models predict it well, and because the effect of the hour depends on the working day.",
            "Column atemp was left out because it is nearly a copy of temp.",
        ),
    )


def breast_cancer() -> Problem:
    """Return scikit-learn's breast cancer data: the largest values of the nuclei, without near copies of the radius."""
    from sklearn.datasets import load_breast_cancer

    raw: Any = load_breast_cancer()
    places = {
        str(name).removeprefix("worst "): j
        for j, name in enumerate(raw.feature_names)
        if str(name).startswith("worst ") and str(name) not in ("worst perimeter", "worst area")
    }
    values = np.asarray(raw.data, float)[:, list(places.values())]
    y = np.asarray(raw.target_names)[raw.target].astype(str)
    notes = (
        "Chosen because models predict these data well; for scikit-learn's diabetes data, R² is below 0.5.",
        "Two near copies of the radius, perimeter and area, were left out.",
        "To explain bicycle rentals instead, put bike_sharing_hour.csv into the folder that SKEDASIS_DATA names.",
    )
    return Problem(
        FileTable(_as_frame(values, tuple(places)), tuple(places)),
        y,
        "diagnosis",
        subject="breast cancer",
        source="The largest values among the cell nuclei of each tumour in scikit-learn's breast cancer data",
        class_="malignant",
        notes=notes,
    )


def _as_frame(values: Values, names: tuple[str, ...]) -> Container:
    """Return a data frame if pandas is installed, otherwise the array."""
    if importlib.util.find_spec("pandas") is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=pd.Index(names))


def user_problem(path: str | Path, target: str | None, class_: str | None) -> Problem:
    """Return the learning problem of a user's file."""
    table = read_table(path)
    if target is None:
        known = f"one of {first_names(table.names)}"
        raise DataError("--target", "no target", known, "Name the column to predict")
    table.place(target, "--target")
    values = table.column(target)
    there = np.flatnonzero(~missing_mask(values))
    rows_left_out: list[str] = []
    if len(there) < len(values):
        table, values = table.take(there), values[there]
        left = f"{len(there):,} remain" if len(there) != 1 else "1 remains"
        rows_left_out.append(f"Rows without a {target} were left out: {left}.")
    if len(there) < MIN_ROWS:
        got = f"rows with a value of {target!r}: {len(there)}"
        raise DataError(str(path), got, f"at least {MIN_ROWS}", "Use a file with more rows")
    y, explained_class = _target(values, target, class_)
    kept, nominal, reasons = _usable_columns(table, target)
    if not kept:
        raise DataError(
            str(path),
            f"no usable feature ({'; '.join(reasons) or 'the target is the only column'})",
            f"at least one other column with numbers or at most {MOST_LEVELS} different texts",
            "Check the delimiter of the file",
        )
    return Problem(
        table.select(kept),
        y,
        target,
        subject=target,
        source=Path(path).name,
        nominal=tuple(nominal),
        class_=explained_class,
        remarks=(*rows_left_out, *reasons),
    )


def _target(values: Values, target: str, class_: str | None) -> tuple[Values, str | None]:
    """Return the target as numbers, or as classes together with the class to explain."""
    what = f"target {target!r}"
    numeric = values.dtype.kind in "iuf"
    labels = np.unique(values if numeric else values.astype(str))
    if len(labels) < 2:
        raise DataError(
            what, "the same value in every row", "at least 2 values", "Choose another column"
        )
    if numeric and not np.isfinite(values.astype(float)).all():
        raise DataError(what, "infinite values", "finite numbers", "Correct or remove these rows")
    if numeric and len(labels) > 2 and class_ is None:
        return values.astype(float), None
    if len(labels) > MOST_CLASSES:
        kind = "numbers" if numeric else "texts"
        fix = "Leave --class out" if numeric else "Write numbers with a decimal point"
        raise DataError(
            what,
            f"{len(labels):,} different {kind}",
            f"numbers, or at most {MOST_CLASSES} classes",
            fix,
        )
    y = np.array([f"{v:g}" for v in values.astype(float)] if numeric else values.astype(str))
    classes = [str(c) for c in np.unique(y)]
    if class_ is None and len(classes) == 2:
        return y, classes[1]
    if class_ not in classes:
        got = f"{len(classes)} classes" if class_ is None else f"--class {class_}"
        fix = f"Choose the class whose probability is explained: --class {classes[-1]!r}"
        raise DataError(what, got, f"one of {classes}", fix)
    return y, class_


def _usable_columns(table: FileTable, target: str) -> tuple[list[str], list[str], list[str]]:
    """Return the columns used as features, the nominal ones among them, and why others are left out."""
    kept: list[str] = []
    nominal: list[str] = []
    reasons: list[str] = []
    for name in table.names:
        if name == target:
            continue
        values = table.column(name)
        present = values[~missing_mask(values)]
        numeric = values.dtype.kind in "iuf"
        reason = _numeric_problem(name, present) if numeric else _text_problem(present)
        if reason:
            reasons.append(f"Column {name or '(no name)'} was left out: {reason}.")
            continue
        kept.append(name)
        if not numeric:
            nominal.append(name)
    return kept, nominal, reasons


def _numeric_problem(name: str, present: Values) -> str:
    """Return why a numeric column is not used as a feature; empty if it is used."""
    numbers = cast("Floats", present)
    if len(present) == 0 or numbers.min() == numbers.max():
        return "all its values are the same" if len(present) else "it has no values"
    if not np.isfinite(present.astype(float)).all():
        raise DataError(
            f"column {name!r}",
            "infinite values",
            "finite numbers",
            "Correct or remove these rows",
        )
    whole = present.dtype.kind in "iu" or bool(np.all(present == np.round(present.astype(float))))
    if whole and np.abs(present.astype(float)).max() > 2**53:
        return "integers of this size are identifiers, not measurements"
    distinct = whole and len(np.unique(present)) == len(present)
    counted = distinct and float(numbers.max()) - float(numbers.min()) + 1 == len(present)
    if counted or (distinct and _ROW_NAME.search(name)):
        return "its numbers identify the rows"
    return ""


def _text_problem(present: Values) -> str:
    """Return why a column without numbers is not used as a feature; empty if it is used."""
    if len(present) == 0:
        return "it has no values"
    if present.dtype.kind in "mM" or not isinstance(present[0], (str, bool, np.bool_)):
        return "dates and other objects are not numbers; use the year, month or age instead"
    if all(_DATE.match(str(v)) for v in present[:100]):
        return "dates are not numbers; use the year, month or age instead"
    levels = len(np.unique(present.astype(str)))
    if levels == 1:
        return "all its values are the same"
    return f"it has {levels:,} different texts" if levels > MOST_LEVELS else ""


# ---------------------------------------------------------------------------------------- models
@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model: its name, its quantity and its quality."""

    name: str
    quantity: Quantity
    quality: str


def fit(problem: Problem, seed: int) -> Iterator[Fitted]:
    """Fit both models on three quarters of the rows; yield each when it is fitted."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import train_test_split

    y, places = problem.y, np.arange(len(problem.y))
    several = problem.class_ is not None and np.unique(y, return_counts=True)[1].min() >= 2
    train, test = map(
        np.asarray,
        train_test_split(
            places, test_size=0.25, random_state=seed, stratify=y if several else None
        ),
    )
    for name, model in _models(problem, len(train), seed).items():
        # The number of iterations is limited on purpose; the held-out rows show the quality.
        with quiet(category=ConvergenceWarning):
            _fit_in_units(model, problem.table.take(train).data, y[train])
        yield Fitted(name, _quantity(model, problem), _quality(model, problem, train, test))


def _quantity(model: Any, problem: Problem) -> Quantity:
    if problem.class_ is not None:
        name = f"P({problem.target} = {problem.class_})"
        return probability(model, class_=problem.class_, name=name)
    unit = (problem.units or {}).get(problem.target)
    return prediction(model, unit=unit)


def _models(problem: Problem, rows: int, seed: int) -> dict[str, Any]:
    """Return both models, not yet fitted."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline

    classes = problem.class_ is not None
    boosting: Any = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    network: Any = MLPClassifier if classes else MLPRegressor
    many = rows >= 2000
    size = (
        {"max_leaf_nodes": 16, "max_iter": 250} if many else {"max_leaf_nodes": 8, "max_iter": 150}
    )
    trees = boosting(
        learning_rate=0.15 if many else 0.08, early_stopping=True, random_state=seed, **size
    )
    neural = network(
        hidden_layer_sizes=(32, 32),
        activation="tanh",
        alpha=2.0 * min(1.0, 500 / rows),
        learning_rate_init=0.005,
        max_iter=40 if many else 100,
        early_stopping=many,
        random_state=seed,
    )
    coded, scaled = _encoders(problem)
    return {
        "gradient boosting": trees if coded is None else make_pipeline(coded, trees),
        "neural network": make_pipeline(*scaled, neural),
    }


def _encoders(problem: Problem) -> tuple[Any, list[Any]]:
    """Return the encoder of text for the trees, and the imputer, scaler and encoder for the network."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    table, nominal = problem.table, list(problem.nominal)
    numeric = [n for n in table.names if n not in nominal]
    has_missing = any(missing_mask(table.column(n)).any() for n in numeric)
    # Only scalers, so that the network's derivatives remain available in closed form.
    scale: list[Any] = [SimpleImputer()] * has_missing + [StandardScaler()]
    if not nominal:
        return None, scale
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    coded = make_column_transformer((codes, nominal), remainder="passthrough")
    parts = [(make_pipeline(*scale), numeric), (levels, nominal)]
    return coded, [make_column_transformer(*parts[not numeric :])]


def _fit_in_units(model: Any, X: TableLike, y: Values) -> None:
    """Fit a model; for a network, scale the target and fold the scale into the last layer."""
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    if type(last).__name__ != "MLPRegressor":
        model.fit(X, y)
        return
    numbers = y.astype(float)
    mean, sd = float(numbers.mean()), float(numbers.std())
    model.fit(X, (numbers - mean) / sd)
    last.coefs_[-1] = last.coefs_[-1] * sd
    last.intercepts_[-1] = last.intercepts_[-1] * sd + mean


def _quality(model: Any, problem: Problem, train: Ints, test: Ints) -> str:
    y = problem.y
    fitted = model.score(problem.table.take(train).data, y[train])
    held = model.score(problem.table.take(test).data, y[test])
    if problem.class_ is None:
        return f"R² {held:.2f} on {len(test):,} held-out rows ({fitted:.2f} on the training rows)."
    usual = np.unique(y[test], return_counts=True)[1].max() / len(test)
    return (
        f"accuracy {held:.2f} on {len(test):,} held-out rows ({fitted:.2f} on the training rows; "
        f"{usual:.2f} for always predicting the most frequent class)."
    )


# ------------------------------------------------------------------------------- results as text
MAX_ROWS_SHOWN = 8
"""Largest number of features in the table; the page has all."""


FIGURES = 2
"""Number of features whose figures are written as files."""


def ranking(sections: Sequence[ModelSection]) -> Lines:
    """Return a table of the importance and the heterogeneity score of each feature, for all models."""
    first = sections[0]
    order = sorted(first.rhale, key=lambda name: -effect_size(first.rhale[name]))
    table = Lines(
        title=escape(f"Effects on {first.axis}"),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption=None
        if len(order) <= MAX_ROWS_SHOWN
        else f"and {len(order) - MAX_ROWS_SHOWN} more on the page",
        caption_justify="left",
    )
    table.add_column("feature", overflow="fold")
    for one in sections:
        table.add_column(escape(f"{one.name}\nimportance"), justify="right")
        table.add_column("\nheterogeneity", justify="right")
    for name in order[:MAX_ROWS_SHOWN]:
        cells: list[str] = []
        for one in sections:
            effect = one.rhale[name]
            score, importance = effect.heterogeneity_score, effect.importance
            cells += [number_or_zero(importance, score), number_or_zero(score, importance)]
        table.add_row(escape(name), *cells)
    return table


def sentences(content: ReportContent) -> dict[str, list[str]]:
    """Return what the page says first of the first model, and of both: what they have in common, where they differ."""
    content = content.drawn_at("prediction")  # as the page is
    first = content.sections[0]
    both = [models_findings(one, content.features) for one in Views.of(content.sections).together]
    found = {
        first.name: first_findings(findings(first)),
        "both models": [f for one in both for f in one],
    }
    return {name: [f.text for f in said] for name, said in found.items()}


# ----------------------------------------------------------------------------- the demonstration
SMALL_ROWS = 50_000
"""Number of rows below which more than one thread slows the demonstration down."""


MANY_ROWS = 100_000
"""Number of rows above which a sample is suggested."""


def demo(
    data: str | Path | None = None,
    target: str | None = None,
    out: str | Path = "skedasis-demo",
    *,
    class_: str | None = None,
    rows: int | None = None,
    random_state: int = 0,
    progress: bool | None = None,
    console: Console | None = None,
) -> Report:
    """Fit two models, explain them, and write a page and its figures."""
    from rich.console import Console

    started = time.perf_counter()
    _check(data, target, out, rows)
    console = console or Console()
    problem = default_problem() if data is None else user_problem(data, target, class_)
    _print_problem(console, problem)
    with _limit_threads(len(problem.table)):
        models: list[Fitted] = []
        for fitted in fit(problem, random_state):
            _say(console, f"{fitted.name}: {fitted.quality}")
            models.append(fitted)
        content = _explain(problem, models, rows, random_state, progress)
        _print_results(console, content)
        folder = Path(out)
        title = f"What two models learned about {problem.subject}"
        report = write(content, folder / "report.html", title=title, progress=progress)
        report = replace(report, figures=tuple(_write_figures(content, folder / "figures")))
    _print_files(console, report, time.perf_counter() - started)
    return report


def _check(data: str | Path | None, target: str | None, out: str | Path, rows: int | None) -> None:
    if importlib.util.find_spec("sklearn") is None:
        fix = "Install it: pip install 'skedasis[sklearn]'"
        raise DataError("demo", "no scikit-learn", "scikit-learn", fix)
    if data is None and target is not None:
        got, fix = f"{target!r} without a file", "Name the file: --data my.csv"
        raise DataError("--target", got, "a column of a file", fix)
    if rows is not None and rows < 1:
        raise DataError("--rows", str(rows), "at least 1", "Leave it out for all rows")
    if Path(out).is_file():
        raise DataError("--out", f"the file {str(out)!r}", "a folder", "Choose another name")


def _limit_threads(rows: int) -> contextlib.AbstractContextManager[object]:
    """Limit small problems to one thread: with several threads, waiting can make them a hundred times slower."""
    if rows >= SMALL_ROWS:
        return contextlib.nullcontext()
    # threadpoolctl limits only libraries that are already loaded, so import them first.
    for library in ("sklearn.ensemble", "sklearn.neural_network"):
        importlib.import_module(library)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def _explain(
    problem: Problem,
    models: Sequence[Fitted],
    rows: int | None,
    seed: int,
    progress: bool | None,
) -> ReportContent:
    table, remarks = problem.table, problem.remarks
    if rows is not None and rows < len(table):
        some = np.sort(np.random.default_rng(seed).choice(len(table), rows, replace=False))
        drawn = f"a random sample of {rows:,} of {len(table):,} rows"
        remarks = (f"This page is about {drawn}.", *remarks)
        table = table.take(some)
    quantities = {m.name: m.quantity for m in models}
    notes = {m.name: m.quality for m in models}
    # Without numba, tree evaluation would warn; calling the model is fast enough here.
    tree: TreeMode = "auto" if importlib.util.find_spec("numba") else "off"
    content = gather(
        quantities,
        table.data,
        schema=problem.schema,
        notes=notes,
        random_state=seed,
        progress=progress,
        tree=tree,
    )
    return replace(content, data=(f"{problem.source}.",), remarks=(*remarks, *content.remarks))


def _write_figures(content: ReportContent, folder: Path) -> Iterator[Path]:
    """Draw the overview of the first model, and its most important features, as PNG files."""
    from skedasis.report import figures as report_figures

    first = content.sections[0]
    drawn = [
        report_figures.overview_png(first),
        *(report_figures.rhale_png(first, name) for name in most_important(first, FIGURES)),
    ]
    for figure in drawn:
        path = folder / f"{report_figures.file_name(first.name, figure.name)}.png"
        write_bytes(path, figure.png, "--out")
        yield path


# --------------------------------------------------------------------------------------- printing
def _print_problem(console: Console, problem: Problem) -> None:
    aim = problem.target if problem.class_ is None else f"{problem.target} = {problem.class_}"
    size = f"{len(problem.table):,} rows, {counted(len(problem.table.names), 'feature')}"
    _say(console, f"{problem.source}: {size}, to predict {aim}")
    for sentence in (*problem.notes, *problem.remarks):
        _say(console, f"  {sentence}", "dim")
    if len(problem.table) > MANY_ROWS:
        _say(console, "  This takes a while. Use --rows 20000 to explain a sample.", "dim")


def _print_results(console: Console, content: ReportContent) -> None:
    console.print()
    console.print(ranking(content.sections))
    for name, said in sentences(content).items():
        _say(console, f"{name}:", "bold")
        for sentence in said:
            console.print(f"• {sentence}", markup=False, highlight=False)


def _print_files(console: Console, report: Report, seconds: float) -> None:
    console.print()
    _say(console, f"All features, with curves, bins and warnings: {report.path}")
    if report.figures:
        _say(console, f"{len(report.figures)} figures: {report.figures[0].parent}")
    _say(console, f"This took {seconds:.0f} s.", "dim")


def _say(console: Console, text: str, style: str = "") -> None:
    """Print a line without markup or wrapping, because paths and column names may look like markup."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
