"""What changed: between two models of a page, and between its rows and older ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from skedasis._types import Json, TableLike
from skedasis.analysis.drift import drift, drift_of_effects
from skedasis.errors import DataError, UnsupportedError
from skedasis.report.passes import Label, ModelRunner
from skedasis.results.drift import Drift
from skedasis.results.provenance import summed_costs


@dataclass(frozen=True, eq=False)
class OldRows:
    """The older rows that a page compares its rows with."""

    X: TableLike
    y: ArrayLike | None = None
    sample_weight: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class PageChanges:
    """What changed, by output; empty, and why, if nothing is compared."""

    drifts: Mapping[Label, Drift]
    why_not: str = ""

    def said(self, output: str) -> str:
        """Return the first sentence about an output of the page; empty if nothing is compared."""
        named = {"" if label is None else str(label): drift for label, drift in self.drifts.items()}
        found = named.get(output, named.get(""))
        return "" if found is None else found.verdict[0]


NOTHING = PageChanges({})


def what_changed(
    runners: Sequence[ModelRunner], old: OldRows | None, limit: int | None
) -> PageChanges:
    """Return what changed between the first and the second model, and since the old rows; `limit` is of model rows.

    Two models on the same rows are compared by the effects that the page has: no model row. With old rows, the models
    are called as by `skedasis.drift`, at no more rows than the limit.
    """
    options = runners[-1].options
    if len(runners) > 2:
        why = "A change is one from an old model to a new one: pass two models" if old else ""
        return PageChanges({}, why and f"{why}.")
    if old is None and len(runners) < 2:
        return NOTHING
    try:
        if old is None:
            return PageChanges(drift_of_effects([one.at_rows() for one in runners], options.seed))
        if limit is not None and limit < 1:
            return PageChanges({}, "Left out to keep to max_seconds or max_model_rows.")
        found = drift(
            runners[0].quantity,
            old.X,
            runners[-1].quantity,
            runners[-1].X,
            y_old=old.y,
            y_new=options.y,
            sample_weight_old=old.sample_weight,
            sample_weight_new=options.sample_weight,
            schema=options.schema,
            random_state=options.random_state,
            sample=options.sample,
            memory=options.memory,
            keep_rows=options.keep_rows,
            n_jobs=options.n_jobs,
            progress=options.progress,
            tree=options.tree,
            max_model_rows=limit,
        )
    except (DataError, UnsupportedError) as error:
        return PageChanges({}, str(error).splitlines()[0])
    return PageChanges({None: found} if isinstance(found, Drift) else dict(found))


def rows_left(
    passes: Sequence[Json], max_model_rows: int | None, seconds_left: float | None
) -> int | None:
    """Return how many model rows are left of the limits of a page, given what its passes cost; None without a limit."""
    cost = summed_costs(passes)
    rows, seconds = (float(str(cost.get(key, 0))) for key in ("model_rows", "model_seconds"))
    limits: list[float] = []
    if max_model_rows is not None:
        limits.append(max_model_rows - rows)
    if seconds_left is not None and seconds > 0:
        limits.append(seconds_left * rows / seconds)
    return None if not limits else int(min(limits))
