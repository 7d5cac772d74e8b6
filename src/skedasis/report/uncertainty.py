"""Predictive uncertainty in a report: effects on the entropy, and a diagnosis by Likelihood-PFI and Entropy-PFI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skedasis._numbers import counted
from skedasis._types import TableLike
from skedasis.analysis.diagnose import diagnose
from skedasis.data.dataset import as_dataset
from skedasis.data.factorize import missing_mask
from skedasis.data.features import Feature
from skedasis.engine.options import ExplainKeywords
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.pdp import PDP
from skedasis.models.calling import CallStats, check_response
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import FromModel, MultiOutputQuantity
from skedasis.quantities.uncertainty import entropy
from skedasis.report.passes import UNSCORED, ModelRunner, ReportPass, with_scores
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effects import Effects

ROWS = 2_000
"""Largest number of rows, sampled at random; not used if effects are computed from the tree structure."""


FEATURES = 8
"""Largest number of features with a PDP of the entropy: those with the largest importance for it."""


REPEATS, FOREST_ROWS, FOREST_FEATURES = 5, 200, 12
"""For the diagnosis: number of permutations; rows of the dependence forests; features up to which these are fitted."""


@dataclass(frozen=True, eq=False)
class UncertaintySection:
    """Results on the predictive uncertainty of a model."""

    axis: str
    rhale: Effects
    pdp: Effects
    diagnosis: Diagnosis | None
    notes: tuple[str, ...]
    diagnose_keywords: Mapping[str, object]
    sampled: bool


def model_of(quantity: Quantity) -> Any:
    """Return the model of a quantity, or None if it is not known."""
    one = quantity.one if isinstance(quantity, MultiOutputQuantity) else quantity
    return one.model if isinstance(one, FromModel) else None


def entropy_of(quantity: Quantity, X: TableLike, stats: CallStats) -> Quantity | None:
    """Return the entropy of a quantity's model, or None if it has no predictive distribution; count calls."""
    model = model_of(quantity)
    try:
        certain = entropy(model, batch_rows=quantity.call_rows)
    except UnsupportedError:
        return None
    if hasattr(model, "predict"):
        return certain
    rows = certain.prepare(as_dataset(X)).evenly_spaced_batch(2)
    stats.add(CallStats(rows=len(rows), calls=1))
    try:
        check_response(certain.read(certain.raw(rows.tile(1).own())), len(rows), "entropy", "")
    except (ModelOutputError, UnsupportedError, DataError):
        return None
    return certain


def explain_uncertainty(
    runner: ModelRunner, chosen: Sequence[Feature], X: TableLike, *, trees_evaluated: bool, ice: int
) -> tuple[UncertaintySection | None, str]:
    """Return the results on predictive uncertainty, or None and the reason."""
    cost = CallStats()
    certain = entropy_of(runner.quantity, X, cost)
    if cost.calls:
        runner.count("predictive distribution", "effect", cost)
    if certain is None:
        return None, "The model has no predictive distribution."
    notes: list[str] = []
    options = _options(runner, X, notes, trees_evaluated=trees_evaluated)
    try:
        rhale, pdp = _effects(runner, chosen, certain, options, ice)
        diagnosis, keywords = _diagnosis(runner, chosen, notes)
    except (DataError, ModelOutputError, UnsupportedError) as error:
        return None, str(error).splitlines()[0]
    found = UncertaintySection(
        certain.axis, rhale, pdp, diagnosis, tuple(notes), keywords, bool(options)
    )
    return found, ""


def _options(
    runner: ModelRunner, X: TableLike, notes: list[str], *, trees_evaluated: bool
) -> ExplainKeywords:
    """Return the weights that select the sampled rows: a weight of zero leaves a row out."""
    rows, options = len(as_dataset(X)), runner.options
    if trees_evaluated or min(rows, options.sample or rows) <= ROWS:
        return {}
    computed = f"The effects on the entropy were computed from {ROWS:,} of"
    if options.sample is not None:
        # The sample of the page has the smaller one in it: both are the rows with the smallest hashes.
        notes.append(f"{computed} the rows of this page, chosen at random.")
        return {"sample": ROWS}
    notes.append(f"{computed} {rows:,} rows, chosen at random.")
    some = np.random.default_rng(options.seed).choice(rows, ROWS, replace=False)
    mask, weights = np.isin(np.arange(rows), some), options.sample_weight
    return {"sample_weight": mask if weights is None else np.asarray(weights, dtype=float) * mask}


def _effects(
    runner: ModelRunner,
    chosen: Sequence[Feature],
    certain: Quantity,
    options: ExplainKeywords,
    ice: int,
) -> tuple[Effects, Effects]:
    """Return RHALE of the entropy for all features, and its PDP for the most important ones."""
    names = [f.name for f in chosen]
    nominal = [f.name for f in chosen if f.kind == "nominal"]
    others = [n for n in names if n not in nominal]
    steps = runner.effects(RHALE(), others, certain, **options).get(None, Effects({}))
    levels = runner.effects(ALE(), nominal, certain, **options).get(None, Effects({}))
    rhale = Effects(
        {n: (levels if n in levels else steps)[n] for n in names}, (steps or levels).provenance
    )
    top = [r.feature for r in rhale.ranking() if len(rhale[r.feature].points) > 1][:FEATURES]
    pdp = runner.effects(PDP(ice=ice), top, certain, **(options | UNSCORED)).get(None, Effects({}))
    return rhale, with_scores(pdp, rhale)


def _diagnosis(
    runner: ModelRunner, chosen: Sequence[Feature], notes: list[str]
) -> tuple[Diagnosis | None, Mapping[str, object]]:
    """Return the diagnosis if there are labels, and the keywords passed to `skedasis.diagnose`."""
    y = runner.options.y
    if y is None:
        notes.append("No labels were given, so there is no diagnosis by likelihood and entropy.")
        return None, {}
    keywords: dict[str, Any] = {"n_repeats": REPEATS, "max_samples": ROWS}
    if len(chosen) <= FOREST_FEATURES:
        keywords["dependence_rows"] = FOREST_ROWS
    else:
        keywords["dependence"] = False
    options = replace(runner.options, sample_weight=_labelled(y, runner.options.sample_weight))
    try:
        with runner.catch_binning_warnings():
            found = diagnose(
                model_of(runner.quantity), runner.X, y, **options.diagnose_keywords(), **keywords
            )
    except (DataError, ModelOutputError, UnsupportedError) as error:
        notes.append(f"No diagnosis: {str(error).splitlines()[0]}")
        return None, {}
    runner.passes.append(ReportPass(found.provenance))
    notes.append(f"The diagnosis uses {counted(REPEATS, 'permutation')} of at most {ROWS:,} rows.")
    return found, keywords


def _labelled(y: ArrayLike, weights: ArrayLike | None) -> ArrayLike | None:
    """Return weights that are zero for rows without a label, if there are such rows; else those given."""
    known = ~missing_mask(np.asarray(y)).reshape(-1)
    if known.all():
        return weights
    weight = np.ones(len(known)) if weights is None else np.asarray(weights, dtype=float)
    return np.where(known, weight, 0.0)
