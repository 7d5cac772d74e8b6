"""`Observed`: means of label, prediction and residual in the cells of a feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from skedasis._arguments import check_option, check_probability
from skedasis._calls import checked_call
from skedasis._numbers import counted
from skedasis._types import Floats, Ints, Values
from skedasis.results.axis import Axis, LevelAxis
from skedasis.results.immutable import Immutable
from skedasis.stats.calibration import mean_label_interval, proportion_size

ObservedMean: TypeAlias = Literal["label", "prediction", "residual"]

OBSERVED_MEANS: tuple[ObservedMean, ...] = ("label", "prediction", "residual")

_MEANS = tuple(f"{of}{what}" for of in OBSERVED_MEANS for what in ("", "_error"))


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Immutable):
    """Means of label, prediction and residual in K cells of a feature, for each of S values of a split.

    Notes
    -----
    The cells are those of `MPlot`, those of the effect where its bins were given as `Edges`, or its levels. Cells
    without rows are left out. A difference between the effect and the mean prediction is due to other features that
    differ along this one; a difference between mean prediction and mean label, to the model.

    Errors are those of means of independent rows. With frequency weights a row counts as so many rows. With sampling
    weights w and n = (Σw)² / Σw² the squared error is Σw² (value − mean)² / (Σw)² · n / (n − 1), with n − 1 degrees of
    freedom: it holds if the variance depends on the weights, as for rates and their exposure. `calibration`,
    `weak_spots` and `drift` have the same error for the same rows. Where all labels are whole numbers, such as
    counts and events, the error of a mean residual is at least the smallest that such labels have if the predictions
    are their means, as in `weak_spots`: a cell without any event has no variance to estimate it from. For a prediction
    k + p the variance of a whole number is at least p (1 - p), of events that of the binomial distribution.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> e = sd.explain(lambda X: X[:, 0], X, 0, y=X[:, 0] ** 2, method="ale", observed=True)
    >>> e.observed
    <Observed: label and prediction, 20 cells, 2,000 rows>
    >>> bool(np.all(np.abs(e.observed.label - e.observed.points**2) < 0.001))
    True
    """

    points: Floats
    """Mean of the feature in each cell over all rows, shape (K,); for times: days on the axis; for a categorical
    feature: the index of the level in `levels.values` of the effect."""
    low: Floats
    high: Floats
    """Ends of the cells, shape (K,); both equal `points` for few values and for levels."""
    split_values: tuple[str, ...]
    """The S values of the split, as text; one empty text without a split."""
    quantity: str
    """Name of the prediction, on the scale of the labels."""
    unit: str | None
    """Unit of labels and predictions."""
    count: Ints
    """Number of rows, shape (S, K), as all that follow."""
    weight: Floats
    """Sum of the rows' weights."""
    label: Floats
    label_error: Floats
    """Mean of the labels and its standard error; NaN where there is no row, the error also where there is no variance.
    For a class, the labels are 1 where a row is of it, else 0."""
    prediction: Floats
    prediction_error: Floats
    """Mean of the predictions and its standard error."""
    residual: Floats
    residual_error: Floats
    """Mean of label - prediction and its standard error, which is that of differences of the same rows."""
    df: Floats
    """Degrees of freedom of the standard errors."""
    of_effect: bool = True
    """Whether the effect itself is on the scale of the labels: not of a logit, and not of a logarithm."""
    events: bool = False
    """Whether labels are 0 and 1 and predictions between: mean labels are proportions, which have Wilson's interval."""
    split_name: str = ""
    """Name of the split; empty without one, and for an array of labels."""
    missing: Observed | None = None
    """The rows in which the feature is missing, as one cell; None if there are none, or if missing is a level."""
    x: Values = field(init=False)
    """`points` in the feature's own type: numbers, datetime64 (UTC), timedelta64, or levels, shape (K,)."""
    levels: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.points)
        super().__post_init__()

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        split = f" by {self.split_name or 'split'} ({', '.join(self.split_values)})"
        return (
            f"<Observed: label and {self.quantity}{split if len(self.split_values) > 1 else ''}, "
            f"{counted(len(self), 'level' if self.levels else 'cell')}, {counted(int(self.count.sum()), 'row')}>"
        )

    def on(self, axis: Axis) -> Observed:
        """Return the same with `x` in the type of an axis."""
        return self.altered(x=axis.in_own_type(self.points), levels=isinstance(axis, LevelAxis))

    def of_many_rows(self, least: int) -> Observed:
        """Return the same without what says much about single rows: the ends of cells, and means of fewer rows."""
        kept = (self.count.sum(axis=0) >= least) | self.levels
        of_cells = ("count", "weight", "df", *_MEANS)
        bare = {name: vars(self)[name][:, kept] for name in of_cells}
        few, missing, points = bare["count"] < least, self.missing, self.points[kept]
        return self.altered(
            **bare | {name: np.where(few, np.nan, bare[name]) for name in _MEANS},
            points=points,
            low=points,
            high=points,
            x=self.x[kept],
            missing=None if missing is None else missing.of_many_rows(least),
        )

    @checked_call
    def interval(
        self, confidence_level: float = 0.95, of: ObservedMean = "label"
    ) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of pointwise intervals: Student's, of a proportion of events Wilson's.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.
        of : {"label", "prediction", "residual"}
            The mean.

        Returns
        -------
        lower, upper : ndarray of float, shape (S, K)
            NaN where there is no standard error.

        Raises
        ------
        DataError
            For a `confidence_level` outside (0, 1), and for another mean.
        """
        check_probability("interval(confidence_level)", confidence_level)
        check_option("interval(of)", of, OBSERVED_MEANS)
        mean, error = vars(self)[of], vars(self)[f"{of}_error"]
        size = proportion_size(mean, error, self.df + 1)
        events = self.events and of == "label"
        return mean_label_interval(
            mean, error, self.df, size, confidence_level, isotonic=False, events=events
        )
