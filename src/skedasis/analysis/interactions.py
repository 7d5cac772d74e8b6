"""`interactions`: how strongly features interact, by H² and second-order ALE, and what effects depend on."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, Unpack, cast

from skedasis._arguments import check_flag, check_int_or_none, shown
from skedasis._types import JsonValue, OutputLabel, TableLike
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.engine.argument_types import EffectMethod, FeatureLike, of_outputs
from skedasis.engine.assemble import provenance, warn_unused_arguments
from skedasis.engine.budget import (
    PAIR_ROWS,
    PROBED_ROWS,
    PlannedCall,
    RowCount,
    announce,
    call_within_limit,
)
from skedasis.engine.h_statistic import (
    HComputation,
    HStatistics,
    count_h_rows,
    exact_pairs,
    h_statistics,
)
from skedasis.engine.options import (
    H_PAIRS,
    H_ROWS,
    ExplainOptions,
    Need,
    ScoredKeywords,
    takes_options,
)
from skedasis.engine.prepare import prepare
from skedasis.engine.rounds import Computed, compute
from skedasis.engine.select import FeatureSelection, as_method, check_no_pattern
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE
from skedasis.methods.permutation import PFI
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity, as_quantity, check_one_model
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.interactions import FeatureInteraction, Interactions, PairInteraction
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import add_cost, as_provenance, summed_costs
from skedasis.results.surface import Surface
from skedasis.stats.depends_on import LEAST_ERRORS
from skedasis.stats.h_statistic import NOT_COMPUTED

Pair: TypeAlias = tuple[FeatureLike, FeatureLike]
GivenPairs: TypeAlias = (
    "Literal['all'] | Pair | Sequence[Pair] | Sequence[tuple[str, str]] | Sequence[tuple[int, int]]"
)

Shares: TypeAlias = dict[tuple[str, str], float]
"""Share of a feature's heterogeneity that another one explains, by (feature, other feature)."""

Strengths: TypeAlias = dict[tuple[str, str], float]
"""Strength of the second-order ALE, by pair."""


