"""The options of `explain`, which `report`, `diagnose`, `null_distribution` and the shell share."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, wraps
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Literal,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    get_args,
)

from skedasis._arguments import (
    as_bytes,
    check_flag,
    check_int,
    check_int_or_none,
    check_number,
    check_option,
    check_threads,
    is_int,
    is_number,
    shown,
)
from skedasis._calls import misfit
from skedasis._error_state import with_own_errors
from skedasis._progress import one_call
from skedasis._types import Container, TreeMode
from skedasis.data.dataset import Dataset, RowSample, as_dataset
from skedasis.engine.select import loaded
from skedasis.errors import DataError, UnsupportedError
from skedasis.registry import METHODS, load_plugins
from skedasis.stats.moments import WeightKind
from skedasis.stats.random import RandomState, as_seed
from skedasis.stream.spool import DASK, at_hand, spool_kind

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from skedasis.data.features import Groups, Schema
    from skedasis.engine.argument_types import FeatureList, SplitBy
    from skedasis.engine.cross_validation import CrossValidation
    from skedasis.methods.base import Parameters
    from skedasis.stream.cluster import Client

# ------------------------------------------------------------------------------------------
# Keywords, for type checkers and editors. The text below a key is what editors show, and the help text of the option.


class RowsKeywords(TypedDict, total=False):
    """The keywords of all functions that evaluate a model at rows."""

    schema: Schema | None
    """Kinds, units and orders of levels of columns whose types do not determine them."""
    random_state: RandomState
    """Random seed."""
    sample: int | None
    """Number of rows to explain, drawn at random. By default all."""
    memory: int | str
    """Memory for batches, such as "1GB"."""
    keep_rows: int | str
    """Memory for the rows that results keep."""
    n_jobs: int
    """Number of threads; -1 for one per processor."""
    progress: bool | None
    """Whether to show a progress bar if the work takes longer than five seconds."""
    tree: TreeMode
    """Whether tree ensembles are explained from their structure, without model calls."""


class CommonKeywords(RowsKeywords, total=False):
    """The keywords that `explain`, `report`, `diagnose` and `null_distribution` share."""

    sample_weight: ArrayLike | None
    """Frequencies: a weight of 2 equals repeating the row, a weight of 0 means that it is absent."""


class ReportKeywords(CommonKeywords, total=False):
    """The keywords that `report` passes on to `explain`."""

    groups: Groups | None
    """Columns that are explained together as one nominal feature."""
    heterogeneity_rows: int | None
    """Largest number of rows for the heterogeneity scores; 0 computes no scores."""
    max_model_rows: int | None
    """Largest number of rows at which the model is called. By default there is no limit."""


class TwoTableKeywords(RowsKeywords, total=False):
    """The keywords of functions of two tables, each with its own labels, weights and identifiers."""

    weight_kind: WeightKind
    """What weights mean for standard errors."""
    max_model_rows: int | None
    """Largest number of rows at which the model is called. By default there is no limit."""


class LimitedKeywords(CommonKeywords, TwoTableKeywords, total=False):
    """The keywords of functions that keep to a number of model rows."""

    row_id: ArrayLike | None
    """Unique row identifiers."""


class RowValuesKeywords(LimitedKeywords, total=False):
    """The keywords of functions that evaluate the rows as they are."""

    client: Client | None
    """A client of a Dask cluster, on which data that are read in chunks are explained."""


class DiagnoseKeywords(LimitedKeywords, total=False):
    """The keywords that `diagnose` passes on to `explain`."""

    groups: Groups | None
    """Columns that are explained together as one nominal feature."""


class WhatIfKeywords(DiagnoseKeywords, total=False):
    """The keywords that `what_if` passes on to the work of `explain`."""

    y: ArrayLike | None
    """For quantities and methods that need labels."""
    client: Client | None
    """A client of a Dask cluster, on which data that are read in chunks are explained."""


class ScoredKeywords(WhatIfKeywords, total=False):
    """The keywords that `explain` and `interactions` share."""

    heterogeneity_rows: int | None
    """Largest number of rows for the heterogeneity scores; 0 computes no scores."""


class ExplainKeywords(ScoredKeywords, total=False):
    """The keywords of `explain` for one model."""

    curves: int
    """Number of rows whose individual curves are computed and kept with each effect; none by default."""
    observed: bool
    """Whether means of label and prediction are kept in cells of each feature."""
    split: SplitBy | None
    """With observed: the column by whose values the means are kept apart, such as training and test rows."""


UNOBSERVED: ExplainKeywords = {"observed": False, "split": None}
"""Options of passes that are not about labels."""


class RefitKeywords(ExplainKeywords, total=False):
    """The keywords of `explain` for several fits of one learner, beside `refits`."""

    cv: CrossValidation | None
    """For refits: the held-out rows on which each is explained."""
    correction: float | None
    """For refits: the ratio of held-out to training rows."""


class MultiModelKeywords(RefitKeywords, total=False):
    """The keywords of `explain` for several models."""

    refits: bool
    """Whether several models are refits of one learner, whose mean is explained; else they are compared."""


class SearchKeywords(TypedDict, total=False):
    """The keywords of `regions` that are about the search."""

    split_on: FeatureList
    """The features that rules may use; by default all others."""
    max_depth: int
    """Largest number of conditions of a rule."""
    alpha: float
    """Level of the test of each split, on rows that did not choose it."""
    min_gain: float
    """Least share of the whole's loss that a split explains."""
    criterion: Literal["auto", "within", "curves"]
    """What splits explain: deviations of local effects (within), or differences of curves (curves); auto chooses."""
    look_ahead: bool
    """Whether two features are divided at once where no single split holds."""
    joint: bool
    """Whether all features get the same regions."""


