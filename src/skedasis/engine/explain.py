"""`explain`: the entry point of every effect and importance."""

# Anything may be a model, a list of models too: the narrower types come first.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

import time
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    Unpack,
    overload,
)

from skedasis.data.dataset import as_source
from skedasis.engine.assemble import (
    SCORE_ROWS,
    as_bytes,
    check_rows_wanted,
    check_settings,
    heed,
    provenance,
    results_of,
    settled,
    together,
)
from skedasis.engine.multi_model import refuse_alone
from skedasis.engine.plan import Settings, prepare
from skedasis.engine.run import run
from skedasis.methods.base import Form, Parameters
from skedasis.methods.permutation import PFI
from skedasis.quantities.outputs import Several, as_quantity
from skedasis.quantities.tree_evaluator import Wish
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.results.effect import Effect
    from skedasis.results.effects import Effects
    from skedasis.results.importance import Importance
    from skedasis.results.multi_model import (
        EffectOfModels,
        EffectsOfModels,
        ImportanceOfModels,
        SurfaceOfModels,
    )
    from skedasis.results.surface import Surface


# ------------------------------------------------------------------------------------------
# What types `explain` takes, and what it gives for them: for type checkers and editors alone.


One: TypeAlias = str | SupportsIndex


Pair: TypeAlias = tuple[One, One]


Pairs: TypeAlias = list[tuple[str, str]] | list[tuple[int, int]] | list[Pair]


Many: TypeAlias = list[str] | list[int] | list[One] | None


Models: TypeAlias = list[Any] | tuple[Any, ...]


ModelsOfSeveral: TypeAlias = list[Several] | tuple[Several, ...]


Importances: TypeAlias = PFI | Literal["pfi"]


Curves: TypeAlias = (
    Parameters | Form | Literal["ale", "dale", "ice", "mplot", "pdp", "rhale", "uale"] | None
)
"""Where these are asked for, `Importances` was asked before: a PFI is a method as well."""


class Keywords(TypedDict, total=False):
    """The other keywords of `explain`."""

    y: Any
    weights: Any
    schema: Any
    groups: Any
    seed: int
    memory: int | str
    keep: int | str
    threads: int
    progress: bool | None
    weight_kind: WeightKind
    row_id: Any
    tree: Wish
    heterogeneity_rows: int | None


class KeywordsOfModels(Keywords, total=False):
    """Those of several models besides."""

    cv: Any
    correction: float | None


# ------------------------------------------------------------------------------------------
# `explain`: the one verb.


@overload
def explain(
    model: ModelsOfSeveral,
    X: Any,
    features: Any = None,
    *,
    method: Any = None,
    **more: Unpack[KeywordsOfModels],
) -> dict[Any, Any]: ...


@overload
def explain(
    model: Models,
    X: Any,
    features: Any = None,
    *,
    method: Importances,
    **more: Unpack[KeywordsOfModels],
) -> ImportanceOfModels: ...


@overload
def explain(
    model: Models, X: Any, features: One, *, method: Curves = None, **more: Unpack[KeywordsOfModels]
) -> EffectOfModels: ...


@overload
def explain(
    model: Models,
    X: Any,
    features: Pair,
    *,
    method: Curves = None,
    **more: Unpack[KeywordsOfModels],
) -> SurfaceOfModels: ...


@overload
def explain(
    model: Models,
    X: Any,
    features: Pairs,
    *,
    method: Curves = None,
    **more: Unpack[KeywordsOfModels],
) -> dict[tuple[str, str], SurfaceOfModels]: ...


@overload
def explain(
    model: Models,
    X: Any,
    features: Many = None,
    *,
    method: Curves = None,
    **more: Unpack[KeywordsOfModels],
) -> EffectsOfModels: ...


@overload
def explain(
    model: Several, X: Any, features: Any = None, *, method: Importances, **more: Unpack[Keywords]
) -> dict[Any, Importance]: ...


@overload
def explain(
    model: Several, X: Any, features: One, *, method: Curves = None, **more: Unpack[Keywords]
) -> dict[Any, Effect]: ...


@overload
def explain(
    model: Several, X: Any, features: Pair, *, method: Curves = None, **more: Unpack[Keywords]
) -> dict[Any, Surface]: ...


@overload
def explain(
    model: Several, X: Any, features: Pairs, *, method: Curves = None, **more: Unpack[Keywords]
) -> dict[Any, dict[tuple[str, str], Surface]]: ...


@overload
def explain(
    model: Several,
    X: Any,
    features: Many = None,
    *,
    method: Curves = None,
    **more: Unpack[Keywords],
) -> dict[Any, Effects]: ...


@overload
def explain(
    model: Any, X: Any, features: Any = None, *, method: Importances, **more: Unpack[Keywords]
) -> Importance: ...


@overload
def explain(
    model: Any, X: Any, features: One, *, method: Curves = None, **more: Unpack[Keywords]
) -> Effect: ...


@overload
def explain(
    model: Any, X: Any, features: Pair, *, method: Curves = None, **more: Unpack[Keywords]
) -> Surface: ...