@of_outputs(Interactions)
@takes_options(ScoredKeywords)
def interactions(
    model: ModelLike | MultiOutputQuantity,
    X: TableLike,
    pairs: GivenPairs = "all",
    h2: bool = True,
    ale: bool = True,
    *,
    max_rows: int | None = H_ROWS,
    method: EffectMethod = None,
    **keywords: Unpack[ScoredKeywords],
) -> Interactions | MultiOutput[Interactions]:
    """Return how strongly features interact: H² of pairs and features, ALE strength, and which effect depends on which.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        As in `skedasis.explain`.
    X : array, data frame or ParquetData, n rows
        Rows to explain on. Never modified.
    pairs : "all" or list of tuple of two
        The pairs of features, by name, label or position. `overall` always has all features. Where the model is
        called, H² of "all" is computed for the ten pairs that screening puts first, and is NaN for the others; H² of
        pairs that are named is computed in any case.
    h2 : bool
        Whether to compute Friedman and Popescu's H².
    ale : bool
        Whether to compute the strength of the second-order ALE of each pair.
    max_rows : int or None
        Largest number of rows for H² where the model is called, at least 2: those with the smallest hashes of
        `random_state` and `row_id`. None uses all rows, and computes H² of all pairs.
    method : method or str, optional
        The method of the effects of single features, whose importance, heterogeneity score and local effects are used;
        by default `RHALE`. A method without local effects, or that keeps few curves (`PDP` for more than 200
        rows), gives no shares of heterogeneity; `ICE` does.
    y, sample_weight, schema, groups, random_state, sample, memory, keep_rows, n_jobs
        As in `skedasis.explain`.
    progress, weight_kind, row_id, tree
        As in `skedasis.explain`.
    client : distributed.Client, optional
        As in `skedasis.explain`.
    heterogeneity_rows, max_model_rows : int or None
        As in `skedasis.explain`. To keep to `max_model_rows`, H² is first computed from fewer rows, down to 50.

    Returns
    -------
    Interactions
        For a quantity with several outputs a `MultiOutput` of these.

    Raises
    ------
    DataError
        For fewer than two features, unknown names, a pair of a feature with itself, and as `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        For several models, for `PFI` as the method, and as `skedasis.explain`.

    Notes
    -----
    With all functions centred at their mean, F_j the partial dependence on feature j, F_jk on a pair, F_−j on all
    features but j, and f the quantity:

    - `h2` of a pair: Σ w (F_jk − F_j − F_k)² / Σ w F_jk². It is large for pairs whose main effects are small.
    - `h2_unnormalized`: the root of the numerator divided by Σ w, in units of the quantity; the frame is sorted by it.
    - `h2` of a feature, in `overall`: Σ w (f − F_j − F_−j)² / Σ w f².
    - `Interactions.h2`: Σ w (f − Σ_j F_j)² / Σ w f².

    The `h2` of pairs and of features are Eq. 44 and 45 of Friedman and Popescu, `Interactions.h2` is the total
    interaction strength of R's package hstats; all are computed as there. Numerators below 1e-10 of the variance of the
    quantity are 0. `std_error` is the standard error of `h2_unnormalized` over rows as points of evaluation, by the
    delta method; it does not include the error of the partial dependence itself, whose averages are over the same rows,
    nor that of the model.

    Partial dependence combines values that may not occur together; `ale_strength` does not, but is defined by bins.
    `depends_01` is the share of the heterogeneity of the first feature's effect that the second one explains: of the
    mean square of what an additive quantity would not change when pairs of rows swap their values, by products of
    functions of both features, fitted on one half of the pairs and measured on the other (`skedasis.stats.depends_on`).
    It lies in [0, 1], and is 0 where it is not two standard errors above 0. Shares of several features add up to more
    than 1 where features are dependent, and to less where they interact. NaN for an effect without heterogeneity,
    and with ``heterogeneity_rows=0``.

    Screening compares pairs by the mean square of f(x) − f(x with x_j') − f(x with x_k') + f(x with x_j', x_k'), where
    x_j' and x_k' are the values of another row: a quarter of it is the variance of all interactions that both features
    take part in (Liu & Owen, 2006), and it is 0 for pairs that do not interact. Of several outputs, each pair counts in
    the output in which it is strongest, relative to the first pair there.

    Cost: that of `explain` for all features, and of its ALE for each pair (4 n model rows). H² costs m² model rows for
    each feature and for ten pairs, or those that are named, with m ≤ `max_rows` rows; fewer for features with few
    values; and screening m for each feature and pair. For 20 features, 400 rows and the defaults this is 1.6 million
    model rows in all; with ``max_rows=None``, 34 million. For tree ensembles whose leaves are summed (predictions of
    regressors, log odds of boosted classifiers, probabilities of forests) H² is exact, that of all pairs, uses all
    rows, and costs no model row.

    References
    ----------
    Friedman & Popescu (2008), Annals of Applied Statistics 2, Eq. 44 and 45. Mayer (2023), R package hstats. Liu & Owen
    (2006), Journal of the American Statistical Association 101, 712-721, for screening.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    >>> it = sd.interactions(lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, max_rows=200)
    >>> strongest = it.ranking()[0]
    >>> strongest.feature_0, strongest.feature_1, round(strongest.depends_01, 1)
    ('x1', 'x2', 1.0)
    >>> it["x0", "x1"].h2, it.exact
    (0.0, False)
    """
    check_one_model(model, "interactions", "sd.interactions(m, X)")
    options = ExplainOptions.of("interactions", **keywords)
    check_flag("interactions(h2)", h2)
    check_flag("interactions(ale)", ale)
    check_int_or_none("interactions(max_rows)", max_rows, 2, f"Use {H_ROWS}, or None for all rows")
    if isinstance(as_method(method), PFI):
        raise UnsupportedError(
            "interactions(method)", "PFI", "a method of effects", "Use sd.RHALE() or sd.ALE()"
        )
    quantity = as_quantity(model)
    warn_unused_arguments(method, quantity, options.y)
    every = not isinstance(pairs, str) or max_rows is None
    most = None if every else H_PAIRS
    need = Need(draw=max_rows or 0 if h2 else 0)
    more = _MoreRows(pairs, most, h2=h2, ale=ale, max_rows=max_rows, models=quantity.rows_per_row)
    more, options = _within_limit(PlannedCall(quantity, X, None, method, need, more), more, options)
    job = prepare(quantity, X, None, method, options, need=need)
    features, chosen = _pairs(job.dataset, pairs, options, job.selection.without_values)
    names = [f.name for f in features]
    announce([job], RowCount(later=more(job.dataset, options), calls=len(chosen)))
    done = compute(job)
    shares = _shares(done, {names[i] for pair in chosen for i in pair})
    effects = _effects(done)
    found = None
    if h2:
        found = h_statistics(quantity, job.dataset, features, chosen, more.max_rows, options, most)
    strengths: dict[OutputLabel, Strengths] = {label: {} for label in effects}
    records: list[Mapping[str, JsonValue]] = []
    if ale:
        known = next(iter(effects.values()))
        drawn = [(i, j) for i, j in chosen if names[i] in known and names[j] in known]
        for variant, part in _ale_calls(features, drawn):
            wanted = [(names[i], names[j]) for i, j in part]
            by_output, record = _ale_strengths(quantity, X, wanted, variant, options)
            records.append(record)
            for label, by_pair in by_output.items():
                strengths[label] |= by_pair
    results: dict[OutputLabel, Interactions] = {}
    for label, singles in effects.items():
        statistics = None if found is None else found.by_output[label]
        lines = _pair_lines(names, chosen, statistics, strengths[label], shares[label])
        record = _record(singles, records, found, statistics)
        settings: dict[str, JsonValue] = {"h2": h2, "ale": ale, "max_rows": more.max_rows}
        results[label] = _result(done, names, lines, statistics, singles, record, settings)
    return results[None] if job.single else MultiOutput(results)