class FindRegionsKeywords(SearchKeywords, ExplainKeywords, total=False):
    """The keywords of `regions` for one model, or for models to compare."""


class RefitRegionsKeywords(SearchKeywords, RefitKeywords, total=False):
    """The keywords of `regions` for several fits of one learner, beside `refits`."""


Function = TypeVar("Function", bound=Callable[..., object])


def takes_options(keywords: type) -> Callable[[Function], Function]:
    """Return a decorator for a function with ``**keywords: Unpack[...]``, whose signature shows them."""
    names = keywords.__annotations__

    def decorate(function: Function) -> Function:
        given = inspect.signature(function)
        own = [p for p in given.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        shared = [
            inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type
            )
            for f in fields(ExplainOptions)
            if f.name in names
        ]
        signature = given.replace(parameters=[*own, *shared])
        valid = list(signature.parameters)

        @wraps(function)
        def checked(*args: object, **given: object) -> object:
            elsewhere = _parameters_of_methods if "method" in valid else None
            problem = misfit(function.__name__, signature, args, given, elsewhere)
            if problem is not None:
                raise problem
            with one_call():
                if "X" in valid and any(spool_kind(value) for value in (*args, given.get("X"))):
                    return with_own_errors(_with_spooled, function, signature, args, given)
                return with_own_errors(function, *args, **given)

        checked.__dict__["__signature__"] = signature  # what `inspect.signature` and `help` show
        return cast(Function, checked)

    return decorate


def _parameters_of_methods() -> dict[str, str]:
    """Return each parameter of a method, and how it is passed to `explain`."""
    load_plugins()
    return {
        f.name: f"It is a parameter of the method: method={method.call}({f.name}=...)"
        for method in reversed(METHODS.values())
        for f in fields(cast("type[Parameters]", loaded(method)))
    }


def _with_spooled(
    function: Callable[..., object],
    signature: inspect.Signature,
    args: Sequence[object],
    given: dict[str, object],
) -> object:
    """Call a function with rows in memory, or with those that are written to temporary files for the call."""
    valid = signature.parameters
    arguments = signature.bind_partial(*args).arguments | given
    X = arguments.get("X")
    if spool_kind(X) is None:  # another argument is a stream, which the function refuses
        return function(*args, **given)
    roles = {name: arguments.pop(name, None) for name in ("y", "sample_weight", "row_id")}
    client = _check_cluster("client", arguments.get("client"), current=spool_kind(X) == DASK)
    memory = as_bytes(arguments.get("memory", ExplainOptions.memory), "memory")
    with at_hand(X, roles, memory, client) as rows:
        arguments |= rows
        if "client" in valid:
            arguments["client"] = client
        # Positional arguments may not follow one that was left out: all are passed by name.
        return function(**arguments)


# ------------------------------------------------------------------------------------------
# The options, their defaults, help texts and checks.


