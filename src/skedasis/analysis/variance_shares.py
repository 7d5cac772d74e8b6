"""`variance_shares`: what main effects, regions and interactions explain of a quantity's variance at held-out rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias, Unpack, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from skedasis import __version__
from skedasis._arguments import check_int, check_int_or_none, shown
from skedasis._progress import current_work
from skedasis._types import (
    Bools,
    Container,
    Floats,
    Ints,
    JsonValue,
    OutputLabel,
    TableLike,
)
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature, find_feature
from skedasis.engine.argument_types import of_outputs
from skedasis.engine.assemble import collect_results, limit_record, provenance
from skedasis.engine.budget import LEAST_ROWS as SMALLEST_SAMPLE
from skedasis.engine.budget import (
    LONG,
    PROBED_ROWS,
    announce_rows,
    fewer_rows,
    keep_to,
    most_model_rows,
    on_a_sample,
)
from skedasis.engine.options import SCORE_ROWS, ExplainOptions, LimitedKeywords, takes_options
from skedasis.engine.prepare import prepare_rows
from skedasis.engine.region_pass import regions_at_rows
from skedasis.engine.region_rules import MIN_ROWS
from skedasis.engine.rounds import compute
from skedasis.engine.rows import draw_rows
from skedasis.engine.run import values_at_rows
from skedasis.errors import DataError
from skedasis.methods.ale import ALE
from skedasis.models.calling import CallStats
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import probe_model
from skedasis.quantities.outputs import (
    Logit,
    ModelLike,
    MultiOutputQuantity,
    Prediction,
    Probability,
    as_quantity,
    check_one_model,
)
from skedasis.quantities.tree_evaluator import may_be_trees
from skedasis.results.at_rows import at_rows
from skedasis.results.effects import Effects
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import Provenance, add_cost, no_provenance, summed_costs
from skedasis.results.regions import Regions, region_of_rows
from skedasis.results.variance_shares import MAIN, NAN, UNEXPLAINED, VariancePart, VarianceShares
from skedasis.stats.heterogeneity_score import score_rows
from skedasis.stats.random import row_hashes
from skedasis.stats.variance_shares import (
    FOLDS,
    LEAST_GAIN,
    RegionLabels,
    Share,
    Stage,
    VarianceColumn,
    choose_stages,
    explained_share,
)

LEAST_ROWS = 20
"""Fewest rows: ten to fit on, and ten to measure at."""

PAIRS = 5
"""Largest number of pairs of features."""

_CONSTANT = 64.0
"""A quantity that varies by less than this many rounding errors of its largest value is constant."""


@runtime_checkable
class RegionsOfFeature(Protocol):
    """Regions of one feature: a rule that gives each row the number of its region."""

    def __len__(self) -> int: ...

    def assign(self, X: Container, /) -> ArrayLike:
        """Return the number of each row's region, from 0."""
        ...


RegionsLike: TypeAlias = "Mapping[str, RegionsOfFeature] | Mapping[int, RegionsOfFeature]"
Costs: TypeAlias = tuple[CallStats, CallStats]
"""Calls of the model for the rows, and for the check of the model."""
EffectsLike: TypeAlias = "Effects | Mapping[OutputLabel, Effects] | Literal['ale'] | None"