def interactions_of(
    done: Computed,
    effects: Mapping[OutputLabel, Effects] | None = None,
    among: Sequence[str] | None = None,
    *,
    h2: bool = False,
) -> dict[OutputLabel, Interactions]:
    """Return the interactions of pairs from work of `explain` that is done, without ALE, by output."""
    if effects is None:
        effects = _effects(done)
    left_out = done.job.selection.without_values
    features = [f for f in done.job.selection.features if f.name not in left_out]
    features = [f for f in features if among is None or f.name in set(among)]
    names = [f.name for f in features]
    shares = _shares(done, names)
    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(names)), 2)
        if set(features[i].columns).isdisjoint(features[j].columns)
    ]
    exact = exact_pairs(done.job, features, pairs) if h2 else None
    found: dict[OutputLabel, Interactions] = {}
    for label, singles in effects.items():
        statistics = None
        if exact is not None:
            unknown = [NOT_COMPUTED] * len(names)
            rows = len(done.job.dataset)
            statistics = HStatistics(exact[label], unknown, NOT_COMPUTED, exact=True, rows=rows)
        lines = _pair_lines(names, pairs, statistics, {}, shares[label])
        record = _record(singles, [], None, None)
        settings: dict[str, JsonValue] = {"h2": exact is not None, "ale": False, "max_rows": None}
        found[label] = _result(done, names, lines, statistics, singles, record, settings)
    return found


LEAST_H_ROWS = 50
"""Fewest rows of H², to keep to `max_model_rows`."""


@dataclass(frozen=True)
class _MoreRows:
    """The model rows that follow the effects of single features, at most."""

    pairs: GivenPairs
    most: int | None
    h2: bool
    ale: bool
    max_rows: int | None
    models: int

    def __call__(self, dataset: Dataset, options: ExplainOptions) -> float:
        """Return the rows of H² at so many rows, and of the second-order ALE of all rows."""
        features, pairs = _pairs(dataset, self.pairs, options, ())
        n, found = len(dataset), 0.0
        if self.h2:
            found += (
                count_h_rows(n, len(features), len(pairs), self.max_rows, self.most) + PROBED_ROWS
            )
        if self.ale:
            sides = [sum(features[i].categorical for i in pair) for pair in pairs]
            found += n * sum(PAIR_ROWS[side] for side in sides) + 2 * PROBED_ROWS
        return self.models * found


