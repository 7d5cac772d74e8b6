"""`diagnose`: a verdict on each feature from Likelihood-PFI and Entropy-PFI (entropy_importance, sec. 3.5 and 5.1)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_flag, check_int, check_probability
from skedasis._types import Json, OutputLabel, TableLike
from skedasis.analysis.dependence import (
    TREES,
    Coded,
    Dependence,
    check_rows,
    coded,
    dependence,
    nothing,
)
from skedasis.analysis.unsure import where_unsure
from skedasis.analysis.verdicts import verdicts
from skedasis.data.categories import apply_groups
from skedasis.engine.explain import explain
from skedasis.engine.options import DiagnoseKeywords, ExplainOptions, takes_options
from skedasis.engine.rows import ROWS_OF_CHUNKS, draw_rows
from skedasis.errors import DataError
from skedasis.methods.permutation import PFI
from skedasis.methods.permutation_variants import LEAST_ROWS
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import MultiOutputQuantity
from skedasis.quantities.uncertainty import DistributionLike, Entropy, entropy, nll
from skedasis.results.diagnosis import Diagnosis, same_everywhere
from skedasis.results.importance import Importance

LEAST_REPEATS = 3
"""Minimum repeats for an interval; verdicts are based on intervals."""


_FLAT = (
    "The entropy is constant: this model has the same uncertainty for all rows, so Entropy-PFI is uninformative, "
    "and Likelihood-PFI is the PFI of an ordinary loss (entropy_importance, sec. 3.5)."
)


@takes_options(DiagnoseKeywords)
def diagnose(
    model: DistributionLike,
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    n_repeats: int = 10,
    confidence_level: float = 0.95,
    dependence: bool = True,
    dependence_rows: int | None = 2000,
    max_samples: int | float | None = None,
    **keywords: Unpack[DiagnoseKeywords],
) -> Diagnosis:
    """Classify each feature as informative, shared, unused, ..., and state whether its importance is reliable.

    Likelihood-PFI is the increase of the negative log-likelihood if a feature's values come from other rows.
    Entropy-PFI is the corresponding increase of the model's uncertainty. The uncertainty increases if the feature no
    longer agrees with other features that contain the same information about the label. A feature with high
    Likelihood-PFI and zero Entropy-PFI is independent of the other features, unless the random forests contradict it.
    A feature for which both are high shares information with others, and matters more than its Likelihood-PFI suggests.

    Parameters
    ----------
    model : fitted model with a predictive distribution, or `skedasis.ensemble`
        Any model that `skedasis.entropy` and `skedasis.nll` accept.
    X : array, data frame or ParquetData, n rows
        Rows that the model was not trained on. Never modified. Of data that are read in chunks (`sd.parquet`),
        `max_samples` rows are drawn, by default at most 100,000.
    y : array of n labels, optional
        Of `sd.parquet`, the column that it names.
    n_repeats : int
        Number of permutations of each feature, at least 3.
    confidence_level : float
        Confidence level of the intervals that the verdicts are based on.
    groups : mapping of str to list of columns, optional
        Groups of columns that are permuted together, by group name. A column may be in several groups, as in `PFI`.
        Groups with a column in common are no partners of each other.
    sample_weight, weight_kind, schema, random_state, sample, memory, keep_rows, n_jobs, progress, row_id, tree
        As in `skedasis.explain`.
    max_model_rows : int or None
        As in `skedasis.explain`: fewer rows are drawn.
    dependence : bool
        Whether to measure how well each feature is predicted by the others, and by the others and the label
        (out-of-bag R² of random forests). Requires scikit-learn.
    dependence_rows : int, optional
        Maximum number of rows for the forests; if there are more, a random sample. None uses all rows.
    max_samples : int or float, optional
        Number or fraction of the rows for the importances: a random sample.

    Returns
    -------
    Diagnosis
        Prints as one table and at most three sentences: where the model is unsure, or that no such place was confirmed,
        which features share information, and without which it would predict better, or for which there are too few
        data.

    Raises
    ------
    DataError
        For fewer than 3 repeats, too few rows or repeats for an interval (fewer than 7 rows always), a
        `confidence_level` outside (0, 1), a quantity in place of the model, and as `skedasis.explain`.
    UnsupportedError
        For a model without a predictive distribution.
    ModelOutputError
        As `skedasis.explain`.

    Notes
    -----
    The cost is n (1 + n_repeats · features) model rows, or none for trees that are evaluated from their structure; both
    measures come from one pass. The random forests need no model rows. With 2,000 rows and ten features they take about
    20 seconds on one core; pass `n_jobs`, fewer rows, or ``dependence=False`` to reduce that.

    Where the model is unsure is a rule of at most two conditions, found at the rows whose entropies are at hand (1,000
    at random) without model rows. One half of these rows chooses the rule and the group of rows with the largest mean
    entropy; the other half must confirm the rule at the level 0.05, and gives the ratio. It is told if the model is at
    least 1.2 times as unsure there as on average. For a classifier this is the ratio of mean entropies, for numbers
    exp(mean entropy in the group - mean entropy): how many times as wide the predictive distribution is. It is true of
    the rows as they are: other features of the group differ, too.

    Use rows that were held out from training. On its training rows an overfitted model is certain of memorised labels.
    There other values of any feature, even of pure noise, make it worse and less certain, so that every feature looks
    shared.

    The verdicts follow sec. 3.5 of the paper. A measure is *about zero* if its interval contains 0, or if its mean is
    *small*: below 5 % of the largest mean of that measure and below 0.01 nats, or below 1e-4 nats. (With enough rows
    every mean differs significantly from 0.) For entropies the limits are 20 % and 0.1 nats if no forest finds a link
    between the feature and others, in agreement with the paper's reading of Fig. 8 and 9. "Below 0" and "above 0" are
    intervals that do not contain 0.

    | verdict | Likelihood-PFI | Entropy-PFI |
    |---|---|---|
    | unused | exactly 0 | exactly 0 |
    | no effect | contains 0 | contains 0 |
    | little effect | about zero | about zero, and one of the two is small |
    | independent | above 0, not small | about zero |
    | shared | above 0 | not about zero |
    | uninformative | contains 0, or small and below 0 | not about zero |
    | informative | above 0 | not supported (see below), constant, or inconclusive |
    | undecided | about zero | about zero, and one of the two is inconclusive |
    | misleading | below 0, not small | any |

    "Little effect" and the last three verdicts are additions to the paper. A nonzero Entropy-PFI means shared
    information, whatever its sign. If it is negative, the model is more certain with other rows' values: the features
    that share information agree where the model is less certain. This is no defect of the model, and is unrelated to
    reducible noise.

    An interval is *inconclusive* if it is wide: if it contains 0, and also a fifth of the largest significant mean (at
    least 0.01 nats, at most 0.1). If the likelihood is inconclusive, the feature is undecided, whatever its entropy. A
    zero Entropy-PFI is not supported if the entropy is inconclusive or constant, or if forests find a link: the others
    predict the feature with an R² of at least 0.1, or it helps to predict another feature. (An entropy that is additive
    in the features has Entropy-PFI 0 at any dependence.) Without R² independence is concluded from the entropy only,
    which the sentence of the verdict mentions. A nonzero Entropy-PFI is not supported if forests find no link at all;
    then check whether the model was trained on these rows. Each verdict is about a single feature at
    `confidence_level`: among many features some differ significantly from 0 by chance.

    References
    ----------
    entropy_importance Eq. 5 and 6, sec. 3.2 to 3.5 and 5.1.

    Examples
    --------
    Two nearly equal features share their information; a third feature is independent.

    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 500))
    >>> X = np.stack([a, a + 0.1 * rng.normal(size=500), b], axis=1)
    >>> y = a + b + 0.5 * rng.normal(size=500)
    >>> model = lambda X: ((X[:, 0] + X[:, 1]) / 2 + X[:, 2], 0.5 + abs(X[:, 0] - X[:, 1]))
    >>> d = sd.diagnose(model, X, y, dependence_rows=200)
    >>> {v.feature: v.kind for v in d.verdicts}
    {'x0': 'shared', 'x1': 'shared', 'x2': 'independent'}
    >>> d["x0"].partners
    ('x1',)
    """
    started = time.perf_counter()
    check_flag("diagnose(dependence)", dependence)
    check_rows(dependence_rows)
    options = ExplainOptions.of("diagnose", y=y, **keywords)

    def drawn_of(n: int) -> int:
        """Return how many of n rows beyond memory are drawn."""
        among = n if options.sample is None else min(options.sample, n)
        wanted = PFI(max_samples=max_samples).rows_in_memory(among)
        return min(options.sample or ROWS_OF_CHUNKS, n) if wanted is None else wanted

    drawn = draw_rows(X, drawn_of, options)
    rows_of_user, options = drawn.X, drawn.options
    max_samples = None if drawn.record else max_samples
    _check(n_repeats, confidence_level, options.y)
    quantity, certain = _both(model)
    groups, seed = options.groups, options.seed
    dataset = options.dataset(rows_of_user)
    features = (
        dataset.features
        if groups is None
        else apply_groups(dataset.features, groups, overlapping=True)
    )
    # Encoded before the pass, so that invalid columns raise before the model is called.
    data = coded(dataset, features, dependence_rows, seed) if dependence else None
    method = PFI(n_repeats=n_repeats, max_samples=max_samples)
    importances = explain(quantity, rows_of_user, method=method, **options.keywords())
    _check_intervals(importances["likelihood"])
    links = _dependence(data, len(features), options)
    record: Json = {"source_rows": len(dataset), **dataset.origin, **drawn.record}
    record["seconds"] = time.perf_counter() - started
    found = _diagnosis(importances, links, confidence_level, record)
    local = importances["entropy"].local
    if local is None or same_everywhere(importances["entropy"]):
        return found
    labels = certain.predictor.labels.kind
    return replace(found, unsure=where_unsure(local, dataset, labels, seed))


def _dependence(data: Coded | None, features: int, options: ExplainOptions) -> Dependence:
    """Return the dependence between the features; NaN if there is no data for forests."""
    if data is None:
        return nothing(features)
    return dependence(data, seed=options.seed, n_jobs=options.n_jobs, progress=options.progress)


def _both(model: DistributionLike) -> tuple[MultiOutputQuantity, Entropy]:
    """Return both quantities of a model, computed from the same predictions, and its entropy."""
    if isinstance(model, Quantity):
        raise DataError(
            "diagnose(model)",
            f"a quantity ({model.name})",
            "the model itself",
            "Pass the model: diagnose derives its entropy and its likelihood",
        )
    likelihood, certain = nll(model), entropy(model)
    both: dict[OutputLabel, Quantity] = {"likelihood": likelihood, "entropy": certain}
    return MultiOutputQuantity(likelihood, both, "likelihood and entropy"), certain


def _check(n_repeats: object, confidence_level: float, y: object) -> None:
    """Raise for settings with which verdicts are impossible."""
    expected = f"an integer of at least {LEAST_REPEATS}, because verdicts are based on intervals"
    check_int(
        "diagnose(n_repeats)", n_repeats, LEAST_REPEATS, "Pass for example n_repeats=10", expected
    )
    check_probability("diagnose(confidence_level)", confidence_level)
    if y is None:
        raise DataError("diagnose(y)", "None", "the label of each row", "Pass the labels of X")


def _check_intervals(likelihood: Importance) -> None:
    if not np.isnan(likelihood.std_error).any():
        return
    if likelihood.rows < LEAST_ROWS:
        got, expected = f"{likelihood.rows:,} rows", f"at least {LEAST_ROWS} rows"
        fix = "Pass more rows, or a larger max_samples"
    else:
        repeats = likelihood.values.shape[1]
        got = f"{repeats} repeats of {likelihood.rows:,} rows that are too similar for an interval"
        expected, fix = "rows and repeats with a standard error", "Use more repeats or rows"
    raise DataError("diagnose", got, expected, fix)


def _diagnosis(
    importances: Mapping[OutputLabel, Importance],
    links: Dependence,
    confidence_level: float,
    more: Json,
) -> Diagnosis:
    """Combine the measures and derive the verdicts."""
    likelihood, uncertainty = importances["likelihood"], importances["entropy"]
    record: Json = {
        **likelihood.provenance,
        "method": "diagnose",
        "settings": {
            **likelihood.provenance.get("settings", {}),
            "confidence_level": float(confidence_level),
        },
        "dependence": _forest_record(links),
        **more,
    }
    return Diagnosis(
        likelihood,
        uncertainty,
        links.others,
        links.with_target,
        links.partners,
        verdicts(likelihood, uncertainty, links, confidence_level),
        float(confidence_level),
        (*_notes(record, uncertainty), *links.notes),
        record,
    )


def _forest_record(links: Dependence) -> Json:
    """Return the provenance of the R²."""
    if links.rows == 0:
        return {"rows": 0}
    from importlib.metadata import version

    return {
        "model": "random forest, out-of-bag",
        "trees": TREES,
        "rows": links.rows,
        "scikit-learn": version("scikit-learn"),
    }


def _notes(record: Json, uncertainty: Importance) -> tuple[str, ...]:
    notes: list[str] = []
    if same_everywhere(uncertainty):
        notes.append(_FLAT)
    floored = record.get("floored_rows", 0)
    if floored:
        notes.append(
            f"For {floored:,} of the model's predictions the probability of the label was below the "
            "floating-point resolution (float64: 2.2e-16, float32: 1.2e-7), and was raised to it: "
            "Likelihood-PFI depends on that floor."
        )
    if record["rows"] < record["source_rows"]:
        rows = f"{record['rows']:,} of {record['source_rows']:,} rows"
        notes.append(f"The importances are computed on a random sample of {rows}.")
    return tuple(notes)
