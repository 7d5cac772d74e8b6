"""`calibration`: the mean label at each prediction, and where predictions are wrong on average."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_option, check_probability
from skedasis._types import Bools, Floats, Ints, JsonValue, TableLike
from skedasis.binning import Binning, Edges, Quantile, as_binning
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.engine.argument_types import Models, of_models
from skedasis.engine.compare import compared
from skedasis.engine.options import ExplainOptions, RowValuesKeywords, takes_options
from skedasis.engine.row_values import values_and_labels
from skedasis.errors import UnsupportedError
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import ModelLike, as_quantity
from skedasis.results.calibration import (
    Calibration,
    CalibrationDeviation,
    CalibrationMethod,
    CalibrationPoint,
)
from skedasis.results.containers import OutputResult
from skedasis.results.multi_output import Comparison, MultiOutput
from skedasis.results.provenance import as_provenance
from skedasis.stats.calibration import (
    Deviation,
    LabelledRows,
    Ranges,
    deviations,
    distinct_starts,
    equal_weight_starts,
    error_parts,
    isotonic_starts,
    mean_label_interval,
    total_residual,
)

BINS = 10
"""Number of bins, where their rows allow it."""

ROWS_PER_BIN = 30
"""Least rows per bin where their number is not given: Student's t is trusted with labels that are far from normal."""

BARS = 40
"""Bars of the histogram of the predictions."""