@of_outputs(VarianceShares)
@takes_options(LimitedKeywords)
def variance_shares(
    model: ModelLike,
    X: TableLike,
    y: ArrayLike | None = None,
    regions: RegionsLike | Literal["auto"] | None = None,
    pairs: int = PAIRS,
    *,
    effects: EffectsLike = "ale",
    max_rows: int | None = SCORE_ROWS,
    **keywords: Unpack[LimitedKeywords],
) -> VarianceShares | MultiOutput[VarianceShares]:
    """Return how much of a quantity's variance main effects, regions and interactions explain at held-out rows.

    First the best additive function of the features, then the same with a function per region of a feature, then with
    functions of two features. A part is the difference of the R² of two stages at rows that took no part in fitting or
    choosing them. Parts and "not explained" sum to 1.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        As in `skedasis.explain`. A quantity with several outputs gives a `MultiOutput` of `VarianceShares`.
    X : array, data frame or ParquetData, n rows
        At least 20 rows. Never modified. Of data that are read in chunks (`sd.parquet`), `max_rows` rows are drawn.
    y : array of n labels, optional
        For a prediction or a probability: adds the R² of each stage, and of the quantity itself, for the label. For
        quantities that need labels, such as `nll`: their labels.
    regions : mapping of feature to regions, "auto" or None
        Regions of some features, by name or position in X: objects with ``assign(X)``, which gives each row the number
        of its region, and ``len()``, their number. None and "auto" search for them on the fitting rows. An empty
        mapping leaves them out. Regions that were found on all of X are not independent of the held-out rows; what is
        reported is nevertheless not selected by these rows, because the functions are fitted on the others.
    pairs : int
        Largest number of pairs of features, 0 for none. Pairs cost no model row.
    effects : Effects, dict of Effects by output, "ale" or None
        The effects whose sum is reported as the curves shown. "ale" computes ALE at the same rows; None leaves it
        out.
    max_rows : int or None
        Largest number of rows, at least 20: those with the smallest hashes of `random_state` and `row_id`. None uses
        all rows.
    sample_weight, schema, random_state, sample, memory, keep_rows, n_jobs, progress, weight_kind, row_id, tree
        As in `skedasis.explain`.
    max_model_rows : int or None
        Largest number of rows at which the model is called: fewer rows are then drawn, at least 200. See `explain`.

    Returns
    -------
    VarianceShares or MultiOutput of VarianceShares

    Raises
    ------
    DataError
        For fewer than 20 rows, a quantity that is the same for all rows, regions whose labels are not valid, effects of
        other features, labels that cannot be compared with the quantity, and as `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        For a list of models.

    Notes
    -----
    **Cost.** One model row for each of the (at most `max_rows`) rows, and at most 128 for the check of the model. ALE
    for the curves shown costs 2 more for each row and feature, the search for regions as much as the effects
    of `skedasis.explain` at half of the rows; neither costs any for trees that are evaluated from their structure. The
    fits take about a second for ten features and 10,000 rows, and four seconds for a hundred features. Of more than
    256 features, pairs of those that explain most alone are ranked.

    **Rows.** Half of the rows, by their hashes, are the fitting rows. Everything is chosen by cross-validation within
    them: a part is added if the squared error falls by more than two standard errors and by 0.1 % of the variance.
    Regions are tried before pairs, and both in the order of what they explain of the residuals after each choice. The
    held-out rows are used for the reported numbers only. A part that does nothing is therefore 0 or less on average.

    **Errors.** The standard error of a part is that of the difference of two sums of squares divided by a third one,
    over the held-out rows, given the fitted functions.

    **Functions.** Piecewise linear on at most 32 quantile knots (fewer with more than 30 features; with more than 450
    only straight lines), 14 in pairs; one number for each level. Their roughness is penalized, with penalties that
    maximize the restricted likelihood. What a jump between two knots loses counts as not explained: about 1 % of the
    variance of a feature with one jump.

    **The curves shown** are effect curves, which are computed from all these rows, added up. If features depend on one
    another, ALE and PDP curves are not those of the best additive function, and their sum may explain nothing. Curves
    of regions replace the average curve of a feature, the one that gains most first, where the squared error at the
    fitting rows falls by 0.1 % of the variance, so that an interaction that two features show counts once.

    References
    ----------
    Hooker (2007), for the parts; Lou et al. (2013), for the ranking of pairs; Wood & Fasiolo (2017), for the penalties.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(4000, 3))
    >>> print(
    ...     sd.variance_shares(lambda X: X[:, 0] * (X[:, 1] > 0.5) + X[:, 2] ** 2, X, effects=None)
    ... )
    Variance of prediction at 2,000 held-out rows, by functions fitted on 2,000 others
    part                   share       ±  R² up to here
    each feature alone      89 %   0.8 %           89 %
    groups of rows for x0   10 %   0.8 %         99.9 %
    not explained          0.1 %  <0.1 %
    """
    started = time.perf_counter()
    check_one_model(model, "variance_shares", "sd.variance_shares(m, X)")
    pairs = check_int("variance_shares(pairs)", pairs, 0, "Use 5, or 0 for no pairs")
    max_rows = check_int_or_none(
        "variance_shares(max_rows)", max_rows, LEAST_ROWS, "Use 10_000, or None for all rows"
    )
    options = replace(ExplainOptions.of("variance_shares", y=y, **keywords), heterogeneity_rows=0)
    quantity = as_quantity(model)
    drawn = draw_rows(X, max_rows, options)
    rows_of_user, options, y = drawn.X, drawn.options, drawn.options.y
    dataset = quantity.prepare(options.dataset(rows_of_user))
    _check_labels(quantity, y)

    def cost(some: _Sample) -> float:
        return _cost(quantity, some, options, regions, effects)

    sample = _within_limit(_sample(dataset, max_rows, options), options, cost)
    values, outputs, costs = _evaluated(quantity, sample, partial(cost, sample))
    for label, output in outputs.items():
        _check_varies(values[label], sample, output.describe())
    if isinstance(effects, str):
        each = quantity.rows_per_row * (2 * len(sample.part.features) + 1)
        current_work().more = float(len(sample) * each)
    by_output, search = _regions_by_output(regions, quantity, sample, options, list(outputs))
    assigned = {label: _assigned(r, rows_of_user, sample) for label, r in by_output.items()}
    current_work().more = 0.0
    curves = _drawn(effects, quantity, sample, options, list(outputs))
    record = _record(
        quantity, sample, options, costs, (search, {} if curves is None else curves.record)
    )
    record.update(drawn.record)
    record["main_effects"] = "" if curves is None else curves.method
    record["settings"] = {"pairs": pairs, "max_rows": max_rows}
    drawn_in = {label: _with_curves(r, assigned[label], sample) for label, r in by_output.items()}
    sums = None if curves is None else _sums(curves.effects, drawn_in, sample, values)
    known = {label: _labels(output, sample) for label, output in outputs.items()}
    shares = _shares_of_outputs(sample, outputs, values, assigned, pairs, sums, known)
    record["seconds"] = time.perf_counter() - started
    drawn_by = "" if curves is None else curves.method
    results = {
        label: _described(r, outputs[label], drawn_by, record) for label, r in shares.items()
    }
    return results[None] if set(results) == {None} else MultiOutput(results)


