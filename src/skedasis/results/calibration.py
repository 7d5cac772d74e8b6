"""`Calibration`: mean labels by mean predictions, and where predictions are wrong on average."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

import numpy as np

from skedasis._arguments import check_probability
from skedasis._calls import checked_call
from skedasis._numbers import counted, number, with_error
from skedasis._types import Floats
from skedasis.results import json_keys, operations
from skedasis.results.described import Documented, Keys, columns_of, content_of, keys_of
from skedasis.results.display import Ranking, RankLine, ResultWithTables, called_text
from skedasis.results.export import Content, ExportOptions, TableColumns
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.sentences import CALIBRATION, tell
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.calibration import mean_label_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import LevelFigureKeywords, LevelKeywords

CalibrationMethod: TypeAlias = Literal["isotonic", "bins"]
CalibrationTable: TypeAlias = Literal["points", "deviations"]


@dataclass(frozen=True)
class CalibrationPoint(Documented):
    """The rows of a bin, or of a block of the isotonic fit: those whose predictions are in a range."""

    low: float
    """The smallest prediction of these rows."""
    high: float
    """The largest prediction of these rows."""
    prediction: float
    """Mean prediction."""
    label: float
    """Mean label; of a class, the proportion of the rows that are of it."""
    std_error: float
    """Standard error of the mean label, given the predictions; NaN where there are too few rows."""
    lower: float
    """Lower end of the interval of the mean label, here at 95 %."""
    upper: float
    """Upper end."""
    count: int
    weight: float
    """Sum of the rows' weights."""
    size: float
    """Number of rows that the mean label rests on: the effective one of sampling weights."""
    df: float
    """Degrees of freedom of the error."""


@dataclass(frozen=True)
class CalibrationDeviation(Documented):
    """A range of predictions that are wrong on average, by a test that allows for all ranges."""

    low: float
    """The smallest prediction in it."""
    high: float
    """The largest prediction in it."""
    prediction: float
    """Mean prediction."""
    label: float
    """Mean label."""
    residual: float
    """Mean of label - prediction: above 0 where predictions are too low."""
    lower: float
    """Lower end of the interval of `residual`, which all ranges have together."""
    upper: float
    """Upper end."""
    p_value: float
    """Of the bin with the weakest evidence in it, multiplied by the number of tests."""
    count: int
    weight: float
    """Sum of the rows' weights."""
    lowest: bool
    """Whether it has the smallest of all predictions."""
    highest: bool
    """Whether it has the largest of all predictions."""


