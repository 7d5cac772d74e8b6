"""`explain`: the one verb."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from skedasis.data.given import as_source
from skedasis.data.levels import LevelColumn
from skedasis.data.schema import Feature
from skedasis.data.source import Source
from skedasis.engine.choose import Choice, Task, as_method
from skedasis.engine.prepare import Job, Settings, prepare
from skedasis.engine.record import as_bytes, check_settings, provenance
from skedasis.engine.run import Gathered, run
from skedasis.methods.missing import MISSING
from skedasis.moments import WeightKind
from skedasis.quantity.base import Quantity
from skedasis.quantity.trees.choose import Wish
from skedasis.quantity.wrap import as_quantity
from skedasis.results.effects import Effects
from skedasis.results.missing import with_missing
from skedasis.results.spec import About
from skedasis.typing import Json


def explain(
    model: Any,
    X: Any,
    features: Any = None,
    *,
    method: Any = None,
    y: Any = None,
    weights: Any = None,
    schema: Any = None,
    groups: Any = None,
    seed: int = 0,
    memory: int | str = "1GB",
    keep: int | str = "256MB",
    threads: int = 1,
    progress: bool | None = None,
    weight_kind: WeightKind = "frequency",
    row_id: Any = None,
    tree: Wish = "auto",
) -> Any:
    """Explain what features do to a quantity of a fitted model.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        A bare regressor, network or callable stands for its prediction, a classifier of two classes for the probability
        of the second.
    X : array or data frame, n rows
        Rows to explain on. Never changed.
    features : str, int, tuple of two, list or None
        One feature gives an `Effect`, a tuple of two a `Surface`; a list, or None for every feature, gives `Effects`
        from one pass; a list of pairs a dictionary of surfaces by pairs of names. With None, features that the method
        has no form for are explained by the categorical `ALE`, which the provenance says.
    method : method or str, optional
        By default ``RHALE()``, for a pair ``ALE()``. A lower-case name stands for the method's defaults.
    y : array of n labels, optional
        For quantities that need them, and for `MPlot` of labels and residuals.
    weights : array of n numbers, optional
        Frequencies: a weight of 2 equals repeating the row, 0 means that it is absent.
    schema : mapping or list of Feature, optional
        Kinds, units and orders of levels of columns, where their types do not say.
    groups : mapping of str to list of columns, optional
        Columns that are moved together as one nominal feature of that name: a one-hot block, or columns of few distinct
        rows. A group of one column is that column.
    seed : int
        For samples of rows that are kept, and for the permutations of `PFI`. Nothing else is random.
    memory : int or str
        Budget for batches, such as "1GB".
    keep : int or str
        Budget for rows that the results keep; beyond it a seeded sample is kept, and what rests on it says so.
    threads : int
        Batches worked on at a time: for models that release the lock. While there are several, the model's own threads
        are kept to one each.
    progress : bool, optional
        A bar when work takes longer than two seconds: by default if standard error is a terminal.
    weight_kind : {"frequency", "sampling"}
        "sampling" uses sum(w) - sum(w²)/sum(w) for n - 1 and (sum w)²/sum(w²) for n in standard errors.
    row_id : array of n different numbers or texts, optional
        What the rows are known by: what is drawn by chance is drawn for these, so that the result is the same for any
        order of the rows. By default their places in X.
    tree : {"auto", "off", "force"}
        Of ensembles of trees (scikit-learn, LightGBM, XGBoost): "auto" finds what a changed feature does by walking the
        trees, which is exact and needs no call of the model; where that is not possible the model is called, with one
        warning that says why. "off" always calls it; "force" raises where the trees cannot be walked.

    Returns
    -------
    Effect, Effects, Surface, Importance or dict
        With `PFI` always an `Importance`. Of a quantity with several outputs a dictionary of these by output, all from
        the same model rows.

    Raises
    ------
    DataError
        For data, names, groups or weights that cannot be used.
    ModelOutputError
        For a model that does not answer with one finite number a row, or differently each time.
    UnsupportedError
        For a feature, model or method that do not go together; with ``tree="force"`` for a model that is not walked.

    Notes
    -----
    The cost in model rows is the method's: see there. Rows that miss the feature cost as many again as there are values
    they are compared with: about 2 n in all, 10 for each such row where these are many. A check of at most 128 rows
    comes on top, and for models without slopes of their own up to 896 rows a feature to see whether differences mean
    anything; provenances count these as ``check_rows``.

    Ensembles of trees that are walked cost no model rows but those of two checks, at most 192.

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
    quantity = as_quantity(model)
    source = quantity.prepare(as_source(X, y, weights, schema, row_id))
    if method is not None:
        as_method(method).heed(model, y)
    method, choice = _settled(method, quantity, source, features, groups, seed)
    source = choice.source
    check_settings(threads, weight_kind)
    settings = Settings(as_bytes(memory, "memory"), as_bytes(keep, "keep"), seed, tree)
    job = prepare(quantity, method, source, choice.tasks(method), settings)
    found = _results(job, run(job, threads, progress), weight_kind)
    record = provenance(job, seed, threads, time.perf_counter() - started)
    shown = {k: _together(v, record, choice, method) for k, v in found.items()}
    return shown[None] if job.single else shown


