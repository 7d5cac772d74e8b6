"""The driver: it plans every feature, goes through the batches once, merges, and reads the results.

Batches are the outer loop and features the inner one, so that what features share (a batch's rows, its buffer, its
slopes) is made once.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skedasis.data.schema import Feature, find
from skedasis.data.source import Batch, Source, as_source
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, explained
from skedasis.execute import Progress, in_order
from skedasis.methods.ale import ALE
from skedasis.methods.base import Kept, Local, Method, Plan
from skedasis.methods.dale import DALE
from skedasis.methods.pdp import ICE, PDP
from skedasis.methods.rhale import RHALE, UALE
from skedasis.moments import WeightKind
from skedasis.quantity.base import CALL_ROWS, Meter, Quantity, Traits
from skedasis.quantity.check import Checked, check, traits_of
from skedasis.quantity.wrap import as_quantity
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.spec import About
from skedasis.typing import Bools, Json

METHODS: dict[str, type[Any]] = {
    "ale": ALE,
    "dale": DALE,
    "ice": ICE,
    "pdp": PDP,
    "rhale": RHALE,
    "uale": UALE,
}


@dataclass(frozen=True)
class Job:
    """What `explain` was asked, checked: everything that does not depend on the batch."""

    quantity: Quantity
    method: Method
    source: Source
    plans: dict[int, Plan]
    checked: Checked
    copies: int
    batch_rows: int
    sample: Bools | None
    meter: Meter = field(default_factory=Meter)


def explain(
    model: Any,
    X: Any,
    features: Any = None,
    *,
    method: Any = None,
    y: Any = None,
    weights: Any = None,
    schema: Any = None,
    seed: int = 0,
    memory: int | str = "1GB",
    keep: int | str = "256MB",
    threads: int = 1,
    progress: bool | None = None,
    weight_kind: WeightKind = "frequency",
) -> Any:
    """Explain what features do to a quantity of a fitted model.

    Parameters
    ----------
    model : quantity, fitted estimator or callable
        A bare regressor or callable stands for its prediction, a classifier of two classes for the probability of the
        second.
    X : array or data frame, n rows
        Rows to explain on. Never changed.
    features : str, int, list or None
        One feature gives an `Effect`; a list, or None for every numeric feature, gives `Effects` from one pass.
    method : method or str, optional
        By default ``RHALE()``. A lower-case name stands for the method's defaults.
    y : array of n labels, optional
        For quantities that need them.
    weights : array of n numbers, optional
        Frequencies: a weight of 2 equals repeating the row, 0 means that it is absent.
    schema : mapping or list of Feature, optional
        Kinds and units of columns, where their types do not say.
    seed : int
        For samples of rows that are kept. Nothing else is random.
    memory : int or str
        Budget for batches, such as "1GB".
    keep : int or str
        Budget for rows that the results keep; beyond it a seeded sample is kept, and what rests on it says so.
    threads : int
        Batches worked on at a time: for models that release the lock.
    progress : bool, optional
        A bar when work takes longer than two seconds: by default if standard error is a terminal.
    weight_kind : {"frequency", "sampling"}
        "sampling" uses sum(w) - sum(w²)/sum(w) for n - 1 and (sum w)²/sum(w²) for n in standard errors.

    Returns
    -------
    Effect or Effects

    Raises
    ------
    DataError
        For data, names or weights that cannot be used.
    ModelOutputError
        For a model that does not answer with one finite number a row, or differently each time.
    UnsupportedError
        For a feature, model or method that do not go together.

    Notes
    -----
    The cost in model rows is the method's: see there. A check of at most 128 rows comes on top, and for models without
    slopes of their own up to 896 rows a feature to see whether differences mean anything; provenances count these as
    ``check_rows``.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> es = sd.explain(lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, method="ale")
    >>> [r.feature for r in es.ranking()][0]
    'x0'
    """
    started = time.perf_counter()
    quantity, way = as_quantity(model), as_method(method)
    source = quantity.prepare(as_source(X, y, weights, schema))
    wanted, single = _select(source.features, features, way)
    way.check(source.features)
    _check_settings(threads, weight_kind)
    job = _prepare(
        quantity, way, source, wanted, as_bytes(memory, "memory"), as_bytes(keep, "keep"), seed
    )
    gathered = _run(job, threads, progress)
    results: dict[str, Effect] = {}
    for j, plan in job.plans.items():
        about = _about(quantity, source, plan)
        exact = job.sample is None
        effect = way.read(plan, gathered.pop(j), about, exact=exact, kind=weight_kind)
        results[effect.feature] = effect
    record = _provenance(job, seed, threads, time.perf_counter() - started)
    results = {name: e.with_provenance(record) for name, e in results.items()}
    return next(iter(results.values())) if single else Effects(results, record)


def _prepare(
    quantity: Quantity,
    way: Method,
    source: Source,
    wanted: Sequence[int],
    memory: int,
    keep: int,
    seed: int,
) -> Job:
    """Check the model, and plan every feature."""
    checked = check(quantity, source)
    plans: dict[int, Plan] = {}
    for j in wanted:
        column = source.column(j)
        traits = Traits("none", "")
        if way.uses_slopes:
            traits = traits_of(quantity, source, column.summary(), checked)
        plans[j] = way.plan(column, traits)
    sets = way.sets(plans)
    row_bytes = 8 * (len(source.features) + 8) * sets
    rows = max(1, min(CALL_ROWS // sets, memory // row_bytes))
    rows = min(rows, len(source))
    copies = max(1, min(sets, CALL_ROWS // rows, memory // (8 * (len(source.features) + 8) * rows)))
    budget = keep // max(1, sum(way.row_bytes(p) for p in plans.values()))
    wished = way.rows_wanted(len(source))
    kept = min(wished, budget)
    if kept < wished:
        plans = {j: way.refined(p) for j, p in plans.items()}
    return Job(
        quantity, way, source, plans, checked, copies, rows, _sample(len(source), kept, seed)
    )


def _sample(n: int, kept: int, seed: int) -> Bools | None:
    """Return which rows are kept: None for all."""
    if kept >= n:
        return None
    sample = np.zeros(n, dtype=bool)
    sample[np.random.default_rng(seed).choice(n, kept, replace=False)] = True
    return sample


def _run(job: Job, threads: int, show: bool | None) -> dict[int, Local]:
    """Go through the batches once, and merge what each gives, in their order."""
    batches = list(job.source.batches(job.batch_rows))
    worker = threading.local()
    total: dict[int, Local] = {}
    rows = Kept(list(job.plans), len(job.source) if job.sample is None else int(job.sample.sum()))
    with Progress(
        len(batches) * len(job.plans), f"{job.method.name} of {job.quantity.describe()}", show
    ) as bar:

        def work(task: tuple[int, Batch]) -> tuple[dict[int, Local], Meter]:
            first, batch = task[0] * job.batch_rows, task[1]
            bound = job.quantity.on(
                batch, job.copies, job.checked.eps, getattr(worker, "bound", None)
            )
            worker.bound = bound
            keep = None if job.sample is None else job.sample[first : first + len(batch)]
            gathered = {}
            for j, plan in job.plans.items():
                gathered[j] = job.method.local(bound, plan, keep)
                bar.advance()
            return gathered, bound.meter

        for gathered, meter in in_order(work, list(enumerate(batches)), threads):
            job.meter.add(meter)
            for j, local in gathered.items():
                rows.add(j, local.kept)
                local.kept = {}
                total[j] = total[j].merge(local) if j in total else local
    for j, local in total.items():
        local.kept = rows.of(j)
    return total


def _about(quantity: Quantity, source: Source, plan: Plan) -> About:
    column = plan.column
    return About(
        column.feature,
        quantity.name,
        quantity.unit,
        source.library,
        column.sd,
        column.missing,
        str(column.dtype),
    )


def _select(features: Sequence[Feature], wanted: Any, way: Method) -> tuple[list[int], bool]:
    """Return the places of the features that are asked for, and whether it is a single one."""
    if isinstance(wanted, tuple):
        raise UnsupportedError(
            explained(
                "features",
                f"a tuple of {len(wanted)}",
                "a name, a list of names or None",
                "Effects of pairs are not available; use a list for several features one by one",
            )
        )
    if wanted is None:
        return _numeric(features, way), False
    single = isinstance(wanted, str) or not isinstance(wanted, Iterable)
    places = [find(features, f) for f in ([wanted] if single else wanted)]
    if not places:
        raise DataError(
            explained("features", "an empty list", "at least one feature", "Use None for all")
        )
    for j in places:
        if not features[j].numeric:
            raise UnsupportedError(
                explained(
                    f"{way.name} of {features[j].name!r}",
                    f"a {features[j].kind} feature ({features[j].dtype})",
                    "a numeric feature",
                    "If its values are numbers, declare them: "
                    f'schema={{{features[j].name!r}: "continuous"}}',
                )
            )
    return list(dict.fromkeys(places)), single


def _numeric(features: Sequence[Feature], way: Method) -> list[int]:
    places = [j for j, f in enumerate(features) if f.numeric]
    others = [f.name for f in features if not f.numeric]
    if not places:
        raise UnsupportedError(
            explained(
                way.name,
                f"no numeric feature among {len(features)}",
                "at least one",
                'Declare codes that are numbers: schema={"name": "continuous"}',
            )
        )
    if others:
        warnings.warn(
            f"{way.name}: {len(others)} features without numeric values were left out: "
            f"{', '.join(others[:8])}{', …' if len(others) > 8 else ''}.",
            LeftOutWarning,
            stacklevel=4,
        )
    return places


def as_method(method: Any) -> Method:
    """Return the method that is meant: by default `RHALE`, by its name with its defaults, or itself."""
    if method is None:
        return RHALE()
    if isinstance(method, str):
        if method.lower() in METHODS:
            return METHODS[method.lower()]()
        known = ", ".join(repr(m) for m in METHODS)
        raise DataError(explained("method", repr(method), f"one of {known}", "Use 'rhale'"))
    if isinstance(method, tuple(METHODS.values())):
        return method
    fix = f"Write {method.__name__}()" if isinstance(method, type) else "Use sd.RHALE()"
    raise DataError(explained("method", repr(method)[:60], "a method such as sd.RHALE()", fix))


def as_bytes(size: int | str, what: str) -> int:
    """Return a size such as "256MB" in bytes.

    Examples
    --------
    >>> as_bytes("1.5GB", "memory")
    1500000000
    """
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
    text = str(size).strip().upper()
    number, factor = text, 1
    for unit, worth in units.items():
        if text.endswith(unit):
            number, factor = text[: -len(unit)], worth
            break
    try:
        value = float(number) * factor
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or isinstance(size, bool):
        raise DataError(
            explained(what, repr(size), 'a size such as "256MB"', "Name bytes, KB, MB or GB")
        )
    return int(value)


def _check_settings(threads: Any, weight_kind: Any) -> None:
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise DataError(explained("threads", repr(threads), "an integer of at least 1", "Use 1"))
    if weight_kind not in ("frequency", "sampling"):
        raise DataError(
            explained("weight_kind", repr(weight_kind), "'frequency' or 'sampling'", "Name one")
        )


def _provenance(job: Job, seed: int, threads: int, seconds: float) -> Json:
    """Return how the results were made: everything but the seconds can be reproduced from it."""
    from skedasis import __version__

    weights = job.source.weights
    everything = job.sample is None or job.method.rows_wanted(len(job.source)) < len(job.source)
    return {
        "method": job.method.name,
        "settings": job.method.describe(),
        "quantity": job.quantity.describe(),
        "unit": job.quantity.unit,
        "rows": len(job.source),
        "weight": float(len(job.source)) if weights is None else float(weights.sum()),
        "features": [p.column.feature.name for p in job.plans.values()],
        "seed": seed,
        "exact": True,
        "rows_kept": "all" if job.sample is None else int(job.sample.sum()),
        "kept_as_wanted": everything,
        "model_rows": job.meter.rows,
        "model_calls": job.meter.calls,
        "slope_rows": job.meter.slope_rows,
        "slope_calls": job.meter.slope_calls,
        "check_rows": job.checked.meter.rows,
        "check_calls": job.checked.meter.calls,
        "model_seconds": job.meter.seconds,
        "seconds": seconds,
        "threads": threads,
        "versions": {
            "skedasis": __version__,
            "numpy": np.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
        },
    }
