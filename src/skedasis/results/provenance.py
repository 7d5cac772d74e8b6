"""The record of how a result was computed: every entry of ``result.provenance``, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Required, TypedDict, cast

from skedasis._types import Floats, Ints, Json, JsonValue
from skedasis.models.calling import CallStats


class SlopeCheckRecord(TypedDict):
    """The check of slopes against differences (`skedasis.results.checks.slope_check`).

    Attributes
    ----------
    distance, limit : float
        Root mean square distance of the two curves, and the distance that is allowed.
    range, range_limit : float
        Largest minus smallest distance of the two curves along the axis, and what is allowed.
    rows : int
        Number of rows at which differences were computed.
    """

    distance: float
    limit: float
    range: float
    range_limit: float
    rows: Required[int]


class Provenance(TypedDict, total=False):
    """The entries of a provenance, all of which can be written as JSON.

    Results of `explain` have all required entries, and those of the others that apply to them: ask by ``get``.

    Surfaces of categorical features also have the entries ``"order of <feature>"``.

    Attributes
    ----------
    method : str
        The method, and in `settings` its parameters.
    settings : dict
    instead_of : str
        The method that was asked for, where another one was used, and why.
    quantity, unit : str
        The quantity and its unit.
    features : list of str or of list of str
        The explained features, or pairs of features.
    versions : dict of str to str
        Versions of this package, of Python and of the libraries used.
    random_state : int
    n_jobs, model_threads : int
        Threads of this package, and of the model.

    rows : int
        Number of rows that were explained.
    weight : float
        Their weight.
    exact : bool
        Whether the result is of all rows, and no edge was moved.
    source : str
        Data that were read in chunks.
    passes : int
        How often they were read, the passes that call the model included.
    source_rows : int
        Rows of which `rows` are a sample.
    sample : int
        Number of rows that were drawn because the caller asked for a sample (`sample=`).
    donors : int
        For a permutation importance of data that are read in chunks: number of rows whose values replace others.
    missing : str
        How the point of missing values was computed.
    rows_outside : int
        Rows outside the edges or the grid, or with levels that were left out.
    weight_outside : float
        The weight of the rows outside the edges.
    unlabelled_rows : int
        Rows without a label, which the observed means leave out. Not known of data that are read in chunks.
    rows_in_cells : int
        For a surface: rows inside its cells.
    rows_kept : int or str
        How many rows the result keeps.
    kept_as_wanted : bool
        Whether as many rows were kept as ``keep_rows`` asked for.

    model_rows, model_calls : int
        All rows at which the model was evaluated in this call, and all calls of the model: the sums of the next parts.
    effect_rows, effect_calls, check_rows, check_calls, score_rows, score_calls : int
        The parts: those of the effect, surface or importance itself, with its second rounds and the H² of interactions;
        of the checks of the model and of its slopes; of the heterogeneity scores with the spreads.
    slope_rows, slope_calls : int
        Rows at which a derivative of the model was evaluated, and calls of it. They are not among the model rows.
    model_seconds, seconds : float
        Time inside the model and its derivative, and in all.
    score_exact : bool
        Whether the heterogeneity score is of all rows.
    max_model_rows : int
        The limit of the model rows, if there was one.
    left_out : list of str
        What was left out to keep to it.
    curve_rows, curve_calls : int
        The part of individual curves, if these were asked for (`curves=`).
    vif : float
        Variance inflation factor of the feature by the other columns, which decides how near in value the pairs of rows
        of the heterogeneity score are.
    trees : str
        How trees were evaluated instead of calling the model.
    shap : str
        Where SHAP values come from.
    background_rows : int
        Rows over which the quantity is averaged for SHAP values.
    tree_rows : int
        Rows that the trees were evaluated at.
    h2_rows, h2_pairs : int
        For interactions: rows that H² is computed from, and pairs.

    local_effects : str
        What the local effects are, and where slopes come from.
    promoted : str
        The type of a column of whole numbers, and the one in which the model got it for points that are fractions.
    slope_check : SlopeCheckRecord
        Slopes in comparison with differences.
    grid : str or list of str
        How the points of a PDP were chosen.
    order, order_chosen : list of str, str
        The order of levels, and how it was chosen.
    rounding : float
        Possible rounding error of the quantity.
    empty_cells : str
        For a surface: "nearest" or "left empty".
    main_effects : str
        For a surface with main effects: "own" or "given".

    rebinned : dict
        The binning of `rebin`.
    rebinned_note, approximated : str
        What `rebin` could not compute, and where it moved edges.

    spread : str
        Why an effect of an earlier version's file has no spread.
    rule : str
        For the effect of a region: its rule, such as "workingday = 0".
    by : str
        For given regions: how they were given.
    split_on : list of str or None
        For regions: the features that could be conditions; None for all others.
    max_depth : int
    alpha, min_gain : float
        For regions: the settings of the search (`skedasis.regions`).
    region_score_rows, region_score_calls : int
        For regions: the part of the heterogeneity scores and spreads within the regions.

    metric : str
        For a permutation importance: the metric.
    greater_is_better : bool
        Whether a larger metric is better.
    floored_rows : int
        Rows whose probability was raised to a floor.
    mean_of : dict
        For the mean over several models: their provenance, and in `models` their number.
    models : int
    model_names : list of str
        The names of several models that were given by name.
    """

    method: Required[str]
    settings: Required[dict[str, JsonValue]]
    instead_of: str
    quantity: Required[str]
    unit: Required[str | None]
    features: Required[list[str] | list[list[str]]]
    versions: Required[dict[str, str]]
    random_state: Required[int]
    n_jobs: Required[int]
    model_threads: int
    rows: int
    weight: Required[float]
    exact: Required[bool]
    source: str
    passes: int
    source_rows: int
    sample: int
    donors: int
    missing: str
    rows_outside: int
    unlabelled_rows: int
    weight_outside: float
    rows_in_cells: int
    rows_kept: Required[int | str]
    kept_as_wanted: Required[bool]
    model_rows: Required[int]
    model_calls: Required[int]
    effect_rows: Required[int]
    effect_calls: Required[int]
    model_seconds: Required[float]
    seconds: Required[float]
    slope_rows: Required[int]
    slope_calls: Required[int]
    check_rows: Required[int]
    check_calls: Required[int]
    score_rows: Required[int]
    score_calls: Required[int]
    score_exact: Required[bool]
    max_model_rows: int
    left_out: list[str]
    curve_rows: int
    curve_calls: int
    vif: float
    trees: str
    shap: str
    background_rows: int
    tree_rows: int
    h2_rows: int
    h2_pairs: int
    local_effects: str
    promoted: str
    slope_check: SlopeCheckRecord
    grid: str | list[str]
    order: list[str]
    order_chosen: str
    rounding: float
    empty_cells: str
    main_effects: str
    rebinned: JsonValue
    rebinned_note: str
    approximated: str
    spread: str
    rule: str
    by: str
    split_on: list[str] | None
    max_depth: int
    alpha: float
    min_gain: float
    region_score_rows: int
    region_score_calls: int
    metric: str
    greater_is_better: bool
    floored_rows: int
    mean_of: JsonValue
    models: int
    model_names: list[str]


PARTS = ("effect", "check", "score", "curve", "region_score")
"""The parts of a call's cost, whose rows and calls of the model add up to all of them."""