@of_models(Calibration)
@takes_options(RowValuesKeywords)
def calibration(
    model: ModelLike | Models[ModelLike],
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    method: CalibrationMethod = "isotonic",
    bins: int | Binning | None = None,
    confidence_level: float = 0.95,
    **keywords: Unpack[RowValuesKeywords],
) -> Calibration | MultiOutput[Calibration] | Comparison[OutputResult]:
    """Return mean labels by mean predictions, and the ranges of predictions that are wrong on average.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        A regressor or callable stands for its prediction, a classifier of two classes for the probability of the
        second. A logit, or a prediction with ``link="log"`` or an `inverse`, is compared on the scale of the labels. A
        quantity with several classes gives a `MultiOutput`, a list or dictionary of models a `Comparison`.
    X : array, data frame or ParquetData, n rows
        Rows that the model was not trained on. Never modified.
    y : array of n labels
        Numbers, or classes. Of `sd.parquet` the data name the column.
    method : {"isotonic", "bins"}
        The points: blocks of the isotonic fit, which is the increasing function of the prediction next to the labels,
        or bins.
    bins : int or Binning, optional
        Bins of the predictions: a number or `Quantile` of equal weight, `Uniform`, or `Edges`. They are the points with
        ``method="bins"``, and what is tested with either method. By default 10 of equal weight; fewer if these would
        have fewer than 30 rows each. Equal predictions are in one bin.
    confidence_level : float
        Of the ranges of predictions that are wrong on average: the probability that none is found if each prediction is
        the mean of its labels.
    sample_weight, schema, random_state, sample, memory, keep_rows, n_jobs, progress, weight_kind, row_id, tree, client
        As in `skedasis.explain`.
    max_model_rows : int or None
        Largest number of rows at which the model is called: a random sample is then used, of at least 200.

    Returns
    -------
    Calibration
        For a quantity with several classes a `MultiOutput`, for several models a `Comparison` of these.

    Raises
    ------
    DataError
        Without labels, for labels that are missing, not finite, or no classes of the model, for bins that hold no
        prediction, and as `skedasis.explain`.
    ModelOutputError
        As `skedasis.explain`.
    UnsupportedError
        For a quantity that no label is compared with: an entropy, a variance, a loss, all outputs of a regression.

    Notes
    -----
    **Cost.** One model row for each row, none for trees that are evaluated from their structure, and at most 128 for
    the check of the model. Predictions and labels are held in memory, 32 bytes per row, also of data that are read in
    chunks; if that is more than `keep_rows`, a random sample is used, and ``provenance["exact"]`` is False.

    **Points.** The mean label of a bin has Student's interval from the residuals, label - prediction, of whole numbers
    such as counts with at least the error that the predictions imply (`Observed`); a proportion has Wilson's. It is
    given the predictions, so that it excludes the diagonal where the bin is wrong beyond chance.

    The isotonic fit is the mean label in blocks that the labels choose. Its interval at a prediction x is ± c s/√n,
    with n the rows of the block around x, s the standard deviation of labels (of the block, or with those beside it of
    at least 30 rows), and c = 2.11 instead of 1.96 at 95 %: (fit − mean label at x) √n/s has a limit distribution
    without unknowns where the mean label increases (Deng, Han & Zhang 2021). Where it does not change, the interval
    is a little wide. In simulations (normal, unequally noisy and count labels, events of any frequency, calibrated or
    not) it holds 93 to 97 % between the 10 % and 90 % quantiles of the predictions from 1,000 rows on, 88 to 98 % with
    200; at the ends, and with fewer rows, 75 to 100 %. Percentiles of isotonic fits of resampled rows, or of labels
    drawn around the fit (Dimitriadis, Gneiting & Jordan 2021), hold 40 to 90 % where the mean label is flat or begins
    to rise.

    **Wrong on average.** Each bin, and all rows together, is tested; neighbours in the same direction are joined
    (`Calibration.deviations`). The level is that of all tests together (Bonferroni). A proportion has the binomial
    test, other labels Student's, after a transformation that removes the mean skewness of the residuals in their bins
    (Hall 1992). Counts and other whole numbers have both tests, and the larger p-value: their variance is at least the
    binomial one between the two whole numbers around the mean prediction, which a bin of hardly any event does not
    show. In 200 to 5,000 rows it finds something in 3 to 6 % of calibrated models with normal labels, counts about a
    mean of 1 and exponential amounts, in 2 to 4 % with events or counts of means from 0 to 0.2.

    **Weights.** With sampling weights the error of a mean is that of a sum of independent rows, as everywhere for what
    was observed (`Observed`). A proportion rests on the effective number of rows, or on fewer if events have large
    weights: on as many as have the variance of the weighted mean.

    **Squared error.** It is miscalibration − discrimination + uncertainty, where miscalibration is what it falls by if
    the isotonic fit replaces the prediction. This also follows noise. `Calibration.miscalibration_beyond_noise` is
    a weighted mean with that of fits on one half of the rows, measured at the other, in which most of it cancels.

    References
    ----------
    Deng, Han & Zhang (2021), Annals of Statistics 49(4), for the interval; Dimitriadis, Gneiting & Jordan (2021), PNAS
    118(8), for the parts of the squared error.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 600, size=(4000, 1))
    >>> y = np.minimum(X[:, 0], 500) + rng.normal(0, 50, size=4000)
    >>> print(sd.calibration(lambda X: X[:, 0], X, y))
    Calibration of prediction at 4,000 rows
    Mean label 290, mean prediction 298. Predictions from 480 are too high by 42 on average (95 % interval 36 to 48).
    Intervals are adjusted for the number of bins.
    Mean squared error 3,071, of which 537 ± 46 is miscalibration.
    """
    if isinstance(model, (list, tuple, Mapping)):

        def of(one: ModelLike) -> OutputResult:
            return calibration(
                one, X, y, method=method, bins=bins, confidence_level=confidence_level, **keywords
            )

        return compared(model, of)
    started = time.perf_counter()
    check_option("calibration(method)", method, ("isotonic", "bins"))
    level = check_probability("calibration(confidence_level)", confidence_level)
    scheme = _scheme(bins)
    given = ExplainOptions.of("calibration", y=y, **keywords)
    quantity = as_quantity(model).label_scale("calibration(model)")
    found = values_and_labels(quantity, X, replace(given, heterogeneity_rows=0))
    record = found.provenance | {
        "method": "calibration",
        "features": [],
        "settings": {"method": method, "bins": None if scheme is None else str(scheme)},
        "seconds": time.perf_counter() - started,
    }
    results = {
        label: calibration_of_values(
            output,
            found.rows[label].values,
            found.rows[label].labels,
            found.rows[label].weights,
            found.rows[label].half,
            given,
            record,
            method=method,
            bins=scheme,
            level=level,
            library=found.dataset.library,
        )
        for label, output in found.outputs.items()
    }
    return results[None] if set(results) == {None} else MultiOutput(results)


def _scheme(bins: int | Binning | None) -> Binning | None:
    if bins is None:
        return None
    scheme = as_binning(bins, Quantile)
    if scheme.chooses:
        raise UnsupportedError(
            "calibration(bins)",
            repr(scheme),
            "bins that do not depend on the labels: a number, sd.Quantile, sd.Uniform or sd.Edges",
            "Use bins=10",
        )
    if isinstance(scheme, Edges) and scheme.closed is None:
        return replace(scheme, closed="right")
    return scheme


