"""The lines of the tables: what was measured, and what it was to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.timing import Took


@dataclass(frozen=True)
class Speed:
    """One line of the table of speeds.

    Parameters
    ----------
    group, work, peer : str
    ours, theirs : Took
        Median seconds.
    model : float
        Seconds that the model alone takes for as many rows as we ask it for.
    rows, their_rows : int
        Model rows asked for, counted in the model; slope rows included.
    difference : float or None
        Largest difference of the two answers, relative to the largest value.
    tolerance : float
        Beyond it they do not agree.
    reach : float or None
        The ratio to reach.
    note : str
    unit : int
        Model rows that count as 1 in the table; 0: N D.
    """

    group: str
    work: str
    peer: str
    ours: Took
    theirs: Took
    model: float = 0.0
    rows: int = 0
    their_rows: int = 0
    difference: float | None = None
    tolerance: float = 1e-6
    reach: float | None = None
    note: str = ""
    unit: int = 0

    @property
    def ratio(self) -> float:
        """Return how many times as fast we are."""
        return self.theirs.wall / self.ours.wall

    @property
    def cpu_ratio(self) -> float:
        """Return the same by the processor's time, which other processes hardly change."""
        return self.theirs.cpu / self.ours.cpu

    @property
    def agrees(self) -> bool:
        """Return whether the answers are the same, as far as they can be compared."""
        return self.difference is None or self.difference <= self.tolerance

    @property
    def reached(self) -> bool | None:
        """Return whether the ratio is reached; None where none is set."""
        return None if self.reach is None else self.ratio >= self.reach


@dataclass(frozen=True)
class Space:
    """One line of the table of memory: extra megabytes at the peak, beyond X."""

    group: str
    work: str
    n: int
    megabytes: float
    limit: float | None = None
    note: str = ""
    agrees: bool = True

    @property
    def reached(self) -> bool | None:
        """Return whether it stays below the limit; None where none is set."""
        return None if self.limit is None else self.megabytes <= self.limit


@dataclass(frozen=True)
class Alone:
    """One line of the table of times beside nobody.

    Parameters
    ----------
    group, work : str
    n : int
        Rows.
    took : Took
        Median seconds.
    rows : int
        Model rows asked for, counted in the model.
    limit : float or None
        Seconds within which it must be done.
    note : str
    agrees : bool
        Whether the answer is what it must be.
    """

    group: str
    work: str
    n: int
    took: Took
    rows: int
    limit: float | None = None
    note: str = ""
    agrees: bool = True

    @property
    def reached(self) -> bool | None:
        """Return whether it is done in time; None where no limit is set."""
        return None if self.limit is None else self.took.wall <= self.limit


@dataclass(frozen=True)
class Growth:
    """One line of the table of growth: the same work at several sizes.

    Parameters
    ----------
    group, work : str
    sizes : list of int
    took : list of Took
        Seconds of one run at each size; None where it was not done within the limit.
    megabytes : list of float
        Resident memory that each run added at its peak.
    steepest : float or None
        Largest exponent wanted.
    note : str
    agrees : bool
    """

    group: str
    work: str
    sizes: Sequence[int]
    took: Sequence[Took | None]
    megabytes: Sequence[float | None]
    steepest: float | None = None
    note: str = ""
    agrees: bool = True

    @property
    def exponents(self) -> tuple[float, float]:
        """Return the exponents of time and memory from the second size to the last; NaN if one of them is not done."""
        seconds = [np.nan if t is None else t.cpu for t in self.took]
        return self._exponent(seconds), self._exponent(self.megabytes)

    def _exponent(self, values: Sequence[float | None]) -> float:
        # What does not grow (imports, pages, kernels) is most of the first size.
        first, last = (np.nan if values[at] is None else float(values[at]) for at in (1, -1))
        larger = self.sizes[-1] / self.sizes[1]
        return float(np.log(max(last, 1e-9) / max(first, 1e-9)) / np.log(larger))

    @property
    def reached(self) -> bool | None:
        """Return whether neither time nor memory grows faster; None where no limit is set."""
        if self.steepest is None:
            return None
        return all(exponent <= self.steepest for exponent in self.exponents)


Line = Speed | Space | Alone | Growth
