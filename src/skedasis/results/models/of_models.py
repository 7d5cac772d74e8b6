"""What several fitted models say of the same thing: their mean, how they differ, and how sure the mean is.

A model is one draw of what its learner makes of data. Explained alone it shows what that model does; the mean over
models fitted on other data, or with other seeds, shows what the learner finds (Molnar et al. 2023: learner-PD and
learner-PFI), with an interval whose variance is corrected for training sets that overlap (Nadeau & Bengio 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats, Ints, Json
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.stats.resampling import t_interval

Of = Literal["learner", "bound", "models"]


@dataclass(frozen=True, eq=False)
class OfModels:
    """What results of several models have in common. Made by `explain` of a list of models.

    Attributes
    ----------
    values : ndarray of float, shape (models, ...)
        What each model says; NaN where it does not reach: beyond the rows that it is explained on.
    correction : float or None
        c, the rows held out over the rows fitted on. None where that is not known.
    overlap : float or None
        Share of their training rows that two of the models have in common: the mean cosine of how often each row is in
        them. None where that is not known.
    provenance : dict
        What is the same of all models; "rows" of each; the sums of what each cost.
    """

    values: Floats
    correction: float | None
    overlap: float | None
    provenance: Json

    def __len__(self) -> int:
        return len(self.values)

    @property
    def reached(self) -> Ints:
        """Return how many of the models have a value, at each point."""
        return np.count_nonzero(~np.isnan(self.values), axis=0)

    @property
    def value(self) -> Floats:
        """Return the mean over the models that have a value."""
        return mean_of(self.values)

    @property
    def between(self) -> Floats:
        """Return the standard deviation between the models (ddof 1); NaN where fewer than two have a value."""
        n = self.reached
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.nansum((self.values - self.value) ** 2, axis=0) / (n - 1)
        return np.sqrt(np.where(n > 1, squares, np.nan))

    @property
    def std_error(self) -> Floats:
        """Return the standard error of the mean: sqrt(1/m + c) times `between`, with c = 0 where it is not known."""
        return self._error(self.correction or 0.0)

    @property
    def freedom(self) -> Floats:
        """Return the degrees of freedom of `between`: one less than the models that have a value."""
        return np.maximum(self.reached - 1.0, 1.0)

    def _error(self, correction: float) -> Floats:
        return np.sqrt(1 / np.maximum(self.reached, 1) + correction) * self.between

    def interval(self, level: float = 0.95, of: Of | None = None) -> tuple[Floats, Floats]:
        """Return a confidence interval of the mean, pointwise: Student's t with one degree less than models.

        Parameters
        ----------
        level : float
        of : {"learner", "bound", "models"}, optional
            "learner": of what the learner finds on average over training sets of this size, and rows to explain it on.
            Variance (1/m + c) between², where c = `correction` stands for training sets that overlap (Nadeau & Bengio).
            "bound": of the same, with a variance that is not too small on average: (1/m + r / (1 - r)) between², with r
            the `overlap` itself. "models": of the mean over
            infinitely many refits like these, variance between²/m: what new seeds would change, or new draws from the
            *same* data, but not new data. By default "learner" where the correction is known, else "models".

        Returns
        -------
        lower, upper : ndarray of float, shape of `value`
            NaN where fewer than two models have a value.

        Raises
        ------
        DataError
            For a level outside (0, 1), and another `of`.
        UnsupportedError
            Where the correction, or the overlap, is not known.

        Notes
        -----
        The interval is centred at what the learner finds, not at the truth: a biased learner is biased in every fold.
        No model row.

        Two models whose training sets share r of their rows are correlated by at most r (Hoeffding; exactly r where the
        learner is a mean over its rows), and from that follows "bound". Nadeau & Bengio put the rows held out over all
        rows for r: too little for stable learners, and for folds of cross-validation, whose training sets share nearly
        all rows. Coverage of 95 % intervals of a PDP, the mean over 9 points and 300 simulated data sets of 200 rows,
        with 15 refits or K folds (`tests/reference/test_learner.py`):

        ==========================  =========  =======  ======
        a cubic polynomial          "models"   learner  bound
        ==========================  =========  =======  ======
        subsamples of 63.2 %        0.37       0.85     0.97
        bootstrap, out of bag       0.42       0.89     0.96
        5 folds                     0.63       0.79     0.99
        10 folds                    0.44       0.60     1.00
        **a tree of depth 5**
        subsamples of 63.2 %        0.52       0.94     0.99
        bootstrap, out of bag       0.55       0.96     0.98
        5 folds                     0.71       0.84     0.99
        10 folds                    0.48       0.64     1.00
        ==========================  =========  =======  ======

        So fit 15 models or more on subsamples or bootstrap samples rather than on folds, and take "bound" for a stable
        learner, or where a claim must hold.

        References
        ----------
        Nadeau & Bengio (2003), Machine Learning 52; Molnar et al. (2023), Relating the partial dependence plot and
        permutation feature importance to the data generating process, xAI, CCIS 1901.
        """
        if isinstance(level, bool) or not isinstance(level, Real) or not 0 < float(level) < 1:
            raise DataError(
                explained("interval(level)", repr(level), "a number between 0 and 1", "Use 0.95")
            )
        return t_interval(self.value, self._error(self._share(of)), self.freedom, float(level))

    def _share(self, of: Of | None) -> float:
        """Return what is added to 1/m.

        Raises
        ------
        DataError, UnsupportedError
            As `interval`.
        """
        if of == "models" or (of is None and self.correction is None):
            return 0.0
        if of in (None, "learner") and self.correction is not None:
            return self.correction
        if of == "bound" and self.overlap is not None and self.overlap < 1:
            return self.overlap / (1 - self.overlap)
        if of not in ("learner", "bound"):
            known = "'learner', 'bound' or 'models'"
            raise DataError(explained("interval(of)", repr(of), known, "Name one of these"))
        got = "models of which it is not known how much their training rows overlap"
        if of == "bound" and self.overlap is not None:
            got = "models that were all fitted on the same rows"
        more = ", or correction=rows held out / rows fitted on" if of == "learner" else ""
        raise UnsupportedError(
            explained(
                f"interval(of={of!r})",
                got,
                "the rows that each model was fitted on",
                f"Explain with cv=[(train, test), ...]{more}",
            )
        )

    def save(self, path: str | Path) -> None:
        """Write the result into a file that `skedasis.load` reads."""
        from skedasis.results.io import save

        save(self, path)


def mean_of(values: Floats) -> Floats:
    """Return means over the first axis, of the numbers that are there: of equal numbers exactly that number."""
    there = ~np.isnan(values)
    n = np.count_nonzero(there, axis=0)
    first = np.take_along_axis(values, np.argmax(there, axis=0)[None], axis=0)
    return first[0] + np.nansum(values - first, axis=0) / np.maximum(n, 1)


def columns_of(found: OfModels) -> dict[str, Any]:
    """Return the columns that all tables have: the mean, how models differ, and the interval."""
    lower, upper = found.interval()
    return {
        "value": found.value,
        "between": found.between,
        "std_error": found.std_error,
        "lower": lower,
        "upper": upper,
        "models": found.reached,
    }


def known_table(of: str, usual: str) -> None:
    """Refuse a table that there is not.

    Raises
    ------
    DataError
    """
    if of not in (usual, "models"):
        raise DataError(
            explained("to_frame(of)", repr(of), f"{usual!r} or 'models'", "Name one of these")
        )
