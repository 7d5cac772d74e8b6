"""`explain`: compute effects, surfaces and importances of a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast

from skedasis._types import TableLike
from skedasis.engine.assemble import collect_results, provenance, warn_unused_arguments
from skedasis.engine.budget import PlannedCall, within_limit
from skedasis.engine.compare import compared
from skedasis.engine.curves import with_curves
from skedasis.engine.options import ExplainOptions, MultiModelKeywords, takes_options
from skedasis.engine.prepare import prepare
from skedasis.engine.rounds import compute
from skedasis.engine.select import as_features
from skedasis.errors import UnsupportedError
from skedasis.quantities.outputs import ModelLike, as_quantity
from skedasis.results.multi_output import MultiOutput

if TYPE_CHECKING:
    from skedasis.engine.argument_types import (
        EffectMethod,
        Features,
        GivenRegions,
        ImportanceMethod,
        Models,
        ModelT,
    )


@takes_options(MultiModelKeywords)
def explain(
    model: ModelLike | Models[ModelT],
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod | EffectMethod = None,
    by: GivenRegions | None = None,
    **keywords: Unpack[MultiModelKeywords],
) -> Any:
    """Explain what features do to a quantity of a fitted model.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        A bare regressor, network or callable stands for its prediction, a classifier of two classes for the probability
        of the second. A list or dictionary of models, of whatever classes, compares them: each is explained as if it
        were alone. Of fits of one learner (seeds, folds of cross-validation) `refits` or `cv` explains the mean: see
        Notes. A dictionary names the models in results and figures. To explain the mixture of several models'
        predictive distributions, combine them with `ensemble`.
    X : array, data frame or ParquetData, n rows
        Rows to explain on. Never modified. Those of `sd.parquet` need not fit in memory.
    features : str, int, tuple of two, list, pattern, selector or None
        One feature gives an `Effect`, a tuple of two a `Surface`. A list, or None for every feature, gives `Effects`
        from one pass over the rows; a list of pairs gives `Surfaces`. With None, the
        features that the method has no variant for are explained by the categorical `ALE`; the provenance records this.
        A pattern, ``re.compile("temp")``, stands for the features in whose names it is found, a selector of narwhals
        or Polars for the columns of a data frame that it chooses, and a function of the name for those for which it
        is true. They give `Effects`, in X's order and each feature once, also in a list with names. A group is meant
        by its name, or by a selector that chooses all of its columns.
    method : method or str, optional
        By default ``RHALE()``, for a pair or a nominal feature ``ALE()``. A lower-case name stands for the method with
        its default parameters.
    by : str, int, array of n labels, mapping or tuple, optional
        Regions of the data in which the effects are wanted: the name or position of a column, of which each level is a
        region (a numeric column with more than four values is cut at its quartiles); a tuple of a numeric column and
        the edges that cut it, ``("temp", [0.3, 0.6])``; the label of each row; or masks by rule,
        ``{"summer weekends": mask}``, where rows in no mask are a region of their own. `regions` finds regions instead.
    y : array of n labels, optional
        For quantities and methods that need labels, and for `observed`.
    sample_weight : array of n numbers, optional
        Frequencies: a weight of 2 equals repeating the row, a weight of 0 means that it is absent.
    schema : mapping or list of Feature, optional
        Kinds, units and orders of levels of columns whose types do not determine them.
    groups : mapping of str to list of columns, optional
        Columns that are explained together as one nominal feature of that name: a one-hot block, or columns with few
        distinct rows. A group of one column is that column. With `PFI` a column may be in several groups.
    random_state : int, numpy.random.Generator or None
        Random seed, for the sample of rows that results keep, for the rows of the heterogeneity scores, and for the
        permutations of `PFI`. Nothing else is random.
    sample : int, optional
        Number of rows to explain, drawn at random. By default all. They are the rows with the smallest hashes of
        `random_state` and `row_id` among those with a positive weight, so that the same rows are drawn again, whatever
        their order, and from data in memory and in files alike. Each counts as before: weights do not change how
        likely a row is drawn. Labels, weights, identifiers, `by` and `cv` remain those of all rows of X. The
        provenance has the entries `sample` and `source_rows`, and `exact` is False.
    memory : int or str
        Memory for batches, such as "1GB".
    keep_rows : int or str
        Memory for the rows that results keep. If all rows need more, a random sample of them is kept, and the results
        that are computed from the sample say so.
    n_jobs : int
        Number of threads; -1 for one per processor. Each evaluates one batch at a time. Useful for models that release
        the global interpreter lock. With several threads, the model's own thread pools are limited to one thread each.
    progress : bool, optional
        Whether to show a progress bar if the work takes longer than five seconds. By default if standard error is a
        terminal.
    weight_kind : {"frequency", "sampling"}
        What weights mean for standard errors. "sampling" uses sum(w) - sum(w²)/sum(w) for n - 1 and
        (sum w)²/sum(w²) for n.
    row_id : array of n different numbers or texts, optional
        Unique row identifiers. Random draws are keyed by them, so that results do not depend on the order of the rows.
        By default the row indices.
    tree : {"auto", "off", "force"}
        Whether tree ensembles are explained from their structure, without model calls (scikit-learn, LightGBM,
        XGBoost, CatBoost). "auto" does so where it is exact; where that is not possible, the model is called, and a
        warning states the reason. "off" always calls the model. "force" raises an error where the tree structure
        cannot be used.
    client : distributed.Client, optional
        A client of a Dask cluster, on which data that are read in chunks are explained (`sd.parquet`). The results are
        those of one process, bit for bit.
    heterogeneity_rows : int or None
        Largest number of rows for the heterogeneity scores; 0 computes no scores. The rows are those with the smallest
        hashes of `random_state` and `row_id`. None uses all rows. 1 is an error, because rows are compared in pairs.
        Without scores, accumulated effects have no spread.
    max_model_rows : int or None
        Largest number of rows at which the model is called. By default there is no limit. What is least needed is left
        out, in this order: rows of the heterogeneity scores and spreads, half of them at a time, down to 200; then all
        of these; at last rows of everything, down to a random sample of 200. A `CostWarning` and the provenance
        (`left_out`) say what it was. If the least is more, an error that states it is raised before the model is
        called; for tree ensembles whose trees turn out to be unreadable, after their check. Rows are counted from the
        plans of all work, as an upper bound. Rows at which a derivative is called are no model rows.
    curves : int
        Number of rows whose individual curves are computed and kept with each effect; none by default. `Effect.curves`
        has the quantity at each row with the feature set to each point of the effect, centred as the effect is. The
        rows are those with a value of the feature and the smallest hashes of `random_state` and `row_id`; for data
        beyond memory, among the rows of the heterogeneity scores. PDP and ICE keep curves without it (`ice=`), and get
        others only where they keep none. Each of several models has its own. With `by`, the effect of all rows has
        curves, those of the regions have none.
    observed : bool
        Whether means of label and prediction are kept in cells of each feature, with those of their differences, as
        `Effect.observed`: what was observed along the feature beside what the model predicts. This needs `y`, and a
        quantity whose values are on the scale of the labels, or a function of such (a logit, `inverse="log"`). For a
        probability, labels are 1 for its class, else 0. The cells are those of `MPlot`, the bins where they are given
        as `Edges`, or the levels. Rows without a label (NaN or None) are left out of the means and counted. With `by`,
        each region has its own; of data beyond memory only the whole has them.
    split : str, int or array of n labels, optional
        With observed: the column by whose values the means are kept apart, such as training and test rows; or the label
        of each row. There are two to six values. A missing value counts as one. Of files it may be a column that is no
        feature.
    refits : bool
        Whether several models are refits of one learner, whose mean is explained; else they are compared. `cv` and
        `correction` say so, too. The mean is of the same quantity of every model, on the same cells.
    cv : list, array or splitter, optional
        For refits: the held-out rows on which each is explained. For each model its test rows, or its
        ``(train, test)`` rows, as indices of rows of X; or for each row of X the number of its fold (negative for
        none); or a splitter of scikit-learn with a fixed `random_state`. By default every model is explained on all
        rows.
    correction : float, optional
        For refits: the ratio of held-out to training rows, for standard errors that include the variation
        between training sets (Nadeau and Bengio). By default computed from `cv` if the training rows are known.

    Returns
    -------
    Effect, Effects, Surface, Surfaces, Importance, MultiOutput or Comparison
        With `PFI` always an `Importance`. With `by`, `Regions` for one feature, else `RegionsByFeature`. For a quantity
        with several outputs a `MultiOutput` of these, all from the same model rows. For several models a `Comparison`:
        a mapping from their names, or numbers from 0, to what each gives alone. For refits `MultiModelEffect`,
        `MultiModelEffects`, `MultiModelSurface` and `MultiModelImportance`.

    Raises
    ------
    DataError
        For data, names, groups, weights or regions that cannot be used.
    ModelOutputError
        For a model that does not return one finite number per row, or returns different numbers for the same rows.
    UnsupportedError
        For a combination of feature, model and method that is not supported, such as `curves` of M-plots, importances
        and pairs, and `observed` of importances, pairs, losses and entropies; with ``tree="force"`` for a model whose
        tree structure cannot be used.

    Notes
    -----
    The rows that the model gets are in a buffer that is written again before the next call. A model that keeps them, or
    changes them, needs rows of its own for each call: ``sd.prediction(model, copy=True)``, and likewise for the other
    quantities. A call of the model is not interrupted, except by Ctrl-C; no other call follows one that raises.

    A call whose model will need more than a minute says so in a `CostWarning`: the model rows, and the time at the
    speed of the checks of the model, before the first long call. The bar then shows the model rows of all the work.

    Each method states its cost in model rows. The heterogeneity scores cost at most `heterogeneity_rows` model rows for
    each feature, and as many once for all features. The spread of an accumulated effect (`Effect.spread`) costs at most
    4,000 for each feature, and at most four for each row and `heterogeneity_rows`. Provenances count both as
    ``score_rows``. Individual curves cost `curves` model rows for each point of an effect, which are counted as
    ``curve_rows``. Observed means cost n model rows, once for all features, which are counted as ``effect_rows``; none
    where the method evaluates the rows as they are, and for trees that are evaluated from their structure. A split of
    data beyond memory takes one more pass over them.

    Rows with a missing value of the feature are evaluated at observed values of it: this costs about 2 n model rows in
    all, or 10 for each row with a missing value where these are many. A check of the model on at most 128 rows comes on
    top. For models without derivatives, up to 896 rows per feature decide whether finite differences are meaningful;
    slopes are compared with differences in up to 1,500. Provenances count all of these as ``check_rows``. The
    total is ``model_rows``: every row at which the model was called; ``effect_rows`` are those of the effects alone.
    Rows at which a derivative of the model was called are ``slope_rows``, and no model rows.

    Tree ensembles that are evaluated from their structure cost no model rows except those of two checks, at most 192.

    Explaining m models costs the sum of what each costs alone. `max_model_rows` is the limit of all together: each
    model may use 1/m of it. Models to compare share nothing else. For refits, grids, fixed bins, levels and fine cells
    are planned once on all rows of X. Bins that depend on the local effects are chosen once, from the pooled moments of
    all models. All curves therefore have the same points. If one of the models is piecewise constant, RHALE treats all
    of them as step functions. The models share `keep_rows`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> es = sd.explain(lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, method="ale")
    >>> [r.feature for r in es.ranking()][0]
    'x0'
    """
    options = ExplainOptions.of("explain", **keywords)
    wanted = as_features(X, features)
    if isinstance(model, (list, tuple, Mapping)):
        if not options.averages:
            chosen, own = cast("Features", wanted), options.keywords()
            return compared(model, lambda m: explain(m, X, chosen, method=method, by=by, **own))
        if by is not None:
            got, fix = "the mean of several models", "Leave out refits=True, cv and correction"
            raise UnsupportedError("explain(by)", got, "one model, or models to compare", fix)
        # Imported here: explaining one model does not need it.
        from skedasis.engine.multi_model import explain_several

        return explain_several(model, X, wanted, method, options)
    warn_unused_arguments(method, model, options.y)
    if by is not None:
        # Imported here: most calls have no regions.
        from skedasis.engine.region_pass import find_regions
        from skedasis.engine.region_rules import RegionOptions

        quantity = as_quantity(model)
        return find_regions(quantity, X, wanted, method, options, RegionOptions(), by)
    quantity = as_quantity(model)
    options = within_limit(PlannedCall(quantity, X, wanted, method), options)
    job = prepare(quantity, X, wanted, method, options)
    done = compute(job)
    results = with_curves(job, done.results) if options.curves else done.results
    record = provenance(job, done.scores)
    by_output = {label: collect_results(job, found, record) for label, found in results.items()}
    return by_output[None] if job.single else MultiOutput(by_output)