FindRegions: TypeAlias = Callable[[Bools], "Mapping[OutputLabel, Mapping[int, RegionLabels]]"]
"""Returns the regions of all rows of a dataset, by rules that some of the rows choose."""


def variance_shares_of_values(
    outputs: Mapping[OutputLabel, Quantity],
    values: Mapping[OutputLabel, Floats],
    dataset: Dataset,
    options: ExplainOptions,
    find_regions: FindRegions,
    effects: Mapping[OutputLabel, Effects],
    regions: Mapping[OutputLabel, Mapping[str, Regions]],
    *,
    region: Ints | None = None,
    pairs: int = PAIRS,
) -> dict[OutputLabel, VarianceShares]:
    """Return the variance shares of outputs whose values are known, without a further model row.

    `find_regions` gives the regions of functions that are fitted, `regions` those whose curves are drawn; `region` is
    the region of each row if no rules say it.
    """
    started = time.perf_counter()
    sample = _sample(dataset, SCORE_ROWS, options)
    at = {label: v[sample.places] for label, v in values.items()}
    for label, output in outputs.items():
        _check_varies(at[label], sample, output.describe())
    fitting = np.zeros(len(dataset), dtype=bool)
    fitting[sample.places[: sample.n_fitting]] = True
    assigned = {
        label: {j: RegionLabels(r.labels[sample.places], r.size) for j, r in by_feature.items()}
        for label, by_feature in find_regions(fitting).items()
    }
    known: dict[OutputLabel, Floats | None] = {}
    for label, output in outputs.items():
        comparable = isinstance(output, (Prediction, Probability)) and not isinstance(output, Logit)
        try:
            known[label] = _labels(output, sample) if comparable else None
        except DataError:  # labels that are all the same, or of another kind
            known[label] = None
    drawn_in = {
        label: {
            name: (r, region_of_rows(r.leaves, sample.part)[sample.order])
            if region is None
            else (r, region[sample.places])
            for name, r in by_feature.items()
            if len(r) > 1
        }
        for label, by_feature in regions.items()
    }
    sums = _sums(effects, drawn_in, sample, at)
    shares = _shares_of_outputs(sample, outputs, at, assigned, pairs, sums, known)
    record = _record(next(iter(outputs.values())), sample, options, (CallStats(), CallStats()), ())
    record |= {"settings": {"pairs": pairs, "max_rows": SCORE_ROWS}}
    record["seconds"] = time.perf_counter() - started
    drawn_by = next(iter(effects.values())).provenance.get("method", "")
    return {label: _described(r, outputs[label], drawn_by, record) for label, r in shares.items()}


