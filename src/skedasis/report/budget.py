"""What a report asks of its models: model rows and time, said before they are called for long, and kept to a limit."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skedasis._arguments import check_number
from skedasis._progress import Timed, current_work, in_words
from skedasis._types import Bools, Json, ResultKey, TableLike
from skedasis.data.dataset import Dataset, as_dataset, even_places
from skedasis.data.features import Feature
from skedasis.engine.budget import (
    LEAST_ROWS,
    LOCAL_EFFECT_KINDS,
    LONG,
    PAIR_ROWS,
    PROBED_ROWS,
    SLOPE_ROWS,
    RowCount,
    count_rows,
    count_rows_of,
    count_slope_checks,
    fewer_rows,
    first_fitting,
    is_probed,
    most_model_rows,
    region_score_rows,
    rounded,
    say_cost,
    scored_rows,
    slope_check_rows,
    too_few,
)
from skedasis.engine.heterogeneity_score import count_score_rows
from skedasis.engine.options import UNOBSERVED, ExplainOptions
from skedasis.engine.prepare import Job, job_without_model
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.models.calling import CallStats, ChunkedCaller
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import DERIVATIVE_ROWS
from skedasis.quantities.uncertainty import entropy
from skedasis.report.code import WHOLE_GRIDS, called_points, pdp_method
from skedasis.report.interactions import MODEL_ROWS
from skedasis.report.passes import predictions_call
from skedasis.report.uncertainty import FEATURES, REPEATS, entropy_of, model_of
from skedasis.report.uncertainty import ROWS as UNCERTAINTY_ROWS
from skedasis.results.sentences import CUTS, tell

SHORT = 3.0
"""Seconds of a model's time, estimated from an upper bound of its rows, up to which they are not counted."""

SCORE_ROWS = (2_000, 500, 200, 0)
"""Rows of the heterogeneity scores, if all of them cost too much."""

_TIMED_ROWS = (2, 28)
"""Rows of the two calls that measure the model's time before anything is planned for a limit of time."""

_ROW_TIME = 1.05
"""Factor of the time of rows: long calls are divided."""

_POINTS = 70
"""Most model rows per row and numeric feature, of the main effect, ALE, PDP, M-plot and scores together."""

_OWN, _OWN_PER_VALUE = 1.0, 5e-5
"""Seconds of a report beside those of the models: in any case, and for each row and feature."""


@dataclass(frozen=True)
class PageParts:
    """The parts of a page that call the model."""

    features: tuple[Feature, ...]
    pairs: int
    rows: bool
    uncertainty: bool
    regions: bool

    @property
    def has_regions(self) -> bool:
        """Return whether there are scores within regions."""
        return self.regions

    def names(self, *, nominal: bool | None = None) -> list[str]:
        """Return the names of all features, of the nominal ones, or of the others."""
        some = (f for f in self.features if nominal in (None, f.kind == "nominal"))
        return [f.name for f in some]


@dataclass(frozen=True, eq=False)
class Demand:
    """What one model's report asks of the model."""

    rows: int
    score_rows: int
    seconds_per_row: float
    parts: Mapping[str, float]
    slopes: float = 0.0
    scores: float = 0.0
    regions: float = 0.0
    pdp: Mapping[str, float] = field(default_factory=dict[str, float])
    surface: float = 0.0
    surfaces: int = 0
    uncertainty: float = 0.0
    checks: float = 0.0
    threads: int = 1
    calls: float = 0.0
    seconds_per_call: float = 0.0
    measured: CallStats = field(default_factory=CallStats)

    def model_rows(self, cuts: Cuts) -> float:
        """Return the model rows after cuts; those that only the pass itself decides about count in full."""
        whole = self.rows if cuts.rows is None else min(cuts.rows, self.rows)
        most = self.score_rows if cuts.score_rows is None else cuts.score_rows
        scored = min(self.score_rows, whole, most)
        shares = sorted(self.pdp.values(), reverse=True)
        each = sum(self.parts.values()) + sum(shares[: cuts.pdp_features])
        drawn = self.surfaces if cuts.surfaces is None else min(self.surfaces, cuts.surfaces)
        each += drawn * self.surface + (self.uncertainty if cuts.uncertainty else 0.0)
        scores = (self.scores + self.regions) * scored / max(self.score_rows, 1)
        return each * whole / self.rows + scores

    def slope_rows(self, cuts: Cuts) -> float:
        """Return the slope rows after cuts."""
        whole = self.rows if cuts.rows is None else min(cuts.rows, self.rows)
        return self.slopes * whole / self.rows

    def all_rows(self, cuts: Cuts) -> float:
        """Return the model rows after cuts, with those of the checks."""
        return self.model_rows(cuts) + self.checks

    def seconds(self, cuts: Cuts) -> float:
        """Return the model's time after cuts."""
        rows = self.all_rows(cuts) + SLOPE_ROWS * self.slope_rows(cuts)
        return (rows * self.seconds_per_row + self.calls * self.seconds_per_call) / self.threads