SCORE_ROWS = 10_000
"""Default number of rows of the heterogeneity scores. The standard error is then about 1 % of the score."""

H_ROWS, H_PAIRS = 200, 10
"""Default of `max_rows` of `interactions`, and of how many of all pairs it computes H² where the model is called."""

MAX_DEPTH, ALPHA, MIN_GAIN = 2, 0.05, 0.01
"""Defaults of the search of `regions`."""


def _check_size(what: str, size: object) -> object:
    as_bytes(size, what)
    return size


def _check_cluster(what: str, client: object, *, current: bool = False) -> object:
    # Imported here: most calls have no cluster.
    from skedasis.stream.cluster import check_client

    return check_client(what, client, current=current)


def _check_refits(what: str, value: object) -> bool:
    return check_flag(what, value, "Use True for refits of one learner, False to compare models")


def _check_progress(what: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    return check_flag(what, value, "Use True, False, or None")


def _check_sample(what: str, rows: object) -> int | None:
    """Return None, or a number of rows; a fraction of them is refused, because 1 and 1.0 would differ."""
    fix = "Use sample=1000"
    if isinstance(rows, str) and rows.strip().isdigit() and int(rows) > 0:
        fix = f"Write the number: sample={int(rows)}"
    if isinstance(rows, float) and rows >= 1 and rows.is_integer():
        fix = f"Write sample={int(rows)}"
    if is_number(rows) and 0 < rows < 1:
        fix = f"Pass the number of rows: sample=int({float(rows):g} * len(X))"
    return check_int_or_none(what, rows, 1, fix, "a number of rows, or None for all")


def _check_heterogeneity_rows(what: str, rows: object) -> int | None:
    """Return None, 0, or an integer of at least 2: rows are compared in pairs."""
    expected = "0, an integer of at least 2, or None for all rows"
    fix = "Use 10_000, or 0 for no heterogeneity score"
    least = 0 if is_int(rows) and rows == 0 else 2
    return check_int_or_none(what, rows, least, fix, expected)


def _check_model_rows(what: str, rows: object) -> int | None:
    return check_int_or_none(what, rows, 1, "Use 100_000, or None for no limit", "a number of rows")


def _check_curves(what: str, rows: object) -> int:
    return check_int(what, rows, 0, "Use 30, or 0 for no curves of rows", "a number of rows")


def _check_correction(what: str, correction: object) -> float | None:
    expected = "a non-negative number: the ratio of held-out to training rows"
    fix = "Use 0.25 for 5-fold cross-validation, 0 for models fitted on independent data"
    return None if correction is None else check_number(what, correction, expected, fix, least=0.0)


def _one_of(options: Sequence[str]) -> Callable[[str, object], object]:
    def check(what: str, value: object) -> object:
        check_option(what, value, options)
        return value

    return check


OptionCheck: TypeAlias = Callable[[str, object], object]
"""Takes the name of an option and its value, and returns the checked value. It does not depend on X."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExplainOptions:
    """The checked options of one call of `explain`."""

    y: ArrayLike | None = None
    sample_weight: ArrayLike | None = None
    schema: Schema | None = None
    groups: Groups | None = None
    random_state: RandomState = field(default=0, metadata={"check": as_seed})
    sample: int | None = field(default=None, metadata={"check": _check_sample})
    memory: int | str = field(default="1GB", metadata={"check": _check_size})
    keep_rows: int | str = field(default="256MB", metadata={"check": _check_size})
    n_jobs: int = field(default=1, metadata={"check": check_threads})
    progress: bool | None = field(default=None, metadata={"check": _check_progress})
    weight_kind: WeightKind = field(
        default="frequency", metadata={"check": _one_of(get_args(WeightKind))}
    )
    row_id: ArrayLike | None = None
    tree: TreeMode = field(default="auto", metadata={"check": _one_of(get_args(TreeMode))})
    client: Client | None = field(default=None, metadata={"check": _check_cluster})
    heterogeneity_rows: int | None = field(
        default=SCORE_ROWS, metadata={"check": _check_heterogeneity_rows}
    )
    max_model_rows: int | None = field(default=None, metadata={"check": _check_model_rows})
    curves: int = field(default=0, metadata={"check": _check_curves})
    observed: bool = field(default=False, metadata={"check": check_flag})
    split: SplitBy | None = None
    refits: bool = field(default=False, metadata={"check": _check_refits})
    cv: CrossValidation | None = None
    correction: float | None = field(default=None, metadata={"check": _check_correction})

    @classmethod
    def of(cls, function: str, **keywords: Unpack[MultiModelKeywords]) -> Self:
        """Return the options from the keywords of a public function, whose name a message about the seed states."""
        if "random_state" in keywords:
            what = f"{function}(random_state)"
            keywords["random_state"] = as_seed(what, keywords["random_state"])
        return cls(**keywords)

    def __post_init__(self) -> None:
        for option in fields(self):
            value = vars(self)[option.name]
            check: OptionCheck | None = option.metadata.get("check")
            if check is not None and value is not option.default:
                object.__setattr__(self, option.name, check(option.name, value))
        if self.split is not None and not self.observed:
            raise DataError(
                "split",
                f"{shown(self.split)} without observed=True",
                "observed means, which it keeps apart",
                "Pass observed=True and the labels y, or leave split out",
            )
        if self.observed and self.averages:
            raise UnsupportedError(
                "explain(observed=True)",
                "the mean of several models",
                "one model, or models to compare",
                "Leave out refits=True, cv and correction",
            )

    @property
    def seed(self) -> int:
        """Return the integer that keys all random draws."""
        return cast(int, self.random_state)  # the check has replaced all other random states

    @property
    def averages(self) -> bool:
        """Return whether several models are refits, whose mean is explained; else they are compared."""
        return self.refits or self.cv is not None or self.correction is not None

    @property
    def row_sample(self) -> RowSample | None:
        """Return how the rows are drawn that are explained; None for all rows."""
        return None if self.sample is None else RowSample(self.sample, self.seed)

    def dataset(self, X: object) -> Dataset:
        """Return the rows to explain of X in memory, with labels, weights and identifiers; see `as_dataset`."""
        checked = cast("Container", X)  # by `as_dataset`
        found = as_dataset(
            checked, self.y, self.sample_weight, self.schema, self.row_id, sample=self.row_sample
        )
        return replace(found, sampling_weights=self.weight_kind == "sampling")

    @property
    def memory_bytes(self) -> int:
        """Return the bytes for batches."""
        return as_bytes(self.memory, "memory")

    @property
    def keep_bytes(self) -> int:
        """Return the bytes for the rows that results keep."""
        return as_bytes(self.keep_rows, "keep_rows")

    def changed(self) -> dict[str, object]:
        """Return the options that differ from their defaults."""
        values = ((f.name, vars(self)[f.name], f.default) for f in fields(self))
        # An array has no truth value; the defaults are plain values.
        return {
            name: value
            for name, value, default in values
            if value is not default
            and not (isinstance(value, (int, float, str)) and value == default)
        }

    def diagnose_keywords(self) -> DiagnoseKeywords:
        """Return the options as keywords of `diagnose`."""
        return cast(DiagnoseKeywords, self._named(DiagnoseKeywords))

    def keywords(self) -> ExplainKeywords:
        """Return the options as keywords of `explain` for one model."""
        return cast(ExplainKeywords, self._named(ExplainKeywords))

    def _named(self, keywords: type) -> dict[str, object]:
        return {name: vars(self)[name] for name in keywords.__annotations__}


@cache
def _texts() -> dict[str, str]:
    """Return the text below each key of the dictionaries of keywords, which Python itself does not keep."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    return {
        key.target.id: str(text.value.value)
        for named in tree.body
        if isinstance(named, ast.ClassDef) and named.name.endswith("Keywords")
        for key, text in itertools.pairwise(named.body)
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def help_of(name: str) -> str:
    """Return the help text of an option: the text that editors show for its keyword."""
    return _texts()[name]


@dataclass(frozen=True)
class Need:
    """What a caller of `explain`'s work needs at hand, of data that are read in chunks, beside what the method does.

    Parameters
    ----------
    column : str or int, optional
        A column that gives regions, of which the values or levels are counted.
    draw : int
        Least number of rows that are drawn.
    kept_features : bool
        Whether all features of the kept rows are read into memory, after the pass that calls the model.
    counts : bool
        Whether the values and levels of the explained features are counted.
    """

    column: Hashable = None
    draw: int = 0
    kept_features: bool = True
    counts: bool = True
