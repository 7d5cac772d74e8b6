"""What makes a model uncertain: its entropy explained, and a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.data.dataset import as_source
from skedasis.data.factorize import missing_among
from skedasis.data.features import Feature
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.methods.ale import RHALE
from skedasis.methods.pdp import PDP
from skedasis.plots.scales import count
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import Several
from skedasis.report.passes import UNSCORED, Asked, Pass, with_scores
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effects import Effects

ROWS = 2_000
"""A seeded sample of so many rows, but where trees are walked."""


FEATURES = 8
"""Entropy-PDPs are drawn of so many features: those that move the entropy most."""


REPEATS, FOREST_ROWS, FOREST_FEATURES = 5, 200, 12
"""Of the diagnosis: permutations, and what forests are fitted on, where there are no more features than these."""


@dataclass(frozen=True, eq=False)
class Unsure:
    """What makes a model unsure.

    Parameters
    ----------
    axis : str
        The entropy with its unit.
    rhale, pdp : Effects
        Of the entropy: of all features (nominal ones by ALE), and of those that move it most.
    diagnosis : Diagnosis, optional
        Where labels are known.
    notes : tuple of str
        What was sampled, and why something is not there.
    kept : dict
        Keywords of `skedasis.diagnose` as they were passed.
    sampled : bool
        Whether the effects rest on a sample of the rows.
    """

    axis: str
    rhale: Effects
    pdp: Effects
    diagnosis: Diagnosis | None
    notes: tuple[str, ...]
    kept: Mapping[str, Any]
    sampled: bool


def model_of(quantity: Quantity) -> Any:
    """Return the model that a quantity is of, None where it is not known."""
    one = quantity.one if isinstance(quantity, Several) else quantity
    return getattr(one, "model", None)


def entropy_of(quantity: Quantity, X: Any) -> Quantity | None:
    """Return the entropy of a quantity's model, None where it says nothing of how sure it is.

    A function tells by its answer for two rows.
    """
    from skedasis.quantities.uncertainty import entropy

    model = model_of(quantity)
    try:
        certain = entropy(model)
    except UnsupportedError:
        return None
    if hasattr(model, "predict"):
        return certain
    source = certain.prepare(as_source(X))
    try:
        certain.on(source.some(2)).at()
    except (ModelOutputError, UnsupportedError, DataError):
        return None
    return certain


def sample(rows: int, seed: int) -> Any:
    """Return which rows are taken, (n,) of bool; None for all."""
    if rows <= ROWS:
        return None
    some = np.random.default_rng(seed).choice(rows, ROWS, replace=False)
    return np.isin(np.arange(rows), some)


def unsure(
    asked: Asked, chosen: Sequence[Feature], X: Any, *, free: bool, ice: int
) -> tuple[Unsure | None, str]:
    """Return what makes a model unsure, or None and the reason.

    Parameters
    ----------
    asked : Asked
    chosen : sequence of Feature
    X : array or data frame
    free : bool
        Whether trees are walked.
    ice : int
        Individual curves that the Entropy-PDPs keep.

    Notes
    -----
    The model rows of RHALE and PDP of `ROWS` rows, and ``ROWS * (1 + REPEATS * features)`` of the diagnosis. Where
    trees are walked all rows are taken for the effects, and none is asked of the model.
    """
    certain = entropy_of(asked.quantity, X)
    if certain is None:
        return None, "The model does not say how sure it is: it has no predictive distribution."
    notes: list[str] = []
    options = _options(asked, X, notes, free=free)
    try:
        rhale, pdp = _effects(asked, chosen, certain, options, ice)
        diagnosis, kept = _diagnosis(asked, chosen, notes)
    except (DataError, ModelOutputError, UnsupportedError) as error:
        return None, str(error).splitlines()[0]
    found = Unsure(certain.axis, rhale, pdp, diagnosis, tuple(notes), kept, "weights" in options)
    return found, ""


def _options(asked: Asked, X: Any, notes: list[str], *, free: bool) -> dict[str, Any]:
    """Return what the rows are taken by: a weight of zero leaves a row out."""
    rows, seed = len(as_source(X)), asked.seed
    mask = None if free else sample(rows, seed)
    if mask is None:
        return {}
    notes.append(f"The entropy’s effects rest on a seeded sample of {ROWS:,} of {rows:,} rows.")
    weights = asked.options.get("weights")
    return {"weights": mask if weights is None else np.asarray(weights, dtype=float) * mask}


def _effects(
    asked: Asked, chosen: Sequence[Feature], certain: Quantity, options: dict[str, Any], ice: int
) -> tuple[Effects, Effects]:
    """Return RHALE of the entropy, and its PDP of the features that move it most."""
    from skedasis.methods.ale import ALE

    names = [f.name for f in chosen]
    nominal = [f.name for f in chosen if f.kind == "nominal"]
    others = [n for n in names if n not in nominal]
    steps = asked.effects(RHALE(), others, certain, **options).get(None, Effects({}))
    levels = asked.effects(ALE(), nominal, certain, **options).get(None, Effects({}))
    rhale = Effects(
        {n: (levels if n in levels else steps)[n] for n in names}, (steps or levels).provenance
    )
    top = [r.feature for r in rhale.ranking() if len(rhale[r.feature].points) > 1][:FEATURES]
    pdp = asked.effects(PDP(ice=ice), top, certain, **options | UNSCORED).get(None, Effects({}))
    return rhale, with_scores(pdp, rhale)


def _diagnosis(
    asked: Asked, chosen: Sequence[Feature], notes: list[str]
) -> tuple[Diagnosis | None, dict[str, Any]]:
    """Return the diagnosis, where labels are known, and the keywords that it was made with."""
    from skedasis.analysis.diagnose import diagnose

    y = asked.options.get("y")
    if y is None:
        notes.append("No labels were given, so there is no diagnosis of likelihood and entropy.")
        return None, {}
    kept: dict[str, Any] = {"repeats": REPEATS, "max_samples": ROWS}
    if len(chosen) <= FOREST_FEATURES:
        kept["dependence_rows"] = FOREST_ROWS
    else:
        kept["dependence"] = False
    options = asked.options | _labelled(y, asked.options.get("weights"))
    try:
        with asked.listening():
            found = diagnose(model_of(asked.quantity), asked.X, y, **options_of(options), **kept)
    except (DataError, ModelOutputError, UnsupportedError) as error:
        notes.append(f"No diagnosis: {str(error).splitlines()[0]}")
        return None, {}
    asked.passes.append(Pass(found.provenance))
    notes.append(
        f"The diagnosis rests on {count(REPEATS, 'permutation')} of at most {ROWS:,} rows."
    )
    return found, kept


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `skedasis.explain` that `diagnose` takes, apart from the labels."""
    return {k: v for k, v in options.items() if k not in ("y", "heterogeneity_rows")}


def _labelled(y: Any, weights: Any) -> dict[str, Floats]:
    """Return weights of zero for rows without a label, if there are any."""
    known = ~missing_among(np.asarray(y)).reshape(-1)
    if known.all():
        return {}
    weight = np.ones(len(known)) if weights is None else np.asarray(weights, dtype=float)
    return {"weights": np.where(known, weight, 0.0)}