def _results(job: Job, gathered: Gathered, kind: WeightKind) -> dict[Any, dict[Any, Any]]:
    """Make the results of each output of what was gathered."""
    return {
        label: {t.key: _read(job, label, t, gathered.pop((label, t.key)), kind) for t in job.tasks}
        for label in job.outputs
    }


def _settled(
    method: Any, quantity: Quantity, source: Source, features: Any, groups: Any, seed: int
) -> tuple[Any, Choice]:
    """Return the method for these rows, and what was asked for."""
    if method is not None:
        method = as_method(method)
        source, groups = method.given(source, groups, seed)
    choice = Choice(source, features, groups)
    method = as_method(method, pair=choice.pairs)
    named = {f.name for f in source.features}
    method.check((*source.features, *(f for f in choice.features if f.name not in named)))
    return method.on(quantity, source, seed), choice


def _together(found: dict[Any, Any], record: Json, choice: Choice, method: Any) -> Any:
    """Return what one output's results are handed over as."""
    together = getattr(method, "together", None)
    if together is not None:
        return together(found, record)
    found = {name: result.with_provenance(record) for name, result in found.items()}
    if choice.single:
        return next(iter(found.values()))
    return found if choice.pairs else Effects(found, record)


def _read(job: Job, label: Any, task: Task, local: Any, kind: WeightKind) -> Any:
    """Make one result of what was gathered."""
    quantity, exact = job.outputs[label], job.sample is None
    abouts = tuple(_about(quantity, job.source, c) for c in task.columns)
    about = abouts[0] if len(abouts) == 1 else abouts
    missing = local.moments.pop(MISSING, None)
    result = task.way.read(job.plans[label, task.key], local, about, exact=exact, kind=kind)
    if "missing" in local.notes:  # refused in one batch: what the others say is not the whole
        result = result.with_provenance({"missing": local.notes["missing"]})
    elif missing is not None:
        donors = job.donors.get((label, task.key))
        result = with_missing(result, missing, exact=donors is None or donors.exact)
    return result


def _about(quantity: Quantity, source: Source, column: Any) -> About:
    if isinstance(column, Feature):
        return About(column, quantity.name, quantity.unit, source.library)
    levels = isinstance(column, LevelColumn)
    return About(
        column.feature,
        quantity.name,
        quantity.unit,
        source.library,
        _spread(column) if levels else column.sd,
        column.missing,
        column.feature.dtype if levels else str(column.dtype),
    )


def _spread(column: LevelColumn) -> float:
    """Return the standard deviation of the places of a categorical feature's levels, in their own order."""
    share = column.weight / column.weight.sum()
    place = np.arange(len(share))
    return float(np.sqrt(share @ (place - share @ place) ** 2))
