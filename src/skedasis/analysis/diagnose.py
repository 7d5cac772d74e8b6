"""`diagnose`: what each feature is to a model with a predictive distribution (entropy_importance, sec. 3.5 and 5.1)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from skedasis._types import Json
from skedasis.analysis.dependence import TREES, Dependence, check_rows, coded, dependence, nothing
from skedasis.analysis.verdicts import same_everywhere, verdicts
from skedasis.data.categories import grouped
from skedasis.data.dataset import as_source
from skedasis.engine.explain import explain
from skedasis.errors import DataError, explained
from skedasis.methods.permutation import LEAST_ROWS, PFI
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import Several
from skedasis.quantities.tree_evaluator import Wish
from skedasis.quantities.uncertainty import entropy, nll
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.importance import Importance
from skedasis.stats.moments import WeightKind

LEAST_REPEATS = 3
"""Fewer have no interval, and without intervals there is no verdict."""
_FLAT = (
    "The entropy is the same everywhere: this model gives one uncertainty for all rows, so Entropy-PFI says nothing, "
    "and Likelihood-PFI is the PFI of an ordinary loss (entropy_importance, sec. 3.5)."
)


def diagnose(  # noqa: PLR0913 - the verbs share a dozen keywords, and this one asks for two things
    model: Any,
    X: Any,
    y: Any,
    *,
    repeats: int = 10,
    level: float = 0.95,
    groups: Mapping[str, Any] | None = None,
    weights: Any = None,
    weight_kind: WeightKind = "frequency",
    schema: Any = None,
    seed: int = 0,
    memory: int | str = "1GB",
    keep: int | str = "256MB",
    threads: int = 1,
    progress: bool | None = None,
    row_id: Any = None,
    tree: Wish = "auto",
    dependence: bool = True,
    dependence_rows: int | None = 2000,
    max_samples: int | float | None = None,
) -> Diagnosis:
    """Say of each feature whether it informs the model, and whether its importance can be taken at its word.

    Likelihood-PFI is how much worse the model predicts the labels when a feature's values come from other rows.
    Entropy-PFI is how much less certain it gets, which happens where the feature no longer agrees with others that
    tell of the label as well. A feature of high Likelihood-PFI and no Entropy-PFI is independent of the rest, if
    forests find nothing that speaks against it; one that has both shares what it knows, and its Likelihood-PFI
    under-reports it.

    Parameters
    ----------
    model : fitted model with a predictive distribution, or `skedasis.ensemble`
        Whatever `skedasis.entropy` and `skedasis.nll` take.
    X : array or data frame, n rows
        Rows that the model was not trained on. Never changed.
    y : array of n labels
    repeats : int
        Permutations of each feature, 3 at least.
    level : float
        Of the intervals that the verdicts rest on.
    groups : mapping of str to list of columns, optional
        Columns that are moved together, under a name of their own.
    weights, weight_kind, schema, seed, memory, keep, threads, progress, row_id, tree
        As in `skedasis.explain`.
    dependence : bool
        Whether to measure how well each feature is predicted by the others, and by the others and the label
        (out-of-bag R² of random forests). Needs scikit-learn.
    dependence_rows : int, optional
        On so many rows at most, a seeded sample; None takes all.
    max_samples : int or float, optional
        Take so many of the rows for the importances, or such a part of them: a seeded sample.

    Returns
    -------
    Diagnosis

    Raises
    ------
    DataError
        For fewer than 3 repeats, rows or repeats that leave no interval (fewer than 7 rows always), a level outside
        (0, 1), a quantity in place of the model, and as `skedasis.explain`.
    UnsupportedError
        For a model without a predictive distribution.
    ModelOutputError
        As `skedasis.explain`.

    Notes
    -----
    Costs n (1 + repeats · features) model rows, none where trees are walked: both measures come from one pass. The
    forests of the dependence need none; of 2,000 rows and ten features they take about 20 seconds on one core, so pass
    `threads`, fewer rows, or ``dependence=False``.

    Hold the rows out from training. At the rows that it was trained on an overfitted model is sure of labels that it
    knows by heart, and any other value, of pure noise too, makes it worse and less certain: each feature looks shared.

    The verdicts follow sec. 3.5 of the paper. A measure is about zero where its interval holds 0, or where its mean is
    small: below 5 % of the largest mean of that measure and below 0.01 nats, or below 1e-4 nats. With enough rows
    everything can be told from 0. For entropies it is 20 % and 0.1 nats where no forest finds a link between the
    feature and others, as the paper reads Fig. 8 and 9. "Below 0" and "above 0" are intervals that do not hold 0.

    | verdict | Likelihood-PFI | Entropy-PFI |
    |---|---|---|
    | unused | exactly 0 | exactly 0 |
    | no effect | holds 0 | holds 0 |
    | little effect | about zero | about zero, and one of the two is small |
    | independent | above 0, not small | about zero |
    | shared | above 0 | not about zero |
    | uninformative | holds 0, or small and below it | not about zero |
    | informative | above 0 | what it says is not supported |
    | undecided | about zero | about zero, and one of the two decides nothing |
    | misleading | below 0, not small | any |

    The last three and "little effect" are ours. An Entropy-PFI that is not zero means shared information, whatever its
    sign. Below 0 the model is surer with other rows' values: those that share lie together where it is less certain.
    That is no fault of the model, and says nothing of noise that can be reduced.

    An interval decides nothing where it is wide: it holds 0, and also a fifth of the largest mean that is told from 0
    (0.01 nats at least, 0.1 at most). A likelihood that decides nothing leaves the feature undecided, whatever its
    entropy. An Entropy-PFI of zero is not supported where the entropy is wide or the same everywhere, and where forests
    find a link: the others predict the feature with an R² of 0.1 or more, or it helps to predict another. (An entropy
    that is additive in the features has Entropy-PFI 0 at any dependence.) Without R² the entropy alone speaks for
    independence, and the sentence says so. One that is not zero is not supported where forests find no link at all:
    then ask whether the model was trained on these rows. Each verdict is of a single feature at `level`; of many
    features some are told from 0 by chance.

    References
    ----------
    entropy_importance Eq. 5 and 6, sec. 3.2 to 3.5 and 5.1.

    Examples
    --------
    Two features that agree share what they know; a third one stands alone.

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
    check_rows(dependence_rows)
    _check(repeats, level, y)
    quantity = _both(model)
    source = as_source(X, y, weights, schema, row_id)
    features = grouped(source, groups)
    # What forests cannot take is refused before the model is asked for anything.
    data = coded(source, features, dependence_rows, seed) if dependence else None
    given: Json = {"y": y, "weights": weights, "weight_kind": weight_kind}
    given |= {"schema": schema, "groups": groups, "row_id": row_id, "tree": tree}
    given |= {"memory": memory, "keep": keep, "threads": threads, "progress": progress}
    found = explain(
        quantity, X, method=PFI(repeats=repeats, max_samples=max_samples), seed=seed, **given
    )
    _check_intervals(found["likelihood"])
    shared = _shared(data, len(features), seed, threads, progress)
    made: Json = {"source_rows": len(source), "seconds": time.perf_counter() - started}
    return _diagnosis(found, shared, level, made)