@overload
def explain(
    model: Any, X: Any, features: Pairs, *, method: Curves = None, **more: Unpack[Keywords]
) -> dict[tuple[str, str], Surface]: ...


@overload
def explain(
    model: Any, X: Any, features: Many = None, *, method: Curves = None, **more: Unpack[Keywords]
) -> Effects: ...


def explain(  # noqa: PLR0913 - one verb, with all keywords in one place
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
    heterogeneity_rows: int | None = SCORE_ROWS,
    cv: Any = None,
    correction: float | None = None,
) -> Any:
    """Explain what features do to a quantity of a fitted model.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        A bare regressor, network or callable stands for its prediction, a classifier of two classes for the probability
        of the second. A list of fitted models of one kind (folds of cross-validation, seeds, refits) explains each of
        them on the same cells: see Notes. It is not `ensemble`, which makes one model of them, whose predictive
        distribution is their mixture.
    X : array or data frame, n rows
        Rows to explain on. Never changed.
    features : str, int, tuple of two, list or None
        One feature gives an `Effect`, a tuple of two a `Surface`; a list, or None for every feature, gives `Effects`
        from one pass; a list of pairs a dictionary of surfaces by pairs of names. With None, features that the method
        has no form for are explained by the categorical `ALE`, which the provenance says.
    method : method or str, optional
        By default ``RHALE()``, for a pair or a nominal feature ``ALE()``. A lower-case name stands for the method's
        defaults.
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
    heterogeneity_rows : int or None
        Number of rows from which the heterogeneity scores are computed, at most: those with the smallest hashes of
        `seed` and `row_id`. None takes all rows, 0 computes no scores; 1 is refused, since rows are compared in pairs.
    cv : list, array or splitter, optional
        Of a list of models: which rows each is explained on, its held-out ones. For each model its test rows, or its
        ``(train, test)`` rows, as places in X; or for each row of X the number of its fold (negative for none); or a
        splitter of scikit-learn with a fixed `random_state`. By default every model is explained on all rows.
    correction : float, optional
        Of a list of models: the rows held out over the rows fitted on, for the error of what the learner does on other
        training data. By default from `cv`, if that tells it.

    Returns
    -------
    Effect, Effects, Surface, Importance or dict
        With `PFI` always an `Importance`. Of a quantity with several outputs a dictionary of these by output, all from
        the same model rows. Of a list of models `EffectOfModels`, `EffectsOfModels`, `SurfaceOfModels` and
        `ImportanceOfModels` likewise.

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
    Each method states its cost in model rows. The heterogeneity scores cost at most `heterogeneity_rows` model rows for
    each feature, and as many once for all features; provenances count them as ``score_rows``.

    Rows that miss the feature cost as many again as there are values they are compared with: about 2 n in all, 10 for
    each such row where these are many. A check of at most 128 rows comes on top, and for models without slopes of their
    own up to 896 rows a feature to see whether differences mean anything; provenances count these as ``check_rows``.

    Ensembles of trees that are walked cost no model rows but those of two checks, at most 192.

    Of a list of m models each goes this way by itself, and costs what it costs by itself. Grids, fixed bins, levels and
    fine cells are planned once on all rows of X; bins that are chosen by the local effects are chosen once, from the
    moments of all models together; so all curves stand on the same points. If one of the models is constant between
    jumps, RHALE treats all of them as step functions. `keep` is shared by the models.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> es = sd.explain(lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, method="ale")
    >>> [r.feature for r in es.ranking()][0]
    'x0'
    """
    # What comes after the first round is loaded when it is needed: `import skedasis` stays quick.
    from skedasis.engine.heterogeneity_score import scores_of
    from skedasis.engine.second_round import complete

    if isinstance(model, (list, tuple)):
        given = (method, y, weights, schema, groups, seed, memory, keep, threads, progress)
        more = (weight_kind, row_id, tree, heterogeneity_rows)
        return _several(model, X, features, cv, correction, *given, *more)
    refuse_alone(cv, correction)
    started = time.perf_counter()
    quantity = as_quantity(model)
    source = quantity.prepare(as_source(X, y, weights, schema, row_id))
    heed(method, model, y)
    method, choice = settled(method, quantity, source, features, groups, seed)
    check_settings(threads, weight_kind)
    score_limit = check_rows_wanted(heterogeneity_rows)
    settings = Settings(as_bytes(memory, "memory"), as_bytes(keep, "keep"), seed, tree)
    job = prepare(quantity, method, choice.source, choice.tasks(method), settings)
    gathered = run(job, threads, progress)
    scores = scores_of(job, score_limit, seed, threads, progress)
    known = complete(job, gathered, scores, threads, progress, seed=seed, kind=weight_kind)
    found = results_of(job, gathered, scores, weight_kind, known)
    record = provenance(job, scores, seed, threads, time.perf_counter() - started)
    shown = {k: together(v, record, choice, method) for k, v in found.items()}
    return shown[None] if job.single else shown


def _several(models: Any, X: Any, features: Any, cv: Any, correction: Any, *given: Any) -> Any:
    from skedasis.engine.multi_model import Asked, explain_several  # one model has no need of it

    return explain_several(models, X, features, Asked(*given), cv, correction)