def _shares_of_outputs(
    sample: _Sample,
    outputs: Mapping[OutputLabel, Quantity],
    values: Mapping[OutputLabel, Floats],
    regions: Mapping[OutputLabel, Mapping[int, RegionLabels]],
    pairs: int,
    sums: Mapping[OutputLabel, _Sum] | None,
    known: Mapping[OutputLabel, Floats | None],
) -> dict[OutputLabel, VarianceShares]:
    """Choose the stages of each output on the fitting rows, and measure them at the others."""
    columns = [_column(sample, feature) for feature in sample.part.features]
    found: dict[OutputLabel, VarianceShares] = {}
    for label in outputs:
        stages = choose_stages(
            columns,
            np.arange(sample.n_fitting),
            values[label][: sample.n_fitting],
            np.arange(sample.n_fitting) % FOLDS,
            weights=sample.fitting_weights,
            regions=regions[label],
            pairs=pairs,
        )
        drawn = None if sums is None else sums[label]
        found[label] = _variance_shares(sample, values[label], stages, drawn, known[label])
    return found


def _described(
    shares: VarianceShares,
    output: Quantity,
    drawn_by: str,
    record: Mapping[str, JsonValue],
) -> VarianceShares:
    """Return the variance shares with what describes its quantity and its cost."""
    return replace(
        shares,
        drawn_by=drawn_by,
        quantity=output.name,
        unit=output.unit,
        provenance={**record, "quantity": output.describe()},
    )


# --- rows, and the quantity at them ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sample:
    """The rows of variance shares in the order of their hashes, so that it does not depend on their order in X."""

    part: Dataset
    order: Ints
    source: Ints
    places: Ints
    weights: Floats | None
    sampling: bool
    exact: bool

    def __len__(self) -> int:
        return len(self.order)

    @property
    def n_fitting(self) -> int:
        """Return the number of fitting rows."""
        return (len(self) + 1) // 2

    @property
    def fitting_weights(self) -> Floats | None:
        """Return the weights of the fitting rows as numbers of rows that they stand for."""
        if self.weights is None:
            return None
        w = self.weights[: self.n_fitting]
        if self.sampling:  # as many rows as are effectively independent
            return w * (w.sum() / (w @ w))
        return w / min(float(w.mean()), 1.0)

    def held_out(self, values: Floats) -> Floats:
        """Return the values of the held-out rows."""
        return values[self.n_fitting :]

    def share(self, values: Floats, before: Floats | None, after: Floats | None) -> Share:
        """Return what one function explains more than another of the variance of values at the held-out rows."""
        v, a, b = (None if x is None else self.held_out(x) for x in (values, before, after))
        w = None if self.weights is None else self.held_out(self.weights)
        return explained_share(v if v is not None else values, a, b, w, sampling=self.sampling)


def _sample(dataset: Dataset, max_rows: int | None, options: ExplainOptions) -> _Sample:
    """Return the rows of the variance shares."""
    if len(dataset) < LEAST_ROWS:
        got = f"{len(dataset):,} rows"
        expected = f"at least {LEAST_ROWS}: half of them to fit on, the others to measure at"
        raise DataError("variance_shares(X)", got, expected, "Pass more rows")
    chosen = score_rows(dataset.identifiers, dataset.weights, max_rows, options.seed)
    places = np.sort(chosen.rows)
    part = dataset if len(places) == len(dataset) else dataset.subset(places)
    hashes = row_hashes(part.identifiers, options.seed, "ledger: fitting rows")
    order = np.argsort(hashes, kind="stable")
    weights = part.weights
    if chosen.weights is not None:
        # Rows that were drawn by their weights stand for others, too.
        weights = np.zeros(len(part))
        weights[np.searchsorted(places, chosen.rows)] = chosen.weights
    sampling = options.weight_kind == "sampling" or (
        not chosen.exact and chosen.weights is not None
    )
    return _Sample(
        part,
        order,
        dataset.table_rows(places)[order],
        places[order],
        None if weights is None else weights[order],
        sampling and weights is not None,
        chosen.exact,
    )