@dataclass(frozen=True)
class Cuts:
    """What is left out of a report, to keep to a time."""

    uncertainty: bool = True
    surfaces: int | None = None
    pdp_features: int | None = None
    score_rows: int | None = None
    rows: int | None = None


NO_CUTS = Cuts()


@dataclass(frozen=True, eq=False)
class Budget:
    """What a report may cost."""

    demands: tuple[Demand, ...]
    cuts: Cuts = NO_CUTS
    max_seconds: float | None = None
    max_model_rows: int | None = None
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        demands: Sequence[Demand],
        features: int,
        max_seconds: float | None = None,
        max_model_rows: int | None = None,
        spent: float = 0.0,
    ) -> Budget:
        """Choose what is left out; raise `DataError` if the least is more than a limit."""
        whole = cls(tuple(demands), max_seconds=max_seconds, max_model_rows=max_model_rows)
        own = _OWN + _OWN_PER_VALUE * max((d.rows for d in demands), default=0) * features
        seconds = math.inf if max_seconds is None else max(max_seconds - spent - own, 0.0)
        rows = math.inf if max_model_rows is None else float(max_model_rows)
        cuts = whole.choose(seconds, features, rows)
        if cuts == NO_CUTS and whole.fits(NO_CUTS, seconds, rows):
            return whole
        found = replace(whole, cuts=cuts)
        if found.rows > rows:
            raise too_few(int(rows), found.rows)
        if found.seconds > seconds:
            # Rounded up, with what the estimate may be wrong by.
            needed = math.ceil(1.1 * (found.seconds + spent + own))
            raise DataError(
                "report(max_seconds)",
                f"{max_seconds:g}",
                f"at least {needed} seconds: at the measured speed, the least of this page takes the model "
                f"{in_words(found.seconds)}",
                f"Use max_seconds={needed}, fewer features, or None for no limit",
            )
        return replace(found, left_out=tuple(_sentences(whole, found, features)))

    @property
    def rows(self) -> float:
        """Return the most model rows, with those of checks."""
        return sum(d.all_rows(self.cuts) for d in self.demands)

    def fits(self, cuts: Cuts, seconds: float, rows: float = math.inf) -> bool:
        """Return whether the models take at most these seconds and rows after cuts."""
        taken = sum(d.seconds(cuts) for d in self.demands)
        return taken <= seconds and sum(d.all_rows(cuts) for d in self.demands) <= rows

    def choose(self, seconds: float, features: int, rows: float = math.inf) -> Cuts:
        """Return the cuts with which the models take at most these seconds and rows, or else the deepest ones."""
        cuts, demands = [NO_CUTS], self.demands
        if any(d.uncertainty for d in demands):
            cuts.append(replace(cuts[-1], uncertainty=False))
        surfaces, scored = (max(d.surfaces for d in demands), max(d.score_rows for d in demands))
        cuts += [replace(cuts[-1], surfaces=n) for n in range(surfaces - 1, -1, -1)]
        if any(d.pdp for d in demands):
            cuts += [replace(cuts[-1], pdp_features=n) for n in range(features - 1, -1, -1)]
        cuts += [replace(cuts[-1], score_rows=n) for n in SCORE_ROWS if n < scored]
        most = max(d.rows for d in demands)
        cuts += [replace(cuts[-1], rows=n) for n in fewer_rows(most, LEAST_ROWS)]
        return first_fitting(cuts, lambda some: self.fits(some, seconds, rows))

    @property
    def model_rows(self) -> float:
        """Return the model rows of the report: an upper bound, without checks and slopes that these replace."""
        return sum(d.model_rows(self.cuts) + d.slope_rows(self.cuts) for d in self.demands)

    @property
    def seconds(self) -> float:
        """Return the estimate of the models' time."""
        return sum(d.seconds(self.cuts) for d in self.demands)

    def warn(self) -> None:
        """Warn if the report takes long, unless its time is limited."""
        work = current_work()
        if self.max_seconds is None and self.seconds > LONG and not work.is_cost_checked:
            work.is_cost_checked = True
            fewer = "fewer rows or features, pairs=0, regions=False"
            if any(d.uncertainty for d in self.demands):
                fewer += ", uncertainty=False"
            fewer += "; or n_jobs=2 for two threads. So does max_seconds="
            rows = work.rows + sum(d.model_rows(self.cuts) for d in self.demands)
            say_cost(max(rows, self.rows), self.seconds, fewer)

    @property
    def is_timed(self) -> bool:
        """Return whether the time of the models was measured before their rows were limited."""
        return self.max_seconds is not None or any(d.seconds_per_row for d in self.demands)

    def warn_once_timed(self, caller: Timed, columns: int) -> None:
        """Warn if the report takes long, by the time of the calls that check the first model."""
        of_call = caller.seconds(0, 1)
        of_row = caller.seconds(1, 1) - of_call
        demands = (
            replace(d, seconds_per_row=of_row, seconds_per_call=of_call) for d in self.demands
        )
        replace(self, demands=tuple(demands)).warn()

    @property
    def record(self) -> Json:
        """Return the entries of a provenance: the limit and what it left out; empty without one."""
        if self.max_seconds is None and self.max_model_rows is None:
            return {}
        limits: Json = {"max_seconds": self.max_seconds, "max_model_rows": self.max_model_rows}
        return {**limits, "left_out": list(self.left_out)}