def _within_limit(
    asked: PlannedCall, more: _MoreRows, options: ExplainOptions
) -> tuple[_MoreRows, ExplainOptions]:
    """Return what follows the effects, and the options, with which a call keeps to `max_model_rows`."""
    several, calls, rows = [more], [asked], more.max_rows
    if more.h2 and options.max_model_rows is not None:
        rows = len(asked.open(options)[0]) if rows is None else rows
        while rows > LEAST_H_ROWS:
            rows = max(rows // 2, LEAST_H_ROWS)
            several.append(replace(more, max_rows=rows))
            left_out = (f"H² is computed from {rows:,} rows.",)
            calls.append(replace(asked, more=several[-1], left_out=left_out))
    call, options = call_within_limit(calls, options)
    return several[calls.index(call)], options


# --- features and pairs ---------------------------------------------------------------------------


def _pairs(
    dataset: Dataset, pairs: GivenPairs, options: ExplainOptions, without_values: Collection[str]
) -> tuple[tuple[Feature, ...], list[tuple[int, int]]]:
    """Return all features, and the pairs by their indices, each once; of all pairs, those that have values."""
    everything = isinstance(pairs, str)
    names = [f.name for f in dataset.features]
    wanted = [*pairs] if isinstance(pairs, (list, tuple)) and len(pairs) == 2 else names[:2]
    example = tuple(v if isinstance(v, str) and v in names else names[0] for v in wanted)
    fix = f"Use pairs='all', or a list such as [{example!r}]"
    expected = "'all' or a list of pairs of features"
    if everything and pairs != "all":
        raise DataError("interactions(pairs)", shown(pairs), expected, fix)
    check_no_pattern(pairs)
    selection = FeatureSelection(dataset, None if everything else pairs, options.groups)
    features = selection.features
    if everything:
        features = tuple(f for f in features if f.name not in without_values)
    if len(features) < 2:
        raise DataError(
            "interactions(X)", "one feature", "at least two features", "Pass more columns"
        )
    if everything:
        return features, list(itertools.combinations(range(len(features)), 2))
    if not selection.pairs:
        raise DataError("interactions(pairs)", shown(pairs), expected, fix)
    index = {f.name: i for i, f in enumerate(features)}
    found: dict[frozenset[int], tuple[int, int]] = {}
    for one, other in selection.asked:
        pair = index[one.name], index[other.name]
        found.setdefault(frozenset(pair), pair)
    return features, list(found.values())


def _ale_strengths(
    quantity: Quantity,
    X: TableLike,
    wanted: list[tuple[str, str]],
    method: ALE,
    options: ExplainOptions,
) -> tuple[dict[OutputLabel, Strengths], Mapping[str, JsonValue]]:
    """Return the strength of the second-order ALE of pairs, by output, and the provenance."""
    done = compute(prepare(quantity, X, wanted, method, options))
    found: dict[OutputLabel, Strengths] = {}
    for label, by_key in done.results.items():
        found[label] = {
            key: surface.interaction_strength()
            for key, surface in by_key.items()
            if isinstance(key, tuple) and isinstance(surface, Surface)
        }
    return found, provenance(done.job, done.scores)


def _effects(done: Computed) -> dict[OutputLabel, Effects]:
    """Return the effects of single features, as `explain` does."""
    record = provenance(done.job, done.scores)
    found: dict[OutputLabel, Effects] = {}
    for label, by_key in done.results.items():
        effects = {
            key: effect.with_provenance(record)
            for key, effect in by_key.items()
            if isinstance(key, str) and isinstance(effect, Effect)
        }
        found[label] = Effects(effects, as_provenance(record))
    return found


def _ale_calls(
    features: Sequence[Feature], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[ALE, list[tuple[int, int]]]]:
    """Yield the ALE for each kind of pairs: two categorical features need an order of the levels of both."""
    unordered = {
        k: feature.name
        for k, feature in enumerate(features)
        if feature.kind == "nominal" and not feature.levels
    }
    both = [
        all(features[k].categorical for k in pair) and any(k in unordered for k in pair)
        for pair in pairs
    ]
    similar = ALE(order=dict.fromkeys(unordered.values(), "similarity")) if any(both) else ALE()
    for method, kind in ((ALE(), False), (similar, True)):
        part = [pair for pair, needed in zip(pairs, both, strict=True) if needed == kind]
        if part:
            yield method, part


# --- lines and provenance -------------------------------------------------------------------------


def _result(
    done: Computed,
    names: Sequence[str],
    lines: Iterable[PairInteraction],
    statistics: HStatistics | None,
    effects: Effects,
    record: dict[str, JsonValue],
    settings: dict[str, JsonValue],
) -> Interactions:
    about = next(iter(effects.values())).about
    return Interactions(
        tuple(names),
        tuple(lines),
        tuple(_feature_lines(names, statistics, effects)),
        float("nan") if statistics is None else statistics.total.h2,
        about.quantity,
        about.unit,
        done.job.dataset.library,
        as_provenance(
            {
                **record,
                "settings": {"method": effects.provenance["method"], **settings},
                "features": [*names],
                "seconds": time.perf_counter() - done.job.started,
            }
        ),
        {
            name: label
            for effect in effects.values()
            for name, label in effect.about.feature.title_by_name.items()
        },
    )


def _shares(done: Computed, names: Collection[str]) -> dict[OutputLabel, Shares]:
    """Return what each feature explains of the heterogeneity of each other one; 0 where no part can be told."""
    swapped = done.scores.swapped
    found: dict[OutputLabel, Shares] = {label: {} for label in done.job.outputs}
    for label, shares in found.items():
        if swapped is None:
            break
        for name in sorted(swapped.tasks.keys() & {*names}):
            for other, (share, error) in swapped.shares(label, name, names).items():
                shares[name, other] = share if share >= LEAST_ERRORS * error else 0.0
    return found


def _pair_lines(
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    statistics: HStatistics | None,
    strengths: Strengths,
    shares: Shares,
) -> Iterator[PairInteraction]:
    for k, (i, j) in enumerate(pairs):
        one, other = names[i], names[j]
        h = NOT_COMPUTED if statistics is None else statistics.pairs[k]
        yield PairInteraction(
            one,
            other,
            h.h2,
            h.unnormalized,
            h.std_error,
            strengths.get((one, other), float("nan")),
            shares.get((one, other), float("nan")),
            shares.get((other, one), float("nan")),
            statistics is None or (statistics.exact and h is not NOT_COMPUTED),
        )


def _feature_lines(
    names: Sequence[str], statistics: HStatistics | None, effects: Effects
) -> Iterator[FeatureInteraction]:
    for i, name in enumerate(names):
        h = NOT_COMPUTED if statistics is None else statistics.overall[i]
        effect = effects.effects.get(name)
        importance = float("nan") if effect is None else effect.importance
        score = float("nan") if effect is None else effect.heterogeneity_score
        yield FeatureInteraction(name, h.h2, h.unnormalized, importance, score)


def _record(
    effects: Effects,
    parts: Sequence[Mapping[str, JsonValue]],
    found: HComputation | None,
    statistics: HStatistics | None,
) -> dict[str, JsonValue]:
    """Return the provenance: that of the effects, with the cost of all passes."""
    record: dict[str, JsonValue] = {**cast("dict[str, JsonValue]", effects.provenance)}
    every = [effects.provenance, *parts]
    record |= summed_costs(every)
    if "passes" in record:
        record["passes"] = sum(cast("int", p.get("passes", 0)) for p in every)
    if found is not None and statistics is not None:
        add_cost(record, "effect", found.stats)
        add_cost(record, "check", found.checks)
        record["h2_rows"] = statistics.rows
        record["h2_pairs"] = sum(h is not NOT_COMPUTED for h in statistics.pairs)
        record["exact"] = statistics.exact
    record["method"] = "interactions"
    return record