COSTS = (
    *(f"{name}_{kind}" for name in ("model", *PARTS, "slope") for kind in ("rows", "calls")),
    *("tree_rows", "model_seconds"),
)
"""The entries of a provenance that state its cost, and add up over several passes."""


def add_cost(record: dict[str, JsonValue], part: str, cost: CallStats) -> None:
    """Add the cost of a part to a record, and to its totals."""
    more = {"slope_rows": cost.slope_rows, "slope_calls": cost.slope_calls}
    for name in ("model", part):
        more |= {f"{name}_rows": cost.rows, f"{name}_calls": cost.calls}
    for key, count in more.items():
        record[key] = _number(record, key) + count
    record["model_seconds"] = _number(record, "model_seconds") + cost.seconds


def summed_costs(records: Sequence[Mapping[str, object]]) -> dict[str, JsonValue]:
    """Return the cost of several passes together."""
    return {
        key: sum(_number(record, key) for record in records)
        for key in COSTS
        if any(key in record for record in records)
    }


def _number(record: Mapping[str, object], key: str) -> int | float:
    value = record.get(key, 0)
    return value if isinstance(value, (int, float)) else 0


def with_total(record: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a record with the model rows of all parts: those of earlier versions were those of the effect alone."""
    if "model_rows" not in record or "effect_rows" in record:
        return {**record}
    found = {**record}
    for kind in ("rows", "calls"):
        found[f"effect_{kind}"] = record.get(f"model_{kind}", 0)
        found[f"model_{kind}"] = sum(_number(found, f"{part}_{kind}") for part in PARTS)
    return found


def model_names(provenance: Mapping[str, object], models: int) -> list[str] | list[int]:
    """Return the names of several models, where they were given by name; else their numbers, from 0."""
    names = provenance.get("model_names")
    return names if isinstance(names, list) else list(range(models))


def as_provenance(entries: Mapping[str, object]) -> Provenance:
    """Return entries as a provenance: methods add notes as dictionaries, whose entries type checkers cannot know."""
    return cast("Provenance", {**entries})


class _Counted(Protocol):
    """Bins or moments, with the number and the weight of the rows in each."""

    @property
    def count(self) -> Ints | Floats: ...
    @property
    def weight(self) -> Floats: ...


def rows_outside(known: Provenance, old: _Counted, new: _Counted) -> dict[str, float]:
    """Return the entries about the rows outside other bins; inside and outside they are as many as before."""
    outside = known.get("rows_outside", 0)
    rows = outside + int(old.count.sum() - new.count.sum())
    weight = known.get("weight_outside", outside) + float(old.weight.sum() - new.weight.sum())
    return {"rows_outside": rows, "weight_outside": weight if rows else 0.0}


no_provenance = cast("Callable[[], Provenance]", dict)
"""Returns a provenance without entries, to which `explain` adds its own."""


def merged(provenances: Sequence[Provenance]) -> Provenance:
    """Return the entries of several results: of each entry the last one, and all keys of dictionaries."""
    entries: Json = {**provenances[0]}
    for provenance in provenances:
        for key, value in provenance.items():
            entries[key] = {**entries[key], **value} if isinstance(value, dict) else value
    return as_provenance(entries)