def _column(sample: _Sample, feature: Feature) -> VarianceColumn:
    """Return a feature's values: numbers, or codes of levels."""
    part, order = sample.part, sample.order
    x = None if feature.kind == "nominal" else part.numbers(feature)
    if x is not None:
        return VarianceColumn(x[order])
    codes = part.coded(feature.position).codes
    if feature.kind == "ordinal":
        try:
            codes = part.levels(feature, most=len(part) + 1).codes
        except DataError:  # some level is missing in the declared order, which is then no order
            return VarianceColumn(np.where(codes < 0, np.nan, codes)[order], levels=True)
        return VarianceColumn(np.where(codes < 0, np.nan, codes)[order])
    return VarianceColumn(np.where(codes < 0, np.nan, codes)[order], levels=True)


_MOST_PER_VALUE = 20.0
"""Model rows for each row and column, of all that follows the values, up to which they are not counted."""


def _evaluated(
    quantity: Quantity, sample: _Sample, rows: Callable[[], float]
) -> tuple[dict[OutputLabel, Floats], Mapping[OutputLabel, Quantity], Costs]:
    """Return each output at the rows, the outputs, and the cost; announce the model `rows` of all the work."""
    stats, part = CallStats(), sample.part
    outputs = quantity.outputs(part, stats)
    checked = probe_model(list(outputs.values()), part)
    columns, caller = len(part.features), checked.caller
    if caller.seconds(_MOST_PER_VALUE * len(part) * columns, columns) > LONG:
        announce_rows(caller, rows(), 4.0 * columns, "fewer max_rows=, or regions={}")
    values = values_at_rows(outputs, part, checked, stats)
    joined = {label: v[sample.order] for label, v in values.items()}
    return joined, outputs, (stats, checked.stats)


def _cost(
    quantity: Quantity, sample: _Sample, options: ExplainOptions, regions: object, effects: object
) -> float:
    """Return the most model rows of a call, without calling the model."""
    # What follows the values is counted where it is known whether the trees are used.
    trees = may_be_trees(quantity, options.tree)
    found = float(quantity.rows_per_row * (len(sample) + PROBED_ROWS))
    searched = (regions is None or regions == "auto") and len(sample.part.features) > 1
    if searched and not trees and sample.n_fitting >= LEAST_ROWS_OF_REGIONS:
        fitting = sample.part.subset(np.sort(sample.order[: sample.n_fitting]))
        found += most_model_rows(quantity, fitting, None, None, options)
    if isinstance(effects, str) and not trees:
        found += most_model_rows(quantity, sample.part, None, ALE(), options)
    return found


def _within_limit(
    sample: _Sample, options: ExplainOptions, cost: Callable[[_Sample], float]
) -> _Sample:
    """Return the sample with which a call keeps to `max_model_rows`, or a smaller one; the model is not called."""
    limit, n = options.max_model_rows, len(sample)
    if limit is None:
        return sample

    def part(rows: int) -> _Sample:
        return sample if rows == n else _sample(sample.part, rows, options)

    choices = [n, *fewer_rows(n, SMALLEST_SAMPLE)]
    return part(keep_to(limit, choices, lambda k: cost(part(k)), lambda k: [on_a_sample(k, n)]))


def _check_varies(values: Floats, sample: _Sample, what: str) -> None:
    """Raise if the quantity is constant over the fitting or the held-out rows."""
    for half in (values[: sample.n_fitting], sample.held_out(values)):
        noise = _CONSTANT * float(np.finfo(float).eps) * float(np.abs(half).max())
        if not float(np.ptp(half)) > noise:
            raise DataError(
                f"variance_shares({what})",
                f"the same value for all {len(half):,} rows of a half of the data",
                "a quantity that varies",
                "There is no variance to explain; use rows for which the model differs",
            )


# --- regions --------------------------------------------------------------------------------------

LEAST_ROWS_OF_REGIONS = 2 * MIN_ROWS
"""Fewest fitting rows in which regions are searched: two regions."""