def _sentences(whole: Budget, found: Budget, features: int) -> list[str]:
    """Return what was left out and why, in sentences."""
    cuts, (first, *_) = found.cuts, found.demands
    case, limit, rows = "model rows", f"{found.max_model_rows or 0:,}", whole.rows
    if found.max_seconds is not None:
        case, limit, rows = "seconds", f"{found.max_seconds:g}", whole.model_rows
    why = tell(CUTS[case], limit=limit, rows=rounded(rows), time=in_words(whole.seconds))
    scored = cuts.score_rows
    kept = {
        "uncertainty": None if cuts.uncertainty else 0,
        "pairs": cuts.surfaces,
        "PDP": cuts.pdp_features,
        "scores": None if scored is None or scored >= (cuts.rows or first.rows) else scored,
        "rows": cuts.rows,
    }
    facts = {"features": features, "all": first.rows}
    cases = {part if n else f"no {part}": n for part, n in kept.items() if n is not None}
    return [why, *(tell(CUTS[case], n=n, **facts) for case, n in cases.items())]


# ---------------------------------------------------------------------------------------- counts
NOT_TIMED = 0.0, 0.0, CallStats()
"""The time of calls that were not measured, and what that cost."""


def timed(quantity: Quantity, dataset: Dataset) -> tuple[float, float, CallStats]:
    """Return the time of a call and of a row, from two calls with few rows, and what these cost."""
    caller, cost = ChunkedCaller(), CallStats()
    for i, (one, rows) in enumerate(quantity.parts_on(dataset)):
        cost.add(_time(one, rows, caller.of_model(i)))
    if not cost.calls:
        cost = _time(quantity, dataset, caller)
    of_call = caller.seconds(0, 1)
    return of_call, caller.seconds(1, 1) - of_call, cost


def _time(quantity: Quantity, dataset: Dataset, caller: ChunkedCaller) -> CallStats:
    """Call a model with few rows, twice, by what measures its time; return what that cost."""
    cost = CallStats()
    for size in _TIMED_ROWS:
        rows = dataset.evenly_spaced_batch(size)
        started = time.perf_counter()
        caller.call(quantity.raw, rows.tile(1).own(), len(rows), quantity.call_rows)
        cost.add(CallStats(rows=len(rows), calls=1, seconds=time.perf_counter() - started))
    return cost


