"""`shap_dependence`: SHAP values as an effect with bins and heterogeneity, beside ALE and PDP.

The SHAP value of a feature in a row is its Shapley value in the game whose players are the features: a coalition is
worth the mean of the quantity over background rows in which the coalition's columns have the row's values (Lundberg &
Lee 2017; the "interventional" or marginal definition). The package shap computes them. What it is given are the numbers
of rows instead of values: a masked row is a choice of one row of X for each column. So X may have text, categories,
missing values and times, which a matrix of floats has not, and the model is called with rows in its own container.

The effect is the mean of the SHAP values over the rows of each bin or level, and its heterogeneity their standard
deviation there: the statistics of an M-plot (`skedasis.methods.mplot`), of the SHAP values in place of the quantity.
"""

# A quantity with several outputs is a `Quantity`: the overloads list the narrower type first.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, Unpack, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_int, check_int_or_none
from skedasis._types import (
    Bools,
    Container,
    Floats,
    Ints,
    JsonValue,
    ModelRows,
    OutputLabel,
    RawResponse,
    TableLike,
    Values,
)
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Dataset, is_stream
from skedasis.engine.assemble import (
    collect_results,
    finalize_all,
    provenance,
    resolve_method_and_selection,
)
from skedasis.engine.explain import FeatureLike, FeatureList
from skedasis.engine.h_statistic import sample_by_hash
from skedasis.engine.heterogeneity_score import Scores
from skedasis.engine.options import ExplainOptions, NullKeywords, takes_options
from skedasis.engine.plan import prepare_job
from skedasis.engine.progress import Progress
from skedasis.engine.run import run
from skedasis.engine.select import FeatureSelection, as_features
from skedasis.engine.streams import draw_rows
from skedasis.errors import DataError, UnsupportedError, quiet
from skedasis.methods.base import Scheme
from skedasis.methods.mplot import MPlot
from skedasis.models.calling import CallStats
from skedasis.quantities.base import Quantity, given_labels
from skedasis.quantities.evaluator import BatchEvaluator, ResponseCache, probe_model
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity, as_quantity, check_one_model
from skedasis.results.display import SHAP_DEPENDENCE
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import as_provenance
from skedasis.stats.random import row_hashes

SHAP_ROWS = 500
"""Largest number of rows for which SHAP values are computed, unless the caller asks for more."""

BACKGROUND = 100
"""Rows over which the quantity is averaged where columns are absent, as in shap."""

PERMUTATIONS = 4
"""Orders of the features, each also reversed. One is exact if no more than two features interact."""


@overload
def shap_dependence(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    *,
    y: ArrayLike | None = None,
    shap_values: object = None,
    bins: Scheme = "auto",
    background: int | None = BACKGROUND,
    n_permutations: int = PERMUTATIONS,
    max_rows: int | None = SHAP_ROWS,
    **keywords: Unpack[NullKeywords],
) -> MultiOutput[Effect]: ...


@overload
def shap_dependence(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    *,
    y: ArrayLike | None = None,
    shap_values: object = None,
    bins: Scheme = "auto",
    background: int | None = BACKGROUND,
    n_permutations: int = PERMUTATIONS,
    max_rows: int | None = SHAP_ROWS,
    **keywords: Unpack[NullKeywords],
) -> MultiOutput[Effects]: ...


@overload
def shap_dependence(
    model: ModelLike,
    X: TableLike,
    features: FeatureLike,
    *,
    y: ArrayLike | None = None,
    shap_values: object = None,
    bins: Scheme = "auto",
    background: int | None = BACKGROUND,
    n_permutations: int = PERMUTATIONS,
    max_rows: int | None = SHAP_ROWS,
    **keywords: Unpack[NullKeywords],
) -> Effect: ...


@overload
def shap_dependence(
    model: ModelLike,
    X: TableLike,
    features: FeatureList = None,
    *,
    y: ArrayLike | None = None,
    shap_values: object = None,
    bins: Scheme = "auto",
    background: int | None = BACKGROUND,
    n_permutations: int = PERMUTATIONS,
    max_rows: int | None = SHAP_ROWS,
    **keywords: Unpack[NullKeywords],
) -> Effects: ...


