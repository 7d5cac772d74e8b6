"""What a method is: `FeatureMethod` and `PairMethod` plan, compute and finalize, `ResolvedMethod` returns them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    runtime_checkable,
)

import numpy as np

from skedasis._types import Bools, Center, JsonValue, ResultKey
from skedasis.binning import Binning, Edges, Quantile, Uniform, as_binning
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature, Groups, find_feature
from skedasis.errors import UnsupportedError
from skedasis.methods.plans import BatchStats, CellPlan, Notes
from skedasis.models.adapters import DerivativeInfo, LocalEffectKind
from skedasis.models.protocols import has_predict
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.registry import call_of, listed_methods
from skedasis.results.effect import About, Spec
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.results.change import Change
    from skedasis.results.effect import Effect
    from skedasis.results.importance import Importance
    from skedasis.results.surface import Surface
    from skedasis.stats.heterogeneity_score import HeterogeneityScore

Scheme: TypeAlias = Binning | int | Literal["auto"]
"""The parameter `bins` for one feature."""

MethodResult: TypeAlias = "Effect | Surface | Importance | Change"


# --- what a method is -----------------------------------------------------------------------------


ColumnT = TypeVar("ColumnT")
PlanT = TypeVar("PlanT")
ResultT_co = TypeVar("ResultT_co", covariant=True)
BaseT_co = TypeVar("BaseT_co", bound="Parameters", covariant=True)


class WithParameters(ABC):
    """What has the name and the parameters of a method that users write."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the public class."""

    @abstractmethod
    def describe(self) -> dict[str, JsonValue]:
        """Return the parameters as plain values."""

    def spec(
        self, center: Center | Literal["anchor"], local_effects: LocalEffectKind, kind: WeightKind
    ) -> Spec:
        """Return the settings that a result needs, for weights of a kind."""
        return Spec(self.name, center, local_effects, weight_kind=kind, parameters=self.describe())


class Method(WithParameters, Generic[PlanT]):
    """What the engine asks of every method, for one feature or for two, with the answer of most methods."""

    uses_slopes = False
    """Whether the method needs derivatives, so that the quantity is checked for them."""
    moves_rows = True
    """Whether the quantity is evaluated at rows with other values than were observed."""
    means_only = False
    """Whether only means over rows are needed, so that trees may sum leaves without evaluating rows."""
    leaves_out_missing = True
    """Whether rows with a missing value of the feature are evaluated only to compute the effect of missing it."""
    batch_rows = None
    """Maximum number of rows per batch for which its arrays stay in the processor's cache; None for no limit."""

    def points_per_call(self, plans: Sequence[PlanT]) -> int:
        """Return the maximum number of values per row in one call of the model, which limits the size of batches."""
        return 1

    def grid_size(self, plans: Sequence[PlanT]) -> int:
        """Return the number of values per row over all calls, if rows are evaluated on a grid, else 0."""
        return 0

    def floats_per_row(self, plans: Sequence[PlanT]) -> int:
        """Return the number of floats held in memory per row, which limits the size of batches."""
        return 0

    def n_rows_to_keep(self, rows: int) -> int:
        """Return the number of rows to keep, if memory allows."""
        return rows

    @abstractmethod
    def row_bytes(self, plan: PlanT) -> int:
        """Return the bytes needed to keep one row."""

    def with_fine_cells(self, plan: PlanT) -> PlanT:
        """Return a plan with fine cells, from whose moments other bins can be formed if not all rows can be kept.

        By default the plan itself: levels, grids, and cells across which differences are taken cannot be refined.
        """
        return plan

    @abstractmethod
    def compute(self, evaluator: BatchEvaluator, plan: PlanT, keep: Bools | None) -> BatchStats:
        """Return the statistics of one batch, with the arrays of the rows where `keep` is True (None: all rows)."""