def calibration_of_values(
    output: Quantity,
    prediction: Floats,
    label: Floats,
    weights: Floats | None,
    half: Bools,
    options: ExplainOptions,
    record: Mapping[str, JsonValue],
    *,
    method: CalibrationMethod = "isotonic",
    bins: Binning | None = None,
    level: float = 0.95,
    library: str | None = None,
) -> Calibration:
    """Return the calibration of predictions that are known, on the scale of the labels, without a further model row."""
    kind = options.weight_kind
    rows, order = LabelledRows.sorted_by_prediction(prediction, label, weights, kind)
    inside, starts = _bins(rows, output, bins)
    tested = Ranges.of(inside, starts)
    isotonic = method == "isotonic"
    points = Ranges.of(rows, isotonic_starts(rows)) if isotonic else tested
    parts = error_parts(rows, half[order])
    residual, error, df = total_residual(rows)
    edges, heights = _histogram(rows)
    return Calibration(
        _points(points, isotonic=isotonic),
        tuple(_deviation(tested, d) for d in deviations(tested, 1 - level)),
        method,
        rows.mean(rows.label),
        rows.mean(rows.prediction),
        residual,
        error,
        df,
        parts.score,
        parts.miscalibration,
        parts.discrimination,
        parts.uncertainty,
        parts.corrected,
        parts.corrected_error,
        edges,
        heights,
        len(rows),
        float(len(rows)) if weights is None else float(weights.sum()),
        rows.events,
        level,
        output.name,
        output.unit,
        library,
        as_provenance(
            {
                **record,
                "quantity": output.describe(),
                "unit": output.unit,
                "rows_outside": len(rows) - len(inside),
            }
        ),
    )


def _bins(
    rows: LabelledRows, output: Quantity, scheme: Binning | None
) -> tuple[LabelledRows, Ints]:
    """Return the rows that are in a bin, and where the bins begin among them."""
    if scheme is None or isinstance(scheme, Quantile):
        most = max(1, min(BINS, len(rows) // ROWS_PER_BIN))
        return rows, equal_weight_starts(rows, most if scheme is None else scheme.k)
    axis = Feature(output.name, unit=output.unit)
    cells = scheme.candidates(Column(axis, rows.prediction, rows.weights))
    cell = cells.locate(rows.prediction) if len(cells) else np.zeros(len(rows), dtype=np.int64)
    inside = rows.where(cell >= 0) if (cell < 0).any() else rows
    return inside, distinct_starts(cell[cell >= 0])


def _points(ranges: Ranges, *, isotonic: bool) -> tuple[CalibrationPoint, ...]:
    error, df = ranges.errors(isotonic=isotonic)
    own, label, events = ranges.label.moments, ranges.label.mean, ranges.rows.events
    ends = mean_label_interval(
        label, error, df, ranges.size, 0.95, isotonic=isotonic, events=events
    )
    columns = (
        *(ranges.low, ranges.high, ranges.prediction.mean, label, error, *ends),
        *(own.count.astype(int), own.weight, ranges.size, df),
    )
    return tuple(
        CalibrationPoint(*line) for line in zip(*(c.tolist() for c in columns), strict=True)
    )


def _deviation(bins: Ranges, found: Deviation) -> CalibrationDeviation:
    part = slice(found.first, found.last + 1)
    prediction, label = (m.moments.take(part).whole() for m in (bins.prediction, bins.label))
    return CalibrationDeviation(
        float(bins.low[found.first]),
        float(bins.high[found.last]),
        float(prediction.mean[0]),
        float(label.mean[0]),
        found.residual,
        found.lower,
        found.upper,
        found.p_value,
        int(label.count[0]),
        float(label.weight[0]),
        found.first == 0,
        found.last == len(bins) - 1,
    )


def _histogram(rows: LabelledRows) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the edges of equal bins of the predictions, and the weight in each."""
    low, high = float(rows.prediction[0]), float(rows.prediction[-1])
    edges = np.linspace(low, high, BARS + 1)
    if not (np.diff(edges) > 0).all():  # predictions that are all, or nearly, the same
        return (low, high), (
            float(len(rows)) if rows.weights is None else float(rows.weights.sum()),
        )
    heights, _ = np.histogram(rows.prediction, edges, weights=rows.weights)
    return tuple(edges.tolist()), tuple(map(float, heights.tolist()))