def _regions_by_output(
    regions: RegionsLike | Literal["auto"] | None,
    quantity: Quantity,
    sample: _Sample,
    options: ExplainOptions,
    labels: Sequence[OutputLabel],
) -> tuple[dict[OutputLabel, RegionsLike], Provenance]:
    """Return the regions of each output: those that were passed, or those that are found on the fitting rows."""
    if not (regions is None or (isinstance(regions, str) and regions == "auto")):
        return dict.fromkeys(labels, regions), no_provenance()
    if len(sample.part.features) < 2 or sample.n_fitting < LEAST_ROWS_OF_REGIONS:
        return {label: {} for label in labels}, no_provenance()
    fitting = sample.part.subset(np.sort(sample.order[: sample.n_fitting]))
    found = regions_at_rows(quantity, fitting, options)
    several: dict[OutputLabel, RegionsLike] = {
        label: {name: r for name, r in found[label].regions.items() if len(r) > 1}
        for label in labels
    }
    return several, found[labels[0]].provenance


def _assigned(regions: RegionsLike, X: Container, sample: _Sample) -> dict[int, RegionLabels]:
    """Return the labels of regions at the rows, by the position of the feature."""
    if not isinstance(regions, Mapping):
        got = f"an object of type {type(regions).__name__}"
        expected = "a mapping of features to regions, 'auto' or None"
        raise DataError("variance_shares(regions)", got, expected, "Pass {} for no regions")
    found: dict[int, RegionLabels] = {}
    for feature, rule in regions.items():
        j = find_feature(sample.part.features, feature, "variance_shares(regions)")
        what = f"variance_shares(regions[{feature!r}])"
        if not isinstance(rule, RegionsOfFeature):
            got = f"an object of type {type(rule).__name__}"
            fix = "Pass the result of sd.regions, or an object with these methods"
            raise DataError(what, got, "regions with assign(X) and len()", fix)
        labels, size = np.asarray(rule.assign(X)), len(rule)
        n = len(sample.part.table)
        whole = labels.dtype.kind in "iu"
        if labels.shape != (n,) or not whole or labels.min() < 0 or labels.max() >= size:
            got = f"labels of shape {labels.shape} and type {labels.dtype}"
            if whole and labels.shape == (n,):
                got = f"labels from {labels.min()} to {labels.max()}"
            expected = f"shape ({n},), integers from 0 to {size - 1}"
            raise DataError(what, got, expected, "Return one number of a region for each row")
        if size > 1:
            found[j] = RegionLabels(labels[sample.source].astype(np.int64), size)
    return found


# --- the curves shown -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Curves:
    """The effects whose sum is measured, by output, their method, and the record of the pass that computed them."""

    effects: Mapping[OutputLabel, Effects]
    method: str
    record: Mapping[str, JsonValue]


def _drawn(
    effects: EffectsLike,
    quantity: Quantity,
    sample: _Sample,
    options: ExplainOptions,
    labels: Sequence[OutputLabel],
) -> _Curves | None:
    """Return the effects that were passed, or ALE at the rows."""
    if effects is None:
        return None
    if isinstance(effects, str) and effects == "ale":
        return _ale(quantity, sample, options)
    given: dict[OutputLabel, object] = {}
    if isinstance(effects, Effects):
        given[None] = effects
    elif isinstance(effects, Mapping):
        given.update(effects)
    expected = "Effects" if labels == [None] else f"Effects of each of the outputs {labels}"
    fix = "Pass the result of sd.explain(model, X), 'ale' or None"
    found: dict[OutputLabel, Effects] = {}
    for label in labels:
        each = given.get(label)
        if not isinstance(each, Effects):
            got = shown(effects) if label is None else f"no Effects of {label!r}"
            raise DataError("variance_shares(effects)", got, expected, fix)
        features = sample.part.features
        for name, effect in each.items():
            about = effect.about.feature
            columns = [features[j].name for j in about.columns if j < len(features)]
            if (not about.members and columns != [name]) or len(columns) < len(about.columns):
                got = f"an effect of {name!r}, column {about.position}"
                known = f"effects of columns of X: {[f.name for f in features]}"
                raise DataError("variance_shares(effects)", got, known, "Explain the same X")
        found[label] = each
    record = found[labels[0]].provenance
    return _Curves(found, str(record.get("method", "")), {})


