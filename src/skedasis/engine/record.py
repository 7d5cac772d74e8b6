"""How results were made: the provenance; and the settings that all methods share, checked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Json
from skedasis.engine.choose import names_of
from skedasis.engine.prepare import Job
from skedasis.engine.run import models_alone
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.engine.scores import Scores


SCORE_ROWS = 10_000
"""Default number of rows of the heterogeneity score: its error is then about a hundredth of the score."""


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


def check_settings(threads: Any, weight_kind: Any) -> None:
    """Refuse settings that mean nothing.

    Raises
    ------
    DataError
    """
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise DataError(explained("threads", repr(threads), "an integer of at least 1", "Use 1"))
    if weight_kind not in ("frequency", "sampling"):
        raise DataError(
            explained("weight_kind", repr(weight_kind), "'frequency' or 'sampling'", "Name one")
        )


def check_rows_wanted(rows: Any) -> int | None:
    """Return `heterogeneity_rows` as an int or None.

    Raises
    ------
    DataError
        For anything but None, 0 or an integer of at least 2: a pair takes two rows.
    """
    whole = isinstance(rows, (int, np.integer)) and not isinstance(rows, (bool, np.bool_))
    if rows is None or (whole and rows >= 0 and rows != 1):
        return None if rows is None else int(rows)
    raise DataError(
        explained(
            "heterogeneity_rows",
            repr(rows)[:60],
            "an integer of at least 2, or None for all rows",
            "Use 10_000, or 0 for no heterogeneity score",
        )
    )


def provenance(job: Job, scores: Scores, seed: int, threads: int, seconds: float) -> Json:
    """Return how the results were made: everything but seconds can be reproduced from it.

    Of a slow model, neither can the number of calls: see `models/calling.py`.
    """
    from skedasis import __version__

    weights = job.source.weights
    wished = max(t.way.rows_wanted(len(job.source)) for t in job.tasks)
    everything = job.sample is None or int(job.sample.sum()) >= wished
    return {
        "method": job.method.name,
        "settings": job.method.describe(),
        "quantity": job.quantity.describe(),
        "unit": job.quantity.unit,
        "rows": len(job.source),
        "weight": float(len(job.source)) if weights is None else float(weights.sum()),
        "features": names_of(job.tasks),
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
        "score_rows": scores.meter.rows,
        "score_calls": scores.meter.calls,
        "score_exact": scores.exact,
        **({"floored_rows": job.meter.floored} if job.meter.floored else {}),
        **({"trees": job.trees, "tree_rows": job.meter.tree_rows} if job.trees else {}),
        "model_seconds": job.meter.seconds + scores.meter.seconds,
        "seconds": seconds,
        "threads": threads,
        **({"model_threads": 1} if models_alone(job, threads) else {}),
        "versions": {
            "skedasis": __version__,
            "numpy": np.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
        },
    }
