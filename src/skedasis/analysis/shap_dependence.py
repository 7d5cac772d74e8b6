"""`shap_dependence`: SHAP values as an effect with bins and heterogeneity, beside ALE and PDP."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Protocol, Unpack, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_int_or_none
from skedasis._progress import Progress
from skedasis._types import (
    Floats,
    Ints,
    JsonValue,
    OutputLabel,
    TableLike,
)
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Dataset, require_rows
from skedasis.engine.argument_types import FeatureLike, FeatureList
from skedasis.engine.assemble import collect_results, limit_record, provenance
from skedasis.engine.budget import PROBED_ROWS, announce_rows, fewer_rows, keep_to
from skedasis.engine.h_statistic import sample_by_hash
from skedasis.engine.options import ExplainOptions, LimitedKeywords, takes_options
from skedasis.engine.prepare import prepare_rows
from skedasis.engine.rounds import compute
from skedasis.engine.rows import draw_rows
from skedasis.engine.select import FeatureSelection, as_features
from skedasis.errors import DataError, UnsupportedError, quiet
from skedasis.methods.base import Scheme
from skedasis.methods.mplot import MPlot
from skedasis.models.calling import CallStats
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator, ResponseCache, probe_model
from skedasis.quantities.observed import ObservedLabel
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity, as_quantity, check_one_model
from skedasis.results.display import SHAP_DEPENDENCE
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import add_cost, as_provenance
from skedasis.stats.random import row_hashes

SHAP_ROWS = 500
"""Largest number of rows for which SHAP values are computed, unless the caller asks for more."""

BACKGROUND = 100
"""Rows over which the quantity is averaged where columns are absent, as in shap."""

LEAST_ROWS, LEAST_BACKGROUND = 50, 10
"""Fewest rows with SHAP values and of the background, to keep to `max_model_rows`."""

MASKS = 100
"""Coalitions that shap evaluates at a time."""


@takes_options(LimitedKeywords)
def shap_dependence(
    model: ModelLike | MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike | FeatureList = None,
    *,
    y: ArrayLike | None = None,
    shap_values: object = None,
    bins: Scheme = "auto",
    background: int | None = BACKGROUND,
    max_rows: int | None = SHAP_ROWS,
    **keywords: Unpack[LimitedKeywords],
) -> Effect | Effects | MultiOutput[Effect] | MultiOutput[Effects]:
    """Return SHAP values as effects: their mean and their standard deviation in the bins or levels of each feature.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        As in `skedasis.explain`. Any quantity has SHAP values: a prediction, an entropy, a loss.
    X : array, data frame or ParquetData, n rows
        Rows to explain on, and from which the background is drawn. Never modified.
    features : name, label, position, pattern, or list of these, optional
        One feature gives an `Effect`; a list, or None for all features, gives `Effects`.
    y : array_like, shape (n,), optional
        Labels, for quantities that need them, such as `nll`.
    shap_values : array_like or shap.Explanation, shape (n, d), optional
        SHAP values of the rows and columns of X, for example from ``shap.TreeExplainer(model)(X)``. All rows are used
        then, the model is not called, and the package shap is not needed.
    bins : "auto", int or Binning
        As in `MPlot`: "auto" is one bin for each value of a feature with few values, else 20 quantiles.
    background : int or None
        Number of rows over which the quantity is averaged where columns are absent from a coalition; None for all,
        with their weights. Of fewer rows than there are, each is drawn in proportion to its weight.
    max_rows : int or None
        Largest number of rows whose SHAP values are computed, those with the smallest hashes of `random_state` and
        `row_id`. None uses all rows.
    sample_weight, schema, random_state, sample, memory, keep_rows, n_jobs, progress, weight_kind, row_id
        As in `skedasis.explain`.
    max_model_rows : int or None
        Largest number of rows at which the model is called: fewer rows get SHAP values, down to 50; then the background
        has fewer rows, down to 10.
    tree : {"auto", "off"}
        Without effect: the mixed rows of coalitions are too many for the evaluation of trees from their structure.

    Returns
    -------
    Effect or Effects
        For a quantity with several outputs a `MultiOutput` of these. The effect's values are mean SHAP values, and its
        `heterogeneity` is the standard deviation of the SHAP values within the bin.

    Raises
    ------
    DataError
        For SHAP values that are not finite numbers of shape (n, d), for `max_model_rows` below the least, and as
        `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        If the package shap is not installed, for several models, pairs of features, SHAP values of data that are read
        in chunks, and as `skedasis.explain`.

    Notes
    -----
    Cost: that of ``shap.Explainer`` for each of at most `max_rows` rows, and at most 128 model rows for the check of
    the model. shap 0.51 computes exact values of up to 10 columns, from 2^d × `background` model rows, and those of
    more by permutations. None with `shap_values`: for an ensemble of trees, pass those of ``shap.TreeExplainer``, which
    are exact and take less time.

    The SHAP values of an additive model are its components, so that the curve is that of the PDP minus its mean over
    the background. A SHAP value has half of each interaction of two features, where PDP and ALE have none: the
    standard deviation within a bin shows them, and the slope of the curve within the bin, too, which narrower bins
    make small. Columns that are absent have values of other rows, as in a PDP: dependent features are combined in ways
    that do not occur.

    References
    ----------
    Lundberg & Lee (2017), Advances in Neural Information Processing Systems 30.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    >>> q = sd.prediction(lambda X: 3 * X[:, 0] + 4 * X[:, 1] * X[:, 2])
    >>> e = sd.shap_dependence(q, X, "x0", background=50, max_rows=100, bins=5)
    >>> e
    <Effect of 'x0' on SHAP value: SHAP dependence, 5 bins, importance 1.704, heterogeneity nan>
    >>> np.allclose(np.diff(e.value) / np.diff(e.x), 3.0)
    True
    """
    started = time.perf_counter()
    check_one_model(model, "shap_dependence", "sd.shap_dependence(m, X)")
    options = replace(ExplainOptions.of("shap_dependence", y=y, **keywords), heterogeneity_rows=0)
    fix = "Use 100, or None for all"
    background = check_int_or_none("shap_dependence(background)", background, 1, fix)
    max_rows = check_int_or_none("shap_dependence(max_rows)", max_rows, 2, fix)
    method = ShapDependence(bins=bins)
    quantity = as_quantity(model)
    if shap_values is not None:
        fix = "Read the rows whose SHAP values these are, and pass them as X"
        require_rows(X, "shap_dependence(shap_values)", "SHAP values", "rows in memory", fix)
    drawn = draw_rows(X, max_rows, options)
    rows_of_user, options, origin = drawn.X, drawn.options, drawn.record
    dataset = options.dataset(rows_of_user)
    if shap_values is None:
        quantity.refuse_moved_rows("shap_dependence")
        dataset = quantity.prepare(dataset)
        values = _computed(quantity, dataset, background, max_rows, options)
    else:
        values = _given(shap_values, quantity, dataset)
    asked = as_features(rows_of_user, features, "shap_dependence(features)")
    selection = FeatureSelection(dataset, asked, None)
    if selection.pairs:
        raise UnsupportedError(
            "shap_dependence(features)",
            "a pair of features",
            "single features",
            "SHAP values belong to single features; for pairs use sd.explain(model, X, pair)",
        )
    results: dict[OutputLabel, Effect | Effects] = {}
    settings = method.describe()
    if shap_values is None:
        settings |= {"background": background, "max_rows": max_rows}
    for label, (output, columns) in values.by_output.items():
        effects = {
            f.name: _effect(columns[:, f.position], output, values.rows, f.name, method, options)
            for (f,) in selection.asked
        }
        common = {**values.record, **origin, **limit_record(options), "settings": settings}
        found = {name: e.with_provenance(common) for name, e in effects.items()}
        record = {**next(iter(found.values())).provenance, "features": list(found)}
        record["seconds"] = time.perf_counter() - started
        single = next(iter(found.values())).with_provenance(record)
        results[label] = single if selection.single else Effects(found, as_provenance(record))
    if set(results) == {None}:
        return results[None]
    return cast("MultiOutput[Effect]", MultiOutput(results))


@dataclass(frozen=True)
class ShapDependence(MPlot):
    """The method that is recorded: an M-plot of SHAP values. Created by `shap_dependence`."""

    @property
    def name(self) -> str:
        """Return what figures and texts call it."""
        return SHAP_DEPENDENCE


# --- SHAP values ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ShapValues:
    """SHAP values of rows: by output the quantity and its values, (n, d); and entries of the provenance."""

    rows: Dataset
    by_output: Mapping[OutputLabel, tuple[Quantity, Floats]]
    record: dict[str, JsonValue]


@runtime_checkable
class _Explanation(Protocol):
    """The part of `shap.Explanation` that is read; data frames have it, too."""

    values: Floats


def _given(shap_values: object, quantity: Quantity, dataset: Dataset) -> _ShapValues:
    """Return the caller's SHAP values at the rows of the dataset."""
    what, columns = "shap_dependence(shap_values)", len(dataset.features)
    expected = f"finite numbers of shape ({len(dataset.table):,}, {columns}), those of X"
    raw = shap_values.values if isinstance(shap_values, _Explanation) else shap_values
    try:
        values = np.asarray(raw, dtype=float)
    except (TypeError, ValueError) as error:
        got = f"a {type(shap_values).__name__}"
        raise DataError(what, got, expected, "Pass numbers, such as explainer(X)") from error
    if values.ndim == 3 and values.shape[:2] == (len(dataset.table), columns):
        fix = "Choose the output: pass values[:, :, k]"
        raise DataError(what, f"values of {values.shape[2]} outputs", expected, fix)
    if values.shape != (len(dataset.table), columns):
        fix = "Pass one line for each row of X, and one column for each column"
        raise DataError(what, f"shape {values.shape}", expected, fix)
    values = values if dataset.row_id is None else values[dataset.row_id]
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).any(axis=1).sum())
        fix = "Leave these rows out of X and of the SHAP values"
        raise DataError(what, f"NaN or infinity in {bad:,} rows", expected, fix)
    record: dict[str, JsonValue] = {"shap": "values of the caller"}
    return _ShapValues(dataset, {None: (quantity, values)}, record)


def _computed(
    quantity: Quantity,
    dataset: Dataset,
    background: int | None,
    max_rows: int | None,
    options: ExplainOptions,
) -> _ShapValues:
    """Return the SHAP values of each output, by the explainer that the package shap chooses."""
    shap = _package()
    each = _coalitions(shap, len(dataset.features))
    limit, models = options.max_model_rows, quantity.rows_per_row
    rows, size = _within_limit(len(dataset), max_rows, background, each, limit, models)
    stats = CallStats()
    outputs = quantity.outputs(dataset, stats)
    checked = probe_model(list(outputs.values()), dataset)
    checked.stats.add(stats)
    stats, width = CallStats(), len(dataset.features)
    asked = float(models * each * rows * size) + checked.stats.rows
    announce_rows(checked.caller, asked, asked / (MASKS * size), "fewer max_rows=, background=")
    part = sample_by_hash(dataset, rows, options.seed)
    behind, weights = _background(dataset, size, options.seed)
    exact = len(part) == len(dataset) == size
    mixed = _MixedRows(np.append(1.0, weights))
    # Row 0 is the one that is explained, and the others are the background: shap sees no two equal numbers.
    numbers = np.tile(np.arange(1.0, size + 1)[:, None], (1, width))
    values = np.empty((len(part), width, len(outputs)))
    seeds = row_hashes(part.identifiers, options.seed, "shap: permutations") >> np.uint64(32)
    copies = max(size, min(MASKS * size, options.memory_bytes // (64 * (width + 8))))
    text = f"SHAP values of {quantity.describe()}"
    with Progress(len(part), text, options.progress) as bar, _own_random_state() as seed:
        explainer = shap.Explainer(mixed, shap.maskers.Independent(numbers, max_samples=size))
        checked.caller.heartbeat = lambda: bar.advance(0)
        for i, batch in enumerate(part.batches(1)):
            cache = ResponseCache() if len(outputs) > 1 else None
            mixed.rows = np.concatenate([batch.row_id, behind])
            used = mixed.evaluators or [None] * len(outputs)
            mixed.evaluators = [
                output.evaluator(batch, copies, checked.eps, before, cache)
                for output, before in zip(outputs.values(), used, strict=True)
            ]
            for evaluator in mixed.evaluators:
                evaluator.caller = checked.caller
            # The same permutations, whatever the order and the number of rows.
            seed(int(seeds[i]))
            explained = explainer(np.zeros((1, width)), batch_size=MASKS, silent=True)
            values[i] = explained.values[0].reshape(width, -1)
            for evaluator in mixed.evaluators:
                stats.add(evaluator.stats)
            bar.advance()
    cost: dict[str, JsonValue] = {}
    add_cost(cost, "effect", stats)
    add_cost(cost, "check", checked.stats)
    record: dict[str, JsonValue] = {
        **cost,
        "exact": exact and isinstance(explainer, shap.explainers.ExactExplainer),
        "source_rows": len(dataset),
        "shap": f"shap {shap.__version__}, {type(explainer).__name__}",
        "background_rows": size,
    }
    found = {label: (q, values[:, :, k]) for k, (label, q) in enumerate(outputs.items())}
    return _ShapValues(part, found, record)


def _within_limit(
    n: int,
    max_rows: int | None,
    background: int | None,
    each: int,
    limit: int | None,
    models: int,
) -> tuple[int, int]:
    """Return the numbers of rows and of rows of the background with which the SHAP values keep to `max_model_rows`."""
    rows, size = (n if most is None else min(most, n) for most in (max_rows, background))
    if limit is None:
        return rows, size
    choices = [(rows, size), *((k, size) for k in fewer_rows(rows, LEAST_ROWS))]
    choices += [(choices[-1][0], k) for k in fewer_rows(size, LEAST_BACKGROUND)]
    text = "SHAP values are computed for {:,} rows, with a background of {:,}."
    return keep_to(
        limit,
        choices,
        lambda k: models * (each * k[0] * k[1] + PROBED_ROWS),
        lambda k: [text.format(*k)],
    )


def _coalitions(shap: ModuleType, width: int) -> int:
    """Return how many coalitions of columns shap evaluates for a row, without calling a model."""
    asked = 0

    def count(rows: Floats) -> Floats:
        nonlocal asked
        asked += len(rows)
        return np.zeros(len(rows))

    with _own_random_state():
        behind = shap.maskers.Independent(np.ones((1, width)))
        shap.Explainer(count, behind)(np.zeros((1, width)), batch_size=MASKS, silent=True)
    return asked


@dataclass(eq=False)
class _MixedRows:
    """The function that shap explains: each column has the value of one of `rows`, which have `weights`."""

    weights: Floats
    rows: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    evaluators: list[BatchEvaluator] = field(default_factory=list)

    def __call__(self, choices: Floats) -> Floats:
        """Return the outputs, (m, o), for positions in `rows`, (m, d)."""
        positions = choices.astype(np.int64)
        rows, weights = self.rows[positions], self.weights[positions.max(axis=1)]
        changes = {j: DonorRows(column[:, None]) for j, column in enumerate(rows.T)}
        outputs = [e.sweep_together(changes, len(rows))[0] * weights for e in self.evaluators]
        return np.stack(outputs, axis=1)


def _background(dataset: Dataset, most: int | None, seed: int) -> tuple[Ints, Floats]:
    """Return the rows of the table over which the quantity is averaged, and their weights, on average 1."""
    n = len(dataset)
    rows = np.arange(n) if dataset.rows is None else np.arange(len(dataset.table))[dataset.rows]
    w = np.ones(n) if dataset.weights is None else dataset.weights
    if most is None or most >= n:
        return rows, w / w.mean()
    order = np.argsort(row_hashes(dataset.identifiers, seed, "shap: background"), kind="stable")
    reached = np.cumsum(w[order]) / w.sum()
    drawn = np.searchsorted(reached, (np.arange(most) + 0.5) / most).clip(max=n - 1)
    return rows[np.sort(order[drawn])], np.ones(most)


def _package() -> ModuleType:
    """Return the package shap."""
    try:
        with quiet():  # importing it warns of what its own plots use
            import shap
    except ImportError as error:
        raise UnsupportedError(
            "shap_dependence",
            "no package shap, which computes SHAP values",
            "shap, or SHAP values",
            "Install it: pip install 'skedasis[shap]'; or pass shap_values=",
        ) from error
    return shap


@contextmanager
def _own_random_state() -> Generator[Callable[[int], None]]:
    """Restore NumPy's global generator, from which shap draws its permutations, as it was before."""
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield np.random.seed
    finally:
        np.random.set_state(before)  # noqa: NPY002


# --- effects --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _KnownValues(ObservedLabel):
    """SHAP values that are known: they are the rows' labels. `about` says what they are of."""

    about: str = field(kw_only=True)

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return self.about


def _effect(
    column: Floats,
    base: Quantity,
    explained: Dataset,
    name: str,
    method: ShapDependence,
    options: ExplainOptions,
) -> Effect:
    """Return the effect of one feature from its SHAP values."""
    known = _KnownValues(
        "SHAP value" if base.name == "prediction" else f"SHAP value of {base.name}",
        base.unit,
        about=f"SHAP value of {name} for {base.describe()}",
    )
    rows = replace(explained, y=column, targets=column)
    job = prepare_rows(known, rows, [name], method, options)
    done = compute(job)
    record = provenance(job, done.scores)
    result = collect_results(job, done.results[None], record)
    if not isinstance(result, Effects):
        raise TypeError(f"shap_dependence of {name!r} gave a {type(result).__name__}")
    return next(iter(result.values()))
