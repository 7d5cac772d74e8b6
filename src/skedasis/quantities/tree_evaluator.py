"""Quantities of tree models, evaluated from the trees: read them, verify them against the model, or fall back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.containers import Borrowed
from skedasis.data.dataset import Batch, Source
from skedasis.errors import DataError, ModelOutputError, TreeWarning, UnsupportedError, explained
from skedasis.models.calling import Meter
from skedasis.models.introspection import title
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import PROBE_ROWS, Bound, Changes, Checked, Tape, sets_of
from skedasis.quantities.outputs import Prediction, Probability
from skedasis.trees.ensemble import answer
from skedasis.trees.evaluator import Forest, Question, TreeRows
from skedasis.trees.layout import Codes
from skedasis.trees.readers import ANSWERS

# ------------------------------------------------------------------------------------------
# What takes a model's place in a quantity: it is asked questions about columns instead of being given altered rows.


_BORDER = 1e-13


class StandIn:
    """A model whose answers are found by walking its trees.

    Quantities call it as they call the model, so that all of them work on it: a probability, its entropy, a loss.

    Parameters
    ----------
    model : fitted estimator, booster, or a method of one
    forest : Forest
    """

    piecewise_constant = True

    def __init__(self, model: Any, forest: Forest) -> None:
        self.forest = forest
        self.__name__ = title(model)
        owner = getattr(model, "__self__", None)
        grown = model if owner is None else owner
        known = np.asarray(getattr(grown, "classes_", ()))
        # CatBoost's regressors have no classes either, but an empty list of them.
        self.classes = known if len(known) else None
        if owner is not None:
            self._asked = model.__name__
            return
        # As many methods as the model has: what a model cannot do, quantities find out by asking.
        for name in ANSWERS:
            if hasattr(model, name):
                setattr(self, name, _Asked(self, name))
        if self.classes is not None:
            self.classes_ = self.classes
        if hasattr(model, "_estimator_type"):
            self._estimator_type = model._estimator_type  # noqa: SLF001 - as scikit-learn has it

    def __call__(self, question: Question) -> Any:
        """Answer as the method does that this stands in for."""
        return self.ask(self._asked, question)

    def plain_output(self, quantity: Quantity) -> int | None:
        """Return which output's sum of leaves a quantity is, None where it is another function of them."""
        outputs = len(self.forest.ensemble.base)
        if self.forest.ensemble.link != "identity":
            return None
        if getattr(self, "_asked", None) == "predict" and self.classes is not None:
            return None  # labels are no sums
        if type(quantity) is Prediction and not hasattr(self, "classes_"):
            wanted = 0 if quantity.output is None and outputs == 1 else quantity.output
        elif type(quantity) is Probability and hasattr(self, "classes_"):
            wanted = quantity.column
        else:
            return None
        return wanted if wanted is not None and 0 <= wanted < outputs else None

    def ask(self, name: str, question: Question) -> Any:
        """Return what the model's method of this name answers."""
        raw, ensemble = question.rows.raw(question), self.forest.ensemble
        if name == "predict" and self.classes is not None:
            shares = answer(ensemble, raw, "predict_proba")
            return self.classes[np.argmax(shares, axis=1)]
        if name == "predict" and ensemble.link == "path":
            # A row on the border itself is inside: a score is about 1, and rounds by less than this.
            return np.where(answer(ensemble, raw, "decision_function") < -_BORDER, -1, 1)
        return answer(ensemble, raw, name)


class _Asked:
    """One method of a stand-in."""

    def __init__(self, of: StandIn, name: str) -> None:
        self.of, self.name = of, name

    def __call__(self, question: Question) -> Any:
        return self.of.ask(self.name, question)


# ------------------------------------------------------------------------------------------
# `TreeBound`: a quantity of an ensemble of trees on one batch. The model is not called at all.