class FeatureMethod(Method[PlanT], Generic[ColumnT, PlanT, ResultT_co]):
    """A method for one feature: numeric, categorical, or of any kind (PFI)."""

    of_rows: Literal["effects", "curves"] | None = None
    """What is known of single rows: local effects in bins or between levels, whole curves, or nothing."""
    checks_slopes = False
    """Whether slopes are compared with the differences of the quantity across the bins."""
    replaces_slopes = False
    """Whether slopes that do not match the differences of the quantity are replaced by differences."""

    @property
    def scored(self) -> bool:
        """Whether its effects have a heterogeneity score (see `skedasis.stats.heterogeneity_score`)."""
        return self.of_rows is not None and not self.means_only

    @property
    def compares_missing(self) -> bool:
        """Whether rows with a missing value are compared with observed values (see `skedasis.methods.missing`)."""
        return self.leaves_out_missing

    @abstractmethod
    def read_column(self, dataset: Dataset, feature: Feature) -> ColumnT:
        """Return the feature's column in the form that `plan` takes."""

    def observed_only(self, column: ColumnT) -> bool:
        """Return whether the model is evaluated only at observed values of the feature."""
        return False

    def choosing_scheme(self) -> Binning | None:
        """Return the scheme if it chooses bins from the local effects, which several models then share, else None."""
        return None

    def with_scheme(self, scheme: Binning) -> Self:
        """Return the method with another scheme. Only if `choosing_scheme` returns one."""
        return self

    @abstractmethod
    def plan(self, column: ColumnT, derivative_info: DerivativeInfo) -> PlanT:
        """Choose the cells from the column."""

    def may_continue(self, plan: PlanT) -> bool:
        """Return whether `next_round` may plan another round after that of this plan."""
        return False

    def next_round(
        self,
        plan: PlanT,
        local: BatchStats,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> PlanT | None:
        """Return the plan of another round over the rows, given the statistics so far, or None if none is needed."""
        return None

    @abstractmethod
    def finalize(
        self, plan: PlanT, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> ResultT_co:
        """Return the result from the statistics of all batches."""


ColumnPair: TypeAlias = tuple[Column | LevelColumn, Column | LevelColumn]


class PairMethod(Method[PlanT]):
    """A method for two features."""

    @abstractmethod
    def read_column(self, dataset: Dataset, feature: Feature) -> Column | LevelColumn:
        """Return the column of one of the features; pairs with a feature in common share it."""

    @abstractmethod
    def plan(
        self, columns: ColumnPair, derivative_info: tuple[DerivativeInfo, DerivativeInfo]
    ) -> PlanT:
        """Choose the cells from both columns."""

    @abstractmethod
    def finalize(
        self,
        plan: PlanT,
        stats: BatchStats,
        about: tuple[About, About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> Surface:
        """Return the result from the statistics of all batches."""


# The engine holds methods of different kinds in one list, and gives each only columns and plans that it made itself.
# Python's types cannot express this relation, so the parameters are Any, here and nowhere else.
AnyFeatureMethod: TypeAlias = FeatureMethod[Any, Any, "MethodResult"]
AnyPairMethod: TypeAlias = PairMethod[Any]


class ResolvedMethod(WithParameters):
    """The user's method once the rows are known (`Parameters.for_rows`): it has a variant for each feature or pair."""

    cheaper = "fewer features, or a sample of the rows"
    """What costs fewer model rows, for a warning."""

    @abstractmethod
    def for_feature(self, feature: Feature) -> AnyFeatureMethod:
        """Return the variant for a feature."""

    def substitute_for(self, feature: Feature) -> AnyFeatureMethod:
        """Return the variant for a categorical feature that was not named, or without a named method.

        By default as for one that was named. A method without a variant for it may return another method's.
        """
        return self.for_feature(feature)

    def for_pair(self, features: tuple[Feature, Feature]) -> AnyPairMethod:
        """Return the variant for two features; raise `UnsupportedError` if there is none."""
        names = ", ".join(repr(f.name) for f in features)
        raise UnsupportedError(
            f"{self.name} of ({names})",
            "two features",
            f"a method for pairs: {listed_methods(lambda m: m.pairs)}",
            "Use method=sd.ALE()",
        )

    def combine_features(
        self, results: Mapping[ResultKey, MethodResult], record: Notes
    ) -> Importance | None:
        """Return one result of all features; None if each feature has a result of its own."""
        return None


# --- base classes ---------------------------------------------------------------------------------


@runtime_checkable
class _HasColumns(Protocol):
    """A data frame."""

    @property
    def columns(self) -> object: ...


@dataclass(frozen=True)
class Parameters(ResolvedMethod):
    """Base class of the public methods: their variants, what they need, and a description of the parameters."""

    top_levels = None
    """Number of most frequent levels to use of a categorical feature; None for all."""
    by_feature: ClassVar[tuple[str, ...]] = ()
    """The parameters that may be mappings by features."""
    donor_rows = 0
    """Number of drawn rows that must be at hand beside each chunk of data beyond memory, because rows get the values of
    other rows; 0 if changes of a row depend on cells or levels. With donors, a column may be in several groups."""

    @property
    def name(self) -> str:
        return type(self).__name__

    def rows_and_groups(
        self, dataset: Dataset, groups: Groups | None, seed: int
    ) -> tuple[Dataset, Groups | None]:
        """Return the rows and groups to use; by default the caller's."""
        return dataset, groups

    def rows_in_memory(self, n: int) -> int | None:
        """Return how many of n rows beyond memory are drawn, and explained alone; by default None: all are used."""
        return None

    def warn_unused_arguments(self, model: object, y: object) -> None:
        """Warn about arguments that the method ignores, and raise if a required one is missing.

        Called before the run. By default all arguments are accepted.
        """

    def check_no_model(self) -> None:
        """Raise for a model or data as the first parameter: other libraries have classes such as ``PDP(model, X)``."""
        first = next(iter(vars(self).values()))
        is_function = callable(first) and not isinstance(first, type)
        if is_function or has_predict(first) or isinstance(first, _HasColumns):
            raise UnsupportedError(
                f"{self.name}()",
                f"a {type(first).__name__}",
                "parameters of the method only",
                f"Write sd.explain(model, X, method={call_of(self.name)}())",
            )

    def check_features(self, features: Sequence[Feature]) -> None:
        """Raise if a parameter names a feature that does not exist."""
        for parameter in self.by_feature:
            given = vars(self)[parameter]
            for name in given if isinstance(given, Mapping) else ():
                find_feature(features, name, f"{self.name}({parameter})")

    def for_rows(self, quantity: Quantity, dataset: Dataset, seed: int) -> ResolvedMethod:
        """Return the method for these rows; by default the method itself, which needs columns only."""
        return self

    def for_feature(self, feature: Feature) -> AnyFeatureMethod:
        """Return the variant for a feature: by default that for levels."""
        return self.for_levels(feature)

    def for_levels(self, feature: Feature) -> AnyFeatureMethod:
        """Return the variant for a categorical feature; raise `UnsupportedError` if there is none."""
        raise self.no_levels_error(feature)

    def no_levels_error(self, feature: Feature) -> UnsupportedError:
        """Return the error for a categorical feature that the method has no variant for."""
        fix = "Use sd.ALE() or sd.PDP()"
        if str(feature.dtype).lower().startswith(("bool", "int", "uint", "float")):
            fix += f'; if its values are quantities, declare it: schema={{{feature.name!r}: "continuous"}}'
        return UnsupportedError(
            f"{self.name} of {feature.name!r}",
            f"a{'n' * (feature.kind == 'ordinal')} {feature.kind} feature ({feature.dtype})",
            "a numeric feature",
            fix,
        )

    def describe(self) -> dict[str, JsonValue]:
        return {f.name: plain(vars(self)[f.name]) for f in fields(self)}


class NumericMethod(Parameters, FeatureMethod[Column, PlanT, "Effect"]):
    """Base class of the public methods for a numeric feature."""

    def for_feature(self, feature: Feature) -> AnyFeatureMethod:
        """Return itself for a numeric feature, also for an ordinal one of numbers with explicit bins or points."""
        as_numbers = feature.kind == "ordinal" and feature.numeric and self.is_explicit(feature)
        return self.for_levels(feature) if feature.categorical and not as_numbers else self

    def is_explicit(self, feature: Feature) -> bool:
        """Return whether bins or points are given on the axis of the feature."""
        return False

    def read_column(self, dataset: Dataset, feature: Feature) -> Column:
        return numeric_column(dataset, feature)


@dataclass(frozen=True)
class BinnedMethod(NumericMethod[CellPlan]):
    """Base class of the public methods that average in bins: their parameter `bins` is a scheme, or made into one."""

    @abstractmethod
    def binning(self) -> Binning:
        """Return the scheme for features without an entry of their own in `bins`."""

    def choosing_scheme(self) -> Binning | None:
        scheme = self.binning()
        return scheme if scheme.chooses else None

    def with_scheme(self, scheme: Binning) -> Self:
        return replace(self, bins=scheme)


def as_scheme(bins: Scheme, default: Binning, kind: type[Uniform | Quantile]) -> Binning:
    """Return the scheme for a value of `bins`, where a number means so many bins of a kind."""
    auto = isinstance(bins, str) and bins == "auto"  # an array, which is none, has no truth value
    return default if auto else as_binning(bins, kind)


def quantile_scheme(bins: Scheme, default: Binning) -> Binning:
    """Return the scheme where a number means quantiles; a user's edges are then closed on the right, like these."""
    scheme = as_scheme(bins, default, Quantile)
    if isinstance(scheme, Edges) and scheme.closed is None:
        return replace(scheme, closed="right")
    return scheme


def numeric_column(dataset: Dataset, feature: Feature) -> Column:
    """Return the column of a numeric feature, or of an ordinal one whose levels are numbers."""
    column = dataset.column(feature.position)
    column.feature = feature  # a group of one column has the group's name
    return column


@dataclass(frozen=True)
class MethodVariant(Generic[BaseT_co]):
    """Base class of a method's variants for a categorical feature, for two features, or for given rows."""

    base: BaseT_co

    @property
    def name(self) -> str:
        """Return the name of the user's method."""
        return self.base.name

    @property
    def cheaper(self) -> str:
        """Return what costs fewer model rows."""
        return self.base.cheaper

    def describe(self) -> dict[str, JsonValue]:
        """Return the parameters as plain values."""
        return self.base.describe()


# --- helpers for parameters --------------------------------------------------------------


def plain(value: object) -> JsonValue:
    """Return a parameter as a value that JSON can represent."""
    if isinstance(value, Binning):
        return value.describe()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    # Levels may be of any type, such as dates.
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


ValueT = TypeVar("ValueT")
DefaultT = TypeVar("DefaultT")

ByFeature: TypeAlias = Mapping[str, ValueT] | Mapping[int, ValueT] | Mapping[Hashable, ValueT]
"""Values of a parameter by feature. (The type of a mapping's keys is invariant, so that each is named.)"""


def param_for_feature(
    value: ValueT | ByFeature[ValueT], feature: Feature, default: DefaultT
) -> ValueT | DefaultT:
    """Return the value of a parameter for a feature: its entry or the default in a mapping, else the parameter."""
    if not isinstance(value, Mapping):
        return value
    # No parameter has values that are mappings themselves.
    values = cast("Mapping[Hashable, ValueT]", value)
    names: list[Hashable] = [feature.key, feature.name]
    # Column indices are accepted unless labels are numbers, with which they would be confused.
    if isinstance(feature.key, str) or feature.key == feature.position:
        names.append(feature.position)
    return next((value for n in names for key, value in values.items() if key == n), default)
