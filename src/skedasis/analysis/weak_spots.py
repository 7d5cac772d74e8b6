"""`weak_spots`: where a model is wrong on average, by rules that hold on rows that did not choose them."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from skedasis import __version__
from skedasis._arguments import check_flag, check_int, check_number
from skedasis._numbers import counted
from skedasis._types import Floats, JsonValue, OutputLabel, TableLike
from skedasis.analysis.row_groups import Estimate, RowGroups, find_row_groups
from skedasis.data.categories import apply_groups
from skedasis.data.dataset import Dataset
from skedasis.engine.argument_types import FeatureList, Models, of_models
from skedasis.engine.assemble import limit_record
from skedasis.engine.budget import rows_within_limit
from skedasis.engine.compare import compared
from skedasis.engine.conditioning import (
    ConditioningFeatures,
    as_conditions,
    conditioning_features,
    matched,
)
from skedasis.engine.options import (
    ALPHA,
    MAX_DEPTH,
    DiagnoseKeywords,
    ExplainOptions,
    takes_options,
)
from skedasis.engine.region_rules import MIN_ROWS
from skedasis.engine.row_values import evaluate_rows
from skedasis.engine.rows import ROWS_OF_CHUNKS, draw_rows
from skedasis.errors import DataError
from skedasis.models.calling import CallStats
from skedasis.quantities.base import Quantity
from skedasis.quantities.loss import LossFunction, LossName, loss
from skedasis.quantities.outputs import ModelLike, as_quantity
from skedasis.results.multi_output import Comparison, MultiOutput
from skedasis.results.provenance import as_provenance
from skedasis.results.regions import ALL_ROWS, STABLE
from skedasis.results.weak_spots import WeakSpot, WeakSpots
from skedasis.stats.holm import largest_rejected
from skedasis.stats.moments import RowMeans

NAN = math.nan

FEWEST_ROWS = 2 * MIN_ROWS
"""Fewest rows: two groups."""

WeakSpotsOf: TypeAlias = "Literal['bias'] | LossName | LossFunction"


@dataclass(frozen=True)
class SpotOptions:
    """The checked options of the search; the parameters are those of `weak_spots`."""

    max_depth: int = MAX_DEPTH
    alpha: float = ALPHA
    min_bias: float = 0.0
    look_ahead: bool = True

    def __post_init__(self) -> None:
        check_int("weak_spots(max_depth)", self.max_depth, 1, "Use 2")
        expected, fix = "a number between 0 and 1", "Use alpha=0.05"
        check_number("weak_spots(alpha)", self.alpha, expected, fix, least=0.0, below=1.0)
        expected, fix = "a number from 0", "Use 0 for all, or the smallest bias that matters"
        check_number("weak_spots(min_bias)", self.min_bias, expected, fix, least=0.0)
        check_flag("weak_spots(look_ahead)", self.look_ahead)


@of_models(WeakSpots)
@takes_options(DiagnoseKeywords)
def weak_spots(
    model: ModelLike | Models[ModelLike],
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    of: WeakSpotsOf = "bias",
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_bias: float = 0.0,
    look_ahead: bool = True,
    **keywords: Unpack[DiagnoseKeywords],
) -> WeakSpots | MultiOutput[WeakSpots] | Comparison[WeakSpots | MultiOutput[WeakSpots]]:
    """Find groups of rows in which a model is wrong on average, and by how much, or in which its loss is large.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, path of a model's file, or several models
        As in `skedasis.explain`: a prediction or a probability, which is compared with the labels on their scale (a
        logit by its probability). A quantity with several outputs, such as ``probability(clf, class_="all")``, gives a
        `MultiOutput`, a list or dictionary of models a `Comparison`. A quantity that needs labels, such as `nll` or
        `loss`, is a loss.
    X : array, data frame or ParquetData, n rows
        At least 40 rows, which the model was not trained on. Never modified. Of data that are read in chunks
        (`sd.parquet`) at most 100,000 rows are drawn.
    y : array of n labels
        Of `sd.parquet`, the column that it names.
    of : "bias", loss name or function
        "bias": mean label minus mean prediction. Otherwise a loss of `skedasis.loss`, such as "squared_error": where it
        is larger than on average.
    split_on : list of str or int, pattern or selector, optional
        The features that rules may use; by default all.
    max_depth : int
        Largest number of conditions of a rule.
    alpha : float
        Largest probability that any group is shown of a model that is right on average everywhere.
    min_bias : float
        The smallest absolute bias that is shown, in the unit of the labels; of a loss its smallest excess over the
        average. By default all that are significant.
    look_ahead : bool
        Whether two features are divided at once where no single split holds. This finds corners: groups that no single
        condition shows.
    sample_weight, schema, groups, random_state, sample, memory, keep_rows, n_jobs, progress, row_id, tree
        As in `skedasis.explain`.
    weight_kind : {"frequency", "sampling"}
        "frequency": a weight of 3 is three rows with these values. Other weights, such as exposures, sampling weights
        or those of a weighted fit, are "sampling": as frequencies they would count as more rows than there are, and
        groups would be shown too often.
    max_model_rows : int or None
        As in `skedasis.explain`: fewer rows are drawn, at least 200.

    Returns
    -------
    WeakSpots, MultiOutput of WeakSpots, or Comparison
        A sequence of groups, the largest bias first, which prints as sentences.

    Raises
    ------
    DataError
        For fewer than 40 rows, labels that are missing or are no labels of the model, an option out of range, and as
        `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        For quantities that are not compared with labels, such as an entropy.

    Notes
    -----
    **Cost.** One model row for each row, and at most 128 for the check of the model; only those of the check for trees
    that are evaluated from their structure. The search takes about 0.1 seconds for 10,000 rows and ten features.

    **The test.** The rows are halved by hashes of `random_state` and `row_id`. One half grows a tree whose splits
    explain most of the variance of label minus prediction. A split is kept if the other half confirms it (Student's
    test with Satterthwaite's degrees of freedom, as in `skedasis.regions`): with probability `alpha` at most, the tree
    has a split although the mean is the same everywhere, whatever the distribution of the residuals. Of the leaves,
    those are weak spots

    - whose own mean residual differs from 0 on the other half, with `alpha` shared by the leaves (Holm's method);
    - which are wrong by more than an overall bias, or in the other direction: a model that is 5 too low everywhere has
      an overall bias and no weak spot;
    - which are stable: the first half would not choose a very different group (Cohen's kappa of the group with the most
      similar one that the other half would choose is at least 0.3).

    Of a loss, a leaf's mean is compared with that of all rows instead of 0, and only larger ones are shown.

    Bias, errors and intervals are those of the half that did not choose the rule, for which the rule is given, so that
    they are not too large because the group was picked. (Only groups that passed the test are shown: those that barely
    did are somewhat smaller in truth.) Where all labels are whole numbers, such as counts and classes, the error
    is at least the smallest that such labels have around the predictions (`Observed`), of classes the binomial one: a
    group without any event has no variance to estimate it from.

    **Which half.** The halves are not exchanged. Testing both ways, each at half of `alpha`, finds no more in
    simulations, and would leave two partitions of the rows.

    **Limits.** Rules are cuts of single features: a bias in a diagonal band is found in parts, if at all. A group in
    the middle of a feature's range takes two conditions, which are found one after the other. A weak spot is where the
    model is wrong on average, not where single predictions are: for that, use ``of="squared_error"``.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, size=(4000, 5))
    >>> y = X[:, 0] + 2 * (X[:, 1] > 0.9) + rng.normal(size=4000)
    >>> model = lambda X: X[:, 0]
    >>> print(sd.weak_spots(model, X, y, max_depth=1))
    The model is 2 too low where x1 > 0.9 (95 % interval 1.86 to 2.14, 9.3 % of the rows).
    Over all rows the model is 0.17 too low on average (95 % interval 0.14 to 0.21).
    """
    search = SpotOptions(max_depth, alpha, min_bias, look_ahead)
    conditions = as_conditions(X, split_on, "weak_spots(split_on)")
    options = ExplainOptions.of("weak_spots", y=y, **keywords)

    def found(one: ModelLike) -> WeakSpots | MultiOutput[WeakSpots]:
        return _of_model(one, X, of, conditions, search, options)

    if isinstance(model, (list, tuple, Mapping)):
        return compared(model, found)
    return found(model)


def _of_model(
    model: ModelLike,
    X: TableLike,
    of: WeakSpotsOf,
    conditions: Sequence[Hashable] | None,
    search: SpotOptions,
    options: ExplainOptions,
) -> WeakSpots | MultiOutput[WeakSpots]:
    """Return the weak spots of one model."""
    started = time.perf_counter()
    quantity = as_quantity(model)
    if not (isinstance(of, str) and of == "bias"):
        quantity = loss(model, cast("LossName | LossFunction", of))
    dataset = _rows(quantity, X, options)
    if dataset.y is None:
        fix = "Pass y, or name its column: sd.parquet(path, y='column')"
        raise DataError("weak_spots(y)", "no labels", "one label for each row", fix)
    if len(dataset) < FEWEST_ROWS:
        expected = f"at least {FEWEST_ROWS}: half of them choose a rule, the others test it"
        raise DataError("weak_spots(X)", counted(len(dataset), "row"), expected, "Pass more rows")
    dataset = quantity.prepare(dataset)
    known = _conditioning(dataset, conditions, options)
    check = CallStats()
    outputs = {
        label: output if output.labelled else output.label_scale("weak_spots(model)")
        for label, output in quantity.outputs(dataset, check).items()
    }
    at_rows = evaluate_rows(outputs, dataset, options.tree, check)
    record: dict[str, JsonValue] = {
        "method": "weak_spots",
        "settings": {"of": quantity.name if quantity.labelled else "bias", **vars(search)},
        "features": [c.feature.name for c in known.found],
        "random_state": options.seed,
        "rows": len(dataset),
        "weight": dataset.total_weight,
        "exact": not dataset.sampled,
        **dataset.provenance,
        **limit_record(options),
        **at_rows.record(),
        "versions": {"skedasis": __version__, "numpy": np.__version__},
    }
    found: dict[OutputLabel, WeakSpots] = {}
    for label, output in outputs.items():
        spots = spots_of_values(output, at_rows.values[label], dataset, known, search, options.seed)
        record["seconds"] = time.perf_counter() - started
        described = {"quantity": output.describe(), "unit": output.unit}
        found[label] = replace(spots, provenance=as_provenance({**record, **described}))
    return found[None] if set(found) == {None} else MultiOutput(found)


def _rows(quantity: Quantity, X: TableLike, options: ExplainOptions) -> Dataset:
    """Return the rows in memory, as many as `max_model_rows` allows."""
    drawn = draw_rows(X, ROWS_OF_CHUNKS, options)
    fewer = rows_within_limit(quantity, drawn.X, 1, drawn.options)
    return replace(drawn, options=fewer).dataset()


def _conditioning(
    dataset: Dataset, conditions: Sequence[Hashable] | None, options: ExplainOptions
) -> ConditioningFeatures:
    """Return the features that rules may use, with their codes."""
    features = dataset.features
    if options.groups is not None:
        features = apply_groups(features, options.groups)
    names = None if conditions is None else matched(conditions, features, dataset)
    return conditioning_features(dataset, features, names, (), "weak_spots(split_on)")


# --- groups, from values that are known -----------------------------------------------------------


def spots_of_values(
    quantity: Quantity,
    values: Floats,
    dataset: Dataset,
    conditioning: ConditioningFeatures,
    search: SpotOptions,
    seed: int,
) -> WeakSpots:
    """Return the weak spots of a quantity on the scale of the labels, or of a loss, whose values, (n,), are known.

    The dataset has the labels as the caller gave them. No model row.
    """
    label: Floats | None = None
    expected: Floats | None = None
    difference = values
    if not quantity.labelled:
        y = dataset.y
        if y is None:
            raise TypeError("the rows have no labels")
        label = quantity.observed_labels(y)
        rounding = 8 * np.finfo(float).eps * np.maximum(np.abs(label), np.abs(values))
        difference = np.where(np.abs(label - values) > rounding, label - values, 0.0)
        expected = values if np.array_equal(label, np.floor(label)) else None
    groups = find_row_groups(
        difference,
        dataset,
        seed,
        purpose="weak spots: halves",
        conditioning=conditioning,
        max_depth=search.max_depth,
        alpha=search.alpha,
        look_ahead=search.look_ahead,
        intervals=True,
    )
    overall = _with_least(groups.overall(difference), groups, expected)
    if label is None:
        lines = [_loss_of(groups, values, g) for g in range(len(groups))]
        whole = _line(ALL_ROWS, -1, len(dataset), 1.0, overall, loss=overall.value)
        whole = replace(whole, bias=0.0, p_value=NAN)
    else:
        lines = [
            _bias_of(groups, difference, (label, values), expected, g) for g in range(len(groups))
        ]
        average = [groups.overall(v).value for v in (label, values)]
        whole = _line(ALL_ROWS, -1, len(dataset), 1.0, overall, *average)
        large = abs(overall.value) >= search.min_bias
        whole = replace(whole, confirmed=whole.p_value <= search.alpha and large)
    return WeakSpots(
        _confirmed(lines, whole, search, of_loss=label is None),
        whole,
        tuple(groups.nodes),
        "bias" if label is not None else quantity.name,
        search.alpha,
        search.min_bias,
        quantity.name,
        quantity.unit,
        dataset.library,
        dict(conditioning.left_out),
    )


def _line(
    rule: str,
    group: int,
    rows: int,
    share: float,
    bias: Estimate,
    label: float = NAN,
    prediction: float = NAN,
    *,
    loss: float = NAN,
    ratio: tuple[float, float] = (NAN, NAN),
    stability: float = NAN,
) -> WeakSpot:
    return WeakSpot(
        rule,
        group,
        rows,
        share,
        bias.value,
        bias.std_error,
        bias.df,
        bias.p_value,
        label,
        prediction,
        loss,
        *ratio,
        stability=stability,
        confirmed=False,
    )


def _bias_of(
    groups: RowGroups,
    difference: Floats,
    both: tuple[Floats, Floats],
    expected: Floats | None,
    group: int,
) -> WeakSpot:
    """Return the mean difference of label and prediction in a group, and the mean of both."""
    leaf = groups.leaves[group]
    bias = _with_least(groups.mean(difference, group), groups, expected, group)
    means = [groups.mean(v, group).value for v in both]
    part, stability = groups.share(group), float(groups.stability[group])
    return _line(leaf.rule, group, leaf.count, part, bias, *means, stability=stability)


def _loss_of(groups: RowGroups, values: Floats, group: int) -> WeakSpot:
    """Return how much larger the mean loss in a group is than in all rows."""
    leaf, excess = groups.leaves[group], groups.difference(values, group)
    log_ratio = groups.log_ratio(values, group)
    ratio = math.exp(log_ratio.value), log_ratio.std_error
    if not math.isnan(log_ratio.df):
        excess = replace(excess, df=min(excess.df, log_ratio.df))
    mean, stability = groups.mean(values, group).value, float(groups.stability[group])
    return _line(
        *(leaf.rule, group, leaf.count, groups.share(group), excess),
        loss=mean,
        ratio=ratio,
        stability=stability,
    )


def _with_least(
    estimate: Estimate, groups: RowGroups, expected: Floats | None, group: int | None = None
) -> Estimate:
    """Return a mean with at least the error of labels that are whole numbers with the expected values, (n,)."""
    if expected is None:
        return estimate
    some = slice(None) if group is None else ~groups.half & (groups.group == group)
    w = None if groups.weights is None else groups.weights[some]
    p, cell = expected[some], np.zeros(len(expected[some]), dtype=np.int64)
    least = RowMeans.of(p, cell, 1, w, groups.kind).least_error
    return replace(estimate, std_error=max(estimate.std_error, float(least[0])))


def _confirmed(
    lines: Sequence[WeakSpot], whole: WeakSpot, search: SpotOptions, *, of_loss: bool
) -> tuple[WeakSpot, ...]:
    """Return the groups, with those marked that are weak spots; a single group is none."""
    if len(lines) == 1:
        return tuple(lines)
    below = largest_rejected(np.array([line.p_value for line in lines]), search.alpha)
    found: list[WeakSpot] = []
    for line in lines:
        sign = 1.0 if of_loss or line.bias > 0 else -1.0
        beyond = sign * (line.bias - whole.bias) > 0
        large = sign * line.bias >= search.min_bias
        stable = line.stability >= STABLE
        found.append(replace(line, confirmed=line.p_value <= below and beyond and large and stable))
    return tuple(found)