def _ale(quantity: Quantity, sample: _Sample, options: ExplainOptions) -> _Curves:
    """Return ALE of all features at the rows."""
    job = prepare_rows(quantity, sample.part, None, ALE(), options)
    done = compute(job)
    record = provenance(job, done.scores)
    found: dict[OutputLabel, Effects] = {}
    for label, result in done.results.items():
        effects = collect_results(job, result, record)
        if isinstance(effects, Effects):
            found[label] = effects
    return _Curves(found, "ALE", {**record})


RegionsOfRows: TypeAlias = "tuple[Regions, Ints]"
"""Regions with a curve each, and the region of each row of a sample."""


def _with_curves(
    regions: RegionsLike, assigned: Mapping[int, RegionLabels], sample: _Sample
) -> dict[str, RegionsOfRows]:
    """Return those regions that have curves, by the name of the feature, with the region of each row."""
    found: dict[str, RegionsOfRows] = {}
    for feature, rule in regions.items():
        j = find_feature(sample.part.features, feature, "variance_shares(regions)")
        if isinstance(rule, Regions) and j in assigned:
            found[sample.part.features[j].name] = rule, assigned[j].labels
    return found


@dataclass(frozen=True, eq=False)
class _Sum:
    """The sum of effect curves at the rows: of the average ones, and with those of the regions of some features."""

    average: Floats
    by_region: Floats
    features: tuple[str, ...]


def _sums(
    effects: Mapping[OutputLabel, Effects],
    regions: Mapping[OutputLabel, Mapping[str, RegionsOfRows]],
    sample: _Sample,
    values: Mapping[OutputLabel, Floats],
) -> dict[OutputLabel, _Sum]:
    return {
        label: _sum_of(effects[label], regions.get(label, {}), sample, v)
        for label, v in values.items()
    }


def _sum_of(
    effects: Effects, regions: Mapping[str, RegionsOfRows], sample: _Sample, values: Floats
) -> _Sum:
    """Return the sums of effects at the rows, with the mean of the quantity over the fitting rows."""
    n, w = sample.n_fitting, sample.fitting_weights
    at = {name: at_rows(effect, sample.part)[sample.order] for name, effect in effects.items()}
    total = sum(at.values(), np.zeros(len(sample)))
    average = total + np.average(values[:n] - total[:n], weights=w)

    def error(curves: Floats) -> float:
        return float(np.average((values[:n] - curves[:n]) ** 2, weights=w))

    # Two features that show the same interaction in their regions would count it twice: of each feature, the one with
    # the largest gain first, the regions replace the average curve where the error at the fitting rows still falls.
    least = LEAST_GAIN * error(np.full(len(sample), np.average(values[:n], weights=w)))
    changes = {f: _change(at[f], *regions[f], sample) for f in at if f in regions}
    by_region, of = average, list[str]()
    for name in sorted(changes, key=lambda f: error(average + changes[f])):
        changed = by_region + changes[name]
        if error(by_region) - error(changed) > least:
            by_region, of = changed, [*of, name]
    return _Sum(average, by_region, tuple(of))


def _change(average: Floats, regions: Regions, region: Ints, sample: _Sample) -> Floats:
    """Return by how much the curves of regions differ from the average one at the rows.

    A region's curve has the mean of the average one over the fitting rows of the region: it tells how the quantity
    changes there, not its level.
    """
    change, w = np.zeros(len(sample)), sample.fitting_weights
    for number, effect in enumerate(regions.effects):
        rows = np.flatnonzero(region == number)
        fitting = rows[rows < sample.n_fitting]
        if len(fitting) and (w is None or w[fitting].sum() > 0):
            change[rows] = at_rows(effect, sample.part, sample.order[rows]) - average[rows]
            change[rows] -= np.average(change[fitting], weights=None if w is None else w[fitting])
    return change


# --- labels ---------------------------------------------------------------------------------------