@dataclass(frozen=True)
class CalibrationRank(RankLine):
    """The calibration of one output or model as a line of a ranking."""

    ordered_by = "miscalibration"

    quantity: str
    label: float
    """Mean label."""
    prediction: float
    """Mean prediction."""
    residual: float
    """Mean of label - prediction."""
    std_error: float
    """Its standard error."""
    miscalibration: float
    """Miscalibration beyond noise, in the unit squared."""
    rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ResultWithTables[CalibrationTable]):
    """Mean labels by mean predictions, and where predictions are wrong on average. Computed by `skedasis.calibration`.

    Notes
    -----
    No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.linspace(0, 1, 1200)[:, None]
    >>> y = X[:, 0] + 0.01 * np.cos(np.arange(1200))
    >>> c = sd.calibration(lambda X: 2 * X[:, 0], X, y, method="bins", bins=3)
    >>> [round(point.label - point.prediction, 2) for point in c.points]
    [-0.17, -0.5, -0.83]
    """

    compared_in_table = False
    frames = (
        "points: one row per point, with the columns of `CalibrationPoint`",
        "deviations: one row per range of predictions that are wrong on average, those of `CalibrationDeviation`",
    )

    points: tuple[CalibrationPoint, ...]
    """Bins, or blocks of the isotonic fit, by increasing predictions."""
    deviations: tuple[CalibrationDeviation, ...]
    """The ranges of predictions that are wrong on average; empty if none was found."""
    method: CalibrationMethod
    """What the points are: blocks of the isotonic fit, the increasing function of the prediction next to the labels;
    or bins."""
    label: float
    """Mean label."""
    prediction: float
    """Mean prediction."""
    residual: float
    """Mean of label - prediction."""
    std_error: float
    """Standard error of `residual`."""
    df: float
    """Degrees of freedom of this error."""
    squared_error: float
    """Mean squared error; of probabilities the Brier score. It is miscalibration - discrimination + uncertainty."""
    miscalibration: float
    """By how much the mean squared error of the isotonic fit is smaller, at the rows that it was fitted on."""
    discrimination: float
    """By how much the mean squared error of the isotonic fit is smaller than that of the mean label."""
    uncertainty: float
    """Variance of the labels."""
    miscalibration_beyond_noise: float
    """Miscalibration without what the fit takes from the noise of the labels: about 0, of either sign, if predictions
    are calibrated."""
    miscalibration_error: float
    """Its standard error, roughly; NaN for a few rows."""
    histogram_edges: tuple[float, ...]
    """Edges of equal bins of the predictions."""
    histogram_weight: tuple[float, ...]
    """Weight of the rows in each of these."""
    rows: int
    """Number of rows."""
    weight: float
    """Sum of their weights."""
    events: bool
    """Whether labels are 0 and 1 and predictions between: mean labels are proportions, which have Wilson's interval."""
    confidence_level: float = 0.95
    """Probability that no deviation is found if predictions are calibrated."""
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    provenance: Provenance = field(default_factory=no_provenance)

    @property
    def axis(self) -> str:
        """Return the label of the axis of predictions, with its unit."""
        return f"{self.quantity} [{self.unit}]" if self.unit else self.quantity

    def __len__(self) -> int:
        return len(self.points)

    @checked_call
    def interval(self, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the interval of the mean label at each point.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of float, shape (points,)
            In the unit of the labels; NaN where there are too few rows.

        Raises
        ------
        DataError
            For another level.

        Notes
        -----
        Pointwise: each interval is for one point. It is of the mean label of rows with these predictions, given the
        predictions: that of a bin by Student's t, or Wilson's for proportions. That of a block of the isotonic fit is
        for a prediction in it, chosen without the labels; it allows for the choice of blocks by the labels (see
        `skedasis.calibration`). No model row.
        """
        level = check_probability("interval(confidence_level)", confidence_level)
        label, error, df, size = (
            np.array([vars(p)[name] for p in self.points], dtype=float)
            for name in ("label", "std_error", "df", "size")
        )
        isotonic = self.method == "isotonic"
        return mean_label_interval(
            label, error, df, size, level, isotonic=isotonic, events=self.events
        )

    @checked_call
    def ranking(self) -> Ranking[CalibrationRank]:
        """Return the calibration as the only line of a ranking, which prints as a table."""
        numbers = (self.label, self.prediction, self.residual, self.std_error)
        return Ranking(
            [CalibrationRank(self.quantity, *numbers, self.miscalibration_beyond_noise, self.rows)]
        )

    def _table(self, of: str) -> TableColumns:
        if of == "points":
            return {**columns_of(CalibrationPoint, self.points)}
        return {**columns_of(CalibrationDeviation, self.deviations)}

    _WHOLE = (
        *("quantity", "unit", "method", "label", "prediction", "residual", "std_error", "df"),
        *("squared_error", "miscalibration", "discrimination", "uncertainty"),
        *("miscalibration_beyond_noise", "miscalibration_error", "rows", "weight", "events"),
        *("deviations", "confidence_level as deviations_level"),
        *("histogram_edges", "histogram_weight"),
    )

    def _document(self, options: ExportOptions) -> Content:
        level = options.confidence_level
        points = [
            replace(point, lower=float(low), upper=float(high))
            for point, low, high in zip(self.points, *self.interval(level), strict=True)
        ]
        whole = content_of(self, *self._WHOLE)
        return {
            **whole,
            "points": points,
            "confidence_level": level,
            "provenance": self.provenance,
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        whole = keys_of(cls, *cls._WHOLE)
        return {**whole, **keys_of(cls, "points"), **json_keys.LEVEL, **json_keys.RECORD}, {}

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[LevelFigureKeywords]) -> Figure:
        """Plot mean labels against mean predictions, with the diagonal on which both are equal, and a histogram.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(500, 1))
        >>> figure = sd.calibration(lambda X: X[:, 0], X, X[:, 0]).plot()
        >>> figure.axes[0].get_ylabel()
        'mean label'
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[LevelKeywords],
    ) -> Explorable:
        """Return the figure of `plot` as an interactive page with tooltips, and the numbers."""
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        rows = counted(self.rows, "row")
        means = f"mean label {number(self.label)}, mean prediction {number(self.prediction)}"
        return f"<Calibration of {self.quantity} at {rows}: {means}>"

    def __str__(self) -> str:
        head = f"Calibration of {self.axis} at {counted(self.rows, 'row')}"
        parts = [head, calibration_text(self), error_text(self), called_text(self.provenance)]
        return "\n".join(filter(None, parts))


# --- in words -------------------------------------------------------------------------------------

MOST_NAMED = 3
"""Most deviations that a text names."""


def calibration_text(found: Calibration) -> str:
    """Say the mean label and the mean prediction, and which predictions are wrong on average."""
    label, prediction = _distinct(found.label, found.prediction, found.std_error)
    means = tell(
        CALIBRATION["means"],
        events=found.events,
        label=label,
        prediction=prediction,
        unit=found.unit,
    )
    named = sorted(found.deviations, key=lambda d: -abs(d.residual) * d.weight)[:MOST_NAMED]
    wrong = [
        tell(
            CALIBRATION["wrong"],
            which=_which(d),
            residual=d.residual,
            size=abs(d.residual),
            unit=found.unit,
            level=found.confidence_level,
            least=min(abs(d.lower), abs(d.upper)),
            most=max(abs(d.lower), abs(d.upper)),
        )
        for d in sorted(named, key=lambda d: d.low)
    ]
    more = len(found.deviations) - len(named)
    last = [tell(CALIBRATION["more"], n=more)] if more else []
    last.append(CALIBRATION["adjusted" if wrong else "none"])
    return " ".join([means, *wrong, *last])


def error_text(found: Calibration) -> str:
    """Say the squared error, and how much of it is miscalibration."""
    part, error = found.miscalibration_beyond_noise, found.miscalibration_error
    if not math.isfinite(part):
        return ""
    return tell(
        CALIBRATION["miscalibrated" if part > 2 * error else "not clear"],
        score="Brier score" if found.events else "Mean squared error",
        value=number(found.squared_error),
        part=with_error(part, error),
    )


def _distinct(label: float, prediction: float, error: float) -> tuple[str, str]:
    """Return two means with three digits, or so many that a difference beyond its error shows."""
    for digits in (3, 4, 5):
        texts = number(label, digits), number(prediction, digits)
        if texts[0] != texts[1] or abs(label - prediction) <= error:
            return texts
    return number(label, 6), number(prediction, 6)


def _which(d: CalibrationDeviation) -> str:
    """Return the words for the predictions of a range."""
    if d.lowest and d.highest:
        return CALIBRATION["all"]
    key = "up to" if d.lowest else "from" if d.highest else "between"
    key = "one" if number(d.low) == number(d.high) else key
    return tell(CALIBRATION[key], low=number(d.low, zeros=False), high=number(d.high, zeros=False))