def demand_without_model(
    quantity: Quantity,
    X: TableLike,
    dataset: Dataset,
    options: ExplainOptions,
    page: PageParts,
    timing: tuple[float, float, CallStats],
) -> Demand:
    """Return what a model's report asks of the model at most, without calling it; `timing` is that of its calls."""
    n, names, models = len(dataset), page.names(), quantity.rows_per_row
    options = replace(options, **UNOBSERVED)  # the predictions are counted below
    of_call, of_row, cost = timing
    distribution = _may_have_distribution(quantity)
    if distribution and cost.rows:
        distribution = _has_distribution(quantity, X, cost)
    found: list[Demand] = []
    for local in LOCAL_EFFECT_KINDS:
        job = job_without_model(quantity, dataset, names, None, options, local)
        predictions = {"predictions": float(n * models)}
        one = _counted(Demand(n, 0, _ROW_TIME * of_row, predictions), job, page)
        probed = sum(is_probed(quantity, task) for task in job.tasks)
        # Few slopes fail their check: a limit of time, which is no exact one, counts half of what that would cost.
        again = 2.0 if cost.rows else 4.0
        sloped = again * n * models * count_slope_checks(job)
        parts = {**one.parts, "differences instead of slopes": sloped}
        checks = models * (probed * 7.0 * min(n, DERIVATIVE_ROWS) + PROBED_ROWS)
        checks += one.checks + cost.rows
        if page.uncertainty and distribution:
            found_rows = _uncertainty_rows(quantity, job, page, trees=False, again=True)
            one = replace(one, uncertainty=found_rows)
        calls = _calls(job, page)
        found.append(
            replace(one, parts=parts, checks=checks, calls=calls, seconds_per_call=of_call)
        )
    most = max(found, key=lambda d: d.all_rows(NO_CUTS))
    return replace(most, measured=cost)


def _calls(job: Job, page: PageParts) -> float:
    """Return about how often a page calls the model."""
    return job.rows_per_row * (20.0 + 10.0 * len(page.features) * len(job.outputs))


def _may_have_distribution(quantity: Quantity) -> bool:
    """Return whether a model may predict a distribution, without calling it."""
    try:
        entropy(model_of(quantity))
    except UnsupportedError:
        return False
    return True


def demand_of(
    quantity: Quantity,
    X: TableLike,
    job: Job,
    page: PageParts,
    max_seconds: float | None,
    max_model_rows: int | None,
) -> Demand:
    """Return what a model's report will ask of the model, counted unless that is little and not limited."""
    # The predictions, which mean labels are compared with, are counted once.
    job = replace(job, observed=None, options=replace(job.options, **UNOBSERVED))
    n, caller, trees = len(job.dataset), job.checked.caller, not job.is_called
    of_call = caller.seconds(0, 1)
    of_row = caller.seconds(1, 1) - of_call
    short = SHORT if max_seconds is None else min(SHORT, max_seconds / 4)
    parts = {"predictions": float(n * job.rows_per_row) if predictions_call(job) else 0.0}
    calls = 0.0 if trees else _calls(job, page)
    small = min(n, UNCERTAINTY_ROWS)
    bound = n + small * (1 + REPEATS * len(page.features)) if trees else _bound(job)
    found = Demand(n, 0, of_row, parts, calls=calls, seconds_per_call=of_call)
    if max_model_rows is None and bound * of_row + calls * of_call <= short:
        return found
    if max_model_rows is not None:
        # A limit covers the check of the model, which is repeated if only a sample of the rows is kept.
        again = job.rows_per_row * PROBED_ROWS
        found = replace(found, checks=float(job.checked.stats.rows + again))
    if not trees:
        found = _counted(found, job, page)
    if page.uncertainty and _has_distribution(quantity, X, job.checked.stats):
        rows = _uncertainty_rows(quantity, job, page, trees=trees, again=max_model_rows is not None)
        found = replace(found, uncertainty=rows)
    return found


def _bound(job: Job) -> float:
    """Return an upper bound of the model rows, from the plans of the main effects."""
    points = sum(
        max(_POINTS, 2 * len(plan) if isinstance(plan, LevelPlan) else 0)
        for (label, _), plan in job.plans.items()
        if label == next(iter(job.outputs))
    )
    return float(len(job.dataset) * points * job.rows_per_row)