@takes_options(NullKeywords)
def shap_dependence(
    model: ModelLike | MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike | FeatureList = None,
    *,
    y: ArrayLike | None = None,
    shap_values: object = None,
    bins: Scheme = "auto",
    background: int | None = BACKGROUND,
    n_permutations: int = PERMUTATIONS,
    max_rows: int | None = SHAP_ROWS,
    **keywords: Unpack[NullKeywords],
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
    n_permutations : int
        Number of random orders in which features join the coalition, in each row; each is also used in reverse. The
        values are exact if no more than two features interact at a time, and unbiased otherwise.
    max_rows : int or None
        Largest number of rows whose SHAP values are computed, those with the smallest hashes of `random_state` and
        `row_id`. None uses all rows.
    sample_weight, schema, random_state, sample, memory, keep, n_jobs, progress, weight_kind, row_id
        As in `skedasis.explain`.
    tree : {"auto", "off"}
        Without effect: the mixed rows of coalitions are too many different ones for the evaluation of trees from their
        structure to be faster than the model.

    Returns
    -------
    Effect or Effects
        For a quantity with several outputs a `MultiOutput` of these. The effect's values are mean SHAP values, and its
        `heterogeneity` is the standard deviation of the SHAP values within the bin.

    Raises
    ------
    DataError
        For SHAP values that are not finite numbers of shape (n, d), and as `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        If the package shap is not installed, for several models, pairs of features, SHAP values of data that are read
        in chunks, and as `skedasis.explain`.

    Notes
    -----
    Cost: `n_permutations` × (2 d + 1) × `background` model rows for each of at most `max_rows` rows, and at most 128
    for the check of the model. None with `shap_values`: for an ensemble of trees, pass those of
    ``shap.TreeExplainer``, which are exact and take less time.

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
    game = _Game(
        check_int_or_none("shap_dependence(background)", background, 1, "Use 100, or None for all"),
        check_int("shap_dependence(n_permutations)", n_permutations, 1, "Use for example 4"),
        check_int_or_none("shap_dependence(max_rows)", max_rows, 2, "Use 500, or None for all"),
    )
    if options.tree == "force":
        raise UnsupportedError(
            "shap_dependence(tree)",
            "'force'",
            "'auto' or 'off'",
            "For trees pass shap_values=shap.TreeExplainer(model)(X)",
        )
    method = ShapDependence(bins=bins)
    quantity = as_quantity(model)
    rows_of_user, origin = X, dict[str, JsonValue]()
    if is_stream(X):
        if shap_values is not None:
            raise UnsupportedError(
                "shap_dependence(shap_values)",
                "SHAP values beside data that are read in chunks",
                "rows in memory",
                "Read the rows whose SHAP values these are, and pass them as X",
            )
        most = [n for n in (game.max_rows, options.sample, X.n_rows) if n is not None]
        drawn = draw_rows(X, min(most), options)
        rows_of_user, options, origin = drawn.X, drawn.options, drawn.record
    dataset = options.dataset(rows_of_user)
    if shap_values is None:
        dataset = quantity.prepare(dataset)
        values = _computed(quantity, dataset, game, options)
    else:
        values = _given(shap_values, quantity, dataset)
    asked = as_features(cast("Container", rows_of_user), features, "shap_dependence(features)")
    selection = FeatureSelection(dataset, asked, None)
    if selection.pairs:
        raise UnsupportedError(
            "shap_dependence(features)",
            "a pair of features",
            "single features",
            "SHAP values belong to single features; for pairs use sd.explain(model, X, pair)",
        )
    results: dict[OutputLabel, Effect | Effects] = {}
    for label, of_output in values.by_output.items():
        effects = {
            f.name: _effect(of_output, values, f.name, f.position, method, options)
            for (f,) in selection.asked
        }
        settings = {**method.describe(), **(game.describe() if shap_values is None else {})}
        common = {**values.record, **origin, "settings": settings}
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


@dataclass(frozen=True)
class _Game:
    """How SHAP values are computed.

    Parameters
    ----------
    background, n_permutations, max_rows
        As in `shap_dependence`.
    """

    background: int | None
    n_permutations: int
    max_rows: int | None

    def describe(self) -> dict[str, JsonValue]:
        """Return the settings for the provenance."""
        return {
            "background": self.background,
            "n_permutations": self.n_permutations,
            "max_rows": self.max_rows,
        }


@dataclass(frozen=True, eq=False)
class _OfOutput:
    """The SHAP values of one output.

    Parameters
    ----------
    values : ndarray of float, shape (n, d)
    quantity : Quantity
    """

    values: Floats
    quantity: Quantity


@dataclass(frozen=True, eq=False)
class _ShapValues:
    """SHAP values of rows, and what computing them took.

    Parameters
    ----------
    rows : Dataset
        The n rows that have SHAP values.
    by_output : dict of label to _OfOutput
    record : dict
        Entries of the provenance.
    """

    rows: Dataset
    by_output: Mapping[OutputLabel, _OfOutput]
    record: dict[str, JsonValue]


@runtime_checkable
class _Explanation(Protocol):
    """The part of `shap.Explanation` that is read; data frames have it, too."""

    values: Floats


class _Explainer(Protocol):
    """The part of `shap.explainers.PermutationExplainer` that is called."""

    def __call__(
        self, rows: Floats, *, max_evals: int, batch_size: int, silent: bool
    ) -> _Explanation: ...


def _given(shap_values: object, quantity: Quantity, dataset: Dataset) -> _ShapValues:
    """Return the caller's SHAP values at the rows of the dataset.

    Raises
    ------
    DataError
    """
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
    return _ShapValues(dataset, {None: _OfOutput(values, quantity)}, record)


def _computed(
    quantity: Quantity, dataset: Dataset, game: _Game, options: ExplainOptions
) -> _ShapValues:
    """Return the SHAP values of each output, from the package shap."""
    stats = CallStats()
    version, explainer_of = _permutation_explainer()
    outputs = quantity.outputs(dataset, stats)
    checked = probe_model(list(outputs.values()), dataset)
    checked.stats.add(stats)
    stats = CallStats()
    part = sample_by_hash(dataset, game.max_rows, options.seed)
    behind, weights = _background(dataset, game.background, options.seed)
    every = len(part) == len(dataset) and len(behind) == len(dataset)
    width = len(dataset.features)
    evaluations = game.n_permutations * (2 * width + 1)
    # The last column says which row of the background it is.
    numbers = np.column_stack([np.tile(behind[:, None], (1, width)), np.arange(len(behind))])
    asked = {label: _MaskedRows(weights) for label in outputs}
    values = {label: np.empty((len(part), width)) for label in outputs}
    seeds = row_hashes(part.identifiers, options.seed, "shap: permutations") >> np.uint64(32)
    copies = max(1, min(evaluations * len(behind), options.memory_bytes // (64 * (width + 8))))
    text = f"SHAP values of {quantity.describe()}"
    with Progress(len(part), text, options.progress) as bar, _own_random_state() as seed:
        explainers = {
            label: explainer_of(rows, numbers.astype(float)) for label, rows in asked.items()
        }
        checked.caller.heartbeat = lambda: bar.advance(0)
        for i, batch in enumerate(part.batches(1)):
            cache = ResponseCache() if len(outputs) > 1 else None
            row = np.full((1, width + 1), float(batch.row_id[0]))
            for label, output in outputs.items():
                evaluator = output.evaluator(batch, copies, checked.eps, asked[label].used, cache)
                evaluator.caller = checked.caller
                asked[label].evaluator = evaluator
                # The same permutations for all outputs, whatever the order and the number of rows.
                seed(int(seeds[i]))
                explained = explainers[label](
                    row, max_evals=evaluations, batch_size=evaluations, silent=True
                )
                values[label][i] = explained.values[0, :width]
                stats.add(evaluator.stats)
            bar.advance()
    record: dict[str, JsonValue] = {
        "model_rows": stats.rows,
        "model_calls": stats.calls,
        "check_rows": checked.stats.rows,
        "exact": every and width <= 2,
        "source_rows": len(dataset),
        "shap": f"shap {version}, permutation explainer",
        "background_rows": len(behind),
    }
    found = {label: _OfOutput(v, outputs[label]) for label, v in values.items()}
    return _ShapValues(part, found, record)


@dataclass(eq=False)
class _MaskedRows:
    """The function that shap calls: from numbers of rows, one for each column, to the quantity at these mixed rows.

    Attributes
    ----------
    weights : ndarray of float, shape (b,)
        Of the rows of the background, on average 1. shap, which has no weights, takes the mean of the weighted values.
    evaluator : BatchEvaluator
        That of the row which is explained: its label is that of the mixed rows.
    """

    weights: Floats
    evaluator: BatchEvaluator | None = field(default=None)

    @property
    def used(self) -> BatchEvaluator | None:
        """Return the evaluator of the row before, whose buffer is reused."""
        return self.evaluator

    def __call__(self, numbers: Floats) -> Floats:
        """Return the weighted quantity, (m,), for numbers of shape (m, d + 1)."""
        if self.evaluator is None:
            raise TypeError("SHAP values were asked for before a row was chosen")
        rows = numbers.astype(np.int64)
        changes = {j: DonorRows(rows[:, j, None]) for j in range(rows.shape[1] - 1)}
        return self.evaluator.sweep_together(changes, len(rows))[0] * self.weights[rows[:, -1]]


def _background(dataset: Dataset, most: int | None, seed: int) -> tuple[Ints, Floats]:
    """Return the rows of the table over which the quantity is averaged, and their weights, on average 1.

    A part of the rows, without weights or if they are equal: those with the smallest hashes. With weights rows are
    drawn systematically in the order of their hashes, so that each is expected as often as its weight says.
    """
    n, w = len(dataset), dataset.weights
    rows = np.arange(n) if dataset.rows is None else np.arange(len(dataset.table))[dataset.rows]
    order = np.argsort(row_hashes(dataset.identifiers, seed, "shap: background"), kind="stable")
    size = n if most is None else min(most, n)
    if w is None or w.min() == w.max():
        return rows[np.sort(order[:size])], np.ones(size)
    if size == n:
        return rows, w / w.mean()
    reached = np.cumsum(w[order]) / w.sum()
    drawn = order[np.searchsorted(reached, (np.arange(size) + 0.5) / size).clip(max=n - 1)]
    return rows[np.sort(drawn)], np.ones(size)


class _ExplainerOf(Protocol):
    """Returns the explainer of a function, with background rows of shape (b, d + 1)."""

    def __call__(self, function: _MaskedRows, background: Floats) -> _Explainer: ...


def _permutation_explainer() -> tuple[str, _ExplainerOf]:
    """Return shap's version, and its explainer by permutations.

    Raises
    ------
    UnsupportedError
    """
    try:
        with quiet():  # importing it warns of what its own plots use
            import shap
            from shap.maskers import Independent
    except ImportError as error:
        raise UnsupportedError(
            "shap_dependence",
            "no package shap, which computes SHAP values",
            "shap, or SHAP values",
            "Install it: pip install 'skedasis[shap]'; or pass shap_values=",
        ) from error

    class Masker(Independent):
        def invariants(self, x: Floats) -> Bools:
            """Return where a background row has the row's own value. The last column is no player."""
            # shap would take numbers that differ by less than 1e-5 of their size for equal.
            same = np.asarray(self.data == x)
            same[:, -1] = True
            return same

    def explainer_of(function: _MaskedRows, background: Floats) -> _Explainer:
        masker = Masker(background, max_samples=len(background))
        return cast("_Explainer", shap.explainers.PermutationExplainer(function, masker))

    return str(shap.__version__), explainer_of


class _Seed(Protocol):
    """Seeds the generator that shap draws from."""

    def __call__(self, seed: int) -> None: ...


@contextmanager
def _own_random_state() -> Generator[_Seed]:
    """Restore NumPy's global generator, from which shap draws its permutations, as it was before."""
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield np.random.seed
    finally:
        np.random.set_state(before)  # noqa: NPY002


# --- effects --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _KnownValues(Quantity):
    """A quantity whose values are known: they are the rows' labels.

    Parameters
    ----------
    name, unit : str
    about : str
        What it is of, for the provenance.
    """

    name: str = "SHAP value"
    unit: str | None = None
    about: str = field(kw_only=True)

    labelled = True

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return self.about

    def raw(self, X: ModelRows) -> RawResponse:
        """Return as many numbers as there are rows; they are not read."""
        return np.zeros(len(X))

    def read(self, raw: RawResponse, y: Values | None = None) -> Values:
        """Return the labels."""
        return given_labels(y)


def _effect(
    of_output: _OfOutput,
    values: _ShapValues,
    name: str,
    position: int,
    method: ShapDependence,
    options: ExplainOptions,
) -> Effect:
    """Return the effect of one feature from its SHAP values."""
    started, base = time.perf_counter(), of_output.quantity
    column = of_output.values[:, position]
    known = _KnownValues(
        "SHAP value" if base.name == "prediction" else f"SHAP value of {base.name}",
        base.unit,
        about=f"SHAP value of {name} for {base.describe()}",
    )
    rows = replace(values.rows, y=column, targets=column)
    resolved, selection = resolve_method_and_selection(method, known, rows, [name], options)
    job = prepare_job(known, resolved, selection, options)
    found = finalize_all(job, run(job), Scores(), {})[None]
    record = provenance(job, Scores(), time.perf_counter() - started)
    # The work that `run` did has called no model.
    record |= {"model_rows": 0, "model_calls": 0, "check_rows": 0}
    result = collect_results(job, found, record)
    if not isinstance(result, Effects):
        raise TypeError(f"shap_dependence of {name!r} gave a {type(result).__name__}")
    return next(iter(result.values()))