def _check_labels(quantity: Quantity, y: ArrayLike | None) -> None:
    """Raise if labels were passed for a quantity that cannot be compared with them."""
    if y is None or quantity.labelled:
        return
    of = quantity.one if isinstance(quantity, MultiOutputQuantity) else quantity
    if isinstance(of, Logit) or not isinstance(of, (Prediction, Probability)):
        raise DataError(
            "variance_shares(y)",
            f"labels for {quantity.describe()}",
            "labels for a prediction or a probability, which are in the unit of the labels",
            "Omit y",
        )


def _labels(quantity: Quantity, sample: _Sample) -> Floats | None:
    """Return the labels at the rows in the unit of the quantity; None without labels."""
    part = sample.part
    if part.y is None or quantity.labelled:
        return None
    if isinstance(quantity, (Prediction, Probability)) and quantity.shared:
        # One output of several: the labels of the others are not known.
        return None
    found = quantity.observed_labels(part.y)
    if not float(np.ptp(sample.held_out(found[sample.order]))) > 0:
        got = "the same label for all held-out rows"
        raise DataError(
            "variance_shares(y)", got, "labels that differ", "Omit y, or pass more rows"
        )
    return found[sample.order]


# --- the result -----------------------------------------------------------------------------------


def _variance_shares(
    sample: _Sample,
    values: Floats,
    stages: Sequence[Stage],
    curves: _Sum | None,
    labels: Floats | None,
) -> VarianceShares:
    """Return the result, without what describes the quantity."""
    names = [f.name for f in sample.part.features]
    titles = [f.title for f in sample.part.features]
    parts: list[VariancePart] = []
    before: Floats | None = None
    for stage in stages:
        features = tuple(names[j] for j in stage.features)
        name, label = (_part_name(stage, every) for every in (names, titles))
        share = sample.share(values, before, stage.values)
        r2 = sample.share(values, None, stage.values).value
        of_label = _label_share(sample, labels, stage.values)
        part = VariancePart(name, stage.kind, features, r2, share.value, share.std_error)
        part = replace(part, label_r2=of_label.value, label_std_error=of_label.std_error)
        parts.append(replace(part, label=label) if label != name else part)
        before = stage.values
    rest, of_label = sample.share(values, before, None), _label_share(sample, labels, values)
    last = VariancePart(UNEXPLAINED, "unexplained", (), 1.0, rest.value, rest.std_error)
    parts.append(replace(last, label_r2=of_label.value, label_std_error=of_label.std_error))
    drawn = by_region = Share(NAN, NAN)
    if curves is not None:
        drawn, by_region = (
            sample.share(values, None, v) for v in (curves.average, curves.by_region)
        )
    held_out = sample.held_out(values)
    w = None if sample.weights is None else sample.held_out(sample.weights)
    mean = np.average(held_out, weights=w)
    return VarianceShares(
        tuple(parts),
        drawn.value,
        drawn.std_error,
        "",
        float(np.average((held_out - mean) ** 2, weights=w)),
        sample.n_fitting,
        len(held_out),
        library=sample.part.library,
        by_region=by_region.value,
        by_region_std_error=by_region.std_error,
        drawn_regions=() if curves is None else curves.features,
    )


def _part_name(stage: Stage, features: Sequence[str]) -> str:
    """Return the name of a part, from the names of all features."""
    if stage.kind == "main":
        return MAIN
    some = [features[j] for j in stage.features]
    return f"regions of {some[0]}" if stage.kind == "regions" else " × ".join(some)


def _label_share(sample: _Sample, labels: Floats | None, function: Floats) -> Share:
    if labels is None:
        return Share(NAN, NAN)
    return sample.share(labels, None, function)


def _record(
    quantity: Quantity,
    sample: _Sample,
    options: ExplainOptions,
    costs: Costs,
    passes: Sequence[Mapping[str, object]],
) -> dict[str, JsonValue]:
    """Return the provenance: the cost, that of the passes for regions and curves included, and the choice of rows."""
    cost = summed_costs(passes)
    add_cost(cost, "effect", costs[0])
    add_cost(cost, "check", costs[1])
    return {
        "method": "variance_shares",
        "features": [f.name for f in sample.part.features],
        "unit": quantity.unit,
        "random_state": options.seed,
        "rows": len(sample),
        "source_rows": len(sample.part.table),
        "exact": sample.exact,
        **sample.part.origin,
        **limit_record(options),
        **cost,
        "versions": {"skedasis": __version__, "numpy": np.__version__},
    }
