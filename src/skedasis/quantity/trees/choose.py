"""Whether a model is answered for by its trees: loaded, compared with the model itself, or left to it and why."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats
from skedasis.data.containers import Borrowed
from skedasis.data.dataset import Batch, Source
from skedasis.errors import DataError, ModelOutputError, TreeWarning, UnsupportedError, explained
from skedasis.quantity.base import Meter, Quantity
from skedasis.quantity.check import LOOKED_AT, Checked
from skedasis.quantity.fitted import title
from skedasis.quantity.tape import Tape

Wish = Literal["auto", "off", "force"]
Outputs = dict[Any, Quantity]

_SAME, _SAME_SINGLE = 1e-9, 1e-4
"""How far apart answers may be, in units of the largest: sums in another order; sums in single precision."""


@dataclass(frozen=True)
class Chosen:
    """What answers for a model.

    Parameters
    ----------
    outputs : dict of label to Quantity
        As they were given, or with the trees in the model's place.
    said : str, optional
        For the provenance: how it is done, or why not. None for a model that has nothing to do with trees.
    batch_rows : int, optional
        How many rows a batch should have.
    meter : Meter
        What the comparison cost.
    """

    outputs: Outputs
    said: str | None = None
    batch_rows: int | None = None
    meter: Meter = field(default_factory=Meter)


def by_trees(
    outputs: Outputs, source: Source, wish: Wish, checked: Checked, *, means: bool
) -> Chosen:
    """Put the trees in the place of the model, if it has some and they answer alike.

    Parameters
    ----------
    outputs : dict of label to Quantity
        All of one model.
    source : Source
    wish : {"auto", "off", "force"}
    checked : Checked
        What the look at the model found.
    means : bool
        Whether nothing but means over rows is asked for, which needs no compiler.

    Raises
    ------
    DataError
        For another wish.
    UnsupportedError
        Where trees are demanded, and cannot be had.

    Notes
    -----
    Costs at most 64 model rows.
    """
    if wish not in ("auto", "off", "force"):
        raise DataError(explained("tree", repr(wish), "'auto', 'off' or 'force'", "Use 'auto'"))
    if wish == "off":
        return Chosen(outputs)
    model = next(iter(outputs.values())).called
    try:
        return _loaded(outputs, source, model, checked, means=means)
    except _Left as left:
        if wish == "force":
            raise UnsupportedError(
                explained(
                    "tree='force'",
                    f"{title(model)}: {left}",
                    "an ensemble of trees that can be walked",
                    "Use tree='auto'",
                )
            ) from left
        if left.quiet:
            return Chosen(outputs, meter=left.meter)
        _say(f"{title(model)} is called instead of walked: {left}")
        return Chosen(outputs, f"the model is called: {left}", meter=left.meter)


class _Left(Exception):  # noqa: N818 - no error: the model is left to itself
    """Why the model is called after all; quiet where nobody expects anything else."""

    def __init__(self, reason: str, *, quiet: bool = False, meter: Meter | None = None) -> None:
        super().__init__(reason)
        self.quiet, self.meter = quiet, meter or Meter()


def _loaded(
    outputs: Outputs, source: Source, model: Any, checked: Checked, *, means: bool
) -> Chosen:
    from skedasis.quantity.trees.flat import NoTrees
    from skedasis.quantity.trees.load import ANSWERS, is_candidate, load

    owner = getattr(model, "__self__", None)
    grown = getattr(model if owner is None else owner, "grown", model if owner is None else owner)
    known = owner is None or getattr(model, "__name__", "") in ANSWERS
    if model is None or not known or not is_candidate(grown):
        raise _Left("it is no ensemble of trees that is known here", quiet=True)
    if any(_sloped(q, source) for q in outputs.values()):
        raise _Left("slopes were given for it, which only it can be asked for", quiet=True)
    from skedasis.quantity.trees.jit import has_numba

    try:
        ensemble = load(grown)
    except NoTrees as reason:
        raise _Left(str(reason)) from reason
    from skedasis.quantity.trees.forest import Forest
    from skedasis.quantity.trees.standin import StandIn

    forest = Forest(ensemble, source, compiled=has_numba())
    stand_in = StandIn(model, forest)
    counted = not forest.deep and _countable(stand_in, outputs, source, means=means)
    if not forest.compiled and not counted:
        raise _Left(
            "numba is not installed, which walks trees a hundred times faster: pip install 'skedasis[trees]'"
        )
    walked = {label: quantity.calling(stand_in) for label, quantity in outputs.items()}
    if any(q is None for q in walked.values()):
        raise _Left("what is read off it needs more than its sum", quiet=True)
    there: Outputs = {label: q for label, q in walked.items() if q is not None}
    meter = _compare(outputs, there, source, checked)
    trees = f"{ensemble.trees:,} tree{'s' * (ensemble.trees != 1)}"
    said = f"exact: {trees} of {ensemble.title} are walked, the model is not called"
    return Chosen(there, said, forest.batch_rows, meter)


def _sloped(quantity: Quantity, source: Source) -> bool:
    """Return whether there are derivatives: of trees only those that somebody has given."""
    return quantity.has_mixed or quantity.traits(source.features[0]).local == "slopes"


def _countable(stand_in: Any, outputs: Outputs, source: Source, *, means: bool) -> bool:
    """Return whether counting rows is enough: means, of sums of leaves, and no weights."""
    plain = all(stand_in.plain_output(q) is not None for q in outputs.values())
    return means and plain and source.weights is None


def _compare(outputs: Outputs, walked: Outputs, source: Source, checked: Checked) -> Meter:
    """Compare answers at some rows, and at rows put together from these."""
    batch = source.some(LOOKED_AT, checked.among)
    meter = Meter()
    single = next(iter(walked.values())).called.forest.ensemble.sums_single
    # At the rows themselves they have answered before.
    theirs = [*checked.answers, *_mixed(outputs, batch, checked.eps, meter)]
    try:
        own = [quantity.on(batch, eps=checked.eps).at() for quantity in walked.values()]
        ours = [*own, *_mixed(walked, batch, checked.eps, Meter())]
    except UnsupportedError as error:
        raise _Left(str(error), meter=meter) from error
    except (ModelOutputError, TypeError, ValueError) as error:
        # Where X holds something else than its trees were taken to test, such as text instead of numbers.
        raise _Left(f"its trees cannot be walked on this X ({error})", meter=meter) from error
    for answer, found in zip(theirs, ours, strict=True):
        size, apart = np.abs(answer).max(initial=0.0), np.abs(answer - found)
        if (apart > (_SAME_SINGLE if single else _SAME) * size).any():
            worst = float(apart.max())
            raise _Left(
                f"its trees as they were read answer differently, by up to {worst:.3g}", meter=meter
            )
    return meter


def _mixed(outputs: Outputs, batch: Batch, eps: float, meter: Meter) -> list[Floats]:
    """Return all outputs where each column's values come from other rows of the batch."""
    rows, tape = batch.row_id, Tape()
    changes: Mapping[int, Any] = {
        j: Borrowed(np.roll(rows, j + 1)[None]) for j in range(len(batch.source.features))
    }
    found: list[Floats] = []
    for quantity in outputs.values():
        bound = quantity.on(batch, eps=eps, tape=tape)
        found.append(bound.sweep_together(changes, 1)[:, 0])
        meter.add(bound.meter)
    return found


_SAID: set[str] = set()


def _say(text: str) -> None:
    """Warn, of each reason once."""
    if text not in _SAID:
        _SAID.add(text)
        warnings.warn(text, TreeWarning, stacklevel=6)