def _shared(data: Any, features: int, seed: int, threads: int, progress: bool | None) -> Any:
    """Return how well forests predict the features from one another; nothing where that was not asked for."""
    if data is None:
        return nothing(features)
    return dependence(data, seed=seed, threads=threads, progress=progress)


def _both(model: Any) -> Several:
    """Return both quantities of a model, read off the same answers."""
    if isinstance(model, Quantity):
        raise DataError(
            explained(
                "diagnose(model)",
                f"a quantity ({model.name})",
                "the model itself",
                "Pass the model: diagnose takes its entropy and its likelihood",
            )
        )
    likelihood = nll(model)
    both: dict[Any, Quantity] = {"likelihood": likelihood, "entropy": entropy(model)}
    return Several(likelihood, both, "likelihood and entropy")


def _check(repeats: Any, level: Any, y: Any) -> None:
    """Refuse settings without which there is no verdict."""
    whole = isinstance(repeats, (int, np.integer)) and not isinstance(repeats, bool)
    if not whole or repeats < LEAST_REPEATS:
        raise DataError(
            explained(
                "diagnose(repeats)",
                repr(repeats),
                f"a whole number from {LEAST_REPEATS}: verdicts rest on intervals",
                "Use repeats=10",
            )
        )
    number = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
    if not number or not 0 < level < 1:
        raise DataError(
            explained("diagnose(level)", repr(level), "a number between 0 and 1", "Use 0.95")
        )
    if y is None:
        raise DataError(
            explained("diagnose(y)", "None", "the label of each row", "Pass the labels of X")
        )


def _check_intervals(likelihood: Importance) -> None:
    if not np.isnan(likelihood.std_error).any():
        return
    if likelihood.rows < LEAST_ROWS:
        got, expected = f"{likelihood.rows:,} rows", f"at least {LEAST_ROWS} rows"
        fix = "Bring more rows, or a larger max_samples"
    else:
        repeats = likelihood.values.shape[1]
        got = f"{repeats} repeats of {likelihood.rows:,} rows that are too much alike"
        expected, fix = "repeats from which an interval can be told", "Use more repeats or rows"
    raise DataError(
        explained("diagnose", f"{got}, for which there are no intervals", expected, fix)
    )


def _diagnosis(
    found: Mapping[str, Importance], shared: Dependence, level: float, more: Json
) -> Diagnosis:
    """Put the measures together, and say what they mean."""
    likelihood, certain = found["likelihood"], found["entropy"]
    made = likelihood.provenance
    record: Json = {
        **made,
        "method": "diagnose",
        "settings": {**made["settings"], "level": float(level)},
        "dependence": _forests(shared),
        **more,
    }
    return Diagnosis(
        likelihood,
        certain,
        shared.others,
        shared.with_target,
        shared.partners,
        verdicts(likelihood, certain, shared, level),
        float(level),
        (*_notes(record, certain), *shared.notes),
        record,
    )


def _forests(shared: Dependence) -> Json:
    """Return how the R² were made."""
    if shared.rows == 0:
        return {"rows": 0}
    from importlib.metadata import version

    return {
        "model": "random forest, out-of-bag",
        "trees": TREES,
        "rows": shared.rows,
        "scikit-learn": version("scikit-learn"),
    }


def _notes(record: Json, certain: Importance) -> tuple[str, ...]:
    notes: list[str] = []
    if same_everywhere(certain):
        notes.append(_FLAT)
    floored = record.get("floored_rows", 0)
    if floored:
        notes.append(
            f"{floored:,} of the model's answers gave the label a probability below what can be told from 0 (float64: "
            "2.2e-16, float32: 1.2e-7), raised to that floor: Likelihood-PFI depends on it."
        )
    if record["rows"] < record["source_rows"]:
        rows = f"{record['rows']:,} of {record['source_rows']:,} rows"
        notes.append(f"The importances rest on a seeded sample of {rows}.")
    return tuple(notes)
