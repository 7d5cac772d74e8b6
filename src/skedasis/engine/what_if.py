"""`what_if`: what happens to a quantity if features of every row move by a step, or are set to a value."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, Unpack

import numpy as np

from skedasis._arguments import shown
from skedasis._types import Floats, OutputLabel, TableLike
from skedasis.data.dataset import AnyColumn, Dataset, require_rows
from skedasis.data.features import Feature, Groups
from skedasis.engine.assemble import provenance
from skedasis.engine.budget import rows_within_limit
from skedasis.engine.given_regions import GivenRules, column_named_by, regions_given
from skedasis.engine.options import ExplainOptions, Need, WhatIfKeywords, takes_options
from skedasis.engine.prepare import prepare_job
from skedasis.engine.rounds import compute
from skedasis.engine.rows import open_rows, rows_of
from skedasis.engine.select import FeatureSelection, FeatureTask
from skedasis.errors import DataError
from skedasis.methods.base import ResolvedMethod
from skedasis.methods.change import (
    AllRows,
    ForwardDifference,
    Move,
    MovedRows,
    Moves,
    RowRegions,
    read_moves,
)
from skedasis.quantities.outputs import ModelLike, as_quantity, check_one_model
from skedasis.results.change import Change, Changes, Outside
from skedasis.results.checks.extrapolation import N_NEW_ROWS, N_REFERENCE, FeatureSpace
from skedasis.results.multi_output import MultiOutput
from skedasis.results.regions import Regions
from skedasis.stats.heterogeneity_score import score_rows

if TYPE_CHECKING:
    from skedasis.engine.argument_types import ByRegions, MoveLike, Scenarios
    from skedasis.engine.select import Task


@takes_options(WhatIfKeywords)
def what_if(
    model: ModelLike,
    X: TableLike,
    moves: MoveLike | Scenarios | None = None,
    *,
    to: MoveLike | None = None,
    by: ByRegions | None = None,
    **keywords: Unpack[WhatIfKeywords],
) -> Change | Changes | MultiOutput[Change] | MultiOutput[Changes]:
    """Return what happens to a quantity if features of every row move, or are set to a value.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        As in `skedasis.explain`. A quantity with several outputs gives a `MultiOutput` of changes.
    X : array, data frame or ParquetData, n rows
        Rows that move. Never modified.
    moves : mapping of feature to move
        By name, label or position. A number is a step in the feature's unit: ``{"age": 1}``. Text is read as in the
        shell: "+1" and "-1" are steps, "+10%" and "-10%" percentages of each row's value, "x2" a factor, and "40" is a
        value. Times move by a `timedelta`, a number of days, or text such as "+2 weeks". A categorical feature gets
        the level. Several features move at the same time. A mapping of names to such mappings gives several changes
        from one pass: `Changes`, a mapping from these names.
    to : mapping of feature to value, optional
        Settings: the number, time or level that the feature gets in every row, together with `moves`.
    by : str, int, array of n labels, mapping, tuple or Regions, optional
        Regions in which the change is wanted: as in `skedasis.explain`, or the `Regions` that `regions` found.
    y, sample_weight, schema, groups, sample, random_state, memory, keep_rows, n_jobs, progress, weight_kind, row_id
        As in `skedasis.explain`.
    tree, client, max_model_rows
        As in `skedasis.explain`.

    Returns
    -------
    Change
        For several named moves `Changes`, for a quantity with several outputs a `MultiOutput` of these.

    Raises
    ------
    DataError
        For unknown features and levels, moves that are not finite, steps and percentages of a categorical feature, a
        feature that moves twice, regions that cannot be used, and as `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        For a list of models, and as `skedasis.explain`.

    Notes
    -----
    The change at a row is q(x + h, c) − q(x, c), with x the moved features, h the move and c the other features of the
    row: a forward marginal effect. Its mean over the rows is the average marginal effect of the move. It says what the
    model predicts, with the other features unchanged, not what would happen if one intervened.

    Cost: two model rows for each row; of several named moves one for each move, and one for the rows as they are. None
    for tree ensembles that are evaluated from their structure. A check of the model on at most 128 rows comes on top.

    A level or another setting applies to every row, also to one without a value of the feature. A step, a percentage
    and a factor leave rows without a value out; `Change.missing` counts these. A column of integers gets floats where a
    step is no whole number. Rows that have all values already do not change. `Change.outside` is the share of rows of
    which a moved value is outside the observed range, and the share that is far from the data jointly with the (at most
    three) other features that share most information with the moved ones: of at most 2,000 rows, compared with 10,000.

    References
    ----------
    Scholbeck, Casalicchio, Molnar, Bischl & Heumann (2024), Data Mining and Knowledge Discovery 38.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(400, 2))
    >>> c = sd.what_if(lambda X: 3 * X[:, 0] + X[:, 1], X, {"x0": 0.1}, to={"x1": 1})
    >>> c.text, bool(np.isclose(c.value, 0.3 + 1 - X[:, 1].mean()))
    ('x0 + 0.1, x1 = 1', True)
    """
    started = time.perf_counter()
    check_one_model(model, "what_if", "sd.what_if(m, X, {...})")
    options = replace(ExplainOptions.of("what_if", **keywords), heterogeneity_rows=0)
    scenarios, several = _scenarios(moves, to)
    names = list(dict.fromkeys(n for given in scenarios.values() for n in (*given[0], *given[1])))
    quantity = as_quantity(model)
    if isinstance(by, Regions):
        fix = "Write by.assign(...) of the rows into a column of the data, and name it"
        require_rows(X, "by", "Regions", "the name of a column", fix, DataError)
    column = None if isinstance(by, Regions) else column_named_by(by)
    need = Need(column, draw=N_REFERENCE)
    options = rows_within_limit(quantity, X, 1 + len(scenarios), options)
    dataset, options = open_rows(quantity, X, names, None, options, need)
    regions = _regions(dataset, X, by, options)
    selection = _Selection(dataset, names, options.groups, scenarios, regions)
    dataset.once_known(selection.read)
    job = replace(prepare_job(quantity, ForwardDifference(), selection, options), started=started)
    done = compute(job)
    found: dict[OutputLabel, dict[str, Change]] = {label: {} for label in done.results}
    far = {name: _far(dataset, selection.read()[name].moves, options.seed) for name in scenarios}
    record = provenance(job, done.scores)
    for label, by_name in done.results.items():
        for name, result in by_name.items():
            if not isinstance(result, Change):
                raise TypeError("the method of a change returns changes")
            own = {
                "method": "change",
                "features": list(result.features),
                "settings": {"moves": [m.text for m in result.moved], "by": regions.by},
            }
            found[label][str(name)] = replace(
                result, outside=far[str(name)](result.outside)
            ).with_provenance({**record, **own})
    for by_scenario in found.values():
        for one in by_scenario.values():
            _check_rows(one)
    if several:
        named = {label: Changes(by_scenario) for label, by_scenario in found.items()}
        return named[None] if job.single else MultiOutput(named)
    alone = {label: by_scenario[""] for label, by_scenario in found.items()}
    return alone[None] if job.single else MultiOutput(alone)


# --- moves ----------------------------------------------------------------------------------------

_Given: TypeAlias = tuple[Mapping[Hashable, object], Mapping[Hashable, object]]
"""Moves and settings of one scenario."""


def _scenarios(moves: object, to: object) -> tuple[dict[str, _Given], bool]:
    """Return the moves and settings of each scenario, and whether the caller named several."""
    fix = 'Write sd.what_if(model, X, {"age": 1}), or to={"age": 40}'
    for what, value in (("what_if(moves)", moves), ("what_if(to)", to)):
        if value is not None and not isinstance(value, Mapping):
            got = f"{shown(value)}, a {type(value).__name__}"
            raise DataError(what, got, "a mapping of features to moves", fix)
    first: Mapping[Hashable, object] = moves if isinstance(moves, Mapping) else {}
    second: Mapping[Hashable, object] = to if isinstance(to, Mapping) else {}
    nested = [isinstance(value, Mapping) for value in first.values()]
    if not any(nested):
        if not first and not second:
            raise DataError("what_if(moves)", "no move", "at least one feature and its move", fix)
        return {"": (first, second)}, False
    if not all(nested) or second:
        raise DataError(
            "what_if(moves)",
            "moves beside named moves" if not all(nested) else "named moves together with `to`",
            "moves, or a mapping of names to moves",
            'Name each of them: {"older": {"age": 1}, "of age 40": {"age": "40"}}',
        )
    found: dict[str, _Given] = {}
    for name, value in first.items():
        if not isinstance(name, str) or not isinstance(value, Mapping) or not value:
            got = shown(name) if not isinstance(name, str) else f"no move for {name!r}"
            raise DataError("what_if(moves)", got, "names, each with at least one move", fix)
        found[name] = (value, {})
    return found, True


class _Selection(FeatureSelection):
    """The features that move, and the moves of each scenario."""

    def __init__(
        self,
        dataset: Dataset,
        names: Sequence[Hashable],
        groups: Groups | None,
        scenarios: Mapping[str, _Given],
        regions: RowRegions,
    ) -> None:
        super().__init__(dataset, list(names), groups)
        if self.pairs:
            raise DataError(
                "what_if(moves)",
                f"{shown(names[0])}, a pair",
                "one feature for each move",
                'Write {"a": 1, "b": 2}: both move at the same time',
            )
        self._feature = {name: f for name, (f,) in zip(names, self.asked, strict=True)}
        self._scenarios, self._regions = scenarios, regions
        self._read: dict[str, Moves] = {}
        self._columns: dict[str, tuple[AnyColumn, ...]] = {}

    def read(self) -> dict[str, Moves]:
        """Return the moves of each scenario, read from the columns at the first call."""
        for name, (moves, to) in self._scenarios.items():
            if name not in self._read:
                first = [(self._feature[n], value) for n, value in moves.items()]
                second = [(self._feature[n], value) for n, value in to.items()]
                found, columns = read_moves(self.dataset, first, second)
                self._read[name] = Moves(found, self._regions)
                self._columns[name] = columns
        return self._read

    def tasks(self, method: ResolvedMethod) -> list[Task]:
        """Return one task per scenario."""
        base = method if isinstance(method, ForwardDifference) else ForwardDifference()
        return [
            _MoveTask(
                name,
                moves.moves[0].feature,
                self._columns[name][0],
                MovedRows(base, moves),
                self._columns[name],
            )
            for name, moves in self.read().items()
        ]


@dataclass(frozen=True, eq=False)
class _MoveTask(FeatureTask):
    """One scenario: `feature` and `column` are those of the first feature that moves."""

    moved: tuple[AnyColumn, ...] = ()

    @property
    def features(self) -> tuple[Feature, ...]:
        return tuple(c if isinstance(c, Feature) else c.feature for c in self.moved)

    @property
    def columns(self) -> tuple[AnyColumn, ...]:
        return self.moved


# --- regions --------------------------------------------------------------------------------------


def _regions(
    dataset: Dataset, X: TableLike, by: ByRegions | None, options: ExplainOptions
) -> RowRegions:
    """Return the regions."""
    if by is None:
        return AllRows()
    features = FeatureSelection(dataset, None, options.groups).features
    if isinstance(by, Regions):
        rules = list(by.rules)
        region = rows_of(dataset, by.assign(X), "by")
        if (region < 0).any():
            region = np.where(region < 0, len(rules), region)
            rules.append("rows of no region")
        return GivenRules(f"regions of {by.feature}", rules, region)
    return regions_given(dataset, features, by)


# --- rows that leave the data ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Far:
    """What is known of the distance of moved rows to the data: `Outside` without the range."""

    share: float = float("nan")
    sampled: int = 0
    others: tuple[str, ...] = ()

    def __call__(self, known: Outside) -> Outside:
        """Return both together."""
        return replace(known, far=self.share, sampled=self.sampled, others=self.others)


def _far(dataset: Dataset, moves: Sequence[Move], seed: int) -> _Far:
    """Return the share of sampled rows that are far from all rows of the data after the move."""
    rows = dataset.drawable
    drawn = score_rows(rows.identifiers, rows.weights, N_REFERENCE, seed)
    part = rows.subset(np.sort(drawn.rows))
    # The order of the hashes: the first ones move.
    order = np.argsort(np.argsort(drawn.rows, kind="stable"), kind="stable")
    new = order[:N_NEW_ROWS]
    own = [_values_of(part, move) for move in moves]
    known = np.ones(len(new), dtype=bool)
    for move, x in zip(moves, own, strict=True):
        known &= move.is_setting | ~move.is_missing(x[new])
    new = new[known]
    if len(part) < 2 or len(new) == 0 or len(part.features) == 0:
        return _Far()
    try:
        space = FeatureSpace.of_rows(part, order)
    except (DataError, TypeError, ValueError):
        return _Far()  # another column that has no distances, such as one of lists
    columns = tuple(dict.fromkeys(j for move in moves for j in move.feature.columns))
    view = space.with_related(columns)
    points = view.points[new]
    for move, x in zip(moves, own, strict=True):
        moved = move.values(x[new])
        if move.level_column is None:
            view.set_values(points, move.feature.position, moved)
            continue
        donors = np.flatnonzero(x == move.amount)
        if len(donors) == 0:
            return _Far()  # a level that is too rare for the sample
        view.set_from_donors(points, move.feature.columns, np.full(len(new), donors[0]))
    far = view.is_extrapolation(points, new)
    weight = None if drawn.weights is None else drawn.weights[: len(known)][known]
    share = float(np.average(far, weights=weight))
    return _Far(share, len(new), view.others)


def _values_of(rows: Dataset, move: Move) -> Floats:
    """Return the values of a feature that moves, codes of levels; NaN where missing."""
    if move.level_column is None:
        return rows.floats(move.feature.position)
    codes = rows.level_codes(move.level_column)
    return np.where(codes < 0, np.nan, codes.astype(float))


def _check_rows(change: Change) -> None:
    """Raise if no row has a value of all features that move by a step or a factor."""
    if change.n_rows == 0:
        names = ", ".join(repr(m.feature.name) for m in change.moved if not m.is_setting)
        raise DataError(
            "change",
            f"no row with a value of {names}",
            "at least one row with a value of all features that move by a step or a factor",
            "Move one of them, or fill in missing values",
        )