class TreeBound(Bound):
    """One batch of rows bound to a quantity of trees.

    What it answers is what `Bound` answers, found by walking the trees. Where the quantity is the sum of the leaves
    itself, differences and means are taken before anything is summed up row by row.
    """

    @cached_property
    def _buffer(self) -> TreeRows:
        stand_in: StandIn = self.quantity.called
        if self._whole is not None:
            whole, rows = self._whole
            return whole._buffer.some(rows)  # noqa: SLF001 - its own kind
        return stand_in.forest.on(self.batch)

    @cached_property
    def _part(self) -> tuple[int, Any] | None:
        """Return which output's sum the quantity is, and its trees on the rows; None where it is another function."""
        output = self.quantity.called.plain_output(self.quantity)
        return None if output is None else (output, self._buffer.part(output))

    def _ask(self, changes: Changes, sets: int, where: str) -> Any:
        """Walk the trees."""
        rows = self._buffer
        question = rows.swept(changes, sets) if changes else rows.own()
        self.meter.tree_rows += len(question)
        return self._timed(self.quantity.raw, question, where)

    def sweep_together(self, changes: Changes, m: int) -> Floats:
        """Return the quantity with columns replaced, (n, m)."""
        if self._part is None:
            return super().sweep_together(changes, m)
        output, _ = self._part
        rows = self._buffer
        self.meter.tree_rows += m * len(self)
        asked = {j: sets_of(values, 0, m) for j, values in changes.items()}
        found = self._timed(lambda _: rows.sums(output, asked, m), None, "the trees' sums")
        return (found + rows.forest.ensemble.base[output]).T

    def across(self, j: int, edges: Floats, cell: Ints) -> Floats:
        """Return q(z_k, x_c) - q(z_{k-1}, x_c) for the edges of each row's cell, (n,)."""
        forest = self._buffer.forest
        if self._part is None or forest.shape.place(j) < 0:
            return super().across(j, edges, cell)
        # There are few edges: their codes are handed out to the rows.
        codes = forest.numbers(j, edges)
        return self._between(j, codes[:-1].take(cell), codes[1:].take(cell))

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c), (n,), from the leaves that differ."""
        if self._part is None:
            return super().edge_differences(j, low, high)
        if self._buffer.forest.shape.place(j) < 0:
            return np.zeros(len(self))
        below, above = self._buffer.coded(j, low[None]), self._buffer.coded(j, high[None])
        return self._between(j, below[0], above[0])

    def _between(self, j: int, low: Codes, high: Codes) -> Floats:
        """Return the rise from one code of each row in a column to another, (n,)."""
        if self._part is None:
            raise TypeError("only sums of leaves have differences of their own")
        part, place = self._part[1], self._buffer.forest.shape.place(j)
        self.meter.tree_rows += 2 * len(self)
        return self._timed(lambda _: part.between(place, low, high), None, "the trees' differences")

    def sums(self, changes: Changes, m: int) -> Floats:
        """Return the sums over the rows with columns replaced, (m,), from counts where one column is moved."""
        forest = self._buffer.forest
        tested = [j for j in changes if forest.shape.place(j) >= 0]
        if self._part is None or self.weights is not None or len(tested) > 1:
            return super().sums(changes, m)
        output, part = self._part
        self.meter.tree_rows += m * len(self)
        base = len(self) * float(forest.ensemble.base[output])
        if not tested:
            return np.full(m, base + part.total())
        place = forest.shape.place(tested[0])
        codes = self._buffer.coded(tested[0], sets_of(changes[tested[0]], 0, m))[:, 0]
        found = self._timed(lambda _: part.totals(place, codes), None, "the trees' means")
        return found + base


# ------------------------------------------------------------------------------------------
# Whether a model is answered for by its trees: loaded, compared with the model itself, or left to it and why.


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
    from skedasis.trees.ensemble import NoTrees
    from skedasis.trees.readers import ANSWERS, is_candidate, load

    owner = getattr(model, "__self__", None)
    grown = getattr(model if owner is None else owner, "grown", model if owner is None else owner)
    known = owner is None or getattr(model, "__name__", "") in ANSWERS
    if model is None or not known or not is_candidate(grown):
        raise _Left("it is no ensemble of trees that is known here", quiet=True)
    if any(_sloped(q, source) for q in outputs.values()):
        raise _Left("slopes were given for it, which only it can be asked for", quiet=True)
    from skedasis.trees.compilation import has_numba

    try:
        ensemble = load(grown)
    except NoTrees as reason:
        raise _Left(str(reason)) from reason
    from skedasis.trees.evaluator import Forest

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
    batch = source.some(PROBE_ROWS, checked.among)
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
    for called, found in zip(theirs, ours, strict=True):
        size, apart = np.abs(called).max(initial=0.0), np.abs(called - found)
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
