"""`regions`: for whom the effect of a feature differs, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Unpack

from skedasis._progress import current_work
from skedasis._types import TableLike
from skedasis.engine.assemble import warn_unused_arguments
from skedasis.engine.compare import check_several, compared
from skedasis.engine.conditioning import as_conditions
from skedasis.engine.cross_validation import as_folds
from skedasis.engine.options import (
    ALPHA,
    MAX_DEPTH,
    MIN_GAIN,
    ExplainOptions,
    MultiModelKeywords,
    takes_options,
)
from skedasis.engine.region_pass import FoundRegions, RegionsOfOutputs, find_regions
from skedasis.engine.region_rules import RegionOptions
from skedasis.engine.select import as_features
from skedasis.errors import UnsupportedError
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import ModelLike, as_quantity, listed
from skedasis.results.multi_output import Comparison, MultiOutput
from skedasis.results.provenance import as_provenance, model_names
from skedasis.results.regions import (
    MultiModelRegions,
    MultiModelRegionsByFeature,
    Regions,
    RegionsByFeature,
)

if TYPE_CHECKING:
    from skedasis.engine.argument_types import (
        EffectMethod,
        FeatureLike,
        FeatureList,
        Models,
        ModelT,
    )


@takes_options(MultiModelKeywords)
def regions(
    model: ModelLike | Models[ModelT],
    X: TableLike,
    features: FeatureLike | FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> (
    Regions
    | RegionsByFeature
    | MultiModelRegions
    | MultiOutput[Regions]
    | MultiOutput[RegionsByFeature]
    | MultiModelRegionsByFeature
    | Comparison[FoundRegions | RegionsOfOutputs]
):
    """Find regions of the data in which the effect of a feature differs: a tree of rules on the other features.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        As in `skedasis.explain`. For a list or dictionary of models regions are found for each of them; for refits
        (`refits`, `cv`), whether the first splits are the same is counted.
    X : array or data frame, n rows
        Rows to explain on. Never modified.
    features : str, int, list, pattern, selector or None
        One feature gives `Regions`; a list, or None for every feature, `RegionsByFeature` from one pass. Patterns and
        selectors as in `skedasis.explain`.
    method : method or str, optional
        As in `skedasis.explain`: a method with local effects (ALE, DALE, UALE, RHALE) or curves (PDP, ICE).
    split_on : list of str or int, pattern or selector, optional
        The features that rules may use; by default all others. A feature is never split by itself.
    max_depth : int
        Largest number of conditions of a rule.
    alpha : float
        Level of the test of each split, on rows that did not choose it. It is shared by the features that are
        explained, and halved for each further level of the tree.
    min_gain : float
        Least share of the whole's loss that a split explains: of the squared deviations of local effects or curves, or,
        for curves of step functions, of the squared heterogeneity score.
    criterion : {"auto", "within", "curves"}
        What splits explain: the deviations of local effects from their mean within cells, or the differences between
        curves. "auto": "within" for slopes; "curves" for step functions, levels, PDP and ICE.
    look_ahead : bool
        Whether two features are divided at once where no single split holds. This finds interactions that no single
        feature shows, such as an exclusive or.
    joint : bool
        Whether all features get the same regions: splits lower the heterogeneity of all effects together.
    y, sample_weight, schema, groups, random_state, sample, memory, keep_rows, n_jobs, progress, weight_kind
        As in `skedasis.explain`.
    row_id, tree, heterogeneity_rows, max_model_rows, curves, observed, split, client, refits, cv, correction
        As in `skedasis.explain`. The effect of all rows has the `curves`, those of regions have none. Regions have no
        standard errors over models, so that `correction` has no effect.

    Returns
    -------
    Regions, RegionsByFeature, MultiModelRegions, MultiModelRegionsByFeature, MultiOutput or Comparison
        For a quantity with several outputs a `MultiOutput` of these, for several models a `Comparison`. For refits
        `MultiModelRegions`, for several features `MultiModelRegionsByFeature`.

    Raises
    ------
    DataError
        For an option out of range, a name that does not exist, the feature itself in `split_on`, and as
        `skedasis.explain`.
    UnsupportedError
        For pairs of features, M-plots, PFI, slopes of curves, and means without curves.

    Notes
    -----
    Cost: the model rows of `skedasis.explain`, and for each feature that is split at most `heterogeneity_rows` for the
    scores within its regions, and 4,000 for their spreads; the provenance counts these as ``region_score_rows``. The
    search itself needs none: it goes through tables of the residuals of the local effects by cell and code of the
    conditioning feature. With `keep_rows` too small for all rows, the search uses a sample, and the effects in the
    regions say so.

    The time of the search grows linearly with the features to split on: of more than 32, at most 64 pairs are divided
    at once. A product of matrices ranks them, on the rows that choose, among the 256 features with the best single
    splits.

    A region has at least 20 rows, and 1 % of all. Numeric features are cut at the roundest number between two observed
    values; nominal features into two sets of levels; missing values may go to either side. Rows are divided into two
    halves by hashes of `random_state` and `row_id`: one half chooses a split, the other tests it. A split is kept if
    the test is significant, and if it explains the share `min_gain` of the heterogeneity. Additive models have no
    regions.

    References
    ----------
    Herbinger, Wright, Nagler, Bischl & Casalicchio (2024), GADGET, JMLR 25; Gkolemis et al. (2024), effector.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    >>> r = sd.regions(lambda X: X[:, 0] * np.where(X[:, 1] > 0, 2, -1), X, 0)
    >>> r.rules, round(r.heterogeneity_explained, 2)
    (('x1 ≤ 0', 'x1 > 0'), 1.0)
    >>> r[1].rule, len(r[1].bins)
    ('x1 > 0', 1)
    >>> sd.regions(lambda X: X[:, 0] + X[:, 1] ** 2, X, 0).rules
    ('all rows',)
    """
    options = ExplainOptions.of("regions", **keywords)
    conditions = as_conditions(X, split_on, "regions(split_on)")
    search = RegionOptions(conditions, max_depth, alpha, min_gain, criterion, look_ahead, joint)
    wanted = as_features(X, features)

    def of(one: ModelLike) -> FoundRegions | RegionsOfOutputs:
        warn_unused_arguments(method, one, options.y)
        return find_regions(as_quantity(one), X, wanted, method, options, search)

    if not isinstance(model, (list, tuple, Mapping)):
        return of(model)
    if not options.averages:
        return compared(model, of)
    models, names = listed(model)
    check_several(models)
    each = [as_quantity(m) for m in models]
    return _of_models(each, X, wanted, method, options, search, names)


def _of_models(
    models: Sequence[Quantity],
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    search: RegionOptions,
    names: Mapping[str, list[str]],
) -> MultiModelRegions | MultiModelRegionsByFeature:
    """Return the regions of each refit, found on its own rows."""
    dataset = options.dataset(X)
    folds = as_folds(options.cv, len(models), dataset, X, options.y)
    single = replace(options, cv=None, correction=None, refits=False)
    found: list[FoundRegions] = []
    current_work().times = float(len(models))
    for one, rows in zip(models, folds.parts, strict=True):
        part = None if options.cv is None else rows
        result = find_regions(one, X, features, method, single, search, rows=part)
        if isinstance(result, MultiOutput):
            raise UnsupportedError(
                "regions of refits",
                "a quantity with several outputs",
                "a quantity with one output",
                'Choose one, such as sd.probability(model, class_="yes"), for each model',
            )
        found.append(result)
    record = as_provenance({**found[0].provenance, "models": len(models), **names})
    keys = model_names(record, len(models))
    alone = {k: r for k, r in zip(keys, found, strict=True) if isinstance(r, Regions)}
    if alone:
        return MultiModelRegions(alone, record)
    several = {k: r for k, r in zip(keys, found, strict=True) if isinstance(r, RegionsByFeature)}
    each = {
        name: MultiModelRegions({k: r[name] for k, r in several.items()}, record)
        for name in several[keys[0]]
    }
    return MultiModelRegionsByFeature(each, record)