def _counted(found: Demand, job: Job, page: PageParts) -> Demand:
    """Return the demand with the rows of each part, counted from its plan."""
    n, outputs, features = len(job.dataset), len(job.outputs), page.features
    nominal, others = page.names(nominal=True), page.names(nominal=False)
    main = _total(count_rows(job))
    ale = _total(count_rows_of(job, ALE(), others)) if others else RowCount()
    pdp: dict[str, float] = {}
    for kind, names in (("continuous", others), ("nominal", nominal)):
        if names:
            # The main effects decide which features have the most points.
            points = called_points({n: float(k < WHOLE_GRIDS) for k, n in enumerate(names)})
            numeric = points if kind == "continuous" else None
            counts = count_rows_of(job, pdp_method(kind, rows=page.rows, points=numeric), names)
            pdp |= {str(key): count.model for key, count in counts.items()}
    sides = min(2, sum(f.categorical for f in features))
    each = float(n * PAIR_ROWS[sides] * job.rows_per_row)
    drawn = min(page.pairs, max(1, MODEL_ROWS // (4 * n))) * outputs if len(features) > 1 else 0
    return replace(
        found,
        score_rows=scored_rows(job),
        parts={
            **found.parts,
            "main effects": main.model + main.later,
            "ALE": ale.model + ale.later,
        },
        slopes=main.slope,
        scores=float(count_score_rows(job, known=True)),
        regions=region_score_rows(job) if page.has_regions else 0.0,
        pdp=pdp,
        surface=each,
        checks=found.checks + slope_check_rows(job),
        surfaces=min(drawn, outputs * len(features) * (len(features) - 1) // 2),
        threads=job.options.n_jobs if n > job.batch_rows else 1,
    )


def _total(counts: Mapping[ResultKey, RowCount]) -> RowCount:
    return sum(counts.values(), RowCount())


def _has_distribution(quantity: Quantity, X: TableLike, cost: CallStats) -> bool:
    try:
        return entropy_of(quantity, X, cost) is not None
    except (DataError, ModelOutputError, UnsupportedError):
        return False


def _uncertainty_rows(
    quantity: Quantity, job: Job, page: PageParts, *, trees: bool, again: bool
) -> float:
    """Return the most model rows of the part about predictive uncertainty; `again` as in `most_model_rows`."""
    rows, count = min(len(job.dataset), UNCERTAINTY_ROWS), len(page.features)
    found = 0.0 if job.options.y is None else float(rows * (1 + REPEATS * count) + PROBED_ROWS)
    if trees:
        return found
    certain = entropy(model_of(quantity))
    some = certain.prepare(job.dataset.subset(even_places(len(job.dataset), rows)))
    for nominal, method in ((False, RHALE()), (True, ALE())):
        names = page.names(nominal=nominal)
        if names:
            found += most_model_rows(certain, some, names, method, job.options, again=again)
    return found + 50.0 * rows * min(FEATURES, count) + PROBED_ROWS


# ---------------------------------------------------------------------------------------- samples
def sampled(
    options: ExplainOptions, X: TableLike, rows: int, given: Sequence[int]
) -> ExplainOptions:
    """Return options that leave all rows out but a random sample: a weight of zero leaves a row out."""
    n = len(as_dataset(X))
    weights = (
        np.ones(n) if options.sample_weight is None else np.asarray(options.sample_weight, float)
    )
    usable = weights > 0
    drawn = as_dataset(X, sample_weight=options.sample_weight, sample=options.row_sample).row_id
    if options.sample is not None and drawn is not None:
        usable = np.isin(np.arange(n), drawn)
    return replace(options, sample_weight=weights * _drawn(usable, rows, options.seed, given))


def _drawn(usable: Bools, rows: int, seed: int, given: Sequence[int]) -> Bools:
    """Return a mask of the sampled rows, (n,)."""
    kept = np.zeros(len(usable), dtype=bool)
    kept[list(given)] = True
    others = np.flatnonzero(usable & ~kept)
    some = np.random.default_rng(seed).permutation(len(others))[: max(rows - len(given), 0)]
    kept[others[some]] = True
    return kept


def check_max_seconds(value: object) -> float | None:
    """Return `max_seconds`; raise `DataError` unless it is None or a positive number."""
    if value is None:
        return None
    expected = "a positive number of seconds, or None for no limit"
    return check_number("report(max_seconds)", value, expected, "Use max_seconds=60", above=0.0)
